/* Label-setting search; see joint_labels.h and docs/plan-search.md.
 *
 * A label stands before its node runs. It knows when the cores are free and, of every load that is released and not yet
 * consumed, in which state it is and how much of it is left. Loads are consumed one after the other, so the time at which
 * each is complete follows. Two moves: release the next load now, in one of its states; or run the node.
 *
 * Labels are kept in pools, one per frontier. Pools of a node are worked off by ascending frontier: releasing moves a label to
 * the next pool of the same node, running to the same frontier's pool of the next node.
 */
#include "plan/joint_labels.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_speeds.h"

enum { WINDOW_MOST = 32 };

/* Steps of the path that are kept for reading it back; 8 bytes each. */
enum { HISTORY_MOST = 6 * 1000 * 1000 };

struct entry {
  int64_t left_ps; /* of the load, alone; 0 = complete */
  uint64_t cold_bytes;
  uint32_t state;
};

struct label {
  int64_t core_ps; /* cores free */
  int64_t channel_ps; /* the last released load is complete, if nothing slows it */
  int64_t bound_ps; /* no completion is shorter (in the model without contention) */
  double score; /* smaller is kept */
  uint64_t resident_bytes;
  uint32_t parent; /* in history */
  uint32_t move;
  uint32_t done; /* entries complete, from the first on */
  struct entry entries[]; /* released and not consumed, in the order of loading: pool.count */
};

/* Labels of one (node, frontier): the same loads in the same places. */
struct pool {
  uint32_t count; /* loads in the window */
  uint32_t loads[WINDOW_MOST];
  uint8_t by_step[WINDOW_MOST]; /* places in loads, by ascending step */
  uint32_t label_count;
  char *labels; /* beam x stride */
};

struct history {
  uint32_t parent;
  uint32_t move; /* MOVE_RUN | priority, or a state */
};

#define MOVE_RUN 0x80000000u

struct search {
  const struct joint_model *model;
  const struct joint_search_options *options;
  struct plan_search_stats *stats;
  uint32_t *order; /* place -> load */
  uint32_t *place; /* load -> place */
  int64_t *rest_ps; /* per node: smallest durations from it on */
  int64_t *tail_ps; /* per frontier: from the channel's being free to the end: its unreleased loads and what follows */
  /* With contention: the weighed sum of both machines' work that shares the links (plan-search.md, "Shared links"). */
  double weight; /* of link time against time on the cores */
  double *menu_ps; /* per menu: least weighed work */
  double *run_rest_ps; /* per node: of the runs from it on */
  double *load_rest_ps; /* per frontier: of its unreleased loads and their steps */
  size_t stride;
  uint32_t window; /* most loads in a window */
  uint32_t pool_count;
  struct pool *now, *next;
  uint32_t base; /* frontier of now[0] and next[0] */
  char *label_memory;
  struct label *made; /* the label being made */
  struct history *history;
  uint32_t history_count, history_capacity;
  uint64_t labels_before, comparisons;
  bool cut, stopped;
};

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static struct label *label_at(const struct search *search, const struct pool *pool, uint32_t number) {
  return (struct label *)(void *)(pool->labels + number * search->stride);
}

/* ---- bounds ---- */

/* In loading order other than step order the rest after a frontier is still a chain in step order: every unreleased load of
 * an earlier step precedes. */
static int64_t tail_of(const struct search *search, uint32_t frontier) {
  const struct joint_model *model = search->model;
  int64_t loads_ps = 0, longest_ps = 0;
  for (uint32_t l = 0; l < model->load_count; l++) {
    if (search->place[l] < frontier) {
      continue;
    }
    const uint32_t number = model->load_nodes[l];
    const struct joint_node *node = &model->nodes[number];
    longest_ps = larger(longest_ps, loads_ps + node->least_turn_ps + search->rest_ps[number + 1]);
    loads_ps += model->sets[node->set].least_load_ps;
  }
  return longest_ps;
}

/* Weighed work of running a node by one option: link time whole, the rest of its time at 1 - weight. */
static double weighed(const struct search *search, const struct joint_option *option, double weight) {
  const double main_ps = (1 - weight) * (double)option->main_ps;
  if (search->model->chain->overlaps) {
    return (double)option->link_ps + fmax(main_ps, (double)option->shift_ps);
  }
  return (double)option->link_ps + main_ps + weight * (double)option->shift_ps;
}

