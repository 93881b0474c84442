/* Elementwise operations: facts in lower_elementwise.def. */
#include "lower/lower_ops.h"

enum elementwise_type { TYPE_OPERAND, TYPE_RESULT, TYPE_CONVERT, TYPE_QUANTIZE };

struct elementwise_row {
  uint8_t present;
  uint8_t type;
  uint8_t vector, function, results;
  uint8_t integer;
  uint8_t complex_vector, complex_function, complex_results;
};

static const struct elementwise_row rows[IR_OP_COUNT] = {
#define LOWER_ELEMENTWISE(id, type, vector, function, results, integer, cvector, cfunction, cresults)                  \
  [IR_OP_##id] = {1,       TYPE_##type, vector,  WORK_FUNCTION_##function,                                             \
                  results, integer,     cvector, WORK_FUNCTION_##cfunction,                                            \
                  cresults},
#include "lower/lower_elementwise.def"
#undef LOWER_ELEMENTWISE
};

static enum dtype elementwise_dtype(const struct lower *lower, struct ir_op op, const struct elementwise_row *row) {
  enum dtype operand = lower_in_count(lower, op) > 0 ? lower_shape_of(lower, lower_in(lower, op, 0)).dtype : DTYPE_NONE;
  enum dtype result =
      lower_out_count(lower, op) > 0 ? lower_shape_of(lower, lower_out(lower, op, 0)).dtype : DTYPE_NONE;
  switch (row->type) {
  case TYPE_RESULT:
    return result;
  case TYPE_CONVERT:
    return dtype_is_floating(operand) || !dtype_is_floating(result) ? operand : result;
  case TYPE_QUANTIZE:
    /* requantization goes from storage to storage; its arithmetic is real all the same */
    return dtype_is_floating(operand) ? operand : DTYPE_F32;
  default:
    return operand;
  }
}

void lower_elementwise_work_as(struct lower *lower, struct ir_op op, enum ir_opcode opcode) {
  const struct elementwise_row *row = &rows[opcode];
  enum dtype dtype = elementwise_dtype(lower, op, row);
  switch (dtype_class_of(dtype)) {
  case DTYPE_CLASS_FLOAT:
    lower_work(lower, WORK_ENGINE_VECTOR, dtype, row->vector);
    lower_work_function(lower, (enum work_function)row->function, dtype, row->results);
    break;
  case DTYPE_CLASS_COMPLEX:
    lower_work(lower, WORK_ENGINE_VECTOR, lower_real_type(dtype), row->complex_vector);
    lower_work_function(lower, (enum work_function)row->complex_function, lower_real_type(dtype), row->complex_results);
    break;
  case DTYPE_CLASS_NONE:
    break;
  default:
    lower_work(lower, WORK_ENGINE_INTEGER, dtype, row->integer);
    break;
  }
}

bool lower_elementwise_work(struct lower *lower, struct ir_op op) {
  enum ir_opcode opcode = ir_op_code(lower->module, op);
  if (!rows[opcode].present) {
    return false;
  }
  lower_elementwise_work_as(lower, op, opcode);
  return true;
}

/* JAX writes conversions of weak types to the type they already have. */
static bool is_same_type(const struct lower *lower, struct ir_op op) {
  return ir_op_code(lower->module, op) == IR_OP_CONVERT && lower_in_count(lower, op) == 1
         && ir_value_type(lower->module, lower_in(lower, op, 0)).id
                == ir_value_type(lower->module, lower_out(lower, op, 0)).id;
}

void lower_elementwise(struct lower *lower, struct ir_op op) {
  if (is_same_type(lower, op)) {
    lower_forward_first(lower, op);
    return;
  }
  const uint32_t operands = lower_in_count(lower, op);
  uint32_t inputs[4];
  for (uint32_t i = 0; i < operands && i < 4; i++) {
    inputs[i] = lower_operand(lower, op, i);
  }
  uint32_t result = lower_result(lower, op, 0);
  struct lower_shape shape = lower_shape_of(lower, lower_out(lower, op, 0));
  lower_begin(lower, op, WORK_ELEMENTWISE);
  lower_axes_of(lower, &shape);
  lower_elementwise_work(lower, op);
  for (uint32_t i = 0; i < operands && i < 4; i++) {
    struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, i));
    bool is_same = in.rank == shape.rank;
    for (uint32_t d = 0; d < in.rank && is_same; d++) {
      is_same = in.dims[d] == shape.dims[d];
    }
    lower_read(lower, inputs[i], is_same ? lower_identity : NULL, UINT64_MAX, 0);
  }
  lower_write_all(lower, result, shape.rank);
  lower_end(lower);
}

/* Calls in a body are followed this deep; what lies deeper is no scalar arithmetic. */
enum { BODY_CALL_DEPTH = 8 };

static void body_block_work(struct lower *lower, struct ir_block block, unsigned depth) {
  const struct ir_module *module = lower->module;
  for (struct ir_op op = block.id != 0 ? ir_block_first(module, block) : (struct ir_op){0};
       op.id != 0 && !lower_stopped(lower); op = ir_op_next(module, op)) {
    if (++lower->op_count / 4 > lower->max_tasks) {
      lower_limit(lower, op, "the program has more operations than the budget allows after inlining");
      return;
    }
    if (ir_op_code(module, op) == IR_OP_FUNC_CALL && depth < BODY_CALL_DEPTH) {
      struct ir_op function = analyze_symbols_callee(&lower->symbols, module, op);
      body_block_work(lower, function.id != 0 ? ir_function_body(module, function) : (struct ir_block){0}, depth + 1);
    } else if (!is_same_type(lower, op)) {
      lower_elementwise_work(lower, op);
    }
  }
}

void lower_body_work(struct lower *lower, struct ir_region region) {
  body_block_work(lower, ir_region_entry(lower->module, region), 0);
}
