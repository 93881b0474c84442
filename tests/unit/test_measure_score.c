/* Error statistics, against values worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "measure/score.h"

/* Errors 10 %, -20 %, 0 %, 50 %: mean of sizes 20 %, median (10 + 20) / 2, bias 10 %. */
static void statistics_of_four_rows(void **state) {
  (void)state;
  const double measured[] = {10, 10, 20, 2}, predicted[] = {11, 8, 20, 3};
  struct score s = score_rows(measured, predicted, 4);
  assert_int_equal(s.count, 4);
  assert_true(fabs(s.mape - 0.20) < 1e-12);
  assert_true(fabs(s.median - 0.15) < 1e-12);
  assert_true(fabs(s.bias - 0.10) < 1e-12);
  assert_true(fabs(s.p90 - 0.50) < 1e-12);
  /* pairs: (1,2) tied in the measurement; (1,3) (2,3) (1,4) (2,4) (3,4) concordant: 5 / sqrt(5 * 6) */
  assert_true(fabs(s.kendall - 5 / sqrt(30)) < 1e-12);
}

static void rows_without_a_prediction_do_not_count(void **state) {
  (void)state;
  const double measured[] = {10, 10}, predicted[] = {(double)NAN, 12};
  struct score s = score_rows(measured, predicted, 2);
  assert_int_equal(s.count, 1);
  assert_true(fabs(s.mape - 0.2) < 1e-12);
  assert_true(isnan(s.kendall));
  assert_int_equal(score_rows(measured, predicted, 0).count, 0);
}

static void a_reversed_order_has_tau_minus_one(void **state) {
  (void)state;
  const double measured[] = {1, 2, 3}, predicted[] = {9, 5, 1};
  assert_true(fabs(score_rows(measured, predicted, 3).kendall + 1) < 1e-12);
}

/* The definition, pair by pair. */
static double tau_by_pairs(const double *measured, const double *predicted, size_t count) {
  double concordant = 0, discordant = 0, tied_measured = 0, tied_predicted = 0;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = i + 1; j < count; j++) {
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

/* Few distinct values give ties in one list, in the other and in both. */
static void tau_equals_its_definition_with_ties(void **state) {
  (void)state;
  enum { ROWS = 150 };
  uint64_t random = 7;
  size_t compared = 0;
  for (unsigned distinct = 1; distinct <= 200; distinct = distinct * 2 + 1) {
    for (size_t count = 1; count <= ROWS; count = count * 2 + 1) {
      double measured[ROWS], predicted[ROWS];
      for (size_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        measured[i] = 1 + (double)((random >> 33) % distinct);
        predicted[i] = 1 + (double)((random >> 45) % (2 * distinct));
      }
      double tau = score_rows(measured, predicted, count).kendall, want = tau_by_pairs(measured, predicted, count);
      assert_true(isnan(want) ? isnan(tau) : tau == want);
      compared += isnan(want) ? 0 : 1;
    }
  }
  assert_true(compared > 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(statistics_of_four_rows),
      cmocka_unit_test(rows_without_a_prediction_do_not_count),
      cmocka_unit_test(a_reversed_order_has_tau_minus_one),
      cmocka_unit_test(tau_equals_its_definition_with_ties),
  };
  return cmocka_run_group_tests_name("measure score", tests, NULL, NULL);
}
