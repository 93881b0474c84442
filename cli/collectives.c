/* ridgeline collectives: the algorithms of a collective side by side on one topology. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline collectives --cluster CLUSTER [options]\n"
    "\n"
    "How long a collective takes by every algorithm that the cluster's library has, what that time is made of, and "
    "which one "
    "the\n"
    "library takes at that size.\n"
    "\n"
    "  --cluster CLUSTER   id, alias or YAML file ('ridgeline clusters list')\n"
    "  --devices N         devices of the slice (default: one node, or what the innermost dimension joins)\n"
    "  --shape SHAPE       slice by dimension, innermost first: 4x4x8\n"
    "  --ranks N           ranks of a group (default: all devices)\n"
    "  --stride N          distance of its neighbours in device numbers (default 1)\n"
    "  --kind KIND,...     all_reduce (default), all_gather, reduce_scatter, all_to_all, ...\n"
    "  --bytes SIZE,...    full buffer of a rank: 4096, 64KiB, 1MiB, 1GB (default: 1KiB to 1GiB)\n"
    "  --events            also on the event-driven network, message by message\n"
    "  --json              JSON instead of the table (docs/json.md)\n"
    "  -o, --output FILE   write to FILE; .json gives JSON\n"
    "\n"
    "examples:\n"
    "  ridgeline collectives --cluster dgx_h100 --bytes 64KiB,1MiB,1GiB\n"
    "  ridgeline collectives --cluster tpu-v4 --shape 4x4x4 --kind all_gather,reduce_scatter --events\n"
    "  ridgeline collectives --cluster dgx_a100 --devices 64 --ranks 8 --stride 8 --json | jq '.times[] | "
    "select(.taken)'\n";

static int run(int argc, char **argv);
const struct cli_command cli_collectives = {"collectives", "algorithms of a collective on a cluster, side by side",
                                            usage, run};

enum { SIZES_MAX = 64 };

static const struct {
  const char *name;
  double bytes;
} units[] = {{"", 1},     {"B", 1},    {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824},
             {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6},   {"GB", 1e9}};

/* "1MiB", "1.5 GB". Whole bytes up to 2^53. */
static bool read_size(const char *text, uint64_t *bytes) {
  char *end = NULL;
  double number = strtod(text, &end);
  end += strspn(end, " ");
  for (size_t i = 0; end != text && i < sizeof units / sizeof units[0]; i++) {
    double value = number * units[i].bytes;
    if (strcmp(end, units[i].name) == 0 && value >= 1 && value <= 9007199254740992.0) {
      *bytes = (uint64_t)value;
      return true;
    }
  }
  return false;
}

struct request {
  const char *cluster, *devices, *ranks, *stride, *output;
  struct cli_list kinds, sizes;
  uint64_t bytes[SIZES_MAX];
  bool json;
  rdg_collectives_options options;
};

static int read_numbers(struct request *r) {
  uint64_t ranks = 0, stride = 0;
  if (r->devices && !cli_count(r->devices, UINT64_MAX, &r->options.devices)) {
    return cli_usage_error(&cli_collectives, "--devices takes a number of devices, not '%s'", r->devices);
  }
  if (r->ranks && !cli_count(r->ranks, UINT32_MAX, &ranks)) {
    return cli_usage_error(&cli_collectives, "--ranks takes a number of ranks, not '%s'", r->ranks);
  }
  if (r->stride && !cli_count(r->stride, UINT32_MAX, &stride)) {
    return cli_usage_error(&cli_collectives, "--stride takes a number of devices, not '%s'", r->stride);
  }
  if (r->sizes.count > SIZES_MAX) {
    return cli_usage_error(&cli_collectives, "--bytes takes up to %d sizes", SIZES_MAX);
  }
  for (size_t i = 0; i < r->sizes.count; i++) {
    if (!read_size(r->sizes.items[i], &r->bytes[i])) {
      return cli_usage_error(&cli_collectives, "--bytes takes sizes such as 65536, 64KiB or 1GB, not '%s'",
                             r->sizes.items[i]);
    }
  }
  r->options.ranks = (uint32_t)ranks;
  r->options.stride = (uint32_t)stride;
  r->options.kinds = r->kinds.items;
  r->options.kind_count = r->kinds.count;
  r->options.sizes = r->bytes;
  r->options.size_count = r->sizes.count;
  return CLI_OK;
}

static int perform(const struct request *r) {
  rdg_context *ctx = rdg_context_new(NULL);
  struct cli_output output;
  int status = ctx ? cli_output_open(&output, r->output) : CLI_FAILED;
  if (status == CLI_OK) {
    struct cli_progress *progress = cli_progress_begin("timing");
    rdg_status done = rdg_collectives(ctx, r->cluster, &r->options, cli_output_format(r->output, r->json, false),
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
  struct request r = {0};
  const char *word = NULL;
  size_t words;
  bool help;
  const struct cli_option table[] = {{.name = "cluster", .text = &r.cluster},
                                     {.name = "devices", .text = &r.devices},
                                     {.name = "shape", .text = &r.options.shape},
                                     {.name = "ranks", .text = &r.ranks},
                                     {.name = "stride", .text = &r.stride},
                                     {.name = "kind", .list = &r.kinds, .commas = true},
                                     {.name = "bytes", .list = &r.sizes, .commas = true},
                                     {.name = "events", .flag = &r.options.events},
                                     {.name = "json", .flag = &r.json},
                                     {.name = "output", .letter = 'o', .text = &r.output}};
  int status = cli_parse(&cli_collectives, argc, argv, table, sizeof table / sizeof table[0], &word, 0, &words, &help);
  if (status == CLI_OK && !help) {
    status = r.cluster ? read_numbers(&r) : cli_usage_error(&cli_collectives, "on which cluster? (--cluster dgx_h100)");
    status = status == CLI_OK ? perform(&r) : status;
  }
  cli_list_release(&r.kinds);
  cli_list_release(&r.sizes);
  return status;
}
