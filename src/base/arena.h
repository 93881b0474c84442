/* Arena: memory with one lifetime, released at once. All longer-lived data of a module, a work graph or a chip
 * database hangs on one arena. Not thread-safe: one arena, one thread. */
#ifndef RIDGELINE_BASE_ARENA_H
#define RIDGELINE_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_block;

struct arena {
  struct arena_block *head; /* newest block */
  char *cursor; /* next free byte in head */
  char *limit; /* end of head */
  size_t allocated_bytes; /* sum over blocks */
  size_t budget_bytes; /* 0 = unlimited; allocation past it fails */
  bool is_exhausted; /* an allocation has failed; stays set until the release */
};

void arena_init(struct arena *arena, size_t budget_bytes);
void arena_release(struct arena *arena);
/* Uninitialised memory aligned to 16, or NULL when the budget or the system is exhausted. size 0 gives a valid pointer. */
void *arena_alloc(struct arena *arena, size_t size);
/* Zeroed memory for count * size bytes; NULL on overflow as well. */
void *arena_calloc(struct arena *arena, size_t count, size_t size);
/* NUL-terminated copy of (text, length). */
char *arena_strndup(struct arena *arena, const char *text, size_t length);

#endif
