/* HLO text: what each construct becomes, and what is refused. Expected texts follow from XLA's operation semantics and the
 * StableHLO specification; counts were made by hand. */
#include <stdio.h>
#include <stdlib.h>

#include "import/hlo_build.h"
#include "import_fixture.h"

/* The rows are searched by halving: all must be found. */
static void every_opcode_is_found(void **state) {
  (void)state;
  static const char *const opcodes[] = {
#define HLO_OP(name, opcode, builder, min, max, attrs) name,
#include "import/hlo_ops.def"
#undef HLO_OP
  };
  for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
    const struct hlo_op_row *row = hlo_op_find((struct hlo_span){opcodes[i], strlen(opcodes[i])});
    assert_non_null(row);
    assert_string_equal(row->name, opcodes[i]);
  }
}

/* Computations and values that the lines of the tables below use. */
static const char prologue[] =
    "HloModule test, num_partitions=8\n"
    "%add { %x = f32[] parameter(0)\n %y = f32[] parameter(1)\n ROOT %s = f32[] add(%x, %y) }\n"
    "%min { %x = f32[] parameter(0)\n %y = f32[] parameter(1)\n"
    " ROOT %s = pred[] compare(%x, %y), direction=LT }\n"
    "%neg { %x = f32[4,8] parameter(0)\n ROOT %n = f32[4,8] negate(%x) }\n"
    "ENTRY %main {\n %a = f32[4,8]{1,0} parameter(0)\n %b = f32[8,4]{1,0} parameter(1)\n"
    " %z = f32[] constant(0)\n %i = s32[] constant(2)\n %t = pred[] constant(true)\n";

static void build_text(char *out, size_t size, const char *line) {
  snprintf(out, size, "%s %s\n}\n", prologue, line);
}

