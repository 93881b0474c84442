/* All plans on the spatial vectors of an operator, and the front of (cold bytes, hot bytes, duration) among them.
 *
 * A vector is left out when a pair of the front is at least as good as the least it could cost; so is a temporal choice
 * before its preload states are tried. What is left out is never better than the front in all three, so the front is that of
 * the whole space. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "plan/plan_sets_int.h"

static uint64_t units(const struct sets_search *search, uint64_t bytes) {
  return ceil_div_u64(bytes, search->unit_bytes);
}

/* True when some pair of the front is as good in all three, or SETS_MUCH_FASTER and hardly larger; pairs ascend in duration. */
static bool is_dominated(const struct sets_search *search, uint64_t cold_units, uint64_t hot_units, int64_t duration) {
  int64_t much_faster = duration / SETS_MUCH_FASTER;
  for (size_t i = 0; i < search->front.count; i++) {
    const struct sets_pair *pair = &search->front.data[i];
    if (pair->duration_ps > duration) {
      return false;
    }
    uint64_t room = pair->duration_ps <= much_faster ? SETS_HARDLY_LARGER : 0;
    if (pair->cold_units <= cold_units + room && pair->hot_units <= hot_units + room) {
      return true;
    }
  }
  return false;
}

/* Puts a pair that nothing dominates in its place and takes out what it dominates. */
static bool add_pair(struct sets_search *search, const struct sets_pair *pair) {
  size_t kept = 0, place = 0;
  for (size_t i = 0; i < search->front.count; i++) {
    struct sets_pair other = search->front.data[i];
    if (other.duration_ps >= pair->duration_ps && other.cold_units >= pair->cold_units
        && other.hot_units >= pair->hot_units) {
      continue;
    }
    place += other.duration_ps <= pair->duration_ps;
    search->front.data[kept++] = other;
  }
  search->front.count = kept;
  if (!vec_push(&search->front, *pair)) {
    return false;
  }
  memmove(&search->front.data[place + 1], &search->front.data[place], (kept - place) * sizeof *pair);
  search->front.data[place] = *pair;
  return true;
}

/* ---- one spatial vector ---- */

/* Of numbers up to 10^6 there are no more than 240. */
enum { MOST_DIVISORS = 256 };
struct divisors {
  uint32_t count, values[MOST_DIVISORS]; /* ascending */
};

struct vector_walk {
  struct sets_search *search;
  const struct sets_vector *vector;
  uint64_t length[PLAN_AXES_MAX];
  uint64_t replicas[PLAN_ROTATED_MAX];
  struct divisors divisors[PLAN_ROTATED_MAX]; /* of the replicas */
  struct plan_partition partition; /* temporal factors so far */
  uint16_t turns[PLAN_AXES_MAX]; /* iterations along each axis, 1 where nothing is chosen */
  uint64_t least_units; /* of hot bytes, of the pieces in hand */
  /* of the plan in hand */
  struct sets_execute execute;
  bool execute_kept;
  uint32_t execute_index;
  size_t first_preload; /* of this vector, in search->preloads */
  uint64_t steps, most_steps; /* spent on this vector, and its share of the budget */
  bool is_cut; /* something was left out */
};

/* Takes from the budgets; true when one of them is used up and there is something to stand on. */
static bool is_spent(struct vector_walk *walk, uint64_t steps) {
  struct sets_search *search = walk->search;
  walk->steps += steps;
  search->steps += steps;
  bool is_over = (walk->steps > walk->most_steps || search->steps > search->most_steps) && search->front.count > 0;
  walk->is_cut = walk->is_cut || is_over;
  return is_over;
}

static bool keep_execute(struct vector_walk *walk) {
  if (!walk->execute_kept) {
    walk->execute_index = (uint32_t)walk->search->executes.count;
    walk->execute_kept = vec_push(&walk->search->executes, walk->execute);
  }
  return walk->execute_kept;
}

