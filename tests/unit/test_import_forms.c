/* Rare forms of HLO text: groups of devices, literals, computations in place of their names, operations without a twin in
 * StableHLO. Expected texts follow from XLA's operation semantics and from XLA's own conversion to StableHLO, with which
 * tests/jax/compare_hlo.py compares the same lines (tests/jax/hlo_lines.py). */
#include <stdio.h>
#include <stdlib.h>

#include "import_fixture.h"

static const char prologue[] = "HloModule test, num_partitions=8\n"
                               "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y) }\n"
                               "ENTRY main {\n a = f32[4,8]{1,0} parameter(0)\n b = f32[8,4]{1,0} parameter(1)\n"
                               " z = f32[] constant(0)\n i = s32[] constant(2)\n";

static const struct form {
  const char *hlo;
  const char *parts[3]; /* of the module */
} forms[] = {
    /* groups along axes of a mesh of 2 x 4 devices */
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2,'y'=4] {'y'}, to_apply=add",
     {"dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>"}},
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2,'y'=4] {'x'}, to_apply=add",
     {"dense<[[0, 4], [1, 5], [2, 6], [3, 7]]>"}},
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2,'y'=4] {'y','x'}, to_apply=add",
     {"dense<[[0, 4, 1, 5, 2, 6, 3, 7]]>"}},
    /* y = 2 x 2: the slower half, the faster half */
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2,'y'=4] {'y':(1)2}, to_apply=add",
     {"dense<[[0, 2], [1, 3], [4, 6], [5, 7]]>"}},
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2,'y'=4] {'y':(2)2}, to_apply=add",
     {"dense<[[0, 1], [2, 3], [4, 5], [6, 7]]>"}},
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'y'}, to_apply=add",
     {"dense<[[0, 2, 4, 6], [1, 3, 5, 7]]>"}},
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2,'y'=4], device_ids=(7,6,5,4,3,2,1,0) {'x'}, "
     "to_apply=add",
     {"dense<[[7, 3], [6, 2], [5, 1], [4, 0]]>"}},
    /* literals */
    {"ROOT c = (f32[2], s32[]) constant(( {1, 2}, 3 ))",
     {"dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>", "dense<3> : tensor<i32>"}},
    {"c = (f32[], (c64[1], pred[2])) constant((1, ({(1, 2)}, {1, 0})))\n"
     "d = (c64[1], pred[2]) get-tuple-element(c), index=1\n ROOT e = pred[2] get-tuple-element(d), index=1",
     {"dense<(1.000000e+00,2.000000e+00)> : tensor<1xcomplex<f32>>", "dense<[true, false]> : tensor<2xi1>"}},
    {"ROOT c = (f32[2], s32[]) constant({...})",
     {"dense_resource<__elided__> : tensor<2xf32>", "dense_resource<__elided__> : tensor<i32>"}},
    {"ROOT c = f32[3] constant({-nan, nan(0x12), nan})", {"dense<[0xFFC00000, 0x7F800012, 0x7FC00000]>"}},
    {"ROOT c = bf16[1] constant({-nan(0x41)})", {"dense<0xFFC1>"}},
    /* computations in place of their names */
    {"ROOT r = f32[4,8] fusion(a), kind=kLoop, calls=\n{\n  p = f32[4,8] parameter(0)\n  ROOT n = f32[4,8] "
     "negate(p)\n}",
     {"stablehlo.negate %arg2", "fusion_kind = #mhlo<fusion_kind kLoop>"}},
    {"ROOT r = f32[4,8] conditional(i, a, a), branch_computations={{ q = f32[4,8] parameter(0)\n ROOT n = f32[4,8] "
     "negate(q) }, { ROOT q = f32[4,8] parameter(0) }}",
     {"\"stablehlo.case\"", "stablehlo.negate %arg0", "stablehlo.return %arg0"}},
    {"ROOT r = f32[4] reduce(a, z), dimensions={1}, to_apply={ x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT "
     "m "
     "= f32[] maximum(x, y) }",
     {"applies stablehlo.maximum across dimensions = [1]"}},
    {"ROOT r = f32[4,8] call(a), to_apply={ q = f32[4,8] parameter(0)\n ROOT f = f32[4,8] fusion(q), kind=kLoop, "
     "calls={ "
     "p = f32[4,8] parameter(0)\n ROOT n = f32[4,8] negate(p) } }",
     {"call @inline..0(%arg0)", "func.func private @inline..0", "mhlo.return"}},
    /* operations */
    {"n = s32[] constant(8)\n m = s32[] constant(4)\n ROOT r = f32[<=8,4] dynamic-reshape(a, n, m)",
     {"stablehlo.concatenate", "stablehlo.dynamic_reshape %arg0"}},
    {"ROOT r = (f32[4,8], f32[8,4]) collective-permute(a, b), source_target_pairs={{0,1}}",
     {"\"stablehlo.collective_permute\"(%arg0)", "\"stablehlo.collective_permute\"(%arg1)"}},
    {"ROOT r = (f32[2,8], f32[4,4]) reduce-scatter(a, b), replica_groups={{0,1}}, dimensions={0}, to_apply=add",
     {"\"stablehlo.reduce_scatter\"(%arg0)", "\"stablehlo.reduce_scatter\"(%arg1)"}},
    {"ROOT r = (f32[4,8], f32[4,8]) all-to-all(a, a), channel_id=3, replica_groups={{0,1}}",
     {"custom_call @all_to_all(%arg0, %arg0) {api_version = 4 : i32, backend_config = {channel_id = 3 : i64, "
      "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}"}},
    {"o = s32[2] constant({0,0})\n ROOT r = f32[4,8] ragged-all-to-all(a, a, o, o, o, o), replica_groups={{0,1}}",
     {"custom_call @ragged_all_to_all(", "backend_config = {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}"}},
    {"u = u32[4] iota(), iota_dimension=0\n ROOT r = u32[4] mulhi(u, u)", {"chlo.mulhi"}},
    {"c = f32[8] broadcast(z), dimensions={}\n ROOT r = (f32[4,8], f32[8]) scan(a, c), dimensions={0}, num_carries=1, "
     "is_reverse=true, to_apply={ x = f32[8] parameter(0)\n y = f32[8] parameter(1)\n s = f32[8] add(x, y)\n ROOT t = "
     "(f32[8], f32[8]) tuple(s, s) }",
     {"mhlo.scan", "is_reverse = true"}},
    {"s = ((f32[4,8]), f32[2,8], s32[]) slice-start(a), slice={[0:2], [0:8]}\n u = ((f32[4,8]), f32[2,8], s32[]) "
     "slice-update(s)\n ROOT r = f32[2,8] slice-done(u)",
     {"\"stablehlo.async_start\"(%arg0)", "\"stablehlo.async_done\"(%0)"}},
    /* custom calls */
    {"ROOT r = f32[4,8] custom-call(a), custom_call_target=\"x\", api_version=API_VERSION_TYPED_FFI, backend_config={a "
     "= "
     "1 : i32, b = 2.5 : f64, c = true, d = \"e\"}",
     {"backend_config = {a = 1 : i32, b = 2.500000e+00 : f64, c = true, d = \"e\"}"}},
    {"ROOT r = f32[4,8] custom-call(a), custom_call_target=\"x\", api_version=API_VERSION_TYPED_FFI, backend_config={a "
     "= "
     "array<i64: 1>}",
     {"backend_config = {}", "mhlo.backend_config = \"{a = array<i64: 1>}\""}},
    {"ROOT r = f32[4,8] custom-call(a), custom_call_target=\"x\", literal=f32[2] {1, 2}, called_computations={add}",
     {"custom_call @x(%arg0)"}},
    /* layouts: those that a call asks for, as XLA's conversion writes them; else its own when its results are not row-major */
    {"ROOT r = (f32[4,8]{0,1}, s32[], token[]) custom-call(a, i), custom_call_target=\"x\", "
     "operand_layout_constraints={f32[4,8]{0,1}, s32[]}",
     {"operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]",
      "result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>, dense<> : tensor<0xindex>]"}},
    {"ROOT r = f32[4] custom-call(a), custom_call_target=\"x\", operand_layout_constraints={f32[4,8]{1,0:T(8,128)}}",
     {"{operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<0> : tensor<1xindex>]}"}},
    {"t = f32[4,8]{0,1} copy(a)\n u = (f32[4,8]{0,1}, f32[]) tuple(t, z)\n ROOT r = f32[2,3,4]{1,2,0} custom-call(u), "
     "custom_call_target=\"x\"",
     {"operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]",
      "result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]"}},
    {"ROOT r = f32[4,8]{1,0} custom-call(a), custom_call_target=\"x\"", {"custom_call @x(%arg0) : "}},
    {"t = f32[4,8]{0,1} copy(a)\n ROOT r = f32[4,8]{1,0} custom-call(t), custom_call_target=\"x\"",
     {"custom_call @x(%0) : "}},
    {"t = f32[4,8]{0,1} copy(a)\n ROOT r = f32[32] bitcast(t)",
     {"{result_layout = dense<0> : tensor<1xindex>, source_layout = dense<[0, 1]> : tensor<2xindex>, "}},
    {"ROOT r = f32[32] bitcast(a)", {"mhlo.bitcast %arg0 : "}},
    /* attributes that say nothing about the computation */
    {"ROOT r = f32[4,8] negate(a), sharding={mesh['x'=2,'y'=4], [{'x'},{'y'}]}, origin={{\"x\"}}, "
     "statistics={visualizing_index=0,stat-0=1}, control-predecessors={z, i}, metadata={op_name=\"a\\\"}\"}",
     {"stablehlo.negate %arg0 {mhlo.sharding = \"{mesh['x'=2,'y'=4], [{'x'},{'y'}]}\"}"}},
};

