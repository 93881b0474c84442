/* Whole planning runs on small programs: rows above the bounds, refusals, the ablation, and what-if answers that are checked
 * by planning again. */
#include "plan/plan_result.h"
#include "work_fixture.h"

struct fixture {
  struct hw_database db;
  struct diag_list diags;
};
static struct fixture f;

static int setup(void **state) {
  (void)state;
  diag_init(&f.diags);
  return hw_database_load(&f.db, "hardware", &f.diags) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  hw_database_release(&f.db);
  diag_release(&f.diags);
  return 0;
}

/* Four square products in a row, 64 x 1024 by 1024 x 1024 in bf16, each followed by a logistic function: 4 x 2 MiB of
 * weights. */
enum { LAYERS = 4 };
static struct work_graph *products(void) {
  char text[8192];
  size_t at = 0;
#define ADD(...) (at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__))
  ADD("graph\ntensor %%0 : bf16[64,1024] input \"x\"\n");
  for (int i = 0; i < LAYERS; i++) {
    ADD("tensor %%%d : bf16[1024,1024] input \"w\"\n", 3 * i + 1);
    ADD("tensor %%%d : bf16[64,1024] intermediate\n", 3 * i + 2);
    ADD("tensor %%%d : bf16[64,1024] intermediate%s\n", 3 * i + 3, i + 1 == LAYERS ? " output" : "");
  }
  ADD("inputs %%0");
  for (int i = 0; i < LAYERS; i++) {
    ADD(" %%%d", 3 * i + 1);
  }
  ADD("\noutputs %%%d\n", 3 * LAYERS);
  for (int i = 0; i < LAYERS; i++) {
    int x = 3 * i, w = x + 1, y = x + 2, z = x + 3;
    ADD("task %d matmul \"dot_general\" reads(%%%d, %%%d) writes(%%%d)\n", 2 * i, x, w, y);
    ADD("stage matmul bf16 axes(row 64, column 1024, reduction 1024) ops(matrix bf16 2) reads(%%%d[0,2], %%%d[2,1]) "
        "writes(%%%d[0,1])\n",
        x, w, y);
    ADD("task %d elementwise \"logistic\" reads(%%%d) writes(%%%d)\n", 2 * i + 1, y, z);
    ADD("stage elementwise bf16 axes(parallel 64, parallel 1024) ops(vector bf16 1) reads(%%%d[0,1]) "
        "writes(%%%d[0,1])\n",
        y, z);
  }
  ADD("end\n");
#undef ADD
  assert_true(at < sizeof text);
  return sealed_from(text);
}

/* The pod with 64 of its 5888 cores and 2e11 B/s of memory: the enumeration is small. */
static const struct hw_chip *pod_with_sram(uint64_t sram_bytes) {
#define FIELD(name, value, unit)                                                                                       \
  "  " name ": {value: " value ", unit: " unit ", kind: inferred, source: derived, note: test}\n"
  char text[1024];
  snprintf(text, sizeof text,
           "id: odd\nname: Odd\ninherit: elk_ipu_pod4_hbm\nfields:\n" FIELD("cores", "64", "tile")
               FIELD("plan.cores_per_chip", "64", "tile") FIELD("mem.bw", "2e11", "B/s")
                   FIELD("smem_per_core", "%llu", "B"),
           (unsigned long long)sram_bytes);
#undef FIELD
  struct source source = {"odd.yaml", text, strlen(text)};
  const struct hw_chip *chip = NULL;
  enum status status = hw_chip_parse(&f.db, &source, "hardware", &f.diags, &chip);
  if (status != STATUS_OK) {
    fail_msg("%s", f.diags.entries.data[f.diags.entries.count - 1].message);
  }
  return chip;
}

static const struct hw_chip *pod(void) {
  return pod_with_sram(638976);
}

static void rows_are_above_the_bounds(void **state) {
  (void)state;
  static const struct plan_policy *const policies[] = {&plan_policy_basic, &plan_policy_static, &plan_policy_dyn,
                                                       &plan_policy_full,  &plan_policy_ideal,  &plan_policy_joint};
  struct work_graph *graph = products();
  for (int published = 0; published < 2; published++) {
    struct plan_options options = published ? plan_options_published : plan_options_best;
    options.policies = policies;
    options.policy_count = 6;
    struct plan_result result;
    assert_int_equal(plan_run(graph, pod(), &options, &f.diags, &result), STATUS_OK);
    assert_int_equal(result.row_count, 6);
    /* 8 MiB of weights, the input and the output of 128 KiB each, at 2e11 B/s */
    double memory_ps = (LAYERS * 1024.0 * 1024 * 2 + 2 * 64 * 1024 * 2) / 2e11 * 1e12;
    assert_true((double)result.resource.memory_ps <= memory_ps && (double)result.resource.memory_ps > memory_ps - 2);
    /* blocks of 6 x 16 x 16 in 24 cycles: 64 multiply-adds per cycle, 64 cores, 1.325 GHz */
    double matrix_ps = LAYERS * 64.0 * 1024 * 1024 / (64.0 * 64 * 1.325e9) * 1e12;
    assert_true((double)result.resource.matrix_ps <= matrix_ps && (double)result.resource.matrix_ps > matrix_ps - 2);
    assert_true(result.bounds.chain_ps >= result.resource.bound_ps);
    int64_t joint_ps = result.rows[5].result.timeline.makespan_ps;
    for (uint32_t k = 0; k < result.row_count; k++) {
      const struct plan_row *row = &result.rows[k];
      const char *reason;
      assert_ptr_equal(row->policy, policies[k]);
      assert_int_equal(row->status, STATUS_OK);
      assert_true(row->result.timeline.makespan_ps >= result.resource.bound_ps);
      if (!row->policy->is_reference) {
        assert_int_equal(plan_schedule_check(&result.sets.chain, &row->result.schedule, &reason), UINT32_MAX);
        assert_true(row->gap_space >= 0 && row->gap_resource >= row->gap_space);
        assert_true(row->memory_utilisation <= 1 && row->link_utilisation <= 1 && row->compute_utilisation <= 1);
      }
    }
    assert_true(joint_ps <= result.rows[2].result.timeline.makespan_ps);
    plan_result_release(&result);
  }
  work_graph_free(graph);
}

