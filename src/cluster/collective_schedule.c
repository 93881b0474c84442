/* Life and building of a collective's messages. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "cluster/schedule.h"

void collective_schedule_release(struct collective_schedule *schedule) {
  vec_release(&schedule->steps);
  vec_release(&schedule->messages);
}

struct collective_step *schedule_step(struct collective_schedule *schedule, enum collective_pattern pattern,
                                      uint32_t waits, uint32_t delivers) {
  static const struct collective_step unusable = {0};
  struct collective_step step = {.message_first = (uint32_t)schedule->messages.count,
                                 .pattern = pattern,
                                 .block = schedule->ranks,
                                 .stride = 1,
                                 .waits = waits,
                                 .delivers = delivers,
                                 .waits_count = 1,
                                 .repeats = 1};
  uint32_t highest = (waits > delivers ? waits : delivers) + 1;
  schedule->lanes = highest > schedule->lanes ? highest : schedule->lanes;
  if (!vec_push(&schedule->steps, step)) {
    schedule->out_of_memory = true;
    schedule->spare = unusable;
    return &schedule->spare;
  }
  return &schedule->steps.data[schedule->steps.count - 1];
}

void schedule_message(struct collective_schedule *schedule, uint32_t from, uint32_t to, uint64_t bytes) {
  struct collective_message message = {from, to, bytes};
  if (schedule->steps.count == 0 || !vec_push(&schedule->messages, message)) {
    schedule->out_of_memory = true;
    return;
  }
  schedule->steps.data[schedule->steps.count - 1].message_count++;
}

void schedule_repeat(struct collective_schedule *schedule, size_t first, uint32_t times) {
  size_t end = schedule->steps.count;
  if (!vec_reserve(&schedule->steps, end + (end - first) * (times - 1))) {
    schedule->out_of_memory = true;
    return;
  }
  for (uint32_t k = 1; k < times; k++) { /* the copies name the same messages */
    for (size_t i = first; i < end; i++) {
      schedule->steps.data[schedule->steps.count++] = schedule->steps.data[i];
    }
  }
}

enum status schedule_end(const struct collective_schedule *schedule) {
  return schedule->out_of_memory ? STATUS_MEMORY : STATUS_OK;
}

bool schedule_reduces(enum work_collective_kind kind) {
  return kind == WORK_ALL_REDUCE || kind == WORK_REDUCE_SCATTER;
}

bool schedule_gathers(enum work_collective_kind kind) {
  return kind == WORK_ALL_REDUCE || kind == WORK_ALL_GATHER;
}

uint64_t schedule_part(const struct collective_request *request, uint64_t parts) {
  double part = ceil(request->bytes / (double)parts);
  return part < 0x1p63 ? (uint64_t)part : (uint64_t)1 << 63;
}

uint32_t schedule_chunks(const struct collective_schedule *schedule, const struct collective_request *request,
                         uint32_t depth, uint32_t parts) {
  uint64_t chunks = (uint64_t)1 << ceil_log2_u64((uint64_t)depth * SCHEDULE_CHUNKS_PER_LEVEL);
  uint64_t most = schedule_part(request, (uint64_t)parts * SCHEDULE_CHUNK_BYTES);
  chunks = chunks < SCHEDULE_CHUNKS_MIN ? SCHEDULE_CHUNKS_MIN : chunks;
  chunks = chunks > SCHEDULE_CHUNKS_MAX ? SCHEDULE_CHUNKS_MAX : chunks;
  chunks = chunks > most ? (most > 0 ? most : 1) : chunks;
  return schedule->chunks == 0 ? (uint32_t)chunks : schedule->chunks;
}

uint32_t schedule_axes(const struct hw_cluster *cluster, const struct collective_request *request,
                       struct schedule_axis axes[HW_DIMENSIONS_MAX]) {
  uint32_t count = 0, stride = 1;
  for (uint32_t d = 0; d < cluster->dimension_count; d++) {
    if (request->shape.extent[d] > 1) {
      axes[count++] = (struct schedule_axis){.dimension = d,
                                             .block = request->shape.extent[d],
                                             .stride = stride,
                                             .is_ring = cluster->dimensions[d].fabric == HW_FABRIC_RING,
                                             .is_closed = request->shape.is_closed[d],
                                             .is_mesh = cluster->dimensions[d].fabric == HW_FABRIC_MESH};
      stride *= request->shape.extent[d];
    }
  }
  return count;
}

collective_schedule_function *schedule_find(const char *name) {
  const struct collective_algorithm *algorithm = collective_algorithm_find(name);
  if (algorithm != NULL) {
    return algorithm->schedule;
  }
  return strcmp(name, "pairwise") == 0 ? schedule_pairwise : NULL;
}
