/* Generated programs through the public interface: they serve wherever a loaded one does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ridgeline/ridgeline.h"

/* Counts what it is given and keeps the beginning. */
struct sunk {
  char text[200];
  size_t length;
};

static bool sink_write(void *user, const char *text, size_t length) {
  struct sunk *sunk = user;
  for (size_t i = 0; i < length && sunk->length + i + 1 < sizeof sunk->text; i++) {
    sunk->text[sunk->length + i] = text[i];
  }
  sunk->length += length;
  return true;
}

static rdg_sink sink_of(struct sunk *sunk) {
  memset(sunk, 0, sizeof *sunk);
  return (rdg_sink){sink_write, sunk};
}

static void test_program_is_like_a_loaded_one(void **state) {
  (void)state;
  rdg_context *ctx = rdg_context_new(NULL);
  rdg_program *program = NULL;
  rdg_totals totals;
  struct sunk sunk;
  rdg_generate_options options = {.batch = 3, .sequence = 128, .layers = 2, .weights = "i8"};
  assert_int_equal(rdg_generate(ctx, "opt-30b", &options, &program), RDG_OK);
  assert_int_equal(rdg_program_totals(ctx, program, &totals), RDG_OK);
  /* two layers of 12 h^2, the tied head, and scores and contexts of 56 heads over 128 entries */
  uint64_t h = 7168;
  assert_int_equal(totals.matrix_flops, 2 * 3 * (2 * 12 * h * h + 50272 * h) + 4 * 2 * 3 * h * 128);
  assert_int_equal(rdg_program_output_count(program), 1 + 2 * 2);
  rdg_signature_entry last;
  assert_true(rdg_program_input(program, rdg_program_input_count(program) - 1, &last));
  assert_string_equal(last.name, "position");
  assert_int_equal(rdg_program_print(ctx, program, RDG_FORM_GENERIC, sink_of(&sunk)), RDG_OK);
  assert_non_null(strstr(sunk.text, "opt_30b_decode"));
  assert_int_equal(rdg_program_write_artifact(ctx, program, NULL, sink_of(&sunk)), RDG_OK);
  assert_memory_equal(sunk.text, "ML\xefR", 4);
  assert_int_equal(rdg_inspect(ctx, program, RDG_FORMAT_TEXT, sink_of(&sunk)), RDG_OK);
  assert_non_null(strstr(sunk.text, "opt-30b"));
  assert_int_equal(rdg_explain(ctx, program, "h100", NULL, RDG_FORMAT_JSON, sink_of(&sunk)), RDG_OK);
  assert_true(sunk.length > 0);
  rdg_program_free(program);
  rdg_context_free(ctx);
}

static void test_defaults(void **state) {
  (void)state;
  static const struct {
    const char *model;
    size_t results;
  } rows[] = {{"llama2-7b", 1 + 2 * 32}, {"gpt2-xl", 1 + 2 * 48}, {"vit-h", 1}, {"dit-xl2", 1}};
  rdg_context *ctx = rdg_context_new(NULL);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    rdg_program *program = NULL;
    assert_int_equal(rdg_generate(ctx, rows[i].model, NULL, &program), RDG_OK);
    assert_int_equal(rdg_program_output_count(program), rows[i].results);
    rdg_program_free(program);
  }
  rdg_context_free(ctx);
}

