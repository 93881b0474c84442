/* ridgeline predict: how long a program takes on each chip, or a step of it on each cluster, what bounds it, and why. */
#include <stdint.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline predict PROGRAM --on CHIP[,CHIP|@GROUP|FILE.yaml]... [options]\n"
    "       ridgeline predict PROGRAM --cluster CLUSTER[,CLUSTER|FILE.yaml]... [options]\n"
    "\n"
    "Predicts one execution of a program on each chip: time, what bounds it, the operations that take most of it, what "
    "the\n"
    "target's fusion changed, and whether it fits the memory. With --cluster, one step of a program of several "
    "devices:\n"
    "communication and what of it is exposed, pipeline bubbles, memory per device, tokens per second, energy, price.\n"
    "\n" CLI_PROGRAM_HELP "\n"
    "  --on CHIPS          ids or aliases (h100, tpu-v5p, ...), groups (@gpu, @tpu, @nvidia, @demo, @all), chip files\n"
    "  --cluster CLUSTERS  ids, aliases or files of clusters ('ridgeline clusters list'), instead of --on\n"
    "  --devices N         devices of the slice (default: as many as the program states)\n"
    "  --shape SHAPE       slice by dimension, innermost first: 4x4x8\n"
    "  --overlap NAME      of communication with computation: none, as-written, early-late, latency-hiding (default: "
    "what the\n"
    "                      program states, else what its compiler does; docs/step.md)\n"
    "  --straggler SHARE   spread of the devices' speeds, as a fraction: 0.02 (default 0)\n"
    "  --network NAME      analytic (default) or event: messages on links, one by one\n"
    "  --chakra DIR        also write execution traces for ASTRA-sim, a file per rank (docs/traces.md)\n"
    "  --chakra-ranks N    of the first N ranks only\n"
    "  --bind ARG=DIMS     fill in dynamic dimensions, e.g. --bind arg0=32x? ('?' keeps one); may be repeated.\n"
    "                      Dimensions of ONNX models by name: --bind batch=8\n"
    "  --entry NAME        function to start in (default: main)\n"
    "  --fidelity NAME     roofline (default)\n"
    "  --precision TYPE    what DEFAULT-precision f32 dots run as: f32, tf32, bf16 (default: what the chip does)\n"
    "  --no-fusion         operation by operation, as the program is written\n"
    "  --top N             operations listed per chip (default 5), collectives per cluster (default 10)\n"
    "  --json              JSON instead of the table (docs/json.md)\n"
    "  -o, --output FILE   write to FILE: .json gives JSON; .trace.json or .pftrace the predicted timeline as a Chrome "
    "trace\n"
    "                      (open it in ui.perfetto.dev); anything else the table\n"
    "\n"
    "examples:\n"
    "  ridgeline predict examples/resnet50_inference.mlir.zst --on h100,mi300x,tpu-v5p\n"
    "  ridgeline predict model.mlir --on @gpu --json | jq '.estimates[] | [.chip, .time_s]'\n"
    "  ridgeline predict examples/llama3_8b_decode.mlir.zst --on h200 -o decode.trace.json\n"
    "  ridgeline predict step.mlir --cluster dgx_h100,dgx_a100\n"
    "  ridgeline predict step.mlir --cluster tpu-v4 --shape 2x2x2 -o step.trace.json --chakra traces/\n";

static int run(int argc, char **argv);
const struct cli_command cli_predict = {"predict", "time on each chip or cluster, what bounds it, and why", usage, run};

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

struct request {
  const char *path, *entry, *output;
  struct cli_list chips, clusters, binds;
  rdg_predict_options options;
  struct cli_step step;
  bool json;
};

