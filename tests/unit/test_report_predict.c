/* Predictions as text, JSON and trace, of a program whose figures are checked by hand (report_fixture.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "report/report_int.h"
#include "report_fixture.h"

static struct strbuf text_of(const struct report_prediction *prediction) {
  struct strbuf out = {0};
  report_prediction_text(prediction, &out);
  assert_false(out.failed);
  return out;
}

static void test_text_is_as_reasoned_by_hand(void **state) {
  (void)state;
  struct fixture f;
  fixture_init(&f);
  struct strbuf out = text_of(&f.prediction);
  char *golden = fixture_golden("prediction.txt");
  assert_string_equal(strbuf_text(&out), golden);
  free(golden);
  strbuf_release(&out);
  fixture_release(&f);
}

static void test_text_has_no_trailing_blanks(void **state) {
  (void)state;
  struct fixture f;
  fixture_init(&f);
  struct strbuf out = text_of(&f.prediction);
  assert_null(strstr(strbuf_text(&out), " \n"));
  assert_null(strstr(strbuf_text(&out), "nan"));
  strbuf_release(&out);
  fixture_release(&f);
}

static void test_chip_without_fields_says_what_it_lacks(void **state) {
  (void)state;
  struct fixture f;
  fixture_init(&f);
  f.chips[0].missing = "mem.bw, peak.bf16";
  f.estimates[0] = (struct report_estimate){.chip = &f.chips[0], .refusal = f.chips[0].missing};
  struct strbuf out = text_of(&f.prediction);
  assert_non_null(strstr(strbuf_text(&out), "refused: lacks mem.bw, peak.bf16\n"));
  strbuf_release(&out);
  assert_int_equal(report_prediction_json(&f.prediction, &out), STATUS_OK);
  assert_non_null(strstr(strbuf_text(&out), "\"reason\": \"lacks mem.bw, peak.bf16\""));
  strbuf_release(&out);
  fixture_release(&f);
}

static void test_unknown_capacity_is_neither_yes_nor_no(void **state) {
  (void)state;
  struct fixture f;
  fixture_init(&f);
  f.results[1].capacity_bytes = 0;
  struct strbuf out = text_of(&f.prediction);
  assert_non_null(strstr(strbuf_text(&out), "200 kB / ?  unknown\n"));
  assert_null(strstr(strbuf_text(&out), "does not fit"));
  strbuf_release(&out);
  assert_int_equal(report_prediction_json(&f.prediction, &out), STATUS_OK);
  assert_non_null(strstr(strbuf_text(&out), "\"fits\": null"));
  strbuf_release(&out);
  fixture_release(&f);
}

/* The model's sentence has byte counts that the comparison already has in its memory column. */
static void test_refusal_for_memory_is_a_phrase(void **state) {
  (void)state;
  struct fixture f;
  fixture_init(&f);
  work_result_release(&f.results[0]);
  fixture_result(&f.results[0], (double[]){1, 1, 1}, 0);
  f.results[0].is_refused = true;
  f.results[0].capacity_bytes = 1000;
  work_result_note(&f.results[0], DIAG_E0504_DOES_NOT_FIT, 1, "the program needs 200000 bytes, gamma has 1000");
  struct strbuf out = text_of(&f.prediction);
  assert_non_null(strstr(strbuf_text(&out), "200 kB / 1.00 kB  refused: exceeds the only memory of the chip\n"));
  strbuf_release(&out);
  fixture_release(&f);
}

