/* Kernels that pass over rows on chips with vector lanes: closed forms for each resource, layouts by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/kernel.h"

#define assert_near(a, b, relative) assert_true(fabs((double)(a) - (double)(b)) <= (relative)*fabs((double)(b)))

/* Two cores at 1 GHz, 1 TB/s, 10 TFLOP/s of f32 in which bf16 is computed, 100 MB on chip at 20 TB/s, 1 T exponentials/s. */
static struct hw_chip plain_chip(void) {
  struct hw_chip chip = {.id = "plain", .name = "plain", .kind = HW_KIND_TPU, .cores = 2, .clock_Hz = 1e9};
  for (unsigned d = 1; d < DTYPE_COUNT; d++) {
    chip.vector_runs_as[d] = (uint8_t)d;
  }
  chip.vector_runs_as[DTYPE_BF16] = DTYPE_F32;
  chip.vector_flops[DTYPE_F32] = 1e13;
  chip.memory_Bps = 1e12;
  chip.cache_Bps = 2e13;
  chip.cache_size_bytes = 1e8;
  chip.function_rate[HW_FUNCTION_EXP] = 1e12;
  chip.memory_ramp_bytes = 3e6;
  chip.vector_efficiency = 0.5;
  chip.memory_efficiency = 0.8;
  chip.has_off_chip = true;
  chip.launch_s = 1e-6;
  return chip;
}

static void set(double *values, const char *name, double value) {
  int index = kernel_constant_find(&kernel_pass_lanes, name);
  assert_true(index >= 0);
  values[index] = value;
}

static struct kernel_time timed(const struct hw_chip *chip, struct kernel_shape shape) {
  double values[KERNEL_CONSTANT_MAX];
  struct kernel_time time;
  set(values, "launch_s", 1e-6);
  set(values, "memory_latency_s", 2e-6);
  set(values, "memory_efficiency", 0.5);
  set(values, "write_weight", 2);
  set(values, "vector_efficiency", 0.5);
  set(values, "function_efficiency", 0.25);
  set(values, "block_fraction", 0.01);
  set(values, "row_cycles", 4);
  kernel_pass_lanes.time(chip, &shape, values, &time);
  return time;
}

static double time_of(struct kernel_shape shape) {
  struct hw_chip chip = plain_chip();
  return timed(&chip, shape).time_s;
}

static struct kernel_shape pass(enum kernel_class class_of, double rows, double columns, uint32_t flags) {
  return (struct kernel_shape){
      .class_of = class_of,
      .format = KERNEL_FORMAT_F32,
      .flags = flags,
      .pass = {.rows = rows, .columns = columns, .reads = 1, .writes = 1, .function = HW_FUNCTION_COUNT}};
}

/* 1.28e9 elements of 4 B; a byte written counts two: 1.536e10 B / 0.5e12 B/s = 30.72 ms. Reads alone: 5.12e9 B, 10.24 ms. */
static void long_stream_is_bandwidth(void **state) {
  (void)state;
  struct kernel_shape shape = pass(KERNEL_ELEMENTWISE, 1, 1.28e9, 0);
  assert_near(time_of(shape), 30.72e-3 + 3e-6, 1e-9);
  shape.flags = KERNEL_WARM; /* far more than fits */
  assert_near(time_of(shape), 30.72e-3 + 3e-6, 1e-9);
  shape.pass.writes = 0;
  assert_near(time_of(shape), 10.24e-3 + 3e-6, 1e-9);
}

/* 1.28e6 elements of bf16, two arrays read and one written, 7.68 MB: stays on chip. Addition, two conversions and a rounding:
 * 4 x 1.28e6 / (1e13 x 0.5) = 1.024 us. In f32 the addition alone is 0.256 us; 15.36 MB at 20 TB/s take longer: 0.768 us. */
static void resident_pass_is_vector_lanes(void **state) {
  (void)state;
  struct kernel_shape shape = pass(KERNEL_ELEMENTWISE, 1, 1.28e6, KERNEL_WARM);
  shape.pass.reads = 2;
  shape.pass.vector_flops = 1;
  assert_near(time_of(shape), 0.768e-6 + 1e-6, 1e-9);
  shape.format = KERNEL_FORMAT_BF16;
  assert_near(time_of(shape), 1.024e-6 + 1e-6, 1e-9);
  /* cold, the same arithmetic hides behind 1.28e6 x (2 + 2 + 4) B / 0.5e12 B/s = 20.48 us but for the first 1 of 7.68 MB */
  shape.flags = 0;
  assert_near(time_of(shape), 20.48e-6 + 1.024e-6 / 7.68 + 3e-6, 1e-9);
  /* and everything the caller says is on chip is so */
  shape.cached_bytes = 7.68e6;
  assert_near(time_of(shape), 1.024e-6 + 1e-6, 1e-9);
}

