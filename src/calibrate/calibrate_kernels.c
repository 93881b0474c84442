/* Which rows make which fits, and what each fit is worth: groups of rows → jobs (a set of groups that is fitted as one, for
 * a chip or for families with the same chips) → fits with error and intervals from rows that were held out. */
#define _GNU_SOURCE /* qsort_r */
#include "calibrate/calibrate.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/parallel.h"

enum {
  ROWS_MIN = 60, /* fewer say too little of a quantile */
  ROWS_DEFAULT = 3000,
  FOLD_COUNT = 5,
  FOLD_ITERATIONS = 12, /* starts where the fit of all rows ended */
  INTERVAL_MAX = 4,
  INTERVAL_ROWS = 100,
  SIGNIFICANT_DIGITS = 6 /* of constants and statistics */
};
static const double coverage = 0.9;
/* What files may hold (hw_calibration.c): rows and predictions beyond it are no measurements of a kernel. */
static const double shortest_s = 1e-10, longest_s = 1e5, largest_demand = 1e29, largest_residual = 13;

/* Rows of one chip, class and format that may be fitted. */
struct group {
  const struct hw_chip *chip;
  const struct kernel_model *model;
  enum kernel_class class_of;
  enum kernel_format format;
  VEC(const struct measured_kernel *) rows;
};

struct job {
  VEC(size_t) groups; /* ascending */
  VEC(const char *) devices; /* whose fit it becomes */
  size_t row_count;
  enum status status;
  struct hw_fit fit; /* without device; texts and arrays of `arena` */
  struct arena arena; /* of its own: jobs run on several threads */
};

struct plan {
  const struct measured_kernels *kernels;
  const struct calibrate_options *options;
  const char *device; /* the only one wanted; NULL = all */
  VEC(struct group) groups;
  VEC(struct job) jobs;
  size_t *order; /* of the jobs, most rows first */
  pthread_mutex_t mutex; /* of `done` and the progress callback */
  size_t done;
  size_t too_few; /* devices with rows, but not enough */
};

/* ---- intervals ---- */

struct scored {
  double predicted_s, residual;
};