static double weighed_load(const struct joint_state *state, int64_t left_ps, double weight) {
  return fmin(weight, state->share) * (double)left_ps;
}

/* Fills the tables for one weight; returns the bound that they give on the whole chain. */
static double prepare_weighed(struct search *search, double weight) {
  const struct joint_model *model = search->model;
  search->weight = weight;
  for (uint32_t m = 0; m < model->menu_count; m++) {
    const struct joint_menu *menu = &model->menus[m];
    search->menu_ps[m] = HUGE_VAL;
    for (uint32_t k = menu->first; k < menu->first + menu->count; k++) {
      if (model->options[k].need_bytes <= model->chain->sram_bytes) {
        search->menu_ps[m] = fmin(search->menu_ps[m], weighed(search, &model->options[k], weight));
      }
    }
  }
  search->run_rest_ps[model->node_count] = 0;
  for (uint32_t i = model->node_count; i-- > 0;) {
    const struct joint_node *node = &model->nodes[i];
    search->run_rest_ps[i] = search->run_rest_ps[i + 1] + (node->load == JOINT_NONE ? search->menu_ps[node->menu] : 0);
  }
  search->load_rest_ps[model->load_count] = 0;
  for (uint32_t f = model->load_count; f-- > 0;) {
    const struct joint_set *set = &model->sets[model->nodes[model->load_nodes[search->order[f]]].set];
    double least_ps = HUGE_VAL;
    for (uint32_t s = set->first_state; s < set->first_state + set->state_count; s++) {
      const struct joint_state *state = &model->states[s];
      least_ps = fmin(least_ps, weighed_load(state, state->load_ps, weight) + search->menu_ps[state->menu]);
    }
    search->load_rest_ps[f] = search->load_rest_ps[f + 1] + least_ps;
  }
  return search->run_rest_ps[0] + search->load_rest_ps[0];
}

/* The weight whose bound is the largest. */
static void choose_weight(struct search *search) {
  const uint32_t parts = 16;
  double best_ps = -1, best = 0;
  for (uint32_t k = 0; k <= parts; k++) {
    const double weight = (double)k / parts;
    const double bound_ps = prepare_weighed(search, weight);
    if (bound_ps > best_ps) {
      best_ps = bound_ps;
      best = weight;
    }
  }
  prepare_weighed(search, best);
}

static void prepare_bounds(struct search *search) {
  const struct joint_model *model = search->model;
  search->rest_ps[model->node_count] = 0;
  for (uint32_t i = model->node_count; i-- > 0;) {
    search->rest_ps[i] = search->rest_ps[i + 1] + model->nodes[i].least_ps;
  }
  search->tail_ps[model->load_count] = 0;
  for (uint32_t f = model->load_count; f-- > 0;) {
    const struct joint_node *node = &model->nodes[model->load_nodes[search->order[f]]];
    if (search->options->order == NULL) { /* the next load first, then the same again */
      search->tail_ps[f] = larger(node->least_turn_ps + search->rest_ps[node - model->nodes + 1],
                                  model->sets[node->set].least_load_ps + search->tail_ps[f + 1]);
    } else {
      search->tail_ps[f] = tail_of(search, f);
    }
  }
  if (search->options->contention) {
    choose_weight(search);
  }
}

static const struct joint_option *pick(const struct search *search, const struct joint_node *node, uint32_t state,
                                       uint64_t other_bytes) {
  const uint64_t sram = search->model->chain->sram_bytes;
  if (other_bytes + node->live_bytes > sram) {
    return NULL;
  }
  uint32_t menu = node->load == JOINT_NONE ? node->menu : search->model->states[state].menu;
  return joint_menu_pick(search->model, menu, sram - other_bytes - node->live_bytes);
}

/* Runs the label ahead to the last step of its window as if nothing more were released. What is resident can only grow, so
 * the end is a lower bound on the cores' time. Returns INT64_MIN when a step does not fit: no completion exists. */
