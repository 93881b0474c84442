/* The temporal half of the enumeration of partition plans: all ways to rotate tensors on one spatial vector.
 * Path: plan_partition.c walks the spatial vectors and calls this for each. */
#ifndef RIDGELINE_PLAN_PLAN_PARTITION_TEMPORAL_H
#define RIDGELINE_PLAN_PLAN_PARTITION_TEMPORAL_H

#include "base/vec.h"
#include "plan/plan_partition.h"

/* Factors of one axis, one per tensor, and the share of the axis that they leave unpadded. Candidates of an axis ascend by
 * the factors of the output, then the first input, then the second; the skips lead past those that share the first of these,
 * or the first two. */
struct plan_temporal_candidate {
  uint16_t factors[PLAN_ROTATED_MAX];
  uint32_t skip_output, skip_first; /* number of candidates, this one included */
  double fill;
};

struct plan_temporal_list {
  size_t first;
  size_t count;
};

/* Scratch of one enumeration; grows and is reused from one spatial vector to the next. */
struct plan_temporal {
  plan_axis_mask tensors[PLAN_ROTATED_MAX]; /* by slot of plan_partition.temporal; 0 = absent or along no axis */
  uint32_t axis_count;
  bool published_axes;
  double min_fill;
  uint64_t lengths[PLAN_AXES_MAX]; /* local, of this spatial vector */
  uint64_t replicas[PLAN_ROTATED_MAX];
  VEC(struct plan_temporal_candidate) candidates;
  VEC(uint16_t) divisors; /* of the replicas of each slot, one after the other, ascending */
  struct plan_temporal_list divisors_of[PLAN_ROTATED_MAX];
  struct plan_temporal_list lists[PLAN_AXES_MAX];
};

/* `extent` of an axis divided among parts of equal length: share of it that is not padding. */
static inline double plan_fill(uint64_t extent, uint64_t parts) {
  uint64_t length = extent / parts + (extent % parts != 0);
  return (double)extent / ((double)length * (double)parts);
}

/* Calls visitor->plan for every temporal choice on partition->spatial; clears *go_on when it says to end. */
enum status plan_temporal_enumerate(struct plan_temporal *temporal, const uint64_t *extents,
                                    const struct plan_visitor *visitor, struct plan_partition *partition, bool *go_on);
void plan_temporal_release(struct plan_temporal *temporal);

#endif
