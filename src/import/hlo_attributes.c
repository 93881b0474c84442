/* Texts of HLO attributes as IR attributes. See hlo_build.h. */
#include "base/decimal.h"
#include "base/minifloat.h"
#include "import/hlo_build.h"

static int shown(struct hlo_span text) {
  return (int)(text.length < 80 ? text.length : 80);
}

static bool bad_value(struct hlo_builder *b, struct hlo_span text, const char *wanted) {
  return hlo_fail(b, DIAG_E0105_ATTRIBUTE, text.text, "expected %s, found '%.*s'", wanted, shown(text), text.text);
}

bool hlo_ints(struct hlo_builder *b, struct hlo_span text) {
  struct hlo_cursor c = hlo_cursor_of(text);
  int64_t value;
  b->ints.count = 0;
  bool is_list = hlo_try(&c, '{');
  if (is_list && hlo_try(&c, '}')) {
    return true;
  }
  do {
    if (!hlo_integer(&c, &value)) {
      return bad_value(b, text, "integers");
    }
    if (!vec_push(&b->ints, value)) {
      return hlo_ok(b, false);
    }
  } while (hlo_try(&c, is_list ? ',' : 'x'));
  if (is_list) {
    (void)hlo_try(&c, '}');
  }
  return hlo_peek(&c) == '\0' || bad_value(b, text, "integers");
}

struct ir_attr hlo_i64s(struct hlo_builder *b) {
  return ir_attr_i64s(b->m, b->ints.data, (uint32_t)b->ints.count);
}

struct ir_attr hlo_i64(struct hlo_builder *b, int64_t value) {
  return ir_attr_integer(b->m, value, ir_type_scalar(b->m, DTYPE_I64));
}

struct ir_attr hlo_i64_table(struct hlo_builder *b, int64_t rows, int64_t columns) {
  int64_t dims[2] = {rows, columns};
  struct ir_type type = ir_type_tensor(b->m, ir_type_scalar(b->m, DTYPE_I64), dims, 2, (struct ir_attr){0});
  return ir_attr_dense(b->m, type, b->ints.data, b->ints.count * sizeof *b->ints.data, false);
}

static int hex_digit(char x) {
  return x >= '0' && x <= '9'   ? x - '0'
         : x >= 'a' && x <= 'f' ? x - 'a' + 10
         : x >= 'A' && x <= 'F' ? x - 'A' + 10
                                : -1;
}

/* The escape behind a backslash at `i`; index of its last byte. */
static size_t unescape(struct strbuf *out, struct hlo_span text, size_t i) {
  char x = text.text[i];
  if (x == 'x' && i + 2 < text.length && hex_digit(text.text[i + 1]) >= 0 && hex_digit(text.text[i + 2]) >= 0) {
    strbuf_putc(out, (char)(hex_digit(text.text[i + 1]) * 16 + hex_digit(text.text[i + 2])));
    return i + 2;
  }
  if (x >= '0' && x <= '3' && i + 2 < text.length) {
    unsigned a = (unsigned)(x - '0'), m = (unsigned)(text.text[i + 1] - '0'), z = (unsigned)(text.text[i + 2] - '0');
    if (m < 8 && z < 8) {
      strbuf_putc(out, (char)(a * 64 + m * 8 + z));
      return i + 2;
    }
  }
  strbuf_putc(out, x == 'n' ? '\n' : x == 't' ? '\t' : x == 'r' ? '\r' : x);
  return i;
}

bool hlo_unquote(struct hlo_builder *b, struct hlo_span text) {
  strbuf_clear(&b->text);
  if (text.length < 2 || text.text[0] != '"') {
    strbuf_add(&b->text, text.text, text.length);
    return hlo_ok(b, !b->text.failed);
  }
  for (size_t i = 1; i + 1 < text.length; i++) {
    if (text.text[i] == '\\' && i + 2 < text.length) {
      i = unescape(&b->text, text, i + 1);
    } else {
      strbuf_putc(&b->text, text.text[i]);
    }
  }
  return hlo_ok(b, !b->text.failed);
}

struct ir_attr hlo_string(struct hlo_builder *b, struct hlo_span text) {
  if (!hlo_unquote(b, text)) {
    return (struct ir_attr){0};
  }
  return ir_attr_string(b->m, strbuf_text(&b->text), b->text.length, (struct ir_type){0});
}

