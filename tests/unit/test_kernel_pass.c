/* Kernels that pass over rows, and f32 products on lanes: limits that any chip has, by hand calculation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/kernel.h"
#include "kernel/kernel_board.h"

#define assert_near(a, b, relative) assert_true(fabs((double)(a) - (double)(b)) <= (relative)*fabs((double)(b)))

/* 100 cores at 1 GHz, 1 TB/s, 10 TFLOP/s, 10 MB of cache, 1 T exponentials/s. */
static struct hw_chip plain_chip(void) {
  struct hw_chip chip = {.id = "plain", .name = "plain", .kind = HW_KIND_GPU, .cores = 100, .clock_Hz = 1e9};
  for (unsigned d = 1; d < DTYPE_COUNT; d++) {
    chip.matrix_runs_as[d] = chip.vector_runs_as[d] = (uint8_t)d;
  }
  chip.matrix_flops[DTYPE_F32] = chip.vector_flops[DTYPE_F32] = 1e13;
  chip.memory_Bps = 1e12;
  chip.cache_Bps = 4e12;
  chip.cache_size_bytes = 1e7;
  chip.function_rate[HW_FUNCTION_EXP] = 1e12;
  chip.vector_efficiency = chip.memory_efficiency = 1;
  chip.has_off_chip = true;
  chip.launch_s = 1e-6;
  return chip;
}

static void set(const struct kernel_model *model, double *values, const char *name, double value) {
  int index = kernel_constant_find(model, name);
  assert_true(index >= 0);
  values[index] = value;
}

/* Resources do not overlap in the sum that p = 8 gives unless they take about the same time. */
static void plain_constants(double *values) {
  const struct kernel_model *model = &kernel_pass;
  set(model, values, "memory_efficiency", 0.8);
  set(model, values, "cache_bytes_per_clock", 40);
  set(model, values, "cache_fraction", 0.5);
  set(model, values, "overlap", 8);
  set(model, values, "launch_s", 1e-5);
  set(model, values, "dispatch_s", 2e-5);
  set(model, values, "function_efficiency", 0.5);
  set(model, values, "row_cycles", 5);
  set(model, values, "rereads", 1);
}

static struct kernel_shape pass(enum kernel_class class_of, double rows, double columns, uint32_t flags) {
  return (struct kernel_shape){
      .class_of = class_of,
      .format = KERNEL_FORMAT_F32,
      .flags = flags,
      .pass = {.rows = rows, .columns = columns, .reads = 1, .writes = 1, .function = HW_FUNCTION_COUNT}};
}

static double time_of(struct kernel_shape shape) {
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  struct kernel_time time;
  plain_constants(values);
  kernel_pass.time(&chip, &shape, values, &time);
  return time.time_s;
}

/* 1e9 elements read and written: 8e9 B / 0.8e12 B/s = 10 ms, and 10 us of launch. */
static void huge_stream_is_bandwidth(void **state) {
  (void)state;
  assert_near(time_of(pass(KERNEL_ELEMENTWISE, 1, 1e9, KERNEL_WARM)), 1e-2 + 1e-5, 1e-6);
}

static void small_benchmark_is_dispatch(void **state) {
  (void)state;
  assert_near(time_of(pass(KERNEL_ELEMENTWISE, 1, 1, KERNEL_WARM)), 2e-5, 1e-9);
}

/* In a program there is no event to wait for: the chip's launch is what is left of a small kernel. */
static void small_kernel_of_program_is_launch(void **state) {
  (void)state;
  assert_near(time_of(pass(KERNEL_ELEMENTWISE, 1, 1, 0)), 1e-6, 1e-3);
}

/* 8e6 B, all of it in a cache of 1e7 B: at 40 B/clock x 100 cores x 1 GHz = 4e12 B/s 2 us, from memory 10 us; cached. */
static void cached_is_faster_than_streaming(void **state) {
  (void)state;
  struct kernel_shape cold = pass(KERNEL_ELEMENTWISE, 1, 1e6, 0), cached = cold;
  cached.cached_bytes = 8e6;
  assert_near(time_of(cold), 1e-5 + 1e-6, 1e-6);
  assert_near(time_of(cached), 2e-6 + 1e-6, 1e-6);
  /* Repeated: half of 1e7 B stay; 4e6 B are within that, 1e7 B and more are not found at all. */
  double within = time_of(pass(KERNEL_ELEMENTWISE, 1, 5e7, KERNEL_WARM)) - 1e-5;
  assert_near(within, 4e8 / 0.8e12, 1e-6);
}

