/* Published peaks against counts x rate x clock: the differences that are known to be in the sources, and no others. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hw/hw.h"

static struct hw_database db;

static int load(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = hw_database_load(&db, "hardware", &diags);
  diag_release(&diags);
  return status == STATUS_OK ? 0 : -1;
}

static int release(void **state) {
  (void)state;
  hw_database_release(&db);
  return 0;
}

/* Percent by which counts x rate x clock differs from the published number. */
static const struct known {
  const char *chip, *key;
  double percent;
} known[] = {
    {"a100", "peak.bf16", 0.0},         {"a100", "peak.f32_vector", 0.0}, {"v100", "peak.f32_vector", 0.0},
    {"p100", "peak.f32_vector", 0.1},   {"h100", "peak.bf16", 0.0},       {"h100", "peak.f32_vector", -0.1},
    {"h100", "peak.fp8", 0.0},          {"h200", "peak.bf16", 0.0},       {"b200", "peak.bf16", -1.1},
    {"b200", "peak.f32_vector", -6.9},  {"t4", "peak.f32_vector", 0.0},   {"l40s", "peak.f32_vector", 0.0},
    {"mi100", "peak.f32_vector", -0.2}, {"mi250x", "peak.bf16", 0.0},     {"mi300x", "peak.bf16", 0.0},
    {"mi355x", "peak.bf16", 0.0},       {"tpu-v3", "peak.bf16", 0.2},     {"tpu-v4", "peak.bf16", 0.1},
    {"tpu-v5e", "peak.bf16", -0.2},     {"tpu-v6e", "peak.bf16", -50.0},  {"trn1", "peak.bf16", -3.4},
    {"trn2", "peak.bf16", -5.7},        {"trn3", "peak.bf16", -6.2},      {"gc200", "peak.f16", -0.1},
    {"bow", "peak.f16", -0.4},          {"groq", "peak.int8", -1.7},      {"n150", "peak.fp8", 12.6},
    {"n150", "peak.f16", -0.4},         {"n300", "peak.fp8", 12.5},       {"p150", "peak.fp8", 0.0},
    {"gaudi2", "peak.bf16", 0.1},       {"gaudi3", "peak.bf16", 0.0},     {"b60", "peak.bf16", 0.0},
};

static void test_known_differences(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    const struct hw_chip *chip = hw_database_find(&db, known[i].chip, NULL);
    assert_non_null(chip);
    struct hw_check checks[32];
    size_t count = hw_chip_peaks(chip, checks, 32);
    bool is_found = false;
    for (size_t k = 0; k < count && k < 32; k++) {
      double percent = 100 * (checks[k].computed / checks[k].published - 1);
      if (strcmp(checks[k].key, known[i].key) == 0) {
        is_found = true;
        if (fabs(percent - known[i].percent) > 0.11) {
          fail_msg("%s %s: %+.2f %%, not %+.1f %%", known[i].chip, known[i].key, percent, known[i].percent);
        }
      }
    }
    if (!is_found) {
      fail_msg("%s has no check of %s", known[i].chip, known[i].key);
    }
  }
}

static void test_warnings(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  for (size_t i = 0; i < db.chips.count; i++) {
    assert_int_equal(hw_chip_check(&db.chips.data[i], &diags), STATUS_OK);
  }
  assert_int_equal(diags.error_count, 0);
  static const char *const expected[] = {"aws_inferentia2", "aws_trainium1",   "aws_trainium2",    "aws_trainium3",
                                         "google_tpu_v6e",  "nvidia_b200_sxm", "tt_wormhole_n150", "tt_wormhole_n300"};
  size_t count = sizeof expected / sizeof expected[0];
  assert_int_equal(diags.entries.count, count);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(diags.entries.data[i].id, DIAG_W0309_INCONSISTENT);
    assert_non_null(strstr(diags.entries.data[i].message, expected[i]));
    assert_true(diags.entries.data[i].line > 0 && diags.entries.data[i].column == 3);
  }
  diag_release(&diags);
}

static void test_capacity(void **state) {
  (void)state;
  const struct hw_chip *chip = hw_database_find(&db, "h100", NULL);
  struct hw_check check;
  assert_true(hw_chip_peaks(chip, &check, 1) >= 5);
  assert_int_equal(hw_chip_peaks(chip, NULL, 0), hw_chip_peaks(chip, &check, 1));
}

static void test_bounds(void **state) {
  (void)state;
  struct hw_chip chip = *hw_database_find(&db, "h100", NULL);
  struct diag_list diags;
  diag_init(&diags);
  chip.cache_Bps = chip.memory_Bps / 2;
  assert_int_equal(hw_chip_check(&chip, &diags), STATUS_INPUT);
  assert_int_equal(diags.entries.data[0].id, DIAG_E0303_VALUE);
  assert_non_null(strstr(diags.entries.data[0].message, "mem.bw"));
  diag_release(&diags);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_differences),
      cmocka_unit_test(test_warnings),
      cmocka_unit_test(test_capacity),
      cmocka_unit_test(test_bounds),
  };
  return cmocka_run_group_tests(tests, load, release);
}