struct ir_attr hlo_dictionary(struct hlo_builder *b, struct hlo_span text) {
  struct hlo_cursor c = hlo_cursor_of(text);
  VEC(uint32_t) pairs = {0};
  bool ok = hlo_try(&c, '{');
  while (ok && hlo_peek(&c) != '}') {
    struct hlo_span name = hlo_peek(&c) == '"' ? hlo_balanced(&c) : hlo_name(&c);
    ok = name.length > 0 && hlo_try(&c, '=');
    struct hlo_span value = ok ? hlo_value(&c) : name;
    if (!ok || value.length == 0) {
      ok = false;
      break;
    }
    struct ir_attr attr = hlo_string(b, value);
    bool is_named = hlo_unquote(b, name);
    uint32_t id = intern_add(&b->m->strings, strbuf_text(&b->text), b->text.length);
    if (attr.id == 0 || !is_named || id == UINT32_MAX || !vec_push(&pairs, id) || !vec_push(&pairs, attr.id)) {
      vec_release(&pairs);
      (void)hlo_ok(b, false);
      return (struct ir_attr){0};
    }
    (void)hlo_try(&c, ',');
  }
  struct ir_attr dict = {0};
  if (ok) {
    dict = ir_attr_dict(b->m, pairs.data, (uint32_t)pairs.count / 2);
  } else {
    (void)bad_value(b, text, "{name=value, ...}");
  }
  vec_release(&pairs);
  return dict;
}

/* `: type` behind a number of a typed configuration; id 0 when it is none of these. */
static struct ir_type number_type(struct hlo_builder *b, struct hlo_cursor *c, bool *is_float) {
  static const struct {
    const char *name;
    enum dtype dtype;
  } types[] = {{"i64", DTYPE_I64}, {"i32", DTYPE_I32}, {"i16", DTYPE_I16},   {"i8", DTYPE_I8},    {"f64", DTYPE_F64},
               {"f32", DTYPE_F32}, {"ui8", DTYPE_UI8}, {"ui16", DTYPE_UI16}, {"ui32", DTYPE_UI32}};
  struct hlo_span name = hlo_try(c, ':') ? hlo_name(c) : (struct hlo_span){NULL, 0};
  for (size_t i = 0; name.length > 0 && i < sizeof types / sizeof types[0]; i++) {
    if (hlo_span_is(name, types[i].name)) {
      *is_float = dtype_is_floating(types[i].dtype);
      return ir_type_scalar(b->m, types[i].dtype);
    }
  }
  return (struct ir_type){0};
}

/* One value of a typed configuration: a string, true, false, or a number with its type. */
static struct ir_attr typed_value(struct hlo_builder *b, struct hlo_cursor *c) {
  if (hlo_peek(c) == '"') {
    struct hlo_span text = hlo_balanced(c);
    return text.length > 0 ? hlo_string(b, text) : (struct ir_attr){0};
  }
  struct hlo_span word = hlo_value(c);
  if (hlo_span_is(word, "true") || hlo_span_is(word, "false")) {
    return ir_attr_bool(b->m, hlo_span_is(word, "true"));
  }
  bool is_float = false;
  struct ir_type type = number_type(b, c, &is_float);
  struct hlo_cursor digits = hlo_cursor_of(word);
  int64_t integer;
  double number;
  if (type.id == 0) {
    return (struct ir_attr){0};
  }
  if (!is_float) {
    bool is_whole = hlo_integer(&digits, &integer) && digits.at == digits.end;
    return is_whole ? ir_attr_integer(b->m, integer, type) : (struct ir_attr){0};
  }
  if (!decimal_parse(word.text, word.length, &number)) {
    return (struct ir_attr){0};
  }
  return ir_attr_float(b->m, minifloat_encode((enum dtype)ir_type_get(b->m, type)->dtype, number), type);
}

struct ir_attr hlo_typed_config(struct hlo_builder *b, struct hlo_span text) {
  struct hlo_cursor c = hlo_cursor_of(text);
  VEC(uint32_t) pairs = {0};
  bool ok = hlo_try(&c, '{');
  while (ok && hlo_peek(&c) != '}') {
    struct hlo_span name = hlo_name(&c);
    struct ir_attr value = {0};
    if (name.length > 0 && hlo_try(&c, '=')) {
      value = typed_value(b, &c);
    }
    uint32_t id = value.id != 0 ? intern_add(&b->m->strings, name.text, name.length) : 0;
    ok = value.id != 0 && hlo_ok(b, id != UINT32_MAX && vec_push(&pairs, id) && vec_push(&pairs, value.id))
         && (hlo_try(&c, ',') || hlo_peek(&c) == '}');
  }
  struct ir_attr dict = {0};
  if (ok && hlo_try(&c, '}') && hlo_peek(&c) == '\0') {
    dict = ir_attr_dict(b->m, pairs.data, (uint32_t)pairs.count / 2);
  }
  vec_release(&pairs);
  return dict;
}

