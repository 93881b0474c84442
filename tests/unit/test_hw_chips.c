/* The shipped chips: all load, numbers agree with data sheets typed here by hand, inheritance and disputed values arrive,
 * every type has a rate or is refused as documented. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hw/hw.h"

static struct hw_database db;

static int load(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = hw_database_load(&db, "hardware", &diags);
  size_t messages = diags.entries.count;
  diag_release(&diags);
  return status == STATUS_OK && messages == 0 ? 0 : -1;
}

static int release(void **state) {
  (void)state;
  hw_database_release(&db);
  return 0;
}

static const struct hw_chip *chip_of(const char *name) {
  const struct hw_chip *chip = hw_database_find(&db, name, NULL);
  assert_non_null(chip);
  return chip;
}

static void assert_near(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance * fabs(expected))) {
    fail_msg("%.10g is not %.10g", value, expected);
  }
}

static void test_counts(void **state) {
  (void)state;
  assert_int_equal(db.chips.count, 69);
  size_t predicting = 0;
  for (size_t i = 0; i < db.chips.count; i++) {
    predicting += db.chips.data[i].missing == NULL;
  }
  assert_true(predicting >= 48);
  static const char *const vendors[] = {"NVIDIA", "AMD",       "Google",      "AWS",  "Intel", "Graphcore", "Cerebras",
                                        "Groq",   "SambaNova", "Tenstorrent", "Meta", "Apple", "research"};
  for (size_t v = 0; v < sizeof vendors / sizeof vendors[0]; v++) {
    bool is_there = false;
    for (size_t i = 0; i < db.chips.count; i++) {
      is_there = is_there || strcmp(db.chips.data[i].vendor, vendors[v]) == 0;
    }
    assert_true(is_there);
  }
}

/* Data sheets: NVIDIA A100, H100, H200, L40S, T4, V100; AMD MI300X; Google Cloud TPU pages; AWS Neuron; Intel. */
static void test_data_sheets(void **state) {
  (void)state;
  const struct hw_chip *a100 = chip_of("a100");
  assert_near(a100->matrix_flops[DTYPE_BF16], 312e12, 0);
  assert_near(a100->matrix_flops[DTYPE_F16], 312e12, 0);
  assert_near(a100->matrix_flops[DTYPE_TF32], 156e12, 0);
  assert_near(a100->matrix_flops[DTYPE_I8], 624e12, 0);
  assert_near(a100->vector_flops[DTYPE_F32], 19.5e12, 0);
  assert_near(a100->vector_flops[DTYPE_F64], 9.7e12, 0.01);
  assert_near(a100->memory_Bps, 2039e9, 0.001);
  assert_near(a100->memory_size_bytes, 80 * 1073741824.0, 0.02);
  assert_near(a100->cache_size_bytes, 40 * 1048576.0, 0);
  assert_near(a100->cores, 108, 0);
  assert_near(a100->link_Bps, 300e9, 0);
  assert_near(a100->tdp_W, 400, 0);
  assert_near(a100->clock_Hz, 1.41e9, 0);

  const struct hw_chip *h100 = chip_of("h100");
  assert_near(h100->matrix_flops[DTYPE_BF16], 989e12, 0);
  assert_near(h100->matrix_flops[DTYPE_F8E4M3FN], 1979e12, 0);
  assert_near(h100->vector_flops[DTYPE_F32], 67e12, 0);
  assert_near(h100->matrix_flops[DTYPE_F64], 67e12, 0.01);
  assert_near(h100->memory_Bps, 3.35e12, 0.001);
  assert_near(h100->matrix_clock_Hz, 1.83e9, 0);
  assert_near(h100->vector_clock_Hz, 1.98e9, 0);
  assert_near(h100->link_Bps, 450e9, 0);
  assert_near(h100->scratch_size_bytes, 132 * 228 * 1024.0, 0);

  assert_near(chip_of("h200")->memory_Bps, 4.8e12, 0);
  assert_near(chip_of("l40s")->matrix_flops[DTYPE_BF16], 362e12, 0);
  assert_near(chip_of("l40s")->memory_Bps, 864e9, 0);
  assert_near(chip_of("t4")->matrix_flops[DTYPE_F16], 65e12, 0.01);
  assert_near(chip_of("v100")->matrix_flops[DTYPE_F16], 125e12, 0);
  assert_near(chip_of("v100")->vector_flops[DTYPE_F32], 15.7e12, 0.01);
  assert_near(chip_of("p100")->vector_flops[DTYPE_F16], 21.2e12, 0);
  assert_near(chip_of("mi300x")->matrix_flops[DTYPE_BF16], 1307.4e12, 0);
  assert_near(chip_of("mi300x")->memory_Bps, 5.3e12, 0);
  assert_near(chip_of("tpu-v4")->matrix_flops[DTYPE_BF16], 275e12, 0);
  assert_near(chip_of("tpu-v5e")->matrix_flops[DTYPE_I8], 394e12, 0);
  assert_near(chip_of("tpu-v5p")->matrix_flops[DTYPE_BF16], 459e12, 0);
  assert_near(chip_of("tpu-v6e")->matrix_flops[DTYPE_BF16], 918e12, 0);
  assert_near(chip_of("trn2")->matrix_flops[DTYPE_BF16], 667e12, 0);
  assert_near(chip_of("gaudi3")->memory_Bps, 3.7e12, 0);
  assert_near(chip_of("b60")->memory_Bps, 456e9, 0);
  assert_near(chip_of("b60")->matrix_flops[DTYPE_I8], 197e12, 0.01);
  assert_near(chip_of("b60")->vector_flops[DTYPE_F32], 12.28e12, 0.01);
  assert_near(chip_of("b60")->cores, 20, 0);
}

