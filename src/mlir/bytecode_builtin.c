/* Attributes, locations and types of the builtin dialect in bytecode. Path: bytecode_entry.c → here.
 * Codes and fields: BuiltinDialectBytecode.td. Fields that are names are attributes of their own, given by index. */
#include <string.h>

#include "mlir/bytecode_int.h"

enum {
  ATTR_ARRAY,
  ATTR_DICTIONARY,
  ATTR_STRING,
  ATTR_STRING_TYPED,
  ATTR_FLAT_SYMBOL,
  ATTR_SYMBOL,
  ATTR_TYPE,
  ATTR_UNIT,
  ATTR_INTEGER,
  ATTR_FLOAT,
  LOC_CALL_SITE,
  LOC_FILE,
  LOC_FUSED,
  LOC_FUSED_METADATA,
  LOC_NAME,
  LOC_UNKNOWN,
  ATTR_RESOURCE,
  ATTR_DENSE_ARRAY,
  ATTR_DENSE,
  ATTR_DENSE_STRING,
  ATTR_SPARSE,
  ATTR_DISTINCT,
  LOC_FILE_RANGE
};

enum {
  TYPE_INTEGER,
  TYPE_INDEX,
  TYPE_FUNCTION,
  TYPE_BF16,
  TYPE_F16,
  TYPE_F32,
  TYPE_F64,
  TYPE_F80,
  TYPE_F128,
  TYPE_COMPLEX,
  TYPE_MEMREF,
  TYPE_MEMREF_SPACE,
  TYPE_NONE,
  TYPE_TENSOR,
  TYPE_TENSOR_ENCODING,
  TYPE_TUPLE,
  TYPE_UNRANKED_MEMREF,
  TYPE_UNRANKED_MEMREF_SPACE,
  TYPE_UNRANKED_TENSOR,
  TYPE_VECTOR,
  TYPE_VECTOR_SCALABLE
};

/* ---- collections ---------------------------------------------------------------------------------------------------- */

static bool array(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->items.count;
  if (!bc_attr_list(r, c)) {
    return false;
  }
  *attr = ir_attr_array(r->m, (const struct ir_attr *)(r->items.data + first), (uint32_t)(r->items.count - first));
  r->items.count = first;
  return bc_made(r, *attr);
}

static bool dictionary(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  const uint8_t *at = c->at;
  uint32_t count;
  if (!bc_count(r, c, &count, "attributes")) {
    return false;
  }
  const char *previous = NULL;
  for (uint32_t i = 0; i < count; i++) {
    struct ir_attr name, value;
    if (!bc_attr_kind(r, c, IR_ATTR_STRING, "a name", &name) || !bc_attr(r, c, &value)) {
      return false;
    }
    uint32_t id = ir_attr_get(r->m, name)->text;
    if (id == 0) {
      return bc_error(r, at, "an attribute without a name");
    }
    /* MLIR writes them sorted; in order they cost no more than their number */
    if (previous && strcmp(previous, ir_text(r->m, id)) >= 0) {
      return bc_error(r, at, "the names of a dictionary are not in order");
    }
    previous = ir_text(r->m, id);
    if (!bc_push_pair(r, id, value)) {
      return false;
    }
  }
  *attr = ir_attr_dict(r->m, r->pairs.data + first, count);
  r->pairs.count = first;
  return bc_made(r, *attr);
}

static bool string(struct bc_reader *r, struct bc_cursor *c, bool is_typed, struct ir_attr *attr) {
  const struct bc_string *text;
  struct ir_type type = {0};
  if (!bc_string(r, c, &text) || (is_typed && !bc_type(r, c, &type))) {
    return false;
  }
  *attr = ir_attr_string(r->m, text->text, text->length, type);
  return bc_made(r, *attr);
}

