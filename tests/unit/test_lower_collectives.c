/* The compiler's rewrites of collectives. What must happen is worked out by hand on small programs; on the workloads the
 * counts are those of XLA's own output (data/workloads/README.md: 272 all_reduce + 100 all_gather become 4 all_reduce + 51
 * reduce_scatter, which StableHLO text cannot show combined, + 12 all_gather). */
#include "lower_fixture.h"

#define MODULE "module attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 4 : i32} {\n"
#define GROUPS                                                                                                         \
  "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : "        \
  "tensor<1x4xi64>, use_global_device_ids"
#define HALVES                                                                                                         \
  "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : "      \
  "tensor<2x2xi64>, use_global_device_ids"
#define REDUCE_BY(op, result, operand, groups, type)                                                                   \
  result " = \"stablehlo.all_reduce\"(" operand ") <{" groups "}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"       \
         " %s = stablehlo." op " %x, %y : tensor<f32>\n stablehlo.return %s : tensor<f32> }) : (" type ") -> " type    \
         "\n"
#define REDUCE(result, operand, type) REDUCE_BY("add", result, operand, GROUPS, type)
#define GATHER(result, operand)                                                                                        \
  result " = \"stablehlo.all_gather\"(" operand ") <{all_gather_dim = 0 : i64, " GROUPS                                \
         "}> : (tensor<8xf32>) -> tensor<32xf32>\n"
/* The offset of this device's part: 2 x partition_id */
#define OFFSET                                                                                                         \
  "%zero = stablehlo.constant dense<0> : tensor<i32>\n %two = stablehlo.constant dense<2> : tensor<i32>\n"             \
  "%id = stablehlo.partition_id : tensor<ui32>\n %n = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>\n"         \
  "%at = stablehlo.multiply %n, %two : tensor<i32>\n"

struct rewritten {
  struct lowered lowered;
  struct lower_collective_report report;
  struct work_graph *graph;
};

static void check_graph(const struct work_graph *graph) {
  struct diag_list diags;
  diag_init(&diags);
  if (work_graph_verify(graph, &diags) != STATUS_OK) {
    fail_msg("%s", diags.entries.data[0].message);
  }
  diag_release(&diags);
}

static void rewrite(struct rewritten *r, const char *text, uint64_t bytes) {
  struct lower_collective_options options = {true, true, bytes > 0, bytes, bytes, bytes, 0};
  lowered_from(&r->lowered, text);
  assert_int_equal(lower_collectives(r->lowered.graph, &options, &r->report, &r->graph), STATUS_OK);
  check_graph(r->graph);
}

static void release(struct rewritten *r) {
  work_graph_free(r->graph);
  lowered_release(&r->lowered);
}

static const struct work_collective *collective_at(const struct work_graph *graph, uint32_t n) {
  for (size_t i = 0; i < graph->tasks.count; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    if (task->collective != 0 && n-- == 0) {
      return &graph->collectives.data[task->collective - 1];
    }
  }
  fail_msg("there is no such collective");
  return NULL;
}

/* ---- reduce-scatters ---- */

#define SLICED(reduce, more)                                                                                           \
  MODULE                                                                                                               \
  "func.func @main(%a: tensor<8x4xf32>, %d: tensor<i32>) -> (tensor<2x4xf32>, tensor<8x4xf32>) {\n" OFFSET reduce      \
  "%p = stablehlo.dynamic_slice %r, " more                                                                             \
  ", sizes = [2, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>\n"
#define ALONE " return %p, %a : tensor<2x4xf32>, tensor<8x4xf32> }\n}"

static void test_reduce_scatter(void **state) {
  (void)state;
  struct rewritten r;
  rewrite(&r, SLICED(REDUCE("%r", "%a", "tensor<8x4xf32>"), "%at, %zero") ALONE, 0);
  assert_int_equal(r.report.reduce_scatters, 1);
  assert_int_equal(r.report.before.count[WORK_ALL_REDUCE], 1);
  assert_int_equal(r.report.after.count[WORK_ALL_REDUCE], 0);
  assert_int_equal(r.report.after.count[WORK_REDUCE_SCATTER], 1);
  const struct work_collective *c = collective_at(r.graph, 0);
  assert_int_equal(c->kind, WORK_REDUCE_SCATTER);
  assert_int_equal(c->input_bytes, 8 * 4 * 4);
  assert_int_equal(c->output_bytes, 2 * 4 * 4);
  assert_int_equal(c->bytes_per_rank, 8 * 4 * 4);
  assert_int_equal(c->group_size, 4);
  const struct work_graph *inside;
  assert_null(task_find(r.graph, "dynamic_slice", &inside)); /* and nobody needs the offset any more */
  assert_null(task_find(r.graph, "multiply", &inside));
  release(&r);
}

