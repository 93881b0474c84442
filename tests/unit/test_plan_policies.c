/* Tests of the rule-based policies and the bounds on random chains, and the instances that show what the published
 * induction and labels without preload states miss (docs/plan-schedule.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan_policy.h"
#include "plan_random.h"

#define KIB 1024u

static const struct plan_policy *const by_rules[] = {&plan_policy_basic, &plan_policy_static, &plan_policy_dyn,
                                                     &plan_policy_full};
enum { BY_RULES = sizeof by_rules / sizeof *by_rules };

/* ---- exhaustive search, without contention, loads in execution order ----
 *
 * With the options fixed, releasing every load as early as the SRAM allows is best: a load that lies beside a step has all
 * loads before it beside that step as well, so an earlier one takes no room from a later one that it would not have taken
 * anyway. */
struct exhaustive {
  const struct plan_chain *chain;
  struct plan_schedule schedule;
  struct plan_timeline timeline;
  int64_t best_ps;
  struct plan_decision best[8];
};

static bool fits_beside(const struct plan_chain *chain, const struct plan_decision *decisions, uint32_t step,
                        uint32_t last) {
  uint64_t bytes =
      chain->steps[step].live_bytes + chain->sets[chain->steps[step].set].executes[decisions[step].execute].hot_bytes;
  for (uint32_t j = step + 1; j <= last; j++) {
    bytes += chain->sets[chain->steps[j].set].preloads[decisions[j].preload].cold_bytes;
  }
  return bytes <= chain->sram_bytes;
}

static void time_all_released_early(struct exhaustive *search) {
  const struct plan_chain *chain = search->chain;
  struct plan_decision *decisions = search->schedule.decisions;
  search->schedule.load_count = 0;
  for (uint32_t j = 0; j < chain->step_count; j++) {
    decisions[j].release = j;
    if (plan_step_loads(chain, j)) {
      while (decisions[j].release > 0 && fits_beside(chain, decisions, decisions[j].release - 1, j)) {
        decisions[j].release--;
      }
      search->schedule.order[search->schedule.load_count++] = j;
    }
  }
  const char *reason;
  if (plan_schedule_check(chain, &search->schedule, &reason) != UINT32_MAX) {
    return;
  }
  plan_timeline_run(chain, &search->schedule, false, &search->timeline);
  if (search->timeline.makespan_ps < search->best_ps) {
    search->best_ps = search->timeline.makespan_ps;
    memcpy(search->best, decisions, chain->step_count * sizeof *decisions);
  }
}

static void choose_from(struct exhaustive *search, uint32_t step) {
  const struct plan_chain *chain = search->chain;
  if (step == chain->step_count) {
    time_all_released_early(search);
    return;
  }
  const struct plan_choice_set *set = &chain->sets[chain->steps[step].set];
  for (uint16_t p = 0; p < set->preload_count; p++) {
    for (uint16_t e = 0; e < set->execute_count; e++) {
      if (plan_step_duration(chain, step, p, e) != PLAN_UNREACHABLE) {
        search->schedule.decisions[step] = (struct plan_decision){e, p, step, PLAN_EXCHANGE_FIRST};
        choose_from(search, step + 1);
      }
    }
  }
}

static int64_t best_of_all(const struct plan_chain *chain, struct exhaustive *search) {
  struct plan_decision decisions[8];
  uint32_t order[8];
  struct plan_interval intervals[8];
  *search = (struct exhaustive){.chain = chain, .best_ps = INT64_MAX};
  search->schedule = (struct plan_schedule){decisions, order, 0};
  search->timeline.steps = intervals;
  choose_from(search, 0);
  return search->best_ps;
}

/* ---- properties ---- */

static void assert_result_is_sound(const struct plan_chain *chain, const struct plan_policy_result *result,
                                   bool contention, struct arena *arena) {
  const char *reason;
  assert_int_equal(plan_schedule_check(chain, &result->schedule, &reason), UINT32_MAX);
  struct plan_timeline again = {.steps = arena_calloc(arena, chain->step_count, sizeof *again.steps)};
  plan_timeline_run(chain, &result->schedule, contention, &again);
  assert_true(again.makespan_ps == result->timeline.makespan_ps);
  assert_memory_equal(again.steps, result->timeline.steps, chain->step_count * sizeof *again.steps);
}

