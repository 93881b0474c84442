/* Writing of portable artifacts: bytes of small modules by the rules of the container, what a version cannot say, and that
 * what was written reads as what it was. Artifacts of real programs: tests/corpus/corpus_written.c; against StableHLO itself:
 * tests/jax/compare_artifacts.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mlir/bytecode.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct writing {
  struct diag_list diags;
  struct ir_module *module;
  struct strbuf artifact;
  enum status status;
};

static void begin(struct writing *w, const char *text) {
  *w = (struct writing){.status = STATUS_OK};
  diag_init(&w->diags);
  struct source source = {"test.mlir", text, strlen(text)};
  if (mlir_parse(&source, NULL, &w->diags, &w->module) != STATUS_OK) {
    fail_msg("%s\nin\n%s", w->diags.entries.data[0].message, text);
  }
}

static void write_for(struct writing *w, const char *version) {
  struct mlir_bytecode_options options = {{0}, false};
  assert_true(mlir_bytecode_parse_version(version, options.version));
  strbuf_clear(&w->artifact);
  w->status = mlir_bytecode_write(w->module, &options, &w->diags, &w->artifact);
}

static void end(struct writing *w) {
  ir_module_free(w->module);
  strbuf_release(&w->artifact);
  diag_release(&w->diags);
}

static struct ir_module *read_again(struct writing *w) {
  struct source source = {"written", w->artifact.data, w->artifact.length};
  struct ir_module *module = NULL;
  if (mlir_bytecode_read(&source, NULL, &w->diags, &module) != STATUS_OK) {
    fail_msg("not read again: %s", w->diags.entries.data[w->diags.entries.count - 1].message);
  }
  return module;
}

/* ---- bytes ---------------------------------------------------------------------------------------------------------- */

/* Numbers below 128 are one byte with the low bit set. */
#define V(n) ((n) << 1 | 1)

static void test_empty_module(void **state) {
  (void)state;
  static const uint8_t head[] = {'M', 'L', 0xEF, 'R', V(6)};
  static const uint8_t body[] = {1,
                                 V(6),
                                 V(1),
                                 V(0 << 1),
                                 V(1),
                                 V(0),
                                 V(1),
                                 V(1 << 1 | 1), /* a dialect, no version; one name of it, registered */
                                 3,
                                 V(5),
                                 V(1),
                                 V(0),
                                 V(0),
                                 V(1),
                                 V(1 << 1 | 1), /* one attribute, no types: of dialect 0, one byte, encoded */
                                 2,
                                 V(1),
                                 V(15), /* the unknown location */
                                 4,
                                 V(11),
                                 V(1 << 1),
                                 V(0),
                                 0x40 | 0x10,
                                 V(0),
                                 V(0), /* one operation: name, properties and regions, location */
                                 V(1 << 1 | 1),
                                 4,
                                 V(3),
                                 V(1),
                                 V(0),
                                 V(0), /* an isolated region: one block, no values, nothing in it */
                                 6,
                                 V(1),
                                 V(0),
                                 5,
                                 V(0), /* no resources */
                                 0,
                                 V(18),
                                 V(2),
                                 V(7),
                                 V(8),
                                 'b',
                                 'u',
                                 'i',
                                 'l',
                                 't',
                                 'i',
                                 'n',
                                 0,
                                 'm',
                                 'o',
                                 'd',
                                 'u',
                                 'l',
                                 'e',
                                 0, /* lengths backwards */
                                 8,
                                 V(4),
                                 V(1),
                                 V(2),
                                 V(0),
                                 V(0)}; /* neither sym_name nor sym_visibility */
  struct writing w;
  begin(&w, "module {\n}\n");
  write_for(&w, "1.20.0");
  assert_int_equal(w.status, STATUS_OK);
  const char producer[] = "StableHLO_v1.20.0";
  assert_int_equal(w.artifact.length, sizeof head + sizeof producer + sizeof body);
  assert_memory_equal(w.artifact.data, head, sizeof head);
  assert_memory_equal(w.artifact.data + sizeof head, producer, sizeof producer);
  assert_memory_equal(w.artifact.data + sizeof head + sizeof producer, body, sizeof body);
  end(&w);
}

