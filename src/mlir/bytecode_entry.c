/* Attributes and types of bytecode by their index, decoded when first used, and what the dialects' decoders share.
 * Path: bytecode_ir.c → here → bytecode_builtin.c, bytecode_vhlo.c, bytecode_sdy.c → ir_attr_*, ir_type_*. */
#include <string.h>

#include "base/checked.h"
#include "mlir/bytecode_int.h"
#include "mlir/mlir_parse.h"

bool bc_deeper(struct bc_reader *r, const uint8_t *at) {
  if (r->depth >= r->max_depth) {
    return bc_limit(r, at, "nested deeper than the limit of %u levels", r->max_depth);
  }
  r->depth++;
  return true;
}

bool bc_weigh(struct bc_reader *r, uint64_t weight, const uint8_t *at) {
  r->weight = sat_add_u64(r->weight, weight);
  return r->weight <= r->weight_max || bc_limit(r, at, "attributes and types that are too large when written out");
}

bool bc_push(struct bc_reader *r, uint32_t item) {
  return vec_push(&r->items, item) ? true : bc_memory(r);
}

bool bc_push_pair(struct bc_reader *r, uint32_t name, struct ir_attr attr) {
  return vec_push(&r->pairs, name) && vec_push(&r->pairs, attr.id) ? true : bc_memory(r);
}

/* ---- entries -------------------------------------------------------------------------------------------------------- */

static bool other_dialect(struct bc_reader *r, const struct bc_entry *entry, const char *what) {
  return bc_unknown(r, entry->data, "%s of dialect '%.60s'", what, r->strings[r->dialects[entry->dialect].name].text);
}

/* An entry that its dialect has no encoding for: text with a terminating 0, which the text parser reads. */
static bool decode_text(struct bc_reader *r, const struct bc_entry *entry, bool is_type, uint32_t *id) {
  if (entry->size < 2 || memchr(entry->data, 0, entry->size) != entry->data + entry->size - 1) {
    return bc_error(r, entry->data, "expected the text of an attribute or type");
  }
  struct source source = {r->source.name, (const char *)entry->data, entry->size - 1};
  struct diag_list diags;
  diag_init(&diags);
  enum status status = mlir_parse_fragment(r->m, &source, is_type, r->max_depth - r->depth, &diags, id);
  const char *why = diags.entries.count ? diags.entries.data[0].message : "this is not complete";
  if (status == STATUS_LIMIT) {
    bc_report_limit(r, entry->data, "the text of %s: %s", is_type ? "a type" : "an attribute", why);
  } else if (status == STATUS_INPUT) {
    bc_report(r, entry->data, "the text of %s: %s", is_type ? "a type" : "an attribute", why);
  }
  diag_release(&diags);
  return status == STATUS_OK || (status == STATUS_MEMORY && bc_memory(r));
}

static bool decode_attr(struct bc_reader *r, const struct bc_entry *entry, struct bc_cursor *c, struct ir_attr *attr) {
  if (!entry->is_custom) {
    c->at = c->end;
    return decode_text(r, entry, false, &attr->id);
  }
  switch (r->dialects[entry->dialect].kind) {
  case BC_BUILTIN:
    return bc_builtin_attr(r, c, attr);
  case BC_VHLO:
    return bc_vhlo_attr(r, c, attr);
  case BC_SDY:
    return bc_sdy_attr(r, c, attr);
  case BC_STABLEHLO:
  case BC_CHLO:
    return bc_stablehlo_attr(r, c, (enum bc_dialect_kind)r->dialects[entry->dialect].kind, attr);
  default:
    return other_dialect(r, entry, "an attribute");
  }
}

static bool decode_type(struct bc_reader *r, const struct bc_entry *entry, struct bc_cursor *c, struct ir_type *type) {
  if (!entry->is_custom) {
    c->at = c->end;
    return decode_text(r, entry, true, &type->id);
  }
  switch (r->dialects[entry->dialect].kind) {
  case BC_BUILTIN:
    return bc_builtin_type(r, c, type);
  case BC_VHLO:
    return bc_vhlo_type(r, c, type);
  case BC_STABLEHLO:
    return bc_stablehlo_type(r, c, type);
  default:
    return other_dialect(r, entry, "a type");
  }
}

