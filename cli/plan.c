/* ridgeline plan: how a program runs on a chip of many cores with private memory, and how near to the best that is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline plan PROGRAM|MODEL [--on CHIP] [--policy NAME,...|all] [options]\n"
    "       ridgeline plan --check PLAN.json\n"
    "       ridgeline plan --compat elk --ops FILE.csv --sequence FILE.txt [--legal] [--equal] [--threshold X]\n"
    "\n"
    "Plans a program for a chip of many cores with private memory, joined by a network and fed from off-chip memory: "
    "how\n"
    "every operator lies on the cores, in which state its data waits, and when it is loaded. Prints each policy's "
    "time, how\n"
    "far it is from two lower bounds, and what the cores wait for (docs/plan.md).\n"
    "\n" CLI_PROGRAM_HELP "MODEL is a name that 'ridgeline generate --list' prints; it is planned without a file.\n"
    "\n"
    "  --on CHIP           id, alias or chip file (default: ipu, four IPUs with HBM)\n"
    "  --policy NAMES      joint (default), basic, static, dyn, full, ideal, exact, exact-mip; all: those that can "
    "plan a\n"
    "                      program of this size\n"
    "  -o, --output FILE   FILE.json the plan, .trace.json or .pftrace its timeline (open it in ui.perfetto.dev), "
    ".html\n"
    "                      charts, else the table; may be repeated\n"
    "  --json              JSON instead of the table (docs/json.md)\n"
    "  --core-program      what the cores execute instead of the table\n"
    "  --operators N       also the N sorts of operators that take most time, and the layers\n"
    "  --published         the operator graph and machine of the published planner: nothing fused, slices copied, "
    "partial\n"
    "                      sums gathered one by one, no overlap, nearly all cores busy\n"
    "  --without NAMES     leave out ingredients: views, fusion, split, tree, overlap, idle-cores, reorder\n"
    "  --ablation          what each ingredient gives\n"
    "  --what-if TIME      the smallest SRAM, and the smallest memory bandwidth, that reach TIME (5ms, 300us)\n"
    "  --budget N          search operations per policy (default: each policy's own)\n"
    "  --threads N         threads for the plan sets (default 1); results do not depend on it\n"
    "  --check FILE        recompute memory, dependencies and times of a plan file and compare\n"
    "  --bind, --entry     as in 'ridgeline predict'\n"
    "\n"
    "of a MODEL:\n"
    "  --decode, --prefill one new token per sequence (default where the model has it), or a whole prompt\n"
    "  --batch N           sequences or images at once (default 1)\n"
    "  --kv N, --prompt N  entries of the KV cache, or tokens of each prompt (default 2048); --sequence N is either\n"
    "  --weights TYPE      bf16 (default), f16, f32, int8 or int4;  --activations TYPE: bf16, f16, f32\n"
    "  --layers N          only the first N layers\n"
    "\n"
    "with --compat elk the published planner is recomputed from its operator lists, with its formulas "
    "(docs/plan-compat.md):\n"
    "  --ops, --sequence   operators as CSV, and the order they run in\n"
    "  --legal             without partitions that no chip can execute;  --equal: the same constants for all policies\n"
    "  --threshold X       share of the link time that loads may take, for dyn; else the best of the published ones\n"
    "\n"
    "examples:\n"
    "  ridgeline plan llama2-13b --decode --batch 32 --kv 2048 --policy all\n"
    "  ridgeline plan llama2-13b --batch 32 --layers 2 -o plan.json -o plan.html\n"
    "  ridgeline plan --check plan.json\n"
    "  ridgeline plan model.mlir --on ipu --what-if 5ms --ablation\n";

static int run(int argc, char **argv);
const struct cli_command cli_plan = {"plan", "schedules for chips of many cores with private memory", usage, run};

enum { FILES_MAX = 8 };

/* What the command line says, before it is understood. */
struct request {
  const char *program, *chip, *check, *what_if, *budget, *threads, *operators, *entry;
  const char *batch, *kv, *prompt, *sequence, *layers, *weights, *activations;
  const char *compat, *ops, *threshold;
  bool json, cores, published, ablation, decode, prefill, legal, equal;
  struct cli_list policies, without, outputs, binds;
};

/* ---- values ---- */

