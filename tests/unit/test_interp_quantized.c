/* Quantized tensors: stored integers follow from scale and zero point by hand. */
#include "interp_fixture.h"

/* 0.5: [-0.25, 0.25, 0.75] / 0.5 = [-0.5, 0.5, 1.5] are ties, to even: [0, 0, 2] with the zero point 0; with 1 the sums
 * [0.5, 1.5, 2.5] are: [0, 2, 2]. */
static void rounds_to_even(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[-0.25, 0.25, 0.75]> : tensor<3xf32>\n"
               "%0 = stablehlo.uniform_quantize %a : (tensor<3xf32>) -> tensor<3x!quant.uniform<i8:f32, 0.5>>\n"
               "%1 = stablehlo.bitcast_convert %0 : (tensor<3x!quant.uniform<i8:f32, 0.5>>) -> tensor<3xi8>\n"
               "check.expect_eq_const %1, dense<[0, 0, 2]> : tensor<3xi8>\n"
               "%2 = stablehlo.uniform_quantize %a : (tensor<3xf32>) -> tensor<3x!quant.uniform<i8:f32, 0.5:1>>\n"
               "%3 = stablehlo.bitcast_convert %2 : (tensor<3x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<3xi8>\n"
               "check.expect_eq_const %3, dense<[0, 2, 2]> : tensor<3xi8>\n"
               "%4 = stablehlo.uniform_dequantize %2 : (tensor<3x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<3xf32>\n"
               "check.expect_eq_const %4, dense<[-0.5, 0.5, 0.5]> : tensor<3xf32>\n");
}

static void clamps(void **state) {
  (void)state;
  assert_holds(
      "%a = stablehlo.constant dense<[1000.0, -1000.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<5xf32>\n"
      "%0 = stablehlo.uniform_quantize %a : (tensor<5xf32>) -> tensor<5x!quant.uniform<i8:f32, 0.5:3>>\n"
      "%1 = stablehlo.bitcast_convert %0 : (tensor<5x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<5xi8>\n"
      "check.expect_eq_const %1, dense<[127, -128, 127, -128, 0]> : tensor<5xi8>\n"
      "%2 = stablehlo.uniform_quantize %a : (tensor<5xf32>) -> tensor<5x!quant.uniform<i8<-127:100>:f32, 0.5:3>>\n"
      "%3 = stablehlo.bitcast_convert %2 : (tensor<5x!quant.uniform<i8<-127:100>:f32, 0.5:3>>) -> tensor<5xi8>\n"
      "check.expect_eq_const %3, dense<[100, -127, 100, -127, 0]> : tensor<5xi8>\n"
      "%4 = stablehlo.uniform_quantize %a : (tensor<5xf32>) -> tensor<5x!quant.uniform<u8:f32, 0.5:3>>\n"
      "%5 = stablehlo.bitcast_convert %4 : (tensor<5x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<5xui8>\n"
      "check.expect_eq_const %5, dense<[255, 0, 255, 0, 0]> : tensor<5xui8>\n"
      "%6 = stablehlo.uniform_quantize %a : (tensor<5xf32>) -> tensor<5x!quant.uniform<i4:f32, 0.5:1>>\n"
      "%7 = stablehlo.uniform_dequantize %6 : (tensor<5x!quant.uniform<i4:f32, 0.5:1>>) -> tensor<5xf32>\n"
      "check.expect_eq_const %7, dense<[3.0, -4.5, 3.0, -4.5, -0.5]> : tensor<5xf32>\n");
}

/* Scales and zero points along either axis. */
static void per_axis(void **state) {
  (void)state;
  assert_holds(
      "%a = stablehlo.constant dense<[[1, 2, 3], [1, 2, 3]]> : tensor<2x3xi8>\n"
      "%0 = stablehlo.bitcast_convert %a : (tensor<2x3xi8>) -> tensor<2x3x!quant.uniform<i8:f32:0, {2.0:1, 4.0:2}>>\n"
      "%1 = stablehlo.uniform_dequantize %0 : (tensor<2x3x!quant.uniform<i8:f32:0, {2.0:1, 4.0:2}>>) -> "
      "tensor<2x3xf32>\n"
      "check.expect_eq_const %1, dense<[[0.0, 2.0, 4.0], [-4.0, 0.0, 4.0]]> : tensor<2x3xf32>\n"
      "%2 = stablehlo.uniform_quantize %1 : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32:1, {1.0, 2.0:1, "
      "4.0:2}>>\n"
      "%3 = stablehlo.bitcast_convert %2 : (tensor<2x3x!quant.uniform<i8:f32:1, {1.0, 2.0:1, 4.0:2}>>) -> "
      "tensor<2x3xi8>\n"
      "check.expect_eq_const %3, dense<[[0, 2, 3], [-4, 1, 3]]> : tensor<2x3xi8>\n");
}

/* (1.5 + 2.0) in steps of 0.25 from zero point -10: 14 - 10. A comparison has no quantized result. */
static void operations(void **state) {
  (void)state;
  assert_holds(
      "%a = stablehlo.constant dense<[1.5, -1.0]> : tensor<2xf32>\n"
      "%b = stablehlo.constant dense<[2.0, -3.0]> : tensor<2xf32>\n"
      "%0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:4>>\n"
      "%1 = stablehlo.uniform_quantize %b : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 1.0>>\n"
      "%2 = stablehlo.add %0, %1 : (tensor<2x!quant.uniform<i8:f32, 0.5:4>>, tensor<2x!quant.uniform<i8:f32, 1.0>>) -> "
      "tensor<2x!quant.uniform<i8:f32, 0.25:-10>>\n"
      "%3 = stablehlo.bitcast_convert %2 : (tensor<2x!quant.uniform<i8:f32, 0.25:-10>>) -> tensor<2xi8>\n"
      "check.expect_eq_const %3, dense<[4, -26]> : tensor<2xi8>\n"
      "%4 = stablehlo.compare GT, %0, %0 : (tensor<2x!quant.uniform<i8:f32, 0.5:4>>, tensor<2x!quant.uniform<i8:f32, "
      "0.5:4>>) -> tensor<2xi1>\n"
      "check.expect_eq_const %4, dense<false> : tensor<2xi1>\n"
      "%5 = stablehlo.uniform_quantize %0 : (tensor<2x!quant.uniform<i8:f32, 0.5:4>>) -> "
      "tensor<2x!quant.uniform<i8:f32, "
      "0.25:-10>>\n"
      "%6 = stablehlo.bitcast_convert %5 : (tensor<2x!quant.uniform<i8:f32, 0.25:-10>>) -> tensor<2xi8>\n"
      "check.expect_eq_const %6, dense<[-4, -14]> : tensor<2xi8>\n"
      "%pred = stablehlo.constant dense<[true, false]> : tensor<2xi1>\n"
      "%7 = stablehlo.select %pred, %2, %5 : tensor<2xi1>, tensor<2x!quant.uniform<i8:f32, 0.25:-10>>\n"
      "%8 = stablehlo.bitcast_convert %7 : (tensor<2x!quant.uniform<i8:f32, 0.25:-10>>) -> tensor<2xi8>\n"
      "check.expect_eq_const %8, dense<[4, -14]> : tensor<2xi8>\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rounds_to_even), cmocka_unit_test(clamps),
                                     cmocka_unit_test(per_axis), cmocka_unit_test(operations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
