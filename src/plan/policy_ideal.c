/* Policy ideal: the published yardstick. Each step runs its fastest plan, whatever preload state that needs; loads count
 * with their thinnest states in bytes and in time; the steps' own need counts with their smallest plans; nothing contends.
 * No schedule of a real chip does that, and it is no bound either: another plan space (fusion, overlap) can beat it. */
#include "plan/policy_build.h"

/* The same steps with one option each: fastest run, thinnest load, smallest need. */
static bool relax_set(const struct plan_chain *chain, uint32_t step, struct arena *scratch,
                      struct plan_choice_set *relaxed, struct policy_option *picked) {
  const struct plan_choice_set *set = &chain->sets[chain->steps[step].set];
  struct plan_execute *execute = arena_calloc(scratch, 1, sizeof *execute);
  struct plan_preload *preload = arena_calloc(scratch, 1, sizeof *preload);
  int64_t *distribute_ps = arena_calloc(scratch, 1, sizeof *distribute_ps);
  if (execute == NULL || preload == NULL || distribute_ps == NULL) {
    return false;
  }
  *picked = policy_pick(chain, step, POLICY_FASTEST, policy_own_bytes(chain, step));
  *execute = set->executes[picked->execute];
  *distribute_ps = set->distribute_ps[(size_t)picked->preload * set->execute_count + picked->execute];
  *preload = set->preloads[0];
  for (uint32_t p = 0; p < set->preload_count; p++) {
    uint64_t hot_bytes = policy_smallest_hot(chain, step, p);
    execute->hot_bytes = hot_bytes < execute->hot_bytes ? hot_bytes : execute->hot_bytes;
    preload->memory_ps =
        set->preloads[p].memory_ps < preload->memory_ps ? set->preloads[p].memory_ps : preload->memory_ps;
    preload->link_ps = set->preloads[p].link_ps < preload->link_ps ? set->preloads[p].link_ps : preload->link_ps;
  }
  *relaxed = (struct plan_choice_set){1, 1, execute, preload, distribute_ps, 0};
  return true;
}

static enum status relax(const struct plan_chain *chain, struct arena *scratch, struct plan_chain *relaxed,
                         struct policy_option *picked) {
  struct plan_choice_set *sets = arena_calloc(scratch, chain->step_count, sizeof *sets);
  struct plan_step *steps = arena_calloc(scratch, chain->step_count, sizeof *steps);
  if (sets == NULL || steps == NULL || picked == NULL) {
    return STATUS_MEMORY;
  }
  for (uint32_t i = 0; i < chain->step_count; i++) {
    if (!relax_set(chain, i, scratch, &sets[i], &picked[i])) {
      return STATUS_MEMORY;
    }
    steps[i] = chain->steps[i];
    steps[i].set = i;
  }
  *relaxed = (struct plan_chain){chain->step_count, chain->step_count, steps, sets, chain->sram_bytes, chain->overlaps};
  return STATUS_OK;
}

static enum status run_relaxed(const struct plan_chain *relaxed, const struct policy_option *picked,
                               struct arena *arena, struct plan_policy_result *result, uint32_t *step) {
  const struct plan_policy_options options = {0};
  struct policy_build build;
  enum status status = policy_build_init(&build, relaxed, &options, arena, result, step);
  if (status == STATUS_OK) {
    for (uint32_t i = 0; i < relaxed->step_count; i++) {
      build.room[i] = policy_own_bytes(relaxed, i) - relaxed->sets[i].executes[0].hot_bytes;
    }
    policy_release_early(&build);
    policy_offer(&build);
    for (uint32_t i = 0; i < relaxed->step_count; i++) {
      result->schedule.decisions[i].execute = (uint16_t)picked[i].execute;
      result->schedule.decisions[i].preload = (uint16_t)picked[i].preload;
    }
    result->stats.complete = true;
  }
  policy_build_release(&build);
  return status;
}

static enum status run(const struct plan_chain *chain, const struct plan_policy_options *options, struct arena *arena,
                       struct plan_policy_result *result, uint32_t *step) {
  (void)options;
  *result = (struct plan_policy_result){0};
  if (plan_chain_smallest_sram(chain, step) > chain->sram_bytes) {
    return STATUS_INPUT;
  }
  struct arena scratch;
  arena_init(&scratch, 0);
  struct plan_chain relaxed;
  struct policy_option *picked = arena_calloc(&scratch, chain->step_count, sizeof *picked);
  enum status status = relax(chain, &scratch, &relaxed, picked);
  if (status == STATUS_OK) {
    status = run_relaxed(&relaxed, picked, arena, result, step);
  }
  arena_release(&scratch);
  return status;
}

const struct plan_policy plan_policy_ideal = {
    .name = "ideal",
    .summary = "the published yardstick: fastest plans, smallest preloads, no contention",
    .is_reference = true,
    .run = run,
};
