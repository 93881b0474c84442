/* The nodes of a chunk: embedding, layers, head. See generate_training_int.h. */
#include <stdio.h>
#include <string.h>

#include "generate/generate_training_heads.h"

static const struct training_kind_info kinds[] = {
#define TRAINING_NODE(id, forward, backward, reads, writes, kept) {forward, backward, reads, writes, kept},
#include "generate/generate_training_nodes.def"
#undef TRAINING_NODE
};

const struct training_kind_info *training_kind_info(enum training_kind kind) {
  return &kinds[kind];
}

/* Where the list is: what new nodes belong to. */
struct lister {
  struct training *t;
  uint32_t unit, region;
  uint32_t gathered; /* region of the newest gather of rows */
  uint32_t quantised_of, quantised, scale; /* slot + 1 that was quantised last, and what it became */
};

enum { NOTHING = UINT32_MAX };

/* ---- slots, nodes, weights ---- */

static uint32_t add_slot(struct training *t, enum dtype dtype, struct generate_shape shape) {
  struct training_slot slot = {.shape = shape, .dtype = dtype, .argument = TRAINING_NO_ARGUMENT};
  t->b.m->out_of_memory |= !vec_push(&t->slots, slot);
  return (uint32_t)t->slots.count - 1;
}

static uint32_t add_input(struct training *t, enum dtype dtype, struct generate_shape shape, const char *name) {
  uint32_t slot = add_slot(t, dtype, shape);
  if (!t->b.m->out_of_memory) {
    t->slots.data[slot].input = name;
  }
  return slot + 1;
}

/* A node of one output; its slot. Inputs and weights that are NOTHING are left out. */
static uint32_t add(struct lister *l, enum training_kind kind, const uint32_t inputs[TRAINING_INPUTS],
                    const uint32_t weights[TRAINING_WEIGHTS], enum dtype dtype, struct generate_shape shape) {
  struct training *t = l->t;
  struct training_node node = {.kind = (uint8_t)kind, .unit = l->unit, .region = l->region, .output_count = 1};
  for (uint32_t i = 0; i < TRAINING_INPUTS && inputs[i] != NOTHING; i++) {
    node.inputs[node.input_count++] = inputs[i];
  }
  for (uint32_t i = 0; weights != NULL && i < TRAINING_WEIGHTS; i++) {
    node.weights[i] = weights[i] == NOTHING ? 0 : weights[i] + 1;
  }
  node.outputs[0] = add_slot(t, dtype, shape);
  t->b.m->out_of_memory |= !vec_push(&t->nodes, node);
  if (!t->b.m->out_of_memory) {
    t->slots.data[node.outputs[0]].producer = (uint32_t)t->nodes.count;
  }
  return node.outputs[0];
}

/* Another output of the newest node. */
static uint32_t add_output(struct training *t, enum dtype dtype, struct generate_shape shape) {
  uint32_t slot = add_slot(t, dtype, shape);
  if (!t->b.m->out_of_memory) {
    struct training_node *node = &t->nodes.data[t->nodes.count - 1];
    node->outputs[node->output_count++] = slot;
    t->slots.data[slot].producer = (uint32_t)t->nodes.count;
  }
  return slot;
}

#define INPUTS(...) ((const uint32_t[TRAINING_INPUTS + 1]){__VA_ARGS__, NOTHING})
#define ONE(x) ((const uint32_t[TRAINING_WEIGHTS]){x, NOTHING})
#define TWO(x, y) ((const uint32_t[TRAINING_WEIGHTS]){x, y})

enum weight_flag { CUT = 1, EXPERT = 2, PRODUCT = 4, PARTIAL = 8 };

