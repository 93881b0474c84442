/* Operations that move or rename data: no arithmetic. A dimension is mapped to an axis where both run alike from the first
 * to the last element. */
#include <string.h>

#include "base/checked.h"
#include "lower/lower_ops.h"

/* All operands and results of an op whose work is nothing but moving, whole tensors each. */
static void movement(struct lower *lower, struct ir_op op, enum work_kind kind, const int16_t *operand_axes) {
  uint32_t operand = lower_operand(lower, op, 0), result = lower_result(lower, op, 0);
  struct lower_shape shape = lower_shape_of(lower, lower_out(lower, op, 0));
  lower_begin(lower, op, kind);
  lower_axes_of(lower, &shape);
  lower_read(lower, operand, operand_axes, UINT64_MAX, 0);
  lower_write_all(lower, result, shape.rank);
  lower_end(lower);
}

/* ---- no data moves ---- */

void lower_nothing(struct lower *lower, struct ir_op op) {
  for (uint32_t i = 0; i < lower_out_count(lower, op); i++) {
    size_t base = lower->scratch.count;
    lower_new_leaves(lower, lower_out(lower, op, i), WORK_TENSOR_CONSTANT);
    lower->scratch.count = base;
  }
}

void lower_forward_first(struct lower *lower, struct ir_op op) {
  size_t base = lower->scratch.count;
  uint32_t count = lower_in_count(lower, op) > 0 ? lower_push_leaves(lower, lower_in(lower, op, 0)) : 0;
  if (lower_out_count(lower, op) > 0 && count > 0) {
    lower_define(lower, lower_out(lower, op, 0), lower->scratch.data + base, count);
  }
  lower->scratch.count = base;
}

/* A cast that the reader could not resolve is a name for the same bytes, or nobody knows what. */
void lower_cast(struct lower *lower, struct ir_op op) {
  bool is_same = lower_in_count(lower, op) == 1 && lower_out_count(lower, op) == 1;
  if (is_same) {
    const struct ir_module *module = lower->module;
    is_same = ir_type_size_bytes(module, ir_value_type(module, lower_in(lower, op, 0)))
              == ir_type_size_bytes(module, ir_value_type(module, lower_out(lower, op, 0)));
  }
  if (is_same) {
    lower_forward_first(lower, op);
  } else {
    lower_opaque_op(lower, op);
  }
}

void lower_tuple(struct lower *lower, struct ir_op op) {
  size_t base = lower->scratch.count;
  for (uint32_t i = 0; i < lower_in_count(lower, op); i++) {
    lower_push_leaves(lower, lower_in(lower, op, i));
  }
  lower_define(lower, lower_out(lower, op, 0), lower->scratch.data + base, (uint32_t)(lower->scratch.count - base));
  lower->scratch.count = base;
}

void lower_get_tuple_element(struct lower *lower, struct ir_op op) {
  const struct ir_module *module = lower->module;
  struct ir_type tuple = ir_value_type(module, lower_in(lower, op, 0));
  const struct ir_type_data *data = ir_type_get(module, tuple);
  int64_t index = lower_int_attr(lower, op, "index", 0);
  size_t base = lower->scratch.count;
  uint32_t count = lower_push_leaves(lower, lower_in(lower, op, 0)), first = 0;
  for (uint32_t i = 0; i < data->count && (int64_t)i < index; i++) {
    first += lower_leaf_count(lower, (struct ir_type){module->lists.data[data->first + i]});
  }
  uint32_t wanted = lower_leaf_count(lower, ir_value_type(module, lower_out(lower, op, 0)));
  if (first <= count && wanted <= count - first) {
    lower_define(lower, lower_out(lower, op, 0), lower->scratch.data + base + first, wanted);
  }
  lower->scratch.count = base;
}

/* Kept as a task, so that fusion can respect it. */
void lower_barrier(struct lower *lower, struct ir_op op) {
  lower_alias(lower, op, WORK_FREE);
}

