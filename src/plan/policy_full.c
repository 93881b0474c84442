/* Policy full: dyn over permuted orders of the loads. The loads of a layer form groups, each ending with one that takes a
 * notable share of the layer's loading time; groups change places by at most DISPLACEMENT_MAX, alike in every layer that
 * loads the same sorts. Orders are tried in lexicographic order, execution order first, until the budget is spent.
 */
#include <string.h>

#include "plan/policy_induction.h"

#define DISPLACEMENT_MAX 4u /* published */
#define GROUPS_MAX 10u
#define HEAVY_SHARE 50 /* a load of at least 1 / 50 of its layer's ends a group */
#define DEFAULT_BUDGET 20000000u /* labels of the induction */

struct order_search {
  struct induction induction;
  const struct plan_chain *chain;
  uint32_t *in_order; /* the loads in execution order */
  uint32_t load_count;
  uint32_t first, count; /* the model layer's loads: in_order[first .. first + count) */
  uint32_t group_count;
  uint32_t group_first[GROUPS_MAX + 1]; /* relative to first */
  uint32_t places[GROUPS_MAX]; /* group at each place */
  uint64_t budget;
  bool is_cut;
};

static uint32_t layer_at(const struct order_search *search, uint32_t place) {
  return search->chain->steps[search->in_order[place]].layer;
}

static uint32_t run_end(const struct order_search *search, uint32_t first) {
  uint32_t end = first + 1;
  while (end < search->load_count && layer_at(search, end) == layer_at(search, first)) {
    end++;
  }
  return end;
}

/* The model is the layer in the middle: first and last ones are often irregular. */
static void find_model_layer(struct order_search *search) {
  uint32_t middle = search->load_count / 2;
  for (uint32_t first = 0; first < search->load_count; first = run_end(search, first)) {
    uint32_t end = run_end(search, first);
    if (layer_at(search, first) != UINT32_MAX && (search->count == 0 || first <= middle)) {
      search->first = first;
      search->count = end - first;
    }
  }
}

static bool is_like_model(const struct order_search *search, uint32_t first, uint32_t end) {
  if (end - first != search->count || layer_at(search, first) == UINT32_MAX) {
    return false;
  }
  for (uint32_t k = 0; k < search->count; k++) {
    const struct plan_step *steps = search->chain->steps;
    if (steps[search->in_order[first + k]].set != steps[search->in_order[search->first + k]].set) {
      return false;
    }
  }
  return true;
}

/* Groups end with loads of at least heavy_ps; light loads behind the last of those belong to the last group. False when
 * there are too many. */
static bool split_groups(struct order_search *search, int64_t heavy_ps) {
  const uint32_t *model = &search->in_order[search->first];
  uint32_t last_heavy = 0;
  for (uint32_t k = 0; k < search->count; k++) {
    last_heavy = policy_load_ps(search->chain, model[k], 0) >= heavy_ps ? k : last_heavy;
  }
  search->group_count = 0;
  bool begins = true;
  for (uint32_t k = 0; k <= last_heavy; k++) {
    if (begins && search->group_count == GROUPS_MAX) {
      return false;
    }
    if (begins) {
      search->group_first[search->group_count++] = k;
    }
    begins = policy_load_ps(search->chain, model[k], 0) >= heavy_ps;
  }
  search->group_first[search->group_count] = search->count;
  return true;
}

static void find_groups(struct order_search *search) {
  int64_t heavy_ps = 0;
  for (uint32_t k = 0; k < search->count; k++) {
    heavy_ps += policy_load_ps(search->chain, search->in_order[search->first + k], 0);
  }
  heavy_ps = heavy_ps / HEAVY_SHARE + 1;
  while (!split_groups(search, heavy_ps)) {
    heavy_ps *= 2;
  }
}

