/* Matrix products in the roofline: closed forms of the tiled and the systolic rule. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cost/roofline.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static struct hw_chip gpu_chip(void) {
  struct hw_chip chip = {.id = "gpu", .kind = HW_KIND_GPU};
  chip.matrix_flops[DTYPE_BF16] = 132 * 7.5e12; /* 7.5 TFLOP/s per core */
  chip.matrix_runs_as[DTYPE_BF16] = DTYPE_BF16;
  chip.vector_flops[DTYPE_F32] = 60e12;
  chip.vector_runs_as[DTYPE_F32] = DTYPE_F32;
  chip.matrix_flops[DTYPE_F32] = 60e12;
  chip.matrix_runs_as[DTYPE_F32] = DTYPE_F32;
  chip.f32_default_as = DTYPE_F32;
  chip.clock_Hz = 1.755e9;
  chip.cores = 132;
  chip.tile_m = 128;
  chip.tile_n = 256;
  chip.memory_Bps = 3.35e12;
  chip.cache_size_bytes = 50e6;
  chip.cache_Bps = 7e12;
  chip.has_off_chip = true;
  chip.launch_s = 1.2e-6;
  chip.matrix_efficiency = 0.8;
  chip.memory_efficiency = 0.9;
  return chip;
}

static struct hw_chip systolic_chip(double units) {
  struct hw_chip chip = {.id = "tpu", .kind = HW_KIND_TPU};
  chip.cores = 1;
  chip.matrix_units_per_core = units;
  chip.matrix_rows = chip.matrix_columns = 128;
  chip.matrix_flops[DTYPE_BF16] = 2 * 128 * 128 * units * 1e9; /* at 1 GHz: a cycle is a nanosecond */
  chip.matrix_runs_as[DTYPE_BF16] = DTYPE_BF16;
  chip.f32_default_as = DTYPE_BF16;
  chip.memory_Bps = 1e12;
  chip.matrix_efficiency = 1;
  chip.has_off_chip = true;
  return chip;
}

/* A bf16 product, not offered to the vector engine. */
static struct roofline_product product_of(const struct roofline_chip *rc, uint64_t batch, uint64_t m, uint64_t n,
                                          uint64_t k) {
  return (struct roofline_product){
      .gemm = {batch, m, n, k},
      .flop_count = 2.0 * (double)batch * (double)m * (double)n * (double)k,
      .passes = 1,
      .rate = rc->matrix_flops[DTYPE_BF16],
      .element_bytes = 2,
      .is_alone = true,
  };
}

static double gemm_time_s(const struct hw_chip *chip, uint64_t m, uint64_t n, uint64_t k, struct roofline_gemm *out) {
  struct roofline_chip rc;
  roofline_chip_init(&rc, chip, NULL);
  struct roofline_product product = product_of(&rc, 1, m, n, k);
  const struct roofline_load nothing_else = {.vector_s = 0};
  roofline_gemm_choose(&rc, &product, &nothing_else, out);
  return out->time_s;
}

/* SCALE-Sim v3 run on a 128 x 128 array, weight stationary. */
static void systolic_without_double_buffering_is_scale_sim(void **state) {
  (void)state;
  const struct { double n, cycles; } rows[] = {{256, 2552}, {512, 14304}, {1024, 89984}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    double folds = rows[i].n / 128 * rows[i].n / 128;
    assert_true(roofline_systolic_cycles(folds, rows[i].n, 128, 128, false) == rows[i].cycles);
  }
}

static void double_buffered_array_is_busy(void **state) {
  (void)state;
  struct hw_chip chip = systolic_chip(1);
  struct roofline_gemm gemm;
  gemm_time_s(&chip, 1024, 1024, 1024, &gemm);
  /* 64 folds of 1024 rows and one fill and drain: 65,792 cycles for 65,536 of work */
  assert_true(gemm.cycles == 64 * 1024 + 256);
  assert_near(gemm.efficiency, 65536.0 / 65792.0, 1e-6);
  assert_true(gemm.efficiency > 0.99);
}

static void few_folds_split_the_rows_over_arrays(void **state) {
  (void)state;
  struct hw_chip chip = systolic_chip(4);
  struct roofline_gemm gemm;
  /* one fold for four arrays: each streams a quarter of 4,096 rows */
  gemm_time_s(&chip, 4096, 128, 128, &gemm);
  assert_true(gemm.cycles == 1024 + 256);
}

