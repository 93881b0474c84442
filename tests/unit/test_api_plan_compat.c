/* rdg_plan_compat, end to end on a list of three operators written here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ridgeline/ridgeline.h"

struct text {
  char data[1 << 16];
  size_t length;
};

static bool append(void *user, const char *piece, size_t length) {
  struct text *t = user;
  assert_true(t->length + length < sizeof t->data);
  memcpy(t->data + t->length, piece, length);
  t->length += length;
  t->data[t->length] = '\0';
  return true;
}

static void write_file(char path[static 32], const char *text) {
  strcpy(path, "/tmp/plan_compat_XXXXXX");
  const int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
  close(descriptor);
}

static const char list[] = "id,kind,dims,tensor_axes,inputs_already_on_chip,count\n"
                           "0,matmul,32x1024x1024,0;1|0;2|2;1,10,4\n"
                           "1,elementwise,32x1024,0;1|0;1|0;1,10,4\n"
                           "2,reduce,32x1024,0|0;1,1,1\n";
static const char sequence[] = "0 1 0 1 0 1 0 1 2\n";

struct fixture {
  rdg_context *ctx;
  char list[32], sequence[32];
  struct text out;
};

static int set_up(void **state) {
  static struct fixture fixture;
  memset(&fixture, 0, sizeof fixture);
  fixture.ctx = rdg_context_new(NULL);
  write_file(fixture.list, list);
  write_file(fixture.sequence, sequence);
  *state = &fixture;
  return fixture.ctx == NULL;
}

static int tear_down(void **state) {
  struct fixture *fixture = *state;
  unlink(fixture->list);
  unlink(fixture->sequence);
  rdg_context_free(fixture->ctx);
  return 0;
}

static rdg_status plan(struct fixture *f, const rdg_plan_compat_options *options, rdg_format format) {
  const rdg_sink sink = {append, &f->out};
  return rdg_plan_compat(f->ctx, f->list, f->sequence, options, format, sink);
}

static void test_designs(void **state) {
  struct fixture *f = *state;
  assert_int_equal(plan(f, NULL, RDG_FORMAT_TEXT), RDG_OK);
  assert_non_null(strstr(f->out.data, "9 operators of 3 sorts in 4 layers"));
  assert_non_null(strstr(f->out.data, "Basic *"));
  assert_non_null(strstr(f->out.data, "Static *"));
  assert_non_null(strstr(f->out.data, "Dyn *"));
  assert_non_null(strstr(f->out.data, "Full, in order *"));
  assert_non_null(strstr(f->out.data, "Ideal *"));
}

static void test_json(void **state) {
  struct fixture *f = *state;
  const rdg_plan_compat_options options = {.equal_constants = true, .layers = 3};
  assert_int_equal(plan(f, &options, RDG_FORMAT_JSON), RDG_OK);
  assert_non_null(strstr(f->out.data, "\"ridgeline-plan-compat\""));
  assert_non_null(strstr(f->out.data, "\"equal_constants\": true"));
  assert_non_null(strstr(f->out.data, "\"layers\": 3"));
}

static void test_refusals(void **state) {
  struct fixture *f = *state;
  rdg_plan_compat_options options = {.threshold = 1.5};
  assert_int_equal(plan(f, &options, RDG_FORMAT_TEXT), RDG_ERROR_INPUT);
  assert_non_null(strstr(rdg_diagnostics_text(f->ctx), "threshold"));

  options.threshold = 0.0;
  options.execution_kib = 1; /* too little for Static: a row without a time, not a failure */
  assert_int_equal(plan(f, &options, RDG_FORMAT_TEXT), RDG_OK);
  assert_non_null(strstr(f->out.data, "does not fit"));

  unlink(f->sequence);
  write_file(f->sequence, "0 1 7\n");
  assert_int_equal(plan(f, NULL, RDG_FORMAT_TEXT), RDG_ERROR_INPUT);
  rdg_diagnostic diagnostic;
  assert_true(rdg_diagnostic_get(f->ctx, 0, &diagnostic));
  assert_string_equal(diagnostic.code, "E0807");
  assert_string_equal(diagnostic.file, f->sequence);
  assert_int_equal(diagnostic.line, 1);
  assert_int_equal(diagnostic.column, 5);

  unlink(f->sequence);
  assert_int_not_equal(plan(f, NULL, RDG_FORMAT_TEXT), RDG_OK);
  assert_true(rdg_diagnostic_count(f->ctx) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_designs, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_json, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
