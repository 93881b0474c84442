/* Elements of constants: numbers, dense<...>, array<...>, dense_resource<...>. Elements are held as raw little-endian bytes
 * of their type (ir.h). Path: mlir_parse_attrs.c → here → ir_attr_dense. */
#include <stdlib.h>

#include "base/minifloat.h"
#include "mlir/mlir_parse.h"

static bool dense_error(struct parser *p, const char *at, const char *what) {
  return parse_error(p, DIAG_E0111_DENSE, at, "%s", what);
}

static void store(uint8_t *bytes, uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; i++) {
    bytes[i] = (uint8_t)(value >> (8 * i));
  }
}

/* ---- one element ---------------------------------------------------------------------------------------------------- */

static bool integer_bits(struct parser *p, enum dtype dtype, const struct lex_number *n, uint64_t *bits) {
  unsigned width = dtype_bits(dtype);
  bool is_unsigned = dtype_class_of(dtype) == DTYPE_CLASS_UINT;
  uint64_t most = dtype == DTYPE_INDEX ? INT64_MAX : width >= 64 ? UINT64_MAX : (1ull << width) - 1;
  uint64_t lowest = width >= 64 ? 1ull << 63 : 1ull << (width - 1);
  if (n->is_float) {
    return dense_error(p, n->text, "a number with a point in a list of integers");
  }
  bool is_zero = n->value == 0; /* "-0" is no integer */
  if (n->is_wide || (n->is_negative ? is_unsigned || is_zero || n->value > lowest : n->value > most)) {
    return parse_error(p, DIAG_E0111_DENSE, n->text, "%.*s does not fit %s", SPAN_ARGS(*n), dtype_name(dtype));
  }
  *bits = n->is_negative ? 0 - n->value : n->value;
  if (dtype == DTYPE_I1) {
    *bits &= 1;
  } else if (width < 64 && !is_unsigned && (*bits & lowest)) {
    *bits |= ~most; /* sub-byte elements are kept sign-extended in their byte */
  } else if (width < 64) {
    *bits &= most;
  }
  return true;
}

static bool float_bits(struct parser *p, enum dtype dtype, const struct lex_number *n, uint64_t *bits) {
  unsigned width = dtype_bits(dtype);
  if (n->is_hex) {
    if (n->is_negative || n->is_wide || (width < 64 && n->value >> width)) {
      return parse_error(p, DIAG_E0111_DENSE, n->text, "the bit pattern %.*s does not fit %s", SPAN_ARGS(*n),
                         dtype_name(dtype));
    }
    *bits = n->value;
    return true;
  }
  if (!n->is_float) {
    return parse_error(p, DIAG_E0111_DENSE, n->text, "the integer %.*s stands for a %s; write it with a point",
                       SPAN_ARGS(*n), dtype_name(dtype));
  }
  double value = lex_number_double(n);
  if (dtype == DTYPE_F32) {
    float narrow = (float)value;
    uint32_t word;
    memcpy(&word, &narrow, sizeof word);
    *bits = word;
  } else if (dtype == DTYPE_F64) {
    memcpy(bits, &value, sizeof value);
  } else {
    *bits = minifloat_encode(dtype, value);
  }
  return true;
}

static bool real_element(struct parser *p, enum dtype dtype, uint8_t *bytes) {
  struct lex_number number;
  uint64_t bits;
  lex_skip(&p->lx);
  if (lex_is(*p->lx.cursor, LEX_START) && dtype_is_integral(dtype)) {
    bool yes = LEX_TRY_WORD(&p->lx, "true");
    if (!yes && !LEX_TRY_WORD(&p->lx, "false")) {
      return parse_expected(p, "an element");
    }
    if (dtype != DTYPE_I1) {
      return dense_error(p, p->lx.cursor, "true and false are elements of i1 only");
    }
    bytes[0] = yes;
    return true;
  }
  if (!lex_number_read(&p->lx, &number)) {
    return parse_expected(p, "an element");
  }
  if (dtype_is_integral(dtype) ? !integer_bits(p, dtype, &number, &bits) : !float_bits(p, dtype, &number, &bits)) {
    return false;
  }
  store(bytes, bits, ir_dense_element_size(dtype));
  return true;
}

