/* The attention model: key tiles against counting, limits against closed forms, monotone in the batch, always finite. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/kernel.h"

/* 1 TB/s, 100 TFLOP/s bf16, 10 T exponentials/s, 100 cores; numbers that divide in the head. */
static struct hw_chip plain_chip(void) {
  struct hw_chip chip = {.id = "plain", .name = "plain", .kind = HW_KIND_GPU};
  chip.matrix_flops[DTYPE_BF16] = 100e12;
  chip.matrix_runs_as[DTYPE_BF16] = DTYPE_BF16;
  chip.vector_flops[DTYPE_F32] = 50e12;
  for (unsigned d = 1; d < DTYPE_COUNT; d++) {
    chip.vector_runs_as[d] = DTYPE_F32;
  }
  chip.function_rate[HW_FUNCTION_EXP] = 10e12;
  chip.cores = 100;
  chip.memory_Bps = 1e12;
  chip.cache_Bps = 4e12;
  chip.cache_size_bytes = 32e6;
  chip.memory_efficiency = 0.9;
  chip.matrix_efficiency = 0.8;
  chip.launch_s = 1e-6;
  chip.has_off_chip = true;
  return chip;
}

static void set(double *values, const char *name, double value) {
  int i = kernel_constant_find(&kernel_attention, name);
  assert_true(i >= 0);
  values[i] = value;
}

/* Nothing but products and transfers: every other constant at the bound where it costs least. */
static void set_ideal(double *values) {
  static const char *const waits[] = {"launch_s", "block_start_s", "single_start_s", "step_s",       "append_s",
                                      "window_s", "reduce_s",      "regroup_s",      "generic_heads"};
  for (unsigned i = 0; i < sizeof waits / sizeof waits[0]; i++) {
    set(values, waits[i], kernel_attention.constants[kernel_constant_find(&kernel_attention, waits[i])].lower);
  }
  set(values, "matrix_efficiency", 1);
  set(values, "wide_ratio", 1);
  set(values, "exp_efficiency", 3);
  set(values, "softmax_overlap", 1);
  set(values, "memory_efficiency", 1);
  set(values, "memory_overlap", 1);
  set(values, "tail", 0.01);
}

static struct kernel_shape prefill(double batch, double queries, double context, double heads, double window) {
  return (struct kernel_shape){.class_of = KERNEL_ATTENTION_PREFILL,
                               .format = KERNEL_FORMAT_BF16,
                               .attention = {.batch = batch,
                                             .queries = queries,
                                             .context = context,
                                             .heads = heads,
                                             .kv_heads = heads,
                                             .head_dim = 128,
                                             .window = window,
                                             .is_causal = true}};
}

static struct kernel_shape decode(double batch, double context, double heads, double kv_heads) {
  struct kernel_shape shape = prefill(batch, 1, context, heads, 0);
  shape.class_of = KERNEL_ATTENTION_DECODE;
  shape.attention.kv_heads = kv_heads;
  return shape;
}

static struct kernel_time time_of(const struct hw_chip *chip, const struct kernel_shape *shape, const double *values) {
  struct kernel_time time;
  kernel_attention.time(chip, shape, values, &time);
  return time;
}

/* Tiles of `size` queries x `keys` keys with at least one (query, key) pair that is neither masked nor before the window
 * of the tile's first query, counted key tile by key tile. */
static double count_by_hand(long queries, long context, long window, long size, long keys) {
  long past = context - queries;
  double tiles = 0;
  for (long first = 0; first < queries; first += size) {
    long end = past + first + size < context ? past + first + size : context; /* keys seen by the last query */
    long begin = window > 0 && past + first + 1 > window ? past + first + 1 - window : 0;
    for (long key = 0; key < end; key += keys) {
      tiles += key + keys > begin ? 1 : 0;
    }
  }
  return tiles;
}

