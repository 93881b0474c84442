/* Convolutions and pooling of ONNX. See onnx_build.h; meanings: onnx/docs/Operators.md. */
#include "base/checked.h"
#include "import/onnx_window.h"

#include "import/onnx_fold.h"
#include "import/onnx_ops.h"

enum { SIZE_MAX_SANE = 1 << 30 }; /* of kernels, strides, dilations and pads: products of two fit */

/* An attribute with a number per spatial dimension, `otherwise` when it is absent. */
static bool read_list(struct onnx_builder *b, const struct onnx_node *n, const char *name, uint32_t rank,
                      int64_t otherwise, int64_t *values) {
  int64_t read[ONNX_INTS_MAX];
  uint32_t count = onnx_ints(b, n, name, read);
  if (!onnx_check(b, count == 0 || count == rank, "'%s' has %u numbers for %u spatial dimensions", name, count, rank)) {
    return false;
  }
  for (uint32_t i = 0; i < rank; i++) {
    values[i] = count == 0 ? otherwise : read[i];
    if (!onnx_check(b, values[i] >= 0 && values[i] <= SIZE_MAX_SANE, "'%s' has the number %lld", name,
                    (long long)values[i])) {
      return false;
    }
  }
  return true;
}

static int64_t reach_of(const struct onnx_window *w, uint32_t i) {
  return (w->size[i] - 1) * w->dilation[i] + 1;
}

/* Padding that makes ceil(size / stride) windows; the odd element goes to the high side with SAME_UPPER. */
static void pad_same(const struct onnx_builder *b, struct onnx_val x, struct onnx_window *w, bool is_upper) {
  for (uint32_t i = 0; i < w->rank; i++) {
    int64_t size = onnx_dim(b, x, i + 2), windows = size / w->stride[i] + (size % w->stride[i] != 0);
    int64_t total = (windows - 1) * w->stride[i] + reach_of(w, i) - size;
    total = total < 0 ? 0 : total;
    w->low[i] = is_upper ? total / 2 : total - total / 2;
    w->high[i] = total - w->low[i];
  }
}

bool onnx_read_window(struct onnx_builder *b, const struct onnx_node *n, struct onnx_val x, const int64_t *kernel,
                      struct onnx_window *w) {
  int64_t pads[ONNX_INTS_MAX];
  *w = (struct onnx_window){.rank = onnx_rank(b, x) - 2};
  if (!onnx_check(b, onnx_rank(b, x) > 2, "the input has no spatial dimensions")
      || !read_list(b, n, "strides", w->rank, 1, w->stride) || !read_list(b, n, "dilations", w->rank, 1, w->dilation)
      || !read_list(b, n, "kernel_shape", w->rank, 0, w->size)) {
    return false;
  }
  for (uint32_t i = 0; i < w->rank; i++) {
    w->base_dilation[i] = 1;
    w->size[i] = kernel != NULL ? kernel[i] : w->size[i];
    if (!onnx_check(b,
                    w->size[i] > 0 && w->size[i] <= SIZE_MAX_SANE && w->stride[i] > 0 && w->dilation[i] > 0
                        && onnx_dim(b, x, i + 2) < INT64_MAX / 4,
                    "size, stride and dilation of a window must be positive")) {
      return false;
    }
  }
  uint32_t count = onnx_ints(b, n, "pads", pads);
  if (!onnx_check(b, count == 0 || count == 2 * w->rank, "'pads' has %u numbers for %u spatial dimensions", count,
                  w->rank)) {
    return false;
  }
  for (uint32_t i = 0; i < w->rank && count > 0; i++) {
    w->low[i] = pads[i];
    w->high[i] = pads[w->rank + i];
    if (!onnx_check(b,
                    pads[i] >= -SIZE_MAX_SANE && pads[i] <= SIZE_MAX_SANE && w->high[i] >= -SIZE_MAX_SANE
                        && w->high[i] <= SIZE_MAX_SANE,
                    "pads are out of range")) {
      return false;
    }
  }
  bool is_upper = onnx_string_is(b, n, "auto_pad", "SAME_UPPER", "NOTSET");
  if (is_upper || onnx_string_is(b, n, "auto_pad", "SAME_LOWER", "NOTSET")) {
    pad_same(b, x, w, is_upper);
  } else if (onnx_string_is(b, n, "auto_pad", "VALID", "NOTSET")) {
    for (uint32_t i = 0; i < w->rank; i++) {
      w->low[i] = w->high[i] = 0;
    }
  }
  return !b->is_failed;
}

