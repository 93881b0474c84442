/* Rings: reduce-scatter, all-gather and all-reduce (Patarasuk and Yuan, JPDC 69, 2009), and chains of chunks for broadcast
 * and reduce. */
#include "base/checked.h"
#include "cluster/schedule.h"

static struct collective_step *phase_step(struct collective_schedule *schedule, const struct schedule_phase *phase,
                                          enum collective_pattern pattern, bool is_first) {
  bool has_others = is_first && phase->after_count > 0;
  struct collective_step *step = schedule_step(schedule, pattern, has_others ? phase->after : phase->lane, phase->lane);
  step->waits_count = has_others ? phase->after_count : 1;
  step->waits_for_all = has_others;
  step->block = phase->axis.block;
  step->stride = phase->axis.stride;
  step->reduces = phase->is_reduce_scatter;
  return step;
}

/* One step of a line: which ranks still have something to pass on. `age` is how far the parts have come; a
 * reduce-scatter is the all-gather backwards. */
static void line_step(struct collective_schedule *schedule, const struct schedule_phase *phase, uint32_t age,
                      bool is_first, uint64_t bytes) {
  bool is_back = phase->is_reduce_scatter;
  uint32_t block = phase->axis.block, stride = phase->axis.stride;
  (void)phase_step(schedule, phase, COLLECTIVE_LIST, is_first);
  for (uint32_t rank = 0; rank < schedule->ranks; rank++) {
    uint32_t x = rank / stride % block, up = rank + stride, down = rank - stride;
    if (x >= age && x + 1 < block) {
      schedule_message(schedule, is_back ? up : rank, is_back ? rank : up, bytes);
    }
    if (x > 0 && x + age + 1 <= block) {
      schedule_message(schedule, is_back ? down : rank, is_back ? rank : down, bytes);
    }
  }
}

void schedule_ring_phase(struct collective_schedule *schedule, const struct schedule_phase *phase) {
  const struct schedule_axis *axis = &phase->axis;
  uint64_t part = ceil_div_u64(phase->bytes, axis->block);
  uint32_t steps = axis->block - 1;
  if (axis->is_ring && !axis->is_closed) {
    for (uint32_t i = 0; i < steps; i++) {
      line_step(schedule, phase, phase->is_reduce_scatter ? steps - 1 - i : i, i == 0, part);
    }
    return;
  }
  if (axis->is_mesh) {
    (void)phase_step(schedule, phase, COLLECTIVE_ROTATION, true);
    for (uint32_t k = 1; k < axis->block; k++) {
      schedule_message(schedule, 0, k, part);
    }
    return;
  }
  uint32_t to = phase->lane % 2 == 0 ? 1 : axis->block - 1;
  (void)phase_step(schedule, phase, COLLECTIVE_ROTATION, true);
  schedule_message(schedule, 0, to, part);
  if (steps > 1) {
    phase_step(schedule, phase, COLLECTIVE_ROTATION, false)->repeats = steps - 1;
    schedule_message(schedule, 0, to, part);
  }
}

/* The rank behind `rank` in ring `lane` over units of `inner` ranks: it goes through ranks lane, lane + 1, ... of a unit and
 * then to rank `lane` of the next unit. So each ring leaves units at another rank, and all network cards work. */
static uint32_t next_in_ring(const struct collective_schedule *schedule, uint32_t inner, uint32_t lane, uint32_t rank) {
  uint32_t unit = rank / inner, at = rank % inner, units = schedule->ranks / inner;
  bool is_last = at == (lane + inner - 1) % inner;
  return is_last ? (unit + 1) % units * inner + lane : unit * inner + (at + 1) % inner;
}

/* Rank 0 is the root of a broadcast and the end of a reduce; chunks follow each other along the rings from there. A closed
 * ring of neighbour links is gone through both ways. */
static void chain(struct collective_schedule *schedule, const struct collective_request *request, uint32_t inner,
                  bool is_two_way) {
  bool is_reduce = request->kind == WORK_COLLECTIVE_REDUCE;
  uint32_t ranks = schedule->ranks, last = ranks - 1, lanes = is_two_way ? 2 : inner;
  uint32_t chunks = schedule_chunks(schedule, request, 2 * last, lanes);
  uint64_t bytes = schedule_part(request, (uint64_t)chunks * lanes);
  for (uint32_t lane = 0; lane < lanes; lane++) {
    size_t first = schedule->steps.count;
    bool is_down = is_two_way && lane == 1;
    uint32_t rank = !is_reduce ? 0 : is_down ? last : next_in_ring(schedule, inner, lane, 0);
    for (uint32_t i = 0; i < last; i++) {
      uint32_t next = is_down ? (rank + last) % ranks : next_in_ring(schedule, inner, is_two_way ? 0 : lane, rank);
      schedule_step(schedule, COLLECTIVE_LIST, lane, lane)->reduces = is_reduce;
      schedule_message(schedule, rank, next, bytes);
      rank = next;
    }
    schedule_repeat(schedule, first, chunks);
  }
}

/* The same over a mesh, along all orders of the ranks with equal parts: the root to everyone, then everyone else to everyone
 * else, so that every link carries 1 / (p - 1) of the data. */
