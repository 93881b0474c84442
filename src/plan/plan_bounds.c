/* Lower bounds on every schedule of a chain. docs/plan-schedule.md, "Bounds", proves them.
 *
 * Each step takes the least value over its own options, among those that fit the SRAM while the step is alone on the core.
 * Values that one step contributes together are minimised together: over pairs of a preload state and an execute option.
 */
#include <stddef.h>

#include "plan/plan_policy.h"

/* The price of links, in steps of 1 / PRICE_UNIT: 0 = only time on the cores counts, PRICE_UNIT = only link time. */
#define PRICE_UNIT 64
typedef int64_t price;

/* Least sums over the pairs of one step: its load, by its time alone or at the price, and its run, as duration or at the
 * price. Sums without a price are exact; those with one are in 1 / PRICE_UNIT ps. */
struct least {
  int64_t load_ps, duration_ps, load_duration_ps, link_ps;
  int64_t load_run_units, rent_run_units, rent_duration_units;
};

static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t greater(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* One preload state with one execute option. */
struct pair {
  int64_t load_ps, link_ps; /* the load: time alone, link time */
  int64_t duration_ps;
  int64_t exchange_ps; /* link time of the run */
  int64_t alone_ps; /* the part of it in which nothing else may use the link at no cost */
};

static void take_pair(struct least *least, const struct pair *pair, price link) {
  int64_t load_units = pair->load_ps * PRICE_UNIT, duration_units = pair->duration_ps * PRICE_UNIT;
  /* At the full price the links are the only resource and overlapped shifts count as well. */
  int64_t exchange_ps = link == PRICE_UNIT ? pair->exchange_ps : pair->alone_ps;
  int64_t run_units = (PRICE_UNIT - link) * pair->duration_ps + link * exchange_ps;
  int64_t rent_units = lesser(link * pair->load_ps, PRICE_UNIT * pair->link_ps);
  least->load_ps = lesser(least->load_ps, pair->load_ps);
  least->duration_ps = lesser(least->duration_ps, pair->duration_ps);
  least->load_duration_ps = lesser(least->load_duration_ps, pair->load_ps + pair->duration_ps);
  least->link_ps = lesser(least->link_ps, pair->link_ps + pair->exchange_ps);
  least->load_run_units = lesser(least->load_run_units, load_units + run_units);
  least->rent_run_units = lesser(least->rent_run_units, rent_units + run_units);
  least->rent_duration_units = lesser(least->rent_duration_units, rent_units + duration_units);
}

static uint32_t executes_that_fit(const struct plan_chain *chain, uint32_t step) {
  const struct plan_choice_set *set = &chain->sets[chain->steps[step].set];
  uint32_t count = 0;
  while (count < set->execute_count
         && set->executes[count].hot_bytes + chain->steps[step].live_bytes <= chain->sram_bytes) {
    count++;
  }
  return count;
}

/* Over the first `execute_count` execute options. False when no pair is reachable. */
static bool least_of(const struct plan_choice_set *set, bool overlaps, uint32_t execute_count, price link,
                     struct least *least) {
  bool fits = false;
  *least = (struct least){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
  for (uint32_t p = 0; p < set->preload_count; p++) {
    const struct plan_preload *preload = &set->preloads[p];
    for (uint32_t e = 0; e < execute_count; e++) {
      const struct plan_execute *execute = &set->executes[e];
      int64_t distribute_ps = set->distribute_ps[(size_t)p * set->execute_count + e];
      if (distribute_ps == PLAN_UNREACHABLE) {
        continue;
      }
      int64_t phase_ps = distribute_ps + execute->serial_ps;
      struct pair pair = {.load_ps = greater(preload->memory_ps, preload->link_ps), .link_ps = preload->link_ps};
      pair.duration_ps = phase_ps + plan_main_phase_ps(execute, overlaps);
      pair.exchange_ps = phase_ps + execute->shift_ps;
      pair.alone_ps = overlaps ? phase_ps : pair.exchange_ps;
      take_pair(least, &pair, link);
      fits = true;
    }
  }
  return fits;
}

/* Steps of one sort mostly have the same least sums; the last ones are kept. */
enum { REMEMBERED = 64 };
struct memory {
  uint32_t set, execute_count; /* execute_count 0: nothing is kept here */
  struct least least;
};

/* Longest paths through the steps in up to three stretches: loads on the memory channel up to some step, then loads and runs
 * at the price up to some later step, then steps one after the other on the cores. Each sum ends with the present step. */
struct paths {
  int64_t loads_ps; /* loads only */
  int64_t flow_shop_ps; /* loads, then cores */
  int64_t link_ps; /* link time of all steps */
  int64_t priced_units; /* loads, then priced */
  int64_t cores_units; /* loads, maybe priced, then cores */
};

static void extend(struct paths *paths, const struct least *least) {
  int64_t turn_ps = paths->loads_ps + least->load_duration_ps; /* from the channel to the cores at this very step */
  int64_t cores_units = greater(paths->cores_units + least->duration_ps * PRICE_UNIT, turn_ps * PRICE_UNIT);
  paths->cores_units = greater(cores_units, paths->priced_units + least->rent_duration_units);
  paths->flow_shop_ps = greater(paths->flow_shop_ps + least->duration_ps, turn_ps);
  paths->link_ps += least->link_ps;
  paths->priced_units =
      greater(paths->priced_units + least->rent_run_units, paths->loads_ps * PRICE_UNIT + least->load_run_units);
  paths->loads_ps += least->load_ps;
}

static bool longest_paths(const struct plan_chain *chain, price link, struct paths *paths) {
  struct memory memory[REMEMBERED] = {0};
  *paths = (struct paths){0};
  for (uint32_t i = 0; i < chain->step_count; i++) {
    uint32_t set = chain->steps[i].set, execute_count = executes_that_fit(chain, i);
    struct memory *kept = &memory[set % REMEMBERED];
    if (kept->set != set || kept->execute_count != execute_count || execute_count == 0) {
      *kept = (struct memory){.set = set, .execute_count = execute_count};
      if (!least_of(&chain->sets[set], chain->overlaps, execute_count, link, &kept->least)) {
        return false;
      }
    }
    extend(paths, &kept->least);
  }
  return true;
}

/* Any price gives a bound. The bound is nearly concave in the price: a coarse sweep, then the neighbourhood of the best. */
void plan_bounds_of(const struct plan_chain *chain, struct plan_bounds *bounds) {
  *bounds = (struct plan_bounds){0};
  price best = 0;
  int64_t best_units = -1;
  for (price stride = PRICE_UNIT / 8; stride > 0; stride /= 2) {
    bool is_first = stride == PRICE_UNIT / 8;
    price from = is_first ? 0 : greater(best - stride, 0),
          to = is_first ? PRICE_UNIT : lesser(best + stride, PRICE_UNIT);
    for (price link = from; link <= to; link += stride) {
      struct paths paths;
      if (!longest_paths(chain, link, &paths)) {
        *bounds = (struct plan_bounds){PLAN_UNREACHABLE, PLAN_UNREACHABLE, PLAN_UNREACHABLE};
        return;
      }
      bounds->flow_shop_ps = paths.flow_shop_ps;
      bounds->link_ps = paths.link_ps;
      if (paths.cores_units > best_units) {
        best_units = paths.cores_units;
        best = link;
      }
    }
  }
  bounds->chain_ps = greater((best_units + PRICE_UNIT - 1) / PRICE_UNIT, plan_sram_bound_of(chain, true));
}

uint64_t plan_chain_smallest_sram(const struct plan_chain *chain, uint32_t *step) {
  uint64_t smallest_bytes = 0;
  *step = 0;
  for (uint32_t i = 0; i < chain->step_count; i++) {
    const struct plan_choice_set *set = &chain->sets[chain->steps[i].set];
    uint64_t need_bytes = UINT64_MAX;
    for (size_t cell = (size_t)set->preload_count * set->execute_count; cell-- > 0;) {
      uint64_t hot_bytes = set->executes[cell % set->execute_count].hot_bytes;
      if (set->distribute_ps[cell] != PLAN_UNREACHABLE && hot_bytes < need_bytes) {
        need_bytes = hot_bytes;
      }
    }
    if (need_bytes + chain->steps[i].live_bytes > smallest_bytes) {
      smallest_bytes = need_bytes + chain->steps[i].live_bytes;
      *step = i;
    }
  }
  return smallest_bytes;
}
