/* Matrix products on GPUs: output tiles spread over cores.
 *
 * A library ships kernels of a dozen tile sizes and may split k over several cores; the one done first is taken.
 * Each is timed by what it asks of four resources (matrix units, the chain of steps along k, the shared cache, off-chip
 * memory): the slowest one, plus a fitted share of the others, plus launch, waves and the reduction of split sums. A
 * benchmark's repetitions find activations in the cache, and weights as far as the copies it cycles through fit.
 * docs/kernels-gemm.md derives the formulas and states their errors.
 */
#include <assert.h>
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/kernel_arithmetic.h"

enum {
  LAUNCH,
  DISPATCH,
  PARTIAL_BLOCK,
  MATRIX_EFFICIENCY,
  MEMORY_EFFICIENCY,
  WRITE_COST,
  CACHE_EFFICIENCY,
  CACHE_FRACTION,
  WEIGHT_COPIES,
  RESULT_KEPT,
  OPERAND_SHARING,
  WAVE_SOFTNESS,
  STEP,
  SPLIT,
  SPLIT_TRAFFIC,
  EXPOSED,
  THROTTLE,
  QUANTISE,
  QUANTISE_MEMORY,
  QUANTISE_ROW,
  CONSTANT_COUNT
};

static const struct kernel_constant constants[CONSTANT_COUNT] = {
    [LAUNCH] = {"launch_s", "s", 3e-7, 4e-4, "of one kernel on the device: launch, first operands, last results"},
    [DISPATCH] =
        {"dispatch_s", "s", 1e-8, 2e-3,
         "that the host needs per product; hidden behind longer kernels. Set to the lower bound for compiled graphs"},
    [PARTIAL_BLOCK] = {"partial_block", "-", 0.2, 5,
                       "dispatch_s of products with k below one scale block (fp8_block: 128), by that of others"},
    [MATRIX_EFFICIENCY] = {"matrix_efficiency", "fraction", 0.1, 1.25,
                           "of the matrix peak inside a tile; above 1 where the clock exceeds that of the peak"},
    [MEMORY_EFFICIENCY] = {"memory_efficiency", "fraction", 0.2, 1.05, "of the off-chip bandwidth that streams reach"},
    [WRITE_COST] = {"write_cost", "-", 0.8, 5, "off-chip time of a byte written, in that of a byte read"},
    [CACHE_EFFICIENCY] = {"cache_efficiency", "fraction", 0.1, 3,
                          "of the shared cache's bandwidth that tile loads reach"},
    [CACHE_FRACTION] = {"cache_fraction", "fraction", 0.02, 1.5, "of the shared cache that operands may keep"},
    [WEIGHT_COPIES] = {"weight_copies", "-", 1, 20, "weight arrays that a benchmark cycles through (KERNEL_WARM)"},
    [RESULT_KEPT] = {"result_kept", "fraction", 0, 1, "of a result that fits the cache and is not written off chip"},
    [OPERAND_SHARING] = {"operand_sharing", "fraction", 0, 0.9,
                         "of the repeated loads of one operand that serve several cores at once (multicast)"},
    [WAVE_SOFTNESS] = {"wave_softness", "fraction", 0, 1,
                       "0 = whole waves of tiles, 1 = cores never wait for the last wave"},
    [STEP] = {"step_s", "s", 1e-9, 1e-5, "of one step along k: wait for operands, multiply, release"},
    [SPLIT] = {"split_s", "s", 1e-7, 1e-4, "to add up the partial sums of a split k"},
    [SPLIT_TRAFFIC] = {"split_traffic", "-", 0.3, 20, "f32 results moved through the cache per element and split"},
    [EXPOSED] = {"exposed", "fraction", 0, 0.6, "of the faster resources' time that the slowest one does not hide"},
    [THROTTLE] = {"throttle", "fraction", 0, 1.5, "by which the power limit stretches products that take milliseconds"},
    [QUANTISE] = {"quantise_s", "s", 1e-8, 2e-4, "to launch the kernel that quantises the activations"},
    [QUANTISE_MEMORY] = {"quantise_memory", "-", 0.02, 5, "rate of that kernel, in the off-chip bandwidth"},
    [QUANTISE_ROW] = {"quantise_row_s", "s", 1e-11, 1e-7, "of that kernel per row of activations"},
};

/* Tiles that libraries ship. Short ones serve few rows of activations, narrow ones few columns. */
static const double tiles[][2] = {{16, 64},  {16, 128},  {32, 64},   {32, 128},  {64, 64},  {64, 128}, {64, 256},
                                  {128, 64}, {128, 128}, {128, 256}, {256, 128}, {256, 64}, {64, 32},  {256, 256}};