bool parse_element(struct parser *p, enum dtype dtype, uint8_t *bytes) {
  if (dtype != DTYPE_C64 && dtype != DTYPE_C128) {
    return real_element(p, dtype, bytes);
  }
  enum dtype part = dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
  return parse_char(p, '(', "'(' and the parts of a complex number") && real_element(p, part, bytes)
         && parse_char(p, ',', "',' between the parts") && real_element(p, part, bytes + ir_dense_element_size(part))
         && parse_char(p, ')', "')' after a complex number");
}

/* ---- number attributes ---------------------------------------------------------------------------------------------- */

/* The decimal spelling of an integer of at most 64 bits of type iN, siN or uiN; false when it does not fit. */
static bool small_integer_text(const struct lex_number *n, const char *type, struct strbuf *text) {
  bool is_signed = type[0] == 's', is_unsigned = type[0] == 'u';
  unsigned width = (unsigned)strtoul(type + strcspn(type, "i") + 1, NULL, 10);
  if (width == 0 || width > 64) {
    return false;
  }
  uint64_t lowest = 1ull << (width - 1), mask = width == 64 ? UINT64_MAX : (1ull << width) - 1;
  uint64_t most = is_signed ? lowest - 1 : mask;
  if (n->is_wide || (n->is_negative ? is_unsigned || n->value == 0 || n->value > lowest : n->value > most)) {
    return false;
  }
  bool is_negative = n->is_negative || (!is_unsigned && n->value >= lowest);
  uint64_t magnitude = is_negative && !n->is_negative ? mask - n->value + 1 : n->value;
  strbuf_printf(text, "%s%llu", is_negative ? "-" : "", (unsigned long long)magnitude);
  return true;
}

/* Appends the text of a number of a scalar type without a dtype (si32, i128, f80). Integers of at most 64 bits have one
 * spelling. */
static bool put_number(struct parser *p, const struct lex_number *n, struct ir_type type, struct strbuf *out) {
  const struct ir_type_data *data = ir_type_get(p->m, type);
  const char *name = data->kind == IR_TYPE_OPAQUE ? ir_text(p->m, data->text) : "";
  bool is_integer = name[0] == 'i' || ((name[0] == 's' || name[0] == 'u') && name[1] == 'i');
  if (!is_integer && strcmp(name, "f80") != 0 && strcmp(name, "f128") != 0) {
    return parse_error(p, DIAG_E0105_ATTRIBUTE, n->text, "a number cannot have this type");
  }
  if (!is_integer || strtoul(name + strcspn(name, "i") + 1, NULL, 10) > 64) {
    strbuf_add(out, n->text, n->length);
  } else if (n->is_float || !small_integer_text(n, name, out)) {
    return parse_error(p, DIAG_E0111_DENSE, n->text, "%.*s does not fit %s", SPAN_ARGS(*n), name);
  }
  return true;
}

static bool number_text(struct parser *p, const struct lex_number *n, struct ir_type type, struct ir_attr *attr) {
  strbuf_clear(&p->text);
  if (!put_number(p, n, type, &p->text)) {
    return false;
  }
  *attr = parse_text_attr(p, IR_ATTR_OPAQUE, &p->text, type);
  return parse_made(p, *attr);
}

bool parse_number_attr(struct parser *p, struct ir_attr *attr) {
  struct lex_number n;
  if (!lex_number_read(&p->lx, &n)) {
    return parse_expected(p, "a number");
  }
  struct ir_type type = ir_type_scalar(p->m, n.is_float ? DTYPE_F64 : DTYPE_I64);
  if (lex_peek(&p->lx) == ':' && p->lx.cursor[1] != ':') {
    p->lx.cursor++;
    if (!parse_type(p, &type)) {
      return false;
    }
  }
  const struct ir_type_data *data = ir_type_get(p->m, type);
  enum dtype dtype = (enum dtype)data->dtype;
  uint64_t bits;
  if (data->kind != IR_TYPE_SCALAR || dtype_class_of(dtype) == DTYPE_CLASS_COMPLEX) {
    return number_text(p, &n, type, attr);
  }
  if (dtype_is_integral(dtype)) {
    if (!integer_bits(p, dtype, &n, &bits)) {
      return false;
    }
    *attr = dtype == DTYPE_I1 ? ir_attr_bool(p->m, bits != 0) : ir_attr_integer(p->m, (int64_t)bits, type);
  } else {
    if (!float_bits(p, dtype, &n, &bits)) {
      return false;
    }
    *attr = ir_attr_float(p->m, bits, type);
  }
  return parse_made(p, *attr);
}

