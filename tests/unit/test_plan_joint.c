/* The label-setting search against exhaustive search on random chains, against bounds on long ones, and its promises:
 * determinism, and that more budget never makes it worse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan_policy.h"
#include "plan_decoder.h"
#include "plan_random.h"

#if defined(__SANITIZE_ADDRESS__)
enum { CHAINS = 100, LAYERS = 12, RULE_CHAINS = 6 };
#else
enum { CHAINS = 500, LAYERS = 300, RULE_CHAINS = 6 };
#endif

/* The promise of joint: on average within this of exact. */
#define MEAN_GAP 0.02

static int64_t sound_makespan(const struct plan_policy *policy, const struct plan_chain *chain,
                              const struct plan_policy_options *options, struct arena *arena,
                              struct plan_policy_result *result) {
  uint32_t step;
  assert_int_equal(policy->run(chain, options, arena, result, &step), STATUS_OK);
  const char *reason;
  assert_int_equal(plan_schedule_check(chain, &result->schedule, &reason), UINT32_MAX);
  struct plan_timeline again = {.steps = arena_calloc(arena, chain->step_count, sizeof *again.steps)};
  assert_non_null(again.steps);
  plan_timeline_run(chain, &result->schedule, options->contention, &again);
  assert_true(again.makespan_ps == result->timeline.makespan_ps);
  struct plan_bounds bounds;
  plan_bounds_of(chain, &bounds);
  /* without contention the links hold nothing up, so their bound does not apply */
  assert_true(again.makespan_ps >= (options->contention ? bounds.chain_ps : bounds.flow_shop_ps));
  return again.makespan_ps;
}

/* Mean gap to exact, which is never undercut. A search that says it is complete is equal. */
static void compare(const struct plan_random_shape *shape, uint64_t seeds, bool reorder) {
  double sum = 0, most = 0;
  for (uint64_t seed = 0; seed < seeds; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    struct plan_policy_result result;
    assert_true(plan_random_chain(seed, shape, &arena, &chain));
    const struct plan_policy_options options = {.reorder = reorder};
    int64_t exact_ps = sound_makespan(&plan_policy_exact, &chain, &options, &arena, &result);
    int64_t joint_ps = sound_makespan(&plan_policy_joint, &chain, &options, &arena, &result);
    assert_true(joint_ps >= exact_ps);
    assert_true(!result.stats.complete || joint_ps == exact_ps);
    double gap = (double)(joint_ps - exact_ps) / (double)exact_ps;
    sum += gap;
    most = gap > most ? gap : most;
    arena_release(&arena);
  }
  print_message("joint over exact, %d chains: mean %.4f %%, most %.2f %%\n", (int)seeds, 100 * sum / (double)seeds,
                100 * most);
  assert_true(sum / (double)seeds <= MEAN_GAP);
}

static const struct plan_random_shape larger_shape = {6, 8, 8, 6, 0.9, false};

static void test_against_exact(void **state) {
  (void)state;
  compare(&plan_random_small, CHAINS, false);
  compare(&larger_shape, CHAINS, false);
}

static void test_against_exact_orders(void **state) {
  (void)state;
  compare(&plan_random_small, CHAINS, true);
}

/* Exact settles options and order without contention and then tries all priorities; joint sees contention as it goes. */
static void test_with_contention(void **state) {
  (void)state;
  double ratio = 0;
  for (uint64_t seed = 0; seed < CHAINS; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    struct plan_policy_result result;
    assert_true(plan_random_chain(seed, &plan_random_small, &arena, &chain));
    const struct plan_policy_options with = {.contention = true}, without = {0};
    int64_t exact_ps = sound_makespan(&plan_policy_exact, &chain, &with, &arena, &result);
    int64_t joint_ps = sound_makespan(&plan_policy_joint, &chain, &with, &arena, &result);
    assert_true(joint_ps >= sound_makespan(&plan_policy_exact, &chain, &without, &arena, &result));
    ratio += (double)joint_ps / (double)exact_ps;
    arena_release(&arena);
  }
  print_message("joint over exact re-timed with contention: mean ratio %.4f\n", ratio / CHAINS);
  assert_true(ratio / CHAINS <= 1.0 + MEAN_GAP);
}

