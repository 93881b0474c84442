/* Inference of data movement with static parameters: reshape, broadcast, slice, pad, concatenate, transpose, constants,
 * tuples. Constraint numbers (C1, …) are those of the StableHLO specification. */
#include <string.h>

#include "analyze/analyze_int.h"
#include "base/checked.h"
#include "base/strbuf.h"

static bool operand_shape(const struct infer *infer, struct ir_op op, uint32_t i, struct shape *out) {
  return shape_of(infer->module, ir_op_operand(infer->module, op, i), out);
}

static bool result_shape(const struct infer *infer, struct ir_op op, struct shape *out) {
  return ir_op_get(infer->module, op)->result_count > 0
         && shape_of(infer->module, ir_op_result(infer->module, op, 0), out);
}

/* Dimension attribute in [0, rank); false after a message. */
static bool dimension_of(struct infer *infer, struct ir_op op, const char *name, uint32_t rank, int64_t *out) {
  *out = int_of(infer->module, op, name, -1);
  if (*out < 0 || *out >= (int64_t)rank) {
    infer_error_rule(infer, op, RULE_DIMENSION, DIAG_E0206_ATTRIBUTE_VALUE, "'%s' is %lld, but the rank is %u", name,
                     (long long)*out, rank);
    return false;
  }
  return true;
}

static bool list_of(struct infer *infer, struct ir_op op, const char *name, uint32_t count, struct ints *out) {
  if (!ints_of(infer->module, op, name, out)) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'%s' is not a list of integers", name);
    return false;
  }
  return infer_check_count(infer, op, name, out, count);
}

void infer_op_reshape(struct infer *infer, struct ir_op op) {
  struct shape from, to;
  if (!operand_shape(infer, op, 0, &from) || !result_shape(infer, op, &to)) {
    return;
  }
  int64_t have = shape_elements(&from), want = shape_elements(&to);
  if (have >= 0 && want >= 0 && have != want) {
    infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "the operand has %lld elements, the result %lld (C2)",
                (long long)have, (long long)want);
    return;
  }
  /* one unknown dimension follows from the number of elements */
  uint32_t unknown = 0, count = 0;
  int64_t product = 1;
  for (uint32_t i = 0; i < to.rank; i++) {
    if (!dim_is_static(to.dims[i])) {
      unknown = i;
      count++;
    } else if (!checked_mul_i64(product, to.dims[i], &product)) {
      return;
    }
  }
  if (have >= 0 && count == 1 && product > 0 && have % product == 0) {
    to.dims[unknown] = have / product;
  }
  to.element = from.element;
  infer_result(infer, op, 0, &to);
}

void infer_op_broadcast(struct infer *infer, struct ir_op op) {
  struct shape from, to;
  struct ints sizes;
  if (!operand_shape(infer, op, 0, &from) || !ints_of(infer->module, op, "broadcast_sizes", &sizes)
      || from.rank + sizes.count > SHAPE_MAX_RANK) {
    return;
  }
  shape_init(&to, from.rank + sizes.count, from.element);
  for (uint32_t i = 0; i < to.rank; i++) {
    to.dims[i] = i < sizes.count ? sizes.v[i] : from.dims[i - sizes.count];
    if (i < sizes.count && sizes.v[i] < 0) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'broadcast_sizes' has the negative entry %lld",
                  (long long)sizes.v[i]);
      return;
    }
  }
  infer_result(infer, op, 0, &to);
}

void infer_op_broadcast_in_dim(struct infer *infer, struct ir_op op) {
  struct shape from, to;
  struct ints dims;
  if (!operand_shape(infer, op, 0, &from) || !list_of(infer, op, "broadcast_dimensions", from.rank, &dims)
      || !result_shape(infer, op, &to) || !infer_check_dims(infer, op, "broadcast_dimensions", &dims, to.rank)) {
    return;
  }
  for (uint32_t i = 0; i < from.rank; i++) {
    int64_t have = from.dims[i], want = to.dims[dims.v[i]];
    if (have != 1 && !dims_agree(have, want)) {
      infer_error(infer, op, DIAG_E0205_RESULT_TYPE,
                  "operand dimension %u of size %lld does not broadcast to result dimension %lld of size %lld (C5)", i,
                  (long long)have, (long long)dims.v[i], (long long)want);
      return;
    }
    if (!dim_is_static(want) && dim_is_static(have) && have != 1) {
      to.dims[dims.v[i]] = have;
    }
  }
  to.element = from.element;
  infer_result(infer, op, 0, &to);
}

