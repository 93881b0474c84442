/* Operations that training steps need beyond generate_build.h: exchanges between devices, at once or as start and done. */
#include <assert.h>

#include "generate/generate_training_int.h"

static const struct ir_value none = {0};

/* ---- exchanges ---- */

static struct ir_attr number(struct generate_builder *b, int64_t value) {
  return ir_attr_integer(b->m, value, ir_type_scalar(b->m, DTYPE_I64));
}

static struct ir_attr channel(struct training *t) {
  uint32_t pairs[4] = {generate_name(&t->b, "handle"), number(&t->b, ++t->channel).id, generate_name(&t->b, "type"),
                       number(&t->b, 1).id};
  return generate_struct(&t->b, "stablehlo.channel_handle", pairs, 2);
}

static struct generate_shape exchanged_shape(const struct training *t, const struct training_exchange *e,
                                             struct ir_value x) {
  struct generate_shape shape = generate_shape_of(&t->b, x);
  int64_t ranks = t->group_size[e->group];
  switch ((int)e->opcode) {
  case IR_OP_ALL_GATHER:
    shape.dims[e->axis] *= ranks;
    break;
  case IR_OP_REDUCE_SCATTER:
    shape.dims[e->axis] /= ranks;
    break;
  case IR_OP_ALL_TO_ALL:
    shape.dims[e->axis] /= ranks;
    shape.dims[e->concatenated] *= ranks;
    break;
  default:
    break;
  }
  return shape;
}

/* The collective itself, in any block. */
static struct ir_op emit_exchange(struct training *t, struct ir_block block, const struct training_exchange *e,
                                  const struct ir_value *values, uint32_t count) {
  struct generate_builder *b = &t->b;
  struct ir_type types[TRAINING_EXCHANGED] = {{0}};
  bool reduces = e->opcode == IR_OP_ALL_REDUCE || e->opcode == IR_OP_REDUCE_SCATTER;
  assert(count > 0 && count <= TRAINING_EXCHANGED);
  if (b->m->out_of_memory || values[0].id == 0) {
    b->m->out_of_memory = true;
    return (struct ir_op){0};
  }
  for (uint32_t i = 0; i < count; i++) {
    types[i] = generate_type(b, generate_dtype_of(b, values[i]), exchanged_shape(t, e, values[i]));
  }
  struct ir_region body = {0};
  if (reduces) {
    body = generate_scalar_body(b, e->sum, generate_dtype_of(b, values[0]));
  }
  generate_attribute(b, "channel_handle", channel(t));
  generate_attribute(b, "replica_groups", t->group_attr[e->group]);
  if (e->opcode == IR_OP_ALL_TO_ALL) {
    generate_attribute(b, "split_dimension", number(b, e->axis));
    generate_attribute(b, "concat_dimension", number(b, e->concatenated));
    generate_attribute(b, "split_count", number(b, t->group_size[e->group]));
  } else {
    generate_attribute(b, "use_global_device_ids", b->m->unit_attr);
  }
  if (e->opcode == IR_OP_ALL_GATHER) {
    generate_attribute(b, "all_gather_dim", number(b, e->axis));
  } else if (e->opcode == IR_OP_REDUCE_SCATTER) {
    generate_attribute(b, "scatter_dimension", number(b, e->axis));
  }
  struct ir_op_spec spec = {.opcode = e->opcode,
                            .operands = values,
                            .operand_count = count,
                            .result_types = types,
                            .result_count = count,
                            .regions = &body,
                            .region_count = reduces};
  return generate_operation(b, block, &spec);
}

static void results_of(const struct training *t, struct ir_op op, uint32_t count, struct ir_value *results) {
  for (uint32_t i = 0; i < count; i++) {
    results[i] = op.id != 0 ? ir_op_result(t->b.m, op, i) : none;
  }
}

