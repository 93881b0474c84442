/* Lower bounds of the closed-form model on all temporal choices of a spatial vector, by which the search leaves out most.
 *
 * Rotation makes tiles smaller and calls more, never cheaper: the stages of the uncut partition are a bound. On top, each slot
 * costs something that falls with its pieces and barriers that rise with them:
 *
 *   input from the chip   gathering its first piece; the rest may hide under the computation
 *   output                reducing what the ring of its pieces has not added up
 *   all                   pieces - 1 shifts, a barrier each, and on chips that cannot overlap the link time as well
 *
 * One shift can move several slots, so that when all slots are free each is charged a third of its barriers. */
#include <math.h>

#include "plan/plan_cost_int.h"

struct slot_bound {
  const struct cost *c;
  uint32_t slot;
  uint64_t replicas;
  double whole_s; /* link time of the uncut tensor */
  double barrier_s; /* of a shift: turn_s */
};

static double shift_s(const struct slot_bound *bound, double pieces) {
  const struct cost *c = bound->c;
  bool hides = c->features->overlap && c->chip->can_overlap;
  /* exchange_factor is at least 1, and shifts are not subject to it */
  return hides ? 0 : bound->whole_s / c->chip->exchange_factor * (pieces - 1) / pieces;
}

static double gathering_s(const struct slot_bound *bound, uint64_t pieces) {
  const struct plan_tensor *tensor = &bound->c->tensors[bound->c->slots.tensor[bound->slot]];
  return tensor->source == PLAN_SOURCE_CHIP ? bound->whole_s / (double)pieces : 0;
}

static double reduction_s(const struct slot_bound *bound, uint64_t pieces) {
  const struct cost *c = bound->c;
  if (c->last_reducing == UINT32_MAX || cost_is_needed_everywhere(c, c->last_reducing)) {
    return 0; /* cost_add_stages has the barriers of the latter */
  }
  const struct plan_stage *stage = &c->stages[c->last_reducing];
  uint64_t cores = cost_product_over_spatial(stage->reduced, c->partition);
  uint64_t elements = cost_product_over((plan_axis_mask)(stage->axes & ~stage->reduced), c->length) / pieces;
  cores = cores / pieces > 0 ? cores / pieces : 1; /* at least so many are left */
  double factor = c->link_factor * c->chip->exchange_factor;
  struct plan_reduction rest = plan_reduction_of(c->chip, cores, elements > 0 ? elements : 1, stage->result_bits, false,
                                                 c->features->tree_reduction, factor);
  return ((double)rest.barriers * c->chip->sync_cycles + rest.add_cycles) / c->chip->clock_Hz
         + (double)rest.link_bytes * factor / c->chip->link_Bps;
}

/* What a slot costs when cut into `pieces`, without its barriers. */
static double slot_s(const struct slot_bound *bound, uint64_t pieces) {
  double seconds = shift_s(bound, (double)pieces);
  return seconds + (bound->slot + 1 == PLAN_ROTATED_MAX ? reduction_s(bound, pieces) : gathering_s(bound, pieces));
}

/* The least over all pieces, with a share of its barriers. */
static double least_slot_s(const struct slot_bound *bound) {
  double least = slot_s(bound, 1), barrier_s = bound->barrier_s / PLAN_ROTATED_MAX;
  for (uint64_t pieces = 2; pieces <= bound->replicas && (double)(pieces - 1) * barrier_s < least; pieces++) {
    if (bound->replicas % pieces == 0) {
      least = fmin(least, slot_s(bound, pieces) + (double)(pieces - 1) * barrier_s);
    }
  }
  return least;
}

/* Of one more iteration: a barrier, and a call of each stage that runs along all axes, whichever axis is cut. */
static double turn_s(const struct cost *c) {
  double cycles = c->chip->sync_cycles;
  for (uint32_t s = 0; s < c->op->stage_count; s++) {
    const struct plan_stage *stage = &c->stages[s];
    if (stage->axes == cost_axes_of(c->op)) {
      cycles += stage->kind == PLAN_STAGE_MATRIX ? c->chip->matrix_call_cycles : c->chip->stages[stage->kind].per_call;
    }
  }
  return cycles / c->chip->clock_Hz;
}

static struct slot_bound bound_of_slot(const struct cost *c, uint32_t slot) {
  struct slot_bound bound = {.c = c, .slot = slot, .replicas = 1};
  bool is_one_product = c->op->stage_count == 1 && c->stages[0].kind == PLAN_STAGE_MATRIX;
  bound.barrier_s = (c->chip->sync_cycles + (is_one_product ? c->chip->matrix_call_cycles : 0)) / c->chip->clock_Hz;
  if (c->slots.tensor[slot] != UINT8_MAX) {
    const struct plan_tensor *tensor = &c->tensors[c->slots.tensor[slot]];
    double bytes = (double)cost_product_over(tensor->axes, c->length) * tensor->element_bits / 8;
    bound.whole_s = bytes * c->link_factor * c->chip->exchange_factor / c->chip->link_Bps;
    bound.replicas = cost_product_over_spatial((plan_axis_mask)(cost_axes_of(c->op) & ~tensor->axes), c->partition);
  }
  return bound;
}

