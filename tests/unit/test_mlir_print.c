/* Spelling of types and attributes and the rules of SSA names, on IR built by hand. Expected texts follow MLIR's language
 * reference (builtin types and attributes, string escapes, dictionary order, the 100-element limit of its printer). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "mlir/mlir.h"
#include "mlir/op_attrs.h"

static int setup(void **state) {
  *state = ir_module_new(0);
  return *state == NULL;
}

static int teardown(void **state) {
  ir_module_free(*state);
  return 0;
}

static struct ir_type scalar(const struct ir_module *m, enum dtype dtype) {
  return ir_type_scalar(m, dtype);
}

static struct ir_type tensor1(struct ir_module *m, enum dtype dtype, int64_t n) {
  return ir_type_tensor(m, scalar(m, dtype), &n, 1, (struct ir_attr){0});
}

static void expect_type(const struct ir_module *m, struct ir_type type, const char *text) {
  struct strbuf out = {0};
  mlir_print_type(m, type, &out);
  assert_string_equal(strbuf_text(&out), text);
  strbuf_release(&out);
}

static void expect_attr(const struct ir_module *m, struct ir_attr attr, const char *text) {
  struct strbuf out = {0};
  mlir_print_attr(m, attr, &out);
  assert_string_equal(strbuf_text(&out), text);
  strbuf_release(&out);
}

static uint32_t id(struct ir_module *m, const char *text) {
  return intern_add_cstr(&m->strings, text);
}

static struct ir_attr string(struct ir_module *m, const char *text) {
  return ir_attr_string(m, text, strlen(text), (struct ir_type){0});
}

static void test_types(void **state) {
  struct ir_module *m = *state;
  int64_t dims[3] = {2, IR_DYNAMIC, 0};
  expect_type(m, ir_type_tensor(m, scalar(m, DTYPE_F32), NULL, 0, (struct ir_attr){0}), "tensor<f32>");
  expect_type(m, ir_type_tensor(m, scalar(m, DTYPE_UI4), dims, 3, (struct ir_attr){0}), "tensor<2x?x0xui4>");
  expect_type(m, ir_type_memref(m, scalar(m, DTYPE_I1), dims, 1, (struct ir_attr){0}), "memref<2xi1>");
  expect_type(m, ir_type_unranked(m, scalar(m, DTYPE_C64)), "tensor<*xcomplex<f32>>");
  struct ir_attr bounds = ir_attr_text(m, IR_ATTR_OPAQUE, "#stablehlo.bounds<?, 4>", 23, (struct ir_type){0});
  expect_type(m, ir_type_tensor(m, scalar(m, DTYPE_F8E4M3FN), dims, 2, bounds),
              "tensor<2x?xf8E4M3FN, #stablehlo.bounds<?, 4>>");
  struct ir_type pair[2] = {scalar(m, DTYPE_F32), scalar(m, DTYPE_INDEX)};
  struct ir_type function = ir_type_list(m, IR_TYPE_FUNCTION, pair, 2, 1);
  expect_type(m, function, "(f32) -> index");
  expect_type(m, ir_type_list(m, IR_TYPE_FUNCTION, pair, 2, 2), "(f32, index) -> ()");
  expect_type(m, ir_type_list(m, IR_TYPE_FUNCTION, pair, 2, 0), "() -> (f32, index)");
  struct ir_type nested[2] = {pair[0], function};
  /* a function as the only result is in parentheses, or the arrows would be ambiguous */
  expect_type(m, ir_type_list(m, IR_TYPE_FUNCTION, nested, 2, 1), "(f32) -> ((f32) -> index)");
  expect_type(m, ir_type_list(m, IR_TYPE_TUPLE, pair, 2, 0), "tuple<f32, index>");
  expect_type(m, ir_type_list(m, IR_TYPE_TUPLE, NULL, 0, 0), "tuple<>");
  expect_type(m, ir_type_list(m, IR_TYPE_FUTURE, pair, 1, 0), "!stablehlo.future<f32>");
  expect_type(m, m->token_type, "!stablehlo.token");
  expect_type(m, ir_type_opaque(m, "!a.b<[1, \"x\"]>", 14), "!a.b<[1, \"x\"]>");
}

