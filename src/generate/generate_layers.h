/* Blocks that the families share. x is [tokens, hidden] or [batch, tokens, hidden]; matrices are [in, out]; norms, rotary
 * embedding and softmax work in f32, everything else in the activations' type. */
#ifndef RIDGELINE_GENERATE_GENERATE_LAYERS_H
#define RIDGELINE_GENERATE_GENERATE_LAYERS_H

#include "generate/generate_build.h"

/* A matrix or a norm's weight, and its bias when it has one. */
struct generate_linear {
  struct generate_weight weight, bias;
};

struct generate_block {
  struct generate_linear attention_norm, qkv, out, attention_post_norm;
  struct generate_linear ffn_norm, up /* gate and up side by side when gated */, down, ffn_post_norm;
  struct generate_weight router; /* then `up` and `down` have a leading axis of experts */
  struct generate_linear modulation; /* diffusion: six vectors from the condition, instead of weights of norms */
};

/* What is built: the model with its sizes divided, and the request. */
struct generate_step {
  struct generate_builder b;
  struct generate_model model;
  const struct generate_request *request;
  int64_t batch;
  int64_t length; /* tokens per sequence and step */
  bool is_decode; /* length 1, without an axis of its own */
  struct ir_value cosines, sines; /* rotary tables: [size / 2] in decode, else [length, size / 2]; 0 = none */
};

struct generate_linear generate_declare_linear(struct generate_builder *b, int64_t in, int64_t out, bool bias,
                                               const char *name, unsigned layer);
/* `name` is at most 48 bytes here and above. */
struct generate_linear generate_declare_norm(struct generate_step *s, const char *name, unsigned layer);
void generate_declare_block(struct generate_step *s, unsigned layer, struct generate_block *block);

struct ir_value generate_dense(struct generate_builder *b, struct ir_value x, struct generate_linear linear);
/* The model's norm over the last axis; without a weight: plain. */
struct ir_value generate_norm(struct generate_step *s, struct ir_value x, struct generate_linear norm);
struct ir_value generate_activation(struct generate_builder *b, enum generate_activation kind, struct ir_value x);

/* cap tanh(x / cap); x when there is no cap. */
struct ir_value generate_capped(struct generate_builder *b, struct ir_value x, double cap);

/* Projected x [tokens, (heads + 2 kv heads) size] as queries [batch, kv heads, group, (length,) size], scaled, and keys and
 * values [batch, kv heads, length, size]. The group's axis is left out when it is 1 and there is a length. */
void generate_split_heads(struct generate_step *s, struct ir_value x, struct ir_value *queries, struct ir_value *keys,
                          struct ir_value *values);
/* Softmax attention of all query rows over all keys. `mask` (0 = none) is true where a key is seen and belongs to the last
 * axes of the scores. */
struct ir_value generate_attend(struct generate_step *s, struct ir_value queries, struct ir_value keys,
                                struct ir_value values, struct ir_value mask);
/* Contexts in the layout of the queries as [tokens, heads size]. */
struct ir_value generate_merge_heads(struct generate_step *s, struct ir_value context);
struct ir_value generate_ffn(struct generate_step *s, struct ir_value x, const struct generate_block *block);

/* Images [batch, side, side, channels] as [batch patches, values of a patch]. */
struct ir_value generate_patches(struct generate_step *s, struct ir_value images);

/* ---- families: declare, build and return everything between generate_begin and generate_end, both included ---- */
void generate_decoder(struct generate_step *s);
void generate_vision(struct generate_step *s);
void generate_diffusion(struct generate_step *s);

#endif
