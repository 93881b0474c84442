/* Attention of training steps. The projected rows [rows, queries | keys | values] stay packed, as the linear layer made them:
 * kernels read the part that they need. With context parallelism keys and values of all positions come apart. */
#include <math.h>

#include "generate/generate_training_heads.h"

/* ---- layouts ---- */

/* [rows, queries or contexts] → [sequences, kv, group, positions, size] */
static struct ir_value open_queries(struct generate_builder *b, struct training_heads h, struct ir_value x) {
  int64_t positions = generate_dim(b, x, 0) / h.sequences, size = generate_dim(b, x, 1) / (h.kv * h.group);
  x = generate_reshape(b, x, SHAPE(positions, h.sequences, h.kv, h.group, size));
  return generate_transpose(b, x, AXES(1, 2, 3, 0, 4));
}

static struct ir_value close_queries(struct generate_builder *b, struct training_heads h, struct ir_value x) {
  int64_t positions = generate_dim(b, x, 3), size = generate_dim(b, x, 4);
  x = generate_transpose(b, x, AXES(3, 0, 1, 2, 4));
  return generate_reshape(b, x, SHAPE(positions * h.sequences, h.kv * h.group * size));
}

/* [rows, keys or values] → [sequences, kv, positions, size] */
static struct ir_value open_keys(struct generate_builder *b, struct training_heads h, struct ir_value x) {
  int64_t positions = generate_dim(b, x, 0) / h.sequences, size = generate_dim(b, x, 1) / h.kv;
  return generate_transpose(b, generate_reshape(b, x, SHAPE(positions, h.sequences, h.kv, size)), AXES(1, 2, 0, 3));
}

static struct ir_value close_keys(struct generate_builder *b, struct training_heads h, struct ir_value x) {
  int64_t positions = generate_dim(b, x, 2), size = generate_dim(b, x, 3);
  return generate_reshape(b, generate_transpose(b, x, AXES(2, 0, 1, 3)), SHAPE(positions * h.sequences, h.kv * size));
}

/* Queries of packed rows; keys and values of packed rows, or of rows that have these alone. */
static struct ir_value queries_of(struct generate_builder *b, struct training_heads h, struct ir_value x) {
  return open_queries(b, h, generate_slice(b, x, 1, 0, h.queries));
}
static struct ir_value keys_of(struct generate_builder *b, struct training_heads h, struct ir_value x) {
  int64_t end = generate_dim(b, x, 1);
  return open_keys(b, h, generate_slice(b, x, 1, end - h.keys - h.values, end - h.values));
}
static struct ir_value values_of(struct generate_builder *b, struct training_heads h, struct ir_value x) {
  int64_t end = generate_dim(b, x, 1);
  return open_keys(b, h, generate_slice(b, x, 1, end - h.values, end));
}

/* ---- scores ---- */

static double scale_of(const struct training *t) {
  return 1 / sqrt(t->model.query_scale > 0 ? t->model.query_scale : (double)t->model.head_size);
}

/* Scores [sequences, kv, group, positions, keys], scaled and capped, of those that are not seen -inf. `sites`: positions of
 * rows and keys, NULL = 0, 1, 2, ...; numbers[1]: the window. `slope`: of the cap, may be NULL. */
