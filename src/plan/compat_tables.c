/* Cold/hot tables of the artifact: per operator, time by bytes in the preload state and bytes in the execute state.
 * Path: compat_cost.c prices, compat_schedule.c looks up. */
#include <stdlib.h>
#include <string.h>

#include "plan/compat_int.h"

struct hot_plan {
  uint64_t hot_bytes;
  struct plan_partition plan;
  struct compat_cost cost;
  uint32_t order; /* of the enumeration */
};
typedef VEC(struct hot_plan) hot_plans;

static double total_cycles(const struct compat_cost *cost) {
  return cost->compute_cycles + cost->exchange_cycles;
}

/* ---- Pass 1: plans that are faster than all that need less ---- */

struct search {
  const struct plan_compat_operator *op;
  double *best; /* cycles by hot bytes / element_bytes */
  hot_plans plans;
  uint64_t seen; /* plans, also of the operators before */
  uint64_t smallest_hot;
  bool failed;
};

/* Plans that were the fastest of their size when they came; the superseded ones stay, as in the artifact. */
static bool keep_improvement(void *context, const struct plan_partition *plan) {
  struct search *search = context;
  struct hot_plan hot = {.plan = *plan};
  const bool fits = compat_price(search->op, plan, &hot.cost);
  hot.hot_bytes = hot.cost.hot_bytes;
  hot.order = (uint32_t)search->seen++;
  search->smallest_hot = hot.hot_bytes < search->smallest_hot ? hot.hot_bytes : search->smallest_hot;
  if (!fits) {
    return search->seen <= COMPAT_PLANS_MAX;
  }
  double *best = &search->best[hot.hot_bytes / compat_elk.element_bytes];
  const double cycles = total_cycles(&hot.cost);
  if (cycles < *best) {
    *best = cycles;
    search->failed = !vec_push(&search->plans, hot);
  }
  return !search->failed && search->seen <= COMPAT_PLANS_MAX;
}

static int by_hot_bytes(const void *left, const void *right) {
  const struct hot_plan *a = left;
  const struct hot_plan *b = right;
  if (a->hot_bytes != b->hot_bytes) {
    return a->hot_bytes < b->hot_bytes ? -1 : 1;
  }
  return a->order < b->order ? -1 : a->order > b->order;
}

static void keep_pareto(hot_plans *plans) {
  if (plans->count == 0) {
    return;
  }
  qsort(plans->data, plans->count, sizeof *plans->data, by_hot_bytes);
  size_t kept = 1;
  for (size_t i = 1; i < plans->count; i++) {
    if (total_cycles(&plans->data[i].cost) < total_cycles(&plans->data[kept - 1].cost)) {
      plans->data[kept++] = plans->data[i];
    }
  }
  plans->count = kept;
}

static struct plan_space space_of(const struct plan_compat_operator *op) {
  struct plan_space space = {.axis_count = op->axis_count, .tensor_count = op->tensor_count, .cores = compat_elk.cores};
  memcpy(space.extents, op->extents, sizeof space.extents);
  memcpy(space.tensors, op->tensors, sizeof space.tensors);
  return space;
}

static enum status search_hot(const struct plan_compat_operator *op, const struct plan_rules *rules, hot_plans *plans,
                              uint64_t *smallest_hot, uint64_t *seen) {
  const size_t sizes = (size_t)(compat_elk.sram_bytes / compat_elk.element_bytes) + 1;
  struct search search = {
      .op = op, .best = malloc(sizes * sizeof *search.best), .seen = *seen, .smallest_hot = UINT64_MAX};
  if (search.best == NULL) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < sizes; i++) {
    search.best[i] = 1e300;
  }
  const struct plan_space space = space_of(op);
  const struct plan_visitor visitor = {.plan = keep_improvement, .context = &search};
  enum status status = plan_partition_enumerate(&space, rules, &visitor);
  free(search.best);
  keep_pareto(&search.plans);
  memcpy(plans, &search.plans, sizeof *plans);
  *seen = search.seen;
  *smallest_hot = search.smallest_hot;
  if (search.seen > COMPAT_PLANS_MAX) {
    return STATUS_LIMIT;
  }
  return search.failed ? STATUS_MEMORY : status;
}

