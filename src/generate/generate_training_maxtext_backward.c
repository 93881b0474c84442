/* The MaxText step backward: layers from the last to the first, then the products of all weights. */
#include "generate/generate_training_maxtext.h"

#include <string.h>

static struct generate_shape activations(const struct maxtext *m) {
  return SHAPE(m->batch, m->length, m->model);
}
static struct generate_shape column(const struct maxtext *m) {
  return SHAPE(m->batch, m->length, 1);
}
static struct generate_shape heads(const struct maxtext *m) {
  return SHAPE(m->batch, m->length, m->heads, m->size);
}
static struct generate_shape scores4(const struct maxtext *m) {
  return SHAPE(m->batch, m->heads, m->length, m->length);
}
static struct generate_shape scores5(const struct maxtext *m) {
  return SHAPE(m->batch, m->heads, 1, m->length, m->length);
}

/* A layer after its barrier. */
struct layer {
  struct ir_value query, key, value, attended, gate, up;
  struct ir_value weights[MAXTEXT_LAYER_WEIGHTS];
  struct ir_value x, segments, positions, dx;
};
_Static_assert(sizeof(struct layer) == (10 + MAXTEXT_LAYER_WEIGHTS) * sizeof(struct ir_value), "a list of values");
_Static_assert(10 + MAXTEXT_LAYER_WEIGHTS <= MAXTEXT_BARRIER, "one barrier");

/* Recomputation begins when the gradient is there. */
static struct layer open_layer(struct maxtext *m, int64_t number, struct ir_value dx) {
  const struct maxtext_saved *s = &m->saved[number];
  struct layer layer = {s->query, s->key, s->value, s->attended, s->gate, s->up, {{0}}, s->x, {0}, {0}, dx};
  struct ir_value list[10 + MAXTEXT_LAYER_WEIGHTS];
  layer.segments = generate_argument_value(&m->t.b, m->tokens + 2);
  layer.positions = generate_argument_value(&m->t.b, m->tokens + 1);
  for (int i = 0; i < MAXTEXT_LAYER_WEIGHTS; i++) {
    layer.weights[i] = maxtext_weight_value(m, number, (enum maxtext_weight)i);
  }
  memcpy(list, &layer, sizeof layer);
  if (!m->t.b.m->out_of_memory) {
    maxtext_barrier(m, list, sizeof list / sizeof list[0]);
  }
  memcpy(&layer, list, sizeof layer);
  return layer;
}

/* ---- norms ---- */

static struct ir_value norm_backward(struct maxtext *m, struct ir_value dy, const struct maxtext_norm *n,
                                     struct ir_value scale) {
  struct generate_builder *b = &m->t.b;
  struct ir_value g = generate_convert(b, maxtext_multiply(m, dy, scale), DTYPE_F32);
  struct ir_value straight = maxtext_multiply(m, g, n->roots);
  struct ir_value along = maxtext_multiply(m, n->x, g);
  along = maxtext_reduce(m, IR_OP_ADD, along, maxtext_constant(m, DTYPE_F32, 0), AXES(2));
  along = generate_reshape(b, along, column(m));
  struct ir_value slope = maxtext_multiply(m, maxtext_divide(m, n->root, n->mean), m->minus_half);
  along = maxtext_multiply(m, maxtext_multiply(m, along, slope), m->twice_inverse);
  along = generate_reshape(b, along, SHAPE(m->batch, m->length));
  along = generate_broadcast(b, along, activations(m), AXES(0, 1));
  along = maxtext_add(m, straight, maxtext_multiply(m, n->x, along));
  return generate_convert(b, along, DTYPE_BF16);
}

/* ---- feed-forward ---- */

/* dy by the transpose of a gathered weight: the last axes of both. */
static struct ir_value back(struct maxtext *m, struct ir_value dy, struct ir_value weight, uint32_t gathered,
                            int64_t axis) {
  return maxtext_dot(m, dy, maxtext_gathered(m, weight, gathered), AXES(2), AXES(axis), SCALAR, SCALAR);
}

