/* Aliases (#x = ..., !t = ...), which may stand before or behind their uses, and locations. An alias is read when it is first
 * needed; names that are used in locations which nobody keeps are only checked to exist. Path: mlir_parse*.c → here. */
#include "mlir/mlir_parse.h"

/* Aliases that double each other would otherwise make a small text stand for an enormous one. */
enum { ALIAS_WEIGHT_MAX = 4 << 20 };

/* What all uses of aliases together may stand for: this many bytes, and so many per byte of the text. */
enum { EXPANSION_BYTES = 64 << 20, EXPANSION_PER_BYTE = 64 };

void parse_expansion_begin(struct parser *p) {
  p->expansion_left = (uint64_t)EXPANSION_BYTES + (uint64_t)(p->lx.end - p->lx.cursor) * EXPANSION_PER_BYTE;
}

static struct name_key alias_key(struct lex_span name) {
  return name_key_of(name);
}

/* Record of an alias by name (with sigil), made when it is new; UINT32_MAX when memory is exhausted. */
static uint32_t alias_index(struct parser *p, struct lex_span name) {
  struct name_key key = alias_key(name);
  struct name_entry *entry = name_find(&p->alias_names, &key, 0);
  if (entry) {
    return entry->first;
  }
  struct alias alias = {.name = name.text};
  uint32_t index = (uint32_t)p->aliases.count;
  if (!vec_push(&p->aliases, alias) || !(entry = name_add(&p->alias_names, &key, 0))) {
    parse_memory(p);
    return UINT32_MAX;
  }
  entry->first = index;
  return index;
}

/* `#name =` or `!name =` at the cursor; gives the name and where the value begins. */
static bool definition_at(struct lexer *lx, struct lex_span *name, const char **value) {
  const char *start = lx->cursor++;
  struct lex_span rest = lex_suffix(lx);
  lex_skip(lx);
  if (rest.length == 0 || lx->cursor[0] != '=' || lx->cursor[1] == '=') {
    return false;
  }
  *name = (struct lex_span){start, rest.length + 1};
  *value = lx->cursor + 1;
  return true;
}

/* The next '#' or '!' that begins a name, outside strings and comments; the end when there is none. */
static const char *next_sigil(const struct parser *p, const char *at) {
  while (at < p->lx.end && ((*at != '#' && *at != '!') || (at > p->start && lex_is(at[-1], LEX_SUFFIX)))) {
    if (*at == '"') {
      struct lexer lx = {at, p->lx.begin, p->lx.end};
      struct lex_span ignored;
      if (!lex_string(&lx, &ignored)) {
        return p->lx.end;
      }
      at = lx.cursor;
    } else if (at[0] == '/' && at[1] == '/') {
      const char *newline = memchr(at, '\n', (size_t)(p->lx.end - at));
      at = newline ? newline : p->lx.end;
    } else {
      at++;
    }
  }
  return at;
}

/* Definitions stand where an operation could: first on their line, or behind what ends or encloses one; not in a type. */
static bool begins_statement(const struct parser *p, const char *at) {
  while (at > p->start && lex_is(at[-1], LEX_SPACE) && at[-1] != '\n') {
    at--;
  }
  return at == p->start || strchr("\n)}>{", at[-1]) != NULL;
}

/* Finds all definitions of the text, once, because a use came before its definition. */
static bool scan_aliases(struct parser *p) {
  p->scanned_aliases = true;
  for (const char *at = next_sigil(p, p->start); at < p->lx.end; at = next_sigil(p, at + 1)) {
    struct lexer lx = {at, p->lx.begin, p->lx.end};
    struct lex_span name;
    const char *value;
    if (begins_statement(p, at) && definition_at(&lx, &name, &value)) {
      uint32_t index = alias_index(p, name);
      if (index == UINT32_MAX) {
        return false;
      }
      if (!p->aliases.data[index].value) {
        p->aliases.data[index].value = value;
      }
    }
  }
  return true;
}

