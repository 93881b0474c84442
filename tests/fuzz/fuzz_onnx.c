/* Fuzz target: ONNX models through the importer. A model is imported or refused with a message; a module that comes out
 * passes through analyze/ without harm, and prints in the generic form, which reads back as an equal module. */
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "fuzz.h"
#include "fuzz_check.h"
#include "import/import.h"
#include "mlir/mlir.h"

enum { BUDGET_BYTES = 64 << 20, PRINTED_MAX = 4 << 20 };

/* Only well-typed modules: an importer may build what the checks then refuse, as an update that exceeds its operand. */
static enum fuzz_outcome check_print(const struct ir_module *module, struct strbuf *why) {
  struct strbuf text = {0};
  struct diag_list diags;
  struct ir_module *again = NULL;
  struct mlir_print_options options = {.form = MLIR_GENERIC};
  struct mlir_parse_options parse_options = {.memory_budget_bytes = (size_t)BUDGET_BYTES * 8};
  char where[200] = "";
  diag_init(&diags);
  mlir_print(module, module->root, &options, &text);
  struct source source = {"printed", strbuf_text(&text), text.length};
  enum fuzz_outcome outcome = FUZZ_ACCEPTED;
  if (text.length > PRINTED_MAX) {
    outcome = FUZZ_ACCEPTED;
  } else if (mlir_parse(&source, &parse_options, &diags, &again) != STATUS_OK) {
    strbuf_printf(why, "the printed text is not read: %s\n%s", diags.entries.data[0].message, strbuf_text(&text));
    outcome = FUZZ_BROKEN;
  } else if (!ir_equal(module, module->root, again, again->root, where, sizeof where)) {
    strbuf_printf(why, "printing loses something: %s\n%s", where, strbuf_text(&text));
    outcome = FUZZ_BROKEN;
  }
  ir_module_free(again);
  strbuf_release(&text);
  diag_release(&diags);
  return outcome;
}

static enum fuzz_outcome check_model(const char *bytes, size_t length, struct strbuf *why) {
  static const char *const binds[] = {"batch=2", "N=1", "x=2x3"};
  struct source source = {.name = "input", .text = bytes, .length = length};
  struct import_options options = {.memory_budget_bytes = BUDGET_BYTES, .keep_locations = true};
  struct diag_list diags;
  struct ir_module *module = NULL;
  diag_init(&diags);
  (void)import_is_onnx(bytes, length);
  enum status status = import_onnx(&source, &options, &diags, &module);
  if (status == STATUS_INPUT && diags.entries.data[0].id == DIAG_E0401_DYNAMIC) {
    diag_release(&diags);
    diag_init(&diags);
    options.binds = binds; /* those that the model does not have are refused */
    options.bind_count = length % 4;
    status = import_onnx(&source, &options, &diags, &module);
  }
  enum fuzz_outcome outcome = fuzz_check_status(status, &diags, why) ? FUZZ_REFUSED : FUZZ_BROKEN;
  if (outcome == FUZZ_REFUSED && status == STATUS_OK && analyze_infer(module, &diags) == STATUS_OK) {
    (void)analyze_calls(module, &diags);
    outcome = check_print(module, why);
  }
  ir_module_free(module);
  diag_release(&diags);
  return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *bytes = malloc(size + 1);
  if (bytes == NULL) {
    return 0;
  }
  memcpy(bytes, data, size);
  struct strbuf why = {0};
  fuzz_require(check_model(bytes, size, &why), &why);
  free(bytes);
  return 0;
}
