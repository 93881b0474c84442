/* Pretty forms with lists, regions or conditions of their own. Each function checks first that what it writes reads back
 * as the same operation; when not, it returns false and the generic form is printed. Path: called by mlir_print_ops.c. */
#include <string.h>

#include "mlir/mlir_lexer.h"
#include "mlir/mlir_print.h"

/* ---- small helpers ---------------------------------------------------------------------------------------------- */

static const struct ir_attr_data *attr_of_kind(const struct ir_module *m, struct ir_op op, const char *name,
                                               enum ir_attr_kind kind) {
  struct ir_attr attr = ir_op_attr(m, op, name);
  const struct ir_attr_data *a = ir_attr_get(m, attr);
  return attr.id && a->kind == kind ? a : NULL;
}

/* A string without a type. */
static const struct ir_attr_data *plain_string(const struct ir_module *m, struct ir_op op, const char *name) {
  const struct ir_attr_data *a = attr_of_kind(m, op, name, IR_ATTR_STRING);
  return a && !a->type.id ? a : NULL;
}

static void put_int_list(struct mlir_printer *p, const struct ir_attr_data *a) {
  strbuf_putc(p->out, '[');
  if (a) {
    mlir_put_dense_array_items(p->module, a, p->out);
  }
  strbuf_putc(p->out, ']');
}

static void put_new_line(struct mlir_printer *p) {
  strbuf_putc(p->out, '\n');
  strbuf_fill(p->out, ' ', p->indent);
}

static bool has_one_block(const struct ir_module *m, struct ir_region region) {
  struct ir_block entry = ir_region_entry(m, region);
  return entry.id && ir_block_get(m, entry)->next.id == 0;
}

/* ---- module and function ---------------------------------------------------------------------------------------- */

bool mlir_form_module(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  const struct ir_op_data *data = ir_op_get(m, op);
  struct ir_region region = ir_op_region(m, op, 0);
  if (!has_one_block(m, region) || ir_block_get(m, ir_region_entry(m, region))->argument_count > 0) {
    return false;
  }
  mlir_print_name(p, data);
  const struct ir_attr_data *name = plain_string(m, op, "sym_name");
  if (name) {
    strbuf_putc(p->out, ' ');
    mlir_put_symbol(p->out, ir_text(m, name->text), intern_length(&m->strings, name->text));
  }
  mlir_print_attr_dict(p, data, name ? "sym_name" : "", "attributes");
  strbuf_putc(p->out, ' ');
  mlir_print_region(p, region, 0);
  return true;
}

/* Dictionaries per argument or result: absent, or an array of `count` dictionaries that are not all empty. */
static bool fits_dicts(const struct ir_module *m, struct ir_op op, const char *name, uint32_t count) {
  struct ir_attr attr = ir_op_attr(m, op, name);
  const struct ir_attr_data *a = ir_attr_get(m, attr);
  if (!attr.id) {
    return true;
  }
  if (a->kind != IR_ATTR_ARRAY || a->list_count != count) {
    return false;
  }
  bool has_entries = false;
  for (uint32_t i = 0; i < count; i++) {
    const struct ir_attr_data *dict = ir_attr_get(m, (struct ir_attr){m->lists.data[a->list_first + i]});
    if (dict->kind != IR_ATTR_DICT) {
      return false;
    }
    has_entries |= dict->list_count > 0;
  }
  return has_entries;
}

static struct ir_attr dict_at(const struct ir_module *m, struct ir_op op, const char *name, uint32_t i) {
  const struct ir_attr_data *a = attr_of_kind(m, op, name, IR_ATTR_ARRAY);
  return (struct ir_attr){a ? m->lists.data[a->list_first + i] : 0};
}

/* The arguments of a body must be those of the function's type. */
static bool fits_arguments(const struct ir_module *m, struct ir_block body, const struct ir_type_data *type) {
  if (!body.id) {
    return true;
  }
  const struct ir_block_data *block = ir_block_get(m, body);
  bool fits = block->argument_count == type->input_count;
  for (uint32_t i = 0; fits && i < type->input_count; i++) {
    fits = ir_value_type(m, (struct ir_value){block->argument_first + i}).id == m->lists.data[type->first + i];
  }
  return fits;
}

static void print_func_arguments(struct mlir_printer *p, struct ir_op op, const struct ir_type_data *type,
                                 struct ir_block body) {
  const struct ir_module *m = p->module;
  strbuf_putc(p->out, '(');
  for (uint32_t i = 0; i < type->input_count; i++) {
    strbuf_puts(p->out, i > 0 ? ", " : "");
    if (body.id) {
      mlir_print_argument(p, ir_block_argument(m, body, i));
    } else {
      mlir_put_type(m, (struct ir_type){m->lists.data[type->first + i]}, p->out);
    }
    mlir_put_optional_dict(m, dict_at(m, op, "arg_attrs", i), p->out);
  }
  strbuf_putc(p->out, ')');
}

