/* The MaxText step forward, and the loss with its gradient. See generate_training_maxtext.h. */
#include "generate/generate_training_maxtext.h"

#include <math.h>
#include <stdio.h>

bool maxtext_takes(const struct generate_model *model, const struct generate_training *p) {
  return p->framework == GENERATE_XLA && p->sharded == GENERATE_SHARD_PARAMETERS
         && p->recompute == GENERATE_RECOMPUTE_CONTRACTIONS && p->attention == GENERATE_ATTENTION_PLAIN
         && p->optimizer == GENERATE_ADAM && p->compute == DTYPE_BF16 && p->products == DTYPE_NONE && p->tensor == 1
         && p->context == 1 && p->pipeline == 1 && p->expert == 1 && p->data > 1 && p->data <= MAXTEXT_DEVICES
         && p->shard_ranks == p->data && p->global_batch == p->data * p->micro_batch && model->experts == 0
         && model->positions == 0 && model->norm == GENERATE_RMS_NORM && model->activation == GENERATE_SILU
         && model->gated_ffn && model->kv_rank == 0 && !model->head_norms && model->logit_cap <= 0 && model->window == 0
         && !model->tied_embedding && !model->biases && !model->post_norms && model->kv_heads == model->heads
         && model->head_size % 2 == 0 && model->hidden % p->data == 0;
}

/* ---- shapes ---- */

static struct generate_shape rows(const struct maxtext *m) {
  return SHAPE(m->batch, m->length);
}
static struct generate_shape activations(const struct maxtext *m) {
  return SHAPE(m->batch, m->length, m->model);
}
static struct generate_shape scores5(const struct maxtext *m) {
  return SHAPE(m->batch, m->heads, 1, m->length, m->length);
}

/* ---- weights ---- */

uint32_t maxtext_weight_number(const struct maxtext *m, int64_t layer, enum maxtext_weight weight) {
  (void)m;
  return 1 + (uint32_t)layer * MAXTEXT_LAYER_WEIGHTS + weight;
}

struct ir_value maxtext_weight_value(const struct maxtext *m, int64_t layer, enum maxtext_weight weight) {
  return generate_argument_value(&m->t.b, m->weights + maxtext_weight_number(m, layer, weight));
}

struct ir_value maxtext_gathered(struct maxtext *m, struct ir_value weight, uint32_t axis) {
  return training_all_gather(&m->t, TRAINING_DATA, weight, axis);
}

/* The last two weights: head, embedding; the first: the final norm. */
static struct ir_value end_weight(const struct maxtext *m, uint32_t from_last) {
  return generate_argument_value(&m->t.b, m->weights + m->weight_count - from_last);
}

static void declare_weights(struct maxtext *m, const char *prefix) {
  static const char *const names[MAXTEXT_LAYER_WEIGHTS] = {"gate", "up",  "down",  "ffn_norm", "attention_norm",
                                                           "key",  "out", "query", "value"};
  int64_t part = m->model / m->devices;
  const struct generate_shape shapes[MAXTEXT_LAYER_WEIGHTS] = {
      SHAPE(part, m->ffn),
      SHAPE(part, m->ffn),
      SHAPE(m->ffn, part),
      SHAPE(m->model),
      SHAPE(m->model),
      SHAPE(part, m->heads, m->size),
      SHAPE(m->heads, m->size, part),
      SHAPE(part, m->heads, m->size),
      SHAPE(part, m->heads, m->size),
  };
  char name[64];
  snprintf(name, sizeof name, "%sfinal_norm", prefix);
  (void)generate_declare(&m->t.b, DTYPE_BF16, SHAPE(m->model), -1, name, 0);
  for (int64_t l = 0; l < m->layers; l++) {
    for (int i = 0; i < MAXTEXT_LAYER_WEIGHTS; i++) {
      snprintf(name, sizeof name, "%slayers.%%u.%s", prefix, names[i]);
      (void)generate_declare(&m->t.b, DTYPE_BF16, shapes[i], -1, name, (unsigned)l);
    }
  }
  snprintf(name, sizeof name, "%shead", prefix);
  (void)generate_declare(&m->t.b, DTYPE_BF16, SHAPE(part, m->vocabulary), -1, name, 0);
  snprintf(name, sizeof name, "%sembedding", prefix);
  (void)generate_declare(&m->t.b, DTYPE_BF16, SHAPE(m->vocabulary, part), -1, name, 0);
}

