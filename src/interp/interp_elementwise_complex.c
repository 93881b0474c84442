/* Loops over complex numbers: the COMPLEX rows of interp_elementwise.def. Branch cuts and special values are those of C99,
 * Annex G. Functions are evaluated in long double, since those of double lose several units of the last place.
 * Path: interp_elementwise.c → here. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "interp/interp_elementwise.h"

/* C11's CMPLX, which not every compiler has: re + im * I would lose the sign of zeros. */
static double complex make(double re, double im) {
  double parts[2] = {re, im};
  double complex z;
  memcpy(&z, parts, sizeof z);
  return z;
}

/* By its definition: no recovery of infinities from NaN (as XLA and the reference do it). */
static double complex complex_multiply(double complex x, double complex y) {
  double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
  return make(a * c - b * d, a * d + b * c);
}

static double complex complex_square(double complex x) {
  double a = creal(x), b = cimag(x);
  return make((a - b) * (a + b), 2 * a * b);
}

static double complex complex_divide(double complex x, double complex y) {
  return x / y;
}

/* Lexicographic: the real parts, then the imaginary ones (spec, compare). */
static bool complex_is_less(double complex x, double complex y) {
  return creal(x) < creal(y) || (creal(x) == creal(y) && cimag(x) < cimag(y));
}

/* x / |x|; 0 for 0, NaN when a part is (spec, sign). */
static double complex complex_sign(double complex x) {
  if (isnan(creal(x)) || isnan(cimag(x))) {
    return make(NAN, NAN);
  }
  double size = cabs(x);
  return size == 0 ? make(0, 0) : make(creal(x) / size, cimag(x) / size);
}

static double complex complex_rsqrt(double complex x) {
  return (double complex)(1 / csqrtl(x));
}

/* exp(a + ib) - 1 = (expm1(a) cos b - 2 sin^2(b / 2)) + i e^a sin b. The difference cancels where e^a cos b is near 1: long
 * double keeps the digits. */
static double complex complex_expm1(double complex x) {
  long double a = creal(x), b = cimag(x);
  if (b == 0) {
    return make((double)expm1l(a), (double)b);
  }
  long double half = sinl(b / 2);
  return make((double)(expm1l(a) * cosl(b) - 2 * half * half), (double)(expl(a) * sinl(b)));
}

/* log |1 + x| + i arg(1 + x); |1 + x|^2 - 1 = a (a + 2) + b^2 for x = a + ib. */
static double complex complex_log1p(double complex x) {
  double a = creal(x), b = cimag(x);
  double size = hypot(1 + a, b);
  if (!(size > 0.5 && size < 2)) {
    return make(log(size), atan2(b, 1 + a));
  }
  long double wide_a = a, wide_b = b;
  return make((double)(log1pl(wide_a * (wide_a + 2) + wide_b * wide_b) / 2), atan2(b, 1 + a));
}

/* exp(y log x) in long double, since the error of the exponent is one of the result; 0^0 = 1, and 0^y = 0 for Re y > 0. */
static double complex complex_power(double complex x, double complex y) {
  if (x == 0) {
    return y == 0 ? 1 : creal(y) > 0 ? 0 : make(NAN, NAN);
  }
  return (double complex)cexpl((long double complex)y * clogl((long double complex)x));
}

/* -i log((y + i x) / sqrt(x^2 + y^2)) for the arguments x / y: the branch of the arc tangent with real limits. */
static double complex complex_atan2(double complex x, double complex y) {
  double complex root = csqrt(x * x + y * y);
  return -I * clog((y + I * x) / root);
}

#define REAL(opcode, expression)
#define FLOAT(opcode, expression)
#define INT(opcode, expression)
#define SAME_AS(opcode, other)

#define COMPLEX(opcode, expression)                                                                                    \
  static void complex_##opcode(const double *xs, const double *ys, double *out, uint64_t count) {                      \
    for (uint64_t i = 0; i < count; i++) {                                                                             \
      double complex x = make(xs[2 * i], xs[2 * i + 1]), y = make(ys[2 * i], ys[2 * i + 1]);                           \
      (void)y;                                                                                                         \
      double complex z = (double complex)(expression);                                                                 \
      out[2 * i] = creal(z);                                                                                           \
      out[2 * i + 1] = cimag(z);                                                                                       \
    }                                                                                                                  \
  }
#include "interp/interp_elementwise.def"
#undef COMPLEX

static interp_complex_loop *const loops[IR_OP_COUNT] = {
#define COMPLEX(opcode, expression) [IR_OP_##opcode] = complex_##opcode,
#include "interp/interp_elementwise.def"
#undef COMPLEX
};

interp_complex_loop *interp_complex_loop_of(enum ir_opcode opcode) {
  return loops[opcode];
}
