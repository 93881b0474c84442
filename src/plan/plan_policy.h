/* Policies: who decides. Each sees the same chain and is measured by the same timeline; a new one is one file and one row
 * in plan_policies.c. Bounds hold for every schedule of the chain, whoever made it. */
#ifndef RIDGELINE_PLAN_PLAN_POLICY_H
#define RIDGELINE_PLAN_PLAN_POLICY_H

#include "plan/plan_chain.h"

struct plan_policy_options {
  bool contention; /* false: times without contention, for comparison with exact */
  bool reorder; /* joint, exact: search load orders as well */
  uint64_t budget; /* search operations; 0 = the policy's default. Anytime: the best schedule found so far stands */
  const struct plan_schedule *start; /* a schedule to improve on; may be NULL */
};

/* What a search did. */
struct plan_search_stats {
  uint64_t labels, dominated, schedules; /* made, thrown away, evaluated by the timeline */
  bool complete; /* nothing was cut by budget or by limits on labels: optimal in the policy's model */
};

struct plan_policy_result {
  struct plan_schedule schedule; /* in the arena */
  struct plan_timeline timeline; /* with contention unless the options or the policy's definition say otherwise */
  struct plan_search_stats stats;
};

struct plan_policy {
  const char *name; /* the word after --policy */
  const char *summary;
  bool is_reference; /* ideal: no schedule of a real chip; its timeline ignores contention and preload sizes */
  /* STATUS_OK; STATUS_INPUT when no sound schedule exists (not even loading one step at a time), with `step` the step that
   * does not fit; STATUS_LIMIT for exact on chains beyond its size. */
  enum status (*run)(const struct plan_chain *chain, const struct plan_policy_options *options, struct arena *arena,
                     struct plan_policy_result *result, uint32_t *step);
};

/*   basic    preloads the next step's tensors only
 *   static   one fixed split of the SRAM into execution and preload space, best of a sweep
 *   dyn      the published induction: from the last step to the first, each takes the number of preloads that lets it start
 *            latest; loads in execution order
 *   full     dyn over permuted load orders within a layer
 *   ideal    the published yardstick: fastest plan whatever its preload size, smallest preload states, no contention
 *   joint    label setting over (step, preload frontier) with preload states and ready times; starts from what the policies
 *            above (full: with reorder) find, and improves by moves of whole sorts of steps
 *   exact    exhaustive, small chains; exact_mip the same through CBC */
extern const struct plan_policy plan_policy_basic, plan_policy_static, plan_policy_dyn, plan_policy_full,
    plan_policy_ideal, plan_policy_joint, plan_policy_exact, plan_policy_exact_mip;
extern const struct plan_policy *const plan_policies[]; /* NULL-terminated, in the order of tables */
const struct plan_policy *plan_policy_find(const char *name);

/* Lower bounds on the makespan of any schedule of the chain, in any load order. Without contention links may carry two
 * things at once, and only the flow shop bounds the time. PLAN_UNREACHABLE when some step fits in no option. */
struct plan_bounds {
  int64_t flow_shop_ps; /* max over k of (sum of smallest D up to k + sum of smallest durations from k): two machines */
  int64_t link_ps; /* sum over steps of the smallest link time (load + distribution + exchange), over its options */
  int64_t chain_ps; /* the plan-space bound: at least the largest of the above, and what contention and the SRAM cost */
};
void plan_bounds_of(const struct plan_chain *chain, struct plan_bounds *bounds);
/* Part of chain_ps, also for times without contention: loads that do not fit beside a step do not hide behind it. 0 when
 * nothing is loaded. */
int64_t plan_sram_bound_of(const struct plan_chain *chain, bool contention);

/* Smallest SRAM for which a sound schedule exists (one step at a time), and the step that needs it. */
uint64_t plan_chain_smallest_sram(const struct plan_chain *chain, uint32_t *step);

#endif
