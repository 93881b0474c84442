/* Memory time of a task: which of its border's bytes come from off-chip memory, which from the level all cores share, and
 * how fast either is. */
#include <math.h>

#include "cost/roofline.h"

/* Kernels that pass over their data several times (assumptions): a radix sort reads and writes once per 8-bit digit of a
 * 32-bit key, a large FFT makes two passes, a batch normalisation needs its statistics before it can apply them. */
static const double memory_passes[WORK_KIND_COUNT] = {
    [WORK_SORT] = 4,
    [WORK_TOP_K] = 2,
    [WORK_FFT] = 2,
    [WORK_BATCH_NORM] = 2,
};
/* A tiled transpose through shared memory against a plain copy (assumption). */
static const double transpose_share = 0.85;

double roofline_memory_time(const struct roofline_chip *rc, double bytes) {
  /* bytes / (rate x bytes / (bytes + ramp)): the ramp is a latency */
  return bytes > 0 ? bytes * rc->memory_s + rc->memory_latency_s : 0;
}

/* How much more than the wanted bytes an access by index moves: its runs are rows of the last dimension, or single
 * elements of a vector, and each run costs whole granules. */
static double granule_factor(const struct roofline_chip *rc, const struct work_graph *graph,
                             const struct work_tensor *tensor, double element_bytes) {
  double run = element_bytes;
  if (tensor->rank >= 2) {
    run *= (double)graph->dims.data[tensor->dims_first + tensor->rank - 1];
  }
  return run > 0 && run < rc->granule_bytes ? rc->granule_bytes / run : 1;
}

void roofline_traffic_of(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                         struct roofline_traffic *traffic) {
  double off_chip = 0, total = 0;
  const struct work_access *accesses = graph->accesses.data + task->access_first;
  for (uint32_t i = 0; i < task->access_count; i++) {
    const struct work_access *access = &accesses[i];
    const struct work_tensor *tensor = &graph->tensors.data[access->tensor];
    double element_bytes = rc->element_bytes[tensor->dtype];
    double bytes = (double)access->touched_elements * element_bytes;
    double moved = bytes;
    if (access->flags & WORK_ACCESS_INDEXED) {
      moved *= granule_factor(rc, graph, tensor, element_bytes);
      if (i < task->read_count) {
        moved = fmin(moved, fmax(bytes, (double)tensor->size_bytes));
      }
    }
    total += moved;
    /* writes go through to memory in the end; a read finds what was touched recently enough on chip */
    if (i >= task->read_count || (double)access->reuse_bytes + bytes > rc->resident_bytes) {
      off_chip += moved;
    }
  }
  double passes = memory_passes[task->kind];
  if (passes > 1) {
    total *= passes;
    off_chip *= passes;
  }
  traffic->off_chip_bytes = off_chip;
  traffic->cache_bytes = total;
  traffic->time_s = roofline_memory_time(rc, off_chip);
  traffic->cache_time_s = total * rc->cache_s;
  if (task->kind == WORK_TRANSPOSE && rc->is_tiled) {
    traffic->time_s /= transpose_share;
  }
}
