/* Fused attention (softmax(Q Kᵀ) V in one kernel): prefill and decode steps. Path: shape and chip → here → measure, cost.
 *
 * A thread block takes a tile of queries of one head and walks over the tiles of keys that the tile may see: two matrix
 * products and one exponential per score. Prefill counts those key tiles exactly and spreads the blocks over the cores;
 * decode has one block per sequence and key head, or several that split the keys and add up their results. What the
 * blocks move comes on top, as do the kernels around the attention proper that serving frameworks run with it (KERNEL_WARM):
 * the new keys and values are written into the paged cache. docs/kernels-attention.md derives it and states its errors.
 */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/kernel_arithmetic.h"

enum {
  LAUNCH,
  BLOCK_START,
  SINGLE_START,
  MATRIX_EFFICIENCY,
  EXP_EFFICIENCY,
  SOFTMAX_OVERLAP,
  STEP,
  TAIL,
  MEMORY_EFFICIENCY,
  MEMORY_OVERLAP,
  CACHE_SHARE,
  APPEND,
  APPEND_PASSES,
  WINDOW,
  WIDE_RATIO,
  GENERIC_EFFICIENCY,
  REDUCE,
  SPLIT_FILL,
  SPLIT_LIMIT,
  REGROUP,
  TILE_QUERIES,
  TILE_KEYS,
  SCHEME,
  GENERIC_HEADS,
  CONSTANT_COUNT
};

/* How a kernel shares out heads: values of SCHEME. */
enum scheme {
  SCHEME_GROUPED, /* query heads of one key head fill a tile together when a head's queries do not */
  SCHEME_SEPARATE, /* every query head has its own tiles, except for a single query */
  SCHEME_SWAPPED, /* grouped and split only for single queries of several heads without a window (FlashAttention-2) */
  SCHEME_UNSKIPPED, /* separate, and prefill walks over the keys before the window as well, masked */
  SCHEME_COUNT
};

/* Heads that a slower general kernel computes: bits of GENERIC_HEADS. */
enum { GENERIC_UNEVEN = 1 /* sizes that are no power of two */, GENERIC_LARGE = 2 /* above 256 */ };

static const struct kernel_constant constants[CONSTANT_COUNT] = {
    [LAUNCH] = {"launch_s", "s", 1e-7, 1e-4, "of attention and the small kernels around it"},
    [BLOCK_START] = {"block_start_s", "s", 1e-8, 1e-4, "of a thread block: loads the queries, stores the result"},
    [SINGLE_START] = {"single_start_s", "s", 1e-8, 1e-4, "the same in prefill where each sequence has one query"},
    [MATRIX_EFFICIENCY] = {"matrix_efficiency", "fraction", 0.02, 1, "of the matrix peak inside a tile"},
    [EXP_EFFICIENCY] = {"exp_efficiency", "fraction", 0.02, 3,
                        "of the exponentials' rate; above 1 where part of them is computed as polynomials"},
    [SOFTMAX_OVERLAP] = {"softmax_overlap", "fraction", 0.01, 1,
                         "of the shorter of products and softmax that is hidden"},
    [STEP] = {"step_s", "s", 1e-9, 1e-4, "per tile of keys that a block on its own adds in waiting"},
    [TAIL] = {"tail", "fraction", 0.01, 2, "of the longest block for which cores wait at the end"},
    [MEMORY_EFFICIENCY] = {"memory_efficiency", "fraction", 0.05, 1, "of the off-chip bandwidth"},
    [MEMORY_OVERLAP] = {"memory_overlap", "fraction", 0.01, 1, "of the shorter of blocks and transfers that is hidden"},
    [CACHE_SHARE] = {"cache_share", "fraction", 0.02, 2, "of the shared cache that repeated operands may fill"},
    [APPEND] = {"append_s", "s", 1e-8, 1e-4, "that 2048 threads take to write their tokens into the cache of keys"},
    [APPEND_PASSES] = {"append_passes", "-", 1, 8, "times that new keys and values are read and written for it"},
    [WINDOW] = {"window_s", "s", 1e-9, 1e-4, "that a sliding window adds"},
    [WIDE_RATIO] = {"wide_ratio", "-", 0.1, 1.5, "matrix efficiency for heads above 128, in that of heads up to 128"},
    [GENERIC_EFFICIENCY] = {"generic_efficiency", "fraction", 0.001, 1, "of the matrix peak in the general kernel"},
    [REDUCE] = {"reduce_s", "s", 1e-8, 1e-4, "to start the reduction of split keys (decode)"},
    [SPLIT_FILL] = {"split_fill", "-", 0.1, 8, "blocks per core that splitting aims at (decode)"},
    [SPLIT_LIMIT] = {"split_limit", "-", 1, 512, "parts that keys are split into at most (decode)"},
    [REGROUP] = {"regroup_s", "s", 1e-9, 1e-4, "to reorder queries by key head (decode, scheme 2)"},
    [TILE_QUERIES] = {"tile_queries", "choice", 16, 512, "rows of a tile"},
    [TILE_KEYS] = {"tile_keys", "choice", 16, 512, "columns of a tile; divides tile_queries in prefill"},
    [SCHEME] = {"scheme", "choice", 0, SCHEME_COUNT - 1,
                "0 grouped heads, 1 separate, 2 grouped for full single queries, 3 separate and no tile skipped"},
    [GENERIC_HEADS] = {"generic_heads", "choice", 0, 3,
                       "in the general kernel: 1 no power of two, 2 above 256, 3 both"},
};

