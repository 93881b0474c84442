/* The closed-form cost model: what one partition of one operator costs in SRAM and time (docs/plan-cost.md).
 *
 *   compute  tiles of all stages, all iterations; additions of reductions; barriers of shifts, gatherings and reductions
 *   shift    link time of the rotation loops
 *   serial   link time of gathering inputs that lie on the chip, and of reductions
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "plan/plan_cost_int.h"

struct plan_slots plan_slots_of(const struct plan_program *program, const struct plan_operator *op) {
  const struct plan_tensor *tensors = &program->tensors.data[op->tensor_first];
  struct plan_slots slots = {{UINT8_MAX, UINT8_MAX, UINT8_MAX}};
  double sizes[2] = {0, 0};
  for (uint32_t t = 0; t < op->tensor_count; t++) {
    if (tensors[t].is_output) {
      slots.tensor[PLAN_ROTATED_MAX - 1] = (uint8_t)t;
      continue;
    }
    if (tensors[t].axes == cost_axes_of(op) || tensors[t].axes == 0) {
      continue;
    }
    double size = tensors[t].element_bits;
    for (uint32_t a = 0; a < op->axis_count; a++) {
      size *= (tensors[t].axes >> a & 1U) != 0 ? (double)op->extents[a] : 1;
    }
    if (size > sizes[0]) {
      sizes[1] = sizes[0];
      slots.tensor[1] = slots.tensor[0];
      sizes[0] = size;
      slots.tensor[0] = (uint8_t)t;
    } else if (size > sizes[1]) {
      sizes[1] = size;
      slots.tensor[1] = (uint8_t)t;
    }
  }
  if (slots.tensor[1] < slots.tensor[0]) {
    uint8_t first = slots.tensor[1];
    slots.tensor[1] = slots.tensor[0];
    slots.tensor[0] = first;
  }
  return slots;
}

plan_axis_mask plan_rotating_axes(const struct plan_program *program, const struct plan_operator *op) {
  const struct plan_stage *stages = &program->stages.data[op->stage_first];
  uint32_t last = cost_last_reducing_stage(stages, op->stage_count);
  plan_axis_mask kept = 0;
  for (uint32_t s = 0; last != UINT32_MAX && s < last; s++) {
    bool is_twin = stages[s].kind == PLAN_STAGE_MATRIX && stages[last].kind == PLAN_STAGE_MATRIX
                   && stages[s].reduced == stages[last].reduced;
    kept |= is_twin ? 0 : stages[s].reduced;
  }
  return (plan_axis_mask)(cost_axes_of(op) & ~kept);
}

void cost_prepare(struct cost *c, const struct plan_program *program) {
  c->tensors = &program->tensors.data[c->op->tensor_first];
  c->stages = &program->stages.data[c->op->stage_first];
  c->slots = plan_slots_of(program, c->op);
  cost_local_lengths(c->op, c->partition, c->length);
  for (uint32_t a = 0; a < c->op->axis_count; a++) {
    uint64_t turns = 1;
    for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
      turns = c->partition->temporal[s][a] > turns ? c->partition->temporal[s][a] : turns;
    }
    c->turns[a] = turns;
    c->tile[a] = turns > 1 ? ceil_div_u64(c->length[a], turns) : c->length[a];
  }
  c->last_reducing = cost_last_reducing_stage(c->stages, c->op->stage_count);
  c->link_factor = cost_cross_chip(c->chip, c->partition);
}

/* True when the operator computes where its input lies: no stage moves or sums anything, and the input has all axes. */
static bool works_in_place(const struct cost *c) {
  for (uint32_t s = 0; s < c->op->stage_count; s++) {
    uint8_t kind = c->stages[s].kind;
    if (c->stages[s].reduced != 0 || (kind != PLAN_STAGE_ELEMENTWISE && kind != PLAN_STAGE_UNARY)) {
      return false;
    }
  }
  return true;
}

/* Sizes of all tensors, the rotations, and the gathering of inputs from the chip. */
static void add_tensors(struct cost *c, struct plan_tile_cost *cost) {
  uint64_t slot_bytes[PLAN_ROTATED_MAX] = {0};
  uint64_t gathered = 0;
  bool may_stay = works_in_place(c);
  for (uint32_t t = 0; t < c->op->tensor_count; t++) {
    const struct plan_tensor *tensor = &c->tensors[t];
    uint32_t slot = cost_slot_of(&c->slots, t);
    uint64_t bytes =
        cost_bytes_of(cost_piece_elements(c->length, tensor->axes, c->partition, slot), tensor->element_bits);
    bool is_cut = slot < PLAN_ROTATED_MAX && cost_slot_pieces(c->partition, slot, c->op->axis_count) > 1;
    if (slot < PLAN_ROTATED_MAX) {
      slot_bytes[slot] = bytes;
    }
    cost->hot_bytes = sat_add_u64(cost->hot_bytes, is_cut ? sat_mul_u64(bytes, 2) : bytes);
    if (!tensor->is_output && tensor->source == PLAN_SOURCE_MEMORY) {
      cost->cold_bytes = sat_add_u64(cost->cold_bytes, bytes);
    } else if (!tensor->is_output) {
      bool stays = may_stay && !tensor->is_view && tensor->axes == cost_axes_of(c->op);
      may_stay = may_stay && !stays;
      gathered = sat_add_u64(gathered, stays ? 0 : bytes);
    }
  }
  c->link_bytes += (double)gathered * c->link_factor * c->chip->exchange_factor;
  c->cycles += gathered > 0 ? c->chip->sync_cycles : 0;

  struct plan_rotation loops[PLAN_ROTATIONS_MAX];
  uint32_t count = plan_rotations_of(c->partition, c->op->axis_count, slot_bytes, loops);
  double outer = 1, bytes = 0, shifts = 0;
  for (uint32_t i = 0; i < count; i++) {
    double passes = outer * (double)(loops[i].axis_factor - 1);
    shifts += passes;
    bytes += passes * (double)loops[i].bytes;
    outer *= (double)loops[i].axis_factor;
  }
  c->cycles += shifts * c->chip->sync_cycles;
  cost->shift_ps = plan_link_ps(c->chip, bytes * c->link_factor);
}

