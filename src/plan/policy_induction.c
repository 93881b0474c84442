/* The published induction; see policy_induction.h.
 *
 * Step by step from the last: a step may end when the step after it starts and before the first load that is not to lie
 * beside it starts. Each number of loads beside it gives one such deadline and leaves some space, in which the step takes
 * its best option; the number with the latest start wins. The step's load then ends when the step starts, or when the load
 * behind it starts.
 */
#include "plan/policy_induction.h"

const struct induction_view induction_views[] = {{1, 100}, {0, 100}, {2, 100}, {1, 90}, {1, 70}, {1, 50}};
const uint32_t induction_view_count = sizeof induction_views / sizeof *induction_views;

bool induction_init(struct induction *induction, struct policy_build *build) {
  const struct plan_chain *chain = build->chain;
  struct arena *scratch = &build->scratch;
  *induction = (struct induction){.build = build};
  induction->start_ps = arena_calloc(scratch, chain->step_count, sizeof *induction->start_ps);
  induction->load_start_ps = arena_calloc(scratch, chain->step_count, sizeof *induction->load_start_ps);
  induction->window = arena_calloc(scratch, chain->step_count, sizeof *induction->window);
  induction->first_choice = arena_calloc(scratch, chain->set_count, sizeof *induction->first_choice);
  uint32_t choices = 0;
  for (uint32_t s = 0; s < chain->set_count && induction->first_choice != NULL; s++) {
    induction->first_choice[s] = choices;
    choices += chain->sets[s].execute_count;
  }
  induction->choices = arena_calloc(scratch, choices, sizeof *induction->choices);
  return !scratch->is_exhausted;
}

static int64_t priced_ps(const struct plan_chain *chain, const struct plan_choice_set *set, struct induction_view view,
                         uint32_t preload, uint32_t execute) {
  const struct plan_execute *option = &set->executes[execute];
  int64_t distribute_ps = set->distribute_ps[(size_t)preload * set->execute_count + execute];
  if (distribute_ps == PLAN_UNREACHABLE) {
    return PLAN_UNREACHABLE;
  }
  return distribute_ps + option->serial_ps + plan_main_phase_ps(option, chain->overlaps)
         + set->preloads[preload].link_ps / 2 * view.price_halves;
}

void induction_look(struct induction *induction, struct induction_view view) {
  const struct plan_chain *chain = induction->build->chain;
  induction->view = view;
  for (uint32_t s = 0; s < chain->set_count; s++) {
    const struct plan_choice_set *set = &chain->sets[s];
    struct policy_option *choices = &induction->choices[induction->first_choice[s]];
    struct policy_option best = {0, POLICY_NONE};
    int64_t best_ps = PLAN_UNREACHABLE;
    for (uint32_t e = 0; e < set->execute_count; e++) {
      for (uint32_t p = 0; p < set->preload_count; p++) {
        int64_t price_ps = priced_ps(chain, set, view, p, e);
        if (price_ps < best_ps) {
          best = (struct policy_option){p, e};
          best_ps = price_ps;
        }
      }
      choices[e] = best;
    }
  }
}

static struct policy_option best_within(const struct induction *induction, uint32_t step, uint64_t space_bytes) {
  const struct plan_chain *chain = induction->build->chain;
  uint32_t set = chain->steps[step].set;
  const struct plan_execute *executes = chain->sets[set].executes;
  uint32_t low = 0, high = chain->sets[set].execute_count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (executes[middle].hot_bytes <= space_bytes) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? (struct policy_option){0, POLICY_NONE} : induction->choices[induction->first_choice[set] + low - 1];
}

static const struct plan_preload *state_of(const struct induction *induction, uint32_t step) {
  const struct plan_chain *chain = induction->build->chain;
  return &chain->sets[chain->steps[step].set].preloads[induction->build->draft.decisions[step].preload];
}

