/* Hostile inputs (hostile_cases.def) and every prefix of the golden programs: each ends in acceptance or a diagnostic,
 * within bounds of time and memory. Each case runs in a process of its own, so that one that hangs or dies is named and
 * the others still run.
 *
 *   hostile_inputs [CASE...]      --print CASE writes the text of one */
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

/* Processor time and resident memory of one case. A sanitizer slows down about ten times, and keeps freed memory. */
enum { SECONDS_MAX = 5, MEGABYTES_MAX = 1024, SANITIZER_FACTOR = 8 };

enum reader { READ_TEXT, READ_PROGRAM };

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

static int run_case(const struct hostile_case *c) {
  struct strbuf text = {0}, why = {0};
  write_text(c, &text);
  uint64_t flops = 0;
  enum fuzz_outcome outcome = c->reader == READ_TEXT
                                  ? fuzz_check_text(strbuf_text(&text), text.length, false, &why)
                                  : fuzz_check_program(&chips, strbuf_text(&text), text.length, &flops, &why);
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

static int read_prefixes(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return 1;
  }
  char text[8192];
  size_t length = fread(text, 1, sizeof text, file);
  (void)fclose(file);
  int failures = 0;
  for (size_t end = 0; end <= length; end++) {
    /* a copy of exactly this size, so that a sanitizer sees any read behind its end */
    char *prefix = malloc(end + 1);
    if (prefix == NULL) {
      return 1;
    }
    memcpy(prefix, text, end);
    prefix[end] = '\0';
    struct source source = {.name = path, .text = prefix, .length = end};
    struct diag_list diags;
    diag_init(&diags);
    struct ir_module *module = NULL;
    struct strbuf why = {0};
    if (!fuzz_check_status(mlir_parse(&source, NULL, &diags, &module), &diags, &why)) {
      (void)fprintf(stderr, "%s, first %zu bytes: %s\n", path, end, strbuf_text(&why));
      failures++;
    }
    strbuf_release(&why);
    ir_module_free(module);
    diag_release(&diags);
    free(prefix);
  }
  return failures;
}

/* The golden programs cut off at every byte. */
static int run_prefixes(void) {
  static const char folder[] = RDG_SOURCE_DIR "/tests/golden/mlir";
  struct dirent **entries = NULL;
  int count = scandir(folder, &entries, NULL, alphasort);
  int failures = count <= 0;
  for (int i = 0; i < count; i++) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    if (length > 5 && (size_t)length < sizeof path && strcmp(path + length - 5, ".mlir") == 0) {
      failures += read_prefixes(path);
    }
    free(entries[i]);
  }
  free(entries);
  return failures;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static void limit_child(void) {
  rlim_t factor = IS_SANITIZED ? SANITIZER_FACTOR : 1;
  struct rlimit time = {.rlim_cur = SECONDS_MAX * factor, .rlim_max = SECONDS_MAX * factor + 1};
  (void)setrlimit(RLIMIT_CPU, &time);
  if (!IS_SANITIZED) {
    rlim_t bytes = (rlim_t)(MEGABYTES_MAX + 512) << 20;
    struct rlimit memory = {.rlim_cur = bytes, .rlim_max = bytes};
    (void)setrlimit(RLIMIT_AS, &memory);
  }
  struct rlimit core = {0};
  (void)setrlimit(RLIMIT_CORE, &core);
}

/* Runs case `index`, or the prefixes when it is CASE_COUNT; returns whether it was good. */
static bool run_process(size_t index) {
  const char *name = index < CASE_COUNT ? cases[index].name : "prefixes";
  (void)fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    limit_child();
    _exit(index < CASE_COUNT ? run_case(&cases[index]) : run_prefixes() > 0);
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
  const char *name = index < CASE_COUNT ? cases[index].name : "prefixes";
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
  for (size_t i = 0; i <= CASE_COUNT; i++) {
    if (is_chosen(i, argc, argv)) {
      failures += !run_process(i);
    }
  }
  fuzz_chips_release(&chips);
  printf("%d failures\n", failures);
  return failures > 0;
}