static bool read_alias(struct parser *p, uint32_t index) {
  bool is_type = *p->aliases.data[index].name == '!';
  struct ir_type type = {0};
  struct ir_attr attr = {0};
  struct lexer saved = p->lx;
  p->lx.cursor = p->aliases.data[index].value;
  p->aliases.data[index].state = ALIAS_READING;
  uint64_t outer = p->alias_weight;
  unsigned outer_deepest = p->deepest;
  p->alias_weight = 0;
  p->deepest = p->depth;
  bool ok = is_type ? parse_type(p, &type) : parse_attr(p, &attr);
  p->aliases.data[index].state = ok ? ALIAS_READ : ALIAS_FAILED;
  p->aliases.data[index].id = is_type ? type.id : attr.id;
  p->aliases.data[index].weight = p->alias_weight + (uint64_t)(p->lx.cursor - p->aliases.data[index].value);
  p->aliases.data[index].nesting = p->deepest - p->depth;
  p->deepest = outer_deepest;
  p->alias_weight = outer;
  if (ok && p->aliases.data[index].weight > ALIAS_WEIGHT_MAX) {
    ok = parse_error(p, DIAG_E0005_LIMIT, p->aliases.data[index].name,
                     "this alias stands for more than %d MiB of text when the aliases in it are written out",
                     ALIAS_WEIGHT_MAX >> 20);
  }
  if (ok) {
    p->lx = saved;
  }
  return ok;
}

static bool find_alias(struct parser *p, struct lex_span name, bool optional, uint32_t *found) {
  struct name_key key = alias_key(name);
  struct name_entry *entry = name_find(&p->alias_names, &key, 0);
  if ((!entry || !p->aliases.data[entry->first].value) && !p->scanned_aliases) {
    if (!scan_aliases(p)) {
      return false;
    }
    entry = name_find(&p->alias_names, &key, 0);
  }
  if (!entry || !p->aliases.data[entry->first].value) {
    return optional ? false
                    : parse_error(p, DIAG_E0106_UNDEFINED, name.text, "alias '%.*s' is used but never defined",
                                  SPAN_ARGS(name));
  }
  uint32_t index = entry->first;
  if (p->aliases.data[index].state == ALIAS_READING) {
    return parse_error(p, DIAG_E0105_ATTRIBUTE, name.text, "alias '%.*s' is defined by itself", SPAN_ARGS(name));
  }
  if (p->aliases.data[index].state == ALIAS_FAILED) {
    return false; /* reported at its definition */
  }
  if (p->aliases.data[index].state == ALIAS_UNREAD && !read_alias(p, index)) {
    return false;
  }
  uint64_t weight = p->aliases.data[index].weight;
  if (weight > p->expansion_left) {
    return parse_error(p, DIAG_E0005_LIMIT, name.text,
                       "the aliases of this text stand for more than %d times as much text and %d MiB",
                       EXPANSION_PER_BYTE, EXPANSION_BYTES >> 20);
  }
  p->expansion_left -= weight;
  p->alias_weight += weight;
  *found = index;
  return true;
}

bool parse_alias(struct parser *p, struct lex_span name, bool optional, uint32_t *id) {
  uint32_t index;
  if (!find_alias(p, name, optional, &index)) {
    return false;
  }
  *id = p->aliases.data[index].id;
  return true;
}

bool parse_alias_value(struct parser *p, struct lex_span name, uint32_t *id) {
  uint32_t index;
  if (!find_alias(p, name, false, &index)) {
    return false;
  }
  *id = p->aliases.data[index].id;
  unsigned deepest = p->depth + p->aliases.data[index].nesting - 1; /* the name takes the place of the first level */
  p->deepest = deepest > p->deepest ? deepest : p->deepest;
  return deepest <= p->max_depth
         || parse_error(p, DIAG_E0005_LIMIT, name.text,
                        "nested deeper than the limit of %u levels when the aliases are written out", p->max_depth);
}

bool parse_alias_text(void *parser, struct lex_span name, struct strbuf *out) {
  struct parser *p = parser;
  uint32_t id;
  if (p->stopped || !parse_alias(p, name, true, &id)) {
    return false;
  }
  if (*name.text == '!') {
    mlir_print_type(p->m, (struct ir_type){id}, out);
  } else {
    mlir_print_attr(p->m, (struct ir_attr){id}, out);
  }
  return true;
}

bool parse_alias_definition(struct parser *p) {
  struct lexer at = p->lx;
  struct lex_span name;
  const char *value;
  if (!definition_at(&at, &name, &value) || memchr(name.text, '.', name.length) != NULL) {
    return parse_expected(p, "an alias definition (#name = ... or !name = ...)");
  }
  uint32_t index = alias_index(p, name);
  if (index == UINT32_MAX) {
    return false;
  }
  struct alias *alias = &p->aliases.data[index];
  if (alias->value && alias->value != value) {
    return parse_error(p, DIAG_E0107_REDEFINED, name.text, "alias '%.*s' is defined twice", SPAN_ARGS(name));
  }
  alias->value = value;
  p->lx.cursor = value;
  lex_skip(&p->lx);
  struct ir_attr ignored;
  if (!p->keep_locations && p->lx.end - p->lx.cursor >= 4 && memcmp(p->lx.cursor, "loc(", 4) == 0) {
    p->alias_owner = index + 1;
    bool ok = parse_optional_loc(p, &ignored);
    p->alias_owner = 0;
    return ok;
  }
  const char *start = p->lx.cursor;
  if (alias->state == ALIAS_FAILED || (alias->state == ALIAS_UNREAD && !read_alias(p, index))) {
    return false;
  }
  p->lx.cursor = start; /* once more, to find its end: definitions are few and small */
  struct ir_type type;
  return *name.text == '!' ? parse_type(p, &type) : parse_attr(p, &ignored);
}