/* Index of the state among those of this vector, added when new; UINT32_MAX when memory is exhausted. */
static uint32_t keep_preload(struct vector_walk *walk, const struct plan_partition *cold) {
  struct sets_search *search = walk->search;
  if (!search->loads && search->preloads.count > 0) {
    return 0; /* nothing waits: one state for all */
  }
  for (size_t i = search->preloads.count; i-- > walk->first_preload;) {
    if (memcmp(search->preloads.data[i].temporal, cold->temporal, sizeof cold->temporal) == 0) {
      return (uint32_t)i;
    }
  }
  return vec_push(&search->preloads, *cold) ? (uint32_t)(search->preloads.count - 1) : UINT32_MAX;
}

static void try_state(struct vector_walk *walk, const struct plan_partition *cold) {
  struct sets_search *search = walk->search;
  struct plan_preload load = {0};
  int64_t distribute = 0;
  if (search->loads) {
    search->model->load(search->chip, search->program, search->op, cold, &load);
    distribute =
        search->model->distribute_ps(search->chip, search->program, search->op, cold, &walk->execute.partition);
  }
  if (distribute < 0) {
    return;
  }
  struct sets_pair pair = {.cold_units = units(search, load.cold_bytes),
                           .hot_units = units(search, walk->execute.cost.hot_bytes),
                           .duration_ps = walk->execute.duration_ps + distribute};
  if (is_dominated(search, pair.cold_units, pair.hot_units, pair.duration_ps)) {
    return;
  }
  pair.preload = keep_preload(walk, cold);
  if (!keep_execute(walk) || pair.preload == UINT32_MAX) {
    search->failed = true;
    return;
  }
  pair.execute = walk->execute_index;
  search->failed = !add_pair(search, &pair);
}

/* Cuts the inputs from memory finer than the plan in hand, in all ways, and tries each as its preload state. */
static void walk_states(struct vector_walk *walk, struct plan_partition *cold, uint32_t slot, uint32_t axis,
                        uint64_t room) {
  struct sets_search *search = walk->search;
  if (search->failed || is_spent(walk, 1)) {
    return;
  }
  while (slot < PLAN_ROTATED_MAX && (axis == search->op->axis_count || !search->slot_loads[slot])) {
    slot++;
    axis = 0;
    room = 0; /* of a new slot: set below */
  }
  if (slot == PLAN_ROTATED_MAX) {
    try_state(walk, cold);
    return;
  }
  if (axis == 0) {
    room = walk->replicas[slot];
    for (uint32_t a = 0; a < search->op->axis_count; a++) {
      room /= cold->temporal[slot][a];
    }
  }
  uint16_t held = cold->temporal[slot][axis];
  walk_states(walk, cold, slot, axis + 1, room);
  if (!sets_has_axis(search->slot_axes[slot], axis)) {
    return;
  }
  for (uint64_t finer = 2; finer <= room && finer * held <= walk->length[axis] && finer * held <= UINT16_MAX; finer++) {
    if (room % finer == 0 && sets_fill(walk->length[axis], finer * held) >= SETS_LEAST_FILL) {
      cold->temporal[slot][axis] = (uint16_t)(finer * held);
      walk_states(walk, cold, slot, axis + 1, room / finer);
    }
  }
  cold->temporal[slot][axis] = held;
}

/* All temporal factors are chosen: prices the plan and tries its preload states. */
static void take_plan(struct vector_walk *walk) {
  struct sets_search *search = walk->search;
  struct sets_execute *execute = &walk->execute;
  execute->partition = walk->partition;
  search->plans_seen++;
  (void)is_spent(walk, SETS_PLAN_STEPS);
  bool fits = search->model->price(search->opened, &execute->partition, &execute->cost);
  if (execute->cost.hot_bytes < search->smallest_hot_bytes) {
    search->smallest_hot_bytes = execute->cost.hot_bytes;
  }
  if (!fits) {
    return;
  }
  const struct plan_tile_cost *cost = &execute->cost;
  int64_t body = cost->compute_ps + cost->shift_ps;
  if (search->overlaps) {
    body = cost->compute_ps > cost->shift_ps ? cost->compute_ps : cost->shift_ps;
  }
  execute->duration_ps = body + cost->serial_ps;
  walk->execute_kept = false;
  uint64_t least_cold = search->loads ? walk->vector->least_cold_bytes : 0;
  if (is_dominated(search, units(search, least_cold), units(search, cost->hot_bytes), execute->duration_ps)) {
    return;
  }
  struct plan_partition cold = walk->partition;
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    for (uint32_t a = 0; a < PLAN_AXES_MAX && !search->slot_loads[s]; a++) {
      cold.temporal[s][a] = 1;
    }
  }
  walk_states(walk, &cold, 0, 0, 0);
}