static void schedules_are_sound_and_above_the_bounds(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 3000; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    assert_true(plan_random_chain(seed, &plan_random_small, &arena, &chain));
    struct plan_bounds bounds;
    plan_bounds_of(&chain, &bounds);
    assert_true(bounds.chain_ps >= bounds.flow_shop_ps && bounds.chain_ps >= bounds.link_ps);
    for (int k = 0; k < BY_RULES; k++) {
      for (int contention = 0; contention < 2; contention++) {
        const struct plan_policy_options options = {.contention = contention != 0};
        struct plan_policy_result result;
        uint32_t step;
        assert_int_equal(by_rules[k]->run(&chain, &options, &arena, &result, &step), STATUS_OK);
        assert_result_is_sound(&chain, &result, options.contention, &arena);
        assert_true(result.timeline.makespan_ps >= (contention ? bounds.chain_ps : bounds.flow_shop_ps));
      }
    }
    arena_release(&arena);
  }
}

static void exhaustive_search_is_between_bound_and_policies(void **state) {
  (void)state;
  struct plan_random_shape shape = plan_random_small;
  shape.max_steps = 4;
  for (uint64_t seed = 0; seed < 400; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    assert_true(plan_random_chain(seed, &shape, &arena, &chain));
    struct plan_bounds bounds;
    plan_bounds_of(&chain, &bounds);
    struct exhaustive search;
    int64_t best_ps = best_of_all(&chain, &search);
    assert_true(best_ps >= bounds.flow_shop_ps);
    for (int k = 0; k < BY_RULES - 1; k++) { /* full may change the order */
      const struct plan_policy_options options = {.contention = false};
      struct plan_policy_result result;
      uint32_t step;
      assert_int_equal(by_rules[k]->run(&chain, &options, &arena, &result, &step), STATUS_OK);
      assert_true(result.timeline.makespan_ps >= best_ps);
    }
    arena_release(&arena);
  }
}

/* Random chains repeated as layers. */
static bool layered_chain(uint64_t seed, uint32_t layers, struct arena *arena, struct plan_chain *chain) {
  if (!plan_random_chain(seed, &plan_random_small, arena, chain)) {
    return false;
  }
  uint32_t n = chain->step_count;
  struct plan_step *steps = arena_calloc(arena, (size_t)n * layers, sizeof *steps);
  for (uint32_t k = 0; k < n * layers; k++) {
    steps[k] = chain->steps[k % n];
    steps[k].layer = k / n;
  }
  chain->steps = steps;
  chain->step_count = n * layers;
  return true;
}

static void reordering_within_layers_is_sound_and_never_worse(void **state) {
  (void)state;
  uint32_t better = 0;
  for (uint64_t seed = 0; seed < 400; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    assert_true(layered_chain(seed, 4, &arena, &chain));
    const struct plan_policy_options options = {.contention = true};
    struct plan_policy_result dyn, full;
    uint32_t step;
    assert_int_equal(plan_policy_dyn.run(&chain, &options, &arena, &dyn, &step), STATUS_OK);
    assert_int_equal(plan_policy_full.run(&chain, &options, &arena, &full, &step), STATUS_OK);
    assert_result_is_sound(&chain, &full, true, &arena);
    struct plan_bounds bounds;
    plan_bounds_of(&chain, &bounds);
    assert_true(full.timeline.makespan_ps >= bounds.chain_ps);
    assert_true(full.timeline.makespan_ps <= dyn.timeline.makespan_ps);
    better += full.timeline.makespan_ps < dyn.timeline.makespan_ps;
    arena_release(&arena);
  }
  assert_true(better > 20);
}

/* With room for everything the yardstick is the flow shop of the fastest runs and the smallest loads. */
static void ideal_with_plentiful_sram_is_the_flow_shop(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 300; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    assert_true(plan_random_chain(seed, &plan_random_small, &arena, &chain));
    chain.sram_bytes = UINT64_MAX / 4;
    int64_t loads_ps[8], runs_ps[8], longest_ps = 0;
    for (uint32_t i = 0; i < chain.step_count; i++) {
      const struct plan_choice_set *set = &chain.sets[chain.steps[i].set];
      loads_ps[i] = runs_ps[i] = INT64_MAX;
      for (uint32_t p = 0; p < set->preload_count; p++) {
        const struct plan_preload *load = &set->preloads[p];
        int64_t load_ps = load->memory_ps > load->link_ps ? load->memory_ps : load->link_ps;
        loads_ps[i] = load_ps < loads_ps[i] ? load_ps : loads_ps[i];
        for (uint32_t e = 0; e < set->execute_count; e++) {
          int64_t run_ps = plan_step_duration(&chain, i, p, e);
          runs_ps[i] = run_ps < runs_ps[i] ? run_ps : runs_ps[i];
        }
      }
    }
    for (uint32_t turn = 0; turn < chain.step_count; turn++) {
      int64_t path_ps = 0;
      for (uint32_t i = 0; i < chain.step_count; i++) {
        path_ps += (i <= turn ? loads_ps[i] : 0) + (i >= turn ? runs_ps[i] : 0);
      }
      longest_ps = path_ps > longest_ps ? path_ps : longest_ps;
    }
    const struct plan_policy_options options = {.contention = true};
    struct plan_policy_result result;
    uint32_t step;
    assert_int_equal(plan_policy_ideal.run(&chain, &options, &arena, &result, &step), STATUS_OK);
    assert_true(result.timeline.makespan_ps == longest_ps);
    arena_release(&arena);
  }
}