static void forms_are_read(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    char text[4096];
    snprintf(text, sizeof text, "%s %s\n}\n", prologue, forms[i].hlo);
    struct imported program;
    imported_open(&program, forms[i].hlo, text);
    for (size_t k = 0; k < 3 && forms[i].parts[k] != NULL; k++) {
      if (strstr(strbuf_text(&program.text), forms[i].parts[k]) == NULL) {
        fail_msg("%s\nbecame\n%s\nwithout %s", forms[i].hlo, strbuf_text(&program.text), forms[i].parts[k]);
      }
    }
    assert_int_equal(program.diags.warning_count, 0);
    imported_close(&program);
  }
}

/* ---- refusals ---- */

static const struct refused {
  const char *hlo;
  enum diag_id id;
} refused[] = {
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2] {'y'}, to_apply=add", DIAG_E0105_ATTRIBUTE},
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=4] {'x':(3)2}, to_apply=add", DIAG_E0105_ATTRIBUTE},
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=4] {'x':(1)4,'x':(1)2}, to_apply=add",
     DIAG_E0105_ATTRIBUTE},
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2], device_ids=(0) {'x'}, to_apply=add",
     DIAG_E0105_ATTRIBUTE},
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=1048576,'y'=1048576] {'x'}, to_apply=add",
     DIAG_E0105_ATTRIBUTE},
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2, to_apply=add", DIAG_E0105_ATTRIBUTE},
    {"ROOT c = (f32[2], s32[]) constant(( {1, 2} ))", DIAG_E0111_DENSE},
    {"ROOT c = (f32[2], s32[]) constant({1, 2})", DIAG_E0111_DENSE},
    {"ROOT c = (f32[2], token[]) constant(( {1, 2}, 0 ))", DIAG_E0111_DENSE},
    {"ROOT r = f32[4,8] fusion(a), kind=kLoop, calls={ p = f32[4,8] parameter(0)", DIAG_E0103_EOF},
    {"ROOT r = f32[4,8] fusion(a), kind=kLoop, calls={ p = f32[4,9] parameter(0) }", DIAG_E0208_CALL_TYPE},
    {"ROOT r = negate(a)", DIAG_E0104_TYPE},
    {"ROOT r = f32[4,8]{1,1} negate(a)", DIAG_E0104_TYPE},
    {"ROOT r = f32[4,8]{0} negate(a)", DIAG_E0104_TYPE},
    {"ROOT r = f32[4,8]{2,1,0} negate(a)", DIAG_E0104_TYPE},
    {"ROOT r = f32[4,8]{1,-1} negate(a)", DIAG_E0104_TYPE},
    {"ROOT r = f32[4,8] custom-call(a, b), custom_call_target=\"x\", operand_layout_constraints={f32[4,8]{0,1}}",
     DIAG_E0105_ATTRIBUTE},
    {"ROOT r = f32[4,8] custom-call(a), custom_call_target=\"x\", operand_layout_constraints={f32[4,8], f32[]}",
     DIAG_E0105_ATTRIBUTE},
    {"ROOT r = f32[4,8] custom-call(a), custom_call_target=\"x\", operand_layout_constraints={(f32[], f32[])}",
     DIAG_E0105_ATTRIBUTE},
    {"ROOT r = f32[4,8] custom-call(a), custom_call_target=\"x\", operand_layout_constraints={f32[4,8]{0,0}}",
     DIAG_E0104_TYPE},
    {"ROOT r = f32[4,8] scan(a), dimensions={0}, to_apply=add", DIAG_E0105_ATTRIBUTE},
    {"ROOT r = f32[4,8] collective-permute(a, b), source_target_pairs={{0,1}}", DIAG_E0205_RESULT_TYPE},
};

