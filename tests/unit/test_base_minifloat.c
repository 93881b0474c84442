/* Tests of the float formats: tables rebuilt here from the published parameters, rounding by search over those tables,
 * and the decimal text compared with what MLIR printed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/minifloat.h"

/* The formats of at most 16 bits as their standards give them, apart from E8M0. */
struct spec {
  enum dtype dtype;
  int width;
  int mantissa_bits;
  int bias;
  double largest;
  double smallest; /* least positive value */
  int infinity; /* code of +infinity, or -1 */
  int nan; /* one NaN code, or -1 */
  bool has_negative_zero;
};

static const struct spec specs[] = {
    {DTYPE_F4E2M1FN, 4, 1, 1, 6.0, 0.5, -1, -1, true},
    {DTYPE_F6E2M3FN, 6, 3, 1, 7.5, 0.125, -1, -1, true},
    {DTYPE_F6E3M2FN, 6, 2, 3, 28.0, 0.0625, -1, -1, true},
    {DTYPE_F8E3M4, 8, 4, 3, 15.5, 0x1p-6, 0x70, 0x78, true},
    {DTYPE_F8E4M3, 8, 3, 7, 240.0, 0x1p-9, 0x78, 0x7C, true},
    {DTYPE_F8E4M3FN, 8, 3, 7, 448.0, 0x1p-9, -1, 0x7F, true},
    {DTYPE_F8E4M3FNUZ, 8, 3, 8, 240.0, 0x1p-10, -1, 0x80, false},
    {DTYPE_F8E4M3B11FNUZ, 8, 3, 11, 30.0, 0x1p-13, -1, 0x80, false},
    {DTYPE_F8E5M2, 8, 2, 15, 57344.0, 0x1p-16, 0x7C, 0x7E, true},
    {DTYPE_F8E5M2FNUZ, 8, 2, 16, 57344.0, 0x1p-17, -1, 0x80, false},
    {DTYPE_F16, 16, 10, 15, 65504.0, 0x1p-24, 0x7C00, 0x7E00, true},
    {DTYPE_BF16, 16, 7, 127, 0x1.FEp127, 0x1p-133, 0x7F80, 0x7FC0, true},
};
enum { SPEC_COUNT = sizeof specs / sizeof *specs };

/* Value of a positive finite code by the textbook formula. */
static double value_of(const struct spec *spec, uint64_t code) {
  int exponent = (int)(code >> spec->mantissa_bits);
  double fraction = ldexp((double)(code & ((1u << spec->mantissa_bits) - 1)), -spec->mantissa_bits);
  return exponent == 0 ? ldexp(fraction, 1 - spec->bias) : ldexp(1.0 + fraction, exponent - spec->bias);
}

static uint64_t largest_code(const struct spec *spec) {
  uint64_t code = 0;
  while (value_of(spec, code) < spec->largest) {
    code++;
  }
  assert_true(value_of(spec, code) == spec->largest);
  return code;
}

static uint64_t sign_of(const struct spec *spec) {
  return 1ull << (spec->width - 1);
}

static void decoded_values_follow_the_standards(void **state) {
  (void)state;
  for (size_t s = 0; s < SPEC_COUNT; s++) {
    const struct spec *spec = &specs[s];
    uint64_t last = largest_code(spec);
    assert_true(minifloat_decode(spec->dtype, 1) == spec->smallest);
    for (uint64_t code = 0; code <= last; code++) {
      double expected = value_of(spec, code);
      assert_true(minifloat_decode(spec->dtype, code) == expected);
      if (code != 0 || spec->has_negative_zero) {
        double negative = minifloat_decode(spec->dtype, code | sign_of(spec));
        assert_true(negative == -expected && signbit(negative));
      }
    }
    for (uint64_t code = last + 1; code < sign_of(spec); code++) {
      double value = minifloat_decode(spec->dtype, code);
      double negative = minifloat_decode(spec->dtype, code | sign_of(spec));
      if (spec->infinity >= 0 && code == (uint64_t)spec->infinity) {
        assert_true(value == (double)INFINITY && negative == -(double)INFINITY);
      } else {
        assert_true(isnan(value) && isnan(negative));
      }
    }
    if (spec->nan >= 0) {
      assert_true(isnan(minifloat_decode(spec->dtype, (uint64_t)spec->nan)));
    }
  }
}

