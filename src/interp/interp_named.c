/* Operations that are known by name only: the rows of interp_named.def. Nothing has checked them, so each looks at what it gets.
 * Scalars (index, i64, f32, ...) are tensors of rank 0 here. Path: IR_OP_UNKNOWN's row of interp_ops.def → here. */
#include <inttypes.h>
#include <string.h>

#include "interp/interp_custom.h"
#include "interp/interp_elementwise.h"

typedef bool named_function(struct interp_call *call);

/* ---- numbers ---------------------------------------------------------------------------------------------------------------- */

/* results[0] = one number. */
static bool give_number(struct interp_call *call, int64_t number) {
  struct interp_value *to = interp_result(call, 0, NULL, 0);
  if (!to || !interp_is_integral(to) || to->count != 1) {
    return to ? interp_wrong(call, "its result is no integer") : false;
  }
  interp_write_int(to, 0, 1, &number);
  return true;
}

/* arith.constant: a tensor, or a number that the attribute holds (of floats the bits). */
static bool scalar_or_dense(struct interp_call *call) {
  struct ir_attr attr = ir_op_attr(call->module, call->op, "value");
  const struct ir_attr_data *data = attr.id ? ir_attr_get(call->module, attr) : NULL;
  if (!data || (data->kind != IR_ATTR_INTEGER && data->kind != IR_ATTR_BOOL && data->kind != IR_ATTR_FLOAT)) {
    return interp_op_constant(call)
           && (interp_is_of_result(call, 0, call->results[0]) || interp_wrong(call, "its value has another type"));
  }
  if (data->kind != IR_ATTR_FLOAT) {
    return give_number(call, data->integer);
  }
  struct interp_value *to = interp_result(call, 0, NULL, 0);
  if (!to || to->count != 1 || to->dtype != ir_type_get(call->module, data->type)->dtype) {
    return to ? interp_wrong(call, "its value has another type") : false;
  }
  memcpy(to->data, &data->integer, interp_element_bytes(to));
  return true;
}

/* Predicates of arith.cmpi, in the order of their numbers. */
enum predicate { EQ, NE, SLT, SLE, SGT, SGE, ULT, ULE, UGT, UGE };

static bool holds(int64_t predicate, int64_t x, int64_t y) {
  uint64_t a = (uint64_t)x, b = (uint64_t)y; /* sign-extended: the order of unsigned numbers stays */
  switch ((enum predicate)predicate) {
  case EQ:
    return x == y;
  case NE:
    return x != y;
  case SLT:
    return x < y;
  case SLE:
    return x <= y;
  case SGT:
    return x > y;
  case SGE:
    return x >= y;
  case ULT:
    return a < b;
  case ULE:
    return a <= b;
  case UGT:
    return a > b;
  case UGE:
    return a >= b;
  }
  return false;
}

static bool compare_integers(struct interp_call *call) {
  const struct interp_value *x = call->operands[0], *y = call->operands[1];
  struct interp_value *to = interp_result(call, 0, x->dims, x->rank);
  int64_t predicate = interp_attr_int(call, "predicate", -1);
  if (!to || to->dtype != DTYPE_I1 || x->dtype != y->dtype || !interp_is_integral(x) || x->count != y->count
      || predicate < EQ || predicate > UGE) {
    return to ? interp_wrong(call, "no comparison of its operands") : false;
  }
  for (uint64_t i = 0; i < to->count; i++) {
    to->data[i] = holds(predicate, interp_int_at(x, i), interp_int_at(y, i));
  }
  return true;
}

static bool as_select(struct interp_call *call) {
  return interp_op_select(call);
}

/* Integers to integers or floats; a narrow type is read with or without sign. */
static bool cast(struct interp_call *call, bool is_unsigned) {
  const struct interp_value *from = call->operands[0];
  struct interp_value *to = interp_result(call, 0, from->dims, from->rank);
  if (!to || !interp_is_integral(from) || interp_is_complex(to) || to->count != from->count) {
    return to ? interp_wrong(call, "no cast between these types") : false;
  }
  unsigned bits = dtype_bits((enum dtype)from->dtype);
  for (uint64_t i = 0; i < to->count; i++) {
    int64_t number = interp_int_at(from, i);
    uint64_t low = bits < 64 ? (uint64_t)number & (((uint64_t)1 << bits) - 1) : (uint64_t)number;
    number = is_unsigned ? (int64_t)low : bits == 1 ? -number : number;
    double real = is_unsigned ? (double)low : (double)number;
    if (interp_is_integral(to)) {
      interp_write_int(to, i, 1, &number);
    } else {
      interp_write_real(to, i, 1, &real);
    }
  }
  return true;
}

static bool cast_signed(struct interp_call *call) {
  return cast(call, false);
}

