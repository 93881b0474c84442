/* Tasks whose kernels were measured: matrix products on chips (or families) with fitted constants are timed by the kernel
 * model that was fitted, with the traffic of the task as the work graph knows it. Everything else keeps the data-sheet
 * rules. Path: task of the work graph → kernel_shape → kernel/ → the resources of the task. */
#include <math.h>

#include "cost/roofline.h"

/* Which measured format stands for products computed in a type. */
static const struct format_row {
  uint8_t computed_in; /* enum dtype */
  uint8_t format; /* enum kernel_format */
} format_rows[] = {
    {DTYPE_F32, KERNEL_FORMAT_F32},        {DTYPE_TF32, KERNEL_FORMAT_TF32},    {DTYPE_F16, KERNEL_FORMAT_F16},
    {DTYPE_BF16, KERNEL_FORMAT_BF16},      {DTYPE_F8E4M3FN, KERNEL_FORMAT_FP8}, {DTYPE_I8, KERNEL_FORMAT_I8},
    {DTYPE_F4E2M1FN, KERNEL_FORMAT_NVFP4},
};
/* Constants that are the host's part of a measurement; a compiled program has its kernels queued. */
static const char *const host_constants[] = {"dispatch_s", "bias_dispatch_s"};

static const struct kernel_constants *fitted_constants(const struct roofline_chip *rc, enum dtype computed_in) {
  for (size_t i = 0; i < sizeof format_rows / sizeof format_rows[0]; i++) {
    if (format_rows[i].computed_in == computed_in && rc->gemm[format_rows[i].format].fit != NULL) {
      return &rc->gemm[format_rows[i].format];
    }
  }
  return NULL;
}

void roofline_fits_init(struct roofline_chip *rc) {
  const struct kernel_constants none = {0};
  const struct kernel_shape any = {
      .class_of = KERNEL_ELEMENTWISE, .format = KERNEL_FORMAT_F32, .pass = {1, 1, 1, 1, 0, 0}};
  kernel_interval_of(&none, &any, 0, &rc->unfitted);
  /* where no model applies there is no fit either */
  (void)kernel_constants_of(rc->hw, KERNEL_ELEMENTWISE, KERNEL_FORMAT_F32, &rc->pass[0]);
  (void)kernel_constants_of(rc->hw, KERNEL_ELEMENTWISE, KERNEL_FORMAT_F16, &rc->pass[1]);
  roofline_attention_init(rc);
  for (size_t i = 0; i < sizeof format_rows / sizeof format_rows[0]; i++) {
    enum kernel_format format = (enum kernel_format)format_rows[i].format;
    (void)kernel_constants_of(rc->hw, KERNEL_GEMM, format, &rc->gemm[format]);
    rc->has_fits = rc->has_fits || rc->gemm[format].fit != NULL;
    for (size_t k = 0; rc->gemm[format].fit != NULL && k < sizeof host_constants / sizeof host_constants[0]; k++) {
      int index = kernel_constant_find(rc->gemm[format].model, host_constants[k]);
      if (index >= 0) {
        rc->gemm[format].values[index] = rc->gemm[format].model->constants[index].lower;
      }
    }
  }
}

/* The only product of the task; NULL when there are several or none. */
static const struct work_stage *single_product(const struct work_graph *graph, const struct work_task *task) {
  const struct work_stage *found = NULL;
  for (uint32_t i = 0; i < task->stage_count; i++) {
    const struct work_stage *stage = &graph->stages.data[task->stage_first + i];
    for (uint32_t k = 0; k < stage->op_count; k++) {
      if (graph->ops.data[stage->op_first + k].engine == WORK_ENGINE_MATRIX) {
        if (found != NULL) {
          return NULL;
        }
        found = stage;
        break;
      }
    }
  }
  return found;
}

/* The traffic that the border of the task causes, said in the terms of the kernel: its own operands, what of them is on
 * chip, and what fused neighbours move. A convolution's GEMM counts every input once per tap; its border does not. */