/* Root, and for nested ones the flat symbols below it. */
static bool symbol(struct bc_reader *r, struct bc_cursor *c, bool is_nested, struct ir_attr *attr) {
  struct ir_attr part;
  const uint8_t *at = c->at;
  if (!bc_attr_kind(r, c, IR_ATTR_STRING, "the name of a symbol", &part)) {
    return false;
  }
  uint32_t text_id = ir_attr_get(r->m, part)->text;
  if (!is_nested) {
    *attr = ir_attr_text(r->m, IR_ATTR_SYMBOL, ir_text(r->m, text_id), intern_length(&r->m->strings, text_id),
                         (struct ir_type){0});
    return bc_made(r, *attr);
  }
  struct strbuf text = {0};
  uint32_t count;
  bool ok = bc_put_attr_text(r, at, part, &text) && bc_count(r, c, &count, "symbols");
  for (uint32_t i = 0; ok && i < count; i++) {
    strbuf_puts(&text, "::@");
    ok = bc_attr_kind(r, c, IR_ATTR_SYMBOL, "a symbol", &part) && bc_put_attr_text(r, at, part, &text);
  }
  ok = ok && bc_text_attr(r, at, IR_ATTR_SYMBOL, &text, attr);
  strbuf_release(&text);
  return ok;
}

/* ---- elements ------------------------------------------------------------------------------------------------------- */

static bool dense_array(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  struct ir_type type;
  uint64_t count;
  struct bc_cursor blob;
  const uint8_t *at = c->at;
  if (!bc_type(r, c, &type) || !bc_varint(r, c, &count) || !bc_blob(r, c, &blob)) {
    return false;
  }
  struct ir_type_data data = *ir_type_get(r->m, type);
  enum dtype dtype = (enum dtype)data.dtype;
  if (data.kind != IR_TYPE_SCALAR || dtype_class_of(dtype) == DTYPE_CLASS_COMPLEX) {
    return bc_error(r, at, "an array of elements that are neither integers nor floats");
  }
  uint64_t have = (uint64_t)(blob.end - blob.at);
  if (have / ir_dense_element_size(dtype) != count || have % ir_dense_element_size(dtype) != 0 || count > UINT32_MAX) {
    return bc_error(r, at, "%llu bytes for an array of %llu elements", (unsigned long long)have,
                    (unsigned long long)count);
  }
  *attr = ir_attr_dense_array(r->m, type, blob.at, (uint32_t)count);
  return bc_made(r, *attr);
}

static bool dense(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  struct ir_type type;
  struct bc_cursor blob;
  return bc_type(r, c, &type) && bc_blob(r, c, &blob) && bc_dense(r, type, blob, attr);
}

static bool dense_strings(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  struct ir_type type;
  uint64_t is_splat;
  const uint8_t *at = c->at;
  if (!bc_type(r, c, &type) || !bc_varint(r, c, &is_splat)) {
    return false;
  }
  if (ir_type_get(r->m, type)->kind != IR_TYPE_TENSOR || ir_type_get(r->m, type)->dtype != DTYPE_NONE) {
    return bc_error(r, at, "strings of a type that is not a tensor of them");
  }
  uint64_t count = is_splat ? 1 : ir_type_element_count(r->m, type);
  size_t first = r->items.count;
  for (uint64_t i = 0; i < count; i++) {
    const struct bc_string *text;
    uint32_t id;
    if (!bc_string(r, c, &text) || !bc_intern(r, text->text, text->length, &id) || !bc_push(r, id)) {
      return false;
    }
  }
  *attr = ir_attr_dense(r->m, type, r->items.data + first, (r->items.count - first) * sizeof(uint32_t), is_splat != 0);
  r->items.count = first;
  return bc_made(r, *attr);
}

static bool resource(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  struct ir_type type;
  uint32_t index;
  if (!bc_type(r, c, &type) || !bc_index(r, c, (uint32_t)r->resources.count, "resource", &index)) {
    return false;
  }
  uint32_t name = r->resources.data[index];
  *attr = ir_attr_text(r->m, IR_ATTR_RESOURCE, ir_text(r->m, name), intern_length(&r->m->strings, name), type);
  return bc_made(r, *attr);
}

/* ---- locations -------------------------------------------------------------------------------------------------------- */