static void test_scalars(void **state) {
  struct ir_module *m = *state;
  expect_attr(m, ir_attr_integer(m, -5, scalar(m, DTYPE_I64)), "-5 : i64");
  expect_attr(m, ir_attr_integer(m, -1, scalar(m, DTYPE_UI64)), "18446744073709551615 : ui64");
  expect_attr(m, ir_attr_integer(m, INT64_MIN, scalar(m, DTYPE_I64)), "-9223372036854775808 : i64");
  expect_attr(m, ir_attr_bool(m, true), "true");
  expect_attr(m, m->unit_attr, "unit");
  expect_attr(m, ir_attr_float(m, 0x3F800000, scalar(m, DTYPE_F32)), "1.000000e+00 : f32");
  expect_attr(m, ir_attr_float(m, 0x7FC00000, scalar(m, DTYPE_F32)), "0x7FC00000 : f32");
  expect_attr(m, ir_attr_type(m, tensor1(m, DTYPE_BF16, 3)), "tensor<3xbf16>");
}

/* Printable characters stand for themselves but for quote and backslash; others as two hex digits. */
static void test_strings_and_symbols(void **state) {
  struct ir_module *m = *state;
  expect_attr(m, string(m, ""), "\"\"");
  expect_attr(m, string(m, "a\"b\\c\n\t~\x7F\xC3"), "\"a\\22b\\\\c\\0A\\09~\\7F\\C3\"");
  expect_attr(m, ir_attr_string(m, "a\0b", 3, (struct ir_type){0}), "\"a\\00b\"");
  expect_attr(m, ir_attr_string(m, "x", 1, scalar(m, DTYPE_I32)), "\"x\" : i32");
  static const char *const symbols[][2] = {{"main", "@main"},
                                           {"_a.b$1", "@_a.b$1"},
                                           {"1a", "@\"1a\""},
                                           {"a-b", "@\"a-b\""},
                                           {"a::@b::@\"c d\"", "@a::@b::@\"c d\""},
                                           {"a b::@c", "@\"a b\"::@c"}};
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
    const char *text = symbols[i][0];
    expect_attr(m, ir_attr_text(m, IR_ATTR_SYMBOL, text, strlen(text), (struct ir_type){0}), symbols[i][1]);
  }
}

/* Inside arrays the types i64 and f64 are understood. */
static void test_arrays_and_dictionaries(void **state) {
  struct ir_module *m = *state;
  struct ir_attr items[4] = {ir_attr_integer(m, 1, scalar(m, DTYPE_I64)), ir_attr_integer(m, 1, scalar(m, DTYPE_I32)),
                             ir_attr_float(m, 0x3FF0000000000000, scalar(m, DTYPE_F64)),
                             ir_attr_float(m, 0x3F800000, scalar(m, DTYPE_F32))};
  expect_attr(m, ir_attr_array(m, items, 4), "[1, 1 : i32, 1.000000e+00, 1.000000e+00 : f32]");
  expect_attr(m, ir_attr_array(m, items, 0), "[]");
  uint32_t pairs[] = {id(m, "b"), items[0].id, id(m, "a.c"), m->unit_attr.id, id(m, "1"), ir_attr_bool(m, false).id};
  expect_attr(m, ir_attr_dict(m, pairs, 3), "{\"1\" = false, a.c, b = 1 : i64}");
  int64_t values[3] = {3, -4, 0};
  expect_attr(m, ir_attr_i64s(m, values, 3), "array<i64: 3, -4, 0>");
  expect_attr(m, ir_attr_i64s(m, NULL, 0), "array<i64>");
  const uint8_t flags[2] = {1, 0};
  expect_attr(m, ir_attr_dense_array(m, scalar(m, DTYPE_I1), flags, 2), "array<i1: true, false>");
}

