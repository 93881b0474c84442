/* The yardsticks: exhaustive search and mixed-integer program. Both against trying literally every schedule of tiny chains,
 * against each other on 500 random ones, and against closed forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lp/lp_mip.h"
#include "plan/plan_policy.h"
#include "plan_random.h"

#if defined(__SANITIZE_ADDRESS__)
enum { CHAINS = 60, ORDERED_CHAINS = 10, TINY_CHAINS = 40 };
#else
enum { CHAINS = 500, ORDERED_CHAINS = 60, TINY_CHAINS = 200 };
#endif

/* What CBC's tolerance of 1e-6 on integers may blur, as a share of the makespan. */
#define MIP_TOLERANCE 1e-6

static const struct plan_random_shape tiny = {1, 3, 3, 2, 0.8, false};
static const struct plan_random_shape middle = {1, 5, 4, 3, 0.8, true};

/* ---- every schedule there is ---- */

struct all {
  const struct plan_chain *chain;
  struct plan_schedule schedule;
  struct plan_timeline timeline;
  bool reorder;
  int64_t best_ps;
};

static void time_it(struct all *all) {
  const char *reason;
  if (plan_schedule_check(all->chain, &all->schedule, &reason) == UINT32_MAX) {
    plan_timeline_run(all->chain, &all->schedule, false, &all->timeline);
    all->best_ps = all->timeline.makespan_ps < all->best_ps ? all->timeline.makespan_ps : all->best_ps;
  }
}

/* All orders, by exchanging the loads from place k on with the one at k. */
static void try_orders(struct all *all, uint32_t k) {
  uint32_t *order = all->schedule.order;
  if (k >= all->schedule.load_count || !all->reorder) {
    time_it(all);
    return;
  }
  for (uint32_t j = k; j < all->schedule.load_count; j++) {
    uint32_t kept = order[k];
    order[k] = order[j];
    order[j] = kept;
    try_orders(all, k + 1);
    order[j] = order[k];
    order[k] = kept;
  }
}

static void try_steps(struct all *all, uint32_t step) {
  if (step == all->chain->step_count) {
    try_orders(all, 0);
    return;
  }
  const struct plan_choice_set *set = &all->chain->sets[all->chain->steps[step].set];
  bool loads = plan_step_loads(all->chain, step);
  for (uint16_t p = 0; p < set->preload_count; p++) {
    for (uint16_t x = 0; x < set->execute_count; x++) {
      for (uint32_t r = loads ? 0 : step; r <= step; r++) {
        all->schedule.decisions[step] = (struct plan_decision){.execute = x, .preload = p, .release = r};
        try_steps(all, step + 1);
      }
    }
  }
}

static int64_t best_of_all(const struct plan_chain *chain, bool reorder) {
  struct plan_decision decisions[3];
  uint32_t order[3];
  struct plan_interval intervals[3];
  struct all all = {.chain = chain,
                    .schedule = {decisions, order, 0},
                    .timeline.steps = intervals,
                    .reorder = reorder,
                    .best_ps = INT64_MAX};
  for (uint32_t i = 0; i < chain->step_count; i++) {
    if (plan_step_loads(chain, i)) {
      order[all.schedule.load_count++] = i;
    }
  }
  try_steps(&all, 0);
  return all.best_ps;
}

static int64_t makespan_of(const struct plan_policy *policy, const struct plan_chain *chain, bool reorder,
                           struct arena *arena) {
  const struct plan_policy_options options = {.reorder = reorder};
  struct plan_policy_result result;
  uint32_t step;
  assert_int_equal(policy->run(chain, &options, arena, &result, &step), STATUS_OK);
  const char *reason;
  assert_int_equal(plan_schedule_check(chain, &result.schedule, &reason), UINT32_MAX);
  struct plan_timeline again = {.steps = arena_calloc(arena, chain->step_count, sizeof *again.steps)};
  plan_timeline_run(chain, &result.schedule, false, &again);
  assert_true(again.makespan_ps == result.timeline.makespan_ps);
  assert_true(result.stats.complete);
  return result.timeline.makespan_ps;
}

static void test_every_schedule(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < TINY_CHAINS; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    assert_true(plan_random_chain(seed, &tiny, &arena, &chain));
    for (int reorder = 0; reorder < 2; reorder++) {
      assert_true(best_of_all(&chain, reorder) == makespan_of(&plan_policy_exact, &chain, reorder, &arena));
    }
    arena_release(&arena);
  }
}

/* ---- enumeration and mixed-integer program ---- */

static void compare(uint64_t seeds, const struct plan_random_shape *shape, bool reorder) {
  for (uint64_t seed = 0; seed < seeds; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    assert_true(plan_random_chain(seed, shape, &arena, &chain));
    int64_t exact_ps = makespan_of(&plan_policy_exact, &chain, reorder, &arena);
    int64_t mip_ps = makespan_of(&plan_policy_exact_mip, &chain, reorder, &arena);
    assert_true(mip_ps >= exact_ps);
    assert_true((double)(mip_ps - exact_ps) <= MIP_TOLERANCE * (double)exact_ps);
    arena_release(&arena);
  }
}

