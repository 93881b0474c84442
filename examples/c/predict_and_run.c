/* Ridgeline from C: what a program takes on three chips, and what it computes.
 *
 *     predict_and_run [PROGRAM [CHIP...]]
 *
 * Without arguments the program is the one below: a dense layer, y = max(x w + b, 0). Programs of others are predicted and
 * then run on inputs of zeros. */
#include <stdio.h>
#include <string.h>

#include <ridgeline/ridgeline.h>

static const char layer[] =
    "func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x2xf32>, %b: tensor<2xf32>) -> tensor<2x2xf32> {\n"
    "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]\n"
    "    : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>\n"
    "  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>\n"
    "  %2 = stablehlo.add %0, %1 : tensor<2x2xf32>\n"
    "  %zero = stablehlo.constant dense<0.0> : tensor<2x2xf32>\n"
    "  %3 = stablehlo.maximum %2, %zero : tensor<2x2xf32>\n"
    "  return %3 : tensor<2x2xf32>\n"
    "}\n";

static rdg_status predict(rdg_context *ctx, rdg_program *program, const char *const *chips, size_t count) {
  rdg_prediction *prediction = NULL;
  rdg_status status = rdg_predict(ctx, program, chips, count, NULL, &prediction);
  if (status != RDG_OK) {
    return status;
  }
  rdg_estimate e;
  for (size_t i = 0; rdg_prediction_get(prediction, i, &e); i++) {
    if (e.refused) {
      printf("%-20s refused: %s\n", e.chip_id, e.reason);
    } else {
      printf("%-20s %9.3f us (%.3f to %.3f), bound by %s\n", e.chip_id, e.time_s * 1e6, e.low_s * 1e6, e.high_s * 1e6,
             e.bound_by);
    }
  }
  rdg_prediction_free(prediction);
  return RDG_OK;
}

static bool write_out(void *user, const char *text, size_t length) {
  return fwrite(text, 1, length, user) == length;
}

static rdg_status run(rdg_context *ctx, const rdg_program *program, const rdg_tensor *inputs, size_t count) {
  const rdg_run_options options = {.fill = RDG_FILL_ZERO}; /* every member left out has its default */
  rdg_run_result *result = NULL;
  rdg_status status = rdg_run(ctx, program, &options, inputs, count, &result);
  if (status != RDG_OK) {
    return status;
  }
  const rdg_sink to_stdout = {write_out, stdout};
  status = rdg_run_result_write(ctx, result, 100, RDG_FORMAT_TEXT, to_stdout);
  rdg_run_result_free(result);
  return status;
}

int main(int argc, char **argv) {
  static const char *const default_chips[] = {"h100", "mi300x", "tpu-v5p"};
  static const float x[2][3] = {{1, 2, 3}, {4, 5, 6}}, w[3][2] = {{1, 0}, {0, 1}, {-1, 1}}, b[2] = {1, -1};
  static const int64_t x_dims[] = {2, 3}, w_dims[] = {3, 2}, b_dims[] = {2};
  const rdg_tensor inputs[] = {{RDG_DTYPE_F32, 2, x_dims, x, sizeof x},
                               {RDG_DTYPE_F32, 2, w_dims, w, sizeof w},
                               {RDG_DTYPE_F32, 1, b_dims, b, sizeof b}};
  rdg_context *ctx = rdg_context_new(NULL);
  rdg_program *program = NULL;
  if (!ctx) {
    return 1;
  }
  rdg_status status = argc > 1 ? rdg_program_load(ctx, argv[1], NULL, &program)
                               : rdg_program_parse(ctx, "layer.mlir", layer, strlen(layer), NULL, &program);
  fputs(rdg_diagnostics_text(ctx), stderr); /* the next call clears them */
  if (status == RDG_OK) {
    status = argc > 2 ? predict(ctx, program, (const char *const *)argv + 2, (size_t)argc - 2)
                      : predict(ctx, program, default_chips, 3);
    fputs(rdg_diagnostics_text(ctx), stderr);
  }
  if (status == RDG_OK) {
    status = run(ctx, program, inputs, argc > 1 ? 0 : 3);
    fputs(rdg_diagnostics_text(ctx), stderr);
  }
  rdg_program_free(program);
  rdg_context_free(ctx);
  return status == RDG_OK ? 0 : 1;
}
