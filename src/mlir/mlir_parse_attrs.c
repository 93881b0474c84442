/* Attributes of MLIR text: literals, arrays, dictionaries, symbols, dialect attributes, unknown ones as canonical text.
 * Path: mlir_parse*.c → here → ir_attr_*. Dense elements are in mlir_parse_dense.c, #stablehlo structs in
 * mlir_parse_structs.c. */
#define _GNU_SOURCE /* qsort_r */
#include <stdlib.h>

#include "base/minifloat.h"
#include "mlir/mlir_parse.h"

void parse_push_pair(struct parser *p, uint32_t name, struct ir_attr attr) {
  if (!vec_push(&p->pairs, name) || !vec_push(&p->pairs, attr.id)) {
    parse_memory(p);
  }
}

struct ir_attr parse_text_attr(struct parser *p, enum ir_attr_kind kind, const struct strbuf *text,
                               struct ir_type type) {
  return text->failed ? (struct ir_attr){0} : ir_attr_text(p->m, kind, strbuf_text(text), text->length, type);
}

struct ir_type parse_text_type(struct parser *p, const struct strbuf *text) {
  return text->failed ? (struct ir_type){0} : ir_type_opaque(p->m, strbuf_text(text), text->length);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------- */

bool parse_string_text(struct parser *p, struct strbuf *out) {
  struct lex_span raw;
  const char *start = p->lx.cursor;
  if (lex_peek(&p->lx) != '"') {
    return parse_expected(p, "a string");
  }
  if (!lex_string(&p->lx, &raw)) {
    p->lx.cursor = p->lx.end;
    return parse_error(p, DIAG_E0103_EOF, start, "this string does not end");
  }
  if (!lex_unescape(raw, out)) {
    return parse_error(p, DIAG_E0101_TOKEN, start, "this string has an unknown escape");
  }
  return !out->failed || parse_memory(p);
}

bool parse_integer(struct parser *p, int64_t *value) {
  struct lex_number number;
  if (!lex_number_read(&p->lx, &number) || number.is_float) {
    return parse_expected(p, "an integer");
  }
  if (number.is_wide || number.value > (uint64_t)INT64_MAX + number.is_negative) {
    return parse_error(p, DIAG_E0101_TOKEN, number.text, "the integer %.*s does not fit 64 bits", SPAN_ARGS(number));
  }
  *value = number.is_negative ? (int64_t)(0 - number.value) : (int64_t)number.value;
  return true;
}

bool parse_i64_list(struct parser *p, struct ir_attr *attr) {
  size_t first = p->dims.count;
  if (!parse_char(p, '[', "'[' and integers")) {
    return false;
  }
  if (!lex_try(&p->lx, ']')) {
    do {
      int64_t value;
      if (!parse_integer(p, &value)) {
        p->dims.count = first;
        return false;
      }
      if (!vec_push(&p->dims, value)) {
        return parse_memory(p);
      }
    } while (lex_try(&p->lx, ','));
    if (!parse_char(p, ']', "',' or ']' after an integer")) {
      p->dims.count = first;
      return false;
    }
  }
  *attr = ir_attr_i64s(p->m, p->dims.data + first, (uint32_t)(p->dims.count - first));
  p->dims.count = first;
  return parse_made(p, *attr);
}

/* One name of a symbol behind '@', into p->text. */
static bool symbol_part(struct parser *p) {
  if (*p->lx.cursor == '"') {
    return parse_string_text(p, &p->text);
  }
  struct lex_span name = lex_is(*p->lx.cursor, LEX_START) ? lex_word(&p->lx) : (struct lex_span){0};
  if (name.length == 0) {
    return parse_expected(p, "a name after '@'");
  }
  strbuf_add(&p->text, name.text, name.length);
  return true;
}

/* "::@" between the names of a nested symbol; blanks may stand around "::". */
static bool next_symbol_part(struct parser *p) {
  struct lexer saved = p->lx;
  if (lex_peek(&p->lx) == ':' && p->lx.cursor[1] == ':') {
    p->lx.cursor += 2;
    if (lex_try(&p->lx, '@')) {
      return true;
    }
  }
  p->lx = saved;
  return false;
}

bool parse_symbol(struct parser *p, bool as_string, struct ir_attr *attr) {
  strbuf_clear(&p->text);
  if (!parse_char(p, '@', "a symbol (@name)") || !symbol_part(p)) {
    return false;
  }
  while (!as_string && next_symbol_part(p)) {
    strbuf_puts(&p->text, "::@");
    if (!symbol_part(p)) {
      return false;
    }
  }
  *attr = parse_text_attr(p, as_string ? IR_ATTR_STRING : IR_ATTR_SYMBOL, &p->text, (struct ir_type){0});
  return parse_made(p, *attr);
}

bool parse_balanced(struct parser *p, struct strbuf *out) {
  const char *start = p->lx.cursor;
  switch (lex_balanced(&p->lx, p->max_depth, out, parse_alias_text, p)) {
  case LEX_BALANCED:
    return (!out || !out->failed) || parse_memory(p);
  case LEX_NO_MEMORY:
    return parse_memory(p);
  case LEX_TOO_DEEP:
    return parse_error(p, DIAG_E0005_LIMIT, p->lx.cursor, "nested deeper than the limit of %u levels", p->max_depth);
  default:
    if (p->lx.cursor >= p->lx.end) {
      return parse_error(p, DIAG_E0103_EOF, start, "the text ends inside the '%c' opened here", *start);
    }
    return parse_error(p, DIAG_E0105_ATTRIBUTE, p->lx.cursor, "'%c' does not close the bracket that is open",
                       *p->lx.cursor);
  }
}

/* Whether the blank at `i` is beside '=' or ':' and may go; "< =" and "> =" stay, or they would read as comparisons. */
static bool is_loose(const struct strbuf *text, size_t i, char before) {
  char after = i + 1 < text->length ? text->data[i + 1] : '\0';
  bool joins = after == '=' && (before == '<' || before == '>');
  return !joins && (after == '=' || after == ':' || before == '=' || before == ':');
}

/* sdy attributes: no blanks around '=' either, so that every spelling is the same text. */
static void tighten(struct strbuf *text) {
  size_t n = 0;
  bool in_string = false;
  for (size_t i = 0; i < text->length; i++) {
    char c = text->data[i];
    if (in_string && c == '\\' && i + 1 < text->length) {
      text->data[n++] = c;
      text->data[n++] = text->data[++i];
      continue;
    }
    in_string ^= c == '"';
    if (c != ' ' || in_string || !is_loose(text, i, n ? text->data[n - 1] : '\0')) {
      text->data[n++] = c;
    }
  }
  text->length = n;
}

/* `#sdy.sharding<...>` inside a list of shardings is `<...>`. */
static void strip_prefix(struct strbuf *text, const char *prefix) {
  size_t length = strlen(prefix), n = 1;
  for (size_t i = 1; i < text->length;) {
    if (text->length - i > length && memcmp(text->data + i, prefix, length) == 0 && text->data[i + length] == '<') {
      i += length;
    } else {
      text->data[n++] = text->data[i++];
    }
  }
  text->length = n;
}

/* OPAQUE of finished text. */
static bool make_opaque(struct parser *p, struct strbuf *text, struct ir_type type, struct ir_attr *attr) {
  if (text->length > 4 && memcmp(text->data, "#sdy", 4) == 0) {
    strip_prefix(text, "#sdy.sharding");
    tighten(text);
  }
  *attr = parse_text_attr(p, IR_ATTR_OPAQUE, text, type);
  return parse_made(p, *attr);
}

bool parse_opaque(struct parser *p, const char *prefix, const char *suffix, struct ir_attr *attr) {
  struct strbuf text = {0};
  strbuf_puts(&text, prefix);
  lex_skip(&p->lx);
  bool ok = parse_balanced(p, &text);
  strbuf_puts(&text, suffix);
  ok = ok && make_opaque(p, &text, (struct ir_type){0}, attr);
  strbuf_release(&text);
  return ok;
}

/* ---- dictionaries and arrays ---------------------------------------------------------------------------------------- */

static bool entry_name(struct parser *p, uint32_t *name) {
  struct lex_span span;
  if (lex_peek(&p->lx) == '"') {
    struct strbuf text = {0};
    const char *start = p->lx.cursor;
    bool ok = parse_string_text(p, &text);
    if (ok && text.length == 0) {
      p->lx.cursor = start;
      ok = parse_expected(p, "an attribute name that is not empty");
    }
    ok = ok && parse_intern(p, strbuf_text(&text), text.length, name);
    strbuf_release(&text);
    return ok;
  }
  span = lex_word(&p->lx);
  if (span.length == 0) {
    return parse_expected(p, "an attribute name");
  }
  return parse_intern(p, span.text, span.length, name);
}

bool parse_attr_entries(struct parser *p) {
  lex_skip(&p->lx);
  struct open_mark mark = {p->lx.cursor, "attributes", 0};
  if (!parse_char(p, '{', "'{' and attributes")) {
    return false;
  }
  if (lex_try(&p->lx, '}')) {
    return true;
  }
  if (!vec_push(&p->open, mark)) {
    return parse_memory(p);
  }
  do {
    uint32_t name = 0;
    struct ir_attr attr = p->m->unit_attr;
    if (!entry_name(p, &name) || (lex_try(&p->lx, '=') && !parse_attr(p, &attr))) {
      return false;
    }
    if (!vec_push(&p->pairs, name) || !vec_push(&p->pairs, attr.id)) {
      return parse_memory(p);
    }
  } while (lex_try(&p->lx, ','));
  if (!parse_char(p, '}', "',' or '}' after an attribute")) {
    return false;
  }
  p->open.count--;
  return true;
}

bool parse_optional_attrs(struct parser *p) {
  return lex_peek(&p->lx) != '{' || parse_attr_entries(p);
}

static int compare_pairs(const void *a, const void *b, void *context) {
  const struct parser *p = context;
  return strcmp(ir_text(p->m, *(const uint32_t *)a), ir_text(p->m, *(const uint32_t *)b));
}

static bool parse_dictionary(struct parser *p, struct ir_attr *attr) {
  size_t first = p->pairs.count;
  const char *start = p->lx.cursor;
  if (!parse_attr_entries(p)) {
    p->pairs.count = first;
    return false;
  }
  uint32_t count = (uint32_t)((p->pairs.count - first) / 2);
  if (count > 16) {
    qsort_r(p->pairs.data + first, count, 2 * sizeof(uint32_t), compare_pairs, p);
  }
  *attr = ir_attr_dict(p->m, p->pairs.data + first, count);
  p->pairs.count = first;
  if (attr->id && ir_attr_get(p->m, *attr)->list_count != count) {
    return parse_error(p, DIAG_E0107_REDEFINED, start, "a name stands twice in this dictionary");
  }
  return parse_made(p, *attr);
}

static bool parse_array(struct parser *p, struct ir_attr *attr) {
  size_t first = p->items.count;
  struct open_mark mark = {p->lx.cursor, "list", 0};
  p->lx.cursor++;
  if (!vec_push(&p->open, mark)) {
    return parse_memory(p);
  }
  if (!lex_try(&p->lx, ']')) {
    do {
      struct ir_attr item;
      if (!parse_attr(p, &item)) {
        return false;
      }
      if (!vec_push(&p->items, item.id)) {
        return parse_memory(p);
      }
    } while (lex_try(&p->lx, ','));
    if (!parse_char(p, ']', "',' or ']' after an attribute")) {
      return false;
    }
  }
  p->open.count--;
  *attr = ir_attr_array(p->m, (const struct ir_attr *)(p->items.data + first), (uint32_t)(p->items.count - first));
  p->items.count = first;
  return parse_made(p, *attr);
}

/* ---- '#' ------------------------------------------------------------------------------------------------------------ */

/* `<WORD>` or `<WORD WORD>` and nothing else; consumes it and gives the words. */
static unsigned enum_body(struct parser *p, struct lex_span words[2]) {
  struct lexer saved = p->lx;
  p->lx.cursor++;
  unsigned n = 0;
  while (n < 2) {
    words[n] = lex_word(&p->lx);
    if (words[n].length == 0) {
      break;
    }
    n++;
  }
  if (n && lex_try(&p->lx, '>')) {
    return n;
  }
  p->lx = saved;
  return 0;
}

static bool make_enum(struct parser *p, struct lex_span dialect, struct lex_span mnemonic, struct lex_span value,
                      struct ir_attr *attr) {
  strbuf_clear(&p->text);
  strbuf_add(&p->text, dialect.text, dialect.length);
  strbuf_putc(&p->text, '.');
  strbuf_add(&p->text, mnemonic.text, mnemonic.length);
  if (p->text.failed) {
    return parse_memory(p);
  }
  *attr = ir_attr_enum(p->m, strbuf_text(&p->text), p->text.length, value.text, value.length);
  return parse_made(p, *attr);
}

static bool opaque_text(struct parser *p, struct strbuf *text, struct ir_attr *attr) {
  struct ir_type type = {0};
  bool is_sdy = text->length > 4 && memcmp(text->data, "#sdy", 4) == 0;
  if (!is_sdy && lex_peek(&p->lx) == ':' && p->lx.cursor[1] != ':') {
    p->lx.cursor++;
    if (!parse_type(p, &type)) {
      return false;
    }
  }
  return make_opaque(p, text, type, attr);
}

static bool owns_structs(struct lex_span dialect) {
  return lex_span_is(dialect, "stablehlo") || lex_span_is(dialect, "mhlo") || lex_span_is(dialect, "chlo");
}

static bool parse_dialect_attr(struct parser *p, const char *start, struct lex_span name, struct ir_attr *attr) {
  const char *dot = memchr(name.text, '.', name.length);
  struct lex_span dialect = {name.text, dot ? (size_t)(dot - name.text) : name.length};
  struct lex_span words[2];
  unsigned count;
  if (*p->lx.cursor == '<') {
    if (!dot && (count = enum_body(p, words)) == 2) {
      return make_enum(p, dialect, words[0], words[1], attr);
    } else if (!dot && count == 1) {
      p->lx.cursor = name.text + name.length;
    }
    if (dot && owns_structs(dialect)) {
      struct lex_span mnemonic = {dot + 1, name.length - dialect.length - 1};
      bool known;
      if (!parse_struct(p, dialect, mnemonic, &known, attr)) {
        return false;
      }
      if (known) {
        return true;
      }
      if ((count = enum_body(p, words)) == 1) {
        return make_enum(p, dialect, mnemonic, words[0], attr);
      } else if (count) {
        p->lx.cursor = name.text + name.length;
      }
    }
  }
  struct strbuf text = {0};
  strbuf_add(&text, start, name.length + 1);
  bool ok = (*p->lx.cursor != '<' || parse_balanced(p, &text)) && opaque_text(p, &text, attr);
  strbuf_release(&text);
  return ok;
}

bool parse_hash_attr(struct parser *p, struct ir_attr *attr) {
  const char *start = p->lx.cursor++;
  struct lex_span name = lex_suffix(&p->lx);
  if (name.length == 0) {
    return parse_expected(p, "an attribute name after '#'");
  }
  if (memchr(name.text, '.', name.length) == NULL && *p->lx.cursor != '<') {
    return parse_alias_value(p, (struct lex_span){start, name.length + 1}, &attr->id);
  }
  return parse_dialect_attr(p, start, name, attr);
}

/* ---- words ---------------------------------------------------------------------------------------------------------- */

/* Length of the operator of an affine expression, map or set at `c`; 0 when there is none. */
static size_t affine_operator(const char *c) {
  static const char *const operators[] = {"->", ">=", "<=", "==", "floordiv", "ceildiv", "mod", "+", "-", "*", ":"};
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    size_t length = strlen(operators[i]);
    if (strncmp(c, operators[i], length) == 0) {
      return length;
    }
  }
  return 0;
}

