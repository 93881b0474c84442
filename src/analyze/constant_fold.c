/* Evaluates small integer tensors: the shape arithmetic of dynamic programs (get_dimension_size of static dimensions,
 * arithmetic, concatenate) and the bounds of loops. Works backwards from the wanted value with a budget of visited
 * operations, through calls and loop-invariant carried values; nothing is stored in the module. */
#include <string.h>

#include "analyze/analyze_int.h"

/* Nesting of operands looked through; with a struct fold_const or three per level this stays below 200 KB of stack. */
#define FOLD_MAX_DEPTH 100

int64_t fold_wrap(enum dtype dtype, int64_t value) {
  unsigned bits = dtype_bits(dtype);
  if (bits == 0 || bits >= 64) {
    return value;
  }
  uint64_t mask = ((uint64_t)1 << bits) - 1;
  uint64_t low = (uint64_t)value & mask;
  bool is_negative = dtype_class_of(dtype) == DTYPE_CLASS_SINT && (low >> (bits - 1)) != 0;
  return (int64_t)(is_negative ? low | ~mask : low);
}

static bool is_unsigned(enum dtype dtype) {
  return dtype_class_of(dtype) == DTYPE_CLASS_UINT;
}

/* ---- integer operations ---- */

static int compare_ints(enum dtype dtype, int64_t a, int64_t b) {
  if (is_unsigned(dtype)) {
    return (uint64_t)a < (uint64_t)b ? -1 : (uint64_t)a > (uint64_t)b;
  }
  return a < b ? -1 : a > b;
}

static bool divide_ints(enum dtype dtype, bool wants_remainder, int64_t a, int64_t b, int64_t *out) {
  if (b == 0) {
    return false;
  }
  if (is_unsigned(dtype)) {
    *out = (int64_t)(wants_remainder ? (uint64_t)a % (uint64_t)b : (uint64_t)a / (uint64_t)b);
  } else if (b == -1) {
    *out = wants_remainder ? 0 : (int64_t)(0 - (uint64_t)a);
  } else {
    *out = wants_remainder ? a % b : a / b;
  }
  return true;
}

/* Sum, difference or product; false when it does not fit the type: a size that wraps around is none. */
static bool exact_int(enum ir_opcode opcode, enum dtype dtype, int64_t a, int64_t b, int64_t *out) {
  bool wraps;
  if (is_unsigned(dtype)) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b, r;
    wraps = opcode == IR_OP_ADD        ? __builtin_add_overflow(x, y, &r)
            : opcode == IR_OP_SUBTRACT ? __builtin_sub_overflow(x, y, &r)
                                       : __builtin_mul_overflow(x, y, &r);
    *out = (int64_t)r;
  } else {
    wraps = opcode == IR_OP_ADD        ? __builtin_add_overflow(a, b, out)
            : opcode == IR_OP_SUBTRACT ? __builtin_sub_overflow(a, b, out)
                                       : __builtin_mul_overflow(a, b, out);
  }
  return !wraps && fold_wrap(dtype, *out) == *out;
}

static bool binary_int(enum ir_opcode opcode, enum dtype dtype, int64_t a, int64_t b, int64_t *out) {
  switch ((int)opcode) {
  case IR_OP_ADD:
  case IR_OP_SUBTRACT:
  case IR_OP_MULTIPLY:
    if (dtype == DTYPE_I1) { /* a predicate: or, exclusive or, and */
      *out = opcode == IR_OP_ADD ? (a | b) : opcode == IR_OP_SUBTRACT ? (a ^ b) : (a & b);
      return true;
    }
    return exact_int(opcode, dtype, a, b, out);
  case IR_OP_DIVIDE:
  case IR_OP_REMAINDER:
    return divide_ints(dtype, opcode == IR_OP_REMAINDER, a, b, out);
  case IR_OP_MAXIMUM:
    *out = compare_ints(dtype, a, b) >= 0 ? a : b;
    return true;
  case IR_OP_MINIMUM:
    *out = compare_ints(dtype, a, b) <= 0 ? a : b;
    return true;
  case IR_OP_AND:
    *out = a & b;
    return true;
  case IR_OP_OR:
    *out = a | b;
    return true;
  case IR_OP_XOR:
    *out = a ^ b;
    return true;
  default:
    return false;
  }
}

