/* Matrix products on chips with systolic arrays (TPUs and the like).
 *
 * One operand is held in the arrays, the other streams through row by row. The model adds what nothing hides (launch, the
 * fill and drain of the arrays per pass over k, the conversion of results) to what runs side by side (arrays, off-chip
 * memory, on-chip memory). Off-chip memory moves blocks of whole 128-lane columns that divide the extent evenly; a chip with
 * several cores uses as many of them as pay for starting them. docs/kernels-systolic.md derives it and states its errors.
 */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/kernel_arithmetic.h"

/* 8 x 128 elements are what one vector register of a TPU holds and what its memory layouts are tiled by: rows enter an array
 * by eights, blocks are whole groups of 128 columns. */
static const double sublanes = 8, lanes = 128;
/* Blocks wider than 64 x 128 columns gain nothing: a step then moves megabytes at any k. */
enum { WIDEST_BLOCK = 64 };

enum {
  LAUNCH,
  MATRIX_EFFICIENCY,
  MEMORY_EFFICIENCY,
  OVERLAP,
  MEMORY_LATENCY,
  FILL,
  STEP,
  RESULT_OPERATIONS,
  CORE_START,
  BLOCK_FRACTION,
  RESIDENT_FRACTION,
  CONSTANT_COUNT
};

static const struct kernel_constant constants[CONSTANT_COUNT] = {
    [LAUNCH] = {"launch_s", "s", 1e-8, 1e-4, "from one kernel's end to the start of the next one's work"},
    [MATRIX_EFFICIENCY] = {"matrix_efficiency", "fraction", 0.02, 1,
                           "of the arrays' peak while rows stream through them"},
    [MEMORY_EFFICIENCY] = {"memory_efficiency", "fraction", 0.02, 1,
                           "of the off-chip bandwidth that large blocks reach"},
    [OVERLAP] = {"overlap", "-", 1, 8,
                 "exponent that combines arrays and memories: 1 = one after the other, large = the slowest"},
    [MEMORY_LATENCY] = {"memory_latency_s", "s", 1e-9, 1e-4, "of the first block from off-chip memory"},
    [FILL] = {"fill", "-", 0.01, 8, "array fills that stay visible per pass over k, in the time of one array's rows"},
    [STEP] = {"step_s", "s", 1e-9, 1e-5, "of one more block: descriptor, wait, loop"},
    [RESULT_OPERATIONS] = {"result_operations", "-", 0.01, 64, "vector operations per element of the result"},
    [CORE_START] = {"core_start_s", "s", 1e-9, 1e-3, "of one more core: sharing the operands and joining"},
    [BLOCK_FRACTION] = {"block_fraction", "fraction", 0.001, 1,
                        "of the on-chip memory that one block of weights may take"},
    [RESIDENT_FRACTION] = {"resident_fraction", "fraction", 0.0001, 1,
                           "of the on-chip memory below which a repeated product finds its weights there too"},
};

static double at_least_one(double count) {
  return count > 1 ? count : 1;
}

static double product_rate(const struct hw_chip *chip, enum kernel_format format) {
  double flops = 0;
  enum dtype runs_as;
  return hw_chip_matrix_rate(chip, kernel_format_info(format)->dtype, &flops, &runs_as) ? flops : 0;
}

static bool applies(enum kernel_class class_of, enum kernel_format format, const struct hw_chip *chip) {
  return class_of == KERNEL_GEMM && chip->tile_m == 0 && chip->matrix_rows > 0 && chip->matrix_columns > 0
         && product_rate(chip, format) > 0;
}

static void defaults(const struct hw_chip *chip, enum kernel_class class_of, enum kernel_format format,
                     double *values) {
  (void)class_of;
  (void)format;
  const double from_data_sheet[CONSTANT_COUNT] = {
      [LAUNCH] = chip->launch_s,
      [MATRIX_EFFICIENCY] = chip->matrix_efficiency,
      [MEMORY_EFFICIENCY] = chip->memory_efficiency,
      [OVERLAP] =
          3, /* assumed: blocks are fetched ahead, the first and the last are seen; two equal times take 1.26 of one */
      [MEMORY_LATENCY] = chip->memory_ramp_bytes / chip->memory_Bps,
      [FILL] = 1, /* assumed: weights load behind the rows of the pass before, its first results show */
      [STEP] = chip->launch_s,
      [RESULT_OPERATIONS] = 1, /* rounding to the type of the result */
      [CORE_START] = 2e-6, /* assumed */
      [BLOCK_FRACTION] = 1.0 / 8, /* two buffers of 16 MiB in the 32 MiB that XLA gives a kernel by default on v6e */
      [RESIDENT_FRACTION] = constants[RESIDENT_FRACTION].lower, /* weights stream until a fit says otherwise */
  };
  for (unsigned i = 0; i < CONSTANT_COUNT; i++) {
    values[i] = kernel_clamp(from_data_sheet[i], constants[i].lower, constants[i].upper);
  }
}

/* The largest divisor of `count` up to `limit`. */
static double even_share(double count, double limit) {
  uint64_t widest = (uint64_t)fmin(fmin(count, limit), WIDEST_BLOCK);
  if (count >= 9e18) {
    return (double)widest;
  }
  uint64_t whole = (uint64_t)count;
  while (widest > 1 && whole % widest != 0) {
    widest--;
  }
  return (double)widest;
}

struct blocks {
  double columns, steps;
};

/* Columns of weights per block, and blocks in all. Products of a batch share a block when one fits whole. */
static struct blocks choose_blocks(const struct hw_chip *chip, const struct kernel_gemm *g, double element_bytes,
                                   double fraction) {
  double groups = ceil(g->n / lanes);
  double room = at_least_one(floor(fraction * chip->cache_size_bytes / (element_bytes * lanes * g->k)));
  double share = even_share(groups, room);
  double steps = share < groups ? g->batch * (groups / share) : ceil(g->batch / at_least_one(floor(room / groups)));
  return (struct blocks){.columns = share * lanes, .steps = steps};
}

