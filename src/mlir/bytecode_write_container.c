/* The container of bytecode that is written: numbers, sections, tables. Path: mlir_bytecode_write → here, when all entries
 * have their numbers. Source: mlir/docs/BytecodeFormat.md. */
#include "mlir/bytecode_write_int.h"

/* ---- numbers -------------------------------------------------------------------------------------------------------- */

/* The zero bits below the lowest one of the first byte say how many bytes follow; none set: eight follow. */
static size_t encode_varint(uint64_t value, uint8_t bytes[9]) {
  unsigned bits = value ? 64 - (unsigned)__builtin_clzll(value) : 1;
  size_t size = (bits + 6) / 7;
  if (size > 8) {
    size = 9;
    bytes[0] = 0;
  }
  uint64_t word = size == 9 ? value : (value << 1 | 1) << (size - 1);
  for (size_t i = size == 9; i < size; i++, word >>= 8) {
    bytes[i] = (uint8_t)word;
  }
  return size;
}

void bw_put_varint(struct strbuf *out, uint64_t value) {
  uint8_t bytes[9];
  if (value < 0x80) {
    strbuf_putc(out, (char)(value << 1 | 1));
    return;
  }
  size_t size = encode_varint(value, bytes);
  strbuf_add(out, (const char *)bytes, size);
}

