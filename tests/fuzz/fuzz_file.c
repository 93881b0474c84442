/* Fuzz target: a file as the user names it. Its kind is found by its content (gzip, zstd, bytecode, HLO text, MLIR text), what is
 * compressed is unpacked within a limit, and the program goes the whole way. */
#include <stdlib.h>

#include "fuzz.h"
#include "fuzz_check.h"

/* Far below what a compressed input of the fuzzer can grow to. */
enum { LIMIT_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct fuzz_chips chips;
  if (chips.gpu == NULL && !fuzz_chips_load(&chips)) {
    abort();
  }
  struct strbuf why = {0};
  fuzz_require(fuzz_check_file(&chips, (const char *)data, size, LIMIT_BYTES, &why), &why);
  return 0;
}