static void declare(struct maxtext *m) {
  static const char *const inputs[] = {"tokens", "positions", "segments", "targets", "target_segments"};
  struct generate_builder *b = &m->t.b;
  (void)generate_declare(b, DTYPE_I32, SCALAR, -1, "step", 0);
  m->weights = (uint32_t)b->arguments.count;
  declare_weights(m, "weights.");
  m->count_argument = generate_declare(b, DTYPE_I32, SCALAR, -1, "optimizer.count", 0);
  m->first = (uint32_t)b->arguments.count;
  declare_weights(m, "optimizer.first.");
  m->second = (uint32_t)b->arguments.count;
  declare_weights(m, "optimizer.second.");
  uint32_t schedule = generate_declare(b, DTYPE_I32, SCALAR, -1, "optimizer.schedule_count", 0);
  (void)schedule;
  m->tokens = (uint32_t)b->arguments.count;
  for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
    (void)generate_declare(b, DTYPE_I32, rows(m), -1, inputs[i], 0);
  }
}

static struct ir_value input(const struct maxtext *m, uint32_t i) {
  return generate_argument_value(&m->t.b, m->tokens + i);
}

/* ---- norms, activation ---- */

struct maxtext_norm maxtext_normalise(struct maxtext *m, struct ir_value x, bool keeps) {
  struct generate_builder *b = &m->t.b;
  struct maxtext_norm n = {.x = generate_convert(b, x, DTYPE_F32)};
  struct ir_value zero = maxtext_constant(m, DTYPE_F32, 0);
  struct ir_value square = maxtext_reduce(m, IR_OP_ADD, maxtext_multiply(m, n.x, n.x), zero, AXES(2));
  square = maxtext_add(m, maxtext_multiply(m, square, m->inverse_model), m->epsilon);
  if (keeps) {
    n.mean = generate_reshape(b, square, SHAPE(m->batch, m->length, 1));
    n.root = generate_unary(b, IR_OP_RSQRT, n.mean);
    n.roots = generate_broadcast(b, generate_reshape(b, n.root, rows(m)), activations(m), AXES(0, 1));
  } else {
    n.roots = generate_broadcast(b, generate_unary(b, IR_OP_RSQRT, square), activations(m), AXES(0, 1));
  }
  return n;
}

/* The norm times its weight. */
static struct ir_value norm(struct maxtext *m, struct ir_value x, struct ir_value weight) {
  struct maxtext_norm n = maxtext_normalise(m, x, false);
  struct ir_value y = generate_convert(&m->t.b, maxtext_multiply(m, n.x, n.roots), DTYPE_BF16);
  return maxtext_multiply(m, y, generate_broadcast(&m->t.b, weight, activations(m), AXES(2)));
}

struct ir_value maxtext_logistic(struct maxtext *m, struct ir_value x) {
  struct ir_value y = generate_unary(&m->t.b, IR_OP_EXPONENTIAL, generate_unary(&m->t.b, IR_OP_NEGATE, x));
  return maxtext_divide(m, m->ones, maxtext_add(m, y, m->ones));
}

/* ---- positions ---- */