static void test_sparse_is_not_dense(void **state) {
  (void)state;
  /* published with sparsity: H100 1979 (bf16) and 3958 (fp8), L4 242, Trainium2 2563 (fp8) */
  assert_true(chip_of("h100")->matrix_flops[DTYPE_F8E4M3FN] < 2000e12);
  assert_true(chip_of("l4")->matrix_flops[DTYPE_BF16] < 130e12);
  assert_true(chip_of("trn2")->matrix_flops[DTYPE_F8E4M3FN] < 1300e12);
  assert_non_null(chip_of("wse3")->missing);
}

static void test_missing(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"orin", "mem.bw"}, {"mtia", "mem.bw"}, {"m1", "mem.bw"}, {"wse2", "peak"}, {"genoa", "peak"}, {"m4-max", "peak"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_string_equal(chip_of(cases[i][0])->missing, cases[i][1]);
  }
}

static void test_sram_only_chips(void **state) {
  (void)state;
  static const char *const names[] = {"groq", "gc200", "bow", "ipu-pod4"};
  for (size_t i = 0; i < 4; i++) {
    const struct hw_chip *chip = chip_of(names[i]);
    assert_null(chip->missing);
    assert_false(chip->has_off_chip);
    assert_true(chip->memory_size_bytes == chip->scratch_size_bytes && chip->memory_Bps == chip->scratch_Bps);
  }
  assert_near(chip_of("groq")->memory_size_bytes, 230e6, 0);
  assert_near(chip_of("groq")->memory_Bps, 80e12, 0);
  assert_true(chip_of("ipu")->has_off_chip && chip_of("orin")->has_off_chip);
}

static void assert_matrix(const char *name, enum dtype dtype, enum dtype as) {
  double flops;
  enum dtype runs_as;
  const struct hw_chip *chip = chip_of(name);
  bool runs = hw_chip_matrix_rate(chip, dtype, &flops, &runs_as);
  if (runs_as != as || runs != (as != DTYPE_NONE) || (runs && !(flops > 0))) {
    fail_msg("%s: %s runs as %s, not %s", name, dtype_name(dtype), dtype_name(runs_as), dtype_name(as));
  }
}

