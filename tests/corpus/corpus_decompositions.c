/* What decompositions must satisfy, in double precision: see corpus_triples.h. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus_triples.h"
#include "interp/interp_int.h"

enum { MAX_ORDER = 36 };

/* A matrix of one batch entry; vectors are columns. */
struct matrix {
  int rows, columns;
  double complex at[MAX_ORDER][MAX_ORDER];
};

/* The arrays of a triple for one entry of the batch, and what is measured. */
struct entry {
  const struct triple_record *record;
  const struct triple_values *outputs; /* the expected ones when the matrix is taken from them */
  uint64_t batch;
  double rounding; /* unit of the last place of 1 in the element type */
  char *reason;
};

/* ---- matrices -------------------------------------------------------------------------------------------------------------- */

/* `rank` dimensions of the value are the matrix (2) or the vector (1). */
static struct matrix read(const struct interp_value *v, uint64_t batch, uint32_t rank) {
  struct matrix m = {.rows = 1, .columns = 1};
  m.rows = (int)v->dims[v->rank - rank];
  m.columns = rank == 2 ? (int)v->dims[v->rank - 1] : 1;
  for (int i = 0; i < m.rows; i++) {
    for (int j = 0; j < m.columns; j++) {
      double parts[2];
      uint64_t at = (batch * (uint64_t)m.rows + (uint64_t)i) * (uint64_t)m.columns + (uint64_t)j;
      interp_read_complex(v, at, 1, parts);
      memcpy(&m.at[i][j], parts, sizeof parts);
    }
  }
  return m;
}

static struct matrix output(const struct entry *e, uint32_t i, uint32_t rank) {
  return read(e->outputs->values[i], e->batch, rank);
}

static struct matrix input(const struct entry *e, uint32_t i, uint32_t rank) {
  return read(e->record->inputs.values[i], e->batch, rank);
}

static struct matrix identity(int n) {
  struct matrix m = {.rows = n, .columns = n};
  for (int i = 0; i < n; i++) {
    m.at[i][i] = 1;
  }
  return m;
}

static struct matrix multiply(const struct matrix *a, const struct matrix *b) {
  struct matrix m = {.rows = a->rows, .columns = b->columns};
  for (int i = 0; i < m.rows; i++) {
    for (int j = 0; j < m.columns; j++) {
      for (int k = 0; k < a->columns; k++) {
        m.at[i][j] += a->at[i][k] * b->at[k][j];
      }
    }
  }
  return m;
}

static struct matrix adjoint(const struct matrix *a) {
  struct matrix m = {.rows = a->columns, .columns = a->rows};
  for (int i = 0; i < m.rows; i++) {
    for (int j = 0; j < m.columns; j++) {
      m.at[i][j] = conj(a->at[j][i]);
    }
  }
  return m;
}

/* The vector as the diagonal of a rows x columns matrix. */
static struct matrix diagonal(const struct matrix *vector, int rows, int columns) {
  struct matrix m = {.rows = rows, .columns = columns};
  for (int i = 0; i < vector->rows && i < rows && i < columns; i++) {
    m.at[i][i] = vector->at[i][0];
  }
  return m;
}

/* Elements with column - row in [low, high]; the others 0. */
static struct matrix band(const struct matrix *a, int low, int high) {
  struct matrix m = *a;
  for (int i = 0; i < m.rows; i++) {
    for (int j = 0; j < m.columns; j++) {
      m.at[i][j] = j - i >= low && j - i <= high ? m.at[i][j] : 0;
    }
  }
  return m;
}

static double largest(const struct matrix *m) {
  double most = 0;
  for (int i = 0; i < m->rows; i++) {
    for (int j = 0; j < m->columns; j++) {
      double size = cabs(m->at[i][j]);
      most = isnan(size) || size > most ? size : most;
    }
  }
  return most;
}

