/* Fuzz target: a program from text to predictions for a GPU and a TPU. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz_check.h"

/* libFuzzer has no end of the process where a target could clean up: loaded once, kept reachable. */
static struct fuzz_chips chips;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (chips.gpu == NULL && !fuzz_chips_load(&chips)) {
    abort();
  }
  struct strbuf why = {0};
  uint64_t matrix_flops = 0;
  fuzz_require(fuzz_check_program(&chips, (const char *)data, size, &matrix_flops, &why), &why);
  return 0;
}
