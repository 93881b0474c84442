/* Matrices: cholesky and triangular_solve, in complex double precision for every element type, rounded once.
 * Source: the StableHLO specification, sections of these operations. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "interp/interp_custom.h"

typedef double complex number;

/* The matrices that the last two dimensions of a tensor hold. */
struct matrices {
  uint64_t count, rows, columns;
};

static bool matrices_of(struct interp_call *call, uint32_t operand, struct matrices *m) {
  const struct interp_value *v = call->operands[operand];
  *m = (struct matrices){0};
  if (v->rank < 2) {
    return interp_wrong(call, "operand %u is no matrix", operand);
  }
  m->rows = (uint64_t)v->dims[v->rank - 2];
  m->columns = (uint64_t)v->dims[v->rank - 1];
  m->count = v->count == 0 ? 0 : v->count / (m->rows * m->columns);
  return true;
}

/* `count` numbers from `first` on. */
static void read_matrix(const struct interp_value *v, uint64_t first, uint64_t count, number *out) {
  interp_read_complex(v, first, count, (double *)out); /* pairs of doubles are C's complex numbers (C17 6.2.5) */
}

static void write_matrix(struct interp_value *v, uint64_t first, uint64_t count, const number *in) {
  if (interp_is_complex(v)) {
    interp_write_complex(v, first, count, (const double *)in);
    return;
  }
  for (uint64_t i = 0; i < count; i++) {
    double real = creal(in[i]);
    interp_write_real(v, first + i, 1, &real);
  }
}

/* ---- cholesky ------------------------------------------------------------------------------------------------------------- */

/* a = l * conjugate transpose of l, reading the lower triangle of a (n x n, row-major); the upper one becomes 0. A matrix
 * that is not positive definite gives NaN. */
static void factor(number *a, uint64_t n) {
  for (uint64_t j = 0; j < n; j++) {
    for (uint64_t i = j; i < n; i++) {
      number sum = a[i * n + j];
      for (uint64_t k = 0; k < j; k++) {
        sum -= a[i * n + k] * conj(a[j * n + k]);
      }
      a[i * n + j] = i == j ? (number)sqrt(creal(sum)) : sum / a[j * n + j];
    }
    for (uint64_t i = 0; i < j; i++) {
      a[i * n + j] = 0;
    }
  }
}

static void conjugate_transpose(number *a, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    a[i * n + i] = conj(a[i * n + i]);
    for (uint64_t j = 0; j < i; j++) {
      number swap = conj(a[i * n + j]);
      a[i * n + j] = conj(a[j * n + i]);
      a[j * n + i] = swap;
    }
  }
}

bool interp_op_cholesky(struct interp_call *call) {
  const struct interp_value *v = call->operands[0];
  struct matrices m;
  bool is_lower = interp_attr_bool(call, "lower", false);
  if (!matrices_of(call, 0, &m) || m.rows != m.columns) {
    return m.rows != m.columns ? interp_wrong(call, "the matrices are not square") : false;
  }
  uint64_t size = m.rows * m.columns;
  struct interp_value *to = interp_spend(call, v->count * m.rows) ? interp_result(call, 0, v->dims, v->rank) : NULL;
  number *a = to ? malloc((size + 1) * sizeof *a) : NULL;
  if (!a) {
    return to ? interp_out_of_memory(call) : false;
  }
  for (uint64_t i = 0; i < m.count; i++) {
    read_matrix(v, i * size, size, a);
    if (!is_lower) { /* a = conjugate transpose of u * u: the same with a's upper triangle turned */
      conjugate_transpose(a, m.rows);
    }
    factor(a, m.rows);
    if (!is_lower) {
      conjugate_transpose(a, m.rows);
    }
    write_matrix(to, i * size, size, a);
  }
  free(a);
  return true;
}

/* ---- triangular_solve ------------------------------------------------------------------------------------------------------ */

struct solve {
  uint64_t n; /* a is n x n */
  bool is_lower, is_unit;
  enum { PLAIN, TRANSPOSED, ADJOINT } form;
  const number *a;
};

/* Element (i, j) of op(a); outside of the triangle that counts it is never read. */
static number element(const struct solve *s, uint64_t i, uint64_t j) {
  if (i == j && s->is_unit) {
    return 1;
  }
  number value = s->form == PLAIN ? s->a[i * s->n + j] : s->a[j * s->n + i];
  return s->form == ADJOINT ? conj(value) : value;
}