/* Four chips: only the fastest one that the program fits is explained, though a faster one exists. */
static void test_many_chips_explain_the_fastest_that_fits(void **state) {
  (void)state;
  struct fixture f;
  fixture_init(&f);
  struct hw_chip quick = {.id = "quick", .name = "Quick 0", .vendor = "Bolt"};
  struct work_result result;
  fixture_result(&result, (double[]){1e-3, 0, 0}, 0);
  struct report_estimate four[4] = {f.estimates[0], f.estimates[1], f.estimates[2], f.estimates[2]};
  four[3].chip = &quick;
  four[3].result = &result;
  f.prediction.estimates = four;
  f.prediction.count = 4;
  struct strbuf out = text_of(&f.prediction);
  assert_non_null(strstr(strbuf_text(&out), "\nAlpha 1 (alpha): 10.0 ms\n"));
  assert_null(strstr(strbuf_text(&out), "\nBeta 2 (beta)"));
  assert_null(strstr(strbuf_text(&out), "\nQuick 0 (quick)"));
  assert_non_null(strstr(strbuf_text(&out), "the fastest that the program fits"));
  /* 10 ms against 1 ms */
  assert_non_null(strstr(strbuf_text(&out), "10.0×"));
  strbuf_release(&out);
  work_result_release(&result);
  fixture_release(&f);
}

static json_t *parse(struct strbuf *out) {
  json_error_t error;
  json_t *root = json_loadb(strbuf_text(out), out->length, 0, &error);
  if (!root) {
    print_error("%s at line %d: %s\n", error.text, error.line, error.source);
  }
  assert_non_null(root);
  strbuf_release(out);
  return root;
}

static double real_at(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  assert_true(json_is_number(value));
  return json_number_value(value);
}

static const char *string_at(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  assert_true(json_is_string(value));
  return json_string_value(value);
}

static void test_json_has_the_figures(void **state) {
  (void)state;
  struct fixture f;
  fixture_init(&f);
  struct strbuf out = {0};
  assert_int_equal(report_prediction_json(&f.prediction, &out), STATUS_OK);
  json_t *root = parse(&out);
  assert_string_equal(string_at(root, "format"), "ridgeline-prediction");
  const json_t *chips = json_object_get(root, "estimates");
  assert_int_equal(json_array_size(chips), 3);
  const json_t *alpha = json_array_get(chips, 0), *beta = json_array_get(chips, 1), *gamma = json_array_get(chips, 2);
  assert_string_equal(string_at(alpha, "chip"), "alpha");
  assert_float_equal(real_at(alpha, "time_s"), 10e-3, 1e-12);
  assert_string_equal(string_at(alpha, "bound_by"), "memory");
  assert_float_equal(real_at(alpha, "bound_share"), 0.5, 1e-12);
  assert_float_equal(real_at(beta, "times_fastest"), 2, 1e-12);
  assert_float_equal(real_at(json_object_get(alpha, "fusion"), "gain"), 2.5, 1e-12);
  const json_t *operations = json_object_get(alpha, "operations");
  assert_int_equal(json_array_size(operations), 3);
  const json_t *dot = json_array_get(operations, 0);
  assert_string_equal(string_at(dot, "works_on"), "m128 n64 k256 bf16→f32");
  assert_string_equal(string_at(dot, "first_at"), "tiny.mlir:2");
  assert_int_equal(json_integer_value(json_object_get(dot, "flops")), 4194304);
  assert_int_equal(json_integer_value(json_object_get(dot, "bytes")), 131072);
  assert_true(json_is_null(json_object_get(dot, "runs_as")));
  assert_string_equal(string_at(json_array_get(json_object_get(beta, "operations"), 0), "runs_as"), "f32");
  assert_false(json_boolean_value(json_object_get(json_object_get(beta, "memory"), "fits")));
  assert_true(json_is_null(json_object_get(gamma, "time_s")));
  assert_string_equal(string_at(gamma, "reason"), "gamma cannot run bf16");
  json_decref(root);
  fixture_release(&f);
}