struct onnx_val onnx_conv(struct onnx_builder *b, const struct onnx_node *n, struct onnx_val x, struct onnx_val kernel,
                          enum dtype result) {
  struct onnx_window w;
  if (!onnx_check(b, onnx_rank(b, kernel) == onnx_rank(b, x) && onnx_rank(b, x) > 2,
                  "input and kernel have %u and %u dimensions", onnx_rank(b, x), onnx_rank(b, kernel))
      || !onnx_read_window(b, n, x, onnx_get(b, kernel)->dims + 2, &w)) {
    return (struct onnx_val){0};
  }
  return onnx_convolution(b, x, kernel, &w, onnx_int(b, n, "group", 1), result);
}

/* A bias of the channels, dimension 1. */
static struct onnx_val add_bias(struct onnx_builder *b, struct onnx_val x, struct onnx_val bias) {
  return bias.id == 0 ? x : onnx_add(b, x, onnx_along(b, bias, 1, onnx_rank(b, x)));
}

void onnx_build_conv(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), kernel = onnx_input(b, n, 1), bias = onnx_optional(b, n, 2);
  onnx_output(b, n, 0, add_bias(b, onnx_conv(b, n, x, kernel, DTYPE_NONE), bias));
}

/* ---- transposed convolution ---- */

/* [C, M / g, ...] → [M, C / g, ...] turned around in space: the kernel of the convolution that does the same. */
static struct onnx_val turned_kernel(struct onnx_builder *b, struct onnx_val kernel, int64_t groups) {
  int64_t dims[ONNX_RANK_MAX + 1], permutation[ONNX_RANK_MAX];
  uint32_t rank = onnx_rank(b, kernel);
  int64_t in = onnx_dim(b, kernel, 0), out = onnx_dim(b, kernel, 1);
  if (!onnx_check(b, rank < ONNX_RANK_MAX && groups > 0 && in % groups == 0, "%lld channels in %lld groups",
                  (long long)in, (long long)groups)) {
    return kernel;
  }
  dims[0] = groups;
  dims[1] = in / groups;
  for (uint32_t i = 1; i < rank; i++) {
    dims[i + 1] = onnx_dim(b, kernel, i);
  }
  for (uint32_t i = 0; i <= rank; i++) {
    permutation[i] = i == 1 ? 2 : i == 2 ? 1 : i;
  }
  struct onnx_val v = onnx_transpose(b, onnx_reshape(b, kernel, dims, rank + 1), permutation);
  int64_t channels;
  if (!onnx_check(b, checked_mul_i64(groups, out, &channels), "too many channels")) {
    return kernel;
  }
  dims[0] = channels;
  dims[1] = in / groups;
  for (uint32_t i = 2; i < rank; i++) {
    dims[i] = onnx_dim(b, kernel, i);
  }
  v = onnx_reshape(b, v, dims, rank);
  for (uint32_t i = 2; i < rank; i++) {
    v = onnx_reverse(b, v, i);
  }
  return v;
}

