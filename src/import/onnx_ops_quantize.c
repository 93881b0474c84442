/* Quantisation in ONNX: numbers with a scale and a zero point as arithmetic on integers and floats. See onnx_build.h;
 * meanings: onnx/docs/Operators.md. */
#include "base/minifloat.h"
#include "import/onnx_emit.h"
#include "import/onnx_fold.h"
#include "import/onnx_ops.h"
#include "import/onnx_window.h"

/* Scale or zero point in a shape that broadcasts to x: a scalar, a vector along `axis`, or blocks of `block` along it. */
static struct onnx_val parameter(struct onnx_builder *b, const struct onnx_node *n, struct onnx_val x,
                                 struct onnx_val p) {
  int64_t block = onnx_int(b, n, "block_size", 0), dims[ONNX_RANK_MAX], split[ONNX_RANK_MAX + 1], axes[ONNX_RANK_MAX];
  if (b->is_failed || onnx_get(b, p)->count == 1) {
    return onnx_reshape(b, p, NULL, 0);
  }
  uint32_t rank = onnx_rank(b, x), axis = onnx_axis(b, onnx_int(b, n, "axis", 1), rank);
  if (block == 0) {
    return onnx_along(b, p, axis, rank);
  }
  bool fits = onnx_rank(b, p) == rank && rank < ONNX_RANK_MAX && block > 0;
  if (!onnx_check(b, fits && (double)onnx_dim(b, p, axis) * (double)block < 0x1p60, "scales do not fit blocks of %lld",
                  (long long)block)) {
    return p;
  }
  for (uint32_t i = 0, k = 0; i < rank; i++) {
    axes[i] = k;
    split[k++] = onnx_dim(b, p, i);
    dims[i] = onnx_dim(b, p, i);
    if (i == axis) {
      split[k++] = block;
      dims[i] *= block;
    }
  }
  struct onnx_val wide = onnx_reshape(b, onnx_broadcast_in(b, p, split, rank + 1, axes), dims, rank);
  return onnx_slice_axis(b, wide, axis, 0, onnx_dim(b, x, axis)); /* the last block may be cut */
}

/* round(x / scale) + zero point, kept in the range of `to`. */
static struct onnx_val quantize(struct onnx_builder *b, struct onnx_val x, struct onnx_val scale, struct onnx_val zero,
                                enum dtype to) {
  enum dtype dtype = onnx_dtype(b, x);
  struct onnx_val v = onnx_div(b, x, onnx_convert(b, scale, dtype));
  if (onnx_is_float(to)) {
    double greatest = to == DTYPE_F8E4M3FN ? 448 : to == DTYPE_F8E4M3FNUZ ? 240 : to == DTYPE_F4E2M1FN ? 6 : 57344;
    v = onnx_clamp(b, onnx_const_float(b, dtype, -greatest), v, onnx_const_float(b, dtype, greatest));
    return onnx_convert(b, v, to);
  }
  v = onnx_unary(b, IR_OP_ROUND_NEAREST_EVEN, v);
  v = zero.id != 0 ? onnx_add(b, v, onnx_convert(b, zero, dtype)) : v;
  v = onnx_clamp(b, onnx_convert(b, onnx_limit(b, to, false), dtype), v,
                 onnx_convert(b, onnx_limit(b, to, true), dtype));
  return onnx_convert(b, v, to);
}

void onnx_build_quantize_linear(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), scale = onnx_input(b, n, 1), zero = onnx_optional(b, n, 2);
  int64_t stated = onnx_int(b, n, "output_dtype", 0);
  enum dtype to = zero.id != 0 ? onnx_dtype(b, zero) : stated != 0 ? onnx_dtype_of(b, stated) : DTYPE_UI8;
  if (b->is_failed) {
    return;
  }
  x = onnx_is_float(onnx_dtype(b, x)) ? x : onnx_convert(b, x, onnx_dtype(b, scale));
  zero = zero.id != 0 ? parameter(b, n, x, zero) : zero;
  onnx_output(b, n, 0, quantize(b, x, parameter(b, n, x, scale), zero, to));
}

void onnx_build_dequantize_linear(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), scale = onnx_input(b, n, 1), zero = onnx_optional(b, n, 2);
  enum dtype dtype = onnx_dtype(b, scale);
  struct onnx_val v = onnx_convert(b, x, dtype);
  if (zero.id != 0) {
    v = onnx_sub(b, v, onnx_convert(b, parameter(b, n, x, zero), dtype));
  }
  onnx_output(b, n, 0, onnx_mul(b, v, parameter(b, n, x, scale)));
}

/* The range of x with 0 in it becomes 0 … 255. */
void onnx_build_dynamic_quantize_linear(struct onnx_builder *b, const struct onnx_node *n) {
  bool axes[ONNX_RANK_MAX];
  struct onnx_val x = onnx_input(b, n, 0);
  for (uint32_t i = 0; i < ONNX_RANK_MAX; i++) {
    axes[i] = true;
  }
  enum dtype dtype = onnx_dtype(b, x);
  struct onnx_val zero = onnx_const_float(b, dtype, 0);
  struct onnx_val high = onnx_binary(b, IR_OP_MAXIMUM, onnx_reduce(b, IR_OP_MAXIMUM, x, axes, false), zero);
  struct onnx_val low = onnx_binary(b, IR_OP_MINIMUM, onnx_reduce(b, IR_OP_MINIMUM, x, axes, false), zero);
  struct onnx_val scale = onnx_binary_float(b, IR_OP_DIVIDE, onnx_sub(b, high, low), 255);
  struct onnx_val point = onnx_unary(b, IR_OP_NEGATE, onnx_div(b, low, scale));
  point = onnx_unary(b, IR_OP_ROUND_NEAREST_EVEN, onnx_clamp(b, zero, point, onnx_const_float(b, dtype, 255)));
  point = onnx_convert(b, point, DTYPE_UI8);
  onnx_output(b, n, 0, quantize(b, x, scale, point, DTYPE_UI8));
  onnx_output(b, n, 1, scale);
  onnx_output(b, n, 2, point);
}

