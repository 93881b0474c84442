/* chlo.ragged_dot: a dot_general in which the rows of the left side, the contracted elements or the batches come in groups of
 * different sizes. What is ragged decides the form:
 *   a free dimension of the left side      each row meets the right-hand matrix of its group
 *   a contracted dimension                 one product per group, over the elements of the group
 *   a batch dimension                      a dot_general
 * group_sizes has the sizes in its last dimension; leading ones stand for the dimensions of the left side before the ragged
 * one. Rows past the last group are 0. Source: the documentation of chlo.ragged_dot and jax.lax.ragged_dot_general. */
#include <string.h>

#include "interp/interp_dot.h"
#include "interp/interp_view.h"

struct ragged {
  struct interp_call *call;
  struct interp_side left, right;
  int64_t dim; /* the ragged dimension of the left side */
  int64_t group_dim; /* of the right side; -1 when it has none */
  uint64_t groups;
};

static bool holds(const int64_t *list, uint32_t count, int64_t value) {
  for (uint32_t i = 0; i < count; i++) {
    if (list[i] == value) {
      return true;
    }
  }
  return false;
}

/* Group of an element of the left side at `index`; `groups` when it is past the last one. */
static uint64_t group_at(const struct ragged *r, const int64_t *index) {
  const struct interp_value *sizes = r->call->operands[2];
  uint64_t row = 0;
  for (uint32_t d = 0; d + 1 < sizes->rank; d++) {
    row = row * (uint64_t)sizes->dims[d] + (uint64_t)index[d];
  }
  int64_t end = 0;
  for (uint64_t g = 0; g < r->groups; g++) {
    end += interp_int_at(sizes, row * r->groups + g);
    if (index[r->dim] < end) {
      return g;
    }
  }
  return r->groups;
}

/* The left side with zeros outside of one group. */
static struct interp_value *only_group(const struct ragged *r, uint64_t group) {
  const struct interp_value *lhs = r->call->operands[0];
  int64_t index[INTERP_MAX_RANK] = {0};
  unsigned bytes = interp_element_bytes(lhs);
  struct interp_value *part = interp_copy(r->call, lhs, lhs->dims, lhs->rank);
  for (uint64_t i = 0; part && i < lhs->count; i++) {
    if (group_at(r, index) != group) {
      memset(part->data + i * bytes, 0, bytes); /* 0 in every number format */
    }
    interp_next_index(lhs->dims, lhs->rank, index);
  }
  return part;
}

/* The right-hand matrices of one group. */
static struct interp_value *rhs_of_group(const struct ragged *r, uint64_t group) {
  const struct interp_value *rhs = r->call->operands[1];
  struct interp_view all = interp_view_of(rhs), part = {0};
  int64_t dims[INTERP_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t d = 0; d < rhs->rank; d++) {
    if (d != r->group_dim) {
      dims[rank] = rhs->dims[d];
      part.strides[rank++] = all.strides[d];
    }
  }
  part.base = (int64_t)group * all.strides[r->group_dim];
  struct interp_value *to = interp_scratch(r->call, (enum dtype)rhs->dtype, dims, rank);
  if (to) {
    struct interp_view whole = interp_view_of(to);
    interp_view_copy(to, &whole, rhs, &part, dims, rank);
  }
  return to;
}

/* Adds one product to the result, at `first` elements from its start. Products of different groups never share an element
 * that is not 0 in one of them, so that the sum is exact. */
static void merge(struct interp_value *to, uint64_t first, const struct interp_value *product) {
  unsigned bytes = interp_element_bytes(to);
  static const uint8_t zero[16] = {0};
  for (uint64_t i = 0; i < product->count; i++) {
    if (memcmp(product->data + i * bytes, zero, bytes) != 0) {
      interp_copy_element(to, first + i, product, i);
    }
  }
}

/* The product of one group into its place in the result. */
static bool add_group(struct ragged *r, uint64_t group, struct interp_value *to, const int64_t *dims, uint32_t rank) {
  struct interp_value *lhs = only_group(r, group), *rhs = NULL, *product = NULL;
  bool has_matrices = r->group_dim >= 0;
  if (lhs && has_matrices) {
    rhs = rhs_of_group(r, group);
  } else if (lhs) {
    rhs = r->call->operands[1];
    interp_retain(rhs);
  }
  product = rhs ? interp_scratch(r->call, (enum dtype)to->dtype, dims, rank) : NULL;
  bool ok = product && interp_contract(r->call, lhs, rhs, &r->left, &r->right, product);
  if (ok) {
    merge(to, has_matrices ? 0 : group * product->count, product);
  }
  interp_release(lhs);
  interp_release(rhs);
  interp_release(product);
  return ok;
}