/* True when two groups load the same sorts: then exchanging them changes nothing worth trying. */
static bool are_alike(const struct order_search *search, uint32_t a, uint32_t b) {
  uint32_t length = search->group_first[a + 1] - search->group_first[a];
  if (search->group_first[b + 1] - search->group_first[b] != length) {
    return false;
  }
  for (uint32_t k = 0; k < length; k++) {
    const uint32_t *model = &search->in_order[search->first];
    if (search->chain->steps[model[search->group_first[a] + k]].set
        != search->chain->steps[model[search->group_first[b] + k]].set) {
      return false;
    }
  }
  return true;
}

static void permute_layers(struct order_search *search) {
  uint32_t *order = search->induction.build->draft.order;
  memcpy(order, search->in_order, search->load_count * sizeof *order);
  for (uint32_t first = 0; first < search->load_count; first = run_end(search, first)) {
    if (!is_like_model(search, first, run_end(search, first))) {
      continue;
    }
    uint32_t place = first;
    for (uint32_t g = 0; g < search->group_count; g++) {
      uint32_t group = search->places[g];
      for (uint32_t k = search->group_first[group]; k < search->group_first[group + 1]; k++) {
        order[place++] = search->in_order[first + k];
      }
    }
  }
}

static void try_order(struct order_search *search) {
  struct policy_build *build = search->induction.build;
  permute_layers(search);
  induction_offer(&search->induction);
  search->is_cut = build->result->stats.labels >= search->budget;
}

static bool may_stand_at(const struct order_search *search, uint32_t group, uint32_t place, uint32_t taken) {
  uint32_t displacement = group > place ? group - place : place - group;
  if (displacement > DISPLACEMENT_MAX || (taken >> group & 1) != 0) {
    return false;
  }
  for (uint32_t other = 0; other < group; other++) {
    if ((taken >> other & 1) == 0 && are_alike(search, other, group)) {
      return false;
    }
  }
  return true;
}

/* Depth at most GROUPS_MAX. */
static void permute_from(struct order_search *search, uint32_t place, uint32_t taken) {
  if (place == search->group_count) {
    try_order(search);
    return;
  }
  for (uint32_t group = 0; group < search->group_count && !search->is_cut; group++) {
    if (may_stand_at(search, group, place, taken)) {
      search->places[place] = group;
      permute_from(search, place + 1, taken | 1u << group);
    }
  }
}

static enum status search_orders(struct order_search *search, struct policy_build *build) {
  search->chain = build->chain;
  search->load_count = build->draft.load_count;
  search->in_order = arena_calloc(&build->scratch, search->load_count, sizeof *search->in_order);
  if (search->in_order == NULL || !induction_init(&search->induction, build)) {
    return STATUS_MEMORY;
  }
  memcpy(search->in_order, build->draft.order, search->load_count * sizeof *search->in_order);
  uint32_t best_view = 0;
  for (uint32_t v = 0; v < induction_view_count; v++) {
    induction_look(&search->induction, induction_views[v]);
    if (induction_offer(&search->induction)) {
      best_view = v;
    }
  }
  find_model_layer(search);
  if (search->count > 1) {
    find_groups(search);
    induction_look(&search->induction, induction_views[best_view]);
    permute_from(search, 0, 0);
  }
  build->result->stats.complete = !search->is_cut;
  return STATUS_OK;
}

static enum status run(const struct plan_chain *chain, const struct plan_policy_options *options, struct arena *arena,
                       struct plan_policy_result *result, uint32_t *step) {
  struct policy_build build;
  enum status status = policy_build_init(&build, chain, options, arena, result, step);
  if (status == STATUS_OK) {
    struct order_search search = {.budget = options->budget != 0 ? options->budget : DEFAULT_BUDGET};
    status = search_orders(&search, &build);
  }
  policy_build_release(&build);
  return status;
}

const struct plan_policy plan_policy_full = {
    .name = "full",
    .summary = "dyn over permuted load orders within a layer",
    .run = run,
};
