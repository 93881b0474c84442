/* Reports of plans: sums and levels by hand, the text's figures, and that JSON, trace and page are what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "plan_report_fixture.h"
#include "report/report_plan_int.h"

static struct report_plan plan_of(const struct plan_result *result) {
  return (struct report_plan){.program = "tiny.mlir", .version = "9.9", .result = result};
}

static void test_chosen(void **state) {
  (void)state;
  struct plan_result *result = fixture_result();
  assert_string_equal(report_plan_chosen(result)->policy->name, "joint");
  result->rows[2].status = STATUS_INPUT; /* then the real chip's, though the reference is faster */
  assert_string_equal(report_plan_chosen(result)->policy->name, "static");
  result->rows[0].status = STATUS_INPUT;
  assert_string_equal(report_plan_chosen(result)->policy->name, "ideal");
  result->rows[1].status = STATUS_INPUT;
  assert_null(report_plan_chosen(result));
  fixture_free(result);
}

static void test_groups(void **state) {
  (void)state;
  struct plan_result *result = fixture_result();
  struct report_plan_group *groups;
  uint32_t count;
  assert_int_equal(report_plan_groups(result, &result->rows[2], false, &groups, &count), STATUS_OK);
  assert_int_equal(count, 2);
  assert_int_equal(groups[0].first, 0); /* the two products, 10 µs each */
  assert_int_equal(groups[0].count, 2);
  assert_int_equal(groups[0].time_ps, 20 * FIXTURE_US);
  assert_int_equal(groups[0].phases.compute_ps, 12 * FIXTURE_US);
  assert_int_equal(groups[0].phases.distribute_ps, 2 * FIXTURE_US);
  assert_int_equal(groups[0].wait_load_ps, 10 * FIXTURE_US); /* before the first */
  assert_int_equal(groups[0].wait_link_ps, 0);
  assert_int_equal(groups[0].load_ps, 20 * FIXTURE_US);
  assert_int_equal(groups[0].peak_bytes, 61440);
  assert_int_equal(groups[1].time_ps, 3 * FIXTURE_US);
  free(groups);
  assert_int_equal(report_plan_groups(result, &result->rows[2], true, &groups, &count), STATUS_OK);
  assert_int_equal(count, 2);
  assert_int_equal(groups[0].time_ps, 13 * FIXTURE_US);
  assert_int_equal(groups[1].time_ps, 10 * FIXTURE_US);
  free(groups);
  fixture_free(result);
}

static void test_levels(void **state) {
  (void)state;
  static const struct report_plan_level wanted[] = {{0, 0, 0, 40960},
                                                    {10 * FIXTURE_US, 40960, 0, 20480},
                                                    {20 * FIXTURE_US, 0, 4096, 20480},
                                                    {20 * FIXTURE_US, 8192, 4096, 20480},
                                                    {23 * FIXTURE_US, 0, 0, 20480},
                                                    {23 * FIXTURE_US, 40960, 0, 0},
                                                    {33 * FIXTURE_US, 0, 0, 0}};
  struct plan_result *result = fixture_result();
  struct report_plan_level *levels;
  size_t count;
  assert_int_equal(report_plan_levels(result, &result->rows[2], &levels, &count), STATUS_OK);
  assert_int_equal(count, sizeof wanted / sizeof *wanted);
  for (size_t i = 0; i < count; i++) {
    assert_memory_equal(&levels[i], &wanted[i], sizeof wanted[i]);
  }
  free(levels);
  fixture_free(result);
}

/* Runs of blanks count as one: columns are as wide as their cells. */
static void assert_has(const struct strbuf *out, const char *text) {
  struct strbuf squeezed = {0};
  for (const char *at = strbuf_text(out); *at; at++) {
    if (at[0] != ' ' || at[1] != ' ') {
      strbuf_putc(&squeezed, *at);
    }
  }
  if (!strstr(strbuf_text(&squeezed), text)) {
    fail_msg("lacks '%s':\n%s", text, strbuf_text(out));
  }
  strbuf_release(&squeezed);
}

static void test_text(void **state) {
  (void)state;
  static const struct plan_ablation_row ablation[] = {{"all", 33 * FIXTURE_US, 30 * FIXTURE_US},
                                                      {"without fusion", 66 * FIXTURE_US, 60 * FIXTURE_US}};
  static const struct plan_what_if what_if = {.latency_ps = 25 * FIXTURE_US, .sram_bytes = 204800};
  struct plan_result *result = fixture_result();
  struct report_plan plan = plan_of(result);
  struct strbuf out = {0};
  plan.ablation = ablation;
  plan.ablation_count = 2;
  plan.what_if = &what_if;
  plan.operators = 1;
  report_plan_text(&plan, &out);
  assert_has(&out, "tiny.mlir on tiny: 4 cores × 100 KiB for plans, links 1.00 GB/s, memory 10.0 GB/s\n");
  assert_has(&out, "3 operators of 2 sorts in 2 layers; 200 kB from memory, 2.00 GFLOP matrix, 3.00 MFLOP other\n");
  assert_has(&out, "\njoint 33.0 µs 10 % 65 % 61 % 50 % 25 % 10.0 µs - 60 KiB 125 ms\n");
  assert_has(&out, "\nideal * 30.0 µs");
  assert_has(&out, "\nexact refused\n");
  assert_has(&out, "exact: the program is too large for it\n");
  assert_has(&out, "no plan of the plan space is faster than 30.0 µs (flow shop 30.0 µs, links 14.0 µs)\n");
  assert_has(&out, "(1,205 plans priced, 34 left out by bounds, 2 kept)\n");
  assert_has(&out, "\nnorms 5 3\n");
  assert_has(&out, "\nwithout fusion 66.0 µs 100 % 60.0 µs 10 %\n");
  assert_has(
      &out, "\n25.0 µs is reached with 200 KiB of SRAM for plans per core (now 100 KiB), nor by faster memory alone\n");
  assert_has(&out, "\ndot_general 32×64×128 1×4×1 2 20.0 µs 61 % 12.0 µs 6.00 µs 2.00 µs 20.0 µs 10.0 µs - 60 KiB\n");
  assert_has(&out, "\n1 1 10.0 µs");
  strbuf_release(&out);
  fixture_free(result);
}

