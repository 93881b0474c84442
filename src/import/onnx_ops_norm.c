/* Reductions, softmax and normalisations of ONNX. See onnx_build.h; meanings: onnx/docs/Operators.md,
 * onnxruntime/docs/ContribOperators.md. */
#include "import/onnx_emit.h"
#include "import/onnx_fold.h"
#include "import/onnx_ops.h"

/* ---- reductions ---- */

/* Axes from an input or attribute; all when there are none, or none with noop_with_empty_axes. */
static bool read_axes(struct onnx_builder *b, const struct onnx_node *n, uint32_t rank, bool *axes) {
  int64_t listed[ONNX_INTS_MAX];
  uint32_t count;
  (void)onnx_ints_of(b, n, 1, "axes", listed, &count);
  bool is_all = count == 0 && onnx_int(b, n, "noop_with_empty_axes", 0) == 0;
  for (uint32_t i = 0; i < rank; i++) {
    axes[i] = is_all;
  }
  for (uint32_t i = 0; i < count && !b->is_failed; i++) {
    uint32_t axis = onnx_axis(b, listed[i], rank);
    if (rank > 0) {
      axes[axis] = true;
    }
  }
  return !b->is_failed;
}

static double reduced_count(const struct onnx_builder *b, struct onnx_val x, const bool *axes) {
  double count = 1;
  for (uint32_t i = 0; i < onnx_rank(b, x); i++) {
    count *= axes[i] ? (double)onnx_dim(b, x, i) : 1;
  }
  return count;
}

static struct onnx_val log_sum_exp(struct onnx_builder *b, struct onnx_val x, const bool *axes, bool keep) {
  struct onnx_val greatest = onnx_reduce(b, IR_OP_MAXIMUM, x, axes, true);
  struct onnx_val sum =
      onnx_reduce(b, IR_OP_ADD, onnx_unary(b, IR_OP_EXPONENTIAL, onnx_sub(b, x, greatest)), axes, true);
  struct onnx_val v = onnx_add(b, onnx_unary(b, IR_OP_LOG, sum), greatest);
  return keep ? v : onnx_reduce(b, IR_OP_ADD, v, axes, false); /* of dimensions of 1: drops them */
}

void onnx_build_reduce(struct onnx_builder *b, const struct onnx_node *n) {
  bool axes[ONNX_RANK_MAX] = {false}, keep = onnx_int(b, n, "keepdims", 1) != 0;
  struct onnx_val x = onnx_input(b, n, 0), v = x;
  if (!read_axes(b, n, onnx_rank(b, x), axes)) {
    return;
  }
  switch ((enum onnx_reduction)b->row->argument) {
  case ONNX_MAX:
  case ONNX_MIN: {
    enum dtype dtype = onnx_dtype(b, x);
    bool is_max = b->row->argument == ONNX_MAX, is_bool = dtype == DTYPE_I1;
    v = onnx_reduce(b, is_max ? (is_bool ? IR_OP_OR : IR_OP_MAXIMUM) : (is_bool ? IR_OP_AND : IR_OP_MINIMUM), x, axes,
                    keep);
    break;
  }
  case ONNX_PROD:
    v = onnx_reduce(b, IR_OP_MULTIPLY, x, axes, keep);
    break;
  case ONNX_L1:
    v = onnx_reduce(b, IR_OP_ADD, onnx_unary(b, IR_OP_ABS, x), axes, keep);
    break;
  case ONNX_L2:
    v = onnx_unary(b, IR_OP_SQRT, onnx_reduce(b, IR_OP_ADD, onnx_mul(b, x, x), axes, keep));
    break;
  case ONNX_SUM_SQUARE:
    v = onnx_reduce(b, IR_OP_ADD, onnx_mul(b, x, x), axes, keep);
    break;
  case ONNX_LOG_SUM:
    v = onnx_unary(b, IR_OP_LOG, onnx_reduce(b, IR_OP_ADD, x, axes, keep));
    break;
  case ONNX_LOG_SUM_EXP:
    v = log_sum_exp(b, x, axes, keep);
    break;
  case ONNX_SUM:
  case ONNX_MEAN:
    v = onnx_reduce(b, IR_OP_ADD, x, axes, keep);
    if (b->row->argument == ONNX_MEAN && reduced_count(b, x, axes) != 1) {
      v = onnx_binary_float(b, IR_OP_DIVIDE, v, reduced_count(b, x, axes));
    }
    break;
  }
  onnx_output(b, n, 0, v);
}

