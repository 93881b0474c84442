/* Policy "exact-mip": the same small problem as policy_exact.c (no contention, at most eight steps) as a mixed-integer
 * linear program for CBC, written independently of it. Variables, times in units of `unit_ps`:
 *
 *   z[i, p, x]  step i runs by execute option x from preload state p
 *   v[i, p, r]  step i's load is released before step r, in state p
 *   o[i, j]     the load of i goes before that of j > i (with reorder; otherwise it does)
 *   S[i], L[i]  start of the step, of the load
 *
 *   one z per step; sum_r v[i, p, r] = sum_x z[i, p, x]
 *   S[i] >= S[i-1] + duration[i-1]      S[i] >= L[i] + load[i]
 *   L[j] >= L[i] + load[i] - H (1 - o[i, j])      L[i] >= S[k] + duration[k] - H (1 - sum_{r > k} v[i, ., r])
 *   sum_{r > k} v[i, ., r] <= sum_{r > k} v[j, ., r] + 1 - o[i, j]       (releases follow the order)
 *   sum hot[k] z[k] + sum_{i > k, r <= k} cold v[i, ., r] <= SRAM - live[k]
 *
 * H is the makespan of loading and running one step at a time: no time of an optimal schedule is later. CBC's tolerances
 * (1e-6 on integers) blur times by 1e-6 H; decisions are rounded and timed by plan_timeline_run.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lp/lp_mip.h"
#include "plan/plan_policy.h"

enum { MAX_STEPS = 8, MAX_TERMS = 4096 };

/* H in the program's units. */
#define HORIZON 1000.0

struct terms {
  uint32_t count;
  uint32_t variables[MAX_TERMS];
  double coefficients[MAX_TERMS];
};

struct milp {
  const struct plan_chain *chain;
  struct lp_mip *mip;
  double unit_ps;
  bool reorder;
  bool loads[MAX_STEPS];
  uint32_t *pairs[MAX_STEPS]; /* z, [preload x execute_count + execute]; UINT32_MAX unreachable */
  uint32_t *releases[MAX_STEPS]; /* v, [preload x (step + 1) + release] */
  uint32_t before[MAX_STEPS][MAX_STEPS]; /* o, i < j */
  uint32_t start[MAX_STEPS], load[MAX_STEPS];
  struct terms row; /* being written */
};

static const struct plan_choice_set *set_of(const struct milp *milp, uint32_t step) {
  return &milp->chain->sets[milp->chain->steps[step].set];
}

static int64_t load_ps(const struct plan_preload *preload) {
  return preload->memory_ps > preload->link_ps ? preload->memory_ps : preload->link_ps;
}

static void term(struct milp *milp, uint32_t variable, double coefficient) {
  assert(milp->row.count < MAX_TERMS);
  milp->row.variables[milp->row.count] = variable;
  milp->row.coefficients[milp->row.count++] = coefficient;
}

static void end_row(struct milp *milp, double lower, double upper) {
  lp_mip_row(milp->mip, milp->row.count, milp->row.variables, milp->row.coefficients, lower, upper);
  milp->row.count = 0;
}

/* Adds factor x duration of the step. */
static void duration_terms(struct milp *milp, uint32_t step, double factor) {
  const struct plan_choice_set *set = set_of(milp, step);
  for (uint32_t p = 0; p < set->preload_count; p++) {
    for (uint32_t x = 0; x < set->execute_count; x++) {
      uint32_t variable = milp->pairs[step][p * set->execute_count + x];
      if (variable != UINT32_MAX) {
        term(milp, variable, factor * (double)plan_step_duration(milp->chain, step, p, x) / milp->unit_ps);
      }
    }
  }
}