/* True when |a - b| is small against the largest element of b (or 1). */
static bool near(const struct entry *e, const struct matrix *a, const struct matrix *b, const char *what) {
  double most = 0, scale = fmax(largest(b), DBL_MIN);
  bool fits = a->rows == b->rows && a->columns == b->columns;
  for (int i = 0; fits && i < a->rows; i++) {
    for (int j = 0; j < a->columns; j++) {
      double size = cabs(a->at[i][j] - b->at[i][j]);
      most = isnan(size) || size > most ? size : most;
    }
  }
  double order = fmax(a->rows, a->columns);
  if (fits && most <= 32 * order * e->rounding * scale) {
    return true;
  }
  snprintf(e->reason, TRIPLE_REASON, "%s: off by %g of %g (batch %u)", what, most, scale, (unsigned)e->batch);
  return false;
}

static bool is_unitary(const struct entry *e, const struct matrix *q, const char *what) {
  struct matrix turned = adjoint(q), product = multiply(&turned, q), one = identity(q->columns);
  return near(e, &product, &one, what);
}

static bool is_sorted(const struct entry *e, const struct matrix *v, bool ascending, const char *what) {
  for (int i = 0; i + 1 < v->rows; i++) {
    double step = creal(v->at[i + 1][0]) - creal(v->at[i][0]);
    if (ascending ? step < 0 : step > 0) {
      snprintf(e->reason, TRIPLE_REASON, "%s are not in order", what);
      return false;
    }
  }
  return true;
}

/* The product of reflections I - tau v v^H, v having its 1 in row k + below, and the rest of it in column k of a below that. */
static struct matrix reflections(const struct matrix *a, const struct matrix *tau, int below) {
  struct matrix q = identity(a->rows);
  for (int k = 0; k < tau->rows; k++) {
    struct matrix v = {.rows = a->rows, .columns = 1};
    for (int i = k + below; i < a->rows; i++) {
      v.at[i][0] = i == k + below ? 1 : a->at[i][k];
    }
    struct matrix turned = adjoint(&v), outer = multiply(&v, &turned), reflection = identity(a->rows);
    for (int i = 0; i < a->rows; i++) {
      for (int j = 0; j < a->rows; j++) {
        reflection.at[i][j] -= tau->at[k][0] * outer.at[i][j];
      }
    }
    q = multiply(&q, &reflection);
  }
  return q;
}

/* x with a x = b, by elimination with row exchanges. */
static struct matrix solve(struct matrix a, struct matrix b) {
  int n = a.rows;
  for (int k = 0; k < n; k++) {
    int pivot = k;
    for (int i = k + 1; i < n; i++) {
      pivot = cabs(a.at[i][k]) > cabs(a.at[pivot][k]) ? i : pivot;
    }
    for (int j = 0; j < MAX_ORDER; j++) {
      double complex x = a.at[k][j], y = b.at[k][j];
      a.at[k][j] = a.at[pivot][j];
      a.at[pivot][j] = x;
      b.at[k][j] = b.at[pivot][j];
      b.at[pivot][j] = y;
    }
    for (int i = 0; i < n; i++) {
      double complex factor = i == k ? 0 : a.at[i][k] / a.at[k][k];
      for (int j = 0; j < MAX_ORDER; j++) {
        a.at[i][j] -= factor * a.at[k][j];
        b.at[i][j] -= factor * b.at[k][j];
      }
    }
  }
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < b.columns; j++) {
      b.at[i][j] /= a.at[i][i];
    }
  }
  return b;
}

/* ---- kinds ----------------------------------------------------------------------------------------------------------------- */
/* rebuild: the matrix that the outputs stand for. check: what else they must satisfy. */

static struct matrix rebuild_cholesky(const struct entry *e) {
  struct matrix l = output(e, 0, 2), turned = adjoint(&l);
  return multiply(&l, &turned);
}

static bool check_cholesky(const struct entry *e) {
  struct matrix l = output(e, 0, 2), lower = band(&l, -MAX_ORDER, 0),
                expected = read(e->record->expected.values[0], e->batch, 2);
  return near(e, &lower, &l, "the upper triangle") && near(e, &l, &expected, "the factor");
}

