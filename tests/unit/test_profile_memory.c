/* Exhausted memory while profiles are written and read: STATUS_MEMORY, or the result that there is without the failure;
 * nothing is left behind. What SQLite and libyaml allocate themselves does not fail here. */
#include "allocation_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/measured_kernels.h"

static const char mapping[] = "source: s\ntitle: T\nurl: u\nlicence: MIT\nuse: fit\nfolder: .\n"
                              "defaults: {software: x}\n"
                              "tables:\n"
                              "  - files: {train: a.csv, test: [a.csv]}\n"
                              "    op: gemm\n"
                              "    device: {column: dev, map: {a: nvidia_h100_sxm, b: ~}}\n"
                              "    format: bf16\n"
                              "    latency: {column: t, unit: us}\n"
                              "    where: [{column: M, at_least: 1}, {column: dev, is: [a, c]}]\n"
                              "    shape: {m: M, n: {sum: [N, 1]}, k: K}\n";
static const char table[] = "dev,M,N,K,t\na,2,3,4,5\na,2,3,4.5,5\na,0,3,4,5\nc,2,3,4,5\n";

struct paths {
  char directory[64], mapping[96], table[96], csv[96];
};

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  fclose(file);
}

/* Import, load, export; *rows is how many kernels came out. */
static enum status run(const struct paths *paths, const struct hw_database *chips, struct diag_list *diags,
                       struct strbuf *csv, size_t *rows) {
  struct store *store = NULL;
  uint64_t added = 0, absent = 0;
  enum status status = store_open(":memory:", false, diags, &store);
  if (status == STATUS_OK) {
    status = profile_import_mapping(store, paths->mapping, paths->directory, &added, &absent, diags);
  }
  if (status == STATUS_OK && access(paths->csv, F_OK) == 0) {
    status = profile_import_csv(store, paths->csv, &added, diags);
  }
  struct measured_kernels kernels = {0};
  if (status == STATUS_OK && (status = measured_kernels_load(&kernels, store, chips, diags)) == STATUS_OK) {
    *rows = kernels.rows.count;
    measured_kernels_release(&kernels);
    status = profile_export_csv(store, false, csv, diags);
  }
  store_close(store);
  return status;
}

static void each_allocation_fails(void **state) {
  (void)state;
  struct paths paths;
  strcpy(paths.directory, "/tmp/rdg_profile_XXXXXX");
  assert_non_null(mkdtemp(paths.directory));
  snprintf(paths.mapping, sizeof paths.mapping, "%s/m.yaml", paths.directory);
  snprintf(paths.table, sizeof paths.table, "%s/a.csv", paths.directory);
  snprintf(paths.csv, sizeof paths.csv, "%s/p.csv", paths.directory);
  write_file(paths.mapping, mapping);
  write_file(paths.table, table);
  struct diag_list diags;
  struct hw_database chips;
  struct strbuf expected = {0};
  size_t rows = 0;
  diag_init(&diags);
  assert_int_equal(hw_database_load(&chips, RDG_SOURCE_DIR "/hardware", &diags), STATUS_OK);
  assert_int_equal(run(&paths, &chips, &diags, &expected, &rows), STATUS_OK);
  assert_int_equal(rows, 4); /* two good rows of four, twice */
  diag_release(&diags);
  write_file(paths.csv, strbuf_text(&expected)); /* from now on through CSV as well */

  unsigned long n = 0;
  for (bool has_failed = true; has_failed; n++) {
    struct strbuf csv = {0};
    long live = allocation.live;
    rows = 0;
    diag_init(&diags);
    allocation_arm(n, n % 2 == 1);
    enum status status = run(&paths, &chips, &diags, &csv, &rows);
    has_failed = allocation_disarm();
    if (status == STATUS_OK) {
      assert_int_equal(rows, 4);
      assert_string_equal(strbuf_text(&csv), strbuf_text(&expected));
    } else if (status != STATUS_MEMORY) {
      fail_msg("allocation %lu: status %d", n, (int)status);
    }
    assert_true(has_failed || status == STATUS_OK);
    strbuf_release(&csv);
    diag_release(&diags);
    assert_true(allocation.live <= live); /* names that strdup made are freed here, but were not counted */
  }
  assert_true(n > 20);
  strbuf_release(&expected);
  hw_database_release(&chips);
  remove(paths.csv);
  remove(paths.table);
  remove(paths.mapping);
  rmdir(paths.directory);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_fails)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