static void test_json_takes_any_bytes_as_names(void **state) {
  (void)state;
  struct fixture f;
  fixture_init(&f);
  f.prediction.program = "bad\xFF\x01\"name\\";
  struct strbuf out = {0};
  assert_int_equal(report_prediction_json(&f.prediction, &out), STATUS_OK);
  json_t *root = parse(&out);
  assert_string_equal(string_at(root, "program"), "bad\xEF\xBF\xBD?\"name\\");
  json_decref(root);
  assert_int_equal(report_prediction_trace(&f.prediction, &out), STATUS_OK);
  root = parse(&out);
  assert_string_equal(string_at(json_object_get(root, "otherData"), "program"), "bad\xEF\xBF\xBD?\"name\\");
  json_decref(root);
  fixture_release(&f);
}

/* Complete events of one process and track, in order; their number. */
static size_t slices_of(const json_t *root, int pid, int tid, const json_t **slices, size_t capacity) {
  size_t count = 0, i;
  json_t *event;
  json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
    if (strcmp(string_at(event, "ph"), "X") == 0 && (int)real_at(event, "pid") == pid
        && (int)real_at(event, "tid") == tid) {
      assert_true(count < capacity);
      slices[count++] = event;
    }
  }
  return count;
}

static void assert_slice(const json_t *slice, const char *name, double begin_us, double length_us) {
  assert_string_equal(string_at(slice, "name"), name);
  assert_float_equal(real_at(slice, "ts"), begin_us, 1e-3);
  assert_float_equal(real_at(slice, "dur"), length_us, 1e-3);
}

static void test_trace_shows_kernels_and_bounds(void **state) {
  (void)state;
  struct fixture f;
  fixture_init(&f);
  struct strbuf out = {0};
  assert_int_equal(report_prediction_trace(&f.prediction, &out), STATUS_OK);
  json_t *root = parse(&out);
  const json_t *slices[16];
  assert_int_equal(slices_of(root, 1, 1, slices, 16), 4);
  assert_slice(slices[0], "dispatch", 0, 1000);
  assert_slice(slices[1], "dot_general", 1000, 4000);
  assert_slice(slices[2], "add", 5000, 3000);
  assert_slice(slices[3], "reduce", 8000, 2000);
  const json_t *args = json_object_get(slices[3], "args");
  assert_string_equal(string_at(args, "works on"), "f32[128,64]→f32[128]");
  assert_string_equal(string_at(args, "at"), "tiny.mlir:4");
  assert_int_equal(json_integer_value(json_object_get(args, "flops")), 8192 - 128);
  /* the second and third kernel are one run of memory-bound time */
  assert_int_equal(slices_of(root, 1, 2, slices, 16), 2);
  assert_slice(slices[0], "matrix", 1000, 4000);
  assert_slice(slices[1], "memory", 5000, 5000);
  /* beta is the second process, gamma none */
  assert_int_equal(slices_of(root, 2, 1, slices, 16), 4);
  assert_int_equal(slices_of(root, 3, 1, slices, 16), 0);
  const json_t *other = json_object_get(root, "otherData");
  assert_string_equal(string_at(json_object_get(other, "refused"), "gamma"), "gamma cannot run bf16");
  assert_false(json_boolean_value(json_object_get(other, "truncated")));
  json_decref(root);
  fixture_release(&f);
}

/* A loop of `trips` around the three operations; the result takes 9 ms per iteration. */
struct loop_fixture {
  struct work_graph *graph;
  struct work_result result;
  struct hw_chip chip;
  struct report_estimate estimate;
  struct report_prediction prediction;
};

