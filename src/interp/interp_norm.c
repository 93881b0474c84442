/* Batch normalization: inference, training and gradient, in double precision, rounded once.
 * Source: the StableHLO specification, sections batch_norm_*; names as there. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/minifloat.h"
#include "interp/interp_int.h"

/* Elements of the operand by feature: element i has feature i / inner % features. */
struct features {
  uint64_t features, inner, total;
  double per_feature; /* elements of one feature */
  double epsilon;
};

static bool read_features(struct interp_call *call, struct features *f) {
  const struct interp_value *x = call->operands[0];
  int64_t axis = interp_attr_int(call, "feature_index", 0);
  struct ir_attr epsilon = ir_op_attr(call->module, call->op, "epsilon");
  if (axis < 0 || axis >= x->rank || !epsilon.id) {
    return interp_wrong(call, "feature_index %" PRId64 " of rank %u", axis, x->rank);
  }
  const struct ir_attr_data *data = ir_attr_get(call->module, epsilon);
  *f = (struct features){.features = (uint64_t)x->dims[axis], .inner = 1, .total = x->count};
  f->epsilon = minifloat_decode((enum dtype)ir_type_get(call->module, data->type)->dtype, (uint64_t)data->integer);
  for (uint32_t d = (uint32_t)axis + 1; d < x->rank; d++) {
    f->inner *= (uint64_t)x->dims[d];
  }
  f->per_feature = f->features ? (double)(f->total / f->features) : 0;
  bool fits = true;
  for (uint32_t i = 1; i < call->operand_count; i++) {
    fits &= call->operands[i]->count == f->features || call->operands[i]->count == f->total;
  }
  return fits || interp_wrong(call, "its operands do not have one element per feature");
}

static uint64_t feature_of(const struct features *f, uint64_t i) {
  return i / f->inner % f->features;
}

static double *read_all(const struct interp_value *v) {
  double *out = malloc((v->count + 1) * sizeof *out);
  if (out) {
    interp_read_real(v, 0, v->count, out);
  }
  return out;
}

/* Operands as doubles; false (all freed) when memory is exhausted. */
static bool read_operands(struct interp_call *call, double **out) {
  bool ok = true;
  for (uint32_t i = 0; i < call->operand_count; i++) {
    out[i] = ok ? read_all(call->operands[i]) : NULL;
    ok &= out[i] != NULL;
  }
  for (uint32_t i = 0; !ok && i < call->operand_count; i++) {
    free(out[i]);
  }
  return ok || interp_out_of_memory(call);
}

static bool write_result(struct interp_call *call, uint32_t i, const struct interp_value *like, const double *numbers) {
  struct interp_value *to = interp_result(call, i, like->dims, like->rank);
  if (to) {
    interp_write_real(to, 0, to->count, numbers);
  }
  return to != NULL;
}

/* x = (x - mean) / sqrt(variance + epsilon) * scale + offset, in place. */
static void normalize(const struct features *f, double *x, const double *scale, const double *offset,
                      const double *mean, const double *variance) {
  for (uint64_t i = 0; i < f->total; i++) {
    uint64_t c = feature_of(f, i);
    x[i] = (x[i] - mean[c]) / sqrt(variance[c] + f->epsilon) * scale[c] + offset[c];
  }
}

/* sums[c] = sum over the elements of feature c of a * b (b NULL: of a). */
static void sum_features(const struct features *f, const double *a, const double *b, double *sums) {
  memset(sums, 0, f->features * sizeof *sums);
  for (uint64_t i = 0; i < f->total; i++) {
    sums[feature_of(f, i)] += b ? a[i] * b[i] : a[i];
  }
}

bool interp_op_batch_norm_inference(struct interp_call *call) {
  struct features f;
  double *in[5];
  if (!read_features(call, &f) || !read_operands(call, in)) {
    return false;
  }
  normalize(&f, in[0], in[1], in[2], in[3], in[4]);
  bool ok = write_result(call, 0, call->operands[0], in[0]);
  for (int i = 0; i < 5; i++) {
    free(in[i]);
  }
  return ok;
}

bool interp_op_batch_norm_training(struct interp_call *call) {
  struct features f;
  double *in[3];
  if (!read_features(call, &f) || !read_operands(call, in)) {
    return false;
  }
  double *mean = calloc(2 * f.features + 1, sizeof *mean), *variance = mean ? mean + f.features : NULL;
  bool ok = mean ? true : interp_out_of_memory(call);
  if (ok) {
    sum_features(&f, in[0], NULL, mean);
    for (uint64_t c = 0; c < f.features; c++) {
      mean[c] /= f.per_feature;
    }
    for (uint64_t i = 0; i < f.total; i++) {
      double centered = in[0][i] - mean[feature_of(&f, i)];
      variance[feature_of(&f, i)] += centered * centered / f.per_feature;
    }
    normalize(&f, in[0], in[1], in[2], mean, variance);
    ok = write_result(call, 0, call->operands[0], in[0]) && write_result(call, 1, call->operands[1], mean)
         && write_result(call, 2, call->operands[1], variance);
  }
  free(mean);
  for (int i = 0; i < 3; i++) {
    free(in[i]);
  }
  return ok;
}

/* Operands: operand, scale, mean, variance, grad_output. */
bool interp_op_batch_norm_grad(struct interp_call *call) {
  struct features f;
  double *in[5];
  if (!read_features(call, &f) || !read_operands(call, in)) {
    return false;
  }
  double *sum = calloc(2 * f.features + 1, sizeof *sum), *weighted = sum ? sum + f.features : NULL;
  const double *scale = in[1], *mean = in[2], *variance = in[3], *grad = in[4];
  bool ok = sum ? true : interp_out_of_memory(call);
  if (ok) {
    for (uint64_t i = 0; i < f.total; i++) {
      in[0][i] -= mean[feature_of(&f, i)];
    }
    sum_features(&f, grad, NULL, sum);
    sum_features(&f, grad, in[0], weighted);
    for (uint64_t i = 0; i < f.total; i++) {
      uint64_t c = feature_of(&f, i);
      double spread = variance[c] + f.epsilon;
      double inner = grad[i] * f.per_feature - sum[c] - weighted[c] * in[0][i] / spread;
      in[0][i] = scale[c] / sqrt(spread) / f.per_feature * inner;
    }
    for (uint64_t c = 0; c < f.features; c++) {
      weighted[c] /= sqrt(variance[c] + f.epsilon);
    }
    ok = write_result(call, 0, call->operands[0], in[0]) && write_result(call, 1, call->operands[1], weighted)
         && write_result(call, 2, call->operands[1], sum);
  }
  free(sum);
  for (int i = 0; i < 5; i++) {
    free(in[i]);
  }
  return ok;
}
