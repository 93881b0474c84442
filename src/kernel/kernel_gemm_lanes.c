/* Single-precision matrix products on GPUs: on vector lanes, and on matrix units that take f32 without loss (CDNA).
 *
 * A library picks one of a few output tiles; workgroups, one per tile and slice of k, run in waves over the cores. Time is
 * that of the fullest core, joined with what the operands take from the last cache and from off-chip memory; lanes that draw
 * more than the board's limit slow down. docs/kernels-memory.md derives it and states its errors.
 */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/kernel_arithmetic.h"
#include "kernel/kernel_board.h"

enum {
  LANE_EFFICIENCY,
  FEED,
  RAMP_DEPTH,
  RESIDENT,
  HIDE,
  MEMORY_EFFICIENCY,
  CACHE_FRACTION,
  OVERLAP,
  LAUNCH,
  DISPATCH,
  BIAS_DISPATCH,
  SPLIT,
  SPAN,
  ENERGY,
  CONSTANT_COUNT
};

static const struct kernel_constant constants[CONSTANT_COUNT] = {
    [LANE_EFFICIENCY] = {"lane_efficiency", "fraction", 0.3, 1,
                         "of the peak at the clock that the power limit allows, for a tile of any size"},
    [FEED] = {"feed_elements", "-", 0.1, 60,
              "m·n / (m + n) of the tile at which operand fetches take as many issue slots as arithmetic"},
    [RAMP_DEPTH] = {"ramp_depth", "-", 1, 400, "steps of k that filling and writing a tile takes"},
    [RESIDENT] = {"resident_elements", "-", 8192, 131072, "results that the tiles on one core may hold together"},
    [HIDE] = {"hide_elements", "-", 50, 30000, "results in flight on a core at which half its rate is reached"},
    [MEMORY_EFFICIENCY] = {"memory_efficiency", "fraction", 0.4, 1, "of the off-chip bandwidth"},
    [CACHE_FRACTION] = {"cache_fraction", "fraction", 0.05, 1, "of the last cache that keeps an operand between waves"},
    [OVERLAP] = {"overlap", "-", 1.5, 12, "exponent that joins lanes, cache and memory; large = the slowest alone"},
    [LAUNCH] = {"launch_s", "s", 1e-6, 4e-5, "of a benchmark: from the first event to the start of work"},
    [DISPATCH] = {"dispatch_s", "s", 5e-6, 1.5e-4, "of a benchmark: what the host takes for one call"},
    [BIAS_DISPATCH] = {"bias_dispatch_s", "s", 1e-6, 8e-5, "of a benchmark: what a call with a bias takes more"},
    [SPLIT] = {"split_s", "s", 5e-7, 5e-5, "of adding up slices of k"},
    [SPAN] = {"span_bytes", "B", 2e8, 1e11,
              "of operands that the workgroups of a wave reach over at which address translation is half as slow as it "
              "gets"},
    [ENERGY] = {"energy_J", "J", 8e-12, 3e-11, "of one operation at 7 nm and 1.5 GHz, memory and leakage included"},
};

/* Bytes per clock that one core gets from the last cache: half of the 64 of its port; micro-benchmarks give 20 to 37. */
static const double cache_bytes_per_clock = 32;
/* Visible share of the last, partly filled wave: the clock and the cache are better in it. */
static const double tail_share = 0.9;
static const double span_slowdown = 5;
/* Benchmarks repeat a call 25 times; power is limited as an average over about this long. */
static const double burst_s = 0.03, burst_calls = 25;
enum { K_STEP = 8, SHORTEST_SLICE = 64, RESIDENT_MAX = 16 };

struct tile {
  double m, n;
};
/* n is the side of the weights; sizes of kernel names (sgemm_<n>x<m>). */
static const struct tile tiles[] = {
    {32, 32}, {32, 64}, {64, 64}, {32, 128}, {128, 32}, {64, 128}, {128, 128},
};
static const double splits[] = {1, 2, 3, 4, 6, 8, 12, 16};
enum { TILE_COUNT = sizeof tiles / sizeof tiles[0], SPLIT_COUNT = sizeof splits / sizeof splits[0] };

/* Which areas the library has kernels of: names in the measured tables (cuBLAS of CUDA 12.1). Of several rows the first
 * that the chip is of. */
static const struct menu {
  const char *family;
  double single_most, batch_least, batch_most;
} menus[] = {
    {"nvidia_pascal", 4096, 8192, 8192}, {"nvidia_volta", 16384, 1, 4096}, {"nvidia_turing", 16384, 1, 8192},
    {"nvidia_gpu", 16384, 16384, 16384}, {NULL, 16384, 1, 16384},
};