static bool divides(uint64_t a, uint64_t b) {
  return a % b == 0 || b % a == 0;
}

/* Least duration with these turns, or more along later axes. */
static int64_t least_of_turns(struct vector_walk *walk) {
  struct sets_search *search = walk->search;
  uint64_t hash = 0;
  for (uint32_t a = 0; a < search->op->axis_count && a < PLAN_AXES_MAX; a++) {
    hash = (hash + walk->turns[a]) * 0x9e3779b97f4a7c15u;
  }
  struct sets_known *known = &search->known[hash >> (64 - SETS_KNOWN_BITS)];
  if (known->vector != search->walks || memcmp(known->turns, walk->turns, sizeof known->turns) != 0) {
    (void)is_spent(walk, SETS_BOUND_STEPS);
    memcpy(known->turns, walk->turns, sizeof known->turns);
    known->vector = search->walks;
    known->least_ps = search->model->bound_turns(search->bounds, walk->turns);
  }
  return known->least_ps;
}

static bool are_turns_hopeless(struct vector_walk *walk) {
  const struct sets_search *search = walk->search;
  if (search->model->bound_turns == NULL) {
    return false;
  }
  uint64_t least_cold = units(search, search->loads ? walk->vector->least_cold_bytes : 0);
  return is_dominated(search, least_cold, walk->least_units, least_of_turns(walk));
}

/* Chooses the factor of `slot` on `axis`, then those of the other slots, then those of the other axes. `room` holds what is
 * left of each slot's pieces, all of which must be used; `fill` is the padding share so far, without this axis. */
static void walk_factors(struct vector_walk *walk, uint32_t axis, uint32_t slot, const uint64_t *room, double fill) {
  struct sets_search *search = walk->search;
  if (search->failed || is_spent(walk, 1)) {
    return;
  }
  uint16_t(*temporal)[PLAN_AXES_MAX] = walk->partition.temporal;
  if (slot == PLAN_ROTATED_MAX) {
    uint64_t most = 1;
    for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
      most = temporal[s][axis] > most ? temporal[s][axis] : most;
    }
    fill *= most > 1 ? sets_fill(walk->length[axis], most) : 1;
    walk->turns[axis] = (uint16_t)most;
    if (fill >= SETS_LEAST_FILL && (most == 1 || !are_turns_hopeless(walk))) {
      walk_factors(walk, axis + 1, 0, room, fill);
    }
    walk->turns[axis] = 1;
    return;
  }
  if (axis == search->op->axis_count) {
    if (room[0] == 1 && room[1] == 1 && room[2] == 1) {
      take_plan(walk);
    }
    return;
  }
  plan_axis_mask own = (plan_axis_mask)(search->slot_axes[slot] & search->rotating);
  bool can_cut = sets_has_axis(own, axis) && room[slot] > 1;
  bool is_last = ((unsigned)own >> axis) <= 1U; /* what is left has to be used here */
  temporal[slot][axis] = 1;
  if (room[slot] == 1 || !is_last) {
    walk_factors(walk, axis, slot + 1, room, fill);
  }
  uint64_t rest[PLAN_ROTATED_MAX] = {room[0], room[1], room[2]};
  const struct divisors *divisors = &walk->divisors[slot];
  uint64_t most = walk->length[axis] < UINT16_MAX ? walk->length[axis] : UINT16_MAX;
  most = room[slot] < most ? room[slot] : most;
  for (uint32_t d = 1; can_cut && d < divisors->count && divisors->values[d] <= most; d++) {
    uint32_t factor = divisors->values[d];
    bool is_legal = is_last ? factor == room[slot] : (uint32_t)room[slot] % factor == 0;
    for (uint32_t s = 0; s < slot && is_legal; s++) {
      is_legal = divides(factor, temporal[s][axis]);
    }
    if (is_legal) {
      rest[slot] = room[slot] / factor;
      temporal[slot][axis] = (uint16_t)factor;
      walk_factors(walk, axis, slot + 1, rest, fill);
    }
  }
  temporal[slot][axis] = 1;
}

