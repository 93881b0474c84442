/* How fast programs of several kinds are read, as text and as portable artifacts of the same programs:
 *
 *   model       gen_llama3-3b of the data folder (else an example): a training step, few large functions
 *   functions   thousands of small functions that call each other
 *   constants   large dense constants, half as hexadecimal text and half as lists of numbers
 *   regions     conditionals in conditionals, 40 levels deep
 *   locations   the functions again, with a location per operation as JAX prints them
 *
 * All but the first are made here, the same ones every time, about 2 MB each. Rates are in bytes of the text, for artifacts
 * too, so that they say which form loads the program faster. --write DIR leaves the programs there for other readers
 * (compare_mlir_speed.py). Usage: bench_reader [--json] [--runs N] [--write DIR] [--only KIND] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "io/input_file.h"
#include "mlir/bytecode.h"

enum { KIND_BYTES = 2000000, RUNS_MAX = 101 };

/* What an artifact is written for: every reader of the last year knows it. */
static const struct mlir_bytecode_options artifact_version = {.version = {1, 10, 0}};

struct measurement {
  double text_s, artifact_s, check_s; /* parsing text, reading the artifact, checking the module */
  size_t text_bytes, artifact_bytes;
};

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* nothing here waits; other work on the machine counts less */
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare_doubles);
  return values[count / 2];
}

static void stop(const struct diag_list *diags, const char *what) {
  struct strbuf text = {0};
  for (size_t i = 0; i < diags->entries.count; i++) {
    diag_format(&diags->entries.data[i], &text);
  }
  fprintf(stderr, "%s failed\n%s", what, strbuf_text(&text));
  exit(1);
}

/* ---- programs ----------------------------------------------------------------------------------------------------------- */

static void put_functions(struct strbuf *out) {
  strbuf_puts(out, "module @functions {\n");
  for (int i = 0; out->length < KIND_BYTES; i++) {
    int n = i % 64 + 1;
    strbuf_printf(out,
                  "  func.func private @f%d(%%arg0: tensor<8x%dxf32>, %%arg1: tensor<f32>) -> tensor<8x%dxf32> {\n"
                  "    %%0 = stablehlo.broadcast_in_dim %%arg1, dims = [] : (tensor<f32>) -> tensor<8x%dxf32>\n"
                  "    %%1 = stablehlo.multiply %%arg0, %%0 : tensor<8x%dxf32>\n"
                  "    %%2 = stablehlo.tanh %%1 : tensor<8x%dxf32>\n",
                  i, n, n, n, n, n);
    if (i >= 64) {
      strbuf_printf(out, "    %%3 = call @f%d(%%2, %%arg1) : (tensor<8x%dxf32>, tensor<f32>) -> tensor<8x%dxf32>\n",
                    i - 64, n, n);
    }
    strbuf_printf(out, "    return %%%d : tensor<8x%dxf32>\n  }\n", i >= 64 ? 3 : 2, n);
  }
  strbuf_puts(out, "}\n");
}

/* The same with a location behind every operation; each is an alias at the end of the text, as JAX prints them. */
static void put_located_functions(struct strbuf *out) {
  enum { PLACES = 2000 };
  struct strbuf plain = {0};
  put_functions(&plain);
  const char *text = strbuf_text(&plain);
  for (unsigned line = 0; *text; line++) {
    size_t length = strcspn(text, "\n");
    strbuf_add(out, text, length);
    if (length > 4 && memcmp(text, "    ", 4) == 0) {
      strbuf_printf(out, " loc(#loc%u)", line % PLACES + 1);
    }
    strbuf_puts(out, "\n");
    text += length + (text[length] == '\n');
  }
  for (unsigned i = 1; i <= PLACES; i++) {
    strbuf_printf(out, "#loc%u = loc(\"jit(step)/layer_%u/mul\"(\"model.py\":%u:8))\n", i, i % 40, i);
  }
  strbuf_release(&plain);
}

