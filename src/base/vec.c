/* Growth of the VEC arrays that every module uses for its lists. */
#include "base/vec.h"

enum { MIN_CAPACITY = 8 };

bool vec_reserve_bytes(void **data, size_t *capacity, size_t needed, size_t size) {
  if (needed <= *capacity) {
    return true;
  }
  size_t wanted = *capacity + *capacity / 2;
  if (wanted < MIN_CAPACITY) {
    wanted = MIN_CAPACITY;
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
