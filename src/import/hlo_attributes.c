/* Texts of HLO attributes as IR attributes. See hlo_build.h. */
#include "base/decimal.h"
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

/* ---- groups of devices ---- */

enum { DEVICES_MAX = 1 << 20 };

static bool listed_groups(struct hlo_builder *b, struct hlo_span text, int64_t *rows, int64_t *columns) {
  struct hlo_cursor c = hlo_cursor_of(text);
  VEC(uint32_t) starts = {0};
  bool ok = hlo_try(&c, '{');
  b->ints.count = 0;
  while (ok && hlo_peek(&c) != '}') {
    int64_t id;
    ok = hlo_try(&c, '{') && hlo_ok(b, vec_push(&starts, (uint32_t)b->ints.count));
    while (ok && hlo_peek(&c) != '}') {
      ok = hlo_integer(&c, &id) && hlo_ok(b, vec_push(&b->ints, id));
      (void)hlo_try(&c, ',');
    }
    ok = ok && hlo_try(&c, '}');
    (void)hlo_try(&c, ',');
  }
  uint32_t widest = 0;
  for (size_t i = 0; i < starts.count && ok; i++) {
    uint32_t end = i + 1 < starts.count ? starts.data[i + 1] : (uint32_t)b->ints.count;
    widest = end - starts.data[i] > widest ? end - starts.data[i] : widest;
  }
  size_t total = starts.count * widest;
  if (ok && total > DEVICES_MAX) {
    ok = hlo_fail(b, DIAG_E0005_LIMIT, text.text, "more than %d devices", DEVICES_MAX);
  } else if (!ok) {
    ok = bad_value(b, text, "groups of devices, {{0,1},{2,3}}");
  } else if (total > b->ints.count) {
    ok = hlo_ok(b, vec_reserve(&b->ints, total));
    size_t from = b->ints.count;
    b->ints.count = ok ? total : from;
    for (size_t i = starts.count; i-- > 0 && ok;) {
      size_t length = from - starts.data[i];
      memmove(b->ints.data + i * widest, b->ints.data + starts.data[i], length * sizeof *b->ints.data);
      from = starts.data[i];
      for (size_t k = length; k < widest; k++) {
        b->ints.data[i * widest + k] = -1;
      }
    }
  }
  *rows = (int64_t)starts.count;
  *columns = widest;
  vec_release(&starts);
  return ok;
}

enum { IOTA_RANK_MAX = 16 };

/* [a,b,c] */
static bool iota_list(struct hlo_cursor *c, int64_t *values, uint32_t *count) {
  *count = 0;
  bool is_round = hlo_try(c, '(');
  if (!is_round && !hlo_try(c, '[')) {
    return false;
  }
  do {
    if (*count == IOTA_RANK_MAX || !hlo_integer(c, &values[*count])) {
      return false;
    }
    ++*count;
  } while (hlo_try(c, ','));
  return hlo_try(c, is_round ? ')' : ']');
}

/* Numbers 0, 1, ... in an array of `dims`, transposed by `order`. */
static bool iota_numbers(struct hlo_builder *b, const int64_t *dims, const int64_t *order, uint32_t rank,
                         int64_t total) {
  int64_t strides[IOTA_RANK_MAX], index[IOTA_RANK_MAX] = {0}, step = 1;
  for (uint32_t i = rank; i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  b->ints.count = 0;
  if (!vec_reserve(&b->ints, (size_t)total)) {
    return hlo_ok(b, false);
  }
  for (int64_t n = 0; n < total; n++) {
    int64_t id = 0;
    for (uint32_t i = 0; i < rank; i++) {
      id += index[i] * strides[order[i]];
    }
    b->ints.data[b->ints.count++] = id;
    for (uint32_t i = rank; i-- > 0;) {
      if (++index[i] < dims[order[i]]) {
        break;
      }
      index[i] = 0;
    }
  }
  return true;
}

/* [groups,size]<=[dims]T(order) */
static bool iota_groups(struct hlo_builder *b, struct hlo_span text, int64_t *rows, int64_t *columns) {
  struct hlo_cursor c = hlo_cursor_of(text);
  int64_t groups[IOTA_RANK_MAX], dims[IOTA_RANK_MAX], order[IOTA_RANK_MAX], total = 1;
  uint32_t count, rank, order_count = 0, seen = 0;
  bool ok = iota_list(&c, groups, &count) && count == 2 && hlo_try_word(&c, "<=") && iota_list(&c, dims, &rank);
  for (uint32_t i = 0; ok && i < rank; i++) {
    order[i] = i;
    ok = dims[i] > 0 && dims[i] <= DEVICES_MAX / total;
    total = ok ? total * dims[i] : total;
  }
  if (ok && hlo_try(&c, 'T')) {
    ok = iota_list(&c, order, &order_count) && order_count == rank;
  }
  for (uint32_t i = 0; ok && i < rank; i++) {
    ok = order[i] >= 0 && order[i] < (int64_t)rank && (seen & (1u << order[i])) == 0;
    seen |= ok ? 1u << order[i] : 0;
  }
  ok = ok && groups[0] > 0 && groups[1] > 0 && groups[0] <= DEVICES_MAX && groups[1] <= DEVICES_MAX
       && groups[0] * groups[1] == total;
  if (!ok) {
    return bad_value(b, text, "groups of devices, [2,4]<=[8] or {{0,1},{2,3}}");
  }
  *rows = groups[0];
  *columns = groups[1];
  return iota_numbers(b, dims, order, rank, total);
}

bool hlo_read_groups(struct hlo_builder *b, struct hlo_span text, int64_t *rows, int64_t *columns) {
  *rows = *columns = 0;
  b->ints.count = 0;
  if (text.length == 0) {
    return true;
  }
  return text.text[0] == '[' ? iota_groups(b, text, rows, columns) : listed_groups(b, text, rows, columns);
}