/* The axis that `ranks` divide, the first one; -1 = none. */
static int32_t shard_axis(const struct training *t, const struct training_weight *weight) {
  uint32_t ranks = t->group_size[weight->is_expert ? TRAINING_EXPERT_SHARD : TRAINING_SHARD];
  if (t->p.sharded == GENERATE_SHARD_NOTHING || ranks == 1
      || (weight->shape.rank < 2 && t->p.sharded != GENERATE_SHARD_PARAMETERS)) {
    return -1;
  }
  for (uint32_t i = 0; i < weight->shape.rank; i++) {
    if (weight->shape.dims[i] % ranks == 0) {
      return (int32_t)i;
    }
  }
  return -1;
}

static uint32_t add_weight(struct lister *l, struct generate_shape shape, unsigned flags, const char *name) {
  struct training *t = l->t;
  struct training_weight weight = {.shape = shape,
                                   .unit = l->unit,
                                   .is_expert = (flags & EXPERT) != 0,
                                   .is_cut = (flags & CUT) != 0,
                                   .sums_over_tensor = (flags & PARTIAL) != 0 && t->p.tensor > 1,
                                   .is_product = (flags & PRODUCT) != 0 && t->p.products != DTYPE_NONE};
  if (l->unit > 0 && l->unit <= t->layers) {
    snprintf(weight.name, sizeof weight.name, "layers.%u.%s", l->unit - 1, name);
  } else {
    snprintf(weight.name, sizeof weight.name, "%s", name);
  }
  weight.shard_axis = shard_axis(t, &weight);
  t->b.m->out_of_memory |= !vec_push(&t->weights, weight);
  return (uint32_t)t->weights.count - 1;
}

static struct generate_shape rows_of(int64_t rows, int64_t columns) {
  return SHAPE(rows, columns);
}

static uint32_t new_region(struct training *t, bool is_gather) {
  t->b.m->out_of_memory |= !vec_push(&t->regions, ((struct training_region){.is_gather = is_gather}));
  return (uint32_t)t->regions.count - 1;
}

/* ---- blocks ---- */

static uint32_t norm_of(struct lister *l, uint32_t x, const char *name, unsigned flags) {
  struct training *t = l->t;
  char bias[40];
  if (t->b.m->out_of_memory) {
    return x;
  }
  struct generate_shape shape = t->slots.data[x].shape;
  bool has_bias = t->model.norm == GENERATE_LAYER_NORM && t->model.biases;
  snprintf(bias, sizeof bias, "%s_bias", name);
  uint32_t weight = add_weight(l, SHAPE(shape.dims[1]), flags, name);
  uint32_t other = has_bias ? add_weight(l, SHAPE(shape.dims[1]), flags, bias) : NOTHING;
  return add(l, TRAINING_NODE_NORM, INPUTS(x), TWO(weight, other), t->p.compute, shape);
}

static uint32_t norm(struct lister *l, uint32_t x, const char *name) {
  return norm_of(l, x, name, l->t->rows < l->t->tokens ? PARTIAL : 0);
}

/* The rows of all tensor ranks, before layers that are cut over these; gathered again for the backward pass. */
static uint32_t spread(struct lister *l, uint32_t x) {
  struct training *t = l->t;
  if (t->p.tensor == 1) {
    return x;
  }
  struct generate_shape shape = rows_of(t->tokens, t->model.hidden);
  if (t->rows == t->tokens) {
    return add(l, TRAINING_NODE_TENSOR_COPY, INPUTS(x), NULL, t->p.compute, shape);
  }
  uint32_t region = l->region;
  l->region = region != 0 ? region : new_region(t, true);
  x = add(l, TRAINING_NODE_SEQUENCE_GATHER, INPUTS(x), NULL, t->p.compute, shape);
  if (region == 0) { /* what is quantised of it belongs to the same region */
    l->gathered = l->region;
  }
  l->region = region;
  return x;
}

