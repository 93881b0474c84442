/* Blocks that the families share. See generate_layers.h. */
#include "generate/generate_layers.h"

#include <math.h>
#include <stdio.h>

/* ---- weights ---- */

static struct generate_weight declare_bias(struct generate_builder *b, int64_t out, const char *name, unsigned layer) {
  char text[64];
  snprintf(text, sizeof text, "%.48s_bias", name);
  return generate_declare_plain(b, SHAPE(out), text, layer);
}

struct generate_linear generate_declare_linear(struct generate_builder *b, int64_t in, int64_t out, bool bias,
                                               const char *name, unsigned layer) {
  struct generate_linear linear = {.weight = generate_declare_matrix(b, SHAPE(in, out), 0, name, layer)};
  if (bias) {
    linear.bias = declare_bias(b, out, name, layer);
  }
  return linear;
}

struct generate_linear generate_declare_norm(struct generate_step *s, const char *name, unsigned layer) {
  struct generate_linear norm = {.weight = generate_declare_plain(&s->b, SHAPE(s->model.hidden), name, layer)};
  if (s->model.norm == GENERATE_LAYER_NORM) {
    norm.bias = declare_bias(&s->b, s->model.hidden, name, layer);
  }
  return norm;
}

static void declare_ffn(struct generate_step *s, unsigned layer, struct generate_block *block) {
  const struct generate_model *model = &s->model;
  int64_t hidden = model->hidden, ffn = model->ffn, up = model->gated_ffn ? 2 * ffn : ffn;
  const char *up_name = model->gated_ffn ? "layers.%u.gate_up" : "layers.%u.up";
  if (model->experts == 0) {
    block->up = generate_declare_linear(&s->b, hidden, up, model->biases, up_name, layer);
    block->down = generate_declare_linear(&s->b, ffn, hidden, model->biases, "layers.%u.down", layer);
    return;
  }
  block->router = generate_declare_plain(&s->b, SHAPE(hidden, model->experts), "layers.%u.router", layer);
  block->up.weight = generate_declare_matrix(&s->b, SHAPE(model->experts, hidden, up), 1, up_name, layer);
  block->down.weight = generate_declare_matrix(&s->b, SHAPE(model->experts, ffn, hidden), 1, "layers.%u.down", layer);
}

void generate_declare_block(struct generate_step *s, unsigned layer, struct generate_block *block) {
  const struct generate_model *model = &s->model;
  int64_t hidden = model->hidden, queries = (int64_t)model->heads * model->head_size;
  int64_t keys = (int64_t)model->kv_heads * model->head_size;
  bool has_norms = model->family != GENERATE_DIFFUSION_TRANSFORMER;
  *block = (struct generate_block){0};
  if (has_norms) {
    block->attention_norm = generate_declare_norm(s, "layers.%u.attention_norm", layer);
  }
  block->qkv = generate_declare_linear(&s->b, hidden, queries + 2 * keys, model->biases, "layers.%u.qkv", layer);
  block->out = generate_declare_linear(&s->b, queries, hidden, model->biases, "layers.%u.out", layer);
  if (model->post_norms) {
    block->attention_post_norm = generate_declare_norm(s, "layers.%u.attention_post_norm", layer);
  }
  if (has_norms) {
    block->ffn_norm = generate_declare_norm(s, "layers.%u.ffn_norm", layer);
  }
  declare_ffn(s, layer, block);
  if (model->post_norms) {
    block->ffn_post_norm = generate_declare_norm(s, "layers.%u.ffn_post_norm", layer);
  }
  if (!has_norms) {
    block->modulation = generate_declare_linear(&s->b, hidden, 6 * hidden, true, "layers.%u.modulation", layer);
  }
}

/* ---- dense layers and norms ---- */

struct ir_value generate_dense(struct generate_builder *b, struct ir_value x, struct generate_linear linear) {
  uint32_t rank = generate_shape_of(b, x).rank;
  struct ir_value weight = generate_weight_value(b, linear.weight, 0);
  struct ir_value y = generate_dot(b, x, rank - 1, weight, 0, 0, b->activations);
  if (linear.bias.value == 0) {
    return y;
  }
  return generate_binary_along(b, IR_OP_ADD, y, generate_weight_value(b, linear.bias, 0), AXES(rank - 1));
}

/* All axes but the last. */
static struct generate_shape leading_axes(const struct generate_builder *b, struct ir_value x) {
  struct generate_shape axes = {.rank = 0};
  uint32_t rank = generate_shape_of(b, x).rank;
  for (uint32_t i = 0; i + 1 < rank; i++) {
    axes.dims[axes.rank++] = i;
  }
  return axes;
}

