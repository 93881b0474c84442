/* What the policies that build schedules by rules share: the options of a step that fit, releases as early as they fit, and
 * the best of the schedules offered. Joint and exact, which search, have their own state. */
#ifndef RIDGELINE_PLAN_POLICY_BUILD_H
#define RIDGELINE_PLAN_POLICY_BUILD_H

#include "plan/plan_policy.h"

#define POLICY_NONE UINT32_MAX

struct policy_option {
  uint32_t preload, execute; /* execute POLICY_NONE: nothing fits */
};

struct policy_build {
  const struct plan_chain *chain;
  const struct plan_policy_options *options;
  struct plan_policy_result *result; /* the best so far; valid once has_best */
  bool has_best;
  struct arena scratch;
  bool *loads; /* per step */
  uint64_t *room; /* per step, for policies: bytes that cold states of later steps may take beside it */
  uint64_t *used; /* per step: scratch of policy_advance_releases */
  struct plan_schedule draft; /* what policies fill; `order` starts as execution order */
  struct plan_timeline trial;
};

/* STATUS_INPUT with the step when not even one step at a time fits; STATUS_MEMORY. policy_build_release in any case. */
enum status policy_build_init(struct policy_build *build, const struct plan_chain *chain,
                              const struct plan_policy_options *options, struct arena *arena,
                              struct plan_policy_result *result, uint32_t *step);
void policy_build_release(struct policy_build *build);

/* Execute option of least duration from this preload state with hot_bytes <= space; POLICY_NONE. */
uint32_t policy_fastest(const struct plan_chain *chain, uint32_t step, uint32_t preload, uint64_t space_bytes);
/* Least hot_bytes that is reachable from this preload state. */
uint64_t policy_smallest_hot(const struct plan_chain *chain, uint32_t step, uint32_t preload);
/* Time of the load alone. */
int64_t policy_load_ps(const struct plan_chain *chain, uint32_t step, uint32_t preload);
/* Bytes that the step may take for itself when nothing else is on the core but its live values. */
uint64_t policy_own_bytes(const struct plan_chain *chain, uint32_t step);

/* How a step picks its preload state. */
enum policy_taste {
  POLICY_SMALLEST, /* the thinnest from which something fits */
  POLICY_LARGEST, /* the widest from which something fits */
  POLICY_FASTEST, /* whichever leads to the shortest duration; of equals the thinnest */
  POLICY_TASTE_COUNT
};
struct policy_option policy_pick(const struct plan_chain *chain, uint32_t step, enum policy_taste taste,
                                 uint64_t space_bytes);

/* Releases the loads of the draft, which is sound, as much earlier as the cold bytes beside every step stay within `room`;
 * the first in the order first. */
void policy_advance_releases(struct policy_build *build);
/* The same from scratch, for loads in execution order. */
void policy_release_early(struct policy_build *build);

/* Times the draft with exchange first, preload first, and shares of both, and keeps the best of all offered. True when it is
 * a new best. The draft must be sound. */
bool policy_offer(struct policy_build *build);

#endif