/* Pads from the size of the result, where that is given. */
static bool pad_for_shape(struct onnx_builder *b, const struct onnx_node *n, struct onnx_val x, const int64_t *extra,
                          struct onnx_window *w) {
  int64_t shape[ONNX_INTS_MAX];
  uint32_t count = onnx_ints(b, n, "output_shape", shape);
  bool is_upper = onnx_string_is(b, n, "auto_pad", "SAME_UPPER", "NOTSET");
  bool is_same = is_upper || onnx_string_is(b, n, "auto_pad", "SAME_LOWER", "NOTSET");
  for (uint32_t i = 0; i < w->rank && (count > 0 || is_same); i++) {
    int64_t size = onnx_dim(b, x, i + 2), natural, wanted;
    bool ok = (count == 0 || count >= w->rank) && checked_mul_i64(w->stride[i], size - 1, &natural)
              && checked_mul_i64(w->stride[i], size, &wanted);
    wanted = ok && count > 0 ? shape[count - w->rank + i] : ok ? wanted : 0;
    int64_t total = ok ? natural + extra[i] + reach_of(w, i) - wanted : 0;
    if (!onnx_check(b, ok && wanted >= 0, "'output_shape' does not fit")) {
      return false;
    }
    total = total < 0 ? 0 : total;
    w->low[i] = is_upper ? total / 2 : total - total / 2;
    w->high[i] = total - w->low[i];
  }
  return true;
}

void onnx_build_conv_transpose(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), kernel = onnx_input(b, n, 1), bias = onnx_optional(b, n, 2);
  struct onnx_window w;
  int64_t extra[ONNX_RANK_MAX];
  if (!onnx_check(b, onnx_rank(b, kernel) == onnx_rank(b, x) && onnx_rank(b, x) > 2,
                  "input and kernel have %u and %u dimensions", onnx_rank(b, x), onnx_rank(b, kernel))
      || !onnx_read_window(b, n, x, onnx_get(b, kernel)->dims + 2, &w)
      || !read_list(b, n, "output_padding", w.rank, 0, extra) || !pad_for_shape(b, n, x, extra, &w)) {
    return;
  }
  int64_t groups = onnx_int(b, n, "group", 1);
  for (uint32_t i = 0; i < w.rank; i++) {
    w.low[i] = reach_of(&w, i) - 1 - w.low[i];
    w.high[i] = reach_of(&w, i) - 1 - w.high[i] + extra[i];
    w.base_dilation[i] = w.stride[i];
    w.stride[i] = 1;
  }
  struct onnx_val turned = turned_kernel(b, kernel, groups);
  onnx_output(b, n, 0, add_bias(b, onnx_convolution(b, x, turned, &w, groups, DTYPE_NONE), bias));
}

/* ---- pooling ---- */

/* With ceil_mode the last window may begin inside but end outside: what it needs beyond the padding. */
static void extend_to_ceiling(const struct onnx_builder *b, struct onnx_val x, const struct onnx_window *w,
                              int64_t *beyond) {
  for (uint32_t i = 0; i < w->rank; i++) {
    int64_t size = onnx_dim(b, x, i + 2), room = size + w->low[i] + w->high[i] - reach_of(w, i);
    if (room < 0) {
      continue;
    }
    int64_t windows = room / w->stride[i] + (room % w->stride[i] != 0) + 1;
    windows -= (windows - 1) * w->stride[i] >= size + w->low[i]; /* it would begin in the padding */
    int64_t needed = (windows - 1) * w->stride[i] + reach_of(w, i) - (size + w->low[i] + w->high[i]);
    beyond[i] = needed > 0 ? needed : 0;
  }
}

/* Elements under each position of the window along one axis: those of the input, or of the padding too. */
static struct onnx_val window_counts(struct onnx_builder *b, enum dtype dtype, const struct onnx_window *w, uint32_t i,
                                     int64_t size, int64_t windows, bool with_padding) {
  struct onnx_val v = onnx_new_value(b, dtype, (int64_t[]){windows}, 1);
  union onnx_cell *cells =
      v.id != 0 && onnx_check(b, windows <= 1 << 20, "too many windows") ? onnx_new_cells(b, v, false) : NULL;
  int64_t first = with_padding ? -w->low[i] : 0, last = size + (with_padding ? w->high[i] : 0);
  for (int64_t o = 0; cells != NULL && o < windows; o++) {
    int64_t start = o * w->stride[i] - w->low[i];
    /* k with first <= start + k d < last, 0 <= k < size of the window */
    int64_t below = start < first ? (first - start + w->dilation[i] - 1) / w->dilation[i] : 0;
    int64_t above = start < last ? (last - start + w->dilation[i] - 1) / w->dilation[i] : 0;
    above = above > w->size[i] ? w->size[i] : above;
    cells[o].f = above > below ? (double)(above - below) : 1;
  }
  return v;
}

