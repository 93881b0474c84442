/* Regions, blocks and SSA values of MLIR text: scopes of names, uses before definitions, going on after an error. Path:
 * mlir_parse.c (ops) → here → mlir_parse.c. */
#include "mlir/mlir_parse.h"

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Isolated regions see no outer names: they get a scope number of their own. Others share the number; their names are
 * taken back at the end. */
struct region_scope parse_scope_begin(struct parser *p, bool isolated) {
  struct region_scope scope = {p->values.entries.count, p->scope, p->scope_forwards};
  if (isolated) {
    p->scope = ++p->scope_count;
    p->scope_forwards = p->forwards.entries.count;
  }
  return scope;
}

/* Reports names that were used in the innermost isolated region and never defined. */
static bool check_forwards(struct parser *p) {
  bool ok = true;
  for (size_t i = p->scope_forwards; i < p->forwards.entries.count && !p->stopped; i++) {
    const struct name_entry *entry = &p->forwards.entries.data[i];
    if (entry->first) {
      const char *at = p->uses.data[entry->first - 1].at;
      p->quiet = false;
      ok = parse_error(p, DIAG_E0106_UNDEFINED, at - 1, "value '%%%.*s' is used but never defined",
                       SPAN_ARGS(entry->key));
    }
  }
  name_table_cut(&p->forwards, p->scope_forwards);
  return ok;
}

bool parse_scope_end(struct parser *p, struct region_scope scope, bool isolated) {
  bool ok = true;
  if (isolated) {
    ok = check_forwards(p);
    p->scope = scope.scope;
    p->scope_forwards = scope.forwards;
  }
  name_table_cut(&p->values, scope.values);
  return ok;
}

/* True when op `use` cannot see `definition`, which came later: it stands in, or is nested in an op of, the block of the
 * definition, or the definition is in a region that does not enclose it. Regions of modules and of unknown ops are graphs,
 * where the order within a block does not matter. All ops between `use` and the region being read are complete. */
static bool used_before(const struct parser *p, struct ir_op use, struct ir_value definition) {
  const struct ir_value_data *value = ir_value_get(p->m, definition);
  bool is_ordered = value->op.id && p->region_opcode != IR_OP_UNKNOWN && p->region_opcode != IR_OP_BUILTIN_MODULE;
  struct ir_block home = value->op.id ? ir_op_get(p->m, value->op)->parent : value->block;
  struct ir_region region = ir_block_get(p->m, home)->parent;
  while (use.id) {
    struct ir_block block = ir_op_get(p->m, use)->parent;
    struct ir_region around = ir_block_get(p->m, block)->parent;
    if (around.id == region.id) {
      return is_ordered && block.id == home.id;
    }
    use = ir_region_get(p->m, around)->parent;
  }
  return true;
}

/* Fills in the uses of a name that came before its definition. */
static bool resolve_uses(struct parser *p, struct name_entry *forward, struct ir_value first, uint32_t count) {
  uint32_t next = forward->first;
  forward->first = 0;
  while (next) {
    struct forward_use use = p->uses.data[next - 1];
    next = use.next;
    if (use.number >= count) {
      return parse_error(p, DIAG_E0106_UNDEFINED, use.at - 1, "'%%%.*s' has %u values, number %u is used",
                         SPAN_ARGS(forward->key), count, use.number);
    }
    struct ir_value value = {first.id + use.number};
    if (first.id == 0 || (use.op.id == 0 && p->failed)) {
      continue;
    }
    if (ir_value_type(p->m, value).id != use.type.id) {
      return parse_error(p, DIAG_E0110_OPERAND_TYPES, use.at - 1,
                         "'%%%.*s' is used with another type than it is defined with", SPAN_ARGS(forward->key));
    }
    if (use.op.id == 0 || used_before(p, use.op, value)) {
      return parse_error(p, DIAG_E0106_UNDEFINED, use.at - 1, "value '%%%.*s' is used before its definition",
                         SPAN_ARGS(forward->key));
    }
    ir_op_set_operand(p->m, use.op, use.operand, value);
  }
  return true;
}