/* ---- softmax ---- */

static struct onnx_val softmax_over(struct onnx_builder *b, struct onnx_val x, const bool *axes, bool is_log) {
  struct onnx_val shifted = onnx_sub(b, x, onnx_reduce(b, IR_OP_MAXIMUM, x, axes, true));
  struct onnx_val powers = onnx_unary(b, IR_OP_EXPONENTIAL, shifted);
  struct onnx_val sum = onnx_reduce(b, IR_OP_ADD, powers, axes, true);
  return is_log ? onnx_sub(b, shifted, onnx_unary(b, IR_OP_LOG, sum)) : onnx_div(b, powers, sum);
}

struct onnx_val onnx_softmax_last(struct onnx_builder *b, struct onnx_val x, bool is_log) {
  bool axes[ONNX_RANK_MAX] = {false};
  if (b->is_failed || !onnx_check(b, onnx_rank(b, x) > 0, "the input has no dimensions")) {
    return (struct onnx_val){0};
  }
  axes[onnx_rank(b, x) - 1] = true;
  return softmax_over(b, x, axes, is_log);
}

/* One at the first maximum, else zero. */
static struct onnx_val hardmax(struct onnx_builder *b, struct onnx_val x, const bool *axes, uint32_t axis) {
  int64_t dims[ONNX_RANK_MAX];
  uint32_t rank = onnx_dims(b, x, dims);
  struct onnx_val is_max = onnx_compare(b, ONNX_EQ, x, onnx_reduce(b, IR_OP_MAXIMUM, x, axes, true));
  struct onnx_val index = onnx_iota(b, DTYPE_I64, dims, rank, axis);
  struct onnx_val candidates = onnx_select(b, is_max, index, onnx_const_int(b, DTYPE_I64, INT64_MAX));
  struct onnx_val first = onnx_reduce(b, IR_OP_MINIMUM, candidates, axes, true);
  return onnx_convert(b, onnx_compare(b, ONNX_EQ, index, first), onnx_dtype(b, x));
}

/* Along one axis since version 13; before, over all dimensions from the axis on. */
void onnx_build_softmax(struct onnx_builder *b, const struct onnx_node *n) {
  bool axes[ONNX_RANK_MAX] = {false};
  struct onnx_val x = onnx_input(b, n, 0);
  bool is_old = onnx_version(b, n) < 13;
  uint32_t rank = onnx_rank(b, x), axis = onnx_axis(b, onnx_int(b, n, "axis", is_old ? 1 : -1), rank);
  if (!onnx_check(b, rank > 0, "the input has no dimensions")) {
    return;
  }
  for (uint32_t i = axis; i < rank; i++) {
    axes[i] = is_old || i == axis;
  }
  if (b->row->argument == ONNX_HARDMAX) {
    if (onnx_check(b, !is_old || axis == rank - 1, "'Hardmax' over several dimensions is not read")) {
      onnx_output(b, n, 0, hardmax(b, x, axes, axis));
    }
    return;
  }
  onnx_output(b, n, 0, softmax_over(b, x, axes, b->row->argument == ONNX_LOG_SOFTMAX));
}

/* ---- normalisations ---- */