/* 1.28e6 exponentials at a quarter of 1e12/s: 5.12 us, beside which nothing else shows. */
static void slow_function_bounds(void **state) {
  (void)state;
  struct kernel_shape shape = pass(KERNEL_ELEMENTWISE, 1, 1.28e6, KERNEL_WARM);
  shape.pass.function = HW_FUNCTION_EXP;
  assert_near(time_of(shape), 5.12e-6 + 1e-6, 1e-9);
}

/* 19.2e6 elements of f32: 153.6 MB of 100 MB, so that 2 - 1.536 = 0.464 of it are found. */
static void residency_ends_at_twice_the_memory(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  struct kernel_time time = timed(&chip, pass(KERNEL_ELEMENTWISE, 1, 19.2e6, KERNEL_WARM));
  assert_near(time.off_chip_bytes, 153.6e6 * 0.536, 1e-9);
  assert_near(time.memory_s, 153.6e6 * 0.536 * 1.5 / 0.5e12, 1e-9);
  assert_true(timed(&chip, pass(KERNEL_ELEMENTWISE, 1, 12499968, KERNEL_WARM)).off_chip_bytes == 0); /* 99.99974 MB */
  assert_near(timed(&chip, pass(KERNEL_ELEMENTWISE, 1, 25e6 + 64, KERNEL_WARM)).off_chip_bytes, 200e6 + 512, 1e-9);
}

/* Up to a block of 1 MB nothing overlaps. 128e2 elements: 102.4 kB, 0.3072 us of memory and 1e4 flop each, 25.6 us. */
static void short_pass_adds_up(void **state) {
  (void)state;
  struct kernel_shape shape = pass(KERNEL_ELEMENTWISE, 1, 12800, 0);
  shape.pass.vector_flops = 1e4;
  assert_near(time_of(shape), 25.6e-6 + 0.3072e-6 + 3e-6, 1e-9);
  /* 100 times as much: 10.24 MB; of 30.72 us of memory the first 1 of 10.24 MB shows */
  shape.pass.columns = 1280000;
  assert_near(time_of(shape), 2560e-6 + 30.72e-6 / 10.24 + 3e-6, 1e-9);
}

/* 1e6 rows x 4 clocks / (2 cores x 1 GHz) = 2 ms, on top. */
static void rows_are_reduced(void **state) {
  (void)state;
  double plain = time_of(pass(KERNEL_ELEMENTWISE, 1e6, 128, 0));
  assert_near(time_of(pass(KERNEL_NORMALISATION, 1e6, 128, 0)) - plain, 2e-3, 1e-9);
  assert_near(time_of(pass(KERNEL_SOFTMAX, 1e6, 128, 0)) - plain, 2e-3, 1e-9);
}

static double elements_moved(const struct hw_chip *chip, double planes, double rows, double columns) {
  struct kernel_shape shape = pass(KERNEL_ELEMENTWISE, rows, columns, 0);
  shape.planes = planes;
  return timed(chip, shape).off_chip_bytes / 8;
}

/* Two extents lie on a tile of 8 x 128 (fewer rows: 1, 2 or 4 x 128), in the order that pads least. */
static void layout_pads_least(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  /* 24 on lanes, 16 on sublanes; with a 16 on lanes it is 24 x 16 x 128 */
  assert_near(elements_moved(&chip, 16, 16 * 16, 24), 16 * 16 * 128, 1e-12);
  assert_near(elements_moved(&chip, 8, 8 * 80, 8), 8 * 8 * 128, 1e-12); /* 80 on lanes */
  assert_near(elements_moved(&chip, 1, 960, 960), 960 * 1024, 1e-12);
  assert_near(elements_moved(&chip, 0, 64, 96), 64 * 128, 1e-12); /* 96 x 128 the other way */
  assert_near(elements_moved(&chip, 1, 1024, 1), 1024, 1e-12); /* a column lies on lanes */
  assert_near(elements_moved(&chip, 1, 1, 100), 128, 1e-12);
  assert_near(elements_moved(&chip, 1, 2, 1000), 2 * 1024, 1e-12);
  assert_near(elements_moved(&chip, 1, 3, 1000), 4 * 1024, 1e-12);
  assert_near(elements_moved(&chip, 1, 5, 1000), 8 * 1024, 1e-12);
  chip.kind = HW_KIND_NPU; /* tiles of registers are a TPU's */
  assert_near(elements_moved(&chip, 16, 16 * 16, 24), 16 * 16 * 24, 1e-12);
}

static void defaults_are_the_data_sheet(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  kernel_pass_lanes.defaults(&chip, KERNEL_NORMALISATION, KERNEL_FORMAT_BF16, values);
  assert_near(values[kernel_constant_find(&kernel_pass_lanes, "launch_s")], 1e-6, 1e-12);
  assert_near(values[kernel_constant_find(&kernel_pass_lanes, "memory_latency_s")], 3e-6, 1e-12); /* 3e6 B / 1e12 B/s */
  assert_near(values[kernel_constant_find(&kernel_pass_lanes, "memory_efficiency")], 0.8, 1e-12);
  assert_near(values[kernel_constant_find(&kernel_pass_lanes, "vector_efficiency")], 0.5, 1e-12);
}

