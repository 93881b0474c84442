/* Error statistics. Kendall's tau-b: Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945). */
#include "measure/score.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double kendall_tau_b(const double *measured, const double *predicted, size_t count) {
  double concordant = 0, discordant = 0, tied_measured = 0, tied_predicted = 0;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = i + 1; j < count; j++) {
      if (isnan(predicted[i]) || isnan(predicted[j])) {
        continue;
      }
      double m = measured[i] - measured[j], p = predicted[i] - predicted[j];
      concordant += m * p > 0;
      discordant += m * p < 0;
      tied_measured += m == 0 && p != 0;
      tied_predicted += p == 0 && m != 0;
    }
  }
  double pairs = concordant + discordant;
  double norm = sqrt((pairs + tied_measured) * (pairs + tied_predicted));
  return norm > 0 ? (concordant - discordant) / norm : (double)NAN;
}

struct score score_rows(const double *measured, const double *predicted, size_t count) {
  struct score s = {.kendall = (double)NAN};
  double *errors = malloc((count ? count : 1) * sizeof *errors);
  for (size_t i = 0; errors && i < count; i++) {
    if (isnan(predicted[i])) {
      continue;
    }
    double error = (predicted[i] - measured[i]) / measured[i];
    errors[s.count++] = fabs(error);
    s.mape += fabs(error);
    s.bias += error;
  }
  if (s.count) {
    qsort(errors, s.count, sizeof *errors, compare_doubles);
    s.mape /= (double)s.count;
    s.bias /= (double)s.count;
    s.median = s.count % 2 ? errors[s.count / 2] : (errors[s.count / 2 - 1] + errors[s.count / 2]) / 2;
    s.p90 = errors[(size_t)ceil(0.9 * (double)s.count) - 1];
    s.kendall = kendall_tau_b(measured, predicted, count);
  }
  free(errors);
  return s;
}