static void what_does_not_fit_is_named(void **state) {
  (void)state;
  static const struct plan_policy *const all[] = {&plan_policy_basic, &plan_policy_static, &plan_policy_dyn,
                                                  &plan_policy_full, &plan_policy_ideal};
  for (uint64_t seed = 0; seed < 100; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    assert_true(plan_random_chain(seed, &plan_random_small, &arena, &chain));
    uint32_t needy, step;
    uint64_t smallest_bytes = plan_chain_smallest_sram(&chain, &needy);
    assert_true(smallest_bytes == plan_random_need(&chain, needy));
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
      const struct plan_policy_options options = {.contention = true};
      struct plan_policy_result result;
      chain.sram_bytes = smallest_bytes;
      assert_int_equal(all[k]->run(&chain, &options, &arena, &result, &step), STATUS_OK);
      chain.sram_bytes = smallest_bytes - 1;
      assert_int_equal(all[k]->run(&chain, &options, &arena, &result, &step), STATUS_INPUT);
      assert_int_equal(step, needy);
    }
    struct plan_bounds bounds;
    plan_bounds_of(&chain, &bounds);
    assert_true(bounds.chain_ps == PLAN_UNREACHABLE);
    arena_release(&arena);
  }
}

static void an_empty_chain_takes_no_time(void **state) {
  (void)state;
  const struct plan_chain chain = {.sram_bytes = 1024};
  struct plan_bounds bounds;
  plan_bounds_of(&chain, &bounds);
  assert_int_equal(bounds.chain_ps, 0);
  for (int k = 0; k < BY_RULES; k++) {
    struct arena arena;
    arena_init(&arena, 0);
    const struct plan_policy_options options = {.contention = true};
    struct plan_policy_result result;
    uint32_t step;
    assert_int_equal(by_rules[k]->run(&chain, &options, &arena, &result, &step), STATUS_OK);
    assert_int_equal(result.timeline.makespan_ps, 0);
    assert_int_equal(result.schedule.load_count, 0);
    arena_release(&arena);
  }
}

static void too_little_memory_is_said(void **state) {
  (void)state;
  struct plan_random_shape shape = plan_random_small;
  shape.min_steps = shape.max_steps = 500;
  struct arena chain_arena;
  arena_init(&chain_arena, 0);
  struct plan_chain chain;
  assert_true(plan_random_chain(3, &shape, &chain_arena, &chain));
  for (int k = 0; k < BY_RULES; k++) {
    struct arena arena;
    arena_init(&arena, 10000); /* 500 decisions and intervals take more */
    const struct plan_policy_options options = {.contention = true};
    struct plan_policy_result result;
    uint32_t step;
    assert_int_equal(by_rules[k]->run(&chain, &options, &arena, &result, &step), STATUS_MEMORY);
    arena_release(&arena);
  }
  arena_release(&chain_arena);
}

/* Two steps that load for 30 and 20 (links 10 and 20) and run for 5 + 15 (compute and shift) and 40. */
static void bounds_by_hand(void **state) {
  (void)state;
  static const struct plan_execute runs[] = {{4 * KIB, 5, 15, 0}, {4 * KIB, 40, 0, 0}};
  static const struct plan_preload loads[] = {{2 * KIB, 30, 10}, {2 * KIB, 18, 20}};
  static const int64_t none[] = {0};
  static const struct plan_choice_set sets[] = {{1, 1, &runs[0], &loads[0], none, 0},
                                                {1, 1, &runs[1], &loads[1], none, 0}};
  static const struct plan_step steps[] = {{0, 0, 0}, {1, 0, 0}};
  const struct plan_chain chain = {2, 2, steps, sets, 64 * KIB, false};
  struct plan_bounds bounds;
  plan_bounds_of(&chain, &bounds);
  assert_int_equal(bounds.flow_shop_ps, 90); /* 30 + 20 + 40 = 30 + (5 + 15) + 40 */
  assert_int_equal(bounds.link_ps, 45); /* 10 + 15 + 20 */
  /* the links are idle for 20 of the first load, carry 45, and are idle again while step 1 computes */
  assert_int_equal(bounds.chain_ps, 30 + 15 + 20 + 40);
}

