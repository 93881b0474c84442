/* The end of a step: gradients that are still to be exchanged, their norm, the optimizer, new weights for all. */
#include <stdio.h>
#include <string.h>

#include "generate/generate_training_int.h"

/* Constants of the programs. Their values do not change what a step costs. */
static const double learning_rate = 1e-4, decay_first = 0.9, decay_second = 0.95, epsilon = 1e-8, momentum = 0.9,
                    weight_decay = 0.1, norm_limit = 1;

/* ---- kernels ---- */

/* values → the sum of all their squares, f32 */
void training_norm_squared_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                  const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value sum = {0};
  (void)t;
  (void)numbers;
  for (uint32_t i = 0; i < count; i++) {
    struct ir_value x = generate_convert(b, operands[i], DTYPE_F32);
    x = generate_binary(b, IR_OP_MULTIPLY, x, x);
    while (!b->m->out_of_memory && generate_shape_of(b, x).rank > 0) {
      x = generate_reduce(b, IR_OP_ADD, x, generate_shape_of(b, x).rank - 1);
    }
    sum = sum.id != 0 ? generate_binary(b, IR_OP_ADD, sum, x) : x;
  }
  results[0] = sum;
}

static struct ir_value scaled(struct generate_builder *b, struct ir_value x, double factor) {
  return generate_binary_scalar(b, IR_OP_MULTIPLY, x, factor);
}

/* 1 - decay^step */
static struct ir_value correction(struct generate_builder *b, double decay, struct ir_value step) {
  struct ir_value power = generate_binary(b, IR_OP_POWER, generate_constant(b, DTYPE_F32, decay), step);
  return generate_binary(b, IR_OP_SUBTRACT, generate_constant(b, DTYPE_F32, 1), power);
}

/* (gradient, weight, first, second) of each tensor, then step and factor of the gradients → weight, first, second of each,
 * and with numbers[0] the weight in the compute type: Loshchilov and Hutter 2019 */
void training_adam_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                          const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value first_left = correction(b, decay_first, operands[count - 2]);
  struct ir_value second_left = correction(b, decay_second, operands[count - 2]);
  uint32_t stride = numbers[0] != 0 ? 4 : 3;
  for (uint32_t i = 0; i + 2 < count; i += 4) {
    struct ir_value *out = results + i / 4 * stride, weight = operands[i + 1], gradient, first, second, change, root;
    gradient = generate_binary_along(b, IR_OP_MULTIPLY, generate_convert(b, operands[i], DTYPE_F32),
                                     operands[count - 1], SCALAR);
    change = scaled(b, gradient, 1 - decay_first);
    first = generate_binary(b, IR_OP_ADD, change, scaled(b, operands[i + 2], decay_first));
    second = scaled(b, generate_binary(b, IR_OP_MULTIPLY, gradient, gradient), 1 - decay_second);
    second = generate_binary(b, IR_OP_ADD, second, scaled(b, operands[i + 3], decay_second));
    root = generate_unary(b, IR_OP_SQRT, generate_binary_along(b, IR_OP_DIVIDE, second, second_left, SCALAR));
    change = generate_binary_along(b, IR_OP_DIVIDE, first, first_left, SCALAR);
    change = generate_binary(b, IR_OP_DIVIDE, change, generate_binary_scalar(b, IR_OP_ADD, root, epsilon));
    change = generate_binary(b, IR_OP_ADD, change, scaled(b, weight, weight_decay));
    out[0] = generate_binary(b, IR_OP_SUBTRACT, weight, scaled(b, change, learning_rate));
    out[1] = first;
    out[2] = second;
    if (stride == 4) {
      out[3] = generate_convert(b, out[0], t->p.compute);
    }
  }
}

/* (gradient, weight, momentum) of each tensor, then step and factor → weight, momentum of each (, weight in the compute type) */
void training_momentum_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                              const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  uint32_t stride = numbers[0] != 0 ? 3 : 2;
  for (uint32_t i = 0; i + 2 < count; i += 3) {
    struct ir_value *out = results + i / 3 * stride, gradient, speed;
    gradient = generate_binary_along(b, IR_OP_MULTIPLY, generate_convert(b, operands[i], DTYPE_F32),
                                     operands[count - 1], SCALAR);
    speed = generate_binary(b, IR_OP_ADD, scaled(b, operands[i + 2], momentum), gradient);
    out[0] = generate_binary(b, IR_OP_SUBTRACT, operands[i + 1], scaled(b, speed, learning_rate));
    out[1] = speed;
    if (stride == 3) {
      out[2] = generate_convert(b, out[0], t->p.compute);
    }
  }
}

/* ---- state ---- */

static const char *const state_names[] = {"master", "first", "second"};

/* Tensors of state per weight, the master copy first when the weight itself is not in f32. */
static uint32_t state_count(const struct training *t) {
  return t->p.optimizer == GENERATE_ADAM ? 3 : 2;
}

static bool has_master(const struct training *t) {
  return t->p.compute != DTYPE_F32;
}

