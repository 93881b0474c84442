/* One task in words: its name, what it works on, what it does. */
#include <string.h>

#include "base/checked.h"
#include "report/report_int.h"

bool report_is_free(const struct work_task *task) {
  return work_kind_info((enum work_kind)task->kind)->is_free;
}

enum work_class report_class(const struct work_task *task) {
  return work_kind_info((enum work_kind)task->kind)->class_of;
}

const char *report_label(const struct work_graph *graph, const struct work_task *task) {
  if (task->label != 0) {
    return intern_text(graph->strings, task->label);
  }
  return task->kind < WORK_KIND_COUNT ? work_kind_info((enum work_kind)task->kind)->name : "?";
}

/* The stage that gives the task its kind; NULL for loops and conditionals. */
static const struct work_stage *hero_of(const struct work_graph *graph, const struct work_task *task) {
  for (uint32_t i = 0; i < task->stage_count; i++) {
    const struct work_stage *stage = &graph->stages.data[task->stage_first + i];
    if (stage->kind == task->kind) {
      return stage;
    }
  }
  return task->stage_count ? &graph->stages.data[task->stage_first] : NULL;
}

void report_task_name(const struct work_graph *graph, const struct work_task *task, struct strbuf *out) {
  enum { NAME_WIDTH = 36 };
  report_cut(out, report_label(graph, task), NAME_WIDTH);
  uint32_t working = 0;
  for (uint32_t i = 0; i < task->stage_count; i++) {
    const struct work_stage *stage = &graph->stages.data[task->stage_first + i];
    working += !work_kind_info((enum work_kind)stage->kind)->is_free;
  }
  if (working > 1) {
    strbuf_printf(out, " +%u", working - 1);
  }
}

void report_tensor_type(const struct work_graph *graph, uint32_t tensor, struct strbuf *out) {
  const struct work_tensor *t = &graph->tensors.data[tensor];
  strbuf_printf(out, "%s[", dtype_name((enum dtype)t->dtype));
  for (uint32_t i = 0; i < t->rank; i++) {
    strbuf_puts(out, i ? "," : "");
    strbuf_put_i64(out, graph->dims.data[t->dims_first + i]);
  }
  strbuf_putc(out, ']');
}

/* Product of the extents of one role; false when the stage has no such axis. */
static bool extent_of(const struct work_graph *graph, const struct work_stage *stage, enum work_axis_role role,
                      uint64_t *product) {
  bool found = false;
  *product = 1;
  for (uint32_t i = 0; i < stage->axis_count; i++) {
    const struct work_axis *axis = &graph->axes.data[stage->axis_first + i];
    if (axis->role == role) {
      *product = sat_mul_u64(*product, axis->extent > 0 ? (uint64_t)axis->extent : 0);
      found = true;
    }
  }
  return found;
}

static const struct {
  enum work_axis_role role;
  const char *letter;
  bool always; /* a matrix product has m, n and k even where their extent is 1 */
} contraction_letters[] = {{WORK_AXIS_BATCH, "b", false},
                           {WORK_AXIS_ROW, "m", true},
                           {WORK_AXIS_COLUMN, "n", true},
                           {WORK_AXIS_REDUCTION, "k", true}};

/* "b8 m128 n128 k64 bf16" from the axes; "bf16→f32" when the result has another type. */
static void put_contraction(const struct work_graph *graph, const struct work_stage *stage, struct strbuf *out) {
  for (size_t i = 0; i < sizeof contraction_letters / sizeof *contraction_letters; i++) {
    uint64_t extent;
    bool found = extent_of(graph, stage, contraction_letters[i].role, &extent);
    if (found || contraction_letters[i].always) {
      strbuf_printf(out, "%s%llu ", contraction_letters[i].letter, (unsigned long long)extent);
    }
  }
  enum dtype result = (enum dtype)stage->dtype;
  enum dtype operand = result;
  if (stage->read_count > 0) {
    operand = (enum dtype)graph->tensors.data[graph->accesses.data[stage->access_first].tensor].dtype;
  }
  strbuf_puts(out, dtype_name(operand));
  if (operand != result) {
    strbuf_printf(out, "→%s", dtype_name(result));
  }
}

