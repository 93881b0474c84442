/* Conversions: exact or rounded once, by hand from the formats; bitcasts of other bytes than there are. */
#include "interp_fixture.h"

/* Between two neighbours of f32 and next to their middle: rounding to f64 first would give the other one. */
static void integers_round_once(void **state) {
  (void)state;
  /* f32 near 2^60 has steps of 2^37: 2^60 + 2^36 + 1 is above the middle, 2^60 + 2^36 the middle (to even: down) */
  assert_holds(
      "%a = stablehlo.constant dense<[1152921573326323713, 1152921573326323712, -1152921573326323713, 16777217]>"
      " : tensor<4xi64>\n"
      "%0 = stablehlo.convert %a : (tensor<4xi64>) -> tensor<4xf32>\n"
      "check.expect_eq_const %0, dense<[0x5D800001, 0x5D800000, 0xDD800001, 0x4B800000]> : tensor<4xf32>\n"
      "%1 = stablehlo.convert %a : (tensor<4xi64>) -> tensor<4xcomplex<f32>>\n"
      "%2 = stablehlo.real %1 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>\n"
      "check.expect_eq_const %2, dense<[0x5D800001, 0x5D800000, 0xDD800001, 0x4B800000]> : tensor<4xf32>\n"
      "%b = stablehlo.constant dense<[18446744073709551615, 9223372036854775808]> : tensor<2xui64>\n"
      "%3 = stablehlo.convert %b : (tensor<2xui64>) -> tensor<2xf64>\n"
      "check.expect_eq_const %3, dense<[0x43F0000000000000, 0x43E0000000000000]> : tensor<2xf64>\n"
      "%4 = stablehlo.convert %b : (tensor<2xui64>) -> tensor<2xbf16>\n"
      "check.expect_eq_const %4, dense<[0x5F80, 0x5F00]> : tensor<2xbf16>\n");
}

static void floats_round_once(void **state) {
  (void)state;
  /* 1 + 2^-11 + 2^-40 is above the middle of 1 and 1 + 2^-10; by way of f32 it would be the middle */
  assert_holds(
      "%a = stablehlo.constant dense<[0x3FF0020000001000, 0x3FF0020000000000, 65520.0, 65519.0]> : tensor<4xf64>\n"
      "%0 = stablehlo.convert %a : (tensor<4xf64>) -> tensor<4xf16>\n"
      "check.expect_eq_const %0, dense<[0x3C01, 0x3C00, 0x7C00, 0x7BFF]> : tensor<4xf16>\n"
      "%b = stablehlo.constant dense<[448.0, 464.0, 480.0, -0.0, 0.0146484375]> : tensor<5xf32>\n"
      "%1 = stablehlo.convert %b : (tensor<5xf32>) -> tensor<5xf8E4M3FN>\n"
      "check.expect_eq_const %1, dense<[0x7E, 0x7E, 0x7F, 0x80, 0x08]> : tensor<5xf8E4M3FN>\n"
      "%2 = stablehlo.convert %b : (tensor<5xf32>) -> tensor<5xf8E4M3FNUZ>\n"
      "check.expect_eq_const %2, dense<[0x80, 0x80, 0x80, 0x00, 0x0F]> : tensor<5xf8E4M3FNUZ>\n"
      "%c = stablehlo.constant dense<[0x00, 0x7F, 0x80, 0xFE, 0xFF]> : tensor<5xf8E8M0FNU>\n"
      "%3 = stablehlo.convert %c : (tensor<5xf8E8M0FNU>) -> tensor<5xf32>\n"
      "check.expect_almost_eq_const %3, dense<[0x00400000, 0x3F800000, 0x40000000, 0x7F000000, 0x7FC00000]> : "
      "tensor<5xf32>\n"
      "%d = stablehlo.constant dense<[0.25, 0.75, 2.5, 5.0, 100.0]> : tensor<5xf32>\n"
      "%4 = stablehlo.convert %d : (tensor<5xf32>) -> tensor<5xf4E2M1FN>\n"
      "%5 = stablehlo.convert %4 : (tensor<5xf4E2M1FN>) -> tensor<5xf32>\n"
      "check.expect_eq_const %5, dense<[0.0, 1.0, 2.0, 4.0, 6.0]> : tensor<5xf32>\n");
}

