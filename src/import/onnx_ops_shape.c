/* Operators of ONNX that change shapes or make tensors. See onnx_build.h; meanings: onnx/docs/Operators.md. */
#include <math.h>

#include "base/checked.h"
#include "import/onnx_emit.h"
#include "import/onnx_fold.h"
#include "import/onnx_ops.h"

/* ---- shapes alone ---- */

/* 0 keeps the dimension of the input (without `allowzero`), -1 takes what is left. */
void onnx_build_reshape(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t dims[ONNX_INTS_MAX], known = 1;
  uint32_t rank, open = UINT32_MAX;
  struct onnx_val x = onnx_input(b, n, 0);
  if (!onnx_ints_of(b, n, 1, "shape", dims, &rank)) {
    (void)onnx_input(b, n, 1);
    return;
  }
  bool allow_zero = onnx_int(b, n, "allowzero", 0) != 0;
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = dims[i] == 0 && !allow_zero && i < onnx_rank(b, x) ? onnx_dim(b, x, i) : dims[i];
    if (!onnx_check(b, dims[i] >= -1 && (dims[i] != -1 || open == UINT32_MAX),
                    "the shape has more than one open dimension or one of %lld", (long long)dims[i])
        || (dims[i] != -1 && !onnx_check(b, checked_mul_i64(known, dims[i], &known), "the shape is too large"))) {
      return;
    }
    open = dims[i] == -1 ? i : open;
  }
  if (open != UINT32_MAX) {
    if (!onnx_check(b, known > 0 && onnx_get(b, x)->count % known == 0,
                    "%lld elements do not make a shape whose other dimensions have %lld",
                    (long long)onnx_get(b, x)->count, (long long)known)) {
      return;
    }
    dims[open] = onnx_get(b, x)->count / known;
  }
  onnx_output(b, n, 0, onnx_reshape(b, x, dims, rank));
}

void onnx_build_flatten(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0);
  int64_t axis = onnx_int(b, n, "axis", 1), rank = onnx_rank(b, x), dims[2] = {1, 1};
  axis = axis < 0 ? axis + rank : axis;
  if (!onnx_check(b, axis >= 0 && axis <= rank, "axis %lld of %lld dimensions", (long long)axis, (long long)rank)) {
    return;
  }
  for (int64_t i = 0; i < rank; i++) {
    dims[i >= axis] *= onnx_dim(b, x, (uint32_t)i);
  }
  onnx_output(b, n, 0, onnx_reshape(b, x, dims, 2));
}

/* Marks axes[i] of `rank` dimensions; false after a failure. */
static bool mark_axes(struct onnx_builder *b, const int64_t *axes, uint32_t count, uint32_t rank, bool *marked) {
  for (uint32_t i = 0; i < count && !b->is_failed; i++) {
    uint32_t axis = onnx_axis(b, axes[i], rank);
    if (!b->is_failed && onnx_check(b, !marked[axis], "axis %u is named twice", axis)) {
      marked[axis] = true;
    }
  }
  return !b->is_failed;
}

void onnx_build_squeeze(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t axes[ONNX_INTS_MAX], dims[ONNX_RANK_MAX];
  uint32_t count, rank = 0;
  bool marked[ONNX_RANK_MAX] = {false};
  struct onnx_val x = onnx_input(b, n, 0);
  bool has_axes = onnx_ints_of(b, n, 1, "axes", axes, &count);
  if (b->is_failed || !mark_axes(b, axes, count, onnx_rank(b, x), marked)) {
    return;
  }
  for (uint32_t i = 0; i < onnx_rank(b, x); i++) {
    int64_t size = onnx_dim(b, x, i);
    if (!onnx_check(b, !marked[i] || size == 1, "dimension %u of %lld cannot go", i, (long long)size)) {
      return;
    }
    if (has_axes ? !marked[i] : size != 1) {
      dims[rank++] = size;
    }
  }
  onnx_output(b, n, 0, onnx_reshape(b, x, dims, rank));
}

