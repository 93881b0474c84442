/* Training steps computed: gradients against differences of the loss, and every strategy against one device. */
#include "training_fixture.h"

static const struct generate_model llama = {.name = "tiny-llama",
                                            .layers = 4,
                                            .hidden = 16,
                                            .heads = 4,
                                            .kv_heads = 2,
                                            .head_size = 4,
                                            .ffn = 24,
                                            .vocabulary = 32,
                                            .norm = GENERATE_RMS_NORM,
                                            .activation = GENERATE_SILU,
                                            .gated_ffn = true,
                                            .norm_epsilon = 1e-5,
                                            .rope_theta = 1e4};
static const struct generate_model gpt = {.name = "tiny-gpt",
                                          .layers = 4,
                                          .hidden = 16,
                                          .heads = 4,
                                          .kv_heads = 4,
                                          .head_size = 4,
                                          .ffn = 24,
                                          .vocabulary = 32,
                                          .positions = 8,
                                          .norm = GENERATE_LAYER_NORM,
                                          .activation = GENERATE_GELU_TANH,
                                          .biases = true,
                                          .tied_embedding = true,
                                          .norm_epsilon = 1e-5};
static const struct generate_model mixtral = {.name = "tiny-mixtral",
                                              .layers = 4,
                                              .hidden = 16,
                                              .heads = 4,
                                              .kv_heads = 2,
                                              .head_size = 4,
                                              .ffn = 8,
                                              .shared_ffn = 12,
                                              .experts = 4,
                                              .experts_per_token = 2,
                                              .vocabulary = 32,
                                              .norm = GENERATE_RMS_NORM,
                                              .activation = GENERATE_SILU,
                                              .gated_ffn = true,
                                              .norm_epsilon = 1e-5,
                                              .rope_theta = 1e4};

static const struct generate_model deepseek = {.name = "tiny-deepseek",
                                               .layers = 4,
                                               .hidden = 16,
                                               .heads = 4,
                                               .kv_heads = 4,
                                               .head_size = 6,
                                               .query_rank = 10,
                                               .kv_rank = 8,
                                               .rope_size = 2,
                                               .value_size = 4,
                                               .ffn = 8,
                                               .shared_ffn = 12,
                                               .dense_layers = 1,
                                               .dense_ffn = 20,
                                               .experts = 4,
                                               .experts_per_token = 2,
                                               .vocabulary = 32,
                                               .norm = GENERATE_RMS_NORM,
                                               .activation = GENERATE_SILU,
                                               .gated_ffn = true,
                                               .norm_epsilon = 1e-5,
                                               .rope_theta = 1e4};
/* Without positions (ALiBi is inside the attention kernel) and biases. */
static const struct generate_model mpt = {.name = "tiny-mpt",
                                          .layers = 4,
                                          .hidden = 16,
                                          .heads = 4,
                                          .kv_heads = 4,
                                          .head_size = 4,
                                          .ffn = 24,
                                          .vocabulary = 32,
                                          .norm = GENERATE_LAYER_NORM,
                                          .activation = GENERATE_GELU_TANH,
                                          .tied_embedding = true,
                                          .norm_epsilon = 1e-5};
static const struct generate_model qwen = {.name = "tiny-qwen",
                                           .layers = 4,
                                           .hidden = 16,
                                           .heads = 4,
                                           .kv_heads = 2,
                                           .head_size = 6,
                                           .head_norms = true,
                                           .ffn = 24,
                                           .vocabulary = 32,
                                           .norm = GENERATE_RMS_NORM,
                                           .activation = GENERATE_SILU,
                                           .gated_ffn = true,
                                           .norm_epsilon = 1e-5,
                                           .rope_theta = 1e4};

