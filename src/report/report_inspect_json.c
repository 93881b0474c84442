/* What a program does, as a JSON document; docs/json.md is the schema. */
#include <math.h>

#include "base/checked.h"
#include "report/report_int.h"

static json_t *totals_of(struct report_json *json, const struct work_total *total) {
  json_t *totals = json_object();
  uint64_t flops = report_total_flops(total), bytes = sat_add_u64(total->read_bytes, total->write_bytes);
  report_json_set(json, totals, "operations", report_json_uint(total->launches));
  report_json_set(json, totals, "flops", report_json_uint(flops));
  json_t *units = json_object();
  for (int e = 0; e < WORK_ENGINE_COUNT; e++) {
    json_t *unit = json_object(), *types = json_object();
    report_json_set(json, unit, "operations", report_json_uint(total->ops[e]));
    for (int d = 0; d < DTYPE_COUNT; d++) {
      if (total->ops_by_dtype[e][d] > 0) {
        report_json_set(json, types, dtype_name((enum dtype)d), report_json_uint(total->ops_by_dtype[e][d]));
      }
    }
    report_json_set(json, unit, "by_type", types);
    report_json_set(json, units, work_engine_name((enum work_engine)e), unit);
  }
  report_json_set(json, totals, "units", units);
  report_json_set(json, totals, "read_bytes", report_json_uint(total->read_bytes));
  report_json_set(json, totals, "write_bytes", report_json_uint(total->write_bytes));
  report_json_set(json, totals, "flops_per_byte", report_json_real(bytes ? (double)flops / (double)bytes : NAN));
  report_json_set(json, totals, "collectives", report_json_uint(total->collectives));
  report_json_set(json, totals, "collective_bytes", report_json_uint(total->collective_bytes));
  report_json_set(json, totals, "opaque_operations", report_json_uint(total->opaque_tasks));
  report_json_set(json, totals, "loops_of_unknown_length", report_json_uint(total->unknown_trip_loops));
  return totals;
}

static json_t *memory_of(struct report_json *json, const struct report_inspection *inspection,
                         const struct report_lines *lines) {
  const struct work_memory *m = inspection->memory;
  json_t *memory = json_object();
  report_json_set(json, memory, "peak_bytes", report_json_uint(m->peak_bytes));
  report_json_set(json, memory, "argument_bytes", report_json_uint(m->argument_bytes));
  report_json_set(json, memory, "output_bytes", report_json_uint(m->output_bytes));
  report_json_set(json, memory, "constant_bytes", report_json_uint(m->constant_bytes));
  report_json_set(json, memory, "temporary_peak_bytes", report_json_uint(m->temporary_peak_bytes));
  bool has_task = m->peak_task < inspection->graph->tasks.count;
  const struct work_task *task = has_task ? &inspection->graph->tasks.data[m->peak_task] : NULL;
  report_json_set(json, memory, "peak_operation",
                  has_task ? report_json_text(report_label(inspection->graph, task)) : json_null());
  report_json_set(json, memory, "peak_at", has_task ? report_json_place(lines, task->source_offset) : json_null());
  return memory;
}

static json_t *collectives_of(struct report_json *json, const struct report_program *program) {
  json_t *rows = json_array();
  for (size_t i = 0; i < program->collectives.count; i++) {
    const struct report_collective *c = &program->collectives.data[i];
    json_t *row = json_object();
    report_json_set(json, row, "kind", json_string(work_collective_name((enum work_collective_kind)c->kind)));
    report_json_set(json, row, "group_size", c->group_size ? report_json_uint(c->group_size) : json_null());
    report_json_set(json, row, "count", report_json_uint(c->count));
    report_json_set(json, row, "bytes_per_rank", report_json_uint(c->bytes));
    report_json_append(json, rows, row);
  }
  return rows;
}

static json_t *loops_of(struct report_json *json, const struct report_program *program,
                        const struct report_lines *lines) {
  json_t *rows = json_array();
  for (size_t i = 0; i < program->loops.count; i++) {
    const struct report_loop *loop = &program->loops.data[i];
    const struct work_task *task = &loop->graph->tasks.data[loop->task];
    bool is_known = !(task->flags & WORK_TASK_TRIP_UNKNOWN);
    json_t *row = json_object();
    report_json_set(json, row, "operation", report_json_text(report_label(loop->graph, task)));
    report_json_set(json, row, "trips", is_known ? report_json_uint(task->trip_count) : json_null());
    report_json_set(json, row, "runs", report_json_uint(loop->times));
    report_json_set(json, row, "depth", report_json_uint(loop->depth));
    report_json_set(json, row, "at", report_json_place(lines, task->source_offset));
    report_json_append(json, rows, row);
  }
  return rows;
}