void onnx_build_unsqueeze(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t axes[ONNX_INTS_MAX], dims[ONNX_RANK_MAX];
  uint32_t count;
  bool marked[ONNX_RANK_MAX] = {false};
  struct onnx_val x = onnx_input(b, n, 0);
  if (!onnx_ints_of(b, n, 1, "axes", axes, &count)) {
    (void)onnx_check(b, false, "axes are missing");
    return;
  }
  uint32_t rank = onnx_rank(b, x) + count;
  if (!onnx_check(b, rank <= ONNX_RANK_MAX, "the result has %u dimensions", rank)
      || !mark_axes(b, axes, count, rank, marked)) {
    return;
  }
  for (uint32_t i = 0, from = 0; i < rank; i++) {
    dims[i] = marked[i] ? 1 : onnx_dim(b, x, from++);
  }
  onnx_output(b, n, 0, onnx_reshape(b, x, dims, rank));
}

void onnx_build_transpose(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t permutation[ONNX_INTS_MAX];
  struct onnx_val x = onnx_input(b, n, 0);
  uint32_t rank = onnx_rank(b, x), count = onnx_ints(b, n, "perm", permutation);
  for (uint32_t i = 0; count == 0 && i < rank; i++) {
    permutation[i] = rank - 1 - i;
  }
  if (onnx_check(b, count == 0 || count == rank, "'perm' has %u numbers for %u dimensions", count, rank)) {
    onnx_output(b, n, 0, onnx_transpose(b, x, permutation));
  }
}

void onnx_build_expand(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t wanted[ONNX_INTS_MAX], dims[ONNX_INTS_MAX];
  uint32_t count;
  struct onnx_val x = onnx_input(b, n, 0);
  if (!onnx_ints_of(b, n, 1, "shape", wanted, &count)) {
    (void)onnx_input(b, n, 1);
    return;
  }
  uint32_t rank = onnx_rank(b, x) > count ? onnx_rank(b, x) : count;
  for (uint32_t i = 0; i < rank; i++) {
    int64_t size = i + onnx_rank(b, x) < rank ? 1 : onnx_dim(b, x, i + onnx_rank(b, x) - rank);
    int64_t want = i + count < rank ? 1 : wanted[i + count - rank];
    if (!onnx_check(b, want == size || want == 1 || size == 1, "a dimension of %lld is not expanded to %lld",
                    (long long)size, (long long)want)) {
      return;
    }
    dims[i] = size == 1 ? want : size;
  }
  onnx_output(b, n, 0, onnx_broadcast(b, x, dims, rank));
}

/* [d0, d1] → [1, d0, 1, d1] → [r0, d0, r1, d1] → [r0 d0, r1 d1] */
void onnx_build_tile(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t repeats[ONNX_INTS_MAX], split[ONNX_INTS_MAX], axes[ONNX_RANK_MAX], dims[ONNX_RANK_MAX];
  uint32_t count;
  struct onnx_val x = onnx_input(b, n, 0);
  uint32_t rank = onnx_rank(b, x);
  if (!onnx_ints_of(b, n, 1, "repeats", repeats, &count)
      || !onnx_check(b, count == rank && rank <= ONNX_RANK_MAX / 2, "%u repeats for %u dimensions", count, rank)) {
    return;
  }
  for (uint32_t i = 0; i < rank; i++) {
    split[2 * i] = repeats[i];
    split[2 * i + 1] = onnx_dim(b, x, i);
    axes[i] = 2 * i + 1;
    if (!onnx_check(b, repeats[i] >= 0 && checked_mul_i64(repeats[i], onnx_dim(b, x, i), &dims[i]), "%lld repeats",
                    (long long)repeats[i])) {
      return;
    }
  }
  onnx_output(b, n, 0, onnx_reshape(b, onnx_broadcast_in(b, x, split, 2 * rank, axes), dims, rank));
}

/* ---- parts ---- */

void onnx_build_concat(struct onnx_builder *b, const struct onnx_node *n) {
  uint32_t count = (uint32_t)n->inputs.count;
  struct onnx_val *parts = arena_calloc(&b->arena, count + 1, sizeof *parts);
  if (parts == NULL) {
    onnx_fail_memory(b);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    parts[i] = onnx_input(b, n, i);
  }
  uint32_t axis = onnx_axis(b, onnx_int(b, n, "axis", 1), onnx_rank(b, parts[0]));
  onnx_output(b, n, 0, onnx_concat(b, parts, count, axis));
}

