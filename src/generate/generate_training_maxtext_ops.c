/* Operations of the MaxText step beyond generate_build.h. */
#include <assert.h>
#include <string.h>

#include "generate/generate_training_maxtext.h"

static const struct ir_value none = {0};

static struct ir_value append(struct maxtext *m, enum ir_opcode opcode, const struct ir_value *operands, uint32_t count,
                              enum dtype dtype, struct generate_shape shape) {
  struct generate_builder *b = &m->t.b;
  struct ir_type type = generate_type(b, dtype, shape);
  struct ir_op_spec spec = {
      .opcode = opcode, .operands = operands, .operand_count = count, .result_types = &type, .result_count = 1};
  struct ir_op op = generate_operation(b, b->block, &spec);
  return op.id != 0 ? ir_op_result(b->m, op, 0) : none;
}

struct ir_value maxtext_constant(struct maxtext *m, enum dtype dtype, double value) {
  for (size_t i = 0; i < m->constants.count; i++) {
    const struct maxtext_constant *c = &m->constants.data[i];
    if (c->dtype == dtype && memcmp(&c->value, &value, sizeof value) == 0) {
      return c->result;
    }
  }
  struct maxtext_constant made = {dtype, value, generate_constant(&m->t.b, dtype, value)};
  m->t.b.m->out_of_memory |= !vec_push(&m->constants, made);
  return made.result;
}

struct ir_value maxtext_fill(struct maxtext *m, struct ir_value scalar, struct generate_shape shape) {
  return generate_broadcast(&m->t.b, scalar, shape, SCALAR);
}

struct ir_value maxtext_fill_once(struct maxtext *m, struct ir_value scalar, struct generate_shape shape) {
  for (size_t i = 0; i < m->spreads.count; i++) {
    const struct maxtext_spread *s = &m->spreads.data[i];
    if (s->scalar.id == scalar.id && s->shape.rank == shape.rank
        && memcmp(s->shape.dims, shape.dims, shape.rank * sizeof *shape.dims) == 0) {
      return s->result;
    }
  }
  struct maxtext_spread made = {scalar, shape, maxtext_fill(m, scalar, shape)};
  m->t.b.m->out_of_memory |= !vec_push(&m->spreads, made);
  return made.result;
}

struct ir_value maxtext_copy(struct maxtext *m, struct ir_value x) {
  return append(m, IR_OP_MHLO_COPY, &x, 1, generate_dtype_of(&m->t.b, x), generate_shape_of(&m->t.b, x));
}

struct ir_value maxtext_round(struct maxtext *m, struct ir_value x) {
  struct ir_module *module = m->t.b.m;
  generate_attribute(&m->t.b, "exponent_bits", ir_attr_integer(module, 8, ir_type_scalar(module, DTYPE_I32)));
  generate_attribute(&m->t.b, "mantissa_bits", ir_attr_integer(module, 7, ir_type_scalar(module, DTYPE_I32)));
  return append(m, IR_OP_REDUCE_PRECISION, &x, 1, generate_dtype_of(&m->t.b, x), generate_shape_of(&m->t.b, x));
}

static bool contains(struct generate_shape axes, int64_t axis) {
  for (uint32_t i = 0; i < axes.rank; i++) {
    if (axes.dims[i] == axis) {
      return true;
    }
  }
  return false;
}

struct ir_value maxtext_reduce(struct maxtext *m, enum ir_opcode opcode, struct ir_value x, struct ir_value start,
                               struct generate_shape axes) {
  struct generate_builder *b = &m->t.b;
  struct generate_shape from = generate_shape_of(b, x), to = {.rank = 0};
  enum dtype dtype = generate_dtype_of(b, x);
  for (uint32_t i = 0; i < from.rank; i++) {
    if (!contains(axes, i)) {
      to.dims[to.rank++] = from.dims[i];
    }
  }
  if (b->m->out_of_memory) {
    return none;
  }
  struct ir_region body = generate_scalar_body(b, opcode, dtype);
  struct ir_type type = generate_type(b, dtype, to);
  generate_attribute(b, "dimensions", ir_attr_i64s(b->m, axes.dims, axes.rank));
  struct ir_op_spec spec = {.opcode = IR_OP_REDUCE,
                            .operands = (struct ir_value[]){x, start},
                            .operand_count = 2,
                            .result_types = &type,
                            .result_count = 1,
                            .regions = &body,
                            .region_count = 1};
  struct ir_op op = generate_operation(b, b->block, &spec);
  return op.id != 0 ? ir_op_result(b->m, op, 0) : none;
}

static void add_axes(struct generate_builder *b, uint32_t *pairs, uint32_t *count, const char *name,
                     struct generate_shape axes) {
  if (axes.rank > 0) {
    pairs[2 * *count] = generate_name(b, name);
    pairs[2 * (*count)++ + 1] = ir_attr_i64s(b->m, axes.dims, axes.rank).id;
  }
}

