/* The two steps of an import of HLO text, and how such text is recognised. */
#include "import/import.h"

#include <stdlib.h>

#include "import/hlo_build.h"

enum { DEFAULT_DEPTH = 128, BYTES_PER_BYTE = 128, BYTES_AT_LEAST = 64 << 20 };

enum status import_hlo_text(const struct source *source, const struct import_options *options, struct diag_list *diags,
                            struct ir_module **module) {
  static const struct import_options defaults = {0};
  options = options != NULL ? options : &defaults;
  *module = NULL;
  size_t budget = options->memory_budget_bytes != 0 ? options->memory_budget_bytes
                                                    : source->length * BYTES_PER_BYTE + BYTES_AT_LEAST;
  if (source->length >= UINT32_MAX) {
    diag_at(diags, DIAG_E0005_LIMIT, source, 0, "more than 4 GiB of text");
    return STATUS_LIMIT;
  }
  struct hlo_module *hlo = calloc(1, sizeof *hlo);
  if (hlo == NULL) {
    diag_at(diags, DIAG_E0007_MEMORY, source, 0, "out of memory");
    return STATUS_MEMORY;
  }
  hlo->source = source;
  hlo->diags = diags;
  hlo->max_depth = options->max_depth != 0 ? options->max_depth : DEFAULT_DEPTH;
  hlo_parse(hlo, budget);
  enum status status = hlo->is_out_of_memory ? STATUS_MEMORY : hlo->is_failed ? STATUS_INPUT : STATUS_OK;
  if (status == STATUS_MEMORY) {
    diag_at(diags, DIAG_E0005_LIMIT, source, 0, "the text needs more memory than its budget of %zu bytes", budget);
  }
  /* of a text with errors too, as far as it was read: they are all reported */
  if (status != STATUS_MEMORY && hlo->computations.count > 0 && !diag_full(diags)) {
    status = hlo_build(hlo, budget, module);
  }
  hlo_release(hlo);
  free(hlo);
  return status;
}

/* A computation without a module around it: `[ENTRY] name [(...)] [-> shape] {` and an instruction. */
static bool is_computation(struct hlo_cursor c) {
  (void)hlo_try_word(&c, "ENTRY");
  if (hlo_name(&c).length == 0) {
    return false;
  }
  if (hlo_peek(&c) == '(' && hlo_balanced(&c).length == 0) {
    return false;
  }
  if (hlo_peek(&c) != '{' && hlo_peek(&c) != '-') {
    return false; /* `func.func @f(...)` and the like */
  }
  while (c.at < c.end && *c.at != '{' && *c.at != '\n') {
    c.at++;
  }
  if (!hlo_try(&c, '{')) {
    return false;
  }
  (void)hlo_try_word(&c, "ROOT");
  if (hlo_name(&c).length == 0 || !hlo_try(&c, '=')) {
    return false;
  }
  char next = hlo_peek(&c);
  return next == '(' || (hlo_name(&c).length > 0 && c.at < c.end && *c.at == '[');
}

bool import_is_hlo_text(const char *text, size_t length) {
  struct hlo_cursor c = {text, text + length};
  return hlo_try_word(&c, "HloModule") || is_computation(c);
}
