/* ridgeline_corpus_run [--data DIR] [--list-failures] [--plain] [--jobs N] [--skip-code N] [FILE...]
 *
 * Executes the programs of the corpus that hold their own expectations: the units of StableHLO's interpreter tests and the
 * JAX programs of testdata whose RUN line interprets them. A unit passes when it runs to its end and no check fails. Files
 * named on the command line are run whatever their RUN line says. Processes share the results, so a crash costs one file. */
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "base/vec.h"
#include "corpus.h"
#include "corpus_triples.h"
#include "interp/interp.h"
#include "mlir/mlir.h"

enum { MAX_REASON = 240, MAX_JOBS = 8 };

enum suite { SUITE_UNITS, SUITE_TESTDATA, SUITE_TRIPLES, SUITE_NAMED, SUITE_COUNT };
static const char *const suite_names[SUITE_COUNT] = {"interpreter units", "executable testdata", "jax.export triples",
                                                     "named files"};

struct run_file {
  char *path;
  enum suite suite;
};

struct run_result {
  uint32_t units, passed; /* pieces of the file; of testdata, where files are counted, 1 */
  uint8_t kind; /* enum triple_kind, of a triple that passed */
  char reason[MAX_REASON]; /* of the first unit that failed */
};

static struct {
  VEC(struct run_file) files;
  struct run_result *results; /* shared */
  const char *data;
  bool list_failures, is_plain; /* is_plain: units and testdata without fast kernels */
  int jobs, skip_code;
} run = {.jobs = 2};

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static bool has_suffix(const char *name, const char *suffix) {
  size_t length = strlen(name), tail = strlen(suffix);
  return length > tail && strcmp(name + length - tail, suffix) == 0;
}

/* True when a RUN line interprets the file; RUN-DISABLED is another word. */
static bool is_interpreted(const char *text) {
  for (const char *line = strstr(text, "RUN: "); line; line = strstr(line + 1, "RUN: ")) {
    const char *end = strchr(line, '\n'), *found = strstr(line, "--interpret");
    if (found && (!end || found < end)) {
      return true;
    }
  }
  return false;
}

static void add_folder(const char *relative, enum suite suite, int depth) {
  char folder[4096], path[8192];
  snprintf(folder, sizeof folder, "%s/%s", run.data, relative);
  struct dirent **entries = NULL;
  int count = scandir(folder, &entries, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    const char *name = entries[i]->d_name;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (has_suffix(name, suite == SUITE_TRIPLES ? ".mlir.bc" : ".mlir")) {
      struct run_file file = {strdup(path), suite};
      if (!file.path || !vec_push(&run.files, file)) {
        exit(2);
      }
    } else if (!strchr(name, '.') && depth > 0) {
      add_folder(path + strlen(run.data) + 1, suite, depth - 1);
    }
    free(entries[i]);
  }
  free(entries);
}

/* ---- one file ---------------------------------------------------------------------------------------------------------- */

static void note(struct run_result *result, const struct diag_list *diags, const char *otherwise) {
  if (result->reason[0]) {
    return;
  }
  for (size_t i = 0; i < diags->entries.count; i++) {
    const struct diag *d = &diags->entries.data[i];
    if (d->severity == DIAG_ERROR) {
      snprintf(result->reason, sizeof result->reason, "%u:%u: %s", d->line, d->column, d->message);
      return;
    }
  }
  snprintf(result->reason, sizeof result->reason, "%s", otherwise);
}

enum { MAX_ARGUMENTS = 8 };

