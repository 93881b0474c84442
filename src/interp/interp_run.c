/* What happens in a run: functions, frames, regions, and the dispatch of operations to the rows of interp_ops.def.
 * Path: interp_start.c → interp_function → interp_region → evaluate → an operation's function. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "interp/interp_fast_groups.h"

enum { INLINE_VALUES = 16 };

/* ---- the table of operations ---------------------------------------------------------------------------------------- */

static const struct {
  interp_op_function *evaluate;
  enum interp_quantized quantized;
} rows[IR_OP_COUNT] = {
#define INTERP_OP(opcode, function, quantized) [IR_OP_##opcode] = {function, quantized},
#include "interp/interp_ops.def"
#undef INTERP_OP
};

interp_op_function *interp_function_of(enum ir_opcode opcode) {
  return rows[opcode].evaluate;
}

/* ---- messages ------------------------------------------------------------------------------------------------------- */

static void report(const struct interp_call *call, enum diag_id id, const char *format, va_list args) {
  struct interp_run *run = call->frame->process->run;
  struct strbuf text = {0};
  strbuf_printf(&text, "'%s': ", ir_text(call->module, ir_op_get(call->module, call->op)->name));
  strbuf_vprintf(&text, format, args);
  pthread_mutex_lock(&run->lock);
  diag_at(run->diags, id, &call->module->source, ir_op_get(call->module, call->op)->offset, "%s", strbuf_text(&text));
  pthread_mutex_unlock(&run->lock);
  strbuf_release(&text);
}

bool interp_report(const struct interp_call *call, enum diag_id id, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(call, id, format, args);
  va_end(args);
  return false;
}

bool interp_unsupported(const struct interp_call *call, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(call, DIAG_E0701_NOT_EXECUTABLE, format, args);
  va_end(args);
  return false;
}

bool interp_wrong(const struct interp_call *call, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(call, DIAG_E0702_RUN_VALUE, format, args);
  va_end(args);
  return false;
}

bool interp_out_of_memory(const struct interp_call *call) {
  atomic_store(&call->frame->process->run->is_out_of_memory, true);
  return false;
}

bool interp_spend(const struct interp_call *call, uint64_t operations) {
  struct interp_run *run = call->frame->process->run;
  uint64_t before = atomic_fetch_add(&run->operations, operations);
  if (operations <= run->options.operation_budget && before <= run->options.operation_budget - operations) {
    return true;
  }
  return interp_report(call, DIAG_E0704_RUN_BUDGET,
                       "the run would need more than %" PRIu64 " elementary operations, this one alone %" PRIu64,
                       run->options.operation_budget, operations);
}

/* ---- results -------------------------------------------------------------------------------------------------------- */

/* Counts a value of so many bytes against the budget. */
static bool reserve(struct interp_call *call, uint64_t bytes) {
  struct interp_run *run = call->frame->process->run;
  uint64_t live = atomic_fetch_add(&run->live_bytes, bytes), budget = run->options.memory_budget_bytes;
  if (bytes <= budget && live <= budget - bytes) {
    return true;
  }
  atomic_fetch_sub(&run->live_bytes, bytes);
  return interp_report(call, DIAG_E0704_RUN_BUDGET,
                       "needs %" PRIu64 " bytes beside the %" PRIu64 " that are in use; the budget is %" PRIu64, bytes,
                       live, budget);
}

struct interp_value *interp_scratch(struct interp_call *call, enum dtype dtype, const int64_t *dims, uint32_t rank) {
  uint64_t bytes = ir_dense_element_size(dtype);
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i] < 0) {
      interp_wrong(call, "a dimension of %" PRId64, dims[i]);
      return NULL;
    }
    bytes = dims[i] == 0 ? 0 : sat_mul_u64(bytes, (uint64_t)dims[i]);
  }
  if (!reserve(call, bytes)) {
    return NULL;
  }
  struct interp_value *value = interp_tensor_new(dtype, dims, rank);
  if (!value) {
    atomic_fetch_sub(&call->frame->process->run->live_bytes, bytes);
    interp_out_of_memory(call);
    return NULL;
  }
  atomic_fetch_add(&call->frame->process->run->live_bytes, value->size_bytes - bytes);
  value->account = &call->frame->process->run->live_bytes;
  return value;
}

