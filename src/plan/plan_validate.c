/* The index-set validator (plan_validate.h). */
#include "plan/plan_validate.h"

#include <string.h>

#include "base/checked.h"

_Static_assert(PLAN_AXES_MAX == CORE_AXES_MAX && PLAN_TENSORS_MAX == CORE_TENSORS_MAX, "one grid holds any operator");

static bool fault_set(struct core_fault *fault, enum core_fault_kind kind, uint32_t tensor, uint32_t axis,
                      uint64_t have, uint64_t want) {
  *fault = (struct core_fault){
      .kind = (uint8_t)kind, .tensor = (uint8_t)tensor, .axis = (uint8_t)axis, .have = have, .want = want};
  return false;
}

void plan_partition_grid(const struct plan_program *program, const struct plan_operator *op,
                         const struct plan_partition *partition, struct core_grid *grid) {
  const struct plan_tensor *tensors = &program->tensors.data[op->tensor_first];
  struct plan_slots slots = plan_slots_of(program, op);
  memset(grid, 0, sizeof *grid);
  grid->axis_count = op->axis_count;
  grid->tensor_count = op->tensor_count;
  for (uint32_t a = 0; a < CORE_AXES_MAX; a++) {
    grid->extents[a] = a < op->axis_count ? op->extents[a] : 1;
    grid->spatial[a] = a < op->axis_count ? partition->spatial[a] : 1;
  }
  for (uint32_t t = 0; t < op->tensor_count; t++) {
    struct core_cut *cut = &grid->tensors[t];
    cut->axes = tensors[t].axes;
    for (uint32_t a = 0; a < CORE_AXES_MAX; a++) {
      cut->pieces[a] = 1;
      for (uint32_t s = 0; s < PLAN_ROTATED_MAX && a < op->axis_count; s++) {
        cut->pieces[a] = slots.tensor[s] == t ? partition->temporal[s][a] : cut->pieces[a];
      }
    }
  }
}

/* Factors that plan_partition_grid had no place for. */
static bool check_factors(const struct plan_program *program, const struct plan_operator *op,
                          const struct plan_partition *partition, struct core_fault *fault) {
  struct plan_slots slots = plan_slots_of(program, op);
  for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
    bool is_axis = a < op->axis_count;
    if (!is_axis && partition->spatial[a] > 1) {
      return fault_set(fault, CORE_FAULT_BEYOND, 0, a, partition->spatial[a], op->axis_count);
    }
    for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
      if (partition->temporal[s][a] > 1 && !(is_axis && slots.tensor[s] < op->tensor_count)) {
        return fault_set(fault, CORE_FAULT_NOT_CUT, s, a, partition->temporal[s][a], 1);
      }
    }
  }
  return true;
}

/* ---- replay of one axis ---- */

struct replay {
  const struct core_grid *grid;
  const struct core_rings *rings;
  uint32_t axis;
  uint32_t coordinates[CORE_AXES_MAX]; /* of the representative */
  uint32_t parts[CORE_LOOPS_MAX]; /* that the loops of the axis visit */
};

/* The next combination of parts, the finest loop fastest; false after the last. */
static bool next_parts(struct replay *replay) {
  for (uint32_t l = replay->rings->loop_count; l-- > 0;) {
    const struct core_loop *loop = &replay->rings->loops[l];
    if (loop->axis == replay->axis) {
      if (++replay->parts[l] < loop->radix) {
        return true;
      }
      replay->parts[l] = 0;
    }
  }
  return false;
}

