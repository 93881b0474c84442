/* Parts of the closed-form cost model that the search, the core programs and the tests share. */
#ifndef RIDGELINE_PLAN_PLAN_COST_H
#define RIDGELINE_PLAN_PLAN_COST_H

#include "plan/plan_sets.h"

/* One loop of rotations: `factor` pieces pass by each core, in factor - 1 shifts. */
struct plan_rotation {
  uint64_t axis_factor; /* pieces of this loop */
  uint64_t bytes; /* that each core passes on in one shift: all tensors that the loop moves */
  uint32_t axis;
  uint8_t moved; /* bit s: temporal slot s moves */
};
enum { PLAN_ROTATIONS_MAX = 64 };

/* Loops of a partition, outermost first: descending bytes, equal ones in the order of axes. `slot_bytes` are the bytes of one
 * piece of each slot. Factors of an axis divide each other; the common divisor of all that are left is one loop. */
uint32_t plan_rotations_of(const struct plan_partition *partition, uint32_t axis_count,
                           const uint64_t slot_bytes[PLAN_ROTATED_MAX],
                           struct plan_rotation rotations[PLAN_ROTATIONS_MAX]);

/* Partial results of `cores` cores become one: link bytes into each core, barriers, and the additions. */
struct plan_reduction {
  uint64_t link_bytes;
  uint64_t barriers;
  double add_cycles;
  uint64_t buffer_bytes; /* partial results that arrive */
};

/* The fastest way for `elements` partial results of `bits` on each of `cores` cores. `everywhere`: each core needs the
 * whole result (all-reduce); otherwise each keeps its share. `tree` allows rounds by halves; without it each core gets the
 * parts of all others one after the other, with a barrier each. */
struct plan_reduction plan_reduction_of(const struct plan_chip *chip, uint64_t cores, uint64_t elements, uint32_t bits,
                                        bool everywhere, bool tree, double link_factor);

int64_t plan_cycles_ps(const struct plan_chip *chip, double cycles); /* rounded up */
int64_t plan_link_ps(const struct plan_chip *chip, double bytes); /* one core's port, rounded up */

#endif
