/* ridgeline calibrate: constants of kernel models from measured rows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline calibrate [options]\n"
    "\n"
    "Fits the constants that kernels of a chip are timed with to measured rows, and writes one file per chip and\n"
    "family beside the chips. Errors and intervals are those of rows that were held out in turn. docs/calibration.md\n"
    "explains the method.\n"
    "\n"
    "  --profile FILE     measured rows from a profile ('ridgeline profile'; default: the published tables)\n"
    "  --data DIR         where those tables are (default: $RIDGELINE_DATA, else ../shared/data)\n"
    "  --mappings DIR     files that say what the tables hold (default: measurements/ of the source tree)\n"
    "  --device ID        only this chip or family\n"
    "  --class CLASS      only this class: gemm, attention_prefill, attention_decode, grouped_gemm, elementwise,\n"
    "                     softmax, normalisation; other classes that a file has are kept; or collectives: constants\n"
    "                     of communication, written to hardware/clusters/families (docs/collectives.md)\n"
    "  --format FORMAT    only this format: bf16, fp8, ...; likewise\n"
    "  -o, --output DIR   where to write (default: hardware/calibrated, where predictions look)\n"
    "  --dry-run          write nothing, only report\n"
    "  --date YYYY-MM-DD  the date that the files state (default: today)\n"
    "  --max-rows N       rows per fit (default: 3000, chosen by their shapes)\n"
    "  --json             JSON instead of the table\n"
    "\n"
    "examples:\n"
    "  ridgeline calibrate --dry-run --device h100 --class gemm\n"
    "  ridgeline calibrate --profile mine.db -o mine/calibrated\n";

static int run(int argc, char **argv);
const struct cli_command cli_calibrate = {"calibrate", "fit kernel constants to measurements", usage, run};

/* One line per fit; on a terminal the line is overwritten. */
static void show_progress(void *user, const char *what, size_t done, size_t total) {
  const bool *is_terminal = user;
  fprintf(stderr, *is_terminal ? "\r%zu of %zu fits: %-60.60s%s" : "%zu of %zu fits: %s%s", done, total, what,
          *is_terminal && done < total ? "" : "\n");
}

static bool read_count(const char *text, size_t *count) {
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  *count = (size_t)value;
  return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && value > 0 && value <= 100000000;
}

static int calibrate(rdg_calibrate_options *options, bool is_dry) {
  rdg_context *ctx = rdg_context_new(NULL);
  if (!ctx) {
    return CLI_FAILED;
  }
  bool is_terminal = isatty(STDERR_FILENO);
  char families[4200];
  if (is_dry) {
    options->output_directory = NULL;
  } else if (!options->output_directory) {
    bool is_of_clusters = options->class_name && strcmp(options->class_name, "collectives") == 0;
    (void)snprintf(families, sizeof families, "%s/../clusters/families", rdg_calibration_directory(ctx));
    options->output_directory = is_of_clusters ? families : rdg_calibration_directory(ctx);
  }
  options->progress = show_progress;
  options->user = &is_terminal;
  struct cli_output output;
  cli_output_open(&output, NULL);
  rdg_status status = rdg_calibrate(ctx, options, cli_output_sink(&output));
  int exit_status = cli_finish(ctx, status);
  int closed = cli_output_close(&output, true);
  rdg_context_free(ctx);
  return exit_status == CLI_OK ? closed : exit_status;
}

static int run(int argc, char **argv) {
  const char *max_rows = NULL;
  size_t count;
  bool json = false, is_dry = false, help;
  rdg_calibrate_options options = {0};
  const struct cli_option table[] = {{.name = "profile", .text = &options.profile},
                                     {.name = "data", .text = &options.data_directory},
                                     {.name = "mappings", .text = &options.mapping_directory},
                                     {.name = "device", .text = &options.device},
                                     {.name = "class", .text = &options.class_name},
                                     {.name = "format", .text = &options.format},
                                     {.name = "output", .letter = 'o', .text = &options.output_directory},
                                     {.name = "dry-run", .flag = &is_dry},
                                     {.name = "date", .text = &options.date},
                                     {.name = "max-rows", .text = &max_rows},
                                     {.name = "json", .flag = &json}};
  int status = cli_parse(&cli_calibrate, argc, argv, table, sizeof table / sizeof table[0], NULL, 0, &count, &help);
  if (status != CLI_OK || help) {
    return status;
  }
  if (max_rows && !read_count(max_rows, &options.max_rows)) {
    return cli_usage_error(&cli_calibrate, "--max-rows is a count, not '%s'", max_rows);
  }
  options.report = json ? RDG_FORMAT_JSON : RDG_FORMAT_TEXT;
  return calibrate(&options, is_dry);
}