static bool cast_unsigned(struct interp_call *call) {
  return cast(call, true);
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------------- */

static bool dim_of(struct interp_call *call) {
  const struct interp_value *from = call->operands[0], *which = call->operands[1];
  int64_t axis = which->count == 1 && interp_is_integral(which) ? interp_int_at(which, 0) : -1;
  return axis >= 0 && axis < from->rank ? give_number(call, from->dims[axis])
                                        : interp_wrong(call, "dimension %" PRId64 " of rank %u", axis, from->rank);
}

static bool from_elements(struct interp_call *call) {
  struct interp_value *to = interp_result(call, 0, NULL, 0);
  if (!to || to->count != call->operand_count) {
    return to ? interp_wrong(call, "%u elements do not fill its result", call->operand_count) : false;
  }
  for (uint32_t i = 0; i < call->operand_count; i++) {
    if (call->operands[i]->count != 1 || call->operands[i]->dtype != to->dtype) {
      return interp_wrong(call, "operand %u is no element of its result", i);
    }
    interp_copy_element(to, i, call->operands[i], 0);
  }
  return true;
}

static bool extract(struct interp_call *call) {
  const struct interp_value *from = call->operands[0];
  struct interp_value *to = interp_result(call, 0, NULL, 0);
  int64_t at = 0;
  bool ok = to && to->count == 1 && to->dtype == from->dtype && call->operand_count == 1 + (uint32_t)from->rank;
  for (uint32_t d = 0; ok && d < from->rank; d++) {
    const struct interp_value *index = call->operands[1 + d];
    int64_t i = index->count == 1 && interp_is_integral(index) ? interp_int_at(index, 0) : -1;
    ok = i >= 0 && i < from->dims[d];
    at = at * from->dims[d] + i;
  }
  if (ok) {
    interp_copy_element(to, 0, from, (uint64_t)at);
  }
  return ok || interp_wrong(call, "its indices are not those of an element");
}

/* ---- shapes ------------------------------------------------------------------------------------------------------------------ */

static bool give_shape(struct interp_call *call, const int64_t *dims, uint32_t rank) {
  int64_t length = rank;
  struct interp_value *to = interp_result(call, 0, &length, 1);
  if (!to || !interp_is_integral(to)) {
    return to ? interp_wrong(call, "its result is no list of integers") : false;
  }
  interp_write_int(to, 0, rank, dims);
  return true;
}

static bool shape_of(struct interp_call *call) {
  return give_shape(call, call->operands[0]->dims, call->operands[0]->rank);
}

static bool rank_of(struct interp_call *call) {
  return give_number(call, (int64_t)call->operands[0]->count);
}

static bool count_elements(struct interp_call *call) {
  int64_t dims[INTERP_MAX_RANK], product = 1;
  uint32_t rank;
  if (!interp_operand_ints(call, 0, dims, &rank)) {
    return false;
  }
  for (uint32_t d = 0; d < rank; d++) {
    if (__builtin_mul_overflow(product, dims[d], &product)) {
      return interp_wrong(call, "the shape has more elements than can be counted");
    }
  }
  return give_number(call, product);
}

/* The shape that all of them broadcast to: aligned at the last dimension, 1 standing for any size. */
static bool broadcast_shapes(struct interp_call *call) {
  int64_t all[INTERP_MAX_RANK], dims[INTERP_MAX_RANK];
  uint32_t rank = 0, count;
  for (uint32_t i = 0; i < call->operand_count; i++) {
    if (!interp_operand_ints(call, i, dims, &count)) {
      return false;
    }
    for (uint32_t k = 1; k <= count; k++) { /* from the last one; all[k - 1] likewise */
      int64_t dim = dims[count - k];
      bool fits = k > rank || all[k - 1] == dim || all[k - 1] == 1 || dim == 1;
      if (!fits) {
        return interp_wrong(call, "dimensions of %" PRId64 " and %" PRId64 " do not broadcast", all[k - 1], dim);
      }
      all[k - 1] = k > rank || all[k - 1] == 1 ? dim : all[k - 1];
    }
    rank = count > rank ? count : rank;
  }
  for (uint32_t d = 0; d < rank; d++) {
    dims[d] = all[rank - 1 - d];
  }
  return give_shape(call, dims, rank);
}

/* ---- by name ----------------------------------------------------------------------------------------------------------------- */

static bool as_opcode(struct interp_call *call);

static const struct named {
  const char *name;
  int operands;
  named_function *evaluate;
  enum ir_opcode opcode;
} rows[] = {
#define INTERP_NAMED(name, operands, function, opcode) {name, operands, function, opcode},
#include "interp/interp_named.def"
#undef INTERP_NAMED
};

static const struct named *row_of(const struct interp_call *call) {
  const char *name = ir_text(call->module, ir_op_get(call->module, call->op)->name);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].name, name) == 0) {
      return &rows[i];
    }
  }
  return NULL;
}

static bool as_opcode(struct interp_call *call) {
  return interp_elementwise_as(call, row_of(call)->opcode)
         && (call->results[0]->dtype == call->operands[0]->dtype
             || interp_wrong(call, "its result has another element type than its operands"));
}

bool interp_op_named(struct interp_call *call) {
  const struct named *row = row_of(call);
  if (!row) {
    return interp_unsupported(call, "the interpreter has no meaning for it");
  }
  bool fits = call->result_count == 1
              && (row->operands >= 0 ? (uint32_t)row->operands == call->operand_count : call->operand_count > 0);
  for (uint32_t i = 0; fits && i < call->operand_count; i++) {
    fits = call->operands[i]->kind == INTERP_TENSOR && call->operands[i]->quant == 0;
  }
  return fits ? row->evaluate(call)
              : interp_wrong(call, "it has %u operands and %u results, or some that are no tensors",
                             call->operand_count, call->result_count);
}
