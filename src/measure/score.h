/* Error statistics over (measured, predicted) pairs. */
#ifndef RIDGELINE_MEASURE_SCORE_H
#define RIDGELINE_MEASURE_SCORE_H

#include <stddef.h>

struct score {
  size_t count;
  double mape; /* mean of |predicted - measured| / measured */
  double median; /* of the same */
  double p90; /* nearest rank */
  double bias; /* mean of (predicted - measured) / measured */
  double kendall; /* tau-b between measured and predicted; NaN below two rows */
};

/* Rows with a NaN prediction are left out. All zero / NaN for no rows. O(n log n). */
struct score score_rows(const double *measured, const double *predicted, size_t count);

#endif