/* The first container: no number of names, no properties, regions without a section of their own. */
static void test_first_container(void **state) {
  (void)state;
  static const uint8_t body[] = {
      1,    V(5),  V(1), V(0),  V(0),      V(1), V(1), 3,    V(5),          V(1), V(0), V(0), V(1), V(1 << 1 | 1), 2,
      V(1), V(15), 4,    V(8),  V(1 << 1), V(0), 0x10, V(0), V(1 << 1 | 1), V(1), V(0), V(0), 6,    V(1),          V(0),
      5,    V(0),  0,    V(18), V(2),      V(7), V(8), 'b',  'u',           'i',  'l',  't',  'i',  'n',           0,
      'm',  'o',   'd',  'u',   'l',       'e',  0};
  static const char head[] = "ML\xEFR\x01StableHLO_v0.9.0";
  struct writing w;
  begin(&w, "module {\n}\n");
  write_for(&w, "0.9.0");
  assert_int_equal(w.status, STATUS_OK);
  assert_int_equal(w.artifact.length, sizeof head + sizeof body);
  assert_memory_equal(w.artifact.data, head, sizeof head);
  assert_memory_equal(w.artifact.data + sizeof head, body, sizeof body);
  end(&w);
}

static void test_container_versions(void **state) {
  (void)state;
  static const struct {
    const char *version;
    uint8_t container;
  } rows[] = {{"0.9.0", 0},  {"0.10.0", 1}, {"0.11.0", 1}, {"0.12.0", 3}, {"0.13.0", 3},
              {"0.14.0", 4}, {"0.15.0", 6}, {"1.0.0", 6},  {"1.16.2", 6}, {"1.20.0", 6}};
  struct writing w;
  begin(&w, "module {\n}\n");
  for (size_t i = 0; i < COUNT(rows); i++) {
    write_for(&w, rows[i].version);
    assert_int_equal(w.status, STATUS_OK);
    assert_int_equal((uint8_t)w.artifact.data[4], V(rows[i].container));
    assert_memory_equal(w.artifact.data + 5 + strlen("StableHLO_v"), rows[i].version, strlen(rows[i].version) + 1);
  }
  end(&w);
}

static bool has_bytes(const struct strbuf *buf, const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i + size <= buf->length; i++) {
    if (memcmp(buf->data + i, bytes, size) == 0) {
      return true;
    }
  }
  return false;
}

/* The elements of a constant: size and bytes. Its type is the only tensor type, so that all else stays the same. */
static void test_elements(void **state) {
  (void)state;
  static const struct {
    const char *value, *type;
    size_t size;
    uint8_t bytes[9];
  } rows[] = {{"true", "3xi1", 1, {0xFF}}, /* all true */
              {"false", "3xi1", 1, {0}},
              {"[true, false, true]", "3xi1", 1, {5}}, /* packed, the lowest bit first */
              {"[false, true, true, true, true, true, true, true, true]", "9xi1", 2, {0xFE, 1}},
              {"true", "1xi1", 1, {1}}, /* a single one is not packed */
              {"[1, -1]", "2xi4", 2, {1, 15}}, /* without the bits of the sign */
              {"[1, -1]", "2xi2", 2, {1, 3}},
              {"7", "5xi16", 2, {7, 0}}, /* one element for all */
              {"[1, -2]", "2xi16", 4, {1, 0, 0xFE, 0xFF}},
              {"(1.0, 2.0)", "2xcomplex<f32>", 8, {0, 0, 0x80, 0x3F, 0, 0, 0, 0x40}},
              {"", "0xf32", 0, {0}},
              {"[1.0, 2.0]", "2xbf16", 4, {0x80, 0x3F, 0, 0x40}}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    char text[300];
    snprintf(text, sizeof text, "func.func @f() {\n  %%0 = stablehlo.constant dense<%s> : tensor<%s>\n  return\n}\n",
             rows[i].value, rows[i].type);
    uint8_t expected[12] = {V(15), 0, (uint8_t)V(rows[i].size)}; /* code, type, size */
    memcpy(expected + 3, rows[i].bytes, rows[i].size);
    bool found = false;
    struct writing w;
    begin(&w, text);
    write_for(&w, "1.20.0");
    assert_int_equal(w.status, STATUS_OK);
    for (uint8_t type = 0; type < 8 && !found; type++) {
      expected[1] = (uint8_t)V(type);
      found = has_bytes(&w.artifact, expected, 3 + rows[i].size);
    }
    if (!found) {
      fail_msg("dense<%s> : tensor<%s> is not written as it should", rows[i].value, rows[i].type);
    }
    end(&w);
  }
}