/* Adds factor x load time of the step. */
static void load_terms(struct milp *milp, uint32_t step, double factor) {
  const struct plan_choice_set *set = set_of(milp, step);
  for (uint32_t p = 0; p < set->preload_count; p++) {
    for (uint32_t r = 0; r <= step; r++) {
      term(milp, milp->releases[step][p * (step + 1) + r], factor * (double)load_ps(&set->preloads[p]) / milp->unit_ps);
    }
  }
}

/* Adds factor x [the step's load is released after step `k` has started]. */
static void later_terms(struct milp *milp, uint32_t step, uint32_t k, double factor) {
  const struct plan_choice_set *set = set_of(milp, step);
  for (uint32_t p = 0; p < set->preload_count; p++) {
    for (uint32_t r = k + 1; r <= step; r++) {
      term(milp, milp->releases[step][p * (step + 1) + r], factor);
    }
  }
}

/* z and v of a step, and the rows that tie them. */
static bool add_choices(struct milp *milp, uint32_t step) {
  const struct plan_choice_set *set = set_of(milp, step);
  const size_t pair_count = (size_t)set->preload_count * set->execute_count;
  milp->pairs[step] = malloc(pair_count * sizeof **milp->pairs);
  milp->releases[step] = malloc((size_t)set->preload_count * (step + 1) * sizeof **milp->releases);
  if (milp->pairs[step] == NULL || milp->releases[step] == NULL) {
    return false;
  }
  for (size_t c = 0; c < pair_count; c++) {
    bool reachable = set->distribute_ps[c] != PLAN_UNREACHABLE;
    milp->pairs[step][c] = reachable ? lp_mip_variable(milp->mip, 0, 1, 0, true) : UINT32_MAX;
  }
  for (uint32_t v = 0; milp->loads[step] && v < set->preload_count * (step + 1); v++) {
    milp->releases[step][v] = lp_mip_variable(milp->mip, 0, 1, 0, true);
  }
  for (size_t c = 0; c < pair_count; c++) {
    if (milp->pairs[step][c] != UINT32_MAX) {
      term(milp, milp->pairs[step][c], 1);
    }
  }
  end_row(milp, 1, 1);
  for (uint32_t p = 0; milp->loads[step] && p < set->preload_count; p++) {
    for (uint32_t r = 0; r <= step; r++) {
      term(milp, milp->releases[step][p * (step + 1) + r], 1);
    }
    for (uint32_t x = 0; x < set->execute_count; x++) {
      uint32_t variable = milp->pairs[step][p * set->execute_count + x];
      if (variable != UINT32_MAX) {
        term(milp, variable, -1);
      }
    }
    end_row(milp, 0, 0);
  }
  return true;
}

static void add_times(struct milp *milp, uint32_t step) {
  milp->start[step] = lp_mip_variable(milp->mip, 0, HORIZON, 0, false);
  if (step > 0) {
    term(milp, milp->start[step], 1);
    term(milp, milp->start[step - 1], -1);
    duration_terms(milp, step - 1, -1);
    end_row(milp, 0, INFINITY);
  }
  if (!milp->loads[step]) {
    return;
  }
  milp->load[step] = lp_mip_variable(milp->mip, 0, HORIZON, 0, false);
  term(milp, milp->start[step], 1);
  term(milp, milp->load[step], -1);
  load_terms(milp, step, -1);
  end_row(milp, 0, INFINITY);
  for (uint32_t k = 0; k < step; k++) {
    term(milp, milp->load[step], 1);
    term(milp, milp->start[k], -1);
    duration_terms(milp, k, -1);
    later_terms(milp, step, k, -HORIZON);
    end_row(milp, -HORIZON, INFINITY);
  }
}

