/* Values of the interpreter: made, counted, printed. Path: every operation makes its results here. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/minifloat.h"
#include "interp/interp_int.h"

enum { DATA_ALIGNMENT = 64 };

void interp_retain(struct interp_value *value) {
  atomic_fetch_add_explicit(&value->references, 1, memory_order_relaxed);
}

void interp_release(struct interp_value *value) {
  if (!value || atomic_fetch_sub_explicit(&value->references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  if (value->account) {
    atomic_fetch_sub_explicit(value->account, value->size_bytes, memory_order_relaxed);
  }
  for (uint64_t i = 0; value->kind != INTERP_TENSOR && i < value->count; i++) {
    interp_release(value->parts[i]); /* as deep as tuple types nest, which the parser bounds */
  }
  free(value);
}

/* Header, dims or parts, and data in one block. */
static struct interp_value *allocate(enum interp_kind kind, size_t tail_bytes, uint64_t data_bytes) {
  size_t head = (sizeof(struct interp_value) + tail_bytes + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
  if (data_bytes > SIZE_MAX / 2 - head) {
    return NULL;
  }
  size_t size = (head + (size_t)data_bytes + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
  struct interp_value *value = aligned_alloc(DATA_ALIGNMENT, size);
  if (!value) {
    return NULL;
  }
  memset(value, 0, head);
  atomic_init(&value->references, 1);
  value->kind = (uint8_t)kind;
  value->size_bytes = data_bytes;
  value->data = (uint8_t *)value + head;
  return value;
}

/* Number of elements; false when it overflows or a dimension is negative. */
static bool count_elements(const int64_t *dims, uint32_t rank, uint64_t *count) {
  *count = 1;
  bool is_empty = false;
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i] < 0) {
      return false;
    }
    is_empty |= dims[i] == 0;
  }
  for (uint32_t i = 0; i < rank && !is_empty; i++) {
    if (__builtin_mul_overflow(*count, (uint64_t)dims[i], count)) {
      return false;
    }
  }
  *count = is_empty ? 0 : *count;
  return true;
}

struct interp_value *interp_tensor_new(enum dtype dtype, const int64_t *dims, uint32_t rank) {
  uint64_t count, bytes;
  unsigned element = ir_dense_element_size(dtype);
  if (rank > INTERP_MAX_RANK || !count_elements(dims, rank, &count) || __builtin_mul_overflow(count, element, &bytes)) {
    return NULL;
  }
  struct interp_value *value = allocate(INTERP_TENSOR, rank * sizeof(int64_t), bytes);
  if (value) {
    int64_t *own = (int64_t *)(value + 1);
    if (rank > 0) {
      memcpy(own, dims, rank * sizeof *dims);
    }
    value->dims = own;
    value->dtype = (uint8_t)dtype;
    value->rank = (uint16_t)rank;
    value->count = count;
  }
  return value;
}

struct interp_value *interp_tuple_new(enum interp_kind kind, struct interp_value *const *parts, uint32_t count) {
  struct interp_value *value = allocate(kind, count * sizeof *parts, 0);
  if (value) {
    value->count = count;
    value->parts = (struct interp_value **)(value + 1);
  }
  for (uint32_t i = 0; value && i < count; i++) {
    value->parts[i] = parts[i];
    interp_retain(parts[i]);
  }
  return value;
}

struct interp_value *interp_token_new(void) {
  return allocate(INTERP_TOKEN, 0, 0);
}

struct interp_value *interp_from_attr(const struct ir_module *module, struct ir_attr attr) {
  const struct ir_attr_data *a = ir_attr_get(module, attr);
  if (a->kind != IR_ATTR_DENSE || !ir_type_is_static(module, a->type)) {
    return NULL;
  }
  const struct ir_type_data *type = ir_type_get(module, a->type);
  enum dtype dtype = (enum dtype)type->dtype;
  if (dtype == DTYPE_NONE) {
    return NULL; /* strings */
  }
  struct interp_value *value = interp_tensor_new(dtype, ir_type_dims(module, a->type), type->rank);
  if (!value) {
    return NULL;
  }
  const struct ir_type_data *element = ir_type_get(module, type->element);
  value->quant = element->kind == IR_TYPE_QUANTIZED ? element->quant + 1 : 0;
  unsigned bytes = interp_element_bytes(value);
  if (value->size_bytes == 0) { /* then there may be no data to copy from */
    return value;
  }
  if (!a->is_splat) {
    memcpy(value->data, a->data, value->size_bytes);
  } else if (bytes == 1) {
    memset(value->data, a->data[0], value->size_bytes);
  } else {
    for (uint64_t i = 0; i < value->count; i++) {
      memcpy(value->data + i * bytes, a->data, bytes);
    }
  }
  return value;
}