static bool unary_int(enum ir_opcode opcode, enum dtype dtype, int64_t a, int64_t *out) {
  switch ((int)opcode) {
  case IR_OP_NEGATE:
    *out = (int64_t)(0 - (uint64_t)a);
    return true;
  case IR_OP_ABS:
    *out = a < 0 && !is_unsigned(dtype) ? (int64_t)(0 - (uint64_t)a) : a;
    return true;
  case IR_OP_SIGN:
    *out = compare_ints(dtype, a, 0);
    return true;
  case IR_OP_NOT:
    *out = dtype == DTYPE_I1 ? a == 0 : ~a;
    return true;
  default:
    return false;
  }
}

/* ---- values ---- */

static bool fold_at(struct fold *fold, struct ir_value value, const struct fold_frame *frame, unsigned depth,
                    struct fold_const *out);

/* Element type and number of elements of the result; false when it is not a small static integer tensor. */
static bool result_form(const struct ir_module *module, struct ir_value value, enum dtype *dtype, uint32_t *count,
                        bool *is_sized) {
  struct shape shape;
  if (!shape_of(module, value, &shape)) {
    return false;
  }
  const struct ir_type_data *element = ir_type_get(module, shape.element);
  if (element->kind != IR_TYPE_SCALAR || !dtype_is_integral((enum dtype)element->dtype)) {
    return false;
  }
  int64_t elements = shape_elements(&shape);
  *dtype = (enum dtype)element->dtype;
  *is_sized = elements >= 0;
  *count = elements >= 0 && elements <= FOLD_MAX_COUNT ? (uint32_t)elements : 0;
  return elements <= FOLD_MAX_COUNT;
}

static bool fold_literal(const struct ir_module *module, struct ir_op op, struct fold_const *out) {
  struct ir_attr attr = ir_op_attr(module, op, "value");
  if (attr.id == 0) {
    return false;
  }
  const struct ir_attr_data *data = ir_attr_get(module, attr);
  if (data->kind == IR_ATTR_INTEGER || data->kind == IR_ATTR_BOOL) {
    out->count = 1;
    out->v[0] = data->integer;
    return true;
  }
  if (data->kind != IR_ATTR_DENSE) {
    return false;
  }
  uint64_t length = ir_attr_length(module, attr);
  if (length > FOLD_MAX_COUNT) {
    return false;
  }
  out->count = (uint32_t)length;
  for (uint32_t i = 0; i < out->count; i++) {
    out->v[i] = fold_wrap(out->dtype, ir_attr_int_at(module, attr, i));
  }
  return true;
}

static bool fold_binary(struct fold *fold, struct ir_op op, const struct fold_frame *frame, unsigned depth,
                        struct fold_const *out) {
  struct fold_const b;
  enum dtype dtype = out->dtype;
  enum ir_opcode opcode = ir_op_code(fold->module, op);
  if (!fold_at(fold, ir_op_operand(fold->module, op, 0), frame, depth, out)
      || !fold_at(fold, ir_op_operand(fold->module, op, 1), frame, depth, &b) || b.count != out->count) {
    return false;
  }
  for (uint32_t i = 0; i < out->count; i++) {
    if (!binary_int(opcode, dtype, out->v[i], b.v[i], &out->v[i])) {
      bool may_wrap = opcode == IR_OP_ADD || opcode == IR_OP_SUBTRACT || opcode == IR_OP_MULTIPLY;
      fold->overflow = may_wrap ? op.id : fold->overflow;
      return false;
    }
    out->v[i] = fold_wrap(dtype, out->v[i]);
  }
  return true;
}

static bool fold_compare(struct fold *fold, struct ir_op op, const struct fold_frame *frame, unsigned depth,
                         struct fold_const *out) {
  static const struct {
    const char *name;
    bool less, equal, greater;
  } directions[] = {{"EQ", false, true, false}, {"NE", true, false, true},  {"LT", true, false, false},
                    {"LE", true, true, false},  {"GT", false, false, true}, {"GE", false, true, true}};
  struct fold_const b;
  const char *name = enum_of(fold->module, op, "comparison_direction");
  if (!fold_at(fold, ir_op_operand(fold->module, op, 0), frame, depth, out)
      || !fold_at(fold, ir_op_operand(fold->module, op, 1), frame, depth, &b) || b.count != out->count) {
    return false;
  }
  for (size_t d = 0; d < sizeof directions / sizeof directions[0]; d++) {
    if (strcmp(directions[d].name, name) == 0) {
      for (uint32_t i = 0; i < out->count; i++) {
        int order = compare_ints(out->dtype, out->v[i], b.v[i]);
        out->v[i] = order < 0 ? directions[d].less : order == 0 ? directions[d].equal : directions[d].greater;
      }
      return true;
    }
  }
  return false;
}