/* In one iteration: what the core multiplies lies in what it holds of each tensor, which fits in its buffer. */
static bool check_held(const struct replay *replay, const uint32_t *counts, uint64_t low, uint64_t high,
                       struct core_fault *fault) {
  const struct core_grid *grid = replay->grid;
  uint32_t axis = replay->axis;
  uint64_t length = ceil_div_u64(grid->extents[axis], grid->spatial[axis]);
  for (uint32_t t = 0; t < grid->tensor_count; t++) {
    if ((grid->tensors[t].axes >> axis & 1) == 0) {
      continue;
    }
    uint64_t from, to, room = ceil_div_u64(length, grid->tensors[t].pieces[axis]);
    core_rings_range(grid, replay->rings, replay->coordinates, counts, t, axis, &from, &to);
    if (low < high && (low < from || high > to)) {
      return fault_set(fault, CORE_FAULT_NESTED, t, axis, low < from ? low : to, 0);
    }
    if (to - from > room) {
      return fault_set(fault, CORE_FAULT_SIZE, t, axis, to - from, room);
    }
  }
  return true;
}

/* All iterations of one core along one axis: the finest parts follow each other from the first index to the last. */
static bool replay_core(struct replay *replay, struct core_fault *fault) {
  const struct core_grid *grid = replay->grid;
  uint32_t axis = replay->axis;
  uint64_t extent = grid->extents[axis], length = ceil_div_u64(extent, grid->spatial[axis]);
  uint64_t reached = replay->coordinates[axis] * length;
  reached = reached < extent ? reached : extent;
  uint64_t end = reached + length < extent ? reached + length : extent;
  memset(replay->parts, 0, sizeof replay->parts);
  do {
    uint32_t counts[CORE_LOOPS_MAX] = {0};
    for (uint32_t l = 0; l < replay->rings->loop_count; l++) {
      uint32_t radix = replay->rings->loops[l].radix;
      counts[l] = (replay->parts[l] + radix - core_rings_offset(replay->rings, l, replay->coordinates)) % radix;
    }
    uint64_t low, high;
    core_rings_range(grid, replay->rings, replay->coordinates, counts, CORE_TENSORS_MAX, axis, &low, &high);
    if (low != reached) {
      return fault_set(fault, CORE_FAULT_COVER, 0, axis, reached, low);
    }
    if (!check_held(replay, counts, low, high, fault)) {
      return false;
    }
    reached = high;
  } while (next_parts(replay));
  return reached == end || fault_set(fault, CORE_FAULT_COVER, 0, axis, reached, end);
}

static bool replay_axis(const struct core_grid *grid, const struct core_rings *rings, uint32_t axis,
                        struct core_fault *fault) {
  uint64_t length = ceil_div_u64(grid->extents[axis], grid->spatial[axis]);
  uint32_t with_indices = (uint32_t)ceil_div_u64(grid->extents[axis], length);
  const uint32_t representatives[] = {0, with_indices - 1, with_indices};
  for (uint32_t r = 0; r < 3; r++) {
    struct replay replay = {.grid = grid, .rings = rings, .axis = axis};
    replay.coordinates[axis] = representatives[r];
    bool is_new = r == 0 || representatives[r] != representatives[r - 1];
    if (is_new && representatives[r] < grid->spatial[axis] && !replay_core(&replay, fault)) {
      return false;
    }
  }
  return true;
}

/* ---- stages and the output ---- */

/* Iterations run over all stages: a sum must be complete in each of them when a later stage sums up what it made of it.
 * Products that sum over the same axes add up side by side. */
static bool check_stages(const struct plan_program *program, const struct plan_operator *op,
                         const struct core_grid *grid, struct core_fault *fault) {
  const struct plan_stage *stages = &program->stages.data[op->stage_first];
  uint32_t last = op->stage_count;
  while (last > 0 && stages[last - 1].reduced == 0) {
    last--;
  }
  for (uint32_t s = 0; s + 1 < last; s++) {
    bool side_by_side = stages[s].kind == PLAN_STAGE_MATRIX && stages[last - 1].kind == PLAN_STAGE_MATRIX
                        && stages[s].reduced == stages[last - 1].reduced;
    for (uint32_t a = 0; a < op->axis_count && !side_by_side; a++) {
      uint32_t parts = core_grid_finest(grid, a);
      if ((stages[s].reduced >> a & 1) != 0 && parts > 1) {
        return fault_set(fault, CORE_FAULT_UNFINISHED, 0, a, parts, s);
      }
    }
  }
  return true;
}

