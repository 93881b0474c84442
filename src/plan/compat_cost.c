/* Prices of partition plans as the artifact has them (elk.md sections 2.2, 2.3; readings of section 9, items 5 to 13). */
#include <assert.h>

#include "base/checked.h"
#include "plan/compat_int.h"

enum { OUTPUT = PLAN_ROTATED_MAX - 1, LOOPS_MAX = 64 };

/* A plan with what follows from it. Slots as in plan_partition.temporal. */
struct tile {
  uint64_t lengths[PLAN_AXES_MAX]; /* of the core's share */
  uint64_t steps[PLAN_AXES_MAX]; /* of the share of one iteration */
  double iterations;
  uint64_t sizes[PLAN_ROTATED_MAX]; /* elements held of each tensor; 0 = no such tensor */
  uint32_t pieces[PLAN_ROTATED_MAX];
};

static uint32_t slot_of(const struct plan_compat_operator *op, uint32_t tensor) {
  return tensor + 1u == op->tensor_count ? OUTPUT : tensor;
}

/* A factor on an axis that the tensor lacks makes pieces but no smaller tile. */
static uint64_t held_elements(const struct plan_compat_operator *op, const struct plan_partition *plan, uint32_t tensor,
                              const uint64_t *lengths) {
  uint64_t elements = 1;
  for (uint32_t axis = 0; axis < op->axis_count; axis++) {
    if ((op->tensors[tensor] >> axis & 1) != 0) {
      elements = sat_mul_u64(elements, ceil_div_u64(lengths[axis], plan->temporal[slot_of(op, tensor)][axis]));
    }
  }
  return elements;
}

static uint32_t pieces_of(const struct plan_compat_operator *op, const struct plan_partition *plan, uint32_t slot) {
  uint32_t pieces = 1;
  for (uint32_t axis = 0; axis < op->axis_count; axis++) {
    pieces *= plan->temporal[slot][axis];
  }
  return pieces;
}

static void tile_of(const struct plan_compat_operator *op, const struct plan_partition *plan, struct tile *tile) {
  tile->iterations = 1.0;
  for (uint32_t axis = 0; axis < op->axis_count; axis++) {
    uint32_t most = 1;
    for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
      most = plan->temporal[slot][axis] > most ? plan->temporal[slot][axis] : most;
    }
    tile->lengths[axis] = ceil_div_u64(op->extents[axis], plan->spatial[axis]);
    tile->steps[axis] = most == 1 ? tile->lengths[axis] : ceil_div_u64(tile->lengths[axis], most);
    tile->iterations *= most;
  }
  tile->sizes[1] = 0;
  tile->pieces[1] = 1;
  for (uint32_t tensor = 0; tensor < op->tensor_count; tensor++) {
    const uint32_t slot = slot_of(op, tensor);
    tile->sizes[slot] = held_elements(op, plan, tensor, tile->lengths);
    tile->pieces[slot] = pieces_of(op, plan, slot);
  }
}

static double product_over(const struct plan_compat_operator *op, const uint64_t *lengths, plan_axis_mask axes) {
  double product = 1.0;
  for (uint32_t axis = 0; axis < op->axis_count; axis++) {
    product *= (axes >> axis & 1) != 0 ? (double)lengths[axis] : 1.0;
  }
  return product;
}

static uint64_t steps_over(const struct plan_compat_operator *op, const struct tile *tile, plan_axis_mask axes) {
  uint64_t product = 1;
  for (uint32_t axis = 0; axis < op->axis_count; axis++) {
    product = (axes >> axis & 1) != 0 ? sat_mul_u64(product, tile->steps[axis]) : product;
  }
  return product;
}

/* Blocks of 6 x 16 x 16; loading the 16 x 16 weights of a block takes 514 cycles. The larger side streams. */
static double matmul_cycles(const struct plan_compat_operator *op, const struct tile *tile) {
  const plan_axis_mask left = op->tensors[0];
  const plan_axis_mask right = op->tensors[1];
  const plan_axis_mask out = op->tensors[2];
  const uint64_t batch = steps_over(op, tile, (plan_axis_mask)(left & right & out));
  const uint64_t rows = steps_over(op, tile, (plan_axis_mask)(out & ~right));
  const uint64_t columns = steps_over(op, tile, (plan_axis_mask)(out & ~left));
  const uint64_t summed = steps_over(op, tile, (plan_axis_mask)(left & right & ~out));
  const double m = (double)ceil_div_u64(rows > columns ? rows : columns, 6);
  const double n = (double)ceil_div_u64(rows > columns ? columns : rows, 16);
  const double k = (double)ceil_div_u64(summed, 16);
  return (double)batch * (24.0 * m * k * n + 514.0 * k * n + 113.0 * n + 173.0);
}

