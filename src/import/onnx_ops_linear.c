/* Matrix products of ONNX. See onnx_build.h; meanings: onnx/docs/Operators.md, onnxruntime/docs/ContribOperators.md. */
#include "import/onnx_emit.h"
#include "import/onnx_fold.h"
#include "import/onnx_ops.h"

void onnx_build_matmul(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), y = onnx_input(b, n, 1);
  onnx_output(b, n, 0, onnx_matmul(b, x, y, DTYPE_NONE));
}

static struct onnx_val scaled(struct onnx_builder *b, struct onnx_val x, double factor) {
  return factor == 1 ? x : onnx_binary_float(b, IR_OP_MULTIPLY, x, factor);
}

/* alpha A' B' + beta C */
void onnx_build_gemm(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), y = onnx_input(b, n, 1), c = onnx_optional(b, n, 2);
  if (!onnx_check(b, onnx_rank(b, x) == 2 && onnx_rank(b, y) == 2, "factors must be matrices")) {
    return;
  }
  struct onnx_dot dot = {.contract_count = 1};
  dot.lhs_contract[0] = onnx_int(b, n, "transA", 0) == 0;
  dot.rhs_contract[0] = onnx_int(b, n, "transB", 0) != 0;
  struct onnx_val product = scaled(b, onnx_dot_general(b, x, y, &dot, DTYPE_NONE), onnx_float(b, n, "alpha", 1));
  double beta = onnx_float(b, n, "beta", 1);
  onnx_output(b, n, 0, c.id != 0 && beta != 0 ? onnx_add(b, product, scaled(b, c, beta)) : product);
}

static struct onnx_val transposed(struct onnx_builder *b, struct onnx_val x) {
  int64_t permutation[ONNX_RANK_MAX];
  uint32_t rank = onnx_rank(b, x);
  for (uint32_t i = 0; i < rank; i++) {
    permutation[i] = i + 2 < rank ? i : 2 * rank - 3 - i;
  }
  return rank < 2 ? x : onnx_transpose(b, x, permutation);
}

void onnx_build_fused_matmul(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), y = onnx_input(b, n, 1);
  if (!onnx_check(b, onnx_int(b, n, "transBatchA", 0) == 0 && onnx_int(b, n, "transBatchB", 0) == 0,
                  "transposed batches are not read")) {
    return;
  }
  x = onnx_int(b, n, "transA", 0) != 0 ? transposed(b, x) : x;
  y = onnx_int(b, n, "transB", 0) != 0 ? transposed(b, y) : y;
  onnx_output(b, n, 0, scaled(b, onnx_matmul(b, x, y, DTYPE_NONE), onnx_float(b, n, "alpha", 1)));
}

/* ---- einsum ---- */

enum { LETTERS = 52, LABELS = LETTERS + ONNX_RANK_MAX };

/* Dimensions of an operand or of the result by label: letters, then those of the ellipsis counted from its end. */
struct labels {
  uint32_t count;
  uint8_t of[ONNX_RANK_MAX];
};

struct einsum {
  struct onnx_builder *b;
  const char *at, *end;
  uint32_t ellipsis_rank; /* of the result */
};

static int letter_of(char c) {
  return c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= 'A' && c <= 'Z' ? c - 'A' : -1;
}

static bool is_in(const struct labels *labels, uint8_t label, uint32_t *place) {
  for (uint32_t i = 0; i < labels->count; i++) {
    if (labels->of[i] == label) {
      *place = i;
      return true;
    }
  }
  return false;
}

/* One term up to ',' or '-'. `rank` is that of the operand; UINT32_MAX for the result, whose ellipsis is known. */
static bool read_term(struct einsum *e, uint32_t rank, struct labels *labels) {
  const char *start = e->at;
  uint32_t letters = 0, unused;
  for (const char *c = start; c < e->end && *c != ',' && *c != '-'; c++) {
    letters += letter_of(*c) >= 0;
  }
  labels->count = 0;
  for (; e->at < e->end && *e->at != ',' && *e->at != '-'; e->at++) {
    int letter = letter_of(*e->at);
    if (*e->at == ' ') {
      continue;
    }
    if (*e->at == '.' && e->end - e->at >= 3 && e->at[1] == '.' && e->at[2] == '.') {
      uint32_t width = rank == UINT32_MAX ? e->ellipsis_rank : rank - letters;
      if (rank < letters || labels->count + width > ONNX_RANK_MAX) {
        return false;
      }
      e->ellipsis_rank = width > e->ellipsis_rank ? width : e->ellipsis_rank;
      for (uint32_t i = 0; i < width; i++) {
        labels->of[labels->count++] = (uint8_t)(LETTERS + width - 1 - i);
      }
      e->at += 2;
    } else if (letter < 0 || labels->count == ONNX_RANK_MAX || is_in(labels, (uint8_t)letter, &unused)) {
      return false; /* a letter twice (a diagonal) is not read */
    } else {
      labels->of[labels->count++] = (uint8_t)letter;
    }
  }
  return rank == UINT32_MAX || labels->count == rank;
}

/* Without "->": the ellipsis, then letters that occur once, in alphabetical order. */
static void implied_result(const struct einsum *e, const uint32_t *uses, struct labels *result) {
  for (uint32_t i = 0; i < e->ellipsis_rank; i++) {
    result->of[result->count++] = (uint8_t)(LETTERS + e->ellipsis_rank - 1 - i);
  }
  for (uint8_t letter = 0; letter < LETTERS && result->count < ONNX_RANK_MAX; letter++) {
    if (uses[letter] == 1) {
      result->of[result->count++] = letter;
    }
  }
}

