/* fft: discrete Fourier transforms over the last one to three dimensions, by splitting off the prime factors of the length
 * (Cooley and Tukey 1965), in double precision. Source: the StableHLO specification, section fft. */
#include <complex.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/interp_int.h"

typedef double complex number;

struct transform {
  int sign; /* of the exponent: -1 forward, +1 inverse (not scaled) */
  uint64_t full; /* length of the whole transform */
  const number *roots; /* exp(sign 2 pi i k / full) for all k below full */
};

static uint64_t smallest_factor(uint64_t n) {
  for (uint64_t p = 2; p * p <= n; p++) {
    if (n % p == 0) {
      return p;
    }
  }
  return n;
}

/* out[0 … n) = transform of in[0], in[stride], …; `work` has n numbers. Depth: number of prime factors. */
static void transform_part(const struct transform *t, uint64_t n, const number *in, uint64_t stride, number *out,
                           number *work) {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  uint64_t p = smallest_factor(n), m = n / p, step = t->full / n;
  for (uint64_t r = 0; r < p; r++) {
    transform_part(t, m, in + r * stride, stride * p, work + r * m, out + r * m);
  }
  for (uint64_t k = 0; k < n; k++) {
    number sum = 0;
    for (uint64_t r = 0; r < p; r++) {
      sum += t->roots[r * k % n * step] * work[r * m + k % m];
    }
    out[k] = sum;
  }
}

/* The numbers of a tensor's innermost dimensions while they are transformed. */
struct grid {
  int64_t dims[3];
  uint32_t rank;
  uint64_t count;
  number *data, *row, *out, *work, *roots; /* data: count; the others: the longest dimension */
};

static void fill_roots(uint64_t n, int sign, number *roots) {
  for (uint64_t k = 0; k < n; k++) {
    double angle = 2 * M_PI * (double)k / (double)n;
    roots[k] = cos(angle) + I * (sign * sin(angle));
  }
}

static void transform_axis(struct grid *g, uint32_t axis, int sign) {
  uint64_t n = (uint64_t)g->dims[axis], stride = 1;
  for (uint32_t d = axis + 1; d < g->rank; d++) {
    stride *= (uint64_t)g->dims[d];
  }
  fill_roots(n, sign, g->roots);
  struct transform t = {sign, n, g->roots};
  for (uint64_t i = 0; i < g->count / n; i++) {
    number *first = g->data + i / stride * stride * n + i % stride;
    for (uint64_t k = 0; k < n; k++) {
      g->row[k] = first[k * stride];
    }
    transform_part(&t, n, g->row, 1, g->out, g->work);
    for (uint64_t k = 0; k < n; k++) {
      first[k * stride] = sign > 0 ? g->out[k] / (double)n : g->out[k];
    }
  }
}

static bool grid_init(struct interp_call *call, struct grid *g) {
  uint64_t longest = 1;
  g->count = 1;
  for (uint32_t d = 0; d < g->rank; d++) {
    longest = (uint64_t)g->dims[d] > longest ? (uint64_t)g->dims[d] : longest;
    if (__builtin_mul_overflow(g->count, (uint64_t)g->dims[d], &g->count)) {
      return interp_wrong(call, "the lengths are too large");
    }
  }
  if (g->count > SIZE_MAX / 64 || !interp_spend(call, g->count)) {
    return false;
  }
  g->data = malloc((g->count + 4 * longest + 1) * sizeof *g->data);
  g->row = g->data ? g->data + g->count : NULL;
  g->out = g->data ? g->row + longest : NULL;
  g->work = g->data ? g->out + longest : NULL;
  g->roots = g->data ? g->work + longest : NULL;
  return g->data ? true : interp_out_of_memory(call);
}

enum kind { FFT, IFFT, RFFT, IRFFT };

/* Reads one grid; for IRFFT the last dimension of `from` holds the first half of a conjugate-symmetric row. */
static void read_grid(struct grid *g, enum kind kind, const struct interp_value *from, uint64_t index) {
  uint64_t last = (uint64_t)g->dims[g->rank - 1], held = (uint64_t)from->dims[from->rank - 1], rows = g->count / last;
  for (uint64_t r = 0; r < rows; r++) {
    interp_read_complex(from, (index * rows + r) * held, held < last ? held : last, (double *)(g->data + r * last));
  }
  for (uint32_t axis = 0; kind == IRFFT && axis + 1 < g->rank; axis++) {
    transform_axis(g, axis, 1); /* the other dimensions first: then every row is symmetric by itself */
  }
  for (uint64_t r = 0; kind == IRFFT && r < rows; r++) {
    for (uint64_t k = held; k < last; k++) {
      g->data[r * last + k] = conj(g->data[r * last + last - k]);
    }
  }
}

static void write_grid(const struct grid *g, struct interp_value *to, uint64_t index) {
  uint64_t last = (uint64_t)g->dims[g->rank - 1], kept = (uint64_t)to->dims[to->rank - 1], rows = g->count / last;
  for (uint64_t r = 0; r < rows; r++) {
    if (interp_is_complex(to)) {
      interp_write_complex(to, (index * rows + r) * kept, kept, (const double *)(g->data + r * last));
      continue;
    }
    for (uint64_t k = 0; k < kept; k++) {
      double real = creal(g->data[r * last + k]);
      interp_write_real(to, (index * rows + r) * kept + k, 1, &real);
    }
  }
}

/* Dims of the result; false when operand and lengths do not fit. */
static bool result_dims(const struct interp_value *from, enum kind kind, const struct grid *g, int64_t *dims) {
  bool ok = g->rank >= 1 && g->rank <= 3 && from->rank >= g->rank;
  for (uint32_t d = 0; ok && d < from->rank; d++) {
    bool is_last = d + 1 == from->rank;
    dims[d] = from->dims[d];
    if (d + g->rank >= from->rank) {
      int64_t length = g->dims[d + g->rank - from->rank];
      ok = length > 0 && from->dims[d] == (kind == IRFFT && is_last ? length / 2 + 1 : length);
      dims[d] = kind == RFFT && is_last ? length / 2 + 1 : length;
    }
  }
  return ok;
}

bool interp_op_fft(struct interp_call *call) {
  static const char *const names[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  const struct interp_value *from = call->operands[0];
  const char *name = interp_attr_text(call, "fft_type");
  int64_t lengths[INTERP_MAX_RANK], dims[INTERP_MAX_RANK];
  struct grid g = {.rank = interp_attr_ints(call, "fft_length", lengths, INTERP_MAX_RANK)};
  unsigned kind = 0;
  while (kind < 4 && strcmp(name, names[kind]) != 0) {
    kind++;
  }
  memcpy(g.dims, lengths, (g.rank < 3 ? g.rank : 3) * sizeof *lengths);
  if (kind == 4 || !result_dims(from, (enum kind)kind, &g, dims)) {
    return interp_wrong(call, "the lengths do not fit its operand");
  }
  struct interp_value *to = interp_result(call, 0, dims, from->rank);
  if (!to || !grid_init(call, &g)) {
    return false;
  }
  int sign = kind == IFFT || kind == IRFFT ? 1 : -1;
  for (uint64_t i = 0;
       to->count > 0 && i < to->count / (uint64_t)dims[from->rank - 1] / (g.count / (uint64_t)g.dims[g.rank - 1]);
       i++) {
    read_grid(&g, (enum kind)kind, from, i);
    for (uint32_t axis = kind == IRFFT ? g.rank - 1 : 0; axis < g.rank; axis++) {
      transform_axis(&g, axis, sign);
    }
    write_grid(&g, to, i);
  }
  free(g.data);
  return true;
}
