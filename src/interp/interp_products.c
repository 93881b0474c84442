/* Sums of products: see interp_products.h. */
#include "interp/interp_products.h"

enum interp_arithmetic interp_arithmetic_of(const struct interp_value *a, const struct interp_value *b,
                                            const struct interp_value *result) {
  if (interp_is_complex(result)) {
    return INTERP_COMPLEX;
  }
  if (!interp_is_integral(result) || !interp_is_integral(a) || !interp_is_integral(b)) {
    return INTERP_REAL;
  }
  return result->dtype == DTYPE_I1 ? INTERP_PREDICATE : INTERP_INTEGER;
}

void interp_read_numbers(enum interp_arithmetic arithmetic, const struct interp_value *v, uint64_t first,
                         uint64_t count, void *out) {
  switch (arithmetic) {
  case INTERP_REAL:
    interp_read_real(v, first, count, out);
    break;
  case INTERP_COMPLEX:
    interp_read_complex(v, first, count, out);
    break;
  default:
    interp_read_int(v, first, count, out);
  }
}

static double sum_reals(const double *a, const double *b, uint64_t count) {
  double sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    sum += a[i] * b[i];
  }
  return sum;
}

/* Products and partial sums rounded to f32, in the order of indices. */
static float sum_floats(const double *a, const double *b, uint64_t count) {
  float sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    sum += (float)(a[i] * b[i]);
  }
  return sum;
}

static int64_t sum_integers(const uint64_t *a, const uint64_t *b, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    sum += a[i] * b[i];
  }
  return (int64_t)sum;
}

static int64_t any_both(const uint64_t *a, const uint64_t *b, uint64_t count) {
  uint64_t any = 0;
  for (uint64_t i = 0; i < count; i++) {
    any |= a[i] & b[i];
  }
  return any != 0;
}

static void sum_complex_floats(const double *a, const double *b, uint64_t count, double *sum) {
  float real = 0, imaginary = 0;
  for (uint64_t i = 0; i < count; i++) {
    real += (float)(a[2 * i] * b[2 * i]) - (float)(a[2 * i + 1] * b[2 * i + 1]);
    imaginary += (float)(a[2 * i] * b[2 * i + 1]) + (float)(a[2 * i + 1] * b[2 * i]);
  }
  sum[0] = real;
  sum[1] = imaginary;
}

static void sum_complex(const double *a, const double *b, uint64_t count, double *sum) {
  sum[0] = sum[1] = 0;
  for (uint64_t i = 0; i < count; i++) {
    sum[0] += a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
    sum[1] += a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
  }
}

void interp_write_product(enum interp_arithmetic arithmetic, struct interp_value *result, uint64_t at, const void *a,
                          const void *b, uint64_t count) {
  double sums[2];
  int64_t integer;
  switch (arithmetic) {
  case INTERP_REAL:
    sums[0] = result->dtype == DTYPE_F64 ? sum_reals(a, b, count) : (double)sum_floats(a, b, count);
    if (interp_is_integral(result)) {
      integer = (int64_t)sums[0];
      interp_write_int(result, at, 1, &integer);
    } else {
      interp_write_real(result, at, 1, sums);
    }
    break;
  case INTERP_COMPLEX:
    (result->dtype == DTYPE_C128 ? sum_complex : sum_complex_floats)(a, b, count, sums);
    interp_write_complex(result, at, 1, sums);
    break;
  default:
    integer = arithmetic == INTERP_PREDICATE ? any_both(a, b, count) : sum_integers(a, b, count);
    interp_write_int(result, at, 1, &integer);
  }
}