void infer_op_transpose(struct infer *infer, struct ir_op op) {
  struct shape from, to;
  struct ints permutation;
  if (!operand_shape(infer, op, 0, &from) || !list_of(infer, op, "permutation", from.rank, &permutation)
      || !infer_check_dims(infer, op, "permutation", &permutation, from.rank)) {
    return;
  }
  shape_init(&to, from.rank, from.element);
  for (uint32_t i = 0; i < to.rank; i++) {
    to.dims[i] = from.dims[permutation.v[i]];
  }
  infer_result(infer, op, 0, &to);
}

void infer_op_slice(struct infer *infer, struct ir_op op) {
  struct shape from, to;
  struct ints start, limit, stride;
  if (!operand_shape(infer, op, 0, &from) || !list_of(infer, op, "start_indices", from.rank, &start)
      || !list_of(infer, op, "limit_indices", from.rank, &limit)
      || !list_of(infer, op, "strides", from.rank, &stride)) {
    return;
  }
  shape_init(&to, from.rank, from.element);
  for (uint32_t i = 0; i < to.rank; i++) {
    bool is_inside = !dim_is_static(from.dims[i]) || limit.v[i] <= from.dims[i];
    if (start.v[i] < 0 || start.v[i] > limit.v[i] || !is_inside) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE,
                  "the range [%lld, %lld) of dimension %u is not inside [0, %lld) (C3)", (long long)start.v[i],
                  (long long)limit.v[i], i, (long long)from.dims[i]);
      return;
    }
    if (stride.v[i] <= 0) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "the stride %lld of dimension %u is not positive (C4)",
                  (long long)stride.v[i], i);
      return;
    }
    to.dims[i] = (limit.v[i] - start.v[i]) / stride.v[i] + ((limit.v[i] - start.v[i]) % stride.v[i] != 0);
  }
  infer_result(infer, op, 0, &to);
}

void infer_op_concatenate(struct infer *infer, struct ir_op op) {
  struct shape sum, part;
  int64_t dimension;
  uint32_t count = ir_op_get(infer->module, op)->operand_count;
  if (!operand_shape(infer, op, 0, &sum) || !dimension_of(infer, op, "dimension", sum.rank, &dimension)) {
    return;
  }
  for (uint32_t i = 1; i < count; i++) {
    if (!operand_shape(infer, op, i, &part)) {
      return;
    }
    int64_t total = sum.dims[dimension], more = part.rank == sum.rank ? part.dims[dimension] : 0;
    if (!dim_is_static(total) || !dim_is_static(more) || !checked_add_i64(total, more, &total)) {
      total = IR_DYNAMIC;
    }
    sum.dims[dimension] = IR_DYNAMIC;
    bool is_same_element = part.element.id == sum.element.id || type_is_quantized(infer->module, part.element);
    if (!is_same_element || !shape_meet(&sum, &part)) {
      infer_error_rule(infer, op, is_same_element ? RULE_OPERANDS_SHAPE : RULE_OPERANDS_ELEMENT,
                       DIAG_E0204_OPERAND_TYPE, "operands 0 and %u must have the same type except for dimension %lld",
                       i, (long long)dimension);
      return;
    }
    sum.dims[dimension] = total;
  }
  infer_result(infer, op, 0, &sum);
}

