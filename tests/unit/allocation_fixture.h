/* Makes the n-th allocation of the code under test fail. The linker sends malloc, calloc, realloc, strdup, scandir
 * and free here (-Wl,--wrap, see tests/CMakeLists.txt); live blocks are counted, so that a leak shows without a sanitizer. */
#ifndef RIDGELINE_TESTS_ALLOCATION_FIXTURE_H
#define RIDGELINE_TESTS_ALLOCATION_FIXTURE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void __wrap_free(void *block);
char *__wrap_strdup(const char *text);
typedef int scandir_filter(const struct dirent *entry);
typedef int scandir_compare(const struct dirent **a, const struct dirent **b);
int __real_scandir(const char *path, struct dirent ***list, scandir_filter *filter, scandir_compare *compare);
int __wrap_scandir(const char *path, struct dirent ***list, scandir_filter *filter, scandir_compare *compare);

static struct {
  unsigned long
      until_failure; /* this many allocations more succeed, the next fails, and all after it too when `stays` */
  bool is_armed, stays, has_failed;
  long live; /* blocks allocated and not freed */
} allocation;

static inline bool allocation_fails(void) {
  if (!allocation.is_armed || (allocation.has_failed && !allocation.stays)) {
    return false;
  }
  if (allocation.until_failure > 0) {
    allocation.until_failure--;
    return false;
  }
  allocation.has_failed = true;
  return true;
}

void *__wrap_malloc(size_t size) {
  void *block = allocation_fails() ? NULL : __real_malloc(size);
  allocation.live += block != NULL;
  return block;
}

void *__wrap_calloc(size_t count, size_t size) {
  void *block = allocation_fails() ? NULL : __real_calloc(count, size);
  allocation.live += block != NULL;
  return block;
}

void *__wrap_realloc(void *block, size_t size) {
  if (allocation_fails()) {
    return NULL;
  }
  void *moved = __real_realloc(block, size);
  allocation.live += block == NULL && moved != NULL;
  return moved;
}

void __wrap_free(void *block) {
  allocation.live -= block != NULL;
  __real_free(block);
}

char *__wrap_strdup(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = __wrap_malloc(size);
  return copy != NULL ? memcpy(copy, text, size) : NULL;
}

/* What the C library allocates in it does not fail, but its caller frees it. */
int __wrap_scandir(const char *path, struct dirent ***list, scandir_filter *filter, scandir_compare *compare) {
  int count = __real_scandir(path, list, filter, compare);
  allocation.live += count >= 0 ? count + (*list != NULL) : 0;
  return count;
}

/* Lets `successes` allocations pass and fails the next one, or all from there on. */
static inline void allocation_arm(unsigned long successes, bool stays) {
  allocation.until_failure = successes;
  allocation.is_armed = true;
  allocation.stays = stays;
  allocation.has_failed = false;
}

/* Ends it; true when an allocation failed meanwhile. */
static inline bool allocation_disarm(void) {
  allocation.is_armed = false;
  return allocation.has_failed;
}

#endif