static void check_no_reduce_scatter(const char *text) {
  struct rewritten r;
  rewrite(&r, text, 0);
  assert_int_equal(r.report.reduce_scatters, 0);
  assert_int_equal(r.report.after.count[WORK_ALL_REDUCE], 1);
  release(&r);
}

static void test_other_slices_stay(void **state) {
  (void)state;
  /* at a place that comes with the data */
  check_no_reduce_scatter(SLICED(REDUCE("%r", "%a", "tensor<8x4xf32>"), "%d, %zero") ALONE);
  /* at the same place everywhere */
  check_no_reduce_scatter(SLICED(REDUCE("%r", "%a", "tensor<8x4xf32>"), "%zero, %zero") ALONE);
  /* the whole is needed too */
  check_no_reduce_scatter(SLICED(REDUCE("%r", "%a", "tensor<8x4xf32>"),
                                 "%at, %zero") " return %p, %r : tensor<2x4xf32>, tensor<8x4xf32> }\n}");
  /* quarters among two */
  check_no_reduce_scatter(SLICED(REDUCE_BY("add", "%r", "%a", HALVES, "tensor<8x4xf32>"), "%at, %zero") ALONE);
}

/* ---- duplicates ---- */

static void test_duplicates(void **state) {
  (void)state;
  struct rewritten r;
  rewrite(&r,
          MODULE "func.func @main(%a: tensor<8xf32>) -> tensor<32xf32> {\n" GATHER("%p", "%a")
              GATHER("%q", "%a") " %r = stablehlo.add %p, %q : tensor<32xf32>\n return %r : tensor<32xf32> }\n}",
          0);
  assert_int_equal(r.report.duplicates, 1);
  assert_int_equal(r.report.after.count[WORK_ALL_GATHER], 1);
  const struct work_graph *inside;
  const struct work_task *add = task_find(r.graph, "add", &inside);
  assert_int_equal(add->read_count, 1); /* what it adds to itself is read once */
  release(&r);
  rewrite(&r,
          MODULE "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n" REDUCE("%p", "%a", "tensor<8xf32>")
              REDUCE_BY("maximum", "%q", "%a", GROUPS, "tensor<8xf32>")
                  REDUCE_BY("add", "%t", "%a", HALVES, "tensor<8xf32>") " %u = stablehlo.add %p, %q : tensor<8xf32>\n "
                                                                        "%r = stablehlo.add %u, %t : tensor<8xf32>\n"
                                                                        " return %r : tensor<8xf32> }\n}",
          0);
  assert_int_equal(r.report.duplicates, 0); /* another reduction, other groups */
  release(&r);
}

/* ---- combinations ---- */

#define THREE                                                                                                          \
  MODULE "func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) -> (tensor<32xf32>, "               \
         "tensor<32xf32>, tensor<32xf32>) {\n" GATHER("%p", "%a") GATHER("%q", "%b")                                   \
             GATHER("%t", "%c") " return %p, %q, %t : tensor<32xf32>, tensor<32xf32>, tensor<32xf32> }\n}"

static void test_threshold(void **state) {
  (void)state;
  struct rewritten r;
  rewrite(&r, THREE, 3 * 128); /* results of 32 x 4 bytes each: all three fit */
  assert_int_equal(r.report.after.count[WORK_ALL_GATHER], 1);
  assert_int_equal(r.report.combined, 3);
  assert_int_equal(r.report.combinations, 1);
  const struct work_collective *c = collective_at(r.graph, 0);
  assert_int_equal(c->bytes_per_rank, 3 * 128);
  assert_int_equal(c->input_bytes, 3 * 32);
  assert_int_equal(c->output_bytes, 3 * 128);
  assert_int_equal(r.graph->tasks.data[0].read_count, 3);
  assert_int_equal(r.graph->tasks.data[0].access_count, 6);
  assert_int_equal(r.report.before.bytes[WORK_ALL_GATHER], r.report.after.bytes[WORK_ALL_GATHER]);
  release(&r);
  rewrite(&r, THREE, 3 * 128 - 1);
  assert_int_equal(r.report.after.count[WORK_ALL_GATHER], 2);
  release(&r);
  rewrite(&r, THREE, 127); /* each alone is too large */
  assert_int_equal(r.report.after.count[WORK_ALL_GATHER], 3);
  release(&r);
}

