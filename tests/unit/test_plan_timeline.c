/* Tests of the timeline and of the schedule check: small cases by hand, the flow shop's closed form, and properties on
 * random chains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan_chain.h"
#include "plan_random.h"

#define KIB 1024u

/* ---- two steps by hand ----
 *
 * Step 0 loads nothing and computes 60 ps and shifts 40 ps, after 20 ps of gathering (serial). Step 1 loads for 100 ps, of
 * which the links need `link_ps`, is distributed in 10 ps and computes 50 ps. The load may begin at once. */
static const struct plan_execute first_execute = {8 * KIB, 60, 40, 20};
static const struct plan_execute second_execute = {8 * KIB, 50, 0, 0};
static const struct plan_preload no_preload = {0};
static const int64_t no_distribution[] = {0}, ten_distribution[] = {10};

static struct plan_timeline run_two(int64_t link_ps, bool overlaps, enum plan_priority priority, bool contention,
                                    struct plan_interval *intervals) {
  const struct plan_preload preload = {4 * KIB, 100, link_ps};
  const struct plan_choice_set sets[] = {
      {1, 1, &first_execute, &no_preload, no_distribution, 0},
      {1, 1, &second_execute, &preload, ten_distribution, 0},
  };
  const struct plan_step steps[] = {{0, 0, 0}, {1, 1 * KIB, 0}};
  const struct plan_chain chain = {2, 2, steps, sets, 64 * KIB, overlaps};
  struct plan_decision decisions[] = {{0, 0, 0, (uint8_t)priority}, {0, 0, 0, PLAN_EXCHANGE_FIRST}};
  uint32_t order[] = {1};
  const struct plan_schedule schedule = {decisions, order, 1};
  const char *reason;
  assert_int_equal(plan_schedule_check(&chain, &schedule, &reason), UINT32_MAX);
  struct plan_timeline timeline = {.steps = intervals};
  plan_timeline_run(&chain, &schedule, contention, &timeline);
  return timeline;
}

struct two_case {
  int64_t link_ps;
  bool overlaps;
  enum plan_priority priority;
  int64_t first_end_ps, load_end_ps;
};

static void two_steps_by_hand(void **state) {
  (void)state;
  static const struct two_case cases[] = {
      /* Half of the links (s = 0.5), in turns: phase of 20 with f = 1, then 100 with f = 0.4.
       * Preload first: 20 / 0.5 = 40; by then 60 of the load are left, and 60 at u = 1 / (0.6 + 0.4 / 0.5) = 1 / 1.4 do
       * 42.857, rounded down to 42; 58 are left alone: 40 + 60 + 58. */
      {50, false, PLAN_PRELOAD_FIRST, 158, 100},
      /* Exchange first: nothing in 20, then w = 0.6: 60 of the load in 100; 40 are left. */
      {50, false, PLAN_EXCHANGE_FIRST, 120, 160},
      /* Overlapped: phases of 20 with f = 1 and max(60, 40) = 60 with f = 2/3.
       * Preload first: 40; then u = min(1, 0.5 / (2/3)) = 0.75: 60 do 45, 15 are left alone. */
      {50, true, PLAN_PRELOAD_FIRST, 115, 100},
      /* Exchange first: nothing in 20; then w = min(1, (1/3) / 0.5) = 2/3: 40 in 60; 60 are left. */
      {50, true, PLAN_EXCHANGE_FIRST, 80, 140},
      /* The load needs all links (s = 1). Preload first: exchange waits for 100, then runs alone. */
      {100, false, PLAN_PRELOAD_FIRST, 220, 100},
      {100, true, PLAN_PRELOAD_FIRST, 180, 100},
      {100, false, PLAN_EXCHANGE_FIRST, 120, 160},
      /* w = min(1, (1/3) / 1): 20 in 60; 80 are left */
      {100, true, PLAN_EXCHANGE_FIRST, 80, 160},
      /* The load passes no link: no contention. */
      {0, false, PLAN_PRELOAD_FIRST, 120, 100},
      {0, false, PLAN_EXCHANGE_FIRST, 120, 100},
      {0, true, PLAN_EXCHANGE_FIRST, 80, 100},
      /* A quarter of the links, overlapped, exchange first: w = min(1, (1/3) / 0.25) = 1 after the first 20. */
      {25, true, PLAN_EXCHANGE_FIRST, 80, 120},
      /* Longer on the links than on the channel: alone it takes 125, s = 1. */
      {125, false, PLAN_PRELOAD_FIRST, 245, 125},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const struct two_case *c = &cases[k];
    struct plan_interval intervals[2];
    struct plan_timeline timeline = run_two(c->link_ps, c->overlaps, c->priority, true, intervals);
    assert_int_equal(intervals[0].end_ps, c->first_end_ps);
    assert_int_equal(intervals[1].load_end_ps, c->load_end_ps);
    int64_t start_ps = c->first_end_ps > c->load_end_ps ? c->first_end_ps : c->load_end_ps;
    assert_int_equal(intervals[1].start_ps, start_ps);
    assert_int_equal(timeline.makespan_ps, start_ps + 10 + 50);
    int64_t alone_ps = c->overlaps ? 80 : 120;
    assert_int_equal(timeline.stall_link_ps, c->first_end_ps - alone_ps);
    assert_int_equal(timeline.stall_load_ps, start_ps - c->first_end_ps);
    assert_int_equal(timeline.link_busy_ps, 20 + 40 + c->link_ps + 10);
    assert_int_equal(timeline.memory_busy_ps, 100);
    assert_int_equal(timeline.compute_ps, 110);
    /* step 0: hot 8 and the load's 4; step 1: hot 8, live 1 */
    assert_int_equal(intervals[0].resident_bytes, 12 * KIB);
    assert_int_equal(intervals[1].resident_bytes, 9 * KIB);
    assert_int_equal(timeline.peak_bytes, 12 * KIB);
  }
}

