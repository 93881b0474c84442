/* Policy "joint": operator plans, preload states, preload depth and load order decided together by a label-setting search.
 * docs/plan-search.md describes the method; this file is its course:
 *
 *   one step at a time ─► what the rules of the other policies find ─► search in step order, wider and wider (with contention
 *   per link price and ranking) ─► priorities ─► moves of whole sorts of steps ─► load orders near step order ─► wider still
 *
 * Everything made is timed by plan_timeline_run and the best stands. What is done next never depends on how much budget is
 * left, only on whether any is: a larger budget sees all that a smaller one saw.
 */
#include <stddef.h>
#include <string.h>

#include "plan/joint_expand.h"
#include "plan/joint_moves.h"
#include "plan/plan_policy.h"

enum {
  CONTRACT_FROM_STEPS = 64, /* shorter chains are searched step by step */
  ORDER_REACH = 4, /* places that a load may move at a time */
  HEAVY_PART = 20, /* a load of less than this part of its repetition's stays where it is */
  STEPS_PER_LABEL = 5, /* timing a schedule is worth step_count / this many labels */
  RULE_LABELS = 8, /* as many labels of a rule cost as much as one here */
  RULE_LABELS_MOST = 5 * 1000 * 1000, /* of one rule */
  PARTS_MOST = 16 /* stretches of the chain that moves are tried in */
};

/* In labels; long chains get what a few narrow runs take. */
static const uint64_t default_budget = 4400 * 1000, default_budget_per_step = 200;

static const double prices[] = {0, 0.5}; /* of link time */
enum { PRICE_COUNT = sizeof prices / sizeof prices[0] };

/* One run of the label search. Labels are alike when they differ by less than a share of the mean node's time and of the
 * SRAM. */
struct attempt {
  uint32_t beam;
  double alike; /* 1 = coarse_time and coarse_bytes; 0 = exact dominance */
  uint8_t price; /* in prices */
  double slack_weight; /* in the ranking of labels */
};
static const double coarse_time = 1.0 / 8, coarse_bytes = 1.0 / 128;

/* Slack of the machine that is not the longer one: a tie-break, or as important. Beams ranked differently keep labels that
 * differ in kind. */
#define TIE 0.125
#define EVEN 1.0

/* From quick to thorough. A run with exact dominance that dropped nothing ends the list. */
static const struct attempt free_attempts[] = {{1, 0, 0, TIE},  {4, 1, 0, TIE},  {16, 1, 0, TIE},
                                               {24, 0, 0, TIE}, {96, 0, 0, TIE}, {384, 0, 0, TIE}};
static const struct attempt contended_attempts[] = {{1, 0, 0, TIE},    {4, 1, 0, TIE},   {16, 1, 0, TIE},
                                                    {16, 1, 1, TIE},   {16, 1, 0, EVEN}, {64, 3, 0, EVEN},
                                                    {24, 0.3, 0, TIE}, {64, 0, 0, TIE},  {384, 0, 0, TIE}};
enum {
  FREE_COUNT = sizeof free_attempts / sizeof free_attempts[0],
  CONTENDED_COUNT = sizeof contended_attempts / sizeof contended_attempts[0],
  /* In step order; then moves and orders are tried, and the rest follows with the best order. */
  QUICK_FREE = 4,
  QUICK_CONTENDED = 5
};
static const struct attempt order_attempt = {2, 1, 0, TIE};

/* The order of loads is worth a search from this gap to the bound on. */
static const double order_gap = 0.001;

struct joint {
  const struct plan_chain *chain;
  const struct plan_policy_options *options;
  struct plan_policy_result *result; /* the best so far */
  int64_t bound_ps;
  uint64_t budget; /* left, in labels */
  struct arena scratch;
  struct joint_model models[PRICE_COUNT]; /* made when first needed */
  struct joint_path path;
  struct plan_schedule draft;
  struct plan_timeline trial;
  uint64_t *used;
  bool is_complete;
};

static bool is_done(const struct joint *joint) {
  return joint->budget == 0 || joint->result->timeline.makespan_ps <= joint->bound_ps;
}

static void spend(struct joint *joint, uint64_t labels) {
  joint->budget -= labels < joint->budget ? labels : joint->budget;
}