/* Towards zero, to the nearest number of the type; NaN is 0. */
static void floats_to_integers(void **state) {
  (void)state;
  assert_holds(
      "%a = stablehlo.constant dense<[1.9, -1.9, 300.0, -300.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<7xf32>\n"
      "%0 = stablehlo.convert %a : (tensor<7xf32>) -> tensor<7xi8>\n"
      "check.expect_eq_const %0, dense<[1, -1, 127, -128, 127, -128, 0]> : tensor<7xi8>\n"
      "%1 = stablehlo.convert %a : (tensor<7xf32>) -> tensor<7xui8>\n"
      "check.expect_eq_const %1, dense<[1, 0, 255, 0, 255, 0, 0]> : tensor<7xui8>\n"
      "%2 = stablehlo.convert %a : (tensor<7xf32>) -> tensor<7xi64>\n"
      "check.expect_eq_const %2, dense<[1, -1, 300, -300, 9223372036854775807, -9223372036854775808, 0]> : "
      "tensor<7xi64>\n"
      "%3 = stablehlo.convert %a : (tensor<7xf32>) -> tensor<7xui64>\n"
      "check.expect_eq_const %3, dense<[1, 0, 300, 0, 18446744073709551615, 0, 0]> : tensor<7xui64>\n"
      "%4 = stablehlo.convert %a : (tensor<7xf32>) -> tensor<7xi4>\n"
      "check.expect_eq_const %4, dense<[1, -1, 7, -8, 7, -8, 0]> : tensor<7xi4>\n"
      "%b = stablehlo.constant dense<[1.8446742974197924e+19, 9.2233720368547758e+18]> : tensor<2xf64>\n"
      "%5 = stablehlo.convert %b : (tensor<2xf64>) -> tensor<2xui64>\n"
      "check.expect_eq_const %5, dense<[18446742974197923840, 9223372036854775808]> : tensor<2xui64>\n");
}

static void integers_and_predicates(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[256, -1, 384, 0]> : tensor<4xi32>\n"
               "%0 = stablehlo.convert %a : (tensor<4xi32>) -> tensor<4xi8>\n"
               "check.expect_eq_const %0, dense<[0, -1, -128, 0]> : tensor<4xi8>\n"
               "%1 = stablehlo.convert %a : (tensor<4xi32>) -> tensor<4xui64>\n"
               "check.expect_eq_const %1, dense<[256, 18446744073709551615, 384, 0]> : tensor<4xui64>\n"
               "%2 = stablehlo.convert %a : (tensor<4xi32>) -> tensor<4xi1>\n"
               "check.expect_eq_const %2, dense<[true, true, true, false]> : tensor<4xi1>\n"
               "%3 = stablehlo.convert %2 : (tensor<4xi1>) -> tensor<4xbf16>\n"
               "check.expect_eq_const %3, dense<[1.0, 1.0, 1.0, 0.0]> : tensor<4xbf16>\n"
               "%b = stablehlo.constant dense<[0.25, -0.0, 0x7FC00000]> : tensor<3xf32>\n"
               "%4 = stablehlo.convert %b : (tensor<3xf32>) -> tensor<3xi1>\n"
               "check.expect_eq_const %4, dense<[true, false, true]> : tensor<3xi1>\n"
               "%c = stablehlo.constant dense<(2.75, 9.0)> : tensor<complex<f32>>\n"
               "%5 = stablehlo.convert %c : (tensor<complex<f32>>) -> tensor<i32>\n"
               "check.expect_eq_const %5, dense<2> : tensor<i32>\n");
}

