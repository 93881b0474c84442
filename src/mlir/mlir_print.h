/* Inside of the printer; only mlir_print*.c include it.
 *
 *   mlir_print.c         entry points, generic form, regions and blocks
 *   mlir_print_names.c   SSA names
 *   mlir_print_types.c   types
 *   mlir_print_attrs.c   attributes, strings, symbols
 *   mlir_print_dense.c   element lists of dense<...> and array<...>
 *   mlir_print_ops.c     pretty forms: table of formats and its interpreter
 *   mlir_print_forms.c   pretty forms that a format cannot express */
#ifndef RIDGELINE_MLIR_MLIR_PRINT_H
#define RIDGELINE_MLIR_MLIR_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "ir/ir.h"
#include "mlir/mlir.h"

/* Deepest nesting of regions that is printed (beyond it the text is marked as failed); parsers stop far below it. */
enum { MLIR_PRINT_MAX_DEPTH = 1000 };

enum name_base {
  NAME_NUMBER, /* %7 */
  NAME_ARG, /* %arg7 */
  NAME_CST,
  NAME_C,
  NAME_ITER_ARG,
  NAME_OUTPUT_STATE,
  NAME_OUTPUT,
  NAME_BATCH_MEAN,
  NAME_BATCH_VAR,
  NAME_GRAD_OPERAND,
  NAME_GRAD_SCALE,
  NAME_GRAD_OFFSET,
  NAME_VALUES,
  NAME_INDICES,
  NAME_F,
  NAME_INPUT,
  NAME_CARRY,
  NAME_CAST,
  NAME_UNKNOWN /* not in the printed scope */
};

#define NAME_NO_SUFFIX UINT32_MAX

/* Name of a value: that of the first value of its result group, and the distance from it. */
struct value_name {
  uint32_t number; /* NUMBER, ARG: the number; else the suffix after '_' or NAME_NO_SUFFIX */
  uint32_t lead; /* place in the result group, printed as #lead when the group has several members */
  uint8_t base; /* enum name_base */
  bool is_packed; /* the group has several members */
};

/* Jumps between blocks, for the comment behind a block's label; empty as long as no op has successors. */
struct block_edge {
  struct ir_block from;
  uint32_t next; /* edge with the same target, index into list + 1 */
};
struct edge_ends {
  uint32_t first, last; /* index into list + 1; 0 = no edge */
  uint32_t count;
};
struct block_edges {
  VEC(struct block_edge) list;
  struct edge_ends *ends; /* by id of the target block; NULL = no edges */
};

struct mlir_printer {
  const struct ir_module *module;
  struct strbuf *out;
  bool is_generic, locations;
  uint32_t indent; /* spaces before the current operation */
  uint32_t depth; /* regions around it */
  const char *default_dialect; /* "func." inside functions, "builtin." inside modules, else "" */
  struct value_name *names; /* by value id */
  uint32_t *block_numbers; /* by block id: N of ^bbN */
  struct block_edges edges;
};

/* Whether the type of a typed attribute follows its value. */
enum type_elision {
  TYPE_ALWAYS,
  TYPE_UNLESS_DEFAULT, /* inside arrays: left out for i64 and f64 */
  TYPE_NEVER
};

/* names */
bool mlir_names_assign(struct mlir_printer *p, struct ir_op op);
void mlir_print_value(struct mlir_printer *p, struct ir_value value);
void mlir_print_results(struct mlir_printer *p, const struct ir_op_data *op);

/* pieces of text, no printer state */
void mlir_put_escaped(struct strbuf *out, const char *text, size_t length); /* quoted string */
void mlir_put_keyword(struct strbuf *out, const char *text, size_t length); /* bare identifier or quoted string */
void mlir_put_symbol(struct strbuf *out, const char *text, size_t length); /* @name */
void mlir_put_sdy_text(struct strbuf *out, const char *text, size_t length); /* text of an #sdy attribute */
void mlir_put_type(const struct ir_module *m, struct ir_type type, struct strbuf *out);
void mlir_put_attr(const struct ir_module *m, struct ir_attr attr, enum type_elision elision, struct strbuf *out);
void mlir_put_dense(const struct ir_module *m, const struct ir_attr_data *attr, struct strbuf *out);
/* Elements of a DENSE_ARRAY separated by ", ". */
void mlir_put_dense_array_items(const struct ir_module *m, const struct ir_attr_data *attr, struct strbuf *out);
/* "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"; false when the numbers are no permutation, nothing is written then. */
bool mlir_put_conv_dimensions(const struct ir_module *m, struct ir_attr attr, struct strbuf *out);
/* name = value; only the name for unit attributes. */
void mlir_put_named_attr(const struct ir_module *m, uint32_t name, struct ir_attr attr, struct strbuf *out);
/* " {a = 1, b}" or nothing for an empty dictionary. */
void mlir_put_optional_dict(const struct ir_module *m, struct ir_attr dict, struct strbuf *out);

