/* Numbers with three significant digits and a unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

#include "report/report.h"

static void assert_text(struct strbuf *out, const char *expected) {
  assert_string_equal(strbuf_text(out), expected);
  strbuf_release(out);
}

#define ASSERT_PUT(call, expected)                                                                                     \
  do {                                                                                                                 \
    struct strbuf out = {0};                                                                                           \
    call;                                                                                                              \
    assert_text(&out, expected);                                                                                       \
  } while (0)

static void test_times(void **state) {
  (void)state;
  ASSERT_PUT(report_time(&out, 0.0123), "12.3 ms");
  ASSERT_PUT(report_time(&out, 1.5e-6), "1.50 µs");
  ASSERT_PUT(report_time(&out, 2.5e-9), "2.50 ns");
  ASSERT_PUT(report_time(&out, 4e-13), "4.00e-13 s");
  ASSERT_PUT(report_time(&out, 1), "1.00 s");
  ASSERT_PUT(report_time(&out, 599), "599 s");
  /* 10 minutes, 2 hours and 2 days are where the unit changes */
  ASSERT_PUT(report_time(&out, 600), "10.0 min");
  ASSERT_PUT(report_time(&out, 7200), "2.00 h");
  ASSERT_PUT(report_time(&out, 172800), "2.00 d");
  ASSERT_PUT(report_time(&out, 0), "0 s");
  ASSERT_PUT(report_time(&out, NAN), "-");
  ASSERT_PUT(report_time(&out, INFINITY), "-");
}

static void test_rounding_carries_into_the_next_unit(void **state) {
  (void)state;
  ASSERT_PUT(report_time(&out, 0.9996), "1.00 s");
  ASSERT_PUT(report_time(&out, 0.99949), "999 ms");
  ASSERT_PUT(report_count(&out, 9996), "10.0 k");
  ASSERT_PUT(report_count(&out, 999600), "1.00 M");
  ASSERT_PUT(report_ratio(&out, 9.996), "10.0×");
  ASSERT_PUT(report_ratio(&out, 99.96), "100×");
}

static void test_bytes_and_counts(void **state) {
  (void)state;
  ASSERT_PUT(report_bytes(&out, 0), "0 B");
  ASSERT_PUT(report_bytes(&out, 999), "999 B");
  ASSERT_PUT(report_bytes(&out, 1000), "1.00 kB");
  ASSERT_PUT(report_bytes(&out, 1500000000), "1.50 GB");
  /* 2^64 - 1 = 18.4467e18 */
  ASSERT_PUT(report_bytes(&out, UINT64_MAX), "18.4 EB");
  ASSERT_PUT(report_count(&out, 6.25e12), "6.25 T");
  ASSERT_PUT(report_count(&out, 7), "7");
  ASSERT_PUT(report_count(&out, 2e21), "2.00e+21");
  ASSERT_PUT(report_count(&out, -1500), "-1.50 k");
  ASSERT_PUT(report_si(&out, 3.35232e12, "B/s"), "3.35 TB/s");
  ASSERT_PUT(report_si(&out, 0.5, "FLOP/B"), "500 mFLOP/B");
}

static void test_percent_ratio_integer(void **state) {
  (void)state;
  ASSERT_PUT(report_percent(&out, 0.423), "42 %");
  ASSERT_PUT(report_percent(&out, 1), "100 %");
  ASSERT_PUT(report_percent(&out, 0.0949), "9.5 %");
  ASSERT_PUT(report_percent(&out, 0.0996), "10 %");
  ASSERT_PUT(report_percent(&out, 0.0001), "<0.1 %");
  ASSERT_PUT(report_percent(&out, 0), "0 %");
  ASSERT_PUT(report_percent(&out, NAN), "-");
  ASSERT_PUT(report_ratio(&out, 2.314), "2.31×");
  ASSERT_PUT(report_ratio(&out, 0.5), "0.50×");
  ASSERT_PUT(report_ratio(&out, 1e7), "1.0e+07×");
  ASSERT_PUT(report_integer(&out, 0), "0");
  ASSERT_PUT(report_integer(&out, 999), "999");
  ASSERT_PUT(report_integer(&out, 1000), "1,000");
  ASSERT_PUT(report_integer(&out, UINT64_MAX), "18,446,744,073,709,551,615");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_times),
      cmocka_unit_test(test_rounding_carries_into_the_next_unit),
      cmocka_unit_test(test_bytes_and_counts),
      cmocka_unit_test(test_percent_ratio_integer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
