/* MLIR text → module: recognising what the text is, the top level, operations in generic form, and what both forms share.
 * Path: mlir_lexer.c → here → ir_op_create. The pretty forms are in mlir_pretty*.c, regions in mlir_parse_region.c. */
#define _GNU_SOURCE /* qsort_r */
#include "mlir/mlir_parse.h"

#include <stdio.h>

#include "mlir/op_attrs.h"

/* ---- operation names --------------------------------------------------------------------------------------------- */

/* Names without a dialect that MLIR text may use where func or builtin is the default dialect. */
static const struct {
  const char *name, *full;
} default_names[] = {{"func", "func.func"},
                     {"return", "func.return"},
                     {"call", "func.call"},
                     {"call_indirect", "func.call_indirect"},
                     {"constant", "func.constant"},
                     {"module", "builtin.module"},
                     {"unrealized_conversion_cast", "builtin.unrealized_conversion_cast"}};

static struct op_name *make_op_name(struct parser *p, struct lex_span span, uint32_t hash) {
  struct lex_span full = span;
  if (*span.text == '"') { /* see generic_name_key */
    full = (struct lex_span){span.text + 1, span.length - 2};
  } else if (memchr(span.text, '.', span.length) == NULL) {
    for (size_t i = 0; i < sizeof default_names / sizeof *default_names; i++) {
      if (lex_span_is(span, default_names[i].name)) {
        full = (struct lex_span){default_names[i].full, strlen(default_names[i].full)};
      }
    }
  }
  struct op_name *name = arena_alloc(&p->scratch, sizeof *name);
  uint32_t id;
  if (name == NULL || !parse_intern(p, full.text, full.length, &id)) {
    return NULL;
  }
  enum ir_opcode opcode = ir_opcode_find(full.text, full.length);
  *name = (struct op_name){.text = span.text,
                           .length = (uint32_t)span.length,
                           .hash = hash,
                           .id = id,
                           .opcode = (uint16_t)opcode,
                           .syntax = syntax_find(p, opcode, full)};
  size_t count;
  const struct mlir_op_attr *rows = mlir_op_attrs(opcode, &count);
  for (size_t i = 0; i < count; i++) {
    name->has_defaults |= rows[i].default_text != NULL || rows[i].words != NULL;
    name->has_stated |= rows[i].stated != NULL;
  }
  return name;
}

static uint32_t hash_name(struct lex_span span) {
  uint64_t h = span.length;
  const char *text = span.text;
  size_t left = span.length;
  for (; left >= 8; left -= 8, text += 8) {
    uint64_t word;
    memcpy(&word, text, 8);
    h = hash_mix(h, word);
  }
  for (; left; left--, text++) {
    h = h << 8 ^ h >> 56 ^ (uint8_t)*text;
  }
  return (uint32_t)(h * 0x9E3779B97F4A7C15ull >> 32);
}

static bool grow_op_slots(struct parser *p) {
  uint32_t count = p->op_slot_count ? p->op_slot_count * 2 : 512;
  const struct op_name **slots = calloc(count, sizeof(struct op_name *));
  if (slots == NULL) {
    return false;
  }
  for (uint32_t i = 0; i < p->op_slot_count; i++) {
    if (p->op_slots[i]) {
      uint32_t slot = p->op_slots[i]->hash & (count - 1);
      while (slots[slot]) {
        slot = (slot + 1) & (count - 1);
      }
      slots[slot] = p->op_slots[i];
    }
  }
  free(p->op_slots);
  p->op_slots = slots;
  p->op_slot_count = count;
  return true;
}

const struct op_name *parse_op_name(struct parser *p, struct lex_span span) {
  uint32_t hash = hash_name(span);
  if (p->op_count * 2 >= p->op_slot_count && !grow_op_slots(p)) {
    return NULL;
  }
  uint32_t slot = hash & (p->op_slot_count - 1);
  for (; p->op_slots[slot]; slot = (slot + 1) & (p->op_slot_count - 1)) {
    const struct op_name *name = p->op_slots[slot];
    if (name->hash == hash && name->length == span.length && memcmp(name->text, span.text, span.length) == 0) {
      return name;
    }
  }
  p->op_slots[slot] = make_op_name(p, span, hash);
  p->op_count += p->op_slots[slot] != NULL;
  return p->op_slots[slot];
}

