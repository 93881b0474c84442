/* Operations that move elements and change shapes. See onnx_emit.h. */
#include "base/checked.h"
#include "import/onnx_emit.h"
#include "import/onnx_fold.h"

static const struct onnx_val none = {0};

static bool same(const struct onnx_builder *b, struct onnx_val x, const int64_t *dims, uint32_t rank) {
  bool equal = onnx_rank(b, x) == rank;
  for (uint32_t i = 0; equal && i < rank; i++) {
    equal = onnx_dim(b, x, i) == dims[i];
  }
  return equal;
}

/* Row-major strides in elements. */
static void strides_of(const struct onnx_builder *b, struct onnx_val x, int64_t *strides) {
  int64_t stride = 1;
  for (uint32_t i = onnx_rank(b, x); i-- > 0;) {
    strides[i] = stride;
    stride *= onnx_dim(b, x, i);
  }
}

struct onnx_val onnx_reshape(struct onnx_builder *b, struct onnx_val x, const int64_t *dims, uint32_t rank) {
  if (b->is_failed || same(b, x, dims, rank)) {
    return b->is_failed ? none : x;
  }
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), dims, rank);
  if (v.id == 0
      || !onnx_check(b, onnx_get(b, v)->count == onnx_get(b, x)->count, "%lld elements do not make a shape of %lld",
                     (long long)onnx_get(b, x)->count, (long long)onnx_get(b, v)->count)) {
    return none;
  }
  const struct onnx_value *from = onnx_get(b, x);
  if (from->cells != NULL) { /* the same cells in the same order */
    b->values.data[v.id].cells = from->cells;
    b->values.data[v.id].is_splat = from->is_splat;
    return v;
  }
  return onnx_emit(b, IR_OP_RESHAPE, &x, 1, NULL, v);
}

struct onnx_val onnx_broadcast_in(struct onnx_builder *b, struct onnx_val x, const int64_t *dims, uint32_t rank,
                                  const int64_t *axes) {
  int64_t from[ONNX_RANK_MAX], strides[ONNX_RANK_MAX] = {0};
  if (b->is_failed || same(b, x, dims, rank)) {
    return b->is_failed ? none : x;
  }
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), dims, rank);
  strides_of(b, x, from);
  for (uint32_t i = 0; v.id != 0 && i < onnx_rank(b, x); i++) {
    int64_t size = onnx_dim(b, x, i);
    if (!onnx_check(b, axes[i] >= 0 && axes[i] < rank && (size == 1 || size == dims[axes[i]]),
                    "a dimension of %lld is not broadcast to the shape of the result", (long long)size)) {
      return none;
    }
    strides[axes[i]] = size == 1 ? 0 : from[i];
  }
  if (v.id == 0 || onnx_fold_view(b, x, 0, strides, v)) {
    return v;
  }
  (void)onnx_push_i64s(b, "broadcast_dimensions", axes, onnx_rank(b, x));
  return onnx_emit(b, IR_OP_BROADCAST_IN_DIM, &x, 1, NULL, v);
}

struct onnx_val onnx_broadcast(struct onnx_builder *b, struct onnx_val x, const int64_t *dims, uint32_t rank) {
  int64_t axes[ONNX_RANK_MAX];
  if (b->is_failed || !onnx_check(b, onnx_rank(b, x) <= rank, "a shape is broadcast to one of lower rank")) {
    return none;
  }
  for (uint32_t i = 0; i < onnx_rank(b, x); i++) {
    axes[i] = rank - onnx_rank(b, x) + i;
  }
  return onnx_broadcast_in(b, x, dims, rank, axes);
}

struct onnx_val onnx_along(struct onnx_builder *b, struct onnx_val x, uint32_t axis, uint32_t rank) {
  int64_t dims[ONNX_RANK_MAX];
  if (b->is_failed || onnx_rank(b, x) == 0
      || !onnx_check(b, onnx_rank(b, x) == 1 && axis < rank, "a vector or scalar is expected")) {
    return b->is_failed ? none : x;
  }
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = i == axis ? onnx_dim(b, x, 0) : 1;
  }
  return onnx_reshape(b, x, dims, rank);
}

