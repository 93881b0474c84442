/* Which constants a chip's kernels are timed with, and how far a measurement may lie from the time they give. The factors
 * below are stated in docs/calibration.md. */
#include "kernel/kernel_fit.h"

#include <math.h>
#include <string.h>

/* Nothing was fitted: what data-sheet constants were off by on the chips that have rows. An assumption, not a quantile. */
static const double unfitted_low = 0.6, unfitted_high = 1.8;
/* A fit of other chips whose interval knows nothing of the difference between chips: log width times this. */
static const double inherited_factor = 1.5;
/* Shapes beyond the range of the rows by more than this factor are outside; from there on the interval grows by a tenth of
 * the logarithm of the distance on either side, up to a factor of 2. */
static const double range_margin = 2, outside_growth = 0.1, outside_cap = 0.6931471805599453;

/* Formats whose rows stand in for those of another: f16 runs on the same units at the same rate as bf16. */
static enum kernel_format stand_in(enum kernel_format format) {
  return format == KERNEL_FORMAT_F16 ? KERNEL_FORMAT_BF16 : KERNEL_FORMAT_COUNT;
}

static void apply_fit(const struct hw_fit *fit, struct kernel_constants *out) {
  const struct kernel_model *model = out->model;
  for (unsigned i = 0; i < fit->constant_count; i++) {
    int index = kernel_constant_find(model, fit->names[i]);
    if (index >= 0) {
      const struct kernel_constant *c = &model->constants[index];
      out->values[index] = fmin(c->upper, fmax(c->lower, fit->values[i]));
    }
  }
}

static bool is_for(const struct hw_fit *fit, enum kernel_class class_of, enum kernel_format format,
                   const struct kernel_model *model) {
  return strcmp(fit->class_name, kernel_class_name(class_of)) == 0
         && strcmp(fit->format, kernel_format_info(format)->name) == 0 && strcmp(fit->model, model->name) == 0;
}

static void find_fit(const struct hw_chip *chip, enum kernel_class class_of, enum kernel_format format,
                     struct kernel_constants *out) {
  for (size_t i = 0; i < chip->fit_count; i++) {
    const struct hw_fit *fit = chip->fits[i];
    if (!is_for(fit, class_of, format, out->model)) {
      continue;
    }
    bool is_own = strcmp(fit->device, chip->id) == 0;
    if (out->fit == NULL && hw_fit_is_useful(fit)) {
      out->fit = fit;
      out->is_inherited = !is_own;
      apply_fit(fit, out);
    }
    if (is_own && out->fit == fit) {
      break;
    }
    if (fit->chip_count >= 2) {
      out->across = fit != out->fit ? fit : NULL;
      break;
    }
  }
}

bool kernel_constants_of(const struct hw_chip *chip, enum kernel_class class_of, enum kernel_format format,
                         struct kernel_constants *out) {
  *out = (struct kernel_constants){.model = kernel_model_for(class_of, format, chip)};
  if (out->model == NULL) {
    return false;
  }
  out->model->defaults(chip, class_of, format, out->values);
  find_fit(chip, class_of, format, out);
  if (out->fit == NULL && stand_in(format) != KERNEL_FORMAT_COUNT) {
    find_fit(chip, class_of, stand_in(format), out);
    out->is_inherited = out->fit != NULL;
  }
  return true;
}

/* log of how far `value` is beyond the range and its margin; 0 inside. */
static double distance_outside(double value, double min, double max) {
  if (!(value > 0) || !(max > 0)) {
    return 0;
  }
  double above = log(value / (max * range_margin)), below = min > 0 ? log(min / (value * range_margin)) : 0;
  return fmax(0, fmax(above, below));
}

/* Log widths of the fit's interval for that time. */
static void widths_of(const struct hw_fit *fit, double time_s, double *down, double *up) {
  unsigned i = 0;
  while (i + 1 < fit->interval_count && time_s >= fit->intervals[i].below_s) {
    i++;
  }
  *down = fmax(0, -log(fit->intervals[i].low));
  *up = fmax(0, log(fit->intervals[i].high));
}

void kernel_interval_of(const struct kernel_constants *constants, const struct kernel_shape *shape, double time_s,
                        struct kernel_interval *out) {
  const struct hw_fit *fit = constants->fit;
  *out = (struct kernel_interval){.low = unfitted_low, .high = unfitted_high};
  double down, up;
  if (fit == NULL && constants->across != NULL) {
    widths_of(constants->across, time_s, &down, &up);
    out->low = fmin(out->low, exp(-down));
    out->high = fmax(out->high, exp(up));
  }
  if (fit == NULL) {
    return;
  }
  widths_of(fit, time_s, &down, &up);
  if (constants->is_inherited && fit->chip_count < 2) {
    /* how chips differ is what a family of several says, and the assumption where there is none */
    double down_across = -log(unfitted_low), up_across = log(unfitted_high);
    if (constants->across != NULL) {
      widths_of(constants->across, time_s, &down_across, &up_across);
    }
    down = fmax(down * inherited_factor, down_across);
    up = fmax(up * inherited_factor, up_across);
  }
  double distance = fmax(distance_outside(kernel_flops(shape), fit->flops_min, fit->flops_max),
                         distance_outside(kernel_bytes(shape), fit->bytes_min, fit->bytes_max));
  double growth = fmin(outside_cap, outside_growth * distance);
  out->is_outside = distance > 0;
  out->low = exp(-(down + growth));
  out->high = exp(up + growth);
}
