/* Inside of analyze/: the state of one inference run, shapes as values, helpers of the operation families, constant
 * folding of shape arithmetic. Path: analyze_infer.c walks the program and calls the rows of infer_table.c; the rows
 * live in infer_<family>.c. */
#ifndef RIDGELINE_ANALYZE_ANALYZE_INT_H
#define RIDGELINE_ANALYZE_ANALYZE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analyze.h"
#include "analyze/constraint_numbers.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/vec.h"
#include "ir/ir.h"

/* Regions, calls and tuples nest at most this deep; deeper programs get STATUS_LIMIT. */
#define ANALYZE_MAX_DEPTH 256
/* Tensors of higher rank pass unchecked. */
#define SHAPE_MAX_RANK 32
/* Elements of an integer tensor that is folded. */
#define FOLD_MAX_COUNT 64

/* ---- shapes ---- */
struct shape {
  bool is_ranked; /* false: nothing is known but (perhaps) the element type */
  uint32_t rank;
  int64_t dims[SHAPE_MAX_RANK]; /* IR_DYNAMIC = unknown */
  struct ir_type element; /* 0 = not determined */
};

/* Shape of a ranked tensor. False (and an unranked shape) for every other type and for ranks over SHAPE_MAX_RANK. */
bool shape_from_type(const struct ir_module *module, struct ir_type type, struct shape *out);
bool shape_of(const struct ir_module *module, struct ir_value value, struct shape *out);
void shape_init(struct shape *shape, uint32_t rank, struct ir_type element); /* all dimensions unknown */
static inline bool dim_is_static(int64_t dim) {
  return dim >= 0;
}
/* True when both are equal or one is unknown. */
static inline bool dims_agree(int64_t a, int64_t b) {
  return a < 0 || b < 0 || a == b;
}
/* The known one of two. */
static inline int64_t dims_meet(int64_t a, int64_t b) {
  return a >= 0 ? a : b;
}
/* Same rank and agreeing dimensions; an unranked shape agrees with all. */
bool shapes_agree(const struct shape *a, const struct shape *b);
/* Fills unknown dimensions (or the rank) of `into` from `from`; false when they disagree. */
bool shape_meet(struct shape *into, const struct shape *from);
/* Product of dimensions, -1 when one is unknown or the product exceeds INT64_MAX. */
int64_t shape_elements(const struct shape *shape);
bool type_is_quantized(const struct ir_module *module, struct ir_type element);
/* Element types that may stand for each other: quantized types agree in storage and expressed type whatever their scales,
 * and with their expressed type; unknown ones with all. */
bool elements_agree(const struct ir_module *module, struct ir_type a, struct ir_type b);
/* Types of values that may stand for each other: equal up to unknown dimensions, encodings and quantization. */
bool types_agree(const struct ir_module *module, struct ir_type a, struct ir_type b);
/* Text of a type for messages. */
void type_text(const struct ir_module *module, struct ir_type type, struct strbuf *out);

/* ---- attributes ---- */
struct ints {
  bool is_present;
  uint32_t count;
  int64_t v[2 * SHAPE_MAX_RANK];
};
/* Integers of DENSE, DENSE_ARRAY, ARRAY of INTEGER, or one INTEGER. False when absent, of another kind, or too long. */
bool ints_from_attr(const struct ir_module *module, struct ir_attr attr, struct ints *out);
bool ints_of(const struct ir_module *module, struct ir_op op, const char *name, struct ints *out);
/* Integer or bool attribute, `fallback` when absent. */
int64_t int_of(const struct ir_module *module, struct ir_op op, const char *name, int64_t fallback);
/* Value of an ENUM or STRING attribute, "" when absent. */
const char *enum_of(const struct ir_module *module, struct ir_op op, const char *name);

/* Dimension numbers of dot_general and convolution. */
struct dot_dims {
  struct ints lhs_batch, rhs_batch, lhs_contract, rhs_contract;
};
bool dot_dims_of(const struct ir_module *module, struct ir_op op, struct dot_dims *out);

struct conv_dims {
  int64_t input_batch, input_feature, kernel_input, kernel_output, output_batch, output_feature;
  struct ints input_spatial, kernel_spatial, output_spatial;
};
bool conv_dims_of(const struct ir_module *module, struct ir_op op, struct conv_dims *out);

