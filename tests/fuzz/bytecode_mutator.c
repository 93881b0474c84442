/* Mutations of MLIR bytecode that keep it bytecode, so that the fuzzer gets behind the container: an artifact is taken apart
 * (artifact_parts.h), one of its parts changes or is exchanged for a part of its own or of another artifact, and it is put
 * together with right lengths. One call in six goes to libFuzzer's own byte mutations, which make the lengths lie. */
#include <stdlib.h>
#include <string.h>

#include "artifact_parts.h"
#include "fuzz.h"
#include "fuzz_random.h"

struct mutation {
  struct artifact *a;
  const struct artifact *other; /* parts to take; the artifact itself unless two are crossed */
  struct fuzz_random random;
};

static size_t below(struct mutation *m, size_t limit) {
  return fuzz_below(&m->random, limit);
}

/* Small, near the old one, an index that exists or just not, or at the edge of a range. */
static uint64_t other_number(struct mutation *m, uint64_t old) {
  static const uint64_t edges[] = {0,          1,           0x7F,        0x80,           0x3FFF,     0x4000,    0xFFFF,
                                   0x7FFFFFFF, 0x80000000u, 0xFFFFFFFFu, 0x100000000ull, 1ull << 62, UINT64_MAX};
  const size_t counts[] = {m->a->strings.count, m->a->attr_count, m->a->entries.count, m->a->properties.count,
                           m->a->ops.count};
  switch (below(m, 8)) {
  case 0:
    return edges[below(m, sizeof edges / sizeof edges[0])];
  case 1:
    return old + 1;
  case 2:
    return old - 1;
  case 3:
    return old ^ 1ull << below(m, 8);
  case 4:
  case 5:
    return below(m, counts[below(m, sizeof counts / sizeof counts[0])] + 1);
  default:
    return below(m, 48);
  }
}

/* ---- bytes of a part ---------------------------------------------------------------------------------------------- */

/* A copy with room for `more` bytes behind; NULL when memory is exhausted. */
static uint8_t *copy_bytes(struct mutation *m, struct artifact_bytes bytes, size_t more) {
  uint8_t *copy = arena_alloc(&m->a->arena, bytes.size + more + 1);
  if (copy != NULL && bytes.size > 0) {
    memcpy(copy, bytes.data, bytes.size);
  }
  return copy;
}

/* Another number at the place of one that begins `skip` numbers behind the first byte. */
static void change_number(struct mutation *m, struct artifact_bytes *bytes, size_t skip) {
  uint64_t value = 0;
  size_t at = 0, length = artifact_get_number(bytes->data, bytes->size, &value);
  for (; skip > 0 && length > 0 && at + length < bytes->size; skip--) {
    at += length;
    length = artifact_get_number(bytes->data + at, bytes->size - at, &value);
  }
  uint8_t number[ARTIFACT_NUMBER_MAX];
  size_t size = artifact_put_number(number, other_number(m, value));
  uint8_t *copy = copy_bytes(m, *bytes, size);
  if (copy == NULL) {
    return;
  }
  memcpy(copy + at, number, size);
  if (bytes->size > at + length) {
    memcpy(copy + at + size, bytes->data + at + length, bytes->size - at - length);
  }
  *bytes = (struct artifact_bytes){copy, bytes->size - length + size};
}

static void change_bytes(struct mutation *m, struct artifact_bytes *bytes) {
  enum { MORE = 64 };
  uint8_t *copy = copy_bytes(m, *bytes, MORE);
  if (copy != NULL) {
    *bytes = (struct artifact_bytes){copy, LLVMFuzzerMutate(copy, bytes->size, bytes->size + MORE)};
  }
}