enum { TILE_COUNT = sizeof tiles / sizeof tiles[0], SPLIT_MAX = 32 };

/* f32 sums that a core holds: 128 KB, half of the registers (V100 to H100) or of tensor memory (B200). Smaller tiles
 * share a core, up to four. */
static const double core_sums = 32768, resident_max = 4;
/* Largest tile of products on vector lanes. */
static const double vector_tile_area = 128 * 128;
/* Rows of tiles that are worked on side by side, so that the columns of weights they share are read once. */
static const double raster_rows = 32;
static const double throttle_onset_s = 1e-3;
/* Elements of k that share a scale in KERNEL_FORMAT_FP8_BLOCK; libraries take another path for fewer. */
static const double scale_block = 128;

struct product {
  double batch, m, n, k;
  double a_bytes, b_bytes, c_bytes; /* whole operands and result */
  double split_bytes; /* one copy of the result in f32, as moved when sums are split */
  double cores, core_flops, cache_Bps, memory_Bps; /* rates as reached */
  double tile_area, k_step;
  bool is_paired; /* two cores may work on one tile of twice the area */
  double read_bytes, write_bytes; /* off chip, once per operand */
  double memory_bytes; /* the same in bytes read */
  double reread_missing; /* share of the activations that another pass over them does not find in the cache */
  const double *values;
};

/* Share of `bytes` used again and again that a cache of `capacity` keeps. Replacing the least recently used would keep
 * nothing beyond the capacity; hashing and other policies soften that. */
static double kept_share(double bytes, double capacity) {
  if (bytes <= capacity) {
    return 1;
  }
  double share = capacity / bytes;
  return share * share * share * share;
}

static double product_rate(const struct hw_chip *chip, enum kernel_format format, enum dtype *runs_as) {
  double flops = 0;
  return hw_chip_matrix_rate(chip, kernel_format_info(format)->dtype, &flops, runs_as) ? flops : 0;
}

static double cache_rate(const struct hw_chip *chip) {
  return chip->cache_Bps > 0 ? chip->cache_Bps : 3 * chip->memory_Bps;
}

static bool gemm_applies(enum kernel_class class_of, enum kernel_format format, const struct hw_chip *chip) {
  enum dtype runs_as;
  return class_of == KERNEL_GEMM && chip->tile_m > 0 && chip->cores > 0 && chip->memory_Bps > 0
         && product_rate(chip, format, &runs_as) > 0;
}

static void set_traffic(struct product *p, const struct hw_chip *chip, const struct kernel_shape *shape) {
  double capacity = chip->cache_size_bytes * p->values[CACHE_FRACTION];
  double result_kept = p->values[RESULT_KEPT] * kept_share(p->a_bytes + p->b_bytes + p->c_bytes, capacity);
  if (shape->flags & KERNEL_WARM) {
    /* between two uses of A lie one B and one C; between two uses of the same B all copies of B */
    double a_kept = kept_share(p->a_bytes + p->b_bytes + p->c_bytes, capacity);
    double b_kept = kept_share(p->a_bytes + p->values[WEIGHT_COPIES] * p->b_bytes + p->c_bytes, capacity);
    p->read_bytes = p->a_bytes * (1 - a_kept) + p->b_bytes * (1 - b_kept);
  } else {
    p->read_bytes = kernel_greatest(0, p->a_bytes + p->b_bytes - shape->cached_bytes);
  }
  p->read_bytes += shape->extra_bytes;
  p->write_bytes = p->c_bytes * (1 - result_kept);
  p->memory_bytes = p->read_bytes + p->write_bytes * p->values[WRITE_COST];
  p->reread_missing = 1 - kept_share(p->a_bytes / p->batch, capacity);
}

static void set_product(struct product *p, const struct hw_chip *chip, const struct kernel_shape *shape,
                        const double *values) {
  const struct kernel_gemm *gemm = &shape->gemm;
  const struct kernel_format_info *format = kernel_format_info(shape->format);
  enum dtype runs_as = DTYPE_NONE;
  double flops = product_rate(chip, shape->format, &runs_as);
  bool on_lanes = flops <= chip->vector_flops[runs_as];
  p->values = values;
  p->batch = gemm->batch, p->m = gemm->m, p->n = gemm->n, p->k = gemm->k;
  double results = p->batch * p->m * p->n;
  p->a_bytes = p->batch * p->m * p->k * format->a_bytes;
  p->b_bytes = p->batch * p->n * p->k * format->b_bytes;
  p->c_bytes = results * format->c_bytes;
  if (shape->flags & KERNEL_BIAS) {
    p->b_bytes += p->batch * p->n * format->c_bytes;
  }
  p->split_bytes = results * 4 * values[SPLIT_TRAFFIC];
  p->cores = chip->cores;
  p->core_flops = flops / chip->cores * values[MATRIX_EFFICIENCY];
  p->cache_Bps = cache_rate(chip) * values[CACHE_EFFICIENCY];
  p->memory_Bps = chip->memory_Bps * values[MEMORY_EFFICIENCY];
  p->tile_area = kernel_greatest(chip->tile_m * chip->tile_n, tiles[0][0] * tiles[0][1]);
  if (on_lanes) {
    p->tile_area = kernel_least(p->tile_area, vector_tile_area);
  }
  /* a step loads the same bytes in every format: tile_k is in elements of two bytes */
  double narrow = floor(2 / format->a_bytes + 0.5);
  p->k_step = (chip->tile_k > 0 ? chip->tile_k : 32) * kernel_greatest(1, narrow);
  p->is_paired = !on_lanes && chip->matrix_columns >= 256;
  set_traffic(p, chip, shape);
}

