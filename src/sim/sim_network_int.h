/* The inside of a network: what building (sim_network.c), running (sim_run.c), sharing (sim_fairness.c) and diagnosis
 * (sim_deadlock.c) have in common. */
#ifndef RIDGELINE_SIM_SIM_NETWORK_INT_H
#define RIDGELINE_SIM_SIM_NETWORK_INT_H

#include "base/vec.h"
#include "sim/sim_network.h"

#define SIM_NONE UINT32_MAX

/* One cache line: a run touches each message twice. */
struct message {
  uint64_t bytes, wire_bytes;
  sim_time_ps delay_ps;
  sim_time_ps ready_ps; /* waiting: earliest start so far; arrived: arrival */
  uint32_t route;
  uint32_t edge_first; /* edges to those that wait for it; SIM_NONE = none */
  uint32_t waits; /* messages it still waits for */
  uint32_t copies, tag;
  uint32_t flow; /* its flow, or one of enum message_state */
};
enum message_state { MESSAGE_WAITING = -1, MESSAGE_ARRIVED = -2 }; /* as uint32_t: above all flow numbers */
#define STATE_WAITING ((uint32_t)MESSAGE_WAITING)
#define STATE_ARRIVED ((uint32_t)MESSAGE_ARRIVED)

struct edge {
  uint32_t waiter; /* message << 1 | enum sim_wait */
  uint32_t next;
};

struct route {
  uint32_t hop_first, hop_count;
  sim_time_ps latency_ps;
};

/* A message on its links. */
struct flow {
  double rest_bytes; /* wire bytes at since_ps */
  double rate_Bps; /* of one copy; 0 = not yet known */
  double old_rate_Bps; /* while rates are shared out */
  sim_time_ps since_ps, end_ps; /* end: UINT64_MAX = not yet known */
  uint32_t message;
  uint32_t slot_first; /* its slots are slot_first, then .sibling; also the chain of free flows */
  uint32_t visit; /* number of the last sharing that saw it */
};

/* A flow on one link. Slots of a link form a doubly linked list. */
struct slot {
  uint32_t flow, link, share;
  uint32_t next, previous; /* on the link */
  uint32_t sibling; /* of the flow; also the chain of free slots */
};

struct link {
  double capacity_Bps;
  sim_time_ps latency_ps;
  uint32_t slot_first, slot_count;
  uint32_t visit;
  bool is_dirty; /* its rates are to be shared out anew */
  uint64_t bytes;
  sim_time_ps busy_ps, busy_since_ps;
  /* while rates are shared out */
  double free_Bps; /* not yet given away */
  uint64_t open_share; /* sum over flows without a rate */
};

struct fill_key {
  double fair_Bps;
  uint32_t link;
};

struct sim_network {
  VEC(struct link) links;
  VEC(struct route) routes;
  VEC(struct sim_hop) hops;
  VEC(struct message) messages;
  VEC(struct edge) edges;
  VEC(struct flow) flows;
  VEC(struct slot) slots;
  uint32_t free_flow, free_slot;
  struct sim_queue *queue;
  /* work space of a batch of events at one time */
  VEC(uint32_t) started; /* flows */
  VEC(uint32_t) dirty; /* links */
  VEC(uint32_t) part_flows;
  VEC(uint32_t) part_links;
  VEC(struct fill_key) heap;
  uint32_t visit;
  bool out_of_memory;
};

enum { EVENT_START, EVENT_END };

/* Puts a flow's end into the queue. */
void network_schedule_end(struct sim_network *network, uint32_t flow);
/* Rates of all that started or shared a link with one that started or ended at `now_ps`. Returns how many parts were shared
 * out anew. */
uint64_t network_share(struct sim_network *network, sim_time_ps now_ps);
/* Reports who waits for whom. */
void network_report_waiting(const struct sim_network *network, const struct sim_limits *limits, struct diag_list *diags,
                            uint32_t waiting_count);

#endif
