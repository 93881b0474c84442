/* Which operations are added up, and how branches, fused tasks and remainders are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "report/report_int.h"
#include "report_fixture.h"

/* An addition of `rows` x 64 elements: a task of its own graph's tensors. */
static void add_addition(struct work_graph *graph, int64_t rows) {
  uint32_t x = work_tensor_add(graph, DTYPE_F32, (int64_t[]){rows, 64}, 2, WORK_TENSOR_INPUT);
  uint32_t y = work_tensor_add(graph, DTYPE_F32, (int64_t[]){rows, 64}, 2, WORK_TENSOR_INTERMEDIATE);
  struct work_axis axes[] = {{.extent = rows, .role = WORK_AXIS_PARALLEL}, {.extent = 64, .role = WORK_AXIS_PARALLEL}};
  struct work_op add = {WORK_ENGINE_VECTOR, DTYPE_F32, WORK_FUNCTION_NONE, 1};
  uint64_t elements = (uint64_t)rows * 64;
  struct work_access accesses[] = {fixture_access(x, 0, elements), fixture_access(y, WORK_ACCESS_WRITE, elements)};
  fixture_task(graph, WORK_ELEMENTWISE, DTYPE_F32, "add", FIXTURE_ADD, axes, 2, add, accesses, 1);
  vec_push(&graph->inputs, x);
  vec_push(&graph->outputs, y);
  graph->tensors.data[y].is_output = true;
}

static void test_equal_shapes_are_one_row(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  add_addition(graph, 8);
  add_addition(graph, 16);
  add_addition(graph, 8);
  assert_int_equal(work_graph_seal(graph), STATUS_OK);
  struct report_groups groups;
  report_groups_collect(&groups, graph, NULL, true);
  assert_int_equal(groups.rows.count, 2);
  /* 2 x 8 rows take as long as 16: equal times are ordered by count */
  assert_int_equal(groups.rows.data[0].count, 2);
  assert_int_equal(groups.rows.data[0].flops, 2 * 8 * 64);
  report_groups_release(&groups);
  report_groups_collect(&groups, graph, NULL, false);
  assert_int_equal(groups.rows.count, 1);
  assert_int_equal(groups.rows.data[0].count, 3);
  /* 2,048 elements in all, 8 bytes each */
  assert_int_equal(groups.rows.data[0].bytes, 2048 * 8);
  report_groups_release(&groups);
  work_graph_free(graph);
}

/* if { 8 rows } else { 16 rows } */
static struct work_graph *branch_graph(void) {
  struct work_graph *graph = work_graph_new();
  struct work_task task = {.kind = WORK_CONDITIONAL, .subgraph_count = 2, .label = fixture_label(graph, "if")};
  for (int i = 0; i < 2; i++) {
    struct work_graph *branch = work_graph_new_inside(graph);
    add_addition(branch, i ? 16 : 8);
    uint32_t index = work_subgraph_attach(graph, branch);
    task.subgraph_first = i ? task.subgraph_first : index;
  }
  work_task_add(graph, &task, NULL, 0);
  assert_int_equal(work_graph_seal(graph), STATUS_OK);
  return graph;
}

static void test_conditionals_show_the_costliest_branch(void **state) {
  (void)state;
  struct work_graph *graph = branch_graph();
  struct report_groups groups;
  report_groups_collect(&groups, graph, NULL, true);
  assert_int_equal(groups.rows.count, 1);
  assert_int_equal(groups.rows.data[0].flops, 16 * 64);
  report_groups_release(&groups);
  work_graph_free(graph);
}

/* With a result the slowest branch counts, here the one with less work; what the conditional takes beyond it is a row. */
static void test_results_decide_the_branch_and_leave_a_remainder(void **state) {
  (void)state;
  struct work_graph *graph = branch_graph();
  struct work_task_result first = {.time_s = 3e-3, .bound = WORK_BOUND_MEMORY};
  struct work_task_result second = {.time_s = 1e-3, .bound = WORK_BOUND_MEMORY};
  struct work_task_result whole = {.time_s = 5e-3, .bound = WORK_BOUND_LAUNCH};
  struct work_graph_result branches[2] = {{.tasks = &first, .time_s = 3e-3}, {.tasks = &second, .time_s = 1e-3}};
  struct work_graph_result root = {.tasks = &whole, .subgraphs = branches, .time_s = 5e-3};
  struct report_groups groups;
  report_groups_collect(&groups, graph, &root, true);
  assert_int_equal(groups.rows.count, 2);
  assert_int_equal(groups.rows.data[0].flops, 8 * 64);
  assert_float_equal(groups.rows.data[0].time_s, 3e-3, 1e-12);
  assert_string_equal(report_label(groups.rows.data[1].graph, report_group_task(&groups.rows.data[1])), "if");
  assert_float_equal(groups.rows.data[1].time_s, 2e-3, 1e-12);
  assert_int_equal(report_group_bound(&groups.rows.data[1]), WORK_BOUND_LAUNCH);
  report_groups_release(&groups);
  work_graph_free(graph);
}