/* b follows from a's sum, c does not: {a, c} would do, but a set ends at the first that depends on it. */
static void test_dependent_ones_stay_apart(void **state) {
  (void)state;
  struct rewritten r;
  rewrite(
      &r,
      MODULE "func.func @main(%a: tensor<8xf32>, %c: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {\n" REDUCE(
          "%p", "%a", "tensor<8xf32>") " %h = stablehlo.tanh %p : tensor<8xf32>\n" REDUCE("%q", "%h", "tensor<8xf32>")
          REDUCE("%t", "%c", "tensor<8xf32>") " return %q, %t : tensor<8xf32>, tensor<8xf32> }\n}",
      1 << 20);
  assert_int_equal(r.report.after.count[WORK_ALL_REDUCE], 2);
  assert_int_equal(r.report.combined, 2);
  assert_int_equal(r.graph->tasks.data[r.graph->tasks.count - 1].read_count, 2); /* q with t, after tanh */
  release(&r);
}

/* Two pairs that may be combined each, but not both: a waits for d's half of the pair, c for b's. */
static void test_no_circles(void **state) {
  (void)state;
  struct rewritten r;
  rewrite(&r,
          MODULE "func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<32xf32>) {\n" REDUCE(
              "%p", "%a", "tensor<8xf32>")
              GATHER("%q", "%b") " %h = stablehlo.tanh %p : tensor<8xf32>\n" GATHER(
                  "%t", "%h") " %s1 = stablehlo.slice %q "
                              "[0:8] : (tensor<32xf32>) "
                              "-> tensor<8xf32>\n" REDUCE("%u", "%s1", "tensor<8xf32>") " retu"
                                                                                        "rn "
                                                                                        "%u, "
                                                                                        "%t : "
                                                                                        "tenso"
                                                                                        "r<"
                                                                                        "8xf32"
                                                                                        ">, "
                                                                                        "tenso"
                                                                                        "r<"
                                                                                        "32xf3"
                                                                                        "2> "
                                                                                        "}\n}",
          1 << 20);
  /* all-reduces p and u join and stand behind gather q; then gather t, which needs p, cannot join q */
  assert_int_equal(r.report.after.count[WORK_ALL_REDUCE], 1);
  assert_int_equal(r.report.after.count[WORK_ALL_GATHER], 2);
  release(&r);
}

static void test_sorts_stay_apart(void **state) {
  (void)state;
  struct rewritten r;
  rewrite(&r,
          MODULE
          "func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, "
          "tensor<8xf32>) {\n" REDUCE("%p", "%a", "tensor<8xf32>")
              REDUCE_BY("maximum", "%q", "%b", GROUPS, "tensor<8xf32>")
                  REDUCE_BY("add", "%t", "%c", HALVES,
                            "tensor<8xf32>") " return %p, %q, %t : tensor<8xf32>, tensor<8xf32>, tensor<8xf32> }\n}",
          1 << 20);
  assert_int_equal(r.report.after.count[WORK_ALL_REDUCE], 3);
  release(&r);
}

/* Explicit start and done: the program is taken at its word. */
static void test_as_written(void **state) {
  (void)state;
  struct rewritten r;
  rewrite(&r,
          MODULE "func.func @main(%a: tensor<8xf32>) -> (tensor<32xf32>, tensor<32xf32>) {\n"
                 "%f = \"stablehlo.async_start\"(%a) ({\n^bb0(%in: tensor<8xf32>):\n" GATHER(
                     "%g", "%in") " stablehlo.return %g : tensor<32xf32> }) : (tensor<8xf32>) -> "
                                  "!stablehlo.future<tensor<32xf32>>\n" GATHER(
                                      "%q", "%a") "%p = \"stablehlo.async_done\"(%f) : "
                                                  "(!stablehlo.future<tensor<32xf32>>) "
                                                  "-> tensor<32xf32>\n"
                                                  " return %p, %q : tensor<32xf32>, "
                                                  "tensor<32xf32> }\n}",
          1 << 20);
  assert_true(r.report.is_as_written);
  assert_int_equal(r.report.after.count[WORK_ALL_GATHER], 2);
  assert_int_equal(r.graph->tasks.count, r.lowered.graph->tasks.count);
  release(&r);
}

