/* Operations themselves, constants and elementwise arithmetic. See onnx_emit.h. */
#include "import/onnx_emit.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "import/onnx_fold.h"

static const struct onnx_val none = {0};

/* ---- values ---- */

struct onnx_val onnx_new_value(struct onnx_builder *b, enum dtype dtype, const int64_t *dims, uint32_t rank) {
  if (b->is_failed || !onnx_check(b, rank <= ONNX_RANK_MAX, "a tensor has more than %d dimensions", ONNX_RANK_MAX)) {
    return none;
  }
  if (!onnx_check(b, dtype != DTYPE_NONE, "an operand is missing")) {
    return none;
  }
  int64_t count = 1;
  for (uint32_t i = 0; i < rank; i++) {
    if (!onnx_check(b,
                    dims[i] >= 0 && checked_mul_i64(count, dims[i] + (dims[i] == 0), &count) && count <= INT64_MAX / 16,
                    "a dimension of %lld elements is negative or makes a tensor too large", (long long)dims[i])) {
      return none;
    }
  }
  for (uint32_t i = 0; i < rank; i++) {
    count = dims[i] == 0 ? 0 : count;
  }
  int64_t *copy = arena_calloc(&b->arena, rank + 1, sizeof *copy);
  if (copy == NULL) {
    onnx_fail_memory(b);
    return none;
  }
  if (rank > 0) {
    memcpy(copy, dims, rank * sizeof *copy);
  }
  struct onnx_value value = {.dtype = dtype, .rank = rank, .dims = copy, .count = count};
  if (b->values.count >= UINT32_MAX || !vec_push(&b->values, value)) {
    onnx_fail_memory(b);
    return none;
  }
  return (struct onnx_val){(uint32_t)b->values.count - 1};
}

/* A new value of x's shape. */
static struct onnx_val like(struct onnx_builder *b, struct onnx_val x, enum dtype dtype) {
  return onnx_new_value(b, dtype, onnx_get(b, x)->dims, onnx_rank(b, x));
}

uint32_t onnx_dims(const struct onnx_builder *b, struct onnx_val v, int64_t *dims) {
  const struct onnx_value *value = onnx_get(b, v);
  for (uint32_t i = 0; i < value->rank; i++) {
    dims[i] = value->dims[i];
  }
  return value->rank;
}

bool onnx_same_dims(const struct onnx_builder *b, struct onnx_val x, struct onnx_val y) {
  const struct onnx_value *p = onnx_get(b, x), *q = onnx_get(b, y);
  return p->rank == q->rank && (p->rank == 0 || memcmp(p->dims, q->dims, p->rank * sizeof *p->dims) == 0);
}

struct ir_type onnx_ir_type(struct onnx_builder *b, struct onnx_val v) {
  const struct onnx_value *value = onnx_get(b, v);
  struct ir_type type =
      ir_type_tensor(b->m, ir_type_scalar(b->m, value->dtype), value->dims, value->rank, (struct ir_attr){0});
  if (type.id == 0) {
    onnx_fail_memory(b);
  }
  return type;
}

/* ---- operations ---- */

bool onnx_push_attr(struct onnx_builder *b, const char *name, struct ir_attr attr) {
  if (b->is_failed) {
    return false;
  }
  uint32_t id = intern_add_cstr(&b->m->strings, name);
  if (id == UINT32_MAX || attr.id == 0 || !vec_push(&b->pairs, id) || !vec_push(&b->pairs, attr.id)) {
    onnx_fail_memory(b);
    return false;
  }
  return true;
}

bool onnx_push_i64s(struct onnx_builder *b, const char *name, const int64_t *values, uint32_t count) {
  return !b->is_failed && onnx_push_attr(b, name, ir_attr_i64s(b->m, values, count));
}

bool onnx_push_i64(struct onnx_builder *b, const char *name, int64_t value) {
  return !b->is_failed && onnx_push_attr(b, name, ir_attr_integer(b->m, value, ir_type_scalar(b->m, DTYPE_I64)));
}

/* Appends an operation of known operands and result types to `block`. */
static struct ir_op append(struct onnx_builder *b, struct ir_block block, const struct ir_op_spec *spec) {
  struct ir_op op = ir_op_create(b->m, block, spec);
  b->pairs.count = 0;
  if (op.id == 0) {
    onnx_fail_memory(b);
  }
  return op;
}

enum { OPERANDS_INLINE = 16 };

