/* Hash map from 64-bit keys to 32-bit values (open addressing, linear probing). Key 0 is allowed. */
#ifndef RIDGELINE_BASE_MAP_H
#define RIDGELINE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
  uint64_t key;
  uint32_t value;
  uint32_t used;
};

struct map {
  struct map_slot *slots;
  size_t slot_count; /* power of two, or 0 */
  size_t count;
};

/* A zeroed struct is an empty map. */
void map_release(struct map *map);
void map_clear(struct map *map);
/* Room for `count` keys, so that adding them does not move the others; false when memory is exhausted. */
bool map_reserve(struct map *map, size_t count);
/* Inserts or overwrites; false when memory is exhausted. */
bool map_set(struct map *map, uint64_t key, uint32_t value);
/* True and *value set when present. */
bool map_get(const struct map *map, uint64_t key, uint32_t *value);

#endif
