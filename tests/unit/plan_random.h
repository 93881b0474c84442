/* Random small chains for the tests of planning, and what is said about all schedules of one. Deterministic by seed.
 * Included by one test file at a time; nothing of it is part of the library. */
#ifndef RIDGELINE_TESTS_PLAN_RANDOM_H
#define RIDGELINE_TESTS_PLAN_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "plan/plan_chain.h"

/* xorshift64* (Vigna 2016); any seed. */
struct plan_random {
  uint64_t state;
};

static inline struct plan_random plan_random_of(uint64_t seed) {
  return (struct plan_random){.state = (seed + 1) * 0x9E3779B97F4A7C15u | 1u};
}

static inline uint64_t plan_random_next(struct plan_random *random) {
  uint64_t x = random->state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  random->state = x;
  return (x * 0x2545F4914F6CDD1Du) >> 16;
}

/* Uniform in [low, high]. */
static inline uint64_t plan_random_in(struct plan_random *random, uint64_t low, uint64_t high) {
  return low + plan_random_next(random) % (high - low + 1);
}

static inline double plan_random_share(struct plan_random *random) {
  return (double)plan_random_in(random, 0, 1000) / 1000.0;
}

struct plan_random_shape {
  uint32_t min_steps, max_steps;
  uint32_t max_executes, max_preloads;
  double load_probability; /* that a sort of step loads anything */
  bool shares_sets; /* some steps share one choice set, as repeated layers do */
};
static const struct plan_random_shape plan_random_small = {1, 8, 4, 3, 0.7, true};

/* Preload states: more bytes take longer on the links, never on the memory channel, as broadcasting does. The link share of
 * the thinnest state runs from 0 to 1. */
static inline void plan_random_preloads(struct plan_random *random, struct plan_preload *preloads, uint32_t count) {
  uint64_t cold_bytes = plan_random_in(random, 1, 20) * 1024;
  int64_t memory_ps = (int64_t)plan_random_in(random, 10, 200) * 1000;
  for (uint32_t p = 0; p < count; p++) {
    preloads[p] = (struct plan_preload){.cold_bytes = cold_bytes, .memory_ps = memory_ps};
    preloads[p].link_ps = p == 0 ? (int64_t)((double)memory_ps * plan_random_share(random))
                                 : preloads[p - 1].link_ps + (int64_t)plan_random_in(random, 0, 60) * 1000;
    cold_bytes += plan_random_in(random, 1, 20) * 1024;
  }
}

/* Execute options: more memory is faster. An execute state is reachable from any preload state that is no larger;
 * distribution costs the more the larger the difference. */
static inline void plan_random_set(struct plan_random *random, const struct plan_random_shape *shape,
                                   struct arena *arena, struct plan_choice_set *set) {
  bool loads = plan_random_share(random) < shape->load_probability;
  set->execute_count = (uint32_t)plan_random_in(random, 1, shape->max_executes);
  set->preload_count = loads ? (uint32_t)plan_random_in(random, 1, shape->max_preloads) : 1;
  set->loss_ps = 0;
  struct plan_preload *preloads = arena_calloc(arena, set->preload_count, sizeof *preloads);
  struct plan_execute *executes = arena_calloc(arena, set->execute_count, sizeof *executes);
  int64_t *distribute_ps = arena_calloc(arena, (size_t)set->preload_count * set->execute_count, sizeof *distribute_ps);
  if (loads) {
    plan_random_preloads(random, preloads, set->preload_count);
  }
  uint64_t hot_bytes = preloads[0].cold_bytes + plan_random_in(random, 1, 20) * 1024;
  int64_t scale_ps = (int64_t)plan_random_in(random, 5, 60) * 1000 * (1 + set->execute_count);
  for (uint32_t e = 0; e < set->execute_count; e++) {
    executes[e].hot_bytes = hot_bytes;
    executes[e].compute_ps = scale_ps / (1 + e);
    executes[e].shift_ps = (int64_t)((double)executes[e].compute_ps * 2.0 * plan_random_share(random));
    executes[e].serial_ps = (int64_t)plan_random_in(random, 0, 20) * 1000;
    hot_bytes += plan_random_in(random, 1, 25) * 1024;
  }
  /* the largest execute state is reachable from every preload state */
  uint64_t *last_hot_bytes = &executes[set->execute_count - 1].hot_bytes;
  if (*last_hot_bytes < preloads[set->preload_count - 1].cold_bytes) {
    *last_hot_bytes = preloads[set->preload_count - 1].cold_bytes;
  }
  for (uint32_t p = 0; p < set->preload_count; p++) {
    for (uint32_t e = 0; e < set->execute_count; e++) {
      int64_t *cell = &distribute_ps[(size_t)p * set->execute_count + e];
      if (preloads[p].cold_bytes > executes[e].hot_bytes) {
        *cell = PLAN_UNREACHABLE;
      } else if (loads) {
        *cell = (int64_t)((executes[e].hot_bytes - preloads[p].cold_bytes) / 1024 * plan_random_in(random, 0, 4) * 500);
      }
    }
  }
  set->executes = executes;
  set->preloads = preloads;
  set->distribute_ps = distribute_ps;
}