struct interp_value *interp_copy(struct interp_call *call, const struct interp_value *value, const int64_t *dims,
                                 uint32_t rank) {
  struct interp_value *copy = interp_scratch(call, (enum dtype)value->dtype, dims, rank);
  if (copy && copy->size_bytes > 0) {
    memcpy(copy->data, value->data, copy->size_bytes);
  }
  if (copy) {
    copy->quant = value->quant;
  }
  return copy;
}

bool interp_fits_result(const struct interp_call *call, uint32_t i, const int64_t *dims, uint32_t rank) {
  struct ir_type type = ir_value_type(call->module, ir_op_result(call->module, call->op, i));
  const struct ir_type_data *data = ir_type_get(call->module, type);
  if ((data->kind != IR_TYPE_TENSOR && data->kind != IR_TYPE_SCALAR) || call->frame->lanes > 0) {
    return true;
  }
  bool fits = data->rank == rank;
  for (uint32_t d = 0; fits && d < rank; d++) {
    int64_t dim = ir_type_dims(call->module, type)[d];
    fits = dim == IR_DYNAMIC || dim == dims[d];
  }
  return fits || interp_wrong(call, "result %u has another shape than its type", i);
}

struct interp_value *interp_result(struct interp_call *call, uint32_t i, const int64_t *dims, uint32_t rank) {
  struct ir_type type = ir_value_type(call->module, ir_op_result(call->module, call->op, i));
  const struct ir_type_data *data = ir_type_get(call->module, type);
  int64_t lanes = (int64_t)call->frame->lanes;
  if (data->kind != IR_TYPE_TENSOR && data->kind != IR_TYPE_SCALAR && !(dims && data->kind == IR_TYPE_UNRANKED)) {
    interp_unsupported(call, "result %u is no tensor", i);
    return NULL;
  }
  if (!dims && lanes > 0) {
    rank = 0;
    for (uint32_t k = 0; k < call->operand_count; k++) {
      rank |= call->operands[k]->rank; /* elementwise on scalars: 0 or 1 */
    }
    dims = &lanes;
  } else if (!dims) {
    dims = ir_type_dims(call->module, type);
    rank = data->rank;
  }
  if (!interp_fits_result(call, i, dims, rank)) {
    return NULL;
  }
  const struct ir_type_data *element = ir_type_get(call->module, data->element);
  bool is_quantized = element->kind == IR_TYPE_QUANTIZED, is_expressed = is_quantized && call->is_expressed;
  enum dtype dtype = (enum dtype)(is_expressed ? call->module->quants.data[element->quant].expressed : data->dtype);
  struct interp_value *value = interp_scratch(call, dtype, dims, rank);
  if (value) {
    value->quant = is_quantized && !is_expressed ? element->quant + 1 : 0;
    call->results[i] = value;
  }
  return value;
}

void interp_result_is(struct interp_call *call, uint32_t i, struct interp_value *value) {
  interp_retain(value);
  call->results[i] = value;
}

/* ---- attributes ------------------------------------------------------------------------------------------------------ */

static uint32_t list_ints(const struct ir_module *m, struct ir_attr attr, int64_t *out, uint32_t capacity) {
  uint64_t length = attr.id ? ir_attr_length(m, attr) : 0;
  uint32_t count = length < capacity ? (uint32_t)length : capacity;
  for (uint32_t i = 0; i < count; i++) {
    out[i] = ir_attr_int_at(m, attr, i);
  }
  return count;
}

uint32_t interp_attr_ints(const struct interp_call *call, const char *name, int64_t *out, uint32_t capacity) {
  return list_ints(call->module, ir_op_attr(call->module, call->op, name), out, capacity);
}

