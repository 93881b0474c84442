/* The innermost loops of a matrix product, for one element type and one kind of processor. Included several times by
 * interp_fast_gemm.c, each time with
 *
 *   ELEMENT        element type                  VECTOR_BYTES   size of a vector register
 *   ROWS, VECTORS  the tile of the result that is held in registers: ROWS rows of VECTORS vectors
 *   NAME(x)        x with a suffix               TARGET         attribute that allows the processor's instructions
 *
 * Panels: of a, k times ROWS elements; of b, k times COLUMNS elements. */
#define LANES (VECTOR_BYTES / sizeof(ELEMENT))
#define COLUMNS (VECTORS * LANES)

typedef ELEMENT NAME(vector) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(ELEMENT)), may_alias));

/* c (rows `stride` elements apart) = or += the product of two panels. */
TARGET static void NAME(tile)(uint64_t k, const ELEMENT *a, const ELEMENT *b, ELEMENT *c, int64_t stride, bool adds) {
  NAME(vector) sums[ROWS][VECTORS] = {0};
  for (uint64_t p = 0; p < k; p++, a += ROWS, b += COLUMNS) {
    NAME(vector) right[VECTORS];
    UNROLL for (unsigned v = 0; v < VECTORS; v++) {
      right[v] = *(const NAME(vector) *)(const void *)(b + v * LANES);
    }
    UNROLL for (unsigned r = 0; r < ROWS; r++) {
      UNROLL for (unsigned v = 0; v < VECTORS; v++) {
        sums[r][v] += a[r] * right[v];
      }
    }
  }
  UNROLL for (unsigned r = 0; r < ROWS; r++, c += stride) {
    UNROLL for (unsigned v = 0; v < VECTORS; v++) {
      NAME(vector) *to = (NAME(vector) *)(void *)(c + v * LANES);
      if (adds) {
        sums[r][v] += *to;
      }
      *to = sums[r][v];
    }
  }
}

/* `count` <= ROWS rows of a, k columns; rows that are not there are 0. */
TARGET static void NAME(pack_a)(const void *data, const int64_t *rows, uint64_t count, const int64_t *columns,
                                uint64_t k, void *panel) {
  const ELEMENT *from = data;
  ELEMENT *to = panel;
  bool is_adjacent = count == ROWS && is_unit(rows, ROWS);
  for (uint64_t p = 0; p < k; p++, to += ROWS) {
    const ELEMENT *column = from + columns[p];
    if (is_adjacent) {
      memcpy(to, column + rows[0], ROWS * sizeof *to);
    } else if (count == ROWS) {
      UNROLL for (unsigned r = 0; r < ROWS; r++) {
        to[r] = column[rows[r]];
      }
    } else {
      for (unsigned r = 0; r < ROWS; r++) {
        to[r] = r < count ? column[rows[r]] : 0;
      }
    }
  }
}

/* k rows of b, `count` <= COLUMNS columns; columns that are not there are 0. */
TARGET static void NAME(pack_b)(const void *data, const int64_t *rows, uint64_t k, const int64_t *columns,
                                uint64_t count, void *panel) {
  const ELEMENT *from = data;
  ELEMENT *to = panel;
  bool is_adjacent = count == COLUMNS && is_unit(columns, COLUMNS);
  for (uint64_t p = 0; p < k; p++, to += COLUMNS) {
    const ELEMENT *row = from + rows[p];
    if (is_adjacent) {
      memcpy(to, row + columns[0], COLUMNS * sizeof *to);
    } else {
      for (unsigned c = 0; c < COLUMNS; c++) {
        to[c] = c < count ? row[columns[c]] : 0;
      }
    }
  }
}

/* One row times a matrix whose columns are adjacent: rows of b scaled and summed, eight at a time, in pieces of c that stay
 * in the nearest cache. */
