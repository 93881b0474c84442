/* The time of tiled matrix products: closed forms on a chip with round numbers, properties on random shapes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/kernel.h"

#define assert_near(a, b, relative) assert_true(fabs((a) - (b)) <= (relative)*fabs(b))

static const struct kernel_model *const model = &kernel_gemm_tiled;
enum { CORES = 8 };
static const double peak = 1.6e13, memory = 1e12; /* 2e12 FLOP/s per core */

static struct hw_chip plain_chip(void) {
  struct hw_chip chip = {.id = "plain", .name = "plain", .kind = HW_KIND_GPU, .cores = CORES, .clock_Hz = 1e9};
  chip.tile_m = 128, chip.tile_n = 256, chip.tile_k = 32;
  for (unsigned d = 1; d < DTYPE_COUNT; d++) {
    chip.matrix_runs_as[d] = DTYPE_BF16;
  }
  chip.matrix_runs_as[DTYPE_F32] = DTYPE_F32;
  chip.matrix_flops[DTYPE_BF16] = peak;
  chip.matrix_flops[DTYPE_F32] = chip.vector_flops[DTYPE_F32] = peak / 16;
  chip.memory_Bps = memory;
  chip.cache_Bps = 4e12;
  chip.cache_size_bytes = 4e7;
  chip.memory_efficiency = chip.matrix_efficiency = 0.8;
  chip.launch_s = 1e-6;
  return chip;
}

/* Matrix units are all that takes time. */
static struct hw_chip matrix_chip(void) {
  struct hw_chip chip = plain_chip();
  chip.memory_Bps = 1e20;
  return chip;
}

static void set(double *values, const char *name, double value) {
  for (unsigned i = 0; i < model->constant_count; i++) {
    if (strcmp(model->constants[i].name, name) == 0) {
      values[i] = value;
      return;
    }
  }
  fail_msg("no constant %s", name);
}

/* Launch and the slowest resource, nothing else; splitting k never pays. */
static void plain_constants(double *values) {
  memset(values, 0, KERNEL_CONSTANT_MAX * sizeof *values);
  set(values, "launch_s", 1e-6);
  set(values, "matrix_efficiency", 1);
  set(values, "memory_efficiency", 1);
  set(values, "write_cost", 1);
  set(values, "cache_efficiency", 1e9);
  set(values, "weight_copies", 1);
  set(values, "split_s", 1e6);
  set(values, "quantise_memory", 1);
}

static struct kernel_shape product(double batch, double m, double n, double k) {
  return (struct kernel_shape){.class_of = KERNEL_GEMM, .format = KERNEL_FORMAT_BF16, .gemm = {batch, m, n, k}};
}

static struct kernel_time time_of(const struct hw_chip *chip, const double *values, struct kernel_shape shape) {
  struct kernel_time time;
  model->time(chip, &shape, values, &time);
  return time;
}

