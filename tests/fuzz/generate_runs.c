/* Random well-typed programs through the interpreter: all run or would need more than the budget, and everything of
 * fuzz_check_run holds.
 *
 *   generate_runs [COUNT [FIRST_SEED [SECONDS]]]      ends after SECONDS when that is sooner */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fuzz_run.h"
#include "program_generator.h"

enum { DEFAULT_COUNT = 1000, FAILURES_MAX = 5 };

static const struct fuzz_run_budget budget = {.memory_bytes = 64 << 20, .operations = 3000000};

static enum fuzz_outcome run_seed(uint64_t seed) {
  struct strbuf text = {0}, why = {0};
  struct gen_block *program = gen_program(seed);
  if (program == NULL) {
    (void)fprintf(stderr, "out of memory\n");
    return FUZZ_BROKEN;
  }
  gen_write(program, &text);
  enum fuzz_outcome outcome = fuzz_check_run(strbuf_text(&text), text.length, seed, &budget, &why);
  /* a program of the generator is right: the only reason not to run it is its size, or that of its arguments */
  bool is_too_large = strstr(strbuf_text(&why), "E0704") != NULL || strstr(strbuf_text(&why), "no arguments") != NULL;
  if (outcome == FUZZ_REFUSED && !is_too_large) {
    outcome = FUZZ_BROKEN;
  }
  if (outcome == FUZZ_BROKEN) {
    (void)fprintf(stderr, "seed %" PRIu64 ": %s\n%s\n", seed, strbuf_text(&why), strbuf_text(&text));
  }
  gen_free(program);
  strbuf_release(&text);
  strbuf_release(&why);
  return outcome;
}

int main(int argc, char **argv) {
  uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : DEFAULT_COUNT;
  uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  uint64_t seconds = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
  time_t start = time(NULL);
  uint64_t made = 0, outcomes[3] = {0};
  while (made < count && outcomes[FUZZ_BROKEN] < FAILURES_MAX
         && (seconds == 0 || (uint64_t)(time(NULL) - start) < seconds)) {
    outcomes[run_seed(first + made++)]++;
  }
  printf("%" PRIu64 " programs: %" PRIu64 " ran, %" PRIu64 " over the budget, %" PRIu64 " failures\n", made,
         outcomes[FUZZ_ACCEPTED], outcomes[FUZZ_REFUSED], outcomes[FUZZ_BROKEN]);
  return outcomes[FUZZ_BROKEN] > 0;
}
