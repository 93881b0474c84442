/* Messages of a run: every schedule's steps, for every group, on the links. Receivers queue what arrives on lanes; a send
 * waits for what its lane holds (collective_schedule.h). */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "cluster/collective_run_int.h"

enum { JOIN_ABOVE = 4 }; /* arrivals that several sends wait for are gathered in one local message */
static const uint64_t default_max_messages = (uint64_t)1 << 25;

/* ---- messages of a step ---- */

static uint32_t node_of(const struct run_part *part, uint32_t group, uint32_t rank, uint32_t group_size) {
  return rank == part->schedule.ranks ? part->adder_first + group
                                      : part->given->members[(size_t)group * group_size + rank];
}

static uint32_t target_of(const struct collective_step *step, uint32_t to, uint32_t rank) {
  uint32_t x = rank / step->stride % step->block;
  uint32_t y = step->pattern == COLLECTIVE_ROTATION ? (x + to) % step->block : x ^ to;
  return rank - x * step->stride + y * step->stride;
}

bool run_visit_step(const struct run_part *part, const struct collective_step *step, run_visit *visit, void *context) {
  uint32_t group_size = part->given->group_size;
  for (uint32_t group = 0; group < part->given->group_count; group++) {
    for (uint32_t i = 0; i < step->message_count; i++) {
      const struct collective_message *message = &part->schedule.messages.data[step->message_first + i];
      bool is_list = step->pattern == COLLECTIVE_LIST;
      for (uint32_t rank = 0; rank < (is_list ? 1 : part->schedule.ranks); rank++) {
        uint32_t from = is_list ? message->from : rank;
        uint32_t to = is_list ? message->to : target_of(step, message->to, rank);
        if (!visit(context, node_of(part, group, from, group_size), node_of(part, group, to, group_size), i,
                   message->bytes)) {
          return false;
        }
      }
    }
  }
  return true;
}

bool run_step_is_copy(const struct collective_schedule *schedule, size_t step) {
  /* copies come after their originals, whose messages were added in order */
  return step > 0 && schedule->steps.data[step].message_first <= schedule->steps.data[step - 1].message_first
         && schedule->steps.data[step].message_count > 0;
}

/* ---- what is queued on lanes ---- */

struct arrival {
  uint32_t message, next;
};

struct inbox {
  uint32_t first, count; /* chain of arrivals */
  bool is_taken; /* a send has waited for them; the next arrival begins anew */
};

struct emission {
  uint32_t from, to; /* nodes that stand for their class */
  uint32_t receiver; /* as it is */
  uint32_t route, copies;
  uint32_t dimension;
  uint64_t bytes;
  uint64_t key; /* of equal ones of a list, which are one message */
};

struct expansion {
  struct run *run;
  struct run_part *part;
  uint32_t tag;
  sim_time_ps launch_ps, step_ps[HW_DIMENSIONS_MAX];
  struct inbox *inboxes; /* lanes x nodes */
  uint32_t inbox_count;
  VEC(struct arrival) arrivals;
  uint32_t free_arrival;
  VEC(struct emission) emissions;
  VEC(uint32_t) emitted; /* messages, parallel to emissions */
  struct map channels; /* hash of (lane, from, to) to the last message */
  struct map equal; /* emission key to emission */
  VEC(struct sim_hop) hops;
  uint32_t *group_of; /* of a device; nodes that are not in the collective: 0 */
  uint32_t *barriers; /* per group: message that the stage waits for, RUN_NONE = not yet made */
  uint32_t *stamps; /* per node: the last barrier that it is in */
  uint32_t barrier_waits; /* first lane of that stage; RUN_NONE = none yet */
  bool is_list, is_downward;
  bool is_uneven; /* a share that is no whole number: two hashes were equal by accident */
};

static struct inbox *inbox_of(struct expansion *x, uint32_t lane, uint32_t node) {
  return &x->inboxes[(size_t)lane * x->run->node_count + node];
}