static double elementwise_cycles(double elements) {
  if (elements > 16432.0) {
    return 0.5 * elements + 300.0;
  }
  const double cycles = 0.75 * elements + 290.0;
  return cycles < 8517.0 ? cycles : 8517.0;
}

/* Vector lengths that a reduction is padded to; beyond 24 multiples of 48. */
static double align_outputs(uint64_t outputs) {
  static const uint8_t lengths[] = {1, 2, 4, 8, 12, 16, 24};
  for (uint32_t i = 0; i < sizeof lengths; i++) {
    if (outputs <= lengths[i]) {
      return lengths[i];
    }
  }
  return 48.0 * (double)ceil_div_u64(outputs, 48);
}

static double reduce_cycles(uint64_t outputs, double terms) {
  const double elements = align_outputs(outputs) * terms;
  if (elements > 480.0) {
    return 0.25 * elements + 175.0;
  }
  const double cycles = 1.5 * elements + 175.0;
  return cycles < 295.25 ? cycles : 295.25;
}

/* One iteration. */
static double compute_cycles(const struct plan_compat_operator *op, const struct tile *tile) {
  const plan_axis_mask all = (plan_axis_mask)((1u << op->axis_count) - 1u);
  const plan_axis_mask out = op->tensors[op->tensor_count - 1];
  const double outputs = product_over(op, tile->steps, out);
  switch ((enum plan_compat_kind)op->kind) {
  case PLAN_COMPAT_MATMUL:
    return matmul_cycles(op, tile);
  case PLAN_COMPAT_UNARY:
    return 0.5 * outputs + 200.0;
  case PLAN_COMPAT_REDUCE:
    return reduce_cycles(steps_over(op, tile, out), product_over(op, tile->steps, all) / outputs);
  case PLAN_COMPAT_SLICE:
    return compat_elk.exchange_cycles * outputs + compat_elk.sync_cycles;
  case PLAN_COMPAT_ELEMENTWISE:
  case PLAN_COMPAT_KIND_COUNT:
    break;
  }
  return elementwise_cycles(outputs);
}

/* Rotation of the tensors whose factors share a divisor. */
struct loop {
  uint32_t turns;
  uint32_t tensors; /* moved */
  double elements; /* of these */
};

/* Peels the factors of one axis: each loop turns all tensors that still have a factor by its common divisor. */
static uint32_t peel_axis(const struct plan_partition *plan, const struct tile *tile, uint32_t axis, struct loop *loops,
                          uint32_t count) {
  uint32_t factors[PLAN_ROTATED_MAX];
  for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
    factors[slot] = plan->temporal[slot][axis];
  }
  for (;;) {
    struct loop loop = {.turns = 0};
    for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
      if (factors[slot] > 1) {
        loop.turns = (uint32_t)gcd_u64(factors[slot], loop.turns);
        loop.tensors++;
        loop.elements += (double)tile->sizes[slot];
      }
    }
    if (loop.turns <= 1) { /* nothing left; factors of one axis divide one way, so a common divisor is never 1 */
      return count;
    }
    for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
      factors[slot] = factors[slot] > 1 ? factors[slot] / loop.turns : 1;
    }
    assert(count < LOOPS_MAX);
    loops[count++] = loop;
  }
}

/* The loop that moves most is outermost, so that it turns least often. */
static double shift_cycles(const struct plan_compat_operator *op, const struct plan_partition *plan,
                           const struct tile *tile) {
  struct loop loops[LOOPS_MAX];
  uint32_t count = 0;
  for (uint32_t axis = 0; axis < op->axis_count; axis++) {
    count = peel_axis(plan, tile, axis, loops, count);
  }
  for (uint32_t i = 1; i < count; i++) {
    const struct loop loop = loops[i];
    uint32_t at = i;
    for (; at > 0 && loops[at - 1].elements < loop.elements; at--) {
      loops[at] = loops[at - 1];
    }
    loops[at] = loop;
  }
  double shifts = 0.0;
  double elements = 0.0;
  double outer = 1.0;
  for (uint32_t i = 0; i < count; i++) {
    const double turns = outer * (loops[i].turns - 1.0);
    elements += loops[i].elements * turns;
    shifts += loops[i].tensors * turns;
    outer *= loops[i].turns;
  }
  return 2.0 * compat_elk.sync_cycles * shifts + compat_elk.exchange_cycles * elements;
}

