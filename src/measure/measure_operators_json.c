/* The suite "operators" as JSON (docs/json.md, "operator validation"). Rows are written one by one: there are many. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/measure_operators.h"

static const char *const predictor_keys[OPERATOR_PREDICTOR_COUNT] = {
    [OPERATOR_MODEL] = "model",
    [OPERATOR_ROOFLINE] = "roofline",
    [OPERATOR_TWO_CONSTANTS] = "two_constants",
    [OPERATOR_NEIGHBOURS] = "neighbours",
    [OPERATOR_OTHER_CHIPS] = "other_chips",
    [OPERATOR_PEER] = "peer",
};

static json_t *real(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

static json_t *baselines_json(const struct operator_score *s) {
  json_t *baselines = json_object();
  for (int p = OPERATOR_MODEL + 1; p < OPERATOR_PREDICTOR_COUNT; p++) {
    json_object_set_new(baselines, predictor_keys[p],
                        json_pack("{s:I,s:o,s:o}", "rows", (json_int_t)s->count[p], "mape", real(s->mape[p]),
                                  "model_mape", real(s->model_mape[p])));
  }
  return baselines;
}

/* Statistics of the rows that `filter` takes; NULL when memory is exhausted. */
static json_t *score_json(const struct operator_set *set, const struct operator_filter *filter) {
  struct operator_score s;
  if (operator_score_of(set, filter, &s) != STATUS_OK) {
    return NULL;
  }
  bool has_rows = s.model.count > 0;
  return json_pack("{s:s?,s:s?,s:s,s:s,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "chip", filter->chip, "source",
                   filter->source ? set->kernels.sources.data[filter->source - 1] : NULL, "class",
                   filter->class_of == KERNEL_CLASS_COUNT ? "all" : kernel_class_name(filter->class_of), "format",
                   filter->format == KERNEL_FORMAT_COUNT ? "all" : kernel_format_info(filter->format)->name, "rows",
                   (json_int_t)s.model.count, "mape", real(has_rows ? s.model.mape : (double)NAN), "median",
                   real(has_rows ? s.model.median : (double)NAN), "p90", real(has_rows ? s.model.p90 : (double)NAN),
                   "bias", real(has_rows ? s.model.bias : (double)NAN), "kendall_tau", real(s.model.kendall),
                   "coverage_90", real(s.coverage), "baselines", baselines_json(&s));
}

static void add_group_json(const struct operator_set *set, const struct operator_group *group, unsigned source,
                           json_t *groups) {
  struct operator_filter filter = OPERATOR_ALL_ROWS;
  filter.chip = group->chip->id;
  filter.class_of = group->class_of;
  filter.format = group->format;
  filter.source = source;
  json_t *row = score_json(set, &filter);
  json_object_set_new(row, "constants", json_string(operator_constants(set, group, source)));
  json_object_set_new(row, "other_chips_of", group->others ? json_string(group->others) : json_null());
  json_array_append_new(groups, row);
}

/* Of every group all rows, and those of each source where it has several. */
static json_t *groups_json(const struct operator_set *set) {
  json_t *groups = json_array();
  for (size_t i = 0; i < set->groups.count; i++) {
    const struct operator_group *group = &set->groups.data[i];
    unsigned source = operator_next_source(set, group, 0);
    bool has_several = operator_next_source(set, group, source) != 0;
    add_group_json(set, group, 0, groups);
    for (; has_several && source; source = operator_next_source(set, group, source)) {
      add_group_json(set, group, source, groups);
    }
  }
  return groups;
}

/* Pools: per chip and class, then per class over all chips. */
static json_t *pools_json(const struct operator_set *set) {
  json_t *pools = json_array();
  bool seen[KERNEL_CLASS_COUNT] = {false};
  for (size_t i = 0; i < set->groups.count; i++) {
    const struct operator_group *group = &set->groups.data[i];
    struct operator_filter filter = OPERATOR_ALL_ROWS;
    filter.chip = group->chip->id;
    filter.class_of = group->class_of;
    if (i == 0 || group[-1].chip != group->chip || group[-1].class_of != group->class_of) {
      json_array_append_new(pools, score_json(set, &filter));
    }
    seen[group->class_of] = true;
  }
  for (unsigned c = 0; c < KERNEL_CLASS_COUNT; c++) {
    struct operator_filter filter = OPERATOR_ALL_ROWS;
    filter.class_of = (enum kernel_class)c;
    if (seen[c]) {
      json_array_append_new(pools, score_json(set, &filter));
    }
  }
  return pools;
}