static struct ir_value mask_scores(const struct training *t, struct generate_builder *b, struct ir_value scores,
                                   const struct ir_value *sites, int64_t window, struct ir_value *slope) {
  int64_t rows = generate_dim(b, scores, 3), keys = generate_dim(b, scores, 4);
  struct ir_value own = sites != NULL ? generate_broadcast(b, sites[0], SHAPE(rows, keys), AXES(0))
                                      : generate_iota(b, DTYPE_I32, SHAPE(rows, keys), 0);
  struct ir_value other = sites != NULL ? generate_broadcast(b, sites[1], SHAPE(rows, keys), AXES(1))
                                        : generate_iota(b, DTYPE_I32, SHAPE(rows, keys), 1);
  struct ir_value seen = generate_compare(b, "LE", other, own);
  if (window > 0 && window < (int64_t)t->p.sequence) {
    struct ir_value before = generate_binary_scalar(b, IR_OP_SUBTRACT, own, (double)window);
    seen = generate_binary(b, IR_OP_AND, seen, generate_compare(b, "GT", other, before));
  }
  scores = generate_binary_scalar(b, IR_OP_MULTIPLY, generate_convert(b, scores, DTYPE_F32), scale_of(t));
  if (t->model.attention_cap > 0) {
    struct ir_value y = generate_binary_scalar(b, IR_OP_DIVIDE, scores, t->model.attention_cap);
    y = generate_unary(b, IR_OP_TANH, y);
    scores = generate_binary_scalar(b, IR_OP_MULTIPLY, y, t->model.attention_cap);
    if (slope != NULL) {
      y = generate_binary_scalar(b, IR_OP_SUBTRACT, generate_binary(b, IR_OP_MULTIPLY, y, y), 1);
      *slope = generate_unary(b, IR_OP_NEGATE, y);
    }
  }
  return generate_select(b, seen, AXES(3, 4), scores, -(double)INFINITY);
}

/* y over the axes of x but the last. */
static struct ir_value along_rows(struct generate_builder *b, enum ir_opcode opcode, struct ir_value x,
                                  struct ir_value y) {
  return generate_binary_along(b, opcode, x, y, training_leading_axes(b, x));
}

/* ---- flash: (packed[, keys and values][, positions, key positions]) → contexts, log of the sum of exponentials ----
 * numbers: causal half, window, whether keys come apart, whether positions are given */

struct flash {
  struct training_heads h;
  struct ir_value queries, keys, values, scores, slope;
};

/* Operands from packed rows on. */
static struct flash open_flash(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                               const struct ir_value *operands) {
  struct flash f = {.h = training_heads_of(t)};
  struct ir_value source = operands[numbers[2] != 0];
  f.queries = queries_of(b, f.h, operands[0]);
  f.keys = keys_of(b, f.h, source);
  f.values = values_of(b, f.h, source);
  f.scores = generate_dot(b, f.queries, 4, f.keys, 3, 2, DTYPE_F32);
  const struct ir_value *sites = numbers[3] != 0 ? operands + 1 + (numbers[2] != 0) : NULL;
  f.scores = mask_scores(t, b, f.scores, sites, numbers[1], &f.slope);
  return f;
}

void training_flash_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                           const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct flash f = open_flash(t, b, numbers, operands);
  (void)count;
  struct ir_value most = generate_reduce(b, IR_OP_MAXIMUM, f.scores, 4);
  struct ir_value shares = generate_unary(b, IR_OP_EXPONENTIAL, along_rows(b, IR_OP_SUBTRACT, f.scores, most));
  struct ir_value sum = generate_reduce(b, IR_OP_ADD, shares, 4);
  struct ir_value context = generate_dot(b, generate_convert(b, shares, t->p.compute), 4, f.values, 2, 2, DTYPE_F32);
  context = generate_convert(b, along_rows(b, IR_OP_DIVIDE, context, sum), t->p.compute);
  results[0] = close_queries(b, f.h, context);
  results[1] = generate_binary(b, IR_OP_ADD, generate_unary(b, IR_OP_LOG, sum), most);
}