/* Dialects whose operations are all listed in ops.def: stablehlo in every form, others where a pretty form is asked for. */
static bool closed_dialect(struct lex_span name, bool pretty) {
  static const char *const dialects[] = {"stablehlo.", "chlo.",  "sdy.",         "func.",
                                         "builtin.",   "check.", "interpreter.", "mhlo."};
  size_t count = pretty ? sizeof dialects / sizeof *dialects : 1;
  for (size_t i = 0; i < count; i++) {
    size_t length = strlen(dialects[i]);
    if (name.length > length && memcmp(name.text, dialects[i], length) == 0) {
      return true;
    }
  }
  return false;
}

/* E0109 with the nearest name of the same dialect. */
static bool unknown_op(struct parser *p, struct lex_span name) {
  const char *rows[IR_OP_COUNT];
  char text[128];
  size_t count = 0;
  snprintf(text, sizeof text, "%.*s", SPAN_ARGS(name));
  char *dot = strchr(text, '.');
  size_t dialect = dot ? (size_t)(dot - text) + 1 : 0;
  for (int i = 1; i < IR_OP_COUNT; i++) {
    const char *row = ir_opcode_info((enum ir_opcode)i)->name;
    if (strncmp(row, text, dialect) == 0) {
      rows[count++] = row + dialect;
    }
  }
  const char *near = nearest_name(text + dialect, rows, count);
  if (near == NULL) {
    return parse_error(p, DIAG_E0109_UNKNOWN_OP, name.text, "no operation '%s'", text);
  }
  return parse_error(p, DIAG_E0109_UNKNOWN_OP, name.text, "no operation '%s'; did you mean '%.*s%s'?", text,
                     (int)dialect, text, near);
}

/* ---- what both forms share ---------------------------------------------------------------------------------------- */

bool parse_check_operand_count(struct parser *p, const struct op_state *op) {
  const struct ir_op_info *info = ir_opcode_info((enum ir_opcode)op->name->opcode);
  size_t count = p->operands.count - op->operands;
  if (op->name->opcode == IR_OP_UNKNOWN
      || ((int64_t)count >= info->operands_min && (info->operands_max < 0 || (int64_t)count <= info->operands_max))) {
    return true;
  }
  const char *at = p->lx.begin + op->offset;
  if (info->operands_min == info->operands_max) {
    return parse_error(p, DIAG_E0201_OPERAND_COUNT, at, "'%s' takes %d operand%s, found %zu",
                       ir_text(p->m, op->name->id), info->operands_min, info->operands_min == 1 ? "" : "s", count);
  }
  if (info->operands_max < 0) {
    return parse_error(p, DIAG_E0201_OPERAND_COUNT, at, "'%s' takes at least %d operand%s, found %zu",
                       ir_text(p->m, op->name->id), info->operands_min, info->operands_min == 1 ? "" : "s", count);
  }
  return parse_error(p, DIAG_E0201_OPERAND_COUNT, at, "'%s' takes %d to %d operands, found %zu",
                     ir_text(p->m, op->name->id), info->operands_min, info->operands_max, count);
}

static bool type_count_error(struct parser *p, const struct op_state *op, size_t types) {
  size_t count = p->operands.count - op->operands;
  return parse_error(p, DIAG_E0110_OPERAND_TYPES, p->lx.cursor, "'%s' has %zu operand%s but %zu operand type%s",
                     ir_text(p->m, op->name->id), count, count == 1 ? "" : "s", types, types == 1 ? "" : "s");
}

bool parse_function_types(struct parser *p, const struct op_state *op) {
  if (!parse_char(p, '(', "'(' and the operand types")) {
    return false;
  }
  size_t index = op->operands;
  if (!lex_try(&p->lx, ')')) {
    do {
      struct ir_type type;
      if (!parse_type(p, &type)) {
        return false;
      }
      if (index < p->operands.count && !parse_check_operand(p, index, type)) {
        return false;
      }
      index++;
    } while (lex_try(&p->lx, ','));
    if (!parse_char(p, ')', "',' or ')' after an operand type")) {
      return false;
    }
  }
  if (index != p->operands.count) {
    return type_count_error(p, op, index - op->operands);
  }
  if (!lex_try_arrow(&p->lx)) {
    return parse_expected(p, "'->' and the result types");
  }
  return parse_result_types(p);
}