static json_t *peers_json(const struct operator_set *set) {
  json_t *peers = json_array();
  for (const struct operator_peer *peer = operator_peers; peer->name; peer++) {
    struct operator_filter filter = OPERATOR_ALL_ROWS;
    struct operator_score s;
    filter.chip = peer->chip;
    filter.class_of = peer->class_of;
    filter.extent_min = peer->extent_min;
    filter.extent_max = peer->extent_max;
    if (operator_score_of(set, &filter, &s) == STATUS_OK) {
      json_array_append_new(peers,
                            json_pack("{s:s,s:s,s:s,s:f,s:i,s:s,s:I,s:o,s:o}", "peer", peer->name, "chip", peer->chip,
                                      "class", kernel_class_name(peer->class_of), "published_mape",
                                      peer->published_mape, "published_rows", (int)peer->published_rows, "source",
                                      peer->source, "rows", (json_int_t)s.count[OPERATOR_PEER], "mape",
                                      real(s.mape[OPERATOR_PEER]), "model_mape", real(s.model_mape[OPERATOR_PEER])));
    }
  }
  return peers;
}

static json_t *goals_json(const operator_goal_list *goals) {
  static const char *const kinds[] = {[OPERATOR_GOAL_MAPE] = "mape",
                                      [OPERATOR_GOAL_TWO_CONSTANTS] = "better_than_two_constants",
                                      [OPERATOR_GOAL_COVERAGE] = "coverage_90"};
  json_t *rows = json_array();
  for (size_t i = 0; i < goals->count; i++) {
    const struct operator_goal *goal = &goals->data[i];
    const char *chip = goal->filter.chip ? goal->filter.chip : goal->filter.family;
    struct strbuf title = {0};
    operator_goal_title(goal, &title);
    json_array_append_new(
        rows, json_pack("{s:s,s:s,s:s?,s:s?,s:I,s:o,s:o,s:s}", "kind", kinds[goal->kind], "goal", strbuf_text(&title),
                        "chip", chip, "class",
                        goal->filter.class_of == KERNEL_CLASS_COUNT ? NULL : kernel_class_name(goal->filter.class_of),
                        "rows", (json_int_t)goal->count, "value", real(goal->count ? goal->value : (double)NAN),
                        "bound", real(goal->bound), "state", operator_goal_state_name(goal->state)));
    strbuf_release(&title);
  }
  return rows;
}

static void write_row(const struct operator_set *set, const struct operator_row *row, struct strbuf *out) {
  struct strbuf shape = {0};
  operator_shape_text(&row->row->shape, &shape);
  json_t *cells = json_pack("[s,s,s,s,s,f]", row->row->chip->id, kernel_class_name(row->row->shape.class_of),
                            kernel_format_info(row->row->shape.format)->name,
                            set->kernels.sources.data[row->row->source], strbuf_text(&shape), row->row->latency_s);
  strbuf_release(&shape);
  for (int p = 0; p < OPERATOR_PREDICTOR_COUNT; p++) {
    json_array_append_new(cells, real(row->time_s[p]));
  }
  json_array_append_new(cells, real(row->low_s));
  json_array_append_new(cells, real(row->high_s));
  char *text = cells ? json_dumps(cells, JSON_COMPACT | JSON_REAL_PRECISION(7)) : NULL;
  out->failed |= text == NULL;
  strbuf_puts(out, text ? text : "");
  free(text);
  json_decref(cells);
}

enum status operators_write_json(const struct operator_set *set, const operator_goal_list *goals, struct strbuf *out) {
  json_t *columns =
      json_pack("[s,s,s,s,s,s,s,s,s,s,s,s,s,s]", "chip", "class", "format", "source", "shape", "measured_s", "model_s",
                "roofline_s", "two_constants_s", "neighbours_s", "other_chips_s", "peer_s", "low_s", "high_s");
  json_t *document =
      json_pack("{s:s,s:i,s:s,s:s,s:I,s:o,s:o,s:o,s:o,s:o}", "format", "ridgeline-validation", "format_version", 1,
                "ridgeline_version", RDG_VERSION, "suite", "operators", "measured_rows",
                (json_int_t)set->kernels.rows.count, "scores", groups_json(set), "pools", pools_json(set), "peers",
                peers_json(set), "goals", goals_json(goals), "row_columns", columns);
  char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
  json_decref(document);
  if (!text) {
    return STATUS_MEMORY;
  }
  char *end = strrchr(text, '}');
  strbuf_add(out, text, (size_t)(end - text - 1)); /* without "\n}" */
  free(text);
  strbuf_puts(out, ",\n  \"rows\": [");
  for (size_t i = 0; i < set->rows.count; i++) {
    strbuf_puts(out, i ? ",\n    " : "\n    ");
    write_row(set, &set->rows.data[i], out);
  }
  strbuf_puts(out, "\n  ]\n}\n");
  return out->failed ? STATUS_MEMORY : STATUS_OK;
}
