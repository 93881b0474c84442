/* The models that can be generated, as a table and as JSON. */
#include "report/report_int.h"

/* Sizes in the order of both forms. */
static const struct {
  const char *heading, *key;
  size_t offset;
} sizes[] = {
    {"layers", "layers", offsetof(struct report_model, layers)},
    {"hidden", "hidden", offsetof(struct report_model, hidden)},
    {"heads", "heads", offsetof(struct report_model, heads)},
    {"KV heads", "kv_heads", offsetof(struct report_model, kv_heads)},
    {"head size", "head_size", offsetof(struct report_model, head_size)},
    {"feed-forward", "ffn", offsetof(struct report_model, ffn)},
    {"vocabulary", "vocabulary", offsetof(struct report_model, vocabulary)},
    {"experts", "experts", offsetof(struct report_model, experts)},
};
enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };

static uint32_t size_of(const struct report_model *model, size_t i) {
  return *(const uint32_t *)((const char *)model + sizes[i].offset);
}

void report_models_text(const struct report_model *models, size_t count, struct strbuf *out) {
  const char *headings[SIZE_COUNT + 4] = {"model", "parameters"};
  enum report_align aligns[SIZE_COUNT + 4] = {REPORT_LEFT, REPORT_RIGHT};
  for (size_t i = 0; i < SIZE_COUNT; i++) {
    headings[2 + i] = sizes[i].heading;
    aligns[2 + i] = REPORT_RIGHT;
  }
  headings[SIZE_COUNT + 2] = "steps";
  headings[SIZE_COUNT + 3] = "summary";
  struct report_table *table = report_table_new(headings, aligns, SIZE_COUNT + 4);
  struct strbuf text = {0};
  for (size_t m = 0; m < count; m++) {
    strbuf_clear(&text);
    report_integer(&text, models[m].parameters);
    report_table_cell(table, models[m].name);
    report_table_cell(table, strbuf_text(&text));
    for (size_t i = 0; i < SIZE_COUNT; i++) {
      uint32_t size = size_of(&models[m], i);
      if (size > 0) {
        report_table_cellf(table, "%u", size);
      } else {
        report_table_cell(table, "-");
      }
    }
    report_table_cell(table, models[m].steps);
    report_table_cell(table, models[m].summary);
  }
  report_table_print(table, out);
  out->failed |= text.failed;
  strbuf_release(&text);
  report_table_free(table);
}

enum status report_models_json(const struct report_model *models, size_t count, const char *version,
                               struct strbuf *out) {
  struct report_json json = {0};
  json_t *root = report_json_document(&json, "ridgeline-models", version), *list = json_array();
  for (size_t m = 0; m < count; m++) {
    json_t *row = json_object();
    report_json_set(&json, row, "name", report_json_text(models[m].name));
    report_json_set(&json, row, "summary", report_json_text(models[m].summary));
    report_json_set(&json, row, "source", report_json_text(models[m].source));
    report_json_set(&json, row, "steps", report_json_text(models[m].steps));
    report_json_set(&json, row, "parameters", report_json_uint(models[m].parameters));
    report_json_set(&json, row, "published_parameters", report_json_uint(models[m].published_parameters));
    for (size_t i = 0; i < SIZE_COUNT; i++) {
      report_json_set(&json, row, sizes[i].key, json_integer(size_of(&models[m], i)));
    }
    report_json_set(&json, row, "experts_per_token", json_integer(models[m].experts_per_token));
    report_json_append(&json, list, row);
  }
  report_json_set(&json, root, "models", list);
  return report_json_finish(&json, root, out);
}
