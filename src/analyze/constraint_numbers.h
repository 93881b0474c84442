/* Numbers of the specification for constraints that several operations share; the table is constraints.def. */
#ifndef RIDGELINE_ANALYZE_CONSTRAINT_NUMBERS_H
#define RIDGELINE_ANALYZE_CONSTRAINT_NUMBERS_H

#include "ir/ir.h"

enum constraint_rule {
  RULE_NONE,
  RULE_RESULT_SHAPE, /* the stated shape of a result is the computed one */
  RULE_RESULT_ELEMENT, /* its element type, or its whole type where it is no tensor */
  RULE_RESULT_1_SHAPE, /* shapes of the second and the third result, where they have numbers of their own */
  RULE_RESULT_2_SHAPE,
  RULE_OPERANDS_SHAPE, /* operands have one shape */
  RULE_OPERANDS_ELEMENT, /* operands have one element type */
  RULE_LIST_COUNT, /* a list has one entry per dimension */
  RULE_DIMS_RANGE,
  RULE_DIMS_UNIQUE,
  RULE_DIMENSION, /* an attribute that is one dimension */
  RULE_DIMENSION_2, /* the second such attribute */
  RULE_BODY, /* arguments and results of a reducing body */
  RULE_REGION_0, /* arguments and results of the first region */
  RULE_REGION_1,
  RULE_REGION_RESULTS, /* what branches return */
  RULE_WINDOW_COUNT, /* one size per dimension */
  RULE_WINDOW, /* sizes are positive */
  RULE_STRIDE_COUNT,
  RULE_STRIDE,
  RULE_BASE_COUNT,
  RULE_BASE,
  RULE_DILATION_COUNT,
  RULE_DILATION,
  RULE_PADDING,
  RULE_GROUP_UNIQUE,
  RULE_GROUP_RANGE,
  RULE_GROUP_SIZE,
  RULE_GROUP_CHANNEL,
  RULE_GROUP_ROOT,
  RULE_FEATURES_1, /* vectors of features: operand 1 to 4 */
  RULE_FEATURES_2,
  RULE_FEATURES_3,
  RULE_FEATURES_4,
  RULE_PRECISION,
  RULE_LHS_UNIQUE,
  RULE_RHS_UNIQUE,
  RULE_BATCH_COUNT,
  RULE_CONTRACT_COUNT,
  RULE_BATCH_SIZE,
  RULE_CONTRACT_SIZE,
  RULE_LHS_BATCH,
  RULE_LHS_CONTRACT,
  RULE_RHS_BATCH,
  RULE_RHS_CONTRACT,
  RULE_STREAM_DATA, /* results of infeed and recv: tensors */
  RULE_STREAM_TOKEN, /* and a token */
  RULE_EXPANDING_RANGE,
  RULE_NONEXPANDING_RANGE,
  RULE_HINT_UNIQUE,
  RULE_OPERAND_COUNT,
  RULE_RESULT_COUNT,
  RULE_REGION_COUNT
};

/* "C7"; NULL when the specification has no number (or the operation is of another dialect). */
const char *constraint_of(enum ir_opcode opcode, enum constraint_rule rule);

#endif