static void print_func_results(struct mlir_printer *p, struct ir_op op, const struct ir_type_data *type) {
  const struct ir_module *m = p->module;
  uint32_t first = type->first + type->input_count, count = type->count - type->input_count;
  if (count == 0) {
    return;
  }
  struct ir_type only = {m->lists.data[first]};
  bool has_parens = count > 1 || ir_type_get(m, only)->kind == IR_TYPE_FUNCTION
                    || ir_attr_get(m, dict_at(m, op, "res_attrs", 0))->list_count > 0;
  strbuf_puts(p->out, has_parens ? " -> (" : " -> ");
  for (uint32_t i = 0; i < count; i++) {
    strbuf_puts(p->out, i > 0 ? ", " : "");
    mlir_put_type(m, (struct ir_type){m->lists.data[first + i]}, p->out);
    mlir_put_optional_dict(m, dict_at(m, op, "res_attrs", i), p->out);
  }
  strbuf_puts(p->out, has_parens ? ")" : "");
}

/* A first block without operations, which the pretty form has no room for: "{ }" is refused when it is read, and so is
 * the label of a second block right behind the brace. */
static bool starts_empty(const struct ir_module *m, struct ir_block body) {
  return body.id && !ir_block_first(m, body).id;
}

/* Only these three words are read back in the pretty form; any other visibility needs the generic one. */
static bool is_visibility_word(const char *text) {
  return strcmp(text, "public") == 0 || strcmp(text, "private") == 0 || strcmp(text, "nested") == 0;
}

bool mlir_form_func(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  const struct ir_attr_data *name = plain_string(m, op, "sym_name");
  const struct ir_attr_data *function_type = attr_of_kind(m, op, "function_type", IR_ATTR_TYPE);
  const struct ir_attr_data *visibility = plain_string(m, op, "sym_visibility");
  if (!name || !function_type || (!visibility && ir_op_attr(m, op, "sym_visibility").id)
      || (visibility && !is_visibility_word(ir_text(m, visibility->text)))) {
    return false;
  }
  const struct ir_type_data *type = ir_type_get(m, function_type->type);
  struct ir_region region = ir_op_region(m, op, 0);
  struct ir_block body = ir_region_entry(m, region);
  if (type->kind != IR_TYPE_FUNCTION || starts_empty(m, body) || !fits_arguments(m, body, type)
      || !fits_dicts(m, op, "arg_attrs", type->input_count)
      || !fits_dicts(m, op, "res_attrs", type->count - type->input_count)) {
    return false;
  }
  mlir_print_name(p, ir_op_get(m, op));
  strbuf_putc(p->out, ' ');
  if (visibility) {
    strbuf_puts(p->out, ir_text(m, visibility->text));
    strbuf_putc(p->out, ' ');
  }
  mlir_put_symbol(p->out, ir_text(m, name->text), intern_length(&m->strings, name->text));
  print_func_arguments(p, op, type, body);
  print_func_results(p, op, type);
  mlir_print_attr_dict(p, ir_op_get(m, op), "sym_name function_type sym_visibility arg_attrs res_attrs", "attributes");
  if (body.id) {
    strbuf_putc(p->out, ' ');
    mlir_print_region(p, region, 0);
  }
  return true;
}

/* The text between `before` and `after` of an OPAQUE attribute; length 0 when it is none. */
static const char *opaque_inside(const struct ir_module *m, struct ir_op op, const char *name, const char *before,
                                 const char *after, size_t *length) {
  const struct ir_attr_data *a = attr_of_kind(m, op, name, IR_ATTR_OPAQUE);
  size_t start = strlen(before), end = strlen(after);
  size_t size = a ? intern_length(&m->strings, a->text) : 0;
  bool fits = size > start + end && strncmp(ir_text(m, a->text), before, start) == 0
              && strcmp(ir_text(m, a->text) + size - end, after) == 0;
  *length = fits ? size - start - end : 0;
  return fits ? ir_text(m, a->text) + start : "";
}

/* The arguments of the body as a VHLO function type begins: "(T, U) -> ", "(()) -> " without any. */
static void put_vhlo_inputs(const struct ir_module *m, const struct ir_block_data *body, struct strbuf *out) {
  strbuf_puts(out, body->argument_count == 0 ? "(()" : "(");
  for (uint32_t i = 0; i < body->argument_count; i++) {
    strbuf_puts(out, i > 0 ? ", " : "");
    mlir_put_type(m, ir_value_type(m, (struct ir_value){body->argument_first + i}), out);
  }
  strbuf_puts(out, ") -> ");
}

