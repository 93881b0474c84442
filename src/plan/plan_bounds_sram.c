/* A lower bound that sees the SRAM: a load that does not fit beside a step cannot hide behind it. docs/plan-schedule.md,
 * "Loads that do not fit beside", has the weights and the proof.
 *
 *   steps ─► sorts of steps, counted ─► weights of loads, improved one by one ─► the best sum
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "plan/plan_policy.h"

enum {
  UNIT = 16, /* weights are in sixteenths */
  COARSE = 2, /* parts of the unit in the first sweep */
  CLASSES_MOST = 32, /* further sorts of loads have no weight */
  ROUNDS_MOST = 6
};
/* Options and classes looked at in all: some ten milliseconds. */
static const uint64_t work_most = 8 * 1000 * 1000;

/* How a load counts. Not priced: `part` of its time alone. Priced: part of its time, at most its link time. */
struct weight {
  uint8_t part;
  bool is_priced;
};

/* Steps alike in all that the bound sees. */
struct sort {
  uint32_t set;
  uint32_t load_class; /* of its own load; CLASSES_MOST = none */
  uint32_t reach; /* classes [0, reach) load for later steps */
  uint32_t count;
  uint64_t live_bytes;
};

struct sram_bound {
  const struct plan_chain *chain;
  bool contention;
  uint32_t class_count;
  uint64_t cold_bytes[CLASSES_MOST]; /* the thinnest state of each class; classes by their last load, latest first */
  uint32_t class_sets[CLASSES_MOST];
  struct weight weights[CLASSES_MOST];
  double density[CLASSES_MOST]; /* most weight of a load per byte that it lies in */
  struct sort *sorts;
  uint32_t sort_count;
  uint64_t work;
};