void infer_op_pad(struct infer *infer, struct ir_op op) {
  struct shape from, value, to;
  struct ints low, high, interior;
  if (!operand_shape(infer, op, 0, &from) || !list_of(infer, op, "edge_padding_low", from.rank, &low)
      || !list_of(infer, op, "edge_padding_high", from.rank, &high)
      || !list_of(infer, op, "interior_padding", from.rank, &interior)) {
    return;
  }
  if (operand_shape(infer, op, 1, &value) && value.rank != 0) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the padding value is not a scalar (I2)");
    return;
  }
  if (operand_shape(infer, op, 1, &value) && !elements_agree(infer->module, value.element, from.element)) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the padding value has another element type than the operand (C1)");
    return;
  }
  shape_init(&to, from.rank, from.element);
  for (uint32_t i = 0; i < to.rank; i++) {
    if (interior.v[i] < 0) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'interior_padding' is negative in dimension %u (C3)", i);
      return;
    }
    if (!dim_is_static(from.dims[i])) {
      continue;
    }
    __int128 gaps = from.dims[i] > 0 ? (__int128)(from.dims[i] - 1) * interior.v[i] : 0;
    __int128 size = (__int128)from.dims[i] + low.v[i] + high.v[i] + gaps;
    if (size < 0) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "padding makes dimension %u negative (C4)", i);
      return;
    }
    to.dims[i] = size <= INT64_MAX ? (int64_t)size : IR_DYNAMIC;
  }
  infer_result(infer, op, 0, &to);
}

void infer_op_reverse(struct infer *infer, struct ir_op op) {
  struct shape shape;
  struct ints dims;
  if (operand_shape(infer, op, 0, &shape) && ints_of(infer->module, op, "dimensions", &dims)
      && !infer_check_dims(infer, op, "dimensions", &dims, shape.rank)) {
    return;
  }
  infer_result(infer, op, 0, &shape);
}

void infer_op_iota(struct infer *infer, struct ir_op op) {
  struct shape shape;
  int64_t dimension;
  if (result_shape(infer, op, &shape)) {
    dimension_of(infer, op, "iota_dimension", shape.rank, &dimension);
  }
}

/* Start indices: one scalar per dimension, or (old form) one vector. */
static bool check_indices(struct infer *infer, struct ir_op op, uint32_t first, uint32_t rank) {
  uint32_t count = ir_op_get(infer->module, op)->operand_count - first;
  struct shape index;
  if (count == 1 && operand_shape(infer, op, first, &index) && index.rank == 1) {
    return true;
  }
  if (count != rank) {
    infer_error(infer, op, DIAG_E0201_OPERAND_COUNT, "expected %u start indices, one per dimension, found %u (C%d)",
                rank, count, first == 1 ? 2 : 4); /* dynamic_slice, dynamic_update_slice */
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (operand_shape(infer, op, first + i, &index) && index.rank != 0) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "start index %u is not a scalar", i);
      return false;
    }
  }
  return true;
}

void infer_op_dynamic_slice(struct infer *infer, struct ir_op op) {
  struct shape from, to;
  struct ints sizes;
  if (!operand_shape(infer, op, 0, &from) || !check_indices(infer, op, 1, from.rank)
      || !list_of(infer, op, "slice_sizes", from.rank, &sizes)) {
    return;
  }
  shape_init(&to, from.rank, from.element);
  for (uint32_t i = 0; i < to.rank; i++) {
    to.dims[i] = sizes.v[i];
    if (sizes.v[i] < 0 || (dim_is_static(from.dims[i]) && sizes.v[i] > from.dims[i])) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "slice size %lld of dimension %u is not in [0, %lld] (C4)",
                  (long long)sizes.v[i], i, (long long)from.dims[i]);
      return;
    }
  }
  infer_result(infer, op, 0, &to);
}

void infer_op_dynamic_update_slice(struct infer *infer, struct ir_op op) {
  struct shape into, update;
  if (!operand_shape(infer, op, 0, &into) || !operand_shape(infer, op, 1, &update)
      || !check_indices(infer, op, 2, into.rank)) {
    return;
  }
  if (!elements_agree(infer->module, update.element, into.element)) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the update has another element type than the operand (C2)");
    return;
  }
  if (update.rank != into.rank) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the update has rank %u, the operand %u (C3)", update.rank,
                into.rank);
    return;
  }
  for (uint32_t i = 0; i < into.rank; i++) {
    if (dim_is_static(into.dims[i]) && update.dims[i] > into.dims[i]) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the update exceeds the operand in dimension %u (C6)", i);
      return;
    }
  }
  infer_result(infer, op, 0, &into);
}

