/* Bytes of a fusion in XLA's convention: results are written once (a dynamic_update_slice at the root only its
 * update), operands are read as their users inside need them (slices read the slice), constants of more than one
 * element are read. Source: HandleFusion and FusionParameterReadBytes of hlo_cost_analysis.cc. */
#include <stdlib.h>
#include <string.h>

#include "analyze/xla_cost_int.h"

/* Fusions that repeat an operand at every level of nesting would be followed exponentially often. */
#define XLA_MAX_NESTED_READS 100000

/* Users of the values in one fused computation, sorted by value, then by position. */
struct use {
  uint32_t value;
  struct ir_op user;
};

struct uses {
  VEC(struct use) list;
};

static int by_value(const void *a, const void *b) {
  const struct use *x = a, *y = b;
  if (x->value != y->value) {
    return x->value < y->value ? -1 : 1;
  }
  return x->user.id < y->user.id ? -1 : x->user.id > y->user.id;
}

/* A terminator with several operands is the tuple at the root, hence a user; with one it is no instruction. */
static bool uses_collect(struct xla *xla, struct ir_block block, struct uses *uses) {
  const struct ir_module *module = xla->module;
  bool ok = true;
  for (struct ir_op op = ir_block_first(module, block); ok && op.id != 0; op = ir_op_next(module, op)) {
    uint32_t count = ir_op_get(module, op)->operand_count;
    bool is_root = ir_opcode_has(ir_op_code(module, op), IR_TRAIT_TERMINATOR);
    for (uint32_t i = 0; ok && i < count && !(is_root && count == 1); i++) {
      struct use use = {ir_op_operand(module, op, i).id, op};
      ok = vec_push(&uses->list, use);
    }
  }
  if (ok && uses->list.count > 0) {
    qsort(uses->list.data, uses->list.count, sizeof uses->list.data[0], by_value);
  }
  if (!ok && xla->status == STATUS_OK) {
    xla->status = STATUS_MEMORY;
  }
  return ok;
}

