/* Fuzz target: MLIR bytecode through the reader, both printers, and the whole way to predictions. The inputs are few and made
 * by tests/unit/test_mlir_bytecode.c or cut down by hand; see docs/fuzzing.md. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz_check.h"
#include "mlir/bytecode.h"

/* libFuzzer has no end of the process where a target could clean up: loaded once, kept reachable. */
static struct fuzz_chips chips;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (chips.gpu == NULL && !fuzz_chips_load(&chips)) {
    abort();
  }
  struct strbuf why = {0};
  fuzz_require(fuzz_check_bytecode((const char *)data, size, size % 2 == 1, &why), &why);
  if (!mlir_is_bytecode((const char *)data, size)) {
    return 0;
  }
  uint64_t matrix_flops = 0;
  why = (struct strbuf){0};
  fuzz_require(fuzz_check_program(&chips, (const char *)data, size, &matrix_flops, &why), &why);
  return 0;
}
