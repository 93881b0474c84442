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

/* Binding needs a module of its own: it changes types. */
static void bind(const char *text, size_t length) {
  struct source source = {.name = "input", .text = text, .length = length};
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL;
  if (mlir_parse(&source, NULL, &diags, &module) == STATUS_OK) {
    (void)mlir_bind(module, "arg0=2x?", &diags);
  }
  ir_module_free(module);
  diag_release(&diags);
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
    bind(text, size);
  }
  free(text);
  return 0;
}