static const struct construct {
  const char *hlo, *mlir;
} constructs[] = {
    /* literals */
    {"ROOT c = s32[2,2] constant({ {1, -2}, { /*i1=1*/ 3, 4} })", "dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>"},
    {"ROOT c = bf16[2] constant({inf, -1.5})", "dense<[0x7F80, -1.500000e+00]> : tensor<2xbf16>"},
    {"ROOT c = f8e5m2[] constant(2)", "dense<2.000000e+00> : tensor<f8E5M2>"},
    {"ROOT c = s4[2] constant({-8, 7})", "dense<[-8, 7]> : tensor<2xi4>"},
    {"ROOT c = u64[] constant(18446744073709551615)", "dense<18446744073709551615> : tensor<ui64>"},
    {"ROOT c = c64[] constant((1, -2))", "dense<(1.000000e+00,-2.000000e+00)> : tensor<complex<f32>>"},
    {"ROOT c = pred[3] constant({1, false, true})", "dense<[true, false, true]> : tensor<3xi1>"},
    {"ROOT c = f32[100,100] constant({...})", "dense_resource<__elided__> : tensor<100x100xf32>"},
    {"ROOT c = f32[0] constant({})", "tensor<0xf32>"},
    /* shapes */
    {"ROOT r = f32[4,8]{0,1:T(8,128)S(1)} copy(a)", "mhlo.copy %arg0 {xla_shape = \"f32[4,8]{0,1:T(8,128)S(1)}\"}"},
    {"ROOT r = f32[4,8]{1,0} copy(f32[4,8]{1,0} %a)", "mhlo.copy %arg0 : tensor<4x8xf32>"},
    {"ROOT r = f32[32] bitcast(a)", "mhlo.bitcast %arg0 : (tensor<4x8xf32>) -> tensor<32xf32>"},
    /* products */
    {"ROOT r = f32[4,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "operand_precision={default,high}",
     "dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, HIGH]"},
    {"ROOT r = f32[8,4,4] dot(a, b), lhs_batch_dims={1}, rhs_batch_dims={0}, lhs_contracting_dims={}, "
     "rhs_contracting_dims={}",
     "dot_general %arg0, %arg1, batching_dims = [1] x [0], contracting_dims = [] x []"},
    {"ROOT r = f32[4,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, algorithm=dot_tf32_tf32_f32_x3",
     "num_primitive_operations = 3"},
    {"k = f32[3,8,16] broadcast(z), dimensions={}\n v = f32[1,4,8] reshape(a)\n"
     "ROOT r = f32[1,2,16] convolution(v, k), window={size=3 stride=2 pad=1_0}, dim_labels=b0f_0io->b0f",
     "dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 0]]"},
    /* data movement */
    {"ROOT r = f32[4,8,3] broadcast(a), dimensions={0,1}", "broadcast_in_dim %arg0, dims = [0, 1]"},
    {"ROOT r = f32[2,3] slice(a), slice={[0:4:2], [1:4]}", "slice %arg0 [0:4:2, 1:4]"},
    {"ROOT r = f32[5,16] pad(a, z), padding=1_0x0_1_1", "low = [1, 0], high = [0, 1], interior = [0, 1]"},
    {"ROOT r = f32[4,16] concatenate(a, a), dimensions={1}", "concatenate %arg0, %arg0, dim = 1"},
    {"ROOT r = f32[1,8] dynamic-slice(a, i, i), dynamic_slice_sizes={1,8}", "sizes = [1, 8]"},
    {"x = s32[3,1] constant({ {0}, {1}, {2} })\n ROOT r = f32[3,8] gather(a, x), offset_dims={1}, "
     "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}",
     "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"},
    {"x = s32[3,1] constant({ {0}, {1}, {2} })\n u = f32[3,8] broadcast(z), dimensions={}\n"
     "ROOT r = f32[4,8] scatter(a, x, u), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=%add",
     "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
     "index_vector_dim = 1>, unique_indices = true}> ({"},
    /* bodies */
    {"ROOT r = f32[4] reduce(a, z), dimensions={1}, to_apply=add", "applies stablehlo.add across dimensions = [1]"},
    {"ROOT r = f32[2,8] reduce-window(a, z), window={size=2x1 stride=2x1}, to_apply=add",
     "window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}"},
    {"ROOT r = f32[4,8] sort(a), dimensions={1}, to_apply=min", "<{dimension = 1 : i64, is_stable = false}>"},
    {"ROOT r = f32[4,8] map(a, a), dimensions={0,1}, to_apply=add", "<{dimensions = array<i64: 0, 1>}>"},
    /* control */
    {"ROOT r = f32[4,8] call(a), to_apply=neg", "call @neg(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>"},
    {"ROOT r = f32[4,8] fusion(a), kind=kInput, calls=%neg",
     "\"mhlo.fusion\"(%arg0) <{fusion_kind = #mhlo<fusion_kind kInput>}> ({"},
    {"ROOT r = f32[4,8] conditional(t, a, a), true_computation=neg, false_computation=neg", "\"stablehlo.if\""},
    {"ROOT r = f32[4,8] conditional(i, a, a), branch_computations={neg, neg}", "\"stablehlo.case\""},
    /* communication */
    {"ROOT r = f32[4,8] all-reduce(a), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, "
     "to_apply=add",
     "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({"},
    /* rows of the transposed array [[0, 2, 4, 6], [1, 3, 5, 7]] */
    {"ROOT r = f32[4,8] all-reduce(a), channel_id=1, replica_groups=[2,4]<=[4,2]T(1,0), to_apply=add",
     "dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>"},
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups={{0,1,2},{3}}, to_apply=add", "dense<[[0, 1, 2], [3, -1, -1]]>"},
    {"ROOT r = f32[4,8] all-reduce(a), replica_groups={}, to_apply=add", "dense<[[0, 1, 2, 3, 4, 5, 6, 7]]>"},
    {"ROOT r = f32[8,8] all-gather(a), dimensions={0}", "all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]>"},
    {"ROOT r = f32[4,2] reduce-scatter(a), replica_groups=[2,4]<=[8], dimensions={1}, to_apply=add",
     "scatter_dimension = 1 : i64"},
    {"ROOT r = f32[4,8] all-to-all(a), replica_groups=[2,4]<=[8], dimensions={1}",
     "concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count "
     "= "
     "4 : i64, split_dimension = 1 : i64"},
    {"ROOT r = f32[4,8] collective-permute(a), channel_id=3, source_target_pairs={{0,1},{1,0}}",
     "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>"},
    {"s = (f32[4,8], f32[8,8]) all-gather-start(a), replica_groups={{0,1}}, dimensions={0}\n"
     "ROOT r = f32[8,8] all-gather-done(s)",
     "\"stablehlo.async_done\"(%0) : (!stablehlo.future<tensor<8x8xf32>>) -> tensor<8x8xf32>"},
    {"s = (f32[4,8], f32[4,8], u32[]) copy-start(a)\n ROOT r = f32[4,8] copy-done(s)", "mhlo.copy %arg0"},
    {"s = ((f32[4,8]), f32[4,8], s32[]) async-start(a), calls=neg\n ROOT r = f32[4,8] async-done(s)",
     "call @neg(%arg0)"},
    /* others */
    {"ROOT r = f32[4,8] custom-call(a), custom_call_target=\"a\\\"b\", backend_config={\"x\":[1,2]}",
     "custom_call @\"a\\22b\"(%arg0) {backend_config = \"{\\22x\\22:[1,2]}\"}"},
    {"ROOT r = f32[4,8] rng(z, z), distribution=rng_normal", "distribution = NORMAL"},
    {"ROOT r = (f32[4,3], s32[4,3]) topk(a), k=3, largest=true", "mhlo.topk(%arg0, k = 3) : "},
    {"ROOT r = (f32[4,8], f32[8], f32[8]) batch-norm-training(a, v, v), epsilon=0.5, feature_index=1", NULL},
    {"p = (f32[4,8], f32[8,4]) tuple(a, b)\n ROOT r = (f32[4,8], f32[8,4]) opt-barrier(p)",
     "optimization_barrier %arg0, %arg1 : tensor<4x8xf32>, tensor<8x4xf32>"},
    {"k = token[] after-all()\n j = ((f32[4,8]), token[]) infeed(k), infeed_config=\"a\\\"b\"\n"
     "u = token[] get-tuple-element(j), index=1\n ROOT o = token[] outfeed(a, u), outfeed_shape=f32[4,8]",
     "<{outfeed_config = \"\"}>"},
    {"k = token[] after-all()\n ROOT j = ((f32[4,8]), token[]) infeed(k), infeed_config=\"a\\\"b\"",
     "<{infeed_config = \"a\\22b\"}>"},
    {"k = token[] after-all()\n s = (f32[4,8], u32[], token[]) send(a, k), channel_id=2\n"
     "ROOT r = token[] send-done(s)",
     "<{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, is_host_transfer = false}>"},
};

