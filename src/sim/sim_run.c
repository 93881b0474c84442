/* The loop of events: messages start, leave their links and arrive. All events of one time are handled before rates are
 * shared out, so that what starts together is seen together. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "sim/sim_network_int.h"

static const uint64_t default_max_events = 10000000000;
enum { CANCEL_EVERY = 65536 };

static uint32_t flow_new(struct sim_network *network) {
  uint32_t number = network->free_flow;
  if (number != SIM_NONE) {
    network->free_flow = network->flows.data[number].slot_first;
    return number;
  }
  number = (uint32_t)network->flows.count;
  return number < STATE_ARRIVED && vec_push(&network->flows, (struct flow){0}) ? number : SIM_NONE;
}

static uint32_t slot_new(struct sim_network *network) {
  uint32_t number = network->free_slot;
  if (number != SIM_NONE) {
    network->free_slot = network->slots.data[number].sibling;
    return number;
  }
  number = (uint32_t)network->slots.count;
  return number < SIM_NONE && vec_push(&network->slots, (struct slot){0}) ? number : SIM_NONE;
}

static void slot_join(struct sim_network *network, uint32_t number, uint32_t flow, const struct sim_hop *hop,
                      sim_time_ps now_ps) {
  struct link *link = &network->links.data[hop->link];
  struct slot *slot = &network->slots.data[number];
  *slot = (struct slot){flow, hop->link, hop->share, link->slot_first, SIM_NONE, network->flows.data[flow].slot_first};
  if (link->slot_first != SIM_NONE) {
    network->slots.data[link->slot_first].previous = number;
  } else {
    link->busy_since_ps = now_ps;
  }
  link->slot_first = number;
  link->slot_count++;
  network->flows.data[flow].slot_first = number;
}

/* Puts a message on its links; its rate is found when the batch is over. */
static bool flow_start(struct sim_network *network, uint32_t message, sim_time_ps now_ps) {
  struct message *m = &network->messages.data[message];
  const struct route *route = &network->routes.data[m->route];
  uint32_t number = flow_new(network);
  if (number == SIM_NONE || !vec_push(&network->started, number)) {
    return false;
  }
  network->flows.data[number] = (struct flow){.rest_bytes = (double)m->wire_bytes,
                                              .since_ps = now_ps,
                                              .end_ps = UINT64_MAX,
                                              .message = message,
                                              .slot_first = SIM_NONE};
  m->flow = number;
  for (uint32_t i = 0; i < route->hop_count; i++) {
    uint32_t slot = slot_new(network);
    if (slot == SIM_NONE) {
      return false;
    }
    slot_join(network, slot, number, &network->hops.data[route->hop_first + i], now_ps);
  }
  return true;
}

/* Takes a flow off its links; those that it shared are to be shared out anew. */
static bool flow_end(struct sim_network *network, uint32_t number, sim_time_ps now_ps) {
  struct flow *flow = &network->flows.data[number];
  uint64_t wire_bytes = network->messages.data[flow->message].wire_bytes;
  uint32_t at = flow->slot_first;
  while (at != SIM_NONE) {
    struct slot *slot = &network->slots.data[at];
    struct link *link = &network->links.data[slot->link];
    *(slot->previous == SIM_NONE ? &link->slot_first : &network->slots.data[slot->previous].next) = slot->next;
    if (slot->next != SIM_NONE) {
      network->slots.data[slot->next].previous = slot->previous;
    }
    link->bytes = sat_add_u64(link->bytes, sat_mul_u64(wire_bytes, slot->share));
    if (--link->slot_count == 0) {
      link->busy_ps += now_ps - link->busy_since_ps;
    } else if (!link->is_dirty) {
      link->is_dirty = true;
      if (!vec_push(&network->dirty, slot->link)) {
        return false;
      }
    }
    uint32_t next = slot->sibling;
    slot->sibling = network->free_slot;
    network->free_slot = at;
    at = next;
  }
  flow->slot_first = network->free_flow;
  network->free_flow = number;
  return true;
}

/* A message has left its links: it arrives after the route's latency, and those that wait for it get to know when. */
static bool depart(struct sim_network *network, uint32_t number, sim_time_ps now_ps,
                   struct sim_network_result *result) {
  struct message *message = &network->messages.data[number];
  sim_time_ps arrival_ps = sat_add_u64(now_ps, network->routes.data[message->route].latency_ps);
  message->ready_ps = arrival_ps;
  message->flow = STATE_ARRIVED;
  result->end_ps = arrival_ps > result->end_ps ? arrival_ps : result->end_ps;
  result->messages += message->copies;
  result->received_bytes = sat_add_u64(result->received_bytes, sat_mul_u64(message->bytes, message->copies));
  for (uint32_t i = message->edge_first; i != SIM_NONE; i = network->edges.data[i].next) {
    uint32_t waiter = network->edges.data[i].waiter;
    struct message *next = &network->messages.data[waiter >> 1];
    sim_time_ps ready_ps = (waiter & 1) == SIM_ARRIVED ? sat_add_u64(arrival_ps, next->delay_ps) : now_ps;
    next->ready_ps = ready_ps > next->ready_ps ? ready_ps : next->ready_ps;
    if (--next->waits == 0
        && !sim_queue_push(network->queue, (struct sim_event){next->ready_ps, EVENT_START, waiter >> 1})) {
      return false;
    }
  }
  return true;
}

