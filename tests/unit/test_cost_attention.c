/* Attention tasks of programs are timed by the fitted attention kernels: against measured rows, and what must hold between
 * shapes. Rows: data/measured/aiconfigurator, context_attention, H100 SXM with vLLM, bf16, causal, 4096 tokens, head size
 * 128: 24 heads take 0.238133 ms, 64 heads with 8 of keys 0.486181 ms. */
#include <math.h>

#include "cost/roofline.h"
#include "work_fixture.h"

static struct hw_database db;

static int load(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = hw_database_load(&db, "hardware", &diags);
  diag_release(&diags);
  return status == STATUS_OK && hw_database_find(&db, "h100", NULL) != NULL ? 0 : -1;
}

static int release(void **state) {
  (void)state;
  hw_database_release(&db);
  return 0;
}

struct shape {
  unsigned batch, kv_heads, group, queries, keys, depth;
  uint64_t pairs; /* 0 = all */
  bool is_backward;
  const char *dtype;
};

/* As lower/lower_ops_custom.c writes it. */
static struct work_graph *attention(struct shape s) {
  char text[4096], applications[64] = "";
  uint64_t heads = (uint64_t)s.batch * s.kv_heads * s.group;
  if (s.pairs != 0) {
    snprintf(applications, sizeof applications, "applications %llu", (unsigned long long)(heads * s.pairs * s.depth));
  }
  snprintf(
      text, sizeof text,
      "graph\n tensor %%0 : %s[%llu,%u,%u] input\n tensor %%1 : %s[%u,%u,%u] input\n"
      " tensor %%2 : %s[%llu,%u,%u] intermediate output\n tensor %%3 : f32[%llu,%u,%u] intermediate\n"
      " inputs %%0 %%1\n outputs %%2\n task 0 attention reads(%%0, %%1) writes(%%2)\n"
      "  stage attention %s %s axes(batch %u, batch %u, batch %u, row %u, column %u, reduction %u) ops(matrix %s %u) "
      "reads(%%0, %%1) writes(%%3)\n"
      "  stage attention %s %s axes(batch %u, batch %u, batch %u, row %u, column %u, reduction %u) ops(matrix %s %u) "
      "reads(%%3) writes(%%2)\nend\n",
      s.dtype, (unsigned long long)heads, s.queries, s.depth, s.dtype, 2 * s.batch * s.kv_heads, s.keys, s.depth,
      s.dtype, (unsigned long long)heads, s.queries, s.depth, (unsigned long long)heads, s.queries, s.keys, s.dtype,
      applications, s.batch, s.kv_heads, s.group, s.queries, s.keys, s.depth, s.dtype, s.is_backward ? 6 : 2, s.dtype,
      applications, s.batch, s.kv_heads, s.group, s.queries, s.depth, s.keys, s.dtype, s.is_backward ? 4 : 2);
  return sealed_from(text);
}

static struct roofline_task estimate_on(const char *name, struct shape s) {
  struct work_graph *graph = attention(s);
  struct roofline_chip rc;
  struct roofline_task task;
  roofline_chip_init(&rc, hw_database_find(&db, name, NULL), NULL);
  roofline_task_estimate(&rc, graph, &graph->tasks.data[0], &task);
  work_graph_free(graph);
  return task;
}

static uint64_t triangle(uint64_t n) {
  return n * (n + 1) / 2;
}

static void test_against_measurements(void **state) {
  (void)state;
  struct shape s = {1, 24, 1, 4096, 4096, 128, triangle(4096), false, "bf16"};
  struct roofline_task few = estimate_on("h100", s);
  assert_true(few.is_timed_by_model);
  assert_true(few.is_fitted);
  /* the row includes writing keys and values into a cache */
  assert_in_range(few.result.time_s * 1e9, 0.85 * 238133, 1.05 * 238133);
  s.kv_heads = 8;
  s.group = 8;
  struct roofline_task many = estimate_on("h100", s);
  assert_in_range(many.result.time_s * 1e9, 0.9 * 486181, 1.1 * 486181);
  s.kv_heads = 32;
  s.group = 1;
  struct roofline_task between = estimate_on("h100", s);
  assert_true(between.result.time_s > few.result.time_s && between.result.time_s < many.result.time_s);
}

static void test_masks(void **state) {
  (void)state;
  struct shape s = {1, 32, 1, 8192, 8192, 128, 0, false, "bf16"};
  double all_s = estimate_on("h100", s).result.time_s;
  s.pairs = triangle(8192);
  double half_s = estimate_on("h100", s).result.time_s;
  assert_true(half_s > 0.5 * all_s && half_s < 0.65 * all_s); /* the diagonal's tiles are computed whole */
  s.pairs = triangle(1024) + (8192 - 1024) * 1024; /* a window of 1024 keys */
  double window_s = estimate_on("h100", s).result.time_s;
  assert_true(window_s < 0.5 * half_s);
  struct shape part = {1, 32, 1, 2048, 8192, 128, (uint64_t)2048 * 8193 / 2, false, "bf16"};
  double part_s = estimate_on("h100", part).result.time_s; /* a quarter of the queries, half of the keys */
  assert_true(part_s > 0.2 * half_s && part_s < 0.35 * half_s);
}

/* Two and a half times the operations, at an efficiency of its own. */
static void test_backward(void **state) {
  (void)state;
  struct shape s = {1, 32, 1, 8192, 8192, 128, triangle(8192), false, "bf16"};
  struct roofline_task forward = estimate_on("h100", s);
  s.is_backward = true;
  struct roofline_task backward = estimate_on("h100", s);
  assert_true(fabs(backward.matrix_flops / forward.matrix_flops - 2.5) < 1e-9);
  double ratio = backward.result.time_s / forward.result.time_s;
  assert_true(ratio > 2.5 && ratio < 3);
  assert_true(backward.is_inherited && !backward.is_fitted);
  assert_true(backward.interval.high > forward.interval.high);
}

static void test_without_a_fit(void **state) {
  (void)state;
  struct shape s = {1, 32, 1, 4096, 4096, 128, triangle(4096), false, "f32"};
  assert_false(estimate_on("h100", s).is_timed_by_model); /* no such kernel was measured */
  s.dtype = "bf16";
  struct roofline_task task = estimate_on("tpu-v5p", s);
  assert_false(task.is_timed_by_model);
  assert_true(task.result.time_s > 0 && isfinite(task.result.time_s));
}

/* A head of 128 on arrays of 256 x 256 uses half of them in every product, forward and backward: at most half the rate of
 * 2,307 TFLOP/s (MaxText's guide, "Performance configs": such products halve the efficiency); one of 256 may use all. */
static void test_narrow_heads(void **state) {
  (void)state;
  struct shape s = {1, 32, 1, 8192, 8192, 128, triangle(8192), false, "bf16"};
  for (int backward = 0; backward < 2; backward++) {
    s.is_backward = backward != 0;
    s.depth = 128;
    struct roofline_task narrow = estimate_on("tpu7x", s);
    assert_true(narrow.result.time_s >= narrow.matrix_flops / (2307e12 / 2) * 0.999);
    s.depth = 256;
    struct roofline_task wide = estimate_on("tpu7x", s);
    assert_true(wide.result.time_s < 1.5 * narrow.result.time_s); /* twice the operations */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_measurements), cmocka_unit_test(test_masks),        cmocka_unit_test(test_backward),
      cmocka_unit_test(test_without_a_fit),        cmocka_unit_test(test_narrow_heads),
  };
  return cmocka_run_group_tests(tests, load, release);
}
