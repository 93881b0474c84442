/* Networks: building them, and reading what a run left. */
#include <string.h>

#include "base/checked.h"
#include "sim/sim_network_int.h"

enum { MESSAGES_MAX = INT32_MAX };

struct sim_network *sim_network_new(void) {
  struct sim_network *network = calloc(1, sizeof *network);
  if (network == NULL) {
    return NULL;
  }
  network->free_flow = network->free_slot = SIM_NONE;
  network->queue = sim_queue_new();
  if (network->queue == NULL || !vec_push(&network->routes, (struct route){0})) {
    sim_network_free(network);
    return NULL;
  }
  return network;
}

void sim_network_free(struct sim_network *network) {
  if (network == NULL) {
    return;
  }
  vec_release(&network->links);
  vec_release(&network->routes);
  vec_release(&network->hops);
  vec_release(&network->messages);
  vec_release(&network->edges);
  vec_release(&network->flows);
  vec_release(&network->slots);
  vec_release(&network->started);
  vec_release(&network->dirty);
  vec_release(&network->part_flows);
  vec_release(&network->part_links);
  vec_release(&network->heap);
  sim_queue_free(network->queue);
  free(network);
}

void sim_network_clear(struct sim_network *network) {
  struct sim_event event;
  while (sim_queue_pop(network->queue, &event)) { /* what an interrupted run left */
  }
  vec_clear(&network->messages);
  vec_clear(&network->edges);
  vec_clear(&network->flows);
  vec_clear(&network->slots);
  vec_clear(&network->started);
  vec_clear(&network->dirty);
  network->free_flow = network->free_slot = SIM_NONE;
  network->out_of_memory = false;
  for (size_t i = 0; i < network->links.count; i++) {
    struct link *link = &network->links.data[i];
    link->slot_first = SIM_NONE;
    link->slot_count = 0;
    link->is_dirty = false;
    link->bytes = 0;
    link->busy_ps = 0;
  }
}

uint32_t sim_link_add(struct sim_network *network, double capacity_Bps, sim_time_ps latency_ps) {
  struct link link = {.capacity_Bps = capacity_Bps, .latency_ps = latency_ps, .slot_first = SIM_NONE};
  uint32_t number = (uint32_t)network->links.count;
  return number < SIM_NONE && vec_push(&network->links, link) ? number : SIM_NONE;
}

uint32_t sim_route_add(struct sim_network *network, const struct sim_hop *hops, uint32_t count) {
  struct route route = {.hop_first = (uint32_t)network->hops.count};
  for (uint32_t i = 0; i < count; i++) {
    route.latency_ps = sat_add_u64(route.latency_ps, network->links.data[hops[i].link].latency_ps);
    struct sim_hop *same = NULL;
    for (uint32_t k = 0; k < route.hop_count && same == NULL; k++) {
      struct sim_hop *hop = &network->hops.data[route.hop_first + k];
      same = hop->link == hops[i].link ? hop : NULL;
    }
    if (same != NULL) {
      same->share += hops[i].share;
    } else if (vec_push(&network->hops, hops[i])) {
      route.hop_count++;
    } else {
      return SIM_NONE;
    }
  }
  uint32_t number = (uint32_t)network->routes.count;
  return number < SIM_NONE && vec_push(&network->routes, route) ? number : SIM_NONE;
}

uint32_t sim_message_add(struct sim_network *network, const struct sim_message *given) {
  struct message message = {.bytes = given->bytes,
                            .wire_bytes = given->wire_bytes == 0 ? given->bytes : given->wire_bytes,
                            .delay_ps = given->delay_ps,
                            .ready_ps = given->delay_ps,
                            .route = given->route,
                            .edge_first = SIM_NONE,
                            .copies = given->copies,
                            .tag = given->tag,
                            .flow = STATE_WAITING};
  uint32_t number = (uint32_t)network->messages.count;
  return number < MESSAGES_MAX && vec_push(&network->messages, message) ? number : SIM_NONE;
}

bool sim_message_wait(struct sim_network *network, uint32_t message, uint32_t before, enum sim_wait wait) {
  struct edge edge = {message << 1 | (uint32_t)wait, network->messages.data[before].edge_first};
  uint32_t number = (uint32_t)network->edges.count;
  if (number >= SIM_NONE || !vec_push(&network->edges, edge)) {
    return false;
  }
  network->messages.data[before].edge_first = number;
  network->messages.data[message].waits++;
  return true;
}

sim_time_ps sim_message_arrival(const struct sim_network *network, uint32_t message) {
  const struct message *m = &network->messages.data[message];
  return m->flow == STATE_ARRIVED ? m->ready_ps : UINT64_MAX;
}

uint64_t sim_link_bytes(const struct sim_network *network, uint32_t link) {
  return network->links.data[link].bytes;
}

sim_time_ps sim_link_busy(const struct sim_network *network, uint32_t link) {
  return network->links.data[link].busy_ps;
}

uint32_t sim_message_count(const struct sim_network *network) {
  return (uint32_t)network->messages.count;
}

uint64_t sim_network_bytes(const struct sim_network *network) {
  return network->links.capacity * sizeof *network->links.data + network->routes.capacity * sizeof *network->routes.data
         + network->hops.capacity * sizeof *network->hops.data
         + network->messages.capacity * sizeof *network->messages.data
         + network->edges.capacity * sizeof *network->edges.data + network->flows.capacity * sizeof *network->flows.data
         + network->slots.capacity * sizeof *network->slots.data;
}
