/* Fuzz target: HLO text through the importer. A module that comes out passes through analyze/ without harm, prints in both
 * forms, and each form reads back as an equal module and prints the same again. */
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "fuzz.h"
#include "fuzz_check.h"
#include "import/import.h"
#include "mlir/mlir.h"

enum { BUDGET_BYTES = 64 << 20 };

static enum fuzz_outcome check_form(const struct ir_module *module, enum mlir_form form, struct strbuf *why) {
  struct strbuf first = {0}, second = {0};
  struct diag_list diags;
  struct ir_module *again = NULL;
  struct mlir_print_options options = {.form = form};
  struct mlir_parse_options parse_options = {.memory_budget_bytes = (size_t)BUDGET_BYTES * 8};
  char where[200] = "";
  diag_init(&diags);
  mlir_print(module, module->root, &options, &first);
  struct source source = {"printed", strbuf_text(&first), first.length};
  enum fuzz_outcome outcome = FUZZ_BROKEN;
  if (mlir_parse(&source, &parse_options, &diags, &again) != STATUS_OK) {
    strbuf_printf(why, "the printed text is not read: %s\n%s", diags.entries.data[0].message, strbuf_text(&first));
  } else if (!ir_equal(module, module->root, again, again->root, where, sizeof where)) {
    strbuf_printf(why, "printing loses something: %s\n%s", where, strbuf_text(&first));
  } else {
    mlir_print(again, again->root, &options, &second);
    outcome = strcmp(strbuf_text(&first), strbuf_text(&second)) == 0 ? FUZZ_ACCEPTED : FUZZ_BROKEN;
    strbuf_puts(why, outcome == FUZZ_BROKEN ? "the printed text prints differently\n" : "");
  }
  ir_module_free(again);
  strbuf_release(&first);
  strbuf_release(&second);
  diag_release(&diags);
  return outcome;
}

static enum fuzz_outcome check_text(const char *text, size_t length, struct strbuf *why) {
  struct source source = {.name = "input", .text = text, .length = length};
  struct import_options options = {.memory_budget_bytes = BUDGET_BYTES};
  struct diag_list diags;
  struct ir_module *module = NULL;
  diag_init(&diags);
  (void)import_is_hlo_text(text, length);
  enum status status = import_hlo_text(&source, &options, &diags, &module);
  enum fuzz_outcome outcome = fuzz_check_status(status, &diags, why) ? FUZZ_REFUSED : FUZZ_BROKEN;
  if (outcome == FUZZ_REFUSED && status == STATUS_OK) {
    outcome = check_form(module, MLIR_PRETTY, why);
    outcome = outcome == FUZZ_ACCEPTED ? check_form(module, MLIR_GENERIC, why) : outcome;
    if (analyze_infer(module, &diags) == STATUS_OK) {
      (void)analyze_calls(module, &diags);
    }
  }
  ir_module_free(module);
  diag_release(&diags);
  return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (text == NULL) {
    return 0;
  }
  memcpy(text, data, size);
  text[size] = '\0';
  struct strbuf why = {0};
  fuzz_require(check_text(text, size, &why), &why);
  free(text);
  return 0;
}