/* The length of one "!dialect.name" or "!dialect.name<...>" at the start of a text; 0 when there is none. */
static size_t opaque_type_length(const char *text, size_t length) {
  size_t at = length > 1 && text[0] == '!' ? 1 : 0, depth = 0;
  while (at > 0 && at < length && lex_is(text[at], LEX_WORD)) {
    at++;
  }
  if (at < 2 || at == length || text[at] != '<') {
    return at < 2 ? 0 : at;
  }
  for (; at < length && text[at] != '"'; at++) {
    depth += text[at] == '<';
    depth -= text[at] == '>' && text[at - 1] != '-';
    if (depth == 0) {
      return at + 1;
    }
  }
  return 0;
}

/* True for types that a comma and a blank part: what a list of results reads back as. */
static bool is_opaque_type_list(const char *text, size_t length) {
  for (;;) {
    size_t type = opaque_type_length(text, length);
    if (type == 0 || type == length) {
      return type > 0;
    }
    if (length - type < 2 || memcmp(text + type, ", ", 2) != 0) {
      return false;
    }
    text += type + 2;
    length -= type + 2;
  }
}

/* "vhlo.func_v1 @f(%arg0: T) -> (U, V) {...} {attributes}"; name and type are attributes in VHLO's own spelling. */
bool mlir_form_vhlo_func(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  const struct ir_op_data *data = ir_op_get(m, op);
  size_t name_length, type_length;
  const char *name = opaque_inside(m, op, "sym_name", "#vhlo.string_v1<\"", "\">", &name_length);
  const char *type = opaque_inside(m, op, "function_type", "#vhlo.type_v1<!vhlo.func_v1<", ">>", &type_length);
  struct ir_block body = data->region_count == 1 ? ir_region_entry(m, ir_op_region(m, op, 0)) : (struct ir_block){0};
  if (name_length == 0 || type_length == 0 || memchr(name, '\\', name_length) != NULL || !body.id
      || data->operand_count + data->result_count + data->successor_count > 0 || !(data->flags & IR_OP_PROPERTIES)) {
    return false;
  }
  struct strbuf inputs = {0};
  put_vhlo_inputs(m, ir_block_get(m, body), &inputs);
  bool fits = !inputs.failed && inputs.length < type_length && memcmp(inputs.data, type, inputs.length) == 0;
  p->out->failed |= inputs.failed;
  const char *results = type + inputs.length;
  size_t length = type_length - inputs.length;
  strbuf_release(&inputs);
  bool has_none = fits && length == 2 && memcmp(results, "()", 2) == 0;
  if (!fits || (!has_none && !is_opaque_type_list(results, length))) {
    return false;
  }
  mlir_print_name(p, data);
  strbuf_putc(p->out, ' ');
  mlir_put_symbol(p->out, name, name_length);
  strbuf_putc(p->out, '(');
  for (uint32_t i = 0; i < ir_block_get(m, body)->argument_count; i++) {
    strbuf_puts(p->out, i > 0 ? ", " : "");
    mlir_print_argument(p, ir_block_argument(m, body, i));
  }
  strbuf_puts(p->out, has_none ? ") -> " : ") -> (");
  strbuf_add(p->out, results, length);
  strbuf_puts(p->out, has_none ? " " : ") ");
  mlir_print_region(p, ir_op_region(m, op, 0), 0);
  mlir_print_attr_dict(p, data, "sym_name function_type", NULL);
  return true;
}

/* The operands behind the first and the results are those of the function type of the first. */
static bool fits_callee(const struct ir_module *m, const struct ir_op_data *op) {
  if (op->operand_count == 0) {
    return false;
  }
  const struct ir_type_data *type =
      ir_type_get(m, ir_value_type(m, (struct ir_value){m->lists.data[op->operand_first]}));
  bool fits = type->kind == IR_TYPE_FUNCTION && type->input_count + 1 == op->operand_count
              && type->count == type->input_count + op->result_count;
  for (uint32_t i = 0; fits && i < type->count; i++) {
    bool is_input = i < type->input_count;
    struct ir_value value = {is_input ? m->lists.data[op->operand_first + 1 + i]
                                      : op->result_first + i - type->input_count};
    fits = ir_value_type(m, value).id == m->lists.data[type->first + i];
  }
  return fits;
}

