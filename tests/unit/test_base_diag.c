/* Tests of diagnostics: codes, places, excerpts, the error limit and suggestions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"

static struct source source_of(const char *text) {
  return (struct source){.name = "a.mlir", .text = text, .length = strlen(text)};
}

static void assert_formats_as(const struct diag_list *list, size_t i, const char *expected) {
  struct strbuf out = {0};
  assert_true(i < list->entries.count);
  diag_format(&list->entries.data[i], &out);
  assert_string_equal(strbuf_text(&out), expected);
  strbuf_release(&out);
}

static void codes_come_from_the_names(void **state) {
  (void)state;
  assert_string_equal(diag_code(DIAG_E0001_OPEN), "E0001");
  assert_string_equal(diag_code(DIAG_E0205_RESULT_TYPE), "E0205");
  assert_string_equal(diag_code(DIAG_W0402_OPAQUE), "W0402");
  assert_string_equal(diag_summary(DIAG_E0007_MEMORY), "out of memory");
}

static void codes_are_well_formed_and_unique(void **state) {
  (void)state;
  for (int i = 0; i < DIAG_COUNT; i++) {
    const char *code = diag_code((enum diag_id)i);
    assert_int_equal(strlen(code), 5);
    assert_true(code[0] == 'E' || code[0] == 'W');
    assert_int_equal(strspn(code + 1, "0123456789"), 4);
    assert_true(diag_summary((enum diag_id)i)[0] != '\0');
    for (int k = 0; k < i; k++) {
      assert_string_not_equal(code, diag_code((enum diag_id)k));
    }
  }
}

static void places_are_located(void **state) {
  (void)state;
  struct source source = source_of("ab\n\ncd");
  const uint32_t expected[][2] = {{1, 1}, {1, 2}, {1, 3}, {2, 1}, {3, 1}, {3, 2}, {3, 3}, {3, 3}};
  for (size_t offset = 0; offset < 8; offset++) {
    uint32_t line = 0;
    uint32_t column = 0;
    source_locate(&source, offset, &line, &column);
    assert_int_equal(line, expected[offset][0]);
    assert_int_equal(column, expected[offset][1]);
  }
}

static void message_with_place_has_excerpt_and_caret(void **state) {
  (void)state;
  struct diag_list list;
  diag_init(&list);
  char text[] = "func @f\n\t%0 = stablehlo.ad %a\n}";
  struct source source = source_of(text);
  diag_at(&list, DIAG_E0109_UNKNOWN_OP, &source, 14, "no operation '%s'", "stablehlo.ad");
  memset(text, '#', sizeof text - 1); /* the list has its own copies */
  assert_formats_as(&list, 0,
                    "a.mlir:2:7: error: no operation 'stablehlo.ad' [E0109]\n"
                    "\t%0 = stablehlo.ad %a\n"
                    "\t     ^\n");
  assert_int_equal(list.error_count, 1);
  diag_release(&list);
}

static void messages_without_place(void **state) {
  (void)state;
  struct diag_list list;
  diag_init(&list);
  diag_at(&list, DIAG_E0007_MEMORY, NULL, 0, "out of memory");
  diag_file(&list, DIAG_E0303_VALUE, "x.yaml", 3, 9, "field 'clock' is %d", -1);
  diag_file(&list, DIAG_E0303_VALUE, "x.yaml", 3, 0, "bad");
  diag_file(&list, DIAG_E0001_OPEN, "x.yaml", 0, 0, "cannot open");
  diag_file(&list, DIAG_W0402_OPAQUE, NULL, 0, 0, "unknown cost of 'foo.bar'");
  assert_formats_as(&list, 0, "error: out of memory [E0007]\n");
  assert_formats_as(&list, 1, "x.yaml:3:9: error: field 'clock' is -1 [E0303]\n");
  assert_formats_as(&list, 2, "x.yaml:3: error: bad [E0303]\n");
  assert_formats_as(&list, 3, "x.yaml: error: cannot open [E0001]\n");
  assert_formats_as(&list, 4, "warning: unknown cost of 'foo.bar' [W0402]\n");
  assert_int_equal(list.error_count, 4);
  diag_release(&list);
}

