/* Policy "exact": exhaustive branch and bound for chains of at most eight steps, in the model without contention. It is the
 * yardstick of the other searches, so it shares nothing with them: no labels, no dominance, only choices and one bound.
 *
 * The cores' next step and the memory channel's next load are decided in turn. Before step i starts, any number of further
 * loads may be released (release = i: not before step i - 1 has ended), each in any of its preload states; then the step
 * runs. Two choices need no branching, because in this model an earlier event never delays another: everything starts as
 * early as it may, and a step takes the fastest execute option that is reachable and fits beside what is resident.
 */
#include <stddef.h>
#include <string.h>

#include "plan/plan_policy.h"

enum { MAX_STEPS = 8 };

static const uint64_t default_node_budget = 200 * 1000 * 1000;

struct exact {
  const struct plan_chain *chain;
  bool reorder;
  uint64_t nodes, node_budget;
  bool is_cut;
  uint32_t load_count;
  bool loads[MAX_STEPS];
  int64_t least_load_ps[MAX_STEPS];
  int64_t rest_ps[MAX_STEPS + 1]; /* smallest durations of the steps from here on */
  /* The path from the root. */
  struct plan_decision decisions[MAX_STEPS];
  uint32_t order[MAX_STEPS];
  bool is_released[MAX_STEPS];
  int64_t ready_ps[MAX_STEPS];
  /* The best leaf. */
  int64_t best_ps;
  struct plan_decision best_decisions[MAX_STEPS];
  uint32_t best_order[MAX_STEPS];
};

struct node {
  uint32_t step, released; /* next step; loads released */
  int64_t core_ps, channel_ps;
  uint64_t cold_bytes; /* released and not yet consumed */
};

