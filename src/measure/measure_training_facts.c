/* Facts about published training runs that their tables leave open, each with its source. */
#include <ctype.h>
#include <string.h>

#include "measure/measure_training.h"

/* PyTorch takes 5 to 25 us of the host per operation (Python, dispatcher, autograd, driver). The upper end: beside every
 * operation with a kernel there are several without (views, state of random numbers). */
#define PYTORCH_HOST_S 25e-6
/* Default of --hidden-dropout and --attention-dropout; the masks are part of the activations that Korthikanti et al. count
 * (section 4.1), and vTrain's own model of a layer has it (its repository, src/model/gpt_modeling.py). */
#define MEGATRON_DROPOUT 0.1
#define ENGINE_HOST_S 10e-6 /* Transformer Engine, torch.compile: one call for several operations */
/* cuBLAS in PyTorch of 2022 on an A100 with normally distributed operands: 257 of 312 TFLOP/s (295 with zeros, which draw less
 * power: thonking.ai, "Strangely, Matrix Multiplications on GPUs Run Faster When Given Predictable Data"). That of CUDA 11.8,
 * which llm-foundry's image has (scripts/train/benchmarking/sweep.sh: 2.0.1_cu118), on an H100: mean of 720, 639 and 772 of 989
 * for 1, 2 and 4 batches of 2,048 x 8,192 x 8,192 (pytorch/pytorch issue 100850, May 2023). */
#define CUBLAS_11 .product_share = 257.0 / 312, .product_share_hopper = (720 + 639 + 772) / 3.0 / 989
/* Composer updates the model's metrics with each micro-batch (Trainer._train_microbatch; MPT has LanguageCrossEntropy and
 * LanguagePerplexity): a cross entropy of PyTorch each, for which autocast makes f32 of bf16 logits: 2 + 4 bytes of the cast,
 * 4 + 4 of log_softmax. */
#define COMPOSER_METRICS .logit_bytes = 2 * (2 + 4 + 4 + 4)
/* MaxText with megablox, layers of experts alone: 50.4 % of the peak with 2 of 8 experts of 14,336, 28 % with 14 of 56 of 2,048
 * (maxtext issue 1256, TPU v5p, layers recomputed by default: 4 passes where the useful FLOPs count 3). */
#define MEGABLOX .grouped_share = 0.28 * 4 / 3
/* PyTorch's GELU, LayerNorm and softmax in a layer of GPT-3 on an A100: 1.54, 1.18 and 1.15 of 2.04 TB/s
 * (measured/llmcompass/transformer_A100.csv: 0.81 GB in 524 us, 0.81 GB in 682 us, 3.2 GB in 2.80 ms). */
#define PYTORCH_PASSES .pass_share = 1.54 / 2.04, .row_share = (1.18 + 1.15) / 2 / 2.04
/* FlashAttention reaches 25 to 40 % of an A100 (Dao 2023, arXiv 2307.08691, section 1: the state before version 2), and
 * FlashAttention-2 70 % of an A100 but 35 % of an H100 (Shah et al. 2024, arXiv 2407.08608): kernels with Ampere's
 * instructions reach half the share on Hopper. */
#define FLASH_1 .attention_share = 0.33, .attention_share_hopper = 0.17
#define FLASH_2 .attention_share = 0.7, .attention_share_hopper = 0.35

/* cuDNN 9: 518 of 989 TFLOP/s backward on an H100 at 8,192 tokens and heads of 128 (Shah et al. 2024, figure 6); on a B200
 * FlashAttention-4's 1,605 of 2,250 are 1.3 times that of version 9.13 (Zadouri et al. 2026, arXiv 2603.05451, abstract). */
#define CUDNN .backward_share_hopper = 518.0 / 989, .attention_share_blackwell = 1605 / 1.3 / 2250
/* Experts one after the other: a product costs the host 33 us (8 experts of 128 rows in 0.267 ms, where a single kernel takes
 * 0.069: TransformerEngine pull request 3134); a cast has its own memory for values and scales along both directions, and
 * what is around them is plain PyTorch. */
#define EAGER_EXPERTS .expert_host_s = 0.267e-3 / 8, .layer_host_s = PYTORCH_HOST_S
#define ENGINE .casts_twice = true, .exchanges_inside = true, CUDNN

