/* Special functions in double precision, from their published series and expansions. Sums run in long double, so that what
 * they lose stays below the last place of the result. Path: the loops of interp_elementwise_real.c → here. */
#include <math.h>
#include <stdbool.h>

#include "interp/interp_special.h"

static const long double PI = 3.14159265358979323846264338327950288L;

/* Bernoulli numbers B2, B4, ... (DLMF 24.2.6, table 24.2.1). */
enum { BERNOULLI_COUNT = 13 };
static const long double bernoulli[BERNOULLI_COUNT] = {
    1.0L / 6,      -1.0L / 30,     1.0L / 42,      -1.0L / 30,       5.0L / 66,       -691.0L / 2730,
    7.0L / 6,      -3617.0L / 510, 43867.0L / 798, -174611.0L / 330, 854513.0L / 138, -236364091.0L / 2730,
    8553103.0L / 6};

double special_lgamma(double x) {
  int sign; /* lgamma keeps it in a global variable */
  return (double)lgammal_r(x, &sign);
}

/* ---- digamma ----------------------------------------------------------------------------------------------------------- */

/* The positive zero of psi, 1.461632144968362341262659542325721328468..., in two parts of which the first is exact in 64 bits
 * and in 53. */
static const long double ROOT_HIGH = 0x1.762d86356bep+0L;
static const long double ROOT_LOW = 1.408431006457662938648960100870400644635e-14L;
/* From here on the asymptotic expansion is exact to the last place of long double. */
static const long double ASYMPTOTIC = 12;

/* ln x - 1/2x - sum of B2n / (2n x^2n) (DLMF 5.11.2) */
static long double digamma_large(long double x) {
  long double sum = 0, inverse = 1 / (x * x);
  for (int n = BERNOULLI_COUNT; n > 0; n--) {
    sum = (sum + bernoulli[n - 1] / (2 * n)) * inverse;
  }
  return logl(x) - 1 / (2 * x) - sum;
}

/* psi(x) - psi(r) for the zero r: by the recurrence (DLMF 5.5.2) up to large arguments, there by the expansion. Every term has
 * the factor x - r, so that nothing cancels near the zero. */
static long double digamma_small(long double x) {
  long double root = ROOT_HIGH + ROOT_LOW, h = (x - ROOT_HIGH) - ROOT_LOW, a = x, b = root, sum = 0;
  for (; a < ASYMPTOTIC || b < ASYMPTOTIC; a++, b++) {
    sum += 1 / (a * b);
  }
  /* (P(u) - P(v)) / (u - v) by Horner's rule, for P(u) = sum of B2n / 2n u^n, u = a^-2, v = b^-2, u - v = -h (a + b) u v */
  long double u = 1 / (a * a), v = 1 / (b * b), polynomial = 0, quotient = 0;
  for (int n = BERNOULLI_COUNT; n > 0; n--) {
    quotient = quotient * v + polynomial;
    polynomial = polynomial * u + bernoulli[n - 1] / (2 * n);
  }
  quotient = quotient * v + polynomial;
  return h * (sum + 1 / (2 * a * b) + quotient * (a + b) * u * v) + log1pl(h / b);
}

static long double digamma_positive(long double x) {
  return x < ASYMPTOTIC ? digamma_small(x) : digamma_large(x);
}

double special_digamma(double x) {
  if (isnan(x) || (x <= 0 && x == floor(x))) {
    return NAN;
  }
  if (x > 0) {
    return (double)digamma_positive(x);
  }
  /* psi(1 - x) - pi / tan(pi x) (DLMF 5.5.4); the tangent has the period 1 in x */
  long double wide = x, turn = wide - rintl(wide);
  return (double)(digamma_positive(1 - wide) - PI / tanl(PI * turn));
}

/* ---- inverse of erf ---------------------------------------------------------------------------------------------------- */

/* Start with a relative error below 1%: the first terms of the series near 0 (DLMF 7.17.2); else the inverse of Winitzki's
 * approximation erf(y)^2 = 1 - exp(-y^2 (4/pi + a y^2) / (1 + a y^2)), a = 0.147. */
static long double erf_inv_start(long double x) {
  if (x < 0.25L) {
    return sqrtl(PI) / 2 * x * (1 + PI / 12 * x * x);
  }
  const long double a = 0.147L;
  long double log_rest = logl((1 - x) * (1 + x)), half = 2 / (PI * a) + log_rest / 2;
  return sqrtl(sqrtl(half * half - log_rest / a) - half);
}