/* x - zero point in i32; x itself when the zero point is 0, so that the product stays one of bytes. `axis`: of a vector. */
static struct onnx_val shifted(struct onnx_builder *b, struct onnx_val x, struct onnx_val zero, uint32_t axis,
                               bool widen) {
  bool is_zero = zero.id == 0;
  const struct onnx_value *v = onnx_get(b, zero);
  if (zero.id != 0 && v->cells != NULL && v->count <= ONNX_FOLD_MAX) {
    is_zero = true;
    for (int64_t i = 0; i < v->count; i++) {
      is_zero = is_zero && onnx_cell(v, i).i == 0;
    }
  }
  if (is_zero) {
    return widen ? onnx_convert(b, x, DTYPE_I32) : x;
  }
  zero = onnx_get(b, zero)->count == 1 ? onnx_reshape(b, zero, NULL, 0) : onnx_along(b, zero, axis, onnx_rank(b, x));
  return onnx_sub(b, onnx_convert(b, x, DTYPE_I32), onnx_convert(b, zero, DTYPE_I32));
}

/* Both factors less their zero points, of one type. */
static void shift_both(struct onnx_builder *b, struct onnx_val *x, struct onnx_val zero_x, uint32_t axis_x,
                       struct onnx_val *y, struct onnx_val zero_y, uint32_t axis_y) {
  struct onnx_val p = shifted(b, *x, zero_x, axis_x, false), q = shifted(b, *y, zero_y, axis_y, false);
  bool differ = onnx_dtype(b, p) != onnx_dtype(b, q);
  *x = differ ? onnx_convert(b, p, DTYPE_I32) : p;
  *y = differ ? onnx_convert(b, q, DTYPE_I32) : q;
}

static uint32_t from_end(const struct onnx_builder *b, struct onnx_val x, uint32_t back) {
  return onnx_rank(b, x) >= back ? onnx_rank(b, x) - back : 0;
}

void onnx_build_matmul_integer(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), y = onnx_input(b, n, 1);
  shift_both(b, &x, onnx_optional(b, n, 2), from_end(b, x, 2), &y, onnx_optional(b, n, 3), from_end(b, y, 1));
  onnx_output(b, n, 0, onnx_matmul(b, x, y, DTYPE_I32));
}

void onnx_build_conv_integer(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), y = onnx_input(b, n, 1);
  shift_both(b, &x, onnx_optional(b, n, 2), 1, &y, onnx_optional(b, n, 3), 0);
  onnx_output(b, n, 0, onnx_conv(b, n, x, y, DTYPE_I32));
}

/* The sum in i32 → scale_x scale_y / scale, rounded, shifted, in range. */
static struct onnx_val requantize(struct onnx_builder *b, struct onnx_val sum, struct onnx_val factor,
                                  struct onnx_val scale, struct onnx_val zero) {
  enum dtype dtype = onnx_dtype(b, scale);
  struct onnx_val v = onnx_mul(b, onnx_convert(b, sum, dtype), onnx_div(b, factor, onnx_reshape(b, scale, NULL, 0)));
  return quantize(b, v, onnx_const_float(b, dtype, 1), onnx_reshape(b, zero, NULL, 0), onnx_dtype(b, zero));
}

/* a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero */
void onnx_build_qlinear_matmul(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), y = onnx_input(b, n, 3), scale_x = onnx_input(b, n, 1),
                  scale_y = onnx_input(b, n, 4);
  if (!onnx_check(b, onnx_get(b, scale_x)->count == 1, "scales of the rows are not read")) {
    return;
  }
  shift_both(b, &x, onnx_input(b, n, 2), from_end(b, x, 2), &y, onnx_input(b, n, 5), from_end(b, y, 1));
  struct onnx_val sum = onnx_matmul(b, x, y, DTYPE_I32);
  scale_y = onnx_get(b, scale_y)->count == 1 ? onnx_reshape(b, scale_y, NULL, 0) : scale_y;
  struct onnx_val factor = onnx_mul(b, onnx_reshape(b, scale_x, NULL, 0), scale_y);
  onnx_output(b, n, 0, requantize(b, sum, factor, onnx_input(b, n, 6), onnx_input(b, n, 7)));
}

/* x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias */
void onnx_build_qlinear_conv(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), w = onnx_input(b, n, 3), bias = onnx_optional(b, n, 8);
  struct onnx_val scale_x = onnx_reshape(b, onnx_input(b, n, 1), NULL, 0), scale_w = onnx_input(b, n, 4);
  shift_both(b, &x, onnx_input(b, n, 2), 1, &w, onnx_input(b, n, 5), 0);
  struct onnx_val sum = onnx_conv(b, n, x, w, DTYPE_I32);
  uint32_t rank = onnx_rank(b, sum);
  sum = bias.id != 0 ? onnx_add(b, sum, onnx_along(b, bias, 1, rank)) : sum;
  scale_w = onnx_get(b, scale_w)->count == 1 ? onnx_reshape(b, scale_w, NULL, 0) : onnx_along(b, scale_w, 1, rank);
  onnx_output(b, n, 0, requantize(b, sum, onnx_mul(b, scale_x, scale_w), onnx_input(b, n, 6), onnx_input(b, n, 7)));
}
