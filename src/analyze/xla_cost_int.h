/* Inside of the counts in XLA's convention: the running analysis, sizes in HLO's terms, and the table of rules.
 * Path: xla_cost.c sums over regions and calls; xla_cost_ops.c holds one rule per opcode; xla_fusion.c holds
 * fusions; xla_convert.c what the conversion to HLO changes. */
#ifndef RIDGELINE_ANALYZE_XLA_COST_INT_H
#define RIDGELINE_ANALYZE_XLA_COST_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/analyze_int.h"

/* A pointer in the index table of a tuple (ShapeUtil::ByteSizeOf with the default pointer size). */
#define XLA_POINTER_BYTES 8
#define XLA_FMA_FLOPS 2

struct xla {
  const struct ir_module *module;
  const struct analyze_symbols *symbols; /* NULL: linear look-up */
  struct analyze_xla_options options;
  struct map function_index; /* func.func op → index into functions */
  VEC(struct analyze_xla_cost) functions; /* finished sums */
  bool is_hlo; /* the module was made from HLO: nothing is converted any more */
  bool is_scheduled; /* HLO at the end of XLA's passes */
  unsigned depth;
  unsigned nested_reads; /* steps into nested fusions, bounded */
  enum status status; /* first trouble */
};

/* What an op costs; `is_timed` false: optimal_seconds was set by the rule (sums of others, constants). */
struct xla_props {
  struct analyze_xla_cost cost;
  bool is_timed;
};

typedef void (*xla_rule)(struct xla *xla, struct ir_op op, struct xla_props *props);
/* Rule of an opcode; NULL: the default bytes and no operations. */
xla_rule xla_rule_find(enum ir_opcode opcode);

int64_t xla_add(int64_t a, int64_t b); /* saturating */
int64_t xla_mul(int64_t a, int64_t b); /* saturating; of non-negative numbers */
/* Elements of a tensor type; 0 for other types; a dynamic dimension gives 0 and STATUS_UNSUPPORTED. */
int64_t xla_elements(struct xla *xla, struct ir_type type);
/* Bytes of an HLO shape: arrays by elements (4-bit types take a byte), a tuple by its pointers, tokens 0. */
int64_t xla_bytes(struct xla *xla, struct ir_type type);
/* Bytes of all arrays in a type. */
int64_t xla_leaf_bytes(struct xla *xla, struct ir_type type);
int64_t xla_operand_bytes(struct xla *xla, struct ir_op op, uint32_t i);
int64_t xla_result_bytes(struct xla *xla, struct ir_op op); /* leaves of all results */
int64_t xla_operand_elements(struct xla *xla, struct ir_op op, uint32_t i);
int64_t xla_result_elements(struct xla *xla, struct ir_op op, uint32_t i);
void xla_set_operand(struct xla_props *props, uint32_t i, int64_t bytes);

/* Default: operands by xla_bytes, results by their leaves, no operations. */
void xla_default(struct xla *xla, struct ir_op op, struct xla_props *props);
/* Nothing is read, written or timed. */
void xla_nothing(struct xla *xla, struct ir_op op, struct xla_props *props);
void xla_op(struct xla *xla, struct ir_op op, struct analyze_xla_cost *cost);
/* Sum over the ops of a region, with the tuple that several returned values become. */
void xla_region(struct xla *xla, struct ir_op op, uint32_t region, struct analyze_xla_cost *sum);
void xla_function(struct xla *xla, struct ir_op function, struct analyze_xla_cost *sum);
/* Adds operations, bytes and time. */
void xla_accumulate(struct analyze_xla_cost *sum, const struct analyze_xla_cost *cost);
/* A tuple op of `count` elements: what gathering several values for a region or a call costs. */
void xla_add_tuple(struct xla *xla, uint32_t count, struct analyze_xla_cost *sum);
/* Time of the slowest property. */
double xla_seconds(const struct xla *xla, const struct analyze_xla_cost *cost);

/* What the conversion to HLO changes (xla_convert.c); nothing when the module was HLO before. */
/* Counts of an operation that HLO expands; false when it has it. */
bool xla_expand(struct xla *xla, struct ir_op op, struct xla_props *props);
/* The op hands its operand on and disappears. */
bool xla_is_dropped(const struct xla *xla, struct ir_op op);
/* The result is a constant of equal elements: no operation of its own. XLA keeps one broadcast scalar of each type and
 * value in every computation that uses it. */
bool xla_is_splat(const struct xla *xla, struct ir_op op);
/* Adds such broadcasts for the operands of an op; `seen` holds those that the computation has already. */
void xla_add_splats(struct xla *xla, struct ir_op op, struct map *seen, struct analyze_xla_cost *sum);

void xla_rule_fusion(struct xla *xla, struct ir_op op, struct xla_props *props);

#endif
