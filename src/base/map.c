/* Integer hash map, used wherever ids or hashes are looked up by something that is not a dense index. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"

enum { MIN_SLOTS = 16 };

void map_release(struct map *map) {
  free(map->slots);
  *map = (struct map){0};
}

void map_clear(struct map *map) {
  if (map->count > 0) {
    memset(map->slots, 0, map->slot_count * sizeof *map->slots);
  }
  map->count = 0;
}

/* The slot that holds `key`, or the free slot where it belongs; slot_count > 0 and never full. */
static struct map_slot *find_slot(struct map_slot *slots, size_t slot_count, uint64_t key) {
  size_t mask = slot_count - 1;
  size_t i = (size_t)hash_mix(0, key) & mask;
  while (slots[i].used && slots[i].key != key) {
    i = (i + 1) & mask;
  }
  return &slots[i];
}

/* `slot_count`: a power of two, more than there are. */
static bool resize(struct map *map, size_t slot_count) {
  struct map_slot *slots = calloc(slot_count, sizeof *slots);
  if (slots == NULL) {
    return false;
  }
  for (size_t i = 0; i < map->slot_count; i++) {
    if (map->slots[i].used) {
      *find_slot(slots, slot_count, map->slots[i].key) = map->slots[i];
    }
  }
  free(map->slots);
  map->slots = slots;
  map->slot_count = slot_count;
  return true;
}

static bool grow(struct map *map) {
  size_t slot_count = map->slot_count == 0 ? MIN_SLOTS : map->slot_count * 2;
  return slot_count > map->slot_count && resize(map, slot_count);
}

bool map_reserve(struct map *map, size_t count) {
  size_t slot_count = map->slot_count == 0 ? MIN_SLOTS : map->slot_count;
  while (slot_count / 3 * 2 <= count) {
    if (slot_count > SIZE_MAX / 2) {
      return false;
    }
    slot_count *= 2;
  }
  return slot_count == map->slot_count || resize(map, slot_count);
}

bool map_set(struct map *map, uint64_t key, uint32_t value) {
  struct map_slot *slot = map->slot_count == 0 ? NULL : find_slot(map->slots, map->slot_count, key);
  if (slot != NULL && slot->used) {
    slot->value = value;
    return true;
  }
  if (slot == NULL || (map->count + 1) * 3 > map->slot_count * 2) {
    if (!grow(map)) {
      return false;
    }
    slot = find_slot(map->slots, map->slot_count, key);
  }
  *slot = (struct map_slot){.key = key, .value = value, .used = 1};
  map->count++;
  return true;
}

bool map_get(const struct map *map, uint64_t key, uint32_t *value) {
  if (map->count == 0) {
    return false;
  }
  const struct map_slot *slot = find_slot(map->slots, map->slot_count, key);
  if (!slot->used) {
    return false;
  }
  *value = slot->value;
  return true;
}
