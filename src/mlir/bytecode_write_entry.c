/* Entries of the bytecode that is written: tokens, equal entries found by hash, and their numbers, small ones for those that
 * are used often. Path: bytecode_write_vhlo.c, bytecode_write_builtin.c, bytecode_write_sdy.c → here → bytecode_write_container.c. */
#include <stdarg.h>
#include <stdlib.h>

#include "mlir/bytecode_write_int.h"

enum { DEPTH_MAX = 512 };

bool bw_refuse(struct bw_writer *w, const char *format, ...) {
  if (w->why.length == 0) {
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&w->why, format, args);
    va_end(args);
  }
  return false;
}

bool bw_deeper(struct bw_writer *w) {
  if (w->depth >= DEPTH_MAX) {
    w->limit = true;
    return bw_refuse(w, "it is nested deeper than %d levels", DEPTH_MAX);
  }
  w->depth++;
  return true;
}

/* ---- tokens --------------------------------------------------------------------------------------------------------- */

static void push(struct bw_writer *w, enum bw_token_kind kind, uint64_t value, uint32_t since) {
  struct bw_token token = {value, kind, since};
  if (!vec_push(&w->stack, token)) {
    w->out_of_memory = true;
  }
}

void bw_varint(struct bw_writer *w, uint64_t value) {
  push(w, BW_VARINT, value, 0);
}

void bw_svarint(struct bw_writer *w, int64_t value) {
  push(w, BW_SVARINT, (uint64_t)value, 0);
}

void bw_byte(struct bw_writer *w, uint8_t value) {
  push(w, BW_BYTE, value, 0);
}

void bw_reference(struct bw_writer *w, struct bw_ref ref) {
  push(w, BW_REF, ref.id, ref.since);
}

void bw_flagged(struct bw_writer *w, struct bw_ref ref) {
  if (ref.id) {
    push(w, BW_FLAGGED_REF, ref.id, ref.since);
  } else {
    bw_varint(w, 0);
  }
}

void bw_string(struct bw_writer *w, const char *text, size_t length) {
  uint32_t id = intern_add(&w->strings, text, length);
  if (id == UINT32_MAX) {
    w->out_of_memory = true;
  } else {
    push(w, BW_STRING, id, 0);
  }
}

static void push_blob(struct bw_writer *w, enum bw_token_kind kind, const void *data, uint64_t size) {
  struct bw_blob blob = {data, size};
  if (!vec_push(&w->blobs, blob)) {
    w->out_of_memory = true;
    return;
  }
  push(w, kind, w->blobs.count - 1, 0);
}

void bw_blob(struct bw_writer *w, const void *data, uint64_t size) {
  push_blob(w, BW_BLOB, data, size);
}

void bw_svarints(struct bw_writer *w, const int64_t *values, size_t count) {
  bw_varint(w, count);
  for (size_t i = 0; i < count; i++) {
    bw_svarint(w, values[i]);
  }
}

void bw_bits(struct bw_writer *w, uint64_t bits, unsigned width) {
  bits = width < 64 ? bits & ((UINT64_C(1) << width) - 1) : bits;
  if (width <= 8) {
    bw_byte(w, (uint8_t)bits);
  } else {
    bw_svarint(w, (int64_t)bits);
  }
}

/* One bit per truth value, the lowest first. */
static uint8_t *packed(struct bw_writer *w, const uint8_t *values, uint64_t count) {
  uint8_t *bytes = arena_calloc(&w->scratch, (size_t)(count / 8 + 1), 1);
  for (uint64_t i = 0; bytes && i < count; i++) {
    bytes[i / 8] |= (uint8_t)((values[i] & 1) << (i % 8));
  }
  return bytes;
}

static uint8_t *without_stray_bits(struct bw_writer *w, const uint8_t *values, uint64_t count, unsigned bits) {
  uint8_t *bytes = arena_alloc(&w->scratch, (size_t)count);
  for (uint64_t i = 0; bytes && i < count; i++) {
    bytes[i] = (uint8_t)(values[i] & ((1u << bits) - 1));
  }
  return bytes;
}

