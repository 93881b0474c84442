/* Exhausted memory while numpy's files are read: each allocation of our own fails once; what libzip allocates does not fail
 * here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "exhausted_memory.h"
#include "io/npy.h"

enum { BUDGET_BYTES = 1 << 20 };

static enum status read_arrays(const void *input, struct diag_list *diags, struct strbuf *text) {
  struct npy_arrays arrays;
  enum status status = npy_read(&arrays, input, BUDGET_BYTES, diags);
  for (size_t i = 0; status == STATUS_OK && i < arrays.items.count; i++) {
    strbuf_puts(text, arrays.items.data[i].name);
    for (size_t k = 0; k < arrays.items.data[i].size_bytes; k++) {
      strbuf_put_i64(text, arrays.items.data[i].data[k]); /* the text may hold no zero */
    }
  }
  npy_release(&arrays);
  return status;
}

static void check_file(const char *name, const char *path, const void *bytes, size_t length) {
  if (bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
  }
  struct strbuf text = {0};
  assert_int_equal(exhausted_run_once(read_arrays, path, &text), STATUS_OK);
  strbuf_release(&text);
  exhausted_check(name, read_arrays, path, 4);
}

/* A column-major array, which is moved, and an archive. */
static void test_files(void **state) {
  (void)state;
  char path[] = "/tmp/ridgeline_npy_XXXXXX.npz";
  int fd = mkstemps(path, 4);
  assert_true(fd >= 0);
  close(fd);
  static const char fortran[] = "\x93NUMPY\1\0\x3b\0{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\nabcdef";
  _Static_assert(sizeof fortran - 1 == 10 + 0x3b + 6, "the header is as long as it says");
  check_file("npy", path, fortran, sizeof fortran - 1);
  static const int64_t dims[] = {2};
  static const int32_t values[] = {1, 2};
  const struct npy_source sources[] = {
      {.name = "a", .dtype = DTYPE_I32, .rank = 1, .dims = dims, .data = values, .size_bytes = sizeof values},
      {.name = "b", .dtype = DTYPE_I32, .rank = 1, .dims = dims, .data = values, .size_bytes = sizeof values}};
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(npy_write(path, sources, 2, &diags), STATUS_OK);
  diag_release(&diags);
  check_file("npz", path, NULL, 0);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
