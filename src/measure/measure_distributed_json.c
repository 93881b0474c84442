/* The suite "distributed" as JSON (docs/json.md, "validation"): every row, skipped ones too, scores of groups, goals. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "measure/measure_distributed.h"

static json_t *number(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

static json_t *strategy_json(const struct training_row *row) {
  const struct generate_training *t = &row->training;
  return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "data", (json_int_t)t->data, "tensor",
                   (json_int_t)t->tensor, "context", (json_int_t)t->context, "pipeline", (json_int_t)t->pipeline,
                   "virtual_stages", (json_int_t)t->virtual_stages, "expert", (json_int_t)t->expert, "global_batch",
                   (json_int_t)t->global_batch, "micro_batch", (json_int_t)t->micro_batch, "sequence",
                   (json_int_t)t->sequence);
}

static json_t *row_json(const struct training_row *row) {
  json_t *object = json_pack("{s:s,s:I,s:s,s:s,s:s,s:s,s:s?,s:s?,s:I,s:b}", "table", training_table_name(row->table),
                             "line", (json_int_t)row->line, "model", row->model, "hardware", row->system, "precision",
                             row->precision, "state", training_skip_name(row->skip), "note", row->note, "source",
                             row->source ? row->source->label : NULL, "measurements", (json_int_t)row->measurements,
                             "two_in_one_cell", (int)row->is_pair);
  if (object && row->skip == TRAINING_TAKEN) {
    json_t *more =
        json_pack("{s:s,s:s,s:I,s:o,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "system", row->hardware->label, "cluster",
                  row->hardware->cluster, "devices", (json_int_t)row->devices, "strategy", strategy_json(row), "metric",
                  training_metric_name(row->metric), "measured_s", number(row->measured_s), "predicted_s",
                  number(row->predicted_s), "compute_s", number(row->compute_s), "exposed_s", number(row->exposed_s),
                  "bubble_s", number(row->bubble_s), "other_s", number(row->other_s), "model_flops",
                  number(row->model_flops), "implied_mfu", number(row->implied_mfu));
    json_object_update(object, more);
    json_decref(more);
  }
  return object;
}

static json_t *four_gpu_json(const struct four_gpu_row *row) {
  return json_pack("{s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "system", row->system, "program", row->program, "measured_s",
                   number(row->measured_s), "predicted_s", number(row->predicted_s), "published_s",
                   number(row->published_s), "compute_s", number(row->compute_s), "communication_s",
                   number(row->communication_s), "exposed_s", number(row->exposed_s));
}

static json_t *goal_json(const struct distributed_goal *goal) {
  return json_pack("{s:s,s:I,s:o,s:f,s:s,s:b}", "title", goal->title, "rows", (json_int_t)goal->count, "value",
                   number(goal->count > 0 ? goal->value : (double)NAN), "bound", goal->bound, "relation",
                   goal->is_least ? ">=" : "<=", "met", (int)distributed_goal_is_met(goal));
}

static json_t *groups_json(const struct training_rows *rows, enum status *status) {
  json_t *groups = json_array();
  struct training_filter filter = {-1, NULL, NULL};
  while (*status == STATUS_OK && training_group_next(rows, &filter)) {
    struct score s;
    *status = training_score(rows, &filter, &s);
    if (*status == STATUS_OK) {
      json_array_append_new(groups, json_pack("{s:s,s:s,s:s,s:I,s:o,s:o,s:o,s:o,s:o}", "table",
                                              training_table_name((enum training_table)filter.table), "system",
                                              filter.system, "source", filter.source, "rows", (json_int_t)s.count,
                                              "mape", number(s.mape), "median", number(s.median), "p90", number(s.p90),
                                              "bias", number(s.bias), "kendall_tau", number(s.kendall)));
    }
  }
  return groups;
}

enum status distributed_goals_of_collectives(const char *json, distributed_goal_list *goals) {
  static const char *const titles[] = {"collectives of 1 MB and more, mean error",
                                       "collectives of all sizes, mean error",
                                       "collectives of an unseen system, mean error"};
  json_t *document = json_loads(json, 0, NULL);
  const json_t *list = json_object_get(document, "goals");
  enum status status = json_is_array(list) ? STATUS_OK : STATUS_INPUT;
  for (size_t i = 0; i < json_array_size(list) && i < sizeof titles / sizeof titles[0] && status == STATUS_OK; i++) {
    const json_t *value = json_object_get(json_array_get(list, i), "value");
    struct distributed_goal goal = {titles[i], json_number_value(value),
                                    json_number_value(json_object_get(json_array_get(list, i), "at_most")), false,
                                    json_is_number(value) ? json_array_size(json_object_get(document, "cells")) : 0};
    status = vec_push(goals, goal) ? STATUS_OK : STATUS_MEMORY;
  }
  json_decref(document);
  return status;
}

enum status distributed_write_json(const struct distributed_results *results, struct strbuf *out) {
  enum status status = STATUS_OK;
  json_t *rows = json_array(), *four = json_array(), *goals = json_array();
  for (size_t i = 0; i < results->training.list.count; i++) {
    json_array_append_new(rows, row_json(&results->training.list.data[i]));
  }
  for (size_t i = 0; i < results->four_gpus.list.count; i++) {
    json_array_append_new(four, four_gpu_json(&results->four_gpus.list.data[i]));
  }
  for (size_t i = 0; i < results->goals.count; i++) {
    json_array_append_new(goals, goal_json(&results->goals.data[i]));
  }
  json_t *groups = groups_json(&results->training, &status);
  json_t *document = json_pack("{s:s,s:i,s:s,s:s,s:o,s:o,s:o,s:o}", "format", "ridgeline-validation", "format_version",
                               1, "ridgeline_version", RDG_VERSION, "suite", "distributed", "rows", rows, "four_gpus",
                               four, "groups", groups, "goals", goals);
  char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
  if (text) {
    strbuf_printf(out, "%s\n", text);
  }
  status = status == STATUS_OK && !text ? STATUS_MEMORY : status;
  free(text);
  json_decref(document);
  return status;
}
