/* One function per StableHLO operation that the builders of ONNX operators use: it checks its arguments, computes the type
 * of the result and appends the operation, or folds it when all operands are small and known. Sticky failure as in
 * onnx_build.h. */
#ifndef RIDGELINE_IMPORT_ONNX_EMIT_H
#define RIDGELINE_IMPORT_ONNX_EMIT_H

#include "import/onnx_build.h"

/* ---- constants ---- */
struct onnx_val onnx_const_int(struct onnx_builder *b, enum dtype dtype, int64_t value); /* scalar, of any type */
struct onnx_val onnx_const_float(struct onnx_builder *b, enum dtype dtype, double value);
/* A value of `dims`, every element the same; converted to the type. */
struct onnx_val onnx_splat(struct onnx_builder *b, enum dtype dtype, double value, const int64_t *dims, uint32_t rank);
struct onnx_val onnx_const_i64s(struct onnx_builder *b, const int64_t *values, uint32_t count);
struct onnx_val onnx_iota(struct onnx_builder *b, enum dtype dtype, const int64_t *dims, uint32_t rank, uint32_t axis);
/* Least (-inf) and greatest (+inf) value of a type, scalar. */
struct onnx_val onnx_limit(struct onnx_builder *b, enum dtype dtype, bool is_greatest);

/* ---- elementwise; binary ones broadcast as numpy does and take operands of one type ---- */
struct onnx_val onnx_unary(struct onnx_builder *b, enum ir_opcode opcode, struct onnx_val x);
struct onnx_val onnx_binary(struct onnx_builder *b, enum ir_opcode opcode, struct onnx_val x, struct onnx_val y);
static inline struct onnx_val onnx_add(struct onnx_builder *b, struct onnx_val x, struct onnx_val y) {
  return onnx_binary(b, IR_OP_ADD, x, y);
}
static inline struct onnx_val onnx_sub(struct onnx_builder *b, struct onnx_val x, struct onnx_val y) {
  return onnx_binary(b, IR_OP_SUBTRACT, x, y);
}
static inline struct onnx_val onnx_mul(struct onnx_builder *b, struct onnx_val x, struct onnx_val y) {
  return onnx_binary(b, IR_OP_MULTIPLY, x, y);
}
static inline struct onnx_val onnx_div(struct onnx_builder *b, struct onnx_val x, struct onnx_val y) {
  return onnx_binary(b, IR_OP_DIVIDE, x, y);
}
/* x op constant of x's type */
struct onnx_val onnx_binary_float(struct onnx_builder *b, enum ir_opcode opcode, struct onnx_val x, double y);
enum onnx_compare { ONNX_EQ, ONNX_NE, ONNX_LT, ONNX_LE, ONNX_GT, ONNX_GE };
struct onnx_val onnx_compare(struct onnx_builder *b, enum onnx_compare direction, struct onnx_val x, struct onnx_val y);
struct onnx_val onnx_select(struct onnx_builder *b, struct onnx_val predicate, struct onnx_val x, struct onnx_val y);
struct onnx_val onnx_is_finite(struct onnx_builder *b, struct onnx_val x);
/* To another type; floats to integers are cut off, anything to i1 is x != 0. */
struct onnx_val onnx_convert(struct onnx_builder *b, struct onnx_val x, enum dtype dtype);
struct onnx_val onnx_clamp(struct onnx_builder *b, struct onnx_val low, struct onnx_val x, struct onnx_val high);

/* ---- shapes ---- */
struct onnx_val onnx_reshape(struct onnx_builder *b, struct onnx_val x, const int64_t *dims, uint32_t rank);
/* numpy's broadcasting: dimensions align at the end. */
struct onnx_val onnx_broadcast(struct onnx_builder *b, struct onnx_val x, const int64_t *dims, uint32_t rank);
/* Dimension i of x is dimension axes[i] of the result. */
struct onnx_val onnx_broadcast_in(struct onnx_builder *b, struct onnx_val x, const int64_t *dims, uint32_t rank,
                                  const int64_t *axes);
/* A vector along one axis of a shape of that rank: [n] → [1, n, 1, 1]. Scalars stay. */
struct onnx_val onnx_along(struct onnx_builder *b, struct onnx_val x, uint32_t axis, uint32_t rank);
/* The common shape of two values; a failure when there is none. */
bool onnx_common_dims(struct onnx_builder *b, struct onnx_val x, struct onnx_val y, int64_t *dims, uint32_t *rank);
struct onnx_val onnx_transpose(struct onnx_builder *b, struct onnx_val x, const int64_t *permutation);
struct onnx_val onnx_slice(struct onnx_builder *b, struct onnx_val x, const int64_t *starts, const int64_t *limits,
                           const int64_t *strides);
/* The part [start, limit) of one axis. */
struct onnx_val onnx_slice_axis(struct onnx_builder *b, struct onnx_val x, uint32_t axis, int64_t start, int64_t limit);
struct onnx_val onnx_concat(struct onnx_builder *b, const struct onnx_val *parts, uint32_t count, uint32_t axis);
struct onnx_val onnx_pad(struct onnx_builder *b, struct onnx_val x, struct onnx_val value, const int64_t *low,
                         const int64_t *high, const int64_t *interior);
