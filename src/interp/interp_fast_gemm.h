/* Products of matrices for the fast path: packed into panels and multiplied in blocks that fit the caches, on all cores.
 *
 *   interp_fast_gemm.c         blocks, panels, threads          interp_fast_gemm_kernel.h   the innermost loops, per processor
 *   interp_fast_dot.c          contractions as such products    interp_fast_convolution.c   convolutions as such products
 *
 * A matrix is given by two lists of offsets, so that transposed operands, several dimensions in the place of one and the
 * overlapping windows of a convolution need no copy of their own. */
#ifndef RIDGELINE_INTERP_INTERP_FAST_GEMM_H
#define RIDGELINE_INTERP_INTERP_FAST_GEMM_H

#include "base/dtype.h"

/* Element (i, j) is element rows[i] + columns[j] behind `data`. */
struct interp_matrix {
  void *data;
  const int64_t *rows, *columns;
};

/* A product c = a * b of m × k and k × n elements, done for each batch: the data of batch i begin at *_starts[i] elements. */
struct interp_gemm {
  enum dtype dtype; /* of all three: F32, F64, or UI32 and UI64, which wrap */
  uint64_t m, n, k, batches;
  struct interp_matrix a, b, c;
  const int64_t *a_starts, *b_starts, *c_starts; /* one per batch */
};

/* Sums are of the element type, in an order that depends only on the shapes, so results do not depend on the number of
 * threads. False when memory is exhausted. */
bool interp_gemm_run(const struct interp_gemm *gemm);
/* Bytes that interp_gemm_run takes beside its operands, at most. */
enum { INTERP_GEMM_SCRATCH_BYTES = 24 << 20 };

#endif