/* Above so many pieces their barriers alone decide. */
enum { MOST_SPREAD_PIECES = 64 };

/* Least cycles of all stages over the ways to spread `pieces` of a slot over its axes from `axis` on; other slots uncut. */
static double least_spread_cycles(struct cost *c, struct plan_partition *cut, uint32_t slot, plan_axis_mask axes,
                                  uint64_t pieces) {
  if (pieces == 1) {
    c->cycles = 0;
    cost_add_stages(c, true);
    return c->cycles;
  }
  double least = INFINITY;
  if (axes == 0) {
    return least;
  }
  uint32_t axis = (uint32_t)__builtin_ctz(axes);
  plan_axis_mask others = (plan_axis_mask)(axes & (axes - 1));
  for (uint64_t factor = others == 0 ? pieces : 1; factor <= pieces && factor <= c->length[axis]; factor++) {
    if (pieces % factor == 0) {
      cut->temporal[slot][axis] = (uint16_t)factor;
      c->turns[axis] = factor;
      c->tile[axis] = ceil_div_u64(c->length[axis], factor);
      least = fmin(least, least_spread_cycles(c, cut, slot, others, pieces / factor));
    }
  }
  cut->temporal[slot][axis] = 1;
  c->turns[axis] = 1;
  c->tile[axis] = c->length[axis];
  return least;
}

/* What cutting a slot alone adds to the stages and their barriers; INFINITY when it cannot be cut so. */
static double spread_s(const struct cost *uncut, uint32_t slot, plan_axis_mask axes, uint64_t pieces) {
  struct cost c = *uncut;
  struct plan_partition cut = *uncut->partition;
  c.partition = &cut;
  double added = least_spread_cycles(&c, &cut, slot, axes, pieces) - uncut->cycles;
  return (added + (double)(pieces - 1) * c.chip->sync_cycles) / c.chip->clock_Hz;
}

/* The parts of a cost are rounded upwards; a picosecond of room for the rounding of doubles. */
static int64_t rounded_down(double seconds) {
  return seconds < 1e6 ? (int64_t)fmax(0, floor(seconds * 1e12) - 1) : INT64_MAX / 4;
}

void cost_bound(const struct plan_chip *chip, const struct plan_features *features, const struct plan_program *program,
                const struct plan_operator *op, const struct plan_partition *partition, uint32_t slot, uint64_t pieces,
                struct plan_bound *bound) {
  struct cost c = {.chip = chip, .features = features, .op = op, .partition = partition};
  plan_axis_mask rotating = plan_rotating_axes(program, op);
  cost_prepare(&c, program);
  cost_add_stages(&c, true);
  double fixed_s = c.cycles / chip->clock_Hz;
  for (uint32_t t = 0; t < op->tensor_count; t++) { /* inputs that are never cut */
    const struct plan_tensor *tensor = &c.tensors[t];
    if (!tensor->is_output && tensor->source == PLAN_SOURCE_CHIP && tensor->axes != cost_axes_of(op)
        && cost_slot_of(&c.slots, t) == PLAN_ROTATED_MAX) {
      double bytes = (double)cost_product_over(tensor->axes, c.length) * tensor->element_bits / 8;
      fixed_s += bytes * c.link_factor * chip->exchange_factor / chip->link_Bps;
    }
  }
  double shared_s = fixed_s, alone_s = fixed_s; /* barriers shared by all slots; all by the given one */
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX && pieces > 0; s++) {
    struct slot_bound at = bound_of_slot(&c, s);
    if (c.slots.tensor[s] == UINT8_MAX) {
      continue;
    }
    if (s == slot) {
      double own_s = slot_s(&at, pieces), barriers_s = (double)(pieces - 1) * at.barrier_s;
      shared_s += own_s + barriers_s / PLAN_ROTATED_MAX;
      bool is_spread = pieces > 1 && pieces <= MOST_SPREAD_PIECES;
      alone_s +=
          own_s + (is_spread ? spread_s(&c, s, c.tensors[c.slots.tensor[s]].axes & rotating, pieces) : barriers_s);
    } else {
      shared_s += least_slot_s(&at);
      alone_s += s + 1 < PLAN_ROTATED_MAX ? gathering_s(&at, at.replicas) : 0; /* barriers are free here */
    }
  }
  bound->shared_ps = rounded_down(shared_s);
  bound->alone_ps = rounded_down(slot < PLAN_ROTATED_MAX ? alone_s : fixed_s);
  bound->turn_ps = rounded_down(turn_s(&c));
}