void onnx_build_split(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t start = 0;
  struct onnx_val x = onnx_input(b, n, 0), sizes = onnx_optional(b, n, 1);
  uint32_t axis = onnx_axis(b, onnx_int(b, n, "axis", 0), onnx_rank(b, x));
  int64_t size = onnx_dim(b, x, axis), parts = onnx_int(b, n, "num_outputs", (int64_t)n->outputs.count);
  const struct onnx_attribute *listed = onnx_attribute(b, n, "split");
  if (!onnx_check(b, parts > 0 && parts < INT32_MAX, "%lld parts", (long long)parts)
      || !onnx_check(b, sizes.id == 0 || onnx_get(b, sizes)->cells != NULL,
                     "sizes of the parts must be known when the model is read")) {
    return;
  }
  int64_t each = size / parts + (size % parts != 0); /* the last part may be smaller */
  for (size_t i = 0; i < n->outputs.count && !b->is_failed; i++) {
    int64_t count = size - start < each ? size - start : each;
    if (sizes.id != 0 || listed != NULL) {
      size_t given = sizes.id != 0 ? (size_t)onnx_get(b, sizes)->count : listed->ints.count;
      if (!onnx_check(b, i < given, "%zu sizes for %zu parts", given, n->outputs.count)) {
        return;
      }
      count = sizes.id != 0 ? onnx_cell(onnx_get(b, sizes), (int64_t)i).i : listed->ints.items[i];
    }
    if (!onnx_check(b, count >= 0 && count <= size - start, "a part of %lld of the %lld that are left",
                    (long long)count, (long long)(size - start))) {
      return;
    }
    onnx_output(b, n, i, onnx_slice_axis(b, x, axis, start, start + count));
    start += count;
  }
}

/* One axis of a slice, as Python's x[start:end:step]. */
static struct onnx_val slice_axis(struct onnx_builder *b, struct onnx_val x, uint32_t axis, int64_t start, int64_t end,
                                  int64_t step) {
  int64_t size = onnx_dim(b, x, axis), starts[ONNX_RANK_MAX] = {0}, limits[ONNX_RANK_MAX], strides[ONNX_RANK_MAX];
  if (!onnx_check(b, step != 0, "a step of 0")) {
    return (struct onnx_val){0};
  }
  start = start < 0 ? start + size : start;
  end = end < 0 ? end + size : end;
  if (step < 0) {
    start = start < 0 ? -1 : start >= size ? size - 1 : start;
    end = end < -1 ? -1 : end >= size ? size - 1 : end;
    x = onnx_reverse(b, x, axis);
    start = size - 1 - start;
    end = size - 1 - end;
    step = step == INT64_MIN ? INT64_MAX : -step;
  } else {
    start = start < 0 ? 0 : start > size ? size : start;
    end = end < 0 ? 0 : end > size ? size : end;
  }
  for (uint32_t i = 0; i < onnx_dims(b, x, limits); i++) {
    strides[i] = 1;
  }
  starts[axis] = start;
  limits[axis] = end < start ? start : end;
  strides[axis] = step;
  return onnx_slice(b, x, starts, limits, strides);
}

void onnx_build_slice(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t starts[ONNX_INTS_MAX], ends[ONNX_INTS_MAX], axes[ONNX_INTS_MAX], steps[ONNX_INTS_MAX];
  uint32_t count, end_count, axis_count, step_count;
  struct onnx_val x = onnx_input(b, n, 0);
  bool ok = onnx_ints_of(b, n, 1, "starts", starts, &count) && onnx_ints_of(b, n, 2, "ends", ends, &end_count);
  bool has_axes = onnx_ints_of(b, n, 3, "axes", axes, &axis_count);
  bool has_steps = onnx_ints_of(b, n, 4, "steps", steps, &step_count);
  if (!onnx_check(b,
                  ok && end_count == count && (!has_axes || axis_count == count) && (!has_steps || step_count == count),
                  "starts, ends, axes and steps must be of one length")) {
    return;
  }
  for (uint32_t i = 0; i < count && !b->is_failed; i++) {
    uint32_t axis = onnx_axis(b, has_axes ? axes[i] : i, onnx_rank(b, x));
    if (!b->is_failed) {
      x = slice_axis(b, x, axis, starts[i], ends[i], has_steps ? steps[i] : 1);
    }
  }
  onnx_output(b, n, 0, x);
}

/* ---- padding ---- */

