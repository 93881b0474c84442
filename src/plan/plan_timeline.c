/* The one evaluator of time: runs a schedule of a chain event by event. Every policy, the ablation and the plan files get
 * their times from here.
 *
 *   plan_schedule ─► plan_schedule_check ─► plan_timeline_run ─► plan_timeline
 *
 * Two machines work side by side: the memory channel (one load at a time) and the cores (one step at a time, in phases).
 * They meet at the links. Between two events, each the end of a load or of a phase, both run at constant speeds.
 * The speeds are in plan_speeds.h; docs/plan-schedule.md, "Timeline", derives them.
 */
#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "plan/plan_speeds.h"

static const struct plan_choice_set *set_of(const struct plan_chain *chain, uint32_t step) {
  return &chain->sets[chain->steps[step].set];
}

bool plan_step_loads(const struct plan_chain *chain, uint32_t step) {
  const struct plan_choice_set *set = set_of(chain, step);
  for (uint32_t p = 0; p < set->preload_count; p++) {
    const struct plan_preload *preload = &set->preloads[p];
    if (preload->cold_bytes != 0 || preload->memory_ps != 0 || preload->link_ps != 0) {
      return true;
    }
  }
  return false;
}

int64_t plan_step_duration(const struct plan_chain *chain, uint32_t step, uint32_t preload, uint32_t execute) {
  const struct plan_choice_set *set = set_of(chain, step);
  int64_t distribute_ps = set->distribute_ps[(size_t)preload * set->execute_count + execute];
  if (distribute_ps == PLAN_UNREACHABLE) {
    return PLAN_UNREACHABLE;
  }
  return distribute_ps + set->executes[execute].serial_ps
         + plan_main_phase_ps(&set->executes[execute], chain->overlaps);
}

static int64_t load_ps(const struct plan_preload *preload) {
  return preload->memory_ps > preload->link_ps ? preload->memory_ps : preload->link_ps;
}

/* ---- checking ---- */

static const char *decision_fault(const struct plan_chain *chain, uint32_t step, const struct plan_decision *decision) {
  const struct plan_choice_set *set = set_of(chain, step);
  if (decision->execute >= set->execute_count || decision->preload >= set->preload_count) {
    return "option out of range";
  }
  if (set->distribute_ps[(size_t)decision->preload * set->execute_count + decision->execute] == PLAN_UNREACHABLE) {
    return "execute state not reachable from the preload state";
  }
  if (decision->priority > PLAN_PRELOAD_FIRST) {
    return "unknown priority";
  }
  if (decision->release > step) {
    return "load released after its step";
  }
  if (decision->release != step && !plan_step_loads(chain, step)) {
    return "released early without a load";
  }
  return NULL;
}

static bool is_ascending(const uint32_t *order, uint32_t count) {
  for (uint32_t k = 1; k < count; k++) {
    if (order[k - 1] >= order[k]) {
      return false;
    }
  }
  return true;
}

/* The order names every loading step once, releases non-decreasing. Returns the step that breaks it. Repetitions are
 * searched pairwise, only where the loads are not in execution order. */
static uint32_t order_fault(const struct plan_chain *chain, const struct plan_schedule *schedule, const char **reason) {
  const uint32_t *order = schedule->order;
  uint32_t loading = 0;
  for (uint32_t i = 0; i < chain->step_count; i++) {
    loading += plan_step_loads(chain, i);
  }
  bool ascending = is_ascending(order, schedule->load_count);
  for (uint32_t k = 0; k < schedule->load_count; k++) {
    if (order[k] >= chain->step_count || !plan_step_loads(chain, order[k])) {
      *reason = "order names a step that loads nothing";
      return order[k] < chain->step_count ? order[k] : 0;
    }
    if (k > 0 && schedule->decisions[order[k]].release < schedule->decisions[order[k - 1]].release) {
      *reason = "released before the load ahead of it";
      return order[k];
    }
    for (uint32_t j = 0; !ascending && j < k; j++) {
      if (order[j] == order[k]) {
        *reason = "loaded twice";
        return order[k];
      }
    }
  }
  if (schedule->load_count != loading) {
    *reason = "a load is missing from the order";
    return 0;
  }
  return UINT32_MAX;
}

