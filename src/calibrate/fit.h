/* Robust fit of a kernel model's constants to measured rows: minimises the sum of a Huber loss of
 * log(predicted / measured), by Levenberg-Marquardt with finite differences inside the bounds of the model, from the
 * data-sheet defaults and a few deterministic other starts. Same rows, same constants, bit by bit. */
#ifndef RIDGELINE_CALIBRATE_FIT_H
#define RIDGELINE_CALIBRATE_FIT_H

#include "kernel/kernel.h"
#include "profile/measured_kernels.h"

struct fit_options {
  size_t max_rows; /* 0 = all; else that many, chosen by the hash of the shape so that the choice is stable */
  unsigned max_iterations; /* of each start; 0 = 60 */
  unsigned starts; /* 0 = 3 */
  const double *start; /* not NULL: the only start, and no search follows; for a fit without a few of another's rows */
};

struct fit_result {
  double values[KERNEL_CONSTANT_MAX];
  double loss; /* mean Huber loss of the rows used */
  double mape; /* of the rows used */
  size_t rows_used;
  unsigned evaluations;
};

/* All rows have the model's class and one format; they may be of several chips (a family is fitted so), which then have
 * equal weight and equal parts of max_rows. STATUS_OK, or STATUS_INPUT when there are fewer rows than 3 x constants
 * (`result` then holds the defaults of the first row's chip), or STATUS_MEMORY. Source of the method: Levenberg (1944),
 * Marquardt (1963); Huber (1964). */
enum status fit_kernel(const struct kernel_model *model, const struct measured_kernel *const *rows, size_t count,
                       const struct fit_options *options, struct fit_result *result);
/* Constants of the unit "choice" name the kernel that a back end launches; they are the chip's own (`defaults`), no fit
 * moves them. Writes `fitted` with the choices of `chip` in place of its own; what a fit of several chips is applied
 * with. */
bool fit_is_choice(const struct kernel_constant *constant);
void fit_constants_for(const struct kernel_model *model, const struct hw_chip *chip, enum kernel_class class_of,
                       enum kernel_format format, const double *fitted, double *values);
/* Writes up to max_rows of the rows (0 = all) to `selected`, equally many of each chip as far as there are; returns how
 * many. A row's place in the choice depends on its shape alone. SIZE_MAX when memory is exhausted. */
size_t fit_select_rows(const struct measured_kernel *const *rows, size_t count, size_t max_rows,
                       const struct measured_kernel **selected);

/* The two-constant roofline that every table shows beside the models: t = overhead + max(flops / peak, bytes / bandwidth)
 * / efficiency; fitted by least squares of relative errors made robust by reweighting, efficiency in (0.01, 2]. */
struct two_constants {
  double efficiency, overhead_s;
};
enum status fit_two_constants(const struct measured_kernel *const *rows, size_t count, struct two_constants *result);
double two_constants_time(const struct measured_kernel *row, const struct two_constants *constants);
/* max(flops / peak, bytes / bandwidth) from the data sheet alone. */
double plain_roofline_time(const struct hw_chip *chip, const struct kernel_shape *shape);

#endif
