/* Element-by-element operations: expected values follow from the specification and IEEE 754, by hand. */
#include "interp_fixture.h"

/* ---- integers -------------------------------------------------------------------------------------------------------- */

static void integers_wrap(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[127, -128, 100]> : tensor<3xi8>\n"
               "%b = stablehlo.constant dense<[1, -1, 3]> : tensor<3xi8>\n"
               "%sum = stablehlo.add %a, %b : tensor<3xi8>\n"
               "check.expect_eq_const %sum, dense<[-128, 127, 103]> : tensor<3xi8>\n"
               "%product = stablehlo.multiply %a, %b : tensor<3xi8>\n"
               "check.expect_eq_const %product, dense<[127, -128, 44]> : tensor<3xi8>\n"
               "%size = stablehlo.abs %a : tensor<3xi8>\n"
               "check.expect_eq_const %size, dense<[127, -128, 100]> : tensor<3xi8>\n"
               "%c = stablehlo.constant dense<[7, -8]> : tensor<2xi4>\n"
               "%d = stablehlo.constant dense<[1, -1]> : tensor<2xi4>\n"
               "%narrow = stablehlo.add %c, %d : tensor<2xi4>\n"
               "check.expect_eq_const %narrow, dense<[-8, 7]> : tensor<2xi4>\n"
               "%e = stablehlo.constant dense<[3, 0]> : tensor<2xui2>\n"
               "%f = stablehlo.constant dense<[2, 1]> : tensor<2xui2>\n"
               "%less = stablehlo.subtract %e, %f : tensor<2xui2>\n"
               "check.expect_eq_const %less, dense<[1, 3]> : tensor<2xui2>\n");
}

static void predicates_are_logical(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>\n"
               "%b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>\n"
               "%0 = stablehlo.add %a, %b : tensor<4xi1>\n"
               "check.expect_eq_const %0, dense<[false, true, true, true]> : tensor<4xi1>\n"
               "%1 = stablehlo.multiply %a, %b : tensor<4xi1>\n"
               "check.expect_eq_const %1, dense<[false, false, false, true]> : tensor<4xi1>\n"
               "%2 = stablehlo.maximum %a, %b : tensor<4xi1>\n"
               "check.expect_eq_const %2, dense<[false, true, true, true]> : tensor<4xi1>\n"
               "%3 = stablehlo.minimum %a, %b : tensor<4xi1>\n"
               "check.expect_eq_const %3, dense<[false, false, false, true]> : tensor<4xi1>\n"
               "%4 = stablehlo.xor %a, %b : tensor<4xi1>\n"
               "check.expect_eq_const %4, dense<[false, true, true, false]> : tensor<4xi1>\n"
               "%5 = stablehlo.not %a : tensor<4xi1>\n"
               "check.expect_eq_const %5, dense<[true, true, false, false]> : tensor<4xi1>\n"
               "%6 = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>\n"
               "check.expect_eq_const %6, dense<[false, true, false, false]> : tensor<4xi1>\n");
}

/* As XLA: x / 0 is all ones, x % 0 is x, and the one quotient that overflows wraps. */
static void integer_division(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[7, -7, 7, -2147483648, 5]> : tensor<5xi32>\n"
               "%b = stablehlo.constant dense<[2, 2, -2, -1, 0]> : tensor<5xi32>\n"
               "%0 = stablehlo.divide %a, %b : tensor<5xi32>\n"
               "check.expect_eq_const %0, dense<[3, -3, -3, -2147483648, -1]> : tensor<5xi32>\n"
               "%1 = stablehlo.remainder %a, %b : tensor<5xi32>\n"
               "check.expect_eq_const %1, dense<[1, -1, 1, 0, 5]> : tensor<5xi32>\n"
               "%c = stablehlo.constant dense<[18446744073709551615, 9]> : tensor<2xui64>\n"
               "%d = stablehlo.constant dense<[10, 0]> : tensor<2xui64>\n"
               "%2 = stablehlo.divide %c, %d : tensor<2xui64>\n"
               "check.expect_eq_const %2, dense<[1844674407370955161, 18446744073709551615]> : tensor<2xui64>\n"
               "%3 = stablehlo.remainder %c, %d : tensor<2xui64>\n"
               "check.expect_eq_const %3, dense<[5, 9]> : tensor<2xui64>\n"
               "%e = stablehlo.constant dense<[-9223372036854775808, -9223372036854775808]> : tensor<2xi64>\n"
               "%f = stablehlo.constant dense<[-1, 1]> : tensor<2xi64>\n"
               "%4 = stablehlo.divide %e, %f : tensor<2xi64>\n"
               "check.expect_eq_const %4, dense<-9223372036854775808> : tensor<2xi64>\n");
}