/* Times the kernel of one tile size with k in `split` parts; keeps it in `best` when it is done sooner. */
static void try_split(const struct product *p, const double *tile, double cores, double split, double rows,
                      double columns, double memory_s, struct kernel_time *best) {
  const double *values = p->values;
  double area = tile[0] * tile[1];
  double tiles_per_core = rows * columns * p->batch * split / cores;
  double in_waves = tiles_per_core <= 1
                        ? 1
                        : ceil(tiles_per_core) * (1 - values[WAVE_SOFTNESS]) + tiles_per_core * values[WAVE_SOFTNESS];
  double resident = kernel_least(kernel_least(resident_max, kernel_greatest(1, core_sums / area)),
                                 kernel_greatest(1, ceil(tiles_per_core)));
  double rounds = kernel_greatest(1, in_waves / resident);
  double steps = ceil(p->k / split / p->k_step);

  double matrix_s = in_waves * 2 * area * steps * p->k_step / (p->core_flops * (p->cores / cores));
  double step_s = rounds * steps * values[STEP];
  double loads = p->a_bytes * columns + p->b_bytes * rows
                 - values[OPERAND_SHARING] * kernel_greatest(p->a_bytes * (columns - 1), p->b_bytes * (rows - 1));
  double cache_s = (loads + (split > 1 ? p->split_bytes * split : p->c_bytes)) / p->cache_Bps;

  double slowest = kernel_greatest(kernel_greatest(matrix_s, step_s), kernel_greatest(cache_s, memory_s));
  double sum = matrix_s + step_s + cache_s + memory_s;
  double time_s = values[LAUNCH] + slowest + values[EXPOSED] * (sum - slowest) + (split > 1 ? values[SPLIT] : 0);
  if (time_s < best->time_s) {
    best->time_s = time_s;
    best->matrix_s = matrix_s;
    best->cache_s = cache_s;
    best->memory_s = memory_s;
    best->tile_m = tile[0], best->tile_n = tile[1];
    best->split = split;
    best->waves = tiles_per_core;
  }
}

static void try_tile(const struct product *p, const double *tile, struct kernel_time *best) {
  double area = tile[0] * tile[1];
  double cores = p->cores;
  if (area > p->tile_area) {
    if (!p->is_paired || area > 2 * p->tile_area) {
      return;
    }
    cores /= 2;
  }
  double rows = ceil(p->m / tile[0]), columns = ceil(p->n / tile[1]);
  double side_by_side = kernel_least(kernel_least(rows, raster_rows), cores);
  double passes = ceil(columns / kernel_least(columns, kernel_greatest(1, cores / side_by_side)));
  double reread_bytes = p->a_bytes * (passes - 1) * p->reread_missing;
  double memory_s = (p->memory_bytes + reread_bytes) / p->memory_Bps;
  double resident = kernel_least(resident_max, kernel_greatest(1, core_sums / area));
  double before = best->time_s;
  try_split(p, tile, cores, 1, rows, columns, memory_s, best);
  /* splitting pays until there are tiles for all cores, and each part needs two steps */
  for (double split = 2; split <= SPLIT_MAX; split *= 2) {
    if (p->k / split < 2 * p->k_step || rows * columns * p->batch * split / 2 >= cores * resident) {
      break;
    }
    try_split(p, tile, cores, split, rows, columns, memory_s, best);
  }
  if (best->time_s < before) {
    best->off_chip_bytes = p->read_bytes + p->write_bytes + reread_bytes;
  }
}

static double quantise_time(const struct hw_chip *chip, const struct kernel_shape *shape, const double *values) {
  double rows = shape->gemm.batch * shape->gemm.m;
  double moved_bytes = rows * shape->gemm.k * (2 + kernel_format_info(shape->format)->a_bytes);
  return values[QUANTISE] + rows * values[QUANTISE_ROW] + moved_bytes / (chip->memory_Bps * values[QUANTISE_MEMORY]);
}

