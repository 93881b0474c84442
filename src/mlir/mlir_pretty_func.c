/* Pretty forms of modules, functions and calls, and the few forms of other dialects that exported programs contain. Path:
 * mlir_parse.c → here. */
#include "mlir/mlir_parse.h"

static bool optional_visibility(struct parser *p) {
  static const char *const words[] = {"private", "public", "nested"};
  for (int i = 0; i < 3; i++) {
    if (lex_try_word(&p->lx, words[i], strlen(words[i]))) {
      return parse_push_attr(p, NAME_sym_visibility,
                             ir_attr_string(p->m, words[i], strlen(words[i]), (struct ir_type){0}));
    }
  }
  return true;
}

static bool optional_attributes(struct parser *p) {
  return !LEX_TRY_WORD(&p->lx, "attributes") || parse_attr_entries(p);
}

bool parse_pretty_module(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  struct ir_attr name;
  if (!optional_visibility(p)
      || (lex_peek(&p->lx) == '@' && (!parse_symbol(p, true, &name) || !parse_push_attr(p, NAME_sym_name, name)))
      || !optional_attributes(p)) {
    return false;
  }
  return parse_region_with_arguments(p, op, p->results.count, p->types.count, true);
}

/* ---- func.func -------------------------------------------------------------------------------------------------------- */

/* {attributes} of an argument or result as a dictionary, pushed on p->items; absent ones are empty. */
static bool value_attributes(struct parser *p, bool *any) {
  struct ir_attr dict;
  if (lex_peek(&p->lx) == '{') {
    if (!parse_attr(p, &dict)) {
      return false;
    }
    *any |= ir_attr_get(p->m, dict)->list_count != 0;
  } else {
    dict = ir_attr_dict(p->m, NULL, 0);
  }
  return parse_made(p, dict) && (vec_push(&p->items, dict.id) ? true : parse_memory(p));
}

/* `(%a: T {..} loc(..), ...)` or, for declarations and where a label names the arguments, `(T {..}, ...)`: types on
 * p->types, names on p->results. */
static bool arguments(struct parser *p, bool *any) {
  struct open_mark mark = {p->lx.cursor, "arguments", 0};
  struct ir_attr location;
  if (!parse_char(p, '(', "'(' and the arguments")) {
    return false;
  }
  if (lex_try(&p->lx, ')')) {
    return true;
  }
  if (!vec_push(&p->open, mark)) {
    return parse_memory(p);
  }
  bool has_names = lex_peek(&p->lx) == '%';
  do {
    struct ir_type type;
    if (has_names != (lex_peek(&p->lx) == '%')) {
      return parse_expected(p, has_names ? "a name, as the argument before has" : "a type, as the argument before is");
    }
    if (lex_try(&p->lx, '%')) {
      struct result_name name = {name_scan(&p->lx), 1};
      if (name.key.length == 0 || !parse_char(p, ':', "':' and the type of the argument")) {
        return parse_expected(p, "a name after '%'");
      }
      if (!vec_push(&p->results, name)) {
        return parse_memory(p);
      }
    }
    if (!parse_type(p, &type) || !parse_push_type(p, type) || !value_attributes(p, any)
        || !parse_optional_loc(p, &location)) {
      return false;
    }
  } while (lex_try(&p->lx, ','));
  p->open.count--;
  return parse_char(p, ')', "',' or ')' after an argument");
}

/* `-> T`, `-> (T {..}, U)`, or nothing. */
static bool results(struct parser *p, bool *any) {
  struct ir_attr location;
  if (!lex_try_arrow(&p->lx)) {
    return true;
  }
  struct ir_type type;
  if (!lex_try(&p->lx, '(')) {
    struct ir_attr none = ir_attr_dict(p->m, NULL, 0);
    return parse_type(p, &type) && parse_push_type(p, type) && parse_made(p, none)
           && (vec_push(&p->items, none.id) ? true : parse_memory(p));
  }
  if (lex_try(&p->lx, ')')) {
    return true;
  }
  do {
    if (!parse_type(p, &type) || !parse_push_type(p, type) || !value_attributes(p, any)
        || !parse_optional_loc(p, &location)) {
      return false;
    }
  } while (lex_try(&p->lx, ','));
  return parse_char(p, ')', "',' or ')' after a result");
}

/* A signature: what was pushed since these marks. */
struct signature {
  size_t names, types, items;
  uint32_t inputs;
  bool any_argument, any_result;
};

static bool read_signature(struct parser *p, struct signature *s) {
  *s = (struct signature){.names = p->results.count, .types = p->types.count, .items = p->items.count};
  if (!arguments(p, &s->any_argument)) {
    return false;
  }
  s->inputs = (uint32_t)(p->types.count - s->types);
  return results(p, &s->any_result);
}

