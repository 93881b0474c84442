/* Predictions as a JSON document; docs/json.md is the schema. */
#include <math.h>
#include <stdlib.h>

#include "report/report_int.h"

/* Rows of operations per chip: far more than one looks at, and a bound for programs that repeat nothing. */
enum { MAX_OPERATIONS = 2000 };

struct note_list {
  struct report_json *json;
  json_t *array;
};

static void add_note(void *user, const char *code, const char *text, uint64_t count) {
  struct note_list *list = user;
  json_t *note = json_object();
  report_json_set(list->json, note, "code", report_json_text(code));
  report_json_set(list->json, note, "text", report_json_text(text));
  report_json_set(list->json, note, "count", report_json_uint(count));
  report_json_append(list->json, list->array, note);
}

static json_t *notes_of(struct report_json *json, const struct report_estimate *estimate) {
  struct note_list list = {json, json_array()};
  report_notes(estimate, add_note, &list);
  return list.array;
}

static json_t *time_and_share(struct report_json *json, double time_s, double total_s) {
  json_t *row = json_object();
  report_json_set(json, row, "time_s", report_json_real(time_s));
  report_json_set(json, row, "share", report_json_real(total_s > 0 ? time_s / total_s : 0));
  return row;
}

static json_t *bounds_of(struct report_json *json, const struct work_result *result) {
  json_t *rows = json_object();
  for (int b = 0; b < WORK_BOUND_COUNT; b++) {
    if (result->bound_s[b] > 0) {
      report_json_set(json, rows, work_bound_name((enum work_bound)b),
                      time_and_share(json, result->bound_s[b], result->time_s));
    }
  }
  return rows;
}

static json_t *classes_of(struct report_json *json, const struct work_result *result) {
  json_t *rows = json_object();
  for (int c = 0; c < WORK_CLASS_COUNT; c++) {
    if (result->class_count[c] > 0 && c != WORK_CLASS_FREE) {
      json_t *row = time_and_share(json, result->class_s[c], result->time_s);
      report_json_set(json, row, "kernels", report_json_uint(result->class_count[c]));
      report_json_set(json, rows, work_class_name((enum work_class)c), row);
    }
  }
  return rows;
}

static json_t *text_of(void (*put)(const struct work_graph *, const struct work_task *, struct strbuf *),
                       const struct report_group *group) {
  struct strbuf text = {0};
  put(group->graph, report_group_task(group), &text);
  json_t *value = text.failed ? NULL : report_json_text(strbuf_text(&text));
  strbuf_release(&text);
  return value;
}

static json_t *operation_of(struct report_json *json, const struct report_group *group, double total_s,
                            const struct report_lines *lines) {
  const struct work_task *task = report_group_task(group);
  json_t *row = time_and_share(json, group->time_s, total_s);
  report_json_set(json, row, "operation", report_json_text(report_label(group->graph, task)));
  report_json_set(json, row, "name", text_of(report_task_name, group));
  report_json_set(json, row, "works_on", text_of(report_task_shape, group));
  report_json_set(json, row, "class", json_string(work_class_name(report_class(task))));
  report_json_set(json, row, "count", report_json_uint(group->count));
  report_json_set(json, row, "bound_by", json_string(work_bound_name(report_group_bound(group))));
  report_json_set(json, row, "flops", report_json_uint(group->flops));
  report_json_set(json, row, "matrix_flops", report_json_uint(group->matrix_flops));
  report_json_set(json, row, "bytes", report_json_uint(group->bytes));
  report_json_set(json, row, "runs_as",
                  group->runs_as != DTYPE_NONE ? json_string(dtype_name((enum dtype)group->runs_as)) : json_null());
  report_json_set(json, row, "first_at", report_json_place(lines, task->source_offset));
  return row;
}

static void set_operations(struct report_json *json, json_t *chip, const struct report_estimate *estimate,
                           const struct report_lines *lines) {
  struct report_groups groups;
  report_groups_collect(&groups, estimate->graph, &estimate->result->root, true);
  json->failed |= groups.failed;
  json_t *rows = json_array();
  size_t shown = groups.rows.count < MAX_OPERATIONS ? groups.rows.count : MAX_OPERATIONS;
  for (size_t i = 0; i < shown; i++) {
    report_json_append(json, rows, operation_of(json, &groups.rows.data[i], estimate->result->time_s, lines));
  }
  report_json_set(json, chip, "operations", rows);
  report_json_set(json, chip, "operations_left_out", report_json_uint(groups.rows.count - shown));
  report_groups_release(&groups);
}

static json_t *fusion_of(struct report_json *json, const struct report_summary *row) {
  const struct report_estimate *e = row->estimate;
  if (!row->is_fused) {
    return json_null();
  }
  json_t *fusion = json_object();
  report_json_set(json, fusion, "kernels_before", report_json_uint(e->tasks_before));
  report_json_set(json, fusion, "kernels_after", report_json_uint(e->tasks_after));
  report_json_set(json, fusion, "bytes_before", report_json_uint(e->bytes_before));
  report_json_set(json, fusion, "bytes_after", report_json_uint(e->bytes_after));
  report_json_set(json, fusion, "time_before_s", report_json_real(e->unfused_time_s));
  report_json_set(json, fusion, "time_after_s", report_json_real(row->time_s));
  report_json_set(json, fusion, "gain", report_json_real(row->gain));
  return fusion;
}

