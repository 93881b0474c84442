/* What a convolution reads from its attributes, for its definition (interp_convolution.c) and its fast path. */
#ifndef RIDGELINE_INTERP_INTERP_CONVOLUTION_H
#define RIDGELINE_INTERP_INTERP_CONVOLUTION_H

#include "interp/interp_int.h"

struct convolution {
  uint32_t spatial; /* number of spatial dimensions */
  int64_t input_batch, input_feature, kernel_input, kernel_output, output_batch, output_feature;
  int64_t input_spatial[INTERP_MAX_RANK], kernel_spatial[INTERP_MAX_RANK], output_spatial[INTERP_MAX_RANK];
  int64_t stride[INTERP_MAX_RANK], low[INTERP_MAX_RANK], high[INTERP_MAX_RANK];
  int64_t lhs_dilation[INTERP_MAX_RANK], rhs_dilation[INTERP_MAX_RANK], is_reversed[INTERP_MAX_RANK];
  int64_t feature_groups, batch_groups;
  int64_t window[INTERP_MAX_RANK]; /* sizes of the kernel's spatial dimensions */
  int64_t features; /* input features per group: kernel_input's size */
  uint64_t row; /* features * window elements */
};

#endif