bool parse_untyped(struct parser *p, struct ir_attr *attr) {
  struct lex_number n;
  if (lex_peek(&p->lx) == '"') {
    struct strbuf text = {0};
    bool ok = parse_string_text(p, &text);
    *attr = ok ? ir_attr_string(p->m, strbuf_text(&text), text.length, (struct ir_type){0}) : *attr;
    strbuf_release(&text);
    return ok && parse_made(p, *attr);
  }
  if (!lex_number_read(&p->lx, &n)) {
    return parse_expected(p, "a number or a string");
  }
  enum dtype dtype = n.is_float ? DTYPE_F64 : DTYPE_I64;
  uint64_t bits;
  if (n.is_float ? !float_bits(p, dtype, &n, &bits) : !integer_bits(p, dtype, &n, &bits)) {
    return false;
  }
  struct ir_type type = ir_type_scalar(p->m, dtype);
  *attr = n.is_float ? ir_attr_float(p->m, bits, type) : ir_attr_integer(p->m, (int64_t)bits, type);
  return parse_made(p, *attr);
}

/* ---- dense<...> ------------------------------------------------------------------------------------------------------ */

/* Shape of nested lists while they are read: at each level, how many entries were read. */
struct dense_reader {
  enum dtype dtype;
  unsigned size; /* bytes per element */
  bool is_string;
  const int64_t *dims; /* of the type; stays valid: nothing is interned while elements are read */
  uint32_t rank;
};

static bool append_element(struct parser *p, const struct dense_reader *r) {
  uint8_t bytes[16];
  if (r->is_string) {
    struct strbuf text = {0};
    uint32_t id = 0;
    bool ok = parse_string_text(p, &text) && parse_intern(p, strbuf_text(&text), text.length, &id);
    strbuf_release(&text);
    memcpy(bytes, &id, sizeof id);
    if (!ok) {
      return false;
    }
  } else if (!parse_element(p, r->dtype, bytes)) {
    return false;
  }
  if (!vec_reserve(&p->bytes, p->bytes.count + r->size)) {
    return parse_memory(p);
  }
  memcpy(p->bytes.data + p->bytes.count, bytes, r->size);
  p->bytes.count += r->size;
  return true;
}

static bool read_list(struct parser *p, const struct dense_reader *r, uint32_t level) {
  const char *start = p->lx.cursor;
  p->lx.cursor++;
  if (level >= r->rank) {
    return dense_error(p, start, "the list of elements is nested deeper than the rank of the type");
  }
  int64_t count = 0;
  if (!lex_try(&p->lx, ']')) {
    do {
      bool is_list = lex_peek(&p->lx) == '[';
      if (is_list != (level + 1 < r->rank)) {
        return dense_error(p, p->lx.cursor, "the nesting of the elements does not fit the rank of the type");
      }
      if (is_list ? !read_list(p, r, level + 1) : !append_element(p, r)) {
        return false;
      }
      count++;
    } while (lex_try(&p->lx, ','));
    if (!parse_char(p, ']', "',' or ']' after an element")) {
      return false;
    }
  }
  if (count != r->dims[level]) {
    return parse_error(p, DIAG_E0111_DENSE, start, "a list of %lld elements where the type has %lld", (long long)count,
                       (long long)r->dims[level]);
  }
  return true;
}

