/* Rings along dimensions, one after the other: reduce-scatter outward, all-gather back.
 *
 *     passes x sum_i (p_i - 1) (a + n_i / (p_i B_i)),   n_1 = n, n_(i+1) = n_i / p_i
 *
 * hierarchical: the levels of the cluster in their order, so that slow ones carry least (Cho et al., BlueConnect, 2019).
 * torus: D dimensions of rings at once; the data are D parts, each of which starts with another dimension, so all links work
 * all the time: n / D in place of n (Jain and Sabharwal, IPDPS 2010; Kumar and Jouppi, 2020). Where dimensions differ, a stage
 * is as long as its slowest part. */
#include "cluster/collective_algorithms.h"
#include "cluster/schedule.h"

#include <math.h>

/* One part of a torus in stage i goes along one dimension. */
static void ring_part(const struct collective_case *of, uint32_t d, double bytes, enum collective_protocol protocol,
                      double *latency_s, double *transfer_s) {
  double p = of->request->shape.extent[d];
  *latency_s = (p - 1) * collective_step_s(of, d, protocol);
  *transfer_s = bytes * (p - 1) / p / (collective_all_links_Bps(of, d) * collective_efficiency(of, d, protocol));
}

/* Dimensions of a level in which the group has members. */
static uint32_t dimensions_of(const struct collective_case *of, const struct collective_level *level,
                              uint32_t list[HW_DIMENSIONS_MAX]) {
  uint32_t count = 0;
  for (uint32_t d = level->first; d < level->first + level->count; d++) {
    if (of->request->shape.extent[d] > 1) {
      list[count++] = d;
    }
  }
  return count;
}

static void torus_phase(const struct collective_case *of, const struct collective_level *level, double bytes,
                        enum collective_protocol protocol, struct collective_phase *phase) {
  uint32_t list[HW_DIMENSIONS_MAX], count = dimensions_of(of, level, list);
  double held[HW_DIMENSIONS_MAX];
  for (uint32_t start = 0; start < count; start++) {
    held[start] = bytes / count;
  }
  for (uint32_t stage = 0; stage < count; stage++) {
    double slowest_s = -1, latency_s = 0, transfer_s = 0;
    uint32_t steps = 0;
    for (uint32_t start = 0; start < count; start++) {
      uint32_t d = list[(start + stage) % count], extent = of->request->shape.extent[d];
      double part_latency_s, part_transfer_s;
      ring_part(of, d, held[start], protocol, &part_latency_s, &part_transfer_s);
      if (part_latency_s + part_transfer_s > slowest_s) {
        slowest_s = part_latency_s + part_transfer_s;
        latency_s = part_latency_s;
        transfer_s = part_transfer_s;
        steps = extent - 1;
      }
      phase->sent_bytes[d] += held[start] * (extent - 1) / extent;
      held[start] /= extent;
    }
    phase->latency_s += latency_s;
    phase->transfer_s += transfer_s;
    phase->steps += steps;
  }
}

void collective_phase_of(const struct collective_case *of, const struct collective_level *level, double bytes,
                         enum collective_protocol protocol, struct collective_phase *phase) {
  *phase = (struct collective_phase){0};
  if (level->fabric == HW_FABRIC_RING) {
    torus_phase(of, level, bytes, protocol, phase);
    return;
  }
  double p = level->ranks, sent = bytes * (p - 1) / p;
  bool is_mesh = level->fabric == HW_FABRIC_MESH;
  double Bps = is_mesh ? collective_all_links_Bps(of, level->first) : collective_link_Bps(of, level->first);
  phase->steps = is_mesh ? 1 : level->ranks - 1;
  phase->latency_s = phase->steps * collective_step_s(of, level->first, protocol);
  phase->transfer_s = sent / (Bps * collective_efficiency(of, level->first, protocol));
  phase->sent_bytes[level->first] = sent;
}

static void levels_with(const struct collective_case *of, enum collective_protocol protocol,
                        struct collective_result *result) {
  struct collective_levels levels;
  collective_levels_of(of->cluster, &of->request->shape, &levels);
  double held = of->request->bytes, passes = collective_passes(of->request->kind), latency_s = 0, transfer_s = 0;
  uint32_t steps = 0;
  for (uint32_t i = 0; i < levels.count; i++) {
    struct collective_phase phase;
    collective_phase_of(of, &levels.list[i], held, protocol, &phase);
    latency_s += phase.latency_s;
    transfer_s += phase.transfer_s;
    steps += phase.steps;
    held /= levels.list[i].ranks;
    for (uint32_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
      result->sent_bytes[d] += passes * phase.sent_bytes[d];
    }
  }
  result->steps = (uint32_t)(passes * steps);
  result->protocol = collective_protocol_name(protocol);
  collective_finish(of, collective_start_s(of, protocol) + passes * latency_s, passes * transfer_s, result);
}

static void levels_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                        const struct collective_constants *constants, const struct collective_request *request,
                        struct collective_result *result) {
  struct collective_case of = {cluster, slice, constants->values, request};
  collective_best_protocol(&of, levels_with, result);
}

static bool torus_applies(const struct hw_cluster *cluster, const struct hw_slice *slice,
                          const struct collective_request *request) {
  struct collective_levels levels;
  (void)slice;
  collective_levels_of(cluster, &request->shape, &levels);
  return collective_is_reduction_or_gather(request->kind) && request->shape.is_regular && levels.count == 1
         && levels.list[0].fabric == HW_FABRIC_RING;
}

static bool hierarchical_applies(const struct hw_cluster *cluster, const struct hw_slice *slice,
                                 const struct collective_request *request) {
  struct collective_levels levels;
  (void)slice;
  collective_levels_of(cluster, &request->shape, &levels);
  return collective_is_reduction_or_gather(request->kind) && request->shape.is_regular && levels.count > 1;
}

const struct collective_algorithm collective_torus = {
    .name = "torus",
    .summary = "ring per dimension, parts with rotated order (Jain and Sabharwal 2010)",
    .applies = torus_applies,
    .time = levels_time,
    .schedule = schedule_torus,
};

const struct collective_algorithm collective_hierarchical = {
    .name = "hierarchical",
    .summary = "reduce-scatter from the inside out, all-gather back (Cho et al. 2019)",
    .applies = hierarchical_applies,
    .time = levels_time,
    .schedule = schedule_hierarchical,
};
