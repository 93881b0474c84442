/* ridgeline generate: a step of a published model as a StableHLO program. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline generate MODEL [--decode|--prefill|--forward] [--batch N] [--kv N|--prompt N] [-o OUT]\n"
    "       ridgeline generate MODEL --train [--sequence N] [--global-batch N] [--micro-batch N] [--data N]\n"
    "                 [--tensor N] [--pipeline N] [--context N] [--expert N] [OPTIONS] [-o OUT]\n"
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
    "  --train              a training step of one device, with its exchanges: one function, or one for every place "
    "in\n"
    "                       the pipeline and role in the step; the options below belong to it\n"
    "  --sequence N         tokens of each sequence (default 2048)\n"
    "  --global-batch N     sequences, or images, per step, all devices (default: one micro-batch per data rank)\n"
    "  --micro-batch N      sequences of one pass on one data rank (default 1)\n"
    "  --data N, --tensor N, --pipeline N, --context N, --expert N\n"
    "                       ranks of each kind (default 1); devices = data x tensor x pipeline x context, experts are\n"
    "                       spread over so many data ranks\n"
    "  --virtual-stages N   chunks per pipeline stage (default 1)\n"
    "  --sequence-parallel  norms and sums over the tensor ranks, too\n"
    "  --fsdp               parameters sharded over the data ranks, the same as --shard parameters\n"
    "  --shard WHAT         nothing (default), optimizer (ZeRO-1), gradients (ZeRO-2), parameters (ZeRO-3)\n"
    "  --shard-ranks N      data ranks that share one copy (default: all)\n"
    "  --recompute WHAT     none (default), selective (scores), full (layers), contractions (all but products)\n"
    "  --attention HOW      flash (default; computes the causal half), fused (scores in memory), plain\n"
    "  --framework NAME     megatron (default), xla, eager: whose kernels it is made of\n"
    "  --optimizer NAME     adam (default), sgd\n"
    "  --products TYPE      of linear layers: fp8, fp4 (default: the activations')\n"
    "  --gradients TYPE     f32 (default), or the activations'\n"
    "  --dropout P          of the embedding, branches and scores (default 0)\n"
    "  --clip               gradients by their norm\n"
    "  --overlap WHAT       exchanges beside computation: gradients, parameters, tensor; commas between\n"
    "\n"
    "examples:\n"
    "  ridgeline generate llama2-13b --decode --batch 32 --kv 2048 -o llama2-13b.mlir\n"
    "  ridgeline generate llama2-70b --batch 16 --kv 4096 --weights int8 -o llama2-70b.mlir.bc\n"
    "  ridgeline generate mixtral-8x7b --prefill --prompt 1024 --layers 1 | head\n"
    "  ridgeline generate dit-xl2 --batch 8 | ridgeline predict - --on h100\n"
    "  ridgeline generate llama3-405b --train --sequence 8192 --global-batch 512 --tensor 8 --pipeline 16 --data 128 "
    "\\\n"
    "    --sequence-parallel --shard optimizer --overlap gradients -o step.mlir\n"
    "  ridgeline generate llama3-8b --train --sequence 4096 --data 8 --fsdp --framework xla --attention plain \\\n"
    "    --recompute contractions -o step.mlir\n"
    "  ridgeline generate resnet50 --train --data 4 --global-batch 1024 --activations f16 -o step.mlir\n";

static int run(int argc, char **argv);
const struct cli_command cli_generate = {"generate", "a step of a published model as a program", usage, run};

struct training {
  const char *sequence, *global_batch, *micro_batch, *data, *tensor, *pipeline, *context, *expert, *virtual_stages,
      *shard_ranks, *dropout;
  const char *shard, *recompute, *attention, *framework, *optimizer, *products, *gradients;
  struct cli_list overlap;
  bool train, fsdp, sequence_parallel, clip;
};

struct generation {
  struct training training;
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

static int read_overlap(const struct cli_list *list, rdg_training_options *options) {
  const struct {
    const char *name;
    bool *flag;
  } names[] = {{"gradients", &options->overlap_gradients},
               {"parameters", &options->overlap_parameters},
               {"tensor", &options->overlap_tensor}};
  for (size_t i = 0; i < list->count; i++) {
    bool is_known = false;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
      if (strcmp(list->items[i], names[k].name) == 0) {
        *names[k].flag = is_known = true;
      }
    }
    if (!is_known) {
      return cli_usage_error(&cli_generate, "--overlap takes gradients, parameters and tensor, not '%s'",
                             list->items[i]);
    }
  }
  return CLI_OK;
}

static int read_share(const char *text, double *value) {
  char *end = NULL;
  double share = text ? strtod(text, &end) : 0;
  if (text && (*text == '\0' || *end != '\0' || !(share >= 0 && share < 1))) {
    return cli_usage_error(&cli_generate, "--dropout takes a number from 0 to less than 1, not '%s'", text);
  }
  *value = share;
  return CLI_OK;
}

static int read_training(const struct generation *g, rdg_training_options *options) {
  const struct training *t = &g->training;
  const char *products = t->products;
  if (products) {
    products = strcmp(products, "fp8") == 0 ? "f8E4M3FN" : strcmp(products, "fp4") == 0 ? "f4E2M1FN" : products;
  }
  *options = (rdg_training_options){.framework = t->framework,
                                    .recompute = t->recompute,
                                    .attention = t->attention,
                                    .sharded = t->fsdp ? "parameters" : t->shard,
                                    .optimizer = t->optimizer,
                                    .activations = g->activations,
                                    .products = products,
                                    .gradients = t->gradients,
                                    .sequence_parallel = t->sequence_parallel,
                                    .causal_half = true,
                                    .clip_gradients = t->clip};
  const struct {
    const char *name, *text;
    uint32_t *value;
  } counts[] = {{"sequence", t->sequence, &options->sequence},
                {"global-batch", t->global_batch, &options->global_batch},
                {"micro-batch", t->micro_batch, &options->micro_batch},
                {"data", t->data, &options->data},
                {"tensor", t->tensor, &options->tensor},
                {"pipeline", t->pipeline, &options->pipeline},
                {"context", t->context, &options->context},
                {"expert", t->expert, &options->expert},
                {"virtual-stages", t->virtual_stages, &options->virtual_stages},
                {"shard-ranks", t->shard_ranks, &options->shard_ranks},
                {"layers", g->layers, &options->layers}};
  int status = CLI_OK;
  for (size_t i = 0; i < sizeof counts / sizeof counts[0] && status == CLI_OK; i++) {
    status = read_count(counts[i].name, counts[i].text, counts[i].value);
  }
  status = status == CLI_OK ? read_share(t->dropout, &options->dropout) : status;
  return status == CLI_OK ? read_overlap(&t->overlap, options) : status;
}

static bool is_bytecode(const char *path) {
  size_t length = path ? strlen(path) : 0;
  return length > 3 && strcmp(path + length - 3, ".bc") == 0;
}

/* What is asked for; one of both is used. */
struct request {
  rdg_generate_options step;
  rdg_training_options training;
};

