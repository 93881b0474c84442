/* Matrix products on the matrix unit: GPU kernels as tiles and waves, systolic arrays as folds. Shapes come as GEMMs
 * (work_stage_gemm); the choice among kernels is an exhaustive look at a few dozen candidates.
 *
 * Two things hold by construction and are tested. More hardware is never slower: the set of candidates depends on the
 * program and the counts of units alone, each candidate's time falls with every rate, and the one is taken with which the
 * whole task is done first. Larger products are never faster: a product has every candidate that a larger one has, since
 * it may be computed padded to the larger one. Rows that are not aligned are the exception, they cost more. */
#include <math.h>

#include "cost/roofline.h"

/* Operands move in 16-byte pieces: dimensions round up to that many elements (8 at 16 bits, 16 at 8 bits). */
static const double align_bytes = 16;
/* Rows that are no multiple of 4 bytes cannot be loaded asynchronously; "2-4x" in the literature, the lower end because
 * XLA pads where that pays. Multiples of 4 but not 16 bytes load in smaller pieces. */
static const double unaligned_slowdown = 2.0;
static const double half_aligned_slowdown = 1.25;
/* The feed of the library's own large tile takes at most this share of its compute time: balanced by construction, with
 * multicast between cores of a cluster where the level alone would be too slow. */
static const double balance_of_big_tile = 0.9;
static const double split_min_k = 256; /* contraction of one part of a split; shorter ones are computed padded to it */
static const double splits[] = {2, 3, 4, 6, 8, 12, 16, 24, 32};
enum { SPLIT_COUNT = sizeof splits / sizeof splits[0] };
static const double partial_sum_bytes = 4;
/* What a core reads at least before it pays to give work to another one: the operands of the smallest tile at split_min_k. */
static const double least_elements_per_core = (32 + 64) * 256.0;
/* Products with at most so many rows or columns leave most of a matrix unit idle; libraries and compilers then have
 * kernels on the vector lanes as well (matrix times vector, depthwise convolutions). */
static const uint64_t skinny = 8;

static double round_up(double value, double unit) {
  return ceil(value / unit) * unit;
}

static double alignment_slowdown(double extent, double element_bytes) {
  double row_bytes = extent * element_bytes;
  if (fmod(row_bytes, align_bytes) == 0) {
    return 1;
  }
  return fmod(row_bytes, 4) == 0 ? half_aligned_slowdown : unaligned_slowdown;
}

/* Off-chip reads of both operands beyond one each, when they do not stay in the shared level: at any time a block of
 * `block_area` outputs is being computed, as near to square as the result allows, and each block streams its operands. */
static double reread_bytes(const struct roofline_chip *rc, const struct work_gemm *gemm, double element_bytes,
                           double block_area) {
  double m = (double)gemm->m, n = (double)gemm->n, k = (double)gemm->k;
  if ((m + n) * k * element_bytes <= rc->resident_bytes) {
    return 0;
  }
  double side = sqrt(block_area);
  double block_m = fmin(m, side), block_n = fmin(n, side);
  if (block_m < side) {
    block_n = fmin(n, block_area / block_m);
  } else if (block_n < side) {
    block_m = fmin(m, block_area / block_n);
  }
  double extra = m * k * fmax(0, n / block_n - 1) + k * n * fmax(0, m / block_m - 1);
  return extra * element_bytes * (double)gemm->batch;
}

/* Taps of a convolution on padding and on the zeros of dilation are in its GEMM; kernels skip those. */
static double real_share(const struct roofline_product *product) {
  const struct work_gemm *gemm = &product->gemm;
  double dense = 2.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k * (double)gemm->batch * product->passes;
  return dense > 0 ? fmin(1, product->flop_count / dense) : 0;
}

/* How long the task takes when its product runs so. */
static double task_time(const struct roofline_chip *rc, const struct roofline_load *load,
                        const struct roofline_gemm *gemm) {
  double memory_s = load->memory_s + gemm->reread_bytes * rc->memory_s;
  if (load->is_off_chip) {
    memory_s = fmax(memory_s, gemm->memory_floor_s);
  }
  double cache_s = load->cache_s + gemm->cache_bytes * rc->cache_s;
  double slowest = fmax(fmax(gemm->time_s, load->vector_s + gemm->vector_s), fmax(memory_s, cache_s));
  return fmax(slowest, load->other_s) + gemm->extra_launches * rc->launch_s;
}

/* The best candidate so far: shortest task, then the least work. */
struct best {
  const struct roofline_chip *rc;
  const struct roofline_load *load;
  double task_s;
  struct roofline_gemm *gemm;
};

static void offer(struct best *best, const struct roofline_gemm *candidate) {
  double task_s = task_time(best->rc, best->load, candidate);
  if (task_s < best->task_s
      || (task_s == best->task_s
          && candidate->time_s + candidate->vector_s < best->gemm->time_s + best->gemm->vector_s)) {
    best->task_s = task_s;
    *best->gemm = *candidate;
  }
}

