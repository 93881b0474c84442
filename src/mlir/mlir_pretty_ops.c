/* Pretty forms with a grammar of their own: constants, compare, slice, convolution, calls out of the program, reduce and
 * loops. Path: mlir_parse.c → here. Grammar: StableHLO's AssemblyFormat, as listed in the reference. */
#include "mlir/mlir_parse.h"

/* ---- constants ------------------------------------------------------------------------------------------------------- */

static struct ir_type type_of_value(struct parser *p, struct ir_attr attr) {
  const struct ir_attr_data *data = ir_attr_get(p->m, attr);
  return data->kind == IR_ATTR_BOOL ? ir_type_scalar(p->m, DTYPE_I1) : data->type;
}

bool parse_pretty_constant(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  struct ir_attr value;
  if (lex_peek(&p->lx) == '(') { /* () {value = ...} : () -> T */
    p->lx.cursor++;
    if (!parse_char(p, ')', "')'")) {
      return false;
    }
    if (lex_try(&p->lx, '<')) {
      return parse_attr_entries(p) && parse_char(p, '>', "'>' after the properties") && parse_attrs_and_types(p, op);
    }
    return parse_attrs_and_types(p, op);
  }
  if (!parse_optional_attrs(p) || !parse_attr(p, &value) || !parse_push_attr(p, NAME_value, value)) {
    return false;
  }
  if (LEX_TRY_WORD(&p->lx, "attributes") && !parse_attr_entries(p)) {
    return false;
  }
  struct ir_type type = type_of_value(p, value);
  if ((lex_try(&p->lx, ':') || lex_try_arrow(&p->lx)) && !parse_type(p, &type)) {
    return false;
  }
  if (!type.id) {
    return parse_expected(p, "':' and the type of the constant");
  }
  return parse_push_type(p, type);
}

/* `check.expect_eq_const %x, dense<...> : T[, tolerance = t]`, or IREE's `check.expect_eq_const(%x, dense<...> : T) : T`. */
bool parse_pretty_check_const(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  struct ir_attr value, dot_fields[4] = {{0}};
  uint32_t seen = 0;
  bool in_parentheses = lex_try(&p->lx, '(');
  if (!parse_operand(p) || !parse_char(p, ',', "',' and the expected value") || !parse_attr(p, &value)
      || !parse_push_attr(p, NAME_value, value)) {
    return false;
  }
  while (lex_try(&p->lx, ',')) {
    if (in_parentheses && lex_is(lex_peek(&p->lx), LEX_START)) { /* IREE: `, atol 1.0e-04` */
      struct lex_span name = lex_word(&p->lx);
      struct ir_attr number;
      uint32_t id;
      if (!parse_untyped(p, &number) || !parse_intern(p, name.text, name.length, &id)) {
        return false;
      }
      parse_push_pair(p, id, number);
    } else if (!parse_clause(p, op, syntax, &seen, dot_fields)) {
      return false;
    }
  }
  if (in_parentheses && !parse_char(p, ')', "')' after the expected value")) {
    return false;
  }
  if (!parse_optional_attrs(p)) {
    return false;
  }
  struct ir_type type = type_of_value(p, value);
  if (in_parentheses && (!parse_char(p, ':', "':' and the type of the operand") || !parse_type(p, &type))) {
    return false;
  }
  return parse_check_operand(p, op->operands, type);
}

/* ---- compare, slice, tuples ------------------------------------------------------------------------------------------ */

static bool enum_word(struct parser *p, const struct op_state *op, enum parse_name name, const char *mnemonic) {
  struct lex_span word = lex_word(&p->lx);
  if (word.length == 0) {
    return parse_expected(p, "a comparison such as EQ or FLOAT");
  }
  return parse_push_attr(p, name, parse_op_enum(p, op, mnemonic, word));
}

bool parse_pretty_compare(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  if (!enum_word(p, op, NAME_comparison_direction, "comparison_direction")
      || !parse_char(p, ',', "',' and the operands")) {
    return false;
  }
  while (lex_peek(&p->lx) == '%') {
    if (!parse_operand(p)) {
      return false;
    }
    if (!lex_try(&p->lx, ',')) {
      break;
    }
    if (lex_is(lex_peek(&p->lx), LEX_START)) {
      if (!enum_word(p, op, NAME_compare_type, "comparison_type")) {
        return false;
      }
      break;
    }
  }
  return parse_check_operand_count(p, op) && parse_optional_attrs(p)
         && parse_types(p, op, (enum type_form)syntax->types);
}