static void constructs_become_stablehlo(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof constructs / sizeof constructs[0]; i++) {
    char text[2048], line[1024];
    snprintf(line, sizeof line, "%s%s", constructs[i].mlir ? "" : "v = f32[8] broadcast(z), dimensions={}\n",
             constructs[i].hlo);
    build_text(text, sizeof text, line);
    struct imported program;
    imported_open(&program, constructs[i].hlo, text);
    if (!strstr(strbuf_text(&program.text), constructs[i].mlir ? constructs[i].mlir : "batch_norm_training")) {
      fail_msg("%s became\n%s", constructs[i].hlo, strbuf_text(&program.text));
    }
    assert_int_equal(program.diags.warning_count, 0);
    imported_close(&program);
  }
}

/* ---- tuples, functions, loops ---- */

static const char loop_text[] = "HloModule loop, entry_computation_layout={(f32[8])->f32[8]}\n\n"
                                "FileNames\n1 \"a.py\"\n\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n"
                                "%cond (s: ((s32[], f32[8]), f32[8])) -> pred[] {\n"
                                "  %s = ((s32[], f32[8]{0}), f32[8]{0}) parameter(0)\n"
                                "  %p = (s32[], f32[8]{0}) get-tuple-element(%s), index=0\n"
                                "  %i = s32[] get-tuple-element(%p), index=0\n"
                                "  ROOT %r = pred[] custom-call(%i), custom_call_target=\"more\"\n}\n"
                                "%body (s: ((s32[], f32[8]), f32[8])) -> ((s32[], f32[8]), f32[8]) {\n"
                                "  %s = ((s32[], f32[8]{0}), f32[8]{0}) parameter(0)\n"
                                "  %p = (s32[], f32[8]{0}) get-tuple-element(%s), index=0\n"
                                "  %x = f32[8]{0} get-tuple-element(%p), index=1\n"
                                "  %y = f32[8]{0} get-tuple-element(%s), index=1\n"
                                "  %i = s32[] get-tuple-element(%p), index=0\n"
                                "  %n = f32[8]{0} add(%x, %y)\n"
                                "  %q = (s32[], f32[8]{0}) tuple(%i, %n)\n"
                                "  ROOT %r = ((s32[], f32[8]{0}), f32[8]{0}) tuple(%q, %x)\n}\n"
                                "ENTRY %entry (a: f32[8]) -> f32[8] {\n"
                                "  %a = f32[8]{0} parameter(0)\n"
                                "  %zero = s32[] constant(0)\n"
                                "  %p = (s32[], f32[8]{0}) tuple(%zero, %a)\n"
                                "  %s = ((s32[], f32[8]{0}), /*index=1*/f32[8]{0}) tuple(%p, %a)\n"
                                "  %w = ((s32[], f32[8]{0}), f32[8]{0}) while(%s), condition=%cond, body=%body, "
                                "backend_config={\"known_trip_count\":{\"n\":\"12\"}}\n"
                                "  ROOT %r = f32[8]{0} get-tuple-element(%w), index=1\n}\n";

