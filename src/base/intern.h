/* String interning: equal strings get equal 32-bit ids. Id 0 is the empty string and means "none". */
#ifndef RIDGELINE_BASE_INTERN_H
#define RIDGELINE_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

struct intern_entry {
  const char *text; /* NUL-terminated, lives in the arena */
  uint32_t length;
  uint32_t hash;
};

struct intern {
  struct arena *arena; /* borrowed */
  VEC(struct intern_entry) entries;
  uint32_t *slots; /* open addressing, 0 = empty, else entry index */
  uint32_t slot_count;
};

/* `arena` must outlive the table. */
bool intern_init(struct intern *table, struct arena *arena);
void intern_release(struct intern *table);
/* Returns the id of (text, length), adding it when new; UINT32_MAX when memory is exhausted. */
uint32_t intern_add(struct intern *table, const char *text, size_t length);
/* Same for a NUL-terminated string. */
uint32_t intern_add_cstr(struct intern *table, const char *text);
/* Id of a present string, or 0. */
uint32_t intern_find(const struct intern *table, const char *text, size_t length);
static inline const char *intern_text(const struct intern *table, uint32_t id) {
  return table->entries.data[id].text;
}
static inline size_t intern_length(const struct intern *table, uint32_t id) {
  return table->entries.data[id].length;
}

/* 64-bit hash of a byte string, the one used by every table here. Not for hostile keys of unbounded number. */
uint64_t hash_bytes(const void *data, size_t size);
static inline uint64_t hash_mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9E3779B97F4A7C15ull;
  return h ^ (h >> 32);
}

#endif
