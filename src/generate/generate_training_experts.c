/* Mixture of experts. Shapes are static: each expert gets the same number of rows, token by token in turn (as with Megatron's
 * --moe-router-force-load-balancing, which benchmarks use); the router's scores weigh the chosen experts. Row t of slot j
 * goes to expert (t k + j) mod experts. */
#include "generate/generate_training_int.h"

static int64_t experts_of(const struct training *t) {
  return t->model.experts;
}

/* ---- kernels ---- */

/* [tokens, k, experts]: 1 where the slot's expert is the column, in f32. */
static struct ir_value chosen(const struct training *t, struct generate_builder *b) {
  struct generate_shape all = SHAPE(t->tokens, t->model.experts_per_token, experts_of(t));
  struct ir_value token = generate_iota(b, DTYPE_I32, all, 0), slot = generate_iota(b, DTYPE_I32, all, 1);
  struct ir_value column = generate_iota(b, DTYPE_I32, all, 2);
  token = generate_binary_scalar(b, IR_OP_MULTIPLY, token, t->model.experts_per_token);
  token = generate_binary(b, IR_OP_ADD, token, slot);
  token = generate_binary_scalar(b, IR_OP_REMAINDER, token, t->model.experts);
  return generate_convert(b, generate_compare(b, "EQ", token, column), DTYPE_F32);
}

/* scores [tokens, experts] → weights [tokens, k], a softmax over the chosen ones */
void training_router_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                            const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value mask = chosen(t, b), scores = generate_convert(b, operands[0], DTYPE_F32);
  (void)numbers;
  (void)count;
  scores = generate_reduce(b, IR_OP_ADD, generate_binary_along(b, IR_OP_MULTIPLY, mask, scores, AXES(0, 2)), 2);
  scores = generate_binary_along(b, IR_OP_SUBTRACT, scores, generate_reduce(b, IR_OP_MAXIMUM, scores, 1), AXES(0));
  scores = generate_unary(b, IR_OP_EXPONENTIAL, scores);
  results[0] = generate_binary_along(b, IR_OP_DIVIDE, scores, generate_reduce(b, IR_OP_ADD, scores, 1), AXES(0));
}

/* (dweights, weights) → dscores */
void training_router_backward_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                     const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value dy = operands[0], y = operands[1];
  (void)numbers;
  (void)count;
  struct ir_value along = generate_reduce(b, IR_OP_ADD, generate_binary(b, IR_OP_MULTIPLY, dy, y), 1);
  dy = generate_binary(b, IR_OP_MULTIPLY, y, generate_binary_along(b, IR_OP_SUBTRACT, dy, along, AXES(0)));
  dy = generate_binary_along(b, IR_OP_MULTIPLY, chosen(t, b), dy, AXES(0, 1));
  results[0] = generate_convert(b, generate_reduce(b, IR_OP_ADD, dy, 1), t->p.compute);
}

/* [tokens, k, width] → [experts, rows, width] and back */
static struct ir_value to_experts(const struct training *t, struct generate_builder *b, struct ir_value x) {
  struct generate_shape s = generate_shape_of(b, x);
  x = generate_reshape(b, x, SHAPE(s.dims[0] * s.dims[1] / experts_of(t), experts_of(t), s.dims[2]));
  return generate_transpose(b, x, AXES(1, 0, 2));
}

static struct ir_value to_tokens(const struct training *t, struct generate_builder *b, struct ir_value x) {
  int64_t k = t->model.experts_per_token, width = generate_dim(b, x, 2);
  return generate_reshape(b, generate_transpose(b, x, AXES(1, 0, 2)), SHAPE(t->tokens, k, width));
}

void training_permute_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                             const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct generate_shape s = generate_shape_of(b, operands[0]);
  (void)numbers;
  (void)count;
  results[0] = to_experts(
      t, b, generate_broadcast(b, operands[0], SHAPE(s.dims[0], t->model.experts_per_token, s.dims[1]), AXES(0, 2)));
}

void training_permute_backward_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                      const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value dy = generate_convert(b, to_tokens(t, b, operands[0]), DTYPE_F32);
  (void)numbers;
  (void)count;
  results[0] = generate_convert(b, generate_reduce(b, IR_OP_ADD, dy, 1), t->p.compute);
}

