/* ridgeline convert: canonical text of a program in either form, or a portable artifact of it. */
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline convert PROGRAM [-o OUT] [--form pretty|generic] [--bind ARG=DIMS]...\n"
    "       ridgeline convert PROGRAM -o OUT --form bytecode [--target VERSION] [--locations]\n"
    "\n"
    "Reads a program and writes it as canonical StableHLO text: the pretty form as StableHLO prints it, or MLIR's "
    "generic\n"
    "form. The program is parsed but not checked. Without -o the text goes to standard output. The text is the\n"
    "output, so there is no --json; 'explain --json' gives a program's operations as JSON. Output is not compressed.\n"
    "\n" CLI_PROGRAM_HELP "\n"
    "With --form bytecode it writes a portable artifact: MLIR bytecode that StableHLO of the target version and newer\n"
    "reads (default: the newest known, 1.20.0; the oldest is 0.9.0). What the target does not have is refused with "
    "its\n"
    "place. Locations are left out unless --locations is given.\n"
    "\n"
    "  --bind ARG=DIMS   fill in dynamic dimensions, e.g. --bind arg0=32x?; of ONNX also --bind batch=8\n"
    "\n"
    "examples:\n"
    "  ridgeline convert examples/resnet50_inference.mlir.zst | head\n"
    "  ridgeline convert model.mlir --form generic -o model.generic.mlir\n"
    "  ridgeline convert exported.mlir.bc -o exported.mlir      # a portable artifact\n"
    "  ridgeline convert model.mlir --form bytecode --target 1.0.0 -o model.mlir.bc\n"
    "  ridgeline convert new.mlir.bc --form bytecode --target 1.8.0 -o old.mlir.bc      # an older version\n"
    "  ridgeline convert module_0001.before_optimizations.txt -o model.mlir      # XLA's HLO text\n";

static int run(int argc, char **argv);
const struct cli_command cli_convert = {"convert", "canonical text, or a portable artifact of a version", usage, run};

struct conversion {
  const char *path, *form, *output, *target;
  struct cli_list binds;
  bool locations;
};

static rdg_status write_form(rdg_context *ctx, const struct conversion *c, rdg_sink sink) {
  rdg_load_options options = {.binds = c->binds.items, .bind_count = c->binds.count};
  if (strcmp(c->form, "bytecode") == 0) {
    rdg_artifact_options artifact = {.target = c->target, .locations = c->locations};
    return rdg_convert_artifact(ctx, c->path, &options, &artifact, sink);
  }
  rdg_form form = strcmp(c->form, "generic") == 0 ? RDG_FORM_GENERIC : RDG_FORM_PRETTY;
  return rdg_convert(ctx, c->path, &options, form, sink);
}

static int convert(const struct conversion *c) {
  rdg_context *ctx = rdg_context_new(NULL);
  if (!ctx) {
    return CLI_FAILED;
  }
  struct cli_output output;
  int exit_status = cli_output_open(&output, c->output);
  if (exit_status == CLI_OK) {
    rdg_status status = write_form(ctx, c, cli_output_sink(&output));
    exit_status = cli_finish(ctx, status);
    int closed = cli_output_close(&output, status == RDG_OK);
    exit_status = exit_status == CLI_OK ? closed : exit_status;
  }
  rdg_context_free(ctx);
  return exit_status;
}

/* Refuses options that do not fit each other. */
static int check(const struct conversion *c) {
  bool is_bytecode = strcmp(c->form, "bytecode") == 0, is_stdout = !c->output || strcmp(c->output, "-") == 0;
  if (!is_bytecode && strcmp(c->form, "generic") != 0 && strcmp(c->form, "pretty") != 0) {
    return cli_usage_error(&cli_convert, "--form takes pretty, generic or bytecode, not '%s'", c->form);
  }
  if (!is_bytecode && (c->target || c->locations)) {
    return cli_usage_error(&cli_convert, "--%s needs --form bytecode", c->target ? "target" : "locations");
  }
  if (is_bytecode && is_stdout && isatty(STDOUT_FILENO)) {
    return cli_usage_error(&cli_convert, "bytecode is not for a terminal: write it to a file with -o OUT");
  }
  return CLI_OK;
}

static int run(int argc, char **argv) {
  struct conversion c = {.form = "pretty"};
  bool help;
  size_t paths;
  const struct cli_option table[] = {{.name = "form", .text = &c.form},
                                     {.name = "bind", .list = &c.binds},
                                     {.name = "target", .text = &c.target},
                                     {.name = "locations", .flag = &c.locations},
                                     {.name = "output", .letter = 'o', .text = &c.output}};
  int status = cli_parse(&cli_convert, argc, argv, table, sizeof table / sizeof table[0], &c.path, 1, &paths, &help);
  if (status == CLI_OK && !help) {
    status = paths ? check(&c) : cli_usage_error(&cli_convert, "which program?");
    status = status == CLI_OK ? convert(&c) : status;
  }
  cli_list_release(&c.binds);
  return status;
}