int64_t interp_attr_int(const struct interp_call *call, const char *name, int64_t otherwise) {
  struct ir_attr attr = ir_op_attr(call->module, call->op, name);
  return attr.id ? ir_attr_get(call->module, attr)->integer : otherwise;
}

uint32_t interp_field_ints(const struct interp_call *call, struct ir_attr numbers, const char *name, int64_t *out) {
  return list_ints(call->module, ir_attr_field(call->module, numbers, name), out, INTERP_MAX_RANK);
}

int64_t interp_field_int(const struct interp_call *call, struct ir_attr numbers, const char *name, int64_t otherwise) {
  struct ir_attr attr = ir_attr_field(call->module, numbers, name);
  return attr.id ? ir_attr_get(call->module, attr)->integer : otherwise;
}

bool interp_attr_bool(const struct interp_call *call, const char *name, bool otherwise) {
  struct ir_attr attr = ir_op_attr(call->module, call->op, name);
  const struct ir_attr_data *data = attr.id ? ir_attr_get(call->module, attr) : NULL;
  return !data ? otherwise : data->kind == IR_ATTR_UNIT || data->integer != 0;
}

const char *interp_attr_text(const struct interp_call *call, const char *name) {
  struct ir_attr attr = ir_op_attr(call->module, call->op, name);
  const struct ir_attr_data *data = attr.id ? ir_attr_get(call->module, attr) : NULL;
  return !data ? "" : ir_text(call->module, data->kind == IR_ATTR_ENUM ? data->text2 : data->text);
}

/* ---- operations ------------------------------------------------------------------------------------------------------ */

static struct interp_value **slot(struct interp_frame *frame, struct ir_value value) {
  uint32_t index = value.id - frame->plan->first_value;
  return index < frame->plan->value_count ? &frame->values[index] : NULL;
}

/* Puts an owned value where its users look. */
static void define(struct interp_frame *frame, struct ir_value value, struct interp_value *owned) {
  struct interp_value **at = slot(frame, value);
  interp_release(*at);
  *at = owned;
}

/* Values that nothing uses after `op`. Elementwise bodies run once, so theirs are dead too. */
static void bury(struct interp_frame *frame, struct ir_op op) {
  const struct interp_plan *plan = frame->plan;
  for (uint32_t v = plan->dead_first[op.id - plan->first_op]; v; v = plan->dead_next[v - plan->first_value]) {
    interp_release(frame->values[v - plan->first_value]);
    frame->values[v - plan->first_value] = NULL;
  }
}

/* True when the operation sees or makes a quantized tensor. */
static bool is_quantized(const struct interp_call *call) {
  for (uint32_t i = 0; i < call->operand_count; i++) {
    if (call->operands[i]->kind == INTERP_TENSOR && call->operands[i]->quant) {
      return true;
    }
  }
  for (uint32_t i = 0; i < call->result_count; i++) {
    struct ir_type type = ir_value_type(call->module, ir_op_result(call->module, call->op, i));
    struct ir_type element = ir_type_get(call->module, type)->element;
    if (element.id && ir_type_get(call->module, element)->kind == IR_TYPE_QUANTIZED) {
      return true;
    }
  }
  return false;
}

bool interp_evaluate(struct interp_call *call) {
  enum ir_opcode opcode = ir_op_code(call->module, call->op);
  if (!rows[opcode].evaluate) {
    return interp_unsupported(call, "the interpreter has no meaning for it");
  }
  if (rows[opcode].quantized == INTERP_EXPRESSED && is_quantized(call)) {
    return interp_evaluate_quantized(call, rows[opcode].evaluate);
  }
  return rows[opcode].evaluate(call);
}