static bool signature_attrs(struct parser *p, const struct signature *s, enum parse_name argument_name,
                            enum parse_name result_name) {
  const struct ir_attr *items = (const struct ir_attr *)(p->items.data + s->items);
  uint32_t count = (uint32_t)(p->items.count - s->items);
  if (s->any_argument && !parse_push_attr(p, argument_name, ir_attr_array(p->m, items, s->inputs))) {
    return false;
  }
  if (s->any_result && !parse_push_attr(p, result_name, ir_attr_array(p->m, items + s->inputs, count - s->inputs))) {
    return false;
  }
  p->items.count = s->items;
  return true;
}

static bool is_empty_region(const struct parser *p, struct ir_region region) {
  struct ir_block entry = ir_region_entry(p->m, region);
  return !entry.id || (!ir_block_first(p->m, entry).id && !ir_block_get(p->m, entry)->next.id);
}

bool parse_pretty_func(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  struct ir_attr name;
  struct signature s;
  if (!optional_visibility(p) || !parse_symbol(p, true, &name) || !parse_push_attr(p, NAME_sym_name, name)
      || !read_signature(p, &s) || !signature_attrs(p, &s, NAME_arg_attrs, NAME_res_attrs)) {
    return false;
  }
  struct ir_type type =
      ir_type_list(p->m, IR_TYPE_FUNCTION, p->types.data + s.types, (uint32_t)(p->types.count - s.types), s.inputs);
  if (!type.id || !parse_push_attr(p, NAME_function_type, ir_attr_type(p->m, type)) || !optional_attributes(p)) {
    return false;
  }
  p->types.count = s.types + s.inputs;
  bool ok;
  if (lex_peek(&p->lx) == '{') {
    const char *body = p->lx.cursor;
    size_t errors = p->diags->error_count; /* operations that were refused are not in the body */
    ok = parse_region_with_arguments(p, op, s.names, s.types, true);
    if (ok && errors == p->diags->error_count && is_empty_region(p, p->regions.data[p->regions.count - 1])) {
      ok = parse_error(p, DIAG_E0102_EXPECTED, body, "the body of a function is not empty");
    }
  } else {
    struct ir_region region = ir_region_create(p->m);
    ok = region.id && vec_push(&p->regions, region) ? true : parse_memory(p);
  }
  p->types.count = s.types;
  p->results.count = s.names;
  return ok;
}

bool parse_pretty_call(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  struct ir_attr callee;
  return parse_symbol(p, false, &callee) && parse_push_attr(p, NAME_callee, callee)
         && parse_char(p, '(', "'(' and the operands") && parse_operand_list(p)
         && parse_char(p, ')', "')' after the operands") && parse_attrs_and_types(p, op);
}

/* `call_indirect %f(%a) {...} : (T) -> U`: the type is that of %f. */
bool parse_pretty_call_indirect(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  struct ir_type type;
  if (!parse_operand(p) || !parse_char(p, '(', "'(' and the operands") || !parse_operand_list(p)
      || !parse_char(p, ')', "')' after the operands") || !parse_optional_attrs(p)
      || !parse_char(p, ':', "':' and the type of the function") || !parse_type(p, &type)) {
    return false;
  }
  struct ir_type_data data = *ir_type_get(p->m, type);
  size_t operands = p->operands.count - op->operands - 1;
  if (data.kind != IR_TYPE_FUNCTION || data.input_count != operands) {
    return parse_error(p, DIAG_E0110_OPERAND_TYPES, parse_missing_place(p),
                       "expected the type of a function of %zu argument%s", operands, operands == 1 ? "" : "s");
  }
  if (!parse_check_operand(p, op->operands, type)) {
    return false;
  }
  for (uint32_t i = 0; i < data.count; i++) {
    struct ir_type part = {p->m->lists.data[data.first + i]};
    bool is_input = i < data.input_count;
    if (is_input ? !parse_check_operand(p, op->operands + 1 + i, part) : !parse_push_type(p, part)) {
      return false;
    }
  }
  return true;
}

/* `enzyme.batch @f(%a) {...} : (T) -> U` */
bool parse_pretty_call_like(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  struct ir_attr callee;
  uint32_t name;
  if (!parse_symbol(p, false, &callee) || !parse_intern(p, "fn", 2, &name)) {
    return false;
  }
  parse_push_pair(p, name, callee);
  return parse_char(p, '(', "'(' and the operands") && parse_operand_list(p)
         && parse_char(p, ')', "')' after the operands") && parse_attrs_and_types(p, op);
}

/* `constant @f : (T) -> U` */
bool parse_pretty_func_constant(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  (void)op;
  struct ir_attr value;
  struct ir_type type;
  return parse_optional_attrs(p) && parse_symbol(p, false, &value) && parse_push_attr(p, NAME_value, value)
         && parse_char(p, ':', "':' and the type of the function") && parse_type(p, &type) && parse_push_type(p, type);
}

