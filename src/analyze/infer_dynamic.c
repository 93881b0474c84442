/* Inference of operations whose shape is an operand: static once the operand is a constant. After mlir_bind these
 * make a shape-polymorphic program static. */
#include <string.h>

#include "analyze/analyze_int.h"

/* Shape that operand `index` holds; false when it is not constant. */
static bool shape_operand(struct infer *infer, struct ir_op op, uint32_t index, uint32_t result, struct shape *out) {
  struct fold_const sizes;
  struct shape stated;
  if (index >= ir_op_get(infer->module, op)->operand_count || result >= ir_op_get(infer->module, op)->result_count) {
    return false;
  }
  if (!infer_constant(infer, ir_op_operand(infer->module, op, index), &sizes)) {
    if (infer->fold_overflow != 0
        && !ir_type_is_static(infer->module, ir_value_type(infer->module, ir_op_result(infer->module, op, result)))) {
      infer_error(infer, (struct ir_op){infer->fold_overflow}, DIAG_E0404_OVERFLOW,
                  "the size that the program computes here does not fit the type of its shape arithmetic");
    }
    return false;
  }
  if (sizes.count > SHAPE_MAX_RANK) {
    return false;
  }
  shape_of(infer->module, ir_op_result(infer->module, op, result), &stated);
  shape_init(out, sizes.count, stated.element);
  for (uint32_t i = 0; i < sizes.count; i++) {
    if (sizes.v[i] < 0) {
      infer_error_rule(infer, op, RULE_RESULT_SHAPE, DIAG_E0204_OPERAND_TYPE,
                       "the shape operand holds the negative size %lld", (long long)sizes.v[i]);
      return false;
    }
    out->dims[i] = sizes.v[i];
  }
  return true;
}

/* ---- backwards: which number must a dimension variable be ---- */

/* One element of a shape tensor: an integer that is `value` element `index`. */
static void solve_element(struct infer *infer, struct ir_value value, uint32_t index, int64_t number, unsigned depth) {
  struct ir_module *module = infer->module;
  struct ir_op op = ir_value_get(module, value)->op;
  struct shape shape;
  uint32_t known;
  if (depth > 16 || !shape_of(module, value, &shape) || shape_elements(&shape) < 0) {
    return;
  }
  if (op.id == 0) {
    struct ir_op owner = argument_owner(module, value);
    const enum dtype dtype = (enum dtype)ir_type_get(module, shape.element)->dtype;
    bool is_variable = owner.id != 0 && ir_op_code(module, owner) == IR_OP_FUNC_FUNC && shape_elements(&shape) == 1
                       && fold_wrap(dtype, number) == number;
    if (is_variable && !map_get(&infer->argument_constants, value.id, &known)) {
      struct fold_const constant = {.dtype = dtype, .count = 1, .v = {number}};
      if (!vec_push(&infer->constants, constant)
          || !map_set(&infer->argument_constants, value.id, (uint32_t)infer->constants.count - 1)) {
        infer->status = STATUS_MEMORY;
      }
      infer->has_changed = true;
    }
    return;
  }
  switch ((int)ir_op_code(module, op)) {
  case IR_OP_CONVERT:
  case IR_OP_RESHAPE:
  case IR_OP_BROADCAST_IN_DIM:
    index = ir_op_code(module, op) == IR_OP_BROADCAST_IN_DIM ? 0 : index;
    solve_element(infer, ir_op_operand(module, op, 0), index, number, depth + 1);
    break;
  case IR_OP_CONCATENATE:
    for (uint32_t i = 0; i < ir_op_get(module, op)->operand_count; i++) {
      struct shape part;
      int64_t count = shape_of(module, ir_op_operand(module, op, i), &part) ? shape_elements(&part) : -1;
      if (count < 0) {
        return;
      }
      if (index < count) {
        solve_element(infer, ir_op_operand(module, op, i), index, number, depth + 1);
        return;
      }
      index -= (uint32_t)count;
    }
    break;
  default:
    break;
  }
}

/* Dimensions of the result that became known elsewhere are elements of the shape operand: JAX passes the sizes of a
 * polymorphic program as scalar arguments of the entry function, and a --bind names only the tensors. */