/* Bytes that come from or go to off-chip memory. */
static double off_chip_bytes(const struct hw_chip *chip, const struct kernel_shape *shape, double a_bytes,
                             double b_bytes, double c_bytes, double resident_fraction) {
  double all = a_bytes + b_bytes + c_bytes;
  if (!(shape->flags & KERNEL_WARM)) {
    return all - fmin(fmax(0, shape->cached_bytes), a_bytes + b_bytes) + shape->extra_bytes;
  }
  if (all <= resident_fraction * chip->cache_size_bytes) {
    return shape->extra_bytes;
  }
  return (a_bytes + c_bytes <= chip->cache_size_bytes ? b_bytes : all) + shape->extra_bytes;
}

/* Activations in more bytes than the arrays take: a kernel of its own reads and rounds them. */
static double quantisation_s(const struct hw_chip *chip, const struct kernel_shape *shape, double a_bytes,
                             const double *values) {
  if (!(shape->flags & KERNEL_QUANTISES)) {
    return 0;
  }
  double read = 2 * shape->gemm.batch * shape->gemm.m * shape->gemm.k; /* bf16 */
  return values[LAUNCH] + (read + a_bytes) / (chip->memory_Bps * values[MEMORY_EFFICIENCY]);
}

/* What the choice of cores leaves as it is, and what all cores together would take. */
struct parts {
  double arrays_all_s, result_all_s, memory_s, on_chip_s;
};

static void choose_cores(const struct hw_chip *chip, const struct parts *parts, const double *values,
                         struct kernel_time *out) {
  double all = at_least_one(floor(chip->cores)), best = 0;
  for (double cores = 1;; cores = fmin(all, 2 * cores)) {
    double share = all / cores, arrays = parts->arrays_all_s * share, result = parts->result_all_s * share;
    double start = (cores - 1) * values[CORE_START];
    double time = kernel_join(arrays, parts->memory_s, parts->on_chip_s, values[OVERLAP]) + result + start;
    if (cores == 1 || time < best) {
      best = time;
      *out = (struct kernel_time){
          .time_s = time, .matrix_s = arrays, .vector_s = result, .launch_s = start, .split = cores};
    }
    if (cores >= all) {
      break;
    }
  }
}

static void time_product(const struct hw_chip *chip, const struct kernel_shape *shape, const double *values,
                         struct kernel_time *out) {
  const struct kernel_gemm *g = &shape->gemm;
  const struct kernel_format_info *format = kernel_format_info(shape->format);
  double arrays = at_least_one(chip->cores) * at_least_one(chip->matrix_units_per_core);
  double rate = product_rate(chip, shape->format), array_flops = 2 * chip->matrix_rows * chip->matrix_columns;
  /* The longer of m and n is held in the arrays, the shorter streams: the compiler transposes the product. */
  double rows = sublanes * ceil(fmin(g->m, g->n) / sublanes);
  double passes = ceil(g->k / chip->matrix_rows), held = ceil(fmax(g->m, g->n) / chip->matrix_columns);
  double row_s = array_flops * arrays / rate; /* one row through one array */
  double fill_s = values[FILL] * passes * ceil(g->batch / arrays) * fmin(rows, chip->matrix_rows) * row_s;

  double a_bytes = g->batch * g->m * g->k * format->a_bytes, b_bytes = g->batch * g->k * g->n * format->b_bytes;
  double c_bytes = g->batch * g->m * g->n * format->c_bytes;
  bool has_bias = (shape->flags & KERNEL_BIAS) != 0;
  double off_chip = off_chip_bytes(chip, shape, a_bytes, b_bytes + (has_bias ? g->n * format->c_bytes : 0), c_bytes,
                                   values[RESIDENT_FRACTION]);
  struct blocks blocks = choose_blocks(chip, g, format->b_bytes, values[BLOCK_FRACTION]);
  double vector_rate = chip->vector_flops[DTYPE_F32];
  struct parts parts = {
      .arrays_all_s = g->batch * rows * held * passes * array_flops / (rate * values[MATRIX_EFFICIENCY]),
      .result_all_s =
          vector_rate > 0 ? (values[RESULT_OPERATIONS] + has_bias) * g->batch * g->m * g->n / vector_rate : 0,
      .on_chip_s = chip->cache_Bps > 0 ? (a_bytes + b_bytes + c_bytes) / chip->cache_Bps : 0,
  };
  if (off_chip > 0) {
    parts.memory_s = off_chip / (chip->memory_Bps * values[MEMORY_EFFICIENCY]) + values[MEMORY_LATENCY]
                     + blocks.steps * values[STEP];
  }
  choose_cores(chip, &parts, values, out);
  double quantise_s = quantisation_s(chip, shape, a_bytes, values);
  out->time_s += values[LAUNCH] + fill_s + quantise_s;
  out->launch_s += values[LAUNCH];
  out->matrix_s += fill_s;
  out->vector_s += quantise_s;
  out->memory_s = parts.memory_s;
  out->cache_s = parts.on_chip_s;
  out->off_chip_bytes = off_chip;
  out->tile_m = rows;
  out->tile_n = blocks.columns;
  out->waves = blocks.steps;
}

const struct kernel_model kernel_gemm_systolic = {
    .name = "gemm_systolic",
    .summary = "matrix products on systolic arrays: streaming, fills, blocks of weights, cores",
    .constants = constants,
    .constant_count = CONSTANT_COUNT,
    .applies = applies,
    .defaults = defaults,
    .time = time_product,
};