static void mistakes_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    char text[4096];
    snprintf(text, sizeof text, "%s %s\n}\n", prologue, refused[i].hlo);
    struct source source = {"bad.hlo", text, strlen(text)};
    struct ir_module *module = NULL;
    struct diag_list diags;
    diag_init(&diags);
    assert_int_equal(import_hlo_text(&source, NULL, &diags, &module), STATUS_INPUT);
    if (diags.entries.count == 0 || diags.entries.data[0].id != refused[i].id || diags.entries.data[0].line < 9) {
      fail_msg("%s gave %s", refused[i].hlo, diags.entries.count ? diags.entries.data[0].message : "nothing");
    }
    diag_release(&diags);
  }
}

/* A mistake of syntax does not hide mistakes of another kind in other computations. */
static void all_mistakes_are_reported(void **state) {
  (void)state;
  static const char text[] = "HloModule m\nf {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] add(x)\n}\n"
                             "g {\n  x = f33[2] parameter(0)\n}\n"
                             "ENTRY e {\n  a = f32[2] parameter(0)\n  b = f32[2] map(a), to_apply=f\n"
                             "  c = f32[2] map(a), to_apply=g\n  ROOT d = f32[2] map(a), to_apply=h\n}\n";
  static const struct {
    uint32_t line;
    enum diag_id id;
  } wanted[] = {{7, DIAG_E0104_TYPE}, {4, DIAG_E0201_OPERAND_COUNT}, {13, DIAG_E0106_UNDEFINED}};
  struct source source = {"bad.hlo", text, sizeof text - 1};
  struct ir_module *module = NULL;
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(import_hlo_text(&source, NULL, &diags, &module), STATUS_INPUT);
  assert_null(module);
  assert_int_equal(diags.error_count, sizeof wanted / sizeof wanted[0]);
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    assert_int_equal(diags.entries.data[i].line, wanted[i].line);
    assert_int_equal(diags.entries.data[i].id, wanted[i].id);
  }
  diag_release(&diags);
}

