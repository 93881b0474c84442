/* LAPACK-style factorizations and solvers: Cholesky, LU, QR, Hessenberg and tridiagonal forms, tridiagonal systems.
 * Routines are LAPACK's (names as there, without the letter of the type); which operand is what: interp_lapack.h. The _work
 * forms do not look for NaN: it spreads as LAPACK lets it, where the others would refuse. */
#include <lapacke.h>
#include <string.h>

#include "interp/interp_lapack.h"

enum { ORDER = LAPACK_COL_MAJOR };

/* ---- Cholesky, LU ----------------------------------------------------------------------------------------------------------- */

/* a → factor in the triangle, the other one as it was; info > 0: not positive definite. */
static int potrf(struct interp_lapack_job *job) {
  struct interp_lapack_array *a = &job->out[0];
  char triangle = interp_lapack_triangle(job->call);
  interp_lapack_copy(job, 0);
  return job->is_complex ? LAPACKE_zpotrf_work(ORDER, triangle, a->rows, a->complexes, a->leading)
                         : LAPACKE_dpotrf_work(ORDER, triangle, a->rows, a->reals, a->leading);
}

/* a → l and u, pivots from 1 on; info > 0: u is singular. */
static int getrf(struct interp_lapack_job *job) {
  struct interp_lapack_array *a = &job->out[0];
  interp_lapack_copy(job, 0);
  return job->is_complex
             ? LAPACKE_zgetrf_work(ORDER, a->rows, a->columns, a->complexes, a->leading, job->out[1].integers)
             : LAPACKE_dgetrf_work(ORDER, a->rows, a->columns, a->reals, a->leading, job->out[1].integers);
}

/* The TPU's: pivots from 0 on, and the permutation of the rows that they make. */
static int lu_decomposition(struct interp_lapack_job *job) {
  struct interp_lapack_array *pivots = &job->out[1], *permutation = &job->out[2];
  int info = getrf(job);
  for (int i = 0; i < permutation->rows; i++) {
    permutation->integers[i] = i;
  }
  for (int i = 0; i < pivots->rows && info >= 0; i++) {
    int other = --pivots->integers[i], row = permutation->integers[i];
    permutation->integers[i] = permutation->integers[other];
    permutation->integers[other] = row;
  }
  return info;
}

/* ---- Householder reflections -------------------------------------------------------------------------------------------------- */

/* a → r and the reflections below it, their factors. */
static int geqrf(struct interp_lapack_job *job) {
  struct interp_lapack_array *a = &job->out[0], *tau = &job->out[1];
  interp_lapack_copy(job, 0);
  return job->is_complex ? LAPACKE_zgeqrf(ORDER, a->rows, a->columns, a->complexes, a->leading, tau->complexes)
                         : LAPACKE_dgeqrf(ORDER, a->rows, a->columns, a->reals, a->leading, tau->reals);
}

/* The same with columns exchanged: jpvt says in and out which. */
static int geqp3(struct interp_lapack_job *job) {
  struct interp_lapack_array *a = &job->out[0], *places = &job->out[1], *tau = &job->out[2];
  interp_lapack_copy(job, 0);
  interp_lapack_copy(job, 1);
  return job->is_complex
             ? LAPACKE_zgeqp3(ORDER, a->rows, a->columns, a->complexes, a->leading, places->integers, tau->complexes)
             : LAPACKE_dgeqp3(ORDER, a->rows, a->columns, a->reals, a->leading, places->integers, tau->reals);
}

/* Reflections → the first columns of q. LAPACK ends the program when its arguments are wrong, so they are checked here. */
static int orgqr(struct interp_lapack_job *job) {
  struct interp_lapack_array *a = &job->out[0], *tau = &job->in[1];
  if (a->columns > a->rows || tau->rows > a->columns) {
    return -1;
  }
  interp_lapack_copy(job, 0);
  return job->is_complex
             ? LAPACKE_zungqr(ORDER, a->rows, a->columns, tau->rows, a->complexes, a->leading, tau->complexes)
             : LAPACKE_dorgqr(ORDER, a->rows, a->columns, tau->rows, a->reals, a->leading, tau->reals);
}

/* q c, c q or with the adjoint of q. */
static int ormqr(struct interp_lapack_job *job) {
  struct interp_lapack_array *q = &job->in[0], *tau = &job->in[1], *c = &job->out[0];
  bool is_left = interp_config_int(job->call, "left", 1) != 0;
  bool is_adjoint = interp_config_int(job->call, "transpose", 0) != 0;
  int length = is_left ? c->rows : c->columns;
  char side = is_left ? 'L' : 'R', form = !is_adjoint ? 'N' : job->is_complex ? 'C' : 'T';
  if (q->rows != length || tau->rows > length || tau->rows > q->columns) {
    return -1;
  }
  memcpy(c->any, job->in[2].any, c->scratch->size_bytes);
  return job->is_complex ? LAPACKE_zunmqr(ORDER, side, form, c->rows, c->columns, tau->rows, q->complexes, q->leading,
                                          tau->complexes, c->complexes, c->leading)
                         : LAPACKE_dormqr(ORDER, side, form, c->rows, c->columns, tau->rows, q->reals, q->leading,
                                          tau->reals, c->reals, c->leading);
}

