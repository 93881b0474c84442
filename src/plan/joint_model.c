/* Contraction of a chain into nodes and menus; see joint_model.h. */
#include "plan/joint_model.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW_MOST = 32, RUN_STEPS_MOST = 64 };

struct builder {
  struct joint_model *model;
  const struct plan_chain *chain;
  struct arena *arena;
  double price;
  bool contracts;
  uint32_t menu_capacity, option_capacity;
  uint32_t *set_menus; /* per set: menu of its first state, for runs */
  uint32_t *runs; /* open addressing: nodes with different runs */
  uint32_t run_mask;
};

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* What is to be small: time, and link time at its price. */
static double key_of(const struct builder *builder, const struct joint_option *option) {
  return (double)(option->link_ps + option->main_ps) + builder->price * (double)(option->link_ps + option->shift_ps);
}

static bool push_option(struct builder *builder, const struct joint_option *option) {
  struct joint_model *model = builder->model;
  if (model->option_count == builder->option_capacity) {
    uint32_t capacity = builder->option_capacity * 2 + 256;
    struct joint_option *options = arena_alloc(builder->arena, capacity * sizeof *options);
    if (options == NULL) {
      return false;
    }
    if (model->option_count > 0) {
      memcpy(options, model->options, model->option_count * sizeof *options);
    }
    model->options = options;
    builder->option_capacity = capacity;
  }
  model->options[model->option_count++] = *option;
  return true;
}

static uint32_t begin_menu(struct builder *builder) {
  struct joint_model *model = builder->model;
  if (model->menu_count == builder->menu_capacity) {
    uint32_t capacity = builder->menu_capacity * 2 + 64;
    struct joint_menu *menus = arena_alloc(builder->arena, capacity * sizeof *menus);
    if (menus == NULL) {
      return JOINT_NONE;
    }
    if (model->menu_count > 0) {
      memcpy(menus, model->menus, model->menu_count * sizeof *menus);
    }
    model->menus = menus;
    builder->menu_capacity = capacity;
  }
  model->menus[model->menu_count] = (struct joint_menu){model->option_count, 0};
  return model->menu_count++;
}

/* Ways to execute a step from one preload state. */
static uint32_t state_menu(struct builder *builder, const struct plan_choice_set *set, uint32_t preload) {
  uint32_t menu = begin_menu(builder);
  if (menu == JOINT_NONE) {
    return JOINT_NONE;
  }
  double best = 0;
  for (uint32_t x = 0; x < set->execute_count; x++) {
    const struct plan_execute *execute = &set->executes[x];
    int64_t distribute_ps = set->distribute_ps[(size_t)preload * set->execute_count + x];
    if (distribute_ps == PLAN_UNREACHABLE) {
      continue;
    }
    struct joint_option option = {.need_bytes = execute->hot_bytes,
                                  .link_ps = distribute_ps + execute->serial_ps,
                                  .main_ps = execute->compute_ps + execute->shift_ps,
                                  .shift_ps = execute->shift_ps};
    if (builder->chain->overlaps) {
      option.main_ps = larger(execute->compute_ps, execute->shift_ps);
    }
    struct joint_menu *made = &builder->model->menus[menu];
    if (made->count == 0 || key_of(builder, &option) < best) {
      best = key_of(builder, &option);
      if (!push_option(builder, &option)) {
        return JOINT_NONE;
      }
      made->count++;
    }
  }
  return menu;
}

/* The most by which state a lengthens a step against state b; PLAN_UNREACHABLE when b reaches more. */
static int64_t excess_of(const struct plan_choice_set *set, uint32_t a, uint32_t b) {
  int64_t most_ps = INT64_MIN;
  for (uint32_t x = 0; x < set->execute_count; x++) {
    int64_t from_a = set->distribute_ps[(size_t)a * set->execute_count + x];
    int64_t from_b = set->distribute_ps[(size_t)b * set->execute_count + x];
    if (from_b == PLAN_UNREACHABLE) {
      continue;
    }
    if (from_a == PLAN_UNREACHABLE) {
      return PLAN_UNREACHABLE;
    }
    most_ps = larger(most_ps, from_a - from_b);
  }
  return most_ps;
}