static bool applies(enum kernel_class class_of, enum kernel_format format, const struct hw_chip *chip) {
  double flops = 0;
  enum dtype runs_as = DTYPE_NONE;
  return class_of == KERNEL_GEMM && format == KERNEL_FORMAT_F32 && chip->kind == HW_KIND_GPU && chip->cores > 0
         && hw_chip_matrix_rate(chip, DTYPE_F32, &flops, &runs_as) && flops > 0;
}

/* Fits of the MI210 and of the A100 (PCIe, 40 GB): what a GPU without rows of its own starts from. */
static const struct pooled {
  const char *family;
  double values[CONSTANT_COUNT];
} pooled[] = {
    {"amd_instinct",
     {0.948, 11.9, 1.42, 5.48e+04, 5.05e+03, 0.769, 1, 1.5, 1.96e-05, 3.49e-05, 1.36e-05, 1.87e-05, 1.59e+09,
      1.53e-11}},
    {NULL, {1, 5.63, 3.99, 8.72e+04, 694, 0.855, 0.486, 3.11, 2.08e-05, 3.23e-05, 2.66e-05, 4.29e-05, 1e+11, 1.66e-11}},
};

static void defaults(const struct hw_chip *chip, enum kernel_class class_of, enum kernel_format format,
                     double *values) {
  (void)class_of;
  (void)format;
  const struct pooled *row = pooled;
  while (row->family && !hw_chip_is_a(chip, row->family)) {
    row++;
  }
  for (unsigned i = 0; i < CONSTANT_COUNT; i++) {
    values[i] = row->values[i];
  }
  /* The boards with GDDR correct errors in the same memory: P4 and T4 reach 0.75 of the bandwidth, HBM boards 0.9. */
  if (kernel_has_graphics_memory(chip)) {
    values[MEMORY_EFFICIENCY] = fmin(values[MEMORY_EFFICIENCY], 0.75);
  }
}

/* What does not depend on the tile. */
struct product {
  const struct hw_chip *chip;
  const double *values;
  const struct kernel_format_info *format;
  const struct kernel_gemm *gemm;
  double core_flops, cache_Bps, memory_Bps, resident_cache_bytes;
  double saved_bytes; /* operands on chip already, less what neighbours move */
};

struct estimate {
  double body_s, lanes_s, cache_s, memory_s, waves, off_chip_bytes, split;
  struct tile tile;
};

/* Off-chip bytes: an operand is read once per wave that needs it, as far as the cache does not keep it. */
static double off_chip(const struct product *p, struct tile tile, double split, double in_flight, double columns,
                       double rows) {
  const struct kernel_gemm *g = p->gemm;
  double a = g->m * g->k * p->format->a_bytes, b = g->n * g->k * p->format->b_bytes;
  double down = ceil(g->m / tile.m), across = ceil(g->n / tile.n);
  double products = kernel_clamp(in_flight / (down * across), 1, g->batch);
  double missed_a = kernel_clamp(1 - p->resident_cache_bytes / (a * products), 0, 1);
  double missed_b = kernel_clamp(1 - p->resident_cache_bytes / (b * products), 0, 1);
  double result = g->m * g->n * p->format->c_bytes * (split > 1 ? 1 + split : 1);
  double bytes =
      g->batch
      * (a * (1 + (ceil(across / columns) - 1) * missed_a) + b * (1 + (ceil(down / rows) - 1) * missed_b) + result);
  return fmax(0, bytes - p->saved_bytes);
}

/* Keeps `best` when this choice is faster. */
static void consider(const struct product *p, struct tile tile, double split, struct estimate *best) {
  const double *v = p->values;
  const struct kernel_gemm *g = p->gemm;
  double area = tile.m * tile.n, down = ceil(g->m / tile.m), across = ceil(g->n / tile.n);
  double groups = g->batch * down * across * split, per_core = groups / p->chip->cores, fullest = ceil(per_core);
  double feed = area / (tile.m + tile.n);
  double resident = kernel_clamp(floor(v[RESIDENT] / area), 1, RESIDENT_MAX);
  double share = per_core < 1 ? 1 : per_core + tail_share * (fullest - per_core);
  double in_flight_elements = fmin(fullest, resident) * area;
  double depth = ceil(g->k / split / K_STEP) * K_STEP + v[RAMP_DEPTH];
  double rate = p->core_flops * v[LANE_EFFICIENCY] * feed / (feed + v[FEED]) * in_flight_elements
                / (in_flight_elements + v[HIDE]);
  struct estimate e = {.tile = tile, .split = split, .waves = fullest / resident};
  double extra_s = split > 1 ? v[SPLIT] : 0;
  e.lanes_s = share * 2 * area * depth / rate;
  if (e.lanes_s + extra_s >= best->body_s) {
    return;
  }
  double in_flight = p->chip->cores * resident;
  double columns = fmin(across, in_flight), rows = kernel_clamp(floor(in_flight / columns), 1, down);
  double span = (rows * tile.m + columns * tile.n) * g->k * p->format->a_bytes;
  e.off_chip_bytes = off_chip(p, tile, split, in_flight, columns, rows);
  e.memory_s = e.off_chip_bytes / p->memory_Bps;
  e.cache_s = groups * (tile.m * p->format->a_bytes + tile.n * p->format->b_bytes) * (g->k / split) / p->cache_Bps
              * (1 + span_slowdown * span / (span + v[SPAN]));
  if (fmax(e.memory_s, e.cache_s) + extra_s >= best->body_s) {
    return;
  }
  e.body_s = kernel_join(e.lanes_s, e.cache_s, e.memory_s, v[OVERLAP]) + extra_s;
  if (e.body_s < best->body_s) {
    *best = e;
  }
}

