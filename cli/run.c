/* ridgeline run: what a program computes, by the reference interpreter. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli.h"

static const char usage[] =
    "usage: ridgeline run PROGRAM [INPUT...] [options]\n"
    "\n"
    "Runs a program with the reference interpreter and prints its results. Inputs are .npy files in the order of the\n"
    "parameters, or .npz archives with arrays named as the parameters are. Exit status 1 when a check in the program "
    "fails\n"
    "(check.expect_eq and its like).\n"
    "\n" CLI_PROGRAM_HELP "\n"
    "Names of parameters: arg0, arg1, ... (also 0, 1, ... and arr_0, arr_1, ...), and those that a framework gave as "
    "attributes\n"
    "(jax.arg_info, onnx.name, ...); the %names of MLIR text and those of HLO parameters are not kept.\n"
    "\n"
    "  --input NAME=FILE  the input of one parameter, by name or number\n"
    "  --args LIST        inputs as attributes: '[dense<[1, 2]> : tensor<2xi32>, dense<0.5> : tensor<f32>]'\n"
    "  --seed N           inputs that are missing are random: floats in [-1, 1), integers from 0 to 9\n"
    "  --zeros            inputs that are missing are zero\n"
    "  -o, --output FILE  write the results: .npz (arr_0, ...), .npy (of one result), .json, else text\n"
    "  --json             JSON (docs/json.md)\n"
    "  --full             print every element; else tensors of more than 1,000 are abbreviated (JSON: left out)\n"
    "  --entry NAME       function to run (default: main)\n"
    "  --bind ARG=DIMS    fill in dynamic dimensions, e.g. --bind arg0=32x?; inputs do it, too, except those\n"
    "                     of ONNX, whose dimensions are named: --bind batch=8\n"
    "  --replicas R       run on a grid of R replicas ...\n"
    "  --partitions P     ... and P partitions, in parallel, each with the same inputs\n"
    "  --per-process      there are inputs for each process: those of replica 0, partition 0 first, then of partition "
    "1, ...\n"
    "  --memory SIZE      budget for live values, e.g. 32GiB (default: 8GiB)\n"
    "  --operations N     budget of elementary operations, e.g. 1e15 (default: 1e13)\n"
    "  --depth N          budget for the nesting of calls and regions (default: 200)\n"
    "  --plain            only the definitions, no fast kernels\n"
    "  --split            run every unit of a file, which lines with '// -----' separate, and say how many passed\n"
    "\n"
    "examples:\n"
    "  ridgeline run model.mlir x.npy weights.npz -o out.npz\n"
    "  ridgeline run add.mlir --args '[dense<[1, 2]> : tensor<2xi32>, dense<3> : tensor<2xi32>]'\n"
    "  ridgeline run model.mlir x.npy --seed 0 --memory 32GiB      # the other inputs are random\n"
    "  ridgeline run all_reduce.mlir --replicas 4 x0.npy x1.npy x2.npy x3.npy --per-process\n"
    "  ridgeline run --split tests/interp/norms.mlir\n";

static int run(int argc, char **argv);
const struct cli_command cli_run = {"run", "what a program computes: the reference interpreter", usage, run};

enum { MAX_FILES = 512, ABBREVIATE_ABOVE = 1000 };

struct request {
  const char *positional[MAX_FILES];
  size_t positional_count;
  struct cli_list inputs, binds;
  const char *args, *seed, *output, *entry, *replicas, *partitions, *memory, *operations, *depth;
  bool zeros, json, full, plain, split, per_process;
  rdg_run_options options;
};

/* Inputs while they are put together. */
struct slots {
  rdg_context *ctx;
  const rdg_program *program;
  rdg_tensor *tensors;
  bool *is_set;
  size_t count, per_process;
  size_t next; /* where the search for a free one begins */
  rdg_arrays *arrays[MAX_FILES + 2]; /* that the tensors are in */
  size_t array_count;
};

/* ---- numbers on the command line -------------------------------------------------------------------------------------- */

