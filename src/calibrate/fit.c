/* A kernel model and measured rows as a problem of fit_solver.h: which rows, which starts, how constants are scaled. */
#include "calibrate/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "calibrate/fit_solver.h"

_Static_assert((int)FIT_PARAMETER_MAX >= (int)KERNEL_CONSTANT_MAX, "every constant of a model is a parameter");

enum {
  DEFAULT_ITERATIONS = 60,
  DEFAULT_STARTS = 3,
  START_ROWS = 800, /* starts compete on so many rows; the best goes on with all */
  SEARCH_EVALUATIONS_PER_CONSTANT = 30
};
/* log(predicted / measured) of a prediction that is none; far beyond any real one */
static const double failed_residual = 20;

enum { OCTAVES = 96, CHIP_LIMIT = 64 };

/* ---- choice of rows ---- */

static uint64_t hash_double(uint64_t h, double x) {
  return hash_mix(h, hash_bytes(&x, sizeof x));
}

static uint64_t shape_hash(const struct kernel_shape *s) {
  double extents[10] = {s->flags};
  switch (s->class_of) {
  case KERNEL_GEMM:
    memcpy(extents + 1, (const double[]){s->gemm.batch, s->gemm.m, s->gemm.n, s->gemm.k}, 4 * sizeof(double));
    break;
  case KERNEL_ATTENTION_PREFILL:
  case KERNEL_ATTENTION_DECODE: {
    const struct kernel_attention *a = &s->attention;
    memcpy(
        extents + 1,
        (const double[]){a->batch, a->queries, a->context, a->heads, a->kv_heads, a->head_dim, a->window, a->is_causal},
        8 * sizeof(double));
    break;
  }
  case KERNEL_GROUPED_GEMM: {
    const struct kernel_grouped *g = &s->grouped;
    memcpy(extents + 1,
           (const double[]){g->tokens, g->hidden, g->inter, g->top_k, g->experts, g->tensor_parallel,
                            g->expert_parallel, g->skew},
           8 * sizeof(double));
    break;
  }
  default: {
    const struct kernel_pass *p = &s->pass;
    memcpy(extents + 1, (const double[]){p->rows, p->columns, p->reads, p->writes, p->vector_flops, p->function},
           6 * sizeof(double));
    break;
  }
  }
  uint64_t h = hash_mix(s->class_of, s->format);
  for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
    h = hash_double(h, extents[i]);
  }
  return h;
}

struct candidate {
  const char *chip;
  uint64_t hash;
  size_t index, rank; /* rank: within its chip */
};

static int compare_sizes(size_t a, size_t b) {
  return (a > b) - (a < b);
}

static int by_chip_and_hash(const void *a, const void *b) {
  const struct candidate *x = a, *y = b;
  int order = strcmp(x->chip, y->chip);
  if (order == 0) {
    order = (x->hash > y->hash) - (x->hash < y->hash);
  }
  return order ? order : compare_sizes(x->index, y->index);
}

static int by_rank(const void *a, const void *b) {
  const struct candidate *x = a, *y = b;
  int order = compare_sizes(x->rank, y->rank);
  return order ? order : strcmp(x->chip, y->chip);
}

static int by_index(const void *a, const void *b) {
  return compare_sizes(((const struct candidate *)a)->index, ((const struct candidate *)b)->index);
}

size_t fit_select_rows(const struct measured_kernel *const *rows, size_t count, size_t max_rows,
                       const struct measured_kernel **selected) {
  if (max_rows == 0 || count <= max_rows) {
    for (size_t i = 0; i < count; i++) {
      selected[i] = rows[i];
    }
    return count;
  }
  struct candidate *candidates = calloc(count, sizeof *candidates);
  if (!candidates) {
    return SIZE_MAX;
  }
  for (size_t i = 0; i < count; i++) {
    candidates[i] =
        (struct candidate){.chip = rows[i]->chip->id, .hash = shape_hash(&rows[i]->shape), .index = i, .rank = 0};
  }
  qsort(candidates, count, sizeof *candidates, by_chip_and_hash);
  for (size_t i = 1; i < count; i++) {
    bool is_same = strcmp(candidates[i].chip, candidates[i - 1].chip) == 0;
    candidates[i].rank = is_same ? candidates[i - 1].rank + 1 : 0;
  }
  qsort(candidates, count, sizeof *candidates, by_rank);
  qsort(candidates, max_rows, sizeof *candidates, by_index);
  for (size_t i = 0; i < max_rows; i++) {
    selected[i] = rows[candidates[i].index];
  }
  free(candidates);
  return max_rows;
}

