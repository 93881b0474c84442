/* Functions of f32 evaluated in double, without branches or calls, so that loops over them are vectorised. Their relative
 * error is below 1e-13; where that might change the rounding to f32, interp_fast_loops.c turns to the definition. Arguments
 * are f32 values. Path: interp_fast_loops.def. */
#ifndef RIDGELINE_INTERP_INTERP_FAST_MATH_H
#define RIDGELINE_INTERP_INTERP_FAST_MATH_H

#include <stdint.h>
#include <string.h>

static inline double fast_from_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline uint64_t fast_to_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline double fast_abs(double x) {
  return fast_from_bits(fast_to_bits(x) & (UINT64_MAX >> 1));
}

/* 1.5 * 2^52: added to a small number it leaves the nearest integer in the low bits. */
#define FAST_ROUNDER 0x1.8p52

/* x = n ln 2 + r with |r| <= ln 2 / 2; the Taylor series of exp(r) up to r^11 / 11! leaves 7e-15. Beyond 200 every result is
 * infinite or 0 in f32. */
static inline double fast_exp(double x) {
  x = x > 200 ? 200 : x;
  x = x < -200 ? -200 : x;
  double shifted = x * 0x1.71547652b82fep0 + FAST_ROUNDER, n = shifted - FAST_ROUNDER;
  double r =
      (x - n * 0x1.62e42fefa38p-1) - n * 0x1.ef35793c7673p-45; /* ln 2 in two parts; n times the first is exact */
  double p = 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  return p * fast_from_bits((fast_to_bits(shifted) + 1023) << 52);
}

/* x = m 2^e with m between sqrt(1/2) and sqrt(2); log m = 2 artanh z with z = (m - 1) / (m + 1), |z| < 0.172, whose series up
 * to z^17 / 17 leaves 1e-15. */
static inline double fast_log(double x) {
  uint64_t bits = fast_to_bits(x), offset = bits - 0x3fe6a09e667f3bcd; /* from sqrt(1/2) */
  uint64_t exponent = (uint64_t)((int64_t)offset >> 52);
  double m = fast_from_bits(bits - (exponent << 52));
  double e = fast_from_bits(exponent + fast_to_bits(FAST_ROUNDER)) - FAST_ROUNDER;
  double z = (m - 1) / (m + 1), w = z * z;
  double p = 1.0 / 17;
  p = p * w + 1.0 / 15;
  p = p * w + 1.0 / 13;
  p = p * w + 1.0 / 11;
  p = p * w + 1.0 / 9;
  p = p * w + 1.0 / 7;
  p = p * w + 1.0 / 5;
  p = p * w + 1.0 / 3;
  p = p * w + 1;
  double y = e * 0x1.62e42fefa39efp-1 + 2 * z * p;
  double infinity = __builtin_inf();
  y = x == infinity ? infinity : y;
  y = x == 0 ? -infinity : y;
  return x >= 0 ? y : x < 0 ? __builtin_nan("") : x;
}

/* 1 - 2 / (exp(2 |x|) + 1); near 0, where that cancels, the Taylor series up to x^9, which leaves 1e-14 at 1/16. */
static inline double fast_tanh(double x) {
  double size = fast_abs(x), w = x * x;
  double far = 1 - 2 / (fast_exp(2 * size) + 1);
  double near = (((62.0 / 2835 * w - 17.0 / 315) * w + 2.0 / 15) * w - 1.0 / 3) * w * size + size;
  double y = size < 0.0625 ? near : far;
  return fast_from_bits(fast_to_bits(y) | (fast_to_bits(x) & ~(UINT64_MAX >> 1)));
}

static inline double fast_logistic(double x) {
  return 1 / (1 + fast_exp(-x));
}

#endif
