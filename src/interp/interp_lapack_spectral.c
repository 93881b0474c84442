/* LAPACK-style spectral kernels: eigenvalues, Schur form, singular values. Routines are LAPACK's (names as there, without the
 * letter of the type); which operand is what: interp_lapack.h. */
#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

#include "interp/interp_lapack.h"

enum { ORDER = LAPACK_COL_MAJOR };

/* ---- symmetric and Hermitian matrices ---------------------------------------------------------------------------------------- */

static int eigenvectors(struct interp_lapack_job *job, char mode, char triangle) {
  struct interp_lapack_array *a = &job->out[0];
  interp_lapack_copy(job, 0);
  return job->is_complex ? LAPACKE_zheevd(ORDER, mode, triangle, a->rows, a->complexes, a->leading, job->out[1].reals)
                         : LAPACKE_dsyevd(ORDER, mode, triangle, a->rows, a->reals, a->leading, job->out[1].reals);
}

/* a → eigenvectors (mode V), eigenvalues in ascending order. */
static int syevd(struct interp_lapack_job *job) {
  char mode = interp_config_int(job->call, "mode", 'V') == 'N' ? 'N' : 'V';
  return eigenvectors(job, mode, interp_lapack_triangle(job->call));
}

/* The TPU's: backend_config is the text "lower,sort,iterations,tolerance". */
static int tpu_eigh_routine(struct interp_lapack_job *job) {
  return eigenvectors(job, 'V', interp_attr_text(job->call, "backend_config")[0] == '0' ? 'U' : 'L');
}

/* ---- general matrices ---------------------------------------------------------------------------------------------------------- */

/* 'V' when the configuration asks for these vectors, as a letter (CPU) or a predicate (GPU). */
static char wants(const struct interp_lapack_job *job, const char *letter, const char *predicate) {
  bool by_letter = interp_config_int(job->call, letter, 'V') == 'V';
  return by_letter && interp_config_int(job->call, predicate, 1) != 0 ? 'V' : 'N';
}

static void put_complex(double complex *to, double real, double imaginary) {
  double *parts = (double *)to; /* C17 6.2.5: as an array of two */
  parts[0] = real;
  parts[1] = imaginary;
}

/* LAPACK keeps a conjugate pair of vectors as two real ones, the real and the imaginary part of the first. */
static void unpack_pairs(int order, const double *imaginary, const double *packed, struct interp_lapack_array *to) {
  size_t n = (size_t)order;
  for (size_t j = 0; j < n; j++) {
    bool is_pair = imaginary[j] != 0 && j + 1 < n;
    for (size_t i = 0; i < n; i++) {
      double real = packed[j * n + i], other = is_pair ? packed[(j + 1) * n + i] : 0;
      put_complex(&to->complexes[j * n + i], real, other);
      if (is_pair) {
        put_complex(&to->complexes[(j + 1) * n + i], real, -other);
      }
    }
    j += is_pair;
  }
}

/* Real a → real and imaginary parts of the eigenvalues, left and right eigenvectors (columns). */
static int geev_real(struct interp_lapack_job *job) {
  struct interp_lapack_array *a = &job->in[0], *left = &job->out[2], *right = &job->out[3];
  double *real = job->out[0].reals, *imaginary = job->out[1].reals;
  size_t size = (size_t)a->rows * (size_t)a->rows;
  double *vectors = calloc(2 * size + 1, sizeof *vectors);
  if (!vectors) {
    interp_out_of_memory(job->call);
    return -1;
  }
  char with_left = wants(job, "compute_left", "left"), with_right = wants(job, "compute_right", "right");
  int info = LAPACKE_dgeev(ORDER, with_left, with_right, a->rows, a->reals, a->leading, real, imaginary, vectors,
                           a->leading, vectors + size, a->leading);
  if (info == 0 && with_left == 'V') {
    unpack_pairs(a->rows, imaginary, vectors, left);
  }
  if (info == 0 && with_right == 'V') {
    unpack_pairs(a->rows, imaginary, vectors + size, right);
  }
  free(vectors);
  return info;
}

/* Complex a → eigenvalues, left and right eigenvectors. */
static int geev_complex(struct interp_lapack_job *job) {
  struct interp_lapack_array *a = &job->in[0], *left = &job->out[1], *right = &job->out[2];
  return LAPACKE_zgeev(ORDER, wants(job, "compute_left", "left"), wants(job, "compute_right", "right"), a->rows,
                       a->complexes, a->leading, job->out[0].complexes, left->complexes, left->leading,
                       right->complexes, right->leading);
}

/* a → Schur form, Schur vectors; real matrices: real and imaginary parts of the eigenvalues, complex ones: eigenvalues. Nothing
 * is selected, so the count of selected eigenvalues stays 0. */
static int gees(struct interp_lapack_job *job) {
  struct interp_lapack_array *a = &job->out[0], *v = &job->out[1];
  char mode = interp_config_int(job->call, "mode", 'V') == 'N' ? 'N' : 'V';
  lapack_int selected = 0;
  interp_lapack_copy(job, 0);
  return job->is_complex ? LAPACKE_zgees(ORDER, mode, 'N', NULL, a->rows, a->complexes, a->leading, &selected,
                                         job->out[2].complexes, v->complexes, v->leading)
                         : LAPACKE_dgees(ORDER, mode, 'N', NULL, a->rows, a->reals, a->leading, &selected,
                                         job->out[2].reals, job->out[3].reals, v->reals, v->leading);
}