static void test_matrix_types(void **state) {
  (void)state;
  assert_matrix("a100", DTYPE_BF16, DTYPE_BF16);
  assert_matrix("a100", DTYPE_F8E5M2, DTYPE_F16);
  assert_matrix("a100", DTYPE_I2, DTYPE_I4);
  assert_matrix("a100", DTYPE_UI8, DTYPE_I8);
  assert_matrix("a100", DTYPE_F64, DTYPE_F64);
  assert_matrix("a100", DTYPE_C64, DTYPE_F32);
  assert_matrix("h100", DTYPE_F8E3M4, DTYPE_F8E4M3FN);
  assert_matrix("h100", DTYPE_F4E2M1FN, DTYPE_F8E4M3FN);
  assert_matrix("h100", DTYPE_I4, DTYPE_I8);
  assert_matrix("h100", DTYPE_I32, DTYPE_I32);
  assert_matrix("b200", DTYPE_F4E2M1FN, DTYPE_F4E2M1FN);
  assert_matrix("v100", DTYPE_F16, DTYPE_F16);
  assert_matrix("v100", DTYPE_BF16, DTYPE_F32);
  assert_matrix("v100", DTYPE_F8E4M3FN, DTYPE_F16);
  assert_matrix("t4", DTYPE_BF16, DTYPE_F32);
  assert_matrix("t4", DTYPE_I4, DTYPE_I4);
  assert_matrix("p100", DTYPE_F16, DTYPE_F16);
  assert_matrix("p4", DTYPE_F16, DTYPE_F32);
  assert_matrix("mi210", DTYPE_F8E4M3FNUZ, DTYPE_BF16);
  assert_matrix("mi300x", DTYPE_F8E4M3FNUZ, DTYPE_F8E4M3FN);
  assert_matrix("tpu-v4", DTYPE_F32, DTYPE_BF16);
  assert_matrix("tpu-v4", DTYPE_F16, DTYPE_BF16);
  assert_matrix("tpu-v4", DTYPE_F64, DTYPE_NONE);
  assert_matrix("tpu-v4", DTYPE_C128, DTYPE_NONE);
  assert_matrix("tpu-v3", DTYPE_I8, DTYPE_BF16);
  assert_matrix("tpu-v5e", DTYPE_I8, DTYPE_I8);
  assert_matrix("tpu-v6e", DTYPE_F8E5M2, DTYPE_F8E4M3FN);
  assert_matrix("groq", DTYPE_BF16, DTYPE_F16);
  assert_matrix("m1-ultra", DTYPE_F16, DTYPE_F16);
  assert_matrix("n150", DTYPE_F32, DTYPE_F16);
  assert_matrix("a100", DTYPE_NONE, DTYPE_NONE);
  /* on GPUs without an f32 matrix unit an exact f32 product has the vector rate */
  assert_near(chip_of("a100")->matrix_flops[DTYPE_F32], 19.5e12, 0);
  assert_near(chip_of("mi250")->matrix_flops[DTYPE_F32], 90.5e12, 0);
}

static void test_vector_types(void **state) {
  (void)state;
  static const struct {
    const char *name;
    enum dtype dtype, as;
  } cases[] = {
      {"a100", DTYPE_F32, DTYPE_F32},  {"a100", DTYPE_BF16, DTYPE_BF16}, {"b200", DTYPE_BF16, DTYPE_F32},
      {"a100", DTYPE_I1, DTYPE_F32},   {"h100", DTYPE_I8, DTYPE_I32},    {"h100", DTYPE_INDEX, DTYPE_I32},
      {"p4", DTYPE_F16, DTYPE_F16},    {"tpu-v4", DTYPE_F64, DTYPE_F64}, {"tpu-v4", DTYPE_I64, DTYPE_I64},
      {"trn2", DTYPE_F64, DTYPE_NONE}, {"tpu-v4", DTYPE_C64, DTYPE_F32}, {"a100", DTYPE_F8E8M0FNU, DTYPE_F32},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double flops;
    enum dtype as;
    bool runs = hw_chip_vector_rate(chip_of(cases[i].name), cases[i].dtype, &flops, &as);
    if (as != cases[i].as || runs != (as != DTYPE_NONE) || (runs && !(flops > 0))) {
      fail_msg("%s: %s runs as %s", cases[i].name, dtype_name(cases[i].dtype), dtype_name(as));
    }
  }
}

