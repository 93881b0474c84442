/* Operations that residual networks need beyond generate_build.h: convolutions, pooling, sums over devices. */
#include <math.h>

#include "generate/generate_resnet_int.h"

static const struct ir_value none = {0};

/* ---- numbers ---- */

/* Learning rate: a tenth per 256 images, up over 500 steps from nothing and down along a cosine over 100, as in the published
 * program. The step's time does not depend on them. */
static double base_rate(const struct resnet *r) {
  return 0.1 * r->p.global_batch / 256;
}

static struct ir_value make_number(struct resnet *r, enum resnet_number which) {
  static const double values[RESNET_NUMBERS] = {
      [RESNET_ONE] = 1,           [RESNET_TWO] = 2,    [RESNET_EPSILON] = 1e-5,
      [RESNET_MINUS_HALF] = -0.5, [RESNET_KEEP] = 0.9, [RESNET_TAKE] = 0.1,
      [RESNET_PLAIN_ONE] = 1,     [RESNET_HALF] = 0.5, [RESNET_PI] = 3.14159265358979323846,
      [RESNET_WARMUP] = 500,      [RESNET_DECAY] = 100};
  struct generate_builder *b = &r->b;
  switch ((int)which) {
  case RESNET_COMPUTE_ZERO:
    return generate_constant(b, r->p.compute, 0);
  case RESNET_COUNT_ZERO:
    return generate_constant(b, DTYPE_I32, 0);
  case RESNET_RATE:
    return generate_constant(b, DTYPE_F32, base_rate(r));
  case RESNET_MINUS_RATE:
    return generate_constant(b, DTYPE_F32, -base_rate(r));
  default:
    return generate_constant(b, DTYPE_F32, values[which]);
  }
}

struct ir_value resnet_number(struct resnet *r, enum resnet_number which) {
  if (r->numbers[which].id == 0) {
    r->numbers[which] = make_number(r, which);
  }
  return r->numbers[which];
}

struct ir_value resnet_whole(struct resnet *r, double value) {
  for (uint32_t i = 0; i < r->whole_count; i++) {
    if (r->wholes[i].value == value) {
      return r->wholes[i].made;
    }
  }
  struct ir_value made = generate_constant(&r->b, DTYPE_F32, value);
  if (r->whole_count < sizeof r->wholes / sizeof r->wholes[0]) {
    r->wholes[r->whole_count++] = (struct resnet_whole){value, made};
  }
  return made;
}

struct ir_value resnet_splat(struct resnet *r, struct ir_value scalar, struct ir_value like) {
  return generate_broadcast(&r->b, scalar, generate_shape_of(&r->b, like), SCALAR);
}

struct ir_value resnet_times(struct resnet *r, struct ir_value scalar, struct ir_value x) {
  return generate_binary(&r->b, IR_OP_MULTIPLY, resnet_splat(r, scalar, x), x);
}

struct ir_value resnet_over(struct resnet *r, struct ir_value x, struct ir_value scalar) {
  return generate_binary(&r->b, IR_OP_DIVIDE, x, resnet_splat(r, scalar, x));
}

struct ir_value resnet_same_convert(struct resnet *r, struct ir_value x) {
  return generate_unary(&r->b, IR_OP_CONVERT, x);
}

/* ---- one operation of one result ---- */

static struct ir_value emit(struct resnet *r, enum ir_opcode opcode, const struct ir_value *operands, uint32_t count,
                            struct generate_shape shape, const struct ir_region *regions, uint32_t region_count) {
  struct generate_builder *b = &r->b;
  if (b->m->out_of_memory) {
    b->pair_count = 0;
    return none;
  }
  struct ir_type type = generate_type(b, generate_dtype_of(b, operands[0]), shape);
  struct ir_op_spec spec = {.opcode = opcode,
                            .operands = operands,
                            .operand_count = count,
                            .result_types = &type,
                            .result_count = 1,
                            .regions = regions,
                            .region_count = region_count};
  struct ir_op op = generate_operation(b, b->block, &spec);
  return op.id != 0 ? ir_op_result(b->m, op, 0) : none;
}

static void set_list(struct resnet *r, const char *name, struct generate_shape list) {
  generate_attribute(&r->b, name, ir_attr_i64s(r->b.m, list.dims, list.rank));
}

