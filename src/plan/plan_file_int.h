/* What the writer and the reader of plan files share: members of structures as rows of key, type and range. */
#ifndef RIDGELINE_PLAN_PLAN_FILE_INT_H
#define RIDGELINE_PLAN_PLAN_FILE_INT_H

#include <stddef.h>

#include "plan/plan_file.h"

enum plan_file_type {
  PLAN_FILE_U8,
  PLAN_FILE_U16,
  PLAN_FILE_U32,
  PLAN_FILE_I64,
  PLAN_FILE_U64,
  PLAN_FILE_BOOL,
  PLAN_FILE_DOUBLE
};

struct plan_file_field {
  const char *key;
  enum plan_file_type type;
  size_t offset;
  double low, high; /* inclusive */
};

struct plan_file_fields {
  const struct plan_file_field *rows;
  size_t count;
};
extern const struct plan_file_fields plan_file_chip_fields, plan_file_rate_fields, plan_file_features_fields,
    plan_file_operator_fields, plan_file_tensor_fields, plan_file_stage_fields, plan_file_step_fields,
    plan_file_load_fields, plan_file_total_fields, plan_file_bounds_fields, plan_file_resource_fields;

extern const char *const plan_file_priorities[2]; /* words of enum plan_priority */
extern const char *const plan_file_sources[2]; /* of enum plan_source */

#endif