/* ---- locations ------------------------------------------------------------------------------------------------------- */

/* `#name` in a location. Kept ones are written out; dropped ones are remembered to be checked at the end. */
static bool loc_alias(struct parser *p, struct strbuf *out) {
  const char *start = p->lx.cursor++;
  struct lex_span rest = lex_suffix(&p->lx);
  struct lex_span name = {start, rest.length + 1};
  if (rest.length == 0) {
    return parse_expected(p, "a name after '#'");
  }
  if (*p->lx.cursor == '<') {
    if (out) {
      strbuf_add(out, start, name.length);
    }
    return parse_balanced(p, out);
  }
  if (out) {
    uint32_t id;
    if (!parse_alias(p, name, false, &id)) {
      return false;
    }
    const struct ir_attr_data *attr = ir_attr_get(p->m, (struct ir_attr){id});
    if (attr->kind != IR_ATTR_LOCATION) {
      return parse_error(p, DIAG_E0105_ATTRIBUTE, start, "alias '%.*s' is not a location", SPAN_ARGS(name));
    }
    strbuf_add(out, ir_text(p->m, attr->text), intern_length(&p->m->strings, attr->text));
    return out->length < (1u << 20)
           || parse_error(p, DIAG_E0005_LIMIT, start, "a location is longer than 1 MiB when written out");
  }
  uint32_t index = alias_index(p, name);
  if (index == UINT32_MAX) {
    return false;
  }
  struct alias *alias = &p->aliases.data[index];
  alias->used = alias->used ? alias->used : start;
  if (p->alias_owner) {
    struct alias *owner = &p->aliases.data[p->alias_owner - 1];
    struct alias_edge edge = {index, owner->edges};
    if (!vec_push(&p->alias_edges, edge)) {
      return parse_memory(p);
    }
    owner->edges = (uint32_t)p->alias_edges.count;
  }
  return true;
}

static void put(struct strbuf *out, const char *text) {
  if (out) {
    strbuf_puts(out, text);
  }
}

/* A line or column. */
static bool loc_number(struct parser *p, struct strbuf *out) {
  int64_t value;
  if (!lex_is(lex_peek(&p->lx), LEX_DIGIT)) {
    return parse_expected(p, "a line or column");
  }
  if (!parse_integer(p, &value)) {
    return false;
  }
  if (out) {
    strbuf_put_i64(out, value);
  }
  return true;
}

static bool loc_inside(struct parser *p, struct strbuf *out);

/* "file":1[:2 [to [3]:4]], "name"(location), "name" */
static bool loc_string(struct parser *p, struct strbuf *out) {
  struct lex_span raw;
  const char *start = p->lx.cursor;
  if (!lex_string(&p->lx, &raw)) {
    p->lx.cursor = p->lx.end;
    return parse_error(p, DIAG_E0103_EOF, start, "this string does not end");
  }
  if (out) {
    strbuf_add(out, start, raw.length + 2);
  }
  if (lex_try(&p->lx, '(')) {
    put(out, "(");
    bool ok = loc_inside(p, out) && parse_char(p, ')', "')' after the location");
    put(out, ")");
    return ok;
  }
  if (!lex_try(&p->lx, ':')) {
    return true;
  }
  put(out, ":");
  if (!loc_number(p, out)) {
    return false;
  }
  if (!lex_try(&p->lx, ':')) {
    put(out, ":0"); /* a line without a column */
    return true;
  }
  put(out, ":");
  if (!loc_number(p, out)) {
    return false;
  }
  if (!LEX_TRY_WORD(&p->lx, "to")) {
    return true;
  }
  put(out, " to ");
  if (lex_peek(&p->lx) != ':' && !loc_number(p, out)) {
    return false;
  }
  put(out, ":");
  return parse_char(p, ':', "':' and a column") && loc_number(p, out);
}

