/* Convolutions whose kernels are implicit matrix products: from a stage of the work graph to what kernel_convolution.c times.
 * A part of the fitted path (roofline_fitted.c): its constants are those of plain products. */
#include <math.h>

#include "cost/roofline.h"

/* Holes of a dilated input: of `pairs` (output, window) pairs `hits` meet data. Padding hides fewer than half of them, and
 * dilation of 2 half of them. */
static double axis_dilation(double pairs, double hits) {
  const double padding_allowance = 0.3;
  return hits > 0 ? fmax(1, floor(pairs / hits + padding_allowance)) : 1;
}

/* False when an extent is zero. */
static bool convolution_of(const struct work_graph *graph, const struct work_stage *stage,
                           struct kernel_convolution *out) {
  const struct work_axis *axes = graph->axes.data + stage->axis_first;
  *out = (struct kernel_convolution){
      .groups = 1, .batch = 1, .columns = 1, .reduced = 1, .outputs = 1, .window = 1, .dilation = 1};
  double rows = 1;
  for (uint32_t i = 0; i < stage->axis_count; i++) {
    double extent = (double)axes[i].extent;
    if (!(extent > 0)) {
      return false;
    }
    switch (axes[i].role) {
    case WORK_AXIS_BATCH:
      out->groups *= extent;
      break;
    case WORK_AXIS_COLUMN:
      out->columns *= extent;
      break;
    case WORK_AXIS_REDUCTION:
      out->reduced *= extent;
      break;
    case WORK_AXIS_WINDOW: {
      if (axes[i].partner >= stage->axis_count) {
        return false;
      }
      double along = (double)axes[axes[i].partner].extent;
      out->window *= extent;
      out->outputs *= along;
      out->dilation *= axis_dilation(extent * along, (double)axes[i].hits);
      break;
    }
    default:
      rows *= extent;
      break;
    }
  }
  out->batch = fmax(1, rows / fmax(1, out->outputs));
  /* gradients of weights slide a window as large as the result of the forward pass over few positions */
  out->is_weight_gradient = out->window > out->outputs;
  return true;
}

/* Two campaigns measured the same units in two types of one rate: neither is preferred. */
static const struct kernel_constants *other_type(const struct roofline_chip *rc, const struct kernel_constants *own) {
  static const struct {
    uint8_t format, other; /* enum kernel_format */
    uint8_t dtype, other_dtype; /* enum dtype */
  } pairs[] = {{KERNEL_FORMAT_F16, KERNEL_FORMAT_BF16, DTYPE_F16, DTYPE_BF16},
               {KERNEL_FORMAT_BF16, KERNEL_FORMAT_F16, DTYPE_BF16, DTYPE_F16}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    const struct kernel_constants *other = &rc->gemm[pairs[i].other];
    if (own == &rc->gemm[pairs[i].format] && other->fit != NULL && other->fit != own->fit && other->model == own->model
        && other->is_inherited == own->is_inherited
        && rc->hw->matrix_flops[pairs[i].dtype] == rc->hw->matrix_flops[pairs[i].other_dtype]) {
      return other;
    }
  }
  return NULL;
}

bool roofline_convolution_shape(const struct roofline_chip *rc, const struct work_graph *graph,
                                const struct work_stage *stage, struct roofline_fitted *fitted) {
  if (fitted->constants->model != &kernel_gemm_tiled || !convolution_of(graph, stage, &fitted->convolution)) {
    return false;
  }
  fitted->is_implicit = true;
  fitted->alternate = other_type(rc, fitted->constants);
  fitted->shape.gemm = kernel_convolution_gemm(&fitted->convolution, fitted->shape.format);
  fitted->shape.gemm.batch *= fitted->product.passes;
  return true;
}

static double middle(double a, double b) {
  return sqrt(a * b);
}

void roofline_convolution_kernel(const struct roofline_chip *rc, const struct roofline_fitted *fitted,
                                 struct kernel_time *out) {
  kernel_convolution_time(rc->hw, &fitted->convolution, &fitted->shape, fitted->constants->values, out);
  if (fitted->alternate == NULL) {
    return;
  }
  struct kernel_time other;
  kernel_convolution_time(rc->hw, &fitted->convolution, &fitted->shape, fitted->alternate->values, &other);
  out->time_s = middle(out->time_s, other.time_s);
  out->matrix_s = middle(out->matrix_s, other.matrix_s);
  out->memory_s = middle(out->memory_s, other.memory_s);
  out->cache_s = middle(out->cache_s, other.cache_s);
  out->launch_s = middle(out->launch_s, other.launch_s);
  out->off_chip_bytes = middle(out->off_chip_bytes, other.off_chip_bytes);
}
