/* Pretty forms of operations, the regular ones: a table row says which clauses follow the operands and how types are written
 * (op_syntax.def). Forms with a grammar of their own are in mlir_pretty_ops.c, mlir_pretty_func.c and mlir_pretty_other.c.
 * Path: mlir_parse.c → here. */
#include <stdio.h>

#include "mlir/mlir_parse.h"

/* ---- the table ------------------------------------------------------------------------------------------------------ */

#define REQ(key, kind, name, mnemonic) {#key, CLAUSE_##kind, NAME_##name, true, mnemonic},
#define OPT(key, kind, name, mnemonic) {#key, CLAUSE_##kind, NAME_##name, false, mnemonic},
#define END                                                                                                            \
  { NULL, 0, 0, false, NULL }
#define RDG_NAMED(name, reader, types, clauses)
#define RDG_SYNTAX(opcode, reader, types, clauses) static const struct op_clause clauses_##opcode[] = {clauses END};
#include "mlir/op_syntax.def"
#undef RDG_SYNTAX

static const struct op_syntax by_opcode[IR_OP_COUNT] = {
#define RDG_SYNTAX(opcode, reader, types, clauses)                                                                     \
  [IR_OP_##opcode] = {parse_pretty_##reader, TYPES_##types, clauses_##opcode,                                          \
                      sizeof clauses_##opcode / sizeof(struct op_clause) - 1},
#include "mlir/op_syntax.def"
#undef RDG_SYNTAX
};
#undef RDG_NAMED

#define RDG_SYNTAX(opcode, reader, types, clauses)
static const struct op_clause named_clauses[][2] = {
#define RDG_NAMED(name, reader, types, clauses) {clauses END},
#include "mlir/op_syntax.def"
#undef RDG_NAMED
};

static const struct {
  const char *name;
  syntax_fn *parse;
  uint8_t types;
} named_rows[] = {
#define RDG_NAMED(name, reader, types, clauses) {name, parse_pretty_##reader, TYPES_##types},
#include "mlir/op_syntax.def"
#undef RDG_NAMED
};
#undef RDG_SYNTAX

enum { NAMED_COUNT = sizeof named_rows / sizeof *named_rows };

const struct op_syntax *syntax_find(struct parser *p, enum ir_opcode opcode, struct lex_span name) {
  if (opcode != IR_OP_UNKNOWN) {
    return by_opcode[opcode].parse ? &by_opcode[opcode] : NULL;
  }
  for (int i = 0; i < NAMED_COUNT; i++) {
    if (lex_span_is(name, named_rows[i].name)) {
      struct op_syntax *row = arena_alloc(&p->scratch, sizeof *row);
      if (row) {
        *row = (struct op_syntax){named_rows[i].parse, named_rows[i].types, named_clauses[i],
                                  named_clauses[i][0].key != NULL};
      }
      return row;
    }
  }
  return NULL;
}

/* ---- helpers -------------------------------------------------------------------------------------------------------- */

struct lex_span parse_op_dialect(struct parser *p, const struct op_state *op) {
  const char *name = ir_text(p->m, op->name->id);
  const char *dot = strchr(name, '.');
  return (struct lex_span){name, dot ? (size_t)(dot - name) : strlen(name)};
}

struct ir_attr parse_op_enum(struct parser *p, const struct op_state *op, const char *mnemonic, struct lex_span value) {
  struct lex_span dialect = parse_op_dialect(p, op);
  char text[96];
  size_t n = dialect.length < 32 ? dialect.length : 32;
  memcpy(text, dialect.text, n);
  text[n] = '.';
  size_t length = strlen(mnemonic);
  memcpy(text + n + 1, mnemonic, length);
  return ir_attr_enum(p->m, text, n + 1 + length, value.text, value.length);
}

/* ---- clauses --------------------------------------------------------------------------------------------------------- */

static bool clause_integer(struct parser *p, enum dtype dtype, struct ir_attr *attr) {
  int64_t value;
  if (!parse_integer(p, &value)) {
    return false;
  }
  if (lex_peek(&p->lx) == ':') {
    /* `dim = 0 : i64` of older text; a type of the operation would not be a plain integer */
    struct lexer saved = p->lx;
    struct ir_type type;
    p->lx.cursor++;
    lex_skip(&p->lx);
    if (*p->lx.cursor != 'i' || !parse_type(p, &type) || lex_peek(&p->lx) != ':') {
      p->lx = saved;
    }
  }
  *attr = ir_attr_integer(p->m, value, ir_type_scalar(p->m, dtype));
  return parse_made(p, *attr);
}

static bool clause_unsigned(struct parser *p, struct ir_attr *attr) {
  struct lex_number number;
  if (!lex_number_read(&p->lx, &number) || number.is_float || number.is_negative || number.is_wide) {
    return parse_expected(p, "an unsigned integer of at most 64 bits");
  }
  *attr = ir_attr_integer(p->m, (int64_t)number.value, ir_type_scalar(p->m, DTYPE_UI64));
  return parse_made(p, *attr);
}

static bool clause_bool(struct parser *p, struct ir_attr *attr) {
  bool yes = LEX_TRY_WORD(&p->lx, "true");
  if (!yes && !LEX_TRY_WORD(&p->lx, "false")) {
    return parse_expected(p, "true or false");
  }
  *attr = ir_attr_bool(p->m, yes);
  return parse_made(p, *attr);
}

static bool clause_enum(struct parser *p, const struct op_state *op, const char *mnemonic, struct ir_attr *attr) {
  if (lex_peek(&p->lx) == '#') {
    return parse_attr(p, attr);
  }
  struct lex_span word = lex_word(&p->lx);
  if (word.length == 0) {
    return parse_expected(p, "an enum value");
  }
  *attr = parse_op_enum(p, op, mnemonic, word);
  return parse_made(p, *attr);
}

static bool clause_enums(struct parser *p, const struct op_state *op, const char *mnemonic, struct ir_attr *attr) {
  size_t first = p->items.count;
  if (!parse_char(p, '[', "'[' and enum values")) {
    return false;
  }
  if (!lex_try(&p->lx, ']')) {
    do {
      struct ir_attr item;
      if (!clause_enum(p, op, mnemonic, &item)) {
        return false;
      }
      if (!vec_push(&p->items, item.id)) {
        return parse_memory(p);
      }
    } while (lex_try(&p->lx, ','));
    if (!parse_char(p, ']', "',' or ']' after an enum value")) {
      return false;
    }
  }
  *attr = ir_attr_array(p->m, (const struct ir_attr *)(p->items.data + first), (uint32_t)(p->items.count - first));
  p->items.count = first;
  return parse_made(p, *attr);
}

/* e5m10 */
static bool clause_format(struct parser *p) {
  struct lex_span word = lex_word(&p->lx);
  int64_t bits[2] = {0, 0};
  size_t i = 0;
  bool ok = true;
  for (int part = 0; part < 2; part++) {
    ok = ok && i < word.length && word.text[i++] == "em"[part] && i < word.length && lex_is(word.text[i], LEX_DIGIT);
    for (; ok && i < word.length && lex_is(word.text[i], LEX_DIGIT); i++) {
      bits[part] = bits[part] <= INT32_MAX ? bits[part] * 10 + (word.text[i] - '0') : bits[part];
    }
  }
  if (ok && (bits[0] > INT32_MAX || bits[1] > INT32_MAX)) {
    return parse_error(p, DIAG_E0102_EXPECTED, word.text, "the widths of the format '%.*s' exceed 31 bits",
                       SPAN_ARGS(word));
  }
  if (!ok || i != word.length) {
    p->lx.cursor = word.text;
    return parse_expected(p, "a format such as e5m10");
  }
  struct ir_type type = ir_type_scalar(p->m, DTYPE_I32);
  parse_push_pair(p, p->names[NAME_exponent_bits], ir_attr_integer(p->m, bits[0], type));
  parse_push_pair(p, p->names[NAME_mantissa_bits], ir_attr_integer(p->m, bits[1], type));
  return true;
}

/* `[0] x [0]` → dot_fields[which], dot_fields[which + 1] */
static bool clause_dim_pair(struct parser *p, const struct op_clause *clause, struct ir_attr *dot_fields) {
  unsigned which = clause->name == NAME_lhs_batching_dimensions ? 0 : 2;
  if (!parse_i64_list(p, &dot_fields[which])) {
    return false;
  }
  lex_skip(&p->lx);
  if (*p->lx.cursor != 'x') {
    return parse_expected(p, "'x' and the dimensions of the right operand");
  }
  p->lx.cursor++;
  return parse_i64_list(p, &dot_fields[which + 1]);
}

static bool clause_value(struct parser *p, const struct op_state *op, const struct op_clause *clause,
                         struct ir_attr *dot_fields) {
  struct ir_attr attr = {0};
  bool ok = false, known;
  switch ((enum clause_kind)clause->kind) {
  case CLAUSE_I64S:
    ok = lex_peek(&p->lx) == '[' ? parse_i64_list(p, &attr) : parse_attr(p, &attr);
    break;
  case CLAUSE_I64:
    ok = clause_integer(p, DTYPE_I64, &attr);
    break;
  case CLAUSE_I32:
    ok = clause_integer(p, DTYPE_I32, &attr);
    break;
  case CLAUSE_U64:
    ok = clause_unsigned(p, &attr);
    break;
  case CLAUSE_BOOL:
    ok = clause_bool(p, &attr);
    break;
  case CLAUSE_ENUM:
    ok = clause_enum(p, op, clause->mnemonic, &attr);
    break;
  case CLAUSE_ENUMS:
    ok = clause_enums(p, op, clause->mnemonic, &attr);
    break;
  case CLAUSE_FLOATS:
    return clause_format(p);
  case CLAUSE_DIM_PAIR:
    return clause_dim_pair(p, clause, dot_fields);
  case CLAUSE_ALGORITHM:
    ok = lex_peek(&p->lx) == '<'
             ? parse_struct(p, parse_op_dialect(p, op), (struct lex_span){"dot_algorithm", 13}, &known, &attr)
             : parse_attr(p, &attr);
    break;
  case CLAUSE_ATTR:
    if (lex_peek(&p->lx) == '"' || lex_is(*p->lx.cursor, LEX_DIGIT)) {
      ok = parse_untyped(p, &attr);
    } else {
      ok = parse_attr(p, &attr);
    }
    break;
  }
  if (ok) {
    parse_push_pair(p, p->names[clause->name], attr);
  }
  return ok;
}

bool parse_clause(struct parser *p, const struct op_state *op, const struct op_syntax *syntax, uint32_t *seen,
                  struct ir_attr *dot_fields) {
  struct lex_span key = lex_word(&p->lx);
  for (unsigned i = 0; i < syntax->clause_count; i++) {
    if (lex_span_is(key, syntax->clauses[i].key)) {
      if (*seen & 1u << i) {
        return parse_error(p, DIAG_E0102_EXPECTED, key.text, "'%.*s' stands twice", SPAN_ARGS(key));
      }
      *seen |= 1u << i;
      return parse_char(p, '=', "'=' and a value") && clause_value(p, op, &syntax->clauses[i], dot_fields);
    }
  }
  p->lx.cursor = key.text;
  char text[128] = "an operand (%name)";
  size_t n = strlen(text);
  for (unsigned i = 0; i < syntax->clause_count && n + 40 < sizeof text; i++) {
    n += (size_t)snprintf(text + n, sizeof text - n, " or '%.24s ='", syntax->clauses[i].key);
  }
  return parse_expected(p, text);
}

/* ---- types ---------------------------------------------------------------------------------------------------------- */

static bool check_all(struct parser *p, const struct op_state *op, struct ir_type type) {
  for (size_t i = op->operands; i < p->operands.count; i++) {
    if (!parse_check_operand(p, i, type)) {
      return false;
    }
  }
  return true;
}

/* Types that were pushed from `first` belong to the operands; takes them off. */
static bool check_each(struct parser *p, const struct op_state *op, size_t first) {
  size_t count = p->types.count - first, operands = p->operands.count - op->operands;
  if (count != operands) {
    return parse_error(p, DIAG_E0110_OPERAND_TYPES, parse_missing_place(p),
                       "'%s' has %zu operand%s but %zu operand type%s", ir_text(p->m, op->name->id), operands,
                       operands == 1 ? "" : "s", count, count == 1 ? "" : "s");
  }
  for (size_t i = 0; i < count; i++) {
    if (!parse_check_operand(p, op->operands + i, p->types.data[first + i])) {
      return false;
    }
  }
  return true;
}

/* T | T, U -> V */
static bool types_same(struct parser *p, struct op_state *op) {
  struct ir_type type;
  if (!parse_type(p, &type)) {
    return false;
  }
  char next = lex_peek(&p->lx);
  if (next != ',' && next != '-') {
    return check_all(p, op, type) && parse_push_type(p, type);
  }
  size_t first = p->types.count;
  if (!parse_push_type(p, type) || (lex_try(&p->lx, ',') && !parse_type_list(p))) {
    return false;
  }
  if (!lex_try_arrow(&p->lx)) {
    return parse_expected(p, "'->' and the result types");
  }
  if (!check_each(p, op, first)) {
    return false;
  }
  p->types.count = first;
  return parse_result_types(p);
}

/* P, T */
static bool types_select(struct parser *p, struct op_state *op) {
  struct ir_type predicate, type;
  if (!parse_type(p, &predicate)) {
    return false;
  }
  if (!lex_try(&p->lx, ',')) { /* arith.select of scalars: T alone, the predicate is i1 */
    type = predicate;
    predicate = ir_type_scalar(p->m, DTYPE_I1);
    if (op->name->opcode != IR_OP_UNKNOWN) {
      return parse_expected(p, "',' and the type of the values");
    }
  } else if (!parse_type(p, &type)) {
    return false;
  }
  for (size_t i = op->operands; i < p->operands.count; i++) {
    if (!parse_check_operand(p, i, i == op->operands ? predicate : type)) {
      return false;
    }
  }
  return parse_push_type(p, type);
}

/* Real counterpart of a complex tensor or scalar; 0 when it is none. */
static struct ir_type real_type(struct parser *p, struct ir_type type) {
  struct ir_type_data data = *ir_type_get(p->m, type);
  if (data.dtype != DTYPE_C64 && data.dtype != DTYPE_C128) {
    return (struct ir_type){0};
  }
  struct ir_type element = ir_type_scalar(p->m, data.dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64);
  if (data.kind == IR_TYPE_UNRANKED) {
    return ir_type_unranked(p->m, element);
  }
  size_t first = p->dims.count;
  for (uint32_t i = 0; i < data.rank; i++) {
    if (!vec_push(&p->dims, p->m->dims.data[data.first + i])) {
      return (struct ir_type){0};
    }
  }
  p->dims.count = first;
  return data.kind == IR_TYPE_TENSOR ? ir_type_tensor(p->m, element, p->dims.data + first, data.rank, data.encoding)
                                     : element;
}

static bool types_complex(struct parser *p, struct op_state *op) {
  struct ir_type type;
  const char *at = p->lx.cursor;
  if (!parse_type(p, &type)) {
    return false;
  }
  struct ir_type real = real_type(p, type);
  if (!real.id) {
    return parse_error(p, DIAG_E0104_TYPE, at, "expected a complex tensor as the result type");
  }
  return check_all(p, op, real) && parse_push_type(p, type);
}

static bool types_tuple(struct parser *p, struct op_state *op) {
  struct ir_type type;
  const char *at = p->lx.cursor;
  if (!parse_type(p, &type)) {
    return false;
  }
  const struct ir_type_data *data = ir_type_get(p->m, type);
  if (data->kind != IR_TYPE_TUPLE) {
    return parse_error(p, DIAG_E0104_TYPE, at, "expected a tuple type");
  }
  uint32_t list = data->first, count = data->count;
  size_t first = p->types.count;
  for (uint32_t i = 0; i < count; i++) {
    if (!parse_push_type(p, (struct ir_type){p->m->lists.data[list + i]})) {
      return false;
    }
  }
  bool ok = check_each(p, op, first);
  p->types.count = first;
  return ok && parse_push_type(p, type);
}

/* One type per operand; kept as result types when `results`. */
static bool types_each(struct parser *p, struct op_state *op, bool results) {
  size_t first = p->types.count;
  bool ok = parse_type_list(p) && check_each(p, op, first);
  if (!results) {
    p->types.count = first;
  }
  return ok;
}

static bool types_to(struct parser *p, struct op_state *op) {
  size_t first = p->types.count;
  if (p->operands.count > op->operands && (!parse_type_list(p) || !check_each(p, op, first))) {
    return false;
  }
  p->types.count = first;
  if (!LEX_TRY_WORD(&p->lx, "to")) {
    return parse_expected(p, "'to' and the result type");
  }
  return parse_type_list(p);
}

static bool types_other(struct parser *p, struct op_state *op, enum type_form form) {
  struct ir_type type;
  if (form == TYPES_TO) {
    return types_to(p, op);
  }
  if (!parse_type(p, &type)) {
    return false;
  }
  struct ir_type index = ir_type_scalar(p->m, DTYPE_INDEX);
  if (form == TYPES_FIRST) {
    return check_all(p, op, type) && (!lex_try(&p->lx, ',') || parse_type(p, &type));
  }
  if (form == TYPES_INDEX) {
    for (size_t i = op->operands; i < p->operands.count; i++) {
      if (!parse_check_operand(p, i, i == op->operands ? type : index)) {
        return false;
      }
    }
    return parse_push_type(p, index);
  }
  if (form == TYPES_ELEMENTS) {
    return check_all(p, op, ir_type_get(p->m, type)->element) && parse_push_type(p, type);
  }
  return check_all(p, op, index) && parse_push_type(p, type); /* RESULT; operands can only be sizes */
}

bool parse_types(struct parser *p, struct op_state *op, enum type_form form) {
  size_t operands = p->operands.count - op->operands;
  if (form == TYPES_OPERANDS && operands == 0) {
    return true;
  }
  if (form == TYPES_PAIRS && operands == 0 && lex_peek(&p->lx) != ':') {
    return true;
  }
  if (op->name->opcode == IR_OP_MHLO_XLA_RNG_GET_AND_UPDATE_STATE && lex_peek(&p->lx) != ':') {
    int64_t two = 2; /* its one possible type */
    return parse_push_type(p, ir_type_tensor(p->m, ir_type_scalar(p->m, DTYPE_UI64), &two, 1, (struct ir_attr){0}));
  }
  if (!parse_char(p, ':', "':' and the types of the operation")) {
    return false;
  }
  if (lex_peek(&p->lx) == '(' && form != TYPES_RESULT && form != TYPES_FIRST) {
    return parse_function_types(p, op);
  }
  switch (form) {
  case TYPES_SAME:
    return types_same(p, op);
  case TYPES_SELECT:
    return types_select(p, op);
  case TYPES_COMPLEX:
    return types_complex(p, op);
  case TYPES_TUPLE:
    return types_tuple(p, op);
  case TYPES_PAIRS:
  case TYPES_OPERANDS:
    return types_each(p, op, form == TYPES_PAIRS);
  default:
    return types_other(p, op, form);
  }
}

bool parse_attrs_and_types(struct parser *p, struct op_state *op) {
  return parse_optional_attrs(p) && parse_char(p, ':', "':' and the types of the operation")
         && parse_function_types(p, op);
}

/* ---- the regular form ------------------------------------------------------------------------------------------------ */

static bool dot_numbers(struct parser *p, const struct op_state *op, const struct ir_attr *fields) {
  static const uint8_t names[] = {NAME_lhs_batching_dimensions, NAME_rhs_batching_dimensions,
                                  NAME_lhs_contracting_dimensions, NAME_rhs_contracting_dimensions};
  uint32_t pairs[8];
  uint32_t n = 0;
  for (int i = 0; i < 4; i++) {
    if (fields[i].id && ir_attr_get(p->m, fields[i])->list_count) {
      pairs[n++] = p->names[names[i]];
      pairs[n++] = fields[i].id;
    }
  }
  bool is_mhlo = parse_op_dialect(p, op).length == 4;
  struct ir_attr attr = ir_attr_struct(p->m, is_mhlo ? "mhlo.dot" : "stablehlo.dot", pairs, n / 2);
  parse_push_pair(p, p->names[NAME_dot_dimension_numbers], attr);
  return parse_made(p, attr);
}

static bool missing_clause(struct parser *p, const struct op_state *op, const struct op_syntax *syntax, uint32_t seen) {
  for (unsigned i = 0; i < syntax->clause_count; i++) {
    if (syntax->clauses[i].required && !(seen & 1u << i)) {
      return parse_error(p, DIAG_E0102_EXPECTED, p->lx.cursor, "'%s' needs '%s = ...'", ir_text(p->m, op->name->id),
                         syntax->clauses[i].key);
    }
  }
  return true;
}

/* `overflow<nsw>` or `fastmath<fast>` behind the operands of an arith operation. */
static bool arith_flags(struct parser *p, const struct op_state *op) {
  static const struct {
    const char *word, *prefix;
    uint8_t name;
  } rows[] = {{"overflow", "#arith.overflow", NAME_overflowFlags}, {"fastmath", "#arith.fastmath", NAME_fastmath}};
  if (op->name->opcode != IR_OP_UNKNOWN) {
    return true;
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct ir_attr attr;
    if (lex_try_word(&p->lx, rows[i].word, strlen(rows[i].word))) {
      return lex_peek(&p->lx) == '<'
                 ? parse_opaque(p, rows[i].prefix, "", &attr) && parse_push_attr(p, rows[i].name, attr)
                 : parse_expected(p, "'<' and flags");
    }
  }
  return true;
}

bool parse_pretty_plain(struct parser *p, struct op_state *op, const struct op_syntax *syntax) {
  uint32_t seen = 0;
  struct ir_attr dot_fields[4] = {{0}};
  if (!parse_optional_attrs(p)) { /* return and optimization_barrier have them in front */
    return false;
  }
  char c = lex_peek(&p->lx);
  bool in_parentheses = c == '(' && lex_try(&p->lx, '(');
  if (in_parentheses) {
    c = lex_peek(&p->lx);
  }
  /* behind an operation without operands and types '%' begins the next one */
  bool has_operands = c == '%' && op->name->opcode != IR_OP_MHLO_XLA_RNG_GET_AND_UPDATE_STATE;
  if (has_operands || (syntax->clause_count && lex_is(c, LEX_START))) {
    do {
      if (lex_peek(&p->lx) == '%' ? !parse_operand(p) : !parse_clause(p, op, syntax, &seen, dot_fields)) {
        return false;
      }
    } while (lex_try(&p->lx, ','));
  }
  if (in_parentheses && !parse_char(p, ')', "',' or ')' after an operand")) {
    return false;
  }
  if (!parse_check_operand_count(p, op) || (syntax->clause_count && !missing_clause(p, op, syntax, seen))) {
    return false;
  }
  if (op->name->opcode == IR_OP_DOT_GENERAL && !dot_numbers(p, op, dot_fields)) {
    return false;
  }
  return arith_flags(p, op) && parse_optional_attrs(p) && parse_types(p, op, (enum type_form)syntax->types);
}