static const struct generate_model gemma = {.name = "tiny-gemma",
                                            .layers = 4,
                                            .hidden = 16,
                                            .heads = 4,
                                            .kv_heads = 2,
                                            .head_size = 4,
                                            .ffn = 24,
                                            .vocabulary = 32,
                                            .norm = GENERATE_RMS_NORM_PLUS_ONE,
                                            .activation = GENERATE_GELU_TANH,
                                            .gated_ffn = true,
                                            .tied_embedding = true,
                                            .post_norms = true,
                                            .scaled_embedding = true,
                                            .norm_epsilon = 1e-6,
                                            .rope_theta = 1e4,
                                            .query_scale = 5,
                                            .attention_cap = 2,
                                            .logit_cap = 3,
                                            .window = 3};

#define BASE .sequence = 8, .compute = DTYPE_F32, .gradients = DTYPE_F32, .optimizer = GENERATE_SGD_MOMENTUM

/* The first step's momentum is the gradient, since it was zero. */
static const char gradient_prefix[] = "optimizer.first.";

static const struct interp_value *gradient_of(struct training_step *s, const char *name) {
  char full[96];
  snprintf(full, sizeof full, "%s%s", gradient_prefix, name);
  const struct interp_value *value = *step_slot(&s->stores[0][0], full);
  assert_non_null(value);
  return value;
}

/* The loss with one element moved by `by`. */
static double moved_loss(struct training_step *t, const char *name, uint64_t index, double by) {
  t->nudged = name;
  t->nudged_index = index;
  t->nudge = by;
  step_forget(t);
  step_run_all(t);
  return t->loss;
}

/* Central differences of two steps without their error of second order (Richardson 1911). A loss of 4, the sum of 16 tokens'
 * in f32, is off by e = 5e-7 (two units in the last place); so the result is off by up to 3 e / h. */
static double difference(struct training_step *t, const char *name, uint64_t index, double h) {
  double wide = moved_loss(t, name, index, h) - moved_loss(t, name, index, -h);
  double near = moved_loss(t, name, index, h / 2) - moved_loss(t, name, index, -h / 2);
  return (4 * near / h - wide / (2 * h)) / 3;
}

static void check_gradients(const struct generate_model *model, const struct generate_training *p,
                            const char *const *names, size_t count, double h) {
  static struct training_step s, t;
  step_open(&s, model, p);
  step_open(&t, model, p);
  step_run_all(&s);
  for (size_t i = 0; i < count; i++) {
    const struct interp_value *gradients = gradient_of(&s, names[i]);
    for (uint64_t index = 1; index < 12 && index < gradients->count; index += 5) {
      double expected = difference(&t, names[i], index, h), got = ((const float *)gradients->data)[index];
      if (fabs(expected - got) > 1.5e-6 / h + 1e-2 * fabs(expected)) {
        fail_msg("%s: gradient of %s[%d] is %g, by differences %g", model->name, names[i], (int)index, got, expected);
      }
    }
  }
  step_close(&s);
  step_close(&t);
}

