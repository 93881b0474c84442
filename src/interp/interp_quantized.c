/* Quantized tensors: their expressed values and back, and operations defined by them. Path: interp_evaluate → here for
 * operations that are applied to expressed values; the rows of uniform_quantize and uniform_dequantize. */
#include <math.h>
#include <stdlib.h>

#include "base/minifloat.h"
#include "interp/interp_elementwise.h"

/* A quantized type with what its elements need; per axis: element i has the scale number i / stride % count. */
struct quantization {
  const struct ir_quant *type;
  uint64_t stride;
};

/* False after a message when the shape does not fit, or the type has more than one axis. */
static bool find_quantization(const struct interp_call *call, const struct interp_value *v, uint32_t quant,
                              struct quantization *q) {
  const struct ir_quant *type = &call->module->quants.data[quant - 1];
  *q = (struct quantization){.type = type, .stride = v->count > 0 ? v->count : 1};
  if (type->count == 0 || dtype_class_of((enum dtype)type->expressed) != DTYPE_CLASS_FLOAT) {
    return interp_unsupported(call, "the quantization '%s'", ir_text(call->module, type->text));
  }
  if (type->axis < 0) {
    return type->count == 1 || interp_unsupported(call, "the quantization '%s'", ir_text(call->module, type->text));
  }
  if (type->axis >= v->rank || v->dims[type->axis] != (int64_t)type->count) {
    return interp_wrong(call, "%u scales do not fit the shape of the tensor", type->count);
  }
  q->stride = 1;
  for (uint32_t d = (uint32_t)type->axis + 1; d < v->rank; d++) {
    q->stride *= (uint64_t)v->dims[d];
  }
  q->stride += q->stride == 0;
  return true;
}

static uint64_t scale_index(const struct quantization *q, uint64_t i) {
  return i / q->stride % q->type->count;
}

/* To the expressed type: each step of the definitions is an operation of it. */
static double expressed(const struct quantization *q, double x) {
  enum dtype dtype = (enum dtype)q->type->expressed;
  return dtype == DTYPE_F64   ? x
         : dtype == DTYPE_F32 ? (double)(float)x
                              : minifloat_decode(dtype, minifloat_encode(dtype, x));
}

/* (storage - zero point) * scale (spec, dequantize) */
struct interp_value *interp_dequantize(struct interp_call *call, const struct interp_value *value) {
  struct quantization q;
  if (!value->quant || !interp_is_integral(value)) {
    interp_unsupported(call, "it needs a quantized tensor");
    return NULL;
  }
  if (!find_quantization(call, value, value->quant, &q) || !interp_spend(call, value->count)) {
    return NULL;
  }
  struct interp_value *out = interp_scratch(call, (enum dtype)q.type->expressed, value->dims, value->rank);
  double x[INTERP_CHUNK];
  int64_t storage[INTERP_CHUNK];
  for (uint64_t first = 0; out && first < out->count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(out, first);
    interp_read_int(value, first, n, storage);
    for (uint64_t i = 0; i < n; i++) {
      uint64_t k = scale_index(&q, first + i);
      double steps = expressed(&q, (double)storage[i] - (double)q.type->zero_points[k]);
      x[i] = steps * expressed(&q, q.type->scales[k]);
    }
    interp_write_real(out, first, n, x);
  }
  return out;
}

/* round_nearest_even(clamp(x / scale + zero point)) in the expressed type, and to the storage type, where NaN is 0: the order
 * of steps in which the reference evaluates quantize. */
static int64_t to_storage(const struct quantization *q, uint64_t k, double x) {
  const struct ir_quant *type = q->type;
  double steps = expressed(q, expressed(q, x / expressed(q, type->scales[k])) + (double)type->zero_points[k]);
  if (isnan(steps)) {
    return 0;
  }
  return steps <= (double)type->storage_min   ? type->storage_min
         : steps >= (double)type->storage_max ? type->storage_max
                                              : (int64_t)rint(steps);
}

