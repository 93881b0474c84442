/* Programs from configurations: a model's published shapes and a request (decode or prefill step, batch, sequence) become a
 * StableHLO module, unrolled layer by layer. Models are rows of generate_models.def with the source of every number. */
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

struct generate_model {
  const char *name; /* "llama2-13b" */
  const char *summary, *source; /* title and address of the configuration's publication */
  uint8_t family; /* enum generate_family */
  uint32_t layers, hidden, heads, kv_heads, head_size, ffn, vocabulary, experts, experts_per_token;
  uint32_t positions; /* learned positions (OPT), patches (vision) */
  bool gated_ffn, tied_embedding;
  uint64_t published_parameters; /* as published, for the check; tolerance in the test */
};
/* NULL-terminated. */
extern const struct generate_model *const generate_models[];
const struct generate_model *generate_model_find(const char *name, struct diag_list *diags);

struct generate_request {
  enum generate_phase phase;
  uint32_t batch, sequence; /* decode: entries in the KV cache, the new token's included; prefill: prompt length */
  enum dtype activations; /* F16, BF16 or F32 */
  enum dtype weights; /* the same, or I8, I4: weight-only quantisation with one scale per output column */
  uint32_t layers; /* 0 = the model's */
  uint32_t divide; /* 0, 1 = true sizes; n: heads, hidden, ffn, vocabulary divided for reduced checks */
};
/* A new module with one function @main; arguments are tokens (or images), weights by name, caches; results logits (or the
 * step's output) and the updated caches. E0805 for requests the model cannot take. */
enum status generate_module(const struct generate_model *model, const struct generate_request *request,
                            struct diag_list *diags, struct ir_module **module);
/* Elements of all weights of the module's entry function. */
uint64_t generate_parameters(const struct ir_module *module);

#endif