static bool evaluate(struct interp_frame *frame, struct ir_op op) {
  struct interp_run *run = frame->process->run;
  const struct ir_module *m = run->module;
  const struct ir_op_data *data = ir_op_get(m, op);
  const struct interp_group *group = frame->plan->groups ? frame->plan->groups[op.id - frame->plan->first_op] : NULL;
  if (group && group->root.id != op.id) {
    return true; /* its root evaluates it */
  }
  struct interp_value *inline_values[INLINE_VALUES];
  size_t count = (size_t)data->operand_count + data->result_count;
  struct interp_value **values = count <= INLINE_VALUES ? inline_values : malloc(count * sizeof *values);
  struct interp_call call = {
      .frame = frame, .module = m, .op = op, .operand_count = data->operand_count, .result_count = data->result_count};
  if (!values) {
    return interp_out_of_memory(&call);
  }
  call.operands = values;
  call.results = values + data->operand_count;
  bool ok = !atomic_load_explicit(&run->has_failed, memory_order_relaxed);
  for (uint32_t i = 0; ok && !group && i < data->operand_count; i++) {
    struct interp_value **at = slot(frame, ir_op_operand(m, op, i));
    call.operands[i] = at ? *at : NULL;
    ok = call.operands[i] || interp_unsupported(&call, "operand %u has no value here", i);
  }
  if (ok) {
    memset(call.results, 0, data->result_count * sizeof *call.results);
    ok = group ? interp_group_run(&call, group) : interp_evaluate(&call);
    for (uint32_t i = 0; i < data->result_count; i++) {
      assert(!ok || call.results[i]);
      if (ok) {
        define(frame, ir_op_result(m, op, i), call.results[i]);
      } else {
        interp_release(call.results[i]);
      }
    }
    bury(frame, op);
  }
  if (values != inline_values) {
    free(values);
  }
  return ok;
}

/* ---- regions --------------------------------------------------------------------------------------------------------- */

static bool too_deep(struct interp_frame *frame, struct ir_op op) {
  struct interp_call call = {.frame = frame, .module = frame->process->run->module, .op = op};
  return interp_report(&call, DIAG_E0704_RUN_BUDGET, "calls and regions are nested more than %u deep",
                       frame->process->run->options.max_depth);
}

/* Takes the operands of the terminator as results. */
static bool take_results(struct interp_frame *frame, struct ir_op terminator, struct interp_value **results,
                         uint32_t result_count) {
  const struct ir_module *m = frame->process->run->module;
  struct interp_call call = {.frame = frame, .module = m, .op = terminator};
  if (ir_op_get(m, terminator)->operand_count != result_count) {
    return interp_wrong(&call, "%u values where %u are expected", ir_op_get(m, terminator)->operand_count,
                        result_count);
  }
  for (uint32_t i = 0; i < result_count; i++) {
    struct interp_value **at = slot(frame, ir_op_operand(m, terminator, i));
    if (!at || !*at) {
      for (uint32_t k = 0; k < i; k++) {
        interp_release(results[k]);
      }
      return interp_unsupported(&call, "operand %u has no value here", i);
    }
    interp_retain(*at);
    results[i] = *at;
  }
  bury(frame, terminator);
  return true;
}

static bool run_block(struct interp_frame *frame, struct ir_block block, struct interp_value *const *arguments,
                      struct interp_value **results, uint32_t result_count) {
  const struct ir_module *m = frame->process->run->module;
  uint32_t argument_count = ir_block_get(m, block)->argument_count;
  for (uint32_t i = 0; i < argument_count; i++) {
    interp_retain(arguments[i]);
    define(frame, ir_block_argument(m, block, i), arguments[i]);
  }
  struct ir_op terminator = ir_block_terminator(m, block);
  bool ok = true, has_terminator = terminator.id && ir_opcode_has(ir_op_code(m, terminator), IR_TRAIT_TERMINATOR);
  for (struct ir_op op = ir_block_first(m, block); ok && op.id && !(has_terminator && op.id == terminator.id);
       op = ir_op_next(m, op)) {
    ok = evaluate(frame, op);
  }
  if (ok && has_terminator) {
    ok = take_results(frame, terminator, results, result_count);
  } else if (ok && result_count > 0) {
    struct interp_call call = {.frame = frame, .module = m, .op = terminator};
    ok = interp_unsupported(&call, "a block that ends without a return");
  }
  for (uint32_t i = 0; i < argument_count; i++) {
    define(frame, ir_block_argument(m, block, i), NULL);
  }
  return ok;
}