static void put_constants(struct strbuf *out) {
  enum { COUNT = 4096 };
  uint32_t state = 1;
  strbuf_puts(out, "module @constants {\n  func.func public @main() {\n");
  for (int i = 0; out->length < KIND_BYTES; i++) {
    bool is_hex = i % 2 == 0;
    strbuf_printf(out, "    %%c%d = stablehlo.constant dense<%s", i, is_hex ? "\"0x" : "[");
    for (int k = 0; k < COUNT; k++) {
      state = state * 1664525u + 1013904223u;
      if (is_hex) {
        strbuf_printf(out, "%08X", state & 0x3FFFFFFFu);
      } else {
        strbuf_printf(out, "%s%d.%06de+00", k ? ", " : "", (int)(state >> 29), (int)(state >> 8) % 1000000);
      }
    }
    strbuf_printf(out, "%s> : tensor<%dxf32>\n", is_hex ? "\"" : "]", COUNT);
  }
  strbuf_puts(out, "    return\n  }\n}\n");
}

static void put_regions(struct strbuf *out) {
  enum { LEVELS = 40 };
  strbuf_puts(out, "module @regions {\n");
  for (int i = 0; out->length < KIND_BYTES; i++) {
    strbuf_printf(out, "  func.func private @f%d(%%arg0: tensor<i1>, %%arg1: tensor<4xf32>) -> tensor<4xf32> {\n", i);
    for (int level = 0; level < LEVELS; level++) {
      strbuf_printf(out, "%*s%%v%d = \"stablehlo.if\"(%%arg0) ({\n", 4 + 2 * level, "", level);
    }
    strbuf_printf(out, "%*sstablehlo.return %%arg1 : tensor<4xf32>\n", 4 + 2 * LEVELS, "");
    for (int level = LEVELS - 1; level >= 0; level--) {
      strbuf_printf(out,
                    "%*s}, {\n%*s%%e%d = stablehlo.negate %%arg1 : tensor<4xf32>\n%*sstablehlo.return %%e%d : "
                    "tensor<4xf32>\n%*s}) : (tensor<i1>) -> tensor<4xf32>\n",
                    4 + 2 * level, "", 6 + 2 * level, "", level, 6 + 2 * level, "", level, 4 + 2 * level, "");
      if (level > 0) {
        strbuf_printf(out, "%*sstablehlo.return %%v%d : tensor<4xf32>\n", 4 + 2 * level, "", level);
      }
    }
    strbuf_puts(out, "    return %v0 : tensor<4xf32>\n  }\n");
  }
  strbuf_puts(out, "}\n");
}

static void put_model(struct strbuf *out) {
  char path[4096];
  const char *data = getenv("RIDGELINE_DATA");
  snprintf(path, sizeof path, "%s/workloads/gen_llama3-3b_4dev.mlir", data ? data : RDG_SOURCE_DIR "/../shared/data");
  if (access(path, R_OK) != 0) {
    snprintf(path, sizeof path, "%s/examples/llama3_8b_train_unrolled.mlir.zst", RDG_SOURCE_DIR);
  }
  struct input_file file;
  struct diag_list diags;
  diag_init(&diags);
  if (input_file_read(&file, path, 0, &diags) != STATUS_OK) {
    stop(&diags, path);
  }
  /* no artifact holds mhlo.copy: an operation of the same form stands for it */
  static const char copy[] = "mhlo.copy";
  const char *at = file.text, *next;
  for (; (next = strstr(at, copy)) != NULL; at = next + sizeof copy - 1) {
    strbuf_add(out, at, (size_t)(next - at));
    strbuf_puts(out, "stablehlo.abs");
  }
  strbuf_add(out, at, (size_t)(file.text + file.length - at));
  input_file_release(&file);
  diag_release(&diags);
}

static const struct kind {
  const char *name;
  void (*put)(struct strbuf *out);
} kinds[] = {{"model", put_model},
             {"functions", put_functions},
             {"constants", put_constants},
             {"regions", put_regions},
             {"locations", put_located_functions}};

/* ---- measuring ------------------------------------------------------------------------------------------------------------ */

typedef enum status read_fn(const struct source *source, const struct mlir_parse_options *options,
                            struct diag_list *diags, struct ir_module **module);

/* Seconds of reading once; the module is left in *module when that is not NULL. */
static double read_once(read_fn *read, const struct source *source, struct ir_module **module) {
  struct diag_list diags;
  struct ir_module *made = NULL;
  diag_init(&diags);
  double start = now_s();
  if (read(source, NULL, &diags, &made) != STATUS_OK) {
    stop(&diags, source->name);
  }
  double time = now_s() - start;
  if (module) {
    *module = made;
  } else {
    ir_module_free(made);
  }
  diag_release(&diags);
  return time;
}