/* `count` elements beside the input along an axis, on the low or the high side. `mode`: 'r'eflect, 'e'dge, 'w'rap. */
static struct onnx_val border(struct onnx_builder *b, struct onnx_val x, uint32_t axis, int64_t count, bool is_low,
                              char mode) {
  int64_t size = onnx_dim(b, x, axis), dims[ONNX_RANK_MAX];
  if (mode == 'e') {
    struct onnx_val edge = onnx_slice_axis(b, x, axis, is_low ? 0 : size - 1, is_low ? 1 : size);
    uint32_t rank = onnx_dims(b, edge, dims);
    dims[axis] = count;
    return onnx_broadcast(b, edge, dims, rank);
  }
  if (!onnx_check(b, count <= size - (mode == 'r'), "padding of %lld elements from an input of %lld", (long long)count,
                  (long long)size)) {
    return x;
  }
  if (mode == 'w') {
    return onnx_slice_axis(b, x, axis, is_low ? size - count : 0, is_low ? size : count);
  }
  struct onnx_val part = onnx_slice_axis(b, x, axis, is_low ? 1 : size - 1 - count, is_low ? count + 1 : size - 1);
  return onnx_reverse(b, part, axis);
}

static struct onnx_val pad_with_input(struct onnx_builder *b, struct onnx_val x, const int64_t *low,
                                      const int64_t *high, char mode) {
  for (uint32_t i = 0; i < onnx_rank(b, x) && !b->is_failed; i++) {
    int64_t cut_low = low[i] < 0 ? -low[i] : 0, cut_high = high[i] < 0 ? -high[i] : 0, size = onnx_dim(b, x, i);
    if (!onnx_check(b, cut_low <= size && cut_high <= size - cut_low, "padding cuts off more than there is")) {
      return x;
    }
    x = onnx_slice_axis(b, x, i, cut_low, size - cut_high);
    struct onnx_val parts[3];
    uint32_t count = 0;
    if (low[i] > 0) {
      parts[count++] = border(b, x, i, low[i], true, mode);
    }
    parts[count++] = x;
    if (high[i] > 0) {
      parts[count++] = border(b, x, i, high[i], false, mode);
    }
    x = onnx_concat(b, parts, count, i);
  }
  return x;
}

/* Low and high padding of each dimension, from pads = [low of all axes, high of all axes]. */
static bool read_pads(struct onnx_builder *b, const struct onnx_node *n, uint32_t rank, int64_t *low, int64_t *high) {
  int64_t pads[ONNX_INTS_MAX], axes[ONNX_INTS_MAX];
  uint32_t count, axis_count;
  bool marked[ONNX_RANK_MAX] = {false};
  if (!onnx_ints_of(b, n, 1, "pads", pads, &count)) {
    return onnx_check(b, false, "'pads' are missing");
  }
  bool has_axes = onnx_ints_of(b, n, 3, "", axes, &axis_count);
  axis_count = has_axes ? axis_count : rank;
  if (b->is_failed || !onnx_check(b, count == 2 * axis_count, "%u pads for %u dimensions", count, axis_count)
      || (has_axes && !mark_axes(b, axes, axis_count, rank, marked))) {
    return false;
  }
  for (uint32_t i = 0; i < axis_count; i++) {
    uint32_t axis = has_axes ? onnx_axis(b, axes[i], rank) : i;
    low[axis] = pads[i];
    high[axis] = pads[axis_count + i];
    if (!onnx_check(b, low[axis] > -INT64_MAX && high[axis] > -INT64_MAX, "pads are out of range")) {
      return false;
    }
  }
  return true;
}

void onnx_build_pad(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t low[ONNX_RANK_MAX] = {0}, high[ONNX_RANK_MAX] = {0}, interior[ONNX_RANK_MAX] = {0};
  struct onnx_val x = onnx_input(b, n, 0), value = onnx_optional(b, n, 2);
  if (!read_pads(b, n, onnx_rank(b, x), low, high)) {
    return;
  }
  if (onnx_string_is(b, n, "mode", "constant", "constant")) {
    value = value.id != 0 ? value : onnx_const_float(b, onnx_dtype(b, x), onnx_float(b, n, "value", 0));
    onnx_output(b, n, 0, onnx_pad(b, x, value, low, high, interior));
    return;
  }
  char mode = onnx_string_is(b, n, "mode", "reflect", "") ? 'r'
              : onnx_string_is(b, n, "mode", "edge", "")  ? 'e'
              : onnx_string_is(b, n, "mode", "wrap", "")  ? 'w'
                                                          : 0;
  if (onnx_check(b, mode != 0, "unknown mode of padding")) {
    onnx_output(b, n, 0, pad_with_input(b, x, low, high, mode));
  }
}

/* ---- what shapes say ---- */

