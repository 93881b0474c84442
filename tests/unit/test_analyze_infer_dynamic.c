/* Shapes that operands hold: windows whose sizes become known with --bind, as JAX exports them. */
#include "analyze_fixture.h"

#include <stdio.h>

/* A cumulative sum along a dimension of `size` elements that the program computes from its argument: a window of that size
 * and size - 1 elements of padding in front, so that the result is as long as the input. */
static void expect_window(const char *size, const char *strides, const char *type) {
  char text[2048];
  snprintf(
      text, sizeof text,
      "func.func @main(%%x: tensor<5x%sxf32>, %%y: tensor<2x?xf32>) -> tensor<?x?xf32> {\n"
      "  %%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %%n = stablehlo.get_dimension_size %%x, dim = 1 : (tensor<5x%sxf32>) -> tensor<i32>\n"
      "  %%one = stablehlo.constant dense<1> : tensor<i32>\n"
      "  %%less = stablehlo.subtract %%n, %%one : tensor<i32>\n"
      "  %%ones = stablehlo.constant dense<1> : tensor<2xi32>\n"
      "  %%strides = stablehlo.constant dense<%s> : tensor<2xi32>\n"
      "  %%first = stablehlo.constant dense<0> : tensor<1x2xi32>\n"
      "  %%n1 = stablehlo.reshape %%n : (tensor<i32>) -> tensor<1xi32>\n"
      "  %%one1 = stablehlo.reshape %%one : (tensor<i32>) -> tensor<1xi32>\n"
      "  %%zero1 = stablehlo.constant dense<0> : tensor<1xi32>\n"
      "  %%less1 = stablehlo.reshape %%less : (tensor<i32>) -> tensor<1xi32>\n"
      "  %%window = stablehlo.concatenate %%one1, %%n1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
      "  %%pair = stablehlo.concatenate %%less1, %%zero1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
      "  %%row = stablehlo.reshape %%pair : (tensor<2xi32>) -> tensor<1x2xi32>\n"
      "  %%padding = stablehlo.concatenate %%first, %%row, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>) -> "
      "tensor<2x2xi32>\n"
      "  %%r = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%%x, %%zero, %%window, %%strides, %%ones, "
      "%%ones, "
      "%%padding) {called_computations = [@add]} : (tensor<5x%sxf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, "
      "tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<?x?xf32>\n"
      "  return %%r : tensor<?x?xf32>\n}\n"
      "func.func @add(%%a: tensor<f32>, %%b: tensor<f32>) -> tensor<f32> {\n"
      "  %%0 = stablehlo.add %%a, %%b : tensor<f32>\n  return %%0 : tensor<f32>\n}\n",
      size, size, strides, size);
  struct program program;
  struct strbuf made = {0};
  program_parse(&program, text);
  assert_int_equal(analyze_infer(program.module, &program.diags), STATUS_OK);
  struct ir_op call = program_op(&program, "stablehlo.custom_call");
  mlir_print_type(program.module, ir_value_type(program.module, ir_op_result(program.module, call, 0)), &made);
  assert_string_equal(strbuf_text(&made), type);
  strbuf_release(&made);
  program_release(&program);
}

/* (size + padding - window) / stride + 1 elements. */
static void windows_of_computed_size(void **state) {
  (void)state;
  expect_window("4", "1", "tensor<5x4xf32>"); /* (4 + 3 - 4) / 1 + 1 */
  expect_window("7", "[2, 3]", "tensor<3x3xf32>"); /* (5 - 1) / 2 + 1; (7 + 6 - 7) / 3 + 1 */
  expect_window("?", "1", "tensor<?x?xf32>"); /* the window is not known */
  expect_window("4", "[0, 1]", "tensor<?x?xf32>"); /* no window at all */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(windows_of_computed_size)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
