/* The time of matrix products on systolic arrays, against hand calculations on a chip with round numbers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/kernel.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static const struct kernel_model *const model = &kernel_gemm_systolic;

/* One array of 128 x 128 that takes a row per nanosecond; 1 TB/s; 1 T vector operations/s; on-chip traffic is free. */
static struct hw_chip plain_chip(void) {
  struct hw_chip chip = {.id = "plain", .name = "plain", .kind = HW_KIND_TPU, .cores = 1, .matrix_units_per_core = 1};
  chip.matrix_rows = chip.matrix_columns = 128;
  chip.matrix_flops[DTYPE_BF16] = 2.0 * 128 * 128 * 1e9;
  for (unsigned d = 1; d < DTYPE_COUNT; d++) {
    chip.matrix_runs_as[d] = DTYPE_BF16;
  }
  chip.vector_flops[DTYPE_F32] = 1e12;
  chip.memory_Bps = 1e12;
  chip.cache_size_bytes = 1 << 27;
  chip.memory_efficiency = chip.matrix_efficiency = 1;
  chip.has_off_chip = true;
  chip.launch_s = 1e-6;
  return chip;
}

static void set(double *values, const char *name, double value) {
  int index = kernel_constant_find(model, name);
  assert_true(index >= 0);
  values[index] = value;
}

/* Everything one after the other, so that times are sums. */
static void plain_constants(double *values) {
  set(values, "launch_s", 1e-6);
  set(values, "matrix_efficiency", 1);
  set(values, "memory_efficiency", 1);
  set(values, "overlap", 1);
  set(values, "memory_latency_s", 5e-7);
  set(values, "fill", 1);
  set(values, "step_s", 1e-7);
  set(values, "result_operations", 2);
  set(values, "core_start_s", 1e-5);
  set(values, "block_fraction", 0.125);
  set(values, "resident_fraction", 0.0625);
}

static struct kernel_shape product(double m, double n, double k) {
  return (struct kernel_shape){.class_of = KERNEL_GEMM, .format = KERNEL_FORMAT_BF16, .gemm = {1, m, n, k}};
}

static struct kernel_time time_of(const struct hw_chip *chip, const double *values, struct kernel_shape shape) {
  struct kernel_time time;
  model->time(chip, &shape, values, &time);
  return time;
}

static uint64_t random_state = 88172645463325252u;

static double random_unit(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (double)(random_state >> 11) / 9007199254740992.0;
}

static double random_extent(double largest_log2) {
  return floor(exp2(random_unit() * largest_log2));
}

static void random_constants(double *values) {
  for (unsigned i = 0; i < model->constant_count; i++) {
    const struct kernel_constant *c = &model->constants[i];
    values[i] = c->lower * pow(c->upper / c->lower, random_unit());
  }
}

/* 128 rows of 1 ns in the array, as many to fill it; 3 x 32768 B at 1 TB/s behind 0.5 us of latency and one step of 0.1 us;
 * 2 operations on 16384 results; 1 us of launch. */
static void one_fold_is_the_sum_of_its_parts(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  struct kernel_time t = time_of(&chip, values, product(128, 128, 128));
  assert_near(t.matrix_s, 0.256e-6, 1e-15);
  assert_near(t.memory_s, 0.698304e-6, 1e-15);
  assert_near(t.vector_s, 0.032768e-6, 1e-15);
  assert_near(t.launch_s, 1e-6, 1e-15);
  assert_near(t.time_s, 1.987072e-6, 1e-15);
  assert_near(t.off_chip_bytes, 98304, 0);
}

/* k = 129 needs a second pass: 128 rows and one fill more, and the 2 x 128 added elements are 512 B. Up to 256 only bytes. */
static void one_more_row_of_k_is_one_more_pass(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  double at_128 = time_of(&chip, values, product(128, 128, 128)).time_s;
  double at_129 = time_of(&chip, values, product(128, 128, 129)).time_s;
  double at_256 = time_of(&chip, values, product(128, 128, 256)).time_s;
  assert_near(at_129 - at_128, 0.256e-6 + 0.000512e-6, 1e-15);
  assert_near(at_256 - at_129, 127 * 512e-12, 1e-15);
}