static void loop_init(struct loop_fixture *f, uint64_t trips) {
  memset(f, 0, sizeof *f);
  f->graph = work_graph_new();
  struct work_graph *body = work_graph_new_inside(f->graph);
  uint32_t c = work_tensor_add(body, DTYPE_F32, (int64_t[]){128, 64}, 2, WORK_TENSOR_INPUT);
  uint32_t d = work_tensor_add(body, DTYPE_F32, (int64_t[]){128, 64}, 2, WORK_TENSOR_INTERMEDIATE);
  struct work_axis axes[] = {{.extent = 128, .role = WORK_AXIS_PARALLEL}, {.extent = 64, .role = WORK_AXIS_PARALLEL}};
  struct work_op add = {WORK_ENGINE_VECTOR, DTYPE_F32, WORK_FUNCTION_NONE, 1};
  struct work_access accesses[] = {fixture_access(c, 0, 8192), fixture_access(d, WORK_ACCESS_WRITE, 8192)};
  fixture_task(body, WORK_ELEMENTWISE, DTYPE_F32, "add", FIXTURE_ADD, axes, 2, add, accesses, 1);
  vec_push(&body->inputs, c);
  vec_push(&body->outputs, d);
  body->tensors.data[d].is_output = true;
  struct work_task loop = {.kind = WORK_LOOP,
                           .trip_count = trips,
                           .subgraph_count = 1,
                           .label = fixture_label(f->graph, "while"),
                           .source_offset = FIXTURE_DOT};
  loop.subgraph_first = work_subgraph_attach(f->graph, body);
  work_task_add(f->graph, &loop, NULL, 0);
  assert_int_equal(work_graph_seal(f->graph), STATUS_OK);

  work_result_init(&f->result);
  struct work_graph_result *root = &f->result.root;
  root->tasks = arena_calloc(&f->result.arena, 1, sizeof *root->tasks);
  root->subgraphs = arena_calloc(&f->result.arena, 1, sizeof *root->subgraphs);
  root->subgraphs[0].tasks = arena_calloc(&f->result.arena, 1, sizeof *root->tasks);
  root->subgraphs[0].tasks[0] = (struct work_task_result){.time_s = 1e-3, .bound = WORK_BOUND_VECTOR};
  root->subgraphs[0].time_s = 1e-3;
  root->tasks[0] = (struct work_task_result){.time_s = 1e-3 * (double)trips, .bound = WORK_BOUND_VECTOR};
  root->time_s = f->result.time_s = 1e-3 * (double)trips;
  f->result.bound_s[WORK_BOUND_VECTOR] = root->time_s;
  f->chip = (struct hw_chip){.id = "alpha", .name = "Alpha 1", .vendor = "Acme"};
  f->estimate = (struct report_estimate){.chip = &f->chip, .graph = f->graph, .result = &f->result};
  f->prediction = (struct report_prediction){.program = "loop",
                                             .fidelity = "roofline",
                                             .source = &fixture_source,
                                             .estimates = &f->estimate,
                                             .count = 1,
                                             .top = 5};
}

static void loop_release(struct loop_fixture *f) {
  work_result_release(&f->result);
  work_graph_free(f->graph);
}

static void test_loops_are_multiplied_out(void **state) {
  (void)state;
  struct loop_fixture f;
  loop_init(&f, 32);
  struct report_groups groups;
  report_groups_collect(&groups, f.graph, &f.result.root, true);
  assert_false(groups.failed);
  /* the loop itself takes nothing beyond its 32 additions */
  assert_int_equal(groups.rows.count, 1);
  assert_int_equal(groups.rows.data[0].count, 32);
  assert_float_equal(groups.rows.data[0].time_s, 32e-3, 1e-9);
  assert_int_equal(groups.rows.data[0].flops, 32 * 8192);
  assert_int_equal(groups.rows.data[0].bytes, 32 * 65536);
  report_groups_release(&groups);
  loop_release(&f);
}

static void test_trace_summarises_long_loops(void **state) {
  (void)state;
  struct loop_fixture f;
  loop_init(&f, 32);
  struct strbuf out = {0};
  assert_int_equal(report_prediction_trace(&f.prediction, &out), STATUS_OK);
  json_t *root = parse(&out);
  const json_t *slices[16];
  assert_int_equal(slices_of(root, 1, 1, slices, 16), 1 + REPORT_TRACE_ITERATIONS + 1);
  assert_slice(slices[0], "while ×32", 0, 32000);
  for (int i = 0; i < REPORT_TRACE_ITERATIONS; i++) {
    assert_slice(slices[1 + i], "add", 1000.0 * i, 1000);
  }
  assert_slice(slices[1 + REPORT_TRACE_ITERATIONS], "iterations 9 to 32, 1.00 ms each", 8000, 24000);
  /* shortening loops is not a truncation */
  assert_false(json_boolean_value(json_object_get(json_object_get(root, "otherData"), "truncated")));
  json_decref(root);
  loop_release(&f);
}

