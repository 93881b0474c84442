/* Properties of runs: what the reader and the verifier accept, the interpreter runs or refuses with a message. */
#ifndef RIDGELINE_TESTS_FUZZ_FUZZ_RUN_H
#define RIDGELINE_TESTS_FUZZ_FUZZ_RUN_H

#include "fuzz_check.h"

/* What a run may use; see struct interp_options. */
struct fuzz_run_budget {
  uint64_t memory_bytes, operations;
};

/* Text → module → inferred → run on inputs made from the seed: results have the types that the function states; the plain
 * path gives the same, bit for bit but for NaN, where no sum of floats may be taken in another order; the printed program, read again,
 * gives the same bits. FUZZ_REFUSED with the message when the program is not accepted or does not run. */
enum fuzz_outcome fuzz_check_run(const char *text, size_t length, uint64_t seed, const struct fuzz_run_budget *budget,
                                 struct strbuf *why);

#endif
