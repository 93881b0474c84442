/* The end of the MaxText step: clipping by the norm of all gradients, AdamW with bf16 state, norms that are logged. */
#include <stdio.h>

#include "generate/generate_training_maxtext.h"

struct state {
  struct ir_value weight, first, second, square;
};

struct coefficients {
  struct ir_value norm, is_small, first_left, second_left; /* bf16; the corrections of the first steps */
};

/* 1 - decay^count, in bf16 */
static struct ir_value correction(struct maxtext *m, double decay, struct ir_value count) {
  struct ir_value x = maxtext_binary(m, IR_OP_POWER, maxtext_constant(m, DTYPE_F32, decay), count);
  x = maxtext_subtract(m, maxtext_constant(m, DTYPE_F32, 1), x);
  return generate_convert(&m->t.b, x, DTYPE_BF16);
}

/* A scalar over the shape of a weight, one for all weights of the shape. */
static struct ir_value over(struct maxtext *m, struct ir_value scalar, struct ir_value weight) {
  return maxtext_fill_once(m, scalar, generate_shape_of(&m->t.b, weight));
}

static struct ir_value number_over(struct maxtext *m, double value, struct ir_value weight) {
  return over(m, maxtext_constant(m, DTYPE_BF16, value), weight);
}

/* Loshchilov and Hutter 2019; the constants are those of the configuration after rounding to bf16. */
static struct state adam(struct maxtext *m, uint32_t weight, const struct coefficients *c) {
  struct generate_builder *b = &m->t.b;
  struct ir_value w = generate_argument_value(b, m->weights + weight), g = m->gradients[weight].value;
  struct ir_value first = generate_argument_value(b, m->first + weight);
  struct ir_value second = generate_argument_value(b, m->second + weight);
  struct ir_value small = over(m, c->is_small, w), clipped = maxtext_divide(m, g, over(m, c->norm, w));
  struct state s;
  g = maxtext_select(m, small, g, clipped);
  s.first = maxtext_multiply(m, g, number_over(m, 0.100098, w));
  s.first = maxtext_add(m, s.first, maxtext_multiply(m, first, number_over(m, 0.898437, w)));
  s.square = maxtext_multiply(m, g, g);
  s.second = maxtext_multiply(m, s.square, number_over(m, 0.0500488, w));
  s.second = maxtext_add(m, s.second, maxtext_multiply(m, second, number_over(m, 0.949218, w)));
  struct ir_value x = generate_unary(b, IR_OP_SQRT, maxtext_divide(m, s.second, over(m, c->second_left, w)));
  x = maxtext_add(m, x, number_over(m, 1.00117e-8, w));
  x = maxtext_divide(m, s.first, maxtext_multiply(m, over(m, c->first_left, w), x));
  x = maxtext_add(m, x, maxtext_multiply(m, w, number_over(m, 0.100098, w)));
  s.weight = maxtext_add(m, w, maxtext_multiply(m, over(m, m->rate, w), x));
  return s;
}

/* The sum of a part's squares on all devices; vectors are whole everywhere. */
static struct ir_value whole_sum(struct maxtext *m, struct ir_value sum, bool is_vector) {
  sum = is_vector ? sum : training_all_reduce(&m->t, TRAINING_DATA, sum, IR_OP_ADD);
  return generate_convert(&m->t.b, sum, DTYPE_BF16);
}

static struct ir_value sum_of(struct maxtext *m, struct ir_value x) {
  struct generate_shape axes = {.rank = generate_shape_of(&m->t.b, x).rank};
  for (uint32_t i = 0; i < axes.rank; i++) {
    axes.dims[i] = i;
  }
  x = generate_convert(&m->t.b, x, DTYPE_F32);
  return maxtext_reduce(m, IR_OP_ADD, x, maxtext_constant(m, DTYPE_F32, 0), axes);
}

enum logged { CLIPPED, WEIGHTS, RAW, LOGGED_COUNT };