/* fused<metadata>[a, b] behind the word. */
static bool loc_fused(struct parser *p, struct strbuf *out) {
  put(out, "fused");
  if (lex_peek(&p->lx) == '<' && !parse_balanced(p, out)) {
    return false;
  }
  put(out, "[");
  if (!parse_char(p, '[', "'[' and locations")) {
    return false;
  }
  if (!lex_try(&p->lx, ']')) {
    do {
      if (!loc_inside(p, out)) {
        return false;
      }
      put(out, *p->lx.cursor == ',' || lex_peek(&p->lx) == ',' ? ", " : "");
    } while (lex_try(&p->lx, ','));
    if (!parse_char(p, ']', "',' or ']' after a location")) {
      return false;
    }
  }
  put(out, "]");
  return true;
}

static bool loc_callsite(struct parser *p, struct strbuf *out) {
  put(out, "callsite(");
  bool ok = parse_char(p, '(', "'(' and the callee") && loc_inside(p, out)
            && (LEX_TRY_WORD(&p->lx, "at") || parse_expected(p, "'at' and the caller"));
  put(out, " at ");
  ok = ok && loc_inside(p, out) && parse_char(p, ')', "')' after the caller");
  put(out, ")");
  return ok;
}

static bool loc_form(struct parser *p, struct strbuf *out) {
  char c = lex_peek(&p->lx);
  if (c == '"') {
    return loc_string(p, out);
  }
  if (c == '#') {
    return loc_alias(p, out);
  }
  if (LEX_TRY_WORD(&p->lx, "unknown")) {
    put(out, "unknown");
    return true;
  }
  if (LEX_TRY_WORD(&p->lx, "callsite")) {
    return loc_callsite(p, out);
  }
  if (LEX_TRY_WORD(&p->lx, "fused")) {
    return loc_fused(p, out);
  }
  if (LEX_TRY_WORD(&p->lx, "loc")) {
    return parse_char(p, '(', "'(' and a location") && loc_inside(p, out)
           && parse_char(p, ')', "')' after the location");
  }
  return parse_expected(p, "a location");
}

static bool loc_inside(struct parser *p, struct strbuf *out) {
  if (!parse_deeper(p)) {
    return false;
  }
  bool ok = loc_form(p, out);
  p->depth--;
  return ok;
}

/* Behind "loc", at '('. */
bool parse_loc_attr(struct parser *p, struct ir_attr *attr) {
  struct strbuf text = {0};
  bool ok =
      parse_char(p, '(', "'(' and a location") && loc_inside(p, &text) && parse_char(p, ')', "')' after the location");
  if (ok) {
    *attr = parse_text_attr(p, IR_ATTR_LOCATION, &text, (struct ir_type){0});
  }
  strbuf_release(&text);
  return ok && (attr->id || parse_memory(p));
}

bool parse_optional_loc(struct parser *p, struct ir_attr *attr) {
  attr->id = 0;
  lex_skip(&p->lx);
  if (*p->lx.cursor != 'l' || !LEX_TRY_WORD(&p->lx, "loc")) {
    return true;
  }
  if (p->keep_locations) {
    return parse_loc_attr(p, attr);
  }
  return parse_char(p, '(', "'(' and a location") && loc_inside(p, NULL)
         && parse_char(p, ')', "')' after the location");
}

/* ---- the end of the text --------------------------------------------------------------------------------------------- */

/* Depth-first over the aliases that dropped locations name; a path that comes back to itself is refused. */
static bool check_cycles(struct parser *p) {
  VEC(uint32_t) path = {0};
  bool ok = true;
  for (uint32_t i = 0; ok && i < p->aliases.count; i++) {
    if (p->aliases.data[i].visited || !p->aliases.data[i].edges) {
      continue;
    }
    ok = vec_push(&path, i) ? true : parse_memory(p);
    p->aliases.data[i].visited = true;
    p->aliases.data[i].state = ALIAS_READING;
    while (ok && path.count) {
      struct alias *top = &p->aliases.data[path.data[path.count - 1]];
      if (!top->edges) {
        top->state = ALIAS_READ;
        path.count--;
        continue;
      }
      uint32_t target = p->alias_edges.data[top->edges - 1].target;
      top->edges = p->alias_edges.data[top->edges - 1].next;
      struct alias *next = &p->aliases.data[target];
      if (next->visited && next->state == ALIAS_READING) {
        ok = parse_error(p, DIAG_E0105_ATTRIBUTE, next->name, "this alias is defined by itself");
      } else if (!next->visited) {
        next->visited = true;
        next->state = ALIAS_READING;
        ok = vec_push(&path, target) ? true : parse_memory(p);
      }
    }
  }
  vec_release(&path);
  return ok;
}

