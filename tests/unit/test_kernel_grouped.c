/* Loads of experts and the time of a mixture-of-experts layer, against closed forms, drawn loads and a dense case by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/kernel.h"
#include "kernel/kernel_experts.h"

static const struct kernel_model *const model = &kernel_grouped_gemm;

/* 10 cores, 1e12 FLOP/s, 1e9 B/s: numbers to calculate with. */
static struct hw_chip plain_chip(void) {
  struct hw_chip chip = {
      .kind = HW_KIND_GPU, .cores = 10, .memory_Bps = 1e9, .cache_Bps = 4e9, .cache_size_bytes = 1e6};
  chip.matrix_flops[DTYPE_BF16] = 1e12;
  chip.matrix_runs_as[DTYPE_BF16] = DTYPE_BF16;
  chip.clock_Hz = 1e9;
  chip.launch_s = 1e-6;
  chip.matrix_efficiency = chip.memory_efficiency = 0.8;
  return chip;
}

static void set(double *values, const char *name, double value) {
  int index = kernel_constant_find(model, name);
  assert_true(index >= 0);
  values[index] = value;
}

/* Nothing but products and weights: every overhead at its lower bound, every efficiency 1. */
static void ideal_constants(double *values) {
  for (unsigned i = 0; i < model->constant_count; i++) {
    values[i] = model->constants[i].lower;
  }
  set(values, "matrix_efficiency", 1);
  set(values, "memory_efficiency", 1);
  set(values, "pass_efficiency", 1);
  set(values, "tile_rows", 128);
  set(values, "unaligned_rate", 1);
}

static struct kernel_shape layer(double tokens, double hidden, double inter, double top_k, double experts) {
  struct kernel_shape shape = {.class_of = KERNEL_GROUPED_GEMM, .format = KERNEL_FORMAT_BF16};
  shape.grouped = (struct kernel_grouped){.tokens = tokens,
                                          .hidden = hidden,
                                          .inter = inter,
                                          .top_k = top_k,
                                          .experts = experts,
                                          .tensor_parallel = 1,
                                          .expert_parallel = 1};
  return shape;
}

static struct kernel_time time_of(const struct hw_chip *chip, const struct kernel_shape *shape, const double *values) {
  struct kernel_time out;
  model->time(chip, shape, values, &out);
  return out;
}

static void balanced_loads_by_hand(void **state) {
  (void)state;
  struct expert_loads loads;
  /* 64 tokens x 2 over 8 experts are 16 rows each; half of the experts are here. */
  kernel_expert_loads(64, 2, 8, 2, 0, &loads);
  assert_true(loads.active == 4 && loads.rows_here == 64);
  assert_true(kernel_expert_tiles(&loads, 16) == 4 && kernel_expert_tiles(&loads, 10) == 8);
  /* 2 tokens x 2: four experts get one row. */
  kernel_expert_loads(2, 2, 8, 1, 0, &loads);
  assert_true(loads.active == 4 && loads.rows_here == 4);
}

/* Every token goes to top_k experts, so all rows are somewhere; no expert can get a token twice. */
static void skewed_loads_add_up(void **state) {
  (void)state;
  const double tokens[] = {1, 3, 16, 17, 500, 16384, 1e7}, experts[] = {1, 2, 8, 48, 49, 128, 896};
  const double skews[] = {0.5, 1, 1.01, 1.2, 2, 3, 9};
  for (size_t t = 0; t < 7; t++) {
    for (size_t e = 0; e < 7; e++) {
      for (size_t s = 0; s < 7; s++) {
        for (double top_k = 1; top_k <= 8; top_k *= 2) {
          struct expert_loads loads;
          kernel_expert_loads(tokens[t], top_k, experts[e], 1, skews[s], &loads);
          double total = tokens[t] * fmin(top_k, experts[e]);
          assert_true(fabs(loads.rows_here / total - 1) < 1e-9);
          assert_true(loads.active <= experts[e] * (1 + 1e-9) && loads.active <= total * (1 + 1e-9));
          for (unsigned g = 0; g < loads.group_count; g++) {
            assert_true(loads.rows[g] >= 1 && loads.rows[g] <= tokens[t] * (1 + 1e-12));
          }
        }
      }
    }
  }
}

static double uniform(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(*seed >> 11) * 0x1p-53;
}