/* The load of `first` goes before that of `second` where `choice` has the value `sense`. */
static void add_order(struct milp *milp, uint32_t first, uint32_t second, uint32_t choice, int sense) {
  /* slack (1 - o) = -o + 1, or (o) for the opposite sense */
  const double coefficient = sense ? -1 : 1, constant = sense ? 1 : 0;
  term(milp, milp->load[second], 1);
  term(milp, milp->load[first], -1);
  load_terms(milp, first, -1);
  term(milp, choice, HORIZON * coefficient);
  end_row(milp, -HORIZON * constant, INFINITY);
  /* release[first] <= release[second]; steps beyond `second` cannot be the release of either */
  for (uint32_t k = 0; k < first; k++) {
    later_terms(milp, first, k, 1);
    if (k < second) {
      later_terms(milp, second, k, -1);
    }
    term(milp, choice, -coefficient);
    end_row(milp, -INFINITY, constant);
  }
}

static void add_orders(struct milp *milp) {
  for (uint32_t i = 0; i < milp->chain->step_count; i++) {
    for (uint32_t j = i + 1; milp->loads[i] && j < milp->chain->step_count; j++) {
      if (milp->loads[j]) {
        milp->before[i][j] = lp_mip_variable(milp->mip, milp->reorder ? 0 : 1, 1, 0, true);
        add_order(milp, i, j, milp->before[i][j], 1);
        if (milp->reorder) {
          add_order(milp, j, i, milp->before[i][j], 0);
        }
      }
    }
  }
}

/* In shares of the SRAM. */
static void add_memory(struct milp *milp, uint32_t step) {
  const struct plan_choice_set *set = set_of(milp, step);
  const double sram = (double)(milp->chain->sram_bytes > 0 ? milp->chain->sram_bytes : 1) / HORIZON;
  for (uint32_t c = 0; c < set->preload_count * set->execute_count; c++) {
    if (milp->pairs[step][c] != UINT32_MAX) {
      term(milp, milp->pairs[step][c], (double)set->executes[c % set->execute_count].hot_bytes / sram);
    }
  }
  for (uint32_t i = step + 1; i < milp->chain->step_count; i++) {
    const struct plan_choice_set *later = set_of(milp, i);
    for (uint32_t p = 0; milp->loads[i] && p < later->preload_count; p++) {
      for (uint32_t r = 0; r <= step; r++) {
        term(milp, milp->releases[i][p * (i + 1) + r], (double)later->preloads[p].cold_bytes / sram);
      }
    }
  }
  end_row(milp, -INFINITY, ((double)milp->chain->sram_bytes - (double)milp->chain->steps[step].live_bytes) / sram);
}

/* Loading and running one step at a time, each as fast as it fits on its own. */
static double serial_ps(const struct plan_chain *chain) {
  double sum_ps = 0;
  for (uint32_t i = 0; i < chain->step_count; i++) {
    const struct plan_choice_set *set = &chain->sets[chain->steps[i].set];
    double best_ps = INFINITY;
    for (uint32_t p = 0; p < set->preload_count; p++) {
      for (uint32_t x = 0; x < set->execute_count; x++) {
        int64_t duration_ps = plan_step_duration(chain, i, p, x);
        if (duration_ps != PLAN_UNREACHABLE
            && set->executes[x].hot_bytes + chain->steps[i].live_bytes <= chain->sram_bytes) {
          best_ps = fmin(best_ps, (double)duration_ps + (double)load_ps(&set->preloads[p]));
        }
      }
    }
    sum_ps += best_ps;
  }
  return sum_ps;
}

static bool build(struct milp *milp) {
  const uint32_t step_count = milp->chain->step_count;
  milp->unit_ps = fmax(serial_ps(milp->chain), 1) / HORIZON;
  for (uint32_t i = 0; i < step_count; i++) {
    milp->loads[i] = plan_step_loads(milp->chain, i);
    if (!add_choices(milp, i)) {
      return false;
    }
  }
  for (uint32_t i = 0; i < step_count; i++) {
    add_times(milp, i);
    add_memory(milp, i);
  }
  add_orders(milp);
  if (step_count == 0) {
    return true;
  }
  /* The end is the objective. */
  uint32_t end = lp_mip_variable(milp->mip, 0, 2 * HORIZON, 1, false);
  term(milp, end, 1);
  term(milp, milp->start[step_count - 1], -1);
  duration_terms(milp, step_count - 1, -1);
  end_row(milp, 0, INFINITY);
  return true;
}