/* One blank on each side of operators, as MLIR prints; a '-' behind none of a value is a sign. Balanced text in place of
 * which this stands has single blanks. */
static void space_affine(const struct strbuf *from, struct strbuf *out) {
  const char *text = strbuf_text(from);
  for (size_t i = 0; i < from->length;) {
    char last = out->length ? out->data[out->length - 1] : '\0';
    size_t length = affine_operator(text + i);
    bool is_word = length > 2;
    bool begins = !is_word || last == ' ' || last == ')';
    bool ends = !is_word || text[i + length] == ' ' || text[i + length] == '(';
    bool is_sign = text[i] == '-' && length == 1 && !lex_is(last, LEX_WORD) && last != ')' && last != ']';
    if (length && begins && ends && !is_sign) {
      strbuf_puts(out, last == ' ' ? "" : " ");
      strbuf_add(out, text + i, length);
      strbuf_putc(out, ' ');
      i += length;
      i += text[i] == ' ';
    } else if (text[i] == ' ' && (affine_operator(text + i + 1) != 0 && affine_operator(text + i + 1) <= 2)) {
      i++;
    } else {
      strbuf_putc(out, text[i++]);
    }
  }
}

/* affine_map<...> or affine_set<...> at '<'. */
static bool affine_text(struct parser *p, struct strbuf *text) {
  struct strbuf raw = {0};
  bool ok = parse_balanced(p, &raw);
  if (ok) {
    space_affine(&raw, text);
  }
  text->failed |= raw.failed;
  strbuf_release(&raw);
  return ok;
}

