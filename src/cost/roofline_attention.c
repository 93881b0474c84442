/* Attention that came as one kernel (WORK_ATTENTION): timed by the fitted attention model where the chip or its family has
 * one. Path: stages of the task (lower/lower_ops_custom.c writes them) → kernel_shape → kernel/kernel_attention.c → the
 * resources of the task. The data-sheet rule of roofline.c holds everywhere else. */
#include <math.h>

#include "cost/roofline.h"

/* A backward pass makes five products of the forward's size, which makes two (the scores again, and the gradients of
 * values, weights, queries and keys). Its kernels reach less of the peak: 63 % where forward reaches 73 % (Dao,
 * "FlashAttention-2", 2023, abstract and section 4.1, A100). */
static const double backward_products = 5.0 / 2;
static const double backward_efficiency = 0.63 / 0.73;
/* Its rows were not measured: the interval widens by this power. */
static const double backward_widening = 1.5;

static const struct {
  uint8_t dtype, format; /* enum dtype of the products, enum kernel_format */
} formats[ROOFLINE_ATTENTION_FORMATS] = {{DTYPE_BF16, KERNEL_FORMAT_BF16}, {DTYPE_F16, KERNEL_FORMAT_F16}};

void roofline_attention_init(struct roofline_chip *rc) {
  for (unsigned f = 0; f < ROOFLINE_ATTENTION_FORMATS; f++) {
    enum kernel_format format = (enum kernel_format)formats[f].format;
    (void)kernel_constants_of(rc->hw, KERNEL_ATTENTION_PREFILL, format, &rc->prefill[f]);
    (void)kernel_constants_of(rc->hw, KERNEL_ATTENTION_DECODE, format, &rc->decode[f]);
  }
}

/* The product that makes the scores: axes sequences, key heads, query heads per key head, queries, keys, depth. */
static const struct work_stage *scores_of(const struct work_graph *graph, const struct work_task *task) {
  enum { AXES = 6 };
  static const uint8_t roles[AXES] = {WORK_AXIS_BATCH, WORK_AXIS_BATCH,  WORK_AXIS_BATCH,
                                      WORK_AXIS_ROW,   WORK_AXIS_COLUMN, WORK_AXIS_REDUCTION};
  const struct work_stage *stage = task->stage_count > 0 ? &graph->stages.data[task->stage_first] : NULL;
  if (stage == NULL || stage->kind != WORK_ATTENTION || stage->axis_count != AXES || stage->op_count != 1
      || graph->ops.data[stage->op_first].engine != WORK_ENGINE_MATRIX) {
    return NULL;
  }
  for (uint32_t i = 0; i < AXES; i++) {
    const struct work_axis *axis = &graph->axes.data[stage->axis_first + i];
    if (axis->role != roles[i] || axis->extent < 1) {
      return NULL;
    }
  }
  return stage;
}

/* What the mask leaves, in the terms of the model: all, a causal triangle, a triangle cut by a window, or so many keys on
 * average (parts of sequences, spread over devices). */
static void set_mask(struct kernel_attention *a, double pairs) {
  double n = a->queries, k = a->context, past = k - n;
  const double close = 1e-9;
  if (pairs >= n * k * (1 - close)) {
    return;
  }
  a->is_causal = fabs(pairs - (n * past + n * (n + 1) / 2)) <= close * n * k;
  if (!a->is_causal && n == k) {
    a->is_causal = true; /* pairs = w (w + 1) / 2 + (n - w) w */
    a->window = fmax(1, (2 * n + 1 - sqrt(fmax(0, (2 * n + 1) * (2 * n + 1) - 8 * pairs))) / 2);
  } else if (!a->is_causal) {
    a->context = fmax(n, pairs / n);
  }
}

static const struct kernel_constants *constants_of(const struct roofline_chip *rc, enum dtype dtype, bool is_decode) {
  for (unsigned f = 0; f < ROOFLINE_ATTENTION_FORMATS; f++) {
    const struct kernel_constants *constants = is_decode ? &rc->decode[f] : &rc->prefill[f];
    if (formats[f].dtype == dtype && constants->fit != NULL) {
      return constants;
    }
  }
  return NULL;
}

static double matrix_flops(const struct work_graph *graph, const struct work_task *task) {
  double flops = 0;
  for (uint32_t i = 0; i < task->demand_count; i++) {
    const struct work_demand_entry *entry = &graph->demands.data[task->demand_first + i];
    flops += entry->engine == WORK_ENGINE_MATRIX ? (double)entry->ops : 0;
  }
  return flops;
}