static int64_t load_ps(const struct plan_preload *preload) {
  return larger(preload->memory_ps, preload->link_ps);
}

/* True when no schedule needs state b because a is as good in every respect (of equals the first stays). */
static bool beats(const struct plan_choice_set *set, uint32_t a, uint32_t b) {
  const struct plan_preload *one = &set->preloads[a], *two = &set->preloads[b];
  if (one->cold_bytes > two->cold_bytes || load_ps(one) > load_ps(two) || one->link_ps > two->link_ps
      || excess_of(set, a, b) > 0) {
    return false;
  }
  bool is_equal = one->cold_bytes == two->cold_bytes && load_ps(one) == load_ps(two) && one->link_ps == two->link_ps
                  && excess_of(set, b, a) <= 0;
  return !is_equal || a < b;
}

static bool build_set(struct builder *builder, uint32_t number) {
  struct joint_model *model = builder->model;
  const struct plan_choice_set *set = &builder->chain->sets[number];
  struct joint_set *made = &model->sets[number];
  *made = (struct joint_set){.first_state = model->state_count, .least_load_ps = INT64_MAX, .least_link_ps = INT64_MAX};
  for (uint32_t p = 0; p < set->preload_count; p++) {
    bool beaten = false;
    for (uint32_t other = 0; other < set->preload_count && !beaten; other++) {
      beaten = other != p && beats(set, other, p);
    }
    if (beaten) {
      continue;
    }
    const struct plan_preload *preload = &set->preloads[p];
    struct joint_state state = {.preload = p,
                                .cold_bytes = preload->cold_bytes,
                                .load_ps = load_ps(preload),
                                .link_ps = preload->link_ps,
                                .menu = state_menu(builder, set, p)};
    if (state.menu == JOINT_NONE) {
      return false;
    }
    state.share = state.load_ps > 0 ? (double)state.link_ps / (double)state.load_ps : 0;
    made->least_load_ps = state.load_ps < made->least_load_ps ? state.load_ps : made->least_load_ps;
    made->least_link_ps = state.link_ps < made->least_link_ps ? state.link_ps : made->least_link_ps;
    model->states[model->state_count++] = state;
    made->state_count++;
  }
  return true;
}

static bool build_sets(struct builder *builder) {
  struct joint_model *model = builder->model;
  const struct plan_chain *chain = builder->chain;
  size_t states = 0, excesses = 0;
  for (uint32_t s = 0; s < chain->set_count; s++) {
    states += chain->sets[s].preload_count;
    excesses += (size_t)chain->sets[s].preload_count * chain->sets[s].preload_count;
  }
  model->sets = arena_alloc(builder->arena, chain->set_count * sizeof *model->sets);
  model->states = arena_alloc(builder->arena, states * sizeof *model->states);
  model->excess_ps = arena_alloc(builder->arena, excesses * sizeof *model->excess_ps);
  if (builder->arena->is_exhausted) {
    return false;
  }
  size_t excess = 0;
  for (uint32_t s = 0; s < chain->set_count; s++) {
    if (!build_set(builder, s)) {
      return false;
    }
    struct joint_set *set = &model->sets[s];
    set->first_excess = excess;
    const struct joint_state *first = &model->states[set->first_state];
    for (uint32_t a = 0; a < set->state_count; a++) {
      for (uint32_t b = 0; b < set->state_count; b++) {
        model->excess_ps[excess++] = excess_of(&chain->sets[s], first[a].preload, first[b].preload);
      }
    }
  }
  return true;
}

static int compare_needs(const void *a, const void *b) {
  uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;
  return (one > two) - (one < two);
}

