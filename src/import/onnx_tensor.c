/* TensorProto → known values and DENSE attributes. Data of large initializers is copied once, into the module, when an
 * operation uses it. Data in other files is read through import_options.read_external, or stays a reference. */
#include <string.h>

#include "import/onnx_build.h"
#include "import/onnx_fold.h"

static const struct {
  int number;
  const char *name;
  enum dtype dtype;
} data_types[] = {
#define ONNX_TYPE(number, name, dtype) {number, name, DTYPE_##dtype},
#include "import/onnx_types.def"
#undef ONNX_TYPE
};

enum dtype onnx_dtype_of(struct onnx_builder *b, int64_t data_type) {
  for (size_t i = 0; i < sizeof data_types / sizeof data_types[0]; i++) {
    if (data_types[i].number == data_type) {
      return data_types[i].dtype;
    }
  }
  onnx_fail(b, DIAG_E0104_TYPE, "elements of data type %lld%s cannot be expressed", (long long)data_type,
            data_type == 8 ? " (STRING)" : "");
  return DTYPE_NONE;
}

static bool is_external(const struct onnx_tensor *t) {
  return t->location == 1;
}

/* ---- data in the file itself ---- */

/* Packed elements of less than a byte, the first in the lowest bits, one byte each. */
static void unpack(const uint8_t *packed, enum dtype dtype, int64_t count, uint8_t *to) {
  unsigned bits = dtype_bits(dtype), per_byte = 8 / bits, mask = (1u << bits) - 1;
  for (uint64_t i = 0; i < (uint64_t)count; i++) {
    unsigned byte = packed[i / per_byte], shift = bits * (unsigned)(i % per_byte);
    to[i] = (uint8_t)(byte >> shift & mask);
  }
}

/* Bytes of `count` elements as ONNX stores them. */
static uint64_t stored_size(enum dtype dtype, int64_t count) {
  unsigned bits = dtype == DTYPE_I1 ? 8 : dtype_bits(dtype);
  return bits < 8 ? ((uint64_t)count * bits + 7) / 8 : (uint64_t)count * (bits / 8);
}

static bool fill_from_bytes(struct onnx_builder *b, const void *bytes, uint64_t length, enum dtype dtype, int64_t count,
                            uint8_t *to) {
  if (!onnx_check(b, length == stored_size(dtype, count),
                  "a tensor of %lld elements has %llu bytes of data instead of %llu", (long long)count,
                  (unsigned long long)length, (unsigned long long)stored_size(dtype, count))) {
    return false;
  }
  const uint8_t *from = bytes;
  if (dtype == DTYPE_I1) {
    for (int64_t i = 0; i < count; i++) {
      to[i] = from[i] != 0;
    }
  } else if (dtype_bits(dtype) < 8) {
    unpack(from, dtype, count, to);
  } else if (length > 0) {
    memcpy(to, from, length);
  }
  return true;
}

/* Numbers of a typed list, each cut to the element's width. */
static bool fill_from_ints(struct onnx_builder *b, const int64_t *values, size_t length, enum dtype dtype,
                           int64_t count, uint8_t *to) {
  unsigned bits = dtype == DTYPE_I1 ? 8 : dtype_bits(dtype);
  size_t size = ir_dense_element_size(dtype);
  uint64_t needed = bits < 8 ? stored_size(dtype, count) : (uint64_t)count;
  if (!onnx_check(b, length == needed, "a tensor of %lld elements lists %zu numbers", (long long)count, length)) {
    return false;
  }
  for (int64_t i = 0; i < count; i++) {
    uint64_t number = (uint64_t)values[bits < 8 ? (uint64_t)i / (8 / bits) : (uint64_t)i];
    if (bits < 8) {
      number = number >> (bits * (unsigned)((uint64_t)i % (8 / bits))) & ((1u << bits) - 1);
    }
    number = dtype == DTYPE_I1 ? number != 0 : number;
    memcpy(to + (size_t)i * size, &number, size);
  }
  return true;
}

