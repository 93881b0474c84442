/* Tiles of all stages of an operator and the reductions between them. Path: plan_cost.c → here → plan_tile.c,
 * plan_cost_exchange.c. */
#include <math.h>

#include "plan/plan_cost_int.h"
#include "plan/plan_tile.h"

/* A product whose operand an earlier element-wise stage makes (dequantised weights) makes it slab by slab: so much of the
 * contraction is held at a time. */
enum { SLAB_DEPTH = 64 };

/* Width that an operand with these axes is computed in: of the tensor that has them, else of the stage that made it. */
static uint32_t operand_bits(const struct cost_operator *of, uint32_t stage, plan_axis_mask axes) {
  for (uint32_t s = stage; s-- > 0;) {
    if ((of->stages[s].axes & ~of->stages[s].reduced) == axes) {
      return of->stages[s].result_bits;
    }
  }
  uint32_t bits = 0;
  for (uint32_t t = 0; t < of->op->tensor_count; t++) {
    if (!of->tensors[t].is_output && of->tensors[t].axes == axes && of->tensors[t].element_bits > bits) {
      bits = of->tensors[t].element_bits;
    }
  }
  return bits;
}

static void open_product(struct cost_operator *of, uint32_t index) {
  const struct plan_stage *stage = &of->stages[index];
  struct cost_stage *facts = &of->facts[index];
  facts->rows = (plan_axis_mask)(facts->result & stage->left & ~stage->right);
  facts->columns = (plan_axis_mask)(facts->result & stage->right & ~stage->left);
  facts->batch = (plan_axis_mask)(facts->result & ~facts->rows & ~facts->columns);
  uint32_t left = operand_bits(of, index, stage->left), right = operand_bits(of, index, stage->right);
  uint32_t bits = left > right ? left : right;
  facts->unit = plan_tile_unit_of(of->chip, bits > 0 ? bits : stage->result_bits);
}

static bool is_needed_everywhere(const struct cost_operator *of, uint32_t index) {
  const struct plan_stage *stage = &of->stages[index];
  plan_axis_mask result = of->facts[index].result;
  for (uint32_t s = index + 1; s < of->op->stage_count; s++) {
    const struct plan_stage *later = &of->stages[s];
    bool reads = later->kind == PLAN_STAGE_MATRIX ? later->left == result || later->right == result
                                                  : (later->axes & result) == result;
    if (reads && (later->axes & stage->reduced) != 0) {
      return true;
    }
  }
  return false;
}

void cost_open_stages(struct cost_operator *of) {
  for (uint32_t s = 0; s < of->op->stage_count; s++) {
    of->facts[s] = (struct cost_stage){.result = (plan_axis_mask)(of->stages[s].axes & ~of->stages[s].reduced)};
    of->facts[s].is_needed_everywhere = is_needed_everywhere(of, s);
    if (of->stages[s].kind == PLAN_STAGE_MATRIX) {
      open_product(of, s);
    }
  }
}

static double matrix_cycles(const struct cost *c, uint32_t index) {
  const struct cost_stage *facts = &c->of->facts[index];
  struct plan_product product = {
      .batch = cost_product_over(facts->batch, c->tile),
      .rows = cost_product_over(facts->rows, c->tile),
      .columns = cost_product_over(facts->columns, c->tile),
      .depth = cost_product_over(c->of->stages[index].reduced, c->tile),
  };
  return plan_tile_unit_cycles(c->of->chip, &facts->unit, &product);
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
  const struct plan_stage *stage = &c->of->stages[index];
  bool is_inside = (stage->axes & ~scattered_axes) == 0;
  bool is_epilogue = c->of->last_reducing != UINT32_MAX && index > c->of->last_reducing && is_inside;
  double calls = is_epilogue ? 1 : (double)cost_product_over(stage->axes, c->turns);
  double points = is_epilogue ? (double)cost_piece_elements(c->length, stage->axes, c->partition, PLAN_ROTATED_MAX - 1)
                              : (double)cost_product_over(stage->axes, c->tile);
  points = scattered > 1 && is_inside ? ceil(points / (double)scattered) : points;
  return calls
         * plan_tile_vector_cycles(c->of->chip, (enum plan_stage_kind)stage->kind, points, stage->operations,
                                   stage->result_bits);
}

/* Cores that hold partial results of a stage, after the ring of output pieces has added up its part. */
static uint64_t partial_cores(const struct cost *c, uint32_t index) {
  uint64_t cores = cost_product_over_spatial(c->of->stages[index].reduced, c->partition);
  return index == c->of->last_reducing
             ? divide_common(cores, cost_slot_pieces(c->partition, PLAN_ROTATED_MAX - 1, c->of->op->axis_count))
             : cores;
}

/* The partial results of stage `index`; returns among how many cores the result is scattered afterwards. */
static uint64_t add_reduction(struct cost *c, uint32_t index, uint64_t cores, bool everywhere) {
  const struct plan_stage *stage = &c->of->stages[index];
  plan_axis_mask result = c->of->facts[index].result;
  uint32_t slot = index == c->of->last_reducing ? PLAN_ROTATED_MAX - 1 : PLAN_ROTATED_MAX;
  uint64_t elements = cost_piece_elements(c->length, result, c->partition, slot);
  double factor = c->link_factor * c->of->chip->exchange_factor;
  struct plan_reduction reduction = plan_reduction_of(c->of->chip, cores, elements, stage->result_bits, everywhere,
                                                      c->of->features.tree_reduction, factor);
  c->cycles += reduction.add_cycles + (double)reduction.barriers * c->of->chip->sync_cycles;
  c->link_bytes += (double)reduction.link_bytes * factor;
  c->buffer_bytes = reduction.buffer_bytes > c->buffer_bytes ? reduction.buffer_bytes : c->buffer_bytes;
  return everywhere ? 1 : cores;
}

void cost_add_stages(struct cost *c, bool is_bound) {
  uint64_t scattered = 1;
  plan_axis_mask scattered_axes = 0;
  for (uint32_t s = 0; s < c->of->op->stage_count; s++) {
    const struct plan_stage *stage = &c->of->stages[s];
    if (stage->kind == PLAN_STAGE_MATRIX) {
      c->cycles += (double)cost_product_over(stage->axes, c->turns) * matrix_cycles(c, s);
    } else {
      c->cycles += vector_cycles(c, s, scattered, scattered_axes);
    }
    if (stage->reduced == 0) {
      continue;
    }
    uint64_t cores = partial_cores(c, s);
    bool everywhere = c->of->facts[s].is_needed_everywhere;
    scattered_axes = c->of->facts[s].result;
    scattered = everywhere ? 1 : cores;
    if (is_bound) {
      bool is_apart = s == c->of->last_reducing && !everywhere; /* plan_cost_bound.c */
      uint64_t least = c->fewest == c->partition ? cores : cost_product_over_spatial(stage->reduced, c->fewest);
      c->cycles += is_apart ? 0 : (double)ceil_log2_u64(least) * c->of->chip->sync_cycles;
    } else if (cores > 1) {
      scattered = add_reduction(c, s, cores, everywhere);
    }
  }
}

/* Values between stages: results of sums are kept, of the others the largest is (they pass from stage to stage); the last
 * result is the output. */
uint64_t cost_stage_bytes(const struct cost *c) {
  uint64_t kept = 0, passing = 0;
  for (uint32_t s = 0; s + 1 < c->of->op->stage_count; s++) {
    const struct plan_stage *stage = &c->of->stages[s], *next = &c->of->stages[s + 1];
    plan_axis_mask result = c->of->facts[s].result;
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