static bool fold_select(struct fold *fold, struct ir_op op, const struct fold_frame *frame, unsigned depth,
                        struct fold_const *out) {
  struct fold_const choice;
  if (!fold_at(fold, ir_op_operand(fold->module, op, 0), frame, depth, &choice) || choice.count == 0) {
    return false;
  }
  for (uint32_t i = 1; i < choice.count; i++) {
    if (choice.v[i] != choice.v[0]) {
      return false; /* a mixture is not needed for shapes */
    }
  }
  return fold_at(fold, ir_op_operand(fold->module, op, choice.v[0] != 0 ? 1 : 2), frame, depth, out);
}

static bool fold_clamp(struct fold *fold, struct ir_op op, const struct fold_frame *frame, unsigned depth,
                       struct fold_const *out) {
  struct fold_const low, high;
  if (!fold_at(fold, ir_op_operand(fold->module, op, 0), frame, depth, &low)
      || !fold_at(fold, ir_op_operand(fold->module, op, 1), frame, depth, out)
      || !fold_at(fold, ir_op_operand(fold->module, op, 2), frame, depth, &high)
      || (low.count != 1 && low.count != out->count) || (high.count != 1 && high.count != out->count)) {
    return false;
  }
  for (uint32_t i = 0; i < out->count; i++) {
    int64_t min = low.v[low.count == 1 ? 0 : i], max = high.v[high.count == 1 ? 0 : i];
    out->v[i] = compare_ints(out->dtype, out->v[i], min) < 0 ? min : out->v[i];
    out->v[i] = compare_ints(out->dtype, out->v[i], max) > 0 ? max : out->v[i];
  }
  return true;
}

static bool fold_concatenate(struct fold *fold, struct ir_op op, const struct fold_frame *frame, unsigned depth,
                             struct fold_const *out) {
  struct shape shape;
  uint32_t operands = ir_op_get(fold->module, op)->operand_count;
  /* along dimension 0 the elements of the operands follow each other, whatever the rank */
  if (!shape_of(fold->module, ir_op_result(fold->module, op, 0), &shape)
      || int_of(fold->module, op, "dimension", -1) != 0) {
    return false;
  }
  out->count = 0;
  for (uint32_t i = 0; i < operands; i++) {
    struct fold_const part;
    if (!fold_at(fold, ir_op_operand(fold->module, op, i), frame, depth, &part)
        || out->count + part.count > FOLD_MAX_COUNT) {
      return false;
    }
    memcpy(out->v + out->count, part.v, part.count * sizeof part.v[0]);
    out->count += part.count;
  }
  return true;
}

/* 1-D slices with bounds from attributes (slice) or operands (real_dynamic_slice). */
static bool fold_slice(struct fold *fold, struct ir_op op, const struct fold_frame *frame, unsigned depth,
                       struct fold_const *out) {
  int64_t bounds[3];
  static const char *const names[3] = {"start_indices", "limit_indices", "strides"};
  bool is_dynamic = ir_op_code(fold->module, op) == IR_OP_REAL_DYNAMIC_SLICE;
  for (uint32_t i = 0; i < 3; i++) {
    struct fold_const bound;
    struct ints list;
    if (is_dynamic) {
      if (!fold_at(fold, ir_op_operand(fold->module, op, i + 1), frame, depth, &bound) || bound.count != 1) {
        return false;
      }
      bounds[i] = bound.v[0];
    } else {
      if (!ints_of(fold->module, op, names[i], &list) || list.count != 1) {
        return false;
      }
      bounds[i] = list.v[0];
    }
  }
  struct fold_const all;
  if (!fold_at(fold, ir_op_operand(fold->module, op, 0), frame, depth, &all) || bounds[0] < 0 || bounds[2] <= 0
      || bounds[1] > all.count) {
    return false;
  }
  int64_t stride = bounds[2] <= FOLD_MAX_COUNT ? bounds[2] : FOLD_MAX_COUNT; /* over all elements either way */
  out->count = 0;
  for (int64_t i = bounds[0]; i < bounds[1]; i += stride) {
    out->v[out->count++] = all.v[i];
  }
  return true;
}