double special_erf_inv(double x) {
  if (isnan(x) || fabs(x) >= 1) {
    return fabs(x) == 1 ? copysign(INFINITY, x) : NAN;
  }
  if (x == 0) {
    return x;
  }
  enum { STEPS = 3 };
  long double target = fabs(x), y = erf_inv_start(target);
  for (int i = 0; i < STEPS; i++) { /* Halley's method: erf'' = -2 y erf' */
    long double error = target < 0.5L ? erfl(y) - target : (1 - target) - erfcl(y);
    long double newton = error / (2 / sqrtl(PI) * expl(-y * y));
    y -= newton / (1 + y * newton);
  }
  return copysign((double)y, x);
}

/* ---- Bessel ------------------------------------------------------------------------------------------------------------ */

/* Sum of (x/2)^(2k+1) / (k! (k+1)!) (DLMF 10.25.2): all terms are positive. */
static long double bessel_i1_series(long double x) {
  long double term = x / 2, sum = term;
  for (int k = 1; term > sum * 1e-21L; k++) {
    term *= x * x / 4 / ((long double)k * (long double)(k + 1));
    sum += term;
  }
  return sum;
}

/* exp(x) / sqrt(2 pi x) times the sum of (-1)^k a_k / x^k, a_k = (4 - 1)(4 - 9) ... (4 - (2k-1)^2) / (k! 8^k) (DLMF 10.40.1,
 * 10.17.1): the terms fall until k = 2x, where they are about exp(-2x). */
static long double bessel_i1_asymptotic_sum(long double x) {
  long double term = 1, sum = 1;
  for (int k = 1; k < 2 * x && fabsl(term) > 1e-21L; k++) {
    long double odd = 2 * k - 1;
    term *= -(4 - odd * odd) / (8 * k * x);
    sum += term;
  }
  return sum;
}

double special_bessel_i1e(double x) {
  const long double series_limit = 24;
  long double size = fabs(x);
  if (isnan(x) || x == 0) {
    return x;
  }
  if (isinf(x)) {
    return copysign(0, x);
  }
  long double value = size < series_limit ? expl(-size) * bessel_i1_series(size)
                                          : bessel_i1_asymptotic_sum(size) / sqrtl(2 * PI * size);
  return copysign((double)value, x);
}

/* ---- zeta, polygamma --------------------------------------------------------------------------------------------------- */

/* For s > 1, q > 0 by Euler and Maclaurin (DLMF 25.11.5 with 2.10.1): the first terms, and the rest from a = q + N on as
 * a^(1-s) / (s - 1) + a^-s / 2 + sum of B2j / (2j)! s (s+1) ... (s + 2j - 2) a^(1-s-2j). */
static long double zeta_positive(long double s, long double q) {
  long double sum = 0, a = q;
  for (; a < 12 + s; a++) {
    long double term = powl(a, -s);
    sum += term;
    if (term < sum * 1e-21L || isinf(sum)) {
      return sum;
    }
  }
  long double power = powl(a, -s), factor = s * power / a, rest = a * power / (s - 1) + power / 2, factorial = 2;
  for (int j = 1; j <= BERNOULLI_COUNT; j++) {
    rest += bernoulli[j - 1] / factorial * factor;
    factor *= (s + 2 * j - 1) * (s + 2 * j) / (a * a);
    factorial *= (2 * j + 1) * (2 * j + 2);
  }
  return sum + rest;
}

static long double zeta(long double s, long double q) {
  bool is_integer = s == floorl(s), is_even = fmodl(s, 2) == 0;
  if (isnan(s) || isnan(q) || s < 1) {
    return NAN;
  }
  if (s == 1) {
    return INFINITY;
  }
  if (q > 0) {
    return isinf(q) ? 0 : isinf(s) ? (q < 1 ? INFINITY : q == 1) : zeta_positive(s, q);
  }
  if (q == floorl(q)) {
    return is_even && !isinf(q) ? INFINITY : NAN;
  }
  if (!is_integer || isinf(s)) {
    return NAN;
  }
  /* the terms with q + k < 0 are those of zeta at the other side, from d = 1 - (q + count) on */
  long double count = ceill(-q), above = q + count, d = 1 - above;
  long double below = zeta_positive(s, d) - zeta_positive(s, 1 - q);
  return zeta_positive(s, above) + (is_even ? below : -below);
}

double special_zeta(double s, double q) {
  return (double)zeta(s, q);
}

/* (-1)^(n+1) n! zeta(n + 1, x) (DLMF 25.11.12) */
double special_polygamma(double n, double x) {
  enum { LARGEST_FACTORIAL = 1754 }; /* of long double */
  if (isnan(n) || n < 0 || n != floor(n)) {
    return NAN;
  }
  if (n == 0) {
    return special_digamma(x);
  }
  long double factorial = n > LARGEST_FACTORIAL ? (long double)INFINITY : 1;
  for (int k = 2; n <= LARGEST_FACTORIAL && k <= (int)n; k++) {
    factorial *= k;
  }
  long double value = factorial * zeta(n + 1, x);
  return (double)(fmod(n, 2) == 0 ? -value : value);
}
