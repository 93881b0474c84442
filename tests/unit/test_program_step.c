/* What a module says about its step, which functions become parts of it, and what is said when it does not fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "program/program_step.h"

static struct hw_database chips;

struct loaded {
  struct diag_list diags;
  struct program *program;
  struct program_step *step;
  enum status status;
};

static void load(struct loaded *loaded, const char *text, const char *chip, uint64_t devices) {
  const struct program_step_options options = {.devices = devices};
  const struct hw_chip *device = hw_database_find(&chips, chip, NULL);
  assert_non_null(device);
  diag_init(&loaded->diags);
  loaded->program = NULL;
  loaded->step = NULL;
  loaded->status = program_parse("test.mlir", text, strlen(text), NULL, &loaded->diags, &loaded->program);
  assert_int_equal(loaded->status, STATUS_OK);
  loaded->status = program_step_read(loaded->program, device, &options, &loaded->diags, &loaded->step);
}

static void release(struct loaded *loaded) {
  program_step_free(loaded->step);
  program_free(loaded->program);
  diag_release(&loaded->diags);
}

static void check_refused(const char *text, uint64_t devices, const char *message) {
  struct loaded loaded;
  load(&loaded, text, "h100_sxm", devices);
  assert_int_equal(loaded.status, STATUS_INPUT);
  assert_null(loaded.step);
  assert_int_equal(loaded.diags.error_count, 1);
  assert_int_equal(loaded.diags.entries.data[0].id, DIAG_E0315_STEP);
  assert_string_equal(loaded.diags.entries.data[0].message, message);
  release(&loaded);
}

#define FUNCTION(name, argument)                                                                                       \
  "func.func @" name "(%a: tensor<1024xf32> " argument ") -> tensor<1024xf32> {\n"                                     \
  "  %r = stablehlo.add %a, %a : tensor<1024xf32>\n  return %r : tensor<1024xf32>\n}\n"
#define MODULE(attributes, body) "module @m attributes {" attributes "} {\n" body "}\n"
#define MAIN FUNCTION("main", "")

/* clang-format off */
static const char pipeline[] = MODULE(
    "mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32, ridgeline.step = {schedule = \"interleaved\", "
    "stages = 2 : i64, chunks = 3 : i64, microbatches = 8 : i64, boundary_bytes = 4096 : i64, "
    "overlap = \"as_written\", tokens = 1.6e+01 : f64, samples = 2 : i64, model_flops = 1.5e+12 : f64, "
    "waits_for_sends = true}",
    FUNCTION("first_forward", "{jax.arg_info = \"weights.a\"}")
    FUNCTION("first_backward", "")
    FUNCTION("middle_forward", "")
    FUNCTION("middle_backward", "")
    FUNCTION("last_forward", "{jax.arg_info = \"tokens\"}")
    FUNCTION("last_backward", "{jax.arg_info = \"gradients.a\"}")
    FUNCTION("last_backward_last", "")
    FUNCTION("last_update", "{jax.arg_info = \"optimizer.first.a\"}"));
/* clang-format on */

static void every_field_is_read(void **state) {
  (void)state;
  struct loaded loaded;
  load(&loaded, pipeline, "h100_sxm", 0);
  assert_int_equal(loaded.status, STATUS_OK);
  assert_int_equal(loaded.diags.entries.count, 0); /* nothing about which function is the entry */
  const struct step_program *step = &loaded.step->step;
  assert_int_equal(step->schedule, STEP_INTERLEAVED);
  assert_int_equal(step->overlap, STEP_OVERLAP_AS_WRITTEN);
  assert_int_equal(step->stages, 2);
  assert_int_equal(step->chunks, 3);
  assert_int_equal(step->microbatches, 8);
  assert_int_equal(step->boundary_bytes, 4096);
  assert_int_equal(step->devices_per_stage, 8);
  assert_int_equal(loaded.step->devices, 16);
  assert_int_equal(program_step_devices(loaded.program), 16);
  assert_true(step->tokens == 16 && step->samples == 2 && step->model_flops == 1.5e12);
  assert_true(step->waits_for_sends);
  release(&loaded);
}