/* `0:4` or `1:8:2`: pushes start, limit, stride on p->dims. */
static bool slice_range(struct parser *p) {
  int64_t start, limit, stride = 1;
  if (!parse_integer(p, &start) || !parse_char(p, ':', "':' and a limit") || !parse_integer(p, &limit)
      || (lex_try(&p->lx, ':') && !parse_integer(p, &stride))) {
    return false;
  }
  return vec_push(&p->dims, start) && vec_push(&p->dims, limit) && vec_push(&p->dims, stride) ? true : parse_memory(p);
}

static bool slice_ranges(struct parser *p) {
  if (!parse_char(p, '[', "'[' and ranges")) {
    return false;
  }
  if (lex_try(&p->lx, ']')) {
    return true;
  }
  do {
    if (!slice_range(p)) {
      return false;
    }
  } while (lex_try(&p->lx, ','));
  return parse_char(p, ']', "',' or ']' after a range");
}

bool parse_pretty_slice(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  static const uint8_t names[] = {NAME_start_indices, NAME_limit_indices, NAME_strides};
  size_t first = p->dims.count;
  if (!parse_operand(p) || !slice_ranges(p)) {
    p->dims.count = first;
    return false;
  }
  uint32_t rank = (uint32_t)((p->dims.count - first) / 3);
  if (!vec_reserve(&p->dims, p->dims.count + rank)) {
    return parse_memory(p);
  }
  int64_t *ranges = p->dims.data + first, *column = p->dims.data + p->dims.count;
  for (unsigned part = 0; part < 3; part++) {
    for (uint32_t i = 0; i < rank; i++) {
      column[i] = ranges[3 * i + part];
    }
    if (!parse_push_attr(p, names[part], ir_attr_i64s(p->m, column, rank))) {
      return false;
    }
  }
  p->dims.count = first;
  return parse_optional_attrs(p) && parse_types(p, op, (enum type_form)syntax->types);
}

bool parse_pretty_get_tuple_element(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  int64_t index;
  if (!parse_operand(p) || !parse_char(p, '[', "'[' and the index") || !parse_integer(p, &index)
      || !parse_char(p, ']', "']' after the index")) {
    return false;
  }
  return parse_push_attr(p, NAME_index, ir_attr_integer(p->m, index, ir_type_scalar(p->m, DTYPE_I32)))
         && parse_optional_attrs(p) && parse_types(p, op, (enum type_form)syntax->types);
}

/* ---- convolution ------------------------------------------------------------------------------------------------------ */

/* `[true, false]` → array<i1> */
static bool bool_list(struct parser *p, struct ir_attr *attr) {
  p->bytes.count = 0;
  if (!parse_char(p, '[', "'[' and true or false")) {
    return false;
  }
  if (!lex_try(&p->lx, ']')) {
    do {
      uint8_t value[16];
      if (!parse_element(p, DTYPE_I1, value)) {
        return false;
      }
      if (!vec_push(&p->bytes, value[0])) {
        return parse_memory(p);
      }
    } while (lex_try(&p->lx, ','));
    if (!parse_char(p, ']', "',' or ']' after a value")) {
      return false;
    }
  }
  *attr = ir_attr_dense_array(p->m, ir_type_scalar(p->m, DTYPE_I1), p->bytes.data, (uint32_t)p->bytes.count);
  return parse_made(p, *attr);
}

/* `[[0, 1], [2, 3]]` → dense<...> : tensor<Nx2xi64> */
static bool pad_list(struct parser *p, struct ir_attr *attr) {
  size_t first = p->dims.count;
  if (!parse_char(p, '[', "'[' and pairs of paddings")) {
    return false;
  }
  if (!lex_try(&p->lx, ']')) {
    do {
      int64_t low, high;
      if (!parse_char(p, '[', "'[' and two paddings") || !parse_integer(p, &low) || !parse_char(p, ',', "','")
          || !parse_integer(p, &high) || !parse_char(p, ']', "']' after two paddings")) {
        return false;
      }
      if (!vec_push(&p->dims, low) || !vec_push(&p->dims, high)) {
        return parse_memory(p);
      }
    } while (lex_try(&p->lx, ','));
    if (!parse_char(p, ']', "',' or ']' after a pair")) {
      return false;
    }
  }
  size_t count = p->dims.count - first;
  int64_t shape[2] = {(int64_t)(count / 2), 2};
  struct ir_type type = ir_type_tensor(p->m, ir_type_scalar(p->m, DTYPE_I64), shape, 2, (struct ir_attr){0});
  *attr = ir_attr_dense(p->m, type, p->dims.data + first, count * sizeof(int64_t), false);
  p->dims.count = first;
  return parse_made(p, *attr);
}