/* Sums x over dimensions whose label nothing wants, and drops those of size 1 that the other operand has longer. */
static struct onnx_val drop_dims(struct onnx_builder *b, struct onnx_val x, struct labels *labels, const bool *wanted,
                                 struct onnx_val other, const struct labels *other_labels) {
  bool axes[ONNX_RANK_MAX] = {false};
  uint32_t kept = 0, place;
  for (uint32_t i = 0; i < labels->count; i++) {
    bool is_short =
        onnx_dim(b, x, i) == 1 && is_in(other_labels, labels->of[i], &place) && onnx_dim(b, other, place) != 1;
    axes[i] = is_short || (!wanted[labels->of[i]] && !is_in(other_labels, labels->of[i], &place));
    if (!axes[i]) {
      labels->of[kept++] = labels->of[i];
    }
  }
  labels->count = kept;
  return onnx_reduce(b, IR_OP_ADD, x, axes, false);
}

/* x and y into one: batches are labels of both that are wanted, contracted are the other common ones. */
static struct onnx_val contract(struct onnx_builder *b, struct onnx_val x, struct labels *lx, struct onnx_val y,
                                const struct labels *ly_given, const bool *wanted) {
  struct labels ly = *ly_given, result = {0};
  struct onnx_dot dot = {.batch_count = 0};
  uint32_t place;
  x = drop_dims(b, x, lx, wanted, y, &ly);
  y = drop_dims(b, y, &ly, wanted, x, lx);
  for (uint32_t i = 0; i < lx->count; i++) {
    if (!is_in(&ly, lx->of[i], &place)) {
      continue;
    }
    if (wanted[lx->of[i]]) {
      dot.lhs_batch[dot.batch_count] = i;
      dot.rhs_batch[dot.batch_count++] = place;
      result.of[result.count++] = lx->of[i];
    } else {
      dot.lhs_contract[dot.contract_count] = i;
      dot.rhs_contract[dot.contract_count++] = place;
    }
  }
  for (int side = 0; side < 2; side++) {
    const struct labels *from = side == 0 ? lx : &ly, *other = side == 0 ? &ly : lx;
    for (uint32_t i = 0; i < from->count; i++) {
      if (!is_in(other, from->of[i], &place) && result.count < ONNX_RANK_MAX) {
        result.of[result.count++] = from->of[i];
      }
    }
  }
  struct onnx_val v = onnx_dot_general(b, x, y, &dot, DTYPE_NONE);
  *lx = result;
  return v;
}

/* Dimensions of x in the order of the result. */
static struct onnx_val arrange(struct onnx_builder *b, struct onnx_val x, const struct labels *from,
                               const struct labels *to) {
  int64_t permutation[ONNX_RANK_MAX];
  uint32_t place = 0;
  bool fits = from->count == to->count;
  for (uint32_t i = 0; fits && i < to->count; i++) {
    fits = is_in(from, to->of[i], &place);
    permutation[i] = place;
  }
  return onnx_check(b, fits, "the result of the equation has a letter that no operand has")
             ? onnx_transpose(b, x, permutation)
             : x;
}

void onnx_build_einsum(struct onnx_builder *b, const struct onnx_node *n) {
  const struct onnx_attribute *a = onnx_attribute(b, n, "equation");
  size_t count = n->inputs.count;
  struct labels *terms = arena_calloc(&b->arena, count + 2, sizeof *terms), *result = terms + count;
  if (terms == NULL || a == NULL) {
    (void)onnx_check(b, false, "the equation is missing");
    return;
  }
  struct einsum e = {.b = b, .at = a->s.text, .end = a->s.text + a->s.length};
  uint32_t uses[LABELS] = {0};
  bool ok = count > 0;
  for (size_t i = 0; i < count && ok; i++) {
    struct onnx_val x = onnx_input(b, n, i);
    ok = (i == 0 || (e.at < e.end && *e.at++ == ',')) && !b->is_failed && read_term(&e, onnx_rank(b, x), &terms[i]);
    for (uint32_t k = 0; ok && k < terms[i].count; k++) {
      uses[terms[i].of[k]]++;
    }
  }
  if (ok && e.at < e.end) {
    ok = e.end - e.at >= 2 && *e.at++ == '-' && *e.at++ == '>' && read_term(&e, UINT32_MAX, result) && e.at == e.end;
  } else if (ok) {
    implied_result(&e, uses, result);
  }
  if (!onnx_check(b, ok, "the equation does not fit the operands, or has a letter twice in one operand")) {
    return;
  }
  struct onnx_val sum = onnx_input(b, n, 0);
  struct labels none = {0};
  for (size_t i = 0; i < count && !b->is_failed; i++) {
    bool wanted[LABELS] = {false};
    for (size_t k = i + 1; k <= count; k++) {
      for (uint32_t d = 0; d < terms[k].count; d++) {
        wanted[terms[k].of[d]] = true;
      }
    }
    sum = i == 0 ? (count == 1 ? drop_dims(b, sum, &terms[0], wanted, (struct onnx_val){0}, &none) : sum)
                 : contract(b, sum, &terms[0], onnx_input(b, n, i), &terms[i], wanted);
  }
  onnx_output(b, n, 0, arrange(b, sum, &terms[0], result));
}