/* Decodes an entry; what it refers to is decoded within, so that a cycle comes back to an entry in state BC_READING. */
static bool decode(struct bc_reader *r, struct bc_entry *entry, bool is_attr, const uint8_t *at) {
  if (entry->state == BC_READING) {
    return bc_error(r, at, "%s that is defined by itself", is_attr ? "an attribute" : "a type");
  }
  if (!bc_deeper(r, at)) {
    return false;
  }
  uint64_t weight = r->weight;
  r->weight = 1;
  entry->state = BC_READING;
  struct bc_cursor c = {entry->data, entry->data + entry->size};
  struct ir_attr attr = {0};
  struct ir_type type = {0};
  if (!(is_attr ? decode_attr(r, entry, &c, &attr) : decode_type(r, entry, &c, &type))) {
    return false;
  }
  if (c.at != c.end) {
    return bc_error(r, c.at, "%zu bytes too many in an entry", (size_t)(c.end - c.at));
  }
  entry->id = is_attr ? attr.id : type.id;
  entry->state = BC_READ;
  entry->weight = r->weight;
  r->weight = weight;
  r->depth--;
  return true;
}

bool bc_attr_at(struct bc_reader *r, uint32_t index, const uint8_t *at, struct ir_attr *attr) {
  if (index >= r->attr_count) {
    return bc_error(r, at, "attribute %u of %u", index, r->attr_count);
  }
  struct bc_entry *entry = &r->attrs[index];
  if (entry->state != BC_READ && !decode(r, entry, true, at)) {
    return false;
  }
  attr->id = entry->id;
  return bc_weigh(r, entry->weight, at);
}

bool bc_type_at(struct bc_reader *r, uint32_t index, const uint8_t *at, struct ir_type *type) {
  if (index >= r->type_count) {
    return bc_error(r, at, "type %u of %u", index, r->type_count);
  }
  struct bc_entry *entry = &r->types[index];
  if (entry->state != BC_READ && !decode(r, entry, false, at)) {
    return false;
  }
  type->id = entry->id;
  return bc_weigh(r, entry->weight, at);
}

bool bc_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  uint32_t index;
  return bc_index(r, c, r->attr_count, "attribute", &index) && bc_attr_at(r, index, at, attr);
}

bool bc_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type) {
  const uint8_t *at = c->at;
  uint32_t index;
  return bc_index(r, c, r->type_count, "type", &index) && bc_type_at(r, index, at, type);
}

bool bc_attr_kind(struct bc_reader *r, struct bc_cursor *c, enum ir_attr_kind kind, const char *what,
                  struct ir_attr *attr) {
  const uint8_t *at = c->at;
  if (!bc_attr(r, c, attr)) {
    return false;
  }
  return ir_attr_get(r->m, *attr)->kind == kind || bc_error(r, at, "expected %s, found another attribute", what);
}

bool bc_optional_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  uint64_t index;
  attr->id = 0;
  if (!bc_varint(r, c, &index)) {
    return false;
  }
  if ((index & 1) == 0) {
    return true;
  }
  if (index >> 1 >= r->attr_count) {
    return bc_error(r, at, "attribute %llu of %u", (unsigned long long)(index >> 1), r->attr_count);
  }
  return bc_attr_at(r, (uint32_t)(index >> 1), at, attr);
}

/* ---- lists ---------------------------------------------------------------------------------------------------------- */

bool bc_attr_list(struct bc_reader *r, struct bc_cursor *c) {
  uint32_t count;
  if (!bc_count(r, c, &count, "attributes")) {
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    struct ir_attr attr;
    if (!bc_attr(r, c, &attr) || !bc_push(r, attr.id)) {
      return false;
    }
  }
  return true;
}

bool bc_type_list(struct bc_reader *r, struct bc_cursor *c) {
  uint32_t count;
  if (!bc_count(r, c, &count, "types")) {
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    struct ir_type type;
    if (!bc_type(r, c, &type) || !bc_push(r, type.id)) {
      return false;
    }
  }
  return true;
}