static void solve_shape_operand(struct infer *infer, struct ir_op op, uint32_t index) {
  struct shape stated;
  if (!infer->has_dynamic || !shape_of(infer->module, ir_op_result(infer->module, op, 0), &stated)) {
    return;
  }
  for (uint32_t i = 0; i < stated.rank; i++) {
    if (dim_is_static(stated.dims[i])) {
      solve_element(infer, ir_op_operand(infer->module, op, index), i, stated.dims[i], 0);
    }
  }
}

/* Rank of the result is the number of elements of the shape operand. */
static bool shape_rank(struct infer *infer, struct ir_op op, uint32_t index, struct shape *out) {
  struct shape sizes;
  if (!shape_of(infer->module, ir_op_operand(infer->module, op, index), &sizes)) {
    return false;
  }
  if (sizes.rank != 1) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the shape operand has rank %u, not 1", sizes.rank);
    return false;
  }
  if (!dim_is_static(sizes.dims[0]) || sizes.dims[0] > SHAPE_MAX_RANK) {
    return false;
  }
  shape_init(out, (uint32_t)sizes.dims[0], (struct ir_type){0});
  return true;
}

static void infer_from_operand(struct infer *infer, struct ir_op op, uint32_t index, struct ir_type element) {
  struct shape shape;
  if (shape_operand(infer, op, index, 0, &shape) || shape_rank(infer, op, index, &shape)) {
    shape.element = element;
    infer_result(infer, op, 0, &shape);
  }
  solve_shape_operand(infer, op, index);
}

void infer_op_dynamic_reshape(struct infer *infer, struct ir_op op) {
  struct shape from;
  shape_of(infer->module, ir_op_operand(infer->module, op, 0), &from);
  infer_from_operand(infer, op, 1, from.element);
  infer_op_reshape(infer, op);
}

void infer_op_dynamic_broadcast_in_dim(struct infer *infer, struct ir_op op) {
  struct shape from;
  shape_of(infer->module, ir_op_operand(infer->module, op, 0), &from);
  infer_from_operand(infer, op, 1, from.element);
  infer_op_broadcast_in_dim(infer, op);
}

void infer_op_dynamic_iota(struct infer *infer, struct ir_op op) {
  infer_from_operand(infer, op, 0, (struct ir_type){0});
  infer_op_iota(infer, op);
}

void infer_op_rng(struct infer *infer, struct ir_op op) {
  struct shape low;
  shape_of(infer->module, ir_op_operand(infer->module, op, 0), &low);
  infer_from_operand(infer, op, 2, low.element);
}

void infer_op_dynamic_pad(struct infer *infer, struct ir_op op) {
  struct shape from, to;
  int64_t amounts[3][SHAPE_MAX_RANK]; /* low, high, interior */
  if (!shape_of(infer->module, ir_op_operand(infer->module, op, 0), &from)) {
    return;
  }
  shape_init(&to, from.rank, from.element);
  bool is_known = true;
  for (uint32_t i = 0; i < 3; i++) {
    is_known &= infer_constant_dims(infer, ir_op_operand(infer->module, op, i + 2), from.rank, amounts[i]);
  }
  for (uint32_t i = 0; is_known && i < from.rank; i++) {
    if (dim_is_static(from.dims[i])) {
      __int128 gaps = from.dims[i] > 0 ? (__int128)(from.dims[i] - 1) * amounts[2][i] : 0;
      __int128 size = (__int128)from.dims[i] + amounts[0][i] + amounts[1][i] + gaps;
      to.dims[i] = size >= 0 && size <= INT64_MAX ? (int64_t)size : IR_DYNAMIC;
    }
  }
  infer_result(infer, op, 0, &to);
}

void infer_op_real_dynamic_slice(struct infer *infer, struct ir_op op) {
  struct shape from, to, bound;
  int64_t bounds[3][SHAPE_MAX_RANK]; /* start, limit, stride */
  if (!shape_of(infer->module, ir_op_operand(infer->module, op, 0), &from)) {
    return;
  }
  for (uint32_t i = 1; i < 4; i++) {
    bool is_list = shape_of(infer->module, ir_op_operand(infer->module, op, i), &bound) && bound.rank == 1;
    if (is_list && !dims_agree(bound.dims[0], from.rank)) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "operand %u does not have one entry per dimension", i);
      return;
    }
  }
  shape_init(&to, from.rank, from.element);
  bool is_known = true;
  for (uint32_t i = 0; i < 3; i++) {
    is_known &= infer_constant_dims(infer, ir_op_operand(infer->module, op, i + 1), from.rank, bounds[i]);
  }
  for (uint32_t i = 0; is_known && i < from.rank; i++) {
    bool is_valid = bounds[0][i] >= 0 && bounds[1][i] >= bounds[0][i] && bounds[2][i] > 0;
    if (is_valid) {
      int64_t length = bounds[1][i] - bounds[0][i];
      to.dims[i] = length / bounds[2][i] + (length % bounds[2][i] != 0);
    }
  }
  infer_result(infer, op, 0, &to);
}

