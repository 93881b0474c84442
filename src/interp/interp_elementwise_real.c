/* Loops over doubles: the REAL rows of interp_elementwise.def. Path: interp_elementwise.c → here. */
#include <math.h>

#include "interp/interp_elementwise.h"
#include "interp/interp_special.h"

/* IEEE 754-2019 maximum and minimum: NaN if either is, and +0 above -0. */
static double real_maximum(double x, double y) {
  if (isnan(x) || isnan(y)) {
    return isnan(x) ? x : y;
  }
  if (x == y) {
    return signbit(x) ? y : x;
  }
  return x > y ? x : y;
}

static double real_minimum(double x, double y) {
  if (isnan(x) || isnan(y)) {
    return isnan(x) ? x : y;
  }
  if (x == y) {
    return signbit(x) ? x : y;
  }
  return x < y ? x : y;
}

/* Neither form overflows on its side. */
static double float_logistic(double x) {
  double e = exp(-fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

static double real_logistic(double x) {
  long double e = expl(-fabsl((long double)x));
  return (double)(x < 0 ? e / (1 + e) : 1 / (1 + e));
}

/* chlo's definitions of cosh and sinh in f32, to the letter: exp(x + ln 1/2) + exp(-x + ln 1/2) does not overflow early, but
 * rounds the exponents, which costs up to five units of the last place. Recorded results have that error. */
static const float LN_HALF = -0x1.62e430p-1F;

static float float_exp(float x) {
  return (float)exp((double)x);
}

static double float_cosh(double x) {
  return (double)(float_exp((float)x + LN_HALF) + float_exp(LN_HALF - (float)x));
}

static double float_sinh(double x) {
  return fabs(x) < 1 ? sinh(x) : (double)(float_exp((float)x + LN_HALF) - float_exp(LN_HALF - (float)x));
}

#define INT(opcode, expression)
#define COMPLEX(opcode, expression)
#define SAME_AS(opcode, other)

#define LOOP(name, expression)                                                                                         \
  static void name(const double *xs, const double *ys, double *out, uint64_t count) {                                  \
    for (uint64_t i = 0; i < count; i++) {                                                                             \
      double x = xs[i], y = ys[i];                                                                                     \
      (void)x, (void)y;                                                                                                \
      out[i] = expression;                                                                                             \
    }                                                                                                                  \
  }
#define REAL(opcode, expression) LOOP(real_##opcode, expression)
#define FLOAT(opcode, expression) LOOP(float_##opcode, expression)
#include "interp/interp_elementwise.def"
#undef REAL
#undef FLOAT

static const struct {
  interp_real_loop *wide, *narrow; /* narrow: for formats up to f32, where that is another function */
} loops[IR_OP_COUNT] = {
#define REAL(opcode, expression) [IR_OP_##opcode].wide = real_##opcode,
#define FLOAT(opcode, expression) [IR_OP_##opcode].narrow = float_##opcode,
#include "interp/interp_elementwise.def"
#undef REAL
#undef FLOAT
};

interp_real_loop *interp_real_loop_of(enum ir_opcode opcode, enum dtype dtype) {
  return dtype != DTYPE_F64 && loops[opcode].narrow ? loops[opcode].narrow : loops[opcode].wide;
}
