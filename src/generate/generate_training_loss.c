/* Both ends of a decoder: the embedding, cut over the vocabulary when there are tensor ranks, and the cross entropy. */
#include <math.h>

#include "generate/generate_training_int.h"

/* ---- embedding: (table, tokens[, first row of this rank]) → rows; tokens of other ranks give zeros ---- */

/* Indices within [0, rows) and where they were inside. */
static struct ir_value local_indices(struct generate_builder *b, struct ir_value tokens, struct ir_value start,
                                     int64_t rows, struct ir_value *inside) {
  struct generate_shape shape = generate_shape_of(b, tokens);
  struct ir_value zero = training_zeros(b, DTYPE_I32, shape);
  struct ir_value last = generate_broadcast(b, generate_constant(b, DTYPE_I32, (double)(rows - 1)), shape, SCALAR);
  struct ir_value local = generate_binary_along(b, IR_OP_SUBTRACT, tokens, start, SCALAR);
  struct ir_value low = generate_compare(b, "GE", local, zero), high = generate_compare(b, "LE", local, last);
  *inside = generate_binary(b, IR_OP_AND, low, high);
  return generate_binary(b, IR_OP_MINIMUM, generate_binary(b, IR_OP_MAXIMUM, local, zero), last);
}

void training_embedding_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                               const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value tokens = operands[1], inside = {0}, x;
  (void)numbers;
  if (count > 2) {
    tokens = local_indices(b, tokens, operands[2], generate_dim(b, operands[0], 0), &inside);
  }
  x = generate_rows(b, operands[0], tokens);
  x = inside.id != 0 ? generate_select(b, inside, AXES(0), x, 0) : x;
  results[0] = t->model.scaled_embedding ? generate_binary_scalar(b, IR_OP_MULTIPLY, x, sqrt(t->model.hidden)) : x;
}

/* (dy, tokens[, first row]) → dtable; numbers[0]: its rows */
void training_embedding_backward_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                        const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value tokens = operands[1], inside = {0}, dy = generate_convert(b, operands[0], t->p.gradients);
  if (count > 2) {
    tokens = local_indices(b, tokens, operands[2], numbers[0], &inside);
    dy = generate_select(b, inside, AXES(0), dy, 0);
  }
  dy = t->model.scaled_embedding ? generate_binary_scalar(b, IR_OP_MULTIPLY, dy, sqrt(t->model.hidden)) : dy;
  results[0] = training_scatter_add(b, tokens, dy, numbers[0]);
}

/* The first of this rank's `count` rows of the vocabulary. */
static struct ir_value first_row(struct training *t, int64_t count) {
  return generate_binary_scalar(&t->b, IR_OP_MULTIPLY, training_group_rank(t, TRAINING_TENSOR), (double)count);
}

void training_embed(struct training *t, const struct training_node *node) {
  struct ir_value table = training_weight(t, node, 0), tokens = training_input(t, node, 0), y;
  struct ir_value operands[3] = {table, tokens};
  uint32_t count = 2;
  if (t->p.tensor > 1) {
    operands[count++] = first_row(t, generate_dim(&t->b, table, 0));
  }
  training_kernel(t, TRAINING_KERNEL_EMBEDDING, NULL, operands, count, &y, 1);
  training_set(t, node, 0, y);
}

void training_embed_backward(struct training *t, const struct training_node *node) {
  int64_t numbers[4] = {t->weights.data[node->weights[0] - 1].shape.dims[0]};
  struct ir_value operands[3] = {training_gradient(t, node, 0), training_input(t, node, 0)}, dtable;
  uint32_t count = 2;
  if (t->p.tensor > 1) {
    operands[count++] = first_row(t, numbers[0]);
  }
  training_kernel(t, TRAINING_KERNEL_EMBEDDING_BACKWARD, numbers, operands, count, &dtable, 1);
  training_weight_gradient(t, node->weights[0] - 1, dtable);
}

/* ---- learned positions ---- */

