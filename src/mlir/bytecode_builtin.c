/* Attributes, locations and types of the builtin dialect in bytecode. Path: bytecode_entry.c → here.
 * Codes and fields: BuiltinDialectBytecode.td. Fields that are names are attributes of their own, given by index. */
#include <string.h>

#include "mlir/bytecode_int.h"

/* Codes from 21 on are those of LLVM 22 and later; before, these types were text. */
static const uint8_t scalars[] = {[BUILTIN_T_INDEX] = DTYPE_INDEX,
                                  [BUILTIN_T_BF16] = DTYPE_BF16,
                                  [BUILTIN_T_F16] = DTYPE_F16,
                                  [BUILTIN_T_F32] = DTYPE_F32,
                                  [BUILTIN_T_F64] = DTYPE_F64,
                                  [21] = DTYPE_TF32,
                                  [22] = DTYPE_F8E5M2,
                                  [23] = DTYPE_F8E4M3,
                                  [24] = DTYPE_F8E4M3FN,
                                  [25] = DTYPE_F8E5M2FNUZ,
                                  [26] = DTYPE_F8E4M3FNUZ,
                                  [27] = DTYPE_F8E4M3B11FNUZ,
                                  [28] = DTYPE_F8E3M4,
                                  [29] = DTYPE_F4E2M1FN,
                                  [30] = DTYPE_F6E2M3FN,
                                  [31] = DTYPE_F6E3M2FN,
                                  [32] = DTYPE_F8E8M0FNU};

/* ---- collections ---------------------------------------------------------------------------------------------------- */

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
  case BUILTIN_LOC_CALL_SITE:
    ok = loc_call_site(r, c, &text);
    break;
  case BUILTIN_LOC_FILE:
    ok = loc_file(r, c, &text);
    break;
  case BUILTIN_LOC_FILE_RANGE:
    ok = loc_range(r, c, &text);
    break;
  case BUILTIN_LOC_NAME:
    ok = loc_name(r, c, &text);
    break;
  case BUILTIN_LOC_UNKNOWN:
    strbuf_puts(&text, "unknown");
    break;
  default:
    ok = loc_fused(r, c, code == BUILTIN_LOC_FUSED_METADATA, &text);
    break;
  }
  ok = ok && bc_text_attr(r, at, IR_ATTR_LOCATION, &text, attr);
  strbuf_release(&text);
  return ok;
}

/* ---- attributes --------------------------------------------------------------------------------------------------------- */

bool bc_builtin_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  uint64_t code;
  if (!bc_varint(r, c, &code)) {
    return false;
  }
  switch (code) {
  case BUILTIN_ARRAY:
    return bc_array_attr(r, c, attr);
  case BUILTIN_DICTIONARY:
    return dictionary(r, c, attr);
  case BUILTIN_STRING:
  case BUILTIN_STRING_TYPED:
    return string(r, c, code == BUILTIN_STRING_TYPED, attr);
  case BUILTIN_FLAT_SYMBOL:
  case BUILTIN_SYMBOL:
    return symbol(r, c, code == BUILTIN_SYMBOL, attr);
  case BUILTIN_TYPE:
    return bc_type_attr(r, c, attr);
  case BUILTIN_UNIT:
    *attr = r->m->unit_attr;
    return true;
  case BUILTIN_INTEGER:
  case BUILTIN_FLOAT:
    return bc_number_attr(r, c, attr);
  case BUILTIN_LOC_CALL_SITE:
  case BUILTIN_LOC_FILE:
  case BUILTIN_LOC_FUSED:
  case BUILTIN_LOC_FUSED_METADATA:
  case BUILTIN_LOC_NAME:
  case BUILTIN_LOC_UNKNOWN:
  case BUILTIN_LOC_FILE_RANGE:
    return location(r, c, code, attr);
  case BUILTIN_RESOURCE:
    return resource(r, c, attr);
  case BUILTIN_DENSE_ARRAY:
    return dense_array(r, c, attr);
  case BUILTIN_DENSE:
    return dense(r, c, attr);
  case BUILTIN_DENSE_STRING:
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

/* affine_map<(d0, d1) -> (d0, d1)>, the layout of a memref that has none */
static bool is_identity(struct bc_reader *r, struct ir_attr layout, size_t rank) {
  const struct ir_attr_data *data = ir_attr_get(r->m, layout);
  struct strbuf dims = {0}, text = {0};
  for (size_t i = 0; i < rank; i++) {
    strbuf_printf(&dims, "%sd%zu", i ? ", " : "", i);
  }
  strbuf_printf(&text, "affine_map<(%s) -> (%s)>", strbuf_text(&dims), strbuf_text(&dims));
  bool is_same = !dims.failed && !text.failed && data->kind == IR_ATTR_OPAQUE
                 && strcmp(ir_text(r->m, data->text), strbuf_text(&text)) == 0;
  strbuf_release(&dims);
  strbuf_release(&text);
  return is_same;
}

static bool memref_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type) {
  const uint8_t *at = c->at;
  struct ir_type element;
  struct ir_attr layout;
  struct bc_cursor shape = *c;
  if (!bc_svarints(r, c) || !bc_type(r, c, &element) || !bc_attr(r, c, &layout) || !bc_svarints(r, &shape)) {
    return false;
  }
  if (r->dims.count > UINT16_MAX || !is_identity(r, layout, r->dims.count)) {
    return bc_unknown(r, at, "a memref with a layout");
  }
  return bc_shaped(r, at, true, element, (struct ir_attr){0}, type);
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

bool bc_unranked_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type) {
  struct ir_type element;
  const uint8_t *at = c->at;
  if (!bc_type(r, c, &element)) {
    return false;
  }
  uint8_t kind = ir_type_get(r->m, element)->kind;
  if (kind != IR_TYPE_SCALAR && kind != IR_TYPE_QUANTIZED) {
    return bc_error(r, at, "a tensor cannot have elements of this type");
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
  if (code < sizeof scalars && scalars[code] != DTYPE_NONE) {
    *type = ir_type_scalar(r->m, (enum dtype)scalars[code]);
    return true;
  }
  switch (code) {
  case BUILTIN_T_INTEGER:
    return integer_type(r, c, type);
  case BUILTIN_T_F80:
  case BUILTIN_T_F128:
    *type = ir_type_opaque(r->m, code == BUILTIN_T_F80 ? "f80" : "f128", code == BUILTIN_T_F80 ? 3 : 4);
    return bc_made_type(r, *type);
  case BUILTIN_T_FUNCTION:
  case BUILTIN_T_TUPLE:
    return list_type(r, c, code == BUILTIN_T_FUNCTION, type);
  case BUILTIN_T_COMPLEX:
    return complex_type(r, c, type);
  case BUILTIN_T_NONE:
    *type = r->m->none_type;
    return true;
  case BUILTIN_T_TENSOR:
  case BUILTIN_T_TENSOR_ENCODING:
    return shaped_type(r, c, code == BUILTIN_T_TENSOR_ENCODING, type);
  case BUILTIN_T_MEMREF:
    return memref_type(r, c, type);
  case BUILTIN_T_UNRANKED_TENSOR:
    return bc_unranked_type(r, c, type);
  default:
    return bc_unknown(r, at, "builtin type %llu", (unsigned long long)code);
  }
}
