/* Messages between pairs: collective-permute, send and receive.
 *
 *     a + hops x l + n x s / B       s pairs share the busiest link
 *
 * NCCL sends short messages with flags, longer ones over few of its channels, large ones over all (channels_time). */
#include "cluster/collective_algorithms.h"
#include "cluster/schedule.h"

#include <math.h>

static bool permute_applies(const struct hw_cluster *cluster, const struct hw_slice *slice,
                            const struct collective_request *request) {
  (void)cluster, (void)slice;
  return request->kind == WORK_PERMUTE || request->kind == WORK_SEND_RECV;
}

/* Hops along a dimension; where the request says nothing, one along every dimension that the group spreads over. */
static uint32_t hops_along(const struct collective_request *request, uint32_t d) {
  bool is_stated = false;
  for (uint32_t i = 0; i < HW_DIMENSIONS_MAX; i++) {
    is_stated = is_stated || request->hops[i] > 0;
  }
  return is_stated ? request->hops[d] : request->shape.extent[d] > 1;
}

/* Channels that a pair has at first: 32 are shared out over the ranks that were joined (NCCL src/graph/paths.cc,
 * channels per peer). A send and its receive are joined as two. */
static double first_channels(const struct collective_request *request, const struct hw_slice *slice) {
  enum { CHANNELS = 32 };
  double ranks = request->kind == WORK_SEND_RECV ? 2 : fmin(2.0 * request->shape.count, (double)slice->devices);
  return fmax(1, CHANNELS / fmax(2, ranks));
}

/* `wire_s` is at the link's full rate. Short messages go with flags; longer ones over few channels, each of which takes up
 * to a part of the message, and more channels once there are more parts. */
static void channels_time(const double *values, double bytes, double wire_s, double channels, double *start_s,
                          double *transfer_s) {
  double part = fmin(1 / channels, values[COLLECTIVE_PERMUTE_PART] / fmax(bytes, 1));
  double flags_s = wire_s / values[COLLECTIVE_PERMUTE_LL_EFFICIENCY];
  double chunks_s = wire_s * fmax(part / values[COLLECTIVE_PERMUTE_CHANNEL], 1 / values[COLLECTIVE_PERMUTE_EFFICIENCY]);
  bool has_flags = flags_s <= values[COLLECTIVE_PERMUTE_START] + chunks_s;
  *start_s = has_flags ? 0 : values[COLLECTIVE_PERMUTE_START];
  *transfer_s = has_flags ? flags_s : chunks_s;
}

static void permute_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                         const struct collective_constants *constants, const struct collective_request *request,
                         struct collective_result *result) {
  struct collective_case of = {cluster, slice, constants->values, request};
  const double *values = constants->values;
  double inside_s = 0, network_s = 0, links_s = 0, start_s = 0, transfer_s;
  for (uint32_t d = 0; d < cluster->dimension_count; d++) {
    const struct hw_dimension *dimension = &cluster->dimensions[d];
    uint32_t hops = hops_along(request, d), sharing = request->sharing[d] > 1 ? request->sharing[d] : 1;
    if (hops > 0) {
      /* pairs that share a link are counted in `sharing`, not by stride */
      double link_Bps = dimension->fabric == HW_FABRIC_RING ? dimension->link_Bps : collective_link_Bps(&of, d);
      double *longest_s = dimension->fabric == HW_FABRIC_FAT_TREE ? &network_s : &inside_s;
      *longest_s = fmax(*longest_s, request->bytes * sharing / link_Bps);
      links_s += hops * dimension->latency_s;
      result->sent_bytes[d] = request->bytes;
    }
  }
  enum collective_protocol first, last;
  collective_protocols_of(cluster, &first, &last);
  double latency_s = values[COLLECTIVE_STEP] + links_s;
  if (last == COLLECTIVE_PLAIN) {
    transfer_s = inside_s / values[COLLECTIVE_EFFICIENCY];
  } else {
    channels_time(values, request->bytes, inside_s, first_channels(request, slice), &start_s, &transfer_s);
    latency_s = values[COLLECTIVE_PERMUTE_LATENCY] + start_s;
    latency_s += network_s > 0 ? values[COLLECTIVE_PERMUTE_NETWORK_STEP] : 0;
  }
  result->steps = 1;
  result->protocol = "";
  double network =
      values[last == COLLECTIVE_PLAIN ? COLLECTIVE_NETWORK_EFFICIENCY : COLLECTIVE_PERMUTE_NETWORK_EFFICIENCY];
  collective_finish(&of, latency_s, fmax(transfer_s, network_s / network), result);
}

const struct collective_algorithm collective_permute = {
    .name = "permute",
    .summary = "messages between pairs, sharing of links",
    .applies = permute_applies,
    .time = permute_time,
    .schedule = schedule_permute,
};
