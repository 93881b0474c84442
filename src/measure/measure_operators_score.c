/* Times of every predictor for every scored row, and statistics over chosen rows.
 *
 * Test rows are timed with the constants that ship with the chips. Cross-validated rows (small tables, and tables whose
 * licence keeps them out of shipped constants) are timed with constants fitted here on the other four folds; their interval
 * comes from rows of those four folds that the fit in turn left out, so that no row has a part in its own interval. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "calibrate/calibrate.h"
#include "calibrate/fit.h"
#include "kernel/kernel_fit.h"
#include "measure/measure_operators.h"

static const char no_model[] = "no model", data_sheet[] = "data sheet";

enum { FOLDS = 5, INTERVAL_MAX = 16, OTHER_ROWS_MIN = 60 };

/* Fits made while validating are many and only compared with; they are shorter than those that are shipped. */
static const struct fit_options fold_fit = {.max_rows = 600, .max_iterations = 30, .starts = 1};
static const struct fit_options interval_fit = {.max_rows = 300, .max_iterations = 15, .starts = 1};
static const struct fit_options other_chips_fit = {.max_rows = 500, .max_iterations = 20, .starts = 1};

typedef VEC(const struct measured_kernel *) row_list;

static bool is_scored(const struct measured_kernel *row) {
  return row->split == STORE_TEST || row->split == STORE_FOLDS;
}

/* Rows that constants may come from, but for the folds `left_out` and `left_out_too` (FOLDS = none). */
static bool is_learnt(const struct measured_kernel *row, unsigned left_out, unsigned left_out_too) {
  return (row->split == STORE_TRAIN && row->may_fit)
         || (row->split == STORE_FOLDS && row->fold != left_out && row->fold != left_out_too);
}