static int by_prediction(const void *a, const void *b) {
  const struct scored *x = a, *y = b;
  int order = (x->predicted_s > y->predicted_s) - (x->predicted_s < y->predicted_s);
  return order ? order : (x->residual > y->residual) - (x->residual < y->residual);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double round_significant(double x) {
  if (!(fabs(x) > 0) || !isfinite(x)) {
    return x;
  }
  char text[40];
  double value = x;
  int length = decimal_format(text, sizeof text, "%.*g", SIGNIFICANT_DIGITS, x);
  (void)decimal_parse(text, (size_t)length, &value);
  return value;
}

/* Quantiles on either side, each so that a further row is beyond it with 5 %: the lower one by symmetry. */
static void set_quantiles(const struct scored *rows, size_t count, double *sorted, struct hw_fit_interval *out) {
  for (size_t i = 0; i < count; i++) {
    sorted[i] = rows[i].residual;
  }
  qsort(sorted, count, sizeof *sorted, by_value);
  double side = 1 - (1 - coverage) / 2;
  size_t rank = (size_t)ceil((double)(count + 1) * side - 1e-9);
  rank = rank < 1 ? 1 : rank > count ? count : rank;
  out->rows = count;
  out->low = round_significant(exp(sorted[count - rank]));
  out->high = round_significant(exp(sorted[rank - 1]));
  if (!(out->low < out->high)) { /* rows without any scatter */
    out->low *= 1 - 1e-4;
    out->high *= 1 + 1e-4;
  }
}

unsigned calibrate_intervals(const double *predicted_s, const double *residuals, size_t count,
                             struct hw_fit_interval *intervals, unsigned capacity) {
  struct scored *rows = calloc(count + 1, sizeof *rows);
  double *sorted = calloc(count + 1, sizeof *sorted);
  unsigned used = 0;
  if (rows && sorted && count > 0 && capacity > 0) {
    for (size_t i = 0; i < count; i++) {
      rows[i] = (struct scored){predicted_s[i], residuals[i]};
    }
    qsort(rows, count, sizeof *rows, by_prediction);
    size_t wanted = count / INTERVAL_ROWS;
    wanted = wanted < 1 ? 1 : wanted > INTERVAL_MAX ? INTERVAL_MAX : wanted;
    wanted = wanted > capacity ? capacity : wanted;
    size_t first = 0;
    for (size_t bin = 1; bin <= wanted; bin++) {
      size_t end = bin < wanted ? count * bin / wanted : count;
      double below = bin < wanted ? round_significant(rows[end].predicted_s) : INFINITY;
      while (bin < wanted && end > first && rows[end - 1].predicted_s >= below) {
        end--; /* `below` parts the rows exactly: equal predictions stay together */
      }
      bool is_ascending = used == 0 || below > intervals[used - 1].below_s; /* rounding may join two bounds */
      if (bin < wanted && (end - first < INTERVAL_ROWS || count - end < INTERVAL_ROWS || !is_ascending)) {
        continue;
      }
      set_quantiles(rows + first, end - first, sorted, &intervals[used]);
      intervals[used++].below_s = below;
      first = end;
    }
  }
  free(sorted);
  free(rows);
  return used;
}

/* ---- one job ---- */

struct row_list {
  const struct measured_kernel **data;
  size_t count;
};

/* What holds a row out: its fold, or, where several chips are fitted, its chip. */
static size_t part_of(const struct plan *plan, const struct job *job, const struct measured_kernel *row) {
  if (job->groups.count == 1) {
    return row->fold % FOLD_COUNT;
  }
  size_t part = 0;
  while (plan->groups.data[job->groups.data[part]].chip != row->chip) {
    part++;
  }
  return part;
}

static void statistics(const double *residuals, size_t count, double *errors, struct hw_fit *fit) {
  double sum = 0, bias = 0;
  for (size_t i = 0; i < count; i++) {
    double error = expm1(-residuals[i]); /* (predicted - measured) / measured */
    errors[i] = fabs(error);
    sum += errors[i];
    bias += error;
  }
  qsort(errors, count, sizeof *errors, by_value);
  fit->mape = round_significant(sum / (double)count);
  fit->bias = round_significant(bias / (double)count);
  fit->median = round_significant((errors[(count - 1) / 2] + errors[count / 2]) / 2);
  fit->p90 = round_significant(errors[(size_t)ceil(0.9 * (double)count) - 1]);
}

/* log(measured / predicted) of every row, by constants that did not see its part. */
static enum status hold_out(const struct plan *plan, const struct job *job, const struct kernel_model *model,
                            const struct row_list *fitted, const struct row_list *scored, const double *values,
                            double *predicted_s, double *residuals) {
  size_t parts = job->groups.count == 1 ? (size_t)FOLD_COUNT : job->groups.count;
  const struct measured_kernel **seen = calloc(fitted->count, sizeof *seen);
  struct fit_options options = {.max_iterations = FOLD_ITERATIONS, .start = values};
  enum status status = seen ? STATUS_OK : STATUS_MEMORY;
  for (size_t part = 0; part < parts && status == STATUS_OK; part++) {
    size_t seen_count = 0;
    for (size_t i = 0; i < fitted->count; i++) {
      if (part_of(plan, job, fitted->data[i]) != part) {
        seen[seen_count++] = fitted->data[i];
      }
    }
    struct fit_result result;
    status = fit_kernel(model, seen, seen_count, &options, &result);
    bool is_fitted = status == STATUS_OK; /* too few others: the part is timed as without any rows, by the data sheet */
    status = status == STATUS_INPUT ? STATUS_OK : status;
    for (size_t i = 0; i < scored->count && status == STATUS_OK; i++) {
      const struct measured_kernel *row = scored->data[i];
      if (part_of(plan, job, row) == part) {
        struct kernel_time time;
        double own[KERNEL_CONSTANT_MAX];
        model->defaults(row->chip, row->shape.class_of, row->shape.format, own);
        if (is_fitted) {
          fit_constants_for(model, row->chip, row->shape.class_of, row->shape.format, result.values, own);
        }
        model->time(row->chip, &row->shape, own, &time);
        predicted_s[i] = fmin(longest_s, fmax(shortest_s, time.time_s));
        residuals[i] = fmin(largest_residual, fmax(-largest_residual, log(row->latency_s / time.time_s)));
      }
    }
  }
  free(seen);
  return status;
}

static enum status score_job(const struct plan *plan, struct job *job, const struct kernel_model *model,
                             const struct row_list *fitted, const struct row_list *scored, const double *values) {
  double *predicted_s = calloc(scored->count, sizeof(double));
  double *residuals = calloc(scored->count, sizeof(double));
  double *errors = calloc(scored->count, sizeof(double));
  struct hw_fit_interval *intervals = arena_calloc(&job->arena, INTERVAL_MAX, sizeof *intervals);
  enum status status = predicted_s && residuals && errors && intervals ? STATUS_OK : STATUS_MEMORY;
  if (status == STATUS_OK) {
    status = hold_out(plan, job, model, fitted, scored, values, predicted_s, residuals);
  }
  if (status == STATUS_OK) {
    statistics(residuals, scored->count, errors, &job->fit);
    job->fit.interval_count = calibrate_intervals(predicted_s, residuals, scored->count, intervals, INTERVAL_MAX);
    job->fit.intervals = intervals;
    status = job->fit.interval_count > 0 ? STATUS_OK : STATUS_MEMORY;
  }
  free(predicted_s);
  free(residuals);
  free(errors);
  return status;
}

/* Rounds the constants; the file names those that were fitted, choices stay those of each chip. */
static enum status keep_constants(struct job *job, const struct kernel_model *model, double *fitted) {
  const char **names = arena_calloc(&job->arena, model->constant_count, sizeof *names);
  double *values = arena_calloc(&job->arena, model->constant_count, sizeof *values);
  if (!names || !values) {
    return STATUS_MEMORY;
  }
  for (unsigned i = 0; i < model->constant_count; i++) {
    const struct kernel_constant *c = &model->constants[i];
    fitted[i] = fit_is_choice(c) ? fitted[i] : fmin(c->upper, fmax(c->lower, round_significant(fitted[i])));
    if (!fit_is_choice(c)) {
      names[job->fit.constant_count] = c->name;
      values[job->fit.constant_count++] = fitted[i];
    }
  }
  job->fit.names = names;
  job->fit.values = values;
  return STATUS_OK;
}

static double data_sheet_mape(const struct kernel_model *model, const struct row_list *rows) {
  double sum = 0, values[KERNEL_CONSTANT_MAX];
  for (size_t i = 0; i < rows->count; i++) {
    const struct measured_kernel *row = rows->data[i];
    struct kernel_time time;
    model->defaults(row->chip, row->shape.class_of, row->shape.format, values);
    model->time(row->chip, &row->shape, values, &time);
    sum += fmin(expm1(largest_residual), fabs(time.time_s / row->latency_s - 1));
  }
  return sum / (double)rows->count;
}

static enum status fit_job(const struct plan *plan, struct job *job, const struct row_list *all) {
  const struct kernel_model *model = plan->groups.data[job->groups.data[0]].model;
  struct row_list fitted = {.data = calloc(all->count, sizeof *fitted.data)};
  size_t max_rows = plan->options->max_rows ? plan->options->max_rows : (size_t)ROWS_DEFAULT;
  if (fitted.data) {
    fitted.count = fit_select_rows(all->data, all->count, max_rows, fitted.data);
  }
  enum status status = fitted.data && fitted.count != SIZE_MAX ? STATUS_OK : STATUS_MEMORY;
  struct fit_result result;
  if (status == STATUS_OK) {
    status = fit_kernel(model, fitted.data, fitted.count, NULL, &result);
  }
  if (status == STATUS_OK) {
    status = keep_constants(job, model, result.values);
  }
  if (status == STATUS_OK) {
    /* of several chips, the choice has equally many rows of each: quantiles are not those of the chip with most */
    status = score_job(plan, job, model, &fitted, job->groups.count == 1 ? all : &fitted, result.values);
  }
  if (status == STATUS_OK) {
    job->fit.data_sheet_mape = round_significant(data_sheet_mape(model, job->groups.count == 1 ? all : &fitted));
  }
  free(fitted.data);
  return status;
}

/* Names joined by ", ", each once, in the letters that names have in files: a source may be called anything. */
static const char *join_once(struct arena *arena, const char *const *names, size_t count) {
  struct strbuf text = {0};
  for (size_t i = 0; i < count; i++) {
    bool is_new = true;
    for (size_t k = 0; k < i && is_new; k++) {
      is_new = strcmp(names[k], names[i]) != 0;
    }
    strbuf_puts(&text, is_new && text.length ? ", " : "");
    for (const char *c = names[i]; is_new && *c != '\0'; c++) {
      bool is_capital = *c >= 'A' && *c <= 'Z';
      bool is_kept = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-' || *c == '_';
      strbuf_putc(&text, is_capital ? (char)(*c - 'A' + 'a') : is_kept ? *c : '_');
    }
  }
  const char *kept = text.failed ? NULL : arena_strndup(arena, strbuf_text(&text), text.length);
  strbuf_release(&text);
  return kept;
}

static const char *join_sources(const struct plan *plan, struct arena *arena, const struct row_list *rows) {
  VEC(const char *) names = {0};
  bool *is_used = calloc(plan->kernels->sources.count + 1, sizeof *is_used);
  bool is_good = is_used != NULL;
  for (size_t i = 0; i < rows->count && is_good; i++) {
    is_used[rows->data[i]->source] = true;
  }
  for (size_t i = 0; i < plan->kernels->sources.count && is_good; i++) {
    is_good = !is_used[i] || vec_push(&names, plan->kernels->sources.data[i]);
  }
  const char *text = is_good ? join_once(arena, names.data, names.count) : NULL;
  vec_release(&names);
  free(is_used);
  return text;
}

static const char *join_chips(const struct plan *plan, struct job *job) {
  VEC(const char *) names = {0};
  bool is_good = true;
  for (size_t i = 0; i < job->groups.count && is_good; i++) {
    is_good = vec_push(&names, plan->groups.data[job->groups.data[i]].chip->id);
  }
  const char *text = is_good ? join_once(&job->arena, names.data, names.count) : NULL;
  vec_release(&names);
  return text;
}

/* What the rows are, beside the constants. */
static enum status describe_job(const struct plan *plan, struct job *job, const struct row_list *rows) {
  const struct group *g = &plan->groups.data[job->groups.data[0]];
  struct hw_fit *fit = &job->fit;
  *fit = (struct hw_fit){.class_name = kernel_class_name(g->class_of),
                         .format = kernel_format_info(g->format)->name,
                         .model = g->model->name,
                         .rows = rows->count,
                         .flops_min = INFINITY,
                         .bytes_min = INFINITY,
                         .chip_count = (unsigned)job->groups.count,
                         .date = plan->options->date ? plan->options->date : "1970-01-01"};
  for (size_t i = 0; i < rows->count; i++) {
    double flops = kernel_flops(&rows->data[i]->shape), bytes = kernel_bytes(&rows->data[i]->shape);
    fit->flops_min = fmin(fit->flops_min, flops);
    fit->flops_max = fmax(fit->flops_max, flops);
    fit->bytes_min = fmin(fit->bytes_min, bytes);
    fit->bytes_max = fmax(fit->bytes_max, bytes);
  }
  fit->sources = join_sources(plan, &job->arena, rows);
  fit->chips = join_chips(plan, job);
  fit->date = arena_strndup(&job->arena, fit->date, strlen(fit->date));
  return fit->sources && fit->chips && fit->date ? STATUS_OK : STATUS_MEMORY;
}

static enum status run_job(const struct plan *plan, struct job *job) {
  struct row_list all = {.data = calloc(job->row_count, sizeof *all.data)};
  if (!all.data) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < job->groups.count; i++) {
    const struct group *g = &plan->groups.data[job->groups.data[i]];
    memcpy(all.data + all.count, g->rows.data, g->rows.count * sizeof *all.data);
    all.count += g->rows.count;
  }
  enum status status = describe_job(plan, job, &all);
  if (status == STATUS_OK) {
    status = fit_job(plan, job, &all);
  }
  free(all.data);
  return status;
}

