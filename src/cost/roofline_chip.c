/* A chip as the constants of the roofline's inner loop. All divisions by rates happen here, once per prediction. */
#include <math.h>
#include <string.h>

#include "cost/roofline.h"

/* Cost of a special function in units of one f32 addition, where a chip states no rate: clock cycles of XLA-emitted code
 * on an H100 (add 7, divide 19, exp 79, log 166, rsqrt 75, tanh 467, sine 958; XLA hlo_op_profiles_data.h) / 7. Power is
 * a logarithm, a multiplication and an exponential; erf is a rational approximation of about the length of an
 * exponential and a division; OTHER stands for expm1 (190) and log1p (229). */
static const double function_adds[WORK_FUNCTION_NONE + 1] = {
    [WORK_FUNCTION_EXP] = 79.0 / 7,    [WORK_FUNCTION_LOG] = 166.0 / 7, [WORK_FUNCTION_RSQRT] = 75.0 / 7,
    [WORK_FUNCTION_TANH] = 467.0 / 7,  [WORK_FUNCTION_SIN] = 958.0 / 7, [WORK_FUNCTION_DIVIDE] = 19.0 / 7,
    [WORK_FUNCTION_POWER] = 252.0 / 7, [WORK_FUNCTION_ERF] = 98.0 / 7,  [WORK_FUNCTION_OTHER] = 229.0 / 7,
    [WORK_FUNCTION_NONE] = 1.0,
};

/* Candidate GEMM tiles, the sizes that cuBLAS and CUTLASS ship. */
static const double tile_sizes[ROOFLINE_TILE_COUNT][2] = {{128, 256}, {256, 128}, {128, 128}, {128, 64},
                                                          {64, 128},  {64, 64},   {32, 64}};

static const double resident_share =
    0.8; /* of the shared level: the rest is code, indices and the other kernel's lines */
static const double pipeline_fill_cycles = 1300; /* two trips to DRAM: 571 cycles on A100, 650 on H100 (gpu-benches) */
static const double core_bytes_per_cycle = 32; /* one core's share of the memory path (XLA's GPU cost model) */
static const double gpu_granule_bytes = 32; /* a sector; also one burst of HBM2 and HBM3 */
static const double other_granule_bytes = 64;

static double positive_or(double value, double otherwise) {
  return value > 0 ? value : otherwise;
}

static void matrix_init(struct roofline_chip *rc, const struct cost_options *options) {
  const struct hw_chip *chip = rc->hw;
  /* a long product runs at the clock that the power limit leaves */
  double efficiency = positive_or(chip->matrix_efficiency, 1) * positive_or(chip->sustained_clock_fraction, 1);
  for (unsigned d = DTYPE_NONE + 1; d < DTYPE_COUNT; d++) {
    enum dtype as;
    double flops;
    if (!hw_chip_matrix_rate(chip, (enum dtype)d, &flops, &as) || !(flops > 0)) {
      continue;
    }
    rc->matrix_as[d] = (uint8_t)as;
    rc->matrix_flops[d] = flops * efficiency;
    rc->matrix_on_vector[d] = flops <= chip->vector_flops[as];
  }
  const double passes[] = {1, positive_or(chip->f32_high_passes, 1), positive_or(chip->f32_highest_passes, 1)};
  bool has_f32 = rc->matrix_as[DTYPE_F32] == DTYPE_F32;
  for (unsigned p = WORK_PRECISION_DEFAULT; p <= WORK_PRECISION_HIGHEST; p++) {
    enum dtype as = chip->f32_default_as;
    if (p == WORK_PRECISION_DEFAULT && options != NULL && options->f32_as != DTYPE_NONE) {
      as = options->f32_as;
    }
    /* HIGHEST is f32 itself where something multiplies f32; passes of a narrower type stand in for it elsewhere */
    if (as == DTYPE_NONE || !(rc->matrix_flops[as] > 0) || (p == WORK_PRECISION_HIGHEST && has_f32)) {
      as = DTYPE_F32;
    }
    rc->f32_as[p] = rc->matrix_as[as];
    rc->f32_passes[p] = rc->f32_as[p] == DTYPE_F32 ? 1 : passes[p];
    rc->f32_flops[p] = rc->matrix_flops[as] / rc->f32_passes[p];
  }
}

/* Remarks tell of floating types that run as another one and of those that code or few lanes make far slower than f32:
 * more than ten times, where half the lanes and twice the width make two to four. */
static bool is_vector_noted(const struct roofline_chip *rc, enum dtype dtype) {
  const double far_slower = 10;
  if (dtype_class_of(dtype) != DTYPE_CLASS_FLOAT || rc->vector_as[dtype] == DTYPE_NONE) {
    return false;
  }
  return (rc->vector_as[dtype] != hw_engine_type(dtype) && rc->vector_as[dtype] != dtype)
         || rc->vector_s[dtype] > far_slower * rc->vector_s[DTYPE_F32];
}