void bc_put_quoted(const char *text, size_t length, struct strbuf *out) {
  strbuf_putc(out, '"');
  for (size_t i = 0; i < length; i++) {
    unsigned char ch = (unsigned char)text[i];
    if (ch == '"' || ch == '\\' || ch < ' ' || ch >= 0x7F) {
      strbuf_printf(out, "\\%02X", ch);
    } else {
      strbuf_putc(out, (char)ch);
    }
  }
  strbuf_putc(out, '"');
}

static void put_quoted(struct bc_reader *r, uint32_t id, struct strbuf *out) {
  bc_put_quoted(ir_text(r->m, id), intern_length(&r->m->strings, id), out);
}

static bool put_name(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  struct ir_attr name;
  if (!bc_attr_kind(r, c, IR_ATTR_STRING, "a name", &name)) {
    return false;
  }
  put_quoted(r, ir_attr_get(r->m, name)->text, out);
  return true;
}

static bool put_location(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  struct ir_attr location;
  const uint8_t *at = c->at;
  return bc_attr_kind(r, c, IR_ATTR_LOCATION, "a location", &location) && bc_put_attr_text(r, at, location, out);
}

static bool is_unknown(const struct strbuf *out, size_t start) {
  return out->length - start == 7 && memcmp(out->data + start, "unknown", 7) == 0;
}

/* "name"(location) */
static bool loc_name(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  if (!put_name(r, c, out)) {
    return false;
  }
  size_t start = out->length;
  strbuf_putc(out, '(');
  if (!put_location(r, c, out)) {
    return false;
  }
  if (is_unknown(out, start + 1)) {
    out->length = start; /* as MLIR prints a name alone */
  } else {
    strbuf_putc(out, ')');
  }
  return true;
}

/* "file":line:column */
static bool loc_file(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  uint64_t line, column;
  if (!put_name(r, c, out) || !bc_varint(r, c, &line) || !bc_varint(r, c, &column)) {
    return false;
  }
  strbuf_printf(out, ":%llu:%llu", (unsigned long long)line, (unsigned long long)column);
  return true;
}

/* Numbers: none; line; line, column; line and both columns; line, column, last line, its column. */
static bool loc_range(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  uint32_t count;
  unsigned long long n[4] = {0};
  const uint8_t *at = c->at;
  if (!put_name(r, c, out) || !bc_count(r, c, &count, "numbers")) {
    return false;
  }
  if (count > 4) {
    return bc_error(r, at, "a range of %u numbers in a file", count);
  }
  for (uint32_t i = 0; i < count; i++) {
    uint64_t value;
    if (!bc_varint(r, c, &value)) {
      return false;
    }
    n[i] = value;
  }
  strbuf_printf(out, ":%llu:%llu", n[0], n[1]);
  if (count == 3) {
    strbuf_printf(out, " to :%llu", n[2]);
  } else if (count == 4) {
    strbuf_printf(out, n[0] == n[2] ? " to :" : " to %llu:", n[2]);
    strbuf_printf(out, "%llu", n[3]);
  }
  return true;
}

static bool loc_call_site(struct bc_reader *r, struct bc_cursor *c, struct strbuf *out) {
  strbuf_puts(out, "callsite(");
  if (!put_location(r, c, out)) {
    return false;
  }
  strbuf_puts(out, " at ");
  if (!put_location(r, c, out)) {
    return false;
  }
  strbuf_putc(out, ')');
  return true;
}

static bool loc_fused(struct bc_reader *r, struct bc_cursor *c, bool has_metadata, struct strbuf *out) {
  struct strbuf list = {0};
  uint32_t count;
  bool ok = bc_count(r, c, &count, "locations");
  for (uint32_t i = 0; ok && i < count; i++) {
    strbuf_puts(&list, i ? ", " : "");
    ok = put_location(r, c, &list);
  }
  strbuf_puts(out, "fused");
  if (ok && has_metadata) {
    struct ir_attr metadata;
    ok = bc_attr(r, c, &metadata);
    if (ok) {
      strbuf_putc(out, '<');
      mlir_print_attr(r->m, metadata, out);
      strbuf_putc(out, '>');
    }
  }
  strbuf_putc(out, '[');
  strbuf_add(out, strbuf_text(&list), list.length);
  strbuf_putc(out, ']');
  ok = ok && (!list.failed || bc_memory(r));
  strbuf_release(&list);
  return ok;
}

