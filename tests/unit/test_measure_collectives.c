/* Rows of the measured collectives, and two constants beside them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "measure/measure_collectives_score.h"
#include "profile/profile_places.h"

static struct hw_database chips;
static struct hw_clusters clusters;
static struct measured_collectives all;
static bool has_data;

static int setup(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  const char *data = profile_data_directory(NULL);
  has_data = profile_need_folder(data, "measured/aiconfigurator", &diags);
  enum status status = hw_database_load(&chips, RDG_SOURCE_DIR "/hardware", &diags);
  status = status == STATUS_OK ? hw_clusters_load(&clusters, RDG_SOURCE_DIR "/hardware", &chips, &diags) : status;
  if (status == STATUS_OK && has_data) {
    status = measured_collectives_read(&all, data, &clusters, &chips, &diags);
  }
  diag_release(&diags);
  return status == STATUS_OK ? 0 : 1;
}

static int teardown(void **state) {
  (void)state;
  measured_collectives_release(&all);
  hw_clusters_release(&clusters);
  hw_database_release(&chips);
  return 0;
}

static bool skips(void) {
  if (!has_data) {
    puts("skipped: no data");
  }
  return !has_data;
}

/* Sizes are unseen on all systems: one size of an operation and type lies in one half, whoever measured it. */
static void test_split(void **state) {
  (void)state;
  size_t tests = 0;
  if (skips()) {
    return;
  }
  for (size_t i = 0; i < all.rows.count; i++) {
    const struct measured_collective *row = &all.rows.data[i];
    tests += row->is_test;
    for (size_t k = i + 1; k < all.rows.count && k < i + 3000; k += 7) {
      const struct measured_collective *other = &all.rows.data[k];
      bool is_same = row->request.kind == other->request.kind && row->dtype == other->dtype
                     && !(row->request.bytes < other->request.bytes) && !(row->request.bytes > other->request.bytes);
      assert_true(!is_same || row->is_test == other->is_test);
    }
  }
  assert_true(tests > all.rows.count * 4 / 10 && tests < all.rows.count * 6 / 10);
}

/* Sums that the source states: aiconfigurator's note has 8 H100, 268,435,456 halves, 2.11 ms. */
static void test_rows(void **state) {
  (void)state;
  size_t found = 0;
  if (skips()) {
    return;
  }
  for (size_t i = 0; i < all.rows.count; i++) {
    const struct measured_collective *row = &all.rows.data[i];
    const struct collective_machine *machine = &collective_machines[row->machine];
    assert_true(row->measured_s > 0 && row->request.bytes > 0 && row->request.shape.size >= 2);
    assert_true(row->cluster != NULL && row->request.shape.size <= row->slice.devices);
    found += machine->table == COLLECTIVE_TABLE_AICONFIGURATOR && strcmp(machine->device, "h100_sxm") == 0
             && row->request.kind == WORK_ALL_REDUCE && row->request.shape.size == 8 && !row->request.no_switch_sums
             && fabs(row->request.bytes - 536870912) < 1 && fabs(row->measured_s - 2.11e-3) < 0.005e-3;
  }
  assert_int_equal(found, 1);
  assert_int_equal(all.left_out[COLLECTIVE_IMPOSSIBLE], 0);
  assert_int_equal(all.left_out[COLLECTIVE_ROUNDED], 226);
}

/* CUDA graphs are the reference: no launch of their own. */
static void test_harness(void **state) {
  (void)state;
  assert_false(collective_has_launch(COLLECTIVE_TABLE_AICONFIGURATOR));
  assert_true(collective_has_launch(COLLECTIVE_TABLE_XLA));
  struct collective_harness harness = {{{0}}};
  harness.launch_s[COLLECTIVE_TABLE_XLA][WORK_ALL_REDUCE] = 5e-6;
  harness.launch_s[COLLECTIVE_TABLE_AIC_EAGER][WORK_ALL_REDUCE] = 20e-6;
  for (size_t m = 0; m < collective_machine_count; m++) {
    struct measured_collective row = {.machine = (uint16_t)m, .request = {.kind = WORK_ALL_REDUCE}};
    double time_s = collective_with_harness(&row, &harness, 10e-6);
    double wanted_s = collective_machines[m].table == COLLECTIVE_TABLE_XLA         ? 15e-6
                      : collective_machines[m].table == COLLECTIVE_TABLE_AIC_EAGER ? 20e-6
                                                                                   : 10e-6;
    assert_true(fabs(time_s - wanted_s) < 1e-12);
  }
}

/* A machine that is a straight line is fitted by one, and scored on the other half. */
static void test_two_constants(void **state) {
  (void)state;
  struct measured_collectives line = {0};
  struct collective_scores scores = {0};
  for (int i = 0; i < 20; i++) {
    struct measured_collective row = {.is_test = i % 2 == 1, .may_fit = true};
    row.request.kind = WORK_ALL_GATHER;
    row.request.shape.size = 4;
    row.request.bytes = 1000.0 * (1 << i);
    row.measured_s = 7e-6 + 2e-12 * row.request.bytes * 3 / 4;
    row.predicted_s = row.measured_s * (i % 2 == 1 ? 1.1 : 5);
    row.unseen_s = (double)NAN;
    assert_true(vec_push(&line.rows, row));
  }
  collectives_fit_lines(&line);
  for (size_t i = 0; i < line.rows.count; i++) {
    assert_true(fabs(line.rows.data[i].two_constants_s / line.rows.data[i].measured_s - 1) < 1e-6);
  }
  assert_int_equal(collectives_score(&line, &scores), STATUS_OK);
  assert_int_equal(scores.cells.count, 1);
  struct collective_means means = collective_means_of(&scores, WORK_ALL_GATHER);
  assert_int_equal(means.rows, 10);
  assert_true(fabs(means.all - 0.1) < 1e-9 && fabs(means.large - 0.1) < 1e-9 && means.line_all < 1e-6);
  assert_true(isnan(means.unseen));
  vec_release(&scores.cells);
  vec_release(&line.rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_harness),
      cmocka_unit_test(test_two_constants),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