/* Every chip that predicts has all that a cost model divides by, and every type resolves to one with a rate. */
static void test_complete(void **state) {
  (void)state;
  for (size_t i = 0; i < db.chips.count; i++) {
    const struct hw_chip *c = &db.chips.data[i];
    for (size_t d = 0; d < DTYPE_COUNT; d++) {
      assert_true(c->matrix_runs_as[d] == DTYPE_NONE || c->matrix_flops[c->matrix_runs_as[d]] > 0);
      assert_true(c->vector_runs_as[d] == DTYPE_NONE || c->vector_flops[c->vector_runs_as[d]] > 0);
    }
    if (c->missing != NULL) {
      continue;
    }
    bool is_complete = c->memory_Bps > 0 && c->vector_flops[DTYPE_F32] > 0 && c->launch_s > 0 && c->dispatch_s > 0
                       && c->matrix_efficiency > 0 && c->memory_efficiency > 0 && c->vector_efficiency > 0
                       && c->sustained_clock_fraction > 0 && c->f32_high_passes >= 1 && c->f32_highest_passes >= 1
                       && c->fusion != HW_FUSION_NONE && c->matrix_runs_as[DTYPE_BF16] != DTYPE_NONE
                       && c->matrix_runs_as[DTYPE_F32] != DTYPE_NONE && c->vector_runs_as[DTYPE_I32] != DTYPE_NONE;
    if (!is_complete) {
      fail_msg("%s lacks a constant", c->id);
    }
  }
}

static void test_precision(void **state) {
  (void)state;
  assert_int_equal(chip_of("v100")->f32_default_as, DTYPE_F32);
  assert_int_equal(chip_of("a100")->f32_default_as, DTYPE_TF32);
  assert_near(chip_of("a100")->f32_high_passes, 1, 0);
  assert_near(chip_of("a100")->f32_highest_passes, 8, 0); /* 156 / 19.5 */
  assert_int_equal(chip_of("tpu-v5p")->f32_default_as, DTYPE_BF16);
  assert_near(chip_of("tpu-v5p")->f32_high_passes, 3, 0);
  assert_near(chip_of("tpu-v5p")->f32_highest_passes, 6, 0);
  assert_int_equal(chip_of("mi300x")->f32_default_as, DTYPE_F32);
  assert_near(chip_of("mi300x")->f32_highest_passes, 1, 0);
}

static void test_every_fact_is_sourced(void **state) {
  (void)state;
  for (size_t i = 0; i < db.chips.count; i++) {
    const struct hw_chip *c = &db.chips.data[i];
    assert_true(c->field_count > 0);
    for (size_t k = 0; k < c->field_count; k++) {
      const struct hw_field *f = &c->fields[k];
      assert_true(k == 0 || strcmp(c->fields[k - 1].key, f->key) < 0);
      assert_true(f->fact.source_title[0] != '\0');
      assert_true(strncmp(f->fact.source_url, "http", 4) == 0 || strcmp(f->fact.source_url, "derived") == 0);
      assert_true(f->fact.kind != HW_FACT_INFERRED || f->fact.note != NULL);
      assert_true(f->disputed_count == 0 || f->chosen != NULL);
      assert_true(f->line > 0 && f->column == 3 && f->file != NULL);
      /* from a family, or from another chip (GB300 from B300) */
      assert_true((f->inherited_from != NULL) == (strcmp(f->file, c->file) != 0));
    }
  }
}