static int nibble(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/* Elements of less than 8 bits: signed ones sign-extended in their byte, others without stray bits. */
static void normalise_bytes(struct parser *p, enum dtype dtype) {
  unsigned bits = dtype_bits(dtype);
  if (bits >= 8) {
    return;
  }
  uint8_t sign = (uint8_t)(1u << (bits - 1)), mask = (uint8_t)((1u << bits) - 1);
  bool is_signed = dtype_class_of(dtype) == DTYPE_CLASS_SINT;
  for (size_t i = 0; i < p->bytes.count; i++) {
    uint8_t value = p->bytes.data[i] & mask;
    p->bytes.data[i] = is_signed && (value & sign) ? (uint8_t)(value | (uint8_t)~mask) : value;
  }
}

/* Older text packs eight i1 into a byte, the first one lowest. */
static bool unpack_bits(struct parser *p, const char *digits, uint64_t count) {
  if (!vec_reserve(&p->bytes, count)) {
    return parse_memory(p);
  }
  for (uint64_t i = 0; i < count; i++) {
    uint64_t byte = i / 8;
    int value = nibble(digits[2 * byte + (i % 8 < 4)]); /* the low nibble is the second digit */
    if (value < 0) {
      return dense_error(p, digits, "the data has a character that is not a hexadecimal digit");
    }
    p->bytes.data[i] = (uint8_t)(value >> (i % 4) & 1);
  }
  p->bytes.count = count;
  return true;
}

/* "0x<bytes>": the elements in memory order, or one element for all. */
static bool read_blob(struct parser *p, const struct dense_reader *r, uint64_t count, bool *is_splat) {
  struct lex_span raw;
  const char *start = p->lx.cursor;
  if (!lex_string(&p->lx, &raw)) {
    p->lx.cursor = p->lx.end;
    return parse_error(p, DIAG_E0103_EOF, start, "this string does not end");
  }
  if (raw.length < 2 || raw.text[0] != '0' || raw.text[1] != 'x' || raw.length % 2) {
    return dense_error(p, start, "expected \"0x\" and an even number of hexadecimal digits");
  }
  size_t bytes = raw.length / 2 - 1;
  if (r->dtype == DTYPE_I1 && bytes > 1 && bytes == count / 8 + (count % 8 != 0)) {
    return unpack_bits(p, raw.text + 2, count);
  }
  *is_splat = bytes == r->size && count != 1;
  if (bytes != r->size && (r->size == 0 || bytes / r->size != count || bytes % r->size)) {
    return parse_error(p, DIAG_E0111_DENSE, start, "%zu bytes of data for %llu elements of %s (%u byte%s each)", bytes,
                       (unsigned long long)count, dtype_name(r->dtype), r->size, r->size == 1 ? "" : "s");
  }
  if (!vec_reserve(&p->bytes, bytes)) {
    return parse_memory(p);
  }
  const char *c = raw.text + 2;
  int bad = 0;
  for (size_t i = 0; i < bytes; i++, c += 2) {
    int high = nibble(c[0]), low = nibble(c[1]);
    bad |= high | low;
    p->bytes.data[i] = (uint8_t)((unsigned)high << 4 | (unsigned)low);
  }
  p->bytes.count = bytes;
  normalise_bytes(p, r->dtype);
  return bad >= 0 || dense_error(p, start, "the data has a character that is not a hexadecimal digit");
}

/* Everything between < and >, the type known; p->bytes gets the elements. */
static bool read_elements(struct parser *p, const struct dense_reader *r, uint64_t count, bool *is_splat) {
  *is_splat = false;
  p->bytes.count = 0;
  char c = lex_peek(&p->lx);
  if (c == '>') {
    return count == 0 || dense_error(p, p->lx.cursor, "no elements for a type that has some");
  }
  if (c == '"' && !r->is_string) {
    return read_blob(p, r, count, is_splat);
  }
  if (c == '[') {
    const char *start = p->lx.cursor;
    if (r->rank == 0) {
      return dense_error(p, start, "a list of elements for a type of rank 0");
    }
    if (count == 0 && p->lx.cursor[1] == ']') {
      p->lx.cursor += 2; /* dense<[]> of any shape without elements */
      return true;
    }
    return read_list(p, r, 0);
  }
  *is_splat = count != 1;
  return append_element(p, r);
}

/* Moves behind the '>' that closes a dense literal without reading its elements. */
static bool skip_literal(struct parser *p) {
  const char *start = p->lx.cursor;
  const char *c = start + 1;
  while (c < p->lx.end) {
    if (*c == '"') {
      struct lexer lx = {c, p->lx.begin, p->lx.end};
      struct lex_span raw;
      if (!lex_string(&lx, &raw)) {
        break;
      }
      c = lx.cursor;
    } else if (*c == '/') {
      struct lexer lx = {c, p->lx.begin, p->lx.end};
      lex_skip_slow(&lx);
      c = lx.cursor == c ? c + 1 : lx.cursor;
    } else if (*c == '>') {
      p->lx.cursor = c + 1;
      return true;
    } else {
      c++;
    }
  }
  p->lx.cursor = p->lx.end;
  return parse_error(p, DIAG_E0103_EOF, start, "the text ends inside the elements opened here");
}

/* Elements of a type that has no dtype (vectors, opaque elements): kept as text. */
static bool dense_text(struct parser *p, const char *start, const char *end, struct ir_type type,
                       struct ir_attr *attr) {
  struct strbuf text = {0};
  struct lexer after = p->lx;
  p->lx.cursor = start;
  strbuf_puts(&text, "dense");
  bool ok = parse_balanced(p, &text);
  if (ok && p->lx.cursor != end) {
    ok = dense_error(p, start, "the elements are malformed");
  }
  p->lx.cursor = after.cursor;
  if (ok) {
    *attr = parse_text_attr(p, IR_ATTR_OPAQUE, &text, type);
  }
  strbuf_release(&text);
  return ok && parse_made(p, *attr);
}

static bool dense_of_type(struct parser *p, const char *start, const char *end, struct ir_type type,
                          struct ir_attr *attr) {
  const struct ir_type_data *data = ir_type_get(p->m, type);
  struct dense_reader reader = {.dtype = (enum dtype)data->dtype, .dims = ir_type_dims(p->m, type), .rank = data->rank};
  reader.is_string = reader.dtype == DTYPE_NONE;
  reader.size = reader.is_string ? sizeof(uint32_t) : ir_dense_element_size(reader.dtype);
  uint64_t count = ir_type_element_count(p->m, type);
  struct lexer after = p->lx;
  bool is_splat;
  p->lx.cursor = start + 1;
  bool ok = read_elements(p, &reader, count, &is_splat);
  if (ok && lex_peek(&p->lx) != '>') {
    ok = parse_expected(p, "'>' after the elements");
  }
  if (ok && p->lx.cursor + 1 != end) {
    ok = dense_error(p, p->lx.cursor, "the elements are malformed");
  }
  p->lx.cursor = ok ? after.cursor : p->lx.cursor;
  if (ok) {
    *attr = ir_attr_dense(p->m, type, p->bytes.data, p->bytes.count, is_splat);
  }
  return ok && parse_made(p, *attr);
}

bool parse_dense(struct parser *p, struct ir_attr *attr) {
  const char *start = p->lx.cursor;
  struct ir_type type;
  if (!skip_literal(p)) {
    return false;
  }
  const char *end = p->lx.cursor;
  if (!parse_char(p, ':', "':' and the type of the elements") || !parse_type(p, &type)) {
    return false;
  }
  const struct ir_type_data *data = ir_type_get(p->m, type);
  bool is_tensor = data->kind == IR_TYPE_TENSOR;
  if (!is_tensor && data->kind != IR_TYPE_OPAQUE && data->kind != IR_TYPE_MEMREF) {
    return dense_error(p, start, "the type of dense elements must be a tensor");
  }
  if (is_tensor && !ir_type_is_static(p->m, type)) {
    return dense_error(p, start, "the type of dense elements must have a static shape");
  }
  const char *first = start + 1;
  while (lex_is(*first, LEX_SPACE) || *first == '[') {
    first++;
  }
  bool strings = *first == '"' && !(first[1] == '0' && first[2] == 'x');
  if (!is_tensor || (data->dtype == DTYPE_NONE && !strings)) {
    return dense_text(p, start, end, type, attr);
  }
  return dense_of_type(p, start, end, type, attr);
}

bool parse_dense_resource(struct parser *p, struct ir_attr *attr) {
  struct ir_type type;
  p->lx.cursor++;
  strbuf_clear(&p->text);
  if (lex_peek(&p->lx) == '"') {
    if (!parse_string_text(p, &p->text)) {
      return false;
    }
  } else {
    struct lex_span name = lex_suffix(&p->lx);
    if (name.length == 0) {
      return parse_expected(p, "the name of a resource");
    }
    strbuf_add(&p->text, name.text, name.length);
  }
  uint32_t id;
  if (p->text.failed) {
    return parse_memory(p);
  }
  if (!parse_intern(p, strbuf_text(&p->text), p->text.length, &id)) {
    return false;
  }
  if (!parse_char(p, '>', "'>' after the name of a resource") || !parse_char(p, ':', "':' and the type of the resource")
      || !parse_type(p, &type)) {
    return false;
  }
  *attr = ir_attr_text(p->m, IR_ATTR_RESOURCE, ir_text(p->m, id), intern_length(&p->m->strings, id), type);
  return parse_made(p, *attr);
}

/* ---- array<...> ------------------------------------------------------------------------------------------------------ */

/* `: 1, 2>` of array<si32: 1, 2>, numbers of a type without a dtype: kept as text. */
static bool array_text(struct parser *p, struct ir_type element, struct ir_attr *attr) {
  struct strbuf text = {0};
  strbuf_puts(&text, "array<");
  mlir_print_type(p->m, element, &text);
  bool ok = true;
  if (lex_try(&p->lx, ':')) {
    const char *separator = ": ";
    do {
      struct lex_number n;
      strbuf_puts(&text, separator);
      separator = ", ";
      ok = lex_number_read(&p->lx, &n) ? put_number(p, &n, element, &text) : parse_expected(p, "a number");
    } while (ok && lex_try(&p->lx, ','));
  }
  strbuf_puts(&text, ">");
  ok = ok && parse_char(p, '>', "',' or '>' after an element");
  if (ok) {
    *attr = parse_text_attr(p, IR_ATTR_OPAQUE, &text, (struct ir_type){0});
  }
  strbuf_release(&text);
  return ok && parse_made(p, *attr);
}

/* Elements of array<> are of whole bytes, or i1. */
static bool is_array_element(enum dtype dtype) {
  enum dtype_class class = dtype_class_of(dtype);
  return dtype == DTYPE_I1
         || ((class == DTYPE_CLASS_SINT || class == DTYPE_CLASS_UINT || class == DTYPE_CLASS_FLOAT)
             && dtype_bits(dtype) % 8 == 0);
}

bool parse_dense_array(struct parser *p, struct ir_attr *attr) {
  const char *start = p->lx.cursor++;
  struct ir_type element;
  if (!parse_type(p, &element)) {
    return false;
  }
  enum dtype dtype = (enum dtype)ir_type_get(p->m, element)->dtype;
  uint8_t kind = ir_type_get(p->m, element)->kind;
  if (kind == IR_TYPE_OPAQUE && *ir_text(p->m, ir_type_get(p->m, element)->text) != '!') {
    return array_text(p, element, attr);
  }
  if (kind != IR_TYPE_SCALAR || !is_array_element(dtype)) {
    return parse_error(p, DIAG_E0105_ATTRIBUTE, start,
                       "the elements of array<> must be integers or floats of whole bytes");
  }
  struct dense_reader reader = {.dtype = dtype, .size = ir_dense_element_size(dtype)};
  p->bytes.count = 0;
  if (lex_try(&p->lx, ':')) {
    do {
      if (dtype == DTYPE_I1 && !lex_is(lex_peek(&p->lx), LEX_START)) {
        return parse_expected(p, "true or false");
      }
      if (!append_element(p, &reader)) {
        return false;
      }
    } while (lex_try(&p->lx, ','));
  }
  if (!parse_char(p, '>', "',' or '>' after an element")) {
    return false;
  }
  *attr = ir_attr_dense_array(p->m, element, p->bytes.data, (uint32_t)(p->bytes.count / reader.size));
  return parse_made(p, *attr);
}

struct ir_attr parse_dense_to_array(struct parser *p, struct ir_attr attr, enum dtype element) {
  struct ir_attr_data data = *ir_attr_get(p->m, attr);
  const struct ir_type_data *type = ir_type_get(p->m, data.type);
  uint64_t count = ir_attr_length(p->m, attr);
  if (type->rank != 1 || !dtype_is_integral((enum dtype)type->dtype) || count > (1u << 20)
      || (element == DTYPE_I1 && type->dtype != DTYPE_I1)) {
    return attr;
  }
  unsigned size = ir_dense_element_size(element);
  if (!vec_reserve(&p->bytes, count * size + 1)) {
    parse_memory(p);
    return attr;
  }
  for (uint64_t i = 0; i < count; i++) {
    store(p->bytes.data + i * size, (uint64_t)ir_attr_int_at(p->m, attr, i), size);
  }
  return ir_attr_dense_array(p->m, ir_type_scalar(p->m, element), p->bytes.data, (uint32_t)count);
}
