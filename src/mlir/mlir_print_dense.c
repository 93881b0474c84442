/* Element lists: the inside of dense<...> and array<...>. Path: attribute printer. */
#include "mlir/mlir_print.h"

#include <string.h>

#include "base/minifloat.h"

/* Longer lists that are not splats print as a hex string, as in MLIR (AsmPrinter's default limit). */
enum { HEX_LIMIT = 100, MAX_RANK = 64 };

static uint64_t load_bits(const uint8_t *data, unsigned size) {
  uint64_t bits = 0;
  memcpy(&bits, data, size); /* little-endian data on a little-endian host */
  return bits;
}

static void put_float(enum dtype dtype, const uint8_t *data, unsigned size, struct strbuf *out) {
  minifloat_print(dtype, load_bits(data, size), out);
}

static void put_unsigned(struct strbuf *out, uint64_t value) {
  if (value <= INT64_MAX) {
    strbuf_put_i64(out, (int64_t)value);
  } else {
    strbuf_printf(out, "%llu", (unsigned long long)value);
  }
}

/* One element of `size` bytes. */
static void put_element(enum dtype dtype, const uint8_t *data, unsigned size, struct strbuf *out) {
  switch (dtype_class_of(dtype)) {
  case DTYPE_CLASS_BOOL:
    strbuf_puts(out, data[0] ? "true" : "false");
    break;
  case DTYPE_CLASS_UINT: {
    unsigned bits = dtype_bits(dtype);
    uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
    put_unsigned(out, load_bits(data, size) & mask);
    break;
  }
  case DTYPE_CLASS_SINT:
  case DTYPE_CLASS_INDEX: {
    unsigned shift = 64 - dtype_bits(dtype);
    strbuf_put_i64(out, (int64_t)(load_bits(data, size) << shift) >> shift);
    break;
  }
  case DTYPE_CLASS_FLOAT:
    put_float(dtype, data, size, out);
    break;
  case DTYPE_CLASS_COMPLEX: {
    enum dtype part = dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
    strbuf_putc(out, '(');
    put_float(part, data, size / 2, out);
    strbuf_putc(out, ',');
    put_float(part, data + size / 2, size / 2, out);
    strbuf_putc(out, ')');
    break;
  }
  case DTYPE_CLASS_NONE:
    break;
  }
}

static void put_hex(const uint8_t *data, uint64_t size, struct strbuf *out) {
  static const char digits[] = "0123456789ABCDEF";
  char chunk[512];
  strbuf_puts(out, "\"0x");
  size_t used = 0;
  for (uint64_t i = 0; i < size; i++) {
    chunk[used++] = digits[data[i] >> 4];
    chunk[used++] = digits[data[i] & 15];
    if (used == sizeof chunk) {
      strbuf_add(out, chunk, used);
      used = 0;
    }
  }
  strbuf_add(out, chunk, used);
  strbuf_putc(out, '"');
}

struct dense_view {
  const struct ir_module *module;
  const struct ir_attr_data *attr;
  enum dtype dtype; /* NONE: strings, data holds interned ids */
  unsigned size; /* bytes per element */
};

static void put_item(const struct dense_view *v, uint64_t i, struct strbuf *out) {
  const uint8_t *data = v->attr->data + i * v->size;
  if (v->dtype == DTYPE_NONE) {
    uint32_t id = (uint32_t)load_bits(data, sizeof id);
    mlir_put_escaped(out, ir_text(v->module, id), intern_length(&v->module->strings, id));
  } else {
    put_element(v->dtype, data, v->size, out);
  }
}

/* Nested lists: a counter per dimension; a bracket opens where all inner counters are zero, closes where they wrap. */
static void put_nested(const struct dense_view *v, const int64_t *dims, uint32_t rank, uint64_t count,
                       struct strbuf *out) {
  int64_t counter[MAX_RANK] = {0};
  uint32_t open = 0;
  for (uint64_t i = 0; i < count; i++) {
    if (i > 0) {
      strbuf_puts(out, ", ");
    }
    for (; open < rank; open++) {
      strbuf_putc(out, '[');
    }
    put_item(v, i, out);
    for (uint32_t d = rank; d-- > 0;) {
      if (++counter[d] < dims[d]) {
        break;
      }
      counter[d] = 0;
      open--;
      strbuf_putc(out, ']');
    }
  }
}

void mlir_put_dense(const struct ir_module *m, const struct ir_attr_data *attr, struct strbuf *out) {
  const struct ir_type_data *t = ir_type_get(m, attr->type);
  struct dense_view view = {m, attr, (enum dtype)t->dtype, sizeof(uint32_t)};
  if (view.dtype != DTYPE_NONE) {
    view.size = ir_dense_element_size(view.dtype);
  }
  strbuf_puts(out, "dense<");
  uint64_t count = attr->data_size / view.size;
  if (attr->is_splat) {
    put_item(&view, 0, out);
  } else if (count > HEX_LIMIT && view.dtype != DTYPE_NONE) {
    put_hex(attr->data, attr->data_size, out);
  } else if (t->kind == IR_TYPE_TENSOR && t->rank <= MAX_RANK && count == ir_type_element_count(m, attr->type)) {
    put_nested(&view, ir_type_dims(m, attr->type), t->rank, count, out);
  } else {
    int64_t flat = (int64_t)count;
    put_nested(&view, &flat, 1, count, out);
  }
  strbuf_putc(out, '>');
}

void mlir_put_dense_array_items(const struct ir_module *m, const struct ir_attr_data *attr, struct strbuf *out) {
  enum dtype dtype = (enum dtype)ir_type_get(m, attr->type)->dtype;
  unsigned size = ir_dense_element_size(dtype);
  for (uint32_t i = 0; i < attr->list_count; i++) {
    if (i > 0) {
      strbuf_puts(out, ", ");
    }
    put_element(dtype, attr->data + (size_t)i * size, size, out);
  }
}