struct ir_value resnet_select(struct resnet *r, struct ir_value predicate, struct ir_value x, struct ir_value y) {
  struct generate_builder *b = &r->b;
  if (b->m->out_of_memory) {
    return none;
  }
  struct ir_type type = ir_value_type(b->m, x);
  struct ir_op_spec spec = {.opcode = IR_OP_SELECT,
                            .operands = (struct ir_value[]){predicate, x, y},
                            .operand_count = 3,
                            .result_types = &type,
                            .result_count = 1};
  struct ir_op op = generate_operation(b, b->block, &spec);
  return op.id != 0 ? ir_op_result(b->m, op, 0) : none;
}

struct ir_value resnet_reverse_kernel(struct resnet *r, struct ir_value kernel) {
  set_list(r, "dimensions", AXES(0, 1));
  return emit(r, IR_OP_REVERSE, &kernel, 1, generate_shape_of(&r->b, kernel), NULL, 0);
}

static struct ir_value pad(struct resnet *r, struct ir_value x, struct ir_value value, struct generate_shape low,
                           struct generate_shape high) {
  struct generate_shape shape = generate_shape_of(&r->b, x), interior = {.rank = low.rank};
  for (uint32_t i = 0; i < shape.rank; i++) {
    shape.dims[i] += low.dims[i] + high.dims[i];
  }
  set_list(r, "edge_padding_low", low);
  set_list(r, "edge_padding_high", high);
  set_list(r, "interior_padding", interior);
  return emit(r, IR_OP_PAD, (struct ir_value[]){x, value}, 2, shape, NULL, 0);
}

struct ir_value resnet_pad_rows(struct resnet *r, struct ir_value x, struct ir_value value, int64_t before,
                                int64_t after) {
  return pad(r, x, value, SHAPE(before, 0), SHAPE(after, 0));
}

/* ---- devices ---- */

struct ir_value resnet_all_reduce(struct resnet *r, struct ir_value x) {
  if (r->p.data == 1 || r->b.m->out_of_memory) {
    return x;
  }
  struct ir_region body = generate_scalar_body(&r->b, IR_OP_ADD, generate_dtype_of(&r->b, x));
  generate_attribute(&r->b, "replica_groups", r->groups);
  return emit(r, IR_OP_ALL_REDUCE, &x, 1, generate_shape_of(&r->b, x), &body, 1);
}

struct ir_value resnet_share(struct resnet *r, struct ir_value x) {
  if (r->p.data == 1) {
    return x;
  }
  struct ir_value devices = resnet_whole(r, r->p.data);
  return generate_shape_of(&r->b, x).rank == 0 ? generate_binary(&r->b, IR_OP_DIVIDE, x, devices)
                                               : resnet_over(r, x, devices);
}

/* ---- bodies ---- */

/* A region of one block with `count` scalar arguments, which takes what is appended until close_body. */
static struct ir_region open_body(struct resnet *r, const enum dtype *dtypes, uint32_t count,
                                  struct ir_value *arguments, struct ir_block *outer) {
  struct generate_builder *b = &r->b;
  struct ir_type types[4] = {{0}};
  struct ir_region region = ir_region_create(b->m);
  struct ir_block block = ir_block_create(b->m, region);
  for (uint32_t i = 0; i < count; i++) {
    types[i] = generate_type(b, dtypes[i], SCALAR);
    arguments[i] = none;
  }
  if (b->m->out_of_memory || !ir_block_set_arguments(b->m, block, types, count)) {
    b->m->out_of_memory = true;
  }
  for (uint32_t i = 0; i < count && !b->m->out_of_memory; i++) {
    arguments[i] = ir_block_argument(b->m, block, i);
  }
  *outer = b->block;
  b->block = block;
  return region;
}

static void close_body(struct resnet *r, struct ir_block outer, const struct ir_value *values, uint32_t count) {
  struct generate_builder *b = &r->b;
  struct ir_op_spec end = {.opcode = IR_OP_RETURN, .operands = values, .operand_count = count};
  (void)generate_operation(b, b->block, &end);
  b->block = outer;
}