static bool location(struct bc_reader *r, struct bc_cursor *c, uint64_t code, struct ir_attr *attr) {
  struct strbuf text = {0};
  const uint8_t *at = c->at;
  bool ok = true;
  switch (code) {
  case LOC_CALL_SITE:
    ok = loc_call_site(r, c, &text);
    break;
  case LOC_FILE:
    ok = loc_file(r, c, &text);
    break;
  case LOC_FILE_RANGE:
    ok = loc_range(r, c, &text);
    break;
  case LOC_NAME:
    ok = loc_name(r, c, &text);
    break;
  case LOC_UNKNOWN:
    strbuf_puts(&text, "unknown");
    break;
  default:
    ok = loc_fused(r, c, code == LOC_FUSED_METADATA, &text);
    break;
  }
  ok = ok && bc_text_attr(r, at, IR_ATTR_LOCATION, &text, attr);
  strbuf_release(&text);
  return ok;
}

/* ---- attributes --------------------------------------------------------------------------------------------------------- */

static bool type_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  struct ir_type type;
  if (!bc_type(r, c, &type)) {
    return false;
  }
  *attr = ir_attr_type(r->m, type);
  return bc_made(r, *attr);
}

static bool number(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  struct ir_type type;
  return bc_type(r, c, &type) && bc_number(r, c, type, attr);
}

bool bc_builtin_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  uint64_t code;
  if (!bc_varint(r, c, &code)) {
    return false;
  }
  switch (code) {
  case ATTR_ARRAY:
    return array(r, c, attr);
  case ATTR_DICTIONARY:
    return dictionary(r, c, attr);
  case ATTR_STRING:
  case ATTR_STRING_TYPED:
    return string(r, c, code == ATTR_STRING_TYPED, attr);
  case ATTR_FLAT_SYMBOL:
  case ATTR_SYMBOL:
    return symbol(r, c, code == ATTR_SYMBOL, attr);
  case ATTR_TYPE:
    return type_attr(r, c, attr);
  case ATTR_UNIT:
    *attr = r->m->unit_attr;
    return true;
  case ATTR_INTEGER:
  case ATTR_FLOAT:
    return number(r, c, attr);
  case LOC_CALL_SITE:
  case LOC_FILE:
  case LOC_FUSED:
  case LOC_FUSED_METADATA:
  case LOC_NAME:
  case LOC_UNKNOWN:
  case LOC_FILE_RANGE:
    return location(r, c, code, attr);
  case ATTR_RESOURCE:
    return resource(r, c, attr);
  case ATTR_DENSE_ARRAY:
    return dense_array(r, c, attr);
  case ATTR_DENSE:
    return dense(r, c, attr);
  case ATTR_DENSE_STRING:
    return dense_strings(r, c, attr);
  default:
    return bc_unknown(r, at, "builtin attribute %llu", (unsigned long long)code);
  }
}

/* ---- types ---------------------------------------------------------------------------------------------------------------- */

/* Width and signedness: 0 none, 1 signed, 2 unsigned. The text parser has iN and uiN as types and siN as a name. */
static bool integer_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type) {
  static const char *const prefixes[] = {"i", "si", "ui", "i"};
  uint64_t code;
  if (!bc_varint(r, c, &code)) {
    return false;
  }
  struct strbuf name = {0};
  strbuf_printf(&name, "%s%llu", prefixes[code & 3], (unsigned long long)(code >> 2));
  enum dtype dtype = name.failed ? DTYPE_NONE : dtype_parse(strbuf_text(&name), name.length);
  *type = dtype != DTYPE_NONE ? ir_type_scalar(r->m, dtype)
          : name.failed       ? (struct ir_type){0}
                              : ir_type_opaque(r->m, strbuf_text(&name), name.length);
  strbuf_release(&name);
  return bc_made_type(r, *type);
}