/* One number of pieces of a slot: what it takes at least. */
struct piece_choice {
  uint64_t pieces, hot_bytes;
  int64_t added_ps, link_ps; /* to the vector's shared_ps and exchange_ps; they add up over slots */
  int64_t alone_ps; /* as many iterations as pieces */
};
static void list_divisors(uint32_t number, struct divisors *divisors) {
  uint32_t large[MOST_DIVISORS], count = 0;
  divisors->count = 0;
  for (uint32_t d = 1; d <= number / d && divisors->count + count + 2 <= MOST_DIVISORS; d++) {
    if (number % d == 0) {
      divisors->values[divisors->count++] = d;
      if (d != number / d) {
        large[count++] = number / d;
      }
    }
  }
  while (count > 0) {
    divisors->values[divisors->count++] = large[--count];
  }
}

static void start_walk(struct vector_walk *walk, struct sets_search *search, const struct sets_vector *vector,
                       uint64_t most_steps) {
  walk->search = search;
  walk->vector = vector;
  walk->first_preload = search->preloads.count;
  walk->steps = 0;
  walk->most_steps = most_steps;
  walk->is_cut = walk->execute_kept = false;
  memcpy(walk->partition.spatial, vector->spatial, sizeof walk->partition.spatial);
  for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
    walk->turns[a] = 1;
  }
  search->walks++;
  search->steps += SETS_VECTOR_STEPS;
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    walk->replicas[s] = 1;
    for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
      walk->partition.temporal[s][a] = 1;
    }
    for (uint32_t a = 0; a < search->op->axis_count && search->slot_axes[s] != 0; a++) {
      walk->replicas[s] *= sets_has_axis(search->slot_axes[s], a) ? 1 : vector->spatial[a];
    }
    list_divisors((uint32_t)walk->replicas[s], &walk->divisors[s]); /* no more than cores */
  }
  for (uint32_t a = 0; a < search->op->axis_count; a++) {
    walk->length[a] = ceil_div_u64(search->op->extents[a], vector->spatial[a]);
  }
}

static uint64_t whole_bytes(const struct vector_walk *walk, uint32_t slot) {
  const struct sets_search *search = walk->search;
  const struct plan_tensor *tensors = &search->program->tensors.data[search->op->tensor_first];
  uint64_t elements = 1;
  for (uint32_t a = 0; a < search->op->axis_count; a++) {
    elements = sat_mul_u64(elements, sets_has_axis(search->slot_axes[slot], a) ? walk->length[a] : 1);
  }
  return ceil_div_u64(sat_mul_u64(elements, tensors[search->slots.tensor[slot]].element_bits), 8);
}

static int64_t later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Fills the bounds of a choice; the least it takes beside the best choices of the other slots. */
static int64_t bound_choice(struct vector_walk *walk, uint32_t slot, bool is_exact, struct piece_choice *choice) {
  const struct sets_vector *vector = walk->vector;
  struct plan_bound bound;
  walk->search->steps += SETS_BOUND_STEPS;
  walk->search->model->bound_pieces(walk->search->bounds, slot, choice->pieces, is_exact, &bound);
  /* rounded down, so no more than it is */
  choice->added_ps = later(0, bound.shared_ps - vector->shared_ps - 1);
  choice->link_ps = later(0, bound.exchange_ps - vector->exchange_ps - 1);
  choice->alone_ps = bound.alone_ps;
  return later(later(vector->shared_ps + choice->added_ps, choice->alone_ps), vector->exchange_ps + choice->link_ps);
}

/* Divisors of the slot's replicas, with bounds; what the front has already beaten is left out. `rest_bytes` is the least
 * that all other tensors take. */