static void test_gradients(void **state) {
  (void)state;
  static const char *const llama_names[] = {
      "embedding",        "layers.0.attention_norm", "layers.1.qkv", "layers.3.out", "layers.0.ffn_norm",
      "layers.2.gate_up", "layers.1.down",           "final_norm",   "head"};
  static const char *const gpt_names[] = {
      "embedding",         "positions",        "layers.0.attention_norm", "layers.1.qkv_bias",
      "layers.2.out_bias", "layers.3.up_bias", "layers.0.ffn_norm_bias",  "layers.1.up",
      "layers.2.down_bias"};
  static const char *const mixtral_names[] = {"layers.0.router",    "layers.1.gate_up",     "layers.2.down",
                                              "layers.1.shared_up", "layers.3.shared_down", "layers.0.qkv"};
  struct generate_training p = {BASE, .framework = GENERATE_MEGATRON, .global_batch = 2, .micro_batch = 2,
                                .attention = GENERATE_ATTENTION_FLASH};
  check_gradients(&llama, &p, llama_names, sizeof llama_names / sizeof *llama_names, 2e-2);
  check_gradients(&mixtral, &p, mixtral_names, sizeof mixtral_names / sizeof *mixtral_names, 2e-2);
  static const char *const deepseek_names[] = {"layers.0.query_down", "layers.1.query_norm", "layers.2.query_up",
                                               "layers.1.kv_down",    "layers.3.kv_norm",    "layers.0.kv_up",
                                               "layers.2.out",        "layers.0.gate_up",    "layers.3.down"};
  static const char *const qwen_names[] = {"layers.0.query_norm", "layers.2.key_norm", "layers.1.qkv"};
  static const char *const mpt_names[] = {"embedding", "layers.0.attention_norm", "layers.1.qkv", "layers.3.up"};
  check_gradients(&deepseek, &p, deepseek_names, sizeof deepseek_names / sizeof *deepseek_names, 2e-2);
  check_gradients(&qwen, &p, qwen_names, sizeof qwen_names / sizeof *qwen_names, 2e-2);
  static const char *const gemma_names[] = {"embedding",    "layers.0.qkv",     "layers.1.attention_post_norm",
                                            "layers.2.qkv", "layers.3.gate_up", "final_norm"};
  /* its table is at both ends and scaled: the loss bends more */
  check_gradients(&gemma, &p, gemma_names, sizeof gemma_names / sizeof *gemma_names, 1e-2);
  check_gradients(&mpt, &p, mpt_names, sizeof mpt_names / sizeof *mpt_names, 2e-2);
  p.attention = GENERATE_ATTENTION_FUSED_SOFTMAX;
  check_gradients(&deepseek, &p, deepseek_names, 7, 2e-2);
  p.recompute = GENERATE_RECOMPUTE_SELECTIVE;
  p.dropout = 0.2;
  check_gradients(&gpt, &p, gpt_names, sizeof gpt_names / sizeof *gpt_names, 2e-2);
}

/* A strategy against one device with the same micro-batches. */
static void compare(const struct generate_model *model, struct generate_training p) {
  static struct training_step s, one;
  struct generate_training alone = p;
  uint32_t gradients, weights;
  alone.data = alone.tensor = alone.context = alone.pipeline = alone.expert = alone.virtual_stages = 1;
  alone.shard_ranks = 0;
  alone.sharded = GENERATE_SHARD_NOTHING;
  alone.recompute = GENERATE_RECOMPUTE_NONE;
  alone.attention = GENERATE_ATTENTION_FLASH;
  alone.sequence_parallel = alone.overlap_gradients = alone.overlap_parameters = alone.overlap_tensor = false;
  step_open(&one, model, &alone);
  step_open(&s, model, &p);
  step_run_all(&one);
  step_run_all(&s);
  double far = step_distance(&s, &one, gradient_prefix, &gradients);
  double off = step_distance(&s, &one, "weights.", &weights);
  assert_true(gradients > 10 && weights > 10);
  /* sums in another order: a few roundings of f32 */
  if (far > 2e-5 || off > 1e-6 || fabs(s.loss - one.loss) > 1e-5) {
    fail_msg("%s: gradients off by %g, weights by %g, loss %g for %g", model->name, far, off, s.loss, one.loss);
  }
  step_close(&s);
  step_close(&one);
}

#define FLASH .attention = GENERATE_ATTENTION_FLASH
#define MEGATRON BASE, .framework = GENERATE_MEGATRON

static void test_tensor_parallel(void **state) {
  (void)state;
  compare(&llama, (struct generate_training){MEGATRON, FLASH, .global_batch = 2, .micro_batch = 2, .tensor = 2});
  compare(&llama, (struct generate_training){MEGATRON, FLASH, .global_batch = 2, .micro_batch = 2, .tensor = 2,
                                             .sequence_parallel = true, .overlap_tensor = true});
  compare(&gpt, (struct generate_training){MEGATRON, .attention = GENERATE_ATTENTION_FUSED_SOFTMAX, .global_batch = 2,
                                           .micro_batch = 2, .tensor = 4, .sequence_parallel = true,
                                           .recompute = GENERATE_RECOMPUTE_SELECTIVE});
}