static void gpus_and_cpus_have_the_other_model(void **state) {
  (void)state;
  static const enum hw_kind with_lanes[] = {HW_KIND_TPU, HW_KIND_NPU, HW_KIND_ICCA, HW_KIND_DATAFLOW};
  static const enum hw_kind others[] = {HW_KIND_GPU, HW_KIND_CPU, HW_KIND_SOC};
  struct hw_chip chip = plain_chip();
  for (unsigned c = KERNEL_ELEMENTWISE; c <= KERNEL_NORMALISATION; c++) {
    for (unsigned i = 0; i < sizeof with_lanes / sizeof with_lanes[0]; i++) {
      chip.kind = with_lanes[i];
      assert_ptr_equal(kernel_model_for((enum kernel_class)c, KERNEL_FORMAT_BF16, &chip), &kernel_pass_lanes);
    }
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
      chip.kind = others[i];
      assert_ptr_equal(kernel_model_for((enum kernel_class)c, KERNEL_FORMAT_BF16, &chip), &kernel_pass);
    }
  }
  chip.kind = HW_KIND_TPU;
  assert_false(kernel_pass_lanes.applies(KERNEL_GEMM, KERNEL_FORMAT_BF16, &chip));
}

static void grows_with_rows_and_columns(void **state) {
  (void)state;
  for (unsigned c = KERNEL_ELEMENTWISE; c <= KERNEL_NORMALISATION; c++) {
    for (unsigned flags = 0; flags <= KERNEL_WARM; flags++) {
      double before_columns = 0, before_rows = 0;
      for (double extent = 1; extent < 1e9; extent *= 1.3) {
        struct kernel_shape wide = pass((enum kernel_class)c, 64, floor(extent), flags);
        struct kernel_shape tall = pass((enum kernel_class)c, floor(extent), 48, flags);
        wide.pass.vector_flops = tall.pass.vector_flops = 30;
        double of_columns = time_of(wide), of_rows = time_of(tall);
        assert_true(of_columns >= before_columns * (1 - 1e-12) && of_rows >= before_rows * (1 - 1e-12));
        before_columns = of_columns;
        before_rows = of_rows;
      }
    }
  }
}

static uint64_t next_random(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return *seed >> 33;
}

static double random_extent(uint64_t *seed) {
  return floor(exp2((double)(next_random(seed) % 4800) / 100)); /* 1 .. 2^48 */
}

static void always_finite_and_positive(void **state) {
  (void)state;
  uint64_t seed = 11;
  for (int i = 0; i < 20000; i++) {
    struct hw_chip chip = plain_chip();
    enum kernel_class class_of = (enum kernel_class)(KERNEL_ELEMENTWISE + i % 3);
    struct kernel_shape shape = pass(class_of, random_extent(&seed), random_extent(&seed), (uint32_t)(i / 3) % 2);
    double values[KERNEL_CONSTANT_MAX];
    struct kernel_time time;
    shape.planes = i % 5 ? 0 : random_extent(&seed);
    shape.format = (enum kernel_format)(next_random(&seed) % KERNEL_FORMAT_COUNT);
    shape.pass.function = (uint8_t)(next_random(&seed) % (HW_FUNCTION_COUNT + 1));
    shape.pass.reads = (double)(next_random(&seed) % 4);
    shape.pass.writes = (double)(next_random(&seed) % 2);
    if (i % 7 == 0) { /* all that a data sheet may not say */
      chip.cache_Bps = chip.cache_size_bytes = chip.clock_Hz = chip.vector_efficiency = 0;
    }
    kernel_pass_lanes.defaults(&chip, class_of, shape.format, values);
    for (unsigned c = 0; c < kernel_pass_lanes.constant_count; c++) {
      const struct kernel_constant *constant = &kernel_pass_lanes.constants[c];
      assert_true(values[c] >= constant->lower && values[c] <= constant->upper);
      if (i % 4 == 0) {
        values[c] = next_random(&seed) % 2 ? constant->lower : constant->upper;
      }
    }
    kernel_pass_lanes.time(&chip, &shape, values, &time);
    assert_true(isfinite(time.time_s) && time.time_s > 0);
    assert_true(time.off_chip_bytes >= 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(long_stream_is_bandwidth),
      cmocka_unit_test(resident_pass_is_vector_lanes),
      cmocka_unit_test(slow_function_bounds),
      cmocka_unit_test(residency_ends_at_twice_the_memory),
      cmocka_unit_test(short_pass_adds_up),
      cmocka_unit_test(rows_are_reduced),
      cmocka_unit_test(layout_pads_least),
      cmocka_unit_test(defaults_are_the_data_sheet),
      cmocka_unit_test(gpus_and_cpus_have_the_other_model),
      cmocka_unit_test(grows_with_rows_and_columns),
      cmocka_unit_test(always_finite_and_positive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