static uint32_t list_choices(struct vector_walk *walk, uint32_t slot, uint64_t whole, uint64_t rest_bytes,
                             struct piece_choice *choices) {
  struct sets_search *search = walk->search;
  uint64_t least_cold = search->loads ? walk->vector->least_cold_bytes : 0;
  uint32_t count = 0;
  for (uint32_t d = 0; d < walk->divisors[slot].count; d++) {
    uint64_t pieces = walk->divisors[slot].values[d];
    struct piece_choice choice = {.pieces = pieces, .hot_bytes = pieces == 1 ? whole : 2 * (whole / pieces)};
    uint64_t least_bytes = sat_add_u64(rest_bytes, choice.hot_bytes);
    if (least_bytes > search->chip->sram_bytes && least_bytes >= search->smallest_hot_bytes) {
      continue;
    }
    int64_t by_turns = walk->vector->stages_ps + (int64_t)(pieces - 1) * walk->vector->turn_ps;
    if (is_dominated(search, units(search, least_cold), units(search, least_bytes),
                     later(walk->vector->least_ps, by_turns))) {
      continue; /* before the exact bound, which takes longer */
    }
    bool is_new = true, has_bound = search->model->bound_vector != NULL && search->slot_axes[slot] != 0;
    for (int is_exact = 0; is_exact < 2 && is_new && has_bound; is_exact++) {
      int64_t least_ps = bound_choice(walk, slot, is_exact != 0, &choice);
      is_new = !is_dominated(search, units(search, least_cold), units(search, least_bytes), least_ps);
    }
    if (is_new) {
      choices[count++] = choice;
    }
  }
  return count;
}

/* Fewest iterations with these pieces of two slots: they share loops on common axes alone, no longer than those are. */
static uint64_t least_turns(const struct vector_walk *walk, uint32_t a, uint64_t pieces_a, uint32_t b,
                            uint64_t pieces_b) {
  plan_axis_mask common = (plan_axis_mask)(walk->search->slot_axes[a] & walk->search->slot_axes[b]);
  uint64_t shared = pieces_a < pieces_b ? pieces_a : pieces_b, length = 1;
  for (; common != 0; common &= (plan_axis_mask)(common - 1)) {
    length = sat_mul_u64(length, walk->length[__builtin_ctz(common)]);
  }
  shared = length < shared ? length : shared;
  return pieces_a * pieces_b / shared;
}

/* Least duration with both choices; `added_ps` is what all choices so far add. */
static int64_t least_of_pair(const struct vector_walk *walk, uint32_t a, const struct piece_choice *x, uint32_t b,
                             const struct piece_choice *y, int64_t added_ps) {
  int64_t turns = (int64_t)least_turns(walk, a, x->pieces, b, y->pieces), turn_ps = walk->vector->turn_ps;
  int64_t by_x = x->alone_ps + (turns - (int64_t)x->pieces) * turn_ps;
  int64_t by_y = y->alone_ps + (turns - (int64_t)y->pieces) * turn_ps;
  return later(walk->vector->shared_ps + added_ps, later(by_x, by_y));
}

/* Lists the numbers of pieces of all slots with which a plan may be new to the front. */
static bool list_combinations(struct vector_walk *walk, struct piece_choice choices[PLAN_ROTATED_MAX][MOST_DIVISORS],
                              const uint32_t counts[PLAN_ROTATED_MAX], uint64_t fixed_bytes,
                              uint64_t least_second_bytes) {
  struct sets_search *search = walk->search;
  uint64_t least_cold = units(search, search->loads ? walk->vector->least_cold_bytes : 0);
  vec_clear(&search->combinations);
  for (uint32_t k = 0; k < counts[2]; k++) {
    const struct piece_choice *out = &choices[2][k];
    for (uint32_t i = 0; i < counts[0]; i++) {
      const struct piece_choice *first = &choices[0][i];
      uint64_t bytes = fixed_bytes + out->hot_bytes + first->hot_bytes;
      int64_t added_ps = out->added_ps + first->added_ps;
      int64_t link_ps = walk->vector->exchange_ps + out->link_ps + first->link_ps;
      int64_t least_ps = later(link_ps, least_of_pair(walk, 2, out, 0, first, added_ps));
      if (is_dominated(search, least_cold, units(search, bytes + least_second_bytes), least_ps)) {
        continue;
      }
      for (uint32_t j = 0; j < counts[1]; j++) {
        const struct piece_choice *second = &choices[1][j];
        int64_t with_out = least_of_pair(walk, 2, out, 1, second, added_ps + second->added_ps);
        int64_t with_first = least_of_pair(walk, 0, first, 1, second, 0);
        int64_t least_of_two = later(least_ps, link_ps + second->link_ps);
        struct sets_combination combination = {.least_ps = later(least_of_two, later(with_out, with_first)),
                                               .least_units = units(search, bytes + second->hot_bytes),
                                               .pieces = {first->pieces, second->pieces, out->pieces}};
        if (!is_dominated(search, least_cold, combination.least_units, combination.least_ps)
            && !vec_push(&search->combinations, combination)) {
          return false;
        }
      }
    }
  }
  return true;
}

