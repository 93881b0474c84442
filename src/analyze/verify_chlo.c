/* Operations of chlo: broadcasting forms, ragged products, scans. The dialect is not in the specification of StableHLO, so
 * there are no constraint numbers. */
#include "analyze/verify_int.h"

static bool fail_value(struct infer *infer, struct ir_op op, const char *text) {
  infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "%s", text);
  return false;
}

static bool fail_operand(struct infer *infer, struct ir_op op, const char *text) {
  infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "%s", text);
  return false;
}

bool verify_mulhi(struct infer *infer, struct ir_op op) {
  struct shape shape;
  shape_of(infer->module, ir_op_operand(infer->module, op, 0), &shape);
  const struct ir_type_data *element = ir_type_get(infer->module, shape.element);
  bool is_bool = element->kind == IR_TYPE_SCALAR && element->dtype == DTYPE_I1;
  return !is_bool || fail_operand(infer, op, "the operands are predicates, not integers");
}

/* Both operands and the result of a broadcasting operation of one element type. */
bool verify_broadcasting(struct infer *infer, struct ir_op op) {
  struct shape a, b, result;
  struct ir_module *module = infer->module;
  shape_of(module, ir_op_operand(module, op, 0), &a);
  shape_of(module, ir_op_operand(module, op, 1), &b);
  shape_of(module, ir_op_result(module, op, 0), &result);
  if (!elements_agree(module, a.element, b.element)) {
    return fail_operand(infer, op, "the operands have different element types");
  }
  if (!elements_agree(module, result.element, a.element)) {
    infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "the result has another element type than the operands");
    return false;
  }
  return true;
}

/* Both branches of a broadcasting selection have one element type. */
bool verify_broadcast_select(struct infer *infer, struct ir_op op) {
  struct shape a, b;
  shape_of(infer->module, ir_op_operand(infer->module, op, 1), &a);
  shape_of(infer->module, ir_op_operand(infer->module, op, 2), &b);
  return elements_agree(infer->module, a.element, b.element)
         || fail_operand(infer, op, "the two branches have different element types");
}

/* The value has the element type of the result. */
bool verify_constant_like(struct infer *infer, struct ir_op op) {
  struct shape result;
  const struct ir_attr_data *value = ir_attr_get(infer->module, ir_op_attr(infer->module, op, "value"));
  shape_of(infer->module, ir_op_result(infer->module, op, 0), &result);
  bool is_number = value->kind == IR_ATTR_INTEGER || value->kind == IR_ATTR_FLOAT;
  return !is_number || value->type.id == 0 || elements_agree(infer->module, value->type, result.element)
         || fail_value(infer, op, "'value' has another type than the elements of the result");
}

static bool contains(const struct ints *list, int64_t value) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (list->v[i] == value) {
      return true;
    }
  }
  return false;
}

/* Place of `value` in a list, -1 when it is not there. */
static int64_t place_of(const struct ints *list, int64_t value) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (list->v[i] == value) {
      return i;
    }
  }
  return -1;
}

enum ragged_list {
  RAGGED_LHS_BATCH,
  RAGGED_RHS_BATCH,
  RAGGED_LHS_CONTRACT,
  RAGGED_RHS_CONTRACT,
  RAGGED_DIM,
  RAGGED_GROUP
};

/* Sizes of groups: one row [g] for all, or one row for each place of the dimensions that stand outside of the ragged one:
 * [batch..., outer..., g], where outer ones are free dimensions before a free ragged dimension, contracting ones before a
 * contracting one; for a ragged batch dimension the batch dimensions before it. */
static bool check_group_sizes(struct infer *infer, struct ir_op op, const struct ints *lists, const struct shape *lhs,
                              const struct shape *rhs) {
  struct shape sizes, expected;
  const struct ints *batch = &lists[RAGGED_LHS_BATCH], *contract = &lists[RAGGED_LHS_CONTRACT];
  if (!shape_of(infer->module, ir_op_operand(infer->module, op, 2), &sizes)) {
    return true;
  }
  int64_t ragged = lists[RAGGED_DIM].v[0];
  int64_t in_batch = place_of(batch, ragged), in_contract = place_of(contract, ragged);
  uint32_t n = 0;
  shape_init(&expected, SHAPE_MAX_RANK, (struct ir_type){0});
  for (uint32_t i = 0; i < (in_batch >= 0 ? (uint32_t)in_batch : batch->count); i++) {
    expected.dims[n++] = lhs->dims[batch->v[i]];
  }
  for (int64_t i = 0; i < in_contract; i++) {
    expected.dims[n++] = lhs->dims[contract->v[i]];
  }
  for (int64_t d = 0; in_batch < 0 && in_contract < 0 && d < ragged; d++) {
    if (!contains(batch, d) && !contains(contract, d)) {
      expected.dims[n++] = lhs->dims[d];
    }
  }
  expected.rank = n + 1;
  if (sizes.rank == 0 || (sizes.rank != 1 && !shapes_agree(&sizes, &expected))) {
    return fail_operand(infer, op,
                        "the group sizes have neither one dimension nor those outside of the ragged one too");
  }
  int64_t groups = sizes.dims[sizes.rank - 1];
  bool has_groups = lists[RAGGED_GROUP].count == 1;
  return !has_groups || dims_agree(rhs->dims[lists[RAGGED_GROUP].v[0]], groups)
         || fail_operand(infer, op, "the group dimension of the right operand is not as long as the group sizes");
}