/* bf16 keeps 7 bits after the first: next to the middle of two neighbours, by less than f32 can tell; overflow; subnormals. */
static void bf16_rounds_once(void **state) {
  (void)state;
  assert_holds(
      "%a = stablehlo.constant dense<[0x3FF0100000000001, 0x3FF0100000000000, 0x3FF0300000000000, "
      "0x3FF02FFFFFFFFFFF, 0x47EFF00000000000, 0x47EFEFFFFFFFFFFF, 0x7FF0000000000000, 0x37A0000000000000, "
      "0x3790000000000000, 0x3790000000000001, 0xBFF0100000000001]> : tensor<11xf64>\n"
      "%0 = stablehlo.convert %a : (tensor<11xf64>) -> tensor<11xbf16>\n"
      "check.expect_eq_const %0, dense<[0x3F81, 0x3F80, 0x3F82, 0x3F81, 0x7F80, 0x7F7F, 0x7F80, 0x0001, 0x0000, "
      "0x0001, 0xBF81]> : tensor<11xbf16>\n");
}

static void less_precision(void **state) {
  (void)state;
  /* e4m2: the largest number is 1.75 * 2^7, the least normal one 2^-6; no subnormal ones */
  assert_holds(
      "%a = stablehlo.constant dense<[1.125, 1.375, 224.0, 240.0, 0.015625, 0.0146484375, -1.0e-9]> : "
      "tensor<7xf32>\n"
      "%0 = stablehlo.reduce_precision %a, format = e4m2 : tensor<7xf32>\n"
      "check.expect_eq_const %0, dense<[1.0, 1.5, 224.0, 0x7F800000, 0.015625, 0.015625, -0.0]> : tensor<7xf32>\n"
      "%1 = stablehlo.reduce_precision %a, format = e8m23 : tensor<7xf32>\n"
      "check.expect_eq_const %1, dense<[1.125, 1.375, 224.0, 240.0, 0.015625, 0.0146484375, -1.0e-9]> : "
      "tensor<7xf32>\n"
      "%b = stablehlo.constant dense<[0x0000000000000003, 0x7FEFFFFFFFFFFFFF]> : tensor<2xf64>\n"
      "%2 = stablehlo.reduce_precision %b, format = e11m51 : tensor<2xf64>\n"
      "check.expect_eq_const %2, dense<[0x0000000000000004, 0x7FF0000000000000]> : tensor<2xf64>\n");
}

/* A random number is a fraction of its range, here 1/4 and 3/4 of 2^8. */
static void stochastic_rounding(void **state) {
  (void)state;
  assert_holds("%a = stablehlo.constant dense<[2.5, 2.5, -2.5, -2.5, 3.0, 1.0e9]> : tensor<6xf32>\n"
               "%r = stablehlo.constant dense<[64, 192, 64, 192, 0, 0]> : tensor<6xui8>\n"
               "%0 = \"mhlo.stochastic_convert\"(%a, %r) : (tensor<6xf32>, tensor<6xui8>) -> tensor<6xi8>\n"
               "check.expect_eq_const %0, dense<[3, 2, -3, -2, 3, 127]> : tensor<6xi8>\n"
               "%b = stablehlo.constant dense<[1.00390625, 1.00390625]> : tensor<2xf32>\n"
               "%s = stablehlo.constant dense<[64, 192]> : tensor<2xui8>\n"
               "%1 = \"mhlo.stochastic_convert\"(%b, %s) : (tensor<2xf32>, tensor<2xui8>) -> tensor<2xbf16>\n"
               "check.expect_eq_const %1, dense<[0x3F81, 0x3F80]> : tensor<2xbf16>\n");
}

