/* A network of links that carries messages, event by event. Knows nothing of collectives or chips.
 *
 * A *link* has a capacity and a latency; a message takes a *route* of links and moves as a fluid: messages that share a link
 * share its capacity by max-min fairness, recomputed when a message starts or ends for the part of the network that is
 * connected with it through shared links. A message that is alone on its links costs O(route). Cut-through: a message leaves
 * its links bytes / rate after its start and arrives latency(route) later.
 *
 * Messages depend on messages: one starts when those it waits for have arrived and the one it follows has left its links
 * (first in, first out on a channel). Equal messages of one step over disjoint links of equal capacity may be given as one:
 * `copies` counts them for conservation and statistics, and a hop's `share` says how many of them cross that link.
 *
 * Fairness: progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2). Files: sim_network.c builds, sim_run.c runs,
 * sim_fairness.c shares links, sim_deadlock.c says who waits for whom. */
#ifndef RIDGELINE_SIM_SIM_NETWORK_H
#define RIDGELINE_SIM_SIM_NETWORK_H

#include <stddef.h>

#include "base/diag.h"
#include "base/status.h"
#include "sim/sim_events.h"

struct sim_network; /* opaque */
struct sim_network *sim_network_new(void);
void sim_network_free(struct sim_network *network);
/* Forgets the messages and their results; links and routes stay. */
void sim_network_clear(struct sim_network *network);

/* Capacity in bytes per second (> 0), latency of one traversal. Returns the link's number, UINT32_MAX when memory is
 * exhausted. */
uint32_t sim_link_add(struct sim_network *network, double capacity_Bps, sim_time_ps latency_ps);

enum { SIM_ROUTE_LOCAL = 0 }; /* the route without links: arrives at once */
struct sim_hop {
  uint32_t link;
  uint32_t share; /* how many of the message's copies cross it, at least 1: it takes share x rate of the capacity */
};
/* A route for any number of messages; hops are copied, repeated links added up. UINT32_MAX when memory is exhausted. */
uint32_t sim_route_add(struct sim_network *network, const struct sim_hop *hops, uint32_t count);

struct sim_message {
  uint32_t route;
  uint32_t copies; /* at least 1 */
  uint64_t bytes; /* payload, counted as sent and received */
  uint64_t wire_bytes; /* what the links carry for it: flags of a protocol, an efficiency below 1; 0 = bytes */
  sim_time_ps delay_ps; /* between the last arrival it waits for (or 0) and its start: launch, reduction */
  uint32_t tag; /* the caller's: collective, job */
};
/* Returns the message's number, counting from 0; UINT32_MAX when memory is exhausted or 2^31 messages are there. */
uint32_t sim_message_add(struct sim_network *network, const struct sim_message *message);

enum sim_wait {
  SIM_ARRIVED, /* starts when `before` has arrived, `delay_ps` later */
  SIM_DEPARTED /* starts when `before` has left its links; no delay */
};
/* `message` waits for `before`; both were added. False when memory is exhausted. */
bool sim_message_wait(struct sim_network *network, uint32_t message, uint32_t before, enum sim_wait wait);

struct sim_limits {
  uint64_t max_events; /* 0 = 10^10 */
  bool (*is_cancelled)(void *context); /* may be NULL; asked every 65,536 events */
  void *context;
  /* Name of a tag in messages; NULL = its number. `text` has room for `capacity` bytes. */
  void (*tag_name)(void *context, uint32_t tag, char *text, size_t capacity);
};
struct sim_network_result {
  sim_time_ps end_ps; /* last arrival */
  uint64_t events; /* popped from the queue */
  uint64_t recomputed; /* times that rates of a part of the network were shared out anew */
  uint64_t messages; /* arrived, with copies counted */
  uint64_t sent_bytes, received_bytes; /* equal when all arrived */
  uint32_t waiting_count; /* messages that never started: a cycle; 0 */
};
/* Runs to the end. STATUS_LIMIT with the partial result when a limit is hit or the caller cancels; STATUS_INPUT when messages
 * wait for each other, with a diagnostic that names the tags of a cycle. Once per filling: sim_network_clear before the
 * next. `limits` may be NULL. */
enum status sim_network_run(struct sim_network *network, const struct sim_limits *limits, struct diag_list *diags,
                            struct sim_network_result *result);
/* UINT64_MAX for one that did not arrive. */
sim_time_ps sim_message_arrival(const struct sim_network *network, uint32_t message);
/* Wire bytes that went over a link (counted when a message leaves it), and the time that it was not idle. */
uint64_t sim_link_bytes(const struct sim_network *network, uint32_t link);
sim_time_ps sim_link_busy(const struct sim_network *network, uint32_t link);
uint32_t sim_message_count(const struct sim_network *network);
/* Memory that the network holds. */
uint64_t sim_network_bytes(const struct sim_network *network);

#endif