static void test_dense(void **state) {
  struct ir_module *m = *state;
  const int32_t six[6] = {1, 2, 3, 4, 5, 6};
  int64_t dims[3] = {3, 1, 2};
  struct ir_type type = ir_type_tensor(m, scalar(m, DTYPE_I32), dims, 3, (struct ir_attr){0});
  expect_attr(m, ir_attr_dense(m, type, six, sizeof six, false),
              "dense<[[[1, 2]], [[3, 4]], [[5, 6]]]> : tensor<3x1x2xi32>");
  const int32_t same[2] = {7, 7};
  expect_attr(m, ir_attr_dense(m, tensor1(m, DTYPE_I32, 2), same, sizeof same, false), "dense<7> : tensor<2xi32>");
  expect_attr(m, ir_attr_dense(m, tensor1(m, DTYPE_I32, 0), NULL, 0, false), "dense<> : tensor<0xi32>");
  const uint8_t narrow[2] = {0x0F, 0x07}; /* i4: one byte each, the sign is bit 3 */
  expect_attr(m, ir_attr_dense(m, tensor1(m, DTYPE_I4, 2), narrow, 2, false), "dense<[-1, 7]> : tensor<2xi4>");
  expect_attr(m, ir_attr_dense(m, tensor1(m, DTYPE_UI4, 2), narrow, 2, false), "dense<[15, 7]> : tensor<2xui4>");
  const float parts[4] = {0.0F, 1.0F, -1.0F, 0.5F};
  expect_attr(m, ir_attr_dense(m, tensor1(m, DTYPE_C64, 2), parts, sizeof parts, false),
              "dense<[(0.000000e+00,1.000000e+00), (-1.000000e+00,5.000000e-01)]> : tensor<2xcomplex<f32>>");
}

/* 100 elements are a list, 101 a hex string of the little-endian bytes. */
static void test_dense_hex_limit(void **state) {
  struct ir_module *m = *state;
  uint8_t bytes[202] = {0};
  for (int i = 0; i < 101; i++) {
    bytes[2 * i] = (uint8_t)(i + 0xA0);
    bytes[2 * i + 1] = 0x0B;
  }
  struct strbuf out = {0};
  mlir_print_attr(m, ir_attr_dense(m, tensor1(m, DTYPE_I16, 100), bytes, 200, false), &out);
  assert_memory_equal(strbuf_text(&out), "dense<[2976, 2977, ", 19); /* 0x0BA0 = 2976 */
  strbuf_clear(&out);
  mlir_print_attr(m, ir_attr_dense(m, tensor1(m, DTYPE_I16, 101), bytes, 202, false), &out);
  assert_memory_equal(strbuf_text(&out), "dense<\"0xA00BA10BA20B", 21);
  static const char tail[] = "030B040B\"> : tensor<101xi16>"; /* bytes 99 + 0xA0 and 100 + 0xA0, modulo 256 */
  assert_string_equal(strbuf_text(&out) + out.length - strlen(tail), tail);
  strbuf_release(&out);
}

static void test_dialect_attributes(void **state) {
  struct ir_module *m = *state;
  expect_attr(m, ir_attr_enum(m, "stablehlo.precision", 19, "HIGH", 4), "#stablehlo<precision HIGH>");
  expect_attr(m, ir_attr_enum(m, "stablehlo.result_accuracy_mode", 30, "DEFAULT", 7),
              "#stablehlo.result_accuracy_mode<DEFAULT>");
  int64_t two[2] = {1, 0};
  struct ir_attr list = ir_attr_i64s(m, two, 2), none = ir_attr_i64s(m, NULL, 0);
  struct ir_attr zero = ir_attr_integer(m, 0, scalar(m, DTYPE_I64));
  uint32_t gather[] = {id(m, "offset_dims"),      list.id, id(m, "collapsed_slice_dims"), none.id,
                       id(m, "index_vector_dim"), zero.id};
  expect_attr(m, ir_attr_struct(m, "stablehlo.gather", gather, 3), "#stablehlo.gather<offset_dims = [1, 0]>");
  uint32_t channel[] = {id(m, "handle"), zero.id, id(m, "type"), zero.id};
  expect_attr(m, ir_attr_struct(m, "stablehlo.channel_handle", channel, 2),
              "#stablehlo.channel_handle<handle = 0, type = 0>");
}

