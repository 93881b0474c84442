/* Proof that a partition computes its operator: every core holds, in every iteration, what it multiplies; pieces of a tile
 * are disjoint, cover it and all come by; each output element gets every term once. From the definition of compute-shift
 * (plan_partition.h, core_grid.h) alone: neither the enumeration nor the cost model is asked.
 *
 * All cores of an operator are treated alike, so that few facts decide for all of them:
 *  - an axis is cut into parts of L indices; part i begins at i L. A part is full, the last one with indices, or empty: one
 *    representative of each is replayed, over all combinations of the counts of the axis's loops;
 *  - a box of indices is held by a core when each of its ranges is, axis by axis;
 *  - the pieces in the rings differ when the offsets of loops are independent over the replicas of each tensor
 *    (core_rings_build); a loop of radix g that starts at any offset visits all g parts in g - 1 rotations.
 */
#ifndef RIDGELINE_PLAN_PLAN_VALIDATE_H
#define RIDGELINE_PLAN_PLAN_VALIDATE_H

#include "plan/plan_partition.h"
#include "plan/plan_program.h"
#include "plan/plan_sets.h"
#include "work/core_grid.h"

/* The operator on its cores; factors are taken as they are, also wrong ones. */
void plan_partition_grid(const struct plan_program *program, const struct plan_operator *op,
                         const struct plan_partition *partition, struct core_grid *grid);

/* False with the fault. `rings` (may be NULL) gets the loops and offsets found. */
bool plan_validate(const struct plan_program *program, const struct plan_operator *op,
                   const struct plan_partition *partition, uint32_t cores, struct core_rings *rings,
                   struct core_fault *fault);
/* The preload state `cold` of an execute state `hot` that is valid: the same grid, and each tensor from memory in pieces that
 * the pieces of its execute state are made of, all of them among the replicas. */
bool plan_validate_preload(const struct plan_program *program, const struct plan_operator *op,
                           const struct plan_partition *cold, const struct plan_partition *hot,
                           struct core_fault *fault);

#endif