/* Rows enter by eights: 1 and 8 stream alike, 9 take eight more rows of 1 ns, seen in the arrays and in the fill. */
static void rows_are_padded_to_eight(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  assert_near(time_of(&chip, values, product(1, 128, 128)).matrix_s, 16e-9, 1e-16);
  assert_near(time_of(&chip, values, product(8, 128, 128)).matrix_s, 16e-9, 1e-16);
  assert_near(time_of(&chip, values, product(9, 128, 128)).matrix_s, 32e-9, 1e-16);
  assert_near(time_of(&chip, values, product(128, 9, 128)).matrix_s, 32e-9, 1e-16);
}

/* 8 rows stream past 8 arrays' worth of columns, 64 ns, behind a fill of 8 ns; m and n may change places. */
static void the_shorter_side_streams(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  assert_near(time_of(&chip, values, product(8, 1024, 128)).matrix_s, 72e-9, 1e-16);
  assert_near(time_of(&chip, values, product(1024, 8, 128)).matrix_s, 72e-9, 1e-16);
}

/* 4 arrays of a row per nanosecond each: 8 products of 128 rows take 256 ns and are filled in two rounds of 128 ns. */
static void fills_of_a_batch_run_on_all_arrays(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.matrix_units_per_core = 4;
  chip.matrix_flops[DTYPE_BF16] *= 4;
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  struct kernel_shape shape = product(128, 128, 128);
  shape.gemm.batch = 8;
  assert_near(time_of(&chip, values, shape).matrix_s, 512e-9, 1e-15);
}

/* 16384 cubed is 8.8e12 operations over 32.8e12/s, 0.27 s; the rest is under a hundredth. */
static void large_products_reach_peak_times_efficiency(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX], n = 16384;
  plain_constants(values);
  set(values, "matrix_efficiency", 0.75);
  set(values, "overlap", 8);
  double flops = 2 * n * n * n / time_of(&chip, values, product(n, n, n)).time_s;
  double reachable = 0.75 * chip.matrix_flops[DTYPE_BF16];
  assert_true(flops < reachable);
  assert_true(flops > 0.99 * reachable);
}

/* 1187 = 151936 / 128 is prime, so that each block is 128 columns; 1184 = 16 x 74 gives blocks of 16 x 128. Blocks of
 * 4096 rows may be 2^27 / 8 / (2 x 128 x 4096) = 16 groups wide. */
static void blocks_divide_the_columns_evenly(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  struct kernel_time prime = time_of(&chip, values, product(8, 151936, 4096));
  struct kernel_time even = time_of(&chip, values, product(8, 1184 * 128, 4096));
  assert_near(prime.waves, 1187, 0);
  assert_near(prime.tile_n, 128, 0);
  assert_near(even.waves, 74, 0);
  assert_near(even.tile_n, 2048, 0);
  /* 3 groups more of B and of the result, 2 B each; and 1113 steps of 0.1 us. */
  assert_near(prime.memory_s - even.memory_s, 3 * 128 * 2 * (8 + 4096) * 1e-12 + 1113 * 1e-7, 1e-12);
}

/* 64 x 64 x 64: a group of 128 columns is 16384 B in a block of at most 2^24 B, so 1024 products share one. */
static void products_of_a_batch_share_blocks(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  struct kernel_shape shape = product(64, 64, 64);
  shape.gemm.batch = 1024;
  assert_near(time_of(&chip, values, shape).waves, 1, 0);
  shape.gemm.batch = 1025;
  assert_near(time_of(&chip, values, shape).waves, 2, 0);
}

/* Two cores at twice the rate: one alone takes as long as the plain chip, both halve rows and results and pay 10 us. Worth it
 * once the half is more than 10 us: 1024 x 1024 x 128 has 8192 rows (8.2 us) and 2.1 us of results on one core. */
