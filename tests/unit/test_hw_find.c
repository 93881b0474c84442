/* Names, aliases, suggestions and groups of the shipped chips. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hw/hw.h"

static struct hw_database db; /* of the group's setup */

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

static void test_names(void **state) {
  (void)state;
  static const char *const names[][2] = {
      {"h100", "nvidia_h100_sxm"},
      {"H100", "nvidia_h100_sxm"},
      {"nvidia-h100-sxm", "nvidia_h100_sxm"},
      {"h200", "nvidia_h200_sxm"},
      {"b200", "nvidia_b200_sxm"},
      {"gb200", "nvidia_gb200"},
      {"b300", "nvidia_b300_sxm"},
      {"a100", "nvidia_a100_sxm_80"},
      {"a100-40", "nvidia_a100_sxm_40"},
      {"v100", "nvidia_v100_sxm2"},
      {"t4", "nvidia_t4"},
      {"p4", "nvidia_p4"},
      {"p100", "nvidia_p100_sxm2"},
      {"l4", "nvidia_l4"},
      {"l40s", "nvidia_l40s"},
      {"mi100", "amd_mi100"},
      {"mi210", "amd_mi210"},
      {"mi250", "amd_mi250"},
      {"mi300x", "amd_mi300x"},
      {"mi355x", "amd_mi355x"},
      {"tpu-v2", "google_tpu_v2"},
      {"tpu-v3", "google_tpu_v3"},
      {"TPU_v4", "google_tpu_v4"},
      {"tpu-v5e", "google_tpu_v5e"},
      {"tpu-v5p", "google_tpu_v5p"},
      {"tpu-v6e", "google_tpu_v6e"},
      {"tpu7x", "google_tpu7x"},
      {"tpu-v7", "google_tpu7x"},
      {"trn1", "aws_trainium1"},
      {"trn2", "aws_trainium2"},
      {"trn3", "aws_trainium3"},
      {"inf2", "aws_inferentia2"},
      {"gaudi2", "intel_gaudi2"},
      {"gaudi3", "intel_gaudi3"},
      {"ipu", "elk_ipu_pod4_hbm"},
      {"gc200", "graphcore_gc200"},
      {"bow", "graphcore_bow"},
      {"wse2", "cerebras_wse2"},
      {"wse3", "cerebras_wse3"},
      {"groq", "groq_tsp"},
      {"sn40l", "sambanova_sn40l"},
      {"n150", "tt_wormhole_n150"},
      {"n300", "tt_wormhole_n300"},
      {"p150", "tt_blackhole_p150"},
      {"b60", "intel_arc_pro_b60"},
      {"spr", "intel_spr_8480"},
      {"m1-ultra", "apple_m1_ultra"},
      {"m3_max", "apple_m3_max"},
      {"a100_sxm_80", "nvidia_a100_sxm_80"},
      {"trainium2", "aws_trainium2"},
      {"arc_pro_b60", "intel_arc_pro_b60"},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const struct hw_chip *chip = hw_database_find(&db, names[i][0], NULL);
    if (chip == NULL || strcmp(chip->id, names[i][1]) != 0) {
      fail_msg("'%s' is %s, not %s", names[i][0], chip != NULL ? chip->id : "unknown", names[i][1]);
    }
  }
}

static void test_unknown_names(void **state) {
  (void)state;
  static const char *const names[][2] = {
      {"h10", "'h100'"},         {"nvida_h100_sxm", "'nvidia_h100_sxm'"},
      {"tpu-v5pp", "'tpu-v5p'"}, {"gaudi", "'gaudi3'"},
      {"MI300Y", "'mi300x'"},    {"trainium", "'trainium1'"},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct diag_list diags;
    diag_init(&diags);
    assert_null(hw_database_find(&db, names[i][0], &diags));
    assert_int_equal(diags.entries.count, 1);
    assert_int_equal(diags.entries.data[0].id, DIAG_E0307_UNKNOWN_CHIP);
    if (strstr(diags.entries.data[0].message, names[i][1]) == NULL) {
      fail_msg("'%s': %s", names[i][0], diags.entries.data[0].message);
    }
    diag_release(&diags);
  }
  struct diag_list diags;
  diag_init(&diags);
  assert_null(
      hw_database_find(&db, "completely-unrelated-thing-of-great-length-that-no-chip-has-as-its-name-at-all", &diags));
  assert_null(hw_database_find(&db, "", &diags));
  assert_null(strstr(diags.entries.data[0].message, "did you mean"));
  diag_release(&diags);
}

static void test_groups(void **state) {
  (void)state;
  const struct hw_chip *chips[128];
  size_t count = hw_database_group(&db, "@demo", chips, 128);
  assert_true(count >= 12);
  assert_string_equal(chips[0]->id, "nvidia_a100_sxm_80");
  const char *vendors[16];
  size_t vendor_count = 0;
  for (size_t i = 0; i < count; i++) {
    assert_null(chips[i]->missing);
    bool is_new = true;
    for (size_t k = 0; k < vendor_count; k++) {
      is_new = is_new && strcmp(vendors[k], chips[i]->vendor) != 0;
    }
    if (is_new) {
      vendors[vendor_count++] = chips[i]->vendor;
    }
  }
  assert_true(vendor_count >= 5);

  size_t all = hw_database_group(&db, "@all", chips, 128);
  assert_true(all >= 48 && all < db.chips.count);
  for (size_t i = 1; i < all; i++) {
    assert_true(strcmp(chips[i - 1]->id, chips[i]->id) < 0);
  }
  assert_int_equal(hw_database_group(&db, "@all", chips, 3), all); /* counts past the capacity */
  assert_int_equal(hw_database_group(&db, "@google_tpu", chips, 128), 8);
  assert_int_equal(hw_database_group(&db, "@tpu", chips, 128), 8);
  assert_int_equal(hw_database_group(&db, "@google_tpu_gen2", chips, 128), 4);
  assert_int_equal(hw_database_group(&db, "@nvidia_hopper", chips, 128), 3);
  assert_true(hw_database_group(&db, "@NVIDIA", chips, 128) >= 18);
  assert_int_equal(hw_database_group(&db, "nvidia", chips, 0), hw_database_group(&db, "@NVIDIA", chips, 128));
  assert_int_equal(hw_database_group(&db, "@nothing", chips, 128), 0);
}

static void test_fields(void **state) {
  (void)state;
  const struct hw_chip *chip = hw_database_find(&db, "h100", NULL);
  for (size_t i = 0; i < chip->field_count; i++) {
    assert_ptr_equal(hw_chip_field(chip, chip->fields[i].key), &chip->fields[i]);
  }
  assert_null(hw_chip_field(chip, "peak.bf17"));
  assert_null(hw_chip_field(chip, ""));
  double value;
  assert_true(hw_chip_number(chip, "cores", &value));
  assert_true(value == 132);
  assert_false(hw_chip_number(chip, "mem.type", &value));
  assert_false(hw_chip_number(chip, "none", &value));
  assert_true(hw_chip_is_a(chip, "nvidia_gpu"));
  assert_false(hw_chip_is_a(chip, "google_tpu"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_unknown_names),
      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_fields),
  };
  return cmocka_run_group_tests(tests, load, release);
}
