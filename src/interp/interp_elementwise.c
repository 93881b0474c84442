/* Element-by-element operations: tensors in pieces through the loops of interp_elementwise.def; select, clamp and compare,
 * which take attributes or operands of other types; chlo's broadcasting. Path: a row of interp_ops.def → here. */
#include <math.h>
#include <string.h>

#include "interp/interp_elementwise.h"

/* ---- operands ---------------------------------------------------------------------------------------------------------- */

static bool has_shape(const struct interp_value *v, const struct interp_value *shape) {
  return v->rank == shape->rank && (v->rank == 0 || memcmp(v->dims, shape->dims, v->rank * sizeof *v->dims) == 0);
}

const struct interp_value *interp_common_shape(struct interp_call *call, uint32_t scalars) {
  const struct interp_value *shape = NULL;
  scalars = call->frame->lanes > 0 ? UINT32_MAX : scalars;
  for (uint32_t i = 0; i < call->operand_count; i++) {
    const struct interp_value *v = call->operands[i];
    if (v->kind != INTERP_TENSOR) {
      interp_unsupported(call, "operand %u is no tensor", i);
      return NULL;
    }
    if (!shape || (shape->rank == 0 && v->rank > 0)) {
      shape = v;
    }
  }
  for (uint32_t i = 0; shape && i < call->operand_count; i++) {
    const struct interp_value *v = call->operands[i];
    bool may_be_scalar = (scalars >> i & 1) != 0 && v->rank == 0;
    if (!may_be_scalar && !has_shape(v, shape)) {
      interp_wrong(call, "operand %u has another shape than the others", i);
      return NULL;
    }
  }
  return shape && interp_fits_result(call, 0, shape->dims, shape->rank) ? shape : NULL;
}

struct interp_value *interp_elementwise_result(struct interp_call *call, uint32_t scalars) {
  const struct interp_value *shape = interp_common_shape(call, scalars);
  return shape && interp_spend(call, shape->count) ? interp_result(call, 0, shape->dims, shape->rank) : NULL;
}

void interp_spread_real(const struct interp_value *v, uint64_t first, uint64_t count, double *out) {
  if (v->count != 1) {
    interp_read_real(v, first, count, out);
    return;
  }
  interp_read_real(v, 0, 1, out);
  for (uint64_t i = 1; i < count; i++) {
    out[i] = out[0];
  }
}

void interp_spread_int(const struct interp_value *v, uint64_t first, uint64_t count, int64_t *out) {
  if (v->count != 1) {
    interp_read_int(v, first, count, out);
    return;
  }
  interp_read_int(v, 0, 1, out);
  for (uint64_t i = 1; i < count; i++) {
    out[i] = out[0];
  }
}

void interp_spread_complex(const struct interp_value *v, uint64_t first, uint64_t count, double *out) {
  if (v->count != 1) {
    interp_read_complex(v, first, count, out);
    return;
  }
  interp_read_complex(v, 0, 1, out);
  for (uint64_t i = 1; i < count; i++) {
    out[2 * i] = out[0];
    out[2 * i + 1] = out[1];
  }
}

void interp_read_codes(const struct interp_value *v, uint64_t first, uint64_t count, uint64_t *out) {
  unsigned bytes = interp_element_bytes(v);
  uint64_t mask = UINT64_MAX >> (64 - dtype_bits((enum dtype)v->dtype));
  for (uint64_t i = 0; i < count; i++) {
    uint64_t code = 0;
    memcpy(&code, v->data + (v->count == 1 ? 0 : first + i) * bytes, bytes);
    out[i] = code & mask;
  }
}

/* ---- loops over pieces ------------------------------------------------------------------------------------------------- */

enum ir_opcode interp_elementwise_opcode(enum ir_opcode opcode) {
  static const uint16_t same_as[IR_OP_COUNT] = {
#define REAL(opcode, expression)
#define FLOAT(opcode, expression)
#define INT(opcode, expression)
#define COMPLEX(opcode, expression)
#define SAME_AS(opcode, other) [IR_OP_##opcode] = IR_OP_##other,
#include "interp/interp_elementwise.def"
#undef REAL
#undef FLOAT
#undef INT
#undef COMPLEX
#undef SAME_AS
  };
  return same_as[opcode] ? (enum ir_opcode)same_as[opcode] : opcode;
}

