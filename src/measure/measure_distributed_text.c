/* The suite "distributed" as text: what the rows are, errors of groups, rows, programs on four GPUs, goals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/measure_distributed.h"
#include "report/report.h"

enum { WORST_COUNT = 10 };
/* Rows whose measured time means more or less of the chips than any framework takes. */
static const double most_mfu = 0.8, least_mfu = 0.02;

static struct report_table *new_table(const char *const *headings, size_t count, size_t texts) {
  enum report_align aligns[16];
  for (size_t i = 0; i < count; i++) {
    aligns[i] = i < texts ? REPORT_LEFT : REPORT_RIGHT;
  }
  return report_table_new(headings, aligns, count);
}

static void print_table(struct report_table *table, struct strbuf *out) {
  if (!table) {
    out->failed = true;
    return;
  }
  report_table_print(table, out);
  report_table_free(table);
}

static void error_cell(struct report_table *table, double predicted, double measured) {
  if (isfinite(predicted)) {
    report_table_cellf(table, "%+.1f %%", 100 * (predicted / measured - 1));
  } else {
    report_table_cell(table, "-");
  }
}

static void share_cell(struct report_table *table, double part, double whole) {
  if (isfinite(part) && whole > 0) {
    report_table_cellf(table, "%.0f %%", 100 * part / whole);
  } else {
    report_table_cell(table, "-");
  }
}

static void print_counts(const struct training_rows *rows, struct strbuf *out) {
  size_t counts[TRAINING_SKIP_COUNT] = {0}, configurations = 0;
  for (size_t i = 0; i < rows->list.count; i++) {
    const struct training_row *row = &rows->list.data[i];
    if (row->table == TRAINING_PUBLISHED || row->table == TRAINING_MEGATRON) {
      configurations++;
      counts[row->skip]++;
    }
  }
  strbuf_printf(out, "%zu measurements of published tables are %zu configurations, %zu with an architecture:\n",
                rows->records, configurations, configurations - counts[TRAINING_NO_ARCHITECTURE]);
  for (int s = 0; s < TRAINING_SKIP_COUNT; s++) {
    if (counts[s] > 0) {
      strbuf_printf(out, "  %4zu  %s\n", counts[s], training_skip_name((enum training_skip)s));
    }
  }
}

static void print_groups(const struct training_rows *rows, struct strbuf *out) {
  static const char *const headings[] = {"table", "system", "source", "rows", "MAPE", "median", "p90", "bias", "tau"};
  struct report_table *table = new_table(headings, 9, 3);
  struct training_filter filter = {-1, NULL, NULL};
  while (training_group_next(rows, &filter)) {
    struct score s = {0};
    out->failed |= training_score(rows, &filter, &s) != STATUS_OK;
    report_table_cell(table, training_table_name((enum training_table)filter.table));
    report_table_cell(table, filter.system);
    report_table_cell(table, filter.source);
    report_table_cellf(table, "%zu", s.count);
    report_table_cellf(table, "%.1f %%", 100 * s.mape);
    report_table_cellf(table, "%.1f %%", 100 * s.median);
    report_table_cellf(table, "%.1f %%", 100 * s.p90);
    report_table_cellf(table, "%+.1f %%", 100 * s.bias);
    if (isfinite(s.kendall)) {
      report_table_cellf(table, "%.2f", s.kendall);
    } else {
      report_table_cell(table, "-");
    }
  }
  strbuf_puts(out, "\nerrors by system and source\n");
  print_table(table, out);
}

/* "dp 8 tp 4 pp 2x5 cp 2 ep 8, 64 x 1 x 4096": degrees above 1, then parts x micro-batch x tokens of a rank. */
static void strategy_cell(struct report_table *table, const struct training_row *row) {
  const struct generate_training *t = &row->training;
  const struct {
    const char *name;
    uint32_t value;
  } degrees[] = {{"dp", t->data}, {"tp", t->tensor}, {"cp", t->context}, {"pp", t->pipeline}, {"ep", t->expert}};
  struct strbuf text = {0};
  for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
    if (degrees[i].value > 1) {
      strbuf_printf(&text, "%s %u ", degrees[i].name, degrees[i].value);
    }
  }
  if (t->virtual_stages > 1) {
    strbuf_printf(&text, "x %u ", t->virtual_stages);
  }
  strbuf_printf(&text, "(%u x %u x %u)", t->global_batch / t->data / t->micro_batch, t->micro_batch, t->sequence);
  report_table_cell(table, strbuf_text(&text));
  strbuf_release(&text);
}

static const char *const row_headings[] = {"system",    "source", "model",   "precision", "strategy", "measured s",
                                           "predicted", "error",  "compute", "exposed",   "bubble"};

static void add_row(struct report_table *table, const struct training_row *row) {
  report_table_cell(table, row->hardware->label);
  report_table_cell(table, row->source->label);
  report_table_cell(table, row->model);
  report_table_cell(table, row->precision);
  strategy_cell(table, row);
  report_table_cellf(table, "%.3f", row->measured_s);
  if (isfinite(row->predicted_s)) {
    report_table_cellf(table, "%.3f", row->predicted_s);
  } else {
    report_table_cell(table, "-");
  }
  error_cell(table, row->predicted_s, row->measured_s);
  share_cell(table, row->compute_s, row->predicted_s);
  share_cell(table, row->exposed_s, row->predicted_s);
  share_cell(table, row->bubble_s, row->predicted_s);
}

