/* Sealing, totals, memory, unrolling and the verifier on small graphs whose answers are counted by hand. */
#include "work_fixture.h"

#include "work/work_result.h"

/* Tensors of 100 f32 = 400 bytes. a = f(x); b = f(a); c = a + b. */
#define UNARY(n, in, out)                                                                                              \
  "task " #n " elementwise reads(%" #in ") writes(%" #out ")\n"                                                        \
  "stage elementwise f32 axes(parallel 100) ops(vector f32 1) reads(%" #in "[0]) writes(%" #out "[0])\n"
#define BINARY(n, a, b, out)                                                                                           \
  "task " #n " elementwise reads(%" #a ", %" #b ") writes(%" #out ")\n"                                                \
  "stage elementwise f32 axes(parallel 100) ops(vector f32 1) reads(%" #a "[0], %" #b "[0]) writes(%" #out "[0])\n"
#define TENSOR(n, rest) "tensor %" #n " : f32[100] " rest "\n"

static const char diamond[] = "graph\n" TENSOR(0, "input") TENSOR(1, "intermediate") TENSOR(2, "intermediate")
    TENSOR(3, "intermediate output") "inputs %0\noutputs %3\n" UNARY(0, 0, 1) UNARY(1, 1, 2) BINARY(2, 1, 2, 3) "end\n";

static void test_dependencies(void **state) {
  (void)state;
  struct work_graph *graph = sealed_from(diamond);
  assert_int_equal(graph->tensors.data[0].producer, 0);
  assert_int_equal(graph->tensors.data[2].producer, 2);
  assert_true(graph->tensors.data[2].is_materialised);
  const struct work_task *last = &graph->tasks.data[2];
  assert_int_equal(graph->tasks.data[0].dependency_count, 0);
  assert_int_equal(last->dependency_count, 2);
  assert_int_equal(graph->dependencies.data[last->dependency_first], 0);
  assert_int_equal(graph->dependencies.data[last->dependency_first + 1], 1);
  work_graph_free(graph);
}

static void test_reuse_distance(void **state) {
  (void)state;
  struct work_graph *graph = sealed_from(diamond);
  assert_true(border_of(graph, 0, 0)->reuse_bytes == UINT64_MAX); /* x was never touched */
  assert_true(border_of(graph, 0, 1)->reuse_bytes == UINT64_MAX);
  assert_int_equal(border_of(graph, 1, 0)->reuse_bytes, 0); /* a was touched last */
  /* order of touches: x a | a b | a b c. Between the two reads of a lies the write of b. */
  assert_int_equal(border_of(graph, 2, 0)->reuse_bytes, 400);
  /* b: between its write and its read lies the read of a */
  assert_int_equal(border_of(graph, 2, 1)->reuse_bytes, 400);
  work_graph_free(graph);
}

/* An update in place waits for everyone who reads the storage before it. */
static void test_in_place(void **state) {
  (void)state;
  struct work_graph *graph =
      sealed_from("graph\n" TENSOR(0, "input donated") TENSOR(1, "intermediate output") TENSOR(2, "input")
                      TENSOR(3, "intermediate output alias %0") "inputs %0 %2\noutputs %1 %3\n" UNARY(
                          0, 0, 1) "task 1 elementwise reads(%2) writes(%3!in_place)\n"
                                   "stage elementwise f32 axes(parallel 100) ops(vector f32 1) reads(%2[0]) "
                                   "writes(%3[0]!in_place)\nend\n");
  const struct work_task *update = &graph->tasks.data[1];
  assert_int_equal(update->dependency_count, 1); /* reads nothing of task 0, but overwrites what it reads */
  assert_int_equal(graph->dependencies.data[update->dependency_first], 0);
  /* storage of %0 was read (400 B), then %1 written, then %2 read */
  assert_int_equal(border_of(graph, 1, 1)->reuse_bytes, 800);
  struct work_memory memory;
  assert_int_equal(work_graph_memory(graph, &memory), STATUS_OK);
  assert_int_equal(memory.peak_bytes, 3 * 400); /* %3 has no storage of its own */
  assert_int_equal(memory.output_bytes, 800);
  work_graph_free(graph);
}

static void test_memory_of_chain(void **state) {
  (void)state;
  /* x -> a -> b -> c, x kept: at each step x, one operand and one result live */
  struct work_graph *graph =
      sealed_from("graph\n" TENSOR(0, "input") TENSOR(1, "intermediate") TENSOR(2, "intermediate") TENSOR(
          3, "intermediate output") "inputs %0\noutputs %3\n" UNARY(0, 0, 1) UNARY(1, 1, 2) UNARY(2, 2, 3) "end\n");
  struct work_memory memory;
  assert_int_equal(work_graph_memory(graph, &memory), STATUS_OK);
  assert_int_equal(memory.peak_bytes, 3 * 400);
  assert_int_equal(memory.temporary_peak_bytes, 2 * 400);
  assert_int_equal(memory.argument_bytes, 400);
  assert_int_equal(memory.peak_task, 1);
  graph->tensors.data[0].is_donated = true; /* now x dies after task 0 */
  assert_int_equal(work_graph_memory(graph, &memory), STATUS_OK);
  assert_int_equal(memory.peak_bytes, 2 * 400);
  work_graph_free(graph);
}

