/* The learning rate, the penalty on weights, the exchange of gradients and SGD with Nesterov's momentum. */
#include "generate/generate_resnet_int.h"

static const double penalty = 0.5e-4; /* half of 1e-4, on the sum of squares */

/* ---- learning rate ---- */

/* From 0 to the full rate in the warm-up. `first`: the step it starts at. */
static struct ir_value warm_up(struct resnet *r, struct ir_value step, struct ir_value first) {
  struct generate_builder *b = &r->b;
  struct ir_value steps = resnet_number(r, RESNET_WARMUP), zero = resnet_number(r, RESNET_COUNT_ZERO);
  struct ir_value done = generate_binary(b, IR_OP_SUBTRACT, step, first);
  done = generate_convert(b, generate_binary(b, IR_OP_MAXIMUM, zero, done), DTYPE_F32);
  done = generate_binary(b, IR_OP_DIVIDE, generate_binary(b, IR_OP_MINIMUM, steps, done), steps);
  struct ir_value left = generate_binary(b, IR_OP_SUBTRACT, resnet_number(r, RESNET_PLAIN_ONE), done);
  left = generate_binary(b, IR_OP_MULTIPLY, resnet_number(r, RESNET_MINUS_RATE), left);
  return generate_binary(b, IR_OP_ADD, left, resnet_number(r, RESNET_RATE));
}

/* From the full rate to 0 along half a cosine, in the steps after the warm-up. */
static struct ir_value cosine_decay(struct resnet *r, struct ir_value step) {
  struct generate_builder *b = &r->b;
  struct ir_value one = resnet_number(r, RESNET_PLAIN_ONE), steps = resnet_number(r, RESNET_DECAY);
  struct ir_value done = generate_convert(b, step, DTYPE_F32);
  done = generate_binary(b, IR_OP_SUBTRACT, done, resnet_number(r, RESNET_WARMUP));
  done = generate_binary(b, IR_OP_MINIMUM, done, steps);
  struct ir_value angle = generate_binary(b, IR_OP_MULTIPLY, resnet_number(r, RESNET_PI), done);
  angle = generate_unary(b, IR_OP_COSINE, generate_binary(b, IR_OP_DIVIDE, angle, steps));
  struct ir_value share = generate_binary(b, IR_OP_ADD, one, angle);
  share = generate_binary(b, IR_OP_MULTIPLY, resnet_number(r, RESNET_HALF), share);
  share = generate_binary(b, IR_OP_MULTIPLY, one, generate_binary(b, IR_OP_POWER, share, one));
  share = generate_binary(b, IR_OP_ADD, share, resnet_number(r, RESNET_PLAIN_ZERO));
  return generate_binary(b, IR_OP_MULTIPLY, resnet_number(r, RESNET_RATE), share);
}

struct ir_value resnet_learning_rate(struct resnet *r, struct ir_value step, struct ir_value first) {
  struct generate_builder *b = &r->b;
  struct ir_value rising = warm_up(r, step, first);
  struct ir_value now = generate_convert(b, step, DTYPE_F32);
  struct ir_value is_rising = generate_compare(b, "LT", now, resnet_number(r, RESNET_WARMUP));
  return resnet_select(r, is_rising, rising, cosine_decay(r, step));
}

/* ---- penalty ---- */

static struct ir_value sum_all(struct resnet *r, struct ir_value x) {
  struct generate_shape all = {.rank = generate_shape_of(&r->b, x).rank};
  for (uint32_t i = 0; i < all.rank; i++) {
    all.dims[i] = i;
  }
  return generate_reduce_axes(&r->b, IR_OP_ADD, x, all);
}

