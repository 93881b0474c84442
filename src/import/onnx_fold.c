/* Folding of operations on small known tensors. See onnx_fold.h. */
#include "import/onnx_fold.h"

#include <math.h>
#include <string.h>

#include "base/minifloat.h"

bool onnx_is_float(enum dtype dtype) {
  return dtype_class_of(dtype) == DTYPE_CLASS_FLOAT;
}

static bool is_unsigned(enum dtype dtype) {
  return dtype_class_of(dtype) == DTYPE_CLASS_UINT;
}

/* The cell in the range of its type. */
static union onnx_cell rounded(union onnx_cell cell, enum dtype dtype) {
  unsigned bits = dtype_bits(dtype);
  if (dtype == DTYPE_F32) {
    cell.f = (double)(float)cell.f;
  } else if (onnx_is_float(dtype)) {
    cell.f = dtype == DTYPE_F64 ? cell.f : minifloat_decode(dtype, minifloat_encode(dtype, cell.f));
  } else if (dtype == DTYPE_I1) {
    cell.i = cell.i != 0;
  } else if (bits > 0 && bits < 64) {
    uint64_t kept = (uint64_t)cell.i & ((UINT64_C(1) << bits) - 1);
    bool is_negative = !is_unsigned(dtype) && (kept >> (bits - 1)) != 0;
    cell.i = (int64_t)(is_negative ? kept | ~((UINT64_C(1) << bits) - 1) : kept);
  }
  return cell;
}

static int64_t int_of_float(double value, enum dtype dtype) {
  if (isnan(value)) {
    return 0;
  }
  if (dtype == DTYPE_UI64 && value >= 9223372036854775808.0) {
    return value < 18446744073709551616.0 ? (int64_t)(uint64_t)value : -1;
  }
  return value >= 9223372036854775807.0 ? INT64_MAX : value <= -9223372036854775808.0 ? INT64_MIN : (int64_t)value;
}

union onnx_cell onnx_cell_convert(union onnx_cell cell, enum dtype from, enum dtype dtype) {
  union onnx_cell to = cell;
  if (onnx_is_float(from) && dtype == DTYPE_I1) {
    to.i = cell.f != 0;
  } else if (onnx_is_float(from) && !onnx_is_float(dtype)) {
    to.i = int_of_float(cell.f, dtype);
  } else if (!onnx_is_float(from) && onnx_is_float(dtype)) {
    to.f = from == DTYPE_UI64 ? (double)(uint64_t)cell.i : (double)cell.i;
  }
  return rounded(to, dtype);
}

void onnx_cell_store(union onnx_cell cell, enum dtype dtype, uint8_t *to) {
  uint64_t bits = onnx_is_float(dtype) ? minifloat_encode(dtype, cell.f) : (uint64_t)cell.i;
  if (!onnx_is_float(dtype) && dtype_bits(dtype) < 8) {
    bits &= (UINT64_C(1) << dtype_bits(dtype)) - 1;
  }
  memcpy(to, &bits, ir_dense_element_size(dtype));
}

union onnx_cell onnx_cell_load(enum dtype dtype, const uint8_t *from) {
  uint64_t bits = 0;
  memcpy(&bits, from, ir_dense_element_size(dtype));
  union onnx_cell cell;
  if (onnx_is_float(dtype)) {
    cell.f = minifloat_decode(dtype, bits);
  } else {
    cell.i = (int64_t)bits;
    cell = rounded(cell, dtype);
  }
  return cell;
}

union onnx_cell *onnx_new_cells(struct onnx_builder *b, struct onnx_val v, bool is_splat) {
  struct onnx_value *value = &b->values.data[v.id];
  union onnx_cell *cells = arena_calloc(&b->arena, is_splat ? 1 : (size_t)value->count + 1, sizeof *cells);
  if (cells == NULL) {
    onnx_fail_memory(b);
    return NULL;
  }
  value->cells = cells;
  value->is_splat = is_splat;
  return cells;
}

/* Cells for `result` when all operands are known and either splats, of which it then is one, or few. */
static union onnx_cell *begin(struct onnx_builder *b, const struct onnx_val *operands, size_t count,
                              struct onnx_val result) {
  bool is_splat = true;
  for (size_t i = 0; i < count; i++) {
    const struct onnx_value *v = onnx_get(b, operands[i]);
    if (v->cells == NULL) {
      return NULL;
    }
    is_splat = is_splat && v->is_splat;
  }
  if (result.id == 0 || (!is_splat && onnx_get(b, result)->count > ONNX_FOLD_MAX)) {
    return NULL;
  }
  return onnx_new_cells(b, result, is_splat);
}

