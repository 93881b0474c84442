/* What a program does, as text and JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "report/report_int.h"
#include "report_fixture.h"

static const struct report_function_cost functions[] = {{"helper", 1, -1, -1, -1}, {"main", 3, 4194304, 0, 229888}};

struct inspected {
  struct work_total total;
  struct work_memory memory;
  struct report_inspection inspection;
};

static void inspect(struct inspected *in, const struct work_graph *graph) {
  work_graph_total(graph, &in->total);
  assert_int_equal(work_graph_memory(graph, &in->memory), STATUS_OK);
  in->inspection = (struct report_inspection){.program = "tiny.mlir",
                                              .version = "0.1.0",
                                              .source = &fixture_source,
                                              .graph = graph,
                                              .total = &in->total,
                                              .memory = &in->memory,
                                              .functions = functions,
                                              .function_count = 2};
}

/* Figures of the golden file: bytes 163,840 read and 66,048 written (report_fixture.h), 4,210,560 / 229,888 = 18.3 FLOP/B;
 * peak = 98,304 bytes of arguments + c and d of 32,768 at the addition. All three operations are bound by memory at 100
 * FLOP/B (the product has 32), so their shares of time are those of bytes: 131,072, 65,536 and 33,280 of 229,888. */
static void test_text_is_as_reasoned_by_hand(void **state) {
  (void)state;
  struct work_graph *graph = fixture_graph();
  struct inspected in;
  inspect(&in, graph);
  struct strbuf out = {0};
  report_inspection_text(&in.inspection, &out);
  assert_false(out.failed);
  char *golden = fixture_golden("inspection.txt");
  assert_string_equal(strbuf_text(&out), golden);
  free(golden);
  strbuf_release(&out);
  work_graph_free(graph);
}

static json_t *json_of(const struct report_inspection *inspection) {
  struct strbuf out = {0};
  assert_int_equal(report_inspection_json(inspection, &out), STATUS_OK);
  json_t *root = json_loadb(strbuf_text(&out), out.length, 0, NULL);
  assert_non_null(root);
  strbuf_release(&out);
  return root;
}

static json_int_t integer_at(const json_t *object, const char *key) {
  assert_true(json_is_integer(json_object_get(object, key)));
  return json_integer_value(json_object_get(object, key));
}

static void test_json_has_the_figures(void **state) {
  (void)state;
  struct work_graph *graph = fixture_graph();
  struct inspected in;
  inspect(&in, graph);
  json_t *root = json_of(&in.inspection);
  assert_string_equal(json_string_value(json_object_get(root, "format")), "ridgeline-inspection");
  const json_t *totals = json_object_get(root, "totals");
  assert_int_equal(integer_at(totals, "flops"), 4210560);
  assert_int_equal(integer_at(totals, "read_bytes"), 163840);
  const json_t *matrix = json_object_get(json_object_get(totals, "units"), "matrix");
  assert_int_equal(integer_at(json_object_get(matrix, "by_type"), "bf16"), 4194304);
  assert_int_equal(integer_at(json_object_get(root, "memory"), "peak_bytes"), 163840);
  const json_t *helper = json_array_get(json_object_get(root, "functions"), 0);
  assert_true(json_is_null(json_object_get(helper, "xla_flops")));
  json_decref(root);
  work_graph_free(graph);
}

/* while (3 trips) { all_reduce of 32 KiB; a custom call of unknown cost } */
static struct work_graph *loop_graph(uint8_t flags) {
  struct work_graph *graph = work_graph_new();
  struct work_graph *body = work_graph_new_inside(graph);
  uint32_t x = work_tensor_add(body, DTYPE_F32, (int64_t[]){128, 64}, 2, WORK_TENSOR_INPUT);
  uint32_t y = work_tensor_add(body, DTYPE_F32, (int64_t[]){128, 64}, 2, WORK_TENSOR_INTERMEDIATE);
  uint32_t z = work_tensor_add(body, DTYPE_F32, (int64_t[]){128, 64}, 2, WORK_TENSOR_INTERMEDIATE);
  struct work_op none = {WORK_ENGINE_INTEGER, DTYPE_I32, WORK_FUNCTION_NONE, 0};
  struct work_access reduce[] = {fixture_access(x, 0, 8192), fixture_access(y, WORK_ACCESS_WRITE, 8192)};
  struct work_access call[] = {fixture_access(y, 0, 8192), fixture_access(z, WORK_ACCESS_WRITE, 8192)};
  fixture_task(body, WORK_COLLECTIVE, DTYPE_F32, "all_reduce", FIXTURE_ADD, NULL, 0, none, reduce, 1);
  vec_push(&body->collectives,
           ((struct work_collective){.kind = WORK_ALL_REDUCE, .group_size = 8, .bytes_per_rank = 32768}));
  body->tasks.data[0].collective = 1;
  fixture_task(body, WORK_CUSTOM, DTYPE_F32, "mystery", FIXTURE_REDUCE, NULL, 0, none, call, 1);
  body->tasks.data[1].flags = WORK_TASK_OPAQUE;
  vec_push(&body->inputs, x);
  vec_push(&body->outputs, z);
  struct work_task loop = {.kind = WORK_LOOP,
                           .flags = flags,
                           .trip_count = flags & WORK_TASK_TRIP_UNKNOWN ? 1 : 3,
                           .subgraph_count = 1,
                           .label = fixture_label(graph, "while"),
                           .source_offset = FIXTURE_DOT};
  loop.subgraph_first = work_subgraph_attach(graph, body);
  work_task_add(graph, &loop, NULL, 0);
  assert_int_equal(work_graph_seal(graph), STATUS_OK);
  return graph;
}

