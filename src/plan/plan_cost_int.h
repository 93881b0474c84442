/* What the parts of the closed-form cost model share. Path: plan_cost.c (sizes, exchange, loads) → plan_cost_stages.c (tiles
 * and reductions) and plan_cost_bound.c (lower bounds). */
#ifndef RIDGELINE_PLAN_PLAN_COST_INT_H
#define RIDGELINE_PLAN_PLAN_COST_INT_H

#include "base/checked.h"
#include "plan/plan_cost.h"
#include "plan/plan_tile.h"

/* What the price of a stage needs of its operator. */
struct cost_stage {
  plan_axis_mask result; /* axes without the reduced ones */
  plan_axis_mask rows, columns, batch; /* MATRIX */
  struct plan_tile_unit unit; /* MATRIX */
  bool is_needed_everywhere; /* a later stage reads the result where the summed axes run: every core needs it */
};

/* What does not depend on the partition: made once for all partitions that a search prices. */
struct cost_operator {
  const struct plan_chip *chip;
  struct plan_features features;
  const struct plan_operator *op;
  const struct plan_tensor *tensors;
  const struct plan_stage *stages;
  struct plan_slots slots;
  uint8_t slot_of[PLAN_TENSORS_MAX]; /* cost_slot_of */
  plan_axis_mask rotating; /* plan_rotating_axes */
  uint32_t last_reducing; /* cost_last_reducing_stage */
  bool works_in_place; /* no stage moves or sums anything: it computes where its input lies, if that has all axes */
  struct cost_stage facts[PLAN_STAGES_MAX];
};

/* One partition being priced. */
struct cost {
  const struct cost_operator *of;
  const struct plan_partition *partition;
  const struct plan_partition
      *fewest; /* in bounds over several vectors the one of the fewest parts, else `partition` */
  uint64_t length[PLAN_AXES_MAX]; /* local */
  uint64_t tile[PLAN_AXES_MAX]; /* of one iteration */
  uint64_t turns[PLAN_AXES_MAX]; /* iterations along the axis */
  double link_factor; /* of a neighbour: leaving the chip */
  double cycles, link_bytes; /* link_bytes: serial */
  uint64_t buffer_bytes; /* largest buffer of a reduction */
};

/* Bounds of all temporal choices on one spatial vector. */
struct cost_slot_bound {
  uint64_t replicas;
  double whole_s; /* link time of the uncut tensor */
  double least_s; /* over all pieces, with a share of the barriers */
  double gathered_s; /* of the smallest piece of an input from the chip */
  double exchanged_s; /* least link time over all pieces, of shifts as well */
};
struct cost_vector {
  struct plan_partition partition; /* all temporal factors 1 */
  struct cost uncut;
  double barrier_s; /* of a shift, at least */
  double fixed_s; /* stages, and inputs that are never cut */
  struct cost_slot_bound slots[PLAN_ROTATED_MAX];
};

static inline plan_axis_mask cost_axes_of(const struct plan_operator *op) {
  return (plan_axis_mask)((1U << op->axis_count) - 1U);
}

static inline uint64_t cost_product_over(plan_axis_mask axes, const uint64_t *values) {
  uint64_t product = 1;
  for (; axes != 0; axes &= (plan_axis_mask)(axes - 1)) {
    product = sat_mul_u64(product, values[__builtin_ctz(axes)]);
  }
  return product;
}

static inline uint64_t cost_product_over_spatial(plan_axis_mask axes, const struct plan_partition *partition) {
  uint64_t product = 1;
  for (; axes != 0; axes &= (plan_axis_mask)(axes - 1)) {
    product = sat_mul_u64(product, partition->spatial[__builtin_ctz(axes)]);
  }
  return product;
}

static inline uint64_t cost_bytes_of(uint64_t elements, uint32_t bits) {
  return ceil_div_u64(sat_mul_u64(elements, bits), 8);
}

static inline uint64_t cost_slot_pieces(const struct plan_partition *partition, uint32_t slot, uint32_t axis_count) {
  uint64_t pieces = 1;
  for (uint32_t a = 0; a < axis_count; a++) {
    pieces = sat_mul_u64(pieces, partition->temporal[slot][a]);
  }
  return pieces;
}

/* Elements of one piece of tensor `t`; `slot` PLAN_ROTATED_MAX: not cut. */
static inline uint64_t cost_piece_elements(const uint64_t *length, plan_axis_mask axes,
                                           const struct plan_partition *partition, uint32_t slot) {
  uint64_t elements = 1;
  for (; axes != 0; axes &= (plan_axis_mask)(axes - 1)) {
    uint32_t a = (uint32_t)__builtin_ctz(axes);
    uint64_t cut = slot < PLAN_ROTATED_MAX ? partition->temporal[slot][a] : 1;
    elements = sat_mul_u64(elements, cut > 1 ? ceil_div_u64(length[a], cut) : length[a]);
  }
  return elements;
}

static inline uint32_t cost_slot_of(const struct plan_slots *slots, uint32_t tensor) {
  uint32_t s = 0;
  while (s < PLAN_ROTATED_MAX && slots->tensor[s] != tensor) {
    s++;
  }
  return s;
}

/* Stage whose result the output's pieces belong to; UINT32_MAX when nothing is summed. */
static inline uint32_t cost_last_reducing_stage(const struct plan_stage *stages, uint32_t count) {
  uint32_t last = UINT32_MAX;
  for (uint32_t s = 0; s < count; s++) {
    last = stages[s].reduced != 0 ? s : last;
  }
  return last;
}

static inline void cost_local_lengths(const struct plan_operator *op, const struct plan_partition *partition,
                                      uint64_t *length) {
  for (uint32_t a = 0; a < op->axis_count; a++) {
    length[a] = ceil_div_u64(op->extents[a], partition->spatial[a]);
  }
}

static inline double cost_cross_chip(const struct plan_chip *chip, const struct plan_partition *partition) {
  return plan_partition_cores(partition) > chip->cores_per_chip ? chip->cross_chip_factor : 1;
}

void cost_open(const struct plan_chip *chip, const struct plan_features *features, const struct plan_program *program,
               const struct plan_operator *op, struct cost_operator *of);
/* The stages' share of cost_open. */
void cost_open_stages(struct cost_operator *of);
/* Fills all members that follow from operator and partition. */
void cost_prepare(struct cost *c, const struct cost_operator *of, const struct plan_partition *partition);
/* Adds tiles and reductions to `cycles` and `link_bytes`. `is_bound`: of reductions only the barriers of those that
 * plan_cost_bound.c does not treat itself. */
void cost_add_stages(struct cost *c, bool is_bound);
/* The bounds of the model. */
void cost_bound_vector(const void *opened, const struct plan_partition *partition, bool is_exact, void *vector,
                       struct plan_bound *bound);
int64_t cost_bound_turns(const void *vector, const uint16_t *turns);
int64_t cost_bound_between(const void *opened, const uint32_t *fewest, const uint32_t *most);
void cost_bound_pieces(const void *vector, uint32_t slot, uint64_t pieces, bool is_exact, struct plan_bound *bound);
/* Values between stages. */
uint64_t cost_stage_bytes(const struct cost *c);

#endif