static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t greater(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static const double above = 1 + 0x1p-50; /* more than what rounding takes from a quotient and a product */

/* What loads can do beside a step in one of its options. */
struct beside {
  int64_t plain, priced; /* the largest weights of each kind among loads that fit */
  double units; /* most weight of what fits */
};

static struct beside look_beside(const struct sram_bound *bound, const struct sort *sort, uint64_t room_bytes) {
  struct beside beside = {0, 0, 0};
  double density = 0;
  for (uint32_t c = 0; c < sort->reach; c++) {
    if (bound->cold_bytes[c] <= room_bytes) {
      int64_t *most = bound->weights[c].is_priced ? &beside.priced : &beside.plain;
      *most = greater(*most, bound->weights[c].part);
      density = fmax(density, bound->density[c]);
    }
  }
  beside.units = density > 0 ? density * (double)room_bytes * above : 0;
  return beside;
}

/* Weight of a load, in 1 / UNIT ps. */
static int64_t load_units(struct weight weight, const struct plan_preload *preload) {
  const int64_t alone_ps = preload->memory_ps > preload->link_ps ? preload->memory_ps : preload->link_ps;
  const int64_t units = weight.part * alone_ps;
  return weight.is_priced ? lesser(units, UNIT * preload->link_ps) : units;
}

/* Weight of a run: what a load under way leaves of it at any moment, and what all that fits beside it leaves in all. */
static int64_t run_units(const struct sram_bound *bound, const struct plan_execute *execute, int64_t distribute_ps,
                         const struct beside *beside) {
  const int64_t main_ps = plan_main_phase_ps(execute, bound->chain->overlaps);
  int64_t main_units = (UNIT - beside->priced) * main_ps;
  if (!bound->chain->overlaps || beside->priced == UNIT) {
    main_units += beside->priced * execute->shift_ps;
  }
  const int64_t link_ps = distribute_ps + execute->serial_ps;
  const int64_t moment = (UNIT - beside->plain) * link_ps + lesser((UNIT - beside->plain) * main_ps, main_units);
  const int64_t whole = UNIT * (link_ps + main_ps);
  return beside->units < (double)whole ? greater(moment, whole - (int64_t)ceil(beside->units)) : moment;
}

/* Least weight of a step of this sort over its pairs of options. */
static int64_t sort_units(struct sram_bound *bound, const struct sort *sort) {
  const struct plan_choice_set *set = &bound->chain->sets[sort->set];
  int64_t least = INT64_MAX;
  for (uint32_t x = 0; x < set->execute_count; x++) {
    const struct plan_execute *execute = &set->executes[x];
    const uint64_t own_bytes = execute->hot_bytes + sort->live_bytes;
    if (own_bytes > bound->chain->sram_bytes) {
      break;
    }
    const struct beside beside = look_beside(bound, sort, bound->chain->sram_bytes - own_bytes);
    bound->work += set->preload_count + sort->reach;
    for (uint32_t p = 0; p < set->preload_count; p++) {
      const int64_t distribute_ps = set->distribute_ps[(size_t)p * set->execute_count + x];
      if (distribute_ps != PLAN_UNREACHABLE) {
        int64_t sum = run_units(bound, execute, distribute_ps, &beside);
        sum += sort->load_class < CLASSES_MOST ? load_units(bound->weights[sort->load_class], &set->preloads[p]) : 0;
        least = lesser(least, sum);
      }
    }
  }
  return least == INT64_MAX ? 0 : least;
}

static void find_densities(struct sram_bound *bound) {
  for (uint32_t c = 0; c < bound->class_count; c++) {
    const struct plan_choice_set *set = &bound->chain->sets[bound->class_sets[c]];
    bound->density[c] = 0;
    for (uint32_t p = 0; p < set->preload_count; p++) {
      const double units = (double)load_units(bound->weights[c], &set->preloads[p]);
      const double bytes = (double)set->preloads[p].cold_bytes;
      bound->density[c] = fmax(bound->density[c], units > 0 ? bytes > 0 ? units / bytes : HUGE_VAL : 0);
    }
  }
}

static int64_t sum_units(struct sram_bound *bound) {
  find_densities(bound);
  int64_t sum = 0;
  for (uint32_t s = 0; s < bound->sort_count; s++) {
    sum += sort_units(bound, &bound->sorts[s]) * bound->sorts[s].count;
  }
  return sum;
}

/* ---- sorts of steps ---- */

/* Adds the step to its sort. `slots`: hash table of sort numbers + 1. */
static void count_step(struct sram_bound *bound, const struct sort *sort, uint32_t *slots, uint32_t mask) {
  uint64_t hash = (sort->set ^ (uint64_t)sort->reach << 32 ^ (uint64_t)sort->load_class << 40 ^ sort->live_bytes << 13)
                  * 0x9E3779B97F4A7C15u;
  for (uint32_t slot = (uint32_t)(hash >> 32) & mask;; slot = (slot + 1) & mask) {
    if (slots[slot] == 0) {
      bound->sorts[bound->sort_count++] = *sort;
      slots[slot] = bound->sort_count;
      return;
    }
    struct sort *other = &bound->sorts[slots[slot] - 1];
    if (other->set == sort->set && other->reach == sort->reach && other->live_bytes == sort->live_bytes
        && other->load_class == sort->load_class) {
      other->count++;
      return;
    }
  }
}

/* From the last step on: a class reaches the steps before its last load. The first load of all has a class of its own, since
 * nothing hides it. */
static bool sort_steps(struct sram_bound *bound, struct arena *arena) {
  const struct plan_chain *chain = bound->chain;
  uint32_t mask = 1, first = 0;
  while (mask < 2 * chain->step_count + 2) {
    mask *= 2;
  }
  uint32_t *slots = arena_calloc(arena, mask, sizeof *slots);
  uint32_t *classes = arena_calloc(arena, chain->set_count, sizeof *classes); /* + 1 */
  bound->sorts = arena_calloc(arena, chain->step_count, sizeof *bound->sorts);
  if (slots == NULL || classes == NULL || bound->sorts == NULL) {
    return false;
  }
  while (first < chain->step_count && !plan_step_loads(chain, first)) {
    first++;
  }
  for (uint32_t i = chain->step_count; i-- > 0;) {
    const uint32_t set = chain->steps[i].set;
    struct sort sort = {.set = set,
                        .load_class = CLASSES_MOST,
                        .reach = bound->class_count,
                        .count = 1,
                        .live_bytes = chain->steps[i].live_bytes};
    if (plan_step_loads(chain, i)) {
      if ((classes[set] == 0 || i == first) && bound->class_count < CLASSES_MOST) {
        bound->class_sets[bound->class_count] = set;
        bound->cold_bytes[bound->class_count] = chain->sets[set].preloads[0].cold_bytes; /* ascending */
        classes[set] = ++bound->class_count;
      }
      sort.load_class = classes[set] > 0 ? classes[set] - 1 : CLASSES_MOST;
    }
    count_step(bound, &sort, slots, mask - 1);
  }
  return true;
}

/* ---- weights ---- */

/* Larger loads at one weight, the others at another: all pairs of coarse weights, at every size. */
static int64_t sweep(struct sram_bound *bound) {
  struct weight best[CLASSES_MOST] = {{0, false}};
  int64_t most = -1;
  const int kinds = bound->contention ? 2 : 1;
  for (uint32_t border = 0; border < bound->class_count; border++) {
    for (int pair = 0; pair < kinds * kinds * (COARSE + 1) * (COARSE + 1) && bound->work < work_most; pair++) {
      const int large = pair / (kinds * (COARSE + 1)), small = pair % (kinds * (COARSE + 1));
      for (uint32_t c = 0; c < bound->class_count; c++) {
        const int value = bound->cold_bytes[c] >= bound->cold_bytes[border] ? large : small;
        bound->weights[c] = (struct weight){(uint8_t)(value / kinds * (UNIT / COARSE)), value % kinds != 0};
      }
      const int64_t sum = sum_units(bound);
      if (sum > most) {
        most = sum;
        memcpy(best, bound->weights, sizeof best);
      }
    }
  }
  memcpy(bound->weights, best, sizeof best);
  return most;
}

/* One class after the other takes the weight that is best given the others. */
static int64_t improve(struct sram_bound *bound, int64_t most) {
  bool is_better = true;
  for (int round = 0; round < ROUNDS_MOST && is_better; round++) {
    is_better = false;
    for (uint32_t c = 0; c < bound->class_count; c++) {
      struct weight best = bound->weights[c];
      for (int value = 0; value < (UNIT + 1) * (bound->contention ? 2 : 1) && bound->work < work_most; value++) {
        bound->weights[c] = (struct weight){(uint8_t)(value % (UNIT + 1)), value > UNIT};
        const int64_t sum = sum_units(bound);
        if (sum > most) {
          most = sum;
          best = bound->weights[c];
          is_better = true;
        }
      }
      bound->weights[c] = best;
    }
  }
  return most;
}

int64_t plan_sram_bound_of(const struct plan_chain *chain, bool contention) {
  struct sram_bound bound = {.chain = chain, .contention = contention};
  struct arena arena;
  arena_init(&arena, 0);
  int64_t units = 0;
  if (sort_steps(&bound, &arena) && bound.class_count > 0) {
    units = improve(&bound, sweep(&bound));
  }
  arena_release(&arena);
  return (units + UNIT - 1) / UNIT;
}
