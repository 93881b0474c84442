/* Decimal text under the C locale and under one with a decimal comma. Values are exact binary fractions, or have the
 * rounding direction worked out in place. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/decimal.h"
#include "base/strbuf.h"
#include "locale_fixture.h"

static void expect_number(const char *text, double expected) {
  double value;
  assert_true(decimal_parse(text, strlen(text), &value));
  assert_true(value == expected);
}

static void expect_none(const char *text) {
  double value = 1;
  assert_false(decimal_parse(text, strlen(text), &value));
  assert_true(value == 0);
}

static void check_numbers(void) {
  expect_number("0.5", 0.5);
  expect_number("-1.25e2", -125);
  expect_number("1e400", HUGE_VAL);
  expect_none("");
  expect_none("-");
  expect_none("1,5");
  expect_none("1.5x");
  expect_none("1.5.5");
  double value;
  assert_true(decimal_parse("2.57", 3, &value)); /* the 7 is not part of it */
  assert_true(value == 2.5);
  assert_false(decimal_parse("2\0005", 3, &value));
  char text[32];
  assert_int_equal(decimal_format(text, sizeof text, "%.2f", 0.5), 4);
  assert_string_equal(text, "0.50");
  struct strbuf buf = {0};
  strbuf_printf(&buf, "%g %.3e", 0.25, 1.5);
  assert_string_equal(strbuf_text(&buf), "0.25 1.500e+00");
  strbuf_release(&buf);
}

/* 1 + 2^-53 lies midway between 1 and the next double; its decimal form has 53 places. Ties go to the even 1; one more
 * digit anywhere behind decides upwards. */
static void check_long_numbers(void) {
  static const char tie[] = "1.00000000000000011102230246251565404236316680908203125";
  static char text[5000];
  expect_number(tie, 1);
  memset(text, '0', sizeof text);
  memcpy(text, tie, strlen(tie));
  text[sizeof text - 1] = '\0';
  expect_number(text, 1);
  text[sizeof text - 2] = '1';
  expect_number(text, 1 + DBL_EPSILON);
  /* 10^4000 x 10^-4000 and 10^-2000 x 10^2000, with a sign */
  memset(text, '0', sizeof text);
  text[0] = '-', text[1] = '1';
  memcpy(text + 4002, "e-4000", 7);
  expect_number(text, -1);
  memset(text, '0', sizeof text);
  text[1] = '.';
  memcpy(text + 2001, "1e2000", 7);
  expect_number(text, 1);
  memset(text, '0', sizeof text);
  text[1] = '.', text[500] = '\0';
  expect_number(text, 0);
  memset(text, '9', sizeof text);
  memcpy(text + 300, "e99999999999999999999999999", 28);
  expect_number(text, HUGE_VAL);
  memcpy(text + 300, "e-99999999999999999999999999", 29);
  expect_number(text, 0);
  memcpy(text + 300, "e", 2);
  expect_none(text);
  memcpy(text + 300, "e+", 3);
  expect_none(text);
  memcpy(text + 300, ",5", 3);
  expect_none(text);
  memset(text, '.', 200);
  text[200] = '\0';
  expect_none(text);
}

static void numbers_are_read_and_written(void **state) {
  (void)state;
  check_numbers();
  check_long_numbers();
}

static void the_locale_does_not_matter(void **state) {
  (void)state;
  if (!comma_locale_enter()) {
    skip();
  }
  char text[16];
  snprintf(text, sizeof text, "%.1f", 0.5);
  assert_string_equal(text, "0,5"); /* the locale is in force ... */
  check_numbers();
  check_long_numbers();
  snprintf(text, sizeof text, "%.1f", 0.5);
  assert_string_equal(text, "0,5"); /* ... and still is */
  comma_locale_leave();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_read_and_written),
      cmocka_unit_test(the_locale_does_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
