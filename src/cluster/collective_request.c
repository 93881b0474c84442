/* The request of a task: what the work graph says of a collective and how its groups lie. */
#include "cluster/collective.h"

void collective_request_of(const struct work_collective *collective, const struct group_shape *shape,
                           struct collective_request *request) {
  *request = (struct collective_request){.kind = (enum work_collective_kind)collective->kind,
                                         .bytes = (double)collective->bytes_per_rank,
                                         .shape = *shape};
  request->no_switch_sums =
      collective->reduction == WORK_REDUCTION_MULTIPLY || collective->reduction == WORK_REDUCTION_OTHER;
  bool is_message = request->kind == WORK_PERMUTE || request->kind == WORK_SEND_RECV;
  for (uint32_t d = 0; d < HW_DIMENSIONS_MAX && is_message; d++) {
    request->hops[d] = shape->extent[d] > 1 ? shape->stride[d] : 0;
    request->sharing[d] = shape->sharing[d] > 0 ? shape->sharing[d] : 1;
  }
}