/* 1e8 exponentials at half of 1e9/s: 200 ms against 1 ms of bytes. */
static void slow_function_bounds(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  struct kernel_time time;
  struct kernel_shape shape = pass(KERNEL_ELEMENTWISE, 1, 1e8, KERNEL_WARM);
  plain_constants(values);
  shape.pass.function = HW_FUNCTION_EXP;
  chip.function_rate[HW_FUNCTION_EXP] = 1e9;
  kernel_pass.time(&chip, &shape, values, &time);
  assert_near(time.time_s, 0.2 + 1e-5, 1e-6);
}

/* 1e6 rows of one column: 5 clocks each over 1e11 clocks/s = 50 us, bytes 10 us: (50^8 + 10^8)^(1/8) = 50. */
static void rows_bound(void **state) {
  (void)state;
  assert_near(time_of(pass(KERNEL_NORMALISATION, 1e6, 1, KERNEL_WARM)), 5e-5 + 1e-5, 1e-4);
  assert_true(time_of(pass(KERNEL_ELEMENTWISE, 1e6, 1, 0)) < 2e-5);
}

/* Rows beyond 1024 columns are read once more from the cache: 4e9 B at 4e12 B/s = 1 ms beside 10 ms. */
static void long_rows_are_read_again(void **state) {
  (void)state;
  double of_long = time_of(pass(KERNEL_SOFTMAX, 1e5, 1e4, 0)), plain = time_of(pass(KERNEL_ELEMENTWISE, 1e5, 1e4, 0));
  assert_near(of_long - plain, 1e-3, 1e-3);
}