static bool handle(struct sim_network *network, const struct sim_event *event, struct sim_network_result *result) {
  struct message *message = &network->messages.data[event->subject];
  if (event->kind == EVENT_START) {
    result->sent_bytes = sat_add_u64(result->sent_bytes, sat_mul_u64(message->bytes, message->copies));
    if (message->wire_bytes == 0 || network->routes.data[message->route].hop_count == 0) {
      return depart(network, event->subject, event->time_ps, result);
    }
    return flow_start(network, event->subject, event->time_ps);
  }
  /* an end that a change of rates has put off or forward is stale */
  if (message->flow >= STATE_ARRIVED || network->flows.data[message->flow].end_ps != event->time_ps) {
    return true;
  }
  return flow_end(network, message->flow, event->time_ps) && depart(network, event->subject, event->time_ps, result);
}

void network_schedule_end(struct sim_network *network, uint32_t number) {
  struct flow *flow = &network->flows.data[number];
  /* rounded up to a whole picosecond: never faster than the link */
  double rest_ps = flow->rest_bytes * 1e12 / flow->rate_Bps;
  sim_time_ps whole_ps = rest_ps < 1e19 ? (sim_time_ps)rest_ps : (sim_time_ps)1e19;
  whole_ps += (double)whole_ps < rest_ps;
  flow->end_ps = sat_add_u64(flow->since_ps, whole_ps);
  if (!sim_queue_push(network->queue, (struct sim_event){flow->end_ps, EVENT_END, flow->message})) {
    network->out_of_memory = true;
  }
}

static enum status check_limits(const struct sim_limits *limits, uint64_t events, struct diag_list *diags) {
  uint64_t max_events = limits != NULL && limits->max_events != 0 ? limits->max_events : default_max_events;
  if (events >= max_events) {
    diag_at(diags, DIAG_E0902_NETWORK_LIMIT, NULL, 0,
            "the simulation of the network was stopped after %" PRIu64 " events", events);
    return STATUS_LIMIT;
  }
  if (events % CANCEL_EVERY == 0 && limits != NULL && limits->is_cancelled != NULL
      && limits->is_cancelled(limits->context)) {
    diag_at(diags, DIAG_E0902_NETWORK_LIMIT, NULL, 0,
            "the simulation of the network was cancelled after %" PRIu64 " events", events);
    return STATUS_LIMIT;
  }
  return STATUS_OK;
}

/* Messages that wait for nothing start the run. */
static bool push_first(struct sim_network *network) {
  for (size_t i = 0; i < network->messages.count; i++) {
    struct message *message = &network->messages.data[i];
    if (message->waits == 0
        && !sim_queue_push(network->queue, (struct sim_event){message->ready_ps, EVENT_START, (uint32_t)i})) {
      return false;
    }
  }
  return true;
}

static uint32_t count_waiting(const struct sim_network *network) {
  uint32_t count = 0;
  for (size_t i = 0; i < network->messages.count; i++) {
    count += network->messages.data[i].flow != STATE_ARRIVED;
  }
  return count;
}

static enum status run_events(struct sim_network *network, const struct sim_limits *limits, struct diag_list *diags,
                              struct sim_network_result *result) {
  struct sim_event event;
  while (sim_queue_pop(network->queue, &event)) {
    do {
      STATUS_TRY(check_limits(limits, result->events, diags));
      result->events++;
      if (!handle(network, &event, result)) {
        return STATUS_MEMORY;
      }
    } while (sim_queue_pop_at(network->queue, event.time_ps, &event));
    result->recomputed += network_share(network, event.time_ps);
    if (network->out_of_memory) {
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}

enum status sim_network_run(struct sim_network *network, const struct sim_limits *limits, struct diag_list *diags,
                            struct sim_network_result *result) {
  *result = (struct sim_network_result){0};
  if (!push_first(network)) {
    return STATUS_MEMORY;
  }
  STATUS_TRY(run_events(network, limits, diags, result));
  result->waiting_count = count_waiting(network);
  if (result->waiting_count > 0) {
    network_report_waiting(network, limits, diags, result->waiting_count);
    return STATUS_INPUT;
  }
  return STATUS_OK;
}
