/* Operations that only direct values: calls, branches, loops, tuples, tokens, constants. */
#include <stdlib.h>
#include <string.h>

#include "interp/interp_custom.h"

static bool call_function(struct interp_call *call, struct ir_op callee) {
  if (!callee.id) {
    return interp_unsupported(call, "calls a function that is not there");
  }
  return interp_function(call->frame->process, call, callee, call->operands, call->operand_count, call->results,
                         call->result_count);
}

bool interp_op_call(struct interp_call *call) {
  return call_function(call, analyze_symbols_callee(&call->frame->process->run->symbols, call->module, call->op));
}

/* Its decomposition defines it (spec, composite). */
bool interp_op_composite(struct interp_call *call) {
  if (ir_op_get(call->module, call->op)->region_count > 0) {
    return interp_op_inline_region(call);
  }
  return interp_op_call(call);
}

bool interp_op_inline_region(struct interp_call *call) {
  return interp_region(call->frame, call->op, 0, call->operands, call->operand_count, call->results,
                       call->result_count);
}

bool interp_op_constant(struct interp_call *call) {
  struct ir_attr attr = ir_op_attr(call->module, call->op, "value");
  if (attr.id && ir_attr_get(call->module, attr)->kind == IR_ATTR_RESOURCE) {
    return interp_unsupported(call, "its value is the resource '%s', which the file does not hold",
                              ir_text(call->module, ir_attr_get(call->module, attr)->text));
  }
  struct interp_value *value = attr.id ? interp_from_attr(call->module, attr) : NULL;
  if (!value) {
    return interp_unsupported(call, "its value is no dense tensor of numbers");
  }
  struct ir_type type = ir_value_type(call->module, ir_op_result(call->module, call->op, 0));
  const struct ir_type_data *element = ir_type_get(call->module, ir_type_get(call->module, type)->element);
  value->quant = element->kind == IR_TYPE_QUANTIZED ? element->quant + 1 : 0; /* the attribute has the storage type */
  call->results[0] = value;
  return true;
}

bool interp_op_if(struct interp_call *call) {
  uint32_t branch = interp_int_at(call->operands[0], 0) != 0 ? 0 : 1;
  return interp_region(call->frame, call->op, branch, NULL, 0, call->results, call->result_count);
}

/* An index that names no branch means the last one (spec, case). */
bool interp_op_case(struct interp_call *call) {
  int64_t index = interp_int_at(call->operands[0], 0), count = ir_op_get(call->module, call->op)->region_count;
  uint32_t branch = (uint32_t)(index >= 0 && index < count ? index : count - 1);
  return interp_region(call->frame, call->op, branch, NULL, 0, call->results, call->result_count);
}

static void release_all(struct interp_value **values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    interp_release(values[i]);
    values[i] = NULL;
  }
}

/* The carried values are owned by `results` between iterations. */
bool interp_op_while(struct interp_call *call) {
  uint32_t count = call->operand_count;
  struct interp_value **next = calloc((size_t)count + 1, sizeof *next);
  if (!next) {
    return interp_out_of_memory(call);
  }
  for (uint32_t i = 0; i < count; i++) {
    interp_result_is(call, i, call->operands[i]);
  }
  bool ok = true;
  for (;;) {
    struct interp_value *condition = NULL;
    ok = interp_spend(call, 1) && interp_region(call->frame, call->op, 0, call->results, count, &condition, 1);
    bool goes_on = ok && interp_int_at(condition, 0) != 0;
    interp_release(condition);
    if (!goes_on) {
      break;
    }
    ok = interp_region(call->frame, call->op, 1, call->results, count, next, count);
    if (!ok) {
      break;
    }
    release_all(call->results, count);
    memcpy(call->results, next, count * sizeof *next);
  }
  free(next);
  return ok;
}

bool interp_op_tuple(struct interp_call *call) {
  call->results[0] = interp_tuple_new(INTERP_TUPLE, call->operands, call->operand_count);
  return call->results[0] || interp_out_of_memory(call);
}

bool interp_op_get_tuple_element(struct interp_call *call) {
  int64_t index = interp_attr_int(call, "index", 0);
  if (call->operands[0]->kind != INTERP_TUPLE || index < 0 || (uint64_t)index >= call->operands[0]->count) {
    return interp_wrong(call, "the tuple has no element %lld", (long long)index);
  }
  interp_result_is(call, 0, call->operands[0]->parts[index]);
  return true;
}

bool interp_op_identity(struct interp_call *call) {
  for (uint32_t i = 0; i < call->result_count; i++) {
    interp_result_is(call, i, call->operands[i]);
  }
  return true;
}

bool interp_op_first(struct interp_call *call) {
  interp_result_is(call, 0, call->operands[0]);
  return true;
}

bool interp_op_token(struct interp_call *call) {
  call->results[0] = interp_token_new();
  return call->results[0] || interp_out_of_memory(call);
}

/* Between types that hold the same values: what it gets is what it gives. */
bool interp_op_conversion_cast(struct interp_call *call) {
  if (call->result_count != call->operand_count) {
    return interp_unsupported(call, "%u values from %u", call->result_count, call->operand_count);
  }
  for (uint32_t i = 0; i < call->result_count; i++) {
    if (!interp_is_of_result(call, i, call->operands[i])) {
      return false;
    }
    interp_result_is(call, i, call->operands[i]);
  }
  return true;
}