static void shifts(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[-16, -16, -16, -16]> : tensor<4xi8>\n"
               "%n = stablehlo.constant dense<[1, 7, 8, -1]> : tensor<4xi8>\n"
               "%0 = stablehlo.shift_left %a, %n : tensor<4xi8>\n"
               "check.expect_eq_const %0, dense<[-32, 0, 0, 0]> : tensor<4xi8>\n"
               "%1 = stablehlo.shift_right_logical %a, %n : tensor<4xi8>\n"
               "check.expect_eq_const %1, dense<[120, 1, 0, 0]> : tensor<4xi8>\n"
               "%2 = stablehlo.shift_right_arithmetic %a, %n : tensor<4xi8>\n"
               "check.expect_eq_const %2, dense<[-8, -1, -1, -1]> : tensor<4xi8>\n"
               "%b = stablehlo.constant dense<[240, 240, 112]> : tensor<3xui8>\n"
               "%m = stablehlo.constant dense<[1, 200, 9]> : tensor<3xui8>\n"
               "%3 = stablehlo.shift_right_logical %b, %m : tensor<3xui8>\n"
               "check.expect_eq_const %3, dense<[120, 0, 0]> : tensor<3xui8>\n"
               "%4 = stablehlo.shift_right_arithmetic %b, %m : tensor<3xui8>\n"
               "check.expect_eq_const %4, dense<[248, 255, 0]> : tensor<3xui8>\n"
               "%c = stablehlo.constant dense<[1, -1]> : tensor<2xi64>\n"
               "%k = stablehlo.constant dense<[63, 64]> : tensor<2xi64>\n"
               "%5 = stablehlo.shift_left %c, %k : tensor<2xi64>\n"
               "check.expect_eq_const %5, dense<[-9223372036854775808, 0]> : tensor<2xi64>\n");
}

static void bit_counts(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[0, 1, -1, 4]> : tensor<4xi4>\n"
               "%0 = stablehlo.popcnt %a : tensor<4xi4>\n"
               "check.expect_eq_const %0, dense<[0, 1, 4, 1]> : tensor<4xi4>\n"
               "%1 = stablehlo.count_leading_zeros %a : tensor<4xi4>\n"
               "check.expect_eq_const %1, dense<[4, 3, 0, 1]> : tensor<4xi4>\n"
               "%b = stablehlo.constant dense<[0, -1, 65536]> : tensor<3xi64>\n"
               "%2 = stablehlo.popcnt %b : tensor<3xi64>\n"
               "check.expect_eq_const %2, dense<[0, 64, 1]> : tensor<3xi64>\n"
               "%3 = stablehlo.count_leading_zeros %b : tensor<3xi64>\n"
               "check.expect_eq_const %3, dense<[64, 0, 47]> : tensor<3xi64>\n"
               "%c = stablehlo.constant dense<[255, 16]> : tensor<2xui8>\n"
               "%4 = stablehlo.count_leading_zeros %c : tensor<2xui8>\n"
               "check.expect_eq_const %4, dense<[0, 3]> : tensor<2xui8>\n");
}

static void integer_powers(void **state) {
  (void)state;
  assert_holds(
      "%a = stablehlo.constant dense<[3, -3, 0, 2, 2, 1, -1, -1, 0]> : tensor<9xi32>\n"
      "%n = stablehlo.constant dense<[4, 3, 0, 31, -1, -5, -5, -4, 2]> : tensor<9xi32>\n"
      "%0 = stablehlo.power %a, %n : tensor<9xi32>\n"
      "check.expect_eq_const %0, dense<[81, -27, 1, -2147483648, 0, 1, -1, 1, 0]> : tensor<9xi32>\n"
      "%b = stablehlo.constant dense<[3, 16]> : tensor<2xui8>\n"
      "%m = stablehlo.constant dense<[255, 2]> : tensor<2xui8>\n"
      "%1 = stablehlo.power %b, %m : tensor<2xui8>\n"
      "check.expect_eq_const %1, dense<[171, 0]> : tensor<2xui8>\n"); /* 3^64 = 1 mod 256: 3^255 = 1 / 3 = 171 */
}

