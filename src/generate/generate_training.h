/* Training steps from configurations: a decoder (GPT, Llama, mixture of experts, latent attention), a way to spread it over
 * devices, and the kernels of a framework become a StableHLO module of one device with explicit collectives.
 *
 * Without a pipeline and with one micro-batch the module has one function @main: the whole step. Else it has one function per
 * place in the pipeline and role in the step, "first_forward", "middle_backward", "last_backward_last", "only_update" (see
 * cluster/step.h for the roles; there is a BACKWARD_LAST when gradients are exchanged beside it), and the module says how
 * they make a step:
 *   ridgeline.step = {schedule = "1f1b", stages = 8 : i64, chunks = 1 : i64, microbatches = 64 : i64, boundary_bytes = ...,
 *                     overlap = "as_written", tokens = ... : i64, samples = ... : i64, model_flops = ... : f64,
 *                     waits_for_sends = true}
 * @main modules carry the same attribute with stages = 1. sdy.mesh @mesh names the axes of one stage's devices, slowest
 * first ("replica", "data", "expert", "context", "tensor", those of more than one device); collectives give their groups by
 * axes (#stablehlo.replica_group_mesh_axes).
 *
 * Arguments and results are named by role (jax.arg_info): "weights.", "scales.", "gradients.", "optimizer.", "activations."
 * (what forward leaves to backward), "boundary", "boundary_gradient", and the inputs "tokens", "targets", "positions",
 * "key_positions", "seed", "step".
 *
 * Kernels that a framework runs as one are stablehlo.composite operations whose name starts with "kernel." and whose
 * decomposition says what they compute; lowering makes one task of each ("kernel.flash_attention": no scores in memory).
 */
#ifndef RIDGELINE_GENERATE_GENERATE_TRAINING_H
#define RIDGELINE_GENERATE_GENERATE_TRAINING_H

#include "generate/generate.h"

enum generate_sharded {
  GENERATE_SHARD_NOTHING, /* plain data parallelism: all-reduce of gradients */
  GENERATE_SHARD_OPTIMIZER, /* ZeRO-1: reduce-scatter gradients, gather parameters after the update */
  GENERATE_SHARD_GRADIENTS, /* ZeRO-2 */
  GENERATE_SHARD_PARAMETERS /* ZeRO-3, FSDP: gather parameters before each use */
};
enum generate_recompute {
  GENERATE_RECOMPUTE_NONE,
  GENERATE_RECOMPUTE_SELECTIVE, /* scores and softmax of attention (Korthikanti et al. 2022, section 5) */
  GENERATE_RECOMPUTE_FULL, /* every layer from its input */
  GENERATE_RECOMPUTE_CONTRACTIONS /* all but products: MaxText's "minimal" */
};
enum generate_attention {
  GENERATE_ATTENTION_PLAIN, /* scores written to memory, operation by operation */
  GENERATE_ATTENTION_FUSED_SOFTMAX, /* Megatron: scores in memory, one kernel for scale, mask and softmax */
  GENERATE_ATTENTION_FLASH
};
/* Whose program it is: how operations are grouped into kernels and how communication is ordered. */
enum generate_framework {
  GENERATE_XLA, /* as JAX exports it: the compiler fuses and schedules. A Llama step with plain attention, CONTRACTIONS and
                   PARAMETERS on data ranks alone is MaxText's, operation by operation */
  GENERATE_MEGATRON, /* PyTorch with Megatron-LM's fused kernels; overlap as written */
  GENERATE_EAGER /* PyTorch, operation by operation */
};
enum generate_optimizer { GENERATE_ADAM, GENERATE_SGD_MOMENTUM };

struct generate_training {
  enum generate_framework framework;
  uint32_t sequence;
  uint32_t global_batch; /* sequences per step, all devices */
  uint32_t micro_batch; /* sequences of one forward pass on one data-parallel rank */
  /* degrees; 0 = 1. Devices = data x tensor x context x pipeline; experts spread over `expert` of the data x context ranks */
  uint32_t data, tensor, context, pipeline, expert;
  uint32_t virtual_stages; /* chunks per pipeline stage */
  bool sequence_parallel; /* norms and residuals spread over the tensor ranks */
  enum generate_sharded sharded;
  uint32_t shard_ranks; /* data ranks that share one copy; 0 = all (hybrid sharding otherwise) */
  enum generate_recompute recompute;
  enum generate_attention attention;
  bool is_causal_half; /* flash attention skips the masked half */
  enum generate_optimizer optimizer;
  enum dtype compute; /* BF16, F16, F32: activations and weights in products */
  enum dtype products; /* NONE = compute; F8E4M3FN, F4E2M1FN: linear layers quantise their operands first */
  enum dtype gradients; /* of the exchange and accumulation: F32 or compute */
  double dropout; /* of the embedding, both branches of a layer and, unless attention is flash, scores; 0 = none */
  bool clip_gradients; /* by the norm of all of a stage's */
  bool overlap_gradients, overlap_parameters, overlap_tensor; /* explicit start and done around other work */
};

/* E0805, in the user's terms: heads, layers, experts, batch that the degrees do not divide; what a framework has not. */
enum status generate_training_module(const struct generate_model *model, const struct generate_training *training,
                                     struct diag_list *diags, struct ir_module **module);
/* FLOPs of one step, all devices, without recomputation: products forward and twice backward; attention whole or causal half
 * as `is_causal_half` says. The number that MFU is defined with. */
double generate_training_flops(const struct generate_model *model, const struct generate_training *training);

#endif