/* Times the draft, and keeps it when it is better than all before. */
static bool offer(struct joint *joint) {
  struct plan_policy_result *result = joint->result;
  plan_timeline_run(joint->chain, &joint->draft, joint->options->contention, &joint->trial);
  bool is_first = result->stats.schedules++ == 0;
  spend(joint, 1 + joint->chain->step_count / STEPS_PER_LABEL);
  if (!is_first && joint->trial.makespan_ps >= result->timeline.makespan_ps) {
    return false;
  }
  struct plan_interval *steps = result->timeline.steps;
  result->timeline = joint->trial;
  joint->trial.steps = steps;
  memcpy(result->schedule.decisions, joint->draft.decisions, joint->chain->step_count * sizeof *joint->draft.decisions);
  memcpy(result->schedule.order, joint->draft.order, joint->draft.load_count * sizeof *joint->draft.order);
  result->schedule.load_count = joint->draft.load_count;
  return true;
}

static void draft_best(struct joint *joint) {
  const struct plan_schedule *best = &joint->result->schedule;
  memcpy(joint->draft.decisions, best->decisions, joint->chain->step_count * sizeof *best->decisions);
  memcpy(joint->draft.order, best->order, best->load_count * sizeof *best->order);
  joint->draft.load_count = best->load_count;
}

/* Every load released before its own step only: fits whenever anything does. */
static void offer_one_at_a_time(struct joint *joint) {
  const struct plan_chain *chain = joint->chain;
  joint->draft.load_count = 0;
  for (uint32_t i = 0; i < chain->step_count; i++) {
    const struct plan_choice_set *set = &chain->sets[chain->steps[i].set];
    int64_t best_ps = INT64_MAX;
    for (uint32_t p = 0; p < set->preload_count; p++) {
      const struct plan_preload *preload = &set->preloads[p];
      const int64_t load_ps = preload->memory_ps > preload->link_ps ? preload->memory_ps : preload->link_ps;
      for (uint32_t x = 0; x < set->execute_count; x++) {
        const int64_t duration_ps = plan_step_duration(chain, i, p, x);
        if (duration_ps != PLAN_UNREACHABLE && duration_ps + load_ps < best_ps
            && set->executes[x].hot_bytes + chain->steps[i].live_bytes <= chain->sram_bytes) {
          best_ps = duration_ps + load_ps;
          joint->draft.decisions[i] =
              (struct plan_decision){.execute = (uint16_t)x, .preload = (uint16_t)p, .release = i};
        }
      }
    }
    if (plan_step_loads(chain, i)) {
      joint->draft.order[joint->draft.load_count++] = i;
    }
  }
  offer(joint);
}

static void offer_schedule(struct joint *joint, const struct plan_schedule *start) {
  memcpy(joint->draft.decisions, start->decisions, joint->chain->step_count * sizeof *start->decisions);
  memcpy(joint->draft.order, start->order, start->load_count * sizeof *start->order);
  joint->draft.load_count = start->load_count;
  offer(joint);
}

static void offer_start(struct joint *joint) {
  const struct plan_schedule *start = joint->options->start;
  const char *reason;
  if (start == NULL || plan_schedule_check(joint->chain, start, &reason) != UINT32_MAX) {
    return;
  }
  offer_schedule(joint, start);
}

/* What the other policies find on the same chain. They are quick; only full may have more orders to try than it may here. */
static void offer_rules(struct joint *joint) {
  static const struct plan_policy *const rules[] = {&plan_policy_basic, &plan_policy_static, &plan_policy_dyn,
                                                    &plan_policy_full};
  for (size_t k = 0; k < sizeof rules / sizeof rules[0] && !is_done(joint); k++) {
    struct arena arena;
    arena_init(&arena, 0);
    struct plan_policy_options options = {.contention = joint->options->contention};
    options.budget = joint->budget < RULE_LABELS_MOST / RULE_LABELS ? joint->budget * RULE_LABELS : RULE_LABELS_MOST;
    struct plan_policy_result found;
    uint32_t step;
    const bool reorders = rules[k] == &plan_policy_full;
    if ((!reorders || joint->options->reorder)
        && rules[k]->run(joint->chain, &options, &arena, &found, &step) == STATUS_OK) {
      spend(joint, found.stats.labels / RULE_LABELS
                       + found.stats.schedules * (1 + joint->chain->step_count / STEPS_PER_LABEL));
      offer_schedule(joint, &found.schedule);
    }
    arena_release(&arena);
  }
}

static struct joint_model *model_of(struct joint *joint, uint32_t price) {
  struct joint_model *model = &joint->models[price];
  if (model->chain == NULL
      && !joint_model_build(model, joint->chain, prices[price], joint->chain->step_count > CONTRACT_FROM_STEPS,
                            &joint->scratch)) {
    return NULL;
  }
  return model;
}