static void high_products(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[-1, -9223372036854775808, 4294967296]> : tensor<3xi64>\n"
               "%b = stablehlo.constant dense<[1, 2, 4294967296]> : tensor<3xi64>\n"
               "%0 = chlo.mulhi %a, %b : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>\n"
               "check.expect_eq_const %0, dense<[-1, -1, 1]> : tensor<3xi64>\n"
               "%c = stablehlo.constant dense<[18446744073709551615, 2]> : tensor<2xui64>\n"
               "%1 = chlo.mulhi %c, %c : tensor<2xui64>, tensor<2xui64> -> tensor<2xui64>\n"
               "check.expect_eq_const %1, dense<[18446744073709551614, 0]> : tensor<2xui64>\n"
               "%d = stablehlo.constant dense<[-128, 127]> : tensor<2xi8>\n"
               "%2 = chlo.mulhi %d, %d : tensor<2xi8>, tensor<2xi8> -> tensor<2xi8>\n"
               "check.expect_eq_const %2, dense<[64, 63]> : tensor<2xi8>\n");
}

/* ---- floats ---------------------------------------------------------------------------------------------------------- */

/* Bit patterns, since NaN and zeros of either sign are told apart. */
static void maximum_and_minimum(void **state) {
  (void)state;
  assert_holds(
      "%a = stablehlo.constant dense<[0x80000000, 0x00000000, 0x7FC00000, 0x3F800000, 0xFF800000]> : tensor<5xf32>\n"
      "%b = stablehlo.constant dense<[0x00000000, 0x80000000, 0x3F800000, 0x7FC00000, 0x7F800000]> : tensor<5xf32>\n"
      "%0 = stablehlo.maximum %a, %b : tensor<5xf32>\n"
      "%1 = stablehlo.bitcast_convert %0 : (tensor<5xf32>) -> tensor<5xui32>\n"
      "check.expect_eq_const %1, dense<[0x00000000, 0x00000000, 0x7FC00000, 0x7FC00000, 0x7F800000]> : "
      "tensor<5xui32>\n"
      "%2 = stablehlo.minimum %a, %b : tensor<5xf32>\n"
      "%3 = stablehlo.bitcast_convert %2 : (tensor<5xf32>) -> tensor<5xui32>\n"
      "check.expect_eq_const %3, dense<[0x80000000, 0x80000000, 0x7FC00000, 0x7FC00000, 0xFF800000]> : "
      "tensor<5xui32>\n");
}

static void signs_and_rounding(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[2.5, -2.5, 3.5, 0.5, -0.5, -0.0]> : tensor<6xf16>\n"
               "%0 = stablehlo.round_nearest_even %a : tensor<6xf16>\n"
               "check.expect_eq_const %0, dense<[2.0, -2.0, 4.0, 0.0, -0.0, -0.0]> : tensor<6xf16>\n"
               "%1 = stablehlo.round_nearest_afz %a : tensor<6xf16>\n"
               "check.expect_eq_const %1, dense<[3.0, -3.0, 4.0, 1.0, -1.0, -0.0]> : tensor<6xf16>\n"
               "%2 = stablehlo.ceil %a : tensor<6xf16>\n"
               "check.expect_eq_const %2, dense<[3.0, -2.0, 4.0, 1.0, -0.0, -0.0]> : tensor<6xf16>\n"
               "%3 = stablehlo.sign %a : tensor<6xf16>\n"
               "check.expect_eq_const %3, dense<[1.0, -1.0, 1.0, 1.0, -1.0, -0.0]> : tensor<6xf16>\n"
               "%b = stablehlo.constant dense<[5.5, -5.5, 5.5]> : tensor<3xf64>\n"
               "%c = stablehlo.constant dense<[2.0, 2.0, 0x7FF0000000000000]> : tensor<3xf64>\n"
               "%4 = stablehlo.remainder %b, %c : tensor<3xf64>\n"
               "check.expect_eq_const %4, dense<[1.5, -1.5, 5.5]> : tensor<3xf64>\n"
               "%d = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 1.0]> : tensor<4xf32>\n"
               "%5 = stablehlo.is_finite %d : (tensor<4xf32>) -> tensor<4xi1>\n"
               "check.expect_eq_const %5, dense<[false, false, false, true]> : tensor<4xi1>\n"
               "%6 = chlo.is_inf %d : tensor<4xf32> -> tensor<4xi1>\n"
               "check.expect_eq_const %6, dense<[true, true, false, false]> : tensor<4xi1>\n"
               "%7 = chlo.is_neg_inf %d : tensor<4xf32> -> tensor<4xi1>\n"
               "check.expect_eq_const %7, dense<[false, true, false, false]> : tensor<4xi1>\n"
               "%8 = chlo.is_pos_inf %d : tensor<4xf32> -> tensor<4xi1>\n"
               "check.expect_eq_const %8, dense<[true, false, false, false]> : tensor<4xi1>\n");
}

