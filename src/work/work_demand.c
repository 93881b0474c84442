/* From structure to demand: how often a stage's body runs, what GEMM a contraction is, and the operations and bytes of a
 * task. Everything that counts or predicts work gets its numbers from here. */
#include "base/checked.h"
#include "work/work_int.h"

struct axis_products {
  uint64_t all; /* extents, WINDOW axes with their partner as hits */
  uint64_t outputs; /* extents that are neither summed away nor windows */
  uint64_t reduced; /* extents of REDUCTION axes */
  bool has_window;
};

static bool axis_is_window_partner(const struct work_axis *axes, uint32_t count, uint32_t axis) {
  for (uint32_t i = 0; i < count; i++) {
    if (axes[i].role == WORK_AXIS_WINDOW && axes[i].partner == axis) {
      return true;
    }
  }
  return false;
}

static struct axis_products stage_products(const struct work_graph *graph, const struct work_stage *stage) {
  const struct work_axis *axes = graph->axes.data + stage->axis_first;
  struct axis_products products = {1, 1, 1, false};
  for (uint32_t i = 0; i < stage->axis_count; i++) {
    products.has_window |= axes[i].role == WORK_AXIS_WINDOW;
  }
  for (uint32_t i = 0; i < stage->axis_count; i++) {
    uint64_t extent = axes[i].extent > 0 ? (uint64_t)axes[i].extent : 0;
    if (axes[i].role == WORK_AXIS_WINDOW) {
      products.all = sat_mul_u64(products.all, axes[i].hits);
      continue;
    }
    if (axes[i].role == WORK_AXIS_REDUCTION) {
      products.reduced = sat_mul_u64(products.reduced, extent);
    } else {
      products.outputs = sat_mul_u64(products.outputs, extent);
    }
    if (!products.has_window || !axis_is_window_partner(axes, stage->axis_count, i)) {
      products.all = sat_mul_u64(products.all, extent);
    }
  }
  return products;
}

uint64_t work_stage_applications(const struct work_graph *graph, const struct work_stage *stage) {
  if (stage->applications != 0) {
    return stage->applications;
  }
  struct axis_products products = stage_products(graph, stage);
  switch (stage->kind) {
  case WORK_REDUCE:
  case WORK_REDUCE_WINDOW:
    /* n values are combined by n - 1 applications */
    return products.all > products.outputs ? products.all - products.outputs : 0;
  case WORK_SELECT_AND_SCATTER:
    /* the selecting stage compares within windows; the scattering stage has no window and runs once per source element */
    if (products.has_window) {
      return products.all > products.outputs ? products.all - products.outputs : 0;
    }
    return products.all;
  case WORK_SORT:
    return sat_mul_u64(products.all, ceil_log2_u64(products.reduced));
  default:
    return products.all;
  }
}

bool work_stage_gemm(const struct work_graph *graph, const struct work_stage *stage, struct work_gemm *gemm) {
  if (stage->kind != WORK_MATMUL && stage->kind != WORK_CONVOLUTION) {
    return false;
  }
  *gemm = (struct work_gemm){1, 1, 1, 1};
  const struct work_axis *axes = graph->axes.data + stage->axis_first;
  for (uint32_t i = 0; i < stage->axis_count; i++) {
    uint64_t *side = &gemm->m;
    switch (axes[i].role) {
    case WORK_AXIS_BATCH:
      side = &gemm->batch;
      break;
    case WORK_AXIS_COLUMN:
      side = &gemm->n;
      break;
    case WORK_AXIS_REDUCTION:
    case WORK_AXIS_WINDOW:
      side = &gemm->k;
      break;
    default:
      break;
    }
    *side = sat_mul_u64(*side, axes[i].extent > 0 ? (uint64_t)axes[i].extent : 0);
  }
  return true;
}

static bool demand_add(struct work_graph *graph, uint32_t first, struct work_demand_entry entry) {
  for (size_t i = first; i < graph->demands.count; i++) {
    struct work_demand_entry *old = &graph->demands.data[i];
    if (old->engine == entry.engine && old->dtype == entry.dtype && old->function == entry.function
        && old->precision == entry.precision) {
      old->ops = sat_add_u64(old->ops, entry.ops);
      return true;
    }
  }
  return vec_push(&graph->demands, entry);
}

bool work_demand_of(struct work_graph *graph, uint32_t index) {
  struct work_task *task = &graph->tasks.data[index];
  task->demand_first = (uint32_t)graph->demands.count;
  task->demand_count = 0;
  task->read_bytes = task->write_bytes = 0;
  if (work_task_is_control(task) || work_kind_info((enum work_kind)task->kind)->is_free) {
    return true;
  }
  for (uint32_t i = 0; i < task->access_count; i++) {
    const struct work_access *access = &graph->accesses.data[task->access_first + i];
    uint64_t *side = i < task->read_count ? &task->read_bytes : &task->write_bytes;
    *side = sat_add_u64(*side, work_access_bytes(graph, access));
  }
  if ((task->flags & WORK_TASK_OPAQUE) != 0) {
    return true;
  }
  for (uint32_t i = 0; i < task->stage_count; i++) {
    const struct work_stage *stage = &graph->stages.data[task->stage_first + i];
    if (stage->op_count == 0) {
      continue;
    }
    uint64_t applications = work_stage_applications(graph, stage);
    for (uint32_t k = 0; k < stage->op_count; k++) {
      const struct work_op *op = &graph->ops.data[stage->op_first + k];
      struct work_demand_entry entry = {
          .engine = op->engine,
          .dtype = op->dtype,
          .function = op->function,
          .precision = op->engine == WORK_ENGINE_MATRIX ? stage->precision : (uint8_t)WORK_PRECISION_DEFAULT,
          .ops = sat_mul_u64(applications, op->count),
      };
      if (!demand_add(graph, task->demand_first, entry)) {
        graph->out_of_memory = true;
        return false;
      }
    }
  }
  task->demand_count = (uint32_t)graph->demands.count - task->demand_first;
  return true;
}