static int64_t outlook(const struct search *search, uint32_t node_number, const struct pool *pool,
                       const struct label *label) {
  const struct joint_model *model = search->model;
  int64_t ready_ps[WINDOW_MOST];
  int64_t ready = label->core_ps;
  for (uint32_t e = 0; e < pool->count; e++) {
    ready += label->entries[e].left_ps;
    ready_ps[e] = ready;
  }
  int64_t now_ps = label->core_ps;
  uint64_t resident_bytes = label->resident_bytes;
  uint32_t number = node_number;
  for (uint32_t k = 0; k < pool->count; number++) {
    const struct joint_node *node = &model->nodes[number];
    const uint32_t e = pool->by_step[k];
    const bool is_entry = node->load == pool->loads[e];
    if (is_entry) {
      resident_bytes -= label->entries[e].cold_bytes;
      now_ps = larger(now_ps, ready_ps[e]);
      k++;
    } else if (node->load != JOINT_NONE) {
      now_ps += node->least_ps; /* of a later place in the order */
      continue;
    }
    const struct joint_option *option = pick(search, node, is_entry ? label->entries[e].state : 0, resident_bytes);
    if (option == NULL) {
      return INT64_MIN;
    }
    now_ps += option->link_ps + option->main_ps;
  }
  return now_ps + search->rest_ps[number];
}

/* Sets bound and score. False when the label leads nowhere or not below the cutoff. */
static bool judge(struct search *search, uint32_t node_number, uint32_t frontier, const struct pool *pool,
                  struct label *label) {
  const int64_t cores_ps = outlook(search, node_number, pool, label);
  if (cores_ps == INT64_MIN) {
    return false;
  }
  const int64_t channel_ps = larger(label->channel_ps, label->core_ps) + search->tail_ps[frontier];
  label->bound_ps = larger(label->bound_ps, larger(cores_ps, channel_ps));
  const int64_t other_ps = cores_ps < channel_ps ? cores_ps : channel_ps;
  label->score = (double)label->bound_ps + search->options->slack_weight * (double)other_ps;
  if (search->options->contention) {
    double shared_ps = (double)label->core_ps + search->run_rest_ps[node_number] + search->load_rest_ps[frontier];
    for (uint32_t e = 0; e < pool->count; e++) {
      const struct joint_state *state = &search->model->states[label->entries[e].state];
      shared_ps += weighed_load(state, label->entries[e].left_ps, search->weight) + search->menu_ps[state->menu];
    }
    label->score += fmax(0, shared_ps - (double)label->bound_ps);
    label->bound_ps = larger(label->bound_ps, (int64_t)shared_ps);
  }
  return label->bound_ps < search->options->cutoff_ps;
}

/* ---- dominance ---- */

/* True when whatever b can still do, a can do as early, in as little memory; give or take the slack. */
static bool dominates(const struct search *search, const struct pool *pool, const struct label *a,
                      const struct label *b, int64_t slack_ps, uint64_t slack_bytes) {
  if (a->core_ps > b->core_ps + slack_ps || a->channel_ps > b->channel_ps + slack_ps
      || a->resident_bytes > b->resident_bytes + slack_bytes) {
    return false;
  }
  const struct joint_model *model = search->model;
  int64_t lag_ps[WINDOW_MOST]; /* by which a falls behind b from this step on, if both start it together */
  int64_t lag = 0;
  uint64_t bytes_a = 0, bytes_b = 0;
  for (uint32_t k = pool->count; k-- > 0;) {
    const uint32_t e = pool->by_step[k];
    bytes_a += a->entries[e].cold_bytes;
    bytes_b += b->entries[e].cold_bytes;
    if (bytes_a > bytes_b + slack_bytes) {
      return false;
    }
    if (a->entries[e].state != b->entries[e].state) {
      const struct joint_set *set = &model->sets[model->nodes[model->load_nodes[pool->loads[e]]].set];
      const size_t row = a->entries[e].state - set->first_state, column = b->entries[e].state - set->first_state;
      int64_t excess_ps = model->excess_ps[set->first_excess + row * set->state_count + column];
      if (excess_ps == PLAN_UNREACHABLE) {
        return false;
      }
      lag = excess_ps + larger(lag, 0);
    } else {
      lag = larger(lag, 0);
    }
    lag_ps[e] = lag;
  }
  if (a->core_ps + larger(lag, 0) > b->core_ps + slack_ps) {
    return false;
  }
  int64_t ready_a = a->core_ps, ready_b = b->core_ps;
  for (uint32_t e = 0; e < pool->count; e++) {
    ready_a += a->entries[e].left_ps;
    ready_b += b->entries[e].left_ps;
    if (a->entries[e].left_ps > 0 && ready_a + larger(lag_ps[e], 0) > ready_b + slack_ps) {
      return false;
    }
  }
  return true;
}