bool onnx_emit_many(struct onnx_builder *b, enum ir_opcode opcode, const struct onnx_val *operands, uint32_t count,
                    const struct ir_region *regions, uint32_t region_count, struct onnx_val *results,
                    uint32_t result_count) {
  struct ir_value few_values[OPERANDS_INLINE];
  struct ir_type few_types[OPERANDS_INLINE];
  struct ir_value *values = few_values;
  struct ir_type *types = few_types;
  if (b->is_failed) {
    return false;
  }
  if (count > OPERANDS_INLINE || result_count > OPERANDS_INLINE) {
    values = arena_calloc(&b->arena, count + 1, sizeof *values);
    types = arena_calloc(&b->arena, result_count + 1, sizeof *types);
    if (values == NULL || types == NULL) {
      onnx_fail_memory(b);
      return false;
    }
  }
  /* constants that operands need are operations of their own, with attributes of their own */
  size_t pushed = b->pairs.count;
  uint32_t *pairs = arena_alloc(&b->arena, (pushed + 1) * sizeof *pairs);
  if (pairs == NULL) {
    onnx_fail_memory(b);
    return false;
  }
  if (pushed > 0) {
    memcpy(pairs, b->pairs.data, pushed * sizeof *pairs);
  }
  b->pairs.count = 0;
  for (uint32_t i = 0; i < count; i++) {
    values[i] = onnx_ir(b, operands[i]);
  }
  for (uint32_t i = 0; i < result_count; i++) {
    types[i] = onnx_ir_type(b, results[i]);
  }
  if (b->is_failed) {
    return false;
  }
  struct ir_op_spec spec = {.opcode = opcode,
                            .operands = values,
                            .operand_count = count,
                            .result_types = types,
                            .result_count = result_count,
                            .attrs = pairs,
                            .attr_count = (uint32_t)pushed / 2,
                            .regions = regions,
                            .region_count = region_count,
                            .location = b->location};
  struct ir_op op = append(b, b->block, &spec);
  for (uint32_t i = 0; i < result_count && op.id != 0; i++) {
    b->values.data[results[i].id].value = ir_op_result(b->m, op, i);
  }
  return op.id != 0;
}

struct onnx_val onnx_emit(struct onnx_builder *b, enum ir_opcode opcode, const struct onnx_val *operands,
                          uint32_t count, const struct ir_region *region, struct onnx_val result) {
  if (b->is_failed || result.id == 0) {
    b->pairs.count = 0;
    return none;
  }
  bool ok = onnx_emit_many(b, opcode, operands, count, region, region != NULL, &result, 1);
  return ok ? result : none;
}

/* ---- constants ---- */

/* The DENSE attribute of `type` with the value's cells, or with the only one of a splat. */
static struct ir_attr cells_attr(struct onnx_builder *b, const struct onnx_value *v, struct ir_type type,
                                 bool only_one) {
  size_t size = ir_dense_element_size(v->dtype), count = only_one ? 1 : (size_t)v->count;
  uint8_t *bytes = malloc(size * count + 8);
  if (bytes == NULL) {
    return (struct ir_attr){0};
  }
  for (size_t i = 0; i < count; i++) {
    onnx_cell_store(v->cells[v->is_splat ? 0 : i], v->dtype, bytes + i * size);
  }
  struct ir_attr attr = ir_attr_dense(b->m, type, bytes, size * count, false);
  free(bytes);
  return attr;
}

static struct ir_value emit_constant(struct onnx_builder *b, struct ir_type type, struct ir_attr attr) {
  struct ir_value nothing = {0};
  if (b->is_failed || !onnx_push_attr(b, "value", attr)) {
    return nothing;
  }
  struct ir_op_spec spec = {.opcode = IR_OP_CONSTANT,
                            .result_types = &type,
                            .result_count = 1,
                            .attrs = b->pairs.data,
                            .attr_count = 1,
                            .location = b->location};
  struct ir_op op = append(b, b->entry, &spec);
  return op.id != 0 ? ir_op_result(b->m, op, 0) : nothing;
}

/* A splat is a scalar constant that is broadcast, so that it costs what it costs: nothing to read. */
static struct ir_value emit_splat(struct onnx_builder *b, const struct onnx_value *v, struct ir_type type) {
  struct ir_value nothing = {0};
  struct ir_type scalar = ir_type_tensor(b->m, ir_type_scalar(b->m, v->dtype), NULL, 0, (struct ir_attr){0});
  struct ir_value value = scalar.id != 0 ? emit_constant(b, scalar, cells_attr(b, v, scalar, true)) : nothing;
  if (value.id == 0 || !onnx_push_i64s(b, "broadcast_dimensions", NULL, 0)) {
    return nothing;
  }
  struct ir_op_spec spec = {.opcode = IR_OP_BROADCAST_IN_DIM,
                            .operands = &value,
                            .operand_count = 1,
                            .result_types = &type,
                            .result_count = 1,
                            .attrs = b->pairs.data,
                            .attr_count = 1,
                            .location = b->location};
  struct ir_op op = append(b, b->entry, &spec);
  return op.id != 0 ? ir_op_result(b->m, op, 0) : nothing;
}