/* structure */
void mlir_print_op(struct mlir_printer *p, struct ir_op op);
/* After the name of the operation: operands, properties, regions, attributes and types of the generic form. */
void mlir_print_generic_rest(struct mlir_printer *p, struct ir_op op);
void mlir_print_operands(struct mlir_printer *p, const struct ir_op_data *op, uint32_t first);
void mlir_print_functional_type(struct mlir_printer *p, const struct ir_op_data *op);
enum region_flags { REGION_ARGUMENTS = 1 << 0, REGION_EMPTY_LABEL = 1 << 1 };
void mlir_print_region(struct mlir_printer *p, struct ir_region region, unsigned flags);
/* "%arg0: type" of a block argument. */
void mlir_print_argument(struct mlir_printer *p, struct ir_value argument);
/* Discardable and inherent attributes without those named in `elided` (space separated) and without default values:
 * " {...}", or " attributes {...}" with a keyword. */
void mlir_print_attr_dict(struct mlir_printer *p, const struct ir_op_data *op, const char *elided, const char *keyword);
/* Whether an operation that ops.def does not have holds an inherent attribute. */
bool mlir_has_property(const struct ir_module *m, const struct ir_op_data *op);
/* True when `name` is one of the space-separated words. */
bool mlir_word_in(const char *words, const char *name);

/* Pretty form from the operation's name on. False when the operation has none or does not fit it; nothing is written. */
bool mlir_print_pretty(struct mlir_printer *p, struct ir_op op);

/* The operation's name as the pretty form writes it: without the default dialect. */
void mlir_print_name(struct mlir_printer *p, const struct ir_op_data *op);
/* "name = value, ..." of a STRUCT attribute. */
void mlir_put_struct_fields(const struct ir_module *m, struct ir_attr attr, struct strbuf *out);

/* What mlir_print_forms.c implements: whole operations and parts of formats. Each returns false when the operation does
 * not fit, before it has written anything of a region. */
typedef bool (*mlir_form_fn)(struct mlir_printer *p, struct ir_op op);
/* The attribute is #dialect<mnemonic WORD> with the dialect of the operation: what reading its bare word gives. */
bool mlir_is_own_enum(const struct ir_module *m, const struct ir_op_data *op, const struct ir_attr_data *attr,
                      const char *mnemonic, size_t mnemonic_length);
bool mlir_form_module(struct mlir_printer *p, struct ir_op op);
bool mlir_form_func(struct mlir_printer *p, struct ir_op op);
bool mlir_form_constant(struct mlir_printer *p, struct ir_op op);
bool mlir_form_other_constant(struct mlir_printer *p, struct ir_op op);
bool mlir_form_reduce(struct mlir_printer *p, struct ir_op op);
bool mlir_form_while(struct mlir_printer *p, struct ir_op op);
bool mlir_form_slice_ranges(struct mlir_printer *p, struct ir_op op);
bool mlir_form_dot_dimensions(struct mlir_printer *p, struct ir_op op);
bool mlir_form_precision(struct mlir_printer *p, struct ir_op op);
bool mlir_form_algorithm(struct mlir_printer *p, struct ir_op op);
bool mlir_form_convolution(struct mlir_printer *p, struct ir_op op);
bool mlir_form_body(struct mlir_printer *p, struct ir_op op);
bool mlir_form_regions(struct mlir_printer *p, struct ir_op op);
bool mlir_form_call_indirect(struct mlir_printer *p, struct ir_op op);
bool mlir_form_scan(struct mlir_printer *p, struct ir_op op);
bool mlir_form_vhlo_func(struct mlir_printer *p, struct ir_op op);

#endif
