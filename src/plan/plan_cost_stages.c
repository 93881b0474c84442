/* Tiles of all stages of an operator and the reductions between them. Path: plan_cost.c → here → plan_tile.c,
 * plan_cost_exchange.c. */
#include <math.h>

#include "plan/plan_cost_int.h"
#include "plan/plan_tile.h"

/* A product whose operand an earlier element-wise stage makes (dequantised weights) makes it slab by slab: so much of the
 * contraction is held at a time. */
enum { SLAB_DEPTH = 64 };

/* Width that an operand with these axes is computed in: of the tensor that has them, else of the stage that made it. */
static uint32_t operand_bits(const struct cost *c, uint32_t stage, plan_axis_mask axes) {
  for (uint32_t s = stage; s-- > 0;) {
    if ((c->stages[s].axes & ~c->stages[s].reduced) == axes) {
      return c->stages[s].result_bits;
    }
  }
  uint32_t bits = 0;
  for (uint32_t t = 0; t < c->op->tensor_count; t++) {
    if (!c->tensors[t].is_output && c->tensors[t].axes == axes && c->tensors[t].element_bits > bits) {
      bits = c->tensors[t].element_bits;
    }
  }
  return bits;
}

static double matrix_cycles(const struct cost *c, uint32_t index) {
  const struct plan_stage *stage = &c->stages[index];
  plan_axis_mask free = (plan_axis_mask)(stage->axes & ~stage->reduced);
  plan_axis_mask rows = (plan_axis_mask)(free & stage->left & ~stage->right);
  plan_axis_mask columns = (plan_axis_mask)(free & stage->right & ~stage->left);
  plan_axis_mask batch = (plan_axis_mask)(free & ~rows & ~columns);
  uint32_t left = operand_bits(c, index, stage->left), right = operand_bits(c, index, stage->right);
  uint32_t bits = left > right ? left : right;
  struct plan_product product = {
      .batch = cost_product_over(batch, c->tile),
      .rows = cost_product_over(rows, c->tile),
      .columns = cost_product_over(columns, c->tile),
      .depth = cost_product_over(stage->reduced, c->tile),
      .bits = bits > 0 ? bits : stage->result_bits,
  };
  return plan_tile_matrix_cycles(c->chip, &product);
}

bool cost_is_needed_everywhere(const struct cost *c, uint32_t index) {
  const struct plan_stage *stage = &c->stages[index];
  plan_axis_mask result = (plan_axis_mask)(stage->axes & ~stage->reduced);
  for (uint32_t s = index + 1; s < c->op->stage_count; s++) {
    const struct plan_stage *later = &c->stages[s];
    bool reads = later->kind == PLAN_STAGE_MATRIX ? later->left == result || later->right == result
                                                  : (later->axes & result) == result;
    if (reads && (later->axes & stage->reduced) != 0) {
      return true;
    }
  }
  return false;
}

static uint64_t divide_common(uint64_t value, uint64_t divisor) {
  uint64_t a = value, b = divisor;
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return value / a;
}

/* Points and calls of a vector stage. After the last sum each core works on its share of its piece of the output alone. */
static double vector_cycles(const struct cost *c, uint32_t index, uint64_t scattered, plan_axis_mask scattered_axes) {
  const struct plan_stage *stage = &c->stages[index];
  bool is_inside = (stage->axes & ~scattered_axes) == 0;
  bool is_epilogue = c->last_reducing != UINT32_MAX && index > c->last_reducing && is_inside;
  double calls = is_epilogue ? 1 : (double)cost_product_over(stage->axes, c->turns);
  double points = is_epilogue ? (double)cost_piece_elements(c->length, stage->axes, c->partition, PLAN_ROTATED_MAX - 1)
                              : (double)cost_product_over(stage->axes, c->tile);
  points = scattered > 1 && is_inside ? ceil(points / (double)scattered) : points;
  return calls
         * plan_tile_vector_cycles(c->chip, (enum plan_stage_kind)stage->kind, points, stage->operations,
                                   stage->result_bits);
}