void roofline_gemm_tiled(const struct roofline_chip *rc, const struct roofline_product *product,
                         const struct roofline_tile *tile, double split, struct roofline_gemm *out) {
  double m = (double)product->gemm.m, n = (double)product->gemm.n, batch = (double)product->gemm.batch;
  double k = ceil((double)product->gemm.k / split);
  k = round_up(split > 1 ? fmax(k, split_min_k) : k, align_bytes / product->element_bytes);
  double tiles = ceil(m / tile->m) * ceil(n / tile->n) * batch * split;
  double waves = ceil(tiles / rc->cores);
  double balance = fmin(balance_of_big_tile, product->rate * product->element_bytes * rc->feed_s);
  double tile_s = 2 * tile->m * tile->n * k / (product->rate / rc->cores) * fmax(1, balance * tile->feed);
  out->tile_m = tile->m;
  out->tile_n = tile->n;
  out->split = split;
  out->waves = waves;
  out->time_s = waves * tile_s * product->passes + rc->fill_s;
  out->cache_bytes = split > 1 ? 2 * split * m * n * batch * partial_sum_bytes : 0;
  out->extra_launches = split > 1 ? 1 : 0;
}

static void choose_tiled(const struct roofline_chip *rc, const struct roofline_product *product, struct best *best,
                         struct roofline_gemm candidate) {
  const struct work_gemm *gemm = &product->gemm;
  double m = (double)gemm->m, n = (double)gemm->n, k = (double)gemm->k, batch = (double)gemm->batch;
  double element_bytes = product->element_bytes;
  double slowdown =
      fmax(alignment_slowdown(k, element_bytes), gemm->n > 1 && gemm->m > 1 ? alignment_slowdown(n, element_bytes) : 1);
  double share = real_share(product) * slowdown;
  candidate.reread_bytes = reread_bytes(rc, gemm, element_bytes, rc->cores * rc->tile_area);
  if (rc->core_Bps > 0) {
    double bytes = (m * k + n * k + m * n) * batch * element_bytes;
    candidate.memory_floor_s =
        fmax(bytes / rc->cores, fmin(bytes, least_elements_per_core * element_bytes)) / rc->core_Bps;
  }
  for (unsigned i = 0; i < rc->tile_count; i++) {
    const struct roofline_tile *tile = &rc->tiles[i];
    double tiles = ceil(m / tile->m) * ceil(n / tile->n) * batch;
    double most = product->is_alone ? rc->cores / tiles : 1; /* a split fills one wave, as libraries do */
    for (unsigned s = 0; s <= SPLIT_COUNT; s++) {
      double split = s == 0 ? 1 : splits[s - 1];
      if (s > 0 && split > most) {
        break;
      }
      roofline_gemm_tiled(rc, product, tile, split, &candidate);
      candidate.time_s = (candidate.time_s - rc->fill_s) * share + rc->fill_s;
      offer(best, &candidate);
    }
  }
}

double roofline_systolic_cycles(double folds, double m, double rows, double columns, bool is_double_buffered) {
  if (!is_double_buffered) {
    return folds * (2 * rows + columns + m - 2);
  }
  return folds * fmax(m, rows) + rows + columns;
}

/* K on the rows of the array and `columns` of the other operand on its columns; `stream` rows pass through. All arrays of
 * the chip share the folds; the streamed rows may be split as well, so that there is work for all. */
static void systolic_side(const struct roofline_chip *rc, const struct roofline_product *product, double columns,
                          double stream, struct roofline_gemm *out) {
  double folds =
      (double)product->gemm.batch * ceil((double)product->gemm.k / rc->array_rows) * ceil(columns / rc->array_columns);
  for (unsigned i = 0; i < rc->parts_count; i++) {
    double parts = rc->parts[i];
    double per_unit = ceil(folds * parts / rc->matrix_units);
    double cycles = roofline_systolic_cycles(per_unit, ceil(stream / parts), rc->array_rows, rc->array_columns, true);
    if (cycles < out->cycles) {
      out->folds = per_unit;
      out->cycles = cycles;
      out->split = parts;
    }
    if (stream <= parts * rc->array_rows) {
      break; /* shorter streams take as long as these */
    }
  }
}

static void choose_systolic(const struct roofline_chip *rc, const struct roofline_product *product, struct best *best,
                            struct roofline_gemm candidate) {
  /* time of a cycle from the peak rather than the clock: published peaks of some chips are not counts x clock */
  double cycle_s = 2 * rc->array_rows * rc->array_columns * rc->matrix_units / product->rate;
  const struct work_gemm *gemm = &product->gemm;
  candidate.cycles = INFINITY;
  systolic_side(rc, product, (double)gemm->n, (double)gemm->m, &candidate);
  double weight_cycles = candidate.cycles;
  systolic_side(rc, product, (double)gemm->m, (double)gemm->n, &candidate);
  candidate.is_weight_stationary = !(candidate.cycles < weight_cycles);
  candidate.time_s = candidate.cycles * cycle_s * product->passes * real_share(product);
  /* half of the shared level holds the f32 outputs of the block being computed */
  candidate.reread_bytes =
      reread_bytes(rc, gemm, product->element_bytes, fmax(rc->hw->cache_size_bytes / 8, 128.0 * 128.0));
  offer(best, &candidate);
}

