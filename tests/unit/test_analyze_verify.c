/* Constraints beyond shapes: bodies of reductions, device groups, quantized types, attribute values. Each program
 * breaks one constraint of the specification, named beside it, or is its valid neighbour. */
#include "analyze_fixture.h"

#include <stdio.h>

/* An all_reduce over 10 elements with a body of the given types and groups. The op stands on line 2. */
static const char *all_reduce(char *text, size_t size, const char *body, const char *groups, const char *more) {
  snprintf(text, size,
           "func.func @main(%%x: tensor<10xf32>) -> tensor<10xf32> {\n"
           "  %%0 = \"stablehlo.all_reduce\"(%%x) ({\n"
           "  ^bb0(%%a: tensor<%s>, %%b: tensor<%s>):\n"
           "    %%1 = stablehlo.add %%a, %%b : tensor<%s>\n"
           "    stablehlo.return %%1 : tensor<%s>\n"
           "  }) {replica_groups = dense<%s>%s} : (tensor<10xf32>) -> tensor<10xf32>\n"
           "  return %%0 : tensor<10xf32>\n}\n",
           body, body, body, body, groups, more);
  return text;
}

static void test_groups(void **state) {
  (void)state;
  char text[1024];
  expect_valid(all_reduce(text, sizeof text, "f32", "[[0, 1], [2, 3]]> : tensor<2x2xi64", ""));
  expect_valid(all_reduce(text, sizeof text, "f32", "[[0, 1], [2, -1]]> : tensor<2x2xi64", "")); /* padded row */
  expect_error(all_reduce(text, sizeof text, "f32", "[[0, 1], [1, 2]]> : tensor<2x2xi64", ""),
               DIAG_E0206_ATTRIBUTE_VALUE, 2); /* C1: an id twice */
  expect_error(all_reduce(text, sizeof text, "f32", "[[0, 3]]> : tensor<1x2xi64", ""), DIAG_E0206_ATTRIBUTE_VALUE,
               2); /* ids 1 and 2 are missing */
  expect_error(all_reduce(text, sizeof text, "f32", "[0, 1]> : tensor<2xi64", ""), DIAG_E0206_ATTRIBUTE_VALUE,
               2); /* I2 */
  expect_error(all_reduce(text, sizeof text, "f32", "[[0, 1]]> : tensor<1x2xi64", ", use_global_device_ids"),
               DIAG_E0206_ATTRIBUTE_VALUE, 2); /* C4: global ids need a channel */
}

static void test_reducer_bodies(void **state) {
  (void)state;
  char text[1024];
  static const char groups[] = "[[0, 1]]> : tensor<1x2xi64";
  expect_error(all_reduce(text, sizeof text, "i32", groups, ""), DIAG_E0211_REGION, 2); /* another kind of number */
  expect_error(all_reduce(text, sizeof text, "bf16", groups, ""), DIAG_E0211_REGION, 2); /* narrower than the operand */
  expect_error(all_reduce(text, sizeof text, "4xf32", groups, ""), DIAG_E0211_REGION, 2); /* not a scalar */
  expect_error(all_reduce(text, sizeof text, "f64", groups, ""), DIAG_E0205_RESULT_TYPE,
               2); /* promotes, result does not */
}

static void test_pairs(void **state) {
  (void)state;
  static const char *const form = "func.func @main(%%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                                  "  %%0 = \"stablehlo.collective_permute\"(%%x) {source_target_pairs = dense<%s>} : "
                                  "(tensor<2xf32>) -> tensor<2xf32>\n"
                                  "  return %%0 : tensor<2xf32>\n}\n";
  char text[512];
  snprintf(text, sizeof text, form, "[[0, 1], [1, 0]]> : tensor<2x2xi64");
  expect_valid(text);
  snprintf(text, sizeof text, form, "[[0, 1], [0, 2]]> : tensor<2x2xi64"); /* C2: one source twice */
  expect_error(text, DIAG_E0206_ATTRIBUTE_VALUE, 2);
  snprintf(text, sizeof text, form, "[[0, 1], [2, 1]]> : tensor<2x2xi64"); /* C3: one target twice */
  expect_error(text, DIAG_E0206_ATTRIBUTE_VALUE, 2);
  snprintf(text, sizeof text, form, "[[0, -1]]> : tensor<1x2xi64"); /* C4 */
  expect_error(text, DIAG_E0206_ATTRIBUTE_VALUE, 2);
}