static struct estimate choose(const struct product *p) {
  const struct menu *menu = menus;
  while (menu->family && !hw_chip_is_a(p->chip, menu->family)) {
    menu++;
  }
  bool is_batch = p->gemm->batch > 1;
  double least = is_batch ? menu->batch_least : 1, most = is_batch ? menu->batch_most : menu->single_most;
  double split_most = is_batch ? 1 : fmax(1, p->gemm->k / SHORTEST_SLICE);
  struct estimate best = {.body_s = INFINITY};
  for (int t = TILE_COUNT - 1; t >= 0; t--) {
    double area = tiles[t].m * tiles[t].n;
    for (unsigned s = 0; area >= least && area <= most && s < SPLIT_COUNT && splits[s] <= split_most; s++) {
      consider(p, tiles[t], splits[s], &best);
    }
  }
  return best;
}

/* How much longer lanes and cache take at clock fraction x; a short benchmark is over before the limit acts. */
static double slowdown(double time_s, double x, bool is_benchmark) {
  double whole = time_s * burst_calls;
  double limited = is_benchmark ? fmax(0, whole - burst_s) / whole : 1;
  return 1 + limited * (1 / x - 1);
}

static void time_product(const struct hw_chip *chip, const struct kernel_shape *shape, const double *v,
                         struct kernel_time *out) {
  bool is_benchmark = shape->flags & KERNEL_WARM;
  double flops = 0, launch_s = is_benchmark ? v[LAUNCH] : chip->launch_s, clock = kernel_vector_clock_Hz(chip);
  enum dtype runs_as;
  hw_chip_matrix_rate(chip, DTYPE_F32, &flops, &runs_as);
  struct product p = {
      .chip = chip,
      .values = v,
      .format = kernel_format_info(shape->format),
      .gemm = &shape->gemm,
      .core_flops = flops / chip->cores,
      .cache_Bps = clock > 0 ? chip->cores * clock * cache_bytes_per_clock : fmax(chip->cache_Bps, chip->memory_Bps),
      .memory_Bps = chip->memory_Bps * v[MEMORY_EFFICIENCY],
      .resident_cache_bytes = chip->cache_size_bytes * v[CACHE_FRACTION],
      .saved_bytes = shape->cached_bytes - shape->extra_bytes,
  };
  struct estimate e = choose(&p);
  double time_s = e.body_s + launch_s, x = kernel_sustained_clock(chip, v[ENERGY]);
  if (x < 1) {
    double lanes = pow(e.lanes_s / e.body_s, v[OVERLAP]) + pow(e.cache_s / e.body_s, v[OVERLAP]);
    double share = lanes / (lanes + pow(e.memory_s / e.body_s, v[OVERLAP]));
    time_s *= 1 + share * (slowdown(time_s, x, is_benchmark) - 1);
  }
  if (is_benchmark) {
    time_s = fmax(time_s, v[DISPATCH] + (shape->flags & KERNEL_BIAS ? v[BIAS_DISPATCH] : 0));
  }
  *out = (struct kernel_time){.time_s = time_s,
                              .vector_s = e.lanes_s,
                              .memory_s = e.memory_s,
                              .cache_s = e.cache_s,
                              .launch_s = launch_s,
                              .off_chip_bytes = e.off_chip_bytes,
                              .tile_m = e.tile.m,
                              .tile_n = e.tile.n,
                              .split = e.split,
                              .waves = e.waves};
}

const struct kernel_model kernel_gemm_lanes = {
    .name = "gemm_lanes",
    .summary = "f32 products on lanes: tiles, waves, split k, operand traffic, power limit",
    .constants = constants,
    .constant_count = CONSTANT_COUNT,
    .applies = applies,
    .defaults = defaults,
    .time = time_product,
};