/* ---- versions ------------------------------------------------------------------------------------------------------- */

static void test_versions(void **state) {
  (void)state;
  static const char *const good[] = {"0.9.0", "0.20.0", "1.0.0", "1.16.2", "1.20.0"};
  static const char *const bad[] = {"",       "1",         "1.0",    "1.20.1",          "1.21.0",
                                    "0.8.9",  "0.21.0",    "2.0.0",  "v1.0.0",          "1.0.0 ",
                                    " 1.0.0", "1.0.0-dev", "-1.0.0", "1.0.99999999999", "current"};
  unsigned version[3];
  for (size_t i = 0; i < COUNT(good); i++) {
    char text[40];
    assert_true(mlir_bytecode_parse_version(good[i], version));
    snprintf(text, sizeof text, "%u.%u.%u", version[0], version[1], version[2]);
    assert_string_equal(text, good[i]);
  }
  for (size_t i = 0; i < COUNT(bad); i++) {
    if (mlir_bytecode_parse_version(bad[i], version)) {
      fail_msg("'%s' is taken as a version", bad[i]);
    }
  }
  assert_true(mlir_bytecode_parse_version(mlir_bytecode_newest(), version));
  assert_false(version[0] == 0);
  struct writing w;
  begin(&w, "module {\n}\n");
  struct mlir_bytecode_options options = {{3, 0, 0}, false};
  assert_int_equal(mlir_bytecode_write(w.module, &options, &w.diags, &w.artifact), STATUS_INPUT);
  assert_int_equal(w.diags.entries.data[0].id, DIAG_E0601_USAGE);
  assert_int_equal(w.artifact.length, 0);
  /* no options: the newest */
  assert_int_equal(mlir_bytecode_write(w.module, NULL, &w.diags, &w.artifact), STATUS_OK);
  assert_memory_equal(w.artifact.data + 5 + strlen("StableHLO_v"), mlir_bytecode_newest(),
                      strlen(mlir_bytecode_newest()) + 1);
  end(&w);
}

#define REGION(type)                                                                                                   \
  "({\n  ^bb0(%x: tensor<" type ">, %y: tensor<" type ">):\n    %z = stablehlo.add %x, %y : tensor<" type              \
  ">\n    stablehlo.return %z : tensor<" type ">\n  })"

/* What was added to StableHLO, the version that has it, and what is said of an older one. A body of a function of one
 * argument %a, or whole functions. */
