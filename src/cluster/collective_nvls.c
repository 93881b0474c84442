/* Reduction and multicast in the switch (NVLink SHARP; Klenk et al., ISCA 2020). Every rank owns n / p: the switch adds that
 * part of all ranks up for it, and spreads what it stores,
 *
 *     all-reduce a + n (1 + 1/p) / B,   all-gather and reduce-scatter a + n / B
 *
 * per direction of a link. Across nodes ("nvls_tree") nodes' sums go through a double binary tree of their cards at the same
 * time, chunk by chunk: the slower one counts, and 2 log2(m) network steps come on top. */
#include "cluster/collective_algorithms.h"
#include "cluster/schedule.h"

#include <math.h>

#include "base/checked.h"

/* The group's innermost level is a switch that adds; then as many further levels as stated, all fat trees. */
static bool reduces_inside(const struct hw_cluster *cluster, const struct collective_request *request, bool has_nodes) {
  struct collective_levels levels;
  collective_levels_of(cluster, &request->shape, &levels);
  bool is_so = levels.count == (has_nodes ? 2u : 1u) && levels.list[0].fabric == HW_FABRIC_SWITCH
               && cluster->dimensions[levels.list[0].first].reduces;
  return is_so && (!has_nodes || (levels.list[1].fabric == HW_FABRIC_FAT_TREE && request->shape.is_regular));
}

static bool nvls_applies(const struct hw_cluster *cluster, const struct hw_slice *slice,
                         const struct collective_request *request) {
  (void)slice;
  bool is_taken = request->kind == WORK_ALL_GATHER || !request->no_switch_sums;
  return is_taken && collective_is_reduction_or_gather(request->kind) && reduces_inside(cluster, request, false);
}

static bool nvls_tree_applies(const struct hw_cluster *cluster, const struct hw_slice *slice,
                              const struct collective_request *request) {
  (void)slice;
  return request->kind == WORK_ALL_REDUCE && !request->no_switch_sums && reduces_inside(cluster, request, true);
}

/* Of one switch with p ranks. */
static double switch_s(const struct collective_case *of, uint32_t d, double p, double *sent_bytes) {
  double bytes = of->request->bytes;
  *sent_bytes = of->request->kind == WORK_ALL_REDUCE       ? bytes * (1 + 1 / p)
                : of->request->kind == WORK_REDUCE_SCATTER ? bytes
                                                           : bytes / p;
  double fullest = of->request->kind == WORK_ALL_REDUCE ? bytes * (1 + 1 / p) : bytes;
  return fullest / (collective_link_Bps(of, d) * of->constants[COLLECTIVE_NVLS_EFFICIENCY]);
}

static void nvls_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                      const struct collective_constants *constants, const struct collective_request *request,
                      struct collective_result *result) {
  struct collective_case of = {cluster, slice, constants->values, request};
  struct collective_levels levels;
  collective_levels_of(cluster, &request->shape, &levels);
  uint32_t d = levels.list[0].first;
  double transfer_s = switch_s(&of, d, levels.list[0].ranks, &result->sent_bytes[d]);
  result->steps = 2;
  result->protocol = collective_protocol_name(COLLECTIVE_SIMPLE);
  collective_finish(&of, constants->values[COLLECTIVE_NVLS_LATENCY], transfer_s, result);
}

static void nvls_tree_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                           const struct collective_constants *constants, const struct collective_request *request,
                           struct collective_result *result) {
  struct collective_case of = {cluster, slice, constants->values, request};
  struct collective_levels levels;
  collective_levels_of(cluster, &request->shape, &levels);
  const struct collective_level *inside = &levels.list[0], *nodes = &levels.list[1];
  double transfer_s = switch_s(&of, inside->first, inside->ranks, &result->sent_bytes[inside->first]);
  double sent = 2 * request->bytes / inside->ranks, height = (double)ceil_log2_u64(nodes->ranks);
  double tree_Bps = collective_link_Bps(&of, nodes->first) * constants->values[COLLECTIVE_NETWORK_EFFICIENCY];
  result->sent_bytes[nodes->first] = sent;
  result->steps = 2 + (uint32_t)(2 * height);
  result->protocol = collective_protocol_name(COLLECTIVE_SIMPLE);
  double latency_s =
      constants->values[COLLECTIVE_NVLS_LATENCY] + 2 * height * constants->values[COLLECTIVE_SIMPLE_NETWORK_STEP];
  collective_finish(&of, latency_s, fmax(transfer_s, sent / (tree_Bps * constants->values[COLLECTIVE_TREE_EFFICIENCY])),
                    result);
}

const struct collective_algorithm collective_nvls = {
    .name = "nvls",
    .summary = "reduction and multicast in the switch (Klenk et al. 2020)",
    .applies = nvls_applies,
    .time = nvls_time,
    .schedule = schedule_nvls,
};

const struct collective_algorithm collective_nvls_tree = {
    .name = "nvls_tree",
    .summary = "reduction in the switches of nodes, double binary tree between them (NCCL)",
    .applies = nvls_tree_applies,
    .time = nvls_tree_time,
};
