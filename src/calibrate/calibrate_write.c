/* Fits as the YAML files that hw_calibration.h reads, as a table for people, and into a loaded database. */
#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "calibrate/calibrate.h"
#include "report/report.h"

/* The fewest digits that read back the same double. */
static void put_number(struct strbuf *out, double value) {
  char text[40];
  double back = 0;
  int length = 0;
  for (int digits = 1; digits <= 17; digits++) {
    length = decimal_format(text, sizeof text, "%.*g", digits, value);
    if (decimal_parse(text, (size_t)length, &back) && !(back < value) && !(back > value)) {
      break;
    }
  }
  strbuf_add(out, text, (size_t)length);
}

static void put_entry(struct strbuf *out, const char *before, const char *key, double value) {
  strbuf_printf(out, "%s%s: ", before, key);
  put_number(out, value);
}

static void put_range(struct strbuf *out, const char *key, double low, double high) {
  strbuf_printf(out, "    %s: [", key);
  put_number(out, low);
  strbuf_puts(out, ", ");
  put_number(out, high);
  strbuf_puts(out, "]\n");
}

static void put_constants(struct strbuf *out, const struct hw_fit *fit) {
  strbuf_puts(out, "    constants: {");
  size_t line_start = out->length;
  for (unsigned i = 0; i < fit->constant_count; i++) {
    bool is_full = out->length - line_start > 80;
    line_start = is_full ? out->length : line_start;
    put_entry(out, i == 0 ? "" : is_full ? ",\n                " : ", ", fit->names[i], fit->values[i]);
  }
  strbuf_puts(out, "}\n");
}

static void put_intervals(struct strbuf *out, const struct hw_fit *fit) {
  strbuf_puts(out, "    intervals:\n");
  for (unsigned i = 0; i < fit->interval_count; i++) {
    const struct hw_fit_interval *interval = &fit->intervals[i];
    strbuf_puts(out, "      - {");
    if (isfinite(interval->below_s)) {
      put_entry(out, "", "below", interval->below_s);
      strbuf_puts(out, ", ");
    }
    strbuf_printf(out, "rows: %llu", (unsigned long long)interval->rows);
    put_entry(out, ", ", "low", interval->low);
    put_entry(out, ", ", "high", interval->high);
    strbuf_puts(out, "}\n");
  }
}

static void put_fit(struct strbuf *out, const struct hw_fit *fit) {
  strbuf_printf(out,
                "  - class: %s\n    format: %s\n    model: %s\n    sources: [%s]\n    chips: [%s]\n    rows: %llu\n",
                fit->class_name, fit->format, fit->model, fit->sources, fit->chips, (unsigned long long)fit->rows);
  put_entry(out, "    error: {", "mape", fit->mape);
  put_entry(out, ", ", "median", fit->median);
  put_entry(out, ", ", "p90", fit->p90);
  put_entry(out, ", ", "bias", fit->bias);
  if (isfinite(fit->data_sheet_mape)) {
    put_entry(out, ", ", "data_sheet", fit->data_sheet_mape);
  }
  strbuf_puts(out, "}\n");
  put_range(out, "flops", fit->flops_min, fit->flops_max);
  put_range(out, "bytes", fit->bytes_min, fit->bytes_max);
  put_constants(out, fit);
  put_intervals(out, fit);
}

void calibration_write_yaml(const struct calibration *result, const char *device, struct strbuf *out) {
  bool has_head = false;
  for (size_t i = 0; i < result->fits.count; i++) {
    const struct hw_fit *fit = &result->fits.data[i];
    if (strcmp(fit->device, device) != 0) {
      continue;
    }
    if (!has_head) {
      strbuf_printf(
          out, "# Written by `ridgeline calibrate`; docs/calibration.md explains it.\ndevice: %s\ndate: %s\nfits:\n",
          device, fit->date);
      has_head = true;
    }
    put_fit(out, fit);
  }
}

/* Range of all intervals of the fit. */
static void interval_cell(struct report_table *table, const struct hw_fit *fit) {
  double low = INFINITY, high = 0;
  for (unsigned i = 0; i < fit->interval_count; i++) {
    low = fmin(low, fit->intervals[i].low);
    high = fmax(high, fit->intervals[i].high);
  }
  report_table_cellf(table, "%.2f-%.2f", low, high);
}

void calibration_write_table(const struct calibration *result, struct strbuf *out) {
  static const char *const headings[] = {"device", "class",  "format", "chips",      "rows",
                                         "MAPE",   "median", "p90",    "data sheet", "interval"};
  static const enum report_align aligns[] = {REPORT_LEFT,  REPORT_LEFT,  REPORT_LEFT,  REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT};
  struct report_table *table = report_table_new(headings, aligns, sizeof headings / sizeof *headings);
  for (size_t i = 0; i < result->fits.count; i++) {
    const struct hw_fit *fit = &result->fits.data[i];
    report_table_cell(table, fit->device);
    report_table_cell(table, fit->class_name);
    report_table_cell(table, fit->format);
    report_table_cellf(table, "%u", fit->chip_count);
    report_table_cellf(table, "%llu", (unsigned long long)fit->rows);
    report_table_cellf(table, "%.1f %%", fit->mape * 100);
    report_table_cellf(table, "%.1f %%", fit->median * 100);
    report_table_cellf(table, "%.1f %%", fit->p90 * 100);
    report_table_cellf(table, "%.1f %%", fit->data_sheet_mape * 100);
    interval_cell(table, fit);
  }
  report_table_print(table, out);
  report_table_free(table);
}

/* Through the text of the files, so that what is applied is what a file would give. */
enum status calibration_apply(const struct calibration *result, struct hw_database *chips) {
  enum status status = STATUS_OK;
  for (size_t i = 0; i < result->fits.count && status == STATUS_OK; i++) {
    const char *device = result->fits.data[i].device;
    if (i > 0 && strcmp(result->fits.data[i - 1].device, device) == 0) {
      continue;
    }
    struct strbuf text = {0};
    struct diag_list diags;
    diag_init(&diags);
    calibration_write_yaml(result, device, &text);
    struct source source = {.name = device, .text = strbuf_text(&text), .length = text.length};
    status = text.failed ? STATUS_MEMORY : hw_calibration_parse(chips, &source, &diags);
    diag_release(&diags);
    strbuf_release(&text);
  }
  return status;
}
