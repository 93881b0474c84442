/* Contractions as products of matrices: dimensions of one role become one list of offsets, so no operand is transposed.
 * Path: interp_contract → here → interp_gemm_run. */
#include <stdlib.h>

#include "base/parallel.h"
#include "interp/interp_fast.h"
#include "interp/interp_fast_gemm.h"
#include "interp/interp_fast_groups.h"
#include "interp/interp_products.h"

/* ---- shared ------------------------------------------------------------------------------------------------------------- */

bool interp_fast_has_room(const struct interp_call *call, uint64_t bytes) {
  const struct interp_run *run = call->frame->process->run;
  uint64_t live = atomic_load(&run->live_bytes), budget = run->options.memory_budget_bytes;
  return !run->options.plain && live <= budget && bytes <= budget - live;
}

int64_t *interp_fast_offsets(const int64_t *dims, const int64_t *strides, uint32_t rank, int64_t *out) {
  uint64_t count = 1;
  out[0] = 0;
  for (uint32_t d = 0; d < rank; d++) {
    uint64_t size = (uint64_t)dims[d];
    for (uint64_t i = count; i-- > 0;) { /* from the end, so that what is expanded is not yet overwritten */
      for (uint64_t j = size; j-- > 0;) {
        out[i * size + j] = out[i] + (int64_t)j * strides[d];
      }
    }
    count *= size;
  }
  return out + count;
}

enum dtype interp_fast_product_type(const struct interp_value *a, const struct interp_value *b,
                                    const struct interp_value *to) {
  switch (interp_arithmetic_of(a, b, to)) {
  case INTERP_INTEGER:
    return dtype_bits((enum dtype)to->dtype) > 32 ? DTYPE_UI64 : DTYPE_UI32;
  case INTERP_REAL: {
    bool are_floats = dtype_class_of((enum dtype)a->dtype) == DTYPE_CLASS_FLOAT
                      && dtype_class_of((enum dtype)b->dtype) == DTYPE_CLASS_FLOAT
                      && dtype_class_of((enum dtype)to->dtype) == DTYPE_CLASS_FLOAT;
    bool is_wide = a->dtype == DTYPE_F64 || b->dtype == DTYPE_F64;
    return !are_floats || (is_wide && to->dtype != DTYPE_F64) ? DTYPE_NONE
           : to->dtype == DTYPE_F64                           ? DTYPE_F64
                                                              : DTYPE_F32;
  }
  default:
    return DTYPE_NONE;
  }
}

enum { NARROW_PIECE = 1 << 16 };

struct narrowing {
  struct interp_value *to;
  const struct interp_value *from;
  struct group_node node;
};

/* True when products can read or write the elements as they are. */
static bool has_elements_of(const struct interp_value *v, enum dtype dtype) {
  bool is_word = dtype == DTYPE_UI32 && v->dtype == DTYPE_I32;
  bool is_long = dtype == DTYPE_UI64 && (v->dtype == DTYPE_I64 || v->dtype == DTYPE_INDEX);
  return v->dtype == dtype || is_word || is_long;
}

static void narrow_piece(void *user, size_t piece) {
  const struct narrowing *n = user;
  uint64_t first = (uint64_t)piece * NARROW_PIECE, rest = n->to->count - first;
  const void *from = n->from->data + first * interp_element_bytes(n->from), *in[GROUP_INPUTS] = {from, from, from};
  n->node.loop(&n->node, in, n->to->data + first * interp_element_bytes(n->to),
               rest < NARROW_PIECE ? rest : NARROW_PIECE);
}

void interp_fast_narrow(struct interp_value *to, const struct interp_value *from) {
  struct narrowing n = {.to = to, .from = from};
  n.node =
      (struct group_node){.opcode = IR_OP_CONVERT, .input_dtype = from->dtype, .dtype = to->dtype, .input_count = 1};
  n.node.loop = interp_fast_loop(&n.node);
  assert(n.node.loop); /* between floats, and between integers, there is one */
  parallel_for((size_t)((to->count + NARROW_PIECE - 1) / NARROW_PIECE), 0, narrow_piece, &n);
}

bool interp_fast_widen(struct interp_call *call, const struct interp_value *v, enum dtype dtype,
                       struct interp_value **copy) {
  *copy = has_elements_of(v, dtype) ? NULL : interp_scratch(call, dtype, v->dims, v->rank);
  if (*copy) {
    interp_fast_narrow(*copy, v);
  }
  return *copy || has_elements_of(v, dtype);
}

/* ---- contractions ------------------------------------------------------------------------------------------------------- */

/* Offsets of the listed dimensions of a value. */
static int64_t *offsets_of(const struct interp_value *v, const int64_t *list, uint32_t count, int64_t *out) {
  int64_t strides[INTERP_MAX_RANK], own[INTERP_MAX_RANK], dims[INTERP_MAX_RANK];
  interp_strides(v->dims, v->rank, own);
  for (uint32_t i = 0; i < count; i++) {
    dims[i] = v->dims[list[i]];
    strides[i] = own[list[i]];
  }
  return interp_fast_offsets(dims, strides, count, out);
}

static uint64_t extent(const struct interp_value *v, const int64_t *list, uint32_t count) {
  uint64_t product = 1;
  for (uint32_t i = 0; i < count; i++) {
    product *= (uint64_t)v->dims[list[i]];
  }
  return product;
}