static void test_json(void **state) {
  (void)state;
  struct plan_result *result = fixture_result();
  struct report_plan plan = plan_of(result);
  struct strbuf out = {0};
  assert_int_equal(report_plan_json(&plan, &out), STATUS_OK);
  json_t *root = json_loads(strbuf_text(&out), 0, NULL);
  assert_non_null(root);
  json_t *joint = json_array_get(json_object_get(root, "policies"), 2);
  assert_string_equal(json_string_value(json_object_get(root, "chosen")), "joint");
  assert_true(json_real_value(json_object_get(joint, "time_s")) == 33e-6);
  assert_int_equal(json_integer_value(json_object_get(joint, "peak_sram_bytes")), 61440);
  json_t *exact = json_array_get(json_object_get(root, "policies"), 3);
  assert_true(json_is_true(json_object_get(exact, "refused")));
  assert_null(json_object_get(exact, "time_s"));
  assert_true(json_is_null(json_object_get(root, "ablation")));
  assert_int_equal(json_array_size(json_object_get(root, "operators")), 2);
  assert_int_equal(json_array_size(json_object_get(root, "layers")), 2);
  json_decref(root);
  strbuf_release(&out);
  fixture_free(result);
}

/* Sum of the durations of one track's slices in microseconds; the largest value of a counter's member. */
static double track_us(const json_t *events, int track) {
  double sum = 0;
  for (size_t i = 0; i < json_array_size(events); i++) {
    const json_t *event = json_array_get(events, i);
    bool is_slice = strcmp(json_string_value(json_object_get(event, "ph")), "X") == 0;
    if (is_slice && json_integer_value(json_object_get(event, "tid")) == track) {
      sum += json_number_value(json_object_get(event, "dur"));
    }
  }
  return sum;
}

static double counter_last(const json_t *events, const char *name, const char *member, double *most) {
  double last = -1;
  for (size_t i = 0; i < json_array_size(events); i++) {
    const json_t *event = json_array_get(events, i);
    if (strcmp(json_string_value(json_object_get(event, "ph")), "C") == 0
        && strcmp(json_string_value(json_object_get(event, "name")), name) == 0) {
      last = json_number_value(json_object_get(json_object_get(event, "args"), member));
      *most = last > *most ? last : *most;
    }
  }
  return last;
}

static void test_trace(void **state) {
  (void)state;
  struct plan_result *result = fixture_result();
  struct report_plan plan = plan_of(result);
  struct strbuf out = {0};
  assert_int_equal(report_plan_trace(&plan, &out), STATUS_OK);
  json_t *root = json_loads(strbuf_text(&out), 0, NULL);
  assert_non_null(root);
  const json_t *events = json_object_get(root, "traceEvents");
  assert_true(track_us(events, 1) == 23); /* steps */
  assert_true(track_us(events, 2) == 23); /* their phases fill them */
  assert_true(track_us(events, 3) == 20); /* loads */
  double loads = 0, exchange = 0, bytes = 0;
  assert_true(counter_last(events, "links, % of a port", "loads", &loads) == 0);
  assert_true(loads == 50); /* 5 of 10 µs */
  assert_true(counter_last(events, "links, % of a port", "exchange", &exchange) == 0);
  assert_true(exchange == 100); /* during distribution */
  assert_true(counter_last(events, "SRAM of a core, bytes", "preloaded", &bytes) == 0);
  assert_true(bytes == 40960);
  json_decref(root);
  strbuf_release(&out);
  fixture_free(result);
}

static void test_nothing_to_draw(void **state) {
  (void)state;
  struct plan_result *result = fixture_result();
  struct report_plan plan = plan_of(result);
  struct strbuf out = {0};
  result->row_count = 0;
  assert_int_equal(report_plan_trace(&plan, &out), STATUS_UNSUPPORTED);
  assert_int_equal(report_plan_chart(&plan, &out), STATUS_OK);
  report_plan_text(&plan, &out);
  assert_int_equal(report_plan_json(&plan, &out), STATUS_OK);
  strbuf_release(&out);
  fixture_free(result);
}

static void test_chart(void **state) {
  (void)state;
  struct plan_result *result = fixture_result();
  struct report_plan plan = plan_of(result);
  struct strbuf out = {0};
  plan.program = "<a&b>.mlir";
  assert_int_equal(report_plan_chart(&plan, &out), STATUS_OK);
  assert_has(&out, "<title>&lt;a&amp;b&gt;.mlir</title>");
  assert_has(&out, "<title>dot_general 32×64×128, compute 6.00 µs</title>");
  assert_has(&out, ">36.0 µs</text>");
  assert_null(strstr(strbuf_text(&out), "http"));
  assert_null(strstr(strbuf_text(&out), "nan"));
  strbuf_release(&out);
  fixture_free(result);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_chosen), cmocka_unit_test(test_groups),
                                     cmocka_unit_test(test_levels), cmocka_unit_test(test_text),
                                     cmocka_unit_test(test_json),   cmocka_unit_test(test_trace),
                                     cmocka_unit_test(test_chart),  cmocka_unit_test(test_nothing_to_draw)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