/* " k64 w3×3": what a convolution sums over. */
static void put_window(const struct work_graph *graph, const struct work_stage *stage, struct strbuf *out) {
  uint64_t channels;
  if (extent_of(graph, stage, WORK_AXIS_REDUCTION, &channels)) {
    strbuf_printf(out, " k%llu", (unsigned long long)channels);
  }
  bool is_first = true;
  for (uint32_t i = 0; i < stage->axis_count; i++) {
    const struct work_axis *axis = &graph->axes.data[stage->axis_first + i];
    if (axis->role == WORK_AXIS_WINDOW) {
      strbuf_printf(out, "%s%lld", is_first ? " w" : "×", (long long)axis->extent);
      is_first = false;
    }
  }
}

void report_task_shape(const struct work_graph *graph, const struct work_task *task, struct strbuf *out) {
  const struct work_stage *hero = hero_of(graph, task);
  if (hero && hero->kind == WORK_MATMUL && hero->axis_count) {
    put_contraction(graph, hero, out);
    return;
  }
  if (task->access_count == 0) {
    strbuf_putc(out, '-');
    return;
  }
  const struct work_access *accesses = &graph->accesses.data[task->access_first];
  bool has_result = task->read_count < task->access_count;
  if (task->read_count > 0 && (!has_result || report_class(task) == WORK_CLASS_REDUCTION)) {
    report_tensor_type(graph, accesses[0].tensor, out);
    strbuf_puts(out, has_result ? "→" : "");
  }
  if (has_result) {
    report_tensor_type(graph, accesses[task->read_count].tensor, out);
  }
  if (hero && hero->kind == WORK_CONVOLUTION) {
    put_window(graph, hero, out);
  }
}

uint64_t report_task_flops(const struct work_graph *graph, const struct work_task *task, uint64_t *matrix) {
  uint64_t flops = 0, of_matrix = 0;
  for (uint32_t i = 0; i < task->demand_count; i++) {
    const struct work_demand_entry *entry = &graph->demands.data[task->demand_first + i];
    if (entry->engine != WORK_ENGINE_INTEGER) {
      flops = sat_add_u64(flops, entry->ops);
    }
    if (entry->engine == WORK_ENGINE_MATRIX) {
      of_matrix = sat_add_u64(of_matrix, entry->ops);
    }
  }
  if (matrix) {
    *matrix = of_matrix;
  }
  return flops;
}

uint64_t report_task_bytes(const struct work_task *task) {
  return sat_add_u64(task->read_bytes, task->write_bytes);
}

uint64_t report_total_flops(const struct work_total *total) {
  return sat_add_u64(sat_add_u64(total->ops[WORK_ENGINE_MATRIX], total->ops[WORK_ENGINE_VECTOR]),
                     total->ops[WORK_ENGINE_FUNCTION]);
}

uint32_t report_branch(const struct work_graph *graph, const struct work_task *task,
                       const struct work_graph_result *result) {
  uint32_t best = UINT32_MAX;
  double best_time = 0;
  uint64_t best_flops = 0, best_bytes = 0;
  for (uint32_t i = 0; i < task->subgraph_count; i++) {
    uint32_t branch = task->subgraph_first + i;
    double time = 0;
    uint64_t flops = 0, bytes = 0;
    if (result) {
      time = result->subgraphs[branch].time_s;
    } else {
      struct work_total total;
      work_graph_total(graph->subgraphs.data[branch], &total);
      flops = report_total_flops(&total);
      bytes = sat_add_u64(total.read_bytes, total.write_bytes);
    }
    bool is_better = time > best_time || flops > best_flops || (flops == best_flops && bytes > best_bytes);
    if (best == UINT32_MAX || is_better) {
      best = branch;
      best_time = time;
      best_flops = flops;
      best_bytes = bytes;
    }
  }
  return best;
}
