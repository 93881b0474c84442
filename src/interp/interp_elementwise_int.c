/* Loops over 64-bit integers: the INT rows of interp_elementwise.def. Signed values come sign-extended, unsigned ones and
 * predicates as their bits; what is written wraps to the width. Path: interp_elementwise.c → here.
 *
 * Where the specification leaves a result to the implementation it is XLA's, as in the recorded results of JAX: x / 0 is all
 * ones, x % 0 is x; INT_MIN / -1 is INT_MIN, its remainder 0. */
#include "interp/interp_elementwise.h"

struct interp_int_format interp_int_format(enum dtype dtype) {
  enum dtype_class class = dtype_class_of(dtype);
  return (struct interp_int_format){.bits = dtype_bits(dtype),
                                    .is_signed = class == DTYPE_CLASS_SINT || class == DTYPE_CLASS_INDEX,
                                    .is_bool = class == DTYPE_CLASS_BOOL};
}

/* The bits of the value's own width, others 0. */
static uint64_t int_bits(int64_t x, struct interp_int_format f) {
  return (uint64_t)x & (UINT64_MAX >> (64 - f.bits));
}

/* The same bits read as a signed number. */
static int64_t int_signed(int64_t x, struct interp_int_format f) {
  return (int64_t)((uint64_t)x << (64 - f.bits)) >> (64 - f.bits);
}

static int64_t int_add(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x + (uint64_t)y);
}

static int64_t int_subtract(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x - (uint64_t)y);
}

static int64_t int_multiply(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x * (uint64_t)y);
}

static int64_t int_negate(int64_t x) {
  return int_subtract(0, x);
}

static bool int_less(int64_t x, int64_t y, struct interp_int_format f) {
  return f.is_signed ? x < y : (uint64_t)x < (uint64_t)y;
}

static int64_t int_divide(int64_t x, int64_t y, struct interp_int_format f) {
  if (y == 0) {
    return -1;
  }
  if (!f.is_signed) {
    return (int64_t)((uint64_t)x / (uint64_t)y);
  }
  return y == -1 ? int_negate(x) : x / y;
}

static int64_t int_remainder(int64_t x, int64_t y, struct interp_int_format f) {
  if (y == 0) {
    return x;
  }
  if (!f.is_signed) {
    return (int64_t)((uint64_t)x % (uint64_t)y);
  }
  return y == -1 ? 0 : x % y;
}

/* Wraps. A negative exponent: the integer part of the exact power, which is 0 for all bases but 1 and -1 (and is taken to
 * be 0 for the base 0). */
static int64_t int_power(int64_t x, int64_t y, struct interp_int_format f) {
  if (f.is_signed && y < 0) {
    return x == 1 ? 1 : x == -1 ? ((y & 1) != 0 ? -1 : 1) : 0;
  }
  uint64_t power = 1, square = (uint64_t)x;
  for (uint64_t n = (uint64_t)y; n > 0; n >>= 1) {
    power *= (n & 1) != 0 ? square : 1;
    square *= square;
  }
  return (int64_t)power;
}

/* The upper half of the product of twice the width. */
static int64_t int_multiply_high(int64_t x, int64_t y, struct interp_int_format f) {
  if (f.is_signed) {
    return (int64_t)(((__int128)x * y) >> f.bits);
  }
  return (int64_t)(((unsigned __int128)(uint64_t)x * (uint64_t)y) >> f.bits);
}

/* A count is unsigned: a negative one is beyond every width. */
static bool is_shift_in_range(int64_t y, struct interp_int_format f) {
  return (uint64_t)y < f.bits;
}

static int64_t int_leading_zeros(int64_t x, struct interp_int_format f) {
  uint64_t bits = int_bits(x, f);
  return bits == 0 ? (int64_t)f.bits : __builtin_clzll(bits) - (int64_t)(64 - f.bits);
}

#define REAL(opcode, expression)
#define FLOAT(opcode, expression)
#define COMPLEX(opcode, expression)
#define SAME_AS(opcode, other)

#define INT(opcode, expression)                                                                                        \
  static void int_##opcode(const int64_t *xs, const int64_t *ys, int64_t *out, uint64_t count,                         \
                           struct interp_int_format f) {                                                               \
    (void)f;                                                                                                           \
    for (uint64_t i = 0; i < count; i++) {                                                                             \
      int64_t x = xs[i], y = ys[i];                                                                                    \
      (void)y;                                                                                                         \
      out[i] = expression;                                                                                             \
    }                                                                                                                  \
  }
#include "interp/interp_elementwise.def"
#undef INT

static interp_int_loop *const loops[IR_OP_COUNT] = {
#define INT(opcode, expression) [IR_OP_##opcode] = int_##opcode,
#include "interp/interp_elementwise.def"
#undef INT
};

interp_int_loop *interp_int_loop_of(enum ir_opcode opcode) {
  return loops[opcode];
}
