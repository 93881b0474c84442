/* Contractions: dot_general and what is one (dot, einsum, unary_einsum, ragged_dot). Both sides are laid out as rows of the
 * contracted elements, so that each element of the result is one sum of products.
 * Source: the StableHLO specification, section dot_general. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interp/interp_dot.h"
#include "interp/interp_fast.h"
#include "interp/interp_products.h"
#include "interp/interp_view.h"

static bool has(const int64_t *list, uint32_t count, int64_t value) {
  for (uint32_t i = 0; i < count; i++) {
    if (list[i] == value) {
      return true;
    }
  }
  return false;
}

/* What is neither batch nor contracted is free. */
static bool complete(struct interp_side *side, uint32_t rank) {
  for (uint32_t i = 0; i < side->batch_count + side->contracted_count; i++) {
    int64_t d = i < side->batch_count ? side->batch[i] : side->contracted[i - side->batch_count];
    if (d < 0 || d >= rank) {
      return false;
    }
  }
  side->free_count = 0;
  for (uint32_t d = 0; d < rank; d++) {
    if (!has(side->batch, side->batch_count, d) && !has(side->contracted, side->contracted_count, d)) {
      side->free[side->free_count++] = d;
    }
  }
  return side->batch_count + side->contracted_count + side->free_count == rank;
}

static uint64_t extent(const struct interp_value *v, const int64_t *dims, uint32_t count) {
  uint64_t product = 1;
  for (uint32_t i = 0; i < count; i++) {
    product *= (uint64_t)v->dims[dims[i]];
  }
  return product;
}

/* The operand with its dimensions in the order batch, free, contracted. */
static struct interp_value *as_rows(struct interp_call *call, const struct interp_value *v,
                                    const struct interp_side *side) {
  struct interp_view all = interp_view_of(v), turned = {0};
  int64_t dims[INTERP_MAX_RANK];
  const struct {
    const int64_t *dims;
    uint32_t count;
  } parts[3] = {
      {side->batch, side->batch_count}, {side->free, side->free_count}, {side->contracted, side->contracted_count}};
  uint32_t rank = 0;
  for (int p = 0; p < 3; p++) {
    for (uint32_t i = 0; i < parts[p].count; i++) {
      dims[rank] = v->dims[parts[p].dims[i]];
      turned.strides[rank++] = all.strides[parts[p].dims[i]];
    }
  }
  struct interp_value *rows = interp_scratch(call, (enum dtype)v->dtype, dims, rank);
  if (rows) {
    struct interp_view whole = interp_view_of(rows);
    interp_view_copy(rows, &whole, v, &turned, dims, rank);
  }
  return rows;
}

/* One batch: m rows of the left side with n rows of the right side, k numbers each. `right` and `left` are buffers. */
static void multiply_batch(struct interp_value *to, uint64_t batch, const struct interp_value *lhs,
                           const struct interp_value *rhs, const uint64_t mnk[3], uint64_t *left, uint64_t *right) {
  uint64_t m = mnk[0], n = mnk[1], k = mnk[2];
  enum interp_arithmetic arithmetic = interp_arithmetic_of(lhs, rhs, to);
  unsigned words = interp_words(arithmetic);
  interp_read_numbers(arithmetic, rhs, batch * n * k, n * k, right);
  for (uint64_t i = 0; i < m; i++) {
    interp_read_numbers(arithmetic, lhs, (batch * m + i) * k, k, left);
    for (uint64_t j = 0; j < n; j++) {
      interp_write_product(arithmetic, to, (batch * m + i) * n + j, left, right + j * k * words, k);
    }
  }
}

static bool multiply(struct interp_call *call, struct interp_value *to, const struct interp_value *lhs,
                     const struct interp_value *rhs, uint64_t batches, const uint64_t mnk[3]) {
  unsigned words = interp_words(interp_arithmetic_of(lhs, rhs, to));
  uint64_t *left = malloc((mnk[2] + 1) * words * sizeof *left);
  uint64_t *right = malloc((mnk[1] * mnk[2] + 1) * words * sizeof *right);
  bool ok = left && right ? true : interp_out_of_memory(call);
  for (uint64_t b = 0; ok && b < batches; b++) {
    multiply_batch(to, b, lhs, rhs, mnk, left, right);
  }
  free(left);
  free(right);
  return ok;
}

static bool spend_products(struct interp_call *call, uint64_t batches, const uint64_t mnk[3]) {
  uint64_t total = batches;
  for (int i = 0; i < 3; i++) {
    total = __builtin_mul_overflow(total, mnk[i], &total) ? UINT64_MAX : total;
  }
  return interp_spend(call, total);
}

