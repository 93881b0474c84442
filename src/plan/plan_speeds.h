/* Speeds of a step's phase and of a load that share the links: the rule of plan_timeline_run (plan_chain.h). */
#ifndef RIDGELINE_PLAN_PLAN_SPEEDS_H
#define RIDGELINE_PLAN_PLAN_SPEEDS_H

#include <stdbool.h>

#include "plan/plan_chain.h"

struct plan_speeds {
  double phase, load; /* 1 = as fast as alone; at least one of them is 1 */
};

/* `fraction`: link time of the phase over its duration. `share`: link time of the load over its duration. `overlaps`: the
 * phase uses link and compute at once; otherwise in turns. */
static inline struct plan_speeds plan_speeds_of(double fraction, bool overlaps, enum plan_priority priority,
                                                double share) {
  struct plan_speeds speeds = {1.0, 1.0};
  if (fraction <= 0.0 || share <= 0.0) {
    return speeds;
  }
  if (priority == PLAN_PRELOAD_FIRST) {
    double rest = 1.0 - share; /* of the links, for exchange */
    double slowed = overlaps ? rest / fraction : rest / (rest * (1.0 - fraction) + fraction);
    speeds.phase = slowed < 1.0 ? slowed : 1.0;
  } else {
    double rest = 1.0 - fraction;
    double slowed = overlaps ? rest / share : rest;
    speeds.load = slowed < 1.0 ? slowed : 1.0;
  }
  return speeds;
}

#endif
