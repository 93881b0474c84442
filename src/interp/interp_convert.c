/* Between element types: convert, the parts of complex numbers, reduce_precision, stochastic_convert, next_after and
 * bitcast_convert. Path: a row of interp_ops.def → here. */
#include <math.h>
#include <string.h>

#include "base/minifloat.h"
#include "interp/interp_elementwise.h"

/* ---- convert ----------------------------------------------------------------------------------------------------------- */

/* An integer as a double that rounds to any narrower float as the integer itself would: with more than 53 bits, the lost
 * ones leave the last bit set (round to odd; narrower formats have at least two bits less). */
static double to_odd(int64_t value, bool is_signed) {
  bool is_negative = is_signed && value < 0;
  uint64_t magnitude = is_negative ? 0 - (uint64_t)value : (uint64_t)value;
  unsigned lost = magnitude >> 53 ? 11 - (unsigned)__builtin_clzll(magnitude) : 0;
  uint64_t kept = magnitude >> lost | ((magnitude & (((uint64_t)1 << lost) - 1)) != 0);
  double wide = ldexp((double)kept, (int)lost);
  return is_negative ? -wide : wide;
}

/* Truncated towards zero, then to the nearest number of the type; NaN is 0 (the specification leaves this to the
 * implementation: as XLA). */
static int64_t saturate(double x, struct interp_int_format f) {
  double end = ldexp(1, (int)(f.is_signed ? f.bits - 1 : f.bits)), least = f.is_signed ? -end : 0;
  if (isnan(x)) {
    return 0;
  }
  if (x <= least) {
    return f.is_signed ? INT64_MIN >> (64 - f.bits) : 0;
  }
  if (x >= end) {
    return f.is_signed ? (int64_t)(UINT64_MAX >> (65 - f.bits)) : (int64_t)(UINT64_MAX >> (64 - f.bits));
  }
  return f.is_signed ? (int64_t)x : (int64_t)(uint64_t)x;
}

static void ints_to_reals(const struct interp_value *v, uint64_t first, uint64_t n, const struct interp_value *out,
                          double *x) {
  int64_t piece[INTERP_CHUNK];
  bool is_signed = interp_int_format((enum dtype)v->dtype).is_signed;
  interp_spread_int(v, first, n, piece);
  bool is_double = out->dtype == DTYPE_F64 || out->dtype == DTYPE_C128;
  for (uint64_t i = 0; i < n; i++) {
    x[i] = !is_double ? to_odd(piece[i], is_signed) : is_signed ? (double)piece[i] : (double)(uint64_t)piece[i];
  }
}

/* Real parts, or the numbers themselves. */
static void read_reals(const struct interp_value *v, uint64_t first, uint64_t n, const struct interp_value *out,
                       double *x) {
  if (interp_is_integral(v)) {
    ints_to_reals(v, first, n, out, x);
    return;
  }
  if (!interp_is_complex(v)) {
    interp_spread_real(v, first, n, x);
    return;
  }
  double pairs[2 * INTERP_CHUNK];
  interp_spread_complex(v, first, n, pairs);
  for (uint64_t i = 0; i < n; i++) {
    x[i] = pairs[2 * i];
  }
}

/* Predicates are whether the number, or the real part, is not zero. */
static void convert_to_bools(const struct interp_value *v, uint64_t first, uint64_t n, struct interp_value *out) {
  double x[INTERP_CHUNK];
  read_reals(v, first, n, out, x); /* an integer is zero exactly when its double is */
  for (uint64_t i = 0; i < n; i++) {
    out->data[first + i] = x[i] != 0;
  }
}

static void convert_to_ints(const struct interp_value *v, uint64_t first, uint64_t n, struct interp_value *out) {
  double x[INTERP_CHUNK];
  int64_t piece[INTERP_CHUNK];
  if (interp_is_integral(v)) {
    interp_spread_int(v, first, n, piece);
  } else {
    struct interp_int_format format = interp_int_format((enum dtype)out->dtype);
    read_reals(v, first, n, out, x);
    for (uint64_t i = 0; i < n; i++) {
      piece[i] = saturate(x[i], format);
    }
  }
  interp_write_int(out, first, n, piece);
}

static void convert_to_complex(const struct interp_value *v, uint64_t first, uint64_t n, struct interp_value *out) {
  double x[INTERP_CHUNK], pairs[2 * INTERP_CHUNK];
  if (interp_is_complex(v)) {
    interp_spread_complex(v, first, n, pairs);
  } else {
    read_reals(v, first, n, out, x);
    for (uint64_t i = 0; i < n; i++) {
      pairs[2 * i] = x[i];
      pairs[2 * i + 1] = 0;
    }
  }
  interp_write_complex(out, first, n, pairs);
}

