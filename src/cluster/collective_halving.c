/* Recursive halving and doubling (Thakur, Rabenseifner and Gropp, IJHPCA 19, 2005), a power of two ranks:
 *
 *     passes x (log2(p) a + n (p - 1) / (p B))
 *
 * Near partners exchange the halves first, so that of n bytes only n / (ranks inside) leave a node per rank. */
#include "cluster/collective_algorithms.h"
#include "cluster/schedule.h"

#include "base/checked.h"

static bool halving_applies(const struct hw_cluster *cluster, const struct hw_slice *slice,
                            const struct collective_request *request) {
  (void)cluster, (void)slice;
  uint32_t p = request->shape.size;
  bool is_power = p > 0 && (p & (p - 1)) == 0;
  for (uint32_t d = 0; d < HW_DIMENSIONS_MAX && is_power; d++) {
    uint32_t extent = request->shape.extent[d];
    is_power = extent <= 1 || (extent & (extent - 1)) == 0;
  }
  return is_power && request->shape.is_regular && collective_is_reduction_or_gather(request->kind);
}

static void halving_with(const struct collective_case *of, enum collective_protocol protocol,
                         struct collective_result *result) {
  const struct group_shape *shape = &of->request->shape;
  double held = of->request->bytes, latency_s = 0, transfer_s = 0, passes = collective_passes(of->request->kind);
  uint32_t steps = 0;
  for (uint32_t d = 0; d < of->cluster->dimension_count; d++) {
    if (shape->extent[d] <= 1) {
      continue;
    }
    double extent = shape->extent[d], Bps = collective_link_Bps(of, d) * collective_efficiency(of, d, protocol);
    bool is_ring = of->cluster->dimensions[d].fabric == HW_FABRIC_RING;
    for (uint32_t distance = 1; distance < shape->extent[d]; distance *= 2, steps++) {
      /* partners round a ring are so many links away, which this many pairs share */
      double hops = is_ring ? distance : 1, bytes = held / (2 * distance);
      latency_s += collective_step_s(of, d, protocol) + (hops - 1) * of->cluster->dimensions[d].latency_s;
      transfer_s += bytes * hops / Bps;
    }
    result->sent_bytes[d] = passes * held * (extent - 1) / extent;
    held /= extent;
  }
  result->steps = (uint32_t)(passes * steps);
  result->protocol = collective_protocol_name(protocol);
  collective_finish(of, collective_start_s(of, protocol) + passes * latency_s, passes * transfer_s, result);
}

static void halving_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                         const struct collective_constants *constants, const struct collective_request *request,
                         struct collective_result *result) {
  struct collective_case of = {cluster, slice, constants->values, request};
  collective_best_protocol(&of, halving_with, result);
}

const struct collective_algorithm collective_halving_doubling = {
    .name = "halving_doubling",
    .summary = "recursive halving and doubling (Thakur, Rabenseifner and Gropp 2005)",
    .applies = halving_applies,
    .time = halving_time,
    .schedule = schedule_halving_doubling,
};