/* An add of quantized tensors. */
static void check_quantized(const char *type, enum diag_id id, bool is_valid) {
  char text[1024];
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<2x3x%s>) -> tensor<2x3x%s> {\n"
           "  %%0 = stablehlo.add %%x, %%x : tensor<2x3x%s>\n"
           "  return %%0 : tensor<2x3x%s>\n}\n",
           type, type, type, type);
  if (is_valid) {
    expect_valid(text);
  } else {
    expect_error(text, id, 2);
  }
}

static void test_quantized_types(void **state) {
  (void)state;
  check_quantized("!quant.uniform<i8:f32, 0.5:3>", DIAG_COUNT, true);
  check_quantized("!quant.uniform<i8:f32:0, {0.5:3, 0.25:0}>", DIAG_COUNT, true);
  check_quantized("!quant.uniform<i8:f32:1, {0.5:3, 0.25:0}>", DIAG_E0204_OPERAND_TYPE,
                  false); /* C13: 2 scales, size 3 */
  check_quantized("!quant.uniform<i8:f32:4, {0.5:3, 0.25:0}>", DIAG_E0204_OPERAND_TYPE, false); /* C12: rank 2 */
  check_quantized("!quant.uniform<i8:f32, 0.5:300>", DIAG_E0204_OPERAND_TYPE, false); /* C8: i8 ends at 127 */
}

static void test_quantized_transpose(void **state) {
  (void)state;
  static const char *const form =
      "func.func @main(%%x: tensor<2x3x!quant.uniform<i8:f32:0, {0.5:3, 0.25:0}>>) {\n"
      "  %%0 = stablehlo.transpose %%x, dims = [1, 0] : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5:3, 0.25:0}>>) -> "
      "tensor<3x2x!quant.uniform<i8:f32:%s>>\n"
      "  return\n}\n";
  char text[512];
  snprintf(text, sizeof text, form, "1, {0.5:3, 0.25:0}");
  expect_valid(text);
  snprintf(text, sizeof text, form, "1, {0.5:3, 0.5:0}"); /* C1: other scales */
  expect_error(text, DIAG_E0205_RESULT_TYPE, 2);
}

static void test_values(void **state) {
  (void)state;
  expect_error("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
               "  %0 = stablehlo.composite \"plain\" %x {decomposition = @f} : (tensor<2xf32>) -> tensor<2xf32>\n"
               "  return %0 : tensor<2xf32>\n}\n"
               "func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
               "  return %x : tensor<2xf32>\n}\n",
               DIAG_E0206_ATTRIBUTE_VALUE, 2); /* C1: a namespaced name */
  expect_error("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
               "  %0 = \"stablehlo.custom_call\"(%x) {call_target_name = \"f\", operand_layouts = [dense<[1]> : "
               "tensor<1xindex>], result_layouts = [dense<[0]> : tensor<1xindex>]} : (tensor<2xf32>) -> tensor<2xf32>\n"
               "  return %0 : tensor<2xf32>\n}\n",
               DIAG_E0206_ATTRIBUTE_VALUE, 2); /* not a permutation of [0] */
  expect_error("func.func @main(%x: tensor<4x4xf32>, %i: tensor<i32>, %j: tensor<i64>) -> tensor<1x1xf32> {\n"
               "  %0 = \"stablehlo.dynamic_slice\"(%x, %i, %j) <{slice_sizes = array<i64: 1, 1>}> : (tensor<4x4xf32>, "
               "tensor<i32>, tensor<i64>) -> tensor<1x1xf32>\n"
               "  return %0 : tensor<1x1xf32>\n}\n",
               DIAG_E0204_OPERAND_TYPE, 2); /* C3: indices of one type */
}

static void test_comparator(void **state) {
  (void)state;
  expect_error("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
               "  %0 = \"stablehlo.sort\"(%x) <{dimension = 0 : i64, is_stable = true}> ({\n"
               "  ^bb0(%a: tensor<i32>, %b: tensor<i32>):\n"
               "    %1 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               "    stablehlo.return %1 : tensor<i1>\n"
               "  }) : (tensor<4xf32>) -> tensor<4xf32>\n"
               "  return %0 : tensor<4xf32>\n}\n",
               DIAG_E0211_REGION, 2); /* C5: arguments are scalars of the operand */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_groups),          cmocka_unit_test(test_reducer_bodies),      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_quantized_types), cmocka_unit_test(test_quantized_transpose), cmocka_unit_test(test_values),
      cmocka_unit_test(test_comparator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
