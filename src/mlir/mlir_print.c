/* Structure of printed text: the generic form of operations, regions, blocks, attribute dictionaries.
 * Path: struct ir_module → text; the pretty forms are in mlir_print_ops.c and mlir_print_forms.c. */
#include "mlir/mlir_print.h"

#include <stdlib.h>
#include <string.h>

#include "mlir/op_attrs.h"

enum { INDENT_WIDTH = 2 };

bool mlir_word_in(const char *words, const char *name) {
  size_t length = strlen(name);
  for (const char *at = length ? words : NULL; at && (at = strstr(at, name)) != NULL; at += length) {
    bool starts = at == words || at[-1] == ' ';
    bool ends = at[length] == '\0' || at[length] == ' ';
    if (starts && ends) {
      return true;
    }
  }
  return false;
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

void mlir_print_operands(struct mlir_printer *p, const struct ir_op_data *op, uint32_t first) {
  for (uint32_t i = first; i < op->operand_count; i++) {
    if (i > first) {
      strbuf_puts(p->out, ", ");
    }
    mlir_print_value(p, (struct ir_value){p->module->lists.data[op->operand_first + i]});
  }
}

void mlir_print_functional_type(struct mlir_printer *p, const struct ir_op_data *op) {
  const struct ir_module *m = p->module;
  strbuf_putc(p->out, '(');
  for (uint32_t i = 0; i < op->operand_count; i++) {
    if (i > 0) {
      strbuf_puts(p->out, ", ");
    }
    mlir_put_type(m, ir_value_type(m, (struct ir_value){m->lists.data[op->operand_first + i]}), p->out);
  }
  strbuf_puts(p->out, ") -> ");
  struct ir_type first = op->result_count ? ir_value_type(m, (struct ir_value){op->result_first}) : m->none_type;
  bool is_bare = op->result_count == 1 && ir_type_get(m, first)->kind != IR_TYPE_FUNCTION;
  if (!is_bare) {
    strbuf_putc(p->out, '(');
  }
  for (uint32_t i = 0; i < op->result_count; i++) {
    if (i > 0) {
      strbuf_puts(p->out, ", ");
    }
    mlir_put_type(m, ir_value_type(m, (struct ir_value){op->result_first + i}), p->out);
  }
  if (!is_bare) {
    strbuf_putc(p->out, ')');
  }
}

void mlir_print_argument(struct mlir_printer *p, struct ir_value argument) {
  mlir_print_value(p, argument);
  strbuf_puts(p->out, ": ");
  mlir_put_type(p->module, ir_value_type(p->module, argument), p->out);
}

/* mhlo still writes dense<> where stablehlo has arrays; the IR holds arrays for both. */
static void put_as_dense(const struct ir_module *m, uint32_t name, const struct ir_attr_data *a, struct strbuf *out) {
  strbuf_puts(out, ir_text(m, name));
  strbuf_puts(out, " = dense<");
  bool is_splat = a->list_count > 0;
  for (uint32_t i = 1; i < a->list_count; i++) {
    size_t size = (size_t)(a->data_size / a->list_count);
    is_splat = is_splat && memcmp(a->data, a->data + i * size, size) == 0;
  }
  if (is_splat) {
    struct ir_attr_data one = *a;
    one.list_count = 1;
    mlir_put_dense_array_items(m, &one, out);
  } else if (a->list_count > 0) {
    strbuf_putc(out, '[');
    mlir_put_dense_array_items(m, a, out);
    strbuf_putc(out, ']');
  }
  strbuf_puts(out, "> : tensor<");
  strbuf_put_i64(out, a->list_count);
  strbuf_putc(out, 'x');
  mlir_put_type(m, a->type, out);
  strbuf_putc(out, '>');
}

static void put_op_attr(struct mlir_printer *p, const struct ir_op_data *op, const uint32_t *pair,
                        const struct mlir_op_attr *row) {
  const struct ir_module *m = p->module;
  const struct ir_attr_data *a = ir_attr_get(m, (struct ir_attr){pair[1]});
  bool is_mhlo = row && row->form != MLIR_FORM_ANY && strncmp(ir_text(m, op->name), "mhlo.", 5) == 0;
  int number = mlir_attr_number(m, row, (struct ir_attr){pair[1]});
  if (is_mhlo && a->kind == IR_ATTR_DENSE_ARRAY) {
    put_as_dense(m, pair[0], a, p->out);
  } else if (number >= 0) {
    strbuf_printf(p->out, "%s = %d : i32", ir_text(m, pair[0]), number);
  } else {
    mlir_put_named_attr(m, pair[0], (struct ir_attr){pair[1]}, p->out);
  }
}

void mlir_print_attr_dict(struct mlir_printer *p, const struct ir_op_data *op, const char *elided,
                          const char *keyword) {
  const struct ir_module *m = p->module;
  bool is_open = false;
  for (uint32_t i = 0; i < op->attr_count; i++) {
    const uint32_t *pair = m->lists.data + op->attr_first + 2 * i;
    const char *name = ir_text(m, pair[0]);
    if (mlir_word_in(elided, name)) {
      continue;
    }
    const struct mlir_op_attr *row = mlir_op_attr_find((enum ir_opcode)op->opcode, name);
    if (mlir_attr_is_default(m, row, (struct ir_attr){pair[1]}, &p->out->failed)) {
      continue;
    }
    if (!is_open && keyword) {
      strbuf_putc(p->out, ' ');
      strbuf_puts(p->out, keyword);
    }
    strbuf_puts(p->out, is_open ? ", " : " {");
    is_open = true;
    put_op_attr(p, op, pair, row);
  }
  if (is_open) {
    strbuf_putc(p->out, '}');
  }
}

/* ---- regions ---------------------------------------------------------------------------------------------------- */

static void put_block_label(struct mlir_printer *p, struct ir_block block) {
  strbuf_puts(p->out, "^bb");
  strbuf_put_i64(p->out, p->block_numbers[block.id]);
}

/* "  // pred: ^bb0", "  // 2 preds: ^bb0, ^bb1", "  // no predecessors" (not behind the entry block), as in MLIR. */
static void put_predecessors(struct mlir_printer *p, struct ir_block block, bool is_entry) {
  struct edge_ends none = {0, 0, 0}, ends = p->edges.ends ? p->edges.ends[block.id] : none;
  if (ends.count == 0) {
    strbuf_puts(p->out, is_entry ? "" : "  // no predecessors");
    return;
  }
  strbuf_puts(p->out, "  // ");
  if (ends.count > 1) {
    strbuf_put_i64(p->out, ends.count);
  }
  const char *separator = ends.count > 1 ? " preds: " : "pred: ";
  for (uint32_t edge = ends.first; edge; edge = p->edges.list.data[edge - 1].next) {
    strbuf_puts(p->out, separator);
    put_block_label(p, p->edges.list.data[edge - 1].from);
    separator = ", ";
  }
}

static void print_block_header(struct mlir_printer *p, struct ir_block block, bool is_entry) {
  const struct ir_block_data *b = ir_block_get(p->module, block);
  strbuf_fill(p->out, ' ', p->indent);
  put_block_label(p, block);
  if (b->argument_count > 0) {
    strbuf_putc(p->out, '(');
    for (uint32_t i = 0; i < b->argument_count; i++) {
      if (i > 0) {
        strbuf_puts(p->out, ", ");
      }
      mlir_print_argument(p, (struct ir_value){b->argument_first + i});
    }
    strbuf_putc(p->out, ')');
  }
  strbuf_putc(p->out, ':');
  put_predecessors(p, block, is_entry);
  strbuf_putc(p->out, '\n');
}

static void print_location(struct mlir_printer *p, struct ir_attr location) {
  if (p->locations && location.id) {
    strbuf_putc(p->out, ' ');
    mlir_put_attr(p->module, location, TYPE_ALWAYS, p->out);
  }
}

static void print_block(struct mlir_printer *p, struct ir_block block, bool is_entry, bool has_header) {
  if (has_header) {
    print_block_header(p, block, is_entry);
  }
  p->indent += INDENT_WIDTH;
  for (struct ir_op op = ir_block_first(p->module, block); op.id; op = ir_op_next(p->module, op)) {
    strbuf_fill(p->out, ' ', p->indent);
    mlir_print_op(p, op);
    strbuf_putc(p->out, '\n');
  }
  p->indent -= INDENT_WIDTH;
}

/* The dialect whose prefix may be left out inside the regions of an operation. */
static const char *default_dialect_of(const struct ir_module *m, struct ir_op op) {
  switch (ir_op_code(m, op)) {
  case IR_OP_FUNC_FUNC:
    return "func.";
  case IR_OP_BUILTIN_MODULE:
    return "builtin.";
  default:
    return "";
  }
}

void mlir_print_region(struct mlir_printer *p, struct ir_region region, unsigned flags) {
  const struct ir_module *m = p->module;
  const struct ir_region_data *r = ir_region_get(m, region);
  strbuf_puts(p->out, "{\n");
  if (p->depth >= MLIR_PRINT_MAX_DEPTH) {
    p->out->failed = true;
    return;
  }
  const char *outer = p->default_dialect;
  p->default_dialect = default_dialect_of(m, r->parent);
  p->depth++;
  for (struct ir_block b = r->first; b.id; b = ir_block_get(m, b)->next) {
    const struct ir_block_data *block = ir_block_get(m, b);
    /* Without its label an empty first block would be lost: the second one's would be taken for it. */
    bool is_hidden = block->first.id == 0 && (block->next.id || (flags & REGION_EMPTY_LABEL));
    bool has_header = b.id != r->first.id || ((flags & REGION_ARGUMENTS) && block->argument_count > 0) || is_hidden;
    print_block(p, b, b.id == r->first.id, has_header);
  }
  p->depth--;
  p->default_dialect = outer;
  strbuf_fill(p->out, ' ', p->indent);
  strbuf_putc(p->out, '}');
}

/* ---- operations ------------------------------------------------------------------------------------------------- */

/* Inherent attributes have a row or are named; those of an unknown operation are told by their names. */
static bool is_property(const struct ir_module *m, const struct ir_op_data *op, uint32_t name,
                        const struct mlir_op_attr *row) {
  if (row || op->opcode != IR_OP_UNKNOWN) {
    return row != NULL;
  }
  const char *text = ir_text(m, name);
  return ((op->flags & IR_OP_PROPERTIES) && strchr(text, '.') == NULL)
         || mlir_word_in(mlir_named_attrs(ir_text(m, op->name)), text);
}

bool mlir_has_property(const struct ir_module *m, const struct ir_op_data *op) {
  for (uint32_t i = 0; i < op->attr_count; i++) {
    if (is_property(m, op, m->lists.data[op->attr_first + 2 * i], NULL)) {
      return true;
    }
  }
  return false;
}

/* Inherent attributes " <{...}>" in the order of their rows' names (the operation's own order, which is alphabetical). */
static void print_properties(struct mlir_printer *p, const struct ir_op_data *op) {
  bool is_open = false;
  for (uint32_t i = 0; i < op->attr_count; i++) {
    const uint32_t *pair = p->module->lists.data + op->attr_first + 2 * i;
    const struct mlir_op_attr *row = mlir_op_attr_find((enum ir_opcode)op->opcode, ir_text(p->module, pair[0]));
    if (is_property(p->module, op, pair[0], row)) {
      strbuf_puts(p->out, is_open ? ", " : " <{");
      is_open = true;
      put_op_attr(p, op, pair, row);
    }
  }
  if (is_open) {
    strbuf_puts(p->out, "}>");
  }
}

static void print_discardable(struct mlir_printer *p, const struct ir_op_data *op) {
  bool is_open = false;
  for (uint32_t i = 0; i < op->attr_count; i++) {
    const uint32_t *pair = p->module->lists.data + op->attr_first + 2 * i;
    const struct mlir_op_attr *row = mlir_op_attr_find((enum ir_opcode)op->opcode, ir_text(p->module, pair[0]));
    if (!is_property(p->module, op, pair[0], row)) {
      strbuf_puts(p->out, is_open ? ", " : " {");
      is_open = true;
      put_op_attr(p, op, pair, NULL);
    }
  }
  if (is_open) {
    strbuf_putc(p->out, '}');
  }
}

void mlir_print_generic_rest(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  const struct ir_op_data *data = ir_op_get(m, op);
  strbuf_putc(p->out, '(');
  mlir_print_operands(p, data, 0);
  strbuf_putc(p->out, ')');
  for (uint32_t i = 0; i < data->successor_count; i++) {
    strbuf_puts(p->out, i == 0 ? "[" : ", ");
    put_block_label(p, (struct ir_block){m->lists.data[data->successor_first + i]});
  }
  strbuf_puts(p->out, data->successor_count ? "]" : "");
  print_properties(p, data);
  for (uint32_t i = 0; i < data->region_count; i++) {
    strbuf_puts(p->out, i == 0 ? " (" : ", ");
    mlir_print_region(p, ir_op_region(m, op, i), REGION_ARGUMENTS | REGION_EMPTY_LABEL);
  }
  strbuf_puts(p->out, data->region_count ? ")" : "");
  print_discardable(p, data);
  strbuf_puts(p->out, " : ");
  mlir_print_functional_type(p, data);
}

void mlir_print_op(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  const struct ir_op_data *data = ir_op_get(m, op);
  mlir_print_results(p, data);
  /* the pretty form of a return without operands would take the results of a following line for its operands */
  bool is_misplaced = data->next.id != 0 && ir_opcode_has((enum ir_opcode)data->opcode, IR_TRAIT_TERMINATOR);
  if (p->is_generic || is_misplaced || !mlir_print_pretty(p, op)) {
    mlir_put_escaped(p->out, ir_text(m, data->name), intern_length(&m->strings, data->name));
    mlir_print_generic_rest(p, op);
  }
  print_location(p, data->location);
}

/* ---- entry points ----------------------------------------------------------------------------------------------- */

/* Blobs of dense_resource attributes, after the module. */
static void print_resources(struct mlir_printer *p) {
  const struct ir_module *m = p->module;
  if (m->resources.count < 2) {
    return;
  }
  strbuf_puts(p->out, "\n{-#\n  dialect_resources: {\n    builtin: {\n");
  for (size_t i = 0; i + 1 < m->resources.count; i += 2) {
    uint32_t name = m->resources.data[i];
    strbuf_puts(p->out, "      ");
    mlir_put_keyword(p->out, ir_text(m, name), intern_length(&m->strings, name));
    strbuf_puts(p->out, ": ");
    mlir_put_attr(m, (struct ir_attr){m->resources.data[i + 1]}, TYPE_ALWAYS, p->out);
    strbuf_puts(p->out, i + 3 < m->resources.count ? ",\n" : "\n");
  }
  strbuf_puts(p->out, "    }\n  }\n#-}\n");
}

void mlir_print(const struct ir_module *module, struct ir_op op, const struct mlir_print_options *options,
                struct strbuf *out) {
  static const struct mlir_print_options defaults = {0};
  options = options ? options : &defaults;
  struct mlir_printer p = {.module = module,
                           .out = out,
                           .is_generic = options->form == MLIR_GENERIC,
                           .locations = options->locations,
                           .default_dialect = "builtin."};
  if (mlir_names_assign(&p, op)) {
    mlir_print_op(&p, op);
    strbuf_putc(out, '\n');
    if (op.id == module->root.id) {
      print_resources(&p);
    }
  } else {
    out->failed = true;
  }
  free(p.names);
  free(p.block_numbers);
  free(p.edges.ends);
  vec_release(&p.edges.list);
}