/* (dcontext, context, log sum, operands of the forward kernel) → dpacked, or dqueries and dkeys | dvalues */
void training_flash_backward_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                    const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct flash f = open_flash(t, b, numbers, operands + 3);
  (void)count;
  struct ir_value dcontext = open_queries(b, f.h, operands[0]), context = open_queries(b, f.h, operands[1]);
  struct ir_value shares = generate_unary(b, IR_OP_EXPONENTIAL, along_rows(b, IR_OP_SUBTRACT, f.scores, operands[2]));
  struct ir_value along = generate_convert(b, generate_binary(b, IR_OP_MULTIPLY, dcontext, context), DTYPE_F32);
  along = generate_reduce(b, IR_OP_ADD, along, 4);
  struct ir_value dshares = generate_dot(b, dcontext, 4, f.values, 3, 2, DTYPE_F32);
  struct ir_value dscores = generate_binary(b, IR_OP_MULTIPLY, shares, along_rows(b, IR_OP_SUBTRACT, dshares, along));
  dscores = f.slope.id != 0 ? generate_binary(b, IR_OP_MULTIPLY, dscores, f.slope) : dscores;
  dscores = generate_convert(b, generate_binary_scalar(b, IR_OP_MULTIPLY, dscores, scale_of(t)), t->p.compute);
  shares = generate_convert(b, shares, t->p.compute);
  struct ir_value dqueries = generate_dot(b, dscores, 4, f.keys, 2, 2, t->p.compute);
  /* the queries of a group meet the same keys: their rows are summed with the positions */
  struct generate_shape s = generate_shape_of(b, dscores);
  struct generate_shape flat = SHAPE(s.dims[0], s.dims[1], s.dims[2] * s.dims[3], s.dims[4]);
  struct generate_shape query_rows = SHAPE(s.dims[0], s.dims[1], s.dims[2] * s.dims[3], f.h.size);
  struct generate_shape context_rows = SHAPE(s.dims[0], s.dims[1], s.dims[2] * s.dims[3], f.h.value_size);
  dscores = generate_reshape(b, dscores, flat);
  shares = generate_reshape(b, shares, flat);
  struct ir_value dkeys = generate_dot(b, dscores, 2, generate_reshape(b, f.queries, query_rows), 2, 2, t->p.compute);
  struct ir_value dvalues = generate_dot(b, shares, 2, generate_reshape(b, dcontext, context_rows), 2, 2, t->p.compute);
  dkeys = close_keys(b, f.h, dkeys);
  dkeys = generate_concatenate(b, dkeys, close_keys(b, f.h, dvalues), 1);
  dqueries = close_queries(b, f.h, dqueries);
  if (numbers[2] == 0) {
    results[0] = generate_concatenate(b, dqueries, dkeys, 1);
  } else {
    results[0] = dqueries;
    results[1] = dkeys;
  }
}

/* ---- scores in memory ---- */

/* (packed[, keys and values]) → scores */
void training_scores_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                            const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct training_heads h = training_heads_of(t);
  struct ir_value queries = queries_of(b, h, operands[0]), keys = keys_of(b, h, operands[count - 1]);
  (void)numbers;
  results[0] = generate_dot(b, queries, 4, keys, 3, 2, t->p.compute);
}

/* (dscores, keys' source) → dqueries */
void training_scores_queries_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                    const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct training_heads h = training_heads_of(t);
  (void)numbers;
  (void)count;
  results[0] = close_queries(b, h, generate_dot(b, operands[0], 4, keys_of(b, h, operands[1]), 2, 2, t->p.compute));
}

/* x^T y of [sequences, kv, group, positions, keys] and [.., positions, size]: [rows of keys, keys] */
static struct ir_value to_keys(const struct training *t, struct generate_builder *b, struct ir_value x,
                               struct ir_value y) {
  struct generate_shape s = generate_shape_of(b, x);
  struct training_heads h = training_heads_of(t);
  x = generate_reshape(b, x, SHAPE(s.dims[0], s.dims[1], s.dims[2] * s.dims[3], s.dims[4]));
  y = generate_reshape(b, y, SHAPE(s.dims[0], s.dims[1], s.dims[2] * s.dims[3], generate_dim(b, y, 4)));
  return close_keys(b, h, generate_dot(b, x, 2, y, 2, 2, t->p.compute));
}

/* (dscores, packed) → dkeys */
void training_scores_keys_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                 const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)numbers;
  (void)count;
  results[0] = to_keys(t, b, operands[0], queries_of(b, training_heads_of(t), operands[1]));
}

/* (shares, values' source) → contexts */
void training_context_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                             const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct training_heads h = training_heads_of(t);
  (void)numbers;
  (void)count;
  results[0] = close_queries(b, h, generate_dot(b, operands[0], 4, values_of(b, h, operands[1]), 2, 2, t->p.compute));
}

/* (dcontext, values' source) → dshares */
void training_context_shares_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                    const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct training_heads h = training_heads_of(t);
  struct ir_value dcontext = open_queries(b, h, operands[0]);
  (void)numbers;
  (void)count;
  results[0] = generate_dot(b, dcontext, 4, values_of(b, h, operands[1]), 3, 2, t->p.compute);
}

