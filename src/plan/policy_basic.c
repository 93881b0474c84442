/* Policy basic: while a step runs, only the next step that loads anything is preloaded; each step then takes the fastest
 * option that fits beside that preload. The better of thinnest and widest preload states throughout. */
#include "plan/policy_build.h"

/* Releases the load of `step` when the loading step before it starts; later where not even that step's smallest option
 * fits beside it, after trying thinner states. */
static void release_next(struct policy_build *build, uint32_t step, uint32_t previous) {
  const struct plan_chain *chain = build->chain;
  struct plan_decision *decision = &build->draft.decisions[step];
  const struct plan_choice_set *set = &chain->sets[chain->steps[step].set];
  uint64_t room = UINT64_MAX; /* beside the steps of which it may lie */
  uint32_t release = step;
  while (release > previous) {
    uint32_t beside = release - 1;
    uint64_t hot_bytes = policy_smallest_hot(chain, beside, build->draft.decisions[beside].preload);
    uint64_t left = policy_own_bytes(chain, beside) - hot_bytes;
    room = left < room ? left : room;
    while (set->preloads[decision->preload].cold_bytes > room && decision->preload > 0
           && policy_fastest(chain, step, decision->preload - 1u, policy_own_bytes(chain, step)) != POLICY_NONE) {
      decision->preload--;
    }
    if (set->preloads[decision->preload].cold_bytes > room) {
      break;
    }
    release--;
  }
  decision->release = release;
}

static void build_draft(struct policy_build *build, enum policy_taste taste) {
  const struct plan_chain *chain = build->chain;
  struct plan_decision *decisions = build->draft.decisions;
  for (uint32_t i = 0; i < chain->step_count; i++) {
    decisions[i].preload = (uint16_t)policy_pick(chain, i, taste, policy_own_bytes(chain, i)).preload;
  }
  uint32_t previous = 0;
  for (uint32_t k = 0; k < build->draft.load_count; k++) {
    release_next(build, build->draft.order[k], previous);
    previous = build->draft.order[k];
  }
  uint32_t next = 0; /* in the order: the first load of a later step */
  for (uint32_t i = 0; i < chain->step_count; i++) {
    uint64_t space = policy_own_bytes(chain, i);
    next += build->loads[i];
    if (next < build->draft.load_count) {
      uint32_t loaded = build->draft.order[next];
      if (decisions[loaded].release <= i) {
        space -= chain->sets[chain->steps[loaded].set].preloads[decisions[loaded].preload].cold_bytes;
      }
    }
    decisions[i].execute = (uint16_t)policy_fastest(chain, i, decisions[i].preload, space);
  }
}

static enum status run(const struct plan_chain *chain, const struct plan_policy_options *options, struct arena *arena,
                       struct plan_policy_result *result, uint32_t *step) {
  struct policy_build build;
  enum status status = policy_build_init(&build, chain, options, arena, result, step);
  if (status == STATUS_OK) {
    build_draft(&build, POLICY_SMALLEST);
    policy_offer(&build);
    build_draft(&build, POLICY_LARGEST);
    policy_offer(&build);
    result->stats.complete = true;
  }
  policy_build_release(&build);
  return status;
}

const struct plan_policy plan_policy_basic = {
    .name = "basic",
    .summary = "preloads the next step's tensors only",
    .run = run,
};
