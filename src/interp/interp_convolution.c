/* convolution and dynamic_conv: for every position of the result, the input under the window as one row of numbers, times
 * the kernel of every output feature.
 * Source: the StableHLO specification, section convolution. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interp/interp_convolution.h"
#include "interp/interp_fast.h"
#include "interp/interp_products.h"
#include "interp/interp_view.h"

/* One number per spatial dimension; the default when the attribute is absent. */
static bool per_spatial(const struct interp_call *call, const char *name, uint32_t spatial, int64_t otherwise,
                        int64_t *out) {
  uint32_t count = interp_attr_ints(call, name, out, INTERP_MAX_RANK);
  for (uint32_t i = 0; count == 0 && i < spatial; i++) {
    out[i] = otherwise;
  }
  return count == 0 || count == spatial;
}

static bool read_numbers(struct interp_call *call, struct convolution *c) {
  struct ir_attr numbers = ir_op_attr(call->module, call->op, "dimension_numbers");
  if (!numbers.id) {
    return interp_wrong(call, "it has no dimension_numbers");
  }
  c->input_batch = interp_field_int(call, numbers, "input_batch_dimension", 0);
  c->input_feature = interp_field_int(call, numbers, "input_feature_dimension", 0);
  c->kernel_input = interp_field_int(call, numbers, "kernel_input_feature_dimension", 0);
  c->kernel_output = interp_field_int(call, numbers, "kernel_output_feature_dimension", 0);
  c->output_batch = interp_field_int(call, numbers, "output_batch_dimension", 0);
  c->output_feature = interp_field_int(call, numbers, "output_feature_dimension", 0);
  uint32_t rank = call->operands[0]->rank;
  c->spatial = interp_field_ints(call, numbers, "input_spatial_dimensions", c->input_spatial);
  bool ok = interp_field_ints(call, numbers, "kernel_spatial_dimensions", c->kernel_spatial) == c->spatial
            && interp_field_ints(call, numbers, "output_spatial_dimensions", c->output_spatial) == c->spatial
            && rank == c->spatial + 2 && call->operands[1]->rank == rank;
  const int64_t dims[6] = {c->input_batch,   c->input_feature, c->kernel_input,
                           c->kernel_output, c->output_batch,  c->output_feature};
  for (uint32_t i = 0; ok && i < 6; i++) {
    ok = dims[i] >= 0 && dims[i] < rank;
  }
  for (uint32_t i = 0; ok && i < c->spatial; i++) {
    ok = c->input_spatial[i] >= 0 && c->input_spatial[i] < rank && c->kernel_spatial[i] >= 0
         && c->kernel_spatial[i] < rank && c->output_spatial[i] >= 0 && c->output_spatial[i] < rank;
  }
  return ok || interp_wrong(call, "its dimension numbers do not fit its operands");
}

/* Everything but the padding. */
static bool read_convolution(struct interp_call *call, struct convolution *c) {
  const struct interp_value *input = call->operands[0], *kernel = call->operands[1];
  *c = (struct convolution){0};
  if (!read_numbers(call, c)) {
    return false;
  }
  c->feature_groups = interp_attr_int(call, "feature_group_count", 1);
  c->batch_groups = interp_attr_int(call, "batch_group_count", 1);
  c->features = kernel->dims[c->kernel_input];
  int64_t outputs = kernel->dims[c->kernel_output];
  bool ok = per_spatial(call, "window_strides", c->spatial, 1, c->stride)
            && per_spatial(call, "lhs_dilation", c->spatial, 1, c->lhs_dilation)
            && per_spatial(call, "rhs_dilation", c->spatial, 1, c->rhs_dilation)
            && per_spatial(call, "window_reversal", c->spatial, 0, c->is_reversed) && c->feature_groups > 0
            && c->batch_groups > 0 && input->dims[c->input_feature] == c->features * c->feature_groups
            && outputs % c->feature_groups == 0 && outputs % c->batch_groups == 0
            && input->dims[c->input_batch] % c->batch_groups == 0;
  c->row = (uint64_t)c->features;
  for (uint32_t i = 0; ok && i < c->spatial; i++) {
    ok = c->stride[i] > 0 && c->lhs_dilation[i] > 0 && c->rhs_dilation[i] > 0;
    c->window[i] = kernel->dims[c->kernel_spatial[i]];
    c->row *= (uint64_t)c->window[i];
  }
  return ok || interp_wrong(call, "its window or groups do not fit its operands");
}

static int64_t dilated(int64_t size, int64_t dilation) {
  return size == 0 ? 0 : (size - 1) * dilation + 1;
}