void maxtext_rotary_tables(struct maxtext *m, struct ir_value positions, bool is_first) {
  struct generate_builder *b = &m->t.b;
  int64_t half = m->size / 2;
  struct generate_shape all = SHAPE(m->batch, m->length, 1, half), heads = SHAPE(m->batch, m->length, m->heads, half);
  positions = generate_broadcast(b, generate_convert(b, positions, DTYPE_F32), all, AXES(0, 1));
  if (is_first) {
    struct ir_value theta = maxtext_fill(m, maxtext_constant(m, DTYPE_F32, m->t.model.rope_theta), SHAPE(half));
    struct ir_value pair = generate_iota(b, DTYPE_I32, SHAPE(half), 0);
    pair = maxtext_multiply(m, pair, maxtext_fill(m, maxtext_constant(m, DTYPE_I32, 2), SHAPE(half)));
    pair = generate_convert(b, pair, DTYPE_F32);
    struct ir_value share = maxtext_fill(m, maxtext_constant(m, DTYPE_F32, 1.0 / (double)m->size), SHAPE(half));
    share = maxtext_multiply(m, pair, share);
    m->scales = generate_broadcast(b, maxtext_binary(m, IR_OP_POWER, theta, share), all, AXES(3));
  }
  struct ir_value angles = maxtext_divide(m, positions, m->scales);
  for (int i = 0; i < 2; i++) {
    struct ir_value y = generate_unary(b, i == 0 ? IR_OP_COSINE : IR_OP_SINE, angles);
    y = generate_reshape(b, generate_convert(b, y, DTYPE_BF16), SHAPE(m->batch, m->length, half));
    *(i == 0 ? &m->cosines : &m->sines) = generate_broadcast(b, y, heads, AXES(0, 1, 3));
  }
}

struct ir_value maxtext_rotate(struct maxtext *m, struct ir_value x, bool is_back) {
  struct generate_builder *b = &m->t.b;
  int64_t half = m->size / 2;
  struct ir_value low, high, first, second, other;
  if (!is_back) {
    low = generate_slice(b, x, 3, 0, half);
    first = maxtext_multiply(m, low, m->cosines);
    high = generate_slice(b, x, 3, half, m->size);
    first = maxtext_subtract(m, first, maxtext_multiply(m, high, m->sines));
    second = maxtext_multiply(m, high, m->cosines);
    second = maxtext_add(m, second, maxtext_multiply(m, low, m->sines));
    return generate_concatenate(b, first, second, 3);
  }
  high = generate_slice(b, x, 3, half, m->size);
  first = maxtext_multiply(m, high, m->sines);
  low = generate_slice(b, x, 3, 0, half);
  first = maxtext_add(m, first, maxtext_multiply(m, low, m->cosines));
  second = maxtext_multiply(m, high, m->cosines);
  other = maxtext_multiply(m, generate_unary(b, IR_OP_NEGATE, low), m->sines);
  second = maxtext_add(m, second, other);
  return generate_concatenate(b, first, second, 3);
}

/* ---- attention ---- */

struct ir_value maxtext_mask(struct maxtext *m, struct ir_value segments) {
  struct generate_builder *b = &m->t.b;
  struct generate_shape shape = SHAPE(m->batch, m->length, m->length);
  struct ir_value own = generate_broadcast(b, segments, shape, AXES(0, 1));
  struct ir_value other = generate_broadcast(b, segments, shape, AXES(0, 2));
  struct ir_value seen = maxtext_binary(m, IR_OP_AND, generate_compare(b, "EQ", own, other), m->causal);
  return generate_compare(b, "GE", maxtext_select(m, seen, m->mask_yes, m->mask_no), m->mask_limit);
}