/* The greater value, and of equal ones the lower index; a value that is no number wins. */
static struct ir_region argmax_body(struct resnet *r, enum dtype dtype) {
  struct generate_builder *b = &r->b;
  struct ir_block outer;
  struct ir_value a[4], picked[2];
  struct ir_region region = open_body(r, (enum dtype[]){dtype, DTYPE_I32, dtype, DTYPE_I32}, 4, a, &outer);
  struct ir_value greater = generate_compare(b, "GT", a[0], a[2]);
  struct ir_value is_nan = generate_compare(b, "NE", a[0], a[0]);
  struct ir_value wins = generate_binary(b, IR_OP_OR, greater, is_nan);
  struct ir_value equal = generate_compare(b, "EQ", a[0], a[2]);
  struct ir_value earlier = generate_compare(b, "LT", a[1], a[3]);
  struct ir_value first = generate_binary(b, IR_OP_OR, wins, generate_binary(b, IR_OP_AND, equal, earlier));
  picked[0] = resnet_select(r, wins, a[0], a[2]);
  picked[1] = resnet_select(r, first, a[1], a[3]);
  close_body(r, outer, picked, 2);
  return region;
}

struct ir_value resnet_argmax(struct resnet *r, struct ir_value x) {
  struct generate_builder *b = &r->b;
  struct generate_shape shape = generate_shape_of(b, x), rows = SHAPE(shape.dims[0]);
  struct ir_value operands[4] = {x, generate_iota(b, DTYPE_I32, shape, 1), none, none};
  operands[2] = generate_constant(b, generate_dtype_of(b, x), -(double)INFINITY);
  operands[3] = generate_constant(b, DTYPE_I32, 0);
  if (b->m->out_of_memory) {
    return none;
  }
  struct ir_region body = argmax_body(r, generate_dtype_of(b, x));
  struct ir_type types[2] = {generate_type(b, generate_dtype_of(b, x), rows), generate_type(b, DTYPE_I32, rows)};
  set_list(r, "dimensions", AXES(1));
  struct ir_op_spec spec = {.opcode = IR_OP_REDUCE,
                            .operands = operands,
                            .operand_count = 4,
                            .result_types = types,
                            .result_count = 2,
                            .regions = &body,
                            .region_count = 1};
  struct ir_op op = generate_operation(b, b->block, &spec);
  return op.id != 0 ? ir_op_result(b->m, op, 1) : none;
}

/* ---- convolutions ---- */

/* Where batch (or kernel input), feature (or kernel output) and the two spatial axes stand. */
struct placement {
  int64_t outer, inner, spatial[2];
};

struct convolution {
  struct placement input, kernel, output;
  int64_t stride, low, high, lhs_dilation, rhs_dilation;
};

static struct ir_attr number(struct resnet *r, int64_t value) {
  return ir_attr_integer(r->b.m, value, ir_type_scalar(r->b.m, DTYPE_I64));
}