static void run_real(const struct interp_call *call, interp_real_loop *loop, struct interp_value *out) {
  double x[INTERP_CHUNK], y[INTERP_CHUNK], z[INTERP_CHUNK];
  int64_t predicates[INTERP_CHUNK];
  for (uint64_t first = 0; first < out->count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(out, first);
    interp_spread_real(call->operands[0], first, n, x);
    if (call->operand_count > 1) {
      interp_spread_real(call->operands[1], first, n, y);
    }
    loop(x, call->operand_count > 1 ? y : x, z, n);
    if (!interp_is_integral(out)) {
      interp_write_real(out, first, n, z);
      continue;
    }
    for (uint64_t i = 0; i < n; i++) {
      predicates[i] = z[i] != 0;
    }
    interp_write_int(out, first, n, predicates);
  }
}

static void run_int(const struct interp_call *call, interp_int_loop *loop, struct interp_value *out) {
  int64_t x[INTERP_CHUNK], y[INTERP_CHUNK], z[INTERP_CHUNK];
  struct interp_int_format format = interp_int_format((enum dtype)call->operands[0]->dtype);
  for (uint64_t first = 0; first < out->count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(out, first);
    interp_spread_int(call->operands[0], first, n, x);
    if (call->operand_count > 1) {
      interp_spread_int(call->operands[1], first, n, y);
    }
    loop(x, call->operand_count > 1 ? y : x, z, n, format);
    interp_write_int(out, first, n, z);
  }
}

static void run_complex(const struct interp_call *call, interp_complex_loop *loop, struct interp_value *out) {
  double x[2 * INTERP_CHUNK], y[2 * INTERP_CHUNK], z[2 * INTERP_CHUNK];
  for (uint64_t first = 0; first < out->count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(out, first);
    interp_spread_complex(call->operands[0], first, n, x);
    if (call->operand_count > 1) {
      interp_spread_complex(call->operands[1], first, n, y);
    }
    loop(x, call->operand_count > 1 ? y : x, z, n);
    if (interp_is_complex(out)) {
      interp_write_complex(out, first, n, z);
      continue;
    }
    for (uint64_t i = 0; i < n; i++) {
      z[i] = z[2 * i];
    }
    interp_write_real(out, first, n, z);
  }
}

/* Loop for the class of the operands; false when there is none that gives the result's type. */
static bool run_loop(const struct interp_call *call, enum ir_opcode opcode, struct interp_value *out) {
  enum dtype_class class = dtype_class_of((enum dtype)call->operands[0]->dtype);
  if (class == DTYPE_CLASS_COMPLEX) {
    interp_complex_loop *loop = interp_complex_loop_of(opcode);
    if (loop && !interp_is_integral(out)) {
      run_complex(call, loop, out);
      return true;
    }
  } else if (class == DTYPE_CLASS_FLOAT) {
    interp_real_loop *loop = interp_real_loop_of(opcode, (enum dtype)call->operands[0]->dtype);
    if (loop && !interp_is_complex(out) && (!interp_is_integral(out) || out->dtype == DTYPE_I1)) {
      run_real(call, loop, out);
      return true;
    }
  } else {
    interp_int_loop *loop = interp_int_loop_of(opcode);
    if (loop && interp_is_integral(out)) {
      run_int(call, loop, out);
      return true;
    }
  }
  return false;
}

/* The types must be equal from operand `first` on. */
static bool have_one_type(struct interp_call *call, uint32_t first) {
  for (uint32_t i = first + 1; i < call->operand_count; i++) {
    if (call->operands[i]->dtype != call->operands[first]->dtype) {
      return interp_unsupported(call, "operand %u has another element type than operand %u", i, first);
    }
  }
  return true;
}

static bool not_for(struct interp_call *call, const struct interp_value *operand) {
  return interp_unsupported(call, "it has no meaning for elements of %s", dtype_name((enum dtype)operand->dtype));
}

bool interp_elementwise_as(struct interp_call *call, enum ir_opcode opcode) {
  struct interp_value *out = interp_elementwise_result(call, 0);
  if (!out || !have_one_type(call, 0)) {
    return false;
  }
  return run_loop(call, opcode, out) || not_for(call, call->operands[0]);
}

bool interp_op_elementwise(struct interp_call *call) {
  return interp_elementwise_as(call, interp_elementwise_opcode(ir_op_code(call->module, call->op)));
}

/* ---- select, clamp ----------------------------------------------------------------------------------------------------- */

/* Steps are 0 for operands that stand for all. */
#define CHOOSE(type)                                                                                                   \
  do {                                                                                                                 \
    const type *yes = (const type *)(const void *)on_true->data, *no = (const type *)(const void *)on_false->data;     \
    type *to = (type *)(void *)out->data;                                                                              \
    for (uint64_t i = 0; i < out->count; i++) {                                                                        \
      to[i] = (pred->data[i * pred_step] & 1) != 0 ? yes[i * true_step] : no[i * false_step];                          \
    }                                                                                                                  \
  } while (0)