static void test_data_parallel(void **state) {
  (void)state;
  compare(&llama, (struct generate_training){MEGATRON, FLASH, .global_batch = 4, .micro_batch = 1, .data = 2});
  compare(&llama, (struct generate_training){MEGATRON, FLASH, .global_batch = 4, .micro_batch = 1, .data = 2,
                                             .sharded = GENERATE_SHARD_OPTIMIZER, .overlap_gradients = true});
  compare(&gpt, (struct generate_training){MEGATRON, FLASH, .global_batch = 4, .micro_batch = 1, .data = 4,
                                           .sharded = GENERATE_SHARD_OPTIMIZER, .tensor = 2});
  compare(&llama, (struct generate_training){MEGATRON, FLASH, .global_batch = 4, .micro_batch = 1, .data = 2,
                                             .sharded = GENERATE_SHARD_GRADIENTS});
}

static void test_fully_sharded(void **state) {
  (void)state;
  compare(&llama, (struct generate_training){MEGATRON, FLASH, .global_batch = 4, .micro_batch = 1, .data = 2,
                                             .sharded = GENERATE_SHARD_PARAMETERS, .overlap_parameters = true,
                                             .overlap_gradients = true});
  compare(&gpt,
          (struct generate_training){MEGATRON, FLASH, .global_batch = 4, .micro_batch = 1, .data = 4, .shard_ranks = 2,
                                     .sharded = GENERATE_SHARD_PARAMETERS, .recompute = GENERATE_RECOMPUTE_FULL});
  compare(&llama, (struct generate_training){MEGATRON, FLASH, .global_batch = 2, .micro_batch = 1, .data = 2,
                                             .tensor = 2, .sharded = GENERATE_SHARD_PARAMETERS});
}

static void test_pipeline(void **state) {
  (void)state;
  compare(&llama, (struct generate_training){MEGATRON, FLASH, .global_batch = 2, .micro_batch = 1, .pipeline = 2});
  compare(&llama, (struct generate_training){MEGATRON, FLASH, .global_batch = 4, .micro_batch = 1, .pipeline = 2,
                                             .virtual_stages = 2, .tensor = 2, .sequence_parallel = true, .data = 2,
                                             .sharded = GENERATE_SHARD_OPTIMIZER, .overlap_gradients = true,
                                             .recompute = GENERATE_RECOMPUTE_FULL});
}

static void test_pipeline_of_tensor_ranks(void **state) {
  (void)state;
  struct generate_model untied = gpt; /* with a pipeline the head has its own copy */
  untied.tied_embedding = false;
  compare(&untied, (struct generate_training){MEGATRON, FLASH, .global_batch = 2, .micro_batch = 1, .pipeline = 4,
                                              .tensor = 2, .recompute = GENERATE_RECOMPUTE_FULL});
}

static void test_experts(void **state) {
  (void)state;
  compare(&mixtral,
          (struct generate_training){MEGATRON, FLASH, .global_batch = 4, .micro_batch = 1, .data = 2, .expert = 2});
  compare(&mixtral,
          (struct generate_training){MEGATRON, FLASH, .global_batch = 4, .micro_batch = 1, .data = 4, .expert = 2,
                                     .sharded = GENERATE_SHARD_OPTIMIZER, .tensor = 2, .sequence_parallel = true});
}