static void read_step(const struct milp *milp, const double *values, uint32_t step, struct plan_decision *decision) {
  const struct plan_choice_set *set = set_of(milp, step);
  decision->release = step;
  for (uint32_t c = 0; c < set->preload_count * set->execute_count; c++) {
    if (milp->pairs[step][c] != UINT32_MAX && values[milp->pairs[step][c]] > 0.5) {
      decision->preload = (uint16_t)(c / set->execute_count);
      decision->execute = (uint16_t)(c % set->execute_count);
    }
  }
  for (uint32_t v = 0; milp->loads[step] && v < set->preload_count * (step + 1); v++) {
    if (values[milp->releases[step][v]] > 0.5) {
      decision->release = v % (step + 1);
    }
  }
}

static void read_schedule(const struct milp *milp, const double *values, struct plan_schedule *schedule) {
  schedule->load_count = 0;
  for (uint32_t i = 0; i < milp->chain->step_count; i++) {
    read_step(milp, values, i, &schedule->decisions[i]);
    if (!milp->loads[i]) {
      continue;
    }
    /* insert behind all that go before it */
    uint32_t at = schedule->load_count++;
    for (; at > 0 && values[milp->before[schedule->order[at - 1]][i]] < 0.5; at--) {
      schedule->order[at] = schedule->order[at - 1];
    }
    schedule->order[at] = i;
  }
}

static enum status solve(struct milp *milp, const struct plan_policy_options *options,
                         struct plan_policy_result *result) {
  if (!build(milp)) {
    return STATUS_MEMORY;
  }
  struct lp_mip_solution solution;
  STATUS_TRY(lp_mip_solve(milp->mip, options->budget, &solution));
  if (solution.values == NULL) {
    return STATUS_LIMIT;
  }
  result->stats.complete = solution.is_optimal;
  result->stats.schedules = 1;
  read_schedule(milp, solution.values, &result->schedule);
  plan_timeline_run(milp->chain, &result->schedule, options->contention, &result->timeline);
  return STATUS_OK;
}

static enum status run(const struct plan_chain *chain, const struct plan_policy_options *options, struct arena *arena,
                       struct plan_policy_result *result, uint32_t *step) {
  *result = (struct plan_policy_result){0};
  if (!lp_mip_available()) {
    return STATUS_UNSUPPORTED;
  }
  if (plan_chain_smallest_sram(chain, step) > chain->sram_bytes) {
    return STATUS_INPUT;
  }
  if (chain->step_count > MAX_STEPS) {
    return STATUS_LIMIT;
  }
  result->schedule.decisions = arena_calloc(arena, chain->step_count, sizeof *result->schedule.decisions);
  result->schedule.order = arena_calloc(arena, chain->step_count, sizeof *result->schedule.order);
  result->timeline.steps = arena_calloc(arena, chain->step_count, sizeof *result->timeline.steps);
  struct milp *milp = calloc(1, sizeof *milp);
  enum status status = STATUS_MEMORY;
  if (milp != NULL && !arena->is_exhausted) {
    milp->chain = chain;
    milp->reorder = options->reorder;
    milp->mip = lp_mip_new();
    status = milp->mip == NULL ? STATUS_MEMORY : solve(milp, options, result);
    lp_mip_free(milp->mip);
    for (uint32_t i = 0; i < MAX_STEPS; i++) {
      free(milp->pairs[i]);
      free(milp->releases[i]);
    }
  }
  free(milp);
  return status;
}

const struct plan_policy plan_policy_exact_mip = {
    .name = "exact-mip",
    .summary = "the same as a mixed-integer program through CBC",
    .run = run,
};