/* Storage, leaf by leaf: the second leaf of the tuple becomes output 1, the array output 0; the last is only given away. */
static void storage_is_that_of_leaves(void **state) {
  (void)state;
  static const char text[] =
      "HloModule m, input_output_alias={ {1,0}: (0, {1}, may-alias), {0}: (1, {}, must-alias) }, buffer_donor={ (2, "
      "{}), "
      "(1, {}) }\n"
      "ENTRY e {\n p = (f32[2], f32[3]) parameter(0)\n q = f32[4] parameter(1)\n r = f32[5] parameter(2)\n"
      " s = f32[3] get-tuple-element(p), index=1\n t = (f32[3]) tuple(s)\n ROOT u = (f32[4], (f32[3])) tuple(q, "
      "t)\n}\n";
  struct imported program;
  imported_open(&program, "aliases", text);
  const char *wanted =
      "%arg0: tensor<2xf32>, %arg1: tensor<3xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<4xf32> "
      "{tf.aliasing_output = 0 : i32}, %arg3: tensor<5xf32> {jax.buffer_donor = true}";
  if (strstr(strbuf_text(&program.text), wanted) == NULL) {
    fail_msg("%s", strbuf_text(&program.text));
  }
  imported_close(&program);
}

/* Once XLA has assigned layouts, which a schedule tells, an operand is what its shape says. */
static void layouts_of_scheduled_operands(void **state) {
  (void)state;
  static const char text[] = "HloModule m, is_scheduled=true\nENTRY e {\n a = f32[2,3]{0,1} parameter(0)\n"
                             " ROOT b = f32[2,3]{1,0} custom-call(a), custom_call_target=\"x\"\n}\n";
  struct imported program;
  imported_open(&program, "scheduled", text);
  const char *wanted = "{operand_layouts = [dense<[0, 1]> : tensor<2xindex>], "
                       "result_layouts = [dense<[1, 0]> : tensor<2xindex>]}";
  if (strstr(strbuf_text(&program.text), wanted) == NULL) {
    fail_msg("%s", strbuf_text(&program.text));
  }
  imported_close(&program);
}

