/* A slice of a cluster as links of a network, and the route between two devices.
 *
 * Links of a device (both directions each), per dimension:
 *   SWITCH    its port: up to the crossbar, down from it. A switch that reduces has an adder, which is reached over `up` and
 *             answers over `down`.
 *   MESH      one to every other device of the dimension; link_Bps is split among size - 1 of them
 *   RING      to the next and to the previous neighbour
 *   FAT_TREE  its share of the network cards: up, down; and where the tree is tapered, one link per leaf up to the spine
 *             and down from it, with taper x what enters the leaf. The spine is non-blocking.
 * The latency of a hop is that of the dimension, on the way up. A message goes through the outermost switch or tree in which
 * its ends differ; that one reaches any device below it, so a message that leaves a node does so through its device's network
 * card. Meshes and rings are crossed in the order of the dimensions, rings the shorter way. */
#ifndef RIDGELINE_CLUSTER_COLLECTIVE_FABRIC_H
#define RIDGELINE_CLUSTER_COLLECTIVE_FABRIC_H

#include "hw/hw_cluster.h"
#include "sim/sim_network.h"

struct fabric_dimension {
  uint64_t inner; /* devices below one position */
  uint32_t size; /* positions in the slice */
  uint32_t links; /* number of its first link */
  uint32_t links_per_device;
  uint32_t spine; /* number of the first leaf's link to the spine; leaves have two; UINT32_MAX = no taper */
  uint32_t leaf_units; /* positions below one leaf */
};

struct fabric {
  const struct hw_cluster *cluster;
  const struct hw_slice *slice;
  struct sim_network *network; /* borrowed */
  uint32_t devices;
  uint32_t dimension_count;
  uint32_t link_count;
  struct fabric_dimension dimensions[HW_DIMENSIONS_MAX];
};

/* Adds the links to the network; without latencies when `has_latency` is false. */
enum status fabric_build(struct fabric *fabric, struct sim_network *network, const struct hw_cluster *cluster,
                         const struct hw_slice *slice, bool has_latency);
/* Outermost dimension in which two devices differ; 0 when one of them is an adder. */
uint32_t fabric_dimension(const struct fabric *fabric, uint32_t from, uint32_t to);

enum { FABRIC_ROUTE_MAX = 4096 }; /* links; the longest rings and lines that can be crossed */
/* Links between two devices; equal ways round a ring are taken upwards, or downwards when `is_downward`. A device number that
 * is not below `devices` is an adder of dimension 0. Returns their number; UINT32_MAX when there is no way or it is too
 * long. */
uint32_t fabric_route(const struct fabric *fabric, uint32_t from, uint32_t to, bool is_downward,
                      uint32_t links[FABRIC_ROUTE_MAX]);
/* Number of a link's sort: links of one sort have equal capacity and latency. */
uint32_t fabric_link_sort(const struct fabric *fabric, uint32_t link);

#endif
