/* Chips as text and JSON, from two chips written out here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "report/report_int.h"
#include "report_fixture.h"

static const struct hw_fact other_rate = {.value = {HW_VALUE_NUMBER, 1.9e12, "1.9e12"},
                                          .kind = HW_FACT_MEASURED,
                                          .source_title = "a benchmark",
                                          .source_url = "https://example.org/bench",
                                          .note = "read only"};
static const struct hw_field one_fields[] = {
    {.key = "mem.bw",
     .unit = "B/s",
     .fact = {.value = {HW_VALUE_NUMBER, 2.03904e12, "2.03904e12"},
              .kind = HW_FACT_DATASHEET,
              .source_title = "data sheet",
              .source_url = "https://example.org/sheet",
              .note = "five stacks"},
     .chosen = "vendor number",
     .disputed = &other_rate,
     .disputed_count = 1},
    {.key = "mem.type",
     .unit = "-",
     .fact = {.value = {HW_VALUE_TEXT, 0, "HBM2e"},
              .kind = HW_FACT_DATASHEET,
              .source_title = "data sheet",
              .source_url = "https://example.org/sheet"},
     .inherited_from = "acme_first"},
    {.key = "model.launch",
     .unit = "s",
     .fact = {.value = {HW_VALUE_NUMBER, 2e-6, "2e-6"},
              .kind = HW_FACT_INFERRED,
              .source_title = "arithmetic on other fields",
              .source_url = "derived",
              .note = "half of a round trip"}},
    {.key = "year",
     .unit = "-",
     .fact = {.value = {HW_VALUE_TEXT, 0, "2020"},
              .kind = HW_FACT_DATASHEET,
              .source_title = "data sheet",
              .source_url = "https://example.org/sheet"}},
};
static const struct hw_field two_fields[] = {
    {.key = "mem.bw",
     .unit = "B/s",
     .fact = {.value = {HW_VALUE_NUMBER, 1.01952e12, "1.01952e12"},
              .kind = HW_FACT_DATASHEET,
              .source_title = "data sheet"}},
};

static struct hw_chip chip_one(void) {
  static const char *const aliases[] = {"one"};
  static const char *const lineage[] = {"acme_first", NULL};
  struct hw_chip chip = {.id = "acme_one",
                         .name = "Acme One",
                         .vendor = "Acme",
                         .family = "acme_first",
                         .lineage = lineage,
                         .kind = HW_KIND_GPU,
                         .fusion = HW_FUSION_GPU,
                         .memory_size_bytes = 80e9,
                         .memory_Bps = 2.03904e12,
                         .launch_s = 2e-6,
                         .tdp_W = 400,
                         .fields = one_fields,
                         .field_count = 4,
                         .aliases = aliases,
                         .alias_count = 1};
  chip.matrix_flops[DTYPE_BF16] = 312e12;
  chip.vector_flops[DTYPE_F32] = 19.5e12;
  for (int d = 0; d < DTYPE_COUNT; d++) {
    chip.matrix_runs_as[d] = (uint8_t)d;
  }
  chip.matrix_runs_as[DTYPE_I4] = DTYPE_I8;
  chip.matrix_runs_as[DTYPE_F64] = DTYPE_NONE;
  return chip;
}

static struct hw_chip chip_two(void) {
  return (struct hw_chip){.id = "acme_two",
                          .name = "Acme Two",
                          .vendor = "Acme",
                          .kind = HW_KIND_NPU,
                          .memory_Bps = 1.01952e12,
                          .fields = two_fields,
                          .field_count = 1,
                          .missing = "peak"};
}

static json_t *parse(struct strbuf *out) {
  json_t *root = json_loadb(strbuf_text(out), out->length, 0, NULL);
  assert_non_null(root);
  strbuf_release(out);
  return root;
}

static void test_one_chip_as_reasoned_by_hand(void **state) {
  (void)state;
  struct hw_chip chip = chip_one();
  struct strbuf out = {0};
  report_chip_text(&chip, &out);
  char *golden = fixture_golden("chip.txt");
  assert_string_equal(strbuf_text(&out), golden);
  free(golden);
  strbuf_release(&out);
}

static void test_one_chip_json(void **state) {
  (void)state;
  struct hw_chip chip = chip_one();
  struct strbuf out = {0};
  assert_int_equal(report_chip_json(&chip, &out), STATUS_OK);
  json_t *root = parse(&out);
  assert_string_equal(json_string_value(json_object_get(root, "format")), "ridgeline-chip");
  const json_t *head = json_object_get(root, "chip"), *fields = json_object_get(root, "fields");
  assert_int_equal(json_integer_value(json_object_get(head, "year")), 2020);
  assert_true(json_boolean_value(json_object_get(head, "predicts")));
  assert_true(json_is_null(json_object_get(json_object_get(head, "figures"), "clock")));
  assert_int_equal(json_array_size(fields), 4);
  const json_t *rate = json_array_get(fields, 0);
  assert_float_equal(json_real_value(json_object_get(rate, "value")), 2.03904e12, 1);
  const json_t *other = json_array_get(json_object_get(rate, "disputed"), 0);
  assert_string_equal(json_string_value(json_object_get(other, "kind")), "measured");
  assert_string_equal(json_string_value(json_object_get(json_array_get(fields, 1), "value")), "HBM2e");
  assert_string_equal(json_string_value(json_object_get(json_array_get(fields, 1), "inherited_from")), "acme_first");
  json_decref(root);
}

/* "predicts" or what is missing, in both forms. */
static void test_list(void **state) {
  (void)state;
  struct hw_chip chips[] = {chip_one(), chip_two()};
  struct hw_database db = {0};
  db.chips.data = chips;
  db.chips.count = 2;
  struct strbuf out = {0};
  report_chips_text(&db, &out);
  assert_string_equal(
      strbuf_text(&out),
      "id        name      vendor  kind  year  bf16 FLOP/s  f32 FLOP/s   memory  bandwidth  power  status\n"
      "--------  --------  ------  ----  ----  -----------  ----------  -------  ---------  -----  ----------\n"
      "acme_one  Acme One  Acme    gpu   2020        312 T      19.5 T  80.0 GB  2.04 TB/s  400 W  predicts\n"
      "acme_two  Acme Two  Acme    npu      -            -           -        -  1.02 TB/s      -  lacks peak\n"
      "\n2 chips, 1 predicts\n");
  strbuf_release(&out);
  assert_int_equal(report_chips_json(&db, &out), STATUS_OK);
  json_t *root = parse(&out);
  const json_t *two = json_array_get(json_object_get(root, "chips"), 1);
  assert_false(json_boolean_value(json_object_get(two, "predicts")));
  assert_string_equal(json_string_value(json_object_get(two, "missing")), "peak");
  json_decref(root);
}