struct ir_value maxtext_exponentials(struct maxtext *m, struct ir_value keys, struct ir_value queries,
                                     struct ir_value mask, struct ir_value *scores, struct ir_value *most) {
  struct generate_builder *b = &m->t.b;
  struct ir_value x = maxtext_dot(m, keys, queries, AXES(3), AXES(3), AXES(0, 2), AXES(0, 2));
  x = generate_reshape(b, x, SHAPE(m->batch, m->heads, m->length, m->length, 1));
  x = generate_transpose(b, x, AXES(0, 1, 4, 3, 2));
  if (m->least.id == 0) { /* 0.7 of the least bfloat16 */
    m->least = maxtext_fill(m, maxtext_constant(m, DTYPE_BF16, -2.379320e+38), scores5(m));
  }
  x = maxtext_select(m, mask, x, m->least);
  struct ir_value top =
      maxtext_reduce(m, IR_OP_MAXIMUM, x, maxtext_constant(m, DTYPE_BF16, -(double)INFINITY), AXES(2, 4));
  top = generate_broadcast(b, top, scores5(m), AXES(0, 1, 3));
  if (scores != NULL) {
    *scores = x;
    *most = top;
  }
  x = generate_unary(b, IR_OP_EXPONENTIAL, maxtext_subtract(m, x, top));
  return generate_reshape(b, x, SHAPE(m->batch, m->heads, m->length, m->length));
}

struct ir_value maxtext_denominators(struct maxtext *m, struct ir_value exponentials) {
  struct generate_builder *b = &m->t.b;
  struct ir_value sum = generate_convert(b, exponentials, DTYPE_F32);
  sum = maxtext_reduce(m, IR_OP_ADD, sum, maxtext_constant(m, DTYPE_F32, 0), AXES(3));
  sum = generate_reshape(b, generate_convert(b, sum, DTYPE_BF16), SHAPE(m->batch, m->heads, m->length, 1));
  return generate_transpose(b, sum, AXES(0, 2, 1, 3));
}

static void build_masks(struct maxtext *m) {
  struct generate_builder *b = &m->t.b;
  struct generate_shape square = SHAPE(m->length, m->length), all = SHAPE(m->batch, m->length, m->length);
  struct ir_value other = generate_iota(b, DTYPE_I32, square, 1), own = generate_iota(b, DTYPE_I32, square, 0);
  m->causal = generate_broadcast(b, generate_compare(b, "LE", other, own), all, AXES(1, 2));
  m->mask_yes = maxtext_fill(m, maxtext_constant(m, DTYPE_F32, 0), all);
  m->mask_no = maxtext_fill(m, maxtext_constant(m, DTYPE_F32, -2.38197633e+38), all);
  m->mask_limit = maxtext_fill(m, maxtext_constant(m, DTYPE_F32, -1.19098816e+38), all);
}

/* x by a gathered weight: the last axis with the first. */
static struct ir_value project(struct maxtext *m, struct ir_value x, struct ir_value weight) {
  return maxtext_dot(m, x, maxtext_gathered(m, weight, 0), AXES(2), AXES(0), SCALAR, SCALAR);
}

static struct ir_value attention(struct maxtext *m, int64_t layer, struct ir_value x, struct ir_value *mask) {
  struct generate_builder *b = &m->t.b;
  struct maxtext_saved *s = &m->saved[layer];
  struct generate_shape heads = SHAPE(m->batch, m->length, m->heads, m->size);
  struct ir_value y = norm(m, x, maxtext_weight_value(m, layer, MAXTEXT_ATTENTION_NORM));
  y = maxtext_copy(m, maxtext_copy(m, y));
  s->value = maxtext_round(m, maxtext_copy(m, project(m, y, maxtext_weight_value(m, layer, MAXTEXT_VALUE))));
  if (layer == 0) {
    build_masks(m);
    *mask = generate_broadcast(b, maxtext_mask(m, input(m, 2)), scores5(m), AXES(0, 3, 4));
  }
  struct ir_value keys = project(m, y, maxtext_weight_value(m, layer, MAXTEXT_KEY));
  if (layer == 0) {
    maxtext_rotary_tables(m, input(m, 1), true);
  }
  s->key = maxtext_round(m, maxtext_copy(m, maxtext_rotate(m, keys, false)));
  struct ir_value queries = project(m, y, maxtext_weight_value(m, layer, MAXTEXT_QUERY));
  s->query = maxtext_round(m, maxtext_copy(m, maxtext_rotate(m, queries, false)));
  struct ir_value shares = maxtext_exponentials(m, s->key, s->query, *mask, NULL, NULL);
  struct ir_value context = maxtext_dot(m, s->value, shares, AXES(1), AXES(3), AXES(0, 2), AXES(0, 1));
  context = generate_reshape(b, context, SHAPE(m->batch, m->heads, m->size, 1, m->length));
  context = generate_transpose(b, context, AXES(0, 4, 1, 3, 2));
  struct ir_value sums = generate_reshape(b, maxtext_denominators(m, shares), SHAPE(m->batch, m->length, m->heads));
  sums = generate_broadcast(b, sums, SHAPE(m->batch, m->length, m->heads, 1, m->size), AXES(0, 1, 2));
  context = maxtext_copy(m, generate_reshape(b, maxtext_divide(m, context, sums), heads));
  struct ir_value out = maxtext_gathered(m, maxtext_weight_value(m, layer, MAXTEXT_OUT), 2);
  out = maxtext_dot(m, context, out, AXES(2, 3), AXES(0, 1), SCALAR, SCALAR);
  s->attended = maxtext_copy(m, maxtext_round(m, out));
  return maxtext_add(m, x, s->attended);
}

