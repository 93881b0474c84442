/* Exhausted memory while collectives run as messages: each allocation fails once, and for good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exhausted_memory.h"
#include "fabric_fixture.h"

struct memory_case {
  struct fabric_fixture *fixture;
  const char *algorithm;
  bool is_collapsed, has_delays;
};

static enum status run_case(const void *input, struct diag_list *diags, struct strbuf *text) {
  const struct memory_case *c = input;
  const struct collective_run_request all = fixture_all(c->fixture, WORK_ALL_REDUCE, 1 << 16, c->algorithm);
  static const double delay_s[32] = {0, 1e-6};
  const struct collective_run_options options = {
      .is_collapsed = c->is_collapsed, .chunks = 4, .device_delay_s = c->has_delays ? delay_s : NULL};
  struct collective_run_result result;
  enum status status =
      collective_run(&c->fixture->cluster, &c->fixture->slice, &all, 1, &options, diags, NULL, &result);
  if (status == STATUS_OK) {
    strbuf_printf(text, "%llu %llu", (unsigned long long)result.end_ps, (unsigned long long)result.network.sent_bytes);
  }
  return status;
}

static void test_memory(void **state) {
  (void)state;
  struct fabric_fixture *f = calloc(1, sizeof *f);
  fixture_add(f, fixture_switch, 4);
  fixture_add(f, fixture_tree, 2);
  static const char *const algorithms[] = {"ring", "tree", "direct", "hierarchical"};
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
    for (int k = 0; k < 4; k++) {
      const struct memory_case c = {f, algorithms[i], k % 2 == 1, k / 2 == 1};
      exhausted_check(algorithms[i], run_case, &c, 20);
    }
  }
  free(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
