/* Batch normalisation in f32 over images and positions, with statistics of the images of all devices: mean of the squares less
 * square of the mean, in one exchange forward and one backward. */
#include "generate/generate_resnet_int.h"

#define ROW(channels) SHAPE(1, 1, 1, channels)
#define PLACES AXES(0, 1, 2)
#define ALL_AXES AXES(0, 1, 2, 3)

static struct ir_value multiply(struct resnet *r, struct ir_value x, struct ir_value y) {
  return generate_binary(&r->b, IR_OP_MULTIPLY, x, y);
}

/* Sum over images and positions: [channels]. */
static struct ir_value sum_places(struct resnet *r, struct ir_value x) {
  return generate_reduce_axes(&r->b, IR_OP_ADD, x, PLACES);
}

/* Over the images and positions of one device, of which `like` has as many. */
static struct ir_value mean_of(struct resnet *r, struct ir_value sum, struct ir_value like) {
  struct generate_shape shape = generate_shape_of(&r->b, like);
  double places = (double)shape.dims[0] * (double)shape.dims[1] * (double)shape.dims[2];
  return resnet_over(r, sum, resnet_whole(r, places));
}

static struct ir_value along(struct resnet *r, struct ir_value row, struct ir_value like) {
  return generate_broadcast(&r->b, row, generate_shape_of(&r->b, like), ALL_AXES);
}

/* ---- forward ---- */

/* Row 0 or 1 of [2, channels]. */
static struct ir_value statistic(struct resnet *r, struct ir_value both, int64_t row) {
  struct ir_value cut = generate_slice(&r->b, both, 0, row, row + 1);
  return generate_reshape(&r->b, cut, SHAPE(generate_dim(&r->b, both, 1)));
}

/* Mean of x and of its square over all devices: [2, channels]. */
static struct ir_value moments(struct resnet *r, struct resnet_norm *norm, struct ir_value x) {
  struct generate_builder *b = &r->b;
  struct ir_value square = multiply(r, x, x);
  norm->twice_input = resnet_times(r, resnet_number(r, RESNET_TWO), x);
  struct ir_value mean = mean_of(r, sum_places(r, x), x);
  struct ir_value square_mean = mean_of(r, sum_places(r, square), x);
  mean = generate_broadcast(b, mean, SHAPE(1, norm->channels), AXES(1));
  square_mean = generate_broadcast(b, square_mean, SHAPE(1, norm->channels), AXES(1));
  struct ir_value both = generate_concatenate(b, mean, square_mean, 0);
  return r->p.has_local_statistics ? both : resnet_share(r, resnet_all_reduce(r, both));
}

/* Not below 0, and how much of the gradient passes: all, none, or half where it is 0. */
static struct ir_value clamp_variance(struct resnet *r, struct resnet_norm *norm, struct ir_value raw) {
  struct generate_builder *b = &r->b;
  struct ir_value zero = resnet_number(r, RESNET_ZERO), one = resnet_number(r, RESNET_ONE);
  struct ir_value variance = generate_binary(b, IR_OP_MAXIMUM, resnet_splat(r, zero, raw), raw);
  struct ir_value is_raw = generate_compare(b, "EQ", raw, variance);
  struct ir_value yes = resnet_splat(r, one, raw);
  struct ir_value passes = resnet_select(r, is_raw, yes, resnet_splat(r, zero, raw));
  struct ir_value is_zero = generate_compare(b, "EQ", resnet_splat(r, zero, raw), variance);
  struct ir_value two = resnet_splat(r, resnet_number(r, RESNET_TWO), raw);
  struct ir_value ways = resnet_select(r, is_zero, two, resnet_splat(r, one, raw));
  norm->gate = generate_binary(b, IR_OP_DIVIDE, passes, ways);
  return variance;
}

static void update_statistic(struct resnet *r, uint32_t number, struct ir_value now) {
  struct resnet_statistic *s = &r->statistics.data[number];
  struct ir_value old = generate_argument_value(&r->b, s->argument);
  struct ir_value kept = resnet_times(r, resnet_number(r, RESNET_KEEP), old);
  s->updated = generate_binary(&r->b, IR_OP_ADD, kept, resnet_times(r, resnet_number(r, RESNET_TAKE), now));
}

/* (x - mean) (scale / deviation) + bias */
static struct ir_value apply(struct resnet *r, struct resnet_norm *norm, struct ir_value x, struct ir_value mean,
                             struct ir_value variance) {
  struct generate_builder *b = &r->b;
  struct generate_shape row = ROW(norm->channels);
  mean = generate_broadcast(b, mean, row, AXES(3));
  variance = generate_broadcast(b, variance, row, AXES(3));
  x = generate_convert(b, x, DTYPE_F32);
  norm->centred = generate_binary(b, IR_OP_SUBTRACT, x, along(r, mean, x));
  variance = generate_binary(b, IR_OP_ADD, variance, resnet_splat(r, resnet_number(r, RESNET_EPSILON), variance));
  norm->root = generate_unary(b, IR_OP_RSQRT, variance);
  struct ir_value slope = generate_binary(b, IR_OP_DIVIDE, norm->root, variance);
  norm->slope = resnet_times(r, resnet_number(r, RESNET_MINUS_HALF), slope);
  struct ir_value scale = generate_argument_value(b, r->parameters.data[norm->scale].weight);
  norm->scale_row = generate_reshape(b, scale, row);
  norm->scaled_root = multiply(r, norm->root, norm->scale_row);
  struct ir_value y = multiply(r, norm->centred, along(r, norm->scaled_root, x));
  struct ir_value bias = generate_argument_value(b, r->parameters.data[norm->bias].weight);
  return generate_binary(b, IR_OP_ADD, y, along(r, generate_reshape(b, bias, row), x));
}