static void inbox_clear(struct expansion *x, struct inbox *inbox) {
  while (inbox->count > 0) {
    struct arrival *arrival = &x->arrivals.data[inbox->first];
    uint32_t number = inbox->first;
    inbox->first = arrival->next;
    arrival->next = x->free_arrival;
    x->free_arrival = number;
    inbox->count--;
  }
  inbox->is_taken = false;
}

static bool inbox_add(struct expansion *x, struct inbox *inbox, uint32_t message) {
  if (inbox->is_taken) {
    inbox_clear(x, inbox);
  }
  uint32_t number = x->free_arrival;
  if (number != RUN_NONE) {
    x->free_arrival = x->arrivals.data[number].next;
  } else {
    number = (uint32_t)x->arrivals.count;
    if (!vec_push(&x->arrivals, (struct arrival){0})) {
      return false;
    }
  }
  x->arrivals.data[number] = (struct arrival){message, inbox->first};
  inbox->first = number;
  inbox->count++;
  return true;
}

static bool wait_for_inbox(struct expansion *x, const struct inbox *inbox, uint32_t message) {
  uint32_t at = inbox->first;
  for (uint32_t i = 0; i < inbox->count; i++) {
    if (!sim_message_wait(x->run->network, message, x->arrivals.data[at].message, SIM_ARRIVED)) {
      return false;
    }
    at = x->arrivals.data[at].next;
  }
  return true;
}

/* Many arrivals become one local message that waits for them. */
static bool inbox_join(struct expansion *x, struct inbox *inbox) {
  struct sim_message join = {.route = SIM_ROUTE_LOCAL, .copies = 1, .tag = x->tag};
  uint32_t message = sim_message_add(x->run->network, &join);
  if (message == UINT32_MAX || !wait_for_inbox(x, inbox, message)) {
    return false;
  }
  inbox_clear(x, inbox);
  return inbox_add(x, inbox, message);
}

/* ---- routes ---- */

/* A route over links of their own, remembered by its ends. */
static uint32_t explicit_route(struct expansion *x, uint32_t from, uint32_t to, const uint32_t *links, uint32_t count) {
  uint64_t key = (uint64_t)from << 33 | (uint64_t)to << 1 | x->is_downward;
  uint32_t route;
  if (map_get(&x->run->routes, key, &route)) {
    return route;
  }
  vec_clear(&x->hops);
  for (uint32_t i = 0; i < count; i++) {
    if (!vec_push(&x->hops, ((struct sim_hop){links[i], 1}))) {
      return UINT32_MAX;
    }
  }
  route = sim_route_add(x->run->network, x->hops.data, count);
  return route != UINT32_MAX && map_set(&x->run->routes, key, route) ? route : UINT32_MAX;
}

/* A route over the links that stand for their classes. Of `copies` messages, each crossing a class of `size` links once per
 * hop, copies / size cross each of them; what hops that name a link again add up to must be whole. */
static uint32_t class_route(struct expansion *x, const uint32_t *links, uint32_t count, uint32_t copies) {
  vec_clear(&x->hops);
  uint64_t key = run_hash(copies, count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t link = x->run->link_representative[links[i]];
    key = run_hash(key, link);
    if (!vec_push(&x->hops, ((struct sim_hop){link, 0}))) {
      return UINT32_MAX;
    }
  }
  uint32_t route;
  if (map_get(&x->run->routes, key, &route)) {
    return route;
  }
  for (uint32_t i = 0; i < count; i++) { /* the first hop over a link takes what all of them come to */
    struct sim_hop *hop = &x->hops.data[i];
    uint64_t crossings = 0;
    bool is_first = true;
    for (uint32_t k = 0; k < count; k++) {
      bool is_same = x->hops.data[k].link == hop->link;
      crossings += is_same ? copies : 0;
      is_first = is_first && !(is_same && k < i);
    }
    uint32_t size = x->run->link_class_size[hop->link];
    x->is_uneven = x->is_uneven || crossings % size != 0;
    hop->share = is_first ? (uint32_t)(crossings / size) : 0;
  }
  route = sim_route_add(x->run->network, x->hops.data, count);
  return route != UINT32_MAX && map_set(&x->run->routes, key, route) ? route : UINT32_MAX;
}

