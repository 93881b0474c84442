/* From a closed form's constants and the shape of groups to messages on links. */
#include "api/api_network.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- the run ---- */

enum status api_event_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                           const struct collective_constants *constants, const struct collective_request *request,
                           const struct collective_result *analytic, struct diag_list *diags, double *time_s,
                           uint64_t *events) {
  if (!analytic->algorithm || !schedule_find(analytic->algorithm)) {
    return STATUS_UNSUPPORTED;
  }
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
  struct collective_run_options options = {.is_collapsed = true};
  collective_run_prepare(cluster, slice, constants, &run, 1, &options);
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