/* a → Hessenberg form and the reflections below it. */
static int gehrd(struct interp_lapack_job *job) {
  struct interp_lapack_array *a = &job->out[0], *tau = &job->out[1];
  int64_t low = interp_config_int(job->call, "low", 1), high = interp_config_int(job->call, "high", a->rows);
  if (low < 1 || high > a->rows || low > high) {
    return a->rows == 0 ? 0 : -1;
  }
  interp_lapack_copy(job, 0);
  return job->is_complex ? LAPACKE_zgehrd(ORDER, a->rows, (int)low, (int)high, a->complexes, a->leading, tau->complexes)
                         : LAPACKE_dgehrd(ORDER, a->rows, (int)low, (int)high, a->reals, a->leading, tau->reals);
}

/* A symmetric or Hermitian a → tridiagonal form (diagonal, off-diagonal) and the reflections. */
static int sytrd(struct interp_lapack_job *job) {
  struct interp_lapack_array *a = &job->out[0], *tau = &job->out[3];
  double *diagonal = job->out[1].reals, *beside = job->out[2].reals;
  char triangle = interp_lapack_triangle(job->call);
  interp_lapack_copy(job, 0);
  return job->is_complex
             ? LAPACKE_zhetrd(ORDER, triangle, a->rows, a->complexes, a->leading, diagonal, beside, tau->complexes)
             : LAPACKE_dsytrd(ORDER, triangle, a->rows, a->reals, a->leading, diagonal, beside, tau->reals);
}

/* ---- tridiagonal systems ------------------------------------------------------------------------------------------------------ */

/* The first element of the lower diagonal and the last of the upper one are not used. */
static int solve_tridiagonal(const struct interp_lapack_job *job, struct interp_lapack_array *lower,
                             struct interp_lapack_array *diagonal, struct interp_lapack_array *upper,
                             struct interp_lapack_array *b) {
  (void)job;
  return b->rows == 0      ? 0
         : job->is_complex ? LAPACKE_zgtsv_work(ORDER, b->rows, b->columns, lower->complexes + 1, diagonal->complexes,
                                                upper->complexes, b->complexes, b->leading)
                           : LAPACKE_dgtsv_work(ORDER, b->rows, b->columns, lower->reals + 1, diagonal->reals,
                                                upper->reals, b->reals, b->leading);
}

static int gtsv(struct interp_lapack_job *job) {
  for (uint32_t i = 0; i < 4; i++) {
    interp_lapack_copy(job, i);
  }
  return solve_tridiagonal(job, &job->out[0], &job->out[1], &job->out[2], &job->out[3]);
}

static int gtsv2(struct interp_lapack_job *job) {
  struct interp_lapack_array *b = &job->out[0];
  memcpy(b->any, job->in[3].any, b->scratch->size_bytes);
  int info = solve_tridiagonal(job, &job->in[0], &job->in[1], &job->in[2], b);
  return info > 0 ? -1 : info; /* the GPU's has no info: a singular system gives no numbers */
}

/* ---- targets ------------------------------------------------------------------------------------------------------------------ */

#define FORM(name, ...)                                                                                                \
  bool interp_target_##name(struct interp_call *call) {                                                                \
    static const struct interp_lapack_form form = {__VA_ARGS__};                                                       \
    return interp_lapack_run(call, &form);                                                                             \
  }
/*   target            routine           shapes                        info  logical */
FORM(potrf, potrf, "Ann>Ann I", 1, false)
FORM(getrf, getrf, "Amn>Amn Ik I", 2, false)
FORM(geqrf, geqrf, "Amn>Amn Ak", -1, false)
FORM(geqp3, geqp3, "Amn In>Amn In Ak", -1, false)
FORM(orgqr, orgqr, "Amn At>Amn", -1, false)
FORM(ormqr, ormqr, "Apt As Amn>Amn", -1, false)
FORM(gehrd, gehrd, "Ann>Ann Ae I", 2, false)
FORM(sytrd, sytrd, "Ann>Ann Rn Re Ae I", 4, false)
FORM(gtsv, gtsv, "An An An Anq>An An An Anq I", 4, false)
FORM(gtsv2, gtsv2, "An An An Anq>Anq", -1, false)
FORM(tpu_lu, lu_decomposition, "Amn>Amn Ik Im", -1, true)
FORM(tpu_qr, geqrf, "Amn>Amn Ak", -1, true)
FORM(tpu_householder, orgqr, "Amn At>Amn", -1, true)
#undef FORM