static void test_training_step(void **state) {
  (void)state;
  rdg_context *ctx = rdg_context_new(NULL);
  rdg_program *program = NULL;
  struct sunk sunk;
  rdg_totals totals;
  rdg_training_options options = {.sequence = 128, .layers = 2, .data = 2, .sharded = "parameters"};
  assert_int_equal(rdg_generate_training(ctx, "gpt2", &options, &program), RDG_OK);
  assert_int_equal(rdg_program_print(ctx, program, RDG_FORM_PRETTY, sink_of(&sunk)), RDG_OK);
  assert_non_null(strstr(sunk.text, "gpt2_train"));
  /* products forward and twice backward: two layers of 12 h^2, the tied head; scores and contexts, seven products of flash
   * attention */
  assert_int_equal(rdg_program_totals(ctx, program, &totals), RDG_OK);
  uint64_t h = 768;
  assert_int_equal(totals.matrix_flops, 128 * (6 * (2 * 12 * h * h + 50257 * h) + 7 * 2 * 2 * 128 * h));
  rdg_program_free(program);
  static const rdg_training_options wrong[] = {
      {.framework = "tensorflow"}, {.recompute = "some"}, {.sharded = "all"}, {.attention = "none"},
      {.optimizer = "lion"},       {.tensor = 5},         {.layers = 13},     {.products = "f99"}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    rdg_diagnostic diagnostic;
    program = (rdg_program *)ctx;
    assert_int_equal(rdg_generate_training(ctx, "gpt2", &wrong[i], &program), RDG_ERROR_INPUT);
    assert_null(program);
    assert_true(rdg_diagnostic_get(ctx, 0, &diagnostic));
    assert_string_equal(diagnostic.code, "E0805");
  }
  rdg_context_free(ctx);
}

static void test_residual_network(void **state) {
  (void)state;
  rdg_context *ctx = rdg_context_new(NULL);
  rdg_program *program = NULL;
  rdg_totals totals;
  rdg_diagnostic diagnostic;
  const rdg_training_options options = {.data = 4, .micro_batch = 8, .activations = "f16", .optimizer = "sgd"};
  assert_int_equal(rdg_generate_training(ctx, "ResNet18", &options, &program), RDG_OK);
  assert_int_equal(rdg_program_totals(ctx, program, &totals), RDG_OK);
  assert_int_equal(totals.collectives, 20 * 7 + 4);
  rdg_program_free(program);
  assert_int_equal(rdg_generate_training(ctx, "resnet18", NULL, &program), RDG_OK);
  rdg_program_free(program);
  static const rdg_training_options wrong[] = {
      {.tensor = 2},          {.sharded = "parameters"},      {.optimizer = "adam"},
      {.activations = "f64"}, {.data = 3, .global_batch = 8}, {.data = 2, .micro_batch = 8, .global_batch = 8}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    program = (rdg_program *)ctx;
    assert_int_equal(rdg_generate_training(ctx, "resnet18", &wrong[i], &program), RDG_ERROR_INPUT);
    assert_null(program);
    assert_true(rdg_diagnostic_get(ctx, 0, &diagnostic));
    assert_string_equal(diagnostic.code, "E0805");
  }
  assert_int_equal(rdg_generate(ctx, "resnet18", NULL, &program), RDG_ERROR_INPUT);
  assert_true(rdg_diagnostic_get(ctx, 0, &diagnostic));
  assert_non_null(strstr(diagnostic.message, "only a training step"));
  rdg_context_free(ctx);
}

static void test_refusals(void **state) {
  (void)state;
  rdg_context *ctx = rdg_context_new(NULL);
  rdg_program *program = (rdg_program *)ctx; /* is set on failure, too */
  rdg_diagnostic diagnostic;
  const rdg_generate_options bad[] = {
      {.phase = RDG_PHASE_FORWARD}, {.activations = "f17"}, {.weights = "f64"}, {.layers = 33}, {.divide = 7}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_int_equal(rdg_generate(ctx, "llama2-7b", &bad[i], &program), RDG_ERROR_INPUT);
    assert_null(program);
    assert_int_equal(rdg_diagnostic_count(ctx), 1);
    assert_true(rdg_diagnostic_get(ctx, 0, &diagnostic));
    assert_string_equal(diagnostic.code, "E0805");
  }
  struct sunk sunk;
  assert_int_equal(rdg_generate(ctx, "vit-h", NULL, &program), RDG_OK);
  rdg_artifact_options artifact = {.target = "99.0.0"};
  assert_int_equal(rdg_program_write_artifact(ctx, program, &artifact, sink_of(&sunk)), RDG_ERROR_INPUT);
  assert_int_equal(sunk.length, 0);
  rdg_program_free(program);
  rdg_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_program_is_like_a_loaded_one),
      cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_training_step),
      cmocka_unit_test(test_residual_network),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