static void tuples_are_their_leaves(void **state) {
  (void)state;
  struct imported program;
  imported_open(&program, "loop", loop_text);
  assert_int_equal(imported_count(&program, IR_OP_TUPLE), 0);
  assert_int_equal(imported_count(&program, IR_OP_GET_TUPLE_ELEMENT), 0);
  struct ir_op loop = imported_find(&program, IR_OP_WHILE);
  assert_int_equal(ir_op_get(program.module, loop)->operand_count, 3);
  assert_int_equal(ir_op_get(program.module, loop)->result_count, 3);
  /* the function returns leaf 2 of the loop: ((0, 1), 2) */
  struct ir_op end = imported_find(&program, IR_OP_FUNC_RETURN);
  assert_int_equal(ir_op_operand(program.module, end, 0).id, ir_op_result(program.module, loop, 2).id);
  imported_close(&program);
}

/* The condition says nothing, so the count is the compiler's. */
static void trip_count_of_the_compiler_is_used(void **state) {
  (void)state;
  struct imported program;
  imported_open(&program, "loop", loop_text);
  struct analyze_trip_count count = analyze_while_trip_count(program.module, imported_find(&program, IR_OP_WHILE));
  assert_true(count.is_known);
  assert_int_equal(count.count, 12);
  imported_close(&program);
}

static void functions_are_built_once(void **state) {
  (void)state;
  static const char text[] =
      "HloModule calls\nmain { p = f32[2] parameter(0)\n ROOT r = f32[2] negate(p) }\n"
      "ENTRY start { p = f32[2] parameter(0), sharding={devices=[2]<=[2]}\n a = f32[2] call(p), to_apply=main\n"
      " ROOT b = f32[2] call(a), to_apply=main }\n";
  struct imported program;
  imported_open(&program, "calls", text);
  assert_int_equal(imported_count(&program, IR_OP_FUNC_FUNC), 2);
  assert_int_equal(imported_count(&program, IR_OP_FUNC_CALL), 2);
  assert_int_equal(imported_count(&program, IR_OP_NEGATE), 1);
  assert_string_equal(ir_symbol_name(program.module, ir_function_entry(program.module)), "main");
  assert_non_null(strstr(strbuf_text(&program.text), "func.func private @main_(%arg0: tensor<2xf32>)"));
  assert_non_null(strstr(strbuf_text(&program.text), "{mhlo.sharding = \"{devices=[2]<=[2]}\"}"));
  imported_close(&program);
}