static bool select_elements(struct interp_call *call) {
  const struct interp_value *pred = call->operands[0], *on_true = call->operands[1], *on_false = call->operands[2];
  struct interp_value *out = interp_elementwise_result(call, 1);
  if (!out || !have_one_type(call, 1)) {
    return false;
  }
  if (pred->dtype != DTYPE_I1 || out->dtype != on_true->dtype) {
    return not_for(call, pred->dtype != DTYPE_I1 ? pred : on_true);
  }
  uint64_t pred_step = pred->count != 1, true_step = on_true->count != 1, false_step = on_false->count != 1;
  switch (interp_element_bytes(out)) {
  case 1:
    CHOOSE(uint8_t);
    break;
  case 2:
    CHOOSE(uint16_t);
    break;
  case 4:
    CHOOSE(uint32_t);
    break;
  case 8:
    CHOOSE(uint64_t);
    break;
  default:
    CHOOSE(unsigned __int128);
  }
  return true;
}

/* Elements of the same quantization are chosen as they are stored; of others, as the values they express. */
bool interp_op_select(struct interp_call *call) {
  struct ir_type type = ir_value_type(call->module, ir_op_result(call->module, call->op, 0));
  const struct ir_type_data *element = ir_type_get(call->module, ir_type_get(call->module, type)->element);
  uint32_t quant = element->kind == IR_TYPE_QUANTIZED ? element->quant + 1 : 0;
  if (call->operands[1]->quant == quant && call->operands[2]->quant == quant) {
    return select_elements(call);
  }
  return interp_evaluate_quantized(call, select_elements);
}

/* minimum(maximum(operand, min), max) by the loops of those operations (spec, clamp). */
bool interp_op_clamp(struct interp_call *call) {
  struct interp_value *out = interp_elementwise_result(call, 1 | 4);
  if (!out || !have_one_type(call, 0)) {
    return false;
  }
  struct interp_value *low[2] = {call->operands[1], call->operands[0]}, *high[2] = {out, call->operands[2]};
  struct interp_call part = *call;
  part.operand_count = 2;
  part.operands = low;
  if (out->dtype != low[0]->dtype || !run_loop(&part, IR_OP_MAXIMUM, out)) {
    return not_for(call, low[0]);
  }
  part.operands = high;
  return run_loop(&part, IR_OP_MINIMUM, out) || not_for(call, low[0]);
}

/* ---- compare ----------------------------------------------------------------------------------------------------------- */

/* How two elements stand: one bit each. A direction is the set of those it holds for. */
enum order { ORDER_LESS = 1, ORDER_EQUAL = 2, ORDER_GREATER = 4, ORDER_NONE = 8 };

static const struct {
  const char *name;
  unsigned holds;
} directions[] = {
    {"EQ", ORDER_EQUAL},
    {"NE", ORDER_LESS | ORDER_GREATER | ORDER_NONE},
    {"GE", ORDER_GREATER | ORDER_EQUAL},
    {"GT", ORDER_GREATER},
    {"LE", ORDER_LESS | ORDER_EQUAL},
    {"LT", ORDER_LESS},
};

static unsigned order_of_reals(double x, double y) {
  return x < y ? ORDER_LESS : x > y ? ORDER_GREATER : x == y ? ORDER_EQUAL : ORDER_NONE;
}

/* Real parts first; a NaN in either place is unordered. */
static unsigned order_of_complex(const double *x, const double *y) {
  unsigned real = order_of_reals(x[0], y[0]), imag = order_of_reals(x[1], y[1]);
  return (real | imag) & ORDER_NONE ? ORDER_NONE : real == ORDER_EQUAL ? imag : real;
}

/* IEEE 754 totalOrder: sign and magnitude as integers. */
static uint64_t total_key(uint64_t code, unsigned bits) {
  uint64_t sign = (uint64_t)1 << (bits - 1);
  return code & sign ? ~code & (sign | (sign - 1)) : code | sign;
}

static void compare_ints(const struct interp_call *call, uint64_t first, uint64_t n, uint8_t *order) {
  int64_t x[INTERP_CHUNK], y[INTERP_CHUNK];
  bool is_signed = interp_int_format((enum dtype)call->operands[0]->dtype).is_signed;
  interp_spread_int(call->operands[0], first, n, x);
  interp_spread_int(call->operands[1], first, n, y);
  for (uint64_t i = 0; i < n; i++) {
    bool is_less = is_signed ? x[i] < y[i] : (uint64_t)x[i] < (uint64_t)y[i];
    order[i] = x[i] == y[i] ? ORDER_EQUAL : is_less ? ORDER_LESS : ORDER_GREATER;
  }
}

