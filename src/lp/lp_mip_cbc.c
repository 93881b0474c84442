/* lp_mip.h over CBC's C interface: rows are collected sparse, turned into columns once, and handed over in one piece.
 * CBC runs with its log off: it writes nothing. Without RDG_CBC lp_mip_none.c stands here. */
#include "lp/lp_mip.h"

#ifdef RDG_CBC

#include <assert.h>
#include <coin/Cbc_C_Interface.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { INITIAL_CAPACITY = 64 };

/* A CBC bound at least this large is none (COIN_DBL_MAX is the largest double). */
#define NO_BOUND 1e50

struct variable {
  double lower, upper, cost;
  bool is_integer;
};

struct row {
  double lower, upper;
  size_t first, count; /* in entries */
};

struct entry {
  uint32_t variable;
  double coefficient;
};

struct lp_mip {
  struct variable *variables;
  struct row *rows;
  struct entry *entries;
  size_t variable_count, variable_capacity, row_count, row_capacity, entry_count, entry_capacity;
  double *values; /* of the last solution */
  bool is_exhausted; /* an allocation has failed: solving says STATUS_MEMORY */
};

/* The same program column by column, as CBC reads it. One block of memory each for real numbers and for indices. */
struct columns {
  double *lower, *upper, *cost, *row_lower, *row_upper, *coefficients;
  CoinBigIndex *starts;
  int *rows;
};

bool lp_mip_available(void) {
  return true;
}

struct lp_mip *lp_mip_new(void) {
  return calloc(1, sizeof(struct lp_mip));
}

void lp_mip_free(struct lp_mip *mip) {
  if (mip == NULL) {
    return;
  }
  free(mip->variables);
  free(mip->rows);
  free(mip->entries);
  free(mip->values);
  free(mip);
}

/* Room for `more` elements; false and the program marked when there is none. CBC counts with int. */
static bool reserve(struct lp_mip *mip, void **array, size_t *capacity, size_t count, size_t more, size_t size) {
  if (mip->is_exhausted || more > (size_t)INT_MAX - count) {
    mip->is_exhausted = true;
    return false;
  }
  if (count + more <= *capacity) {
    return true;
  }
  size_t grown = *capacity == 0 ? INITIAL_CAPACITY : *capacity * 2;
  if (grown < count + more) {
    grown = count + more;
  }
  void *larger = realloc(*array, grown * size);
  if (larger == NULL) {
    mip->is_exhausted = true;
    return false;
  }
  *array = larger;
  *capacity = grown;
  return true;
}

uint32_t lp_mip_variable(struct lp_mip *mip, double lower, double upper, double cost, bool is_integer) {
  assert(isfinite(lower) && isfinite(upper)); /* so that no program is unbounded: CBC reports such ones ambiguously */
  void *array = mip->variables;
  if (!reserve(mip, &array, &mip->variable_capacity, mip->variable_count, 1, sizeof *mip->variables)) {
    return 0;
  }
  mip->variables = array;
  mip->variables[mip->variable_count] = (struct variable){lower, upper, cost, is_integer};
  return (uint32_t)mip->variable_count++;
}

void lp_mip_row(struct lp_mip *mip, uint32_t count, const uint32_t *variables, const double *coefficients, double lower,
                double upper) {
  void *rows = mip->rows;
  if (!reserve(mip, &rows, &mip->row_capacity, mip->row_count, 1, sizeof *mip->rows)) {
    return;
  }
  mip->rows = rows;
  void *entries = mip->entries;
  if (!reserve(mip, &entries, &mip->entry_capacity, mip->entry_count, count, sizeof *mip->entries)) {
    return;
  }
  mip->entries = entries;
  mip->rows[mip->row_count++] = (struct row){lower, upper, mip->entry_count, count};
  for (uint32_t i = 0; i < count; i++) {
    mip->entries[mip->entry_count++] = (struct entry){variables[i], coefficients[i]};
  }
}

