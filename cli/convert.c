/* ridgeline convert: canonical text of a program in either form. */
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline convert PROGRAM [-o OUT] [--form pretty|generic] [--bind ARG=DIMS]...\n"
    "\n"
    "Reads a program and writes it as canonical StableHLO text: the pretty form as StableHLO prints it, or MLIR's "
    "generic\n"
    "form. The program is parsed but not checked. Without -o the text goes to standard output. The text is the\n"
    "output, so there is no --json; 'explain --json' gives a program's operations as JSON.\n"
    "\n"
    "examples:\n"
    "  ridgeline convert examples/resnet50_inference.mlir.zst | head\n"
    "  ridgeline convert model.mlir --form generic -o model.generic.mlir\n"
    "  ridgeline convert exported.mlir.bc -o exported.mlir      # a portable artifact\n"
    "  ridgeline convert module_0001.before_optimizations.txt -o model.mlir      # XLA's HLO text\n";

static int run(int argc, char **argv);
const struct cli_command cli_convert = {"convert", "canonical text, pretty or generic", usage, run};

static int convert(const char *path, const struct cli_list *binds, rdg_form form, const char *output_path) {
  rdg_context *ctx = rdg_context_new(NULL);
  if (!ctx) {
    return CLI_FAILED;
  }
  struct cli_output output;
  int exit_status = cli_output_open(&output, output_path);
  if (exit_status == CLI_OK) {
    rdg_load_options options = {.binds = binds->items, .bind_count = binds->count};
    rdg_status status = rdg_convert(ctx, path, &options, form, cli_output_sink(&output));
    exit_status = cli_finish(ctx, status);
    int closed = cli_output_close(&output, status == RDG_OK);
    exit_status = exit_status == CLI_OK ? closed : exit_status;
  }
  rdg_context_free(ctx);
  return exit_status;
}

static int run(int argc, char **argv) {
  struct cli_list binds = {0};
  const char *path = NULL, *form = "pretty", *output = NULL;
  bool help;
  size_t paths;
  const struct cli_option table[] = {{.name = "form", .text = &form},
                                     {.name = "bind", .list = &binds},
                                     {.name = "output", .letter = 'o', .text = &output}};
  int status = cli_parse(&cli_convert, argc, argv, table, sizeof table / sizeof table[0], &path, 1, &paths, &help);
  if (status == CLI_OK && !help) {
    bool generic = strcmp(form, "generic") == 0;
    if (!paths) {
      status = cli_usage_error(&cli_convert, "which program?");
    } else if (!generic && strcmp(form, "pretty") != 0) {
      status = cli_usage_error(&cli_convert, "--form takes pretty or generic, not '%s'", form);
    } else {
      status = convert(path, &binds, generic ? RDG_FORM_GENERIC : RDG_FORM_PRETTY, output);
    }
  }
  cli_list_release(&binds);
  return status;
}