struct onnx_val onnx_normalize(struct onnx_builder *b, struct onnx_val x, const bool *axes, double epsilon,
                               bool is_centered, struct onnx_val *mean, struct onnx_val *inverse) {
  enum dtype dtype = onnx_dtype(b, x);
  struct onnx_val wide = dtype_bits(dtype) < 32 ? onnx_convert(b, x, DTYPE_F32) : x, centered = wide;
  double count = reduced_count(b, x, axes);
  if (is_centered) {
    struct onnx_val m = onnx_binary_float(b, IR_OP_DIVIDE, onnx_reduce(b, IR_OP_ADD, wide, axes, true), count);
    centered = onnx_sub(b, wide, m);
    if (mean != NULL) {
      *mean = m;
    }
  }
  struct onnx_val sum = onnx_reduce(b, IR_OP_ADD, onnx_mul(b, centered, centered), axes, true);
  struct onnx_val variance = onnx_binary_float(b, IR_OP_ADD, onnx_binary_float(b, IR_OP_DIVIDE, sum, count), epsilon);
  struct onnx_val factor = onnx_unary(b, IR_OP_RSQRT, variance);
  if (inverse != NULL) {
    *inverse = factor;
  }
  return onnx_convert(b, onnx_mul(b, centered, factor), dtype);
}

void onnx_build_batch_normalization(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val operands[5];
  for (size_t i = 0; i < 5; i++) {
    operands[i] = onnx_input(b, n, i);
  }
  struct onnx_val x = operands[0];
  if (!onnx_check(b, onnx_int(b, n, "training_mode", 0) == 0, "training mode is not read")
      || !onnx_check(b, onnx_rank(b, x) >= 2 && onnx_is_float(onnx_dtype(b, x)),
                     "the input must be [N, C, ...] of floats")) {
    return;
  }
  for (size_t i = 1; i < 5; i++) {
    if (!onnx_check(b, onnx_rank(b, operands[i]) == 1 && onnx_dim(b, operands[i], 0) == onnx_dim(b, x, 1),
                    "input %zu must have one number per channel", i)) {
      return;
    }
    operands[i] = onnx_convert(b, operands[i], onnx_dtype(b, x));
  }
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), onnx_get(b, x)->dims, onnx_rank(b, x));
  float epsilon = (float)onnx_float(b, n, "epsilon", 1e-5f);
  uint32_t bits = 0;
  __builtin_memcpy(&bits, &epsilon, sizeof bits);
  (void)onnx_push_attr(b, "epsilon", ir_attr_float(b->m, bits, ir_type_scalar(b->m, DTYPE_F32)));
  (void)onnx_push_i64(b, "feature_index", 1);
  onnx_output(b, n, 0, onnx_emit(b, IR_OP_BATCH_NORM_INFERENCE, operands, 5, NULL, v));
}

/* Scale and offset of the dimensions from `axis` on, which broadcast. */
static struct onnx_val affine(struct onnx_builder *b, struct onnx_val x, struct onnx_val scale,
                              struct onnx_val offset) {
  x = scale.id != 0 ? onnx_mul(b, x, onnx_convert(b, scale, onnx_dtype(b, x))) : x;
  return offset.id != 0 ? onnx_add(b, x, onnx_convert(b, offset, onnx_dtype(b, x))) : x;
}

static bool axes_from(struct onnx_builder *b, const struct onnx_node *n, struct onnx_val x, bool *axes) {
  uint32_t axis = onnx_axis(b, onnx_int(b, n, "axis", -1), onnx_rank(b, x));
  for (uint32_t i = axis; i < onnx_rank(b, x); i++) {
    axes[i] = true;
  }
  return onnx_check(b, onnx_rank(b, x) > 0 && onnx_is_float(onnx_dtype(b, x)), "the input must be a tensor of floats");
}

