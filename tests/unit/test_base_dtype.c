/* Tests of the element type table and of the parser of its names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/dtype.h"

static void public_numbering_is_pinned(void **state) {
  (void)state;
  assert_int_equal(DTYPE_NONE, 0);
  assert_int_equal(DTYPE_I1, 1);
  assert_int_equal(DTYPE_F4E2M1FN, 14);
  assert_int_equal(DTYPE_F16, 25);
  assert_int_equal(DTYPE_F64, 29);
  assert_int_equal(DTYPE_INDEX, 32);
}

static void parse_inverts_every_name(void **state) {
  (void)state;
  for (enum dtype dtype = DTYPE_NONE; dtype < DTYPE_COUNT; dtype++) {
    char text[64];
    size_t length = strlen(dtype_name(dtype));
    memset(text, '9', sizeof text); /* what follows in the source must not matter */
    memcpy(text, dtype_name(dtype), length);
    assert_int_equal(dtype_parse(text, length), dtype);
  }
}

static bool is_a_name(const char *text, size_t length) {
  for (enum dtype dtype = DTYPE_NONE; dtype < DTYPE_COUNT; dtype++) {
    if (strlen(dtype_name(dtype)) == length && memcmp(dtype_name(dtype), text, length) == 0) {
      return true;
    }
  }
  return false;
}

/* Each name with one byte replaced, dropped or added: unknown, unless it happens to be another name. */
static void parse_rejects_near_misses(void **state) {
  (void)state;
  for (enum dtype dtype = DTYPE_I1; dtype < DTYPE_COUNT; dtype++) {
    const char *name = dtype_name(dtype);
    size_t length = strlen(name);
    char text[32] = {0};
    for (size_t i = 0; i < length; i++) {
      for (int c = 0; c < 256; c++) {
        memcpy(text, name, length);
        text[i] = (char)c;
        assert_int_equal(dtype_parse(text, length) != DTYPE_NONE, is_a_name(text, length));
      }
    }
    memcpy(text, name, length);
    assert_int_equal(dtype_parse(text, length - 1) != DTYPE_NONE, is_a_name(text, length - 1));
    text[length] = ' ';
    assert_int_equal(dtype_parse(text, length + 1), DTYPE_NONE);
    text[length] = '\0';
    assert_int_equal(dtype_parse(text, length + 1), DTYPE_NONE);
  }
  assert_int_equal(dtype_parse("", 0), DTYPE_NONE);
  assert_int_equal(dtype_parse("f32f32f32f32f32f32f32", 21), DTYPE_NONE);
}

static void facts_of_well_known_types(void **state) {
  (void)state;
  assert_int_equal(dtype_bits(DTYPE_I1), 1);
  assert_int_equal(dtype_storage_bits(DTYPE_I1), 8);
  assert_int_equal(dtype_bits(DTYPE_TF32), 19);
  assert_int_equal(dtype_storage_bits(DTYPE_TF32), 32);
  assert_int_equal(dtype_bits(DTYPE_C128), 128);
  assert_int_equal(dtype_exponent_bits(DTYPE_BF16), 8);
  assert_int_equal(dtype_mantissa_bits(DTYPE_BF16), 7);
  assert_int_equal(dtype_class_of(DTYPE_I32), DTYPE_CLASS_SINT);
  assert_int_equal(dtype_class_of(DTYPE_UI4), DTYPE_CLASS_UINT);
  assert_int_equal(dtype_class_of(DTYPE_I1), DTYPE_CLASS_BOOL);
  assert_int_equal(dtype_class_of(DTYPE_C64), DTYPE_CLASS_COMPLEX);
}

static void every_type_is_floating_integral_or_none(void **state) {
  (void)state;
  for (enum dtype dtype = DTYPE_NONE; dtype < DTYPE_COUNT; dtype++) {
    int kinds = dtype_is_floating(dtype) + dtype_is_integral(dtype) + (dtype == DTYPE_NONE);
    assert_int_equal(kinds, 1);
    if (dtype_class_of(dtype) == DTYPE_CLASS_FLOAT) {
      unsigned sign_bits = dtype == DTYPE_F8E8M0FNU ? 0 : 1;
      assert_int_equal(sign_bits + dtype_exponent_bits(dtype) + dtype_mantissa_bits(dtype), dtype_bits(dtype));
    }
    assert_true(dtype_storage_bits(dtype) >= dtype_bits(dtype));
  }
}

static void sizes_pack_and_saturate(void **state) {
  (void)state;
  assert_true(dtype_size_bytes(DTYPE_F32, 0) == 0);
  assert_true(dtype_size_bytes(DTYPE_F32, 3) == 12);
  assert_true(dtype_size_bytes(DTYPE_I1, 3) == 3);
  assert_true(dtype_size_bytes(DTYPE_I4, 3) == 2);
  assert_true(dtype_size_bytes(DTYPE_I2, 5) == 2);
  assert_true(dtype_size_bytes(DTYPE_F6E2M3FN, 3) == 3);
  assert_true(dtype_size_bytes(DTYPE_F6E2M3FN, 4) == 3);
  assert_true(dtype_size_bytes(DTYPE_C128, 2) == 32);
  assert_true(dtype_size_bytes(DTYPE_NONE, 99) == 0);
  assert_true(dtype_size_bytes(DTYPE_I8, UINT64_MAX) == UINT64_MAX);
  assert_true(dtype_size_bytes(DTYPE_I4, UINT64_MAX) == 1ull << 63);
  assert_true(dtype_size_bytes(DTYPE_F64, 1ull << 61) == UINT64_MAX);
  assert_true(dtype_size_bytes(DTYPE_F64, (1ull << 61) - 1) == UINT64_MAX - 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(public_numbering_is_pinned),
      cmocka_unit_test(parse_inverts_every_name),
      cmocka_unit_test(parse_rejects_near_misses),
      cmocka_unit_test(facts_of_well_known_types),
      cmocka_unit_test(every_type_is_floating_integral_or_none),
      cmocka_unit_test(sizes_pack_and_saturate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