/* The mean over the last axis, which goes away. */
static struct ir_value mean(struct generate_builder *b, struct ir_value x) {
  uint32_t last = generate_shape_of(b, x).rank - 1;
  return generate_binary_scalar(b, IR_OP_DIVIDE, generate_reduce(b, IR_OP_ADD, x, last),
                                (double)generate_dim(b, x, last));
}

struct ir_value generate_norm(struct generate_step *s, struct ir_value x, struct generate_linear norm) {
  struct generate_builder *b = &s->b;
  uint32_t last = generate_shape_of(b, x).rank - 1;
  struct ir_value y = generate_convert(b, x, DTYPE_F32);
  if (s->model.norm == GENERATE_LAYER_NORM) {
    y = generate_binary_along(b, IR_OP_SUBTRACT, y, mean(b, y), leading_axes(b, y));
  }
  struct ir_value square = mean(b, generate_binary(b, IR_OP_MULTIPLY, y, y));
  struct ir_value root =
      generate_unary(b, IR_OP_RSQRT, generate_binary_scalar(b, IR_OP_ADD, square, s->model.norm_epsilon));
  y = generate_binary_along(b, IR_OP_MULTIPLY, y, root, leading_axes(b, y));
  if (norm.weight.value != 0) {
    struct ir_value weight = generate_convert(b, generate_weight_value(b, norm.weight, 0), DTYPE_F32);
    if (s->model.norm == GENERATE_RMS_NORM_PLUS_ONE) {
      weight = generate_binary_scalar(b, IR_OP_ADD, weight, 1);
    }
    y = generate_binary_along(b, IR_OP_MULTIPLY, y, weight, AXES(last));
  }
  if (norm.bias.value != 0) {
    struct ir_value bias = generate_convert(b, generate_weight_value(b, norm.bias, 0), DTYPE_F32);
    y = generate_binary_along(b, IR_OP_ADD, y, bias, AXES(last));
  }
  return generate_convert(b, y, b->activations);
}

/* x / 2 (1 + f(x)) */
static struct ir_value half_and(struct generate_builder *b, struct ir_value x, struct ir_value f) {
  struct ir_value half = generate_binary_scalar(b, IR_OP_MULTIPLY, x, 0.5);
  return generate_binary(b, IR_OP_MULTIPLY, half, generate_binary_scalar(b, IR_OP_ADD, f, 1));
}

struct ir_value generate_activation(struct generate_builder *b, enum generate_activation kind, struct ir_value x) {
  struct ir_value y;
  switch (kind) {
  case GENERATE_SILU:
    return generate_binary(b, IR_OP_MULTIPLY, x, generate_unary(b, IR_OP_LOGISTIC, x));
  case GENERATE_RELU:
    return generate_binary_scalar(b, IR_OP_MAXIMUM, x, 0);
  case GENERATE_GELU_TANH: /* tanh(sqrt(2 / pi) (x + 0.044715 x^3)): Hendrycks and Gimpel 2016 */
    y = generate_binary(b, IR_OP_MULTIPLY, generate_binary(b, IR_OP_MULTIPLY, x, x), x);
    y = generate_binary(b, IR_OP_ADD, x, generate_binary_scalar(b, IR_OP_MULTIPLY, y, 0.044715));
    y = generate_binary_scalar(b, IR_OP_MULTIPLY, y, sqrt(2 / acos(-1.0)));
    return half_and(b, x, generate_unary(b, IR_OP_TANH, y));
  }
  return x;
}

/* ---- attention ---- */

/* Turns the pairs (i, i + size / 2) of f32 heads [batch, (length,) ..., size] by the angle of their position. */
static struct ir_value rotate(struct generate_step *s, struct ir_value x) {
  struct generate_builder *b = &s->b;
  uint32_t last = generate_shape_of(b, x).rank - 1;
  int64_t size = generate_dim(b, x, last);
  struct generate_shape axes = s->is_decode ? AXES(last) : AXES(1, last);
  struct ir_value first = generate_slice(b, x, last, 0, size / 2);
  struct ir_value second = generate_slice(b, x, last, size / 2, size);
  struct ir_value first_cosine = generate_binary_along(b, IR_OP_MULTIPLY, first, s->cosines, axes);
  struct ir_value second_sine = generate_binary_along(b, IR_OP_MULTIPLY, second, s->sines, axes);
  struct ir_value second_cosine = generate_binary_along(b, IR_OP_MULTIPLY, second, s->cosines, axes);
  struct ir_value first_sine = generate_binary_along(b, IR_OP_MULTIPLY, first, s->sines, axes);
  struct ir_value low = generate_binary(b, IR_OP_SUBTRACT, first_cosine, second_sine);
  struct ir_value high = generate_binary(b, IR_OP_ADD, second_cosine, first_sine);
  return generate_concatenate(b, low, high, last);
}