TARGET static void NAME(row_by_columns)(const ELEMENT *a, const int64_t *a_columns, const ELEMENT *b,
                                        const int64_t *b_rows, uint64_t k, ELEMENT *c, uint64_t n) {
  enum { PIECE = 2048, STEP = 8 };
  for (uint64_t first = 0; first < n; first += PIECE) {
    uint64_t count = n - first < PIECE ? n - first : PIECE, p = 0;
    ELEMENT *to = c + first;
    memset(to, 0, count * sizeof *to);
    for (; p + STEP <= k; p += STEP) {
      ELEMENT x[STEP];
      const ELEMENT *row[STEP];
      for (unsigned s = 0; s < STEP; s++) {
        x[s] = a[a_columns[p + s]];
        row[s] = b + b_rows[p + s] + first;
      }
      for (uint64_t j = 0; j < count; j++) {
        to[j] += ((x[0] * row[0][j] + x[1] * row[1][j]) + (x[2] * row[2][j] + x[3] * row[3][j]))
                 + ((x[4] * row[4][j] + x[5] * row[5][j]) + (x[6] * row[6][j] + x[7] * row[7][j]));
      }
    }
    for (; p < k; p++) {
      ELEMENT x = a[a_columns[p]];
      const ELEMENT *row = b + b_rows[p] + first;
      for (uint64_t j = 0; j < count; j++) {
        to[j] += x * row[j];
      }
    }
  }
}

/* The sum of products of two rows of adjacent elements. */
TARGET static ELEMENT NAME(row_by_row)(const ELEMENT *a, const ELEMENT *b, uint64_t k) {
  enum { CHAINS = 4 };
  NAME(vector) sums[CHAINS] = {0};
  uint64_t p = 0;
  for (; p + CHAINS * LANES <= k; p += CHAINS * LANES) {
    UNROLL for (unsigned s = 0; s < CHAINS; s++) {
      sums[s] += *(const NAME(vector) *)(const void *)(a + p + s * LANES)
                 * *(const NAME(vector) *)(const void *)(b + p + s * LANES);
    }
  }
  NAME(vector) all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  ELEMENT sum = 0;
  for (; p < k; p++) {
    sum += a[p] * b[p];
  }
  for (unsigned l = 0; l < LANES; l++) {
    sum += all[l];
  }
  return sum;
}

/* One row of c: c[0][j] of n columns. a_columns and, for the second kind, b_rows are adjacent. */
TARGET static void NAME(row)(const struct interp_gemm *g, const void *a, const void *b, void *c, uint64_t first,
                             uint64_t n) {
  const ELEMENT *left = (const ELEMENT *)a + g->a.rows[0], *right = b;
  ELEMENT *to = c;
  if (is_unit(g->b.columns, g->n)) {
    NAME(row_by_columns)
    (left, g->a.columns, right + g->b.columns[first], g->b.rows, g->k, to + g->c.rows[0] + g->c.columns[first], n);
    return;
  }
  for (uint64_t j = first; j < first + n; j++) {
    to[g->c.rows[0] + g->c.columns[j]] =
        NAME(row_by_row)(left + g->a.columns[0], right + g->b.columns[j] + g->b.rows[0], g->k);
  }
}

/* Tiles at the edges, and those whose columns are not adjacent in c, by way of a buffer. */
TARGET static void NAME(edge)(uint64_t k, const void *a, const void *b, void *c, const int64_t *rows, uint64_t m,
                              const int64_t *columns, uint64_t n, bool adds) {
  ELEMENT buffer[ROWS * COLUMNS], *to = c;
  if (m == ROWS && n == COLUMNS && is_unit(columns, COLUMNS) && is_even(rows, ROWS)) {
    NAME(tile)(k, a, b, to + rows[0] + columns[0], rows[ROWS > 1] - rows[0], adds);
    return;
  }
  NAME(tile)(k, a, b, buffer, COLUMNS, false);
  for (uint64_t i = 0; i < m; i++) {
    for (uint64_t j = 0; j < n; j++) {
      ELEMENT *at = to + rows[i] + columns[j];
      *at = adds ? *at + buffer[i * COLUMNS + j] : buffer[i * COLUMNS + j];
    }
  }
}

static const struct kernel NAME(kernel) = {ROWS,         COLUMNS,    sizeof(ELEMENT), NAME(pack_a),
                                           NAME(pack_b), NAME(edge), NAME(row)};

#undef LANES
#undef COLUMNS
#undef ELEMENT
#undef VECTOR_BYTES
#undef ROWS
#undef VECTORS
#undef NAME
#undef TARGET
