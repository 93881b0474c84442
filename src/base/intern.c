/* Interning of names: the parser turns every identifier into a 32-bit id here, later passes compare ids. Also home of
 * the hash that all tables use. */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_SLOTS = 256 };

static uint64_t load_u64(const unsigned char *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

/* Both halves of the 128-bit product: every input bit reaches every output bit. */
static uint64_t fold_multiply(uint64_t a, uint64_t b) {
  __extension__ typedef unsigned __int128 u128;
  u128 product = (u128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const void *data, size_t size) {
  const uint64_t step_factor = 0xD6E8FEB86659FD93ull;
  const uint64_t end_factor = 0xA0761D6478BD642Full;
  const unsigned char *bytes = data;
  uint64_t h = (uint64_t)size * 0x9E3779B97F4A7C15ull + 0x2545F4914F6CDD1Dull;
  size_t left = size;
  for (; left >= 8; left -= 8, bytes += 8) {
    h = fold_multiply(h ^ load_u64(bytes), step_factor);
  }
  uint64_t tail = 0;
  if (left > 0 && size >= 8) {
    tail = load_u64(bytes + left - 8); /* overlaps the last whole word; the size in the seed tells the cases apart */
  } else {
    for (size_t i = 0; i < left; i++) {
      tail |= (uint64_t)bytes[i] << (8 * i);
    }
  }
  return fold_multiply(h ^ tail, end_factor);
}

/* The slot of the string, or the free slot where it belongs. */
static uint32_t find_slot(const struct intern *table, const char *text, size_t length, uint32_t hash) {
  uint32_t mask = table->slot_count - 1;
  uint32_t i = hash & mask;
  for (; table->slots[i] != 0; i = (i + 1) & mask) {
    const struct intern_entry *entry = &table->entries.data[table->slots[i]];
    if (entry->hash == hash && entry->length == length && memcmp(entry->text, text, length) == 0) {
      break;
    }
  }
  return i;
}

static bool grow_slots(struct intern *table) {
  if (table->slot_count > UINT32_MAX / 2) {
    return false;
  }
  uint32_t slot_count = table->slot_count == 0 ? MIN_SLOTS : table->slot_count * 2;
  uint32_t *slots = calloc(slot_count, sizeof *slots);
  if (slots == NULL) {
    return false;
  }
  for (uint32_t id = 1; id < table->entries.count; id++) {
    uint32_t i = table->entries.data[id].hash & (slot_count - 1);
    while (slots[i] != 0) {
      i = (i + 1) & (slot_count - 1);
    }
    slots[i] = id;
  }
  free(table->slots);
  table->slots = slots;
  table->slot_count = slot_count;
  return true;
}

bool intern_init(struct intern *table, struct arena *arena) {
  *table = (struct intern){.arena = arena};
  if (!grow_slots(table) || !vec_push(&table->entries, ((struct intern_entry){.text = ""}))) {
    intern_release(table);
    return false;
  }
  return true;
}

void intern_release(struct intern *table) {
  free(table->slots);
  table->slots = NULL;
  table->slot_count = 0;
  vec_release(&table->entries);
}

uint32_t intern_add(struct intern *table, const char *text, size_t length) {
  if (length == 0) {
    return 0;
  }
  if (length >= UINT32_MAX) {
    return UINT32_MAX;
  }
  uint32_t hash = (uint32_t)hash_bytes(text, length);
  uint32_t slot = find_slot(table, text, length, hash);
  if (table->slots[slot] != 0) {
    return table->slots[slot];
  }
  if (table->entries.count * 2 >= table->slot_count) {
    if (!grow_slots(table)) {
      return UINT32_MAX;
    }
    slot = find_slot(table, text, length, hash);
  }
  struct intern_entry entry = {.length = (uint32_t)length, .hash = hash};
  if (!vec_reserve(&table->entries, table->entries.count + 1)) {
    return UINT32_MAX;
  }
  entry.text = arena_strndup(table->arena, text, length);
  if (entry.text == NULL) {
    return UINT32_MAX;
  }
  uint32_t id = (uint32_t)table->entries.count;
  table->entries.data[table->entries.count++] = entry;
  table->slots[slot] = id;
  return id;
}

uint32_t intern_add_cstr(struct intern *table, const char *text) {
  return intern_add(table, text, strlen(text));
}

uint32_t intern_find(const struct intern *table, const char *text, size_t length) {
  if (length == 0 || length >= UINT32_MAX) {
    return 0;
  }
  return table->slots[find_slot(table, text, length, (uint32_t)hash_bytes(text, length))];
}
