/* Exhausted memory while files are read: each allocation of reading a plain file and a table fails once. What zlib and zstd
 * allocate themselves does not fail here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "exhausted_memory.h"
#include "io/csv.h"
#include "io/input_file.h"

static enum status read_file(const void *input, struct diag_list *diags, struct strbuf *text) {
  struct input_file file;
  enum status status = input_file_read(&file, input, 0, diags);
  if (status == STATUS_OK) {
    strbuf_add(text, file.text, file.length);
    input_file_release(&file);
  }
  return status;
}

static enum status read_table(const void *input, struct diag_list *diags, struct strbuf *text) {
  struct csv_table table;
  enum status status = csv_read(&table, input, diags);
  if (status == STATUS_OK) {
    for (size_t i = 0; i < table.cells.count; i++) {
      strbuf_puts(text, table.cells.data[i]);
    }
  }
  csv_release(&table);
  return status;
}

static void files(void **state) {
  (void)state;
  char path[] = "/tmp/rdg_io_memory_XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  FILE *file = fdopen(fd, "w");
  assert_non_null(file);
  fprintf(file, "a,b\n");
  for (int i = 0; i < 5000; i++) {
    fprintf(file, "%d,\"quoted, %d\"\n", i, i);
  }
  fclose(file);
  struct strbuf text = {0};
  assert_int_equal(exhausted_run_once(read_table, path, &text), STATUS_OK);
  assert_true(text.length > 10000);
  strbuf_release(&text);
  exhausted_check("file", read_file, path, 3);
  exhausted_check("table", read_table, path, 5);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
