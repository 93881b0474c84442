/* Aligned tables, text from anywhere, lines of a program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "report/report_int.h"

static void test_columns_align_by_code_points(void **state) {
  (void)state;
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_LEFT};
  struct report_table *table = report_table_new((const char *const[]){"a", "number", "b"}, aligns, 3);
  report_table_cell(table, "µµµ");
  report_table_cell(table, "1");
  report_table_cell(table, "x");
  report_table_cell(table, "y");
  report_table_cellf(table, "%d.%d", 12, 5);
  report_table_cell(table, "");
  struct strbuf out = {0};
  report_table_print(table, &out);
  assert_string_equal(strbuf_text(&out), "a    number  b\n"
                                         "---  ------  -\n"
                                         "µµµ       1  x\n"
                                         "y      12.5\n");
  strbuf_clear(&out);
  report_table_print_indented(table, 2, &out);
  assert_true(strncmp(strbuf_text(&out), "  a    number  b\n  ---  ", 24) == 0);
  strbuf_release(&out);
  report_table_free(table);
}

static void test_table_without_headings_or_rows(void **state) {
  (void)state;
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT};
  struct report_table *table = report_table_new(NULL, aligns, 2);
  struct strbuf out = {0};
  report_table_print(table, &out);
  assert_string_equal(strbuf_text(&out), "");
  report_table_cell(table, "k");
  report_table_cell(table, "10");
  report_table_print(table, &out);
  assert_string_equal(strbuf_text(&out), "k  10\n");
  strbuf_release(&out);
  report_table_free(table);
}

static void test_missing_table_is_a_failure(void **state) {
  (void)state;
  struct strbuf out = {0};
  report_table_cell(NULL, "x");
  report_table_print(NULL, &out);
  assert_true(out.failed);
  report_table_free(NULL);
}

static void assert_clean(const char *text, const char *expected) {
  struct strbuf out = {0};
  report_clean(&out, text);
  assert_string_equal(strbuf_text(&out), expected);
  strbuf_release(&out);
}

#define REPLACEMENT "\xEF\xBF\xBD"

static void test_text_is_made_well_formed(void **state) {
  (void)state;
  assert_clean("a→é😀", "a→é😀");
  assert_clean("\x1b[31m\n\x7f", "?[31m??");
  assert_clean("\xC2\x85", "?"); /* C1 control */
  assert_clean("\xC0\xAF", REPLACEMENT REPLACEMENT); /* overlong '/' */
  assert_clean("\xED\xA0\x80", REPLACEMENT REPLACEMENT REPLACEMENT); /* surrogate */
  assert_clean("\xF4\x90\x80\x80", REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT); /* beyond U+10FFFF */
  assert_clean("x\xE2\x82", "x" REPLACEMENT REPLACEMENT); /* ends inside a sequence */
  assert_clean(NULL, "-");
}

static void test_text_is_cut_at_code_points(void **state) {
  (void)state;
  struct strbuf out = {0};
  report_cut(&out, "µµµµ", 4);
  assert_string_equal(strbuf_text(&out), "µµµµ");
  strbuf_clear(&out);
  report_cut(&out, "µµµµµ", 4);
  assert_string_equal(strbuf_text(&out), "µµµ…");
  strbuf_release(&out);
}

static void test_offsets_become_lines(void **state) {
  (void)state;
  /* offsets: "ab" 0-1, newline 2, empty line 3, "c" 4 */
  struct source source = {"f.mlir", "ab\n\nc", 5};
  struct report_lines lines;
  report_lines_init(&lines, &source);
  assert_int_equal(report_line(&lines, 1), 1);
  assert_int_equal(report_line(&lines, 2), 1);
  assert_int_equal(report_line(&lines, 3), 2);
  assert_int_equal(report_line(&lines, 4), 3);
  assert_int_equal(report_line(&lines, 0), 0);
  assert_int_equal(report_line(&lines, 5), 0);
  assert_int_equal(report_line(&lines, UINT32_MAX), 0);
  struct strbuf out = {0};
  report_place(&lines, 4, &out);
  report_place(&lines, 5, &out);
  assert_string_equal(strbuf_text(&out), "f.mlir:3-");
  strbuf_release(&out);
  report_lines_release(&lines);
  struct source bytes = {"model.mlir.bc", "", 0}; /* of a program read from bytecode */
  struct strbuf place = {0};
  report_lines_init(&lines, &bytes);
  report_place(&lines, 648, &place);
  report_place(&lines, 0, &place);
  assert_string_equal(strbuf_text(&place), "model.mlir.bc:byte 648-");
  assert_true(report_has_place(&lines, 648) && !report_has_place(&lines, 0));
  strbuf_release(&place);
  report_lines_release(&lines);
  report_lines_init(&lines, NULL);
  assert_int_equal(report_line(&lines, 4), 0);
  report_lines_release(&lines);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_columns_align_by_code_points), cmocka_unit_test(test_table_without_headings_or_rows),
      cmocka_unit_test(test_missing_table_is_a_failure),   cmocka_unit_test(test_text_is_made_well_formed),
      cmocka_unit_test(test_text_is_cut_at_code_points),   cmocka_unit_test(test_offsets_become_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