/* Appends the axes of x that are neither contracted nor batch axes. */
static void add_free(const struct generate_builder *b, struct ir_value x, struct generate_shape contracted,
                     struct generate_shape batch, struct generate_shape *shape) {
  struct generate_shape from = generate_shape_of(b, x);
  for (uint32_t i = 0; i < from.rank; i++) {
    if (!contains(contracted, i) && !contains(batch, i)) {
      assert(shape->rank < GENERATE_RANK_MAX);
      shape->dims[shape->rank++] = from.dims[i];
    }
  }
}

struct ir_value maxtext_dot(struct maxtext *m, struct ir_value x, struct ir_value y, struct generate_shape x_contracted,
                            struct generate_shape y_contracted, struct generate_shape x_batch,
                            struct generate_shape y_batch) {
  static const char mnemonic[] = "stablehlo.precision";
  struct generate_builder *b = &m->t.b;
  struct generate_shape shape = {.rank = 0};
  uint32_t pairs[8], count = 0;
  if (b->m->out_of_memory) {
    return none;
  }
  for (uint32_t i = 0; i < x_batch.rank; i++) {
    shape.dims[shape.rank++] = generate_dim(b, x, (uint32_t)x_batch.dims[i]);
  }
  add_free(b, x, x_contracted, x_batch, &shape);
  add_free(b, y, y_contracted, y_batch, &shape);
  add_axes(b, pairs, &count, "lhs_batching_dimensions", x_batch);
  add_axes(b, pairs, &count, "rhs_batching_dimensions", y_batch);
  add_axes(b, pairs, &count, "lhs_contracting_dimensions", x_contracted);
  add_axes(b, pairs, &count, "rhs_contracting_dimensions", y_contracted);
  struct ir_attr precision = ir_attr_enum(b->m, mnemonic, sizeof mnemonic - 1, "DEFAULT", 7);
  generate_attribute(b, "dot_dimension_numbers", generate_struct(b, "stablehlo.dot", pairs, count));
  generate_attribute(b, "precision_config", generate_array(b, (struct ir_attr[]){precision, precision}, 2));
  return append(m, IR_OP_DOT_GENERAL, (struct ir_value[]){x, y}, 2, generate_dtype_of(b, x), shape);
}

struct ir_value maxtext_binary(struct maxtext *m, enum ir_opcode opcode, struct ir_value x, struct ir_value y) {
  return generate_binary(&m->t.b, opcode, x, y);
}

struct ir_value maxtext_select(struct maxtext *m, struct ir_value predicate, struct ir_value x, struct ir_value y) {
  return training_select(&m->t.b, predicate, x, y);
}

struct ir_value maxtext_slice_at(struct maxtext *m, struct ir_value x, const struct ir_value *starts,
                                 struct generate_shape sizes) {
  struct ir_value operands[1 + GENERATE_RANK_MAX] = {x};
  memcpy(operands + 1, starts, sizes.rank * sizeof *starts);
  generate_attribute(&m->t.b, "slice_sizes", ir_attr_i64s(m->t.b.m, sizes.dims, sizes.rank));
  return append(m, IR_OP_DYNAMIC_SLICE, operands, 1 + sizes.rank, generate_dtype_of(&m->t.b, x), sizes);
}

struct ir_value maxtext_list(struct maxtext *m, const int32_t *values, uint32_t count) {
  struct generate_builder *b = &m->t.b;
  struct generate_shape shape = SHAPE(count);
  uint8_t data[4 * MAXTEXT_DEVICES];
  assert(count <= MAXTEXT_DEVICES);
  for (uint32_t i = 0; i < 4 * count; i++) { /* little-endian, whatever the host */
    data[i] = (uint8_t)((uint32_t)values[i / 4] >> (8 * (i % 4)));
  }
  struct ir_type type = generate_type(b, DTYPE_I32, shape);
  generate_attribute(b, "value", ir_attr_dense(b->m, type, data, 4 * (uint64_t)count, false));
  return append(m, IR_OP_CONSTANT, NULL, 0, DTYPE_I32, shape);
}

void maxtext_barrier(struct maxtext *m, struct ir_value *values, uint32_t count) {
  struct generate_builder *b = &m->t.b;
  struct ir_type types[MAXTEXT_BARRIER];
  assert(count <= MAXTEXT_BARRIER);
  for (uint32_t i = 0; i < count; i++) {
    types[i] = ir_value_type(b->m, values[i]);
  }
  struct ir_op_spec spec = {.opcode = IR_OP_OPTIMIZATION_BARRIER,
                            .operands = values,
                            .operand_count = count,
                            .result_types = types,
                            .result_count = count};
  struct ir_op op = generate_operation(b, b->block, &spec);
  for (uint32_t i = 0; i < count; i++) {
    values[i] = op.id != 0 ? ir_op_result(b->m, op, i) : none;
  }
}