/* The norm of the clipped gradients, of the new weights, or of the gradients. */
static struct ir_value logged_norm(struct maxtext *m, enum logged what, const struct state *states) {
  struct ir_value total = {0};
  for (uint32_t i = 0; i < m->weight_count && !m->t.b.m->out_of_memory; i++) {
    bool is_vector = generate_shape_of(&m->t.b, states[i].weight).rank == 1;
    struct ir_value x;
    if (what == RAW) {
      x = is_vector ? m->gradients[i].term : whole_sum(m, m->gradients[i].sum, false);
    } else {
      x = what == CLIPPED ? states[i].square : maxtext_multiply(m, states[i].weight, states[i].weight);
      x = whole_sum(m, sum_of(m, x), is_vector);
    }
    total = total.id != 0 ? maxtext_add(m, total, x) : x;
  }
  return generate_unary(&m->t.b, IR_OP_SQRT, total);
}

static struct ir_value summed_loss(struct maxtext *m) {
  struct generate_builder *b = &m->t.b;
  struct ir_value zero = maxtext_constant(m, DTYPE_F32, 0);
  struct ir_value x = generate_unary(b, IR_OP_LOG, m->sums);
  x = generate_broadcast(b, x, SHAPE(m->batch, m->length, m->vocabulary), AXES(0, 1));
  x = maxtext_multiply(m, maxtext_subtract(m, m->shifted, x), m->hot_targets);
  x = maxtext_reduce(m, IR_OP_ADD, x, zero, AXES(2));
  x = maxtext_reduce(m, IR_OP_ADD, x, zero, AXES(0, 1));
  return training_all_reduce(&m->t, TRAINING_DATA, x, IR_OP_ADD);
}

static void return_weights(struct maxtext *m, const struct state *states) {
  static const char *const prefixes[] = {"weights", "optimizer.first", "optimizer.second"};
  const uint32_t arguments[] = {m->weights, m->first, m->second};
  for (uint32_t part = 0; part < 3; part++) {
    for (uint32_t i = 0; i < m->weight_count && !m->t.b.m->out_of_memory; i++) {
      struct ir_value value = part == 0 ? states[i].weight : part == 1 ? states[i].first : states[i].second;
      char name[48];
      snprintf(name, sizeof name, "%s.%%u", prefixes[part]);
      m->t.b.arguments.data[arguments[part] + i].alias = (int32_t)m->t.b.results.count;
      generate_result(&m->t.b, value, name, i);
    }
  }
}

void maxtext_update(struct maxtext *m) {
  static const char *const names[LOGGED_COUNT] = {"clipped_norm", "weights_norm", "gradients_norm"};
  struct generate_builder *b = &m->t.b;
  struct ir_value one = maxtext_constant(m, DTYPE_BF16, 1), count;
  struct coefficients c = {.norm = generate_unary(b, IR_OP_SQRT, m->total)};
  struct state *states = arena_calloc(&b->m->arena, m->weight_count, sizeof *states);
  if (states == NULL || b->m->out_of_memory) {
    b->m->out_of_memory = true;
    return;
  }
  c.is_small = generate_compare(b, "LT", c.norm, one);
  struct ir_value loss = summed_loss(m);
  count = maxtext_add(m, generate_argument_value(b, m->count_argument), maxtext_constant(m, DTYPE_I32, 1));
  count = generate_convert(b, count, DTYPE_F32);
  c.first_left = correction(m, 0.899999, count);
  c.second_left = correction(m, 0.949999, count);
  for (uint32_t i = 0; i < m->weight_count && !b->m->out_of_memory; i++) {
    states[i] = adam(m, i, &c);
  }
  return_weights(m, states);
  generate_result(b, loss, "loss", 0);
  for (int i = 0; i < LOGGED_COUNT; i++) {
    generate_result(b, logged_norm(m, (enum logged)i, states), names[i], 0);
  }
}
