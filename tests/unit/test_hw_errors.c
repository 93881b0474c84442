/* Chip files that must be refused: every kind of error with its exact place. The files are in tests/errors/hw/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hw/hw.h"

static const struct bad_file {
  const char *name;
  enum diag_id id;
  uint32_t line, column;
  const char *part; /* of the message */
} bad_files[] = {
    {"negative_bandwidth", DIAG_E0303_VALUE, 8, 19, "'mem.bw' is -3.35e12 B/s"},
    {"zero_bandwidth", DIAG_E0303_VALUE, 8, 19, "'mem.bw' is 0 B/s"},
    {"nan_peak", DIAG_E0303_VALUE, 8, 22, "must lie between"},
    {"nan_word", DIAG_E0303_VALUE, 8, 22, "must lie between"},
    {"infinite_peak", DIAG_E0303_VALUE, 8, 22, ".inf"},
    {"overflow_peak", DIAG_E0303_VALUE, 8, 22, "1e999"},
    {"absurd_clock", DIAG_E0303_VALUE, 8, 18, "1.4e15 Hz"},
    {"efficiency_above_one", DIAG_E0303_VALUE, 8, 36, "between 0.05 and 1"},
    {"untyped_negative", DIAG_E0303_VALUE, 8, 23, "'link.other' is -5"},
    {"negative_in_map", DIAG_E0303_VALUE, 8, 48, "'achieved.by_n' is -1"},
    {"not_a_number", DIAG_E0303_VALUE, 8, 19, "'fast', which is not a number"},
    {"quoted_number", DIAG_E0303_VALUE, 8, 19, "not a number"},
    {"list_for_number", DIAG_E0303_VALUE, 8, 19, "must be one number"},
    {"missing_value", DIAG_E0303_VALUE, 8, 11, "has no value"},
    {"missing_source", DIAG_E0304_SOURCE, 8, 11, "has no source"},
    {"unknown_source", DIAG_E0304_SOURCE, 8, 61, "did you mean 'page'?"},
    {"missing_kind", DIAG_E0304_SOURCE, 8, 11, "has no kind"},
    {"unknown_kind", DIAG_E0304_SOURCE, 8, 42, "did you mean 'measured'?"},
    {"inferred_without_note", DIAG_E0304_SOURCE, 8, 11, "reasoning"},
    {"source_without_url", DIAG_E0304_SOURCE, 6, 3, "has no url"},
    {"source_rank", DIAG_E0304_SOURCE, 6, 64, "'rank' is one of"},
    {"missing_unit", DIAG_E0305_UNIT, 8, 11, "has no unit"},
    {"unknown_unit", DIAG_E0305_UNIT, 8, 31, "'GB/s' is not a unit"},
    {"wrong_unit", DIAG_E0305_UNIT, 8, 31, "its unit is 'B/s'"},
    {"wrong_unit_count", DIAG_E0305_UNIT, 8, 29, "or another count"},
    {"duplicate_field", DIAG_E0302_FIELD, 9, 3, "'mem.bw' is given twice"},
    {"unknown_top_key", DIAG_E0302_FIELD, 3, 1, "did you mean 'vendor'?"},
    {"unknown_fact_key", DIAG_E0302_FIELD, 8, 53, "did you mean 'source'?"},
    {"fact_is_scalar", DIAG_E0304_SOURCE, 8, 11, "must give value, unit, kind and source"},
    {"unknown_chip_kind", DIAG_E0303_VALUE, 4, 7, "did you mean 'gpu'?"},
    {"missing_id", DIAG_E0302_FIELD, 1, 1, "'id' is missing"},
    {"upper_case_id", DIAG_E0303_VALUE, 1, 5, "lower-case"},
    {"no_fields", DIAG_E0302_FIELD, 1, 1, "'fields'"},
    {"bad_alias", DIAG_E0303_VALUE, 5, 11, "an alias is written"},
    {"aliases_scalar", DIAG_E0303_VALUE, 5, 10, "must be a list"},
    {"unknown_family", DIAG_E0306_INHERIT, 5, 10, "did you mean 'good_family'?"},
    {"family_is_a_path", DIAG_E0306_INHERIT, 5, 10, "not the name of a family"},
    {"family_cycle", DIAG_E0306_INHERIT, 2, 10, "inherits from itself"},
    {"family_self", DIAG_E0306_INHERIT, 2, 10, "inherits from itself"},
    {"family_misnamed", DIAG_E0306_INHERIT, 1, 5, "calls itself 'other_name'"},
    {"family_bad", DIAG_E0304_SOURCE, 3, 11, "has no source"},
    {"anchor", DIAG_E0301_YAML, 8, 11, "anchors"},
    {"alias", DIAG_E0301_YAML, 8, 11, "aliases"},
    {"tag", DIAG_E0301_YAML, 8, 19, "tags"},
    {"two_documents", DIAG_E0301_YAML, 9, 1, "one document"},
    {"unclosed", DIAG_E0301_YAML, 9, 1, "did not find expected"},
    {"tab", DIAG_E0301_YAML, 8, 1, "cannot start any token"},
    {"list_at_top", DIAG_E0301_YAML, 1, 1, "is a map"},
    {"empty", DIAG_E0002_EMPTY, 1, 1, "is empty"},
    {"only_comment", DIAG_E0002_EMPTY, 1, 1, "is empty"},
    {"html", DIAG_E0003_FORMAT, 1, 1, "HTML"},
    {"deep", DIAG_E0005_LIMIT, 2, 21, "nested"},
    {"runs_as_unknown_type", DIAG_E0303_VALUE, 8, 34, "did you mean 'fp8'?"},
    {"runs_as_unknown_target", DIAG_E0303_VALUE, 8, 39, "'vector' is not a type or refused"},
    {"runs_as_scalar", DIAG_E0303_VALUE, 8, 33, "a map of types"},
    {"fusion", DIAG_E0303_VALUE, 8, 25, "did you mean 'gpu'?"},
    {"f32_default", DIAG_E0303_VALUE, 8, 33, "f32, tf32 or bf16"},
    {"disputed_not_a_list", DIAG_E0303_VALUE, 8, 77, "'disputed' must be a list"},
    {"disputed_negative", DIAG_E0303_VALUE, 9, 24, "'mem.bw' is -1"},
    {"disputed_without_source", DIAG_E0304_SOURCE, 9, 16, "has no source"},
};