static void encode_inverts_decode_on_every_pattern(void **state) {
  (void)state;
  for (enum dtype dtype = DTYPE_NONE; dtype < DTYPE_COUNT; dtype++) {
    if (dtype_class_of(dtype) != DTYPE_CLASS_FLOAT || dtype_bits(dtype) > 19) {
      continue;
    }
    for (uint64_t bits = 0; bits < 1ull << dtype_bits(dtype); bits++) {
      assert_int_equal(minifloat_encode(dtype, minifloat_decode(dtype, bits)), bits);
    }
  }
}

/* Code of the nearest value by comparing distances; ties to the even code. Exact: both distances are representable. */
static uint64_t nearest_code(const struct spec *spec, uint64_t last, double magnitude) {
  uint64_t low = 0;
  uint64_t high = last + 1; /* value_of continues the format past its largest value */
  while (high - low > 1) {
    uint64_t middle = (low + high) / 2;
    *(value_of(spec, middle) <= magnitude ? &low : &high) = middle;
  }
  double down = magnitude - value_of(spec, low);
  double up = value_of(spec, high) - magnitude;
  return down < up || (down == up && low % 2 == 0) ? low : high;
}

static uint64_t expected_code(const struct spec *spec, uint64_t last, double value) {
  uint64_t sign = signbit(value) ? sign_of(spec) : 0;
  double magnitude = fabs(value);
  uint64_t code = magnitude >= 2 * spec->largest ? last + 1 : nearest_code(spec, last, magnitude);
  if (code > last) {
    if (spec->infinity >= 0) {
      return sign | (uint64_t)spec->infinity;
    }
    if (spec->nan >= 0) {
      return spec->has_negative_zero ? sign | (uint64_t)spec->nan : (uint64_t)spec->nan;
    }
    code = last;
  }
  return code == 0 && !spec->has_negative_zero ? 0 : sign | code;
}

static void check_rounding(const struct spec *spec, uint64_t last, double value) {
  assert_int_equal(minifloat_encode(spec->dtype, value), expected_code(spec, last, value));
  assert_int_equal(minifloat_encode(spec->dtype, -value), expected_code(spec, last, -value));
}

static void rounding_is_to_the_nearest_ties_to_even(void **state) {
  (void)state;
  for (size_t s = 0; s < SPEC_COUNT; s++) {
    const struct spec *spec = &specs[s];
    uint64_t last = largest_code(spec);
    for (uint64_t code = 0; code <= last; code++) {
      double low = value_of(spec, code);
      double middle = low + (value_of(spec, code + 1) - low) / 2;
      check_rounding(spec, last, low);
      check_rounding(spec, last, middle);
      check_rounding(spec, last, nextafter(middle, 0.0));
      check_rounding(spec, last, nextafter(middle, (double)INFINITY));
      check_rounding(spec, last, nextafter(low, (double)INFINITY));
    }
    const double extremes[] = {0.0, 0x1p-1074, 0x1p-1022, 1e-300, 1e300, 0x1.FFFFFFFFFFFFFp1023, (double)INFINITY};
    for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) {
      check_rounding(spec, last, extremes[i]);
    }
  }
}

