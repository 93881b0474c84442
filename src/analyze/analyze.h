/* What can be said about a module without running it: shapes and types, the call graph, trip counts of loops, and the
 * counts in XLA's convention. Path: between the parser and everything that needs a checked program. */
#ifndef RIDGELINE_ANALYZE_ANALYZE_H
#define RIDGELINE_ANALYZE_ANALYZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/dtype.h"
#include "base/map.h"
#include "base/status.h"
#include "base/vec.h"
#include "ir/ir.h"

/* Checks operand, result and region counts of every op (E0201 … E0203), the types that inference needs, symbol uses of
 * calls, and that stated result types equal the inferred ones where inference determines them (E0205); refines dynamic
 * dimensions that follow from static ones (after mlir_bind). Goes on after errors. Unknown ops are passed over. */
enum status analyze_infer(struct ir_module *module, struct diag_list *diags);

/* Makes every dynamic dimension with a bound (#stablehlo.bounds) as large as the bound, in types of values and of
 * functions, and what set_dimension_size makes dynamic as long as it was; refines what follows. W0407 once when there is
 * one. After analyze_infer, for counting only: the program is then its own largest case. */
enum status analyze_bounds(struct ir_module *module, struct diag_list *diags);

/* ---- calls ---- */
/* The function that an op calls (func.call, composite decomposition, custom_call called_computations[0]); 0 when
 * none. */
struct ir_op analyze_callee(const struct ir_module *module, struct ir_op op);

/* Symbol table of all func.func of a module, for many look-ups. */
struct analyze_symbols {
  struct map by_name; /* interned name id → first op of that name; (module op << 32 | name id) → op in that module */
};
bool analyze_symbols_init(struct analyze_symbols *symbols, const struct ir_module *module);
void analyze_symbols_release(struct analyze_symbols *symbols);
struct ir_op analyze_symbols_find(const struct analyze_symbols *symbols, uint32_t name);
/* analyze_callee by table; a name means the function of the innermost module around the op that has it. */
struct ir_op analyze_symbols_callee(const struct analyze_symbols *symbols, const struct ir_module *module,
                                    struct ir_op op);
/* E0207 for unresolved calls, E0208 for signature mismatches, E0209 for recursion. */
enum status analyze_calls(const struct ir_module *module, struct diag_list *diags);

/* ---- loops ---- */
struct analyze_trip_count {
  bool is_known; /* `count` iterations, exactly */
  bool is_upper_bound; /* not known, but at most `count`: another condition may end the loop earlier */
  uint64_t count;
};
/* Trip count of a stablehlo.while from its induction pattern: condition compare(iter, bound) with LT, LE, GT, GE, NE
 * and a constant bound and start (through convert, reshape, broadcast of constants, and loop-invariant carried
 * values whose initial value is constant), body iter + step or iter - step with constant step. Exact integer
 * arithmetic, wrap-around refused. Initial values are looked up through func arguments when every call passes the
 * same constant. Conditions may be joined (and; not of or), negated, compared with a constant predicate, and bodies
 * may be outlined into functions. */
struct analyze_trip_count analyze_while_trip_count(const struct ir_module *module, struct ir_op op);

struct analyze_call_site {
  uint32_t function, call; /* ops */
};
struct fold_const; /* analyze_int.h */

/* Trip counts of many loops of a module that does not change meanwhile: call sites are listed once and every answer is
 * kept, so that all loops together cost about as much as the program is long. */
struct analyze_trips {
  const struct ir_module *module;
  const struct analyze_symbols *symbols;
  VEC(struct analyze_call_site) sites; /* func.call ops, sorted by the function they call */
  struct map first_site; /* function op → index of its first site */
  struct map loop_index; /* while op → index into counts */
  VEC(struct analyze_trip_count) counts;
  struct map argument_index; /* function argument (value) → index into constants; UINT32_MAX: not constant */
  VEC(struct fold_const) constants;
};
/* `symbols` are those of the module; both are borrowed. False when memory is exhausted (nothing is to be released). */
bool analyze_trips_init(struct analyze_trips *trips, const struct ir_module *module,
                        const struct analyze_symbols *symbols);
void analyze_trips_release(struct analyze_trips *trips);
/* The same count as analyze_while_trip_count. */
struct analyze_trip_count analyze_trips_count(struct analyze_trips *trips, struct ir_op op);

/* Integer value of a scalar (or splat) constant reaching `value`; false when it is not constant. */
bool analyze_constant_int(const struct ir_module *module, struct ir_value value, int64_t *out);

/* ---- counts, XLA's convention (HloCostAnalysis) ---- */
/* Options of the analysis; zeroed = XLA's defaults with all rates unknown. */
struct analyze_xla_options {
  bool count_multiple_input_accesses; /* broadcast and reduce_window: bytes of operand 0 per use instead of once */
  double flops_per_s, transcendentals_per_s, bytes_per_s; /* rates for optimal_seconds; 0 = that property has no time */
  double min_latency_s; /* lower bound of the time of every property that has a rate */
};

#define ANALYZE_XLA_OPERANDS 16

/* All sums saturate. -1 for unknown as in XLA (custom calls; a sum over a function adds these -1 like XLA does). */
struct analyze_xla_cost {
  int64_t flops;
  int64_t transcendentals;
  int64_t bytes_accessed;
  double optimal_seconds; /* sum over operations of the slowest property; -1 for a custom call */
  uint32_t operand_count;
  int64_t operand_bytes[ANALYZE_XLA_OPERANDS]; /* first 16 operands, -1 = unknown */
  int64_t output_bytes;
};
/* One op, as XLA would count the HLO that it converts to. `options` may be NULL. STATUS_UNSUPPORTED when a dimension
 * that counts is dynamic (the cost holds what is known), STATUS_LIMIT when regions or calls nest too deep. */
enum status analyze_xla_op(const struct ir_module *module, struct ir_op op, const struct analyze_xla_options *options,
                           struct analyze_xla_cost *cost);
/* Sum over a function with calls, branches (maximum) and loops (body and condition once). Statuses as above; the sum
 * goes on after an operation that is not countable. */
enum status analyze_xla_function(const struct ir_module *module, struct ir_op function,
                                 const struct analyze_xla_options *options, struct analyze_xla_cost *cost);

/* ---- convolution windows, shared by the counts of analyze/ and lower/ ---- */
/* Number of (output position, kernel position) pairs of one spatial dimension that read a real input element:
 * padding and dilation holes do not count. Time logarithmic in the arguments; exact for absolute values up to 2^40
 * (a count above UINT64_MAX saturates). Beyond that: the upper bound output * kernel. 0 when an extent, stride or
 * dilation is not positive. */
uint64_t analyze_window_hits(int64_t input, int64_t kernel, int64_t output, int64_t stride, int64_t pad_low,
                             int64_t base_dilation, int64_t window_dilation);

#endif