struct ir_value onnx_ir(struct onnx_builder *b, struct onnx_val v) {
  struct onnx_value value = *onnx_get(b, v);
  if (b->is_failed || value.value.id != 0) {
    return value.value;
  }
  assert(value.cells != NULL || value.tensor != NULL);
  struct ir_type type = onnx_ir_type(b, v);
  struct ir_value made = {0};
  if (value.tensor != NULL) {
    made = emit_constant(b, type, onnx_tensor_attr(b, v));
  } else if (value.is_splat && value.rank > 0) {
    made = emit_splat(b, &value, type);
  } else {
    made = emit_constant(b, type, cells_attr(b, &value, type, false));
  }
  if (made.id == 0) {
    onnx_fail_memory(b);
  }
  b->values.data[v.id].value = made;
  return made;
}

static struct onnx_val splat_cell(struct onnx_builder *b, enum dtype dtype, union onnx_cell cell, const int64_t *dims,
                                  uint32_t rank) {
  enum dtype_class class = dtype_class_of(dtype);
  if (b->is_failed
      || !onnx_check(b, class != DTYPE_CLASS_COMPLEX && class != DTYPE_CLASS_NONE,
                     "complex numbers are not read here")) {
    return none;
  }
  struct onnx_val v = onnx_new_value(b, dtype, dims, rank);
  union onnx_cell *cells = v.id != 0 ? onnx_new_cells(b, v, true) : NULL;
  if (cells == NULL) {
    return none;
  }
  cells[0] = cell;
  return v;
}

struct onnx_val onnx_const_int(struct onnx_builder *b, enum dtype dtype, int64_t value) {
  return splat_cell(b, dtype, onnx_cell_convert((union onnx_cell){.i = value}, DTYPE_I64, dtype), NULL, 0);
}

struct onnx_val onnx_splat(struct onnx_builder *b, enum dtype dtype, double value, const int64_t *dims, uint32_t rank) {
  return splat_cell(b, dtype, onnx_cell_convert((union onnx_cell){.f = value}, DTYPE_F64, dtype), dims, rank);
}

struct onnx_val onnx_const_float(struct onnx_builder *b, enum dtype dtype, double value) {
  return onnx_splat(b, dtype, value, NULL, 0);
}

struct onnx_val onnx_const_i64s(struct onnx_builder *b, const int64_t *values, uint32_t count) {
  int64_t dims[1] = {count};
  struct onnx_val v = onnx_new_value(b, DTYPE_I64, dims, 1);
  union onnx_cell *cells = v.id != 0 ? onnx_new_cells(b, v, false) : NULL;
  for (uint32_t i = 0; cells != NULL && i < count; i++) {
    cells[i].i = values[i];
  }
  return cells != NULL ? v : none;
}

struct onnx_val onnx_limit(struct onnx_builder *b, enum dtype dtype, bool is_greatest) {
  unsigned bits = dtype_bits(dtype);
  if (b->is_failed || onnx_is_float(dtype)) {
    return onnx_const_float(b, dtype, is_greatest ? (double)INFINITY : -(double)INFINITY);
  }
  bool is_signed = dtype_class_of(dtype) == DTYPE_CLASS_SINT;
  uint64_t ones = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  uint64_t greatest = is_signed ? ones >> 1 : ones;
  return onnx_const_int(b, dtype, (int64_t)(is_greatest ? greatest : is_signed ? ~greatest : 0));
}

struct onnx_val onnx_iota(struct onnx_builder *b, enum dtype dtype, const int64_t *dims, uint32_t rank, uint32_t axis) {
  struct onnx_val v = onnx_new_value(b, dtype, dims, rank);
  if (v.id == 0 || !onnx_check(b, axis < rank, "no such dimension")) {
    return none;
  }
  if (onnx_fold_iota(b, axis, v)) {
    return v;
  }
  (void)onnx_push_i64(b, "iota_dimension", axis);
  return onnx_emit(b, IR_OP_IOTA, NULL, 0, NULL, v);
}

/* ---- elementwise ---- */

struct onnx_val onnx_unary(struct onnx_builder *b, enum ir_opcode opcode, struct onnx_val x) {
  if (b->is_failed) {
    return none;
  }
  struct onnx_val v = like(b, x, onnx_dtype(b, x));
  return onnx_fold_unary(b, opcode, x, v) ? v : onnx_emit(b, opcode, &x, 1, NULL, v);
}