/* "call_indirect %f(%a) {...} : (T) -> U" */
bool mlir_form_call_indirect(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  const struct ir_op_data *data = ir_op_get(m, op);
  if (!fits_callee(m, data) || data->region_count + data->successor_count > 0) {
    return false;
  }
  mlir_print_name(p, data);
  strbuf_putc(p->out, ' ');
  mlir_print_value(p, ir_op_operand(m, op, 0));
  strbuf_putc(p->out, '(');
  mlir_print_operands(p, data, 1);
  strbuf_putc(p->out, ')');
  mlir_print_attr_dict(p, data, "", NULL);
  strbuf_puts(p->out, " : ");
  mlir_put_type(m, ir_value_type(m, ir_op_operand(m, op, 0)), p->out);
  return true;
}

/* ---- constant --------------------------------------------------------------------------------------------------- */

/* A value whose type is not the result's (a quantized constant) prints as "stablehlo.constant() <{...}> : () -> T". */
bool mlir_form_constant(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  const struct ir_op_data *data = ir_op_get(m, op);
  struct ir_attr value = ir_op_attr(m, op, "value");
  if (!value.id) {
    return false;
  }
  mlir_print_name(p, data);
  if (ir_attr_get(m, value)->type.id != ir_value_type(m, (struct ir_value){data->result_first}).id) {
    mlir_print_generic_rest(p, op);
    return true;
  }
  mlir_print_attr_dict(p, data, "value", NULL);
  strbuf_putc(p->out, ' ');
  mlir_put_attr(m, value, TYPE_ALWAYS, p->out);
  return true;
}

/* A constant of another dialect: tensors only, scalars would need names after their values. */
bool mlir_form_other_constant(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  const struct ir_op_data *data = ir_op_get(m, op);
  const struct ir_attr_data *value = attr_of_kind(m, op, "value", IR_ATTR_DENSE);
  bool fits = value && data->operand_count == 0 && data->result_count == 1 && data->region_count == 0
              && value->type.id == ir_value_type(m, (struct ir_value){data->result_first}).id;
  return fits && mlir_form_constant(p, op);
}

/* ---- reduce ----------------------------------------------------------------------------------------------------- */

static bool same_dialect(const struct ir_module *m, const struct ir_op_data *a, const struct ir_op_data *b) {
  const char *x = ir_text(m, a->name), *y = ir_text(m, b->name);
  size_t length = strcspn(x, ".");
  return length == strcspn(y, ".") && memcmp(x, y, length) == 0;
}

/* Operands of `op` are exactly the values from `first` on. */
static bool operands_are(const struct ir_module *m, const struct ir_op_data *op, uint32_t first, uint32_t count) {
  bool equal = op->operand_count == count;
  for (uint32_t i = 0; equal && i < count; i++) {
    equal = m->lists.data[op->operand_first + i] == first + i;
  }
  return equal;
}

/* The operation that "applies" may name: alone in the body, commutative, of one scalar type that follows from the first
 * input, fed by both arguments in order, its result returned, without attributes. Otherwise 0. */
static struct ir_op compact_reduce_op(const struct ir_module *m, struct ir_op reduce) {
  static const struct ir_op none = {0};
  const struct ir_op_data *data = ir_op_get(m, reduce);
  struct ir_region body = ir_op_region(m, reduce, 0);
  if (data->operand_count != 2 || !has_one_block(m, body)) {
    return none;
  }
  const struct ir_block_data *block = ir_block_get(m, ir_region_entry(m, body));
  struct ir_op inner = block->first, last = block->last;
  if (!inner.id || ir_op_next(m, inner).id != last.id || inner.id == last.id) {
    return none;
  }
  const struct ir_op_data *i = ir_op_get(m, inner), *r = ir_op_get(m, last);
  bool fits = ir_opcode_has((enum ir_opcode)i->opcode, IR_TRAIT_COMMUTATIVE) && same_dialect(m, data, i)
              && r->opcode == IR_OP_RETURN && same_dialect(m, data, r) && block->argument_count == 2
              && i->attr_count == 0 && r->attr_count == 0 && i->result_count == 1 && i->region_count == 0
              && operands_are(m, i, block->argument_first, 2) && operands_are(m, r, i->result_first, 1);
  if (!fits) {
    return none;
  }
  struct ir_type input = ir_value_type(m, (struct ir_value){m->lists.data[data->operand_first]});
  struct ir_type type = ir_value_type(m, (struct ir_value){i->result_first});
  const struct ir_type_data *t = ir_type_get(m, type);
  fits = t->kind == IR_TYPE_TENSOR && t->rank == 0 && t->encoding.id == 0
         && t->element.id == ir_type_get(m, input)->element.id
         && ir_value_type(m, (struct ir_value){block->argument_first}).id == type.id
         && ir_value_type(m, (struct ir_value){block->argument_first + 1}).id == type.id;
  return fits ? inner : none;
}

