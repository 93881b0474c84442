/* Why one task takes its time: the resources, the efficiency factors and the constants behind them, as text. */
#include <inttypes.h>
#include <math.h>

#include "cost/roofline.h"

static void put_resources(const struct roofline_task *estimate, struct strbuf *out) {
  for (unsigned r = 0; r < WORK_BOUND_NONE; r++) {
    double time_s = estimate->result.resource_s[r];
    if (time_s > 0) {
      strbuf_printf(out, "  %-9s %12.3f us%s\n", work_bound_name((enum work_bound)r), time_s * 1e6,
                    r == estimate->result.bound ? "  <- bound" : "");
    }
  }
}

static void put_product_types(const struct roofline_chip *rc, const struct roofline_contraction *product,
                              const struct work_stage *stage, struct strbuf *out) {
  static const char *const at[] = {"", " at HIGH precision", " at HIGHEST precision"};
  bool is_f32 = product->wanted == DTYPE_F32;
  if (is_f32) {
    strbuf_puts(out, at[stage->precision]);
  }
  if (product->runs_as != product->wanted) {
    strbuf_printf(out, " run as %s", dtype_name(product->runs_as));
  }
  double f32_passes = is_f32 ? rc->f32_passes[stage->precision] : 1;
  if (f32_passes > 1) {
    strbuf_printf(out, " in %g passes", f32_passes);
  }
  if (product->gemm.passes > 1) {
    strbuf_printf(out, ", %g products", product->gemm.passes);
  }
}

static void put_gemm(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_stage *stage,
                     const struct roofline_load *load, bool is_alone, struct strbuf *out) {
  struct roofline_contraction product;
  struct work_gemm shape;
  if (!roofline_stage_gemm(rc, graph, stage, load, is_alone, &product)) {
    if (product.wanted != DTYPE_NONE) {
      strbuf_printf(out, "  %s is refused by %s\n", dtype_name(product.wanted), rc->hw->id);
    }
    return;
  }
  const struct roofline_gemm *gemm = &product.gemm;
  if (work_stage_gemm(graph, stage, &shape)) {
    strbuf_printf(out, "  gemm      batch %" PRIu64 " m %" PRIu64 " n %" PRIu64 " k %" PRIu64 ", %s", shape.batch,
                  shape.m, shape.n, shape.k, dtype_name(product.wanted));
  } else {
    strbuf_printf(out, "  product   %s", dtype_name(product.wanted));
  }
  put_product_types(rc, &product, stage, out);
  strbuf_printf(out, ", %.4g GFLOP at %.4g TFLOP/s x %.2f\n", product.flop_count / 1e9,
                rc->hw->matrix_flops[product.runs_as] / 1e12, rc->hw->matrix_efficiency);
  if (gemm->vector_s > 0) {
    strbuf_puts(out, "  on the vector engine");
  } else if (gemm->tile_m > 0) {
    strbuf_printf(out, "  tiles     %.0f x %.0f, split of k %.0f, %.0f waves on %.0f cores", gemm->tile_m, gemm->tile_n,
                  gemm->split, gemm->waves, rc->cores);
  } else if (gemm->cycles > 0) {
    strbuf_printf(out, "  array     %.0f x %.0f, %.0f folds per unit on %.0f units, %.0f cycles, %s stationary",
                  rc->array_rows, rc->array_columns, gemm->folds, rc->matrix_units, gemm->cycles,
                  gemm->is_weight_stationary ? "right operand" : "left operand");
  } else {
    strbuf_puts(out, "  no shape rule");
  }
  strbuf_printf(out, "; %.1f %% of a large product\n", gemm->efficiency * 100);
  if (gemm->reread_bytes > 0) {
    strbuf_printf(out, "  operands are read again: %.3f MB more\n", gemm->reread_bytes / 1e6);
  }
}

/* Which constants a kernel was timed with and where they come from. */
static void put_constants(const struct kernel_constants *constants, const struct kernel_interval *interval,
                          struct strbuf *out) {
  const struct kernel_model *model = constants->model;
  const struct hw_fit *fit = constants->fit;
  strbuf_printf(
      out, "  fitted    %s, %s %s: %" PRIu64 " rows of %s (%s), error %.1f %%; 90 %% between %.2f and %.2f times\n",
      model->name, fit->class_name, fit->format, fit->rows, fit->device, fit->sources, fit->mape * 100, interval->low,
      interval->high);
  for (unsigned i = 0; i < model->constant_count; i++) {
    strbuf_printf(out, "              %-28s %.4g %s\n", model->constants[i].name, constants->values[i],
                  model->constants[i].unit);
  }
}

