/* Suite "intercore": the planner's tile and exchange costs beside the one public measurement of a chip whose cores are joined
 * by a network: dense products on a GC200 with their data on the chip (PopSparse, read off a figure to +-3 %).
 *
 * Nothing is fitted to these rows: the constants are those of hardware/, and the prediction is the fastest partition that
 * the closed-form cost model finds. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/csv.h"
#include "measure/measure.h"
#include "measure/score.h"
#include "plan/plan_sets.h"
#include "profile/profile_places.h"
#include "report/report.h"

static const char chip_name[] = "graphcore_gc200";
static const char file_name[] = "ipu_popsparse/dense_matmul_digitised.csv";

struct intercore_row {
  uint64_t m, k, n; /* C[m, n] = A[m, k] B[k, n] */
  uint16_t bits;
  double measured_s, predicted_s; /* predicted NaN: fits in no partition */
  double compute_s, exchange_s; /* of the predicted plan */
  uint32_t spatial[3]; /* m, n, k */
};

struct intercore_rows {
  VEC(struct intercore_row) rows;
};

/* One product whose operands lie somewhere on the chip: each core gathers the tiles it works on. */
static bool make_product(const struct intercore_row *row, struct plan_program *program) {
  enum { M = 1, N = 2, K = 4 };
  struct plan_operator op = {.layer = UINT32_MAX, .axis_count = 3, .tensor_count = 3, .stage_count = 1, .merged = 1};
  op.extents[0] = row->m;
  op.extents[1] = row->n;
  op.extents[2] = row->k;
  const struct plan_tensor tensors[] = {
      {.axes = M | K, .element_bits = row->bits, .source = PLAN_SOURCE_CHIP},
      {.axes = N | K, .element_bits = row->bits, .source = PLAN_SOURCE_CHIP},
      {.axes = M | N, .element_bits = row->bits, .source = PLAN_SOURCE_CHIP, .is_output = true},
  };
  const struct plan_stage stage = {.kind = PLAN_STAGE_MATRIX,
                                   .axes = M | N | K,
                                   .reduced = K,
                                   .left = M | K,
                                   .right = N | K,
                                   .result_bits = row->bits,
                                   .operations = 1};
  bool ok = vec_push(&program->operators, op) && vec_push(&program->stages, stage);
  for (size_t t = 0; t < 3; t++) {
    ok = ok && vec_push(&program->tensors, tensors[t]);
  }
  program->sort_count = 1;
  return ok;
}

static void take_fastest(const struct plan_sets *sets, struct intercore_row *row) {
  const struct plan_choice_set *set = &sets->chain.sets[0];
  for (uint32_t e = 0; e < set->execute_count; e++) {
    const struct plan_execute *execute = &set->executes[e];
    int64_t exchange = execute->shift_ps + execute->serial_ps, total = execute->compute_ps + exchange;
    if (!(row->predicted_s <= (double)total * 1e-12)) { /* NaN as well */
      row->predicted_s = (double)total * 1e-12;
      row->compute_s = (double)execute->compute_ps * 1e-12;
      row->exchange_s = (double)exchange * 1e-12;
      memcpy(row->spatial, sets->sets.data[0].executes[e].spatial, sizeof row->spatial);
    }
  }
}

static enum status predict(const struct plan_chip *chip, struct intercore_row *row) {
  struct plan_program program = {0};
  struct plan_sets sets;
  struct diag_list misfits; /* a product that does not fit is a row without a prediction */
  enum status status = STATUS_MEMORY;
  diag_init(&misfits);
  row->predicted_s = row->compute_s = row->exchange_s = NAN;
  if (make_product(row, &program)) {
    struct plan_set_options options = {.features = {.tree_reduction = true, .overlap = true, .idle_cores = true}};
    status = plan_sets_build(&program, chip, &options, &misfits, &sets);
    if (status == STATUS_OK) {
      take_fastest(&sets, row);
    }
    plan_sets_release(&sets);
  }
  diag_release(&misfits);
  vec_release(&program.operators);
  vec_release(&program.tensors);
  vec_release(&program.stages);
  return status == STATUS_INPUT ? STATUS_OK : status;
}