struct fixture {
  struct hw_database db;
  struct diag_list diags;
};

static int setup(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  arena_init(&f->db.arena, 0);
  diag_init(&f->diags);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  struct fixture *f = *state;
  hw_database_release(&f->db);
  diag_release(&f->diags);
  free(f);
  return 0;
}

static void test_every_bad_file(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
    const struct bad_file *bad = &bad_files[i];
    struct hw_database db = {0};
    struct diag_list diags;
    arena_init(&db.arena, 0);
    diag_init(&diags);
    char path[256];
    (void)snprintf(path, sizeof path, "tests/errors/hw/%s.yaml", bad->name);
    const struct hw_chip *chip = NULL;
    enum status status = hw_chip_load(&db, path, "tests/errors/hw", &diags, &chip);
    const struct diag *d = diags.entries.data;
    if (status == STATUS_OK || chip != NULL || diags.entries.count == 0 || d->id != bad->id || d->line != bad->line
        || d->column != bad->column || strstr(d->message, bad->part) == NULL) {
      fail_msg("%s: status %d, %s %u:%u '%s'", bad->name, (int)status,
               diags.entries.count > 0 ? diag_code(d->id) : "no message", diags.entries.count > 0 ? d->line : 0,
               diags.entries.count > 0 ? d->column : 0, diags.entries.count > 0 ? d->message : "");
    }
    diag_release(&diags);
    hw_database_release(&db);
  }
}

static void test_goes_on_after_an_error(void **state) {
  struct fixture *f = *state;
  const struct hw_chip *chip;
  assert_int_equal(hw_chip_load(&f->db, "tests/errors/hw/three_errors.yaml", "tests/errors/hw", &f->diags, &chip),
                   STATUS_INPUT);
  assert_int_equal(f->diags.entries.count, 3);
  const struct diag *d = f->diags.entries.data;
  assert_int_equal(d[0].id, DIAG_E0303_VALUE);
  assert_int_equal(d[1].id, DIAG_E0304_SOURCE);
  assert_int_equal(d[2].id, DIAG_E0305_UNIT);
  assert_int_equal(d[2].line, 10);
  assert_string_equal(d[2].file, "tests/errors/hw/three_errors.yaml");
  struct strbuf text = {0};
  diag_format(&d[1], &text);
  assert_non_null(
      strstr(strbuf_text(&text), "tests/errors/hw/three_errors.yaml:9:10: error: 'clock' has no source [E0304]"));
  strbuf_release(&text);
}

static void test_missing_file(void **state) {
  struct fixture *f = *state;
  const struct hw_chip *chip;
  assert_int_equal(hw_chip_load(&f->db, "tests/errors/hw/none.yaml", "tests/errors/hw", &f->diags, &chip), STATUS_IO);
  assert_int_equal(f->diags.entries.data[0].id, DIAG_E0001_OPEN);
  assert_int_equal(hw_chip_load(&f->db, "tests/errors/hw", "tests/errors/hw", &f->diags, &chip), STATUS_IO);
  struct hw_database db;
  assert_int_equal(hw_database_load(&db, "tests/errors/none", &f->diags), STATUS_IO);
  assert_int_equal(db.chips.count, 0);
  hw_database_release(&db);
}

