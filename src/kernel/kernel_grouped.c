/* One mixture-of-experts layer: routing, two grouped matrix products with the activation between them, combination.
 * Path: shape and chip → here → measure, cost.
 *
 * Each expert's rows are cut into tiles on their own; tiles run in waves over the cores and every active expert's weights
 * are read once. Per product the two join as a root of squares, and of the tile sizes the fastest is taken, as tuned kernels
 * do. Around the products lie passes over the intermediate rows, and the kernels that sort rows by expert. Kernels that also
 * launch blocks for rows of other devices' experts (Triton's) pay for a share of those. docs/kernels-moe.md derives it and
 * states its errors.
 */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/kernel_arithmetic.h"
#include "kernel/kernel_experts.h"

enum {
  LAUNCH,
  ROUTING,
  MATRIX_EFFICIENCY,
  MEMORY_EFFICIENCY,
  TILE_ROWS,
  TILE,
  STEP,
  PASS_EFFICIENCY,
  FOREIGN_SHARE,
  CACHE_SHARE,
  UNALIGNED_RATE,
  CONSTANT_COUNT
};

static const struct kernel_constant constants[CONSTANT_COUNT] = {
    [LAUNCH] = {"launch_s", "s", 1e-6, 1e-3, "of the layer's kernels, for any shape"},
    [ROUTING] = {"routing_s", "s", 1e-9, 1e-4, "per doubling of the routed rows: depth of sorting them by expert"},
    [MATRIX_EFFICIENCY] = {"matrix_efficiency", "fraction", 0.02, 1, "of the matrix peak inside a tile"},
    [MEMORY_EFFICIENCY] = {"memory_efficiency", "fraction", 0.02, 1, "of the bandwidth while weights stream"},
    [TILE_ROWS] = {"tile_rows", "-", 16, 256, "largest tile: powers of two from 16 up to here are tried"},
    [TILE] = {"tile_s", "s", 1e-9, 2e-5, "that a tile adds to its core: start, first loads, store"},
    [STEP] = {"step_s", "s", 1e-12, 1e-7, "latency per element of the summed extent, once per product"},
    [PASS_EFFICIENCY] = {"pass_efficiency", "fraction", 0.02, 1.5,
                         "of the off-chip bandwidth in passes over rows; above 1 where they stay in the cache"},
    [FOREIGN_SHARE] = {"foreign_share", "fraction", 1e-3, 1,
                       "of its passes that a row of another device's expert costs"},
    [CACHE_SHARE] = {"cache_share", "fraction", 0.02, 1, "of the shared cache that repeated weights may fill"},
    [UNALIGNED_RATE] = {"unaligned_rate", "fraction", 0.02, 1,
                        "of the weights' rate in the second product when its summed extent is no multiple of 16"},
};

/* Columns of a tile and depth of one step of its loop: extents are padded to them. */
static const double tile_columns = 128, step_depth = 64, tile_rows_min = 16;
enum { TILE_SIZE_MAX = 5 }; /* 16, 32, ... 256 rows */
/* Loads of full width need rows that start at multiples of 16 elements. */
static const double alignment = 16;
/* A block for rows of another device stores zeros and leaves: a quarter of a tile's time. */
static const double foreign_tile = 0.25;
/* Where extents end; keeps every product of extents finite. */
static const double extent_max = 1e15;

/* What both products share. */
struct layer {
  struct expert_loads loads;
  double experts, hidden, inter, routed_rows, foreign_rows, foreign_experts;
  double weight_Bps, weight_bytes_each; /* rate of the weights; bytes per element */
  double rate_flops; /* of one core inside a tile */
  double cores;
  double hit; /* share of the weights that is on chip */
  double tiles[TILE_SIZE_MAX]; /* over the rows of all experts, per tile size */
  unsigned tile_sizes; /* that the constants allow */
};

struct product {
  double time_s, compute_s, memory_s, tile_m, waves;
};

static bool applies(enum kernel_class class_of, enum kernel_format format, const struct hw_chip *chip) {
  (void)format;
  return class_of == KERNEL_GROUPED_GEMM && chip->missing == NULL;
}