/* One label-setting run; what it finds is offered as found and with loads released earlier. True for a new best. */
static bool search(struct joint *joint, const struct attempt *attempt, const uint32_t *order, bool *cut) {
  struct joint_model *model = model_of(joint, attempt->price);
  *cut = true;
  if (model == NULL || joint->budget == 0) {
    return false;
  }
  struct plan_search_stats *stats = &joint->result->stats;
  const double node_ps = (double)joint->bound_ps / model->node_count;
  const struct joint_search_options options = {
      .order = order,
      .contention = joint->options->contention,
      .beam = attempt->beam,
      .slack_weight = attempt->slack_weight,
      .alike_ps = (int64_t)(attempt->alike * coarse_time * node_ps),
      .alike_bytes = (uint64_t)(attempt->alike * coarse_bytes * (double)joint->chain->sram_bytes),
      .cutoff_ps = joint->result->timeline.makespan_ps,
      .budget = joint->budget};
  enum joint_outcome outcome = joint_labels_run(model, &options, &joint->path, stats, cut);
  spend(joint, joint->path.work);
  if (outcome != JOINT_FOUND) {
    return false;
  }
  joint_expand(model, &joint->path, order, prices[attempt->price], &joint->draft);
  bool is_better = offer(joint);
  joint_pull_releases(joint->chain, &joint->draft, joint->used);
  return offer(joint) || is_better;
}

/* Attempts first .. end - 1, with one order (NULL: step order). */
static void search_wider(struct joint *joint, size_t first, size_t end, const uint32_t *order) {
  const struct attempt *attempts = joint->options->contention ? contended_attempts : free_attempts;
  for (size_t k = first; k < end && !is_done(joint) && !joint->is_complete; k++) {
    bool cut;
    search(joint, &attempts[k], order, &cut);
    joint->is_complete = !cut && attempts[k].alike <= 0;
  }
}

/* ---- priorities ---- */

static bool offer_priorities(struct joint *joint, uint32_t first, uint32_t end, uint8_t priority) {
  draft_best(joint);
  bool changes = false;
  for (uint32_t i = first; i < end; i++) {
    changes |= joint->draft.decisions[i].priority != priority;
    joint->draft.decisions[i].priority = priority;
  }
  return changes && offer(joint);
}

/* Halves of halves of the chain get one priority as a whole, down to single steps in short chains. */
static void improve_priorities(struct joint *joint) {
  const uint32_t count = joint->chain->step_count;
  for (uint32_t length = count; length > 0 && length >= count / 32 && !is_done(joint); length /= 2) {
    for (uint32_t first = 0; first < count && !is_done(joint); first += length) {
      const uint32_t end = first + length < count ? first + length : count;
      offer_priorities(joint, first, end, PLAN_EXCHANGE_FIRST);
      offer_priorities(joint, first, end, PLAN_PRELOAD_FIRST);
    }
  }
}

/* ---- moves ---- */

/* Makes a move on the best schedule as often as it helps. */
static bool offer_move(struct joint *joint, const struct joint_move *move) {
  for (bool is_better = false;; is_better = true) {
    draft_best(joint);
    if (!joint_move_make(joint->chain, move, &joint->draft, joint->used)) {
      spend(joint, 1 + joint->chain->step_count / (4 * STEPS_PER_LABEL));
      return is_better;
    }
    if (!offer(joint)) {
      return is_better;
    }
  }
}

/* All moves of one sort of step within a stretch of the chain. */
static bool improve_set(struct joint *joint, uint32_t set, uint32_t first, uint32_t end) {
  static const int32_t strides[] = {1, -1, 2, -2, 3, -3, 4, -4};
  const bool has_states = joint->chain->sets[set].preload_count > 1;
  struct joint_move move = {.set = set, .first = first, .end = end};
  bool is_better = false;
  for (size_t k = 0; k < sizeof strides / sizeof strides[0] && !is_done(joint); k++) {
    move.by = strides[k];
    move.kind = JOINT_MOVE_EXECUTE;
    is_better |= joint->chain->sets[set].execute_count > 1 && offer_move(joint, &move);
    move.kind = JOINT_MOVE_PRELOAD;
    is_better |= has_states && offer_move(joint, &move);
    move.kind = JOINT_MOVE_LOAD;
    is_better |=
        joint->options->reorder && joint->chain->sets[set].preloads[0].memory_ps > 0 && offer_move(joint, &move);
  }
  move.kind = JOINT_MOVE_PRIORITY;
  return (joint->options->contention && !is_done(joint) && offer_move(joint, &move)) || is_better;
}

