/* Types of MLIR text. The spelling of a tensor type is looked up among those that were read before: programs repeat a few
 * types thousands of times. Path: mlir_parse*.c → here → ir_type_*. */
#include <stdlib.h>

#include "base/minifloat.h"
#include "mlir/mlir_parse.h"

static bool word_at(const struct parser *p, const char *word, size_t length) {
  return (size_t)(p->lx.end - p->lx.cursor) >= length && memcmp(p->lx.cursor, word, length) == 0;
}
#define AT(literal) word_at(p, literal, sizeof(literal) - 1)

enum { BOUNDS_MAX = 64 }; /* of these the bounds are compared with the sizes */

static bool type_error(struct parser *p, const char *at, const char *what) {
  return parse_error(p, DIAG_E0104_TYPE, at, "%s", what);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------- */

/* `2x?x` up to the element type; dims are pushed on p->dims. */
static bool parse_dimensions(struct parser *p) {
  for (;;) {
    lex_skip(&p->lx);
    const char *c = p->lx.cursor;
    int64_t dim = 0;
    if (*c == '?') {
      dim = IR_DYNAMIC;
      c++;
    } else if (lex_is(*c, LEX_DIGIT)) {
      for (; lex_is(*c, LEX_DIGIT); c++) {
        if (dim > (INT64_MAX - (*c - '0')) / 10) {
          return type_error(p, p->lx.cursor, "a dimension is larger than 63 bits");
        }
        dim = dim * 10 + (*c - '0');
      }
    } else {
      return true;
    }
    p->lx.cursor = c;
    lex_skip(&p->lx);
    if (*p->lx.cursor != 'x') {
      return parse_expected(p, "'x' after a dimension");
    }
    p->lx.cursor++;
    if (!vec_push(&p->dims, dim)) {
      return parse_memory(p);
    }
    if (p->dims.count > UINT16_MAX) {
      return type_error(p, p->lx.cursor, "a type has more than 65535 dimensions");
    }
  }
}

/* A memory space or layout; MLIR leaves out the type of a plain integer. */
static void put_memory_space(struct parser *p, struct ir_attr attr, struct strbuf *out) {
  const struct ir_attr_data *a = ir_attr_get(p->m, attr);
  if (attr.id && a->kind == IR_ATTR_INTEGER && ir_type_get(p->m, a->type)->dtype == DTYPE_I64) {
    strbuf_put_i64(out, a->integer);
  } else if (attr.id) {
    mlir_print_attr(p->m, attr, out);
  }
}

/* The encoding of a tensor, or layout and memory space of a memref, after ','. Two parts are held as one text. */
static bool parse_encoding(struct parser *p, bool is_memref, struct ir_attr *encoding) {
  if (!parse_attr(p, encoding)) {
    return false;
  }
  if (is_memref && lex_try(&p->lx, ',')) {
    struct ir_attr more;
    struct strbuf text = {0};
    if (!parse_attr(p, &more)) {
      return false;
    }
    put_memory_space(p, *encoding, &text);
    strbuf_puts(&text, ", ");
    put_memory_space(p, more, &text);
    *encoding = parse_text_attr(p, IR_ATTR_OPAQUE, &text, (struct ir_type){0});
    strbuf_release(&text);
    if (!parse_made(p, *encoding)) {
      return false;
    }
  }
  return true;
}

/* Bounds are as many as dimensions, and dimensions of a stated size have none. */
static bool check_bounds(struct parser *p, const char *at, struct ir_attr encoding, const int64_t *dims,
                         uint32_t rank) {
  int64_t bounds[BOUNDS_MAX];
  uint32_t count = ir_attr_bounds(p->m, encoding, bounds, BOUNDS_MAX);
  if (count == 0) {
    return true;
  }
  if (count != rank) {
    return parse_error(p, DIAG_E0104_TYPE, at, "the type has %u dimensions but %u bounds", rank, count);
  }
  for (uint32_t i = 0; i < rank && i < BOUNDS_MAX; i++) {
    if (dims[i] != IR_DYNAMIC && bounds[i] != IR_DYNAMIC) {
      return parse_error(p, DIAG_E0104_TYPE, at, "dimension %u has the size %lld and must have no bound ('?')", i,
                         (long long)dims[i]);
    }
  }
  return true;
}

/* Behind `tensor<` or `memref<`. */
static bool parse_shaped(struct parser *p, bool is_memref, struct ir_type *type) {
  struct ir_type element;
  struct ir_attr encoding = {0};
  size_t first = p->dims.count;
  lex_skip(&p->lx);
  bool unranked = *p->lx.cursor == '*';
  if (unranked) {
    p->lx.cursor++;
    if (!lex_try(&p->lx, 'x')) {
      return parse_expected(p, "'x' after '*'");
    }
  } else if (!parse_dimensions(p)) {
    p->dims.count = first;
    return false;
  }
  const char *at = p->lx.cursor;
  bool ok = parse_type(p, &element) && (!lex_try(&p->lx, ',') || parse_encoding(p, is_memref, &encoding))
            && parse_char(p, '>', "'>' at the end of the type");
  uint32_t rank = (uint32_t)(p->dims.count - first);
  if (ok) {
    uint8_t kind = ir_type_get(p->m, element)->kind;
    bool is_shaped = kind == IR_TYPE_TENSOR || kind == IR_TYPE_UNRANKED || kind == IR_TYPE_MEMREF;
    if (kind == IR_TYPE_NONE || kind == IR_TYPE_FUNCTION || (is_shaped && !is_memref)) {
      ok = type_error(p, at, "a tensor cannot have elements of this type");
    }
  }
  ok = ok && (encoding.id == 0 || unranked || check_bounds(p, at, encoding, p->dims.data + first, rank));
  if (ok && unranked) {
    *type = ir_type_unranked(p->m, element);
    if (is_memref) {
      struct strbuf text = {0};
      strbuf_puts(&text, "memref<*x");
      mlir_print_type(p->m, element, &text);
      strbuf_puts(&text, encoding.id ? ", " : "");
      put_memory_space(p, encoding, &text);
      strbuf_puts(&text, ">");
      *type = parse_text_type(p, &text);
      strbuf_release(&text);
    } else if (encoding.id) {
      ok = type_error(p, at, "an unranked tensor has no encoding");
    }
  } else if (ok) {
    *type = is_memref ? ir_type_memref(p->m, element, p->dims.data + first, rank, encoding)
                      : ir_type_tensor(p->m, element, p->dims.data + first, rank, encoding);
  }
  p->dims.count = first;
  return ok && (type->id || parse_memory(p));
}

/* ---- lists -------------------------------------------------------------------------------------------------------- */

bool parse_type_list(struct parser *p) {
  do {
    struct ir_type type;
    if (!parse_type(p, &type)) {
      return false;
    }
    if (!vec_push(&p->types, type)) {
      return parse_memory(p);
    }
  } while (lex_try(&p->lx, ','));
  return true;
}

bool parse_result_types(struct parser *p) {
  if (lex_peek(&p->lx) != '(') {
    struct ir_type type;
    return parse_type(p, &type) && (vec_push(&p->types, type) ? true : parse_memory(p));
  }
  p->lx.cursor++;
  if (lex_try(&p->lx, ')')) {
    return true;
  }
  return parse_type_list(p) && parse_char(p, ')', "',' or ')' after a type");
}

/* Types up to `close`, made one type of `kind`. */
static bool parse_list_type(struct parser *p, enum ir_type_kind kind, struct ir_type *type) {
  size_t first = p->types.count;
  bool ok = lex_try(&p->lx, '>') || (parse_type_list(p) && parse_char(p, '>', "',' or '>' after a type"));
  if (ok) {
    *type = ir_type_list(p->m, kind, p->types.data + first, (uint32_t)(p->types.count - first), 0);
  }
  p->types.count = first;
  return ok && (type->id || parse_memory(p));
}

/* `(T, U) -> V` */
static bool parse_function_type(struct parser *p, struct ir_type *type) {
  size_t first = p->types.count;
  p->lx.cursor++;
  bool ok = lex_try(&p->lx, ')') || (parse_type_list(p) && parse_char(p, ')', "',' or ')' after a type"));
  uint32_t inputs = (uint32_t)(p->types.count - first);
  ok = ok && (lex_try_arrow(&p->lx) || parse_expected(p, "'->' and the results of a function type"))
       && parse_result_types(p);
  if (ok) {
    *type = ir_type_list(p->m, IR_TYPE_FUNCTION, p->types.data + first, (uint32_t)(p->types.count - first), inputs);
  }
  p->types.count = first;
  return ok && (type->id || parse_memory(p));
}

/* ---- !quant.uniform ------------------------------------------------------------------------------------------------ */

/* A decimal number, or the bits of an f64 in hex, which is how values without a short decimal form are printed. */
static bool parse_real(struct parser *p, double *value) {
  struct lex_number number;
  if (!lex_number_read(&p->lx, &number) || (number.is_hex && (number.is_wide || number.is_negative))) {
    return parse_expected(p, "a number");
  }
  if (number.is_hex) {
    memcpy(value, &number.value, sizeof *value);
  } else {
    *value = lex_number_double(&number);
  }
  return true;
}

/* i8, u8, si8, ui8 and other integers as the storage type. */
static enum dtype storage_type(struct lex_span word) {
  char text[8] = "u";
  if (word.length > 1 && word.length < 6 && word.text[0] == 'u' && word.text[1] != 'i') {
    text[1] = 'i';
    memcpy(text + 2, word.text + 1, word.length - 1);
    return dtype_parse(text, word.length + 1);
  }
  return dtype_parse(word.text, word.length);
}

struct quant_lists {
  VEC(double) scales;
  VEC(int64_t) zero_points;
};

static bool parse_scale(struct parser *p, struct quant_lists *lists) {
  double scale = 0;
  int64_t zero_point = 0;
  if (!parse_real(p, &scale) || (lex_try(&p->lx, ':') && !parse_integer(p, &zero_point))) {
    return false;
  }
  return vec_push(&lists->scales, scale) && vec_push(&lists->zero_points, zero_point) ? true : parse_memory(p);
}

/* What i8, u8 ... hold without stated bounds. */
void parse_quant_bounds(enum dtype storage, int64_t *low, int64_t *high) {
  unsigned bits = dtype_bits(storage);
  bool is_unsigned = dtype_class_of(storage) == DTYPE_CLASS_UINT;
  *low = is_unsigned || bits == 0 ? 0 : bits > 63 ? INT64_MIN : -(int64_t)(1ull << (bits - 1));
  *high = bits == 0 ? 0 : bits >= 63 ? INT64_MAX : (int64_t)((1ull << (is_unsigned ? bits : bits - 1)) - 1);
}

void parse_quant_text(const struct ir_quant *q, struct strbuf *out) {
  const char *name = dtype_name((enum dtype)q->storage);
  strbuf_printf(out, "!quant.uniform<%s", name[0] == 'u' ? "u" : "");
  strbuf_puts(out, name[0] == 'u' ? name + 2 : name);
  if (q->has_storage_bounds) {
    strbuf_printf(out, "<%lld:%lld>", (long long)q->storage_min, (long long)q->storage_max);
  }
  strbuf_printf(out, ":%s", dtype_name((enum dtype)q->expressed));
  if (q->axis >= 0) {
    strbuf_printf(out, ":%d, {", q->axis);
  } else {
    strbuf_puts(out, ", ");
  }
  for (uint32_t i = 0; i < q->count; i++) {
    uint64_t bits;
    memcpy(&bits, &q->scales[i], sizeof bits);
    strbuf_puts(out, i ? ", " : "");
    minifloat_print(DTYPE_F64, bits, out);
    if (q->zero_points[i]) {
      strbuf_printf(out, ":%lld", (long long)q->zero_points[i]);
    }
  }
  strbuf_puts(out, q->axis >= 0 ? "}>" : ">");
}

/* Storage type and bounds, expressed type, axis. *known = false: another form, kept as text. */
static bool quant_head(struct parser *p, struct ir_quant *q, bool *known) {
  *known = true;
  struct lex_span word = lex_word(&p->lx);
  q->storage = (uint8_t)storage_type(word);
  if (!dtype_is_integral((enum dtype)q->storage)) {
    *known = false;
    return true;
  }
  int64_t low, high;
  parse_quant_bounds((enum dtype)q->storage, &low, &high);
  if (lex_try(&p->lx, '<')) {
    if (!parse_integer(p, &q->storage_min) || !parse_char(p, ':', "':' between the storage bounds")
        || !parse_integer(p, &q->storage_max) || !parse_char(p, '>', "'>' after the storage bounds")) {
      return false;
    }
    q->has_storage_bounds = q->storage_min != low || q->storage_max != high;
  }
  if (!q->has_storage_bounds) {
    q->storage_min = low;
    q->storage_max = high;
  }
  if (!parse_char(p, ':', "':' and the expressed type")) {
    return false;
  }
  word = lex_word(&p->lx);
  q->expressed = (uint8_t)dtype_parse(word.text, word.length);
  q->axis = -1;
  *known = dtype_is_floating((enum dtype)q->expressed);
  if (*known && lex_try(&p->lx, ':')) {
    int64_t axis = 0;
    if (lex_peek(&p->lx) == '{') {
      *known = false; /* sub-channel quantization */
      return true;
    }
    const char *at = p->lx.cursor;
    if (!parse_integer(p, &axis)) {
      return false;
    }
    if (axis < 0) {
      return parse_error(p, DIAG_E0104_TYPE, at, "the quantized dimension is negative: %lld (C11)", (long long)axis);
    }
    *known = axis <= INT32_MAX;
    q->axis = (int32_t)axis;
  }
  return true;
}

static bool quant_scales(struct parser *p, const struct ir_quant *q, struct quant_lists *lists) {
  if (!parse_char(p, ',', "',' and the scale")) {
    return false;
  }
  if (q->axis < 0) {
    return parse_scale(p, lists);
  }
  if (!parse_char(p, '{', "'{' and the scales")) {
    return false;
  }
  do {
    if (!parse_scale(p, lists)) {
      return false;
    }
  } while (lex_try(&p->lx, ','));
  return parse_char(p, '}', "',' or '}' after a scale");
}

/* Behind `!quant.uniform`, at '<'. */
static bool parse_quant(struct parser *p, struct ir_type *type) {
  const char *start = p->lx.cursor;
  struct ir_quant q = {0};
  struct quant_lists lists = {0};
  bool known;
  p->lx.cursor++;
  bool ok = quant_head(p, &q, &known);
  if (ok && !known) {
    p->lx.cursor = start;
    struct strbuf text = {0};
    strbuf_puts(&text, "!quant.uniform");
    ok = parse_balanced(p, &text);
    *type = ok ? parse_text_type(p, &text) : *type;
    strbuf_release(&text);
  } else if (ok && (ok = quant_scales(p, &q, &lists) && parse_char(p, '>', "'>' at the end of the type"))) {
    struct strbuf text = {0};
    q.scales = lists.scales.data;
    q.zero_points = lists.zero_points.data;
    q.count = (uint32_t)lists.scales.count;
    parse_quant_text(&q, &text);
    ok = (!text.failed || parse_memory(p)) && parse_intern(p, strbuf_text(&text), text.length, &q.text);
    *type = ok ? ir_type_quantized(p->m, &q) : *type;
    strbuf_release(&text);
  }
  vec_release(&lists.scales);
  vec_release(&lists.zero_points);
  return ok && (type->id || parse_memory(p));
}

/* ---- dialect types and scalars ------------------------------------------------------------------------------------- */

/* Behind `!stablehlo.future<`. */
static bool parse_future(struct parser *p, const char *at, struct ir_type *type) {
  if (!parse_list_type(p, IR_TYPE_FUTURE, type)) {
    return false;
  }
  const struct ir_type_data *data = ir_type_get(p->m, *type);
  if (data->count == 0) {
    return type_error(p, at, "a future has at least one type");
  }
  for (uint32_t i = 0; i < data->count; i++) {
    struct ir_type part = {p->m->lists.data[data->first + i]};
    if (!ir_type_is_tensor(p->m, part) && ir_type_get(p->m, part)->kind != IR_TYPE_TOKEN) {
      return parse_error(p, DIAG_E0104_TYPE, at, "part %u of the future is neither a ranked tensor nor a token", i);
    }
  }
  return true;
}

/* Whether a dialect whose types are all known has this one; of other dialects any type is kept as text. */
static bool is_known_type(struct lex_span name) {
  static const struct {
    const char *prefix, *other; /* the dialect, and its type that is not read elsewhere */
  } rows[] = {{"stablehlo.", ""}, {"chlo.", ""}, {"mhlo.", "mhlo.async_bundle"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t length = strlen(rows[i].prefix);
    if (name.length > length && memcmp(name.text, rows[i].prefix, length) == 0) {
      return lex_span_is(name, rows[i].other);
    }
  }
  return true;
}

static bool parse_dialect_type(struct parser *p, struct ir_type *type) {
  const char *start = p->lx.cursor++;
  struct lex_span name = lex_suffix(&p->lx);
  if (name.length == 0) {
    return parse_expected(p, "a type name after '!'");
  }
  bool has_body = *p->lx.cursor == '<';
  if (memchr(name.text, '.', name.length) == NULL && !has_body) {
    return parse_alias_value(p, (struct lex_span){start, name.length + 1}, &type->id);
  }
  if (lex_span_is(name, "quant.uniform") && has_body) {
    return parse_quant(p, type);
  }
  if (lex_span_is(name, "stablehlo.future") && has_body) {
    p->lx.cursor++;
    return parse_future(p, start, type);
  }
  bool is_token = name.length > 6 && memcmp(name.text + name.length - 6, ".token", 6) == 0 && !has_body;
  if (is_token) {
    *type = lex_span_is(name, "stablehlo.token") ? p->m->token_type : ir_type_token(p->m, start, name.length + 1);
    return type->id || parse_memory(p);
  }
  if (!is_known_type(name)) {
    int dialect = (int)strcspn(name.text, ".");
    return parse_error(p, DIAG_E0104_TYPE, start, "%.*s has no type '%.*s'", dialect, name.text,
                       (int)name.length - dialect - 1, name.text + dialect + 1);
  }
  struct strbuf text = {0};
  strbuf_add(&text, start, name.length + 1);
  bool ok = !has_body || parse_balanced(p, &text);
  if (ok) {
    *type = parse_text_type(p, &text);
  }
  strbuf_release(&text);
  return ok && (type->id || parse_memory(p));
}

/* Scalars that have no dtype (si32, i128, f80): kept by name. */
static bool is_plain_scalar(struct lex_span word) {
  enum { WIDTH_MAX = 16777215 }; /* IntegerType::kMaxWidth */
  const char *t = word.text;
  if (lex_span_is(word, "f80") || lex_span_is(word, "f128")) {
    return true;
  }
  size_t i = word.length > 2 && (t[0] == 's' || t[0] == 'u') ? 1 : 0;
  if (word.length < i + 2 || word.length > i + 9 || t[i] != 'i') {
    return false;
  }
  unsigned width = 0;
  for (i++; i < word.length && lex_is(t[i], LEX_DIGIT); i++) {
    width = width * 10 + (unsigned)(t[i] - '0');
  }
  return i == word.length && width <= WIDTH_MAX;
}

static bool parse_complex(struct parser *p, struct ir_type *type) {
  struct ir_type element;
  if (!parse_type(p, &element) || !parse_char(p, '>', "'>' after complex<")) {
    return false;
  }
  enum dtype dtype = (enum dtype)ir_type_get(p->m, element)->dtype;
  bool scalar = ir_type_get(p->m, element)->kind == IR_TYPE_SCALAR;
  if (scalar && (dtype == DTYPE_F32 || dtype == DTYPE_F64)) {
    *type = ir_type_scalar(p->m, dtype == DTYPE_F32 ? DTYPE_C64 : DTYPE_C128);
    return true;
  }
  struct strbuf text = {0};
  strbuf_puts(&text, "complex<");
  mlir_print_type(p->m, element, &text);
  strbuf_puts(&text, ">");
  *type = parse_text_type(p, &text);
  strbuf_release(&text);
  return type->id || parse_memory(p);
}

static bool parse_word_type(struct parser *p, struct ir_type *type) {
  const char *start = p->lx.cursor;
  struct lex_span word = lex_word(&p->lx);
  enum dtype dtype = dtype_parse(word.text, word.length);
  if (dtype != DTYPE_NONE) {
    *type = ir_type_scalar(p->m, dtype);
    return true;
  }
  if (lex_span_is(word, "none")) {
    *type = p->m->none_type;
    return true;
  }
  if (lex_span_is(word, "token")) { /* of the builtin dialect */
    *type = ir_type_opaque(p->m, word.text, word.length);
    return type->id || parse_memory(p);
  }
  if (word.length > 4 && lex_peek(&p->lx) == '<') {
    if (lex_span_is(word, "memref")) {
      p->lx.cursor++;
      return parse_shaped(p, true, type);
    }
    if (lex_span_is(word, "tensor")) {
      p->lx.cursor++;
      return parse_shaped(p, false, type);
    }
    if (lex_span_is(word, "tuple")) {
      p->lx.cursor++;
      return parse_list_type(p, IR_TYPE_TUPLE, type);
    }
    if (lex_span_is(word, "complex")) {
      p->lx.cursor++;
      return parse_complex(p, type);
    }
    if (lex_span_is(word, "vector")) {
      struct strbuf text = {0};
      strbuf_puts(&text, "vector");
      bool ok = parse_balanced(p, &text);
      *type = ok ? parse_text_type(p, &text) : *type;
      strbuf_release(&text);
      return ok && (type->id || parse_memory(p));
    }
  } else if (is_plain_scalar(word)) {
    *type = ir_type_opaque(p->m, word.text, word.length);
    return type->id || parse_memory(p);
  }
  p->lx.cursor = start;
  if (word.length == 0) {
    return parse_expected(p, "a type");
  }
  return parse_error(p, DIAG_E0104_TYPE, start, "'%.*s' is not a type", SPAN_ARGS(word));
}

bool parse_type_follows(struct parser *p) {
  char c = lex_peek(&p->lx);
  if (c == '!' || c == '(') {
    return true;
  }
  struct lexer saved = p->lx;
  struct lex_span word = lex_word(&p->lx);
  bool has_body = lex_peek(&p->lx) == '<';
  p->lx = saved;
  static const char *const with_body[] = {"tensor", "memref", "tuple", "complex", "vector"};
  for (size_t i = 0; has_body && i < sizeof with_body / sizeof *with_body; i++) {
    if (lex_span_is(word, with_body[i])) {
      return true;
    }
  }
  return word.length
         && (dtype_parse(word.text, word.length) != DTYPE_NONE || lex_span_is(word, "none")
             || lex_span_is(word, "token") || is_plain_scalar(word));
}

/* ---- the cache ----------------------------------------------------------------------------------------------------- */

/* Length of `tensor<...>` at `text` and a hash of it; 0 when the text is not simple enough to tell. */
static uint32_t tensor_span(const char *text, uint64_t *hash) {
  const char *c = text + 7;
  uint64_t h = 0, word = 0;
  unsigned depth = 1;
  unsigned in_word = 0;
  for (;; c++) {
    word = word << 8 | (uint8_t)*c;
    if (++in_word == 8) {
      h = hash_mix(h, word);
      word = in_word = 0;
    }
    if (*c == '>') {
      if (c[-1] != '-' && --depth == 0) {
        break;
      }
    } else if (*c == '<') {
      depth++;
    } else if (*c == '"' || *c == '\0' || *c == '\n' || *c == '/') {
      return 0;
    }
  }
  *hash = hash_mix(h, word);
  return (uint32_t)(c + 1 - text);
}

static bool parse_tensor(struct parser *p, struct ir_type *type) {
  uint64_t hash = 0;
  const char *start = p->lx.cursor;
  uint32_t length = tensor_span(start, &hash);
  struct span_entry *entry = &p->type_cache[(hash ^ hash >> 20) % TYPE_CACHE_SIZE];
  if (length && entry->hash == hash && entry->length == length && memcmp(entry->text, start, length) == 0) {
    p->lx.cursor += length;
    type->id = entry->id;
    return true;
  }
  p->lx.cursor += 7;
  uint64_t expansion = p->expansion_left;
  if (!parse_shaped(p, false, type)) {
    return false;
  }
  /* a type that names aliases must count each time */
  if (length && p->lx.cursor == start + length && p->expansion_left == expansion) {
    *entry = (struct span_entry){start, hash, length, type->id};
  }
  return true;
}

bool parse_type(struct parser *p, struct ir_type *type) {
  type->id = 0;
  lex_skip(&p->lx);
  if (!parse_deeper(p)) {
    return false;
  }
  bool ok;
  if (AT("tensor<")) {
    ok = parse_tensor(p, type);
  } else if (*p->lx.cursor == '!') {
    ok = parse_dialect_type(p, type);
  } else if (*p->lx.cursor == '(') {
    ok = parse_function_type(p, type);
  } else {
    ok = parse_word_type(p, type);
  }
  p->depth--;
  return ok;
}
