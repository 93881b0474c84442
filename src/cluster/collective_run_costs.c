/* Costs of messages from the analytic side, so that what it knows of a library (steps, protocols, efficiencies) is known here.
 *
 * Bytes: a message takes as much longer on its links than at their data-sheet rates as the closed form with the library's
 * constants takes longer than with ideal ones. Latency: the closed form's, spread over its steps; where levels of the cluster
 * differ, steps on the fast links would hide behind the slow ones, and it is paid once at the start, as in the closed form.
 * Libraries without protocols have the hops' latency and a step on top. */
#include <string.h>

#include "cluster/collective_algorithms.h"
#include "cluster/collective_run.h"

/* The same library with every efficiency at its upper bound, which is that of ideal links. */
static void ideal_constants(const struct collective_constants *constants, struct collective_constants *ideal) {
  static const struct {
    const char *unit;
    double upper;
  } rows[COLLECTIVE_CONSTANT_COUNT] = {
#define COLLECTIVE_CONSTANT(id, key, unit, value, lower, upper, meaning) {unit, upper},
#include "cluster/collective_constants.def"
#undef COLLECTIVE_CONSTANT
  };
  for (int i = 0; i < COLLECTIVE_CONSTANT_COUNT; i++) {
    ideal->values[i] = strcmp(rows[i].unit, "fraction") == 0 ? rows[i].upper : constants->values[i];
  }
}

static void set_costs(const struct hw_cluster *cluster, const struct hw_slice *slice,
                      const struct collective_constants *constants, const struct collective_algorithm *algorithm,
                      bool has_protocols, struct collective_run_request *run) {
  struct collective_constants ideal;
  struct collective_result actual = {.algorithm = algorithm->name, .protocol = ""}, best = actual;
  struct collective_levels levels;
  ideal_constants(constants, &ideal);
  algorithm->time(cluster, slice, constants, &run->request, &actual);
  algorithm->time(cluster, slice, &ideal, &run->request, &best);
  collective_levels_of(cluster, &run->request.shape, &levels);
  bool is_spread = levels.count == 1 && actual.steps > 0;
  double factor = best.transfer_s > 0 && actual.transfer_s > 0 ? actual.transfer_s / best.transfer_s : 1;
  run->costs.launch_s = actual.launch_s + (has_protocols && !is_spread ? actual.latency_s : 0);
  for (uint32_t d = 0; d < cluster->dimension_count; d++) {
    run->costs.wire_factor[d] = factor;
    run->costs.step_s[d] = !has_protocols ? constants->values[COLLECTIVE_STEP]
                           : is_spread    ? actual.latency_s / actual.steps
                                          : 0;
  }
}

void collective_run_prepare(const struct hw_cluster *cluster, const struct hw_slice *slice,
                            const struct collective_constants *constants, struct collective_run_request *requests,
                            size_t count, struct collective_run_options *options) {
  enum collective_protocol first, last;
  collective_protocols_of(cluster, &first, &last);
  options->steps_cover_latency = last != COLLECTIVE_PLAIN;
  for (size_t i = 0; i < count; i++) {
    struct collective_run_request *run = &requests[i];
    if (run->algorithm == NULL) {
      struct collective_result chosen;
      collective_time(cluster, slice, constants, &run->request, &chosen);
      run->algorithm = chosen.algorithm;
    }
    const struct collective_algorithm *algorithm = collective_algorithm_find(run->algorithm);
    if (algorithm != NULL) { /* else what the run says of it */
      set_costs(cluster, slice, constants, algorithm, options->steps_cover_latency, run);
    }
  }
}