static bool list_type(struct bc_reader *r, struct bc_cursor *c, bool is_function, struct ir_type *type) {
  size_t first = r->items.count, inputs = 0;
  if (is_function) {
    if (!bc_type_list(r, c)) {
      return false;
    }
    inputs = r->items.count - first;
  }
  if (!bc_type_list(r, c)) {
    return false;
  }
  *type = ir_type_list(r->m, is_function ? IR_TYPE_FUNCTION : IR_TYPE_TUPLE,
                       (const struct ir_type *)(r->items.data + first), (uint32_t)(r->items.count - first),
                       (uint32_t)inputs);
  r->items.count = first;
  return bc_made_type(r, *type);
}

static bool shaped_type(struct bc_reader *r, struct bc_cursor *c, bool has_encoding, struct ir_type *type) {
  const uint8_t *at = c->at;
  struct ir_attr encoding = {0};
  struct ir_type element;
  if ((has_encoding && !bc_attr(r, c, &encoding))) {
    return false;
  }
  /* the element may read other shapes into dims: read it behind a copy of the position of the shape */
  struct bc_cursor shape = *c;
  return bc_svarints(r, c) && bc_type(r, c, &element) && bc_svarints(r, &shape)
         && bc_shaped(r, at, false, element, encoding, type);
}

static bool complex_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type) {
  struct ir_type element;
  const uint8_t *at = c->at;
  if (!bc_type(r, c, &element)) {
    return false;
  }
  const struct ir_type_data *data = ir_type_get(r->m, element);
  if (data->kind != IR_TYPE_SCALAR || (data->dtype != DTYPE_F32 && data->dtype != DTYPE_F64)) {
    return bc_unknown(r, at, "a complex type of other parts than f32 and f64");
  }
  *type = ir_type_scalar(r->m, data->dtype == DTYPE_F32 ? DTYPE_C64 : DTYPE_C128);
  return true;
}

static bool unranked_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type) {
  struct ir_type element;
  if (!bc_type(r, c, &element)) {
    return false;
  }
  *type = ir_type_unranked(r->m, element);
  return bc_made_type(r, *type);
}

bool bc_builtin_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type) {
  const uint8_t *at = c->at;
  uint64_t code;
  if (!bc_varint(r, c, &code)) {
    return false;
  }
  switch (code) {
  case TYPE_INTEGER:
    return integer_type(r, c, type);
  case TYPE_INDEX:
  case TYPE_BF16:
  case TYPE_F16:
  case TYPE_F32:
  case TYPE_F64: {
    static const uint8_t dtypes[] = {[TYPE_INDEX] = DTYPE_INDEX,
                                     [TYPE_BF16] = DTYPE_BF16,
                                     [TYPE_F16] = DTYPE_F16,
                                     [TYPE_F32] = DTYPE_F32,
                                     [TYPE_F64] = DTYPE_F64};
    *type = ir_type_scalar(r->m, (enum dtype)dtypes[code]);
    return true;
  }
  case TYPE_F80:
  case TYPE_F128:
    *type = ir_type_opaque(r->m, code == TYPE_F80 ? "f80" : "f128", code == TYPE_F80 ? 3 : 4);
    return bc_made_type(r, *type);
  case TYPE_FUNCTION:
  case TYPE_TUPLE:
    return list_type(r, c, code == TYPE_FUNCTION, type);
  case TYPE_COMPLEX:
    return complex_type(r, c, type);
  case TYPE_NONE:
    *type = r->m->none_type;
    return true;
  case TYPE_TENSOR:
  case TYPE_TENSOR_ENCODING:
    return shaped_type(r, c, code == TYPE_TENSOR_ENCODING, type);
  case TYPE_UNRANKED_TENSOR:
    return unranked_type(r, c, type);
  default:
    return bc_unknown(r, at, "builtin type %llu", (unsigned long long)code);
  }
}