/* The sum over tensor ranks, after such layers. */
static uint32_t gather_sum(struct lister *l, uint32_t x) {
  struct training *t = l->t;
  if (t->p.tensor == 1) {
    return x;
  }
  enum training_kind kind = t->rows == t->tokens ? TRAINING_NODE_TENSOR_SUM : TRAINING_NODE_SEQUENCE_SCATTER;
  return add(l, kind, INPUTS(x), NULL, t->p.compute, rows_of(t->rows, t->model.hidden));
}

/* Quantised first where products are. `bias` may be NOTHING. */
static uint32_t linear(struct lister *l, uint32_t x, uint32_t weight, uint32_t bias, struct generate_shape shape) {
  struct training *t = l->t;
  if (t->b.m->out_of_memory || !t->weights.data[weight].is_product) {
    return add(l, TRAINING_NODE_LINEAR, INPUTS(x), TWO(weight, bias), t->p.compute, shape);
  }
  if (l->quantised_of != x + 1) {
    uint32_t region = l->region, from = t->slots.data[x].producer;
    bool is_gathered = from > 0 && t->nodes.data[from - 1].kind == TRAINING_NODE_SEQUENCE_GATHER;
    l->region = region == 0 && is_gathered ? l->gathered : region;
    l->quantised = add(l, TRAINING_NODE_QUANTISE, INPUTS(x), NULL, t->p.products, t->slots.data[x].shape);
    l->scale = add_output(t, DTYPE_F32, SCALAR);
    l->quantised_of = x + 1;
    l->region = region;
  }
  return add(l, TRAINING_NODE_LINEAR, INPUTS(l->quantised, l->scale), TWO(weight, bias), t->p.compute, shape);
}

static uint32_t dropout(struct lister *l, uint32_t x, struct generate_shape shape) {
  struct training *t = l->t;
  if (t->seed_slot == 0) {
    return x;
  }
  x = add(l, TRAINING_NODE_DROPOUT, INPUTS(x, t->seed_slot - 1), NULL, t->p.compute, shape);
  (void)add_output(t, DTYPE_I1, shape);
  return x;
}

/* Scores, softmax, contexts, with the scores in memory. */
static uint32_t plain_attention(struct lister *l, uint32_t packed, uint32_t apart, struct generate_shape context) {
  struct training *t = l->t;
  int64_t kv = t->model.kv_heads / t->p.tensor, group = t->model.heads / t->model.kv_heads;
  int64_t keys = t->positions * t->p.context;
  struct generate_shape scores = SHAPE(t->p.micro_batch, kv, group, t->positions, keys);
  uint32_t region = l->region, own = NOTHING, other = NOTHING;
  if (t->p.recompute == GENERATE_RECOMPUTE_SELECTIVE) {
    l->region = new_region(t, false);
  }
  if (apart != NOTHING) {
    own = t->positions_slot - 1;
    other = t->key_positions_slot - 1;
  }
  uint32_t x = add(l, TRAINING_NODE_SCORES, INPUTS(packed, apart), NULL, t->p.compute, scores);
  x = add(l, TRAINING_NODE_SOFTMAX, INPUTS(x, own, other), NULL, t->p.compute, scores);
  x = dropout(l, x, scores);
  x = add(l, TRAINING_NODE_CONTEXT, INPUTS(x, packed, apart), NULL, t->p.compute, context);
  l->region = region;
  return x;
}

/* Packed rows of queries, keys and values by one product, turned by their positions. */
static uint32_t packed_heads(struct lister *l, uint32_t x) {
  struct training *t = l->t;
  const struct generate_model *model = &t->model;
  struct training_heads h = training_heads_of(t);
  int64_t columns = h.queries + h.keys + h.values;
  uint32_t weight = add_weight(l, SHAPE(model->hidden, columns), CUT | PRODUCT, "qkv");
  uint32_t bias = model->biases ? add_weight(l, SHAPE(columns), CUT, "qkv_bias") : NOTHING;
  x = linear(l, spread(l, x), weight, bias, rows_of(t->tokens, columns));
  if (model->head_norms) {
    uint32_t queries = add_weight(l, SHAPE(h.size), PARTIAL, "query_norm");
    uint32_t keys = add_weight(l, SHAPE(h.size), PARTIAL, "key_norm");
    x = add(l, TRAINING_NODE_HEAD_NORMS, INPUTS(x), TWO(queries, keys), t->p.compute, rows_of(t->tokens, columns));
  }
  if (model->positions == 0 && model->rope_theta > 0) {
    x = add(l, TRAINING_NODE_ROTARY, INPUTS(x, t->positions_slot - 1), NULL, t->p.compute, rows_of(t->tokens, columns));
  }
  return x;
}