static const struct {
  const char *text, *since, *before, *what;
} additions[] = {
    {"func.func @f(%a: tensor<f8E4M3FNUZ>) {\n  return\n}", "0.10.0", "0.9.0",
     "type 'tensor<f8E4M3FNUZ>' in attribute 'function_type' of 'func.func' needs StableHLO 0.10.0"},
    {"func.func @f(%a: tensor<f8E4M3B11FNUZ>) {\n  return\n}", "0.11.0", "0.10.0", "type"},
    {"%0 = \"stablehlo.collective_broadcast\"(%a) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4xf32>) -> "
     "tensor<4xf32>",
     "0.16.0", "0.15.0", "'stablehlo.collective_broadcast' needs"},
    {"%i = stablehlo.constant dense<0.0> : tensor<f64>\n  %0 = \"stablehlo.reduce\"(%a, %i) " REGION(
         "f64") " {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f64>) -> tensor<f64>",
     "0.17.0", "0.16.0", "'stablehlo.reduce' with results of another element type"},
    {"func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {1.0:1, 2.0}>>) {\n  return\n}", "0.18.0", "0.17.0", "type"},
    {"stablehlo.composite \"c\" %a {decomposition = @g} : (tensor<4xf32>) -> ()\n  return\n}\nfunc.func private "
     "@g(%a: tensor<4xf32>) {",
     "0.19.0", "0.18.0", "'stablehlo.composite' needs"},
    {"%i = stablehlo.constant dense<0> : tensor<2x1xi32>\n  %0 = \"stablehlo.gather\"(%a, %i) {dimension_numbers = "
     "#stablehlo.gather<operand_batching_dims = [0], start_indices_batching_dims = [0], index_vector_dim = 1>, "
     "slice_sizes "
     "= array<i64: 1>} : (tensor<4xf32>, tensor<2x1xi32>) -> tensor<2xf32>",
     "1.1.0", "1.0.0", "'stablehlo.gather' with operand_batching_dims"},
    {"func.func @f(%a: tensor<ui2>) {\n  return\n}", "1.2.0", "1.1.0", "type"},
    {"stablehlo.custom_call @c(%a) {api_version = 4 : i32, backend_config = {x = 1 : i32}} : (tensor<4xf32>) -> ()",
     "1.3.0", "1.2.0", "'stablehlo.custom_call' with api_version 4"},
    {"%0 = stablehlo.tan %a : tensor<4xf32>", "1.4.0", "1.3.0", "'stablehlo.tan' needs"},
    {"%0:2 = \"stablehlo.all_reduce\"(%a, %a) " REGION(
         "f32") " {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, "
                "tensor<4xf32>)",
     "1.5.0", "1.4.0", "'stablehlo.all_reduce' with several operands"},
    {"%0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32, "
     "rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
     "num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4xf32>, tensor<4xf32>) -> "
     "tensor<f32>",
     "1.6.0", "1.5.0", "'stablehlo.dot_general' with algorithm"},
    {"func.func @f() attributes {x.y = none} {\n  return\n}", "1.6.0", "1.5.0",
     "type 'none' in attribute 'x.y' of 'func.func'"},
    {"func.func @f(%a: tensor<f8E3M4>) {\n  return\n}", "1.7.0", "1.6.0", "type"},
    {"func.func @f(%a: tensor<f4E2M1FN>) {\n  return\n}", "1.8.0", "1.7.0", "type"},
    {"%0 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<mode = "
     "#stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>",
     "1.9.0", "1.8.0", "'stablehlo.exponential' with result_accuracy"},
    {"%0 = stablehlo.sine %a {result_accuracy = #stablehlo.result_accuracy<ulps = 1, mode = "
     "#stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>",
     "1.10.0", "1.9.0", "'stablehlo.sine' with result_accuracy"},
    {"sdy.mesh @m = <[\"x\"=2]>", "1.10.9", "1.10.8", "'sdy.mesh' needs"},
    {"func.func @f() attributes {x.y} {\n  return\n}", "1.10.9", "1.10.8", "attribute 'x.y'"},
    {"%t = stablehlo.create_token : !stablehlo.token\n  %0 = \"stablehlo.send\"(%a, %t) {channel_handle = "
     "#stablehlo.channel_handle<handle = 1, type = 2>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : "
     "(tensor<4xf32>, !stablehlo.token) -> !stablehlo.token",
     "1.12.0", "1.11.0", "'stablehlo.send' with source_target_pairs"},
    {"func.func @f(%a: memref<2xf32>) {\n  return\n}", "1.13.0", "1.12.0", "type"},
    {"\"stablehlo.composite\"(%a) ({\n  ^bb0(%x: tensor<4xf32>):\n    stablehlo.return\n  }) {name = \"c\", "
     "decomposition = "
     "@f} : (tensor<4xf32>) -> ()",
     "1.14.0", "1.13.0", "'stablehlo.composite' with regions"},
    {"func.func private @f() -> !stablehlo.future<tensor<f32>>", "1.15.0", "1.14.0", "type"},
    {"%0 = \"stablehlo.all_reduce\"(%a) " REGION(
         "f32") " {replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "
                "\"x\", sub_axis_info = (1)2>]>} : (tensor<4xf32>) -> tensor<4xf32>",
     "1.16.0", "1.15.0", "attribute 'replica_groups'"},
    {"func.func @f(%a: !stablehlo.future<tensor<f32>>) {\n  stablehlo.custom_call @c(%a) : "
     "(!stablehlo.future<tensor<f32>>) "
     "-> ()\n  return\n}",
     "1.17.0", "1.16.0", "'stablehlo.custom_call' with operands or results that are futures"},
    {"stablehlo.custom_call @c(%a) {result_tilings = [[dense<8> : tensor<1xindex>]]} : (tensor<4xf32>) -> ()", "1.18.0",
     "1.17.0", "'stablehlo.custom_call' with result_tilings"},
    {"%0 = \"stablehlo.collective_reduce\"(%a) " REGION(
         "f32") " {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4xf32>) -> tensor<4xf32>",
     "1.19.0", "1.18.0", "'stablehlo.collective_reduce' needs"},
    {"%i = stablehlo.constant dense<0> : tensor<1xi32>\n  %0 = \"stablehlo.collective_broadcast\"(%a, %i) "
     "{has_dynamic_root, "
     "replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>",
     "1.20.0", "1.19.0", "'stablehlo.collective_broadcast' with has_dynamic_root"}};