/* The whole chain as long as that helps, then halves, quarters, and so on once each. */
static void improve_by_moves(struct joint *joint) {
  const uint64_t count = joint->chain->step_count;
  bool is_better = false;
  for (uint32_t parts = 1; parts <= PARTS_MOST && parts <= count && !is_done(joint);
       parts *= parts > 1 || !is_better ? 2 : 1) {
    is_better = false;
    for (uint32_t part = 0; part < parts; part++) {
      const uint32_t first = (uint32_t)(count * part / parts), end = (uint32_t)(count * (part + 1) / parts);
      for (uint32_t s = 0; s < joint->chain->set_count && !is_done(joint); s++) {
        is_better |= improve_set(joint, s, first, end);
      }
    }
  }
}

/* ---- load orders ---- */

/* Loads of one repetition: places first .. first + count - 1 of step order. */
struct span {
  uint32_t first, count;
};

static const struct plan_step *loading_step(const struct joint_model *model, uint32_t load) {
  return &model->chain->steps[model->nodes[model->load_nodes[load]].first_step];
}

static struct span span_at(const struct joint_model *model, uint32_t first) {
  struct span span = {first, 1};
  const uint32_t layer = loading_step(model, first)->layer;
  while (first + span.count < model->load_count && loading_step(model, first + span.count)->layer == layer) {
    span.count++;
  }
  return span;
}

static bool is_alike(const struct joint_model *model, struct span a, struct span b) {
  for (uint32_t k = 0; k < a.count; k++) {
    if (a.count != b.count || loading_step(model, a.first + k)->set != loading_step(model, b.first + k)->set) {
      return false;
    }
  }
  return true;
}

/* Moves the load at `from` of every repetition like `pattern` to place `to`. */
static void move_loads(const struct joint_model *model, struct span pattern, uint32_t from, uint32_t to,
                       const uint32_t *order, uint32_t *moved) {
  memcpy(moved, order, model->load_count * sizeof *order);
  struct span span;
  for (uint32_t first = 0; first < model->load_count; first += span.count) {
    span = span_at(model, first);
    if (!is_alike(model, pattern, span)) {
      continue;
    }
    const uint32_t load = moved[first + from];
    for (uint32_t k = from; k < to; k++) {
      moved[first + k] = moved[first + k + 1];
    }
    for (uint32_t k = from; k > to; k--) {
      moved[first + k] = moved[first + k - 1];
    }
    moved[first + to] = load;
  }
}

/* The repetition in the middle: heads and tails are special. */
static struct span middle_span(const struct joint_model *model) {
  uint32_t first = model->load_count / 2;
  while (first > 0 && loading_step(model, first - 1)->layer == loading_step(model, first)->layer) {
    first--;
  }
  return span_at(model, first);
}

/* Short loads are not worth an insertion of their own. */
static bool is_heavy(const struct joint_model *model, struct span span, uint32_t load) {
  int64_t sum_ps = 0;
  for (uint32_t k = 0; k < span.count; k++) {
    sum_ps += model->sets[loading_step(model, span.first + k)->set].least_load_ps;
  }
  return model->sets[loading_step(model, load)->set].least_load_ps > sum_ps / HEAVY_PART;
}

/* One load of the pattern is tried at all places within reach. True when one was better; `order` is then that. */
static bool insert_elsewhere(struct joint *joint, const struct joint_model *model, struct span pattern, uint32_t from,
                             uint32_t *order, uint32_t *moved) {
  const uint32_t low = from > ORDER_REACH ? from - ORDER_REACH : 0;
  for (uint32_t to = low; to < pattern.count && to <= from + ORDER_REACH && !is_done(joint); to++) {
    /* the load whose place is taken is the last one passed; one place up is that load's move down */
    if (to == from || to + 1 == from || !is_heavy(model, pattern, order[pattern.first + to])) {
      continue;
    }
    bool cut;
    move_loads(model, pattern, from, to, order, moved);
    if (search(joint, &order_attempt, moved, &cut)) {
      memcpy(order, moved, model->load_count * sizeof *order);
      return true;
    }
  }
  return false;
}

/* Insertions within a repetition, the same in all that are alike, as long as one helps. Returns the best order, or NULL for
 * step order. */