/* Label b need not be kept beside a: dominated, or alike and no better ranked. */
static bool displaces(struct search *search, const struct pool *pool, const struct label *a, const struct label *b,
                      bool is_better) {
  const int64_t slack_ps = search->options->alike_ps;
  if (!dominates(search, pool, a, b, slack_ps, search->options->alike_bytes)) {
    return false;
  }
  if (slack_ps == 0 || dominates(search, pool, a, b, 0, 0)) {
    search->stats->dominated++;
    return true;
  }
  search->cut |= is_better;
  return is_better;
}

/* Takes search->made into a pool unless one of its labels is as good; throws out those that are not as good. */
static void insert(struct search *search, struct pool *pool) {
  const struct label *made = search->made;
  const size_t size = sizeof *made + pool->count * sizeof made->entries[0];
  uint32_t worst = 0;
  double worst_score = -1;
  search->comparisons += pool->label_count;
  for (uint32_t i = 0; i < pool->label_count; i++) {
    const struct label *other = label_at(search, pool, i);
    if (displaces(search, pool, other, made, other->score <= made->score)) {
      return;
    }
    if (displaces(search, pool, made, other, made->score < other->score)) {
      memcpy(label_at(search, pool, i), label_at(search, pool, --pool->label_count), size);
      i--;
      continue;
    }
    if (other->score > worst_score) {
      worst_score = other->score;
      worst = i;
    }
  }
  uint32_t place = pool->label_count;
  if (place == search->options->beam) {
    search->cut = true;
    if (made->score >= worst_score) {
      return;
    }
    place = worst;
  } else {
    pool->label_count++;
  }
  memcpy(label_at(search, pool, place), made, size);
}

/* ---- moves ---- */

static uint32_t record(struct search *search, const struct label *label) {
  if (search->history_count == search->history_capacity) {
    uint32_t capacity = search->history_capacity * 2 + 4096;
    struct history *history =
        capacity > HISTORY_MOST ? NULL : realloc(search->history, capacity * sizeof *search->history);
    if (history == NULL) {
      search->stopped = true;
      return 0;
    }
    search->history = history;
    search->history_capacity = capacity;
  }
  search->history[search->history_count] = (struct history){label->parent, label->move};
  return search->history_count++;
}

/* The window after releasing the load at `frontier`. */
static void widen(const struct search *search, const struct pool *pool, uint32_t frontier, struct pool *wider) {
  const uint32_t load = search->order[frontier];
  wider->count = pool->count + 1;
  memcpy(wider->loads, pool->loads, sizeof pool->loads);
  memcpy(wider->by_step, pool->by_step, sizeof pool->by_step);
  wider->loads[pool->count] = load;
  uint32_t k = pool->count;
  for (; k > 0 && wider->loads[wider->by_step[k - 1]] > load; k--) {
    wider->by_step[k] = wider->by_step[k - 1];
  }
  wider->by_step[k] = (uint8_t)pool->count;
}

/* The window after the node has consumed the load at `place` of it. */
static void narrow(const struct pool *pool, uint32_t place, struct pool *narrower) {
  narrower->count = 0;
  uint32_t ranks = 0;
  for (uint32_t e = 0; e < pool->count; e++) {
    if (e != place) {
      narrower->loads[narrower->count++] = pool->loads[e];
    }
    if (pool->by_step[e] != place) {
      narrower->by_step[ranks++] = (uint8_t)(pool->by_step[e] - (pool->by_step[e] > place));
    }
  }
}