/* A number that is known when the program is compiled or comes from the device: one element, no data read. */
/* Where this device is is known by name, so that rewrites find what depends on it (lower_reduce_scatter.c). */
void lower_scalar(struct lower *lower, struct ir_op op) {
  lower_nothing(lower, op);
  enum ir_opcode opcode = ir_op_code(lower->module, op);
  const struct lower_slot *slot = &lower->slots[lower_out(lower, op, 0).id];
  if ((opcode != IR_OP_PARTITION_ID && opcode != IR_OP_REPLICA_ID) || slot->count != 1 || lower_stopped(lower)) {
    return;
  }
  const char *name = opcode == IR_OP_PARTITION_ID ? LOWER_PARTITION_ID : LOWER_REPLICA_ID;
  uint32_t id = intern_add_cstr(lower->graph->strings, name);
  if (id == UINT32_MAX) {
    lower_memory(lower);
    return;
  }
  lower->graph->tensors.data[slot->first].name = id;
}

void lower_reshape(struct lower *lower, struct ir_op op) {
  uint32_t operand = lower_operand(lower, op, 0), result = lower_result(lower, op, 0);
  if (operand == LOWER_NONE || result == LOWER_NONE || lower_stopped(lower)) {
    return;
  }
  struct lower_shape shape = lower_shape_of(lower, lower_out(lower, op, 0));
  lower->graph->tensors.data[result].alias_of = operand + 1;
  lower_begin(lower, op, WORK_RESHAPE);
  lower_axes_of(lower, &shape);
  lower_read(lower, operand, NULL, UINT64_MAX, 0);
  lower_write_all(lower, result, shape.rank);
  lower_end(lower);
}

void lower_bitcast_convert(struct lower *lower, struct ir_op op) {
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  if (dtype_storage_bits(in.dtype) == dtype_storage_bits(out.dtype)) {
    lower_reshape(lower, op);
  } else {
    movement(lower, op, WORK_COPY, NULL);
  }
}

/* ---- constants ---- */

static void keep_constant(struct lower *lower, struct ir_op op, uint32_t tensor) {
  if (!lower_stopped(lower) && !map_set(&lower->scope->constants, op.id, tensor)) {
    lower_memory(lower);
  }
}

/* A constant of one value repeated is a scalar that is broadcast, which is how compilers keep it; every other constant lies
 * in memory as it is, once per graph however often calls bring its operation there. */
void lower_constant(struct lower *lower, struct ir_op op) {
  struct ir_value value = lower_out(lower, op, 0);
  struct lower_shape shape = lower_shape_of(lower, value);
  struct ir_attr data = ir_op_attr(lower->module, op, "value");
  bool is_splat = data.id != 0 && ir_attr_get(lower->module, data)->kind == IR_ATTR_DENSE
                  && ir_attr_get(lower->module, data)->is_splat;
  uint32_t tensor;
  bool is_known = map_get(&lower->scope->constants, op.id, &tensor);
  if (!is_splat || shape.elements <= 1) {
    if (is_known) {
      lower_define(lower, value, &tensor, 1);
      return;
    }
    lower_nothing(lower, op);
    if (lower->slots[value.id].count == 1) {
      keep_constant(lower, op, lower->slots[value.id].first);
    }
    return;
  }
  if (!is_known) {
    tensor = work_tensor_add(lower->graph, shape.dtype, NULL, 0, WORK_TENSOR_CONSTANT);
    keep_constant(lower, op, tensor);
  }
  uint32_t result = lower_result(lower, op, 0);
  lower_begin(lower, op, WORK_BROADCAST);
  lower_axes_of(lower, &shape);
  lower_read(lower, tensor, NULL, UINT64_MAX, 0);
  lower_write_all(lower, result, shape.rank);
  lower_end(lower);
}

void lower_iota(struct lower *lower, struct ir_op op) {
  uint32_t result = lower_result(lower, op, 0);
  struct lower_shape shape = lower_shape_of(lower, lower_out(lower, op, 0));
  lower_begin(lower, op, WORK_IOTA);
  lower_axes_of(lower, &shape);
  lower_write_all(lower, result, shape.rank);
  lower_end(lower);
}

/* ---- data moves ---- */

void lower_copy(struct lower *lower, struct ir_op op) {
  movement(lower, op, WORK_COPY, lower_identity);
}