static void wrap(const char *text, char *out, size_t size) {
  bool is_whole = strncmp(text, "func", 4) == 0 || strncmp(text, "sdy.mesh", 8) == 0;
  snprintf(out, size, is_whole ? "%s\n" : "func.func @f(%%a: tensor<4xf32>) {\n  %s\n  return\n}\n", text);
}

static void check_addition(size_t i) {
  char text[2000], needs[100];
  struct writing w;
  wrap(additions[i].text, text, sizeof text);
  snprintf(needs, sizeof needs, "or newer; the target is %s", additions[i].before);
  begin(&w, text);
  write_for(&w, additions[i].before);
  if (w.status != STATUS_INPUT) {
    fail_msg("written for %s:\n%s", additions[i].before, text);
  }
  const struct diag *diag = &w.diags.entries.data[0];
  if (diag->id != DIAG_E0115_NEEDS_VERSION || strstr(diag->message, additions[i].what) == NULL
      || strstr(diag->message, needs) == NULL || diag->line == 0) {
    fail_msg("%u:%u: %s\nof\n%s", diag->line, diag->column, diag->message, text);
  }
  assert_int_equal(w.artifact.length, 0);
  write_for(&w, additions[i].since);
  if (w.status != STATUS_OK) {
    fail_msg("for %s: %s\nof\n%s", additions[i].since, w.diags.entries.data[w.diags.entries.count - 1].message, text);
  }
  struct ir_module *again = read_again(&w);
  char where[300] = "";
  assert_true(mlir_bytecode_drop_defaults(w.module));
  if (!ir_equal(w.module, w.module->root, again, again->root, where, sizeof where)) {
    fail_msg("%s\nof\n%s", where, text);
  }
  ir_module_free(again);
  end(&w);
}

static void test_additions(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(additions); i++) {
    check_addition(i);
  }
}

/* ---- what no artifact holds ----------------------------------------------------------------------------------------- */