static void chain_over_mesh(struct collective_schedule *schedule, const struct collective_request *request) {
  bool is_reduce = request->kind == WORK_COLLECTIVE_REDUCE;
  uint32_t ranks = schedule->ranks, last = ranks - 1,
           chunks = schedule_chunks(schedule, request, 2 * last, last * last);
  for (uint32_t i = 0; i < last; i++) {
    bool is_root = i == (is_reduce ? last - 1 : 0);
    uint64_t parts = (uint64_t)chunks * last * (is_root ? 1 : last - 1);
    /* a lane per step, so that a chunk waits for itself only; nothing arrives on the first step's */
    schedule_step(schedule, COLLECTIVE_LIST, i == 0 ? last : i - 1, i)->reduces = is_reduce;
    for (uint32_t from = is_root ? 0 : 1; from < (is_root ? 1 : ranks); from++) {
      for (uint32_t to = 1; to < ranks; to++) {
        if (from != to) {
          schedule_message(schedule, is_reduce ? to : from, is_reduce ? from : to, schedule_part(request, parts));
        }
      }
    }
  }
  schedule_repeat(schedule, 0, chunks);
}

/* One unit of a ring over units: what goes on from each rank. In a mesh the ranks between the one where the ring comes in
 * (`lane`) and the one where it goes out take all orders with equal parts; so everyone but the last sends as much to everyone
 * but the first. */
static void ring_in_unit(struct collective_schedule *schedule, uint32_t inner, uint32_t lane, uint32_t unit,
                         bool is_mesh, uint64_t bytes) {
  uint32_t in = lane, out = (lane + inner - 1) % inner;
  for (uint32_t from = 0; from < inner; from++) {
    uint32_t rank = unit * inner + from;
    if (from == out || !is_mesh || inner < 3) {
      schedule_message(schedule, rank, next_in_ring(schedule, inner, lane, rank), bytes);
      continue;
    }
    for (uint32_t to = 0; to < inner; to++) {
      if (to != in && to != from && !(from == in && to == out)) {
        schedule_message(schedule, rank, unit * inner + to, ceil_div_u64(bytes, inner - 2));
      }
    }
  }
}

static void rings_over_units(struct collective_schedule *schedule, const struct collective_request *request,
                             uint32_t inner, bool is_mesh) {
  uint64_t bytes = schedule_part(request, (uint64_t)schedule->ranks * inner);
  uint32_t halves = schedule_reduces(request->kind) + (uint32_t)schedule_gathers(request->kind);
  for (uint32_t lane = 0; lane < inner; lane++) {
    struct collective_step *step = schedule_step(schedule, COLLECTIVE_LIST, lane, lane);
    step->reduces = schedule_reduces(request->kind);
    step->repeats = halves * (schedule->ranks - 1);
    for (uint32_t unit = 0; unit < schedule->ranks / inner; unit++) {
      ring_in_unit(schedule, inner, lane, unit, is_mesh, bytes);
    }
  }
}

/* Rings over a mesh: all orders of the ranks with equal parts, so that every link works. Their messages of one step between
 * two ranks are one: 1 / (p - 1) of a step's part to each other rank. */
static void rings_over_mesh(struct collective_schedule *schedule, const struct collective_request *request) {
  uint32_t ranks = schedule->ranks;
  for (int half = 0; half < 2; half++) {
    if (half == 0 ? schedule_reduces(request->kind) : schedule_gathers(request->kind)) {
      struct collective_step *step = schedule_step(schedule, COLLECTIVE_ROTATION, 0, 0);
      step->reduces = half == 0;
      step->repeats = ranks - 1;
      for (uint32_t k = 1; k < ranks; k++) {
        schedule_message(schedule, 0, k, schedule_part(request, (uint64_t)ranks * (ranks - 1)));
      }
    }
  }
}

enum status schedule_ring(const struct hw_cluster *cluster, const struct hw_slice *slice,
                          const struct collective_request *request, struct collective_schedule *schedule) {
  (void)slice;
  struct schedule_axis axes[HW_DIMENSIONS_MAX];
  uint32_t count = schedule_axes(cluster, request, axes);
  bool has_units = count > 1 && cluster->dimensions[axes[count - 1].dimension].fabric == HW_FABRIC_FAT_TREE
                   && request->shape.is_regular;
  uint32_t inner = has_units ? axes[count - 1].stride : 1;
  if (request->kind == WORK_COLLECTIVE_BROADCAST || request->kind == WORK_COLLECTIVE_REDUCE) {
    bool is_mesh = count == 1 && axes[0].is_mesh && schedule->ranks > 2;
    if (is_mesh) {
      chain_over_mesh(schedule, request);
    } else {
      chain(schedule, request, inner, count == 1 && axes[0].is_ring && axes[0].is_closed);
    }
    return schedule_end(schedule);
  }
  if (has_units) {
    rings_over_units(schedule, request, inner, axes[0].is_mesh);
    return schedule_end(schedule);
  }
  if (count == 1 && axes[0].is_mesh) {
    rings_over_mesh(schedule, request);
    return schedule_end(schedule);
  }
  struct schedule_axis axis = {.block = schedule->ranks, .stride = 1, .is_closed = true};
  if (count == 1) {
    axis.is_ring = axes[0].is_ring;
    axis.is_closed = axes[0].is_closed;
  }
  uint32_t lanes = axis.is_ring && axis.is_closed ? 2 : 1;
  for (uint32_t lane = 0; lane < lanes; lane++) {
    struct schedule_phase phase = {.axis = axis, .lane = lane, .bytes = schedule_part(request, lanes)};
    for (int half = 0; half < 2; half++) {
      phase.is_reduce_scatter = half == 0;
      if (half == 0 ? schedule_reduces(request->kind) : schedule_gathers(request->kind)) {
        schedule_ring_phase(schedule, &phase);
      }
    }
  }
  return schedule_end(schedule);
}