/* (rows of experts, weights) → rows of tokens */
void training_unpermute_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                               const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value y = generate_convert(b, to_tokens(t, b, operands[0]), DTYPE_F32);
  (void)numbers;
  (void)count;
  y = generate_binary_along(b, IR_OP_MULTIPLY, y, operands[1], AXES(0, 1));
  results[0] = generate_convert(b, generate_reduce(b, IR_OP_ADD, y, 1), t->p.compute);
}

/* (dy, rows of experts, weights) → drows, dweights */
void training_unpermute_backward_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                        const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value y = generate_convert(b, to_tokens(t, b, operands[1]), DTYPE_F32);
  struct ir_value dy = generate_convert(b, operands[0], DTYPE_F32);
  struct generate_shape all = generate_shape_of(b, y);
  (void)numbers;
  (void)count;
  dy = generate_broadcast(b, dy, all, AXES(0, 2));
  struct ir_value drows = generate_binary_along(b, IR_OP_MULTIPLY, dy, operands[2], AXES(0, 1));
  results[0] = to_experts(t, b, generate_convert(b, drows, t->p.compute));
  results[1] = generate_reduce(b, IR_OP_ADD, generate_binary(b, IR_OP_MULTIPLY, dy, y), 2);
}

/* ---- nodes ---- */

void training_router(struct training *t, const struct training_node *node) {
  struct ir_value x = training_input(t, node, 0), y;
  training_kernel(t, TRAINING_KERNEL_ROUTER, NULL, &x, 1, &y, 1);
  training_set(t, node, 0, y);
}

void training_router_backward(struct training *t, const struct training_node *node) {
  struct ir_value operands[2] = {training_gradient(t, node, 0), training_output(t, node, 0)}, dx;
  training_kernel(t, TRAINING_KERNEL_ROUTER_BACKWARD, NULL, operands, 2, &dx, 1);
  training_add_gradient(t, node, 0, dx);
}

void training_permute(struct training *t, const struct training_node *node) {
  struct ir_value x = training_input(t, node, 0), y;
  training_kernel(t, TRAINING_KERNEL_PERMUTE, NULL, &x, 1, &y, 1);
  training_set(t, node, 0, y);
}

void training_permute_backward(struct training *t, const struct training_node *node) {
  struct ir_value dy = training_gradient(t, node, 0), dx;
  training_kernel(t, TRAINING_KERNEL_PERMUTE_BACKWARD, NULL, &dy, 1, &dx, 1);
  training_add_gradient(t, node, 0, dx);
}

/* Rows [experts, rows, hidden] to the devices of their experts, [experts / n, n rows, hidden], or back. */
static struct ir_value send_rows(struct training *t, struct ir_value x, bool is_back) {
  struct training_exchange e = {
      .opcode = IR_OP_ALL_TO_ALL, .group = TRAINING_EXPERT, .axis = is_back ? 1 : 0, .concatenated = is_back ? 0 : 1};
  training_exchange(t, &e, &x, 1, &x);
  return x;
}

void training_dispatch(struct training *t, const struct training_node *node) {
  training_set(t, node, 0, send_rows(t, training_input(t, node, 0), false));
}

void training_dispatch_backward(struct training *t, const struct training_node *node) {
  training_add_gradient(t, node, 0, send_rows(t, training_gradient(t, node, 0), true));
}

void training_combine(struct training *t, const struct training_node *node) {
  training_set(t, node, 0, send_rows(t, training_input(t, node, 0), true));
}

void training_combine_backward(struct training *t, const struct training_node *node) {
  training_add_gradient(t, node, 0, send_rows(t, training_gradient(t, node, 0), false));
}

void training_unpermute(struct training *t, const struct training_node *node) {
  struct ir_value operands[2] = {training_input(t, node, 0), training_input(t, node, 1)}, y;
  training_kernel(t, TRAINING_KERNEL_UNPERMUTE, NULL, operands, 2, &y, 1);
  training_set(t, node, 0, y);
}

void training_unpermute_backward(struct training *t, const struct training_node *node) {
  struct ir_value operands[3] = {training_gradient(t, node, 0), training_input(t, node, 0), training_input(t, node, 1)};
  struct ir_value results[2];
  training_kernel(t, TRAINING_KERNEL_UNPERMUTE_BACKWARD, NULL, operands, 3, results, 2);
  training_add_gradient(t, node, 0, results[0]);
  training_add_gradient(t, node, 1, results[1]);
}
