/* From a closed form's constants and the shape of groups to messages on links. */
#include "api/api_network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/collective_cost.h"
#include "cluster/collective_run.h"
#include "cluster/schedule.h"

static const double ps_per_s = 1e12;

/* ---- members ---- */

/* Group and rank of a device: a coordinate along a dimension is (high x extent + digit) x stride + low; the digits of all
 * dimensions are the rank, innermost first, the rest is the group. */
static void place_device(const struct hw_cluster *cluster, const struct hw_slice *slice,
                         const struct group_shape *shape, uint64_t device, uint64_t *group, uint64_t *rank) {
  uint32_t coordinates[HW_DIMENSIONS_MAX];
  uint64_t group_weight = 1, rank_weight = 1;
  hw_slice_coordinates(slice, device, coordinates);
  *group = *rank = 0;
  for (uint32_t d = 0; d < cluster->dimension_count; d++) {
    uint32_t extent = shape->extent[d] ? shape->extent[d] : 1, stride = shape->stride[d] ? shape->stride[d] : 1;
    uint32_t low = coordinates[d] % stride, digit = coordinates[d] / stride % extent;
    uint32_t high = coordinates[d] / stride / extent;
    *rank += digit * rank_weight;
    rank_weight *= extent;
    *group += (low + (uint64_t)high * stride) * group_weight;
    group_weight *= slice->size[d] / extent ? slice->size[d] / extent : 1;
  }
}

/* All groups, one after the other; NULL when they are no boxes that fill the slice, or memory is exhausted. */
static uint32_t *members_of(const struct hw_cluster *cluster, const struct hw_slice *slice,
                            const struct group_shape *shape) {
  uint64_t groups = slice->devices / (shape->size ? shape->size : 1), count = groups * shape->size;
  uint32_t *members = count == slice->devices ? malloc(count * sizeof *members) : NULL;
  if (!members) {
    return NULL;
  }
  memset(members, 0xff, count * sizeof *members);
  bool is_box = true;
  for (uint64_t device = 0; device < count && is_box; device++) {
    uint64_t group, rank;
    place_device(cluster, slice, shape, device, &group, &rank);
    is_box = group < groups && rank < shape->size && members[group * shape->size + rank] == UINT32_MAX;
    if (is_box) {
      members[group * shape->size + rank] = (uint32_t)device;
    }
  }
  if (!is_box) {
    free(members);
    return NULL;
  }
  return members;
}

/* ---- what the library adds ---- */

/* Algorithms with constants of their own; those of others are their protocol's. */
static const struct {
  const char *algorithm;
  enum collective_constant efficiency;
  bool is_factor; /* of the protocol's efficiency; else in its place, and the step is what the closed form says */
} own_constants[] = {{"nvls", COLLECTIVE_NVLS_EFFICIENCY, false},
                     {"direct", COLLECTIVE_DIRECT_EFFICIENCY, false},
                     {"one_shot", COLLECTIVE_DIRECT_EFFICIENCY, false},
                     {"pairwise", COLLECTIVE_DIRECT_EFFICIENCY, false},
                     {"tree", COLLECTIVE_TREE_EFFICIENCY, true}};
enum { OWN_COUNT = sizeof own_constants / sizeof *own_constants };

static size_t own_of(const char *algorithm) {
  size_t i = 0;
  while (i < OWN_COUNT && strcmp(own_constants[i].algorithm, algorithm) != 0) {
    i++;
  }
  return i;
}

static enum collective_protocol protocol_of(const struct collective_result *analytic) {
  for (int p = 0; p < COLLECTIVE_PROTOCOL_COUNT; p++) {
    if (strcmp(collective_protocol_name((enum collective_protocol)p), analytic->protocol) == 0) {
      return (enum collective_protocol)p;
    }
  }
  return COLLECTIVE_PLAIN;
}

static void costs_of(const struct collective_case *of, const struct collective_result *analytic,
                     struct collective_run_costs *costs) {
  enum collective_protocol protocol = protocol_of(analytic);
  size_t own = own_of(analytic->algorithm);
  bool is_own = own < OWN_COUNT && !own_constants[own].is_factor;
  double constant = own < OWN_COUNT ? of->constants[own_constants[own].efficiency] : 1;
  costs->launch_s = analytic->launch_s;
  for (uint32_t d = 0; d < of->cluster->dimension_count; d++) {
    double efficiency = is_own ? constant : constant * collective_efficiency(of, d, protocol);
    double step_s = !is_own ? collective_step_s(of, d, protocol)
                            : analytic->latency_s / (analytic->steps > 0 ? analytic->steps : 1);
    costs->step_s[d] = fmax(0, step_s - of->cluster->dimensions[d].latency_s); /* the links add theirs */
    costs->wire_factor[d] = efficiency > 0 ? 1 / efficiency : 1;
  }
}

enum status api_event_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                           const struct collective_constants *constants, const struct collective_request *request,
                           const struct collective_result *analytic, struct diag_list *diags, double *time_s,
                           uint64_t *events) {
  if (!analytic->algorithm || !schedule_find(analytic->algorithm)) {
    return STATUS_UNSUPPORTED;
  }
  const struct collective_case of = {
      .cluster = cluster, .slice = slice, .constants = constants->values, .request = request};
  uint32_t *members = members_of(cluster, slice, &request->shape);
  if (!members) {
    return STATUS_UNSUPPORTED;
  }
  struct collective_run_request run = {.request = *request,
                                       .algorithm = analytic->algorithm,
                                       .members = members,
                                       .group_count = (uint32_t)(slice->devices / request->shape.size),
                                       .group_size = request->shape.size,
                                       .label = work_collective_name(request->kind)};
  costs_of(&of, analytic, &run.costs);
  struct collective_run_options options = {.is_collapsed = true};
  struct collective_run_result result = {0};
  enum status status = collective_run(cluster, slice, &run, 1, &options, diags, NULL, &result);
  free(members);
  *time_s = (double)result.end_ps / ps_per_s;
  *events = result.network.events;
  return status;
}

/* ---- prices of a step ---- */

static void price(void *context, const struct collective_request *request, struct collective_result *result) {
  struct api_event_pricing *events = context;
  struct diag_list ignored; /* what cannot be run has the closed form's time, and is counted */
  double time_s = 0;
  uint64_t count = 0;
  collective_time(events->cluster, events->slice, &events->constants, request, result);
  bool is_message = request->kind == WORK_PERMUTE || request->kind == WORK_SEND_RECV; /* no groups of ranks */
  diag_init(&ignored);
  events->priced++;
  if (!is_message && request->shape.size > 1
      && api_event_time(events->cluster, events->slice, &events->constants, request, result, &ignored, &time_s, &count)
             == STATUS_OK) {
    result->time_s = time_s;
  } else {
    events->fallen_back++;
  }
  diag_release(&ignored);
}

void api_event_pricing_init(struct api_event_pricing *events, const struct hw_cluster *cluster,
                            const struct hw_slice *slice) {
  *events =
      (struct api_event_pricing){.pricing = {.time = price, .context = events}, .cluster = cluster, .slice = slice};
  collective_constants_of(cluster, &events->constants);
}