/* argument: 1 = with the mean (LayerNormalization), 0 = without (RMSNormalization, SimplifiedLayerNormalization) */
void onnx_build_layer_normalization(struct onnx_builder *b, const struct onnx_node *n) {
  bool axes[ONNX_RANK_MAX] = {false}, is_centered = b->row->argument == 1;
  struct onnx_val x = onnx_input(b, n, 0), scale = onnx_input(b, n, 1), mean = {0}, inverse = {0};
  struct onnx_val offset = is_centered ? onnx_optional(b, n, 2) : (struct onnx_val){0};
  if (!axes_from(b, n, x, axes)) {
    return;
  }
  struct onnx_val v = onnx_normalize(b, x, axes, onnx_float(b, n, "epsilon", 1e-5f), is_centered, &mean, &inverse);
  onnx_output(b, n, 0, affine(b, v, scale, offset));
  onnx_output(b, n, 1, is_centered ? mean : inverse);
  if (is_centered) {
    onnx_output(b, n, 2, inverse);
  }
}

/* Normalisation of the sum of two inputs (and a bias). argument as above. */
void onnx_build_skip_layer_normalization(struct onnx_builder *b, const struct onnx_node *n) {
  bool axes[ONNX_RANK_MAX] = {false}, is_centered = b->row->argument == 1;
  struct onnx_val x = onnx_add(b, onnx_input(b, n, 0), onnx_input(b, n, 1)), mean = {0}, inverse = {0};
  struct onnx_val scale = onnx_input(b, n, 2), offset = is_centered ? onnx_optional(b, n, 3) : (struct onnx_val){0};
  struct onnx_val bias = onnx_optional(b, n, is_centered ? 4 : 3);
  x = bias.id != 0 ? onnx_add(b, x, bias) : x;
  if (!axes_from(b, n, x, axes)) {
    return;
  }
  struct onnx_val v = onnx_normalize(b, x, axes, onnx_float(b, n, "epsilon", 1e-12f), is_centered, &mean, &inverse);
  onnx_output(b, n, 0, affine(b, v, scale, offset));
  onnx_output(b, n, 1, is_centered ? mean : inverse);
  onnx_output(b, n, 2, inverse);
  onnx_output(b, n, 3, x);
}

/* Each channel by itself. */
void onnx_build_instance_normalization(struct onnx_builder *b, const struct onnx_node *n) {
  bool axes[ONNX_RANK_MAX] = {false};
  struct onnx_val x = onnx_input(b, n, 0);
  uint32_t rank = onnx_rank(b, x);
  for (uint32_t i = 2; i < rank; i++) {
    axes[i] = true;
  }
  struct onnx_val v = onnx_normalize(b, x, axes, onnx_float(b, n, "epsilon", 1e-5f), true, NULL, NULL);
  v = onnx_mul(b, v, onnx_along(b, onnx_input(b, n, 1), 1, rank));
  onnx_output(b, n, 0, onnx_add(b, v, onnx_along(b, onnx_input(b, n, 2), 1, rank)));
}

/* Groups of channels. Scale and bias: per group before version 21, per channel since. */
void onnx_build_group_normalization(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t dims[ONNX_RANK_MAX], split[ONNX_RANK_MAX + 1];
  bool axes[ONNX_RANK_MAX + 1] = {false};
  struct onnx_val x = onnx_input(b, n, 0), scale = onnx_input(b, n, 1), offset = onnx_input(b, n, 2);
  int64_t groups = onnx_int(b, n, "num_groups", 1), channels = onnx_dim(b, x, 1);
  uint32_t rank = onnx_dims(b, x, dims);
  if (!onnx_check(b, rank >= 2 && rank < ONNX_RANK_MAX && groups > 0 && channels % groups == 0,
                  "%lld channels in %lld groups", (long long)channels, (long long)groups)) {
    return;
  }
  split[0] = dims[0];
  split[1] = groups;
  split[2] = channels / groups;
  for (uint32_t i = 2; i < rank; i++) {
    split[i + 1] = dims[i];
  }
  for (uint32_t i = 2; i <= rank; i++) {
    axes[i] = true;
  }
  struct onnx_val v = onnx_normalize(b, onnx_reshape(b, x, split, rank + 1), axes, onnx_float(b, n, "epsilon", 1e-5f),
                                     true, NULL, NULL);
  bool is_per_group = onnx_dim(b, scale, 0) == groups && groups != channels;
  v = is_per_group ? v : onnx_reshape(b, v, dims, rank);
  uint32_t width = is_per_group ? rank + 1 : rank;
  v = onnx_add(b, onnx_mul(b, v, onnx_along(b, scale, 1, width)), onnx_along(b, offset, 1, width));
  onnx_output(b, n, 0, onnx_reshape(b, v, dims, rank));
}