bool interp_op_convert(struct interp_call *call) {
  const struct interp_value *v = call->operands[0];
  struct interp_value *out = interp_elementwise_result(call, 0);
  double x[INTERP_CHUNK];
  for (uint64_t first = 0; out && first < out->count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(out, first);
    if (out->dtype == DTYPE_I1) {
      convert_to_bools(v, first, n, out);
    } else if (interp_is_integral(out)) {
      convert_to_ints(v, first, n, out);
    } else if (interp_is_complex(out)) {
      convert_to_complex(v, first, n, out);
    } else {
      read_reals(v, first, n, out, x);
      interp_write_real(out, first, n, x);
    }
  }
  return out != NULL;
}

/* ---- complex ----------------------------------------------------------------------------------------------------------- */

bool interp_op_complex(struct interp_call *call) {
  struct interp_value *out = interp_elementwise_result(call, 0);
  const struct interp_value *re = call->operands[0], *im = call->operands[1];
  double x[INTERP_CHUNK], y[INTERP_CHUNK], pairs[2 * INTERP_CHUNK];
  if (!out) {
    return false;
  }
  if (re->dtype != im->dtype || !interp_is_complex(out)) {
    return interp_unsupported(call, "the parts have different types, or the result is not complex");
  }
  for (uint64_t first = 0; first < out->count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(out, first);
    interp_spread_real(re, first, n, x);
    interp_spread_real(im, first, n, y);
    for (uint64_t i = 0; i < n; i++) {
      pairs[2 * i] = x[i];
      pairs[2 * i + 1] = y[i];
    }
    interp_write_complex(out, first, n, pairs);
  }
  return true;
}

/* ---- reduce_precision -------------------------------------------------------------------------------------------------- */

struct precision {
  int mantissa_bits; /* kept */
  int least_exponent; /* of the operand's format: below it the spacing stays */
  int limit; /* numbers of this exponent and above become infinite, of its negative and below zero; 0 = the format's own */
};

/* Rounds to nearest even with so many bits after the first; then what the exponent bits cannot hold becomes infinite or a
 * zero of the same sign, also where the narrow format would have subnormal numbers (as XLA; the specification names only the
 * conversion). */
static double reduce_precision(double x, const struct precision *p) {
  if (isnan(x) && p->mantissa_bits == 0) {
    return copysign(INFINITY, x); /* such a format has no NaN */
  }
  if (x == 0 || !isfinite(x)) {
    return x;
  }
  int exponent = ilogb(x);
  int unit = (exponent > p->least_exponent ? exponent : p->least_exponent) - p->mantissa_bits;
  double rounded = ldexp(rint(ldexp(x, -unit)), unit);
  if (rounded == 0 || p->limit == 0 || isinf(rounded)) {
    return rounded;
  }
  exponent = ilogb(rounded);
  return exponent >= p->limit ? copysign(INFINITY, x) : exponent <= 1 - p->limit ? copysign(0, x) : rounded;
}

/* Exponent of the least normal number. */
static int least_exponent(enum dtype dtype) {
  double zero = minifloat_decode(dtype, 0); /* E8M0 has no zero: its first code is that number */
  return ilogb(zero != 0 ? zero : minifloat_decode(dtype, (uint64_t)1 << dtype_mantissa_bits(dtype)));
}

bool interp_op_reduce_precision(struct interp_call *call) {
  struct interp_value *out = interp_elementwise_result(call, 0);
  const struct interp_value *v = call->operands[0];
  if (!out) {
    return false;
  }
  if (dtype_class_of((enum dtype)v->dtype) != DTYPE_CLASS_FLOAT || v->dtype != out->dtype) {
    return interp_unsupported(call, "it has no meaning for elements of %s", dtype_name((enum dtype)v->dtype));
  }
  int64_t exponent_bits = interp_attr_int(call, "exponent_bits", 0);
  int64_t mantissa_bits = interp_attr_int(call, "mantissa_bits", 0);
  if (exponent_bits < 1 || mantissa_bits < 0) {
    return interp_wrong(call, "a format needs at least one bit of exponent and none of mantissa");
  }
  int own_exponent = (int)dtype_exponent_bits((enum dtype)v->dtype);
  int own_mantissa = (int)dtype_mantissa_bits((enum dtype)v->dtype);
  struct precision p = {.mantissa_bits = mantissa_bits < own_mantissa ? (int)mantissa_bits : own_mantissa,
                        .least_exponent = least_exponent((enum dtype)v->dtype),
                        .limit = exponent_bits < own_exponent ? 1 << (exponent_bits - 1) : 0};
  double x[INTERP_CHUNK];
  for (uint64_t first = 0; first < out->count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(out, first);
    interp_spread_real(v, first, n, x);
    for (uint64_t i = 0; i < n; i++) {
      x[i] = reduce_precision(x[i], &p);
    }
    interp_write_real(out, first, n, x);
  }
  return true;
}

