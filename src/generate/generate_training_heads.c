/* Heads before attention: packed rows [rows, queries | keys | values] are turned by their positions, their heads are normalised,
 * or they are made from latent rows. */
#include "generate/generate_training_heads.h"

struct training_heads training_heads_of(const struct training *t) {
  const struct generate_model *model = &t->model;
  struct training_heads h = {.sequences = t->p.micro_batch,
                             .group = model->heads / model->kv_heads,
                             .kv = model->kv_heads / t->p.tensor,
                             .size = model->head_size,
                             .value_size = model->value_size > 0 ? model->value_size : model->head_size};
  h.queries = h.kv * h.group * h.size;
  h.keys = h.kv * h.size;
  h.values = h.kv * h.value_size;
  return h;
}

/* ---- rotary positions: (packed rows, positions) → packed rows ---- */

/* Pairs (i, i + size / 2) of [rows, heads, size] by their angle times `direction`. */
static struct ir_value rotate(const struct training *t, struct generate_builder *b, struct ir_value x,
                              struct ir_value positions, double direction) {
  int64_t rows = generate_dim(b, x, 0), heads = generate_dim(b, x, 1), half = generate_dim(b, x, 2) / 2;
  int64_t count = generate_dim(b, positions, 0);
  struct ir_value powers = generate_iota(b, DTYPE_F32, SHAPE(half), 0);
  powers = generate_binary_scalar(b, IR_OP_DIVIDE, powers, -(double)half);
  struct ir_value theta = generate_constant(b, DTYPE_F32, t->model.rope_theta);
  theta = generate_broadcast(b, theta, SHAPE(half), SCALAR);
  struct ir_value speeds = generate_binary(b, IR_OP_POWER, theta, powers);
  positions = generate_convert(b, positions, DTYPE_F32);
  positions = generate_broadcast(b, positions, SHAPE(count, half), AXES(0));
  struct ir_value angles = generate_binary_along(b, IR_OP_MULTIPLY, positions, speeds, AXES(1));
  struct generate_shape all = SHAPE(count, rows / count, heads, half);
  struct ir_value cosines = generate_broadcast(b, generate_unary(b, IR_OP_COSINE, angles), all, AXES(0, 3));
  struct ir_value sines = generate_unary(b, IR_OP_SINE, angles);
  sines = direction < 0 ? generate_unary(b, IR_OP_NEGATE, sines) : sines;
  sines = generate_broadcast(b, sines, all, AXES(0, 3));
  x = generate_reshape(b, generate_convert(b, x, DTYPE_F32), SHAPE(count, rows / count, heads, 2 * half));
  struct ir_value low = generate_slice(b, x, 3, 0, half), high = generate_slice(b, x, 3, half, 2 * half);
  struct ir_value low_cosine = generate_binary(b, IR_OP_MULTIPLY, low, cosines);
  struct ir_value high_sine = generate_binary(b, IR_OP_MULTIPLY, high, sines);
  struct ir_value high_cosine = generate_binary(b, IR_OP_MULTIPLY, high, cosines);
  struct ir_value low_sine = generate_binary(b, IR_OP_MULTIPLY, low, sines);
  struct ir_value left = generate_binary(b, IR_OP_SUBTRACT, low_cosine, high_sine);
  struct ir_value right = generate_binary(b, IR_OP_ADD, high_cosine, low_sine);
  x = generate_concatenate(b, left, right, 3);
  return generate_convert(b, generate_reshape(b, x, SHAPE(rows, heads * 2 * half)), t->p.compute);
}

static struct ir_value rotate_packed(const struct training *t, struct generate_builder *b, struct ir_value x,
                                     struct ir_value positions, double direction) {
  struct training_heads h = training_heads_of(t);
  int64_t rows = generate_dim(b, x, 0), turned = h.queries + h.keys;
  struct ir_value parts = generate_slice(b, x, 1, 0, turned),
                  values = generate_slice(b, x, 1, turned, turned + h.values);
  parts = generate_reshape(b, parts, SHAPE(rows, turned / h.size, h.size));
  return generate_concatenate(b, rotate(t, b, parts, positions, direction), values, 1);
}

void training_rotary_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                            const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)numbers;
  (void)count;
  results[0] = rotate_packed(t, b, operands[0], operands[1], 1);
}

void training_rotary_backward_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                     const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)numbers;
  (void)count;
  results[0] = rotate_packed(t, b, operands[0], operands[1], -1);
}

/* ---- norms of heads: (packed rows, weight of queries, of keys) → packed rows ---- */

/* Heads [rows, count, size] over their mean square, in f32, and the factor of each. */
static struct ir_value normalise(const struct training *t, struct generate_builder *b, struct ir_value x,
                                 struct ir_value *factor) {
  x = generate_convert(b, x, DTYPE_F32);
  struct ir_value square = generate_reduce(b, IR_OP_ADD, generate_binary(b, IR_OP_MULTIPLY, x, x), 2);
  square = generate_binary_scalar(b, IR_OP_DIVIDE, square, (double)generate_dim(b, x, 2));
  *factor = generate_unary(b, IR_OP_RSQRT, generate_binary_scalar(b, IR_OP_ADD, square, t->model.norm_epsilon));
  return generate_binary_along(b, IR_OP_MULTIPLY, x, *factor, AXES(0, 1));
}