/* Tile of the general kernel: 16 rows of grouped queries, 32 keys. */
static const double generic_rows = 16, generic_keys = 32;
/* A core keeps 2048 threads; one block of at most 512 threads writes one token into the cache of keys and values. */
static const double core_threads = 2048, append_threads = 512;
/* Of the shared cache's bandwidth, what streams reach. */
static const double cache_efficiency = 0.5;
/* Beyond any real extent; keeps products of five extents finite. */
static const double extent_max = 1e18;

/* Choices are whole numbers; a fit that moves them a little changes nothing. */
static double choice(double value, unsigned constant) {
  return kernel_clamp(floor(value + 0.5), constants[constant].lower, constants[constant].upper);
}

struct attention {
  double batch, queries, context, heads, kv_heads, head_dim;
  double window; /* keys a query sees at most, <= context */
  double past; /* keys before the first query */
  bool is_causal, has_window, is_generic;
  enum scheme scheme;
  double tile_queries, tile_keys;
  double a_bytes, b_bytes, c_bytes;
};

/* What the blocks of a launch do, in tiles of `tile_queries` x `tile_keys`. */
struct blocks {
  double count;
  double tiles; /* key tiles of all blocks */
  double longest; /* of one block */
  double tile_queries, tile_keys, start_s;
};

static double extent(double value) {
  return kernel_clamp(value, 1, extent_max);
}

static void read_shape(const struct kernel_shape *shape, const double *values, struct attention *a) {
  const struct kernel_attention *in = &shape->attention;
  const struct kernel_format_info *format = kernel_format_info(shape->format);
  a->batch = extent(in->batch);
  a->queries = extent(in->queries);
  a->context = kernel_greatest(extent(in->context), a->queries);
  a->heads = extent(in->heads);
  a->kv_heads = kernel_least(extent(in->kv_heads), a->heads);
  a->head_dim = extent(in->head_dim);
  a->has_window = in->window > 0;
  a->window = a->has_window ? kernel_least(extent(in->window), a->context) : a->context;
  a->past = a->context - a->queries;
  a->is_causal = in->is_causal;
  a->scheme = (enum scheme)choice(values[SCHEME], SCHEME);
  a->tile_queries = choice(values[TILE_QUERIES], TILE_QUERIES);
  a->tile_keys = choice(values[TILE_KEYS], TILE_KEYS);
  a->a_bytes = format->a_bytes;
  a->b_bytes = format->b_bytes;
  a->c_bytes = format->c_bytes;
  unsigned generic = (unsigned)choice(values[GENERIC_HEADS], GENERIC_HEADS);
  bool is_uneven = exp2(ceil(log2(a->head_dim))) != a->head_dim;
  a->is_generic =
      ((generic & GENERIC_UNEVEN) != 0 && is_uneven) || ((generic & GENERIC_LARGE) != 0 && a->head_dim > 256);
}

/* Key tiles of the blocks of one head. Tile i of queries ends at key min(context, past + (i + 1) tile_queries) and, with a
 * window, begins at key past + i tile_queries + 1 - window: both sums are arithmetic as tile_keys divides tile_queries.
 * Without causality every tile ends at the last key. */