/* Ragged dimension free: one group dimension in the right operand; ragged dimension batched or contracted: none. */
bool verify_ragged_dot(struct infer *infer, struct ir_op op) {
  static const char *const names[6] = {"lhs_batching_dimensions",    "rhs_batching_dimensions",
                                       "lhs_contracting_dimensions", "rhs_contracting_dimensions",
                                       "lhs_ragged_dimensions",      "rhs_group_dimensions"};
  struct ir_module *module = infer->module;
  struct ir_attr attr = ir_op_attr(module, op, "ragged_dot_dimension_numbers");
  struct ints lists[6];
  struct shape lhs, rhs;
  if (attr.id == 0 || !shape_of(module, ir_op_operand(module, op, 0), &lhs)
      || !shape_of(module, ir_op_operand(module, op, 1), &rhs)) {
    return true;
  }
  for (uint32_t i = 0; i < 6; i++) {
    ints_from_attr(module, ir_attr_field(module, attr, names[i]), &lists[i]);
    if (!infer_check_dims(infer, op, names[i], &lists[i], i == 0 || i == 2 || i == 4 ? lhs.rank : rhs.rank)) {
      return false;
    }
  }
  if (lists[0].count != lists[1].count || lists[2].count != lists[3].count) {
    return fail_value(infer, op, "the operands have other numbers of batching or contracting dimensions");
  }
  if (lists[4].count != 1) {
    return fail_value(infer, op, "there must be one ragged dimension");
  }
  for (uint32_t i = 0; i < lists[2].count; i++) {
    if (!dims_agree(lhs.dims[lists[2].v[i]], rhs.dims[lists[3].v[i]])) {
      return fail_operand(infer, op, "contracting dimensions have different sizes");
    }
  }
  for (uint32_t i = 0; i < lists[5].count; i++) {
    if (contains(&lists[1], lists[5].v[i]) || contains(&lists[3], lists[5].v[i])) {
      return fail_value(infer, op, "a group dimension is also a batching or contracting one");
    }
  }
  bool is_shared = contains(&lists[0], lists[4].v[0]) || contains(&lists[2], lists[4].v[0]);
  if (lists[5].count != (is_shared ? 0u : 1u)) {
    return fail_value(infer, op, "the right operand needs one group dimension when the ragged one is free, else none");
  }
  return check_group_sizes(infer, op, lists, &lhs, &rhs);
}

/* Inputs lose the scanned dimension in the body, carried values do not. */
bool verify_scan(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ints segments;
  struct ir_block block = ir_region_entry(module, ir_op_region(module, op, 0));
  int64_t dimension = int_of(module, op, "dimension", -1), stated = int_of(module, op, "scan_dim_size", -1);
  uint32_t operands = ir_op_get(module, op)->operand_count;
  if (block.id == 0 || !ints_of(module, op, "operandSegmentSizes", &segments) || segments.count != 2) {
    return true;
  }
  if (ir_block_get(module, block)->argument_count != operands) {
    infer_error(infer, op, DIAG_E0211_REGION, "the body has %u arguments, expected %u",
                ir_block_get(module, block)->argument_count, operands);
    return false;
  }
  for (uint32_t i = 0; i < operands; i++) {
    struct shape outside, inside;
    bool is_ranked = shape_of(module, ir_op_operand(module, op, i), &outside)
                     && shape_of(module, ir_block_argument(module, block, i), &inside);
    if (!is_ranked) {
      continue;
    }
    if (i < (uint32_t)segments.v[0]) {
      if (dimension < 0 || dimension >= (int64_t)outside.rank) {
        return fail_value(infer, op, "'dimension' is outside of the rank of an input");
      }
      if (stated >= 0 && !dims_agree(stated, outside.dims[dimension])) {
        return fail_value(infer, op, "'scan_dim_size' is not the size of the scanned dimension");
      }
      for (uint32_t d = (uint32_t)dimension; d + 1 < outside.rank; d++) {
        outside.dims[d] = outside.dims[d + 1];
      }
      outside.rank--;
    }
    if (outside.element.id != inside.element.id || !shapes_agree(&outside, &inside)) {
      infer_error(infer, op, DIAG_E0211_REGION, "operand %u does not fit argument %u of the body", i, i);
      return false;
    }
  }
  return true;
}