/* Positions of this rank's rows, one per position. */
static struct ir_value own_positions(struct training *t, const struct training_node *node) {
  struct ir_value positions = training_input(t, node, 1);
  int64_t count = t->rows / t->p.micro_batch;
  if (count < t->positions) {
    struct ir_value start =
        generate_binary_scalar(&t->b, IR_OP_MULTIPLY, training_group_rank(t, TRAINING_TENSOR), (double)count);
    positions = training_dynamic_slice(&t->b, positions, start, 0, count);
  }
  if (t->model.position_offset > 0) {
    positions = generate_binary_scalar(&t->b, IR_OP_ADD, positions, t->model.position_offset);
  }
  return positions;
}

void training_positions(struct training *t, const struct training_node *node) {
  struct generate_builder *b = &t->b;
  struct ir_value x = training_input(t, node, 0), rows, positions = own_positions(t, node);
  training_kernel(t, TRAINING_KERNEL_EMBEDDING, NULL, (struct ir_value[]){training_weight(t, node, 0), positions}, 2,
                  &rows, 1);
  int64_t count = generate_dim(b, rows, 0), hidden = generate_dim(b, rows, 1);
  x = generate_reshape(b, x, SHAPE(count, t->p.micro_batch, hidden));
  x = generate_binary_along(b, IR_OP_ADD, x, rows, AXES(0, 2));
  training_set(t, node, 0, generate_reshape(b, x, SHAPE(t->rows, hidden)));
}

void training_positions_backward(struct training *t, const struct training_node *node) {
  struct generate_builder *b = &t->b;
  struct ir_value dy = training_gradient(t, node, 0), dtable, positions = own_positions(t, node);
  int64_t hidden = generate_dim(b, dy, 1), numbers[4] = {t->weights.data[node->weights[0] - 1].shape.dims[0]};
  training_add_gradient(t, node, 0, dy);
  dy = generate_convert(b, generate_reshape(b, dy, SHAPE(t->rows / t->p.micro_batch, t->p.micro_batch, hidden)),
                        DTYPE_F32);
  dy = generate_reduce(b, IR_OP_ADD, dy, 1);
  training_kernel(t, TRAINING_KERNEL_EMBEDDING_BACKWARD, numbers, (struct ir_value[]){dy, positions}, 2, &dtable, 1);
  training_weight_gradient(t, node->weights[0] - 1, dtable);
}

/* ---- capped logits: cap tanh(x / cap), slope 1 - (y / cap)^2 ---- */

void training_cap(struct training *t, const struct training_node *node) {
  struct ir_value x = generate_binary_scalar(&t->b, IR_OP_DIVIDE, training_input(t, node, 0), t->model.logit_cap);
  x = generate_unary(&t->b, IR_OP_TANH, x);
  training_set(t, node, 0, generate_binary_scalar(&t->b, IR_OP_MULTIPLY, x, t->model.logit_cap));
}

void training_cap_backward(struct training *t, const struct training_node *node) {
  struct generate_builder *b = &t->b;
  struct ir_value y = generate_binary_scalar(b, IR_OP_DIVIDE, training_output(t, node, 0), t->model.logit_cap);
  y = generate_binary_scalar(b, IR_OP_SUBTRACT, generate_binary(b, IR_OP_MULTIPLY, y, y), 1);
  y = generate_binary(b, IR_OP_MULTIPLY, training_gradient(t, node, 0), generate_unary(b, IR_OP_NEGATE, y));
  training_add_gradient(t, node, 0, y);
}

/* ---- cross entropy ----
 * One rank has the whole vocabulary, or each has a part: then the maximum, and after it the sum of exponentials and the
 * target's logit, are exchanged between the parts. */

static struct ir_value along(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x, struct ir_value y) {
  return generate_binary_along(b, opcode, x, y, AXES(0));
}

/* 1 where the column is the row's target, in f32. */
static struct ir_value one_hot(struct generate_builder *b, struct ir_value x, const struct ir_value *targets,
                               uint32_t count) {
  struct generate_shape shape = generate_shape_of(b, x);
  struct ir_value columns = generate_iota(b, DTYPE_I32, shape, 1), local = targets[0];
  local = count > 1 ? generate_binary_along(b, IR_OP_SUBTRACT, local, targets[1], SCALAR) : local;
  local = generate_broadcast(b, local, shape, AXES(0));
  return generate_convert(b, generate_compare(b, "EQ", columns, local), DTYPE_F32);
}