static void test_not_portable(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } rows[] = {{"%0 = chlo.tan %a : tensor<4xf32> -> tensor<4xf32>", "'chlo.tan' cannot be in a portable artifact"},
              {"%0 = mhlo.add %a, %a : tensor<4xf32>", "'mhlo.add' cannot be in a portable artifact"},
              {"%0 = \"foo.bar\"(%a) : (tensor<4xf32>) -> tensor<4xf32>", "lower it to StableHLO first"},
              {"%0 = stablehlo.constant dense_resource<__elided__> : tensor<4xf32>", "the resource '__elided__'"},
              {"func.func @f(%a: !foo.bar) {\n  return\n}", "!foo.bar"},
              {"func.func @f() attributes {x.y = \"s\" : i32} {\n  return\n}", "a string with a type"},
              {"func.func @f() attributes {x.y = #foo.bar<1>} {\n  return\n}", "#foo.bar<1>"},
              {"func.func @f() attributes {x.y = 1 : i128} {\n  return\n}", "the value 1 of a type"},
              {"func.func @f(%a: tensor<4xf32, #foo.bar>) {\n  return\n}", "encoding"},
              {"func.func @f() attributes {x.y = #stablehlo.channel_handle<handle = 1, type = 1>} {\n  return\n}",
               "#stablehlo.channel_handle"}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    char text[600];
    struct writing w;
    wrap(rows[i].text, text, sizeof text);
    begin(&w, text);
    write_for(&w, "1.20.0");
    assert_int_equal(w.status, STATUS_INPUT);
    const struct diag *diag = &w.diags.entries.data[0];
    if (diag->id != DIAG_E0114_NOT_PORTABLE || strstr(diag->message, rows[i].message) == NULL || diag->line == 0) {
      fail_msg("%u:%u: %s\nof\n%s", diag->line, diag->column, diag->message, text);
    }
    end(&w);
  }
}

/* Every operation that is refused is named. */
static void test_several_refusals(void **state) {
  (void)state;
  struct writing w;
  begin(&w, "func.func @f(%a: tensor<4xf32>) {\n  %0 = stablehlo.tan %a : tensor<4xf32>\n  %1 = mhlo.add %a, %a : "
            "tensor<4xf32>\n  %2 = stablehlo.tan %0 : tensor<4xf32>\n  return\n}\n");
  write_for(&w, "1.0.0");
  assert_int_equal(w.status, STATUS_INPUT);
  assert_int_equal(w.diags.entries.count, 3);
  for (uint32_t i = 0; i < 3; i++) {
    assert_int_equal(w.diags.entries.data[i].line, 2 + i);
  }
  end(&w);
}

/* ---- round trips ---------------------------------------------------------------------------------------------------- */

