/* Why one task takes its time: the resources, the efficiency factors and the constants behind them, as text. */
#include <inttypes.h>

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

static void put_gemm(const struct roofline_chip *rc, const struct work_graph *graph, const struct work_stage *stage,
                     struct strbuf *out) {
  struct roofline_gemm gemm;
  struct work_gemm shape;
  enum dtype wanted = DTYPE_NONE, runs_as;
  double flops;
  if (!roofline_stage_gemm(rc, graph, stage, &gemm, &wanted, &runs_as, &flops)) {
    if (wanted != DTYPE_NONE) {
      strbuf_printf(out, "  %s is refused by %s\n", dtype_name(wanted), rc->hw->id);
    }
    return;
  }
  if (work_stage_gemm(graph, stage, &shape)) {
    strbuf_printf(out, "  gemm      batch %" PRIu64 " m %" PRIu64 " n %" PRIu64 " k %" PRIu64 ", %s", shape.batch,
                  shape.m, shape.n, shape.k, dtype_name(wanted));
  } else {
    strbuf_printf(out, "  product   %s", dtype_name(wanted));
  }
  if (runs_as != wanted) {
    strbuf_printf(out, " run as %s", dtype_name(runs_as));
  }
  strbuf_printf(out, ", %.4g GFLOP at %.4g TFLOP/s x %.2f\n", flops / 1e9, rc->hw->matrix_flops[runs_as] / 1e12,
                rc->hw->matrix_efficiency);
  if (gemm.tile_m > 0) {
    strbuf_printf(out, "  tiles     %.0f x %.0f, split of k %.0f, %.0f waves on %.0f cores", gemm.tile_m, gemm.tile_n,
                  gemm.split, gemm.waves, rc->cores);
  } else if (gemm.cycles > 0) {
    strbuf_printf(out, "  array     %.0f x %.0f, %.0f folds per unit on %.0f units, %.0f cycles, %s stationary",
                  rc->array_rows, rc->array_columns, gemm.folds, rc->matrix_units, gemm.cycles,
                  gemm.is_weight_stationary ? "right operand" : "left operand");
  } else {
    strbuf_puts(out, "  no shape rule");
  }
  strbuf_printf(out, "; %.1f %% of a large product\n", gemm.efficiency * 100);
  if (gemm.reread_bytes > 0) {
    strbuf_printf(out, "  operands are read again: %.3f MB more\n", gemm.reread_bytes / 1e6);
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
  for (uint32_t i = 0; i < task->stage_count; i++) {
    put_gemm(&rc, graph, &graph->stages.data[task->stage_first + i], out);
  }
  struct roofline_traffic traffic;
  roofline_traffic_of(&rc, graph, task, &traffic);
  strbuf_printf(out, "  traffic   %.3f MB off chip at %.4g GB/s x %.2f, %.3f MB in all", traffic.off_chip_bytes / 1e6,
                chip->memory_Bps / 1e9, chip->memory_efficiency, traffic.cache_bytes / 1e6);
  if (rc.resident_bytes > 0) {
    strbuf_printf(out, "; working sets up to %.1f MB stay on chip", rc.resident_bytes / 1e6);
  }
  strbuf_putc(out, '\n');
  if (estimate.refused != DTYPE_NONE) {
    strbuf_printf(out, "  %s is refused by %s\n", dtype_name((enum dtype)estimate.refused), chip->id);
  }
}