/* ---- stochastic_convert ------------------------------------------------------------------------------------------------- */

/* The two neighbours of |x| in the type, of which the lower one is taken when the random number, as a fraction of its range,
 * is at least the distance from it. */
static double stochastic_float(double x, double random, enum dtype dtype) {
  double size = fabs(x);
  uint64_t code = minifloat_encode(dtype, size);
  if (!isfinite(x) || minifloat_decode(dtype, code) == size) {
    return x;
  }
  code -= minifloat_decode(dtype, code) > size;
  double low = minifloat_decode(dtype, code), high = minifloat_decode(dtype, code + 1);
  if (!isfinite(high)) {
    return x;
  }
  return copysign(random < (size - low) / (high - low) ? high : low, x);
}

static double stochastic_int(double x, double random) {
  double whole = trunc(x);
  return isfinite(x) && random < fabs(x - whole) ? whole + copysign(1, x) : whole;
}

bool interp_op_stochastic_convert(struct interp_call *call) {
  struct interp_value *out = interp_elementwise_result(call, 0);
  const struct interp_value *v = call->operands[0], *random = call->operands[1];
  if (!out) {
    return false;
  }
  if (interp_is_integral(v) || interp_is_complex(v) || interp_is_complex(out) || !interp_is_integral(random)) {
    return interp_unsupported(call, "it takes floats and integers as random numbers");
  }
  struct interp_int_format format = interp_int_format((enum dtype)random->dtype), to = {0};
  to = interp_is_integral(out) ? interp_int_format((enum dtype)out->dtype) : to;
  double x[INTERP_CHUNK];
  uint64_t bits[INTERP_CHUNK];
  int64_t whole[INTERP_CHUNK];
  for (uint64_t first = 0; first < out->count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(out, first);
    interp_spread_real(v, first, n, x);
    interp_read_codes(random, first, n, bits);
    for (uint64_t i = 0; i < n; i++) {
      double fraction = ldexp((double)bits[i], -(int)format.bits);
      x[i] = interp_is_integral(out) ? stochastic_int(x[i], fraction)
                                     : stochastic_float(x[i], fraction, (enum dtype)out->dtype);
      whole[i] = interp_is_integral(out) ? saturate(x[i], to) : 0;
    }
    if (interp_is_integral(out)) {
      interp_write_int(out, first, n, whole);
    } else {
      interp_write_real(out, first, n, x);
    }
  }
  return true;
}

/* ---- next_after -------------------------------------------------------------------------------------------------------- */

/* The neighbour of x on the side of y, in codes of sign and magnitude; y when they are equal, NaN when either is. */
static uint64_t next_code(enum dtype dtype, uint64_t x, uint64_t y) {
  double from = minifloat_decode(dtype, x), to = minifloat_decode(dtype, y);
  if (isnan(from) || isnan(to)) {
    return isnan(from) ? x : y;
  }
  if (from == to) {
    return y;
  }
  if (from == 0) {
    return (to < 0 ? (uint64_t)1 << (dtype_bits(dtype) - 1) : 0) + 1;
  }
  uint64_t next = (to > from) == (from > 0) ? x + 1 : x - 1;
  uint64_t negative_zero = (uint64_t)1 << (dtype_bits(dtype) - 1);
  return next == negative_zero ? minifloat_encode(dtype, -0.0) : next; /* FNUZ formats have no -0 */
}

bool interp_op_next_after(struct interp_call *call) {
  struct interp_value *out = interp_elementwise_result(call, 0);
  const struct interp_value *v = call->operands[0];
  if (!out) {
    return false;
  }
  if (dtype_class_of((enum dtype)v->dtype) != DTYPE_CLASS_FLOAT || v->dtype != out->dtype
      || v->dtype != call->operands[1]->dtype || v->dtype == DTYPE_F8E8M0FNU) {
    return interp_unsupported(call, "it has no meaning for elements of %s", dtype_name((enum dtype)v->dtype));
  }
  uint64_t x[INTERP_CHUNK], y[INTERP_CHUNK];
  for (uint64_t first = 0; first < out->count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(out, first);
    interp_read_codes(v, first, n, x);
    interp_read_codes(call->operands[1], first, n, y);
    unsigned bytes = interp_element_bytes(out);
    for (uint64_t i = 0; i < n; i++) {
      uint64_t code = next_code((enum dtype)v->dtype, x[i], y[i]);
      memcpy(out->data + (first + i) * bytes, &code, bytes);
    }
  }
  return true;
}

