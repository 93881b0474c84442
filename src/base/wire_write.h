/* Writes protobuf's wire format into a strbuf: fields of messages, nested messages, and messages with their length in front.
 * A failed growth sets `failed` of the buffer, as with all text. Source: "Encoding", the protobuf documentation.
 * Path: report_chakra_nodes.c → here. */
#ifndef RIDGELINE_BASE_WIRE_WRITE_H
#define RIDGELINE_BASE_WIRE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Seven bits a byte, lowest first. */
void wire_varint(struct strbuf *out, uint64_t value);

/* A field of an integer, enum or bool type. int32 and int64 are given sign-extended: (uint64_t)(int64_t)value. */
void wire_put_uint(struct strbuf *out, uint32_t field, uint64_t value);
void wire_put_bool(struct strbuf *out, uint32_t field, bool value);
void wire_put_text(struct strbuf *out, uint32_t field, const char *text);
/* `repeated` integers, packed as proto3 does; nothing when there are none. */
void wire_put_uints(struct strbuf *out, uint32_t field, const uint64_t *values, size_t count);

/* A nested message: what is written between open and close is its content. */
size_t wire_open(struct strbuf *out, uint32_t field);
void wire_close(struct strbuf *out, size_t opened);
/* The same for a message that stands alone in a file behind its length. */
size_t wire_open_delimited(struct strbuf *out);

#endif