/* The body of a loop of 0 trips takes no time and does nothing. */
static void test_loops_of_no_iteration_are_nothing(void **state) {
  (void)state;
  struct loop_fixture f;
  loop_init(&f, 0);
  struct strbuf out = text_of(&f.prediction);
  assert_null(strstr(strbuf_text(&out), "add"));
  strbuf_release(&out);
  assert_int_equal(report_prediction_trace(&f.prediction, &out), STATUS_OK);
  json_t *root = parse(&out);
  const json_t *slices[4];
  assert_int_equal(slices_of(root, 1, 1, slices, 4), 0);
  json_decref(root);
  loop_release(&f);
}

/* More kernels than a trace holds: it stays within its bound, says so, and covers the whole time. */
static void test_trace_is_bounded(void **state) {
  (void)state;
  enum { TASKS = REPORT_TRACE_EVENTS + 5000 };
  struct fixture f;
  fixture_init(&f);
  struct work_task task = f.graph->tasks.data[1];
  while (f.graph->tasks.count < TASKS) {
    assert_true(vec_push(&f.graph->tasks, task));
  }
  struct work_result *result = &f.results[2];
  result->root.tasks = arena_calloc(&result->arena, TASKS, sizeof *result->root.tasks);
  for (int i = 0; i < TASKS; i++) {
    /* bounds alternate, so that every kernel also ends a run */
    result->root.tasks[i] =
        (struct work_task_result){.time_s = 1e-6, .bound = i % 2 ? WORK_BOUND_MEMORY : WORK_BOUND_VECTOR};
  }
  result->root.time_s = result->time_s = TASKS * 1e-6;
  result->dispatch_s = 0;
  f.prediction.estimates = &f.estimates[2];
  f.prediction.count = 1;
  struct strbuf out = {0};
  assert_int_equal(report_prediction_trace(&f.prediction, &out), STATUS_OK);
  json_t *root = parse(&out);
  const json_t *other = json_object_get(root, "otherData");
  assert_true(json_boolean_value(json_object_get(other, "truncated")));
  size_t slices = 0, i;
  double end_us = 0;
  json_t *event;
  json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
    if (strcmp(string_at(event, "ph"), "X") == 0) {
      double event_end = real_at(event, "ts") + real_at(event, "dur");
      end_us = event_end > end_us ? event_end : end_us;
      slices++;
    }
  }
  assert_in_range(slices, REPORT_TRACE_EVENTS - 10, REPORT_TRACE_EVENTS);
  assert_int_equal(json_integer_value(json_object_get(other, "slices")), slices);
  assert_float_equal(end_us, TASKS, 1e-2);
  json_decref(root);
  fixture_release(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text_is_as_reasoned_by_hand),
      cmocka_unit_test(test_text_has_no_trailing_blanks),
      cmocka_unit_test(test_chip_without_fields_says_what_it_lacks),
      cmocka_unit_test(test_unknown_capacity_is_neither_yes_nor_no),
      cmocka_unit_test(test_refusal_for_memory_is_a_phrase),
      cmocka_unit_test(test_many_chips_explain_the_fastest_that_fits),
      cmocka_unit_test(test_json_has_the_figures),
      cmocka_unit_test(test_json_takes_any_bytes_as_names),
      cmocka_unit_test(test_trace_shows_kernels_and_bounds),
      cmocka_unit_test(test_loops_are_multiplied_out),
      cmocka_unit_test(test_trace_summarises_long_loops),
      cmocka_unit_test(test_loops_of_no_iteration_are_nothing),
      cmocka_unit_test(test_trace_is_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