static void without_policies_joint_alone_runs(void **state) {
  (void)state;
  struct work_graph *graph = products();
  struct plan_result result;
  assert_int_equal(plan_run(graph, pod(), &plan_options_best, &f.diags, &result), STATUS_OK);
  assert_int_equal(result.row_count, 1);
  assert_ptr_equal(result.rows[0].policy, &plan_policy_joint);
  plan_result_release(&result);
  work_graph_free(graph);
}

static void what_fits_nowhere_is_refused(void **state) {
  (void)state;
  struct work_graph *graph = products();
  struct diag_list diags;
  diag_init(&diags);
  struct plan_result result;
  assert_int_equal(plan_run(graph, pod_with_sram(512 + 8192), &plan_options_best, &diags, &result), STATUS_INPUT);
  assert_true(diags.error_count > 0);
  assert_int_equal(diags.entries.data[0].id, DIAG_E0804_PLAN_SRAM);
  plan_result_release(&result);
  diag_release(&diags);
  work_graph_free(graph);
}

static void the_ablation_has_a_row_for_each_ingredient(void **state) {
  (void)state;
  struct work_graph *graph = products();
  struct arena arena;
  arena_init(&arena, 0);
  struct plan_ablation_row *rows;
  uint32_t count;
  assert_int_equal(plan_ablation(graph, pod(), &f.diags, &arena, &rows, &count), STATUS_OK);
  assert_true(count > 6);
  assert_string_equal(rows[0].ingredient, "all");
  for (uint32_t k = 0; k < count; k++) {
    bool is_ideal = strstr(rows[k].ingredient, "ideal") != NULL;
    assert_true(rows[k].makespan_ps >= rows[k].bound_ps || is_ideal);
  }
  arena_release(&arena);
  work_graph_free(graph);
}

static int64_t joint_with_sram(const struct work_graph *graph, uint64_t reserve_and_sram_bytes) {
  struct plan_result result;
  enum status status = plan_run(graph, pod_with_sram(reserve_and_sram_bytes), &plan_options_best, &f.diags, &result);
  int64_t makespan_ps = status == STATUS_OK ? result.rows[0].result.timeline.makespan_ps : INT64_MAX;
  plan_result_release(&result);
  return makespan_ps;
}

static void what_if_reaches_the_latency_with_what_it_says(void **state) {
  (void)state;
  struct work_graph *graph = products();
  struct plan_result present;
  assert_int_equal(plan_run(graph, pod(), &plan_options_best, &f.diags, &present), STATUS_OK);
  uint64_t sram_bytes = present.chip.sram_bytes, reserve_bytes = present.chip.reserve_bytes;
  int64_t present_ps = present.rows[0].result.timeline.makespan_ps;
  int64_t resource_ps = present.resource.bound_ps;
  plan_result_release(&present);

  /* half as fast: less than the chip has of either */
  struct plan_what_if easy = {.latency_ps = present_ps * 2};
  assert_int_equal(plan_what_if_run(graph, pod(), &plan_options_best, &f.diags, &easy), STATUS_OK);
  assert_true(easy.sram_bytes > 0 && easy.sram_bytes < sram_bytes);
  assert_true(easy.memory_Bps > 0 && easy.memory_Bps < 2e11);
  assert_true(joint_with_sram(graph, easy.sram_bytes + reserve_bytes) <= easy.latency_ps);

  /* below what the memory gives: no SRAM helps */
  struct plan_what_if hard = {.latency_ps = resource_ps - 1};
  assert_int_equal(plan_what_if_run(graph, pod(), &plan_options_best, &f.diags, &hard), STATUS_OK);
  assert_int_equal(hard.sram_bytes, 0);
  assert_true(hard.memory_Bps == 0 || hard.memory_Bps > 2e11);
  work_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_above_the_bounds),
      cmocka_unit_test(without_policies_joint_alone_runs),
      cmocka_unit_test(what_fits_nowhere_is_refused),
      cmocka_unit_test(the_ablation_has_a_row_for_each_ingredient),
      cmocka_unit_test(what_if_reaches_the_latency_with_what_it_says),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