/* The array that older text writes as dense<...> : tensor<Nxi64>, or the attribute itself. */
static struct ir_attr modern_form(struct parser *p, const struct mlir_op_attr *row, struct ir_attr attr) {
  if (row && row->form != MLIR_FORM_ANY && ir_attr_get(p->m, attr)->kind == IR_ATTR_DENSE) {
    return parse_dense_to_array(p, attr, row->form == MLIR_FORM_I64_ARRAY ? DTYPE_I64 : DTYPE_I1);
  }
  return attr;
}

static int compare_names(const void *a, const void *b, void *context) {
  const struct parser *p = context;
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return strcmp(ir_text(p->m, x), ir_text(p->m, y));
}

/* Refuses an attribute that stands twice. Long lists are sorted first, so that this and later sorting are fast. */
static bool check_duplicates(struct parser *p, size_t first, const char *at) {
  uint32_t *pairs = p->pairs.data + first;
  size_t count = (p->pairs.count - first) / 2;
  if (count > 16) {
    qsort_r(pairs, count, 2 * sizeof *pairs, compare_names, p);
  }
  for (size_t i = 1; i < count; i++) {
    for (size_t j = count > 16 ? i - 1 : 0; j < i; j++) {
      if (pairs[2 * i] == pairs[2 * j]) {
        return parse_error(p, DIAG_E0107_REDEFINED, at, "attribute '%s' stands twice", ir_text(p->m, pairs[2 * i]));
      }
    }
  }
  return true;
}

/* Adds the strings that MLIR states where the text leaves them out. */
static bool state_defaults(struct parser *p, const struct op_state *op) {
  size_t count, end = p->pairs.count;
  const struct mlir_op_attr *rows = mlir_op_attrs((enum ir_opcode)op->name->opcode, &count);
  for (size_t i = 0; i < count; i++) {
    uint32_t name;
    if (rows[i].stated == NULL) {
      continue;
    }
    if (!parse_intern(p, rows[i].name, strlen(rows[i].name), &name)) {
      return false;
    }
    size_t at = op->pairs;
    while (at < end && p->pairs.data[at] != name) {
      at += 2;
    }
    if (at == end) {
      parse_push_pair(p, name, ir_attr_string(p->m, rows[i].stated, strlen(rows[i].stated), (struct ir_type){0}));
    }
  }
  return true;
}

/* Brings the attributes of an op into the form that both spellings share: see op_attrs.h. */
static bool normalise_attrs(struct parser *p, const struct op_state *op) {
  if (op->name->has_stated && !state_defaults(p, op)) {
    return false;
  }
  if (p->pairs.count == op->pairs) {
    return true;
  }
  if (!check_duplicates(p, op->pairs, p->lx.begin + op->offset)) {
    return false;
  }
  enum ir_opcode opcode = (enum ir_opcode)op->name->opcode;
  size_t kept = op->pairs;
  for (size_t i = op->pairs; i < p->pairs.count; i += 2) {
    uint32_t name = p->pairs.data[i];
    struct ir_attr attr = {p->pairs.data[i + 1]};
    if (op->name->has_defaults || ir_attr_get(p->m, attr)->kind == IR_ATTR_DENSE) {
      const struct mlir_op_attr *row = mlir_op_attr_find(opcode, ir_text(p->m, name));
      attr = mlir_attr_from_number(p->m, row, modern_form(p, row, attr));
      if (mlir_attr_is_default(p->m, row, attr, &p->m->out_of_memory)) {
        continue;
      }
    }
    p->pairs.data[kept] = name;
    p->pairs.data[kept + 1] = attr.id;
    kept += 2;
  }
  p->pairs.count = kept;
  return true;
}

/* Of an unknown op: whether names without a dialect are exactly those that stood in <{ }>. */
static bool properties_are_plain(const struct parser *p, const struct op_state *op) {
  for (size_t i = op->pairs; i < p->pairs.count; i += 2) {
    bool is_property = i - op->pairs < op->properties;
    if ((strchr(ir_text(p->m, p->pairs.data[i]), '.') == NULL) != is_property) {
      return false;
    }
  }
  return op->properties > 0;
}