/* What the closed forms stand for: draw each expert's share, scale to all rows, take the device with the most. */
static void simulate(double tokens, unsigned top_k, unsigned experts, unsigned devices, double skew, double *rows,
                     double *tiles) {
  enum { DRAWS = 2000 };
  uint64_t seed = 42;
  double loads[512], exponent = 1 - skew, range = pow(0.8 * tokens, exponent) - 1;
  *rows = *tiles = 0;
  for (int draw = 0; draw < DRAWS; draw++) {
    double sum = 0, best = 0, best_tiles = 0;
    for (unsigned e = 0; e < experts; e++) {
      loads[e] = pow(1 + range * uniform(&seed), 1 / exponent);
      sum += loads[e];
    }
    for (unsigned d = 0; d < devices; d++) {
      double here = 0, here_tiles = 0;
      for (unsigned e = d * (experts / devices); e < (d + 1) * (experts / devices); e++) {
        double load = fmin(tokens, round(loads[e] * tokens * top_k / sum));
        here += load;
        here_tiles += ceil(load / 64);
      }
      best_tiles = here > best ? here_tiles : best_tiles;
      best = fmax(best, here);
    }
    *rows += best / DRAWS;
    *tiles += best_tiles / DRAWS;
  }
}

static void skewed_loads_match_drawn_ones(void **state) {
  (void)state;
  const struct {
    double tokens;
    unsigned top_k, experts, devices;
    double skew;
  } cases[] = {{1024, 8, 128, 1, 1.2},   {1024, 8, 128, 2, 1.01}, {1024, 8, 128, 16, 1.2},
               {4096, 10, 512, 8, 1.01}, {256, 8, 128, 128, 1.2}, {4096, 10, 512, 32, 1.2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double rows, tiles;
    struct expert_loads loads;
    simulate(cases[i].tokens, cases[i].top_k, cases[i].experts, cases[i].devices, cases[i].skew, &rows, &tiles);
    kernel_expert_loads(cases[i].tokens, cases[i].top_k, cases[i].experts, cases[i].devices, cases[i].skew, &loads);
    assert_true(fabs(loads.rows_here / rows - 1) < 0.12);
    assert_true(fabs(kernel_expert_tiles(&loads, 64) / tiles - 1) < 0.15);
  }
}

/* One expert on one device is a plain feed-forward block. With tiles of 16 rows: 1000 rows are 63 tiles.
 * First product, 512 columns of 512 deep: 63 x 4 tiles on 10 cores are 25.2 waves of 2 x 16 x 128 x 512 / 1e11 + 1e-6 s;
 * weights 512 x 512 x 2 B at 1e9 B/s. Second, 512 columns of 256 deep: 25.2 waves of half the work, half the weights.
 * Rows: twice (3 x 256 + 512) elements each, tokens thrice 512. */
static void one_expert_is_a_dense_layer(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  ideal_constants(values);
  set(values, "tile_rows", 16);
  set(values, "tile_s", 1e-6);
  set(values, "launch_s", 1e-4);
  set(values, "routing_s", 1e-5);
  set(values, "step_s", 1e-8);
  struct kernel_shape shape = layer(1000, 512, 256, 1, 1);
  double first = hypot(25.2 * (2.097152e-5 + 1e-6), 5.24288e-4) + 5.12e-6;
  double second = hypot(25.2 * (1.048576e-5 + 1e-6), 2.62144e-4) + 2.56e-6;
  double passes = (1000 * 2560.0 + 3 * 512000.0) * 2 / 1e9, launch = 1e-4 + 1e-5 * log2(1001);
  struct kernel_time out = time_of(&chip, &shape, values);
  assert_true(fabs(out.time_s / (first + second + passes + launch) - 1) < 1e-12);
  assert_true(out.tile_m == 16 && fabs(out.waves - 25.2) < 1e-12);
  /* The skew of a single expert is nothing. */
  shape.grouped.skew = 1.2;
  assert_true(fabs(time_of(&chip, &shape, values).time_s / out.time_s - 1) < 1e-12);
}

/* Many rows per expert, whole tiles: 6 x rows x hidden x inter operations at the peak, nothing else counts. */
static void many_tokens_reach_the_matrix_peak(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.memory_Bps = 1e14;
  double values[KERNEL_CONSTANT_MAX];
  ideal_constants(values);
  struct kernel_shape shape = layer(1 << 20, 4096, 4096, 2, 8);
  double bound = 6.0 * 2 * (1 << 20) * 4096 * 4096 / 1e12, time_s = time_of(&chip, &shape, values).time_s;
  assert_true(time_s >= bound && time_s < 1.01 * bound);
}

/* One token and two experts of eight: their weights come from memory once. Four times faster from the cache. */
static void few_tokens_read_the_active_weights(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.matrix_flops[DTYPE_BF16] = 1e15;
  double values[KERNEL_CONSTANT_MAX];
  ideal_constants(values);
  struct kernel_shape shape = layer(1, 4096, 4096, 2, 8);
  double weights = 2 * 3.0 * 4096 * 4096 * 2;
  double cold = time_of(&chip, &shape, values).time_s;
  assert_true(cold >= weights / 1e9 && cold < 1.01 * weights / 1e9);
  shape.cached_bytes = weights;
  double cached = time_of(&chip, &shape, values).time_s;
  assert_true(cached >= weights / 4e9 && cached < 1.01 * weights / 4e9);
  /* 1 MB more at 1 GB/s */
  shape.extra_bytes = 1e6;
  assert_true(fabs(time_of(&chip, &shape, values).time_s - cached - 1e-3) < 1e-9);
  /* Without a gate two matrices instead of three. */
  shape.cached_bytes = shape.extra_bytes = 0;
  shape.grouped.is_plain = true;
  assert_true(fabs(time_of(&chip, &shape, values).time_s / cold - 2.0 / 3) < 0.01);
}

/* 800 rows over 8 devices of one expert each: 700 belong to others. Passes move 2 x (3 x 256 + 512) x 2 B for each of them.
 * Blocks that only store zeros: 7 experts and 700 / 16 tiles, 4 columns wide, a quarter of 20 us on 10 cores, twice. */
static void rows_of_other_devices_cost_their_share(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  ideal_constants(values);
  set(values, "tile_rows", 16);
  struct kernel_shape shape = layer(800, 512, 256, 1, 8);
  shape.grouped.expert_parallel = 8;
  double none = time_of(&chip, &shape, values).time_s;
  set(values, "foreign_share", 1);
  assert_true(fabs((time_of(&chip, &shape, values).time_s - none) / (0.999 * 700 * 5120 / 1e9) - 1) < 1e-3);
  chip.memory_Bps = chip.cache_Bps = 1e16;
  set(values, "tile_s", 2e-5);
  double with = time_of(&chip, &shape, values).time_s;
  set(values, "foreign_share", 0.5);
  double half = time_of(&chip, &shape, values).time_s;
  assert_true(fabs((with - half) / (0.5 * 2 * 50.75 * 4 / 10 * 0.25 * 2e-5) - 1) < 1e-3);
}

/* 4104 is no multiple of 16: the second product's third of the weights takes twice as long at half the rate. */
static void unaligned_rows_load_slowly(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.matrix_flops[DTYPE_BF16] = 1e15;
  double values[KERNEL_CONSTANT_MAX];
  ideal_constants(values);
  set(values, "unaligned_rate", 0.5);
  struct kernel_shape shape = layer(1, 4096, 4104, 1, 1);
  assert_true(fabs(time_of(&chip, &shape, values).time_s / (4 * 4096 * 4104 * 2.0 / 1e9) - 1) < 0.01);
  shape.grouped.inter = 4112;
  assert_true(fabs(time_of(&chip, &shape, values).time_s / (3 * 4096 * 4112 * 2.0 / 1e9) - 1) < 0.01);
}

static void warm_weights_come_from_the_cache_while_they_fit(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.matrix_flops[DTYPE_BF16] = 1e15;
  double values[KERNEL_CONSTANT_MAX];
  ideal_constants(values);
  set(values, "cache_share", 1);
  struct kernel_shape small = layer(1, 128, 128, 1, 8), large = layer(1, 4096, 4096, 1, 8);
  small.flags = large.flags = KERNEL_WARM;
  /* 98 kB against a cache of 1 MB; 100 MB */
  struct kernel_time in = time_of(&chip, &small, values), beyond = time_of(&chip, &large, values);
  assert_true(in.cache_s > 0.99 * (98304 / 4e9) && in.off_chip_bytes < 0.1 * 98304);
  assert_true(beyond.cache_s < 1e-6 * beyond.memory_s);
}

static void time_grows_with_tokens(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  model->defaults(&chip, KERNEL_GROUPED_GEMM, KERNEL_FORMAT_BF16, values);
  const double skews[] = {0, 1.01, 1.2}, devices[] = {1, 8, 64};
  for (size_t s = 0; s < 3; s++) {
    for (size_t d = 0; d < 3; d++) {
      double before = 0;
      for (double tokens = 1; tokens < 3e5; tokens = fmax(tokens + 1, floor(tokens * 1.1))) {
        struct kernel_shape shape = layer(tokens, 2048, 768, 8, 128);
        shape.grouped.skew = skews[s];
        shape.grouped.expert_parallel = devices[d];
        double time_s = time_of(&chip, &shape, values).time_s;
        assert_true(time_s >= before * (s == 0 ? 1 : 0.98));
        before = time_s;
      }
    }
  }
}

static void uneven_loads_cost_more_on_the_busiest_device(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  model->defaults(&chip, KERNEL_GROUPED_GEMM, KERNEL_FORMAT_BF16, values);
  struct kernel_shape shape = layer(8192, 2048, 768, 8, 128);
  shape.grouped.expert_parallel = 16;
  double even = time_of(&chip, &shape, values).time_s;
  shape.grouped.skew = 1.2;
  assert_true(time_of(&chip, &shape, values).time_s > 1.5 * even);
}

static void any_shape_has_a_finite_time(void **state) {
  (void)state;
  struct hw_chip chips[2] = {plain_chip(), plain_chip()};
  /* Nothing known that prediction does not need. */
  chips[1].cores = chips[1].cache_Bps = chips[1].cache_size_bytes = chips[1].clock_Hz = chips[1].matrix_efficiency = 0;
  uint64_t seed = 7;
  for (int i = 0; i < 20000; i++) {
    double e[7];
    for (size_t j = 0; j < 7; j++) {
      double size = uniform(&seed) < 0.1 ? 300 : 6;
      e[j] = uniform(&seed) < 0.2 ? 1 : floor(pow(10, size * uniform(&seed)));
    }
    struct kernel_shape shape = layer(e[0], e[1], e[2], e[3], e[4]);
    shape.grouped.tensor_parallel = e[5];
    shape.grouped.expert_parallel = e[6];
    shape.grouped.skew = uniform(&seed) < 0.3 ? 0 : 5 * uniform(&seed);
    shape.grouped.is_plain = uniform(&seed) < 0.5;
    shape.flags = uniform(&seed) < 0.5 ? KERNEL_WARM : 0;
    shape.cached_bytes = uniform(&seed) * 1e9;
    shape.format = (enum kernel_format)(uniform(&seed) * KERNEL_FORMAT_COUNT);
    const struct hw_chip *chip = &chips[i % 2];
    double values[KERNEL_CONSTANT_MAX];
    model->defaults(chip, KERNEL_GROUPED_GEMM, shape.format, values);
    for (unsigned c = 0; c < model->constant_count; c++) {
      assert_true(values[c] >= model->constants[c].lower && values[c] <= model->constants[c].upper);
    }
    struct kernel_time out = time_of(chip, &shape, values);
    assert_true(isfinite(out.time_s) && out.time_s > 0 && isfinite(out.matrix_s) && isfinite(out.memory_s));
    assert_true(out.matrix_s >= 0 && out.memory_s >= 0 && out.cache_s >= 0 && isfinite(out.off_chip_bytes));
  }
}

static void it_applies_to_chips_that_predict(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  assert_true(model->applies(KERNEL_GROUPED_GEMM, KERNEL_FORMAT_NVFP4, &chip));
  assert_false(model->applies(KERNEL_GEMM, KERNEL_FORMAT_BF16, &chip));
  chip.missing = "mem.bw";
  assert_false(model->applies(KERNEL_GROUPED_GEMM, KERNEL_FORMAT_BF16, &chip));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(balanced_loads_by_hand),
      cmocka_unit_test(skewed_loads_add_up),
      cmocka_unit_test(skewed_loads_match_drawn_ones),
      cmocka_unit_test(one_expert_is_a_dense_layer),
      cmocka_unit_test(many_tokens_reach_the_matrix_peak),
      cmocka_unit_test(few_tokens_read_the_active_weights),
      cmocka_unit_test(rows_of_other_devices_cost_their_share),
      cmocka_unit_test(unaligned_rows_load_slowly),
      cmocka_unit_test(warm_weights_come_from_the_cache_while_they_fit),
      cmocka_unit_test(time_grows_with_tokens),
      cmocka_unit_test(uneven_loads_cost_more_on_the_busiest_device),
      cmocka_unit_test(any_shape_has_a_finite_time),
      cmocka_unit_test(it_applies_to_chips_that_predict),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