bool parse_define_value(struct parser *p, const struct name_key *key, struct ir_value first, uint32_t count) {
  if (name_find(&p->values, key, p->scope)) {
    return parse_error(p, DIAG_E0107_REDEFINED, key->text - 1, "value '%%%.*s' is defined twice", SPAN_ARGS(*key));
  }
  struct name_entry *entry = name_add(&p->values, key, p->scope);
  if (!entry) {
    return parse_memory(p);
  }
  entry->first = first.id;
  entry->count = count;
  if (p->forwards.entries.count > p->scope_forwards) {
    struct name_entry *forward = name_find(&p->forwards, key, p->scope);
    return !forward || resolve_uses(p, forward, first, count);
  }
  return true;
}

/* The number behind '#', when there is one. */
static bool operand_number(struct parser *p, uint32_t *number) {
  *number = 0;
  if (*p->lx.cursor != '#' || !lex_is(p->lx.cursor[1], LEX_DIGIT)) {
    return true;
  }
  p->lx.cursor++;
  uint64_t value = 0;
  while (lex_is(*p->lx.cursor, LEX_DIGIT)) {
    value = value * 10 + (uint64_t)(*p->lx.cursor++ - '0');
    if (value > UINT32_MAX) {
      return parse_expected(p, "a smaller result number");
    }
  }
  *number = (uint32_t)value;
  return true;
}

bool parse_operand(struct parser *p) {
  if (!lex_try(&p->lx, '%')) {
    return parse_expected(p, "an operand (%name)");
  }
  struct name_key key = name_scan(&p->lx);
  if (key.length == 0) {
    return parse_expected(p, "a name after '%'");
  }
  uint32_t number;
  if (!operand_number(p, &number)) {
    return false;
  }
  struct ir_value value = {0};
  const struct name_entry *entry = name_find(&p->values, &key, p->scope);
  if (entry) {
    if (number >= entry->count) {
      return parse_error(p, DIAG_E0106_UNDEFINED, key.text - 1, "'%%%.*s' has %u values, number %u is used",
                         SPAN_ARGS(key), entry->count, number);
    }
    value.id = entry->first ? entry->first + number : 0;
  }
  return vec_push(&p->operands, value) && vec_push(&p->operand_at, key.text) ? true : parse_memory(p);
}

bool parse_operand_list(struct parser *p) {
  if (lex_peek(&p->lx) != '%') {
    return true;
  }
  do {
    if (!parse_operand(p)) {
      return false;
    }
  } while (lex_try(&p->lx, ','));
  return true;
}

static struct name_key operand_key(const char *at, uint32_t *number) {
  struct lexer lx = {at, at, at};
  struct name_key key = name_scan(&lx);
  *number = 0;
  if (*lx.cursor == '#') {
    for (lx.cursor++; lex_is(*lx.cursor, LEX_DIGIT); lx.cursor++) {
      *number = *number * 10 + (uint32_t)(*lx.cursor - '0');
    }
  }
  return key;
}

static bool mismatch(struct parser *p, size_t index, struct ir_type stated, struct ir_type defined) {
  struct strbuf a = {0}, b = {0};
  mlir_print_type(p->m, stated, &a);
  mlir_print_type(p->m, defined, &b);
  uint32_t number;
  struct name_key key = operand_key(p->operand_at.data[index], &number);
  parse_error(p, DIAG_E0110_OPERAND_TYPES, key.text - 1, "'%%%.*s' is used with type '%.180s' but has type '%.180s'",
              SPAN_ARGS(key), strbuf_text(&a), strbuf_text(&b));
  strbuf_release(&a);
  strbuf_release(&b);
  return false;
}

/* Remembers a use whose value is still unknown; the op is filled in by parse_op. */
static bool add_forward(struct parser *p, size_t index, struct ir_type type) {
  uint32_t number;
  struct name_key key = operand_key(p->operand_at.data[index], &number);
  const struct name_entry *known = name_find(&p->values, &key, p->scope);
  if (known) {
    return true; /* poisoned by an earlier error, which has been reported */
  }
  struct name_entry *entry = name_find(&p->forwards, &key, p->scope);
  if (!entry && !(entry = name_add(&p->forwards, &key, p->scope))) {
    return parse_memory(p);
  }
  struct forward_use use = {{0}, (uint32_t)index, number, type, key.text, entry->first};
  if (!vec_push(&p->uses, use)) {
    return parse_memory(p);
  }
  entry->first = (uint32_t)p->uses.count;
  return true;
}

