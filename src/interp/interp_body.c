/* Region bodies of reduce, scatter, map, sort and their like, applied to many elements. A body of elementwise operations on
 * scalars is evaluated once, its scalars standing for vectors of all elements ("lanes"); any other body runs element by
 * element. Path: the operations with bodies → interp_body_apply → interp_region. */
#include <stdlib.h>
#include <string.h>

#include "interp/interp_int.h"

static bool is_plain_scalar(const struct ir_module *m, struct ir_type type) {
  const struct ir_type_data *data = ir_type_get(m, type);
  return data->kind == IR_TYPE_TENSOR && data->rank == 0 && ir_type_get(m, data->element)->kind == IR_TYPE_SCALAR;
}

static bool is_lane_op(const struct ir_module *m, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(m, op);
  enum ir_opcode opcode = (enum ir_opcode)data->opcode;
  if (!ir_opcode_has(opcode, IR_TRAIT_ELEMENTWISE) && !ir_opcode_has(opcode, IR_TRAIT_CONSTANT)) {
    return false;
  }
  bool ok = data->result_count == 1 && data->region_count == 0
            && is_plain_scalar(m, ir_value_type(m, ir_op_result(m, op, 0)));
  for (uint32_t i = 0; ok && i < data->operand_count; i++) {
    ok = is_plain_scalar(m, ir_value_type(m, ir_op_operand(m, op, i)));
  }
  return ok;
}

static enum ir_opcode single_operation(const struct ir_module *m, struct ir_block block) {
  struct ir_op op = ir_block_first(m, block), end = ir_block_terminator(m, block);
  if (!op.id || ir_op_next(m, op).id != end.id || ir_block_get(m, block)->argument_count != 2
      || ir_op_get(m, op)->operand_count != 2 || ir_op_get(m, end)->operand_count != 1
      || ir_op_operand(m, end, 0).id != ir_op_result(m, op, 0).id) {
    return IR_OP_UNKNOWN;
  }
  uint32_t a = ir_op_operand(m, op, 0).id, b = ir_op_operand(m, op, 1).id;
  uint32_t first = ir_block_argument(m, block, 0).id, second = ir_block_argument(m, block, 1).id;
  bool in_order = a == first && b == second;
  bool swapped = a == second && b == first && ir_opcode_has(ir_op_code(m, op), IR_TRAIT_COMMUTATIVE);
  return in_order || swapped ? ir_op_code(m, op) : IR_OP_UNKNOWN;
}

void interp_body_init(struct interp_body *body, struct interp_frame *frame, struct ir_op op, uint32_t region) {
  const struct ir_module *m = frame->process->run->module;
  struct ir_block block = ir_region_entry(m, ir_op_region(m, op, region));
  *body = (struct interp_body){.frame = frame, .op = op, .region = region};
  if (!block.id) {
    return; /* interp_region says so */
  }
  struct ir_op end = ir_block_terminator(m, block);
  body->argument_count = ir_block_get(m, block)->argument_count;
  body->result_count = end.id ? ir_op_get(m, end)->operand_count : 0;
  body->is_elementwise = end.id != 0;
  for (uint32_t i = 0; i < body->argument_count; i++) {
    body->is_elementwise &= is_plain_scalar(m, ir_value_type(m, ir_block_argument(m, block, i)));
  }
  for (struct ir_op o = ir_block_first(m, block); body->is_elementwise && o.id != end.id; o = ir_op_next(m, o)) {
    body->is_elementwise = is_lane_op(m, o);
  }
  body->opcode = body->is_elementwise ? single_operation(m, block) : IR_OP_UNKNOWN;
}

/* A rank-1 tensor with one element for every lane. */
static struct interp_value *spread(struct interp_call *call, struct interp_value *owned, uint64_t lanes) {
  int64_t dims = (int64_t)lanes;
  if (!owned || (owned->rank == 1 && owned->count == lanes)) {
    return owned;
  }
  struct interp_value *wide = interp_scratch(call, (enum dtype)owned->dtype, &dims, 1);
  for (uint64_t i = 0; wide && i < lanes; i++) {
    interp_copy_element(wide, i, owned, 0);
  }
  interp_release(owned);
  return wide;
}