static struct ir_attr conv(struct ir_module *m, const int64_t numbers[6], const int64_t spatial[3]) {
  static const char *const names[9] = {
      "input_batch_dimension",          "input_feature_dimension",         "input_spatial_dimensions",
      "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions",
      "output_batch_dimension",         "output_feature_dimension",        "output_spatial_dimensions"};
  uint32_t pairs[18];
  for (int i = 0; i < 9; i++) {
    pairs[2 * i] = id(m, names[i]);
    pairs[2 * i + 1] = i % 3 == 2 ? ir_attr_i64s(m, &spatial[i / 3], 1).id
                                  : ir_attr_integer(m, numbers[i / 3 * 2 + i % 3], scalar(m, DTYPE_I64)).id;
  }
  return ir_attr_struct(m, "stablehlo.conv", pairs, 9);
}

static void test_convolution_dimensions(void **state) {
  struct ir_module *m = *state;
  const int64_t numbers[6] = {0, 2, 1, 2, 0, 1}, spatial[3] = {1, 0, 2};
  expect_attr(m, conv(m, numbers, spatial), "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, f, 0]>");
  const int64_t gap[6] = {0, 3, 1, 2, 0, 1}; /* nothing is dimension 2 of the input */
  expect_attr(m, conv(m, gap, spatial), "#stablehlo.conv<[b, 0, ?, f]x[0, i, o]->[b, f, 0]>");
  const int64_t twice[6] = {1, 2, 1, 2, 0, 1}; /* batch and spatial are the same dimension */
  expect_attr(m, conv(m, twice, spatial),
              "#stablehlo.conv<raw input_batch_dimension = 1, input_feature_dimension = 2, input_spatial_dimensions = "
              "[1], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 2, kernel_spatial_dimensions "
              "= [0], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>");
}

/* An operation that breaks its own format prints in the generic form. */
static void test_malformed_is_generic(void **state) {
  struct ir_module *m = *state;
  struct ir_block body = ir_region_entry(m, ir_op_region(m, m->root, 0));
  struct ir_type type = tensor1(m, DTYPE_F32, 2);
  struct ir_op_spec iota = {.opcode = IR_OP_IOTA, .result_types = &type, .result_count = 1};
  struct ir_op op = ir_op_create(m, body, &iota); /* no iota_dimension */
  struct strbuf out = {0};
  mlir_print(m, op, &(struct mlir_print_options){.form = MLIR_PRETTY}, &out);
  assert_string_equal(strbuf_text(&out), "%0 = \"stablehlo.iota\"() : () -> tensor<2xf32>\n");
  assert_true(ir_op_set_attr(m, op, "iota_dimension", ir_attr_integer(m, 0, scalar(m, DTYPE_I64))));
  strbuf_clear(&out);
  mlir_print(m, op, &(struct mlir_print_options){.form = MLIR_PRETTY}, &out);
  assert_string_equal(strbuf_text(&out), "%0 = stablehlo.iota dim = 0 : tensor<2xf32>\n");
  struct ir_value operand = ir_op_result(m, op, 0);
  struct ir_op_spec add = {
      .opcode = IR_OP_ADD, .operands = &operand, .operand_count = 1, .result_types = &type, .result_count = 1};
  strbuf_clear(&out);
  mlir_print(m, ir_op_create(m, body, &add), &(struct mlir_print_options){.form = MLIR_PRETTY}, &out);
  assert_string_equal(strbuf_text(&out),
                      "%0 = \"stablehlo.add\"(<<UNKNOWN SSA VALUE>>) : (tensor<2xf32>) -> tensor<2xf32>\n");
  strbuf_release(&out);
}