/* One number more or less. */
static void resize_list(struct mutation *m, struct artifact_bytes *bytes) {
  uint8_t number[ARTIFACT_NUMBER_MAX];
  size_t size = artifact_put_number(number, other_number(m, 0)), at = below(m, bytes->size + 1);
  uint8_t *copy = copy_bytes(m, *bytes, size);
  if (copy == NULL) {
    return;
  }
  if (below(m, 2) == 0 && bytes->size > 0) {
    at = at < bytes->size ? at : 0;
    memmove(copy + at, copy + at + 1, bytes->size - at - 1);
    *bytes = (struct artifact_bytes){copy, bytes->size - 1};
    return;
  }
  memmove(copy + at + size, copy + at, bytes->size - at);
  memcpy(copy + at, number, size);
  *bytes = (struct artifact_bytes){copy, bytes->size + size};
}

/* ---- strings, attributes, types, properties ----------------------------------------------------------------------- */

/* All lists of parts have this shape. */
struct parts {
  struct artifact_part *data;
  size_t count;
};

static struct parts *choose_parts(struct mutation *m, struct parts *mine, struct parts *theirs) {
  struct artifact *a = m->a;
  const struct artifact *o = m->other;
  switch (below(m, 6)) {
  case 0:
    *mine = (struct parts){a->strings.data, a->strings.count};
    *theirs = (struct parts){o->strings.data, o->strings.count};
    break;
  case 1:
  case 2:
    *mine = (struct parts){a->properties.data, a->properties.count};
    *theirs = (struct parts){o->properties.data, o->properties.count};
    break;
  default:
    *mine = (struct parts){a->entries.data, a->entries.count};
    *theirs = (struct parts){o->entries.data, o->entries.count};
    break;
  }
  return mine->count > 0 && theirs->count > 0 ? mine : NULL;
}

static void change_part(struct mutation *m) {
  struct parts mine, theirs;
  if (choose_parts(m, &mine, &theirs) == NULL) {
    return;
  }
  struct artifact_bytes *bytes = &mine.data[below(m, mine.count)].bytes;
  if (mine.data == m->a->strings.data) {
    uint8_t *copy = copy_bytes(m, *bytes, 32);
    size_t size = copy != NULL ? LLVMFuzzerMutate(copy, bytes->size, bytes->size + 32) : 0;
    if (copy != NULL) {
      copy[size] = '\0'; /* a string ends with 0 */
      *bytes = (struct artifact_bytes){copy, size + 1};
    }
  } else if (below(m, 8) == 0) {
    change_bytes(m, bytes);
  } else if (below(m, 6) == 0) {
    resize_list(m, bytes);
  } else {
    change_number(m, bytes, below(m, 3) == 0 ? 0 : below(m, 8));
  }
}

static void copy_part(struct mutation *m) {
  struct parts mine, theirs;
  if (choose_parts(m, &mine, &theirs) != NULL) {
    mine.data[below(m, mine.count)] = theirs.data[below(m, theirs.count)];
  }
}

static void swap_parts(struct mutation *m) {
  struct parts mine, theirs;
  if (choose_parts(m, &mine, &theirs) != NULL) {
    struct artifact_part *a = &mine.data[below(m, mine.count)], *b = &mine.data[below(m, mine.count)];
    struct artifact_part old = *a;
    *a = *b;
    *b = old;
  }
}

static void change_dialect(struct mutation *m) {
  if (m->a->entries.count > 0) {
    struct artifact_part *part = &m->a->entries.data[below(m, m->a->entries.count)];
    if (below(m, 2) == 0) {
      part->is_custom = !part->is_custom;
    } else {
      part->dialect = below(m, 8);
    }
  }
}

/* A new entry at the end of the types, or one less; the line between attributes and types may move. */
static void resize_entries(struct mutation *m) {
  struct artifact *a = m->a;
  if (a->entries.count == 0 || m->other->entries.count == 0) {
    return;
  }
  const struct artifact_part more = m->other->entries.data[below(m, m->other->entries.count)];
  switch (below(m, 3)) {
  case 0:
    (void)vec_push(&a->entries, more);
    break;
  case 1:
    a->entries.count--;
    break;
  default:
    a->attr_count = below(m, a->entries.count + 1);
    break;
  }
}

