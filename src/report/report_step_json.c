/* Steps as a JSON document; docs/json.md is the schema. */
#include <math.h>
#include <stdlib.h>

#include "report/report_step_int.h"

enum { SLICE_TEXT = 96 };

struct note_list {
  struct report_json *json;
  json_t *array;
};

static void add_note(void *user, const char *code, const char *text, uint64_t count) {
  struct note_list *list = user;
  json_t *note = json_object();
  report_json_set(list->json, note, "code", *code ? report_json_text(code) : json_null());
  report_json_set(list->json, note, "text", report_json_text(text));
  report_json_set(list->json, note, "count", report_json_uint(count));
  report_json_append(list->json, list->array, note);
}

static void set_keyed(struct report_json *json, json_t *object, const char *key, const char *unit, json_t *value) {
  struct strbuf text = {0};
  strbuf_printf(&text, "%s%s", key, unit);
  json->failed |= text.failed;
  report_json_set(json, object, strbuf_text(&text), value);
  strbuf_release(&text);
}

static json_t *interval_of(struct report_json *json, const struct step_result *r) {
  if (!(r->high_s > 0) || !isfinite(r->high_s)) {
    return json_null();
  }
  json_t *interval = json_object();
  report_json_set(json, interval, "coverage", report_json_real(0.9));
  report_json_set(json, interval, "low_s", report_json_real(r->low_s));
  report_json_set(json, interval, "high_s", report_json_real(r->high_s));
  return interval;
}

static json_t *causes_of(struct report_json *json, const struct step_result *r) {
  json_t *causes = json_object();
  for (size_t i = 0; i < report_step_cause_count; i++) {
    const struct report_step_cause *cause = &report_step_causes[i];
    set_keyed(json, causes, cause->key, "_s", report_json_real(cause->value_s(r)));
  }
  return causes;
}

static json_t *exposed_of(struct report_json *json, const struct step_result *r) {
  json_t *kinds = json_object();
  for (int k = 0; k < STEP_COLLECTIVE_KINDS; k++) {
    if (r->exposed_by_kind_s[k] > 0) {
      set_keyed(json, kinds, work_collective_name((enum work_collective_kind)k), "_s",
                report_json_real(r->exposed_by_kind_s[k]));
    }
  }
  return kinds;
}

static json_t *memory_of(struct report_json *json, const struct step_memory *m) {
  json_t *memory = json_object();
  for (size_t i = 0; i < report_step_memory_part_count; i++) {
    set_keyed(json, memory, report_step_memory_parts[i].key, "_bytes",
              report_json_real(report_step_memory_parts[i].value(m)));
  }
  bool is_known = m->capacity_bytes > 0;
  report_json_set(json, memory, "total_bytes", report_json_real(m->total_bytes));
  report_json_set(json, memory, "capacity_bytes", is_known ? report_json_real(m->capacity_bytes) : json_null());
  report_json_set(json, memory, "fits", is_known ? json_boolean(m->fits) : json_null());
  return memory;
}

static json_t *collectives_of(struct report_json *json, const struct step_result *r) {
  json_t *rows = json_array();
  for (size_t i = 0; i < r->collectives.count; i++) {
    const struct step_collective_row *row = &r->collectives.data[i];
    json_t *object = json_object();
    report_json_set(json, object, "kind", json_string(work_collective_name(row->kind)));
    report_json_set(json, object, "group_size", report_json_uint(row->group_size));
    report_json_set(json, object, "bytes", report_json_real(row->bytes));
    report_json_set(json, object, "count", report_json_uint(row->count));
    report_json_set(json, object, "algorithm", report_json_text(row->algorithm));
    report_json_set(json, object, "protocol",
                    row->protocol && *row->protocol ? report_json_text(row->protocol) : json_null());
    report_json_set(json, object, "time_s", report_json_real(row->time_s));
    report_json_set(json, object, "exposed_s", report_json_real(row->exposed_s));
    report_json_append(json, rows, object);
  }
  return rows;
}

static json_t *sent_of(struct report_json *json, const struct report_step_row *row) {
  json_t *dimensions = json_array();
  for (uint32_t d = 0; d < row->cluster->dimension_count; d++) {
    json_t *object = json_object();
    report_json_set(json, object, "dimension", report_json_text(row->cluster->dimensions[d].name));
    report_json_set(json, object, "devices", report_json_uint(row->slice->size[d]));
    report_json_set(json, object, "sent_bytes", report_json_real(row->result->sent_bytes[d]));
    report_json_append(json, dimensions, object);
  }
  return dimensions;
}

