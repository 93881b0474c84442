/* Every rank exchanges with every other at once.
 *
 *     all-to-all            a + n (p - 1) / (p B)
 *     two-shot all-reduce   2 (b + n (p - 1) / (p B))      reduce-scatter, then all-gather; one pass for those
 *     one-shot all-reduce   b + n (p - 1) / B              everyone reads all of everyone
 *
 * B are all links of a rank, b the barrier of the kernel, a the meeting of the ranks with what each partner adds. On a torus
 * the all-to-all is bound by its fullest link: along a ring of k, closed k n / (8 link), open k n / (4 link) (uniform traffic,
 * shortest ways; Dally and Towles, Principles and Practices of Interconnection Networks, 2004, chapter 3). Traffic inside
 * and outside of nodes overlaps. Kernels with one or two shots: XLA's and vLLM's all-reduce. */
#include "cluster/collective_algorithms.h"
#include "cluster/schedule.h"

#include <math.h>

static bool has_kind(const struct collective_request *request) {
  return request->kind == WORK_ALL_TO_ALL || collective_is_reduction_or_gather(request->kind);
}

static bool direct_applies(const struct hw_cluster *cluster, const struct hw_slice *slice,
                           const struct collective_request *request) {
  (void)cluster, (void)slice;
  return has_kind(request);
}

static bool one_shot_applies(const struct hw_cluster *cluster, const struct hw_slice *slice,
                             const struct collective_request *request) {
  (void)cluster, (void)slice;
  return request->kind == WORK_ALL_REDUCE;
}

static bool has_protocols(const struct hw_cluster *cluster) {
  enum collective_protocol first, last;
  collective_protocols_of(cluster, &first, &last);
  return last != COLLECTIVE_PLAIN;
}

/* Uniform traffic along one dimension at its full rate: every rank sends `bytes` evenly to all ranks of the group, itself
 * included. */
static double spread_s(const struct collective_case *of, uint32_t d, double bytes) {
  const struct group_shape *shape = &of->request->shape;
  const struct hw_dimension *dimension = &of->cluster->dimensions[d];
  double k = shape->extent[d], link_Bps = collective_link_Bps(of, d), ports_s = bytes * (k - 1) / k / link_Bps;
  if (dimension->fabric == HW_FABRIC_RING) {
    double pairs = floor(k * k / 4) / k; /* sum of the shorter ways from one rank / k, k / 4 for even k */
    return pairs * bytes / ((shape->is_closed[d] ? 2 : 1) * link_Bps);
  }
  if (dimension->fabric == HW_FABRIC_MESH) {
    return bytes / k / link_Bps;
  }
  bool has_leaves = dimension->fabric == HW_FABRIC_FAT_TREE && dimension->leaf_units > shape->stride[d];
  if (!has_leaves || !(dimension->taper > 0 && dimension->taper < 1)) {
    return ports_s; /* where every hop leaves its leaf, link_Bps has the taper */
  }
  double below = floor((double)dimension->leaf_units / shape->stride[d]), away = fmax(0, (k - below) / k);
  return fmax(ports_s, bytes * away / (link_Bps * dimension->taper));
}

/* The dimension that holds up longest, inside and between nodes; sent bytes. */
static void spread_all(const struct collective_case *of, double bytes, double passes, double *inside_s,
                       double *network_s, struct collective_result *result) {
  const struct group_shape *shape = &of->request->shape;
  *inside_s = *network_s = 0;
  for (uint32_t d = 0; d < of->cluster->dimension_count; d++) {
    double k = shape->extent[d];
    if (shape->extent[d] > 1) {
      double *longest_s = of->cluster->dimensions[d].fabric == HW_FABRIC_FAT_TREE ? network_s : inside_s;
      *longest_s = fmax(*longest_s, spread_s(of, d, bytes));
      result->sent_bytes[d] = passes * bytes * (k - 1) / k;
    }
  }
}

/* To the farthest rank, over links alone. */
static double way_s(const struct collective_case *of) {
  const struct group_shape *shape = &of->request->shape;
  double sum_s = 0;
  for (uint32_t d = 0; d < of->cluster->dimension_count; d++) {
    uint32_t k = shape->extent[d];
    bool is_ring = of->cluster->dimensions[d].fabric == HW_FABRIC_RING;
    uint32_t hops = !is_ring ? 1 : shape->is_closed[d] ? k / 2 : k - 1;
    sum_s += k > 1 ? hops * collective_step_s(of, d, COLLECTIVE_PLAIN) : 0;
  }
  return sum_s;
}

/* Of an all-to-all, like protocols: flags beside words, few channels, or all channels, which take longest to start; the
 * shortest counts. `wire_s` is at the link's full rate. */
