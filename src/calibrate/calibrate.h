/* `ridgeline calibrate`: constants per chip x class x format from train rows, with their error on rows held out in turn and
 * conformal intervals; families pool the rows of their chips. Results are YAML files beside the chips (hw_calibration.h). */
#ifndef RIDGELINE_CALIBRATE_CALIBRATE_H
#define RIDGELINE_CALIBRATE_CALIBRATE_H

#include "base/strbuf.h"
#include "calibrate/fit.h"
#include "hw/hw_calibration.h"

struct calibrate_options {
  const char *device; /* chip or family id; NULL = all that have rows */
  const char *class_name; /* NULL = all */
  const char *format; /* NULL = all */
  const char *date; /* "2026-11-30", written into the results; the caller knows what day it is */
  /* The rows are somebody's own and not all there are: writing keeps what they say nothing of, and fits of more chips. */
  bool is_partial;
  size_t max_rows; /* per fit; 0 = 3000 */
  unsigned threads; /* 0 = all cores; the result does not depend on it */
  void (*progress)(void *user, const char *what, size_t done, size_t total); /* may be NULL */
  void *user;
};

struct calibration {
  struct arena arena;
  VEC(struct hw_fit) fits; /* sorted by device, class, format */
};

/* Fits every group of `kernels` that may be fitted (train split, may_fit, no fold held out in the end) with at least 60
 * rows. Out-of-fold residuals of 5 folds by shape give error and intervals (cross-conformal: Vovk, "Cross-conformal
 * predictors", 2015). A family's error and intervals come from leaving one chip out where it has at least two. */
enum status calibrate_kernels(const struct measured_kernels *kernels, const struct hw_database *chips,
                              const struct calibrate_options *options, struct diag_list *diags,
                              struct calibration *result);
void calibration_release(struct calibration *result);
/* The file of one device; `device` must have at least one fit. Numbers with enough digits to read back the same double. */
void calibration_write_yaml(const struct calibration *result, const char *device, struct strbuf *out);
/* What was fitted, as a table: device, class, format, rows, MAPE, interval, constants. */
void calibration_write_table(const struct calibration *result, struct strbuf *out);
/* Puts the fits into a loaded database, as if they had been read from files. */
enum status calibration_apply(const struct calibration *result, struct hw_database *chips);

/* Residual quantiles as the intervals of a fit; exposed for tests and for validate. `residuals` = log(measured /
 * predicted), `predicted` in seconds. With n rows the quantile is the ceil((n + 1) q)-th smallest. */
unsigned calibrate_intervals(const double *predicted_s, const double *residuals, size_t count,
                             struct hw_fit_interval *intervals, unsigned capacity);

#endif
