/* Builders of ONNX operators: one per distinct name in onnx_ops.def. */
#ifndef RIDGELINE_IMPORT_ONNX_OPS_H
#define RIDGELINE_IMPORT_ONNX_OPS_H

#include "import/onnx_build.h"

#define ONNX_OP(domain, name, first_version, build, argument) onnx_build_fn onnx_build_##build;
#include "import/onnx_ops.def"
#undef ONNX_OP

/* Variants of builders that several rows share. */
enum onnx_activation {
  ONNX_RELU,
  ONNX_LEAKY_RELU,
  ONNX_ELU,
  ONNX_SELU,
  ONNX_CELU,
  ONNX_HARD_SIGMOID,
  ONNX_HARD_SWISH,
  ONNX_SOFTPLUS,
  ONNX_SOFTSIGN,
  ONNX_THRESHOLDED_RELU,
  ONNX_GELU,
  ONNX_FAST_GELU,
  ONNX_BIAS_GELU,
  ONNX_QUICK_GELU,
  ONNX_MISH,
  ONNX_SWISH
};
enum onnx_reduction {
  ONNX_SUM,
  ONNX_MEAN,
  ONNX_MAX,
  ONNX_MIN,
  ONNX_PROD,
  ONNX_L1,
  ONNX_L2,
  ONNX_LOG_SUM,
  ONNX_LOG_SUM_EXP,
  ONNX_SUM_SQUARE
};
enum onnx_pool { ONNX_POOL_MAX, ONNX_POOL_AVERAGE, ONNX_POOL_LP };
enum onnx_softmax { ONNX_SOFTMAX, ONNX_LOG_SOFTMAX, ONNX_HARDMAX };

/* Shared by families. */
struct onnx_val onnx_gelu(struct onnx_builder *b, struct onnx_val x, bool is_tanh);
/* x - mean over the axes, scaled by 1 / sqrt(variance + epsilon); without `is_centered` the mean stays (RMS). `inverse`, and
 * `mean` if centered, when not NULL, receive the statistics. Computed in f32 for narrower types. */
struct onnx_val onnx_normalize(struct onnx_builder *b, struct onnx_val x, const bool *axes, double epsilon,
                               bool is_centered, struct onnx_val *mean, struct onnx_val *inverse);
struct onnx_val onnx_softmax_last(struct onnx_builder *b, struct onnx_val x, bool is_log);

#endif