static void count_tiles(const struct attention *a, struct blocks *out) {
  double size = a->tile_queries;
  double ratio = kernel_greatest(1, floor(size / a->tile_keys + 0.5)), keys = size / ratio;
  double window = a->scheme == SCHEME_UNSKIPPED ? a->context : a->window;
  double count = ceil(a->queries / size), last = count - 1;
  double end_last = ceil(a->context / keys);
  double end_first = a->is_causal ? ceil((a->past + size) / keys) : end_last, slope = a->is_causal ? ratio : 0;
  double shift = a->past + 1 - window; /* first key of tile 0, from 0; negative: none is left out */
  double skipping = shift < 0 ? ceil(-shift / size) : 0; /* first tile that leaves keys out */
  double skipped_first = floor(shift / keys), skippers = kernel_greatest(0, count - skipping);
  double ends = last * end_first + slope * last * (last - 1) / 2 + end_last;
  double begins = 0;
  if (skippers > 0) {
    begins = skippers * skipped_first + ratio * (count * last - skipping * (skipping - 1)) / 2;
  }
  /* a tile sees most just before or where the window starts to cut, or is the last */
  const double candidates[] = {last, kernel_clamp(skipping - 1, 0, kernel_greatest(0, last - 1)),
                               kernel_clamp(skipping, 0, kernel_greatest(0, last - 1))};
  double longest = 1;
  for (unsigned c = 0; c < sizeof candidates / sizeof candidates[0]; c++) {
    double i = candidates[c];
    double end = i >= last ? end_last : end_first + i * slope;
    longest = kernel_greatest(longest, end - (i >= skipping ? skipped_first + i * ratio : 0));
  }
  out->count = count;
  out->tiles = kernel_greatest(count, ends - begins);
  out->longest = longest;
  out->tile_queries = size;
  out->tile_keys = keys;
}

/* Keys that one query sees on average. */
static double mean_keys(const struct attention *a) {
  if (!a->is_causal) {
    return a->window;
  }
  double growing = kernel_clamp(a->window - a->past, 0, a->queries); /* queries that the window does not cut */
  double pairs = growing * a->past + growing * (growing + 1) / 2 + (a->queries - growing) * a->window;
  return pairs / a->queries;
}

static void share_out(const struct attention *a, const double *values, struct blocks *out) {
  double group_rows = a->queries * (a->heads / a->kv_heads);
  if (a->is_generic) {
    out->count = a->batch * a->kv_heads * ceil(group_rows / generic_rows);
    out->longest = a->window / generic_keys + 0.5;
    out->tiles = out->count * (mean_keys(a) / generic_keys + 0.5);
    out->tile_queries = generic_rows;
    out->tile_keys = generic_keys;
    out->start_s = (a->queries > 1 ? values[BLOCK_START] : values[SINGLE_START]) * generic_rows / a->tile_queries;
    return;
  }
  count_tiles(a, out);
  bool is_grouped = a->queries < a->tile_queries && (a->scheme == SCHEME_GROUPED || a->queries <= 1);
  if (a->scheme == SCHEME_SWAPPED && a->has_window) {
    is_grouped = false;
  }
  double heads = is_grouped ? a->kv_heads * ceil(group_rows / a->tile_queries) : a->heads;
  out->count *= a->batch * heads;
  out->tiles *= a->batch * heads;
  out->start_s = a->queries > 1 ? values[BLOCK_START] : values[SINGLE_START];
}

static double matrix_rate(const struct hw_chip *chip, enum kernel_format format) {
  double flops = 0;
  enum dtype runs_as;
  enum dtype dtype = kernel_format_info(format)->dtype;
  if (hw_chip_matrix_rate(chip, dtype, &flops, &runs_as) && flops > 0) {
    return flops;
  }
  return hw_chip_vector_rate(chip, dtype, &flops, &runs_as) ? flops : 0;
}

/* Matrix rate of one core inside a tile. On systolic arrays the head is the depth of the first product and the width of
 * the second one: a head narrower than the array leaves part of it idle. */
static double core_rate(const struct hw_chip *chip, enum kernel_format format, const struct attention *a,
                        const double *values) {
  double efficiency = values[MATRIX_EFFICIENCY] * (a->head_dim > 128 ? values[WIDE_RATIO] : 1);
  if (a->is_generic) {
    efficiency = values[GENERIC_EFFICIENCY];
  }
  if (chip->kind != HW_KIND_GPU && chip->matrix_columns > 0) {
    efficiency *= kernel_least(1, a->head_dim / chip->matrix_columns);
  }
  return matrix_rate(chip, format) / kernel_greatest(1, chip->cores) * efficiency;
}

static double exp_rate(const struct hw_chip *chip) {
  double rate = chip->function_rate[HW_FUNCTION_EXP];
  return rate > 0 ? rate : chip->vector_flops[DTYPE_F32] / 8;
}