/* Arguments that the RUN line gives as --args="[dense<1> : tensor<2xi32>, ...]"; their number. */
static uint32_t read_arguments(const struct source *source, struct interp_value **arguments) {
  const char *at = strstr(source->text, "--args=\"["), *end = at ? strchr(at + 8, '"') : NULL;
  struct strbuf text = {0};
  struct diag_list diags;
  struct ir_module *module = NULL;
  uint32_t count = 0;
  if (!end) {
    return 0;
  }
  diag_init(&diags);
  strbuf_add(&text, at + 8, (size_t)(end - at - 8));
  struct source line = {"args", strbuf_text(&text), text.length};
  struct ir_attr list;
  if (mlir_parse_list(&line, &diags, &module, &list) == STATUS_OK) {
    for (uint64_t i = 0; i < ir_attr_length(module, list) && count < MAX_ARGUMENTS; i++) {
      struct ir_attr item = {module->lists.data[ir_attr_get(module, list)->list_first + i]};
      arguments[count] = interp_from_attr(module, item);
      count += arguments[count] != NULL;
    }
  }
  ir_module_free(module);
  diag_release(&diags);
  strbuf_release(&text);
  return count;
}

/* Runs the entry of a module; a module without functions has nothing to run. */
static bool run_module(struct ir_module *module, struct interp_value *const *arguments, uint32_t argument_count,
                       struct diag_list *diags) {
  struct ir_op entry = interp_entry(module);
  if (!entry.id) {
    return ir_block_first(module, ir_region_entry(module, ir_op_region(module, module->root, 0))).id == 0;
  }
  const struct ir_type_data *type = ir_type_get(module, ir_function_type(module, entry));
  uint32_t count = type->count - type->input_count;
  struct interp_value **results = calloc((size_t)count + 1, sizeof *results);
  const struct interp_options options = {.plain = run.is_plain};
  bool ok = results && interp_run(module, entry, &options, arguments, argument_count, diags, results) == STATUS_OK;
  for (uint32_t i = 0; ok && i < count; i++) {
    interp_release(results[i]);
  }
  free(results);
  return ok;
}

static void run_piece(const struct source *source, size_t start, size_t end, struct run_result *result) {
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL;
  struct interp_value *arguments[MAX_ARGUMENTS];
  uint32_t argument_count = read_arguments(source, arguments);
  bool ok = mlir_parse_piece(source, start, end, NULL, &diags, &module) == STATUS_OK;
  ok = ok && analyze_infer(module, &diags) == STATUS_OK && run_module(module, arguments, argument_count, &diags);
  for (uint32_t i = 0; i < argument_count; i++) {
    interp_release(arguments[i]);
  }
  result->units++;
  result->passed += ok;
  if (!ok) {
    note(result, &diags, "no entry function");
  }
  ir_module_free(module);
  diag_release(&diags);
}

static void run_triple(const struct run_file *file, struct run_result *result) {
  enum triple_kind kind = TRIPLE_BY_VALUE;
  snprintf(result->reason, sizeof result->reason, "the process ended");
  result->units = 1;
  result->passed = triple_run(file->path, &kind, result->reason);
  result->kind = (uint8_t)kind;
  if (result->passed) {
    result->reason[0] = '\0';
  }
}

static void run_one(const struct run_file *file, struct run_result *result) {
  if (file->suite == SUITE_TRIPLES || has_suffix(file->path, ".mlir.bc")) {
    run_triple(file, result);
    return;
  }
  struct corpus_pieces pieces;
  snprintf(result->reason, sizeof result->reason, "the process ended");
  if (corpus_pieces_read(&pieces, file->path, result->reason, sizeof result->reason)) {
    bool is_run = file->suite == SUITE_NAMED || is_interpreted(pieces.source.text);
    result->reason[0] = '\0';
    for (size_t i = 0; is_run && i < pieces.count; i++) {
      run_piece(&pieces.source, pieces.starts[i], pieces.ends[i], result);
    }
    if (file->suite == SUITE_TESTDATA && is_run) {
      result->passed = result->passed == result->units;
      result->units = 1;
    }
    corpus_pieces_release(&pieces);
  }
}

static void work(atomic_size_t *next) {
  for (size_t i; (i = atomic_fetch_add(next, 1)) < run.files.count;) {
    run_one(&run.files.data[i], &run.results[i]);
  }
}

static void run_jobs(atomic_size_t *next) {
  int running = 0;
  while (running > 0 || atomic_load(next) < run.files.count) {
    while (running < run.jobs && atomic_load(next) < run.files.count) {
      fflush(stdout);
      pid_t child = fork();
      if (child == 0) {
        work(next);
        _exit(0);
      }
      if (child < 0) {
        work(next);
        break;
      }
      running++;
    }
    running -= running > 0 && wait(NULL) > 0;
  }
}

