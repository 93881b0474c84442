/* The bound that sees the SRAM: by hand, and never above the best of all schedules. The other bounds are tested with the
 * policies (test_plan_policies.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/plan_policy.h"
#include "plan_random.h"

#if defined(__SANITIZE_ADDRESS__)
enum { CHAINS = 200 };
#else
enum { CHAINS = 1500 };
#endif

enum { KIB = 1024, STEPS = 12 };

/* Equal steps: load 50 into 5 KiB, run 50 in 6 KiB of 8. No load fits beside any step: each is waited for. With 11 KiB
 * all but the first can hide: the flow shop. */
static void loads_that_do_not_fit_do_not_hide(void **state) {
  (void)state;
  static const struct plan_execute run = {6 * KIB, 30, 20, 0};
  static const struct plan_preload load = {5 * KIB, 50, 25};
  static const int64_t none[] = {0};
  static const struct plan_choice_set set = {1, 1, &run, &load, none, 0};
  static const struct plan_step steps[STEPS] = {{0, 0, 0}};
  struct plan_chain chain = {STEPS, 1, steps, &set, 8 * KIB, false};
  assert_int_equal(plan_sram_bound_of(&chain, false), STEPS * (50 + 50));
  struct plan_bounds bounds;
  plan_bounds_of(&chain, &bounds);
  assert_int_equal(bounds.chain_ps, STEPS * (50 + 50));
  assert_int_equal(bounds.flow_shop_ps, 50 + STEPS * 50);
  chain.sram_bytes = 11 * KIB;
  assert_int_equal(plan_sram_bound_of(&chain, false), 50 + STEPS * 50);
}

/* Loads of 50 into 3 KiB; a step runs for 80 in 5 KiB, beside which one load fits, or for 50 in 6 KiB, beside which none does.
 * Weigh a load 5/8: it counts 31.25, and of a small step's 80 at most one load's weight hides, which leaves 48.75: 80 together.
 * The wide step counts whole: 81.25. The first load hides behind nothing, nor does any behind the last step. Small steps with
 * the next load beside them reach it: 50 + 11 x 80 + 50. */
static void a_slower_option_makes_room(void **state) {
  (void)state;
  static const struct plan_execute runs[] = {{5 * KIB, 80, 0, 0}, {6 * KIB, 50, 0, 0}};
  static const struct plan_preload load = {3 * KIB, 50, 0};
  static const int64_t none[] = {0, 0};
  static const struct plan_choice_set set = {2, 1, runs, &load, none, 0};
  static const struct plan_step steps[STEPS] = {{0, 0, 0}};
  const struct plan_chain chain = {STEPS, 1, steps, &set, 8 * KIB, false};
  assert_int_equal(plan_sram_bound_of(&chain, false), 50 + (STEPS - 1) * 80 + 50);
  const struct plan_policy_options options = {.contention = false};
  struct arena arena;
  arena_init(&arena, 0);
  struct plan_policy_result found;
  uint32_t step;
  assert_int_equal(plan_policy_joint.run(&chain, &options, &arena, &found, &step), STATUS_OK);
  assert_int_equal(found.timeline.makespan_ps, 50 + (STEPS - 1) * 80 + 50);
  arena_release(&arena);
}

/* Never above exact, in step order and with free orders; often above the flow shop, else it would be idle. */
static void never_above_exact(void **state) {
  (void)state;
  for (int reorder = 0; reorder < 2; reorder++) {
    struct plan_random_shape shape = plan_random_small;
    shape.max_steps = reorder ? 6 : 8;
    uint32_t sharper = 0, reached = 0;
    for (uint64_t seed = 0; seed < CHAINS; seed++) {
      struct arena arena;
      arena_init(&arena, 0);
      struct plan_chain chain;
      assert_true(plan_random_chain(seed, &shape, &arena, &chain));
      const struct plan_policy_options options = {.reorder = reorder != 0};
      struct plan_policy_result exact;
      uint32_t step;
      assert_int_equal(plan_policy_exact.run(&chain, &options, &arena, &exact, &step), STATUS_OK);
      const int64_t bound_ps = plan_sram_bound_of(&chain, false);
      struct plan_bounds bounds;
      plan_bounds_of(&chain, &bounds);
      assert_true(bound_ps <= exact.timeline.makespan_ps);
      assert_true(plan_sram_bound_of(&chain, true) <= bounds.chain_ps);
      sharper += bound_ps > bounds.flow_shop_ps;
      reached += bound_ps == exact.timeline.makespan_ps;
      arena_release(&arena);
    }
    print_message("of %d chains sharper than the flow shop: %u, reached: %u\n", CHAINS, sharper, reached);
    assert_true(sharper > CHAINS / 50 && reached > CHAINS / 50);
  }
}

/* With contention: what exact re-timed and joint find is no less. */
static void never_above_schedules_with_contention(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < CHAINS; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    assert_true(plan_random_chain(seed, &plan_random_small, &arena, &chain));
    const struct plan_policy_options options = {.contention = true, .reorder = true, .budget = 20000};
    struct plan_policy_result found;
    uint32_t step;
    struct plan_bounds bounds;
    plan_bounds_of(&chain, &bounds);
    assert_int_equal(plan_policy_exact.run(&chain, &options, &arena, &found, &step), STATUS_OK);
    assert_true(found.timeline.makespan_ps >= bounds.chain_ps);
    assert_int_equal(plan_policy_joint.run(&chain, &options, &arena, &found, &step), STATUS_OK);
    assert_true(found.timeline.makespan_ps >= bounds.chain_ps);
    arena_release(&arena);
  }
}

/* Nothing to load, no step, and more sorts of loads than there are classes. */
static void corners(void **state) {
  (void)state;
  struct arena arena;
  arena_init(&arena, 0);
  struct plan_chain chain;
  const struct plan_random_shape idle = {1, 20, 4, 1, 0, true}, many = {80, 120, 3, 3, 1, false};
  assert_true(plan_random_chain(1, &idle, &arena, &chain));
  assert_int_equal(plan_sram_bound_of(&chain, true), 0);
  chain.step_count = 0;
  assert_int_equal(plan_sram_bound_of(&chain, true), 0);
  for (uint64_t seed = 0; seed < 10; seed++) {
    assert_true(plan_random_chain(seed, &many, &arena, &chain));
    const struct plan_policy_options options = {.reorder = true, .budget = 100000};
    struct plan_policy_result found;
    uint32_t step;
    assert_int_equal(plan_policy_joint.run(&chain, &options, &arena, &found, &step), STATUS_OK);
    assert_true(plan_sram_bound_of(&chain, false) <= found.timeline.makespan_ps);
  }
  arena_release(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loads_that_do_not_fit_do_not_hide),
      cmocka_unit_test(a_slower_option_makes_room),
      cmocka_unit_test(never_above_exact),
      cmocka_unit_test(never_above_schedules_with_contention),
      cmocka_unit_test(corners),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
