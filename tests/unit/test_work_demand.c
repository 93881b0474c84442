/* Counts of single stages against the closed forms that work.h states. */
#include "work_fixture.h"

static const char matmul[] = "graph\n"
                             "tensor %0 : bf16[2,64,128] input\n"
                             "tensor %1 : bf16[2,128,32] input\n"
                             "tensor %2 : bf16[2,64,32] intermediate output\n"
                             "inputs %0 %1\n"
                             "outputs %2\n"
                             "task 0 matmul \"dot_general\" reads(%0, %1) writes(%2)\n"
                             "stage matmul bf16 precision high axes(batch 2, row 64, column 32, reduction 128) "
                             "ops(matrix bf16 2) reads(%0[0,1,3], %1[0,3,2]) writes(%2[0,1,2])\n"
                             "end\n";

static void test_matmul(void **state) {
  (void)state;
  struct work_graph *graph = sealed_from(matmul);
  const struct work_task *task = &graph->tasks.data[0];
  struct work_gemm gemm;
  assert_int_equal(work_stage_applications(graph, stage_of(graph, 0, 0)), 2 * 64 * 32 * 128);
  assert_true(work_stage_gemm(graph, stage_of(graph, 0, 0), &gemm));
  assert_int_equal(gemm.batch, 2);
  assert_int_equal(gemm.m, 64);
  assert_int_equal(gemm.n, 32);
  assert_int_equal(gemm.k, 128);
  assert_int_equal(task->demand_count, 1);
  const struct work_demand_entry *entry = &graph->demands.data[task->demand_first];
  assert_int_equal(entry->ops, 2 * 2 * 64 * 32 * 128);
  assert_int_equal(entry->dtype, DTYPE_BF16);
  assert_int_equal(entry->precision, WORK_PRECISION_HIGH);
  assert_int_equal(task->read_bytes, 2 * (2 * 64 * 128 + 2 * 128 * 32));
  assert_int_equal(task->write_bytes, 2 * 2 * 64 * 32);
  work_graph_free(graph);
}

/* One stage without operands, its axes and operations given. */
static uint64_t applications_of(const char *kind, const char *axes) {
  char text[512];
  snprintf(text, sizeof text,
           "graph\ntensor %%0 : f32[4] intermediate output\ninputs\noutputs %%0\n"
           "task 0 %s reads() writes(%%0)\nstage %s f32 axes(%s) ops(vector f32 1) reads() writes(%%0)\nend\n",
           kind, kind, axes);
  struct work_graph *graph = sealed_from(text);
  uint64_t applications = work_stage_applications(graph, stage_of(graph, 0, 0));
  work_graph_free(graph);
  return applications;
}

static void test_applications(void **state) {
  (void)state;
  assert_int_equal(applications_of("elementwise", "parallel 3, parallel 5"), 15);
  /* 10 x 20 values into 10 sums: 19 additions each */
  assert_int_equal(applications_of("reduce", "parallel 10, reduction 20"), 190);
  assert_int_equal(applications_of("reduce", "parallel 10, reduction 0"), 0);
  /* windows of 2 at stride 1 over 4 values: 3 outputs, 6 values met, 3 additions */
  assert_int_equal(applications_of("reduce_window", "parallel 3, window 2 of 0 hits 6"), 3);
  /* 2 x 3 outputs with hits 5 and 7 along the two dimensions */
  assert_int_equal(
      applications_of("reduce_window", "parallel 2, parallel 3, window 3 of 0 hits 5, window 3 of 1 hits 7"), 35 - 6);
  /* 5 rows of 1000: ceil(log2 1000) = 10 */
  assert_int_equal(applications_of("sort", "parallel 5, reduction 1000"), 5 * 1000 * 10);
  assert_int_equal(applications_of("sort", "parallel 5, reduction 1024"), 5 * 1024 * 10);
  assert_int_equal(applications_of("sort", "reduction 1"), 0);
  assert_int_equal(applications_of("iota", ""), 1);
}

/* 3x3 kernel over 3x3 with SAME padding: along one dimension output 0 meets 2 taps, 1 meets 3, 2 meets 2 = 7 hits. XLA's
 * test has 98 = 2 x 49 operations for it. */
