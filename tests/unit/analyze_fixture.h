/* Programs as text for the tests of analyze/: parse, then look at ops by name. */
#ifndef RIDGELINE_TESTS_ANALYZE_FIXTURE_H
#define RIDGELINE_TESTS_ANALYZE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/analyze.h"
#include "mlir/mlir.h"

struct program {
  struct source source;
  struct diag_list diags;
  struct ir_module *module;
};

static inline void program_parse(struct program *program, const char *text) {
  struct mlir_parse_options options = {0};
  program->source = (struct source){"test.mlir", text, strlen(text)};
  diag_init(&program->diags);
  enum status status = mlir_parse(&program->source, &options, &program->diags, &program->module);
  if (status != STATUS_OK) {
    print_error("%s\n", program->diags.entries.count > 0 ? program->diags.entries.data[0].message : "no message");
  }
  assert_int_equal(status, STATUS_OK);
}

static inline void program_release(struct program *program) {
  ir_module_free(program->module);
  diag_release(&program->diags);
}

/* First op of that name anywhere, in order of creation. */
static inline struct ir_op program_op(const struct program *program, const char *name) {
  for (uint32_t id = 1; id < program->module->ops.count; id++) {
    if (strcmp(ir_text(program->module, program->module->ops.data[id].name), name) == 0) {
      return (struct ir_op){id};
    }
  }
  fail_msg("no op '%s'", name);
  return (struct ir_op){0};
}

/* The program is refused with exactly this first message id, at this line. */
static inline void expect_error(const char *text, enum diag_id id, uint32_t line) {
  struct program program;
  program_parse(&program, text);
  enum status status = analyze_infer(program.module, &program.diags);
  if (status == STATUS_OK) {
    status = analyze_calls(program.module, &program.diags);
  }
  assert_int_equal(status, STATUS_INPUT);
  assert_true(program.diags.entries.count > 0);
  assert_string_equal(diag_code(program.diags.entries.data[0].id), diag_code(id));
  assert_int_equal(program.diags.entries.data[0].line, line);
  program_release(&program);
}

static inline void expect_valid(const char *text) {
  struct program program;
  program_parse(&program, text);
  enum status status = analyze_infer(program.module, &program.diags);
  if (status != STATUS_OK) {
    print_error("%s\n", program.diags.entries.count > 0 ? program.diags.entries.data[0].message : "no message");
  }
  assert_int_equal(status, STATUS_OK);
  assert_int_equal(analyze_calls(program.module, &program.diags), STATUS_OK);
  program_release(&program);
}

#endif