static void output_dims(const struct convolution *c, const struct interp_value *input,
                        const struct interp_value *kernel, int64_t *dims) {
  dims[c->output_batch] = input->dims[c->input_batch] / c->batch_groups;
  dims[c->output_feature] = kernel->dims[c->kernel_output];
  for (uint32_t i = 0; i < c->spatial; i++) {
    int64_t padded = dilated(input->dims[c->input_spatial[i]], c->lhs_dilation[i]) + c->low[i] + c->high[i];
    int64_t span = dilated(c->window[i], c->rhs_dilation[i]);
    dims[c->output_spatial[i]] = padded < span || padded <= 0 ? 0 : (padded - span) / c->stride[i] + 1;
  }
}

/* The kernel as rows (output feature; window position, input feature). */
static struct interp_value *kernel_rows(struct interp_call *call, const struct convolution *c) {
  const struct interp_value *kernel = call->operands[1];
  struct interp_view all = interp_view_of(kernel), turned = {0};
  int64_t dims[INTERP_MAX_RANK];
  dims[0] = kernel->dims[c->kernel_output];
  turned.strides[0] = all.strides[c->kernel_output];
  for (uint32_t i = 0; i < c->spatial; i++) {
    int64_t stride = all.strides[c->kernel_spatial[i]];
    dims[i + 1] = c->window[i];
    turned.strides[i + 1] = c->is_reversed[i] ? -stride : stride;
    turned.base += c->is_reversed[i] ? (c->window[i] - 1) * stride : 0;
  }
  dims[c->spatial + 1] = c->features;
  turned.strides[c->spatial + 1] = all.strides[c->kernel_input];
  struct interp_value *rows = interp_scratch(call, (enum dtype)kernel->dtype, dims, c->spatial + 2);
  if (rows) {
    struct interp_view whole = interp_view_of(rows);
    interp_view_copy(rows, &whole, kernel, &turned, dims, c->spatial + 2);
  }
  return rows;
}

/* The input with features last. */
static struct interp_value *input_rows(struct interp_call *call, const struct convolution *c) {
  const struct interp_value *input = call->operands[0];
  struct interp_view all = interp_view_of(input), turned = {0};
  int64_t dims[INTERP_MAX_RANK];
  dims[0] = input->dims[c->input_batch];
  turned.strides[0] = all.strides[c->input_batch];
  for (uint32_t i = 0; i < c->spatial; i++) {
    dims[i + 1] = input->dims[c->input_spatial[i]];
    turned.strides[i + 1] = all.strides[c->input_spatial[i]];
  }
  dims[c->spatial + 1] = input->dims[c->input_feature];
  turned.strides[c->spatial + 1] = all.strides[c->input_feature];
  struct interp_value *rows = interp_scratch(call, (enum dtype)input->dtype, dims, c->spatial + 2);
  if (rows) {
    struct interp_view whole = interp_view_of(rows);
    interp_view_copy(rows, &whole, input, &turned, dims, c->spatial + 2);
  }
  return rows;
}

/* The input under the window at one position, features of one group, zeros in padding and holes. */
static void read_patch(const struct convolution *c, enum interp_arithmetic arithmetic, const struct interp_value *input,
                       int64_t batch, const int64_t *position, int64_t group, uint64_t *patch) {
  int64_t offset[INTERP_MAX_RANK] = {0}, strides[INTERP_MAX_RANK];
  unsigned words = interp_words(arithmetic);
  interp_strides(input->dims, input->rank, strides);
  uint64_t next = 0;
  do {
    int64_t at = batch * strides[0] + group * c->features;
    bool is_inside = true;
    for (uint32_t i = 0; i < c->spatial; i++) {
      int64_t x = position[i] * c->stride[i] + offset[i] * c->rhs_dilation[i] - c->low[i];
      is_inside &= x >= 0 && x % c->lhs_dilation[i] == 0 && x / c->lhs_dilation[i] < input->dims[i + 1];
      at += is_inside ? x / c->lhs_dilation[i] * strides[i + 1] : 0;
    }
    if (is_inside) {
      interp_read_numbers(arithmetic, input, (uint64_t)at, (uint64_t)c->features, patch + next);
    } else {
      memset(patch + next, 0, (size_t)c->features * words * sizeof *patch); /* 0 of every arithmetic */
    }
    next += (uint64_t)c->features * words;
  } while (interp_next_index(c->window, c->spatial, offset));
}

/* All output features of one position. Feature o belongs to feature group o / (outputs / groups), and likewise to a group
 * of the batch. */
