/* What the targets of custom calls read of their operation. */
#ifndef RIDGELINE_INTERP_INTERP_CUSTOM_H
#define RIDGELINE_INTERP_INTERP_CUSTOM_H

#include "interp/interp_int.h"

/* The call's configuration: mhlo.backend_config, or backend_config; 0 when it has none. */
struct ir_attr interp_config(const struct interp_call *call);
/* A number or predicate of it when it is a dictionary (or of mhlo.attributes). */
int64_t interp_config_int(const struct interp_call *call, const char *name, int64_t otherwise);
/* True when the layout of operand or result i (`layouts`: operand_layouts, result_layouts; minor to major, row-major when none
 * is stated) has the last dimension as its fastest: a kernel that expects column-major data sees the transposed matrix. */
bool interp_is_row_major(const struct interp_call *call, const char *layouts, uint32_t i, uint32_t rank);
/* Element type of result i; DTYPE_NONE when it is no tensor. */
enum dtype interp_result_dtype(const struct interp_call *call, uint32_t i);
/* True when the value has the type of result i; else a message. */
bool interp_is_of_result(const struct interp_call *call, uint32_t i, const struct interp_value *value);
/* True when the function's parameters are scalars of the element types of operands 0 ... count - 1: each of them twice, one
 * after the other (a a b b) when `is_paired`, else all and all again (a b a b); else a message. */
bool interp_takes_elements(const struct interp_call *call, struct ir_op function, uint32_t count, bool is_paired);

#endif
