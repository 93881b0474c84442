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
#include <string.h>

#include "plan/plan_cost_int.h"

static double least_of(double a, double b) {
  return a < b ? a : b;
}

static double shift_s(const struct cost *c, double whole_s, double pieces) {
  bool hides = c->of->features.overlap && c->of->chip->can_overlap;
  /* exchange_factor is at least 1, and shifts are not subject to it */
  return hides ? 0 : whole_s / c->of->chip->exchange_factor * (pieces - 1) / pieces;
}

static double gathering_s(const struct cost *c, uint32_t slot, double whole_s, uint64_t pieces) {
  const struct plan_tensor *tensor = &c->of->tensors[c->of->slots.tensor[slot]];
  return tensor->source == PLAN_SOURCE_CHIP ? whole_s / (double)pieces : 0;
}

static double reduction_s(const struct cost *c, uint64_t pieces) {
  const struct cost_operator *of = c->of;
  if (of->last_reducing == UINT32_MAX || of->facts[of->last_reducing].is_needed_everywhere) {
    return 0; /* cost_add_stages has the barriers of the latter */
  }
  const struct plan_stage *stage = &of->stages[of->last_reducing];
  uint64_t cores = cost_product_over_spatial(stage->reduced, c->partition);
  if (cores == 1) {
    return 0;
  }
  uint64_t elements = cost_product_over(of->facts[of->last_reducing].result, c->length) / pieces;
  cores = cores / pieces > 0 ? cores / pieces : 1; /* at least so many are left */
  double factor = c->link_factor * of->chip->exchange_factor;
  struct plan_reduction rest = plan_reduction_of(of->chip, cores, elements > 0 ? elements : 1, stage->result_bits,
                                                 false, of->features.tree_reduction, factor);
  return ((double)rest.barriers * of->chip->sync_cycles + rest.add_cycles) / of->chip->clock_Hz
         + (double)rest.link_bytes * factor / of->chip->link_Bps;
}

/* What a slot costs when cut into `pieces`, without its barriers. */
static double slot_s(const struct cost *c, uint32_t slot, double whole_s, uint64_t pieces) {
  double seconds = shift_s(c, whole_s, (double)pieces);
  return seconds + (slot + 1 == PLAN_ROTATED_MAX ? reduction_s(c, pieces) : gathering_s(c, slot, whole_s, pieces));
}

/* The least over all pieces, with a share of its barriers. */
static double least_slot_s(const struct cost_vector *vector, uint32_t slot) {
  const struct cost_slot_bound *at = &vector->slots[slot];
  double least = slot_s(&vector->uncut, slot, at->whole_s, 1), barrier_s = vector->barrier_s / PLAN_ROTATED_MAX;
  uint32_t replicas = (uint32_t)at->replicas; /* no more than cores */
  for (uint32_t pieces = 2; pieces <= replicas && (double)(pieces - 1) * barrier_s < least; pieces++) {
    if (replicas % pieces == 0) {
      least = least_of(least, slot_s(&vector->uncut, slot, at->whole_s, pieces) + (double)(pieces - 1) * barrier_s);
    }
  }
  return least;
}

/* Of one more iteration: a barrier, and a call of each stage that runs along all axes, whichever axis is cut. */
static double turn_s(const struct cost_operator *of) {
  double cycles = of->chip->sync_cycles;
  for (uint32_t s = 0; s < of->op->stage_count; s++) {
    const struct plan_stage *stage = &of->stages[s];
    if (stage->axes == cost_axes_of(of->op)) {
      cycles +=
          stage->kind == PLAN_STAGE_MATRIX ? of->chip->matrix_call_cycles : of->chip->stages[stage->kind].per_call;
    }
  }
  return cycles / of->chip->clock_Hz;
}