/* Which list holds elements of a type: see the comments of TensorProto. */
static bool fill(struct onnx_builder *b, const struct onnx_tensor *t, enum dtype dtype, int64_t count, uint8_t *to) {
  if (ONNX_HAS(t, ONNX_TENSOR_RAW_DATA)) {
    return fill_from_bytes(b, t->raw_data.text, t->raw_data.length, dtype, count, to);
  }
  switch ((int)dtype) {
  case DTYPE_F32:
  case DTYPE_C64:
    return fill_from_bytes(b, t->float_data.items, sizeof(float) * t->float_data.count, dtype, count, to);
  case DTYPE_F64:
  case DTYPE_C128:
    return fill_from_bytes(b, t->double_data.items, sizeof(double) * t->double_data.count, dtype, count, to);
  case DTYPE_I64:
    return fill_from_ints(b, t->int64_data.items, t->int64_data.count, dtype, count, to);
  case DTYPE_UI32:
  case DTYPE_UI64:
    return fill_from_ints(b, t->uint64_data.items, t->uint64_data.count, dtype, count, to);
  default:
    return fill_from_ints(b, t->int32_data.items, t->int32_data.count, dtype, count, to);
  }
}

/* ---- data in another file ---- */

enum { EXTERNAL_MAX_GIB = 256 };
#define EXTERNAL_MAX ((uint64_t)EXTERNAL_MAX_GIB << 30) /* bytes of one tensor */

struct external {
  char *location;
  uint64_t offset, length;
};

static bool read_number(struct onnx_span text, uint64_t *value) {
  *value = 0;
  for (size_t i = 0; i < text.length; i++) {
    if (text.text[i] < '0' || text.text[i] > '9' || *value > (UINT64_MAX - 9) / 10) {
      return false;
    }
    *value = *value * 10 + (uint64_t)(text.text[i] - '0');
  }
  return text.length > 0;
}

/* The file must lie where the model lies or below: no absolute path, no "..". */
static bool is_safe(struct onnx_span location) {
  if (location.length == 0 || location.text[0] == '/' || memchr(location.text, '\0', location.length) != NULL
      || memchr(location.text, '\\', location.length) != NULL) {
    return false;
  }
  for (size_t start = 0, i = 0; i <= location.length; i++) {
    if (i == location.length || location.text[i] == '/') {
      if (i - start == 2 && location.text[start] == '.' && location.text[start + 1] == '.') {
        return false;
      }
      start = i + 1;
    }
  }
  return true;
}

static bool read_external_entry(struct onnx_builder *b, const struct onnx_tensor *t, uint64_t size,
                                struct external *e) {
  struct onnx_span location = {NULL, 0};
  *e = (struct external){.length = size};
  bool ok = true;
  for (size_t i = 0; i < t->external.count; i++) {
    const struct onnx_entry *entry = &t->external.items[i];
    if (onnx_span_is(entry->key, "location")) {
      location = entry->value;
    } else if (onnx_span_is(entry->key, "offset")) {
      ok = ok && read_number(entry->value, &e->offset);
    } else if (onnx_span_is(entry->key, "length")) {
      ok = ok && read_number(entry->value, &e->length);
    }
  }
  if (!onnx_check(b, location.length > 0 && is_safe(location),
                  "external data in '%.*s' is refused: the file must lie beside the model or below",
                  (int)(location.length < 200 ? location.length : 200), location.length > 0 ? location.text : "")
      || !onnx_check(b, ok && e->length == size, "external data of %llu bytes is said to have %llu",
                     (unsigned long long)size, (unsigned long long)e->length)) {
    return false;
  }
  e->location = arena_strndup(&b->arena, location.text, location.length);
  if (e->location == NULL) {
    onnx_fail_memory(b);
  }
  return e->location != NULL;
}

/* dense_resource<name>: characters that are not of a name become '_'. */
static struct ir_attr reference(struct onnx_builder *b, const struct onnx_tensor *t, struct ir_type type) {
  char name[128];
  size_t length = 0;
  for (; length < t->name.length && length + 1 < sizeof name; length++) {
    char c = t->name.text[length];
    bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (length > 0 && c >= '0' && c <= '9');
    name[length] = is_plain ? c : '_';
  }
  return length > 0 ? ir_attr_text(b->m, IR_ATTR_RESOURCE, name, length, type)
                    : ir_attr_text(b->m, IR_ATTR_RESOURCE, "external", 8, type);
}