/* ---- the problem ---- */

struct kernel_problem {
  const struct kernel_model *model;
  const struct measured_kernel *const *rows;
  size_t count;
  double *weights;
  double steps[FIT_PARAMETER_MAX];
};

bool fit_is_choice(const struct kernel_constant *constant) {
  return strcmp(constant->unit, "choice") == 0;
}

void fit_constants_for(const struct kernel_model *model, const struct hw_chip *chip, enum kernel_class class_of,
                       enum kernel_format format, const double *fitted, double *values) {
  double own[KERNEL_CONSTANT_MAX];
  model->defaults(chip, class_of, format, own);
  for (unsigned j = 0; j < model->constant_count; j++) {
    values[j] = fit_is_choice(&model->constants[j]) ? own[j] : fitted[j];
  }
}

static bool is_logarithmic(const struct kernel_constant *c) {
  return c->lower > 0 && c->upper > 0;
}

static double to_constant(const struct kernel_constant *c, double parameter) {
  double value =
      is_logarithmic(c) ? c->lower * pow(c->upper / c->lower, parameter) : c->lower + parameter * (c->upper - c->lower);
  return fmin(c->upper, fmax(c->lower, value)); /* rounding may leave the bounds */
}

static double to_parameter(const struct kernel_constant *c, double value) {
  if (!(c->upper > c->lower)) {
    return 0;
  }
  value = fmin(c->upper, fmax(c->lower, value));
  double x =
      is_logarithmic(c) ? log(value / c->lower) / log(c->upper / c->lower) : (value - c->lower) / (c->upper - c->lower);
  return fmin(1, fmax(0, x));
}

static void to_constants(const struct kernel_model *model, const double *parameters, double *values) {
  for (unsigned j = 0; j < model->constant_count; j++) {
    values[j] = to_constant(&model->constants[j], parameters[j]);
  }
}

static double residual_of(const struct kernel_model *model, const struct measured_kernel *row, const double *values) {
  struct kernel_time time;
  model->time(row->chip, &row->shape, values, &time);
  double residual = log(time.time_s / row->latency_s);
  return isfinite(residual) ? fmin(failed_residual, fmax(-failed_residual, residual)) : failed_residual;
}

/* Residuals of rows with the constants `fitted`, each with the choices of its chip. */
static void residuals_with(const struct kernel_problem *p, const double *fitted, double *residuals) {
  double values[KERNEL_CONSTANT_MAX];
  for (size_t i = 0; i < p->count; i++) {
    const struct measured_kernel *row = p->rows[i];
    if (i == 0 || row->chip != p->rows[i - 1]->chip) {
      fit_constants_for(p->model, row->chip, row->shape.class_of, row->shape.format, fitted, values);
    }
    residuals[i] = residual_of(p->model, row, values);
  }
}

static void residuals_of(const void *user, const double *parameters, double *residuals) {
  const struct kernel_problem *p = user;
  double values[KERNEL_CONSTANT_MAX];
  to_constants(p->model, parameters, values);
  residuals_with(p, values, residuals);
}

/* Number of the row's chip among those seen so far; the last one takes all beyond the limit. */
static size_t chip_number(const struct hw_chip **chips, size_t *count, const struct hw_chip *chip) {
  size_t c = 0;
  while (c < *count && chips[c] != chip) {
    c++;
  }
  if (c == *count && c < CHIP_LIMIT) {
    chips[(*count)++] = chip;
  }
  return c < CHIP_LIMIT ? c : CHIP_LIMIT - 1;
}