static void place_at_line_ends_and_end_of_text(void **state) {
  (void)state;
  struct diag_list list;
  diag_init(&list);
  struct source source = source_of("ab\r\ncd");
  diag_at(&list, DIAG_E0103_EOF, &source, 2, "x");
  diag_at(&list, DIAG_E0103_EOF, &source, 3, "x");
  diag_at(&list, DIAG_E0103_EOF, &source, 6, "x");
  diag_at(&list, DIAG_E0103_EOF, &source, 1000, "x");
  assert_formats_as(&list, 0, "a.mlir:1:3: error: x [E0103]\nab\n  ^\n");
  assert_formats_as(&list, 1, "a.mlir:1:4: error: x [E0103]\nab\n  ^\n");
  assert_formats_as(&list, 2, "a.mlir:2:3: error: x [E0103]\ncd\n  ^\n");
  assert_formats_as(&list, 3, "a.mlir:2:3: error: x [E0103]\ncd\n  ^\n");
  struct source empty = source_of("");
  diag_at(&list, DIAG_E0002_EMPTY, &empty, 0, "x");
  assert_formats_as(&list, 4, "a.mlir:1:1: error: x [E0002]\n");
  diag_release(&list);
}

static void caret_counts_characters_not_bytes(void **state) {
  (void)state;
  struct diag_list list;
  diag_init(&list);
  struct source source = source_of("\"\xC3\xA4\xE2\x82\xAC\" !");
  diag_at(&list, DIAG_E0101_TOKEN, &source, 8, "x");
  assert_formats_as(&list, 0, "a.mlir:1:9: error: x [E0101]\n\"\xC3\xA4\xE2\x82\xAC\" !\n     ^\n");
  diag_release(&list);
}

/* For every column of a long line of two-byte characters: at most 200 bytes, whole characters, caret under the place. */
static void long_lines_are_cut_around_the_place(void **state) {
  (void)state;
  enum { PAIRS = 600 };
  char text[2 * PAIRS + 1];
  for (size_t i = 0; i < PAIRS; i++) {
    memcpy(text + 2 * i, "\xC3\xA4", 2);
  }
  text[2 * PAIRS] = '\0';
  for (size_t offset = 0; offset <= 2 * PAIRS; offset += 2) {
    struct diag_list list;
    diag_init(&list);
    char marked[sizeof text];
    memcpy(marked, text, sizeof text);
    if (offset < 2 * PAIRS) {
      memcpy(marked + offset, "!!", 2);
    }
    struct source source = source_of(marked);
    diag_at(&list, DIAG_E0101_TOKEN, &source, offset, "x");
    const struct diag *diag = &list.entries.data[0];
    assert_int_equal(diag->column, offset + 1);
    assert_in_range(strlen(diag->excerpt), 1, 200);
    assert_true(((unsigned char)diag->excerpt[0] & 0xC0) != 0x80);
    struct strbuf out = {0};
    diag_format(diag, &out);
    const char *excerpt_line = strchr(out.data, '\n') + 1;
    const char *caret_line = strchr(excerpt_line, '\n') + 1;
    size_t caret = (size_t)(strchr(caret_line, '^') - caret_line);
    const char *under = excerpt_line;
    for (size_t i = 0; i < caret; i++) {
      under++;
      while (((unsigned char)*under & 0xC0) == 0x80) {
        under++;
      }
    }
    if (offset < 2 * PAIRS && (offset < 196 || offset > 200)) { /* there the end is cut right at the place */
      assert_int_equal(*under, '!');
    }
    strbuf_release(&out);
    diag_release(&list);
  }
}