bool parse_check_aliases(struct parser *p) {
  bool ok = true;
  for (size_t i = 0; i < p->aliases.count && !p->stopped; i++) {
    const struct alias *alias = &p->aliases.data[i];
    if (alias->used && !alias->value) {
      struct lexer lx = {alias->name + 1, p->lx.begin, p->lx.end};
      struct lex_span name = {alias->name, lex_suffix(&lx).length + 1};
      p->quiet = false;
      ok = parse_error(p, DIAG_E0106_UNDEFINED, alias->used, "alias '%.*s' is used but never defined", SPAN_ARGS(name));
    }
  }
  p->quiet = false;
  return ok && check_cycles(p);
}

/* ---- resources ------------------------------------------------------------------------------------------------------- */

static bool resource_key(struct parser *p, struct lex_span *key) {
  if (lex_peek(&p->lx) == '"') {
    const char *start = p->lx.cursor;
    if (!lex_string(&p->lx, key)) {
      p->lx.cursor = p->lx.end;
      return parse_error(p, DIAG_E0103_EOF, start, "this string does not end");
    }
  } else {
    *key = lex_suffix(&p->lx);
    if (key->length == 0) {
      return parse_expected(p, "the name of a resource");
    }
  }
  return parse_char(p, ':', "':' after the name of a resource");
}

/* "0x", the alignment in four bytes, the data. */
static bool is_blob(struct lex_span raw) {
  bool is_hex = raw.length >= 10 && raw.length % 2 == 0 && raw.text[0] == '0' && raw.text[1] == 'x';
  for (size_t i = 2; is_hex && i < raw.length; i++) {
    is_hex = lex_is(raw.text[i], LEX_HEX);
  }
  return is_hex;
}

/* One value; those of the builtin dialect are kept by name, as text. */
static bool resource_value(struct parser *p, struct lex_span key, bool keep) {
  const char *start = p->lx.cursor;
  struct ir_attr attr;
  if (lex_peek(&p->lx) != '"') {
    return parse_attr(p, &attr);
  }
  struct lex_span raw;
  start = p->lx.cursor;
  if (!lex_string(&p->lx, &raw)) {
    p->lx.cursor = p->lx.end;
    return parse_error(p, DIAG_E0103_EOF, start, "this string does not end");
  }
  if (!keep) {
    return true;
  }
  if (!is_blob(raw)) {
    return parse_error(p, DIAG_E0111_DENSE, start,
                       "expected \"0x\" and hexadecimal digits, the alignment in the first four bytes");
  }
  attr = ir_attr_text(p->m, IR_ATTR_OPAQUE, start, raw.length + 2, (struct ir_type){0});
  uint32_t name;
  return attr.id && parse_intern(p, key.text, key.length, &name) && vec_push(&p->m->resources, name)
                 && vec_push(&p->m->resources, attr.id)
             ? true
             : parse_memory(p);
}

/* `{ name: value, ... }` down to `levels` more levels of braces. */
static bool resource_group(struct parser *p, int levels, bool keep) {
  if (!parse_char(p, '{', "'{' and resources")) {
    return false;
  }
  if (lex_try(&p->lx, '}')) {
    return true;
  }
  do {
    struct lex_span key;
    if (!resource_key(p, &key)) {
      return false;
    }
    bool ok =
        levels ? resource_group(p, levels - 1, keep && lex_span_is(key, "builtin")) : resource_value(p, key, keep);
    if (!ok) {
      return false;
    }
  } while (lex_try(&p->lx, ','));
  return parse_char(p, '}', "',' or '}' after a resource");
}

bool parse_resources(struct parser *p) {
  struct open_mark mark = {p->lx.cursor, "resources", 0};
  p->lx.cursor += 3;
  if (!vec_push(&p->open, mark)) {
    return parse_memory(p);
  }
  bool is_empty = lex_peek(&p->lx) == '#';
  while (!is_empty) {
    struct lex_span key;
    if (!resource_key(p, &key) || !resource_group(p, 1, lex_span_is(key, "dialect_resources"))) {
      return false;
    }
    is_empty = !lex_try(&p->lx, ',');
  }
  p->open.count--;
  lex_skip(&p->lx);
  if (p->lx.cursor[0] != '#' || p->lx.cursor[1] != '-' || p->lx.cursor[2] != '}') {
    return parse_expected(p, "'#-}' after the resources");
  }
  p->lx.cursor += 3;
  return true;
}