/* Key of messages of a list that are one: equal ends, bytes and link classes. */
static uint64_t equal_key(const struct expansion *x, const struct emission *emission, const uint32_t *links,
                          uint32_t count) {
  uint64_t key = run_hash(run_hash(emission->from, emission->to), emission->bytes);
  for (uint32_t i = 0; i < count; i++) {
    key = run_hash(key, x->run->link_representative[links[i]]);
  }
  return key;
}

/* ---- expansion ---- */

/* First pass over a step: the messages of nodes that stand for their class. Routes follow when the copies are known. */
static bool collect(void *context, uint32_t from, uint32_t to, uint32_t message, uint64_t bytes) {
  (void)message;
  struct expansion *x = context;
  const struct run *run = x->run;
  if (run->representative[from] != from) {
    return true;
  }
  struct emission emission = {.from = from,
                              .to = run->representative[to],
                              .receiver = to,
                              .copies = run->class_size[from],
                              .dimension = fabric_dimension(&run->fabric, from, to),
                              .bytes = bytes};
  uint32_t links[FABRIC_ROUTE_MAX], same;
  if (run->link_representative != NULL && x->is_list) {
    uint32_t count = fabric_route(&run->fabric, from, to, x->is_downward, links);
    emission.key = equal_key(x, &emission, links, count == UINT32_MAX ? 0 : count);
    if (map_get(&x->equal, emission.key, &same)) {
      x->emissions.data[same].copies += emission.copies;
      return true;
    }
    if (!map_set(&x->equal, emission.key, (uint32_t)x->emissions.count)) {
      return false;
    }
  }
  return vec_push(&x->emissions, emission);
}