static void put_svarint(struct strbuf *out, int64_t value) {
  bw_put_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* ---- sections ------------------------------------------------------------------------------------------------------- */

size_t bw_section_begin(struct strbuf *out, enum bc_section id) {
  strbuf_putc(out, (char)id);
  return out->length;
}

/* The length is put in front of the body, which moves. */
void bw_section_end(struct strbuf *out, size_t begin) {
  uint8_t bytes[9];
  if (out->failed) {
    return;
  }
  size_t length = out->length - begin, size = encode_varint(length, bytes);
  strbuf_add(out, (const char *)bytes, size);
  if (!out->failed) {
    memmove(out->data + begin + size, out->data + begin, length);
    memcpy(out->data + begin, bytes, size);
  }
}

/* ---- entries -------------------------------------------------------------------------------------------------------- */

/* Number of a string, given when it is first written. */
static uint32_t string_number(struct bw_writer *w, uint32_t id) {
  size_t known = w->string_numbers.count;
  if (id >= known) {
    if (!vec_reserve(&w->string_numbers, (size_t)id + 1)) {
      w->out_of_memory = true;
      return 0;
    }
    memset(w->string_numbers.data + known, 0, (id + 1 - known) * sizeof(uint32_t));
    w->string_numbers.count = (size_t)id + 1;
  }
  if (w->string_numbers.data[id] == 0) {
    w->out_of_memory |= !vec_push(&w->string_order, id);
    w->string_numbers.data[id] = (uint32_t)w->string_order.count;
  }
  return w->string_numbers.data[id] - 1;
}

static uint32_t text_number(struct bw_writer *w, const char *text) {
  uint32_t id = intern_add_cstr(&w->strings, text);
  if (id == UINT32_MAX) {
    w->out_of_memory = true;
    return 0;
  }
  return string_number(w, id);
}

static void put_token(struct bw_writer *w, const struct bw_token *token, struct strbuf *out) {
  uint64_t value = token->value;
  switch ((enum bw_token_kind)token->kind) {
  case BW_VARINT:
    bw_put_varint(out, value);
    break;
  case BW_SVARINT:
    put_svarint(out, (int64_t)value);
    break;
  case BW_BYTE:
    strbuf_putc(out, (char)value);
    break;
  case BW_REF:
    bw_put_varint(out, w->entries.data[value].number);
    break;
  case BW_FLAGGED_REF:
    bw_put_varint(out, (uint64_t)w->entries.data[value].number << 1 | 1);
    break;
  case BW_STRING:
    bw_put_varint(out, string_number(w, (uint32_t)value));
    break;
  case BW_BLOB:
  case BW_TEXT:
    if (token->kind == BW_BLOB) {
      bw_put_varint(out, w->blobs.data[value].size);
    }
    strbuf_add(out, w->blobs.data[value].data, (size_t)w->blobs.data[value].size);
    if (token->kind == BW_TEXT) {
      strbuf_putc(out, 0);
    }
    break;
  }
}

static void put_entry(struct bw_writer *w, uint32_t id, struct strbuf *out) {
  const struct bw_entry *entry = &w->entries.data[id];
  for (uint32_t i = 0; i < entry->count; i++) {
    put_token(w, &w->tokens.data[entry->first + i], out);
  }
}

/* Appends the entries of a kind to `out` and their sizes, in groups of one dialect, to `offsets`. */
static void put_entries(struct bw_writer *w, enum bw_kind kind, struct strbuf *offsets, struct strbuf *out) {
  size_t count = w->order[kind].count;
  const uint32_t *order = w->order[kind].data;
  for (size_t i = 0, end; i < count; i = end) {
    uint8_t dialect = w->entries.data[order[i]].dialect;
    for (end = i; end < count && w->entries.data[order[end]].dialect == dialect;) {
      end++;
    }
    bw_put_varint(offsets, w->dialect_numbers[dialect] - 1);
    bw_put_varint(offsets, end - i);
    for (size_t k = i; k < end; k++) {
      size_t begin = out->length;
      put_entry(w, order[k], out);
      bw_put_varint(offsets, (uint64_t)(out->length - begin) << 1 | !w->entries.data[order[k]].is_text);
    }
  }
}

static void put_attributes_and_types(struct bw_writer *w, struct strbuf *out) {
  struct strbuf data = {0};
  size_t begin = bw_section_begin(out, BC_ENTRY_OFFSETS);
  bw_put_varint(out, w->order[BW_ATTRIBUTE].count);
  bw_put_varint(out, w->order[BW_TYPE].count);
  put_entries(w, BW_ATTRIBUTE, out, &data);
  put_entries(w, BW_TYPE, out, &data);
  bw_section_end(out, begin);
  strbuf_putc(out, BC_ENTRIES);
  bw_put_varint(out, data.length);
  strbuf_add(out, strbuf_text(&data), data.length);
  out->failed |= data.failed;
  strbuf_release(&data);
}

static void put_properties(struct bw_writer *w, struct strbuf *out) {
  struct strbuf blob = {0};
  size_t begin = bw_section_begin(out, BC_PROPERTIES);
  bw_put_varint(out, w->order[BW_PROPERTIES].count);
  for (size_t i = 0; i < w->order[BW_PROPERTIES].count; i++) {
    strbuf_clear(&blob);
    put_entry(w, w->order[BW_PROPERTIES].data[i], &blob);
    out->failed |= blob.failed;
    bw_put_varint(out, blob.length);
    strbuf_add(out, strbuf_text(&blob), blob.length);
  }
  strbuf_release(&blob);
  bw_section_end(out, begin);
}

/* ---- dialects and strings ------------------------------------------------------------------------------------------- */

static void put_dialects(struct bw_writer *w, struct strbuf *out) {
  static const char *const names[BW_DIALECT_COUNT] = {"builtin", "vhlo", "sdy", "stablehlo"};
  size_t begin = bw_section_begin(out, BC_DIALECTS), count = w->name_order.count;
  bool is_plain = w->container < BC_VERSION_DIALECT_VERSIONS;
  uint32_t dialects = 0;
  for (int dialect = 0; dialect < BW_DIALECT_COUNT; dialect++) {
    dialects += w->dialect_numbers[dialect] != 0;
  }
  bw_put_varint(out, dialects);
  for (int dialect = 0; dialect < BW_DIALECT_COUNT; dialect++) {
    if (w->dialect_numbers[dialect]) {
      uint64_t number = text_number(w, names[dialect]);
      bw_put_varint(out, is_plain ? number : number << 1); /* bit 0: a version follows */
    }
  }
  if (w->container >= BC_VERSION_KNOWN_LOCATIONS) {
    bw_put_varint(out, count);
  }
  for (size_t i = 0, end; i < count; i = end) {
    uint8_t dialect = w->names.data[w->name_order.data[i]].dialect;
    for (end = i; end < count && w->names.data[w->name_order.data[end]].dialect == dialect;) {
      end++;
    }
    bw_put_varint(out, w->dialect_numbers[dialect] - 1);
    bw_put_varint(out, end - i);
    for (size_t k = i; k < end; k++) {
      uint64_t number = text_number(w, w->names.data[w->name_order.data[k]].text);
      /* bit 0: the operation is registered, so that its properties are encoded by itself */
      bw_put_varint(out, w->container < BC_VERSION_PROPERTIES ? number : number << 1 | 1);
    }
  }
  bw_section_end(out, begin);
}

/* Lengths of the strings with their 0, the last one first, then the strings. */
static void put_strings(struct bw_writer *w, struct strbuf *out) {
  size_t begin = bw_section_begin(out, BC_STRINGS), count = w->string_order.count;
  bw_put_varint(out, count);
  for (size_t i = count; i-- > 0;) {
    bw_put_varint(out, (uint64_t)intern_length(&w->strings, w->string_order.data[i]) + 1);
  }
  for (size_t i = 0; i < count; i++) {
    uint32_t id = w->string_order.data[i];
    strbuf_add(out, intern_text(&w->strings, id), intern_length(&w->strings, id));
    strbuf_putc(out, 0);
  }
  bw_section_end(out, begin);
}

/* ---- resources ------------------------------------------------------------------------------------------------------ */

static unsigned hex(char c) {
  return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* The text of a resource: "0x, alignment in four little-endian bytes, data, and a quote. NULL when it is another one. */
static const char *resource_digits(const struct bw_writer *w, uint32_t name, size_t *length) {
  uint32_t attr = 0;
  (void)map_get(&w->resource_attrs, name, &attr); /* it is there: resource() */
  const struct ir_attr_data *data = ir_attr_get(w->m, (struct ir_attr){attr});
  const char *text = ir_text(w->m, data->text);
  size_t size = intern_length(&w->m->strings, data->text);
  bool is_blob = size >= 12 && size % 2 == 0 && memcmp(text, "\"0x", 3) == 0
                 && strspn(text + 3, "0123456789abcdefABCDEF") == size - 4;
  *length = is_blob ? size - 4 : 0;
  return is_blob ? text + 3 : NULL;
}

static uint32_t alignment_of(const char *digits) {
  uint32_t alignment = 0;
  for (unsigned i = 0; i < 4; i++) {
    alignment |= (hex(digits[2 * i]) << 4 | hex(digits[2 * i + 1])) << (8 * i);
  }
  return alignment && (alignment & (alignment - 1)) == 0 ? alignment : 1;
}

static void pad(struct strbuf *out, size_t base, uint32_t alignment) {
  while (((out->length - base) & (alignment - 1)) != 0 && !out->failed) {
    strbuf_putc(out, (char)BC_PADDING);
  }
}

/* One blob: alignment, size, padding, bytes. Its size in the section is returned; `base`: where the section begins. */
static size_t put_blob(const char *digits, size_t length, size_t base, struct strbuf *out) {
  size_t begin = out->length;
  uint32_t alignment = alignment_of(digits);
  bw_put_varint(out, alignment);
  bw_put_varint(out, length / 2 - 4);
  pad(out, base, alignment);
  for (size_t i = 8; i < length; i += 2) {
    strbuf_putc(out, (char)(hex(digits[i]) << 4 | hex(digits[i + 1])));
  }
  return out->length - begin;
}

/* Resources of the builtin dialect, in the order of their handles; those of tools (external ones) are none. */
static void put_resources(struct bw_writer *w, size_t start, struct strbuf *out) {
  struct strbuf data = {0};
  uint32_t largest = 1;
  size_t begin = bw_section_begin(out, BC_RESOURCE_OFFSETS);
  bw_put_varint(out, 0);
  if (w->resources.count) {
    bw_put_varint(out, w->dialect_numbers[BW_BUILTIN] - 1);
    bw_put_varint(out, w->resources.count);
  }
  for (size_t i = 0; i < w->resources.count; i++) {
    size_t length = 0;
    uint32_t name = w->resources.data[i];
    const char *digits = resource_digits(w, name, &length);
    uint32_t alignment = digits ? alignment_of(digits) : 1;
    largest = alignment > largest ? alignment : largest;
    bw_put_varint(out, text_number(w, ir_text(w->m, name)));
    bw_put_varint(out, digits ? put_blob(digits, length, 0, &data) : 0);
    strbuf_putc(out, BC_RESOURCE_BLOB);
  }
  bw_section_end(out, begin);
  strbuf_putc(out, (char)(largest > 1 ? BC_RESOURCES | BC_SECTION_ALIGNED : BC_RESOURCES));
  bw_put_varint(out, data.length);
  if (largest > 1) {
    bw_put_varint(out, largest);
    pad(out, start, largest);
  }
  strbuf_add(out, strbuf_text(&data), data.length);
  out->failed |= data.failed;
  strbuf_release(&data);
}

/* ---- the whole ------------------------------------------------------------------------------------------------------ */

void bw_container_write(struct bw_writer *w, struct strbuf *out) {
  size_t start = out->length;
  strbuf_add(out, "ML\xEFR", 4);
  bw_put_varint(out, w->container);
  strbuf_printf(out, "StableHLO_v%u.%u.%u", w->version[0], w->version[1], w->version[2]);
  strbuf_putc(out, 0);
  put_dialects(w, out);
  put_attributes_and_types(w, out);
  size_t begin = bw_section_begin(out, BC_IR);
  bw_ir_write(w, out);
  bw_section_end(out, begin);
  put_resources(w, start, out);
  struct strbuf properties = {0};
  if (w->container >= BC_VERSION_PROPERTIES) { /* they stand last, but give strings their numbers */
    put_properties(w, &properties);
  }
  put_strings(w, out);
  strbuf_add(out, strbuf_text(&properties), properties.length);
  out->failed |= properties.failed;
  strbuf_release(&properties);
}
