/* Inference of elementwise operations: every operand has the shape of the result (scalars apart where allowed). */
#include "analyze/analyze_int.h"
#include "base/strbuf.h"

static struct ir_type no_element(void) {
  return (struct ir_type){0};
}

static void report_pair(struct infer *infer, struct ir_op op, uint32_t a, uint32_t b, enum constraint_rule rule) {
  struct strbuf x = {0}, y = {0};
  type_text(infer->module, ir_value_type(infer->module, ir_op_operand(infer->module, op, a)), &x);
  type_text(infer->module, ir_value_type(infer->module, ir_op_operand(infer->module, op, b)), &y);
  infer_error_rule(infer, op, rule, DIAG_E0204_OPERAND_TYPE,
                   "operands %u and %u must have one type, found '%s' and '%s'", a, b, strbuf_text(&x),
                   strbuf_text(&y));
  strbuf_release(&x);
  strbuf_release(&y);
}

static bool same_element(const struct infer *infer, struct ir_type a, struct ir_type b) {
  return a.id == b.id || a.id == 0 || b.id == 0 || type_is_quantized(infer->module, a)
         || type_is_quantized(infer->module, b);
}

/* Meets the shapes of operands [first, count); false after a message. */
static bool meet_operands(struct infer *infer, struct ir_op op, uint32_t first, uint32_t count, bool needs_element,
                          struct shape *out) {
  shape_of(infer->module, ir_op_operand(infer->module, op, first), out);
  for (uint32_t i = first + 1; i < count; i++) {
    struct shape shape;
    shape_of(infer->module, ir_op_operand(infer->module, op, i), &shape);
    bool is_same = !needs_element || same_element(infer, out->element, shape.element);
    if (!is_same || !shape_meet(out, &shape)) {
      report_pair(infer, op, first, i, is_same ? RULE_OPERANDS_SHAPE : RULE_OPERANDS_ELEMENT);
      return false;
    }
  }
  /* operands of one type: what is known of one holds for the others */
  for (uint32_t i = first; infer->has_dynamic && out->is_ranked && i < count; i++) {
    struct ir_value operand = ir_op_operand(infer->module, op, i);
    infer_refine_value(
        infer, operand,
        ir_type_tensor(infer->module, infer->module->none_type, out->dims, out->rank, (struct ir_attr){0}));
  }
  return true;
}

void infer_op_same(struct infer *infer, struct ir_op op) {
  struct shape shape;
  uint32_t count = ir_op_get(infer->module, op)->operand_count;
  if (count == 1) {
    infer_result_type(infer, op, 0, ir_value_type(infer->module, ir_op_operand(infer->module, op, 0)));
  } else if (meet_operands(infer, op, 0, count, true, &shape)) {
    infer_result(infer, op, 0, &shape);
  }
}

void infer_op_shape_only(struct infer *infer, struct ir_op op) {
  struct shape shape;
  shape_of(infer->module, ir_op_operand(infer->module, op, 0), &shape);
  shape.element = no_element();
  infer_result(infer, op, 0, &shape);
}

void infer_op_dequantize(struct infer *infer, struct ir_op op) {
  struct shape shape;
  shape_of(infer->module, ir_op_operand(infer->module, op, 0), &shape);
  const struct ir_type_data *element = ir_type_get(infer->module, shape.element);
  shape.element = element->kind == IR_TYPE_QUANTIZED
                      ? ir_type_scalar(infer->module, (enum dtype)infer->module->quants.data[element->quant].expressed)
                      : no_element();
  infer_result(infer, op, 0, &shape);
}

void infer_op_result_bool(struct infer *infer, struct ir_op op) {
  struct shape shape;
  shape_of(infer->module, ir_op_operand(infer->module, op, 0), &shape);
  shape.element = ir_type_scalar(infer->module, DTYPE_I1);
  infer_result(infer, op, 0, &shape);
}

void infer_op_compare(struct infer *infer, struct ir_op op) {
  struct shape shape;
  if (meet_operands(infer, op, 0, 2, true, &shape)) {
    shape.element = ir_type_scalar(infer->module, DTYPE_I1);
    infer_result(infer, op, 0, &shape);
  }
}

/* Complex element type of a real one, 0 when there is none. */
static struct ir_type complex_of(const struct ir_module *module, struct ir_type element) {
  const struct ir_type_data *data = ir_type_get(module, element);
  if (data->kind != IR_TYPE_SCALAR) {
    return no_element();
  }
  return data->dtype == DTYPE_F32   ? ir_type_scalar(module, DTYPE_C64)
         : data->dtype == DTYPE_F64 ? ir_type_scalar(module, DTYPE_C128)
                                    : no_element();
}

/* Real element type of a complex one, itself otherwise. */
static struct ir_type real_of(const struct ir_module *module, struct ir_type element) {
  const struct ir_type_data *data = ir_type_get(module, element);
  if (data->kind != IR_TYPE_SCALAR) {
    return element;
  }
  return data->dtype == DTYPE_C64    ? ir_type_scalar(module, DTYPE_F32)
         : data->dtype == DTYPE_C128 ? ir_type_scalar(module, DTYPE_F64)
                                     : element;
}

