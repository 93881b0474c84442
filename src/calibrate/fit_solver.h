/* Robust least squares inside a box: the numerical part of fit.h, which knows nothing of kernels. */
#ifndef RIDGELINE_CALIBRATE_FIT_SOLVER_H
#define RIDGELINE_CALIBRATE_FIT_SOLVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum { FIT_PARAMETER_MAX = 24 };

/* Parameters run over [0, 1]; whoever states the problem maps them to constants. */
struct fit_problem {
  unsigned parameter_count;
  size_t row_count;
  const double *weights; /* of the rows; mean 1 */
  const double *steps; /* of the pattern search, as parts of [0, 1]; one per parameter, 0 = it stays where it starts */
  /* Writes one residual per row. Pure: equal parameters, equal residuals. */
  void (*residuals)(const void *user, const double *parameters, double *residuals);
  const void *user;
};

struct fit_state {
  double parameters[FIT_PARAMETER_MAX]; /* in: the start; out: the minimum */
  double loss; /* weighted mean Huber loss there */
  unsigned evaluations; /* of all residuals; added to */
};

/* Residuals beyond this count linearly: a few per cent, what repeated measurements differ by, so that what a model misses
 * altogether does not bend its constants. */
#define FIT_HUBER_DELTA 0.05

double fit_huber_loss(const double *residuals, const double *weights, size_t count);
/* Levenberg-Marquardt with iterative reweighting and a finite-difference Jacobian; steps are projected onto the box. The
 * loss never rises. STATUS_OK or STATUS_MEMORY. */
enum status fit_levenberg_marquardt(const struct fit_problem *problem, unsigned max_iterations,
                                    struct fit_state *state);
/* Coordinate search with shrinking steps, for what a derivative does not see: kernels are chosen from menus, which makes
 * the loss piecewise smooth. The loss never rises. */
enum status fit_pattern_search(const struct fit_problem *problem, unsigned max_evaluations, struct fit_state *state);
/* Solves A x = b for a symmetric positive definite matrix of order n (row-major, upper and lower half set; overwritten).
 * False when it is not positive definite. */
bool fit_solve_cholesky(double *matrix, double *right_side, unsigned n);

#endif