/* ---- report ------------------------------------------------------------------------------------------------------------ */

/* Below the data folder when it is there. */
static const char *relative_path(const char *path) {
  size_t length = strlen(run.data);
  return strncmp(path, run.data, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

/* How the triples were checked. */
static void report_triples(void) {
  unsigned counts[TRIPLE_KINDS] = {0};
  for (size_t i = 0; i < run.files.count; i++) {
    if (run.files.data[i].suite == SUITE_TRIPLES && run.results[i].passed) {
      counts[run.results[i].kind]++;
    }
  }
  printf(" (%u device kernels listed, %u checked by reconstruction, %u by value, %u by type)",
         counts[TRIPLE_DEVICE_KERNEL], counts[TRIPLE_BY_RECONSTRUCTION], counts[TRIPLE_BY_VALUE],
         counts[TRIPLE_BY_TYPE]);
}

static int report(void) {
  struct run_result sums[SUITE_COUNT] = {0};
  for (size_t i = 0; i < run.files.count; i++) {
    const struct run_result *r = &run.results[i];
    sums[run.files.data[i].suite].units += r->units;
    sums[run.files.data[i].suite].passed += r->passed;
    if (run.list_failures && r->reason[0]) {
      printf("%s: %s\n", relative_path(run.files.data[i].path), r->reason);
    }
  }
  bool ok = true;
  for (int s = 0; s < SUITE_COUNT; s++) {
    if (sums[s].units > 0) {
      printf("%s: %u of %u", suite_names[s], sums[s].passed, sums[s].units);
      if (s == SUITE_TRIPLES) {
        report_triples();
      }
      printf("\n");
      ok &= sums[s].passed == sums[s].units;
    }
  }
  return ok ? 0 : 1;
}

static int parse_arguments(int argc, char **argv) {
  const char *data = getenv("RIDGELINE_DATA");
  run.data = data && *data ? data : RDG_SOURCE_DIR "/../shared/data";
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    struct run_file file = {argv[i], SUITE_NAMED};
    if (strcmp(argv[i], "--list-failures") == 0) {
      run.list_failures = true;
    } else if (strcmp(argv[i], "--plain") == 0) {
      run.is_plain = true;
    } else if (strcmp(argv[i], "--data") == 0 && value) {
      run.data = argv[++i];
    } else if (strcmp(argv[i], "--jobs") == 0 && value) {
      run.jobs = atoi(argv[++i]);
    } else if (strcmp(argv[i], "--skip-code") == 0 && value) {
      run.skip_code = atoi(argv[++i]);
    } else if (argv[i][0] == '-' || !vec_push(&run.files, file)) {
      fprintf(stderr, "unknown option '%s'\n", argv[i]);
      return 2;
    }
  }
  run.jobs = run.jobs < 1 ? 1 : run.jobs > MAX_JOBS ? MAX_JOBS : run.jobs;
  return 0;
}

int main(int argc, char **argv) {
  if (parse_arguments(argc, argv) != 0) {
    return 2;
  }
  bool is_named = run.files.count > 0;
  if (!is_named) {
    add_folder("corpus/stablehlo/tests/interpret", SUITE_UNITS, 1);
    add_folder("corpus/stablehlo/testdata", SUITE_TESTDATA, 1);
    add_folder("corpus/jax_export", SUITE_TRIPLES, 0);
  }
  if (run.files.count == 0) {
    printf("skipped: no data (%s)\n", run.data);
    return run.skip_code;
  }
  size_t bytes = run.files.count * sizeof *run.results + sizeof(atomic_size_t);
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return 2;
  }
  atomic_size_t *next = memory;
  run.results = (struct run_result *)(next + 1);
  run_jobs(next);
  int exit_code = report();
  munmap(memory, bytes);
  for (size_t i = 0; i < run.files.count && !is_named; i++) {
    free(run.files.data[i].path);
  }
  vec_release(&run.files);
  return exit_code;
}
