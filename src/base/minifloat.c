/* Float formats: bit patterns of constants for the parser and the interpreter, and the decimal text of the printer.
 *
 * Every format is described by its field widths, its bias and what its top codes mean; one encoder and one decoder walk
 * that description. Sources: IEEE 754, the OCP 8-bit and MX formats, LLVM's APFloat for FNUZ and for the text form. */
#include "base/minifloat.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What the codes at the top of the magnitude range stand for. */
enum specials {
  SPECIALS_IEEE, /* all-ones exponent: infinity and NaN */
  SPECIALS_FN, /* all ones is NaN, no infinity */
  SPECIALS_FNUZ, /* the code of -0 is the only NaN */
  SPECIALS_NONE, /* every code is a finite number */
  SPECIALS_SCALE /* E8M0: unsigned powers of two, no zero, 0xFF is NaN */
};

struct format {
  unsigned exponent_bits;
  unsigned mantissa_bits;
  int bias;
  enum specials specials;
};

enum { DOUBLE_MANTISSA = 52, DOUBLE_BIAS = 1023 };

static struct format format_of(enum dtype dtype) {
  assert(dtype_class_of(dtype) == DTYPE_CLASS_FLOAT);
  struct format format = {dtype_exponent_bits(dtype), dtype_mantissa_bits(dtype), 0, SPECIALS_IEEE};
  format.bias = (1 << (format.exponent_bits - 1)) - 1;
  switch (dtype) {
  case DTYPE_F8E4M3FN:
    format.specials = SPECIALS_FN;
    break;
  case DTYPE_F8E4M3FNUZ:
  case DTYPE_F8E5M2FNUZ:
    format.specials = SPECIALS_FNUZ;
    format.bias += 1;
    break;
  case DTYPE_F8E4M3B11FNUZ:
    format.specials = SPECIALS_FNUZ;
    format.bias = 11;
    break;
  case DTYPE_F4E2M1FN:
  case DTYPE_F6E2M3FN:
  case DTYPE_F6E3M2FN:
    format.specials = SPECIALS_NONE;
    break;
  case DTYPE_F8E8M0FNU:
    format.specials = SPECIALS_SCALE;
    break;
  default:
    break;
  }
  return format;
}

static uint64_t double_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double double_from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t sign_bit(const struct format *format) {
  return 1ull << (format->exponent_bits + format->mantissa_bits);
}

/* Largest finite magnitude code. */
static uint64_t largest_code(const struct format *format) {
  uint64_t all_ones = sign_bit(format) - 1;
  switch (format->specials) {
  case SPECIALS_IEEE:
    return all_ones - (1ull << format->mantissa_bits);
  case SPECIALS_FN:
  case SPECIALS_SCALE:
    return all_ones - 1;
  default:
    return all_ones;
  }
}

/* NaN with the sign and the leading payload bits of the double `bits`, as far as the format has room for them. */
static uint64_t encode_nan(const struct format *format, uint64_t bits) {
  uint64_t sign = bits >> 63 ? sign_bit(format) : 0;
  uint64_t all_ones = sign_bit(format) - 1;
  switch (format->specials) {
  case SPECIALS_IEEE: {
    uint64_t payload = (bits & ((1ull << DOUBLE_MANTISSA) - 1)) >> (DOUBLE_MANTISSA - format->mantissa_bits);
    if (payload == 0) {
      payload = 1ull << (format->mantissa_bits - 1);
    }
    return sign | (largest_code(format) + 1) | payload;
  }
  case SPECIALS_FN:
    return sign | all_ones;
  case SPECIALS_SCALE:
    return all_ones;
  default:
    return sign_bit(format); /* FNUZ: NaN; f4 and f6 have none and give -0 */
  }
}

/* The code of a value past the largest finite one, infinities included. */
static uint64_t encode_overflow(const struct format *format, uint64_t sign) {
  switch (format->specials) {
  case SPECIALS_IEEE:
  case SPECIALS_FN:
    return sign | (largest_code(format) + 1);
  case SPECIALS_FNUZ:
    return sign_bit(format);
  case SPECIALS_NONE:
    return sign | largest_code(format);
  default:
    return largest_code(format) + 1;
  }
}

/* Magnitude code nearest to significand * 2^(exponent - 52); may exceed largest_code(). The leading bit of the
 * significand is bit 52. Ties go to the even significand; in E8M0 all are odd and the larger wins (IEEE 754, 4.3.1). */