static void errors_past_the_limit_are_counted_only(void **state) {
  (void)state;
  struct diag_list list;
  diag_init(&list);
  assert_int_equal(list.error_limit, 20);
  for (int i = 0; i < 25; i++) {
    assert_int_equal(diag_full(&list), i >= 20);
    diag_at(&list, DIAG_E0102_EXPECTED, NULL, 0, "error %d", i);
  }
  diag_file(&list, DIAG_W0403_TRIP_COUNT, "f", 1, 1, "still recorded");
  assert_int_equal(list.error_count, 25);
  assert_int_equal(list.entries.count, 21);
  assert_string_equal(list.entries.data[19].message, "error 19");
  assert_int_equal(list.entries.data[20].severity, DIAG_WARNING);
  diag_release(&list);
  assert_int_equal(list.error_count, 0);
}

static void warnings_are_not_errors(void **state) {
  (void)state;
  struct diag_list list;
  diag_init(&list);
  list.error_limit = 1;
  diag_at(&list, DIAG_W0502_DTYPE_AS, NULL, 0, "w");
  assert_false(diag_full(&list));
  assert_int_equal(list.error_count, 0);
  diag_at(&list, DIAG_E0501_DTYPE, NULL, 0, "e");
  assert_true(diag_full(&list));
  diag_release(&list);
}

static void exhausted_memory_falls_back_to_the_summary(void **state) {
  (void)state;
  struct diag_list list;
  diag_init(&list);
  list.arena.budget_bytes = 16; /* smaller than any block */
  struct source source = source_of("abc");
  diag_at(&list, DIAG_E0101_TOKEN, &source, 1, "message");
  assert_int_equal(list.error_count, 1);
  assert_formats_as(&list, 0, "error: a character or literal that is not MLIR [E0101]\n");
  diag_release(&list);
}

static void nearest_name_finds_typos(void **state) {
  (void)state;
  static const char *const names[] = {"stablehlo.add", "stablehlo.and", "stablehlo.convolution", "stablehlo.transpose",
                                      "func.func"};
  enum { N = sizeof names / sizeof *names };
  assert_string_equal(nearest_name("stablehlo.add", names, N), "stablehlo.add");
  assert_string_equal(nearest_name("stablehlo.ad", names, N), "stablehlo.add");
  assert_string_equal(nearest_name("stablehlo.adn", names, N), "stablehlo.add"); /* both at 1 and 2: the nearer */
  assert_string_equal(nearest_name("stablehlo.convolutoin", names, N), "stablehlo.convolution");
  assert_string_equal(nearest_name("stabelhlo.tranpose", names, N), "stablehlo.transpose");
  assert_string_equal(nearest_name("fun.funk", names, N), "func.func");
  assert_null(nearest_name("mhlo.dot", names, N));
  assert_null(nearest_name("stablehlo.add", names, 0));
}

static void nearest_name_keeps_the_distance_bound(void **state) {
  (void)state;
  static const char *const short_name[] = {"abc"};
  assert_non_null(nearest_name("a", short_name, 1)); /* distance 2 */
  assert_null(nearest_name("", short_name, 1)); /* 3 > 2 */
  assert_non_null(nearest_name("axx", short_name, 1)); /* 2 */
  assert_null(nearest_name("xxx", short_name, 1)); /* 3 > 2 */
  static const char *const long_name[] = {"abcdefghijkl"};
  assert_non_null(nearest_name("xxxxefghijkl", long_name, 1)); /* 4 = 12 / 3 */
  assert_null(nearest_name("xxxxxfghijkl", long_name, 1)); /* 5 */
  char huge[400];
  memset(huge, 'a', sizeof huge);
  huge[sizeof huge - 1] = '\0';
  const char *const huge_names[] = {huge, "abc"};
  assert_string_equal(nearest_name("ab", huge_names, 2), "abc");
  assert_null(nearest_name(huge, huge_names + 1, 1));
}

