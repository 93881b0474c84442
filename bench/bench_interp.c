/* How long the interpreter takes for a program: reads it, takes arguments from a file of raw elements (those of the first
 * parameter first) or makes them, runs it, and prints the medians of its wall and processor times as JSON. With --results the elements of the
 * results are written one after the other, for compare_xla_speed.py.
 * Usage: bench_interp PROGRAM [--arguments FILE] [--results FILE] [--runs N] [--plain] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/analyze.h"
#include "interp/interp.h"
#include "io/input_file.h"
#include "mlir/mlir.h"

enum { RUNS_MAX = 1001 };

struct bench {
  const char *program, *arguments_path, *results_path;
  int runs;
  bool is_plain;
  struct ir_module *module;
  struct ir_op entry;
  uint32_t argument_count, result_count;
  struct interp_value **arguments, **results;
};

/* CLOCK_MONOTONIC, or CLOCK_PROCESS_CPUTIME_ID: of all threads, which other work on the machine disturbs less. */
static double now_s(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void stop(const struct diag_list *diags, const char *what) {
  struct strbuf text = {0};
  for (size_t i = 0; diags && i < diags->entries.count; i++) {
    diag_format(&diags->entries.data[i], &text);
  }
  fprintf(stderr, "%s failed\n%s", what, strbuf_text(&text));
  exit(1);
}

static void read_program(struct bench *b, struct diag_list *diags) {
  struct input_file file;
  if (input_file_read(&file, b->program, 0, diags) != STATUS_OK) {
    stop(diags, "reading");
  }
  struct source source = {file.name, file.text, file.length};
  if (mlir_parse(&source, NULL, diags, &b->module) != STATUS_OK || analyze_infer(b->module, diags) != STATUS_OK) {
    stop(diags, "checking");
  }
  input_file_release(&file);
  b->entry = interp_entry(b->module);
  if (!b->entry.id) {
    stop(NULL, "finding the function");
  }
  const struct ir_type_data *type = ir_type_get(b->module, ir_function_type(b->module, b->entry));
  b->argument_count = type->input_count;
  b->result_count = type->count - type->input_count;
}

/* Without a file all bytes are 0. */
static void read_arguments(struct bench *b) {
  FILE *file = b->arguments_path ? fopen(b->arguments_path, "rb") : NULL;
  const struct ir_type_data *function = ir_type_get(b->module, ir_function_type(b->module, b->entry));
  b->arguments = calloc((size_t)b->argument_count + 1, sizeof(struct interp_value *));
  b->results = calloc((size_t)b->result_count + 1, sizeof(struct interp_value *));
  if (!b->arguments || !b->results || (b->arguments_path && !file)) {
    stop(NULL, "opening the arguments");
  }
  for (uint32_t i = 0; i < b->argument_count; i++) {
    struct ir_type type = {b->module->lists.data[function->first + i]};
    const struct ir_type_data *data = ir_type_get(b->module, type);
    struct interp_value *v = interp_tensor_new((enum dtype)data->dtype, ir_type_dims(b->module, type), data->rank);
    if (!v) {
      stop(NULL, "making an argument");
    }
    memset(v->data, 0, v->size_bytes);
    if (file && fread(v->data, 1, v->size_bytes, file) != v->size_bytes) {
      stop(NULL, "reading an argument");
    }
    b->arguments[i] = v;
  }
  if (file) {
    fclose(file);
  }
}

static void write_results(const struct bench *b) {
  FILE *file = b->results_path ? fopen(b->results_path, "wb") : NULL;
  for (uint32_t i = 0; file && i < b->result_count; i++) {
    if (fwrite(b->results[i]->data, 1, b->results[i]->size_bytes, file) != b->results[i]->size_bytes) {
      stop(NULL, "writing the results");
    }
  }
  if (b->results_path && (!file || fclose(file) != 0)) {
    stop(NULL, "writing the results");
  }
}

static void run(struct bench *b, struct diag_list *diags, double *wall_s, double *processor_s) {
  struct interp_options options = {.plain = b->is_plain};
  double wall = now_s(CLOCK_MONOTONIC), processor = now_s(CLOCK_PROCESS_CPUTIME_ID);
  if (interp_run(b->module, b->entry, &options, b->arguments, b->argument_count, diags, b->results) != STATUS_OK) {
    stop(diags, "running");
  }
  *wall_s = now_s(CLOCK_MONOTONIC) - wall;
  *processor_s = now_s(CLOCK_PROCESS_CPUTIME_ID) - processor;
}

static void release_results(struct bench *b) {
  for (uint32_t i = 0; i < b->result_count; i++) {
    interp_release(b->results[i]);
    b->results[i] = NULL;
  }
}

static void parse_arguments(struct bench *b, int argc, char **argv) {
  b->runs = 5;
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--plain") == 0) {
      b->is_plain = true;
    } else if (strcmp(argv[i], "--arguments") == 0 && value) {
      b->arguments_path = argv[++i];
    } else if (strcmp(argv[i], "--results") == 0 && value) {
      b->results_path = argv[++i];
    } else if (strcmp(argv[i], "--runs") == 0 && value) {
      b->runs = atoi(argv[++i]);
    } else if (argv[i][0] != '-') {
      b->program = argv[i];
    }
  }
  if (!b->program || b->runs < 1 || b->runs > RUNS_MAX) {
    fputs("usage: bench_interp PROGRAM [--arguments FILE] [--results FILE] [--runs N] [--plain]\n", stderr);
    exit(2);
  }
}

int main(int argc, char **argv) {
  struct bench b = {0};
  struct diag_list diags;
  double wall_s[RUNS_MAX], processor_s[RUNS_MAX];
  parse_arguments(&b, argc, argv);
  diag_init(&diags);
  read_program(&b, &diags);
  read_arguments(&b);
  for (int i = 0; i < b.runs; i++) {
    run(&b, &diags, &wall_s[i], &processor_s[i]);
    if (i == 0) {
      write_results(&b);
    }
    release_results(&b);
  }
  qsort(wall_s, (size_t)b.runs, sizeof *wall_s, compare_doubles);
  qsort(processor_s, (size_t)b.runs, sizeof *processor_s, compare_doubles);
  printf("{\"program\": \"%s\", \"runs\": %d, \"median_s\": %.6f, \"min_s\": %.6f, \"processor_s\": %.6f}\n", b.program,
         b.runs, wall_s[b.runs / 2], wall_s[0], processor_s[b.runs / 2]);
  for (uint32_t i = 0; i < b.argument_count; i++) {
    interp_release(b.arguments[i]);
  }
  free(b.arguments);
  free(b.results);
  ir_module_free(b.module);
  diag_release(&diags);
  return 0;
}
