/* Sums of products, the heart of dot_general and convolution: rows of numbers in the arithmetic that the element type calls
 * for. Products and partial sums of floats are rounded to f32 (of f64 to f64), in the order of indices, and narrower
 * results once more at the end; integers wrap; predicates are and/or. */
#ifndef RIDGELINE_INTERP_INTERP_PRODUCTS_H
#define RIDGELINE_INTERP_INTERP_PRODUCTS_H

#include "interp/interp_int.h"

enum interp_arithmetic { INTERP_REAL, INTERP_INTEGER, INTERP_PREDICATE, INTERP_COMPLEX };

/* Arithmetic in which operands of the two types are multiplied for a result of `result`. */
enum interp_arithmetic interp_arithmetic_of(const struct interp_value *a, const struct interp_value *b,
                                            const struct interp_value *result);
/* 8-byte words per number: 2 for complex, else 1. */
static inline unsigned interp_words(enum interp_arithmetic arithmetic) {
  return arithmetic == INTERP_COMPLEX ? 2 : 1;
}
/* `count` elements from `first` on as numbers; `out` has count * words of 8 bytes. */
void interp_read_numbers(enum interp_arithmetic arithmetic, const struct interp_value *v, uint64_t first,
                         uint64_t count, void *out);
/* Element `at` of the result = sum over i of a[i] * b[i]. */
void interp_write_product(enum interp_arithmetic arithmetic, struct interp_value *result, uint64_t at, const void *a,
                          const void *b, uint64_t count);

#endif