/* A non-negative number with a unit of the table; false when it is none or above 2^63. */
static bool read_number(const char *text, uint64_t *value, bool has_unit) {
  static const struct {
    const char *name;
    double factor;
  } units[] = {{"", 1},      {"B", 1},        {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
               {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  char *end;
  double number = strtod(text, &end);
  for (size_t i = 0; end != text && i < (has_unit ? sizeof units / sizeof units[0] : 1); i++) {
    if (strcasecmp(end + strspn(end, " "), units[i].name) == 0) {
      number *= units[i].factor;
      *value = number >= 0 && number < 0x1p63 ? (uint64_t)number : 0;
      return number >= 0 && number < 0x1p63;
    }
  }
  return false;
}

/* Reads a count of at least 1 into *value when the option is there. */
static bool read_count(const char *name, const char *text, uint64_t most, bool is_size, uint64_t *value) {
  if (!text || (read_number(text, value, is_size) && *value >= 1 && *value <= most)) {
    return true;
  }
  if (is_size) {
    cli_usage_error(&cli_run, "--%s takes a size such as 8GiB, not '%s'", name, text);
  } else {
    cli_usage_error(&cli_run, "--%s takes a number from 1 to %" PRIu64 ", not '%s'", name, most, text);
  }
  return false;
}

static bool write_stderr(void *user, const char *text, size_t length) {
  (void)user;
  return fwrite(text, 1, length, stderr) == length;
}
static const rdg_sink stderr_sink = {write_stderr, NULL};

static int read_options(struct request *r) {
  uint64_t replicas = 1, partitions = 1, depth = 0, memory = 0, operations = 0, seed = 0;
  if (!read_count("replicas", r->replicas, 1024, false, &replicas)
      || !read_count("partitions", r->partitions, 1024, false, &partitions)
      || !read_count("depth", r->depth, 10000, false, &depth)
      || !read_count("memory", r->memory, INT64_MAX, true, &memory)
      || !read_count("operations", r->operations, INT64_MAX, false, &operations)) {
    return CLI_USAGE;
  }
  if (r->seed && !read_number(r->seed, &seed, false)) {
    return cli_usage_error(&cli_run, "--seed takes a number, not '%s'", r->seed);
  }
  if (r->seed && r->zeros) {
    return cli_usage_error(&cli_run, "--seed and --zeros exclude each other");
  }
  if (r->split && (r->json || r->output)) {
    return cli_usage_error(&cli_run, "--split counts the units that pass, it writes no results");
  }
  if (cli_output_check(r->output) != CLI_OK) { /* before a long run */
    return CLI_USAGE;
  }
  r->options = (rdg_run_options){.memory_budget_bytes = memory,
                                 .operation_budget = operations,
                                 .max_depth = (unsigned)depth,
                                 .replicas = (unsigned)replicas,
                                 .partitions = (unsigned)partitions,
                                 .inputs_per_process = r->per_process,
                                 .plain = r->plain,
                                 .fill = r->seed    ? RDG_FILL_RANDOM
                                         : r->zeros ? RDG_FILL_ZERO
                                                    : RDG_FILL_NONE,
                                 .seed = seed,
                                 .print = &stderr_sink};
  return CLI_OK;
}

/* ---- inputs ---------------------------------------------------------------------------------------------------------- */

static const char *input_name(const struct slots *s, size_t slot) {
  rdg_signature_entry entry;
  return rdg_program_input(s->program, slot % s->per_process, &entry) ? entry.name : "";
}

static int set(struct slots *s, size_t slot, const rdg_tensor *tensor, const char *where) {
  if (s->is_set[slot]) {
    return cli_usage_error(&cli_run, "%s gives input '%s' a second time", where, input_name(s, slot));
  }
  s->is_set[slot] = true;
  s->tensors[slot] = *tensor;
  return CLI_OK;
}

static int set_next(struct slots *s, const rdg_tensor *tensor, const char *where) {
  while (s->next < s->count && s->is_set[s->next]) {
    s->next++;
  }
  if (s->next == s->count) {
    return cli_usage_error(&cli_run, "%s is one input too many: the program takes %zu", where, s->count);
  }
  return set(s, s->next, tensor, where);
}

/* The number that the text spells after `stem`, or `none`. */
static size_t number_after(const char *text, const char *stem, size_t none) {
  size_t length = strlen(stem);
  char *end;
  if (strncmp(text, stem, length) != 0 || text[length] < '0' || text[length] > '9') {
    return none;
  }
  unsigned long long number = strtoull(text + length, &end, 10);
  return *end == '\0' && number < none ? (size_t)number : none;
}

/* Input of a name: a parameter's own, argN or arr_N; the count of inputs when there is none. */
static size_t find_input(const struct slots *s, const char *name) {
  for (size_t i = 0; i < s->per_process; i++) {
    if (strcmp(input_name(s, i), name) == 0) {
      return i;
    }
  }
  size_t slot = number_after(name, "arr_", s->count);
  slot = slot < s->count ? slot : number_after(name, "arg", s->count);
  return slot < s->count ? slot : number_after(name, "", s->count);
}

/* Names the inputs that there are, of many the first. */
static int no_such_input(const struct slots *s, const char *where, const char *name) {
  enum { NAMES_SHOWN = 20, NAMES_BYTES = 2048 };
  char names[NAMES_BYTES] = "";
  size_t length = 0, shown = 0;
  while (shown < s->per_process && shown < NAMES_SHOWN && length < NAMES_BYTES / 2) {
    length += (size_t)snprintf(names + length, 512, "%s'%.*s'", shown ? ", " : ": ", 400, input_name(s, shown));
    shown++;
  }
  return cli_usage_error(&cli_run, "%s: the program has no input '%s'; it has %zu%s%s", where, name, s->per_process,
                         names, shown < s->per_process ? ", ..." : "");
}

/* Takes what a call made; false after diagnostics. */
static bool keep(struct slots *s, rdg_status status, rdg_arrays *arrays, int *exit_status) {
  if (status != RDG_OK) {
    *exit_status = cli_finish(s->ctx, status);
    return false;
  }
  s->arrays[s->array_count++] = arrays;
  return true;
}

/* A file among the positional arguments. */
static int add_file(struct slots *s, const char *path, const struct request *r) {
  rdg_arrays *arrays = NULL;
  int exit_status = CLI_OK;
  rdg_status status = rdg_arrays_read(s->ctx, path, r->options.memory_budget_bytes, &arrays);
  if (!keep(s, status, arrays, &exit_status)) {
    return exit_status;
  }
  for (size_t i = 0; exit_status == CLI_OK && i < rdg_arrays_count(arrays); i++) {
    const char *name;
    rdg_tensor tensor;
    rdg_arrays_get(arrays, i, &name, &tensor);
    size_t slot = name[0] ? find_input(s, name) : s->count;
    if (!name[0]) {
      exit_status = set_next(s, &tensor, path);
    } else {
      exit_status = slot < s->count ? set(s, slot, &tensor, path) : no_such_input(s, path, name);
    }
  }
  return exit_status;
}

/* --input NAME=FILE. */
static int add_named(struct slots *s, const char *text, const struct request *r) {
  const char *equals = strrchr(text, '=');
  char name[1024];
  if (!equals || (size_t)(equals - text) >= sizeof name) {
    return cli_usage_error(&cli_run, "--input takes NAME=FILE, not '%s'", text);
  }
  memcpy(name, text, (size_t)(equals - text));
  name[equals - text] = '\0';
  size_t slot = find_input(s, name);
  if (slot >= s->count) {
    return no_such_input(s, "--input", name);
  }
  rdg_arrays *arrays = NULL;
  rdg_tensor tensor;
  int exit_status = CLI_OK;
  rdg_status status = rdg_arrays_read(s->ctx, equals + 1, r->options.memory_budget_bytes, &arrays);
  if (!keep(s, status, arrays, &exit_status)) {
    return exit_status;
  }
  if (rdg_arrays_count(arrays) != 1) {
    return cli_usage_error(&cli_run, "'%s' holds %zu arrays, --input %s takes one", equals + 1,
                           rdg_arrays_count(arrays), name);
  }
  rdg_arrays_get(arrays, 0, NULL, &tensor);
  return set(s, slot, &tensor, "--input");
}

static int add_attributes(struct slots *s, const char *text) {
  rdg_arrays *arrays = NULL;
  int exit_status = CLI_OK;
  rdg_status status = rdg_arrays_parse(s->ctx, text, &arrays);
  if (!keep(s, status, arrays, &exit_status)) {
    return exit_status;
  }
  for (size_t i = 0; exit_status == CLI_OK && i < rdg_arrays_count(arrays); i++) {
    rdg_tensor tensor;
    rdg_arrays_get(arrays, i, NULL, &tensor);
    exit_status = set_next(s, &tensor, "--args");
  }
  return exit_status;
}

static int check_complete(const struct slots *s, const struct request *r) {
  for (size_t i = 0; r->options.fill == RDG_FILL_NONE && i < s->count; i++) {
    rdg_signature_entry entry;
    if (!s->is_set[i] && rdg_program_input(s->program, i % s->per_process, &entry)) {
      return cli_usage_error(&cli_run,
                             "input %zu, '%s' (%s), is missing: give a file, --input %s=FILE.npy, --seed N or --zeros",
                             i, entry.name, entry.type, entry.name);
    }
  }
  return CLI_OK;
}

static int collect(struct slots *s, const struct request *r) {
  size_t processes = r->per_process ? (size_t)r->options.replicas * r->options.partitions : 1;
  s->per_process = rdg_program_input_count(s->program);
  s->count = s->per_process * processes;
  s->tensors = calloc(s->count + 1, sizeof *s->tensors);
  s->is_set = calloc(s->count + 1, sizeof *s->is_set);
  int exit_status = s->tensors && s->is_set ? CLI_OK : cli_finish(s->ctx, RDG_ERROR_MEMORY);
  for (size_t i = 0; exit_status == CLI_OK && i < r->inputs.count; i++) {
    exit_status = add_named(s, r->inputs.items[i], r);
  }
  for (size_t i = 1; exit_status == CLI_OK && i < r->positional_count && s->array_count < MAX_FILES; i++) {
    exit_status = add_file(s, r->positional[i], r);
  }
  if (exit_status == CLI_OK && r->args) {
    exit_status = add_attributes(s, r->args);
  }
  return exit_status == CLI_OK ? check_complete(s, r) : exit_status;
}

static void release_slots(struct slots *s) {
  for (size_t i = 0; i < s->array_count; i++) {
    rdg_arrays_free(s->arrays[i]);
  }
  free(s->tensors);
  free(s->is_set);
}

/* ---- results --------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
  size_t a = strlen(text), b = strlen(end);
  return a >= b && strcasecmp(text + a - b, end) == 0;
}

/* A .npz or .npy file of all results; of a grid, their names say whose they are: r0p1_arr_0. */
static rdg_status write_arrays(rdg_context *ctx, const rdg_run_result *result, const struct request *r) {
  size_t per_process = rdg_run_result_count(result), count = rdg_run_process_count(result) * per_process;
  rdg_tensor *tensors = calloc(count + 1, sizeof *tensors);
  char(*texts)[64] = calloc(count + 1, sizeof *texts);
  const char **names = calloc(count + 1, sizeof *names);
  rdg_status status = tensors && texts && names ? RDG_OK : RDG_ERROR_MEMORY;
  for (size_t i = 0; status == RDG_OK && i < count; i++) {
    size_t process = i / per_process;
    rdg_run_result_get(result, process, i % per_process, &tensors[i]);
    snprintf(texts[i], sizeof texts[i], "r%zup%zu_arr_%zu", process / r->options.partitions,
             process % r->options.partitions, i % per_process);
    names[i] = texts[i];
  }
  if (status == RDG_OK) {
    bool is_grid = rdg_run_process_count(result) > 1;
    status = rdg_arrays_write(ctx, r->output, is_grid ? names : NULL, tensors, count);
  }
  free(tensors);
  free(texts);
  free(names);
  return status;
}

static int write_results(rdg_context *ctx, const rdg_run_result *result, const struct request *r) {
  if (r->output && (ends_with(r->output, ".npz") || ends_with(r->output, ".npy"))) {
    return cli_finish(ctx, write_arrays(ctx, result, r));
  }
  struct cli_output output;
  int exit_status = cli_output_open(&output, r->output);
  if (exit_status == CLI_OK) {
    rdg_format format = cli_output_format(r->output, r->json, false);
    rdg_status status =
        rdg_run_result_write(ctx, result, r->full ? 0 : ABBREVIATE_ABOVE, format, cli_output_sink(&output));
    exit_status = cli_finish(ctx, status);
    int closed = cli_output_close(&output, status == RDG_OK);
    exit_status = exit_status == CLI_OK ? closed : exit_status;
  }
  return exit_status;
}

static void print_time(double time_s) {
  const char *unit = time_s < 1e-3 ? "us" : time_s < 1 ? "ms" : "s";
  fprintf(stderr, "%.3g %s\n", time_s * (time_s < 1e-3 ? 1e6 : time_s < 1 ? 1e3 : 1), unit);
}

static void summarise(const rdg_run_result *result) {
  size_t count = rdg_run_result_count(result), processes = rdg_run_process_count(result);
  fprintf(stderr, "%zu result%s", count, count == 1 ? "" : "s");
  if (processes > 1) {
    fprintf(stderr, " on each of %zu processes", processes);
  }
  fputs(", ", stderr);
  print_time(rdg_run_time_s(result));
}

/* ---- programs -------------------------------------------------------------------------------------------------------- */

static rdg_status load(rdg_context *ctx, const struct request *r, size_t unit, rdg_program **program) {
  rdg_load_options options = {
      .binds = r->binds.items, .bind_count = r->binds.count, .entry = r->entry, .only_to_run = true, .unit = unit};
  return rdg_program_load(ctx, r->positional[0], &options, program);
}

/* Collects the inputs and runs. */
static int run_loaded(rdg_context *ctx, const rdg_program *program, const struct request *r, rdg_run_result **result) {
  struct slots slots = {.ctx = ctx, .program = program};
  int exit_status = collect(&slots, r);
  if (exit_status == CLI_OK) {
    struct cli_progress *progress = cli_progress_begin("running");
    rdg_status status = rdg_run(ctx, program, &r->options, slots.tensors, slots.count, result);
    cli_progress_end(progress);
    exit_status = cli_finish(ctx, status);
  }
  release_slots(&slots);
  return exit_status;
}

static int run_one(rdg_context *ctx, const struct request *r) {
  rdg_program *program = NULL;
  rdg_run_result *result = NULL;
  int exit_status = cli_finish(ctx, load(ctx, r, 0, &program));
  if (exit_status == CLI_OK) {
    exit_status = run_loaded(ctx, program, r, &result);
  }
  if (exit_status == CLI_OK) {
    exit_status = write_results(ctx, result, r);
  }
  if (exit_status == CLI_OK) {
    summarise(result);
  }
  rdg_run_result_free(result);
  rdg_program_free(program);
  return exit_status;
}

static bool has_code(const rdg_context *ctx, const char *code) {
  rdg_diagnostic d;
  for (size_t i = 0; rdg_diagnostic_get(ctx, i, &d); i++) {
    if (strcmp(d.code, code) == 0) {
      return true;
    }
  }
  return false;
}

/* Runs a unit; *is_empty when there is nothing or no function in it. */
static bool run_unit(rdg_context *ctx, const struct request *r, size_t unit, bool *is_empty, double *time_s) {
  rdg_program *program = NULL;
  rdg_run_result *result = NULL;
  rdg_status status = load(ctx, r, unit, &program);
  *is_empty = status != RDG_OK && !r->entry && (has_code(ctx, "E0210") || has_code(ctx, "E0002"));
  if (*is_empty) {
    return false;
  }
  int exit_status = status == RDG_OK ? run_loaded(ctx, program, r, &result) : cli_finish(ctx, status);
  if (exit_status == CLI_OK) {
    *time_s += rdg_run_time_s(result);
  } else {
    printf("unit %zu failed\n", unit);
    fflush(stdout);
  }
  rdg_run_result_free(result);
  rdg_program_free(program);
  return exit_status == CLI_OK;
}

static int run_units(rdg_context *ctx, const struct request *r) {
  size_t count, passed = 0, empty = 0;
  double time_s = 0;
  rdg_status status = rdg_program_units(ctx, r->positional[0], &count);
  if (status != RDG_OK) {
    return cli_finish(ctx, status);
  }
  for (size_t unit = 1; unit <= count; unit++) {
    bool is_empty;
    passed += run_unit(ctx, r, unit, &is_empty, &time_s);
    empty += is_empty;
  }
  printf("%zu of %zu units passed\n", passed, count - empty);
  fflush(stdout);
  print_time(time_s);
  return passed == count - empty && passed > 0 ? CLI_OK : CLI_FAILED;
}

static int run(int argc, char **argv) {
  struct request r = {0};
  bool help;
  const struct cli_option table[] = {{.name = "input", .list = &r.inputs},
                                     {.name = "args", .text = &r.args},
                                     {.name = "seed", .text = &r.seed},
                                     {.name = "zeros", .flag = &r.zeros},
                                     {.name = "output", .letter = 'o', .text = &r.output},
                                     {.name = "json", .flag = &r.json},
                                     {.name = "full", .flag = &r.full},
                                     {.name = "entry", .text = &r.entry},
                                     {.name = "bind", .list = &r.binds},
                                     {.name = "replicas", .text = &r.replicas},
                                     {.name = "partitions", .text = &r.partitions},
                                     {.name = "per-process", .flag = &r.per_process},
                                     {.name = "memory", .text = &r.memory},
                                     {.name = "operations", .text = &r.operations},
                                     {.name = "depth", .text = &r.depth},
                                     {.name = "plain", .flag = &r.plain},
                                     {.name = "split", .flag = &r.split}};
  int status = cli_parse(&cli_run, argc, argv, table, sizeof table / sizeof table[0], r.positional, MAX_FILES,
                         &r.positional_count, &help);
  if (status == CLI_OK && !help) {
    status = r.positional_count ? read_options(&r) : cli_usage_error(&cli_run, "which program?");
    rdg_context *ctx = status == CLI_OK ? rdg_context_new(NULL) : NULL;
    if (status == CLI_OK) {
      status = !ctx ? CLI_FAILED : r.split ? run_units(ctx, &r) : run_one(ctx, &r);
    }
    rdg_context_free(ctx);
  }
  cli_list_release(&r.inputs);
  cli_list_release(&r.binds);
  return status;
}
