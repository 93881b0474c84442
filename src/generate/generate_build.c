/* Operations of a module under construction. See generate_build.h. */
#include "generate/generate_build.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/minifloat.h"

static const struct ir_value none = {0};

/* ---- values ---- */

struct generate_shape generate_shape_of(const struct generate_builder *b, struct ir_value x) {
  struct generate_shape shape = {.rank = 1};
  struct ir_type type = ir_value_type(b->m, x);
  if (x.id == 0) { /* after a failure: some shape with a last axis */
    return shape;
  }
  shape.rank = ir_type_get(b->m, type)->rank;
  assert(shape.rank <= GENERATE_RANK_MAX);
  for (uint32_t i = 0; i < shape.rank; i++) {
    shape.dims[i] = ir_type_dims(b->m, type)[i];
  }
  return shape;
}

enum dtype generate_dtype_of(const struct generate_builder *b, struct ir_value x) {
  return (enum dtype)ir_type_get(b->m, ir_value_type(b->m, x))->dtype;
}

static struct ir_type tensor(struct generate_builder *b, enum dtype dtype, struct generate_shape shape) {
  return ir_type_tensor(b->m, ir_type_scalar(b->m, dtype), shape.dims, shape.rank, (struct ir_attr){0});
}

/* ---- operations ---- */

static void push(struct generate_builder *b, const char *name, struct ir_attr attr) {
  uint32_t id = intern_add_cstr(&b->m->strings, name);
  assert(b->pair_count + 2 <= sizeof b->pairs / sizeof b->pairs[0]);
  if (id == UINT32_MAX || attr.id == 0) {
    b->m->out_of_memory = true;
    return;
  }
  b->pairs[b->pair_count++] = id;
  b->pairs[b->pair_count++] = attr.id;
}

static void push_list(struct generate_builder *b, const char *name, struct generate_shape list) {
  push(b, name, ir_attr_i64s(b->m, list.dims, list.rank));
}

static void push_number(struct generate_builder *b, const char *name, int64_t value) {
  push(b, name, ir_attr_integer(b->m, value, ir_type_scalar(b->m, DTYPE_I64)));
}

static bool is_whole(const struct generate_builder *b, const struct ir_value *operands, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (operands[i].id == 0) {
      return false;
    }
  }
  return !b->m->out_of_memory;
}

/* Appends an operation of one result with the attributes pushed so far. */
static struct ir_value emit_in(struct generate_builder *b, struct ir_block block, enum ir_opcode opcode,
                               const struct ir_value *operands, uint32_t count, struct ir_type type,
                               const struct ir_region *region) {
  struct ir_op_spec spec = {.opcode = opcode,
                            .operands = operands,
                            .operand_count = count,
                            .result_types = &type,
                            .result_count = 1,
                            .attrs = b->pairs,
                            .attr_count = b->pair_count / 2,
                            .regions = region,
                            .region_count = region != NULL};
  b->pair_count = 0;
  struct ir_op op = is_whole(b, operands, count) ? ir_op_create(b->m, block, &spec) : (struct ir_op){0};
  b->m->out_of_memory |= op.id == 0;
  return op.id != 0 ? ir_op_result(b->m, op, 0) : none;
}

uint32_t generate_name(struct generate_builder *b, const char *text) {
  uint32_t id = intern_add_cstr(&b->m->strings, text);
  b->m->out_of_memory |= id == UINT32_MAX;
  return id != UINT32_MAX ? id : 0;
}

struct ir_attr generate_struct(struct generate_builder *b, const char *mnemonic, const uint32_t *pairs,
                               uint32_t count) {
  return b->m->out_of_memory ? (struct ir_attr){0} : ir_attr_struct(b->m, mnemonic, pairs, count);
}

struct ir_attr generate_dict(struct generate_builder *b, const uint32_t *pairs, uint32_t count) {
  return b->m->out_of_memory ? (struct ir_attr){0} : ir_attr_dict(b->m, pairs, count);
}

struct ir_attr generate_array(struct generate_builder *b, const struct ir_attr *items, uint32_t count) {
  return b->m->out_of_memory ? (struct ir_attr){0} : ir_attr_array(b->m, items, count);
}

void generate_attribute(struct generate_builder *b, const char *name, struct ir_attr attr) {
  push(b, name, attr);
}

struct ir_op generate_operation(struct generate_builder *b, struct ir_block block, const struct ir_op_spec *spec) {
  struct ir_op_spec whole = *spec;
  whole.attrs = b->pairs;
  whole.attr_count = b->pair_count / 2;
  b->pair_count = 0;
  struct ir_op op =
      is_whole(b, spec->operands, spec->operand_count) ? ir_op_create(b->m, block, &whole) : (struct ir_op){0};
  b->m->out_of_memory |= op.id == 0;
  return op;
}

