/* Overflow-checked and saturating 64-bit arithmetic for counts and sizes. */
#ifndef RIDGELINE_BASE_CHECKED_H
#define RIDGELINE_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool checked_mul_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool checked_add_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline uint64_t sat_mul_u64(uint64_t a, uint64_t b) {
  uint64_t r;
  return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}
static inline uint64_t sat_add_u64(uint64_t a, uint64_t b) {
  uint64_t r;
  return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}
/* Steps of halving that bring n elements to one: 0 for n <= 1. */
static inline uint64_t ceil_log2_u64(uint64_t n) {
  return n <= 1 ? 0 : 64 - (uint64_t)__builtin_clzll(n - 1);
}
static inline uint64_t ceil_div_u64(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0);
}
/* Greatest common divisor (Euclid); the other number when one is 0. */
static inline uint64_t gcd_u64(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

#endif