/* A stride or offset: an integer or '?'. */
static bool stride(struct parser *p, struct strbuf *text, bool *is_zero) {
  int64_t value;
  *is_zero = false;
  if (lex_try(&p->lx, '?')) {
    strbuf_putc(text, '?');
    return true;
  }
  if (!parse_integer(p, &value)) {
    return false;
  }
  strbuf_put_i64(text, value);
  *is_zero = value == 0;
  return true;
}

/* `<[4, 1], offset: 3>` of a strided layout; an offset of 0 is left out. */
static bool strided_text(struct parser *p, struct strbuf *text) {
  bool is_zero = false;
  strbuf_puts(text, "<[");
  if (!parse_char(p, '<', "'<' and the strides") || !parse_char(p, '[', "'[' and the strides")) {
    return false;
  }
  for (bool first = true; !(first && lex_try(&p->lx, ']')); first = false) {
    strbuf_puts(text, first ? "" : ", ");
    if (!stride(p, text, &is_zero)) {
      return false;
    }
    if (!lex_try(&p->lx, ',')) {
      if (!parse_char(p, ']', "',' or ']' after a stride")) {
        return false;
      }
      break;
    }
  }
  strbuf_putc(text, ']');
  if (lex_try(&p->lx, ',')) {
    size_t length = text->length;
    if (!LEX_TRY_WORD(&p->lx, "offset")) {
      return parse_expected(p, "'offset'");
    }
    strbuf_puts(text, ", offset: ");
    if (!parse_char(p, ':', "':' and the offset") || !stride(p, text, &is_zero)) {
      return false;
    }
    text->length = is_zero && !text->failed ? length : text->length;
  }
  strbuf_putc(text, '>');
  return parse_char(p, '>', "'>' after a strided layout");
}