/* (shares, dcontext) → dvalues */
void training_context_values_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                    const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)numbers;
  (void)count;
  results[0] = to_keys(t, b, operands[0], open_queries(b, training_heads_of(t), operands[1]));
}

/* (scores[, positions, key positions]) → shares; numbers[1]: the window */
void training_softmax_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                             const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value x = mask_scores(t, b, operands[0], count > 1 ? operands + 1 : NULL, numbers[1], NULL);
  x = generate_unary(b, IR_OP_EXPONENTIAL, along_rows(b, IR_OP_SUBTRACT, x, generate_reduce(b, IR_OP_MAXIMUM, x, 4)));
  x = along_rows(b, IR_OP_DIVIDE, x, generate_reduce(b, IR_OP_ADD, x, 4));
  results[0] = generate_convert(b, x, t->p.compute);
}

/* (dshares, shares[, scores when they are capped]) → dscores */
void training_softmax_backward_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                      const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value dy = generate_convert(b, operands[0], DTYPE_F32), y = generate_convert(b, operands[1], DTYPE_F32);
  (void)numbers;
  (void)count;
  struct ir_value along = generate_reduce(b, IR_OP_ADD, generate_binary(b, IR_OP_MULTIPLY, dy, y), 4);
  y = generate_binary(b, IR_OP_MULTIPLY, y, along_rows(b, IR_OP_SUBTRACT, dy, along));
  results[0] = generate_convert(b, generate_binary_scalar(b, IR_OP_MULTIPLY, y, scale_of(t)), t->p.compute);
}

/* ---- nodes ---- */

/* Keys and values of the positions of all context ranks, rank after rank. */
void training_gather_keys(struct training *t, const struct training_node *node) {
  struct training_heads h = training_heads_of(t);
  struct ir_value x = generate_slice(&t->b, training_input(t, node, 0), 1, h.queries, h.queries + h.keys + h.values);
  training_set(t, node, 0, training_all_gather(t, TRAINING_CONTEXT, x, 0));
}

void training_gather_keys_backward(struct training *t, const struct training_node *node) {
  struct training_heads h = training_heads_of(t);
  struct ir_value dy = training_reduce_scatter(t, TRAINING_CONTEXT, training_gradient(t, node, 0), 0);
  struct ir_value zeros = training_zeros(&t->b, t->p.compute, SHAPE(t->tokens, h.queries));
  training_add_gradient(t, node, 0, generate_concatenate(&t->b, zeros, dy, 1));
}

/* Adds gradients of queries and of keys | values to the inputs that these came from. */
static void give_back(struct training *t, const struct training_node *node, struct ir_value dqueries,
                      struct ir_value dkeys, bool is_apart) {
  struct training_heads h = training_heads_of(t);
  if (!is_apart) {
    training_add_gradient(t, node, 0, generate_concatenate(&t->b, dqueries, dkeys, 1));
    return;
  }
  struct ir_value zeros = training_zeros(&t->b, t->p.compute, SHAPE(t->tokens, h.keys + h.values));
  training_add_gradient(t, node, 0, generate_concatenate(&t->b, dqueries, zeros, 1));
  training_add_gradient(t, node, 1, dkeys);
}

/* The window of every other layer, from the first. */
static int64_t window_of(const struct training *t, const struct training_node *node) {
  return node->unit % 2 == 1 ? t->model.window : 0;
}

/* Inputs of attention: packed rows, with context parallelism also keys and values apart and two lists of positions. */
static uint32_t flash_operands(const struct training *t, const struct training_node *node, struct ir_value *operands,
                               int64_t *numbers) {
  bool is_apart = node->input_count > 1;
  numbers[0] = t->p.is_causal_half;
  numbers[1] = window_of(t, node);
  numbers[2] = numbers[3] = is_apart;
  for (uint32_t i = 0; i < node->input_count; i++) {
    operands[i] = training_input(t, node, i);
  }
  return node->input_count;
}

void training_flash(struct training *t, const struct training_node *node) {
  struct ir_value operands[TRAINING_INPUTS], results[2];
  int64_t numbers[4];
  uint32_t count = flash_operands(t, node, operands, numbers);
  training_kernel(t, TRAINING_KERNEL_FLASH, numbers, operands, count, results, 2);
  training_set(t, node, 0, results[0]);
  training_set(t, node, 1, results[1]);
}

