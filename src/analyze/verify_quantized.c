/* Quantized types: well-formed, on operations that take them, and with the scales that the operation keeps. */
#include <math.h>
#include <string.h>

#include "analyze/verify_int.h"
#include "base/strbuf.h"

const struct ir_quant *quant_of(const struct ir_module *module, struct ir_type type) {
  const struct ir_type_data *data = ir_type_get(module, type);
  if (data->kind != IR_TYPE_TENSOR && data->kind != IR_TYPE_UNRANKED) {
    return NULL;
  }
  const struct ir_type_data *element = ir_type_get(module, data->element);
  return element->kind == IR_TYPE_QUANTIZED ? &module->quants.data[element->quant] : NULL;
}

static const struct ir_quant *operand_quant(const struct infer *infer, struct ir_op op, uint32_t i) {
  return quant_of(infer->module, ir_value_type(infer->module, ir_op_operand(infer->module, op, i)));
}

static const struct ir_quant *result_quant(const struct infer *infer, struct ir_op op) {
  return quant_of(infer->module, ir_value_type(infer->module, ir_op_result(infer->module, op, 0)));
}

/* ---- types ---- */

/* Values of a storage type. */
static void type_range(enum dtype storage, int64_t *low, int64_t *high) {
  unsigned bits = dtype_bits(storage);
  bool is_unsigned = dtype_class_of(storage) == DTYPE_CLASS_UINT;
  *low = INT64_MIN;
  *high = INT64_MAX;
  if (bits > 0 && bits <= 32) {
    *low = is_unsigned ? 0 : -((int64_t)1 << (bits - 1));
    *high = ((int64_t)1 << (is_unsigned ? bits : bits - 1)) - 1;
  }
}

/* A scale in its expressed type: finite and positive. Compares with the largest and the smallest normal value by the
 * widths of exponent and mantissa. */
static const char *scale_trouble(enum dtype expressed, double scale) {
  unsigned exponent = dtype_exponent_bits(expressed), mantissa = dtype_mantissa_bits(expressed);
  if (!(scale > 0)) {
    return "a scale is not positive (C5)";
  }
  if (dtype_class_of(expressed) != DTYPE_CLASS_FLOAT || exponent < 5 || exponent > 8) {
    return NULL;
  }
  int bias = (1 << (exponent - 1)) - 1;
  double largest = ldexp(2.0 - ldexp(1.0, -(int)mantissa), bias);
  double smallest = ldexp(1.0, 1 - bias);
  return scale > largest    ? "a scale is not finite in the expressed type (C6)"
         : scale < smallest ? "a scale is too small for the expressed type (C5)"
                            : NULL;
}

/* What is wrong with a quantized tensor type; NULL when nothing is. */
static const char *quant_trouble(const struct ir_module *module, struct ir_type type) {
  struct shape shape;
  const struct ir_quant *quant = quant_of(module, type);
  if (quant == NULL || quant->count == 0) {
    return NULL;
  }
  int64_t low, high, type_low, type_high;
  type_range((enum dtype)quant->storage, &type_low, &type_high);
  low = quant->has_storage_bounds ? quant->storage_min : type_low;
  high = quant->has_storage_bounds ? quant->storage_max : type_high;
  if (low < type_low || high > type_high || low >= high) {
    return "the storage bounds are not inside the storage type (C3)";
  }
  for (uint32_t i = 0; i < quant->count; i++) {
    if (quant->zero_points[i] < type_low || quant->zero_points[i] > type_high) {
      return "a zero point is no value of the storage type (C8)";
    }
    if (quant->zero_points[i] < low || quant->zero_points[i] > high) {
      return "a zero point is outside of the storage range (C7)";
    }
    const char *trouble = scale_trouble((enum dtype)quant->expressed, quant->scales[i]);
    if (trouble != NULL) {
      return trouble;
    }
  }
  if (!shape_from_type(module, type, &shape)) {
    return NULL;
  }
  if (quant->axis >= (int64_t)shape.rank) {
    return "the quantized dimension is outside of the rank (C12)";
  }
  if (quant->axis >= 0 && !dims_agree(shape.dims[quant->axis], quant->count)) {
    return "there is not one scale per element of the quantized dimension (C13)";
  }
  return NULL;
}