static void grows_with_elements(void **state) {
  (void)state;
  for (unsigned c = KERNEL_ELEMENTWISE; c <= KERNEL_NORMALISATION; c++) {
    for (unsigned flags = 0; flags <= KERNEL_WARM; flags++) {
      double before = 0;
      for (double columns = 1; columns < 1e9; columns *= 1.7) {
        double now = time_of(pass((enum kernel_class)c, 64, floor(columns), flags));
        assert_true(now >= before * (1 - 1e-12));
        before = now;
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
  struct hw_chip chip = plain_chip();
  uint64_t seed = 7;
  for (int i = 0; i < 20000; i++) {
    enum kernel_class class_of = i % 4 ? (enum kernel_class)(KERNEL_ELEMENTWISE + i % 3) : KERNEL_GEMM;
    const struct kernel_model *model = class_of == KERNEL_GEMM ? &kernel_gemm_lanes : &kernel_pass;
    double values[KERNEL_CONSTANT_MAX];
    struct kernel_time time;
    struct kernel_shape shape = pass(class_of, random_extent(&seed), random_extent(&seed), (uint32_t)(i / 4) % 8);
    if (class_of == KERNEL_GEMM) {
      shape.gemm = (struct kernel_gemm){floor(sqrt(random_extent(&seed))), random_extent(&seed), random_extent(&seed),
                                        random_extent(&seed)};
    } else {
      shape.pass.function = (uint8_t)(next_random(&seed) % (HW_FUNCTION_COUNT + 1));
      shape.pass.reads = (double)(next_random(&seed) % 4);
    }
    model->defaults(&chip, class_of, KERNEL_FORMAT_F32, values);
    for (unsigned c = 0; c < model->constant_count; c++) {
      assert_true(values[c] >= model->constants[c].lower && values[c] <= model->constants[c].upper);
      if (i % 3 == 0) {
        values[c] = next_random(&seed) % 2 ? model->constants[c].lower : model->constants[c].upper;
      }
    }
    model->time(&chip, &shape, values, &time);
    assert_true(isfinite(time.time_s) && time.time_s > 0);
  }
}

static double product_time(const struct hw_chip *chip, const char *name, double value, struct kernel_gemm gemm,
                           uint32_t flags) {
  double values[KERNEL_CONSTANT_MAX];
  struct kernel_time time;
  struct kernel_shape shape = {.class_of = KERNEL_GEMM, .format = KERNEL_FORMAT_F32, .flags = flags, .gemm = gemm};
  kernel_gemm_lanes.defaults(chip, KERNEL_GEMM, KERNEL_FORMAT_F32, values);
  if (name) {
    set(&kernel_gemm_lanes, values, name, value);
  }
  kernel_gemm_lanes.time(chip, &shape, values, &time);
  return time.time_s;
}

/* 16384^3: 8.8e12 operations, 0.88 s at the peak. Never faster, and at most 15 % slower with a perfect lane efficiency. */
static void large_product_nears_the_peak(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double ideal = 2 * pow(16384, 3) / 1e13;
  double time_s = product_time(&chip, "lane_efficiency", 1, (struct kernel_gemm){1, 16384, 16384, 16384}, 0);
  assert_true(time_s > ideal && time_s < 1.15 * ideal);
  double half = product_time(&chip, "lane_efficiency", 0.5, (struct kernel_gemm){1, 16384, 16384, 16384}, 0);
  assert_true(half > 1.8 * time_s && half <= 2 * time_s);
}

/* 100 products of the smallest tile fill 100 cores; one more starts a second wave: the time rises by the visible share of 0.9. */
static void one_more_product_starts_a_wave(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.memory_Bps = 1e15;
  double full = product_time(&chip, "hide_elements", 50, (struct kernel_gemm){100, 32, 32, 8192}, 0);
  double more = product_time(&chip, "hide_elements", 50, (struct kernel_gemm){101, 32, 32, 8192}, 0);
  assert_true(more > 1.8 * full && more < 2 * full);
}

/* 4 B x (8192 x 8192) of weights for one row: 268 MB / 1e12 B/s = 0.27 ms; lanes compute 32 rows: 0.43 ms at the peak. */
static void one_row_takes_a_tile(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double time_s = product_time(&chip, "memory_efficiency", 1, (struct kernel_gemm){1, 1, 8192, 8192}, 0);
  assert_true(time_s > 430e-6 && time_s < 900e-6);
}

static void bias_costs_the_host(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  struct kernel_gemm tiny = {1, 1, 1, 1};
  double with = product_time(&chip, "bias_dispatch_s", 3e-5, tiny, KERNEL_WARM | KERNEL_BIAS);
  double without = product_time(&chip, "bias_dispatch_s", 3e-5, tiny, KERNEL_WARM);
  assert_near(with - without, 3e-5, 1e-9);
}

/* 7 nm, 1.5 GHz: v = 1, so that 20 pJ x 10 TFLOP/s = 200 W. At half the clock v = 0.75: 200 x 0.5 x 0.5625 = 56.25 W. */
static void power_falls_with_the_clock(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  struct hw_field process = {.key = "process", .fact = {.value = {.kind = HW_VALUE_TEXT, .text = "TSMC 7nm"}}};
  chip.clock_Hz = 1.5e9;
  chip.tdp_W = 56.25;
  assert_true(kernel_sustained_clock(&chip, 20e-12) == 1); /* no process, no statement */
  chip.fields = &process;
  chip.field_count = 1;
  assert_near(kernel_power_W(&chip, 20e-12, 1), 200, 1e-9);
  assert_near(kernel_power_W(&chip, 20e-12, 0.5), 56.25, 1e-9);
  assert_near(kernel_sustained_clock(&chip, 20e-12), 0.5, 1e-6);
  chip.tdp_W = 201;
  assert_true(kernel_sustained_clock(&chip, 20e-12) == 1);
  /* a throttled chip takes longer for a long product, not for a short benchmark */
  struct kernel_gemm large = {1, 8192, 8192, 8192}, small = {1, 512, 512, 512};
  double cool = product_time(&chip, "energy_J", 20e-12, large, KERNEL_WARM);
  double cool_small = product_time(&chip, "energy_J", 20e-12, small, KERNEL_WARM);
  chip.tdp_W = 56.25;
  assert_true(product_time(&chip, "energy_J", 20e-12, large, KERNEL_WARM) > 1.7 * cool);
  assert_near(product_time(&chip, "energy_J", 20e-12, small, KERNEL_WARM), cool_small, 1e-9);
}

static void f32_products_of_gpus_only(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  assert_true(kernel_gemm_lanes.applies(KERNEL_GEMM, KERNEL_FORMAT_F32, &chip));
  assert_false(kernel_gemm_lanes.applies(KERNEL_GEMM, KERNEL_FORMAT_BF16, &chip));
  assert_false(kernel_gemm_lanes.applies(KERNEL_SOFTMAX, KERNEL_FORMAT_F32, &chip));
  assert_true(kernel_pass.applies(KERNEL_SOFTMAX, KERNEL_FORMAT_BF16, &chip));
  assert_false(kernel_pass.applies(KERNEL_GEMM, KERNEL_FORMAT_F32, &chip));
  chip.kind = HW_KIND_TPU;
  assert_false(kernel_gemm_lanes.applies(KERNEL_GEMM, KERNEL_FORMAT_F32, &chip));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(huge_stream_is_bandwidth),
      cmocka_unit_test(small_benchmark_is_dispatch),
      cmocka_unit_test(small_kernel_of_program_is_launch),
      cmocka_unit_test(cached_is_faster_than_streaming),
      cmocka_unit_test(slow_function_bounds),
      cmocka_unit_test(rows_bound),
      cmocka_unit_test(long_rows_are_read_again),
      cmocka_unit_test(grows_with_elements),
      cmocka_unit_test(always_finite_and_positive),
      cmocka_unit_test(large_product_nears_the_peak),
      cmocka_unit_test(one_more_product_starts_a_wave),
      cmocka_unit_test(one_row_takes_a_tile),
      cmocka_unit_test(bias_costs_the_host),
      cmocka_unit_test(power_falls_with_the_clock),
      cmocka_unit_test(f32_products_of_gpus_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