/* Position and scale of queries; keys have scale 1. */
static struct ir_value place(struct generate_step *s, struct ir_value x, double scale) {
  struct generate_builder *b = &s->b;
  if (s->cosines.id != 0) {
    x = rotate(s, generate_convert(b, x, DTYPE_F32));
  }
  if (scale != 1) {
    x = generate_binary_scalar(b, IR_OP_MULTIPLY, x, scale);
  }
  return generate_convert(b, x, b->activations);
}

void generate_split_heads(struct generate_step *s, struct ir_value x, struct ir_value *queries, struct ir_value *keys,
                          struct ir_value *values) {
  struct generate_builder *b = &s->b;
  const struct generate_model *model = &s->model;
  int64_t kv = model->kv_heads, group = model->heads / model->kv_heads, size = model->head_size;
  uint32_t last = generate_shape_of(b, x).rank - 1;
  double scale = 1 / sqrt(model->query_scale > 0 ? model->query_scale : (double)size);
  struct ir_value q = generate_slice(b, x, last, 0, kv * group * size);
  struct ir_value k = generate_slice(b, x, last, kv * group * size, kv * (group + 1) * size);
  struct ir_value v = generate_slice(b, x, last, kv * (group + 1) * size, kv * (group + 2) * size);
  if (s->is_decode) {
    struct generate_shape one = SHAPE(s->batch, kv, 1, size);
    *queries = place(s, generate_reshape(b, q, SHAPE(s->batch, kv, group, size)), scale);
    *keys = place(s, generate_reshape(b, k, one), 1);
    *values = generate_reshape(b, v, one);
    return;
  }
  struct generate_shape all = SHAPE(s->batch, s->length, kv, size), swap = AXES(0, 2, 1, 3);
  if (group == 1) {
    *queries = generate_transpose(b, place(s, generate_reshape(b, q, all), scale), swap);
  } else {
    q = place(s, generate_reshape(b, q, SHAPE(s->batch, s->length, kv, group, size)), scale);
    *queries = generate_transpose(b, q, AXES(0, 2, 3, 1, 4));
  }
  *keys = generate_transpose(b, place(s, generate_reshape(b, k, all), 1), swap);
  *values = generate_transpose(b, generate_reshape(b, v, all), swap);
}

/* Over the last axis. */
static struct ir_value softmax(struct generate_builder *b, struct ir_value x) {
  uint32_t last = generate_shape_of(b, x).rank - 1;
  x = generate_binary_along(b, IR_OP_SUBTRACT, x, generate_reduce(b, IR_OP_MAXIMUM, x, last), leading_axes(b, x));
  x = generate_unary(b, IR_OP_EXPONENTIAL, x);
  return generate_binary_along(b, IR_OP_DIVIDE, x, generate_reduce(b, IR_OP_ADD, x, last), leading_axes(b, x));
}

struct ir_value generate_capped(struct generate_builder *b, struct ir_value x, double cap) {
  if (cap <= 0) {
    return x;
  }
  x = generate_unary(b, IR_OP_TANH, generate_binary_scalar(b, IR_OP_DIVIDE, x, cap));
  return generate_binary_scalar(b, IR_OP_MULTIPLY, x, cap);
}

struct ir_value generate_attend(struct generate_step *s, struct ir_value queries, struct ir_value keys,
                                struct ir_value values, struct ir_value mask) {
  struct generate_builder *b = &s->b;
  uint32_t last = generate_shape_of(b, queries).rank - 1;
  struct ir_value scores = generate_dot(b, queries, last, keys, 3, 2, DTYPE_F32);
  scores = generate_capped(b, scores, s->model.attention_cap);
  if (mask.id != 0) {
    struct generate_shape axes = s->is_decode ? AXES(last) : AXES(last - 1, last);
    scores = generate_select(b, mask, axes, scores, -(double)INFINITY);
  }
  struct ir_value shares = generate_convert(b, softmax(b, scores), b->activations);
  return generate_dot(b, shares, last, values, 2, 2, b->activations);
}

