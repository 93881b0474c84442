/* Costs of messages from the analytic side, so that what it knows of a library (steps, protocols, efficiencies) holds here.
 *
 * Bytes: the schedule is run alone on bare links; a message then loads its links with as many more bytes as the closed form's
 * transfer takes longer than that. Latency: the closed form's, spread over its steps; where the group spans several dimensions, steps on
 * the fast links would hide behind the slow ones, and it is paid once, before the first message. */
#include <string.h>

#include "cluster/collective_algorithms.h"
#include "cluster/collective_run.h"
#include "cluster/schedule.h"

/* Seconds of the transfer on bare links; 0 when it cannot be run. */
static double bare_transfer_s(const struct hw_cluster *cluster, const struct hw_slice *slice,
                              const struct collective_run_request *run, const struct collective_run_options *options) {
  struct collective_run_request bare = *run;
  const struct collective_run_options alone = {.is_collapsed = true,
                                               .steps_cover_latency = true,
                                               .chunks = options->chunks,
                                               .max_messages = options->max_messages,
                                               .limits = options->limits};
  struct collective_run_result result;
  struct diag_list ignored; /* the run itself will say what is wrong */
  diag_init(&ignored);
  memset(&bare.costs, 0, sizeof bare.costs);
  enum status status = collective_run(cluster, slice, &bare, 1, &alone, &ignored, NULL, &result);
  diag_release(&ignored);
  return status == STATUS_OK ? (double)result.end_ps * 1e-12 : 0;
}

static void set_costs(const struct hw_cluster *cluster, const struct hw_slice *slice,
                      const struct collective_result *analytic, const struct collective_run_options *options,
                      struct collective_run_request *run) {
  struct collective_levels levels;
  collective_levels_of(cluster, &run->request.shape, &levels);
  /* a tree's closed form may count other levels than its messages have */
  bool is_spread =
      levels.count == 1 && levels.list[0].count == 1 && analytic->steps > 0 && strcmp(analytic->algorithm, "tree") != 0;
  double bare_s = bare_transfer_s(cluster, slice, run, options);
  run->costs.launch_s = analytic->launch_s + (is_spread ? 0 : analytic->latency_s);
  for (uint32_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
    run->costs.step_s[d] = is_spread ? analytic->latency_s / analytic->steps : 0;
    run->costs.wire_factor[d] = bare_s > 0 && analytic->transfer_s > 0 ? analytic->transfer_s / bare_s : 1;
  }
}

void collective_run_prepare(const struct hw_cluster *cluster, const struct hw_slice *slice,
                            const struct collective_constants *constants, struct collective_run_request *requests,
                            size_t count, struct collective_run_options *options) {
  options->steps_cover_latency = true;
  for (size_t i = 0; i < count; i++) {
    struct collective_run_request *run = &requests[i];
    const struct collective_algorithm *algorithm =
        run->algorithm == NULL ? NULL : collective_algorithm_find(run->algorithm);
    struct collective_result analytic = {.algorithm = run->algorithm, .protocol = ""};
    if (algorithm != NULL) {
      algorithm->time(cluster, slice, constants, &run->request, &analytic);
    } else if (run->algorithm == NULL) {
      collective_time(cluster, slice, constants, &run->request, &analytic);
      run->algorithm = analytic.algorithm;
    } else {
      continue; /* the run says what is wrong with it */
    }
    set_costs(cluster, slice, &analytic, options, run);
  }
}