/* The gradient of the sum after attention. */
static struct ir_value ffn_backward(struct maxtext *m, struct maxtext_products *p, const struct layer *l,
                                    struct ir_value *x) {
  struct generate_builder *b = &m->t.b;
  struct ir_value dx = maxtext_copy(m, l->dx), logistic = maxtext_logistic(m, l->gate), other;
  p->silu = maxtext_multiply(m, l->gate, logistic);
  p->up = l->up;
  p->dout = maxtext_copy(m, dx);
  struct ir_value da = maxtext_copy(m, back(m, p->dout, l->weights[MAXTEXT_DOWN], 1, 1));
  p->dup = maxtext_multiply(m, p->silu, da);
  struct ir_value dy = back(m, p->dup, l->weights[MAXTEXT_UP], 0, 1);
  struct ir_value t = maxtext_multiply(m, da, l->up), u = maxtext_multiply(m, t, logistic);
  t = maxtext_multiply(m, l->gate, t);
  other = maxtext_multiply(m, logistic, maxtext_subtract(m, m->ones, logistic));
  p->dgate = maxtext_add(m, u, maxtext_multiply(m, t, other));
  p->dffn = maxtext_copy(m, maxtext_add(m, dy, back(m, p->dgate, l->weights[MAXTEXT_GATE], 0, 1)));
  p->ffn_scale = generate_broadcast(b, l->weights[MAXTEXT_FFN_NORM], activations(m), AXES(2));
  *x = maxtext_copy(m, l->x);
  struct ir_value sum = maxtext_add(m, *x, maxtext_copy(m, l->attended));
  p->ffn = maxtext_normalise(m, sum, true);
  return maxtext_copy(m, maxtext_add(m, dx, norm_backward(m, p->dffn, &p->ffn, p->ffn_scale)));
}

/* ---- attention ---- */

static struct ir_value once(struct maxtext *m, struct ir_value *kept, double value, struct generate_shape shape) {
  if (kept->id == 0) {
    *kept = maxtext_fill(m, maxtext_constant(m, DTYPE_BF16, value), shape);
  }
  return *kept;
}

/* Part of the gradient of the exponentials that comes through the denominators, over the keys. */
static struct ir_value denominator_gradient(struct maxtext *m, struct maxtext_products *p, const struct layer *l,
                                            struct ir_value dcontext, struct ir_value shares,
                                            struct ir_value denominators) {
  struct generate_builder *b = &m->t.b;
  struct ir_value zero = maxtext_constant(m, DTYPE_BF16, 0);
  struct ir_value ones = once(m, &m->ones4, 1, SHAPE(m->batch, m->length, m->heads, 1));
  struct ir_value x = maxtext_divide(m, ones, maxtext_multiply(m, denominators, denominators));
  x = generate_reshape(b, x, SHAPE(m->batch, m->length, m->heads));
  x = generate_broadcast(b, x, heads(m), AXES(0, 1, 2));
  struct ir_value y = maxtext_dot(m, l->value, shares, AXES(1), AXES(3), AXES(0, 2), AXES(0, 1));
  y = generate_reshape(b, y, SHAPE(m->batch, m->heads, m->size, 1, m->length));
  p->contexts = generate_reshape(b, generate_transpose(b, y, AXES(0, 4, 1, 3, 2)), heads(m));
  x = maxtext_multiply(m, maxtext_multiply(m, dcontext, x), p->contexts);
  x = generate_unary(b, IR_OP_NEGATE, maxtext_reduce(m, IR_OP_ADD, x, zero, AXES(3)));
  x = generate_transpose(b, generate_reshape(b, x, SHAPE(m->batch, m->length, m->heads, 1)), AXES(0, 2, 1, 3));
  x = generate_reshape(b, x, SHAPE(m->batch, m->heads, m->length));
  return generate_broadcast(b, x, scores4(m), AXES(0, 1, 2));
}