static int64_t cell_count(const struct onnx_builder *b, struct onnx_val result) {
  const struct onnx_value *v = onnx_get(b, result);
  return v->is_splat ? 1 : v->count;
}

/* A fold that turns out not to be one. */
static bool give_up(struct onnx_builder *b, struct onnx_val result) {
  b->values.data[result.id].cells = NULL;
  b->values.data[result.id].is_splat = false;
  return false;
}

/* ---- elementwise ---- */

static bool unary_cell(enum ir_opcode opcode, enum dtype dtype, union onnx_cell x, union onnx_cell *out) {
  bool is_float = onnx_is_float(dtype);
  *out = x;
  switch ((int)opcode) {
  case IR_OP_NEGATE:
    *out = is_float ? (union onnx_cell){.f = -x.f} : (union onnx_cell){.i = (int64_t)(0 - (uint64_t)x.i)};
    return true;
  case IR_OP_ABS:
    *out = is_float ? (union onnx_cell){.f = fabs(x.f)}
                    : (union onnx_cell){.i = x.i < 0 ? (int64_t)(0 - (uint64_t)x.i) : x.i};
    return true;
  case IR_OP_FLOOR:
    out->f = floor(x.f);
    return is_float;
  case IR_OP_CEIL:
    out->f = ceil(x.f);
    return is_float;
  case IR_OP_ROUND_NEAREST_EVEN:
    out->f = nearbyint(x.f);
    return is_float;
  case IR_OP_SQRT:
    out->f = sqrt(x.f);
    return is_float;
  case IR_OP_SIGN:
    out->i = (x.i > 0) - (x.i < 0);
    return !is_float;
  case IR_OP_NOT:
    out->i = dtype == DTYPE_I1 ? !x.i : ~x.i;
    return !is_float;
  default:
    return false;
  }
}

bool onnx_fold_unary(struct onnx_builder *b, enum ir_opcode opcode, struct onnx_val x, struct onnx_val result) {
  enum dtype dtype = onnx_dtype(b, x);
  union onnx_cell *cells = begin(b, &x, 1, result);
  for (int64_t i = 0; cells != NULL && i < cell_count(b, result); i++) {
    if (!unary_cell(opcode, dtype, onnx_cell(onnx_get(b, x), i), &cells[i])) {
      return give_up(b, result);
    }
    cells[i] = rounded(cells[i], dtype);
  }
  return cells != NULL;
}

static bool float_cell(enum ir_opcode opcode, double x, double y, double *out) {
  switch ((int)opcode) {
  case IR_OP_ADD:
    *out = x + y;
    return true;
  case IR_OP_SUBTRACT:
    *out = x - y;
    return true;
  case IR_OP_MULTIPLY:
    *out = x * y;
    return true;
  case IR_OP_DIVIDE:
    *out = x / y;
    return true;
  case IR_OP_MAXIMUM:
    *out = isnan(x) || x > y ? x : y;
    return !isnan(x) && !isnan(y);
  case IR_OP_MINIMUM:
    *out = x < y ? x : y;
    return !isnan(x) && !isnan(y);
  default:
    return false;
  }
}

static bool is_less(bool is_wide_unsigned, int64_t x, int64_t y) {
  return is_wide_unsigned ? (uint64_t)x < (uint64_t)y : x < y;
}

static bool int_cell(enum ir_opcode opcode, enum dtype dtype, int64_t x, int64_t y, int64_t *out) {
  bool u = is_unsigned(dtype);
  uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
  switch ((int)opcode) {
  case IR_OP_ADD:
    *out = (int64_t)(ux + uy);
    return dtype != DTYPE_I1;
  case IR_OP_SUBTRACT:
    *out = (int64_t)(ux - uy);
    return dtype != DTYPE_I1;
  case IR_OP_MULTIPLY:
    *out = (int64_t)(ux * uy);
    return dtype != DTYPE_I1;
  case IR_OP_DIVIDE:
  case IR_OP_REMAINDER:
    if (y == 0 || (!u && x == INT64_MIN && y == -1)) {
      return false;
    }
    *out = opcode == IR_OP_DIVIDE ? (u ? (int64_t)(ux / uy) : x / y) : (u ? (int64_t)(ux % uy) : x % y);
    return true;
  case IR_OP_MAXIMUM:
    *out = is_less(u, x, y) ? y : x;
    return true;
  case IR_OP_MINIMUM:
    *out = is_less(u, x, y) ? x : y;
    return true;
  case IR_OP_AND:
    *out = x & y;
    return true;
  case IR_OP_OR:
    *out = x | y;
    return true;
  case IR_OP_XOR:
    *out = x ^ y;
    return true;
  default:
    return false;
  }
}