/* Along an axis that the output lacks, cores and iterations make terms of the same elements: somebody must sum them. */
static bool check_output(const struct plan_program *program, const struct plan_operator *op,
                         const struct core_grid *grid, struct core_fault *fault) {
  plan_axis_mask reduced = 0;
  for (uint32_t s = 0; s < op->stage_count; s++) {
    reduced |= program->stages.data[op->stage_first + s].reduced;
  }
  uint32_t output = op->tensor_count - 1u;
  for (uint32_t a = 0; a < op->axis_count; a++) {
    uint64_t terms = (uint64_t)grid->spatial[a] * core_grid_finest(grid, a);
    bool is_summed = ((grid->tensors[output].axes | reduced) >> a & 1) != 0;
    if (terms > 1 && !is_summed) {
      return fault_set(fault, CORE_FAULT_TWICE, output, a, terms, 1);
    }
  }
  return true;
}

bool plan_validate(const struct plan_program *program, const struct plan_operator *op,
                   const struct plan_partition *partition, uint32_t cores, struct core_rings *rings,
                   struct core_fault *fault) {
  struct core_rings own;
  struct core_grid grid;
  rings = rings != NULL ? rings : &own;
  plan_partition_grid(program, op, partition, &grid);
  if (!check_factors(program, op, partition, fault) || !core_rings_build(&grid, rings, fault)) {
    return false;
  }
  uint64_t used = core_grid_cores(&grid);
  if (used > cores) {
    return fault_set(fault, CORE_FAULT_CORES, 0, 0, used, cores);
  }
  for (uint32_t a = 0; a < op->axis_count; a++) {
    if (!replay_axis(&grid, rings, a, fault)) {
      return false;
    }
  }
  return check_stages(program, op, &grid, fault) && check_output(program, op, &grid, fault);
}

/* The two states of one tensor as two tensors on the same axes: pieces nest, and the rings of the finer state hold them all. */
static bool check_states(const struct core_grid *hot, const struct core_grid *cold, uint32_t tensor,
                         struct core_fault *fault) {
  struct core_grid both = *hot;
  struct core_rings rings;
  both.tensor_count = 2;
  both.tensors[0] = hot->tensors[tensor];
  both.tensors[1] = cold->tensors[tensor];
  for (uint32_t a = 0; a < hot->axis_count; a++) {
    uint32_t fine = both.tensors[1].pieces[a], coarse = both.tensors[0].pieces[a];
    if (fine % coarse != 0) {
      return fault_set(fault, CORE_FAULT_COARSE, tensor, a, fine, coarse);
    }
  }
  if (!core_rings_build(&both, &rings, fault)) {
    fault->tensor = (uint8_t)tensor;
    return false;
  }
  for (uint32_t a = 0; a < hot->axis_count; a++) {
    if (!replay_axis(&both, &rings, a, fault)) {
      fault->tensor = (uint8_t)tensor;
      return false;
    }
  }
  return true;
}

bool plan_validate_preload(const struct plan_program *program, const struct plan_operator *op,
                           const struct plan_partition *cold, const struct plan_partition *hot,
                           struct core_fault *fault) {
  const struct plan_tensor *tensors = &program->tensors.data[op->tensor_first];
  struct core_grid hot_grid, cold_grid;
  plan_partition_grid(program, op, hot, &hot_grid);
  plan_partition_grid(program, op, cold, &cold_grid);
  for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
    if (cold->spatial[a] != hot->spatial[a]) {
      return fault_set(fault, CORE_FAULT_GRID, 0, a, cold->spatial[a], hot->spatial[a]);
    }
  }
  for (uint32_t t = 0; t + 1u < op->tensor_count; t++) {
    if (tensors[t].source == PLAN_SOURCE_MEMORY && !check_states(&hot_grid, &cold_grid, t, fault)) {
      return false;
    }
  }
  return check_factors(program, op, cold, fault);
}