static bool check_type(struct infer *infer, struct ir_op op, struct ir_type type) {
  const char *trouble = quant_trouble(infer->module, type);
  if (trouble == NULL) {
    return true;
  }
  struct strbuf text = {0};
  type_text(infer->module, type, &text);
  infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "type '%s': %s", strbuf_text(&text), trouble);
  strbuf_release(&text);
  return false;
}

bool verify_quantized(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  if (ir_op_code(module, op) > IR_OP_XOR || ir_op_code(module, op) == IR_OP_RETURN) {
    return true; /* functions and returns only pass values on */
  }
  uint32_t operands = ir_op_get(module, op)->operand_count, results = ir_op_get(module, op)->result_count;
  for (uint32_t i = 0; i < operands; i++) {
    const struct ir_quant *quant = operand_quant(infer, op, i);
    if (quant != NULL && !check_type(infer, op, ir_value_type(module, ir_op_operand(module, op, i)))) {
      return false;
    }
  }
  for (uint32_t i = 0; i < results; i++) {
    if (!check_type(infer, op, ir_value_type(module, ir_op_result(module, op, i)))) {
      return false;
    }
  }
  return true;
}

bool verify_quantized_arguments(struct infer *infer, struct ir_op function) {
  struct ir_block body = ir_function_body(infer->module, function);
  for (uint32_t i = 0; body.id != 0 && i < ir_block_get(infer->module, body)->argument_count; i++) {
    struct ir_type type = ir_value_type(infer->module, ir_block_argument(infer->module, body, i));
    const struct ir_quant *quant = quant_of(infer->module, type);
    const char *trouble = NULL;
    for (uint32_t s = 0; trouble == NULL && quant != NULL && s < quant->count; s++) {
      trouble = scale_trouble((enum dtype)quant->expressed, quant->scales[s]);
    }
    if (trouble != NULL) {
      infer_error(infer, function, DIAG_E0204_OPERAND_TYPE, "argument %u: %s", i, trouble);
      return false;
    }
  }
  return true;
}

/* ---- operations that keep scales ---- */

static bool has_same_parameters(const struct ir_quant *a, const struct ir_quant *b) {
  for (uint32_t i = 0; i < a->count && i < b->count; i++) {
    if (a->scales[i] != b->scales[i] || a->zero_points[i] != b->zero_points[i]) {
      return false;
    }
  }
  return a->count == b->count;
}

static bool fail_scales(struct infer *infer, struct ir_op op) {
  enum ir_opcode opcode = ir_op_code(infer->module, op);
  const struct ir_quant *from = operand_quant(infer, op, 0);
  bool is_per_axis = from != NULL && from->axis >= 0;
  bool is_broadcast = opcode == IR_OP_BROADCAST_IN_DIM || opcode == IR_OP_DYNAMIC_BROADCAST_IN_DIM;
  infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "operand and result must have the same scales and zero points (%s)",
              is_broadcast && is_per_axis ? "C6" : "C1");
  return false;
}

/* The one scale of a stretched dimension is repeated in the result. */
static bool check_broadcast(struct infer *infer, struct ir_op op, const struct ir_quant *from,
                            const struct ir_quant *to) {
  struct ints dims;
  bool is_mapped = ints_of(infer->module, op, "broadcast_dimensions", &dims) && from->axis < (int64_t)dims.count;
  if (!is_mapped || dims.v[from->axis] != to->axis) {
    infer_error(infer, op, DIAG_E0205_RESULT_TYPE,
                "the quantized dimension of the result is not that of the operand (C6)");
    return false;
  }
  for (uint32_t i = 0; from->count == 1 && i < to->count; i++) {
    if (to->scales[i] != from->scales[0] || to->zero_points[i] != from->zero_points[0]) {
      return fail_scales(infer, op);
    }
  }
  return from->count == 1 || has_same_parameters(from, to) || fail_scales(infer, op);
}