static void narrow_products_waste_columns(void **state) {
  (void)state;
  struct hw_chip chip = systolic_chip(1);
  struct roofline_gemm wide, narrow;
  double wide_s = gemm_time_s(&chip, 4096, 128, 4096, &wide);
  double narrow_s = gemm_time_s(&chip, 4096, 16, 4096, &narrow);
  /* 16 columns fill an array of 128 only when the operands change sides; either way an eighth of the work takes longer
   * than an eighth of the time */
  assert_true(narrow_s <= wide_s * (1 + 1e-12));
  assert_true(narrow_s > wide_s / 8);
}

/* 132 tiles on 132 cores are one wave, 133 are two (H100). */
static void one_tile_more_is_one_wave_more(void **state) {
  (void)state;
  struct hw_chip chip = gpu_chip();
  struct roofline_chip rc;
  roofline_chip_init(&rc, &chip, NULL);
  const struct roofline_tile tile = {128, 256, 1};
  struct roofline_gemm one = {0}, two = {0};
  const struct roofline_product fits = product_of(&rc, 1, 132 * 128, 256, 4096);
  const struct roofline_product exceeds = product_of(&rc, 1, 132 * 128 + 1, 256, 4096);
  roofline_gemm_tiled(&rc, &fits, &tile, 1, &one);
  roofline_gemm_tiled(&rc, &exceeds, &tile, 1, &two);
  assert_true(one.waves == 1 && two.waves == 2);
  /* a tile: 2 x 128 x 256 x 4096 FLOP at 80 % of 7.5 TFLOP/s = 44.74 us */
  assert_near((one.time_s - rc.fill_s) * 1e6, 2.0 * 128 * 256 * 4096 / 6e12 * 1e6, 1e-3);
  assert_near((two.time_s - rc.fill_s) / (one.time_s - rc.fill_s), 2, 1e-9);
  /* the library may take smaller tiles, but the step stays: between 132 and 133 big tiles time rises by more than a
   * tenth, from 131 to 132 not at all */
  struct roofline_gemm unused;
  double at131 = gemm_time_s(&chip, 131 * 128, 256, 4096, &unused);
  double at132 = gemm_time_s(&chip, 132 * 128, 256, 4096, &unused);
  double at133 = gemm_time_s(&chip, 133 * 128, 256, 4096, &unused);
  assert_near(at131 * 1e6, at132 * 1e6, 1e-6);
  assert_true(at133 > 1.1 * at132);
}

static void deep_narrow_products_split_k(void **state) {
  (void)state;
  struct hw_chip chip = gpu_chip();
  struct roofline_gemm gemm;
  gemm_time_s(&chip, 128, 128, 65536, &gemm);
  assert_true(gemm.split > 1);
  assert_true(gemm.extra_launches == 1);
  gemm_time_s(&chip, 8192, 8192, 8192, &gemm);
  assert_true(gemm.split == 1);
}

static void odd_dimensions_cost_more(void **state) {
  (void)state;
  struct hw_chip chip = gpu_chip();
  struct roofline_gemm gemm;
  double aligned = gemm_time_s(&chip, 4096, 4096, 4096, &gemm);
  double odd = gemm_time_s(&chip, 4096, 4096, 4095, &gemm);
  assert_true(odd > 1.5 * aligned); /* tensor cores: 2 to 4 times */
}

static void nothing_beats_the_peak_and_larger_is_slower(void **state) {
  (void)state;
  const struct hw_chip chips[] = {gpu_chip(), systolic_chip(4)};
  for (size_t c = 0; c < 2; c++) {
    double before = 0;
    for (uint64_t n = 64; n <= 8192; n += 64) {
      struct roofline_gemm gemm;
      double time_s = gemm_time_s(&chips[c], n, n, n, &gemm);
      time_s += gemm.extra_launches * chips[c].launch_s; /* a second launch and its traffic buy a shorter product */
      double cubed = (double)n * (double)n * (double)n;
      assert_true(time_s >= 2 * cubed / chips[c].matrix_flops[DTYPE_BF16]);
      assert_true(gemm.efficiency <= 1);
      assert_true(time_s >= before * (1 - 1e-12));
      before = time_s;
    }
  }
}

/* Operands of 8192 x 8192 x 2 B do not fit 50 MB, so each is read several times: a wave of 132 tiles of 128 x 256 is about
 * 2,080 outputs on a side, 8192 / 2080 = 3.94 passes over 134 MB each. */
