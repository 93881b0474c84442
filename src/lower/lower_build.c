/* Putting tasks together: values to tensors, stages to tasks with their borders. Shared by all lowering functions. */
#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "lower/lower_ops.h"

#define SEQUENCE8(n) (n), (n) + 1, (n) + 2, (n) + 3, (n) + 4, (n) + 5, (n) + 6, (n) + 7
const int16_t lower_identity[LOWER_MAX_RANK] = {SEQUENCE8(0),  SEQUENCE8(8),  SEQUENCE8(16), SEQUENCE8(24),
                                                SEQUENCE8(32), SEQUENCE8(40), SEQUENCE8(48), SEQUENCE8(56)};

void lower_limit(struct lower *lower, struct ir_op op, const char *what) {
  if (lower->status == STATUS_OK) {
    diag_at(lower->diags, DIAG_E0005_LIMIT, &lower->module->source, ir_op_get(lower->module, op)->offset, "%s", what);
    lower->status = STATUS_LIMIT;
  }
}

void lower_memory(struct lower *lower) {
  if (lower->status == STATUS_OK) {
    lower->status = STATUS_MEMORY;
  }
}

/* ---- attributes and shapes ---- */

struct lower_shape lower_shape_of_type(const struct lower *lower, struct ir_type type) {
  const struct ir_type_data *data = ir_type_get(lower->module, type);
  struct lower_shape shape = {DTYPE_NONE, 0, NULL, 0};
  switch (data->kind) {
  case IR_TYPE_SCALAR:
  case IR_TYPE_QUANTIZED:
    shape.dtype = (enum dtype)data->dtype;
    shape.elements = 1;
    break;
  case IR_TYPE_TENSOR:
  case IR_TYPE_MEMREF:
    shape.dtype = (enum dtype)data->dtype;
    shape.rank = data->rank;
    shape.dims = lower->module->dims.data + data->first;
    shape.elements = ir_type_element_count(lower->module, type);
    break;
  default:
    break;
  }
  return shape;
}

struct lower_shape lower_shape_of(const struct lower *lower, struct ir_value value) {
  return lower_shape_of_type(lower, ir_value_type(lower->module, value));
}

uint64_t lower_dim(const struct lower_shape *shape, uint64_t i) {
  if (i >= shape->rank) {
    return 1;
  }
  return shape->dims[i] > 0 ? (uint64_t)shape->dims[i] : 0;
}

int64_t lower_int_at(const struct lower *lower, struct ir_attr attr, uint64_t i, int64_t fallback) {
  if (attr.id == 0) {
    return fallback;
  }
  const struct ir_attr_data *data = ir_attr_get(lower->module, attr);
  if (data->kind != IR_ATTR_DENSE && data->kind != IR_ATTR_DENSE_ARRAY) {
    return fallback;
  }
  return i < ir_attr_length(lower->module, attr) ? ir_attr_int_at(lower->module, attr, i) : fallback;
}

int64_t lower_int_attr(const struct lower *lower, struct ir_op op, const char *name, int64_t fallback) {
  struct ir_attr attr = ir_op_attr(lower->module, op, name);
  if (attr.id == 0) {
    return fallback;
  }
  const struct ir_attr_data *data = ir_attr_get(lower->module, attr);
  return data->kind == IR_ATTR_INTEGER || data->kind == IR_ATTR_BOOL ? data->integer : fallback;
}

bool lower_list_has(const struct lower *lower, struct ir_attr list, int64_t value) {
  uint64_t n = list.id != 0 ? ir_attr_length(lower->module, list) : 0;
  for (uint64_t i = 0; i < n && i < LOWER_MAX_RANK; i++) {
    if (lower_int_at(lower, list, i, -1) == value) {
      return true;
    }
  }
  return false;
}

enum dtype lower_real_type(enum dtype dtype) {
  return dtype == DTYPE_C64 ? DTYPE_F32 : dtype == DTYPE_C128 ? DTYPE_F64 : dtype;
}

/* ---- values and tensors ---- */

uint32_t lower_leaf_count(const struct lower *lower, struct ir_type type) {
  return ir_type_leaf_count(lower->module, type);
}

