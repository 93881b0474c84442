/* Random well-typed programs through the whole pipeline: none may be refused, matrix FLOPs are those of the closed form,
 * and everything of fuzz_check_program holds. A failing program is made smaller before it is shown.
 *
 *   generate_programs [COUNT [FIRST_SEED]]      --print SEED writes one program */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_check.h"
#include "program_generator.h"

enum { DEFAULT_COUNT = 3000, SHRINK_TRIES_MAX = 3000 };

static struct fuzz_chips chips;

/* Which seed a crash happened in. */
static volatile sig_atomic_t current_seed;

static void on_abort(int signal_number) {
  char text[] = "crashed in seed          \n";
  long seed = current_seed;
  for (size_t i = sizeof text - 3; seed > 0 && text[i] == ' '; i--, seed /= 10) {
    text[i] = (char)('0' + seed % 10);
  }
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) {
    _exit(1);
  }
  (void)signal(signal_number, SIG_DFL);
  (void)raise(signal_number);
}

/* With sanitizers a report must end in the signal that names the seed. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "abort_on_error=1";
}

/* True when the program fails; `why` says how. */
static bool fails(struct gen_block *program, struct strbuf *why) {
  struct strbuf text = {0};
  gen_write(program, &text);
  uint64_t flops = 0, expected = gen_matrix_flops(program);
  enum fuzz_outcome outcome = fuzz_check_program(&chips, strbuf_text(&text), text.length, &flops, why);
  if (outcome == FUZZ_ACCEPTED && flops != expected) {
    strbuf_printf(why, "%" PRIu64 " matrix FLOPs counted, %" PRIu64 " expected", flops, expected);
    outcome = FUZZ_BROKEN;
  }
  if (outcome == FUZZ_ACCEPTED) {
    outcome = fuzz_check_text(strbuf_text(&text), text.length, false, why);
  }
  strbuf_release(&text);
  return outcome != FUZZ_ACCEPTED;
}

static bool still_fails(struct gen_block *program, unsigned *tries) {
  struct strbuf why = {0};
  bool result = (*tries)++ < SHRINK_TRIES_MAX && fails(program, &why);
  strbuf_release(&why);
  return result;
}

/* Without output i of the function. */
static bool drop_outputs(struct gen_block *program, unsigned *tries) {
  bool is_smaller = false;
  for (size_t i = program->outputs.count; i-- > 0 && program->outputs.count > 1;) {
    uint32_t last = program->outputs.data[program->outputs.count - 1], dropped = program->outputs.data[i];
    program->outputs.data[i] = last;
    program->outputs.count--;
    if (still_fails(program, tries)) {
      is_smaller = true;
    } else {
      program->outputs.data[program->outputs.count++] = last;
      program->outputs.data[i] = dropped;
    }
  }
  return is_smaller;
}

/* A live value of the function becomes an argument of the same type: all that it was computed from goes. */
static bool cut_values(struct gen_block *program, unsigned *tries) {
  bool is_smaller = false;
  for (size_t i = program->nodes.count; i-- > 0;) {
    struct gen_node *node = &program->nodes.data[i], before = *node;
    if (!node->is_live || node->kind == GEN_ARGUMENT || node->kind == GEN_WHILE) {
      continue;
    }
    *node = (struct gen_node){.kind = GEN_ARGUMENT, .type = before.type};
    if (still_fails(program, tries)) {
      is_smaller = true;
    } else {
      *node = before;
      gen_mark_live(program);
    }
  }
  return is_smaller;
}

/* Loops that hand a value through, run once, or have smaller bodies. */
static bool shrink_loops(struct gen_block *program, struct gen_block *block, unsigned *tries) {
  bool is_smaller = false;
  for (size_t i = 0; i < block->nodes.count; i++) {
    struct gen_node *node = &block->nodes.data[i];
    if (node->kind != GEN_WHILE || !node->is_live) {
      continue;
    }
    uint64_t trips = node->trips;
    node->trips = 1;
    if (trips > 1 && still_fails(program, tries)) {
      is_smaller = true;
    } else {
      node->trips = trips;
    }
    for (uint32_t k = 0; k < node->body->outputs.count; k++) {
      uint32_t output = node->body->outputs.data[k];
      node->body->outputs.data[k] = k;
      if (output != k && still_fails(program, tries)) {
        is_smaller = true;
      } else {
        node->body->outputs.data[k] = output;
      }
    }
    is_smaller = shrink_loops(program, node->body, tries) || is_smaller;
  }
  return is_smaller;
}

static void report(uint64_t seed, struct gen_block *program) {
  unsigned tries = 0;
  bool is_smaller = true;
  while (is_smaller) {
    is_smaller = drop_outputs(program, &tries);
    is_smaller = cut_values(program, &tries) || is_smaller;
    is_smaller = shrink_loops(program, program, &tries) || is_smaller;
  }
  struct strbuf text = {0}, why = {0};
  (void)fails(program, &why);
  gen_write(program, &text);
  (void)fprintf(stderr, "seed %" PRIu64 ": %s\n%s\n", seed, strbuf_text(&why), strbuf_text(&text));
  strbuf_release(&text);
  strbuf_release(&why);
}

static int print_program(uint64_t seed) {
  struct gen_block *program = gen_program(seed);
  if (program == NULL) {
    return 1;
  }
  struct strbuf text = {0};
  gen_write(program, &text);
  (void)fputs(strbuf_text(&text), stdout);
  strbuf_release(&text);
  gen_free(program);
  return 0;
}

static bool run_seed(uint64_t seed) {
  current_seed = (sig_atomic_t)seed;
  struct gen_block *program = gen_program(seed);
  if (program == NULL) {
    (void)fprintf(stderr, "out of memory\n");
    return false;
  }
  struct strbuf why = {0};
  bool is_good = !fails(program, &why);
  strbuf_release(&why);
  if (!is_good) {
    report(seed, program);
  }
  gen_free(program);
  return is_good;
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--print") == 0) {
    return print_program(strtoull(argv[2], NULL, 10));
  }
  uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : DEFAULT_COUNT;
  uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  (void)signal(SIGABRT, on_abort);
  (void)signal(SIGSEGV, on_abort);
  if (!fuzz_chips_load(&chips)) {
    (void)fprintf(stderr, "the chips do not load\n");
    return 1;
  }
  unsigned failures = 0;
  for (uint64_t i = 0; i < count && failures < 5; i++) {
    failures += !run_seed(first + i);
  }
  fuzz_chips_release(&chips);
  printf("%" PRIu64 " programs, %u failures\n", count, failures);
  return failures > 0;
}