static void test_tiles_are_those_counted_by_hand(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  static const long tile_sizes[][2] = {{128, 128}, {128, 64}, {64, 32}, {256, 64}};
  static const long queries[] = {1, 7, 64, 100, 128, 129, 500, 1000, 1024};
  static const long past[] = {0, 1, 63, 128, 300, 4097};
  static const long windows[] = {0, 1, 50, 128, 129, 700};
  for (unsigned t = 0; t < 4; t++) {
    double values[KERNEL_CONSTANT_MAX];
    kernel_attention.defaults(&chip, KERNEL_ATTENTION_PREFILL, KERNEL_FORMAT_BF16, values);
    set_ideal(values);
    set(values, "scheme", 1);
    set(values, "tile_queries", (double)tile_sizes[t][0]);
    set(values, "tile_keys", (double)tile_sizes[t][1]);
    for (unsigned q = 0; q < sizeof queries / sizeof queries[0]; q++) {
      for (unsigned p = 0; p < sizeof past / sizeof past[0]; p++) {
        for (unsigned w = 0; w < sizeof windows / sizeof windows[0]; w++) {
          struct kernel_shape shape =
              prefill(1, (double)queries[q], (double)(queries[q] + past[p]), 8, (double)windows[w]);
          double tiles =
              8 * count_by_hand(queries[q], queries[q] + past[p], windows[w], tile_sizes[t][0], tile_sizes[t][1]);
          /* a tile's products on one of 100 cores of 1 TFLOP/s each; all 100 share them evenly */
          double tile_s = 4.0 * (double)(tile_sizes[t][0] * tile_sizes[t][1]) * 128 / 100e12;
          double matrix_s = time_of(&chip, &shape, values).matrix_s;
          assert_true(fabs(matrix_s - tiles * tile_s) <= 1e-9 * tiles * tile_s);
        }
      }
    }
  }
}

static void test_large_prefill_takes_its_products(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  kernel_attention.defaults(&chip, KERNEL_ATTENTION_PREFILL, KERNEL_FORMAT_BF16, values);
  set_ideal(values);
  struct kernel_shape shape = prefill(8, 131072, 131072, 64, 0);
  /* half of the square is masked: 2 x 8 x 64 heads x 131072² x 128 operations at 100 TFLOP/s; the diagonal tiles are
   * computed whole, which is one part in 1024 more, and the last blocks leave cores idle */
  double products_s = 2.0 * 8 * 64 * 131072.0 * 131072.0 * 128 / 100e12;
  double ratio = time_of(&chip, &shape, values).time_s / products_s;
  assert_true(ratio > 1 && ratio < 1.003);
}

static void test_long_decode_takes_its_keys(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  kernel_attention.defaults(&chip, KERNEL_ATTENTION_DECODE, KERNEL_FORMAT_BF16, values);
  set_ideal(values);
  struct kernel_shape shape = decode(64, 65536, 8, 8);
  /* 64 x 8 heads x 65536 keys and values x 128 x 2 bytes at 1 TB/s; queries and results are 1 part in 65536 */
  double bytes = 2.0 * 64 * 8 * 65536 * 128 * 2;
  double ratio = time_of(&chip, &shape, values).time_s / (bytes / 1e12);
  assert_true(ratio > 1 && ratio < 1.001);
  /* the same with 8-bit keys: half */
  shape.format = KERNEL_FORMAT_BF16_FP8KV;
  double halved = time_of(&chip, &shape, values).off_chip_bytes / bytes;
  assert_true(halved > 0.5 && halved < 0.5001);
}

static void test_few_sequences_split_their_keys(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  kernel_attention.defaults(&chip, KERNEL_ATTENTION_DECODE, KERNEL_FORMAT_BF16, values);
  struct kernel_shape few = decode(1, 65536, 32, 8), many = decode(64, 65536, 32, 8);
  struct kernel_time time = time_of(&chip, &few, values);
  /* 8 key heads on 100 cores */
  assert_true(time.split > 12 && time.split <= 12.5);
  assert_true(time_of(&chip, &many, values).split <= 1);
  /* not splitting is a way of the same kernel and never faster than what was chosen */
  set(values, "split_limit", 1);
  assert_true(time_of(&chip, &few, values).time_s > time.time_s);
}

