/* Literals of HLO constants: nested braces around numbers, read flat. `{...}` is a literal that the writer left out; it becomes
 * the resource that MLIR's printer writes for elided constants. */
#include <math.h>

#include "base/decimal.h"
#include "base/minifloat.h"
#include "import/hlo_build.h"

static bool bad_literal(struct hlo_builder *b, const char *at, const char *what) {
  return hlo_fail(b, DIAG_E0111_DENSE, at, "%s", what);
}

/* A run of bytes up to a blank, comma or bracket. */
static struct hlo_span word_at(struct hlo_cursor *c) {
  hlo_skip(c);
  struct hlo_span word = {c->at, 0};
  while (c->at < c->end && strchr(" \t\r\n,{}()", *c->at) == NULL) {
    c->at++;
  }
  word.length = (size_t)(c->at - word.text);
  return word;
}

static void put_little(uint8_t *out, uint64_t bits, unsigned size) {
  for (unsigned i = 0; i < size; i++) {
    out[i] = (uint8_t)(bits >> (8 * i));
  }
}

/* (0x7fc0) behind a nan: the bits of its fraction; 0 when there are none. */
static uint64_t nan_payload(struct hlo_cursor *c) {
  uint64_t payload = 0;
  struct hlo_cursor inside = *c;
  if (c->at < c->end && *c->at == '(') {
    inside = hlo_cursor_of(hlo_balanced(c));
  }
  (void)(hlo_try(&inside, '(') && hlo_try(&inside, '0') && hlo_try(&inside, 'x'));
  for (; inside.at < inside.end && inside.at < c->at && *inside.at != ')'; inside.at++) {
    char x = *inside.at;
    payload = payload << 4
              | (uint64_t)(x >= '0' && x <= '9'   ? x - '0'
                           : x >= 'a' && x <= 'f' ? x - 'a' + 10
                           : x >= 'A' && x <= 'F' ? x - 'A' + 10
                                                  : 0);
  }
  return payload;
}

/* nan(0x7) and -nan(0x7) carry a payload, which takes the place of the usual fraction in types that have one. */
static bool read_float(struct hlo_builder *b, struct hlo_cursor *c, enum dtype dtype, uint64_t *bits) {
  struct hlo_span word = word_at(c);
  double value;
  bool is_nan = hlo_span_is(word, "nan") || hlo_span_is(word, "-nan");
  uint64_t payload = is_nan ? nan_payload(c) : 0;
  if (!decimal_parse(word.text, word.length, &value)) {
    return bad_literal(b, word.text, "expected a number");
  }
  *bits = minifloat_encode(dtype, value);
  uint64_t infinity = minifloat_encode(dtype, value < 0 || word.text[0] == '-' ? -HUGE_VAL : HUGE_VAL);
  uint64_t fraction =
      minifloat_encode(dtype, HUGE_VAL) & (0 - minifloat_encode(dtype, HUGE_VAL)); /* lowest exponent bit */
  bool has_payload = dtype == DTYPE_F16 || dtype == DTYPE_BF16 || dtype == DTYPE_F32 || dtype == DTYPE_F64;
  if (payload != 0 && has_payload && payload < fraction) {
    *bits = infinity | payload;
  }
  return true;
}

/* The number is one of the type's; 64 bits hold all of them. */
static bool fits(enum dtype dtype, int64_t value) {
  unsigned width = dtype_bits(dtype);
  if (dtype_class_of(dtype) == DTYPE_CLASS_UINT) {
    return value >= 0 && (width >= 63 || value >> width == 0);
  }
  return width >= 64 || (value >= -((int64_t)1 << (width - 1)) && value < (int64_t)1 << (width - 1));
}

/* Signed numbers narrower than a byte fill it with their sign, as in every dense attribute. */
static bool read_integer(struct hlo_builder *b, struct hlo_cursor *c, enum dtype dtype, uint64_t *bits) {
  const char *at = c->at;
  struct hlo_span word = word_at(c);
  struct hlo_cursor digits = hlo_cursor_of(word);
  int64_t value;
  if (hlo_span_is(word, "true") || hlo_span_is(word, "false")) {
    *bits = hlo_span_is(word, "true");
    return true;
  }
  if (hlo_integer(&digits, &value) && digits.at == digits.end) {
    *bits = dtype == DTYPE_I1 ? value != 0 : (uint64_t)value;
    return dtype == DTYPE_I1 || fits(dtype, value) || bad_literal(b, word.text, "this number does not fit the type");
  }
  /* above 2^63 - 1 */
  uint64_t number = 0;
  bool ok = word.length > 0 && dtype == DTYPE_UI64;
  for (size_t i = 0; i < word.length && ok; i++) {
    unsigned digit = (unsigned)(word.text[i] - '0');
    ok = digit <= 9 && number <= (UINT64_MAX - digit) / 10;
    number = ok ? number * 10 + digit : number;
  }
  *bits = number;
  return ok || bad_literal(b, word.length > 0 ? word.text : at, "expected an integer of 64 bits");
}