/* Scalar (or one element) to `count` equal elements. */
static bool fold_splat(struct fold *fold, struct ir_op op, const struct fold_frame *frame, unsigned depth,
                       uint32_t count, bool is_sized, struct fold_const *out) {
  if (!fold_at(fold, ir_op_operand(fold->module, op, 0), frame, depth, out) || !is_sized
      || (out->count != 1 && out->count != count)) {
    return false;
  }
  for (uint32_t i = 1; i < count && out->count == 1; i++) {
    out->v[i] = out->v[0];
  }
  out->count = count;
  return true;
}

/* The result is an i32; infer_op_get_dimension_size has said so where the dimension is longer. */
static bool fold_dimension_size(struct fold *fold, struct ir_op op, struct fold_const *out) {
  struct shape shape;
  int64_t dimension = int_of(fold->module, op, "dimension", -1);
  if (!shape_of(fold->module, ir_op_operand(fold->module, op, 0), &shape) || dimension < 0
      || dimension >= (int64_t)shape.rank || !dim_is_static(shape.dims[dimension])
      || shape.dims[dimension] > INT32_MAX) {
    return false;
  }
  out->count = 1;
  out->v[0] = shape.dims[dimension];
  return true;
}

static bool fold_iota(struct fold *fold, struct ir_op op, uint32_t count, struct fold_const *out) {
  struct shape shape;
  if (!shape_of(fold->module, ir_op_result(fold->module, op, 0), &shape) || shape.rank != 1
      || shape_elements(&shape) < 0) {
    return false;
  }
  out->count = count;
  for (uint32_t i = 0; i < count; i++) {
    out->v[i] = i;
  }
  return true;
}

/* Result i of a call is what the callee returns, seen with the call's operands. */
static bool fold_call(struct fold *fold, struct ir_op op, uint32_t index, const struct fold_frame *frame,
                      unsigned depth, struct fold_const *out) {
  struct ir_op callee = callee_of(fold->module, fold->symbols, op);
  struct ir_block body = callee.id != 0 ? ir_function_body(fold->module, callee) : (struct ir_block){0};
  struct ir_op last = body.id != 0 ? ir_block_terminator(fold->module, body) : (struct ir_op){0};
  if (last.id == 0 || index >= ir_op_get(fold->module, last)->operand_count) {
    return false;
  }
  struct fold_frame inner = {frame, op};
  return fold_at(fold, ir_op_operand(fold->module, last, index), &inner, depth, out);
}

/* Carried value of a loop that the body hands on unchanged: its initial value. */
static bool fold_invariant(struct fold *fold, struct ir_op loop, uint32_t index, const struct fold_frame *frame,
                           unsigned depth, struct fold_const *out) {
  const struct ir_module *module = fold->module;
  struct ir_op last = region_terminator(module, loop, 1);
  if (last.id == 0 || index >= ir_op_get(module, last)->operand_count
      || index >= ir_op_get(module, loop)->operand_count) {
    return false;
  }
  struct ir_block body = ir_region_entry(module, ir_op_region(module, loop, 1));
  bool is_handed_on = index < ir_block_get(module, body)->argument_count
                      && ir_op_operand(module, last, index).id == ir_block_argument(module, body, index).id;
  return is_handed_on && fold_at(fold, ir_op_operand(module, loop, index), frame, depth, out);
}

static bool fold_argument(struct fold *fold, struct ir_value value, const struct fold_frame *frame, unsigned depth,
                          struct fold_const *out) {
  const struct ir_module *module = fold->module;
  uint32_t known;
  uint32_t index = ir_value_get(module, value)->index;
  struct ir_op owner = argument_owner(module, value);
  if (owner.id == 0) {
    return false;
  }
  enum ir_opcode opcode = ir_op_code(module, owner);
  if (opcode == IR_OP_WHILE) {
    return fold_invariant(fold, owner, index, frame, depth, out);
  }
  if (opcode != IR_OP_FUNC_FUNC) {
    return false;
  }
  if (frame != NULL) {
    return index < ir_op_get(module, frame->call)->operand_count
           && fold_at(fold, ir_op_operand(module, frame->call, index), frame->parent, depth, out);
  }
  if (fold->argument_constants != NULL && map_get(fold->argument_constants, value.id, &known)) {
    *out = fold->constants[known];
    return true;
  }
  return false;
}

