/* From features to classes, the cross entropy with its gradient, and what a step reports. */
#include <math.h>

#include "generate/generate_resnet_int.h"

/* ---- classes ---- */

/* The mean over all positions, in f32. */
static struct ir_value pool(struct resnet *r, struct ir_value features) {
  struct generate_builder *b = &r->b;
  struct generate_shape shape = generate_shape_of(b, features);
  struct ir_value sum = generate_reduce_axes(b, IR_OP_ADD, generate_convert(b, features, DTYPE_F32), AXES(1, 2));
  struct ir_value mean = resnet_over(r, sum, resnet_whole(r, (double)shape.dims[1] * (double)shape.dims[2]));
  return generate_convert(b, mean, r->p.compute);
}

static struct ir_value classify(struct resnet *r, struct ir_value features) {
  struct generate_builder *b = &r->b;
  r->pooled = pool(r, features);
  struct ir_value kernel = generate_argument_value(b, r->parameters.data[r->dense_kernel].weight);
  struct ir_value bias = generate_argument_value(b, r->parameters.data[r->dense_bias].weight);
  r->dense_weight = generate_convert(b, kernel, r->p.compute);
  bias = generate_convert(b, bias, r->p.compute);
  struct ir_value product = generate_dot(b, r->pooled, 1, r->dense_weight, 0, 0, r->p.compute);
  bias = generate_reshape(b, bias, SHAPE(1, r->model.classes));
  return generate_binary_along(b, IR_OP_ADD, product, bias, AXES(0, 1));
}

/* Gradients of the dense layer from that of its result, and of the features. */
static struct ir_value classify_backward(struct resnet *r, struct ir_value dy, struct ir_value features) {
  struct generate_builder *b = &r->b;
  struct resnet_parameter *kernel = &r->parameters.data[r->dense_kernel];
  struct generate_shape shape = generate_shape_of(b, features);
  struct ir_value bias = generate_reshape(b, generate_reduce(b, IR_OP_ADD, dy, 0), SHAPE(1, r->model.classes));
  bias = generate_reshape(b, bias, SHAPE(r->model.classes));
  r->parameters.data[r->dense_bias].gradient = generate_convert(b, bias, DTYPE_F32);
  struct ir_value product = generate_dot(b, dy, 0, r->pooled, 0, 0, r->p.compute);
  product = generate_convert(b, generate_transpose(b, product, AXES(1, 0)), DTYPE_F32);
  kernel->gradient = generate_binary(b, IR_OP_ADD, kernel->decay, product);
  struct ir_value dx = generate_dot(b, dy, 1, r->dense_weight, 1, 0, r->p.compute);
  dx = generate_convert(b, dx, DTYPE_F32);
  dx = resnet_over(r, dx, resnet_whole(r, (double)shape.dims[1] * (double)shape.dims[2]));
  return generate_convert(b, generate_broadcast(b, dx, shape, AXES(0, 3)), r->p.compute);
}

/* ---- softmax ---- */

struct log_softmax {
  struct ir_value result, exponentials, sum; /* [batch, classes], the same, [batch, 1] */
};

/* How the gradient of the maximum would pass, were it asked for. */
static void unused_gradient_of_maximum(struct resnet *r, struct ir_value x, struct ir_value peak) {
  struct generate_builder *b = &r->b;
  struct ir_value column = generate_reshape(b, peak, SHAPE(r->batch, 1));
  struct ir_value all = generate_broadcast(b, column, generate_shape_of(b, x), AXES(0, 1));
  struct ir_value is_peak = generate_compare(b, "EQ", x, all);
  (void)generate_reduce(b, IR_OP_ADD, generate_convert(b, is_peak, r->p.compute), 1);
}

static void unused_gradient_of_clamp(struct resnet *r, struct ir_value lowest, struct ir_value peak,
                                     struct ir_value clamped) {
  struct generate_builder *b = &r->b;
  struct ir_value passes = generate_compare(b, "EQ", peak, clamped);
  struct ir_value one = generate_constant(b, r->p.compute, 1);
  struct ir_value yes = resnet_splat(r, one, peak);
  struct ir_value no = resnet_splat(r, generate_constant(b, r->p.compute, 0), peak);
  struct ir_value upper = resnet_select(r, passes, yes, no);
  struct ir_value is_lowest = generate_compare(b, "EQ", resnet_splat(r, lowest, peak), clamped);
  struct ir_value two = resnet_splat(r, generate_constant(b, r->p.compute, 2), peak);
  struct ir_value ways = resnet_select(r, is_lowest, two, resnet_splat(r, one, peak));
  (void)generate_binary(b, IR_OP_DIVIDE, upper, ways);
}

