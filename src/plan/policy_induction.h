/* The published induction (Elk, MICRO 2025, section 4.2), from the last step to the first, for any order of loads; the heart
 * of dyn and full. It keeps one start time per step and is therefore not optimal: docs/plan-schedule.md. */
#ifndef RIDGELINE_PLAN_POLICY_INDUCTION_H
#define RIDGELINE_PLAN_POLICY_INDUCTION_H

#include "plan/policy_build.h"

/* How the induction looks at loads while it decides; the schedules are timed by the timeline all the same. Published are
 * price 1 and the best of three thresholds. */
struct induction_view {
  uint8_t price_halves; /* a preload state costs its step this many halves of its link time */
  uint8_t link_percent; /* a load reaches this share of the links: it takes max(memory, link x 100 / percent) */
};
extern const struct induction_view induction_views[];
extern const uint32_t induction_view_count;

struct induction {
  struct policy_build *build;
  int64_t *start_ps; /* per step; time runs backwards from 0 at the end of the last step */
  int64_t *load_start_ps; /* per place in the order, once placed */
  uint32_t *window; /* per step: loads released by the time it runs */
  struct policy_option *choices; /* per set and execute option: best pair of no larger hot_bytes, for `view` */
  uint32_t *first_choice; /* per set, into choices */
  struct induction_view view;
};

bool induction_init(struct induction *induction, struct policy_build *build);
void induction_look(struct induction *induction, struct induction_view view);
/* Fills the draft for the loads as build->draft.order has them. False when the order leaves some step no room. */
bool induction_run(struct induction *induction);
/* Runs and offers what it finds, then the same with releases as early as the space left over allows, which contention and
 * waits make worth while: the induction places loads as late as it may. True when there is a new best. */
bool induction_offer(struct induction *induction);

#endif
