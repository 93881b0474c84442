/* Text that must be refused at the line where a reader looks for the mistake: something missing at the end of a line, a key
 * that stands twice, types that cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mlir/mlir.h"

#define MAX_ERRORS 4

struct place {
  enum diag_id id;
  uint32_t line;
  const char *part; /* of the message */
};

/* The errors are exactly these, in order. */
static void expect_errors(const char *text, const struct place *places, size_t count) {
  struct source source = {"test.mlir", text, strlen(text)};
  struct diag_list diags;
  struct ir_module *module = NULL;
  diag_init(&diags);
  assert_int_equal(mlir_parse(&source, NULL, &diags, &module), STATUS_INPUT);
  assert_null(module);
  assert_int_equal(diags.entries.count, count);
  for (size_t i = 0; i < count; i++) {
    const struct diag *d = &diags.entries.data[i];
    if (d->id != places[i].id || d->line != places[i].line || strstr(d->message, places[i].part) == NULL) {
      fail_msg("%u: %s [%s], expected line %u, '%s' [%s]", d->line, d->message, diag_code(d->id), places[i].line,
               places[i].part, diag_code(places[i].id));
    }
  }
  diag_release(&diags);
}

static void expect_one(const char *text, enum diag_id id, uint32_t line, const char *part) {
  struct place place = {id, line, part};
  expect_errors(text, &place, 1);
}

static void expect_read(const char *text) {
  struct source source = {"test.mlir", text, strlen(text)};
  struct diag_list diags;
  struct ir_module *module = NULL;
  diag_init(&diags);
  if (mlir_parse(&source, NULL, &diags, &module) != STATUS_OK) {
    fail_msg("%s", diags.entries.count > 0 ? diags.entries.data[0].message : "no message");
  }
  ir_module_free(module);
  diag_release(&diags);
}

static void test_missing_at_the_end_of_a_line(void **state) {
  (void)state;
  /* the arrow belongs to line 2, not to the return on line 3 or 5 */
  expect_one("func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.tuple %a : (tensor<f32>)\n  return\n}\n",
             DIAG_E0102_EXPECTED, 2, "'->'");
  expect_one("func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.tuple %a : (tensor<f32>)  // why\n\n  // and more\n"
             "  return\n}\n",
             DIAG_E0102_EXPECTED, 2, "found 'return'");
  /* a token on the same line is the place itself */
  expect_one("func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.tuple %a : (tensor<f32>) ]\n  return\n}\n",
             DIAG_E0102_EXPECTED, 2, "found ']'");
  expect_one("func.func @f(%a: tensor<2xf32>) {\n  %0:2 = stablehlo.optimization_barrier %a, %a : tensor<2xf32>\n"
             "  return\n}\n",
             DIAG_E0110_OPERAND_TYPES, 2, "2 operands but 1 operand type");
}

static void test_each_missing_comma(void **state) {
  (void)state;
  static const struct place places[] = {{DIAG_E0102_EXPECTED, 2, "',' or '>'"}, {DIAG_E0102_EXPECTED, 3, "',' or '>'"}};
  expect_errors("\"a.b\"() {x = #stablehlo.gather<\n  offset_dims = [0]\n  collapsed_slice_dims = [1]\n"
                "  index_vector_dim = 1>} : () -> ()\n",
                places, 2);
}

static void test_window_keys(void **state) {
  (void)state;
  expect_one("func.func @f(%a: tensor<1x4x4x1xf32>, %b: tensor<1x1x1x1xf32>) {\n"
             "  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],\n"
             "    window = {pad = [[0, 0], [0, 0]],\n"
             "              pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}\n"
             "    : (tensor<1x4x4x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x4x4x1xf32>\n  return\n}\n",
             DIAG_E0107_REDEFINED, 4, "'pad' stands twice");
}

static void test_words_of_pretty_forms(void **state) {
  (void)state;
  expect_one("func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.custom_call \"x\"(%a) : (tensor<f32>) -> tensor<f32>\n"
             "  return\n}\n",
             DIAG_E0102_EXPECTED, 2, "a symbol");
  expect_read(
      "func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.custom_call @\"x y\"(%a) : (tensor<f32>) -> tensor<f32>\n"
      "  return\n}\n");
  expect_one("func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.reduce_precision %a, format = e8m4294967296 : "
             "tensor<f32>\n  return\n}\n",
             DIAG_E0102_EXPECTED, 2, "exceed 31 bits");
  expect_read("func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.reduce_precision %a, format = e8m2147483647 : "
              "tensor<f32>\n  return\n}\n"); /* the greatest i32 */
}

static void test_reductions_apply_commutative_operations(void **state) {
  (void)state;
#define REDUCE(word)                                                                                                   \
  "func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {\n"                                                               \
  "  %0 = stablehlo.reduce(%a init: %b) applies stablehlo." word " across dimensions = [0] : "                         \
  "(tensor<4xf32>, tensor<f32>) -> tensor<f32>\n  return\n}\n"
  expect_one(REDUCE("subtract"), DIAG_E0102_EXPECTED, 2, "'stablehlo.subtract' is not commutative");
  expect_one(REDUCE("power"), DIAG_E0102_EXPECTED, 2, "not commutative");
  expect_read(REDUCE("multiply"));
  expect_read(REDUCE("maximum"));
#undef REDUCE
}

static void test_types(void **state) {
  (void)state;
  expect_one("func.func private @f() -> !stablehlo.future<i64>\n", DIAG_E0104_TYPE, 1, "part 0 of the future");
  expect_one("func.func private @f() -> !stablehlo.future<tensor<2xf32>, tuple<tensor<f32>>>\n", DIAG_E0104_TYPE, 1,
             "part 1 of the future");
  expect_read("func.func private @f() -> !stablehlo.future<tensor<2xf32>, !stablehlo.token>\n");
  expect_one("func.func private @f() -> !stablehlo.nothing\n", DIAG_E0104_TYPE, 1, "no type 'nothing'");
  expect_one("func.func private @f(tensor<2x4x!quant.uniform<i8:f32:-2, {1.0, 2.0}>>)\n", DIAG_E0104_TYPE, 1, "(C11)");
}

static void test_bounds(void **state) {
  (void)state;
  expect_one("func.func private @f(tensor<?x?x4xf32, #stablehlo.bounds<8, 16>>)\n", DIAG_E0104_TYPE, 1,
             "3 dimensions but 2 bounds");
  expect_one("func.func private @f(tensor<?x4xf32, #stablehlo.bounds<8, 4>>)\n", DIAG_E0104_TYPE, 1, "dimension 1");
  expect_one("func.func private @f(tensor<4x?xf32, #mhlo.type_extensions<bounds = [4, 9]>>)\n", DIAG_E0104_TYPE, 1,
             "dimension 0");
  expect_read("func.func private @f(tensor<?x4x?xf32, #stablehlo.bounds<8, ?, ?>>)\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_missing_at_the_end_of_a_line),
      cmocka_unit_test(test_each_missing_comma),
      cmocka_unit_test(test_window_keys),
      cmocka_unit_test(test_words_of_pretty_forms),
      cmocka_unit_test(test_reductions_apply_commutative_operations),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