/* Cold bytes of released loads, step by step: loads are added in their order, which is that of their releases, and leave
 * when their step starts. */
struct resident {
  uint64_t cold_bytes;
  uint32_t next; /* in the order */
};

/* Largest need while `step` runs. To be called for each step in turn. */
static uint64_t resident_at(struct resident *resident, const struct plan_chain *chain,
                            const struct plan_schedule *schedule, uint32_t step) {
  while (resident->next < schedule->load_count) {
    uint32_t loaded = schedule->order[resident->next];
    if (schedule->decisions[loaded].release > step) {
      break;
    }
    resident->cold_bytes += set_of(chain, loaded)->preloads[schedule->decisions[loaded].preload].cold_bytes;
    resident->next++;
  }
  const struct plan_choice_set *set = set_of(chain, step);
  const struct plan_decision *decision = &schedule->decisions[step];
  resident->cold_bytes -= set->preloads[decision->preload].cold_bytes;
  return resident->cold_bytes + set->executes[decision->execute].hot_bytes + chain->steps[step].live_bytes;
}

uint32_t plan_schedule_check(const struct plan_chain *chain, const struct plan_schedule *schedule,
                             const char **reason) {
  *reason = NULL;
  for (uint32_t i = 0; i < chain->step_count; i++) {
    *reason = decision_fault(chain, i, &schedule->decisions[i]);
    if (*reason != NULL) {
      return i;
    }
  }
  uint32_t fault = order_fault(chain, schedule, reason);
  if (fault != UINT32_MAX) {
    return fault;
  }
  struct resident resident = {0};
  for (uint32_t i = 0; i < chain->step_count; i++) {
    if (resident_at(&resident, chain, schedule, i) > chain->sram_bytes) {
      *reason = "does not fit the SRAM";
      return i;
    }
  }
  return UINT32_MAX;
}

/* ---- running ---- */

struct run {
  const struct plan_chain *chain;
  const struct plan_schedule *schedule;
  struct plan_timeline *timeline;
  int64_t now_ps;
  uint32_t step; /* the one that runs or waits: loads released up to it may begin */
  /* The memory channel: order[next] is under way, or waits for its release. */
  uint32_t next;
  bool is_loading;
  int64_t load_left_ps; /* of its time alone */
  double share; /* of the links while it runs alone */
};

static void begin_load(struct run *run) {
  run->is_loading = false;
  while (run->next < run->schedule->load_count) {
    uint32_t loaded = run->schedule->order[run->next];
    const struct plan_decision *decision = &run->schedule->decisions[loaded];
    if (decision->release > run->step) {
      return;
    }
    const struct plan_preload *preload = &set_of(run->chain, loaded)->preloads[decision->preload];
    run->timeline->steps[loaded].load_start_ps = run->now_ps;
    run->load_left_ps = load_ps(preload);
    if (run->load_left_ps > 0) {
      run->share = (double)preload->link_ps / (double)run->load_left_ps;
      run->is_loading = true;
      return;
    }
    run->timeline->steps[loaded].load_end_ps = run->now_ps;
    run->next++;
  }
}

static void end_load(struct run *run) {
  run->timeline->steps[run->schedule->order[run->next]].load_end_ps = run->now_ps;
  run->next++;
  begin_load(run);
}

struct phase {
  int64_t left_ps; /* of its time alone */
  double link_fraction;
  bool overlaps; /* link and compute at once; otherwise in turns */
};

/* Time that `left_ps` takes at a speed, rounded up. Times beyond 2^62 ps (53 days) count as never. */
static int64_t time_at(int64_t left_ps, double speed) {
  const double never_ps = 0x1p62;
  if (speed >= 1.0) {
    return left_ps;
  }
  double time_ps = speed > 0.0 ? ceil((double)left_ps / speed) : never_ps;
  return time_ps < never_ps ? (int64_t)time_ps : (int64_t)never_ps;
}

/* What is left after `time_ps`, rounded up. */
static int64_t left_after(int64_t left_ps, double speed, int64_t time_ps) {
  int64_t done_ps = speed >= 1.0 ? time_ps : (int64_t)(speed * (double)time_ps);
  return done_ps < left_ps ? left_ps - done_ps : 0;
}