/* Bodies are regions: one per use. Two reductions and the function itself add: 2 + 1. */
static void bodies_are_built_per_use(void **state) {
  (void)state;
  char text[2048];
  struct imported program;
  build_text(text, sizeof text,
             "r = f32[4] reduce(a, z), dimensions={1}, to_apply=add\n s = f32[4] reduce(a, z), dimensions={1}, "
             "to_apply=add\n ROOT u = f32[4] add(r, s)");
  imported_open(&program, "bodies", text);
  assert_int_equal(imported_count(&program, IR_OP_REDUCE), 2);
  assert_int_equal(imported_count(&program, IR_OP_ADD), 3);
  assert_int_equal(imported_count(&program, IR_OP_FUNC_FUNC), 1);
  imported_close(&program);
}

static void unknown_opcodes_are_opaque(void **state) {
  (void)state;
  char text[2048];
  struct imported program;
  build_text(text, sizeof text, "ROOT r = f32[4,8] multipli(a, a)");
  imported_open(&program, "unknown", text);
  assert_non_null(strstr(strbuf_text(&program.text), "custom_call @multipli(%arg0, %arg0)"));
  assert_int_equal(program.diags.entries.count, 1);
  assert_int_equal(program.diags.entries.data[0].id, DIAG_W0113_UNKNOWN_OPCODE);
  assert_non_null(strstr(program.diags.entries.data[0].message, "did you mean 'multiply'?"));
  imported_close(&program);
}

/* ---- what is refused ---- */