void onnx_build_shape(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t dims[ONNX_RANK_MAX];
  struct onnx_val x = onnx_input(b, n, 0);
  int64_t rank = onnx_dims(b, x, dims), start = onnx_int(b, n, "start", 0), end = onnx_int(b, n, "end", rank);
  start = start < 0 ? start + rank : start;
  end = end < 0 ? end + rank : end;
  start = start < 0 ? 0 : start > rank ? rank : start;
  end = end < start ? start : end > rank ? rank : end;
  onnx_output(b, n, 0, onnx_const_i64s(b, dims + start, (uint32_t)(end - start)));
}

void onnx_build_size(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0);
  onnx_output(b, n, 0, onnx_const_int(b, DTYPE_I64, onnx_get(b, x)->count));
}

/* ---- new tensors ---- */

void onnx_build_constant(struct onnx_builder *b, const struct onnx_node *n) {
  const struct onnx_attribute *a;
  if ((a = onnx_attribute(b, n, "value")) != NULL && a->t != NULL) {
    onnx_output(b, n, 0, onnx_tensor_value(b, a->t));
  } else if ((a = onnx_attribute(b, n, "value_int")) != NULL) {
    onnx_output(b, n, 0, onnx_const_int(b, DTYPE_I64, a->i));
  } else if ((a = onnx_attribute(b, n, "value_float")) != NULL) {
    onnx_output(b, n, 0, onnx_const_float(b, DTYPE_F32, (double)a->f));
  } else if ((a = onnx_attribute(b, n, "value_ints")) != NULL && a->ints.count < UINT32_MAX) {
    onnx_output(b, n, 0, onnx_const_i64s(b, a->ints.items, (uint32_t)a->ints.count));
  } else if ((a = onnx_attribute(b, n, "value_floats")) != NULL) {
    struct onnx_val v = onnx_new_value(b, DTYPE_F32, (int64_t[]){(int64_t)a->floats.count}, 1);
    union onnx_cell *cells = v.id != 0 ? onnx_new_cells(b, v, false) : NULL;
    for (size_t i = 0; cells != NULL && i < a->floats.count; i++) {
      cells[i].f = (double)a->floats.items[i];
    }
    onnx_output(b, n, 0, v);
  } else {
    onnx_fail(b, DIAG_E0206_ATTRIBUTE_VALUE, "the constant has no value of a known kind");
  }
}

void onnx_build_constant_of_shape(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t dims[ONNX_INTS_MAX];
  uint32_t rank;
  if (!onnx_ints_of(b, n, 0, "shape", dims, &rank)) {
    (void)onnx_input(b, n, 0);
    return;
  }
  const struct onnx_attribute *a = onnx_attribute(b, n, "value");
  struct onnx_val value = a != NULL && a->t != NULL ? onnx_tensor_value(b, a->t) : onnx_const_float(b, DTYPE_F32, 0);
  if (onnx_check(b, onnx_get(b, value)->count == 1, "'value' must have one element")) {
    onnx_output(b, n, 0, onnx_broadcast(b, onnx_reshape(b, value, NULL, 0), dims, rank));
  }
}

void onnx_build_range(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val start = onnx_input(b, n, 0), limit = onnx_input(b, n, 1), delta = onnx_input(b, n, 2);
  enum dtype dtype = onnx_dtype(b, start);
  const struct onnx_value *s = onnx_get(b, start), *l = onnx_get(b, limit), *d = onnx_get(b, delta);
  if (!onnx_check(b,
                  s->cells != NULL && l->cells != NULL && d->cells != NULL && s->count == 1 && l->count == 1
                      && d->count == 1 && l->dtype == dtype && d->dtype == dtype,
                  "start, limit and step must be known when the model is read: they may follow from shapes and "
                  "constants only")) {
    return;
  }
  double from = onnx_cell_convert(s->cells[0], dtype, DTYPE_F64).f,
         to = onnx_cell_convert(l->cells[0], dtype, DTYPE_F64).f;
  double step = onnx_cell_convert(d->cells[0], dtype, DTYPE_F64).f, count = ceil((to - from) / step);
  if (!onnx_check(b, step != 0 && count < 0x1p53, "a range without end")) {
    return;
  }
  struct onnx_val v = onnx_iota(b, dtype, (int64_t[]){count > 0 ? (int64_t)count : 0}, 1, 0);
  v = step == 1 ? v : onnx_mul(b, v, onnx_reshape(b, delta, NULL, 0));
  onnx_output(b, n, 0, from == 0 ? v : onnx_add(b, v, onnx_reshape(b, start, NULL, 0)));
}