static void set_traffic(struct kernel_shape *shape, double off_chip_bytes, double all_bytes) {
  double own_bytes = kernel_bytes(shape);
  shape->extra_bytes = fmax(0, all_bytes - own_bytes);
  shape->cached_bytes = fmax(0, own_bytes + shape->extra_bytes - off_chip_bytes);
}

bool roofline_fitted_shape(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                           const struct roofline_traffic *traffic, struct roofline_fitted *out) {
  const struct work_stage *stage = rc->has_fits ? single_product(graph, task) : NULL;
  struct work_gemm gemm;
  if (stage == NULL || !work_stage_gemm(graph, stage, &gemm)) {
    return false;
  }
  roofline_stage_product(rc, graph, stage, &out->product);
  out->constants = fitted_constants(rc, out->product.runs_as);
  if (out->constants == NULL || gemm.m == 0 || gemm.n == 0 || gemm.k == 0 || gemm.batch == 0) {
    return false;
  }
  out->is_convolution = stage->kind == WORK_CONVOLUTION;
  out->shape = (struct kernel_shape){
      .class_of = KERNEL_GEMM,
      .format = (enum kernel_format)(out->constants - rc->gemm),
      .gemm = {(double)gemm.batch * out->product.passes, (double)gemm.m, (double)gemm.n, (double)gemm.k},
  };
  out->is_implicit = false;
  out->alternate = NULL;
  if (out->is_convolution) {
    (void)roofline_convolution_shape(rc, graph, stage, out);
  }
  double share = out->product.flop_count / kernel_flops(&out->shape);
  if (!out->is_implicit && share < 1) { /* taps on padding and on the zeros of dilation are skipped */
    out->shape.gemm.k = fmax(1, out->shape.gemm.k * share);
  }
  set_traffic(&out->shape, traffic->off_chip_bytes, traffic->cache_bytes);
  return true;
}

/* Widens an interval in the logarithm. */
static struct kernel_interval widened(struct kernel_interval interval, double factor) {
  interval.low = pow(interval.low, factor);
  interval.high = pow(interval.high, factor);
  return interval;
}

/* What the interval rests on. Measured rows are single products: batches of them run other kernels of the same library,
 * and convolutions other ones altogether, which borrow the constants and not the confidence. */
static void set_evidence(const struct roofline_chip *rc, const struct roofline_fitted *fitted,
                         struct roofline_task *out) {
  const double batched_widening = 1.5;
  kernel_interval_of(fitted->constants, &fitted->shape, out->result.time_s, &out->interval);
  bool is_batched = fitted->shape.gemm.batch > fitted->product.passes;
  if (fitted->is_convolution) {
    out->interval.low = fmin(out->interval.low, rc->unfitted.low);
    out->interval.high = fmax(out->interval.high, rc->unfitted.high);
    return;
  }
  if (is_batched) {
    out->interval = widened(out->interval, batched_widening);
  }
  out->is_inherited = is_batched || fitted->constants->is_inherited;
  out->is_fitted = !out->is_inherited;
}

void roofline_fitted_kernel(const struct roofline_chip *rc, const struct roofline_fitted *fitted,
                            struct kernel_time *out) {
  if (fitted->is_implicit) {
    roofline_convolution_kernel(rc, fitted, out);
  } else {
    fitted->constants->model->time(rc->hw, &fitted->shape, fitted->constants->values, out);
  }
}