static void print_rows(const struct training_rows *rows, struct strbuf *out) {
  struct report_table *table = new_table(row_headings, 11, 5);
  for (size_t i = 0; i < rows->list.count; i++) {
    const struct training_row *row = &rows->list.data[i];
    if (row->skip == TRAINING_TAKEN && (row->table == TRAINING_PUBLISHED || row->table == TRAINING_MEGATRON)) {
      add_row(table, row);
    }
  }
  strbuf_puts(out, "\nconfigurations; compute, exposed communication and bubble of the predicted step\n");
  print_table(table, out);
}

/* Of a predicted row of the table; negative for others. */
static double error_of(const struct training_row *row, enum training_table which) {
  double error = row->table == which ? fabs(row->predicted_s / row->measured_s - 1) : -1;
  return isfinite(error) ? error : -1;
}

/* The largest errors of one table, largest first, equal ones in the order of the rows. */
static void print_worst(const struct training_rows *rows, enum training_table which, struct strbuf *out) {
  struct report_table *table = new_table(row_headings, 11, 5);
  double below = INFINITY;
  for (size_t printed = 0; printed < WORST_COUNT;) {
    double worst = -1;
    for (size_t i = 0; i < rows->list.count; i++) {
      double error = error_of(&rows->list.data[i], which);
      worst = error < below ? fmax(worst, error) : worst;
    }
    for (size_t i = 0; i < rows->list.count && printed < WORST_COUNT && worst >= 0; i++) {
      double error = error_of(&rows->list.data[i], which);
      if (error >= worst && error <= worst) {
        add_row(table, &rows->list.data[i]);
        printed++;
      }
    }
    if (worst < 0) {
      break;
    }
    below = worst;
  }
  strbuf_printf(out, "\nlargest errors of %s\n", training_table_name(which));
  print_table(table, out);
}

static void print_notes(const struct training_rows *rows, struct strbuf *out) {
  strbuf_puts(out, "\nrows that are skipped or read with an assumption\n");
  for (size_t i = 0; i < rows->list.count; i++) {
    const struct training_row *row = &rows->list.data[i];
    bool is_listed = row->skip != TRAINING_TAKEN && row->skip != TRAINING_NO_ARCHITECTURE;
    bool is_odd = row->table == TRAINING_PUBLISHED && (row->implied_mfu > most_mfu || row->implied_mfu < least_mfu);
    if (row->note || row->is_pair || is_listed || is_odd) {
      strbuf_printf(out, "  %s line %u, %s", training_table_name(row->table), row->line, row->model);
      if (row->skip != TRAINING_TAKEN) {
        strbuf_printf(out, ": %s", training_skip_name(row->skip));
      }
      strbuf_printf(out, "%s%s%s", row->note ? ": " : "", row->note ? row->note : "",
                    row->is_pair ? "; two measurements in one cell, the first is taken" : "");
      if (is_odd) {
        strbuf_printf(out, "; its time means %.0f %% of the peak", 100 * row->implied_mfu);
      }
      strbuf_putc(out, '\n');
    }
  }
}

static void print_four_gpus(const struct four_gpu_rows *rows, struct strbuf *out) {
  static const char *const headings[] = {"system",   "program", "measured s",    "predicted", "error",
                                         "NeuSight", "compute", "communication", "exposed"};
  struct report_table *table = new_table(headings, 9, 2);
  for (size_t i = 0; i < rows->list.count; i++) {
    const struct four_gpu_row *row = &rows->list.data[i];
    report_table_cell(table, row->system);
    report_table_cell(table, row->program);
    report_table_cellf(table, "%.4f", row->measured_s);
    report_table_cellf(table, "%.4f", row->predicted_s);
    error_cell(table, row->predicted_s, row->measured_s);
    error_cell(table, row->published_s, row->measured_s);
    report_table_cellf(table, "%.4f", row->compute_s);
    report_table_cellf(table, "%.4f", row->communication_s);
    report_table_cellf(table, "%.4f", row->exposed_s);
  }
  strbuf_puts(out, "\nfour GPUs, single precision, eager PyTorch\n");
  print_table(table, out);
}

static void print_goals(const distributed_goal_list *goals, struct strbuf *out) {
  static const char *const headings[] = {"goal", "rows", "value", "bound", "state"};
  struct report_table *table = new_table(headings, 5, 1);
  size_t met = 0;
  for (size_t i = 0; i < goals->count; i++) {
    const struct distributed_goal *goal = &goals->data[i];
    met += distributed_goal_is_met(goal) ? 1 : 0;
    report_table_cell(table, goal->title);
    report_table_cellf(table, "%zu", goal->count);
    if (goal->is_least) {
      report_table_cellf(table, "%.3f", goal->value);
      report_table_cellf(table, ">= %.2f", goal->bound);
    } else {
      report_table_cellf(table, "%.1f %%", 100 * goal->value);
      report_table_cellf(table, "<= %.0f %%", 100 * goal->bound);
    }
    report_table_cell(table, goal->count == 0 ? "no data" : distributed_goal_is_met(goal) ? "met" : "MISSED");
  }
  strbuf_putc(out, '\n');
  print_table(table, out);
  strbuf_printf(out, "\ngoals: %zu of %zu met\n", met, goals->count);
}

enum status distributed_write_text(const struct distributed_results *results, struct strbuf *out) {
  print_counts(&results->training, out);
  print_rows(&results->training, out);
  print_worst(&results->training, TRAINING_VTRAIN_SINGLE, out);
  print_worst(&results->training, TRAINING_VTRAIN_MULTI, out);
  print_four_gpus(&results->four_gpus, out);
  print_groups(&results->training, out);
  print_notes(&results->training, out);
  print_goals(&results->goals, out);
  return out->failed ? STATUS_MEMORY : STATUS_OK;
}