void training_exchange(struct training *t, const struct training_exchange *e, const struct ir_value *values,
                       uint32_t count, struct ir_value *results) {
  bool is_single = e->opcode == IR_OP_REDUCE_SCATTER || e->opcode == IR_OP_ALL_TO_ALL;
  for (uint32_t i = 0, part; i < count; i += part) {
    part = is_single ? 1 : count - i < TRAINING_EXCHANGED ? count - i : TRAINING_EXCHANGED;
    if (t->group_size[e->group] > 1) {
      results_of(t, emit_exchange(t, t->b.block, e, values + i, part), part, results + i);
      continue;
    }
    for (uint32_t j = i; j < i + part; j++) {
      results[j] = values[j];
    }
  }
}

/* Body of a start: the collective on the region's arguments. */
static struct ir_region start_body(struct training *t, const struct training_exchange *e, const struct ir_value *values,
                                   uint32_t count, struct ir_type *future) {
  struct ir_module *m = t->b.m;
  struct ir_type types[TRAINING_EXCHANGED] = {{0}};
  struct ir_value inside[TRAINING_EXCHANGED];
  struct ir_region region = ir_region_create(m);
  struct ir_block block = ir_block_create(m, region);
  for (uint32_t i = 0; i < count; i++) {
    types[i] = ir_value_type(m, values[i]);
  }
  if (m->out_of_memory || !ir_block_set_arguments(m, block, types, count)) {
    m->out_of_memory = true;
    return region;
  }
  for (uint32_t i = 0; i < count; i++) {
    inside[i] = ir_block_argument(m, block, i);
  }
  struct ir_op op = emit_exchange(t, block, e, inside, count);
  results_of(t, op, count, inside);
  if (m->out_of_memory) {
    return region;
  }
  for (uint32_t i = 0; i < count; i++) {
    types[i] = ir_value_type(m, inside[i]);
  }
  (void)ir_op_create(m, block,
                     &(struct ir_op_spec){.opcode = IR_OP_RETURN, .operands = inside, .operand_count = count});
  *future = ir_type_list(m, IR_TYPE_FUTURE, types, count, 0);
  return region;
}

struct ir_value training_exchange_start(struct training *t, const struct training_exchange *e,
                                        const struct ir_value *values, uint32_t count) {
  struct ir_type future = {0};
  assert(t->group_size[e->group] > 1 && count <= TRAINING_EXCHANGED);
  if (t->b.m->out_of_memory) {
    return none;
  }
  struct ir_region region = start_body(t, e, values, count, &future);
  struct ir_op_spec spec = {.opcode = IR_OP_ASYNC_START,
                            .operands = values,
                            .operand_count = count,
                            .result_types = &future,
                            .result_count = 1,
                            .regions = &region,
                            .region_count = 1};
  struct ir_op op = t->b.m->out_of_memory ? (struct ir_op){0} : generate_operation(&t->b, t->b.block, &spec);
  return op.id != 0 ? ir_op_result(t->b.m, op, 0) : none;
}

void training_exchange_done(struct training *t, struct ir_value future, uint32_t count, struct ir_value *results) {
  struct ir_module *m = t->b.m;
  struct ir_type types[TRAINING_EXCHANGED];
  struct ir_op op = {0};
  if (!m->out_of_memory) {
    const struct ir_type_data *list = ir_type_get(m, ir_value_type(m, future));
    assert(list->count == count && count <= TRAINING_EXCHANGED);
    for (uint32_t i = 0; i < count; i++) {
      types[i] = (struct ir_type){m->lists.data[list->first + i]};
    }
    struct ir_op_spec spec = {.opcode = IR_OP_ASYNC_DONE,
                              .operands = &future,
                              .operand_count = 1,
                              .result_types = types,
                              .result_count = count};
    op = generate_operation(&t->b, t->b.block, &spec);
  }
  results_of(t, op, count, results);
}

static struct ir_value exchange_one(struct training *t, struct training_exchange e, struct ir_value x) {
  struct ir_value result;
  training_exchange(t, &e, &x, 1, &result);
  return result;
}

struct ir_value training_all_reduce(struct training *t, enum training_group group, struct ir_value x,
                                    enum ir_opcode sum) {
  return exchange_one(t, (struct training_exchange){.opcode = IR_OP_ALL_REDUCE, .group = group, .sum = sum}, x);
}

