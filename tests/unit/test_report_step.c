/* Reports of a step with invented numbers: every figure has its unit, parts are named, remarks follow from the numbers; slices
 * of a trace keep apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "step_fixture.h"

static void assert_has(const char *text, const char *part) {
  if (!strstr(text, part)) {
    fail_msg("lacks \"%s\":\n%s", part, text);
  }
}

static void assert_has_not(const char *text, const char *part) {
  if (strstr(text, part)) {
    fail_msg("has \"%s\":\n%s", part, text);
  }
}

static char *text_of(struct step_fixture *f) {
  struct strbuf out = {0};
  report_step_text(&f->report, &out);
  assert_false(out.failed);
  return out.data;
}

static void test_text_has_every_part(void **state) {
  (void)state;
  struct step_fixture f;
  step_fixture_init(&f);
  char *text = text_of(&f);
  static const char *const parts[] = {"10.0 ms",
                                      "9.00 ms – 12.0 ms",
                                      "computation",
                                      "6.00 ms",
                                      "exposed communication",
                                      "  all_gather",
                                      "  send_recv",
                                      "pipeline bubble",
                                      "waiting for the slowest",
                                      "dispatch",
                                      "1.00 M tokens/s",
                                      "500 samples/s",
                                      "MFU 40 %",
                                      "HFU 50 %",
                                      "28 J",
                                      "5e-05 USD",
                                      "0.005 USD per million tokens", /* 0.00005 USD for 10 ms x 1 M tokens/s */
                                      "optimizer state",
                                      "40.0 GB",
                                      "of 80.0 GB",
                                      "512 B",
                                      "ring",
                                      "simple",
                                      "2 pipeline stages of 2 devices, 2 micro-batches, 1f1b schedule"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    assert_has(text, parts[i]);
  }
  free(text);
  step_fixture_release(&f);
}

static void test_collectives_most_exposed_first(void **state) {
  (void)state;
  struct step_fixture f;
  step_fixture_init(&f);
  f.report.top = 1;
  char *text = text_of(&f);
  const char *table = strstr(text, "collectives, alike ones");
  assert_non_null(table);
  assert_has(table, "all_gather");
  assert_has(table, "1 more kind takes 1.00 ms; --top N lists more");
  free(text);
  step_fixture_release(&f);
}

/* 100 GB on 80 GB: 20 GB too much. Parameters of 20 GB are not more than that, activations of 25 GB and an optimizer of 40 GB
 * are; nobody chooses the runtime's reserve. */
static void test_says_what_would_make_it_fit(void **state) {
  (void)state;
  struct step_fixture f;
  step_fixture_init(&f);
  char *text = text_of(&f);
  assert_has(text, "does not fit: 20.0 GB too much");
  assert_has(text, "optimizer state of 20.0 GB instead of 40.0 GB");
  assert_has(text, "activations of 5.00 GB instead of 25.0 GB");
  assert_has_not(text, "with parameters");
  assert_has_not(text, "with runtime");
  free(text);
  f.result.memory.fits = true;
  f.result.memory.capacity_bytes = 120e9;
  text = text_of(&f);
  assert_has_not(text, "does not fit");
  free(text);
  step_fixture_release(&f);
}

static void test_says_when_the_network_does_not_matter(void **state) {
  (void)state;
  struct step_fixture f;
  step_fixture_init(&f);
  char *text = text_of(&f);
  assert_has(text,
             "exposed communication takes 2.00 ms (20 % of the step), most of it all_gather with 1.50 ms; another "
             "1.00 ms runs beside computation");
  free(text);
  f.result.exposed_s = 0.01e-3;
  text = text_of(&f);
  assert_has(text,
             "the network hardly matters here: of 3.00 ms of communication 10.0 µs (0.1 % of the step) is exposed");
  free(text);
  f.result.exposed_s = f.result.communication_s = 0;
  text = text_of(&f);
  assert_has(text, "the network does not matter here: the program has no communication between devices");
  free(text);
  step_fixture_release(&f);
}

/* (p - 1) / (m + p - 1) with p = 2 stages and m = 2 micro-batches: a third. */
static void test_bubble_is_compared_with_its_closed_form(void **state) {
  (void)state;
  struct step_fixture f;
  step_fixture_init(&f);
  char *text = text_of(&f);
  assert_has(text, "the pipeline waits 1.50 ms (15 % of the step): 2 stages, 2 micro-batches, 1f1b schedule; without "
                   "delays it were 33 %");
  free(text);
  step_fixture_release(&f);
}

static void test_unknown_is_left_out(void **state) {
  (void)state;
  struct step_fixture f;
  step_fixture_init(&f);
  f.result.tokens_per_s = f.result.samples_per_s = f.result.mfu = f.result.hfu = NAN;
  f.result.energy_J = f.result.price_usd = NAN;
  f.result.memory.capacity_bytes = 0;
  char *text = text_of(&f);
  assert_has_not(text, "nan");
  assert_has_not(text, "rates ");
  assert_has_not(text, "per step ");
  assert_has(text, "memory size not known");
  free(text);
  step_fixture_release(&f);
}

static void test_refused_come_last(void **state) {
  (void)state;
  struct step_fixture f;
  step_fixture_init(&f);
  struct report_step_row rows[2] = {{.cluster = &f.cluster, .refusal = "has 2 devices, the program needs 4"}, f.row};
  f.report.rows = rows;
  f.report.count = 2;
  size_t order[2];
  report_step_order(&f.report, order);
  assert_int_equal(order[0], 1);
  assert_int_equal(order[1], 0);
  char *text = text_of(&f);
  assert_has(text, "refused: has 2 devices, the program needs 4");
  free(text);
  step_fixture_release(&f);
}

