/* Complex functions: closed forms, and digits that cancel in a careless formula. */
#include "interp_fixture.h"

static void arithmetic(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[(1.0, 2.0), (3.0, -4.0)]> : tensor<2xcomplex<f32>>\n"
               "%b = stablehlo.constant dense<[(3.0, -1.0), (0.0, 2.0)]> : tensor<2xcomplex<f32>>\n"
               "%0 = stablehlo.multiply %a, %b : tensor<2xcomplex<f32>>\n"
               "check.expect_eq_const %0, dense<[(5.0, 5.0), (8.0, 6.0)]> : tensor<2xcomplex<f32>>\n"
               "%1 = stablehlo.divide %0, %b : tensor<2xcomplex<f32>>\n"
               "check.expect_eq_const %1, dense<[(1.0, 2.0), (3.0, -4.0)]> : tensor<2xcomplex<f32>>\n"
               "%2 = stablehlo.abs %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>\n"
               "check.expect_eq_const %2, dense<[2.23606801, 5.0]> : tensor<2xf32>\n"
               "%3 = stablehlo.sign %b : tensor<2xcomplex<f32>>\n"
               "check.expect_eq_const %3, dense<[(0.948683321, -0.316227764), (0.0, 1.0)]> : tensor<2xcomplex<f32>>\n"
               "%4 = stablehlo.imag %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>\n"
               "check.expect_eq_const %4, dense<[2.0, -4.0]> : tensor<2xf32>\n"
               "%5 = stablehlo.complex %4, %2 : tensor<2xcomplex<f32>>\n"
               "check.expect_eq_const %5, dense<[(2.0, 2.23606801), (-4.0, 5.0)]> : tensor<2xcomplex<f32>>\n"
               "%6 = chlo.conj %a : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>\n"
               "check.expect_eq_const %6, dense<[(1.0, -2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>\n"
               "%7 = chlo.square %a : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>\n"
               "check.expect_eq_const %7, dense<[(-3.0, 4.0), (-7.0, -24.0)]> : tensor<2xcomplex<f32>>\n");
}

/* log(-1) = i pi, exp(i pi / 2) = i up to the error of the argument, i^i = exp(-pi / 2), 0^0 = 1. */
static void functions(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[(-4.0, 0.0), (3.0, 4.0), (-4.0, -0.0)]> : tensor<3xcomplex<f64>>\n"
               "%0 = stablehlo.sqrt %a : tensor<3xcomplex<f64>>\n"
               "check.expect_eq_const %0, dense<[(0.0, 2.0), (2.0, 1.0), (0.0, -2.0)]> : tensor<3xcomplex<f64>>\n"
               "%b = stablehlo.constant dense<[(-1.0, 0.0), (-1.0, -0.0), (0.0, 1.0)]> : tensor<3xcomplex<f64>>\n"
               "%1 = stablehlo.log %b : tensor<3xcomplex<f64>>\n"
               "check.expect_eq_const %1, dense<[(0.0, 3.1415926535897931), (0.0, -3.1415926535897931), (0.0, "
               "1.5707963267948966)]> : tensor<3xcomplex<f64>>\n"
               "%c = stablehlo.constant dense<[(0.0, 1.57079637), (1.0, 0.0)]> : tensor<2xcomplex<f32>>\n"
               "%2 = stablehlo.exponential %c : tensor<2xcomplex<f32>>\n"
               "check.expect_eq_const %2, dense<[(-4.37113883e-08, 1.0), (2.71828175, 0.0)]> : tensor<2xcomplex<f32>>\n"
               "%d = stablehlo.constant dense<[(0.0, 1.0), (0.0, 0.0), (2.0, 0.0)]> : tensor<3xcomplex<f64>>\n"
               "%e = stablehlo.constant dense<[(0.0, 1.0), (0.0, 0.0), (10.0, 0.0)]> : tensor<3xcomplex<f64>>\n"
               "%3 = stablehlo.power %d, %e : tensor<3xcomplex<f64>>\n"
               "%4 = stablehlo.real %3 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>\n"
               "check.expect_eq_const %4, dense<[0.20787957635076191, 1.0, 1024.0]> : tensor<3xf64>\n"
               "%f = stablehlo.constant dense<[(0.0, 1.0), (0.0, -1.0)]> : tensor<2xcomplex<f64>>\n"
               "%5 = stablehlo.tanh %f : tensor<2xcomplex<f64>>\n" /* i tan 1 */
               "check.expect_eq_const %5, dense<[(0.0, 1.5574077246549023), (0.0, -1.5574077246549023)]> : "
               "tensor<2xcomplex<f64>>\n"
               "%6 = chlo.asinh %f : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>\n"
               "check.expect_eq_const %6, dense<[(0.0, 1.5707963267948966), (0.0, -1.5707963267948966)]> : "
               "tensor<2xcomplex<f64>>\n");
}

/* |1 + x|^2 - 1 = 2a + a^2 + b^2 with a = -b^2 / 2 is b^4 / 4: log1p has half of that, 1.25e-17 for b = 1e-4. And
 * expm1(a + ib) near 0 is a - b^2 / 2 + b^4 / 24. */
static void cancellation(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[(-5.0e-9, 1.0e-4), (1.0e-20, 0.0)]> : tensor<2xcomplex<f64>>\n"
               "%0 = stablehlo.log_plus_one %a : tensor<2xcomplex<f64>>\n"
               "%1 = stablehlo.real %0 : (tensor<2xcomplex<f64>>) -> tensor<2xf64>\n"
               "%scale = stablehlo.constant dense<[1.0e17, 1.0e20]> : tensor<2xf64>\n"
               "%2 = stablehlo.multiply %1, %scale : tensor<2xf64>\n"
               "check.expect_almost_eq_const %2, dense<[1.25, 1.0]> : tensor<2xf64>\n"
               "%b = stablehlo.constant dense<[(1.0e-20, 1.0e-3), (1.0e-10, 0.0)]> : tensor<2xcomplex<f64>>\n"
               "%3 = stablehlo.exponential_minus_one %b : tensor<2xcomplex<f64>>\n"
               "%4 = stablehlo.real %3 : (tensor<2xcomplex<f64>>) -> tensor<2xf64>\n"
               "check.expect_eq_const %4, dense<[-4.9999995833332476e-07, 1.00000000005e-10]> : tensor<2xf64>\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(arithmetic), cmocka_unit_test(functions),
                                     cmocka_unit_test(cancellation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