/* Names of the results of the op that was just made. */
static bool define_results(struct parser *p, const struct op_state *op, struct ir_op made) {
  uint32_t total = 0, next = ir_op_get(p->m, made)->result_first;
  uint32_t have = ir_op_get(p->m, made)->result_count;
  for (size_t i = op->results; i < p->results.count; i++) {
    total = total + p->results.data[i].count < total ? UINT32_MAX : total + p->results.data[i].count;
  }
  if (p->results.count > op->results && total != have) {
    return parse_error(p, DIAG_E0202_RESULT_COUNT, p->lx.begin + op->offset, "'%s' has %u result%s but %u name%s",
                       ir_text(p->m, op->name->id), have, have == 1 ? "" : "s", total, total == 1 ? "" : "s");
  }
  for (size_t i = op->results; i < p->results.count; i++) {
    struct result_name name = p->results.data[i];
    if (!parse_define_value(p, &name.key, (struct ir_value){next}, name.count)) {
      return false;
    }
    next += name.count;
  }
  return true;
}

/* Everything has been read: makes the op, binds its results and the uses that wait for definitions. */
static bool finish_op(struct parser *p, struct op_state *op, struct ir_block block) {
  bool has_properties = op->name->opcode == IR_OP_UNKNOWN && properties_are_plain(p, op);
  if (!parse_optional_loc(p, &op->location) || !normalise_attrs(p, op)) {
    return false;
  }
  struct ir_op_spec spec = {.opcode = (enum ir_opcode)op->name->opcode,
                            .name = op->name->id,
                            .operands = p->operands.data + op->operands,
                            .operand_count = (uint32_t)(p->operands.count - op->operands),
                            .result_types = p->types.data + op->types,
                            .result_count = (uint32_t)(p->types.count - op->types),
                            .attrs = p->pairs.data + op->pairs,
                            .attr_count = (uint32_t)((p->pairs.count - op->pairs) / 2),
                            .regions = p->regions.data + op->regions,
                            .region_count = (uint32_t)(p->regions.count - op->regions),
                            .successors = p->successors.data + op->successors,
                            .successor_count = (uint32_t)(p->successors.count - op->successors),
                            .offset = op->offset,
                            .location = op->location};
  struct ir_op made = ir_op_create(p->m, block, &spec);
  if (!made.id) {
    return parse_memory(p);
  }
  ir_op_get(p->m, made)->flags |= has_properties ? IR_OP_PROPERTIES : 0;
  for (size_t i = op->uses; i < p->uses.count; i++) {
    struct forward_use *use = &p->uses.data[i];
    if (!use->op.id) {
      use->op = made;
      use->operand -= (uint32_t)op->operands;
    }
  }
  return define_results(p, op, made);
}

/* ---- generic form ------------------------------------------------------------------------------------------------- */

static bool generic_successors(struct parser *p) {
  if (!lex_try(&p->lx, '[') || lex_try(&p->lx, ']')) {
    return true;
  }
  do {
    struct ir_block block;
    if (!parse_block_reference(p, &block)) {
      return false;
    }
    if (!vec_push(&p->successors, block)) {
      return parse_memory(p);
    }
  } while (lex_try(&p->lx, ','));
  return parse_char(p, ']', "',' or ']' after a block");
}

static bool generic_region(struct parser *p, const struct op_state *op, bool isolated) {
  struct ir_region region = ir_region_create(p->m);
  if (!region.id) {
    return parse_memory(p);
  }
  struct region_scope scope = parse_scope_begin(p, isolated);
  bool ok = parse_region(p, region, (struct ir_block){0}, op->name);
  ok = parse_scope_end(p, scope, isolated) && ok;
  return ok && (vec_push(&p->regions, region) ? true : parse_memory(p));
}

/* `({...}, {...})` when it comes next. */
static bool generic_regions(struct parser *p, const struct op_state *op) {
  if (!lex_try(&p->lx, '(')) {
    return true;
  }
  bool isolated = ir_opcode_has((enum ir_opcode)op->name->opcode, IR_TRAIT_ISOLATED);
  do {
    if (!generic_region(p, op, isolated)) {
      return false;
    }
  } while (lex_try(&p->lx, ','));
  return parse_char(p, ')', "',' or ')' after a region");
}