/* The offset comes from outside of the loop, the reduction is inside. */
static void test_inside_loops(void **state) {
  (void)state;
  struct rewritten r;
  rewrite(&r,
          MODULE
          "func.func @main(%a: tensor<8x4xf32>, %p0: tensor<2x4xf32>) -> tensor<2x4xf32> {\n" OFFSET
          " %i0 = stablehlo.constant dense<0> : tensor<i32>\n"
          "%w:2 = stablehlo.while(%i = %i0, %acc = %p0) : tensor<i32>, tensor<2x4xf32>\n cond {\n"
          " %end = stablehlo.constant dense<3> : tensor<i32>\n"
          " %c = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
          " stablehlo.return %c : tensor<i1> } do {\n"
          " %one = stablehlo.constant dense<1> : tensor<i32>\n %in = stablehlo.add %i, %one : tensor<i32>\n" REDUCE(
              "%r", "%a", "tensor<8x4xf32>") "%p = stablehlo.dynamic_slice %r, %at, %zero, sizes = [2, 4] : "
                                             "(tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> "
                                             "tensor<2x4xf32>\n %sum = stablehlo.add %acc, %p : tensor<2x4xf32>\n"
                                             " stablehlo.return %in, %sum : tensor<i32>, tensor<2x4xf32> }\n return "
                                             "%w#1 : tensor<2x4xf32> }\n}",
          0);
  assert_int_equal(r.report.reduce_scatters, 1);
  assert_int_equal(r.report.before.count[WORK_ALL_REDUCE], 3);
  assert_int_equal(r.report.after.count[WORK_REDUCE_SCATTER], 3);
  release(&r);
}

/* ---- against XLA's own output ---- */

static void test_llama(void **state) {
  (void)state;
  char path[1024];
  if (!data_path(path, sizeof path, "workloads/gen_llama3-100m_4dev.mlir")) {
    skip();
  }
  struct rewritten r;
  struct input_file file;
  assert_true(lowered_file(&r.lowered, &file, path));
  struct lower_collective_options options = {true, true, false, 0, 0, 0, 0};
  assert_int_equal(lower_collectives(r.lowered.graph, &options, &r.report, &r.graph), STATUS_OK);
  check_graph(r.graph);
  assert_int_equal(r.report.before.count[WORK_ALL_REDUCE], 272);
  assert_int_equal(r.report.before.count[WORK_ALL_GATHER], 100);
  assert_int_equal(r.report.after.count[WORK_REDUCE_SCATTER], 51); /* XLA: 51 */
  struct work_graph *combined = NULL;
  options.combines = true; /* thresholds of that run: docs of the workloads */
  options.all_reduce_bytes = options.all_gather_bytes = (uint64_t)128 << 20;
  options.reduce_scatter_bytes = (uint64_t)64 << 20;
  struct lower_collective_report report;
  assert_int_equal(lower_collectives(r.graph, &options, &report, &combined), STATUS_OK);
  check_graph(combined);
  assert_int_equal(report.after.count[WORK_ALL_REDUCE], 4); /* XLA: 4 */
  assert_in_range(report.after.count[WORK_ALL_GATHER], 9, 15); /* XLA: 12, in its own order of instructions */
  assert_int_equal(report.before.bytes[WORK_ALL_GATHER], report.after.bytes[WORK_ALL_GATHER]);
  assert_int_equal(report.before.bytes[WORK_REDUCE_SCATTER], report.after.bytes[WORK_REDUCE_SCATTER]);
  work_graph_free(combined);
  release(&r);
  input_file_release(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reduce_scatter),
      cmocka_unit_test(test_other_slices_stay),
      cmocka_unit_test(test_duplicates),
      cmocka_unit_test(test_threshold),
      cmocka_unit_test(test_dependent_ones_stay_apart),
      cmocka_unit_test(test_no_circles),
      cmocka_unit_test(test_sorts_stay_apart),
      cmocka_unit_test(test_as_written),
      cmocka_unit_test(test_inside_loops),
      cmocka_unit_test(test_llama),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