static void test_json(void **state) {
  (void)state;
  struct step_fixture f;
  step_fixture_init(&f);
  f.result.tokens_per_s = NAN;
  struct strbuf out = {0};
  assert_int_equal(report_step_json(&f.report, &out), STATUS_OK);
  json_t *root = json_loadb(out.data, out.length, 0, NULL);
  assert_non_null(root);
  assert_string_equal(json_string_value(json_object_get(root, "format")), "ridgeline-step");
  json_t *step = json_array_get(json_object_get(root, "steps"), 0);
  json_t *causes = json_object_get(step, "time_by_cause");
  double sum = 0;
  const char *key;
  json_t *value;
  json_object_foreach(causes, key, value) {
    sum += json_number_value(value);
  }
  assert_int_equal(json_object_size(causes), 5);
  assert_true(fabs(sum - json_number_value(json_object_get(step, "time_s"))) < 1e-12);
  assert_true(json_is_null(json_object_get(step, "tokens_per_s")));
  assert_true(json_is_false(json_object_get(json_object_get(step, "memory"), "fits")));
  assert_int_equal(json_array_size(json_object_get(step, "collectives")), 2);
  assert_int_equal(json_array_size(json_object_get(step, "notes")), 4);
  assert_int_equal(json_integer_value(json_object_get(json_object_get(step, "pipeline"), "stages")), 2);
  json_decref(root);
  strbuf_release(&out);
  step_fixture_release(&f);
}

/* ---- trace ---- */

static json_t *trace_of(struct step_fixture *f) {
  struct strbuf out = {0};
  assert_int_equal(report_step_trace(&f->report, &out), STATUS_OK);
  json_error_t error;
  json_t *root = json_loadb(out.data, out.length, 0, &error);
  if (!root) {
    fail_msg("%s at %d", error.text, error.position);
  }
  strbuf_release(&out);
  return root;
}

static const char *member(const json_t *event, const char *key) {
  return json_string_value(json_object_get(event, key));
}

static double number(const json_t *event, const char *key) {
  return json_number_value(json_object_get(event, key));
}

static void test_trace_names_stages_and_streams(void **state) {
  (void)state;
  struct step_fixture f;
  step_fixture_init(&f);
  json_t *root = trace_of(&f), *event;
  size_t i, slices = 0, processes = 0, threads = 0;
  json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
    slices += strcmp(member(event, "ph"), "X") == 0;
    processes += strcmp(member(event, "name"), "process_name") == 0;
    threads += strcmp(member(event, "name"), "thread_name") == 0;
  }
  assert_int_equal(slices, 2 * 5 * 2 + 1);
  assert_int_equal(processes, 2);
  assert_int_equal(threads, 4);
  json_decref(root);
  step_fixture_release(&f);
}

static void test_trace_says_what_is_exchanged(void **state) {
  (void)state;
  struct step_fixture f;
  step_fixture_init(&f);
  json_t *root = trace_of(&f), *event;
  size_t i, gathers = 0, waits = 0;
  json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
    waits += strcmp(member(event, "name"), "waiting") == 0;
    if (strcmp(member(event, "ph"), "X") == 0 && strcmp(member(event, "name"), "all_gather") == 0) {
      const json_t *args = json_object_get(event, "args");
      assert_int_equal(json_integer_value(json_object_get(args, "bytes")), STEP_BUFFER);
      assert_string_equal(member(args, "algorithm"), "ring");
      assert_string_equal(member(args, "pass"), "forward");
      assert_true(number(event, "tid") == 2);
      gathers++;
    }
  }
  assert_int_equal(gathers, 4);
  assert_int_equal(waits, 1);
  json_decref(root);
  step_fixture_release(&f);
}

/* Also when spans overlap by what was rounded, or come in any order. */
static void test_slices_of_a_track_keep_apart(void **state) {
  (void)state;
  struct step_fixture f;
  step_fixture_init(&f);
  step_span_add(&f, 0, STEP_FORWARD, 0, 0, 0, 399600, 1000499); /* begins before the one at 0 has ended */
  json_t *root = trace_of(&f), *event;
  double end[3][3] = {{0}};
  size_t i;
  json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
    if (strcmp(member(event, "ph"), "X") != 0) {
      continue;
    }
    double *last = &end[(int)number(event, "pid")][(int)number(event, "tid")];
    assert_true(number(event, "dur") > 0);
    assert_true(number(event, "ts") >= *last - 1e-9);
    *last = number(event, "ts") + number(event, "dur");
  }
  json_decref(root);
  step_fixture_release(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text_has_every_part),
      cmocka_unit_test(test_collectives_most_exposed_first),
      cmocka_unit_test(test_says_what_would_make_it_fit),
      cmocka_unit_test(test_says_when_the_network_does_not_matter),
      cmocka_unit_test(test_bubble_is_compared_with_its_closed_form),
      cmocka_unit_test(test_unknown_is_left_out),
      cmocka_unit_test(test_refused_come_last),
      cmocka_unit_test(test_json),
      cmocka_unit_test(test_trace_names_stages_and_streams),
      cmocka_unit_test(test_trace_says_what_is_exchanged),
      cmocka_unit_test(test_slices_of_a_track_keep_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
