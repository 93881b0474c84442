/* Decoder-only language models: one step of decoding with a KV cache, or prefill. */
#include <math.h>

#include "generate/generate_layers.h"

struct decoder {
  struct generate_weight embedding, positions;
  struct generate_linear final_norm, head;
  struct generate_block *blocks;
  uint32_t first_cache, tokens, position; /* arguments; cache of layer i: keys first_cache + 2 i, then values */
  struct ir_value position_value;
  struct ir_value masks[2]; /* of layers that see all, and of those with a window */
};

static struct generate_shape cache_shape(const struct generate_step *s) {
  return SHAPE(s->batch, s->model.kv_heads, s->request->sequence, s->model.head_size);
}

static bool declare(struct generate_step *s, struct decoder *d) {
  struct generate_builder *b = &s->b;
  const struct generate_model *model = &s->model;
  struct generate_shape table = SHAPE(model->vocabulary, model->hidden);
  d->blocks = arena_calloc(&b->m->arena, model->layers, sizeof *d->blocks);
  if (d->blocks == NULL) {
    b->m->out_of_memory = true;
    return false;
  }
  /* only a table that is also multiplied by is quantised */
  d->embedding = model->tied_embedding ? generate_declare_matrix(b, table, 1, "embedding", 0)
                                       : generate_declare_plain(b, table, "embedding", 0);
  if (model->positions > 0) {
    d->positions = generate_declare_plain(b, SHAPE(model->positions, model->hidden), "positions", 0);
  }
  for (uint32_t i = 0; i < model->layers; i++) {
    generate_declare_block(s, i, &d->blocks[i]);
  }
  d->final_norm = generate_declare_norm(s, "final_norm", 0);
  if (!model->tied_embedding) {
    d->head = generate_declare_linear(b, model->hidden, model->vocabulary, false, "head", 0);
  }
  d->first_cache = (uint32_t)b->arguments.count;
  for (uint32_t i = 0; i < model->layers && s->is_decode; i++) {
    (void)generate_declare(b, b->activations, cache_shape(s), (int32_t)(1 + 2 * i), "cache.%u.keys", i);
    (void)generate_declare(b, b->activations, cache_shape(s), (int32_t)(2 + 2 * i), "cache.%u.values", i);
  }
  struct generate_shape tokens = s->is_decode ? SHAPE(s->batch) : SHAPE(s->batch, s->length);
  d->tokens = generate_declare(b, DTYPE_I32, tokens, -1, "tokens", 0);
  d->position = s->is_decode ? generate_declare(b, DTYPE_I32, SCALAR, -1, "position", 0) : 0;
  return true;
}

/* ---- positions ---- */

/* Cosines and sines of position theta^(-i / (size / 2)). */
static void rotary_tables(struct generate_step *s, const struct decoder *d) {
  struct generate_builder *b = &s->b;
  int64_t half = s->model.head_size / 2;
  struct ir_value powers =
      generate_binary_scalar(b, IR_OP_DIVIDE, generate_iota(b, DTYPE_F32, SHAPE(half), 0), -(double)half);
  struct ir_value theta =
      generate_broadcast(b, generate_constant(b, DTYPE_F32, s->model.rope_theta), SHAPE(half), SCALAR);
  struct ir_value angles = generate_binary(b, IR_OP_POWER, theta, powers);
  if (s->is_decode) {
    angles =
        generate_binary_along(b, IR_OP_MULTIPLY, angles, generate_convert(b, d->position_value, DTYPE_F32), SCALAR);
  } else {
    struct ir_value positions = generate_iota(b, DTYPE_F32, SHAPE(s->length, half), 0);
    angles = generate_binary_along(b, IR_OP_MULTIPLY, positions, angles, AXES(1));
  }
  s->cosines = generate_unary(b, IR_OP_COSINE, angles);
  s->sines = generate_unary(b, IR_OP_SINE, angles);
}

/* Which entry is seen: [entries] in decode, [length, entries] in prefill; index 1: with the window. */
static void build_masks(struct generate_step *s, struct decoder *d) {
  struct generate_builder *b = &s->b;
  int64_t entries = s->request->sequence;
  struct generate_shape shape = s->is_decode ? SHAPE(entries) : SHAPE(s->length, entries);
  struct ir_value entry = generate_iota(b, DTYPE_I32, shape, shape.rank - 1);
  struct ir_value own =
      s->is_decode ? generate_broadcast(b, d->position_value, shape, SCALAR) : generate_iota(b, DTYPE_I32, shape, 0);
  d->masks[0] = d->masks[1] = generate_compare(b, "LE", entry, own);
  if (s->model.window > 0 && s->model.window < s->request->sequence) { /* else it hides nothing */
    struct ir_value before = generate_binary_scalar(b, IR_OP_SUBTRACT, own, s->model.window);
    d->masks[1] = generate_binary(b, IR_OP_AND, d->masks[0], generate_compare(b, "GT", entry, before));
  }
}

/* ---- ends ---- */