/* `<{...}>` */
static bool generic_properties(struct parser *p, struct op_state *op) {
  lex_skip(&p->lx);
  if (*p->lx.cursor != '<') {
    return true;
  }
  p->lx.cursor++;
  if (lex_peek(&p->lx) != '{') {
    return parse_expected(p, "'{' and the properties");
  }
  size_t first = p->pairs.count;
  if (!parse_attr_entries(p) || !parse_char(p, '>', "'>' after the properties")) {
    return false;
  }
  op->properties = p->pairs.count - first;
  return true;
}

/* In quotes a name means itself: "func" is no func.func. Names without a dialect are looked up with their quotes, so that
 * they are apart from the bare words. */
static struct lex_span generic_name_key(struct lex_span raw) {
  bool has_dialect = memchr(raw.text, '.', raw.length) != NULL;
  return has_dialect ? raw : (struct lex_span){raw.text - 1, raw.length + 2};
}

static bool generic_op(struct parser *p, struct op_state *op) {
  struct lex_span raw;
  const char *start = p->lx.cursor;
  if (!lex_string(&p->lx, &raw)) {
    p->lx.cursor = p->lx.end;
    return parse_error(p, DIAG_E0103_EOF, start, "this operation name does not end");
  }
  if (raw.length == 0) {
    return parse_expected(p, "an operation name");
  }
  for (size_t i = 0; i < raw.length; i++) {
    if (!lex_is(raw.text[i], LEX_SUFFIX)) {
      return parse_error(p, DIAG_E0101_TOKEN, raw.text + i,
                         "an operation name consists of letters, digits, '_', '$', '.' and '-'");
    }
  }
  op->name = parse_op_name(p, generic_name_key(raw));
  if (op->name == NULL) {
    return parse_memory(p);
  }
  if (op->name->opcode == IR_OP_UNKNOWN && closed_dialect(raw, false)) {
    return unknown_op(p, raw);
  }
  return parse_char(p, '(', "'(' and the operands") && parse_operand_list(p)
         && parse_char(p, ')', "',' or ')' after an operand") && generic_successors(p) && generic_properties(p, op)
         && generic_regions(p, op) && parse_optional_attrs(p)
         && parse_char(p, ':', "':' and the types of the operation") && parse_function_types(p, op);
}

/* ---- one op ------------------------------------------------------------------------------------------------------- */

/* `%a, %b:2 =` */
static bool result_names(struct parser *p) {
  do {
    if (!lex_try(&p->lx, '%')) {
      return parse_expected(p, "a result (%name)");
    }
    struct result_name name = {name_scan(&p->lx), 1};
    if (name.key.length == 0) {
      return parse_expected(p, "a name after '%'");
    }
    if (*p->lx.cursor == ':' && lex_try(&p->lx, ':')) {
      struct lex_number number;
      if (!lex_number_read(&p->lx, &number) || number.is_float || number.is_wide || number.is_negative || number.is_hex
          || number.value == 0 || number.value > UINT32_MAX) {
        return parse_expected(p, "a number of results, at least 1");
      }
      name.count = (uint32_t)number.value;
    }
    if (!vec_push(&p->results, name)) {
      return parse_memory(p);
    }
  } while (lex_try(&p->lx, ','));
  return parse_char(p, '=', "'=' after the results");
}

static bool pretty_op(struct parser *p, struct op_state *op) {
  struct lex_span span = lex_word(&p->lx);
  if (span.length == 0) {
    return parse_expected(p, "an operation");
  }
  const struct op_name *name = parse_op_name(p, span);
  if (name == NULL) {
    return parse_memory(p);
  }
  op->name = name;
  if (name->syntax && name->syntax->parse) {
    return name->syntax->parse(p, op, name->syntax);
  }
  if (name->opcode != IR_OP_UNKNOWN || name->syntax) {
    return parse_error(p, DIAG_E0102_EXPECTED, span.text, "'%.*s' has no pretty form; expected \"%.*s\"(...)",
                       SPAN_ARGS(span), SPAN_ARGS(span));
  }
  if (closed_dialect(span, true)) {
    return unknown_op(p, span);
  }
  const char *dot = memchr(span.text, '.', span.length);
  if (dot == NULL) {
    return parse_error(p, DIAG_E0102_EXPECTED, span.text, "expected an operation, found '%.*s'", SPAN_ARGS(span));
  }
  return parse_error(p, DIAG_E0108_FOREIGN, span.text, "the assembly form of '%.*s' is not known (dialect '%.*s')",
                     SPAN_ARGS(span), (int)(dot - span.text < 100 ? dot - span.text : 100), span.text);
}

