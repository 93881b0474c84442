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

struct vector_walk {
  struct sets_search *search;
  const struct sets_vector *vector;
  uint64_t length[PLAN_AXES_MAX];
  uint64_t replicas[PLAN_ROTATED_MAX];
  struct plan_partition partition; /* temporal factors so far */
  /* of the plan in hand */
  struct sets_execute execute;
  bool execute_kept;
  uint32_t execute_index;
  size_t first_preload; /* of this vector, in search->preloads */
  uint64_t steps; /* spent on this vector */
};

/* Takes from the budgets; true when one of them is used up and there is something to stand on. */
static bool is_spent(struct vector_walk *walk, uint64_t steps) {
  struct sets_search *search = walk->search;
  walk->steps += steps;
  search->steps += steps;
  bool is_over = walk->steps > SETS_VECTOR_STEPS || search->steps > SETS_STEPS;
  bool is_cut = is_over && search->front.count > 0;
  search->is_cut = search->is_cut || is_cut;
  return is_cut;
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
  bool fits = search->model->tile(search->chip, &search->features, search->program, search->op, &execute->partition,
                                  &execute->cost);
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
    if (fill >= SETS_LEAST_FILL) {
      walk_factors(walk, axis + 1, 0, room, fill);
    }
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
  for (uint64_t factor = is_last ? room[slot] : 2; can_cut && factor <= room[slot]; factor++) {
    bool is_legal = room[slot] % factor == 0 && factor <= walk->length[axis] && factor <= UINT16_MAX;
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
  int64_t added_ps; /* to the vector's least; adds up over slots */
  int64_t alone_ps; /* as many iterations as pieces */
};
enum { MOST_CHOICES = 256 };

static void start_walk(struct vector_walk *walk, struct sets_search *search, const struct sets_vector *vector) {
  *walk = (struct vector_walk){.search = search, .vector = vector, .first_preload = search->preloads.count};
  memcpy(walk->partition.spatial, vector->spatial, sizeof walk->partition.spatial);
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    walk->replicas[s] = 1;
    for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
      walk->partition.temporal[s][a] = 1;
    }
    for (uint32_t a = 0; a < search->op->axis_count && search->slot_axes[s] != 0; a++) {
      walk->replicas[s] *= sets_has_axis(search->slot_axes[s], a) ? 1 : vector->spatial[a];
    }
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

/* Divisors of the slot's replicas, with bounds; what the front has already beaten is left out. `rest_bytes` is the least
 * that all other tensors take. */
static uint32_t list_choices(struct vector_walk *walk, uint32_t slot, uint64_t whole, uint64_t rest_bytes,
                             struct piece_choice *choices) {
  struct sets_search *search = walk->search;
  uint64_t least_cold = search->loads ? walk->vector->least_cold_bytes : 0;
  uint32_t count = 0;
  for (uint64_t pieces = 1; pieces <= walk->replicas[slot] && count < MOST_CHOICES; pieces++) {
    if (walk->replicas[slot] % pieces != 0) {
      continue;
    }
    struct piece_choice choice = {pieces, pieces == 1 ? whole : 2 * (whole / pieces), 0, 0};
    uint64_t least_bytes = sat_add_u64(rest_bytes, choice.hot_bytes);
    if (least_bytes > search->chip->sram_bytes && least_bytes >= search->smallest_hot_bytes) {
      continue;
    }
    int64_t by_turns = walk->vector->stages_ps + (int64_t)(pieces - 1) * walk->vector->turn_ps;
    if (is_dominated(search, units(search, least_cold), units(search, least_bytes),
                     later(walk->vector->least_ps, by_turns))) {
      continue; /* before the exact bound, which takes longer */
    }
    if (search->model->bound != NULL && search->slot_axes[slot] != 0) {
      struct plan_bound bound;
      search->steps += SETS_PLAN_STEPS;
      search->model->bound(search->chip, &search->features, search->program, search->op, &walk->partition, slot, pieces,
                           &bound);
      int64_t added_ps = bound.shared_ps - walk->vector->least_ps - 1; /* rounded down, so no more than it is */
      choice.added_ps = added_ps > 0 ? added_ps : 0;
      choice.alone_ps = bound.alone_ps;
    }
    if (!is_dominated(search, units(search, least_cold), units(search, least_bytes),
                      later(walk->vector->least_ps + choice.added_ps, choice.alone_ps))) {
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
  return later(walk->vector->least_ps + added_ps, later(by_x, by_y));
}

/* Goes through the numbers of pieces of all slots, and through the ways to spread them over the axes where a plan with them
 * may be new to the front. */
static void search_pieces(struct vector_walk *walk, struct piece_choice choices[PLAN_ROTATED_MAX][MOST_CHOICES],
                          const uint32_t counts[PLAN_ROTATED_MAX], uint64_t fixed_bytes, uint64_t least_second_bytes) {
  struct sets_search *search = walk->search;
  uint64_t least_cold = units(search, search->loads ? walk->vector->least_cold_bytes : 0);
  for (uint32_t k = 0; k < counts[2]; k++) {
    const struct piece_choice *out = &choices[2][k];
    for (uint32_t i = 0; i < counts[0]; i++) {
      const struct piece_choice *first = &choices[0][i];
      uint64_t bytes = fixed_bytes + out->hot_bytes + first->hot_bytes;
      int64_t added_ps = out->added_ps + first->added_ps;
      int64_t least_ps = least_of_pair(walk, 2, out, 0, first, added_ps);
      if (is_dominated(search, least_cold, units(search, bytes + least_second_bytes), least_ps)) {
        continue;
      }
      for (uint32_t j = 0; j < counts[1]; j++) {
        const struct piece_choice *second = &choices[1][j];
        int64_t with_out = least_of_pair(walk, 2, out, 1, second, added_ps + second->added_ps);
        int64_t with_first = least_of_pair(walk, 0, first, 1, second, 0);
        if (!is_dominated(search, least_cold, units(search, bytes + second->hot_bytes),
                          later(least_ps, later(with_out, with_first)))) {
          uint64_t pieces[PLAN_ROTATED_MAX] = {first->pieces, second->pieces, out->pieces};
          walk_factors(walk, 0, 0, pieces, 1);
        }
      }
    }
  }
}

static void search_vector(struct sets_search *search, const struct sets_vector *vector) {
  struct vector_walk walk;
  start_walk(&walk, search, vector);
  struct piece_choice choices[PLAN_ROTATED_MAX][MOST_CHOICES];
  uint32_t counts[PLAN_ROTATED_MAX];
  uint64_t fixed_bytes = vector->least_hot_bytes, least_bytes[PLAN_ROTATED_MAX] = {0};
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    uint64_t whole = search->slot_axes[s] != 0 ? whole_bytes(&walk, s) : 0;
    uint64_t piece = whole / walk.replicas[s];
    least_bytes[s] = 2 * piece < whole ? 2 * piece : whole;
    counts[s] = list_choices(&walk, s, whole, vector->least_hot_bytes - least_bytes[s], choices[s]);
    fixed_bytes -= least_bytes[s];
  }
  search_pieces(&walk, choices, counts, fixed_bytes, least_bytes[1]);
}

static void prepare(struct sets_search *search) {
  const struct plan_tensor *tensors = &search->program->tensors.data[search->op->tensor_first];
  search->slots = plan_slots_of(search->program, search->op);
  search->rotating = plan_rotating_axes(search->program, search->op);
  search->smallest_hot_bytes = UINT64_MAX;
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

enum status sets_search_run(struct sets_search *search) {
  prepare(search);
  enum status status = STATUS_OK;
  for (int pass = 0; pass < 2 && status == STATUS_OK; pass++) {
    status = sets_list_vectors(search, pass == 0);
    for (size_t i = 0; status == STATUS_OK && i < search->vectors.count; i++) {
      bool is_over = search->steps > SETS_STEPS && search->front.count > 0;
      search->is_cut = search->is_cut || is_over;
      if (is_over || sets_is_hopeless(search, &search->vectors.data[i])) {
        search->plans_pruned++;
        continue;
      }
      search_vector(search, &search->vectors.data[i]);
      status = search->failed ? STATUS_MEMORY : STATUS_OK;
    }
  }
  vec_release(&search->vectors); /* large, and many searches are open at once */
  return status;
}

void sets_search_release(struct sets_search *search) {
  vec_release(&search->vectors);
  vec_release(&search->executes);
  vec_release(&search->preloads);
  vec_release(&search->front);
}