bool bc_svarints(struct bc_reader *r, struct bc_cursor *c) {
  uint32_t count;
  r->dims.count = 0;
  if (!bc_count(r, c, &count, "numbers")) {
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    int64_t value;
    if (!bc_svarint(r, c, &value)) {
      return false;
    }
    if (!vec_push(&r->dims, value)) {
      return bc_memory(r);
    }
  }
  return true;
}

/* ---- numbers -------------------------------------------------------------------------------------------------------- */

static int64_t extend(uint64_t bits, unsigned width, bool is_signed) {
  if (width >= 64) {
    return (int64_t)bits;
  }
  unsigned shift = 64 - width;
  return is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)(bits << shift >> shift);
}

/* Up to 8 bits are one byte, up to 64 a signed varint of the bits. */
bool bc_bits(struct bc_reader *r, struct bc_cursor *c, unsigned bits, bool is_signed, int64_t *value) {
  uint8_t byte = 0;
  if (bits > 8) {
    if (!bc_svarint(r, c, value)) {
      return false;
    }
  } else if (!bc_byte(r, c, &byte)) {
    return false;
  } else {
    *value = byte;
  }
  *value = extend((uint64_t)*value, bits, is_signed);
  return true;
}

bool bc_number(struct bc_reader *r, struct bc_cursor *c, struct ir_type type, struct ir_attr *attr) {
  struct ir_type_data data = *ir_type_get(r->m, type);
  enum dtype dtype = (enum dtype)data.dtype;
  if (data.kind != IR_TYPE_SCALAR || dtype_class_of(dtype) == DTYPE_CLASS_COMPLEX) {
    return bc_error(r, c->at, "a number of a type that is neither an integer nor a float");
  }
  int64_t value;
  bool is_float = dtype_is_floating(dtype);
  if (!bc_bits(r, c, dtype_bits(dtype), !is_float && dtype_class_of(dtype) != DTYPE_CLASS_UINT, &value)) {
    return false;
  }
  *attr = is_float            ? ir_attr_float(r->m, (uint64_t)value, type)
          : dtype == DTYPE_I1 ? ir_attr_bool(r->m, value != 0)
                              : ir_attr_integer(r->m, value, type);
  return bc_made(r, *attr);
}

bool bc_array_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->items.count;
  if (!bc_attr_list(r, c)) {
    return false;
  }
  *attr = ir_attr_array(r->m, (const struct ir_attr *)(r->items.data + first), (uint32_t)(r->items.count - first));
  r->items.count = first;
  return bc_made(r, *attr);
}

bool bc_type_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  struct ir_type type;
  if (!bc_type(r, c, &type)) {
    return false;
  }
  *attr = ir_attr_type(r->m, type);
  return bc_made(r, *attr);
}

bool bc_number_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  struct ir_type type;
  return bc_type(r, c, &type) && bc_number(r, c, type, attr);
}

/* ---- elements ------------------------------------------------------------------------------------------------------- */

/* Truth values: one bit each, the lowest first; or one byte each; or 0xFF or 0 for all. */
static bool unpack_bits(struct bc_reader *r, uint64_t count, struct bc_cursor *blob) {
  size_t size = (size_t)(blob->end - blob->at);
  bool is_splat = size == 1 && count > 1 && (*blob->at == 0xFF || *blob->at == 0);
  bool is_packed = !is_splat && size == count / 8 + (count % 8 != 0) && size != count;
  size_t n = is_packed ? (size_t)count : size;
  if (!vec_reserve(&r->bytes, n + 1)) {
    return bc_memory(r);
  }
  for (size_t i = 0; i < n; i++) {
    r->bytes.data[i] = (uint8_t)(is_packed ? blob->at[i / 8] >> (i % 8) & 1 : blob->at[i] != 0);
  }
  *blob = (struct bc_cursor){r->bytes.data, r->bytes.data + n};
  return true;
}

/* Elements of less than 8 bits: signed ones sign-extended in their byte, others without stray bits, as the text parser
 * holds them. */