static void warnings_past_the_limit_are_counted_only(void **state) {
  (void)state;
  struct diag_list list;
  diag_init(&list);
  list.error_limit = 2;
  for (unsigned i = 0; i < 5; i++) {
    diag_file(&list, DIAG_W0402_OPAQUE, NULL, 0, 0, "warning %u", i);
  }
  diag_file(&list, DIAG_E0001_OPEN, NULL, 0, 0, "error"); /* has a limit of its own */
  assert_int_equal(list.entries.count, 3);
  assert_int_equal(list.warning_count, 5);
  assert_int_equal(list.error_count, 1);
  assert_false(diag_full(&list));
  assert_string_equal(list.entries.data[1].message, "warning 1");
  assert_string_equal(list.entries.data[2].message, "error");
  diag_release(&list);
}

/* In any order of places, and after another text took the buffer: the same place as counting from the start gives. */
static void places_do_not_depend_on_earlier_messages(void **state) {
  (void)state;
  struct diag_list list;
  diag_init(&list);
  list.error_limit = 10000;
  char text[1000];
  uint32_t random = 1;
  for (unsigned round = 0; round < 8; round++) {
    for (size_t i = 0; i + 1 < sizeof text; i++) {
      random = random * 1664525u + 1013904223u; /* Numerical Recipes' generator */
      text[i] = (random >> 24) % 4 == 0 ? '\n' : 'x';
    }
    text[sizeof text - 1] = '\0';
    struct source source = source_of(text);
    for (unsigned i = 0; i < 500; i++) {
      random = random * 1664525u + 1013904223u;
      size_t offset = (random >> 16) % 1002;
      uint32_t line, column;
      source_locate(&source, offset, &line, &column);
      diag_at(&list, DIAG_E0001_OPEN, &source, offset, "here");
      assert_int_equal(list.entries.data[list.entries.count - 1].line, line);
      assert_int_equal(list.entries.data[list.entries.count - 1].column, column);
    }
  }
  diag_release(&list);
}

/* An escape sequence, a stray continuation byte, a truncated character, C1's CSI and an overlong '/': every byte that is not
 * shown is one '?', so the caret at byte 10 (the 'x') has nine columns before it. The tab stays. */
static void bytes_for_the_terminal_are_replaced(void **state) {
  (void)state;
  struct diag_list list;
  diag_init(&list);
  struct source source = source_of("\x1B[2J\x80\xC3\xC2\x9B\tx\xC0\xAF\x7F");
  diag_at(&list, DIAG_E0101_TOKEN, &source, 9, "odd '%s'", "\x1B]0;t\x07\xFF");
  assert_formats_as(&list, 0, "a.mlir:1:10: error: odd '?]0;t\?\?' [E0101]\n?[2J\?\?\?\?\tx\?\?\?\n        \t^\n");
  diag_file(&list, DIAG_E0001_OPEN, "a\x1B[m\n.mlir", 0, 0, "x");
  assert_formats_as(&list, 1, "a?[m?.mlir: error: x [E0001]\n");
  diag_release(&list);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_for_the_terminal_are_replaced),
      cmocka_unit_test(codes_come_from_the_names),
      cmocka_unit_test(codes_are_well_formed_and_unique),
      cmocka_unit_test(places_are_located),
      cmocka_unit_test(message_with_place_has_excerpt_and_caret),
      cmocka_unit_test(messages_without_place),
      cmocka_unit_test(place_at_line_ends_and_end_of_text),
      cmocka_unit_test(caret_counts_characters_not_bytes),
      cmocka_unit_test(long_lines_are_cut_around_the_place),
      cmocka_unit_test(errors_past_the_limit_are_counted_only),
      cmocka_unit_test(warnings_past_the_limit_are_counted_only),
      cmocka_unit_test(places_do_not_depend_on_earlier_messages),
      cmocka_unit_test(warnings_are_not_errors),
      cmocka_unit_test(exhausted_memory_falls_back_to_the_summary),
      cmocka_unit_test(nearest_name_finds_typos),
      cmocka_unit_test(nearest_name_keeps_the_distance_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
