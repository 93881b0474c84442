/* ridgeline profile: measured operators and programs in one SQLite file. */
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline profile import [FILE.yaml|FILE.csv]... [--data DIR] [--mappings DIR] -o FILE.db\n"
    "       ridgeline profile export FILE.db [--programs] [-o FILE.csv]\n"
    "       ridgeline profile show FILE.db [--json] [-o FILE]\n"
    "\n"
    "  import    published tables, as mapping files say (without FILE: all of them), and CSV files of your own\n"
    "            measurements; what the profile has of the same source (a CSV: and device) is replaced\n"
    "  export    all operators, or all programs, as CSV\n"
    "  show      rows per source, device, operator, format and split, with licence and use\n"
    "\n"
    "  --data DIR      where the published tables are (default: $RIDGELINE_DATA, else ../shared/data)\n"
    "  --mappings DIR  mapping files (default: $RIDGELINE_MEASUREMENTS, else measurements/ of the source tree or the "
    "installation)\n"
    "  --programs      export programs\n"
    "  --json          JSON instead of the table\n"
    "  -o FILE         where to write\n"
    "\n"
    "docs/profiles.md describes the database, its CSV columns and mapping files.\n"
    "\n"
    "examples:\n"
    "  ridgeline profile import -o measured.db\n"
    "  ridgeline profile import my_gemms.csv -o measured.db\n"
    "  ridgeline profile show measured.db\n";

static int run(int argc, char **argv);
const struct cli_command cli_profile = {"profile", "measured operators: import, export, show", usage, run};

struct arguments {
  const char *words[64];
  size_t count; /* the action among them */
  const char *data, *mappings, *output;
  bool json, programs;
};

static int import(const struct arguments *a) {
  if (!a->output) {
    return cli_usage_error(&cli_profile, "into which profile? (-o FILE.db)");
  }
  rdg_context *ctx = rdg_context_new(NULL);
  if (!ctx) {
    return CLI_FAILED;
  }
  const rdg_profile_import_options options = {
      .files = a->words + 1, .file_count = a->count - 1, .mapping_directory = a->mappings, .data_directory = a->data};
  rdg_profile_import_result result = {0};
  struct cli_progress *progress = cli_progress_begin("importing");
  rdg_status status = rdg_profile_import(ctx, a->output, &options, &result);
  cli_progress_end(progress);
  int exit_status = cli_finish(ctx, status);
  if (exit_status == CLI_OK) {
    fprintf(stderr, "%llu rows into '%s', %llu tables are absent\n", (unsigned long long)result.rows, a->output,
            (unsigned long long)result.absent_tables);
  }
  rdg_context_free(ctx);
  return exit_status;
}

/* Export and show: one profile in, text out. */
static int write_out(const struct arguments *a, bool is_export) {
  if (a->count != 2) {
    return cli_usage_error(&cli_profile, "%s takes one profile", a->words[0]);
  }
  rdg_context *ctx = rdg_context_new(NULL);
  struct cli_output output;
  int status = ctx ? cli_output_open(&output, a->output) : CLI_FAILED;
  if (status == CLI_OK) {
    struct cli_progress *progress = cli_progress_begin("reading");
    rdg_status done = is_export ? rdg_profile_export(ctx, a->words[1], a->programs, cli_output_sink(&output))
                                : rdg_profile_show(ctx, a->words[1], cli_output_format(a->output, a->json, false),
                                                   cli_output_sink(&output));
    cli_progress_end(progress);
    status = cli_finish(ctx, done);
    int closed = cli_output_close(&output, done == RDG_OK);
    status = status == CLI_OK ? closed : status;
  }
  rdg_context_free(ctx);
  return status;
}

static int run(int argc, char **argv) {
  struct arguments a = {0};
  bool help;
  const struct cli_option table[] = {{.name = "data", .text = &a.data},
                                     {.name = "mappings", .text = &a.mappings},
                                     {.name = "output", .letter = 'o', .text = &a.output},
                                     {.name = "programs", .flag = &a.programs},
                                     {.name = "json", .flag = &a.json}};
  int status = cli_parse(&cli_profile, argc, argv, table, sizeof table / sizeof table[0], a.words,
                         sizeof a.words / sizeof a.words[0], &a.count, &help);
  if (status != CLI_OK || help) {
    return status;
  }
  if (a.count == 0) {
    return cli_usage_error(&cli_profile, "which action? (import, export, show)");
  }
  if (strcmp(a.words[0], "import") == 0) {
    return import(&a);
  }
  if (strcmp(a.words[0], "export") == 0 || strcmp(a.words[0], "show") == 0) {
    return write_out(&a, a.words[0][0] == 'e');
  }
  return cli_usage_error(&cli_profile, "there is no action '%s'; import, export, show are", a.words[0]);
}