/* The menu of a run: at each need where one of its steps gets faster, the sums over all of them. */
static uint32_t run_menu(struct builder *builder, const struct joint_node *node) {
  struct joint_model *model = builder->model;
  const struct plan_step *steps = &builder->chain->steps[node->first_step];
  struct joint_menu parts[RUN_STEPS_MOST];
  uint32_t picked[RUN_STEPS_MOST];
  uint32_t need_count = 0;
  for (uint32_t k = 0; k < node->step_count; k++) {
    parts[k] = model->menus[model->states[model->sets[steps[k].set].first_state].menu];
    picked[k] = 0;
    need_count += parts[k].count;
  }
  uint64_t *needs = arena_alloc(builder->arena, need_count * sizeof *needs);
  if (needs == NULL) {
    return JOINT_NONE;
  }
  uint64_t smallest = 0;
  for (uint32_t k = 0, n = 0; k < node->step_count; k++) {
    for (uint32_t j = 0; j < parts[k].count; j++) {
      needs[n++] = model->options[parts[k].first + j].need_bytes + steps[k].live_bytes;
    }
    uint64_t need = model->options[parts[k].first].need_bytes + steps[k].live_bytes;
    smallest = need > smallest ? need : smallest;
  }
  qsort(needs, need_count, sizeof *needs, compare_needs);
  uint32_t menu = begin_menu(builder);
  for (uint32_t n = 0; n < need_count && menu != JOINT_NONE; n++) {
    if (needs[n] < smallest || (n + 1 < need_count && needs[n + 1] == needs[n])) {
      continue;
    }
    struct joint_option sum = {.need_bytes = needs[n]};
    for (uint32_t k = 0; k < node->step_count; k++) {
      const struct joint_option *options = &model->options[parts[k].first];
      while (picked[k] + 1 < parts[k].count && options[picked[k] + 1].need_bytes + steps[k].live_bytes <= needs[n]) {
        picked[k]++;
      }
      sum.link_ps += options[picked[k]].link_ps;
      sum.main_ps += options[picked[k]].main_ps;
      sum.shift_ps += options[picked[k]].shift_ps;
    }
    if (!push_option(builder, &sum)) {
      return JOINT_NONE;
    }
    model->menus[menu].count++;
  }
  return menu;
}

static bool same_run(const struct plan_chain *chain, const struct joint_node *a, const struct joint_node *b) {
  if (a->step_count != b->step_count) {
    return false;
  }
  for (uint32_t k = 0; k < a->step_count; k++) {
    const struct plan_step *one = &chain->steps[a->first_step + k], *two = &chain->steps[b->first_step + k];
    if (one->set != two->set || one->live_bytes != two->live_bytes) {
      return false;
    }
  }
  return true;
}

