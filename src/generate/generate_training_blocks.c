/* Nodes of every layer: norms, linear layers, activations, sums, and the exchanges between tensor ranks. */
#include "generate/generate_training_int.h"

/* ---- norms ---- */

void training_norm(struct training *t, const struct training_node *node) {
  struct ir_value operands[3] = {training_input(t, node, 0), training_weight(t, node, 0)}, y;
  uint32_t count = 2;
  if (training_has_weight(node, 1)) {
    operands[count++] = training_weight(t, node, 1);
  }
  bool is_layer = t->model.norm == GENERATE_LAYER_NORM;
  training_kernel(t, is_layer ? TRAINING_KERNEL_LAYER_NORM : TRAINING_KERNEL_RMS_NORM, NULL, operands, count, &y, 1);
  training_set(t, node, 0, y);
}

void training_norm_backward(struct training *t, const struct training_node *node) {
  struct ir_value operands[4] = {training_gradient(t, node, 0), training_input(t, node, 0)}, results[3];
  bool is_layer = t->model.norm == GENERATE_LAYER_NORM, has_bias = training_has_weight(node, 1);
  operands[2] = training_weight(t, node, 0);
  if (has_bias) {
    operands[3] = training_weight(t, node, 1);
  }
  training_kernel(t, is_layer ? TRAINING_KERNEL_LAYER_NORM_BACKWARD : TRAINING_KERNEL_RMS_NORM_BACKWARD, NULL, operands,
                  has_bias ? 4 : 3, results, has_bias ? 3 : 2);
  training_add_gradient(t, node, 0, results[0]);
  training_weight_gradient(t, node->weights[0] - 1, results[1]);
  if (has_bias) {
    training_weight_gradient(t, node->weights[1] - 1, results[2]);
  }
}

/* ---- linear layers ----
 * Rows [rows, in], or of experts [experts, rows, in], by a weight [(experts,) in, out]. Quantised: input 1 is the scale. */

/* Product of two quantised operands: x and y, then their scales. */
static struct ir_value scaled_product(struct training *t, struct ir_value x, uint32_t x_axis, struct ir_value y,
                                      uint32_t y_axis, uint32_t batch, struct ir_value x_scale, struct ir_value y_scale,
                                      enum dtype dtype) {
  int64_t numbers[4] = {x_axis, y_axis, batch, dtype};
  struct ir_value z;
  training_kernel(t, TRAINING_KERNEL_SCALED_PRODUCT, numbers, (struct ir_value[]){x, y, x_scale, y_scale}, 4, &z, 1);
  return z;
}

/* Forward, with the bias where there is one. */
static struct ir_value quantised_product(struct training *t, const struct training_node *node, uint32_t batch) {
  int64_t numbers[4] = {batch + 1, node->is_transposed ? batch + 1 : batch, batch, t->p.compute};
  struct ir_value operands[5] = {training_input(t, node, 0), {0}, training_input(t, node, 1)}, y;
  bool has_bias = training_has_weight(node, 1);
  training_quantised_weight(t, node->weights[0] - 1, &operands[1], &operands[3]);
  if (has_bias) {
    operands[4] = training_weight(t, node, 1);
  }
  training_kernel(t, TRAINING_KERNEL_SCALED_PRODUCT, numbers, operands, has_bias ? 5 : 4, &y, 1);
  return y;
}

void training_quantise(struct training *t, const struct training_node *node) {
  struct ir_value x = training_input(t, node, 0), results[2];
  training_kernel(t, TRAINING_KERNEL_QUANTISE, NULL, &x, 1, results, 2);
  training_set(t, node, 0, results[0]);
  training_set(t, node, 1, results[1]);
}

/* As if there had been no rounding. */
void training_quantise_backward(struct training *t, const struct training_node *node) {
  training_add_gradient(t, node, 0, training_gradient(t, node, 0));
}

static bool is_quantised(const struct training_node *node) {
  return node->input_count > 1;
}

void training_linear(struct training *t, const struct training_node *node) {
  struct ir_value x = training_input(t, node, 0), y;
  uint32_t batch = generate_shape_of(&t->b, x).rank - 2;
  uint32_t contracted = node->is_transposed ? batch + 1 : batch;
  if (is_quantised(node)) {
    y = quantised_product(t, node, batch);
  } else if (training_has_weight(node, 1)) {
    int64_t numbers[4] = {contracted};
    struct ir_value operands[3] = {x, training_weight(t, node, 0), training_weight(t, node, 1)};
    training_kernel(t, TRAINING_KERNEL_LINEAR_BIAS, numbers, operands, 3, &y, 1);
  } else {
    y = generate_dot(&t->b, x, batch + 1, training_weight(t, node, 0), contracted, batch, t->p.compute);
  }
  training_set(t, node, 0, y);
}