/* ---- Pass 2: every preload state on the spatial vectors of these plans ---- */

struct pairing {
  const struct plan_compat_operator *op;
  const hot_plans *plans;
  struct compat_table *table;
  bool failed;
};

static bool on_some_plan(void *context, const uint32_t *spatial) {
  const hot_plans *plans = ((struct pairing *)context)->plans;
  for (size_t i = 0; i < plans->count; i++) {
    if (memcmp(plans->data[i].plan.spatial, spatial, sizeof plans->data[i].plan.spatial) == 0) {
      return true;
    }
  }
  return false;
}

static bool pair_with_plans(void *context, const struct plan_partition *cold) {
  struct pairing *pairing = context;
  const uint64_t cold_bytes = compat_cold_bytes(pairing->op, cold);
  for (size_t i = 0; i < pairing->plans->count && !pairing->failed; i++) {
    const struct hot_plan *hot = &pairing->plans->data[i];
    if (memcmp(hot->plan.spatial, cold->spatial, sizeof cold->spatial) != 0) {
      continue;
    }
    const double warm_up = compat_warm_up_cycles(pairing->op, cold, &hot->plan);
    if (warm_up < 0.0) {
      continue;
    }
    const struct compat_choice choice = {
        .cold_bytes = cold_bytes,
        .hot_bytes = hot->hot_bytes,
        .time_ms = (total_cycles(&hot->cost) + warm_up) / compat_elk.cycles_per_ms,
        .compute_ms = hot->cost.compute_cycles / compat_elk.cycles_per_ms,
        .exchange_ms = hot->cost.exchange_cycles / compat_elk.cycles_per_ms,
    };
    pairing->failed = !vec_push(&pairing->table->choices, choice);
  }
  return !pairing->failed && pairing->table->choices.count <= COMPAT_CHOICES_MAX;
}

/* Equal times are told apart by their parts, so that the order does not depend on the sort. */
static int by_sizes(const void *left, const void *right) {
  const struct compat_choice *a = left;
  const struct compat_choice *b = right;
  if (a->cold_bytes != b->cold_bytes) {
    return a->cold_bytes < b->cold_bytes ? -1 : 1;
  }
  if (a->hot_bytes != b->hot_bytes) {
    return a->hot_bytes < b->hot_bytes ? -1 : 1;
  }
  if (a->time_ms < b->time_ms || b->time_ms < a->time_ms) {
    return a->time_ms < b->time_ms ? -1 : 1;
  }
  return a->exchange_ms < b->exchange_ms ? -1 : a->exchange_ms > b->exchange_ms;
}

static void keep_fastest_of_pair(struct compat_table *table) {
  struct compat_choice *choices = table->choices.data;
  qsort(choices, table->choices.count, sizeof *choices, by_sizes);
  size_t kept = 1;
  for (size_t i = 1; i < table->choices.count; i++) {
    if (choices[i].cold_bytes != choices[kept - 1].cold_bytes || choices[i].hot_bytes != choices[kept - 1].hot_bytes) {
      choices[kept++] = choices[i];
    }
  }
  table->choices.count = kept;
}

/* ---- Step functions of memory ---- */

static int by_bytes(const void *left, const void *right) {
  const struct compat_step *a = left;
  const struct compat_step *b = right;
  if (a->bytes != b->bytes) {
    return a->bytes < b->bytes ? -1 : 1;
  }
  return a->choice < b->choice ? -1 : a->choice > b->choice;
}

/* Half the link time of loading it is added, as the artifact prices it. */
static double priced_ms(const struct compat_choice *choice) {
  return choice->time_ms
         + (double)choice->cold_bytes / compat_elk.link_bytes_per_cycle / 2.0 / compat_elk.cycles_per_ms;
}

static bool build_priced(struct compat_table *table) {
  const struct compat_choice *choices = table->choices.data;
  for (uint32_t i = 0; i < table->choices.count; i++) {
    const uint64_t cold = choices[i].cold_bytes;
    const uint64_t hot = choices[i].hot_bytes;
    if (!vec_push(&table->priced, ((struct compat_step){.bytes = hot > cold ? hot : cold, .choice = i}))) {
      return false;
    }
  }
  struct compat_step *steps = table->priced.data;
  qsort(steps, table->priced.count, sizeof *steps, by_bytes);
  size_t kept = 1;
  for (size_t i = 1; i < table->priced.count; i++) {
    if (priced_ms(&choices[steps[i].choice]) < priced_ms(&choices[steps[kept - 1].choice])) {
      steps[kept++] = steps[i];
    }
  }
  table->priced.count = kept;
  return true;
}

