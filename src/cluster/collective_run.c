/* Runs collectives on the links of a slice: checks the requests, makes their schedules, finds what is alike, expands into
 * messages and runs the network. */
#include "cluster/collective_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "cluster/collective_run_int.h"

static const char *label_of(const struct collective_run_request *request, uint32_t number, char *text,
                            size_t capacity) {
  if (request->label != NULL) {
    return request->label;
  }
  (void)snprintf(text, capacity, "collective %" PRIu32, number);
  return text;
}

/* Members are devices of the slice, each at most once. `seen` is work space. */
static enum status check_members(const struct collective_run_request *request, uint32_t number, uint32_t devices,
                                 uint32_t *seen, struct diag_list *diags) {
  char text[32];
  const char *label = label_of(request, number, text, sizeof text);
  size_t count = (size_t)request->group_count * request->group_size;
  for (size_t i = 0; i < count; i++) {
    uint32_t device = request->members[i];
    if (device >= devices) {
      diag_at(diags, DIAG_E0903_COLLECTIVE_RUN, NULL, 0,
              "'%s' names device %" PRIu32 "; the slice has %" PRIu32 " devices", label, device, devices);
      return STATUS_INPUT;
    }
    if (seen[device] == number + 1) {
      diag_at(diags, DIAG_E0903_COLLECTIVE_RUN, NULL, 0, "'%s' names device %" PRIu32 " twice", label, device);
      return STATUS_INPUT;
    }
    seen[device] = number + 1;
  }
  return STATUS_OK;
}

static enum status make_schedule(struct run *run, uint32_t number, struct diag_list *diags) {
  struct run_part *part = &run->parts[number];
  const struct collective_run_request *given = part->given;
  collective_schedule_function *schedule = given->algorithm == NULL ? NULL : schedule_find(given->algorithm);
  char text[32];
  if (schedule == NULL) {
    diag_at(diags, DIAG_E0903_COLLECTIVE_RUN, NULL, 0, "'%s': algorithm '%s' has no messages to run",
            label_of(given, number, text, sizeof text), given->algorithm == NULL ? "" : given->algorithm);
    return STATUS_INPUT;
  }
  part->schedule.ranks = given->group_size;
  part->schedule.chunks = run->options->chunks;
  if (given->group_size > 1) {
    STATUS_TRY(schedule(run->fabric.cluster, run->fabric.slice, &given->request, &part->schedule));
  }
  if (given->group_size > 1 && part->schedule.steps.count == 0) {
    diag_at(diags, DIAG_E0903_COLLECTIVE_RUN, NULL, 0, "'%s': algorithm '%s' does not do %s over %" PRIu32 " devices",
            label_of(given, number, text, sizeof text), given->algorithm, work_collective_name(given->request.kind),
            given->group_size);
    return STATUS_INPUT;
  }
  part->adder_first = run->node_count;
  run->node_count += part->schedule.has_adder ? given->group_count : 0;
  return STATUS_OK;
}

static enum status check_calls(const struct run *run, struct diag_list *diags) {
  for (size_t i = 0; i < run->options->call_count; i++) {
    const struct collective_call *call = &run->options->calls[i];
    if (call->device >= run->fabric.devices || call->request >= run->part_count) {
      diag_at(diags, DIAG_E0903_COLLECTIVE_RUN, NULL, 0,
              "call %zu is of collective %" PRIu32 " on device %" PRIu32 "; there are %" PRIu32
              " collectives and %" PRIu32 " devices",
              i, call->request, call->device, run->part_count, run->fabric.devices);
      return STATUS_INPUT;
    }
  }
  return STATUS_OK;
}

static void name_tag(void *context, uint32_t tag, char *text, size_t capacity) {
  const struct run *run = context;
  char buffer[32];
  (void)snprintf(text, capacity, "%s", label_of(run->parts[tag].given, tag, buffer, sizeof buffer));
}