/* A product timed by a fitted kernel model. */
static void put_fitted(const struct roofline_chip *rc, const struct roofline_fitted *fitted,
                       const struct roofline_task *estimate, struct strbuf *out) {
  const struct kernel_gemm *gemm = &fitted->shape.gemm;
  const struct kernel_constants *constants = fitted->constants;
  struct kernel_time time;
  roofline_fitted_kernel(rc, fitted, &time);
  strbuf_printf(out, "  gemm      batch %.0f m %.0f n %.0f k %.0f, %s", gemm->batch, gemm->m, gemm->n, gemm->k,
                dtype_name(fitted->product.wanted));
  if (fitted->product.runs_as != fitted->product.wanted) {
    strbuf_printf(out, " run as %s", dtype_name(fitted->product.runs_as));
  }
  strbuf_printf(out, ", %.4g GFLOP\n", fitted->product.flop_count / 1e9);
  if (time.tile_m > 0) {
    strbuf_printf(out, "  tiles     %.0f x %.0f, split of k %.0f, %.2f waves\n", time.tile_m, time.tile_n, time.split,
                  time.waves);
  }
  double slowest = 0;
  for (unsigned r = 0; r < WORK_BOUND_LAUNCH; r++) {
    slowest = fmax(slowest, estimate->result.resource_s[r]);
  }
  double beyond_s = estimate->result.time_s - slowest - estimate->result.resource_s[WORK_BOUND_LAUNCH];
  if (beyond_s > 0) {
    strbuf_printf(
        out, "  beyond    %12.3f us that resources do not hide: what the others leave exposed, split of k, clock\n",
        beyond_s * 1e6);
  }
  put_constants(constants, &estimate->interval, out);
}

/* The types of element-wise arithmetic, and what they run as. */
static void put_vector(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_task *task,
                       struct strbuf *out) {
  for (uint32_t i = 0; i < task->demand_count; i++) {
    const struct work_demand_entry *entry = &graph->demands.data[task->demand_first + i];
    enum dtype as = (enum dtype)rc->vector_as[entry->dtype];
    if (entry->engine != WORK_ENGINE_VECTOR || as == DTYPE_NONE) {
      continue;
    }
    strbuf_printf(out, "  vector    %s", dtype_name((enum dtype)entry->dtype));
    if (as != (enum dtype)entry->dtype) {
      strbuf_printf(out, " run as %s", dtype_name(as));
    }
    strbuf_printf(out, ", %.4g GFLOP at %.4g TFLOP/s\n", (double)entry->ops / 1e9, 1e-12 / rc->vector_s[entry->dtype]);
  }
}

static void put_control(const struct work_task *task, struct strbuf *out) {
  if (task->kind == WORK_LOOP) {
    strbuf_printf(out, "  %" PRIu64 " iterations%s; see its tasks\n", task->trip_count,
                  (task->flags & WORK_TASK_TRIP_UNKNOWN) ? " (assumed)" : "");
  } else {
    strbuf_printf(out, "  the costliest of %" PRIu32 " branches; see their tasks\n", task->subgraph_count);
  }
}

void roofline_explain(const struct work_graph *graph, uint32_t task_index, const struct hw_chip *chip,
                      const struct cost_options *options, struct strbuf *out) {
  if (task_index >= graph->tasks.count) {
    return;
  }
  struct roofline_chip rc;
  roofline_chip_init(&rc, chip, options);
  const struct work_task *task = &graph->tasks.data[task_index];
  strbuf_printf(out, "task %" PRIu32 " %s on %s\n", task_index, work_kind_info((enum work_kind)task->kind)->name,
                chip->id);
  if (task->kind == WORK_LOOP || task->kind == WORK_CONDITIONAL) {
    put_control(task, out);
    return;
  }
  struct roofline_task estimate;
  roofline_task_estimate(&rc, graph, task, &estimate);
  if (estimate.result.bound == WORK_BOUND_NONE) {
    strbuf_puts(out, (task->flags & WORK_TASK_OPAQUE) || task->collective != 0 || task->kind == WORK_HOST
                         ? "  not timed\n"
                         : "  free\n");
    return;
  }
  strbuf_printf(out, "  time      %12.3f us, bound by %s\n", estimate.result.time_s * 1e6,
                work_bound_name((enum work_bound)estimate.result.bound));
  put_resources(&estimate, out);
  struct roofline_task engines = {.matrix_flops = 0};
  struct roofline_load load;
  struct roofline_traffic traffic;
  roofline_task_load(&rc, graph, task, &engines, &load, &traffic);
  unsigned products = roofline_count_products(graph, task);
  struct roofline_fitted fitted;
  if (products == 1 && roofline_fitted_shape(&rc, graph, task, &traffic, &fitted)) {
    put_fitted(&rc, &fitted, &estimate, out);
    products = 0;
  } else if (estimate.pass != NULL) {
    put_constants(estimate.pass, &estimate.interval, out);
    products = 0;
  }
  bool is_fitted = estimate.is_timed_by_model;
  for (uint32_t i = 0; i < task->stage_count && products > 0; i++) {
    put_gemm(&rc, graph, &graph->stages.data[task->stage_first + i], &load, products == 1, out);
  }
  put_vector(&rc, graph, task, out);
  strbuf_printf(out, "  traffic   %.3f MB off chip at %.4g GB/s", estimate.off_chip_bytes / 1e6,
                chip->memory_Bps / 1e9);
  if (!is_fitted) {
    strbuf_printf(out, " x %.2f", chip->memory_efficiency);
  }
  strbuf_printf(out, ", %.3f MB in all", traffic.cache_bytes / 1e6);
  if (rc.resident_bytes > 0) {
    strbuf_printf(out, "; working sets up to %.1f MB stay on chip", rc.resident_bytes / 1e6);
  }
  strbuf_putc(out, '\n');
  if (estimate.refused != DTYPE_NONE) {
    strbuf_printf(out, "  %s is refused by %s\n", dtype_name((enum dtype)estimate.refused), chip->id);
  }
}