struct ir_type generate_type(struct generate_builder *b, enum dtype dtype, struct generate_shape shape) {
  return tensor(b, dtype, shape);
}

static struct ir_value emit(struct generate_builder *b, enum ir_opcode opcode, const struct ir_value *operands,
                            uint32_t count, enum dtype dtype, struct generate_shape shape) {
  return emit_in(b, b->block, opcode, operands, count, tensor(b, dtype, shape), NULL);
}

struct ir_value generate_constant(struct generate_builder *b, enum dtype dtype, double value) {
  struct ir_type type = tensor(b, dtype, SCALAR);
  bool is_float = dtype_is_floating(dtype);
  uint64_t bits = is_float ? minifloat_encode(dtype, value) : (uint64_t)(int64_t)value;
  uint8_t data[8]; /* little-endian, whatever the host */
  for (unsigned i = 0; i < sizeof data; i++) {
    data[i] = (uint8_t)(bits >> (8 * i));
  }
  push(b, "value", ir_attr_dense(b->m, type, data, ir_dense_element_size(dtype), true));
  return emit_in(b, b->block, IR_OP_CONSTANT, NULL, 0, type, NULL);
}

struct ir_value generate_broadcast(struct generate_builder *b, struct ir_value x, struct generate_shape shape,
                                   struct generate_shape axes) {
  push_list(b, "broadcast_dimensions", axes);
  return emit(b, IR_OP_BROADCAST_IN_DIM, &x, 1, generate_dtype_of(b, x), shape);
}

struct ir_value generate_reshape(struct generate_builder *b, struct ir_value x, struct generate_shape shape) {
  return emit(b, IR_OP_RESHAPE, &x, 1, generate_dtype_of(b, x), shape);
}

struct ir_value generate_transpose(struct generate_builder *b, struct ir_value x, struct generate_shape permutation) {
  struct generate_shape from = generate_shape_of(b, x), to = {.rank = from.rank};
  for (uint32_t i = 0; i < from.rank; i++) {
    to.dims[i] = from.dims[permutation.dims[i]];
  }
  push_list(b, "permutation", permutation);
  return emit(b, IR_OP_TRANSPOSE, &x, 1, generate_dtype_of(b, x), to);
}

struct ir_value generate_convert(struct generate_builder *b, struct ir_value x, enum dtype dtype) {
  return generate_dtype_of(b, x) == dtype ? x : emit(b, IR_OP_CONVERT, &x, 1, dtype, generate_shape_of(b, x));
}

struct ir_value generate_iota(struct generate_builder *b, enum dtype dtype, struct generate_shape shape,
                              uint32_t axis) {
  push_number(b, "iota_dimension", axis);
  return emit(b, IR_OP_IOTA, NULL, 0, dtype, shape);
}

struct ir_value generate_slice(struct generate_builder *b, struct ir_value x, uint32_t axis, int64_t start,
                               int64_t limit) {
  struct generate_shape shape = generate_shape_of(b, x);
  struct generate_shape starts = {.rank = shape.rank}, limits = shape, strides = {.rank = shape.rank};
  for (uint32_t i = 0; i < shape.rank; i++) {
    strides.dims[i] = 1;
  }
  starts.dims[axis] = start;
  limits.dims[axis] = limit;
  shape.dims[axis] = limit - start;
  push_list(b, "start_indices", starts);
  push_list(b, "limit_indices", limits);
  push_list(b, "strides", strides);
  return emit(b, IR_OP_SLICE, &x, 1, generate_dtype_of(b, x), shape);
}

struct ir_value generate_concatenate(struct generate_builder *b, struct ir_value x, struct ir_value y, uint32_t axis) {
  struct generate_shape shape = generate_shape_of(b, x);
  shape.dims[axis] += generate_dim(b, y, axis);
  push_number(b, "dimension", axis);
  return emit(b, IR_OP_CONCATENATE, (struct ir_value[]){x, y}, 2, generate_dtype_of(b, x), shape);
}

/* ---- elementwise ---- */

struct ir_value generate_unary(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x) {
  return emit(b, opcode, &x, 1, generate_dtype_of(b, x), generate_shape_of(b, x));
}

struct ir_value generate_binary(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x,
                                struct ir_value y) {
  return emit(b, opcode, (struct ir_value[]){x, y}, 2, generate_dtype_of(b, x), generate_shape_of(b, x));
}

