/* Hostile inputs (hostile_cases.def) and every prefix of programs of each kind: each ends in acceptance or a diagnostic,
 * within bounds of time and memory. Each case runs in a process of its own, so that one that hangs or dies is named and
 * the others still run.
 *
 *   hostile_inputs [CASE...]      --print CASE writes the input of one */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz_check.h"
#include "hostile_texts.h"
#include "mlir/bytecode.h"
#include "mlir/mlir.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* Processor time and resident memory of one case; prefixes are thousands of inputs. A sanitizer slows down about ten times,
 * and keeps freed memory. */
enum { SECONDS_MAX = 5, PREFIXES_SECONDS_MAX = 60, MEGABYTES_MAX = 1024, SANITIZER_FACTOR = 8 };

enum reader { READ_TEXT, READ_PROGRAM, READ_BYTECODE, READ_FILE };

struct hostile_case {
  const char *name;
  enum reader reader;
  const char *expectation; /* see hostile_cases.def */
  int count;
  const char *prefix, *open, *middle, *close, *suffix;
  void (*write)(struct strbuf *out); /* NULL: repetition */
};

static const struct hostile_case cases[] = {
#define HOSTILE(name, reader, expectation, count, prefix, open, middle, close, suffix)                                 \
  {#name, READ_##reader, expectation, count, prefix, open, middle, close, suffix, NULL},
#define HOSTILE_MADE(name, reader, expectation, function)                                                              \
  {#name, READ_##reader, expectation, 0, NULL, NULL, NULL, NULL, NULL, hostile_##function},
#include "hostile_cases.def"
#undef HOSTILE
#undef HOSTILE_MADE
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

/* RLIMIT_AS is no use under ASan, which reserves terabytes of addresses; it can watch the resident memory itself. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "hard_rss_limit_mb=4096";
}

static struct fuzz_chips chips;

static void write_text(const struct hostile_case *c, struct strbuf *out) {
  if (c->write != NULL) {
    c->write(out);
    return;
  }
  strbuf_puts(out, c->prefix);
  for (int i = 0; i < c->count; i++) {
    strbuf_puts(out, c->open);
  }
  strbuf_puts(out, c->middle);
  for (int i = 0; i < c->count; i++) {
    strbuf_puts(out, c->close);
  }
  strbuf_puts(out, c->suffix);
}

/* `why` holds the first diagnostic of a refusal. */
static bool is_expected(const char *expectation, enum fuzz_outcome outcome, const struct strbuf *why) {
  if (expectation == NULL || outcome == FUZZ_BROKEN) {
    return outcome != FUZZ_BROKEN;
  }
  if (expectation[0] == '\0') {
    return outcome == FUZZ_ACCEPTED;
  }
  char code[16];
  (void)snprintf(code, sizeof code, "[%s", expectation);
  return outcome == FUZZ_REFUSED && strstr(strbuf_text(why), code) != NULL;
}

static enum fuzz_outcome read_input(enum reader reader, const char *data, size_t size, struct strbuf *why) {
  enum { UNPACKED_MAX = 512 << 20 };
  uint64_t flops = 0;
  switch (reader) {
  case READ_TEXT:
    return fuzz_check_text(data, size, false, why);
  case READ_BYTECODE:
    return fuzz_check_bytecode(data, size, true, why);
  case READ_FILE:
    return fuzz_check_file(&chips, data, size, UNPACKED_MAX, why);
  default:
    return fuzz_check_program(&chips, data, size, &flops, why);
  }
}

static int run_case(const struct hostile_case *c) {
  struct strbuf text = {0}, why = {0};
  write_text(c, &text);
  enum fuzz_outcome outcome = read_input(c->reader, strbuf_text(&text), text.length, &why);
  bool is_good = is_expected(c->expectation, outcome, &why);
  if (!is_good) {
    static const char *const outcomes[] = {"accepted", "refused", "broken"};
    (void)fprintf(stderr, "%s: %s, expected '%s': %.300s\n", c->name, outcomes[outcome],
                  c->expectation != NULL ? c->expectation : "either", strbuf_text(&why));
  }
  strbuf_release(&text);
  strbuf_release(&why);
  return is_good ? 0 : 1;
}

/* ---- prefixes ---------------------------------------------------------------------------------------------------- */

/* Files that are cut off at every byte. `folder` is of the source tree, or of the data folder where `is_data`: those are
 * left out where there is no data. */
static const struct prefix_case {
  const char *name, *folder, *suffix;
  enum reader reader;
  bool is_data;
  size_t bytes_max; /* longer files are left out */
  const char *made; /* what is made of a text before: "generic", or the version of its artifact; NULL = nothing */
} prefixes[] = {
    {"prefixes_text", "tests/golden/mlir", ".mlir", READ_TEXT, false, 8192, NULL},
    {"prefixes_generic", "tests/golden/mlir", ".mlir", READ_TEXT, false, 8192, "generic"},
    {"prefixes_hlo", "tests/fuzz/corpus/hlo", ".hlo", READ_PROGRAM, false, 4096, NULL},
    {"prefixes_bytecode", "tests/fuzz/corpus/bytecode", ".bc", READ_BYTECODE, false, 4096, NULL},
    /* these are of the container's versions 0, 1, 3, 4 and 6; StableHLO wrote none of 2 and 5 */
    {"prefixes_0_9", "tests/fuzz/corpus/program", ".mlir", READ_BYTECODE, false, 4096, "0.9.0"},
    {"prefixes_0_10", "tests/fuzz/corpus/program", ".mlir", READ_BYTECODE, false, 4096, "0.10.0"},
    {"prefixes_0_12", "tests/fuzz/corpus/program", ".mlir", READ_BYTECODE, false, 4096, "0.12.0"},
    {"prefixes_0_14", "tests/fuzz/corpus/program", ".mlir", READ_BYTECODE, false, 4096, "0.14.0"},
    {"prefixes_1_20", "tests/fuzz/corpus/program", ".mlir", READ_BYTECODE, false, 4096, "1.20.0"},
    {"prefixes_gzip", "tests/fuzz/corpus/file", ".gz", READ_FILE, false, 1024, NULL},
    {"prefixes_zstd", "tests/fuzz/corpus/file", ".zst", READ_FILE, false, 1024, NULL},
    {"prefixes_vhlo", "corpus/stablehlo/tests/vhlo", ".bc", READ_BYTECODE, true, 30000, NULL},
    {"prefixes_artifacts", "corpus/jax_export", ".bc", READ_BYTECODE, true, 2500, NULL},
};
enum { PREFIX_COUNT = sizeof prefixes / sizeof prefixes[0] };

/* Puts what is made of a program's text in its place; nothing when it cannot be made. */
static void make(const char *made, struct strbuf *text) {
  struct mlir_print_options generic = {.form = MLIR_GENERIC};
  struct mlir_bytecode_options options = {0};
  struct source source = {.name = "input", .text = strbuf_text(text), .length = text->length};
  struct strbuf out = {0};
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL;
  if (mlir_parse(&source, NULL, &diags, &module) != STATUS_OK) {
    diag_release(&diags);
    strbuf_clear(text);
    return;
  }
  if (strcmp(made, "generic") == 0) {
    mlir_print(module, module->root, &generic, &out);
  } else if (!mlir_bytecode_parse_version(made, options.version)
             || mlir_bytecode_write(module, &options, &diags, &out) != STATUS_OK) {
    strbuf_clear(&out);
  }
  ir_module_free(module);
  diag_release(&diags);
  strbuf_release(text);
  *text = out;
}

static int read_prefixes(const struct prefix_case *c, const char *path, const struct strbuf *text) {
  int failures = 0;
  for (size_t end = 0; end <= text->length; end++) {
    /* a copy of exactly this size, so that a sanitizer sees any read behind its end */
    char *prefix = malloc(end + 1);
    if (prefix == NULL) {
      return 1;
    }
    memcpy(prefix, strbuf_text(text), end);
    prefix[end] = '\0';
    struct strbuf why = {0};
    if (read_input(c->reader, prefix, end, &why) == FUZZ_BROKEN) {
      (void)fprintf(stderr, "%s, first %zu bytes: %s\n", path, end, strbuf_text(&why));
      failures++;
    }
    strbuf_release(&why);
    free(prefix);
  }
  return failures;
}

/* Length 0 when the file is too long. */
static bool read_file(const char *path, size_t bytes_max, struct strbuf *text) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return false;
  }
  char *data = malloc(bytes_max + 1);
  size_t length = data != NULL ? fread(data, 1, bytes_max + 1, file) : 0;
  if (length <= bytes_max) {
    strbuf_add(text, data, length);
  }
  free(data);
  (void)fclose(file);
  return true;
}

static int run_prefixes(const struct prefix_case *c) {
  const char *data = getenv("RIDGELINE_DATA");
  const char *root = !c->is_data ? RDG_SOURCE_DIR : data != NULL ? data : RDG_SOURCE_DIR "/../shared/data";
  char folder[2048];
  (void)snprintf(folder, sizeof folder, "%s/%s", root, c->folder);
  struct dirent **entries = NULL;
  int count = scandir(folder, &entries, NULL, alphasort);
  if (count <= 0) {
    printf("%s\n", c->is_data ? "skipped: no data" : "nothing to read");
    return c->is_data ? 0 : 1;
  }
  int failures = 0, seen = 0;
  for (int i = 0; i < count; i++) {
    char path[4096];
    struct strbuf text = {0};
    size_t length = (size_t)snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name), end = strlen(c->suffix);
    if (length > end && length < sizeof path && strcmp(path + length - end, c->suffix) == 0) {
      failures += !read_file(path, c->bytes_max, &text);
      if (c->made != NULL) {
        make(c->made, &text);
      }
      seen += text.length > 0;
      failures += read_prefixes(c, path, &text);
    }
    strbuf_release(&text);
    free(entries[i]);
  }
  free(entries);
  return failures + (seen == 0);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static void limit_child(rlim_t seconds) {
  rlim_t factor = IS_SANITIZED ? SANITIZER_FACTOR : 1;
  struct rlimit time = {.rlim_cur = seconds * factor, .rlim_max = seconds * factor + 1};
  (void)setrlimit(RLIMIT_CPU, &time);
  if (!IS_SANITIZED) {
    rlim_t bytes = (rlim_t)(MEGABYTES_MAX + 512) << 20;
    struct rlimit memory = {.rlim_cur = bytes, .rlim_max = bytes};
    (void)setrlimit(RLIMIT_AS, &memory);
  }
  struct rlimit core = {0};
  (void)setrlimit(RLIMIT_CORE, &core);
}

static const char *name_of(size_t index) {
  return index < CASE_COUNT ? cases[index].name : prefixes[index - CASE_COUNT].name;
}

/* Runs case `index`, prefixes behind the others; returns whether it was good. */
static bool run_process(size_t index) {
  const char *name = name_of(index);
  (void)fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    limit_child(index < CASE_COUNT ? SECONDS_MAX : PREFIXES_SECONDS_MAX);
    int failures = index < CASE_COUNT ? run_case(&cases[index]) : run_prefixes(&prefixes[index - CASE_COUNT]);
    (void)fflush(NULL);
    _exit(failures > 0);
  }
  int status = 0;
  struct rusage usage = {0};
  if (child < 0 || wait4(child, &status, 0, &usage) != child) {
    (void)fprintf(stderr, "%s: cannot be run\n", name);
    return false;
  }
  double seconds = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6;
  long megabytes = usage.ru_maxrss / 1024;
  printf("%-28s %6.2f s %6ld MB\n", name, seconds, megabytes);
  if (WIFSIGNALED(status)) {
    (void)fprintf(stderr, "%s: ended by signal %d (%s)\n", name, WTERMSIG(status),
                  WTERMSIG(status) == SIGXCPU ? "more than the processor time allowed" : "crash");
    return false;
  }
  if (megabytes > (IS_SANITIZED ? MEGABYTES_MAX * 4 : MEGABYTES_MAX)) {
    (void)fprintf(stderr, "%s: uses %ld MB, allowed are %d\n", name, megabytes, MEGABYTES_MAX);
    return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool is_chosen(size_t index, int argc, char **argv) {
  const char *name = name_of(index);
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], name) == 0) {
      return true;
    }
  }
  return argc == 1;
}

static int print_case(const char *name) {
  for (size_t i = 0; i < CASE_COUNT; i++) {
    if (strcmp(cases[i].name, name) == 0) {
      struct strbuf text = {0};
      write_text(&cases[i], &text);
      (void)fwrite(strbuf_text(&text), 1, text.length, stdout);
      strbuf_release(&text);
      return 0;
    }
  }
  return 1;
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--print") == 0) {
    return print_case(argv[2]);
  }
  if (!fuzz_chips_load(&chips)) {
    (void)fprintf(stderr, "the chips do not load\n");
    return 1;
  }
  int failures = 0;
  for (size_t i = 0; i < CASE_COUNT + PREFIX_COUNT; i++) {
    if (is_chosen(i, argc, argv)) {
      failures += !run_process(i);
    }
  }
  fuzz_chips_release(&chips);
  printf("%d failures\n", failures);
  return failures > 0;
}