/* A whole number from `least` to `most`; absent leaves *value. */
static int number(const char *name, const char *text, unsigned long long least, unsigned long long most,
                  unsigned long long *value) {
  if (!text) {
    return CLI_OK;
  }
  char *end = NULL;
  unsigned long long parsed = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || parsed < least || parsed > most) {
    return cli_usage_error(&cli_plan, "--%s takes a number from %llu to %llu, not '%s'", name, least, most, text);
  }
  *value = parsed;
  return CLI_OK;
}

static int number_u32(const char *name, const char *text, unsigned long long most, uint32_t *value) {
  unsigned long long parsed = *value;
  int status = number(name, text, 1, most, &parsed);
  *value = (uint32_t)parsed;
  return status;
}

/* "5ms", "300 us", "0.01s". */
static int duration(const char *text, double *seconds) {
  static const struct {
    const char *unit;
    double scale;
  } units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"µs", 1e-6}, {"ns", 1e-9}};
  if (!text) {
    return CLI_OK;
  }
  char *end = NULL;
  double value = strtod(text, &end);
  end += strspn(end, " ");
  for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++) {
    if (strcmp(end, units[i].unit) == 0 && value > 0 && isfinite(value)) {
      *seconds = value * units[i].scale;
      return CLI_OK;
    }
  }
  return cli_usage_error(&cli_plan, "--what-if takes a time such as 5ms or 300us, not '%s'", text);
}

static bool ends_with(const char *text, const char *end) {
  size_t a = strlen(text), b = strlen(end);
  return a >= b && strcasecmp(text + a - b, end) == 0;
}

/* What a file's ending asks for; the first that fits. */
static const struct {
  const char *ending;
  rdg_format format;
} endings[] = {{".trace.json", RDG_FORMAT_TRACE}, {".trace", RDG_FORMAT_TRACE}, {".pftrace", RDG_FORMAT_TRACE},
               {".html", RDG_FORMAT_CHART},       {".htm", RDG_FORMAT_CHART},   {".json", RDG_FORMAT_PLAN}};

static rdg_format format_of(const char *path, bool json) {
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    if (ends_with(path, endings[i].ending)) {
      bool is_report = json && endings[i].format == RDG_FORMAT_PLAN;
      return is_report ? RDG_FORMAT_JSON : endings[i].format;
    }
  }
  return json ? RDG_FORMAT_JSON : RDG_FORMAT_TEXT;
}

/* ---- output ---- */

static int write_one(rdg_context *ctx, const rdg_plan *plan, const char *path, rdg_format format) {
  struct cli_output output;
  int status = cli_output_open(&output, path);
  if (status != CLI_OK) {
    return status;
  }
  rdg_status written = rdg_plan_write(ctx, plan, format, cli_output_sink(&output));
  status = cli_finish(ctx, written);
  int closed = cli_output_close(&output, written == RDG_OK);
  return status == CLI_OK ? closed : status;
}

/* The files, and the table on standard output unless a file has it. */
static int write_all(rdg_context *ctx, const rdg_plan *plan, const struct request *request) {
  rdg_format shown = request->cores ? RDG_FORMAT_CORES : request->json ? RDG_FORMAT_JSON : RDG_FORMAT_TEXT;
  bool is_shown = false;
  int status = CLI_OK;
  for (size_t i = 0; i < request->outputs.count && status == CLI_OK; i++) {
    const char *path = request->outputs.items[i];
    rdg_format format = format_of(path, request->json);
    bool is_table = format == RDG_FORMAT_TEXT || format == RDG_FORMAT_JSON;
    is_shown |= is_table;
    status = write_one(ctx, plan, path, is_table ? shown : format);
  }
  return status == CLI_OK && !is_shown ? write_one(ctx, plan, NULL, shown) : status;
}

/* ---- the program ---- */

/* A name without a dot or slash that is no file is a model's. */
static bool is_model(const char *name) {
  struct stat info;
  return strcmp(name, "-") != 0 && !strpbrk(name, "./") && stat(name, &info) != 0;
}