/* The host's time and the device's overlap; near equality both wait: an 8-norm. */
static double behind_dispatch(double device_s, double dispatch_s) {
  double longer = kernel_greatest(device_s, dispatch_s), ratio = kernel_least(device_s, dispatch_s) / longer;
  double ratio_8 = ratio * ratio;
  ratio_8 *= ratio_8;
  ratio_8 *= ratio_8;
  return longer * sqrt(sqrt(sqrt(1 + ratio_8)));
}

static void gemm_time(const struct hw_chip *chip, const struct kernel_shape *shape, const double *values,
                      struct kernel_time *out) {
  assert(shape->class_of == KERNEL_GEMM);
  struct product p;
  set_product(&p, chip, shape, values);
  struct kernel_time best = {.time_s = INFINITY, .launch_s = values[LAUNCH]};
  for (unsigned t = 0; t < TILE_COUNT; t++) {
    /* of tiles twice as tall as there are rows the shortest is enough */
    if (tiles[t][0] > 16 && tiles[t][0] >= 2 * p.m) {
      continue;
    }
    try_tile(&p, tiles[t], &best);
  }
  double matrix_s = 2 * p.batch * p.m * p.n * p.k / (p.core_flops * p.cores);
  best.time_s += values[THROTTLE] * matrix_s * (matrix_s / (matrix_s + throttle_onset_s));
  if (shape->flags & KERNEL_QUANTISES) {
    best.vector_s = quantise_time(chip, shape, values);
    best.time_s += best.vector_s;
  }
  bool is_partial = shape->format == KERNEL_FORMAT_FP8_BLOCK && p.k < scale_block;
  best.time_s = behind_dispatch(best.time_s, values[DISPATCH] * (is_partial ? values[PARTIAL_BLOCK] : 1));
  *out = best;
}

/* The factors on data-sheet efficiencies allow for the time that `exposed` adds beside them. The rest are round figures
 * near the fits of seven chips (docs/kernels-gemm.md). */
static void gemm_defaults(const struct hw_chip *chip, enum kernel_class class_of, enum kernel_format format,
                          double *values) {
  (void)class_of;
  bool is_paired = chip->matrix_columns >= 256;
  bool is_narrow = kernel_format_info(format)->a_bytes < 2;
  double first_bytes_s = chip->memory_Bps > 0 ? chip->memory_ramp_bytes / chip->memory_Bps : 0;
  const double typical[CONSTANT_COUNT] = {
      [LAUNCH] = chip->launch_s + first_bytes_s,
      [DISPATCH] = constants[DISPATCH].lower,
      [PARTIAL_BLOCK] = 1,
      [MATRIX_EFFICIENCY] = 1.25 * (chip->matrix_efficiency > 0 ? chip->matrix_efficiency : 0.8),
      [MEMORY_EFFICIENCY] = kernel_least(1, 1.08 * (chip->memory_efficiency > 0 ? chip->memory_efficiency : 0.9)),
      [WRITE_COST] = 1.2,
      [CACHE_EFFICIENCY] = 0.8,
      [CACHE_FRACTION] = 0.6,
      [WEIGHT_COPIES] = 9,
      [RESULT_KEPT] = 0.1,
      [OPERAND_SHARING] = is_paired ? 0.9 : 0.5,
      [WAVE_SOFTNESS] = is_paired ? 0.95 : 0.05, /* persistent kernels came with Hopper's clusters */
      [STEP] = chip->clock_Hz > 0 ? 150 / chip->clock_Hz : 8e-8,
      [SPLIT] = is_narrow ? 4.5e-5 : 2.7e-6, /* 8-bit kernels of serving frameworks do not split k */
      [SPLIT_TRAFFIC] = 4,
      [EXPOSED] = 0.22,
      [THROTTLE] = 0.05,
      [QUANTISE] = 2.6e-6,
      [QUANTISE_MEMORY] = 0.45,
      [QUANTISE_ROW] = 7e-7 / kernel_greatest(1, chip->cores),
  };
  for (unsigned i = 0; i < CONSTANT_COUNT; i++) {
    values[i] = kernel_least(constants[i].upper, kernel_greatest(constants[i].lower, typical[i]));
  }
}

const struct kernel_model kernel_gemm_tiled = {
    .name = "gemm_tiled",
    .summary = "output tiles spread over the cores of a GPU, the fastest of a library's kernels",
    .constants = constants,
    .constant_count = CONSTANT_COUNT,
    .applies = gemm_applies,
    .defaults = gemm_defaults,
    .time = gemm_time,
};