/* From the gradient of the exponentials' arguments to that of the scores: the maximum takes part too. */
static struct ir_value scores_gradient(struct maxtext *m, struct ir_value ds, struct ir_value scores,
                                       struct ir_value most, struct ir_value mask4) {
  struct generate_builder *b = &m->t.b;
  struct ir_value zero = maxtext_constant(m, DTYPE_BF16, 0);
  struct ir_value is_most = generate_compare(b, "EQ", scores, most);
  struct ir_value x = generate_unary(b, IR_OP_NEGATE, maxtext_reduce(m, IR_OP_ADD, ds, zero, AXES(3)));
  struct ir_value count = generate_convert(b, is_most, DTYPE_BF16);
  count = maxtext_reduce(m, IR_OP_ADD, count, zero, AXES(2, 4));
  x = generate_broadcast(b, maxtext_divide(m, x, count), scores5(m), AXES(0, 1, 3));
  x = maxtext_select(m, is_most, x, once(m, &m->zeros5, 0, scores5(m)));
  ds = maxtext_add(m, ds, generate_reshape(b, x, scores4(m)));
  ds = maxtext_select(m, mask4, ds, once(m, &m->zeros4, 0, scores4(m)));
  ds = generate_transpose(b, generate_reshape(b, ds, scores5(m)), AXES(0, 1, 4, 3, 2));
  return generate_reshape(b, ds, scores4(m));
}

/* dy [batch, length, heads, size] by the transpose of a gathered projection. */
static struct ir_value project_back(struct maxtext *m, struct ir_value dy, struct ir_value weight) {
  return maxtext_dot(m, dy, maxtext_gathered(m, weight, 0), AXES(2, 3), AXES(1, 2), SCALAR, SCALAR);
}

/* The gradient of the norm before attention. */
static struct ir_value attention_backward(struct maxtext *m, struct maxtext_products *p, const struct layer *l) {
  struct generate_builder *b = &m->t.b;
  struct ir_value scores, most, weight = maxtext_gathered(m, l->weights[MAXTEXT_OUT], 2);
  struct ir_value dcontext = maxtext_copy(m, maxtext_dot(m, p->dsum, weight, AXES(2), AXES(2), SCALAR, SCALAR));
  struct ir_value seen = maxtext_mask(m, l->segments);
  struct ir_value mask = generate_broadcast(b, seen, scores5(m), AXES(0, 3, 4));
  struct ir_value shares = maxtext_exponentials(m, l->key, l->query, mask, &scores, &most);
  struct ir_value denominators = maxtext_denominators(m, shares);
  p->denominators = generate_reshape(b, denominators, SHAPE(m->batch, m->length, m->heads));
  p->denominators = generate_broadcast(b, p->denominators, heads(m), AXES(0, 1, 2));
  struct ir_value x = maxtext_divide(m, dcontext, p->denominators);
  x = generate_reshape(b, x, SHAPE(m->batch, m->length, m->heads, 1, m->size));
  x = generate_reshape(b, generate_transpose(b, x, AXES(0, 2, 4, 3, 1)), SHAPE(m->batch, m->heads, m->size, m->length));
  struct ir_value dv = maxtext_dot(m, x, shares, AXES(3), AXES(2), AXES(0, 1), AXES(0, 1));
  p->dvalue = maxtext_copy(m, generate_transpose(b, dv, AXES(0, 3, 1, 2)));
  struct ir_value dy = project_back(m, p->dvalue, l->weights[MAXTEXT_VALUE]);
  struct ir_value mask4 = generate_broadcast(b, seen, scores4(m), AXES(0, 2, 3));
  struct ir_value ds = maxtext_dot(m, x, l->value, AXES(2), AXES(3), AXES(0, 1), AXES(0, 2));
  ds = maxtext_add(m, ds, denominator_gradient(m, p, l, dcontext, shares, denominators));
  ds = scores_gradient(m, maxtext_multiply(m, ds, shares), scores, most, mask4);
  maxtext_rotary_tables(m, l->positions, false);
  struct ir_value dk = maxtext_dot(m, ds, l->query, AXES(3), AXES(1), AXES(0, 1), AXES(0, 2));
  p->dkey = maxtext_rotate(m, maxtext_copy(m, generate_transpose(b, dk, AXES(0, 2, 1, 3))), true);
  dy = maxtext_copy(m, maxtext_add(m, dy, project_back(m, p->dkey, l->weights[MAXTEXT_KEY])));
  struct ir_value dq = maxtext_dot(m, ds, l->key, AXES(2), AXES(1), AXES(0, 1), AXES(0, 2));
  dq = generate_reshape(b, dq, SHAPE(m->batch, m->heads, m->length, 1, m->size));
  dq = generate_reshape(b, generate_transpose(b, dq, AXES(0, 2, 1, 3, 4)), heads(m));
  p->dquery = maxtext_rotate(m, maxtext_copy(m, dq), true);
  struct ir_value last = maxtext_copy(m, project_back(m, p->dquery, l->weights[MAXTEXT_QUERY]));
  return maxtext_copy(m, maxtext_add(m, dy, last));
}