bool onnx_fold_binary(struct onnx_builder *b, enum ir_opcode opcode, struct onnx_val x, struct onnx_val y,
                      struct onnx_val result) {
  enum dtype dtype = onnx_dtype(b, x);
  union onnx_cell *cells = begin(b, (struct onnx_val[]){x, y}, 2, result);
  for (int64_t i = 0; cells != NULL && i < cell_count(b, result); i++) {
    union onnx_cell p = onnx_cell(onnx_get(b, x), i), q = onnx_cell(onnx_get(b, y), i);
    bool ok = onnx_is_float(dtype) ? float_cell(opcode, p.f, q.f, &cells[i].f)
                                   : int_cell(opcode, dtype, p.i, q.i, &cells[i].i);
    if (!ok) {
      return give_up(b, result);
    }
    cells[i] = rounded(cells[i], dtype);
  }
  return cells != NULL;
}

bool onnx_fold_compare(struct onnx_builder *b, int direction, struct onnx_val x, struct onnx_val y,
                       struct onnx_val result) {
  enum dtype dtype = onnx_dtype(b, x);
  union onnx_cell *cells = begin(b, (struct onnx_val[]){x, y}, 2, result);
  for (int64_t i = 0; cells != NULL && i < cell_count(b, result); i++) {
    union onnx_cell p = onnx_cell(onnx_get(b, x), i), q = onnx_cell(onnx_get(b, y), i);
    bool is_float = onnx_is_float(dtype), u = is_unsigned(dtype);
    bool less = is_float ? p.f < q.f : is_less(u, p.i, q.i), more = is_float ? p.f > q.f : is_less(u, q.i, p.i);
    bool equal = is_float ? p.f == q.f : p.i == q.i;
    const bool answers[] = {equal, !equal, less, less || equal, more, more || equal}; /* order of enum onnx_compare */
    cells[i].i = answers[direction];
  }
  return cells != NULL;
}

bool onnx_fold_select(struct onnx_builder *b, struct onnx_val p, struct onnx_val x, struct onnx_val y,
                      struct onnx_val result) {
  union onnx_cell *cells = begin(b, (struct onnx_val[]){p, x, y}, 3, result);
  for (int64_t i = 0; cells != NULL && i < cell_count(b, result); i++) {
    cells[i] = onnx_cell(onnx_get(b, p), i).i != 0 ? onnx_cell(onnx_get(b, x), i) : onnx_cell(onnx_get(b, y), i);
  }
  return cells != NULL;
}

bool onnx_fold_convert(struct onnx_builder *b, struct onnx_val x, struct onnx_val result) {
  enum dtype from = onnx_dtype(b, x), to = onnx_dtype(b, result);
  if (dtype_class_of(to) == DTYPE_CLASS_COMPLEX) {
    return false;
  }
  union onnx_cell *cells = begin(b, &x, 1, result);
  for (int64_t i = 0; cells != NULL && i < cell_count(b, result); i++) {
    cells[i] = onnx_cell_convert(onnx_cell(onnx_get(b, x), i), from, to);
  }
  return cells != NULL;
}

/* ---- movement ---- */

/* Next index in row-major order. */
static void step(const struct onnx_value *v, int64_t *index) {
  for (uint32_t d = v->rank; d-- > 0;) {
    if (++index[d] < v->dims[d]) {
      return;
    }
    index[d] = 0;
  }
}

