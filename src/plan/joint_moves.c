/* Moves of local improvement; see joint_moves.h. */
#include "plan/joint_moves.h"

#include <stddef.h>

static const struct plan_choice_set *set_of(const struct plan_chain *chain, uint32_t step) {
  return &chain->sets[chain->steps[step].set];
}

static bool is_reachable(const struct plan_choice_set *set, uint32_t preload, uint32_t execute) {
  return set->distribute_ps[(size_t)preload * set->execute_count + execute] != PLAN_UNREACHABLE;
}

/* Fastest option from the preload state in no more memory than `most_bytes`; where none is, the smallest that is reachable.
 * UINT32_MAX when that does not fit the SRAM. */
static uint32_t execute_within(const struct plan_chain *chain, uint32_t step, uint32_t preload, uint64_t most_bytes) {
  const struct plan_choice_set *set = set_of(chain, step);
  uint32_t best = UINT32_MAX;
  int64_t best_ps = INT64_MAX;
  for (uint32_t x = 0; x < set->execute_count; x++) {
    if (set->executes[x].hot_bytes > most_bytes && best != UINT32_MAX) {
      break;
    }
    const int64_t duration_ps = plan_step_duration(chain, step, preload, x);
    if (duration_ps != PLAN_UNREACHABLE && duration_ps < best_ps) {
      best_ps = duration_ps;
      best = x;
    }
  }
  if (best != UINT32_MAX && set->executes[best].hot_bytes + chain->steps[step].live_bytes > chain->sram_bytes) {
    return UINT32_MAX;
  }
  return best;
}

static bool move_preload(const struct plan_chain *chain, uint32_t step, int32_t by, struct plan_decision *decision) {
  const struct plan_choice_set *set = set_of(chain, step);
  const int64_t preload = decision->preload + (int64_t)by;
  if (preload < 0 || preload >= (int64_t)set->preload_count) {
    return false;
  }
  const uint32_t execute = execute_within(chain, step, (uint32_t)preload, set->executes[decision->execute].hot_bytes);
  if (execute == UINT32_MAX) {
    return false;
  }
  decision->preload = (uint16_t)preload;
  decision->execute = (uint16_t)execute;
  return true;
}

static bool move_execute(const struct plan_chain *chain, uint32_t step, int32_t by, struct plan_decision *decision) {
  const struct plan_choice_set *set = set_of(chain, step);
  const int64_t execute = decision->execute + (int64_t)by;
  if (execute < 0 || execute >= (int64_t)set->execute_count || !is_reachable(set, decision->preload, (uint32_t)execute)
      || set->executes[execute].hot_bytes + chain->steps[step].live_bytes > chain->sram_bytes) {
    return false;
  }
  decision->execute = (uint16_t)execute;
  return true;
}

/* Loads of the sort change places with their neighbours, `by` times. */
static bool move_loads(const struct plan_chain *chain, const struct joint_move *move, struct plan_schedule *schedule) {
  const uint32_t count = schedule->load_count;
  const bool is_later = move->by > 0;
  const uint32_t distance = (uint32_t)(is_later ? move->by : -move->by);
  bool is_changed = false;
  for (uint32_t n = 0; n < count; n++) {
    const uint32_t k = is_later ? count - 1 - n : n; /* moved loads are not met again */
    const uint32_t step = schedule->order[k];
    if (chain->steps[step].set != move->set || step < move->first || step >= move->end
        || (is_later ? count - 1 - k : k) < distance) {
      continue;
    }
    for (uint32_t d = 0; d < distance; d++) {
      const uint32_t from = is_later ? k + d : k - d, to = is_later ? from + 1 : from - 1;
      schedule->order[from] = schedule->order[to];
      schedule->order[to] = step;
    }
    is_changed = true;
  }
  return is_changed;
}

static bool change(const struct plan_chain *chain, const struct joint_move *move, struct plan_schedule *schedule) {
  if (move->kind == JOINT_MOVE_LOAD) {
    return move_loads(chain, move, schedule);
  }
  bool is_changed = false;
  for (uint32_t i = move->first; i < move->end; i++) {
    struct plan_decision *decision = &schedule->decisions[i];
    if (chain->steps[i].set != move->set) {
      continue;
    }
    if (move->kind == JOINT_MOVE_PRELOAD) {
      is_changed |= move_preload(chain, i, move->by, decision);
    } else if (move->kind == JOINT_MOVE_EXECUTE) {
      is_changed |= move_execute(chain, i, move->by, decision);
    } else {
      decision->priority = decision->priority == PLAN_PRELOAD_FIRST ? PLAN_EXCHANGE_FIRST : PLAN_PRELOAD_FIRST;
      is_changed = true;
    }
  }
  return is_changed;
}

/* Releases from the choices, each as early as what is beside it permits. False when the order forces loads beside steps that
 * leave them no room. */
static bool release_early(const struct plan_chain *chain, struct plan_schedule *schedule, uint64_t *used) {
  for (uint32_t i = 0; i < chain->step_count; i++) {
    used[i] = set_of(chain, i)->executes[schedule->decisions[i].execute].hot_bytes + chain->steps[i].live_bytes;
  }
  uint32_t latest = UINT32_MAX; /* a load is released no later than any behind it */
  for (uint32_t k = schedule->load_count; k-- > 0;) {
    const uint32_t step = schedule->order[k];
    latest = step < latest ? step : latest;
    schedule->decisions[step].release = latest;
  }
  uint32_t earliest = 0;
  for (uint32_t k = 0; k < schedule->load_count; k++) {
    const uint32_t step = schedule->order[k];
    const uint64_t cold_bytes = set_of(chain, step)->preloads[schedule->decisions[step].preload].cold_bytes;
    uint32_t release = step;
    while (release > earliest && used[release - 1] + cold_bytes <= chain->sram_bytes) {
      used[--release] += cold_bytes;
    }
    if (release > schedule->decisions[step].release) {
      return false;
    }
    schedule->decisions[step].release = earliest = release;
  }
  return true;
}

bool joint_move_make(const struct plan_chain *chain, const struct joint_move *move, struct plan_schedule *schedule,
                     uint64_t *used) {
  return change(chain, move, schedule) && release_early(chain, schedule, used);
}
