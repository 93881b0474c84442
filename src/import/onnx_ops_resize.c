/* Resize and Upsample of ONNX: one axis after the other, the source positions of each are known. See onnx_build.h. */
#include <math.h>

#include "import/onnx_emit.h"
#include "import/onnx_fold.h"
#include "import/onnx_ops.h"

enum { LENGTH_MAX = 1 << 20 };

enum coordinates { HALF_PIXEL, PYTORCH_HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC, HALF_PIXEL_SYMMETRIC };

struct resize {
  enum coordinates coordinates;
  bool is_linear;
  char nearest; /* 'f'loor, 'c'eil, 'd'own at a half (round_prefer_floor), 'u'p at a half */
};

/* Position in the source of element `to`. */
static double source_position(const struct resize *r, double to, double scale, double in, double out) {
  switch (r->coordinates) {
  case HALF_PIXEL:
    return (to + 0.5) / scale - 0.5;
  case PYTORCH_HALF_PIXEL:
    return out > 1 ? (to + 0.5) / scale - 0.5 : 0;
  case ALIGN_CORNERS:
    return out > 1 ? to * (in - 1) / (out - 1) : 0;
  case HALF_PIXEL_SYMMETRIC: {
    double adjustment = out / (scale * in), center = in / 2;
    return center * (1 - adjustment) + (to + 0.5) / scale - 0.5;
  }
  case ASYMMETRIC:
    break;
  }
  return to / scale;
}

static int64_t nearest_index(const struct resize *r, double x) {
  double v = r->nearest == 'f'   ? floor(x)
             : r->nearest == 'c' ? ceil(x)
             : r->nearest == 'd' ? ceil(x - 0.5)
                                 : floor(x + 0.5);
  return (int64_t)v;
}

static int64_t clamped(int64_t i, int64_t size) {
  return i < 0 ? 0 : i >= size ? size - 1 : i;
}

/* A whole number of copies of each element: a broadcast. */
static struct onnx_val repeat(struct onnx_builder *b, struct onnx_val x, uint32_t axis, int64_t times) {
  int64_t split[ONNX_RANK_MAX + 1], dims[ONNX_RANK_MAX], axes[ONNX_RANK_MAX];
  uint32_t rank = onnx_dims(b, x, dims);
  for (uint32_t i = 0, k = 0; i < rank; i++) {
    axes[i] = k;
    split[k++] = dims[i];
    if (i == axis) {
      split[k++] = times;
    }
  }
  dims[axis] *= times;
  return onnx_reshape(b, onnx_broadcast_in(b, x, split, rank + 1, axes), dims, rank);
}

static struct onnx_val resize_axis(struct onnx_builder *b, struct onnx_val x, uint32_t axis, int64_t out, double scale,
                                   const struct resize *r) {
  int64_t in = onnx_dim(b, x, axis);
  if (!onnx_check(b, in > 0 && out >= 0 && out <= LENGTH_MAX, "%lld elements are resized to %lld", (long long)in,
                  (long long)out)) {
    return x;
  }
  int64_t *low = arena_calloc(&b->arena, (size_t)out + 1, sizeof *low),
          *high = arena_calloc(&b->arena, (size_t)out + 1, sizeof *high);
  struct onnx_val weight = onnx_new_value(b, onnx_dtype(b, x), &out, 1);
  union onnx_cell *weights = low != NULL && high != NULL && weight.id != 0 ? onnx_new_cells(b, weight, false) : NULL;
  bool is_repeat = out % in == 0 && !r->is_linear;
  for (int64_t i = 0; weights != NULL && i < out; i++) {
    double at = source_position(r, (double)i, scale, (double)in, (double)out);
    double held = at < 0 ? 0 : at > (double)(in - 1) ? (double)(in - 1) : at;
    low[i] = r->is_linear ? (int64_t)floor(held) : clamped(nearest_index(r, at), in);
    high[i] = clamped(low[i] + 1, in);
    weights[i] = onnx_cell_convert((union onnx_cell){.f = held - (double)low[i]}, DTYPE_F64, onnx_dtype(b, x));
    is_repeat = is_repeat && low[i] == i / (out / in);
  }
  if (weights == NULL) {
    onnx_fail_memory(b);
    return x;
  }
  if (is_repeat) {
    return repeat(b, x, axis, out / in);
  }
  struct onnx_val first = onnx_take(b, x, onnx_const_i64s(b, low, (uint32_t)out), axis);
  if (!r->is_linear) {
    return first;
  }
  struct onnx_val second = onnx_take(b, x, onnx_const_i64s(b, high, (uint32_t)out), axis);
  struct onnx_val along = onnx_along(b, weight, axis, onnx_rank(b, x));
  return onnx_add(b, first, onnx_mul(b, onnx_sub(b, second, first), along));
}

