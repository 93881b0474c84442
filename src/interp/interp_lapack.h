/* Custom calls of LAPACK-style kernels (LAPACK on the CPU, cuSOLVER, hipSOLVER, the TPU's own): one matrix of the batch at a
 * time, in double precision, through LAPACKE, rounded once. Operands, results and attributes are those of JAX's lowerings
 * (jax/_src/lax/linalg.py; older forms as the artifacts of jax.export hold them).
 *
 * Path: interp_custom.c → a target here → interp_lapack_run (interp_lapack.c) → a routine (interp_lapack_factor.c,
 * interp_lapack_spectral.c). */
#ifndef RIDGELINE_INTERP_INTERP_LAPACK_H
#define RIDGELINE_INTERP_INTERP_LAPACK_H

#include <complex.h>

#include "interp/interp_custom.h"

enum { INTERP_LAPACK_OPERANDS = 4, INTERP_LAPACK_RESULTS = 6 };

/* An operand or a result for one matrix of the batch. */
struct interp_lapack_array {
  struct interp_value *value; /* the whole batch; NULL: the call has no such operand or result */
  struct interp_value *scratch; /* the numbers of one matrix; owned */
  int rank; /* without the dimensions of the batch: 0 a scalar, 1 a vector, 2 a matrix */
  int rows, columns; /* as the kernel sees it, column-major; a vector has one column */
  int leading; /* leading dimension: rows, at least 1 */
  bool is_turned; /* the layout is row-major: the kernel sees the transposed matrix */
  union {
    double *reals; /* element type is real */
    double complex *complexes; /* complex */
    int32_t *integers; /* integral */
    void *any;
  };
};

struct interp_lapack_job {
  struct interp_call *call;
  bool is_complex; /* element type of the first operand */
  uint64_t batch_count;
  uint32_t in_count, out_count;
  struct interp_lapack_array in[INTERP_LAPACK_OPERANDS], out[INTERP_LAPACK_RESULTS];
};

/* Computes job->out from job->in for one matrix. Returns LAPACK's info: 0 done, > 0 no convergence or singular, < 0 the
 * arguments are wrong or not numbers; then the floats of all results become NaN. */
typedef int interp_lapack_routine(struct interp_lapack_job *job);

/* What a family of targets has in common. `shapes` says what the kernel must see for one matrix, operands > results, as it is
 * checked before the routine runs ("Amn>Amn Ik I"): a letter for the element type (A as the first operand, R real, C complex, I
 * integer, * not checked) and one per dimension; each letter stands for the number that it meets first, k for min(m, n), e for
 * n - 1. Further results of the call are workspace, and zeros. */
struct interp_lapack_form {
  interp_lapack_routine *routine;
  const char *shapes;
  int info; /* the result that takes what the routine returns; -1 = none */
  bool is_logical; /* no layouts: the kernel sees the matrices as the program does (TPU) */
};
bool interp_lapack_run(struct interp_call *call, const struct interp_lapack_form *form);

/* 'L' or 'U': from uplo, lower, or the descriptors of the old GPU calls. */
char interp_lapack_triangle(const struct interp_call *call);

/* out[i] = in[i], which has its shape. */
static inline void interp_lapack_copy(struct interp_lapack_job *job, uint32_t i) {
  if (job->in[i].scratch->size_bytes > 0) {
    __builtin_memcpy(job->out[i].any, job->in[i].any, job->in[i].scratch->size_bytes);
  }
}

#endif
