/* Tile formulas. Path: plan_cost.c adds them up over the iterations of a partition. */
#include "plan/plan_tile.h"

#include <assert.h>
#include <math.h>

#include "base/checked.h"

/* Engine types by width: what a product of operands that wide is computed in. Narrow integers stand beside narrow floats;
 * the faster of the two counts, and a width that the chip does not take is widened on the core. */
static const struct {
  uint32_t bits;
  uint8_t floating, integral; /* enum dtype */
} widths[] = {
    {4, DTYPE_F4E2M1FN, DTYPE_I4}, {8, DTYPE_F8E4M3FN, DTYPE_I8}, {16, DTYPE_F16, DTYPE_F16},
    {32, DTYPE_F32, DTYPE_F32},    {64, DTYPE_F64, DTYPE_F64},
};
enum { WIDTH_COUNT = sizeof widths / sizeof widths[0] };

/* Rate relative to f16, and the width it is computed in. */
static double rate_of(const struct plan_chip *chip, uint32_t bits, uint32_t *computed_bits) {
  for (size_t i = 0; i < WIDTH_COUNT; i++) {
    double floating = chip->matrix_rate_factor[widths[i].floating];
    double integral = chip->matrix_rate_factor[widths[i].integral];
    double rate = floating > integral ? floating : integral;
    if (bits <= widths[i].bits && rate > 0) {
      /* a width that runs at the rate of a wider type is that type on this chip */
      *computed_bits = rate > 1 ? widths[i].bits : widths[i].bits < 16 ? 16 : widths[i].bits;
      return rate;
    }
  }
  *computed_bits = 16;
  return 1;
}

static double least(double a, double b) { /* fmin is a call: these are hot */
  return a < b ? a : b;
}

static double most(double a, double b) {
  return a > b ? a : b;
}

struct plan_tile_unit plan_tile_unit_of(const struct plan_chip *chip, uint32_t bits) {
  uint32_t computed_bits;
  double rate = rate_of(chip, bits, &computed_bits);
  /* the unit is fed a fixed number of bytes along the contraction: 16 elements of two bytes are 8 of four */
  double block_depth = most(1, chip->matrix_depth * 16 / computed_bits);
  return (struct plan_tile_unit){block_depth, chip->matrix_block_cycles * (block_depth / chip->matrix_depth) / rate};
}

static double oriented(const struct plan_chip *chip, const struct plan_tile_unit *unit, double rows, double columns,
                       double k) {
  double m = ceil(rows / chip->matrix_rows), n = ceil(columns / chip->matrix_columns);
  return unit->block_cycles * m * k * n + chip->matrix_load_cycles * k * n + chip->matrix_column_cycles * n
         + chip->matrix_call_cycles;
}

double plan_tile_unit_cycles(const struct plan_chip *chip, const struct plan_tile_unit *unit,
                             const struct plan_product *product) {
  double rows = (double)product->rows, columns = (double)product->columns;
  double k = ceil((double)product->depth / unit->block_depth);
  double straight = oriented(chip, unit, rows, columns, k), transposed = oriented(chip, unit, columns, rows, k);
  return (double)product->batch * least(straight, transposed);
}

double plan_tile_matrix_cycles(const struct plan_chip *chip, const struct plan_product *product) {
  struct plan_tile_unit unit = plan_tile_unit_of(chip, product->bits);
  return plan_tile_unit_cycles(chip, &unit, product);
}

double plan_tile_vector_cycles(const struct plan_chip *chip, enum plan_stage_kind kind, double elements,
                               uint32_t operations, uint32_t bits) {
  assert(kind != PLAN_STAGE_MATRIX && kind < PLAN_STAGE_KIND_COUNT);
  const struct plan_stage_rate *rate = &chip->stages[kind];
  double width = bits > 16 ? bits / 16.0 : 1;
  double e = elements * operations * width;
  double cycles = rate->per_element * e;
  if (kind == PLAN_STAGE_REDUCE) {
    cycles = most(cycles, least(chip->reduce_short_cycles * e, chip->reduce_short_limit_cycles));
  }
  cycles += rate->per_call;
  if (kind == PLAN_STAGE_ELEMENTWISE && chip->elementwise_long_cycles > 0) {
    double long_cycles = chip->elementwise_long_cycles * e + rate->per_call;
    cycles = least(cycles, most(chip->elementwise_long_floor_cycles, long_cycles));
  }
  return cycles;
}
