/* What the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput; it is linked either with libFuzzer
 * (RDG_FUZZERS=ON) or with replay_main.c, which runs the target over the files of its corpus. A violated property aborts
 * with its description on stderr, which libFuzzer and ctest both take for a failure. */
#ifndef RIDGELINE_TESTS_FUZZ_FUZZ_H
#define RIDGELINE_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The entry points that libFuzzer prescribes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
                                 size_t max_size, unsigned seed);
/* libFuzzer's own mutations; absent in a replay. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* The vocabulary of a target's inputs, for token_mutator.c; NULL-terminated. */
extern const char *const fuzz_words[];

#endif
