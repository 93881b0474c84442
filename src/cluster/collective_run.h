/* Collectives run as messages on the links of a slice: the event-driven fidelity.
 *
 * Path: requests (kind, bytes, groups, algorithm) → schedule (schedule.h) → messages on links (collective_fabric.h) →
 * sim/sim_network.h → times. Several collectives share the links. docs/network-simulation.md says what is modelled.
 *
 * Explicit: every device sends its own messages. Collapsed: devices whose messages are alike in all steps are one class
 * (colour refinement, collective_classes.c), and a class sends the messages of one member; times are the same, because
 * members of a class have equal rates at all times. */
#ifndef RIDGELINE_CLUSTER_COLLECTIVE_RUN_H
#define RIDGELINE_CLUSTER_COLLECTIVE_RUN_H

#include "cluster/collective.h"
#include "sim/sim_network.h"

/* What a library adds to the links' own latency and bandwidth. A message counts for the outermost dimension in which its ends
 * differ. */
struct collective_run_costs {
  double launch_s; /* before the first message of a device */
  double step_s[HW_DIMENSIONS_MAX]; /* before every message, after what it waits for */
  double wire_factor[HW_DIMENSIONS_MAX]; /* bytes on the links per byte of data: 1 / efficiency; 0 = 1 */
};

struct collective_run_request {
  struct collective_request request; /* the shape is that of one group */
  const char *algorithm; /* of schedule_find */
  const uint32_t *members; /* group_count x group_size devices; groups of other sizes are other requests */
  uint32_t group_count, group_size;
  const char *label; /* in messages; NULL = its number */
  struct collective_run_costs costs;
};

/* One device calls a collective. */
struct collective_call {
  uint32_t device, request;
};

struct collective_run_options {
  bool is_collapsed; /* where devices are alike; else explicit */
  /* All collectives start at once, unless the calls say in which order a device makes them (one stream per device: the next
   * one starts there when the last one has ended there). Calls of different devices may be in any order. */
  const struct collective_call *calls;
  size_t call_count;
  const double *device_delay_s; /* per device, before its first call; NULL = none */
  /* Steps of the costs are measured from end to end, so that hops add no latency of their own. */
  bool steps_cover_latency;
  uint32_t chunks; /* of pipelined algorithms; 0 = as schedule_chunks says */
  uint64_t max_messages; /* that are simulated; 0 = 2^25, about 3 GB */
  struct sim_limits limits; /* tag_name is set by the run */
};

struct collective_run_result {
  sim_time_ps end_ps; /* of the last collective */
  struct sim_network_result network;
  uint32_t classes; /* of devices; explicit: as many as devices */
  uint64_t simulated_messages; /* without copies */
  uint64_t memory_bytes; /* of the network */
};

/* `request_end_ps`: count times, the last arrival of each; may be NULL. STATUS_INPUT with a diagnostic: an algorithm without
 * messages or that cannot run on these groups, members beyond the slice or twice in a collective, a cycle of calls (which
 * names the collectives that wait for each other). STATUS_LIMIT: too many messages or events. */
enum status collective_run(const struct hw_cluster *cluster, const struct hw_slice *slice,
                           const struct collective_run_request *requests, size_t count,
                           const struct collective_run_options *options, struct diag_list *diags,
                           sim_time_ps *request_end_ps, struct collective_run_result *result);
/* Fills in algorithm (where it is NULL: the library's choice) and costs of requests from the constants of the analytic side,
 * and `steps_cover_latency`, so that one collective alone takes as long as collective_time says. */
void collective_run_prepare(const struct hw_cluster *cluster, const struct hw_slice *slice,
                            const struct collective_constants *constants, struct collective_run_request *requests,
                            size_t count, struct collective_run_options *options);

#endif