/* Columns from `start` on as heads. */
static struct ir_value heads_at(struct generate_builder *b, struct ir_value x, int64_t start, int64_t columns,
                                int64_t size) {
  x = generate_slice(b, x, 1, start, start + columns);
  return generate_reshape(b, x, SHAPE(generate_dim(b, x, 0), columns / size, size));
}

static struct ir_value flat(struct generate_builder *b, struct ir_value x) {
  return generate_reshape(b, x, SHAPE(generate_dim(b, x, 0), generate_dim(b, x, 1) * generate_dim(b, x, 2)));
}

void training_head_norms_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct training_heads h = training_heads_of(t);
  struct ir_value parts[2], factor, values;
  (void)numbers;
  (void)count;
  for (int i = 0; i < 2; i++) {
    struct ir_value x = heads_at(b, operands[0], i == 0 ? 0 : h.queries, i == 0 ? h.queries : h.keys, h.size);
    x = normalise(t, b, x, &factor);
    x = generate_binary_along(b, IR_OP_MULTIPLY, x, generate_convert(b, operands[1 + i], DTYPE_F32), AXES(2));
    parts[i] = flat(b, generate_convert(b, x, t->p.compute));
  }
  values = generate_slice(b, operands[0], 1, h.queries + h.keys, h.queries + h.keys + h.values);
  results[0] = generate_concatenate(b, generate_concatenate(b, parts[0], parts[1], 1), values, 1);
}

/* (dy, packed rows, weight of queries, of keys) → dx, dweights */
void training_head_norms_backward_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                         const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct training_heads h = training_heads_of(t);
  struct ir_value parts[2], factor, values;
  (void)numbers;
  (void)count;
  for (int i = 0; i < 2; i++) {
    int64_t start = i == 0 ? 0 : h.queries, columns = i == 0 ? h.queries : h.keys;
    struct ir_value dy = generate_convert(b, heads_at(b, operands[0], start, columns, h.size), DTYPE_F32);
    struct ir_value x = normalise(t, b, heads_at(b, operands[1], start, columns, h.size), &factor);
    struct ir_value weight = generate_convert(b, operands[2 + i], DTYPE_F32);
    struct ir_value dweight = generate_reduce(b, IR_OP_ADD, generate_binary(b, IR_OP_MULTIPLY, dy, x), 0);
    results[1 + i] = generate_convert(b, generate_reduce(b, IR_OP_ADD, dweight, 0), t->p.gradients);
    dy = generate_binary_along(b, IR_OP_MULTIPLY, dy, weight, AXES(2));
    struct ir_value along = generate_reduce(b, IR_OP_ADD, generate_binary(b, IR_OP_MULTIPLY, dy, x), 2);
    along = generate_binary_scalar(b, IR_OP_DIVIDE, along, (double)h.size);
    dy = generate_binary(b, IR_OP_SUBTRACT, dy, generate_binary_along(b, IR_OP_MULTIPLY, x, along, AXES(0, 1)));
    dy = generate_binary_along(b, IR_OP_MULTIPLY, dy, factor, AXES(0, 1));
    parts[i] = flat(b, generate_convert(b, dy, t->p.compute));
  }
  values = generate_slice(b, operands[0], 1, h.queries + h.keys, h.queries + h.keys + h.values);
  results[0] = generate_concatenate(b, generate_concatenate(b, parts[0], parts[1], 1), values, 1);
}

/* ---- latent attention ----
 * Queries [rows, heads x (plain | turned)], keys and values [rows, heads x (plain key | value)] and latent rows whose last
 * columns are the turned part of the key, which all heads share → packed rows. */

static struct ir_value turn(const struct training *t, struct generate_builder *b, struct ir_value x,
                            struct ir_value positions, double direction) {
  struct generate_shape shape = generate_shape_of(b, x);
  return generate_reshape(b, rotate(t, b, x, positions, direction), shape);
}

void training_latent_heads_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                  const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct training_heads h = training_heads_of(t);
  int64_t rows = generate_dim(b, operands[0], 0), turned = t->model.rope_size, plain = h.size - turned;
  int64_t latent = generate_dim(b, operands[2], 1);
  (void)numbers;
  (void)count;
  struct ir_value q = generate_reshape(b, operands[0], SHAPE(rows, h.kv, h.size));
  struct ir_value q_turned = turn(t, b, generate_slice(b, q, 2, plain, h.size), operands[3], 1);
  q = generate_concatenate(b, generate_slice(b, q, 2, 0, plain), q_turned, 2);
  struct ir_value kv = generate_reshape(b, operands[1], SHAPE(rows, h.kv, plain + h.value_size));
  struct ir_value k_turned = generate_slice(b, operands[2], 1, latent - turned, latent);
  k_turned = turn(t, b, generate_reshape(b, k_turned, SHAPE(rows, 1, turned)), operands[3], 1);
  k_turned = generate_reshape(b, k_turned, SHAPE(rows, turned));
  k_turned = generate_broadcast(b, k_turned, SHAPE(rows, h.kv, turned), AXES(0, 2));
  struct ir_value k = generate_concatenate(b, generate_slice(b, kv, 2, 0, plain), k_turned, 2);
  struct ir_value v = flat(b, generate_slice(b, kv, 2, plain, plain + h.value_size));
  q = flat(b, q);
  q = generate_concatenate(b, q, flat(b, k), 1);
  results[0] = generate_concatenate(b, q, v, 1);
}