static void print_reducer(struct mlir_printer *p, struct ir_region region, uint32_t pairs) {
  const struct ir_block_data *block = ir_block_get(p->module, ir_region_entry(p->module, region));
  put_new_line(p);
  strbuf_puts(p->out, " reducer");
  for (uint32_t i = 0; i < pairs; i++) {
    strbuf_putc(p->out, '(');
    mlir_print_argument(p, (struct ir_value){block->argument_first + i});
    strbuf_puts(p->out, ", ");
    mlir_print_argument(p, (struct ir_value){block->argument_first + pairs + i});
    strbuf_puts(p->out, ") ");
  }
  strbuf_putc(p->out, ' ');
  mlir_print_region(p, region, 0);
}

bool mlir_form_reduce(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  const struct ir_op_data *data = ir_op_get(m, op);
  const struct ir_attr_data *dimensions = attr_of_kind(m, op, "dimensions", IR_ATTR_DENSE_ARRAY);
  struct ir_region region = ir_op_region(m, op, 0);
  uint32_t pairs = data->operand_count / 2;
  if (!dimensions || ir_type_get(m, dimensions->type)->dtype != DTYPE_I64 || pairs == 0 || data->operand_count % 2 != 0
      || !has_one_block(m, region)
      || ir_block_get(m, ir_region_entry(m, region))->argument_count != data->operand_count) {
    return false;
  }
  mlir_print_name(p, data);
  for (uint32_t i = 0; i < pairs; i++) {
    strbuf_puts(p->out, i > 0 ? ", (" : "(");
    mlir_print_value(p, ir_op_operand(m, op, i));
    strbuf_puts(p->out, " init: ");
    mlir_print_value(p, ir_op_operand(m, op, pairs + i));
    strbuf_putc(p->out, ')');
  }
  struct ir_op inner = compact_reduce_op(m, op);
  if (inner.id) {
    strbuf_puts(p->out, " applies ");
    strbuf_puts(p->out, ir_text(m, ir_op_get(m, inner)->name));
  }
  strbuf_puts(p->out, " across dimensions = ");
  put_int_list(p, dimensions);
  mlir_print_attr_dict(p, data, "dimensions", NULL);
  strbuf_puts(p->out, " : ");
  mlir_print_functional_type(p, data);
  if (!inner.id) {
    print_reducer(p, region, pairs);
  }
  return true;
}

/* ---- while ------------------------------------------------------------------------------------------------------ */

/* One type list stands for operands, results and the arguments of both regions. */
static bool while_types_agree(const struct ir_module *m, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(m, op);
  if (data->result_count != data->operand_count) {
    return false;
  }
  for (uint32_t r = 0; r < 2; r++) {
    struct ir_region region = ir_op_region(m, op, r);
    if (!has_one_block(m, region)
        || ir_block_get(m, ir_region_entry(m, region))->argument_count != data->operand_count) {
      return false;
    }
    for (uint32_t i = 0; i < data->operand_count; i++) {
      uint32_t type = ir_value_type(m, ir_op_operand(m, op, i)).id;
      if (ir_value_type(m, ir_op_result(m, op, i)).id != type
          || ir_value_type(m, ir_block_argument(m, ir_region_entry(m, region), i)).id != type) {
        return false;
      }
    }
  }
  return true;
}

bool mlir_form_while(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  const struct ir_op_data *data = ir_op_get(m, op);
  if (!while_types_agree(m, op)) {
    return false;
  }
  mlir_print_name(p, data);
  struct ir_region condition = ir_op_region(m, op, 0), body = ir_op_region(m, op, 1);
  strbuf_putc(p->out, '(');
  for (uint32_t i = 0; i < data->operand_count; i++) {
    strbuf_puts(p->out, i > 0 ? ", " : "");
    mlir_print_value(p, ir_block_argument(m, ir_region_entry(m, body), i));
    strbuf_puts(p->out, " = ");
    mlir_print_value(p, ir_op_operand(m, op, i));
  }
  strbuf_putc(p->out, ')');
  for (uint32_t i = 0; i < data->operand_count; i++) {
    strbuf_puts(p->out, i > 0 ? ", " : " : ");
    mlir_put_type(m, ir_value_type(m, ir_op_operand(m, op, i)), p->out);
  }
  mlir_print_attr_dict(p, data, "", "attributes");
  put_new_line(p);
  strbuf_puts(p->out, "cond ");
  mlir_print_region(p, condition, 0);
  strbuf_puts(p->out, " do ");
  mlir_print_region(p, body, 0);
  return true;
}

/* ---- scan ------------------------------------------------------------------------------------------------------- */

