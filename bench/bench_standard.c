/* The standard cases of the project, each in one place: how fast is text read, how fast is a prediction.
 *
 *   parse      gen_llama3-3b, text in memory → IR                       goal: at least 150 MB/s
 *   predict1   gen_llama3-3b, text in memory → one chip (h100)          goal: at most 50 ms
 *   predict12  gen_llama3-3b, text in memory → twelve chips (@demo)     goal: at most 150 ms
 *   repredict  the loaded program on a chip of a family already fused   goal: at most 2 ms
 *   memory     peak resident memory of reading and counting, in multiples of the file; files over 1 MB; goal: at most 20
 *
 * Times are medians of several runs in one process; the machine's own memory bandwidth stands beside them. Goals are
 * printed, never enforced: machines differ and are noisy. Usage: bench_standard [--json] [--runs N] [FILE] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cost/cost.h"
#include "hw/hw.h"
#include "io/input_file.h"
#include "mlir/mlir.h"
#include "program/program.h"

static const char default_program[] = "workloads/gen_llama3-3b_4dev.mlir";
static const char fallback_program[] = RDG_SOURCE_DIR "/examples/llama3_8b_train_unrolled.mlir.zst";

struct bench {
  struct input_file file;
  struct hw_database chips;
  struct diag_list diags;
  int runs;
};

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
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

static void fail(struct bench *b, const char *what) {
  struct strbuf text = {0};
  for (size_t i = 0; i < b->diags.entries.count; i++) {
    diag_format(&b->diags.entries.data[i], &text);
  }
  fprintf(stderr, "%s failed\n%s", what, strbuf_text(&text));
  exit(1);
}

/* One timed run of a case, in seconds. */
static double run_parse(struct bench *b) {
  struct source source = {b->file.name, b->file.text, b->file.length};
  struct mlir_parse_options options = {0};
  struct ir_module *module = NULL;
  double start = now_s();
  if (mlir_parse(&source, &options, &b->diags, &module) != STATUS_OK) {
    fail(b, "parsing");
  }
  double time = now_s() - start;
  ir_module_free(module);
  return time;
}

static struct program *load(struct bench *b) {
  struct program *program = NULL;
  if (program_parse(b->file.name, b->file.text, b->file.length, NULL, &b->diags, &program) != STATUS_OK) {
    fail(b, "loading");
  }
  return program;
}

static void estimate(struct bench *b, struct program *program, const struct hw_chip *chip) {
  struct cost_options options = {.f32_as = DTYPE_NONE};
  struct program_estimate e;
  if (program_estimate(program, chip, &cost_roofline, &options, false, &e) != STATUS_OK) {
    fail(b, "predicting");
  }
  program_estimate_release(&e);
}

static double run_predict(struct bench *b, const char *group_or_chip) {
  const struct hw_chip *chips[64];
  size_t count = 1;
  if (group_or_chip[0] == '@') {
    count = hw_database_group(&b->chips, group_or_chip, chips, 64);
    count = count > 12 ? 12 : count;
  } else {
    chips[0] = hw_database_find(&b->chips, group_or_chip, &b->diags);
  }
  double start = now_s();
  struct program *program = load(b);
  for (size_t i = 0; i < count; i++) {
    estimate(b, program, chips[i]);
  }
  double time = now_s() - start;
  program_free(program);
  return time;
}

static double run_predict1(struct bench *b) {
  return run_predict(b, "h100");
}
static double run_predict12(struct bench *b) {
  return run_predict(b, "@demo");
}

/* A second chip of the same fusion key: nothing is lowered or fused again. */
static double run_repredict(struct bench *b) {
  struct program *program = load(b);
  estimate(b, program, hw_database_find(&b->chips, "h100", &b->diags));
  const struct hw_chip *other = hw_database_find(&b->chips, "h200", &b->diags);
  double start = now_s();
  estimate(b, program, other);
  double time = now_s() - start;
  program_free(program);
  return time;
}

/* Copy bandwidth of one core over buffers far beyond the caches, read and written bytes counted. */
static double run_copy(struct bench *b) {
  enum { BUFFER_BYTES = 256 << 20 };
  static char *from, *to;
  (void)b;
  if (!from) {
    from = malloc(BUFFER_BYTES);
    to = malloc(BUFFER_BYTES);
    if (!from || !to) {
      exit(1);
    }
    memset(from, 1, BUFFER_BYTES);
    memset(to, 2, BUFFER_BYTES);
  }
  double start = now_s();
  memcpy(to, from, BUFFER_BYTES);
  return (now_s() - start) / (2.0 * BUFFER_BYTES);
}