/* Forward as measured: operands from wherever the border has them. */
static bool read_shape(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_stage *scores,
                       struct kernel_shape *shape, const struct kernel_constants **constants) {
  const struct work_axis *axes = graph->axes.data + scores->axis_first;
  const enum dtype dtype = (enum dtype)graph->ops.data[scores->op_first].dtype;
  struct kernel_attention a = {.batch = (double)axes[0].extent,
                               .queries = (double)axes[3].extent,
                               .context = (double)axes[4].extent,
                               .heads = (double)axes[1].extent * (double)axes[2].extent,
                               .kv_heads = (double)axes[1].extent,
                               .head_dim = (double)axes[5].extent};
  *constants = constants_of(rc, (enum dtype)rc->matrix_as[dtype], a.queries <= 1);
  if (*constants == NULL || a.queries > a.context) {
    return false;
  }
  set_mask(&a, (double)work_stage_applications(graph, scores) / (a.batch * a.heads * a.head_dim));
  *shape = (struct kernel_shape){
      .class_of = a.queries <= 1 ? KERNEL_ATTENTION_DECODE : KERNEL_ATTENTION_PREFILL,
      .format = dtype == DTYPE_F16 ? KERNEL_FORMAT_F16 : KERNEL_FORMAT_BF16,
      .attention = a,
  };
  return true;
}

void roofline_narrow_heads(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                           struct roofline_task *out) {
  const struct work_stage *scores = task->kind == WORK_ATTENTION ? scores_of(graph, task) : NULL;
  if (scores == NULL || !(rc->array_columns > 1)) {
    return;
  }
  const double depth = (double)graph->axes.data[scores->axis_first + scores->axis_count - 1].extent;
  const enum dtype dtype = rc->matrix_as[graph->ops.data[scores->op_first].dtype];
  const double rate = rc->hw->matrix_flops[dtype] * fmin(1, depth / rc->array_columns);
  double *matrix_s = &out->result.resource_s[WORK_BOUND_MATRIX];
  *matrix_s = rate > 0 ? fmax(*matrix_s, matrix_flops(graph, task) / rate) : *matrix_s;
}

bool roofline_fitted_attention(const struct roofline_chip *rc, const struct work_graph *graph,
                               const struct work_task *task, const struct roofline_traffic *traffic,
                               struct roofline_task *out) {
  const struct work_stage *scores = task->kind == WORK_ATTENTION ? scores_of(graph, task) : NULL;
  const struct kernel_constants *constants;
  struct kernel_shape shape;
  if (scores == NULL || !read_shape(rc, graph, scores, &shape, &constants)) {
    return false;
  }
  const struct work_op *op = &graph->ops.data[scores->op_first];
  const bool is_backward = op->count > 2; /* more than one product of this shape */
  const double factor = is_backward ? backward_products / backward_efficiency : 1;
  const double own_bytes = kernel_bytes(&shape);
  shape.cached_bytes = fmax(0, own_bytes - traffic->off_chip_bytes);
  struct kernel_time time;
  constants->model->time(rc->hw, &shape, constants->values, &time);
  double *resource_s = out->result.resource_s;
  const double inside_s = fmax(0, time.time_s - time.launch_s) * factor;
  resource_s[WORK_BOUND_MATRIX] = time.matrix_s * factor;
  resource_s[WORK_BOUND_VECTOR] = time.vector_s * factor; /* the softmax is in the model */
  resource_s[WORK_BOUND_FUNCTION] = 0;
  resource_s[WORK_BOUND_MEMORY] = fmax(time.memory_s, traffic->time_s);
  resource_s[WORK_BOUND_CACHE] = time.cache_s;
  resource_s[WORK_BOUND_LAUNCH] = time.launch_s;
  out->result.time_s = fmax(inside_s, traffic->time_s) + time.launch_s;
  out->matrix_flops = matrix_flops(graph, task);
  out->matrix_wanted = op->dtype;
  out->matrix_dtype = rc->matrix_as[op->dtype];
  double peak = rc->hw->matrix_flops[out->matrix_dtype];
  out->result.time_s = peak > 0 ? fmax(out->result.time_s, out->matrix_flops / peak) : out->result.time_s;
  out->is_timed_by_model = true;
  out->pass = constants;
  kernel_interval_of(constants, &shape, out->result.time_s, &out->interval);
  if (is_backward) {
    out->interval.low = pow(out->interval.low, backward_widening);
    out->interval.high = pow(out->interval.high, backward_widening);
  }
  out->is_inherited = is_backward || constants->is_inherited;
  out->is_fitted = !out->is_inherited;
  return true;
}
