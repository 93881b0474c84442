/* The wire format of protobuf, as far as ONNX files use it. A cursor walks over one message; nothing is copied, nothing is
 * trusted. Source: "Encoding", the protobuf documentation. Path: bytes → here → onnx_proto.c. */
#ifndef RIDGELINE_IMPORT_ONNX_WIRE_H
#define RIDGELINE_IMPORT_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the file, borrowed; not NUL-terminated. */
struct onnx_span {
  const char *text;
  size_t length;
};

struct onnx_cursor {
  const char *at, *end;
};

enum onnx_wire { ONNX_VARINT = 0, ONNX_FIXED64 = 1, ONNX_BYTES = 2, ONNX_FIXED32 = 5 };

struct onnx_wire_field {
  uint32_t number;
  enum onnx_wire wire;
  uint64_t bits; /* VARINT, FIXED64, FIXED32 */
  struct onnx_span bytes; /* BYTES */
};

static inline struct onnx_cursor onnx_cursor_of(struct onnx_span span) {
  return (struct onnx_cursor){span.text, span.text + span.length};
}
bool onnx_varint(struct onnx_cursor *c, uint64_t *value);
uint32_t onnx_fixed32(const char *at);
uint64_t onnx_fixed64(const char *at);
/* Reads the next field and moves behind it. False at the end of the message, where c->at == c->end, and at a damaged
 * field, where c->at stays. Groups, which ONNX does not use, count as damage. */
bool onnx_wire_next(struct onnx_cursor *c, struct onnx_wire_field *field);

#endif