static bool columns_make(const struct lp_mip *mip, struct columns *columns) {
  const size_t n = mip->variable_count, m = mip->row_count, e = mip->entry_count;
  double *reals = malloc((3 * n + 2 * m + e + 1) * sizeof *reals);
  columns->lower = reals;
  columns->starts = calloc(n + 2, sizeof *columns->starts);
  columns->rows = malloc((e + 1) * sizeof *columns->rows);
  if (reals == NULL || columns->starts == NULL || columns->rows == NULL) {
    return false;
  }
  columns->upper = reals + n;
  columns->cost = columns->upper + n;
  columns->row_lower = columns->cost + n;
  columns->row_upper = columns->row_lower + m;
  columns->coefficients = columns->row_upper + m;
  for (size_t j = 0; j < n; j++) {
    columns->lower[j] = mip->variables[j].lower;
    columns->upper[j] = mip->variables[j].upper;
    columns->cost[j] = mip->variables[j].cost;
  }
  /* starts[j + 2] counts column j; after the sums starts[j + 1] is where its next entry goes, and its end at last. */
  for (size_t k = 0; k < e; k++) {
    columns->starts[mip->entries[k].variable + 2]++;
  }
  for (size_t j = 2; j < n + 2; j++) {
    columns->starts[j] += columns->starts[j - 1];
  }
  for (size_t i = 0; i < m; i++) {
    columns->row_lower[i] = mip->rows[i].lower;
    columns->row_upper[i] = mip->rows[i].upper;
    for (size_t k = mip->rows[i].first; k < mip->rows[i].first + mip->rows[i].count; k++) {
      const CoinBigIndex at = columns->starts[mip->entries[k].variable + 1]++;
      columns->rows[at] = (int)i;
      columns->coefficients[at] = mip->entries[k].coefficient;
    }
  }
  return true;
}

static void columns_release(struct columns *columns) {
  free(columns->lower);
  free(columns->starts);
  free(columns->rows);
}

/* Reads what CBC found. */
static enum status take_solution(struct lp_mip *mip, Cbc_Model *model, struct lp_mip_solution *solution) {
  *solution = (struct lp_mip_solution){.is_infeasible = Cbc_isProvenInfeasible(model) != 0};
  const double *values = Cbc_getColSolution(model);
  const double objective = Cbc_getObjValue(model);
  solution->bound = Cbc_getBestPossibleObjValue(model);
  if (solution->is_infeasible || values == NULL || fabs(objective) >= NO_BOUND) {
    solution->objective = HUGE_VAL;
    return STATUS_OK;
  }
  free(mip->values);
  mip->values = malloc((mip->variable_count + 1) * sizeof *mip->values);
  if (mip->values == NULL) {
    return STATUS_MEMORY;
  }
  memcpy(mip->values, values, mip->variable_count * sizeof *mip->values);
  solution->values = mip->values;
  solution->objective = objective;
  solution->is_optimal = Cbc_isProvenOptimal(model) != 0;
  if (solution->is_optimal) {
    solution->bound = objective; /* CBC sets none for a program without integers */
  }
  return STATUS_OK;
}

enum status lp_mip_solve(struct lp_mip *mip, uint64_t node_limit, struct lp_mip_solution *solution) {
  *solution = (struct lp_mip_solution){0};
  struct columns columns = {0};
  Cbc_Model *model = NULL;
  enum status status = STATUS_MEMORY;
  if (!mip->is_exhausted && columns_make(mip, &columns)) {
    model = Cbc_newModel();
  }
  if (model != NULL) {
    Cbc_setLogLevel(model, 0);
    Cbc_setParameter(model, "log", "0");
    Cbc_loadProblem(model, (int)mip->variable_count, (int)mip->row_count, columns.starts, columns.rows,
                    columns.coefficients, columns.lower, columns.upper, columns.cost, columns.row_lower,
                    columns.row_upper);
    for (size_t j = 0; j < mip->variable_count; j++) {
      if (mip->variables[j].is_integer) {
        Cbc_setInteger(model, (int)j);
      }
    }
    Cbc_setAllowableGap(model, 0);
    Cbc_setAllowableFractionGap(model, 0);
    if (node_limit != 0) {
      Cbc_setMaximumNodes(model, node_limit < INT_MAX ? (int)node_limit : INT_MAX);
    }
    Cbc_solve(model);
    status = take_solution(mip, model, solution);
    Cbc_deleteModel(model);
  }
  columns_release(&columns);
  return status;
}

#endif
