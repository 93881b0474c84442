/* Bodies of reductions, comparators, mapped computations, asynchronous regions and scans. */
#include <string.h>

#include "analyze/spec_table.h"
#include "analyze/verify_int.h"
#include "base/strbuf.h"

#define BODY_MAX_INPUTS 64

static struct ir_type element_of(const struct ir_module *module, struct ir_value value) {
  const struct ir_type_data *data = ir_type_get(module, ir_value_type(module, value));
  return data->kind == IR_TYPE_TENSOR || data->kind == IR_TYPE_UNRANKED ? data->element : (struct ir_type){0};
}

static enum dtype_class number_class(enum dtype dtype) {
  enum dtype_class cls = dtype_class_of(dtype);
  return cls == DTYPE_CLASS_BOOL ? DTYPE_CLASS_SINT : cls; /* i1 is a signless integer */
}

/* A value of type `from` fits a body that works in `to`: same kind of number, at least as wide. */
static bool is_promotable(const struct ir_module *module, struct ir_type from, struct ir_type to) {
  const struct ir_type_data *a = ir_type_get(module, from), *b = ir_type_get(module, to);
  if (from.id == to.id || a->kind == IR_TYPE_OPAQUE || b->kind == IR_TYPE_OPAQUE) {
    return true;
  }
  if (a->kind == IR_TYPE_QUANTIZED && b->kind == IR_TYPE_QUANTIZED) {
    const struct ir_quant *p = &module->quants.data[a->quant], *q = &module->quants.data[b->quant];
    return p->expressed == q->expressed && number_class((enum dtype)p->storage) == number_class((enum dtype)q->storage)
           && dtype_bits((enum dtype)p->storage) <= dtype_bits((enum dtype)q->storage);
  }
  return a->kind == IR_TYPE_SCALAR && b->kind == IR_TYPE_SCALAR
         && number_class((enum dtype)a->dtype) == number_class((enum dtype)b->dtype)
         && dtype_bits((enum dtype)a->dtype) <= dtype_bits((enum dtype)b->dtype);
}

/* The dimensions of `part` are some of those of `whole`, in order. */
static bool is_slice_of(const struct shape *part, const struct shape *whole) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < part->rank; i++) {
    while (at < whole->rank && !dims_agree(part->dims[i], whole->dims[at])) {
      at++;
    }
    if (at == whole->rank) {
      return false;
    }
    at++;
  }
  return true;
}

static bool check_pair(struct infer *infer, struct ir_op op, const struct reducer *reducer, struct ir_block block,
                       struct ir_op last, uint32_t i) {
  struct ir_module *module = infer->module;
  struct shape result, argument;
  struct ir_value returned = ir_op_operand(module, last, i);
  if (ir_type_get(module, ir_value_type(module, returned))->kind != IR_TYPE_TENSOR) {
    infer_error_rule(infer, op, RULE_BODY, DIAG_E0211_REGION, "the body returns something else than a tensor at %u", i);
    return false;
  }
  shape_of(module, returned, &result);
  for (uint32_t side = 0; side < 2; side++) {
    uint32_t index = i + side * reducer->count;
    struct ir_value value = ir_block_argument(module, block, index);
    shape_of(module, value, &argument);
    if (!shapes_agree(&argument, &result)
        || (argument.element.id != result.element.id && !type_is_quantized(module, result.element))) {
      infer_error_rule(infer, op, RULE_BODY, DIAG_E0211_REGION,
                       "argument %u of the body has another type than its result %u", index, i);
      return false;
    }
  }
  struct shape scalar;
  shape_init(&scalar, 0, (struct ir_type){0});
  const struct shape *init = reducer->init_shapes != NULL ? &reducer->init_shapes[i] : &scalar;
  bool is_list = reducer->init_shapes != NULL && init->is_ranked && init->rank > 0 && result.rank == 0;
  unsigned label = is_list ? spec_label(ir_op_code(module, op), "init_values") : 0;
  if (label != 0) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "initial value %u is no scalar (I%u)", i, label);
    return false;
  }
  if (!shapes_agree(init, &result)) {
    infer_error_rule(infer, op, RULE_BODY, DIAG_E0211_REGION,
                     "result %u of the body has another shape than the initial value", i);
    return false;
  }
  if (!is_promotable(module, reducer->inits[i], result.element)
      || !is_promotable(module, reducer->inputs[i], argument.element)) {
    infer_error_rule(infer, op, RULE_BODY, DIAG_E0211_REGION,
                     "elements of input %u cannot be promoted to those of the body", i);
    return false;
  }
  uint32_t limit = reducer->slices != NULL && reducer->slices[i].is_ranked ? reducer->slices[i].rank : 0;
  bool is_slice =
      reducer->slices == NULL || !reducer->slices[i].is_ranked || is_slice_of(&argument, &reducer->slices[i]);
  if (argument.rank > limit || !is_slice) {
    infer_error_rule(infer, op, RULE_BODY, DIAG_E0211_REGION,
                     "argument %u of the body has a shape that is no slice of the input", i + reducer->count);
    return false;
  }
  return true;
}

