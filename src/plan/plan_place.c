/* Free stretches of SRAM (plan_place.h): an ascending list of holes. */
#include "plan/plan_place.h"

#include <string.h>

bool plan_place_init(struct plan_place *place, uint64_t sram_bytes) {
  uint64_t bytes = sram_bytes / PLAN_WORD_BYTES * PLAN_WORD_BYTES;
  *place = (struct plan_place){.free_bytes = bytes};
  return vec_push(&place->holes, ((struct core_segment){0, bytes}));
}

void plan_place_release(struct plan_place *place) {
  vec_release(&place->holes);
}

static void remove_hole(struct plan_place *place, size_t index) {
  place->holes.count--;
  memmove(&place->holes.data[index], &place->holes.data[index + 1],
          (place->holes.count - index) * sizeof *place->holes.data);
}

/* Takes `bytes` of a hole that has them, from its end. */
static struct core_segment cut(struct plan_place *place, size_t index, uint64_t bytes, enum plan_place_end end) {
  struct core_segment *hole = &place->holes.data[index];
  struct core_segment taken = {hole->offset_bytes, bytes};
  if (end == PLAN_PLACE_HIGH) {
    taken.offset_bytes = hole->offset_bytes + hole->size_bytes - bytes;
  } else {
    hole->offset_bytes += bytes;
  }
  hole->size_bytes -= bytes;
  if (hole->size_bytes == 0) {
    remove_hole(place, index);
  }
  place->free_bytes -= bytes;
  return taken;
}

/* The hole nearest to the end that has `bytes`; the nearest at all when none has. */
static size_t find_hole(const struct plan_place *place, uint64_t bytes, enum plan_place_end end) {
  size_t count = place->holes.count;
  for (size_t k = 0; k < count; k++) {
    size_t index = end == PLAN_PLACE_LOW ? k : count - 1 - k;
    if (place->holes.data[index].size_bytes >= bytes) {
      return index;
    }
  }
  return end == PLAN_PLACE_LOW ? 0 : count - 1;
}

static uint64_t grow(struct plan_place *place, uint64_t bytes, struct core_segment *segment) {
  for (size_t k = 0; k < place->holes.count; k++) {
    const struct core_segment *hole = &place->holes.data[k];
    if (hole->offset_bytes == segment->offset_bytes + segment->size_bytes) {
      uint64_t taken = hole->size_bytes < bytes ? hole->size_bytes : bytes;
      (void)cut(place, k, taken, PLAN_PLACE_LOW);
      segment->size_bytes += taken;
      return taken;
    }
  }
  return 0;
}

bool plan_place_take(struct plan_place *place, struct core_program *program, uint64_t bytes, enum plan_place_end end,
                     bool grows) {
  uint64_t left = plan_word_bytes(bytes);
  if (left > place->free_bytes || !vec_reserve(&program->segments, program->segments.count + place->holes.count)) {
    return false;
  }
  left -= grows ? grow(place, left, &program->segments.data[program->segments.count - 1]) : 0;
  while (left > 0) {
    size_t index = find_hole(place, left, end);
    uint64_t size = place->holes.data[index].size_bytes;
    program->segments.data[program->segments.count++] = cut(place, index, left < size ? left : size, end);
    left -= left < size ? left : size;
  }
  return true;
}

bool plan_place_give(struct plan_place *place, struct core_segment segment) {
  size_t index = 0;
  if (segment.size_bytes == 0) {
    return true;
  }
  if (!vec_push(&place->holes, segment)) {
    return false;
  }
  while (place->holes.data[index].offset_bytes < segment.offset_bytes) {
    index++;
  }
  memmove(&place->holes.data[index + 1], &place->holes.data[index],
          (place->holes.count - 1 - index) * sizeof *place->holes.data);
  place->holes.data[index] = segment;
  place->free_bytes += segment.size_bytes;
  for (size_t k = index > 0 ? index - 1 : 0; k + 1 < place->holes.count && k <= index;) {
    struct core_segment *low = &place->holes.data[k], *high = &place->holes.data[k + 1];
    if (low->offset_bytes + low->size_bytes == high->offset_bytes) {
      low->size_bytes += high->size_bytes;
      remove_hole(place, k + 1);
      index -= k < index;
    } else {
      k++;
    }
  }
  return true;
}