static int64_t viewed_load_ps(const struct induction *induction, uint32_t step) {
  const struct plan_preload *state = state_of(induction, step);
  int64_t link_ps = state->link_ps / induction->view.link_percent * 100;
  link_ps = link_ps > state->link_ps ? link_ps : state->link_ps;
  return state->memory_ps > link_ps ? state->memory_ps : link_ps;
}

/* Chooses window and option of one step. order[0 .. unplaced) have no time yet; those of later steps hold `held_bytes`
 * beside it in any case. */
static bool choose(struct induction *induction, uint32_t step, uint32_t unplaced, uint64_t held_bytes) {
  struct policy_build *build = induction->build;
  const struct plan_chain *chain = build->chain;
  const struct plan_schedule *draft = &build->draft;
  int64_t next_start_ps = step + 1 < chain->step_count ? induction->start_ps[step + 1] : 0;
  uint64_t beside_bytes = held_bytes;
  bool found = false;
  for (uint32_t window = unplaced;; window++) {
    bool is_last = window == draft->load_count || induction->load_start_ps[window] >= next_start_ps;
    int64_t deadline_ps = is_last ? next_start_ps : induction->load_start_ps[window];
    uint64_t own_bytes = policy_own_bytes(chain, step);
    if (beside_bytes > own_bytes) {
      break;
    }
    struct policy_option option = best_within(induction, step, own_bytes - beside_bytes);
    if (option.execute == POLICY_NONE) {
      break;
    }
    build->result->stats.labels++;
    int64_t start_ps = deadline_ps - plan_step_duration(chain, step, option.preload, option.execute);
    if (!found || start_ps > induction->start_ps[step]) {
      found = true;
      induction->start_ps[step] = start_ps;
      induction->window[step] = window;
      draft->decisions[step].preload = (uint16_t)option.preload;
      draft->decisions[step].execute = (uint16_t)option.execute;
    }
    if (is_last) {
      break;
    }
    beside_bytes += state_of(induction, draft->order[window])->cold_bytes;
  }
  return found;
}

/* The first step whose window holds a load releases it. */
static void set_releases(struct induction *induction) {
  struct plan_schedule *draft = &induction->build->draft;
  uint32_t released = 0;
  for (uint32_t i = 0; i < induction->build->chain->step_count; i++) {
    for (; released < induction->window[i]; released++) {
      draft->decisions[draft->order[released]].release = i;
    }
  }
}

bool induction_run(struct induction *induction) {
  struct policy_build *build = induction->build;
  const uint32_t *order = build->draft.order;
  uint32_t unplaced = build->draft.load_count;
  uint64_t held_bytes = 0;
  for (uint32_t i = build->chain->step_count; i-- > 0;) {
    if (!choose(induction, i, unplaced, held_bytes)) {
      return false;
    }
    held_bytes += build->loads[i] ? state_of(induction, i)->cold_bytes : 0;
    while (unplaced > 0 && order[unplaced - 1] >= i) {
      uint32_t step = order[--unplaced];
      held_bytes -= state_of(induction, step)->cold_bytes;
      int64_t end_ps = induction->start_ps[step];
      if (unplaced + 1 < build->draft.load_count && induction->load_start_ps[unplaced + 1] < end_ps) {
        end_ps = induction->load_start_ps[unplaced + 1];
      }
      induction->load_start_ps[unplaced] = end_ps - viewed_load_ps(induction, step);
    }
  }
  set_releases(induction);
  return true;
}

bool induction_offer(struct induction *induction) {
  struct policy_build *build = induction->build;
  const struct plan_chain *chain = build->chain;
  if (!induction_run(induction)) {
    return false;
  }
  bool better = policy_offer(build);
  for (uint32_t i = 0; i < chain->step_count; i++) {
    const struct plan_execute *executes = chain->sets[chain->steps[i].set].executes;
    build->room[i] = policy_own_bytes(chain, i) - executes[build->draft.decisions[i].execute].hot_bytes;
  }
  policy_advance_releases(build);
  return policy_offer(build) || better;
}