bool interp_product_dims(struct interp_call *call, const struct interp_value *lhs, const struct interp_value *rhs,
                         struct interp_side *left, struct interp_side *right, int64_t *dims, uint32_t *rank) {
  *rank = 0;
  bool fits = left->batch_count == right->batch_count && left->contracted_count == right->contracted_count
              && complete(left, lhs->rank) && complete(right, rhs->rank)
              && left->batch_count + left->free_count + right->free_count <= INTERP_MAX_RANK;
  for (uint32_t i = 0; fits && i < left->batch_count; i++) {
    fits = lhs->dims[left->batch[i]] == rhs->dims[right->batch[i]];
    dims[(*rank)++] = lhs->dims[left->batch[i]];
  }
  for (uint32_t i = 0; fits && i < left->contracted_count; i++) {
    fits = lhs->dims[left->contracted[i]] == rhs->dims[right->contracted[i]];
  }
  for (uint32_t i = 0; fits && i < left->free_count; i++) {
    dims[(*rank)++] = lhs->dims[left->free[i]];
  }
  for (uint32_t i = 0; fits && i < right->free_count; i++) {
    dims[(*rank)++] = rhs->dims[right->free[i]];
  }
  return fits || interp_wrong(call, "its dimension numbers do not fit its operands");
}

bool interp_contract(struct interp_call *call, const struct interp_value *lhs, const struct interp_value *rhs,
                     const struct interp_side *left, const struct interp_side *right, struct interp_value *to) {
  uint64_t batches = extent(lhs, left->batch, left->batch_count);
  uint64_t mnk[3] = {extent(lhs, left->free, left->free_count), extent(rhs, right->free, right->free_count),
                     extent(lhs, left->contracted, left->contracted_count)};
  if (!spend_products(call, batches, mnk)) {
    return false;
  }
  enum interp_fast fast = interp_fast_contract(call, lhs, rhs, left, right, to);
  if (fast != INTERP_FAST_NOT_MINE) {
    return fast == INTERP_FAST_DONE;
  }
  struct interp_value *a = as_rows(call, lhs, left);
  struct interp_value *b = a ? as_rows(call, rhs, right) : NULL;
  bool ok = b && multiply(call, to, a, b, batches, mnk);
  interp_release(a);
  interp_release(b);
  return ok;
}

bool interp_dot_operands(struct interp_call *call, struct interp_side *left, struct interp_side *right) {
  const struct interp_value *lhs = call->operands[0], *rhs = call->operands[1];
  int64_t dims[INTERP_MAX_RANK];
  uint32_t rank = 0;
  if (!interp_product_dims(call, lhs, rhs, left, right, dims, &rank)) {
    return false;
  }
  struct interp_value *to = interp_result(call, 0, dims, rank);
  return to && interp_contract(call, lhs, rhs, left, right, to);
}

void interp_read_sides(const struct interp_call *call, struct ir_attr numbers, struct interp_side *left,
                       struct interp_side *right) {
  *left = *right = (struct interp_side){0};
  left->batch_count = interp_field_ints(call, numbers, "lhs_batching_dimensions", left->batch);
  right->batch_count = interp_field_ints(call, numbers, "rhs_batching_dimensions", right->batch);
  left->contracted_count = interp_field_ints(call, numbers, "lhs_contracting_dimensions", left->contracted);
  right->contracted_count = interp_field_ints(call, numbers, "rhs_contracting_dimensions", right->contracted);
}

bool interp_op_dot_general(struct interp_call *call) {
  struct interp_side left, right;
  struct ir_attr numbers = ir_op_attr(call->module, call->op, "dot_dimension_numbers");
  if (!numbers.id) {
    return interp_wrong(call, "it has no dot_dimension_numbers");
  }
  interp_read_sides(call, numbers, &left, &right);
  return interp_dot_operands(call, &left, &right);
}

/* Vectors and matrices: the last dimension of the left with the first of the right. */
bool interp_op_dot(struct interp_call *call) {
  struct interp_side left = {.contracted_count = 1}, right = {.contracted_count = 1};
  if (call->operands[0]->rank == 0 || call->operands[1]->rank == 0) {
    return interp_wrong(call, "an operand is a scalar");
  }
  left.contracted[0] = call->operands[0]->rank - 1;
  return interp_dot_operands(call, &left, &right);
}

/* ---- einsum -------------------------------------------------------------------------------------------------------------- */

enum { LETTERS = 128 };

/* "ab,bc->ac": which letters name the dimensions of the operands and of the result. */
struct einsum {
  char inputs[2][INTERP_MAX_RANK + 1], output[INTERP_MAX_RANK + 1];
  int64_t size[LETTERS]; /* of each letter; -1 = not used */
  char letters[LETTERS]; /* those of the output, then the others */
  uint32_t letter_count;
};

static bool take_letters(const char **at, char *out) {
  uint32_t count = 0;
  while ((**at >= 'a' && **at <= 'z') || (**at >= 'A' && **at <= 'Z')) {
    if (count == INTERP_MAX_RANK) {
      return false;
    }
    out[count++] = *(*at)++;
  }
  out[count] = '\0';
  return true;
}