struct onnx_val onnx_reverse(struct onnx_builder *b, struct onnx_val x, uint32_t axis);
/* Indices from -size … size-1 as 0 … size-1. */
struct onnx_val onnx_wrap_indices(struct onnx_builder *b, struct onnx_val indices, int64_t size);
/* Slices of x along `axis` at `indices` (negative ones count from the end): x.dims[:axis] + indices.dims + x.dims[axis+1:] */
struct onnx_val onnx_take(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices, uint32_t axis);

/* ---- products, windows, reductions ---- */
struct onnx_dot {
  uint32_t batch_count, contract_count;
  int64_t lhs_batch[ONNX_RANK_MAX], rhs_batch[ONNX_RANK_MAX];
  int64_t lhs_contract[ONNX_RANK_MAX], rhs_contract[ONNX_RANK_MAX];
};
/* dot_general: batch dimensions, free ones of x, free ones of y. `result` NONE = the type of x. */
struct onnx_val onnx_dot_general(struct onnx_builder *b, struct onnx_val x, struct onnx_val y,
                                 const struct onnx_dot *dims, enum dtype result);
/* numpy.matmul */
struct onnx_val onnx_matmul(struct onnx_builder *b, struct onnx_val x, struct onnx_val y, enum dtype result);
/* A region (x, y) → body(x, y) on scalars; body UNKNOWN gives y. */
struct ir_region onnx_scalar_body(struct onnx_builder *b, enum dtype dtype, enum ir_opcode body);
struct onnx_window {
  uint32_t rank; /* spatial dimensions */
  int64_t size[ONNX_RANK_MAX], stride[ONNX_RANK_MAX], low[ONNX_RANK_MAX], high[ONNX_RANK_MAX];
  int64_t base_dilation[ONNX_RANK_MAX], dilation[ONNX_RANK_MAX];
};
/* x [N, C, ...] with kernel [O, C / groups, ...]. */
struct onnx_val onnx_convolution(struct onnx_builder *b, struct onnx_val x, struct onnx_val kernel,
                                 const struct onnx_window *window, int64_t groups, enum dtype result);
/* Windows over the last dimensions of x [N, C, ...]; `init` is a scalar. */
struct onnx_val onnx_reduce_window(struct onnx_builder *b, enum ir_opcode body, struct onnx_val x, struct onnx_val init,
                                   const struct onnx_window *window);
/* A reduction over axes[i] != 0; these dimensions become 1 (`keep`) or go. */
struct onnx_val onnx_reduce(struct onnx_builder *b, enum ir_opcode body, struct onnx_val x, const bool *axes,
                            bool keep);
/* Over the last axis, kept as 1. */
struct onnx_val onnx_reduce_last(struct onnx_builder *b, enum ir_opcode body, struct onnx_val x);

/* ---- indexed ---- */
struct onnx_gather {
  uint32_t offset_count, collapsed_count, map_count, batching_count;
  int64_t offset_dims[ONNX_RANK_MAX], collapsed[ONNX_RANK_MAX], map[ONNX_RANK_MAX], sizes[ONNX_RANK_MAX];
  int64_t operand_batching[ONNX_RANK_MAX], indices_batching[ONNX_RANK_MAX];
};
/* The last dimension of `indices` is the index vector. `dims`: shape of the result. */
struct onnx_val onnx_gather(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices,
                            const struct onnx_gather *gather, const int64_t *dims, uint32_t rank);
/* Scatter with the last dimension of `indices` as the index vector; the fields of `gather` are those of the mirrored
 * gather: offset_dims = update_window_dims, collapsed = inserted_window_dims. body NONE (IR_OP_UNKNOWN): replace. */
struct onnx_val onnx_scatter(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices,
                             struct onnx_val updates, const struct onnx_gather *gather, enum ir_opcode body);
/* Values and i32 or i64 indices sorted along the axis, stable; greatest or least first. */
void onnx_sort(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices, uint32_t axis, bool is_descending,
               struct onnx_val *sorted, struct onnx_val *permuted);
struct onnx_val onnx_dynamic_slice(struct onnx_builder *b, struct onnx_val x, const struct onnx_val *starts,
                                   const int64_t *sizes);
struct onnx_val onnx_dynamic_update(struct onnx_builder *b, struct onnx_val x, struct onnx_val update,
                                    const struct onnx_val *starts);

/* ---- the operation itself ---- */
bool onnx_push_attr(struct onnx_builder *b, const char *name, struct ir_attr attr);
bool onnx_push_i64s(struct onnx_builder *b, const char *name, const int64_t *values, uint32_t count);
bool onnx_push_i64(struct onnx_builder *b, const char *name, int64_t value);
/* Appends an operation with the attributes pushed so far and one result of the type of `result`, which it defines. */
struct onnx_val onnx_emit(struct onnx_builder *b, enum ir_opcode opcode, const struct onnx_val *operands,
                          uint32_t count, const struct ir_region *region, struct onnx_val result);
/* The same with any number of results and regions. */
bool onnx_emit_many(struct onnx_builder *b, enum ir_opcode opcode, const struct onnx_val *operands, uint32_t count,
                    const struct ir_region *regions, uint32_t region_count, struct onnx_val *results,
                    uint32_t result_count);

#endif
