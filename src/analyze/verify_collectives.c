/* Device groups, channels and pairs of collective operations. */
#include <stdlib.h>
#include <string.h>

#include "analyze/verify_int.h"

/* Group tables up to this many entries are checked id by id. */
#define GROUP_MAX_IDS (1 << 20)

/* Every id from 0 to the largest once; -1 pads rows where `may_pad`. */
static bool check_ids(struct infer *infer, struct ir_op op, struct ir_attr attr, uint64_t count, bool may_pad) {
  int64_t largest = -1;
  for (uint64_t i = 0; i < count; i++) {
    int64_t id = ir_attr_int_at(infer->module, attr, i);
    if (id < (may_pad ? -1 : 0)) {
      infer_error_rule(infer, op, RULE_GROUP_RANGE, DIAG_E0206_ATTRIBUTE_VALUE,
                       "'replica_groups' has the invalid id %lld", (long long)id);
      return false;
    }
    largest = id > largest ? id : largest;
  }
  if (largest >= (int64_t)count) {
    infer_error_rule(infer, op, RULE_GROUP_RANGE, DIAG_E0206_ATTRIBUTE_VALUE,
                     "'replica_groups' does not hold every id up to %lld", (long long)largest);
    return false;
  }
  uint8_t *is_seen = calloc(count + 1, 1);
  if (is_seen == NULL) {
    infer->status = STATUS_MEMORY;
    return false;
  }
  bool is_valid = true;
  for (uint64_t i = 0; is_valid && i < count; i++) {
    int64_t id = ir_attr_int_at(infer->module, attr, i);
    is_valid = id < 0 || is_seen[id] == 0;
    if (!is_valid) {
      infer_error_rule(infer, op, RULE_GROUP_UNIQUE, DIAG_E0206_ATTRIBUTE_VALUE, "'replica_groups' holds id %lld twice",
                       (long long)id);
    } else if (id >= 0) {
      is_seen[id] = 1;
    }
  }
  for (int64_t id = 0; is_valid && id <= largest; id++) {
    if (is_seen[id] == 0) {
      infer_error_rule(infer, op, RULE_GROUP_RANGE, DIAG_E0206_ATTRIBUTE_VALUE,
                       "'replica_groups' does not hold id %lld", (long long)id);
      is_valid = false;
    }
  }
  free(is_seen);
  return is_valid;
}

/* A mesh that axis names refer to must be a symbol of the module. */
static bool check_mesh(struct infer *infer, struct ir_op op, struct ir_attr attr) {
  struct ir_module *module = infer->module;
  struct ir_attr mesh = ir_attr_field(module, attr, "mesh"), axes = ir_attr_field(module, attr, "axes");
  bool is_named =
      axes.id != 0 && ir_attr_get(module, axes)->kind == IR_ATTR_ARRAY && ir_attr_get(module, axes)->list_count > 0;
  if (is_named) {
    uint32_t first = module->lists.data[ir_attr_get(module, axes)->list_first];
    is_named = module->attrs.data[first].kind == IR_ATTR_STRUCT; /* axis numbers stand without a mesh */
  }
  if (!is_named || mesh.id == 0 || ir_attr_get(module, mesh)->kind != IR_ATTR_SYMBOL) {
    return true;
  }
  uint32_t name = ir_attr_get(module, mesh)->text;
  for (uint32_t id = 1; id < module->ops.count; id++) {
    struct ir_attr symbol = ir_op_attr(module, (struct ir_op){id}, "sym_name");
    if (symbol.id != 0 && ir_attr_get(module, symbol)->text == name) {
      return true;
    }
  }
  infer_error(infer, op, DIAG_E0207_UNRESOLVED_CALL, "no mesh named '@%s'", ir_text(module, name));
  return false;
}

/* `group_size` 0: any. */
static bool check_groups(struct infer *infer, struct ir_op op, bool may_be_empty, int64_t group_size) {
  /* groups of different sizes, padded with -1, are for reductions only */
  enum ir_opcode opcode = ir_op_code(infer->module, op);
  bool may_pad = opcode == IR_OP_ALL_REDUCE || opcode == IR_OP_COLLECTIVE_REDUCE;
  struct ir_module *module = infer->module;
  struct ir_attr attr = ir_op_attr(module, op, "replica_groups");
  if (attr.id == 0) {
    return true;
  }
  const struct ir_attr_data *data = ir_attr_get(module, attr);
  if (data->kind == IR_ATTR_STRUCT) {
    return check_mesh(infer, op, attr);
  }
  struct shape shape;
  if (data->kind != IR_ATTR_DENSE || !shape_from_type(module, data->type, &shape)) {
    return true;
  }
  uint64_t count = ir_attr_length(module, attr);
  if (group_size > 0 && shape.dims[1] != group_size) {
    infer_error_rule(infer, op, RULE_GROUP_SIZE, DIAG_E0206_ATTRIBUTE_VALUE, "groups have %lld members, expected %lld",
                     (long long)shape.dims[1], (long long)group_size);
    return false;
  }
  if (count == 0) {
    if (!may_be_empty) {
      infer_error_rule(infer, op, RULE_GROUP_RANGE, DIAG_E0206_ATTRIBUTE_VALUE, "'replica_groups' is empty");
    }
    return may_be_empty;
  }
  return count > GROUP_MAX_IDS || check_ids(infer, op, attr, count, may_pad);
}