struct traffic {
  double once_s; /* keys, values, queries and result, once */
  double append_s; /* new keys and values into the cache, a kernel of its own */
  double cache_s, off_chip_bytes;
};

static void move(const struct hw_chip *chip, const struct kernel_shape *shape, const struct attention *a,
                 const double *values, struct traffic *out) {
  double seen = kernel_least(a->window - 1 + a->queries, a->context);
  double key_bytes = 2 * a->batch * a->kv_heads * seen * a->head_dim * a->b_bytes;
  double query_bytes = a->batch * a->heads * a->queries * a->head_dim * (a->a_bytes + a->c_bytes);
  double bytes = key_bytes + query_bytes;
  double memory_Bps = chip->memory_Bps * values[MEMORY_EFFICIENCY];
  double cache_Bps = kernel_greatest(chip->cache_Bps * cache_efficiency, memory_Bps);
  double cached_bytes = kernel_clamp(shape->cached_bytes, 0, bytes), off_chip_bytes = bytes - cached_bytes;
  out->append_s = 0;
  if (shape->flags & KERNEL_WARM) {
    /* what exceeds the capacity soon displaces everything: least recently used goes first */
    double fill = bytes / (values[CACHE_SHARE] * kernel_greatest(1, chip->cache_size_bytes)), square = fill * fill;
    double hit = 1 / (1 + square * square);
    cached_bytes = hit * bytes;
    off_chip_bytes = bytes - cached_bytes;
    double tokens = a->batch * a->queries, elements = a->kv_heads * a->head_dim;
    double append_bytes = 2 * tokens * elements * (a->a_bytes + a->b_bytes) * values[APPEND_PASSES];
    double threads = tokens * kernel_least(append_threads, elements);
    out->append_s = append_bytes * ((1 - hit) / memory_Bps + hit / cache_Bps)
                    + threads / core_threads * values[APPEND] / kernel_greatest(1, chip->cores);
  } else {
    off_chip_bytes += kernel_clamp(shape->extra_bytes, 0, 1e300);
  }
  out->off_chip_bytes = off_chip_bytes;
  out->cache_s = cached_bytes / cache_Bps;
  out->once_s = off_chip_bytes / memory_Bps + out->cache_s;
}

static double beside(double blocks_s, double transfer_s, double overlap) {
  return kernel_greatest(blocks_s, transfer_s) + (1 - overlap) * kernel_least(blocks_s, transfer_s);
}

/* `count` blocks over the cores: all work shared evenly plus the end, when cores wait for the last blocks. */
static double spread(double total_s, double longest_s, double count, double cores, double tail) {
  return kernel_greatest(longest_s, total_s / cores + tail * longest_s * (1 - kernel_least(1, cores / count)));
}

static void prefill_time(const struct hw_chip *chip, const struct kernel_shape *shape, const struct attention *a,
                         const double *values, const struct traffic *traffic, struct kernel_time *out) {
  struct blocks b;
  share_out(a, values, &b);
  double cores = kernel_greatest(1, chip->cores), area = b.tile_queries * b.tile_keys;
  double products_s = 4 * area * a->head_dim / core_rate(chip, shape->format, a, values);
  double softmax_s = area * cores / (exp_rate(chip) * values[EXP_EFFICIENCY]);
  double tile_s = beside(products_s, softmax_s, values[SOFTMAX_OVERLAP]);
  double wait_s = values[STEP] * (a->is_generic ? b.tile_keys / a->tile_keys : 1);
  double longest_s = b.longest * (tile_s + wait_s) + b.start_s;
  double blocks_s = spread(b.tiles * tile_s + b.count * b.start_s, longest_s, b.count, cores, values[TAIL]);
  out->time_s += beside(blocks_s, traffic->once_s, values[MEMORY_OVERLAP]);
  out->matrix_s = b.tiles * products_s / cores;
  out->vector_s = b.tiles * softmax_s / cores;
  out->tile_m = b.tile_queries;
  out->tile_n = b.tile_keys;
  out->split = 1;
  out->waves = b.count / cores;
}

/* One way of splitting the keys of a decode step. */
struct decode {
  double blocks, tiles; /* per launch without splitting; key tiles of one such block */
  double tile_s, cores, transfer_s;
};

static double split_time(const struct decode *d, double split, const double *values) {
  double tiles = d->tiles / split, count = d->blocks * split;
  double block_s = values[BLOCK_START] + tiles * d->tile_s, longest_s = block_s + tiles * values[STEP];
  double blocks_s = spread(block_s * count, longest_s, count, d->cores, values[TAIL]);
  return beside(blocks_s, d->transfer_s, values[MEMORY_OVERLAP]);
}