/* Width of an element, 0 when unknown. */
static unsigned element_bits(const struct ir_module *module, struct ir_type element) {
  const struct ir_type_data *data = ir_type_get(module, element);
  if (data->kind == IR_TYPE_QUANTIZED) {
    return dtype_bits((enum dtype)module->quants.data[data->quant].storage);
  }
  return data->kind == IR_TYPE_SCALAR ? dtype_bits((enum dtype)data->dtype) : 0;
}

static bool is_complex(const struct ir_module *module, struct ir_type element) {
  const struct ir_type_data *data = ir_type_get(module, element);
  return data->kind == IR_TYPE_SCALAR && dtype_class_of((enum dtype)data->dtype) == DTYPE_CLASS_COMPLEX;
}

void infer_op_bitcast_convert(struct infer *infer, struct ir_op op) {
  struct shape from, to, out;
  if (!operand_shape(infer, op, 0, &from) || !result_shape(infer, op, &to)) {
    return;
  }
  if (is_complex(infer->module, from.element) != is_complex(infer->module, to.element)) {
    infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "operand and result must both be complex or neither (C2)");
    return;
  }
  unsigned have = element_bits(infer->module, from.element), want = element_bits(infer->module, to.element);
  if (have == 0 || want == 0) {
    return;
  }
  out = from;
  if (have > want && have % want == 0 && from.rank < SHAPE_MAX_RANK) {
    out.dims[out.rank++] = have / want;
  } else if (have < want && want % have == 0 && from.rank > 0 && dims_agree(from.dims[from.rank - 1], want / have)) {
    out.rank--;
  } else if (have != want) {
    infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "elements of %u bits do not convert to elements of %u bits (C1)",
                have, want);
    return;
  }
  out.element = to.element;
  infer_result(infer, op, 0, &out);
}

void infer_op_constant(struct infer *infer, struct ir_op op) {
  struct ir_attr attr = ir_op_attr(infer->module, op, "value");
  const struct ir_attr_data *data = ir_attr_get(infer->module, attr);
  bool has_type = (data->kind == IR_ATTR_DENSE || data->kind == IR_ATTR_RESOURCE) && data->type.id != 0;
  struct shape value, stated;
  if (!has_type || !shape_from_type(infer->module, data->type, &value) || !result_shape(infer, op, &stated)) {
    return;
  }
  /* a quantized constant is written in its storage type */
  const struct ir_type_data *element = ir_type_get(infer->module, stated.element);
  if (element->kind == IR_TYPE_QUANTIZED) {
    const struct ir_quant *quant = &infer->module->quants.data[element->quant];
    bool is_storage = quant->count == 0 || quant->storage == ir_type_get(infer->module, value.element)->dtype;
    value.element = is_storage ? stated.element : value.element;
  }
  infer_result(infer, op, 0, &value);
}

void infer_op_tuple(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_type type = ir_value_type(module, ir_op_result(module, op, 0));
  const struct ir_type_data data = *ir_type_get(module, type);
  uint32_t count = ir_op_get(module, op)->operand_count;
  if (data.kind != IR_TYPE_TUPLE || data.count != count) {
    infer_error_rule(infer, op, RULE_RESULT_ELEMENT, DIAG_E0205_RESULT_TYPE, "the result is not a tuple of %u elements",
                     count);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    struct ir_type element = {module->lists.data[data.first + i]};
    if (!types_agree(module, element, ir_value_type(module, ir_op_operand(module, op, i)))) {
      infer_error_rule(infer, op, RULE_RESULT_ELEMENT, DIAG_E0205_RESULT_TYPE,
                       "element %u of the result has another type than operand %u", i, i);
      return;
    }
  }
}

void infer_op_get_tuple_element(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  const struct ir_type_data data = *ir_type_get(module, ir_value_type(module, ir_op_operand(module, op, 0)));
  int64_t index = int_of(module, op, "index", -1);
  if (data.kind != IR_TYPE_TUPLE) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the operand is not a tuple");
    return;
  }
  if (index < 0 || index >= (int64_t)data.count) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'index' is %lld, but the tuple has %u elements (C1)",
                (long long)index, data.count);
    return;
  }
  infer_result_type(infer, op, 0, (struct ir_type){module->lists.data[data.first + (uint32_t)index]});
}