/* A task of three computations, one of them free: the name counts the other one that works. */
static void test_fused_tasks_name_what_they_hold(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = work_tensor_add(graph, DTYPE_F32, (int64_t[]){8}, 1, WORK_TENSOR_INPUT);
  uint32_t y = work_tensor_add(graph, DTYPE_F32, (int64_t[]){8}, 1, WORK_TENSOR_INTERMEDIATE);
  uint32_t label = fixture_label(graph, "reduce");
  static const enum work_kind kinds[] = {WORK_ELEMENTWISE, WORK_RESHAPE, WORK_REDUCE};
  for (int i = 0; i < 3; i++) {
    struct work_stage stage = {.kind = (uint8_t)kinds[i], .dtype = DTYPE_F32, .read_count = 1, .label = label};
    struct work_access accesses[] = {fixture_access(x, 0, 8), fixture_access(y, WORK_ACCESS_WRITE, 8)};
    work_stage_add(graph, &stage, NULL, 0, NULL, 0, accesses, NULL, 2);
  }
  struct work_access border[] = {fixture_access(x, 0, 8), fixture_access(y, WORK_ACCESS_WRITE, 8)};
  struct work_task task = {.kind = WORK_REDUCE, .read_count = 1, .label = label};
  work_task_add(graph, &task, border, 2);
  struct strbuf name = {0}, shape = {0};
  report_task_name(graph, &graph->tasks.data[0], &name);
  assert_string_equal(strbuf_text(&name), "reduce +1");
  report_task_shape(graph, &graph->tasks.data[0], &shape);
  assert_string_equal(strbuf_text(&shape), "f32[8]→f32[8]");
  strbuf_release(&name);
  strbuf_release(&shape);
  work_graph_free(graph);
}

static void test_convolutions_show_their_window(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = work_tensor_add(graph, DTYPE_BF16, (int64_t[]){1, 8, 8, 16}, 4, WORK_TENSOR_INPUT);
  uint32_t w = work_tensor_add(graph, DTYPE_BF16, (int64_t[]){3, 3, 16, 32}, 4, WORK_TENSOR_INPUT);
  uint32_t y = work_tensor_add(graph, DTYPE_BF16, (int64_t[]){1, 6, 6, 32}, 4, WORK_TENSOR_INTERMEDIATE);
  struct work_axis axes[] = {{.extent = 6, .role = WORK_AXIS_ROW},
                             {.extent = 6, .role = WORK_AXIS_ROW},
                             {.extent = 32, .role = WORK_AXIS_COLUMN},
                             {.extent = 16, .role = WORK_AXIS_REDUCTION},
                             {.extent = 3, .role = WORK_AXIS_WINDOW, .partner = 0, .hits = 18},
                             {.extent = 3, .role = WORK_AXIS_WINDOW, .partner = 1, .hits = 18}};
  struct work_op multiply_add = {WORK_ENGINE_MATRIX, DTYPE_BF16, WORK_FUNCTION_NONE, 2};
  struct work_access accesses[] = {fixture_access(x, 0, 1024), fixture_access(w, 0, 4608),
                                   fixture_access(y, WORK_ACCESS_WRITE, 1152)};
  fixture_task(graph, WORK_CONVOLUTION, DTYPE_BF16, "convolution", FIXTURE_DOT, axes, 6, multiply_add, accesses, 2);
  struct strbuf shape = {0};
  report_task_shape(graph, &graph->tasks.data[0], &shape);
  assert_string_equal(strbuf_text(&shape), "bf16[1,6,6,32] k16 w3×3");
  strbuf_release(&shape);
  work_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equal_shapes_are_one_row),
      cmocka_unit_test(test_conditionals_show_the_costliest_branch),
      cmocka_unit_test(test_results_decide_the_branch_and_leave_a_remainder),
      cmocka_unit_test(test_fused_tasks_name_what_they_hold),
      cmocka_unit_test(test_convolutions_show_their_window),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