static void test_convolution_counts_taps_on_data(void **state) {
  (void)state;
  struct work_graph *graph = sealed_from("graph\ntensor %0 : f32[1,3,3,1] input\ntensor %1 : f32[3,3,1,1] input\n"
                                         "tensor %2 : f32[1,3,3,1] intermediate output\ninputs %0 %1\noutputs %2\n"
                                         "task 0 convolution reads(%0, %1) writes(%2)\n"
                                         "stage convolution f32 axes(row 1, column 1, reduction 1, row 3, row 3, "
                                         "window 3 of 3 hits 7, window 3 of 4 hits 7) "
                                         "ops(matrix f32 2) reads(%0, %1) writes(%2)\nend\n");
  struct work_gemm gemm;
  assert_int_equal(graph->demands.data[0].ops, 98);
  assert_true(work_stage_gemm(graph, stage_of(graph, 0, 0), &gemm));
  assert_int_equal(gemm.m, 9); /* im2col: output positions x kernel positions */
  assert_int_equal(gemm.k, 9);
  assert_int_equal(gemm.n, 1);
  work_graph_free(graph);
}

static void test_saturation(void **state) {
  (void)state;
  assert_true(applications_of("elementwise", "parallel 9223372036854775807, parallel 9223372036854775807")
              == UINT64_MAX);
}

/* Equal sorts are one entry; free kinds move nothing; an opaque task has bytes and no work. */
static void test_entries(void **state) {
  (void)state;
  struct work_graph *graph = sealed_from(
      "graph\ntensor %0 : f32[8] input\ntensor %1 : f32[8] intermediate\ntensor %2 : f32[2,4] intermediate alias %1\n"
      "tensor %3 : f32[2,4] intermediate output\ninputs %0\noutputs %3\n"
      "task 0 elementwise prefused reads(%0) writes(%1)\n"
      "stage elementwise f32 axes(parallel 8) ops(vector f32 1, function exp f32 2) reads(%0[0]) writes(%1[0])\n"
      "stage elementwise f32 axes(parallel 8) ops(vector f32 3) reads(%0[0]) writes()\n"
      "task 1 reshape reads(%1) writes(%2)\n"
      "stage reshape f32 axes(parallel 2, parallel 4) ops() reads(%1) writes(%2[0,1])\n"
      "task 2 custom opaque reads(%2) writes(%3)\n"
      "stage custom f32 axes(parallel 8) ops(vector f32 9) reads(%2) writes(%3)\nend\n");
  const struct work_task *tasks = graph->tasks.data;
  assert_int_equal(tasks[0].demand_count, 2);
  assert_int_equal(graph->demands.data[0].ops, 8 * (1 + 3));
  assert_int_equal(graph->demands.data[1].ops, 16);
  assert_int_equal(graph->demands.data[1].function, WORK_FUNCTION_EXP);
  assert_int_equal(tasks[1].read_bytes + tasks[1].write_bytes, 0);
  assert_int_equal(tasks[2].read_bytes + tasks[2].write_bytes, 64);
  assert_int_equal(tasks[2].demand_count, 0);
  struct work_total total;
  work_graph_total(graph, &total);
  assert_int_equal(total.launches, 1);
  assert_int_equal(total.opaque_tasks, 1);
  assert_int_equal(total.read_bytes, 32);
  assert_int_equal(total.class_ops[WORK_CLASS_ELEMENTWISE], 8 * (1 + 3) + 16);
  work_graph_free(graph);
}

static void test_packed_types(void **state) {
  (void)state;
  /* 5 four-bit values take 3 bytes */
  struct work_graph *graph = sealed_from("graph\ntensor %0 : i4[5] input\ntensor %1 : i4[5] intermediate output\n"
                                         "inputs %0\noutputs %1\ntask 0 copy reads(%0) writes(%1)\n"
                                         "stage copy i4 axes(parallel 5) ops() reads(%0[0]) writes(%1[0])\nend\n");
  assert_int_equal(graph->tasks.data[0].read_bytes, 3);
  work_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matmul),     cmocka_unit_test(test_applications),
      cmocka_unit_test(test_saturation), cmocka_unit_test(test_convolution_counts_taps_on_data),
      cmocka_unit_test(test_entries),    cmocka_unit_test(test_packed_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
