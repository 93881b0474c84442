/* The inside of the MLIR text parser: its state and the functions that its files call in each other. Path: mlir_lexer →
 * here (mlir_parse.c: texts and ops; mlir_parse_region.c: regions, blocks, values; mlir_parse_types.c,
 * mlir_parse_attrs.c, mlir_parse_structs.c, mlir_parse_dense.c, mlir_parse_alias.c: what stands in ops; mlir_pretty*.c:
 * pretty forms) → ir.
 *
 * Every function that reads text returns false after it recorded a diagnostic, and then the op that is being read is given
 * up (mlir_parse_region.c goes on behind it). Lists of what an op consists of grow on stacks of the parser; an op remembers
 * where its part begins (struct op_state) and cuts them back. */
#ifndef RIDGELINE_MLIR_MLIR_PARSE_H
#define RIDGELINE_MLIR_MLIR_PARSE_H

#include "ir/ir.h"
#include "mlir/mlir.h"
#include "mlir/mlir_lexer.h"
#include "mlir/mlir_names.h"

/* Attribute names that the parser itself writes, interned once per parse. */
enum parse_name {
#define RDG_NAME(id) NAME_##id,
#include "mlir/parse_names.def"
#undef RDG_NAME
  NAME_COUNT
};

struct parser;
struct op_state;
struct op_syntax;

typedef bool syntax_fn(struct parser *p, struct op_state *op, const struct op_syntax *syntax);

/* How the types after the operands are written. `T` = one type, `fn` = (types) -> types. */
enum type_form {
  TYPES_SAME, /* T for all operands and the result, or fn, or T -> U */
  TYPES_SELECT, /* P, T or fn */
  TYPES_COMPLEX, /* complex T with real operands, or fn */
  TYPES_TUPLE, /* tuple T whose parts are the operand types, or fn */
  TYPES_PAIRS, /* one type per operand, the same for the results */
  TYPES_RESULT, /* T of the result; operands are not named */
  TYPES_OPERANDS, /* one type per operand, no results */
  TYPES_FIRST, /* T of every operand, no results */
  TYPES_TO, /* T to U (casts) */
  TYPES_INDEX, /* T of the first operand, others and the result are index */
  TYPES_ELEMENTS /* T of the result, operands have its element type */
};

/* What stands behind the operands: ", key = value". */
enum clause_kind {
  CLAUSE_I64S, /* [1, 2] → array<i64> */
  CLAUSE_I64, /* 3 → 3 : i64 */
  CLAUSE_I32,
  CLAUSE_U64,
  CLAUSE_BOOL,
  CLAUSE_ENUM, /* WORD → #dialect<mnemonic WORD> */
  CLAUSE_ENUMS, /* [WORD, WORD] → array of them */
  CLAUSE_ATTR, /* any attribute */
  CLAUSE_FLOATS, /* e5m10 → exponent_bits, mantissa_bits */
  CLAUSE_DIM_PAIR, /* [0] x [0] → two fields of the dot dimension numbers */
  CLAUSE_ALGORITHM /* <...> → #stablehlo.dot_algorithm<...> */
};

struct op_clause {
  const char *key;
  uint8_t kind; /* enum clause_kind */
  uint8_t name; /* enum parse_name: attribute that it gives */
  bool required;
  const char *mnemonic; /* ENUM, ENUMS */
};

struct op_syntax {
  syntax_fn *parse; /* NULL: the op has no pretty form */
  uint8_t types; /* enum type_form */
  const struct op_clause *clauses;
  uint8_t clause_count;
};

/* An operation name as looked up: one per distinct name and parse. */
struct op_name {
  const char *text; /* as written first */
  uint32_t length;
  uint32_t hash;
  uint32_t id; /* interned full name */
  uint16_t opcode;
  bool has_defaults; /* some attribute of it has a default that is dropped, or words for its numbers */
  bool has_stated; /* some attribute of it has a default that is stated */
  const struct op_syntax *syntax; /* NULL: none */
};