static int predict_chips(rdg_context *ctx, rdg_program *program, const struct request *r) {
  rdg_prediction *prediction = NULL;
  struct cli_progress *progress = cli_progress_begin("predicting");
  rdg_status status = rdg_predict(ctx, program, r->chips.items, r->chips.count, &r->options, &prediction);
  cli_progress_end(progress);
  int exit_status = cli_finish(ctx, status);
  if (exit_status == CLI_OK) {
    exit_status = write_prediction(ctx, prediction, r->output, r->json);
  }
  rdg_prediction_free(prediction);
  return exit_status;
}

static int predict(const struct request *r) {
  rdg_context *ctx = rdg_context_new(NULL);
  rdg_program *program = NULL;
  int status = ctx ? cli_finish(ctx, cli_load(ctx, r->path, &r->binds, r->entry, &program)) : CLI_FAILED;
  if (status == CLI_OK && r->clusters.count > 0) {
    rdg_step_options options = {.fidelity = r->options.fidelity, .f32_as = r->options.f32_as, .top = r->options.top};
    status = cli_predict_step(ctx, program, &r->clusters, &r->step, &options, r->output, r->json);
  } else if (status == CLI_OK) {
    status = predict_chips(ctx, program, r);
  }
  rdg_program_free(program);
  rdg_context_free(ctx);
  return status;
}

/* What is missing or does not go together. */
static int check(struct request *r, size_t paths, const char *top) {
  uint64_t count = 0;
  if (paths == 0) {
    return cli_usage_error(&cli_predict, "which program?");
  }
  if (r->chips.count > 0 && r->clusters.count > 0) {
    return cli_usage_error(&cli_predict, "--on predicts one device, --cluster a step of all: give one of them");
  }
  if (r->chips.count == 0 && r->clusters.count == 0) {
    return cli_usage_error(&cli_predict, "on which chips? (--on h100,mi300x or --on @demo; --cluster dgx_h100)");
  }
  if (r->clusters.count == 0 && cli_step_is_asked(&r->step)) {
    return cli_usage_error(&cli_predict, "--devices, --shape, --overlap, --straggler, --network and --chakra go with "
                                         "--cluster");
  }
  if (r->clusters.count > 0 && r->options.without_fusion) {
    return cli_usage_error(&cli_predict, "--no-fusion goes with --on");
  }
  if (top && !cli_count(top, 10000, &count)) {
    return cli_usage_error(&cli_predict, "--top takes a number from 1 to 10000, not '%s'", top);
  }
  r->options.top = (unsigned)count;
  return cli_step_check(&cli_predict, &r->step);
}

static int run(int argc, char **argv) {
  struct request r = {0};
  const char *top = NULL;
  bool help;
  size_t paths;
  const struct cli_option table[] = {{.name = "on", .list = &r.chips, .commas = true},
                                     {.name = "cluster", .list = &r.clusters, .commas = true},
                                     {.name = "devices", .text = &r.step.devices},
                                     {.name = "shape", .text = &r.step.shape},
                                     {.name = "overlap", .text = &r.step.overlap},
                                     {.name = "straggler", .text = &r.step.straggler},
                                     {.name = "network", .text = &r.step.network},
                                     {.name = "chakra", .text = &r.step.chakra},
                                     {.name = "chakra-ranks", .text = &r.step.chakra_ranks},
                                     {.name = "bind", .list = &r.binds},
                                     {.name = "entry", .text = &r.entry},
                                     {.name = "fidelity", .text = &r.options.fidelity},
                                     {.name = "precision", .text = &r.options.f32_as},
                                     {.name = "no-fusion", .flag = &r.options.without_fusion},
                                     {.name = "top", .text = &top},
                                     {.name = "json", .flag = &r.json},
                                     {.name = "output", .letter = 'o', .text = &r.output}};
  int status = cli_parse(&cli_predict, argc, argv, table, sizeof table / sizeof table[0], &r.path, 1, &paths, &help);
  if (status == CLI_OK && !help) {
    status = check(&r, paths, top);
    status = status == CLI_OK ? predict(&r) : status;
  }
  cli_list_release(&r.chips);
  cli_list_release(&r.clusters);
  cli_list_release(&r.binds);
  return status;
}