static void release_next(struct search *search, uint32_t node_number, uint32_t frontier, const struct label *label,
                         uint32_t parent) {
  const struct joint_model *model = search->model;
  const struct pool *pool = &search->now[frontier - search->base];
  struct pool *wider = &search->now[frontier + 1 - search->base];
  const struct joint_node *loading = &model->nodes[model->load_nodes[search->order[frontier]]];
  const struct joint_set *set = &model->sets[loading->set];
  struct label *made = search->made;
  for (uint32_t s = set->first_state; s < set->first_state + set->state_count; s++) {
    const struct joint_state *state = &model->states[s];
    if (label->resident_bytes + state->cold_bytes > model->chain->sram_bytes && pool->count > 0) {
      break; /* states by ascending bytes; only a step's own load may be larger than what its execution leaves */
    }
    memcpy(made, label, sizeof *label + pool->count * sizeof label->entries[0]);
    made->entries[pool->count] = (struct entry){state->load_ps, state->cold_bytes, s};
    made->channel_ps = larger(label->channel_ps, label->core_ps) + state->load_ps;
    made->resident_bytes += state->cold_bytes;
    made->parent = parent;
    made->move = s;
    search->stats->labels++;
    if (judge(search, node_number, frontier + 1, wider, made)) {
      insert(search, wider);
    }
  }
}

/* Lets a phase of the node pass: `left_ps` long alone, of which a fraction is link time. */
static void pass_phase(const struct search *search, struct label *label, uint32_t count, int64_t left_ps,
                       int64_t link_ps, bool overlaps, enum plan_priority priority) {
  const double fraction = left_ps > 0 ? (double)link_ps / (double)left_ps : 0;
  while (left_ps > 0) {
    if (label->done == count) {
      label->core_ps += left_ps;
      return;
    }
    struct entry *head = &label->entries[label->done];
    struct plan_speeds speeds = {1, 1};
    if (search->options->contention) {
      speeds = plan_speeds_of(fraction, overlaps, priority, search->model->states[head->state].share);
    }
    const double phase_ps = speeds.phase > 0 ? (double)left_ps / speeds.phase : HUGE_VAL;
    const double load_ps = speeds.load > 0 ? (double)head->left_ps / speeds.load : HUGE_VAL;
    if (phase_ps < load_ps) {
      const int64_t passed_ps = speeds.phase < 1 ? (int64_t)ceil(phase_ps) : left_ps;
      label->core_ps += passed_ps;
      int64_t loaded_ps = speeds.load < 1 ? (int64_t)((double)passed_ps * speeds.load) : passed_ps;
      head->left_ps = larger(head->left_ps - loaded_ps, 1);
      return;
    }
    const int64_t passed_ps = speeds.load < 1 ? (int64_t)ceil(load_ps) : head->left_ps;
    label->core_ps += passed_ps;
    left_ps -= speeds.phase < 1 ? (int64_t)((double)passed_ps * speeds.phase) : passed_ps;
    head->left_ps = 0;
    label->done++;
  }
}

/* The cores wait until the load at `place` of the window is complete. */
static void await(struct label *label, uint32_t place) {
  while (label->done <= place) {
    label->core_ps += label->entries[label->done].left_ps;
    label->entries[label->done++].left_ps = 0;
  }
}

static void consume(struct label *label, uint32_t count, uint32_t place) {
  label->resident_bytes -= label->entries[place].cold_bytes;
  memmove(&label->entries[place], &label->entries[place + 1], (count - place - 1) * sizeof label->entries[0]);
  label->done--;
}

/* Runs the node with one priority. Returns true when the memory channel had nothing left to do before its end. */
static bool run_node(struct search *search, uint32_t node_number, uint32_t frontier, uint32_t place,
                     const struct label *label, const struct joint_option *option, enum plan_priority priority,
                     uint32_t parent) {
  const struct pool *pool = &search->now[frontier - search->base];
  struct pool *after = &search->next[frontier - search->base];
  struct label *made = search->made;
  memcpy(made, label, sizeof *label + pool->count * sizeof label->entries[0]);
  uint32_t count = pool->count;
  if (place != JOINT_NONE) {
    await(made, place);
    consume(made, count--, place);
  }
  pass_phase(search, made, count, option->link_ps, option->link_ps, false, priority);
  pass_phase(search, made, count, option->main_ps, option->shift_ps, search->model->chain->overlaps, priority);
  made->channel_ps = made->core_ps;
  for (uint32_t e = made->done; e < count; e++) {
    made->channel_ps += made->entries[e].left_ps;
  }
  const bool is_idle = made->done == count;
  made->parent = parent;
  made->move = MOVE_RUN | (uint32_t)priority;
  search->stats->labels++;
  if (judge(search, node_number + 1, frontier, after, made)) {
    insert(search, after);
  }
  return is_idle;
}