/* Ten iterations of s = s + w, s carried and w invariant. */
static const char loop[] = "graph\n" TENSOR(0, "input") TENSOR(1, "input") TENSOR(
    2, "intermediate output") "inputs %0 %1\noutputs %2\n"
                              "task 0 loop trips 10 reads(%0, %1) writes(%2)\n"
                              "graph\n" TENSOR(0, "input") TENSOR(1, "input") TENSOR(2, "intermediate") TENSOR(
                                  3, "intermediate output") "inputs %0 %1\noutputs %3\ncarried %0 -> %3\n" BINARY(0, 0,
                                                                                                                  1, 2)
                                  UNARY(1, 2, 3) "end\nend\n";

static void test_loop(void **state) {
  (void)state;
  struct work_graph *graph = sealed_from(loop);
  struct work_total total;
  work_graph_total(graph, &total);
  assert_int_equal(total.ops[WORK_ENGINE_VECTOR], 10 * 200);
  assert_int_equal(total.read_bytes, 10 * 3 * 400);
  assert_int_equal(total.write_bytes, 10 * 2 * 400);
  assert_int_equal(total.launches, 20);
  const struct work_graph *body = graph->subgraphs.data[0];
  /* an iteration touches 5 x 400 bytes; inputs of the body were touched one iteration ago */
  assert_int_equal(border_of(body, 0, 0)->reuse_bytes, 2000);
  struct work_memory memory;
  assert_int_equal(work_graph_memory(graph, &memory), STATUS_OK);
  /* outside: two inputs and the result; inside: the sum and what leaves the iteration */
  assert_int_equal(memory.peak_bytes, 3 * 400 + 2 * 400);
  work_graph_free(graph);
}

static void test_unroll(void **state) {
  (void)state;
  struct work_graph *graph = sealed_from(loop), *unrolled = NULL;
  assert_int_equal(work_unroll(graph, 9, &unrolled), STATUS_OK);
  assert_int_equal(unrolled->tasks.count, 1); /* ten iterations are too many */
  work_graph_free(unrolled);
  assert_int_equal(work_unroll(graph, 10, &unrolled), STATUS_OK);
  assert_int_equal(unrolled->tasks.count, 20);
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(work_graph_verify(unrolled, &diags), STATUS_OK);
  diag_release(&diags);
  struct work_total before, after;
  work_graph_total(graph, &before);
  work_graph_total(unrolled, &after);
  assert_int_equal(after.ops[WORK_ENGINE_VECTOR], before.ops[WORK_ENGINE_VECTOR]);
  assert_int_equal(after.read_bytes, before.read_bytes);
  /* iteration i waits for i - 1, and the last one makes the output */
  assert_int_equal(graph->tasks.data[0].dependency_count, 0);
  const struct work_task *third = &unrolled->tasks.data[2];
  assert_int_equal(unrolled->dependencies.data[third->dependency_first], 1);
  assert_int_equal(unrolled->tensors.data[unrolled->outputs.data[0]].producer, 20);
  work_graph_free(unrolled);
  work_graph_free(graph);
}

/* Of two branches the one with more FLOPs counts, even if the other moves more bytes. */
static void test_conditional(void **state) {
  (void)state;
  struct work_graph *graph = sealed_from("graph\ntensor %0 : i1[] input\n" TENSOR(1, "input") TENSOR(
      2, "intermediate output") "inputs %0 %1\noutputs %2\n"
                                "task 0 conditional reads(%0, %1) writes(%2)\n"
                                "graph\ntensor %0 : i1[] input\n" TENSOR(1, "input") TENSOR(
                                    2,
                                    "intermediate output") "inputs %0 %1\noutputs %2\n"
                                                           "task 0 copy reads(%1) writes(%2)\n"
                                                           "stage copy f32 axes(parallel 100) ops() reads(%1[0]) "
                                                           "writes(%2[0])\nend\n"
                                                           "graph\ntensor %0 : i1[] input\n" TENSOR(1, "input") TENSOR(
                                                               2,
                                                               "intermediate output") "inputs %0 %1\noutputs %2\n"
                                                                                      "task 0 elementwise reads(%1=1) "
                                                                                      "writes(%2)\n"
                                                                                      "stage elementwise f32 "
                                                                                      "axes(parallel 100) ops(function "
                                                                                      "tanh f32 1) reads(%1=1) "
                                                                                      "writes(%2[0])\nend\nend\n");
  struct work_total total;
  work_graph_total(graph, &total);
  assert_int_equal(total.ops[WORK_ENGINE_FUNCTION], 100);
  assert_int_equal(total.read_bytes, 4);
  assert_int_equal(total.class_tasks[WORK_CLASS_MOVEMENT], 0);
  work_graph_free(graph);
}