/* The same from latent rows, which every tensor rank has in full. */
static uint32_t latent_heads(struct lister *l, uint32_t x) {
  struct training *t = l->t;
  const struct generate_model *model = &t->model;
  struct training_heads h = training_heads_of(t);
  int64_t plain = h.kv * (h.size - model->rope_size), latent = model->kv_rank + model->rope_size;
  uint32_t queries = x = spread(l, x), weight;
  if (model->query_rank > 0) {
    weight = add_weight(l, SHAPE(model->hidden, model->query_rank), PARTIAL | PRODUCT, "query_down");
    queries = linear(l, x, weight, NOTHING, rows_of(t->tokens, model->query_rank));
  }
  weight = add_weight(l, SHAPE(model->hidden, latent), PARTIAL | PRODUCT, "kv_down");
  uint32_t rows = linear(l, x, weight, NOTHING, rows_of(t->tokens, latent));
  queries = model->query_rank > 0 ? norm_of(l, queries, "query_norm", PARTIAL) : queries;
  weight = add_weight(l, SHAPE(model->query_rank > 0 ? model->query_rank : model->hidden, h.queries), CUT | PRODUCT,
                      "query_up");
  queries = linear(l, queries, weight, NOTHING, rows_of(t->tokens, h.queries));
  x = add(l, TRAINING_NODE_LATENT, INPUTS(rows), NULL, t->p.compute, rows_of(t->tokens, model->kv_rank));
  x = norm_of(l, x, "kv_norm", PARTIAL);
  weight = add_weight(l, SHAPE(model->kv_rank, plain + h.values), CUT | PRODUCT, "kv_up");
  x = linear(l, x, weight, NOTHING, rows_of(t->tokens, plain + h.values));
  return add(l, TRAINING_NODE_LATENT_HEADS, INPUTS(queries, x, rows, t->positions_slot - 1), NULL, t->p.compute,
             rows_of(t->tokens, h.queries + h.keys + h.values));
}

/* The bias of a layer whose product no tensor rank sums, added in the product as PyTorch does. Megatron leaves it to the
 * kernel that follows, and so does whoever has a sum over tensor ranks before it. NOTHING then. */
static uint32_t eager_bias(struct lister *l, int64_t columns, unsigned flags, const char *name) {
  const struct training *t = l->t;
  bool is_here = t->p.framework == GENERATE_EAGER && t->model.biases && t->p.tensor == 1;
  return is_here ? add_weight(l, SHAPE(columns), flags, name) : NOTHING;
}

