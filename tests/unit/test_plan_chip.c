/* Constants of chips for planning: stated ones against their sources, derived ones against the arithmetic that derives them,
 * chips that cannot be planned, and the factors of topologies against counts of hops by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan_fixture.h"

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

static struct plan_chip read_chip(const char *name) {
  struct plan_chip chip;
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(plan_chip_read(hw_database_find(&db, name, NULL), &diags, &chip), STATUS_OK);
  assert_int_equal(diags.entries.count, 0);
  diag_release(&diags);
  return chip;
}

static void near(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-9 * fabs(expected))) {
    fail_msg("%.12g is not %.12g", value, expected);
  }
}

/* The published pod: section 2.1 and 2.2 of the reference facts. */
static void test_pod(void **state) {
  (void)state;
  struct plan_chip chip = read_chip("elk_ipu_pod4_hbm");
  assert_int_equal(chip.cores, 4 * 1472);
  assert_int_equal(chip.cores_per_chip, 1472);
  assert_int_equal(chip.sram_bytes + chip.reserve_bytes, 624 * 1024);
  assert_int_equal(chip.reserve_bytes, 8192);
  near(chip.clock_Hz, 1.325e9);
  near(chip.link_Bps, 5.5e9);
  near(chip.memory_Bps, 16e12); /* decimal */
  near(chip.memory_efficiency, 1);
  near(chip.cross_chip_factor, 1.25);
  near(chip.sync_cycles, 118);
  near(chip.matrix_block_cycles, 24);
  near(chip.matrix_load_cycles, 514);
  near(chip.matrix_column_cycles, 113);
  near(chip.matrix_call_cycles, 173);
  near(chip.stages[PLAN_STAGE_UNARY].per_element, 0.5);
  near(chip.stages[PLAN_STAGE_ELEMENTWISE].per_element, 0.75);
  near(chip.matrix_rate_factor[DTYPE_F16], 1);
  near(chip.matrix_rate_factor[DTYPE_F32], 2.5e14 / 9.986e14);
  assert_true(chip.has_memory && chip.can_overlap);
  assert_int_equal(chip.topology, PLAN_ALL_TO_ALL);
}

/* The pod's block at its matrix peak is what the tile formula says: two independent statements. */
static void test_block_meets_peak(void **state) {
  (void)state;
  struct plan_chip chip = read_chip("elk_ipu_pod4_hbm");
  double per_clock = chip.matrix_rows * chip.matrix_depth * chip.matrix_columns / chip.matrix_block_cycles;
  double peak = 2 * per_clock * chip.cores * chip.clock_Hz;
  assert_true(fabs(peak / chip.chip->matrix_flops[DTYPE_F16] - 1) < 0.01);
}

static void test_real_chips(void **state) {
  (void)state;
  struct plan_chip gc200 = read_chip("gc200");
  assert_false(gc200.has_memory); /* streaming memory is behind the host */
  assert_false(gc200.can_overlap);
  near(gc200.cross_chip_factor, 1); /* one chip, whatever the file says of several */
  assert_int_equal(gc200.reserve_bytes, 638976 / 64);

  struct plan_chip wormhole = read_chip("n150");
  assert_int_equal(wormhole.cores, 72);
  near(wormhole.link_Bps, 28.1e9); /* measured 28.1 B per clock at 1 GHz */
  near(wormhole.matrix_block_cycles, 64); /* 32 x 32 x 32 at 512 multiply-adds per clock */
  assert_int_equal(wormhole.topology, PLAN_TORUS_2D);
  assert_true(wormhole.has_memory);
  near(wormhole.memory_Bps, 288e9);
  near(wormhole.memory_efficiency, 0.85);

  struct plan_chip blackhole = read_chip("p150");
  /* derived: 32^3 / (193.5e12 / (2 x 140 x 1.35e9)) */
  near(blackhole.matrix_block_cycles, 32768 / (1.935e14 / (2 * 140 * 1.35e9)));

  struct plan_chip wafer = read_chip("wse3");
  assert_int_equal(wafer.topology, PLAN_MESH_2D);
  assert_false(wafer.has_memory);
  assert_int_equal(wafer.cores, 900000);
}

