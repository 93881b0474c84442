/* Groups: chains of element-by-element operations that are evaluated together, piece by piece in the nearest cache, without
 * tensors between them. Formed once per function; the last operation of a group, its root, evaluates all of it, the others
 * are passed over. Broadcasts, reshapes and splat constants are no work inside of a group: they say how a piece is read. A product of matrices that alone
 * reads a transpose is a group with it, too: it reads the source of the transpose instead.
 *
 *   interp_fast_groups.c     which operations form a group        interp_fast_evaluate.c   a group on a piece of a tensor
 *   interp_fast_loops.def    what is computed on a piece          interp_fast_math.h       exp, log, tanh for vectors
 *
 * Path: interp_plan_new → interp_groups_new; evaluate (interp_run.c) → interp_group_run. */
#ifndef RIDGELINE_INTERP_INTERP_FAST_GROUPS_H
#define RIDGELINE_INTERP_INTERP_FAST_GROUPS_H

#include "interp/interp_int.h"

enum { GROUP_INPUTS = 3, GROUP_NODES = 64, GROUP_LEAVES = 48 };

/* One operation on a piece: register numbers; registers below leaf_count are the leaves. */
struct group_node;
typedef void group_loop(const struct group_node *node, const void *const *in, void *out, uint64_t count);
struct group_node {
  group_loop *loop;
  uint16_t opcode; /* enum ir_opcode, of the definition */
  uint8_t input_dtype, dtype; /* of the first compared, converted or computed operand; of the result */
  uint8_t direction; /* enum group_direction of a comparison */
  uint8_t input_count;
  uint16_t inputs[GROUP_INPUTS], output;
};
enum group_direction { GROUP_EQ, GROUP_NE, GROUP_GE, GROUP_GT, GROUP_LE, GROUP_LT };

enum group_leaf_kind {
  GROUP_LINEAR, /* element i of the piece is element i of the value */
  GROUP_STRIDED, /* a broadcast: walked with strides */
  GROUP_SPLAT, /* element 0 of the value stands for all */
  GROUP_CONSTANT, /* the one element of a splat attribute */
  GROUP_TURNED /* of a product: the operand is a transpose of the value */
};
struct group_leaf {
  enum group_leaf_kind kind;
  uint8_t dtype;
  uint16_t slot; /* register that holds pieces of it; unused by LINEAR */
  struct ir_value value; /* not of CONSTANT */
  struct ir_attr attr; /* CONSTANT */
  uint32_t rank; /* STRIDED: dims of the group, merged where one stride goes on; strides in elements of the value */
  int64_t *dims, *strides; /* 2 * rank numbers in one block, owned by dims */
};

struct interp_group {
  struct ir_op root; /* 0: what only other groups read, evaluated by none */
  uint64_t count; /* elements */
  uint32_t leaf_count, node_count, register_count; /* registers: buffers of one piece */
  struct group_leaf *leaves;
  struct group_node
      *nodes; /* in order of evaluation; the last one's output is the result. None: the root is a product that
                             * reads its two leaves, one of them turned */
};

/* Fills plan->groups from the operations below the function, in pre-order; false when memory is exhausted. */
bool interp_groups_new(const struct ir_module *m, struct interp_plan *plan, const struct ir_op *ops, uint32_t op_count);
void interp_groups_free(struct interp_plan *plan);
/* Results[0] of the call, whose operation is the root. */
bool interp_group_run(struct interp_call *call, const struct interp_group *group);

/* ---- loops (interp_fast_loops.c) ---------------------------------------------------------------------------------------- */

/* The loop for an operation whose operands and result have these types; NULL where there is none. `node` has its opcode and
 * types set. */
group_loop *interp_fast_loop(const struct group_node *node);

#endif
