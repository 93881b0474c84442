/* The profile database: what goes in comes out, what is wrong is refused, files of others are not touched. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/store.h"

static const struct store_source fitting = {"alpha", "Alpha", "https://a", "MIT", true};
static const struct store_source scoring = {"beta", "Beta", "https://b", "none stated", false};

static struct store_operator gemm(const char *source, const char *device, double latency_s) {
  return (struct store_operator){.source = source,
                                 .device = device,
                                 .software = "vllm",
                                 .op = "gemm",
                                 .format = "bf16",
                                 .shape = "{\"k\":3,\"m\":1,\"n\":2}",
                                 .variant = "",
                                 .split = STORE_TRAIN,
                                 .latency_s = latency_s,
                                 .spread_s = (double)NAN};
}

/* Rows seen, as text. */
struct seen {
  struct strbuf text;
  size_t limit; /* stop after so many; 0 = all */
  size_t count;
};

static bool see_operator(void *user, const struct store_operator *r) {
  struct seen *seen = user;
  strbuf_printf(&seen->text, "%s %s %s %s %s %s %s %s %g %g\n", r->source, r->device, r->software, r->op, r->format,
                r->shape, r->variant, store_split_name(r->split), r->latency_s, isnan(r->spread_s) ? -1 : r->spread_s);
  return ++seen->count != seen->limit;
}

static bool see_program(void *user, const struct store_program *r) {
  struct seen *seen = user;
  strbuf_printf(&seen->text, "%s %s %s %s %s %s %s %u %s %g %g\n", r->source, r->device, r->software, r->program,
                r->format, r->shape, r->variant, r->devices, store_split_name(r->split), r->latency_s, r->spread_s);
  return ++seen->count != seen->limit;
}

static bool see_source(void *user, const struct store_source *r) {
  struct seen *seen = user;
  strbuf_printf(&seen->text, "%s|%s|%s|%s|%d\n", r->name, r->title, r->url, r->licence, r->may_fit);
  return ++seen->count != seen->limit;
}

static bool see_count(void *user, const struct store_count *r) {
  struct seen *seen = user;
  strbuf_printf(&seen->text, "%s %s %s %s %s %llu %g %g\n", r->source->name, r->device, r->op, r->format,
                store_split_name(r->split), (unsigned long long)r->rows, r->latency_min_s, r->latency_max_s);
  return ++seen->count != seen->limit;
}

struct fixture {
  struct diag_list diags;
  struct store *store;
};

static void add(struct fixture *f, struct store_operator row) {
  assert_int_equal(store_add_operator(f->store, &row, &f->diags), STATUS_OK);
}

static void open_memory(struct fixture *f) {
  diag_init(&f->diags);
  assert_int_equal(store_open(":memory:", false, &f->diags, &f->store), STATUS_OK);
  assert_int_equal(store_add_source(f->store, &fitting, &f->diags), STATUS_OK);
  assert_int_equal(store_add_source(f->store, &scoring, &f->diags), STATUS_OK);
}

static void close_fixture(struct fixture *f) {
  store_close(f->store);
  diag_release(&f->diags);
}

static void assert_seen(struct seen *seen, const char *expected) {
  assert_string_equal(strbuf_text(&seen->text), expected);
  strbuf_release(&seen->text);
  *seen = (struct seen){0};
}

static void assert_said(const struct diag_list *diags, const char *text) {
  struct strbuf all = {0};
  for (size_t i = 0; i < diags->entries.count; i++) {
    diag_format(&diags->entries.data[i], &all);
  }
  if (strstr(strbuf_text(&all), text) == NULL) {
    fail_msg("'%s' does not say '%s'", strbuf_text(&all), text);
  }
  strbuf_release(&all);
}