static void channels_time(const double *constants, double wire_s, double *start_s, double *transfer_s) {
  const double starts_s[] = {0, constants[COLLECTIVE_DIRECT_FEW_START], constants[COLLECTIVE_DIRECT_START]};
  const double efficiencies[] = {constants[COLLECTIVE_DIRECT_LL_EFFICIENCY],
                                 constants[COLLECTIVE_DIRECT_FEW_EFFICIENCY], constants[COLLECTIVE_DIRECT_EFFICIENCY]};
  double least = INFINITY;
  for (int i = 0; i < 3; i++) {
    double sum_s = starts_s[i] + wire_s / efficiencies[i];
    double weighed = i == 2 ? sum_s / constants[COLLECTIVE_DIRECT_EAGERNESS] : sum_s;
    if (weighed < least) {
      least = weighed;
      *start_s = starts_s[i];
      *transfer_s = wire_s / efficiencies[i];
    }
  }
}

/* Step latency and transfer of one exchange that every rank makes with all others. */
static void exchange(const struct collective_case *of, double bytes, bool is_one_shot, double *latency_s,
                     double *transfer_s, struct collective_result *result) {
  double inside_s, network_s, start_s = 0;
  const double *constants = of->constants;
  spread_all(of, bytes, is_one_shot ? 1 : collective_passes(of->request->kind), &inside_s, &network_s, result);
  if (!has_protocols(of->cluster)) {
    *latency_s = way_s(of);
    *transfer_s =
        fmax(inside_s / constants[COLLECTIVE_EFFICIENCY], network_s / constants[COLLECTIVE_NETWORK_EFFICIENCY]);
    return;
  }
  if (of->request->kind == WORK_ALL_TO_ALL) {
    double p = of->request->shape.size;
    /* the rank's own part is copied as fast as that many links */
    double own_s = inside_s > 0 ? inside_s / (p - 1) / constants[COLLECTIVE_DIRECT_COPY] : 0;
    channels_time(constants, inside_s + own_s, &start_s, transfer_s);
    *latency_s = constants[COLLECTIVE_DIRECT_LATENCY] + (p - 1) * constants[COLLECTIVE_DIRECT_STEP] + start_s;
  } else {
    *transfer_s = inside_s / constants[is_one_shot ? COLLECTIVE_ONE_SHOT_EFFICIENCY : COLLECTIVE_SHOT_EFFICIENCY];
    *latency_s = constants[COLLECTIVE_SHOT_BARRIER];
  }
  *transfer_s = fmax(*transfer_s, network_s / constants[COLLECTIVE_NETWORK_EFFICIENCY]);
  *latency_s += network_s > 0 ? constants[COLLECTIVE_SIMPLE_NETWORK_STEP] : 0;
}

/* Kernels beside a library with protocols start like any kernel. */
static void finish_kernel(const struct collective_case *of, struct collective_result *result) {
  if (has_protocols(of->cluster) && of->request->kind != WORK_ALL_TO_ALL) {
    result->time_s += of->constants[COLLECTIVE_SHOT_LAUNCH] - result->launch_s;
    result->launch_s = of->constants[COLLECTIVE_SHOT_LAUNCH];
  }
}

static void direct_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                        const struct collective_constants *constants, const struct collective_request *request,
                        struct collective_result *result) {
  struct collective_case of = {cluster, slice, constants->values, request};
  double latency_s, transfer_s, passes = collective_passes(request->kind);
  exchange(&of, request->bytes, false, &latency_s, &transfer_s, result);
  result->steps = (uint32_t)passes;
  result->protocol = "";
  collective_finish(&of, passes * latency_s, passes * transfer_s, result);
  finish_kernel(&of, result);
}

static void one_shot_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                          const struct collective_constants *constants, const struct collective_request *request,
                          struct collective_result *result) {
  struct collective_case of = {cluster, slice, constants->values, request};
  double latency_s, transfer_s;
  exchange(&of, request->bytes * request->shape.size, true, &latency_s, &transfer_s, result);
  result->steps = 1;
  result->protocol = "";
  collective_finish(&of, latency_s, transfer_s, result);
  finish_kernel(&of, result);
}

const struct collective_algorithm collective_direct = {
    .name = "direct",
    .summary =
        "all pairs at once; two-shot all-reduce (XLA and vLLM kernels); torus: fullest link (Dally and Towles 2004)",
    .applies = direct_applies,
    .time = direct_time,
    .schedule = schedule_direct,
};

const struct collective_algorithm collective_one_shot = {
    .name = "one_shot",
    .summary = "every rank reads all of every other (XLA and vLLM kernels)",
    .applies = one_shot_applies,
    .time = one_shot_time,
    .schedule = schedule_one_shot,
};
