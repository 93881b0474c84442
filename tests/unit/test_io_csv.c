/* CSV tables: quoting and line ends of RFC 4180, and the places of errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/csv.h"

struct fixture {
  char path[64];
  struct diag_list diags;
  struct csv_table table;
};

static int setup(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  diag_init(&f->diags);
  strcpy(f->path, "/tmp/rdg_csv_XXXXXX");
  int file = mkstemp(f->path);
  assert_true(file >= 0);
  close(file);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  struct fixture *f = *state;
  csv_release(&f->table);
  diag_release(&f->diags);
  unlink(f->path);
  free(f);
  return 0;
}

static enum status read_text(struct fixture *f, const char *text) {
  FILE *file = fopen(f->path, "wb");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  csv_release(&f->table);
  return csv_read(&f->table, f->path, &f->diags);
}

static void quotes_and_line_ends(void **state) {
  struct fixture *f = *state;
  /* a comma, a doubled quote and a line break inside quotes; empty cells; CRLF; an empty line; no line end at the end */
  assert_int_equal(read_text(f, "a,b\r\n\"1,\"\"x\"\"\",\"two\nlines\"\n\n,\n-2.5e3,last"), STATUS_OK);
  assert_int_equal(f->table.columns, 2);
  assert_int_equal(csv_rows(&f->table), 3);
  assert_int_equal(csv_column(&f->table, "b"), 1);
  assert_int_equal(csv_column(&f->table, "c"), -1);
  assert_string_equal(csv_cell(&f->table, 0, 0), "1,\"x\"");
  assert_string_equal(csv_cell(&f->table, 0, 1), "two\nlines");
  assert_string_equal(csv_cell(&f->table, 1, 0), "");
  assert_string_equal(csv_cell(&f->table, 2, 1), "last");
  assert_string_equal(csv_cell(&f->table, 2, -1), "");
  double value = 0;
  assert_true(csv_number(&f->table, 2, 0, &value));
  assert_true(value == -2500);
  assert_false(csv_number(&f->table, 2, 1, &value));
  assert_false(csv_number(&f->table, 1, 0, &value));
}

static void an_empty_file_has_no_columns(void **state) {
  struct fixture *f = *state;
  assert_int_equal(read_text(f, ""), STATUS_OK);
  assert_int_equal(f->table.columns, 0);
  assert_int_equal(csv_rows(&f->table), 0);
}

static void errors_have_their_line(void **state) {
  struct fixture *f = *state;
  static const struct {
    const char *text, *part;
    uint32_t line;
  } cases[] = {
      {"a,b\n1,2\n3\n", "has 1 cells, the heading has 2", 3},
      {"a,b\n\"x\ny\",2\n3,4,5\n", "has 3 cells", 4}, /* the line break inside the cell counts */
      {"a\n\"x\"y\n", "goes on behind its closing quote", 2}, /* not two rows, "x" and "y" */
      {"a,b\n1,\"x\" \n", "cell 2 of this row goes on", 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    size_t before = f->diags.entries.count;
    assert_int_equal(read_text(f, cases[i].text), STATUS_INPUT);
    assert_int_equal(f->diags.entries.count, before + 1);
    const struct diag *diag = &f->diags.entries.data[before];
    assert_int_equal(diag->id, DIAG_E0003_FORMAT);
    assert_int_equal(diag->line, cases[i].line);
    assert_non_null(strstr(diag->message, cases[i].part));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(quotes_and_line_ends, setup, teardown),
      cmocka_unit_test_setup_teardown(an_empty_file_has_no_columns, setup, teardown),
      cmocka_unit_test_setup_teardown(errors_have_their_line, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