/* Dimensions of the right side lose the one of groups. */
static void drop_group_dim(struct ragged *r) {
  for (uint32_t i = 0; i < r->right.batch_count; i++) {
    r->right.batch[i] -= r->right.batch[i] > r->group_dim;
  }
  for (uint32_t i = 0; i < r->right.contracted_count; i++) {
    r->right.contracted[i] -= r->right.contracted[i] > r->group_dim;
  }
}

/* Shape of the product of one group. */
static bool group_product_dims(struct ragged *r, int64_t *dims, uint32_t *rank) {
  struct interp_value *rhs = r->call->operands[1];
  if (r->group_dim < 0) {
    return interp_product_dims(r->call, r->call->operands[0], rhs, &r->left, &r->right, dims, rank);
  }
  drop_group_dim(r);
  rhs = rhs_of_group(r, 0);
  bool ok = rhs && interp_product_dims(r->call, r->call->operands[0], rhs, &r->left, &r->right, dims, rank);
  interp_release(rhs);
  return ok;
}

static bool ragged_products(struct ragged *r) {
  int64_t dims[INTERP_MAX_RANK + 1] = {(int64_t)r->groups};
  uint32_t rank = 0;
  bool has_matrices = r->group_dim >= 0;
  if (!group_product_dims(r, dims + 1, &rank)) {
    return false;
  }
  if (rank == INTERP_MAX_RANK) {
    return interp_unsupported(r->call, "a result of more than %d dimensions", INTERP_MAX_RANK);
  }
  struct interp_value *to =
      has_matrices ? interp_result(r->call, 0, dims + 1, rank) : interp_result(r->call, 0, dims, rank + 1);
  if (!to) {
    return false;
  }
  if (to->size_bytes > 0) {
    memset(to->data, 0, to->size_bytes);
  }
  bool ok = true;
  for (uint64_t g = 0; ok && g < r->groups; g++) {
    ok = add_group(r, g, to, dims + 1, rank);
  }
  return ok;
}

static bool check_ragged(const struct ragged *r, uint32_t ragged_count, uint32_t group_count) {
  const struct interp_value *lhs = r->call->operands[0], *rhs = r->call->operands[1], *sizes = r->call->operands[2];
  bool ok = ragged_count == 1 && group_count <= 1 && r->dim >= 0 && r->dim < lhs->rank && r->group_dim < rhs->rank
            && sizes->rank >= 1 && sizes->rank - 1 <= lhs->rank && interp_is_integral(sizes);
  for (uint32_t d = 0; ok && d + 1 < sizes->rank; d++) {
    ok = sizes->dims[d] == lhs->dims[d];
  }
  ok = ok && (r->group_dim < 0 || (rhs->dims[r->group_dim] == (int64_t)r->groups && r->groups > 0));
  return ok || interp_wrong(r->call, "its dimension numbers do not fit its operands");
}

bool interp_op_ragged_dot(struct interp_call *call) {
  struct ragged r = {.call = call, .group_dim = -1};
  struct ir_attr numbers = ir_op_attr(call->module, call->op, "ragged_dot_dimension_numbers");
  int64_t list[INTERP_MAX_RANK];
  if (!numbers.id) {
    return interp_wrong(call, "it has no ragged_dot_dimension_numbers");
  }
  interp_read_sides(call, numbers, &r.left, &r.right);
  uint32_t ragged_count = interp_field_ints(call, numbers, "lhs_ragged_dimensions", list);
  r.dim = ragged_count > 0 ? list[0] : -1;
  uint32_t group_count = interp_field_ints(call, numbers, "rhs_group_dimensions", list);
  r.group_dim = group_count > 0 ? list[0] : -1;
  const struct interp_value *sizes = call->operands[2];
  r.groups = sizes->rank > 0 ? (uint64_t)sizes->dims[sizes->rank - 1] : 0;
  if (!check_ragged(&r, ragged_count, group_count)) {
    return false;
  }
  if (holds(r.left.batch, r.left.batch_count, r.dim)) {
    return interp_dot_operands(call, &r.left, &r.right);
  }
  bool is_free = !holds(r.left.contracted, r.left.contracted_count, r.dim);
  if (is_free != (r.group_dim >= 0)) {
    return interp_wrong(call, "the right side needs a group dimension when rows are ragged, and only then");
  }
  return ragged_products(&r);
}