static int compare_combinations(const void *a, const void *b) {
  const struct sets_combination *x = a, *y = b;
  if (x->least_ps != y->least_ps) {
    return x->least_ps < y->least_ps ? -1 : 1;
  }
  if (x->least_units != y->least_units) {
    return x->least_units < y->least_units ? -1 : 1;
  }
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    if (x->pieces[s] != y->pieces[s]) {
      return x->pieces[s] < y->pieces[s] ? -1 : 1;
    }
  }
  return 0;
}

/* Goes through the combinations from promising to hopeless, and through the ways to spread each over the axes. */
static void search_combinations(struct vector_walk *walk) {
  struct sets_search *search = walk->search;
  uint64_t least_cold = units(search, search->loads ? walk->vector->least_cold_bytes : 0);
  if (search->combinations.count > 1) {
    qsort(search->combinations.data, search->combinations.count, sizeof *search->combinations.data,
          compare_combinations);
  }
  for (size_t i = 0; i < search->combinations.count && !search->failed; i++) {
    const struct sets_combination *next = &search->combinations.data[i];
    if (is_dominated(search, least_cold, next->least_units, next->least_ps)) {
      continue;
    }
    if (is_spent(walk, 1)) {
      return;
    }
    walk->least_units = next->least_units;
    walk_factors(walk, 0, 0, next->pieces, 1);
  }
}

static void search_vector(struct sets_search *search, struct sets_vector *vector, uint64_t most_steps) {
  struct vector_walk walk;
  start_walk(&walk, search, vector, most_steps);
  if (search->model->bound_vector != NULL) { /* again, for the bounds of pieces */
    struct plan_bound bound;
    search->model->bound_vector(search->opened, &walk.partition, true, search->bounds, &bound);
  }
  struct piece_choice choices[PLAN_ROTATED_MAX][MOST_DIVISORS];
  uint32_t counts[PLAN_ROTATED_MAX];
  uint64_t fixed_bytes = vector->least_hot_bytes, least_bytes[PLAN_ROTATED_MAX] = {0};
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    uint64_t whole = search->slot_axes[s] != 0 ? whole_bytes(&walk, s) : 0;
    uint64_t piece = whole / walk.replicas[s];
    least_bytes[s] = 2 * piece < whole ? 2 * piece : whole;
    counts[s] = list_choices(&walk, s, whole, vector->least_hot_bytes - least_bytes[s], choices[s]);
    fixed_bytes -= least_bytes[s];
  }
  search->failed = search->failed || !list_combinations(&walk, choices, counts, fixed_bytes, least_bytes[1]);
  search_combinations(&walk);
  vector->is_cut = walk.is_cut;
}

static bool is_large(const struct plan_operator *op) {
  uint32_t long_axes = 0;
  for (uint32_t a = 0; a < op->axis_count; a++) {
    long_axes += op->extents[a] >= SETS_LONG_AXIS;
  }
  return op->axis_count > 3 || (op->axis_count == 3 && long_axes == 3);
}

static void prepare(struct sets_search *search) {
  const struct plan_tensor *tensors = &search->program->tensors.data[search->op->tensor_first];
  search->slots = plan_slots_of(search->program, search->op);
  search->rotating = plan_rotating_axes(search->program, search->op);
  search->smallest_hot_bytes = UINT64_MAX;
  search->most_steps = is_large(search->op) ? SETS_STEPS_LARGE : SETS_STEPS;
  search->unit_bytes = search->chip->sram_bytes / 256 > 0 ? search->chip->sram_bytes / 256 : 1;
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    uint8_t t = search->slots.tensor[s];
    search->slot_axes[s] = t == UINT8_MAX ? 0 : tensors[t].axes;
    search->slot_loads[s] = t != UINT8_MAX && !tensors[t].is_output && tensors[t].source == PLAN_SOURCE_MEMORY;
  }
  for (uint32_t t = 0; t < search->op->tensor_count; t++) {
    search->loads = search->loads || (!tensors[t].is_output && tensors[t].source == PLAN_SOURCE_MEMORY);
  }
}