/* Values that are exact in any precision, and limits at infinities. */
static void elementary_functions(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[0.0, 0x7FF0000000000000, 0xFFF0000000000000]> : tensor<3xf64>\n"
               "%0 = stablehlo.exponential %a : tensor<3xf64>\n"
               "check.expect_eq_const %0, dense<[1.0, 0x7FF0000000000000, 0.0]> : tensor<3xf64>\n"
               "%1 = stablehlo.logistic %a : tensor<3xf64>\n"
               "check.expect_eq_const %1, dense<[0.5, 1.0, 0.0]> : tensor<3xf64>\n"
               "%2 = stablehlo.tanh %a : tensor<3xf64>\n"
               "check.expect_eq_const %2, dense<[0.0, 1.0, -1.0]> : tensor<3xf64>\n"
               "%b = stablehlo.constant dense<[27.0, -8.0, -0.0]> : tensor<3xf32>\n"
               "%3 = stablehlo.cbrt %b : tensor<3xf32>\n"
               "check.expect_eq_const %3, dense<[3.0, -2.0, -0.0]> : tensor<3xf32>\n"
               "%c = stablehlo.constant dense<[0.0, -0.0, 0.0, -1.0]> : tensor<4xf64>\n"
               "%d = stablehlo.constant dense<[1.0, -1.0, -1.0, 0.0]> : tensor<4xf64>\n"
               "%4 = stablehlo.atan2 %c, %d : tensor<4xf64>\n"
               "check.expect_eq_const %4, dense<[0.0, -3.1415926535897931, 3.1415926535897931, -1.5707963267948966]> : "
               "tensor<4xf64>\n"
               "%e = stablehlo.constant dense<[4.0, 0.25, 0.0]> : tensor<3xf32>\n"
               "%5 = stablehlo.rsqrt %e : tensor<3xf32>\n"
               "check.expect_eq_const %5, dense<[0.5, 2.0, 0x7F800000]> : tensor<3xf32>\n"
               "%6 = chlo.square %e : tensor<3xf32> -> tensor<3xf32>\n"
               "check.expect_eq_const %6, dense<[16.0, 0.0625, 0.0]> : tensor<3xf32>\n");
}

/* The neighbours of 1 in f16 are 2^-10 and 2^-11 away; below the least number is 0. */
static void neighbours(void **state) {
  (void)state;
  assert_holds("%x = stablehlo.constant dense<[1.0, 1.0, 0.0, 0x0001, 0x7BFF, -0.0]> : tensor<6xf16>\n"
               "%y = stablehlo.constant dense<[2.0, 0.0, -1.0, -1.0, 0x7C00, 0.0]> : tensor<6xf16>\n"
               "%0 = chlo.next_after %x, %y : tensor<6xf16>, tensor<6xf16> -> tensor<6xf16>\n"
               "check.expect_eq_const %0, dense<[0x3C01, 0x3BFF, 0x8001, 0x0000, 0x7C00, 0x0000]> : tensor<6xf16>\n"
               "%z = stablehlo.constant dense<[0x81, 0x01]> : tensor<2xf8E4M3FNUZ>\n"
               "%w = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf8E4M3FNUZ>\n"
               "%1 = chlo.next_after %z, %w : tensor<2xf8E4M3FNUZ>, tensor<2xf8E4M3FNUZ> -> tensor<2xf8E4M3FNUZ>\n"
               "check.expect_eq_const %1, dense<0x00> : tensor<2xf8E4M3FNUZ>\n"
               "%n = stablehlo.constant dense<0x7E00> : tensor<f16>\n"
               "%o = stablehlo.constant dense<1.0> : tensor<f16>\n"
               "%2 = chlo.next_after %o, %n : tensor<f16>, tensor<f16> -> tensor<f16>\n"
               "check.expect_eq_const %2, dense<0x7E00> : tensor<f16>\n");
}