/* 1 where column - row is at least (`is_upper`) or at most k, over the last two dimensions. */
static struct onnx_val triangle(struct onnx_builder *b, struct onnx_val x, int64_t k, enum onnx_compare direction) {
  uint32_t rank = onnx_rank(b, x);
  int64_t dims[2] = {onnx_dim(b, x, rank - 2), onnx_dim(b, x, rank - 1)};
  struct onnx_val row = onnx_iota(b, DTYPE_I64, dims, 2, 0), column = onnx_iota(b, DTYPE_I64, dims, 2, 1);
  return onnx_compare(b, direction, onnx_sub(b, column, row), onnx_const_int(b, DTYPE_I64, k));
}

void onnx_build_trilu(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), offset = onnx_optional(b, n, 1);
  int64_t k = 0;
  if (!onnx_check(b, offset.id == 0 || onnx_known_int(b, offset, &k), "'k' must be known when the model is read")
      || !onnx_check(b, onnx_rank(b, x) >= 2, "the input must have two dimensions or more")) {
    return;
  }
  bool is_upper = onnx_int(b, n, "upper", 1) != 0;
  struct onnx_val kept = triangle(b, x, k, is_upper ? ONNX_GE : ONNX_LE);
  onnx_output(b, n, 0, onnx_select(b, kept, x, onnx_const_float(b, onnx_dtype(b, x), 0)));
}

void onnx_build_eye_like(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0);
  bool has_type = onnx_attribute(b, n, "dtype") != NULL;
  enum dtype dtype = has_type ? onnx_dtype_of(b, onnx_int(b, n, "dtype", 0)) : onnx_dtype(b, x);
  if (onnx_check(b, onnx_rank(b, x) == 2, "the input must be a matrix")) {
    onnx_output(b, n, 0, onnx_convert(b, triangle(b, x, onnx_int(b, n, "k", 0), ONNX_EQ), dtype));
  }
}

/* ---- channels and space ---- */

void onnx_build_depth_to_space(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0);
  int64_t size = onnx_int(b, n, "blocksize", 1);
  if (!onnx_check(b,
                  onnx_rank(b, x) == 4 && size > 0 && size < 65536 && onnx_dim(b, x, 1) % (size * size) == 0
                      && onnx_get(b, x)->count > 0,
                  "the input must be [N, C, H, W] with C a multiple of the block's size")) {
    return;
  }
  bool is_crd = onnx_string_is(b, n, "mode", "CRD", "DCR");
  int64_t batch = onnx_dim(b, x, 0), depth = onnx_dim(b, x, 1) / (size * size), h = onnx_dim(b, x, 2),
          w = onnx_dim(b, x, 3);
  const int64_t dcr[] = {batch, size, size, depth, h, w}, crd[] = {batch, depth, size, size, h, w};
  const int64_t from_dcr[] = {0, 3, 4, 1, 5, 2}, from_crd[] = {0, 1, 4, 2, 5, 3};
  x = onnx_transpose(b, onnx_reshape(b, x, is_crd ? crd : dcr, 6), is_crd ? from_crd : from_dcr);
  onnx_output(b, n, 0, onnx_reshape(b, x, (int64_t[]){batch, depth, h * size, w * size}, 4));
}

void onnx_build_space_to_depth(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0);
  int64_t size = onnx_int(b, n, "blocksize", 1);
  if (!onnx_check(b,
                  onnx_rank(b, x) == 4 && size > 0 && size < 65536 && onnx_dim(b, x, 2) % size == 0
                      && onnx_dim(b, x, 3) % size == 0 && onnx_get(b, x)->count > 0,
                  "the input must be [N, C, H, W] with H and W multiples of the block's size")) {
    return;
  }
  int64_t batch = onnx_dim(b, x, 0), depth = onnx_dim(b, x, 1), h = onnx_dim(b, x, 2) / size,
          w = onnx_dim(b, x, 3) / size;
  x = onnx_reshape(b, x, (int64_t[]){batch, depth, h, size, w, size}, 6);
  x = onnx_transpose(b, x, (int64_t[]){0, 3, 5, 1, 2, 4});
  onnx_output(b, n, 0, onnx_reshape(b, x, (int64_t[]){batch, depth * size * size, h, w}, 4));
}