bool onnx_common_dims(struct onnx_builder *b, struct onnx_val x, struct onnx_val y, int64_t *dims, uint32_t *rank) {
  if (b->is_failed) {
    return false;
  }
  uint32_t p = onnx_rank(b, x), q = onnx_rank(b, y), n = p > q ? p : q;
  for (uint32_t i = 0; i < n; i++) {
    int64_t size_x = i + p < n ? 1 : onnx_dim(b, x, i + p - n), size_y = i + q < n ? 1 : onnx_dim(b, y, i + q - n);
    if (!onnx_check(b, size_x == size_y || size_x == 1 || size_y == 1,
                    "sizes %lld and %lld of dimension %u do not go together", (long long)size_x, (long long)size_y,
                    i)) {
      return false;
    }
    dims[i] = size_x == 1 ? size_y : size_x;
  }
  *rank = n;
  return true;
}

struct onnx_val onnx_transpose(struct onnx_builder *b, struct onnx_val x, const int64_t *permutation) {
  int64_t dims[ONNX_RANK_MAX], from[ONNX_RANK_MAX], strides[ONNX_RANK_MAX];
  bool seen[ONNX_RANK_MAX] = {false}, is_identity = true;
  uint32_t rank = b->is_failed ? 0 : onnx_rank(b, x);
  strides_of(b, x, from);
  for (uint32_t i = 0; i < rank; i++) {
    int64_t p = permutation[i];
    if (!onnx_check(b, p >= 0 && p < rank && !seen[p], "not a permutation of %u dimensions", rank)) {
      return none;
    }
    seen[p] = true;
    dims[i] = onnx_dim(b, x, (uint32_t)p);
    strides[i] = from[p];
    is_identity = is_identity && p == i;
  }
  if (b->is_failed || is_identity) {
    return b->is_failed ? none : x;
  }
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), dims, rank);
  if (v.id == 0 || onnx_fold_view(b, x, 0, strides, v)) {
    return v;
  }
  (void)onnx_push_i64s(b, "permutation", permutation, rank);
  return onnx_emit(b, IR_OP_TRANSPOSE, &x, 1, NULL, v);
}

struct onnx_val onnx_slice(struct onnx_builder *b, struct onnx_val x, const int64_t *starts, const int64_t *limits,
                           const int64_t *strides) {
  int64_t dims[ONNX_RANK_MAX], from[ONNX_RANK_MAX], steps[ONNX_RANK_MAX], offset = 0;
  uint32_t rank = b->is_failed ? 0 : onnx_rank(b, x);
  strides_of(b, x, from);
  for (uint32_t i = 0; i < rank; i++) {
    if (!onnx_check(b, starts[i] >= 0 && starts[i] <= limits[i] && limits[i] <= onnx_dim(b, x, i) && strides[i] > 0,
                    "the part %lld to %lld is not inside dimension %u of %lld", (long long)starts[i],
                    (long long)limits[i], i, (long long)onnx_dim(b, x, i))) {
      return none;
    }
    dims[i] = (limits[i] - starts[i]) / strides[i] + ((limits[i] - starts[i]) % strides[i] != 0);
    offset += starts[i] * from[i];
    steps[i] = dims[i] > 1 ? from[i] * strides[i] : 0;
  }
  if (b->is_failed || same(b, x, dims, rank)) {
    return b->is_failed ? none : x;
  }
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), dims, rank);
  if (v.id == 0 || onnx_fold_view(b, x, offset, steps, v)) {
    return v;
  }
  (void)onnx_push_i64s(b, "start_indices", starts, rank);
  (void)onnx_push_i64s(b, "limit_indices", limits, rank);
  (void)onnx_push_i64s(b, "strides", strides, rank);
  return onnx_emit(b, IR_OP_SLICE, &x, 1, NULL, v);
}

struct onnx_val onnx_slice_axis(struct onnx_builder *b, struct onnx_val x, uint32_t axis, int64_t start,
                                int64_t limit) {
  int64_t starts[ONNX_RANK_MAX] = {0}, limits[ONNX_RANK_MAX], strides[ONNX_RANK_MAX];
  if (b->is_failed || !onnx_check(b, axis < onnx_rank(b, x), "no such dimension")) {
    return none;
  }
  for (uint32_t i = 0; i < onnx_dims(b, x, limits); i++) {
    strides[i] = 1;
  }
  starts[axis] = start;
  limits[axis] = limit;
  return onnx_slice(b, x, starts, limits, strides);
}