/* The figure's features are m = k, its batch n; device and type are words. */
static enum status read_row(const struct csv_table *table, size_t i, struct intercore_rows *rows,
                            struct diag_list *diags) {
  double m, k, n, microseconds;
  struct intercore_row row = {0};
  if (strcmp(csv_cell(table, i, csv_column(table, "device")), "IPU") != 0) {
    return STATUS_OK;
  }
  bool is_row = csv_number(table, i, csv_column(table, "m"), &m) && csv_number(table, i, csv_column(table, "k"), &k)
                && csv_number(table, i, csv_column(table, "n_batch"), &n)
                && csv_number(table, i, csv_column(table, "derived_time_us"), &microseconds);
  if (!is_row || !(m >= 1 && k >= 1 && n >= 1 && m < 1e6 && k < 1e6 && n < 1e6 && microseconds > 0)) {
    diag_file(diags, DIAG_W0603_ROWS_LEFT_OUT, table->path, (uint32_t)i + 2, 0, "row without shape or time");
    return STATUS_OK;
  }
  row.m = (uint64_t)n; /* the batch is the product's rows */
  row.n = (uint64_t)m;
  row.k = (uint64_t)k;
  row.bits = strcmp(csv_cell(table, i, csv_column(table, "dtype")), "FP32") == 0 ? 32 : 16;
  row.measured_s = microseconds * 1e-6;
  return vec_push(&rows->rows, row) ? STATUS_OK : STATUS_MEMORY;
}

static enum status read_rows(const char *data, struct intercore_rows *rows, struct diag_list *diags) {
  struct strbuf path = {0};
  struct csv_table table;
  strbuf_printf(&path, "%s/measured/%s", data, file_name);
  enum status status = csv_read(&table, strbuf_text(&path), diags);
  for (size_t i = 0; i < csv_rows(&table) && status == STATUS_OK; i++) {
    status = read_row(&table, i, rows, diags);
  }
  csv_release(&table);
  strbuf_release(&path);
  return status;
}

static struct score score_of(const struct intercore_rows *rows, unsigned bits, uint64_t most_m) {
  double *measured = malloc((rows->rows.count + 1) * sizeof *measured);
  double *predicted = malloc((rows->rows.count + 1) * sizeof *predicted);
  struct score score = {0};
  size_t count = 0;
  for (size_t i = 0; i < rows->rows.count && measured != NULL && predicted != NULL; i++) {
    const struct intercore_row *row = &rows->rows.data[i];
    if ((bits == 0 || row->bits == bits) && row->m <= most_m) {
      measured[count] = row->measured_s;
      predicted[count++] = row->predicted_s;
    }
  }
  if (measured != NULL && predicted != NULL) {
    score = score_rows(measured, predicted, count);
  }
  free(measured);
  free(predicted);
  return score;
}

static void print_rows(const struct intercore_rows *rows, struct strbuf *out) {
  static const char *const headings[] = {
      "type", "batch", "features", "measured", "predicted", "error", "compute", "exchange", "cores (batch x out x in)"};
  static const enum report_align aligns[] = {REPORT_LEFT,  REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT};
  struct report_table *table = report_table_new(headings, aligns, sizeof headings / sizeof headings[0]);
  for (size_t i = 0; i < rows->rows.count; i++) {
    const struct intercore_row *row = &rows->rows.data[i];
    report_table_cell(table, row->bits == 32 ? "f32" : "f16");
    report_table_cellf(table, "%" PRIu64, row->m);
    report_table_cellf(table, "%" PRIu64, row->k);
    report_table_cellf(table, "%.2f us", row->measured_s * 1e6);
    if (isnan(row->predicted_s)) {
      report_table_cell(table, "does not fit");
      for (int c = 0; c < 4; c++) {
        report_table_cell(table, "-");
      }
      continue;
    }
    report_table_cellf(table, "%.2f us", row->predicted_s * 1e6);
    report_table_cellf(table, "%+.0f %%", (row->predicted_s / row->measured_s - 1) * 100);
    report_table_cellf(table, "%.2f us", row->compute_s * 1e6);
    report_table_cellf(table, "%.2f us", row->exchange_s * 1e6);
    report_table_cellf(table, "%" PRIu32 " x %" PRIu32 " x %" PRIu32, row->spatial[0], row->spatial[1],
                       row->spatial[2]);
  }
  report_table_print(table, out);
  report_table_free(table);
}