static uint32_t attention(struct lister *l, uint32_t x) {
  struct training *t = l->t;
  struct training_heads h = training_heads_of(t);
  int64_t contexts = h.kv * h.group * h.value_size;
  uint32_t apart = NOTHING;
  x = t->model.kv_rank > 0 ? latent_heads(l, x) : packed_heads(l, x);
  if (t->p.context > 1) {
    apart = add(l, TRAINING_NODE_GATHER_KEYS, INPUTS(x), NULL, t->p.compute,
                rows_of(t->tokens * t->p.context, h.keys + h.values));
  }
  if (t->p.attention != GENERATE_ATTENTION_FLASH) {
    x = plain_attention(l, x, apart, rows_of(t->tokens, contexts));
  } else {
    bool is_apart = apart != NOTHING;
    uint32_t own = is_apart ? t->positions_slot - 1 : NOTHING, other = is_apart ? t->key_positions_slot - 1 : NOTHING;
    x = add(l, TRAINING_NODE_FLASH, INPUTS(x, apart, own, other), NULL, t->p.compute, rows_of(t->tokens, contexts));
    (void)add_output(t, DTYPE_F32, SHAPE(h.sequences, h.kv, h.group, t->positions));
  }
  uint32_t out = add_weight(l, SHAPE(contexts, t->model.hidden), CUT | PRODUCT, "out");
  uint32_t bias = eager_bias(l, t->model.hidden, 0, "out_bias");
  return gather_sum(l, linear(l, x, out, bias, rows_of(t->tokens, t->model.hidden)));
}

/* Up, activation, down, of `ffn` columns in all, before the sum over tensor ranks. */
static uint32_t dense_ffn(struct lister *l, uint32_t x, int64_t ffn, const char *up_name, const char *down_name) {
  struct training *t = l->t;
  int64_t width = ffn / t->p.tensor, up = t->model.gated_ffn ? 2 * width : width;
  char name[40];
  uint32_t bias = NOTHING, weight = add_weight(l, SHAPE(t->model.hidden, up), CUT | PRODUCT, up_name);
  snprintf(name, sizeof name, "%s_bias", up_name);
  uint32_t own = eager_bias(l, up, CUT, name);
  if (t->model.biases && own == NOTHING) {
    bias = add_weight(l, SHAPE(up), CUT, name);
  }
  x = linear(l, x, weight, own, rows_of(t->tokens, up));
  x = add(l, TRAINING_NODE_ACTIVATION, INPUTS(x), ONE(bias), t->p.compute, rows_of(t->tokens, width));
  weight = add_weight(l, SHAPE(width, t->model.hidden), CUT | PRODUCT, down_name);
  snprintf(name, sizeof name, "%s_bias", down_name);
  own = eager_bias(l, t->model.hidden, 0, name);
  return linear(l, x, weight, own, rows_of(t->tokens, t->model.hidden));
}

static uint32_t expert_ffn(struct lister *l, uint32_t x) {
  struct training *t = l->t;
  const struct generate_model *model = &t->model;
  int64_t hidden = model->hidden, width = model->ffn / t->p.tensor, up = model->gated_ffn ? 2 * width : width;
  int64_t experts = model->experts, own = experts / t->p.expert, rows = t->tokens * model->experts_per_token / experts;
  struct generate_shape here = SHAPE(experts, rows, hidden), there = SHAPE(own, rows * t->p.expert, hidden);
  uint32_t router = add_weight(l, SHAPE(hidden, experts), PARTIAL, "router");
  uint32_t scores = add(l, TRAINING_NODE_LINEAR, INPUTS(x), ONE(router), t->p.compute, rows_of(t->tokens, experts));
  uint32_t shares =
      add(l, TRAINING_NODE_ROUTER, INPUTS(scores), NULL, DTYPE_F32, rows_of(t->tokens, model->experts_per_token));
  uint32_t y = add(l, TRAINING_NODE_PERMUTE, INPUTS(x), NULL, t->p.compute, here);
  y = t->p.expert > 1 ? add(l, TRAINING_NODE_DISPATCH, INPUTS(y), NULL, t->p.compute, there) : y;
  uint32_t weight = add_weight(l, SHAPE(own, hidden, up), CUT | EXPERT | PRODUCT, model->gated_ffn ? "gate_up" : "up");
  y = linear(l, y, weight, NOTHING, SHAPE(own, rows * t->p.expert, up));
  y = add(l, TRAINING_NODE_ACTIVATION, INPUTS(y), NULL, t->p.compute, SHAPE(own, rows * t->p.expert, width));
  weight = add_weight(l, SHAPE(own, width, hidden), CUT | EXPERT | PRODUCT, "down");
  y = linear(l, y, weight, NOTHING, there);
  y = t->p.expert > 1 ? add(l, TRAINING_NODE_COMBINE, INPUTS(y), NULL, t->p.compute, here) : y;
  y = add(l, TRAINING_NODE_UNPERMUTE, INPUTS(y, shares), NULL, t->p.compute, rows_of(t->tokens, hidden));
  if (model->shared_ffn > 0) {
    uint32_t shared = dense_ffn(l, x, model->shared_ffn, "shared_up", "shared_down");
    y = add(l, TRAINING_NODE_ADD, INPUTS(y, shared), NULL, t->p.compute, rows_of(t->tokens, hidden));
  }
  return y;
}