void training_declare_optimizer(struct training *t) {
  for (uint32_t i = 0; i < t->weights.count; i++) {
    struct training_weight *weight = &t->weights.data[i];
    for (uint32_t k = 0; k < state_count(t); k++) {
      char name[80];
      weight->state_arguments[k] = TRAINING_NO_ARGUMENT;
      if (k > 0 || has_master(t)) {
        snprintf(name, sizeof name, "optimizer.%s.%s", state_names[k], weight->name);
        weight->state_arguments[k] = generate_declare(&t->b, DTYPE_F32, training_shard_shape(t, weight), -1, name, 0);
      }
    }
  }
  t->step_argument = generate_declare(&t->b, DTYPE_F32, SCALAR, -1, "step", 0);
}

/* ---- gradients ---- */

/* The exchange of what the passes did not exchange. */
static void finish_gradients(struct training *t) {
  bool is_done = training_is_reduced_each_pass(t) || (t->role == TRAINING_UPDATE && t->has_reduced)
                 || (t->role == TRAINING_WHOLE && t->p.overlap_gradients);
  for (uint32_t i = 0; i < t->weights.count && t->role == TRAINING_UPDATE && !t->b.m->out_of_memory; i++) {
    struct training_weight *weight = &t->weights.data[i];
    weight->gradient = generate_argument_value(&t->b, weight->gradient_argument);
  }
  for (uint32_t unit = 0; !is_done && unit <= t->layers + 1 && !t->b.m->out_of_memory; unit++) {
    training_reduce_unit(t, unit);
  }
  if (!is_done) {
    training_reduce_done(t);
  }
}

/* Weights that every tensor rank has in full, but has met with its own rows only. */
static void sum_over_tensor(struct training *t) {
  struct training_exchange e = {.opcode = IR_OP_ALL_REDUCE, .group = TRAINING_TENSOR, .sum = IR_OP_ADD};
  struct ir_value values[TRAINING_EXCHANGED];
  uint32_t list[TRAINING_EXCHANGED], count = 0;
  for (uint32_t i = 0; i < t->weights.count && !t->b.m->out_of_memory; i++) {
    if (t->weights.data[i].sums_over_tensor) {
      list[count] = i;
      values[count++] = t->weights.data[i].gradient;
    }
    if (count > 0 && (count == TRAINING_EXCHANGED || i + 1 == t->weights.count)) {
      training_exchange(t, &e, values, count, values);
      for (uint32_t k = 0; k < count; k++) {
        t->weights.data[list[k]].gradient = values[k];
      }
      count = 0;
    }
  }
}

/* Devices of the stage that have the same gradient as this one. */
static uint32_t copies_of(const struct training *t, const struct training_weight *weight) {
  uint32_t different = weight->is_cut ? t->group_size[TRAINING_TENSOR] : 1;
  different *= weight->is_expert ? t->group_size[TRAINING_EXPERT] : 1;
  different *= training_is_sharded(t, weight) ? t->group_size[training_weight_group(weight, TRAINING_SHARD)] : 1;
  return t->group_size[TRAINING_ALL] / different;
}

/* Squares of the gradients that `copies` devices have, shared between them. */
static struct ir_value squares(struct training *t, uint32_t copies, struct ir_value sum) {
  struct ir_value values[2 * TRAINING_EXCHANGED];
  uint32_t count = 0;
  for (uint32_t i = 0; i < t->weights.count && !t->b.m->out_of_memory; i++) {
    if (copies_of(t, &t->weights.data[i]) == copies) {
      values[count++] = t->weights.data[i].gradient;
    }
    if (count > 0 && (count == 2 * TRAINING_EXCHANGED || i + 1 == t->weights.count)) {
      struct ir_value part;
      training_kernel(t, TRAINING_KERNEL_NORM_SQUARED, NULL, values, count, &part, 1);
      part = copies > 1 ? scaled(&t->b, part, 1.0 / copies) : part;
      sum = sum.id != 0 ? generate_binary(&t->b, IR_OP_ADD, sum, part) : part;
      count = 0;
    }
  }
  return sum;
}

/* What gradients are multiplied with so that the norm of all of this stage's is within the limit. */
static struct ir_value clip_factor(struct training *t) {
  struct generate_builder *b = &t->b;
  struct ir_value one = generate_constant(b, DTYPE_F32, 1), sum = {0};
  if (!t->p.clip_gradients) {
    return one;
  }
  uint32_t done[TRAINING_EXCHANGED], count = 0;
  for (uint32_t i = 0; i < t->weights.count && !b->m->out_of_memory; i++) {
    uint32_t copies = copies_of(t, &t->weights.data[i]), k = 0;
    while (k < count && done[k] != copies) {
      k++;
    }
    if (k == count && count < TRAINING_EXCHANGED) {
      done[count++] = copies;
      sum = squares(t, copies, sum);
    }
  }
  sum = training_all_reduce(t, TRAINING_ALL, sum, IR_OP_ADD);
  struct ir_value norm = generate_binary_scalar(b, IR_OP_ADD, generate_unary(b, IR_OP_SQRT, sum), 1e-6);
  struct ir_value factor = generate_binary(b, IR_OP_DIVIDE, generate_constant(b, DTYPE_F32, norm_limit), norm);
  return generate_binary(b, IR_OP_MINIMUM, factor, one);
}

