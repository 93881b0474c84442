/* Bounded dynamic dimensions (#stablehlo.bounds) as the program states them, before inference replaces unknown sizes.
 * Path: first in analyze_infer.c, when the module has a dynamic dimension. */
#include <string.h>

#include "analyze/verify_int.h"

/* Greatest extent of each dimension: its size, its bound, or IR_DYNAMIC. False for what is no ranked tensor. */
static bool extents_of(const struct ir_module *module, struct ir_value value, int64_t *extents, struct shape *shape) {
  int64_t bounds[SHAPE_MAX_RANK];
  if (!shape_of(module, value, shape)) {
    return false;
  }
  struct ir_attr encoding = ir_type_get(module, ir_value_type(module, value))->encoding;
  uint32_t count = encoding.id != 0 ? ir_attr_bounds(module, encoding, bounds, SHAPE_MAX_RANK) : 0;
  for (uint32_t i = 0; i < shape->rank; i++) {
    extents[i] = dim_is_static(shape->dims[i]) ? shape->dims[i] : count == shape->rank ? bounds[i] : IR_DYNAMIC;
  }
  return true;
}

/* Sizes of all operands and results of an elementwise operation: none exceeds the bound of another. */
static bool check_elementwise(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  uint32_t operands = ir_op_get(module, op)->operand_count, results = ir_op_get(module, op)->result_count;
  int64_t size[SHAPE_MAX_RANK], bound[SHAPE_MAX_RANK];
  uint32_t rank = UINT32_MAX;
  for (uint32_t i = 0; i < operands + results; i++) {
    struct ir_value value = i < operands ? ir_op_operand(module, op, i) : ir_op_result(module, op, i - operands);
    int64_t extents[SHAPE_MAX_RANK];
    struct shape shape;
    if (!extents_of(module, value, extents, &shape) || shape.rank == 0) {
      continue;
    }
    if (rank != UINT32_MAX && rank != shape.rank) {
      return true; /* inference says so */
    }
    for (uint32_t d = 0; d < shape.rank; d++) {
      if (rank == UINT32_MAX) {
        size[d] = bound[d] = IR_DYNAMIC;
      }
      if (dim_is_static(shape.dims[d])) {
        size[d] = shape.dims[d];
      } else if (dim_is_static(extents[d]) && (!dim_is_static(bound[d]) || extents[d] < bound[d])) {
        bound[d] = extents[d];
      }
      if (dim_is_static(size[d]) && dim_is_static(bound[d]) && size[d] > bound[d]) {
        infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "dimension %u has size %lld here and a bound of %lld there", d,
                    (long long)size[d], (long long)bound[d]);
        return false;
      }
    }
    rank = shape.rank;
  }
  return true;
}

/* A result is static, or has one dynamic dimension with a bound. */
static bool check_single_bound(struct infer *infer, struct ir_op op) {
  int64_t extents[SHAPE_MAX_RANK];
  struct shape shape;
  if (!extents_of(infer->module, ir_op_result(infer->module, op, 0), extents, &shape)) {
    return true;
  }
  uint32_t dynamic = 0, unbounded = 0;
  for (uint32_t i = 0; i < shape.rank; i++) {
    dynamic += !dim_is_static(shape.dims[i]);
    unbounded += !dim_is_static(extents[i]);
  }
  if (dynamic > 1 || unbounded > 0) {
    infer_error(infer, op, DIAG_E0205_RESULT_TYPE,
                "the result has %u dynamic dimensions, %u of them without bound; allowed is one that has a bound",
                dynamic, unbounded);
    return false;
  }
  return true;
}

static void check_slice(struct infer *infer, struct ir_op op) {
  int64_t extents[SHAPE_MAX_RANK];
  struct shape shape;
  struct ints limit;
  if (!extents_of(infer->module, ir_op_operand(infer->module, op, 0), extents, &shape)
      || !ints_of(infer->module, op, "limit_indices", &limit) || limit.count != shape.rank) {
    return;
  }
  for (uint32_t i = 0; i < shape.rank; i++) {
    if (dim_is_static(extents[i]) && limit.v[i] > extents[i]) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "the limit %lld of dimension %u exceeds its %s %lld (C3)",
                  (long long)limit.v[i], i, dim_is_static(shape.dims[i]) ? "size" : "bound", (long long)extents[i]);
      return;
    }
  }
}

static void check_pad(struct infer *infer, struct ir_op op) {
  int64_t extents[SHAPE_MAX_RANK];
  struct shape shape;
  struct ints low, high, interior;
  if (!extents_of(infer->module, ir_op_operand(infer->module, op, 0), extents, &shape)
      || !ints_of(infer->module, op, "edge_padding_low", &low) || low.count != shape.rank
      || !ints_of(infer->module, op, "edge_padding_high", &high) || high.count != shape.rank
      || !ints_of(infer->module, op, "interior_padding", &interior) || interior.count != shape.rank) {
    return;
  }
  for (uint32_t i = 0; i < shape.rank; i++) {
    __int128 gaps = extents[i] > 0 ? (__int128)(extents[i] - 1) * interior.v[i] : 0;
    if (!dim_is_static(shape.dims[i]) && dim_is_static(extents[i])
        && (__int128)extents[i] + low.v[i] + high.v[i] + gaps < 0) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "padding makes the bound of dimension %u negative (C4)", i);
      return;
    }
  }
}

static void check_op(struct infer *infer, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(infer->module, op);
  bool is_unary = data->operand_count == 1 && data->result_count == 1;
  switch ((int)data->opcode) {
  case IR_OP_BROADCAST_IN_DIM:
  case IR_OP_RESHAPE:
    if (is_unary) {
      check_single_bound(infer, op);
    }
    break;
  case IR_OP_SLICE:
    if (is_unary) {
      check_slice(infer, op);
    }
    break;
  case IR_OP_PAD:
    if (data->operand_count == 2) {
      check_pad(infer, op);
    }
    break;
  default:
    if (data->opcode <= IR_OP_XOR && ir_opcode_has((enum ir_opcode)data->opcode, IR_TRAIT_ELEMENTWISE)) {
      check_elementwise(infer, op);
    }
  }
}

void verify_bounds(struct infer *infer) {
  struct ir_module *module = infer->module;
  for (uint32_t id = 1; id < module->ops.count; id++) {
    struct ir_op op = {id};
    const struct ir_op_data *data = ir_op_get(module, op);
    /* mhlo has these under the same opcodes, with rules of its own */
    bool is_ours = (data->flags & IR_OP_ERASED) == 0 && strncmp(ir_text(module, data->name), "stablehlo.", 10) == 0;
    if (is_ours) {
      check_op(infer, op);
    }
  }
}
