/* Partition plans: how one operator lies on the cores, and the enumeration of all of them.
 *
 * Compute-shift (T10, SOSP 2024; Elk, MICRO 2025): axis a is cut into spatial[a] parts, one per core along that axis of a
 * virtual grid of prod(spatial) <= P cores. A tensor that lacks axes is shared by replicas(v) = prod of spatial over those;
 * such a tile may be cut further into pieces = prod(temporal[v]) parts, pieces dividing replicas, each core holding one and
 * the ring of cores passing them on while they compute. Time buys memory.
 *
 *   local length   L_a = ceil(extent_a / spatial_a)
 *   per-core size  prod over the tensor's axes of ceil(L_a / temporal[v][a]) elements, twice that while pieces > 1 (one piece
 *                  arrives while one is used)
 */
#ifndef RIDGELINE_PLAN_PLAN_PARTITION_H
#define RIDGELINE_PLAN_PLAN_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "plan/plan_program.h"

/* A rotating operator has at most three tensors worth cutting: temporal[0] and [1] are those of the first two inputs that
 * lack an axis, [2] the output's; all other tensors have factor 1. `rotated` names them. */
#define PLAN_ROTATED_MAX 3

struct plan_partition {
  uint32_t spatial[PLAN_AXES_MAX]; /* 1 for axes beyond axis_count */
  uint16_t temporal[PLAN_ROTATED_MAX][PLAN_AXES_MAX];
};

struct plan_space {
  uint32_t axis_count;
  uint64_t extents[PLAN_AXES_MAX];
  uint32_t tensor_count; /* 1 to PLAN_ROTATED_MAX, output last */
  plan_axis_mask
      tensors[PLAN_ROTATED_MAX]; /* axes of each; the last one's factors are temporal[2], others' [0] and [1] */
  uint32_t cores;
};

/* Which vectors count. The published search has thresholds on utilisation and padding, and a defect that applies the factors
 * of one axis to another (elk.md section 9.3): `published_axes` reproduces it. */
struct plan_rules {
  double utilisation; /* 0.9 in the published search: share of min(P/(P+2 cores), max extent x axes / 220) */
  double padding; /* 0.9: share of min(P/(P+cores), max extent x axes / 220) */
  bool published_axes;
};
extern const struct plan_rules plan_rules_published, plan_rules_legal;

/* Called for each spatial vector (false: leave out all plans on it), then for each plan on it (false: end). */
struct plan_visitor {
  bool (*spatial)(void *context, const uint32_t *spatial); /* NULL: all */
  bool (*plan)(void *context, const struct plan_partition *partition);
  void *context;
};
/* Every plan once, spatial vectors ascending with the first axis outermost, temporal factors ascending. No allocation per
 * plan. STATUS_MEMORY when scratch memory is exhausted. */
enum status plan_partition_enumerate(const struct plan_space *space, const struct plan_rules *rules,
                                     const struct plan_visitor *visitor);
/* The fewest cores that a plan of the space must use, and the least share of points that is not padding. */
void plan_rules_least(const struct plan_space *space, const struct plan_rules *rules, double *cores, double *fill);
uint64_t plan_partition_cores(const struct plan_partition *partition);

#endif
