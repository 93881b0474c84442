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

static bool works_in_place(const struct cost_operator *of) {
  for (uint32_t s = 0; s < of->op->stage_count; s++) {
    uint8_t kind = of->stages[s].kind;
    if (of->stages[s].reduced != 0 || (kind != PLAN_STAGE_ELEMENTWISE && kind != PLAN_STAGE_UNARY)) {
      return false;
    }
  }
  return true;
}

void cost_open(const struct plan_chip *chip, const struct plan_features *features, const struct plan_program *program,
               const struct plan_operator *op, struct cost_operator *of) {
  of->chip = chip;
  of->features = *features;
  of->op = op;
  of->tensors = &program->tensors.data[op->tensor_first];
  of->stages = &program->stages.data[op->stage_first];
  of->slots = plan_slots_of(program, op);
  for (uint32_t t = 0; t < op->tensor_count; t++) {
    of->slot_of[t] = (uint8_t)cost_slot_of(&of->slots, t);
  }
  of->rotating = plan_rotating_axes(program, op);
  of->last_reducing = cost_last_reducing_stage(of->stages, op->stage_count);
  of->works_in_place = works_in_place(of);
  cost_open_stages(of);
}

void cost_prepare(struct cost *c, const struct cost_operator *of, const struct plan_partition *partition) {
  c->of = of;
  c->partition = c->fewest = partition;
  c->cycles = c->link_bytes = 0;
  c->buffer_bytes = 0;
  cost_local_lengths(of->op, partition, c->length);
  for (uint32_t a = 0; a < of->op->axis_count; a++) {
    uint64_t turns = 1;
    for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
      turns = partition->temporal[s][a] > turns ? partition->temporal[s][a] : turns;
    }
    c->turns[a] = turns;
    c->tile[a] = turns > 1 ? ceil_div_u64(c->length[a], turns) : c->length[a];
  }
  c->link_factor = cost_cross_chip(of->chip, partition);
}

/* Sizes of all tensors, the rotations, and the gathering of inputs from the chip. */
static void add_tensors(struct cost *c, struct plan_tile_cost *cost) {
  uint64_t slot_bytes[PLAN_ROTATED_MAX] = {0};
  uint64_t gathered = 0;
  bool may_stay = c->of->works_in_place;
  for (uint32_t t = 0; t < c->of->op->tensor_count; t++) {
    const struct plan_tensor *tensor = &c->of->tensors[t];
    uint32_t slot = c->of->slot_of[t];
    uint64_t bytes =
        cost_bytes_of(cost_piece_elements(c->length, tensor->axes, c->partition, slot), tensor->element_bits);
    bool is_cut = slot < PLAN_ROTATED_MAX && cost_slot_pieces(c->partition, slot, c->of->op->axis_count) > 1;
    if (slot < PLAN_ROTATED_MAX) {
      slot_bytes[slot] = bytes;
    }
    uint64_t place = plan_word_bytes(bytes);
    cost->hot_bytes = sat_add_u64(cost->hot_bytes, is_cut ? sat_mul_u64(place, 2) : place);
    if (!tensor->is_output && tensor->source == PLAN_SOURCE_MEMORY) {
      cost->cold_bytes = sat_add_u64(cost->cold_bytes, place);
    } else if (!tensor->is_output) {
      bool stays = may_stay && !tensor->is_view && tensor->axes == cost_axes_of(c->of->op);
      may_stay = may_stay && !stays;
      gathered = sat_add_u64(gathered, stays ? 0 : bytes);
    }
  }
  c->link_bytes += (double)gathered * c->link_factor * c->of->chip->exchange_factor;
  c->cycles += gathered > 0 ? c->of->chip->sync_cycles : 0;

  struct plan_rotation loops[PLAN_ROTATIONS_MAX];
  uint32_t count = plan_rotations_of(c->partition, c->of->op->axis_count, slot_bytes, loops);
  double outer = 1, bytes = 0, shifts = 0;
  for (uint32_t i = 0; i < count; i++) {
    double passes = outer * (double)(loops[i].axis_factor - 1);
    shifts += passes;
    bytes += passes * (double)loops[i].bytes;
    outer *= (double)loops[i].axis_factor;
  }
  c->cycles += shifts * c->of->chip->sync_cycles;
  cost->shift_ps = plan_link_ps(c->of->chip, bytes * c->link_factor);
}

static void closed_form_open(const struct plan_chip *chip, const struct plan_features *features,
                             const struct plan_program *program, const struct plan_operator *op, void *opened) {
  cost_open(chip, features, program, op, opened);
}

static bool closed_form_price(const void *opened, const struct plan_partition *partition, struct plan_tile_cost *cost) {
  const struct cost_operator *of = opened;
  struct cost c;
  *cost = (struct plan_tile_cost){0};
  cost_prepare(&c, of, partition);
  add_tensors(&c, cost);
  cost_add_stages(&c, false);
  cost->hot_bytes = sat_add_u64(cost->hot_bytes, plan_word_bytes(sat_add_u64(cost_stage_bytes(&c), c.buffer_bytes)));
  cost->compute_ps = plan_cycles_ps(of->chip, c.cycles);
  cost->serial_ps = plan_link_ps(of->chip, c.link_bytes);
  return cost->hot_bytes <= of->chip->sram_bytes;
}

static bool closed_form_tile(const struct plan_chip *chip, const struct plan_features *features,
                             const struct plan_program *program, const struct plan_operator *op,
                             const struct plan_partition *partition, struct plan_tile_cost *cost) {
  struct cost_operator of;
  cost_open(chip, features, program, op, &of);
  return closed_form_price(&of, partition, cost);
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
      uint64_t bytes = cost_bytes_of(elements, tensors[t].element_bits);
      load->cold_bytes = sat_add_u64(load->cold_bytes, plan_word_bytes(bytes));
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
    .load = closed_form_load,
    .distribute_ps = closed_form_distribute,
    .opened_bytes = sizeof(struct cost_operator),
    .vector_bytes = sizeof(struct cost_vector),
    .open = closed_form_open,
    .price = closed_form_price,
    .bound_vector = cost_bound_vector,
    .bound_pieces = cost_bound_pieces,
    .bound_turns = cost_bound_turns,
    .bound_between = cost_bound_between,
};
