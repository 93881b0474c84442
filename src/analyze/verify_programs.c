/* interpreter.run_parallel: a table of functions, one per replica and partition. */
#include "analyze/verify_int.h"

static bool fail_value(struct infer *infer, struct ir_op op, const char *text) {
  infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "%s", text);
  return false;
}

static struct ir_op function_of(const struct infer *infer, struct ir_attr symbol) {
  const struct ir_attr_data *data = ir_attr_get(infer->module, symbol);
  bool is_name = data->kind == IR_ATTR_SYMBOL || data->kind == IR_ATTR_STRING;
  return is_name ? analyze_symbols_find(infer->symbols, data->text) : (struct ir_op){0};
}

/* Adds inputs and results of one row of programs; false after a message. */
static bool add_row(struct infer *infer, struct ir_op op, struct ir_attr row, uint32_t *inputs, uint32_t *results) {
  struct ir_module *module = infer->module;
  const struct ir_attr_data data = *ir_attr_get(module, row);
  for (uint32_t i = 0; i < data.list_count; i++) {
    struct ir_op function = function_of(infer, (struct ir_attr){module->lists.data[data.list_first + i]});
    struct ir_type type = function.id != 0 ? ir_function_type(module, function) : (struct ir_type){0};
    if (type.id == 0 || ir_type_get(module, type)->kind != IR_TYPE_FUNCTION) {
      infer_error(infer, op, DIAG_E0207_UNRESOLVED_CALL, "'programs' names a function that does not exist");
      return false;
    }
    *inputs += ir_type_get(module, type)->input_count;
    *results += ir_type_get(module, type)->count - ir_type_get(module, type)->input_count;
  }
  return true;
}

/* Every function of the infeed queue returns one tensor. */
static bool check_infeed(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_attr infeed = ir_op_attr(module, op, "infeed");
  if (infeed.id == 0) {
    return true;
  }
  const struct ir_attr_data data = *ir_attr_get(module, infeed);
  if (data.kind != IR_ATTR_ARRAY || data.list_count == 0) {
    return fail_value(infer, op, "'infeed' is empty");
  }
  for (uint32_t i = 0; i < data.list_count; i++) {
    struct ir_op function = function_of(infer, (struct ir_attr){module->lists.data[data.list_first + i]});
    struct ir_type type = function.id != 0 ? ir_function_type(module, function) : (struct ir_type){0};
    if (type.id == 0) {
      infer_error(infer, op, DIAG_E0207_UNRESOLVED_CALL, "'infeed' names a function that does not exist");
      return false;
    }
    const struct ir_type_data *signature = ir_type_get(module, type);
    bool is_queue = signature->kind == IR_TYPE_FUNCTION && signature->count - signature->input_count == 1;
    struct ir_type result = {is_queue ? module->lists.data[signature->first + signature->input_count] : 0};
    if (!is_queue || !ir_type_is_tensor(module, result)) {
      return fail_value(infer, op, "a function of 'infeed' does not return one tensor");
    }
  }
  return true;
}

bool verify_run_parallel(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_attr programs = ir_op_attr(module, op, "programs");
  if (programs.id == 0 || ir_attr_get(module, programs)->kind != IR_ATTR_ARRAY) {
    return true;
  }
  const struct ir_attr_data table = *ir_attr_get(module, programs);
  uint32_t inputs = 0, results = 0, width = 0;
  if (table.list_count == 0) {
    return fail_value(infer, op, "'programs' is empty");
  }
  for (uint32_t i = 0; i < table.list_count; i++) {
    struct ir_attr row = {module->lists.data[table.list_first + i]};
    if (ir_attr_get(module, row)->kind != IR_ATTR_ARRAY || ir_attr_get(module, row)->list_count == 0) {
      return fail_value(infer, op, "a row of 'programs' is empty");
    }
    width = i == 0 ? ir_attr_get(module, row)->list_count : width;
    if (ir_attr_get(module, row)->list_count != width) {
      return fail_value(infer, op, "rows of 'programs' have different lengths");
    }
    if (!add_row(infer, op, row, &inputs, &results)) {
      return false;
    }
  }
  if (ir_op_get(module, op)->operand_count != inputs) {
    infer_error(infer, op, DIAG_E0201_OPERAND_COUNT, "the programs have %u inputs together, found %u operands", inputs,
                ir_op_get(module, op)->operand_count);
    return false;
  }
  if (ir_op_get(module, op)->result_count != results) {
    infer_error(infer, op, DIAG_E0202_RESULT_COUNT, "the programs have %u results together, found %u", results,
                ir_op_get(module, op)->result_count);
    return false;
  }
  return check_infeed(infer, op);
}
