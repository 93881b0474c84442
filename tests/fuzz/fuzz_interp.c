/* Fuzz target: runs whatever is accepted, within tiny budgets. */
#include "fuzz.h"
#include "fuzz_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct fuzz_run_budget budget = {.memory_bytes = 16 << 20, .operations = 100000};
  struct strbuf why = {0};
  uint64_t seed = size > 0 ? data[size - 1] + size : 0;
  fuzz_require(fuzz_check_run((const char *)data, size, seed, &budget, &why), &why);
  return 0;
}
