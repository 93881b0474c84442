/* ridgeline validate: predictions beside measurements. */
#include "cli.h"

static const char usage[] =
    "usage: ridgeline validate SUITE [options]\n"
    "       ridgeline validate --list\n"
    "\n"
    "Scores predictions against measured values, good or bad. Suites:\n"
    "\n"
    "  workloads      whole training steps (Llama-3-style, ResNet) on GPUs and TPUs; one device of several, "
    "communication\n"
    "                 not timed\n"
    "  operators      measured kernels (products, attention, MoE layers, passes) on rows that no constant has seen, "
    "beside\n"
    "                 simpler and published predictors; ends with the goals\n"
    "  neusight       f32 operators and whole programs of eager PyTorch on eleven GPUs, four of them unseen, beside\n"
    "                 published predictors\n"
    "  collectives    measured collectives on sizes no constant has seen, and on systems left out; ends with the "
    "goals\n"
    "  intercore      dense products on the tiles of a GC200 beside the planner's fastest partition\n"
    "\n"
    "  --list         names of all suites and what they are\n"
    "  --data DIR     where the measured tables are (default: $RIDGELINE_DATA, else ../shared/data)\n"
    "  --chip CHIP    operators: only this chip\n"
    "  --class CLASS  operators: only this class: gemm, attention_prefill, attention_decode, grouped_gemm, ...\n"
    "  --json         JSON instead of the tables (docs/json.md)\n"
    "  --html FILE    operators: also write a page with charts, one file that loads nothing\n"
    "\n"
    "examples:\n"
    "  ridgeline validate workloads\n"
    "  ridgeline validate operators --chip h100 --html h100.html\n";

static int run(int argc, char **argv);
const struct cli_command cli_validate = {"validate", "predictions beside measured values", usage, run};

static int list_suites(void) {
  const char *name, *summary;
  for (size_t i = 0; rdg_validate_suite(i, &name, &summary); i++) {
    printf("%-10s  %s\n", name, summary);
  }
  return CLI_OK;
}

static int write_reports(rdg_context *ctx, const char *suite, rdg_validate_options *options, const char *html) {
  struct cli_output report, page = {0};
  int status = html ? cli_output_open(&page, html) : CLI_OK;
  if (status != CLI_OK) {
    return status;
  }
  cli_output_open(&report, NULL);
  rdg_sink page_sink = cli_output_sink(&page);
  options->page = html ? &page_sink : NULL;
  struct cli_progress *progress = cli_progress_begin("validating");
  rdg_status done = rdg_validate(ctx, suite, options, cli_output_sink(&report));
  cli_progress_end(progress);
  status = cli_finish(ctx, done);
  int closed = cli_output_close(&report, true);
  int page_closed = html ? cli_output_close(&page, done == RDG_OK) : CLI_OK;
  status = status == CLI_OK ? closed : status;
  return status == CLI_OK ? page_closed : status;
}

static int run(int argc, char **argv) {
  const char *suite = NULL, *html = NULL;
  size_t count;
  bool json = false, list = false, help;
  rdg_validate_options options = {0};
  const struct cli_option table[] = {{.name = "data", .text = &options.data_directory},
                                     {.name = "json", .flag = &json},
                                     {.name = "list", .flag = &list},
                                     {.name = "chip", .text = &options.chip},
                                     {.name = "class", .text = &options.class_name},
                                     {.name = "html", .text = &html}};
  int status = cli_parse(&cli_validate, argc, argv, table, sizeof table / sizeof table[0], &suite, 1, &count, &help);
  if (status != CLI_OK || help) {
    return status;
  }
  if (list) {
    return list_suites();
  }
  if (count == 0) {
    return cli_usage_error(&cli_validate, "which suite? (--list names them)");
  }
  if (html && html[0] == '-' && html[1] == '\0') {
    return cli_usage_error(&cli_validate, "--html takes a file; the report goes to standard output");
  }
  options.format = json ? RDG_FORMAT_JSON : RDG_FORMAT_TEXT;
  rdg_context *ctx = rdg_context_new(NULL);
  if (!ctx) {
    return CLI_FAILED;
  }
  status = write_reports(ctx, suite, &options, html);
  rdg_context_free(ctx);
  return status;
}