/* `stride = [..], pad = [[..]], ...}` */
static bool window(struct parser *p) {
  static const struct {
    const char *key;
    uint8_t name;
  } rows[] = {{"stride", NAME_window_strides},
              {"pad", NAME_padding},
              {"lhs_dilate", NAME_lhs_dilation},
              {"rhs_dilate", NAME_rhs_dilation},
              {"reverse", NAME_window_reversal}};
  unsigned seen = 0;
  if (lex_try(&p->lx, '}')) {
    return true;
  }
  do {
    struct lex_span key = lex_word(&p->lx);
    struct ir_attr attr;
    size_t i = 0;
    while (i < 5 && !lex_span_is(key, rows[i].key)) {
      i++;
    }
    if (i == 5) {
      p->lx.cursor = key.text;
      return parse_expected(p, "stride, pad, lhs_dilate, rhs_dilate or reverse");
    }
    if (seen & 1u << i) {
      return parse_error(p, DIAG_E0107_REDEFINED, key.text, "'%.*s' stands twice", SPAN_ARGS(key));
    }
    seen |= 1u << i;
    bool ok = parse_char(p, '=', "'=' and a list")
              && (i == 1   ? pad_list(p, &attr)
                  : i == 4 ? bool_list(p, &attr)
                           : parse_i64_list(p, &attr));
    if (!ok || !parse_push_attr(p, rows[i].name, attr)) {
      return false;
    }
  } while (lex_try(&p->lx, ','));
  return parse_char(p, '}', "',' or '}' after a window field");
}

bool parse_pretty_convolution(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  struct ir_attr numbers;
  if (!parse_char(p, '(', "'(' and the operands") || !parse_operand_list(p)
      || !parse_char(p, ')', "')' after the operands") || !parse_check_operand_count(p, op)) {
    return false;
  }
  if (!LEX_TRY_WORD(&p->lx, "dim_numbers") || !lex_try(&p->lx, '=')) {
    return parse_expected(p, "'dim_numbers ='");
  }
  if (!parse_conv_dimensions(p, parse_op_dialect(p, op), &numbers)
      || !parse_push_attr(p, NAME_dimension_numbers, numbers)) {
    return false;
  }
  if (lex_try(&p->lx, ',')) {
    if (!LEX_TRY_WORD(&p->lx, "window") || !lex_try(&p->lx, '=')) {
      return parse_expected(p, "'window ='");
    }
    if (!parse_char(p, '{', "'{' and the window") || !window(p)) {
      return false;
    }
  }
  return parse_attrs_and_types(p, op);
}

/* ---- custom_call, composite ------------------------------------------------------------------------------------------- */

bool parse_pretty_custom_call(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  struct ir_attr target;
  return parse_symbol(p, true, &target) && parse_push_attr(p, NAME_call_target_name, target)
         && parse_char(p, '(', "'(' and the operands") && parse_operand_list(p)
         && parse_char(p, ')', "')' after the operands") && parse_attrs_and_types(p, op);
}

static bool regions(struct parser *p, const struct op_state *op) {
  if (!lex_try(&p->lx, '(')) {
    return true;
  }
  do {
    struct ir_region region = ir_region_create(p->m);
    struct region_scope scope = parse_scope_begin(p, false);
    bool ok = region.id && parse_region(p, region, (struct ir_block){0}, op->name);
    if (!parse_scope_end(p, scope, false) || !ok) {
      return false;
    }
    if (!vec_push(&p->regions, region)) {
      return parse_memory(p);
    }
  } while (lex_try(&p->lx, ','));
  return parse_char(p, ')', "')' after the regions");
}

bool parse_pretty_composite(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  struct ir_attr name;
  return parse_untyped(p, &name) && parse_push_attr(p, NAME_name, name) && parse_operand_list(p) && regions(p, op)
         && parse_optional_attrs(p) && regions(p, op) && parse_char(p, ':', "':' and the types of the operation")
         && parse_function_types(p, op);
}

/* ---- regions with named arguments -------------------------------------------------------------------------------------- */