static uint32_t residual(struct lister *l, uint32_t x, uint32_t y, const char *name) {
  struct training *t = l->t;
  uint32_t bias = NOTHING;
  bool is_in_product = t->p.framework == GENERATE_EAGER && t->p.tensor == 1;
  if (t->model.biases && name != NULL && !is_in_product) {
    bias = add_weight(l, SHAPE(t->model.hidden), t->rows < t->tokens ? PARTIAL : 0, name);
  }
  struct generate_shape shape = rows_of(t->rows, t->model.hidden);
  if (t->seed_slot == 0) {
    return add(l, TRAINING_NODE_RESIDUAL, INPUTS(x, y), ONE(bias), t->p.compute, shape);
  }
  x = add(l, TRAINING_NODE_RESIDUAL, INPUTS(x, y, t->seed_slot - 1), ONE(bias), t->p.compute, shape);
  (void)add_output(t, DTYPE_I1, shape);
  return x;
}

static uint32_t layer(struct lister *l, uint32_t x) {
  struct training *t = l->t;
  const struct generate_model *model = &t->model;
  bool is_first = t->place == TRAINING_ONLY || t->place == TRAINING_FIRST;
  bool is_dense = model->experts == 0 || (is_first && l->unit <= model->dense_layers);
  bool recomputes = t->p.recompute == GENERATE_RECOMPUTE_FULL || t->p.recompute == GENERATE_RECOMPUTE_CONTRACTIONS;
  l->region = recomputes ? new_region(t, false) : 0;
  uint32_t y = attention(l, norm(l, x, "attention_norm"));
  y = model->post_norms ? norm(l, y, "attention_post_norm") : y;
  x = residual(l, x, y, "out_bias");
  y = spread(l, norm(l, x, "ffn_norm"));
  if (is_dense) {
    int64_t ffn = model->experts > 0 && model->dense_ffn > 0 ? model->dense_ffn : model->ffn;
    y = dense_ffn(l, y, ffn, model->gated_ffn ? "gate_up" : "up", "down");
  } else {
    y = expert_ffn(l, y);
  }
  y = gather_sum(l, y);
  y = model->post_norms ? norm(l, y, "ffn_post_norm") : y;
  x = residual(l, x, y, is_dense ? "down_bias" : NULL);
  l->region = 0;
  return x;
}

/* ---- ends ---- */

static int64_t vocabulary_part(const struct training *t) {
  return ((int64_t)t->model.vocabulary + t->p.tensor - 1) / t->p.tensor;
}

static uint32_t embedding(struct lister *l) {
  struct training *t = l->t;
  uint32_t table = add_weight(l, SHAPE(vocabulary_part(t), t->model.hidden), CUT, "embedding");
  t->tied = t->model.tied_embedding && t->place == TRAINING_ONLY ? table + 1 : 0;
  uint32_t x = add(l, TRAINING_NODE_EMBED, INPUTS(t->tokens_slot - 1), ONE(table), t->p.compute,
                   rows_of(t->tokens, t->model.hidden));
  x = gather_sum(l, x);
  if (t->model.positions > 0) {
    int64_t rows = t->model.positions;
    unsigned flags = t->rows < t->tokens ? PARTIAL : 0;
    uint32_t positions = add_weight(l, SHAPE(rows, t->model.hidden), flags, "positions");
    x = add(l, TRAINING_NODE_POSITIONS, INPUTS(x, t->positions_slot - 1), ONE(positions), t->p.compute,
            rows_of(t->rows, t->model.hidden));
  }
  return dropout(l, x, rows_of(t->rows, t->model.hidden));
}

