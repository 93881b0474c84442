/* Window hits against brute force over random small windows, and closed forms for large ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/analyze.h"

/* Definition: pairs (o, k) whose read position is a multiple of the base dilation inside of the dilated input. */
static uint64_t brute_force(int64_t input, int64_t kernel, int64_t output, int64_t stride, int64_t pad, int64_t base,
                            int64_t window) {
  uint64_t hits = 0;
  for (int64_t o = 0; o < output; o++) {
    for (int64_t k = 0; k < kernel; k++) {
      int64_t at = o * stride - pad + k * window;
      hits += at >= 0 && at % base == 0 && at / base < input;
    }
  }
  return hits;
}

static uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(*state >> 33);
}

static void test_random_windows(void **state) {
  (void)state;
  uint64_t seed = 7;
  for (int i = 0; i < 300000; i++) {
    int64_t p[7]; /* input, kernel, output, stride, pad, base, window */
    static const uint32_t limits[7] = {12, 9, 12, 9, 21, 9, 9};
    for (int j = 0; j < 7; j++) {
      p[j] = (int64_t)(next_random(&seed) % limits[j]) + (j == 4 ? -10 : 1);
    }
    uint64_t expected = brute_force(p[0], p[1], p[2], p[3], p[4], p[5], p[6]);
    uint64_t found = analyze_window_hits(p[0], p[1], p[2], p[3], p[4], p[5], p[6]);
    if (found != expected) {
      fail_msg("input %d kernel %d output %d stride %d pad %d base %d window %d: %llu, expected %llu", (int)p[0],
               (int)p[1], (int)p[2], (int)p[3], (int)p[4], (int)p[5], (int)p[6], (unsigned long long)found,
               (unsigned long long)expected);
    }
  }
}

static void test_longer_windows(void **state) {
  (void)state;
  uint64_t seed = 11;
  for (int i = 0; i < 300; i++) {
    int64_t input = next_random(&seed) % 500 + 1, kernel = next_random(&seed) % 200 + 1;
    int64_t output = next_random(&seed) % 500 + 1, stride = next_random(&seed) % 60 + 1;
    int64_t pad = (int64_t)(next_random(&seed) % 400) - 200, base = next_random(&seed) % 60 + 1;
    int64_t window = next_random(&seed) % 60 + 1;
    assert_int_equal(analyze_window_hits(input, kernel, output, stride, pad, base, window),
                     brute_force(input, kernel, output, stride, pad, base, window));
  }
}

static void test_xla_cases(void **state) {
  (void)state;
  /* 3x3 SAME: 2 + 3 + 2 taps per dimension, 7 * 7 = 49 FMAs */
  assert_int_equal(analyze_window_hits(3, 3, 3, 1, 1, 1, 1), 7);
  /* ConvolutionExtreme and ConvolutionExtreme2 of hlo_cost_analysis_test.cc */
  assert_int_equal(analyze_window_hits(524288, 524288, 524288, 524287, 0, 524288, 1), 524288);
  assert_int_equal(analyze_window_hits(1, 524288, 524288, 1, 524287, 1, 1), 524288);
}

static void test_large_extents(void **state) {
  (void)state;
  const int64_t n = (int64_t)1 << 40;
  /* kernel 3, pad 1: every output has 3 taps but the first and the last, which have 2 */
  assert_int_equal(analyze_window_hits(n, 3, n, 1, 1, 1, 1), 3 * (uint64_t)n - 2);
  /* u = o*(n-1) + k is a multiple of n only for k = o (u = o*n) */
  assert_int_equal(analyze_window_hits(n, n, n, n - 1, 0, n, 1), (uint64_t)n);
  /* stride n over one element: only o = 0 and k = 0 */
  assert_int_equal(analyze_window_hits(1, n, n, n, 0, 1, 1), 1);
  /* full overlap would exceed 64 bits: 2^80 / 2 */
  assert_true(analyze_window_hits(n, n, n, 1, 0, 1, 1) == UINT64_MAX);
}

static void test_degenerate_windows(void **state) {
  (void)state;
  assert_int_equal(analyze_window_hits(0, 3, 3, 1, 0, 1, 1), 0);
  assert_int_equal(analyze_window_hits(3, 0, 3, 1, 0, 1, 1), 0);
  assert_int_equal(analyze_window_hits(3, 3, 3, 0, 0, 1, 1), 0);
  assert_int_equal(analyze_window_hits(3, 3, 3, 1, 0, -1, 1), 0);
  assert_int_equal(analyze_window_hits(3, 3, 3, 1, 0, 1, 0), 0);
  /* input entirely in the cropped part */
  assert_int_equal(analyze_window_hits(3, 1, 1, 1, -3, 1, 1), 0);
  assert_int_equal(analyze_window_hits(3, 1, 1, 1, -2, 1, 1), 1);
  /* beyond the exact range: the upper bound */
  assert_int_equal(analyze_window_hits(INT64_MAX, 2, 3, 1, 0, 1, 1), 6);
  assert_int_equal(analyze_window_hits(2, 2, 2, 1, INT64_MIN, 1, 1), 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_windows),     cmocka_unit_test(test_longer_windows),
      cmocka_unit_test(test_xla_cases),          cmocka_unit_test(test_large_extents),
      cmocka_unit_test(test_degenerate_windows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