/* Link time of the last reduction: (r - 1) / r of a piece of the result, with any way at least. */
static double reduced_s(const struct cost *c, uint64_t pieces) {
  const struct cost_operator *of = c->of;
  if (of->last_reducing == UINT32_MAX || of->facts[of->last_reducing].is_needed_everywhere) {
    return 0;
  }
  const struct plan_stage *stage = &of->stages[of->last_reducing];
  double cores = (double)cost_product_over_spatial(stage->reduced, c->partition), parts = (double)pieces;
  double bytes =
      (double)cost_product_over(of->facts[of->last_reducing].result, c->length) * stage->result_bits / 8 / parts;
  return cores > parts ? bytes * (1 - parts / cores) * c->link_factor / of->chip->link_Bps : 0;
}

/* Link time of a slot cut into `pieces`. What of an input from the chip is not gathered rotates: the whole in any case. */
static double exchange_s(const struct cost_vector *vector, uint32_t slot, uint64_t pieces) {
  const struct cost_operator *of = vector->uncut.of;
  double whole_s = vector->slots[slot].whole_s / of->chip->exchange_factor; /* shifts are not subject to it */
  if (slot + 1 < PLAN_ROTATED_MAX) {
    bool is_gathered = of->tensors[of->slots.tensor[slot]].source == PLAN_SOURCE_CHIP;
    return is_gathered ? whole_s : whole_s * (double)(pieces - 1) / (double)pieces;
  }
  return whole_s * (double)(pieces - 1) / (double)pieces + reduced_s(&vector->uncut, pieces);
}

static void bound_slot(struct cost_vector *vector, uint32_t slot) {
  const struct cost_operator *of = vector->uncut.of;
  struct cost_slot_bound *at = &vector->slots[slot];
  *at = (struct cost_slot_bound){.replicas = 1};
  if (of->slots.tensor[slot] == UINT8_MAX) {
    return;
  }
  const struct plan_tensor *tensor = &of->tensors[of->slots.tensor[slot]];
  double bytes = (double)cost_product_over(tensor->axes, vector->uncut.length) * tensor->element_bits / 8;
  at->whole_s = bytes * vector->uncut.link_factor * of->chip->exchange_factor / of->chip->link_Bps;
  at->replicas = cost_product_over_spatial((plan_axis_mask)(cost_axes_of(of->op) & ~tensor->axes), &vector->partition);
  at->least_s = least_slot_s(vector, slot);
  at->gathered_s = slot + 1 < PLAN_ROTATED_MAX ? gathering_s(&vector->uncut, slot, at->whole_s, at->replicas) : 0;
  at->exchanged_s = least_of(exchange_s(vector, slot, 1), exchange_s(vector, slot, at->replicas));
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
      least = least_of(least, least_spread_cycles(c, cut, slot, others, pieces / factor));
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
  c.partition = c.fewest = &cut;
  double added = least_spread_cycles(&c, &cut, slot, axes, pieces) - uncut->cycles;
  return (added + (double)(pieces - 1) * c.of->chip->sync_cycles) / c.of->chip->clock_Hz;
}

/* The parts of a cost are rounded upwards; a picosecond of room for the rounding of doubles. */
static int64_t rounded_down(double seconds) {
  return seconds < 1e6 ? (int64_t)fmax(0, floor(seconds * 1e12) - 1) : INT64_MAX / 4;
}

/* Inputs from the chip that are never cut. */
static double uncut_inputs_s(const struct cost *c) {
  const struct cost_operator *of = c->of;
  double bytes = 0;
  for (uint32_t t = 0; t < of->op->tensor_count; t++) {
    const struct plan_tensor *tensor = &of->tensors[t];
    if (!tensor->is_output && tensor->source == PLAN_SOURCE_CHIP && tensor->axes != cost_axes_of(of->op)
        && of->slot_of[t] == PLAN_ROTATED_MAX) {
      bytes += (double)cost_product_over(tensor->axes, c->length) * tensor->element_bits / 8;
    }
  }
  return bytes * c->link_factor * of->chip->exchange_factor / of->chip->link_Bps;
}

static void set_spatial(struct plan_partition *partition, const uint32_t *spatial) {
  memcpy(partition->spatial, spatial, sizeof partition->spatial);
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
      partition->temporal[s][a] = 1;
    }
  }
}