/* Defaults of attributes disappear from the pretty form only. */
static void test_default_attributes(void **state) {
  struct ir_module *m = *state;
  const struct mlir_op_attr *row = mlir_op_attr_find(IR_OP_CUSTOM_CALL, "api_version");
  assert_non_null(row);
  bool failed = false;
  assert_true(mlir_attr_is_default(m, row, ir_attr_integer(m, 1, scalar(m, DTYPE_I32)), &failed));
  assert_false(mlir_attr_is_default(m, row, ir_attr_integer(m, 2, scalar(m, DTYPE_I32)), &failed));
  assert_false(mlir_attr_is_default(m, NULL, ir_attr_bool(m, true), &failed));
  assert_false(failed);
  assert_null(mlir_op_attr_find(IR_OP_ADD, "api_version"));
  size_t count;
  const struct mlir_op_attr *slice = mlir_op_attrs(IR_OP_SLICE, &count);
  assert_int_equal(count, 3);
  assert_string_equal(slice[0].name, "limit_indices"); /* alphabetical */
  assert_int_equal(slice[0].form, MLIR_FORM_I64_ARRAY);
  for (int op = 0; op < IR_OP_COUNT; op++) {
    const struct mlir_op_attr *rows = mlir_op_attrs((enum ir_opcode)op, &count);
    for (size_t i = 1; i < count; i++) {
      assert_true(strcmp(rows[i - 1].name, rows[i].name) < 0);
    }
  }
}

/* Modules in modules, `depth` below the root. */
static struct ir_module *nested_modules(int depth) {
  struct ir_module *m = ir_module_new(0);
  assert_non_null(m);
  struct ir_block block = ir_region_entry(m, ir_op_region(m, m->root, 0));
  for (int i = 0; i < depth; i++) {
    struct ir_region region = ir_region_create(m);
    struct ir_block body = ir_block_create(m, region);
    struct ir_op_spec spec = {.opcode = IR_OP_BUILTIN_MODULE, .regions = &region, .region_count = 1};
    ir_op_create(m, block, &spec);
    block = body;
  }
  return m;
}

/* Deep nesting is bounded: 1000 regions print, more mark the text as failed; the same holds for comparing. */
static void test_deep_nesting(void **state) {
  (void)state;
  for (int depth = 998; depth <= 1001; depth += 3) {
    struct ir_module *m = nested_modules(depth);
    for (int form = MLIR_PRETTY; form <= MLIR_GENERIC; form++) {
      struct strbuf out = {0};
      mlir_print(m, m->root, &(struct mlir_print_options){.form = (enum mlir_form)form}, &out);
      assert_int_equal(out.failed, depth > 1000);
      strbuf_release(&out);
    }
    char where[100];
    assert_int_equal(ir_equal(m, m->root, m, m->root, where, sizeof where), depth < 1000);
    ir_module_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_types, setup, teardown),
      cmocka_unit_test_setup_teardown(test_scalars, setup, teardown),
      cmocka_unit_test_setup_teardown(test_strings_and_symbols, setup, teardown),
      cmocka_unit_test_setup_teardown(test_arrays_and_dictionaries, setup, teardown),
      cmocka_unit_test_setup_teardown(test_dense, setup, teardown),
      cmocka_unit_test_setup_teardown(test_dense_hex_limit, setup, teardown),
      cmocka_unit_test_setup_teardown(test_dialect_attributes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_convolution_dimensions, setup, teardown),
      cmocka_unit_test_setup_teardown(test_malformed_is_generic, setup, teardown),
      cmocka_unit_test_setup_teardown(test_default_attributes, setup, teardown),
      cmocka_unit_test(test_deep_nesting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
