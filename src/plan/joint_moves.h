/* Small changes of a whole schedule, made to many steps at once: what beams do not see because it pays only when all layers
 * do it. A schedule is taken as its choices (execute options, preload states, priorities, order); releases follow from them
 * as early as the SRAM permits, which without contention is best for given choices. */
#ifndef RIDGELINE_PLAN_JOINT_MOVES_H
#define RIDGELINE_PLAN_JOINT_MOVES_H

#include "plan/plan_policy.h"

enum joint_move_kind {
  JOINT_MOVE_PRELOAD, /* to the next wider or thinner preload state, `by` places */
  JOINT_MOVE_EXECUTE, /* to a larger or smaller execute option */
  JOINT_MOVE_PRIORITY, /* the other priority; `by` is ignored */
  JOINT_MOVE_LOAD /* in the order of loads */
};

struct joint_move {
  enum joint_move_kind kind;
  uint32_t set; /* steps of this sort */
  int32_t by;
  uint32_t first, end; /* steps from first to before end */
};

/* Makes the move on a sound schedule. False when it changes nothing or the loads do not fit in this order. `used`: scratch,
 * step_count. */
bool joint_move_make(const struct plan_chain *chain, const struct joint_move *move, struct plan_schedule *schedule,
                     uint64_t *used);

#endif