/* The attribute `name` is array<i32: first, second>. */
static bool are_segments(const struct ir_module *m, struct ir_op op, const char *name, uint32_t first,
                         uint32_t second) {
  const struct ir_attr_data *a = attr_of_kind(m, op, name, IR_ATTR_DENSE_ARRAY);
  struct ir_attr attr = ir_op_attr(m, op, name);
  return a && a->list_count == 2 && ir_type_get(m, a->type)->dtype == DTYPE_I32 && ir_attr_int_at(m, attr, 0) == first
         && ir_attr_int_at(m, attr, 1) == second;
}

/* "(inputs) inits (initial values) dimension=D  attributes {...} {...} : functional type"; the sizes of the two groups of
 * operands follow from the text, and there are as many carried results as initial values. */
bool mlir_form_scan(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  const struct ir_op_data *data = ir_op_get(m, op);
  const struct ir_attr_data *dimension = attr_of_kind(m, op, "dimension", IR_ATTR_INTEGER);
  struct ir_attr sizes = ir_op_attr(m, op, "operandSegmentSizes");
  bool has_sizes = attr_of_kind(m, op, "operandSegmentSizes", IR_ATTR_DENSE_ARRAY) && ir_attr_length(m, sizes) == 2;
  int64_t inputs = has_sizes ? ir_attr_int_at(m, sizes, 0) : -1;
  int64_t inits = has_sizes ? ir_attr_int_at(m, sizes, 1) : -1;
  if (!dimension || ir_type_get(m, dimension->type)->dtype != DTYPE_I64 || inputs < 0 || inits < 0
      || inputs > data->operand_count || inputs + inits != data->operand_count || inits > data->result_count
      || !are_segments(m, op, "operandSegmentSizes", (uint32_t)inputs, (uint32_t)inits)
      || !are_segments(m, op, "resultSegmentSizes", data->result_count - (uint32_t)inits, (uint32_t)inits)) {
    return false;
  }
  mlir_print_name(p, data);
  for (uint32_t i = 0; i < data->operand_count; i++) {
    strbuf_puts(p->out, i == inputs ? ") inits (" : i > 0 ? ", " : "(");
    mlir_print_value(p, ir_op_operand(m, op, i));
  }
  strbuf_puts(p->out, inits == 0 ? ") inits () dimension=" : ") dimension=");
  strbuf_put_i64(p->out, dimension->integer);
  strbuf_putc(p->out, ' ');
  mlir_print_attr_dict(p, data, "dimension operandSegmentSizes resultSegmentSizes", "attributes");
  strbuf_putc(p->out, ' ');
  mlir_print_region(p, ir_op_region(m, op, 0), REGION_ARGUMENTS);
  strbuf_puts(p->out, " : ");
  mlir_print_functional_type(p, data);
  return true;
}

/* ---- parts of formats ------------------------------------------------------------------------------------------- */

static bool is_i64s(const struct ir_module *m, struct ir_attr attr) {
  const struct ir_attr_data *a = ir_attr_get(m, attr);
  return a->kind == IR_ATTR_DENSE_ARRAY && ir_type_get(m, a->type)->dtype == DTYPE_I64;
}

/* The attribute is #dialect.mnemonic<...> of the dialect of the operation. */
static bool is_own_struct(const struct ir_module *m, struct ir_op op, struct ir_attr attr, const char *mnemonic) {
  const struct ir_attr_data *a = ir_attr_get(m, attr);
  const char *dialect = ir_text(m, ir_op_get(m, op)->name);
  size_t length = strcspn(dialect, ".");
  const char *name = attr.id && a->kind == IR_ATTR_STRUCT ? ir_text(m, a->text) : "";
  return strncmp(name, dialect, length) == 0 && name[length] == '.' && strcmp(name + length + 1, mnemonic) == 0;
}

/* [start:limit:stride, ...] */
bool mlir_form_slice_ranges(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  struct ir_attr start = ir_op_attr(m, op, "start_indices"), limit = ir_op_attr(m, op, "limit_indices");
  struct ir_attr stride = ir_op_attr(m, op, "strides");
  bool fits = is_i64s(m, start) && is_i64s(m, limit) && is_i64s(m, stride);
  uint64_t count = fits ? ir_attr_length(m, start) : 0;
  if (!fits || ir_attr_length(m, limit) != count || ir_attr_length(m, stride) != count) {
    return false;
  }
  strbuf_putc(p->out, '[');
  for (uint64_t i = 0; i < count; i++) {
    strbuf_puts(p->out, i > 0 ? ", " : "");
    strbuf_put_i64(p->out, ir_attr_int_at(m, start, i));
    strbuf_putc(p->out, ':');
    strbuf_put_i64(p->out, ir_attr_int_at(m, limit, i));
    int64_t step = ir_attr_int_at(m, stride, i);
    if (step != 1) {
      strbuf_putc(p->out, ':');
      strbuf_put_i64(p->out, step);
    }
  }
  strbuf_putc(p->out, ']');
  return true;
}

