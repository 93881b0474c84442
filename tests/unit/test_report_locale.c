/* Reports under a locale with a decimal comma: numbers keep their point, in text and in JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "locale_fixture.h"
#include "report/report.h"

static void the_locale_does_not_matter(void **state) {
  (void)state;
  if (!comma_locale_enter()) {
    skip();
  }
  struct strbuf out = {0};
  report_time(&out, 0.0123);
  json_t *real = json_real(0.5), *read = json_loads("[0.25]", 0, NULL);
  char *text = json_dumps(real, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)); /* jansson's own care, relied on */
  double quarter = json_real_value(json_array_get(read, 0));
  comma_locale_leave();
  assert_string_equal(strbuf_text(&out), "12.3 ms");
  assert_string_equal(text, "0.5");
  assert_true(quarter == 0.25);
  free(text);
  json_decref(real);
  json_decref(read);
  strbuf_release(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_locale_does_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