static enum status collect_learnt(const struct operator_set *set, const struct operator_group *group, unsigned left_out,
                                  unsigned left_out_too, row_list *list) {
  vec_clear(list);
  for (size_t i = 0; i < group->count; i++) {
    const struct measured_kernel *row = &set->kernels.rows.data[group->first + i];
    if (is_learnt(row, left_out, left_out_too) && !vec_push(list, row)) {
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}

static double model_time(const struct kernel_model *model, const struct measured_kernel *row, const double *values) {
  struct kernel_time time;
  model->time(row->chip, &row->shape, values, &time);
  return time.time_s;
}

/* Constants for the group's chip, whose choices are its own whatever chips the rows are of. Too few rows leave those of the
 * data sheet, which are then what is scored; `is_fitted` (may be NULL) tells. */
static enum status fit_or_defaults(const struct kernel_model *model, const row_list *rows,
                                   const struct fit_options *options, const struct operator_group *group,
                                   double *values, bool *is_fitted) {
  struct fit_result result;
  model->defaults(group->chip, group->class_of, group->format, values);
  enum status status = rows->count ? fit_kernel(model, rows->data, rows->count, options, &result) : STATUS_INPUT;
  if (status == STATUS_OK) {
    fit_constants_for(model, group->chip, group->class_of, group->format, result.values, values);
  }
  if (is_fitted) {
    *is_fitted = status == STATUS_OK;
  }
  return status == STATUS_INPUT ? STATUS_OK : status;
}

/* ---- shipped constants ---- */

static void set_interval(struct operator_row *row, const struct kernel_constants *constants) {
  double time_s = row->time_s[OPERATOR_MODEL];
  struct kernel_interval interval;
  kernel_interval_of(constants, &row->row->shape, time_s, &interval);
  row->low_s = interval.low * time_s;
  row->high_s = interval.high * time_s;
}

static void time_shipped(struct operator_group *group, struct operator_row *rows) {
  struct kernel_constants constants;
  if (!kernel_constants_of(group->chip, group->class_of, group->format, &constants)) {
    group->constants = no_model;
    return;
  }
  group->constants = constants.fit ? constants.fit->device : data_sheet;
  for (size_t i = 0; i < group->scored_count; i++) {
    if (rows[i].row->split == STORE_TEST) {
      rows[i].time_s[OPERATOR_MODEL] = model_time(constants.model, rows[i].row, constants.values);
      set_interval(&rows[i], &constants);
    }
  }
}

/* The one time of a group's two-constant roofline, for the rows of `fold` (FOLDS: for test rows). */
static enum status time_two_constants(struct operator_group *group, struct operator_row *rows, unsigned fold,
                                      const row_list *learnt) {
  struct two_constants constants;
  enum status status = learnt->count ? fit_two_constants(learnt->data, learnt->count, &constants) : STATUS_INPUT;
  for (size_t i = 0; i < group->scored_count && status == STATUS_OK; i++) {
    const struct measured_kernel *row = rows[i].row;
    if (fold == FOLDS ? row->split == STORE_TEST : row->split == STORE_FOLDS && row->fold == fold) {
      rows[i].time_s[OPERATOR_TWO_CONSTANTS] = two_constants_time(row, &constants);
    }
  }
  return status == STATUS_INPUT ? STATUS_OK : status;
}

/* ---- folds ---- */

struct fold_work {
  const struct operator_set *set;
  struct operator_group *group;
  struct operator_row *rows;
  const struct kernel_model *model;
  row_list learnt;
  double values[FOLDS][KERNEL_CONSTANT_MAX];
  /* [fold x scored rows + row]: time of a row by constants that saw neither its fold nor `fold` */
  double *unseen_s;
  double *predicted_s, *residuals; /* scratch, as many as scored rows */
};

static enum status fit_folds(struct fold_work *w) {
  w->group->folds_fitted = true;
  for (unsigned f = 0; f < FOLDS; f++) {
    bool is_fitted;
    STATUS_TRY(collect_learnt(w->set, w->group, f, FOLDS, &w->learnt));
    STATUS_TRY(time_two_constants(w->group, w->rows, f, &w->learnt));
    STATUS_TRY(fit_or_defaults(w->model, &w->learnt, &fold_fit, w->group, w->values[f], &is_fitted));
    w->group->folds_fitted &= is_fitted;
  }
  return STATUS_OK;
}

static enum status fit_fold_pairs(struct fold_work *w) {
  size_t n = w->group->scored_count;
  for (unsigned f = 0; f < FOLDS; f++) {
    for (unsigned g = f + 1; g < FOLDS; g++) {
      double values[KERNEL_CONSTANT_MAX];
      STATUS_TRY(collect_learnt(w->set, w->group, f, g, &w->learnt));
      STATUS_TRY(fit_or_defaults(w->model, &w->learnt, &interval_fit, w->group, values, NULL));
      for (size_t i = 0; i < n; i++) {
        const struct measured_kernel *row = w->rows[i].row;
        if (row->split == STORE_FOLDS && (row->fold == f || row->fold == g)) {
          w->unseen_s[(row->fold == f ? g : f) * n + i] = model_time(w->model, row, values);
        }
      }
    }
  }
  return STATUS_OK;
}

static void widen(struct hw_fit *fit, const struct kernel_shape *shape) {
  double flops = kernel_flops(shape), bytes = kernel_bytes(shape);
  fit->flops_min = fit->rows ? fmin(fit->flops_min, flops) : flops;
  fit->flops_max = fit->rows ? fmax(fit->flops_max, flops) : flops;
  fit->bytes_min = fit->rows ? fmin(fit->bytes_min, bytes) : bytes;
  fit->bytes_max = fit->rows ? fmax(fit->bytes_max, bytes) : bytes;
  fit->rows++;
}

static void time_fold(struct fold_work *w, unsigned fold) {
  size_t n = w->group->scored_count, count = 0;
  struct hw_fit_interval intervals[INTERVAL_MAX];
  struct hw_fit fit = {.device = w->group->chip->id, .model = w->model->name, .intervals = intervals};
  for (size_t i = 0; i < n; i++) {
    const struct measured_kernel *row = w->rows[i].row;
    if (row->split == STORE_FOLDS && row->fold != fold) {
      w->predicted_s[count] = w->unseen_s[fold * n + i];
      w->residuals[count] = log(row->latency_s / w->predicted_s[count]);
      count++;
      widen(&fit, &row->shape);
    }
  }
  fit.interval_count = count ? calibrate_intervals(w->predicted_s, w->residuals, count, intervals, INTERVAL_MAX) : 0;
  struct kernel_constants constants = {.model = w->model, .fit = fit.interval_count ? &fit : NULL};
  memcpy(constants.values, w->values[fold], sizeof constants.values);
  for (size_t i = 0; i < n; i++) {
    const struct measured_kernel *row = w->rows[i].row;
    if (row->split == STORE_FOLDS && row->fold == fold) {
      w->rows[i].time_s[OPERATOR_MODEL] = model_time(w->model, row, constants.values);
      set_interval(&w->rows[i], &constants);
    }
  }
}

static enum status time_folds(const struct operator_set *set, struct operator_group *group, struct operator_row *rows,
                              const struct kernel_model *model) {
  size_t n = group->scored_count;
  struct fold_work w = {.set = set, .group = group, .rows = rows, .model = model};
  w.unseen_s = calloc((FOLDS + 2) * n, sizeof *w.unseen_s);
  enum status status = w.unseen_s ? STATUS_OK : STATUS_MEMORY;
  if (status == STATUS_OK) {
    w.predicted_s = w.unseen_s + FOLDS * n;
    w.residuals = w.predicted_s + n;
    status = fit_folds(&w);
  }
  if (status == STATUS_OK) {
    status = fit_fold_pairs(&w);
  }
  for (unsigned f = 0; f < FOLDS && status == STATUS_OK; f++) {
    time_fold(&w, f);
  }
  vec_release(&w.learnt);
  free(w.unseen_s);
  return status;
}

/* ---- other chips ---- */

static enum status collect_others(const struct operator_set *set, const struct operator_group *group,
                                  const struct kernel_model *model, const char *family, row_list *list) {
  vec_clear(list);
  for (size_t i = 0; i < set->kernels.rows.count; i++) {
    const struct measured_kernel *row = &set->kernels.rows.data[i];
    if (row->chip != group->chip && row->shape.class_of == group->class_of && row->shape.format == group->format
        && is_learnt(row, FOLDS, FOLDS) && hw_chip_is_a(row->chip, family)
        && model->applies(group->class_of, group->format, row->chip) && !vec_push(list, row)) {
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}

/* Constants of the other chips of the nearest family that has any, on this chip's rows. */
static enum status time_by_others(const struct operator_set *set, struct operator_group *group,
                                  struct operator_row *rows, const struct kernel_model *model) {
  row_list list = {0};
  enum status status = STATUS_OK;
  for (const char *const *family = group->chip->lineage; status == STATUS_OK && !group->others && *family; family++) {
    status = collect_others(set, group, model, *family, &list);
    group->others = status == STATUS_OK && list.count >= OTHER_ROWS_MIN ? *family : NULL;
  }
  double values[KERNEL_CONSTANT_MAX];
  if (group->others) {
    status = fit_or_defaults(model, &list, &other_chips_fit, group, values, NULL);
  }
  for (size_t i = 0; i < group->scored_count && group->others && status == STATUS_OK; i++) {
    rows[i].time_s[OPERATOR_OTHER_CHIPS] = model_time(model, rows[i].row, values);
  }
  vec_release(&list);
  return status;
}

/* ---- groups ---- */

static enum status time_neighbours(const struct operator_set *set, const struct operator_group *group,
                                   struct operator_row *rows) {
  const struct measured_kernel *all = set->kernels.rows.data + group->first;
  double *time_s = malloc(group->count * sizeof *time_s);
  enum status status = time_s ? operator_neighbours(all, group->count, time_s) : STATUS_MEMORY;
  for (size_t i = 0; i < group->scored_count && status == STATUS_OK; i++) {
    rows[i].time_s[OPERATOR_NEIGHBOURS] = time_s[rows[i].row - all];
  }
  free(time_s);
  return status;
}

static enum status score_group(const struct operator_set *set, struct operator_group *group,
                               struct operator_row *rows) {
  const struct kernel_model *model = kernel_model_for(group->class_of, group->format, group->chip);
  row_list learnt = {0};
  bool has_folds = false, has_fit = false;
  for (size_t i = 0; i < group->scored_count; i++) {
    rows[i].time_s[OPERATOR_ROOFLINE] = plain_roofline_time(group->chip, &rows[i].row->shape);
    has_folds |= rows[i].row->split == STORE_FOLDS;
  }
  time_shipped(group, rows);
  enum status status = time_neighbours(set, group, rows);
  if (status == STATUS_OK) {
    status = collect_learnt(set, group, FOLDS, FOLDS, &learnt);
  }
  if (status == STATUS_OK) {
    has_fit = model && learnt.count > 0;
    status = time_two_constants(group, rows, FOLDS, &learnt);
  }
  vec_release(&learnt);
  if (status == STATUS_OK && model && has_folds) {
    status = time_folds(set, group, rows, model);
  }
  return status == STATUS_OK && has_fit ? time_by_others(set, group, rows, model) : status;
}

static void work_on_group(void *user, size_t i) {
  struct operator_set *set = user;
  struct operator_group *group = &set->groups.data[i];
  group->status = score_group(set, group, set->rows.data + group->scored_first);
}

static bool same_group(const struct operator_group *group, const struct measured_kernel *row) {
  return group->chip == row->chip && group->class_of == row->shape.class_of && group->format == row->shape.format;
}

static enum status add_group(struct operator_set *set, struct operator_group *group) {
  const struct measured_kernel *rows = set->kernels.rows.data + group->first;
  group->scored_first = set->rows.count;
  if (group->chip->missing || !operator_filter_takes(&set->only, rows)) {
    return STATUS_OK;
  }
  for (size_t i = 0; i < group->count; i++) {
    struct operator_row row = {.row = &rows[i], .low_s = (double)NAN, .high_s = (double)NAN};
    for (int p = 0; p < OPERATOR_PREDICTOR_COUNT; p++) {
      row.time_s[p] = (double)NAN;
    }
    if (is_scored(&rows[i]) && !vec_push(&set->rows, row)) {
      return STATUS_MEMORY;
    }
  }
  group->scored_count = set->rows.count - group->scored_first;
  return group->scored_count == 0 || vec_push(&set->groups, *group) ? STATUS_OK : STATUS_MEMORY;
}

enum status operators_score(struct operator_set *set, const char *data_directory, struct diag_list *diags) {
  size_t count = set->kernels.rows.count;
  for (size_t first = 0, end; first < count; first = end) {
    const struct measured_kernel *row = &set->kernels.rows.data[first];
    struct operator_group group = {
        .chip = row->chip, .class_of = row->shape.class_of, .format = row->shape.format, .first = first};
    for (end = first; end < count && same_group(&group, &set->kernels.rows.data[end]); end++) {
      group.count++;
    }
    STATUS_TRY(add_group(set, &group));
  }
  parallel_for(set->groups.count, 0, work_on_group, set);
  for (size_t i = 0; i < set->groups.count; i++) {
    const struct operator_group *group = &set->groups.data[i];
    STATUS_TRY(group->status);
    STATUS_TRY(operator_peer_times(set, group, data_directory, diags));
  }
  return STATUS_OK;
}

void operator_set_release(struct operator_set *set) {
  vec_release(&set->rows);
  vec_release(&set->groups);
  measured_kernels_release(&set->kernels);
}

unsigned operator_next_source(const struct operator_set *set, const struct operator_group *group, unsigned source) {
  unsigned next = 0;
  for (size_t i = 0; i < group->scored_count; i++) {
    unsigned of_row = set->rows.data[group->scored_first + i].row->source + 1u;
    next = of_row > source && (next == 0 || of_row < next) ? of_row : next;
  }
  return next;
}

const char *operator_constants(const struct operator_set *set, const struct operator_group *group, unsigned source) {
  bool has_test = false, has_folds = false;
  for (size_t i = 0; i < group->scored_count; i++) {
    const struct measured_kernel *row = set->rows.data[group->scored_first + i].row;
    if (source == 0 || row->source + 1u == source) {
      has_folds |= row->split == STORE_FOLDS;
      has_test |= row->split != STORE_FOLDS;
    }
  }
  bool has_model = strcmp(group->constants, no_model) != 0;
  if (!has_folds || !has_model) {
    return group->constants;
  }
  return has_test ? "some folds" : group->folds_fitted ? "5 folds" : data_sheet;
}

/* ---- statistics ---- */

bool operator_filter_takes(const struct operator_filter *filter, const struct measured_kernel *row) {
  if ((filter->chip && strcmp(filter->chip, row->chip->id) != 0)
      || (filter->source && filter->source != row->source + 1u)
      || (filter->is_of_fitted_source && !row->may_fit && row->split != STORE_FOLDS)
      || (filter->family && !hw_chip_is_a(row->chip, filter->family))
      || (filter->class_of != KERNEL_CLASS_COUNT && filter->class_of != row->shape.class_of)
      || (filter->format != KERNEL_FORMAT_COUNT && filter->format != row->shape.format)) {
    return false;
  }
  if (row->shape.class_of != KERNEL_GEMM) {
    return true;
  }
  const struct kernel_gemm *g = &row->shape.gemm;
  double least = fmin(g->m, fmin(g->n, g->k)), most = fmax(g->m, fmax(g->n, g->k));
  return least >= filter->extent_min && (filter->extent_max == 0 || most <= filter->extent_max);
}

static double error_of(double predicted, double measured) {
  return fabs(predicted - measured) / measured;
}

static void add_row(struct operator_score *score, const struct operator_row *row, size_t *covered) {
  double measured = row->row->latency_s, model = row->time_s[OPERATOR_MODEL];
  for (int p = 0; p < OPERATOR_PREDICTOR_COUNT; p++) {
    if (!isnan(row->time_s[p]) && !isnan(model)) {
      score->count[p]++;
      score->mape[p] += error_of(row->time_s[p], measured);
      score->model_mape[p] += error_of(model, measured);
    }
  }
  if (!isnan(row->low_s)) {
    score->with_interval++;
    *covered += row->low_s <= measured && measured <= row->high_s ? 1 : 0;
  }
}

enum status operator_score_of(const struct operator_set *set, const struct operator_filter *filter,
                              struct operator_score *score) {
  double *values = malloc((2 * set->rows.count + 1) * sizeof *values);
  size_t count = 0, covered = 0;
  *score = (struct operator_score){.coverage = (double)NAN};
  if (!values) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < set->rows.count; i++) {
    const struct operator_row *row = &set->rows.data[i];
    if (operator_filter_takes(filter, row->row)) {
      values[count] = row->row->latency_s;
      values[set->rows.count + count++] = row->time_s[OPERATOR_MODEL];
      add_row(score, row, &covered);
    }
  }
  score->model = score_rows(values, values + set->rows.count, count);
  for (int p = 0; p < OPERATOR_PREDICTOR_COUNT; p++) {
    double n = score->count[p] ? (double)score->count[p] : (double)NAN;
    score->mape[p] /= n;
    score->model_mape[p] /= n;
  }
  if (score->with_interval) {
    score->coverage = (double)covered / (double)score->with_interval;
  }
  free(values);
  return STATUS_OK;
}