static void rows_come_back_as_they_went_in(void **state) {
  (void)state;
  struct fixture f;
  struct seen seen = {0};
  open_memory(&f);
  struct store_operator row = gemm("alpha", "chip_b", 1.5e-6);
  add(&f, row);
  add(&f, row); /* a repetition is kept */
  row.spread_s = 2e-7;
  row.variant = "cold";
  row.split = STORE_TEST;
  row.source = "beta";
  row.device = "chip_a";
  add(&f, row);
  assert_int_equal(store_each_operator(f.store, NULL, see_operator, &seen, &f.diags), STATUS_OK);
  assert_seen(&seen, "alpha chip_b vllm gemm bf16 {\"k\":3,\"m\":1,\"n\":2}  train 1.5e-06 -1\n"
                     "alpha chip_b vllm gemm bf16 {\"k\":3,\"m\":1,\"n\":2}  train 1.5e-06 -1\n"
                     "beta chip_a vllm gemm bf16 {\"k\":3,\"m\":1,\"n\":2} cold test 1.5e-06 2e-07\n");
  seen.limit = 1;
  assert_int_equal(store_each_operator(f.store, NULL, see_operator, &seen, &f.diags), STATUS_OK);
  assert_int_equal(seen.count, 1);
  strbuf_release(&seen.text);
  seen = (struct seen){0};

  const struct store_program program = {"beta", "chip_a", "jax",       "step.mlir", "", "{}",
                                        "dp4",  4,        STORE_FOLDS, 0.25,        0.5};
  assert_int_equal(store_add_program(f.store, &program, &f.diags), STATUS_OK);
  assert_int_equal(store_each_program(f.store, NULL, see_program, &seen, &f.diags), STATUS_OK);
  assert_seen(&seen, "beta chip_a jax step.mlir  {} dp4 4 folds 0.25 0.5\n");
  assert_int_equal(store_each_source(f.store, see_source, &seen, &f.diags), STATUS_OK);
  assert_seen(&seen, "alpha|Alpha|https://a|MIT|1\nbeta|Beta|https://b|none stated|0\n");
  assert_int_equal(store_each_count(f.store, false, see_count, &seen, &f.diags), STATUS_OK);
  assert_seen(&seen, "alpha chip_b gemm bf16 train 2 1.5e-06 1.5e-06\nbeta chip_a gemm bf16 test 1 1.5e-06 1.5e-06\n");
  assert_int_equal(f.diags.entries.count, 0);
  close_fixture(&f);
}

static size_t count_rows(struct fixture *f, const struct store_filter *filter) {
  struct seen seen = {0};
  assert_int_equal(store_each_operator(f->store, filter, see_operator, &seen, &f->diags), STATUS_OK);
  strbuf_release(&seen.text);
  return seen.count;
}

/* Five rows that differ in one member each; a filter on a member finds those that have it. */
static void filters(void **state) {
  (void)state;
  struct fixture f;
  open_memory(&f);
  struct store_operator row = gemm("alpha", "chip", 1);
  add(&f, row);
  row.source = "beta";
  add(&f, row);
  row = gemm("alpha", "other", 1);
  add(&f, row);
  row = gemm("alpha", "chip", 1);
  row.op = "softmax";
  add(&f, row);
  row.op = "gemm";
  row.format = "fp8";
  row.split = STORE_FOLDS;
  add(&f, row);
  const enum store_split folds = STORE_FOLDS, test = STORE_TEST;
  assert_int_equal(count_rows(&f, NULL), 5);
  assert_int_equal(count_rows(&f, &(struct store_filter){.source = "beta"}), 1);
  assert_int_equal(count_rows(&f, &(struct store_filter){.device = "chip"}), 4);
  assert_int_equal(count_rows(&f, &(struct store_filter){.op = "gemm"}), 4);
  assert_int_equal(count_rows(&f, &(struct store_filter){.format = "fp8"}), 1);
  assert_int_equal(count_rows(&f, &(struct store_filter){.split = &folds}), 1);
  assert_int_equal(count_rows(&f, &(struct store_filter){.split = &test}), 0);
  assert_int_equal(count_rows(&f, &(struct store_filter){.may_fit_only = true}), 4);
  assert_int_equal(count_rows(&f, &(struct store_filter){.device = "chip", .op = "gemm", .may_fit_only = true}), 2);
  assert_int_equal(count_rows(&f, &(struct store_filter){.source = "nobody"}), 0);
  assert_int_equal(store_drop_rows(f.store, "alpha", NULL, false, &f.diags), STATUS_OK);
  assert_int_equal(count_rows(&f, NULL), 1);
  close_fixture(&f);
}

