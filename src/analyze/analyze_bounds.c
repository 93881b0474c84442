/* Bounded dynamic dimensions for counting: each is taken as large as its bound. Path: after analyze_infer and its checks,
 * before lowering, which needs every size. */
#include <stdlib.h>

#include "analyze/analyze_int.h"

/* A type by the id it has now → the type with its bounds as sizes; grows no further than the types that the module had. */
struct bound_types {
  struct ir_type *of;
  uint32_t count;
  bool has_changed;
};

/* The tensor with its bounds as sizes, or the type itself. */
static struct ir_type bound_tensor(struct ir_module *module, struct ir_type type) {
  const struct ir_type_data data = *ir_type_get(module, type);
  int64_t bounds[SHAPE_MAX_RANK];
  struct shape shape;
  if (data.kind != IR_TYPE_TENSOR || data.encoding.id == 0 || !shape_from_type(module, type, &shape)
      || ir_attr_bounds(module, data.encoding, bounds, SHAPE_MAX_RANK) != shape.rank) {
    return type;
  }
  bool is_static = true, has_changed = false;
  for (uint32_t i = 0; i < shape.rank; i++) {
    has_changed |= !dim_is_static(shape.dims[i]) && dim_is_static(bounds[i]);
    shape.dims[i] = dims_meet(shape.dims[i], bounds[i]);
    is_static &= dim_is_static(shape.dims[i]);
  }
  return has_changed ? ir_type_tensor(module, data.element, shape.dims, shape.rank,
                                      is_static ? (struct ir_attr){0} : data.encoding)
                     : type;
}

/* A tuple, future or function type of changed parts, or the type itself. */
static struct ir_type bound_list(struct ir_module *module, const struct bound_types *types, struct ir_type type) {
  const struct ir_type_data data = *ir_type_get(module, type);
  bool is_list = data.kind == IR_TYPE_TUPLE || data.kind == IR_TYPE_FUTURE || data.kind == IR_TYPE_FUNCTION;
  bool has_changed = false;
  for (uint32_t i = 0; is_list && i < data.count; i++) {
    uint32_t part = module->lists.data[data.first + i];
    has_changed |= part < types->count && types->of[part].id != part;
  }
  if (!has_changed) {
    return type;
  }
  struct ir_type *parts = malloc(data.count * sizeof *parts);
  if (parts == NULL) {
    return (struct ir_type){0};
  }
  for (uint32_t i = 0; i < data.count; i++) {
    uint32_t part = module->lists.data[data.first + i];
    parts[i] = part < types->count ? types->of[part] : (struct ir_type){part};
  }
  struct ir_type changed = ir_type_list(module, (enum ir_type_kind)data.kind, parts, data.count, data.input_count);
  free(parts);
  return changed;
}

/* Parts of a type have lower ids than the type, so one pass in order does. False without memory. */
static bool bound_types_init(struct bound_types *types, struct ir_module *module) {
  *types = (struct bound_types){.count = (uint32_t)module->types.count};
  types->of = calloc((size_t)types->count + 1, sizeof *types->of);
  for (uint32_t id = 1; types->of != NULL && id < types->count; id++) {
    struct ir_type changed = bound_tensor(module, (struct ir_type){id});
    types->of[id] = changed.id == id ? bound_list(module, types, changed) : changed;
    if (types->of[id].id == 0) {
      return false;
    }
    types->has_changed |= types->of[id].id != id;
  }
  return types->of != NULL;
}

/* Where a value stands in the text: its operation, or the one whose region has it as an argument. */
static size_t value_offset(const struct ir_module *module, struct ir_value value) {
  struct ir_op op = ir_value_get(module, value)->op;
  op = op.id != 0 ? op : argument_owner(module, value);
  return op.id != 0 ? ir_op_get(module, op)->offset : 0;
}