/* The smallest tiles, of the most parts, with the fewest barriers and inside one chip if any vector is. */
int64_t cost_bound_between(const void *opened, const uint32_t *fewest, const uint32_t *most) {
  const struct cost_operator *of = opened;
  struct plan_partition least, largest;
  struct cost c;
  set_spatial(&least, fewest);
  set_spatial(&largest, most);
  cost_prepare(&c, of, &largest);
  c.fewest = &least;
  c.link_factor = cost_cross_chip(of->chip, &least);
  cost_add_stages(&c, true);
  return rounded_down(c.cycles / of->chip->clock_Hz + uncut_inputs_s(&c));
}

void cost_bound_vector(const void *opened, const struct plan_partition *partition, bool is_exact, void *bounds,
                       struct plan_bound *bound) {
  struct cost_vector *vector = bounds;
  const struct cost_operator *of = opened;
  vector->partition = *partition;
  cost_prepare(&vector->uncut, of, &vector->partition);
  cost_add_stages(&vector->uncut, true);
  vector->fixed_s = vector->uncut.cycles / of->chip->clock_Hz + uncut_inputs_s(&vector->uncut);
  vector->barrier_s = turn_s(of);
  double shared_s = vector->fixed_s, exchanged_s = 0; /* barriers shared by all slots */
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX && is_exact; s++) {
    bound_slot(vector, s);
    shared_s += vector->slots[s].least_s;
    exchanged_s += vector->slots[s].exchanged_s;
  }
  bound->exchange_ps = rounded_down(exchanged_s);
  bound->shared_ps = rounded_down(shared_s);
  bound->alone_ps = rounded_down(vector->fixed_s);
  bound->turn_ps = rounded_down(vector->barrier_s);
}

void cost_bound_pieces(const void *bounds, uint32_t slot, uint64_t pieces, bool is_exact, struct plan_bound *bound) {
  const struct cost_vector *vector = bounds;
  const struct cost_operator *of = vector->uncut.of;
  double shared_s = vector->fixed_s, alone_s = vector->fixed_s; /* barriers shared by all slots; all by the given one */
  double exchanged_s = exchange_s(vector, slot, pieces);
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    if (s != slot) {
      shared_s += vector->slots[s].least_s;
      exchanged_s += vector->slots[s].exchanged_s;
      alone_s += vector->slots[s].gathered_s; /* barriers are free here */
    }
  }
  double own_s = slot_s(&vector->uncut, slot, vector->slots[slot].whole_s, pieces);
  double barriers_s = (double)(pieces - 1) * vector->barrier_s;
  plan_axis_mask axes = (plan_axis_mask)(of->tensors[of->slots.tensor[slot]].axes & of->rotating);
  bool is_spread = is_exact && pieces > 1 && pieces <= MOST_SPREAD_PIECES;
  shared_s += own_s + barriers_s / PLAN_ROTATED_MAX;
  alone_s += own_s + (is_spread ? spread_s(&vector->uncut, slot, axes, pieces) : barriers_s);
  bound->shared_ps = rounded_down(shared_s);
  bound->alone_ps = rounded_down(alone_s);
  bound->exchange_ps = rounded_down(exchanged_s);
  bound->turn_ps = rounded_down(vector->barrier_s);
}

int64_t cost_bound_turns(const void *bounds, const uint16_t *turns) {
  const struct cost_vector *vector = bounds;
  const struct cost_operator *of = vector->uncut.of;
  struct cost c = vector->uncut;
  double iterations = 1, gathered_s = 0;
  c.cycles = 0;
  for (uint32_t a = 0; a < of->op->axis_count; a++) {
    c.turns[a] = turns[a];
    c.tile[a] = turns[a] > 1 ? ceil_div_u64(c.length[a], turns[a]) : c.length[a];
    iterations *= (double)turns[a];
  }
  cost_add_stages(&c, true);
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    gathered_s += vector->slots[s].gathered_s;
  }
  c.cycles += (iterations - 1) * of->chip->sync_cycles;
  return rounded_down(c.cycles / of->chip->clock_Hz + uncut_inputs_s(&vector->uncut) + gathered_s);
}
