/* Inheritance between chips: chains, what wins, what is taken over, cycles, and the defaults of a kind. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hw/hw.h"

struct fixture {
  struct hw_database db;
  struct diag_list diags;
};
static struct fixture f;

static int setup(void **state) {
  (void)state;
  diag_init(&f.diags);
  return hw_database_load(&f.db, "hardware", &f.diags) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  hw_database_release(&f.db);
  diag_release(&f.diags);
  return 0;
}

/* A chip from a text; NULL when it is refused. */
static const struct hw_chip *parse(const char *text) {
  struct source source = {.name = "what_if.yaml", .text = text, .length = strlen(text)};
  const struct hw_chip *chip = NULL;
  enum status status = hw_chip_parse(&f.db, &source, "hardware", &f.diags, &chip);
  assert_int_equal(status == STATUS_OK, chip != NULL);
  return chip;
}

#define BW "fields:\n  mem.bw: {value: 5e12, unit: B/s, kind: inferred, source: derived, note: what if}\n"

static void test_a_chip_inherits_a_chip(void **state) {
  (void)state;
  const struct hw_chip *h100 = hw_database_find(&f.db, "h100", NULL);
  const struct hw_chip *chip = parse("id: fast\nname: Fast\ninherit: nvidia_h100_sxm\n" BW);
  assert_non_null(chip);
  assert_true(chip->memory_Bps == 5e12);
  assert_true(chip->matrix_flops[DTYPE_BF16] == h100->matrix_flops[DTYPE_BF16]);
  assert_int_equal(chip->kind, HW_KIND_GPU);
  assert_string_equal(chip->vendor, "NVIDIA");
  assert_int_equal(chip->alias_count, 0);
  assert_null(chip->missing);
  assert_null(chip->defaults);
  assert_string_equal(chip->lineage[0], "nvidia_h100_sxm");
  assert_string_equal(chip->lineage[1], "nvidia_hopper");
  assert_string_equal(hw_chip_field(chip, "peak.bf16")->inherited_from, "nvidia_h100_sxm");
  assert_string_equal(hw_chip_field(chip, "model.f32_default_as")->inherited_from, "nvidia_ampere");
  assert_true(hw_chip_is_a(chip, "nvidia_h100_sxm") && hw_chip_is_a(chip, "nvidia_gpu"));
}

/* H200's launch is measured under another key, which stands first in hw_fields.def: what the chip states comes first. */
static void test_the_nearer_key_wins(void **state) {
  (void)state;
  const struct hw_chip *chip =
      parse("id: fast\nname: Fast\ninherit: nvidia_h200_sxm\nfields:\n  model.launch: {value: 1e-7, unit: s, kind: "
            "inferred, source: derived, note: what if}\n  model.memory_latency: {value: 1e-7, unit: s, kind: inferred, "
            "source: derived, note: what if}\n");
  assert_non_null(chip);
  assert_non_null(hw_chip_field(chip, "overhead.launch_graph_node"));
  assert_true(chip->launch_s == 1e-7);
  assert_true(fabs(chip->memory_ramp_bytes - 1e-7 * chip->memory_Bps) < 1);
}

static void assert_refused(const char *text, uint32_t line, const char *part) {
  assert_null(parse(text));
  const struct diag *d = &f.diags.entries.data[0];
  assert_int_equal(f.diags.entries.count, 1);
  assert_int_equal(d->id, DIAG_E0306_INHERIT);
  assert_int_equal(d->line, line);
  assert_non_null(strstr(d->message, part));
}

static void test_an_id_of_its_own(void **state) {
  (void)state;
  assert_refused("id: nvidia_h100_sxm\nname: x\ninherit: nvidia_h100_sxm\n" BW, 1, "an id of its own");
}

static void test_an_ancestors_id(void **state) {
  (void)state;
  assert_refused("id: nvidia_hopper\nname: x\ninherit: nvidia_h100_sxm\n" BW, 1, "an id of its own");
}

static void test_a_short_name_is_explained(void **state) {
  (void)state;
  assert_refused("id: x\nname: x\ninherit: h100\n" BW, 3, "by its id, 'nvidia_h100_sxm'");
}

static void test_a_near_name_is_suggested(void **state) {
  (void)state;
  assert_refused("id: x\nname: x\ninherit: nvidia_h100_sxn\n" BW, 3, "did you mean 'nvidia_h100_sxm'?");
}

/* tests/errors/hw/chain: one inherits two, two inherits three, three stands alone; loop_a and loop_b inherit each other. */
static void test_chains_and_cycles(void **state) {
  (void)state;
  struct hw_database db;
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(hw_database_load(&db, "tests/errors/hw/chain", &diags), STATUS_INPUT);
  assert_int_equal(db.chips.count, 3);
  const struct hw_chip *one = hw_database_find(&db, "chain_one", NULL);
  assert_non_null(one);
  assert_true(one->memory_Bps == 1e12); /* chain_one */
  assert_true(one->memory_size_bytes == 2e10); /* chain_two */
  assert_true(one->cores == 30); /* chain_three */
  assert_string_equal(one->vendor, "Three");
  assert_string_equal(one->lineage[1], "chain_three");
  assert_null(one->lineage[2]);
  bool is_cycle_told = false;
  for (size_t i = 0; i < diags.entries.count; i++) {
    is_cycle_told |= strstr(diags.entries.data[i].message, "inherits from itself") != NULL;
    assert_int_equal(diags.entries.data[i].id, DIAG_E0306_INHERIT);
  }
  assert_true(is_cycle_told);
  hw_database_release(&db);
  diag_release(&diags);
}

