/* The fast path of the interpreter: kernels that stand in front of the definitions and give the same results sooner. Each is
 * asked first and may say "not mine"; then the definition is evaluated. `plain` of the options switches all of them off.
 * Contract of every kernel: integers are the same bit for bit; floats as docs/interpreter-fast.md states per operation; nothing is
 * refused that the definition would evaluate, so a kernel that finds no room for its buffers is not the one to use.
 *
 *   interp_fast_dot.c, interp_fast_convolution.c   products (interp_fast_gemm.h), called by the definitions when they have
 *                                                  read their attributes
 *   interp_fast_reduce.c                           reductions by one operation, likewise
 *   interp_fast_groups.c, interp_fast_evaluate.c   chains of element-by-element operations (interp_fast_groups.h) */
#ifndef RIDGELINE_INTERP_INTERP_FAST_H
#define RIDGELINE_INTERP_INTERP_FAST_H

#include "interp/interp_convolution.h"
#include "interp/interp_dot.h"
#include "interp/interp_window.h"

enum interp_fast { INTERP_FAST_NOT_MINE, INTERP_FAST_DONE, INTERP_FAST_FAILED /* after a diagnostic */ };

/* The product into `to`, which has the dimensions batch, free left, free right. */
enum interp_fast interp_fast_contract(struct interp_call *call, const struct interp_value *lhs,
                                      const struct interp_value *rhs, const struct interp_side *left,
                                      const struct interp_side *right, struct interp_value *to);
/* The dot or dot_general of the call, of operands that are transposes of the sources: dimension d of one is dimension
 * permutations[i][d] of its source. */
bool interp_fast_dot_turned(struct interp_call *call, const struct interp_value *const *sources,
                            int64_t permutations[2][INTERP_MAX_RANK]);
/* The convolution of operands 0 and 1 into `to`. */
enum interp_fast interp_fast_convolve(struct interp_call *call, const struct convolution *c, struct interp_value *to);

/* A list of dimensions with the strides, in elements, that they are walked with. */
struct interp_strided {
  const int64_t *dims, *strides;
  uint32_t rank;
};
/* Operand 0 reduced from operand 1 on: results at `lanes`, elements of each at `steps` from there. The operation has one
 * operand and one initial value, or it is not for the kernel. */
enum interp_fast interp_fast_reduce(struct interp_call *call, const struct interp_strided *lanes,
                                    const struct interp_strided *steps);
enum interp_fast interp_fast_reduce_window(struct interp_call *call, const struct interp_window *w);

/* Products below which setting up a kernel costs more than the definition does. */
enum { INTERP_FAST_LEAST_PRODUCTS = 4096 };

/* ---- shared by the kernels ---------------------------------------------------------------------------------------------- */

/* True when kernels are wanted and so many bytes fit into what the run may still take. */
bool interp_fast_has_room(const struct interp_call *call, uint64_t bytes);
/* Offsets of all indices of the listed dimensions, in row-major order, in elements: sum of index * stride. Returns the end
 * of what it wrote. */
int64_t *interp_fast_offsets(const int64_t *dims, const int64_t *strides, uint32_t rank, int64_t *out);
/* Element type that products of the two types are summed in for a result of the third: F32, F64, UI32, UI64; NONE when that
 * is not for the kernels. */
enum dtype interp_fast_product_type(const struct interp_value *a, const struct interp_value *b,
                                    const struct interp_value *to);
/* *copy = the value in that type, owned; NULL where the elements are the same already. False after a message. */
bool interp_fast_widen(struct interp_call *call, const struct interp_value *v, enum dtype dtype,
                       struct interp_value **copy);
/* to = from, rounded or wrapped. */
void interp_fast_narrow(struct interp_value *to, const struct interp_value *from);
struct interp_gemm;
/* Runs a product whose offsets are set on the elements of these values, which it converts where that is needed. */
enum interp_fast interp_fast_multiply(struct interp_call *call, struct interp_gemm *g, const struct interp_value *lhs,
                                      const struct interp_value *rhs, struct interp_value *to);

#endif