static void compare_reals(const struct interp_call *call, uint64_t first, uint64_t n, uint8_t *order) {
  double x[INTERP_CHUNK], y[INTERP_CHUNK];
  interp_spread_real(call->operands[0], first, n, x);
  interp_spread_real(call->operands[1], first, n, y);
  for (uint64_t i = 0; i < n; i++) {
    order[i] = (uint8_t)order_of_reals(x[i], y[i]);
  }
}

static void compare_total(const struct interp_call *call, uint64_t first, uint64_t n, uint8_t *order) {
  uint64_t x[INTERP_CHUNK], y[INTERP_CHUNK];
  unsigned bits = dtype_bits((enum dtype)call->operands[0]->dtype);
  interp_read_codes(call->operands[0], first, n, x);
  interp_read_codes(call->operands[1], first, n, y);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t a = total_key(x[i], bits), b = total_key(y[i], bits);
    order[i] = a == b ? ORDER_EQUAL : a < b ? ORDER_LESS : ORDER_GREATER;
  }
}

static void compare_complex(const struct interp_call *call, uint64_t first, uint64_t n, uint8_t *order) {
  double x[2 * INTERP_CHUNK], y[2 * INTERP_CHUNK];
  interp_spread_complex(call->operands[0], first, n, x);
  interp_spread_complex(call->operands[1], first, n, y);
  for (uint64_t i = 0; i < n; i++) {
    order[i] = (uint8_t)order_of_complex(x + 2 * i, y + 2 * i);
  }
}

bool interp_op_compare(struct interp_call *call) {
  struct interp_value *out = interp_elementwise_result(call, 0);
  if (!out || !have_one_type(call, 0)) {
    return false;
  }
  const char *name = interp_attr_text(call, "comparison_direction");
  bool is_total = strcmp(interp_attr_text(call, "compare_type"), "TOTALORDER") == 0;
  unsigned holds = 0;
  for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
    holds = strcmp(directions[i].name, name) == 0 ? directions[i].holds : holds;
  }
  if (holds == 0 || out->dtype != DTYPE_I1) {
    return interp_unsupported(call, "the comparison '%s' is not known", name);
  }
  enum dtype_class class = dtype_class_of((enum dtype)call->operands[0]->dtype);
  for (uint64_t first = 0; first < out->count; first += INTERP_CHUNK) {
    uint8_t order[INTERP_CHUNK];
    uint64_t n = interp_piece(out, first);
    if (class == DTYPE_CLASS_COMPLEX) {
      compare_complex(call, first, n, order);
    } else if (class != DTYPE_CLASS_FLOAT) {
      compare_ints(call, first, n, order);
    } else if (is_total) {
      compare_total(call, first, n, order);
    } else {
      compare_reals(call, first, n, order);
    }
    for (uint64_t i = 0; i < n; i++) {
      out->data[first + i] = (order[i] & holds) != 0;
    }
  }
  return true;
}

/* ---- constants --------------------------------------------------------------------------------------------------------- */

/* The value of the attribute, with the shape of the operand. */
bool interp_op_constant_like(struct interp_call *call) {
  struct ir_attr attr = ir_op_attr(call->module, call->op, "value");
  struct interp_value *out = interp_elementwise_result(call, 0);
  if (!out || !attr.id) {
    return out ? interp_unsupported(call, "it has no value") : false;
  }
  const struct ir_attr_data *data = ir_attr_get(call->module, attr);
  enum dtype dtype = (enum dtype)ir_type_get(call->module, data->type)->dtype;
  bool is_number = data->kind == IR_ATTR_INTEGER || data->kind == IR_ATTR_FLOAT;
  bool is_bool = data->kind == IR_ATTR_BOOL && out->dtype == DTYPE_I1;
  if (!is_bool && !(is_number && dtype == (enum dtype)out->dtype)) {
    return interp_unsupported(call, "its value is no number of the result's type");
  }
  for (uint64_t i = 0; i < out->count; i++) { /* bits of a float, or an integer: the low bytes of either */
    memcpy(out->data + i * interp_element_bytes(out), &data->integer, interp_element_bytes(out));
  }
  return true;
}

/* ---- broadcasting ------------------------------------------------------------------------------------------------------ */

/* Dimension of the result that dimension d of an operand is: as broadcast_dimensions says, which is about operands of a
 * lower rank than the result's; else they are aligned at the end. */