static struct ir_value feed_forward(struct maxtext *m, int64_t layer, struct ir_value x) {
  struct maxtext_saved *s = &m->saved[layer];
  struct ir_value y = maxtext_copy(m, norm(m, x, maxtext_weight_value(m, layer, MAXTEXT_FFN_NORM)));
  s->gate = project(m, y, maxtext_weight_value(m, layer, MAXTEXT_GATE));
  if (layer == 0) {
    m->ones = maxtext_fill(m, maxtext_constant(m, DTYPE_BF16, 1), SHAPE(m->batch, m->length, m->ffn));
  }
  struct ir_value silu = maxtext_multiply(m, s->gate, maxtext_logistic(m, s->gate));
  s->up = maxtext_round(m, project(m, y, maxtext_weight_value(m, layer, MAXTEXT_UP)));
  y = maxtext_copy(m, maxtext_multiply(m, silu, s->up));
  struct ir_value down = maxtext_gathered(m, maxtext_weight_value(m, layer, MAXTEXT_DOWN), 1);
  y = maxtext_copy(m, maxtext_dot(m, y, down, AXES(2), AXES(0), SCALAR, SCALAR));
  return maxtext_copy(m, maxtext_add(m, y, x));
}

/* ---- ends ---- */

/* Warm-up, then a cosine; minus the rate, as the update adds. */
static void learning_rate(struct maxtext *m) {
  struct generate_builder *b = &m->t.b;
  struct ir_value count = generate_argument_value(b, m->tokens - 1), one = maxtext_constant(m, DTYPE_F32, 1);
  struct ir_value three = maxtext_constant(m, DTYPE_I32, 3);
  struct ir_value is_warm = generate_compare(b, "LT", count, three);
  struct ir_value x = maxtext_binary(m, IR_OP_MAXIMUM, maxtext_constant(m, DTYPE_I32, 0), count);
  x = generate_convert(b, maxtext_binary(m, IR_OP_MINIMUM, three, x), DTYPE_F32);
  x = maxtext_multiply(m, x, maxtext_constant(m, DTYPE_F32, 0.333333343));
  x = maxtext_subtract(m, one, x);
  x = maxtext_multiply(m, x, maxtext_constant(m, DTYPE_F32, -3e-5));
  struct ir_value warm = maxtext_add(m, x, maxtext_constant(m, DTYPE_F32, 3e-5));
  x = generate_convert(b, maxtext_add(m, count, maxtext_constant(m, DTYPE_I32, -3)), DTYPE_F32);
  x = generate_unary(b, IR_OP_COSINE, maxtext_multiply(m, x, maxtext_constant(m, DTYPE_F32, 0.116355285)));
  x = maxtext_add(m, x, one);
  struct ir_value part = maxtext_multiply(m, x, maxtext_constant(m, DTYPE_F32, 1.5e-5));
  x = maxtext_subtract(m, one, maxtext_multiply(m, x, maxtext_constant(m, DTYPE_F32, 0.5)));
  x = maxtext_add(m, part, maxtext_multiply(m, x, maxtext_constant(m, DTYPE_F32, 3e-6)));
  x = maxtext_select(m, is_warm, warm, x);
  x = maxtext_multiply(m, x, maxtext_constant(m, DTYPE_F32, -1));
  m->rate = generate_convert(b, x, DTYPE_BF16);
}

