/* Workloads of the references from their configurations (data/workloads/workloads.json): MaxText's llama2 decoder block with
 * as many key-value heads as query heads, sequence 4,096, one sequence per device; residual networks of the ImageNet example
 * of Flax, bf16, 1,024 images per step. */
#include <string.h>

#include "generate/generate_resnet.h"
#include "generate/generate_training.h"
#include "measure/measure_workloads.h"

static const struct {
  const char *workload;
  uint32_t layers, hidden, heads, ffn;
} llamas[] = {
    {"llama3-100m", 7, 576, 9, 2016},  {"llama3-200m", 10, 832, 13, 2912}, {"llama3-500m", 16, 1280, 20, 4480},
    {"llama3-1b", 22, 1792, 28, 6272}, {"llama3-2b", 28, 2240, 35, 7840},  {"llama3-3b", 32, 2624, 41, 9184},
};

static enum status generate_llama(size_t which, unsigned devices, struct diag_list *diags, struct ir_module **module) {
  const struct generate_model model = {.name = llamas[which].workload,
                                       .summary = "Llama-style decoder of the measured steps",
                                       .source = "workloads.json",
                                       .family = GENERATE_DECODER,
                                       .norm = GENERATE_RMS_NORM,
                                       .activation = GENERATE_SILU,
                                       .layers = llamas[which].layers,
                                       .hidden = llamas[which].hidden,
                                       .heads = llamas[which].heads,
                                       .kv_heads = llamas[which].heads,
                                       .head_size = 128,
                                       .ffn = llamas[which].ffn,
                                       .vocabulary = 128256,
                                       .gated_ffn = true,
                                       .norm_epsilon = 1e-5,
                                       .rope_theta = 5e5};
  const struct generate_training training = {.framework = GENERATE_XLA,
                                             .sequence = 4096,
                                             .global_batch = devices,
                                             .micro_batch = 1,
                                             .data = devices,
                                             .sharded = GENERATE_SHARD_PARAMETERS,
                                             .recompute = GENERATE_RECOMPUTE_CONTRACTIONS,
                                             .attention = GENERATE_ATTENTION_PLAIN,
                                             .optimizer = GENERATE_ADAM,
                                             .compute = DTYPE_BF16,
                                             .products = DTYPE_NONE,
                                             .gradients = DTYPE_BF16,
                                             .clip_gradients = true};
  return generate_training_module(&model, &training, diags, module);
}

static enum status generate_resnet(const struct generate_resnet *model, unsigned devices, struct diag_list *diags,
                                   struct ir_module **module) {
  const struct generate_resnet_training training = {.data = devices, .global_batch = 1024, .compute = DTYPE_BF16};
  return generate_resnet_training(model, &training, diags, module);
}

enum status workload_generate(const char *workload, unsigned devices, const char *name, struct diag_list *diags,
                              struct program **program) {
  const struct generate_resnet *resnet = generate_resnet_find(workload);
  struct ir_module *module = NULL;
  *program = NULL;
  if (resnet != NULL) {
    STATUS_TRY(generate_resnet(resnet, devices, diags, &module));
    return program_adopt(name, module, diags, program);
  }
  for (size_t i = 0; i < sizeof llamas / sizeof llamas[0]; i++) {
    if (strcmp(llamas[i].workload, workload) == 0) {
      STATUS_TRY(generate_llama(i, devices, diags, &module));
      return program_adopt(name, module, diags, program);
    }
  }
  return STATUS_OK;
}
