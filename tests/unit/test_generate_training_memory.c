/* Training steps with exhausted memory: every allocation fails once. */
#include "training_fixture.h"

#include "exhausted_memory.h"

struct request_of {
  struct generate_model model;
  struct generate_training training;
};

static enum status generate_and_count(const void *input, struct diag_list *diags, struct strbuf *text) {
  const struct request_of *of = input;
  struct ir_module *module = NULL;
  enum status status = generate_training_module(&of->model, &of->training, diags, &module);
  if (status == STATUS_OK) {
    strbuf_printf(text, "%zu", module->ops.count);
  }
  ir_module_free(module);
  return status;
}

static const struct generate_model small = {.name = "small",
                                            .layers = 2,
                                            .hidden = 16,
                                            .heads = 4,
                                            .kv_heads = 4,
                                            .head_size = 4,
                                            .ffn = 8,
                                            .vocabulary = 16,
                                            .norm = GENERATE_RMS_NORM,
                                            .activation = GENERATE_SILU,
                                            .gated_ffn = true,
                                            .norm_epsilon = 1e-5,
                                            .rope_theta = 1e4};

static void strategies(void **state) {
  (void)state;
  static const struct generate_training rows[] = {
      {.framework = GENERATE_MEGATRON,
       .sequence = 8,
       .global_batch = 8,
       .data = 2,
       .tensor = 2,
       .pipeline = 2,
       .sequence_parallel = true,
       .sharded = GENERATE_SHARD_OPTIMIZER,
       .overlap_gradients = true,
       .overlap_tensor = true,
       .clip_gradients = true,
       .dropout = 0.1,
       .recompute = GENERATE_RECOMPUTE_SELECTIVE},
      {.framework = GENERATE_MEGATRON,
       .sequence = 8,
       .global_batch = 2,
       .data = 2,
       .context = 2,
       .sharded = GENERATE_SHARD_PARAMETERS,
       .overlap_parameters = true,
       .products = DTYPE_F8E4M3FN,
       .attention = GENERATE_ATTENTION_FLASH,
       .recompute = GENERATE_RECOMPUTE_FULL},
      {.framework = GENERATE_XLA,
       .sequence = 8,
       .global_batch = 2,
       .data = 2,
       .sharded = GENERATE_SHARD_PARAMETERS,
       .recompute = GENERATE_RECOMPUTE_CONTRACTIONS},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct request_of of = {.model = small, .training = rows[i]};
    exhausted_check("dense", generate_and_count, &of, 20);
    of.model.experts = 4;
    of.model.experts_per_token = 2;
    of.model.shared_ffn = 8;
    of.training.expert = 2;
    exhausted_check("experts", generate_and_count, &of, 20);
    of.model.query_rank = of.model.kv_rank = 6;
    of.model.rope_size = 2;
    of.model.value_size = 4;
    exhausted_check("latent", generate_and_count, &of, 20);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(strategies)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