/* Elements before the quantized dimension, and its size, stay. */
static bool check_reshape(struct infer *infer, struct ir_op op, const struct ir_quant *from,
                          const struct ir_quant *to) {
  struct shape a, b;
  if (!shape_of(infer->module, ir_op_operand(infer->module, op, 0), &a)
      || !shape_of(infer->module, ir_op_result(infer->module, op, 0), &b) || from->axis >= (int64_t)a.rank
      || to->axis >= (int64_t)b.rank) {
    return true;
  }
  bool has_same_size = dims_agree(a.dims[from->axis], b.dims[to->axis]);
  a.rank = (uint32_t)from->axis;
  b.rank = (uint32_t)to->axis;
  if (!has_same_size || !dims_agree(shape_elements(&a), shape_elements(&b))) {
    infer_error(infer, op, DIAG_E0205_RESULT_TYPE,
                "the quantized dimension does not stay one dimension of its size (C3)");
    return false;
  }
  return has_same_parameters(from, to) || fail_scales(infer, op);
}

bool verify_same_quantization(struct infer *infer, struct ir_op op) {
  const struct ir_quant *from = operand_quant(infer, op, 0), *to = result_quant(infer, op);
  enum ir_opcode opcode = ir_op_code(infer->module, op);
  if (from == NULL || to == NULL || from->count == 0 || to->count == 0) {
    return true;
  }
  if (from->axis < 0 || to->axis < 0) {
    return (from->axis < 0 && to->axis < 0 && has_same_parameters(from, to)) || fail_scales(infer, op);
  }
  if (opcode == IR_OP_BROADCAST_IN_DIM || opcode == IR_OP_DYNAMIC_BROADCAST_IN_DIM) {
    return check_broadcast(infer, op, from, to);
  }
  if (opcode == IR_OP_RESHAPE || opcode == IR_OP_DYNAMIC_RESHAPE) {
    return check_reshape(infer, op, from, to);
  }
  struct ints permutation;
  if (opcode == IR_OP_TRANSPOSE && ints_of(infer->module, op, "permutation", &permutation)) {
    bool is_moved = to->axis < (int64_t)permutation.count && permutation.v[to->axis] == from->axis;
    if (!is_moved) {
      infer_error(infer, op, DIAG_E0205_RESULT_TYPE,
                  "the quantized dimension of the result is not that of the operand (C4)");
      return false;
    }
  }
  return has_same_parameters(from, to) || fail_scales(infer, op);
}

/* Quantizing keeps the expressed type. */
bool verify_uniform_quantize(struct infer *infer, struct ir_op op) {
  const struct ir_quant *from = operand_quant(infer, op, 0), *to = result_quant(infer, op);
  const struct ir_type_data *data =
      ir_type_get(infer->module, ir_value_type(infer->module, ir_op_operand(infer->module, op, 0)));
  if (to == NULL || data->kind != IR_TYPE_TENSOR) {
    return true;
  }
  uint8_t expressed = from != NULL ? from->expressed : ir_type_get(infer->module, data->element)->dtype;
  if (expressed != to->expressed) {
    infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "the expressed type of the result is %s, expected %s (C2)",
                dtype_name((enum dtype)to->expressed), dtype_name((enum dtype)expressed));
    return false;
  }
  return true;
}

bool verify_quantized_add(struct infer *infer, struct ir_op op) {
  const struct ir_quant *quants[3] = {operand_quant(infer, op, 0), operand_quant(infer, op, 1),
                                      result_quant(infer, op)};
  unsigned quantized = 0;
  for (unsigned i = 0; i < 3; i++) {
    quantized += quants[i] != NULL;
  }
  if (quantized == 0) {
    return true;
  }
  if (quantized < 3) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "operands and result must all be quantized or none (C2)");
    return false;
  }
  if ((quants[0]->axis >= 0 || quants[1]->axis >= 0) != (quants[2]->axis >= 0)) {
    infer_error(infer, op, DIAG_E0205_RESULT_TYPE,
                "the result must be quantized per axis exactly when an operand is (C5)");
    return false;
  }
  for (unsigned i = 0; i < 2; i++) {
    if (quants[i]->expressed != quants[2]->expressed || quants[i]->storage != quants[2]->storage) {
      infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "operand %u and result have other %s types (C%d)", i,
                  quants[i]->storage != quants[2]->storage ? "storage" : "expressed",
                  quants[i]->storage != quants[2]->storage ? 3 : 4);
      return false;
    }
    if (quants[i]->axis >= 0 && quants[2]->axis >= 0 && quants[i]->axis != quants[2]->axis) {
      infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "operand %u and result are quantized along other dimensions (C%u)",
                  i, 6 + i);
      return false;
    }
  }
  return true;
}