static uint64_t round_to_code(const struct format *format, uint64_t significand, int exponent) {
  bool has_subnormals = format->specials != SPECIALS_SCALE;
  int least_exponent = has_subnormals ? 1 - format->bias : -format->bias;
  unsigned shift = DOUBLE_MANTISSA - format->mantissa_bits;
  uint64_t base = 0;
  if (exponent >= least_exponent) {
    base = (uint64_t)(exponent - least_exponent) << format->mantissa_bits;
  } else if (!has_subnormals) {
    return 0;
  } else {
    unsigned lost = (unsigned)(least_exponent - exponent);
    shift = lost > 54 ? 54 : shift + lost;
    shift = shift > 54 ? 54 : shift; /* 54: below half of the smallest code whatever the significand */
  }
  uint64_t code = base + (significand >> shift) - (has_subnormals ? 0 : 1);
  uint64_t rest = significand & ((1ull << shift) - 1);
  uint64_t half = 1ull << (shift - 1);
  return code + (rest > half || (rest == half && ((code & 1) != 0 || !has_subnormals)));
}

uint64_t minifloat_encode(enum dtype dtype, double value) {
  uint64_t bits = double_bits(value);
  if (dtype == DTYPE_F64) {
    return bits;
  }
  struct format format = format_of(dtype);
  uint64_t sign = bits >> 63 ? sign_bit(&format) : 0;
  int exponent = (int)(bits >> DOUBLE_MANTISSA & 0x7FF) - DOUBLE_BIAS;
  uint64_t significand = bits & ((1ull << DOUBLE_MANTISSA) - 1);
  if (exponent == DOUBLE_BIAS + 1) {
    return significand != 0 ? encode_nan(&format, bits) : encode_overflow(&format, sign);
  }
  if (exponent == -DOUBLE_BIAS) { /* zero and subnormal doubles, far below every other format */
    significand = 0;
    exponent = 1 - DOUBLE_BIAS;
  } else {
    significand |= 1ull << DOUBLE_MANTISSA;
  }
  if (format.specials == SPECIALS_SCALE && sign != 0 && significand != 0) {
    return encode_nan(&format, bits);
  }
  uint64_t code = round_to_code(&format, significand, exponent);
  if (code > largest_code(&format)) {
    return encode_overflow(&format, sign);
  }
  if (format.specials == SPECIALS_SCALE || (format.specials == SPECIALS_FNUZ && code == 0)) {
    return code;
  }
  return sign | code;
}

static bool is_nan_code(const struct format *format, uint64_t sign, uint64_t code) {
  switch (format->specials) {
  case SPECIALS_FNUZ:
    return sign != 0 && code == 0;
  case SPECIALS_NONE:
    return false;
  case SPECIALS_IEEE:
    return code > largest_code(format) + 1;
  default:
    return code > largest_code(format);
  }
}

/* 2^exponent for a normal double. */
static double power_of_two(int exponent) {
  unsigned biased = (unsigned)(exponent + DOUBLE_BIAS);
  return double_from_bits((uint64_t)biased << DOUBLE_MANTISSA);
}

double minifloat_decode(enum dtype dtype, uint64_t bits) {
  if (dtype == DTYPE_F64) {
    return double_from_bits(bits);
  }
  struct format format = format_of(dtype);
  if (format.specials == SPECIALS_SCALE) {
    bits &= 0xFF;
    return bits == 0xFF ? double_from_bits(0x7FFull << DOUBLE_MANTISSA | 1ull << 51)
                        : power_of_two((int)bits - format.bias);
  }
  uint64_t sign = (bits & sign_bit(&format)) != 0 ? 1ull << 63 : 0;
  uint64_t code = bits & (sign_bit(&format) - 1);
  uint64_t mantissa = code & ((1ull << format.mantissa_bits) - 1);
  if (is_nan_code(&format, sign, code)) {
    uint64_t payload =
        format.specials == SPECIALS_IEEE ? mantissa << (DOUBLE_MANTISSA - format.mantissa_bits) : 1ull << 51;
    return double_from_bits(sign | 0x7FFull << DOUBLE_MANTISSA | payload);
  }
  if (format.specials == SPECIALS_IEEE && code > largest_code(&format)) {
    return double_from_bits(sign | 0x7FFull << DOUBLE_MANTISSA);
  }
  int exponent = (int)(code >> format.mantissa_bits);
  if (exponent == 0) {
    double magnitude = (double)mantissa * power_of_two(1 - format.bias - (int)format.mantissa_bits);
    return sign != 0 ? -magnitude : magnitude;
  }
  uint64_t biased = (uint64_t)(exponent - format.bias + DOUBLE_BIAS);
  return double_from_bits(sign | biased << DOUBLE_MANTISSA | mantissa << (DOUBLE_MANTISSA - format.mantissa_bits));
}

/* --- Text: the digits that APFloat::toString finds, its order of truncation and rounding included --- */