/* Number of values whose type changed; the first of them in *first. */
static uint32_t change_values(struct ir_module *module, const struct bound_types *types, struct ir_value *first) {
  uint32_t changed = 0;
  for (uint32_t id = 1; id < module->values.count; id++) {
    struct ir_value value = {id};
    struct ir_type type = ir_value_type(module, value);
    if (type.id < types->count && types->of[type.id].id != type.id && type.id != 0) {
      *first = changed == 0 ? value : *first;
      changed++;
      ir_value_get(module, value)->type = types->of[type.id];
    }
  }
  return changed;
}

/* A dimension that set_dimension_size makes dynamic is at most as long as it was. Number of values whose type changed. */
static uint32_t change_set_sizes(struct ir_module *module, struct ir_value *first) {
  uint32_t changed = 0;
  for (uint32_t id = 1; id < module->ops.count; id++) {
    struct ir_op op = {id};
    struct shape from, to;
    bool is_ours = ir_op_code(module, op) == IR_OP_SET_DIMENSION_SIZE && ir_op_get(module, op)->operand_count == 2
                   && ir_op_get(module, op)->result_count == 1;
    if (!is_ours || !shape_of(module, ir_op_operand(module, op, 0), &from)
        || !shape_of(module, ir_op_result(module, op, 0), &to) || from.rank != to.rank) {
      continue;
    }
    bool has_changed = false;
    for (uint32_t i = 0; i < to.rank; i++) {
      has_changed |= !dim_is_static(to.dims[i]) && dim_is_static(from.dims[i]);
      to.dims[i] = dims_meet(to.dims[i], from.dims[i]);
    }
    struct ir_type type =
        has_changed ? ir_type_tensor(module, to.element, to.dims, to.rank, (struct ir_attr){0}) : (struct ir_type){0};
    if (type.id != 0) {
      struct ir_value result = ir_op_result(module, op, 0);
      *first = first->id == 0 ? result : *first;
      ir_value_get(module, result)->type = type;
      changed++;
    }
  }
  return changed;
}

static bool change_signatures(struct ir_module *module, const struct bound_types *types) {
  for (uint32_t id = 1; id < module->ops.count; id++) {
    struct ir_op op = {id};
    if (ir_op_code(module, op) != IR_OP_FUNC_FUNC) {
      continue;
    }
    struct ir_type type = ir_function_type(module, op);
    if (type.id != 0 && type.id < types->count && types->of[type.id].id != type.id) {
      struct ir_attr attr = ir_attr_type(module, types->of[type.id]);
      if (attr.id == 0 || !ir_op_set_attr(module, op, "function_type", attr)) {
        return false;
      }
    }
  }
  return true;
}

/* What follows from the new sizes. Operands of different bounds may now differ in size: no message of this pass is the
 * user's. */
static enum status refine(struct ir_module *module) {
  struct diag_list unseen;
  diag_init(&unseen);
  enum status status = analyze_infer(module, &unseen);
  diag_release(&unseen);
  return status == STATUS_INPUT ? STATUS_OK : status;
}

enum status analyze_bounds(struct ir_module *module, struct diag_list *diags) {
  struct bound_types types;
  bool ok = bound_types_init(&types, module);
  bool has_changed = ok && types.has_changed;
  struct ir_value first = {0};
  uint32_t changed = has_changed ? change_values(module, &types, &first) : 0;
  ok = ok && (!has_changed || change_signatures(module, &types));
  changed += ok ? change_set_sizes(module, &first) : 0;
  free(types.of);
  if (!ok || module->out_of_memory) {
    return STATUS_MEMORY;
  }
  if (changed == 0) {
    return STATUS_OK;
  }
  diag_at(diags, DIAG_W0407_BOUND, &module->source, value_offset(module, first),
          "%u value%s of a size that is known only by its bound %s taken as large as that: what is counted is an upper "
          "limit",
          changed, changed == 1 ? "" : "s", changed == 1 ? "is" : "are");
  return refine(module);
}
