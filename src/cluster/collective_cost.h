/* What the closed forms of collective_<algorithm>.c share: how a group splits into levels, and what a message costs there.
 *
 * A level is a dimension of the cluster, or a run of ring dimensions (a torus), along which the group has several members.
 * Levels are innermost first. Bandwidths are those of one rank and one direction. */
#ifndef RIDGELINE_CLUSTER_COLLECTIVE_COST_H
#define RIDGELINE_CLUSTER_COLLECTIVE_COST_H

#include "cluster/collective.h"

/* What a closed form is of. */
struct collective_case {
  const struct hw_cluster *cluster;
  const struct hw_slice *slice;
  const double *constants; /* by enum collective_constant */
  const struct collective_request *request;
};

struct collective_level {
  enum hw_fabric fabric;
  uint32_t first, count; /* dimensions; more than one only of rings */
  uint32_t ranks; /* members of the group along them */
  uint32_t inner; /* members of the group below one position */
};

struct collective_levels {
  uint32_t count;
  struct collective_level list[HW_DIMENSIONS_MAX];
};

void collective_levels_of(const struct hw_cluster *cluster, const struct group_shape *shape,
                          struct collective_levels *levels);
/* Levels that are fat trees, the outermost ones, come after this many others. */
uint32_t collective_inside_count(const struct collective_levels *levels);

enum collective_protocol {
  COLLECTIVE_LL,
  COLLECTIVE_LL128,
  COLLECTIVE_SIMPLE,
  COLLECTIVE_PROTOCOL_COUNT,
  COLLECTIVE_PLAIN = COLLECTIVE_PROTOCOL_COUNT /* of libraries that have no protocols */
};
const char *collective_protocol_name(enum collective_protocol protocol);

/* Passes over the data: all-reduce 2, others 1. */
uint32_t collective_passes(enum work_collective_kind kind);
bool collective_is_reduction_or_gather(enum work_collective_kind kind); /* all-reduce, all-gather, reduce-scatter */

/* Data-sheet rate of one message at a time from a rank along a dimension: neighbours of a ring, one other of a mesh. Groups
 * that share links (strides, tapered trees) get their part. */
double collective_link_Bps(const struct collective_case *of, uint32_t dimension);
/* Of all links of the rank in the dimension at once: both ways round a closed ring, to all members of a mesh. */
double collective_all_links_Bps(const struct collective_case *of, uint32_t dimension);
double collective_efficiency(const struct collective_case *of, uint32_t dimension, enum collective_protocol protocol);
/* One step along the dimension: message latency and what the library adds. */
double collective_step_s(const struct collective_case *of, uint32_t dimension, enum collective_protocol protocol);

/* Before the first step, of the protocol. */
double collective_start_s(const struct collective_case *of, enum collective_protocol protocol);
/* Bytes that pass a rank's own kernel for its part of a gather or reduction, as if they went over the link at its full rate:
 * libraries with protocols handle n / p besides what they send. */
double collective_own_bytes(const struct collective_case *of, enum collective_protocol protocol, double bytes);

/* Sets time_s from launch (of the constants), latency and transfer. */
void collective_finish(const struct collective_case *of, double latency_s, double transfer_s,
                       struct collective_result *result);

#endif