/* #dialect<mnemonic VALUE>; `is_upper`: lower case stands for upper, and "rng_" before it is dropped. */
bool hlo_enum(struct hlo_builder *b, const char *mnemonic, struct hlo_span text, bool is_upper, struct ir_attr *attr) {
  char value[64];
  size_t length = 0;
  struct hlo_span word = text;
  if (is_upper && word.length > 4 && memcmp(word.text, "rng_", 4) == 0) {
    word = (struct hlo_span){word.text + 4, word.length - 4};
  }
  for (; length < word.length && length < sizeof value; length++) {
    char x = word.text[length];
    bool is_letter = (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z');
    if (!is_letter && (length == 0 || (x != '_' && (x < '0' || x > '9')))) {
      break;
    }
    value[length] = is_upper && x >= 'a' && x <= 'z' ? (char)(x - 'a' + 'A') : x;
  }
  if (length == 0 || length < word.length) {
    return bad_value(b, text, "a word");
  }
  *attr = ir_attr_enum(b->m, mnemonic, strlen(mnemonic), value, length);
  return hlo_ok(b, attr->id != 0);
}

static bool float_attr(struct hlo_builder *b, struct hlo_span text, struct ir_attr *attr) {
  double value;
  if (!decimal_parse(text.text, text.length, &value)) {
    return bad_value(b, text, "a number");
  }
  float single = (float)value;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  *attr = ir_attr_float(b->m, bits, ir_type_scalar(b->m, DTYPE_F32));
  return true;
}

bool hlo_attr_value(struct hlo_builder *b, const struct hlo_attr_row *row, struct hlo_span text, struct ir_attr *attr) {
  bool ok = true;
  switch ((enum hlo_attr_kind)row->kind) {
  case HLO_I64S:
    ok = hlo_ints(b, text);
    *attr = ok ? hlo_i64s(b) : *attr;
    break;
  case HLO_FIRST:
  case HLO_I64:
  case HLO_I32:
    ok = hlo_ints(b, text) && (b->ints.count == 1 || bad_value(b, text, "one integer"));
    if (ok) {
      *attr =
          ir_attr_integer(b->m, b->ints.data[0], ir_type_scalar(b->m, row->kind == HLO_I32 ? DTYPE_I32 : DTYPE_I64));
    }
    break;
  case HLO_BOOL:
  case HLO_OMIT:
    ok = hlo_span_is(text, "true") || hlo_span_is(text, "false") || bad_value(b, text, "true or false");
    *attr = ir_attr_bool(b->m, hlo_span_is(text, "true"));
    break;
  case HLO_F32:
    ok = float_attr(b, text, attr);
    break;
  case HLO_ENUM:
  case HLO_WORD:
    ok = hlo_enum(b, row->mnemonic, text, row->kind == HLO_ENUM, attr);
    break;
  case HLO_TEXT:
    *attr = hlo_string(b, text);
    break;
  }
  return ok && hlo_ok(b, attr->id != 0);
}

bool hlo_is_true(const struct hlo_module *hlo, const struct hlo_instruction *in, const char *name) {
  return hlo_span_is(hlo_attr_find(hlo, in, name), "true");
}

/* ---- windows ---- */

/* 1x2x3 or 0_1x2_3 into one or two arrays; false when it is neither or has another rank. */
static bool window_field(struct hlo_cursor *c, struct hlo_window *window, int64_t *first, int64_t *second) {
  uint32_t rank = 0;
  do {
    if (rank == HLO_WINDOW_MAX || !hlo_integer(c, &first[rank])) {
      return false;
    }
    if (second != NULL && (!hlo_try(c, '_') || !hlo_integer(c, &second[rank]))) {
      return false;
    }
    rank++;
  } while (c->at < c->end && *c->at == 'x' && hlo_try(c, 'x'));
  bool fits = window->rank == 0 || window->rank == rank;
  window->rank = rank;
  return fits;
}

bool hlo_read_window(struct hlo_builder *b, struct hlo_span text, struct hlo_window *window) {
  *window = (struct hlo_window){0};
  for (uint32_t i = 0; i < HLO_WINDOW_MAX; i++) {
    window->size[i] = window->stride[i] = window->lhs_dilate[i] = window->rhs_dilate[i] = 1;
  }
  const struct {
    const char *name;
    int64_t *first, *second;
  } fields[] = {{"size", window->size, NULL},
                {"stride", window->stride, NULL},
                {"pad", window->low, window->high},
                {"lhs_dilate", window->lhs_dilate, NULL},
                {"rhs_dilate", window->rhs_dilate, NULL},
                {"rhs_reversal", window->reversal, NULL}};
  struct hlo_cursor c = hlo_cursor_of(text);
  (void)hlo_try(&c, '{');
  while (c.at < c.end && hlo_peek(&c) != '}') {
    struct hlo_span name = hlo_name(&c);
    bool ok = false;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
      if (hlo_span_is(name, fields[i].name)) {
        ok = hlo_try(&c, '=') && window_field(&c, window, fields[i].first, fields[i].second);
      }
    }
    if (!ok) {
      return bad_value(b, text, "a window, {size=1x3 stride=1x1 pad=0_0x1_1}");
    }
    (void)hlo_try(&c, ',');
  }
  return true;
}
