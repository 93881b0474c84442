/* Rings along several dimensions. Torus: the data are cut into a part for every dimension and direction, and each part starts
 * with another dimension, so that all links work at all times (Jain and Sabharwal, IPDPS 2010; Kumar and Jouppi, 2020).
 * Hierarchical: reduce-scatter within the innermost units first, so that the outer, slower dimensions carry least (Cho et al.,
 * BlueConnect, 2019). */
#include "base/checked.h"
#include "cluster/schedule.h"

/* Axes in the order of one lane: innermost first, and each run of ring axes (a torus) turned by `turn`. */
static void order_axes(const struct schedule_axis *axes, uint32_t count, uint32_t turn,
                       struct schedule_axis order[HW_DIMENSIONS_MAX]) {
  for (uint32_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && axes[first].is_ring && axes[end].is_ring;) {
      end++;
    }
    for (uint32_t i = first; i < end; i++) {
      order[i] = axes[first + (i - first + turn) % (end - first)];
    }
  }
}

/* Two lanes, one per direction, for every axis of the longest run of rings; else one. */
static uint32_t count_lanes(const struct schedule_axis *axes, uint32_t count) {
  uint32_t longest = 0, run = 0;
  for (uint32_t i = 0; i < count; i++) {
    run = axes[i].is_ring ? run + 1 : 0;
    longest = run > longest ? run : longest;
  }
  return longest > 0 ? 2 * longest : 1;
}

/* What a stage's phases have in common. */
struct stage {
  uint32_t number; /* of all stages so far */
  uint32_t axis; /* place in the lanes' orders */
  bool is_reduce_scatter;
};

/* One axis of every lane. Lanes of a stage are numbered anew, with directions as even and odd; a stage begins when the one
 * before has ended, so that each part has the links of its dimension for itself. */
static void add_stage(struct collective_schedule *schedule, const struct collective_request *request,
                      const struct schedule_axis *axes, uint32_t count, const struct stage *stage) {
  uint32_t lanes = count_lanes(axes, count), numbers = lanes + lanes % 2;
  for (uint32_t lane = 0; lane < lanes; lane++) {
    struct schedule_axis order[HW_DIMENSIONS_MAX];
    order_axes(axes, count, lane / 2, order);
    uint64_t held = schedule_part(request, lanes);
    for (uint32_t i = 0; i < stage->axis; i++) {
      held = ceil_div_u64(held, order[i].block);
    }
    const struct schedule_phase phase = {.axis = order[stage->axis],
                                         .lane = stage->number * numbers + lane,
                                         .after = stage->number == 0 ? 0 : (stage->number - 1) * numbers,
                                         .after_count = stage->number == 0 ? 0 : lanes,
                                         .bytes = held,
                                         .is_reduce_scatter = stage->is_reduce_scatter};
    schedule_ring_phase(schedule, &phase);
  }
}

enum status schedule_torus(const struct hw_cluster *cluster, const struct hw_slice *slice,
                           const struct collective_request *request, struct collective_schedule *schedule) {
  (void)slice;
  struct schedule_axis axes[HW_DIMENSIONS_MAX];
  struct stage stage = {.is_reduce_scatter = true};
  uint32_t count = schedule_axes(cluster, request, axes);
  for (uint32_t i = 0; schedule_reduces(request->kind) && i < count; i++, stage.number++) {
    stage.axis = i;
    add_stage(schedule, request, axes, count, &stage);
  }
  stage.is_reduce_scatter = false;
  for (uint32_t i = count; schedule_gathers(request->kind) && i-- > 0; stage.number++) {
    stage.axis = i;
    add_stage(schedule, request, axes, count, &stage);
  }
  return schedule_end(schedule);
}

/* The same: a torus is a cluster of one level. */
enum status schedule_hierarchical(const struct hw_cluster *cluster, const struct hw_slice *slice,
                                  const struct collective_request *request, struct collective_schedule *schedule) {
  return schedule_torus(cluster, slice, request, schedule);
}