/* The caller's cancellation with its own context. */
static bool ask_caller(void *context) {
  const struct run *run = context;
  return run->options->limits.is_cancelled(run->options->limits.context);
}

static enum status run_network(struct run *run, struct diag_list *diags, struct collective_run_result *result) {
  const struct sim_limits *given = &run->options->limits;
  struct sim_limits limits = {.max_events = given->max_events,
                              .is_cancelled = given->is_cancelled == NULL ? NULL : ask_caller,
                              .context = run,
                              .tag_name = name_tag};
  enum status status = sim_network_run(run->network, &limits, diags, &result->network);
  result->end_ps = result->network.end_ps;
  result->classes = run->classes;
  result->simulated_messages = sim_message_count(run->network);
  result->memory_bytes = sim_network_bytes(run->network);
  return status;
}

static void find_ends(const struct run *run, sim_time_ps *request_end_ps) {
  for (uint32_t p = 0; p < run->part_count; p++) {
    request_end_ps[p] = 0;
    for (uint32_t m = run->parts[p].message_first; m < run->parts[p].message_end; m++) {
      sim_time_ps arrival_ps = sim_message_arrival(run->network, m);
      request_end_ps[p] = arrival_ps > request_end_ps[p] ? arrival_ps : request_end_ps[p];
    }
  }
}

static enum status prepare(struct run *run, const struct hw_cluster *cluster, const struct hw_slice *slice,
                           const struct collective_run_request *requests, struct diag_list *diags) {
  run->network = sim_network_new();
  run->parts = calloc(run->part_count + 1, sizeof *run->parts);
  uint32_t *seen = calloc(slice->devices + 1, sizeof *seen);
  enum status status =
      run->network == NULL || run->parts == NULL || seen == NULL
          ? STATUS_MEMORY
          : fabric_build(&run->fabric, run->network, cluster, slice, !run->options->steps_cover_latency);
  run->node_count = (uint32_t)slice->devices;
  for (uint32_t p = 0; status == STATUS_OK && p < run->part_count; p++) {
    run->parts[p].given = &requests[p];
    status = check_members(&requests[p], p, run->fabric.devices, seen, diags);
    status = status == STATUS_OK ? make_schedule(run, p, diags) : status;
  }
  free(seen);
  return status == STATUS_OK ? check_calls(run, diags) : status;
}

static void run_release(struct run *run) {
  for (uint32_t p = 0; run->parts != NULL && p < run->part_count; p++) {
    collective_schedule_release(&run->parts[p].schedule);
  }
  free(run->parts);
  free(run->class_size);
  free(run->representative);
  free(run->link_class_size);
  free(run->link_representative);
  free(run->gates);
  free(run->next_gates);
  map_release(&run->routes);
  sim_network_free(run->network);
}

enum status collective_run(const struct hw_cluster *cluster, const struct hw_slice *slice,
                           const struct collective_run_request *requests, size_t count,
                           const struct collective_run_options *options, struct diag_list *diags,
                           sim_time_ps *request_end_ps, struct collective_run_result *result) {
  struct run run = {.options = options, .part_count = (uint32_t)count};
  *result = (struct collective_run_result){0};
  if (slice->devices >= 1u << 24) {
    diag_at(diags, DIAG_E0903_COLLECTIVE_RUN, NULL, 0,
            "%" PRIu64 " devices are too many for the event-driven network (2^24)", slice->devices);
    return STATUS_LIMIT;
  }
  enum status status = prepare(&run, cluster, slice, requests, diags);
  status = status == STATUS_OK ? run_find_classes(&run) : status;
  status = status == STATUS_OK ? run_expand(&run, diags) : status;
  status = status == STATUS_OK ? run_network(&run, diags, result) : status;
  if (status == STATUS_OK && request_end_ps != NULL) {
    find_ends(&run, request_end_ps);
  }
  run_release(&run);
  return status;
}