/* '{' and a block label come next. */
static bool label_follows(struct parser *p) {
  struct lexer saved = p->lx;
  bool follows = lex_try(&p->lx, '{') && lex_peek(&p->lx) == '^';
  p->lx = saved;
  return follows;
}

bool parse_region_with_arguments(struct parser *p, struct op_state *op, size_t first_name, size_t first_type,
                                 bool isolated) {
  struct ir_region region = ir_region_create(p->m);
  struct ir_block block = {0};
  uint32_t count = (uint32_t)(p->types.count - first_type);
  bool has_names = first_name < p->results.count, has_label = label_follows(p);
  if (has_names && has_label) {
    return parse_error(p, DIAG_E0102_EXPECTED, p->lx.cursor,
                       "the arguments have names here, so that no label may follow");
  }
  if (has_names || !has_label) {
    block = ir_block_create(p->m, region);
    if (!block.id || !ir_block_set_arguments(p->m, block, p->types.data + first_type, has_names ? count : 0)) {
      return parse_memory(p);
    }
  }
  struct region_scope scope = parse_scope_begin(p, isolated);
  bool ok = true;
  for (uint32_t i = 0; ok && i < count && first_name + i < p->results.count; i++) {
    struct result_name name = p->results.data[first_name + i];
    ok = parse_define_value(p, &name.key, ir_block_argument(p->m, block, i), 1);
  }
  ok = ok && parse_region(p, region, block, op->name);
  ok = parse_scope_end(p, scope, isolated) && ok;
  return ok && (vec_push(&p->regions, region) ? true : parse_memory(p));
}

/* `%name` pushed on p->results. */
static bool argument_name(struct parser *p) {
  if (!lex_try(&p->lx, '%')) {
    return parse_expected(p, "an argument (%name)");
  }
  struct result_name name = {name_scan(&p->lx), 1};
  if (name.key.length == 0) {
    return parse_expected(p, "a name after '%'");
  }
  return vec_push(&p->results, name) ? true : parse_memory(p);
}

static bool typed_argument(struct parser *p) {
  struct ir_type type;
  struct ir_attr location;
  return argument_name(p) && parse_char(p, ':', "':' and the type of the argument") && parse_type(p, &type)
         && parse_optional_loc(p, &location) && parse_push_type(p, type);
}

/* ---- reduce ------------------------------------------------------------------------------------------------------------ */

/* `(%x init: %c), (%y init: %d)`: inputs come first in the operand list, then the initial values. */
static bool reduce_operands(struct parser *p, struct op_state *op) {
  do {
    if (!parse_char(p, '(', "'(' and an operand") || !parse_operand(p)) {
      return false;
    }
    if (!LEX_TRY_WORD(&p->lx, "init") || !lex_try(&p->lx, ':')) {
      return parse_expected(p, "'init:'");
    }
    if (!parse_operand(p) || !parse_char(p, ')', "')' after the initial value")) {
      return false;
    }
  } while (lex_try(&p->lx, ','));
  size_t n = (p->operands.count - op->operands) / 2;
  if (n == 1) {
    return true;
  }
  if (!vec_reserve(&p->operands, op->operands + 4 * n) || !vec_reserve(&p->operand_at, op->operands + 4 * n)) {
    return parse_memory(p);
  }
  struct ir_value *values = p->operands.data + op->operands;
  const char **at = p->operand_at.data + op->operands;
  memcpy(values + 2 * n, values, 2 * n * sizeof *values);
  memcpy(at + 2 * n, at, 2 * n * sizeof *at);
  for (size_t i = 0; i < n; i++) {
    values[i] = values[2 * n + 2 * i];
    values[n + i] = values[2 * n + 2 * i + 1];
    at[i] = at[2 * n + 2 * i];
    at[n + i] = at[2 * n + 2 * i + 1];
  }
  return true;
}

/* tensor<E> of the element type of a tensor type. */
static struct ir_type scalar_of(struct parser *p, struct ir_type type) {
  struct ir_type element = ir_type_get(p->m, type)->element;
  return element.id ? ir_type_tensor(p->m, element, NULL, 0, (struct ir_attr){0}) : (struct ir_type){0};
}

