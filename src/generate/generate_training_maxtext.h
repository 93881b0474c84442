/* A Llama-style step as MaxText 2025 and XLA's partitioner make it, operation by operation: plain attention, parameters sharded
 * over all devices, "minimal with context" rematerialisation, AdamW with bf16 state. Used by generate_training*.c only.
 *
 * Path: _maxtext (forward, loss) → _maxtext_backward (layers backward, products of weights) → _maxtext_update (optimizer,
 * norms) over _maxtext_ops. Shapes: x [batch, length, model]; heads [batch, length, heads, size]. */
#ifndef RIDGELINE_GENERATE_GENERATE_TRAINING_MAXTEXT_H
#define RIDGELINE_GENERATE_GENERATE_TRAINING_MAXTEXT_H

#include "generate/generate_training_int.h"

/* Weights of a layer in the order of the arguments. */
enum maxtext_weight {
  MAXTEXT_GATE,
  MAXTEXT_UP,
  MAXTEXT_DOWN,
  MAXTEXT_FFN_NORM,
  MAXTEXT_ATTENTION_NORM,
  MAXTEXT_KEY,
  MAXTEXT_OUT,
  MAXTEXT_QUERY,
  MAXTEXT_VALUE,
  MAXTEXT_LAYER_WEIGHTS
};

struct maxtext_constant {
  enum dtype dtype;
  double value;
  struct ir_value result;
};

struct maxtext_spread {
  struct ir_value scalar;
  struct generate_shape shape;
  struct ir_value result;
};

/* What the forward pass of a layer leaves to the backward pass. */
struct maxtext_saved {
  struct ir_value key, query, value, attended, gate, up, x;
};

/* Statistics of a norm: x in f32, mean square [batch, length, 1], its root, the root over all of x. */
struct maxtext_norm {
  struct ir_value x, mean, root, roots;
};

/* What the backward pass of a layer leaves to the products of its weights. */
struct maxtext_products {
  struct maxtext_norm ffn, attention; /* norms of the layer */
  struct ir_value ffn_scale, attention_scale; /* weights of the norms over all of x */
  struct ir_value dgate, dup, silu, up, dout, dffn; /* feed-forward; dout: of the layer's output */
  struct ir_value dnorm, dkey, dquery, dvalue, contexts, denominators, dsum; /* attention; dsum: of the sum after it */
};

/* Per weight: the gradient, and its square's sum before and after the exchange. */
struct maxtext_gradient {
  struct ir_value value, sum, term;
};

struct maxtext {
  struct training t;
  int64_t layers, batch, length, model, heads, size, ffn, vocabulary, devices;
  uint32_t weight_count, weights, first, second, count_argument, tokens; /* first arguments */
  VEC(struct maxtext_constant) constants;
  VEC(struct maxtext_spread) spreads;
  struct ir_value one_hot, causal, mask_yes, mask_no, mask_limit, scales, cosines, sines, ones;
  struct ir_value least, ones4, zeros4, zeros5; /* made on first use */
  struct ir_value inverse_model, epsilon, minus_half, twice_inverse;
  struct maxtext_saved *saved; /* by layer */
  struct maxtext_products *products;
  struct maxtext_gradient *gradients; /* by weight */
  struct ir_value final_x, logits_weight, final_norm, shifted, sums, hot_targets, dlogits, normed, spread_zero;
  struct ir_value total, rate, device_start; /* sum of squares; learning rate; first column of this device */
};

/* ---- operations; constants of one value are one ---- */
struct ir_value maxtext_constant(struct maxtext *m, enum dtype dtype, double value);
/* A scalar over a shape. */
struct ir_value maxtext_fill(struct maxtext *m, struct ir_value scalar, struct generate_shape shape);
/* The same, one for equal scalars and shapes. */
struct ir_value maxtext_fill_once(struct maxtext *m, struct ir_value scalar, struct generate_shape shape);
struct ir_value maxtext_copy(struct maxtext *m, struct ir_value x);
struct ir_value maxtext_round(struct maxtext *m, struct ir_value x);
struct ir_value maxtext_reduce(struct maxtext *m, enum ir_opcode opcode, struct ir_value x, struct ir_value start,
                               struct generate_shape axes);