static bool word_opaque(struct parser *p, struct lex_span word, struct ir_attr *attr) {
  struct strbuf text = {0};
  strbuf_add(&text, word.text, word.length);
  struct ir_type type = {0};
  char c = *p->lx.cursor;
  bool is_affine = lex_span_is(word, "affine_map") || lex_span_is(word, "affine_set");
  bool ok = (c == '<' || c == '[')
            && (is_affine                      ? affine_text(p, &text)
                : lex_span_is(word, "strided") ? strided_text(p, &text)
                                               : parse_balanced(p, &text));
  if (ok && *p->lx.cursor == '<') {
    ok = parse_balanced(p, &text); /* distinct[0]<...> */
  }
  if (ok && lex_peek(&p->lx) == ':' && p->lx.cursor[1] != ':') {
    p->lx.cursor++;
    ok = parse_type(p, &type);
  }
  if (ok) {
    *attr = parse_text_attr(p, IR_ATTR_OPAQUE, &text, type);
  }
  strbuf_release(&text);
  return ok && parse_made(p, *attr);
}

static bool parse_word_attr(struct parser *p, struct ir_attr *attr) {
  const char *start = p->lx.cursor;
  struct lex_span word = lex_word(&p->lx);
  if (lex_span_is(word, "true") || lex_span_is(word, "false")) {
    *attr = ir_attr_bool(p->m, word.length == 4);
    if (lex_peek(&p->lx) == ':' && p->lx.cursor[1] != ':') { /* `true : i1` */
      struct ir_type type;
      const char *at = p->lx.cursor++;
      if (!parse_type(p, &type)) {
        return false;
      }
      const struct ir_type_data *data = ir_type_get(p->m, type);
      if (data->kind != IR_TYPE_SCALAR || data->dtype != DTYPE_I1) {
        return parse_error(p, DIAG_E0105_ATTRIBUTE, at, "true and false have the type i1");
      }
    }
    return parse_made(p, *attr);
  }
  if (lex_span_is(word, "unit")) {
    *attr = p->m->unit_attr;
    return true;
  }
  if (word.length > 4 && lex_peek(&p->lx) == '<') {
    if (lex_span_is(word, "dense")) {
      return parse_dense(p, attr);
    }
    if (lex_span_is(word, "dense_resource")) {
      return parse_dense_resource(p, attr);
    }
    if (lex_span_is(word, "array")) {
      return parse_dense_array(p, attr);
    }
  }
  if (lex_span_is(word, "loc")) {
    return parse_loc_attr(p, attr);
  }
  static const char *const kept[] = {"affine_map", "affine_set", "sparse", "strided", "distinct", "opaque"};
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
    if (lex_span_is(word, kept[i])) {
      return word_opaque(p, word, attr);
    }
  }
  p->lx.cursor = start;
  struct ir_type type;
  if (!parse_type_follows(p)) {
    return parse_expected(p, "an attribute");
  }
  if (!parse_type(p, &type)) {
    return false;
  }
  *attr = ir_attr_type(p->m, type);
  return parse_made(p, *attr);
}