static void functions_become_parts(void **state) {
  (void)state;
  struct loaded loaded;
  load(&loaded, pipeline, "h100_sxm", 0);
  assert_int_equal(loaded.status, STATUS_OK);
  const struct step_program *step = &loaded.step->step;
  assert_int_equal(loaded.step->part_count, 8);
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    for (int role = 0; role < STEP_ROLE_COUNT; role++) {
      bool is_there = place != STEP_ONLY
                      && (role == STEP_FORWARD || role == STEP_BACKWARD
                          || (place == STEP_LAST && (role == STEP_BACKWARD_LAST || role == STEP_UPDATE)));
      assert_int_equal(step->parts[place][role].graph != NULL, is_there);
      assert_int_equal(step->parts[place][role].times != NULL, is_there);
      assert_true(!is_there || (step->parts[place][role].low <= 1 && step->parts[place][role].high >= 1));
    }
  }
  assert_int_equal(step->parts[STEP_FIRST][STEP_FORWARD].arguments[0], STEP_PARAMETER);
  assert_int_equal(step->parts[STEP_LAST][STEP_BACKWARD].arguments[0], STEP_GRADIENT);
  assert_int_equal(step->parts[STEP_LAST][STEP_UPDATE].arguments[0], STEP_OPTIMIZER);
  assert_null(step->parts[STEP_LAST][STEP_FORWARD].arguments); /* "tokens" says nothing */
  assert_null(step->parts[STEP_MIDDLE][STEP_FORWARD].arguments);
  release(&loaded);
}

/* Without the attribute: one whole step, scheduled as the chip's compiler does. */
static void a_plain_program_is_one_whole_step(void **state) {
  (void)state;
  static const char text[] = MODULE("mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32", MAIN);
  struct loaded loaded;
  load(&loaded, text, "h100_sxm", 0);
  assert_int_equal(loaded.status, STATUS_OK);
  assert_int_equal(loaded.step->part_count, 1);
  assert_non_null(loaded.step->step.parts[STEP_ONLY][STEP_WHOLE].graph);
  assert_int_equal(loaded.step->step.overlap, STEP_OVERLAP_EARLY_LATE);
  assert_int_equal(loaded.step->devices, 8);
  release(&loaded);
  load(&loaded, text, "tpu_v4", 32);
  assert_int_equal(loaded.step->step.overlap, STEP_OVERLAP_LATENCY_HIDING);
  assert_int_equal(loaded.step->devices, 32);
  release(&loaded);
}

static void what_the_program_starts_itself_stays_as_written(void **state) {
  (void)state;
  static const char text[] =
      MODULE("mhlo.num_partitions = 4 : i32",
             "func.func @main(%a: tensor<8xf32>) -> tensor<32xf32> {\n"
             "%f = \"stablehlo.async_start\"(%a) ({\n^bb0(%in: tensor<8xf32>):\n"
             "%g = \"stablehlo.all_gather\"(%in) {all_gather_dim = 0 : i64, channel_handle = "
             "#stablehlo.channel_handle<handle = 1, "
             "type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids} : "
             "(tensor<8xf32>) -> "
             "tensor<32xf32>\n stablehlo.return %g : tensor<32xf32> }) : (tensor<8xf32>) -> "
             "!stablehlo.future<tensor<32xf32>>\n"
             "%p = \"stablehlo.async_done\"(%f) : (!stablehlo.future<tensor<32xf32>>) -> tensor<32xf32>\n"
             "return %p : tensor<32xf32> }\n");
  struct loaded loaded;
  load(&loaded, text, "h100_sxm", 0);
  assert_int_equal(loaded.status, STATUS_OK);
  assert_int_equal(loaded.step->step.overlap, STEP_OVERLAP_AS_WRITTEN);
  release(&loaded);
}