void lower_transpose(struct lower *lower, struct ir_op op) {
  struct ir_attr permutation = ir_op_attr(lower->module, op, "permutation");
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  int16_t axes[LOWER_MAX_RANK];
  memset(axes, 0xFF, sizeof axes);
  /* the order of the dimensions longer than 1 decides whether memory order changes */
  int64_t last = -1;
  bool is_bitcast = true;
  for (uint32_t i = 0; i < out.rank && i < LOWER_MAX_RANK; i++) {
    int64_t from = lower_int_at(lower, permutation, i, i);
    if (from < 0 || from >= LOWER_MAX_RANK) {
      continue;
    }
    axes[from] = (int16_t)i;
    if (lower_dim(&out, i) != 1) {
      is_bitcast &= from > last;
      last = from;
    }
  }
  if (is_bitcast) {
    lower_reshape(lower, op);
  } else {
    movement(lower, op, WORK_TRANSPOSE, axes);
  }
}

/* Dimension d of the operand is dimension to[d] of the result. */
static void broadcast(struct lower *lower, struct ir_op op, const int64_t *to) {
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  int16_t axes[LOWER_MAX_RANK];
  memset(axes, 0xFF, sizeof axes);
  int64_t last = -1;
  bool keeps_order = true;
  for (uint32_t d = 0; d < in.rank && d < LOWER_MAX_RANK; d++) {
    bool runs_along = to[d] >= 0 && to[d] < (int64_t)out.rank && lower_dim(&in, d) == lower_dim(&out, (uint64_t)to[d]);
    axes[d] = runs_along && to[d] < LOWER_MAX_RANK ? (int16_t)to[d] : -1;
    if (lower_dim(&in, d) != 1) {
      keeps_order &= to[d] > last;
      last = to[d];
    }
  }
  if (in.elements == out.elements && keeps_order) {
    lower_reshape(lower, op);
  } else {
    movement(lower, op, in.elements == out.elements ? WORK_TRANSPOSE : WORK_BROADCAST, axes);
  }
}

void lower_broadcast_in_dim(struct lower *lower, struct ir_op op) {
  struct ir_attr dims = ir_op_attr(lower->module, op, "broadcast_dimensions");
  int64_t to[LOWER_MAX_RANK];
  for (uint32_t d = 0; d < LOWER_MAX_RANK; d++) {
    to[d] = lower_int_at(lower, dims, d, d);
  }
  broadcast(lower, op, to);
}

/* New dimensions come first. */
void lower_broadcast(struct lower *lower, struct ir_op op) {
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  int64_t to[LOWER_MAX_RANK];
  for (uint32_t d = 0; d < LOWER_MAX_RANK; d++) {
    to[d] = (int64_t)d + (int64_t)out.rank - (int64_t)in.rank;
  }
  broadcast(lower, op, to);
}

/* Axes of an operand that has the result's rank: identity where the extents agree, apart from `except`. */
static void aligned_axes(const struct lower_shape *in, const struct lower_shape *out, int64_t except, int16_t *axes) {
  for (uint32_t d = 0; d < LOWER_MAX_RANK; d++) {
    bool runs_along = d < in->rank && in->rank == out->rank && lower_dim(in, d) == lower_dim(out, d);
    axes[d] = runs_along && (int64_t)d != except ? (int16_t)d : -1;
  }
}

void lower_slice(struct lower *lower, struct ir_op op) {
  uint32_t operand = lower_operand(lower, op, 0), result = lower_result(lower, op, 0);
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  int16_t axes[LOWER_MAX_RANK];
  aligned_axes(&in, &out, -1, axes);
  lower_begin(lower, op, WORK_SLICE);
  lower_axes_of(lower, &out);
  lower_read(lower, operand, axes, out.elements, 0);
  lower_write_all(lower, result, out.rank);
  lower_end(lower);
}

void lower_concatenate(struct lower *lower, struct ir_op op) {
  int64_t dimension = lower_int_attr(lower, op, "dimension", 0);
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  size_t base = lower->scratch.count;
  const uint32_t operands = lower_in_count(lower, op);
  for (uint32_t i = 0; i < operands; i++) {
    lower_push_leaves(lower, lower_in(lower, op, i));
  }
  uint32_t result = lower_result(lower, op, 0);
  lower_begin(lower, op, WORK_CONCATENATE);
  lower_axes_of(lower, &out);
  for (uint32_t i = 0; i < operands && base + i < lower->scratch.count; i++) {
    struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, i));
    int16_t axes[LOWER_MAX_RANK];
    aligned_axes(&in, &out, operands > 1 ? dimension : -1, axes);
    lower_read(lower, lower->scratch.data[base + i], axes, UINT64_MAX, 0);
  }
  lower->scratch.count = base;
  lower_write_all(lower, result, out.rank);
  lower_end(lower);
}