static void test_loops_collectives_and_opaque_operations(void **state) {
  (void)state;
  struct work_graph *graph = loop_graph(0);
  struct inspected in;
  inspect(&in, graph);
  json_t *root = json_of(&in.inspection);
  const json_t *collective = json_array_get(json_object_get(root, "collectives"), 0);
  assert_string_equal(json_string_value(json_object_get(collective, "kind")), work_collective_name(WORK_ALL_REDUCE));
  assert_int_equal(integer_at(collective, "group_size"), 8);
  assert_int_equal(integer_at(collective, "count"), 3);
  assert_int_equal(integer_at(collective, "bytes_per_rank"), 3 * 32768);
  const json_t *loop = json_array_get(json_object_get(root, "loops"), 0);
  assert_int_equal(integer_at(loop, "trips"), 3);
  assert_string_equal(json_string_value(json_object_get(loop, "at")), "tiny.mlir:2");
  const json_t *opaque = json_array_get(json_object_get(root, "opaque"), 0);
  assert_string_equal(json_string_value(json_object_get(opaque, "operation")), "mystery");
  assert_int_equal(integer_at(opaque, "count"), 3);
  json_decref(root);
  struct strbuf out = {0};
  report_inspection_text(&in.inspection, &out);
  assert_non_null(strstr(strbuf_text(&out), "loops\n"));
  assert_non_null(strstr(strbuf_text(&out), "\noperations of unknown cost (in no sum)\n"));
  /* 3 x 32,768 = 98.3 kB */
  assert_non_null(strstr(strbuf_text(&out), "98.3 kB"));
  assert_null(strstr(strbuf_text(&out), " \n"));
  strbuf_release(&out);
  work_graph_free(graph);
}

static void test_unknown_trip_counts_are_said(void **state) {
  (void)state;
  struct work_graph *graph = loop_graph(WORK_TASK_TRIP_UNKNOWN);
  struct inspected in;
  inspect(&in, graph);
  json_t *root = json_of(&in.inspection);
  assert_true(json_is_null(json_object_get(json_array_get(json_object_get(root, "loops"), 0), "trips")));
  json_decref(root);
  struct strbuf out = {0};
  report_inspection_text(&in.inspection, &out);
  assert_non_null(strstr(strbuf_text(&out), "unknown (1 assumed)"));
  strbuf_release(&out);
  work_graph_free(graph);
}

static void test_empty_program(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  assert_int_equal(work_graph_seal(graph), STATUS_OK);
  struct inspected in;
  inspect(&in, graph);
  in.inspection.function_count = 0;
  in.inspection.functions = NULL;
  json_t *root = json_of(&in.inspection);
  assert_true(json_is_null(json_object_get(json_object_get(root, "totals"), "flops_per_byte")));
  assert_true(json_is_null(json_object_get(json_object_get(root, "memory"), "peak_at")));
  json_decref(root);
  struct strbuf out = {0};
  report_inspection_text(&in.inspection, &out);
  assert_null(strstr(strbuf_text(&out), "nan"));
  assert_false(out.failed);
  strbuf_release(&out);
  work_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text_is_as_reasoned_by_hand),
      cmocka_unit_test(test_json_has_the_figures),
      cmocka_unit_test(test_loops_collectives_and_opaque_operations),
      cmocka_unit_test(test_unknown_trip_counts_are_said),
      cmocka_unit_test(test_empty_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