/* The lowest bits are the first element. */
static void bit_patterns(void **state) {
  (void)state;
  assert_holds(
      "%a = stablehlo.constant dense<[305419896, -1]> : tensor<2xi32>\n" /* 0x12345678 */
      "%0 = stablehlo.bitcast_convert %a : (tensor<2xi32>) -> tensor<2x4xui8>\n"
      "check.expect_eq_const %0, dense<[[120, 86, 52, 18], [255, 255, 255, 255]]> : tensor<2x4xui8>\n"
      "%1 = stablehlo.bitcast_convert %0 : (tensor<2x4xui8>) -> tensor<2xi32>\n"
      "check.expect_eq_const %1, dense<[305419896, -1]> : tensor<2xi32>\n"
      "%b = stablehlo.constant dense<[120, -1]> : tensor<2xi8>\n"
      "%2 = stablehlo.bitcast_convert %b : (tensor<2xi8>) -> tensor<2x2xi4>\n"
      "check.expect_eq_const %2, dense<[[-8, 7], [-1, -1]]> : tensor<2x2xi4>\n"
      "%3 = stablehlo.bitcast_convert %2 : (tensor<2x2xi4>) -> tensor<2xui8>\n"
      "check.expect_eq_const %3, dense<[120, 255]> : tensor<2xui8>\n"
      "%4 = stablehlo.bitcast_convert %2 : (tensor<2x2xi4>) -> tensor<2x2x2xui2>\n"
      "check.expect_eq_const %4, dense<[[[0, 2], [3, 1]], [[3, 3], [3, 3]]]> : tensor<2x2x2xui2>\n"
      "%c = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>\n"
      "%5 = stablehlo.bitcast_convert %c : (tensor<2xf32>) -> tensor<f64>\n"
      "%6 = stablehlo.bitcast_convert %5 : (tensor<f64>) -> tensor<ui64>\n"
      "check.expect_eq_const %6, dense<0xC00000003F800000> : tensor<ui64>\n"
      "%7 = stablehlo.bitcast_convert %6 : (tensor<ui64>) -> tensor<4xbf16>\n"
      "check.expect_eq_const %7, dense<[0.0, 1.0, 0.0, -2.0]> : tensor<4xbf16>\n"
      "%8 = stablehlo.bitcast_convert %b : (tensor<2xi8>) -> tensor<2x8xi1>\n"
      "check.expect_eq_const %8, dense<[[false, false, false, true, true, true, true, false], [true, true, true, "
      "true, true, true, true, true]]> : tensor<2x8xi1>\n"
      "%d = stablehlo.constant dense<0x40> : tensor<f8E5M2>\n"
      "%9 = stablehlo.bitcast_convert %d : (tensor<f8E5M2>) -> tensor<i8>\n"
      "check.expect_eq_const %9, dense<64> : tensor<i8>\n");
}

/* Nothing has checked what a bitcast says of its bytes: never read beyond them. */
static void wrong_bitcasts(void **state) {
  (void)state;
  const char *x = "%x = stablehlo.constant dense<1.0> : tensor<2x3xf32>\n";
  static const char *const casts[] = {
      "mhlo.bitcast %x : (tensor<2x3xf32>) -> tensor<2x3xf64>",
      "mhlo.bitcast %x : (tensor<2x3xf32>) -> tensor<7xf32>",
      "mhlo.bitcast %x {source_layout = dense<[0, 0]> : tensor<2xindex>} : (tensor<2x3xf32>) -> tensor<6xf32>",
      "mhlo.bitcast %x {source_layout = dense<0> : tensor<1xindex>} : (tensor<2x3xf32>) -> tensor<6xf32>",
      "mhlo.bitcast %x {source_layout = dense<[2, 0]> : tensor<2xindex>} : (tensor<2x3xf32>) -> tensor<6xf32>",
      "mhlo.bitcast %x {result_layout = dense<[-1, 0]> : tensor<2xindex>} : (tensor<2x3xf32>) -> tensor<3x2xf32>",
      "mhlo.bitcast %x {result_layout = \"10\"} : (tensor<2x3xf32>) -> tensor<3x2xf32>",
  };
  for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
    char body[512];
    snprintf(body, sizeof body, "%s%%0 = %s", x, casts[i]);
    assert_stops(body, DIAG_E0702_RUN_VALUE);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers_round_once), cmocka_unit_test(floats_round_once),
      cmocka_unit_test(floats_to_integers),  cmocka_unit_test(integers_and_predicates),
      cmocka_unit_test(less_precision),      cmocka_unit_test(bf16_rounds_once),
      cmocka_unit_test(stochastic_rounding), cmocka_unit_test(bit_patterns),
      cmocka_unit_test(wrong_bitcasts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
