// The public header compiles as C++17 and its functions link and run from C++.
#include <cstdio>
#include <cstring>
#include <string>

#include "ridgeline/ridgeline.h"

static bool append(void *user, const char *text, size_t length) {
  static_cast<std::string *>(user)->append(text, length);
  return true;
}

static const char program_text[] = R"(func.func @main(%a: tensor<512x512xbf16>, %b: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
  return %0 : tensor<512x512xbf16>
})";

int main() {
  rdg_context *ctx = rdg_context_new(nullptr);
  rdg_program *program = nullptr;
  rdg_prediction *prediction = nullptr;
  const char *chips[] = {"h100", "tpu-v5p"};
  rdg_totals totals;
  std::string text;
  bool ok = rdg_program_parse(ctx, "inline.mlir", program_text, std::strlen(program_text), nullptr, &program) == RDG_OK
            && rdg_program_totals(ctx, program, &totals) == RDG_OK && totals.matrix_flops == 2ull * 512 * 512 * 512
            && rdg_predict(ctx, program, chips, 2, nullptr, &prediction) == RDG_OK
            && rdg_prediction_write(ctx, prediction, RDG_FORMAT_JSON, rdg_sink{append, &text}) == RDG_OK;
  rdg_estimate estimate;
  // the matrix product cannot be faster than its FLOPs at the data-sheet peak, 989 TFLOP/s
  ok = ok && rdg_prediction_get(prediction, 0, &estimate) && !estimate.refused
       && estimate.time_s > 2.0 * 512 * 512 * 512 / 989e12 && !rdg_prediction_get(prediction, 2, &estimate)
       && text.find("nvidia_h100_sxm") != std::string::npos;
  std::fputs(rdg_diagnostics_text(ctx), stderr);
  rdg_prediction_free(prediction);
  rdg_program_free(program);
  rdg_context_free(ctx);
  return ok ? 0 : 1;
}
