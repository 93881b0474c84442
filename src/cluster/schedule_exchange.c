/* Exchanges between pairs and with everyone: recursive halving and doubling, direct, one-shot, pairwise, permute, and the
 * reduction in the switch. */
#include "base/checked.h"
#include "cluster/schedule.h"

enum status schedule_halving_doubling(const struct hw_cluster *cluster, const struct hw_slice *slice,
                                      const struct collective_request *request, struct collective_schedule *schedule) {
  (void)cluster, (void)slice;
  uint32_t ranks = schedule->ranks, levels = (uint32_t)ceil_log2_u64(ranks);
  /* partners at distance 1 exchange the most, which keeps most bytes near */
  for (uint32_t level = 0; schedule_reduces(request->kind) && level < levels; level++) {
    schedule_step(schedule, COLLECTIVE_EXCHANGE, 0, 0)->reduces = true;
    schedule_message(schedule, 0, 1u << level, schedule_part(request, (uint64_t)2 << level));
  }
  for (uint32_t level = levels; schedule_gathers(request->kind) && level-- > 0;) {
    schedule_step(schedule, COLLECTIVE_EXCHANGE, 0, 0);
    schedule_message(schedule, 0, 1u << level, schedule_part(request, (uint64_t)2 << level));
  }
  return schedule_end(schedule);
}

/* Whether some ranks are equally far both ways round: half of what they get goes each way, on lanes 0 and 1. */
static bool has_two_ways(const struct hw_cluster *cluster, const struct collective_request *request) {
  struct schedule_axis axes[HW_DIMENSIONS_MAX];
  uint32_t count = schedule_axes(cluster, request, axes);
  bool is_so = false;
  for (uint32_t i = 0; i < count; i++) {
    is_so = is_so || (axes[i].is_ring && axes[i].is_closed && axes[i].block % 2 == 0);
  }
  return is_so;
}

/* Everyone to everyone in one step per lane. */
static void everyone(struct collective_schedule *schedule, uint64_t bytes, uint32_t lanes, bool reduces) {
  for (uint32_t lane = 0; lane < lanes; lane++) {
    schedule_step(schedule, COLLECTIVE_ROTATION, lane, lane)->reduces = reduces;
    for (uint32_t k = 1; k < schedule->ranks; k++) {
      schedule_message(schedule, 0, k, ceil_div_u64(bytes, lanes));
    }
  }
}

enum status schedule_direct(const struct hw_cluster *cluster, const struct hw_slice *slice,
                            const struct collective_request *request, struct collective_schedule *schedule) {
  (void)slice;
  uint32_t lanes = has_two_ways(cluster, request) ? 2 : 1;
  uint64_t bytes = schedule_part(request, schedule->ranks);
  if (schedule_reduces(request->kind)) {
    everyone(schedule, bytes, lanes, true);
  }
  if (schedule_gathers(request->kind) || request->kind == WORK_ALL_TO_ALL) {
    everyone(schedule, bytes, lanes, false);
  }
  return schedule_end(schedule);
}

enum status schedule_one_shot(const struct hw_cluster *cluster, const struct hw_slice *slice,
                              const struct collective_request *request, struct collective_schedule *schedule) {
  (void)slice;
  everyone(schedule, schedule_part(request, 1), has_two_ways(cluster, request) ? 2 : 1, true);
  return schedule_end(schedule);
}

enum status schedule_pairwise(const struct hw_cluster *cluster, const struct hw_slice *slice,
                              const struct collective_request *request, struct collective_schedule *schedule) {
  (void)cluster, (void)slice;
  for (uint32_t k = 1; k < schedule->ranks; k++) {
    schedule_step(schedule, COLLECTIVE_ROTATION, 0, 0);
    schedule_message(schedule, 0, k, schedule_part(request, schedule->ranks));
  }
  return schedule_end(schedule);
}

enum status schedule_permute(const struct hw_cluster *cluster, const struct hw_slice *slice,
                             const struct collective_request *request, struct collective_schedule *schedule) {
  (void)cluster, (void)slice;
  schedule_step(schedule, COLLECTIVE_LIST, 0, 0);
  schedule_message(schedule, 0, 1, schedule_part(request, 1));
  return schedule_end(schedule);
}

/* Every rank owns 1 / p of the buffer: it has the switch add that part of all ranks up (n up from every rank, n / p down to
 * each), and stores the sum through the switch to all (n / p up, n down). Reading and storing of chunks overlap. */
enum status schedule_nvls(const struct hw_cluster *cluster, const struct hw_slice *slice,
                          const struct collective_request *request, struct collective_schedule *schedule) {
  (void)cluster, (void)slice;
  enum { UP, DOWN };
  uint32_t ranks = schedule->ranks, chunks = schedule_chunks(schedule, request, 2, ranks);
  uint64_t whole = schedule_part(request, chunks), own = schedule_part(request, (uint64_t)chunks * ranks);
  bool reduces = schedule_reduces(request->kind), gathers = schedule_gathers(request->kind);
  uint64_t up = (reduces ? whole : 0) + (gathers ? own : 0), down = (reduces ? own : 0) + (gathers ? whole : 0);
  schedule->has_adder = true;
  /* waits for nothing */
  schedule_step(schedule, COLLECTIVE_LIST, DOWN + 1, UP)->reduces = reduces;
  for (uint32_t rank = 0; rank < ranks; rank++) {
    schedule_message(schedule, rank, ranks, up);
  }
  schedule_step(schedule, COLLECTIVE_LIST, UP, DOWN);
  for (uint32_t rank = 0; rank < ranks; rank++) {
    schedule_message(schedule, ranks, rank, down);
  }
  schedule_repeat(schedule, 0, chunks);
  return schedule_end(schedule);
}