/* 1 where the last axis is the row's token. */
static struct ir_value one_hot(struct maxtext *m, struct ir_value tokens, enum dtype dtype) {
  struct generate_builder *b = &m->t.b;
  struct generate_shape all = SHAPE(m->batch, m->length, m->vocabulary);
  struct ir_value columns = generate_iota(b, DTYPE_I32, all, 2);
  tokens = generate_broadcast(b, tokens, all, AXES(0, 1));
  return generate_convert(b, generate_compare(b, "EQ", tokens, columns), dtype);
}

static struct ir_value embed(struct maxtext *m) {
  m->one_hot = one_hot(m, input(m, 0), DTYPE_BF16);
  struct ir_value table = maxtext_gathered(m, end_weight(m, 1), 1);
  struct ir_value x = maxtext_dot(m, m->one_hot, table, AXES(2), AXES(0), SCALAR, SCALAR);
  x = maxtext_copy(m, maxtext_copy(m, x));
  m->inverse_model = maxtext_fill(m, maxtext_constant(m, DTYPE_F32, 1.0 / (double)m->model), rows(m));
  m->epsilon = maxtext_fill(m, maxtext_constant(m, DTYPE_F32, m->t.model.norm_epsilon), rows(m));
  return x;
}

/* Weight of each token in the loss, over the vocabulary: one over the number of tokens that count. */
static struct ir_value token_weights(struct maxtext *m) {
  struct generate_builder *b = &m->t.b;
  struct ir_value zero = maxtext_constant(m, DTYPE_I32, 0);
  struct ir_value counts = generate_compare(b, "NE", input(m, 4), maxtext_fill(m, zero, rows(m)));
  struct ir_value number = maxtext_reduce(m, IR_OP_ADD, generate_convert(b, counts, DTYPE_I32), zero, AXES(0, 1));
  number = generate_convert(b, training_all_reduce(&m->t, TRAINING_DATA, number, IR_OP_ADD), DTYPE_F32);
  number = maxtext_add(m, number, maxtext_constant(m, DTYPE_F32, 9.99999993e-9));
  number = maxtext_divide(m, maxtext_constant(m, DTYPE_F32, 1), number);
  m->spread_zero = maxtext_fill(m, maxtext_constant(m, DTYPE_F32, 0), rows(m));
  number = maxtext_fill(m, number, rows(m));
  number = maxtext_copy(m, maxtext_select(m, counts, number, m->spread_zero));
  return generate_broadcast(b, number, SHAPE(m->batch, m->length, m->vocabulary), AXES(0, 1));
}

