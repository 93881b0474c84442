/* Constraints of the specification that say nothing about shapes of results: bodies of reductions, device groups,
 * quantization, attribute values. One function per family, found by opcode; analyze_infer.c calls it before inference.
 * Numbers such as (C4) are those of docs/spec.md of openxla/stablehlo. */
#ifndef RIDGELINE_ANALYZE_VERIFY_INT_H
#define RIDGELINE_ANALYZE_VERIFY_INT_H

#include "analyze/analyze_int.h"

/* Operands and attributes are what the specification lists. Called first, for every op that has a row in spec.def. */
bool verify_inputs(struct infer *infer, struct ir_op op);

/* False after a message. */
typedef bool (*verify_fn)(struct infer *infer, struct ir_op op);
/* Check of an opcode or NULL. */
verify_fn verify_find(enum ir_opcode opcode);

bool verify_all_reduce(struct infer *infer, struct ir_op op);
bool verify_reduce_scatter(struct infer *infer, struct ir_op op);
bool verify_all_gather(struct infer *infer, struct ir_op op);
bool verify_all_to_all(struct infer *infer, struct ir_op op);
bool verify_collective_broadcast(struct infer *infer, struct ir_op op);
bool verify_collective_permute(struct infer *infer, struct ir_op op);
bool verify_reduce(struct infer *infer, struct ir_op op);
bool verify_scatter(struct infer *infer, struct ir_op op);
bool verify_select_and_scatter(struct infer *infer, struct ir_op op);
bool verify_sort(struct infer *infer, struct ir_op op);
bool verify_map(struct infer *infer, struct ir_op op);
bool verify_async_start(struct infer *infer, struct ir_op op);
bool verify_async_done(struct infer *infer, struct ir_op op);
bool verify_result_accuracy(struct infer *infer, struct ir_op op);
bool verify_composite(struct infer *infer, struct ir_op op);
bool verify_custom_call(struct infer *infer, struct ir_op op);
bool verify_infeed(struct infer *infer, struct ir_op op);
bool verify_send(struct infer *infer, struct ir_op op);
bool verify_recv(struct infer *infer, struct ir_op op);
bool verify_rng(struct infer *infer, struct ir_op op);
bool verify_dot_general(struct infer *infer, struct ir_op op);
bool verify_convolution(struct infer *infer, struct ir_op op);
bool verify_reduce_precision(struct infer *infer, struct ir_op op);
bool verify_start_indices(struct infer *infer, struct ir_op op);
bool verify_fft(struct infer *infer, struct ir_op op);
bool verify_dynamic_pad(struct infer *infer, struct ir_op op);
bool verify_static_shape(struct infer *infer, struct ir_op op);
bool verify_broadcasting(struct infer *infer, struct ir_op op);
bool verify_mulhi(struct infer *infer, struct ir_op op);
bool verify_ragged_dot(struct infer *infer, struct ir_op op);
bool verify_broadcast_select(struct infer *infer, struct ir_op op);
bool verify_constant_like(struct infer *infer, struct ir_op op);
bool verify_scan(struct infer *infer, struct ir_op op);
bool verify_run_parallel(struct infer *infer, struct ir_op op);
bool verify_same_quantization(struct infer *infer, struct ir_op op);
bool verify_quantized_add(struct infer *infer, struct ir_op op);
bool verify_uniform_quantize(struct infer *infer, struct ir_op op);
bool verify_batch_norm_grad(struct infer *infer, struct ir_op op);
bool verify_dynamic_gather(struct infer *infer, struct ir_op op);
bool verify_precision(struct infer *infer, struct ir_op op);
bool verify_dynamic_broadcast(struct infer *infer, struct ir_op op);

bool verify_mesh(struct infer *infer, struct ir_op op);
bool verify_sharded(struct infer *infer, struct ir_op op);
bool verify_manual_computation(struct infer *infer, struct ir_op op);
bool verify_passed_region(struct infer *infer, struct ir_op op);

/* The attribute sdy.sharding of any operation against its results. */
bool verify_value_sharding(struct infer *infer, struct ir_op op, struct ir_attr attr);
/* The same attribute of arguments and results of a function, whose type is sound. */
bool verify_function_shardings(struct infer *infer, struct ir_op function);

/* Operands and results are no buffers where the operation takes none, and have elements that StableHLO has. Called for
 * every op of a module that has such types. */
bool verify_plain_types(struct infer *infer, struct ir_op op);
/* Targets of custom_call that make buffers, and aliases of buffers. */
bool verify_buffers(struct infer *infer, struct ir_op op);
/* Sizes against bounds in a whole module, with messages; before types are refined. */
void verify_bounds(struct infer *infer);

/* Quantized types of operands and results are well-formed and allowed on this op. Called for every op of a module that
 * has a quantized type. */
bool verify_quantized(struct infer *infer, struct ir_op op);
/* Same for the arguments of a function. */
bool verify_quantized_arguments(struct infer *infer, struct ir_op function);
/* Dot products and convolutions: `dimension` is the one that per-axis scales of the right operand and of the result run
 * along (-1: any but the contracted ones, which are listed). */
bool verify_quantized_product(struct infer *infer, struct ir_op op, int64_t rhs_dimension, int64_t result_dimension,
                              const struct ints *contracted);
/* Quantization of a tensor's elements, NULL when they are not quantized. */
const struct ir_quant *quant_of(const struct ir_module *module, struct ir_type type);

/* Records a message at the place of attribute `name` in the source text, or at the op when it is not found. */
void infer_error_at_attribute(struct infer *infer, struct ir_op op, const char *name, enum diag_id id,
                              const char *text);

/* The same at the opening brace of the attributes that `name` is one of. */
void infer_error_at_braces(struct infer *infer, struct ir_op op, const char *name, enum diag_id id, const char *text);

/* A reducing body: types of its arguments and results against `count` inputs and initial values. */
struct reducer {
  uint32_t region;
  uint32_t count; /* pairs of arguments */
  const struct ir_type *inputs; /* element types that are reduced */
  const struct ir_type *inits; /* element types of the initial values */
  const struct shape *init_shapes; /* NULL: scalars */
  const struct shape *slices; /* shapes that arguments may be slices of; NULL: only scalars */
};
bool verify_reducer(struct infer *infer, struct ir_op op, const struct reducer *reducer);

#endif