/* All truth values equal: one byte 0 or 0xFF; a single one: 0 or 1; others are packed. */
bool bw_elements(struct bw_writer *w, const struct ir_attr_data *data, enum dtype dtype) {
  static const uint8_t all_false = 0, all_true = 0xFF;
  uint64_t size = data->data_size;
  const uint8_t *bytes = data->data;
  if (dtype == DTYPE_I1 && data->is_splat && size == 1) {
    bytes = bytes[0] ? &all_true : &all_false;
  } else if (dtype == DTYPE_I1 && size > 1) {
    bytes = packed(w, bytes, size);
    size = size / 8 + (size % 8 != 0);
  } else if (dtype_bits(dtype) < 8 && size > 0) {
    bytes = without_stray_bits(w, bytes, size, dtype_bits(dtype));
  }
  if (bytes == NULL && size > 0) {
    w->out_of_memory = true;
    return false;
  }
  bw_blob(w, bytes, size);
  return true;
}

/* ---- equal entries -------------------------------------------------------------------------------------------------- */

static bool is_blob(const struct bw_token *token) {
  return token->kind == BW_BLOB || token->kind == BW_TEXT;
}

static uint64_t hash_tokens(const struct bw_writer *w, const struct bw_token *tokens, size_t count, uint64_t seed) {
  uint64_t hash = hash_mix(seed, count);
  for (size_t i = 0; i < count; i++) {
    uint64_t value = tokens[i].value;
    if (is_blob(&tokens[i])) {
      const struct bw_blob *blob = &w->blobs.data[value];
      value = blob->size ? hash_bytes(blob->data, (size_t)blob->size) : 0;
    }
    hash = hash_mix(hash_mix(hash, tokens[i].kind), value);
  }
  return hash;
}

static bool is_same_token(const struct bw_writer *w, const struct bw_token *a, const struct bw_token *b) {
  if (a->kind != b->kind || !is_blob(a)) {
    return a->kind == b->kind && a->value == b->value;
  }
  const struct bw_blob *x = &w->blobs.data[a->value], *y = &w->blobs.data[b->value];
  return x->size == y->size && (x->size == 0 || memcmp(x->data, y->data, (size_t)x->size) == 0);
}

static bool is_same(const struct bw_writer *w, const struct bw_entry *entry, const struct bw_entry *other,
                    size_t mark) {
  if (entry->kind != other->kind || entry->dialect != other->dialect || entry->is_text != other->is_text
      || entry->count != other->count) {
    return false;
  }
  for (uint32_t i = 0; i < entry->count; i++) {
    if (!is_same_token(w, &w->tokens.data[entry->first + i], &w->stack.data[mark + i])) {
      return false;
    }
  }
  return true;
}

/* The entry of the tokens since `mark`, which go: one that is there already, or a new one. */
static uint32_t enter(struct bw_writer *w, size_t mark, struct bw_entry entry) {
  size_t count = w->stack.count - mark;
  uint64_t seed = (uint64_t)entry.kind << 16 | (uint64_t)entry.dialect << 8 | entry.is_text;
  uint64_t hash = hash_tokens(w, w->stack.data + mark, count, seed);
  uint32_t newest = 0;
  entry.count = (uint32_t)count;
  if (map_get(&w->entry_index, hash, &newest)) {
    for (uint32_t id = newest; id; id = w->entries.data[id].next) {
      if (is_same(w, &w->entries.data[id], &entry, mark)) {
        return id;
      }
    }
  }
  entry.first = (uint32_t)w->tokens.count;
  entry.next = newest;
  if (w->tokens.count + count > UINT32_MAX || !vec_reserve(&w->tokens, w->tokens.count + count + 1)
      || !vec_push(&w->entries, entry) || !map_set(&w->entry_index, hash, (uint32_t)w->entries.count - 1)) {
    w->out_of_memory = true;
    return 0;
  }
  if (count) {
    memcpy(w->tokens.data + w->tokens.count, w->stack.data + mark, count * sizeof(struct bw_token));
  }
  w->tokens.count += count;
  return (uint32_t)w->entries.count - 1;
}

struct bw_ref bw_finish(struct bw_writer *w, size_t mark, enum bw_kind kind, enum bw_dialect dialect, uint32_t since) {
  if (w->out_of_memory) {
    return bw_drop(w, mark);
  }
  for (size_t i = mark; i < w->stack.count; i++) {
    since = w->stack.data[i].since > since ? w->stack.data[i].since : since;
  }
  struct bw_ref ref = {enter(w, mark, (struct bw_entry){.kind = (uint8_t)kind, .dialect = (uint8_t)dialect}), since};
  w->stack.count = mark;
  return ref;
}

