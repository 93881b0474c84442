/* The JSON document "ridgeline-plan"; docs/json.md is its schema. */
#include <stdlib.h>

#include "report/report_plan_int.h"

static void set_s(struct report_json *json, json_t *object, const char *key, int64_t ps) {
  report_json_set(json, object, key, report_json_real(report_plan_s(ps)));
}

static void set_real(struct report_json *json, json_t *object, const char *key, double value) {
  report_json_set(json, object, key, report_json_real(value));
}

static void set_uint(struct report_json *json, json_t *object, const char *key, uint64_t value) {
  report_json_set(json, object, key, report_json_uint(value));
}

static json_t *chip_of(struct report_json *json, const struct plan_chip *chip) {
  json_t *object = json_object();
  report_json_set(json, object, "chip", report_json_text(chip->id));
  set_uint(json, object, "cores", chip->cores);
  set_uint(json, object, "sram_bytes", chip->sram_bytes);
  set_uint(json, object, "reserve_bytes", chip->reserve_bytes);
  set_real(json, object, "link_rate", chip->link_Bps);
  report_json_set(json, object, "memory_rate", chip->has_memory ? report_json_real(chip->memory_Bps) : json_null());
  return object;
}

static json_t *shares_of(struct report_json *json, const struct plan_program *program) {
  json_t *rows = json_array();
  for (size_t i = 0; i < program->shares.count; i++) {
    json_t *row = json_object();
    report_json_set(json, row, "step", report_json_text(program->shares.data[i].step));
    set_uint(json, row, "operators_before", program->shares.data[i].operators_before);
    set_uint(json, row, "operators_after", program->shares.data[i].operators_after);
    report_json_append(json, rows, row);
  }
  return rows;
}

static json_t *graph_of(struct report_json *json, const struct plan_program *program) {
  json_t *object = json_object();
  set_uint(json, object, "operators", program->operators.count);
  set_uint(json, object, "sorts", program->sort_count);
  set_uint(json, object, "layers", program->layer_count);
  set_uint(json, object, "memory_bytes", program->memory_bytes);
  set_real(json, object, "matrix_flops", program->matrix_flop);
  set_real(json, object, "vector_flops", program->vector_flop);
  report_json_set(json, object, "simplification", shares_of(json, program));
  return object;
}

static json_t *bounds_of(struct report_json *json, const struct plan_result *result) {
  json_t *object = json_object(), *space = json_object(), *any = json_object();
  set_s(json, space, "time_s", result->bounds.chain_ps);
  set_s(json, space, "flow_shop_s", result->bounds.flow_shop_ps);
  set_s(json, space, "links_s", result->bounds.link_ps);
  set_s(json, any, "time_s", result->resource.bound_ps);
  set_s(json, any, "memory_s", result->resource.memory_ps);
  set_s(json, any, "matrix_s", result->resource.matrix_ps);
  set_s(json, any, "vector_s", result->resource.vector_ps);
  set_s(json, any, "links_s", result->resource.link_ps);
  set_s(json, any, "first_load_s", result->resource.first_load_ps);
  report_json_set(json, object, "plan_space", space);
  report_json_set(json, object, "resources", any);
  return object;
}

static void set_found(struct report_json *json, json_t *object, const struct plan_row *row) {
  const struct plan_timeline *timeline = &row->result.timeline;
  set_s(json, object, "time_s", timeline->makespan_ps);
  set_real(json, object, "gap_plan_space", row->gap_space);
  set_real(json, object, "gap_resources", row->gap_resource);
  set_real(json, object, "memory_utilisation", row->memory_utilisation);
  set_real(json, object, "link_utilisation", row->link_utilisation);
  set_real(json, object, "matrix_utilisation", row->compute_utilisation);
  set_s(json, object, "compute_s", timeline->compute_ps);
  set_s(json, object, "wait_load_s", timeline->stall_load_ps);
  set_s(json, object, "wait_links_s", timeline->stall_link_ps);
  set_uint(json, object, "peak_sram_bytes", timeline->peak_bytes);
  report_json_set(json, object, "complete", json_boolean(row->result.stats.complete));
  set_uint(json, object, "labels", row->result.stats.labels);
  set_uint(json, object, "schedules", row->result.stats.schedules);
}

static json_t *policies_of(struct report_json *json, const struct plan_result *result) {
  json_t *rows = json_array();
  for (uint32_t i = 0; i < result->row_count; i++) {
    const struct plan_row *row = &result->rows[i];
    json_t *object = json_object();
    report_json_set(json, object, "policy", report_json_text(row->policy->name));
    report_json_set(json, object, "reference", json_boolean(row->policy->is_reference));
    report_json_set(json, object, "refused", json_boolean(row->status != STATUS_OK));
    report_json_set(json, object, "reason", report_json_text(report_plan_refusal(row)));
    set_real(json, object, "search_s", row->search_s);
    if (row->status == STATUS_OK) {
      set_found(json, object, row);
    }
    report_json_append(json, rows, object);
  }
  return rows;
}

