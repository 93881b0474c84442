/* HLO text for the tests of import/: import, check, print. */
#ifndef RIDGELINE_TESTS_IMPORT_FIXTURE_H
#define RIDGELINE_TESTS_IMPORT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/analyze.h"
#include "import/import.h"
#include "mlir/mlir.h"

struct imported {
  struct source source;
  struct diag_list diags;
  struct ir_module *module;
  struct strbuf text; /* pretty */
};

static inline void imported_complain(const struct imported *program) {
  struct strbuf text = {0};
  for (size_t i = 0; i < program->diags.entries.count; i++) {
    diag_format(&program->diags.entries.data[i], &text);
  }
  print_error("%s\n", strbuf_text(&text));
  strbuf_release(&text);
}

/* The printed text reads back as an equal module and prints the same. */
static inline void imported_expect_stable(const struct imported *program, enum mlir_form form) {
  struct strbuf first = {0}, second = {0};
  struct diag_list diags;
  struct ir_module *again = NULL;
  struct mlir_print_options options = {.form = form};
  char where[200];
  diag_init(&diags);
  mlir_print(program->module, program->module->root, &options, &first);
  struct source source = {"printed", strbuf_text(&first), first.length};
  if (mlir_parse(&source, NULL, &diags, &again) != STATUS_OK) {
    fail_msg("the printed text is not read: %s\n%s", diags.entries.data[0].message, strbuf_text(&first));
  }
  if (!ir_equal(program->module, program->module->root, again, again->root, where, sizeof where)) {
    fail_msg("printing loses something: %s", where);
  }
  mlir_print(again, again->root, &options, &second);
  assert_string_equal(strbuf_text(&first), strbuf_text(&second));
  strbuf_release(&first);
  strbuf_release(&second);
  ir_module_free(again);
  diag_release(&diags);
}

/* Imports a text that must be right: it passes the checks of analyze/ and is at a fixed point in both forms. */
static inline void imported_open(struct imported *program, const char *name, const char *text) {
  *program = (struct imported){.source = {name, text, strlen(text)}};
  diag_init(&program->diags);
  assert_true(import_is_hlo_text(text, strlen(text)));
  if (import_hlo_text(&program->source, NULL, &program->diags, &program->module) != STATUS_OK
      || analyze_infer(program->module, &program->diags) != STATUS_OK
      || analyze_calls(program->module, &program->diags) != STATUS_OK) {
    imported_complain(program);
    fail_msg("%s is not imported", name);
  }
  mlir_print(program->module, program->module->root, NULL, &program->text);
  imported_expect_stable(program, MLIR_PRETTY);
  imported_expect_stable(program, MLIR_GENERIC);
}

static inline void imported_close(struct imported *program) {
  ir_module_free(program->module);
  diag_release(&program->diags);
  strbuf_release(&program->text);
}

static inline uint32_t imported_count(const struct imported *program, enum ir_opcode opcode) {
  uint32_t count = 0;
  for (uint32_t id = 1; id < program->module->ops.count; id++) {
    count += program->module->ops.data[id].opcode == opcode;
  }
  return count;
}

/* First op of the kind, in order of creation. */
static inline struct ir_op imported_find(const struct imported *program, enum ir_opcode opcode) {
  for (uint32_t id = 1; id < program->module->ops.count; id++) {
    if (program->module->ops.data[id].opcode == opcode) {
      return (struct ir_op){id};
    }
  }
  fail_msg("no '%s'", ir_opcode_info(opcode)->name);
  return (struct ir_op){0};
}

#endif