/* ---- compare, select, clamp --------------------------------------------------------------------------------------------- */

static void comparisons(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[1.0, 2.0, 0x7FC00000, -0.0]> : tensor<4xf32>\n"
               "%b = stablehlo.constant dense<[2.0, 2.0, 1.0, 0.0]> : tensor<4xf32>\n"
               "%0 = stablehlo.compare EQ, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
               "check.expect_eq_const %0, dense<[false, true, false, true]> : tensor<4xi1>\n"
               "%1 = stablehlo.compare NE, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
               "check.expect_eq_const %1, dense<[true, false, true, false]> : tensor<4xi1>\n"
               "%2 = stablehlo.compare GE, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
               "check.expect_eq_const %2, dense<[false, true, false, true]> : tensor<4xi1>\n"
               "%3 = stablehlo.compare LT, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
               "check.expect_eq_const %3, dense<[true, false, false, false]> : tensor<4xi1>\n"
               "%4 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
               "check.expect_eq_const %4, dense<[true, false, false, true]> : tensor<4xi1>\n"
               "%c = stablehlo.constant dense<[255, 1]> : tensor<2xui8>\n"
               "%d = stablehlo.constant dense<[1, 255]> : tensor<2xui8>\n"
               "%5 = stablehlo.compare GT, %c, %d : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>\n"
               "check.expect_eq_const %5, dense<[true, false]> : tensor<2xi1>\n"
               "%e = stablehlo.constant dense<[-1, 1]> : tensor<2xi8>\n"
               "%f = stablehlo.constant dense<[1, -1]> : tensor<2xi8>\n"
               "%6 = stablehlo.compare GT, %e, %f : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi1>\n"
               "check.expect_eq_const %6, dense<[false, true]> : tensor<2xi1>\n");
}

/* -NaN < -inf < -1 < -0 < 0 < 1 < inf < NaN */
static void total_order(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[0xFE00, 0xFC00, -1.0, -0.0, 0.0, 1.0, 0x7C00]> : tensor<7xf16>\n"
               "%b = stablehlo.constant dense<[0xFC00, -1.0, -0.0, 0.0, 1.0, 0x7C00, 0x7E00]> : tensor<7xf16>\n"
               "%0 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<7xf16>, tensor<7xf16>) -> tensor<7xi1>\n"
               "check.expect_eq_const %0, dense<true> : tensor<7xi1>\n"
               "%1 = stablehlo.compare EQ, %a, %a, TOTALORDER : (tensor<7xf16>, tensor<7xf16>) -> tensor<7xi1>\n"
               "check.expect_eq_const %1, dense<true> : tensor<7xi1>\n");
}

static void complex_order(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[(1.0, 2.0), (1.0, 2.0), (0.0, 9.0)]> : tensor<3xcomplex<f32>>\n"
               "%b = stablehlo.constant dense<[(1.0, 3.0), (1.0, 2.0), (1.0, 0.0)]> : tensor<3xcomplex<f32>>\n"
               "%0 = stablehlo.compare EQ, %a, %b : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>\n"
               "check.expect_eq_const %0, dense<[false, true, false]> : tensor<3xi1>\n"
               "%1 = stablehlo.maximum %a, %b : tensor<3xcomplex<f32>>\n"
               "check.expect_eq_const %1, dense<[(1.0, 3.0), (1.0, 2.0), (1.0, 0.0)]> : tensor<3xcomplex<f32>>\n"
               "%2 = stablehlo.minimum %a, %b : tensor<3xcomplex<f32>>\n"
               "check.expect_eq_const %2, dense<[(1.0, 2.0), (1.0, 2.0), (0.0, 9.0)]> : tensor<3xcomplex<f32>>\n");
}

