/* Fuzz target: MLIR text through lexer, parser and both printers, and pieces of a file with separators. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz_check.h"
#include "mlir/mlir.h"

/* Each piece of a split file by itself: positions must stay within the piece, which the sanitizers watch. */
static void read_pieces(const char *text, size_t length) {
  enum { PIECES_MAX = 8 };
  struct source source = {.name = "input", .text = text, .length = length};
  size_t starts[PIECES_MAX], ends[PIECES_MAX];
  size_t count = mlir_split(&source, starts, ends, PIECES_MAX);
  for (size_t i = 0; count > 1 && i < count && i < PIECES_MAX; i++) {
    struct diag_list diags;
    diag_init(&diags);
    struct ir_module *module = NULL;
    (void)mlir_parse_piece(&source, starts[i], ends[i], NULL, &diags, &module);
    ir_module_free(module);
    diag_release(&diags);
  }
}

/* Binding changes types, so it needs a module of its own. The specification stands in the text behind "bind:"; without
 * one a program with dynamic dimensions is bound all the same. A bound module is one that prints and reads back. */
static enum fuzz_outcome check_bound(const char *text, size_t length, struct strbuf *why) {
  enum { SPEC_MAX = 200 };
  char spec[SPEC_MAX] = "arg0=2x?";
  const char *given = strstr(text, "bind:");
  if (given != NULL) {
    size_t end = strcspn(given + 5, "\n");
    end = end < SPEC_MAX ? end : SPEC_MAX - 1;
    memcpy(spec, given + 5, end);
    spec[end] = '\0';
  }
  struct source source = {.name = "input", .text = text, .length = length};
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL;
  struct strbuf bound = {0};
  if (mlir_parse(&source, NULL, &diags, &module) == STATUS_OK && mlir_bind(module, spec, &diags) == STATUS_OK) {
    struct mlir_print_options generic = {.form = MLIR_GENERIC};
    mlir_print(module, module->root, &generic, &bound);
  }
  ir_module_free(module);
  diag_release(&diags);
  enum fuzz_outcome outcome = FUZZ_ACCEPTED;
  if (bound.length > 0 && fuzz_check_text(strbuf_text(&bound), bound.length, false, why) != FUZZ_ACCEPTED) {
    strbuf_printf(why, "\na bound module is not read back:\n%s", strbuf_text(&bound));
    outcome = FUZZ_BROKEN;
  }
  strbuf_release(&bound);
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
  fuzz_require(fuzz_check_text(text, size, size % 2 == 1, &why), &why);
  read_pieces(text, size);
  if (memchr(text, '?', size) != NULL) {
    why = (struct strbuf){0};
    fuzz_require(check_bound(text, size, &why), &why);
  }
  free(text);
  return 0;
}
