/* Numbers of the specification for constraints that several operations share; the table is constraints.def. */
#ifndef RIDGELINE_ANALYZE_CONSTRAINT_NUMBERS_H
#define RIDGELINE_ANALYZE_CONSTRAINT_NUMBERS_H

#include "ir/ir.h"

enum constraint_rule {
  RULE_NONE,
  RULE_RESULT, /* the stated result type is the computed one */
  RULE_LIST_COUNT, /* a list has one entry per dimension */
  RULE_DIMS_RANGE,
  RULE_DIMS_UNIQUE,
  RULE_DIMENSION, /* an attribute that is one dimension */
  RULE_BODY, /* arguments and results of a reducing body */
  RULE_REGION_0,
  RULE_REGION_1,
  RULE_WINDOW_COUNT, /* one size per dimension */
  RULE_WINDOW, /* sizes are positive */
  RULE_STRIDE_COUNT,
  RULE_STRIDE,
  RULE_BASE_COUNT,
  RULE_BASE,
  RULE_DILATION_COUNT,
  RULE_DILATION,
  RULE_PADDING,
  RULE_GROUP_RANK,
  RULE_GROUP_UNIQUE,
  RULE_GROUP_RANGE,
  RULE_GROUP_SIZE,
  RULE_GROUP_CHANNEL,
  RULE_FEATURES,
  RULE_PRECISION,
  RULE_LHS_BATCH,
  RULE_LHS_CONTRACT,
  RULE_RHS_BATCH,
  RULE_RHS_CONTRACT,
  RULE_STREAM,
  RULE_HINT_RANGE,
  RULE_HINT_UNIQUE,
  RULE_INDEX, /* which branch: a scalar */
  RULE_OPERAND_COUNT,
  RULE_RESULT_COUNT,
  RULE_REGION_COUNT
};

/* "C7", "C1, C2", "C3 to C6"; NULL when the specification has no number (or the operation is of another dialect). */
const char *constraint_of(enum ir_opcode opcode, enum constraint_rule rule);

#endif
