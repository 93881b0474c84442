/* What was fitted to measurements of a chip, beside its data sheet: constants of kernel models with the rows they come
 * from, the error they have and how far measurements lie around them. `ridgeline calibrate` writes hardware/calibrated/
 * <chip or family>.yaml, this reads it. Class, format and model are names that kernel/ gives a meaning; here they are text.
 *
 * YAML form (docs/calibration.md explains it):
 *   device: nvidia_h100_sxm            # a chip, or a family for chips without rows of their own
 *   date: 2026-11-30
 *   fits:
 *     - class: gemm
 *       format: bf16
 *       model: gemm_tiled
 *       sources: [aiconfigurator]
 *       chips: [nvidia_h100_sxm]       # whose rows; for families, optional for a chip
 *       rows: 11350
 *       error: {mape: 0.071, median: 0.052, p90: 0.15, bias: -0.004,   # on train rows held out in turn
 *               data_sheet: 0.21}                                      # mape with data-sheet constants; optional
 *       flops: [2.1e6, 2.2e12]         # range of the rows, for the remark that a shape is outside
 *       bytes: [2.6e5, 1.1e9]
 *       constants: {matrix_efficiency: 0.81, launch_s: 2.1e-6}
 *       intervals:                     # measured / predicted, 5 % and 95 % quantile, by predicted time
 *         - {below: 1e-5, rows: 3000, low: 0.86, high: 1.19}
 *         - {rows: 8350, low: 0.9, high: 1.12}
 */
#ifndef RIDGELINE_HW_HW_CALIBRATION_H
#define RIDGELINE_HW_HW_CALIBRATION_H

#include "hw/hw.h"

/* Of predictions below `below_s`, 90 % of the measurements are between low and high times the prediction. */
struct hw_fit_interval {
  double below_s; /* INFINITY for the last one; ascending */
  uint64_t rows;
  double low, high;
};

struct hw_fit {
  const char *device; /* the chip or family whose rows were fitted */
  bool is_family;
  const char *class_name, *format, *model;
  const char *const *names; /* of the constants */
  const double *values;
  unsigned constant_count;
  uint64_t rows;
  double mape, median, p90, bias;
  double data_sheet_mape; /* of the same rows with data-sheet constants; INFINITY = not stated */
  double flops_min, flops_max, bytes_min, bytes_max;
  const struct hw_fit_interval *intervals; /* at least one */
  unsigned interval_count;
  const char *sources, *date; /* sources: comma-separated */
  const char *chips; /* whose rows were fitted, comma-separated; of a chip the device itself */
  unsigned chip_count; /* of a family with 2 or more, error and intervals are those of each chip left out in turn */
};

enum { HW_FIT_CONSTANT_MAX = 64, HW_FIT_INTERVAL_MAX = 16, HW_CALIBRATION_MAX_BYTES = 1 << 20 };

/* The fit for kernels of that class and format: the chip's own, else that of the nearest family in its lineage that has
 * one; NULL when none has. `fit->device` tells whose it is. */
const struct hw_fit *hw_chip_fit(const struct hw_chip *chip, const char *class_name, const char *format);

/* False for constants that time held-out rows no better than the data sheet does: they are not used, only the width of
 * their interval. */
bool hw_fit_is_useful(const struct hw_fit *fit);

/* Reads every file below directory/calibrated (a missing folder is no error) and ties the fits to the chips; called by
 * hw_database_load. Bad files are reported and left out. */
enum status hw_calibration_load(struct hw_database *db, const char *directory, struct diag_list *diags);
/* The same from one text in memory, such as that of a calibration just made: replaces fits of the same device, class and
 * format. Nothing of `source` is kept. */
enum status hw_calibration_parse(struct hw_database *db, const struct source *source, struct diag_list *diags);
/* True for a text like "2026-11-30"; whether there is such a day is not asked. */
bool hw_calibration_is_date(const char *text);
/* Ties the database's fits to a chip that was loaded from its own file; hw_chip_load and hw_chip_parse call it. */
enum status hw_calibration_attach(struct hw_database *db, struct hw_chip *chip);

#endif