/* #vhlo.type_v1<!vhlo.func_v1<(T) -> U, V>>: VHLO writes "()" for no types and no parentheses around results. */
static void vhlo_function_text(const struct parser *p, const struct ir_type *types, uint32_t count, uint32_t inputs,
                               struct strbuf *out) {
  strbuf_puts(out, "#vhlo.type_v1<!vhlo.func_v1<(");
  strbuf_puts(out, inputs == 0 ? "()" : "");
  for (uint32_t i = 0; i < count; i++) {
    strbuf_puts(out, i == inputs ? ") -> " : i > 0 ? ", " : "");
    mlir_print_type(p->m, types[i], out);
  }
  strbuf_puts(out, count == inputs ? ") -> ()>>" : ">>");
}

/* `vhlo.func_v1 @f(%a: T, ...) -> (U) {...} {attributes}`: attributes in VHLO's own spelling. */
bool parse_pretty_vhlo_func(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  struct ir_attr name;
  struct signature s;
  if (!optional_visibility(p) || !parse_symbol(p, true, &name) || !read_signature(p, &s)) {
    return false;
  }
  p->items.count = s.items;
  struct strbuf text = {0};
  strbuf_puts(&text, "#vhlo.string_v1<");
  mlir_print_attr(p->m, name, &text);
  strbuf_puts(&text, ">");
  name = parse_text_attr(p, IR_ATTR_OPAQUE, &text, (struct ir_type){0});
  strbuf_clear(&text);
  vhlo_function_text(p, p->types.data + s.types, (uint32_t)(p->types.count - s.types), s.inputs, &text);
  struct ir_attr function = parse_text_attr(p, IR_ATTR_OPAQUE, &text, (struct ir_type){0});
  strbuf_release(&text);
  p->types.count = s.types + s.inputs;
  bool ok = parse_push_attr(p, NAME_sym_name, name) && parse_push_attr(p, NAME_function_type, function)
            && parse_region_with_arguments(p, op, s.names, s.types, true) && parse_optional_attrs(p);
  op->properties = p->pairs.count - op->pairs; /* it has no others */
  p->types.count = s.types;
  p->results.count = s.names;
  return ok;
}

/* ---- util, tensor, arith, shape, cf ------------------------------------------------------------------------------------ */

/* `util.global [private] [mutable] @name [{attributes}] [= value] : T` */
bool parse_pretty_util_global(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  (void)op;
  struct ir_attr name, value = {0};
  struct ir_type type = {0};
  if (!optional_visibility(p)) {
    return false;
  }
  if (LEX_TRY_WORD(&p->lx, "mutable")) {
    parse_push_pair(p, p->names[NAME_is_mutable], p->m->unit_attr);
  }
  if (!parse_symbol(p, true, &name) || !parse_push_attr(p, NAME_sym_name, name) || !parse_optional_attrs(p)) {
    return false;
  }
  if (lex_try(&p->lx, '=')) {
    if (!parse_attr(p, &value) || !parse_push_attr(p, NAME_initial_value, value)) {
      return false;
    }
    type = ir_attr_get(p->m, value)->type;
  }
  if (!type.id && (!parse_char(p, ':', "':' and the type of the global") || !parse_type(p, &type))) {
    return false;
  }
  return parse_push_attr(p, NAME_type, ir_attr_type(p->m, type));
}

/* `util.global.address @name : T` */
bool parse_pretty_util_address(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  (void)op;
  struct ir_attr name;
  struct ir_type type;
  return parse_symbol(p, false, &name) && parse_push_attr(p, NAME_global, name) && parse_optional_attrs(p)
         && parse_char(p, ':', "':' and the type") && parse_type(p, &type) && parse_push_type(p, type);
}

/* i1 in the shape of a type. */
static struct ir_type predicate_type(struct parser *p, struct ir_type type) {
  struct ir_type_data data = *ir_type_get(p->m, type);
  struct ir_type i1 = ir_type_scalar(p->m, DTYPE_I1);
  if (data.kind == IR_TYPE_UNRANKED) {
    return ir_type_unranked(p->m, i1);
  }
  if (data.kind != IR_TYPE_TENSOR) {
    return i1;
  }
  size_t first = p->dims.count;
  if (!vec_reserve(&p->dims, first + data.rank)) {
    return (struct ir_type){0};
  }
  for (uint32_t i = 0; i < data.rank; i++) {
    p->dims.data[first + i] = p->m->dims.data[data.first + i];
  }
  return ir_type_tensor(p->m, i1, p->dims.data + first, data.rank, data.encoding);
}

