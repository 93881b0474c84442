/* Mixed-integer programs whose answers are known: knapsacks by trying all subsets, and programs without an answer. Without
 * CBC at configure time the interface refuses, which is checked as well. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lp/lp_mip.h"

enum { ITEMS = 10, KNAPSACKS = 20 };

/* CBC's own integrality tolerance is 1e-6. */
#define TOLERANCE 1e-6

static uint32_t random_next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u; /* Numerical Recipes' constants */
  return *state >> 16;
}

static int best_subset(const int *value, const int *weight, int limit) {
  int best = 0;
  for (uint32_t subset = 0; subset < 1u << ITEMS; subset++) {
    int v = 0, w = 0;
    for (int i = 0; i < ITEMS; i++) {
      v += subset >> i & 1 ? value[i] : 0;
      w += subset >> i & 1 ? weight[i] : 0;
    }
    best = w <= limit && v > best ? v : best;
  }
  return best;
}

static void test_knapsack(void **state) {
  (void)state;
  if (!lp_mip_available()) {
    skip();
  }
  uint32_t seed = 7;
  for (int run = 0; run < KNAPSACKS; run++) {
    int value[ITEMS], weight[ITEMS];
    uint32_t variables[ITEMS];
    double weights[ITEMS];
    struct lp_mip *mip = lp_mip_new();
    assert_non_null(mip);
    for (int i = 0; i < ITEMS; i++) {
      value[i] = (int)(random_next(&seed) % 50) + 1;
      weight[i] = (int)(random_next(&seed) % 40) + 1;
      variables[i] = lp_mip_variable(mip, 0, 1, -value[i], true);
      weights[i] = weight[i];
    }
    lp_mip_row(mip, ITEMS, variables, weights, -INFINITY, 80);
    struct lp_mip_solution solution;
    assert_int_equal(lp_mip_solve(mip, 0, &solution), STATUS_OK);
    assert_true(solution.is_optimal);
    assert_false(solution.is_infeasible);
    assert_true(fabs(solution.objective + best_subset(value, weight, 80)) < TOLERANCE);
    double again = 0, carried = 0;
    for (int i = 0; i < ITEMS; i++) {
      again -= value[i] * solution.values[i];
      carried += weight[i] * solution.values[i];
    }
    assert_true(fabs(again - solution.objective) < TOLERANCE * 1000);
    assert_true(carried < 80 + TOLERANCE * 1000);
    lp_mip_free(mip);
  }
}

/* min x + y, x >= 1.5 - y, x integer, y <= 0.25: x = 2 and y = 0, or x = 1 is not enough: 1 + 0.25 < 1.5. */
static void test_mixed(void **state) {
  (void)state;
  if (!lp_mip_available()) {
    skip();
  }
  struct lp_mip *mip = lp_mip_new();
  assert_non_null(mip);
  const uint32_t v[] = {lp_mip_variable(mip, 0, 10, 1, true), lp_mip_variable(mip, 0, 0.25, 1, false)};
  lp_mip_row(mip, 2, v, (const double[]){1, 1}, 1.5, INFINITY);
  struct lp_mip_solution solution;
  assert_int_equal(lp_mip_solve(mip, 0, &solution), STATUS_OK);
  assert_true(solution.is_optimal);
  assert_true(fabs(solution.objective - 2) < TOLERANCE);
  assert_true(fabs(solution.bound - 2) < TOLERANCE);
  /* A second row makes y = 0.25 necessary: x = 2, y = 0.25. Solving again sees it. */
  lp_mip_row(mip, 2, v, (const double[]){1, 1}, 2.25, 2.5);
  assert_int_equal(lp_mip_solve(mip, 0, &solution), STATUS_OK);
  assert_true(fabs(solution.objective - 2.25) < TOLERANCE);
  assert_true(fabs(solution.values[v[0]] - 2) < TOLERANCE);
  lp_mip_free(mip);
}

static void test_no_answer(void **state) {
  (void)state;
  if (!lp_mip_available()) {
    skip();
  }
  struct lp_mip *mip = lp_mip_new();
  assert_non_null(mip);
  uint32_t x = lp_mip_variable(mip, 0, 5, 1, true);
  lp_mip_row(mip, 1, &x, (const double[]){2}, 3, 3); /* x = 1.5 */
  struct lp_mip_solution solution;
  assert_int_equal(lp_mip_solve(mip, 0, &solution), STATUS_OK);
  assert_true(solution.is_infeasible);
  assert_false(solution.is_optimal);
  lp_mip_free(mip);

  /* Only its own bounds hold x back, with and without integers. */
  for (int is_integer = 0; is_integer < 2; is_integer++) {
    mip = lp_mip_new();
    assert_non_null(mip);
    x = lp_mip_variable(mip, 0, 3, -1, is_integer);
    lp_mip_row(mip, 1, &x, (const double[]){1}, 1, INFINITY);
    assert_int_equal(lp_mip_solve(mip, 0, &solution), STATUS_OK);
    assert_true(solution.is_optimal);
    assert_true(fabs(solution.objective + 3) < TOLERANCE);
    assert_true(fabs(solution.bound + 3) < TOLERANCE);
    lp_mip_free(mip);
  }
}

static void test_absent(void **state) {
  (void)state;
  if (lp_mip_available()) {
    return;
  }
  assert_null(lp_mip_new());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_knapsack),
      cmocka_unit_test(test_mixed),
      cmocka_unit_test(test_no_answer),
      cmocka_unit_test(test_absent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