struct ir_value training_all_gather(struct training *t, enum training_group group, struct ir_value x, uint32_t axis) {
  return exchange_one(t, (struct training_exchange){.opcode = IR_OP_ALL_GATHER, .group = group, .axis = axis}, x);
}

struct ir_value training_reduce_scatter(struct training *t, enum training_group group, struct ir_value x,
                                        uint32_t axis) {
  struct training_exchange e = {.opcode = IR_OP_REDUCE_SCATTER, .group = group, .axis = axis, .sum = IR_OP_ADD};
  return exchange_one(t, e, x);
}

/* ---- places ---- */

/* Devices are numbered by the mesh, the last axis fastest; a group is some axes of it in this order. */
struct ir_value training_group_rank(struct training *t, enum training_group group) {
  struct generate_builder *b = &t->b;
  struct ir_type type = generate_type(b, DTYPE_UI32, SCALAR);
  struct ir_op op = generate_operation(
      b, b->block, &(struct ir_op_spec){.opcode = IR_OP_PARTITION_ID, .result_types = &type, .result_count = 1});
  struct ir_value id = op.id != 0 ? ir_op_result(b->m, op, 0) : none, rank = none;
  int64_t inner = 1, ranks = 1;
  id = b->m->out_of_memory ? none : generate_convert(b, id, DTYPE_I32);
  for (uint32_t i = t->axis_count; i-- > 0 && !b->m->out_of_memory; inner *= t->axes[i].size) {
    if ((t->axes[i].groups >> group & 1) == 0) {
      continue;
    }
    struct ir_value digit = inner > 1 ? generate_binary_scalar(b, IR_OP_DIVIDE, id, (double)inner) : id;
    digit = generate_binary_scalar(b, IR_OP_REMAINDER, digit, t->axes[i].size);
    digit = ranks > 1 ? generate_binary_scalar(b, IR_OP_MULTIPLY, digit, (double)ranks) : digit;
    rank = rank.id != 0 ? generate_binary(b, IR_OP_ADD, rank, digit) : digit;
    ranks *= t->axes[i].size;
  }
  return rank.id != 0 || b->m->out_of_memory ? rank : generate_constant(b, DTYPE_I32, 0);
}

struct ir_value training_after(struct training *t, const struct ir_value *values, uint32_t count) {
  struct ir_type types[8];
  assert(count <= sizeof types / sizeof types[0]);
  for (uint32_t i = 0; i < count; i++) {
    types[i] = ir_value_type(t->b.m, values[i]);
  }
  struct ir_op_spec spec = {.opcode = IR_OP_OPTIMIZATION_BARRIER,
                            .operands = values,
                            .operand_count = count,
                            .result_types = types,
                            .result_count = count};
  struct ir_op op = generate_operation(&t->b, t->b.block, &spec);
  return op.id != 0 ? ir_op_result(t->b.m, op, 0) : none;
}

struct ir_value training_anchored(struct training *t, struct ir_value x) {
  bool is_free = t->anchor.id == 0 || x.id == 0 || t->b.m->out_of_memory;
  return is_free ? x : training_after(t, (struct ir_value[]){x, t->anchor}, 2);
}

/* ---- rows ---- */

struct ir_value training_zeros(struct generate_builder *b, enum dtype dtype, struct generate_shape shape) {
  return generate_broadcast(b, generate_constant(b, dtype, 0), shape, SCALAR);
}

struct generate_shape training_leading_axes(const struct generate_builder *b, struct ir_value x) {
  struct generate_shape axes = {.rank = 0};
  uint32_t rank = generate_shape_of(b, x).rank;
  for (uint32_t i = 0; i + 1 < rank; i++) {
    axes.dims[axes.rank++] = i;
  }
  return axes;
}

/* The sum over the first axis, in `dtype`. */
struct ir_value training_reduce_rows(struct generate_builder *b, struct ir_value x, enum dtype dtype) {
  return generate_convert(b, generate_reduce(b, IR_OP_ADD, generate_convert(b, x, DTYPE_F32), 0), dtype);
}