enum {
  LIMBS = 84, /* 32 bits each: 53 + 1074 * log2(5) bits */
  DIGITS = 40, /* significant digits that can be left after truncate_to_precision() */
  SHORT_DIGITS = 6,
  MAX_PADDING = 3 /* zeros that the long form may add before it turns to scientific notation */
};

struct bignum {
  uint32_t limbs[LIMBS];
  size_t count;
};

/* digits[0 .. count) without trailing zeros, most significant first, times 10^exponent. */
struct decimal {
  char digits[DIGITS];
  int count;
  int exponent;
};

static void bignum_multiply(struct bignum *n, uint32_t factor) {
  uint64_t carry = 0;
  for (size_t i = 0; i < n->count; i++) {
    carry += (uint64_t)n->limbs[i] * factor;
    n->limbs[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry != 0) {
    assert(n->count < LIMBS);
    n->limbs[n->count++] = (uint32_t)carry;
  }
}

/* Divides in place and returns the remainder. */
static uint32_t bignum_divide(struct bignum *n, uint32_t divisor) {
  uint64_t rest = 0;
  for (size_t i = n->count; i-- > 0;) {
    rest = rest << 32 | n->limbs[i];
    n->limbs[i] = (uint32_t)(rest / divisor);
    rest %= divisor;
  }
  while (n->count > 0 && n->limbs[n->count - 1] == 0) {
    n->count--;
  }
  return (uint32_t)rest;
}

static unsigned bignum_bits(const struct bignum *n) {
  return n->count == 0 ? 0 : (unsigned)(32 * n->count) - (unsigned)__builtin_clz(n->limbs[n->count - 1]);
}

/* n = odd part of the value as an integer times 10^*exponent. */
static void expand(struct bignum *n, int *exponent, uint64_t significand, int binary_exponent) {
  int zeros = __builtin_ctzll(significand);
  significand >>= zeros;
  binary_exponent += zeros;
  *n = (struct bignum){.limbs = {(uint32_t)significand, (uint32_t)(significand >> 32)},
                       .count = significand >> 32 ? 2 : 1};
  *exponent = binary_exponent < 0 ? binary_exponent : 0;
  for (int left = binary_exponent; left > 0;) {
    int step = left < 31 ? left : 31;
    bignum_multiply(n, 1u << step);
    left -= step;
  }
  for (int left = -binary_exponent; left > 0;) {
    uint32_t factor = 5;
    int step = 1;
    for (; step < left && step < 13; step++) {
      factor *= 5;
    }
    bignum_multiply(n, factor);
    left -= step;
  }
}

/* Cuts surplus digits off, without rounding, in APFloat's estimate of how many bits `precision` digits need. */
static void truncate_to_precision(struct bignum *n, int *exponent, unsigned precision) {
  unsigned bits = bignum_bits(n);
  unsigned bits_required = (precision * 196 + 58) / 59;
  if (bits <= bits_required) {
    return;
  }
  unsigned tens = (bits - bits_required) * 59 / 196;
  *exponent += (int)tens;
  while (tens > 0) {
    uint32_t divisor = 10;
    unsigned step = 1;
    for (; step < tens && step < 9; step++) {
      divisor *= 10;
    }
    (void)bignum_divide(n, divisor);
    tens -= step;
  }
}

/* Rounds half up to `precision` digits and drops trailing zeros. */
static void round_digits(struct decimal *d, int precision) {
  if (d->count > precision) {
    bool is_up = d->digits[precision] >= '5';
    d->exponent += d->count - precision;
    d->count = precision;
    if (is_up) {
      while (d->count > 0 && d->digits[d->count - 1] == '9') {
        d->count--;
        d->exponent++;
      }
      if (d->count == 0) {
        d->digits[d->count++] = '1';
      } else {
        d->digits[d->count - 1]++;
      }
    }
  }
  while (d->count > 1 && d->digits[d->count - 1] == '0') {
    d->count--;
    d->exponent++;
  }
}

static struct decimal to_decimal(const struct bignum *exact, int exponent, int precision) {
  struct bignum n = *exact;
  struct decimal d = {.exponent = exponent};
  truncate_to_precision(&n, &d.exponent, (unsigned)precision);
  char reversed[DIGITS];
  int count = 0;
  while (n.count > 0 && count < DIGITS) {
    reversed[count++] = (char)('0' + bignum_divide(&n, 10));
  }
  assert(n.count == 0);
  d.count = count;
  for (int i = 0; i < count; i++) {
    d.digits[i] = reversed[count - 1 - i];
  }
  round_digits(&d, precision);
  return d;
}

/* Whether the short form reads back as `bits`. The text has no point, so the locale does not matter. */
static bool reads_back(enum dtype dtype, const struct decimal *d, bool is_negative, uint64_t bits) {
  char text[DIGITS + 16];
  size_t length = 0;
  if (is_negative) {
    text[length++] = '-';
  }
  memcpy(text + length, d->digits, (size_t)d->count);
  length += (size_t)d->count;
  text[length++] = 'e';
  struct strbuf number = {.data = text, .length = length, .capacity = sizeof text};
  strbuf_put_i64(&number, d->exponent);
  double value = dtype == DTYPE_F32 ? (double)strtof(text, NULL) : strtod(text, NULL);
  return minifloat_encode(dtype, value) == bits;
}

static void put_exponent(struct strbuf *out, char letter, int exponent, bool has_two_digits) {
  int magnitude = exponent < 0 ? -exponent : exponent;
  strbuf_putc(out, letter);
  strbuf_putc(out, exponent < 0 ? '-' : '+');
  if (has_two_digits && magnitude < 10) {
    strbuf_putc(out, '0');
  }
  strbuf_put_i64(out, magnitude);
}

static void put_digits(struct strbuf *out, const struct decimal *d, int first, int end) {
  strbuf_add(out, d->digits + first, (size_t)(end - first));
}

/* "1.500000e+00": six digits and a zero. */
static void print_short(struct strbuf *out, const struct decimal *d) {
  int exponent = d->exponent + d->count - 1;
  strbuf_putc(out, d->digits[0]);
  strbuf_putc(out, '.');
  put_digits(out, d, 1, d->count);
  strbuf_fill(out, '0', (size_t)(SHORT_DIGITS + 1 - d->count));
  put_exponent(out, 'e', exponent, true);
}

/* "0.333333343", "1.17549435E-38"; false, and nothing appended, for a whole number, which would read as an integer. */
static bool print_long(struct strbuf *out, const struct decimal *d, int precision) {
  int leading = d->exponent + d->count - 1; /* power of ten of the first digit */
  bool is_scientific = d->exponent >= 0 ? d->exponent > MAX_PADDING || d->count + d->exponent > precision
                                        : leading < 0 && -leading > MAX_PADDING;
  if (is_scientific) {
    strbuf_putc(out, d->digits[0]);
    strbuf_putc(out, '.');
    put_digits(out, d, 1, d->count);
    if (d->count == 1) {
      strbuf_putc(out, '0');
    }
    put_exponent(out, 'E', leading, false);
    return true;
  }
  if (d->exponent >= 0) {
    return false;
  }
  int whole = d->count + d->exponent;
  if (whole > 0) {
    put_digits(out, d, 0, whole);
    strbuf_putc(out, '.');
    put_digits(out, d, whole, d->count);
  } else {
    strbuf_puts(out, "0.");
    strbuf_fill(out, '0', (size_t)-whole);
    put_digits(out, d, 0, d->count);
  }
  return true;
}

static bool is_finite(double value) {
  return (double_bits(value) >> DOUBLE_MANTISSA & 0x7FF) != 0x7FF;
}

void minifloat_print(enum dtype dtype, uint64_t bits, struct strbuf *out) {
  unsigned width = dtype_bits(dtype);
  bits &= width == 64 ? UINT64_MAX : (1ull << width) - 1;
  double value = minifloat_decode(dtype, bits);
  if (!is_finite(value)) {
    strbuf_printf(out, "0x%llX", (unsigned long long)bits);
    return;
  }
  uint64_t value_bits = double_bits(value);
  bool is_negative = value_bits >> 63 != 0;
  size_t start = out->length;
  if (is_negative) {
    strbuf_putc(out, '-');
  }
  uint64_t significand = value_bits & ((1ull << DOUBLE_MANTISSA) - 1);
  int exponent = (int)(value_bits >> DOUBLE_MANTISSA & 0x7FF);
  if (significand == 0 && exponent == 0) {
    strbuf_puts(out, "0.000000e+00");
    return;
  }
  if (exponent == 0) {
    exponent = 1;
  } else {
    significand |= 1ull << DOUBLE_MANTISSA;
  }
  struct bignum exact;
  int decimal_exponent;
  expand(&exact, &decimal_exponent, significand, exponent - DOUBLE_BIAS - DOUBLE_MANTISSA);
  struct decimal d = to_decimal(&exact, decimal_exponent, SHORT_DIGITS);
  if (reads_back(dtype, &d, is_negative, bits)) {
    print_short(out, &d);
    return;
  }
  int precision = 2 + (int)(dtype_mantissa_bits(dtype) + 1) * 59 / 196;
  d = to_decimal(&exact, decimal_exponent, precision);
  if (print_long(out, &d, precision)) {
    return;
  }
  while (out->length > start) {
    out->data[--out->length] = '\0';
  }
  strbuf_printf(out, "0x%llX", (unsigned long long)bits);
}