static const struct group {
  const char *name;
  unsigned bits;
  uint64_t most_m;
} groups[] = {
    {"f16", 16, UINT64_MAX},
    {"f32", 32, UINT64_MAX},
    {"batch up to 64", 0, 64},
    {"all", 0, UINT64_MAX},
};

static void print_scores(const struct intercore_rows *rows, struct strbuf *out) {
  strbuf_puts(out, "\n");
  for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
    struct score s = score_of(rows, groups[g].bits, groups[g].most_m);
    strbuf_printf(out, "%-15s %3zu rows: mean error %.1f %%, median %.1f %%, bias %+.1f %%\n", groups[g].name, s.count,
                  s.mape * 100, s.median * 100, s.bias * 100);
  }
  strbuf_puts(out, "\nMeasured values are read off a figure (+-3 %). No constant is fitted to these rows.\n");
}

static enum status print_json(const struct intercore_rows *rows, struct strbuf *out) {
  json_t *list = json_array(), *scores = json_object();
  for (size_t i = 0; i < rows->rows.count; i++) {
    const struct intercore_row *row = &rows->rows.data[i];
    json_t *predicted = isnan(row->predicted_s) ? json_null() : json_real(row->predicted_s);
    json_array_append_new(list, json_pack("{s:s,s:I,s:I,s:I,s:f,s:o}", "dtype", row->bits == 32 ? "f32" : "f16", "m",
                                          (json_int_t)row->m, "n", (json_int_t)row->n, "k", (json_int_t)row->k,
                                          "measured_s", row->measured_s, "predicted_s", predicted));
  }
  for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
    struct score s = score_of(rows, groups[g].bits, groups[g].most_m);
    json_object_set_new(scores, groups[g].name,
                        json_pack("{s:I,s:f,s:f,s:f}", "rows", (json_int_t)s.count, "mape", s.mape, "median", s.median,
                                  "bias", s.bias));
  }
  json_t *document = json_pack("{s:s,s:i,s:s,s:s,s:o,s:o}", "format", "ridgeline-validation", "format_version", 1,
                               "ridgeline_version", RDG_VERSION, "suite", "intercore", "rows", list, "scores", scores);
  char *text = document != NULL ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
  if (text != NULL) {
    strbuf_printf(out, "%s\n", text);
  }
  enum status status = text != NULL ? STATUS_OK : STATUS_MEMORY;
  free(text);
  json_decref(document);
  return status;
}

enum status measure_intercore(const struct hw_database *chips, const struct measure_options *options,
                              struct diag_list *diags, struct strbuf *out) {
  const char *data = profile_data_directory(options->data_directory);
  const struct hw_chip *hw = hw_database_find(chips, chip_name, diags);
  struct plan_chip chip;
  struct intercore_rows rows = {0};
  if (!profile_need_folder(data, "measured", diags)) {
    return STATUS_IO;
  }
  enum status status = hw != NULL ? plan_chip_read(hw, diags, &chip) : STATUS_INPUT;
  status = status == STATUS_OK ? read_rows(data, &rows, diags) : status;
  for (size_t i = 0; i < rows.rows.count && status == STATUS_OK; i++) {
    status = predict(&chip, &rows.rows.data[i]);
  }
  if (status == STATUS_OK && options->as_json) {
    status = print_json(&rows, out);
  } else if (status == STATUS_OK) {
    print_rows(&rows, out);
    print_scores(&rows, out);
  }
  vec_release(&rows.rows);
  return status;
}