uint32_t lower_capture(struct lower *lower, uint32_t home, uint32_t tensor) {
  /* path of scopes from `home` (exclusive) to the innermost one */
  struct lower_scope *path[LOWER_MAX_NESTING + 1];
  size_t depth = 0;
  struct lower_scope *scope = lower->scope;
  for (; scope != NULL && scope->id != home && depth <= LOWER_MAX_NESTING; scope = scope->parent) {
    path[depth++] = scope;
  }
  if (scope == NULL || scope->id != home) {
    return LOWER_NONE;
  }
  while (depth > 0) {
    struct lower_scope *inner = path[--depth];
    uint32_t found;
    if (!map_get(&inner->captures, tensor, &found)) {
      const struct work_tensor *outer = &scope->graph->tensors.data[tensor];
      found = work_tensor_add(inner->graph, (enum dtype)outer->dtype, scope->graph->dims.data + outer->dims_first,
                              outer->rank, WORK_TENSOR_INPUT);
      if (inner->graph->out_of_memory || !vec_push(&inner->graph->inputs, found) || !vec_push(&inner->captured, tensor)
          || !map_set(&inner->captures, tensor, found)) {
        lower_memory(lower);
        return LOWER_NONE;
      }
      inner->graph->tensors.data[found].name = outer->name;
    }
    tensor = found;
    scope = inner;
  }
  return tensor;
}

uint32_t lower_operand(struct lower *lower, struct ir_op op, uint32_t i) {
  const struct lower_slot *slot = &lower->slots[lower_in(lower, op, i).id];
  if (slot->count != 1 || slot->scope == 0 || slot->first == LOWER_NONE) {
    return LOWER_NONE;
  }
  return slot->scope == lower->scope->id ? slot->first : lower_capture(lower, slot->scope, slot->first);
}

uint32_t lower_push_leaves(struct lower *lower, struct ir_value value) {
  struct lower_slot slot = lower->slots[value.id];
  if (slot.scope == 0) {
    return 0;
  }
  for (uint32_t i = 0; i < slot.count; i++) {
    uint32_t tensor = slot.count == 1 ? slot.first : lower->leaves.data[slot.first + i];
    if (slot.scope != lower->scope->id && tensor != LOWER_NONE) {
      tensor = lower_capture(lower, slot.scope, tensor);
    }
    if (!vec_push(&lower->scratch, tensor)) {
      lower_memory(lower);
      return 0;
    }
  }
  return slot.count;
}

void lower_define(struct lower *lower, struct ir_value value, const uint32_t *tensors, uint32_t count) {
  struct lower_slot slot = {lower->scope->id, count, 0};
  if (count == 1) {
    slot.first = tensors[0];
  } else {
    slot.first = (uint32_t)lower->leaves.count;
    for (uint32_t i = 0; i < count; i++) {
      if (!vec_push(&lower->leaves, tensors[i])) {
        lower_memory(lower);
        return;
      }
    }
  }
  lower->slots[value.id] = slot;
}

void lower_forward(struct lower *lower, struct ir_op op) {
  size_t base = lower->scratch.count;
  for (uint32_t i = 0; i < lower_in_count(lower, op); i++) {
    lower_push_leaves(lower, lower_in(lower, op, i));
  }
  size_t at = base;
  for (uint32_t i = 0; i < lower_out_count(lower, op) && !lower_stopped(lower); i++) {
    uint32_t count = lower_leaf_count(lower, ir_value_type(lower->module, lower_out(lower, op, i)));
    if (count > lower->scratch.count - at) {
      count = (uint32_t)(lower->scratch.count - at);
    }
    lower_define(lower, lower_out(lower, op, i), lower->scratch.data + at, count);
    at += count;
  }
  lower->scratch.count = base;
}

/* Where a value comes from in the text: its operation, or the one whose region has it as an argument. */
static size_t lower_value_offset(const struct lower *lower, struct ir_value value) {
  const struct ir_module *m = lower->module;
  const struct ir_value_data *data = ir_value_get(m, value);
  struct ir_op op = data->op.id ? data->op : ir_region_get(m, ir_block_get(m, data->block)->parent)->parent;
  return ir_op_get(m, op)->offset;
}

