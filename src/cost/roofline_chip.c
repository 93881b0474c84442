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
static const double balance_of_big_tile = 0.9; /* see tiles_init */
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
  for (unsigned p = WORK_PRECISION_DEFAULT; p <= WORK_PRECISION_HIGHEST; p++) {
    enum dtype as = chip->f32_default_as;
    if (p == WORK_PRECISION_DEFAULT && options != NULL && options->f32_as != DTYPE_NONE) {
      as = options->f32_as;
    }
    if (as == DTYPE_NONE || !(rc->matrix_flops[as] > 0)) {
      as = DTYPE_F32;
    }
    rc->f32_as[p] = rc->matrix_as[as];
    rc->f32_flops[p] = rc->matrix_flops[as] / passes[p];
  }
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
  for (unsigned f = 0; f <= WORK_FUNCTION_NONE; f++) {
    double rate = f < HW_FUNCTION_COUNT ? chip->function_rate[f] : 0;
    rc->function_s[f] = rate > 0 ? 1 / rate : f32 > 0 ? function_adds[f] * 2 / f32 : 0;
  }
  double f64 = chip->vector_flops[DTYPE_F64];
  rc->function_f64_factor = f64 > 0 && f32 > f64 ? f32 / f64 : 1;
}

/* A tile of tm x tn outputs needs (tm + tn) operand bytes per tm tn products, so small tiles wait for the shared level.
 * The library's own large tile is balanced by construction (multicast between cores of a cluster where the level alone
 * would be too slow): its feed takes at most `balance_of_big_tile` of its compute time, at 2-byte operands. */
static void tiles_init(struct roofline_chip *rc) {
  const struct hw_chip *chip = rc->hw;
  double rate = positive_or(rc->matrix_flops[DTYPE_BF16], rc->matrix_flops[DTYPE_F32]);
  double big_intensity = chip->tile_m * chip->tile_n / (chip->tile_m + chip->tile_n);
  double balance = balance_of_big_tile;
  if (chip->cache_Bps > 0 && rate > 0) {
    balance = fmin(balance, rate / chip->cache_Bps / big_intensity);
  }
  for (unsigned i = 0; i < ROOFLINE_TILE_COUNT; i++) {
    double m = tile_sizes[i][0], n = tile_sizes[i][1];
    if (m * n > chip->tile_m * chip->tile_n) {
      continue;
    }
    struct roofline_tile *tile = &rc->tiles[rc->tile_count++];
    tile->m = m;
    tile->n = n;
    tile->slowdown = fmax(1, balance * big_intensity * (m + n) / (m * n));
  }
  if (rc->tile_count == 0) {
    rc->tiles[rc->tile_count++] = (struct roofline_tile){chip->tile_m, chip->tile_n, 1};
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
  rc->memory_latency_s = chip->memory_ramp_bytes * rc->memory_s;
  rc->cache_s = chip->cache_Bps > 0 ? 1 / chip->cache_Bps : 0;
  rc->resident_bytes = chip->cache_Bps > chip->memory_Bps ? resident_share * chip->cache_size_bytes : 0;
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
  }
}
