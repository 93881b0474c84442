/* Parts of the suite "operators" on tables small enough to be worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "measure/measure_operators.h"

static const char *const no_lineage[] = {NULL};
static const char *const hopper_lineage[] = {"nvidia_hopper", "nvidia_gpu", NULL};
static const struct hw_chip plain_chip = {.id = "google_tpu_v6e", .lineage = no_lineage};
static const struct hw_chip h100 = {.id = "nvidia_h100_sxm", .lineage = hopper_lineage};
static const struct hw_chip h200 = {.id = "nvidia_h200_sxm", .lineage = hopper_lineage};

static struct measured_kernel gemm(const struct hw_chip *chip, double m, double n, double k, double latency_s) {
  return (struct measured_kernel){
      .chip = chip,
      .shape = {.class_of = KERNEL_GEMM, .format = KERNEL_FORMAT_BF16, .gemm = {.batch = 1, .m = m, .n = n, .k = k}},
      .latency_s = latency_s,
      .may_fit = true,
      .split = STORE_TEST};
}

static bool near(double a, double b) {
  return fabs(a - b) <= 1e-9 * fabs(b);
}

/* ---- neighbours ---- */

/* From 16 to 64 the time goes from 2 to 8 us: a power law of exponent 1, so 32 has 4 us whatever was measured there. */
static void neighbours_interpolate_in_logarithms(void **state) {
  (void)state;
  struct measured_kernel rows[] = {gemm(&h100, 64, 8, 8, 8e-6), gemm(&h100, 32, 8, 8, 5e-6),
                                   gemm(&h100, 16, 8, 8, 2e-6), gemm(&h100, 32, 8, 9, 1e-6)};
  double times[4];
  assert_int_equal(operator_neighbours(rows, 4, times), STATUS_OK);
  assert_true(isnan(times[0]) && isnan(times[2])); /* ends of the line */
  assert_true(near(times[1], 4e-6));
  assert_true(isnan(times[3])); /* another k: a line of its own */
}

/* 4 and 16 us at m = 64 count as 8 us, their geometric mean; both repetitions at 32 get the same answer. */
static void repetitions_are_one_neighbour(void **state) {
  (void)state;
  struct measured_kernel rows[] = {gemm(&h100, 16, 8, 8, 2e-6), gemm(&h100, 32, 8, 8, 3e-6),
                                   gemm(&h100, 32, 8, 8, 9e-6), gemm(&h100, 64, 8, 8, 4e-6),
                                   gemm(&h100, 64, 8, 8, 16e-6)};
  double times[5];
  assert_int_equal(operator_neighbours(rows, 5, times), STATUS_OK);
  assert_true(near(times[1], 4e-6) && near(times[2], 4e-6));
  rows[0].source = 1; /* measured by others: no neighbour */
  assert_int_equal(operator_neighbours(rows, 5, times), STATUS_OK);
  assert_true(isnan(times[1]));
}

/* Prefills are on one line when as many tokens were there before, not when the context is equal. */
static void prefill_runs_along_its_queries(void **state) {
  (void)state;
  struct measured_kernel rows[3];
  const double queries[] = {128, 256, 512}, latency_s[] = {1e-6, 3e-6, 16e-6};
  for (int i = 0; i < 3; i++) {
    rows[i] = (struct measured_kernel){.chip = &h100, .latency_s = latency_s[i]};
    rows[i].shape.class_of = KERNEL_ATTENTION_PREFILL;
    rows[i].shape.attention = (struct kernel_attention){
        .batch = 1, .queries = queries[i], .context = queries[i] + 1000, .heads = 8, .kv_heads = 8, .head_dim = 64};
  }
  double times[3];
  assert_int_equal(operator_neighbours(rows, 3, times), STATUS_OK);
  assert_true(near(times[1], 4e-6)); /* sqrt(1 x 16) */
  rows[2].shape.attention.context = 256 + 1000;
  assert_int_equal(operator_neighbours(rows, 3, times), STATUS_OK);
  assert_true(isnan(times[1]));
  assert_int_equal(operator_neighbours(rows, 0, times), STATUS_OK);
}