static double read_median(read_fn *read, const struct source *source, int runs) {
  double times[RUNS_MAX];
  read_once(read, source, NULL);
  for (int i = 0; i < runs; i++) {
    times[i] = read_once(read, source, NULL);
  }
  return median(times, runs);
}

static double check_median(const struct source *source, int runs) {
  double times[RUNS_MAX];
  for (int i = 0; i < runs; i++) {
    struct diag_list diags;
    struct ir_module *module;
    diag_init(&diags);
    read_once(mlir_parse, source, &module);
    double start = now_s();
    if (analyze_infer(module, &diags) != STATUS_OK) {
      stop(&diags, source->name);
    }
    times[i] = now_s() - start;
    ir_module_free(module);
    diag_release(&diags);
  }
  return median(times, runs);
}

static void write_file(const char *folder, const char *name, const char *suffix, const char *data, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
    fprintf(stderr, "cannot write %s\n", path);
    exit(1);
  }
}

static struct measurement measure(const struct kind *kind, int runs, const char *folder) {
  struct strbuf text = {0}, artifact = {0};
  struct diag_list diags;
  struct ir_module *module;
  diag_init(&diags);
  kind->put(&text);
  struct source source = {kind->name, strbuf_text(&text), text.length};
  read_once(mlir_parse, &source, &module);
  if (mlir_bytecode_write(module, &artifact_version, &diags, &artifact) != STATUS_OK) {
    stop(&diags, kind->name);
  }
  ir_module_free(module);
  struct source bytes = {kind->name, strbuf_text(&artifact), artifact.length};
  struct measurement m = {.text_bytes = text.length, .artifact_bytes = artifact.length};
  if (folder) {
    write_file(folder, kind->name, ".mlir", source.text, source.length);
    write_file(folder, kind->name, ".mlir.bc", bytes.text, bytes.length);
  }
  m.text_s = read_median(mlir_parse, &source, runs);
  m.artifact_s = read_median(mlir_bytecode_read, &bytes, runs);
  m.check_s = check_median(&source, runs);
  strbuf_release(&text);
  strbuf_release(&artifact);
  diag_release(&diags);
  return m;
}

static void report(const struct kind *kind, const struct measurement *m, bool json, bool is_first) {
  double megabytes = (double)m->text_bytes / 1e6;
  if (json) {
    printf(
        "%s\n {\"kind\": \"%s\", \"text_bytes\": %zu, \"artifact_bytes\": %zu, \"text_s\": %.6f, \"artifact_s\": %.6f, "
        "\"check_s\": %.6f}",
        is_first ? "[" : ",", kind->name, m->text_bytes, m->artifact_bytes, m->text_s, m->artifact_s, m->check_s);
    return;
  }
  if (is_first) {
    printf("%-10s  %9s  %12s  %12s  %16s  %12s\n", "reading", "text", "artifact", "text read", "artifact read",
           "checked");
  }
  printf("%-10s  %6.2f MB  %9.2f MB  %7.0f MB/s  %11.0f MB/s  %7.0f MB/s\n", kind->name, megabytes,
         (double)m->artifact_bytes / 1e6, megabytes / m->text_s, megabytes / m->artifact_s, megabytes / m->check_s);
}

int main(int argc, char **argv) {
  bool json = false;
  int runs = 11;
  const char *folder = NULL, *only = NULL;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) {
      json = true;
    } else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      runs = atoi(argv[++i]);
      runs = runs < 1 ? 1 : runs > RUNS_MAX ? RUNS_MAX : runs;
    } else if (strcmp(argv[i], "--write") == 0 && i + 1 < argc) {
      folder = argv[++i];
    } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else {
      fprintf(stderr, "usage: bench_reader [--json] [--runs N] [--write DIR] [--only KIND]\n");
      return 2;
    }
  }
  bool is_first = true;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (only == NULL || strcmp(only, kinds[i].name) == 0) {
      struct measurement m = measure(&kinds[i], runs, folder);
      report(&kinds[i], &m, json, is_first);
      is_first = false;
    }
  }
  if (json) {
    printf("\n]\n");
  } else {
    printf("rates in bytes of the text; goals: text >= 200 MB/s, artifacts >= 300 MB/s; medians of %d runs\n", runs);
  }
  return 0;
}