static void test_window_that_covers_all_changes_nothing(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  kernel_attention.defaults(&chip, KERNEL_ATTENTION_PREFILL, KERNEL_FORMAT_BF16, values);
  struct kernel_shape full = prefill(4, 1000, 3000, 16, 0), covering = prefill(4, 1000, 3000, 16, 3000);
  struct kernel_shape beyond = prefill(4, 1000, 3000, 16, 1e9), narrow = prefill(4, 1000, 3000, 16, 200);
  double full_s = time_of(&chip, &full, values).time_s;
  assert_true(time_of(&chip, &covering, values).time_s == full_s);
  assert_true(time_of(&chip, &beyond, values).time_s == full_s);
  assert_true(time_of(&chip, &narrow, values).time_s < full_s);
}

static void test_cached_operands_save_their_bytes(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  kernel_attention.defaults(&chip, KERNEL_ATTENTION_DECODE, KERNEL_FORMAT_BF16, values);
  struct kernel_shape shape = decode(16, 8192, 32, 8), cached = shape, extra = shape;
  struct kernel_time time = time_of(&chip, &shape, values);
  assert_true(fabs(time.off_chip_bytes - kernel_bytes(&shape)) <= 1e-9 * time.off_chip_bytes);
  cached.cached_bytes = 1e8;
  extra.extra_bytes = 1e8;
  assert_true(fabs(time_of(&chip, &cached, values).off_chip_bytes - (time.off_chip_bytes - 1e8)) < 1);
  assert_true(fabs(time_of(&chip, &extra, values).off_chip_bytes - (time.off_chip_bytes + 1e8)) < 1);
  assert_true(time_of(&chip, &cached, values).time_s < time.time_s);
  assert_true(time_of(&chip, &extra, values).time_s > time.time_s);
}