/* Rows of the table and of their scales. */
static struct ir_value embed(struct generate_step *s, const struct decoder *d) {
  struct generate_builder *b = &s->b;
  struct ir_value tokens = generate_argument_value(b, d->tokens);
  if (!s->is_decode) {
    tokens = generate_reshape(b, tokens, SHAPE(s->batch * s->length));
  }
  struct ir_value x = generate_rows(b, generate_argument_value(b, d->embedding.value - 1), tokens);
  if (d->embedding.scale != 0) {
    struct ir_value scales = generate_rows(b, generate_argument_value(b, d->embedding.scale - 1), tokens);
    x = generate_binary_along(b, IR_OP_MULTIPLY, generate_convert(b, x, b->activations), scales, AXES(0));
  }
  if (s->model.scaled_embedding) {
    x = generate_binary_scalar(b, IR_OP_MULTIPLY, x, sqrt(s->model.hidden));
  }
  return x;
}

static struct ir_value add_positions(struct generate_step *s, const struct decoder *d, struct ir_value x) {
  struct generate_builder *b = &s->b;
  struct ir_value table = generate_weight_value(b, d->positions, 0);
  int64_t offset = s->model.position_offset, hidden = s->model.hidden;
  if (s->is_decode) {
    struct ir_value row = generate_reshape(b, d->position_value, SHAPE(1));
    row = offset > 0 ? generate_binary_scalar(b, IR_OP_ADD, row, (double)offset) : row;
    row = generate_reshape(b, generate_rows(b, table, row), SHAPE(hidden));
    return generate_binary_along(b, IR_OP_ADD, x, row, AXES(1));
  }
  struct ir_value rows = generate_slice(b, table, 0, offset, offset + s->length);
  x = generate_reshape(b, x, SHAPE(s->batch, s->length, hidden));
  x = generate_binary_along(b, IR_OP_ADD, x, rows, AXES(1, 2));
  return generate_reshape(b, x, SHAPE(s->batch * s->length, hidden));
}

/* Logits, in f32, after the last token of each sequence. */
static struct ir_value predict(struct generate_step *s, const struct decoder *d, struct ir_value x) {
  struct generate_builder *b = &s->b;
  int64_t hidden = s->model.hidden;
  if (!s->is_decode) {
    x = generate_reshape(b, x, SHAPE(s->batch, s->length, hidden));
    x = generate_reshape(b, generate_slice(b, x, 1, s->length - 1, s->length), SHAPE(s->batch, hidden));
  }
  x = generate_norm(s, x, d->final_norm);
  uint32_t contracted = s->model.tied_embedding ? 1 : 0;
  struct generate_weight head = s->model.tied_embedding ? d->embedding : d->head.weight;
  x = generate_dot(b, x, 1, generate_weight_value(b, head, contracted), contracted, 0, DTYPE_F32);
  return generate_capped(b, x, s->model.logit_cap);
}

/* ---- layers ---- */

/* Attention of one layer; its keys and values, or its updated caches, become results. */
static struct ir_value attention(struct generate_step *s, struct decoder *d, uint32_t layer, struct ir_value x) {
  struct generate_builder *b = &s->b;
  struct ir_value queries, keys, values;
  generate_split_heads(s, generate_dense(b, x, d->blocks[layer].qkv), &queries, &keys, &values);
  if (s->is_decode) {
    uint32_t cache = d->first_cache + 2 * layer;
    keys = generate_update(b, generate_argument_value(b, cache), keys, 2, d->position_value);
    values = generate_update(b, generate_argument_value(b, cache + 1), values, 2, d->position_value);
  }
  generate_result(b, keys, "cache.%u.keys", layer);
  generate_result(b, values, "cache.%u.values", layer);
  struct ir_value context = generate_attend(s, queries, keys, values, d->masks[layer % 2 == 0]);
  return generate_dense(b, generate_merge_heads(s, context), d->blocks[layer].out);
}

static struct ir_value add_layer(struct generate_step *s, struct decoder *d, uint32_t layer, struct ir_value x) {
  struct generate_builder *b = &s->b;
  const struct generate_block *block = &d->blocks[layer];
  struct ir_value y = attention(s, d, layer, generate_norm(s, x, block->attention_norm));
  y = s->model.post_norms ? generate_norm(s, y, block->attention_post_norm) : y;
  x = generate_binary(b, IR_OP_ADD, x, y);
  y = generate_ffn(s, generate_norm(s, x, block->ffn_norm), block);
  y = s->model.post_norms ? generate_norm(s, y, block->ffn_post_norm) : y;
  return generate_binary(b, IR_OP_ADD, x, y);
}

void generate_decoder(struct generate_step *s) {
  struct generate_builder *b = &s->b;
  struct decoder d = {0};
  if (!declare(s, &d)) {
    return;
  }
  generate_begin(b);
  if (s->is_decode) {
    d.position_value = generate_argument_value(b, d.position);
  }
  if (s->model.positions == 0) {
    rotary_tables(s, &d);
  }
  build_masks(s, &d);
  struct ir_value x = embed(s, &d);
  x = s->model.positions > 0 ? add_positions(s, &d, x) : x;
  generate_result(b, x, "logits", 0); /* the first result; its value comes last */
  for (uint32_t i = 0; i < s->model.layers; i++) {
    x = add_layer(s, &d, i, x);
  }
  x = predict(s, &d, x);
  if (b->results.count > 0) {
    b->results.data[0] = x;
  }
  generate_end(b);
}