static bool field_list(const struct ir_module *m, struct ir_attr attr, const char *name,
                       const struct ir_attr_data **list) {
  struct ir_attr field = ir_attr_field(m, attr, name);
  const struct ir_attr_data *a = ir_attr_get(m, field);
  *list = field.id ? a : NULL;
  return !field.id || a->kind == IR_ATTR_DENSE_ARRAY;
}

/* "batching_dims = [0] x [0], contracting_dims = [2] x [1]" */
bool mlir_form_dot_dimensions(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  struct ir_attr dims = ir_op_attr(m, op, "dot_dimension_numbers");
  const struct ir_attr_data *left_batch, *right_batch, *left, *right;
  if (!is_own_struct(m, op, dims, "dot") || !field_list(m, dims, "lhs_batching_dimensions", &left_batch)
      || !field_list(m, dims, "rhs_batching_dimensions", &right_batch)
      || !field_list(m, dims, "lhs_contracting_dimensions", &left)
      || !field_list(m, dims, "rhs_contracting_dimensions", &right)) {
    return false;
  }
  if ((left_batch && left_batch->list_count) || (right_batch && right_batch->list_count)) {
    strbuf_puts(p->out, "batching_dims = ");
    put_int_list(p, left_batch);
    strbuf_puts(p->out, " x ");
    put_int_list(p, right_batch);
    strbuf_puts(p->out, ", ");
  }
  strbuf_puts(p->out, "contracting_dims = ");
  put_int_list(p, left);
  strbuf_puts(p->out, " x ");
  put_int_list(p, right);
  return true;
}

bool mlir_is_own_enum(const struct ir_module *m, const struct ir_op_data *op, const struct ir_attr_data *attr,
                      const char *mnemonic, size_t mnemonic_length) {
  const char *name = ir_text(m, op->name), *dot = strchr(name, '.');
  size_t length = dot != NULL ? (size_t)(dot - name) + 1 : 0;
  const char *text = attr->kind == IR_ATTR_ENUM ? ir_text(m, attr->text) : "";
  return length > 0 && attr->kind == IR_ATTR_ENUM && strncmp(text, name, length) == 0
         && strlen(text + length) == mnemonic_length && memcmp(text + length, mnemonic, mnemonic_length) == 0;
}

/* ", precision = [DEFAULT, HIGHEST]", nothing when the attribute is absent. */
bool mlir_form_precision(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  struct ir_attr attr = ir_op_attr(m, op, "precision_config");
  if (!attr.id) {
    return true;
  }
  const struct ir_attr_data *a = ir_attr_get(m, attr);
  if (a->kind != IR_ATTR_ARRAY) {
    return false;
  }
  strbuf_puts(p->out, ", precision = [");
  for (uint32_t i = 0; i < a->list_count; i++) {
    const struct ir_attr_data *item = ir_attr_get(m, (struct ir_attr){m->lists.data[a->list_first + i]});
    if (!mlir_is_own_enum(m, ir_op_get(m, op), item, "precision", strlen("precision"))) {
      return false;
    }
    strbuf_puts(p->out, i > 0 ? ", " : "");
    strbuf_puts(p->out, ir_text(m, item->text2));
  }
  strbuf_putc(p->out, ']');
  return true;
}

/* ", algorithm = <lhs_precision_type = tf32, ...>", nothing when the attribute is absent. */
bool mlir_form_algorithm(struct mlir_printer *p, struct ir_op op) {
  struct ir_attr attr = ir_op_attr(p->module, op, "algorithm");
  if (!attr.id) {
    return true;
  }
  if (!is_own_struct(p->module, op, attr, "dot_algorithm")) {
    return false;
  }
  strbuf_puts(p->out, ", algorithm = <");
  mlir_put_struct_fields(p->module, attr, p->out);
  strbuf_putc(p->out, '>');
  return true;
}