/* ---- statistics ---- */

static void add(struct operator_set *set, const struct measured_kernel *row, double predicted_s, double low_s,
                double high_s) {
  struct operator_row r = {.row = row, .low_s = low_s, .high_s = high_s};
  for (int p = 0; p < OPERATOR_PREDICTOR_COUNT; p++) {
    r.time_s[p] = (double)NAN;
  }
  r.time_s[OPERATOR_MODEL] = predicted_s;
  assert_true(vec_push(&set->rows, r));
}

static void release(struct operator_set *set) {
  vec_release(&set->rows);
  vec_release(&set->groups);
  vec_release(&set->kernels.sources);
}

/* Errors 10 %, 20 %, 30 %: the first two have an interval, one of which holds the measurement. */
static void coverage_and_errors_are_counted(void **state) {
  (void)state;
  const struct measured_kernel rows[] = {gemm(&h100, 8, 8, 8, 10), gemm(&h100, 64, 8, 8, 10),
                                         gemm(&h100, 8, 256, 8, 10)};
  struct operator_set set = {0};
  struct operator_score s;
  struct operator_filter filter = OPERATOR_ALL_ROWS;
  add(&set, &rows[0], 11, 9, 13);
  add(&set, &rows[1], 12, 10.5, 14);
  add(&set, &rows[2], 7, (double)NAN, (double)NAN);
  set.rows.data[1].time_s[OPERATOR_TWO_CONSTANTS] = 15;
  assert_int_equal(operator_score_of(&set, &filter, &s), STATUS_OK);
  assert_int_equal(s.model.count, 3);
  assert_true(near(s.model.mape, 0.2));
  assert_int_equal(s.with_interval, 2);
  assert_true(near(s.coverage, 0.5));
  /* only the second row has a two-constant roofline: 50 % there, beside the model's 20 % */
  assert_int_equal(s.count[OPERATOR_TWO_CONSTANTS], 1);
  assert_true(near(s.mape[OPERATOR_TWO_CONSTANTS], 0.5) && near(s.model_mape[OPERATOR_TWO_CONSTANTS], 0.2));
  assert_true(isnan(s.mape[OPERATOR_PEER]));
  filter.extent_max = 64; /* leaves out n = 256 */
  assert_int_equal(operator_score_of(&set, &filter, &s), STATUS_OK);
  assert_int_equal(s.model.count, 2);
  filter.extent_min = 9; /* all have an extent of 8 */
  assert_int_equal(operator_score_of(&set, &filter, &s), STATUS_OK);
  assert_int_equal(s.model.count, 0);
  assert_true(isnan(s.coverage));
  release(&set);
}

static void filters_know_chips_families_and_formats(void **state) {
  (void)state;
  const struct measured_kernel row = gemm(&h200, 8, 8, 8, 1);
  struct operator_filter filter = OPERATOR_ALL_ROWS;
  assert_true(operator_filter_takes(&filter, &row));
  filter.family = "nvidia_hopper";
  assert_true(operator_filter_takes(&filter, &row));
  filter.chip = "nvidia_h100_sxm";
  assert_false(operator_filter_takes(&filter, &row));
  filter = OPERATOR_ALL_ROWS;
  filter.family = "nvidia_ada";
  assert_false(operator_filter_takes(&filter, &row));
  filter = OPERATOR_ALL_ROWS;
  filter.format = KERNEL_FORMAT_FP8;
  assert_false(operator_filter_takes(&filter, &row));
  filter = OPERATOR_ALL_ROWS;
  filter.source = 1; /* index 0, that of the row */
  assert_true(operator_filter_takes(&filter, &row));
  filter.source = 2;
  assert_false(operator_filter_takes(&filter, &row));
}