static bool parse_einsum(struct interp_call *call, uint32_t inputs, struct einsum *e) {
  const char *at = interp_attr_text(call, "einsum_config"), *text = at;
  *e = (struct einsum){0};
  memset(e->size, -1, sizeof e->size);
  bool ok = take_letters(&at, e->inputs[0]);
  ok = ok && (inputs == 1 || (*at++ == ',' && take_letters(&at, e->inputs[1])));
  ok = ok && strncmp(at, "->", 2) == 0;
  at += ok ? 2 : 0;
  ok = ok && take_letters(&at, e->output) && *at == '\0';
  for (uint32_t i = 0; ok && i < inputs; i++) {
    ok = strlen(e->inputs[i]) == call->operands[i]->rank;
    for (uint32_t d = 0; ok && d < call->operands[i]->rank; d++) {
      int64_t *size = &e->size[(unsigned char)e->inputs[i][d]];
      ok = *size < 0 || *size == call->operands[i]->dims[d];
      *size = call->operands[i]->dims[d];
    }
  }
  for (const char *c = e->output; ok && *c; c++) {
    ok = e->size[(unsigned char)*c] >= 0 && !strchr(c + 1, *c);
    e->letters[e->letter_count++] = *c;
  }
  for (int c = 0; ok && c < LETTERS; c++) {
    if (e->size[c] >= 0 && !strchr(e->output, c)) {
      e->letters[e->letter_count++] = (char)c;
    }
  }
  ok = ok && e->letter_count <= INTERP_MAX_RANK;
  return ok || interp_unsupported(call, "the configuration '%s' does not fit its operands", text);
}

/* The operand with one dimension per letter, along which it stays the same when it does not name it. */
static struct interp_value *spread_letters(struct interp_call *call, const struct einsum *e, uint32_t operand,
                                           const int64_t *dims) {
  const struct interp_value *v = call->operands[operand];
  struct interp_view all = interp_view_of(v), turned = {0};
  struct interp_value *wide = interp_scratch(call, (enum dtype)v->dtype, dims, e->letter_count);
  for (uint32_t l = 0; wide && l < e->letter_count; l++) {
    for (uint32_t d = 0; d < v->rank; d++) {
      turned.strides[l] += e->inputs[operand][d] == e->letters[l] ? all.strides[d] : 0;
    }
  }
  if (wide) {
    struct interp_view whole = interp_view_of(wide);
    interp_view_copy(wide, &whole, v, &turned, dims, e->letter_count);
  }
  return wide;
}

/* Sums the products over all letters that the output does not have. A unary einsum multiplies with one. */
static bool einsum(struct interp_call *call, uint32_t inputs) {
  struct einsum e;
  int64_t dims[INTERP_MAX_RANK];
  uint64_t kept = 1, summed = 1;
  uint32_t rank;
  if (!parse_einsum(call, inputs, &e)) {
    return false;
  }
  rank = (uint32_t)strlen(e.output);
  for (uint32_t l = 0; l < e.letter_count; l++) {
    dims[l] = e.size[(unsigned char)e.letters[l]];
    *(l < rank ? &kept : &summed) *= (uint64_t)dims[l];
  }
  uint64_t mnk[3] = {1, 1, summed};
  struct interp_value *to = spend_products(call, kept, mnk) ? interp_result(call, 0, dims, rank) : NULL;
  struct interp_value *a = to ? spread_letters(call, &e, 0, dims) : NULL;
  struct interp_value *b = a && inputs == 2 ? spread_letters(call, &e, 1, dims) : NULL;
  if (!a || (inputs == 2 && !b)) {
    interp_release(a);
    return false;
  }
  enum interp_arithmetic arithmetic = interp_arithmetic_of(a, b ? b : a, to);
  unsigned words = interp_words(arithmetic);
  uint64_t *numbers = calloc(2 * (summed + 1) * words, sizeof *numbers);
  uint64_t *other = numbers ? numbers + (summed + 1) * words : NULL;
  for (uint64_t i = 0; numbers && i < summed && !b; i++) {
    const double one[2] = {1, 0};
    int64_t unit = 1;
    memcpy(other + i * words, arithmetic == INTERP_REAL || words == 2 ? (const void *)one : (const void *)&unit,
           words * sizeof *other);
  }
  for (uint64_t i = 0; numbers && i < kept; i++) {
    interp_read_numbers(arithmetic, a, i * summed, summed, numbers);
    if (b) {
      interp_read_numbers(arithmetic, b, i * summed, summed, other);
    }
    interp_write_product(arithmetic, to, i, numbers, other, summed);
  }
  bool ok = numbers ? true : interp_out_of_memory(call);
  free(numbers);
  interp_release(a);
  interp_release(b);
  return ok;
}

bool interp_op_einsum(struct interp_call *call) {
  return einsum(call, 2);
}

bool interp_op_unary_einsum(struct interp_call *call) {
  return einsum(call, 1);
}