static bool closed_form_tile(const struct plan_chip *chip, const struct plan_features *features,
                             const struct plan_program *program, const struct plan_operator *op,
                             const struct plan_partition *partition, struct plan_tile_cost *cost) {
  struct cost c = {.chip = chip, .features = features, .op = op, .partition = partition};
  *cost = (struct plan_tile_cost){0};
  cost_prepare(&c, program);
  add_tensors(&c, cost);
  cost_add_stages(&c, false);
  cost->hot_bytes = sat_add_u64(cost->hot_bytes, sat_add_u64(cost_stage_bytes(&c), c.buffer_bytes));
  cost->compute_ps = plan_cycles_ps(chip, c.cycles);
  cost->serial_ps = plan_link_ps(chip, c.link_bytes);
  return cost->hot_bytes <= chip->sram_bytes;
}

static void closed_form_load(const struct plan_chip *chip, const struct plan_program *program,
                             const struct plan_operator *op, const struct plan_partition *cold,
                             struct plan_preload *load) {
  const struct plan_tensor *tensors = &program->tensors.data[op->tensor_first];
  struct plan_slots slots = plan_slots_of(program, op);
  uint64_t length[PLAN_AXES_MAX], memory_bytes = 0;
  cost_local_lengths(op, cold, length);
  *load = (struct plan_preload){0};
  for (uint32_t t = 0; t < op->tensor_count; t++) {
    memory_bytes = sat_add_u64(memory_bytes, tensors[t].memory_bytes);
    if (!tensors[t].is_output && tensors[t].source == PLAN_SOURCE_MEMORY) {
      uint64_t elements = cost_piece_elements(length, tensors[t].axes, cold, cost_slot_of(&slots, t));
      load->cold_bytes = sat_add_u64(load->cold_bytes, cost_bytes_of(elements, tensors[t].element_bits));
    }
  }
  if (chip->has_memory) {
    double seconds = (double)memory_bytes / (chip->memory_Bps * chip->memory_efficiency);
    load->memory_ps = (int64_t)ceil(seconds * 1e12);
    load->link_ps = plan_link_ps(chip, (double)load->cold_bytes * chip->preload_factor);
  }
}

static int64_t closed_form_distribute(const struct plan_chip *chip, const struct plan_program *program,
                                      const struct plan_operator *op, const struct plan_partition *cold,
                                      const struct plan_partition *hot) {
  const struct plan_tensor *tensors = &program->tensors.data[op->tensor_first];
  struct plan_slots slots = plan_slots_of(program, op);
  uint64_t length[PLAN_AXES_MAX];
  double bytes = 0;
  if (memcmp(cold->spatial, hot->spatial, sizeof cold->spatial) != 0) {
    return -1;
  }
  cost_local_lengths(op, cold, length);
  for (uint32_t s = 0; s + 1 < PLAN_ROTATED_MAX; s++) {
    uint32_t t = slots.tensor[s];
    if (t == UINT8_MAX || tensors[t].source != PLAN_SOURCE_MEMORY) {
      continue;
    }
    uint64_t ratio = 1;
    for (uint32_t a = 0; a < op->axis_count; a++) {
      if (cold->temporal[s][a] % hot->temporal[s][a] != 0) {
        return -1;
      }
      ratio *= (uint64_t)cold->temporal[s][a] / hot->temporal[s][a];
    }
    uint64_t piece = cost_bytes_of(cost_piece_elements(length, tensors[t].axes, cold, s), tensors[t].element_bits);
    bytes += (double)(ratio - 1) * (double)piece;
  }
  if (bytes <= 0) {
    return 0;
  }
  double factor = cost_cross_chip(chip, hot) * chip->exchange_factor;
  return plan_link_ps(chip, bytes * factor) + plan_cycles_ps(chip, chip->sync_cycles);
}

const struct plan_cost_model plan_cost_closed_form = {
    .name = "closed-form",
    .summary = "tile formulas, link bytes and barriers added up",
    .tile = closed_form_tile,
    .bound = cost_bound,
    .load = closed_form_load,
    .distribute_ps = closed_form_distribute,
};