bool roofline_fitted_task(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                          const struct roofline_traffic *traffic, struct roofline_task *out) {
  struct roofline_fitted fitted;
  if (!roofline_fitted_shape(rc, graph, task, traffic, &fitted)) {
    return false;
  }
  struct kernel_time time;
  roofline_fitted_kernel(rc, &fitted, &time);
  double *resource_s = out->result.resource_s;
  resource_s[WORK_BOUND_MATRIX] = time.matrix_s;
  resource_s[WORK_BOUND_VECTOR] += time.vector_s;
  resource_s[WORK_BOUND_MEMORY] = time.memory_s;
  resource_s[WORK_BOUND_CACHE] = time.cache_s;
  resource_s[WORK_BOUND_LAUNCH] = time.launch_s;
  double other_s =
      fmax(resource_s[WORK_BOUND_VECTOR], fmax(resource_s[WORK_BOUND_FUNCTION], resource_s[WORK_BOUND_INTEGER]));
  out->result.time_s = fmax(time.time_s, other_s + time.launch_s);
  double peak = rc->hw->matrix_flops[fitted.product.runs_as];
  if (peak > 0) { /* constants may absorb a boost clock; a program is not predicted faster than the published peak */
    out->result.time_s = fmax(out->result.time_s, fitted.product.flop_count / peak);
  }
  out->off_chip_bytes = time.off_chip_bytes;
  out->matrix_flops = fitted.product.flop_count;
  out->matrix_dtype = (uint8_t)fitted.product.runs_as;
  out->matrix_wanted = (uint8_t)fitted.product.wanted;
  out->matrix_precision = fitted.product.precision;
  out->is_timed_by_model = true;
  set_evidence(rc, &fitted, out);
  return true;
}

/* Element-wise kernels by the width of what they compute: two sizes were measured. */
static const struct kernel_constants *pass_constants(const struct roofline_chip *rc, const struct work_graph *graph,
                                                     const struct work_task *task) {
  if (task->stage_count == 0) {
    return NULL;
  }
  const struct work_stage *stage = &graph->stages.data[task->stage_first + task->stage_count - 1];
  unsigned bits = dtype_storage_bits((enum dtype)stage->dtype);
  const struct kernel_constants *constants = bits == 32 ? &rc->pass[0] : bits == 16 ? &rc->pass[1] : NULL;
  return constants != NULL && constants->fit != NULL ? constants : NULL;
}

bool roofline_fitted_pass(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                          const struct roofline_traffic *traffic, struct roofline_task *out) {
  const struct kernel_constants *constants = task->kind == WORK_ELEMENTWISE ? pass_constants(rc, graph, task) : NULL;
  if (constants == NULL || !(traffic->cache_bytes > 0)) {
    return false;
  }
  const struct kernel_format_info *format =
      kernel_format_info(constants == &rc->pass[0] ? KERNEL_FORMAT_F32 : KERNEL_FORMAT_F16);
  struct kernel_shape shape = {
      .class_of = KERNEL_ELEMENTWISE,
      .format = constants == &rc->pass[0] ? KERNEL_FORMAT_F32 : KERNEL_FORMAT_F16,
      .cached_bytes = fmax(0, traffic->cache_bytes - traffic->off_chip_bytes),
      .pass = {.rows = 1,
               .columns = fmax(1, traffic->cache_bytes / format->a_bytes),
               .reads = 1,
               .function = HW_FUNCTION_COUNT},
  };
  struct kernel_time time;
  constants->model->time(rc->hw, &shape, constants->values, &time);
  double *resource_s = out->result.resource_s;
  resource_s[WORK_BOUND_MEMORY] = time.memory_s;
  resource_s[WORK_BOUND_CACHE] = time.cache_s;
  resource_s[WORK_BOUND_LAUNCH] = time.launch_s;
  double other_s =
      fmax(resource_s[WORK_BOUND_VECTOR], fmax(resource_s[WORK_BOUND_FUNCTION], resource_s[WORK_BOUND_INTEGER]));
  out->result.time_s = fmax(time.time_s, other_s + time.launch_s);
  out->is_timed_by_model = true;
  out->pass = constants;
  out->is_inherited = constants->is_inherited;
  out->is_fitted = !out->is_inherited;
  kernel_interval_of(constants, &shape, out->result.time_s, &out->interval);
  return true;
}