static void large_operands_are_read_again(void **state) {
  (void)state;
  struct hw_chip chip = gpu_chip();
  struct roofline_gemm gemm;
  gemm_time_s(&chip, 8192, 8192, 8192, &gemm);
  double side = sqrt(132.0 * 128 * 256), pass = 8192.0 * 8192 * 2;
  assert_near(gemm.reread_bytes / 1e6, 2 * pass * (8192 / side - 1) / 1e6, 1);
  gemm_time_s(&chip, 1024, 1024, 1024, &gemm);
  assert_true(gemm.reread_bytes == 0);
}

/* Complex numbers are four real products of the shape: four times the time but for the fill, and never above the peak. */
static void complex_products_are_four_real_ones(void **state) {
  (void)state;
  const struct hw_chip chips[] = {gpu_chip(), systolic_chip(4)};
  for (size_t c = 0; c < 2; c++) {
    struct roofline_chip rc;
    roofline_chip_init(&rc, &chips[c], NULL);
    struct roofline_product product = product_of(&rc, 1, 4096, 4096, 4096);
    const struct roofline_load nothing_else = {.vector_s = 0};
    struct roofline_gemm one, four;
    roofline_gemm_choose(&rc, &product, &nothing_else, &one);
    product.passes = 4;
    product.flop_count *= 4;
    roofline_gemm_choose(&rc, &product, &nothing_else, &four);
    assert_near((four.time_s - rc.fill_s) / (one.time_s - rc.fill_s), 4, 1e-9);
    assert_true(four.efficiency <= 1);
  }
}

/* A depthwise convolution is a product of one column per channel: 51 million taps fill 9 of 128 x 128 places of an array,
 * and take 2 x 51e6 / 4e12 s on the lanes. */
static void skinny_products_may_run_on_the_lanes(void **state) {
  (void)state;
  struct hw_chip chip = systolic_chip(4);
  struct roofline_chip rc;
  roofline_chip_init(&rc, &chip, NULL);
  struct roofline_product product = product_of(&rc, 512, 12544, 1, 9);
  struct roofline_load load = {.vector_s = 0};
  struct roofline_gemm array, lanes;
  roofline_gemm_choose(&rc, &product, &load, &array);
  product.vector_s = 1 / 4e12;
  roofline_gemm_choose(&rc, &product, &load, &lanes);
  assert_true(lanes.time_s == 0);
  assert_near(lanes.vector_s * 1e6, 2 * 512 * 12544 * 9 / 4e6, 1e-6);
  assert_true(lanes.vector_s < array.time_s / 10);
  load.vector_s = 1; /* lanes that are busy for a second with the rest of the kernel */
  roofline_gemm_choose(&rc, &product, &load, &lanes);
  assert_true(lanes.vector_s == 0);
}

/* Small tiles wait for operands at the rate of their own type: another type's peak is none of their business, and slow
 * products wait for nothing. */
static void tiles_wait_by_the_rate_of_their_type(void **state) {
  (void)state;
  struct hw_chip chip = gpu_chip();
  const struct roofline_load nothing_else = {.vector_s = 0};
  double before = 0;
  for (int i = 0; i < 2; i++) {
    struct roofline_chip rc;
    roofline_chip_init(&rc, &chip, NULL);
    struct roofline_product product = product_of(&rc, 1, 96, 4096, 4096);
    product.rate = rc.matrix_flops[DTYPE_F32];
    product.element_bytes = 4;
    struct roofline_gemm gemm;
    roofline_gemm_choose(&rc, &product, &nothing_else, &gemm);
    assert_true(i == 0 || gemm.time_s == before);
    before = gemm.time_s;
    chip.matrix_flops[DTYPE_BF16] *= 4;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(systolic_without_double_buffering_is_scale_sim),
      cmocka_unit_test(double_buffered_array_is_busy),
      cmocka_unit_test(few_folds_split_the_rows_over_arrays),
      cmocka_unit_test(narrow_products_waste_columns),
      cmocka_unit_test(one_tile_more_is_one_wave_more),
      cmocka_unit_test(deep_narrow_products_split_k),
      cmocka_unit_test(odd_dimensions_cost_more),
      cmocka_unit_test(nothing_beats_the_peak_and_larger_is_slower),
      cmocka_unit_test(large_operands_are_read_again),
      cmocka_unit_test(complex_products_are_four_real_ones),
      cmocka_unit_test(skinny_products_may_run_on_the_lanes),
      cmocka_unit_test(tiles_wait_by_the_rate_of_their_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
