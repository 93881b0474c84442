/* Stands for lp_mip_cbc.c where CBC was missing at configure time: nothing can be made, callers say so. */
#include <stddef.h>

#include "lp/lp_mip.h"

#ifndef RDG_CBC

bool lp_mip_available(void) {
  return false;
}

struct lp_mip *lp_mip_new(void) {
  return NULL;
}

void lp_mip_free(struct lp_mip *mip) {
  (void)mip;
}

uint32_t lp_mip_variable(struct lp_mip *mip, double lower, double upper, double cost, bool is_integer) {
  (void)mip, (void)lower, (void)upper, (void)cost, (void)is_integer;
  return 0;
}

void lp_mip_row(struct lp_mip *mip, uint32_t count, const uint32_t *variables, const double *coefficients, double lower,
                double upper) {
  (void)mip, (void)count, (void)variables, (void)coefficients, (void)lower, (void)upper;
}

enum status lp_mip_solve(struct lp_mip *mip, uint64_t node_limit, struct lp_mip_solution *solution) {
  (void)mip, (void)node_limit;
  *solution = (struct lp_mip_solution){0};
  return STATUS_UNSUPPORTED;
}

#endif