/* One spatial dimension of a window operation. */
struct window_dim {
  int64_t size, stride, pad_low, pad_high, base_dilation, window_dilation;
};
/* Result extent of a window that slides over `input`; unknown in, unknown out. */
int64_t window_output(int64_t input, const struct window_dim *window);

/* ---- constant folding ---- */
struct fold_const {
  enum dtype dtype;
  uint32_t count;
  int64_t v[FOLD_MAX_COUNT]; /* sign- or zero-extended by dtype */
};

/* Which call is being looked into: arguments of `call`'s callee mean the operands of `call`, seen in `parent`. */
struct fold_frame {
  const struct fold_frame *parent;
  struct ir_op call;
};

struct fold {
  const struct ir_module *module;
  const struct analyze_symbols *symbols; /* NULL: calls are looked up linearly */
  const struct map *argument_constants; /* block argument → index into constants; may be NULL */
  const struct fold_const *constants;
  uint32_t budget; /* operations that may still be visited */
  uint32_t overflow; /* an operation that was not folded because its result does not fit its type; 0 = none */
};

/* Value of a small integer tensor; false when it is not constant, too large, or the budget is used up. */
bool fold_value(struct fold *fold, struct ir_value value, const struct fold_frame *frame, struct fold_const *out);
/* Wraps to the width of an integer type. */
int64_t fold_wrap(enum dtype dtype, int64_t value);

/* Called function with its symbols (NULL: linear search). */
struct ir_op callee_of(const struct ir_module *module, const struct analyze_symbols *symbols, struct ir_op op);
/* Argument number i of a function is loop-invariant or a plain argument of which op? Owner op of a block argument. */
struct ir_op argument_owner(const struct ir_module *module, struct ir_value value);
/* Terminator of region i's entry block, or 0. */
struct ir_op region_terminator(const struct ir_module *module, struct ir_op op, uint32_t region);

/* Element type of what a body returns at `index`, 0 when unknown. */
struct ir_type returned_element(const struct ir_module *module, struct ir_op op, uint32_t region, uint32_t index);

/* ---- inference ---- */
enum { KNOWN_TYPES = 64 };
/* A type that was found to be a tensor with elements of these classes: programs have few types and many operands. */
struct known_type {
  uint32_t type;
  uint16_t classes;
};

struct infer {
  struct ir_module *module;
  struct diag_list *diags;
  const struct analyze_symbols *symbols;
  uint8_t *is_reported; /* by op id: one message per op */
  size_t reported_count;
  struct map argument_constants;
  VEC(struct fold_const) constants;
  struct map fixed_loops; /* while ops whose carried types must not be refined */
  struct known_type known_types[KNOWN_TYPES]; /* by a hash; of verify_inputs.c */
  VEC(struct ir_op) meshes; /* sdy.mesh operations, listed when the first sharding is checked */
  bool has_meshes;
  unsigned depth; /* of regions */
  uint32_t fold_overflow; /* after infer_constant said no: an operation whose result does not fit its type; 0 = none */
  unsigned quiet; /* > 0: messages are dropped */
  bool has_odd_types; /* the module has buffers or element types without a size */
  bool has_dynamic; /* the module has a dynamic dimension: refine and fold */
  bool has_changed; /* a type was refined */
  bool has_failed; /* a message was recorded or dropped */
  enum status status; /* STATUS_LIMIT, STATUS_MEMORY */
};

/* What inference knows of an operation. */
struct infer_row {
  const char *required; /* attributes that must be present, separated by spaces; NULL = none */
  void (*infer)(struct infer *infer, struct ir_op op); /* after the regions were visited; may be NULL */
  bool visits_regions; /* `infer` visits the regions itself */
};
/* Classes of elements. */
enum infer_class {
  INFER_BOOL = 1 << 0,
  INFER_SINT = 1 << 1,
  INFER_UINT = 1 << 2,
  INFER_FLOAT = 1 << 3,
  INFER_COMPLEX = 1 << 4,
  INFER_QUANT = 1 << 5, /* quantized per tensor */
  INFER_AXIS = 1 << 6, /* quantized along an axis */
  INFER_TOKEN = 1 << 7, /* no tensor but a token */
  INFER_INDEX = 1 << 9, /* index: sizes and shapes only */
  INFER_TUPLE = 1 << 8, /* no tensor but a tuple of them, as HLO passes several */
  INFER_INT = INFER_SINT | INFER_UINT
};
/* Row of an opcode or NULL. */
const struct infer_row *infer_row_find(enum ir_opcode opcode);