/* What an op consists of so far: beginnings in the parser's stacks. */
struct op_state {
  const struct op_name *name;
  uint32_t offset; /* where the op begins */
  size_t operands, pairs, types, regions, successors, results, result_end, uses;
  size_t properties; /* entries of p->pairs that stood in <{ }>: the first ones */
  struct ir_attr location;
};

/* An open brace or other construct, for the message about a text that ends inside it. */
struct open_mark {
  const char *at;
  const char *what; /* "region", "attributes" */
  uint32_t name; /* interned name of the op, or 0 */
};

/* `%a, %b:2 =` in front of an op. */
struct result_name {
  struct name_key key;
  uint32_t count;
};

/* A use of a value whose definition has not been read. */
struct forward_use {
  struct ir_op op;
  uint32_t operand;
  uint32_t number; /* #n behind the name */
  struct ir_type type;
  const char *at; /* the name in the text */
  uint32_t next; /* older use of the same name, + 1 */
};

/* #name = attribute, !name = type. */
struct alias {
  const char *name; /* with sigil */
  const char *value; /* behind '=', NULL = used but not yet seen */
  const char *used; /* first use, for the message; NULL = none */
  uint32_t id; /* attribute or type when read */
  uint64_t weight; /* bytes of text when all aliases in it are written out */
  uint32_t nesting; /* levels of types and attributes in it, those of its aliases included */
  uint8_t state; /* enum alias_state */
  bool visited; /* by the search for cycles among dropped locations */
  uint32_t edges; /* newest alias that a dropped location names, index into alias_edges + 1 */
};

/* A location alias names another one. */
struct alias_edge {
  uint32_t target; /* index into aliases */
  uint32_t next; /* + 1 */
};
enum alias_state { ALIAS_UNREAD, ALIAS_READING, ALIAS_READ, ALIAS_FAILED };

enum { TYPE_CACHE_SIZE = 2048 };

/* Text of a type that was read before. */
struct span_entry {
  const char *text;
  uint64_t hash;
  uint32_t length;
  uint32_t id; /* 0 = free entry */
};

struct parser {
  struct lexer lx;
  struct ir_module *m;
  const struct source *source;
  struct diag_list *diags;
  unsigned depth, max_depth;
  unsigned deepest; /* greatest depth since the alias that is being read began, with what its aliases hold */
  bool keep_locations;
  bool failed; /* some error was recorded */
  bool stopped; /* no use in going on: limit of errors, end of text, memory */
  bool limit; /* a budget was reached */
  bool quiet; /* a second error of the same op is not recorded */
  uint32_t scope; /* number of the innermost isolated region */
  uint32_t scope_count, block_scope;
  uint16_t region_opcode; /* op whose region is being read */
  size_t scope_forwards; /* forward names that existed before the innermost isolated region */
  bool scanned_aliases;
  const char *start; /* where the text that is parsed begins */
  VEC(struct ir_value) operands;
  VEC(const char *) operand_at;
  VEC(uint32_t) pairs;
  VEC(struct ir_type) types;
  VEC(struct ir_region) regions;
  VEC(struct ir_block) successors;
  VEC(struct result_name) results;
  VEC(uint32_t) items; /* attribute ids of open arrays, dictionary pairs */
  VEC(int64_t) dims;
  VEC(uint8_t) bytes; /* elements of a dense attribute */
  VEC(struct open_mark) open;
  VEC(struct forward_use) uses;
  VEC(struct alias) aliases;
  VEC(struct alias_edge) alias_edges;
  uint32_t alias_owner; /* alias whose dropped location is being read, index + 1 */
  uint64_t alias_weight; /* sum over the aliases named since the begin of the definition that is being read */
  uint64_t expansion_left; /* bytes that uses of aliases may still stand for when they are written out */
  struct strbuf text; /* scratch for unescaped and canonical text */
  struct name_table values; /* first = value id, 0 = poisoned by an error */
  struct name_table forwards; /* first = newest use + 1 */
  struct name_table blocks; /* first = block, flags: enum block_flag */
  struct name_table alias_names; /* first = index into aliases */
  uint32_t names[NAME_COUNT];
  struct arena scratch; /* lives as long as the parser: op_name records */
  const struct op_name **op_slots; /* open addressing by name text */
  uint32_t op_slot_count, op_count;
  struct span_entry type_cache[TYPE_CACHE_SIZE];
};