static bool read_modes(struct onnx_builder *b, const struct onnx_node *n, bool is_upsample, struct resize *r) {
  static const char *const coordinates[] = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                                            "half_pixel_symmetric"};
  static const struct {
    const char *name;
    char mode;
  } nearest[] = {{"floor", 'f'}, {"ceil", 'c'}, {"round_prefer_floor", 'd'}, {"round_prefer_ceil", 'u'}};
  int found = -1;
  for (int i = 0; i < 5; i++) {
    found = onnx_string_is(b, n, "coordinate_transformation_mode", coordinates[i],
                           is_upsample ? "asymmetric" : "half_pixel")
                ? i
                : found;
  }
  for (int i = 0; i < 4; i++) {
    bool is_it = onnx_string_is(b, n, "nearest_mode", nearest[i].name, is_upsample ? "floor" : "round_prefer_floor");
    r->nearest = is_it ? nearest[i].mode : r->nearest;
  }
  r->coordinates = (enum coordinates)(found < 0 ? 0 : found);
  r->is_linear =
      onnx_string_is(b, n, "mode", "linear", "nearest") || onnx_string_is(b, n, "mode", "bilinear", "nearest");
  bool is_nearest = onnx_string_is(b, n, "mode", "nearest", "nearest");
  return onnx_check(b, found >= 0 && r->nearest != 0 && (r->is_linear || is_nearest),
                    "only the modes nearest and linear are read, without cropping")
         && onnx_check(b,
                       onnx_int(b, n, "antialias", 0) == 0
                           && onnx_string_is(b, n, "keep_aspect_ratio_policy", "stretch", "stretch"),
                       "antialias and aspect ratios are not read");
}

static void resize_all(struct onnx_builder *b, const struct onnx_node *n, struct onnx_val scales, struct onnx_val sizes,
                       bool is_upsample) {
  struct resize r = {.nearest = 0};
  int64_t axes[ONNX_INTS_MAX];
  struct onnx_val x = onnx_input(b, n, 0), given = sizes.id != 0 ? sizes : scales;
  uint32_t count = onnx_ints(b, n, "axes", axes), rank = onnx_rank(b, x), named = count == 0 ? rank : count;
  if (!read_modes(b, n, is_upsample, &r)
      || !onnx_check(b,
                     given.id != 0 && onnx_get(b, given)->cells != NULL && onnx_get(b, given)->count == named
                         && onnx_is_float(onnx_dtype(b, given)) == (sizes.id == 0),
                     "scales or sizes must be known when the model is read, one per dimension")
      || !onnx_check(b, rank < ONNX_RANK_MAX && (!r.is_linear || onnx_is_float(onnx_dtype(b, x))),
                     "linear interpolation of integers is not read")) {
    return;
  }
  for (uint32_t i = 0; i < named && !b->is_failed; i++) {
    uint32_t axis = onnx_axis(b, count == 0 ? i : axes[i], rank);
    union onnx_cell cell = onnx_cell(onnx_get(b, given), i);
    double in = (double)onnx_dim(b, x, axis), scale = sizes.id != 0 ? (double)cell.i / in : cell.f;
    double out = sizes.id != 0 ? (double)cell.i : floor(in * scale);
    if (onnx_check(b, scale > 0 && out >= 0 && out <= 0x1p40, "a scale of %g", scale) && (out != in || scale != 1)) {
      x = resize_axis(b, x, axis, (int64_t)out, scale, &r);
    }
  }
  onnx_output(b, n, 0, x);
}

/* An optional input that has elements: exporters pass empty tensors for what they leave out. */
static struct onnx_val nonempty(struct onnx_builder *b, const struct onnx_node *n, size_t i) {
  struct onnx_val v = onnx_optional(b, n, i);
  return v.id != 0 && onnx_get(b, v)->count > 0 ? v : (struct onnx_val){0};
}

void onnx_build_resize(struct onnx_builder *b, const struct onnx_node *n) {
  resize_all(b, n, nonempty(b, n, 2), nonempty(b, n, 3), false);
}

void onnx_build_upsample(struct onnx_builder *b, const struct onnx_node *n) {
  resize_all(b, n, nonempty(b, n, 1), (struct onnx_val){0}, true);
}