void roofline_gemm_choose(const struct roofline_chip *rc, const struct roofline_product *product,
                          const struct roofline_load *load, struct roofline_gemm *out) {
  const struct work_gemm *gemm = &product->gemm;
  *out = (struct roofline_gemm){.split = 1, .passes = product->passes};
  if (!(product->flop_count > 0) || !(product->rate > 0) || !(real_share(product) > 0)) {
    return;
  }
  struct roofline_gemm candidate = *out;
  struct best best = {rc, load, INFINITY, out};
  if (rc->is_tiled) {
    choose_tiled(rc, product, &best, candidate);
  } else {
    choose_systolic(rc, product, &best, candidate);
  }
  if (product->vector_s > 0 && (gemm->m <= skinny || gemm->n <= skinny)) {
    candidate.reread_bytes = out->reread_bytes;
    candidate.memory_floor_s = out->memory_floor_s;
    candidate.vector_s = product->flop_count * product->vector_s;
    offer(&best, &candidate);
  }
  if (!product->is_alone) {
    /* the products of one kernel follow each other, so that what delays one is not hidden behind another */
    out->time_s = fmax(out->time_s, out->vector_s);
    out->vector_s = 0;
  }
  double busy_s = out->time_s + out->vector_s;
  out->efficiency = busy_s > 0 ? product->flop_count / (busy_s * product->rate) : 0;
}

/* The operation of a stage on the matrix unit, or NULL. */
static const struct work_op *matrix_operation(const struct work_graph *graph, const struct work_stage *stage) {
  for (uint32_t i = 0; i < stage->op_count; i++) {
    const struct work_op *op = &graph->ops.data[stage->op_first + i];
    if (op->engine == WORK_ENGINE_MATRIX) {
      return op;
    }
  }
  return NULL;
}

static double matrix_flops_of_stage(const struct work_graph *graph, const struct work_stage *stage) {
  double per_application = 0;
  for (uint32_t i = 0; i < stage->op_count; i++) {
    const struct work_op *op = &graph->ops.data[stage->op_first + i];
    per_application += op->engine == WORK_ENGINE_MATRIX ? (double)op->count : 0;
  }
  uint64_t applications = stage->applications != 0 ? stage->applications : work_stage_applications(graph, stage);
  return per_application * (double)applications;
}

/* Integers wider than the lanes: four products of half the width. */
static double integer_passes(enum dtype wanted, enum dtype as) {
  bool is_split = dtype_class_of(wanted) != DTYPE_CLASS_FLOAT && dtype_bits(wanted) == 64 && dtype_bits(as) < 64;
  return is_split ? 4 : 1;
}

bool roofline_stage_product(const struct roofline_chip *rc, const struct work_graph *graph,
                            const struct work_stage *stage, struct roofline_stage_work *out) {
  const struct work_op *op = matrix_operation(graph, stage);
  *out = (struct roofline_stage_work){.passes = 1};
  if (op == NULL) {
    return false;
  }
  out->wanted = (enum dtype)op->dtype;
  out->runs_as = (enum dtype)rc->matrix_as[op->dtype];
  out->precision = stage->precision;
  out->flop_count = matrix_flops_of_stage(graph, stage);
  out->products = fmax(1, op->count / 2); /* a multiply-add is two operations */
  out->passes = out->products * integer_passes(out->wanted, out->runs_as);
  out->rate = rc->matrix_flops[op->dtype] / integer_passes(out->wanted, out->runs_as);
  if (out->wanted == DTYPE_F32) {
    out->rate = rc->f32_flops[stage->precision];
    out->runs_as = (enum dtype)rc->f32_as[stage->precision];
    out->passes *= rc->f32_passes[stage->precision];
  }
  return out->rate > 0;
}

bool roofline_stage_gemm(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_stage *stage,
                         const struct roofline_load *load, bool is_alone, struct roofline_contraction *out) {
  struct roofline_stage_work work;
  bool is_run = roofline_stage_product(rc, graph, stage, &work);
  *out = (struct roofline_contraction){
      .wanted = work.wanted, .runs_as = work.runs_as, .flop_count = work.flop_count, .gemm = {.split = 1, .passes = 1}};
  if (!is_run) {
    return false;
  }
  struct roofline_product product = {
      .flop_count = work.flop_count,
      .passes = work.products,
      .rate = work.rate,
      .element_bytes = rc->element_bytes[work.wanted],
      .vector_s = dtype_class_of(work.wanted) == DTYPE_CLASS_FLOAT ? rc->vector_s[work.wanted] : 0,
      .is_alone = is_alone,
  };
  bool is_lanes = rc->matrix_on_vector[work.runs_as] && !rc->is_tiled;
  if (!is_lanes && work_stage_gemm(graph, stage, &product.gemm)) {
    roofline_gemm_choose(rc, &product, load, &out->gemm);
  } else {
    out->gemm.time_s = work.flop_count / product.rate;
    out->gemm.efficiency = 1;
  }
  return true;
}
