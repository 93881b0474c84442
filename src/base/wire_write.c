/* Protobuf's wire format, writing. */
#include "base/wire_write.h"

#include <string.h>

enum { TYPE_VARINT = 0, TYPE_BYTES = 2, VARINT_BYTES_MAX = 10 };

static size_t encode(uint64_t value, char *bytes) {
  size_t count = 0;
  for (; value >= 0x80; value >>= 7) {
    bytes[count++] = (char)(unsigned char)(value | 0x80);
  }
  bytes[count++] = (char)(unsigned char)value;
  return count;
}

void wire_varint(struct strbuf *out, uint64_t value) {
  char bytes[VARINT_BYTES_MAX];
  strbuf_add(out, bytes, encode(value, bytes));
}

static void put_key(struct strbuf *out, uint32_t field, unsigned type) {
  wire_varint(out, (uint64_t)field << 3 | type);
}

void wire_put_uint(struct strbuf *out, uint32_t field, uint64_t value) {
  put_key(out, field, TYPE_VARINT);
  wire_varint(out, value);
}

void wire_put_bool(struct strbuf *out, uint32_t field, bool value) {
  wire_put_uint(out, field, value);
}

void wire_put_text(struct strbuf *out, uint32_t field, const char *text) {
  size_t length = strlen(text);
  put_key(out, field, TYPE_BYTES);
  wire_varint(out, length);
  strbuf_add(out, text, length);
}

void wire_put_uints(struct strbuf *out, uint32_t field, const uint64_t *values, size_t count) {
  if (count == 0) {
    return;
  }
  size_t opened = wire_open(out, field);
  for (size_t i = 0; i < count; i++) {
    wire_varint(out, values[i]);
  }
  wire_close(out, opened);
}

size_t wire_open(struct strbuf *out, uint32_t field) {
  put_key(out, field, TYPE_BYTES);
  return out->length;
}

size_t wire_open_delimited(struct strbuf *out) {
  return out->length;
}

/* The length is known only now: it goes in front of the content, which moves up. */
void wire_close(struct strbuf *out, size_t opened) {
  if (out->failed) {
    return;
  }
  char bytes[VARINT_BYTES_MAX];
  size_t content = out->length - opened, count = encode(content, bytes);
  strbuf_add(out, bytes, count); /* makes room */
  if (!out->failed) {
    memmove(out->data + opened + count, out->data + opened, content);
    memcpy(out->data + opened, bytes, count);
  }
}