/* Sixty-four equal steps: load 100 of which links 50, run 50 of compute and 50 of shift in turns. Alone channel and cores are
 * both busy for 100 per step, links for 100 as well; but exchange first costs the load 50 (w = 1/2), preload first the step 50
 * (u = 2/3). The price 1/2 shows it: min(50, 50) + 50 + 25 = 125 per step. Either priority alone takes 150 or 200 per step in
 * the middle; every other step each 100 + 150, during which 50 + 150 of loads go: 125 as well. */
static void the_price_of_links_bounds_what_contention_costs(void **state) {
  (void)state;
  enum { N = 64 };
  static const struct plan_execute run = {4 * KIB, 50, 50, 0};
  static const struct plan_preload load = {2 * KIB, 100, 50};
  static const int64_t none[] = {0};
  static const struct plan_choice_set set = {1, 1, &run, &load, none, 0};
  static const struct plan_step steps[N] = {{0, 0, 0}};
  const struct plan_chain chain = {N, 1, steps, &set, 1024 * KIB, false};
  struct plan_bounds bounds;
  plan_bounds_of(&chain, &bounds);
  assert_int_equal(bounds.flow_shop_ps, 100 + N * 100);
  assert_int_equal(bounds.link_ps, N * 100);
  /* the first load has nothing beside it (100 + 75), the last run neither (50 + 100) */
  assert_int_equal(bounds.chain_ps, 175 + (N - 2) * 125 + 150);
  struct plan_decision decisions[N];
  uint32_t order[N];
  struct plan_interval intervals[N];
  for (uint32_t i = 0; i < N; i++) {
    decisions[i] = (struct plan_decision){0, 0, 0, i % 2 == 0 ? PLAN_PRELOAD_FIRST : PLAN_EXCHANGE_FIRST};
    order[i] = i;
  }
  const struct plan_schedule schedule = {decisions, order, N};
  struct plan_timeline timeline = {.steps = intervals};
  plan_timeline_run(&chain, &schedule, true, &timeline);
  assert_true(timeline.makespan_ps >= bounds.chain_ps);
  assert_true(timeline.makespan_ps <= bounds.chain_ps + 100);
}

/* Every priority of every step, with all options: nothing is below the bounds. */
static void no_priorities_beat_the_bounds(void **state) {
  (void)state;
  struct plan_random_shape shape = plan_random_small;
  shape.max_steps = 5;
  uint32_t close = 0;
  for (uint64_t seed = 0; seed < 400; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    assert_true(plan_random_chain(seed, &shape, &arena, &chain));
    struct exhaustive search;
    best_of_all(&chain, &search); /* options and releases that are best without contention */
    struct plan_bounds bounds;
    plan_bounds_of(&chain, &bounds);
    uint32_t order[8];
    struct plan_interval intervals[8];
    struct plan_schedule schedule = {search.best, order, 0};
    for (uint32_t i = 0; i < chain.step_count; i++) {
      if (plan_step_loads(&chain, i)) {
        order[schedule.load_count++] = i;
      }
    }
    int64_t best_ps = INT64_MAX;
    for (uint32_t priorities = 0; priorities < 1u << chain.step_count; priorities++) {
      for (uint32_t i = 0; i < chain.step_count; i++) {
        search.best[i].priority = priorities >> i & 1;
      }
      struct plan_timeline timeline = {.steps = intervals};
      plan_timeline_run(&chain, &schedule, true, &timeline);
      best_ps = timeline.makespan_ps < best_ps ? timeline.makespan_ps : best_ps;
    }
    assert_true(best_ps >= bounds.chain_ps);
    close += (double)best_ps < 1.02 * (double)bounds.chain_ps;
    arena_release(&arena);
  }
  assert_true(close > 100); /* and the bounds are not idle */
}