/* The argument with the shape that operations on lanes expect: one dimension, or none for one element. */
static struct interp_value *as_lanes(struct interp_call *call, struct interp_value *value) {
  int64_t dims = (int64_t)value->count;
  uint32_t rank = value->count == 1 ? 0 : 1;
  if (value->rank == rank) {
    interp_retain(value);
    return value;
  }
  return interp_copy(call, value, &dims, rank);
}

static bool apply_at_once(const struct interp_body *body, struct interp_call *call, struct interp_value **arguments,
                          uint64_t lanes, struct interp_value **results) {
  uint64_t outer = body->frame->lanes;
  body->frame->lanes = lanes;
  bool ok =
      interp_region(body->frame, body->op, body->region, arguments, body->argument_count, results, body->result_count);
  body->frame->lanes = outer;
  for (uint32_t i = 0; ok && i < body->result_count; i++) {
    results[i] = spread(call, results[i], lanes);
    ok = results[i] != NULL;
    for (uint32_t k = 0; !ok && k < body->result_count; k++) {
      interp_release(results[k]);
      results[k] = NULL;
    }
  }
  return ok;
}

/* One element of every argument as scalars, and the results into lane i. */
static bool apply_to_lane(const struct interp_body *body, struct interp_call *call,
                          struct interp_value *const *arguments, uint64_t i, uint64_t lanes,
                          struct interp_value **scalars, struct interp_value **results) {
  bool ok = true;
  for (uint32_t a = 0; a < body->argument_count; a++) {
    scalars[a] = ok ? interp_scratch(call, (enum dtype)arguments[a]->dtype, NULL, 0) : NULL;
    ok = scalars[a] != NULL;
    if (ok) {
      scalars[a]->quant = arguments[a]->quant;
      interp_copy_element(scalars[a], 0, arguments[a], arguments[a]->count == 1 ? 0 : i);
    }
  }
  struct interp_value **out = scalars + body->argument_count;
  ok = ok && interp_region(body->frame, body->op, body->region, scalars, body->argument_count, out, body->result_count);
  for (uint32_t r = 0; ok && r < body->result_count; r++) {
    int64_t dims = (int64_t)lanes;
    if (!results[r]) {
      results[r] = interp_scratch(call, (enum dtype)out[r]->dtype, &dims, 1);
    }
    if (results[r]) {
      results[r]->quant = out[r]->quant;
      interp_copy_element(results[r], i, out[r], 0);
    }
    interp_release(out[r]);
  }
  for (uint32_t r = 0; r < body->result_count; r++) {
    ok &= results[r] != NULL;
  }
  for (uint32_t a = 0; a < body->argument_count; a++) {
    interp_release(scalars[a]);
  }
  return ok;
}

bool interp_body_apply(struct interp_body *body, struct interp_value *const *arguments, uint64_t lanes,
                       struct interp_value **results) {
  struct interp_call call = {.frame = body->frame, .module = body->frame->process->run->module, .op = body->op};
  uint32_t count = body->argument_count + body->result_count;
  struct interp_value **own = calloc((size_t)count + 1, sizeof *own);
  if (!own) {
    return interp_out_of_memory(&call);
  }
  memset(results, 0, body->result_count * sizeof *results);
  bool ok = interp_spend(&call, lanes);
  if (body->is_elementwise) {
    for (uint32_t a = 0; ok && a < body->argument_count; a++) {
      own[a] = as_lanes(&call, arguments[a]);
      ok = own[a] != NULL;
    }
    ok = ok && apply_at_once(body, &call, own, lanes, results);
    for (uint32_t a = 0; a < body->argument_count; a++) {
      interp_release(own[a]);
    }
  } else {
    for (uint64_t i = 0; ok && i < lanes; i++) {
      ok = apply_to_lane(body, &call, arguments, i, lanes, own, results);
    }
    for (uint32_t r = 0; !ok && r < body->result_count; r++) {
      interp_release(results[r]);
      results[r] = NULL;
    }
  }
  free(own);
  return ok;
}
