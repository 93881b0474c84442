/* Matrix products on the matrix unit: GPU kernels as tiles and waves, systolic arrays as folds. Shapes come as GEMMs
 * (work_stage_gemm); the choice among kernels is an exhaustive look at a dozen candidates. */
#include <math.h>

#include "cost/roofline.h"

/* Operands move in 16-byte pieces: dimensions round up to that many elements (8 at 16 bits, 16 at 8 bits). */
static const double align_bytes = 16;
/* Rows that are no multiple of 4 bytes cannot be loaded asynchronously; "2-4x" in the literature, the lower end because
 * XLA pads where that pays. Multiples of 4 but not 16 bytes load in smaller pieces. */
static const double unaligned_slowdown = 2.0;
static const double half_aligned_slowdown = 1.25;
static const double split_min_k = 256; /* contraction left to one part of a split; below, its start-up dominates */
static const double split_max = 32;
static const double partial_sum_bytes = 4;

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

void roofline_gemm_tiled(const struct roofline_chip *rc, const struct work_gemm *gemm, const struct roofline_tile *tile,
                         double split, double rate, double element_bytes, struct roofline_gemm *out) {
  double m = (double)gemm->m, n = (double)gemm->n, batch = (double)gemm->batch;
  double k = round_up(ceil((double)gemm->k / split), align_bytes / element_bytes);
  double tiles = ceil(m / tile->m) * ceil(n / tile->n) * batch * split;
  double waves = ceil(tiles / rc->cores);
  double tile_s = 2 * tile->m * tile->n * k / (rate / rc->cores) * tile->slowdown;
  out->tile_m = tile->m;
  out->tile_n = tile->n;
  out->split = split;
  out->waves = waves;
  out->time_s = waves * tile_s + rc->fill_s;
  out->cache_bytes = split > 1 ? 2 * split * m * n * batch * partial_sum_bytes : 0;
  out->extra_launches = split > 1 ? 1 : 0;
  double active = fmin(tiles, rc->cores);
  double operand_bytes = (m * (double)gemm->k + n * (double)gemm->k + m * n) * batch * element_bytes;
  out->memory_floor_s = rc->core_Bps > 0 ? operand_bytes / (active * rc->core_Bps) : 0;
}

static double candidate_time(const struct roofline_chip *rc, const struct roofline_gemm *gemm) {
  return fmax(gemm->time_s, gemm->memory_floor_s) + gemm->cache_bytes * rc->cache_s
         + gemm->extra_launches * rc->launch_s;
}

static void choose_tiled(const struct roofline_chip *rc, const struct work_gemm *gemm, double rate,
                         double element_bytes, struct roofline_gemm *out) {
  double best_s = INFINITY;
  for (unsigned i = 0; i < rc->tile_count; i++) {
    const struct roofline_tile *tile = &rc->tiles[i];
    struct roofline_gemm candidate = *out;
    roofline_gemm_tiled(rc, gemm, tile, 1, rate, element_bytes, &candidate);
    double time_s = candidate_time(rc, &candidate);
    if (time_s < best_s) {
      best_s = time_s;
      *out = candidate;
    }
    double tiles = ceil((double)gemm->m / tile->m) * ceil((double)gemm->n / tile->n) * (double)gemm->batch;
    double split = fmin(fmin(floor(rc->cores / tiles), floor((double)gemm->k / split_min_k)), split_max);
    if (split < 2) {
      continue;
    }
    roofline_gemm_tiled(rc, gemm, tile, split, rate, element_bytes, &candidate);
    time_s = candidate_time(rc, &candidate);
    if (time_s < best_s) {
      best_s = time_s;
      *out = candidate;
    }
  }
  double slowdown = fmax(alignment_slowdown((double)gemm->k, element_bytes),
                         gemm->n > 1 && gemm->m > 1 ? alignment_slowdown((double)gemm->n, element_bytes) : 1);
  out->time_s = (out->time_s - rc->fill_s) * slowdown + rc->fill_s;
  double concurrent = fmin(rc->cores, ceil((double)gemm->m / out->tile_m) * ceil((double)gemm->n / out->tile_n));
  out->reread_bytes = reread_bytes(rc, gemm, element_bytes, concurrent * out->tile_m * out->tile_n);
}

double roofline_systolic_cycles(double folds, double m, double rows, double columns, bool is_double_buffered) {
  if (!is_double_buffered) {
    return folds * (2 * rows + columns + m - 2);
  }
  return folds * fmax(m, rows) + rows + columns;
}