/* The region that `applies add` stands for: (%a, %b) { %c = add %a, %b; return %c }. */
static bool applied_region(struct parser *p, struct op_state *op, const struct op_name *inner, struct ir_type input) {
  struct ir_type scalar = scalar_of(p, input);
  if (!scalar.id) {
    return parse_error(p, DIAG_E0110_OPERAND_TYPES, p->lx.begin + op->offset, "the first operand is not a tensor");
  }
  struct ir_region region = ir_region_create(p->m);
  struct ir_block block = ir_block_create(p->m, region);
  struct ir_type types[2] = {scalar, scalar};
  if (!block.id || !ir_block_set_arguments(p->m, block, types, 2)) {
    return parse_memory(p);
  }
  struct ir_value arguments[2] = {ir_block_argument(p->m, block, 0), ir_block_argument(p->m, block, 1)};
  struct ir_op_spec spec = {.opcode = (enum ir_opcode)inner->opcode,
                            .name = inner->id,
                            .operands = arguments,
                            .operand_count = 2,
                            .result_types = &scalar,
                            .result_count = 1,
                            .offset = op->offset};
  struct ir_op applied = ir_op_create(p->m, block, &spec);
  if (!applied.id) {
    return parse_memory(p);
  }
  const char *end_name = parse_op_dialect(p, op).length == 4 ? "mhlo.return" : "stablehlo.return";
  uint32_t end_id;
  if (!parse_intern(p, end_name, strlen(end_name), &end_id)) {
    return false;
  }
  struct ir_value result = ir_op_result(p->m, applied, 0);
  struct ir_op_spec end = {
      .opcode = IR_OP_RETURN, .name = end_id, .operands = &result, .operand_count = 1, .offset = op->offset};
  if (!ir_op_create(p->m, block, &end).id) {
    return parse_memory(p);
  }
  return vec_push(&p->regions, region) ? true : parse_memory(p);
}

/* `reducer(%a: T, %c: T) (%b: U, %d: U) {...}`: pairs per input; block arguments are all firsts, then all seconds. */
static bool reducer(struct parser *p, struct op_state *op) {
  size_t names = p->results.count, types = p->types.count;
  size_t inputs = (p->operands.count - op->operands) / 2;
  struct ir_attr location;
  do {
    if (!parse_char(p, '(', "'(' and a pair of arguments") || !typed_argument(p)
        || !parse_char(p, ',', "',' and the second argument") || !typed_argument(p)
        || !parse_char(p, ')', "')' after a pair of arguments")) {
      return false;
    }
  } while (lex_peek(&p->lx) == '(');
  size_t n = (p->results.count - names) / 2;
  if (n != inputs) {
    return parse_error(p, DIAG_E0102_EXPECTED, p->lx.cursor, "%zu pairs of arguments for %zu inputs", n, inputs);
  }
  if (!vec_reserve(&p->results, names + 4 * n) || !vec_reserve(&p->types, types + 4 * n)) {
    return parse_memory(p);
  }
  struct result_name *name = p->results.data + names;
  struct ir_type *type = p->types.data + types;
  memcpy(name + 2 * n, name, 2 * n * sizeof *name);
  memcpy(type + 2 * n, type, 2 * n * sizeof *type);
  for (size_t i = 0; i < n; i++) {
    name[i] = name[2 * n + 2 * i];
    name[n + i] = name[2 * n + 2 * i + 1];
    type[i] = type[2 * n + 2 * i];
    type[n + i] = type[2 * n + 2 * i + 1];
  }
  bool ok = parse_optional_loc(p, &location) && parse_region_with_arguments(p, op, names, types, false);
  p->results.count = names;
  p->types.count = types;
  return ok;
}

bool parse_pretty_reduce(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  struct ir_attr dimensions;
  const struct op_name *inner = NULL;
  if (!reduce_operands(p, op)) {
    return false;
  }
  if (LEX_TRY_WORD(&p->lx, "applies")) {
    struct lex_span name = lex_word(&p->lx);
    inner = name.length ? parse_op_name(p, name) : NULL;
    if (!inner || inner->opcode == IR_OP_UNKNOWN || ir_opcode_info((enum ir_opcode)inner->opcode)->operands_max != 2) {
      p->lx.cursor = name.text;
      return parse_expected(p, "the name of a binary operation");
    }
    if (!ir_opcode_has((enum ir_opcode)inner->opcode, IR_TRAIT_COMMUTATIVE)) {
      return parse_error(p, DIAG_E0102_EXPECTED, name.text, "'%.*s' is not commutative; a reduction applies what is",
                         SPAN_ARGS(name));
    }
  }
  if (!LEX_TRY_WORD(&p->lx, "across") || !LEX_TRY_WORD(&p->lx, "dimensions") || !lex_try(&p->lx, '=')) {
    return parse_expected(p, "'across dimensions ='");
  }
  if (!parse_i64_list(p, &dimensions) || !parse_push_attr(p, NAME_dimensions, dimensions)
      || !parse_attrs_and_types(p, op)) {
    return false;
  }
  if (inner) {
    struct ir_value first = p->operands.data[op->operands];
    struct ir_type input = first.id                     ? ir_value_type(p->m, first)
                           : p->types.count > op->types ? p->types.data[op->types]
                                                        : (struct ir_type){0};
    return applied_region(p, op, inner, input);
  }
  if (!LEX_TRY_WORD(&p->lx, "reducer")) {
    return parse_expected(p, "'reducer' and its region");
  }
  return reducer(p, op);
}