static double matrix_rate(const struct hw_chip *chip, enum dtype dtype) {
  const enum dtype fallbacks[] = {dtype, DTYPE_BF16, DTYPE_F16, DTYPE_F32};
  double flops = 0;
  enum dtype runs_as;
  for (unsigned i = 0; i < sizeof fallbacks / sizeof *fallbacks; i++) {
    if (hw_chip_matrix_rate(chip, fallbacks[i], &flops, &runs_as) && flops > 0) {
      return flops;
    }
  }
  return hw_chip_vector_rate(chip, DTYPE_F32, &flops, &runs_as) && flops > 0 ? flops : 1e9;
}

static void defaults(const struct hw_chip *chip, enum kernel_class class_of, enum kernel_format format,
                     double *values) {
  (void)class_of;
  (void)format;
  double clock_Hz = chip->clock_Hz > 0 ? chip->clock_Hz : 1e9;
  bool is_gpu = chip->kind == HW_KIND_GPU;
  values[LAUNCH] = 5 * chip->launch_s; /* top-k, sort, two products, activation; the combination joins the last */
  values[ROUTING] = chip->launch_s;
  values[MATRIX_EFFICIENCY] =
      0.8 * chip->matrix_efficiency; /* tiles of many small products against one large product */
  values[MEMORY_EFFICIENCY] = chip->memory_efficiency;
  values[TILE_ROWS] = chip->tile_m > 0 ? chip->tile_m : 128;
  /* Clock cycles: two trips to memory and the store on a GPU; filling the array elsewhere. */
  values[TILE] = (is_gpu ? 2000 : 256) / clock_Hz;
  values[STEP] = (is_gpu ? 4 : 0.25) / clock_Hz;
  values[PASS_EFFICIENCY] = chip->memory_efficiency;
  values[FOREIGN_SHARE] = 0.1;
  values[CACHE_SHARE] = 0.5;
  values[UNALIGNED_RATE] = is_gpu ? 0.3 : 1;
  for (unsigned i = 0; i < CONSTANT_COUNT; i++) {
    values[i] = kernel_clamp(values[i], constants[i].lower, constants[i].upper);
  }
}

/* Experts' rows times `columns` sums over `depth`; `rate` scales how fast the weights arrive. */
static struct product product_of(const struct layer *l, const double *values, double columns, double depth,
                                 double rate) {
  struct product best = {.time_s = INFINITY};
  double tiles_n = ceil(columns / tile_columns), padded_depth = ceil(depth / step_depth) * step_depth;
  double memory_s = l->loads.active * columns * depth * l->weight_bytes_each / (l->weight_Bps * rate);
  for (unsigned i = 0; i < l->tile_sizes; i++) {
    double rows = ldexp(tile_rows_min, (int)i);
    double waves = fmax(1, l->tiles[i] * tiles_n / l->cores);
    double foreign = fmin(l->foreign_rows, l->foreign_experts) + l->foreign_rows / rows;
    double tile_s = 2 * rows * tile_columns * padded_depth / l->rate_flops + values[TILE];
    double compute_s =
        waves * tile_s + foreign_tile * values[FOREIGN_SHARE] * values[TILE] * foreign * tiles_n / l->cores;
    double time_s = sqrt(compute_s * compute_s + memory_s * memory_s);
    if (time_s < best.time_s) {
      best = (struct product){time_s, compute_s, memory_s, rows, waves};
    }
  }
  best.time_s += padded_depth * values[STEP];
  return best;
}

/* Share of the weights found on chip: what the caller says, or, when the same buffers are used again and again, all of them
 * while they fit and ever less beyond. */
static double hit_share(const struct hw_chip *chip, const struct kernel_shape *shape, const double *values,
                        double weight_bytes) {
  if (!(shape->flags & KERNEL_WARM)) {
    return kernel_clamp(shape->cached_bytes / weight_bytes, 0, 1);
  }
  if (!(chip->cache_size_bytes > 0)) {
    return 0;
  }
  double fill = weight_bytes / (values[CACHE_SHARE] * chip->cache_size_bytes);
  return 1 / (1 + fill * fill * fill * fill);
}