/* Fills in the lists of offsets, which lie in `memory`. */
static void describe(struct interp_gemm *g, const struct interp_value *lhs, const struct interp_value *rhs,
                     const struct interp_side *left, const struct interp_side *right, int64_t *memory) {
  g->a_starts = memory;
  g->b_starts = memory = offsets_of(lhs, left->batch, left->batch_count, memory);
  g->a.rows = memory = offsets_of(rhs, right->batch, right->batch_count, memory);
  g->a.columns = memory = offsets_of(lhs, left->free, left->free_count, memory);
  g->b.rows = memory = offsets_of(lhs, left->contracted, left->contracted_count, memory);
  g->b.columns = memory = offsets_of(rhs, right->contracted, right->contracted_count, memory);
  memory = offsets_of(rhs, right->free, right->free_count, memory);
  const int64_t dims[3] = {(int64_t)g->batches, (int64_t)g->m, (int64_t)g->n};
  const int64_t strides[3] = {(int64_t)(g->m * g->n), (int64_t)g->n, 1};
  g->c_starts = memory;
  g->c.rows = memory = interp_fast_offsets(&dims[0], &strides[0], 1, memory);
  g->c.columns = memory = interp_fast_offsets(&dims[1], &strides[1], 1, memory);
  interp_fast_offsets(&dims[2], &strides[2], 1, memory);
}

/* Bytes of copies in the wider type, of panels and of offsets. */
static uint64_t room(const struct interp_gemm *g, const struct interp_value *lhs, const struct interp_value *rhs,
                     const struct interp_value *to) {
  return 8 * (lhs->count + rhs->count + to->count) + 16 * (g->batches + g->m + g->n + g->k) + INTERP_GEMM_SCRATCH_BYTES;
}

enum interp_fast interp_fast_contract(struct interp_call *call, const struct interp_value *lhs,
                                      const struct interp_value *rhs, const struct interp_side *left,
                                      const struct interp_side *right, struct interp_value *to) {
  struct interp_gemm g = {.dtype = interp_fast_product_type(lhs, rhs, to)};
  g.batches = extent(lhs, left->batch, left->batch_count);
  g.m = extent(lhs, left->free, left->free_count);
  g.n = extent(rhs, right->free, right->free_count);
  g.k = extent(lhs, left->contracted, left->contracted_count);
  if (g.dtype == DTYPE_NONE || to->count * g.k < INTERP_FAST_LEAST_PRODUCTS
      || !interp_fast_has_room(call, room(&g, lhs, rhs, to))) {
    return INTERP_FAST_NOT_MINE;
  }
  int64_t *memory = malloc((3 * g.batches + 2 * (g.m + g.n + g.k)) * sizeof *memory);
  if (!memory) {
    return INTERP_FAST_NOT_MINE;
  }
  describe(&g, lhs, rhs, left, right, memory);
  enum interp_fast outcome = interp_fast_multiply(call, &g, lhs, rhs, to);
  free(memory);
  return outcome;
}

enum interp_fast interp_fast_multiply(struct interp_call *call, struct interp_gemm *g, const struct interp_value *lhs,
                                      const struct interp_value *rhs, struct interp_value *to) {
  struct interp_value *a = NULL, *b = NULL, *c = NULL;
  bool is_direct = has_elements_of(to, g->dtype), ok = interp_fast_widen(call, lhs, g->dtype, &a);
  ok = ok && interp_fast_widen(call, rhs, g->dtype, &b);
  if (ok && !is_direct) {
    c = interp_scratch(call, g->dtype, to->dims, to->rank);
    ok = c != NULL;
  }
  if (ok) {
    g->a.data = a ? a->data : lhs->data;
    g->b.data = b ? b->data : rhs->data;
    g->c.data = c ? c->data : to->data;
    ok = interp_gemm_run(g) || interp_out_of_memory(call);
  }
  if (ok && c) {
    interp_fast_narrow(to, c);
  }
  interp_release(a);
  interp_release(b);
  interp_release(c);
  return ok ? INTERP_FAST_DONE : INTERP_FAST_FAILED;
}

/* ---- turned operands ------------------------------------------------------------------------------------------------------ */

/* Dimension d of the transposed operand is dimension permutation[d] of its source. */
static void turn(struct interp_side *side, const int64_t *permutation) {
  int64_t *const lists[3] = {side->batch, side->free, side->contracted};
  const uint32_t counts[3] = {side->batch_count, side->free_count, side->contracted_count};
  for (int l = 0; l < 3; l++) {
    for (uint32_t i = 0; i < counts[l]; i++) {
      lists[l][i] = permutation[lists[l][i]];
    }
  }
}

bool interp_fast_dot_turned(struct interp_call *call, const struct interp_value *const *sources,
                            int64_t permutations[2][INTERP_MAX_RANK]) {
  struct interp_side sides[2] = {{.contracted_count = 1}, {.contracted_count = 1}};
  struct interp_value shapes[2] = {*sources[0], *sources[1]};
  int64_t turned[2][INTERP_MAX_RANK], dims[INTERP_MAX_RANK];
  uint32_t rank = 0;
  for (int i = 0; i < 2; i++) {
    for (uint32_t d = 0; d < shapes[i].rank; d++) {
      turned[i][d] = sources[i]->dims[permutations[i][d]];
    }
    shapes[i].dims = turned[i];
  }
  if (ir_op_code(call->module, call->op) == IR_OP_DOT_GENERAL) {
    interp_read_sides(call, ir_op_attr(call->module, call->op, "dot_dimension_numbers"), &sides[0], &sides[1]);
  } else {
    sides[0].contracted[0] = (int64_t)shapes[0].rank - 1;
  }
  if (!interp_product_dims(call, &shapes[0], &shapes[1], &sides[0], &sides[1], dims, &rank)) {
    return false;
  }
  struct interp_value *to = interp_result(call, 0, dims, rank);
  turn(&sides[0], permutations[0]);
  turn(&sides[1], permutations[1]);
  return to && interp_contract(call, sources[0], sources[1], &sides[0], &sides[1], to);
}