static void expand(struct search *search, uint32_t node_number, uint32_t frontier, const struct label *label) {
  const struct joint_node *node = &search->model->nodes[node_number];
  const struct pool *pool = &search->now[frontier - search->base];
  const uint32_t parent = record(search, label);
  uint32_t place = JOINT_NONE;
  bool is_idle = true;
  if (node->load == JOINT_NONE || search->place[node->load] < frontier) {
    uint64_t other_bytes = label->resident_bytes;
    uint32_t state = 0;
    if (node->load != JOINT_NONE) {
      place = pool->by_step[0];
      other_bytes -= label->entries[place].cold_bytes;
      state = label->entries[place].state;
    }
    const struct joint_option *option = pick(search, node, state, other_bytes);
    if (option == NULL) {
      return; /* more releases would not help */
    }
    const bool is_alone = pool->count == (place != JOINT_NONE ? 1u : 0u) || option->link_ps + option->shift_ps == 0;
    is_idle = run_node(search, node_number, frontier, place, label, option, PLAN_EXCHANGE_FIRST, parent);
    /* In a run the sums hide which of its steps meets which load, and its link time is short. */
    if (search->options->contention && !is_alone && node->step_count == 1) {
      is_idle |= run_node(search, node_number, frontier, place, label, option, PLAN_PRELOAD_FIRST, parent);
    }
  }
  /* A load that would not begin before the node ends loses nothing by being released after it. */
  if (is_idle && frontier < search->model->load_count) {
    if (pool->count < search->window && frontier + 1 - search->base < search->pool_count) {
      release_next(search, node_number, frontier, label, parent);
    } else {
      search->cut = true;
    }
  }
}

/* ---- the run ---- */

/* The windows of all pools of a node, for pools of this node and of the next. */
static void lay_windows(struct search *search, uint32_t node_number) {
  const struct joint_node *node = &search->model->nodes[node_number];
  for (uint32_t p = 0; p < search->pool_count; p++) {
    const uint32_t frontier = search->base + p;
    struct pool *pool = &search->now[p], *after = &search->next[p];
    after->label_count = 0;
    if (p > 0 && frontier <= search->model->load_count && search->now[p - 1].count < search->window) {
      widen(search, &search->now[p - 1], frontier - 1, pool);
    }
    if (node->load != JOINT_NONE && search->place[node->load] < frontier) {
      narrow(pool, pool->by_step[0], after);
    } else {
      after->count = pool->count;
      memcpy(after->loads, pool->loads, sizeof pool->loads);
      memcpy(after->by_step, pool->by_step, sizeof pool->by_step);
    }
  }
}

/* Makes the next node's pools the present ones, from the first frontier that has labels. */
static bool advance(struct search *search) {
  uint32_t first = 0;
  while (first < search->pool_count && search->next[first].label_count == 0) {
    first++;
  }
  if (first == search->pool_count) {
    return false;
  }
  struct pool *pools = search->now;
  search->now = search->next;
  search->next = pools;
  for (uint32_t p = 0; first > 0 && p < search->pool_count; p++) {
    struct pool *to = &search->now[p];
    if (p + first < search->pool_count) {
      struct pool moved = *to;
      *to = search->now[p + first];
      search->now[p + first] = moved; /* its label memory stays in use */
      search->now[p + first].label_count = 0;
    }
  }
  search->base += first;
  return true;
}

static uint64_t work_of(const struct search *search) {
  return search->stats->labels - search->labels_before + search->comparisons / JOINT_COMPARISONS;
}

static bool work_through(struct search *search) {
  for (uint32_t i = 0; i < search->model->node_count; i++) {
    lay_windows(search, i);
    for (uint32_t p = 0; p < search->pool_count && search->base + p <= search->model->load_count; p++) {
      for (uint32_t n = 0; n < search->now[p].label_count; n++) {
        expand(search, i, search->base + p, label_at(search, &search->now[p], n));
      }
      search->now[p].label_count = 0;
    }
    if (work_of(search) >= search->options->budget) {
      search->stopped = true;
    }
    if (search->stopped || !advance(search)) {
      return false;
    }
  }
  return true;
}