static unsigned octave_of(const struct measured_kernel *row) {
  int exponent;
  (void)frexp(row->latency_s, &exponent);
  return (unsigned)(exponent < -OCTAVES / 2 ? 0 : exponent >= OCTAVES / 2 ? OCTAVES - 1 : exponent + OCTAVES / 2);
}

/* Chips have equal weight; the mean over rows is 1. Tables of passes over rows hold thousands of rows that are launches and
 * little else, and few that say how fast the memory is: there every octave of the latency has equal weight. */
static bool weigh(const struct measured_kernel *const *rows, size_t count, double *weights) {
  const struct hw_chip *chips[CHIP_LIMIT];
  double(*octaves)[OCTAVES] = calloc(CHIP_LIMIT, sizeof *octaves);
  double totals[CHIP_LIMIT] = {0};
  size_t chip_count = 0;
  if (!octaves) {
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    octaves[chip_number(chips, &chip_count, rows[i]->chip)][octave_of(rows[i])] += 1;
  }
  bool is_pass = rows[0]->shape.class_of >= KERNEL_ELEMENTWISE;
  for (size_t i = 0; i < count; i++) {
    size_t c = chip_number(chips, &chip_count, rows[i]->chip);
    weights[i] = is_pass ? 1 / octaves[c][octave_of(rows[i])] : 1;
    totals[c] += weights[i];
  }
  for (size_t i = 0; i < count; i++) {
    size_t c = chip_number(chips, &chip_count, rows[i]->chip);
    weights[i] *= (double)count / ((double)chip_count * totals[c]);
  }
  free(octaves);
  return true;
}

static bool problem_init(struct kernel_problem *p, const struct kernel_model *model,
                         const struct measured_kernel *const *rows, size_t count) {
  *p = (struct kernel_problem){.model = model, .rows = rows, .count = count};
  for (unsigned j = 0; j < model->constant_count; j++) {
    const struct kernel_constant *c = &model->constants[j];
    /* a factor of 1.2 at first, or a twentieth of a linear range */
    double step = is_logarithmic(c) && c->upper > c->lower ? log(1.2) / log(c->upper / c->lower) : 0.05;
    p->steps[j] = fit_is_choice(c) || !(c->upper > c->lower) ? 0 : fmin(0.25, step);
  }
  p->weights = calloc(count, sizeof *p->weights);
  return p->weights != NULL && weigh(rows, count, p->weights);
}

static struct fit_problem solver_problem(const struct kernel_problem *p) {
  return (struct fit_problem){.parameter_count = p->model->constant_count,
                              .row_count = p->count,
                              .weights = p->weights,
                              .steps = p->steps,
                              .residuals = residuals_of,
                              .user = p};
}

/* ---- starts ---- */

static double radical_inverse(unsigned index, unsigned base) {
  double value = 0, digit = 1.0 / base;
  for (; index > 0; index /= base) {
    value += digit * (index % base);
    digit /= base;
  }
  return value;
}

/* Start 0 is the data sheet; the others have each constant at a third or two thirds of its range, by a Halton sequence. */
static void start_parameters(const struct kernel_model *model, const double *defaults, unsigned start, double *out) {
  static const unsigned primes[FIT_PARAMETER_MAX] = {2,  3,  5,  7,  11, 13, 17, 19, 23, 29, 31, 37,
                                                     41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89};
  for (unsigned j = 0; j < model->constant_count; j++) {
    bool is_high = radical_inverse(409 + start, primes[j]) >= 0.5;
    bool is_kept = start == 0 || fit_is_choice(&model->constants[j]);
    out[j] = is_kept ? to_parameter(&model->constants[j], defaults[j]) : is_high ? 2.0 / 3 : 1.0 / 3;
  }
}