static void constraints_refuse_rows(void **state) {
  (void)state;
  struct store_operator good = gemm("alpha", "chip", 1), rows[6];
  for (size_t i = 0; i < 6; i++) {
    rows[i] = good;
  }
  rows[0].latency_s = 0;
  rows[1].latency_s = (double)NAN;
  rows[2].latency_s = (double)INFINITY;
  rows[3].shape = "{\"m\":";
  rows[4].spread_s = -1;
  rows[5].device = "";
  for (size_t i = 0; i < 6; i++) {
    struct fixture f;
    open_memory(&f);
    assert_int_equal(store_add_operator(f.store, &rows[i], &f.diags), STATUS_INPUT);
    assert_said(&f.diags, "constraint failed");
    assert_said(&f.diags, "[E0602]");
    add(&f, good); /* and goes on */
    assert_int_equal(count_rows(&f, NULL), 1);
    close_fixture(&f);
  }
}

static void a_rollback_forgets_rows_and_sources(void **state) {
  (void)state;
  struct fixture f;
  open_memory(&f);
  assert_int_equal(store_begin(f.store, &f.diags), STATUS_OK);
  const struct store_source third = {"gamma", "", "", "", true};
  assert_int_equal(store_add_source(f.store, &third, &f.diags), STATUS_OK);
  add(&f, gemm("gamma", "chip", 1));
  store_rollback(f.store);
  assert_int_equal(count_rows(&f, NULL), 0);
  assert_null(store_find_source(f.store, "gamma"));
  assert_non_null(store_find_source(f.store, "alpha"));
  const struct store_source changed = {"alpha", "New title", "https://a", "MIT", false};
  assert_int_equal(store_add_source(f.store, &changed, &f.diags), STATUS_OK);
  assert_string_equal(store_find_source(f.store, "alpha")->title, "New title");
  assert_false(store_find_source(f.store, "alpha")->may_fit);
  close_fixture(&f);
}

/* Published FNV-1a test vectors: "" cbf29ce484222325, "a" af63dc4c8601ec8c, "foobar" 85944171f73967e8. */
static void folds_are_fnv_1a(void **state) {
  (void)state;
  assert_int_equal(store_fold(""), 0xcbf29ce484222325u % 5);
  assert_int_equal(store_fold("a"), 0xaf63dc4c8601ec8cu % 5);
  assert_int_equal(store_fold("foobar"), 0x85944171f73967e8u % 5);
}

/* ---- files ---- */

static void make_path(char path[64]) {
  strcpy(path, "/tmp/rdg_store_XXXXXX");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
}

static void make_profile(const char *path) {
  struct fixture f;
  diag_init(&f.diags);
  assert_int_equal(store_open(path, false, &f.diags, &f.store), STATUS_OK);
  assert_int_equal(store_add_source(f.store, &fitting, &f.diags), STATUS_OK);
  assert_int_equal(store_begin(f.store, &f.diags), STATUS_OK);
  for (int i = 1; i <= 200; i++) {
    add(&f, gemm("alpha", "chip", i));
  }
  assert_int_equal(store_commit(f.store, &f.diags), STATUS_OK);
  close_fixture(&f);
}

static void assert_refused(const char *path, bool read_only, const char *said) {
  struct fixture f;
  diag_init(&f.diags);
  assert_int_not_equal(store_open(path, read_only, &f.diags, &f.store), STATUS_OK);
  assert_null(f.store);
  assert_said(&f.diags, said);
  diag_release(&f.diags);
}

static void execute(const char *path, const char *sql) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
}

