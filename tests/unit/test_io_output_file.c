/* Files that appear whole or not at all, and the folders they are in. */
#include "io/output_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
  char folder[64], path[128];
  struct diag_list diags;
};

static int setup(void **state) {
  static struct place place;
  strcpy(place.folder, "/tmp/rdg_output_XXXXXX");
  diag_init(&place.diags);
  *state = &place;
  return mkdtemp(place.folder) ? 0 : -1;
}

static int teardown(void **state) {
  struct place *place = *state;
  diag_release(&place->diags);
  return rmdir(place->folder); /* fails when something was left behind */
}

static void test_replaces_a_file(void **state) {
  struct place *p = *state;
  char back[8] = "";
  snprintf(p->path, sizeof p->path, "%s/a", p->folder);
  assert_int_equal(output_file_write(p->path, "longer", 6, &p->diags), STATUS_OK);
  assert_int_equal(output_file_write(p->path, "x\0y", 3, &p->diags), STATUS_OK);
  FILE *file = fopen(p->path, "rb");
  assert_non_null(file);
  assert_int_equal(fread(back, 1, sizeof back, file), 3);
  fclose(file);
  assert_memory_equal(back, "x\0y", 3);
  assert_int_equal(remove(p->path), 0);
}

static void test_empty_file(void **state) {
  struct place *p = *state;
  snprintf(p->path, sizeof p->path, "%s/empty", p->folder);
  assert_int_equal(output_file_write(p->path, NULL, 0, &p->diags), STATUS_OK);
  assert_int_equal(remove(p->path), 0);
}

static void test_says_why_it_cannot(void **state) {
  struct place *p = *state;
  snprintf(p->path, sizeof p->path, "%s/absent/a", p->folder);
  assert_int_equal(output_file_write(p->path, "x", 1, &p->diags), STATUS_IO);
  assert_int_equal(p->diags.error_count, 1);
  assert_non_null(strstr(p->diags.entries.data[0].message, "No such file or directory"));
  assert_int_equal(output_file_write(p->folder, "x", 1, &p->diags), STATUS_IO); /* a folder is there */
}

static void test_makes_folders(void **state) {
  struct place *p = *state;
  static const char *const ends[] = {"/a/b/c", "/a/b", "/a"};
  snprintf(p->path, sizeof p->path, "%s/a/b/c/", p->folder);
  assert_int_equal(output_directory_make(p->path, &p->diags), STATUS_OK);
  assert_int_equal(output_directory_make(p->path, &p->diags), STATUS_OK); /* it is there */
  for (int i = 0; i < 3; i++) {
    snprintf(p->path, sizeof p->path, "%s%s", p->folder, ends[i]);
    assert_int_equal(rmdir(p->path), 0);
  }
}

static void test_a_file_is_no_folder(void **state) {
  struct place *p = *state;
  snprintf(p->path, sizeof p->path, "%s/file", p->folder);
  assert_int_equal(output_file_write(p->path, "x", 1, &p->diags), STATUS_OK);
  assert_int_equal(output_directory_make(p->path, &p->diags), STATUS_IO);
  assert_int_equal(remove(p->path), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_replaces_a_file, setup, teardown),
      cmocka_unit_test_setup_teardown(test_empty_file, setup, teardown),
      cmocka_unit_test_setup_teardown(test_says_why_it_cannot, setup, teardown),
      cmocka_unit_test_setup_teardown(test_makes_folders, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_file_is_no_folder, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
