/* Fusion must not hide a pass over the data: a kernel cannot use the result of a whole reduction while it is still reducing.
 * The bounds are counted by hand: x is 2048 x 1024 f32, 8 MiB. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/analyze.h"
#include "lower/lower.h"
#include "mlir/mlir.h"

enum { X_BYTES = 2048 * 1024 * 4 };

struct case_state {
  struct hw_database chips;
  struct diag_list diags;
};

static int load_chips(void **state) {
  static struct case_state s;
  diag_init(&s.diags);
  *state = &s;
  return hw_database_load(&s.chips, RDG_SOURCE_DIR "/hardware", &s.diags) == STATUS_OK ? 0 : -1;
}

static int release_chips(void **state) {
  struct case_state *s = *state;
  hw_database_release(&s->chips);
  diag_release(&s->diags);
  return 0;
}

/* Border bytes of the program as the chip's compiler fuses it. */
static uint64_t fused_bytes(struct case_state *s, const char *text, const char *chip_name) {
  struct source source = {"passes.mlir", text, strlen(text)};
  struct mlir_parse_options parse_options = {0};
  struct ir_module *module = NULL;
  struct work_graph *unfused = NULL, *fused = NULL;
  struct lower_options lower_options = {0};
  struct lower_fusion_report report;
  const struct hw_chip *chip = hw_database_find(&s->chips, chip_name, &s->diags);
  assert_non_null(chip);
  assert_int_equal(mlir_parse(&source, &parse_options, &s->diags, &module), STATUS_OK);
  assert_int_equal(analyze_infer(module, &s->diags), STATUS_OK);
  assert_int_equal(lower_module(module, &lower_options, &s->diags, &unfused), STATUS_OK);
  assert_int_equal(lower_fuse(unfused, chip, &report, &fused), STATUS_OK);
  struct work_total total;
  work_graph_total(fused, &total);
  work_graph_free(fused);
  work_graph_free(unfused);
  ir_module_free(module);
  return total.read_bytes + total.write_bytes;
}

#define X "tensor<2048x1024xf32>"
#define HEAD "func.func @main(%x: " X ") -> " X " {\n  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
#define TAIL                                                                                                           \
  "  %d = stablehlo.subtract %x, %b : " X "\n  %e = stablehlo.exponential %d : " X "\n  return %e : " X "\n}\n"

static const char whole[] =
    HEAD "  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1] : (" X
         ", tensor<f32>) -> tensor<f32>\n"
         "  %b = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> " X "\n" TAIL;
static const char columns[] =
    HEAD "  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (" X
         ", tensor<f32>) -> tensor<1024xf32>\n"
         "  %b = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<1024xf32>) -> " X "\n" TAIL;
static const char rows[] =
    HEAD "  %r = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1] : (" X
         ", tensor<f32>) -> tensor<2048xf32>\n"
         "  %b = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<2048xf32>) -> " X "\n" TAIL;

/* One pass to reduce, one to use the result, one to write: at least three times x, whatever fuses. */
static void whole_and_column_reductions_need_two_passes(void **state) {
  const char *const chips[] = {"a100", "h100", "mi300x", "tpu-v5e", "tpu-v4", "trainium2"};
  for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++) {
    assert_true(fused_bytes(*state, whole, chips[i]) >= 3ull * X_BYTES);
    assert_true(fused_bytes(*state, columns, chips[i]) >= 3ull * X_BYTES);
  }
}

/* A row of 1,024 stays with its block: read once, written once; the row results are all that may come on top. */
static void short_rows_stay_with_their_block(void **state) {
  const char *const chips[] = {"a100", "tpu-v5e"};
  for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++) {
    uint64_t bytes = fused_bytes(*state, rows, chips[i]);
    assert_true(bytes >= 2ull * X_BYTES);
    assert_true(bytes < 2ull * X_BYTES + X_BYTES / 8);
  }
}

/* Row maxima behind a product: the product is written, and read again by who needs the maxima. */
static void nothing_passes_twice_behind_a_product(void **state) {
  static const char text[] =
      "func.func @main(%a: tensor<2048x64xf32>, %w: tensor<64x1024xf32>) -> " X " {\n"
      "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %x = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x1024xf32>) "
      "-> " X "\n"
      "  %r = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1] : (" X
      ", tensor<f32>) -> tensor<2048xf32>\n"
      "  %b = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<2048xf32>) -> " X "\n" TAIL;
  assert_true(fused_bytes(*state, text, "tpu-v5e") >= 3ull * X_BYTES);
  assert_true(fused_bytes(*state, text, "a100") >= 3ull * X_BYTES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_and_column_reductions_need_two_passes),
      cmocka_unit_test(short_rows_stay_with_their_block),
      cmocka_unit_test(nothing_passes_twice_behind_a_product),
  };
  return cmocka_run_group_tests_name("fusion and passes over the data", tests, load_chips, release_chips);
}
