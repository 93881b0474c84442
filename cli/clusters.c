/* ridgeline clusters: how chips are joined, with the source of every number. */
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline clusters list [--json]\n"
    "       ridgeline clusters show CLUSTER [--json]\n"
    "       ridgeline clusters check [CLUSTER|FILE.yaml] [--json]\n"
    "\n"
    "  list      all clusters with their chips, dimensions and links\n"
    "  show      dimensions, named slices, and every number of one cluster with unit, source and kind\n"
    "  check     bounds every number and compares links and power with those of the chip\n"
    "\n"
    "CLUSTER is an id (dgx_h100), an alias (hgx_h100) or the path of a YAML file (docs/clusters.md is the format).\n"
    "\n"
    "examples:\n"
    "  ridgeline clusters show tpu-v5e\n"
    "  ridgeline clusters show dgx_h100 --json\n"
    "  ridgeline clusters check my_cluster.yaml\n";

static int run(int argc, char **argv);
const struct cli_command cli_clusters = {"clusters", "list, show or check clusters of chips", usage, run};

static rdg_status list(rdg_context *ctx, const char *name, rdg_format format, rdg_sink sink) {
  (void)name;
  return rdg_clusters_list(ctx, format, sink);
}

static const struct {
  const char *name;
  size_t minimum, maximum; /* clusters on the command line */
  rdg_status (*run)(rdg_context *ctx, const char *name, rdg_format format, rdg_sink sink);
} actions[] = {{"list", 0, 0, list}, {"show", 1, 1, rdg_cluster_show}, {"check", 0, 1, rdg_cluster_check}};

static int perform(const char **words, size_t count, bool json, const char *output_path) {
  for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
    if (strcmp(words[0], actions[i].name) != 0) {
      continue;
    }
    if (count - 1 < actions[i].minimum || count - 1 > actions[i].maximum) {
      return cli_usage_error(&cli_clusters, "%s takes %s", words[0],
                             actions[i].maximum == 0 ? "no cluster" : "one cluster");
    }
    rdg_context *ctx = rdg_context_new(NULL);
    struct cli_output output;
    int status = ctx ? cli_output_open(&output, output_path) : CLI_FAILED;
    if (status == CLI_OK) {
      rdg_status done = actions[i].run(ctx, count > 1 ? words[1] : NULL, json ? RDG_FORMAT_JSON : RDG_FORMAT_TEXT,
                                       cli_output_sink(&output));
      status = cli_finish(ctx, done);
      int closed = cli_output_close(&output, done == RDG_OK);
      status = status == CLI_OK ? closed : status;
    }
    rdg_context_free(ctx);
    return status;
  }
  return cli_usage_error(&cli_clusters, "there is no action '%s'; list, show, check are", words[0]);
}

static int run(int argc, char **argv) {
  const char *words[2];
  const char *output = NULL;
  size_t count;
  bool json = false, help;
  const struct cli_option table[] = {{.name = "json", .flag = &json},
                                     {.name = "output", .letter = 'o', .text = &output}};
  int status = cli_parse(&cli_clusters, argc, argv, table, sizeof table / sizeof table[0], words, 2, &count, &help);
  if (status != CLI_OK || help) {
    return status;
  }
  return count ? perform(words, count, json, output) : cli_usage_error(&cli_clusters, "list, show or check?");
}