static struct op_state begin_op(struct parser *p) {
  return (struct op_state){.offset = (uint32_t)(p->lx.cursor - p->lx.begin),
                           .operands = p->operands.count,
                           .pairs = p->pairs.count,
                           .types = p->types.count,
                           .regions = p->regions.count,
                           .successors = p->successors.count,
                           .results = p->results.count,
                           .uses = p->uses.count};
}

static void end_op(struct parser *p, const struct op_state *op) {
  p->operands.count = p->operand_at.count = op->operands;
  p->pairs.count = op->pairs;
  p->types.count = op->types;
  p->regions.count = op->regions;
  p->successors.count = op->successors;
  p->results.count = op->results;
}

/* The results of a faulty op exist without a type, so that their uses are not reported too. */
static void poison_results(struct parser *p, const struct op_state *op) {
  for (size_t i = op->results; i < op->result_end && i < p->results.count; i++) {
    const struct result_name *name = &p->results.data[i];
    if (!name_find(&p->values, &name->key, p->scope)) {
      struct name_entry *entry = name_add(&p->values, &name->key, p->scope);
      if (entry) {
        entry->count = UINT32_MAX;
      }
    }
  }
}

/* What a faulty op may have left changed. */
struct parser_mark {
  size_t values, forwards, blocks, open, items, scope_forwards;
  unsigned depth;
  uint32_t scope, block_scope;
  uint16_t region_opcode;
};

static struct parser_mark mark_parser(const struct parser *p) {
  return (struct parser_mark){p->values.entries.count,
                              p->forwards.entries.count,
                              p->blocks.entries.count,
                              p->open.count,
                              p->items.count,
                              p->scope_forwards,
                              p->depth,
                              p->scope,
                              p->block_scope,
                              p->region_opcode};
}

static void reset_parser(struct parser *p, const struct parser_mark *mark) {
  p->scope = mark->scope;
  p->scope_forwards = mark->scope_forwards;
  p->block_scope = mark->block_scope;
  p->region_opcode = mark->region_opcode;
  p->depth = mark->depth;
  p->open.count = mark->open;
  p->items.count = mark->items;
  name_table_cut(&p->values, mark->values);
  name_table_cut(&p->forwards, mark->forwards);
}

bool parse_op(struct parser *p, struct ir_block block) {
  lex_skip(&p->lx);
  struct op_state op = begin_op(p);
  struct parser_mark mark = mark_parser(p);
  bool ok = *p->lx.cursor != '%' || result_names(p);
  if (ok) {
    op.result_end = p->results.count;
    lex_skip(&p->lx);
    op.offset = (uint32_t)(p->lx.cursor - p->lx.begin);
    ok = *p->lx.cursor == '"' ? generic_op(p, &op) : pretty_op(p, &op);
  }
  ok = ok && finish_op(p, &op, block);
  if (!ok) {
    reset_parser(p, &mark);
    poison_results(p, &op);
  }
  end_op(p, &op);
  return ok;
}

/* ---- the text as a whole ------------------------------------------------------------------------------------------ */

static bool starts_with(const char *text, size_t length, const char *prefix) {
  return length >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0;
}

