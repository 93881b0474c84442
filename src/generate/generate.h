/* Programs from configurations: a model's published shapes and a request (decode or prefill step, batch, sequence) become a
 * StableHLO module, unrolled layer by layer. Models are rows of generate_models.def with the source of every number.
 *
 * Training steps of the same models: generate_training.h.
 *
 * Path: generate_models (rows) → generate_module (checks, @main) → generate_decoder, _vision, _diffusion (families) →
 * generate_layers (blocks that families share) → generate_build (operations). What a module contains: docs/generate.md. */
#ifndef RIDGELINE_GENERATE_GENERATE_H
#define RIDGELINE_GENERATE_GENERATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/dtype.h"
#include "base/status.h"
#include "ir/ir.h"

enum generate_family { GENERATE_DECODER, GENERATE_ENCODER_VISION, GENERATE_DIFFUSION_TRANSFORMER };
enum generate_phase { GENERATE_DECODE, GENERATE_PREFILL, GENERATE_FORWARD /* vision, diffusion: one step */ };
enum generate_norm { GENERATE_RMS_NORM, GENERATE_RMS_NORM_PLUS_ONE /* x (1 + weight) */, GENERATE_LAYER_NORM };
enum generate_activation { GENERATE_SILU, GENERATE_GELU_TANH, GENERATE_RELU };

struct generate_model {
  const char *name; /* "llama2-13b" */
  const char *summary, *source; /* title and address of the configuration's publication */
  uint8_t family; /* enum generate_family */
  uint8_t norm; /* enum generate_norm */
  uint8_t activation; /* enum generate_activation */
  uint32_t layers, hidden, heads, kv_heads, head_size, ffn, vocabulary, experts, experts_per_token;
  uint32_t positions; /* rows of the table of learned positions; 0 = rotary (decoders) or from the patches */
  uint32_t position_offset; /* the row of position 0 */
  bool gated_ffn, tied_embedding, biases;
  bool post_norms; /* also a norm after attention and after the feed-forward part, before the residual */
  bool scaled_embedding; /* multiplied by the root of the hidden size */
  double norm_epsilon, rope_theta;
  double query_scale; /* scores are divided by the root of this; 0 = the head size */
  double attention_cap, logit_cap; /* cap tanh(x / cap); 0 = none */
  /* Training only, as the two lines below: a norm of each query and key head; latent attention (DeepSeek-AI 2024,
   * arXiv:2405.04434): widths of what queries, and keys with values, are made from (0 = plain attention), the part of
   * head_size that is turned by its position, and the size of values. */
  bool head_norms;
  uint32_t query_rank, kv_rank, rope_size, value_size;
  uint32_t shared_ffn; /* of experts: columns of one more that sees every token; 0 = none. Training only */
  uint32_t dense_layers, dense_ffn; /* of experts: so many first layers are dense, of other width. Training only */
  uint32_t window; /* of every other layer, from the first: positions seen, the token's own included; 0 = all see all */
  uint32_t side, patch, channels; /* vision, diffusion: images or latents of side x side x channels */
  uint32_t classes;
  uint32_t frequencies; /* diffusion: features of the time step */
  uint64_t published_parameters; /* as published, for the check; tolerance in the test */
};
/* NULL-terminated. */
extern const struct generate_model *const generate_models[];
/* Those whose training runs are published. */
extern const struct generate_model *const generate_training_models[];
/* Models with parts that only training steps have (see the fields). */
bool generate_is_training_only(const struct generate_model *model);
/* Ignores case. NULL, with E0805 and the names there are, when there is no such model; `diags` may be NULL. */
const struct generate_model *generate_model_find(const char *name, struct diag_list *diags);

struct generate_request {
  enum generate_phase phase;
  uint32_t batch, sequence; /* decode: entries in the KV cache, the new token's included; prefill: prompt length;
                               forward: not used */
  enum dtype activations; /* F16, BF16 or F32 */
  enum dtype weights; /* the same (or NONE), or I8, I4: weight-only quantisation with one scale per output column */
  uint32_t layers; /* 0 = the model's; otherwise at most so many */
  uint32_t divide; /* 0, 1 = true sizes; n: heads, hidden, ffn, vocabulary divided for reduced checks */
  bool more_positions; /* a table of learned positions that is too short for the sequence is made long enough */
};
/* A new module with one function @main; arguments are weights ("weights.layers.0.qkv" and, quantised, "scales..." in
 * jax.arg_info), caches ("cache.0.keys"), then tokens and the position (or images, or latents, times and classes); results
 * logits (or the step's output) and the updated caches, which take the storage of those given. E0805 for requests the model
 * cannot take. */
enum status generate_module(const struct generate_model *model, const struct generate_request *request,
                            struct diag_list *diags, struct ir_module **module);
/* Elements of all weights of the module's entry function; scales of quantised ones are none. */
uint64_t generate_parameters(const struct ir_module *module);

#endif