static rdg_status write_program(rdg_context *ctx, const struct generation *g, const struct request *request,
                                rdg_sink sink) {
  rdg_program *program = NULL;
  rdg_status status = g->training.train ? rdg_generate_training(ctx, g->model, &request->training, &program)
                                        : rdg_generate(ctx, g->model, &request->step, &program);
  if (status == RDG_OK) {
    status = is_bytecode(g->output) ? rdg_program_write_artifact(ctx, program, NULL, sink)
                                    : rdg_program_print(ctx, program, RDG_FORM_PRETTY, sink);
  }
  rdg_program_free(program);
  return status;
}

static int generate(const struct generation *g, const struct request *request) {
  struct cli_output output;
  rdg_context *ctx = rdg_context_new(NULL);
  int exit_status = ctx ? cli_output_open(&output, g->output) : CLI_FAILED;
  if (exit_status == CLI_OK) {
    rdg_sink sink = cli_output_sink(&output);
    rdg_status status = g->list ? rdg_generate_list(ctx, cli_output_format(g->output, g->json, false), sink)
                                : write_program(ctx, g, request, sink);
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
  const struct training *t = &g->training;
  const char *const of_step[] = {g->batch, g->kv, g->prompt, g->weights, g->divide};
  const char *const of_training[] = {t->sequence,       t->global_batch, t->micro_batch, t->data,      t->tensor,
                                     t->pipeline,       t->context,      t->expert,      t->shard,     t->recompute,
                                     t->virtual_stages, t->shard_ranks,  t->dropout,     t->attention, t->framework,
                                     t->optimizer,      t->products,     t->gradients};
  bool has_step = g->decode || g->prefill || g->forward || g->more_positions;
  bool has_training = t->fsdp || t->sequence_parallel || t->clip || t->overlap.count > 0;
  for (size_t i = 0; i < sizeof of_step / sizeof of_step[0]; i++) {
    has_step = has_step || of_step[i];
  }
  for (size_t i = 0; i < sizeof of_training / sizeof of_training[0]; i++) {
    has_training = has_training || of_training[i];
  }
  if (t->train ? has_step : has_training) {
    return cli_usage_error(&cli_generate,
                           t->train ? "--train has options of its own; batches are --micro-batch and --global-batch"
                                    : "that option belongs to --train");
  }
  if (t->fsdp && t->shard) {
    return cli_usage_error(&cli_generate, "--fsdp is --shard parameters: only one of both");
  }
  return g->json && !g->list ? cli_usage_error(&cli_generate, "--json is for --list: a program is text or bytecode")
                             : CLI_OK;
}

static int run(int argc, char **argv) {
  struct generation g = {0};
  struct training *t = &g.training;
  struct request request = {0};
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
                                     {.name = "train", .flag = &t->train},
                                     {.name = "sequence", .text = &t->sequence},
                                     {.name = "global-batch", .text = &t->global_batch},
                                     {.name = "micro-batch", .text = &t->micro_batch},
                                     {.name = "data", .text = &t->data},
                                     {.name = "tensor", .text = &t->tensor},
                                     {.name = "pipeline", .text = &t->pipeline},
                                     {.name = "context", .text = &t->context},
                                     {.name = "expert", .text = &t->expert},
                                     {.name = "virtual-stages", .text = &t->virtual_stages},
                                     {.name = "sequence-parallel", .flag = &t->sequence_parallel},
                                     {.name = "fsdp", .flag = &t->fsdp},
                                     {.name = "shard", .text = &t->shard},
                                     {.name = "shard-ranks", .text = &t->shard_ranks},
                                     {.name = "recompute", .text = &t->recompute},
                                     {.name = "attention", .text = &t->attention},
                                     {.name = "framework", .text = &t->framework},
                                     {.name = "optimizer", .text = &t->optimizer},
                                     {.name = "products", .text = &t->products},
                                     {.name = "gradients", .text = &t->gradients},
                                     {.name = "dropout", .text = &t->dropout},
                                     {.name = "clip", .flag = &t->clip},
                                     {.name = "overlap", .list = &t->overlap, .commas = true},
                                     {.name = "output", .letter = 'o', .text = &g.output}};
  int status = cli_parse(&cli_generate, argc, argv, table, sizeof table / sizeof table[0], &g.model, 1, &models, &help);
  if (status == CLI_OK && !help) {
    status = check(&g, models);
    status = status != CLI_OK ? status
             : t->train       ? read_training(&g, &request.training)
                              : read_options(&g, &request.step);
    status = status == CLI_OK ? generate(&g, &request) : status;
  }
  cli_list_release(&t->overlap);
  return status;
}
