/* Collectives on the event-driven network, as `--network event` and `collectives --events` ask for them. Shared by the files of
 * api/ only. */
#ifndef RIDGELINE_API_API_NETWORK_H
#define RIDGELINE_API_API_NETWORK_H

#include "cluster/step.h"

/* Runs the messages of the algorithm that `analytic` names, in all groups at once, with the library's launch, time per step
 * and efficiency as the closed form has them. STATUS_UNSUPPORTED when the algorithm has no messages, or the groups are no
 * boxes of the slice; STATUS_LIMIT when there are too many messages. */
enum status api_event_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                           const struct collective_constants *constants, const struct collective_request *request,
                           const struct collective_result *analytic, struct diag_list *diags, double *time_s,
                           uint64_t *events);

/* Prices of a step's collectives from there. */
struct api_event_pricing {
  struct step_pricing pricing; /* what step_options take */
  const struct hw_cluster *cluster;
  const struct hw_slice *slice;
  struct collective_constants constants;
  uint64_t priced, fallen_back; /* sorts of collectives; of them with the closed form's time */
};
void api_event_pricing_init(struct api_event_pricing *events, const struct hw_cluster *cluster,
                            const struct hw_slice *slice);

#endif
