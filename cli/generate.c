/* ridgeline generate: a step of a published model as a StableHLO program. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline generate MODEL [--decode|--prefill|--forward] [--batch N] [--kv N|--prompt N] [-o OUT]\n"
    "       ridgeline generate --list [--json]\n"
    "\n"
    "Writes one step of a model, with the sizes that its makers published, as StableHLO: every layer in the text, one\n"
    "function @main whose arguments are the weights, the KV caches and the inputs. Without -o the text goes to\n"
    "standard output; a name that ends in .bc gets a portable artifact (MLIR bytecode). docs/generate.md says what "
    "each\n"
    "model contains and leaves out.\n"
    "\n"
    "  --list               the models with their sizes; with --json also their sources\n"
    "  --decode             one new token per sequence, with a KV cache (language models: the default)\n"
    "  --prefill            a whole prompt\n"
    "  --forward            one evaluation (vision and diffusion: the default)\n"
    "  --batch N            sequences, or images (default 1)\n"
    "  --kv N               decode: entries of the KV cache, the new token's included (default 2048)\n"
    "  --prompt N           prefill: tokens of each prompt (default 2048)\n"
    "  --activations TYPE   f16, bf16 (default) or f32\n"
    "  --weights TYPE       f16, bf16, f32 as the activations, or int8, int4: matrices with one scale per column\n"
    "  --more-positions     longer sequences than the model has learned positions for (OPT: 2048, GPT-2: 1024)\n"
    "  --layers N           only the first N layers\n"
    "  --divide N           heads, hidden, feed-forward and vocabulary sizes divided by N: for checks\n"
    "\n"
    "examples:\n"
    "  ridgeline generate llama2-13b --decode --batch 32 --kv 2048 -o llama2-13b.mlir\n"
    "  ridgeline generate llama2-70b --batch 16 --kv 4096 --weights int8 -o llama2-70b.mlir.bc\n"
    "  ridgeline generate mixtral-8x7b --prefill --prompt 1024 --layers 1 | head\n"
    "  ridgeline generate dit-xl2 --batch 8 | ridgeline predict - --on h100\n";

static int run(int argc, char **argv);
const struct cli_command cli_generate = {"generate", "a step of a published model as a program", usage, run};

struct generation {
  const char *model, *output;
  const char *batch, *kv, *prompt, *activations, *weights, *layers, *divide;
  bool list, json, decode, prefill, forward, more_positions;
};

/* A count from 1 on; *value stays when the option is absent. */
static int read_count(const char *option, const char *text, uint32_t *value) {
  char *end = NULL;
  unsigned long long count = text ? strtoull(text, &end, 10) : 0;
  if (!text) {
    return CLI_OK;
  }
  if (text[0] < '0' || text[0] > '9' || *end != '\0' || count < 1 || count > UINT32_MAX) {
    return cli_usage_error(&cli_generate, "--%s takes a number from 1 on, not '%s'", option, text);
  }
  *value = (uint32_t)count;
  return CLI_OK;
}

const char *cli_weights(const char *text) {
  if (!text) {
    return NULL;
  }
  return strcmp(text, "int8") == 0 ? "i8" : strcmp(text, "int4") == 0 ? "i4" : text;
}