/* K on the rows of the array and `columns` of the other operand on its columns; `stream` rows pass through. All arrays of
 * the chip share the folds; when there are fewer folds than arrays the streamed rows are split as well. */
static void systolic_time(const struct roofline_chip *rc, double batch, double k, double columns, double stream,
                          double cycle_s, struct roofline_gemm *out) {
  double folds = batch * ceil(k / rc->array_rows) * ceil(columns / rc->array_columns);
  double parts = folds < rc->matrix_units ? fmin(ceil(rc->matrix_units / folds), ceil(stream / 8)) : 1;
  double per_unit = ceil(folds * parts / rc->matrix_units);
  double cycles = roofline_systolic_cycles(per_unit, ceil(stream / parts), rc->array_rows, rc->array_columns, true);
  if (cycles * cycle_s < out->time_s) {
    out->time_s = cycles * cycle_s;
    out->folds = per_unit;
    out->cycles = cycles;
    out->split = parts;
  }
}

static void choose_systolic(const struct roofline_chip *rc, const struct work_gemm *gemm, double rate,
                            double element_bytes, struct roofline_gemm *out) {
  /* time of a cycle from the peak rather than the clock: published peaks of some chips are not counts x clock */
  double cycle_s = 2 * rc->array_rows * rc->array_columns * rc->matrix_units / rate;
  double m = (double)gemm->m, n = (double)gemm->n, k = (double)gemm->k, batch = (double)gemm->batch;
  out->time_s = INFINITY;
  systolic_time(rc, batch, k, n, m, cycle_s, out);
  out->is_weight_stationary = true;
  double weight_s = out->time_s;
  systolic_time(rc, batch, k, m, n, cycle_s, out);
  out->is_weight_stationary = !(out->time_s < weight_s);
  /* half of the shared level holds the f32 outputs of the block being computed */
  out->reread_bytes = reread_bytes(rc, gemm, element_bytes, fmax(rc->hw->cache_size_bytes / 8, 128.0 * 128.0));
}

void roofline_gemm_choose(const struct roofline_chip *rc, const struct work_gemm *gemm, double flop_count, double rate,
                          double element_bytes, struct roofline_gemm *out) {
  *out = (struct roofline_gemm){.split = 1};
  double dense_flop = 2.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k * (double)gemm->batch;
  if (!(dense_flop > 0) || !(rate > 0)) {
    return;
  }
  if (rc->is_tiled) {
    choose_tiled(rc, gemm, rate, element_bytes, out);
  } else {
    choose_systolic(rc, gemm, rate, element_bytes, out);
  }
  /* A convolution's GEMM includes taps on padding and on the zeros of dilation; kernels skip those. */
  double share = fmin(1, flop_count / dense_flop);
  out->time_s = (out->time_s - rc->fill_s * rc->is_tiled) * share + rc->fill_s * rc->is_tiled;
  out->efficiency = flop_count / (out->time_s * rate);
}

static enum dtype matrix_operand_dtype(const struct work_graph *graph, const struct work_stage *stage) {
  for (uint32_t i = 0; i < stage->op_count; i++) {
    const struct work_op *op = &graph->ops.data[stage->op_first + i];
    if (op->engine == WORK_ENGINE_MATRIX) {
      return (enum dtype)op->dtype;
    }
  }
  return DTYPE_NONE;
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

bool roofline_stage_gemm(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_stage *stage,
                         struct roofline_gemm *out, enum dtype *wanted, enum dtype *runs_as, double *flop_count) {
  enum dtype dtype = matrix_operand_dtype(graph, stage);
  if (dtype == DTYPE_NONE) {
    return false;
  }
  *wanted = dtype;
  *flop_count = matrix_flops_of_stage(graph, stage);
  double rate = rc->matrix_flops[dtype];
  *runs_as = (enum dtype)rc->matrix_as[dtype];
  if (dtype == DTYPE_F32) {
    rate = rc->f32_flops[stage->precision];
    *runs_as = (enum dtype)rc->f32_as[stage->precision];
  }
  *out = (struct roofline_gemm){.split = 1};
  if (!(rate > 0)) {
    return false;
  }
  struct work_gemm gemm;
  bool is_vector = rc->matrix_on_vector[*runs_as] && !rc->is_tiled;
  if (!is_vector && work_stage_gemm(graph, stage, &gemm)) {
    roofline_gemm_choose(rc, &gemm, *flop_count, rate, rc->element_bytes[dtype], out);
  } else {
    out->time_s = *flop_count / rate;
    out->efficiency = 1;
  }
  return true;
}