static json_t *opaque_of(struct report_json *json, const struct report_program *program,
                         const struct report_lines *lines) {
  json_t *rows = json_array();
  for (size_t i = 0; i < program->opaque.count; i++) {
    json_t *row = json_object();
    report_json_set(json, row, "operation", report_json_text(program->opaque.data[i].label));
    report_json_set(json, row, "count", report_json_uint(program->opaque.data[i].count));
    report_json_set(json, row, "first_at", report_json_place(lines, program->opaque.data[i].source_offset));
    report_json_append(json, rows, row);
  }
  return rows;
}

static json_t *operations_of(struct report_json *json, const struct work_graph *graph,
                             const struct report_lines *lines) {
  struct report_groups groups;
  report_groups_collect(&groups, graph, NULL, false);
  json->failed |= groups.failed;
  json_t *rows = json_array();
  for (size_t i = 0; i < groups.rows.count; i++) {
    const struct report_group *group = &groups.rows.data[i];
    const struct work_task *task = report_group_task(group);
    json_t *row = json_object();
    report_json_set(json, row, "operation", report_json_text(report_label(group->graph, task)));
    report_json_set(json, row, "class", json_string(work_class_name(report_class(task))));
    report_json_set(json, row, "count", report_json_uint(group->count));
    report_json_set(json, row, "flops", report_json_uint(group->flops));
    report_json_set(json, row, "bytes", report_json_uint(group->bytes));
    report_json_set(json, row, "reference_share",
                    report_json_real(groups.time_s > 0 ? group->time_s / groups.time_s : 0));
    report_json_set(json, row, "first_at", report_json_place(lines, task->source_offset));
    report_json_append(json, rows, row);
  }
  report_groups_release(&groups);
  return rows;
}

/* XLA counts: -1 = unknown. */
static json_t *known(int64_t value) {
  return value < 0 ? json_null() : json_integer(value);
}

static json_t *functions_of(struct report_json *json, const struct report_inspection *inspection) {
  json_t *rows = json_array();
  for (size_t i = 0; i < inspection->function_count; i++) {
    const struct report_function_cost *function = &inspection->functions[i];
    json_t *row = json_object();
    report_json_set(json, row, "function", report_json_text(function->name));
    report_json_set(json, row, "operations", report_json_uint(function->ops));
    report_json_set(json, row, "xla_flops", known(function->xla_flops));
    report_json_set(json, row, "xla_transcendentals", known(function->xla_transcendentals));
    report_json_set(json, row, "xla_bytes", known(function->xla_bytes));
    report_json_append(json, rows, row);
  }
  return rows;
}

enum status report_inspection_json(const struct report_inspection *inspection, struct strbuf *out) {
  struct report_lines lines;
  struct report_program program;
  struct report_json json = {0};
  report_lines_init(&lines, inspection->source);
  report_program_collect(&program, inspection->graph);
  json.failed = program.failed;
  json_t *root = report_json_document(&json, "ridgeline-inspection", inspection->version);
  report_json_set(&json, root, "program", report_json_text(inspection->program));
  report_json_set(&json, root, "totals", totals_of(&json, inspection->total));
  report_json_set(&json, root, "memory", memory_of(&json, inspection, &lines));
  report_json_set(&json, root, "collectives", collectives_of(&json, &program));
  report_json_set(&json, root, "loops", loops_of(&json, &program, &lines));
  report_json_set(&json, root, "opaque", opaque_of(&json, &program, &lines));
  report_json_set(&json, root, "reference_flops_per_byte", json_integer(REPORT_REFERENCE_FLOP_PER_BYTE));
  report_json_set(&json, root, "operations", operations_of(&json, inspection->graph, &lines));
  report_json_set(&json, root, "functions", functions_of(&json, inspection));
  report_program_release(&program);
  report_lines_release(&lines);
  return report_json_finish(&json, root, out);
}