/* Eigenvalues, left and right eigenvectors (columns): a = v w v^-1. */
static struct matrix rebuild_eig(const struct entry *e) {
  struct matrix w = output(e, 0, 1), v = output(e, 2, 2), values = diagonal(&w, v.rows, v.rows);
  struct matrix right = multiply(&v, &values), turned_v = adjoint(&v), turned = adjoint(&right);
  struct matrix a = solve(turned_v, turned); /* a v = v w: v^H a^H = (v w)^H */
  return adjoint(&a);
}

/* u^H a = w u^H, u being the left vectors. */
static bool check_eig(const struct entry *e) {
  struct matrix w = output(e, 0, 1), u = output(e, 1, 2), a = rebuild_eig(e), turned = adjoint(&u);
  struct matrix values = diagonal(&w, u.rows, u.rows), left = multiply(&turned, &a), right = multiply(&values, &turned);
  return near(e, &left, &right, "the left eigenvectors");
}

static struct matrix rebuild_eigh(const struct entry *e) {
  struct matrix v = output(e, 0, 2), w = output(e, 1, 1), values = diagonal(&w, v.rows, v.rows), turned = adjoint(&v);
  struct matrix left = multiply(&v, &values);
  return multiply(&left, &turned);
}

static bool check_eigh(const struct entry *e) {
  struct matrix v = output(e, 0, 2), w = output(e, 1, 1), expected = read(e->record->expected.values[1], e->batch, 1);
  return is_unitary(e, &v, "the eigenvectors") && is_sorted(e, &w, true, "the eigenvalues")
         && near(e, &w, &expected, "the eigenvalues");
}

/* a = q h q^H. */
static struct matrix rebuild_hessenberg(const struct entry *e) {
  struct matrix packed = output(e, 0, 2), tau = output(e, 1, 1), h = band(&packed, -1, MAX_ORDER);
  struct matrix q = reflections(&packed, &tau, 1), left = multiply(&q, &h), turned = adjoint(&q);
  return multiply(&left, &turned);
}

static bool check_hessenberg(const struct entry *e) {
  struct matrix packed = output(e, 0, 2), tau = output(e, 1, 1), q = reflections(&packed, &tau, 1);
  return is_unitary(e, &q, "the reflections");
}

/* The rows of l u in the order that the permutation undoes. */
static struct matrix rebuild_lu(const struct entry *e) {
  struct matrix packed = output(e, 0, 2), permutation = output(e, 2, 1), u = band(&packed, 0, MAX_ORDER);
  int rank = packed.rows < packed.columns ? packed.rows : packed.columns;
  struct matrix l = band(&packed, -MAX_ORDER, -1), a = {.rows = packed.rows, .columns = packed.columns};
  for (int i = 0; i < rank; i++) {
    l.at[i][i] = 1;
  }
  l.columns = u.rows = rank;
  struct matrix product = multiply(&l, &u);
  for (int i = 0; i < a.rows; i++) {
    memcpy(a.at[(int)creal(permutation.at[i][0])], product.at[i], sizeof product.at[i]);
  }
  return a;
}

/* The permutation is that of the pivots, and no factor is above 1. */
static bool check_lu(const struct entry *e) {
  struct matrix packed = output(e, 0, 2), pivots = output(e, 1, 1), permutation = output(e, 2, 1);
  struct matrix l = band(&packed, -MAX_ORDER, -1), rows = {.rows = packed.rows, .columns = 1};
  for (int i = 0; i < rows.rows; i++) {
    rows.at[i][0] = i;
  }
  for (int i = 0; i < pivots.rows; i++) {
    int other = (int)creal(pivots.at[i][0]);
    double complex row = rows.at[i][0];
    rows.at[i][0] = rows.at[other][0];
    rows.at[other][0] = row;
  }
  if (largest(&l) > 1 + e->rounding) {
    snprintf(e->reason, TRIPLE_REASON, "a factor of %g", largest(&l));
    return false;
  }
  return near(e, &permutation, &rows, "the permutation");
}