/* Operands [first, first + count) have one shape; `number` NULL: that of the operation's operands. */
static bool check_one_shape(struct infer *infer, struct ir_op op, uint32_t first, uint32_t count, const char *what,
                            const char *number) {
  struct shape shape, other;
  for (uint32_t i = 1; i < count; i++) {
    shape_of(infer->module, ir_op_operand(infer->module, op, first), &shape);
    shape_of(infer->module, ir_op_operand(infer->module, op, first + i), &other);
    if (!shapes_agree(&shape, &other)) {
      number = number != NULL ? number : constraint_of(ir_op_code(infer->module, op), RULE_OPERANDS_SHAPE);
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "%s 0 and %u have different shapes (%s)", what, i, number);
      return false;
    }
  }
  return true;
}

/* Operand i and operand i + shift have the same elements, for the first `count`. */
static bool check_same_elements(struct infer *infer, struct ir_op op, uint32_t count, uint32_t shift) {
  for (uint32_t i = 0; i < count; i++) {
    if (!elements_agree(infer->module, element_of(infer->module, ir_op_operand(infer->module, op, i)),
                        element_of(infer->module, ir_op_operand(infer->module, op, i + shift)))) {
      infer_error_rule(infer, op, RULE_OPERANDS_ELEMENT, DIAG_E0204_OPERAND_TYPE,
                       "operands %u and %u have different element types", i, i + shift);
      return false;
    }
  }
  return true;
}

bool verify_reducer(struct infer *infer, struct ir_op op, const struct reducer *reducer) {
  struct ir_module *module = infer->module;
  struct ir_block block = ir_region_entry(module, ir_op_region(module, op, reducer->region));
  struct ir_op last = region_terminator(module, op, reducer->region);
  if (last.id == 0 || !ir_opcode_has(ir_op_code(module, last), IR_TRAIT_TERMINATOR)) {
    return true;
  }
  uint32_t arguments = ir_block_get(module, block)->argument_count;
  if (arguments != 2 * reducer->count) {
    infer_error_rule(infer, op, RULE_BODY, DIAG_E0211_REGION, "the body has %u arguments, expected %u", arguments,
                     2 * reducer->count);
    return false;
  }
  uint32_t results = ir_op_get(module, last)->operand_count;
  if (results != reducer->count) {
    infer_error_rule(infer, op, RULE_BODY, DIAG_E0211_REGION, "the body returns %u values, expected %u", results,
                     reducer->count);
    return false;
  }
  for (uint32_t i = 0; i < reducer->count; i++) {
    if (!check_pair(infer, op, reducer, block, last, i)) {
      return false;
    }
  }
  return true;
}

/* Windows and reductions: n inputs, n initial values. */
bool verify_reduce(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_type inputs[BODY_MAX_INPUTS], inits[BODY_MAX_INPUTS];
  struct shape init_shapes[BODY_MAX_INPUTS], slices[BODY_MAX_INPUTS];
  uint32_t count = ir_op_get(module, op)->operand_count / 2;
  struct ints dims;
  bool is_reduce = ir_op_code(module, op) == IR_OP_REDUCE && ints_of(module, op, "dimensions", &dims);
  if (count == 0 || count > BODY_MAX_INPUTS || ir_op_get(module, op)->operand_count % 2 != 0) {
    return true; /* inference says what is wrong */
  }
  if (!check_one_shape(infer, op, 0, count, "inputs", NULL)) {
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    struct shape whole;
    inputs[i] = element_of(module, ir_op_operand(module, op, i));
    inits[i] = element_of(module, ir_op_operand(module, op, count + i));
    shape_of(module, ir_op_operand(module, op, count + i), &init_shapes[i]);
    shape_of(module, ir_op_operand(module, op, i), &whole);
    slices[i] = whole;
    slices[i].rank = 0;
    for (uint32_t d = 0; d < whole.rank; d++) {
      bool is_kept = is_reduce;
      for (uint32_t j = 0; is_reduce && j < dims.count; j++) {
        is_kept &= dims.v[j] != d;
      }
      /* a body of reduce_window may see a whole window */
      if (is_kept || !is_reduce) {
        slices[i].dims[slices[i].rank++] = whole.dims[d];
      }
    }
  }
  if (!is_reduce) {
    struct ints window;
    if (!ints_of(module, op, "window_dimensions", &window)) {
      return true;
    }
    for (uint32_t i = 0; i < count; i++) {
      for (uint32_t d = 0; d < slices[i].rank && d < window.count; d++) {
        slices[i].dims[d] = window.v[d];
      }
    }
  }
  struct reducer reducer = {0, count, inputs, inits, init_shapes, slices};
  return verify_reducer(infer, op, &reducer) && check_same_elements(infer, op, count, count);
}