static void test_mip_agrees(void **state) {
  (void)state;
  if (!lp_mip_available()) {
    print_message("skipped: no CBC\n");
    skip();
  }
  compare(CHAINS, &plan_random_small, false);
}

static void test_mip_agrees_on_orders(void **state) {
  (void)state;
  if (!lp_mip_available()) {
    print_message("skipped: no CBC\n");
    skip();
  }
  compare(ORDERED_CHAINS, &middle, true);
}

/* ---- closed forms ---- */

/* One option each: load 3, run 5; load 4, run 2. All fits: 3 + max(5, 4) + 2 = 10. The second load does not fit beside the
 * first step: 3 + 5 + 4 + 2 = 14. */
static void test_two_steps(void **state) {
  (void)state;
  const struct plan_preload loads[] = {{10, 3, 0}, {20, 4, 1}};
  const struct plan_execute runs[] = {{40, 4, 1, 0}, {50, 1, 0, 1}};
  const int64_t distribute[] = {0};
  const struct plan_choice_set sets[] = {{1, 1, &runs[0], &loads[0], distribute, 0},
                                         {1, 1, &runs[1], &loads[1], distribute, 0}};
  const struct plan_step steps[] = {{0, 0, UINT32_MAX}, {1, 0, UINT32_MAX}};
  struct plan_chain chain = {2, 2, steps, sets, 60, false};
  struct arena arena;
  arena_init(&arena, 0);
  assert_true(makespan_of(&plan_policy_exact, &chain, false, &arena) == 10);
  chain.sram_bytes = 59;
  assert_true(makespan_of(&plan_policy_exact, &chain, true, &arena) == 14);
  if (lp_mip_available()) {
    assert_true(makespan_of(&plan_policy_exact_mip, &chain, false, &arena) == 14);
  }
  arena_release(&arena);
}

static void test_refusals(void **state) {
  (void)state;
  const struct plan_random_shape nine = {9, 9, 2, 2, 0.7, false};
  struct arena arena;
  arena_init(&arena, 0);
  struct plan_chain chain;
  struct plan_policy_result result;
  const struct plan_policy_options options = {0};
  const struct plan_policy *policies[] = {&plan_policy_exact, &plan_policy_exact_mip, &plan_policy_joint};
  for (size_t k = 0; k < sizeof policies / sizeof policies[0]; k++) {
    uint32_t step = UINT32_MAX;
    if (policies[k] == &plan_policy_exact_mip && !lp_mip_available()) {
      continue;
    }
    assert_true(plan_random_chain(3, &nine, &arena, &chain));
    enum status expected = policies[k] == &plan_policy_joint ? STATUS_OK : STATUS_LIMIT;
    assert_int_equal(policies[k]->run(&chain, &options, &arena, &result, &step), expected);

    uint32_t needy;
    chain.sram_bytes = plan_chain_smallest_sram(&chain, &needy) - 1;
    assert_int_equal(policies[k]->run(&chain, &options, &arena, &result, &step), STATUS_INPUT);
    assert_int_equal(step, needy);
  }
  arena_release(&arena);
}

static void test_no_step(void **state) {
  (void)state;
  struct arena arena;
  arena_init(&arena, 0);
  const struct plan_chain chain = {.sram_bytes = 1};
  assert_true(makespan_of(&plan_policy_exact, &chain, true, &arena) == 0);
  if (lp_mip_available()) {
    struct plan_policy_result result;
    uint32_t step;
    const struct plan_policy_options options = {0};
    plan_policy_exact_mip.run(&chain, &options, &arena, &result, &step);
    assert_true(result.timeline.makespan_ps == 0);
  }
  arena_release(&arena);
}

/* With contention the priorities are the best of all, so no worse than either throughout. */
static void test_priorities(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 50; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    assert_true(plan_random_chain(seed, &middle, &arena, &chain));
    const struct plan_policy_options options = {.contention = true};
    struct plan_policy_result result;
    uint32_t step;
    assert_int_equal(plan_policy_exact.run(&chain, &options, &arena, &result, &step), STATUS_OK);
    int64_t free_ps = makespan_of(&plan_policy_exact, &chain, false, &arena);
    assert_true(result.timeline.makespan_ps >= free_ps);
    struct plan_timeline other = {.steps = arena_calloc(&arena, chain.step_count, sizeof *other.steps)};
    for (uint8_t priority = 0; priority < 2; priority++) {
      for (uint32_t i = 0; i < chain.step_count; i++) {
        result.schedule.decisions[i].priority = priority;
      }
      plan_timeline_run(&chain, &result.schedule, true, &other);
      assert_true(other.makespan_ps >= result.timeline.makespan_ps);
    }
    arena_release(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_schedule),
      cmocka_unit_test(test_mip_agrees),
      cmocka_unit_test(test_mip_agrees_on_orders),
      cmocka_unit_test(test_two_steps),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_no_step),
      cmocka_unit_test(test_priorities),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
