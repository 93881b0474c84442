/* Chip files under a locale with a decimal comma: all load without a message and give the numbers of the C locale. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hw/hw.h"
#include "locale_fixture.h"

static size_t load(struct hw_database *db) {
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(hw_database_load(db, "hardware", &diags), STATUS_OK);
  size_t messages = diags.entries.count;
  diag_release(&diags);
  return messages;
}

static void the_locale_does_not_matter(void **state) {
  (void)state;
  struct hw_database plain, comma;
  assert_int_equal(load(&plain), 0);
  if (!comma_locale_enter()) {
    hw_database_release(&plain);
    skip();
  }
  size_t messages = load(&comma);
  comma_locale_leave();
  assert_int_equal(messages, 0);
  assert_int_equal(comma.chips.count, plain.chips.count);
  size_t with_fraction = 0;
  for (size_t i = 0; i < plain.chips.count; i++) {
    const struct hw_chip *a = &plain.chips.data[i], *b = &comma.chips.data[i];
    for (int d = 0; d < DTYPE_COUNT; d++) {
      bool is_same = memcmp(&a->matrix_flops[d], &b->matrix_flops[d], sizeof a->matrix_flops[d]) == 0;
      assert_true(is_same);
    }
    with_fraction += a->matrix_flops[DTYPE_BF16] > 0;
  }
  assert_true(with_fraction > 10);
  hw_database_release(&plain);
  hw_database_release(&comma);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_locale_does_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
