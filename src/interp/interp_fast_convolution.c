/* Convolutions as products of matrices: a row per position of the window, a column per output feature, and as contracted
 * dimension the window with the input features. The input is padded and dilated first, so that every window lies inside of
 * it; then rows and columns are lists of offsets and no window is copied. Forward and backward convolutions are the same.
 * Path: convolve (interp_convolution.c) → here → interp_gemm_run. */
#include <stdlib.h>
#include <string.h>

#include "interp/interp_fast.h"
#include "interp/interp_fast_gemm.h"
#include "interp/interp_view.h"

/* The input with zeros in its padding and holes: sizes of its spatial dimensions, and where element 0 of the input lies. */
struct padded {
  int64_t dims[INTERP_MAX_RANK];
  uint64_t count;
  bool is_input; /* nothing to add */
};

static struct padded pad_dims(const struct convolution *c, const struct interp_value *input) {
  struct padded p = {.count = 1, .is_input = true};
  memcpy(p.dims, input->dims, input->rank * sizeof *input->dims);
  for (uint32_t i = 0; i < c->spatial; i++) {
    int64_t size = input->dims[c->input_spatial[i]];
    int64_t dilated = size == 0 ? 0 : (size - 1) * c->lhs_dilation[i] + 1;
    p.dims[c->input_spatial[i]] = dilated + c->low[i] + c->high[i];
    p.is_input &= c->low[i] == 0 && c->high[i] == 0 && dilated == size;
  }
  for (uint32_t d = 0; d < input->rank; d++) {
    p.count = p.dims[d] <= 0 || __builtin_mul_overflow(p.count, (uint64_t)p.dims[d], &p.count) ? UINT64_MAX : p.count;
  }
  return p;
}

/* Copies the input into the padded tensor, whose elements are 0; what negative padding cuts off stays out. */
static void fill_padded(const struct convolution *c, struct interp_value *padded, const struct interp_value *input) {
  struct interp_view to = interp_view_of(padded), from = interp_view_of(input);
  int64_t dims[INTERP_MAX_RANK];
  memcpy(dims, input->dims, input->rank * sizeof *dims);
  for (uint32_t i = 0; i < c->spatial; i++) {
    int64_t d = c->input_spatial[i], dilation = c->lhs_dilation[i], low = c->low[i];
    int64_t first = low < 0 ? (-low + dilation - 1) / dilation : 0;
    int64_t last =
        (padded->dims[d] - 1 - low) / dilation; /* low < size of the padded dimension, or nothing is inside */
    last = last < input->dims[d] - 1 ? last : input->dims[d] - 1;
    dims[d] = padded->dims[d] - 1 < low ? 0 : last - first + 1;
    from.base += first * from.strides[d];
    to.base += (low + first * dilation) * to.strides[d];
    to.strides[d] *= dilation;
  }
  interp_view_copy(padded, &to, input, &from, dims, input->rank);
}