static void bias_gradient(struct training *t, uint32_t weight, struct ir_value dy) {
  struct ir_value sum;
  training_kernel(t, TRAINING_KERNEL_BIAS_GRADIENT, NULL, &dy, 1, &sum, 1);
  training_weight_gradient(t, weight, sum);
}

static void quantised_backward(struct training *t, const struct training_node *node, struct ir_value dy) {
  struct ir_value x = training_input(t, node, 0), weight, scale, quantised[2];
  uint32_t batch = generate_shape_of(&t->b, x).rank - 2;
  training_quantised_weight(t, node->weights[0] - 1, &weight, &scale);
  training_kernel(t, TRAINING_KERNEL_QUANTISE, NULL, &dy, 1, quantised, 2);
  training_add_gradient(
      t, node, 0,
      scaled_product(t, quantised[0], batch + 1, weight, batch + 1, batch, quantised[1], scale, t->p.compute));
  training_weight_gradient(t, node->weights[0] - 1,
                           scaled_product(t, x, batch, quantised[0], batch, batch, training_input(t, node, 1),
                                          quantised[1], t->p.gradients));
}

void training_linear_backward(struct training *t, const struct training_node *node) {
  struct ir_value dy = training_gradient(t, node, 0);
  if (is_quantised(node)) {
    quantised_backward(t, node, dy);
  } else {
    struct ir_value x = training_input(t, node, 0), weight = training_weight(t, node, 0);
    uint32_t batch = generate_shape_of(&t->b, x).rank - 2;
    struct ir_value dx =
        generate_dot(&t->b, dy, batch + 1, weight, node->is_transposed ? batch : batch + 1, batch, t->p.compute);
    training_add_gradient(t, node, 0, dx);
    training_weight_product(t, node->weights[0] - 1, node->is_transposed ? dy : x, node->is_transposed ? x : dy);
  }
  if (training_has_weight(node, 1)) {
    bias_gradient(t, node->weights[1] - 1, dy);
  }
}

/* ---- activations and sums ---- */

static enum training_kernel activation_kernel(const struct training *t, bool has_bias) {
  return t->model.gated_ffn ? TRAINING_KERNEL_GATED_ACTIVATION
         : has_bias         ? TRAINING_KERNEL_BIAS_ACTIVATION
                            : TRAINING_KERNEL_ACTIVATION;
}

void training_activation(struct training *t, const struct training_node *node) {
  struct ir_value operands[2] = {training_input(t, node, 0)}, y;
  bool has_bias = training_has_weight(node, 0);
  if (has_bias) {
    operands[1] = training_weight(t, node, 0);
  }
  training_kernel(t, activation_kernel(t, has_bias), NULL, operands, has_bias ? 2 : 1, &y, 1);
  training_set(t, node, 0, y);
}

void training_activation_backward(struct training *t, const struct training_node *node) {
  struct ir_value operands[3] = {training_gradient(t, node, 0), training_input(t, node, 0)}, dx;
  bool has_bias = training_has_weight(node, 0);
  if (has_bias) {
    operands[2] = training_weight(t, node, 0);
  }
  /* the backward kernel follows the forward one in the table */
  training_kernel(t, (enum training_kernel)(activation_kernel(t, has_bias) + 1), NULL, operands, has_bias ? 3 : 2, &dx,
                  1);
  training_add_gradient(t, node, 0, dx);
  if (has_bias) {
    bias_gradient(t, node->weights[0] - 1, dx);
  }
}

/* Which of the chunk's nodes it is: draws of different nodes differ. */
static int64_t number_of(const struct training *t, const struct training_node *node) {
  return (int64_t)t->slots.data[node->outputs[0]].producer;
}

void training_dropout(struct training *t, const struct training_node *node) {
  struct ir_value operands[2] = {training_input(t, node, 0), training_input(t, node, 1)}, results[2];
  int64_t numbers[4] = {number_of(t, node)};
  training_kernel(t, TRAINING_KERNEL_DROPOUT, numbers, operands, 2, results, 2);
  training_set(t, node, 0, results[0]);
  training_set(t, node, 1, results[1]);
}

void training_dropout_backward(struct training *t, const struct training_node *node) {
  struct ir_value operands[2] = {training_gradient(t, node, 0), training_output(t, node, 1)}, dx;
  training_kernel(t, TRAINING_KERNEL_DROPOUT_BACKWARD, NULL, operands, 2, &dx, 1);
  training_add_gradient(t, node, 0, dx);
}

/* The residual stream, a branch, the seed where there is dropout, and the bias of the branch's last linear layer. */
void training_residual(struct training *t, const struct training_node *node) {
  struct ir_value operands[4], results[2];
  int64_t numbers[4] = {number_of(t, node)};
  bool drops = node->input_count > 2;
  uint32_t count = 0;
  for (; count < node->input_count; count++) {
    operands[count] = training_input(t, node, count);
  }
  if (training_has_weight(node, 0)) {
    operands[count++] = training_weight(t, node, 0);
  }
  training_kernel(t, drops ? TRAINING_KERNEL_RESIDUAL_DROPOUT : TRAINING_KERNEL_RESIDUAL, drops ? numbers : NULL,
                  operands, count, results, drops ? 2 : 1);
  training_set(t, node, 0, results[0]);
  if (drops) {
    training_set(t, node, 1, results[1]);
  }
}