/* ---- while and scan ---------------------------------------------------------------------------------------------------- */

/* `(%iterArg = %a, ...)`: names on p->results, operands. */
static bool loop_arguments(struct parser *p) {
  if (!parse_char(p, '(', "'(' and the loop's values") || lex_try(&p->lx, ')')) {
    return !p->quiet;
  }
  do {
    if (!argument_name(p) || !parse_char(p, '=', "'=' and an initial value") || !parse_operand(p)) {
      return false;
    }
  } while (lex_try(&p->lx, ','));
  return parse_char(p, ')', "',' or ')' after a loop value");
}

bool parse_pretty_while(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  size_t names = p->results.count;
  if (!loop_arguments(p) || !parse_types(p, op, TYPES_PAIRS)) {
    return false;
  }
  if (!parse_optional_loc(p, &op->location)) {
    return false;
  }
  if (LEX_TRY_WORD(&p->lx, "attributes") && !parse_attr_entries(p)) {
    return false;
  }
  if (!LEX_TRY_WORD(&p->lx, "cond")) {
    return parse_expected(p, "'cond' and a region");
  }
  if (!parse_region_with_arguments(p, op, names, op->types, false)) {
    return false;
  }
  if (!LEX_TRY_WORD(&p->lx, "do")) {
    return parse_expected(p, "'do' and a region");
  }
  bool ok = parse_region_with_arguments(p, op, names, op->types, false);
  p->results.count = names;
  return ok;
}

static struct ir_attr segment_sizes(struct parser *p, size_t a, size_t b) {
  int32_t sizes[2] = {(int32_t)a, (int32_t)b};
  return ir_attr_dense_array(p->m, ir_type_scalar(p->m, DTYPE_I32), sizes, 2);
}

/* `scan (%in) inits (%init) dimension = 0 [attributes {..}] { ^bb0(..): .. } : (..) -> ..` */
bool parse_pretty_scan(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  (void)syntax;
  int64_t dimension;
  if (!parse_char(p, '(', "'(' and the inputs") || !parse_operand_list(p)
      || !parse_char(p, ')', "')' after the inputs")) {
    return false;
  }
  size_t inputs = p->operands.count - op->operands;
  if (!LEX_TRY_WORD(&p->lx, "inits")) {
    return parse_expected(p, "'inits'");
  }
  if (!parse_char(p, '(', "'(' and the initial values") || !parse_operand_list(p)
      || !parse_char(p, ')', "')' after the initial values")) {
    return false;
  }
  size_t inits = p->operands.count - op->operands - inputs;
  if (!LEX_TRY_WORD(&p->lx, "dimension") || !lex_try(&p->lx, '=')) {
    return parse_expected(p, "'dimension ='");
  }
  if (!parse_integer(p, &dimension)
      || !parse_push_attr(p, NAME_dimension, ir_attr_integer(p->m, dimension, ir_type_scalar(p->m, DTYPE_I64)))
      || (LEX_TRY_WORD(&p->lx, "attributes") && !parse_attr_entries(p))) {
    return false;
  }
  struct ir_region region = ir_region_create(p->m);
  struct region_scope scope = parse_scope_begin(p, false);
  bool ok = region.id && parse_region(p, region, (struct ir_block){0}, op->name);
  ok = parse_scope_end(p, scope, false) && ok;
  if (!ok || !vec_push(&p->regions, region)) {
    return false;
  }
  if (!parse_char(p, ':', "':' and the types of the operation") || !parse_function_types(p, op)) {
    return false;
  }
  size_t results = p->types.count - op->types;
  return parse_push_attr(p, NAME_operandSegmentSizes, segment_sizes(p, inputs, inits))
         && parse_push_attr(p, NAME_resultSegmentSizes, segment_sizes(p, results > inits ? results - inits : 0, inits));
}