/* ---- bitcast_convert --------------------------------------------------------------------------------------------------- */

/* Bits [at, at + bits) of an element as the types have them, first bit lowest. Elements narrower than a byte lie in the low
 * bits of theirs; pieces begin and end within a byte, or are whole bytes. */
static void read_bits(const struct interp_value *v, uint64_t element, unsigned at, unsigned bits, uint8_t *out) {
  const uint8_t *from = v->data + element * interp_element_bytes(v) + at / 8;
  if (bits < 8) {
    *out = (uint8_t)(*from >> at % 8 & ((1u << bits) - 1));
  } else {
    memcpy(out, from, (bits + 7) / 8);
  }
}

static void write_bits(struct interp_value *v, uint64_t element, unsigned at, unsigned bits, const uint8_t *in) {
  uint8_t *to = v->data + element * interp_element_bytes(v) + at / 8;
  if (bits < 8) {
    *to = (uint8_t)((at % 8 == 0 ? 0 : *to) | *in << at % 8);
  } else {
    memcpy(to, in, (bits + 7) / 8);
  }
}

/* Signed elements narrower than a byte keep their sign in it. */
static void extend_signs(struct interp_value *v) {
  int64_t piece[INTERP_CHUNK];
  bool is_narrow = interp_is_integral(v) && dtype_bits((enum dtype)v->dtype) < 8;
  for (uint64_t first = 0; is_narrow && first < v->count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(v, first);
    interp_read_int(v, first, n, piece);
    interp_write_int(v, first, n, piece);
  }
}

/* Dims of the result: a last dimension more or less when the widths differ (spec, bitcast_convert). */
static bool bitcast_dims(struct interp_call *call, uint64_t from_bits, uint64_t to_bits, int64_t *dims,
                         uint32_t *rank) {
  const struct interp_value *v = call->operands[0];
  *rank = v->rank;
  memcpy(dims, v->dims, v->rank * sizeof *dims);
  if (from_bits > to_bits) {
    if (*rank == INTERP_MAX_RANK) {
      return interp_unsupported(call, "a tensor of rank %u", *rank + 1);
    }
    dims[(*rank)++] = (int64_t)(from_bits / to_bits);
  } else if (from_bits < to_bits) {
    if (*rank == 0 || (uint64_t)dims[*rank - 1] != to_bits / from_bits) {
      return interp_wrong(call, "the last dimension of the operand does not make up one element of the result");
    }
    --*rank;
  }
  return true;
}

bool interp_op_bitcast_convert(struct interp_call *call) {
  const struct interp_value *v = call->operands[0];
  struct ir_type type = ir_value_type(call->module, ir_op_result(call->module, call->op, 0));
  enum dtype to = (enum dtype)ir_type_get(call->module, type)->dtype;
  unsigned from_bits = v->kind == INTERP_TENSOR ? dtype_bits((enum dtype)v->dtype) : 0, to_bits = dtype_bits(to);
  unsigned small = from_bits < to_bits ? from_bits : to_bits, large = from_bits < to_bits ? to_bits : from_bits;
  if (small == 0 || large % small != 0 || (small != large && small < 8 && 8 % small != 0)) {
    return interp_unsupported(call, "elements of %u bits do not make up elements of %u bits", from_bits, to_bits);
  }
  int64_t dims[INTERP_MAX_RANK];
  uint32_t rank;
  if (!bitcast_dims(call, from_bits, to_bits, dims, &rank) || !interp_spend(call, v->count)) {
    return false;
  }
  struct interp_value *out = interp_result(call, 0, dims, rank);
  if (!out) {
    return false;
  }
  if (small == large && small >= 8) {
    memcpy(out->data, v->data, out->size_bytes);
    return true;
  }
  uint64_t parts = large / small, count = from_bits < to_bits ? v->count : out->count;
  uint8_t bits[16];
  for (uint64_t i = 0; i < count; i++) {
    unsigned at = (unsigned)(i % parts) * small;
    read_bits(v, from_bits < to_bits ? i : i / parts, from_bits < to_bits ? 0 : at, small, bits);
    write_bits(out, from_bits < to_bits ? i / parts : i, from_bits < to_bits ? at : 0, small, bits);
  }
  extend_signs(out);
  return true;
}