bool parse_check_operand(struct parser *p, size_t index, struct ir_type type) {
  struct ir_value value = p->operands.data[index];
  if (value.id == 0) {
    return add_forward(p, index, type);
  }
  struct ir_type defined = ir_value_type(p->m, value);
  return defined.id == type.id || mismatch(p, index, type, defined);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

bool parse_block_reference(struct parser *p, struct ir_block *block) {
  if (!lex_try(&p->lx, '^')) {
    return parse_expected(p, "a block label (^name)");
  }
  struct name_key key = name_scan(&p->lx);
  if (key.length == 0) {
    return parse_expected(p, "a name after '^'");
  }
  struct name_entry *entry = name_find(&p->blocks, &key, p->block_scope);
  if (!entry) {
    struct ir_block created = ir_block_create(p->m, (struct ir_region){0});
    if (!created.id || !(entry = name_add(&p->blocks, &key, p->block_scope))) {
      return parse_memory(p);
    }
    entry->first = created.id;
  }
  entry->flags |= BLOCK_USED;
  block->id = entry->first;
  return true;
}

/* `(%a: T loc(..), ...)` of a label: arguments become values. */
static bool block_arguments(struct parser *p, struct ir_block block) {
  size_t types = p->types.count, names = p->results.count;
  if (lex_try(&p->lx, '(') && !lex_try(&p->lx, ')')) {
    do {
      struct ir_type type;
      struct ir_attr location;
      if (!parse_char(p, '%', "a block argument (%name)")) {
        return false;
      }
      struct result_name name = {name_scan(&p->lx), 1};
      if (!parse_char(p, ':', "':' and the type of the block argument") || !parse_type(p, &type)
          || !parse_optional_loc(p, &location)) {
        return false;
      }
      if (!vec_push(&p->types, type) || !vec_push(&p->results, name)) {
        return parse_memory(p);
      }
    } while (lex_try(&p->lx, ','));
    if (!parse_char(p, ')', "',' or ')' after a block argument")) {
      return false;
    }
  }
  uint32_t count = (uint32_t)(p->types.count - types);
  if (!ir_block_set_arguments(p->m, block, p->types.data + types, count)) {
    return parse_memory(p);
  }
  for (uint32_t i = 0; i < count; i++) {
    struct result_name name = p->results.data[names + i];
    if (!parse_define_value(p, &name.key, ir_block_argument(p->m, block, i), 1)) {
      return false;
    }
  }
  p->types.count = types;
  p->results.count = names;
  return true;
}

/* `^name(...):` ; the block is appended to the region. */
static bool block_label(struct parser *p, struct ir_region region, struct ir_block *block) {
  p->lx.cursor++;
  struct name_key key = name_scan(&p->lx);
  if (key.length == 0) {
    return parse_expected(p, "a name after '^'");
  }
  struct name_entry *entry = name_find(&p->blocks, &key, p->block_scope);
  if (entry && (entry->flags & BLOCK_DEFINED)) {
    return parse_error(p, DIAG_E0107_REDEFINED, key.text - 1, "block '^%.*s' is defined twice", SPAN_ARGS(key));
  }
  if (!entry) {
    struct ir_block created = ir_block_create(p->m, (struct ir_region){0});
    if (!created.id || !(entry = name_add(&p->blocks, &key, p->block_scope))) {
      return parse_memory(p);
    }
    entry->first = created.id;
  }
  entry->flags |= BLOCK_DEFINED;
  block->id = entry->first;
  ir_block_append(p->m, region, *block);
  entry->flags |= ir_region_get(p->m, region)->first.id == block->id ? BLOCK_FIRST : 0u;
  return block_arguments(p, *block) && parse_char(p, ':', "':' after the block label");
}

/* ---- going on after an error ------------------------------------------------------------------------------------- */

static bool begins_op(const char *p) {
  if (*p == '%' || *p == '"' || *p == '^') {
    return true;
  }
  if (!lex_is(*p, LEX_START)) {
    return false;
  }
  bool dotted = false;
  const char *q = p;
  for (; lex_is(*q, LEX_WORD); q++) {
    dotted |= *q == '.';
  }
  size_t n = (size_t)(q - p);
  return dotted || (n == 6 && (memcmp(p, "return", 6) == 0 || memcmp(p, "module", 6) == 0))
         || (n == 4 && (memcmp(p, "func", 4) == 0 || memcmp(p, "call", 4) == 0));
}

/* Moves from the begin of a faulty op to the next line at the same nesting that begins an op, or to the closing brace. */
void parse_skip_op(struct parser *p, const char *start) {
  struct lexer at = {start, p->lx.begin, p->lx.end};
  size_t nesting = 0;
  bool line_start = false;
  while (at.cursor < at.end) {
    char c = *at.cursor;
    if (c == '\n') {
      line_start = true;
      at.cursor++;
      continue;
    }
    if (lex_is(c, LEX_SPACE)) {
      at.cursor++;
      continue;
    }
    if (c == '/' && at.cursor[1] == '/') {
      const char *newline = memchr(at.cursor, '\n', (size_t)(at.end - at.cursor));
      at.cursor = newline ? newline : at.end;
      continue;
    }
    if (line_start && nesting == 0 && at.cursor > start && begins_op(at.cursor)) {
      break;
    }
    line_start = false;
    struct lex_span raw;
    if (c == '"') {
      at.cursor = lex_string(&at, &raw) ? at.cursor : at.end;
      continue;
    }
    nesting += c == '{' || c == '(' || c == '[';
    if (c == '}' || c == ')' || c == ']') {
      if (nesting == 0 && c == '}') {
        break;
      }
      nesting -= nesting > 0;
    }
    at.cursor++;
  }
  p->lx.cursor = at.cursor < at.end ? at.cursor : at.end;
}

/* Ops up to the closing brace or the next label. */
static void block_ops(struct parser *p, struct ir_region region, struct ir_block *block) {
  for (;;) {
    char c = lex_peek(&p->lx);
    if (c == '}' || c == '^' || p->lx.cursor >= p->lx.end || p->stopped) {
      return;
    }
    if (!block->id) {
      *block = ir_block_create(p->m, region);
      if (!block->id) {
        parse_memory(p);
        return;
      }
    }
    const char *start = p->lx.cursor;
    if (!parse_op(p, *block)) {
      p->quiet = false;
      if (p->stopped) {
        return;
      }
      parse_skip_op(p, start);
      if (p->lx.cursor <= start) {
        p->lx.cursor = start + 1;
      }
    } else if (p->m->out_of_memory) {
      parse_memory(p);
      return;
    }
  }
}

bool parse_check_blocks(struct parser *p, size_t first) {
  bool ok = true;
  for (size_t i = first; i < p->blocks.entries.count && !p->stopped; i++) {
    const struct name_entry *entry = &p->blocks.entries.data[i];
    if (!(entry->flags & BLOCK_DEFINED)) {
      ok = parse_error(p, DIAG_E0106_UNDEFINED, entry->key.text - 1, "block '^%.*s' is used but never defined",
                       SPAN_ARGS(entry->key));
    } else if ((entry->flags & BLOCK_FIRST) && (entry->flags & BLOCK_USED)) {
      ok = parse_error(p, DIAG_E0211_REGION, entry->key.text - 1,
                       "'^%.*s' is the first block of its region, to which "
                       "nothing may branch",
                       SPAN_ARGS(entry->key));
    }
  }
  name_table_cut(&p->blocks, first);
  return ok;
}

static bool region_body(struct parser *p, struct ir_region region, struct ir_block entry) {
  struct ir_block block = entry;
  block_ops(p, region, &block);
  while (!p->stopped && *p->lx.cursor == '^') {
    const char *start = p->lx.cursor;
    struct ir_block next = {0};
    if (!block_label(p, region, &next)) {
      p->quiet = false;
      if (!p->stopped) {
        parse_skip_op(p, start + 1);
      }
    }
    block_ops(p, region, &next);
  }
  return !p->stopped;
}

bool parse_region(struct parser *p, struct ir_region region, struct ir_block entry, const struct op_name *parent) {
  lex_skip(&p->lx);
  struct open_mark mark = {p->lx.cursor, "region", parent->id};
  if (!parse_char(p, '{', "'{' and a region") || !parse_deeper(p)) {
    return false;
  }
  if (!vec_push(&p->open, mark)) {
    return parse_memory(p);
  }
  uint32_t outer = p->block_scope;
  uint16_t outer_opcode = p->region_opcode;
  p->region_opcode = parent->opcode;
  p->block_scope = ++p->scope_count;
  size_t blocks = p->blocks.entries.count;
  bool ok = region_body(p, region, entry);
  ok = ok && parse_char(p, '}', "'}' at the end of the region");
  ok = parse_check_blocks(p, blocks) && ok;
  p->block_scope = outer;
  p->region_opcode = outer_opcode;
  p->open.count--;
  p->depth--;
  return ok;
}