bool sets_is_hopeless(const struct sets_search *search, const struct sets_vector *vector) {
  if (vector->least_hot_bytes > search->chip->sram_bytes) { /* wanted only to say what would do, when nothing fits */
    return search->front.count > 0 || vector->least_hot_bytes >= search->smallest_hot_bytes;
  }
  uint64_t least_cold = search->loads ? vector->least_cold_bytes : 0;
  return is_dominated(search, units(search, least_cold), units(search, vector->least_hot_bytes), vector->least_ps);
}

static void limit_by_rules(struct sets_search *search) {
  struct plan_space space = {.axis_count = search->op->axis_count, .cores = search->chip->cores};
  memcpy(space.extents, search->op->extents, sizeof space.extents);
  plan_rules_least(&space, &plan_rules_legal, &search->least_cores, &search->least_fill);
}

/* First divisors alone, then all vectors, with little for each so that none takes what others need; in the end more for
 * those that it was too little for, beside a front that is good by then. */
enum { LAST_PASS = 2, PASS_COUNT };
static const uint64_t pass_steps[PASS_COUNT] = {1000, 3000, 1000000};

/* True when the budget has left out plans that may be new to the front. */
static bool search_pass(struct sets_search *search, int pass) {
  bool is_cut = false;
  for (size_t i = 0; i < search->vectors.count && !search->failed; i++) {
    struct sets_vector *vector = &search->vectors.data[i];
    if (pass == LAST_PASS && !vector->is_cut) {
      continue;
    }
    if (sets_is_hopeless(search, vector)) {
      search->plans_pruned++;
      vector->is_cut = false;
    } else if (search->steps > search->most_steps && search->front.count > 0) {
      search->plans_pruned++;
      vector->is_cut = true;
    } else {
      search_vector(search, vector, pass_steps[pass]);
    }
    is_cut = is_cut || vector->is_cut;
  }
  return is_cut;
}

static enum status search_all(struct sets_search *search) {
  for (int pass = 0; pass < PASS_COUNT && !search->failed; pass++) {
    if (pass < LAST_PASS) {
      STATUS_TRY(sets_list_vectors(search, pass == 0));
    }
    search->is_cut = search_pass(search, pass);
  }
  return search->failed ? STATUS_MEMORY : STATUS_OK;
}

static bool open_model(struct sets_search *search) {
  search->opened = calloc(1, search->model->opened_bytes + 1); /* + 1: a model may need none */
  search->bounds = calloc(1, search->model->vector_bytes + 1);
  search->known = calloc((size_t)1 << SETS_KNOWN_BITS, sizeof *search->known);
  if (search->opened == NULL || search->bounds == NULL || search->known == NULL) {
    return false;
  }
  search->model->open(search->chip, &search->features, search->program, search->op, search->opened);
  return true;
}

enum status sets_search_run(struct sets_search *search) {
  prepare(search);
  if (!open_model(search)) {
    return STATUS_MEMORY;
  }
  if (!search->features.idle_cores) {
    limit_by_rules(search);
  }
  enum status status = search_all(search);
  if (status == STATUS_OK && search->front.count == 0
      && search->least_cores > 0) { /* the rules leave this one no plan */
    search->least_cores = search->least_fill = 0;
    status = search_all(search);
  }
  free(search->known);
  search->known = NULL;
  vec_release(&search->vectors); /* large, and many searches are open at once */
  vec_release(&search->combinations);
  return status;
}

void sets_search_release(struct sets_search *search) {
  vec_release(&search->vectors);
  vec_release(&search->combinations);
  vec_release(&search->executes);
  vec_release(&search->preloads);
  vec_release(&search->front);
  free(search->opened);
  free(search->bounds);
  free(search->known);
}