static void test_all_array_chips_plan(void **state) {
  (void)state;
  static const char *const names[] = {"gc200", "bow",  "ipu-pod4", "n150", "tt_wormhole_n300",
                                      "p150",  "e150", "e75",      "wse2", "wse3"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct plan_chip chip = read_chip(names[i]);
    assert_true(chip.sram_bytes > 0 && chip.link_Bps > 0 && chip.matrix_block_cycles > 0);
    assert_true(chip.stages[PLAN_STAGE_REDUCE].per_element > 0);
    assert_true(chip.exchange_factor >= 1 && chip.preload_factor >= 1);
  }
}

static void test_refused(void **state) {
  (void)state;
  struct diag_list diags;
  struct plan_chip chip;
  diag_init(&diags);
  assert_int_equal(plan_chip_read(hw_database_find(&db, "h100", NULL), &diags, &chip), STATUS_INPUT);
  assert_int_equal(diags.entries.count, 1);
  assert_string_equal(diag_code(diags.entries.data[0].id), "E0803");
  diag_release(&diags);
}

static void test_explain(void **state) {
  (void)state;
  struct plan_chip chip = read_chip("n150");
  struct strbuf out = {0};
  plan_chip_explain(&chip, &out);
  assert_non_null(strstr(strbuf_text(&out), "noc.bw_per_core"));
  assert_non_null(strstr(strbuf_text(&out), "derived: noc.injection_rate_worker x clock"));
  assert_non_null(strstr(strbuf_text(&out), "stated (datasheet)"));
  assert_non_null(strstr(strbuf_text(&out), "torus-2d"));
  strbuf_release(&out);
}

/* Mean distance of two places of a line or ring, by going through all pairs. */
static double mean_distance(uint32_t n, bool wraps) {
  double sum = 0;
  for (uint32_t a = 0; a < n; a++) {
    for (uint32_t b = 0; b < n; b++) {
      uint32_t d = a > b ? a - b : b - a;
      sum += wraps && n - d < d ? n - d : d;
    }
  }
  return sum / n / n;
}

static double mean_to_edge(uint32_t columns) {
  double sum = 0;
  for (uint32_t c = 0; c < columns; c++) {
    sum += (c < columns - 1 - c ? c : columns - 1 - c) + 1;
  }
  return sum / columns;
}

static void test_topologies(void **state) {
  (void)state;
  static const uint32_t shapes[][2] = {{8, 9}, {10, 12}, {64, 92}, {5, 5}, {30, 40}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    uint32_t r = shapes[i][0], c = shapes[i][1];
    struct plan_chip chip = plan_fixture_chip(r * c, 1000);
    near(chip.exchange_factor, 1);
    plan_chip_set_topology(&chip, PLAN_MESH_2D, r, c);
    uint32_t links = 0; /* directed, between neighbours */
    for (uint32_t y = 0; y < r; y++) {
      for (uint32_t x = 0; x < c; x++) {
        links += (uint32_t)((x > 0) + (x + 1 < c) + (y > 0) + (y + 1 < r));
      }
    }
    double per_core = (double)links / (r * c);
    near(chip.exchange_factor, fmax(1, (mean_distance(r, false) + mean_distance(c, false)) / per_core));
    near(chip.preload_factor, fmax(1, mean_to_edge(c) / per_core));
    plan_chip_set_topology(&chip, PLAN_TORUS_2D, r, c);
    near(chip.exchange_factor, fmax(1, (mean_distance(r, true) + mean_distance(c, true)) / 4));
    plan_chip_set_topology(&chip, PLAN_RING, 0, 0);
    near(chip.exchange_factor, fmax(1, mean_distance(r * c, true) / 2));
    assert_int_equal(chip.mesh_rows, 0);
  }
}

static void test_squarest_grid(void **state) {
  (void)state;
  struct plan_chip chip = plan_fixture_chip(72, 1000);
  plan_chip_set_topology(&chip, PLAN_MESH_2D, 0, 0);
  assert_int_equal(chip.mesh_rows, 8);
  assert_int_equal(chip.mesh_columns, 9);
  assert_string_equal(plan_topology_name(PLAN_MESH_2D), "mesh-2d");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pod),        cmocka_unit_test(test_block_meets_peak),
      cmocka_unit_test(test_refused),    cmocka_unit_test(test_all_array_chips_plan),
      cmocka_unit_test(test_explain),    cmocka_unit_test(test_real_chips),
      cmocka_unit_test(test_topologies), cmocka_unit_test(test_squarest_grid),
  };
  return cmocka_run_group_tests(tests, load, release);
}