/* [[low, high], ...] of a tensor<Nx2xi64>. */
static bool put_padding(struct mlir_printer *p, struct ir_attr attr) {
  const struct ir_module *m = p->module;
  const struct ir_attr_data *a = ir_attr_get(m, attr);
  const struct ir_type_data *t = ir_type_get(m, a->type);
  if (a->kind != IR_ATTR_DENSE || t->kind != IR_TYPE_TENSOR || t->dtype != DTYPE_I64 || t->rank != 2
      || t->encoding.id != 0 || ir_type_dims(m, a->type)[1] != 2) {
    return false;
  }
  strbuf_putc(p->out, '[');
  uint64_t count = (uint64_t)ir_type_dims(m, a->type)[0];
  for (uint64_t i = 0; i < count; i++) {
    strbuf_puts(p->out, i > 0 ? ", [" : "[");
    strbuf_put_i64(p->out, ir_attr_int_at(m, attr, 2 * i));
    strbuf_puts(p->out, ", ");
    strbuf_put_i64(p->out, ir_attr_int_at(m, attr, 2 * i + 1));
    strbuf_putc(p->out, ']');
  }
  strbuf_putc(p->out, ']');
  return true;
}

/* "[true, false]"; mhlo writes "[1, 0]". */
static void put_reversal(struct mlir_printer *p, struct ir_op op, const struct ir_attr_data *a) {
  bool is_mhlo = strncmp(ir_text(p->module, ir_op_get(p->module, op)->name), "mhlo.", 5) == 0;
  if (!is_mhlo) {
    put_int_list(p, a);
    return;
  }
  for (uint32_t i = 0; i < a->list_count; i++) {
    strbuf_puts(p->out, i > 0 ? ", " : "[");
    strbuf_putc(p->out, a->data[i] ? '1' : '0');
  }
  strbuf_puts(p->out, a->list_count > 0 ? "]" : "[]");
}

static bool put_window(struct mlir_printer *p, struct ir_op op) {
  static const struct {
    const char *attribute, *keyword;
    uint8_t dtype; /* of array<>; NONE: the padding */
  } parts[] = {{"window_strides", "stride", DTYPE_I64},
               {"padding", "pad", DTYPE_NONE},
               {"lhs_dilation", "lhs_dilate", DTYPE_I64},
               {"rhs_dilation", "rhs_dilate", DTYPE_I64},
               {"window_reversal", "reverse", DTYPE_I1}};
  const char *separator = "";
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    struct ir_attr attr = ir_op_attr(p->module, op, parts[i].attribute);
    if (!attr.id) {
      continue;
    }
    strbuf_puts(p->out, separator);
    separator = ", ";
    strbuf_puts(p->out, parts[i].keyword);
    strbuf_puts(p->out, " = ");
    const struct ir_attr_data *a = ir_attr_get(p->module, attr);
    if (parts[i].dtype == DTYPE_NONE) {
      if (!put_padding(p, attr)) {
        return false;
      }
    } else if (a->kind != IR_ATTR_DENSE_ARRAY || ir_type_get(p->module, a->type)->dtype != parts[i].dtype) {
      return false;
    } else if (parts[i].dtype == DTYPE_I1) {
      put_reversal(p, op, a);
    } else {
      put_int_list(p, a);
    }
  }
  return true;
}

/* "[b, 0, f]x[0, i, o]->[b, 0, f], window = {...}" */
bool mlir_form_convolution(struct mlir_printer *p, struct ir_op op) {
  struct ir_attr dims = ir_op_attr(p->module, op, "dimension_numbers");
  if (!is_own_struct(p->module, op, dims, "conv") || !mlir_put_conv_dimensions(p->module, dims, p->out)) {
    return false;
  }
  strbuf_puts(p->out, ", window = {");
  if (!put_window(p, op)) {
    return false;
  }
  strbuf_putc(p->out, '}');
  return true;
}

/* " ({...}, {...})", nothing without regions. */
bool mlir_form_regions(struct mlir_printer *p, struct ir_op op) {
  uint32_t count = ir_op_get(p->module, op)->region_count;
  for (uint32_t i = 0; i < count; i++) {
    strbuf_puts(p->out, i > 0 ? ", " : " (");
    mlir_print_region(p, ir_op_region(p->module, op, i), REGION_ARGUMENTS);
  }
  strbuf_puts(p->out, count > 0 ? ")" : "");
  return true;
}

/* "(%arg1: T, ...) {...}": the only region, its arguments without a block label. */
bool mlir_form_body(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  struct ir_region region = ir_op_region(m, op, 0);
  if (!has_one_block(m, region)) {
    return false;
  }
  const struct ir_block_data *block = ir_block_get(m, ir_region_entry(m, region));
  strbuf_putc(p->out, '(');
  for (uint32_t i = 0; i < block->argument_count; i++) {
    strbuf_puts(p->out, i > 0 ? ", " : "");
    mlir_print_argument(p, (struct ir_value){block->argument_first + i});
  }
  strbuf_puts(p->out, ") ");
  mlir_print_region(p, region, 0);
  return true;
}