bool onnx_fold_view(struct onnx_builder *b, struct onnx_val x, int64_t offset, const int64_t *strides,
                    struct onnx_val result) {
  int64_t index[ONNX_RANK_MAX] = {0};
  union onnx_cell *cells = begin(b, &x, 1, result);
  if (cells != NULL && onnx_get(b, result)->is_splat) {
    cells[0] = onnx_get(b, x)->cells[0];
    return true;
  }
  for (int64_t i = 0; cells != NULL && i < onnx_get(b, result)->count; i++) {
    int64_t from = offset;
    for (uint32_t d = 0; d < onnx_rank(b, result); d++) {
      from += index[d] * strides[d];
    }
    cells[i] = onnx_cell(onnx_get(b, x), from);
    step(onnx_get(b, result), index);
  }
  return cells != NULL;
}

bool onnx_fold_concat(struct onnx_builder *b, const struct onnx_val *parts, uint32_t count, uint32_t axis,
                      struct onnx_val result) {
  for (uint32_t i = 0; i < count; i++) {
    if (onnx_get(b, parts[i])->cells == NULL) {
      return false;
    }
  }
  if (onnx_get(b, result)->count > ONNX_FOLD_MAX) {
    return false;
  }
  union onnx_cell *cells = onnx_new_cells(b, result, false);
  int64_t outer = 1, inner = 1;
  for (uint32_t d = 0; d < onnx_rank(b, result); d++) {
    outer *= d < axis ? onnx_dim(b, result, d) : 1;
    inner *= d > axis ? onnx_dim(b, result, d) : 1;
  }
  for (int64_t o = 0, to = 0; cells != NULL && o < outer; o++) {
    for (uint32_t p = 0; p < count; p++) {
      int64_t run = onnx_dim(b, parts[p], axis) * inner;
      for (int64_t k = 0; k < run; k++) {
        cells[to++] = onnx_cell(onnx_get(b, parts[p]), o * run + k);
      }
    }
  }
  return cells != NULL;
}

bool onnx_fold_take(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices, uint32_t axis,
                    struct onnx_val result) {
  int64_t inner = 1, size = onnx_dim(b, x, axis);
  if (onnx_get(b, x)->cells == NULL || onnx_get(b, indices)->cells == NULL || size == 0
      || onnx_get(b, result)->count > ONNX_FOLD_MAX) {
    return false;
  }
  union onnx_cell *cells = onnx_new_cells(b, result, false);
  for (uint32_t d = axis + 1; d < onnx_rank(b, x); d++) {
    inner *= onnx_dim(b, x, d);
  }
  int64_t taken = onnx_get(b, indices)->count;
  for (int64_t i = 0; cells != NULL && i < onnx_get(b, result)->count; i++) {
    int64_t outer = i / (taken * inner), which = i / inner % taken, at = onnx_cell(onnx_get(b, indices), which).i;
    at = at < 0 ? 0 : at >= size ? size - 1 : at;
    cells[i] = onnx_cell(onnx_get(b, x), (outer * size + at) * inner + i % inner);
  }
  return cells != NULL;
}

bool onnx_fold_iota(struct onnx_builder *b, uint32_t axis, struct onnx_val result) {
  int64_t index[ONNX_RANK_MAX] = {0};
  enum dtype dtype = onnx_dtype(b, result);
  if (onnx_get(b, result)->count > ONNX_FOLD_MAX || dtype_class_of(dtype) == DTYPE_CLASS_COMPLEX) {
    return false;
  }
  union onnx_cell *cells = onnx_new_cells(b, result, false);
  for (int64_t i = 0; cells != NULL && i < onnx_get(b, result)->count; i++) {
    cells[i] = onnx_cell_convert((union onnx_cell){.i = index[axis]}, DTYPE_I64, dtype);
    step(onnx_get(b, result), index);
  }
  return cells != NULL;
}

bool onnx_fold_reduce(struct onnx_builder *b, enum ir_opcode body, struct onnx_val x, struct onnx_val result) {
  const struct onnx_value *v = onnx_get(b, x);
  enum dtype dtype = v->dtype;
  if (v->cells == NULL || v->count == 0 || v->count > ONNX_FOLD_MAX || onnx_get(b, result)->count != 1
      || onnx_is_float(dtype)) {
    return false;
  }
  union onnx_cell sum = onnx_cell(v, 0);
  for (int64_t i = 1; i < v->count; i++) {
    if (!int_cell(body, dtype, sum.i, onnx_cell(v, i).i, &sum.i)) {
      return false;
    }
    sum = rounded(sum, dtype);
  }
  union onnx_cell *cells = onnx_new_cells(b, result, true);
  if (cells != NULL) {
    cells[0] = sum;
  }
  return cells != NULL;
}
