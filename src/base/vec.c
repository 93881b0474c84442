/* Growth of the VEC arrays that every module uses for its lists. */
#include "base/vec.h"

/* The first room of a list, and up to where it doubles; longer lists grow by half. */
enum { MIN_CAPACITY = 8, MIN_BYTES = 256, DOUBLING_BYTES = 1 << 14 };

bool vec_reserve_bytes(void **data, size_t *capacity, size_t needed, size_t size) {
  if (needed <= *capacity) {
    return true;
  }
  size_t wanted = *capacity + (*capacity * size < DOUBLING_BYTES ? *capacity : *capacity / 2);
  size_t least = MIN_BYTES / size > MIN_CAPACITY ? MIN_BYTES / size : MIN_CAPACITY;
  if (wanted < least) {
    wanted = least;
  }
  if (wanted < needed) {
    wanted = needed;
  }
  size_t bytes;
  if (__builtin_mul_overflow(wanted, size, &bytes)) {
    return false;
  }
  void *grown = realloc(*data, bytes);
  if (grown == NULL) {
    return false;
  }
  *data = grown;
  *capacity = wanted;
  return true;
}