static const char *const programs[] = {
    /* values of a loop, captured and not; several regions */
    "func.func @f(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {\n"
    "  %0 = stablehlo.while(%i = %a) : tensor<i32>\n"
    "   cond {\n    %1 = stablehlo.compare LT, %i, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %1 : tensor<i1>\n  } do {\n    %1 = stablehlo.add %i, %b : tensor<i32>\n"
    "    %2 = \"stablehlo.case\"(%1) ({\n      %3 = stablehlo.add %1, %i : tensor<i32>\n      stablehlo.return %3 : "
    "tensor<i32>\n    }, {\n      %c = stablehlo.constant dense<1> : tensor<i32>\n      stablehlo.return %c : "
    "tensor<i32>\n"
    "    }) : (tensor<i32>) -> tensor<i32>\n    stablehlo.return %2 : tensor<i32>\n  }\n  return %0 : tensor<i32>\n}\n",
    /* modules within modules, declarations, calls, attributes */
    "module @outer attributes {mhlo.num_partitions = 2 : i32, x.list = [1 : i32, \"s\", unit, @f::@g], x.d = {a = 1.5 "
    ": "
    "f32, b = array<i32: 1, 2>}} {\n  module @inner {\n    func.func private @g(tensor<f32> {x.y = \"\\22\"})\n  }\n"
    "  func.func public @f(%a: tensor<f32>) -> (tensor<f32> {jax.result_info = \"r\"}) {\n    %0 = call @f(%a) : "
    "(tensor<f32>) -> tensor<f32>\n    return %0 : tensor<f32>\n  }\n}\n",
    /* types */
    "func.func private @f(tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<*xi8>, tuple<tensor<f32>, tuple<>>, "
    "!stablehlo.token, tensor<4x!quant.uniform<u8<1:254>:f32, 5.000000e-01:3>>, tensor<4x!quant.uniform<i4:f16:0, "
    "{1.0:1,2.0}>>, tensor<complex<f64>>, tensor<index>, memref<2x?xf32>, !stablehlo.future<tensor<f32>, "
    "tensor<i1>>)\n",
    /* shardings, with and without casts, and their attributes */
    "sdy.mesh @m = <[\"x\"=2, \"y\"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>\n"
    "func.func @f(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\", ?}p1, {}], replicated={\"y\"}>}) -> "
    "tensor<8x8xf32> {\n"
    "  %0 = sdy.sharding_constraint %a <@m, [{\"x\"}, {\"y\":(1)2}]> : tensor<8x8xf32>\n"
    "  %1 = sdy.reshard %0 <mesh<[\"z\"=8]>, [{\"z\"}, {?}]> : tensor<8x8xf32>\n"
    "  %2 = stablehlo.add %1, %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}], unreduced={\"x\"}>]>} : "
    "tensor<8x8xf32>\n"
    "  %3 = sdy.manual_computation(%2) in_shardings=[<@m, [{\"x\"}, {}]>] out_shardings=[<@m, [{\"x\"}, {}]>] "
    "manual_axes={\"x\"} (%b: tensor<4x8xf32>) {\n    %4 = stablehlo.add %b, %b : tensor<4x8xf32>\n    %5 = "
    "sdy.all_gather [{\"x\"}, {}] %4 out_sharding=<@m, [{}, {}]> : tensor<4x8xf32>\n"
    "    sdy.return %5 : tensor<4x8xf32>\n  } : (tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "  %6 = sdy.propagation_barrier %3 allowed_direction=BACKWARD : tensor<8x8xf32>\n"
    "  %7 = stablehlo.custom_call @c(%6) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, jk]) {i=8, j=2, "
    "k=4} "
    "reduction={j}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "  sdy.sharding_group %7 group_id=3 : tensor<8x8xf32>\n"
    "  return %7 : tensor<8x8xf32>\n}\n",
    /* resources, of several alignments */
    "func.func @f() {\n  %0 = stablehlo.constant dense_resource<b> : tensor<2xf32>\n  %1 = stablehlo.constant "
    "dense_resource<a> : tensor<1xi8>\n  return\n}\n{-#\n  dialect_resources: {\n    builtin: {\n      a: "
    "\"0x0100000007\",\n      b: \"0x400000000000803F00000040\"\n    }\n  }\n#-}\n",
    /* defaults that depend on the operation */
    "func.func @f(%a: tensor<1x8x8x1xf32>, %k: tensor<3x3x1x1xf32>, %i: tensor<f32>, %n: tensor<2x2xi32>) {\n"
    "  %0 = \"stablehlo.convolution\"(%a, %k) {batch_group_count = 1 : i64, feature_group_count = 1 : i64, "
    "dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>} : (tensor<1x8x8x1xf32>, "
    "tensor<3x3x1x1xf32>) -> tensor<1x6x6x1xf32>\n"
    "  %1 = \"stablehlo.reduce_window\"(%a, %i) " REGION(
        "f32") " {window_dimensions = array<i64: 1, 2, 2, 1>} : (tensor<1x8x8x1xf32>, tensor<f32>) -> "
               "tensor<1x7x7x1xf32>\n"
               "  %2 = \"stablehlo.dynamic_conv\"(%a, %k, %n) {batch_group_count = 1 : i64, feature_group_count = 1 : "
               "i64, "
               "dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>} : (tensor<1x8x8x1xf32>, "
               "tensor<3x3x1x1xf32>, tensor<2x2xi32>) -> tensor<1x?x?x1xf32>\n"
               "  %3 = stablehlo.cholesky %k : tensor<3x3x1x1xf32>\n  return\n}\n"};