/* The numbers of one of the five operands that describe the windows of a dynamic_reduce_window. */
static bool window_operand(struct infer *infer, struct ir_op op, uint32_t index, uint32_t count, int64_t *numbers) {
  struct fold_const known;
  if (!infer_constant(infer, ir_op_operand(infer->module, op, index), &known) || known.count != count) {
    return false;
  }
  memcpy(numbers, known.v, count * sizeof *numbers);
  return true;
}

/* JAX's reduce_window where a size of the window is not known: inputs, as many initial values, then the sizes of the window,
 * strides, base dilations, window dilations and padding (StableHLO's StablehloExtensions). */
static void infer_dynamic_reduce_window(struct infer *infer, struct ir_op op) {
  enum { DESCRIPTIONS = 5 };
  struct ir_module *module = infer->module;
  uint32_t count = ir_op_get(module, op)->operand_count, inputs = ir_op_get(module, op)->result_count;
  struct shape shape;
  int64_t size[SHAPE_MAX_RANK], stride[SHAPE_MAX_RANK], base[SHAPE_MAX_RANK], dilation[SHAPE_MAX_RANK];
  int64_t padding[2 * SHAPE_MAX_RANK];
  if (count != 2 * inputs + DESCRIPTIONS || !shape_of(module, ir_op_operand(module, op, 0), &shape)
      || 2 * shape.rank > FOLD_MAX_COUNT) {
    return;
  }
  uint32_t first = 2 * inputs, rank = shape.rank;
  if (!window_operand(infer, op, first, rank, size) || !window_operand(infer, op, first + 1, rank, stride)
      || !window_operand(infer, op, first + 2, rank, base) || !window_operand(infer, op, first + 3, rank, dilation)
      || !window_operand(infer, op, first + 4, 2 * rank, padding)) {
    return;
  }
  for (uint32_t k = 0; k < rank; k++) {
    struct window_dim window = {size[k], stride[k], padding[2 * k], padding[2 * k + 1], base[k], dilation[k]};
    if (window.size < 1 || window.stride < 1 || window.base_dilation < 1 || window.window_dilation < 1) {
      return;
    }
    shape.dims[k] = window_output(shape.dims[k], &window);
  }
  for (uint32_t i = 0; i < inputs; i++) {
    struct shape input;
    if (shape_of(module, ir_op_operand(module, op, i), &input)) {
      shape.element = input.element;
      infer_result(infer, op, i, &shape);
    }
  }
}

/* Custom calls have any types; some things are known: JAX's indices_of_shape_operands, windows of sizes that were not
 * known, and annotations that hand their operand on. */
void infer_op_custom_call(struct infer *infer, struct ir_op op) {
  static const char *const identities[] = {"Sharding", "annotate_device_placement", "MoveToHost", "MoveToDevice"};
  struct ir_module *module = infer->module;
  const char *target = enum_of(module, op, "call_target_name");
  if (!infer->has_dynamic) {
    return;
  }
  struct ints indices;
  if (ints_of(module, op, "indices_of_shape_operands", &indices)) {
    for (uint32_t i = 0; i < indices.count; i++) {
      struct shape shape;
      bool is_tensor = i < ir_op_get(module, op)->result_count && shape_of(module, ir_op_result(module, op, i), &shape);
      if (is_tensor && indices.v[i] >= 0 && shape_operand(infer, op, (uint32_t)indices.v[i], i, &shape)) {
        infer_result(infer, op, i, &shape);
      }
    }
    return;
  }
  if (strcmp(target, "stablehlo.dynamic_reduce_window") == 0) {
    infer_dynamic_reduce_window(infer, op);
    return;
  }
  bool is_unary = ir_op_get(module, op)->operand_count == 1 && ir_op_get(module, op)->result_count == 1;
  for (size_t i = 0; is_unary && i < sizeof identities / sizeof identities[0]; i++) {
    if (strcmp(target, identities[i]) == 0) {
      infer_result_type(infer, op, 0, ir_value_type(module, ir_op_operand(module, op, 0)));
    }
  }
}
