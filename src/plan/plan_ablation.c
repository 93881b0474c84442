/* The ablation: joint with every ingredient, without each of them, and the published machine and policies. */
#include <stddef.h>

#include "plan/plan_result.h"

struct variant {
  const char *ingredient;
  const struct plan_policy *policy;
  bool views, fuse, split, tree_reduction, overlap, idle_cores, reorder;
};

static const struct variant variants[] = {
    {"all", &plan_policy_joint, true, true, true, true, true, true, true},
    {"without views", &plan_policy_joint, false, true, true, true, true, true, true},
    {"without fusion", &plan_policy_joint, true, false, true, true, true, true, true},
    {"without splitting", &plan_policy_joint, true, true, false, true, true, true, true},
    {"without tree reductions", &plan_policy_joint, true, true, true, false, true, true, true},
    {"without overlap", &plan_policy_joint, true, true, true, true, false, true, true},
    {"without idle cores", &plan_policy_joint, true, true, true, true, true, false, true},
    {"without reordering", &plan_policy_joint, true, true, true, true, true, true, false},
    {"without joint allocation", &plan_policy_dyn, true, true, true, true, true, true, false},
    {"without deep preloading", &plan_policy_basic, true, true, true, true, true, true, false},
    {"published machine, joint", &plan_policy_joint, false, false, true, false, false, false, true},
    {"published machine, dyn", &plan_policy_dyn, false, false, true, false, false, false, false},
    {"published machine, ideal", &plan_policy_ideal, false, false, true, false, false, false, false},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static enum status run_variant(const struct work_graph *graph, const struct hw_chip *chip,
                               const struct variant *variant, struct diag_list *diags, struct plan_ablation_row *row) {
  const struct plan_options options = {
      .policies = &variant->policy,
      .policy_count = 1,
      .read = {.views = variant->views, .fuse = variant->fuse},
      .features = {.tree_reduction = variant->tree_reduction,
                   .overlap = variant->overlap,
                   .idle_cores = variant->idle_cores},
      .reorder = variant->reorder,
      .split = variant->split,
  };
  struct plan_result result;
  enum status status = plan_run(graph, chip, &options, diags, &result);
  if (status == STATUS_OK) {
    status = result.rows[0].status;
    *row = (struct plan_ablation_row){variant->ingredient, result.rows[0].result.timeline.makespan_ps,
                                      result.bounds.chain_ps};
  }
  plan_result_release(&result);
  return status;
}

enum status plan_ablation(const struct work_graph *graph, const struct hw_chip *chip, struct diag_list *diags,
                          struct arena *arena, struct plan_ablation_row **rows, uint32_t *count) {
  *count = VARIANTS;
  *rows = arena_calloc(arena, VARIANTS, sizeof **rows);
  if (*rows == NULL) {
    return STATUS_MEMORY;
  }
  for (uint32_t k = 0; k < VARIANTS; k++) {
    STATUS_TRY(run_variant(graph, chip, &variants[k], diags, &(*rows)[k]));
  }
  return STATUS_OK;
}