/* ---- singular values ----------------------------------------------------------------------------------------------------------- */

/* 'A': all columns of u and rows of v; 'S': as many as there are singular values; 'N': none. */
static char svd_mode(const struct interp_lapack_job *job) {
  if (interp_config_int(job->call, "compute_uv", 1) == 0) {
    return 'N';
  }
  bool is_full = interp_config_int(job->call, "full_matrices", 1) != 0;
  int64_t mode = interp_config_int(job->call, "mode", is_full ? 'A' : 'S');
  return mode == 'A' || mode == 'N' ? (char)mode : 'S';
}

static bool is_matrix(const struct interp_lapack_job *job, const struct interp_lapack_array *a, int rows, int columns) {
  return a->value && a->rank == 2 && a->rows == rows && a->columns == columns && !interp_is_integral(a->value)
         && interp_is_complex(a->value) == job->is_complex;
}

static int divide_and_conquer(struct interp_lapack_job *job, char mode, void *u, int u_leading, void *v,
                              int v_leading) {
  struct interp_lapack_array *a = &job->out[0];
  interp_lapack_copy(job, 0);
  return job->is_complex ? LAPACKE_zgesdd(ORDER, mode, a->rows, a->columns, a->complexes, a->leading, job->out[1].reals,
                                          u, u_leading, v, v_leading)
                         : LAPACKE_dgesdd(ORDER, mode, a->rows, a->columns, a->reals, a->leading, job->out[1].reals, u,
                                          u_leading, v, v_leading);
}

/* a → something, singular values in descending order, u, adjoint of v. */
static int gesdd(struct interp_lapack_job *job) {
  struct interp_lapack_array *a = &job->out[0], *u = &job->out[2], *v = &job->out[3];
  char mode = svd_mode(job);
  int rank = job->out[1].rows, full_u = mode == 'A' ? a->rows : rank, full_v = mode == 'A' ? a->columns : rank;
  double none[2];
  if (mode == 'N') {
    return divide_and_conquer(job, mode, none, a->leading, none, a->columns > 0 ? a->columns : 1);
  }
  if (!is_matrix(job, u, a->rows, full_u) || !is_matrix(job, v, full_v, a->columns)) {
    return -1;
  }
  return divide_and_conquer(job, mode, u->any, u->leading, v->any, v->leading);
}

/* to (n x k) = adjoint of from (k x n). */
static void adjoint(const struct interp_lapack_job *job, const void *from, int k, int n,
                    struct interp_lapack_array *to) {
  const double *real = from;
  const double complex *complex_from = from;
  for (size_t j = 0; j < (size_t)k; j++) {
    for (size_t i = 0; i < (size_t)n; i++) {
      if (job->is_complex) {
        to->complexes[j * (size_t)n + i] = conj(complex_from[i * (size_t)k + j]);
      } else {
        to->reals[j * (size_t)n + i] = real[i * (size_t)k + j];
      }
    }
  }
}

/* The same with v instead of its adjoint, as the Jacobi and polar kernels of GPUs give it. */
static int gesvdj(struct interp_lapack_job *job) {
  struct interp_lapack_array *a = &job->out[0], *u = &job->out[2], *v = &job->out[3];
  char mode = svd_mode(job);
  int rank = job->out[1].rows, full_u = mode == 'A' ? a->rows : rank, full_v = mode == 'A' ? a->columns : rank;
  if (mode == 'N') {
    return gesdd(job);
  }
  if (!is_matrix(job, u, a->rows, full_u) || !is_matrix(job, v, a->columns, full_v)) {
    return -1;
  }
  void *turned = malloc(v->scratch->size_bytes + 1);
  if (!turned) {
    interp_out_of_memory(job->call);
    return -1;
  }
  int info = divide_and_conquer(job, mode, u->any, u->leading, turned, full_v > 0 ? full_v : 1);
  if (info == 0) {
    adjoint(job, turned, full_v, a->columns, v);
  }
  free(turned);
  return info;
}

/* ---- targets ------------------------------------------------------------------------------------------------------------------ */

#define FORM(name, ...)                                                                                                \
  bool interp_target_##name(struct interp_call *call) {                                                                \
    static const struct interp_lapack_form form = {__VA_ARGS__};                                                       \
    return interp_lapack_run(call, &form);                                                                             \
  }
/*   target            routine           shapes                        info  logical */
FORM(syevd, syevd, "Ann>Ann Rn I", 2, false)
FORM(gesdd, gesdd, "Amn>Amn Rk * * I", 4, false)
FORM(gesvdj, gesvdj, "Amn>Amn Rk * * I", 4, false)
FORM(geev, geev_real, "Ann>Rn Rn Cnn Cnn I", 4, false)
FORM(geev_complex, geev_complex, "Ann>Cn Cnn Cnn I", 3, false)
FORM(gees, gees, "Ann>Ann Ann Rn Rn I I", 5, false)
FORM(gees_complex, gees, "Ann>Ann Ann Cn I I", 4, false)
FORM(tpu_eigh, tpu_eigh_routine, "Ann>Ann Rn", -1, true)
#undef FORM
