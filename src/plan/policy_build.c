/* Shared parts of the rule-based policies; see policy_build.h. */
#include "plan/policy_build.h"

#include <assert.h>
#include <string.h>

static const struct plan_choice_set *set_of(const struct plan_chain *chain, uint32_t step) {
  return &chain->sets[chain->steps[step].set];
}

uint32_t policy_fastest(const struct plan_chain *chain, uint32_t step, uint32_t preload, uint64_t space_bytes) {
  const struct plan_choice_set *set = set_of(chain, step);
  uint32_t fastest = POLICY_NONE;
  int64_t fastest_ps = PLAN_UNREACHABLE;
  for (uint32_t e = 0; e < set->execute_count && set->executes[e].hot_bytes <= space_bytes; e++) {
    int64_t duration_ps = plan_step_duration(chain, step, preload, e);
    if (duration_ps < fastest_ps) {
      fastest_ps = duration_ps;
      fastest = e;
    }
  }
  return fastest;
}

uint64_t policy_smallest_hot(const struct plan_chain *chain, uint32_t step, uint32_t preload) {
  const struct plan_choice_set *set = set_of(chain, step);
  for (uint32_t e = 0; e < set->execute_count; e++) {
    if (set->distribute_ps[(size_t)preload * set->execute_count + e] != PLAN_UNREACHABLE) {
      return set->executes[e].hot_bytes;
    }
  }
  return UINT64_MAX;
}

int64_t policy_load_ps(const struct plan_chain *chain, uint32_t step, uint32_t preload) {
  const struct plan_preload *state = &set_of(chain, step)->preloads[preload];
  return state->memory_ps > state->link_ps ? state->memory_ps : state->link_ps;
}

uint64_t policy_own_bytes(const struct plan_chain *chain, uint32_t step) {
  uint64_t live_bytes = chain->steps[step].live_bytes;
  return live_bytes < chain->sram_bytes ? chain->sram_bytes - live_bytes : 0;
}

struct policy_option policy_pick(const struct plan_chain *chain, uint32_t step, enum policy_taste taste,
                                 uint64_t space_bytes) {
  struct policy_option picked = {0, POLICY_NONE};
  int64_t picked_ps = PLAN_UNREACHABLE;
  for (uint32_t p = 0; p < set_of(chain, step)->preload_count; p++) {
    uint32_t execute = policy_fastest(chain, step, p, space_bytes);
    if (execute == POLICY_NONE) {
      continue;
    }
    int64_t duration_ps = plan_step_duration(chain, step, p, execute);
    if (picked.execute == POLICY_NONE || taste == POLICY_LARGEST
        || (taste == POLICY_FASTEST && duration_ps < picked_ps)) {
      picked = (struct policy_option){p, execute};
      picked_ps = duration_ps;
    }
  }
  return picked;
}

static bool allocate(struct policy_build *build, struct arena *arena) {
  uint32_t n = build->chain->step_count;
  struct plan_policy_result *result = build->result;
  struct arena *scratch = &build->scratch;
  build->loads = arena_calloc(scratch, n, sizeof *build->loads);
  build->room = arena_calloc(scratch, n, sizeof *build->room);
  build->used = arena_calloc(scratch, n, sizeof *build->used);
  build->draft.decisions = arena_calloc(scratch, n, sizeof *build->draft.decisions);
  build->draft.order = arena_calloc(scratch, n, sizeof *build->draft.order);
  result->schedule.decisions = arena_calloc(arena, n, sizeof *result->schedule.decisions);
  result->schedule.order = arena_calloc(arena, n, sizeof *result->schedule.order);
  result->timeline.steps = arena_calloc(arena, n, sizeof *result->timeline.steps);
  build->trial.steps = arena_calloc(arena, n, sizeof *build->trial.steps); /* trades places with the result's */
  return !scratch->is_exhausted && !arena->is_exhausted;
}

enum status policy_build_init(struct policy_build *build, const struct plan_chain *chain,
                              const struct plan_policy_options *options, struct arena *arena,
                              struct plan_policy_result *result, uint32_t *step) {
  *build = (struct policy_build){.chain = chain, .options = options, .result = result};
  *result = (struct plan_policy_result){0};
  arena_init(&build->scratch, 0);
  if (plan_chain_smallest_sram(chain, step) > chain->sram_bytes) {
    return STATUS_INPUT;
  }
  if (!allocate(build, arena)) {
    return STATUS_MEMORY;
  }
  for (uint32_t i = 0; i < chain->step_count; i++) {
    build->loads[i] = plan_step_loads(chain, i);
    build->draft.decisions[i].release = i;
    if (build->loads[i]) {
      build->draft.order[build->draft.load_count++] = i;
    }
  }
  return STATUS_OK;
}