static struct ir_value layer_backward(struct maxtext *m, int64_t number, struct ir_value dx) {
  struct maxtext_products *p = &m->products[number];
  struct layer l = open_layer(m, number, dx);
  struct ir_value x;
  p->dsum = ffn_backward(m, p, &l, &x);
  p->dnorm = attention_backward(m, p, &l);
  p->attention_scale = generate_broadcast(&m->t.b, l.weights[MAXTEXT_ATTENTION_NORM], activations(m), AXES(2));
  p->attention = maxtext_normalise(m, x, true);
  return maxtext_copy(m, maxtext_add(m, p->dsum, norm_backward(m, p->dnorm, &p->attention, p->attention_scale)));
}

/* ---- gradients of weights ---- */

/* The gradient's part in the norm of all. */
static void add_norm(struct maxtext *m, struct maxtext_gradient *g) {
  struct generate_builder *b = &m->t.b;
  struct generate_shape axes = {.rank = generate_shape_of(b, g->value).rank};
  for (uint32_t i = 0; i < axes.rank; i++) {
    axes.dims[i] = i;
  }
  struct ir_value square = generate_convert(b, maxtext_multiply(m, g->value, g->value), DTYPE_F32);
  g->sum = maxtext_reduce(m, IR_OP_ADD, square, maxtext_constant(m, DTYPE_F32, 0), axes);
  struct ir_value whole = axes.rank == 1 ? g->sum : training_all_reduce(&m->t, TRAINING_DATA, g->sum, IR_OP_ADD);
  g->term = generate_convert(b, whole, DTYPE_BF16);
  m->total = m->total.id != 0 ? maxtext_add(m, m->total, g->term) : g->term;
}

static void norm_gradient(struct maxtext *m, uint32_t weight, struct ir_value x, struct ir_value dy) {
  struct ir_value zero = maxtext_constant(m, DTYPE_BF16, 0);
  struct ir_value sum = maxtext_reduce(m, IR_OP_ADD, maxtext_multiply(m, x, dy), zero, AXES(0, 1));
  m->gradients[weight].value = training_all_reduce(&m->t, TRAINING_DATA, sum, IR_OP_ADD);
  add_norm(m, &m->gradients[weight]);
}

/* The sum of x^T y over all devices, this device's part of it along `axis`; then transposed where `order` is given. */
static void product_gradient(struct maxtext *m, uint32_t weight, struct ir_value x, struct ir_value y, uint32_t axis,
                             const struct generate_shape *order) {
  struct generate_builder *b = &m->t.b;
  struct ir_value starts[GENERATE_RANK_MAX];
  struct ir_value g = maxtext_dot(m, x, y, AXES(0, 1), AXES(0, 1), SCALAR, SCALAR);
  g = training_all_reduce(&m->t, TRAINING_DATA, g, IR_OP_ADD);
  struct generate_shape sizes = generate_shape_of(b, g);
  for (uint32_t i = 0; i < sizes.rank; i++) {
    starts[i] = i == axis ? m->device_start : maxtext_constant(m, DTYPE_I32, 0);
  }
  sizes.dims[axis] /= m->devices;
  g = maxtext_slice_at(m, g, starts, sizes);
  m->gradients[weight].value = order != NULL ? generate_transpose(b, g, *order) : g;
  add_norm(m, &m->gradients[weight]);
}