struct ir_value generate_binary_along(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x,
                                      struct ir_value y, struct generate_shape axes) {
  return generate_binary(b, opcode, x, generate_broadcast(b, y, generate_shape_of(b, x), axes));
}

struct ir_value generate_binary_scalar(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x, double y) {
  return generate_binary_along(b, opcode, x, generate_constant(b, generate_dtype_of(b, x), y), SCALAR);
}

struct ir_value generate_compare(struct generate_builder *b, const char *direction, struct ir_value x,
                                 struct ir_value y) {
  static const char directions[] = "stablehlo.comparison_direction", types[] = "stablehlo.comparison_type";
  push(b, "comparison_direction", ir_attr_enum(b->m, directions, sizeof directions - 1, direction, strlen(direction)));
  bool is_float = dtype_is_floating(generate_dtype_of(b, x));
  push(b, "compare_type", ir_attr_enum(b->m, types, sizeof types - 1, is_float ? "FLOAT" : "SIGNED", is_float ? 5 : 6));
  return emit(b, IR_OP_COMPARE, (struct ir_value[]){x, y}, 2, DTYPE_I1, generate_shape_of(b, x));
}

struct ir_value generate_select(struct generate_builder *b, struct ir_value predicate, struct generate_shape axes,
                                struct ir_value x, double otherwise) {
  struct generate_shape shape = generate_shape_of(b, x);
  enum dtype dtype = generate_dtype_of(b, x);
  if (generate_shape_of(b, predicate).rank != shape.rank) {
    predicate = generate_broadcast(b, predicate, shape, axes);
  }
  struct ir_value other = generate_broadcast(b, generate_constant(b, dtype, otherwise), shape, SCALAR);
  return emit(b, IR_OP_SELECT, (struct ir_value[]){predicate, x, other}, 3, dtype, shape);
}

/* ---- reductions ---- */

/* (x, y) → opcode(x, y) of scalars. */
static struct ir_region scalar_body(struct generate_builder *b, enum ir_opcode opcode, struct ir_type scalar) {
  struct ir_region region = ir_region_create(b->m);
  struct ir_block block = ir_block_create(b->m, region);
  if (block.id == 0 || !ir_block_set_arguments(b->m, block, (struct ir_type[]){scalar, scalar}, 2)) {
    b->m->out_of_memory = true;
    return region;
  }
  struct ir_value operands[2] = {ir_block_argument(b->m, block, 0), ir_block_argument(b->m, block, 1)};
  struct ir_value value = emit_in(b, block, opcode, operands, 2, scalar, NULL);
  (void)ir_op_create(b->m, block, &(struct ir_op_spec){.opcode = IR_OP_RETURN, .operands = &value, .operand_count = 1});
  return region;
}

struct ir_region generate_scalar_body(struct generate_builder *b, enum ir_opcode opcode, enum dtype dtype) {
  return scalar_body(b, opcode, tensor(b, dtype, SCALAR));
}

struct ir_value generate_reduce_axes(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x,
                                     struct generate_shape axes) {
  struct generate_shape from = generate_shape_of(b, x), to = {.rank = 0};
  enum dtype dtype = generate_dtype_of(b, x);
  uint32_t reduced = 0; /* bit i: axis i */
  for (uint32_t i = 0; i < axes.rank; i++) {
    reduced |= UINT32_C(1) << axes.dims[i];
  }
  for (uint32_t i = 0; i < from.rank; i++) {
    if ((reduced >> i & 1) == 0) {
      to.dims[to.rank++] = from.dims[i];
    }
  }
  struct ir_value start = generate_constant(b, dtype, opcode == IR_OP_MAXIMUM ? -(double)INFINITY : 0);
  if (b->m->out_of_memory) {
    return none;
  }
  struct ir_region region = scalar_body(b, opcode, tensor(b, dtype, SCALAR));
  struct ir_type type = tensor(b, dtype, to);
  push_list(b, "dimensions", axes);
  return emit_in(b, b->block, IR_OP_REDUCE, (struct ir_value[]){x, start}, 2, type, &region);
}

struct ir_value generate_reduce(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x, uint32_t axis) {
  return generate_reduce_axes(b, opcode, x, AXES(axis));
}

/* ---- products and indices ---- */

struct fields {
  uint32_t pairs[2 * 6], count;
};