static struct matrix rebuild_qr(const struct entry *e) {
  struct matrix q = output(e, 0, 2), r = output(e, 1, 2);
  return multiply(&q, &r);
}

static bool check_qr(const struct entry *e) {
  struct matrix q = output(e, 0, 2), r = output(e, 1, 2), upper = band(&r, 0, MAX_ORDER);
  return is_unitary(e, &q, "q") && near(e, &upper, &r, "the lower triangle of r");
}

/* a = z t z^H. */
static struct matrix rebuild_schur(const struct entry *e) {
  struct matrix t = output(e, 0, 2), z = output(e, 1, 2), left = multiply(&z, &t), turned = adjoint(&z);
  return multiply(&left, &turned);
}

/* Real matrices may have 2 x 2 blocks, but no two beside each other. */
static bool check_schur(const struct entry *e) {
  struct matrix t = output(e, 0, 2), z = output(e, 1, 2);
  bool is_complex = interp_is_complex(e->outputs->values[0]);
  struct matrix upper = band(&t, is_complex ? 0 : -1, MAX_ORDER);
  for (int i = 1; i + 1 < t.rows; i++) {
    if (t.at[i][i - 1] != 0 && t.at[i + 1][i] != 0) {
      snprintf(e->reason, TRIPLE_REASON, "a block of more than two rows");
      return false;
    }
  }
  return is_unitary(e, &z, "the Schur vectors") && near(e, &upper, &t, "the lower triangle");
}

/* u, s, adjoint of v. */
static struct matrix rebuild_svd(const struct entry *e) {
  struct matrix u = output(e, 0, 2), s = output(e, 1, 1), v = output(e, 2, 2);
  struct matrix values = diagonal(&s, u.columns, v.rows), left = multiply(&u, &values);
  return multiply(&left, &v);
}

static bool check_svd(const struct entry *e) {
  struct matrix u = output(e, 0, 2), s = output(e, 1, 1), v = output(e, 2, 2), turned = adjoint(&v);
  struct matrix expected = read(e->record->expected.values[1], e->batch, 1);
  return is_unitary(e, &u, "u") && is_unitary(e, &turned, "v") && is_sorted(e, &s, false, "the singular values")
         && near(e, &s, &expected, "the singular values");
}

/* Packed reflections, diagonal, off-diagonal, tau: a = q t q^H. */
static struct matrix rebuild_tridiagonal(const struct entry *e) {
  struct matrix packed = output(e, 0, 2), d = output(e, 1, 1), beside = output(e, 2, 1), tau = output(e, 3, 1);
  struct matrix t = diagonal(&d, packed.rows, packed.rows), q = reflections(&packed, &tau, 1), turned = adjoint(&q);
  for (int i = 0; i < beside.rows; i++) {
    t.at[i + 1][i] = t.at[i][i + 1] = beside.at[i][0];
  }
  struct matrix left = multiply(&q, &t);
  return multiply(&left, &turned);
}

static bool check_tridiagonal(const struct entry *e) {
  struct matrix packed = output(e, 0, 2), tau = output(e, 3, 1), q = reflections(&packed, &tau, 1);
  return is_unitary(e, &q, "the reflections");
}

/* The right side that the solution stands for; inputs: lower, main and upper diagonal, right side. */
static struct matrix rebuild_tridiagonal_solve(const struct entry *e) {
  struct matrix lower = input(e, 0, 1), d = input(e, 1, 1), upper = input(e, 2, 1), x = output(e, 0, 2);
  struct matrix t = diagonal(&d, d.rows, d.rows);
  for (int i = 0; i + 1 < d.rows; i++) {
    t.at[i + 1][i] = lower.at[i + 1][0];
    t.at[i][i + 1] = upper.at[i][0];
  }
  return multiply(&t, &x);
}