/* Result i has the type of operand i. */
void infer_op_forward(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  uint32_t operands = ir_op_get(module, op)->operand_count, results = ir_op_get(module, op)->result_count;
  if (operands != results) {
    infer_error_rule(infer, op, RULE_RESULT_COUNT, DIAG_E0202_RESULT_COUNT,
                     "expected %u results, one per operand, found %u", operands, results);
    return;
  }
  for (uint32_t i = 0; i < operands; i++) {
    infer_result_type(infer, op, i, ir_value_type(module, ir_op_operand(module, op, i)));
  }
}

void infer_op_get_dimension_size(struct infer *infer, struct ir_op op) {
  struct shape from, to;
  int64_t dimension;
  if (operand_shape(infer, op, 0, &from)) {
    if (!dimension_of(infer, op, "dimension", from.rank, &dimension)) {
      return;
    }
    if (dim_is_static(from.dims[dimension]) && from.dims[dimension] > INT32_MAX) {
      infer_error(infer, op, DIAG_E0404_OVERFLOW,
                  "dimension %lld has %lld elements, which does not fit the 32-bit size that the program computes with",
                  (long long)dimension, (long long)from.dims[dimension]);
      return;
    }
  }
  shape_init(&to, 0, ir_type_scalar(infer->module, DTYPE_I32));
  infer_result(infer, op, 0, &to);
}

void infer_op_set_dimension_size(struct infer *infer, struct ir_op op) {
  struct shape shape;
  int64_t dimension;
  if (!operand_shape(infer, op, 0, &shape) || !dimension_of(infer, op, "dimension", shape.rank, &dimension)) {
    return;
  }
  struct shape scalar;
  if (operand_shape(infer, op, 1, &scalar) && scalar.element.id != ir_type_scalar(infer->module, DTYPE_I32).id) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the size is not of type tensor<i32>");
    return;
  }
  struct fold_const size;
  bool is_known = infer_constant(infer, ir_op_operand(infer->module, op, 1), &size) && size.count == 1;
  bool is_full = is_known && size.v[0] == shape.dims[dimension];
  if (!is_full) {
    shape.dims[dimension] = IR_DYNAMIC; /* the bound stays in the type, the size does not */
  }
  infer_result(infer, op, 0, &shape);
}

void infer_op_top_k(struct infer *infer, struct ir_op op) {
  struct shape shape;
  int64_t k = int_of(infer->module, op, "k", -1);
  if (!operand_shape(infer, op, 0, &shape)) {
    return;
  }
  if (shape.rank == 0 || k < 0 || (dim_is_static(shape.dims[shape.rank - 1]) && k > shape.dims[shape.rank - 1])) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'k' is %lld, not a size within the last dimension",
                (long long)k);
    return;
  }
  shape.dims[shape.rank - 1] = k;
  infer_result(infer, op, 0, &shape);
  shape.element = ir_type_scalar(infer->module, DTYPE_I32);
  infer_result(infer, op, 1, &shape);
}

void infer_op_torch_index_select(struct infer *infer, struct ir_op op) {
  struct shape from, index, to;
  int64_t dim = int_of(infer->module, op, "dim", -1), batch = int_of(infer->module, op, "batch_dims", -1);
  if (!operand_shape(infer, op, 0, &from) || !operand_shape(infer, op, 1, &index)) {
    return;
  }
  if (dim < 0) {
    dim += (int64_t)from.rank;
  }
  if (batch < 0) {
    batch += (int64_t)index.rank;
  }
  bool is_valid = dim >= 0 && dim < (int64_t)from.rank && batch >= 0 && batch <= dim && batch <= (int64_t)index.rank
                  && from.rank + index.rank <= SHAPE_MAX_RANK;
  if (!is_valid) {
    return;
  }
  shape_init(&to, (uint32_t)(from.rank + index.rank - 1 - (uint32_t)batch), from.element);
  uint32_t n = 0;
  for (int64_t i = 0; i < dim; i++) {
    to.dims[n++] = from.dims[i];
  }
  for (int64_t i = batch; i < (int64_t)index.rank; i++) {
    to.dims[n++] = index.dims[i];
  }
  for (int64_t i = dim + 1; i < (int64_t)from.rank; i++) {
    to.dims[n++] = from.dims[i];
  }
  infer_result(infer, op, 0, &to);
}
