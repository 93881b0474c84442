/* What a profile holds, as a table or as JSON (docs/json.md, "profile"). */
#include <jansson.h>
#include <stdlib.h>

#include "profile/measured_kernels.h"
#include "report/report.h"

struct listing {
  struct report_table *table; /* text */
  json_t *rows; /* JSON */
  bool is_program, failed;
  uint64_t count;
};

static void add_time(struct report_table *table, double time_s) {
  struct strbuf text = {0};
  report_time(&text, time_s);
  report_table_cell(table, strbuf_text(&text));
  strbuf_release(&text);
}

static bool add_text(void *user, const struct store_count *row) {
  struct listing *l = user;
  report_table_cell(l->table, row->source->name);
  report_table_cell(l->table, row->device);
  report_table_cell(l->table, row->op);
  report_table_cell(l->table, row->format);
  report_table_cell(l->table, store_split_name(row->split));
  report_table_cellf(l->table, "%llu", (unsigned long long)row->rows);
  add_time(l->table, row->latency_min_s);
  add_time(l->table, row->latency_max_s);
  report_table_cell(l->table, row->source->may_fit ? "fit" : "score");
  report_table_cell(l->table, row->source->licence);
  l->count += row->rows;
  return true;
}

static bool add_json(void *user, const struct store_count *row) {
  struct listing *l = user;
  json_t *object =
      json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:f,s:f,s:s,s:s}", "kind", l->is_program ? "program" : "operator",
                "source", row->source->name, "device", row->device, l->is_program ? "program" : "op", row->op, "format",
                row->format, "split", store_split_name(row->split), "rows", (json_int_t)row->rows, "latency_min_s",
                row->latency_min_s, "latency_max_s", row->latency_max_s, "use", row->source->may_fit ? "fit" : "score",
                "licence", row->source->licence);
  l->failed = object == NULL || json_array_append_new(l->rows, object) != 0;
  l->count += row->rows;
  return !l->failed;
}

static enum status show_text(struct store *profile, struct strbuf *out, struct diag_list *diags) {
  static const char *const headings[] = {"source", "device",  "op or program", "format", "split",
                                         "rows",   "fastest", "slowest",       "use",    "licence"};
  static const enum report_align aligns[] = {REPORT_LEFT,  REPORT_LEFT,  REPORT_LEFT,  REPORT_LEFT, REPORT_LEFT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT, REPORT_LEFT};
  struct listing l = {.table = report_table_new(headings, aligns, sizeof aligns / sizeof aligns[0])};
  if (l.table == NULL) {
    return STATUS_MEMORY;
  }
  enum status status = store_each_count(profile, false, add_text, &l, diags);
  if (status == STATUS_OK) {
    status = store_each_count(profile, true, add_text, &l, diags);
  }
  report_table_print(l.table, out);
  strbuf_printf(out, "\n%llu rows\n", (unsigned long long)l.count);
  report_table_free(l.table);
  return status;
}

static enum status show_json(struct store *profile, struct strbuf *out, struct diag_list *diags) {
  struct listing l = {.rows = json_array()};
  enum status status = l.rows == NULL ? STATUS_MEMORY : store_each_count(profile, false, add_json, &l, diags);
  l.is_program = true;
  if (status == STATUS_OK) {
    status = store_each_count(profile, true, add_json, &l, diags);
  }
  json_t *document = status == STATUS_OK && !l.failed
                         ? json_pack("{s:s,s:i,s:s,s:I,s:O}", "format", "ridgeline-profile", "format_version", 1,
                                     "ridgeline_version", RDG_VERSION, "rows", (json_int_t)l.count, "groups", l.rows)
                         : NULL;
  char *text = document != NULL ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
  if (text != NULL) {
    strbuf_puts(out, text);
    strbuf_putc(out, '\n');
  } else if (status == STATUS_OK) {
    /* memory, or a text in a foreign file that is no UTF-8 */
    diag_file(diags, DIAG_E0602_PROFILE, NULL, 0, 0, "the profile holds a text that JSON cannot: it is not UTF-8");
    status = STATUS_INPUT;
  }
  free(text);
  json_decref(document);
  json_decref(l.rows);
  return status;
}

enum status profile_show(struct store *profile, bool as_json, struct strbuf *out, struct diag_list *diags) {
  enum status status = as_json ? show_json(profile, out, diags) : show_text(profile, out, diags);
  return status == STATUS_OK && out->failed ? STATUS_MEMORY : status;
}
