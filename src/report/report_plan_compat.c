/* Latencies of the published planner's designs: one table, milliseconds as they were published; JSON in seconds.
 * docs/plan-compat.md explains the columns. */
#include "report/report_plan_compat.h"

#include "report/report_int.h"

/* What only some designs choose; NULL for the others. */
static const char *preload_of(const struct plan_compat_row *row) {
  if (row->design != PLAN_COMPAT_BASIC && row->design != PLAN_COMPAT_STATIC) {
    return NULL;
  }
  return row->largest_cold ? "largest" : "smallest";
}

static const char *contention_of(const struct plan_compat_row *row) {
  if (row->design == PLAN_COMPAT_IDEAL) {
    return NULL;
  }
  return row->moves_loads ? "loads move" : "operators wait";
}

/* ---- text ---- */

static void put_head(const struct report_plan_compat *report, struct strbuf *out) {
  const struct plan_compat_result *result = report->result;
  report_clean(out, report->operators);
  strbuf_puts(out, ", as the published planner has it: ");
  report_integer(out, result->operators);
  strbuf_puts(out, " operators of ");
  report_integer(out, result->sorts);
  strbuf_printf(out, " sorts in %u layer%s, ", result->layers, result->layers == 1 ? "" : "s");
  report_integer(out, result->plans);
  strbuf_puts(out, " partition plans\n");
  strbuf_puts(out, report->options->legal ? "tensors cut along their own axes; " : "axes as published; ");
  strbuf_puts(out, report->options->equal_constants ? "equal constants for all designs; "
                                                    : "each design with its own constants; ");
  strbuf_printf(out, "%.3f GB from HBM, at its rate %.3f ms\n\n", (double)result->memory_bytes * 1e-9,
                result->memory_ms);
}

static void put_row(struct report_table *table, const struct plan_compat_row *row) {
  const char *preload = preload_of(row);
  const char *contention = contention_of(row);
  report_table_cellf(table, "%s%s", plan_compat_design_name((enum plan_compat_design)row->design),
                     row->is_best ? " *" : "");
  report_table_cell(table, preload != NULL ? preload : "-");
  report_table_cell(table, contention != NULL ? contention : "-");
  if (row->threshold > 0.0) {
    report_table_cellf(table, "%.2f", row->threshold);
  } else {
    report_table_cell(table, "-");
  }
  if (row->execution_kib > 0) {
    report_table_cellf(table, "%u KiB", row->execution_kib);
  } else {
    report_table_cell(table, "-");
  }
  if (row->latency_ms > 0.0) {
    report_table_cellf(table, "%.3f ms", row->latency_ms);
    report_table_cellf(table, "%.3f ms", row->busy_ms);
  } else {
    report_table_cell(table, "does not fit");
    report_table_cell(table, "-");
  }
}

void report_plan_compat_text(const struct report_plan_compat *report, struct strbuf *out) {
  static const char *const headings[] = {"design",          "preload states", "contention", "threshold",
                                         "execution space", "time",           "executing"};
  static const enum report_align aligns[] = {REPORT_LEFT,  REPORT_LEFT,  REPORT_LEFT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT};
  struct report_table *table = report_table_new(headings, aligns, sizeof headings / sizeof *headings);
  put_head(report, out);
  for (uint32_t i = 0; i < report->result->row_count; i++) {
    put_row(table, &report->result->rows[i]);
  }
  report_table_print(table, out);
  report_table_free(table);
  strbuf_puts(out, "\n* the design's result: the fastest of its runs\n");
}

/* ---- JSON ---- */

static json_t *row_of(struct report_json *json, const struct plan_compat_row *row) {
  const bool fits = row->latency_ms > 0.0;
  json_t *object = json_object();
  report_json_set(json, object, "design", json_string(plan_compat_design_name((enum plan_compat_design)row->design)));
  report_json_set(json, object, "best", json_boolean(row->is_best));
  report_json_set(json, object, "preload_states", report_json_text(preload_of(row)));
  report_json_set(json, object, "contention", report_json_text(contention_of(row)));
  report_json_set(json, object, "threshold", row->threshold > 0.0 ? report_json_real(row->threshold) : json_null());
  report_json_set(json, object, "execution_bytes",
                  row->execution_kib > 0 ? report_json_uint((uint64_t)row->execution_kib * 1024) : json_null());
  report_json_set(json, object, "time_s", fits ? report_json_real(row->latency_ms * 1e-3) : json_null());
  report_json_set(json, object, "executing_s", fits ? report_json_real(row->busy_ms * 1e-3) : json_null());
  return object;
}

enum status report_plan_compat_json(const struct report_plan_compat *report, struct strbuf *out) {
  const struct plan_compat_result *result = report->result;
  struct report_json json = {0};
  json_t *root = report_json_document(&json, "ridgeline-plan-compat", report->version);
  json_t *rows = json_array();
  for (uint32_t i = 0; i < result->row_count; i++) {
    report_json_append(&json, rows, row_of(&json, &result->rows[i]));
  }
  report_json_set(&json, root, "operators", report_json_text(report->operators));
  report_json_set(&json, root, "legal_axes", json_boolean(report->options->legal));
  report_json_set(&json, root, "equal_constants", json_boolean(report->options->equal_constants));
  report_json_set(&json, root, "operator_count", report_json_uint(result->operators));
  report_json_set(&json, root, "sorts", report_json_uint(result->sorts));
  report_json_set(&json, root, "layers", report_json_uint(result->layers));
  report_json_set(&json, root, "partition_plans", report_json_uint(result->plans));
  report_json_set(&json, root, "memory_bytes", report_json_uint(result->memory_bytes));
  report_json_set(&json, root, "memory_s", report_json_real(result->memory_ms * 1e-3));
  report_json_set(&json, root, "designs", rows);
  return report_json_finish(&json, root, out);
}