static struct layer layer_of(const struct hw_chip *chip, const struct kernel_shape *shape, const double *values) {
  const struct kernel_format_info *format = kernel_format_info(shape->format);
  const struct kernel_grouped *g = &shape->grouped;
  struct layer l = {.weight_bytes_each = format->b_bytes, .cores = fmax(1, chip->cores)};
  double tokens = fmin(g->tokens, extent_max);
  l.experts = fmin(g->experts, extent_max);
  l.hidden = fmin(g->hidden, extent_max);
  l.inter = fmax(1, fmin(g->inter, extent_max) / fmax(1, g->tensor_parallel));
  double top_k = fmin(g->top_k, l.experts), devices = kernel_clamp(g->expert_parallel, 1, extent_max);
  kernel_expert_loads(tokens, top_k, l.experts, devices, g->skew, &l.loads);
  do {
    l.tiles[l.tile_sizes] = kernel_expert_tiles(&l.loads, ldexp(tile_rows_min, (int)l.tile_sizes));
    l.tile_sizes++;
  } while (l.tile_sizes < TILE_SIZE_MAX && ldexp(tile_rows_min, (int)l.tile_sizes) <= values[TILE_ROWS] * (1 + 1e-9));
  l.routed_rows = tokens * top_k;
  l.foreign_rows = fmax(0, l.routed_rows - l.loads.rows_here);
  l.foreign_experts = l.experts * (1 - 1 / devices);
  l.rate_flops = matrix_rate(chip, format->dtype) * values[MATRIX_EFFICIENCY] / l.cores;
  double weight_bytes = l.loads.active * (g->is_plain ? 2 : 3) * l.inter * l.hidden * format->b_bytes;
  l.hit = hit_share(chip, shape, values, weight_bytes);
  double cache_Bps = fmax(chip->cache_Bps, chip->memory_Bps);
  l.weight_Bps = values[MEMORY_EFFICIENCY] / ((1 - l.hit) / chip->memory_Bps + l.hit / cache_Bps);
  return l;
}

static void time_of(const struct hw_chip *chip, const struct kernel_shape *shape, const double *values,
                    struct kernel_time *out) {
  struct layer l = layer_of(chip, shape, values);
  double result_bytes = kernel_format_info(shape->format)->c_bytes;
  double gates = shape->grouped.is_plain ? 1 : 2;
  double aligned = fmod(l.inter, alignment) > 0 ? values[UNALIGNED_RATE] : 1;
  struct product first = product_of(&l, values, gates * l.inter, l.hidden, 1);
  struct product second = product_of(&l, values, l.hidden, l.inter, aligned);
  /* Each row: both products' results and the activation are written and read. Each token: read, scattered, written. */
  double rows = l.loads.rows_here + values[FOREIGN_SHARE] * l.foreign_rows;
  double tokens = fmin(shape->grouped.tokens, extent_max);
  double pass_bytes = (rows * 2 * ((gates + 1) * l.inter + l.hidden) + 3 * tokens * l.hidden) * result_bytes
                      + fmax(0, shape->extra_bytes);
  double pass_s = pass_bytes / (chip->memory_Bps * values[PASS_EFFICIENCY]);
  double launch_s = values[LAUNCH] + values[ROUTING] * log2(1 + l.routed_rows);
  double weight_bytes = l.loads.active * (gates + 1) * l.inter * l.hidden * l.weight_bytes_each;
  double weights_s = first.memory_s + second.memory_s;
  double cached_s = weights_s * l.hit * chip->memory_Bps
                    / (l.hit * chip->memory_Bps + (1 - l.hit) * fmax(chip->cache_Bps, chip->memory_Bps));
  *out = (struct kernel_time){
      .time_s = launch_s + first.time_s + second.time_s + pass_s,
      .matrix_s = first.compute_s + second.compute_s,
      .memory_s = weights_s - cached_s + pass_s,
      .cache_s = cached_s,
      .launch_s = launch_s,
      .off_chip_bytes = weight_bytes * (1 - l.hit) + pass_bytes,
      .tile_m = first.tile_m,
      .tile_n = tile_columns,
      .split = 1,
      .waves = first.waves,
  };
}

const struct kernel_model kernel_grouped_gemm = {
    .name = "grouped_gemm",
    .summary =
        "mixture-of-experts layer: expert loads, tiles and waves, weights once per active expert, routing passes",
    .constants = constants,
    .constant_count = CONSTANT_COUNT,
    .applies = applies,
    .defaults = defaults,
    .time = time_of,
};
