/* Programs as text for the tests of interp/: they hold their expectations as operations of the check dialect. */
#ifndef RIDGELINE_TESTS_INTERP_FIXTURE_H
#define RIDGELINE_TESTS_INTERP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/analyze.h"
#include "interp/interp.h"
#include "mlir/mlir.h"

/* Parses, checks and runs the entry function, which has no arguments and no results. */
static inline enum status program_run(const char *text, struct diag_list *diags) {
  struct source source = {"test.mlir", text, strlen(text)};
  struct ir_module *module = NULL;
  enum status status = mlir_parse(&source, NULL, diags, &module);
  if (status == STATUS_OK) {
    status = analyze_infer(module, diags);
  }
  if (status == STATUS_OK) {
    status = interp_run(module, interp_entry(module), NULL, NULL, 0, diags, NULL);
  }
  ir_module_free(module);
  return status;
}

/* `body` inside of a function without arguments runs, and all of its checks hold. */
static inline void assert_holds(const char *body) {
  char text[16384];
  struct diag_list diags;
  int length = snprintf(text, sizeof text, "func.func @main() {\n%s\n  func.return\n}\n", body);
  assert_true(length > 0 && (size_t)length < sizeof text);
  diag_init(&diags);
  enum status status = program_run(text, &diags);
  for (size_t i = 0; i < diags.entries.count; i++) {
    print_error("line %u: %s\n", diags.entries.data[i].line - 1, diags.entries.data[i].message);
  }
  assert_int_equal(status, STATUS_OK);
  diag_release(&diags);
}

/* `body` stops with the message `id`, or has a check that fails. */
static inline void assert_stops(const char *body, enum diag_id id) {
  char text[16384];
  struct diag_list diags;
  int length = snprintf(text, sizeof text, "func.func @main() {\n%s\n  func.return\n}\n", body);
  assert_true(length > 0 && (size_t)length < sizeof text);
  diag_init(&diags);
  assert_int_equal(program_run(text, &diags), STATUS_INPUT);
  assert_true(diags.entries.count > 0);
  assert_int_equal(diags.entries.data[0].id, id);
  diag_release(&diags);
}

#endif