static void decode_time(const struct hw_chip *chip, const struct kernel_shape *shape, const struct attention *a,
                        const double *values, const struct traffic *traffic, struct kernel_time *out) {
  double group = a->heads / a->kv_heads;
  bool is_windowed = a->scheme == SCHEME_SWAPPED && a->has_window;
  bool is_split = a->scheme != SCHEME_SWAPPED || (!a->has_window && group > 1);
  struct decode d = {.cores = kernel_greatest(1, chip->cores), .transfer_s = traffic->once_s};
  double heads = is_windowed ? a->heads * ceil(a->queries / a->tile_queries)
                             : a->kv_heads * ceil(a->queries * group / a->tile_queries);
  d.blocks = a->batch * heads;
  d.tiles = kernel_greatest(1, ceil(a->context / a->tile_keys) - floor((a->context - a->window) / a->tile_keys));
  d.tile_s = 4 * a->tile_queries * a->tile_keys * a->head_dim / core_rate(chip, shape->format, a, values);
  double split = 1, best_s = split_time(&d, 1, values);
  if (is_split) {
    double parts = kernel_clamp(kernel_least(values[SPLIT_FILL] * d.cores / d.blocks, values[SPLIT_LIMIT]), 1, d.tiles);
    /* parts are f32 rows, written and read through the cache */
    double part_bytes = 8 * a->batch * a->heads * a->queries * a->head_dim * parts;
    double cache_Bps = kernel_greatest(chip->cache_Bps, chip->memory_Bps);
    double parts_s = split_time(&d, parts, values) + values[REDUCE] + part_bytes / cache_Bps;
    if (parts > 1 && parts_s < best_s) {
      best_s = parts_s;
      split = parts;
    }
  }
  bool is_regrouped = a->scheme == SCHEME_SWAPPED && !a->has_window && group > 1 && a->batch > 1 && a->kv_heads > 1;
  out->time_s += best_s + (is_regrouped && (shape->flags & KERNEL_WARM) ? values[REGROUP] : 0);
  out->matrix_s = d.blocks * d.tiles * d.tile_s / d.cores;
  out->tile_m = a->tile_queries;
  out->tile_n = a->tile_keys;
  out->split = split;
  out->waves = d.blocks * split / d.cores;
}

static void attention_time(const struct hw_chip *chip, const struct kernel_shape *shape, const double *values,
                           struct kernel_time *out) {
  struct attention a;
  read_shape(shape, values, &a);
  struct traffic traffic;
  move(chip, shape, &a, values, &traffic);
  double window_s = a.window < a.context ? values[WINDOW] : 0;
  *out = (struct kernel_time){.time_s = values[LAUNCH] + window_s + traffic.append_s, .launch_s = values[LAUNCH]};
  if (shape->class_of == KERNEL_ATTENTION_DECODE) {
    decode_time(chip, shape, &a, values, &traffic, out);
  } else {
    prefill_time(chip, shape, &a, values, &traffic, out);
  }
  out->memory_s = traffic.once_s + traffic.append_s - traffic.cache_s;
  out->cache_s = traffic.cache_s;
  out->off_chip_bytes = traffic.off_chip_bytes;
}

static bool attention_applies(enum kernel_class class_of, enum kernel_format format, const struct hw_chip *chip) {
  return (class_of == KERNEL_ATTENTION_PREFILL || class_of == KERNEL_ATTENTION_DECODE) && chip->missing == NULL
         && chip->memory_Bps > 0 && exp_rate(chip) > 0 && matrix_rate(chip, format) > 0;
}

/* The kernels that a family's back end launches. The first row that fits is used. Source: public kernels
 * (FlashAttention-2 and -3, FlashInfer and TensorRT-LLM, SYCL), decided among them by the fit of training rows. */
