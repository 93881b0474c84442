/* Text and JSON of `plan --compat elk`, from rows written here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "report/report_plan_compat.h"

static const struct plan_compat_options options = {.legal = true};
static const struct plan_compat_result result = {
    .rows =
        {{.design = PLAN_COMPAT_STATIC,
          .largest_cold = true,
          .is_best = true,
          .threshold = 0.7,
          .execution_kib = 125,
          .latency_ms = 9.2104,
          .busy_ms = 9.179},
         {.design = PLAN_COMPAT_FULL, .moves_loads = true, .threshold = 0.99, .latency_ms = 6.72, .busy_ms = 6.6538},
         {.design = PLAN_COMPAT_BASIC, .threshold = 0.7}, /* no schedule */
         {.design = PLAN_COMPAT_IDEAL, .is_best = true, .latency_ms = 6.699, .busy_ms = 6.654}},
    .row_count = 4,
    .operators = 1928,
    .sorts = 34,
    .layers = 40,
    .memory_bytes = UINT64_C(80189700000),
    .memory_ms = 4.78,
    .plans = 3266825,
};
static const struct report_plan_compat report = {"ops.csv", "9.9.9", &options, &result};

static void test_text(void **state) {
  (void)state;
  struct strbuf out = {0};
  report_plan_compat_text(&report, &out);
  assert_string_equal(
      strbuf_text(&out),
      "ops.csv, as the published planner has it: 1,928 operators of 34 sorts in 40 layers, 3,266,825 "
      "partition plans\n"
      "tensors cut along their own axes; each design with its own constants; 80.190 GB from HBM, at its "
      "rate 4.780 ms\n\n"
      "design          preload states  contention      threshold  execution space          time  executing\n"
      "--------------  --------------  --------------  ---------  ---------------  ------------  ---------\n"
      "Static *        largest         operators wait       0.70          125 KiB      9.210 ms   9.179 ms\n"
      "Full, in order  -               loads move           0.99                -      6.720 ms   6.654 ms\n"
      "Basic           smallest        operators wait       0.70                -  does not fit          -\n"
      "Ideal *         -               -                       -                -      6.699 ms   6.654 ms\n"
      "\n* the design's result: the fastest of its runs\n");
  strbuf_release(&out);
}

static double real_of(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  assert_true(json_is_real(value));
  return json_real_value(value);
}

static void test_json(void **state) {
  (void)state;
  struct strbuf out = {0};
  assert_int_equal(report_plan_compat_json(&report, &out), STATUS_OK);
  json_t *root = json_loadb(out.data, out.length, 0, NULL);
  assert_non_null(root);
  assert_string_equal(json_string_value(json_object_get(root, "format")), "ridgeline-plan-compat");
  assert_string_equal(json_string_value(json_object_get(root, "ridgeline_version")), "9.9.9");
  assert_true(json_is_true(json_object_get(root, "legal_axes")));
  assert_true(json_is_false(json_object_get(root, "equal_constants")));
  assert_int_equal(json_integer_value(json_object_get(root, "memory_bytes")), 80189700000);
  const json_t *rows = json_object_get(root, "designs");
  assert_int_equal(json_array_size(rows), 4);
  const json_t *row = json_array_get(rows, 0);
  assert_string_equal(json_string_value(json_object_get(row, "design")), "Static");
  assert_string_equal(json_string_value(json_object_get(row, "preload_states")), "largest");
  assert_true(json_is_true(json_object_get(row, "best")));
  assert_int_equal(json_integer_value(json_object_get(row, "execution_bytes")), 128000);
  assert_true(real_of(row, "time_s") > 9.2103e-3 && real_of(row, "time_s") < 9.2105e-3);
  row = json_array_get(rows, 1);
  assert_string_equal(json_string_value(json_object_get(row, "contention")), "loads move");
  assert_true(json_is_null(json_object_get(row, "preload_states")));
  row = json_array_get(rows, 2);
  assert_true(json_is_null(json_object_get(row, "time_s")));
  row = json_array_get(rows, 3);
  assert_true(json_is_null(json_object_get(row, "threshold")));
  assert_true(json_is_null(json_object_get(row, "contention")));
  json_decref(root);
  strbuf_release(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_json)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