static void vector_init(struct roofline_chip *rc) {
  const struct hw_chip *chip = rc->hw;
  double efficiency = positive_or(chip->vector_efficiency, 1);
  double f32 = chip->vector_flops[DTYPE_F32];
  rc->is_vector_known = f32 > 0;
  for (unsigned d = DTYPE_NONE + 1; d < DTYPE_COUNT; d++) {
    enum dtype as;
    double flops;
    if (hw_chip_vector_rate(chip, (enum dtype)d, &flops, &as) && flops > 0) {
      rc->vector_as[d] = (uint8_t)as;
      rc->vector_s[d] = 1 / (flops * efficiency);
      /* rates count a multiply-add as two; an integer operation is one. A type wider than the lanes takes several. */
      double words = dtype_class_of((enum dtype)d) == DTYPE_CLASS_COMPLEX ? 1 : ceil(dtype_bits((enum dtype)d) / 32.0);
      bool is_wide_lane = dtype_bits(as) >= dtype_bits((enum dtype)d);
      rc->integer_s[d] = (is_wide_lane ? 1 : words) * 2 / (flops * efficiency);
    } else if (f32 > 0) {
      rc->integer_s[d] = 2 / (f32 * efficiency);
    }
  }
  for (unsigned d = DTYPE_NONE + 1; d < DTYPE_COUNT; d++) {
    rc->is_vector_noted[d] = is_vector_noted(rc, (enum dtype)d);
  }
  for (unsigned f = 0; f <= WORK_FUNCTION_NONE; f++) {
    double rate = f < HW_FUNCTION_COUNT ? chip->function_rate[f] : 0;
    rc->function_s[f] = rate > 0 ? 1 / rate : f32 > 0 ? function_adds[f] * 2 / f32 : 0;
  }
  /* units for special functions compute f32; f64 ones are code on the f64 lanes */
  double f64 = chip->vector_flops[DTYPE_F64];
  for (unsigned f = 0; f <= WORK_FUNCTION_NONE; f++) {
    rc->function_f64_s[f] = fmax(rc->function_s[f], f64 > 0 ? function_adds[f] * 2 / f64 : 0);
  }
}

/* A tile of tm x tn outputs needs (tm + tn) operand elements per tm tn products, so small tiles wait for the shared level:
 * `feed_s` times the element size, the tile's `feed` and the products is the time that takes. */
static void tiles_init(struct roofline_chip *rc) {
  const struct hw_chip *chip = rc->hw;
  double big = chip->tile_m * chip->tile_n / (chip->tile_m + chip->tile_n);
  rc->tile_area = chip->tile_m * chip->tile_n;
  rc->feed_s = chip->cache_Bps > 0 ? 1 / (2 * big * chip->cache_Bps) : (double)INFINITY;
  for (unsigned i = 0; i < ROOFLINE_TILE_COUNT; i++) {
    double m = tile_sizes[i][0], n = tile_sizes[i][1];
    if (m * n > rc->tile_area) {
      continue;
    }
    rc->tiles[rc->tile_count++] = (struct roofline_tile){m, n, fmax(1, big * (m + n) / (m * n))};
  }
  if (rc->tile_count == 0) {
    rc->tiles[rc->tile_count++] = (struct roofline_tile){chip->tile_m, chip->tile_n, 1};
  }
}

/* Splits of the streamed rows that are tried: about two per octave up to twice the number of arrays, and one part per
 * array. The list does not depend on the product, so that a smaller product has every choice of a larger one. */
static void parts_init(struct roofline_chip *rc) {
  rc->parts[rc->parts_count++] = 1;
  for (double p = 2; p < 2 * rc->matrix_units && rc->parts_count + 3 <= ROOFLINE_PARTS_COUNT; p *= 2) {
    rc->parts[rc->parts_count++] = p;
    rc->parts[rc->parts_count++] = 1.5 * p;
  }
  if (rc->matrix_units > 1) {
    rc->parts[rc->parts_count++] = floor(rc->matrix_units);
  }
}

void roofline_chip_init(struct roofline_chip *rc, const struct hw_chip *chip, const struct cost_options *options) {
  memset(rc, 0, sizeof *rc);
  rc->hw = chip;
  for (unsigned d = DTYPE_NONE + 1; d < DTYPE_COUNT; d++) {
    rc->element_bytes[d] = dtype_storage_bits((enum dtype)d) / 8.0;
  }
  matrix_init(rc, options);
  vector_init(rc);

  rc->cores = positive_or(chip->cores, 1);
  rc->memory_s = chip->memory_Bps > 0 ? 1 / (chip->memory_Bps * positive_or(chip->memory_efficiency, 1)) : 0;
  rc->memory_latency_s = chip->memory_Bps > 0 ? chip->memory_ramp_bytes / chip->memory_Bps : 0;
  rc->cache_s = chip->cache_Bps > 0 ? 1 / chip->cache_Bps : 0;
  rc->resident_bytes = chip->cache_Bps > 0 ? resident_share * chip->cache_size_bytes : 0;
  rc->launch_s = chip->launch_s;
  double clock_Hz = positive_or(chip->clock_Hz, positive_or(chip->matrix_clock_Hz, 1e9));
  rc->is_tiled = chip->tile_m > 0 && chip->tile_n > 0;
  rc->granule_bytes = chip->kind == HW_KIND_GPU ? gpu_granule_bytes : other_granule_bytes;
  rc->core_Bps = chip->kind == HW_KIND_GPU ? core_bytes_per_cycle * clock_Hz : 0;
  rc->fill_s = chip->kind == HW_KIND_GPU ? pipeline_fill_cycles / clock_Hz : 0;
  rc->array_rows = positive_or(chip->matrix_rows, 1);
  rc->array_columns = positive_or(chip->matrix_columns, 1);
  rc->matrix_units = rc->cores * positive_or(chip->matrix_units_per_core, 1);
  if (rc->is_tiled) {
    tiles_init(rc);
  } else {
    parts_init(rc);
  }
  roofline_fits_init(rc);
}