static const struct bad_text {
  const char *text;
  enum diag_id id;
  uint32_t line, column;
  const char *part; /* of the message */
} bad_texts[] = {
    {"HloModule m\ne {\n  a = f33[2] parameter(0)\n}", DIAG_E0104_TYPE, 3, 7, "did you mean 'f32'?"},
    {"HloModule m\ne {\n  a = f32[2] negate(b)\n}", DIAG_E0106_UNDEFINED, 3, 21, "'b' is not an instruction above"},
    {"HloModule m\ne {\n  a = f32[2] parameter(0)\n  a = f32[2] negate(a)\n}", DIAG_E0107_REDEFINED, 4, 3, "twice"},
    {"HloModule m\ne {\n  a = f32[2] parameter(1)\n}", DIAG_E0106_UNDEFINED, 2, 1, "parameter 0"},
    {"HloModule m\ne {\n  a = f32[2] parameter(0)\n", DIAG_E0103_EOF, 4, 1, "inside a computation"},
    {"HloModule m\ne {\n  a = f32[2] negate(\n", DIAG_E0103_EOF, 3, 20, "never end"},
    {"HloModule m\ne {\n  a = f32[2] constant({1})\n}", DIAG_E0111_DENSE, 3, 23, "1 elements, but the shape has 2"},
    {"HloModule m\ne {\n  a = s8[1] constant({300})\n}", DIAG_E0111_DENSE, 3, 23, "does not fit"},
    {"HloModule m\ne {\n  a = f32[2] iota(), iota_dimension=x\n}", DIAG_E0105_ATTRIBUTE, 3, 37, "integers"},
    {"HloModule m\ne {\n  a = f32[2] parameter(0)\n  b = f32[2] add(a)\n}", DIAG_E0201_OPERAND_COUNT, 4, 3,
     "1 operands"},
    {"HloModule m\ne {\n  a = f32[2] parameter(0)\n  b = f32[2] map(a), to_apply=f\n}", DIAG_E0106_UNDEFINED, 4, 31,
     "no computation 'f'"},
    {"HloModule m\ne {\n  a = f32[] parameter(0)\n  ROOT b = f32[] map(a), to_apply=e\n}", DIAG_E0209_RECURSION, 2, 1,
     "within itself"},
    {"HloModule m\ne {\n  a = (f32[2]) parameter(0)\n  b = f32[2] get-tuple-element(a), index=1\n}",
     DIAG_E0206_ATTRIBUTE_VALUE, 4, 42, "'index'"},
    {"HloModule m\ne {\n  a = f32[2] parameter(0)\n  b = (f32[2]) tuple(a, a)\n}", DIAG_E0205_RESULT_TYPE, 4, 3,
     "2 values"},
    {"HloModule m\ne {\n  a = f32[2] parameter(0)\n  b = f32[2] copy-done(a)\n}", DIAG_E0204_OPERAND_TYPE, 4, 3,
     "was started"},
    {"f {\n  x = f32[] parameter(0)\n  ROOT y = f32[] parameter(1)\n}\nENTRY e {\n  a = f32[2] parameter(0)\n"
     "  b = f32[2] all-reduce(a), replica_groups=[2,4]<=[9], to_apply=f\n}",
     DIAG_E0105_ATTRIBUTE, 7, 44, "groups of devices"},
    {"HloModule m\ne {\n  a = f32[9223372036854775807] parameter(0)\n}", DIAG_E0104_TYPE, 3, 11, "a dimension"},
    {"HloModule m\ne {\n  a = f32[2] parameter(0)\n  b = pred[2] compare(a, a), direction=L#T\n}", DIAG_E0105_ATTRIBUTE,
     4, 40, "a word"},
    {"f {\n  p = f32[2] parameter(0)\n  ROOT z = f32[] constant(0)\n}\nENTRY e {\n  a = f32[2] parameter(0)\n"
     "  b = f32[2] fusion(a), kind=kLoop, calls=f\n}",
     DIAG_E0205_RESULT_TYPE, 7, 3, "the fused computation returns"},
    {"f {\n  ROOT p = f32[2] parameter(0)\n}\nENTRY e {\n  a = s32[2] parameter(0)\n"
     "  b = f32[2] fusion(a), kind=kLoop, calls=f\n}",
     DIAG_E0208_CALL_TYPE, 6, 3, "the fused computation takes"},
    {"HloModule m\n", DIAG_E0102_EXPECTED, 2, 1, "no computation"},
};

static void refusals_name_the_place(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_texts / sizeof bad_texts[0]; i++) {
    const struct bad_text *bad = &bad_texts[i];
    struct source source = {"bad.hlo", bad->text, strlen(bad->text)};
    struct ir_module *module = NULL;
    struct diag_list diags;
    diag_init(&diags);
    assert_int_equal(import_hlo_text(&source, NULL, &diags, &module), STATUS_INPUT);
    assert_null(module);
    const struct diag *first = &diags.entries.data[0];
    if (diags.entries.count == 0 || first->id != bad->id || first->line != bad->line || first->column != bad->column
        || strstr(first->message, bad->part) == NULL) {
      fail_msg("%s\ngave %u:%u: %s", bad->text, first->line, first->column, first->message);
    }
    diag_release(&diags);
  }
}

/* Two independent mistakes are both reported, and uses of what failed are no mistakes of their own. */
static void reading_goes_on(void **state) {
  (void)state;
  static const char text[] =
      "HloModule m\ne {\n  a = f33[2] parameter(0)\n  b = f32[2] negate(a)\n  c = f32[2 negate(b)\n"
      "  d = f32[2] negate(c)\n}";
  struct source source = {"bad.hlo", text, sizeof text - 1};
  struct ir_module *module = NULL;
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(import_hlo_text(&source, NULL, &diags, &module), STATUS_INPUT);
  assert_int_equal(diags.error_count, 2);
  assert_int_equal(diags.entries.data[0].line, 3);
  assert_int_equal(diags.entries.data[1].line, 5);
  diag_release(&diags);
}

