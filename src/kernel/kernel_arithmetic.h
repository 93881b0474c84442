/* Arithmetic that the kernel models share. Comparisons in place of fmin and fmax: a fit evaluates them millions of times. */
#ifndef RIDGELINE_KERNEL_KERNEL_ARITHMETIC_H
#define RIDGELINE_KERNEL_KERNEL_ARITHMETIC_H

#include <math.h>

static inline double kernel_greatest(double a, double b) {
  return a > b ? a : b;
}

static inline double kernel_least(double a, double b) {
  return a < b ? a : b;
}

/* `lower` for NaN. */
static inline double kernel_clamp(double value, double lower, double upper) {
  return value > lower ? kernel_least(value, upper) : lower;
}

/* (a^p + b^p + c^p)^(1/p), scaled so that no power overflows; 0 when none of them is above 0. p >= 1: 1 = one after the
 * other, large = the longest alone. */
static inline double kernel_join(double a, double b, double c, double p) {
  double most = fmax(a, fmax(b, c));
  if (!(most > 0)) {
    return 0;
  }
  if (p == 1) {
    return a + b + c;
  }
  return most * pow(pow(a / most, p) + pow(b / most, p) + pow(c / most, p), 1 / p);
}

#endif