/* Options that do not go together are refused. */
static int read_options(const struct generation *g, rdg_generate_options *options) {
  *options = (rdg_generate_options){.phase = g->decode    ? RDG_PHASE_DECODE
                                             : g->prefill ? RDG_PHASE_PREFILL
                                             : g->forward ? RDG_PHASE_FORWARD
                                                          : RDG_PHASE_DEFAULT,
                                    .activations = g->activations,
                                    .weights = cli_weights(g->weights),
                                    .more_positions = g->more_positions};
  if (g->decode + g->prefill + g->forward > 1) {
    return cli_usage_error(&cli_generate, "only one of --decode, --prefill and --forward");
  }
  if ((g->kv && (g->prefill || g->forward)) || (g->prompt && !g->prefill)) {
    return cli_usage_error(&cli_generate, g->kv ? "--kv is for --decode" : "--prompt is for --prefill");
  }
  const struct {
    const char *name, *text;
    uint32_t *value;
  } counts[] = {{"batch", g->batch, &options->batch},
                {"kv", g->kv, &options->sequence},
                {"prompt", g->prompt, &options->sequence},
                {"layers", g->layers, &options->layers},
                {"divide", g->divide, &options->divide}};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    int status = read_count(counts[i].name, counts[i].text, counts[i].value);
    if (status != CLI_OK) {
      return status;
    }
  }
  return CLI_OK;
}

static bool is_bytecode(const char *path) {
  size_t length = path ? strlen(path) : 0;
  return length > 3 && strcmp(path + length - 3, ".bc") == 0;
}

static rdg_status write_program(rdg_context *ctx, const struct generation *g, const rdg_generate_options *options,
                                rdg_sink sink) {
  rdg_program *program = NULL;
  rdg_status status = rdg_generate(ctx, g->model, options, &program);
  if (status == RDG_OK) {
    status = is_bytecode(g->output) ? rdg_program_write_artifact(ctx, program, NULL, sink)
                                    : rdg_program_print(ctx, program, RDG_FORM_PRETTY, sink);
  }
  rdg_program_free(program);
  return status;
}

static int generate(const struct generation *g, const rdg_generate_options *options) {
  struct cli_output output;
  rdg_context *ctx = rdg_context_new(NULL);
  int exit_status = ctx ? cli_output_open(&output, g->output) : CLI_FAILED;
  if (exit_status == CLI_OK) {
    rdg_sink sink = cli_output_sink(&output);
    rdg_status status = g->list ? rdg_generate_list(ctx, cli_output_format(g->output, g->json, false), sink)
                                : write_program(ctx, g, options, sink);
    exit_status = cli_finish(ctx, status);
    int closed = cli_output_close(&output, status == RDG_OK);
    exit_status = exit_status == CLI_OK ? closed : exit_status;
  }
  rdg_context_free(ctx);
  return exit_status;
}

static int check(const struct generation *g, size_t models) {
  if (g->list && models > 0) {
    return cli_usage_error(&cli_generate, "--list takes no model");
  }
  if (!g->list && models == 0) {
    return cli_usage_error(&cli_generate, "which model? --list shows them");
  }
  return g->json && !g->list ? cli_usage_error(&cli_generate, "--json is for --list: a program is text or bytecode")
                             : CLI_OK;
}

static int run(int argc, char **argv) {
  struct generation g = {0};
  rdg_generate_options options;
  bool help;
  size_t models;
  const struct cli_option table[] = {{.name = "list", .flag = &g.list},
                                     {.name = "json", .flag = &g.json},
                                     {.name = "decode", .flag = &g.decode},
                                     {.name = "prefill", .flag = &g.prefill},
                                     {.name = "forward", .flag = &g.forward},
                                     {.name = "batch", .text = &g.batch},
                                     {.name = "kv", .text = &g.kv},
                                     {.name = "prompt", .text = &g.prompt},
                                     {.name = "activations", .text = &g.activations},
                                     {.name = "weights", .text = &g.weights},
                                     {.name = "more-positions", .flag = &g.more_positions},
                                     {.name = "layers", .text = &g.layers},
                                     {.name = "divide", .text = &g.divide},
                                     {.name = "output", .letter = 'o', .text = &g.output}};
  int status = cli_parse(&cli_generate, argc, argv, table, sizeof table / sizeof table[0], &g.model, 1, &models, &help);
  if (status != CLI_OK || help) {
    return status;
  }
  status = check(&g, models);
  status = status == CLI_OK ? read_options(&g, &options) : status;
  return status == CLI_OK ? generate(&g, &options) : status;
}
