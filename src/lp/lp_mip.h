/* Mixed-integer linear programs through CBC (COIN-OR Branch and Cut, EPL; an optional dependency, linked when present).
 * Rows are added sparse; all variables have finite bounds. Deterministic: one thread, no time limit but a node limit. */
#ifndef RIDGELINE_LP_LP_MIP_H
#define RIDGELINE_LP_LP_MIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct lp_mip;

bool lp_mip_available(void); /* CBC was there at configure time */

struct lp_mip *lp_mip_new(void); /* NULL: out of memory, or not available */
void lp_mip_free(struct lp_mip *mip);
/* Returns the variable's number. `cost` is its coefficient in the objective, which is minimised. */
uint32_t lp_mip_variable(struct lp_mip *mip, double lower, double upper, double cost, bool is_integer);
/* lower <= sum coefficients[i] x variables[i] <= upper; infinities for one-sided rows. */
void lp_mip_row(struct lp_mip *mip, uint32_t count, const uint32_t *variables, const double *coefficients, double lower,
                double upper);

struct lp_mip_solution {
  bool is_optimal; /* proved; false: node limit, `objective` is the best found */
  bool is_infeasible;
  double objective, bound;
  const double *values; /* owned by the program, until it is freed or solved again */
};
/* STATUS_OK with the solution filled; STATUS_MEMORY. node_limit 0 = none. */
enum status lp_mip_solve(struct lp_mip *mip, uint64_t node_limit, struct lp_mip_solution *solution);

#endif
