/* Random well-typed StableHLO programs: made from a seed, written as text, made smaller. A program is a list of nodes in
 * order of definition; loops have a block of their own. The number of matrix FLOPs is known in closed form. */
#ifndef RIDGELINE_TESTS_FUZZ_PROGRAM_GENERATOR_H
#define RIDGELINE_TESTS_FUZZ_PROGRAM_GENERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { GEN_RANK_MAX = 4, GEN_OPERANDS_MAX = GEN_RANK_MAX + 2 };

enum gen_kind {
  GEN_ARGUMENT, /* of the function, or of a loop's body (operands[0] = number) */
  GEN_CAPTURE, /* in a loop's body: the node operands[0] of the block around it */
  GEN_CONSTANT, /* a splat of 1 */
  GEN_UNARY,
  GEN_BINARY,
  GEN_COMPARE,
  GEN_SELECT,
  GEN_CONVERT,
  GEN_DOT, /* lists: left batching, left contracting, right batching, right contracting */
  GEN_REDUCE, /* operands: input, initial value; lists: dimensions */
  GEN_RESHAPE,
  GEN_TRANSPOSE, /* lists: permutation */
  GEN_BROADCAST, /* lists: dimensions */
  GEN_SLICE, /* lists: starts, limits, strides */
  GEN_DYNAMIC_SLICE, /* operands: input, starts; lists: sizes */
  GEN_DYNAMIC_UPDATE, /* operands: input, update, starts */
  GEN_CONCATENATE, /* lists: dimension */
  GEN_PAD, /* operands: input, value; lists: low, high, interior */
  GEN_IOTA, /* lists: dimension */
  GEN_REVERSE, /* lists: dimensions */
  GEN_WHILE, /* operands: initial values; its results are GEN_RESULT nodes */
  GEN_RESULT, /* operands[0] = the loop, lists[0][0] = which value */
  GEN_KIND_COUNT
};

struct gen_type {
  enum dtype dtype;
  uint32_t rank;
  int64_t dims[GEN_RANK_MAX];
};

struct gen_list {
  uint32_t count;
  int64_t items[GEN_RANK_MAX];
};

struct gen_node {
  enum gen_kind kind;
  const char *word; /* UNARY, BINARY: operation; COMPARE: direction; REDUCE: reducer */
  struct gen_type type; /* unused by WHILE */
  uint32_t operands[GEN_OPERANDS_MAX]; /* nodes of the same block */
  uint32_t operand_count;
  struct gen_list lists[4];
  struct gen_block *body; /* WHILE; owned */
  uint64_t trips; /* WHILE */
  bool is_live; /* set by gen_mark_live */
};

struct gen_block {
  uint32_t number; /* unique within the program, for names */
  const struct gen_block *parent; /* NULL for the function */
  VEC(struct gen_node) nodes;
  VEC(uint32_t) outputs; /* returned nodes; of a body: one per loop value */
};

/* NULL when memory is exhausted. The same seed gives the same program. */
struct gen_block *gen_program(uint64_t seed);
void gen_free(struct gen_block *block);

/* Marks what the outputs need; only live nodes are written and counted. */
void gen_mark_live(struct gen_block *block);
void gen_write(struct gen_block *program, struct strbuf *out);
/* 2 x batch x m x n x k of each live dot, times the iterations of the loops around it. */
uint64_t gen_matrix_flops(struct gen_block *program);
uint64_t gen_element_count(const struct gen_type *type);

#endif
