/* Growable arrays: `VEC(T) v = {0};` then vec_push(&v, x), v.data[i], v.count. Heap-backed; release with vec_release.
 * Growth failure is reported by the return value (false), never by aborting; contents stay intact then. */
#ifndef RIDGELINE_BASE_VEC_H
#define RIDGELINE_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define VEC(T)                                                                                                         \
  struct {                                                                                                             \
    T *data;                                                                                                           \
    size_t count;                                                                                                      \
    size_t capacity;                                                                                                   \
  }

/* Makes room for `needed` elements of `size` bytes; grows by 1.5. */
bool vec_reserve_bytes(void **data, size_t *capacity, size_t needed, size_t size);

#define vec_reserve(v, needed)                                                                                         \
  ((size_t)(needed) <= (v)->capacity                                                                                   \
   || vec_reserve_bytes((void **)&(v)->data, &(v)->capacity, (size_t)(needed), sizeof *(v)->data))
#define vec_push(v, x) (vec_reserve((v), (v)->count + 1) ? ((v)->data[(v)->count++] = (x), true) : false)
#define vec_clear(v) ((void)((v)->count = 0))
#define vec_release(v) (free((v)->data), (v)->data = NULL, (v)->count = (v)->capacity = 0)

#endif
