/* Error statistics. Kendall's tau-b: Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945); counted
 * in O(n log n): Knight, "A computer method for calculating Kendall's tau with ungrouped data", JASA 61 (1966). */
#include "measure/score.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct pair {
  double measured, predicted;
};

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int compare_pairs(const void *a, const void *b) {
  const struct pair *x = a, *y = b;
  int by_measured = compare_doubles(&x->measured, &y->measured);
  return by_measured != 0 ? by_measured : compare_doubles(&x->predicted, &y->predicted);
}

/* Pairs among `run` equal values. */
static double pairs_of(size_t run) {
  return (double)run * ((double)run - 1) / 2;
}

/* Sorts `values` and returns how many pairs stood in the wrong order; equal values are no exchange. */
static double merge_counting(double *values, double *scratch, size_t count) {
  if (count < 2) {
    return 0;
  }
  size_t half = count / 2, left = 0, right = half, out = 0;
  double exchanges = merge_counting(values, scratch, half) + merge_counting(values + half, scratch, count - half);
  while (left < half && right < count) {
    if (values[right] < values[left]) {
      exchanges += (double)(half - left);
      scratch[out++] = values[right++];
    } else {
      scratch[out++] = values[left++];
    }
  }
  memcpy(scratch + out, values + left, (half - left) * sizeof *values);
  memcpy(scratch + out + (half - left), values + right, (count - right) * sizeof *values);
  memcpy(values, scratch, count * sizeof *values);
  return exchanges;
}

/* `pairs` is sorted by measured, then predicted; `values` and `scratch` have room for `count` numbers. */
static double kendall_tau_b(const struct pair *pairs, size_t count, double *values, double *scratch) {
  double tied_measured = 0, tied_predicted = 0, tied_both = 0;
  size_t measured_run = 1, both_run = 1, predicted_run = 1;
  for (size_t i = 0; i < count; i++, measured_run++, both_run++) {
    values[i] = pairs[i].predicted;
    bool is_measured_end = i + 1 == count || pairs[i].measured != pairs[i + 1].measured;
    if (is_measured_end || pairs[i].predicted != pairs[i + 1].predicted) {
      tied_both += pairs_of(both_run);
      both_run = 0;
    }
    if (is_measured_end) {
      tied_measured += pairs_of(measured_run);
      measured_run = 0;
    }
  }
  double discordant = merge_counting(values, scratch, count);
  for (size_t i = 0; i < count; i++, predicted_run++) {
    if (i + 1 == count || values[i] != values[i + 1]) {
      tied_predicted += pairs_of(predicted_run);
      predicted_run = 0;
    }
  }
  double all = pairs_of(count);
  double norm = sqrt((all - tied_predicted) * (all - tied_measured));
  double untied = all - tied_measured - tied_predicted + tied_both;
  return norm > 0 ? (untied - 2 * discordant) / norm : (double)NAN;
}

struct score score_rows(const double *measured, const double *predicted, size_t count) {
  struct score s = {.kendall = (double)NAN};
  size_t room = count ? count : 1;
  double *errors = malloc(3 * room * sizeof *errors);
  struct pair *pairs = malloc(room * sizeof *pairs);
  for (size_t i = 0; errors && pairs && i < count; i++) {
    if (isnan(predicted[i])) {
      continue;
    }
    double error = (predicted[i] - measured[i]) / measured[i];
    pairs[s.count] = (struct pair){measured[i], predicted[i]};
    errors[s.count++] = fabs(error);
    s.mape += fabs(error);
    s.bias += error;
  }
  if (s.count) {
    qsort(errors, s.count, sizeof *errors, compare_doubles);
    qsort(pairs, s.count, sizeof *pairs, compare_pairs);
    s.mape /= (double)s.count;
    s.bias /= (double)s.count;
    s.median = s.count % 2 ? errors[s.count / 2] : (errors[s.count / 2 - 1] + errors[s.count / 2]) / 2;
    s.p90 = errors[(size_t)ceil(0.9 * (double)s.count) - 1];
    s.kendall = kendall_tau_b(pairs, s.count, errors + room, errors + 2 * room);
  }
  free(pairs);
  free(errors);
  return s;
}
