/* Ring through all ranks: reduce-scatter and all-gather in p - 1 steps each (Patarasuk and Yuan, JPDC 69, 2009),
 *
 *     passes x ((p - 1) a + n (p - 1) / (p B)),   passes = 2 for all-reduce
 *
 * Broadcast and reduce: a chain of chunks, (p - 1) a + n / B. A closed ring of neighbour links is used both ways, B = 2 links;
 * a mesh has as many rings as links of a rank, or, where it is incomplete, as the cluster states.
 * Across nodes as many rings as the node has cards leave it at another device each, so B there is that of all cards; each
 * pass crosses between nodes (m - 1) times on its way. */
#include "cluster/collective_algorithms.h"
#include "cluster/schedule.h"

#include <math.h>

static bool ring_applies(const struct hw_cluster *cluster, const struct hw_slice *slice,
                         const struct collective_request *request) {
  (void)cluster, (void)slice;
  return collective_is_reduction_or_gather(request->kind) || request->kind == WORK_COLLECTIVE_BROADCAST
         || request->kind == WORK_COLLECTIVE_REDUCE;
}

/* What a level lets through of the rings of one rank. */
static double level_Bps(const struct collective_case *of, const struct collective_levels *levels, uint32_t index,
                        enum collective_protocol protocol) {
  const struct collective_level *level = &levels->list[index];
  double efficiency = collective_efficiency(of, level->first, protocol);
  if (level->fabric == HW_FABRIC_RING && level->count == 1 && levels->count == 1) {
    return efficiency * collective_all_links_Bps(of, level->first);
  }
  if (level->fabric == HW_FABRIC_MESH) {
    bool has_count = level->ranks >= 2 && level->ranks <= 8;
    double part = has_count ? of->constants[COLLECTIVE_RINGS_2 + level->ranks - 2] : 0;
    double all_Bps = collective_all_links_Bps(of, level->first);
    return efficiency * (part > 0 ? part * of->cluster->dimensions[level->first].link_Bps : all_Bps);
  }
  double cards = level->fabric == HW_FABRIC_FAT_TREE && of->request->shape.is_regular ? level->inner : 1;
  return efficiency * cards * collective_link_Bps(of, level->first);
}

static void ring_with(const struct collective_case *of, enum collective_protocol protocol,
                      struct collective_result *result) {
  struct collective_levels levels;
  const struct group_shape *shape = &of->request->shape;
  collective_levels_of(of->cluster, shape, &levels);
  double p = shape->size, latency_s = 0, Bps = INFINITY;
  double passes = collective_passes(of->request->kind), outer = 1, crossings = 0;
  bool is_chain = !collective_is_reduction_or_gather(of->request->kind);
  double sent = is_chain ? of->request->bytes : passes * of->request->bytes * (p - 1) / p;
  for (uint32_t i = levels.count; i-- > 0;) {
    const struct collective_level *level = &levels.list[i];
    double steps = outer * (level->ranks - 1.0);
    crossings += steps;
    latency_s += steps * collective_step_s(of, level->first, protocol);
    outer *= level->ranks;
    Bps = fmin(Bps, level_Bps(of, &levels, i, protocol));
    result->sent_bytes[level->first] = sent * steps / p;
  }
  /* of an irregular group the extents say more than it has members */
  latency_s *= crossings > 0 ? (p - 1) / crossings : 0;
  for (uint32_t i = 0; i < levels.count && crossings > 0; i++) {
    result->sent_bytes[levels.list[i].first] *= p / crossings;
  }
  result->steps = (uint32_t)(passes * (p - 1));
  result->protocol = collective_protocol_name(protocol);
  double handled = is_chain ? sent : sent + collective_own_bytes(of, protocol, of->request->bytes);
  collective_finish(of, collective_start_s(of, protocol) + passes * latency_s, handled / Bps, result);
}

static void ring_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                      const struct collective_constants *constants, const struct collective_request *request,
                      struct collective_result *result) {
  struct collective_case of = {cluster, slice, constants->values, request};
  collective_best_protocol(&of, ring_with, result);
}

const struct collective_algorithm collective_ring = {
    .name = "ring",
    .summary = "ring through all ranks (Patarasuk and Yuan 2009)",
    .applies = ring_applies,
    .time = ring_time,
    .schedule = schedule_ring,
};
