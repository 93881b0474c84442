/* The inside of a run: checking and driving (collective_run.c), classes of devices (collective_classes.c) and messages
 * (collective_expand.c). */
#ifndef RIDGELINE_CLUSTER_COLLECTIVE_RUN_INT_H
#define RIDGELINE_CLUSTER_COLLECTIVE_RUN_INT_H

#include "base/map.h"
#include "cluster/collective_fabric.h"
#include "cluster/collective_run.h"
#include "cluster/schedule.h"

/* One request with its schedule. Nodes are the devices, then the adders: one for each group of a schedule that has one. */
struct run_part {
  const struct collective_run_request *given;
  struct collective_schedule schedule;
  uint32_t adder_first;
  uint32_t message_first, message_end; /* of the network */
};

struct run {
  const struct collective_run_options *options;
  struct fabric fabric;
  struct sim_network *network;
  struct run_part *parts;
  uint32_t part_count;
  uint32_t node_count;
  /* classes: number of nodes in the node's class if it stands for the class, else 0; and who stands for it */
  uint32_t *class_size;
  uint32_t *representative;
  /* the same for links; collapsed runs only, else NULL */
  uint32_t *link_class_size;
  uint32_t *link_representative;
  uint32_t classes; /* of devices */
  /* what a device's call waits for: message of call (part, node), at part * node_count + node; UINT32_MAX = none.
   * NULL when nobody waits */
  uint32_t *gates;
  uint32_t *next_gates; /* gate of the device's next call */
  struct map routes;
};

enum { RUN_NONE = UINT32_MAX };

/* Calls `visit` for every message of a step of all groups: sender and receiver as nodes. False when one was false. */
typedef bool run_visit(void *context, uint32_t from, uint32_t to, uint32_t message, uint64_t bytes);
bool run_visit_step(const struct run_part *part, const struct collective_step *step, run_visit *visit, void *context);
/* Whether a step names the messages of an earlier one (schedule_repeat). */
bool run_step_is_copy(const struct collective_schedule *schedule, size_t step);
uint64_t run_hash(uint64_t a, uint64_t b);

/* Classes of nodes and links; every node is its own class where nothing is gained. */
enum status run_find_classes(struct run *run);
/* All messages of all parts. */
enum status run_expand(struct run *run, struct diag_list *diags);

#endif
