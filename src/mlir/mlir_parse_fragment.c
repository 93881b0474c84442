/* One attribute or type by itself, as bytecode holds those that their dialect has no encoding for.
 * Path: bytecode_entry.c → here → parse_attr, parse_type. */
#include <stdlib.h>

#include "mlir/mlir_parse.h"

/* The attribute or type and nothing behind it. */
static bool parse_all(struct parser *p, bool is_type, uint32_t *id) {
  struct ir_attr attr = {0};
  struct ir_type type = {0};
  if (!parse_intern_names(p) || !(is_type ? parse_type(p, &type) : parse_attr(p, &attr))) {
    return false;
  }
  lex_peek(&p->lx);
  *id = is_type ? type.id : attr.id;
  return p->lx.cursor == p->lx.end || parse_expected(p, "the end of the text");
}

enum status mlir_parse_fragment(struct ir_module *module, const struct source *source, bool is_type, unsigned max_depth,
                                struct diag_list *diags, uint32_t *id) {
  struct parser *p = calloc(1, sizeof *p);
  if (p == NULL) {
    module->out_of_memory = true;
    return STATUS_MEMORY;
  }
  arena_init(&p->scratch, 0);
  p->lx = (struct lexer){source->text, source->text, source->text + source->length};
  p->m = module;
  p->source = source;
  p->diags = diags;
  p->start = p->lx.cursor;
  p->max_depth = max_depth;
  parse_expansion_begin(p);
  bool ok = parse_all(p, is_type, id) && !p->failed;
  enum status status = module->out_of_memory ? STATUS_MEMORY : ok ? STATUS_OK : p->limit ? STATUS_LIMIT : STATUS_INPUT;
  parse_release(p);
  free(p);
  return status;
}