static double measure(struct bench *b, double (*run)(struct bench *)) {
  double times[101];
  run(b);
  for (int i = 0; i < b->runs; i++) {
    times[i] = run(b);
  }
  return median(times, b->runs);
}

/* Peak resident bytes of reading, checking and lowering, in multiples of the text: a child that has touched nothing yet
 * loads the program from its file, the text included. */
static double peak_memory_ratio(struct bench *b, const char *path) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) {
    return 0;
  }
  pid_t child = fork();
  if (child == 0) {
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    struct program *program = NULL;
    bool loaded = program_load(path, NULL, &b->diags, &program) == STATUS_OK;
    getrusage(RUSAGE_SELF, &after);
    long grown[2] = {after.ru_maxrss - before.ru_maxrss, loaded ? (long)program->source.length : 0};
    _exit(write(pipe_ends[1], grown, sizeof grown) == sizeof grown ? 0 : 1);
  }
  long grown[2] = {0, 0};
  ssize_t got = read(pipe_ends[0], grown, sizeof grown);
  waitpid(child, NULL, 0);
  return got == sizeof grown && grown[1] ? 1024.0 * (double)grown[0] / (double)grown[1] : 0;
}

/* The named program, else the standard one of the data folder, else an example. */
static const char *find_program(const char *path, char *buffer, size_t size) {
  if (path) {
    return path;
  }
  const char *data = getenv("RIDGELINE_DATA");
  snprintf(buffer, size, "%s/%s", data ? data : RDG_SOURCE_DIR "/../shared/data", default_program);
  if (access(buffer, R_OK) == 0) {
    return buffer;
  }
  fprintf(stderr,
          "skipped: no data; the standard program is missing, an example stands in and the goals do not apply\n");
  return fallback_program;
}

static void report(const struct bench *b, const double *values, bool json) {
  const char *base = strrchr(b->file.name, '/');
  double megabytes = (double)b->file.length / 1e6;
  if (json) {
    printf("{\"program\": \"%s\", \"text_bytes\": %zu, \"parse_MBps\": %.1f, \"predict1_ms\": %.3f, \"predict12_ms\": "
           "%.3f, "
           "\"repredict_ms\": %.4f, \"memory_ratio\": %.2f, \"copy_GBps\": %.2f}\n",
           base ? base + 1 : b->file.name, b->file.length, megabytes / values[0], 1e3 * values[1], 1e3 * values[2],
           1e3 * values[3], values[4], 1e-9 / values[5]);
    return;
  }
  printf("program     %s, %.2f MB of text; medians of %d runs\n", base ? base + 1 : b->file.name, megabytes, b->runs);
  printf("parse       %8.1f MB/s   (goal >= 150; %.2f ms)\n", megabytes / values[0], 1e3 * values[0]);
  printf("predict1    %8.2f ms     (goal <= 50)\n", 1e3 * values[1]);
  printf("predict12   %8.2f ms     (goal <= 150)\n", 1e3 * values[2]);
  printf("repredict   %8.3f ms     (goal <= 2)\n", 1e3 * values[3]);
  printf("memory      %8.1f x file (goal <= 20)\n", values[4]);
  printf("machine     %8.2f GB/s   memory copy on one core, read + written; parsing runs at %.1f %% of it\n",
         1e-9 / values[5], 100 * 1e6 * megabytes / values[0] * values[5]);
}

int main(int argc, char **argv) {
  struct bench b = {.runs = 11};
  const char *path = NULL;
  bool json = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) {
      json = true;
    } else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      b.runs = atoi(argv[++i]);
      b.runs = b.runs < 1 ? 1 : b.runs > 101 ? 101 : b.runs;
    } else {
      path = argv[i];
    }
  }
  diag_init(&b.diags);
  char buffer[4096];
  path = find_program(path, buffer, sizeof buffer);
  double memory_ratio = peak_memory_ratio(&b, path); /* first: later runs leave memory behind */
  if (input_file_read(&b.file, path, 0, &b.diags) != STATUS_OK) {
    fail(&b, "reading");
  }
  if (hw_database_load(&b.chips, RDG_SOURCE_DIR "/hardware", &b.diags) != STATUS_OK) {
    fail(&b, "loading chips");
  }
  const double values[] = {
      measure(&b, run_parse), measure(&b, run_predict1), measure(&b, run_predict12), measure(&b, run_repredict),
      memory_ratio,           measure(&b, run_copy)};
  report(&b, values, json);
  hw_database_release(&b.chips);
  input_file_release(&b.file);
  diag_release(&b.diags);
  return 0;
}