/* Records a message about `op` (its name is put in front); at most one per op. */
void infer_error(struct infer *infer, struct ir_op op, enum diag_id id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same with the numbers of the specification at the end where it has some for this operation. */
void infer_error_rule(struct infer *infer, struct ir_op op, enum constraint_rule rule, enum diag_id id,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Compares result `index` with what was computed (E0205) and refines its unknown dimensions. */
void infer_result(struct infer *infer, struct ir_op op, uint32_t index, const struct shape *shape);
/* Same for a whole type (tokens, tuples). */
void infer_result_type(struct infer *infer, struct ir_op op, uint32_t index, struct ir_type type);
/* Sets unknown dimensions of a value's type from a type that agrees with it. */
void infer_refine_value(struct infer *infer, struct ir_value value, struct ir_type from);
/* Visits the ops of region `index`. */
void infer_region(struct infer *infer, struct ir_op op, uint32_t index);
/* Integers of a constant operand; false when unknown. */
bool infer_constant(struct infer *infer, struct ir_value value, struct fold_const *out);
/* Integers of a 1-D shape-like operand of `count` elements (any count when UINT32_MAX). */
bool infer_constant_dims(struct infer *infer, struct ir_value value, uint32_t count, int64_t *out);
/* E0206 unless every value is in [0, rank) and none repeats. */
bool infer_check_dims(struct infer *infer, struct ir_op op, const char *what, const struct ints *dims, uint32_t rank);
/* The same with numbers of its own. */
bool infer_check_dims_rule(struct infer *infer, struct ir_op op, const char *what, const struct ints *dims,
                           uint32_t rank, enum constraint_rule range, enum constraint_rule unique);
/* E0206 unless the list has `count` entries. */
bool infer_check_count(struct infer *infer, struct ir_op op, const char *what, const struct ints *list, uint32_t count);

/* Windows of reduce_window, select_and_scatter and convolution: attributes by name with their defaults; false after a
 * message. `sizes` may come from the kernel (name NULL). */
struct window_names {
  const char *size, *strides, *padding, *base_dilations, *window_dilations;
};
bool infer_windows(struct infer *infer, struct ir_op op, const struct window_names *names, uint32_t rank,
                   struct window_dim *windows);
/* Same without messages. */
bool windows_of(const struct ir_module *module, struct ir_op op, const struct window_names *names, uint32_t rank,
                struct window_dim *windows);
extern const struct window_names window_names_reduce, window_names_conv;

/* clang-format off */
#define INFER_FUNCTIONS(X)                                                                                            \
  X(same) X(dequantize) X(result_bool) X(compare) X(complex) X(real_part) X(shape_only) X(select) X(clamp) X(broadcasting)          \
  X(reshape) X(broadcast) X(broadcast_in_dim) X(transpose) X(slice) X(concatenate) X(pad) X(reverse) X(iota)          \
  X(dynamic_slice) X(dynamic_update_slice) X(bitcast_convert) X(constant) X(tuple) X(get_tuple_element) X(forward)    \
  X(get_dimension_size) X(set_dimension_size) X(top_k) X(fft) X(cholesky) X(triangular_solve) X(batch_norm) X(rng)    \
  X(rng_bit_generator) X(device_id) X(torch_index_select) X(dynamic_reshape) X(dynamic_broadcast_in_dim)              \
  X(dynamic_iota) X(dynamic_pad) X(real_dynamic_slice) X(custom_call) X(gather) X(dynamic_gather) X(scatter) X(dot)   \
  X(dot_general) X(convolution) X(dynamic_conv) X(einsum) X(while) X(branches) X(reduce) X(map) X(sort)               \
  X(reduce_window) X(select_and_scatter) X(all_gather) X(all_reduce) X(all_to_all) X(reduce_scatter)                  \
  X(same_variadic) X(async_done) X(call) X(function) X(return)
/* clang-format on */
#define INFER_DECLARE(name) void infer_op_##name(struct infer *infer, struct ir_op op);
INFER_FUNCTIONS(INFER_DECLARE)
#undef INFER_DECLARE

#endif