struct ir_value training_select(struct generate_builder *b, struct ir_value predicate, struct ir_value x,
                                struct ir_value y) {
  struct ir_type type = ir_value_type(b->m, x);
  struct ir_op_spec spec = {.opcode = IR_OP_SELECT,
                            .operands = (struct ir_value[]){predicate, x, y},
                            .operand_count = 3,
                            .result_types = &type,
                            .result_count = 1};
  struct ir_op op = generate_operation(b, b->block, &spec);
  return op.id != 0 ? ir_op_result(b->m, op, 0) : none;
}

static void add_field(struct generate_builder *b, uint32_t *pairs, uint32_t *count, const char *name,
                      struct ir_attr attr) {
  pairs[2 * *count] = generate_name(b, name);
  pairs[2 * (*count)++ + 1] = attr.id;
}

struct ir_value training_scatter_add(struct generate_builder *b, struct ir_value indices, struct ir_value y,
                                     int64_t rows) {
  struct ir_module *m = b->m;
  uint32_t pairs[10], count = 0;
  int64_t columns = generate_dim(b, y, 1), one = 1, zero = 0;
  enum dtype dtype = generate_dtype_of(b, y);
  struct ir_value to = training_zeros(b, dtype, SHAPE(rows, columns));
  indices = generate_reshape(b, indices, SHAPE(generate_dim(b, indices, 0), 1));
  struct ir_region body = m->out_of_memory ? (struct ir_region){0} : generate_scalar_body(b, IR_OP_ADD, dtype);
  if (m->out_of_memory) {
    return none;
  }
  add_field(b, pairs, &count, "update_window_dims", ir_attr_i64s(m, &one, 1));
  add_field(b, pairs, &count, "inserted_window_dims", ir_attr_i64s(m, &zero, 1));
  add_field(b, pairs, &count, "scatter_dims_to_operand_dims", ir_attr_i64s(m, &zero, 1));
  add_field(b, pairs, &count, "index_vector_dim", number(b, 1));
  if (m->out_of_memory) {
    return none;
  }
  generate_attribute(b, "scatter_dimension_numbers", generate_struct(b, "stablehlo.scatter", pairs, count));
  generate_attribute(b, "indices_are_sorted", ir_attr_bool(m, false));
  generate_attribute(b, "unique_indices", ir_attr_bool(m, false));
  struct ir_type type = ir_value_type(m, to);
  struct ir_op_spec spec = {.opcode = IR_OP_SCATTER,
                            .operands = (struct ir_value[]){to, indices, y},
                            .operand_count = 3,
                            .result_types = &type,
                            .result_count = 1,
                            .regions = &body,
                            .region_count = 1};
  struct ir_op op = generate_operation(b, b->block, &spec);
  return op.id != 0 ? ir_op_result(m, op, 0) : none;
}

struct ir_value training_dynamic_slice(struct generate_builder *b, struct ir_value x, struct ir_value start,
                                       uint32_t axis, int64_t count) {
  struct generate_shape shape = generate_shape_of(b, x);
  struct ir_value operands[1 + GENERATE_RANK_MAX] = {x};
  for (uint32_t i = 0; i < shape.rank; i++) {
    operands[1 + i] = i == axis ? start : generate_constant(b, DTYPE_I32, 0);
  }
  shape.dims[axis] = count;
  generate_attribute(b, "slice_sizes", ir_attr_i64s(b->m, shape.dims, shape.rank));
  struct ir_type type = generate_type(b, generate_dtype_of(b, x), shape);
  struct ir_op_spec spec = {.opcode = IR_OP_DYNAMIC_SLICE,
                            .operands = operands,
                            .operand_count = 1 + shape.rank,
                            .result_types = &type,
                            .result_count = 1};
  struct ir_op op = generate_operation(b, b->block, &spec);
  return op.id != 0 ? ir_op_result(b->m, op, 0) : none;
}