static void run_numbered_job(void *user, size_t i) {
  struct plan *plan = user;
  struct job *job = &plan->jobs.data[plan->order[i]];
  job->status = run_job(plan, job);
  pthread_mutex_lock(&plan->mutex);
  plan->done++;
  if (plan->options->progress) {
    struct strbuf what = {0};
    const struct group *g = &plan->groups.data[job->groups.data[0]];
    strbuf_printf(&what, "%s %s %s", job->devices.data[0], kernel_class_name(g->class_of),
                  kernel_format_info(g->format)->name);
    plan->options->progress(plan->options->user, strbuf_text(&what), plan->done, plan->jobs.count);
    strbuf_release(&what);
  }
  pthread_mutex_unlock(&plan->mutex);
}

/* ---- which jobs ---- */

static bool may_use(const struct plan *plan, const struct measured_kernel *row) {
  const struct calibrate_options *o = plan->options;
  return row->split != STORE_TEST && row->may_fit && row->latency_s >= shortest_s && row->latency_s <= longest_s
         && row->chip->missing == NULL && kernel_flops(&row->shape) <= largest_demand
         && kernel_bytes(&row->shape) <= largest_demand
         && (!o->class_name || strcmp(o->class_name, kernel_class_name(row->shape.class_of)) == 0)
         && (!o->format || strcmp(o->format, kernel_format_info(row->shape.format)->name) == 0)
         && (!plan->device || strcmp(plan->device, row->chip->id) == 0 || hw_chip_is_a(row->chip, plan->device));
}