static void known_overflow_results(void **state) {
  (void)state;
  assert_int_equal(minifloat_encode(DTYPE_F8E4M3FN, 448.0), 0x7E);
  assert_int_equal(minifloat_encode(DTYPE_F8E4M3FN, 464.0), 0x7E); /* tie between 448 and the absent 480 */
  assert_int_equal(minifloat_encode(DTYPE_F8E4M3FN, 464.5), 0x7F);
  assert_int_equal(minifloat_encode(DTYPE_F8E4M3FN, -464.5), 0xFF);
  assert_int_equal(minifloat_encode(DTYPE_F8E5M2, 61439.0), 0x7B);
  assert_int_equal(minifloat_encode(DTYPE_F8E5M2, 61440.0), 0x7C);
  assert_int_equal(minifloat_encode(DTYPE_F8E4M3FNUZ, 1e9), 0x80);
  assert_int_equal(minifloat_encode(DTYPE_F8E4M3FNUZ, -0.0), 0x00);
  assert_int_equal(minifloat_encode(DTYPE_F6E2M3FN, 100.0), 0x1F);
  assert_int_equal(minifloat_encode(DTYPE_F6E3M2FN, -100.0), 0x3F);
  assert_int_equal(minifloat_encode(DTYPE_F4E2M1FN, (double)INFINITY), 0x7);
  assert_int_equal(minifloat_encode(DTYPE_F16, 65519.0), 0x7BFF);
  assert_int_equal(minifloat_encode(DTYPE_F16, 65520.0), 0x7C00);
}

static void nan_stays_nan(void **state) {
  (void)state;
  for (size_t s = 0; s < SPEC_COUNT; s++) {
    if (specs[s].nan >= 0) {
      assert_int_equal(minifloat_encode(specs[s].dtype, (double)NAN), specs[s].nan);
      assert_true(isnan(minifloat_decode(specs[s].dtype, minifloat_encode(specs[s].dtype, -(double)NAN))));
    }
  }
  /* a payload that does not fit must not turn into infinity */
  uint64_t bits = 0x7FF0000000000001ull;
  double low_payload;
  memcpy(&low_payload, &bits, sizeof bits);
  assert_int_equal(minifloat_encode(DTYPE_F32, low_payload), 0x7FC00000);
  assert_int_equal(minifloat_encode(DTYPE_BF16, low_payload), 0x7FC0);
}

static void scale_format_is_powers_of_two(void **state) {
  (void)state;
  for (int code = 0; code <= 254; code++) {
    double value = ldexp(1.0, code - 127);
    assert_true(minifloat_decode(DTYPE_F8E8M0FNU, (uint64_t)code) == value);
    assert_int_equal(minifloat_encode(DTYPE_F8E8M0FNU, value), code);
    assert_int_equal(minifloat_encode(DTYPE_F8E8M0FNU, nextafter(1.5 * value, 0.0)), code);
    assert_int_equal(minifloat_encode(DTYPE_F8E8M0FNU, 1.5 * value), code + 1); /* one significant bit: ties go up */
    assert_int_equal(minifloat_encode(DTYPE_F8E8M0FNU, nextafter(2 * value, 0.0)), code + 1);
  }
  assert_true(isnan(minifloat_decode(DTYPE_F8E8M0FNU, 0xFF)));
  assert_int_equal(minifloat_encode(DTYPE_F8E8M0FNU, 0x1p128), 0xFF);
  assert_int_equal(minifloat_encode(DTYPE_F8E8M0FNU, (double)INFINITY), 0xFF);
  assert_int_equal(minifloat_encode(DTYPE_F8E8M0FNU, (double)NAN), 0xFF);
  assert_int_equal(minifloat_encode(DTYPE_F8E8M0FNU, -1.0), 0xFF);
  assert_int_equal(minifloat_encode(DTYPE_F8E8M0FNU, 0.0), 0x00); /* no zero: the least value */
  assert_int_equal(minifloat_encode(DTYPE_F8E8M0FNU, -0.0), 0x00);
  assert_int_equal(minifloat_encode(DTYPE_F8E8M0FNU, 1e-320), 0x00);
}