static void groups_know_their_sources_and_constants(void **state) {
  (void)state;
  struct measured_kernel rows[] = {gemm(&h100, 8, 8, 8, 1), gemm(&h100, 8, 8, 8, 1), gemm(&h100, 8, 8, 8, 1)};
  struct operator_set set = {0};
  struct operator_group group = {.chip = &h100, .scored_count = 3, .constants = "nvidia_hopper", .folds_fitted = true};
  rows[0].source = 4;
  rows[1].source = 2;
  rows[2].source = 4;
  rows[1].split = STORE_FOLDS;
  for (int i = 0; i < 3; i++) {
    add(&set, &rows[i], 1, 1, 1);
  }
  assert_int_equal(operator_next_source(&set, &group, 0), 3);
  assert_int_equal(operator_next_source(&set, &group, 3), 5);
  assert_int_equal(operator_next_source(&set, &group, 5), 0);
  assert_string_equal(operator_constants(&set, &group, 5), "nvidia_hopper");
  assert_string_equal(operator_constants(&set, &group, 3), "5 folds");
  assert_string_equal(operator_constants(&set, &group, 0), "some folds");
  group.folds_fitted = false;
  assert_string_equal(operator_constants(&set, &group, 3), "data sheet");
  release(&set);
}

/* ---- goals ---- */

static struct operator_goal judged(enum operator_goal_kind kind, const struct operator_score *score) {
  struct operator_goal goal = {.kind = kind, .limit = 0.1};
  operator_goal_judge(&goal, score);
  return goal;
}

static void goals_are_met_missed_or_without_data(void **state) {
  (void)state;
  struct operator_score s = {.model = {.count = 300, .mape = 0.1}, .coverage = 0.85, .with_interval = 300};
  s.count[OPERATOR_TWO_CONSTANTS] = 250;
  s.mape[OPERATOR_TWO_CONSTANTS] = 0.2;
  s.model_mape[OPERATOR_TWO_CONSTANTS] = 0.19;
  for (int kind = OPERATOR_GOAL_MAPE; kind <= OPERATOR_GOAL_COVERAGE; kind++) {
    assert_int_equal(judged((enum operator_goal_kind)kind, &s).state, OPERATOR_GOAL_MET);
  }
  assert_int_equal(judged(OPERATOR_GOAL_TWO_CONSTANTS, &s).count, 250);
  s.model.mape = 0.1001;
  s.model_mape[OPERATOR_TWO_CONSTANTS] = 0.2; /* equal is not better */
  s.coverage = 0.96;
  for (int kind = OPERATOR_GOAL_MAPE; kind <= OPERATOR_GOAL_COVERAGE; kind++) {
    assert_int_equal(judged((enum operator_goal_kind)kind, &s).state, OPERATOR_GOAL_MISSED);
  }
  s.coverage = 0.84;
  assert_int_equal(judged(OPERATOR_GOAL_COVERAGE, &s).state, OPERATOR_GOAL_MISSED);
  const struct operator_score none = {.coverage = (double)NAN};
  for (int kind = OPERATOR_GOAL_MAPE; kind <= OPERATOR_GOAL_COVERAGE; kind++) {
    assert_int_equal(judged((enum operator_goal_kind)kind, &none).state, OPERATOR_GOAL_NO_DATA);
  }
}

static size_t goals_in(const operator_goal_list *goals, enum operator_goal_kind kind, enum operator_goal_state state) {
  size_t count = 0;
  for (size_t i = 0; i < goals->count; i++) {
    count += goals->data[i].kind == kind && goals->data[i].state == state ? 1 : 0;
  }
  return count;
}

