/* ridgeline predict: how long a program takes on each chip, what bounds it, and why. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline predict PROGRAM --on CHIP[,CHIP|@GROUP|FILE.yaml]... [options]\n"
    "\n"
    "Predicts one execution of a program on each chip: time, what bounds it, the operations that take most of it, what "
    "the\n"
    "target's fusion changed, and whether it fits the memory.\n"
    "\n" CLI_PROGRAM_HELP "\n"
    "  --on CHIPS          ids or aliases (h100, tpu-v5p, ...), groups (@gpu, @tpu, @nvidia, @demo, @all), chip files\n"
    "  --bind ARG=DIMS     fill in dynamic dimensions, e.g. --bind arg0=32x? ('?' keeps one); may be repeated.\n"
    "                      Dimensions of ONNX models by name: --bind batch=8\n"
    "  --entry NAME        function to start in (default: main)\n"
    "  --fidelity NAME     roofline (default)\n"
    "  --precision TYPE    what DEFAULT-precision f32 dots run as: f32, tf32, bf16 (default: what the chip does)\n"
    "  --no-fusion         operation by operation, as the program is written\n"
    "  --top N             operations listed per chip (default 5)\n"
    "  --json              JSON instead of the table (docs/json.md)\n"
    "  -o, --output FILE   write to FILE: .json gives JSON; .trace.json or .pftrace the predicted timeline as a Chrome "
    "trace\n"
    "                      (open it in ui.perfetto.dev); anything else the table\n"
    "\n"
    "examples:\n"
    "  ridgeline predict examples/resnet50_inference.mlir.zst --on h100,mi300x,tpu-v5p\n"
    "  ridgeline predict model.mlir --on @gpu --json | jq '.estimates[] | [.chip, .time_s]'\n"
    "  ridgeline predict examples/llama3_8b_decode.mlir.zst --on h200 -o decode.trace.json\n";

static int run(int argc, char **argv);
const struct cli_command cli_predict = {"predict", "time on each chip, what bounds it, and why", usage, run};

/* A prediction of nothing but refusals is a failure of the run. */
static bool any_predicted(const rdg_prediction *prediction) {
  rdg_estimate estimate;
  for (size_t i = 0; rdg_prediction_get(prediction, i, &estimate); i++) {
    if (!estimate.refused) {
      return true;
    }
  }
  return false;
}

static int write_prediction(rdg_context *ctx, const rdg_prediction *prediction, const char *path, bool json) {
  struct cli_output output;
  int status = cli_output_open(&output, path);
  if (status != CLI_OK) {
    return status;
  }
  rdg_status written =
      rdg_prediction_write(ctx, prediction, cli_output_format(path, json, true), cli_output_sink(&output));
  status = cli_finish(ctx, written);
  int closed = cli_output_close(&output, written == RDG_OK);
  status = status == CLI_OK ? closed : status;
  return status == CLI_OK && !any_predicted(prediction) ? CLI_FAILED : status;
}

static int predict(rdg_context *ctx, const char *path, const struct cli_list *chips, const struct cli_list *binds,
                   const char *entry, const rdg_predict_options *options, const char *output, bool json) {
  rdg_program *program = NULL;
  rdg_prediction *prediction = NULL;
  rdg_status status = cli_load(ctx, path, binds, entry, &program);
  if (status == RDG_OK) {
    struct cli_progress *progress = cli_progress_begin("predicting");
    status = rdg_predict(ctx, program, chips->items, chips->count, options, &prediction);
    cli_progress_end(progress);
  }
  int exit_status = cli_finish(ctx, status);
  if (exit_status == CLI_OK) {
    exit_status = write_prediction(ctx, prediction, output, json);
  }
  rdg_prediction_free(prediction);
  rdg_program_free(program);
  return exit_status;
}

static int run(int argc, char **argv) {
  struct cli_list chips = {0}, binds = {0};
  const char *entry = NULL, *output = NULL, *top = NULL, *path = NULL;
  bool json = false, help;
  size_t paths;
  rdg_predict_options options = {0};
  const struct cli_option table[] = {{.name = "on", .list = &chips, .commas = true},
                                     {.name = "bind", .list = &binds},
                                     {.name = "entry", .text = &entry},
                                     {.name = "fidelity", .text = &options.fidelity},
                                     {.name = "precision", .text = &options.f32_as},
                                     {.name = "no-fusion", .flag = &options.without_fusion},
                                     {.name = "top", .text = &top},
                                     {.name = "json", .flag = &json},
                                     {.name = "output", .letter = 'o', .text = &output}};
  int status = cli_parse(&cli_predict, argc, argv, table, sizeof table / sizeof table[0], &path, 1, &paths, &help);
  if (status == CLI_OK && !help) {
    char *end = NULL;
    unsigned long top_count = top ? strtoul(top, &end, 10) : 0;
    if (paths == 0) {
      status = cli_usage_error(&cli_predict, "which program?");
    } else if (chips.count == 0) {
      status = cli_usage_error(&cli_predict, "on which chips? (--on h100,mi300x or --on @demo)");
    } else if (top && (*end || top_count == 0 || top_count > 10000)) {
      status = cli_usage_error(&cli_predict, "--top takes a number from 1 to 10000, not '%s'", top);
    } else {
      options.top = (unsigned)top_count;
      rdg_context *ctx = rdg_context_new(NULL);
      status = ctx ? predict(ctx, path, &chips, &binds, entry, &options, output, json) : CLI_FAILED;
      rdg_context_free(ctx);
    }
  }
  cli_list_release(&chips);
  cli_list_release(&binds);
  return status;
}