static void test_inheritance(void **state) {
  (void)state;
  const struct hw_chip *h200 = chip_of("h200");
  assert_string_equal(h200->family, "nvidia_hopper");
  assert_string_equal(h200->lineage[1], "nvidia_ampere");
  assert_string_equal(h200->lineage[2], "nvidia_gpu");
  assert_null(h200->lineage[3]);
  assert_string_equal(hw_chip_field(h200, "smem_per_core")->inherited_from, "nvidia_hopper");
  assert_string_equal(hw_chip_field(h200, "model.f32_default_as")->inherited_from, "nvidia_ampere");
  assert_string_equal(hw_chip_field(h200, "model.fusion")->inherited_from, "nvidia_gpu");
  assert_null(hw_chip_field(h200, "mem.bw")->inherited_from);
  /* a nearer family overrides a farther one: tiles of Hopper against those of all NVIDIA GPUs */
  assert_near(h200->tile_n, 256, 0);
  assert_near(chip_of("v100")->tile_n, 128, 0);
  /* what GB200 does not publish is that of the B200's SM */
  const struct hw_chip *gb200 = chip_of("gb200");
  assert_near(gb200->cores, 148, 0);
  assert_near(gb200->matrix_units_per_core, 4, 0);
  assert_near(gb200->scratch_size_bytes, 148 * 228 * 1024.0, 0);
  assert_int_equal(hw_chip_field(gb200, "cores")->fact.kind, HW_FACT_INFERRED);
}

static void test_disputed(void **state) {
  (void)state;
  const struct hw_field *bw = hw_chip_field(chip_of("h100"), "mem.bw");
  assert_int_equal(bw->disputed_count, 1);
  assert_near(bw->disputed[0].value.number, 3.43e12, 0);
  assert_non_null(strstr(bw->disputed[0].source_title, "NeuSight"));
  assert_string_equal(bw->unit, "B/s");
  const struct hw_field *v5e = hw_chip_field(chip_of("tpu-v5e"), "mem.bw");
  assert_near(v5e->fact.value.number, 819e9, 0);
  assert_int_equal(v5e->disputed_count, 3);
  /* vendor before tool */
  assert_near(chip_of("tpu-v3")->matrix_flops[DTYPE_BF16], 123e12, 0);
  /* text, list and map values */
  assert_int_equal(hw_chip_field(chip_of("h100"), "mem.type")->fact.value.kind, HW_VALUE_TEXT);
  const struct hw_field *power = hw_chip_field(chip_of("tpu-v3"), "power.min_mean_max");
  assert_int_equal(power->fact.value.kind, HW_VALUE_LIST);
  assert_string_equal(power->fact.value.text, "[123, 220, 262]");
  assert_int_equal(hw_chip_field(chip_of("h100"), "cycles.hlo_op_f32")->fact.value.kind, HW_VALUE_MAP);
}

/* A file of the user's that overrides one number of a family. */
static void test_user_chip(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  const struct hw_chip *chip = NULL;
  size_t before = db.chips.count;
  assert_int_equal(hw_chip_load(&db, "tests/errors/hw/folder/what_if/what_if.yml", "hardware", &diags, &chip),
                   STATUS_OK);
  assert_int_equal(db.chips.count, before);
  assert_non_null(chip);
  assert_near(chip->memory_Bps, 6.7e12, 0);
  assert_near(chip->matrix_units_per_core, 4, 0);
  assert_near(chip->launch_s, 1.26e-6, 0);
  assert_string_equal(chip->missing, "peak");
  assert_string_equal(hw_chip_field(chip, "matrix.units_per_core")->inherited_from, "nvidia_hopper");
  diag_release(&diags);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_data_sheets),
      cmocka_unit_test(test_sparse_is_not_dense),
      cmocka_unit_test(test_missing),
      cmocka_unit_test(test_sram_only_chips),
      cmocka_unit_test(test_matrix_types),
      cmocka_unit_test(test_vector_types),
      cmocka_unit_test(test_complete),
      cmocka_unit_test(test_precision),
      cmocka_unit_test(test_every_fact_is_sourced),
      cmocka_unit_test(test_inheritance),
      cmocka_unit_test(test_disputed),
      cmocka_unit_test(test_user_chip),
  };
  return cmocka_run_group_tests(tests, load, release);
}
