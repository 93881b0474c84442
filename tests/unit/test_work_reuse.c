/* Reuse distances of accesses that touch a part of their storage: slices of stacked tensors, updates in place. */
#include "work_fixture.h"

#define TENSOR(n, rest) "tensor %" #n " : f32[100] " rest "\n"
#define COPY(n, in, out)                                                                                               \
  "task " #n " copy reads(%" in ") writes(%" out ")\n"                                                                 \
  "stage copy f32 axes(parallel 100) ops() reads(%" in ") writes(%" out ")\n"

/* w stacks ten slices of 100; each task takes another one: none was touched before. */
static void slices_of_an_input_are_cold(void **state) {
  (void)state;
  struct work_graph *graph =
      sealed_from("graph\ntensor %0 : f32[10, 100] input\n" TENSOR(1, "intermediate output") TENSOR(
          2, "intermediate output") "inputs %0\noutputs %1 %2\n" COPY(0, "0=100", "1") COPY(1, "0=100", "2") "end\n");
  assert_true(border_of(graph, 0, 0)->reuse_bytes == UINT64_MAX);
  assert_true(border_of(graph, 1, 0)->reuse_bytes == UINT64_MAX);
  work_graph_free(graph);
}

/* A storage that was written whole holds its slices; at worst the slice was written first, so that its distance is what
 * came after the whole plus the rest of the whole. */
static void slices_of_what_was_written_whole_are_near(void **state) {
  (void)state;
  struct work_graph *graph = sealed_from(
      "graph\ntensor %0 : f32[10, 100] input\ntensor %1 : f32[10, 100] intermediate\n" TENSOR(2, "intermediate output")
          TENSOR(3, "intermediate output") "inputs %0\noutputs %2 %3\n"
                                           "task 0 copy reads(%0) writes(%1)\n"
                                           "stage copy f32 axes(parallel 1000) ops() reads(%0) writes(%1)\n" COPY(
                                               1, "1=100", "2") COPY(2, "1=100", "3") "end\n");
  assert_int_equal(border_of(graph, 1, 0)->reuse_bytes, 3600);
  /* a slice does not renew the whole: 400 bytes read and 400 written since */
  assert_int_equal(border_of(graph, 2, 0)->reuse_bytes, 3600 + 800);
  work_graph_free(graph);
}

/* Reading everything after only slices were touched is cold; after that it is near. */
static void the_whole_after_a_part_is_cold(void **state) {
  (void)state;
  struct work_graph *graph =
      sealed_from("graph\n" TENSOR(0, "input") TENSOR(1, "intermediate output") TENSOR(2, "intermediate output")
                      TENSOR(3, "intermediate output") "inputs %0\noutputs %1 %2 %3\n" COPY(0, "0=10", "1")
                          COPY(1, "0", "2") COPY(2, "0", "3") "end\n");
  assert_true(border_of(graph, 1, 0)->reuse_bytes == UINT64_MAX);
  assert_int_equal(border_of(graph, 2, 0)->reuse_bytes, 400);
  work_graph_free(graph);
}

/* A scan over stacked weights: every iteration takes its own slice of w, reads all of v, and hands s on. */
static void a_scan_finds_only_what_it_touches_whole(void **state) {
  (void)state;
  struct work_graph *graph =
      sealed_from("graph\ntensor %0 : f32[10, 100] input\n" TENSOR(1, "input") TENSOR(2, "input") TENSOR(
          3,
          "intermediate output") "inputs %0 %1 %2\noutputs %3\n"
                                 "task 0 loop trips 10 reads(%0, %1, %2) writes(%3)\n"
                                 "graph\ntensor %0 : f32[10, 100] input\n" TENSOR(1, "input") TENSOR(2, "input") TENSOR(
                                     3, "intermediate output") "inputs %0 %1 %2\noutputs %3\ncarried %2 -> %3\n"
                                                               "task 0 elementwise reads(%0=100, %1, %2) writes(%3)\n"
                                                               "stage elementwise f32 axes(parallel 100) ops(vector "
                                                               "f32 2) reads(%0=100, %1, %2) writes(%3)\n"
                                                               "end\nend\n");
  const struct work_graph *body = graph->subgraphs.data[0];
  assert_true(border_of(body, 0, 0)->reuse_bytes == UINT64_MAX);
  /* an iteration touches 4 x 400 bytes; within it 400 of w come before v, 800 before s */
  assert_int_equal(border_of(body, 0, 1)->reuse_bytes, 1600 + 400);
  assert_int_equal(border_of(body, 0, 2)->reuse_bytes, 1600 + 800);
  work_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slices_of_an_input_are_cold),
      cmocka_unit_test(slices_of_what_was_written_whole_are_near),
      cmocka_unit_test(the_whole_after_a_part_is_cold),
      cmocka_unit_test(a_scan_finds_only_what_it_touches_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
