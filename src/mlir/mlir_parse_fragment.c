/* Attributes or a type by themselves: as bytecode holds those that their dialect has no encoding for, and as callers write
 * the inputs of a run. Path: bytecode_entry.c, api_arrays.c → here → parse_attr, parse_type. */
#include <stdlib.h>

#include "mlir/mlir_parse.h"

enum fragment { FRAGMENT_ATTRIBUTE, FRAGMENT_TYPE, FRAGMENT_LIST };

/* Attributes up to the end of the text, as an array. */
static bool parse_items(struct parser *p, struct ir_attr *list) {
  bool is_empty = lex_peek(&p->lx) == '\0' && p->lx.cursor == p->lx.end;
  while (!is_empty) {
    struct ir_attr item;
    if (!parse_attr(p, &item)) {
      return false;
    }
    if (!vec_push(&p->items, item.id)) {
      return parse_memory(p);
    }
    if (!lex_try(&p->lx, ',')) {
      break;
    }
  }
  *list = ir_attr_array(p->m, (const struct ir_attr *)p->items.data, (uint32_t)p->items.count);
  return list->id != 0 || parse_memory(p);
}

/* What is asked for and nothing behind it. */
static bool parse_all(struct parser *p, enum fragment what, uint32_t *id) {
  struct ir_attr attr = {0};
  struct ir_type type = {0};
  bool ok = parse_intern_names(p);
  if (what == FRAGMENT_TYPE) {
    ok = ok && parse_type(p, &type);
  } else if (what == FRAGMENT_LIST && lex_peek(&p->lx) != '[') {
    ok = ok && parse_items(p, &attr);
  } else {
    ok = ok && parse_attr(p, &attr);
  }
  if (!ok) {
    return false;
  }
  lex_peek(&p->lx);
  *id = what == FRAGMENT_TYPE ? type.id : attr.id;
  return p->lx.cursor == p->lx.end || parse_expected(p, "the end of the text");
}

static enum status parse_fragment(struct ir_module *module, const struct source *source, enum fragment what,
                                  unsigned max_depth, struct diag_list *diags, uint32_t *id) {
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
  bool ok = parse_all(p, what, id) && !p->failed;
  enum status status = module->out_of_memory ? STATUS_MEMORY : ok ? STATUS_OK : p->limit ? STATUS_LIMIT : STATUS_INPUT;
  parse_release(p);
  free(p);
  return status;
}

enum status mlir_parse_fragment(struct ir_module *module, const struct source *source, bool is_type, unsigned max_depth,
                                struct diag_list *diags, uint32_t *id) {
  return parse_fragment(module, source, is_type ? FRAGMENT_TYPE : FRAGMENT_ATTRIBUTE, max_depth, diags, id);
}

enum status mlir_parse_list(const struct source *source, struct diag_list *diags, struct ir_module **module,
                            struct ir_attr *list) {
  enum { MAX_DEPTH = 256 };
  *list = (struct ir_attr){0};
  *module = ir_module_new(source->length * 64 + (64u << 20));
  enum status status =
      *module ? parse_fragment(*module, source, FRAGMENT_LIST, MAX_DEPTH, diags, &list->id) : STATUS_MEMORY;
  if (status == STATUS_MEMORY) {
    diag_at(diags, DIAG_E0007_MEMORY, NULL, 0, "'%s' needs more memory than there is", source->name);
  }
  if (status != STATUS_OK) {
    ir_module_free(*module);
    *module = NULL;
  }
  return status;
}