static bool is_of_group(const struct group *g, const struct measured_kernel *row) {
  return g->chip == row->chip && g->class_of == row->shape.class_of && g->format == row->shape.format;
}

static enum status collect_groups(struct plan *plan) {
  for (size_t i = 0; i < plan->kernels->rows.count; i++) {
    const struct measured_kernel *row = &plan->kernels->rows.data[i];
    if (!may_use(plan, row)) {
      continue;
    }
    struct group *last = plan->groups.count ? &plan->groups.data[plan->groups.count - 1] : NULL;
    if (!last || !is_of_group(last, row)) {
      struct group g = {.chip = row->chip, .class_of = row->shape.class_of, .format = row->shape.format};
      g.model = kernel_model_for(g.class_of, g.format, g.chip);
      if (!vec_push(&plan->groups, g)) {
        return STATUS_MEMORY;
      }
      last = &plan->groups.data[plan->groups.count - 1];
    }
    if (last->model && !vec_push(&last->rows, row)) {
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}

static bool is_same_job(const struct job *a, const struct job *b) {
  return a->groups.count == b->groups.count
         && memcmp(a->groups.data, b->groups.data, a->groups.count * sizeof *a->groups.data) == 0;
}

static void job_release(struct job *job) {
  vec_release(&job->groups);
  vec_release(&job->devices);
  arena_release(&job->arena);
}

/* Joins the job of another device with the same groups: a family whose rows are all of one chip, or of one sub-family. */
static enum status add_job(struct plan *plan, struct job *job, const char *device) {
  if (job->row_count < ROWS_MIN) {
    plan->too_few += job->row_count > 0;
    job_release(job);
    return STATUS_OK;
  }
  struct job *same = NULL;
  for (size_t i = 0; i < plan->jobs.count && !same; i++) {
    same = is_same_job(&plan->jobs.data[i], job) ? &plan->jobs.data[i] : NULL;
  }
  if (same) {
    job_release(job);
    return vec_push(&same->devices, device) ? STATUS_OK : STATUS_MEMORY;
  }
  arena_init(&job->arena, 0);
  if (!vec_push(&job->devices, device) || !vec_push(&plan->jobs, *job)) {
    job_release(job);
    return STATUS_MEMORY;
  }
  return STATUS_OK;
}

/* The groups of the device that are fitted together with group `lead`. */
static enum status collect_members(const struct plan *plan, const char *device, bool is_family, size_t lead,
                                   struct job *job) {
  const struct group *first = &plan->groups.data[lead];
  for (size_t k = lead; k < plan->groups.count; k++) {
    const struct group *g = &plan->groups.data[k];
    bool is_member = strcmp(g->chip->id, device) == 0 || (is_family && hw_chip_is_a(g->chip, device));
    if (!is_member || g->rows.count == 0 || g->class_of != first->class_of || g->format != first->format
        || g->model != first->model) {
      continue;
    }
    if (!vec_push(&job->groups, k)) {
      return STATUS_MEMORY;
    }
    job->row_count += g->rows.count;
  }
  return STATUS_OK;
}

/* Jobs of one device, one for every class and format. Of a family whose chips need several models for it, the model of the
 * first chip is fitted. */
static enum status add_device(struct plan *plan, const char *device, bool is_family) {
  bool is_made[KERNEL_CLASS_COUNT][KERNEL_FORMAT_COUNT] = {{false}};
  for (size_t i = 0; i < plan->groups.count; i++) {
    const struct group *lead = &plan->groups.data[i];
    struct job job = {0};
    enum status status = STATUS_OK;
    if (!is_made[lead->class_of][lead->format]) {
      status = collect_members(plan, device, is_family, i, &job);
    }
    if (status != STATUS_OK || job.groups.count == 0 || job.groups.data[0] != i) {
      job_release(&job);
      STATUS_TRY(status);
      continue;
    }
    is_made[lead->class_of][lead->format] = true;
    STATUS_TRY(add_job(plan, &job, device));
  }
  return STATUS_OK;
}

static bool is_chip_id(const struct hw_database *chips, const char *id) {
  for (size_t i = 0; i < chips->chips.count; i++) {
    if (strcmp(chips->chips.data[i].id, id) == 0) {
      return true;
    }
  }
  return false;
}

/* Chips with rows and the families above them, the defaults of a kind left out: those say nothing of a chip's making. */
static enum status collect_jobs(struct plan *plan, const struct hw_database *chips) {
  VEC(const char *) seen = {0};
  enum status status = STATUS_OK;
  for (size_t i = 0; i < plan->groups.count && status == STATUS_OK; i++) {
    const struct hw_chip *chip = plan->groups.data[i].chip;
    const char *const *line = chip->lineage;
    for (const char *device = chip->id; device && status == STATUS_OK; device = line && *line ? *line++ : NULL) {
      bool is_family = device != chip->id;
      bool is_skipped = (plan->device && strcmp(plan->device, device) != 0)
                        || (is_family && (strncmp(device, "generic_", 8) == 0 || is_chip_id(chips, device)));
      for (size_t k = 0; k < seen.count && !is_skipped; k++) {
        is_skipped = strcmp(seen.data[k], device) == 0;
      }
      if (!is_skipped) {
        status = vec_push(&seen, device) ? add_device(plan, device, is_family) : STATUS_MEMORY;
      }
    }
  }
  vec_release(&seen);
  return status;
}

static int compare_jobs(const void *a, const void *b, void *user) {
  const struct plan *plan = user;
  size_t i = *(const size_t *)a, k = *(const size_t *)b;
  size_t x = plan->jobs.data[i].row_count, y = plan->jobs.data[k].row_count;
  return x != y ? (x < y) - (x > y) : (i > k) - (i < k);
}

static enum status run_jobs(struct plan *plan) {
  plan->order = calloc(plan->jobs.count + 1, sizeof *plan->order);
  if (!plan->order) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < plan->jobs.count; i++) {
    plan->order[i] = i;
  }
  qsort_r(plan->order, plan->jobs.count, sizeof *plan->order, compare_jobs, plan);
  parallel_for(plan->jobs.count, plan->options->threads, run_numbered_job, plan);
  for (size_t i = 0; i < plan->jobs.count; i++) {
    if (plan->jobs.data[i].status == STATUS_MEMORY) {
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}

/* ---- results ---- */

static const char *copy_text(struct arena *arena, const char *text) {
  return arena_strndup(arena, text, strlen(text));
}

static enum status keep_fit(struct calibration *result, const struct hw_database *chips, const struct hw_fit *from,
                            const char *device) {
  struct arena *arena = &result->arena;
  struct hw_fit fit = *from;
  const char **names = arena_calloc(arena, fit.constant_count, sizeof *names);
  double *values = arena_calloc(arena, fit.constant_count, sizeof *values);
  struct hw_fit_interval *intervals = arena_calloc(arena, fit.interval_count, sizeof *intervals);
  fit.device = copy_text(arena, device);
  fit.is_family = !is_chip_id(chips, device);
  fit.sources = copy_text(arena, from->sources);
  fit.chips = copy_text(arena, from->chips);
  fit.date = copy_text(arena, from->date);
  if (!names || !values || !intervals || !fit.device || !fit.sources || !fit.chips || !fit.date) {
    return STATUS_MEMORY;
  }
  for (unsigned i = 0; i < fit.constant_count; i++) {
    names[i] = from->names[i]; /* static, of the model */
    values[i] = from->values[i];
  }
  memcpy(intervals, from->intervals, fit.interval_count * sizeof *intervals);
  fit.names = names;
  fit.values = values;
  fit.intervals = intervals;
  return vec_push(&result->fits, fit) ? STATUS_OK : STATUS_MEMORY;
}

static int compare_fits(const void *a, const void *b) {
  const struct hw_fit *x = a, *y = b;
  int order = strcmp(x->device, y->device);
  order = order ? order : strcmp(x->class_name, y->class_name);
  return order ? order : strcmp(x->format, y->format);
}

static enum status collect_fits(const struct plan *plan, const struct hw_database *chips, struct calibration *result,
                                size_t *too_few) {
  *too_few = plan->too_few;
  for (size_t i = 0; i < plan->jobs.count; i++) {
    const struct job *job = &plan->jobs.data[i];
    if (job->status != STATUS_OK) { /* fewer rows than the model has constants for */
      *too_few += job->devices.count;
      continue;
    }
    for (size_t k = 0; k < job->devices.count; k++) {
      STATUS_TRY(keep_fit(result, chips, &job->fit, job->devices.data[k]));
    }
  }
  if (result->fits.count) {
    qsort(result->fits.data, result->fits.count, sizeof *result->fits.data, compare_fits);
  }
  return STATUS_OK;
}

/* ---- the whole ---- */

static enum status check_options(struct plan *plan, const struct hw_database *chips, struct diag_list *diags) {
  const struct calibrate_options *o = plan->options;
  if (o->class_name && kernel_class_find(o->class_name) == KERNEL_CLASS_COUNT) {
    const char *names[KERNEL_CLASS_COUNT];
    for (unsigned i = 0; i < KERNEL_CLASS_COUNT; i++) {
      names[i] = kernel_class_name((enum kernel_class)i);
    }
    const char *near = nearest_name(o->class_name, names, KERNEL_CLASS_COUNT);
    diag_file(diags, DIAG_E0601_USAGE, NULL, 0, 0, "'%s' is no class of kernels; %s'%s'%s", o->class_name,
              near ? "did you mean " : "one is ", near ? near : names[0], near ? "?" : "");
    return STATUS_INPUT;
  }
  if (o->format && kernel_format_find(o->format) == KERNEL_FORMAT_COUNT) {
    const char *names[KERNEL_FORMAT_COUNT];
    for (unsigned i = 0; i < KERNEL_FORMAT_COUNT; i++) {
      names[i] = kernel_format_info((enum kernel_format)i)->name;
    }
    const char *near = nearest_name(o->format, names, KERNEL_FORMAT_COUNT);
    diag_file(diags, DIAG_E0601_USAGE, NULL, 0, 0, "'%s' is no format of operands; %s'%s'%s", o->format,
              near ? "did you mean " : "one is ", near ? near : names[0], near ? "?" : "");
    return STATUS_INPUT;
  }
  if (!o->device) {
    return STATUS_OK;
  }
  for (size_t i = 0; i < chips->chips.count && !plan->device; i++) {
    plan->device = hw_chip_is_a(&chips->chips.data[i], o->device) ? o->device : NULL;
  }
  const struct hw_chip *chip = hw_database_find(chips, o->device, plan->device ? NULL : diags);
  plan->device = chip ? chip->id : plan->device;
  return plan->device ? STATUS_OK : STATUS_INPUT;
}

static enum status run_plan(struct plan *plan, const struct hw_database *chips, struct diag_list *diags,
                            struct calibration *result) {
  STATUS_TRY(check_options(plan, chips, diags));
  STATUS_TRY(collect_groups(plan));
  STATUS_TRY(collect_jobs(plan, chips));
  STATUS_TRY(run_jobs(plan));
  size_t too_few;
  STATUS_TRY(collect_fits(plan, chips, result, &too_few));
  if (result->fits.count == 0) {
    diag_file(diags, DIAG_E0605_NOTHING_TO_FIT, NULL, 0, 0,
              "nothing to calibrate: %zu chips and families have rows that may be fitted, none has %d of one class and "
              "format",
              too_few, ROWS_MIN);
    return STATUS_INPUT;
  }
  return STATUS_OK;
}

enum status calibrate_kernels(const struct measured_kernels *kernels, const struct hw_database *chips,
                              const struct calibrate_options *options, struct diag_list *diags,
                              struct calibration *result) {
  static const struct calibrate_options plain = {0};
  *result = (struct calibration){0};
  arena_init(&result->arena, 0);
  struct plan plan = {.kernels = kernels, .options = options ? options : &plain};
  pthread_mutex_init(&plan.mutex, NULL);
  enum status status = run_plan(&plan, chips, diags, result);
  for (size_t i = 0; i < plan.groups.count; i++) {
    vec_release(&plan.groups.data[i].rows);
  }
  for (size_t i = 0; i < plan.jobs.count; i++) {
    job_release(&plan.jobs.data[i]);
  }
  vec_release(&plan.groups);
  vec_release(&plan.jobs);
  free(plan.order);
  pthread_mutex_destroy(&plan.mutex);
  return status;
}

void calibration_release(struct calibration *result) {
  vec_release(&result->fits);
  arena_release(&result->arena);
}