enum block_flag { BLOCK_DEFINED = 1, BLOCK_FIRST = 2, BLOCK_USED = 4 };

/* ---- diagnostics (mlir_parse_error.c); all return false ---------------------------------------------------------- */
bool parse_error(struct parser *p, enum diag_id id, const char *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Where something is missing at the cursor: there, or behind the text of an earlier line when the cursor begins a line. */
const char *parse_missing_place(struct parser *p);
/* "expected <what>, found <token>" at parse_missing_place. */
bool parse_expected(struct parser *p, const char *what);
bool parse_memory(struct parser *p);
/* Id of a string of the module; false, and 0, when memory is exhausted. */
bool parse_intern(struct parser *p, const char *text, size_t length, uint32_t *id);
/* Enters one more level of nesting; false with E0005 when that is too deep. Leave with p->depth--. */
bool parse_deeper(struct parser *p);
/* The results of ir_attr_* and the growth of lists: false after parse_memory when they failed. */
static inline bool parse_made(struct parser *p, struct ir_attr attr) {
  return attr.id != 0 || parse_memory(p);
}
static inline bool parse_push_type(struct parser *p, struct ir_type type) {
  return vec_push(&p->types, type) ? true : parse_memory(p);
}
static inline bool parse_char(struct parser *p, char c, const char *what) {
  return lex_try(&p->lx, c) || parse_expected(p, what);
}
/* printf arguments of a span. */
#define SPAN_ARGS(span) ((int)((span).length < 200 ? (span).length : 200)), ((span).text)

/* Ids of the names of parse_names.def; what a parser holds beside its module. */
bool parse_intern_names(struct parser *p);
void parse_release(struct parser *p);
/* The one attribute, or type, of a text that ends with a 0 behind its length, as its handle in `module`. Aliases are not
 * known. Messages have their places in `source`. */
enum status mlir_parse_fragment(struct ir_module *module, const struct source *source, bool is_type, unsigned max_depth,
                                struct diag_list *diags, uint32_t *id);

/* ---- types (mlir_parse_types.c) ---------------------------------------------------------------------------------- */
bool parse_type(struct parser *p, struct ir_type *type);
/* True when a type begins at the cursor (for places where an attribute may stand as well). */
bool parse_type_follows(struct parser *p);
/* Type list in parentheses, or one type: pushes on p->types. */
bool parse_result_types(struct parser *p);
/* T, U, ... without parentheses: pushes on p->types. */
bool parse_type_list(struct parser *p);
/* What a storage type of a quantized type holds without stated bounds, and the canonical text of such a type. */
void parse_quant_bounds(enum dtype storage, int64_t *low, int64_t *high);
void parse_quant_text(const struct ir_quant *q, struct strbuf *out);

/* ---- attributes (mlir_parse_attrs.c and its neighbours) ---------------------------------------------------------- */
bool parse_attr(struct parser *p, struct ir_attr *attr);
/* `{a = 1, b}`; pushes (name, attr) pairs on p->pairs; '{' comes next. */
bool parse_attr_entries(struct parser *p);
/* The same when a '{' comes next, nothing otherwise. */
bool parse_optional_attrs(struct parser *p);
bool parse_string_text(struct parser *p, struct strbuf *out);
/* @name with nested parts, as SYMBOL; when `flat`, as STRING without nested parts. */
bool parse_symbol(struct parser *p, bool as_string, struct ir_attr *attr);
/* Balanced text at the cursor, canonical, appended to `out`. */
bool parse_balanced(struct parser *p, struct strbuf *out);
/* prefix + balanced text at the cursor + suffix as OPAQUE. */
bool parse_opaque(struct parser *p, const char *prefix, const char *suffix, struct ir_attr *attr);
bool parse_integer(struct parser *p, int64_t *value);
/* [1, 2, ...] → array<i64>. */
bool parse_i64_list(struct parser *p, struct ir_attr *attr);
void parse_push_pair(struct parser *p, uint32_t name, struct ir_attr attr);
static inline bool parse_push_attr(struct parser *p, enum parse_name name, struct ir_attr attr) {
  parse_push_pair(p, p->names[name], attr);
  return parse_made(p, attr);
}
/* Attribute or opaque type of a text that was built; 0 when the text is incomplete or memory is exhausted. */
struct ir_attr parse_text_attr(struct parser *p, enum ir_attr_kind kind, const struct strbuf *text,
                               struct ir_type type);
struct ir_type parse_text_type(struct parser *p, const struct strbuf *text);
/* '#' comes next. */
bool parse_hash_attr(struct parser *p, struct ir_attr *attr);
/* dense<...>, dense_resource<...>, array<...>: the word was read. */
bool parse_dense(struct parser *p, struct ir_attr *attr);
bool parse_dense_resource(struct parser *p, struct ir_attr *attr);
bool parse_dense_array(struct parser *p, struct ir_attr *attr);
/* A literal as one element of `dtype`, little-endian into bytes (room for 16). */
bool parse_element(struct parser *p, enum dtype dtype, uint8_t *bytes);
bool parse_number_attr(struct parser *p, struct ir_attr *attr);
/* A string or number whose ':' is not its own: i64, f64 or string. */
bool parse_untyped(struct parser *p, struct ir_attr *attr);
/* <field = value, ...> of a struct of dialect.mnemonic; '<' comes next. *known = false (nothing read) when there is no
 * such struct. */
bool parse_struct(struct parser *p, struct lex_span dialect, struct lex_span mnemonic, bool *known,
                  struct ir_attr *attr);
/* [b, 0, f]x[0, i, o]->[b, 0, f] without brackets around it. */
bool parse_conv_dimensions(struct parser *p, struct lex_span dialect, struct ir_attr *attr);
struct ir_attr parse_dense_to_array(struct parser *p, struct ir_attr attr, enum dtype element);

/* ---- aliases and locations --------------------------------------------------------------------------------------- */
/* Alias `name` (with sigil); reads its definition when needed. False without a message when `optional` and unknown. */
bool parse_alias(struct parser *p, struct lex_span name, bool optional, uint32_t *id);
/* The same where it becomes part of a type or attribute: nesting counts as if it were written out. */
bool parse_alias_value(struct parser *p, struct lex_span name, uint32_t *id);
/* `#x = ...` or `!x = ...` at top level. */
bool parse_alias_definition(struct parser *p);
/* Sets what the uses of aliases may stand for, by the length of the text at the cursor. */
void parse_expansion_begin(struct parser *p);
/* After the last op: names used in dropped locations must exist. */
bool parse_check_aliases(struct parser *p);
bool parse_alias_text(void *parser, struct lex_span name, struct strbuf *out);
/* `loc(...)` when it comes next. */
bool parse_optional_loc(struct parser *p, struct ir_attr *attr);
/* loc(...) as an attribute value; "loc" was read. */
bool parse_loc_attr(struct parser *p, struct ir_attr *attr);
/* {-# ... #-} */
bool parse_resources(struct parser *p);

/* ---- ops, regions, values (mlir_parse.c, mlir_parse_region.c) -------------------------------------------------------- */
/* NULL when memory is exhausted; stays valid during the parse. */
const struct op_name *parse_op_name(struct parser *p, struct lex_span span);
/* One op; appended to `block`. */
bool parse_op(struct parser *p, struct ir_block block);
/* `{ ... }`. `entry` (0 = none) has arguments already and takes the first ops. */
bool parse_region(struct parser *p, struct ir_region region, struct ir_block entry, const struct op_name *parent);
/* Marks for names that are defined before a region's '{' (function and loop arguments). */
struct region_scope {
  size_t values;
  uint32_t scope;
  size_t forwards;
};
struct region_scope parse_scope_begin(struct parser *p, bool isolated);
bool parse_scope_end(struct parser *p, struct region_scope scope, bool isolated);
/* Reports blocks from the `first` one on that nobody defined, and first blocks of a region that are branched to; forgets them. */
bool parse_check_blocks(struct parser *p, size_t first);
bool parse_define_value(struct parser *p, const struct name_key *key, struct ir_value first, uint32_t count);
/* %name[#n] at the cursor: pushes on p->operands. */
bool parse_operand(struct parser *p);
/* %a, %b, ... ; none is allowed. */
bool parse_operand_list(struct parser *p);
bool parse_check_operand(struct parser *p, size_t index, struct ir_type type);
/* E0201 when the number of operands since `op` began is not what its row allows. */
bool parse_check_operand_count(struct parser *p, const struct op_state *op);
/* `(types) -> types`, checked against the operands; results pushed on p->types. */
bool parse_function_types(struct parser *p, const struct op_state *op);
/* Moves from the begin of a faulty op to the next line at the same nesting that begins an op, or to the closing brace. */
void parse_skip_op(struct parser *p, const char *start);
bool parse_block_reference(struct parser *p, struct ir_block *block);

/* ---- pretty forms ------------------------------------------------------------------------------------------------ */
/* Row of an op, or NULL when it has no pretty form. */
const struct op_syntax *syntax_find(struct parser *p, enum ir_opcode opcode, struct lex_span name);
/* Types after ':' in the form of the row. */
bool parse_types(struct parser *p, struct op_state *op, enum type_form form);
/* `key = value` of the row; which ones were read is marked in *seen. */
bool parse_clause(struct parser *p, const struct op_state *op, const struct op_syntax *syntax, uint32_t *seen,
                  struct ir_attr *dot_fields);
/* {attributes} : (types) -> types */
bool parse_attrs_and_types(struct parser *p, struct op_state *op);
/* Region with a block whose arguments are named in p->results from `first_name` and typed in p->types from `first_type`;
 * where there are types but no names, the label of the first block declares the arguments. */
bool parse_region_with_arguments(struct parser *p, struct op_state *op, size_t first_name, size_t first_type,
                                 bool isolated);
/* Enum attribute `#dialect<mnemonic value>` of the dialect that the op is written in. */
struct ir_attr parse_op_enum(struct parser *p, const struct op_state *op, const char *mnemonic, struct lex_span value);
/* Dialect of the op's name: "stablehlo", "mhlo". */
struct lex_span parse_op_dialect(struct parser *p, const struct op_state *op);
#define RDG_SYNTAX_FN(name) syntax_fn parse_pretty_##name;
RDG_SYNTAX_FN(plain)
RDG_SYNTAX_FN(constant)
RDG_SYNTAX_FN(compare)
RDG_SYNTAX_FN(slice)
RDG_SYNTAX_FN(get_tuple_element)
RDG_SYNTAX_FN(convolution)
RDG_SYNTAX_FN(custom_call)
RDG_SYNTAX_FN(composite)
RDG_SYNTAX_FN(reduce)
RDG_SYNTAX_FN(while)
RDG_SYNTAX_FN(scan)
RDG_SYNTAX_FN(check_const)
RDG_SYNTAX_FN(module)
RDG_SYNTAX_FN(func)
RDG_SYNTAX_FN(call)
RDG_SYNTAX_FN(call_indirect)
RDG_SYNTAX_FN(func_constant)
RDG_SYNTAX_FN(sdy_mesh)
RDG_SYNTAX_FN(sdy_manual_computation)
RDG_SYNTAX_FN(sdy_named_computation)
RDG_SYNTAX_FN(sdy_sharding)
RDG_SYNTAX_FN(sdy_collective)
RDG_SYNTAX_FN(sdy_edge)
RDG_SYNTAX_FN(sdy_group)
RDG_SYNTAX_FN(sdy_barrier)
RDG_SYNTAX_FN(vhlo_func)
RDG_SYNTAX_FN(util_global)
RDG_SYNTAX_FN(util_address)
RDG_SYNTAX_FN(cmp)
RDG_SYNTAX_FN(extract)
RDG_SYNTAX_FN(const_shape)
RDG_SYNTAX_FN(call_like)
RDG_SYNTAX_FN(branch)
#undef RDG_SYNTAX_FN

#endif