void training_residual_backward(struct training *t, const struct training_node *node) {
  struct ir_value dy = training_gradient(t, node, 0);
  training_add_gradient(t, node, 0, dy);
  if (node->input_count > 2) {
    struct ir_value operands[2] = {dy, training_output(t, node, 1)};
    training_kernel(t, TRAINING_KERNEL_DROPOUT_BACKWARD, NULL, operands, 2, &dy, 1);
  }
  training_add_gradient(t, node, 1, dy);
  if (training_has_weight(node, 0)) {
    bias_gradient(t, node->weights[0] - 1, dy);
  }
}

void training_add(struct training *t, const struct training_node *node) {
  struct ir_value x = training_input(t, node, 0), y = training_input(t, node, 1);
  training_set(t, node, 0, generate_binary(&t->b, IR_OP_ADD, x, y));
}

void training_add_backward(struct training *t, const struct training_node *node) {
  struct ir_value dy = training_gradient(t, node, 0);
  training_add_gradient(t, node, 0, dy);
  training_add_gradient(t, node, 1, dy);
}

/* ---- between tensor ranks ---- */

/* The exchange of a gradient, beside which products that wait are done. */
static struct ir_value exchange_gradient(struct training *t, enum ir_opcode opcode, struct ir_value x) {
  struct training_exchange e = {.opcode = opcode, .group = TRAINING_TENSOR, .sum = IR_OP_ADD};
  if (t->p.overlap_tensor && t->p.tensor > 1) {
    struct ir_value future = training_exchange_start(t, &e, &x, 1);
    training_flush(t);
    training_exchange_done(t, future, 1, &x);
  } else {
    training_exchange(t, &e, &x, 1, &x);
  }
  return x;
}

void training_tensor_copy(struct training *t, const struct training_node *node) {
  training_set(t, node, 0, training_input(t, node, 0));
}

void training_tensor_copy_backward(struct training *t, const struct training_node *node) {
  training_add_gradient(t, node, 0, exchange_gradient(t, IR_OP_ALL_REDUCE, training_gradient(t, node, 0)));
}

void training_tensor_sum(struct training *t, const struct training_node *node) {
  training_set(t, node, 0, training_all_reduce(t, TRAINING_TENSOR, training_input(t, node, 0), IR_OP_ADD));
}

void training_tensor_sum_backward(struct training *t, const struct training_node *node) {
  training_add_gradient(t, node, 0, training_gradient(t, node, 0));
}

void training_sequence_gather(struct training *t, const struct training_node *node) {
  training_set(t, node, 0, training_all_gather(t, TRAINING_TENSOR, training_input(t, node, 0), 0));
}

void training_sequence_gather_backward(struct training *t, const struct training_node *node) {
  training_add_gradient(t, node, 0, exchange_gradient(t, IR_OP_REDUCE_SCATTER, training_gradient(t, node, 0)));
}

void training_sequence_scatter(struct training *t, const struct training_node *node) {
  training_set(t, node, 0, training_reduce_scatter(t, TRAINING_TENSOR, training_input(t, node, 0), 0));
}

void training_sequence_scatter_backward(struct training *t, const struct training_node *node) {
  training_add_gradient(t, node, 0, exchange_gradient(t, IR_OP_ALL_GATHER, training_gradient(t, node, 0)));
}

/* ---- between stages ----
 * Tensor ranks have the same rows: each sends a part, and all gather the parts (Narayanan et al. 2021, arXiv:2104.04473,
 * section 4.1). */

static struct ir_value own_part(struct training *t, struct ir_value x) {
  int64_t count = generate_dim(&t->b, x, 0) / t->p.tensor;
  struct ir_value rank = training_group_rank(t, TRAINING_TENSOR);
  struct ir_value start = generate_binary_scalar(&t->b, IR_OP_MULTIPLY, rank, (double)count);
  return training_dynamic_slice(&t->b, x, start, 0, count);
}

void training_receive(struct training *t, const struct training_node *node) {
  training_set(t, node, 0, training_all_gather(t, TRAINING_TENSOR, training_input(t, node, 0), 0));
}

void training_receive_backward(struct training *t, const struct training_node *node) {
  training_add_gradient(t, node, 0, own_part(t, training_gradient(t, node, 0)));
}

void training_send(struct training *t, const struct training_node *node) {
  training_set(t, node, 0, own_part(t, training_input(t, node, 0)));
}

void training_send_backward(struct training *t, const struct training_node *node) {
  struct ir_value dy = training_all_gather(t, TRAINING_TENSOR, training_gradient(t, node, 0), 0);
  training_add_gradient(t, node, 0, dy);
}
