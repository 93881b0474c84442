/* Varints, fixed numbers and lengths. See onnx_wire.h. */
#include "import/onnx_wire.h"

#include <string.h>

enum { VARINT_BYTES_MAX = 10, NUMBER_MAX = (1 << 29) - 1 };

bool onnx_varint(struct onnx_cursor *c, uint64_t *value) {
  uint64_t sum = 0;
  const char *at = c->at;
  for (unsigned i = 0; i < VARINT_BYTES_MAX && at < c->end; i++) {
    uint64_t byte = (uint8_t)*at++;
    sum |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *value = sum;
      c->at = at;
      return i < VARINT_BYTES_MAX - 1 || byte <= 1;
    }
  }
  return false;
}

uint32_t onnx_fixed32(const char *at) {
  uint32_t bits;
  memcpy(&bits, at, sizeof bits);
  return bits;
}

uint64_t onnx_fixed64(const char *at) {
  uint64_t bits;
  memcpy(&bits, at, sizeof bits);
  return bits;
}

static bool read_value(struct onnx_cursor *c, struct onnx_wire_field *field) {
  uint64_t length;
  switch (field->wire) {
  case ONNX_VARINT:
    return onnx_varint(c, &field->bits);
  case ONNX_FIXED64:
    if (c->end - c->at < 8) {
      return false;
    }
    field->bits = onnx_fixed64(c->at);
    c->at += 8;
    return true;
  case ONNX_FIXED32:
    if (c->end - c->at < 4) {
      return false;
    }
    field->bits = onnx_fixed32(c->at);
    c->at += 4;
    return true;
  case ONNX_BYTES:
    if (!onnx_varint(c, &length) || length > (uint64_t)(c->end - c->at)) {
      return false;
    }
    field->bytes = (struct onnx_span){c->at, (size_t)length};
    c->at += length;
    return true;
  }
  return false;
}

bool onnx_wire_next(struct onnx_cursor *c, struct onnx_wire_field *field) {
  struct onnx_cursor next = *c;
  uint64_t key;
  if (c->at == c->end || !onnx_varint(&next, &key) || key >> 3 == 0 || key >> 3 > NUMBER_MAX) {
    return false;
  }
  *field = (struct onnx_wire_field){.number = (uint32_t)(key >> 3), .wire = (enum onnx_wire)(key & 7)};
  if (!read_value(&next, field)) {
    return false;
  }
  *c = next;
  return true;
}