/* What is written reads as what it was, and writing that again gives the same bytes. */
static void check_round_trip(const char *text, const char *version) {
  struct writing w, second = {.status = STATUS_OK};
  char where[300] = "";
  begin(&w, text);
  write_for(&w, version);
  if (w.status != STATUS_OK) {
    fail_msg("%s\nof\n%s", w.diags.entries.data[0].message, text);
  }
  diag_init(&second.diags);
  second.module = read_again(&w);
  assert_true(mlir_bytecode_drop_defaults(w.module));
  if (!ir_equal(w.module, w.module->root, second.module, second.module->root, where, sizeof where)) {
    fail_msg("%s\nof\n%s", where, text);
  }
  write_for(&second, version);
  assert_int_equal(second.status, STATUS_OK);
  assert_int_equal(second.artifact.length, w.artifact.length);
  assert_memory_equal(second.artifact.data, w.artifact.data, w.artifact.length);
  end(&second);
  end(&w);
}

static void test_round_trips(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(programs); i++) {
    check_round_trip(programs[i], "1.20.0");
    check_round_trip(programs[i], "1.16.0");
  }
  check_round_trip(programs[0], "0.9.0");
  check_round_trip(programs[0], "0.12.0");
  check_round_trip(programs[5], "0.9.0");
  check_round_trip(programs[5], "0.14.0");
}

/* A symbol among attributes that VHLO does not know becomes a string, as StableHLO writes it. */
static void test_symbols_become_strings(void **state) {
  (void)state;
  struct writing w;
  begin(&w, "func.func @f() attributes {x.y = @f} {\n  return\n}\n");
  write_for(&w, "1.20.0");
  assert_int_equal(w.status, STATUS_OK);
  struct ir_module *again = read_again(&w);
  struct ir_attr attr = ir_op_attr(again, ir_function_find(again, "f"), "x.y");
  assert_int_not_equal(attr.id, 0);
  assert_int_equal(ir_attr_get(again, attr)->kind, IR_ATTR_STRING);
  ir_module_free(again);
  end(&w);
}

/* Regions within regions up to the limit, which is above that of the parser. */
static void test_depth(void **state) {
  (void)state;
  struct strbuf text = {0};
  struct mlir_parse_options options = {.max_depth = 2000};
  strbuf_puts(&text, "func.func @f(%a: tensor<i1>) {\n");
  for (int i = 0; i < 600; i++) {
    strbuf_puts(&text, "\"stablehlo.if\"(%a) ({\n");
  }
  for (int i = 0; i < 600; i++) {
    strbuf_puts(&text, "stablehlo.return\n}, {\nstablehlo.return\n}) : (tensor<i1>) -> ()\n");
  }
  strbuf_puts(&text, "return\n}\n");
  struct writing w = {.status = STATUS_OK};
  diag_init(&w.diags);
  struct source source = {"deep", strbuf_text(&text), text.length};
  assert_int_equal(mlir_parse(&source, &options, &w.diags, &w.module), STATUS_OK);
  write_for(&w, "1.20.0");
  assert_int_equal(w.status, STATUS_LIMIT);
  assert_int_equal(w.diags.entries.data[0].id, DIAG_E0005_LIMIT);
  end(&w);
  strbuf_release(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_empty_module),
                                     cmocka_unit_test(test_first_container),
                                     cmocka_unit_test(test_container_versions),
                                     cmocka_unit_test(test_elements),
                                     cmocka_unit_test(test_versions),
                                     cmocka_unit_test(test_additions),
                                     cmocka_unit_test(test_not_portable),
                                     cmocka_unit_test(test_several_refusals),
                                     cmocka_unit_test(test_round_trips),
                                     cmocka_unit_test(test_symbols_become_strings),
                                     cmocka_unit_test(test_depth)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
