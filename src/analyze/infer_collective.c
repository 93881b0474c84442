/* Inference of communication: results in the shapes that group sizes allow. Group sizes themselves depend on the number
 * of devices of the run, so only divisibility is checked. */
#include "analyze/analyze_int.h"

static bool collective_dim(struct infer *infer, struct ir_op op, const char *name, uint32_t rank,
                           enum constraint_rule rule, int64_t *out) {
  *out = int_of(infer->module, op, name, -1);
  if (*out < 0 || *out >= (int64_t)rank) {
    infer_error_rule(infer, op, rule, DIAG_E0206_ATTRIBUTE_VALUE, "'%s' is %lld, but the rank is %u", name,
                     (long long)*out, rank);
    return false;
  }
  return true;
}

static bool check_pairs(struct infer *infer, struct ir_op op, uint32_t *count) {
  uint32_t operands = ir_op_get(infer->module, op)->operand_count;
  *count = ir_op_get(infer->module, op)->result_count;
  if (operands != *count) {
    infer_error_rule(infer, op, RULE_RESULT_COUNT, DIAG_E0202_RESULT_COUNT,
                     "expected %u results, one per operand, found %u", operands, *count);
    return false;
  }
  return true;
}

/* `whole` is a multiple of `part`. */
static bool is_multiple(int64_t whole, int64_t part) {
  if (!dim_is_static(whole) || !dim_is_static(part)) {
    return true;
  }
  return part == 0 ? whole == 0 : whole % part == 0;
}

/* Members of each process group, where the program says so: dense groups of one partition, or of flattened ids. */
static int64_t group_members(const struct ir_module *module, struct ir_op op) {
  struct ir_attr groups = ir_op_attr(module, op, "replica_groups"), channel = ir_op_attr(module, op, "channel_handle");
  struct ir_attr flag = ir_op_attr(module, op, "use_global_device_ids");
  bool is_global =
      flag.id != 0 && (ir_attr_get(module, flag)->kind == IR_ATTR_UNIT || ir_attr_get(module, flag)->integer != 0);
  struct ints handle = {0};
  struct shape shape;
  bool has_channel = channel.id != 0 && ints_from_attr(module, ir_attr_field(module, channel, "handle"), &handle)
                     && handle.count == 1 && handle.v[0] > 0;
  bool is_table = groups.id != 0 && ir_attr_get(module, groups)->kind == IR_ATTR_DENSE
                  && shape_from_type(module, ir_attr_get(module, groups)->type, &shape) && shape.rank == 2
                  && shape.dims[0] > 0 && shape.dims[1] > 0;
  return is_table && (is_global || !has_channel) ? shape.dims[1] : IR_DYNAMIC;
}

void infer_op_all_gather(struct infer *infer, struct ir_op op) {
  uint32_t count;
  if (!check_pairs(infer, op, &count)) {
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    struct shape from, to;
    int64_t dim;
    if (!shape_of(infer->module, ir_op_operand(infer->module, op, i), &from)
        || !shape_of(infer->module, ir_op_result(infer->module, op, i), &to)) {
      continue;
    }
    if (!collective_dim(infer, op, "all_gather_dim", from.rank, RULE_DIMENSION, &dim)) {
      return;
    }
    if (to.rank == from.rank && !is_multiple(to.dims[dim], from.dims[dim])) {
      infer_error(infer, op, DIAG_E0205_RESULT_TYPE,
                  "result dimension %lld of size %lld is not a multiple of %lld (C6)", (long long)dim,
                  (long long)to.dims[dim], (long long)from.dims[dim]);
      return;
    }
    from.dims[dim] = IR_DYNAMIC;
    infer_result(infer, op, i, &from);
  }
}

void infer_op_reduce_scatter(struct infer *infer, struct ir_op op) {
  struct shape from, to;
  int64_t dim;
  if (!shape_of(infer->module, ir_op_operand(infer->module, op, 0), &from)
      || !shape_of(infer->module, ir_op_result(infer->module, op, 0), &to)
      || !collective_dim(infer, op, "scatter_dimension", from.rank, RULE_DIMENSION, &dim)) {
    return;
  }
  int64_t members = group_members(infer->module, op);
  if (dim_is_static(members) && !is_multiple(from.dims[dim], members)) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "dimension %lld of size %lld does not divide into %lld parts (C1)",
                (long long)dim, (long long)from.dims[dim], (long long)members);
    return;
  }
  if (to.rank == from.rank && !is_multiple(from.dims[dim], to.dims[dim])) {
    infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "operand dimension %lld of size %lld is not a multiple of %lld (C8)",
                (long long)dim, (long long)from.dims[dim], (long long)to.dims[dim]);
    return;
  }
  from.dims[dim] = IR_DYNAMIC;
  from.element = (struct ir_type){0};
  infer_result(infer, op, 0, &from);
}

void infer_op_all_reduce(struct infer *infer, struct ir_op op) {
  uint32_t count = ir_op_get(infer->module, op)->result_count;
  bool has_root = ir_op_code(infer->module, op) == IR_OP_COLLECTIVE_REDUCE
                  && count + 1 == ir_op_get(infer->module, op)->operand_count; /* the root is an operand */
  if (!has_root && !check_pairs(infer, op, &count)) {
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    struct shape shape;
    shape_of(infer->module, ir_op_operand(infer->module, op, i), &shape);
    shape.element = (struct ir_type){0};
    infer_result(infer, op, i, &shape);
  }
}

void infer_op_all_to_all(struct infer *infer, struct ir_op op) {
  uint32_t count;
  int64_t parts = int_of(infer->module, op, "split_count", 0);
  if (!check_pairs(infer, op, &count)) {
    return;
  }
  if (parts <= 0) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'split_count' is %lld (C4)", (long long)parts);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    struct shape shape;
    int64_t split, concat;
    if (!shape_of(infer->module, ir_op_operand(infer->module, op, i), &shape)) {
      continue;
    }
    if (!collective_dim(infer, op, "split_dimension", shape.rank, RULE_DIMENSION, &split)
        || !collective_dim(infer, op, "concat_dimension", shape.rank, RULE_DIMENSION_2, &concat)) {
      return;
    }
    if (!is_multiple(shape.dims[split], parts)) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "dimension %lld of size %lld does not split into %lld parts (C2)",
                  (long long)split, (long long)shape.dims[split], (long long)parts);
      return;
    }
    if (split != concat) {
      int64_t grown = IR_DYNAMIC;
      bool is_known = dim_is_static(shape.dims[concat]) && !__builtin_mul_overflow(shape.dims[concat], parts, &grown);
      shape.dims[split] = dim_is_static(shape.dims[split]) ? shape.dims[split] / parts : IR_DYNAMIC;
      shape.dims[concat] = is_known ? grown : IR_DYNAMIC;
    }
    infer_result(infer, op, i, &shape);
  }
}

/* Results have the types of the operands; a dynamic root adds one operand (collective_broadcast since 1.20). */
void infer_op_same_variadic(struct infer *infer, struct ir_op op) {
  uint32_t operands = ir_op_get(infer->module, op)->operand_count, results = ir_op_get(infer->module, op)->result_count;
  for (uint32_t i = 0; i < results && i < operands; i++) {
    infer_result_type(infer, op, i, ir_value_type(infer->module, ir_op_operand(infer->module, op, i)));
  }
}

void infer_op_device_id(struct infer *infer, struct ir_op op) {
  struct shape shape;
  shape_init(&shape, 0, ir_type_scalar(infer->module, DTYPE_UI32));
  infer_result(infer, op, 0, &shape);
}