static bool clean_bytes(struct bc_reader *r, enum dtype dtype, struct bc_cursor *blob) {
  size_t n = (size_t)(blob->end - blob->at);
  if (!vec_reserve(&r->bytes, n + 1)) {
    return bc_memory(r);
  }
  bool is_signed = dtype_class_of(dtype) == DTYPE_CLASS_SINT;
  for (size_t i = 0; i < n; i++) {
    r->bytes.data[i] = (uint8_t)extend(blob->at[i], dtype_bits(dtype), is_signed);
  }
  *blob = (struct bc_cursor){r->bytes.data, r->bytes.data + n};
  return true;
}

bool bc_dense(struct bc_reader *r, struct ir_type type, struct bc_cursor blob, struct ir_attr *attr) {
  const uint8_t *at = blob.at;
  struct ir_type_data data = *ir_type_get(r->m, type);
  enum dtype dtype = (enum dtype)data.dtype;
  if (data.kind != IR_TYPE_TENSOR || dtype == DTYPE_NONE || !ir_type_is_static(r->m, type)) {
    return bc_error(r, at, "elements of a type that is not a tensor of known size");
  }
  uint64_t count = ir_type_element_count(r->m, type), size = ir_dense_element_size(dtype);
  if (dtype == DTYPE_I1 && !unpack_bits(r, count, &blob)) {
    return false;
  }
  if (dtype != DTYPE_I1 && dtype_bits(dtype) < 8 && !clean_bytes(r, dtype, &blob)) {
    return false;
  }
  uint64_t have = (uint64_t)(blob.end - blob.at);
  bool is_splat = have == size && count != 1;
  if (!is_splat && (have % size != 0 || have / size != count)) {
    return bc_error(r, at, "%llu bytes for %llu elements of %s", (unsigned long long)have, (unsigned long long)count,
                    dtype_name(dtype));
  }
  *attr = ir_attr_dense(r->m, type, blob.at, count == 0 ? 0 : have, is_splat && count != 0);
  return bc_made(r, *attr);
}

/* ---- types and texts -------------------------------------------------------------------------------------------------- */

bool bc_shaped(struct bc_reader *r, const uint8_t *at, bool is_memref, struct ir_type element, struct ir_attr encoding,
               struct ir_type *type) {
  uint8_t kind = ir_type_get(r->m, element)->kind;
  if (kind == IR_TYPE_NONE || kind == IR_TYPE_TENSOR || kind == IR_TYPE_UNRANKED || kind == IR_TYPE_FUNCTION) {
    return bc_error(r, at, "a tensor cannot have elements of this type");
  }
  if (r->dims.count > UINT16_MAX) {
    return bc_limit(r, at, "a type has more than 65535 dimensions");
  }
  for (size_t i = 0; i < r->dims.count; i++) {
    if (r->dims.data[i] < 0 && r->dims.data[i] != IR_DYNAMIC) {
      return bc_error(r, at, "a dimension of %lld", (long long)r->dims.data[i]);
    }
  }
  uint32_t rank = (uint32_t)r->dims.count;
  uint32_t bounds = ir_attr_bounds(r->m, encoding, NULL, 0);
  if (bounds != 0 && bounds != rank) {
    return bc_error(r, at, "a type of %u dimensions with %u bounds", rank, bounds);
  }
  *type = is_memref ? ir_type_memref(r->m, element, r->dims.data, rank, encoding)
                    : ir_type_tensor(r->m, element, r->dims.data, rank, encoding);
  return bc_made_type(r, *type);
}

bool bc_put_attr_text(struct bc_reader *r, const uint8_t *at, struct ir_attr attr, struct strbuf *out) {
  const struct ir_attr_data *data = ir_attr_get(r->m, attr);
  size_t length = intern_length(&r->m->strings, data->text);
  if (out->length + length > r->text_left) {
    return bc_limit(r, at, "attributes that are too long when written out");
  }
  strbuf_add(out, ir_text(r->m, data->text), length);
  return true;
}

bool bc_text_attr(struct bc_reader *r, const uint8_t *at, enum ir_attr_kind kind, const struct strbuf *text,
                  struct ir_attr *attr) {
  if (text->failed) {
    return bc_memory(r);
  }
  if (text->length > r->text_left) {
    return bc_limit(r, at, "attributes that are too long when written out");
  }
  r->text_left -= text->length;
  *attr = ir_attr_text(r->m, kind, strbuf_text(text), text->length, (struct ir_type){0});
  return bc_made(r, *attr);
}