/* What the performance recipes of NeMo, Megatron-Bridge and Megatron-LM have in common. */
#define MEGATRON_RECIPE                                                                                                \
  .framework = GENERATE_MEGATRON, .attention = GENERATE_ATTENTION_FLASH, .sharded = GENERATE_SHARD_OPTIMIZER,          \
  .compute = DTYPE_BF16, .products = DTYPE_F8E4M3FN, .is_causal_half = true, .sequence_parallel = true,                \
  .overlaps_gradients = true, .overlaps_parameters = true, .overlaps_tensor = true

/* First match counts.
 * Korthikanti et al. 2022, section 5: interleaved 1F1B, fused softmax, no FlashAttention, data-parallel degree 1.
 * NeMo and Megatron-Bridge: performance recipes of the repositories (distributed optimizer, exchange of gradients and
 * parameters overlapped, cuDNN attention, tensor-parallel overlap by user buffers). Their FLOPs count whole attention until
 * 2025 and half of it since: 711 TFLOP/s at 12,273 tokens/s is 45.0 + 12.9 GFLOP per token of Llama-3-8B; 2,348 at 5,248 is
 * 417 + 32 of Llama-3-70B.
 * Experts are started by the host unless all of a step is a CUDA graph (cuda_graph_impl "full_iteration" with
 * cutedsl_fused_grouped_mlp in scripts/performance/configs: containers 26.06 and 26.08). Scales are delayed in NeMo, current
 * in Megatron-Bridge ("CS") where they are not of blocks ("MX").
 * Megatron-Bridge's recipes of experts dispatch with DeepEP (Hopper, B200) or HybridEP (NVL72).
 * llm-foundry: scripts/train/benchmarking (FSDP of PyTorch, which exchanges every micro-batch; FlashAttention).
 * torchtitan: README of the benchmarks; pipelines cut the local batch into as many parts as stages
 * (pipeline_parallel_microbatches).
 * MaxText, tpu-recipes: fully sharded over the slice, data parallel over slices; splash attention; layers recomputed but for
 * what is off-loaded.
 * AWS: Neuron documentation of the tutorials named in the table (ZeRO-1, sequence parallelism, activations recomputed).
 * vTrain: Megatron-DeepSpeed, activation checkpointing, 1F1B, f16 (its repository's README). */
