/* Inherent attributes ("properties") of operations: which names print inside <{ }> in the generic form, which of them have
 * old spellings (dense<[1, 2]> : tensor<2xi64> for what is now array<i64: 1, 2>), and which values are left out by the
 * pretty form. One row per (operation, attribute) in op_attrs.def; used by the parser to normalise and by the printer. */
#ifndef RIDGELINE_MLIR_OP_ATTRS_H
#define RIDGELINE_MLIR_OP_ATTRS_H

#include <stdbool.h>
#include <stddef.h>

#include "ir/ir.h"

enum mlir_attr_form {
  MLIR_FORM_ANY, /* kept as written */
  MLIR_FORM_I64_ARRAY, /* dense integers become array<i64: ...> */
  MLIR_FORM_BOOL_ARRAY /* dense i1 becomes array<i1: ...> */
};

struct mlir_op_attr {
  const char *name;
  enum mlir_attr_form form;
  const char *default_text; /* canonical text of the default value that the pretty form leaves out; NULL = none */
  const char *stated; /* the string that a missing attribute is, and that MLIR always states; NULL = none */
  const char *words; /* "dialect.enum WORD0 WORD1 ...": an ENUM that the generic form writes as its number, 1 : i32 */
};

/* Rows of an opcode in the order in which MLIR prints them (alphabetical); *count = 0 for ops without inherent attributes
 * and for unknown ops. */
const struct mlir_op_attr *mlir_op_attrs(enum ir_opcode opcode, size_t *count);
const struct mlir_op_attr *mlir_op_attr_find(enum ir_opcode opcode, const char *name);
/* Inherent attributes of an operation that ops.def does not have, separated by spaces; "" when none are known. */
const char *mlir_named_attrs(const char *op_name);
/* True when `row` has a default and `attr` is it. The parser drops such attributes in every form and the pretty printer
 * does not write them, so that the forms of one program read equal. A NULL row gives false.
 * Sets *failed when memory is exhausted. */
bool mlir_attr_is_default(const struct ir_module *module, const struct mlir_op_attr *row, struct ir_attr attr,
                          bool *failed);

/* Rows with words: the number of an ENUM that is one of them, -1 otherwise; and the ENUM that an i32 INTEGER stands for,
 * or `attr` itself (0 when memory is exhausted). A NULL row has no words. */
int mlir_attr_number(const struct ir_module *module, const struct mlir_op_attr *row, struct ir_attr attr);
struct ir_attr mlir_attr_from_number(struct ir_module *module, const struct mlir_op_attr *row, struct ir_attr attr);

/* How attributes with a syntax of their own are held, the same for both forms of an operation:
 *
 *   #stablehlo.gather, .scatter, .dot   STRUCT, list fields array<i64> (DENSE_ARRAY); empty lists and
 *                                       index_vector_dim = 0 are left out
 *   #stablehlo.conv                     STRUCT with the nine fields of the raw spelling in its order
 *                                       (input_batch_dimension, input_feature_dimension, input_spatial_dimensions,
 *                                       kernel_input_feature_dimension, kernel_output_feature_dimension,
 *                                       kernel_spatial_dimensions, output_batch_dimension, output_feature_dimension,
 *                                       output_spatial_dimensions); the printer chooses [b, 0, f]x... or raw
 *   other #stablehlo and #mhlo structs  STRUCT, fields as written; [1, 2] of integers is a DENSE_ARRAY of i64
 *   #stablehlo<precision HIGHEST>       ENUM "stablehlo.precision" "HIGHEST"; #stablehlo.result_accuracy_mode<X> and
 *                                       #mhlo.rng_distribution<X> likewise
 *   #stablehlo.bounds<3, ?>             OPAQUE with this text; .type_extensions<bounds = [3, ?]> becomes it
 *   #sdy.x<...>, #sdy<x{...}>           OPAQUE, canonical text: one space after a comma, none elsewhere
 *
 * sdy operations: mesh = OPAQUE #sdy.mesh<[...]>, sharding and out_sharding = #sdy.sharding<@m, [...]>, in_shardings and
 * out_shardings = #sdy.sharding_per_value<[...]>, manual_axes = #sdy<manual_axes{...}>, axes lists of collectives =
 * #sdy<axis_ref_list{...}> and #sdy<list_of_axis_ref_lists[...]>, params of all_to_all =
 * #sdy<all_to_all_param_list[...]>, allowed_direction = ENUM "sdy.propagation_direction", reduction_op = ENUM
 * "sdy.reduction_op". The pretty form writes them without the leading "#sdy...": what parses after "=" is stored with it. */

#endif
