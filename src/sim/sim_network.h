/* A network of links that carries messages, event by event. Knows nothing of collectives or chips.
 *
 * A *link* has a capacity and a latency; a message takes a *route* of links and moves as a fluid: messages that share a link
 * share its capacity by max-min fairness, recomputed when a message starts or ends on a connected part of the network.
 * Messages depend on messages: one starts when those it waits for have arrived (and `start_after_ps`). Cut-through: a message
 * arrives latency(route) + bytes / rate after its start. Equal messages of one step over disjoint links of equal capacity may
 * be given as one with a multiplicity: `copies` counts them for conservation and statistics.
 *
 * Fairness: progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2). */
#ifndef RIDGELINE_SIM_SIM_NETWORK_H
#define RIDGELINE_SIM_SIM_NETWORK_H

#include "base/diag.h"
#include "base/status.h"
#include "sim/sim_events.h"

struct sim_network; /* opaque */
struct sim_network *sim_network_new(void);
void sim_network_free(struct sim_network *network);

/* Capacity in bytes per second, latency of one traversal. Returns the link's number, UINT32_MAX when memory is exhausted. */
uint32_t sim_link_add(struct sim_network *network, double capacity_Bps, sim_time_ps latency_ps);

struct sim_message {
  const uint32_t *route; /* links, in order; copied */
  uint32_t route_length; /* 0: local, arrives at once */
  uint64_t bytes;
  const uint32_t *after; /* messages that must have arrived before; copied */
  uint32_t after_count;
  sim_time_ps delay_ps; /* between the last of these and the start: launch, reduction */
  uint32_t copies; /* at least 1 */
  uint32_t tag; /* the caller's: collective, job */
};
/* Returns the message's number. Messages may be added before sim_network_run only. */
uint32_t sim_message_add(struct sim_network *network, const struct sim_message *message);

struct sim_limits {
  uint64_t max_events; /* 0 = 10^10 */
  bool (*is_cancelled)(void *context); /* may be NULL; asked every 65,536 events */
  void *context;
};
struct sim_network_result {
  sim_time_ps end_ps; /* last arrival */
  uint64_t events, messages; /* messages with copies counted */
  uint64_t sent_bytes, received_bytes; /* equal when all arrived */
  uint32_t waiting_count; /* messages that never started: a cycle; 0 */
};
/* Runs to the end. STATUS_LIMIT with the partial result when a limit is hit; STATUS_INPUT when messages wait for each other,
 * with a diagnostic that names the first of them and their tags. */
enum status sim_network_run(struct sim_network *network, const struct sim_limits *limits, struct diag_list *diags,
                            struct sim_network_result *result);
sim_time_ps sim_message_arrival(const struct sim_network *network, uint32_t message);
/* Bytes that went over a link, and the time it was busy. */
uint64_t sim_link_bytes(const struct sim_network *network, uint32_t link);

#endif