static void cores_are_used_when_they_pay_for_their_start(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.cores = 2;
  chip.matrix_flops[DTYPE_BF16] *= 2;
  chip.vector_flops[DTYPE_F32] *= 2;
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  struct kernel_time small = time_of(&chip, values, product(1024, 1024, 128));
  assert_near(small.split, 1, 0);
  assert_near(small.vector_s, 2 * 1048576e-12, 1e-15);
  assert_near(small.launch_s, 1e-6, 1e-15);
  struct kernel_time large = time_of(&chip, values, product(1024, 1024, 1024));
  assert_near(large.split, 2, 0);
  assert_near(large.launch_s, 11e-6, 1e-15);
  /* 65536 rows over two cores, 8 fills of 128 rows */
  assert_near(large.matrix_s, 32.768e-6 + 1.024e-6, 1e-15);
}

static void repeated_products_find_operands_on_chip(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  struct kernel_shape shape = product(1024, 1024, 1024); /* 6 MiB of 128 MiB: below one sixteenth */
  shape.flags = KERNEL_WARM;
  assert_near(time_of(&chip, values, shape).off_chip_bytes, 0, 0);
  assert_near(time_of(&chip, values, shape).memory_s, 0, 0);
  shape = product(8, 4096, 4096); /* 32 MiB of weights stream, 128 KiB of activations stay */
  shape.flags = KERNEL_WARM;
  assert_near(time_of(&chip, values, shape).off_chip_bytes, 33554432, 0);
  shape = product(16384, 16384, 128); /* a result of 512 MiB stays nowhere */
  shape.flags = KERNEL_WARM;
  assert_near(time_of(&chip, values, shape).off_chip_bytes, 2.0 * 16384 * (16384 + 256), 0);
}

static void bytes_on_chip_and_of_neighbours_count(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  struct kernel_shape shape = product(128, 128, 128); /* 32768 B each of a, b, result */
  shape.cached_bytes = 32768;
  shape.extra_bytes = 1000;
  assert_near(time_of(&chip, values, shape).off_chip_bytes, 65536 + 1000, 0);
  shape.cached_bytes = 1e9; /* no more than the operands */
  assert_near(time_of(&chip, values, shape).off_chip_bytes, 32768 + 1000, 0);
}

/* A kernel of its own reads 128 x 128 bf16 and writes as many bytes of fp8 before the product. */
static void quantisation_is_a_kernel_more(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  plain_constants(values);
  struct kernel_shape shape = product(128, 128, 128);
  shape.format = KERNEL_FORMAT_FP8;
  double without = time_of(&chip, values, shape).time_s;
  shape.flags = KERNEL_QUANTISES;
  assert_near(time_of(&chip, values, shape).time_s - without, 1e-6 + 3 * 16384e-12, 1e-15);
}

static void more_of_a_resource_is_never_slower(void **state) {
  (void)state;
  for (unsigned i = 0; i < 5000; i++) {
    struct hw_chip chip = plain_chip();
    chip.cache_Bps = 2e13;
    chip.cores = 1 + floor(4 * random_unit());
    double values[KERNEL_CONSTANT_MAX];
    random_constants(values);
    struct kernel_shape shape = product(random_extent(15), random_extent(15), random_extent(15));
    shape.gemm.batch = random_extent(6);
    double time = time_of(&chip, values, shape).time_s;
    struct hw_chip faster[4] = {chip, chip, chip, chip};
    faster[0].memory_Bps *= 1.7;
    faster[1].matrix_flops[DTYPE_BF16] *= 1.7;
    faster[2].cache_Bps *= 1.7;
    faster[3].vector_flops[DTYPE_F32] *= 1.7;
    for (unsigned f = 0; f < 4; f++) {
      assert_true(time_of(&faster[f], values, shape).time_s <= time * (1 + 1e-12));
    }
    shape.flags = KERNEL_WARM;
    assert_true(time_of(&chip, values, shape).time_s <= time * (1 + 1e-12));
  }
}