/* One element, as it lies in dense data. */
static bool read_element(struct hlo_builder *b, struct hlo_cursor *c, enum dtype dtype, uint8_t *out) {
  uint64_t bits = 0, imaginary = 0;
  unsigned size = ir_dense_element_size(dtype);
  if (dtype_class_of(dtype) == DTYPE_CLASS_COMPLEX) {
    enum dtype part = dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
    bool has_both = hlo_try(c, '(') && read_float(b, c, part, &bits) && hlo_try(c, ',')
                    && read_float(b, c, part, &imaginary) && hlo_try(c, ')');
    put_little(out, bits, size / 2);
    put_little(out + size / 2, imaginary, size / 2);
    return has_both || bad_literal(b, c->at, "expected a complex number, (real, imaginary)");
  }
  bool ok = dtype_is_floating(dtype) ? read_float(b, c, dtype, &bits) : read_integer(b, c, dtype, &bits);
  put_little(out, bits, size);
  return ok;
}

bool hlo_literal_is_elided(struct hlo_span text) {
  struct hlo_cursor c = hlo_cursor_of(text);
  return hlo_try(&c, '{') && hlo_try(&c, '.') && hlo_try(&c, '.') && hlo_try(&c, '.');
}

struct hlo_span hlo_literal_span(struct hlo_cursor *c, const struct hlo_shape *shape) {
  char next = hlo_peek(c);
  bool is_complex = shape->kind == HLO_SHAPE_ARRAY && dtype_class_of((enum dtype)shape->dtype) == DTYPE_CLASS_COMPLEX;
  if (next == '{' || (next == '(' && is_complex)) {
    return hlo_balanced(c);
  }
  struct hlo_span word = word_at(c);
  if (c->at < c->end && *c->at == '(' && word.length > 0) { /* nan(0x7) */
    word.length += hlo_balanced(c).length;
  }
  return word;
}

/* The elements between the braces onto b->bytes. */
static bool read_elements(struct hlo_builder *b, struct hlo_cursor *c, enum dtype dtype, uint64_t wanted,
                          uint64_t *found) {
  unsigned size = ir_dense_element_size(dtype);
  b->bytes.count = 0;
  for (char next = hlo_peek(c); c->at < c->end; next = hlo_peek(c)) {
    if (next == '{' || next == '}' || next == ',') {
      c->at++;
      continue;
    }
    const char *at = c->at;
    if (*found == wanted || !vec_reserve(&b->bytes, b->bytes.count + size)) {
      return *found == wanted ? bad_literal(b, at, "more elements than the shape has") : hlo_ok(b, false);
    }
    if (!read_element(b, c, dtype, b->bytes.data + b->bytes.count)) {
      return false;
    }
    b->bytes.count += size;
    ++*found;
    if (c->at == at) {
      return bad_literal(b, at, "expected a number");
    }
  }
  return true;
}

bool hlo_literal(struct hlo_builder *b, const struct hlo_shape *shape, struct hlo_span text, struct ir_attr *attr) {
  struct hlo_cursor c = hlo_cursor_of(text);
  if (shape->kind != HLO_SHAPE_ARRAY) {
    return hlo_fail(b, DIAG_E0111_DENSE, text.text, "a token or an opaque value has no constants");
  }
  struct ir_type type = hlo_type_of(b, shape);
  if (type.id == 0) {
    return hlo_ok(b, false);
  }
  if (hlo_literal_is_elided(text)) {
    *attr = ir_attr_text(b->m, IR_ATTR_RESOURCE, "__elided__", 10, type);
    return hlo_ok(b, attr->id != 0);
  }
  uint64_t wanted = ir_type_element_count(b->m, type), found = 0;
  if (!read_elements(b, &c, (enum dtype)shape->dtype, wanted, &found)) {
    return false;
  }
  if (found != wanted) {
    return hlo_fail(b, DIAG_E0111_DENSE, text.text, "%llu elements, but the shape has %llu", (unsigned long long)found,
                    (unsigned long long)wanted);
  }
  *attr = ir_attr_dense(b->m, type, b->bytes.data, b->bytes.count, false);
  return hlo_ok(b, attr->id != 0);
}
