/* Special functions against closed forms and published values, in units of the last place. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interp/interp_special.h"

static const double PI = 3.14159265358979323846, EULER = 0.57721566490153286061, ZETA3 = 1.20205690315959428540;

/* At most `units` of the last place of `expected`. */
static void assert_near(double actual, double expected, double units) {
  double unit = nextafter(fabs(expected), INFINITY) - fabs(expected);
  if (!(fabs(actual - expected) <= units * unit)) {
    print_error("%.17g, expected %.17g\n", actual, expected);
    fail();
  }
}

/* psi(1) = -gamma, psi(1/2) = -gamma - 2 ln 2 (DLMF 5.4.12, 5.4.13); psi(x + 1) = psi(x) + 1 / x. */
static void digamma(void **state) {
  (void)state;
  assert_near(special_digamma(1), -EULER, 1);
  assert_near(special_digamma(2), 1 - EULER, 1);
  assert_near(special_digamma(0.5), -EULER - 2 * log(2), 1);
  assert_near(special_digamma(-0.5), 0.0364899739785765205590, 1); /* 2 - gamma - 2 ln 2 */
  assert_near(special_digamma(1e-300), -1e300, 1);
  assert_near(special_digamma(1e300), 300 * log(10), 1);
  assert_true(isnan(special_digamma(0)) && isnan(special_digamma(-3)) && isnan(special_digamma(-INFINITY)));
  assert_true(isinf(special_digamma(INFINITY)) && isnan(special_digamma(NAN)));
}

/* The zero is 1.46163214496836234126265954232572132846...: the double below it is 1.4616321449683622, and psi there is the
 * distance times psi'(zero) = 0.96767224544762117... */
static void digamma_zero(void **state) {
  (void)state;
  double below = 0x1.762d86356be3fp+0;
  long double distance = below - 0x1.762d86356bep+0L - 1.408431006457662938648960100870400644635e-14L;
  assert_near(special_digamma(below), (double)(distance * 0.96767224544762117L), 2);
  assert_true(special_digamma(below) < 0 && special_digamma(nextafter(below, 2)) > 0);
}

/* erf(0.4769362762044698733814...) = 1/2 (DLMF 7.17); the derivative at 0 is sqrt(pi) / 2. */
static void erf_inverse(void **state) {
  (void)state;
  assert_near(special_erf_inv(0.5), 0.47693627620446987338, 1);
  assert_near(special_erf_inv(-0.5), -0.47693627620446987338, 1);
  assert_near(special_erf_inv(1e-300), sqrt(PI) / 2 * 1e-300, 1);
  for (double y = 0.125; y < 2; y += 0.125) { /* the inverse amplifies the error of erf by its derivative */
    double derivative = 2 / sqrt(PI) * exp(-y * y);
    assert_true(fabs(special_erf_inv(erf(y)) - y) <= 1.2e-16 * (1 / derivative + y));
  }
  assert_true(special_erf_inv(1) == INFINITY && special_erf_inv(-1) == -INFINITY && isnan(special_erf_inv(1.5)));
  assert_true(special_erf_inv(-0.0) == 0 && signbit(special_erf_inv(-0.0)));
}

/* Gamma(1/2) = sqrt(pi), Gamma(-1/2) = -2 sqrt(pi), Gamma(11) = 10!. */
static void log_gamma(void **state) {
  (void)state;
  assert_near(special_lgamma(0.5), log(PI) / 2, 1);
  assert_near(special_lgamma(-0.5), log(2) + log(PI) / 2, 1);
  assert_near(special_lgamma(11), log(3628800), 1);
  assert_true(special_lgamma(1) == 0 && special_lgamma(2) == 0);
  assert_true(isinf(special_lgamma(0)) && isinf(special_lgamma(-4)) && isinf(special_lgamma(INFINITY)));
}

/* I1(1) = 0.56515910399248502720769602760986330732889962162109...; odd; sqrt(2 pi x) of it tends to 1 - 3 / 8x. */
static void bessel(void **state) {
  (void)state;
  assert_near(special_bessel_i1e(1), 0.56515910399248502720769602760986 * exp(-1), 2);
  assert_near(special_bessel_i1e(-1), -special_bessel_i1e(1), 0);
  assert_near(special_bessel_i1e(1e-10), 5e-11 * (1 - 1e-10), 1);
  assert_near(special_bessel_i1e(1e12), (1 - 0.375e-12) / sqrt(2 * PI * 1e12), 2);
  /* series and asymptotic expansion meet: the function is smooth there */
  double left = special_bessel_i1e(24 - 1e-6), middle = special_bessel_i1e(24), right = special_bessel_i1e(24 + 1e-6);
  assert_true(fabs(left - 2 * middle + right) < 1e-16);
  assert_true(special_bessel_i1e(0) == 0 && special_bessel_i1e(INFINITY) == 0 && isnan(special_bessel_i1e(NAN)));
}

/* zeta(2) = pi^2 / 6, zeta(4) = pi^4 / 90, zeta(s, 1/2) = (2^s - 1) zeta(s) (DLMF 25.6.1, 25.11.11). */
static void hurwitz_zeta(void **state) {
  (void)state;
  assert_near(special_zeta(2, 1), PI * PI / 6, 1);
  assert_near(special_zeta(4, 1), PI * PI * PI * PI / 90, 2);
  assert_near(special_zeta(3, 1), ZETA3, 1);
  assert_near(special_zeta(3, 0.5), 7 * ZETA3, 1);
  assert_near(special_zeta(3, -0.5), 7 * ZETA3 - 8, 4);
  assert_near(special_zeta(2, -1.5), PI * PI / 2 + 4 + 4.0 / 9, 2);
  assert_near(special_zeta(2, -1e6 - 0.5), PI * PI - 1 / (1e6 + 1), 2); /* nearly the sum over all integers */
  assert_near(special_zeta(200, 3), pow(3, -200), 2);
  assert_near(special_zeta(2, 1e8), 1e-8 + 0.5e-16, 1);
  assert_true(special_zeta(1, 2) == INFINITY && isnan(special_zeta(0.5, 2)));
  assert_true(special_zeta(2, -3) == INFINITY && isnan(special_zeta(3, -3)) && isnan(special_zeta(2.5, -0.5)));
}

/* psi'(1) = pi^2 / 6, psi'(1/2) = pi^2 / 2, psi''(1) = -2 zeta(3) (DLMF 5.15.2, 5.15.3). */
static void polygamma(void **state) {
  (void)state;
  assert_near(special_polygamma(0, 1), -EULER, 1);
  assert_near(special_polygamma(1, 1), PI * PI / 6, 1);
  assert_near(special_polygamma(1, 0.5), PI * PI / 2, 1);
  assert_near(special_polygamma(2, 1), -2 * ZETA3, 1);
  assert_near(special_polygamma(3, 1), PI * PI * PI * PI / 15, 2);
  assert_true(isnan(special_polygamma(-1, 1)) && isnan(special_polygamma(1.5, 1)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(digamma),   cmocka_unit_test(digamma_zero), cmocka_unit_test(erf_inverse),
      cmocka_unit_test(log_gamma), cmocka_unit_test(bessel),       cmocka_unit_test(hurwitz_zeta),
      cmocka_unit_test(polygamma),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