void lower_pad(struct lower *lower, struct ir_op op) {
  uint32_t operand = lower_operand(lower, op, 0), value = lower_operand(lower, op, 1);
  uint32_t result = lower_result(lower, op, 0);
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  int16_t axes[LOWER_MAX_RANK];
  aligned_axes(&in, &out, -1, axes);
  lower_begin(lower, op, WORK_PAD);
  lower_axes_of(lower, &out);
  lower_read(lower, operand, axes, UINT64_MAX, 0);
  lower_read(lower, value, NULL, UINT64_MAX, 0);
  lower_write_all(lower, result, out.rank);
  lower_end(lower);
}

void lower_reverse(struct lower *lower, struct ir_op op) {
  struct ir_attr dims = ir_op_attr(lower->module, op, "dimensions");
  int16_t axes[LOWER_MAX_RANK];
  for (uint32_t d = 0; d < LOWER_MAX_RANK; d++) {
    axes[d] = lower_list_has(lower, dims, d) ? -1 : (int16_t)d;
  }
  movement(lower, op, WORK_REVERSE, axes);
}

/* ---- whole program parts of unknown work ---- */

void lower_opaque_as(struct lower *lower, struct ir_op op, uint32_t module_name) {
  size_t base = lower->scratch.count;
  for (uint32_t i = 0; i < lower_in_count(lower, op); i++) {
    lower_push_leaves(lower, lower_in(lower, op, i));
  }
  size_t results = lower->scratch.count;
  for (uint32_t i = 0; i < lower_out_count(lower, op); i++) {
    lower_new_leaves(lower, lower_out(lower, op, i), WORK_TENSOR_INTERMEDIATE);
  }
  lower_begin(lower, op, WORK_CUSTOM);
  for (size_t i = base; i < results; i++) {
    lower_read(lower, lower->scratch.data[i], NULL, UINT64_MAX, 0);
  }
  for (size_t i = results; i < lower->scratch.count; i++) {
    lower_write(lower, lower->scratch.data[i], NULL, UINT64_MAX, 0);
  }
  lower->scratch.count = base;
  struct work_task task = {.kind = WORK_CUSTOM, .flags = WORK_TASK_OPAQUE};
  lower_end_as(lower, &task);
  uint32_t index;
  if (map_get(&lower->opaque_index, module_name, &index)) {
    lower->opaques.data[index].count++;
    return;
  }
  struct lower_opaque opaque = {module_name, ir_op_get(lower->module, op)->offset, 1};
  if (!map_set(&lower->opaque_index, module_name, (uint32_t)lower->opaques.count)
      || !vec_push(&lower->opaques, opaque)) {
    lower_memory(lower);
  }
}

/* Operations of dialects that are not read here but turn up in exported programs: scalars for shapes, names for the same
 * data, and mhlo operations whose twins are chlo's. */
static const struct {
  const char *prefix;
  lower_function function;
} foreign[] = {
    {"arith.", lower_nothing},
    {"shape.", lower_nothing},
    {"tensor.cast", lower_forward_first},
    {"tensor.dim", lower_nothing},
    {"tensor.extract", lower_nothing},
    {"tensor.from_elements", lower_nothing},
    {"tensor.empty", lower_nothing},
    {"util.optimization_barrier", lower_forward_first},
    {"sdy.", lower_forward_first},
    {"mhlo.ragged_dot", lower_ragged_dot},
};

void lower_opaque_op(struct lower *lower, struct ir_op op) {
  uint32_t name = ir_op_get(lower->module, op)->name;
  const char *text = ir_text(lower->module, name);
  bool is_unknown = ir_op_code(lower->module, op) == IR_OP_UNKNOWN;
  for (size_t i = 0; is_unknown && i < sizeof foreign / sizeof *foreign; i++) {
    bool has_operands = lower_in_count(lower, op) > 0 || foreign[i].function == lower_nothing;
    if (strncmp(text, foreign[i].prefix, strlen(foreign[i].prefix)) == 0 && has_operands
        && (foreign[i].function != lower_ragged_dot || lower_in_count(lower, op) == 3)
        && lower_out_count(lower, op) > 0) {
      foreign[i].function(lower, op);
      return;
    }
  }
  lower_opaque_as(lower, op, name);
}
