/* Max-min fair sharing by progressive filling, over the part of the network that is connected with what changed.
 *
 * All rates of a part grow alike until a link is full; the messages over it have their rate then, and the others grow on.
 * With a heap of the links by their fair share this is O(slots log links). A message of which `share` copies cross a link
 * takes share x rate of it. */
#include <float.h>

#include "sim/sim_network_int.h"

static bool is_less(struct fill_key a, struct fill_key b) {
  return a.fair_Bps < b.fair_Bps || (a.fair_Bps == b.fair_Bps && a.link < b.link);
}

static void heap_up(struct fill_key *heap, size_t at) {
  struct fill_key key = heap[at];
  while (at > 0 && is_less(key, heap[(at - 1) / 2])) {
    heap[at] = heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap[at] = key;
}

static void heap_down(struct fill_key *heap, size_t count, size_t at) {
  struct fill_key key = heap[at];
  for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    child += child + 1 < count && is_less(heap[child + 1], heap[child]);
    if (!is_less(heap[child], key)) {
      break;
    }
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = key;
}

/* Flows and links that are connected with link `seed` through shared links. */
static bool collect_part(struct sim_network *network, uint32_t seed) {
  vec_clear(&network->part_flows);
  vec_clear(&network->part_links);
  network->links.data[seed].visit = network->visit;
  if (!vec_push(&network->part_links, seed)) {
    return false;
  }
  for (size_t i = 0; i < network->part_links.count; i++) {
    struct link *link = &network->links.data[network->part_links.data[i]];
    link->is_dirty = false;
    link->free_Bps = link->capacity_Bps;
    link->open_share = 0;
    for (uint32_t at = link->slot_first; at != SIM_NONE; at = network->slots.data[at].next) {
      link->open_share += network->slots.data[at].share;
      uint32_t number = network->slots.data[at].flow;
      struct flow *flow = &network->flows.data[number];
      if (flow->visit == network->visit) {
        continue;
      }
      flow->visit = network->visit;
      if (!vec_push(&network->part_flows, number)) {
        return false;
      }
      for (uint32_t s = flow->slot_first; s != SIM_NONE; s = network->slots.data[s].sibling) {
        struct link *other = &network->links.data[network->slots.data[s].link];
        if (other->visit != network->visit) {
          other->visit = network->visit;
          if (!vec_push(&network->part_links, network->slots.data[s].link)) {
            return false;
          }
        }
      }
    }
  }
  return true;
}

/* What the flows of the part have moved so far; their rates are open again. */
static void settle_flows(struct sim_network *network, sim_time_ps now_ps) {
  for (size_t i = 0; i < network->part_flows.count; i++) {
    struct flow *flow = &network->flows.data[network->part_flows.data[i]];
    double moved = flow->rate_Bps * ((double)(now_ps - flow->since_ps) * 1e-12);
    flow->rest_bytes = flow->rest_bytes > moved ? flow->rest_bytes - moved : 0;
    flow->since_ps = now_ps;
    flow->old_rate_Bps = flow->rate_Bps;
    flow->rate_Bps = 0;
  }
}

/* Gives the open flows over a full link their rate, and takes it off their other links. */
static void freeze(struct sim_network *network, struct link *full, double rate_Bps) {
  for (uint32_t at = full->slot_first; at != SIM_NONE; at = network->slots.data[at].next) {
    struct flow *flow = &network->flows.data[network->slots.data[at].flow];
    if (flow->rate_Bps > 0) {
      continue;
    }
    flow->rate_Bps = rate_Bps;
    for (uint32_t s = flow->slot_first; s != SIM_NONE; s = network->slots.data[s].sibling) {
      struct link *link = &network->links.data[network->slots.data[s].link];
      link->free_Bps -= rate_Bps * network->slots.data[s].share;
      link->open_share -= network->slots.data[s].share;
    }
  }
}

static bool fill(struct sim_network *network) {
  vec_clear(&network->heap);
  if (!vec_reserve(&network->heap, network->part_links.count)) {
    return false;
  }
  struct fill_key *heap = network->heap.data;
  size_t count = 0;
  for (size_t i = 0; i < network->part_links.count; i++) {
    const struct link *link = &network->links.data[network->part_links.data[i]];
    heap[count] = (struct fill_key){link->capacity_Bps / (double)link->open_share, network->part_links.data[i]};
    heap_up(heap, count++);
  }
  double level_Bps = DBL_MIN; /* rates only grow; the bound keeps rounding from making one fall */
  while (count > 0) {
    struct link *link = &network->links.data[heap[0].link];
    double fair_Bps = link->open_share == 0 ? 0 : link->free_Bps / (double)link->open_share;
    if (link->open_share > 0 && fair_Bps > heap[0].fair_Bps) { /* others took less of it than assumed */
      heap[0].fair_Bps = fair_Bps;
      heap_down(heap, count, 0);
      continue;
    }
    if (link->open_share > 0) {
      level_Bps = fair_Bps > level_Bps ? fair_Bps : level_Bps;
      freeze(network, link, level_Bps);
    }
    heap[0] = heap[--count];
    if (count > 0) {
      heap_down(heap, count, 0);
    }
  }
  return true;
}

static bool share_part(struct sim_network *network, uint32_t seed, sim_time_ps now_ps) {
  if (!collect_part(network, seed)) {
    return false;
  }
  settle_flows(network, now_ps);
  if (!fill(network)) {
    return false;
  }
  for (size_t i = 0; i < network->part_flows.count; i++) {
    uint32_t number = network->part_flows.data[i];
    if (network->flows.data[number].rate_Bps != network->flows.data[number].old_rate_Bps) {
      network_schedule_end(network, number);
    }
  }
  return true;
}

/* Alone on all its links: the slowest of them sets the rate. False when a link is shared. */
static bool start_alone(struct sim_network *network, uint32_t number) {
  struct flow *flow = &network->flows.data[number];
  double rate_Bps = DBL_MAX;
  for (uint32_t s = flow->slot_first; s != SIM_NONE; s = network->slots.data[s].sibling) {
    const struct slot *slot = &network->slots.data[s];
    const struct link *link = &network->links.data[slot->link];
    if (link->slot_count > 1) {
      return false;
    }
    double most_Bps = link->capacity_Bps / slot->share;
    rate_Bps = most_Bps < rate_Bps ? most_Bps : rate_Bps;
  }
  flow->rate_Bps = rate_Bps;
  network_schedule_end(network, number);
  return true;
}

/* A link that was shared and is left to one flow needs no more than its dirty mark: the part is then that flow's. */
uint64_t network_share(struct sim_network *network, sim_time_ps now_ps) {
  uint64_t shared = 0;
  for (size_t i = 0; i < network->started.count; i++) {
    uint32_t number = network->started.data[i];
    if (start_alone(network, number)) {
      continue;
    }
    /* one link is enough: the others are connected with it by this flow */
    uint32_t link = network->slots.data[network->flows.data[number].slot_first].link;
    if (!network->links.data[link].is_dirty) {
      network->links.data[link].is_dirty = true;
      if (!vec_push(&network->dirty, link)) {
        network->out_of_memory = true;
      }
    }
  }
  vec_clear(&network->started);
  for (size_t i = 0; i < network->dirty.count && !network->out_of_memory; i++) {
    struct link *link = &network->links.data[network->dirty.data[i]];
    if (link->is_dirty && link->slot_count > 0) { /* else it was in an earlier part, or has become idle */
      network->visit++;
      network->out_of_memory = !share_part(network, network->dirty.data[i], now_ps);
      shared++;
    }
    link->is_dirty = false;
  }
  vec_clear(&network->dirty);
  return shared;
}