static void layer_gradients(struct maxtext *m, int64_t layer) {
  const struct generate_shape to_front = AXES(2, 0, 1), to_back = AXES(1, 2, 0);
  struct generate_builder *b = &m->t.b;
  const struct maxtext_products *p = &m->products[layer];
  uint32_t first = maxtext_weight_number(m, layer, MAXTEXT_GATE);
  struct ir_value y = generate_convert(b, maxtext_multiply(m, p->ffn.x, p->ffn.roots), DTYPE_BF16);
  struct ir_value x = maxtext_copy(m, maxtext_multiply(m, y, p->ffn_scale));
  product_gradient(m, first + MAXTEXT_GATE, x, p->dgate, 0, NULL);
  product_gradient(m, first + MAXTEXT_UP, x, p->dup, 0, NULL);
  x = maxtext_copy(m, maxtext_multiply(m, p->silu, p->up));
  product_gradient(m, first + MAXTEXT_DOWN, x, p->dout, 1, NULL);
  norm_gradient(m, first + MAXTEXT_FFN_NORM, y, p->dffn);
  y = generate_convert(b, maxtext_multiply(m, p->attention.x, p->attention.roots), DTYPE_BF16);
  norm_gradient(m, first + MAXTEXT_ATTENTION_NORM, y, p->dnorm);
  x = maxtext_copy(m, maxtext_copy(m, maxtext_multiply(m, y, p->attention_scale)));
  product_gradient(m, first + MAXTEXT_KEY, p->dkey, x, 2, &to_front);
  y = maxtext_copy(m, maxtext_divide(m, p->contexts, p->denominators));
  product_gradient(m, first + MAXTEXT_OUT, p->dsum, y, 0, &to_back);
  product_gradient(m, first + MAXTEXT_QUERY, p->dquery, x, 2, &to_front);
  product_gradient(m, first + MAXTEXT_VALUE, p->dvalue, x, 2, &to_front);
}

/* The first row or column that this device has of every sharded weight. */
static void find_start(struct maxtext *m) {
  struct generate_builder *b = &m->t.b;
  static const struct ir_value none = {0};
  int32_t starts[MAXTEXT_DEVICES];
  for (int64_t i = 0; i < m->devices; i++) {
    starts[i] = (int32_t)(i * (m->model / m->devices));
  }
  struct ir_value list = maxtext_list(m, starts, (uint32_t)m->devices), own;
  struct ir_type type = generate_type(b, DTYPE_UI32, SCALAR);
  struct ir_op op = generate_operation(
      b, b->block, &(struct ir_op_spec){.opcode = IR_OP_PARTITION_ID, .result_types = &type, .result_count = 1});
  own = b->m->out_of_memory ? none : generate_convert(b, ir_op_result(b->m, op, 0), DTYPE_I32);
  m->device_start = generate_reshape(b, maxtext_slice_at(m, list, &own, SHAPE(1)), SCALAR);
}

void maxtext_backward(struct maxtext *m, struct maxtext_norm final, struct ir_value normalised) {
  struct ir_value dy = maxtext_dot(m, m->dlogits, m->logits_weight, AXES(2), AXES(1), SCALAR, SCALAR);
  norm_gradient(m, 0, normalised, dy);
  m->minus_half = maxtext_fill(m, maxtext_constant(m, DTYPE_F32, -0.5), column(m));
  m->twice_inverse = maxtext_fill(m, maxtext_constant(m, DTYPE_F32, 2.0 / (double)m->model), column(m));
  struct ir_value dx = norm_backward(m, dy, &final, m->final_norm);
  for (int64_t l = m->layers; l-- > 0 && !m->t.b.m->out_of_memory;) {
    dx = layer_backward(m, l, dx);
  }
  find_start(m);
  for (int64_t l = 0; l < m->layers && !m->t.b.m->out_of_memory; l++) {
    layer_gradients(m, l);
  }
  product_gradient(m, m->weight_count - 2, m->normed, m->dlogits, 0, NULL);
  product_gradient(m, m->weight_count - 1, m->one_hot, dx, 1, NULL);
}