static int generate_options(const struct request *request, rdg_generate_options *options) {
  enum { LARGEST = 1 << 24 };
  *options = (rdg_generate_options){.activations = request->activations, .weights = cli_weights(request->weights)};
  const struct {
    const char *name, *text;
  } lengths[] = {{"kv", request->kv}, {"prompt", request->prompt}, {"sequence", request->sequence}};
  int given = 0, status = number_u32("batch", request->batch, LARGEST, &options->batch);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths && status == CLI_OK; i++) {
    given += lengths[i].text != NULL;
    status = number_u32(lengths[i].name, lengths[i].text, LARGEST, &options->sequence);
  }
  status = status ? status : number_u32("layers", request->layers, 10000, &options->layers);
  if (status == CLI_OK && request->decode && request->prefill) {
    return cli_usage_error(&cli_plan, "--decode or --prefill, not both");
  }
  if (status == CLI_OK && given > 1) {
    return cli_usage_error(&cli_plan, "only one of --kv, --prompt and --sequence");
  }
  options->phase = request->prefill ? RDG_PHASE_PREFILL : request->decode ? RDG_PHASE_DECODE : RDG_PHASE_DEFAULT;
  return status;
}

/* Options that say something about a model, where a file is given. */
static int refuse_model_options(const struct request *r) {
  bool any = r->decode || r->prefill || r->batch || r->kv || r->prompt || r->sequence || r->layers || r->weights
             || r->activations;
  return any ? cli_usage_error(
             &cli_plan,
             "--decode, --prefill, --batch, --kv, --prompt, --layers, --weights and --activations are "
             "of models; '%s' is a file",
             r->program)
             : CLI_OK;
}

static rdg_status load(rdg_context *ctx, const struct request *request, const rdg_generate_options *generate,
                       rdg_program **program) {
  if (!is_model(request->program)) {
    return cli_load(ctx, request->program, &request->binds, request->entry, program);
  }
  struct cli_progress *progress = cli_progress_begin("generating");
  rdg_status status = rdg_generate(ctx, request->program, generate, program);
  cli_progress_end(progress);
  return status;
}

static int plan_program(rdg_context *ctx, const struct request *request, const rdg_generate_options *generate,
                        const rdg_plan_options *options) {
  rdg_program *program = NULL;
  rdg_plan *plan = NULL;
  rdg_status status = load(ctx, request, generate, &program);
  if (status == RDG_OK) {
    struct cli_progress *progress = cli_progress_begin("planning");
    status = rdg_plan_run(ctx, program, request->chip, options, &plan);
    cli_progress_end(progress);
  }
  rdg_program_free(program);
  int exit_status = cli_finish(ctx, status);
  if (exit_status == CLI_OK) {
    exit_status = write_all(ctx, plan, request);
  }
  rdg_plan_free(plan);
  return exit_status;
}

/* ---- the other two ways to call it ---- */

static int compat_options(const struct request *request, rdg_plan_compat_options *options) {
  char *end = NULL;
  *options = (rdg_plan_compat_options){.legal = request->legal, .equal_constants = request->equal};
  if (!request->compat || strcmp(request->compat, "elk") != 0) {
    return cli_usage_error(&cli_plan, "--ops, --legal, --equal and --threshold go with --compat elk");
  }
  if (!request->ops || !request->sequence) {
    return cli_usage_error(&cli_plan, "--compat elk needs --ops FILE.csv and --sequence FILE.txt");
  }
  if (request->threshold) {
    options->threshold = strtod(request->threshold, &end);
    if (*end || end == request->threshold || !(options->threshold > 0 && options->threshold <= 1)) {
      return cli_usage_error(&cli_plan, "--threshold takes a share above 0 and up to 1, not '%s'", request->threshold);
    }
  }
  return number_u32("layers", request->layers, 10000, &options->layers);
}

static int plan_compat(rdg_context *ctx, const struct request *request) {
  rdg_plan_compat_options options;
  struct cli_output output;
  const char *path = request->outputs.count ? request->outputs.items[0] : NULL;
  int status = compat_options(request, &options);
  status = status ? status : cli_output_open(&output, path);
  if (status != CLI_OK) {
    return status;
  }
  struct cli_progress *progress = cli_progress_begin("recomputing the published planner");
  rdg_status done = rdg_plan_compat(ctx, request->ops, request->sequence, &options,
                                    cli_output_format(path, request->json, false), cli_output_sink(&output));
  cli_progress_end(progress);
  status = cli_finish(ctx, done);
  int closed = cli_output_close(&output, done == RDG_OK);
  return status == CLI_OK ? closed : status;
}

static int check_file(rdg_context *ctx, const struct request *request) {
  struct cli_output output;
  int status = cli_output_open(&output, NULL);
  if (status != CLI_OK) {
    return status;
  }
  rdg_status checked = rdg_plan_check_file(ctx, request->check, cli_output_sink(&output));
  status = cli_finish(ctx, checked);
  int closed = cli_output_close(&output, true);
  return status == CLI_OK ? closed : status;
}

