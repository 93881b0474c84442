/* ridgeline: one program, every chip. Dispatch to the sub-commands. */
#include <signal.h>
#include <string.h>

#include "cli.h"

static const struct cli_command *const commands[] = {
    &cli_predict, &cli_inspect, &cli_explain,  &cli_convert, &cli_chips,    &cli_validate,   &cli_calibrate,
    &cli_profile, &cli_run,     &cli_generate, &cli_plan,    &cli_clusters, &cli_collectives};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out) {
  fprintf(out, "ridgeline %s: how long does a machine-learning program take, on any chip?\n\n", rdg_version());
  fprintf(out, "usage: ridgeline COMMAND [ARGUMENTS]\n\n");
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    fprintf(out, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
  }
  fprintf(out, "\n'ridgeline COMMAND --help' explains one, with examples.\n"
               "Exit status: 0 done, 1 the input or a file is at fault, 2 the command line is.\n\n"
               "example: ridgeline predict examples/resnet50_inference.mlir.zst --on h100,mi300x,tpu-v5p\n");
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN); /* a closed pipe ends the writing, not the process in the middle of it */
  if (argc < 2 || strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_help(argc < 2 ? stderr : stdout);
    return argc < 2 ? CLI_USAGE : CLI_OK;
  }
  if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
    printf("ridgeline %s\n", rdg_version());
    return CLI_OK;
  }
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    if (strcmp(argv[1], commands[i]->name) == 0) {
      return commands[i]->run(argc - 2, argv + 2);
    }
  }
  fprintf(stderr, "ridgeline: there is no command '%s'; 'ridgeline --help' lists them\n", argv[1]);
  return CLI_USAGE;
}