/* One option per step and memory for everything: two machines in series, whose makespan is the flow-shop formula. */
static void test_plenty_of_memory(void **state) {
  (void)state;
  const struct plan_random_shape fixed = {1, 40, 1, 1, 0.8, false};
  for (uint64_t seed = 0; seed < 200; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    struct plan_policy_result result;
    assert_true(plan_random_chain(seed, &fixed, &arena, &chain));
    chain.sram_bytes = 1u << 30;
    const struct plan_policy_options options = {0};
    int64_t formula_ps = 0, loads_ps = 0;
    for (uint32_t k = 0; k < chain.step_count; k++) {
      const struct plan_preload *load = &chain.sets[chain.steps[k].set].preloads[0];
      loads_ps += load->memory_ps > load->link_ps ? load->memory_ps : load->link_ps;
      int64_t sum_ps = loads_ps;
      for (uint32_t i = k; i < chain.step_count; i++) {
        sum_ps += plan_step_duration(&chain, i, 0, 0);
      }
      formula_ps = sum_ps > formula_ps ? sum_ps : formula_ps;
    }
    assert_true(sound_makespan(&plan_policy_joint, &chain, &options, &arena, &result) == formula_ps);
    arena_release(&arena);
  }
}

/* Without loads only the execute options count: the sum of the shortest. Also contracted, and for no step at all. */
static void test_nothing_to_load(void **state) {
  (void)state;
  const struct plan_random_shape idle = {1, 150, 4, 1, 0, true};
  for (uint64_t seed = 0; seed < 40; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    struct plan_policy_result result;
    assert_true(plan_random_chain(seed, &idle, &arena, &chain));
    chain.sram_bytes = 1u << 30;
    chain.step_count = seed == 0 ? 0 : chain.step_count;
    int64_t sum_ps = 0;
    for (uint32_t i = 0; i < chain.step_count; i++) {
      int64_t least_ps = INT64_MAX;
      for (uint32_t x = 0; x < chain.sets[chain.steps[i].set].execute_count; x++) {
        int64_t duration_ps = plan_step_duration(&chain, i, 0, x);
        least_ps = duration_ps < least_ps ? duration_ps : least_ps;
      }
      sum_ps += least_ps;
    }
    const struct plan_policy_options options = {.contention = seed % 2, .reorder = true};
    assert_true(sound_makespan(&plan_policy_joint, &chain, &options, &arena, &result) == sum_ps);
    arena_release(&arena);
  }
}

static void test_same_twice(void **state) {
  (void)state;
  struct arena arena;
  arena_init(&arena, 0);
  struct plan_chain chain;
  struct plan_policy_result one, two;
  assert_true(plan_decoder_chain(10, 300 * 1024, &arena, &chain));
  const struct plan_policy_options options = {.contention = true, .reorder = true, .budget = 200000};
  sound_makespan(&plan_policy_joint, &chain, &options, &arena, &one);
  sound_makespan(&plan_policy_joint, &chain, &options, &arena, &two);
  assert_memory_equal(one.timeline.steps, two.timeline.steps, chain.step_count * sizeof *one.timeline.steps);
  assert_memory_equal(one.schedule.order, two.schedule.order, one.schedule.load_count * sizeof *one.schedule.order);
  assert_true(one.stats.labels == two.stats.labels && one.stats.dominated == two.stats.dominated);
  arena_release(&arena);
}

static void test_anytime(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 12; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    const struct plan_random_shape longer = {20, 40, 4, 3, 0.7, true};
    struct plan_policy_result result;
    assert_true(seed < 2 ? plan_decoder_chain(6, (200 + 200 * seed) * 1024, &arena, &chain)
                         : plan_random_chain(seed, &longer, &arena, &chain));
    int64_t before_ps = INT64_MAX;
    for (uint64_t budget = 1; budget < 400000; budget *= 5) {
      const struct plan_policy_options options = {.contention = seed % 2, .reorder = true, .budget = budget};
      int64_t makespan_ps = sound_makespan(&plan_policy_joint, &chain, &options, &arena, &result);
      assert_true(makespan_ps <= before_ps);
      before_ps = makespan_ps;
    }
    arena_release(&arena);
  }
}