static struct onnx_val average(struct onnx_builder *b, struct onnx_val sum, struct onnx_val x,
                               const struct onnx_window *w, const int64_t *beyond, bool with_padding) {
  double all = 1;
  bool is_even = true;
  for (uint32_t i = 0; i < w->rank; i++) {
    all *= (double)w->size[i];
    is_even = is_even && beyond[i] == 0 && (with_padding || (w->low[i] <= 0 && w->high[i] <= 0));
  }
  if (is_even) {
    return onnx_binary_float(b, IR_OP_DIVIDE, sum, all);
  }
  struct onnx_val divisor = onnx_const_float(b, onnx_dtype(b, x), 1);
  for (uint32_t i = 0; i < w->rank && !b->is_failed; i++) {
    struct onnx_val counts =
        window_counts(b, onnx_dtype(b, x), w, i, onnx_dim(b, x, i + 2), onnx_dim(b, sum, i + 2), with_padding);
    divisor = onnx_mul(b, divisor, onnx_along(b, counts, i, w->rank));
  }
  return onnx_div(b, sum, divisor);
}

void onnx_build_pool(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0);
  enum onnx_pool kind = (enum onnx_pool)b->row->argument;
  struct onnx_window w;
  int64_t beyond[ONNX_RANK_MAX] = {0};
  if (!onnx_check(b, !onnx_has_output(n, 1), "indices of the maxima are not read")
      || !onnx_read_window(b, n, x, NULL, &w)) {
    return;
  }
  if (onnx_int(b, n, "ceil_mode", 0) != 0) {
    extend_to_ceiling(b, x, &w, beyond);
  }
  struct onnx_window extended = w;
  for (uint32_t i = 0; i < w.rank; i++) {
    extended.high[i] += beyond[i];
  }
  enum dtype dtype = onnx_dtype(b, x);
  double p = (double)onnx_int(b, n, "p", 2);
  struct onnx_val zero = onnx_const_float(b, dtype, 0), v;
  switch (kind) {
  case ONNX_POOL_MAX:
    v = onnx_reduce_window(b, IR_OP_MAXIMUM, x, onnx_limit(b, dtype, false), &extended);
    break;
  case ONNX_POOL_AVERAGE:
    v = onnx_reduce_window(b, IR_OP_ADD, x, zero, &extended);
    v = average(b, v, x, &w, beyond, onnx_int(b, n, "count_include_pad", 0) != 0);
    break;
  default: /* (sum of |x|^p)^(1/p) */
    v = onnx_binary_float(b, IR_OP_POWER, onnx_unary(b, IR_OP_ABS, x), p);
    v = onnx_reduce_window(b, IR_OP_ADD, v, zero, &extended);
    v = onnx_binary_float(b, IR_OP_POWER, v, 1 / p);
    break;
  }
  onnx_output(b, n, 0, v);
}

void onnx_build_global_pool(struct onnx_builder *b, const struct onnx_node *n) {
  bool axes[ONNX_RANK_MAX] = {false};
  struct onnx_val x = onnx_input(b, n, 0);
  double count = 1;
  for (uint32_t i = 2; i < onnx_rank(b, x); i++) {
    axes[i] = true;
    count *= (double)onnx_dim(b, x, i);
  }
  if ((enum onnx_pool)b->row->argument == ONNX_POOL_MAX) {
    onnx_output(b, n, 0, onnx_reduce(b, IR_OP_MAXIMUM, x, axes, true));
  } else {
    struct onnx_val sum = onnx_reduce(b, IR_OP_ADD, x, axes, true);
    onnx_output(b, n, 0, count == 1 ? sum : onnx_binary_float(b, IR_OP_DIVIDE, sum, count));
  }
}