/* Fills in the lists of offsets, which lie in `memory`. Rows: batch, positions; contracted: window, input features. */
static void describe(struct interp_gemm *g, const struct convolution *c, const int64_t *input_dims, uint32_t rank,
                     const struct interp_value *kernel, const struct interp_value *to, int64_t *memory) {
  int64_t in[INTERP_MAX_RANK], weight[INTERP_MAX_RANK], out[INTERP_MAX_RANK];
  int64_t dims[INTERP_MAX_RANK], steps[INTERP_MAX_RANK];
  interp_strides(input_dims, rank, in);
  interp_strides(kernel->dims, rank, weight);
  interp_strides(to->dims, rank, out);
  int64_t outputs = (int64_t)g->n;
  const int64_t groups = (int64_t)g->batches, batch = to->dims[c->output_batch];
  int64_t group_step = c->batch_groups > 1 ? batch * in[c->input_batch] : c->features * in[c->input_feature];
  g->a_starts = memory;
  g->b_starts = memory = interp_fast_offsets(&groups, &group_step, 1, memory);
  group_step = outputs * weight[c->kernel_output];
  g->c_starts = memory = interp_fast_offsets(&groups, &group_step, 1, memory);
  group_step = outputs * out[c->output_feature];
  g->a.rows = memory = interp_fast_offsets(&groups, &group_step, 1, memory);
  dims[0] = batch;
  steps[0] = in[c->input_batch];
  for (uint32_t i = 0; i < c->spatial; i++) {
    dims[i + 1] = to->dims[c->output_spatial[i]];
    steps[i + 1] = in[c->input_spatial[i]] * c->stride[i];
  }
  g->c.rows = memory = interp_fast_offsets(dims, steps, c->spatial + 1, memory);
  steps[0] = out[c->output_batch];
  for (uint32_t i = 0; i < c->spatial; i++) {
    steps[i + 1] = out[c->output_spatial[i]];
  }
  g->a.columns = memory = interp_fast_offsets(dims, steps, c->spatial + 1, memory);
  for (uint32_t i = 0; i < c->spatial; i++) {
    dims[i] = c->window[i];
    steps[i] = in[c->input_spatial[i]] * c->rhs_dilation[i];
  }
  dims[c->spatial] = c->features;
  steps[c->spatial] = in[c->input_feature];
  int64_t *rows = interp_fast_offsets(dims, steps, c->spatial + 1, memory);
  int64_t base = 0;
  for (uint32_t i = 0; i < c->spatial; i++) {
    int64_t step = weight[c->kernel_spatial[i]];
    steps[i] = c->is_reversed[i] ? -step : step;
    base += c->is_reversed[i] ? (c->window[i] - 1) * step : 0;
  }
  steps[c->spatial] = weight[c->kernel_input];
  g->b.rows = rows;
  g->b.columns = memory = interp_fast_offsets(dims, steps, c->spatial + 1, rows);
  for (uint64_t i = 0; i < g->k; i++) {
    rows[i] += base;
  }
  g->c.columns = memory = interp_fast_offsets(&outputs, &weight[c->kernel_output], 1, memory);
  interp_fast_offsets(&outputs, &out[c->output_feature], 1, memory);
}

/* The input as the product reads it: *padded owned, or NULL when it is the input itself. */
static bool make_padded(struct interp_call *call, const struct convolution *c, const struct padded *p,
                        const struct interp_value *input, struct interp_value **padded) {
  *padded = p->is_input ? NULL : interp_scratch(call, (enum dtype)input->dtype, p->dims, input->rank);
  if (*padded) {
    memset((*padded)->data, 0, (*padded)->size_bytes); /* 0 of every type that has one */
    fill_padded(c, *padded, input);
  }
  return p->is_input || *padded;
}

enum interp_fast interp_fast_convolve(struct interp_call *call, const struct convolution *c, struct interp_value *to) {
  const struct interp_value *input = call->operands[0], *kernel = call->operands[1];
  struct interp_gemm g = {.dtype = interp_fast_product_type(input, kernel, to), .k = c->row};
  bool has_zero = input->dtype != DTYPE_F8E8M0FNU;
  if (g.dtype == DTYPE_NONE || !has_zero || to->count * c->row < INTERP_FAST_LEAST_PRODUCTS
      || (c->feature_groups > 1 && c->batch_groups > 1)) {
    return INTERP_FAST_NOT_MINE;
  }
  struct padded p = pad_dims(c, input);
  g.batches = (uint64_t)(c->feature_groups * c->batch_groups);
  g.n = (uint64_t)kernel->dims[c->kernel_output] / g.batches;
  g.m = to->count / (g.n * g.batches);
  uint64_t offsets = 3 * g.batches + 2 * (g.m + g.n + g.k);
  if (p.count > UINT64_MAX / 64
      || !interp_fast_has_room(call,
                               16 * p.count + 8 * (kernel->count + to->count + offsets) + INTERP_GEMM_SCRATCH_BYTES)) {
    return INTERP_FAST_NOT_MINE;
  }
  int64_t *memory = malloc(offsets * sizeof *memory);
  if (!memory) {
    return INTERP_FAST_NOT_MINE;
  }
  struct interp_value *padded;
  describe(&g, c, p.dims, input->rank, kernel, to, memory);
  enum interp_fast outcome = make_padded(call, c, &p, input, &padded)
                                 ? interp_fast_multiply(call, &g, padded ? padded : input, kernel, to)
                                 : INTERP_FAST_FAILED;
  interp_release(padded);
  free(memory);
  return outcome;
}