struct ir_value resnet_norm_forward(struct resnet *r, struct resnet_norm *norm, struct ir_value x) {
  struct generate_builder *b = &r->b;
  struct ir_value both = moments(r, norm, generate_convert(b, x, DTYPE_F32));
  struct ir_value mean = statistic(r, both, 0);
  struct ir_value square_mean = statistic(r, both, 1);
  struct ir_value mean_square = multiply(r, mean, mean);
  norm->twice_mean = resnet_times(r, resnet_number(r, RESNET_TWO), mean);
  struct ir_value variance = clamp_variance(r, norm, generate_binary(b, IR_OP_SUBTRACT, square_mean, mean_square));
  update_statistic(r, norm->mean, mean);
  update_statistic(r, norm->variance, variance);
  return generate_convert(b, apply(r, norm, x, mean, variance), r->p.compute);
}

/* ---- backward ---- */

/* Gradients of scale, bias and variance from that of the output. */
static struct ir_value parameter_gradients(struct resnet *r, const struct resnet_norm *norm, struct ir_value dy,
                                           struct ir_value *scaled) {
  struct generate_builder *b = &r->b;
  struct generate_shape row = ROW(norm->channels), flat = SHAPE(norm->channels);
  struct ir_value bias = generate_reshape(b, sum_places(r, dy), row);
  r->parameters.data[norm->bias].gradient = generate_reshape(b, bias, flat);
  struct ir_value scale = generate_reshape(b, sum_places(r, multiply(r, norm->centred, dy)), row);
  *scaled = multiply(r, dy, along(r, norm->scaled_root, dy));
  struct ir_value of_scale = multiply(r, norm->root, scale), of_root = multiply(r, scale, norm->scale_row);
  r->parameters.data[norm->scale].gradient = generate_reshape(b, of_scale, flat);
  struct ir_value variance = sum_places(r, multiply(r, of_root, norm->slope));
  return multiply(r, variance, norm->gate);
}

/* Over all devices: gradients of the mean and of the mean of squares, [2, channels]. */
static struct ir_value moment_gradients(struct resnet *r, const struct resnet_norm *norm, struct ir_value variance,
                                        struct ir_value centred_sum) {
  struct generate_builder *b = &r->b;
  struct generate_shape one_row = SHAPE(1, norm->channels);
  struct ir_value zero = resnet_number(r, RESNET_ZERO);
  struct ir_value mean = multiply(r, generate_unary(b, IR_OP_NEGATE, variance), norm->twice_mean);
  struct ir_value below = generate_broadcast(b, variance, one_row, AXES(1));
  below = resnet_pad_rows(r, below, zero, 1, 0);
  mean = generate_binary(b, IR_OP_ADD, mean, sum_places(r, centred_sum));
  struct ir_value above = generate_broadcast(b, mean, one_row, AXES(1));
  above = resnet_pad_rows(r, above, zero, 0, 1);
  struct ir_value both = generate_binary(b, IR_OP_ADD, below, above);
  return r->p.has_local_statistics ? both : resnet_all_reduce(r, resnet_share(r, both));
}

/* One row's part of the gradient of every element. */
static struct ir_value spread(struct resnet *r, struct ir_value both, int64_t row, struct ir_value like) {
  struct generate_builder *b = &r->b;
  struct ir_value cut = generate_slice(b, both, 0, row, row + 1);
  struct ir_value share = mean_of(r, generate_reduce(b, IR_OP_ADD, cut, 0), like);
  return generate_broadcast(b, share, generate_shape_of(b, like), AXES(3));
}

struct ir_value resnet_norm_backward(struct resnet *r, const struct resnet_norm *norm, struct ir_value dy) {
  struct generate_builder *b = &r->b;
  struct ir_value scaled;
  dy = generate_convert(b, dy, DTYPE_F32);
  struct ir_value variance = parameter_gradients(r, norm, dy, &scaled);
  struct ir_value sum = sum_places(r, generate_unary(b, IR_OP_NEGATE, scaled));
  sum = generate_reshape(b, sum, ROW(norm->channels));
  struct ir_value direct = generate_convert(b, scaled, r->p.compute);
  struct ir_value both = moment_gradients(r, norm, variance, sum);
  struct ir_value of_squares = multiply(r, spread(r, both, 1, dy), norm->twice_input);
  struct ir_value through = generate_binary(b, IR_OP_ADD, of_squares, spread(r, both, 0, dy));
  return generate_binary(b, IR_OP_ADD, direct, generate_convert(b, through, r->p.compute));
}