/* ---- products ---- */

static enum dtype plain_dtype(const struct infer *infer, struct ir_value value) {
  const struct ir_type_data *data = ir_type_get(infer->module, ir_value_type(infer->module, value));
  return data->kind == IR_TYPE_TENSOR ? (enum dtype)ir_type_get(infer->module, data->element)->dtype : DTYPE_NONE;
}

/* `number` is that of dot_general; convolution has the same constraints 14 numbers later. */
static bool fail_product(struct infer *infer, struct ir_op op, unsigned number, const char *text) {
  unsigned shift = ir_op_code(infer->module, op) == IR_OP_DOT_GENERAL ? 0 : 14;
  infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "%s (C%u)", text, number + shift);
  return false;
}

/* Both sides and the result quantized. */
static bool check_static_range(struct infer *infer, struct ir_op op, const struct ir_quant *lhs,
                               const struct ir_quant *rhs, const struct ir_quant *result) {
  if (lhs->storage != rhs->storage) {
    return fail_product(infer, op, 17, "the operands have other storage types");
  }
  if (lhs->expressed != rhs->expressed || lhs->expressed != result->expressed) {
    return fail_product(infer, op, 18, "operands and result have other expressed types");
  }
  if (rhs->axis < 0 && result->axis >= 0) {
    return fail_product(infer, op, 19, "the result is quantized per axis, the right operand is not");
  }
  return true;
}

bool verify_quantized_product(struct infer *infer, struct ir_op op, int64_t rhs_dimension, int64_t result_dimension,
                              const struct ints *contracted) {
  const struct ir_quant *lhs = operand_quant(infer, op, 0), *rhs = operand_quant(infer, op, 1);
  const struct ir_quant *result = result_quant(infer, op);
  if (lhs == NULL && rhs == NULL && result == NULL) {
    return true;
  }
  if (rhs == NULL || (lhs == NULL) != (result == NULL)) {
    return fail_product(infer, op, 14, "the right operand must be quantized, and the left one when the result is");
  }
  for (uint32_t i = 0; contracted != NULL && i < rhs->count; i++) {
    if (rhs->zero_points[i] != 0) {
      return fail_product(infer, op, 15, "the zero points of the right operand must be 0");
    }
  }
  for (uint32_t i = 0; contracted != NULL && rhs->axis >= 0 && i < contracted->count; i++) {
    if (contracted->v[i] == rhs->axis) {
      return fail_product(infer, op, 16, "the right operand is quantized along a contracted dimension");
    }
  }
  if (rhs->axis >= 0 && rhs_dimension >= 0 && rhs->axis != rhs_dimension) {
    return fail_product(infer, op, 15, "the right operand is not quantized along its output features");
  }
  if (result != NULL && result->axis >= 0 && result_dimension >= 0 && result->axis != result_dimension) {
    return fail_product(infer, op, 16, "the result is not quantized along its output features");
  }
  if (lhs != NULL && result != NULL) {
    return check_static_range(infer, op, lhs, rhs, result);
  }
  enum dtype left = plain_dtype(infer, ir_op_operand(infer->module, op, 0));
  if (left != (enum dtype)rhs->expressed || plain_dtype(infer, ir_op_result(infer->module, op, 0)) != left) {
    return fail_product(infer, op, 20, "left operand and result do not have the expressed type of the right operand");
  }
  return true;
}
