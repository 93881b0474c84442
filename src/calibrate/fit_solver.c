/* Levenberg-Marquardt, Huber weights and a pattern search, sequential and in a fixed order of operations: the same problem
 * gives the same bits. Sources: Levenberg (1944), Marquardt (1963), Huber (1964); Hooke and Jeeves (1961). */
#include "calibrate/fit_solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double difference_step = 1e-4; /* of [0, 1]; sign away from a bound */
static const double loss_tolerance = 1e-6; /* relative decrease that still counts */

double fit_huber_loss(const double *residuals, const double *weights, size_t count) {
  double sum = 0, weight = 0;
  for (size_t i = 0; i < count; i++) {
    double size = fabs(residuals[i]);
    double loss = size <= FIT_HUBER_DELTA ? size * size / 2 : FIT_HUBER_DELTA * (size - FIT_HUBER_DELTA / 2);
    sum += weights[i] * loss;
    weight += weights[i];
  }
  return weight > 0 ? sum / weight : 0;
}

bool fit_solve_cholesky(double *a, double *b, unsigned n) {
  for (unsigned j = 0; j < n; j++) {
    double pivot = a[j * n + j];
    for (unsigned k = 0; k < j; k++) {
      pivot -= a[j * n + k] * a[j * n + k];
    }
    if (!(pivot > 0) || !isfinite(pivot)) {
      return false;
    }
    double root = sqrt(pivot);
    a[j * n + j] = root;
    for (unsigned i = j + 1; i < n; i++) {
      double sum = a[i * n + j];
      for (unsigned k = 0; k < j; k++) {
        sum -= a[i * n + k] * a[j * n + k];
      }
      a[i * n + j] = sum / root;
    }
  }
  for (unsigned i = 0; i < n; i++) {
    for (unsigned k = 0; k < i; k++) {
      b[i] -= a[i * n + k] * b[k];
    }
    b[i] /= a[i * n + i];
  }
  for (unsigned i = n; i-- > 0;) {
    for (unsigned k = i + 1; k < n; k++) {
      b[i] -= a[k * n + i] * b[k];
    }
    b[i] /= a[i * n + i];
  }
  return true;
}

struct workspace {
  double *residuals, *trial; /* one per row */
  double *jacobian; /* column after column */
  double normal[FIT_PARAMETER_MAX * FIT_PARAMETER_MAX]; /* JᵀWJ */
  double gradient[FIT_PARAMETER_MAX]; /* JᵀWr */
};

static double evaluate(const struct fit_problem *p, struct fit_state *s, const double *parameters, double *residuals) {
  p->residuals(p->user, parameters, residuals);
  s->evaluations++;
  return fit_huber_loss(residuals, p->weights, p->row_count);
}

static void differentiate(const struct fit_problem *p, struct fit_state *s, struct workspace *w) {
  for (unsigned j = 0; j < p->parameter_count; j++) {
    if (!(p->steps[j] > 0)) {
      continue; /* its column stays zero */
    }
    double moved[FIT_PARAMETER_MAX];
    memcpy(moved, s->parameters, sizeof moved);
    double step = s->parameters[j] > 0.5 ? -difference_step : difference_step;
    moved[j] += step;
    (void)evaluate(p, s, moved, w->trial);
    double *column = w->jacobian + (size_t)j * p->row_count;
    for (size_t i = 0; i < p->row_count; i++) {
      column[i] = (w->trial[i] - w->residuals[i]) / step;
    }
  }
}

/* Normal equations with the weights that make least squares of this step equal to Huber's loss. */
static void accumulate(const struct fit_problem *p, struct workspace *w) {
  unsigned n = p->parameter_count;
  memset(w->normal, 0, sizeof w->normal);
  memset(w->gradient, 0, sizeof w->gradient);
  for (size_t i = 0; i < p->row_count; i++) {
    double size = fabs(w->residuals[i]);
    double weight = p->weights[i] * (size <= FIT_HUBER_DELTA ? 1 : FIT_HUBER_DELTA / size);
    for (unsigned j = 0; j < n; j++) {
      double slope = weight * w->jacobian[(size_t)j * p->row_count + i];
      w->gradient[j] += slope * w->residuals[i];
      for (unsigned k = 0; k <= j; k++) {
        w->normal[j * n + k] += slope * w->jacobian[(size_t)k * p->row_count + i];
      }
    }
  }
  for (unsigned j = 0; j < n; j++) {
    for (unsigned k = 0; k < j; k++) {
      w->normal[k * n + j] = w->normal[j * n + k];
    }
  }
}