void policy_build_release(struct policy_build *build) {
  arena_release(&build->scratch);
}

static uint64_t cold_bytes_of(const struct policy_build *build, uint32_t step) {
  return set_of(build->chain, step)->preloads[build->draft.decisions[step].preload].cold_bytes;
}

void policy_advance_releases(struct policy_build *build) {
  memset(build->used, 0, build->chain->step_count * sizeof *build->used);
  for (uint32_t k = 0; k < build->draft.load_count; k++) {
    uint32_t step = build->draft.order[k];
    for (uint32_t i = build->draft.decisions[step].release; i < step; i++) {
      build->used[i] += cold_bytes_of(build, step);
    }
  }
  uint32_t earliest = 0;
  for (uint32_t k = 0; k < build->draft.load_count; k++) {
    uint32_t step = build->draft.order[k];
    uint64_t cold_bytes = cold_bytes_of(build, step);
    uint32_t *release = &build->draft.decisions[step].release;
    while (*release > earliest && build->used[*release - 1] + cold_bytes <= build->room[*release - 1]) {
      --*release;
      build->used[*release] += cold_bytes;
    }
    earliest = *release;
  }
}

void policy_release_early(struct policy_build *build) {
  for (uint32_t i = 0; i < build->chain->step_count; i++) {
    build->draft.decisions[i].release = i;
  }
  policy_advance_releases(build);
}

static bool keep_if_better(struct policy_build *build, bool contention) {
  struct plan_policy_result *result = build->result;
  const struct plan_schedule *draft = &build->draft;
  plan_timeline_run(build->chain, draft, contention, &build->trial);
  result->stats.schedules++;
  if (build->has_best && build->trial.makespan_ps >= result->timeline.makespan_ps) {
    return false;
  }
  struct plan_timeline previous = result->timeline;
  result->timeline = build->trial;
  build->trial = previous;
  memcpy(result->schedule.decisions, draft->decisions, build->chain->step_count * sizeof *draft->decisions);
  memcpy(result->schedule.order, draft->order, draft->load_count * sizeof *draft->order);
  result->schedule.load_count = draft->load_count;
  build->has_best = true;
  return true;
}

/* Preload first for about this many eighths of the exchange time, spread evenly over the chain. */
static void set_priorities(struct policy_build *build, uint32_t preload_eighths) {
  const struct plan_chain *chain = build->chain;
  int64_t owed = 0; /* eighths of ps that are still to go to preload first */
  for (uint32_t i = 0; i < chain->step_count; i++) {
    struct plan_decision *decision = &build->draft.decisions[i];
    const struct plan_choice_set *set = set_of(chain, i);
    const struct plan_execute *execute = &set->executes[decision->execute];
    int64_t exchange_ps = execute->serial_ps + execute->shift_ps
                          + set->distribute_ps[(size_t)decision->preload * set->execute_count + decision->execute];
    owed += exchange_ps * preload_eighths;
    bool preload_first = preload_eighths > 0 && owed >= exchange_ps * 4;
    decision->priority = preload_first ? PLAN_PRELOAD_FIRST : PLAN_EXCHANGE_FIRST;
    owed -= preload_first ? exchange_ps * 8 : 0;
  }
}

/* Contention costs either the channel or the cores time; the best share of each depends on which of them is scarcer. */
static bool keep_best_priorities(struct policy_build *build) {
  uint32_t best = 0;
  bool better = false;
  for (uint32_t stride = 2; stride > 0; stride--) {
    uint32_t from = stride == 2 || best == 0 ? 0 : best - 1, to = stride == 2 || best == 8 ? 8 : best + 1;
    for (uint32_t eighths = from; eighths <= to; eighths += stride) {
      set_priorities(build, eighths);
      if (keep_if_better(build, true)) {
        best = eighths;
        better = true;
      }
    }
    if (!better) {
      return false;
    }
  }
  return true;
}

bool policy_offer(struct policy_build *build) {
  const char *reason;
  assert(plan_schedule_check(build->chain, &build->draft, &reason) == UINT32_MAX);
  (void)reason;
  if (!build->options->contention) {
    return keep_if_better(build, false);
  }
  if (build->has_best) {
    plan_timeline_run(build->chain, &build->draft, false, &build->trial);
    if (build->trial.makespan_ps >= build->result->timeline.makespan_ps) {
      return false; /* contention does not make it faster */
    }
  }
  return keep_best_priorities(build);
}