/* The same of a lower triangular matrix. */
static struct matrix rebuild_triangular_solve(const struct entry *e) {
  struct matrix a = input(e, 0, 2), lower = band(&a, -MAX_ORDER, 0), x = output(e, 0, 2);
  return multiply(&lower, &x);
}

static bool check_nothing(const struct entry *e) {
  (void)e;
  return true;
}

/* `given`: the input that is rebuilt (its lower triangle stands for the whole when `is_hermitian`); rebuilt from the expected
 * outputs when the program has no inputs. */
static const struct kind {
  const char *part; /* of the file's name */
  struct matrix (*rebuild)(const struct entry *e);
  bool (*check)(const struct entry *e);
  uint32_t given;
  bool is_hermitian;
} kinds[] = {
    {"_cholesky_", rebuild_cholesky, check_cholesky, 0, true},
    {"_eigh_", rebuild_eigh, check_eigh, 0, true},
    {"_Eigh.", rebuild_eigh, check_eigh, 0, true},
    {"_eig_", rebuild_eig, check_eig, 0, false},
    {"_hessenberg_", rebuild_hessenberg, check_hessenberg, 0, false},
    {"_lu_pivots_", NULL, NULL, 0, false},
    {"_lu_", rebuild_lu, check_lu, 0, false},
    {"_Lu.", rebuild_lu, check_lu, 0, false},
    {"_qr_", rebuild_qr, check_qr, 0, false},
    {"_Qr.", rebuild_qr, check_qr, 0, false},
    {"_schur_", rebuild_schur, check_schur, 0, false},
    {"_svd_", rebuild_svd, check_svd, 0, false},
    {"_triangular_solve_", rebuild_triangular_solve, check_nothing, 1, false},
    {"_tridiagonal_solve", rebuild_tridiagonal_solve, check_nothing, 3, false},
    {"_tridiagonal_", rebuild_tridiagonal, check_tridiagonal, 0, true},
};

static const struct kind *kind_of(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const char *found = strstr(name, kinds[i].part);
    if (found && found < name + strcspn(name, ".")) { /* what follows says the algorithm and the date */
      return kinds[i].rebuild ? &kinds[i] : NULL;
    }
  }
  return NULL;
}

bool triple_is_decomposition(const char *name) {
  return kind_of(name) != NULL;
}

/* The matrix that the outputs must give back. */
static struct matrix original(const struct kind *kind, const struct entry *e) {
  struct entry expected = *e;
  expected.outputs = &e->record->expected;
  if (kind->given >= e->record->inputs.count) {
    return kind->rebuild(&expected);
  }
  struct matrix a = input(e, kind->given, 2);
  for (int i = 0; kind->is_hermitian && i < a.rows; i++) { /* what is above the diagonal is not read */
    for (int j = i + 1; j < a.columns; j++) {
      a.at[i][j] = conj(a.at[j][i]);
    }
    a.at[i][i] = creal(a.at[i][i]);
  }
  return a;
}

bool triple_check_decomposition(const char *name, const struct triple_record *record,
                                const struct triple_values *outputs, char *reason) {
  const struct kind *kind = kind_of(name);
  const struct interp_value *first = outputs->values[0];
  bool is_single = first->dtype == DTYPE_F32 || first->dtype == DTYPE_C64;
  struct entry e = {record, outputs, 0, is_single ? (double)FLT_EPSILON : DBL_EPSILON, reason};
  bool ok = first->rank == 2 || first->rank == 3 || strstr(name, "_eig_");
  uint64_t batches = first->rank == 3 ? (uint64_t)first->dims[0] : 1;
  for (; ok && e.batch < batches; e.batch++) {
    struct matrix given = original(kind, &e), rebuilt = kind->rebuild(&e);
    ok = near(&e, &rebuilt, &given, "what the outputs give back") && kind->check(&e);
  }
  return ok;
}