const struct training_source training_sources[] = {
    {.match = "arXiv 2205.05198",
     .label = "Megatron 2022",
     .dropout = MEGATRON_DROPOUT,
     CUBLAS_11,
     PYTORCH_PASSES,
     .host_s = PYTORCH_HOST_S,
     .framework = GENERATE_MEGATRON,
     .attention = GENERATE_ATTENTION_FUSED_SOFTMAX,
     .compute = DTYPE_F16,
     .gradients = DTYPE_F32},
    {.match = "performance_long_sequence.md",
     .label = "NeMo long",
     ENGINE,
     .scaling = TRAINING_DELAYED_SCALING,
     .host_s = ENGINE_HOST_S,
     MEGATRON_RECIPE,
     .gradients = DTYPE_BF16},
    {.match = "NVIDIA/NeMo",
     .label = "NeMo 2024",
     ENGINE,
     .scaling = TRAINING_DELAYED_SCALING,
     .host_s = ENGINE_HOST_S,
     MEGATRON_RECIPE,
     .gradients = DTYPE_BF16},
    {.match = "26.08 NeMo Container",
     .label = "Megatron-Bridge",
     ENGINE,
     .sends_once = true,
     MEGATRON_RECIPE,
     .counts_causal = true,
     .gradients = DTYPE_BF16},
    {.match = "26.06",
     .label = "Megatron-Bridge",
     ENGINE,
     .sends_once = true,
     MEGATRON_RECIPE,
     .counts_causal = true,
     .gradients = DTYPE_BF16},
    {.match = "Megatron-Bridge",
     .label = "Megatron-Bridge",
     ENGINE,
     EAGER_EXPERTS,
     .sends_once = true,
     MEGATRON_RECIPE,
     .counts_causal = true,
     .gradients = DTYPE_BF16},
    {.match = "NVIDIA/Megatron-LM",
     .label = "Megatron-LM",
     .host_s = ENGINE_HOST_S,
     MEGATRON_RECIPE,
     .gradients = DTYPE_F32},
    {.match = "llm-foundry",
     .label = "llm-foundry", /* images with PyTorch 1.13 (A100) and 2.0 (H100), before FlashAttention-2 */
     FLASH_1,
     CUBLAS_11,
     PYTORCH_PASSES,
     COMPOSER_METRICS,
     .host_s = PYTORCH_HOST_S,
     .framework = GENERATE_EAGER,
     .attention = GENERATE_ATTENTION_FLASH,
     .sharded = GENERATE_SHARD_PARAMETERS,
     .compute = DTYPE_BF16,
     .gradients = DTYPE_BF16,
     .is_causal_half = true,
     .overlaps_gradients = true,
     .overlaps_parameters = true},
    {.match = "torchtitan",
     .label = "torchtitan",
     FLASH_2,
     .host_s = ENGINE_HOST_S,
     .framework = GENERATE_MEGATRON, /* torch.compile: passes between products are one kernel */
     .attention = GENERATE_ATTENTION_FLASH,
     .sharded = GENERATE_SHARD_PARAMETERS,
     .compute = DTYPE_BF16,
     .gradients = DTYPE_F32,
     .is_causal_half = true,
     .sequence_parallel = true,
     .overlaps_gradients = true,
     .overlaps_parameters = true,
     .is_local_batch = true,
     .variants = {{.word = "compile"}, {.word = "async", .overlaps_tensor = true}, {"interleaved", 2, false}}},
    {.match = "AI-Hypercomputer",
     .label = "MaxText",
     MEGABLOX,
     .framework = GENERATE_XLA,
     .attention = GENERATE_ATTENTION_FLASH,
     .sharded = GENERATE_SHARD_PARAMETERS,
     .recompute = GENERATE_RECOMPUTE_FULL,
     .compute = DTYPE_BF16,
     .gradients = DTYPE_BF16,
     .is_causal_half = true,
     .overlaps_gradients = true,
     .overlaps_parameters = true,
     .spreads_data = true},
    {.match = "aws-neuron",
     .label = "AWS Neuron",
     .framework = GENERATE_XLA,
     .attention = GENERATE_ATTENTION_PLAIN,
     .sharded = GENERATE_SHARD_OPTIMIZER,
     .recompute = GENERATE_RECOMPUTE_SELECTIVE,
     .compute = DTYPE_BF16,
     .gradients = DTYPE_BF16,
     .sequence_parallel = true},
    {.match = "vtrain",
     .label = "vTrain",
     .dropout = MEGATRON_DROPOUT,
     CUBLAS_11,
     PYTORCH_PASSES,
     .host_s = PYTORCH_HOST_S,
     .framework = GENERATE_MEGATRON,
     .attention = GENERATE_ATTENTION_FUSED_SOFTMAX,
     .recompute = GENERATE_RECOMPUTE_FULL,
     .compute = DTYPE_F16,
     .gradients = DTYPE_F16},
    {0},
};

/* DeepSeek-V3, arXiv 2412.19437, section 4.2 */
#define LATENT .head_size = 192, .value_size = 128, .rope_size = 64, .query_rank = 1536, .kv_rank = 512
#define GPT_FACTS .norm = GENERATE_LAYER_NORM, .activation = GENERATE_GELU_TANH, .tied_embedding = true
#define LLAMA_FACTS .norm = GENERATE_RMS_NORM, .activation = GENERATE_SILU, .gated_ffn = true

/* config.json of the models as published; sizes that are columns are not repeated.
 * GPT: Brown et al. 2020, Shoeybi et al. 2019. MPT: scripts/train/yamls/pretrain of llm-foundry (no biases).
 * DeepSeek-V3: arXiv 2412.19437, section 4.2: 8 of 256 routed experts and 1 shared of 2,048; three dense
 * layers of 18,432; latent attention; one layer more predicts a second token (its head is left out), unless the row says
 * "w/o MTP". GPT-OSS: arXiv 2508.10925: 4 of 128 experts, heads of
 * 64, every other layer sees 128 tokens. Qwen3: arXiv 2505.09388, table 2: 8 of 128 experts of 768 and 1,536, heads of 128.
 * Mixtral: arXiv 2401.04088. Gemma 3: arXiv 2503.19786: five of six layers see 1,024 tokens.
 * Sequences of the Neuron tutorials: Llama 2 4,096, GPT-3 2,048. Batches of rows without one: the recipe of the same model
 * and system in tpu-recipes. */