/* What a text evidently is when it is not MLIR, or NULL. */
static const char *other_format(const char *text, size_t length) {
  static const struct {
    const char *prefix, *what;
  } rows[] = {{"ML\xEFR", "MLIR bytecode where text is expected"},
              {"<", "HTML or XML, not MLIR; was a web page saved instead of the file?"},
              {"HloModule", "HLO text, not MLIR"},
              {"\x1F\x8B", "gzip data"},
              {"\x28\xB5\x2F\xFD", "zstd data"},
              {"PK\x03\x04", "a zip archive"},
              {"\x7F"
               "ELF",
               "an ELF binary"},
              {"\x89PNG", "a picture"},
              {"[", "JSON, not MLIR"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (starts_with(text, length, rows[i].prefix)) {
      return rows[i].what;
    }
  }
  if (*text == '{' && !starts_with(text, length, "{-#")) {
    return "JSON, not MLIR";
  }
  if (starts_with(text, length, "\x08") && memchr(text, 0, length < 4096 ? length : 4096) == NULL) {
    return "a protocol buffer (ONNX?), not MLIR";
  }
  if (memchr(text, 0, length < 65536 ? length : 65536) != NULL) {
    return *text == 0x08 ? "a protocol buffer (ONNX?), not MLIR" : "binary data, not MLIR text";
  }
  return NULL;
}

/* Refuses by name what is evidently something else. */
static enum status refuse_other(const struct source *source, size_t start, size_t end, struct diag_list *diags) {
  const char *text = source->text + start;
  size_t length = end - start;
  if (starts_with(text, length, "\xEF\xBB\xBF")) {
    text += 3;
    length -= 3;
  }
  struct lexer lx = {text, source->text, text + length};
  while (lx.cursor < lx.end && lex_is(*lx.cursor, LEX_SPACE)) {
    lx.cursor++;
  }
  if (lx.cursor == lx.end) {
    diag_at(diags, DIAG_E0002_EMPTY, source, start, "the input is empty");
    return STATUS_INPUT;
  }
  const char *what = NULL;
  if (*lx.cursor == '/') {
    lex_skip(&lx);
  }
  if (lx.cursor < lx.end && (what = other_format(lx.cursor, (size_t)(lx.end - lx.cursor))) != NULL) {
    diag_at(diags, DIAG_E0003_FORMAT, source, (size_t)(lx.cursor - source->text), "this is %s", what);
    return STATUS_INPUT;
  }
  if (end > UINT32_MAX) {
    diag_at(diags, DIAG_E0005_LIMIT, source, start, "a text of 4 GiB or more cannot be read");
    return STATUS_LIMIT;
  }
  return STATUS_OK;
}

/* Ops, alias definitions and resources up to the end of the text. */
static void top_level(struct parser *p, struct ir_block block) {
  while (!p->stopped) {
    char c = lex_peek(&p->lx);
    if (p->lx.cursor >= p->lx.end) {
      break;
    }
    const char *start = p->lx.cursor;
    bool ok;
    if (c == '-' && starts_with(start, (size_t)(p->lx.end - start), "-----")) {
      const char *newline = memchr(start, '\n', (size_t)(p->lx.end - start));
      p->lx.cursor = newline ? newline : p->lx.end; /* "----- END OF MLIR MODULE -----" of dumps */
      ok = true;
    } else if (c == '#' || c == '!') {
      ok = parse_alias_definition(p);
    } else if (c == '{' && p->lx.cursor[1] == '-' && p->lx.cursor[2] == '#') {
      ok = parse_resources(p);
    } else {
      ok = parse_op(p, block);
    }
    if (!ok) {
      p->quiet = false;
      p->depth = 0;
      p->open.count = p->items.count = p->pairs.count = p->types.count = p->dims.count = 0;
      parse_skip_op(p, start);
      if (p->lx.cursor <= start || (p->lx.cursor < p->lx.end && *p->lx.cursor == '}')) {
        p->lx.cursor++;
      }
    }
  }
}

/* A text of one module is that module; anything else is wrapped in one. */
static bool make_root(struct parser *p, struct ir_region region, struct ir_block block) {
  struct ir_op first = ir_block_get(p->m, block)->first;
  if (first.id && !ir_op_get(p->m, first)->next.id && ir_op_code(p->m, first) == IR_OP_BUILTIN_MODULE) {
    struct ir_op_data *op = ir_op_get(p->m, first);
    op->parent.id = 0;
    p->m->root = first;
    return true;
  }
  struct ir_op_spec spec = {.opcode = IR_OP_BUILTIN_MODULE, .regions = &region, .region_count = 1};
  p->m->root = ir_op_create(p->m, (struct ir_block){0}, &spec);
  return p->m->root.id != 0 || parse_memory(p);
}

bool parse_intern_names(struct parser *p) {
  for (int i = 0; i < NAME_COUNT; i++) {
    static const char *const texts[] = {
#define RDG_NAME(id) #id,
#include "mlir/parse_names.def"
#undef RDG_NAME
    };
    if (!parse_intern(p, texts[i], strlen(texts[i]), &p->names[i])) {
      return false;
    }
  }
  return true;
}

static bool parse_text(struct parser *p) {
  if (!parse_intern_names(p)) {
    return false;
  }
  struct ir_region region = ir_region_create(p->m);
  struct ir_block block = ir_block_create(p->m, region);
  if (!block.id) {
    return parse_memory(p);
  }
  p->region_opcode = IR_OP_BUILTIN_MODULE;
  top_level(p, block);
  if (!p->stopped) {
    struct region_scope scope = {0, 0, 0};
    parse_scope_end(p, scope, true);
    parse_check_blocks(p, 0);
    parse_check_aliases(p);
  }
  return !p->failed && make_root(p, region, block);
}

void parse_release(struct parser *p) {
  vec_release(&p->operands);
  vec_release(&p->operand_at);
  vec_release(&p->pairs);
  vec_release(&p->types);
  vec_release(&p->regions);
  vec_release(&p->successors);
  vec_release(&p->results);
  vec_release(&p->items);
  vec_release(&p->dims);
  vec_release(&p->bytes);
  vec_release(&p->open);
  vec_release(&p->uses);
  vec_release(&p->aliases);
  vec_release(&p->alias_edges);
  free(p->op_slots);
  arena_release(&p->scratch);
  strbuf_release(&p->text);
  name_table_release(&p->values);
  name_table_release(&p->forwards);
  name_table_release(&p->blocks);
  name_table_release(&p->alias_names);
}

static enum status outcome(struct parser *p, bool ok, struct ir_module **module) {
  if (ok && !p->m->out_of_memory) {
    *module = p->m;
    return STATUS_OK;
  }
  enum status status = p->limit ? STATUS_LIMIT : STATUS_INPUT;
  if (p->m->out_of_memory) {
    diag_at(p->diags, DIAG_E0005_LIMIT, p->source, (size_t)(p->lx.cursor - p->lx.begin),
            "the program needs more memory than its budget of %zu bytes", p->m->arena.budget_bytes);
    status = STATUS_MEMORY;
  }
  ir_module_free(p->m);
  return status;
}

enum status mlir_parse_piece(const struct source *source, size_t start, size_t end,
                             const struct mlir_parse_options *options, struct diag_list *diags,
                             struct ir_module **module) {
  static const struct mlir_parse_options defaults = {0};
  options = options ? options : &defaults;
  *module = NULL;
  STATUS_TRY(refuse_other(source, start, end, diags));
  size_t budget = options->memory_budget_bytes ? options->memory_budget_bytes : (end - start) * 64 + (64u << 20);
  struct parser *p = calloc(1, sizeof *p);
  struct ir_module *m = ir_module_new(budget);
  char *copy = NULL;
  const char *text = source->text;
  if (p && m && text[end] != '\0' && text[end] != '/' && (copy = malloc(end + 1)) != NULL) {
    memcpy(copy, text, end);
    copy[end] = '\0';
    text = copy;
  }
  if (!p || !m || (!copy && text[end] != '\0' && text[end] != '/')) {
    free(p);
    ir_module_free(m);
    diag_at(diags, DIAG_E0007_MEMORY, source, start, "out of memory");
    return STATUS_MEMORY;
  }
  m->source = *source;
  p->lx = (struct lexer){text + start, text, text + end};
  if (starts_with(text + start, end - start, "\xEF\xBB\xBF")) {
    p->lx.cursor += 3;
  }
  arena_init(&p->scratch, 0);
  p->m = m;
  p->source = source;
  p->diags = diags;
  p->start = p->lx.cursor;
  parse_expansion_begin(p);
  p->max_depth = options->max_depth ? options->max_depth : 256;
  p->keep_locations = options->keep_locations;
  bool ok = parse_text(p);
  enum status status = outcome(p, ok, module);
  parse_release(p);
  free(p);
  free(copy);
  return status;
}

enum status mlir_parse(const struct source *source, const struct mlir_parse_options *options, struct diag_list *diags,
                       struct ir_module **module) {
  return mlir_parse_piece(source, 0, source->length, options, diags, module);
}
