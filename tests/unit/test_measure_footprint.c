/* Memory of generated steps against closed forms. State: bf16 weights, f32 gradients, f32 Adam (copy and two moments), 2 + 4 + 12
 * bytes per parameter. Activations of a layer: Korthikanti et al. (arXiv:2205.05198, equations 1 to 4) without the masks
 * of dropout: s b h (8 + 24 / t), spread rows s b h 32 / t, and scores 2 a s^2 b / t, or 4 a s b / t of row sums with flash
 * attention. 1F1B: the first of p stages holds min(m, p) micro-batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "generate/generate_training.h"
#include "program/program_step.h"

enum { LAYERS = 8, HIDDEN = 64, HEADS = 4, VOCABULARY = 512, POSITIONS = 128 };

static struct hw_clusters clusters;
static struct hw_database chips;

static struct generate_training strategy(void) {
  return (struct generate_training){.framework = GENERATE_MEGATRON,
                                    .attention = GENERATE_ATTENTION_FLASH,
                                    .sequence = POSITIONS,
                                    .global_batch = 8,
                                    .micro_batch = 1,
                                    .compute = DTYPE_BF16,
                                    .gradients = DTYPE_F32};
}

static void predict(const struct generate_training *training, struct step_memory *memory) {
  struct diag_list diags;
  struct ir_module *module = NULL;
  struct program *program = NULL;
  struct program_step *step = NULL;
  struct step_result result;
  struct hw_slice slice;
  struct hw_chip device;
  diag_init(&diags);
  struct generate_model model = *generate_model_find("gpt2", &diags);
  model.layers = LAYERS;
  model.hidden = HIDDEN;
  model.heads = model.kv_heads = HEADS;
  model.head_size = HIDDEN / HEADS;
  model.ffn = 4 * HIDDEN;
  model.vocabulary = VOCABULARY;
  model.positions = POSITIONS;
  const struct hw_cluster *cluster = hw_clusters_find(&clusters, "dgx_h100", &diags);
  assert_non_null(cluster);
  step_device_of(cluster, hw_database_find(&chips, cluster->chip, &diags), &device);
  assert_int_equal(generate_training_module(&model, training, &diags, &module), STATUS_OK);
  assert_int_equal(program_adopt("gpt", module, &diags, &program), STATUS_OK);
  assert_int_equal(program_step_read(program, &device, NULL, &diags, &step), STATUS_OK);
  assert_int_equal(hw_slice_of(cluster, step->devices, NULL, &diags, &slice), STATUS_OK);
  step_result_init(&result);
  assert_int_equal(step_run(&step->step, cluster, &slice, &device, NULL, &diags, &result), STATUS_OK);
  *memory = result.memory;
  step_result_release(&result);
  program_step_free(step);
  program_free(program);
  diag_release(&diags);
}

/* Elements of matrices and of vectors that a tensor rank holds of one layer: queries to values, output, two of the feed-forward
 * part; norms and biases of results are whole, biases of columns are cut. */
static double layer_matrices(double t) {
  return 12.0 * HIDDEN * HIDDEN / t;
}
static double layer_vectors(double t) {
  return 6.0 * HIDDEN + 7.0 * HIDDEN / t;
}

/* Of the first stage of p: its layers, the embedding, positions. */
static double first_stage_parameters(double t, double p) {
  return LAYERS / p * (layer_matrices(t) + layer_vectors(t)) + (double)VOCABULARY * HIDDEN / t
         + (double)POSITIONS * HIDDEN;
}

static void check_state(const struct step_memory *memory, double parameters, double gradients, double optimizer) {
  assert_true(memory->parameter_bytes == 2 * parameters);
  assert_true(memory->gradient_bytes == 4 * gradients);
  assert_true(memory->optimizer_bytes == 12 * optimizer);
  assert_true(memory->fits);
}

static const double rows = POSITIONS, plain_scores = 2.0 * HEADS * POSITIONS * POSITIONS,
                    flash_sums = 4.0 * HEADS * POSITIONS;

static void pipelines_hold_their_micro_batches(void **state) {
  (void)state;
  for (uint32_t batch = 2; batch <= 8; batch += 6) {
    struct step_memory memory;
    struct generate_training training = strategy();
    training.tensor = 2;
    training.pipeline = 4;
    training.global_batch = batch;
    predict(&training, &memory);
    double parameters = first_stage_parameters(2, 4), in_flight = batch < 4 ? batch : 4;
    double layer = rows * HIDDEN * (8 + 24.0 / 2) + flash_sums / 2, sent = 2 * rows * HIDDEN / 2;
    check_state(&memory, parameters, parameters, parameters);
    assert_true(memory.activation_bytes == in_flight * (LAYERS / 4 * layer + sent));
  }
}

static void sequence_parallel_cuts_all_of_a_layer(void **state) {
  (void)state;
  struct step_memory memory;
  struct generate_training training = strategy();
  training.tensor = 2;
  training.pipeline = 4;
  training.sequence_parallel = true;
  predict(&training, &memory);
  double layer = rows * HIDDEN * 32 / 2 + flash_sums / 2, sent = 2 * rows * HIDDEN / 2;
  assert_true(memory.activation_bytes == 4 * (LAYERS / 4 * layer + sent));
}

static void scores_in_memory_are_counted(void **state) {
  (void)state;
  struct step_memory memory;
  struct generate_training training = strategy();
  training.tensor = 2;
  training.pipeline = 4;
  training.attention = GENERATE_ATTENTION_FUSED_SOFTMAX;
  predict(&training, &memory);
  double layer = rows * HIDDEN * (8 + 24.0 / 2) + plain_scores / 2, sent = 2 * rows * HIDDEN / 2;
  assert_true(memory.activation_bytes == 4 * (LAYERS / 4 * layer + sent));
}

/* Whole model on a device; matrices are cut over four data ranks, vectors only where parameters are. */
static void shards_divide_state(void **state) {
  (void)state;
  double matrices = LAYERS * layer_matrices(1) + (double)(VOCABULARY + POSITIONS) * HIDDEN;
  double vectors = LAYERS * layer_vectors(1) + 2 * HIDDEN;
  double whole = matrices + vectors, shard = matrices / 4 + vectors;
  struct step_memory memory;
  struct generate_training training = strategy();
  training.data = 4;
  predict(&training, &memory);
  check_state(&memory, whole, whole, whole);
  training.sharded = GENERATE_SHARD_OPTIMIZER;
  predict(&training, &memory);
  check_state(&memory, whole, whole, shard);
  training.sharded = GENERATE_SHARD_GRADIENTS;
  predict(&training, &memory);
  check_state(&memory, whole, shard, shard);
  training.sharded = GENERATE_SHARD_PARAMETERS;
  predict(&training, &memory);
  check_state(&memory, whole / 4, whole / 4, whole / 4);
}

static int load_hardware(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = hw_database_load(&chips, RDG_SOURCE_DIR "/hardware", &diags);
  status = status == STATUS_OK ? hw_clusters_load(&clusters, RDG_SOURCE_DIR "/hardware", &chips, &diags) : status;
  diag_release(&diags);
  return status == STATUS_OK ? 0 : -1;
}

static int release_hardware(void **state) {
  (void)state;
  hw_clusters_release(&clusters);
  hw_database_release(&chips);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pipelines_hold_their_micro_batches),
      cmocka_unit_test(sequence_parallel_cuts_all_of_a_layer),
      cmocka_unit_test(scores_in_memory_are_counted),
      cmocka_unit_test(shards_divide_state),
  };
  return cmocka_run_group_tests(tests, load_hardware, release_hardware);
}
