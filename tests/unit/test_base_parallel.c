/* parallel_for calls every index once, whatever the number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/parallel.h"

enum { COUNT = 1000 };

static void count_call(void *user, size_t i) {
  atomic_uint *calls = user;
  atomic_fetch_add(&calls[i], 1);
}

static void every_index_once(void **state) {
  (void)state;
  static const unsigned threads[] = {0, 1, 2, 7, 500}; /* more than are started, and one per core */
  for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
    for (size_t count = 0; count <= COUNT; count = count * 10 + 1) {
      atomic_uint *calls = calloc(COUNT + 1, sizeof *calls);
      assert_non_null(calls);
      parallel_for(count, threads[t], count_call, calls);
      for (size_t i = 0; i <= COUNT; i++) {
        assert_int_equal(atomic_load(&calls[i]), i < count ? 1 : 0);
      }
      free(calls);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_index_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