static uint64_t random_next(uint64_t *seed) { /* splitmix64 (Steele, Lea, Flood 2014) */
  uint64_t z = *seed += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* Spread evenly over the orders of magnitude from 1 to `most`. */
static double random_extent(uint64_t *seed, double most) {
  double share = (double)(random_next(seed) >> 11) / 9007199254740992.0;
  return floor(pow(most, share));
}

static struct kernel_shape random_product(uint64_t *seed) {
  double batch = random_extent(seed, 20), m = random_extent(seed, 1e5), n = random_extent(seed, 1e5);
  return product(batch, m, n, random_extent(seed, 1e5));
}

static void test_applies(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  assert_true(model->applies(KERNEL_GEMM, KERNEL_FORMAT_BF16, &chip));
  assert_false(model->applies(KERNEL_SOFTMAX, KERNEL_FORMAT_BF16, &chip));
  chip.matrix_runs_as[DTYPE_F4E2M1FN] = DTYPE_NONE;
  assert_false(model->applies(KERNEL_GEMM, KERNEL_FORMAT_NVFP4, &chip));
  chip.tile_m = 0; /* systolic */
  assert_false(model->applies(KERNEL_GEMM, KERNEL_FORMAT_BF16, &chip));
}

/* Only 16 x 64 tiles exist. Eight of them keep eight cores busy once; a ninth starts another wave. 16 x 64 x 4096 takes
 * 2 x 16 x 64 x 4096 / 2e12 s = 4.194304 us. */
static void test_waves(void **state) {
  (void)state;
  struct hw_chip chip = matrix_chip();
  chip.tile_m = 16, chip.tile_n = 64;
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  const double wave_s = 4.194304e-6;
  struct kernel_time one = time_of(&chip, values, product(1, 16, 64 * CORES, 4096));
  assert_near(one.time_s, 1e-6 + wave_s, 1e-12);
  assert_true(one.waves == 1);
  struct kernel_time more = time_of(&chip, values, product(1, 16, 64 * CORES + 1, 4096));
  assert_near(more.time_s, 1e-6 + 2 * wave_s, 1e-12);
  assert_near(more.waves, 9.0 / 8, 1e-12);
  set(values, "wave_softness", 1); /* the ninth tile's work spreads over all cores */
  more = time_of(&chip, values, product(1, 16, 64 * CORES + 1, 4096));
  assert_near(more.time_s, 1e-6 + 9.0 / 8 * wave_s, 1e-12);
}

/* With all tiles the library avoids most of that second wave: 8 x 33 tiles of 16 x 64 are 33 per core, where an exact
 * fit has 32; every larger tile loses at least 1/16. */
static void test_best_tile(void **state) {
  (void)state;
  struct hw_chip chip = matrix_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  double fit_s = time_of(&chip, values, product(1, 128, 256 * CORES, 4096)).time_s - 1e-6;
  assert_near(fit_s, 2.0 * 128 * 256 * CORES * 4096 / peak, 1e-9);
  struct kernel_time more = time_of(&chip, values, product(1, 128, 256 * CORES + 1, 4096));
  assert_near(more.time_s - 1e-6, fit_s * 33 / 32, 1e-9);
  assert_true(more.tile_m == 16 && more.tile_n == 64);
}

/* One tile and k = 8192 on eight cores: split in eight, each core does an eighth, 2 x 16 x 64 x 1024 / 2e12 s =
 * 1.048576 us. With 32 parts there would be four per core, the same work; of equals the smaller split stays. */
static void test_split(void **state) {
  (void)state;
  struct hw_chip chip = matrix_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  set(values, "split_s", 1e-7);
  struct kernel_time time = time_of(&chip, values, product(1, 16, 64, 8192));
  assert_near(time.time_s, 1e-6 + 1.048576e-6 + 1e-7, 1e-9);
  assert_true(time.split == 8);
  set(values, "split_s", 1e-4);
  assert_true(time_of(&chip, values, product(1, 16, 64, 8192)).split == 1);
}

/* k is worked on in steps of 32 elements of two bytes, 64 of one byte; a step costs at least step_s. */
static void test_steps(void **state) {
  (void)state;
  struct hw_chip chip = matrix_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  set(values, "step_s", 1e-5);
  assert_near(time_of(&chip, values, product(1, 16, 64, 320)).time_s, 1e-6 + 10e-5, 1e-9);
  assert_near(time_of(&chip, values, product(1, 16, 64, 321)).time_s, 1e-6 + 11e-5, 1e-9);
  struct kernel_shape narrow = product(1, 16, 64, 640);
  narrow.format = KERNEL_FORMAT_FP8;
  assert_near(time_of(&chip, values, narrow).time_s, 1e-6 + 10e-5, 1e-9);
}

/* One row times a large matrix: all that matters is reading 2 x 4096 x 16384 bytes of weights (and 41 KB more). */
static void test_memory_bound(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  set(values, "cache_fraction", 1);
  struct kernel_shape shape = product(1, 1, 4096, 16384);
  double bytes = 2.0 * (4096.0 * 16384 + 16384 + 4096);
  struct kernel_time time = time_of(&chip, values, shape);
  assert_near(time.off_chip_bytes, bytes, 1e-12);
  assert_near(time.memory_s, bytes / memory, 1e-12);
  shape.cached_bytes = 2.0 * 4096 * 8192; /* half of the weights */
  shape.extra_bytes = 1e6;
  assert_near(time_of(&chip, values, shape).memory_s, (bytes - shape.cached_bytes + 1e6) / memory, 1e-12);
  shape.cached_bytes = 1e30;
  assert_near(time_of(&chip, values, shape).memory_s, (4096 * 2 + 1e6) / memory, 1e-12);
}

/* 16384 cubed with an efficiency of 0.75 and nothing exposed: all tiles divide it, 8 cores share them evenly. */
static void test_large_product_reaches_peak(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  set(values, "matrix_efficiency", 0.75);
  double flops = 2 * 16384.0 * 16384 * 16384;
  assert_near(time_of(&chip, values, product(1, 16384, 16384, 16384)).time_s, flops / (0.75 * peak), 1e-5);
  /* with constants of the data sheet: never faster than the peak they allow, and within 1.5 of it */
  model->defaults(&chip, KERNEL_GEMM, KERNEL_FORMAT_BF16, values);
  double ratio = time_of(&chip, values, product(1, 16384, 16384, 16384)).time_s / (flops / peak);
  assert_true(ratio > 1 && ratio < 1.5);
}

/* 4096 rows of 1024: 3 bytes move per element, at the memory's rate. */
static void test_quantisation_adds(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  set(values, "quantise_s", 2e-6);
  set(values, "quantise_row_s", 1e-9);
  struct kernel_shape shape = product(1, 4096, 1024, 1024);
  shape.format = KERNEL_FORMAT_FP8;
  double without_s = time_of(&chip, values, shape).time_s;
  shape.flags = KERNEL_QUANTISES;
  double added_s = 2e-6 + 4096 * 1e-9 + 3.0 * 4096 * 1024 / memory;
  assert_near(time_of(&chip, values, shape).time_s, without_s + added_s, 1e-12);
}

static void test_host_hides_short_kernels(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  struct kernel_shape large = product(1, 8192, 8192, 8192);
  double device_s = time_of(&chip, values, large).time_s;
  set(values, "dispatch_s", 1e-3);
  assert_near(time_of(&chip, values, product(1, 1, 1, 1)).time_s, 1e-3, 1e-6);
  assert_near(time_of(&chip, values, large).time_s, device_s, 1e-6); /* 69 ms */
}

/* Where loads from the cache are all that counts the largest tile is best: 128 x 256, twice that where pairs of cores
 * share a tile (matrix instructions as wide as 256), 128 x 128 on vector lanes. */
static void test_largest_tiles(void **state) {
  (void)state;
  struct hw_chip chip = matrix_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  set(values, "cache_efficiency", 1e-3);
  struct kernel_shape shape = product(1, 4096, 4096, 4096);
  struct kernel_time time = time_of(&chip, values, shape);
  assert_true(time.tile_m * time.tile_n == 128 * 256);
  /* 16 rows of tiles load all weights, 32 columns all activations; the result is written once */
  assert_near(time.cache_s, 2.0 * 4096 * 4096 * (16 + 32 + 1) / 4e9, 1e-12);
  chip.matrix_columns = 256;
  time = time_of(&chip, values, shape);
  assert_true(time.tile_m == 256 && time.tile_n == 256);
  shape.format = KERNEL_FORMAT_F32;
  time = time_of(&chip, values, shape);
  assert_true(time.tile_m == 128 && time.tile_n == 128);
}

static void test_monotone(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip(), wide = chip, fast_cache = chip;
  wide.memory_Bps *= 1.5;
  fast_cache.cache_Bps *= 1.5;
  double values[KERNEL_CONSTANT_MAX];
  model->defaults(&chip, KERNEL_GEMM, KERNEL_FORMAT_BF16, values);
  uint64_t seed = 1;
  for (unsigned i = 0; i < 20000; i++) {
    struct kernel_shape shape = random_product(&seed);
    shape.flags = i % 2 ? KERNEL_WARM : 0;
    double time_s = time_of(&chip, values, shape).time_s;
    assert_true(isfinite(time_s) && time_s > 0);
    assert_true(time_of(&wide, values, shape).time_s <= time_s * (1 + 1e-12));
    assert_true(time_of(&fast_cache, values, shape).time_s <= time_s * (1 + 1e-12));
    struct kernel_shape other = shape;
    other.gemm.batch += 1;
    assert_true(time_of(&chip, values, other).time_s >= time_s * (1 - 1e-12));
    other = shape;
    other.flags |= KERNEL_WARM;
    assert_true(time_of(&chip, values, other).time_s <= time_s * (1 + 1e-12));
  }
}

/* Every format and any extent: finite, positive, and the parts too. */
static void test_extremes(void **state) {
  (void)state;
  static const double extents[] = {1, 2, 31, 65537, 1e9, 1e15};
  enum { EXTENTS = sizeof extents / sizeof extents[0] };
  struct hw_chip chips[] = {plain_chip(), plain_chip(), plain_chip()};
  chips[1].cores = 1, chips[1].tile_m = chips[1].tile_n = 8, chips[1].tile_k = 0; /* tiny tiles */
  chips[2].cache_Bps = chips[2].cache_size_bytes = 0, chips[2].matrix_columns = 256;
  for (unsigned c = 0; c < sizeof chips / sizeof chips[0]; c++) {
    for (unsigned f = 0; f < KERNEL_FORMAT_COUNT; f++) {
      double values[KERNEL_CONSTANT_MAX];
      model->defaults(&chips[c], KERNEL_GEMM, (enum kernel_format)f, values);
      for (unsigned i = 0; i < EXTENTS * EXTENTS * EXTENTS; i++) {
        struct kernel_shape shape = product(extents[i % 2], extents[i % EXTENTS], extents[i / EXTENTS % EXTENTS],
                                            extents[i / EXTENTS / EXTENTS]);
        shape.format = (enum kernel_format)f;
        shape.flags = i % 8;
        struct kernel_time time = time_of(&chips[c], values, shape);
        assert_true(isfinite(time.time_s) && time.time_s > 0);
        assert_true(isfinite(time.matrix_s + time.memory_s + time.cache_s + time.vector_s + time.off_chip_bytes));
      }
    }
  }
}

static void test_defaults_inside_bounds(void **state) {
  (void)state;
  struct hw_chip chips[] = {plain_chip(), {.cores = 1, .memory_Bps = 1, .launch_s = 1, .matrix_efficiency = 9}};
  assert_true(model->constant_count <= KERNEL_CONSTANT_MAX);
  for (unsigned c = 0; c < 2; c++) {
    double values[KERNEL_CONSTANT_MAX];
    model->defaults(&chips[c], KERNEL_GEMM, KERNEL_FORMAT_NVFP4, values);
    for (unsigned i = 0; i < model->constant_count; i++) {
      assert_true(model->constants[i].lower < model->constants[i].upper);
      assert_true(values[i] >= model->constants[i].lower && values[i] <= model->constants[i].upper);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_applies),
      cmocka_unit_test(test_waves),
      cmocka_unit_test(test_best_tile),
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_memory_bound),
      cmocka_unit_test(test_large_product_reaches_peak),
      cmocka_unit_test(test_quantisation_adds),
      cmocka_unit_test(test_host_hides_short_kernels),
      cmocka_unit_test(test_largest_tiles),
      cmocka_unit_test(test_monotone),
      cmocka_unit_test(test_extremes),
      cmocka_unit_test(test_defaults_inside_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