void infer_op_complex(struct infer *infer, struct ir_op op) {
  struct shape shape;
  if (!meet_operands(infer, op, 0, 2, true, &shape)) {
    return;
  }
  shape.element = complex_of(infer->module, shape.element);
  if (shape.element.id == 0) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "operands must have elements of type f32 or f64 (I1)");
    return;
  }
  infer_result(infer, op, 0, &shape);
}

void infer_op_real_part(struct infer *infer, struct ir_op op) {
  struct shape shape;
  shape_of(infer->module, ir_op_operand(infer->module, op, 0), &shape);
  shape.element = real_of(infer->module, shape.element);
  infer_result(infer, op, 0, &shape);
}

void infer_op_select(struct infer *infer, struct ir_op op) {
  struct shape pred, on_true, on_false, shape;
  shape_of(infer->module, ir_op_operand(infer->module, op, 0), &pred);
  shape_of(infer->module, ir_op_operand(infer->module, op, 1), &on_true);
  shape_of(infer->module, ir_op_operand(infer->module, op, 2), &on_false);
  bool is_scalar = pred.is_ranked && pred.rank == 0;
  if (!is_scalar && !shapes_agree(&on_true, &pred)) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE,
                "the predicate must be a scalar or have the shape of the operands (C1)");
    return;
  }
  if (!is_scalar && shapes_agree(&on_true, &on_false) && !shapes_agree(&on_false, &pred)) {
    return; /* unknown dimensions of the other branch hide it from the specification's constraint */
  }
  if (meet_operands(infer, op, 1, 3, true, &shape)) {
    if (!is_scalar) {
      shape_meet(&shape, &pred);
    }
    infer_result(infer, op, 0, &shape);
  }
}

void infer_op_clamp(struct infer *infer, struct ir_op op) {
  struct shape shape;
  shape_of(infer->module, ir_op_operand(infer->module, op, 1), &shape);
  for (uint32_t i = 0; i < 3; i += 2) {
    struct shape bound;
    shape_of(infer->module, ir_op_operand(infer->module, op, i), &bound);
    bool is_scalar = bound.is_ranked && bound.rank == 0;
    bool is_same = elements_agree(infer->module, bound.element, shape.element);
    if (!is_same || (!is_scalar && !shape_meet(&shape, &bound))) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE,
                  "'%s' must be a scalar or have the shape of the operand, and its element type (C%d)",
                  i == 0 ? "min" : "max", is_same ? (i == 0 ? 1 : 2) : 3);
      return;
    }
  }
  infer_result(infer, op, 0, &shape);
}

/* Broadcasts shape b (aligned to the right, or to `dims`) into `out`; false when they do not fit. */
static bool broadcast_into(struct shape *out, const struct shape *b, const struct ints *dims) {
  for (uint32_t i = 0; i < b->rank; i++) {
    bool is_mapped = dims != NULL && dims->is_present;
    int64_t to = is_mapped ? (i < dims->count ? dims->v[i] : -1) : (int64_t)(out->rank - b->rank + i);
    if (to < 0 || to >= (int64_t)out->rank) {
      return false;
    }
    int64_t x = out->dims[to], y = b->dims[i];
    if (x == y || y == 1) {
      continue;
    }
    if (x == 1) {
      out->dims[to] = y;
    } else if (!dim_is_static(x)) {
      out->dims[to] = dim_is_static(y) ? y : IR_DYNAMIC; /* x is y or 1 */
    } else if (dim_is_static(y)) {
      return false;
    }
  }
  return true;
}

void infer_op_broadcasting(struct infer *infer, struct ir_op op) {
  struct shape shapes[3], out;
  struct ints dims;
  enum ir_opcode opcode = ir_op_code(infer->module, op);
  uint32_t count = ir_op_get(infer->module, op)->operand_count;
  uint32_t widest = 0;
  for (uint32_t i = 0; i < count && i < 3; i++) {
    if (!shape_of(infer->module, ir_op_operand(infer->module, op, i), &shapes[i])) {
      return;
    }
    widest = shapes[i].rank > shapes[widest].rank ? i : widest;
  }
  ints_of(infer->module, op, "broadcast_dimensions", &dims);
  out = shapes[widest];
  for (uint32_t i = 0; i < count && i < 3; i++) {
    if (i != widest && !broadcast_into(&out, &shapes[i], shapes[i].rank < out.rank ? &dims : NULL)) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the shapes of operands %u and %u do not broadcast", widest, i);
      return;
    }
  }
  out.element = opcode == IR_OP_CHLO_BROADCAST_COMPARE   ? ir_type_scalar(infer->module, DTYPE_I1)
                : opcode == IR_OP_CHLO_BROADCAST_COMPLEX ? complex_of(infer->module, shapes[0].element)
                : opcode == IR_OP_CHLO_BROADCAST_SELECT  ? shapes[1].element
                                                         : shapes[0].element;
  infer_result(infer, op, 0, &out);
}