static bool parse_string_attr(struct parser *p, struct ir_attr *attr) {
  struct ir_type type = {0};
  struct lex_span raw;
  const char *start = p->lx.cursor;
  if (!lex_string(&p->lx, &raw)) {
    p->lx.cursor = p->lx.end;
    return parse_error(p, DIAG_E0103_EOF, start, "this string does not end");
  }
  struct strbuf text = {0};
  if (memchr(raw.text, '\\', raw.length)) {
    if (!lex_unescape(raw, &text)) {
      strbuf_release(&text);
      return parse_error(p, DIAG_E0101_TOKEN, start, "this string has an unknown escape");
    }
    raw = (struct lex_span){strbuf_text(&text), text.length};
  }
  bool ok = !text.failed || parse_memory(p);
  if (lex_peek(&p->lx) == ':' && p->lx.cursor[1] != ':') {
    p->lx.cursor++;
    ok = parse_type(p, &type);
  }
  *attr = ir_attr_string(p->m, raw.text, raw.length, type);
  strbuf_release(&text);
  return ok && parse_made(p, *attr);
}

static bool attr_inside(struct parser *p, struct ir_attr *attr) {
  char c = *p->lx.cursor;
  struct ir_type type;
  switch (c) {
  case '#':
    return parse_hash_attr(p, attr);
  case '"':
    return parse_string_attr(p, attr);
  case '@':
    return parse_symbol(p, false, attr);
  case '[':
    return parse_array(p, attr);
  case '{':
    return parse_dictionary(p, attr);
  case '!':
  case '(':
    if (!parse_type(p, &type)) {
      return false;
    }
    *attr = ir_attr_type(p->m, type);
    return parse_made(p, *attr);
  default:
    if (c == '-' || lex_is(c, LEX_DIGIT)) {
      return parse_number_attr(p, attr);
    }
    return parse_word_attr(p, attr);
  }
}

bool parse_attr(struct parser *p, struct ir_attr *attr) {
  attr->id = 0;
  lex_skip(&p->lx);
  if (!parse_deeper(p)) {
    return false;
  }
  bool ok = attr_inside(p, attr);
  p->depth--;
  return ok;
}
