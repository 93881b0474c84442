/* Policy dyn: the published induction with the loads in execution order; the best of its views. */
#include "plan/policy_induction.h"

static enum status run(const struct plan_chain *chain, const struct plan_policy_options *options, struct arena *arena,
                       struct plan_policy_result *result, uint32_t *step) {
  struct policy_build build;
  enum status status = policy_build_init(&build, chain, options, arena, result, step);
  if (status == STATUS_OK) {
    struct induction induction;
    status = induction_init(&induction, &build) ? STATUS_OK : STATUS_MEMORY;
    for (uint32_t v = 0; v < induction_view_count && status == STATUS_OK; v++) {
      induction_look(&induction, induction_views[v]);
      induction_offer(&induction);
    }
    result->stats.complete = true;
  }
  policy_build_release(&build);
  return status;
}

const struct plan_policy plan_policy_dyn = {
    .name = "dyn",
    .summary = "the published induction: each step takes the number of preloads that lets it start latest",
    .run = run,
};
