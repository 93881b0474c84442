/* Fuzz target: MLIR bytecode through the reader, both printers, and the whole way to predictions. The inputs are few and made
 * by tests/unit/test_mlir_bytecode.c or cut down by hand; see docs/fuzzing.md. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz_check.h"
#include "mlir/bytecode.h"

enum { BUDGET_BYTES = 64 << 20 };

/* libFuzzer has no end of the process where a target could clean up: loaded once, kept reachable. */
static struct fuzz_chips chips;

/* Whatever is read can be printed. Not all that bytecode can say is valid, so its text may be refused; a generic text that is
 * read prints as itself. */
static enum fuzz_outcome check_printed(const struct ir_module *module, bool locations, struct strbuf *why) {
  struct mlir_print_options options = {.form = MLIR_PRETTY, .locations = locations};
  struct mlir_parse_options parse_options = {.memory_budget_bytes = BUDGET_BYTES, .keep_locations = locations};
  struct strbuf text = {0}, again_text = {0};
  mlir_print(module, module->root, &options, &text);
  strbuf_clear(&text);
  options.form = MLIR_GENERIC;
  mlir_print(module, module->root, &options, &text);
  struct source source = {.name = "generic", .text = strbuf_text(&text), .length = text.length};
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *again = NULL;
  bool is_same = true;
  if (mlir_parse(&source, &parse_options, &diags, &again) == STATUS_OK) {
    mlir_print(again, again->root, &options, &again_text);
    is_same =
        again_text.length == text.length && memcmp(strbuf_text(&again_text), strbuf_text(&text), text.length) == 0;
    if (!is_same) {
      strbuf_printf(why, "the generic text is no fixed point:\n%s\n--- then\n%s", strbuf_text(&text),
                    strbuf_text(&again_text));
    }
  }
  ir_module_free(again);
  diag_release(&diags);
  strbuf_release(&text);
  strbuf_release(&again_text);
  return is_same ? FUZZ_ACCEPTED : FUZZ_BROKEN;
}

static enum fuzz_outcome check_read(const char *data, size_t size, struct strbuf *why) {
  struct source source = {.name = "input", .text = data, .length = size};
  struct mlir_parse_options options = {.memory_budget_bytes = BUDGET_BYTES, .keep_locations = size % 2 == 1};
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL;
  enum status status = mlir_bytecode_read(&source, &options, &diags, &module);
  enum fuzz_outcome outcome = status == STATUS_OK ? FUZZ_ACCEPTED : FUZZ_REFUSED;
  if (!fuzz_check_status(status, &diags, why)) {
    outcome = FUZZ_BROKEN;
  } else if (outcome == FUZZ_ACCEPTED) {
    outcome = check_printed(module, options.keep_locations, why);
  }
  ir_module_free(module);
  diag_release(&diags);
  return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (chips.gpu == NULL && !fuzz_chips_load(&chips)) {
    abort();
  }
  struct strbuf why = {0};
  fuzz_require(check_read((const char *)data, size, &why), &why);
  if (!mlir_is_bytecode((const char *)data, size)) {
    return 0;
  }
  uint64_t matrix_flops = 0;
  why = (struct strbuf){0};
  fuzz_require(fuzz_check_program(&chips, (const char *)data, size, &matrix_flops, &why), &why);
  return 0;
}