/* The best of several starts on a part of the rows. */
static enum status race(const struct kernel_model *model, const struct measured_kernel *const *rows, size_t count,
                        const double *defaults, unsigned starts, unsigned iterations, struct fit_state *best) {
  const struct measured_kernel **part = calloc(count, sizeof *part);
  struct kernel_problem p = {0};
  size_t used = part ? fit_select_rows(rows, count, START_ROWS, part) : SIZE_MAX;
  enum status status = used != SIZE_MAX && problem_init(&p, model, part, used) ? STATUS_OK : STATUS_MEMORY;
  unsigned evaluations = 0;
  best->loss = INFINITY;
  for (unsigned i = 0; i < starts && status == STATUS_OK; i++) {
    struct fit_problem problem = solver_problem(&p);
    struct fit_state state = {.loss = INFINITY};
    start_parameters(model, defaults, i, state.parameters);
    status = fit_levenberg_marquardt(&problem, iterations, &state);
    evaluations += state.evaluations;
    if (i == 0 || state.loss < best->loss) {
      *best = state;
    }
  }
  best->evaluations = evaluations;
  free(p.weights);
  free(part);
  return status;
}

static enum status polish(const struct fit_problem *problem, unsigned iterations, bool with_search,
                          struct fit_state *state) {
  STATUS_TRY(fit_levenberg_marquardt(problem, iterations, state));
  if (!with_search) {
    return STATUS_OK;
  }
  double before = state->loss;
  STATUS_TRY(fit_pattern_search(problem, SEARCH_EVALUATIONS_PER_CONSTANT * problem->parameter_count, state));
  return state->loss < before * 0.999 ? fit_levenberg_marquardt(problem, iterations, state) : STATUS_OK;
}

/* Weighted mean of |predicted - measured| / measured; `errors` has room for one per row. */
static double mape_of(const struct kernel_problem *p, const double *values, double *errors) {
  double sum = 0, weight = 0;
  residuals_with(p, values, errors);
  for (size_t i = 0; i < p->count; i++) {
    sum += p->weights[i] * fabs(expm1(errors[i]));
    weight += p->weights[i];
  }
  return sum / weight;
}

static enum status fit_selected(const struct kernel_model *model, const struct measured_kernel *const *rows,
                                size_t count, const struct fit_options *options, struct fit_result *result) {
  unsigned iterations = options->max_iterations ? options->max_iterations : DEFAULT_ITERATIONS;
  unsigned starts = options->starts ? options->starts : DEFAULT_STARTS;
  struct fit_state state = {.loss = INFINITY};
  if (options->start) {
    start_parameters(model, options->start, 0, state.parameters);
  } else {
    STATUS_TRY(race(model, rows, count, result->values, starts, iterations, &state));
  }
  struct kernel_problem p;
  double *errors = calloc(count, sizeof *errors);
  enum status status = problem_init(&p, model, rows, count) && errors ? STATUS_OK : STATUS_MEMORY;
  if (status == STATUS_OK) {
    struct fit_problem problem = solver_problem(&p);
    status = polish(&problem, iterations, !options->start, &state);
  }
  if (status == STATUS_OK) {
    double fitted[KERNEL_CONSTANT_MAX];
    to_constants(model, state.parameters, fitted);
    /* the first chip's choices, exactly: scaling there and back rounds */
    fit_constants_for(model, rows[0]->chip, rows[0]->shape.class_of, rows[0]->shape.format, fitted, result->values);
    result->loss = state.loss;
    result->mape = mape_of(&p, result->values, errors);
    result->rows_used = count;
    result->evaluations = state.evaluations;
  }
  free(errors);
  free(p.weights);
  return status;
}

enum status fit_kernel(const struct kernel_model *model, const struct measured_kernel *const *rows, size_t count,
                       const struct fit_options *options, struct fit_result *result) {
  static const struct fit_options plain = {0};
  options = options ? options : &plain;
  *result = (struct fit_result){.loss = (double)NAN, .mape = (double)NAN};
  if (count == 0) {
    return STATUS_INPUT;
  }
  model->defaults(rows[0]->chip, rows[0]->shape.class_of, rows[0]->shape.format, result->values);
  const struct measured_kernel **selected = calloc(count, sizeof *selected);
  size_t used = selected ? fit_select_rows(rows, count, options->max_rows, selected) : SIZE_MAX;
  enum status status = used == SIZE_MAX                           ? STATUS_MEMORY
                       : used < 3 * (size_t)model->constant_count ? STATUS_INPUT
                                                                  : STATUS_OK;
  if (status == STATUS_OK) {
    status = fit_selected(model, selected, used, options, result);
  }
  free(selected);
  return status;
}