static void expect_broken(const char *text, const char *part) {
  struct work_graph *graph = graph_from(text);
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(work_graph_verify(graph, &diags), STATUS_INPUT);
  assert_int_equal(diags.entries.data[0].id, DIAG_E0405_WORK_GRAPH);
  if (strstr(diags.entries.data[0].message, part) == NULL) {
    fail_msg("'%s' lacks '%s'", diags.entries.data[0].message, part);
  }
  diag_release(&diags);
  work_graph_free(graph);
}

static void test_verifier(void **state) {
  (void)state;
  expect_broken("graph\n" TENSOR(0, "input") TENSOR(1, "intermediate")
                    TENSOR(2, "intermediate output") "inputs %0\noutputs %2\n" UNARY(0, 1, 2) UNARY(1, 0, 1) "end\n",
                "reads tensor %1 before it is produced");
  expect_broken("graph\n" TENSOR(0, "input") TENSOR(1, "intermediate output") "inputs %0\noutputs %1\n" UNARY(0, 0, 1)
                    UNARY(1, 0, 1) "end\n",
                "written elsewhere");
  expect_broken("graph\n" TENSOR(0, "input") TENSOR(1, "intermediate output") "inputs %0\noutputs %1\nend\n",
                "never produced");
  expect_broken(
      "graph\n" TENSOR(0, "input") TENSOR(
          1, "intermediate output") "inputs %0\noutputs %1\n"
                                    "task 0 elementwise reads() writes(%1)\n"
                                    "stage elementwise f32 axes(parallel 100) ops() reads(%0[0]) writes(%1[0])\nend\n",
      "which its border lacks");
  expect_broken(
      "graph\n" TENSOR(0, "input") TENSOR(
          1, "intermediate output") "inputs %0\noutputs %1\n"
                                    "task 0 elementwise reads(%0) writes(%1)\n"
                                    "stage elementwise f32 axes(parallel 100) ops() reads() writes(%1[0])\nend\n",
      "no stage reads it");
  expect_broken(
      "graph\n" TENSOR(0, "input") TENSOR(
          1, "intermediate output") "inputs %0\noutputs %1\n"
                                    "task 0 elementwise reads(%0) writes(%1)\n"
                                    "stage elementwise f32 axes(parallel 100) ops() reads(%0[1]) writes(%1[0])\nend\n",
      "an axis that its stage does not have");
  expect_broken("graph\n" TENSOR(0, "input") TENSOR(1, "intermediate alias %2")
                    TENSOR(2, "intermediate alias %1") "inputs %0\noutputs\nend\n",
                "shares storage with itself");
  expect_broken("graph\n" TENSOR(0, "input")
                    TENSOR(1, "intermediate output") "inputs %0\noutputs %1\n"
                                                     "task 0 loop trips 3 reads(%0) writes(%1)\n"
                                                     "graph\ninputs\noutputs\nend\nend\n",
                "different inputs or outputs");
  struct work_graph *graph = graph_from(diamond);
  graph->tensors.data[1].size_bytes++;
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(work_graph_verify(graph, &diags), STATUS_INPUT);
  diag_release(&diags);
  work_graph_free(graph);
}

static void test_notes(void **state) {
  (void)state;
  struct work_result result;
  work_result_init(&result);
  work_result_note(&result, DIAG_W0502_DTYPE_AS, 2, "%s runs as %s", "f8", "bf16");
  work_result_note(&result, DIAG_W0502_DTYPE_AS, 3, "%s runs as %s", "f8", "bf16");
  work_result_note(&result, DIAG_W0502_DTYPE_AS, 1, "%s runs as %s", "f4", "bf16");
  assert_int_equal(result.notes.count, 2);
  assert_int_equal(result.notes.data[0].count, 5);
  assert_string_equal(result.notes.data[1].text, "f4 runs as bf16");
  work_result_release(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dependencies),    cmocka_unit_test(test_reuse_distance), cmocka_unit_test(test_in_place),
      cmocka_unit_test(test_memory_of_chain), cmocka_unit_test(test_loop),           cmocka_unit_test(test_unroll),
      cmocka_unit_test(test_conditional),     cmocka_unit_test(test_verifier),       cmocka_unit_test(test_notes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