static void write_position(const struct convolution *c, struct interp_value *to, const struct interp_value *input,
                           const struct interp_value *rows, const uint64_t *kernel, int64_t batch,
                           const int64_t *position, uint64_t *patch) {
  enum interp_arithmetic arithmetic = interp_arithmetic_of(input, rows, to);
  unsigned words = interp_words(arithmetic);
  int64_t strides[INTERP_MAX_RANK], outputs = rows->dims[0], loaded = -1;
  interp_strides(to->dims, to->rank, strides);
  int64_t at = batch * strides[c->output_batch];
  for (uint32_t i = 0; i < c->spatial; i++) {
    at += position[i] * strides[c->output_spatial[i]];
  }
  for (int64_t o = 0; o < outputs; o++) {
    int64_t group = o / (outputs / c->feature_groups), batch_group = o / (outputs / c->batch_groups);
    if (group * c->batch_groups + batch_group != loaded) {
      loaded = group * c->batch_groups + batch_group;
      int64_t from = batch_group * (input->dims[0] / c->batch_groups) + batch;
      read_patch(c, arithmetic, input, from, position, group, patch);
    }
    interp_write_product(arithmetic, to, (uint64_t)(at + o * strides[c->output_feature]), patch,
                         kernel + (uint64_t)o * c->row * words, c->row);
  }
}

static bool convolve_rows(struct interp_call *call, const struct convolution *c, struct interp_value *to,
                          const struct interp_value *input, const struct interp_value *rows) {
  enum interp_arithmetic arithmetic = interp_arithmetic_of(input, rows, to);
  unsigned words = interp_words(arithmetic);
  uint64_t *kernel = malloc((rows->count + c->row + 1) * words * sizeof *kernel);
  if (!kernel) {
    return interp_out_of_memory(call);
  }
  uint64_t *patch = kernel + rows->count * words;
  int64_t positions[INTERP_MAX_RANK], position[INTERP_MAX_RANK] = {0};
  for (uint32_t i = 0; i < c->spatial; i++) {
    positions[i] = to->dims[c->output_spatial[i]];
  }
  interp_read_numbers(arithmetic, rows, 0, rows->count, kernel);
  for (int64_t batch = 0; to->count > 0 && batch < to->dims[c->output_batch]; batch++) {
    do {
      write_position(c, to, input, rows, kernel, batch, position, patch);
    } while (interp_next_index(positions, c->spatial, position));
  }
  free(kernel);
  return true;
}

static bool convolve(struct interp_call *call, struct convolution *c) {
  int64_t dims[INTERP_MAX_RANK];
  uint32_t rank = c->spatial + 2;
  output_dims(c, call->operands[0], call->operands[1], dims);
  uint64_t products = c->row;
  for (uint32_t i = 0; i < rank; i++) {
    products = __builtin_mul_overflow(products, (uint64_t)dims[i], &products) ? UINT64_MAX : products;
  }
  struct interp_value *to = interp_spend(call, products) ? interp_result(call, 0, dims, rank) : NULL;
  enum interp_fast fast = to ? interp_fast_convolve(call, c, to) : INTERP_FAST_FAILED;
  if (fast != INTERP_FAST_NOT_MINE) {
    return fast == INTERP_FAST_DONE;
  }
  struct interp_value *rows = to ? kernel_rows(call, c) : NULL, *input = rows ? input_rows(call, c) : NULL;
  bool ok = input && convolve_rows(call, c, to, input, rows);
  interp_release(rows);
  interp_release(input);
  return ok;
}

/* Pairs (low, high), one per spatial dimension. */
static bool set_padding(struct interp_call *call, struct convolution *c, const int64_t *pairs, uint32_t count) {
  if (count != 0 && count != 2 * c->spatial) {
    return interp_wrong(call, "%u numbers of padding", count);
  }
  for (uint32_t i = 0; i < count / 2; i++) {
    c->low[i] = pairs[2 * i];
    c->high[i] = pairs[2 * i + 1];
  }
  return true;
}

bool interp_op_convolution(struct interp_call *call) {
  struct convolution c;
  int64_t padding[2 * INTERP_MAX_RANK];
  uint32_t count = interp_attr_ints(call, "padding", padding, 2 * INTERP_MAX_RANK);
  return read_convolution(call, &c) && set_padding(call, &c, padding, count) && convolve(call, &c);
}

bool interp_op_dynamic_conv(struct interp_call *call) {
  struct convolution c;
  int64_t padding[2 * INTERP_MAX_RANK];
  const struct interp_value *pairs = call->operands[2];
  if (pairs->count > 2 * INTERP_MAX_RANK) {
    return interp_wrong(call, "%" PRIu64 " numbers of padding", pairs->count);
  }
  interp_read_int(pairs, 0, pairs->count, padding);
  return read_convolution(call, &c) && set_padding(call, &c, padding, (uint32_t)pairs->count) && convolve(call, &c);
}
