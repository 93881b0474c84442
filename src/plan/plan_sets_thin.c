/* From the front of a search to the options that policies see: the pairs that lose least when only so many executes and
 * preload states may stay.
 *
 * Greedy: the fastest, the smallest hot and the smallest cold pair first, then again and again the pair whose best kept
 * substitute (no larger in either size) is the slowest beside it. What is lost in the end is reported. */
#include <stdlib.h>
#include <string.h>

#include "plan/plan_sets_int.h"

struct thinning {
  struct sets_search *search;
  const struct sets_limits *limits;
  int64_t *substitute_ps; /* per pair: best kept duration with no larger sizes */
  uint32_t *executes, *preloads; /* kept ones, indices into the search's arrays */
  uint32_t execute_count, preload_count;
};

static bool contains(const uint32_t *list, uint32_t count, uint32_t value) {
  for (uint32_t i = 0; i < count; i++) {
    if (list[i] == value) {
      return true;
    }
  }
  return false;
}

static bool has_room(const struct thinning *thin, const struct sets_pair *pair) {
  bool has_execute = contains(thin->executes, thin->execute_count, pair->execute);
  bool has_preload = contains(thin->preloads, thin->preload_count, pair->preload);
  return (has_execute || thin->execute_count < thin->limits->max_executes)
         && (has_preload || thin->preload_count < thin->limits->max_preloads);
}

static void keep(struct thinning *thin, size_t index) {
  const struct sets_pair *pairs = thin->search->front.data;
  const struct sets_pair *pair = &pairs[index];
  if (!has_room(thin, pair)) {
    return;
  }
  if (!contains(thin->executes, thin->execute_count, pair->execute)) {
    thin->executes[thin->execute_count++] = pair->execute;
  }
  if (!contains(thin->preloads, thin->preload_count, pair->preload)) {
    thin->preloads[thin->preload_count++] = pair->preload;
  }
  for (size_t i = 0; i < thin->search->front.count; i++) {
    if (pair->cold_units <= pairs[i].cold_units && pair->hot_units <= pairs[i].hot_units
        && pair->duration_ps < thin->substitute_ps[i]) {
      thin->substitute_ps[i] = pair->duration_ps;
    }
  }
}

/* The pair that loses most without itself, among those that there is room for; SIZE_MAX when none loses. */
static size_t worst(const struct thinning *thin) {
  size_t found = SIZE_MAX;
  int64_t most = 0;
  for (size_t i = 0; i < thin->search->front.count; i++) {
    const struct sets_pair *pair = &thin->search->front.data[i];
    int64_t loss = thin->substitute_ps[i] == INT64_MAX ? INT64_MAX : thin->substitute_ps[i] - pair->duration_ps;
    if (loss > most && has_room(thin, pair)) {
      most = loss;
      found = i;
    }
  }
  return found;
}

static size_t smallest(const struct sets_search *search, bool is_cold) {
  size_t best = 0;
  for (size_t i = 1; i < search->front.count; i++) {
    const struct sets_pair *a = &search->front.data[i], *b = &search->front.data[best];
    uint64_t x = is_cold ? a->cold_units : a->hot_units, y = is_cold ? b->cold_units : b->hot_units;
    best = x < y ? i : best; /* of equal ones the fastest: pairs ascend in duration */
  }
  return best;
}

static int64_t loss_of(const struct thinning *thin) {
  int64_t loss = 0;
  for (size_t i = 0; i < thin->search->front.count; i++) {
    int64_t lost = thin->substitute_ps[i] - thin->search->front.data[i].duration_ps;
    loss = thin->substitute_ps[i] != INT64_MAX && lost > loss ? lost : loss;
  }
  return loss;
}

/* Kept indices in ascending size; few, so insertion. */
static void sort_kept(uint32_t *kept, uint32_t count, const uint64_t *sizes) {
  for (uint32_t i = 1; i < count; i++) {
    uint32_t moved = kept[i], k = i;
    for (; k > 0 && (sizes[kept[k - 1]] > sizes[moved] || (sizes[kept[k - 1]] == sizes[moved] && kept[k - 1] > moved));
         k--) {
      kept[k] = kept[k - 1];
    }
    kept[k] = moved;
  }
}

