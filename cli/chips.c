/* ridgeline chips: what is known of each chip, with the source of every number. */
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline chips list [--json]\n"
    "       ridgeline chips show CHIP [--json]\n"
    "       ridgeline chips check [CHIP|FILE.yaml] [--json]\n"
    "       ridgeline chips compare CHIP CHIP... [--json]\n"
    "\n"
    "  list      all chips with their main figures, and which fields the ones that cannot be predicted lack\n"
    "  show      every field of one chip with unit, source, kind, and the sources that disagree\n"
    "  check     recomputes published peaks from counts x rate x clock and bounds every number; of one chip it also "
    "says\n"
    "            what prediction needs, which keys look misspelt and which fields are defaults of its kind\n"
    "  compare   chips side by side\n"
    "\n"
    "CHIP is an id (nvidia_h100_sxm), an alias (h100) or the path of a YAML file (docs/chips.md is the format).\n"
    "\n"
    "examples:\n"
    "  ridgeline chips show h100\n"
    "  ridgeline chips compare h100 mi300x tpu-v5p\n"
    "  ridgeline chips check my_chip.yaml\n";

static int run(int argc, char **argv);
const struct cli_command cli_chips = {"chips", "list, show, check or compare chips", usage, run};

static rdg_status list(rdg_context *ctx, const char **names, size_t count, rdg_format format, rdg_sink sink) {
  (void)names, (void)count;
  return rdg_chips_list(ctx, format, sink);
}

static rdg_status show(rdg_context *ctx, const char **names, size_t count, rdg_format format, rdg_sink sink) {
  (void)count;
  return rdg_chip_show(ctx, names[0], format, sink);
}

static rdg_status check(rdg_context *ctx, const char **names, size_t count, rdg_format format, rdg_sink sink) {
  return rdg_chip_check(ctx, count ? names[0] : NULL, format, sink);
}

static rdg_status compare(rdg_context *ctx, const char **names, size_t count, rdg_format format, rdg_sink sink) {
  return rdg_chips_compare(ctx, names, count, format, sink);
}

static const struct {
  const char *name;
  size_t minimum, maximum; /* chips on the command line */
  rdg_status (*run)(rdg_context *ctx, const char **names, size_t count, rdg_format format, rdg_sink sink);
} actions[] = {{"list", 0, 0, list}, {"show", 1, 1, show}, {"check", 0, 1, check}, {"compare", 2, 64, compare}};

static int perform(const char **words, size_t count, bool json, const char *output_path) {
  for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
    if (strcmp(words[0], actions[i].name) != 0) {
      continue;
    }
    if (count - 1 < actions[i].minimum || count - 1 > actions[i].maximum) {
      return cli_usage_error(&cli_chips, "%s takes %s", words[0],
                             actions[i].maximum == 0   ? "no chip"
                             : actions[i].minimum == 2 ? "two or more chips"
                                                       : "one chip");
    }
    rdg_context *ctx = rdg_context_new(NULL);
    struct cli_output output;
    int status = ctx ? cli_output_open(&output, output_path) : CLI_FAILED;
    if (status == CLI_OK) {
      rdg_status done =
          actions[i].run(ctx, words + 1, count - 1, json ? RDG_FORMAT_JSON : RDG_FORMAT_TEXT, cli_output_sink(&output));
      status = cli_finish(ctx, done);
      int closed = cli_output_close(&output, done == RDG_OK);
      status = status == CLI_OK ? closed : status;
    }
    rdg_context_free(ctx);
    return status;
  }
  return cli_usage_error(&cli_chips, "there is no action '%s'; list, show, check, compare are", words[0]);
}

static int run(int argc, char **argv) {
  const char *words[65];
  const char *output = NULL;
  size_t count;
  bool json = false, help;
  const struct cli_option table[] = {{.name = "json", .flag = &json},
                                     {.name = "output", .letter = 'o', .text = &output}};
  int status = cli_parse(&cli_chips, argc, argv, table, sizeof table / sizeof table[0], words, 65, &count, &help);
  if (status != CLI_OK || help) {
    return status;
  }
  return count ? perform(words, count, json, output) : cli_usage_error(&cli_chips, "list, show, check or compare?");
}