/* `arith.cmpi slt, %a, %b : T`; the predicate is a number in the attribute. */
bool parse_pretty_cmp(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  static const char *const predicates[] = {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"};
  struct lex_span word = lex_word(&p->lx);
  struct ir_type type;
  int64_t i = 0;
  while (i < 10 && !lex_span_is(word, predicates[i])) {
    i++;
  }
  if (i == 10) {
    p->lx.cursor = word.text;
    return parse_expected(p, "a comparison such as slt");
  }
  if (!parse_push_attr(p, NAME_predicate, ir_attr_integer(p->m, i, ir_type_scalar(p->m, DTYPE_I64)))
      || !parse_char(p, ',', "',' and the operands") || !parse_operand_list(p) || !parse_optional_attrs(p)
      || !parse_char(p, ':', "':' and the type") || !parse_type(p, &type)) {
    return false;
  }
  for (size_t k = op->operands; k < p->operands.count; k++) {
    if (!parse_check_operand(p, k, type)) {
      return false;
    }
  }
  return parse_push_type(p, predicate_type(p, type));
}

/* `tensor.extract %t[%i, %j] : T` */
bool parse_pretty_extract(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  struct ir_type type;
  if (!parse_operand(p) || !parse_char(p, '[', "'[' and the indices") || !parse_operand_list(p)
      || !parse_char(p, ']', "']' after the indices") || !parse_optional_attrs(p)
      || !parse_char(p, ':', "':' and the type") || !parse_type(p, &type)
      || !parse_check_operand(p, op->operands, type)) {
    return false;
  }
  for (size_t i = op->operands + 1; i < p->operands.count; i++) {
    if (!parse_check_operand(p, i, ir_type_scalar(p->m, DTYPE_INDEX))) {
      return false;
    }
  }
  struct ir_type element = ir_type_get(p->m, type)->element;
  return element.id ? parse_push_type(p, element)
                    : parse_error(p, DIAG_E0104_TYPE, p->lx.cursor, "expected a tensor type");
}

/* `shape.const_shape [4, 32] : T`; the attribute is dense<[4, 32]> : tensor<2xindex>. */
bool parse_pretty_const_shape(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  (void)op;
  struct ir_attr shape;
  struct ir_type type;
  if (!parse_optional_attrs(p) || !parse_i64_list(p, &shape) || !parse_char(p, ':', "':' and the type")
      || !parse_type(p, &type)) {
    return false;
  }
  struct ir_attr_data list = *ir_attr_get(p->m, shape);
  int64_t count = list.list_count;
  struct ir_type dense = ir_type_tensor(p->m, ir_type_scalar(p->m, DTYPE_INDEX), &count, 1, (struct ir_attr){0});
  return parse_push_attr(p, NAME_shape, ir_attr_dense(p->m, dense, list.data, list.data_size, false))
         && parse_push_type(p, type);
}

/* ^bb or ^bb(%a, %b : T, U); *count = operands. */
static bool branch_target(struct parser *p, int32_t *count) {
  struct ir_block block;
  if (!parse_block_reference(p, &block)) {
    return false;
  }
  if (!vec_push(&p->successors, block)) {
    return parse_memory(p);
  }
  size_t first = p->operands.count, types = p->types.count;
  *count = 0;
  if (!lex_try(&p->lx, '(')) {
    return true;
  }
  if (!parse_operand_list(p) || !parse_char(p, ':', "':' and the types") || !parse_type_list(p)
      || !parse_char(p, ')', "')' after the types")) {
    return false;
  }
  if (p->operands.count - first != p->types.count - types) {
    return parse_error(p, DIAG_E0110_OPERAND_TYPES, p->lx.cursor, "the branch has %zu operands but %zu types",
                       p->operands.count - first, p->types.count - types);
  }
  for (size_t i = 0; first + i < p->operands.count; i++) {
    if (!parse_check_operand(p, first + i, p->types.data[types + i])) {
      return false;
    }
  }
  p->types.count = types;
  *count = (int32_t)(p->operands.count - first);
  return true;
}

/* `cf.br ^bb1(%x : T)`, `cf.cond_br %c, ^bb1, ^bb2(%x : T)` */
bool parse_pretty_branch(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  int32_t sizes[3] = {1, 0, 0};
  if (lex_peek(&p->lx) != '%') {
    return branch_target(p, &sizes[1]) && parse_optional_attrs(p);
  }
  if (!parse_operand(p) || !parse_check_operand(p, op->operands, ir_type_scalar(p->m, DTYPE_I1))
      || !parse_char(p, ',', "',' and a block") || !branch_target(p, &sizes[1])
      || !parse_char(p, ',', "',' and a block") || !branch_target(p, &sizes[2]) || !parse_optional_attrs(p)) {
    return false;
  }
  return parse_push_attr(p, NAME_operandSegmentSizes,
                         ir_attr_dense_array(p->m, ir_type_scalar(p->m, DTYPE_I32), sizes, 3));
}
