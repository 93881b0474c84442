/* What a run surely needs, from the program alone: a lower bound, so that what is refused could not have ended. */
#ifndef RIDGELINE_INTERP_INTERP_ESTIMATE_H
#define RIDGELINE_INTERP_INTERP_ESTIMATE_H

#include "analyze/analyze.h"

struct interp_estimate {
  uint64_t operations; /* elementary ones, in the unit of the operation budget; saturates */
  uint64_t costliest_operations; /* of `costliest` alone, with all its executions and what is inside of it */
  uint64_t largest_bytes; /* of the largest value */
  struct ir_op costliest, largest; /* where; 0 when there is none */
};
/* Loops with a known trip count are multiplied out, of branches the cheapest counts, dynamic dimensions count nothing. Calls
 * and regions deeper than `max_depth` are not entered. False when memory is exhausted. */
bool interp_estimate(const struct ir_module *m, const struct analyze_symbols *symbols, struct ir_op function,
                     unsigned max_depth, struct interp_estimate *estimate);

#endif
