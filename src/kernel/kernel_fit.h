/* The constants a chip's kernels are timed with: fitted ones where the chip or its family has a fit, those of the data
 * sheet otherwise; and how far a measurement may lie from the prediction. */
#ifndef RIDGELINE_KERNEL_KERNEL_FIT_H
#define RIDGELINE_KERNEL_KERNEL_FIT_H

#include "hw/hw_calibration.h"
#include "kernel/kernel.h"

struct kernel_constants {
  const struct kernel_model *model;
  const struct hw_fit *fit; /* NULL: values are those of the data sheet */
  bool is_inherited; /* the fit is that of a family or of another chip */
  /* Where the fit is inherited and knows one chip only: the nearest fit of several chips. It says how chips differ. */
  const struct hw_fit *across; /* may be NULL */
  double values[KERNEL_CONSTANT_MAX];
};

/* False when no model describes such kernels on that chip. f16 takes the fit of bf16, as an inherited one, where it has none
 * of its own. Constants that the fit does not name keep their default; a fit
 * of another model is not used. Values are clamped to the bounds of the model. */
bool kernel_constants_of(const struct hw_chip *chip, enum kernel_class class_of, enum kernel_format format,
                         struct kernel_constants *out);

/* 90 % interval of a predicted time, as factors: low <= 1 <= high. Split-conformal where there is a fit (Lei et al.,
 * "Distribution-free predictive inference for regression", JASA 2018); an inherited fit, a shape outside the range of the
 * rows, and no fit at all widen it by factors stated in docs/calibration.md. */
struct kernel_interval {
  double low, high;
  bool is_outside; /* the shape is outside the range of the fitted rows */
};
void kernel_interval_of(const struct kernel_constants *constants, const struct kernel_shape *shape, double time_s,
                        struct kernel_interval *out);

#endif
