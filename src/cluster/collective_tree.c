/* Pipelined double binary tree (Sanders, Speck and Träff, Parallel Computing 35, 2009): every rank is inner node of one tree
 * and leaf of the other, each with half of the data,
 *
 *     all-reduce 2 log2(p) a + 2 n / B,   broadcast and reduce log2(p) a + n / B
 *
 * Across nodes B is that of all cards of a node. NCCL builds the tree over hosts; the u ranks of a host hang on it as a chain,
 * u - 1 + log2(p / u) steps (its src/graph/tuning.cc). */
#include "cluster/collective_algorithms.h"
#include "cluster/schedule.h"

#include <math.h>

#include "base/checked.h"

static bool tree_applies(const struct hw_cluster *cluster, const struct hw_slice *slice,
                         const struct collective_request *request) {
  (void)cluster, (void)slice;
  return request->kind == WORK_ALL_REDUCE || request->kind == WORK_COLLECTIVE_BROADCAST
         || request->kind == WORK_COLLECTIVE_REDUCE;
}

/* Steps from a leaf to the root: along the chain of a host, and up the tree of hosts. */
static double height_of(const struct collective_case *of, uint32_t ranks, bool is_network) {
  uint64_t unit = is_network ? 1 : (uint64_t)of->constants[COLLECTIVE_TREE_UNIT];
  uint64_t chain = unit < ranks ? unit : ranks;
  return (double)(chain - 1 + ceil_log2_u64(ceil_div_u64(ranks, chain)));
}

static void tree_with(const struct collective_case *of, enum collective_protocol protocol,
                      struct collective_result *result) {
  struct collective_levels levels;
  const struct group_shape *shape = &of->request->shape;
  collective_levels_of(of->cluster, shape, &levels);
  double latency_s = 0, Bps = INFINITY, steps = 0;
  double passes = collective_passes(of->request->kind), sent = passes * of->request->bytes;
  for (uint32_t i = 0; i < levels.count; i++) {
    const struct collective_level *level = &levels.list[i];
    bool is_network = level->fabric == HW_FABRIC_FAT_TREE;
    double height = height_of(of, level->ranks, is_network);
    double cards = is_network && shape->is_regular ? level->inner : 1;
    steps += height;
    latency_s += height * collective_step_s(of, level->first, protocol);
    Bps = fmin(Bps, cards * collective_link_Bps(of, level->first) * collective_efficiency(of, level->first, protocol));
    result->sent_bytes[level->first] = sent / cards;
  }
  result->steps = (uint32_t)(passes * steps);
  result->protocol = collective_protocol_name(protocol);
  collective_finish(of, collective_start_s(of, protocol) + passes * latency_s,
                    sent / (Bps * of->constants[COLLECTIVE_TREE_EFFICIENCY]), result);
}

static void tree_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                      const struct collective_constants *constants, const struct collective_request *request,
                      struct collective_result *result) {
  struct collective_case of = {cluster, slice, constants->values, request};
  collective_best_protocol(&of, tree_with, result);
}

const struct collective_algorithm collective_tree = {
    .name = "tree",
    .summary = "pipelined double binary tree (Sanders, Speck and Träff 2009)",
    .applies = tree_applies,
    .time = tree_time,
    .schedule = schedule_tree,
};