static bool fold_op(struct fold *fold, struct ir_op op, uint32_t index, const struct fold_frame *frame, unsigned depth,
                    uint32_t count, bool is_sized, struct fold_const *out) {
  enum dtype dtype = out->dtype;
  bool ok = false;
  switch ((int)ir_op_code(fold->module, op)) {
  case IR_OP_CONSTANT:
  case IR_OP_CHLO_CONSTANT:
  case IR_OP_SDY_CONSTANT:
    return fold_literal(fold->module, op, out);
  case IR_OP_CONVERT:
  case IR_OP_RESHAPE:
  case IR_OP_DYNAMIC_RESHAPE:
  case IR_OP_BITCAST_CONVERT:
  case IR_OP_OPTIMIZATION_BARRIER:
    ok = fold_at(fold, ir_op_operand(fold->module, op, index), frame, depth, out);
    for (uint32_t i = 0; ok && i < out->count; i++) {
      int64_t value = out->v[i];
      out->v[i] = dtype == DTYPE_I1 ? value != 0 : fold_wrap(dtype, value);
      if (dtype != DTYPE_I1 && out->v[i] != value && ir_op_code(fold->module, op) == IR_OP_CONVERT) {
        fold->overflow = op.id;
        ok = false;
      }
    }
    return ok && (!is_sized || out->count == count);
  case IR_OP_ADD:
  case IR_OP_SUBTRACT:
  case IR_OP_MULTIPLY:
  case IR_OP_DIVIDE:
  case IR_OP_REMAINDER:
  case IR_OP_MAXIMUM:
  case IR_OP_MINIMUM:
  case IR_OP_AND:
  case IR_OP_OR:
  case IR_OP_XOR:
    return fold_binary(fold, op, frame, depth, out);
  case IR_OP_NEGATE:
  case IR_OP_ABS:
  case IR_OP_SIGN:
  case IR_OP_NOT:
    ok = fold_at(fold, ir_op_operand(fold->module, op, 0), frame, depth, out);
    for (uint32_t i = 0; ok && i < out->count; i++) {
      ok = unary_int(ir_op_code(fold->module, op), dtype, out->v[i], &out->v[i]);
      out->v[i] = fold_wrap(dtype, out->v[i]);
    }
    return ok;
  case IR_OP_COMPARE:
    return fold_compare(fold, op, frame, depth, out);
  case IR_OP_SELECT:
    return fold_select(fold, op, frame, depth, out);
  case IR_OP_CLAMP:
    return fold_clamp(fold, op, frame, depth, out);
  case IR_OP_CONCATENATE:
    return fold_concatenate(fold, op, frame, depth, out);
  case IR_OP_SLICE:
  case IR_OP_REAL_DYNAMIC_SLICE:
    return fold_slice(fold, op, frame, depth, out);
  case IR_OP_BROADCAST:
  case IR_OP_BROADCAST_IN_DIM:
  case IR_OP_DYNAMIC_BROADCAST_IN_DIM:
    return fold_splat(fold, op, frame, depth, count, is_sized, out);
  case IR_OP_GET_DIMENSION_SIZE:
    return fold_dimension_size(fold, op, out);
  case IR_OP_IOTA:
    return fold_iota(fold, op, count, out);
  case IR_OP_FUNC_CALL:
  case IR_OP_COMPOSITE:
    return fold_call(fold, op, index, frame, depth, out);
  case IR_OP_WHILE:
    return fold_invariant(fold, op, index, frame, depth, out);
  default:
    return false;
  }
}

static bool fold_at(struct fold *fold, struct ir_value value, const struct fold_frame *frame, unsigned depth,
                    struct fold_const *out) {
  uint32_t count;
  bool is_sized;
  if (fold->budget == 0 || depth >= FOLD_MAX_DEPTH || value.id == 0) {
    return false;
  }
  fold->budget--;
  if (!result_form(fold->module, value, &out->dtype, &count, &is_sized)) {
    return false;
  }
  enum dtype dtype = out->dtype;
  const struct ir_value_data *data = ir_value_get(fold->module, value);
  bool ok = data->op.id == 0 ? fold_argument(fold, value, frame, depth + 1, out)
                             : fold_op(fold, data->op, data->index, frame, depth + 1, count, is_sized, out);
  out->dtype = dtype;
  return ok;
}

bool fold_value(struct fold *fold, struct ir_value value, const struct fold_frame *frame, struct fold_const *out) {
  return fold_at(fold, value, frame, 0, out);
}
