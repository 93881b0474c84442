/* The example programs: matrix FLOPs against closed forms of the models' configurations. A product of [m, k] and [k, n] is
 * 2 m k n; attention of t tokens over s keys has 4 t s per element of the width: scores and context. */
#include "lower_fixture.h"

/* Llama-3-8B and Mixtral-8x7B differ in vocabulary and hidden part only. */
enum { LLAMA_WIDTH = 4096, LLAMA_LAYERS = 32, LLAMA_KEYS = 1024, LLAMA_HIDDEN = 14336 };

static uint64_t attention(uint64_t tokens, uint64_t keys, uint64_t width) {
  return 4 * tokens * keys * width;
}

/* Weights of a layer that every token meets: queries and output, keys and values, three matrices of each of `experts`. */
static uint64_t llama_layer_weights(uint64_t experts) {
  return 2 * (uint64_t)LLAMA_WIDTH * LLAMA_WIDTH + 2 * (uint64_t)LLAMA_WIDTH * LLAMA_KEYS
         + experts * 3 * LLAMA_WIDTH * LLAMA_HIDDEN;
}

/* A layer of GPT-2, ViT and DiT: 3 + 1 parts of attention, 4 + 4 of the hidden layer. */
static uint64_t block_weights(uint64_t width) {
  return 12 * width * width;
}

static uint64_t gpt2_flops(uint64_t tokens, uint64_t keys) {
  uint64_t width = 768, layers = 12, vocabulary = 50257;
  return 2 * tokens * (layers * block_weights(width) + vocabulary * width) + layers * attention(tokens, keys, width);
}

static uint64_t vit_flops(void) {
  uint64_t batch = 64, width = 768, layers = 12, patches = 14 * 14, tokens = patches + 1, patch = 16 * 16 * 3;
  return batch
         * (2 * (patches * patch * width + tokens * layers * block_weights(width) + width * 1000)
            + layers * attention(tokens, tokens, width));
}

static uint64_t dit_flops(void) {
  uint64_t batch = 2 * 8, width = 1152, layers = 28, tokens = 16 * 16, patch = 2 * 2 * 4;
  uint64_t per_token = patch * width + layers * block_weights(width) + width * 2 * patch;
  /* of the time: in and out; of the condition: 6 of each layer and 2 at the end */
  uint64_t per_image = 256 * width + width * width + (6 * layers + 2) * width * width;
  return batch * (2 * (tokens * per_token + per_image) + layers * attention(tokens, tokens, width));
}

static uint64_t mixtral_flops(void) {
  uint64_t tokens = 4096, router = (uint64_t)LLAMA_WIDTH * 8;
  return 2 * tokens * LLAMA_LAYERS * (llama_layer_weights(2) + router)
         + LLAMA_LAYERS * attention(tokens, tokens, LLAMA_WIDTH) + 2 * (uint64_t)LLAMA_WIDTH * 32000;
}

static uint64_t llama_flops(uint64_t batch, uint64_t tokens, uint64_t predicted) {
  return batch
         * (2 * tokens * LLAMA_LAYERS * llama_layer_weights(1) + LLAMA_LAYERS * attention(tokens, tokens, LLAMA_WIDTH)
            + 2 * predicted * LLAMA_WIDTH * 128256);
}

/* A training step has each product twice more: the gradients of both factors. */
static uint64_t llama_train_flops(uint64_t batch) {
  return 3 * llama_flops(batch, 4096, 4096);
}

static void check_example(const char *name, uint64_t matrix_flops) {
  char path[1024];
  snprintf(path, sizeof path, "%s/examples/%s.mlir.zst", RDG_SOURCE_DIR, name);
  struct input_file input;
  struct lowered lowered;
  assert_true(lowered_file(&lowered, &input, path));
  assert_int_equal(lowered.total.ops[WORK_ENGINE_MATRIX], matrix_flops);
  assert_int_equal(lowered.total.opaque_tasks, 0);
  assert_int_equal(lowered.total.unknown_trip_loops, 0);
  lowered_release(&lowered);
  input_file_release(&input);
}

static void test_dense_models(void **state) {
  (void)state;
  check_example("gpt2_124m_prefill", gpt2_flops(1024, 1024));
  check_example("gpt2_124m_decode", gpt2_flops(1, 1024));
  check_example("vit_b16_inference", vit_flops());
  check_example("dit_xl2_step", dit_flops());
  check_example("llama3_8b_prefill", llama_flops(1, 8192, 1));
}

static void test_mixture_of_experts(void **state) {
  (void)state;
  check_example("mixtral_8x7b_prefill", mixtral_flops());
}

/* Before it is partitioned, a program is the whole step, whatever its annotations. */
static void test_sharded_steps(void **state) {
  (void)state;
  check_example("llama3_8b_fsdp8_shardy", llama_train_flops(8));
  check_example("llama3_8b_fsdp8_gspmd", llama_train_flops(8));
  check_example("llama3_8b_tensor8_shardy", llama_train_flops(1));
  check_example("llama3_8b_tensor8_gspmd", llama_train_flops(1));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_dense_models), cmocka_unit_test(test_mixture_of_experts),
                                     cmocka_unit_test(test_sharded_steps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