static void head(struct lister *l, uint32_t x) {
  struct training *t = l->t;
  int64_t part = vocabulary_part(t);
  x = spread(l, norm(l, x, "final_norm"));
  bool is_tied = t->tied != 0;
  uint32_t weight = is_tied ? t->tied - 1 : add_weight(l, SHAPE(t->model.hidden, part), CUT, "head");
  x = add(l, TRAINING_NODE_LINEAR, INPUTS(x), ONE(weight), t->p.compute, rows_of(t->tokens, part));
  if (!t->b.m->out_of_memory) {
    t->nodes.data[t->nodes.count - 1].is_transposed = is_tied;
  }
  x = t->model.logit_cap > 0 ? add(l, TRAINING_NODE_CAP, INPUTS(x), NULL, t->p.compute, rows_of(t->tokens, part)) : x;
  t->loss = 1 + add(l, TRAINING_NODE_LOSS, INPUTS(x, t->targets_slot - 1), NULL, DTYPE_F32, SCALAR);
  (void)add_output(t, DTYPE_F32, rows_of(t->tokens, part));
}

void training_list_nodes(struct training *t) {
  struct lister l = {.t = t};
  bool is_first = t->place == TRAINING_ONLY || t->place == TRAINING_FIRST;
  bool is_last = t->place == TRAINING_ONLY || t->place == TRAINING_LAST;
  bool has_rotary = t->model.positions == 0 && t->model.rope_theta > 0;
  bool needs_positions = has_rotary || (is_first && t->model.positions > 0) || t->p.context > 1;
  uint32_t x;
  t->weights.count = t->slots.count = t->nodes.count = 0;
  t->tokens_slot = t->targets_slot = t->positions_slot = t->key_positions_slot = t->seed_slot = 0;
  t->boundary_in = t->boundary_out = t->loss = t->tied = 0;
  t->regions.count = 0;
  (void)new_region(t, false);
  if (needs_positions) {
    t->positions_slot = add_input(t, DTYPE_I32, SHAPE(t->positions), "positions");
  }
  if (t->p.context > 1) {
    t->key_positions_slot = add_input(t, DTYPE_I32, SHAPE(t->positions * t->p.context), "key_positions");
  }
  if (t->p.dropout > 0) {
    t->seed_slot = add_input(t, DTYPE_I32, SCALAR, "seed");
  }
  if (is_first) {
    t->tokens_slot = add_input(t, DTYPE_I32, SHAPE(t->tokens), "tokens");
    x = embedding(&l);
  } else {
    x = add_slot(t, t->p.compute, rows_of(t->sent_rows, t->model.hidden));
    t->boundary_in = x + 1;
    if (t->sent_rows < t->rows) {
      x = add(&l, TRAINING_NODE_RECEIVE, INPUTS(x), NULL, t->p.compute, rows_of(t->rows, t->model.hidden));
    }
  }
  for (l.unit = 1; l.unit <= t->layers && !t->b.m->out_of_memory; l.unit++) {
    x = layer(&l, x);
  }
  if (is_last) {
    t->targets_slot = add_input(t, DTYPE_I32, SHAPE(t->tokens), "targets");
    head(&l, x);
  } else {
    if (t->sent_rows < t->rows) {
      x = add(&l, TRAINING_NODE_SEND, INPUTS(x), NULL, t->p.compute, rows_of(t->sent_rows, t->model.hidden));
    }
    t->boundary_out = x + 1;
  }
}