static void resize_properties(struct mutation *m) {
  struct artifact *a = m->a;
  if (a->properties.count > 0 && below(m, 3) == 0) {
    a->properties.count--;
  } else if (m->other->properties.count > 0) {
    const struct artifact_part more = m->other->properties.data[below(m, m->other->properties.count)];
    (void)vec_push(&a->properties, more);
  }
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

static void change_token(struct mutation *m) {
  if (m->a->tokens.count > 0) {
    struct artifact_token *token = &m->a->tokens.data[below(m, m->a->tokens.count)];
    if (token->kind == ARTIFACT_NUMBER) {
      token->value = other_number(m, token->value);
    } else if (token->kind == ARTIFACT_BYTE) {
      token->value ^= 1ull << below(m, 7);
    }
  }
}

/* The name of an operation, its mask or its location: the first three tokens. */
static void change_head(struct mutation *m) {
  if (m->a->ops.count > 0) {
    struct artifact_op op = m->a->ops.data[below(m, m->a->ops.count)];
    size_t which = below(m, 3);
    struct artifact_token *token = &m->a->tokens.data[op.first + which];
    token->value = which == 1 ? token->value ^ 1ull << below(m, 7) : other_number(m, token->value);
  }
}

/* Tokens [first, end) replaced by `count` tokens of `from`. */
static void replace_tokens(struct mutation *m, size_t first, size_t end, const struct artifact_token *from,
                           size_t count) {
  struct artifact *a = m->a;
  struct artifact_token *copy = arena_alloc(&a->arena, count * sizeof *copy + 1); /* they may be its own */
  if (copy != NULL && count > 0) {
    memcpy(copy, from, count * sizeof *copy);
  }
  if (copy == NULL || !vec_reserve(&a->tokens, a->tokens.count + count)) {
    return;
  }
  memmove(a->tokens.data + first + count, a->tokens.data + end, (a->tokens.count - end) * sizeof *copy);
  if (count > 0) {
    memcpy(a->tokens.data + first, copy, count * sizeof *copy);
  }
  a->tokens.count = a->tokens.count - (end - first) + count;
  vec_clear(&a->ops); /* their places are others now */
}

static void drop_or_repeat_token(struct mutation *m) {
  if (m->a->tokens.count > 0) {
    size_t i = below(m, m->a->tokens.count);
    const struct artifact_token token = m->a->tokens.data[i];
    if (token.kind == ARTIFACT_NUMBER) {
      replace_tokens(m, i, i + 1, (const struct artifact_token[]){token, token}, below(m, 2) * 2);
    }
  }
}

/* An operation goes, is doubled, or another one takes its place; the block counts what it has then. */
static void change_ops(struct mutation *m) {
  struct artifact *a = m->a;
  if (a->ops.count == 0 || m->other->ops.count == 0) {
    return;
  }
  struct artifact_op op = a->ops.data[below(m, a->ops.count)];
  struct artifact_op from = m->other->ops.data[below(m, m->other->ops.count)];
  const struct artifact_token *tokens = m->other->tokens.data + from.first;
  size_t count = from.end - from.first;
  enum { OPS_TOKENS_MAX = 4096 };
  if (count > OPS_TOKENS_MAX) {
    return;
  }
  uint64_t *header = &a->tokens.data[op.count].value;
  switch (below(m, 3)) {
  case 0:
    *header -= 2;
    replace_tokens(m, op.first, op.end, NULL, 0);
    break;
  case 1:
    *header += 2;
    replace_tokens(m, op.first, op.first, tokens, count);
    break;
  default:
    replace_tokens(m, op.first, op.end, tokens, count);
    break;
  }
}

/* ---- the container ------------------------------------------------------------------------------------------------- */

static void change_version(struct mutation *m) {
  static const char *const producers[] = {"StableHLO_v0.9.0", "StableHLO_v1.0.0",   "StableHLO_v1.20.0",
                                          "StableHLO_v2.0.0", "StableHLO_v1.99.99", "MLIR17.0.0git"};
  if (below(m, 2) == 0) {
    m->a->version = below(m, 9);
  } else {
    const char *producer = producers[below(m, sizeof producers / sizeof producers[0])];
    m->a->producer = (struct artifact_bytes){(const uint8_t *)producer, strlen(producer) + 1};
  }
}

/* Sections that are not taken apart: dialects, resources. */
static void change_section(struct mutation *m) {
  static const uint8_t ids[] = {ARTIFACT_DIALECTS, ARTIFACT_DIALECTS, ARTIFACT_RESOURCES, ARTIFACT_RESOURCE_OFFSETS};
  unsigned id = ids[below(m, sizeof ids)];
  if (!m->a->sections[id].is_there) {
    if (m->other->sections[id].is_there && vec_push(&m->a->order, (uint8_t)id)) {
      m->a->sections[id] = m->other->sections[id];
    }
    return;
  }
  struct artifact_bytes *bytes = &m->a->sections[id].body;
  switch (below(m, 4)) {
  case 0:
    change_bytes(m, bytes);
    break;
  case 1:
    resize_list(m, bytes);
    break;
  default:
    change_number(m, bytes, below(m, 24));
    break;
  }
}

static void change_order(struct mutation *m) {
  struct artifact *a = m->a;
  if (a->order.count == 0) {
    return;
  }
  size_t i = below(m, a->order.count), k = below(m, a->order.count);
  uint8_t id = a->order.data[i];
  switch (below(m, 4)) {
  case 0:
    a->order.data[i] = a->order.data[--a->order.count];
    break;
  case 1:
    a->sections[id].alignment = 1ull << below(m, 7);
    break;
  case 2:
    (void)vec_push(&a->order, id);
    break;
  default:
    a->order.data[i] = a->order.data[k];
    a->order.data[k] = id;
    break;
  }
}

/* Those that reach the furthest stand several times. */
typedef void mutate_fn(struct mutation *m);
static mutate_fn *const mutations[] = {
    change_part,  change_part,    change_part,       change_part,    change_part, copy_part,
    copy_part,    swap_parts,     change_dialect,    resize_entries, change_head, change_head,
    change_token, change_token,   change_token,      change_ops,     change_ops,  change_ops,
    change_order, change_version, resize_properties, change_section, copy_part,   drop_or_repeat_token,
};

static void mutate(struct mutation *m) {
  mutations[below(m, sizeof mutations / sizeof mutations[0])](m);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  struct artifact a = {0};
  struct mutation m = {.a = &a, .other = &a, .random = fuzz_random_of(seed)};
  uint8_t *copy = malloc(size + 1);
  size_t changed = 0;
  if (copy != NULL && size > 0 && below(&m, 6) != 0) {
    memcpy(copy, data, size); /* the parts point into it while `data` is written */
    if (artifact_take_apart(&a, copy, size)) {
      for (size_t n = 1 + below(&m, 3); n > 0; n--) {
        mutate(&m);
      }
      changed = artifact_write(&a, data, max_size);
    }
    artifact_release(&a);
  }
  if (changed == 0 && copy != NULL && size > 0) {
    memcpy(data, copy, size);
  }
  free(copy);
  return changed > 0 ? changed : LLVMFuzzerMutate(data, size, max_size);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
                                 size_t max_size, unsigned seed) {
  static mutate_fn *const crossings[] = {copy_part,  copy_part,      resize_entries, resize_properties,
                                         change_ops, change_section, change_ops};
  struct artifact a = {0}, b = {0};
  struct mutation m = {.a = &a, .other = &b, .random = fuzz_random_of(seed)};
  size_t size = 0;
  if (artifact_take_apart(&a, data1, size1) && artifact_take_apart(&b, data2, size2)) {
    for (size_t n = 1 + below(&m, 6); n > 0; n--) {
      crossings[below(&m, sizeof crossings / sizeof crossings[0])](&m);
    }
    size = artifact_write(&a, out, max_size);
  }
  artifact_release(&a);
  artifact_release(&b);
  return size;
}