/* ---- the optimizer ---- */

static void alias(struct training *t, uint32_t argument) {
  if (argument != TRAINING_NO_ARGUMENT && !t->b.m->out_of_memory) {
    t->b.arguments.data[argument].alias = (int32_t)t->b.results.count;
  }
}

static void return_state(struct training *t, uint32_t i, uint32_t k, struct ir_value value) {
  struct training_weight *weight = &t->weights.data[i];
  char name[80];
  snprintf(name, sizeof name, "optimizer.%s.%s", state_names[k], weight->name);
  alias(t, weight->state_arguments[k]);
  generate_result(&t->b, value, name, 0);
}

/* The shard of a weight that is its own master. */
static struct ir_value own_master(struct training *t, struct training_weight *weight) {
  struct ir_value value = generate_argument_value(&t->b, weight->argument);
  bool is_whole = t->p.sharded != GENERATE_SHARD_PARAMETERS;
  return is_whole && training_is_sharded(t, weight) ? training_own_shard(t, weight, value) : value;
}

/* Weights of one unit, up to as many as an exchange takes; their new shards in the compute type. */
static void update_some(struct training *t, const uint32_t *list, uint32_t count, struct ir_value factor,
                        struct ir_value *shards) {
  struct ir_value operands[2 * TRAINING_EXCHANGED], results[2 * TRAINING_EXCHANGED];
  uint32_t states = state_count(t), at = 0, stride = states + has_master(t);
  int64_t numbers[4] = {has_master(t)};
  for (uint32_t i = 0; i < count; i++) {
    struct training_weight *weight = &t->weights.data[list[i]];
    operands[at++] = weight->gradient;
    for (uint32_t k = 0; k < states; k++) {
      operands[at++] =
          k > 0 || has_master(t) ? generate_argument_value(&t->b, weight->state_arguments[k]) : own_master(t, weight);
    }
  }
  operands[at++] = generate_argument_value(&t->b, t->step_argument);
  operands[at++] = factor;
  training_kernel(t, t->p.optimizer == GENERATE_ADAM ? TRAINING_KERNEL_ADAM : TRAINING_KERNEL_MOMENTUM, numbers,
                  operands, at, results, count * stride);
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = has_master(t) ? 0 : 1; k < states; k++) {
      return_state(t, list[i], k, results[i * stride + k]);
    }
    shards[i] = results[i * stride + (has_master(t) ? states : 0)];
  }
}

/* New weights become results; those whose copies are whole are gathered first. */
static void return_weights(struct training *t, const uint32_t *list, uint32_t count, struct ir_value *shards) {
  bool gathers = t->p.sharded == GENERATE_SHARD_OPTIMIZER || t->p.sharded == GENERATE_SHARD_GRADIENTS;
  for (uint32_t kind = 0; gathers && kind < TRAINING_BUNDLES; kind++) {
    struct training_exchange e = {.opcode = IR_OP_ALL_GATHER, .axis = kind / 2};
    struct ir_value values[TRAINING_EXCHANGED];
    uint32_t own[TRAINING_EXCHANGED], parts = 0;
    for (uint32_t i = 0; i < count; i++) {
      const struct training_weight *weight = &t->weights.data[list[i]];
      if (weight->shard_axis == (int32_t)(kind / 2) && weight->is_expert == (kind % 2 != 0)) {
        e.group = training_weight_group(weight, TRAINING_SHARD);
        own[parts] = i;
        values[parts++] = shards[i];
      }
    }
    if (parts > 0) {
      training_exchange(t, &e, values, parts, values);
    }
    for (uint32_t i = 0; i < parts; i++) {
      shards[own[i]] = values[i];
    }
  }
  for (uint32_t i = 0; i < count && !t->b.m->out_of_memory; i++) {
    training_return_weight(t, list[i], shards[i]);
  }
}

void training_update(struct training *t) {
  finish_gradients(t);
  sum_over_tensor(t);
  struct ir_value factor = clip_factor(t);
  enum { TOGETHER = 24 }; /* operands and results of one kernel are within 2 TRAINING_EXCHANGED */
  uint32_t list[TOGETHER], count = 0;
  struct ir_value shards[TOGETHER];
  for (uint32_t i = 0; i < t->weights.count && !t->b.m->out_of_memory; i++) {
    list[count++] = i;
    bool is_last = i + 1 == t->weights.count || t->weights.data[i + 1].unit != t->weights.data[i].unit;
    if (is_last || count == TOGETHER) {
      update_some(t, list, count, factor, shards);
      return_weights(t, list, count, shards);
      count = 0;
    }
  }
}