static json_t *ablation_of(struct report_json *json, const struct report_plan *plan) {
  json_t *rows = json_array();
  for (uint32_t i = 0; i < plan->ablation_count; i++) {
    json_t *row = json_object();
    report_json_set(json, row, "ingredient", report_json_text(plan->ablation[i].ingredient));
    set_s(json, row, "time_s", plan->ablation[i].makespan_ps);
    set_s(json, row, "plan_space_s", plan->ablation[i].bound_ps);
    report_json_append(json, rows, row);
  }
  return rows;
}

static json_t *what_if_of(struct report_json *json, const struct plan_what_if *what_if) {
  json_t *object = json_object();
  set_s(json, object, "time_s", what_if->latency_ps);
  report_json_set(json, object, "sram_bytes",
                  what_if->sram_bytes ? report_json_uint(what_if->sram_bytes) : json_null());
  report_json_set(json, object, "memory_rate",
                  what_if->memory_Bps > 0 ? report_json_real(what_if->memory_Bps) : json_null());
  return object;
}

static json_t *group_of(struct report_json *json, const struct report_plan_group *group) {
  json_t *object = json_object();
  set_uint(json, object, "count", group->count);
  set_s(json, object, "time_s", group->time_ps);
  set_s(json, object, "compute_s", group->phases.compute_ps);
  set_s(json, object, "exchange_s", group->phases.shift_ps + group->phases.serial_ps);
  set_s(json, object, "distribution_s", group->phases.distribute_ps);
  set_s(json, object, "load_s", group->load_ps);
  set_s(json, object, "wait_load_s", group->wait_load_ps);
  set_s(json, object, "wait_links_s", group->wait_link_ps);
  set_uint(json, object, "peak_sram_bytes", group->peak_bytes);
  return object;
}

static json_t *operators_of(struct report_json *json, const struct plan_result *result, const struct plan_row *row) {
  json_t *rows = json_array();
  struct report_plan_group *groups;
  uint32_t count;
  json->failed |= report_plan_groups(result, row, false, &groups, &count) != STATUS_OK;
  for (uint32_t i = 0; i < count; i++) {
    const struct plan_operator *op = &result->program.operators.data[groups[i].first];
    struct strbuf partition = {0};
    report_plan_partition(result, row, groups[i].first, &partition);
    json_t *object = group_of(json, &groups[i]), *axes = json_array();
    for (uint32_t a = 0; a < op->axis_count; a++) {
      report_json_append(json, axes, report_json_uint(op->extents[a]));
    }
    report_json_set(json, object, "operator", report_json_text(report_plan_operator_name(result, groups[i].first)));
    report_json_set(json, object, "axes", axes);
    report_json_set(json, object, "partition", report_json_text(strbuf_text(&partition)));
    report_json_append(json, rows, object);
    strbuf_release(&partition);
  }
  free(groups);
  return rows;
}

static json_t *layers_of(struct report_json *json, const struct plan_result *result, const struct plan_row *row) {
  json_t *rows = json_array();
  struct report_plan_group *groups;
  uint32_t count;
  json->failed |= report_plan_groups(result, row, true, &groups, &count) != STATUS_OK;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t layer = result->program.operators.data[groups[i].first].layer;
    json_t *object = group_of(json, &groups[i]);
    report_json_set(json, object, "layer", layer == UINT32_MAX ? json_null() : report_json_uint(layer));
    report_json_append(json, rows, object);
  }
  free(groups);
  return rows;
}

enum status report_plan_json(const struct report_plan *plan, struct strbuf *out) {
  const struct plan_result *result = plan->result;
  const struct plan_row *chosen = report_plan_chosen(result);
  struct report_json json = {0};
  json_t *root = report_json_document(&json, "ridgeline-plan", plan->version);
  report_json_set(&json, root, "program", report_json_text(plan->program));
  report_json_set(&json, root, "on", chip_of(&json, &result->chip));
  report_json_set(&json, root, "graph", graph_of(&json, &result->program));
  report_json_set(&json, root, "bounds", bounds_of(&json, result));
  report_json_set(&json, root, "policies", policies_of(&json, result));
  report_json_set(&json, root, "chosen", report_json_text(chosen ? chosen->policy->name : NULL));
  report_json_set(&json, root, "operators", chosen ? operators_of(&json, result, chosen) : json_array());
  report_json_set(&json, root, "layers", chosen ? layers_of(&json, result, chosen) : json_array());
  report_json_set(&json, root, "ablation", plan->ablation_count ? ablation_of(&json, plan) : json_null());
  report_json_set(&json, root, "what_if", plan->what_if ? what_if_of(&json, plan->what_if) : json_null());
  set_real(&json, root, "read_s", result->read_s);
  set_real(&json, root, "sets_s", result->sets_s);
  set_real(&json, root, "compile_s", result->total_s);
  return report_json_finish(&json, root, out);
}
