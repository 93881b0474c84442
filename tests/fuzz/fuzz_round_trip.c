/* Properties of texts (fuzz_check.h): what reads must print, and read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_check.h"
#include "fuzz_written.h"
#include "mlir/mlir.h"

enum { PARSE_BUDGET_BYTES = 64 << 20 }; /* see fuzz_check.c */

bool fuzz_check_status(enum status status, const struct diag_list *diags, struct strbuf *why) {
  if ((status == STATUS_OK) != (diags->error_count == 0)) {
    strbuf_printf(why, "status %d with %zu errors", (int)status, diags->error_count);
    return false;
  }
  return true;
}

void fuzz_require(enum fuzz_outcome outcome, struct strbuf *why) {
  if (outcome == FUZZ_BROKEN) {
    (void)fprintf(stderr, "violated: %s\n", strbuf_text(why));
    abort();
  }
  strbuf_release(why);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static enum status read_module(const struct source *source, bool keep_locations, struct diag_list *diags,
                               struct ir_module **module) {
  struct mlir_parse_options options = {.memory_budget_bytes = PARSE_BUDGET_BYTES, .keep_locations = keep_locations};
  return mlir_parse(source, &options, diags, module);
}

static void first_message(const struct diag_list *diags, struct strbuf *out) {
  if (diags->entries.count > 0) {
    diag_format(&diags->entries.data[0], out);
  }
}

/* `text` came from the printer: it must read back as `module` and print as itself. */
static bool check_printed(const struct ir_module *module, const struct mlir_print_options *options,
                          const struct strbuf *text, struct strbuf *why) {
  const char *form = options->form == MLIR_PRETTY ? "pretty" : "generic";
  struct source source = {.name = form, .text = strbuf_text(text), .length = text->length};
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *again = NULL;
  bool is_good = false;
  char where[256] = "";
  struct strbuf second = {0};
  if (read_module(&source, options->locations, &diags, &again) != STATUS_OK) {
    strbuf_printf(why, "the %s text is refused: ", form);
    first_message(&diags, why);
  } else if (!ir_equal(module, module->root, again, again->root, where, sizeof where)) {
    strbuf_printf(why, "the %s text reads as another module: %s", form, where);
  } else {
    mlir_print(again, again->root, options, &second);
    is_good = second.length == text->length && memcmp(strbuf_text(&second), strbuf_text(text), text->length) == 0;
    if (!is_good) {
      strbuf_printf(why, "the %s text is no fixed point:\n%s\n--- then\n%s", form, strbuf_text(text),
                    strbuf_text(&second));
    }
  }
  strbuf_release(&second);
  ir_module_free(again);
  diag_release(&diags);
  return is_good;
}

enum fuzz_outcome fuzz_check_text(const char *text, size_t length, bool keep_locations, struct strbuf *why) {
  struct source source = {.name = "input", .text = text, .length = length};
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL;
  enum status status = read_module(&source, keep_locations, &diags, &module);
  enum fuzz_outcome outcome = status == STATUS_OK ? FUZZ_ACCEPTED : FUZZ_REFUSED;
  if (!fuzz_check_status(status, &diags, why)) {
    outcome = FUZZ_BROKEN;
  } else if (outcome == FUZZ_REFUSED) {
    first_message(&diags, why);
  }
  for (int form = MLIR_PRETTY; form <= MLIR_GENERIC && outcome == FUZZ_ACCEPTED; form++) {
    struct mlir_print_options options = {.form = (enum mlir_form)form, .locations = keep_locations};
    struct strbuf printed = {0};
    mlir_print(module, module->root, &options, &printed);
    if (!check_printed(module, &options, &printed, why)) {
      outcome = FUZZ_BROKEN;
    }
    strbuf_release(&printed);
  }
  if (outcome == FUZZ_ACCEPTED && fuzz_check_written(module, why) == FUZZ_BROKEN) {
    outcome = FUZZ_BROKEN;
  }
  ir_module_free(module);
  diag_release(&diags);
  return outcome;
}