/* ---- the command ---- */

static int plan_command(rdg_context *ctx, const struct request *request) {
  rdg_plan_options options = {.policies = request->policies.items,
                              .policy_count = request->policies.count,
                              .published = request->published,
                              .without = request->without.items,
                              .without_count = request->without.count,
                              .ablation = request->ablation};
  rdg_generate_options generate = {0};
  unsigned long long budget = 0, threads = 0, operators = 0;
  int status = duration(request->what_if, &options.what_if_s);
  status = status ? status : number("budget", request->budget, 1, UINT64_MAX / 2, &budget);
  status = status ? status : number("threads", request->threads, 1, 256, &threads);
  status = status ? status : number("operators", request->operators, 1, 100000, &operators);
  for (size_t i = 0; i < request->outputs.count && status == CLI_OK; i++) {
    status = cli_output_check(request->outputs.items[i]);
  }
  if (status == CLI_OK) {
    status = is_model(request->program) ? generate_options(request, &generate) : refuse_model_options(request);
  }
  if (status != CLI_OK) {
    return status;
  }
  options.budget = budget;
  options.threads = (unsigned)threads;
  options.operators = (unsigned)operators;
  return plan_program(ctx, request, &generate, &options);
}

static int dispatch(const struct request *request) {
  bool is_compat = request->compat || request->ops || request->legal || request->equal || request->threshold;
  if (!request->program && !request->check && !is_compat) {
    return cli_usage_error(&cli_plan, "which program or model? ('ridgeline generate --list' names the models)");
  }
  if (request->program && (request->check || is_compat)) {
    return cli_usage_error(&cli_plan, "'%s' is one argument too many: %s takes its files by options", request->program,
                           request->check ? "--check" : "--compat");
  }
  if (request->chip && strchr(request->chip, ',')) {
    return cli_usage_error(&cli_plan, "--on takes one chip here, not '%s'", request->chip);
  }
  rdg_context *ctx = rdg_context_new(NULL);
  if (!ctx) {
    return CLI_FAILED;
  }
  int status = is_compat        ? plan_compat(ctx, request)
               : request->check ? check_file(ctx, request)
                                : plan_command(ctx, request);
  rdg_context_free(ctx);
  return status;
}

static int run(int argc, char **argv) {
  struct request r = {0};
  bool help;
  size_t count;
  const struct cli_option table[] = {{.name = "on", .text = &r.chip},
                                     {.name = "policy", .list = &r.policies, .commas = true},
                                     {.name = "output", .letter = 'o', .list = &r.outputs},
                                     {.name = "json", .flag = &r.json},
                                     {.name = "core-program", .flag = &r.cores},
                                     {.name = "operators", .text = &r.operators},
                                     {.name = "published", .flag = &r.published},
                                     {.name = "without", .list = &r.without, .commas = true},
                                     {.name = "ablation", .flag = &r.ablation},
                                     {.name = "what-if", .text = &r.what_if},
                                     {.name = "budget", .text = &r.budget},
                                     {.name = "threads", .text = &r.threads},
                                     {.name = "check", .text = &r.check},
                                     {.name = "bind", .list = &r.binds},
                                     {.name = "entry", .text = &r.entry},
                                     {.name = "decode", .flag = &r.decode},
                                     {.name = "prefill", .flag = &r.prefill},
                                     {.name = "batch", .text = &r.batch},
                                     {.name = "kv", .text = &r.kv},
                                     {.name = "prompt", .text = &r.prompt},
                                     {.name = "sequence", .text = &r.sequence},
                                     {.name = "weights", .text = &r.weights},
                                     {.name = "activations", .text = &r.activations},
                                     {.name = "layers", .text = &r.layers},
                                     {.name = "compat", .text = &r.compat},
                                     {.name = "ops", .text = &r.ops},
                                     {.name = "legal", .flag = &r.legal},
                                     {.name = "equal", .flag = &r.equal},
                                     {.name = "threshold", .text = &r.threshold}};
  int status = cli_parse(&cli_plan, argc, argv, table, sizeof table / sizeof table[0], &r.program, 1, &count, &help);
  if (status == CLI_OK && !help) {
    status = dispatch(&r);
  }
  cli_list_release(&r.policies);
  cli_list_release(&r.without);
  cli_list_release(&r.outputs);
  cli_list_release(&r.binds);
  return status;
}