static struct ir_attr external_attr(struct onnx_builder *b, const struct onnx_tensor *t, enum dtype dtype,
                                    int64_t count, struct ir_type type) {
  struct external e;
  struct ir_attr attr = {0};
  uint64_t size = stored_size(dtype, count);
  if (!read_external_entry(b, t, size, &e)) {
    return attr;
  }
  if (b->options->read_external == NULL) {
    return reference(b, t, type);
  }
  if (size > EXTERNAL_MAX) {
    onnx_fail_memory(b);
    return attr;
  }
  uint8_t *stored = malloc(size + 1), *bytes = malloc(ir_dense_element_size(dtype) * (size_t)count + 1);
  if (stored == NULL || bytes == NULL) {
    onnx_fail_memory(b);
  } else if (!b->options->read_external(b->options->external_user, e.location, e.offset, size, stored)) {
    onnx_fail(b, DIAG_E0001_OPEN, "%llu bytes at offset %llu of '%s', beside the model, cannot be read",
              (unsigned long long)size, (unsigned long long)e.offset, e.location);
  } else if (fill_from_bytes(b, stored, size, dtype, count, bytes)) {
    attr = ir_attr_dense(b->m, type, bytes, ir_dense_element_size(dtype) * (uint64_t)count, false);
  }
  free(stored);
  free(bytes);
  return attr;
}

/* ---- values ---- */

struct onnx_val onnx_tensor_value(struct onnx_builder *b, const struct onnx_tensor *t) {
  struct onnx_val nothing = {0};
  enum dtype dtype = b->is_failed ? DTYPE_NONE : onnx_dtype_of(b, t->data_type);
  if (b->is_failed || t->dims.count > ONNX_RANK_MAX) {
    (void)onnx_check(b, t->dims.count <= ONNX_RANK_MAX, "a tensor has %zu dimensions", t->dims.count);
    return nothing;
  }
  struct onnx_val v = onnx_new_value(b, dtype, t->dims.items, (uint32_t)t->dims.count);
  if (v.id == 0) {
    return nothing;
  }
  b->values.data[v.id].tensor = t;
  int64_t count = onnx_get(b, v)->count;
  if (is_external(t) || count > ONNX_FOLD_MAX || dtype_class_of(dtype) == DTYPE_CLASS_COMPLEX) {
    return v;
  }
  size_t size = ir_dense_element_size(dtype);
  uint8_t *bytes = arena_calloc(&b->arena, (size_t)count + 1, size);
  union onnx_cell *cells = bytes != NULL && fill(b, t, dtype, count, bytes) ? onnx_new_cells(b, v, false) : NULL;
  for (int64_t i = 0; cells != NULL && i < count; i++) {
    cells[i] = onnx_cell_load(dtype, bytes + (size_t)i * size);
  }
  return cells != NULL ? v : (onnx_fail_memory(b), nothing);
}

struct ir_attr onnx_tensor_attr(struct onnx_builder *b, struct onnx_val v) {
  struct onnx_value value = *onnx_get(b, v);
  const struct onnx_tensor *t = value.tensor;
  struct ir_attr attr = {0};
  struct ir_type type = onnx_ir_type(b, v);
  if (b->is_failed) {
    return attr;
  }
  if (is_external(t)) {
    return external_attr(b, t, value.dtype, value.count, type);
  }
  size_t size = ir_dense_element_size(value.dtype) * (size_t)value.count;
  if (ONNX_HAS(t, ONNX_TENSOR_RAW_DATA) && value.dtype != DTYPE_I1 && dtype_bits(value.dtype) >= 8
      && t->raw_data.length == size) {
    return ir_attr_dense(b->m, type, t->raw_data.text, size, false);
  }
  /* a hostile shape may be large: the data must be there before its size is taken for true */
  uint64_t held = t->raw_data.length + t->int32_data.count + t->int64_data.count + t->uint64_data.count
                  + t->float_data.count + t->double_data.count;
  if (!onnx_check(b, (uint64_t)value.count <= 4 * held, "a tensor of %lld elements has data of %llu",
                  (long long)value.count, (unsigned long long)held)) {
    return attr;
  }
  uint8_t *bytes = malloc(size + 1);
  if (bytes != NULL && fill(b, t, value.dtype, value.count, bytes)) {
    attr = ir_attr_dense(b->m, type, bytes, size, false);
  }
  free(bytes);
  return attr;
}