static struct ir_attr convolution_numbers(struct resnet *r, const struct convolution *c) {
  static const char *const names[3][3] = {
      {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
      {"kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions"},
      {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"}};
  const struct placement *const places[3] = {&c->input, &c->kernel, &c->output};
  struct ir_module *m = r->b.m;
  uint32_t pairs[18];
  for (size_t i = 0; i < 3; i++) {
    const struct ir_attr values[3] = {number(r, places[i]->outer), number(r, places[i]->inner),
                                      ir_attr_i64s(m, places[i]->spatial, 2)};
    for (size_t k = 0; k < 3; k++) {
      pairs[6 * i + 2 * k] = intern_add_cstr(&m->strings, names[i][k]);
      pairs[6 * i + 2 * k + 1] = values[k].id;
    }
  }
  return m->out_of_memory ? (struct ir_attr){0} : ir_attr_struct(m, "stablehlo.conv", pairs, 9);
}

/* dense<[[low, high], ...]> */
static struct ir_attr padding_attr(struct resnet *r, const int64_t *pairs, uint32_t rank) {
  struct ir_type type = generate_type(&r->b, DTYPE_I64, SHAPE(rank, 2));
  uint8_t data[8 * 2 * GENERATE_RANK_MAX]; /* little-endian, whatever the host */
  for (uint32_t i = 0; i < 16 * rank; i++) {
    data[i] = (uint8_t)((uint64_t)pairs[i / 8] >> (8 * (i % 8)));
  }
  return ir_attr_dense(r->b.m, type, data, 16 * (uint64_t)rank, false);
}

static int64_t positions(const struct convolution *c, int64_t in, int64_t size) {
  int64_t padded = (in - 1) * c->lhs_dilation + 1 + c->low + c->high, reach = (size - 1) * c->rhs_dilation + 1;
  return (padded - reach) / c->stride + 1;
}

static struct ir_value convolve(struct resnet *r, const struct convolution *c, struct ir_value x,
                                struct ir_value kernel) {
  struct generate_builder *b = &r->b;
  struct generate_shape from = generate_shape_of(b, x), window = generate_shape_of(b, kernel), to = {.rank = 4};
  int64_t padding[4] = {c->low, c->high, c->low, c->high};
  to.dims[c->output.outer] = from.dims[c->input.outer];
  to.dims[c->output.inner] = window.dims[c->kernel.inner];
  for (int i = 0; i < 2; i++) {
    to.dims[c->output.spatial[i]] = positions(c, from.dims[c->input.spatial[i]], window.dims[c->kernel.spatial[i]]);
  }
  if (b->m->out_of_memory) {
    return none;
  }
  generate_attribute(b, "dimension_numbers", convolution_numbers(r, c));
  generate_attribute(b, "padding", padding_attr(r, padding, 2));
  if (c->stride > 1) {
    set_list(r, "window_strides", AXES(c->stride, c->stride));
  }
  if (c->lhs_dilation > 1) {
    set_list(r, "lhs_dilation", AXES(c->lhs_dilation, c->lhs_dilation));
  }
  if (c->rhs_dilation > 1) {
    set_list(r, "rhs_dilation", AXES(c->rhs_dilation, c->rhs_dilation));
  }
  generate_attribute(b, "feature_group_count", number(r, 1));
  generate_attribute(b, "batch_group_count", number(r, 1));
  return emit(r, IR_OP_CONVOLUTION, (struct ir_value[]){x, kernel}, 2, to, NULL, 0);
}

/* [b, 0, 1, f], [0, 1, i, o] */
static const struct placement images = {0, 3, {1, 2}}, kernels = {2, 3, {0, 1}};

struct ir_value resnet_convolution(struct resnet *r, const struct resnet_unit *u, struct ir_value x,
                                   struct ir_value kernel) {
  struct convolution c = {.input = images,
                          .kernel = kernels,
                          .output = images,
                          .stride = u->stride,
                          .low = u->low,
                          .high = u->high,
                          .lhs_dilation = 1,
                          .rhs_dilation = 1};
  return convolve(r, &c, x, kernel);
}

/* Positions between the first and the last output, in steps of the input. */
static int64_t output_reach(const struct resnet_unit *u) {
  return (int64_t)(u->out_side - 1) * u->stride + 1;
}

/* The output's gradient slides over the input: images are summed over, input channels stand in their place. */
struct ir_value resnet_kernel_gradient(struct resnet *r, const struct resnet_unit *u, struct ir_value x,
                                       struct ir_value dy) {
  struct convolution c = {.input = {3, 0, {1, 2}},
                          .kernel = {0, 3, {1, 2}},
                          .output = {2, 3, {0, 1}},
                          .stride = 1,
                          .low = u->low,
                          .high = output_reach(u) - u->in_side + u->size - u->low - 1,
                          .lhs_dilation = 1,
                          .rhs_dilation = u->stride};
  return convolve(r, &c, x, dy);
}

/* The reversed kernel slides over the output's gradient, with a stride's holes in it. */
struct ir_value resnet_input_gradient(struct resnet *r, const struct resnet_unit *u, struct ir_value dy,
                                      struct ir_value reversed) {
  int64_t low = (int64_t)u->size - u->low - 1;
  struct convolution c = {.input = images,
                          .kernel = {3, 2, {0, 1}},
                          .output = images,
                          .stride = 1,
                          .low = low,
                          .high = (int64_t)u->in_side + u->size - 1 - output_reach(u) - low,
                          .lhs_dilation = u->stride,
                          .rhs_dilation = 1};
  return convolve(r, &c, dy, reversed);
}

/* ---- pooling ---- */

enum { POOL_SIZE = 3, POOL_STRIDE = 2 };

void resnet_same_padding(int64_t in, int64_t size, int64_t stride, int64_t *low, int64_t *high) {
  int64_t out = (in + stride - 1) / stride, whole = (out - 1) * stride + size - in;
  whole = whole > 0 ? whole : 0;
  *low = whole / 2;
  *high = whole - *low;
}

struct ir_value resnet_max_pool(struct resnet *r, struct ir_value x) {
  struct generate_builder *b = &r->b;
  enum dtype dtype = generate_dtype_of(b, x);
  struct generate_shape shape = generate_shape_of(b, x);
  int64_t padding[8] = {0};
  struct ir_value lowest = generate_constant(b, dtype, -(double)INFINITY);
  lowest = generate_broadcast(b, lowest, SCALAR, SCALAR);
  for (uint32_t i = 1; i < 3; i++) {
    resnet_same_padding(shape.dims[i], POOL_SIZE, POOL_STRIDE, &padding[2 * i], &padding[2 * i + 1]);
    shape.dims[i] = (shape.dims[i] + POOL_STRIDE - 1) / POOL_STRIDE;
  }
  if (b->m->out_of_memory) {
    return none;
  }
  struct ir_region body = generate_scalar_body(b, IR_OP_MAXIMUM, dtype);
  set_list(r, "window_dimensions", SHAPE(1, POOL_SIZE, POOL_SIZE, 1));
  set_list(r, "window_strides", SHAPE(1, POOL_STRIDE, POOL_STRIDE, 1));
  set_list(r, "base_dilations", SHAPE(1, 1, 1, 1));
  set_list(r, "window_dilations", SHAPE(1, 1, 1, 1));
  generate_attribute(b, "padding", padding_attr(r, padding, 4));
  return emit(r, IR_OP_REDUCE_WINDOW, (struct ir_value[]){x, lowest}, 2, shape, &body, 1);
}

/* The first of equal values is the largest. */
static struct ir_region select_body(struct resnet *r, enum dtype dtype) {
  struct ir_block outer;
  struct ir_value a[2];
  struct ir_region region = open_body(r, (enum dtype[]){dtype, dtype}, 2, a, &outer);
  struct ir_value is_first = generate_compare(&r->b, "GE", a[0], a[1]);
  close_body(r, outer, &is_first, 1);
  return region;
}

/* The padding's part of a padded image's gradient is cut off. */
static struct ir_value unpad(struct resnet *r, struct ir_value x, struct generate_shape low,
                             struct generate_shape shape) {
  struct generate_shape limits = shape;
  for (uint32_t i = 0; i < shape.rank; i++) {
    limits.dims[i] += low.dims[i];
  }
  set_list(r, "start_indices", low);
  set_list(r, "limit_indices", limits);
  set_list(r, "strides", SHAPE(1, 1, 1, 1));
  return emit(r, IR_OP_SLICE, &x, 1, shape, NULL, 0);
}

struct ir_value resnet_max_pool_gradient(struct resnet *r, struct ir_value x, struct ir_value dy) {
  struct generate_builder *b = &r->b;
  enum dtype dtype = generate_dtype_of(b, x);
  struct generate_shape shape = generate_shape_of(b, x), low = {.rank = 4}, high = {.rank = 4};
  for (uint32_t i = 1; i < 3; i++) {
    resnet_same_padding(shape.dims[i], POOL_SIZE, POOL_STRIDE, &low.dims[i], &high.dims[i]);
  }
  struct ir_value padded = pad(r, x, generate_constant(b, dtype, -(double)INFINITY), low, high);
  struct ir_value zero = generate_constant(b, dtype, 0);
  if (b->m->out_of_memory) {
    return none;
  }
  struct ir_region bodies[2];
  bodies[0] = select_body(r, dtype);
  bodies[1] = generate_scalar_body(b, IR_OP_ADD, dtype);
  static const int64_t unpadded[8] = {0};
  set_list(r, "window_dimensions", SHAPE(1, POOL_SIZE, POOL_SIZE, 1));
  set_list(r, "window_strides", SHAPE(1, POOL_STRIDE, POOL_STRIDE, 1));
  generate_attribute(b, "padding", padding_attr(r, unpadded, 4));
  struct ir_value scattered = emit(r, IR_OP_SELECT_AND_SCATTER, (struct ir_value[]){padded, dy, zero}, 3,
                                   generate_shape_of(b, padded), bodies, 2);
  return unpad(r, scattered, low, shape);
}