static void lower_dynamic(struct lower *lower, struct ir_value value, uint32_t dim) {
  lower->has_errors = true;
  const struct ir_value_data *data = ir_value_get(lower->module, value);
  if (data->op.id == 0) {
    diag_at(lower->diags, DIAG_E0401_DYNAMIC, &lower->module->source, lower_value_offset(lower, value),
            "dimension %u of argument %u is dynamic; give it with --bind arg%u=...", dim, data->index, data->index);
    return;
  }
  const struct ir_op_data *op = ir_op_get(lower->module, data->op);
  /* only where dynamic shapes begin: what follows from them is no news */
  for (uint32_t i = 0; i < op->operand_count; i++) {
    struct ir_type type = ir_value_type(lower->module, lower_in(lower, data->op, i));
    if (ir_type_is_tensor(lower->module, type) && !ir_type_is_static(lower->module, type)) {
      lower->silent_dynamic = lower->silent_dynamic != 0 ? lower->silent_dynamic : data->op.id;
      return;
    }
  }
  diag_at(lower->diags, DIAG_E0401_DYNAMIC, &lower->module->source, op->offset,
          "result %u of '%s' has a dynamic dimension %u", data->index, ir_text(lower->module, op->name), dim);
}

/* One tensor of a type that is one leaf; `value` is named in messages. */
static uint32_t lower_new_tensor(struct lower *lower, struct ir_value value, struct ir_type type,
                                 enum work_tensor_role role) {
  struct lower_shape shape = lower_shape_of_type(lower, type);
  int64_t dims[LOWER_MAX_RANK];
  uint32_t rank = shape.rank;
  if (rank > LOWER_MAX_RANK) {
    lower->has_errors = true;
    diag_at(lower->diags, DIAG_E0005_LIMIT, &lower->module->source, lower_value_offset(lower, value),
            "a tensor has %u dimensions; at most %d are supported", rank, LOWER_MAX_RANK);
    rank = 0;
  }
  bool is_unranked = ir_type_get(lower->module, type)->kind == IR_TYPE_UNRANKED;
  bool is_dynamic = is_unranked;
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = shape.dims[i];
    if (dims[i] < 0) {
      if (!is_dynamic) {
        lower_dynamic(lower, value, i);
      }
      is_dynamic = true;
      dims[i] = 1;
    }
  }
  if (is_unranked) {
    lower_dynamic(lower, value, 0);
  }
  uint32_t tensor = work_tensor_add(lower->graph, shape.dtype, dims, rank, role);
  if (lower->graph->out_of_memory) {
    lower_memory(lower);
    return LOWER_NONE;
  }
  if (lower->graph->tensors.data[tensor].size_bytes == UINT64_MAX) {
    lower->has_errors = true;
    diag_at(lower->diags, DIAG_E0404_OVERFLOW, &lower->module->source, lower_value_offset(lower, value),
            "a tensor has more than 2^64 bytes");
  }
  return tensor;
}

static void lower_new_leaves_of_type(struct lower *lower, struct ir_value value, struct ir_type type,
                                     enum work_tensor_role role) {
  const struct ir_type_data *data = ir_type_get(lower->module, type);
  if (data->kind == IR_TYPE_TUPLE || data->kind == IR_TYPE_FUTURE) {
    for (uint32_t i = 0; i < data->count; i++) {
      lower_new_leaves_of_type(lower, value, (struct ir_type){lower->module->lists.data[data->first + i]}, role);
    }
    return;
  }
  if (lower_leaf_count(lower, type) == 1 && !vec_push(&lower->scratch, lower_new_tensor(lower, value, type, role))) {
    lower_memory(lower);
  }
}

uint32_t lower_new_leaves(struct lower *lower, struct ir_value value, enum work_tensor_role role) {
  size_t base = lower->scratch.count;
  lower_new_leaves_of_type(lower, value, ir_value_type(lower->module, value), role);
  uint32_t count = (uint32_t)(lower->scratch.count - base);
  lower_define(lower, value, lower->scratch.data + base, count);
  return count;
}

