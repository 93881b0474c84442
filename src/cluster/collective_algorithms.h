/* The algorithms, one file each; rows of collective_algorithms (collective_choose.c). */
#ifndef RIDGELINE_CLUSTER_COLLECTIVE_ALGORITHMS_H
#define RIDGELINE_CLUSTER_COLLECTIVE_ALGORITHMS_H

#include "cluster/collective_cost.h"

/* A part of a collective: one pass (reduce-scatter or all-gather) along one level, where each rank holds `bytes` of the
 * larger side. */
struct collective_phase {
  double latency_s, transfer_s;
  uint32_t steps;
  double sent_bytes[HW_DIMENSIONS_MAX];
};
/* Ring of a dimension, ring per dimension of a torus, all links of a mesh at once. */
void collective_phase_of(const struct collective_case *of, const struct collective_level *level, double bytes,
                         enum collective_protocol protocol, struct collective_phase *phase);

extern const struct collective_algorithm collective_ring, collective_tree, collective_halving_doubling,
    collective_direct, collective_one_shot, collective_nvls, collective_nvls_tree, collective_torus,
    collective_hierarchical, collective_permute;

/* Protocols that the cluster's library has: from `first` up to and with `last`; both PLAIN when it has none. */
void collective_protocols_of(const struct hw_cluster *cluster, enum collective_protocol *first,
                             enum collective_protocol *last);

/* Takes the fastest protocol of the library; `result` has the algorithm's name. */
typedef void collective_protocol_time(const struct collective_case *of, enum collective_protocol protocol,
                                      struct collective_result *result);
void collective_best_protocol(const struct collective_case *of, collective_protocol_time *time,
                              struct collective_result *result);

#endif