static bool has_global_ids(const struct ir_module *module, struct ir_op op) {
  struct ir_attr attr = ir_op_attr(module, op, "use_global_device_ids");
  return attr.id != 0 && (ir_attr_get(module, attr)->kind == IR_ATTR_UNIT || ir_attr_get(module, attr)->integer != 0);
}

/* Ids of devices across partitions need a channel. */
static bool check_channel(struct infer *infer, struct ir_op op) {
  struct ints handle;
  struct ir_attr channel = ir_op_attr(infer->module, op, "channel_handle");
  bool is_numbered = channel.id != 0
                     && ints_from_attr(infer->module, ir_attr_field(infer->module, channel, "handle"), &handle)
                     && handle.count == 1 && handle.v[0] > 0;
  if (has_global_ids(infer->module, op) && !is_numbered) {
    infer_error_rule(infer, op, RULE_GROUP_CHANNEL, DIAG_E0206_ATTRIBUTE_VALUE,
                     "'use_global_device_ids' needs a positive channel");
    return false;
  }
  return true;
}

static bool check_group_ids(struct infer *infer, struct ir_op op) {
  return check_groups(infer, op, !has_global_ids(infer->module, op), 0) && check_channel(infer, op);
}

bool verify_all_gather(struct infer *infer, struct ir_op op) {
  struct shape from;
  struct ir_module *module = infer->module;
  int64_t dim = int_of(module, op, "all_gather_dim", -1);
  for (uint32_t i = 0; i < ir_op_get(module, op)->operand_count; i++) {
    bool is_zero = shape_of(module, ir_op_operand(module, op, i), &from) && dim >= 0 && dim < (int64_t)from.rank
                   && from.dims[dim] == 0;
    if (is_zero) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the gathered dimension of operand %u has size 0", i);
      return false;
    }
  }
  return check_group_ids(infer, op);
}

/* One body for all operands: arguments and result are scalars that the elements fit. */
static bool check_body(struct infer *infer, struct ir_op op, uint32_t operands) {
  struct ir_module *module = infer->module;
  for (uint32_t i = 0; i < operands; i++) {
    struct shape shape;
    shape_of(module, ir_op_operand(module, op, i), &shape);
    struct reducer reducer = {0, 1, &shape.element, &shape.element, NULL, NULL};
    if (shape.element.id != 0 && !verify_reducer(infer, op, &reducer)) {
      return false;
    }
    /* the result has the elements that the body returns */
    struct ir_op last = region_terminator(module, op, 0);
    bool has_result =
        last.id != 0 && ir_op_get(module, last)->operand_count == 1 && i < ir_op_get(module, op)->result_count;
    struct shape body, result;
    if (has_result && shape_of(module, ir_op_operand(module, last, 0), &body)
        && shape_of(module, ir_op_result(module, op, i), &result) && body.element.id != result.element.id
        && !type_is_quantized(module, result.element) && !type_is_quantized(module, body.element)) {
      infer_error_rule(infer, op, RULE_RESULT_ELEMENT, DIAG_E0205_RESULT_TYPE,
                       "result %u does not have the elements that the body returns", i);
      return false;
    }
  }
  return true;
}

static bool has_dynamic_root(const struct ir_module *module, struct ir_op op) {
  struct ir_attr attr = ir_op_attr(module, op, "has_dynamic_root");
  return attr.id != 0 && (ir_attr_get(module, attr)->kind == IR_ATTR_UNIT || ir_attr_get(module, attr)->integer != 0);
}

/* The last operand names the root of every data operand. */
static bool check_root(struct infer *infer, struct ir_op op, uint32_t data) {
  struct shape root;
  bool is_list = shape_of(infer->module, ir_op_operand(infer->module, op, data), &root) && root.rank == 1
                 && root.element.id == ir_type_scalar(infer->module, DTYPE_I32).id;
  if (!is_list || !dims_agree(root.dims[0], data)) {
    infer_error_rule(infer, op, RULE_GROUP_ROOT, DIAG_E0204_OPERAND_TYPE,
                     "the last operand is not a list of %u roots of type i32", data);
    return false;
  }
  return true;
}

