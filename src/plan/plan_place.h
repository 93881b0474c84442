/* Free SRAM of a core program as it is made: the same on all cores. A buffer gets one stretch where some free one is long
 * enough, else several: SRAM is never too small for want of a place in one piece. What lives long is taken from the low
 * end, what lives for one step from the high end, so that they do not mix. Offsets and lengths are whole words. */
#ifndef RIDGELINE_PLAN_PLAN_PLACE_H
#define RIDGELINE_PLAN_PLAN_PLACE_H

#include <stdbool.h>

#include "plan/plan_program.h"
#include "work/core_program.h"

enum plan_place_end { PLAN_PLACE_LOW, PLAN_PLACE_HIGH };

struct plan_place {
  VEC(struct core_segment) holes; /* ascending, apart from each other */
  uint64_t free_bytes;
};

bool plan_place_init(struct plan_place *place, uint64_t sram_bytes);
void plan_place_release(struct plan_place *place);

/* Appends segments of together plan_word_bytes(bytes) to those of the program; false when less is free, or memory is
 * exhausted: nothing was taken then. `grows`: the last segment of the program becomes longer where free bytes follow it. */
bool plan_place_take(struct plan_place *place, struct core_program *program, uint64_t bytes, enum plan_place_end end,
                     bool grows);
bool plan_place_give(struct plan_place *place, struct core_segment segment);

#endif