/* One chip with 200 rows, 8 % off, half of them covered; of its goals those of GEMM and of the two constants are met. */
static void goals_of_a_chip_come_from_its_rows(void **state) {
  (void)state;
  const struct measured_kernel row = gemm(&h100, 8, 8, 8, 1);
  struct operator_set set = {0};
  operator_goal_list goals = {0};
  for (int i = 0; i < OPERATOR_COVERAGE_ROWS; i++) {
    add(&set, &row, 1.08, i % 2 ? 0.9 : 1.05, 1.2);
    set.rows.data[i].time_s[OPERATOR_TWO_CONSTANTS] = 1.3;
  }
  struct operator_group group = {.chip = &h100, .scored_count = set.rows.count, .constants = "own"};
  group.format = KERNEL_FORMAT_BF16;
  assert_true(vec_push(&set.kernels.sources, "table"));
  assert_true(vec_push(&set.groups, group));
  assert_int_equal(operator_goals(&set, &goals), STATUS_OK);
  assert_int_equal(goals_in(&goals, OPERATOR_GOAL_MAPE, OPERATOR_GOAL_MET), 1);
  assert_int_equal(goals_in(&goals, OPERATOR_GOAL_MAPE, OPERATOR_GOAL_MISSED), 0);
  assert_int_equal(goals_in(&goals, OPERATOR_GOAL_MAPE, OPERATOR_GOAL_NO_DATA), goals.count - 3);
  assert_int_equal(goals_in(&goals, OPERATOR_GOAL_TWO_CONSTANTS, OPERATOR_GOAL_MET), 1);
  assert_int_equal(goals_in(&goals, OPERATOR_GOAL_COVERAGE, OPERATOR_GOAL_MISSED), 1);
  struct strbuf text = {0};
  operators_write_text(&set, &goals, &text);
  assert_non_null(strstr(strbuf_text(&text), "\ngoals: 2 of 3 met\n"));
  strbuf_release(&text);
  set.rows.count--; /* one row less than a goal of coverage needs */
  vec_clear(&goals);
  assert_int_equal(operator_goals(&set, &goals), STATUS_OK);
  assert_int_equal(goals_in(&goals, OPERATOR_GOAL_COVERAGE, OPERATOR_GOAL_MISSED), 0);
  vec_release(&goals);
  release(&set);
}

/* ---- peers ---- */

static void make_folder(const char *root, const char *name) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", root, name);
  assert_int_equal(mkdir(path, 0700), 0);
}

static void write_file(const char *root, const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", root, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void forget(const char *root, const char *const *names) {
  char path[256];
  for (; *names; names++) {
    snprintf(path, sizeof path, "%s/%s", root, *names);
    remove(path);
  }
  remove(root);
}

static void peers_speak_of_their_rows(void **state) {
  (void)state;
  char root[] = "/tmp/rdg_peers_XXXXXX";
  assert_non_null(mkdtemp(root));
  make_folder(root, "measured");
  make_folder(root, "measured/cocossim_tpuv6e");
  write_file(root, "measured/cocossim_tpuv6e/gemm_bf16.csv",
             "cell,M , K,N,measured_us,cocossim_sim_us\nG1,8,32,16,1,2.5\nG2,9,9,9,1, 7\n");
  struct measured_kernel rows[] = {gemm(&plain_chip, 8, 16, 32, 1), gemm(&plain_chip, 8, 32, 16, 1),
                                   gemm(&plain_chip, 8, 16, 32, 1)};
  struct operator_set set = {0};
  struct operator_group group = {.chip = &plain_chip, .class_of = KERNEL_GEMM, .scored_count = 3};
  struct diag_list diags;
  diag_init(&diags);
  assert_true(vec_push(&set.kernels.sources, "cocossim_tpuv6e") && vec_push(&set.kernels.sources, "others"));
  rows[2].source = 1;
  for (int i = 0; i < 3; i++) {
    add(&set, &rows[i], 1, 1, 1);
  }
  assert_int_equal(operator_peer_times(&set, &group, root, &diags), STATUS_OK);
  assert_true(near(set.rows.data[0].time_s[OPERATOR_PEER], 2.5e-6));
  assert_true(isnan(set.rows.data[1].time_s[OPERATOR_PEER])); /* n and k the other way round */
  assert_true(isnan(set.rows.data[2].time_s[OPERATOR_PEER])); /* the same shape measured by others */
  set.rows.data[0].time_s[OPERATOR_PEER] = (double)NAN;
  assert_int_equal(operator_peer_times(&set, &group, "/nonexistent", &diags), STATUS_OK);
  assert_true(isnan(set.rows.data[0].time_s[OPERATOR_PEER]));
  assert_int_equal(diags.entries.count, 0);
  diag_release(&diags);
  release(&set);
  static const char *const names[] = {"measured/cocossim_tpuv6e/gemm_bf16.csv", "measured/cocossim_tpuv6e", "measured",
                                      NULL};
  forget(root, names);
}