bool verify_all_reduce(struct infer *infer, struct ir_op op) {
  uint32_t operands = ir_op_get(infer->module, op)->operand_count;
  bool has_root = has_dynamic_root(infer->module, op);
  if (has_root && !check_root(infer, op, operands - 1)) {
    return false;
  }
  bool is_rooted = ir_op_code(infer->module, op) == IR_OP_COLLECTIVE_REDUCE
                   && operands == ir_op_get(infer->module, op)->result_count + 1;
  return check_group_ids(infer, op) && check_body(infer, op, has_root || is_rooted ? operands - 1 : operands);
}

bool verify_reduce_scatter(struct infer *infer, struct ir_op op) {
  struct shape from;
  int64_t dim = int_of(infer->module, op, "scatter_dimension", -1);
  bool is_zero = shape_of(infer->module, ir_op_operand(infer->module, op, 0), &from) && dim >= 0
                 && dim < (int64_t)from.rank && from.dims[dim] == 0;
  if (is_zero) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the scattered dimension has size 0");
    return false;
  }
  return check_group_ids(infer, op) && check_body(infer, op, 1);
}

bool verify_all_to_all(struct infer *infer, struct ir_op op) {
  return check_groups(infer, op, false, int_of(infer->module, op, "split_count", 0));
}

/* Ids of a broadcast need not be all that there are: each is there once and none is negative. */
static bool check_group_list(struct infer *infer, struct ir_op op) {
  struct ir_attr attr = ir_op_attr(infer->module, op, "replica_groups");
  uint64_t count =
      attr.id != 0 && ir_attr_get(infer->module, attr)->kind == IR_ATTR_DENSE ? ir_attr_length(infer->module, attr) : 0;
  struct map seen = {0};
  bool is_valid = true;
  for (uint64_t i = 0; is_valid && i < count && i < GROUP_MAX_IDS; i++) {
    uint32_t unused;
    int64_t id = ir_attr_int_at(infer->module, attr, i);
    bool is_twice = id >= 0 && map_get(&seen, (uint64_t)id, &unused);
    is_valid = id >= 0 && !is_twice;
    if (!is_valid) {
      infer_error_rule(infer, op, is_twice ? RULE_GROUP_UNIQUE : RULE_GROUP_RANGE, DIAG_E0206_ATTRIBUTE_VALUE,
                       is_twice ? "'replica_groups' holds id %lld twice" : "'replica_groups' has the invalid id %lld",
                       (long long)id);
    } else if (!map_set(&seen, (uint64_t)id, 1)) {
      infer->status = STATUS_MEMORY;
      is_valid = false;
    }
  }
  map_release(&seen);
  return is_valid;
}

bool verify_collective_broadcast(struct infer *infer, struct ir_op op) {
  uint32_t operands = ir_op_get(infer->module, op)->operand_count;
  if (has_dynamic_root(infer->module, op) && !check_root(infer, op, operands - 1)) {
    return false;
  }
  return check_group_list(infer, op);
}

bool verify_collective_permute(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_attr attr = ir_op_attr(module, op, "source_target_pairs");
  struct shape shape;
  const struct ir_attr_data *data = ir_attr_get(module, attr);
  if (data->kind != IR_ATTR_DENSE || !shape_from_type(module, data->type, &shape)) {
    return true;
  }
  if (ir_attr_length(module, attr) == 0) {
    return true;
  }
  if (shape.dims[1] != 2) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'source_target_pairs' is not a list of pairs (C1)");
    return false;
  }
  uint64_t count = ir_attr_length(module, attr);
  struct map seen[2] = {{0}, {0}};
  bool is_valid = true;
  for (uint64_t i = 0; is_valid && i < count; i++) {
    uint32_t unused;
    int64_t id = ir_attr_int_at(module, attr, i);
    bool is_twice = id >= 0 && map_get(&seen[i % 2], (uint64_t)id, &unused);
    is_valid = id >= 0 && !is_twice;
    if (!is_valid) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "%s %lld %s (C%d)", i % 2 == 0 ? "source" : "target",
                  (long long)id, is_twice ? "stands twice" : "is negative",
                  !is_twice    ? 4
                  : i % 2 == 0 ? 2
                               : 3);
    } else if (!map_set(&seen[i % 2], (uint64_t)id, 1)) {
      infer->status = STATUS_MEMORY;
      is_valid = false;
    }
  }
  map_release(&seen[0]);
  map_release(&seen[1]);
  return is_valid;
}