/* Writes `text` to a file of its own; the caller removes it. */
static void write_temporary(char *path, const char *text, size_t length) {
  int fd = mkstemps(path, 5);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, length), (ssize_t)length);
  (void)close(fd);
}

static void test_size_and_node_limits(void **state) {
  struct fixture *f = *state;
  const struct hw_chip *chip;
  size_t length = (1u << 20) + 100;
  char *text = malloc(length);
  memset(text, '#', length);
  char path[] = "/tmp/rdg_hw_XXXXXX.yaml";
  write_temporary(path, text, length);
  assert_int_equal(hw_chip_load(&f->db, path, "tests/errors/hw", &f->diags, &chip), STATUS_LIMIT);
  (void)unlink(path);

  size_t at = (size_t)snprintf(text, length, "id: x\nfields: [");
  for (size_t i = 0; i < 60000; i++) {
    at += (size_t)snprintf(text + at, length - at, "a,");
  }
  at += (size_t)snprintf(text + at, length - at, "]\n");
  char list_path[] = "/tmp/rdg_hw_XXXXXX.yaml";
  write_temporary(list_path, text, at);
  assert_int_equal(hw_chip_load(&f->db, list_path, "tests/errors/hw", &f->diags, &chip), STATUS_LIMIT);
  (void)unlink(list_path);
  free(text);
  assert_int_equal(f->diags.entries.data[0].id, DIAG_E0005_LIMIT);
  assert_int_equal(f->diags.entries.data[1].id, DIAG_E0005_LIMIT);
}

static void test_column_after_multibyte_characters(void **state) {
  struct fixture *f = *state;
  const struct hw_chip *chip;
  static const char text[] = "id: x\nname: \"\xC3\xA9\xC3\xA9\"\nvendor: V\nkind: gpu\nfields: {mem.bw: {value: 1, "
                             "note: \"\xC2\xB5\", unit: furlong}}\n";
  char path[] = "/tmp/rdg_hw_XXXXXX.yaml";
  write_temporary(path, text, sizeof text - 1);
  assert_int_equal(hw_chip_load(&f->db, path, "tests/errors/hw", &f->diags, &chip), STATUS_INPUT);
  (void)unlink(path);
  const struct diag *d = &f->diags.entries.data[0];
  assert_int_equal(d->line, 5);
  assert_int_equal(d->column, 47); /* bytes */
}

/* A folder with good and bad files: the good ones load, names may not collide. */
static void test_database_keeps_the_good_ones(void **state) {
  struct fixture *f = *state;
  struct hw_database db;
  f->diags.error_limit = 1000;
  assert_int_equal(hw_database_load(&db, "tests/errors/hw/folder", &f->diags), STATUS_INPUT);
  assert_int_equal(db.chips.count, 2);
  /* the error of a family is told once, at its place; the other chips of the family say why they are missing */
  const struct diag *d = f->diags.entries.data;
  assert_int_equal(f->diags.entries.count, 3);
  assert_string_equal(d[0].file, "tests/errors/hw/folder/families/broken.yaml");
  assert_string_equal(d[1].file, "tests/errors/hw/folder/bad_parent_2.yaml");
  assert_string_equal(d[1].message, "'bad_parent_2' inherits from 'broken', which has errors");
  assert_string_equal(db.chips.data[0].id, "first");
  assert_string_equal(db.chips.data[1].id, "second");
  const struct diag *last = &f->diags.entries.data[f->diags.entries.count - 1];
  assert_int_equal(last->id, DIAG_E0302_FIELD);
  assert_string_equal(last->file, "tests/errors/hw/folder/third.yaml");
  assert_int_equal(last->line, 5);
  assert_int_equal(last->column, 11);
  assert_non_null(strstr(last->message, "'alias_second' already names the chip of tests/errors/hw/folder/second.yaml"));
  hw_database_release(&db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_bad_file),
      cmocka_unit_test_setup_teardown(test_goes_on_after_an_error, setup, teardown),
      cmocka_unit_test_setup_teardown(test_missing_file, setup, teardown),
      cmocka_unit_test_setup_teardown(test_size_and_node_limits, setup, teardown),
      cmocka_unit_test_setup_teardown(test_column_after_multibyte_characters, setup, teardown),
      cmocka_unit_test_setup_teardown(test_database_keeps_the_good_ones, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