static void load_of(const struct sets_search *search, uint32_t preload, struct plan_preload *load) {
  *load = (struct plan_preload){0};
  search->model->load(search->chip, search->program, search->op, &search->preloads.data[preload], load);
  if (!search->loads) { /* nothing waits; only a result may have to be written */
    load->cold_bytes = 0;
    load->link_ps = 0;
  }
}

static bool sort_options(struct thinning *thin) {
  const struct sets_search *search = thin->search;
  size_t count = search->executes.count > search->preloads.count ? search->executes.count : search->preloads.count;
  uint64_t *sizes = malloc((count > 0 ? count : 1) * sizeof *sizes);
  if (sizes == NULL) {
    return false;
  }
  for (size_t i = 0; i < search->executes.count; i++) {
    sizes[i] = search->executes.data[i].cost.hot_bytes;
  }
  sort_kept(thin->executes, thin->execute_count, sizes);
  for (uint32_t i = 0; i < thin->preload_count; i++) {
    struct plan_preload load;
    load_of(search, thin->preloads[i], &load);
    sizes[thin->preloads[i]] = load.cold_bytes;
  }
  sort_kept(thin->preloads, thin->preload_count, sizes);
  free(sizes);
  return true;
}

static enum status write_options(const struct thinning *thin, struct arena *arena, struct plan_choice_set *choices,
                                 struct plan_set *set) {
  const struct sets_search *search = thin->search;
  uint32_t n = thin->execute_count, m = thin->preload_count;
  struct plan_execute *executes = arena_calloc(arena, n, sizeof *executes);
  struct plan_preload *preloads = arena_calloc(arena, m, sizeof *preloads);
  int64_t *distribute = arena_calloc(arena, (size_t)n * m, sizeof *distribute);
  struct plan_partition *hot = arena_calloc(arena, n, sizeof *hot);
  struct plan_partition *cold = arena_calloc(arena, m, sizeof *cold);
  if (executes == NULL || preloads == NULL || distribute == NULL || hot == NULL || cold == NULL) {
    return STATUS_MEMORY;
  }
  for (uint32_t e = 0; e < n; e++) {
    const struct sets_execute *from = &search->executes.data[thin->executes[e]];
    hot[e] = from->partition;
    executes[e] =
        (struct plan_execute){from->cost.hot_bytes, from->cost.compute_ps, from->cost.shift_ps, from->cost.serial_ps};
  }
  for (uint32_t p = 0; p < m; p++) {
    cold[p] = search->preloads.data[thin->preloads[p]];
    load_of(search, thin->preloads[p], &preloads[p]);
    for (uint32_t e = 0; e < n; e++) {
      int64_t ps = search->loads
                       ? search->model->distribute_ps(search->chip, search->program, search->op, &cold[p], &hot[e])
                       : 0;
      distribute[p * n + e] = ps < 0 ? PLAN_UNREACHABLE : ps;
    }
  }
  *choices = (struct plan_choice_set){n, m, executes, preloads, distribute, loss_of(thin)};
  *set = (struct plan_set){.executes = hot,
                           .preloads = cold,
                           .plans_seen = search->plans_seen,
                           .plans_pruned = search->plans_pruned,
                           .is_cut = search->is_cut,
                           .smallest_hot_bytes = search->smallest_hot_bytes};
  return STATUS_OK;
}

enum status sets_thin(struct sets_search *search, const struct sets_limits *limits, struct arena *arena,
                      struct plan_choice_set *choices, struct plan_set *set) {
  struct thinning thin = {.search = search, .limits = limits};
  thin.substitute_ps = malloc(search->front.count * sizeof *thin.substitute_ps);
  thin.executes = malloc(limits->max_executes * sizeof *thin.executes);
  thin.preloads = malloc(limits->max_preloads * sizeof *thin.preloads);
  enum status status = STATUS_MEMORY;
  if (thin.substitute_ps != NULL && thin.executes != NULL && thin.preloads != NULL) {
    for (size_t i = 0; i < search->front.count; i++) {
      thin.substitute_ps[i] = INT64_MAX;
    }
    keep(&thin, 0);
    keep(&thin, smallest(search, false));
    keep(&thin, smallest(search, true));
    for (size_t i = worst(&thin); i != SIZE_MAX; i = worst(&thin)) {
      keep(&thin, i);
    }
    status = sort_options(&thin) ? write_options(&thin, arena, choices, set) : STATUS_MEMORY;
  }
  free(thin.substitute_ps);
  free(thin.executes);
  free(thin.preloads);
  return status;
}