static uint32_t broadcast_target(const struct interp_value *v, uint32_t d, uint32_t rank, const int64_t *dimensions,
                                 uint32_t dimension_count) {
  return dimension_count > 0 && dimension_count == v->rank && v->rank < rank ? (uint32_t)dimensions[d]
                                                                             : rank - v->rank + d;
}

struct broadcast {
  uint32_t rank, dimension_count;
  int64_t dims[INTERP_MAX_RANK], dimensions[INTERP_MAX_RANK];
};

static bool find_broadcast(struct interp_call *call, struct broadcast *b) {
  *b = (struct broadcast){0};
  b->dimension_count = interp_attr_ints(call, "broadcast_dimensions", b->dimensions, INTERP_MAX_RANK);
  for (uint32_t i = 0; i < call->operand_count; i++) {
    if (call->operands[i]->kind != INTERP_TENSOR) {
      return interp_unsupported(call, "operand %u is no tensor", i);
    }
    b->rank = call->operands[i]->rank > b->rank ? call->operands[i]->rank : b->rank;
  }
  for (uint32_t d = 0; d < b->dimension_count; d++) {
    if (b->dimensions[d] < (d > 0 ? b->dimensions[d - 1] + 1 : 0) || b->dimensions[d] >= b->rank) {
      return interp_wrong(call, "broadcast_dimensions do not name dimensions of the result in order");
    }
  }
  for (uint32_t d = 0; d < b->rank; d++) {
    b->dims[d] = 1;
  }
  for (uint32_t i = 0; i < call->operand_count; i++) {
    const struct interp_value *v = call->operands[i];
    for (uint32_t d = 0; d < v->rank; d++) {
      int64_t *dim = &b->dims[broadcast_target(v, d, b->rank, b->dimensions, b->dimension_count)];
      if (v->dims[d] != 1 && *dim != 1 && *dim != v->dims[d]) {
        return interp_wrong(call, "dimensions of %lld and %lld cannot be broadcast to each other", (long long)*dim,
                            (long long)v->dims[d]);
      }
      *dim = v->dims[d] != 1 ? v->dims[d] : *dim;
    }
  }
  return true;
}

/* The operand with the shape of the result; NULL after a message. */
static struct interp_value *expand(struct interp_call *call, struct interp_value *v, const struct broadcast *b) {
  if (v->rank == b->rank && (b->rank == 0 || memcmp(v->dims, b->dims, b->rank * sizeof *b->dims) == 0)) {
    interp_retain(v);
    return v;
  }
  struct interp_value *wide = interp_scratch(call, (enum dtype)v->dtype, b->dims, b->rank);
  if (!wide) {
    return NULL;
  }
  int64_t own[INTERP_MAX_RANK], strides[INTERP_MAX_RANK] = {0}, index[INTERP_MAX_RANK] = {0};
  interp_strides(v->dims, v->rank, own);
  for (uint32_t d = 0; d < v->rank; d++) {
    strides[broadcast_target(v, d, b->rank, b->dimensions, b->dimension_count)] = v->dims[d] != 1 ? own[d] : 0;
  }
  wide->quant = v->quant;
  for (uint64_t i = 0; i < wide->count; i++) {
    int64_t from = 0;
    for (uint32_t d = 0; d < b->rank; d++) {
      from += index[d] * strides[d];
    }
    interp_copy_element(wide, i, v, (uint64_t)from);
    interp_next_index(b->dims, b->rank, index);
  }
  return wide;
}

/* chlo.broadcast_x: x on operands brought to one shape. In lanes all are scalars. */
bool interp_op_broadcasting(struct interp_call *call) {
  enum { MAX_OPERANDS = 3 };
  interp_op_function *evaluate = interp_function_of(interp_elementwise_opcode(ir_op_code(call->module, call->op)));
  assert(evaluate && evaluate != interp_op_broadcasting && call->operand_count <= MAX_OPERANDS);
  if (call->frame->lanes > 0) {
    return evaluate(call);
  }
  struct interp_value *wide[MAX_OPERANDS] = {NULL};
  struct interp_call plain = *call;
  struct broadcast b;
  bool ok = find_broadcast(call, &b);
  for (uint32_t i = 0; ok && i < call->operand_count; i++) {
    wide[i] = expand(call, call->operands[i], &b);
    ok = wide[i] != NULL;
  }
  plain.operands = wide;
  ok = ok && evaluate(&plain);
  for (uint32_t i = 0; i < call->operand_count; i++) {
    interp_release(wide[i]);
  }
  return ok;
}