struct interp_value *interp_quantize(struct interp_call *call, const struct interp_value *value, uint32_t quant) {
  struct quantization q;
  if (value->kind != INTERP_TENSOR || interp_is_integral(value) || interp_is_complex(value)) {
    interp_unsupported(call, "it needs a tensor of floats");
    return NULL;
  }
  if (!find_quantization(call, value, quant, &q) || !interp_spend(call, value->count)) {
    return NULL;
  }
  struct interp_value *out = interp_scratch(call, (enum dtype)q.type->storage, value->dims, value->rank);
  double x[INTERP_CHUNK];
  int64_t storage[INTERP_CHUNK];
  for (uint64_t first = 0; out && first < out->count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(out, first);
    interp_read_real(value, first, n, x);
    for (uint64_t i = 0; i < n; i++) {
      storage[i] = to_storage(&q, scale_index(&q, first + i), x[i]);
    }
    interp_write_int(out, first, n, storage);
  }
  if (out) {
    out->quant = quant;
  }
  return out;
}

/* ---- operations -------------------------------------------------------------------------------------------------------- */

/* The quantization of a result's type plus 1; 0 = none. */
static uint32_t result_quant(const struct interp_call *call, uint32_t i) {
  struct ir_type type = ir_value_type(call->module, ir_op_result(call->module, call->op, i));
  struct ir_type element = ir_type_get(call->module, type)->element;
  const struct ir_type_data *data = element.id ? ir_type_get(call->module, element) : NULL;
  return data && data->kind == IR_TYPE_QUANTIZED ? data->quant + 1 : 0;
}

static bool quantize_results(struct interp_call *call, struct interp_value **results) {
  for (uint32_t i = 0; i < call->result_count; i++) {
    uint32_t quant = result_quant(call, i);
    if (quant) {
      call->results[i] = interp_quantize(call, results[i], quant);
    } else {
      interp_result_is(call, i, results[i]);
    }
    if (!call->results[i]) {
      return false;
    }
  }
  return true;
}

bool interp_evaluate_quantized(struct interp_call *call, interp_op_function *evaluate) {
  size_t count = (size_t)call->operand_count + call->result_count;
  struct interp_value **values = calloc(count + 1, sizeof *values);
  if (!values) {
    return interp_out_of_memory(call);
  }
  struct interp_call inner = *call;
  inner.operands = values;
  inner.results = values + call->operand_count;
  inner.is_expressed = true;
  bool ok = true;
  for (uint32_t i = 0; ok && i < call->operand_count; i++) {
    struct interp_value *v = call->operands[i];
    if (v->kind == INTERP_TENSOR && v->quant) {
      values[i] = interp_dequantize(call, v);
      ok = values[i] != NULL;
    } else {
      interp_retain(v);
      values[i] = v;
    }
  }
  ok = ok && evaluate(&inner) && quantize_results(call, inner.results);
  for (size_t i = 0; i < count; i++) {
    interp_release(values[i]);
  }
  free(values);
  return ok;
}

/* From floats, or from another quantization by way of the expressed values (spec, uniform_quantize). */
bool interp_op_uniform_quantize(struct interp_call *call) {
  struct interp_value *v = call->operands[0], *floats = v;
  uint32_t quant = result_quant(call, 0);
  if (!interp_common_shape(call, 0)) {
    return false;
  }
  if (!quant) {
    return interp_unsupported(call, "its result is not quantized");
  }
  if (v->quant) {
    floats = interp_dequantize(call, v);
  } else {
    interp_retain(v);
  }
  call->results[0] = floats ? interp_quantize(call, floats, quant) : NULL;
  interp_release(floats);
  return call->results[0] != NULL;
}

bool interp_op_uniform_dequantize(struct interp_call *call) {
  if (!interp_common_shape(call, 0)) {
    return false;
  }
  call->results[0] = interp_dequantize(call, call->operands[0]);
  return call->results[0] != NULL;
}
