/* The random sequence of a mutator: the seed that libFuzzer passes decides the mutation. */
#ifndef RIDGELINE_TESTS_FUZZ_FUZZ_RANDOM_H
#define RIDGELINE_TESTS_FUZZ_FUZZ_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_random {
  uint64_t state;
};

static inline struct fuzz_random fuzz_random_of(unsigned seed) {
  return (struct fuzz_random){seed * 0x9E3779B97F4A7C15ull + 1};
}

/* xorshift64* */
static inline uint64_t fuzz_next(struct fuzz_random *random) {
  random->state ^= random->state >> 12;
  random->state ^= random->state << 25;
  random->state ^= random->state >> 27;
  return (random->state * 0x2545F4914F6CDD1Dull) >> 16;
}

/* 0 … limit - 1; 0 when the limit is 0. */
static inline size_t fuzz_below(struct fuzz_random *random, size_t limit) {
  return limit > 0 ? (size_t)(fuzz_next(random) % limit) : 0;
}

#endif