/* Cores that hold partial results of a stage, after the ring of output pieces has added up its part. */
static uint64_t partial_cores(const struct cost *c, uint32_t index) {
  uint64_t cores = cost_product_over_spatial(c->stages[index].reduced, c->partition);
  return index == c->last_reducing
             ? divide_common(cores, cost_slot_pieces(c->partition, PLAN_ROTATED_MAX - 1, c->op->axis_count))
             : cores;
}

/* The partial results of stage `index`; returns among how many cores the result is scattered afterwards. */
static uint64_t add_reduction(struct cost *c, uint32_t index, uint64_t cores, bool everywhere) {
  const struct plan_stage *stage = &c->stages[index];
  plan_axis_mask result = (plan_axis_mask)(stage->axes & ~stage->reduced);
  uint32_t slot = index == c->last_reducing ? PLAN_ROTATED_MAX - 1 : PLAN_ROTATED_MAX;
  uint64_t elements = cost_piece_elements(c->length, result, c->partition, slot);
  double factor = c->link_factor * c->chip->exchange_factor;
  struct plan_reduction reduction =
      plan_reduction_of(c->chip, cores, elements, stage->result_bits, everywhere, c->features->tree_reduction, factor);
  c->cycles += reduction.add_cycles + (double)reduction.barriers * c->chip->sync_cycles;
  c->link_bytes += (double)reduction.link_bytes * factor;
  c->buffer_bytes = reduction.buffer_bytes > c->buffer_bytes ? reduction.buffer_bytes : c->buffer_bytes;
  return everywhere ? 1 : cores;
}

void cost_add_stages(struct cost *c, bool is_bound) {
  uint64_t scattered = 1;
  plan_axis_mask scattered_axes = 0;
  for (uint32_t s = 0; s < c->op->stage_count; s++) {
    const struct plan_stage *stage = &c->stages[s];
    if (stage->kind == PLAN_STAGE_MATRIX) {
      c->cycles += (double)cost_product_over(stage->axes, c->turns) * matrix_cycles(c, s);
    } else {
      c->cycles += vector_cycles(c, s, scattered, scattered_axes);
    }
    if (stage->reduced == 0) {
      continue;
    }
    uint64_t cores = partial_cores(c, s);
    bool everywhere = cost_is_needed_everywhere(c, s);
    scattered_axes = (plan_axis_mask)(stage->axes & ~stage->reduced);
    scattered = everywhere ? 1 : cores;
    if (is_bound) {
      bool is_apart = s == c->last_reducing && !everywhere; /* plan_cost_bound.c */
      c->cycles += is_apart ? 0 : (double)ceil_log2_u64(cores) * c->chip->sync_cycles;
    } else if (cores > 1) {
      scattered = add_reduction(c, s, cores, everywhere);
    }
  }
}

/* Values between stages: results of sums are kept, of the others the largest is (they pass from stage to stage); the last
 * result is the output. */
uint64_t cost_stage_bytes(const struct cost *c) {
  uint64_t kept = 0, passing = 0;
  for (uint32_t s = 0; s + 1 < c->op->stage_count; s++) {
    const struct plan_stage *stage = &c->stages[s], *next = &c->stages[s + 1];
    plan_axis_mask result = (plan_axis_mask)(stage->axes & ~stage->reduced);
    uint64_t elements = cost_product_over(result, c->length);
    if (stage->reduced == 0 && next->kind == PLAN_STAGE_MATRIX && (result == next->left || result == next->right)) {
      uint64_t depth = cost_product_over(result & next->reduced, c->length);
      elements = ceil_div_u64(elements, ceil_div_u64(depth, SLAB_DEPTH));
    }
    uint64_t bytes = cost_bytes_of(elements, stage->result_bits);
    if (stage->reduced != 0) {
      kept = sat_add_u64(kept, bytes);
    } else if (bytes > passing) {
      passing = bytes;
    }
  }
  return sat_add_u64(kept, passing);
}