struct back_end {
  const char *family; /* NULL = every chip */
  bool is_for_8bit; /* keys and values in 8 bits; false = all other formats */
  uint16_t prefill_queries, prefill_keys, decode_queries, decode_keys;
  uint8_t prefill_scheme, decode_scheme, generic_heads;
};
static const struct back_end back_ends[] = {
    {"nvidia_hopper", false, 128, 128, 64, 128, SCHEME_GROUPED, SCHEME_GROUPED, GENERIC_LARGE},
    {"nvidia_hopper", true, 128, 128, 64, 128, SCHEME_GROUPED, SCHEME_GROUPED, 0},
    {"nvidia_blackwell", false, 128, 128, 16, 128, SCHEME_SEPARATE, SCHEME_GROUPED, GENERIC_LARGE},
    {"nvidia_blackwell", true, 128, 128, 16, 64, SCHEME_SEPARATE, SCHEME_GROUPED, GENERIC_UNEVEN},
    {"nvidia_ada", false, 64, 32, 16, 128, SCHEME_SEPARATE, SCHEME_SWAPPED, 0},
    {"nvidia_ada", true, 64, 64, 16, 128, SCHEME_GROUPED, SCHEME_GROUPED, GENERIC_UNEVEN},
    {"nvidia_ampere", false, 64, 64, 64, 128, SCHEME_SEPARATE, SCHEME_SWAPPED, 0},
    {"intel_xe2", false, 64, 64, 64, 128, SCHEME_UNSKIPPED, SCHEME_GROUPED, 0},
    {"intel_xe2", true, 64, 64, 16, 128, SCHEME_UNSKIPPED, SCHEME_GROUPED, 0},
    {NULL, false, 128, 128, 64, 128, SCHEME_GROUPED, SCHEME_GROUPED, 0},
    {NULL, true, 128, 128, 64, 128, SCHEME_GROUPED, SCHEME_GROUPED, 0},
};

static const struct back_end *find_back_end(const struct hw_chip *chip, enum kernel_format format) {
  bool is_for_8bit = kernel_format_info(format)->b_bytes <= 1;
  const struct back_end *row = back_ends;
  while (row->is_for_8bit != is_for_8bit || (row->family != NULL && !hw_chip_is_a(chip, row->family))) {
    row++;
  }
  return row;
}

/* Beside the exponential a score takes maximum, subtraction, sum, scale and two conversions on the vector lanes. */
static const double softmax_vector_operations = 6;

static void attention_defaults(const struct hw_chip *chip, enum kernel_class class_of, enum kernel_format format,
                               double *values) {
  const struct back_end *row = find_back_end(chip, format);
  bool is_decode = class_of == KERNEL_ATTENTION_DECODE;
  /* a few large cores walk over tiles without starting threads */
  double start_s = chip->kind == HW_KIND_GPU ? 2e-6 : 2e-7;
  double vector_rate = kernel_greatest(1, chip->vector_flops[DTYPE_F32]);
  const double typical[CONSTANT_COUNT] = {
      [LAUNCH] = 6 * chip->launch_s,
      [BLOCK_START] = is_decode ? start_s / 2 : start_s,
      [SINGLE_START] = start_s / 2,
      [MATRIX_EFFICIENCY] = chip->matrix_efficiency > 0 ? 0.95 * chip->matrix_efficiency : 0.75,
      [EXP_EFFICIENCY] = 1 / (1 + softmax_vector_operations * exp_rate(chip) / vector_rate),
      [SOFTMAX_OVERLAP] = 0.7,
      [STEP] = start_s / 10,
      [TAIL] = 0.7,
      [MEMORY_EFFICIENCY] = chip->memory_efficiency > 0 ? chip->memory_efficiency : 0.85,
      [MEMORY_OVERLAP] = 0.6,
      [CACHE_SHARE] = 0.6,
      [APPEND] = start_s,
      [APPEND_PASSES] = 1,
      [WINDOW] = start_s / 2,
      [WIDE_RATIO] = 1,
      [GENERIC_EFFICIENCY] = 0.1,
      [REDUCE] = start_s,
      [SPLIT_FILL] = 1,
      [SPLIT_LIMIT] = 20,
      [REGROUP] = 5 * chip->launch_s,
      [TILE_QUERIES] = is_decode ? row->decode_queries : row->prefill_queries,
      [TILE_KEYS] = is_decode ? row->decode_keys : row->prefill_keys,
      [SCHEME] = is_decode ? row->decode_scheme : row->prefill_scheme,
      [GENERIC_HEADS] = row->generic_heads,
  };
  for (unsigned i = 0; i < CONSTANT_COUNT; i++) {
    values[i] = kernel_clamp(typical[i], constants[i].lower, constants[i].upper);
  }
}

const struct kernel_model kernel_attention = {
    .name = "attention",
    .summary = "tiles of queries and keys on cores, split keys in decode, and the key cache around them",
    .constants = constants,
    .constant_count = CONSTANT_COUNT,
    .applies = attention_applies,
    .defaults = attention_defaults,
    .time = attention_time,
};