/* op(a) x = b for one column of n elements with the given stride, in place. */
static void solve_column(const struct solve *s, number *b, uint64_t stride) {
  bool forward = s->is_lower == (s->form == PLAIN);
  for (uint64_t step = 0; step < s->n; step++) {
    uint64_t i = forward ? step : s->n - 1 - step;
    number sum = b[i * stride];
    for (uint64_t before = 0; before < step; before++) {
      uint64_t j = forward ? before : s->n - 1 - before;
      sum -= element(s, i, j) * b[j * stride];
    }
    b[i * stride] = s->is_unit ? sum : sum / element(s, i, i);
  }
}

/* x op(a) = b is transpose(op(a)) transpose(x) = transpose(b): rows of b are solved with op(a) turned. */
static void solve_row(const struct solve *s, number *b) {
  bool forward = s->is_lower != (s->form == PLAIN);
  for (uint64_t step = 0; step < s->n; step++) {
    uint64_t i = forward ? step : s->n - 1 - step;
    number sum = b[i];
    for (uint64_t before = 0; before < step; before++) {
      uint64_t j = forward ? before : s->n - 1 - before;
      sum -= b[j] * element(s, j, i);
    }
    b[i] = s->is_unit ? sum : sum / element(s, i, i);
  }
}

/* op(a) x = b, or x op(a) = b. `s` has everything but the matrix and its size. */
static bool triangular_solve(struct interp_call *call, bool is_left, struct solve s) {
  struct matrices a, b;
  if (!matrices_of(call, 0, &a) || !matrices_of(call, 1, &b)) {
    return false;
  }
  if (a.rows != a.columns || a.count != b.count || (is_left ? b.rows : b.columns) != a.rows) {
    return interp_wrong(call, "its operands do not fit each other");
  }
  const struct interp_value *from = call->operands[1];
  uint64_t size = b.rows * b.columns;
  struct interp_value *to =
      interp_spend(call, from->count * a.rows) ? interp_result(call, 0, from->dims, from->rank) : NULL;
  number *numbers = to ? malloc((a.rows * a.rows + size + 1) * sizeof *numbers) : NULL;
  if (!numbers) {
    return to ? interp_out_of_memory(call) : false;
  }
  number *x = numbers + a.rows * a.rows;
  s.n = a.rows;
  s.a = numbers;
  for (uint64_t i = 0; i < b.count; i++) {
    read_matrix(call->operands[0], i * a.rows * a.rows, a.rows * a.rows, numbers);
    read_matrix(from, i * size, size, x);
    for (uint64_t k = 0; k < (is_left ? b.columns : b.rows); k++) {
      if (is_left) {
        solve_column(&s, x + k, b.columns);
      } else {
        solve_row(&s, x + k * b.columns);
      }
    }
    write_matrix(to, i * size, size, x);
  }
  free(numbers);
  return true;
}

bool interp_op_triangular_solve(struct interp_call *call) {
  const char *form = interp_attr_text(call, "transpose_a");
  struct solve s = {.is_lower = interp_attr_bool(call, "lower", false),
                    .is_unit = interp_attr_bool(call, "unit_diagonal", false),
                    .form = form[0] == 'A'   ? ADJOINT
                            : form[0] == 'T' ? TRANSPOSED
                                             : PLAIN};
  return triangular_solve(call, interp_attr_bool(call, "left_side", false), s);
}

/* BLAS's trsm as XLA's CPU back end calls it: letters side, uplo, trans_x, diag. A kernel that sees both matrices transposed
 * solves the other side of the other triangle. */
bool interp_target_trsm(struct interp_call *call) {
  if (call->operand_count != 2 || call->result_count != 1 || interp_is_integral(call->operands[0])
      || call->operands[0]->dtype != call->operands[1]->dtype
      || call->operands[0]->dtype != interp_result_dtype(call, 0)) {
    return interp_wrong(call, "it takes a triangular matrix and a right side");
  }
  bool is_turned = interp_is_row_major(call, "operand_layouts", 0, call->operands[0]->rank);
  bool is_left = interp_config_int(call, "side", 'L') == 'L', is_lower = interp_config_int(call, "uplo", 'L') == 'L';
  int64_t form = interp_config_int(call, "trans_x", 'N');
  if (is_turned != interp_is_row_major(call, "operand_layouts", 1, call->operands[1]->rank)
      || is_turned != interp_is_row_major(call, "result_layouts", 0, call->operands[1]->rank)) {
    return interp_unsupported(call, "its matrices have different layouts");
  }
  struct solve s = {.is_lower = is_lower != is_turned,
                    .is_unit = interp_config_int(call, "diag", 'N') == 'U',
                    .form = form == 'C'   ? ADJOINT
                            : form == 'T' ? TRANSPOSED
                                          : PLAIN};
  return triangular_solve(call, is_left != is_turned, s);
}