void training_flash_backward(struct training *t, const struct training_node *node) {
  struct ir_value operands[3 + TRAINING_INPUTS] = {training_gradient(t, node, 0), training_output(t, node, 0),
                                                   training_output(t, node, 1)};
  struct ir_value results[2];
  int64_t numbers[4];
  uint32_t count = 3 + flash_operands(t, node, operands + 3, numbers);
  training_kernel(t, TRAINING_KERNEL_FLASH_BACKWARD, numbers, operands, count, results, numbers[2] != 0 ? 2 : 1);
  if (numbers[2] != 0) {
    give_back(t, node, results[0], results[1], true);
  } else {
    /* queries, keys and values are views of one product: its gradient is theirs, joined */
    training_add_gradient(t, node, 0, training_eager_copy(t, results[0], 1));
  }
}

void training_scores(struct training *t, const struct training_node *node) {
  struct ir_value operands[2], y;
  for (uint32_t i = 0; i < node->input_count; i++) {
    operands[i] = training_input(t, node, i);
  }
  training_kernel(t, TRAINING_KERNEL_SCORES, NULL, operands, node->input_count, &y, 1);
  training_set(t, node, 0, y);
}

void training_scores_backward(struct training *t, const struct training_node *node) {
  struct ir_value dy = training_gradient(t, node, 0), packed = training_input(t, node, 0), dqueries, dkeys;
  struct ir_value source = training_input(t, node, node->input_count - 1);
  training_kernel(t, TRAINING_KERNEL_SCORES_QUERIES, NULL, (struct ir_value[]){dy, source}, 2, &dqueries, 1);
  training_kernel(t, TRAINING_KERNEL_SCORES_KEYS, NULL, (struct ir_value[]){dy, packed}, 2, &dkeys, 1);
  dkeys = generate_concatenate(&t->b, dkeys, t->dvalues, 1);
  give_back(t, node, dqueries, dkeys, node->input_count > 1);
}

/* Inputs: scores, then positions where they are given. */
void training_softmax(struct training *t, const struct training_node *node) {
  struct ir_value operands[TRAINING_INPUTS], y;
  int64_t numbers[4] = {0, window_of(t, node)};
  for (uint32_t i = 0; i < node->input_count; i++) {
    operands[i] = training_input(t, node, i);
  }
  training_kernel(t, TRAINING_KERNEL_FUSED_SOFTMAX, numbers, operands, node->input_count, &y, 1);
  training_set(t, node, 0, y);
}

void training_softmax_backward(struct training *t, const struct training_node *node) {
  struct ir_value operands[2] = {training_gradient(t, node, 0), training_output(t, node, 0)}, dx;
  training_kernel(t, TRAINING_KERNEL_FUSED_SOFTMAX_BACKWARD, NULL, operands, 2, &dx, 1);
  training_add_gradient(t, node, 0, dx);
}

/* Inputs: shares, packed rows, keys and values where they come apart. */
void training_context(struct training *t, const struct training_node *node) {
  struct ir_value operands[2] = {training_input(t, node, 0), training_input(t, node, node->input_count - 1)}, y;
  training_kernel(t, TRAINING_KERNEL_CONTEXT, NULL, operands, 2, &y, 1);
  training_set(t, node, 0, y);
}

/* The gradient of the values waits for that of the keys (training_scores_backward): one write of both. */
void training_context_backward(struct training *t, const struct training_node *node) {
  struct ir_value dy = training_gradient(t, node, 0), source = training_input(t, node, node->input_count - 1), dshares;
  struct ir_value shares = training_input(t, node, 0);
  training_kernel(t, TRAINING_KERNEL_CONTEXT_SHARES, NULL, (struct ir_value[]){dy, source}, 2, &dshares, 1);
  training_kernel(t, TRAINING_KERNEL_CONTEXT_VALUES, NULL, (struct ir_value[]){shares, dy}, 2, &t->dvalues, 1);
  training_add_gradient(t, node, 0, dshares);
}