/* Of the largest cold size that fits in its smallest hot size, the largest hot size that fits. Choices of one cold size are
 * neighbours in ascending hot size; with `m` bytes the last cold size whose first hot size is <= m counts. */
static bool build_largest(struct compat_table *table) {
  const struct compat_choice *choices = table->choices.data;
  uint64_t below = UINT64_MAX; /* the smallest hot size among larger cold sizes: from there on those count */
  for (size_t end = table->choices.count; end > 0;) {
    size_t first = end - 1;
    while (first > 0 && choices[first - 1].cold_bytes == choices[first].cold_bytes) {
      first--;
    }
    for (size_t i = first; i < end && choices[i].hot_bytes < below; i++) {
      const struct compat_step step = {.bytes = choices[i].hot_bytes, .choice = (uint32_t)i};
      if (!vec_push(&table->largest, step)) {
        return false;
      }
    }
    below = choices[first].hot_bytes < below ? choices[first].hot_bytes : below;
    end = first;
  }
  qsort(table->largest.data, table->largest.count, sizeof *table->largest.data, by_bytes);
  return true;
}

static bool build_smallest(struct compat_table *table) {
  const struct compat_choice *choices = table->choices.data;
  for (uint32_t i = 0; i < table->choices.count && choices[i].cold_bytes == choices[0].cold_bytes; i++) {
    if (!vec_push(&table->smallest, ((struct compat_step){.bytes = choices[i].hot_bytes, .choice = i}))) {
      return false;
    }
  }
  return true;
}

const struct compat_choice *compat_table_lookup(const struct compat_table *table, const struct compat_step *steps,
                                                size_t count, double bytes) {
  size_t low = 0;
  for (size_t high = count; low < high;) {
    const size_t middle = low + (high - low) / 2;
    if ((double)steps[middle].bytes <= bytes) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? NULL : &table->choices.data[steps[low - 1].choice];
}

static void summarise(struct compat_table *table) {
  const struct compat_choice *choices = table->choices.data;
  table->smallest_cold = choices[0].cold_bytes;
  table->smallest_hot = choices[0].hot_bytes;
  for (uint32_t i = 1; i < table->choices.count; i++) {
    table->smallest_hot = choices[i].hot_bytes < table->smallest_hot ? choices[i].hot_bytes : table->smallest_hot;
    table->fastest = choices[i].time_ms < choices[table->fastest].time_ms ? i : table->fastest;
  }
  table->load_ms = (double)table->smallest_cold * compat_elk.cores / compat_elk.memory_unit / compat_elk.memory_rate;
}

enum status compat_table_build(const struct plan_compat_operator *op, bool legal, struct compat_table *table,
                               uint64_t *plans) {
  const struct plan_rules *rules = legal ? &plan_rules_legal : &plan_rules_published;
  hot_plans hot = {0};
  enum status status = search_hot(op, rules, &hot, &table->smallest_hot, plans);
  struct pairing pairing = {.op = op, .plans = &hot, .table = table};
  if (status == STATUS_OK && hot.count > 0) {
    const struct plan_space space = space_of(op);
    const struct plan_visitor visitor = {.spatial = on_some_plan, .plan = pair_with_plans, .context = &pairing};
    status = plan_partition_enumerate(&space, rules, &visitor);
    status = pairing.failed ? STATUS_MEMORY : status;
    status = table->choices.count > COMPAT_CHOICES_MAX ? STATUS_LIMIT : status;
  }
  vec_release(&hot);
  if (status != STATUS_OK || table->choices.count == 0) {
    return status;
  }
  keep_fastest_of_pair(table);
  summarise(table);
  return build_priced(table) && build_smallest(table) && build_largest(table) ? STATUS_OK : STATUS_MEMORY;
}

void compat_table_release(struct compat_table *table) {
  vec_release(&table->choices);
  vec_release(&table->priced);
  vec_release(&table->smallest);
  vec_release(&table->largest);
}