/* A call marked as composite keeps the name of what it computes. */
static void composites_are_kept(void **state) {
  (void)state;
  static const char text[] =
      "HloModule m\nf {\n x = f32[3] parameter(0)\n ROOT y = f32[3] negate(x)\n}\nENTRY e {\n a = f32[3] parameter(0)\n"
      " ROOT b = f32[3] call(a), to_apply=f, is_composite=true, frontend_attributes={composite.attributes={scale = 2.5 "
      ": "
      "f64},composite.name=\"test.b\",composite.version=\"3\"}\n}\n";
  struct imported program;
  imported_open(&program, "composite", text);
  const struct ir_module *m = program.module;
  struct ir_op op = imported_find(&program, IR_OP_COMPOSITE);
  assert_string_equal(ir_text(m, ir_attr_get(m, ir_op_attr(m, op, "name"))->text), "test.b");
  assert_string_equal(ir_text(m, ir_attr_get(m, ir_op_attr(m, op, "decomposition"))->text), "f");
  assert_int_equal(ir_attr_get(m, ir_op_attr(m, op, "version"))->integer, 3);
  assert_non_null(strstr(strbuf_text(&program.text), "composite_attributes = {scale = 2.500000e+00 : f64}"));
  imported_close(&program);
}

/* What an HLO module counts is not what its conversion from StableHLO would have made of it: here a broadcast to the same
 * shape (32 elements read and written), a stretched one and an iota of two dimensions (32 written). */
static void hlo_is_counted_as_it_stands(void **state) {
  (void)state;
  static const struct {
    const char *hlo;
    int64_t bytes;
  } counted[] = {
      {"ROOT r = f32[4,8] broadcast(a), dimensions={0,1}", 256},
      {"ROOT r = u32[4,8] iota(), iota_dimension=0", 128},
      {"ROOT r = f32[8,4]{0,1} transpose(a), dimensions={1,0}", 0},
      {"ROOT r = f32[8,4]{1,0} transpose(a), dimensions={1,0}", 256},
      {"ROOT r = (f32[4,8], f32[4,8]) all-to-all(a, a), replica_groups={{0,1}}", 512 + 16},
  };
  for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
    char text[4096];
    snprintf(text, sizeof text, "%s %s\n}\n", prologue, counted[i].hlo);
    struct imported program;
    struct analyze_xla_cost cost;
    imported_open(&program, counted[i].hlo, text);
    assert_int_equal(analyze_xla_function(program.module, ir_function_entry(program.module), NULL, &cost), STATUS_OK);
    assert_int_equal(cost.bytes_accessed, counted[i].bytes);
    imported_close(&program);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forms_are_read),
      cmocka_unit_test(mistakes_are_refused),
      cmocka_unit_test(all_mistakes_are_reported),
      cmocka_unit_test(storage_is_that_of_leaves),
      cmocka_unit_test(layouts_of_scheduled_operands),
      cmocka_unit_test(composites_are_kept),
      cmocka_unit_test(hlo_is_counted_as_it_stands),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