void resnet_decay(struct resnet *r, struct ir_value loss) {
  struct generate_builder *b = &r->b;
  struct ir_value sum = resnet_number(r, RESNET_ZERO);
  for (size_t i = 0; i < r->parameter_order.count; i++) { /* of kernels and matrices, not of scales and biases */
    struct resnet_parameter *p = &r->parameters.data[r->parameter_order.data[i].number];
    if (p->shape.rank > 1) {
      struct ir_value weight = generate_argument_value(b, p->weight);
      struct ir_value square = generate_binary(b, IR_OP_MULTIPLY, weight, weight);
      p->decay = resnet_times(r, resnet_number(r, RESNET_TWO), weight);
      sum = generate_binary(b, IR_OP_ADD, sum, sum_all(r, square));
    }
  }
  struct ir_value factor = generate_constant(b, DTYPE_F32, penalty);
  (void)generate_binary(b, IR_OP_ADD, loss, generate_binary(b, IR_OP_MULTIPLY, factor, sum));
  factor = generate_binary(b, IR_OP_MULTIPLY, factor, resnet_number(r, RESNET_ONE));
  for (size_t i = r->parameter_order.count; i-- > 0;) {
    struct resnet_parameter *p = &r->parameters.data[r->parameter_order.data[i].number];
    if (p->shape.rank > 1) {
      p->decay = resnet_times(r, factor, p->decay);
    }
  }
}

/* ---- exchange and update ---- */

void resnet_exchange_gradients(struct resnet *r) {
  for (size_t i = 0; i < r->parameter_order.count; i++) {
    struct resnet_parameter *p = &r->parameters.data[r->parameter_order.data[i].number];
    p->gradient = resnet_all_reduce(r, p->gradient);
  }
  for (size_t i = 0; i < r->parameter_order.count; i++) {
    struct resnet_parameter *p = &r->parameters.data[r->parameter_order.data[i].number];
    p->gradient = resnet_share(r, p->gradient);
  }
}

void resnet_exchange_statistics(struct resnet *r) {
  for (size_t i = 0; i < r->statistic_order.count; i++) {
    struct resnet_statistic *s = &r->statistics.data[r->statistic_order.data[i].number];
    s->updated = resnet_all_reduce(r, s->updated);
  }
  for (size_t i = 0; i < r->statistic_order.count; i++) {
    struct resnet_statistic *s = &r->statistics.data[r->statistic_order.data[i].number];
    s->updated = resnet_share(r, s->updated);
  }
}

/* The number of updates plus one, as long as it can grow. */
static struct ir_value next_count(struct resnet *r, struct ir_value count) {
  struct generate_builder *b = &r->b;
  struct ir_value last = generate_constant(b, DTYPE_I32, INT32_MAX);
  struct ir_value can_grow = generate_compare(b, "LT", count, last);
  struct ir_value next = generate_binary(b, IR_OP_ADD, count, generate_constant(b, DTYPE_I32, 1));
  return resnet_select(r, can_grow, next, last);
}

/* gradient + 0.9 x */
static struct ir_value with_momentum(struct resnet *r, struct ir_value gradient, struct ir_value x) {
  return generate_binary(&r->b, IR_OP_ADD, gradient, resnet_times(r, resnet_number(r, RESNET_KEEP), x));
}

void resnet_update(struct resnet *r) {
  struct generate_builder *b = &r->b;
  struct ir_value count = generate_argument_value(b, r->count);
  for (size_t i = 0; i < r->parameter_order.count; i++) {
    struct resnet_parameter *p = &r->parameters.data[r->parameter_order.data[i].number];
    p->next_momentum = with_momentum(r, p->gradient, generate_argument_value(b, p->momentum));
  }
  for (size_t i = 0; i < r->parameter_order.count; i++) {
    struct resnet_parameter *p = &r->parameters.data[r->parameter_order.data[i].number];
    p->gradient = with_momentum(r, p->gradient, p->next_momentum);
  }
  struct ir_value rate = resnet_learning_rate(r, count, generate_constant(b, DTYPE_I32, 0));
  rate = generate_binary(b, IR_OP_MULTIPLY, generate_constant(b, DTYPE_F32, -1), rate);
  for (size_t i = 0; i < r->parameter_order.count; i++) {
    struct resnet_parameter *p = &r->parameters.data[r->parameter_order.data[i].number];
    p->gradient = resnet_times(r, resnet_same_convert(r, rate), p->gradient);
  }
  r->next_count = next_count(r, count);
  for (size_t i = 0; i < r->parameter_order.count; i++) {
    struct resnet_parameter *p = &r->parameters.data[r->parameter_order.data[i].number];
    p->next = generate_binary(b, IR_OP_ADD, generate_argument_value(b, p->weight), p->gradient);
  }
}