/* logits → maximum of each row */
void training_loss_maximum_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                  const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)t;
  (void)numbers;
  (void)count;
  results[0] = generate_reduce(b, IR_OP_MAXIMUM, generate_convert(b, operands[0], DTYPE_F32), 1);
}

/* (logits, maximum, targets[, first column]) → sum of exponentials, the target's logit */
void training_loss_sum_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                              const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value x = along(b, IR_OP_SUBTRACT, generate_convert(b, operands[0], DTYPE_F32), operands[1]);
  (void)t;
  (void)numbers;
  struct ir_value target = generate_binary(b, IR_OP_MULTIPLY, x, one_hot(b, x, operands + 2, count - 2));
  results[0] = generate_reduce(b, IR_OP_ADD, generate_unary(b, IR_OP_EXPONENTIAL, x), 1);
  results[1] = generate_reduce(b, IR_OP_ADD, target, 1);
}

static double share_of_token(const struct training *t) {
  return 1 / ((double)t->p.global_batch * t->p.sequence);
}

/* (logits, maximum, sum, the target's logit) → this rank's part of the mean loss, probabilities */
void training_loss_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                          const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)numbers;
  (void)count;
  struct ir_value x = along(b, IR_OP_SUBTRACT, generate_convert(b, operands[0], DTYPE_F32), operands[1]);
  results[1] = along(b, IR_OP_DIVIDE, generate_unary(b, IR_OP_EXPONENTIAL, x), operands[2]);
  struct ir_value loss = generate_unary(b, IR_OP_LOG, operands[2]);
  loss = generate_reduce(b, IR_OP_ADD, generate_binary(b, IR_OP_SUBTRACT, loss, operands[3]), 0);
  results[0] = generate_binary_scalar(b, IR_OP_MULTIPLY, loss, share_of_token(t));
}

/* (probabilities, targets[, first column]) → dlogits */
void training_loss_backward_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                   const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)numbers;
  struct ir_value x = one_hot(b, operands[0], operands + 1, count - 1);
  x = generate_binary(b, IR_OP_SUBTRACT, operands[0], x);
  results[0] = generate_convert(b, generate_binary_scalar(b, IR_OP_MULTIPLY, x, share_of_token(t)), t->p.compute);
}

/* Inputs: logits, targets. Outputs: the loss, probabilities. */
void training_loss(struct training *t, const struct training_node *node) {
  struct ir_value logits = training_input(t, node, 0), most, results[2];
  struct ir_value sums[5] = {logits, {0}, training_input(t, node, 1)}, parts[2];
  uint32_t count = 3;
  training_kernel(t, TRAINING_KERNEL_CROSS_ENTROPY_MAXIMUM, NULL, &logits, 1, &most, 1);
  sums[1] = most = training_all_reduce(t, TRAINING_TENSOR, most, IR_OP_MAXIMUM);
  if (t->p.tensor > 1) {
    sums[count++] = first_row(t, generate_dim(&t->b, logits, 1));
  }
  training_kernel(t, TRAINING_KERNEL_CROSS_ENTROPY_SUM, NULL, sums, count, parts, 2);
  training_exchange(t,
                    &(struct training_exchange){.opcode = IR_OP_ALL_REDUCE, .group = TRAINING_TENSOR, .sum = IR_OP_ADD},
                    parts, 2, parts);
  training_kernel(t, TRAINING_KERNEL_CROSS_ENTROPY, NULL, (struct ir_value[]){logits, most, parts[0], parts[1]}, 4,
                  results, 2);
  training_set(t, node, 0, results[0]);
  training_set(t, node, 1, results[1]);
}

void training_loss_backward(struct training *t, const struct training_node *node) {
  struct ir_value operands[3] = {training_output(t, node, 1), training_input(t, node, 1)}, dlogits;
  uint32_t count = 2;
  if (t->p.tensor > 1) {
    operands[count++] = first_row(t, generate_dim(&t->b, operands[0], 1));
  }
  training_kernel(t, TRAINING_KERNEL_CROSS_ENTROPY_BACKWARD, NULL, operands, count, &dlogits, 1);
  training_add_gradient(t, node, 0, dlogits);
}