static const uint32_t *search_orders(struct joint *joint) {
  const struct joint_model *model = model_of(joint, 0);
  if (model == NULL || model->load_count < 2) {
    return NULL;
  }
  uint32_t *order = arena_alloc(&joint->scratch, model->load_count * sizeof *order);
  uint32_t *moved = arena_alloc(&joint->scratch, model->load_count * sizeof *moved);
  if (order == NULL || moved == NULL) {
    return NULL;
  }
  for (uint32_t l = 0; l < model->load_count; l++) {
    order[l] = l;
  }
  const struct span pattern = middle_span(model);
  bool is_better = true, is_changed = false;
  while (is_better && !is_done(joint)) {
    is_better = false;
    for (uint32_t from = 0; from < pattern.count && !is_done(joint); from++) {
      if (is_heavy(model, pattern, order[pattern.first + from])) {
        is_better |= insert_elsewhere(joint, model, pattern, from, order, moved);
      }
    }
    is_changed |= is_better;
  }
  return is_changed ? order : NULL;
}

static bool allocate(struct joint *joint, struct arena *arena) {
  const uint32_t count = joint->chain->step_count;
  struct plan_policy_result *result = joint->result;
  result->schedule.decisions = arena_calloc(arena, count, sizeof *result->schedule.decisions);
  result->schedule.order = arena_calloc(arena, count, sizeof *result->schedule.order);
  result->timeline.steps = arena_calloc(arena, count, sizeof *result->timeline.steps);
  joint->trial.steps = arena_calloc(arena, count, sizeof *joint->trial.steps); /* trades places with the result's */
  joint->draft.decisions = arena_calloc(&joint->scratch, count, sizeof *joint->draft.decisions);
  joint->draft.order = arena_calloc(&joint->scratch, count, sizeof *joint->draft.order);
  joint->path.states = arena_calloc(&joint->scratch, count, sizeof *joint->path.states);
  joint->path.releases = arena_calloc(&joint->scratch, count, sizeof *joint->path.releases);
  joint->path.priorities = arena_calloc(&joint->scratch, count, sizeof *joint->path.priorities);
  joint->used = arena_calloc(&joint->scratch, count, sizeof *joint->used);
  return !arena->is_exhausted && !joint->scratch.is_exhausted;
}

static enum status plan(struct joint *joint) {
  const bool contention = joint->options->contention;
  offer_one_at_a_time(joint);
  offer_start(joint);
  offer_rules(joint);
  search_wider(joint, 0, contention ? QUICK_CONTENDED : QUICK_FREE, NULL);
  if (contention) {
    improve_priorities(joint);
  }
  if (!joint->is_complete) {
    improve_by_moves(joint);
  }
  const double gap_ps = (double)(joint->result->timeline.makespan_ps - joint->bound_ps);
  const uint32_t *order = NULL;
  bool in_order = true;
  if (joint->options->reorder && gap_ps > order_gap * (double)joint->bound_ps) {
    order = search_orders(joint);
    in_order = false;
  }
  search_wider(joint, contention ? QUICK_CONTENDED : QUICK_FREE, contention ? CONTENDED_COUNT : FREE_COUNT, order);
  const bool is_bound = joint->result->timeline.makespan_ps <= joint->bound_ps;
  joint->result->stats.complete = is_bound || (joint->is_complete && in_order && !contention);
  return joint->scratch.is_exhausted ? STATUS_MEMORY : STATUS_OK;
}

static enum status run(const struct plan_chain *chain, const struct plan_policy_options *options, struct arena *arena,
                       struct plan_policy_result *result, uint32_t *step) {
  *result = (struct plan_policy_result){0};
  if (plan_chain_smallest_sram(chain, step) > chain->sram_bytes) {
    return STATUS_INPUT;
  }
  struct joint joint = {.chain = chain, .options = options, .result = result};
  struct plan_bounds bounds;
  plan_bounds_of(chain, &bounds);
  joint.bound_ps = bounds.chain_ps;
  if (!options->contention) { /* which is what chain_ps counts, among others */
    const int64_t sram_ps = plan_sram_bound_of(chain, false);
    joint.bound_ps = sram_ps > bounds.flow_shop_ps ? sram_ps : bounds.flow_shop_ps;
  }
  const uint64_t scaled = chain->step_count * default_budget_per_step;
  joint.budget = scaled > default_budget ? scaled : default_budget;
  if (options->budget != 0) {
    joint.budget = options->budget;
  }
  arena_init(&joint.scratch, 0);
  enum status status = allocate(&joint, arena) ? plan(&joint) : STATUS_MEMORY;
  arena_release(&joint.scratch);
  return status;
}

const struct plan_policy plan_policy_joint = {
    .name = "joint",
    .summary = "label setting over step and preload frontier, with preload states and ready times",
    .run = run,
};