/* One damped step from the state; parameters at a bound that the gradient pushes outwards stay there. */
static bool damped_step(const struct fit_problem *p, const struct fit_state *s, const struct workspace *w,
                        double damping, double *next) {
  unsigned n = p->parameter_count, free_count = 0, free_index[FIT_PARAMETER_MAX];
  double matrix[FIT_PARAMETER_MAX * FIT_PARAMETER_MAX], step[FIT_PARAMETER_MAX], largest = 0;
  for (unsigned j = 0; j < n; j++) {
    bool is_pushed_out =
        (s->parameters[j] <= 0 && w->gradient[j] >= 0) || (s->parameters[j] >= 1 && w->gradient[j] <= 0);
    if (!is_pushed_out && p->steps[j] > 0) {
      free_index[free_count++] = j;
    }
    largest = fmax(largest, w->normal[j * n + j]);
  }
  if (free_count == 0 || !(largest > 0)) {
    return false;
  }
  for (unsigned a = 0; a < free_count; a++) {
    unsigned j = free_index[a];
    for (unsigned b = 0; b < free_count; b++) {
      matrix[a * free_count + b] = w->normal[j * n + free_index[b]];
    }
    /* the floor keeps a constant that no row depends on where it is */
    matrix[a * free_count + a] += damping * fmax(w->normal[j * n + j], 1e-6 * largest);
    step[a] = -w->gradient[j];
  }
  if (!fit_solve_cholesky(matrix, step, free_count)) {
    return false;
  }
  memcpy(next, s->parameters, n * sizeof *next);
  for (unsigned a = 0; a < free_count; a++) {
    next[free_index[a]] = fmin(1, fmax(0, next[free_index[a]] + step[a]));
  }
  return true;
}

/* Raises the damping until a step lowers the loss. False when none does. */
static bool descend(const struct fit_problem *p, struct fit_state *s, struct workspace *w, double *damping) {
  for (; *damping < 1e8; *damping *= 5) {
    double next[FIT_PARAMETER_MAX];
    if (!damped_step(p, s, w, *damping, next)) {
      continue;
    }
    double loss = evaluate(p, s, next, w->trial);
    if (loss < s->loss) {
      memcpy(s->parameters, next, p->parameter_count * sizeof *next);
      s->loss = loss;
      double *residuals = w->residuals;
      w->residuals = w->trial;
      w->trial = residuals;
      *damping = fmax(*damping / 5, 1e-7);
      return true;
    }
  }
  return false;
}

static bool workspace_init(const struct fit_problem *p, struct workspace *w, bool with_jacobian) {
  size_t rows = p->row_count ? p->row_count : 1;
  *w = (struct workspace){0};
  w->residuals = calloc(rows, sizeof(double));
  w->trial = calloc(rows, sizeof(double));
  w->jacobian = with_jacobian ? calloc(rows * p->parameter_count + 1, sizeof(double)) : NULL;
  return w->residuals && w->trial && (w->jacobian || !with_jacobian);
}

static void workspace_release(struct workspace *w) {
  free(w->residuals);
  free(w->trial);
  free(w->jacobian);
}

enum status fit_levenberg_marquardt(const struct fit_problem *p, unsigned max_iterations, struct fit_state *s) {
  struct workspace w;
  if (!workspace_init(p, &w, true)) {
    workspace_release(&w);
    return STATUS_MEMORY;
  }
  s->loss = evaluate(p, s, s->parameters, w.residuals);
  double damping = 1e-2;
  unsigned stalls = 0;
  for (unsigned iteration = 0; iteration < max_iterations && stalls < 2 && s->loss > 0; iteration++) {
    double before = s->loss;
    differentiate(p, s, &w);
    accumulate(p, &w);
    if (!descend(p, s, &w, &damping)) {
      break;
    }
    stalls = before - s->loss > 1e-4 * before ? 0 : stalls + 1;
  }
  workspace_release(&w);
  return STATUS_OK;
}

/* Tries both directions of every parameter once; true when one of them lowered the loss. */
static bool search_round(const struct fit_problem *p, double scale, unsigned limit, struct fit_state *s,
                         double *residuals) {
  bool has_improved = false;
  for (unsigned j = 0; j < p->parameter_count; j++) {
    for (int direction = 1; direction >= -1 && s->evaluations < limit; direction -= 2) {
      double before = s->parameters[j];
      double next = fmin(1, fmax(0, before + direction * scale * p->steps[j]));
      if (!(fabs(next - before) > 0)) {
        continue;
      }
      s->parameters[j] = next;
      double loss = evaluate(p, s, s->parameters, residuals);
      if (loss < s->loss * (1 - loss_tolerance)) {
        s->loss = loss;
        has_improved = true;
        break;
      }
      s->parameters[j] = before;
    }
  }
  return has_improved;
}

enum status fit_pattern_search(const struct fit_problem *p, unsigned max_evaluations, struct fit_state *s) {
  struct workspace w;
  if (!workspace_init(p, &w, false)) {
    workspace_release(&w);
    return STATUS_MEMORY;
  }
  unsigned limit = s->evaluations + max_evaluations;
  s->loss = evaluate(p, s, s->parameters, w.residuals);
  for (double scale = 4; scale > 0.1 && s->evaluations < limit;) {
    if (!search_round(p, scale, limit, s, w.residuals)) {
      scale /= 2;
    }
  }
  workspace_release(&w);
  return STATUS_OK;
}