/* (dpacked, positions) → dqueries, dkeys and dvalues, gradient of the shared part of the key */
void training_latent_heads_backward_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                           const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct training_heads h = training_heads_of(t);
  int64_t rows = generate_dim(b, operands[0], 0), turned = t->model.rope_size, plain = h.size - turned;
  (void)numbers;
  (void)count;
  struct ir_value q = heads_at(b, operands[0], 0, h.queries, h.size);
  struct ir_value k = heads_at(b, operands[0], h.queries, h.keys, h.size);
  struct ir_value v = heads_at(b, operands[0], h.queries + h.keys, h.values, h.value_size);
  struct ir_value q_turned = turn(t, b, generate_slice(b, q, 2, plain, h.size), operands[1], -1);
  results[0] = flat(b, generate_concatenate(b, generate_slice(b, q, 2, 0, plain), q_turned, 2));
  results[1] = flat(b, generate_concatenate(b, generate_slice(b, k, 2, 0, plain), v, 2));
  struct ir_value k_turned = generate_convert(b, generate_slice(b, k, 2, plain, h.size), DTYPE_F32);
  k_turned = generate_reduce(b, IR_OP_ADD, k_turned, 1);
  k_turned = turn(t, b, generate_reshape(b, k_turned, SHAPE(rows, 1, turned)), operands[1], -1);
  results[2] = generate_reshape(b, k_turned, SHAPE(rows, turned));
}

/* ---- nodes ---- */

void training_rotary(struct training *t, const struct training_node *node) {
  struct ir_value operands[2] = {training_input(t, node, 0), training_input(t, node, 1)}, y;
  training_kernel(t, TRAINING_KERNEL_ROTARY, NULL, operands, 2, &y, 1);
  training_set(t, node, 0, y);
}

void training_rotary_backward(struct training *t, const struct training_node *node) {
  struct ir_value operands[2] = {training_gradient(t, node, 0), training_input(t, node, 1)}, dx;
  training_kernel(t, TRAINING_KERNEL_ROTARY_BACKWARD, NULL, operands, 2, &dx, 1);
  training_add_gradient(t, node, 0, dx);
}

void training_head_norms(struct training *t, const struct training_node *node) {
  struct ir_value operands[3] = {training_input(t, node, 0)}, y;
  operands[1] = training_weight(t, node, 0);
  operands[2] = training_weight(t, node, 1);
  training_kernel(t, TRAINING_KERNEL_HEAD_NORMS, NULL, operands, 3, &y, 1);
  training_set(t, node, 0, y);
}

void training_head_norms_backward(struct training *t, const struct training_node *node) {
  struct ir_value operands[4] = {training_gradient(t, node, 0), training_input(t, node, 0)}, results[3];
  operands[2] = training_weight(t, node, 0);
  operands[3] = training_weight(t, node, 1);
  training_kernel(t, TRAINING_KERNEL_HEAD_NORMS_BACKWARD, NULL, operands, 4, results, 3);
  training_add_gradient(t, node, 0, results[0]);
  training_weight_gradient(t, node->weights[0] - 1, results[1]);
  training_weight_gradient(t, node->weights[1] - 1, results[2]);
}

/* The latent part of rows [rows, latent | turned key]. */
void training_latent(struct training *t, const struct training_node *node) {
  training_set(t, node, 0, generate_slice(&t->b, training_input(t, node, 0), 1, 0, t->model.kv_rank));
}

/* The gradient of the turned key came before, from the heads. */
void training_latent_backward(struct training *t, const struct training_node *node) {
  struct ir_value dy = training_gradient(t, node, 0);
  training_add_gradient(t, node, 0, generate_concatenate(&t->b, dy, t->dvalues, 1));
}

/* Inputs: queries, keys with values, latent rows, positions. */
void training_latent_heads(struct training *t, const struct training_node *node) {
  struct ir_value operands[4], y;
  for (uint32_t i = 0; i < 4; i++) {
    operands[i] = training_input(t, node, i);
  }
  training_kernel(t, TRAINING_KERNEL_LATENT_HEADS, NULL, operands, 4, &y, 1);
  training_set(t, node, 0, y);
}

/* The gradient of the turned key waits for that of the latent rows: one write of both. */
void training_latent_heads_backward(struct training *t, const struct training_node *node) {
  struct ir_value operands[2] = {training_gradient(t, node, 0), training_input(t, node, 3)}, results[3];
  training_kernel(t, TRAINING_KERNEL_LATENT_HEADS_BACKWARD, NULL, operands, 2, results, 3);
  training_add_gradient(t, node, 0, results[0]);
  training_add_gradient(t, node, 1, results[1]);
  t->dvalues = results[2];
}
