/* Operations of a module under construction: each call appends one operation to @main, or the few that a splat or a
 * broadcast needs. Types follow from operands; operands that do not fit are programmer errors.
 *
 * C leaves the order of arguments of a call open: no two of them may append, or compilers would disagree on the text.
 * Failure: when memory is exhausted every call gives value 0 and does nothing; generate_module looks once, at the end. */
#ifndef RIDGELINE_GENERATE_GENERATE_BUILD_H
#define RIDGELINE_GENERATE_GENERATE_BUILD_H

#include "generate/generate.h"

enum { GENERATE_RANK_MAX = 6 };

struct generate_shape {
  int64_t dims[GENERATE_RANK_MAX];
  uint32_t rank;
};
/* SHAPE(2, 3), AXES(0, 2): literals. */
#define SHAPE(...)                                                                                                     \
  ((struct generate_shape){.dims = {__VA_ARGS__}, .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)})
#define AXES(...) SHAPE(__VA_ARGS__)
#define SCALAR ((struct generate_shape){.rank = 0})

/* An argument of @main; all are declared before the first operation. */
struct generate_argument {
  uint32_t name; /* interned */
  struct ir_type type;
  int32_t alias; /* result that takes its storage; -1 = none */
};

/* A matrix or vector of weights: argument number + 1 (0 = the model has none), likewise of its scales. */
struct generate_weight {
  uint32_t value, scale;
};

struct generate_builder {
  struct ir_module *m;
  struct ir_region region;
  struct ir_block block;
  struct ir_value zero; /* i32, made on first use */
  VEC(struct generate_argument) arguments;
  VEC(struct ir_value) results;
  VEC(uint32_t) result_names;
  enum dtype activations, weights;
  uint32_t pairs[12], pair_count; /* attributes of the next operation: name id, attribute id */
};

/* ---- any operation ---- */

/* The text's id; 0 when memory is exhausted. */
uint32_t generate_name(struct generate_builder *b, const char *text);
/* As ir_attr_struct, ir_attr_dict, ir_attr_array; 0 after memory was exhausted, whatever they are given. */
struct ir_attr generate_struct(struct generate_builder *b, const char *mnemonic, const uint32_t *pairs, uint32_t count);
struct ir_attr generate_dict(struct generate_builder *b, const uint32_t *pairs, uint32_t count);
struct ir_attr generate_array(struct generate_builder *b, const struct ir_attr *items, uint32_t count);
/* An attribute of the next operation. */
void generate_attribute(struct generate_builder *b, const char *name, struct ir_attr attr);
/* Appends to `block` (of @main or of a region under construction) an operation with the attributes given so far. */
struct ir_op generate_operation(struct generate_builder *b, struct ir_block block, const struct ir_op_spec *spec);
struct ir_type generate_type(struct generate_builder *b, enum dtype dtype, struct generate_shape shape);
/* (x, y) → opcode(x, y) of scalars, the body of a reduction. */
struct ir_region generate_scalar_body(struct generate_builder *b, enum ir_opcode opcode, enum dtype dtype);

/* ---- arguments and the function ---- */

/* printf-style names below: one %u at most, the layer. Returns the number of the argument. */
uint32_t generate_declare(struct generate_builder *b, enum dtype dtype, struct generate_shape shape, int32_t alias,
                          const char *format, unsigned layer);
/* "weights.NAME" of the activations' type. */
struct generate_weight generate_declare_plain(struct generate_builder *b, struct generate_shape shape, const char *name,
                                              unsigned layer);
/* The same, quantised where that is asked for, with "scales.NAME": one for each index of all axes but `contracted`. */
struct generate_weight generate_declare_matrix(struct generate_builder *b, struct generate_shape shape,
                                               uint32_t contracted, const char *name, unsigned layer);
/* Opens the body; the arguments are values from here on. */
void generate_begin(struct generate_builder *b);
struct ir_value generate_argument_value(const struct generate_builder *b, uint32_t argument);
/* The weight in the activations' type: converted and scaled when it is quantised. `contracted` as declared. */
struct ir_value generate_weight_value(struct generate_builder *b, struct generate_weight weight, uint32_t contracted);
void generate_result(struct generate_builder *b, struct ir_value value, const char *format, unsigned layer);
/* Closes the body and adds @main to the module. */
void generate_end(struct generate_builder *b);
/* The same under another name; private functions have no names of arguments and results. */
void generate_end_function(struct generate_builder *b, const char *name, bool is_private);
void generate_builder_release(struct generate_builder *b);

/* ---- values ---- */

struct generate_shape generate_shape_of(const struct generate_builder *b, struct ir_value x);
enum dtype generate_dtype_of(const struct generate_builder *b, struct ir_value x);
static inline int64_t generate_dim(const struct generate_builder *b, struct ir_value x, uint32_t axis) {
  return generate_shape_of(b, x).dims[axis];
}

struct ir_value generate_constant(struct generate_builder *b, enum dtype dtype, double value);
/* x's axis i becomes axis axes[i] of the result. */
struct ir_value generate_broadcast(struct generate_builder *b, struct ir_value x, struct generate_shape shape,
                                   struct generate_shape axes);
struct ir_value generate_reshape(struct generate_builder *b, struct ir_value x, struct generate_shape shape);
struct ir_value generate_transpose(struct generate_builder *b, struct ir_value x, struct generate_shape permutation);
struct ir_value generate_convert(struct generate_builder *b, struct ir_value x, enum dtype dtype);
struct ir_value generate_iota(struct generate_builder *b, enum dtype dtype, struct generate_shape shape, uint32_t axis);
/* Indices start to limit - 1 of one axis. */
struct ir_value generate_slice(struct generate_builder *b, struct ir_value x, uint32_t axis, int64_t start,
                               int64_t limit);
struct ir_value generate_concatenate(struct generate_builder *b, struct ir_value x, struct ir_value y, uint32_t axis);

struct ir_value generate_unary(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x);
/* Both of the same type. */
struct ir_value generate_binary(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x,
                                struct ir_value y);
/* y is broadcast along x: its axis i is x's axes[i]. */
struct ir_value generate_binary_along(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x,
                                      struct ir_value y, struct generate_shape axes);
struct ir_value generate_binary_scalar(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x, double y);
/* "LE", "LT", "GE", "GT"; of signed integers or floats. */
struct ir_value generate_compare(struct generate_builder *b, const char *direction, struct ir_value x,
                                 struct ir_value y);
/* x where the predicate, which is broadcast along it, holds, else `otherwise`. */
struct ir_value generate_select(struct generate_builder *b, struct ir_value predicate, struct generate_shape axes,
                                struct ir_value x, double otherwise);
/* ADD or MAXIMUM over axes, ascending, which go away. */
struct ir_value generate_reduce_axes(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x,
                                     struct generate_shape axes);
/* The same over one axis. */
struct ir_value generate_reduce(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x, uint32_t axis);

/* The first `batch` axes of both are batch axes; one axis of each is contracted. Result: batch axes, the rest of x, the rest
 * of y, of type `dtype`. */
struct ir_value generate_dot(struct generate_builder *b, struct ir_value x, uint32_t x_contracted, struct ir_value y,
                             uint32_t y_contracted, uint32_t batch, enum dtype dtype);
/* Rows of a table of rank 1 or 2 by i32 indices of rank 1. */
struct ir_value generate_rows(struct generate_builder *b, struct ir_value table, struct ir_value indices);
/* x with `update` written at `position` of `axis` and at 0 of the others. */
struct ir_value generate_update(struct generate_builder *b, struct ir_value x, struct ir_value update, uint32_t axis,
                                struct ir_value position);

#endif
