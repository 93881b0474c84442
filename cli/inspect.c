/* ridgeline inspect: what a program consists of and how much work it is, independent of any chip. */
#include "cli.h"

static const char usage[] =
    "usage: ridgeline inspect PROGRAM [options]\n"
    "\n"
    "Operations, FLOPs, bytes, arithmetic intensity, peak memory and collectives of a "
    "StableHLO program, in two conventions:\n"
    "`true` (loops multiplied out, padding not counted, known custom calls counted) and `xla` "
    "(exactly HloCostAnalysis).\n"
    "\n" CLI_PROGRAM_HELP "\n"
    "  --bind ARG=DIMS   fill in dynamic dimensions, e.g. --bind arg0=32x?; of ONNX also --bind batch=8\n"
    "  --entry NAME      function to start in (default: main)\n"
    "  --json            JSON instead of tables (docs/json.md)\n"
    "  -o, --output FILE write to FILE; .json gives JSON\n"
    "\n"
    "examples:\n"
    "  ridgeline inspect examples/llama3_8b_train_scan.mlir.zst\n"
    "  ridgeline inspect - --json < model.mlir\n";

static int run(int argc, char **argv);
const struct cli_command cli_inspect = {"inspect", "operations, FLOPs, bytes, peak memory, collectives", usage, run};

static int inspect(const char *path, const struct cli_list *binds, const char *entry, bool json,
                   const char *output_path) {
  rdg_context *ctx = rdg_context_new(NULL);
  if (!ctx) {
    return CLI_FAILED;
  }
  rdg_program *program = NULL;
  rdg_status status = cli_load(ctx, path, binds, entry, &program);
  struct cli_output output;
  int exit_status = status == RDG_OK ? cli_output_open(&output, output_path) : cli_finish(ctx, status);
  if (exit_status == CLI_OK) {
    status = rdg_inspect(ctx, program, cli_output_format(output_path, json, false), cli_output_sink(&output));
    exit_status = cli_finish(ctx, status);
    int closed = cli_output_close(&output, status == RDG_OK);
    exit_status = exit_status == CLI_OK ? closed : exit_status;
  }
  rdg_program_free(program);
  rdg_context_free(ctx);
  return exit_status;
}

static int run(int argc, char **argv) {
  struct cli_list binds = {0};
  const char *entry = NULL, *path = NULL, *output = NULL;
  bool json = false, help;
  size_t paths;
  const struct cli_option table[] = {{.name = "bind", .list = &binds},
                                     {.name = "entry", .text = &entry},
                                     {.name = "json", .flag = &json},
                                     {.name = "output", .letter = 'o', .text = &output}};
  int status = cli_parse(&cli_inspect, argc, argv, table, sizeof table / sizeof table[0], &path, 1, &paths, &help);
  if (status == CLI_OK && !help) {
    status = paths ? inspect(path, &binds, entry, json, output) : cli_usage_error(&cli_inspect, "which program?");
  }
  cli_list_release(&binds);
  return status;
}
