/* Fuzz target: a program from text to predictions for a GPU and a TPU, and what is written about them. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz_check.h"
#include "fuzz_report.h"

/* libFuzzer has no end of the process where a target could clean up: loaded once, kept reachable. */
static struct fuzz_chips chips;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (chips.gpu == NULL && !fuzz_chips_load(&chips)) {
    abort();
  }
  const char *text = (const char *)data;
  struct strbuf why = {0};
  uint64_t matrix_flops = 0;
  enum fuzz_outcome outcome = fuzz_check_program(&chips, text, size, &matrix_flops, &why);
  if (outcome == FUZZ_ACCEPTED) {
    outcome = fuzz_check_reports(&chips, text, size, &why);
  }
  fuzz_require(outcome, &why);
  return 0;
}