static uint64_t next_random(uint64_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

static void f32_agrees_with_the_processor(void **state) {
  (void)state;
  uint64_t seed = 0x1234567887654321ull;
  for (int i = 0; i < 300000; i++) {
    uint64_t bits = next_random(&seed);
    if (i % 2 == 0) { /* exponents around the range of f32, so that subnormals and overflow occur */
      bits = (bits & ~(0x7FFull << 52)) | (0x7FFull & (1023 - 160 + bits % 300)) << 52;
    }
    double value;
    memcpy(&value, &bits, sizeof value);
    if (isnan(value)) {
      continue;
    }
    float narrow = (float)value;
    uint32_t expected;
    memcpy(&expected, &narrow, sizeof expected);
    assert_int_equal(minifloat_encode(DTYPE_F32, value), expected);
    assert_true(minifloat_decode(DTYPE_F32, expected) == (double)narrow);
    assert_true(minifloat_encode(DTYPE_F64, value) == bits);
    assert_true(minifloat_decode(DTYPE_F64, bits) == value);
  }
}

static void assert_prints(enum dtype dtype, uint64_t bits, const char *expected) {
  struct strbuf out = {0};
  strbuf_puts(&out, "|");
  minifloat_print(dtype, bits, &out);
  assert_string_equal(strbuf_text(&out) + 1, expected);
  strbuf_release(&out);
}

/* Literals of the corpus, printed by mlir-opt and jax.export: reading and printing them must give the same text. */
static void texts_of_mlir_are_reproduced(void **state) {
  (void)state;
  static const struct {
    enum dtype dtype;
    const char *text;
  } rows[] = {
      {DTYPE_F32, "0.000000e+00"},
      {DTYPE_F32, "-0.000000e+00"},
      {DTYPE_F32, "1.000000e+00"},
      {DTYPE_F32, "1.620000e+02"},
      {DTYPE_F32, "2.326820e-02"},
      {DTYPE_F32, "-3.660960e+00"},
      {DTYPE_F32, "0.333333343"},
      {DTYPE_F32, "1.17549435E-38"},
      {DTYPE_F32, "9.99999974E-6"},
      {DTYPE_F32, "1.00950558E-4"},
      {DTYPE_F32, "-3.5233877E-6"},
      {DTYPE_F32, "-3.83538046E-9"},
      {DTYPE_F32, "-2.18397141"},
      {DTYPE_F32, "49.3562851"},
      {DTYPE_F32, "-0.0766181945"}, /* the correctly rounded ninth digit is 6: APFloat truncates first */
      {DTYPE_F32, "-0.077415429"},
      {DTYPE_F32, "-0.605032503"},
      {DTYPE_F64, "1.000000e-01"},
      {DTYPE_F64, "-6.250000e-01"},
      {DTYPE_F64, "2.6598237246823866E-9"},
      {DTYPE_F64, "2.2250738585072014E-308"},
      {DTYPE_F64, "9.9999999999999998E-13"},
      {DTYPE_F64, "-0.35503232689959319"},
      {DTYPE_F64, "1.652101436272235"},
      {DTYPE_F64, "-5.8399759986261017"},
      {DTYPE_F16, "2.324220e+00"},
      {DTYPE_F16, "-1.317380e+00"},
      {DTYPE_BF16, "-4.785160e-01"},
      {DTYPE_BF16, "3.185270e-04"},
      {DTYPE_BF16, "1.175490e-38"},
      {DTYPE_BF16, "9.183550e-41"},
      {DTYPE_BF16, "3.389530e+38"},
      {DTYPE_F8E4M3FN, "1.015630e-01"},
      {DTYPE_F8E4M3FN, "1.953130e-03"},
      {DTYPE_F8E4M3FNUZ, "9.765620e-04"},
      {DTYPE_F8E5M2, "1.525880e-05"},
      {DTYPE_F8E5M2FNUZ, "7.629390e-06"},
      {DTYPE_F8E5M2FNUZ, "-5.734400e+04"},
      {DTYPE_F8E8M0FNU, "8.000000e+00"},
      {DTYPE_F4E2M1FN, "3.000000e+00"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double value = rows[i].dtype == DTYPE_F32 ? (double)strtof(rows[i].text, NULL) : strtod(rows[i].text, NULL);
    assert_prints(rows[i].dtype, minifloat_encode(rows[i].dtype, value), rows[i].text);
  }
}

static void non_finite_and_whole_numbers_print_in_hexadecimal(void **state) {
  (void)state;
  assert_prints(DTYPE_F32, 0x7FC00000, "0x7FC00000");
  assert_prints(DTYPE_F32, 0xFF800000, "0xFF800000");
  assert_prints(DTYPE_F64, 0x7FF0000000000000ull, "0x7FF0000000000000");
  assert_prints(DTYPE_F64, UINT64_MAX, "0xFFFFFFFFFFFFFFFF");
  assert_prints(DTYPE_F16, 0xFC00, "0xFC00");
  assert_prints(DTYPE_BF16, 0x7F80, "0x7F80");
  assert_prints(DTYPE_F8E4M3FN, 0x7F, "0x7F");
  assert_prints(DTYPE_F8E5M2FNUZ, 0x80, "0x80");
  assert_prints(DTYPE_F8E8M0FNU, 0xFF, "0xFF");
  /* 16777217 as f32 is 16777216: nine digits of it have no point, so MLIR gives the bits; 8388608 fits seven digits */
  assert_prints(DTYPE_F32, 0x4B800000, "0x4B800000");
  assert_prints(DTYPE_F32, 0xCB800000, "0xCB800000");
  assert_prints(DTYPE_F32, 0x49742400, "1.000000e+06");
  assert_prints(DTYPE_F32, 0x7F7FFFFF, "3.40282347E+38");
}

/* Reads a printed float back, hexadecimal included. */
static uint64_t read_back(enum dtype dtype, const char *text) {
  if (strstr(text, "0x") != NULL) {
    return strtoull(text, NULL, 16);
  }
  return minifloat_encode(dtype, dtype == DTYPE_F32 ? (double)strtof(text, NULL) : strtod(text, NULL));
}

static void check_round_trip(enum dtype dtype, uint64_t bits, struct strbuf *out) {
  strbuf_clear(out);
  minifloat_print(dtype, bits, out);
  assert_false(out->failed);
  assert_true(strstr(out->data, "0x") != NULL || strchr(out->data, '.') != NULL);
  assert_true(read_back(dtype, out->data) == bits);
}

static void every_printed_text_reads_back(void **state) {
  (void)state;
  struct strbuf out = {0};
  for (enum dtype dtype = DTYPE_NONE; dtype < DTYPE_COUNT; dtype++) {
    if (dtype_class_of(dtype) == DTYPE_CLASS_FLOAT && dtype_bits(dtype) <= 16) {
      for (uint64_t bits = 0; bits < 1ull << dtype_bits(dtype); bits++) {
        check_round_trip(dtype, bits, &out);
      }
    }
  }
  uint64_t seed = 0x9E3779B97F4A7C15ull;
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = next_random(&seed);
    check_round_trip(DTYPE_F32, bits & 0xFFFFFFFF, &out);
    check_round_trip(DTYPE_F64, bits, &out);
    check_round_trip(DTYPE_TF32, bits & 0x7FFFF, &out);
  }
  check_round_trip(DTYPE_F64, 1, &out);
  check_round_trip(DTYPE_F64, 0x000FFFFFFFFFFFFFull, &out);
  check_round_trip(DTYPE_F64, 0x7FEFFFFFFFFFFFFFull, &out);
  strbuf_release(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(decoded_values_follow_the_standards),
      cmocka_unit_test(encode_inverts_decode_on_every_pattern),
      cmocka_unit_test(rounding_is_to_the_nearest_ties_to_even),
      cmocka_unit_test(known_overflow_results),
      cmocka_unit_test(nan_stays_nan),
      cmocka_unit_test(scale_format_is_powers_of_two),
      cmocka_unit_test(f32_agrees_with_the_processor),
      cmocka_unit_test(texts_of_mlir_are_reproduced),
      cmocka_unit_test(non_finite_and_whole_numbers_print_in_hexadecimal),
      cmocka_unit_test(every_printed_text_reads_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