/* Both operands with the common shape; false after a failure. */
static bool match(struct onnx_builder *b, struct onnx_val *x, struct onnx_val *y) {
  int64_t dims[ONNX_RANK_MAX];
  uint32_t rank;
  if (b->is_failed || !onnx_common_dims(b, *x, *y, dims, &rank)
      || !onnx_check(b, onnx_dtype(b, *x) == onnx_dtype(b, *y), "operands are of the types %s and %s",
                     dtype_name(onnx_dtype(b, *x)), dtype_name(onnx_dtype(b, *y)))) {
    return false;
  }
  *x = onnx_broadcast(b, *x, dims, rank);
  *y = onnx_broadcast(b, *y, dims, rank);
  return !b->is_failed;
}

struct onnx_val onnx_binary(struct onnx_builder *b, enum ir_opcode opcode, struct onnx_val x, struct onnx_val y) {
  if (!match(b, &x, &y)) {
    return none;
  }
  struct onnx_val v = like(b, x, onnx_dtype(b, x));
  return onnx_fold_binary(b, opcode, x, y, v) ? v : onnx_emit(b, opcode, (struct onnx_val[]){x, y}, 2, NULL, v);
}

struct onnx_val onnx_binary_float(struct onnx_builder *b, enum ir_opcode opcode, struct onnx_val x, double y) {
  return b->is_failed ? none : onnx_binary(b, opcode, x, onnx_const_float(b, onnx_dtype(b, x), y));
}

struct onnx_val onnx_compare(struct onnx_builder *b, enum onnx_compare direction, struct onnx_val x,
                             struct onnx_val y) {
  static const char *const words[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  if (!match(b, &x, &y)) {
    return none;
  }
  struct onnx_val v = like(b, x, DTYPE_I1);
  if (onnx_fold_compare(b, (int)direction, x, y, v)) {
    return v;
  }
  enum dtype dtype = onnx_dtype(b, x);
  const char *type = onnx_is_float(dtype) ? "FLOAT" : dtype_class_of(dtype) == DTYPE_CLASS_SINT ? "SIGNED" : "UNSIGNED";
  (void)onnx_push_attr(b, "comparison_direction",
                       ir_attr_enum(b->m, "stablehlo.comparison_direction", strlen("stablehlo.comparison_direction"),
                                    words[direction], 2));
  (void)onnx_push_attr(
      b, "compare_type",
      ir_attr_enum(b->m, "stablehlo.comparison_type", strlen("stablehlo.comparison_type"), type, strlen(type)));
  return onnx_emit(b, IR_OP_COMPARE, (struct onnx_val[]){x, y}, 2, NULL, v);
}

struct onnx_val onnx_select(struct onnx_builder *b, struct onnx_val predicate, struct onnx_val x, struct onnx_val y) {
  int64_t dims[ONNX_RANK_MAX];
  uint32_t rank;
  if (!match(b, &x, &y) || !onnx_common_dims(b, predicate, x, dims, &rank)
      || !onnx_check(b, onnx_dtype(b, predicate) == DTYPE_I1, "a condition must be of type bool")) {
    return none;
  }
  predicate = onnx_broadcast(b, predicate, dims, rank);
  x = onnx_broadcast(b, x, dims, rank);
  y = onnx_broadcast(b, y, dims, rank);
  if (b->is_failed) {
    return none;
  }
  struct onnx_val v = like(b, x, onnx_dtype(b, x));
  return onnx_fold_select(b, predicate, x, y, v)
             ? v
             : onnx_emit(b, IR_OP_SELECT, (struct onnx_val[]){predicate, x, y}, 3, NULL, v);
}

struct onnx_val onnx_is_finite(struct onnx_builder *b, struct onnx_val x) {
  return b->is_failed ? none : onnx_emit(b, IR_OP_IS_FINITE, &x, 1, NULL, like(b, x, DTYPE_I1));
}

struct onnx_val onnx_convert(struct onnx_builder *b, struct onnx_val x, enum dtype dtype) {
  if (b->is_failed || onnx_dtype(b, x) == dtype) {
    return b->is_failed ? none : x;
  }
  struct onnx_val v = like(b, x, dtype);
  return onnx_fold_convert(b, x, v) ? v : onnx_emit(b, IR_OP_CONVERT, &x, 1, NULL, v);
}

struct onnx_val onnx_clamp(struct onnx_builder *b, struct onnx_val low, struct onnx_val x, struct onnx_val high) {
  if (b->is_failed
      || !onnx_check(b,
                     onnx_dtype(b, low) == onnx_dtype(b, x) && onnx_dtype(b, high) == onnx_dtype(b, x)
                         && onnx_get(b, low)->count == 1 && onnx_get(b, high)->count == 1,
                     "limits must be scalars of the operand's type")) {
    return none;
  }
  low = onnx_reshape(b, low, NULL, 0);
  high = onnx_reshape(b, high, NULL, 0);
  if (b->is_failed) {
    return none;
  }
  return onnx_emit(b, IR_OP_CLAMP, (struct onnx_val[]){low, x, high}, 3, NULL, like(b, x, onnx_dtype(b, x)));
}