static void a_profile_is_one_file_that_lasts(void **state) {
  (void)state;
  char path[64], wal[80];
  make_path(path);
  make_profile(path);
  snprintf(wal, sizeof wal, "%s-wal", path);
  assert_int_not_equal(access(wal, F_OK), 0);
  struct fixture f;
  diag_init(&f.diags);
  assert_int_equal(store_open(path, true, &f.diags, &f.store), STATUS_OK);
  assert_int_equal(count_rows(&f, NULL), 200);
  struct store_operator row = gemm("alpha", "chip", 1);
  assert_int_not_equal(store_add_operator(f.store, &row, &f.diags), STATUS_OK);
  assert_said(&f.diags, "readonly");
  close_fixture(&f);
  remove(path);
}

static void foreign_files_are_refused(void **state) {
  (void)state;
  char path[64];
  make_path(path);
  assert_refused(path, true, "not a measured profile"); /* an empty file that may not be written */
  execute(path, "CREATE TABLE notes (text)");
  assert_refused(path, false, "another application");
  remove(path);
  make_profile(path);
  execute(path, "PRAGMA user_version = 2");
  assert_refused(path, false, "profile of version 2; this program reads version 1");
  execute(path, "PRAGMA user_version = 1; ALTER TABLE operator ADD COLUMN extra TEXT");
  assert_refused(path, true, "tables are not those of this version");
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  for (int i = 0; i < 200; i++) {
    fputs("source,device,op\nnot a database at all\n", file);
  }
  fclose(file);
  assert_refused(path, false, "file is not a database");
  remove(path);
  assert_refused(path, true, "[E0001]");
  assert_int_not_equal(access(path, F_OK), 0); /* reading creates nothing */
  assert_refused("/nonexistent/x.db", false, "[E0001]");
}

/* Views and indexes that people add are theirs. */
static void views_and_indexes_do_not_matter(void **state) {
  (void)state;
  char path[64];
  make_path(path);
  make_profile(path);
  execute(
      path,
      "CREATE INDEX by_device ON operator (device); CREATE VIEW slow AS SELECT * FROM operator WHERE latency_s > 9");
  struct fixture f;
  diag_init(&f.diags);
  assert_int_equal(store_open(path, true, &f.diags, &f.store), STATUS_OK);
  assert_int_equal(count_rows(&f, NULL), 200);
  close_fixture(&f);
  remove(path);
}

/* Damage anywhere: an error or other rows, never a crash; a failure always has its message. */
static void damaged_files(void **state) {
  (void)state;
  char path[64];
  make_path(path);
  make_profile(path);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  static char bytes[1 << 17];
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  assert_true(size > 4096 && size < sizeof bytes);
  uint64_t random = 1;
  size_t failures = 0;
  for (int round = 0; round < 300; round++) {
    static char copy[1 << 17];
    memcpy(copy, bytes, size);
    size_t length = size;
    for (int k = 0; k < 1 + round % 8; k++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      copy[(random >> 33) % size] = (char)(random >> 25);
    }
    length = round % 3 == 0 ? (random >> 20) % size : size;
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(copy, 1, length, file), length);
    fclose(file);
    struct fixture f;
    struct seen seen = {0};
    diag_init(&f.diags);
    enum status status = store_open(path, true, &f.diags, &f.store);
    if (status == STATUS_OK) {
      status = store_each_operator(f.store, NULL, see_operator, &seen, &f.diags);
    }
    assert_int_equal(status != STATUS_OK, f.diags.error_count > 0);
    failures += status != STATUS_OK;
    strbuf_release(&seen.text);
    close_fixture(&f);
  }
  assert_true(failures > 20);
  remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_come_back_as_they_went_in),
      cmocka_unit_test(filters),
      cmocka_unit_test(constraints_refuse_rows),
      cmocka_unit_test(a_rollback_forgets_rows_and_sources),
      cmocka_unit_test(folds_are_fnv_1a),
      cmocka_unit_test(a_profile_is_one_file_that_lasts),
      cmocka_unit_test(foreign_files_are_refused),
      cmocka_unit_test(views_and_indexes_do_not_matter),
      cmocka_unit_test(damaged_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