bool verify_scatter(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_type inputs[BODY_MAX_INPUTS], updates[BODY_MAX_INPUTS];
  uint32_t count = ir_op_get(module, op)->operand_count / 2;
  if (count == 0 || count > BODY_MAX_INPUTS || ir_op_get(module, op)->operand_count % 2 == 0) {
    return true;
  }
  if (!check_one_shape(infer, op, 0, count, "inputs", "C1")
      || !check_one_shape(infer, op, count + 1, count, "updates", "C3")) {
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    inputs[i] = element_of(module, ir_op_operand(module, op, i));
    updates[i] = element_of(module, ir_op_operand(module, op, count + 1 + i));
  }
  struct reducer reducer = {0, count, updates, inputs, NULL, NULL};
  return verify_reducer(infer, op, &reducer) && check_same_elements(infer, op, count, count + 1);
}

bool verify_select_and_scatter(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_type source = element_of(module, ir_op_operand(module, op, 1));
  struct ir_type init = element_of(module, ir_op_operand(module, op, 2));
  struct ir_type operand = element_of(module, ir_op_operand(module, op, 0));
  struct shape init_shape, whole;
  struct ints window = {0};
  shape_of(module, ir_op_operand(module, op, 2), &init_shape);
  bool is_ranked = shape_of(module, ir_op_operand(module, op, 0), &whole);
  if (!ints_of(module, op, "window_dimensions", &window) && !window.is_present && is_ranked && whole.rank > 0) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'window_dimensions' is missing, the operand has rank %u (C4)",
                whole.rank);
    return false;
  }
  struct ir_block select = ir_region_entry(module, ir_op_region(module, op, 0));
  uint32_t arguments = select.id != 0 ? ir_block_get(module, select)->argument_count : 0;
  for (uint32_t i = 0; i < arguments && i < 2; i++) {
    struct shape argument;
    bool is_scalar = shape_of(module, ir_block_argument(module, select, i), &argument) && argument.rank == 0;
    if (!is_scalar || (argument.element.id != operand.id && !type_is_quantized(module, operand))) {
      infer_error(infer, op, DIAG_E0211_REGION, "argument %u of the select body is not a scalar of the operand (C9)",
                  i);
      return false;
    }
  }
  struct reducer reducer = {1, 1, &source, &init, &init_shape, NULL};
  if (!verify_reducer(infer, op, &reducer)) {
    return false;
  }
  if (!elements_agree(module, operand, source) || !elements_agree(module, operand, init)) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "%s has another element type than the operand (C%d)",
                elements_agree(module, operand, source) ? "the initial value" : "the source",
                elements_agree(module, operand, source) ? 3 : 1);
    return false;
  }
  return true;
}

/* Arguments 2i and 2i + 1 of a comparator are scalars of operand i. */
bool verify_sort(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_block block = ir_region_entry(module, ir_op_region(module, op, 0));
  uint32_t operands = ir_op_get(module, op)->operand_count;
  if (block.id == 0 || ir_block_get(module, block)->argument_count != 2 * operands) {
    return true;
  }
  for (uint32_t i = 0; i < 2 * operands; i++) {
    struct shape argument;
    struct ir_type element = element_of(module, ir_op_operand(module, op, i / 2));
    bool is_scalar = shape_of(module, ir_block_argument(module, block, i), &argument) && argument.rank == 0;
    if (!is_scalar || argument.element.id != element.id) {
      infer_error(infer, op, DIAG_E0211_REGION, "argument %u of the comparator is not a scalar of operand %u (C5)", i,
                  i / 2);
      return false;
    }
  }
  return true;
}

