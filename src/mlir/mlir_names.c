/* Scoped names of the parser. See mlir_names.h. */
#include "mlir/mlir_names.h"

#include <stdlib.h>

#include "base/intern.h"

void name_table_release(struct name_table *table) {
  vec_release(&table->entries);
  free(table->slots);
  table->slots = NULL;
  table->slot_count = 0;
}

struct name_key name_scan(struct lexer *lx) {
  const char *p = lx->cursor;
  struct name_key key = {.text = p};
  uint64_t word = 0;
  unsigned classes = lex_is(*p, LEX_DIGIT) ? LEX_DIGIT : LEX_SUFFIX;
  uint64_t hash = 0;
  for (; lex_is(*p, classes); p++) {
    if (*p == '-' && p[1] == '>') {
      break;
    }
    if (p != key.text && ((p - key.text) & 7) == 0) {
      hash = hash_mix(hash, word);
      word = 0;
    }
    word = word << 8 | (uint8_t)*p;
  }
  key.length = (uint32_t)(p - key.text);
  key.packed = key.length <= 8 ? word : hash_mix(hash, word);
  lx->cursor = p;
  return key;
}

struct name_key name_key_of(struct lex_span span) {
  struct name_key key = {.text = span.text, .length = (uint32_t)span.length};
  uint64_t word = 0, hash = 0;
  for (size_t i = 0; i < span.length; i++) {
    if (i != 0 && (i & 7) == 0) {
      hash = hash_mix(hash, word);
      word = 0;
    }
    word = word << 8 | (uint8_t)span.text[i];
  }
  key.packed = key.length <= 8 ? word : hash_mix(hash, word);
  return key;
}

static uint32_t slot_of(const struct name_table *table, const struct name_key *key, uint32_t scope) {
  uint64_t h =
      (key->packed ^ (uint64_t)scope * 0xD6E8FEB86659FD93ull ^ (uint64_t)key->length << 56) * 0x9E3779B97F4A7C15ull;
  return (uint32_t)(h >> 32) & (table->slot_count - 1);
}

static bool same_key(const struct name_key *a, const struct name_key *b) {
  return a->packed == b->packed && a->length == b->length
         && (a->length <= 8 || memcmp(a->text, b->text, a->length) == 0);
}

struct name_entry *name_find(const struct name_table *table, const struct name_key *key, uint32_t scope) {
  if (table->slot_count == 0) {
    return NULL;
  }
  for (uint32_t slot = slot_of(table, key, scope);; slot = (slot + 1) & (table->slot_count - 1)) {
    uint32_t index = table->slots[slot];
    if (index == 0) {
      return NULL;
    }
    struct name_entry *entry = &table->entries.data[index - 1];
    if (entry->scope == scope && same_key(&entry->key, key)) {
      return entry;
    }
  }
}

static void place(struct name_table *table, uint32_t index) {
  const struct name_entry *entry = &table->entries.data[index];
  uint32_t slot = slot_of(table, &entry->key, entry->scope);
  while (table->slots[slot]) {
    slot = (slot + 1) & (table->slot_count - 1);
  }
  table->slots[slot] = index + 1;
}

/* Entries are placed oldest first, so the newest is always the last of its probe sequence and can be taken out alone. */
static bool grow(struct name_table *table) {
  uint32_t count = table->slot_count ? table->slot_count * 2 : 1024;
  uint32_t *slots = count ? calloc(count, sizeof *slots) : NULL;
  if (slots == NULL) {
    return false;
  }
  free(table->slots);
  table->slots = slots;
  table->slot_count = count;
  for (uint32_t i = 0; i < table->entries.count; i++) {
    place(table, i);
  }
  return true;
}

struct name_entry *name_add(struct name_table *table, const struct name_key *key, uint32_t scope) {
  if (table->entries.count * 2 >= table->slot_count && !grow(table)) {
    return NULL;
  }
  struct name_entry entry = {.key = *key, .scope = scope, .count = 1};
  if (!vec_push(&table->entries, entry)) {
    return NULL;
  }
  place(table, (uint32_t)table->entries.count - 1);
  return &table->entries.data[table->entries.count - 1];
}

void name_table_cut(struct name_table *table, size_t count) {
  while (table->entries.count > count) {
    uint32_t index = (uint32_t)table->entries.count;
    const struct name_entry *entry = &table->entries.data[index - 1];
    uint32_t slot = slot_of(table, &entry->key, entry->scope);
    while (table->slots[slot] != index) {
      slot = (slot + 1) & (table->slot_count - 1);
    }
    table->slots[slot] = 0;
    table->entries.count--;
  }
}
