/* The event queue against a sorted list: time, then the order of pushing; also when times lie before what was popped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/vec.h"
#include "sim/sim_events.h"

static uint32_t random_next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u; /* Numerical Recipes' constants */
  return *state >> 8;
}

struct model_event {
  sim_time_ps time_ps;
  uint32_t sequence;
  bool is_popped;
};

/* Earliest time, and of those the first pushed. */
static struct model_event *model_next(struct model_event *events, uint32_t count) {
  struct model_event *next = NULL;
  for (uint32_t i = 0; i < count; i++) {
    if (!events[i].is_popped && (next == NULL || events[i].time_ps < next->time_ps)) {
      next = &events[i];
    }
  }
  return next;
}

/* Random pushes and pops; `spread` small: many equal times. Times begin at `base`, at random before what was popped. */
static void compare_with_model(uint32_t seed, uint32_t spread) {
  enum { EVENTS = 1500 };
  static struct model_event model[EVENTS];
  struct sim_queue *queue = sim_queue_new();
  assert_non_null(queue);
  uint32_t pushed = 0, popped = 0;
  while (popped < EVENTS) {
    bool pushes = pushed < EVENTS && (pushed == popped || random_next(&seed) % 3 != 0);
    if (pushes) {
      sim_time_ps time_ps = (sim_time_ps)random_next(&seed) % spread + pushed / 4;
      model[pushed] = (struct model_event){time_ps, pushed, false};
      assert_true(sim_queue_push(queue, (struct sim_event){time_ps, pushed % 7, pushed}));
      pushed++;
      continue;
    }
    struct model_event *expected = model_next(model, pushed);
    struct sim_event event;
    assert_true(sim_queue_pop(queue, &event));
    assert_true(event.time_ps == expected->time_ps);
    assert_int_equal(event.subject, expected->sequence);
    assert_int_equal(event.kind, expected->sequence % 7);
    expected->is_popped = true;
    popped++;
    struct model_event *after = model_next(model, pushed);
    if (after != NULL && after->time_ps != event.time_ps) {
      assert_false(sim_queue_pop_at(queue, event.time_ps, &event));
    }
  }
  struct sim_event event;
  assert_false(sim_queue_pop(queue, &event));
  assert_true(sim_queue_popped(queue) == EVENTS);
  sim_queue_free(queue);
}

static void test_order(void **state) {
  (void)state;
  static const uint32_t spreads[] = {1, 3, 40, 1000, 1u << 24};
  for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
    for (uint32_t seed = 1; seed <= 4; seed++) {
      compare_with_model(seed * 77, spreads[i]);
    }
  }
}

/* An event that is pushed while its time is handled comes behind those that were there. */
static void test_same_time(void **state) {
  (void)state;
  struct sim_queue *queue = sim_queue_new();
  struct sim_event event;
  assert_true(sim_queue_push(queue, (struct sim_event){5, 0, 1}));
  assert_true(sim_queue_push(queue, (struct sim_event){5, 0, 2}));
  assert_true(sim_queue_pop(queue, &event) && event.subject == 1);
  assert_true(sim_queue_push(queue, (struct sim_event){5, 0, 3}));
  assert_true(sim_queue_push(queue, (struct sim_event){4, 0, 4}));
  assert_false(sim_queue_pop_at(queue, 5, &event)); /* 4 is earlier */
  assert_true(sim_queue_pop(queue, &event) && event.subject == 4);
  assert_true(sim_queue_pop_at(queue, 5, &event) && event.subject == 2);
  assert_true(sim_queue_pop_at(queue, 5, &event) && event.subject == 3);
  assert_false(sim_queue_pop_at(queue, 5, &event));
  sim_queue_free(queue);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_same_time)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
