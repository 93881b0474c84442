/* MLIR bytecode taken apart and put together again, for bytecode_mutator.c: a part may change its size, and every length, count
 * of bytes and offset around it is right again when the parts are written. Nothing is decoded beyond that, and what does not
 * come apart stays bytes. Written apart from src/mlir, after mlir/docs/BytecodeFormat.md. */
#ifndef RIDGELINE_TESTS_FUZZ_ARTIFACT_PARTS_H
#define RIDGELINE_TESTS_FUZZ_ARTIFACT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

enum artifact_section {
  ARTIFACT_STRINGS,
  ARTIFACT_DIALECTS,
  ARTIFACT_ENTRIES,
  ARTIFACT_OFFSETS,
  ARTIFACT_IR,
  ARTIFACT_RESOURCES,
  ARTIFACT_RESOURCE_OFFSETS,
  ARTIFACT_DIALECT_VERSIONS,
  ARTIFACT_PROPERTIES,
  ARTIFACT_SECTION_COUNT
};

/* Borrowed from the input or from the arena. */
struct artifact_bytes {
  const uint8_t *data;
  size_t size;
};

/* An attribute, a type, a string or the properties of an operation; the last two have bytes only. */
struct artifact_part {
  struct artifact_bytes bytes;
  uint64_t dialect;
  bool is_custom;
};

enum artifact_token_kind {
  ARTIFACT_NUMBER,
  ARTIFACT_BYTE,
  ARTIFACT_OPEN, /* a section of regions begins: `value` is its identifier; its length is made when it is written */
  ARTIFACT_CLOSE
};
struct artifact_token {
  uint8_t kind;
  uint64_t value;
};

/* An operation of the IR section: its tokens, and the one that counts the operations of its block. */
struct artifact_op {
  size_t first, end, count;
};

struct artifact {
  struct arena arena;
  uint64_t version;
  struct artifact_bytes producer; /* with its 0 */
  struct {
    struct artifact_bytes body;
    uint64_t alignment; /* 0 = none */
    bool is_there, is_apart; /* is_apart: the parts below hold it, not the body */
  } sections[ARTIFACT_SECTION_COUNT];
  VEC(uint8_t) order; /* sections as they follow each other */
  VEC(struct artifact_part) strings, entries, properties;
  size_t attr_count; /* of the entries; the others are types */
  VEC(struct artifact_token) tokens; /* of the IR section */
  VEC(struct artifact_op) ops;
  unsigned open_sections; /* while they are read */
};

/* False when it is not bytecode or a section does not fit, or memory is exhausted. Release in any case. */
bool artifact_take_apart(struct artifact *a, const uint8_t *data, size_t size);
/* Size, or 0 when it does not fit into `max_size`. */
size_t artifact_write(const struct artifact *a, uint8_t *out, size_t max_size);
void artifact_release(struct artifact *a);

/* Bytes of a number's encoding, and the number; 0 when it runs over the end. */
size_t artifact_get_number(const uint8_t *data, size_t size, uint64_t *value);
enum { ARTIFACT_NUMBER_MAX = 9 };
size_t artifact_put_number(uint8_t out[ARTIFACT_NUMBER_MAX], uint64_t value);

#endif