static void scalar_operands(void **state) {
  (void)state;
  assert_holds("%low = stablehlo.constant dense<-1.0> : tensor<f32>\n"
               "%high = stablehlo.constant dense<[1.0, 2.0, 0x7FC00000]> : tensor<3xf32>\n"
               "%x = stablehlo.constant dense<[-5.0, 5.0, 0.0]> : tensor<3xf32>\n"
               "%0 = stablehlo.clamp %low, %x, %high : (tensor<f32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>\n"
               "check.expect_eq_const %0, dense<[-1.0, 2.0, 0x7FC00000]> : tensor<3xf32>\n"
               "%pred = stablehlo.constant dense<false> : tensor<i1>\n"
               "%1 = stablehlo.select %pred, %x, %high : tensor<i1>, tensor<3xf32>\n"
               "check.expect_eq_const %1, dense<[1.0, 2.0, 0x7FC00000]> : tensor<3xf32>\n"
               "%preds = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>\n"
               "%2 = stablehlo.select %preds, %x, %high : tensor<3xi1>, tensor<3xf32>\n"
               "check.expect_eq_const %2, dense<[-5.0, 2.0, 0.0]> : tensor<3xf32>\n"
               "%i = stablehlo.constant dense<[200, 3]> : tensor<2xui8>\n"
               "%j = stablehlo.constant dense<10> : tensor<ui8>\n"
               "%k = stablehlo.constant dense<100> : tensor<ui8>\n"
               "%3 = stablehlo.clamp %j, %i, %k : (tensor<ui8>, tensor<2xui8>, tensor<ui8>) -> tensor<2xui8>\n"
               "check.expect_eq_const %3, dense<[100, 10]> : tensor<2xui8>\n");
}

/* ---- broadcasting, shapes ------------------------------------------------------------------------------------------------ */

static void broadcasting(void **state) {
  (void)state;
  assert_holds(
      "%column = stablehlo.constant dense<[[10], [20]]> : tensor<2x1xi32>\n"
      "%row = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>\n"
      "%0 = chlo.broadcast_add %column, %row : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>\n"
      "check.expect_eq_const %0, dense<[[11, 12, 13], [21, 22, 23]]> : tensor<2x3xi32>\n"
      "%pair = stablehlo.constant dense<[5, 7]> : tensor<2xi32>\n"
      "%table = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>\n"
      "%1 = \"chlo.broadcast_multiply\"(%table, %pair) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2x3xi32>, "
      "tensor<2xi32>) -> tensor<2x3xi32>\n"
      "check.expect_eq_const %1, dense<[[5, 10, 15], [28, 35, 42]]> : tensor<2x3xi32>\n"
      "%2 = \"chlo.broadcast_compare\"(%table, %row) <{comparison_direction = #chlo<comparison_direction EQ>}> : "
      "(tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>\n"
      "check.expect_eq_const %2, dense<[[true, true, true], [false, false, false]]> : tensor<2x3xi1>\n"
      "%pred = stablehlo.constant dense<[[true], [false]]> : tensor<2x1xi1>\n"
      "%3 = \"chlo.broadcast_select\"(%pred, %table, %row) : (tensor<2x1xi1>, tensor<2x3xi32>, tensor<3xi32>) -> "
      "tensor<2x3xi32>\n"
      "check.expect_eq_const %3, dense<[[1, 2, 3], [1, 2, 3]]> : tensor<2x3xi32>\n"
      "%like = \"chlo.constant_like\"(%row) <{value = 9 : i32}> : (tensor<3xi32>) -> tensor<3xi32>\n"
      "check.expect_eq_const %like, dense<9> : tensor<3xi32>\n");
}

