/* Levels of a group, and the cost of messages on them. */
#include "cluster/collective_cost.h"

#include <math.h>

#include "base/checked.h"

static uint32_t times(uint32_t a, uint32_t b) {
  uint64_t product = sat_mul_u64(a, b);
  return product < UINT32_MAX ? (uint32_t)product : UINT32_MAX;
}

void collective_levels_of(const struct hw_cluster *cluster, const struct group_shape *shape,
                          struct collective_levels *levels) {
  uint32_t inner = 1;
  *levels = (struct collective_levels){0};
  for (uint32_t d = 0; d < cluster->dimension_count; d++) {
    if (shape->extent[d] <= 1) {
      continue;
    }
    enum hw_fabric fabric = cluster->dimensions[d].fabric;
    struct collective_level *last = levels->count > 0 ? &levels->list[levels->count - 1] : NULL;
    if (last != NULL && fabric == HW_FABRIC_RING && last->fabric == HW_FABRIC_RING) {
      last->count = d - last->first + 1;
      last->ranks = times(last->ranks, shape->extent[d]);
    } else {
      levels->list[levels->count++] = (struct collective_level){
          .fabric = fabric, .first = d, .count = 1, .ranks = shape->extent[d], .inner = inner};
    }
    inner = times(inner, shape->extent[d]);
  }
}

uint32_t collective_inside_count(const struct collective_levels *levels) {
  uint32_t count = levels->count;
  while (count > 0 && levels->list[count - 1].fabric == HW_FABRIC_FAT_TREE) {
    count--;
  }
  return count;
}

const char *collective_protocol_name(enum collective_protocol protocol) {
  static const char *const names[] = {"ll", "ll128", "simple", ""};
  return names[protocol];
}

uint32_t collective_passes(enum work_collective_kind kind) {
  return kind == WORK_ALL_REDUCE ? 2 : 1;
}

bool collective_is_reduction_or_gather(enum work_collective_kind kind) {
  return kind == WORK_ALL_REDUCE || kind == WORK_ALL_GATHER || kind == WORK_REDUCE_SCATTER;
}

/* Part of a device's share of a fat tree that neighbours of the group get: all below one leaf, `taper` where every hop
 * leaves it. Neighbours that are closer cross between leaves at few places only. */
static double tree_share(const struct hw_dimension *dimension, uint32_t stride) {
  bool always_leaves = dimension->leaf_units > 0 && stride >= dimension->leaf_units;
  return always_leaves && dimension->taper > 0 && dimension->taper < 1 ? dimension->taper : 1;
}

static double links_of_mesh(const struct collective_case *of, uint32_t d) {
  uint32_t size = of->cluster->dimensions[d].size, in_slice = of->slice->size[d];
  return (size > in_slice ? size : in_slice) > 1 ? (size > in_slice ? size : in_slice) - 1 : 1;
}

/* What a rank gets of its link where a switch is a tree of shared bridges. */
static double crowding(const struct collective_case *of, uint32_t ranks) {
  double power = of->constants[COLLECTIVE_CROWDING];
  return power > 0 && ranks > 2 ? pow(2.0 / ranks, power) : 1;
}

double collective_link_Bps(const struct collective_case *of, uint32_t d) {
  const struct hw_dimension *dimension = &of->cluster->dimensions[d];
  uint32_t stride = of->request->shape.stride[d] > 1 ? of->request->shape.stride[d] : 1;
  switch (dimension->fabric) {
  case HW_FABRIC_SWITCH:
    return dimension->link_Bps * crowding(of, of->request->shape.extent[d]);
  case HW_FABRIC_MESH:
    return dimension->link_Bps / links_of_mesh(of, d);
  case HW_FABRIC_RING:
    return dimension->link_Bps / stride;
  case HW_FABRIC_FAT_TREE:
    return dimension->link_Bps * tree_share(dimension, stride);
  }
  return dimension->link_Bps;
}

double collective_all_links_Bps(const struct collective_case *of, uint32_t d) {
  const struct group_shape *shape = &of->request->shape;
  double link_Bps = collective_link_Bps(of, d);
  switch (of->cluster->dimensions[d].fabric) {
  case HW_FABRIC_MESH:
    return link_Bps * (shape->extent[d] > 1 ? shape->extent[d] - 1 : 1);
  case HW_FABRIC_RING:
    return shape->is_closed[d] ? 2 * link_Bps : link_Bps;
  default:
    return link_Bps;
  }
}

double collective_efficiency(const struct collective_case *of, uint32_t d, enum collective_protocol protocol) {
  static const enum collective_constant ids[] = {COLLECTIVE_LL_EFFICIENCY, COLLECTIVE_LL128_EFFICIENCY,
                                                 COLLECTIVE_SIMPLE_EFFICIENCY, COLLECTIVE_EFFICIENCY};
  double efficiency = of->constants[ids[protocol]];
  if (of->cluster->dimensions[d].fabric != HW_FABRIC_FAT_TREE) {
    return efficiency;
  }
  double of_best = efficiency / of->constants[COLLECTIVE_SIMPLE_EFFICIENCY];
  return of->constants[COLLECTIVE_NETWORK_EFFICIENCY] * (protocol == COLLECTIVE_PLAIN || of_best > 1 ? 1 : of_best);
}

double collective_step_s(const struct collective_case *of, uint32_t d, enum collective_protocol protocol) {
  static const enum collective_constant inside[] = {COLLECTIVE_LL_STEP, COLLECTIVE_LL128_STEP, COLLECTIVE_SIMPLE_STEP};
  static const enum collective_constant network[] = {COLLECTIVE_LL_NETWORK_STEP, COLLECTIVE_LL128_NETWORK_STEP,
                                                     COLLECTIVE_SIMPLE_NETWORK_STEP};
  const struct hw_dimension *dimension = &of->cluster->dimensions[d];
  if (protocol == COLLECTIVE_PLAIN) {
    uint32_t stride = of->request->shape.stride[d];
    double hops = dimension->fabric == HW_FABRIC_RING && stride > 1 ? stride : 1;
    return of->constants[COLLECTIVE_STEP] + hops * dimension->latency_s;
  }
  return of->constants[(dimension->fabric == HW_FABRIC_FAT_TREE ? network : inside)[protocol]];
}

double collective_start_s(const struct collective_case *of, enum collective_protocol protocol) {
  return protocol == COLLECTIVE_LL128    ? of->constants[COLLECTIVE_LL128_START]
         : protocol == COLLECTIVE_SIMPLE ? of->constants[COLLECTIVE_SIMPLE_START]
                                         : 0;
}

double collective_own_bytes(const struct collective_case *of, enum collective_protocol protocol, double bytes) {
  return protocol == COLLECTIVE_PLAIN ? 0 : bytes / of->request->shape.size / of->constants[COLLECTIVE_COPY];
}

void collective_finish(const struct collective_case *of, double latency_s, double transfer_s,
                       struct collective_result *result) {
  result->launch_s = of->constants[COLLECTIVE_LAUNCH];
  result->latency_s = latency_s;
  result->transfer_s = transfer_s;
  result->time_s = result->launch_s + latency_s + transfer_s;
}