static void without_contention_nothing_stretches(void **state) {
  (void)state;
  for (int priority = 0; priority < 2; priority++) {
    for (int overlaps = 0; overlaps < 2; overlaps++) {
      struct plan_interval intervals[2];
      struct plan_timeline timeline = run_two(100, overlaps != 0, (enum plan_priority)priority, false, intervals);
      assert_int_equal(intervals[0].end_ps, overlaps ? 80 : 120);
      assert_int_equal(intervals[1].load_end_ps, 100);
      assert_int_equal(timeline.makespan_ps, overlaps ? 160 : 180);
    }
  }
}

/* ---- random schedules ---- */

/* A random sound schedule: random options that fit, loads in execution order, each released as early as it fits half of the
 * time. False when the dice gave a step that does not fit. */
static bool random_schedule(struct plan_random *random, const struct plan_chain *chain, struct arena *arena,
                            struct plan_schedule *schedule) {
  schedule->decisions = arena_calloc(arena, chain->step_count, sizeof *schedule->decisions);
  schedule->order = arena_calloc(arena, chain->step_count, sizeof *schedule->order);
  schedule->load_count = 0;
  const char *reason;
  for (uint32_t i = 0; i < chain->step_count; i++) {
    const struct plan_choice_set *set = &chain->sets[chain->steps[i].set];
    struct plan_decision *decision = &schedule->decisions[i];
    uint32_t tries = 0;
    do {
      decision->preload = (uint16_t)plan_random_in(random, 0, set->preload_count - 1);
      decision->execute = (uint16_t)plan_random_in(random, 0, set->execute_count - 1);
    } while (tries++ < 100
             && (plan_step_duration(chain, i, decision->preload, decision->execute) == PLAN_UNREACHABLE
                 || set->executes[decision->execute].hot_bytes + chain->steps[i].live_bytes > chain->sram_bytes));
    decision->release = i;
    decision->priority = (uint8_t)plan_random_in(random, 0, 1);
    if (plan_step_loads(chain, i)) {
      schedule->order[schedule->load_count++] = i;
    }
  }
  if (plan_schedule_check(chain, schedule, &reason) != UINT32_MAX) {
    return false;
  }
  uint32_t previous = 0;
  for (uint32_t k = 0; k < schedule->load_count; k++) {
    struct plan_decision *decision = &schedule->decisions[schedule->order[k]];
    uint32_t own = decision->release;
    decision->release = plan_random_in(random, 0, 1) == 0 ? own : previous;
    while (plan_schedule_check(chain, schedule, &reason) != UINT32_MAX && decision->release < own) {
      decision->release++;
    }
    previous = decision->release;
    for (uint32_t j = k + 1; j < schedule->load_count; j++) { /* later ones stay at their own step */
      assert_true(schedule->decisions[schedule->order[j]].release >= previous);
    }
  }
  return plan_schedule_check(chain, schedule, &reason) == UINT32_MAX;
}

