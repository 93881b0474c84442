/* Tests of the text builder. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"

static void empty_buffer_reads_as_empty_text(void **state) {
  (void)state;
  struct strbuf buf = {0};
  assert_string_equal(strbuf_text(&buf), "");
  strbuf_add(&buf, NULL, 0);
  strbuf_fill(&buf, 'x', 0);
  strbuf_puts(&buf, "");
  assert_string_equal(strbuf_text(&buf), "");
  strbuf_release(&buf);
}

static void pieces_are_joined(void **state) {
  (void)state;
  struct strbuf buf = {0};
  strbuf_puts(&buf, "tensor<");
  strbuf_put_i64(&buf, 16);
  strbuf_putc(&buf, 'x');
  strbuf_add(&buf, "f32 and more", 3);
  strbuf_fill(&buf, '>', 3);
  strbuf_printf(&buf, " %d%%%s", -7, "!");
  assert_string_equal(strbuf_text(&buf), "tensor<16xf32>>> -7%!");
  assert_int_equal(buf.length, strlen(buf.data));
  strbuf_clear(&buf);
  assert_string_equal(strbuf_text(&buf), "");
  assert_int_equal(buf.length, 0);
  strbuf_puts(&buf, "again");
  assert_string_equal(strbuf_text(&buf), "again");
  strbuf_release(&buf);
  assert_null(buf.data);
}

/* Every length around every growth, for each way to append. */
static void text_is_terminated_at_every_length(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    struct strbuf buf = {0};
    for (size_t i = 1; i <= 600; i++) {
      char c = (char)('a' + i % 26);
      switch (way) {
      case 0:
        strbuf_putc(&buf, c);
        break;
      case 1:
        strbuf_add(&buf, &c, 1);
        break;
      case 2:
        strbuf_fill(&buf, c, 1);
        break;
      default:
        strbuf_printf(&buf, "%c", c);
        break;
      }
      assert_int_equal(buf.length, i);
      assert_int_equal(strlen(buf.data), i);
      assert_int_equal(buf.data[i - 1], c);
    }
    strbuf_release(&buf);
  }
}

static void long_printf_grows_in_one_step(void **state) {
  (void)state;
  struct strbuf buf = {0};
  strbuf_puts(&buf, "<");
  strbuf_printf(&buf, "%0*d%s", 5000, 42, "tail");
  assert_int_equal(buf.length, 5005);
  assert_int_equal(buf.data[1], '0');
  assert_string_equal(buf.data + 4999, "42tail");
  strbuf_release(&buf);
}

static void integers_match_printf(void **state) {
  (void)state;
  const int64_t values[] = {0, 1, -1, 9, 10, -10, 99, 100, 123456789, INT64_MAX, INT64_MIN, INT64_MIN + 1};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    char expected[32];
    snprintf(expected, sizeof expected, "%" PRId64, values[i]);
    struct strbuf buf = {0};
    strbuf_put_i64(&buf, values[i]);
    assert_string_equal(strbuf_text(&buf), expected);
    strbuf_release(&buf);
  }
}

static void failed_growth_is_sticky_and_keeps_the_text(void **state) {
  (void)state;
  struct strbuf buf = {0};
  strbuf_puts(&buf, "kept");
  strbuf_fill(&buf, 'x', SIZE_MAX / 2);
  assert_true(buf.failed);
  strbuf_puts(&buf, "dropped");
  strbuf_putc(&buf, 'd');
  strbuf_printf(&buf, "%d", 1);
  strbuf_put_i64(&buf, 1);
  assert_string_equal(strbuf_text(&buf), "kept");
  strbuf_clear(&buf);
  assert_false(buf.failed);
  strbuf_fill(&buf, 'x', SIZE_MAX);
  assert_true(buf.failed);
  strbuf_release(&buf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(empty_buffer_reads_as_empty_text),
      cmocka_unit_test(pieces_are_joined),
      cmocka_unit_test(text_is_terminated_at_every_length),
      cmocka_unit_test(long_printf_grows_in_one_step),
      cmocka_unit_test(integers_match_printf),
      cmocka_unit_test(failed_growth_is_sticky_and_keeps_the_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