/* Reads the path back from the best last label. */
static void read_path(const struct search *search, struct joint_path *path) {
  const struct pool *pool = &search->now[search->model->load_count - search->base];
  const struct label *best = label_at(search, pool, 0);
  for (uint32_t n = 1; n < pool->label_count; n++) {
    const struct label *label = label_at(search, pool, n);
    best = label->core_ps < best->core_ps ? label : best;
  }
  path->makespan_ps = best->core_ps;
  uint32_t node = search->model->node_count, frontier = search->model->load_count;
  struct history step = {best->parent, best->move};
  for (;;) {
    if (step.move & MOVE_RUN) {
      path->priorities[--node] = (uint8_t)(step.move & ~MOVE_RUN);
    } else if (frontier > 0) {
      const uint32_t load = search->order[--frontier];
      path->states[load] = step.move;
      path->releases[load] = node;
    }
    if (node == 0 && frontier == 0) {
      return;
    }
    step = search->history[step.parent];
  }
}

static bool allocate(struct search *search, struct arena *arena) {
  const struct joint_model *model = search->model;
  search->window = model->window_limit < WINDOW_MOST ? model->window_limit : WINDOW_MOST;
  search->pool_count = search->window + 1;
  search->stride = sizeof(struct label) + search->window * sizeof(struct entry);
  search->order = arena_alloc(arena, (model->load_count + 1) * sizeof *search->order);
  search->place = arena_alloc(arena, (model->load_count + 1) * sizeof *search->place);
  search->rest_ps = arena_alloc(arena, (model->node_count + 1) * sizeof *search->rest_ps);
  search->menu_ps = arena_alloc(arena, (model->menu_count + 1) * sizeof *search->menu_ps);
  search->run_rest_ps = arena_alloc(arena, (model->node_count + 1) * sizeof *search->run_rest_ps);
  search->tail_ps = arena_alloc(arena, (model->load_count + 1) * sizeof *search->tail_ps);
  search->load_rest_ps = arena_alloc(arena, (model->load_count + 1) * sizeof *search->load_rest_ps);
  search->now = arena_calloc(arena, search->pool_count, sizeof *search->now);
  search->next = arena_calloc(arena, search->pool_count, sizeof *search->next);
  search->made = arena_alloc(arena, search->stride);
  const size_t labels_size = search->options->beam * search->stride;
  search->label_memory = arena_alloc(arena, 2 * search->pool_count * labels_size);
  if (arena->is_exhausted) {
    return false;
  }
  for (uint32_t p = 0; p < search->pool_count; p++) {
    search->now[p].labels = search->label_memory + 2 * p * labels_size;
    search->next[p].labels = search->label_memory + (2 * p + 1) * labels_size;
  }
  for (uint32_t l = 0; l < model->load_count; l++) {
    search->order[l] = search->options->order != NULL ? search->options->order[l] : l;
    search->place[search->order[l]] = l;
  }
  return true;
}

enum joint_outcome joint_labels_run(const struct joint_model *model, const struct joint_search_options *options,
                                    struct joint_path *path, struct plan_search_stats *stats, bool *cut) {
  assert(options->beam > 0 && model->node_count > 0);
  struct search search = {.model = model, .options = options, .stats = stats, .labels_before = stats->labels};
  struct arena arena;
  arena_init(&arena, 0);
  enum joint_outcome outcome = JOINT_STOPPED;
  if (allocate(&search, &arena)) {
    prepare_bounds(&search);
    struct label *root = label_at(&search, &search.now[0], 0);
    *root = (struct label){.move = MOVE_RUN};
    search.now[0].label_count = 1;
    bool ended = work_through(&search);
    if (ended && !search.stopped) {
      read_path(&search, path);
    }
    outcome = search.stopped ? JOINT_STOPPED : ended ? JOINT_FOUND : JOINT_NOTHING;
  }
  *cut = search.cut || search.stopped;
  path->work = work_of(&search);
  free(search.history);
  arena_release(&arena);
  return outcome;
}