const struct training_facts training_models[] = {
    {.match = "megatron", GPT_FACTS, .biases = true, .learned_positions = true},
    {.match = "turing", GPT_FACTS, .biases = true, .learned_positions = true},
    {.match = "gpt3", GPT_FACTS, .biases = true, .learned_positions = true, .sequence = 2048},
    {.match = "mpt", GPT_FACTS, .biases = true, .learned_positions = true},
    {.match = "gptoss", LLAMA_FACTS, .head_size = 64, .experts = 128, .experts_per_token = 4, .window = 128},
    {.match = "llama31405b", LLAMA_FACTS, .sequence = 8192},
    {.match = "llama318b", LLAMA_FACTS, .sequences_per_device = 4},
    {.match = "llama3170b", LLAMA_FACTS, .sequences_per_device = 5},
    {.match = "llama270b", LLAMA_FACTS, .sequence = 4096, .sequences_per_device = 3},
    {.match = "llama2", LLAMA_FACTS, .sequence = 4096},
    {.match = "llama4", LLAMA_FACTS, .unsupported = "layers of Llama 4"},
    {.match = "llama", LLAMA_FACTS},
    {.match = "deepseekv3womtp",
     LLAMA_FACTS,
     LATENT,
     .ffn = 2048,
     .experts = 256,
     .experts_per_token = 8,
     .shared_ffn = 2048,
     .dense_layers = 3,
     .dense_ffn = 18432},
    {.match = "deepseekv3",
     LLAMA_FACTS,
     LATENT,
     .more_layers = 1,
     .ffn = 2048,
     .experts = 256,
     .experts_per_token = 8,
     .shared_ffn = 2048,
     .dense_layers = 3,
     .dense_ffn = 18432},
    {.match = "qwen330b",
     LLAMA_FACTS,
     .head_size = 128,
     .head_norms = true,
     .ffn = 768,
     .experts = 128,
     .experts_per_token = 8},
    {.match = "qwen3235b",
     LLAMA_FACTS,
     .head_size = 128,
     .head_norms = true,
     .ffn = 1536,
     .experts = 128,
     .experts_per_token = 8},
    {.match = "mixtral8x7b", LLAMA_FACTS, .experts = 8, .experts_per_token = 2, .sequences_per_device = 12},
    {.match = "mixtral8x22b",
     LLAMA_FACTS,
     .experts = 8,
     .experts_per_token = 2,
     .sequence = 4096,
     .sequences_per_device = 8},
    {.match = "mistral7b", LLAMA_FACTS},
    {.match = "gemma3", LLAMA_FACTS, .head_size = 256, .unsupported = "five of six layers with a window"},
    {.match = "vtrain", GPT_FACTS, .biases = true, .learned_positions = true},
    {0},
};

/* Ids of hardware/clusters and of the chips in them. Parameters are sharded within a pod of TPU v5e or v6e and replicated
 * over pods. The torchtitan runs state a variant of the H100: 96 GB HBM2e, 2.4 TB/s, 500 W of 700. Flash attention on a
 * TPU v6e was measured at 584 GFLOP in 4.14 ms (measured/tpu_v6e/v6e_attention.csv, 8,192 tokens). Tensor-parallel ranks on
 * Trainium are cores, two of a chip. */