/* ---- limits ---- */

/* 2^60 copies of one operation: computations that use the one before twice. */
static void doubling_ends_at_the_budget(void **state) {
  (void)state;
  struct strbuf text = {0};
  strbuf_puts(&text, "HloModule m\nf0 {\n p = f32[] parameter(0)\n ROOT r = f32[] negate(p)\n}\n");
  for (int i = 1; i <= 60; i++) {
    strbuf_printf(&text,
                  "f%d {\n p = f32[] parameter(0)\n a = f32[] map(p), to_apply=f%d\n ROOT r = f32[] map(a), "
                  "to_apply=f%d\n}\n",
                  i, i - 1, i - 1);
  }
  strbuf_puts(&text, "ENTRY e {\n p = f32[] parameter(0)\n ROOT r = f32[] map(p), to_apply=f60\n}\n");
  struct source source = {"m.hlo", strbuf_text(&text), text.length};
  struct import_options options = {.memory_budget_bytes = 4 << 20};
  struct ir_module *module = NULL;
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(import_hlo_text(&source, &options, &diags, &module), STATUS_MEMORY);
  assert_int_equal(diags.entries.data[0].id, DIAG_E0005_LIMIT);
  diag_release(&diags);
  strbuf_release(&text);
}

static void expect_limit(const char *before, char repeated, size_t count, const char *after) {
  struct strbuf text = {0};
  strbuf_puts(&text, before);
  strbuf_fill(&text, repeated, count);
  strbuf_puts(&text, after);
  struct source source = {"deep.hlo", strbuf_text(&text), text.length};
  struct ir_module *module = NULL;
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(import_hlo_text(&source, NULL, &diags, &module), STATUS_INPUT);
  assert_int_equal(diags.entries.data[0].id, DIAG_E0005_LIMIT);
  diag_release(&diags);
  strbuf_release(&text);
}

static void nesting_is_bounded(void **state) {
  (void)state;
  expect_limit("HloModule m\ne {\n a = ", '(', 100000, " parameter(0)\n}\n");
}

static void hlo_text_is_recognised(void **state) {
  (void)state;
  static const char *const hlo[] = {"HloModule m\n", "// note\n/* x */ HloModule m, a=b\n",
                                    "e {\n  a = u4[2]{0} iota()\n}",
                                    "ENTRY %e (a: f32[]) -> f32[] {\n  ROOT %a = f32[] parameter(0)\n}"};
  static const char *const other[] = {"",
                                      "module {\n  %0 = \"a.b\"() : () -> ()\n}",
                                      "HloModules",
                                      "module attributes {a = 1 : i32} {\n}",
                                      "func.func @main() {\n  %0 = stablehlo.iota dim = 0 : tensor<2xi32>\n}",
                                      "func.func @f(%a: tensor<2xf32, #s<{ map = (d0) -> (d0) }>>) {\n return\n}",
                                      "{\"a\": 1}",
                                      "#map = affine_map<() -> ()>"};
  for (size_t i = 0; i < sizeof hlo / sizeof hlo[0]; i++) {
    assert_true(import_is_hlo_text(hlo[i], strlen(hlo[i])));
  }
  for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
    assert_false(import_is_hlo_text(other[i], strlen(other[i])));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_opcode_is_found),
      cmocka_unit_test(constructs_become_stablehlo),
      cmocka_unit_test(tuples_are_their_leaves),
      cmocka_unit_test(trip_count_of_the_compiler_is_used),
      cmocka_unit_test(functions_are_built_once),
      cmocka_unit_test(bodies_are_built_per_use),
      cmocka_unit_test(unknown_opcodes_are_opaque),
      cmocka_unit_test(refusals_name_the_place),
      cmocka_unit_test(reading_goes_on),
      cmocka_unit_test(doubling_ends_at_the_budget),
      cmocka_unit_test(nesting_is_bounded),
      cmocka_unit_test(hlo_text_is_recognised),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
