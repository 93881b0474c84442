/* ridgeline validate: predictions beside measurements. */
#include "cli.h"

static const char usage[] =
    "usage: ridgeline validate SUITE [--data DIR] [--json]\n"
    "\n"
    "Scores predictions against measured values and prints every row, good or bad.\n"
    "\n"
    "  workloads   whole training steps (Llama-3-style, ResNet) on GPUs and TPUs; one device of several, "
    "communication\n"
    "              not timed\n"
    "\n"
    "  --data DIR  where the measured tables are (default: $RIDGELINE_DATA, else ../shared/data)\n"
    "  --json      JSON instead of the table\n"
    "\n"
    "example: ridgeline validate workloads\n";

static int run(int argc, char **argv);
const struct cli_command cli_validate = {"validate", "predictions beside measured values", usage, run};

static int validate(const char *suite, const char *data, bool json) {
  rdg_context *ctx = rdg_context_new(NULL);
  if (!ctx) {
    return CLI_FAILED;
  }
  struct cli_output output;
  cli_output_open(&output, NULL);
  struct cli_progress *progress = cli_progress_begin("validating");
  rdg_status status =
      rdg_validate(ctx, suite, data, json ? RDG_FORMAT_JSON : RDG_FORMAT_TEXT, cli_output_sink(&output));
  cli_progress_end(progress);
  int exit_status = cli_finish(ctx, status);
  int closed = cli_output_close(&output, true);
  rdg_context_free(ctx);
  return exit_status == CLI_OK ? closed : exit_status;
}

static int run(int argc, char **argv) {
  const char *suite = NULL, *data = NULL;
  size_t count;
  bool json = false, help;
  const struct cli_option table[] = {{.name = "data", .text = &data}, {.name = "json", .flag = &json}};
  int status = cli_parse(&cli_validate, argc, argv, table, sizeof table / sizeof table[0], &suite, 1, &count, &help);
  if (status != CLI_OK || help) {
    return status;
  }
  return count ? validate(suite, data, json) : cli_usage_error(&cli_validate, "which suite? (workloads)");
}
