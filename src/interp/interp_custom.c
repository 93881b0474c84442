/* Custom calls: the targets of interp_targets.def and interp_lapack.def by name. Nothing checks a custom call before it runs, so
 * every target checks its operands. Path: a row of interp_ops.def → here → the target's function. */
#include <string.h>

#include "interp/interp_custom.h"

#ifndef RDG_LAPACKE
static bool without_lapack(struct interp_call *call) {
  return interp_unsupported(call, "the target '%s' needs LAPACKE, which this build does not have",
                            interp_attr_text(call, "call_target_name"));
}
#endif

/* What a target takes. */
enum operands { ANY, NUMBERS, NONE };

static const struct {
  const char *name;
  interp_op_function *evaluate;
  enum operands operands;
} targets[] = {
#define INTERP_TARGET(name, function, operands) {name, function, operands},
#include "interp/interp_targets.def"
#ifndef RDG_LAPACKE
#undef INTERP_TARGET
#define INTERP_TARGET(name, function, operands) {name, without_lapack, operands},
#endif
#include "interp/interp_lapack.def"
#undef INTERP_TARGET
};

struct ir_op interp_called_function(const struct interp_call *call) {
  struct ir_attr list = ir_op_attr(call->module, call->op, "called_computations");
  const struct ir_attr_data *data = list.id ? ir_attr_get(call->module, list) : NULL;
  struct ir_op function = {0};
  if (data && data->kind == IR_ATTR_ARRAY && data->list_count > 0) {
    struct ir_attr first = {call->module->lists.data[data->list_first]};
    const struct ir_attr_data *name = ir_attr_get(call->module, first);
    function =
        name->kind == IR_ATTR_SYMBOL ? ir_function_find(call->module, ir_text(call->module, name->text)) : function;
  }
  if (!function.id) {
    interp_unsupported(call, "it names no function that it calls");
  }
  return function;
}

static bool check_operands(const struct interp_call *call, enum operands operands) {
  if ((operands == NONE) != (call->operand_count == 0)) {
    return interp_wrong(call, "it has %u operands", call->operand_count);
  }
  for (uint32_t i = 0; operands == NUMBERS && i < call->operand_count; i++) {
    if (call->operands[i]->kind != INTERP_TENSOR || call->operands[i]->quant) {
      return interp_unsupported(call, "operand %u is no tensor of numbers", i);
    }
  }
  return true;
}

bool interp_op_custom_call(struct interp_call *call) {
  const char *name = interp_attr_text(call, "call_target_name");
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    if (strcmp(targets[i].name, name) == 0) {
      return check_operands(call, targets[i].operands) && targets[i].evaluate(call);
    }
  }
  return interp_unsupported(call, "the meaning of the target '%s' is not known", name);
}

/* ---- attributes ------------------------------------------------------------------------------------------------------------ */

struct ir_attr interp_config(const struct interp_call *call) {
  struct ir_attr config = ir_op_attr(call->module, call->op, "mhlo.backend_config");
  config = config.id ? config : ir_op_attr(call->module, call->op, "backend_config");
  return config.id ? config : ir_op_attr(call->module, call->op, "mhlo.attributes");
}

int64_t interp_config_int(const struct interp_call *call, const char *name, int64_t otherwise) {
  struct ir_attr config = interp_config(call);
  bool is_dict = config.id && ir_attr_get(call->module, config)->kind == IR_ATTR_DICT;
  struct ir_attr field = is_dict ? ir_attr_field(call->module, config, name) : (struct ir_attr){0};
  const struct ir_attr_data *data = field.id ? ir_attr_get(call->module, field) : NULL;
  return data && (data->kind == IR_ATTR_INTEGER || data->kind == IR_ATTR_BOOL) ? data->integer : otherwise;
}

bool interp_is_row_major(const struct interp_call *call, const char *layouts, uint32_t i, uint32_t rank) {
  struct ir_attr list = ir_op_attr(call->module, call->op, layouts);
  const struct ir_attr_data *data = list.id ? ir_attr_get(call->module, list) : NULL;
  if (!data || data->kind != IR_ATTR_ARRAY || i >= data->list_count) {
    return true;
  }
  struct ir_attr layout = {call->module->lists.data[data->list_first + i]};
  return rank == 0 || ir_attr_length(call->module, layout) != rank
         || ir_attr_int_at(call->module, layout, 0) == (int64_t)rank - 1;
}

/* ---- types ------------------------------------------------------------------------------------------------------------------ */

enum dtype interp_result_dtype(const struct interp_call *call, uint32_t i) {
  struct ir_type type = ir_value_type(call->module, ir_op_result(call->module, call->op, i));
  const struct ir_type_data *data = ir_type_get(call->module, type);
  return data->kind == IR_TYPE_TENSOR || data->kind == IR_TYPE_SCALAR ? (enum dtype)data->dtype : DTYPE_NONE;
}

bool interp_is_of_result(const struct interp_call *call, uint32_t i, const struct interp_value *value) {
  struct ir_type type = ir_value_type(call->module, ir_op_result(call->module, call->op, i));
  enum ir_type_kind kind = (enum ir_type_kind)ir_type_get(call->module, type)->kind;
  bool fits = value->kind == INTERP_TENSOR  ? interp_result_dtype(call, i) == value->dtype
              : value->kind == INTERP_TUPLE ? kind == IR_TYPE_TUPLE
                                            : kind == IR_TYPE_TOKEN || kind == IR_TYPE_FUTURE;
  return fits ? value->kind != INTERP_TENSOR || interp_fits_result(call, i, value->dims, value->rank)
              : interp_wrong(call, "result %u has another type than what it would get", i);
}

bool interp_takes_elements(const struct interp_call *call, struct ir_op function, uint32_t count, bool is_paired) {
  const struct ir_module *m = call->module;
  const struct ir_type_data *type = ir_type_get(m, ir_function_type(m, function));
  bool fits = type->input_count == 2 * count;
  for (uint32_t i = 0; fits && i < type->input_count; i++) {
    const struct ir_type_data *parameter = ir_type_get(m, (struct ir_type){m->lists.data[type->first + i]});
    const struct interp_value *v = call->operands[is_paired ? i / 2 : i % count];
    fits = parameter->kind == IR_TYPE_TENSOR && parameter->rank == 0 && parameter->dtype == v->dtype;
  }
  return fits || interp_wrong(call, "'%s' does not take two elements of each operand", ir_symbol_name(m, function));
}

/* ---- targets that give what they get --------------------------------------------------------------------------------------- */

static bool give(struct interp_call *call, uint32_t count) {
  if (call->result_count > count) {
    return interp_wrong(call, "it has %u results for %u operands", call->result_count, count);
  }
  for (uint32_t i = 0; i < call->result_count; i++) {
    if (!interp_is_of_result(call, i, call->operands[i])) {
      return false;
    }
    interp_result_is(call, i, call->operands[i]);
  }
  return true;
}

bool interp_target_identity(struct interp_call *call) {
  return give(call, call->operand_count);
}

bool interp_target_first(struct interp_call *call) {
  return give(call, 1);
}