/* Two equal exchanges and two that combine: XLA makes one of all, nobody else touches them. */
static void only_programs_for_xla_are_rewritten(void **state) {
  (void)state;
#define ALL_REDUCE(result, operand)                                                                                    \
  result " = \"stablehlo.all_reduce\"(" operand ") ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"                      \
         "%s = stablehlo.add %x, %y : tensor<f32>\n stablehlo.return %s : tensor<f32> }) {channel_handle = "           \
         "#stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, " \
         "use_global_device_ids} : (tensor<8xf32>) -> tensor<8xf32>\n"
#define EXCHANGES(attributes)                                                                                          \
  MODULE("mhlo.num_partitions = 4 : i32" attributes,                                                                   \
         "func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {\n" ALL_REDUCE(     \
             "%p", "%a") ALL_REDUCE("%q", "%a")                                                                        \
             ALL_REDUCE("%r", "%b") "%d = stablehlo.multiply %p, %q : tensor<8xf32>\n return %d, %r : tensor<8xf32>, " \
                                    "tensor<8xf32> }\n")
  static const struct {
    const char *text;
    bool is_as_written;
    uint64_t after;
  } cases[] = {{EXCHANGES(""), false, 1},
               {EXCHANGES(", ridgeline.step = {overlap = \"latency_hiding\"}"), false, 1},
               {EXCHANGES(", ridgeline.step = {overlap = \"as_written\"}"), true, 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct loaded loaded;
    load(&loaded, cases[i].text, "h100_sxm", 0);
    assert_int_equal(loaded.status, STATUS_OK);
    const struct lower_collective_report *report = &loaded.step->collectives;
    assert_int_equal(report->is_as_written, cases[i].is_as_written);
    assert_int_equal(report->before.count[WORK_ALL_REDUCE], 3);
    assert_int_equal(report->after.count[WORK_ALL_REDUCE], cases[i].after);
    assert_int_equal(report->duplicates, cases[i].is_as_written ? 0 : 1);
    release(&loaded);
  }
}

static void what_does_not_fit_is_said(void **state) {
  (void)state;
  check_refused(MODULE("ridgeline.step = {stages = 0 : i64}", MAIN), 0,
                "'stages' of the attribute 'ridgeline.step' is not an integer from 1 to 16777216");
  check_refused(MODULE("ridgeline.step = {schedule = \"zigzag\"}", MAIN), 0,
                "'schedule' of the attribute 'ridgeline.step' is not one of \"gpipe\", \"1f1b\", \"interleaved\"");
  check_refused(MODULE("ridgeline.step = {tokens = \"many\"}", MAIN), 0,
                "'tokens' of the attribute 'ridgeline.step' is not a number of 0 or more");
  check_refused(MODULE("ridgeline.step = {waits_for_sends = 1 : i64}", MAIN), 0,
                "'waits_for_sends' of the attribute 'ridgeline.step' is not true or false");
  check_refused(MODULE("ridgeline.step = {micro_batches = 4 : i64}", MAIN), 0,
                "the attribute 'ridgeline.step' has no field 'micro_batches'");
  check_refused(MODULE("ridgeline.step = \"1f1b\"", MAIN), 0, "the attribute 'ridgeline.step' is not a dictionary");
  check_refused(pipeline, 15, "2 pipeline stages do not divide 15 devices");
}

static void a_chip_that_cannot_be_predicted_is_no_error(void **state) {
  (void)state;
  struct loaded loaded;
  static const struct hw_chip empty = {.id = "empty", .missing = "mem.bw"};
  diag_init(&loaded.diags);
  loaded.step = NULL;
  assert_int_equal(program_parse("test.mlir", pipeline, sizeof pipeline - 1, NULL, &loaded.diags, &loaded.program),
                   STATUS_OK);
  assert_int_equal(program_step_read(loaded.program, &empty, NULL, &loaded.diags, &loaded.step), STATUS_OK);
  assert_non_null(loaded.step->refusal);
  assert_int_equal(loaded.step->part_count, 0);
  release(&loaded);
}

static int load_chips(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = hw_database_load(&chips, RDG_SOURCE_DIR "/hardware", &diags);
  diag_release(&diags);
  return status == STATUS_OK ? 0 : -1;
}

static int release_chips(void **state) {
  (void)state;
  hw_database_release(&chips);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_field_is_read),
      cmocka_unit_test(functions_become_parts),
      cmocka_unit_test(a_plain_program_is_one_whole_step),
      cmocka_unit_test(what_the_program_starts_itself_stays_as_written),
      cmocka_unit_test(only_programs_for_xla_are_rewritten),
      cmocka_unit_test(what_does_not_fit_is_said),
      cmocka_unit_test(a_chip_that_cannot_be_predicted_is_no_error),
  };
  return cmocka_run_group_tests(tests, load_chips, release_chips);
}