static void add_list(struct generate_builder *b, struct fields *fields, const char *name, struct generate_shape list) {
  if (list.rank == 0) {
    return;
  }
  uint32_t id = intern_add_cstr(&b->m->strings, name);
  struct ir_attr attr = ir_attr_i64s(b->m, list.dims, list.rank);
  b->m->out_of_memory |= id == UINT32_MAX || attr.id == 0;
  fields->pairs[2 * fields->count] = id;
  fields->pairs[2 * fields->count++ + 1] = attr.id;
}

/* Appends the axes of x from `batch` on but the contracted one. */
static void add_free(const struct generate_builder *b, struct ir_value x, uint32_t batch, uint32_t contracted,
                     struct generate_shape *shape) {
  struct generate_shape from = generate_shape_of(b, x);
  for (uint32_t i = batch; i < from.rank; i++) {
    if (i != contracted) {
      assert(shape->rank < GENERATE_RANK_MAX);
      shape->dims[shape->rank++] = from.dims[i];
    }
  }
}

struct ir_value generate_dot(struct generate_builder *b, struct ir_value x, uint32_t x_contracted, struct ir_value y,
                             uint32_t y_contracted, uint32_t batch, enum dtype dtype) {
  struct generate_shape shape = {.rank = 0}, axes = {.rank = 0};
  struct fields fields = {.count = 0};
  if (!is_whole(b, (struct ir_value[]){x, y}, 2)) {
    return none;
  }
  for (uint32_t i = 0; i < batch; i++) {
    axes.dims[axes.rank++] = i;
    shape.dims[shape.rank++] = generate_dim(b, x, i);
  }
  add_free(b, x, batch, x_contracted, &shape);
  add_free(b, y, batch, y_contracted, &shape);
  add_list(b, &fields, "lhs_batching_dimensions", axes);
  add_list(b, &fields, "rhs_batching_dimensions", axes);
  add_list(b, &fields, "lhs_contracting_dimensions", AXES(x_contracted));
  add_list(b, &fields, "rhs_contracting_dimensions", AXES(y_contracted));
  if (b->m->out_of_memory) {
    return none;
  }
  push(b, "dot_dimension_numbers", ir_attr_struct(b->m, "stablehlo.dot", fields.pairs, fields.count));
  return emit(b, IR_OP_DOT_GENERAL, (struct ir_value[]){x, y}, 2, dtype, shape);
}

struct ir_value generate_rows(struct generate_builder *b, struct ir_value table, struct ir_value indices) {
  struct generate_shape from = generate_shape_of(b, table), sizes = from, to = {.rank = 0};
  struct fields fields = {.count = 0};
  struct generate_shape offsets = {.rank = 0};
  indices = generate_reshape(b, indices, SHAPE(generate_dim(b, indices, 0), 1));
  if (!is_whole(b, (struct ir_value[]){table, indices}, 2)) {
    return none;
  }
  sizes.dims[0] = 1;
  to.dims[to.rank++] = generate_dim(b, indices, 0);
  for (uint32_t i = 1; i < from.rank; i++) {
    offsets.dims[offsets.rank++] = i;
    to.dims[to.rank++] = from.dims[i];
  }
  add_list(b, &fields, "offset_dims", offsets);
  add_list(b, &fields, "collapsed_slice_dims", AXES(0));
  add_list(b, &fields, "start_index_map", AXES(0));
  fields.pairs[2 * fields.count] = intern_add_cstr(&b->m->strings, "index_vector_dim");
  fields.pairs[2 * fields.count++ + 1] = ir_attr_integer(b->m, 1, ir_type_scalar(b->m, DTYPE_I64)).id;
  if (b->m->out_of_memory) {
    return none;
  }
  push(b, "dimension_numbers", ir_attr_struct(b->m, "stablehlo.gather", fields.pairs, fields.count));
  push_list(b, "slice_sizes", sizes);
  push(b, "indices_are_sorted", ir_attr_bool(b->m, false));
  return emit(b, IR_OP_GATHER, (struct ir_value[]){table, indices}, 2, generate_dtype_of(b, table), to);
}

struct ir_value generate_update(struct generate_builder *b, struct ir_value x, struct ir_value update, uint32_t axis,
                                struct ir_value position) {
  struct generate_shape shape = generate_shape_of(b, x);
  struct ir_value operands[2 + GENERATE_RANK_MAX] = {x, update};
  if (b->zero.id == 0) {
    b->zero = generate_constant(b, DTYPE_I32, 0);
  }
  for (uint32_t i = 0; i < shape.rank; i++) {
    operands[2 + i] = i == axis ? position : b->zero;
  }
  return emit(b, IR_OP_DYNAMIC_UPDATE_SLICE, operands, 2 + shape.rank, generate_dtype_of(b, x), shape);
}