static size_t first_use(const struct uses *uses, uint32_t value) {
  size_t low = 0, high = uses->list.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (uses->list.data[middle].value < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Next distinct user of `value` at or behind *cursor; id 0 at the end. */
static struct ir_op next_user(const struct uses *uses, uint32_t value, size_t *cursor) {
  while (*cursor < uses->list.count && uses->list.data[*cursor].value == value) {
    struct ir_op user = uses->list.data[(*cursor)++].user;
    bool is_repeated = *cursor < uses->list.count && uses->list.data[*cursor].value == value
                       && uses->list.data[*cursor].user.id == user.id;
    if (!is_repeated) {
      return user;
    }
  }
  return (struct ir_op){0};
}

static int64_t value_bytes(struct xla *xla, struct ir_value value) {
  return xla_bytes(xla, ir_value_type(xla->module, value));
}

/* Read that users without a rule of their own share. */
static int64_t shared_read(struct xla *xla, struct ir_value value, bool *is_seen) {
  if (*is_seen) {
    return 0;
  }
  *is_seen = true;
  return value_bytes(xla, value);
}

static int64_t slice_read(struct xla *xla, struct ir_value value, struct ir_op user, bool *is_seen) {
  bool is_sliced = ir_op_operand(xla->module, user, 0).id == value.id;
  return is_sliced ? xla_result_bytes(xla, user) : shared_read(xla, value, is_seen);
}

static int64_t update_read(struct xla *xla, struct ir_value value, struct ir_op user, bool *is_seen) {
  bool is_aliased = ir_op_operand(xla->module, user, 0).id == value.id;
  return is_aliased ? 0 : shared_read(xla, value, is_seen);
}

static int64_t parameter_read(struct xla *xla, const struct uses *uses, struct ir_value value);

/* The parameter is the root of the nested computation or the first operand of its root. */
static bool is_simple(const struct ir_module *module, struct ir_op fusion, struct ir_value parameter) {
  struct ir_op last = region_terminator(module, fusion, 0);
  if (last.id == 0 || ir_op_get(module, last)->operand_count == 0) {
    return false;
  }
  struct ir_value root = ir_op_operand(module, last, 0);
  if (ir_op_get(module, last)->operand_count > 1) {
    return root.id == parameter.id; /* the root is the tuple of the returned values */
  }
  struct ir_op op = ir_value_get(module, root)->op;
  return op.id == 0 || ir_op_get(module, op)->operand_count == 0 || ir_op_operand(module, op, 0).id == parameter.id;
}

/* Reads of a parameter inside of its nested fusion. */
static int64_t inner_read(struct xla *xla, struct ir_op fusion, struct ir_value parameter) {
  struct uses inner = {0};
  int64_t sum = 0;
  if (xla->depth >= ANALYZE_MAX_DEPTH || xla->nested_reads >= XLA_MAX_NESTED_READS) {
    xla->status = xla->status == STATUS_OK ? STATUS_LIMIT : xla->status;
    return 0;
  }
  xla->nested_reads++;
  xla->depth++;
  if (uses_collect(xla, ir_region_entry(xla->module, ir_op_region(xla->module, fusion, 0)), &inner)) {
    sum = parameter_read(xla, &inner, parameter);
  }
  xla->depth--;
  vec_release(&inner.list);
  return sum;
}

/* Users outside of a nested fusion decide how much of its parameter is read. */
static int64_t nested_read(struct xla *xla, const struct uses *uses, struct ir_op fusion, struct ir_value parameter) {
  const struct ir_module *module = xla->module;
  bool is_plain = is_simple(module, fusion, parameter);
  bool is_seen = false;
  int64_t sum = 0;
  for (uint32_t i = 0; i < ir_op_get(module, fusion)->result_count; i++) {
    struct ir_value result = ir_op_result(module, fusion, i);
    size_t cursor = first_use(uses, result.id);
    for (struct ir_op user = next_user(uses, result.id, &cursor); user.id != 0;
         user = next_user(uses, result.id, &cursor)) {
      enum ir_opcode opcode = ir_op_code(module, user);
      if (is_plain && opcode == IR_OP_SLICE) {
        sum = xla_add(sum, xla_result_bytes(xla, user));
      } else if (is_plain && opcode == IR_OP_DYNAMIC_SLICE) {
        sum = xla_add(sum, slice_read(xla, result, user, &is_seen));
      } else if (is_plain && opcode == IR_OP_DYNAMIC_UPDATE_SLICE) {
        sum = xla_add(sum, update_read(xla, result, user, &is_seen));
      } else if (!is_seen) {
        is_seen = true;
        sum = xla_add(sum, inner_read(xla, fusion, parameter));
      }
    }
  }
  return sum;
}

static int64_t fusion_read(struct xla *xla, const struct uses *uses, struct ir_op fusion, struct ir_value value) {
  const struct ir_module *module = xla->module;
  int64_t sum = 0;
  struct ir_block block = ir_region_entry(module, ir_op_region(module, fusion, 0));
  uint32_t operands = ir_op_get(module, fusion)->operand_count;
  for (uint32_t i = 0; block.id != 0 && i < operands && i < ir_block_get(module, block)->argument_count; i++) {
    if (ir_op_operand(module, fusion, i).id == value.id) {
      sum = xla_add(sum, nested_read(xla, uses, fusion, ir_block_argument(module, block, i)));
    }
  }
  return sum;
}

static int64_t parameter_read(struct xla *xla, const struct uses *uses, struct ir_value value) {
  bool is_seen = false;
  int64_t sum = 0;
  size_t cursor = first_use(uses, value.id);
  for (struct ir_op user = next_user(uses, value.id, &cursor); user.id != 0;
       user = next_user(uses, value.id, &cursor)) {
    int64_t bytes = 0;
    switch ((int)ir_op_code(xla->module, user)) {
    case IR_OP_MHLO_FUSION:
      bytes = fusion_read(xla, uses, user, value);
      break;
    case IR_OP_SLICE:
      bytes = xla_result_bytes(xla, user);
      break;
    case IR_OP_DYNAMIC_SLICE:
      bytes = slice_read(xla, value, user, &is_seen);
      break;
    case IR_OP_DYNAMIC_UPDATE_SLICE:
      bytes = update_read(xla, value, user, &is_seen);
      break;
    case IR_OP_BROADCAST:
    case IR_OP_BROADCAST_IN_DIM:
    case IR_OP_RESHAPE:
      bytes = value_bytes(xla, value);
      break;
    default:
      bytes = shared_read(xla, value, &is_seen);
      break;
    }
    sum = xla_add(sum, bytes);
  }
  return sum;
}

/* A tuple parameter is read leaf by leaf through its get_tuple_element users; a leaf without one counts what the
 * users of the enclosing tuple read (its pointers). */
static int64_t tuple_read(struct xla *xla, const struct uses *uses, struct ir_value value, struct ir_type type) {
  const struct ir_module *module = xla->module;
  const struct ir_type_data data = *ir_type_get(module, type);
  if (data.kind != IR_TYPE_TUPLE) {
    return parameter_read(xla, uses, value);
  }
  if (xla->depth >= ANALYZE_MAX_DEPTH) {
    return 0;
  }
  xla->depth++;
  int64_t sum = 0;
  for (uint32_t i = 0; i < data.count; i++) {
    struct ir_value element = value;
    size_t cursor = first_use(uses, value.id);
    for (struct ir_op user = next_user(uses, value.id, &cursor); user.id != 0;
         user = next_user(uses, value.id, &cursor)) {
      bool is_element = ir_op_code(module, user) == IR_OP_GET_TUPLE_ELEMENT && int_of(module, user, "index", -1) == i;
      if (is_element) {
        element = ir_op_result(module, user, 0);
        break;
      }
    }
    sum = xla_add(sum, tuple_read(xla, uses, element, (struct ir_type){module->lists.data[data.first + i]}));
  }
  xla->depth--;
  return sum;
}

/* Bytes written for one array at the root or one element of the tuple at the root. */
static int64_t root_write(struct xla *xla, struct ir_value root) {
  struct ir_op op = ir_value_get(xla->module, root)->op;
  if (op.id != 0 && ir_op_code(xla->module, op) == IR_OP_DYNAMIC_UPDATE_SLICE) {
    return xla_operand_bytes(xla, op, 1);
  }
  return xla_leaf_bytes(xla, ir_value_type(xla->module, root));
}

static int64_t output_write(struct xla *xla, struct ir_op fusion) {
  const struct ir_module *module = xla->module;
  struct ir_op last = region_terminator(module, fusion, 0);
  uint32_t count = last.id != 0 ? ir_op_get(module, last)->operand_count : 0;
  int64_t sum = 0;
  if (count == 1) {
    struct ir_op tuple = ir_value_get(module, ir_op_operand(module, last, 0))->op;
    if (tuple.id != 0 && ir_op_code(module, tuple) == IR_OP_TUPLE) {
      last = tuple;
      count = ir_op_get(module, tuple)->operand_count;
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    sum = xla_add(sum, root_write(xla, ir_op_operand(module, last, i)));
  }
  return sum;
}

/* Constants larger than an immediate operand are read from memory. */
static int64_t constant_read(struct xla *xla, struct ir_block block) {
  int64_t sum = 0;
  for (struct ir_op op = ir_block_first(xla->module, block); op.id != 0; op = ir_op_next(xla->module, op)) {
    bool is_constant = ir_op_code(xla->module, op) == IR_OP_CONSTANT;
    if (is_constant && xla_result_elements(xla, op, 0) > 1) {
      sum = xla_add(sum, xla_result_bytes(xla, op));
    }
  }
  return sum;
}

void xla_rule_fusion(struct xla *xla, struct ir_op op, struct xla_props *props) {
  const struct ir_module *module = xla->module;
  struct uses uses = {0};
  struct ir_block block = ir_region_entry(module, ir_op_region(module, op, 0));
  uint32_t operands = ir_op_get(module, op)->operand_count;
  memset(props, 0, sizeof *props);
  xla_region(xla, op, 0, &props->cost);
  props->is_timed = true;
  props->cost.operand_count = operands;
  props->cost.output_bytes = output_write(xla, op);
  props->cost.bytes_accessed = props->cost.output_bytes;
  if (block.id == 0 || !uses_collect(xla, block, &uses)) {
    vec_release(&uses.list);
    return;
  }
  props->cost.bytes_accessed = xla_add(props->cost.bytes_accessed, constant_read(xla, block));
  for (uint32_t i = 0; i < operands && i < ir_block_get(module, block)->argument_count; i++) {
    struct ir_value parameter = ir_block_argument(module, block, i);
    int64_t bytes = tuple_read(xla, &uses, parameter, ir_value_type(module, parameter));
    xla_set_operand(props, i, bytes);
    props->cost.bytes_accessed = xla_add(props->cost.bytes_accessed, bytes);
  }
  vec_release(&uses.list);
}