const struct training_hardware training_systems[] = {
    {"A100-SXM-80GB (vTrain)", "A100", "a100_80_hdr_800", "nvidia_a100_sxm_80", 1, 0, 0, 0, 0, 0},
    {"A100-SXM-80GB (Selene)", "A100", "dgx_a100", "nvidia_a100_sxm_80", 1, 0, 0, 0, 0, 0},
    {"A100_80GB", "A100", "a100_80_roce_1600", "nvidia_a100_sxm_80", 1, 0, 0, 0, 0, 0},
    {"A100_40GB", "A100-40", "a100_40_roce_1600", "nvidia_a100_sxm_40", 1, 0, 0, 0, 0, 0},
    {"H100 96GB HBM2e", "H100 500 W", "h100_roce_3200", "nvidia_h100_sxm", 1, 0, 2.4e12, 96e9, 500.0 / 700, 0},
    {"H100_80GB", "H100", "h100_roce_3200", "nvidia_h100_sxm", 1, 0, 0, 0, 0, 0},
    {"H100", "H100", "dgx_h100", "nvidia_h100_sxm", 1, 0, 0, 0, 0, 0},
    {"DGX-H100", "H100", "dgx_h100", "nvidia_h100_sxm", 1, 0, 0, 0, 0, 0},
    {"B200", "B200", "dgx_b200", "nvidia_b200_sxm", 1, 0, 0, 0, 0, 0},
    {"DGX-B200", "B200", "dgx_b200", "nvidia_b200_sxm", 1, 0, 0, 0, 0, 0},
    {"DGX-GB200", "GB200", "gb200_nvl72", "nvidia_gb200", 1, 0, 0, 0, 0, 0},
    {"DGX-GB300", "GB300", "gb300_nvl72", "nvidia_gb300", 1, 0, 0, 0, 0, 0},
    {"TPU v4", "TPU v4", "tpu_v4", "google_tpu_v4", 1, 4096, 0, 0, 0, 0},
    {"TPU v5p", "TPU v5p", "tpu_v5p", "google_tpu_v5p", 1, 8960, 0, 0, 0, 0},
    {"TPU v5e", "TPU v5e", "tpu_v5e", "google_tpu_v5e", 1, 256, 0, 0, 0, 0},
    {"TPU v6e", "TPU v6e", "tpu_v6e", "google_tpu_v6e", 1, 256, 0, 0, 0, 584.1e9 / 4.141e-3},
    {"TPU v7x", "TPU v7x", "tpu7x", "google_tpu7x", 1, 9216, 0, 0, 0, 0},
    {"Trainium1", "Trainium1", "trn1", "aws_trainium1", 2, 0, 0, 0, 0, 0},
    {0},
};

/* tpu-recipes: training/v5p/GPT3-175B-MaxText (quantization=int8, ici_tensor_parallelism=8), training/trillium/Mixtral-*
 * (capacity_factor=1.25, sparse_matmul=False: "BSM,BSEC -> EBCM" and back, MaxText layers/moe.py).
 * neuronx-nemo-megatron, which the table names for its rows with stochastic rounding: test_llama.sh
 * (activations_checkpoint_granularity=full); gpt_175b.sh says selective. */
const struct training_recipe training_recipes[] = {
    {"TPU v5p", "gpt3175b", NULL, NULL, DTYPE_I8, 8, 0},
    {"TPU v6e", "mixtral", NULL, NULL, DTYPE_NONE, 0, 1.25},
    {"Trainium1", "llama2", "Autocast:BF16+SR", "full", DTYPE_NONE, 0, 0},
    {NULL, NULL, NULL, NULL, DTYPE_NONE, 0, 0},
};

/* amp_*: parameters of FSDP in bf16, exchange in f32 ("DEFAULT" in llm-foundry); bf16: all in bf16 ("PURE"). */
const struct training_precision training_precisions[] = {
    {"", DTYPE_NONE, DTYPE_NONE, DTYPE_NONE, TRAINING_CURRENT_SCALING},
    {"fp16", DTYPE_F16, DTYPE_F16, DTYPE_NONE, TRAINING_CURRENT_SCALING},
    {"bf16", DTYPE_BF16, DTYPE_BF16, DTYPE_NONE, TRAINING_CURRENT_SCALING},
    {"amp_bf16", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, TRAINING_CURRENT_SCALING},
    {"amp_fp8", DTYPE_BF16, DTYPE_F8E4M3FN, DTYPE_F32, TRAINING_CURRENT_SCALING},
    {"fp8", DTYPE_BF16, DTYPE_F8E4M3FN, DTYPE_NONE, TRAINING_CURRENT_SCALING},
    {"FP8-CS", DTYPE_BF16, DTYPE_F8E4M3FN, DTYPE_NONE, TRAINING_CURRENT_SCALING},
    {"FP8-MX", DTYPE_BF16, DTYPE_F8E4M3FN, DTYPE_NONE, TRAINING_BLOCK_SCALING},
    {"FP8-CS (FP8-MX)", DTYPE_BF16, DTYPE_F8E4M3FN, DTYPE_NONE, TRAINING_CURRENT_SCALING},
    {"MXFP8", DTYPE_BF16, DTYPE_F8E4M3FN, DTYPE_NONE, TRAINING_BLOCK_SCALING},
    {"NVFP4", DTYPE_BF16, DTYPE_F4E2M1FN, DTYPE_NONE, TRAINING_CURRENT_SCALING},
    {"fp8 tensorwise", DTYPE_BF16, DTYPE_F8E4M3FN, DTYPE_NONE, TRAINING_CURRENT_SCALING},
    {"fp8 rowwise", DTYPE_BF16, DTYPE_F8E4M3FN, DTYPE_NONE, TRAINING_CURRENT_SCALING},
    {"fp8_full", DTYPE_BF16, DTYPE_F8E4M3FN, DTYPE_NONE, TRAINING_CURRENT_SCALING},
    {"int8/fp8 quantized", DTYPE_BF16, DTYPE_I8, DTYPE_NONE, TRAINING_CURRENT_SCALING},
    {"Autocast:BF16+FP32Optimizer", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, TRAINING_CURRENT_SCALING},
    {"Autocast:BF16+SR", DTYPE_BF16, DTYPE_BF16, DTYPE_BF16, TRAINING_CURRENT_SCALING},
    {"Autocast:BF16/AMP", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, TRAINING_CURRENT_SCALING},
    {"FP32", DTYPE_F32, DTYPE_F32, DTYPE_F32, TRAINING_CURRENT_SCALING},
    {NULL, DTYPE_NONE, DTYPE_NONE, DTYPE_NONE, TRAINING_CURRENT_SCALING},
};