/* ---- what the published induction misses ----
 *
 * Four equal steps: load 50, run 50. Their tensors wait in 2 KiB, then distribution takes 1, or in 5 KiB, then it takes 0.
 * The step itself needs 6 KiB; 8 KiB in all. From the last step on, each starts latest with the wide state: it saves 1. That
 * the wide state then finds no room beside the step before (6 + 5 > 8), which the thin one would (6 + 2 = 8), shows only
 * there, when the choice is made. Nothing overlaps: 4 x (50 + 50) = 400. With thin states each load runs beside the step
 * before: 50 + 50 + 3 x 51 = 253; only the first step may as well be wide. Longer chains approach a factor of two. */
static void the_induction_forgets_what_its_choice_costs_earlier_steps(void **state) {
  (void)state;
  static const struct plan_execute run = {6 * KIB, 50, 0, 0};
  static const struct plan_preload states[] = {{2 * KIB, 50, 0}, {5 * KIB, 50, 0}};
  static const int64_t distribute_ps[] = {1, 0};
  static const struct plan_choice_set set = {1, 2, &run, states, distribute_ps, 0};
  static const struct plan_step steps[4] = {{0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {0, 0, 3}};
  const struct plan_chain chain = {4, 1, steps, &set, 8 * KIB, false};
  struct exhaustive search;
  assert_int_equal(best_of_all(&chain, &search), 253);
  struct arena arena;
  arena_init(&arena, 0);
  const struct plan_policy_options options = {.contention = false};
  struct plan_policy_result result;
  uint32_t step;
  assert_int_equal(plan_policy_dyn.run(&chain, &options, &arena, &result, &step), STATUS_OK);
  assert_int_equal(result.timeline.makespan_ps, 400);
  arena_release(&arena);
}

/* ---- what labels without preload states miss ----
 *
 * A forward search over (step, loads begun). `remembers` compares ready times and preload states too; without it only when
 * channel and cores come free and how many bytes are resident. */
enum { LABELS_MAX = 64, STEPS = 3 };
struct label {
  int64_t channel_ps, cores_ps;
  uint64_t resident_bytes; /* cold bytes of begun loads of later steps */
  int64_t ready_ps[STEPS];
  uint32_t preload[STEPS];
};
struct labels {
  struct label items[LABELS_MAX];
  uint32_t count;
};

static bool dominates(const struct label *a, const struct label *b, uint32_t from, uint32_t begun, bool remembers) {
  if (a->channel_ps > b->channel_ps || a->cores_ps > b->cores_ps || a->resident_bytes > b->resident_bytes) {
    return false;
  }
  for (uint32_t j = from; j < begun && remembers; j++) {
    if (a->ready_ps[j] > b->ready_ps[j] || a->preload[j] != b->preload[j]) {
      return false;
    }
  }
  return true;
}

static void add_label(struct labels *labels, const struct label *label, uint32_t from, uint32_t begun, bool remembers) {
  uint32_t kept = 0;
  for (uint32_t k = 0; k < labels->count; k++) {
    if (dominates(&labels->items[k], label, from, begun, remembers)) {
      return;
    }
    if (!dominates(label, &labels->items[k], from, begun, remembers)) {
      labels->items[kept++] = labels->items[k];
    }
  }
  assert_true(kept < LABELS_MAX);
  labels->items[kept++] = *label;
  labels->count = kept;
}

/* Begins one more load in each of its states. */
static void begin_loads(const struct plan_chain *chain, const struct label *label, uint32_t step, uint32_t begun,
                        bool remembers, struct labels *next) {
  const struct plan_choice_set *set = &chain->sets[chain->steps[begun].set];
  for (uint32_t p = 0; p < set->preload_count; p++) {
    struct label longer = *label;
    int64_t start_ps = label->channel_ps > label->cores_ps ? label->channel_ps : label->cores_ps;
    if (plan_step_loads(chain, begun)) {
      longer.channel_ps = start_ps + set->preloads[p].memory_ps;
    }
    longer.ready_ps[begun] = longer.channel_ps;
    longer.preload[begun] = p;
    longer.resident_bytes += set->preloads[p].cold_bytes;
    add_label(next, &longer, step, begun + 1, remembers);
  }
}

/* Runs the step (one execute option) with what has begun, if it fits. */
static void run_label(const struct plan_chain *chain, const struct label *label, uint32_t step, uint32_t begun,
                      bool remembers, struct labels *next) {
  const struct plan_choice_set *set = &chain->sets[chain->steps[step].set];
  struct label after = *label;
  after.resident_bytes -= set->preloads[label->preload[step]].cold_bytes;
  if (after.resident_bytes + set->executes[0].hot_bytes > chain->sram_bytes) {
    return;
  }
  int64_t ready_ps = label->ready_ps[step];
  after.cores_ps = (label->cores_ps > ready_ps ? label->cores_ps : ready_ps)
                   + plan_step_duration(chain, step, label->preload[step], 0);
  add_label(next, &after, step + 1, begun, remembers);
}

static int64_t best_by_labels(const struct plan_chain *chain, bool remembers) {
  static struct labels at[STEPS + 1][STEPS + 1]; /* [steps run][loads begun] */
  memset(at, 0, sizeof at);
  at[0][0].count = 1;
  for (uint32_t step = 0; step < STEPS; step++) {
    for (uint32_t begun = step; begun <= STEPS; begun++) {
      for (uint32_t k = 0; k < at[step][begun].count; k++) {
        const struct label *label = &at[step][begun].items[k];
        if (begun < STEPS) {
          begin_loads(chain, label, step, begun, remembers, &at[step][begun + 1]);
        }
        if (begun > step) {
          run_label(chain, label, step, begun, remembers, &at[step + 1][begun]);
        }
      }
    }
  }
  int64_t best_ps = INT64_MAX;
  for (uint32_t k = 0; k < at[STEPS][STEPS].count; k++) {
    int64_t cores_ps = at[STEPS][STEPS].items[k].cores_ps;
    best_ps = cores_ps < best_ps ? cores_ps : best_ps;
  }
  return best_ps;
}

/* Step 0 loads nothing and runs for 200. Step 1 loads for 10 into 1 KiB (distribution 10) or 3 KiB (0); step 2 for 190 into
 * 1 KiB (distribution 190) or 4 KiB (0); both run for 10. 7 KiB in all: step 0 needs 1, step 1 3, step 2 4.
 * Best: beside step 0 load step 1 thin and step 2 wide: 200, + 10 + 10, + 10 = 230.
 * Beside step 0 both states of step 2 take the same times, and thin has fewer resident bytes: to labels that forget states it
 * dominates, and so it does loading step 2 only beside step 1, from 200 to 390, and then wide (400 in all), because the
 * channel comes free later. What is left to them is thin twice: 200, + 10 + 10, + 190 + 10 = 420. */
static void labels_must_remember_preload_states(void **state) {
  (void)state;
  static const struct plan_execute runs[] = {{1 * KIB, 200, 0, 0}, {3 * KIB, 10, 0, 0}, {4 * KIB, 10, 0, 0}};
  static const struct plan_preload no_load = {0};
  static const struct plan_preload first[] = {{1 * KIB, 10, 0}, {3 * KIB, 10, 0}};
  static const struct plan_preload second[] = {{1 * KIB, 190, 0}, {4 * KIB, 190, 0}};
  static const int64_t none[] = {0}, first_ps[] = {10, 0}, second_ps[] = {190, 0};
  static const struct plan_choice_set sets[] = {{1, 1, &runs[0], &no_load, none, 0},
                                                {1, 2, &runs[1], first, first_ps, 0},
                                                {1, 2, &runs[2], second, second_ps, 0}};
  static const struct plan_step steps[STEPS] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}};
  const struct plan_chain chain = {STEPS, 3, steps, sets, 7 * KIB, false};
  struct exhaustive search;
  assert_int_equal(best_of_all(&chain, &search), 230);
  assert_int_equal(best_by_labels(&chain, true), 230);
  assert_int_equal(best_by_labels(&chain, false), 420);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schedules_are_sound_and_above_the_bounds),
      cmocka_unit_test(exhaustive_search_is_between_bound_and_policies),
      cmocka_unit_test(reordering_within_layers_is_sound_and_never_worse),
      cmocka_unit_test(ideal_with_plentiful_sram_is_the_flow_shop),
      cmocka_unit_test(what_does_not_fit_is_named),
      cmocka_unit_test(an_empty_chain_takes_no_time),
      cmocka_unit_test(too_little_memory_is_said),
      cmocka_unit_test(bounds_by_hand),
      cmocka_unit_test(the_price_of_links_bounds_what_contention_costs),
      cmocka_unit_test(no_priorities_beat_the_bounds),
      cmocka_unit_test(the_induction_forgets_what_its_choice_costs_earlier_steps),
      cmocka_unit_test(labels_must_remember_preload_states),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
