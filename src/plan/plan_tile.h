/* Cycles that one core takes for one tile of a stage: the closed forms, with constants of the chip.
 *
 *   matrix       batch x (block x M x K x N + load x K x N + column x N + call), M, K, N the blocks of rows, contraction and
 *                columns, rounded up; the better of both orientations of the product
 *   elementwise  rate x e + call; long vectors max(floor, long rate x e + call)
 *   reduce       rate x e + call, at least min(short rate x e, limit) + call
 *   others       rate x e + call
 *
 * e counts elements x primitive operations, elements wider than two bytes as several. docs/plan-cost.md has the sources. */
#ifndef RIDGELINE_PLAN_PLAN_TILE_H
#define RIDGELINE_PLAN_PLAN_TILE_H

#include <stdint.h>

#include "plan/plan_chip.h"

struct plan_product {
  uint64_t batch, rows, columns, depth;
  uint32_t bits; /* of the wider operand: the type it is computed in */
};

/* How the engine takes a product of operands that wide: depth of a block, and cycles for its rows. */
struct plan_tile_unit {
  double block_depth, block_cycles;
};
struct plan_tile_unit plan_tile_unit_of(const struct plan_chip *chip, uint32_t bits);
/* The same as plan_tile_matrix_cycles, with the unit of product->bits. */
double plan_tile_unit_cycles(const struct plan_chip *chip, const struct plan_tile_unit *unit,
                             const struct plan_product *product);
double plan_tile_matrix_cycles(const struct plan_chip *chip, const struct plan_product *product);
/* `kind` is not MATRIX. */
double plan_tile_vector_cycles(const struct plan_chip *chip, enum plan_stage_kind kind, double elements,
                               uint32_t operations, uint32_t bits);

#endif