/* Shapes that no type states are compared when the operation runs. Counts of bits keep them from being found before. */
static void dynamic_shapes(void **state) {
  (void)state;
#define VECTORS                                                                                                        \
  "%bits = stablehlo.constant dense<7> : tensor<1xi32>\n"                                                              \
  "%three = stablehlo.popcnt %bits : tensor<1xi32>\n"                                                                  \
  "%a = stablehlo.dynamic_iota %three, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>\n"                                   \
  "%two = stablehlo.popcnt %three : tensor<1xi32>\n" /* 3 has two bits */                                              \
  "%b = stablehlo.dynamic_iota %two, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>\n"
  assert_holds(VECTORS "%0 = stablehlo.add %a, %a : tensor<?xi32>\n"
                       "%1 = stablehlo.convert %0 : (tensor<?xi32>) -> tensor<3xi32>\n"
                       "check.expect_eq_const %1, dense<[0, 2, 4]> : tensor<3xi32>\n");
  assert_stops(VECTORS "%0 = stablehlo.add %a, %b : tensor<?xi32>\n", DIAG_E0702_RUN_VALUE);
  assert_stops(VECTORS "%0 = stablehlo.convert %a : (tensor<?xi32>) -> tensor<2xi32>\n", DIAG_E0702_RUN_VALUE);
  assert_stops(VECTORS "%0 = chlo.broadcast_add %a, %b : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>\n",
               DIAG_E0702_RUN_VALUE);
#undef VECTORS
}

/* More elements than one piece of a loop, none at all, and a failing check. */
static void sizes(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<3> : tensor<5x301xi16>\n"
               "%0 = stablehlo.multiply %a, %a : tensor<5x301xi16>\n"
               "check.expect_eq_const %0, dense<9> : tensor<5x301xi16>\n"
               "%e = stablehlo.constant dense<> : tensor<0x3xf32>\n"
               "%1 = stablehlo.add %e, %e : tensor<0x3xf32>\n"
               "check.expect_eq_const %1, dense<> : tensor<0x3xf32>\n");
  assert_stops("%a = stablehlo.constant dense<3> : tensor<1000xi16>\n"
               "%0 = stablehlo.multiply %a, %a : tensor<1000xi16>\n"
               "check.expect_eq_const %0, dense<8> : tensor<1000xi16>\n",
               DIAG_E0703_CHECK);
}

static void types_without_meaning(void **state) {
  (void)state;
  assert_stops("%a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
               "%0 = \"chlo.lgamma\"(%a) : (tensor<2xi32>) -> tensor<2xi32>\n",
               DIAG_E0701_NOT_EXECUTABLE);
}

/* A body on many elements at once: its constants stand for all of them. */
static void lanes(void **state) {
  (void)state;
  assert_holds("%x = stablehlo.constant dense<[-3.0, 0.5, 3.0]> : tensor<3xf32>\n"
               "%0 = \"stablehlo.map\"(%x) <{dimensions = array<i64: 0>}> ({\n"
               "^bb0(%e: tensor<f32>):\n"
               "  %low = stablehlo.constant dense<-1.0> : tensor<f32>\n"
               "  %high = stablehlo.constant dense<1.0> : tensor<f32>\n"
               "  %clamped = stablehlo.clamp %low, %e, %high : tensor<f32>\n"
               "  %negative = stablehlo.compare LT, %e, %low : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
               "  %chosen = stablehlo.select %negative, %high, %clamped : tensor<i1>, tensor<f32>\n"
               "  %sum = chlo.broadcast_add %chosen, %high : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
               "  stablehlo.return %sum : tensor<f32>\n"
               "}) : (tensor<3xf32>) -> tensor<3xf32>\n"
               "check.expect_eq_const %0, dense<[2.0, 1.5, 2.0]> : tensor<3xf32>\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers_wrap),
      cmocka_unit_test(predicates_are_logical),
      cmocka_unit_test(integer_division),
      cmocka_unit_test(shifts),
      cmocka_unit_test(bit_counts),
      cmocka_unit_test(integer_powers),
      cmocka_unit_test(high_products),
      cmocka_unit_test(maximum_and_minimum),
      cmocka_unit_test(signs_and_rounding),
      cmocka_unit_test(elementary_functions),
      cmocka_unit_test(neighbours),
      cmocka_unit_test(comparisons),
      cmocka_unit_test(total_order),
      cmocka_unit_test(complex_order),
      cmocka_unit_test(scalar_operands),
      cmocka_unit_test(broadcasting),
      cmocka_unit_test(dynamic_shapes),
      cmocka_unit_test(sizes),
      cmocka_unit_test(lanes),
      cmocka_unit_test(types_without_meaning),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