/* Cycles 100, 200, 300 and times 2, 4, 6 us lie on a line, which then says every time exactly. */
static void cycles_become_times_by_a_line(void **state) {
  (void)state;
  static const struct hw_chip tpu_v4 = {.id = "google_tpu_v4", .lineage = no_lineage};
  char root[] = "/tmp/rdg_peers_XXXXXX";
  assert_non_null(mkdtemp(root));
  make_folder(root, "measured");
  make_folder(root, "measured/tpu_v4_scalesim");
  const char *name = "measured/tpu_v4_scalesim/data_matmul2__kernel_report_updated.csv";
  write_file(root, name,
             "kernel_name    ,total_cycles \nmatmul_8x16x32 ,  100.0 \nmatmul_8x16x64 ,  200.0 \n"
             "matmul_8x16x96 ,  300.0 \nmatmul_8x16x129 , 999 \n");
  const struct measured_kernel rows[] = {gemm(&tpu_v4, 8, 16, 32, 2e-6), gemm(&tpu_v4, 8, 16, 64, 4e-6),
                                         gemm(&tpu_v4, 8, 16, 96, 6e-6), gemm(&tpu_v4, 8, 16, 129, 1e-6)};
  struct operator_set set = {0};
  struct operator_group group = {.chip = &tpu_v4, .class_of = KERNEL_GEMM, .scored_count = 4};
  struct diag_list diags;
  diag_init(&diags);
  assert_true(vec_push(&set.kernels.sources, "tpu_v4_scalesim"));
  for (int i = 0; i < 4; i++) {
    add(&set, &rows[i], 1, 1, 1);
  }
  assert_int_equal(operator_peer_times(&set, &group, root, &diags), STATUS_OK);
  for (int i = 0; i < 3; i++) {
    assert_true(near(set.rows.data[i].time_s[OPERATOR_PEER], rows[i].latency_s));
  }
  assert_true(isnan(set.rows.data[3].time_s[OPERATOR_PEER])); /* 129 is beyond what this table is scored on */
  diag_release(&diags);
  release(&set);
  const char *const names[] = {name, "measured/tpu_v4_scalesim", "measured", NULL};
  forget(root, names);
}

static void shapes_are_said_in_words(void **state) {
  (void)state;
  struct strbuf text = {0};
  struct kernel_shape shape = gemm(&h100, 128, 1024, 4096, 1).shape;
  operator_shape_text(&shape, &text);
  assert_string_equal(strbuf_text(&text), "m 128, n 1024, k 4096");
  strbuf_clear(&text);
  shape.gemm.batch = 16;
  operator_shape_text(&shape, &text);
  assert_string_equal(strbuf_text(&text), "batch 16, m 128, n 1024, k 4096");
  strbuf_release(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(neighbours_interpolate_in_logarithms),
      cmocka_unit_test(repetitions_are_one_neighbour),
      cmocka_unit_test(prefill_runs_along_its_queries),
      cmocka_unit_test(coverage_and_errors_are_counted),
      cmocka_unit_test(filters_know_chips_families_and_formats),
      cmocka_unit_test(groups_know_their_sources_and_constants),
      cmocka_unit_test(goals_are_met_missed_or_without_data),
      cmocka_unit_test(goals_of_a_chip_come_from_its_rows),
      cmocka_unit_test(peers_speak_of_their_rows),
      cmocka_unit_test(cycles_become_times_by_a_line),
      cmocka_unit_test(shapes_are_said_in_words),
  };
  return cmocka_run_group_tests_name("measure operators", tests, NULL, NULL);
}