static struct log_softmax log_softmax(struct resnet *r, struct ir_value x, bool has_gradient) {
  struct generate_builder *b = &r->b;
  struct generate_shape shape = generate_shape_of(b, x), column = SHAPE(r->batch, 1);
  struct log_softmax s;
  struct ir_value peak = generate_reduce(b, IR_OP_MAXIMUM, x, 1);
  if (has_gradient) {
    unused_gradient_of_maximum(r, x, peak);
  }
  struct ir_value lowest = generate_constant(b, r->p.compute, -(double)INFINITY);
  struct ir_value clamped = generate_binary(b, IR_OP_MAXIMUM, resnet_splat(r, lowest, peak), peak);
  if (has_gradient) {
    unused_gradient_of_clamp(r, lowest, peak, clamped);
  }
  clamped = generate_broadcast(b, clamped, column, AXES(0));
  struct ir_value shifted = generate_binary_along(b, IR_OP_SUBTRACT, x, clamped, AXES(0, 1));
  s.exponentials = generate_unary(b, IR_OP_EXPONENTIAL, shifted);
  struct ir_value sum = generate_reduce(b, IR_OP_ADD, generate_convert(b, s.exponentials, DTYPE_F32), 1);
  s.sum = generate_convert(b, generate_broadcast(b, sum, column, AXES(0)), r->p.compute);
  struct ir_value log = generate_broadcast(b, generate_unary(b, IR_OP_LOG, s.sum), shape, AXES(0, 1));
  s.result = generate_binary(b, IR_OP_SUBTRACT, shifted, log);
  return s;
}

static struct ir_value log_softmax_backward(struct resnet *r, const struct log_softmax *s, struct ir_value dy) {
  struct generate_builder *b = &r->b;
  struct ir_value sum = generate_reduce(b, IR_OP_ADD, generate_unary(b, IR_OP_NEGATE, dy), 1);
  sum = generate_reshape(b, sum, SHAPE(r->batch, 1));
  struct ir_value share = generate_binary(b, IR_OP_DIVIDE, sum, s->sum);
  share = generate_reduce(b, IR_OP_ADD, generate_convert(b, share, DTYPE_F32), 1);
  share = generate_broadcast(b, share, generate_shape_of(b, dy), AXES(0));
  share = generate_convert(b, share, r->p.compute);
  return generate_binary(b, IR_OP_ADD, dy, generate_binary(b, IR_OP_MULTIPLY, share, s->exponentials));
}

/* ---- loss ---- */

/* 1 at each label, else 0: f32 [batch, classes]. */
static struct ir_value one_hot(struct resnet *r) {
  struct generate_builder *b = &r->b;
  int64_t classes = r->model.classes;
  struct generate_shape shape = SHAPE(r->batch, classes);
  struct ir_value labels = generate_broadcast(b, r->label_values, SHAPE(r->batch, 1), AXES(0));
  struct ir_value indices = generate_iota(b, DTYPE_I32, SHAPE(classes), 0);
  indices = generate_reshape(b, indices, SHAPE(1, classes));
  labels = generate_broadcast(b, labels, shape, AXES(0, 1));
  indices = generate_broadcast(b, indices, shape, AXES(0, 1));
  struct ir_value is_label = generate_compare(b, "EQ", labels, indices);
  struct ir_value one = resnet_splat(r, resnet_number(r, RESNET_PLAIN_ONE), is_label);
  struct ir_value zero = resnet_splat(r, resnet_number(r, RESNET_PLAIN_ZERO), is_label);
  return resnet_same_convert(r, resnet_select(r, is_label, one, zero));
}

static struct ir_value batch_mean(struct resnet *r, struct ir_value x) {
  struct ir_value sum = generate_reduce(&r->b, IR_OP_ADD, x, 0);
  return generate_binary(&r->b, IR_OP_DIVIDE, sum, resnet_whole(r, (double)r->batch));
}

static struct ir_value cross_entropy(struct resnet *r, struct ir_value labels, struct ir_value log_shares) {
  struct generate_builder *b = &r->b;
  struct ir_value picked = generate_binary(b, IR_OP_MULTIPLY, labels, generate_convert(b, log_shares, DTYPE_F32));
  return batch_mean(r, generate_unary(b, IR_OP_NEGATE, generate_reduce(b, IR_OP_ADD, picked, 1)));
}

struct ir_value resnet_loss(struct resnet *r, struct ir_value features) {
  struct generate_builder *b = &r->b;
  r->logits = classify(r, features);
  struct ir_value labels = one_hot(r);
  struct log_softmax s = log_softmax(r, r->logits, true);
  resnet_decay(r, cross_entropy(r, labels, s.result));
  struct ir_value one = resnet_number(r, RESNET_ONE);
  struct ir_value dy = generate_binary(b, IR_OP_DIVIDE, one, resnet_whole(r, (double)r->batch));
  dy = generate_unary(b, IR_OP_NEGATE, generate_broadcast(b, dy, SHAPE(r->batch), SCALAR));
  dy = generate_broadcast(b, dy, generate_shape_of(b, labels), AXES(0));
  dy = generate_convert(b, generate_binary(b, IR_OP_MULTIPLY, labels, dy), r->p.compute);
  return classify_backward(r, log_softmax_backward(r, &s, dy), features);
}

/* ---- reports ---- */

static struct ir_value mean_over_devices(struct resnet *r, struct ir_value x) {
  return resnet_share(r, resnet_all_reduce(r, x));
}

void resnet_metrics(struct resnet *r) {
  struct generate_builder *b = &r->b;
  struct ir_value labels = one_hot(r);
  struct log_softmax s = log_softmax(r, r->logits, false);
  struct ir_value loss = cross_entropy(r, labels, s.result);
  struct ir_value is_right = generate_compare(b, "EQ", resnet_argmax(r, r->logits), r->label_values);
  is_right = generate_convert(b, generate_convert(b, is_right, DTYPE_I32), DTYPE_F32);
  r->accuracy = mean_over_devices(r, batch_mean(r, is_right));
  r->loss = mean_over_devices(r, loss);
}