const struct training_source *training_source_find(const char *text) {
  for (const struct training_source *source = training_sources; source->match; source++) {
    if (strstr(text, source->match)) {
      return source;
    }
  }
  return NULL;
}

/* Whether the letters and digits of `name` begin with `match`, which is in lower case. */
static bool begins_with(const char *name, const char *match) {
  for (; *match != '\0'; name++) {
    if (*name == '\0') {
      return false;
    }
    if (isalnum((unsigned char)*name)) {
      if (tolower((unsigned char)*name) != *match) {
        return false;
      }
      match++;
    }
  }
  return true;
}

const struct training_facts *training_facts_find(const char *model) {
  for (const struct training_facts *facts = training_models; facts->match; facts++) {
    if (begins_with(model, facts->match)) {
      return facts;
    }
  }
  return NULL;
}

const struct training_hardware *training_hardware_find(const char *name) {
  for (const struct training_hardware *row = training_systems; row->match; row++) {
    if (strncmp(name, row->match, strlen(row->match)) == 0) {
      return row;
    }
  }
  return NULL;
}

const struct training_recipe *training_recipe_find(const char *system, const char *model, const char *precision) {
  for (const struct training_recipe *row = training_recipes; row->system; row++) {
    bool is_precision = !row->precision || strcmp(row->precision, precision) == 0;
    if (is_precision && strcmp(row->system, system) == 0 && begins_with(model, row->model)) {
      return row;
    }
  }
  return NULL;
}

static bool is_same_word(const char *a, const char *b) {
  while (*a != '\0' && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
    a++, b++;
  }
  return *a == *b;
}

const struct training_precision *training_precision_find(const char *text) {
  for (const struct training_precision *row = training_precisions; row->text; row++) {
    if (is_same_word(row->text, text)) {
      return row;
    }
  }
  return NULL;
}

const char *training_table_name(enum training_table table) {
  static const char *const names[TRAINING_TABLE_COUNT] = {"Megatron 22B to 1T", "vTrain, one node",
                                                          "vTrain, many nodes", "published tables"};
  return names[table];
}

const char *training_metric_name(enum training_metric metric) {
  static const char *const names[TRAINING_METRIC_COUNT + 1] = {"step time", "sequences/s", "tokens/s", "FLOP/s",
                                                               "none"};
  return names[metric];
}

const char *training_skip_name(enum training_skip skip) {
  static const char *const names[TRAINING_SKIP_COUNT] = {
      [TRAINING_TAKEN] = "predicted",
      [TRAINING_NO_ARCHITECTURE] = "no architecture",
      [TRAINING_NO_VALUE] = "only MFU",
      [TRAINING_NOT_TRAINED] = "frozen weights (LoRA)",
      [TRAINING_NO_MODEL] = "model that is not generated",
      [TRAINING_NO_SYSTEM] = "system that is not described",
      [TRAINING_NO_PRECISION] = "unknown precision",
      [TRAINING_NO_BATCH] = "no batch or sequence length",
      [TRAINING_NO_DEGREES] = "degrees do not fit",
      [TRAINING_REFUSED] = "refused",
  };
  return names[skip];
}