static enum status find_routes(struct expansion *x, struct diag_list *diags) {
  for (size_t i = 0; i < x->emissions.count; i++) {
    struct emission *emission = &x->emissions.data[i];
    uint32_t links[FABRIC_ROUTE_MAX];
    uint32_t count = fabric_route(&x->run->fabric, emission->from, emission->receiver, x->is_downward, links);
    if (count == UINT32_MAX) {
      diag_at(diags, DIAG_E0903_COLLECTIVE_RUN, NULL, 0,
              "algorithm '%s' needs a way from device %" PRIu32 " that the fabric does not have",
              x->part->given->algorithm, emission->from);
      return STATUS_INPUT;
    }
    emission->route = x->run->link_representative == NULL
                          ? explicit_route(x, emission->from, emission->receiver, links, count)
                          : class_route(x, links, count, emission->copies);
    if (emission->route == UINT32_MAX) {
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}

/* A device's call has begun, at both ends; and its next call waits for the message. */
static bool wait_for_calls(struct expansion *x, const struct emission *emission, uint32_t message) {
  const struct run *run = x->run;
  size_t row = (size_t)x->tag * run->node_count;
  const uint32_t ends[2] = {emission->from, emission->to};
  for (int i = 0; i < 2; i++) {
    uint32_t gate = run->gates[row + ends[i]], next = run->next_gates[row + ends[i]];
    if ((gate != RUN_NONE && !sim_message_wait(run->network, message, gate, SIM_ARRIVED))
        || (next != RUN_NONE && !sim_message_wait(run->network, next, message, i == 0 ? SIM_DEPARTED : SIM_ARRIVED))) {
      return false;
    }
  }
  return true;
}

/* First in, first out from sender to receiver on a lane. */
static bool wait_for_channel(struct expansion *x, const struct collective_step *step, size_t number, bool is_repeat,
                             uint32_t message) {
  const struct emission *emission = &x->emissions.data[number];
  uint32_t before = RUN_NONE;
  if (is_repeat) {
    before = x->emitted.data[number];
  } else {
    uint64_t key = run_hash(run_hash(emission->from, emission->receiver), run_hash(step->delivers, emission->key));
    (void)map_get(&x->channels, key, &before);
  }
  return before == RUN_NONE || sim_message_wait(x->run->network, message, before, SIM_DEPARTED);
}

/* The last messages of a step's channels, for the steps that come. */
static bool keep_channels(struct expansion *x, const struct collective_step *step) {
  for (size_t i = 0; i < x->emissions.count; i++) {
    const struct emission *emission = &x->emissions.data[i];
    uint64_t key = run_hash(run_hash(emission->from, emission->receiver), run_hash(step->delivers, emission->key));
    if (!map_set(&x->channels, key, x->emitted.data[i])) {
      return false;
    }
  }
  return true;
}

/* Waits for what the sender's lanes hold. */
static bool wait_for_lanes(struct expansion *x, const struct collective_step *step, uint32_t from, uint32_t message) {
  for (uint32_t lane = step->waits; lane < step->waits + step->waits_count; lane++) {
    struct inbox *inbox = inbox_of(x, lane, from);
    if (!wait_for_inbox(x, inbox, message)) {
      return false;
    }
    inbox->is_taken = true;
  }
  return true;
}

/* Gathers the sender's arrivals where there are many; the number of a message cannot be taken before. */
static bool join_lanes(struct expansion *x, const struct collective_step *step, uint32_t from, bool *has_any) {
  for (uint32_t lane = step->waits; lane < step->waits + step->waits_count; lane++) {
    struct inbox *inbox = inbox_of(x, lane, from);
    *has_any = *has_any || inbox->count > 0;
    if (inbox->count > JOIN_ABOVE && !inbox_join(x, inbox)) {
      return false;
    }
  }
  return true;
}

/* The message that waits for what the step's lanes hold at all members of a group; made when the group's first send of the
 * stage needs it. RUN_NONE when memory is exhausted. */
static uint32_t barrier_of(struct expansion *x, const struct collective_step *step, uint32_t group) {
  const struct collective_run_request *given = x->part->given;
  for (uint32_t g = 0; x->barrier_waits != step->waits && g < given->group_count; g++) {
    x->barriers[g] = RUN_NONE;
  }
  x->barrier_waits = step->waits;
  if (x->barriers[group] != RUN_NONE) {
    return x->barriers[group];
  }
  struct sim_message barrier = {.route = SIM_ROUTE_LOCAL, .copies = 1, .tag = x->tag};
  uint32_t message = sim_message_add(x->run->network, &barrier);
  for (uint32_t i = 0; message != UINT32_MAX && i < given->group_size; i++) {
    uint32_t node = x->run->representative[given->members[(size_t)group * given->group_size + i]];
    if (x->stamps[node] == message) {
      continue; /* it stands for several members */
    }
    x->stamps[node] = message;
    for (uint32_t lane = step->waits; lane < step->waits + step->waits_count; lane++) {
      if (!wait_for_inbox(x, inbox_of(x, lane, node), message)) {
        return RUN_NONE;
      }
    }
  }
  x->barriers[group] = message;
  return message;
}

static bool wait_for_barrier(struct expansion *x, uint32_t from, uint32_t message) {
  return sim_message_wait(x->run->network, message, x->barriers[x->group_of[from]], SIM_ARRIVED);
}

static bool emit(struct expansion *x, const struct collective_step *step, size_t at, bool is_repeat) {
  const struct emission *emission = &x->emissions.data[at];
  struct run *run = x->run;
  bool has_waited = step->waits_for_all;
  if (step->waits_for_all ? barrier_of(x, step, x->group_of[emission->from]) == RUN_NONE
                          : !join_lanes(x, step, emission->from, &has_waited)) {
    return false;
  }
  bool is_first = !has_waited && run->gates == NULL;
  double factor = x->part->given->costs.wire_factor[emission->dimension];
  uint64_t wire = factor > 0 ? (uint64_t)llround((double)emission->bytes * factor) : emission->bytes;
  struct sim_message message = {.route = emission->route,
                                .copies = emission->copies,
                                .bytes = emission->bytes,
                                .wire_bytes = wire,
                                .delay_ps = x->step_ps[emission->dimension] + (is_first ? x->launch_ps : 0),
                                .tag = x->tag};
  uint32_t number = sim_message_add(run->network, &message);
  if (number == UINT32_MAX
      || !(step->waits_for_all ? wait_for_barrier(x, emission->from, number)
                               : wait_for_lanes(x, step, emission->from, number))
      || !wait_for_channel(x, step, at, is_repeat, number)) {
    return false;
  }
  x->emitted.data[at] = number;
  return run->gates == NULL || wait_for_calls(x, emission, number);
}

/* All sends of a step wait before its first arrival is queued. */
static bool expand_once(struct expansion *x, const struct collective_step *step, bool is_repeat) {
  for (size_t i = 0; i < x->emissions.count; i++) {
    if (!emit(x, step, i, is_repeat)) {
      return false;
    }
  }
  for (size_t i = 0; i < x->emissions.count; i++) {
    if (!inbox_add(x, inbox_of(x, step->delivers, x->emissions.data[i].to), x->emitted.data[i])) {
      return false;
    }
  }
  return true;
}

static enum status expand_steps(struct expansion *x, struct diag_list *diags) {
  uint64_t max_messages = x->run->options->max_messages == 0 ? default_max_messages : x->run->options->max_messages;
  for (size_t s = 0; s < x->part->schedule.steps.count; s++) {
    const struct collective_step *step = &x->part->schedule.steps.data[s];
    x->is_list = step->pattern == COLLECTIVE_LIST;
    x->is_downward = step->delivers % 2 == 1;
    vec_clear(&x->emissions);
    map_clear(&x->equal);
    if (!run_visit_step(x->part, step, collect, x)) {
      return STATUS_MEMORY;
    }
    uint64_t more = sat_mul_u64(x->emissions.count, step->repeats);
    if (sat_add_u64(sim_message_count(x->run->network), more) > max_messages) {
      diag_at(diags, DIAG_E0902_NETWORK_LIMIT, NULL, 0,
              "the collectives need more than %" PRIu64 " messages; fewer devices, or equal devices as one, need less",
              max_messages);
      return STATUS_LIMIT;
    }
    STATUS_TRY(find_routes(x, diags));
    if (!vec_reserve(&x->emitted, x->emissions.count)) {
      return STATUS_MEMORY;
    }
    for (uint32_t k = 0; k < step->repeats; k++) {
      if (!expand_once(x, step, k > 0)) {
        return STATUS_MEMORY;
      }
    }
    if (!keep_channels(x, step)) {
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}

/* A local message at the begin of every device's call. */
static bool add_gates(struct run *run, uint32_t tag) {
  const struct run_part *part = &run->parts[tag];
  size_t row = (size_t)tag * run->node_count, members = (size_t)part->given->group_count * part->given->group_size;
  for (size_t i = 0; i < members; i++) {
    uint32_t device = part->given->members[i];
    if (run->representative[device] != device || run->gates[row + device] != RUN_NONE) {
      continue;
    }
    struct sim_message gate = {.route = SIM_ROUTE_LOCAL,
                               .copies = run->class_size[device],
                               .delay_ps = (sim_time_ps)llround(part->given->costs.launch_s * 1e12),
                               .tag = tag};
    run->gates[row + device] = sim_message_add(run->network, &gate);
    if (run->gates[row + device] == UINT32_MAX) {
      return false;
    }
  }
  return true;
}

/* The order of calls of each device, and the delay before its first. */
static bool link_gates(struct run *run) {
  const struct collective_run_options *options = run->options;
  uint32_t *last = malloc(run->node_count * sizeof *last); /* part of a device's last call */
  bool is_good = last != NULL;
  for (uint32_t i = 0; is_good && i < run->node_count; i++) {
    last[i] = RUN_NONE;
  }
  for (size_t i = 0; is_good && i < options->call_count; i++) {
    uint32_t device = options->calls[i].device, part = options->calls[i].request;
    uint32_t gate = run->gates[(size_t)part * run->node_count + device];
    if (gate != RUN_NONE && last[device] != RUN_NONE) {
      size_t before = (size_t)last[device] * run->node_count + device;
      run->next_gates[before] = gate;
      is_good = sim_message_wait(run->network, gate, run->gates[before], SIM_ARRIVED);
    }
    last[device] = gate != RUN_NONE ? part : last[device];
  }
  free(last);
  for (uint32_t device = 0; is_good && options->device_delay_s != NULL && device < run->fabric.devices; device++) {
    struct sim_message late = {.route = SIM_ROUTE_LOCAL,
                               .copies = run->class_size[device],
                               .delay_ps = (sim_time_ps)llround(options->device_delay_s[device] * 1e12)};
    uint32_t message = run->class_size[device] == 0 ? RUN_NONE : sim_message_add(run->network, &late);
    for (uint32_t p = 0; is_good && message != RUN_NONE && p < run->part_count; p++) {
      uint32_t gate = run->gates[(size_t)p * run->node_count + device];
      is_good = gate == RUN_NONE || sim_message_wait(run->network, gate, message, SIM_ARRIVED);
    }
  }
  return is_good;
}

static enum status make_gates(struct run *run) {
  if (run->options->call_count == 0 && run->options->device_delay_s == NULL) {
    return STATUS_OK;
  }
  size_t count = (size_t)run->part_count * run->node_count;
  run->gates = malloc(count * sizeof *run->gates);
  run->next_gates = malloc(count * sizeof *run->next_gates);
  if (run->gates == NULL || run->next_gates == NULL) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < count; i++) {
    run->gates[i] = run->next_gates[i] = RUN_NONE;
  }
  for (uint32_t p = 0; p < run->part_count; p++) {
    if (!add_gates(run, p)) {
      return STATUS_MEMORY;
    }
  }
  return link_gates(run) ? STATUS_OK : STATUS_MEMORY;
}

static enum status expand_part(struct run *run, uint32_t number, struct diag_list *diags) {
  struct run_part *part = &run->parts[number];
  const struct collective_run_costs *costs = &part->given->costs;
  struct expansion x = {.run = run,
                        .part = part,
                        .tag = number,
                        .launch_ps = (sim_time_ps)llround(costs->launch_s * 1e12),
                        .barrier_waits = RUN_NONE,
                        .free_arrival = RUN_NONE};
  for (int d = 0; d < HW_DIMENSIONS_MAX; d++) {
    x.step_ps[d] = (sim_time_ps)llround(costs->step_s[d] * 1e12);
  }
  x.inboxes = calloc((size_t)part->schedule.lanes * run->node_count + 1, sizeof *x.inboxes);
  x.group_of = calloc(run->node_count + 1, sizeof *x.group_of);
  x.barriers = calloc((size_t)part->given->group_count + 1, sizeof *x.barriers);
  x.stamps = malloc(run->node_count * sizeof *x.stamps + 1);
  if (x.stamps != NULL) {
    memset(x.stamps, 0xff, run->node_count * sizeof *x.stamps);
  }
  for (size_t i = 0; x.group_of != NULL && i < (size_t)part->given->group_count * part->given->group_size; i++) {
    x.group_of[part->given->members[i]] = (uint32_t)(i / part->given->group_size);
  }
  part->message_first = sim_message_count(run->network);
  bool has_memory = x.inboxes != NULL && x.group_of != NULL && x.barriers != NULL && x.stamps != NULL;
  enum status status = has_memory ? expand_steps(&x, diags) : STATUS_MEMORY;
  part->message_end = sim_message_count(run->network);
  if (status == STATUS_OK && x.is_uneven) {
    diag_at(diags, DIAG_E0903_COLLECTIVE_RUN, NULL, 0, "the devices of '%s' do not collapse; run them one by one",
            part->given->algorithm);
    status = STATUS_INPUT;
  }
  free(x.inboxes);
  free(x.group_of);
  free(x.barriers);
  free(x.stamps);
  vec_release(&x.arrivals);
  vec_release(&x.emissions);
  vec_release(&x.emitted);
  vec_release(&x.hops);
  map_release(&x.channels);
  map_release(&x.equal);
  return status;
}

enum status run_expand(struct run *run, struct diag_list *diags) {
  STATUS_TRY(make_gates(run));
  for (uint32_t p = 0; p < run->part_count; p++) {
    STATUS_TRY(expand_part(run, p, diags));
  }
  return STATUS_OK;
}