/* Runs repeat in every layer: their menus are made once. */
static uint32_t shared_run_menu(struct builder *builder, uint32_t number) {
  struct joint_model *model = builder->model;
  const struct joint_node *node = &model->nodes[number];
  uint64_t hash = node->step_count;
  for (uint32_t k = 0; k < node->step_count; k++) {
    const struct plan_step *step = &builder->chain->steps[node->first_step + k];
    hash = (hash ^ step->set ^ step->live_bytes << 20) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  uint32_t slot = (uint32_t)hash & builder->run_mask;
  for (; builder->runs[slot] != JOINT_NONE; slot = (slot + 1) & builder->run_mask) {
    const struct joint_node *other = &model->nodes[builder->runs[slot]];
    if (same_run(builder->chain, node, other)) {
      return other->menu;
    }
  }
  builder->runs[slot] = number;
  return run_menu(builder, node);
}

static bool build_nodes(struct builder *builder) {
  struct joint_model *model = builder->model;
  const struct plan_chain *chain = builder->chain;
  builder->run_mask = 1;
  while (builder->run_mask < 2 * chain->step_count + 1) {
    builder->run_mask *= 2;
  }
  model->nodes = arena_alloc(builder->arena, chain->step_count * sizeof *model->nodes);
  model->load_nodes = arena_alloc(builder->arena, chain->step_count * sizeof *model->load_nodes);
  builder->runs = arena_alloc(builder->arena, builder->run_mask * sizeof *builder->runs);
  if (builder->arena->is_exhausted) {
    return false;
  }
  memset(builder->runs, 0xff, builder->run_mask-- * sizeof *builder->runs);
  for (uint32_t i = 0; i < chain->step_count;) {
    struct joint_node *node = &model->nodes[model->node_count];
    *node = (struct joint_node){.first_step = i, .step_count = 1, .load = JOINT_NONE, .set = chain->steps[i].set};
    if (plan_step_loads(chain, i)) {
      node->live_bytes = chain->steps[i].live_bytes;
      node->load = model->load_count;
      model->load_nodes[model->load_count++] = model->node_count;
    } else {
      uint32_t most = builder->contracts ? RUN_STEPS_MOST : 1;
      while (node->step_count < most && i + node->step_count < chain->step_count
             && !plan_step_loads(chain, i + node->step_count)) {
        node->step_count++;
      }
      node->menu = shared_run_menu(builder, model->node_count);
      if (node->menu == JOINT_NONE) {
        return false;
      }
    }
    i += node->step_count;
    model->node_count++;
  }
  return true;
}

const struct joint_option *joint_menu_pick(const struct joint_model *model, uint32_t menu, uint64_t room_bytes) {
  const struct joint_option *options = &model->options[model->menus[menu].first];
  uint32_t low = 0, high = model->menus[menu].count; /* options below `low` fit, from `high` on none */
  if (high > 0 && options[high - 1].need_bytes <= room_bytes) {
    return &options[high - 1];
  }
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (options[middle].need_bytes <= room_bytes) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? NULL : &options[low - 1];
}

/* Smallest times of one menu among what fits. */
static void note_least(const struct joint_model *model, struct joint_node *node, uint32_t menu, int64_t loading_ps) {
  const struct joint_menu *range = &model->menus[menu];
  for (uint32_t k = range->first; k < range->first + range->count; k++) {
    const struct joint_option *option = &model->options[k];
    if (option->need_bytes + node->live_bytes <= model->chain->sram_bytes) {
      int64_t duration_ps = option->link_ps + option->main_ps, link_ps = option->link_ps + option->shift_ps;
      node->least_ps = duration_ps < node->least_ps ? duration_ps : node->least_ps;
      node->least_link_ps = link_ps < node->least_link_ps ? link_ps : node->least_link_ps;
      duration_ps += loading_ps;
      node->least_turn_ps = duration_ps < node->least_turn_ps ? duration_ps : node->least_turn_ps;
    }
  }
}

static void find_least(struct joint_model *model) {
  uint64_t window_bytes = 0;
  uint32_t window = 0, first = 0;
  for (uint32_t i = 0; i < model->node_count; i++) {
    struct joint_node *node = &model->nodes[i];
    node->least_ps = node->least_link_ps = node->least_turn_ps = INT64_MAX;
    if (node->load == JOINT_NONE) {
      note_least(model, node, node->menu, 0);
      continue;
    }
    const struct joint_set *set = &model->sets[node->set];
    const struct joint_state *states = &model->states[set->first_state];
    for (uint32_t s = 0; s < set->state_count; s++) {
      note_least(model, node, states[s].menu, states[s].load_ps);
    }
    /* as many loads in a row as fit with their smallest states, and one that is being executed */
    window_bytes += states[0].cold_bytes;
    while (window_bytes > model->chain->sram_bytes) {
      window_bytes -= model->states[model->sets[model->nodes[model->load_nodes[first++]].set].first_state].cold_bytes;
    }
    window = node->load - first + 2 > window ? node->load - first + 2 : window;
  }
  model->window_limit = window < WINDOW_MOST ? window : WINDOW_MOST;
}

bool joint_model_build(struct joint_model *model, const struct plan_chain *chain, double price, bool contracts,
                       struct arena *arena) {
  *model = (struct joint_model){.chain = chain};
  struct builder builder = {.model = model, .chain = chain, .arena = arena, .price = price, .contracts = contracts};
  if (!build_sets(&builder) || !build_nodes(&builder)) {
    return false;
  }
  find_least(model);
  return true;
}