static const char *const plain =
    "name: x\nvendor: V\nfields:\n  peak.bf16: {value: 1e14, unit: FLOP/s, kind: inferred, "
    "source: derived, note: n}\n  peak.f32_vector: {value: 1e13, unit: FLOP/s, kind: "
    "inferred, source: derived, note: n}\n  mem.bw: {value: 1e12, unit: B/s, kind: "
    "inferred, source: derived, note: n}\n";

static void test_defaults_of_every_kind(void **state) {
  (void)state;
  static const struct {
    const char *kind, *family;
    enum hw_fusion fusion;
    double cache_factor; /* of mem.bw; docs/chips.md */
  } cases[] = {
      {"gpu", "generic_gpu", HW_FUSION_GPU, 2.5}, {"soc", "generic_gpu", HW_FUSION_GPU, 2.5},
      {"tpu", "generic_tpu", HW_FUSION_TPU, 22},  {"npu", "generic_npu", HW_FUSION_TPU, 5},
      {"icca", "generic_npu", HW_FUSION_TPU, 5},  {"dataflow", "generic_npu", HW_FUSION_TPU, 5},
      {"cpu", "generic_cpu", HW_FUSION_GPU, 2.5},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[1024];
    snprintf(text, sizeof text, "id: x\nkind: %s\n%s", cases[i].kind, plain);
    const struct hw_chip *chip = parse(text);
    assert_non_null(chip);
    assert_null(chip->missing);
    assert_string_equal(chip->defaults, cases[i].family);
    assert_int_equal(chip->fusion, cases[i].fusion);
    assert_true(fabs(chip->cache_Bps / (cases[i].cache_factor * 1e12) - 1) < 1e-9);
    assert_true(chip->cache_size_bytes > 1e7 && chip->launch_s > 0 && chip->dispatch_s > 0);
    assert_true(chip->memory_ramp_bytes > 0 && chip->matrix_efficiency > 0 && chip->memory_efficiency > 0);
    assert_true(hw_field_is_default(chip, hw_chip_field(chip, "l2.size")));
    assert_false(hw_field_is_default(chip, hw_chip_field(chip, "mem.bw")));
  }
}

/* Any cache that a chip states comes before the default one, whatever its key; a named parent replaces the defaults. */
static void test_defaults_stand_back(void **state) {
  (void)state;
  char text[1024];
  snprintf(text, sizeof text,
           "id: x\nkind: gpu\n%s  l3.size: {value: 1000000, unit: B, kind: inferred, source: derived, note: n}\n",
           plain);
  const struct hw_chip *chip = parse(text);
  assert_non_null(chip);
  assert_true(chip->cache_size_bytes == 1e6);
  snprintf(text, sizeof text, "id: x\nkind: gpu\ninherit: nvidia_hopper\n%s", plain);
  chip = parse(text);
  assert_non_null(chip);
  assert_null(chip->defaults);
  assert_null(hw_chip_field(chip, "model.cache_bw_factor"));
}

/* A chip whose SRAM is the only memory has no cache in front of it. */
static void test_sram_only_chips_have_no_cache(void **state) {
  (void)state;
  const struct hw_chip *groq = hw_database_find(&f.db, "groq", NULL);
  assert_non_null(groq);
  assert_false(groq->has_off_chip);
  assert_true(groq->cache_size_bytes == 0 && groq->memory_ramp_bytes == 0);
}

static void test_keys_that_look_misspelt(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"mem.bandwidth", "mem.bw"}, {"hbm.capacity", "mem.size"},
      {"bf16_peak", "peak.bf16"},  {"peak.fp32_vector", "peak.f32_vector"},
      {"peak.bf6", "peak.bf16"},   {"entirely.my_own_fact", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[1024];
    snprintf(text, sizeof text,
             "id: x\nkind: gpu\n%s  %s: {value: \"7\", unit: \"-\", kind: inferred, source: derived, note: n}\n", plain,
             cases[i][0]);
    const struct hw_chip *chip = parse(text);
    assert_non_null(chip);
    size_t before = f.diags.entries.count;
    hw_chip_check_keys(chip, &f.db, &f.diags);
    assert_int_equal(f.diags.entries.count - before, cases[i][1] != NULL);
    if (cases[i][1] != NULL) {
      const struct diag *d = &f.diags.entries.data[before];
      assert_int_equal(d->id, DIAG_W0311_UNREAD_FIELD);
      assert_non_null(strstr(d->message, cases[i][1]));
    }
  }
  /* no shipped chip has a key that looks misspelt */
  for (size_t i = 0; i < f.db.chips.count; i++) {
    size_t before = f.diags.entries.count;
    hw_chip_check_keys(&f.db.chips.data[i], &f.db, &f.diags);
    assert_int_equal(f.diags.entries.count - before, f.db.chips.data[i].missing != NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_a_chip_inherits_a_chip, setup, teardown),
      cmocka_unit_test_setup_teardown(test_the_nearer_key_wins, setup, teardown),
      cmocka_unit_test_setup_teardown(test_an_id_of_its_own, setup, teardown),
      cmocka_unit_test_setup_teardown(test_an_ancestors_id, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_short_name_is_explained, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_near_name_is_suggested, setup, teardown),
      cmocka_unit_test(test_chains_and_cycles),
      cmocka_unit_test_setup_teardown(test_defaults_of_every_kind, setup, teardown),
      cmocka_unit_test_setup_teardown(test_defaults_stand_back, setup, teardown),
      cmocka_unit_test_setup_teardown(test_sram_only_chips_have_no_cache, setup, teardown),
      cmocka_unit_test_setup_teardown(test_keys_that_look_misspelt, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