bool verify_map(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_block block = ir_region_entry(module, ir_op_region(module, op, 0));
  struct ir_op last = region_terminator(module, op, 0);
  uint32_t operands = ir_op_get(module, op)->operand_count;
  if (last.id == 0 || ir_block_get(module, block)->argument_count != operands
      || ir_op_get(module, last)->operand_count != 1) {
    return true;
  }
  for (uint32_t i = 0; i < operands; i++) {
    struct shape argument;
    struct ir_type element = element_of(module, ir_op_operand(module, op, i));
    bool is_scalar = shape_of(module, ir_block_argument(module, block, i), &argument) && argument.rank == 0;
    if (!is_scalar || argument.element.id != element.id) {
      infer_error(infer, op, DIAG_E0211_REGION, "argument %u of the computation is not a scalar of operand %u (C4)", i,
                  i);
      return false;
    }
  }
  struct shape result;
  if (!shape_of(module, ir_op_operand(module, last, 0), &result) || result.rank != 0) {
    infer_error(infer, op, DIAG_E0211_REGION, "the computation does not return a scalar (C4)");
    return false;
  }
  return true;
}

/* ---- asynchronous regions ---- */

static bool is_asynchronous(enum ir_opcode opcode) {
  return ir_opcode_has(opcode, IR_TRAIT_COLLECTIVE) || opcode == IR_OP_SLICE || opcode == IR_OP_DYNAMIC_SLICE
         || opcode == IR_OP_DYNAMIC_UPDATE_SLICE || opcode == IR_OP_UNKNOWN;
}

/* Types in a future against given ones. */
static bool future_holds(const struct ir_module *module, struct ir_type type, uint32_t i, struct ir_type item) {
  const struct ir_type_data *data = ir_type_get(module, type);
  return data->kind != IR_TYPE_FUTURE
         || (i < data->count && types_agree(module, (struct ir_type){module->lists.data[data->first + i]}, item));
}

bool verify_async_start(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_block block = ir_region_entry(module, ir_op_region(module, op, 0));
  struct ir_op last = region_terminator(module, op, 0);
  if (last.id == 0) {
    return true;
  }
  struct ir_op first = ir_block_first(module, block);
  if (first.id == last.id || ir_op_next(module, first).id != last.id) {
    infer_error(infer, op, DIAG_E0211_REGION, "the region must hold one operation and a return");
    return false;
  }
  if (!is_asynchronous(ir_op_code(module, first))) {
    infer_error(infer, op, DIAG_E0211_REGION, "the region must hold a collective or a slice");
    return false;
  }
  uint32_t operands = ir_op_get(module, op)->operand_count, arguments = ir_block_get(module, block)->argument_count;
  if (operands != arguments) {
    infer_error(infer, op, DIAG_E0211_REGION, "the region has %u arguments, expected %u", arguments, operands);
    return false;
  }
  for (uint32_t i = 0; i < operands; i++) {
    if (!types_agree(module, ir_value_type(module, ir_op_operand(module, op, i)),
                     ir_value_type(module, ir_block_argument(module, block, i)))) {
      infer_error(infer, op, DIAG_E0211_REGION, "argument %u of the region has another type than operand %u", i, i);
      return false;
    }
  }
  for (uint32_t i = 0; i < ir_op_get(module, last)->operand_count; i++) {
    struct ir_type future = ir_value_type(module, ir_op_result(module, op, 0));
    if (!future_holds(module, future, i, ir_value_type(module, ir_op_operand(module, last, i)))) {
      infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "the future holds another type than the region returns at %u", i);
      return false;
    }
  }
  return true;
}

void infer_op_async_done(struct infer *infer, struct ir_op op) {
  const struct ir_type_data data =
      *ir_type_get(infer->module, ir_value_type(infer->module, ir_op_operand(infer->module, op, 0)));
  for (uint32_t i = 0; data.kind == IR_TYPE_FUTURE && i < data.count && i < ir_op_get(infer->module, op)->result_count;
       i++) {
    infer_result_type(infer, op, i, (struct ir_type){infer->module->lists.data[data.first + i]});
  }
}

bool verify_async_done(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_type future = ir_value_type(module, ir_op_operand(module, op, 0));
  for (uint32_t i = 0; i < ir_op_get(module, op)->result_count; i++) {
    if (!future_holds(module, future, i, ir_value_type(module, ir_op_result(module, op, i)))) {
      infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "result %u has another type than the future holds", i);
      return false;
    }
  }
  return true;
}