static void run_phase(struct run *run, struct phase *phase, enum plan_priority priority, bool contention) {
  while (phase->left_ps > 0) {
    if (!run->is_loading) {
      run->now_ps += phase->left_ps;
      return;
    }
    struct plan_speeds speeds = {1.0, 1.0};
    if (contention) {
      speeds = plan_speeds_of(phase->link_fraction, phase->overlaps, priority, run->share);
    }
    int64_t phase_ps = time_at(phase->left_ps, speeds.phase);
    int64_t loading_ps = time_at(run->load_left_ps, speeds.load);
    int64_t span_ps = phase_ps < loading_ps ? phase_ps : loading_ps;
    run->now_ps += span_ps;
    phase->left_ps = span_ps == phase_ps ? 0 : left_after(phase->left_ps, speeds.phase, span_ps);
    run->load_left_ps = span_ps == loading_ps ? 0 : left_after(run->load_left_ps, speeds.load, span_ps);
    if (run->load_left_ps == 0) {
      end_load(run);
    }
  }
}

/* Lets time pass until the load of the present step is complete; the cores wait. */
static void await_load(struct run *run) {
  const struct plan_interval *interval = &run->timeline->steps[run->step];
  while (interval->load_end_ps < 0) {
    assert(run->is_loading); /* a sound schedule releases every load in front of it by now */
    run->now_ps += run->load_left_ps;
    end_load(run);
  }
}

static void run_step(struct run *run, const struct plan_execute *execute, int64_t distribute_ps, bool contention) {
  enum plan_priority priority = (enum plan_priority)run->schedule->decisions[run->step].priority;
  struct phase link_phase = {.left_ps = distribute_ps + execute->serial_ps, .link_fraction = 1.0};
  run_phase(run, &link_phase, priority, contention);
  int64_t main_ps = plan_main_phase_ps(execute, run->chain->overlaps);
  struct phase main_phase = {.left_ps = main_ps, .overlaps = run->chain->overlaps};
  if (main_ps > 0) {
    main_phase.link_fraction = (double)execute->shift_ps / (double)main_ps;
  }
  run_phase(run, &main_phase, priority, contention);
}

void plan_timeline_run(const struct plan_chain *chain, const struct plan_schedule *schedule, bool contention,
                       struct plan_timeline *timeline) {
  *timeline = (struct plan_timeline){.steps = timeline->steps};
  for (uint32_t i = 0; i < chain->step_count; i++) {
    timeline->steps[i].load_end_ps = -1; /* not yet */
  }
  struct run run = {.chain = chain, .schedule = schedule, .timeline = timeline};
  struct resident resident = {0};
  for (uint32_t i = 0; i < chain->step_count; i++) {
    const struct plan_choice_set *set = set_of(chain, i);
    const struct plan_decision *decision = &schedule->decisions[i];
    const struct plan_preload *preload = &set->preloads[decision->preload];
    const struct plan_execute *execute = &set->executes[decision->execute];
    struct plan_interval *interval = &timeline->steps[i];
    int64_t distribute_ps = set->distribute_ps[(size_t)decision->preload * set->execute_count + decision->execute];
    run.step = i;
    if (!run.is_loading) {
      begin_load(&run);
    }
    int64_t free_ps = run.now_ps;
    if (!plan_step_loads(chain, i)) {
      interval->load_start_ps = interval->load_end_ps = free_ps;
    }
    await_load(&run);
    interval->start_ps = run.now_ps;
    run_step(&run, execute, distribute_ps, contention);
    interval->end_ps = run.now_ps;
    interval->resident_bytes = resident_at(&resident, chain, schedule, i);

    timeline->memory_busy_ps += preload->memory_ps;
    timeline->link_busy_ps += preload->link_ps + distribute_ps + execute->serial_ps + execute->shift_ps;
    timeline->compute_ps += execute->compute_ps;
    timeline->stall_load_ps += interval->start_ps - free_ps;
    timeline->stall_link_ps += interval->end_ps - interval->start_ps - distribute_ps - execute->serial_ps
                               - plan_main_phase_ps(execute, chain->overlaps);
    if (interval->resident_bytes > timeline->peak_bytes) {
      timeline->peak_bytes = interval->resident_bytes;
    }
  }
  timeline->makespan_ps = run.now_ps;
}