uint32_t lower_result(struct lower *lower, struct ir_op op, uint32_t i) {
  struct ir_value value = lower_out(lower, op, i);
  struct ir_type type = ir_value_type(lower->module, value);
  if (ir_type_is_tensor(lower->module, type)) {
    uint32_t tensor = lower_new_tensor(lower, value, type, WORK_TENSOR_INTERMEDIATE);
    lower->slots[value.id] = (struct lower_slot){lower->scope->id, 1, tensor};
    return tensor;
  }
  size_t base = lower->scratch.count;
  uint32_t count = lower_new_leaves(lower, value, WORK_TENSOR_INTERMEDIATE);
  uint32_t tensor = count > 0 ? lower->scratch.data[base] : LOWER_NONE;
  lower->scratch.count = base;
  return tensor;
}

uint32_t lower_tensor(struct lower *lower, enum dtype dtype, const int64_t *dims, uint32_t rank) {
  uint32_t tensor = work_tensor_add(lower->graph, dtype, dims, rank, WORK_TENSOR_INTERMEDIATE);
  if (lower->graph->out_of_memory) {
    lower_memory(lower);
    return LOWER_NONE;
  }
  return tensor;
}

/* ---- one task ---- */

static uint32_t lower_label(struct lower *lower, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(lower->module, op);
  uint32_t *cached = &lower->labels[data->opcode];
  const bool is_named = data->opcode == IR_OP_CUSTOM_CALL || data->opcode == IR_OP_COMPOSITE;
  if (*cached != 0 && data->opcode != IR_OP_UNKNOWN && !is_named) {
    return *cached;
  }
  const char *name = ir_text(lower->module, data->name);
  struct ir_attr target = {0};
  if (is_named) {
    target = ir_op_attr(lower->module, op, data->opcode == IR_OP_CUSTOM_CALL ? "call_target_name" : "name");
  }
  if (target.id != 0 && ir_attr_get(lower->module, target)->text != 0) {
    name = ir_text(lower->module, ir_attr_get(lower->module, target)->text);
  } else if (data->opcode != IR_OP_UNKNOWN) {
    const char *row = ir_opcode_info((enum ir_opcode)data->opcode)->name;
    const char *dot = strchr(row, '.');
    name = dot != NULL ? dot + 1 : row;
  }
  uint32_t label = intern_add_cstr(lower->graph->strings, name);
  if (label == UINT32_MAX) {
    lower_memory(lower);
    return 0;
  }
  *cached = label;
  return label;
}

void lower_begin(struct lower *lower, struct ir_op op, enum work_kind kind) {
  lower->op = op;
  lower->stage = (struct work_stage){
      .kind = (uint8_t)kind,
      .kernel = op.id,
      .label = lower_label(lower, op),
      .source_offset = ir_op_get(lower->module, op)->offset,
  };
  vec_clear(&lower->axes);
  vec_clear(&lower->ops);
  vec_clear(&lower->accesses);
  vec_clear(&lower->maps);
}

uint32_t lower_axis(struct lower *lower, enum work_axis_role role, uint64_t extent) {
  struct work_axis axis = {.extent = extent > INT64_MAX ? INT64_MAX : (int64_t)extent, .role = (uint8_t)role};
  if (!vec_push(&lower->axes, axis)) {
    lower_memory(lower);
    return 0;
  }
  return (uint32_t)lower->axes.count - 1;
}

void lower_window(struct lower *lower, uint64_t extent, uint32_t partner, uint64_t hits) {
  uint32_t axis = lower_axis(lower, WORK_AXIS_WINDOW, extent);
  if (axis < lower->axes.count) {
    lower->axes.data[axis].partner = (uint8_t)partner;
    lower->axes.data[axis].hits = hits;
  }
}

void lower_axes_of(struct lower *lower, const struct lower_shape *shape) {
  for (uint32_t i = 0; i < shape->rank && i < LOWER_MAX_RANK; i++) {
    lower_axis(lower, WORK_AXIS_PARALLEL, lower_dim(shape, i));
  }
}

static void lower_work_add(struct lower *lower, struct work_op op) {
  if (op.count == 0 || op.dtype == DTYPE_NONE) {
    return;
  }
  for (size_t i = 0; i < lower->ops.count; i++) {
    struct work_op *old = &lower->ops.data[i];
    if (old->engine == op.engine && old->dtype == op.dtype && old->function == op.function) {
      old->count = op.count > UINT32_MAX - old->count ? UINT32_MAX : old->count + op.count;
      return;
    }
  }
  if (!vec_push(&lower->ops, op)) {
    lower_memory(lower);
  }
}