static const struct plan_choice_set *set_of(const struct exact *exact, uint32_t step) {
  return &exact->chain->sets[exact->chain->steps[step].set];
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t load_ps(const struct plan_preload *preload) {
  return larger(preload->memory_ps, preload->link_ps);
}

/* Fastest execute option from a preload state beside `other_bytes`; PLAN_UNREACHABLE when none fits. */
static int64_t fastest(const struct exact *exact, uint32_t step, uint32_t preload, uint64_t other_bytes,
                       uint16_t *execute) {
  const struct plan_choice_set *set = set_of(exact, step);
  int64_t best_ps = PLAN_UNREACHABLE;
  for (uint32_t e = 0; e < set->execute_count; e++) {
    int64_t duration_ps = plan_step_duration(exact->chain, step, preload, e);
    if (set->executes[e].hot_bytes + other_bytes <= exact->chain->sram_bytes && duration_ps < best_ps) {
      best_ps = duration_ps;
      *execute = (uint16_t)e;
    }
  }
  return best_ps;
}

/* No completion of the node is shorter: the cores have the smallest durations of all further steps to go, after each
 * load that is released, and after each sum of the smallest loads that are not. */
static int64_t bound(const struct exact *exact, const struct node *node) {
  int64_t bound_ps = node->core_ps + exact->rest_ps[node->step];
  int64_t channel_ps = larger(node->channel_ps, node->core_ps);
  for (uint32_t i = node->step; i < exact->chain->step_count; i++) {
    if (!exact->loads[i]) {
      continue;
    }
    if (exact->is_released[i]) {
      bound_ps = larger(bound_ps, exact->ready_ps[i] + exact->rest_ps[i]);
    } else {
      channel_ps += exact->least_load_ps[i];
      bound_ps = larger(bound_ps, channel_ps + exact->rest_ps[i]);
    }
  }
  return bound_ps;
}

static void search(struct exact *exact, const struct node *node);

/* Releases the load of step `loaded` next, in every preload state. */
static void branch_release(struct exact *exact, const struct node *node, uint32_t loaded) {
  const struct plan_choice_set *set = set_of(exact, loaded);
  exact->is_released[loaded] = true;
  exact->order[node->released] = loaded;
  for (uint32_t p = 0; p < set->preload_count; p++) {
    struct node child = *node;
    child.released++;
    child.channel_ps = larger(node->channel_ps, node->core_ps) + load_ps(&set->preloads[p]);
    child.cold_bytes += set->preloads[p].cold_bytes;
    exact->ready_ps[loaded] = child.channel_ps;
    exact->decisions[loaded] = (struct plan_decision){.preload = (uint16_t)p, .release = node->step};
    search(exact, &child);
  }
  exact->is_released[loaded] = false;
}

static void branch_execute(struct exact *exact, const struct node *node) {
  const uint32_t step = node->step;
  struct plan_decision *decision = &exact->decisions[step];
  struct node child = *node;
  child.step++;
  if (exact->loads[step]) {
    child.cold_bytes -= set_of(exact, step)->preloads[decision->preload].cold_bytes;
    child.core_ps = larger(child.core_ps, exact->ready_ps[step]);
  } else {
    *decision = (struct plan_decision){.release = step};
  }
  const uint64_t other_bytes = child.cold_bytes + exact->chain->steps[step].live_bytes;
  int64_t duration_ps = fastest(exact, step, decision->preload, other_bytes, &decision->execute);
  if (duration_ps != PLAN_UNREACHABLE) {
    child.core_ps += duration_ps;
    search(exact, &child);
  }
}

static void search(struct exact *exact, const struct node *node) {
  const uint32_t step_count = exact->chain->step_count;
  if (exact->nodes++ >= exact->node_budget) {
    exact->is_cut = true;
    return;
  }
  if (bound(exact, node) >= exact->best_ps) {
    return;
  }
  if (node->step == step_count) {
    exact->best_ps = node->core_ps;
    memcpy(exact->best_decisions, exact->decisions, sizeof exact->decisions);
    memcpy(exact->best_order, exact->order, sizeof exact->order);
    return;
  }
  bool is_ready = !exact->loads[node->step] || exact->is_released[node->step];
  if (is_ready) {
    branch_execute(exact, node);
  }
  for (uint32_t i = node->step; i < step_count; i++) {
    if (exact->loads[i] && !exact->is_released[i]) {
      branch_release(exact, node, i);
      if (!exact->reorder) {
        break;
      }
    }
  }
}

/* Constants of the bound. False when a step does not fit on its own. */
static bool prepare(struct exact *exact) {
  const uint32_t step_count = exact->chain->step_count;
  for (uint32_t i = step_count; i-- > 0;) {
    const struct plan_choice_set *set = set_of(exact, i);
    int64_t least_ps = PLAN_UNREACHABLE;
    exact->least_load_ps[i] = PLAN_UNREACHABLE;
    for (uint32_t p = 0; p < set->preload_count; p++) {
      uint16_t execute;
      int64_t duration_ps = fastest(exact, i, p, exact->chain->steps[i].live_bytes, &execute);
      least_ps = duration_ps < least_ps ? duration_ps : least_ps;
      if (load_ps(&set->preloads[p]) < exact->least_load_ps[i]) {
        exact->least_load_ps[i] = load_ps(&set->preloads[p]);
      }
    }
    if (least_ps == PLAN_UNREACHABLE) {
      return false;
    }
    exact->rest_ps[i] = exact->rest_ps[i + 1] + least_ps;
    exact->loads[i] = plan_step_loads(exact->chain, i);
    exact->load_count += exact->loads[i];
  }
  return true;
}

/* With contention: the best priorities of the schedule found without, by trying all. */
static void choose_priorities(const struct exact *exact, struct plan_policy_result *result) {
  struct plan_decision *decisions = result->schedule.decisions;
  uint32_t best = 0;
  int64_t best_ps = INT64_MAX;
  for (uint32_t choice = 0; choice <= 1u << exact->chain->step_count; choice++) {
    bool is_last = choice == 1u << exact->chain->step_count;
    for (uint32_t i = 0; i < exact->chain->step_count; i++) {
      decisions[i].priority = (is_last ? best : choice) >> i & 1 ? PLAN_PRELOAD_FIRST : PLAN_EXCHANGE_FIRST;
    }
    plan_timeline_run(exact->chain, &result->schedule, true, &result->timeline);
    result->stats.schedules++;
    if (result->timeline.makespan_ps < best_ps) {
      best_ps = result->timeline.makespan_ps;
      best = choice;
    }
  }
}

static enum status run(const struct plan_chain *chain, const struct plan_policy_options *options, struct arena *arena,
                       struct plan_policy_result *result, uint32_t *step) {
  *result = (struct plan_policy_result){0};
  if (plan_chain_smallest_sram(chain, step) > chain->sram_bytes) {
    return STATUS_INPUT;
  }
  if (chain->step_count > MAX_STEPS) {
    return STATUS_LIMIT;
  }
  struct exact exact = {.chain = chain, .reorder = options->reorder, .best_ps = INT64_MAX};
  exact.node_budget = options->budget != 0 ? options->budget : default_node_budget;
  if (!prepare(&exact)) {
    return STATUS_INPUT;
  }
  search(&exact, &(struct node){0});
  if (exact.best_ps == INT64_MAX) {
    return STATUS_LIMIT; /* the budget ended before the first leaf */
  }
  result->schedule.decisions = arena_calloc(arena, chain->step_count, sizeof *result->schedule.decisions);
  result->schedule.order = arena_calloc(arena, exact.load_count, sizeof *result->schedule.order);
  result->timeline.steps = arena_calloc(arena, chain->step_count, sizeof *result->timeline.steps);
  if (arena->is_exhausted) {
    return STATUS_MEMORY;
  }
  memcpy(result->schedule.decisions, exact.best_decisions, chain->step_count * sizeof *exact.best_decisions);
  memcpy(result->schedule.order, exact.best_order, exact.load_count * sizeof *exact.best_order);
  result->schedule.load_count = exact.load_count;
  result->stats = (struct plan_search_stats){.labels = exact.nodes, .complete = !exact.is_cut};
  if (options->contention) {
    choose_priorities(&exact, result);
  } else {
    plan_timeline_run(chain, &result->schedule, false, &result->timeline);
    result->stats.schedules = 1;
  }
  return STATUS_OK;
}

const struct plan_policy plan_policy_exact = {
    .name = "exact",
    .summary = "exhaustive, up to 8 steps, without contention; then the best priorities",
    .run = run,
};