/* Contracted axes of both, then batch axes of both; the result is batch axes, the rest of x, the rest of y. */
struct ir_value maxtext_dot(struct maxtext *m, struct ir_value x, struct ir_value y, struct generate_shape x_contracted,
                            struct generate_shape y_contracted, struct generate_shape x_batch,
                            struct generate_shape y_batch);
struct ir_value maxtext_binary(struct maxtext *m, enum ir_opcode opcode, struct ir_value x, struct ir_value y);
struct ir_value maxtext_select(struct maxtext *m, struct ir_value predicate, struct ir_value x, struct ir_value y);
struct ir_value maxtext_slice_at(struct maxtext *m, struct ir_value x, const struct ir_value *starts,
                                 struct generate_shape sizes);

enum { MAXTEXT_DEVICES = 4096, MAXTEXT_BARRIER = 24 };
/* A constant [count] of i32. */
struct ir_value maxtext_list(struct maxtext *m, const int32_t *values, uint32_t count);
/* Each value becomes what it is after all of them. */
void maxtext_barrier(struct maxtext *m, struct ir_value *values, uint32_t count);

static inline struct ir_value maxtext_add(struct maxtext *m, struct ir_value x, struct ir_value y) {
  return maxtext_binary(m, IR_OP_ADD, x, y);
}
static inline struct ir_value maxtext_subtract(struct maxtext *m, struct ir_value x, struct ir_value y) {
  return maxtext_binary(m, IR_OP_SUBTRACT, x, y);
}
static inline struct ir_value maxtext_multiply(struct maxtext *m, struct ir_value x, struct ir_value y) {
  return maxtext_binary(m, IR_OP_MULTIPLY, x, y);
}
static inline struct ir_value maxtext_divide(struct maxtext *m, struct ir_value x, struct ir_value y) {
  return maxtext_binary(m, IR_OP_DIVIDE, x, y);
}

/* ---- parts ---- */
struct ir_value maxtext_weight_value(const struct maxtext *m, int64_t layer, enum maxtext_weight weight);
struct ir_value maxtext_gathered(struct maxtext *m, struct ir_value weight, uint32_t axis);
uint32_t maxtext_weight_number(const struct maxtext *m, int64_t layer, enum maxtext_weight weight);
struct maxtext_norm maxtext_normalise(struct maxtext *m, struct ir_value x, bool keeps);
/* 1 / (1 + exp(-x)), in its parts. */
struct ir_value maxtext_logistic(struct maxtext *m, struct ir_value x);
struct ir_value maxtext_mask(struct maxtext *m, struct ir_value segments);
/* Exponentials of scores [batch, heads, length, keys]; scores and maxima [batch, heads, 1, length, keys] may be NULL. */
struct ir_value maxtext_exponentials(struct maxtext *m, struct ir_value keys, struct ir_value queries,
                                     struct ir_value mask, struct ir_value *scores, struct ir_value *most);
/* Sums of exponentials [batch, length, heads, 1]. */
struct ir_value maxtext_denominators(struct maxtext *m, struct ir_value exponentials);
void maxtext_rotary_tables(struct maxtext *m, struct ir_value positions, bool is_first);
struct ir_value maxtext_rotate(struct maxtext *m, struct ir_value x, bool is_back);

bool maxtext_takes(const struct generate_model *model, const struct generate_training *p);
/* Adds @main to the module of t. */
void maxtext_build(struct training *t);
/* From the gradient of the logits on; `final`: the last norm, `normalised`: what it made before its weight. */
void maxtext_backward(struct maxtext *m, struct maxtext_norm final, struct ir_value normalised);
void maxtext_update(struct maxtext *m);

#endif