void lower_work(struct lower *lower, enum work_engine engine, enum dtype dtype, uint32_t count) {
  lower_work_add(lower, (struct work_op){(uint8_t)engine, (uint8_t)dtype, WORK_FUNCTION_NONE, count});
}

void lower_work_function(struct lower *lower, enum work_function function, enum dtype dtype, uint32_t count) {
  lower_work_add(lower, (struct work_op){WORK_ENGINE_FUNCTION, (uint8_t)dtype, (uint8_t)function, count});
}

static void lower_access(struct lower *lower, uint32_t tensor, const int16_t *axes, uint64_t touched, unsigned flags) {
  if (tensor == LOWER_NONE || lower_stopped(lower)) {
    return;
  }
  const struct work_tensor *info = &lower->graph->tensors.data[tensor];
  struct work_access access = {.tensor = tensor, .flags = (uint8_t)flags, .touched_elements = touched};
  if (touched >= info->element_count) {
    access.touched_elements = info->element_count;
  } else {
    access.flags |= WORK_ACCESS_PARTIAL;
  }
  bool ok = true;
  if (axes != NULL && info->rank > 0) {
    access.map_first = (uint32_t)lower->maps.count;
    access.map_count = info->rank;
    ok = vec_reserve(&lower->maps, lower->maps.count + info->rank);
    if (ok) {
      memcpy(lower->maps.data + lower->maps.count, axes, info->rank * sizeof *axes);
      lower->maps.count += info->rank;
    }
  }
  if (!ok || !vec_push(&lower->accesses, access)) {
    lower_memory(lower);
  }
}

void lower_read(struct lower *lower, uint32_t tensor, const int16_t *axes, uint64_t touched, unsigned flags) {
  size_t before = lower->accesses.count;
  lower_access(lower, tensor, axes, touched, flags);
  if (lower->accesses.count > before) {
    if (lower->stage.read_count == UINT16_MAX) {
      lower_limit(lower, lower->op, "an operation has more than 65535 operands");
      return;
    }
    lower->stage.read_count++;
  }
}

void lower_write(struct lower *lower, uint32_t tensor, const int16_t *axes, uint64_t touched, unsigned flags) {
  if (tensor != LOWER_NONE && lower->stage.dtype == DTYPE_NONE) {
    lower->stage.dtype = lower->graph->tensors.data[tensor].dtype;
  }
  lower_access(lower, tensor, axes, touched, flags | WORK_ACCESS_WRITE);
}

void lower_read_all(struct lower *lower, uint32_t tensor, uint32_t rank) {
  bool is_identity = tensor != LOWER_NONE && lower->graph->tensors.data[tensor].rank == rank;
  lower_read(lower, tensor, is_identity ? lower_identity : NULL, UINT64_MAX, 0);
}

void lower_write_all(struct lower *lower, uint32_t tensor, uint32_t rank) {
  bool is_identity = tensor != LOWER_NONE && lower->graph->tensors.data[tensor].rank == rank;
  lower_write(lower, tensor, is_identity ? lower_identity : NULL, UINT64_MAX, 0);
}

void lower_end_stage(struct lower *lower) {
  if (lower_stopped(lower)) {
    return;
  }
  vec_clear(&lower->map_pointers);
  if (!vec_reserve(&lower->map_pointers, lower->accesses.count)) {
    lower_memory(lower);
    return;
  }
  for (size_t i = 0; i < lower->accesses.count; i++) {
    const struct work_access *access = &lower->accesses.data[i];
    const int16_t *axes = access->map_count > 0 ? lower->maps.data + access->map_first : NULL;
    lower->map_pointers.data[lower->map_pointers.count++] = axes;
  }
  work_stage_add(lower->graph, &lower->stage, lower->axes.data, (uint32_t)lower->axes.count, lower->ops.data,
                 (uint32_t)lower->ops.count, lower->accesses.data, lower->map_pointers.data,
                 (uint32_t)lower->accesses.count);
  if (lower->graph->out_of_memory) {
    lower_memory(lower);
  }
}

void lower_hide(struct lower *lower, uint32_t tensor) {
  if (tensor != LOWER_NONE && !vec_push(&lower->hidden, tensor)) {
    lower_memory(lower);
  }
}