/* Adds the partial sums of `replicas` cores that hold the same `held` outputs: each gathers its share from all others. */
static double combine_cycles(uint64_t held, uint64_t replicas) {
  const double sync = compat_elk.sync_cycles;
  const double per_element = compat_elk.exchange_cycles;
  if (replicas <= 1) {
    return 0.0;
  }
  if (replicas == 2) {
    const double half = (double)(held / 2);
    return 2.0 * sync + per_element * half + elementwise_cycles(half);
  }
  const double gather = sync * (double)replicas + per_element * (double)held;
  if (held < replicas) {
    return gather + 1.5 * (double)held + 175.0;
  }
  return gather + reduce_cycles(held / replicas, (double)replicas);
}

/* Bringing the result to where the next operator wants it. */
static double shuffle_cycles(const struct plan_compat_operator *op, const struct plan_partition *plan,
                             const struct tile *tile) {
  if (op->kind == PLAN_COMPAT_ELEMENTWISE || op->kind == PLAN_COMPAT_UNARY) {
    return compat_elk.sync_cycles;
  }
  const plan_axis_mask out = op->tensors[op->tensor_count - 1];
  uint64_t replicas = 1;
  for (uint32_t axis = 0; axis < op->axis_count; axis++) {
    replicas *= (out >> axis & 1) == 0 ? plan->spatial[axis] : 1;
  }
  const uint64_t held = tile->sizes[OUTPUT];
  return compat_elk.exchange_cycles * (double)held + 6.0 * compat_elk.sync_cycles
         + combine_cycles(held, replicas / tile->pieces[OUTPUT]);
}

bool compat_price(const struct plan_compat_operator *op, const struct plan_partition *plan, struct compat_cost *cost) {
  struct tile tile;
  tile_of(op, plan, &tile);
  cost->hot_bytes = 0;
  for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
    const uint64_t buffers = tile.pieces[slot] > 1 ? 2 : 1;
    cost->hot_bytes = sat_add_u64(cost->hot_bytes, sat_mul_u64(tile.sizes[slot], buffers * compat_elk.element_bytes));
  }
  if (cost->hot_bytes > compat_elk.sram_bytes) {
    return false;
  }
  const double factor = compat_elk.cores > compat_elk.cores_per_chip ? compat_elk.exchange_factor : 1.0;
  cost->compute_cycles = compute_cycles(op, &tile) * tile.iterations;
  cost->exchange_cycles = factor * (shift_cycles(op, plan, &tile) + shuffle_cycles(op, plan, &tile));
  return true;
}

static uint64_t cold_elements(const struct plan_compat_operator *op, const struct plan_partition *cold,
                              uint32_t tensor) {
  uint64_t lengths[PLAN_AXES_MAX];
  for (uint32_t axis = 0; axis < op->axis_count; axis++) {
    lengths[axis] = ceil_div_u64(op->extents[axis], cold->spatial[axis]);
  }
  return held_elements(op, cold, tensor, lengths);
}

uint64_t compat_cold_bytes(const struct plan_compat_operator *op, const struct plan_partition *plan) {
  uint64_t bytes = 0;
  for (uint32_t tensor = 0; tensor + 1u < op->tensor_count; tensor++) {
    if (!op->resident[tensor]) {
      bytes = sat_add_u64(bytes, sat_mul_u64(cold_elements(op, plan, tensor), compat_elk.element_bytes));
    }
  }
  return bytes;
}

double compat_warm_up_cycles(const struct plan_compat_operator *op, const struct plan_partition *cold,
                             const struct plan_partition *hot) {
  double cycles = 0.0;
  for (uint32_t tensor = 0; tensor + 1u < op->tensor_count; tensor++) {
    for (uint32_t axis = 0; axis < op->axis_count; axis++) {
      if (cold->temporal[tensor][axis] % hot->temporal[tensor][axis] != 0) {
        return -1.0;
      }
    }
    const uint32_t merged = pieces_of(op, cold, tensor) / pieces_of(op, hot, tensor);
    if (merged > 1) { /* the artifact charges all pieces, its own included, and inputs on the chip as well */
      cycles +=
          merged * (compat_elk.exchange_cycles * (double)cold_elements(op, cold, tensor) + compat_elk.sync_cycles);
    }
  }
  return cycles;
}