/* Smallest memory that runs a step on its own. */
static inline uint64_t plan_random_need(const struct plan_chain *chain, uint32_t step) {
  const struct plan_choice_set *set = &chain->sets[chain->steps[step].set];
  uint64_t need = UINT64_MAX;
  for (uint32_t p = 0; p < set->preload_count; p++) {
    for (uint32_t e = 0; e < set->execute_count; e++) {
      if (set->distribute_ps[p * set->execute_count + e] != PLAN_UNREACHABLE && set->executes[e].hot_bytes < need) {
        need = set->executes[e].hot_bytes;
      }
    }
  }
  return need + chain->steps[step].live_bytes;
}

/* A chain that always has a sound schedule; SRAM from just enough to plenty. False when memory is exhausted. */
static inline bool plan_random_chain(uint64_t seed, const struct plan_random_shape *shape, struct arena *arena,
                                     struct plan_chain *chain) {
  struct plan_random random = plan_random_of(seed);
  *chain = (struct plan_chain){0};
  chain->step_count = (uint32_t)plan_random_in(&random, shape->min_steps, shape->max_steps);
  chain->set_count = chain->step_count;
  chain->overlaps = plan_random_in(&random, 0, 1) == 1;
  struct plan_choice_set *sets = arena_calloc(arena, chain->set_count, sizeof *sets);
  struct plan_step *steps = arena_calloc(arena, chain->step_count, sizeof *steps);
  if (sets == NULL || steps == NULL) {
    return false;
  }
  for (uint32_t i = 0; i < chain->step_count; i++) {
    plan_random_set(&random, shape, arena, &sets[i]);
    bool repeats = shape->shares_sets && i > 0 && plan_random_in(&random, 0, 3) == 0;
    steps[i].set = repeats ? (uint32_t)plan_random_in(&random, 0, i - 1) : i;
    steps[i].live_bytes = plan_random_in(&random, 0, 2) == 0 ? plan_random_in(&random, 1, 10) * 1024 : 0;
    steps[i].layer = UINT32_MAX;
  }
  chain->sets = sets;
  chain->steps = steps;
  uint64_t need_bytes = 0, most_bytes = 0;
  for (uint32_t i = 0; i < chain->step_count; i++) {
    const struct plan_choice_set *set = &sets[steps[i].set];
    uint64_t need = plan_random_need(chain, i);
    need_bytes = need > need_bytes ? need : need_bytes;
    most_bytes += set->executes[set->execute_count - 1].hot_bytes + steps[i].live_bytes;
  }
  uint64_t room = most_bytes > need_bytes ? most_bytes - need_bytes : 0;
  double loose = plan_random_share(&random); /* squared: tight more often than loose */
  chain->sram_bytes = need_bytes + (uint64_t)((double)room * loose * loose);
  return !arena->is_exhausted;
}

#endif