/* Within any window between two events, the link work of what lies wholly inside fits into it. */
static void assert_links_hold(const struct plan_chain *chain, const struct plan_schedule *schedule,
                              const struct plan_timeline *timeline) {
  uint32_t n = chain->step_count;
  for (uint32_t a = 0; a < 2 * n; a++) {
    int64_t from = a < n ? timeline->steps[a].start_ps : timeline->steps[a - n].load_start_ps;
    for (uint32_t b = 0; b < 2 * n; b++) {
      int64_t to = b < n ? timeline->steps[b].end_ps : timeline->steps[b - n].load_end_ps;
      int64_t work_ps = 0;
      for (uint32_t i = 0; i < n; i++) {
        const struct plan_choice_set *set = &chain->sets[chain->steps[i].set];
        const struct plan_decision *decision = &schedule->decisions[i];
        const struct plan_execute *execute = &set->executes[decision->execute];
        const struct plan_interval *at = &timeline->steps[i];
        if (at->load_start_ps >= from && at->load_end_ps <= to) {
          work_ps += set->preloads[decision->preload].link_ps;
        }
        if (at->start_ps >= from && at->end_ps <= to) {
          work_ps += execute->shift_ps + execute->serial_ps
                     + set->distribute_ps[decision->preload * set->execute_count + decision->execute];
        }
      }
      if (to >= from) {
        assert_true(work_ps <= to - from);
      }
    }
  }
}

static void assert_in_order(const struct plan_chain *chain, const struct plan_schedule *schedule,
                            const struct plan_timeline *timeline) {
  int64_t free_ps = 0, channel_ps = 0, alone_ps = 0;
  for (uint32_t i = 0; i < chain->step_count; i++) {
    const struct plan_interval *at = &timeline->steps[i];
    const struct plan_decision *decision = &schedule->decisions[i];
    int64_t duration_ps = plan_step_duration(chain, i, decision->preload, decision->execute);
    assert_true(at->start_ps == (free_ps > at->load_end_ps ? free_ps : at->load_end_ps));
    assert_true(at->end_ps >= at->start_ps + duration_ps);
    free_ps = at->end_ps;
    alone_ps += duration_ps;
  }
  for (uint32_t k = 0; k < schedule->load_count; k++) {
    const struct plan_interval *at = &timeline->steps[schedule->order[k]];
    uint32_t release = schedule->decisions[schedule->order[k]].release;
    int64_t released_ps = release == 0 ? 0 : timeline->steps[release - 1].end_ps;
    assert_true(at->load_start_ps == (channel_ps > released_ps ? channel_ps : released_ps));
    channel_ps = at->load_end_ps;
  }
  assert_true(timeline->makespan_ps == free_ps);
  assert_true(timeline->makespan_ps == alone_ps + timeline->stall_load_ps + timeline->stall_link_ps);
  assert_true(timeline->peak_bytes <= chain->sram_bytes);
}

static void random_schedules_keep_the_rules(void **state) {
  (void)state;
  uint32_t sound = 0;
  for (uint64_t seed = 0; seed < 2000; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    assert_true(plan_random_chain(seed, &plan_random_small, &arena, &chain));
    struct plan_random random = plan_random_of(seed * 7 + 3);
    struct plan_schedule schedule;
    if (random_schedule(&random, &chain, &arena, &schedule)) {
      struct plan_interval with[8], without[8];
      struct plan_timeline slow = {.steps = with}, fast = {.steps = without};
      plan_timeline_run(&chain, &schedule, true, &slow);
      plan_timeline_run(&chain, &schedule, false, &fast);
      for (uint32_t i = 0; i < chain.step_count; i++) {
        assert_true(with[i].end_ps >= without[i].end_ps);
        assert_true(with[i].load_end_ps >= without[i].load_end_ps);
      }
      assert_int_equal(fast.stall_link_ps, 0);
      assert_int_equal(slow.peak_bytes, fast.peak_bytes);
      assert_links_hold(&chain, &schedule, &slow);
      assert_in_order(&chain, &schedule, &slow);
      assert_in_order(&chain, &schedule, &fast);
      sound++;
    }
    arena_release(&arena);
  }
  assert_true(sound > 1500);
}

/* Two machines in series with a buffer that is never full: the makespan of fixed jobs in order is the longest path
 * max over k of (loads up to k + steps from k) (Johnson 1954). */
static void plentiful_sram_gives_the_flow_shop(void **state) {
  (void)state;
  struct plan_random_shape shape = plan_random_small;
  shape.max_steps = 30;
  for (uint64_t seed = 0; seed < 300; seed++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_chain chain;
    assert_true(plan_random_chain(seed, &shape, &arena, &chain));
    chain.sram_bytes = UINT64_MAX / 2;
    uint32_t n = chain.step_count;
    struct plan_schedule schedule = {arena_calloc(&arena, n, sizeof *schedule.decisions),
                                     arena_calloc(&arena, n, sizeof *schedule.order), 0};
    int64_t loads_ps = 0, rest_ps = 0, longest_ps = 0;
    for (uint32_t i = 0; i < n; i++) {
      schedule.decisions[i].execute = (uint16_t)(chain.sets[chain.steps[i].set].execute_count - 1);
      bool loads = plan_step_loads(&chain, i);
      schedule.decisions[i].release = loads ? 0 : i;
      if (loads) {
        schedule.order[schedule.load_count++] = i;
      }
      rest_ps += plan_step_duration(&chain, i, 0, schedule.decisions[i].execute);
    }
    for (uint32_t i = 0; i < n; i++) {
      const struct plan_preload *preload = &chain.sets[chain.steps[i].set].preloads[0];
      loads_ps += preload->memory_ps > preload->link_ps ? preload->memory_ps : preload->link_ps;
      longest_ps = loads_ps + rest_ps > longest_ps ? loads_ps + rest_ps : longest_ps;
      rest_ps -= plan_step_duration(&chain, i, 0, schedule.decisions[i].execute);
    }
    struct plan_timeline timeline = {.steps = arena_calloc(&arena, n, sizeof *timeline.steps)};
    plan_timeline_run(&chain, &schedule, false, &timeline);
    assert_true(timeline.makespan_ps == longest_ps);
    arena_release(&arena);
  }
}