bool interp_region(struct interp_frame *frame, struct ir_op op, uint32_t region, struct interp_value *const *arguments,
                   uint32_t argument_count, struct interp_value **results, uint32_t result_count) {
  const struct ir_module *m = frame->process->run->module;
  struct interp_call call = {.frame = frame, .module = m, .op = op};
  struct ir_block block = ir_region_entry(m, ir_op_region(m, op, region));
  if (!block.id || ir_block_get(m, block)->next.id) {
    return interp_unsupported(&call, "region %u has %s", region, block.id ? "more than one block" : "no block");
  }
  if (ir_block_get(m, block)->argument_count != argument_count) {
    return interp_wrong(&call, "region %u takes %u arguments, not %u", region, ir_block_get(m, block)->argument_count,
                        argument_count);
  }
  if (++frame->process->depth > frame->process->run->options.max_depth) {
    frame->process->depth--;
    return too_deep(frame, op);
  }
  bool ok = run_block(frame, block, arguments, results, result_count);
  frame->process->depth--;
  return ok;
}

/* ---- functions ------------------------------------------------------------------------------------------------------- */

static struct interp_plan *plan_of(struct interp_run *run, struct ir_op function) {
  uint32_t index;
  struct interp_plan *plan = NULL;
  pthread_mutex_lock(&run->lock);
  if (map_get(&run->plan_index, function.id, &index)) {
    plan = run->plans.data[index];
  } else {
    plan = interp_plan_new(run->module, function, run->options.plain);
    if (plan
        && !(vec_push(&run->plans, plan) && map_set(&run->plan_index, function.id, (uint32_t)run->plans.count - 1))) {
      run->plans.count -= run->plans.count > 0 && run->plans.data[run->plans.count - 1] == plan;
      interp_plan_free(plan);
      plan = NULL;
    }
  }
  pthread_mutex_unlock(&run->lock);
  return plan;
}

bool interp_frame_open(struct interp_process *process, const struct interp_call *call, struct ir_op function,
                       struct interp_frame *frame) {
  struct interp_run *run = process->run;
  *frame = (struct interp_frame){.process = process, .plan = plan_of(run, function)};
  struct interp_call place = {.frame = frame, .module = run->module, .op = call ? call->op : function};
  if (!frame->plan) {
    return interp_out_of_memory(&place);
  }
  if (!ir_function_body(run->module, function).id) {
    return interp_unsupported(&place, "'%s' has no body", ir_symbol_name(run->module, function));
  }
  frame->values = calloc((size_t)frame->plan->value_count + 1, sizeof *frame->values);
  return frame->values ? true : interp_out_of_memory(&place);
}

void interp_frame_close(struct interp_frame *frame) {
  for (uint32_t i = 0; frame->values && i < frame->plan->value_count; i++) {
    interp_release(frame->values[i]);
  }
  free(frame->values);
}

bool interp_function(struct interp_process *process, const struct interp_call *call, struct ir_op function,
                     struct interp_value *const *arguments, uint32_t argument_count, struct interp_value **results,
                     uint32_t result_count) {
  struct interp_frame frame;
  bool ok = interp_frame_open(process, call, function, &frame)
            && interp_region(&frame, function, 0, arguments, argument_count, results, result_count);
  interp_frame_close(&frame);
  return ok;
}

struct ir_op interp_entry(const struct ir_module *module) {
  struct ir_op only = {0};
  struct ir_op main = ir_function_find(module, "main");
  if (main.id) {
    return main;
  }
  uint32_t count = 0;
  if (ir_op_get(module, module->root)->region_count == 0) {
    return (struct ir_op){0};
  }
  struct ir_block body = ir_region_entry(module, ir_op_region(module, module->root, 0));
  for (struct ir_op op = ir_block_first(module, body); op.id; op = ir_op_next(module, op)) {
    if (ir_op_code(module, op) == IR_OP_FUNC_FUNC) {
      only = op;
      count++;
    }
  }
  return count == 1 ? only : (struct ir_op){0};
}