/* x / (bias + alpha / size * sum of squares of the channels around)^beta */
void onnx_build_lrn(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0);
  int64_t size = onnx_int(b, n, "size", 1), dims[ONNX_RANK_MAX], inner = 1;
  uint32_t rank = onnx_dims(b, x, dims);
  if (!onnx_check(b, rank >= 2 && size > 0 && size < INT32_MAX && onnx_get(b, x)->count > 0,
                  "the input must be [N, C, ...]")) {
    return;
  }
  for (uint32_t i = 2; i < rank; i++) {
    inner *= dims[i];
  }
  struct onnx_window w = {.rank = 1,
                          .size = {size},
                          .stride = {1},
                          .base_dilation = {1},
                          .dilation = {1},
                          .low = {(size - 1) / 2},
                          .high = {size - 1 - (size - 1) / 2}};
  struct onnx_val squares = onnx_reshape(b, onnx_mul(b, x, x), (int64_t[]){dims[0], dims[1], inner}, 3);
  squares = onnx_transpose(b, squares, (int64_t[]){0, 2, 1});
  squares = onnx_reduce_window(b, IR_OP_ADD, squares, onnx_const_float(b, onnx_dtype(b, x), 0), &w);
  squares = onnx_reshape(b, onnx_transpose(b, squares, (int64_t[]){0, 2, 1}), dims, rank);
  double factor = onnx_float(b, n, "alpha", 0.0001f) / (double)size;
  struct onnx_val base = onnx_binary_float(b, IR_OP_ADD, onnx_binary_float(b, IR_OP_MULTIPLY, squares, factor),
                                           onnx_float(b, n, "bias", 1));
  onnx_output(b, n, 0, onnx_div(b, x, onnx_binary_float(b, IR_OP_POWER, base, onnx_float(b, n, "beta", 0.75))));
}

void onnx_build_lp_normalization(struct onnx_builder *b, const struct onnx_node *n) {
  bool axes[ONNX_RANK_MAX] = {false};
  struct onnx_val x = onnx_input(b, n, 0);
  uint32_t axis = onnx_axis(b, onnx_int(b, n, "axis", -1), onnx_rank(b, x));
  axes[axis] = true;
  bool is_l1 = onnx_int(b, n, "p", 2) == 1;
  struct onnx_val norm = onnx_reduce(b, IR_OP_ADD, is_l1 ? onnx_unary(b, IR_OP_ABS, x) : onnx_mul(b, x, x), axes, true);
  norm = is_l1 ? norm : onnx_unary(b, IR_OP_SQRT, norm);
  struct onnx_val zero = onnx_const_float(b, onnx_dtype(b, x), 0);
  struct onnx_val quotient = onnx_div(b, x, norm);
  onnx_output(b, n, 0, onnx_select(b, onnx_compare(b, ONNX_EQ, norm, zero), zero, quotient));
}

void onnx_build_mean_variance(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t listed[ONNX_INTS_MAX];
  bool axes[ONNX_RANK_MAX] = {false};
  struct onnx_val x = onnx_input(b, n, 0);
  uint32_t count = onnx_ints(b, n, "axes", listed);
  for (uint32_t i = 0; i < (count == 0 ? 3 : count) && !b->is_failed; i++) {
    axes[onnx_axis(b, count == 0 ? (i == 0 ? 0 : i + 1) : listed[i], onnx_rank(b, x))] = true;
  }
  onnx_output(b, n, 0, onnx_normalize(b, x, axes, 1e-9, true, NULL, NULL));
}