static json_t *pipeline_of(struct report_json *json, const struct step_program *program) {
  if (program->stages <= 1 && program->chunks <= 1 && program->microbatches <= 1) {
    return json_null();
  }
  json_t *pipeline = json_object();
  report_json_set(json, pipeline, "schedule", json_string(report_step_schedule_name(program->schedule)));
  report_json_set(json, pipeline, "stages", report_json_uint(program->stages));
  report_json_set(json, pipeline, "chunks", report_json_uint(program->chunks));
  report_json_set(json, pipeline, "microbatches", report_json_uint(program->microbatches));
  report_json_set(json, pipeline, "boundary_bytes", report_json_uint(program->boundary_bytes));
  report_json_set(json, pipeline, "devices_per_stage", report_json_uint(program->devices_per_stage));
  return pipeline;
}

static void set_prediction(struct report_json *json, json_t *object, const struct report_step_row *row) {
  const struct step_result *r = row->result;
  char slice[SLICE_TEXT];
  hw_slice_text(row->slice, row->cluster, slice, sizeof slice);
  report_json_set(json, object, "slice", report_json_text(slice));
  report_json_set(json, object, "devices", report_json_uint(r->devices));
  report_json_set(json, object, "interval", interval_of(json, r));
  report_json_set(json, object, "overlap", json_string(report_step_overlap_name(row->program->overlap)));
  report_json_set(json, object, "pipeline", pipeline_of(json, row->program));
  report_json_set(json, object, "time_by_cause", causes_of(json, r));
  report_json_set(json, object, "exposed_by_kind", exposed_of(json, r));
  report_json_set(json, object, "communication_s", report_json_real(r->communication_s));
  report_json_set(json, object, "contention_s", report_json_real(r->contention_s));
  report_json_set(json, object, "hardware_flops", report_json_real(r->hardware_flops));
  report_json_set(json, object, "model_flops",
                  row->program->model_flops > 0 ? report_json_real(row->program->model_flops) : json_null());
  report_json_set(json, object, "mfu", report_json_real(r->mfu));
  report_json_set(json, object, "hfu", report_json_real(r->hfu));
  report_json_set(json, object, "tokens_per_s", report_json_real(r->tokens_per_s));
  report_json_set(json, object, "samples_per_s", report_json_real(r->samples_per_s));
  report_json_set(json, object, "energy_J", report_json_real(r->energy_J));
  report_json_set(json, object, "price_usd", report_json_real(r->price_usd));
  report_json_set(json, object, "memory", memory_of(json, &r->memory));
  report_json_set(json, object, "collectives", collectives_of(json, r));
  report_json_set(json, object, "network", sent_of(json, row));
}

static json_t *row_of(struct report_json *json, const struct report_step_row *row, double fastest_s) {
  json_t *object = json_object();
  report_json_set(json, object, "cluster", report_json_text(row->cluster->id));
  report_json_set(json, object, "name", report_json_text(row->cluster->name));
  report_json_set(json, object, "chip", report_json_text(row->cluster->chip));
  report_json_set(json, object, "refused", json_boolean(!row->result));
  report_json_set(json, object, "reason", report_json_text(row->result ? NULL : row->refusal));
  double time_s = row->result ? row->result->time_s : (double)NAN;
  report_json_set(json, object, "time_s", report_json_real(time_s));
  report_json_set(json, object, "times_fastest", report_json_real(fastest_s > 0 ? time_s / fastest_s : (double)NAN));
  if (row->result) {
    set_prediction(json, object, row);
  }
  struct note_list notes = {json, json_array()};
  report_step_notes(row, add_note, &notes);
  report_json_set(json, object, "notes", notes.array);
  return object;
}

enum status report_step_json(const struct report_step *step, struct strbuf *out) {
  size_t *order = malloc((step->count ? step->count : 1) * sizeof *order);
  if (!order) {
    return STATUS_MEMORY;
  }
  report_step_order(step, order);
  struct report_json json = {0};
  json_t *root = report_json_document(&json, "ridgeline-step", step->version);
  report_json_set(&json, root, "program", report_json_text(step->program));
  report_json_set(&json, root, "fidelity", report_json_text(step->fidelity));
  report_json_set(&json, root, "network", report_json_text(step->network));
  const struct report_step_row *first = step->count ? &step->rows[order[0]] : NULL;
  double fastest_s = first && first->result ? first->result->time_s : (double)NAN;
  json_t *rows = json_array();
  for (size_t i = 0; i < step->count; i++) {
    report_json_append(&json, rows, row_of(&json, &step->rows[order[i]], fastest_s));
  }
  report_json_set(&json, root, "steps", rows);
  free(order);
  return report_json_finish(&json, root, out);
}