struct onnx_val onnx_concat(struct onnx_builder *b, const struct onnx_val *parts, uint32_t count, uint32_t axis) {
  int64_t dims[ONNX_RANK_MAX];
  if (b->is_failed || !onnx_check(b, count > 0 && axis < onnx_rank(b, parts[0]), "nothing to concatenate")) {
    return none;
  }
  uint32_t rank = onnx_dims(b, parts[0], dims);
  for (uint32_t i = 1; i < count; i++) {
    bool fits = onnx_rank(b, parts[i]) == rank && onnx_dtype(b, parts[i]) == onnx_dtype(b, parts[0]);
    for (uint32_t d = 0; fits && d < rank; d++) {
      fits = d == axis || onnx_dim(b, parts[i], d) == dims[d];
    }
    if (!onnx_check(b, fits && checked_add_i64(dims[axis], onnx_dim(b, parts[i], axis), &dims[axis]),
                    "part %u has another type or shape than the first", i)) {
      return none;
    }
  }
  if (count == 1) {
    return parts[0];
  }
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, parts[0]), dims, rank);
  if (v.id == 0 || onnx_fold_concat(b, parts, count, axis, v)) {
    return v;
  }
  (void)onnx_push_i64(b, "dimension", axis);
  return onnx_emit(b, IR_OP_CONCATENATE, parts, count, NULL, v);
}

struct onnx_val onnx_pad(struct onnx_builder *b, struct onnx_val x, struct onnx_val value, const int64_t *low,
                         const int64_t *high, const int64_t *interior) {
  int64_t dims[ONNX_RANK_MAX];
  uint32_t rank = b->is_failed ? 0 : onnx_dims(b, x, dims);
  for (uint32_t i = 0; i < rank; i++) {
    int64_t holes;
    bool ok = interior[i] >= 0 && checked_mul_i64(dims[i] > 0 ? dims[i] - 1 : 0, interior[i], &holes)
              && checked_add_i64(dims[i], holes, &dims[i]) && checked_add_i64(dims[i], low[i], &dims[i])
              && checked_add_i64(dims[i], high[i], &dims[i]) && dims[i] >= 0;
    if (!onnx_check(b, ok, "padding %lld, %lld does not fit dimension %u", (long long)low[i], (long long)high[i], i)) {
      return none;
    }
  }
  if (b->is_failed || same(b, x, dims, rank)) {
    bool is_plain = !b->is_failed;
    for (uint32_t i = 0; i < rank && is_plain; i++) {
      is_plain = low[i] == 0 && high[i] == 0;
    }
    if (b->is_failed || is_plain) {
      return b->is_failed ? none : x;
    }
  }
  value = onnx_reshape(b, value, NULL, 0);
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), dims, rank);
  (void)onnx_push_i64s(b, "edge_padding_low", low, rank);
  (void)onnx_push_i64s(b, "edge_padding_high", high, rank);
  (void)onnx_push_i64s(b, "interior_padding", interior, rank);
  return onnx_emit(b, IR_OP_PAD, (struct onnx_val[]){x, value}, 2, NULL, v);
}

struct onnx_val onnx_reverse(struct onnx_builder *b, struct onnx_val x, uint32_t axis) {
  int64_t strides[ONNX_RANK_MAX], dims[1] = {axis};
  if (b->is_failed || !onnx_check(b, axis < onnx_rank(b, x), "no such dimension")) {
    return none;
  }
  strides_of(b, x, strides);
  int64_t offset = onnx_dim(b, x, axis) > 0 ? (onnx_dim(b, x, axis) - 1) * strides[axis] : 0;
  strides[axis] = -strides[axis];
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), onnx_get(b, x)->dims, onnx_rank(b, x));
  if (v.id == 0 || onnx_fold_view(b, x, offset, strides, v)) {
    return v;
  }
  (void)onnx_push_i64s(b, "dimensions", dims, 1);
  return onnx_emit(b, IR_OP_REVERSE, &x, 1, NULL, v);
}