struct bw_ref bw_text_entry(struct bw_writer *w, enum bw_kind kind, enum bw_dialect dialect, const char *text,
                            size_t length) {
  size_t mark = w->stack.count;
  const char *copy = arena_strndup(&w->scratch, text, length);
  if (copy == NULL) {
    w->out_of_memory = true;
    return bw_drop(w, mark);
  }
  push_blob(w, BW_TEXT, copy, length);
  struct bw_entry entry = {.kind = (uint8_t)kind, .dialect = (uint8_t)dialect, .is_text = true};
  struct bw_ref ref = {w->out_of_memory ? 0 : enter(w, mark, entry), 0};
  w->stack.count = mark;
  return ref;
}

/* ---- numbers -------------------------------------------------------------------------------------------------------- */

/* What is sorted: entries of one kind, or names. */
struct ranked {
  uint32_t index, uses;
  uint8_t dialect;
};

static int compare_uses(const void *a, const void *b) {
  const struct ranked *x = a, *y = b;
  if (x->uses != y->uses) {
    return x->uses > y->uses ? -1 : 1;
  }
  return x->index < y->index ? -1 : 1;
}

static int compare_dialects(const void *a, const void *b) {
  const struct ranked *x = a, *y = b;
  return x->dialect != y->dialect ? (x->dialect < y->dialect ? -1 : 1) : compare_uses(a, b);
}

/* Often used ones first; among those whose numbers are equally long, each dialect together. */
static void rank(struct ranked *items, size_t count) {
  if (count == 0) {
    return;
  }
  qsort(items, count, sizeof *items, compare_uses);
  for (size_t begin = 0, end = 1u << 7; begin < count; begin = end, end <<= 7) {
    qsort(items + begin, (end < count ? end : count) - begin, sizeof *items, compare_dialects);
  }
}

static void use(struct bw_writer *w, const struct bw_token *token) {
  if (token->kind == BW_REF || token->kind == BW_FLAGGED_REF) {
    w->entries.data[token->value].uses++;
  }
}

static bool number_kind(struct bw_writer *w, enum bw_kind kind, struct ranked *items) {
  size_t count = 0;
  for (uint32_t id = 1; id < w->entries.count; id++) {
    const struct bw_entry *entry = &w->entries.data[id];
    if (entry->kind == kind) {
      items[count++] = (struct ranked){id, entry->uses, entry->dialect};
      w->dialect_numbers[entry->dialect] |= kind != BW_PROPERTIES;
    }
  }
  if (kind != BW_PROPERTIES) {
    rank(items, count);
  }
  if (!vec_reserve(&w->order[kind], count + 1)) {
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    w->entries.data[items[i].index].number = (uint32_t)i;
    w->order[kind].data[i] = items[i].index;
  }
  w->order[kind].count = count;
  return true;
}

static bool number_names(struct bw_writer *w, struct ranked *items) {
  size_t count = w->names.count;
  for (size_t i = 0; i < count; i++) {
    items[i] = (struct ranked){(uint32_t)i, w->names.data[i].uses, w->names.data[i].dialect};
    w->dialect_numbers[w->names.data[i].dialect] = 1;
  }
  rank(items, count);
  if (!vec_reserve(&w->name_order, count + 1)) {
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    w->names.data[items[i].index].number = (uint32_t)i;
    w->name_order.data[i] = items[i].index;
  }
  w->name_order.count = count;
  return true;
}

bool bw_number_entries(struct bw_writer *w) {
  size_t most = w->entries.count > w->names.count ? w->entries.count : w->names.count;
  struct ranked *items = malloc((most + 1) * sizeof *items);
  bool ok = items != NULL;
  for (size_t i = 0; i < w->tokens.count; i++) {
    use(w, &w->tokens.data[i]);
  }
  for (int kind = 0; ok && kind < BW_KIND_COUNT; kind++) {
    ok = number_kind(w, (enum bw_kind)kind, items);
  }
  ok = ok && number_names(w, items);
  uint32_t number = 0;
  for (int dialect = 0; dialect < BW_DIALECT_COUNT; dialect++) {
    w->dialect_numbers[dialect] = w->dialect_numbers[dialect] ? ++number : 0;
  }
  free(items);
  w->out_of_memory |= !ok;
  return ok;
}