struct ir_value generate_merge_heads(struct generate_step *s, struct ir_value context) {
  struct generate_builder *b = &s->b;
  int64_t width = (int64_t)s->model.heads * s->model.head_size;
  if (!s->is_decode) {
    bool has_group = s->model.heads != s->model.kv_heads;
    context = generate_transpose(b, context, has_group ? AXES(0, 3, 1, 2, 4) : AXES(0, 2, 1, 3));
  }
  return generate_reshape(b, context, SHAPE(s->batch * s->length, width));
}

/* ---- feed-forward ---- */

/* act(gate) * up of [..., gate and up], or act(x). */
static struct ir_value gate(struct generate_step *s, struct ir_value x) {
  struct generate_builder *b = &s->b;
  uint32_t last = generate_shape_of(b, x).rank - 1;
  int64_t width = generate_dim(b, x, last) / 2;
  if (!s->model.gated_ffn) {
    return generate_activation(b, s->model.activation, x);
  }
  struct ir_value left = generate_slice(b, x, last, 0, width), right = generate_slice(b, x, last, width, 2 * width);
  return generate_binary(b, IR_OP_MULTIPLY, generate_activation(b, s->model.activation, left), right);
}

/* Weight of each expert for each token, [tokens, experts] in f32: softmax over the k best scores, 0 for the others. The k-th
 * best is found by taking the best away k - 1 times; experts with exactly equal scores are all in or all out. */
static struct ir_value route(struct generate_step *s, struct ir_value x, struct generate_weight router) {
  struct generate_builder *b = &s->b;
  struct ir_value scores = generate_dot(b, x, 1, generate_weight_value(b, router, 0), 0, 0, DTYPE_F32);
  struct ir_value best = generate_reduce(b, IR_OP_MAXIMUM, scores, 1), least = best;
  struct generate_shape all = generate_shape_of(b, scores);
  for (uint32_t k = 1; k < s->model.experts_per_token; k++) {
    struct ir_value is_left = generate_compare(b, "LT", scores, generate_broadcast(b, least, all, AXES(0)));
    struct ir_value left = generate_select(b, is_left, AXES(0, 1), scores, -(double)INFINITY);
    least = generate_reduce(b, IR_OP_MAXIMUM, left, 1);
  }
  struct ir_value is_chosen = generate_compare(b, "GE", scores, generate_broadcast(b, least, all, AXES(0)));
  struct ir_value shares = generate_binary_along(b, IR_OP_SUBTRACT, scores, best, AXES(0));
  shares = generate_select(b, is_chosen, AXES(0, 1), generate_unary(b, IR_OP_EXPONENTIAL, shares), 0);
  return generate_binary_along(b, IR_OP_DIVIDE, shares, generate_reduce(b, IR_OP_ADD, shares, 1), AXES(0));
}

/* Every expert meets every token; the router's weights choose in the sum. Each expert's matrices are read once. */
static struct ir_value mixture(struct generate_step *s, struct ir_value x, const struct generate_block *block) {
  struct generate_builder *b = &s->b;
  struct ir_value weights = generate_convert(b, route(s, x, block->router), b->activations);
  int64_t tokens = generate_dim(b, x, 0);
  struct ir_value rows = generate_broadcast(b, x, SHAPE(s->model.experts, tokens, s->model.hidden), AXES(1, 2));
  rows = generate_dot(b, rows, 2, generate_weight_value(b, block->up.weight, 1), 1, 1, b->activations);
  rows = gate(s, rows);
  rows = generate_dot(b, rows, 2, generate_weight_value(b, block->down.weight, 1), 1, 1, b->activations);
  rows = generate_binary_along(b, IR_OP_MULTIPLY, rows, generate_transpose(b, weights, AXES(1, 0)), AXES(0, 1));
  return generate_reduce(b, IR_OP_ADD, rows, 0);
}

struct ir_value generate_ffn(struct generate_step *s, struct ir_value x, const struct generate_block *block) {
  if (s->model.experts > 0) {
    return mixture(s, x, block);
  }
  return generate_dense(&s->b, gate(s, generate_dense(&s->b, x, block->up)), block->down);
}

/* ---- patches ---- */

struct ir_value generate_patches(struct generate_step *s, struct ir_value images) {
  struct generate_builder *b = &s->b;
  int64_t patch = s->model.patch, side = s->model.side / s->model.patch, channels = s->model.channels;
  struct ir_value x = generate_reshape(b, images, SHAPE(s->batch, side, patch, side, patch, channels));
  x = generate_transpose(b, x, AXES(0, 1, 3, 2, 4, 5));
  return generate_reshape(b, x, SHAPE(s->batch * side * side, patch * patch * channels));
}
