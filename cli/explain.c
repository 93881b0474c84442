/* ridgeline explain: the work graph, which is all that predictors see of a program. */
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline explain PROGRAM [--on CHIP] [--task N] [--json] [options]\n"
    "\n"
    "Prints the work graph of a program: tasks with their stages, iteration axes, tensors and dependencies\n"
    "(docs/work-graph.md). Without --on it is unfused, one task per operation; with --on as that chip's compiler fuses "
    "it.\n"
    "\n" CLI_PROGRAM_HELP "\n"
    "  --on CHIP         fuse for this chip (one chip)\n"
    "  --task N          with --on: why task N takes its time, with every factor and constant. Of a loop or\n"
    "                    conditional it lists the tasks inside; 1.0.3 is task 3 in subgraph 0 of task 1\n"
    "  --json            the tasks as JSON, with --on with their times (docs/json.md)\n"
    "  --bind ARG=DIMS   fill in dynamic dimensions, e.g. --bind arg0=32x?; of ONNX also --bind batch=8\n"
    "  --entry NAME      function to start in (default: main)\n"
    "\n"
    "examples:\n"
    "  ridgeline explain examples/resnet50_inference.mlir.zst | less\n"
    "  ridgeline explain examples/resnet50_inference.mlir.zst --on h100 --task 212\n"
    "  ridgeline explain examples/resnet50_inference.mlir.zst --on h100 --json > tasks.json\n";

static int run(int argc, char **argv);
const struct cli_command cli_explain = {"explain", "the work graph, or one task's time in detail", usage, run};

static int explain(const char *path, const struct cli_list *binds, const char *entry, const char *chip,
                   const char *task, bool json) {
  rdg_context *ctx = rdg_context_new(NULL);
  if (!ctx) {
    return CLI_FAILED;
  }
  rdg_program *program = NULL;
  struct cli_output output;
  cli_output_open(&output, NULL);
  rdg_status status = cli_load(ctx, path, binds, entry, &program);
  if (status == RDG_OK) {
    status = rdg_explain(ctx, program, chip, task, json ? RDG_FORMAT_JSON : RDG_FORMAT_TEXT, cli_output_sink(&output));
  }
  int exit_status = cli_finish(ctx, status);
  int closed = cli_output_close(&output, true);
  rdg_program_free(program);
  rdg_context_free(ctx);
  return exit_status == CLI_OK ? closed : exit_status;
}

static int run(int argc, char **argv) {
  struct cli_list binds = {0};
  const char *entry = NULL, *path = NULL, *chip = NULL, *task = NULL;
  bool json = false, help;
  size_t paths;
  const struct cli_option table[] = {{.name = "on", .text = &chip},
                                     {.name = "task", .text = &task},
                                     {.name = "json", .flag = &json},
                                     {.name = "bind", .list = &binds},
                                     {.name = "entry", .text = &entry}};
  int status = cli_parse(&cli_explain, argc, argv, table, sizeof table / sizeof table[0], &path, 1, &paths, &help);
  if (status == CLI_OK && !help) {
    if (!paths) {
      status = cli_usage_error(&cli_explain, "which program?");
    } else if (chip && strchr(chip, ',')) {
      status = cli_usage_error(&cli_explain, "--on takes one chip here, not '%s'", chip);
    } else if (task && strspn(task, "0123456789.") != strlen(task)) {
      status = cli_usage_error(&cli_explain, "--task takes a task's address, like 3 or 1.0.3, not '%s'", task);
    } else {
      status = explain(path, &binds, entry, chip, task, json);
    }
  }
  cli_list_release(&binds);
  return status;
}