/* ---- the check ---- */

struct three {
  struct plan_chain chain;
  struct plan_schedule schedule;
  struct plan_decision decisions[3];
  uint32_t order[3];
};

/* Three loading steps with one option each but the last, which cannot reach its second execute option from its second
 * preload state; SRAM for hot and one more cold state. */
static void make_three(struct three *three) {
  static const struct plan_execute executes[] = {{10 * KIB, 5, 0, 0}, {11 * KIB, 4, 0, 0}};
  static const struct plan_preload preloads[] = {{4 * KIB, 5, 1}, {5 * KIB, 5, 2}};
  static const int64_t distribute_ps[] = {3, 3, 1, PLAN_UNREACHABLE};
  static const struct plan_choice_set sets[] = {{2, 2, executes, preloads, distribute_ps, 0},
                                                {1, 1, executes, &no_preload, no_distribution, 0}};
  static const struct plan_step steps[] = {{0, 0, 0}, {1, 0, 0}, {0, 1 * KIB, 0}};
  *three = (struct three){.chain = {3, 2, steps, sets, 15 * KIB, false}, .order = {0, 2}};
  three->decisions[1].release = 1;
  three->decisions[2].release = 1;
  three->schedule = (struct plan_schedule){three->decisions, three->order, 2};
}

static void each_broken_rule_is_found(void **state) {
  (void)state;
  struct three three;
  const char *reason;
#define CHECK(step) assert_int_equal(plan_schedule_check(&three.chain, &three.schedule, &reason), (step))
  make_three(&three);
  CHECK(UINT32_MAX);
  assert_null(reason);
  make_three(&three), three.decisions[0].execute = 2;
  CHECK(0);
  make_three(&three), three.decisions[1].preload = 1;
  CHECK(1);
  make_three(&three), three.decisions[2].preload = 1, three.decisions[2].execute = 1;
  CHECK(2);
  assert_string_equal(reason, "execute state not reachable from the preload state");
  make_three(&three), three.decisions[2].priority = 2;
  CHECK(2);
  make_three(&three), three.decisions[2].release = 3;
  CHECK(2);
  make_three(&three), three.decisions[1].release = 0; /* loads nothing */
  CHECK(1);
  make_three(&three), three.schedule.load_count = 1;
  CHECK(0);
  assert_string_equal(reason, "a load is missing from the order");
  make_three(&three), three.order[1] = 1;
  CHECK(1);
  make_three(&three), three.order[1] = 0;
  CHECK(0);
  assert_string_equal(reason, "loaded twice");
  make_three(&three), three.order[1] = 7;
  CHECK(0);
  make_three(&three), three.order[0] = 2, three.order[1] = 0; /* 0 is released before 2, which is ahead of it */
  CHECK(0);
  assert_string_equal(reason, "released before the load ahead of it");
  /* released at once the last load also lies beside step 0: 10 + 4 of 15; with its larger state 15; with 1 KiB more 16 */
  make_three(&three), three.decisions[2].release = 0;
  CHECK(UINT32_MAX);
  three.decisions[2].preload = 1;
  CHECK(UINT32_MAX);
  three.decisions[0].execute = 1;
  CHECK(0);
  assert_string_equal(reason, "does not fit the SRAM");
  make_three(&three), three.decisions[2].execute = 1; /* 11 and 1 live of 15 */
  CHECK(UINT32_MAX);
  three.chain.sram_bytes = 12 * KIB - 1; /* one byte short at step 2 and, at step 1, 10 + 4 */
  CHECK(1);
  three.decisions[2].release = 2;
  CHECK(2);
#undef CHECK
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_steps_by_hand),
      cmocka_unit_test(without_contention_nothing_stretches),
      cmocka_unit_test(random_schedules_keep_the_rules),
      cmocka_unit_test(plentiful_sram_gives_the_flow_shop),
      cmocka_unit_test(each_broken_rule_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