/* 1.01952 is half of 2.03904. */
static void test_comparison_has_ratios_to_the_first(void **state) {
  (void)state;
  struct hw_chip one = chip_one(), two = chip_two();
  const struct hw_chip *chips[] = {&one, &two};
  struct strbuf out = {0};
  report_compare_text(chips, 2, &out);
  assert_non_null(strstr(strbuf_text(&out), "memory bandwidth         2.04 TB/s  1.02 TB/s  0.50×\n"));
  assert_non_null(strstr(strbuf_text(&out), "\nmem.bw        2.04 TB/s  1.02 TB/s  0.50×\n"));
  assert_non_null(strstr(strbuf_text(&out), "\nmem.type          HBM2e          -\n"));
  strbuf_release(&out);
  assert_int_equal(report_compare_json(chips, 2, &out), STATUS_OK);
  json_t *root = parse(&out);
  const json_t *rate = json_array_get(json_object_get(root, "fields"), 0);
  assert_string_equal(json_string_value(json_object_get(rate, "key")), "mem.bw");
  assert_float_equal(json_real_value(json_array_get(json_object_get(rate, "ratios"), 1)), 0.5, 1e-9);
  const json_t *type = json_array_get(json_object_get(root, "fields"), 1);
  assert_true(json_is_null(json_array_get(json_object_get(type, "values"), 1)));
  assert_true(json_is_null(json_array_get(json_object_get(type, "ratios"), 0)));
  json_decref(root);
}

static void test_chip_without_fields(void **state) {
  (void)state;
  struct hw_chip bare = {.id = "bare", .name = "Bare", .vendor = "Acme", .missing = "peak, mem.bw"};
  const struct hw_chip *chips[] = {&bare};
  struct strbuf out = {0};
  report_chip_text(&bare, &out);
  assert_non_null(strstr(strbuf_text(&out), "no: lacks peak, mem.bw\n"));
  report_compare_text(chips, 1, &out);
  report_compare_text(chips, 0, &out);
  assert_false(out.failed);
  strbuf_release(&out);
  assert_int_equal(report_compare_json(chips, 1, &out), STATUS_OK);
  json_decref(parse(&out));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_chip_as_reasoned_by_hand),
      cmocka_unit_test(test_one_chip_json),
      cmocka_unit_test(test_list),
      cmocka_unit_test(test_comparison_has_ratios_to_the_first),
      cmocka_unit_test(test_chip_without_fields),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