/* Cross entropy with a term of the logarithm of the sum (weight 0), and the gradient of the logits. */
static void loss(struct maxtext *m, struct ir_value weights) {
  struct generate_builder *b = &m->t.b;
  struct generate_shape all = SHAPE(m->batch, m->length, m->vocabulary);
  struct ir_value zero = maxtext_constant(m, DTYPE_F32, 0), one = maxtext_constant(m, DTYPE_F32, 1);
  struct ir_value x = maxtext_dot(m, m->normed, m->logits_weight, AXES(2), AXES(0), SCALAR, SCALAR);
  x = generate_convert(b, maxtext_copy(m, x), DTYPE_F32);
  struct ir_value most =
      maxtext_reduce(m, IR_OP_MAXIMUM, x, maxtext_constant(m, DTYPE_F32, -(double)INFINITY), AXES(2));
  m->shifted = maxtext_subtract(m, x, generate_broadcast(b, most, all, AXES(0, 1)));
  struct ir_value e = generate_unary(b, IR_OP_EXPONENTIAL, m->shifted);
  m->sums = maxtext_reduce(m, IR_OP_ADD, e, zero, AXES(2));
  struct ir_value term = maxtext_add(m, generate_unary(b, IR_OP_LOG, m->sums), most);
  term = maxtext_multiply(m, term, m->spread_zero);
  term = maxtext_add(m, term, maxtext_fill(m, one, rows(m)));
  x = maxtext_multiply(m, generate_broadcast(b, term, all, AXES(0, 1)), e);
  x = maxtext_divide(m, x, generate_broadcast(b, m->sums, all, AXES(0, 1)));
  m->hot_targets = one_hot(m, input(m, 3), DTYPE_F32);
  x = maxtext_multiply(m, weights, maxtext_subtract(m, x, m->hot_targets));
  m->dlogits = maxtext_copy(m, generate_convert(b, x, DTYPE_BF16));
}

static void step(struct maxtext *m) {
  struct generate_builder *b = &m->t.b;
  struct ir_value mask = {0};
  struct ir_value next = maxtext_add(m, generate_argument_value(b, 0), maxtext_constant(m, DTYPE_I32, 1));
  (void)next; /* the step's number is counted, and not returned */
  learning_rate(m);
  struct ir_value x = embed(m);
  for (int64_t l = 0; l < m->layers && !b->m->out_of_memory; l++) {
    m->saved[l].x = x;
    x = attention(m, l, x, &mask);
    x = feed_forward(m, l, x);
    x = l + 1 < m->layers ? maxtext_copy(m, x) : x;
  }
  m->final_x = x;
}

static bool allocate(struct maxtext *m) {
  struct arena *arena = &m->t.b.m->arena;
  size_t layers = (size_t)m->layers;
  m->saved = arena_calloc(arena, layers, sizeof *m->saved);
  m->products = arena_calloc(arena, layers, sizeof *m->products);
  m->gradients = arena_calloc(arena, m->weight_count, sizeof *m->gradients);
  bool ok = m->saved != NULL && m->products != NULL && m->gradients != NULL;
  m->t.b.m->out_of_memory |= !ok;
  return ok;
}

void maxtext_build(struct training *t) {
  const struct generate_model *model = &t->model;
  struct maxtext m = {.layers = model->layers,
                      .batch = t->p.micro_batch,
                      .length = t->p.sequence,
                      .model = model->hidden,
                      .heads = model->heads,
                      .size = model->head_size,
                      .ffn = model->ffn,
                      .vocabulary = model->vocabulary,
                      .devices = t->p.data,
                      .weight_count = 3 + model->layers * MAXTEXT_LAYER_WEIGHTS};
  m.t = *t;
  m.t.b = (struct generate_builder){.m = t->b.m, .activations = DTYPE_BF16, .weights = DTYPE_BF16};
  if (allocate(&m)) {
    declare(&m);
    generate_begin(&m.t.b);
    step(&m);
    struct maxtext_norm final = maxtext_normalise(&m, m.final_x, true);
    struct ir_value y = generate_convert(&m.t.b, maxtext_multiply(&m, final.x, final.roots), DTYPE_BF16);
    struct ir_value weights = token_weights(&m);
    struct ir_value scale = generate_argument_value(&m.t.b, m.weights);
    m.final_norm = generate_broadcast(&m.t.b, scale, activations(&m), AXES(2));
    m.logits_weight = maxtext_gathered(&m, end_weight(&m, 2), 0);
    m.normed = maxtext_multiply(&m, y, m.final_norm);
    loss(&m, weights);
    maxtext_backward(&m, final, y);
    maxtext_update(&m);
    generate_end(&m.t.b);
  }
  generate_builder_release(&m.t.b);
  vec_release(&m.constants);
  vec_release(&m.spreads);
}
