/* Two constants per machine and operation beside ours, and the scores of cells. */
#include "measure/measure_collectives_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- alpha and beta ---- */

struct line {
  double alpha_s, beta_s; /* per byte that a ring moves */
};

static double moved_bytes(const struct measured_collective *row) {
  double p = row->request.shape.size;
  bool is_message = row->request.kind == WORK_PERMUTE || row->request.kind == WORK_SEND_RECV;
  double passes = row->request.kind == WORK_ALL_REDUCE ? 2 : 1;
  return row->request.bytes * (is_message ? 1 : passes * (p - 1) / p);
}

/* Least squares of relative errors, on train rows; both at least zero. */
static struct line fit_line(const struct measured_collectives *all, size_t machine, enum work_collective_kind kind) {
  enum { LEAST_ROWS = 4 };
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  size_t count = 0;
  for (size_t i = 0; i < all->rows.count; i++) {
    const struct measured_collective *row = &all->rows.data[i];
    if (row->is_test || row->machine != machine || row->request.kind != kind) {
      continue;
    }
    double u = 1 / row->measured_s, v = moved_bytes(row) / row->measured_s;
    aa += u * u;
    ab += u * v;
    bb += v * v;
    count++;
    a += u;
    b += v;
  }
  if (count < LEAST_ROWS) {
    return (struct line){(double)NAN, (double)NAN};
  }
  double determinant = aa * bb - ab * ab;
  struct line line = {0, 0};
  if (determinant > 1e-12 * aa * bb) {
    line = (struct line){(a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant};
  }
  if (line.alpha_s < 0 || line.beta_s <= 0) { /* on the border of what is allowed */
    struct line slope = {0, bb > 0 ? b / bb : 0};
    struct line flat = {aa > 0 ? a / aa : 0, 0};
    line = line.alpha_s < 0 || aa <= 0 ? slope : flat;
  }
  return line;
}

void collectives_fit_lines(struct measured_collectives *all) {
  for (size_t machine = 0; machine < collective_machine_count; machine++) {
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++) {
      struct line line = fit_line(all, machine, (enum work_collective_kind)kind);
      for (size_t i = 0; i < all->rows.count; i++) {
        struct measured_collective *row = &all->rows.data[i];
        if (row->machine == machine && (int)row->request.kind == kind) {
          row->two_constants_s = line.alpha_s + line.beta_s * moved_bytes(row);
        }
      }
    }
  }
}

/* ---- cells ---- */

static double error_of(double predicted_s, double measured_s) {
  return fabs(predicted_s - measured_s) / measured_s;
}

static void add_error(struct collective_error *error, double value) {
  if (isfinite(value)) {
    error->sum += value;
    error->count++;
  }
}

double collective_error_mean(const struct collective_error *error) {
  return error->count > 0 ? error->sum / (double)error->count : (double)NAN;
}

static enum collective_band band_of(double bytes) {
  return bytes < 65536        ? COLLECTIVE_BAND_SMALL
         : bytes < 1048576    ? COLLECTIVE_BAND_MIDDLE
         : bytes < 67108864.0 ? COLLECTIVE_BAND_LARGE
                              : COLLECTIVE_BAND_HUGE;
}

static void add_row(struct collective_cell *cell, const struct measured_collective *row) {
  double ours = error_of(row->predicted_s, row->measured_s), unseen = error_of(row->unseen_s, row->measured_s);
  double line = error_of(row->two_constants_s, row->measured_s);
  bool is_large = row->request.bytes >= 1048576;
  add_error(&cell->bands[band_of(row->request.bytes)], ours);
  add_error(&cell->all, ours);
  add_error(&cell->line_all, line);
  add_error(&cell->unseen_all, unseen);
  if (is_large) {
    add_error(&cell->large, ours);
    add_error(&cell->line_large, line);
  }
}

enum status collectives_score(const struct measured_collectives *all, struct collective_scores *scores) {
  for (size_t machine = 0; machine < collective_machine_count; machine++) {
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++) {
      struct collective_cell cell = {.machine = (uint16_t)machine, .kind = (enum work_collective_kind)kind};
      for (size_t i = 0; i < all->rows.count; i++) {
        const struct measured_collective *row = &all->rows.data[i];
        if (row->machine == machine && (int)row->request.kind == kind && (row->is_test || !row->may_fit)) {
          add_row(&cell, row);
        }
      }
      if (cell.all.count > 0 && !vec_push(&scores->cells, cell)) {
        return STATUS_MEMORY;
      }
    }
  }
  return STATUS_OK;
}

struct collective_means collective_means_of(const struct collective_scores *scores, int kind) {
  struct collective_error all = {0}, large = {0}, line_all = {0}, line_large = {0}, unseen = {0}, rows_all = {0},
                          rows_large = {0};
  for (size_t i = 0; i < scores->cells.count; i++) {
    const struct collective_cell *cell = &scores->cells.data[i];
    if (kind >= 0 && (int)cell->kind != kind) {
      continue;
    }
    add_error(&all, collective_error_mean(&cell->all));
    add_error(&large, collective_error_mean(&cell->large));
    add_error(&line_all, collective_error_mean(&cell->line_all));
    add_error(&line_large, collective_error_mean(&cell->line_large));
    add_error(&unseen, collective_error_mean(&cell->unseen_all));
    rows_all.sum += cell->all.sum;
    rows_all.count += cell->all.count;
    rows_large.sum += cell->large.sum;
    rows_large.count += cell->large.count;
  }
  return (struct collective_means){.cells = all.count,
                                   .rows = rows_all.count,
                                   .all = collective_error_mean(&all),
                                   .large = collective_error_mean(&large),
                                   .line_all = collective_error_mean(&line_all),
                                   .line_large = collective_error_mean(&line_large),
                                   .unseen = collective_error_mean(&unseen),
                                   .rows_all = collective_error_mean(&rows_all),
                                   .rows_large = collective_error_mean(&rows_large)};
}