static void test_other_attention(void **state) {
  (void)state;
  compare(&deepseek, (struct generate_training){MEGATRON, FLASH, .global_batch = 4, .micro_batch = 1, .data = 2,
                                                .expert = 2, .tensor = 2, .sequence_parallel = true});
  compare(&deepseek, (struct generate_training){MEGATRON, FLASH, .global_batch = 4, .micro_batch = 1, .data = 2,
                                                .context = 2, .tensor = 2, .recompute = GENERATE_RECOMPUTE_FULL,
                                                .sharded = GENERATE_SHARD_OPTIMIZER});
  compare(&qwen, (struct generate_training){MEGATRON, FLASH, .global_batch = 2, .micro_batch = 1, .tensor = 2,
                                            .data = 2, .sharded = GENERATE_SHARD_PARAMETERS});
  compare(&mpt, (struct generate_training){BASE, FLASH, .framework = GENERATE_EAGER, .global_batch = 4,
                                           .micro_batch = 1, .data = 4, .sharded = GENERATE_SHARD_PARAMETERS});
}

static void test_context(void **state) {
  (void)state;
  compare(&llama, (struct generate_training){MEGATRON, FLASH, .global_batch = 2, .micro_batch = 2, .context = 2});
  compare(&llama, (struct generate_training){MEGATRON, .attention = GENERATE_ATTENTION_PLAIN, .global_batch = 2,
                                             .micro_batch = 1, .context = 2, .tensor = 2, .data = 2,
                                             .sharded = GENERATE_SHARD_OPTIMIZER,
                                             .recompute = GENERATE_RECOMPUTE_CONTRACTIONS});
}

static void test_frameworks(void **state) {
  (void)state;
  compare(&llama, (struct generate_training){BASE, FLASH, .framework = GENERATE_EAGER, .global_batch = 2,
                                             .micro_batch = 1, .data = 2});
  /* biases within the products; with tensor ranks those after the sum */
  compare(&gpt, (struct generate_training){BASE, FLASH, .framework = GENERATE_EAGER, .global_batch = 4,
                                           .micro_batch = 1, .data = 2, .sharded = GENERATE_SHARD_PARAMETERS,
                                           .recompute = GENERATE_RECOMPUTE_FULL});
  compare(&gpt, (struct generate_training){BASE, FLASH, .framework = GENERATE_EAGER, .global_batch = 2,
                                           .micro_batch = 1, .tensor = 2});
  compare(&gpt, (struct generate_training){BASE, .framework = GENERATE_XLA, .global_batch = 2, .micro_batch = 1,
                                           .data = 2, .recompute = GENERATE_RECOMPUTE_CONTRACTIONS});
}

/* Products in 8-bit floats. Operands with three bits of mantissa are off by up to 2^-4, 2.6 % on average; a gradient of one
 * layer has passed about eight products of two such operands: 2.6 % x sqrt(16) = 10 %. A scale that were wrong would show as
 * 100 % and more. */
static void test_low_precision(void **state) {
  (void)state;
  static struct training_step s, one;
  struct generate_training p = {MEGATRON, FLASH, .global_batch = 2, .micro_batch = 2};
  struct generate_model shallow = llama;
  uint32_t compared;
  shallow.layers = 1;
  step_open(&one, &shallow, &p);
  p.products = DTYPE_F8E4M3FN;
  step_open(&s, &shallow, &p);
  step_run_all(&one);
  step_run_all(&s);
  double far = step_distance(&s, &one, gradient_prefix, &compared);
  assert_true(compared > 5 && far > 1e-3 && far < 0.25 && fabs(s.loss - one.loss) < 0.02);
  step_close(&s);
  step_close(&one);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gradients),     cmocka_unit_test(test_tensor_parallel),
      cmocka_unit_test(test_data_parallel), cmocka_unit_test(test_fully_sharded),
      cmocka_unit_test(test_pipeline),      cmocka_unit_test(test_pipeline_of_tensor_ranks),
      cmocka_unit_test(test_experts),       cmocka_unit_test(test_other_attention),
      cmocka_unit_test(test_context),       cmocka_unit_test(test_frameworks),
      cmocka_unit_test(test_low_precision),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