/* xorshift; the sweep needs spread, not quality */
static uint64_t next_random(uint64_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

static double random_extent(uint64_t *seed, double log2_max) {
  return floor(exp2(log2_max * (double)(next_random(seed) % 10000) / 10000));
}

static void test_time_never_falls_with_the_batch(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  static const enum kernel_class classes[] = {KERNEL_ATTENTION_PREFILL, KERNEL_ATTENTION_DECODE};
  uint64_t seed = 1;
  for (unsigned i = 0; i < 200; i++) {
    struct kernel_shape shape = prefill(1, random_extent(&seed, 12), 0, 1, 0);
    shape.class_of = classes[i % 2];
    shape.flags = i % 3 == 0 ? KERNEL_WARM : 0;
    if (shape.class_of == KERNEL_ATTENTION_DECODE) {
      shape.attention.queries = 1;
    }
    shape.attention.context = shape.attention.queries + random_extent(&seed, 16);
    shape.attention.kv_heads = random_extent(&seed, 4);
    shape.attention.heads = shape.attention.kv_heads * random_extent(&seed, 4);
    shape.attention.window = i % 5 == 0 ? 128 : 0;
    double values[KERNEL_CONSTANT_MAX];
    kernel_attention.defaults(&chip, shape.class_of, shape.format, values);
    double before = 0;
    for (double batch = 1; batch < 3000; batch = floor(batch * 1.25) + 1) {
      shape.attention.batch = batch;
      double now = time_of(&chip, &shape, values).time_s;
      assert_true(now >= before * (1 - 1e-12));
      before = now;
    }
  }
}

static void test_time_is_finite_for_all_extents(void **state) {
  (void)state;
  struct hw_chip gpu = plain_chip(), tpu = plain_chip();
  tpu.kind = HW_KIND_TPU;
  tpu.cores = 1;
  tpu.matrix_columns = 256;
  uint64_t seed = 7;
  for (unsigned i = 0; i < 20000; i++) {
    struct kernel_shape shape = prefill(1, 1, 1, 1, 0);
    struct kernel_attention *a = &shape.attention;
    double bits = i % 4 == 0 ? 900 : 20;
    shape.class_of = i % 2 == 0 ? KERNEL_ATTENTION_PREFILL : KERNEL_ATTENTION_DECODE;
    shape.flags = i % 3 == 0 ? KERNEL_WARM : 0;
    shape.format = i % 5 == 0 ? KERNEL_FORMAT_BF16_FP8KV : KERNEL_FORMAT_BF16;
    a->batch = random_extent(&seed, bits);
    a->queries = random_extent(&seed, bits);
    a->context = random_extent(&seed, bits);
    a->heads = random_extent(&seed, bits);
    a->kv_heads = random_extent(&seed, bits);
    a->head_dim = random_extent(&seed, bits);
    a->window = i % 7 == 0 ? random_extent(&seed, bits) : 0;
    a->is_causal = i % 11 != 0;
    shape.cached_bytes = random_extent(&seed, 40);
    shape.extra_bytes = random_extent(&seed, 40);
    double values[KERNEL_CONSTANT_MAX];
    /* random constants inside their bounds, every other time those of the data sheet */
    kernel_attention.defaults(&gpu, shape.class_of, shape.format, values);
    for (unsigned c = 0; i % 2 == 0 && c < kernel_attention.constant_count; c++) {
      const struct kernel_constant *k = &kernel_attention.constants[c];
      values[c] = k->lower + (k->upper - k->lower) * (double)(next_random(&seed) % 1001) / 1000;
    }
    struct kernel_time time = time_of(i % 6 == 0 ? &tpu : &gpu, &shape, values);
    assert_true(isfinite(time.time_s) && time.time_s > 0);
    assert_true(isfinite(time.matrix_s) && isfinite(time.memory_s) && isfinite(time.off_chip_bytes));
  }
}

static void test_defaults_are_inside_the_bounds(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  assert_true(kernel_attention.constant_count <= KERNEL_CONSTANT_MAX);
  assert_false(kernel_attention.applies(KERNEL_GEMM, KERNEL_FORMAT_BF16, &chip));
  assert_true(kernel_attention.applies(KERNEL_ATTENTION_DECODE, KERNEL_FORMAT_BF16_FP8KV, &chip));
  chip.missing = "mem.bw";
  assert_false(kernel_attention.applies(KERNEL_ATTENTION_DECODE, KERNEL_FORMAT_BF16, &chip));
  for (unsigned format = 0; format < KERNEL_FORMAT_COUNT; format++) {
    for (unsigned is_decode = 0; is_decode < 2; is_decode++) {
      double values[KERNEL_CONSTANT_MAX];
      enum kernel_class class_of = is_decode != 0 ? KERNEL_ATTENTION_DECODE : KERNEL_ATTENTION_PREFILL;
      kernel_attention.defaults(&chip, class_of, (enum kernel_format)format, values);
      for (unsigned c = 0; c < kernel_attention.constant_count; c++) {
        assert_true(values[c] >= kernel_attention.constants[c].lower);
        assert_true(values[c] <= kernel_attention.constants[c].upper);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tiles_are_those_counted_by_hand),
      cmocka_unit_test(test_large_prefill_takes_its_products),
      cmocka_unit_test(test_long_decode_takes_its_keys),
      cmocka_unit_test(test_few_sequences_split_their_keys),
      cmocka_unit_test(test_window_that_covers_all_changes_nothing),
      cmocka_unit_test(test_cached_operands_save_their_bytes),
      cmocka_unit_test(test_time_never_falls_with_the_batch),
      cmocka_unit_test(test_time_is_finite_for_all_extents),
      cmocka_unit_test(test_defaults_are_inside_the_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
