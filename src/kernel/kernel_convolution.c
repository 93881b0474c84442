/* Convolutions as implicit matrix products: see kernel_convolution.h.
 *
 * Constants are medians over the training half of DeepBench's f16 sheets of V100 and T4;
 * tests/unit/test_measure_convolutions.c recomputes and scores them. Nothing was fitted to steps of programs. */
#include "kernel/kernel_convolution.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Operands are loaded in vectors of 16 bytes along the features ("Channels In And Out" in NVIDIA's guide to convolutional
 * layers): libraries pad features to whole ones, XLA does so beforehand for f16. */
static const double vector_bytes = 16;
/* XLA pads three input features to four, not eight, in f16 with so many output features: cuDNN has kernels for it. */
static const double image_features = 3, image_padded = 4, image_outputs[] = {32, 64};

/* Time beyond the launch, in that of a plain product of the same shape. */
static const double data_factor = 1.145, weight_gradient_factor = 1.393;

bool kernel_convolution_is_pointwise(const struct kernel_convolution *convolution) {
  return !convolution->is_weight_gradient && convolution->window == 1;
}

static double padded(double features, enum kernel_format format) {
  double vector = fmax(1, floor(vector_bytes / kernel_format_info(format)->a_bytes));
  return ceil(features / vector) * vector;
}

static double padded_inputs(double inputs, double outputs, enum kernel_format format) {
  bool is_image = format == KERNEL_FORMAT_F16 && inputs == image_features
                  && (outputs == image_outputs[0] || outputs == image_outputs[1]);
  return is_image ? image_padded : padded(inputs, format);
}

struct kernel_gemm kernel_convolution_gemm(const struct kernel_convolution *convolution, enum kernel_format format) {
  double batch = convolution->batch, columns = convolution->columns, reduced = convolution->reduced;
  if (convolution->groups == 1) { /* groups are not padded: their features are interleaved */
    double *inputs = convolution->is_weight_gradient ? &batch : &reduced;
    *inputs = padded_inputs(*inputs, columns, format);
    columns = padded(columns, format);
  }
  return (struct kernel_gemm){
      .batch = convolution->groups,
      .m = batch * convolution->outputs,
      .n = columns,
      .k = fmax(1, reduced * convolution->window / convolution->dilation),
  };
}

/* Products of a campaign that never split k leave these two at the bounds of the fit, and weight gradients depend on them:
 * at most those of the data sheet. */
static void limit_split(const struct hw_chip *chip, enum kernel_format format, double *values) {
  static const char *const names[] = {"split_s", "split_traffic"};
  double typical[KERNEL_CONSTANT_MAX];
  kernel_gemm_tiled.defaults(chip, KERNEL_GEMM, format, typical);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    int index = kernel_constant_find(&kernel_gemm_tiled, names[i]);
    assert(index >= 0);
    values[index] = fmin(values[index], typical[index]);
  }
}

void kernel_convolution_time(const struct hw_chip *chip, const struct kernel_convolution *convolution,
                             const struct kernel_shape *shape, const double *values, struct kernel_time *out) {
  if (kernel_convolution_is_pointwise(convolution)) {
    kernel_gemm_tiled.time(chip, shape, values, out);
    return;
  }
  double limited[KERNEL_CONSTANT_MAX];
  memcpy(limited, values, kernel_gemm_tiled.constant_count * sizeof *limited);
  limit_split(chip, shape->format, limited);
  kernel_gemm_tiled.time(chip, shape, limited, out);
  double factor = convolution->is_weight_gradient ? weight_gradient_factor : data_factor;
  out->time_s = out->launch_s + fmax(0, out->time_s - out->launch_s) * factor;
  out->matrix_s *= factor;
  out->cache_s *= factor;
}
