/* Enumeration of partition plans: the spatial vectors, and the rules of the published search.
 * Path: plan_sets.c and compat_tables.c price what this visits; plan_partition_temporal.c rotates tensors on each vector. */
#include "plan/plan_partition.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/checked.h"
#include "plan/plan_partition_temporal.h"

/* Both thresholds of the published search (elk.md section 3.1) are 0.9 of a bound that small operators lower. */
const struct plan_rules plan_rules_published = {.utilisation = 0.9, .padding = 0.9, .published_axes = true};
const struct plan_rules plan_rules_legal = {.utilisation = 0.9, .padding = 0.9, .published_axes = false};

struct walk {
  const struct plan_space *space;
  const struct plan_visitor *visitor;
  double min_cores; /* utilisation times cores */
  double min_fill;
  double most_after[PLAN_AXES_MAX]; /* parts that the axes after this one can have together */
  struct plan_partition partition;
  struct plan_temporal temporal;
};

uint64_t plan_partition_cores(const struct plan_partition *partition) {
  uint64_t cores = 1;
  for (uint32_t axis = 0; axis < PLAN_AXES_MAX; axis++) {
    cores = sat_mul_u64(cores, partition->spatial[axis]);
  }
  return cores;
}

/* An operator with few points per core, or with few axes and short ones, is not asked to use them all: min(P / (P + k cores),
 * longest extent x axes / 220), P the number of points. */
static double size_share(const struct plan_space *space, double cores_factor) {
  double points = 1.0;
  double longest = 0.0;
  for (uint32_t axis = 0; axis < space->axis_count; axis++) {
    const double extent = (double)space->extents[axis];
    points *= extent;
    longest = extent > longest ? extent : longest;
  }
  const double by_points = points / (points + cores_factor * space->cores);
  const double by_extent = longest * space->axis_count / 220.0;
  return by_points < by_extent ? by_points : by_extent;
}

void plan_rules_least(const struct plan_space *space, const struct plan_rules *rules, double *cores, double *fill) {
  *cores = rules->utilisation * size_share(space, 2.0) * space->cores;
  *fill = rules->padding * size_share(space, 1.0);
}

static enum status visit_vector(struct walk *walk, bool *go_on) {
  if (walk->visitor->spatial != NULL && !walk->visitor->spatial(walk->visitor->context, walk->partition.spatial)) {
    return STATUS_OK;
  }
  return plan_temporal_enumerate(&walk->temporal, walk->space->extents, walk->visitor, &walk->partition, go_on);
}

/* `used` is the product of the parts so far, `fill` that of their padding shares; axes from `axis` on are still open. At most
 * PLAN_AXES_MAX deep. */
static enum status walk_axis(struct walk *walk, uint32_t axis, uint64_t used, double fill, bool *go_on) {
  const struct plan_space *space = walk->space;
  if (axis == space->axis_count) {
    return visit_vector(walk, go_on);
  }
  const uint64_t extent = space->extents[axis];
  const uint64_t room = space->cores / used;
  const uint64_t most = extent < room ? extent : room;
  const double reach = (double)used * walk->most_after[axis];
  uint64_t parts = (uint64_t)(walk->min_cores / reach); /* rounded down: the first one is tested like the others */
  for (parts = parts > 0 ? parts : 1; parts <= most && *go_on; parts++) {
    const double filled = fill * plan_fill(extent, parts);
    if ((double)parts * reach < walk->min_cores || filled < walk->min_fill) {
      continue;
    }
    walk->partition.spatial[axis] = (uint32_t)parts;
    STATUS_TRY(walk_axis(walk, axis + 1, used * parts, filled, go_on));
  }
  return STATUS_OK;
}

static void prepare(struct walk *walk, const struct plan_rules *rules) {
  const struct plan_space *space = walk->space;
  plan_rules_least(space, rules, &walk->min_cores, &walk->min_fill);
  double most = 1.0;
  for (uint32_t axis = space->axis_count; axis-- > 0;) {
    walk->most_after[axis] = most;
    most *= (double)(space->extents[axis] < space->cores ? space->extents[axis] : space->cores);
  }
  for (uint32_t axis = 0; axis < PLAN_AXES_MAX; axis++) {
    walk->partition.spatial[axis] = 1;
    for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
      walk->partition.temporal[slot][axis] = 1;
    }
  }
  walk->temporal.axis_count = space->axis_count;
  walk->temporal.published_axes = rules->published_axes;
  walk->temporal.min_fill = walk->min_fill;
  for (uint32_t tensor = 0; tensor < space->tensor_count; tensor++) {
    const uint32_t slot = tensor + 1 == space->tensor_count ? PLAN_ROTATED_MAX - 1 : tensor;
    walk->temporal.tensors[slot] = space->tensors[tensor];
  }
}

enum status plan_partition_enumerate(const struct plan_space *space, const struct plan_rules *rules,
                                     const struct plan_visitor *visitor) {
  assert(space->axis_count <= PLAN_AXES_MAX && space->cores > 0);
  assert(space->tensor_count > 0 && space->tensor_count <= PLAN_ROTATED_MAX);
  struct walk walk = {.space = space, .visitor = visitor};
  prepare(&walk, rules);
  bool go_on = true;
  enum status status = walk_axis(&walk, 0, 1, 1.0, &go_on);
  plan_temporal_release(&walk.temporal);
  return status;
}
