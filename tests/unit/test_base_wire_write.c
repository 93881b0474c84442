/* Protobuf's wire format against the examples of its documentation ("Encoding"). */
#include "base/wire_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_bytes(struct strbuf *out, const char *bytes, size_t count) {
  assert_false(out->failed);
  assert_int_equal(out->length, count);
  assert_memory_equal(out->data, bytes, count);
  strbuf_release(out);
}

static void test_integer(void **state) {
  (void)state;
  struct strbuf out = {0};
  wire_put_uint(&out, 1, 150); /* message Test1 { int32 a = 1; } with a = 150 */
  assert_bytes(&out, "\x08\x96\x01", 3);
}

static void test_negative_takes_ten_bytes(void **state) {
  (void)state;
  struct strbuf out = {0};
  wire_put_uint(&out, 1, (uint64_t)(int64_t)-2); /* two's complement on 64 bits */
  assert_bytes(&out, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
}

static void test_text(void **state) {
  (void)state;
  struct strbuf out = {0};
  wire_put_text(&out, 2, "testing");
  assert_bytes(&out, "\x12\x07testing", 9);
}

static void test_nested(void **state) {
  (void)state;
  struct strbuf out = {0};
  size_t opened = wire_open(&out, 3); /* message Test3 { Test1 c = 3; } */
  wire_put_uint(&out, 1, 150);
  wire_close(&out, opened);
  assert_bytes(&out, "\x1a\x03\x08\x96\x01", 5);
}

static void test_packed(void **state) {
  (void)state;
  struct strbuf out = {0};
  wire_put_uints(&out, 6, (const uint64_t[]){3, 270, 86942}, 3);
  assert_bytes(&out, "\x32\x06\x03\x8e\x02\x9e\xa7\x05", 8);
}

static void test_nothing_packed_is_no_field(void **state) {
  (void)state;
  struct strbuf out = {0};
  wire_put_uints(&out, 6, NULL, 0);
  assert_int_equal(out.length, 0);
  strbuf_release(&out);
}

/* A length of more than a byte moves the content up; zeros in it stay. */
static void test_long_message(void **state) {
  (void)state;
  struct strbuf out = {0};
  strbuf_puts(&out, "ab");
  size_t opened = wire_open_delimited(&out);
  for (int i = 0; i < 300; i++) {
    strbuf_putc(&out, (char)(i % 7));
  }
  wire_close(&out, opened);
  assert_int_equal(out.length, 2 + 2 + 300);
  assert_memory_equal(out.data, "ab\xac\x02", 4); /* 300 = 0x2c + 2 x 128 */
  for (int i = 0; i < 300; i++) {
    assert_int_equal(out.data[4 + i], i % 7);
  }
  strbuf_release(&out);
}

static void test_bool_is_written_when_false(void **state) {
  (void)state;
  struct strbuf out = {0};
  wire_put_bool(&out, 27, false); /* in a oneof, presence is information */
  assert_bytes(&out, "\xd8\x01\x00", 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_integer),      cmocka_unit_test(test_negative_takes_ten_bytes),
      cmocka_unit_test(test_text),         cmocka_unit_test(test_nested),
      cmocka_unit_test(test_packed),       cmocka_unit_test(test_nothing_packed_is_no_field),
      cmocka_unit_test(test_long_message), cmocka_unit_test(test_bool_is_written_when_false),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