static void every_shape_has_a_time(void **state) {
  (void)state;
  for (unsigned i = 0; i < 20000; i++) {
    struct hw_chip chip = plain_chip();
    chip.cores = random_extent(10);
    chip.matrix_units_per_core = floor(5 * random_unit());
    chip.cache_size_bytes = i % 7 == 0 ? 0 : random_extent(30);
    chip.cache_Bps = i % 5 == 0 ? 0 : 1e13;
    double values[KERNEL_CONSTANT_MAX], largest = i % 2 == 0 ? 63 : 14;
    random_constants(values);
    struct kernel_shape shape = product(random_extent(largest), random_extent(largest), random_extent(largest));
    shape.gemm.batch = random_extent(20);
    shape.format = (enum kernel_format)(i % KERNEL_FORMAT_COUNT);
    shape.flags = i % 8;
    shape.cached_bytes = i % 3 == 0 ? random_extent(40) : 0;
    shape.extra_bytes = i % 4 == 0 ? random_extent(40) : 0;
    struct kernel_time t = time_of(&chip, values, shape);
    assert_true(isfinite(t.time_s) && t.time_s > 0);
    assert_true(t.matrix_s > 0 && t.memory_s >= 0 && t.cache_s >= 0 && t.off_chip_bytes >= 0);
    assert_true(t.time_s >= t.launch_s && t.time_s >= t.memory_s * (1 - 1e-12));
    assert_true(t.split >= 1 && t.waves >= 1 && t.tile_n >= 128);
  }
}

static void it_applies_to_systolic_chips_with_constants_in_bounds(void **state) {
  (void)state;
  struct hw_database db = {0};
  struct diag_list diags = {0};
  assert_int_equal(hw_database_load(&db, RDG_SOURCE_DIR "/hardware", &diags), STATUS_OK);
  unsigned systolic = 0;
  for (size_t i = 0; i < db.chips.count; i++) {
    const struct hw_chip *chip = &db.chips.data[i];
    if (chip->missing == NULL && model->applies(KERNEL_GEMM, KERNEL_FORMAT_BF16, chip)) {
      systolic++;
      double values[KERNEL_CONSTANT_MAX];
      model->defaults(chip, KERNEL_GEMM, KERNEL_FORMAT_BF16, values);
      for (unsigned c = 0; c < model->constant_count; c++) {
        assert_true(values[c] >= model->constants[c].lower && values[c] <= model->constants[c].upper);
      }
      assert_true(time_of(chip, values, product(4096, 4096, 4096)).time_s > 0);
    }
    assert_false(chip->kind == HW_KIND_GPU && model->applies(KERNEL_GEMM, KERNEL_FORMAT_BF16, chip));
  }
  const struct hw_chip *v6e = hw_database_find(&db, "google_tpu_v6e", NULL);
  assert_true(systolic > 1 && v6e != NULL && model->applies(KERNEL_GEMM, KERNEL_FORMAT_BF16, v6e));
  assert_false(model->applies(KERNEL_SOFTMAX, KERNEL_FORMAT_BF16, v6e));
  hw_database_release(&db);
  diag_release(&diags);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_fold_is_the_sum_of_its_parts),
      cmocka_unit_test(one_more_row_of_k_is_one_more_pass),
      cmocka_unit_test(rows_are_padded_to_eight),
      cmocka_unit_test(the_shorter_side_streams),
      cmocka_unit_test(fills_of_a_batch_run_on_all_arrays),
      cmocka_unit_test(large_products_reach_peak_times_efficiency),
      cmocka_unit_test(blocks_divide_the_columns_evenly),
      cmocka_unit_test(products_of_a_batch_share_blocks),
      cmocka_unit_test(cores_are_used_when_they_pay_for_their_start),
      cmocka_unit_test(repeated_products_find_operands_on_chip),
      cmocka_unit_test(bytes_on_chip_and_of_neighbours_count),
      cmocka_unit_test(quantisation_is_a_kernel_more),
      cmocka_unit_test(more_of_a_resource_is_never_slower),
      cmocka_unit_test(every_shape_has_a_time),
      cmocka_unit_test(it_applies_to_systolic_chips_with_constants_in_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