static json_t *memory_of(struct report_json *json, const struct report_estimate *estimate,
                         const struct report_lines *lines) {
  const struct work_result *result = estimate->result;
  const struct work_memory *m = &result->memory;
  json_t *memory = json_object();
  report_json_set(json, memory, "peak_bytes", report_json_uint(m->peak_bytes));
  report_json_set(json, memory, "capacity_bytes",
                  report_is_fit_known(result) ? report_json_uint(result->capacity_bytes) : json_null());
  report_json_set(json, memory, "fits", report_is_fit_known(result) ? json_boolean(result->fits) : json_null());
  report_json_set(json, memory, "argument_bytes", report_json_uint(m->argument_bytes));
  report_json_set(json, memory, "output_bytes", report_json_uint(m->output_bytes));
  report_json_set(json, memory, "constant_bytes", report_json_uint(m->constant_bytes));
  report_json_set(json, memory, "temporary_peak_bytes", report_json_uint(m->temporary_peak_bytes));
  bool has_task = estimate->graph && m->peak_task < estimate->graph->tasks.count;
  const struct work_task *task = has_task ? &estimate->graph->tasks.data[m->peak_task] : NULL;
  report_json_set(json, memory, "peak_operation",
                  has_task ? report_json_text(report_label(estimate->graph, task)) : json_null());
  report_json_set(json, memory, "peak_at", has_task ? report_json_place(lines, task->source_offset) : json_null());
  return memory;
}

static json_t *interval_of(struct report_json *json, const struct work_result *result) {
  if (!(result->high_s > 0)) {
    return json_null();
  }
  json_t *interval = json_object();
  report_json_set(json, interval, "coverage", report_json_real(0.9));
  report_json_set(json, interval, "low_s", report_json_real(result->low_s));
  report_json_set(json, interval, "high_s", report_json_real(result->high_s));
  return interval;
}

static void set_prediction(struct report_json *json, json_t *chip, const struct report_summary *row,
                           const struct report_lines *lines) {
  const struct work_result *result = row->estimate->result;
  report_json_set(json, chip, "interval", interval_of(json, result));
  report_json_set(json, chip, "fitted_share", report_json_real(result->fitted_share));
  report_json_set(json, chip, "inherited_share", report_json_real(result->inherited_share));
  report_json_set(json, chip, "unfused_time_s", report_json_real(row->is_fused ? row->estimate->unfused_time_s : NAN));
  report_json_set(json, chip, "dispatch_s", report_json_real(result->dispatch_s));
  report_json_set(json, chip, "bound_by", json_string(work_bound_name(row->bound)));
  report_json_set(json, chip, "bound_share", report_json_real(row->bound_share));
  report_json_set(json, chip, "time_by_bound", bounds_of(json, result));
  report_json_set(json, chip, "time_by_class", classes_of(json, result));
  report_json_set(json, chip, "matrix_utilisation", report_json_real(result->matrix_utilisation));
  report_json_set(json, chip, "kernels", report_json_uint(row->kernels));
  report_json_set(json, chip, "flops", report_json_real(result->flops));
  report_json_set(json, chip, "bytes", report_json_real(result->bytes));
  report_json_set(json, chip, "collectives", report_json_uint(result->collectives));
  report_json_set(json, chip, "collective_bytes", report_json_uint(result->collective_bytes));
  report_json_set(json, chip, "opaque_operations", report_json_uint(result->opaque_tasks));
  report_json_set(json, chip, "fusion", fusion_of(json, row));
  set_operations(json, chip, row->estimate, lines);
}

static json_t *chip_of(struct report_json *json, const struct report_summary *row, const struct report_lines *lines) {
  const struct hw_chip *c = row->estimate->chip;
  json_t *chip = json_object();
  report_json_set(json, chip, "chip", report_json_text(c->id));
  report_json_set(json, chip, "name", report_json_text(c->name));
  report_json_set(json, chip, "vendor", report_json_text(c->vendor));
  report_json_set(json, chip, "refused", json_boolean(row->is_refused));
  struct strbuf reason = {0};
  if (row->is_refused) {
    report_reason(row, &reason);
  }
  report_json_set(json, chip, "reason", row->is_refused ? report_json_text(strbuf_text(&reason)) : json_null());
  strbuf_release(&reason);
  report_json_set(json, chip, "time_s", report_json_real(row->time_s));
  report_json_set(json, chip, "times_fastest", report_json_real(row->slower));
  if (!row->is_refused) {
    set_prediction(json, chip, row, lines);
  }
  if (row->estimate->result) {
    report_json_set(json, chip, "memory", memory_of(json, row->estimate, lines));
  }
  report_json_set(json, chip, "notes", notes_of(json, row->estimate));
  return chip;
}

enum status report_prediction_json(const struct report_prediction *prediction, struct strbuf *out) {
  struct report_summary *rows = report_summaries(prediction);
  if (!rows) {
    return STATUS_MEMORY;
  }
  struct report_lines lines;
  report_lines_init(&lines, prediction->source);
  struct report_json json = {0};
  json_t *root = report_json_document(&json, "ridgeline-prediction", prediction->version);
  report_json_set(&json, root, "program", report_json_text(prediction->program));
  report_json_set(&json, root, "fidelity", report_json_text(prediction->fidelity));
  json_t *estimates = json_array();
  for (size_t i = 0; i < prediction->count; i++) {
    report_json_append(&json, estimates, chip_of(&json, &rows[i], &lines));
  }
  report_json_set(&json, root, "estimates", estimates);
  report_lines_release(&lines);
  free(rows);
  return report_json_finish(&json, root, out);
}