static void lower_border_read(struct lower *lower, const struct work_access *access, bool is_free) {
  struct lower_mark *mark = &lower->marks.data[access->tensor];
  if (mark->inner_serial == lower->serial) {
    return;
  }
  const uint64_t elements = lower->graph->tensors.data[access->tensor].element_count;
  if (mark->read_serial == lower->serial) {
    struct work_access *old = &lower->border.data[mark->read_index];
    uint64_t sum = sat_add_u64(old->touched_elements, access->touched_elements);
    old->touched_elements = sum < elements ? sum : elements;
    old->flags |= access->flags;
    if (old->touched_elements == elements) {
      old->flags &= (uint8_t)~WORK_ACCESS_PARTIAL;
    }
    return;
  }
  mark->read_serial = lower->serial;
  mark->read_index = (uint32_t)lower->border.count;
  struct work_access copy = *access;
  copy.map_count = 0;
  if (is_free) {
    copy.touched_elements = 0;
    copy.flags = (uint8_t)(elements > 0 ? WORK_ACCESS_PARTIAL : 0);
  }
  (void)vec_push(&lower->border, copy);
}

/* Border of the stages added since the last task: what they read from outside, then what they write and do not hide. */
static bool lower_make_border(struct lower *lower, bool is_free, uint32_t *read_count) {
  struct work_graph *graph = lower->graph;
  lower->serial++;
  vec_clear(&lower->border);
  size_t accesses = 0, first = graph->stages_in_tasks;
  for (size_t s = first; s < graph->stages.count; s++) {
    accesses += graph->stages.data[s].access_count;
  }
  size_t known = lower->marks.count;
  if (!vec_reserve(&lower->border, accesses) || !vec_reserve(&lower->marks, graph->tensors.count)) {
    return false;
  }
  if (known < graph->tensors.count) {
    memset(lower->marks.data + known, 0, (graph->tensors.count - known) * sizeof *lower->marks.data);
    lower->marks.count = graph->tensors.count;
  }
  for (size_t i = 0; i < lower->hidden.count; i++) {
    lower->marks.data[lower->hidden.data[i]].hidden_serial = lower->serial;
  }
  vec_clear(&lower->hidden);
  for (size_t s = first; s < graph->stages.count; s++) {
    const struct work_stage *stage = &graph->stages.data[s];
    const struct work_access *list = graph->accesses.data + stage->access_first;
    for (uint32_t i = 0; i < stage->read_count; i++) {
      lower_border_read(lower, &list[i], is_free);
    }
    for (uint32_t i = stage->read_count; i < stage->access_count; i++) {
      lower->marks.data[list[i].tensor].inner_serial = lower->serial;
    }
  }
  *read_count = (uint32_t)lower->border.count;
  for (size_t s = first; s < graph->stages.count; s++) {
    const struct work_stage *stage = &graph->stages.data[s];
    const struct work_access *list = graph->accesses.data + stage->access_first;
    for (uint32_t i = stage->read_count; i < stage->access_count; i++) {
      if (lower->marks.data[list[i].tensor].hidden_serial == lower->serial) {
        continue;
      }
      struct work_access copy = list[i];
      copy.map_count = 0;
      if (is_free) {
        copy.touched_elements = 0;
        copy.flags = (uint8_t)(WORK_ACCESS_WRITE
                               | (graph->tensors.data[copy.tensor].element_count > 0 ? WORK_ACCESS_PARTIAL : 0));
      }
      (void)vec_push(&lower->border, copy);
    }
  }
  return true;
}

static uint32_t lower_add_task(struct lower *lower, struct work_task *task) {
  if (++lower->task_count > lower->max_tasks) {
    lower_limit(lower, lower->op, "the program has more tasks than the budget allows after inlining");
    return LOWER_NONE;
  }
  task->label = lower->stage.label;
  task->source_offset = lower->stage.source_offset;
  uint32_t index = work_task_add(lower->graph, task, lower->border.data, (uint32_t)lower->border.count);
  if (lower->graph->out_of_memory) {
    lower_memory(lower);
    return LOWER_NONE;
  }
  return index;
}

uint32_t lower_end_as(struct lower *lower, struct work_task *task) {
  lower_end_stage(lower);
  return lower_end_stages(lower, task);
}

