/* Exhausted memory on the whole way from a program to predictions: each allocation of reading, checking, lowering, fusing
 * and estimating fails once, for MLIR text, HLO text and bytecode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "exhausted_memory.h"
#include "program/program.h"

/* Chips are loaded once, before anything fails. */
static struct hw_database chips;

/* Calls, loops, branches, a reduction, products, a convolution, collectives and calls of unknown libraries. */
static const char program[] =
    "func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>, %p: tensor<i1>) -> tensor<8xf32> {\n"
    "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>)\n"
    "    -> tensor<8x32xf32>\n"
    "  %1 = call @body(%0) : (tensor<8x32xf32>) -> tensor<8x32xf32>\n"
    "  %z = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %2:2 = stablehlo.while(%i = %z, %x = %1) : tensor<i32>, tensor<8x32xf32>\n"
    "  cond {\n"
    "    %n = stablehlo.constant dense<5> : tensor<i32>\n"
    "    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %o = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %j = stablehlo.add %i, %o : tensor<i32>\n"
    "    %y = func.call @body(%x) : (tensor<8x32xf32>) -> tensor<8x32xf32>\n"
    "    stablehlo.return %j, %y : tensor<i32>, tensor<8x32xf32>\n"
    "  }\n"
    "  %3 = \"stablehlo.if\"(%p) ({\n"
    "    %t = stablehlo.tanh %2#1 : tensor<8x32xf32>\n"
    "    stablehlo.return %t : tensor<8x32xf32>\n"
    "  }, {\n"
    "    stablehlo.return %2#1 : tensor<8x32xf32>\n"
    "  }) : (tensor<i1>) -> tensor<8x32xf32>\n"
    "  %4 = \"stablehlo.all_reduce\"(%3) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({\n"
    "  ^bb0(%l: tensor<f32>, %r: tensor<f32>):\n"
    "    %s = stablehlo.add %l, %r : tensor<f32>\n"
    "    stablehlo.return %s : tensor<f32>\n"
    "  }) : (tensor<8x32xf32>) -> tensor<8x32xf32>\n"
    "  %5 = stablehlo.custom_call @unknown(%4) : (tensor<8x32xf32>) -> tensor<8x32xf32>\n"
    "  %f = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %6 = stablehlo.reduce(%5 init: %f) applies stablehlo.add across dimensions = [1]\n"
    "    : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>\n"
    "  return %6 : tensor<8xf32>\n"
    "}\n"
    "func.func private @body(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {\n"
    "  %e = stablehlo.exponential %x : tensor<8x32xf32>\n"
    "  %y = stablehlo.multiply %e, %x : tensor<8x32xf32>\n"
    "  return %y : tensor<8x32xf32>\n"
    "}\n";

/* The time of the program on one chip, as text. */
static enum status put_estimate(struct program *p, const char *chip_id, struct diag_list *diags, struct strbuf *text) {
  const struct hw_chip *chip = hw_database_find(&chips, chip_id, diags);
  struct cost_options options = {.f32_as = DTYPE_NONE};
  struct program_estimate estimate;
  enum status status = program_estimate(p, chip, &cost_roofline, &options, false, &estimate);
  if (status == STATUS_OK) {
    strbuf_printf(text, "%s %a %s\n", chip_id, estimate.result.time_s, estimate.refusal ? estimate.refusal : "");
  }
  program_estimate_release(&estimate);
  return status;
}

static enum status predict(const void *input, struct diag_list *diags, struct strbuf *text) {
  const struct source *source = input;
  struct program *p = NULL;
  enum status status = program_parse(source->name, source->text, source->length, NULL, diags, &p);
  status = status == STATUS_OK ? put_estimate(p, "nvidia_h100_sxm", diags, text) : status;
  status = status == STATUS_OK ? put_estimate(p, "google_tpu_v5p", diags, text) : status;
  program_free(p);
  return status;
}

static void check(const struct source *source) {
  struct strbuf text = {0};
  assert_int_equal(exhausted_run_once(predict, source, &text), STATUS_OK);
  assert_true(text.length > 20);
  strbuf_release(&text);
  exhausted_check(source->name, predict, source, 100);
}

static void mlir_text(void **state) {
  (void)state;
  const struct source source = {"memory.mlir", program, strlen(program)};
  check(&source);
}

/* What the checks say needs memory as well. */
static void wrong_program(void **state) {
  (void)state;
  static const char wrong[] = "func.func @main(%a: tensor<8x16xf32>, %b: tensor<15x32xf32>) -> tensor<8x32xf32> {\n"
                              "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]\n"
                              "    : (tensor<8x16xf32>, tensor<15x32xf32>) -> tensor<8x32xf32>\n"
                              "  %1 = stablehlo.transpose %0, dims = [0, 0] : (tensor<8x32xf32>) -> tensor<8x8xf32>\n"
                              "  %2 = call @nothing(%1) : (tensor<8x8xf32>) -> tensor<8x32xf32>\n"
                              "  return %2 : tensor<8x32xf32>\n}\n";
  const struct source source = {"wrong.mlir", wrong, strlen(wrong)};
  struct strbuf text = {0};
  assert_int_equal(exhausted_run_once(predict, &source, &text), STATUS_INPUT);
  strbuf_release(&text);
  exhausted_check(source.name, predict, &source, 10);
}

static void check_file(const char *path) {
  static char data[1 << 16];
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  const struct source source = {path, data, fread(data, 1, sizeof data, file)};
  fclose(file);
  assert_in_range(source.length, 1, sizeof data - 1);
  check(&source);
}

static void hlo_text(void **state) {
  (void)state;
  check_file(RDG_SOURCE_DIR "/tests/fuzz/corpus/hlo/loop_of_a_fusion.hlo");
}

static void bytecode(void **state) {
  (void)state;
  check_file(RDG_SOURCE_DIR "/tests/fuzz/corpus/bytecode/one_addition.mlir.bc");
}

int main(void) {
  struct diag_list diags;
  diag_init(&diags);
  enum status status = hw_database_load(&chips, RDG_SOURCE_DIR "/hardware", &diags);
  diag_release(&diags);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mlir_text),
      cmocka_unit_test(wrong_program),
      cmocka_unit_test(hlo_text),
      cmocka_unit_test(bytecode),
  };
  int failures = status == STATUS_OK ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
  hw_database_release(&chips);
  return failures;
}
