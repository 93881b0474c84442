/* Arena allocator: bump allocation in a chain of blocks. Everything that lives as long as a module, a work graph or a
 * chip database is allocated here. */
#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
  struct arena_block *next;
  size_t size;
};

enum { ALIGNMENT = 16, MIN_BLOCK_BYTES = 4096, MAX_BLOCK_BYTES = 4 << 20 };
static_assert(sizeof(struct arena_block) % ALIGNMENT == 0, "block payload keeps the alignment of malloc");

void arena_init(struct arena *arena, size_t budget_bytes) {
  *arena = (struct arena){.budget_bytes = budget_bytes};
}

void arena_release(struct arena *arena) {
  for (struct arena_block *block = arena->head; block != NULL;) {
    struct arena_block *next = block->next;
    free(block);
    block = next;
  }
  arena_init(arena, arena->budget_bytes);
}

/* Bytes to ask the system for so that `payload` bytes fit; 0 when the budget forbids it. Blocks double with the arena,
 * so their number is logarithmic and at most half of the memory is unused. */
static size_t block_size(const struct arena *arena, size_t payload) {
  size_t least = payload + sizeof(struct arena_block);
  size_t size = arena->allocated_bytes;
  if (size < MIN_BLOCK_BYTES) {
    size = MIN_BLOCK_BYTES;
  }
  if (size > MAX_BLOCK_BYTES) {
    size = MAX_BLOCK_BYTES;
  }
  if (size < least) {
    size = least;
  }
  if (arena->budget_bytes != 0) {
    size_t left = arena->budget_bytes > arena->allocated_bytes ? arena->budget_bytes - arena->allocated_bytes : 0;
    if (least > left) {
      return 0;
    }
    if (size > left) {
      size = left;
    }
  }
  return size;
}

static void *alloc_in_new_block(struct arena *arena, size_t size) {
  size_t total = block_size(arena, size);
  struct arena_block *block = total == 0 ? NULL : malloc(total);
  if (block == NULL) {
    arena->is_exhausted = true;
    return NULL;
  }
  block->size = total;
  arena->allocated_bytes += total;
  char *payload = (char *)(block + 1);
  char *end = (char *)block + total;
  bool keeps_old_room = arena->head != NULL && (size_t)(end - payload) - size < (size_t)(arena->limit - arena->cursor);
  if (keeps_old_room) { /* the current block still has more room than this one will have */
    block->next = arena->head->next;
    arena->head->next = block;
    return payload;
  }
  block->next = arena->head;
  arena->head = block;
  arena->cursor = payload + size;
  arena->limit = end;
  return payload;
}

void *arena_alloc(struct arena *arena, size_t size) {
  if (size > SIZE_MAX - sizeof(struct arena_block) - ALIGNMENT) {
    arena->is_exhausted = true;
    return NULL;
  }
  size_t rounded = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  if (arena->head != NULL && rounded <= (size_t)(arena->limit - arena->cursor)) {
    void *result = arena->cursor;
    arena->cursor += rounded;
    return result;
  }
  return alloc_in_new_block(arena, rounded);
}

void *arena_calloc(struct arena *arena, size_t count, size_t size) {
  size_t total;
  if (__builtin_mul_overflow(count, size, &total)) {
    arena->is_exhausted = true;
    return NULL;
  }
  void *result = arena_alloc(arena, total);
  return result == NULL ? NULL : memset(result, 0, total);
}

char *arena_strndup(struct arena *arena, const char *text, size_t length) {
  if (length == SIZE_MAX) {
    arena->is_exhausted = true;
    return NULL;
  }
  char *copy = arena_alloc(arena, length + 1);
  if (copy == NULL) {
    return NULL;
  }
  if (length > 0) {
    memcpy(copy, text, length);
  }
  copy[length] = '\0';
  return copy;
}