/* A given schedule is improved on or returned. */
static void test_start(void **state) {
  (void)state;
  struct arena arena;
  arena_init(&arena, 0);
  struct plan_chain chain;
  struct plan_policy_result found, improved;
  assert_true(plan_decoder_chain(6, 220 * 1024, &arena, &chain));
  const struct plan_policy_options options = {.contention = true};
  int64_t found_ps = sound_makespan(&plan_policy_joint, &chain, &options, &arena, &found);
  const struct plan_policy_options little = {.contention = true, .budget = 1, .start = &found.schedule};
  assert_true(sound_makespan(&plan_policy_joint, &chain, &little, &arena, &improved) <= found_ps);
  arena_release(&arena);
}

/* Layers drawn at random, repeated: no rule of the other policies finds a shorter schedule than joint does. */
static void check_against_rules(const struct plan_chain *chain, bool contention, bool reorder, struct arena *arena) {
  static const struct plan_policy *const rules[] = {&plan_policy_basic, &plan_policy_static, &plan_policy_dyn,
                                                    &plan_policy_full};
  const struct plan_policy_options options = {.contention = contention, .reorder = reorder, .budget = 500 * 1000};
  struct plan_policy_result result;
  const int64_t joint_ps = sound_makespan(&plan_policy_joint, chain, &options, arena, &result);
  for (size_t k = 0; k < sizeof rules / sizeof rules[0] - !reorder; k++) { /* full, the last, changes the order */
    assert_true(joint_ps <= sound_makespan(rules[k], chain, &options, arena, &result));
  }
}

static void test_never_worse_than_rules(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < RULE_CHAINS; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    const struct plan_random_shape shape = {80, 160, 6, 5, 0.5, true};
    const bool contention = seed % 4 != 0, reorder = seed % 3 != 0;
    assert_true(plan_random_chain(seed, &shape, &arena, &chain));
    check_against_rules(&chain, contention, reorder, &arena);
    assert_true(plan_random_chain(seed, &larger_shape, &arena, &chain));
    const uint32_t length = chain.step_count, layers = 6 + (uint32_t)seed % 20;
    struct plan_step *steps = arena_calloc(&arena, (size_t)length * layers, sizeof *steps);
    assert_non_null(steps);
    for (uint32_t i = 0; i < length * layers; i++) {
      steps[i] = chain.steps[i % length];
      steps[i].layer = i / length;
    }
    chain.steps = steps;
    chain.step_count = length * layers;
    check_against_rules(&chain, contention, reorder, &arena);
    assert_true(plan_decoder_chain(4 + (uint32_t)seed % 8, (140 + 13 * seed) * 1024, &arena, &chain));
    check_against_rules(&chain, contention, reorder, &arena);
    arena_release(&arena);
  }
}

/* 300 layers: 7,500 steps, 1,800 loads. Without contention the flow-shop bound is attainable to a part in a hundred. */
static void test_long_chains(void **state) {
  (void)state;
  for (uint64_t kib = 180; kib <= 720; kib *= 2) {
    for (int contention = 0; contention < 2; contention++) {
      struct arena arena;
      arena_init(&arena, 0);
      struct plan_chain chain;
      struct plan_policy_result result;
      assert_true(plan_decoder_chain(LAYERS, kib * 1024, &arena, &chain));
      const struct plan_policy_options options = {.contention = contention};
      int64_t makespan_ps = sound_makespan(&plan_policy_joint, &chain, &options, &arena, &result);
      struct plan_bounds bounds;
      plan_bounds_of(&chain, &bounds);
      int64_t bound_ps = contention ? bounds.chain_ps : bounds.flow_shop_ps;
      double gap = (double)(makespan_ps - bound_ps) / (double)bound_ps;
      print_message("%d layers, %d KiB, contention %d: %.3f ms, bound %.3f ms, gap %.2f %%, %d labels\n", LAYERS,
                    (int)kib, contention, (double)makespan_ps * 1e-9, (double)bound_ps * 1e-9, 100 * gap,
                    (int)result.stats.labels);
      assert_true(contention || gap < 0.01);
      arena_release(&arena);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_exact),
      cmocka_unit_test(test_against_exact_orders),
      cmocka_unit_test(test_with_contention),
      cmocka_unit_test(test_plenty_of_memory),
      cmocka_unit_test(test_nothing_to_load),
      cmocka_unit_test(test_same_twice),
      cmocka_unit_test(test_anytime),
      cmocka_unit_test(test_start),
      cmocka_unit_test(test_never_worse_than_rules),
      cmocka_unit_test(test_long_chains),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