uint32_t lower_end_stages(struct lower *lower, struct work_task *task) {
  if (lower_stopped(lower) || lower->is_fusing) {
    return LOWER_NONE;
  }
  uint32_t read_count = 0;
  if (!lower_make_border(lower, work_kind_info((enum work_kind)task->kind)->is_free, &read_count)) {
    lower_memory(lower);
    return LOWER_NONE;
  }
  if (read_count > UINT16_MAX) {
    lower_limit(lower, lower->op, "a task reads more than 65535 tensors");
    return LOWER_NONE;
  }
  task->read_count = (uint16_t)read_count;
  return lower_add_task(lower, task);
}

uint32_t lower_end(struct lower *lower) {
  struct work_task task = {.kind = lower->stage.kind};
  return lower_end_as(lower, &task);
}

uint32_t lower_end_control(struct lower *lower, struct work_task *task) {
  vec_clear(&lower->border);
  if (lower_stopped(lower)) {
    return LOWER_NONE;
  }
  if (!vec_reserve(&lower->border, lower->accesses.count)) {
    lower_memory(lower);
    return LOWER_NONE;
  }
  for (size_t i = 0; i < lower->accesses.count; i++) {
    struct work_access copy = lower->accesses.data[i];
    copy.map_count = 0;
    lower->border.data[lower->border.count++] = copy;
  }
  task->kind = lower->stage.kind;
  task->read_count = lower->stage.read_count;
  return lower_add_task(lower, task);
}

void lower_note_update(struct lower *lower, uint32_t operand, uint32_t result) {
  if (operand == LOWER_NONE || result == LOWER_NONE || lower_stopped(lower)) {
    return;
  }
  /* inside a fusion the task comes later, at its end, and takes the next index */
  uint32_t task = (uint32_t)lower->graph->tasks.count - (lower->is_fusing ? 0 : 1);
  struct lower_update update = {task, operand, result, LOWER_NONE, false};
  if (!vec_push(&lower->scope->updates, update)) {
    lower_memory(lower);
  }
}

void lower_alias(struct lower *lower, struct ir_op op, enum work_kind kind) {
  size_t base = lower->scratch.count;
  uint32_t count = 0;
  for (uint32_t i = 0; i < lower_in_count(lower, op); i++) {
    count += lower_push_leaves(lower, lower_in(lower, op, i));
  }
  size_t results = lower->scratch.count;
  for (uint32_t i = 0; i < lower_out_count(lower, op); i++) {
    lower_new_leaves(lower, lower_out(lower, op, i), WORK_TENSOR_INTERMEDIATE);
  }
  uint32_t result_count = (uint32_t)(lower->scratch.count - results);
  lower_begin(lower, op, kind);
  for (uint32_t i = 0; i < count; i++) {
    lower_read(lower, lower->scratch.data[base + i], NULL, UINT64_MAX, 0);
  }
  for (uint32_t i = 0; i < result_count && !lower_stopped(lower); i++) {
    uint32_t tensor = lower->scratch.data[results + i];
    lower_write(lower, tensor, NULL, UINT64_MAX, 0);
    if (i < count && lower->scratch.data[base + i] != LOWER_NONE && tensor != LOWER_NONE) {
      lower->graph->tensors.data[tensor].alias_of = lower->scratch.data[base + i] + 1;
    }
  }
  lower->scratch.count = base;
  lower_end(lower);
}

/* ---- scopes ---- */

bool lower_scope_enter(struct lower *lower, struct lower_scope *scope) {
  memset(scope, 0, sizeof *scope);
  scope->graph = lower->scope == NULL ? work_graph_new() : work_graph_new_inside(lower->scope->graph);
  if (scope->graph == NULL) {
    lower_memory(lower);
    return false;
  }
  scope->id = ++lower->last_scope;
  scope->parent = lower->scope;
  lower->scope = scope;
  lower->graph = scope->graph;
  return true;
}

void lower_scope_leave(struct lower *lower, struct lower_scope *scope) {
  lower->scope = scope->parent;
  lower->graph = scope->parent != NULL ? scope->parent->graph : NULL;
  map_release(&scope->captures);
  map_release(&scope->constants);
  map_release(&scope->groups);
  map_release(&scope->started);
  vec_release(&scope->captured);
  vec_release(&scope->updates);
}