/* ---- printing ------------------------------------------------------------------------------------------------------- */

static void print_element(const struct interp_value *v, uint64_t i, struct strbuf *out) {
  double parts[2];
  enum dtype_class class = dtype_class_of((enum dtype)v->dtype);
  switch (class) {
  case DTYPE_CLASS_BOOL:
    strbuf_puts(out, interp_int_at(v, i) ? "true" : "false");
    return;
  case DTYPE_CLASS_SINT:
  case DTYPE_CLASS_INDEX:
    strbuf_printf(out, "%" PRId64, interp_int_at(v, i));
    return;
  case DTYPE_CLASS_UINT:
    strbuf_printf(out, "%" PRIu64, (uint64_t)interp_int_at(v, i));
    return;
  default:
    interp_read_complex(v, i, 1, parts);
    if (class == DTYPE_CLASS_COMPLEX) {
      strbuf_printf(out, "[%.6e, %.6e]", parts[0], parts[1]);
    } else {
      strbuf_printf(out, "%.6e", parts[0]);
    }
  }
}

/* Elements below `axis`, which begin at `first`. Of dimensions longer than two edges the middle is left out; an edge of 0
 * leaves out nothing. */
static void print_elements(const struct interp_value *v, uint32_t axis, uint64_t first, int64_t edge, unsigned indent,
                           struct strbuf *out) {
  uint64_t stride = 1;
  for (uint32_t d = axis + 1; d < v->rank; d++) {
    stride *= (uint64_t)v->dims[d];
  }
  strbuf_printf(out, "%*s[", (int)indent, "");
  bool is_last = axis + 1 == v->rank;
  for (int64_t i = 0; i < v->dims[axis]; i++) {
    strbuf_puts(out, i == 0 ? (is_last ? "" : "\n") : is_last ? ", " : ",\n");
    if (edge > 0 && v->dims[axis] > 2 * edge && i == edge) {
      strbuf_printf(out, "%*s...", is_last ? 0 : (int)indent + 2, "");
      i = v->dims[axis] - edge - 1;
    } else if (is_last) {
      print_element(v, first + (uint64_t)i, out);
    } else {
      print_elements(v, axis + 1, first + (uint64_t)i * stride, edge, indent + 2, out);
    }
  }
  if (!is_last && v->dims[axis] > 0) {
    strbuf_printf(out, "\n%*s", (int)indent, "");
  }
  strbuf_puts(out, "]");
}

/* Empty tensors may have long dimensions, too: theirs are never printed in full. */
static bool is_long(const struct interp_value *v, uint64_t limit) {
  enum { LONG_AND_EMPTY = 1000 };
  bool has_long = false;
  for (uint32_t d = 0; d < v->rank; d++) {
    has_long |= v->dims[d] > LONG_AND_EMPTY;
  }
  return (limit > 0 && v->count > limit) || (v->count == 0 && has_long);
}

void interp_print(const struct interp_value *value, struct strbuf *out) {
  interp_print_short(value, 0, out);
}

void interp_print_short(const struct interp_value *value, uint64_t limit, struct strbuf *out) {
  interp_print_as(value, NULL, limit, out);
}

void interp_print_as(const struct interp_value *value, const char *element, uint64_t limit, struct strbuf *out) {
  if (value->kind != INTERP_TENSOR) {
    strbuf_puts(out, value->kind == INTERP_TOKEN ? "token" : value->kind == INTERP_TUPLE ? "tuple (\n" : "future (\n");
    for (uint64_t i = 0; i < value->count; i++) {
      interp_print_short(value->parts[i], limit, out);
      strbuf_puts(out, "\n");
    }
    strbuf_puts(out, value->kind == INTERP_TOKEN ? "" : ")");
    return;
  }
  strbuf_puts(out, "tensor<");
  for (uint32_t i = 0; i < value->rank; i++) {
    strbuf_printf(out, "%" PRId64 "x", value->dims[i]);
  }
  strbuf_printf(out, "%s> {", element ? element : dtype_name((enum dtype)value->dtype));
  if (value->rank == 0) {
    print_element(value, 0, out);
    strbuf_puts(out, "}");
    return;
  }
  strbuf_puts(out, "\n");
  print_elements(value, 0, 0, is_long(value, limit) ? INTERP_EDGE : 0, 2, out);
  strbuf_puts(out, "\n}");
}
