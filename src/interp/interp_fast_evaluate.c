/* A group of element-by-element operations on pieces of tensors: leaves are read, nodes computed one after the other in
 * buffers that stay in the nearest cache, and the last one writes the result. Large tensors are shared by all cores.
 * Path: evaluate (interp_run.c) → interp_group_run → loops of interp_fast_loops.c. */
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "interp/interp_fast.h"
#include "interp/interp_fast_groups.h"

enum { PIECE = 1024, SHARES_MAX = 8, REGISTER_BYTES = PIECE * 8 };
/* Element operations below which a thread costs more than it saves. */
static const uint64_t SHARE_OPERATIONS = 200000;

struct execution {
  const struct interp_group *group;
  const uint8_t *leaves[GROUP_LEAVES]; /* elements */
  uint8_t *result;
  uint8_t *registers; /* of share 0, then of the others */
  uint64_t shares;
};

static unsigned bytes_of(uint8_t dtype) {
  return ir_dense_element_size((enum dtype)dtype);
}

/* ---- leaves ------------------------------------------------------------------------------------------------------------- */

#define WALK(type)                                                                                                     \
  do {                                                                                                                 \
    const type *source = (const type *)(const void *)from;                                                             \
    type *target = (type *)(void *)to;                                                                                 \
    if (stride == 0) {                                                                                                 \
      type x = *source;                                                                                                \
      for (uint64_t i = 0; i < count; i++) {                                                                           \
        target[i] = x;                                                                                                 \
      }                                                                                                                \
    } else {                                                                                                           \
      for (uint64_t i = 0; i < count; i++) {                                                                           \
        target[i] = source[(int64_t)i * stride];                                                                       \
      }                                                                                                                \
    }                                                                                                                  \
  } while (0)

/* `count` elements that lie `stride` apart. */
static void walk(uint8_t *to, const uint8_t *from, int64_t stride, uint64_t count, unsigned bytes) {
  if (stride == 1) {
    memcpy(to, from, count * bytes);
    return;
  }
  switch (bytes) {
  case 1:
    WALK(uint8_t);
    break;
  case 2:
    WALK(uint16_t);
    break;
  case 4:
    WALK(uint32_t);
    break;
  default:
    WALK(uint64_t);
  }
}

/* Elements first … first + count - 1 of a broadcast. */
static void read_strided(const struct group_leaf *leaf, const uint8_t *data, uint64_t first, uint64_t count,
                         uint8_t *to) {
  int64_t index[INTERP_MAX_RANK], at = 0;
  unsigned bytes = bytes_of(leaf->dtype);
  uint32_t last = leaf->rank - 1;
  uint64_t rest = first;
  for (uint32_t d = leaf->rank; d-- > 0;) {
    index[d] = (int64_t)(rest % (uint64_t)leaf->dims[d]);
    rest /= (uint64_t)leaf->dims[d];
    at += index[d] * leaf->strides[d];
  }
  while (count > 0) {
    uint64_t run = (uint64_t)(leaf->dims[last] - index[last]);
    run = run < count ? run : count;
    walk(to, data + at * (int64_t)bytes, leaf->strides[last], run, bytes);
    to += run * bytes;
    count -= run;
    index[last] += (int64_t)run;
    at += (int64_t)run * leaf->strides[last];
    for (uint32_t d = last; d > 0 && index[d] == leaf->dims[d]; d--) {
      at += leaf->strides[d - 1] - index[d] * leaf->strides[d];
      index[d] = 0;
      index[d - 1]++;
    }
  }
}

/* ---- pieces ------------------------------------------------------------------------------------------------------------- */

static void run_piece(const struct execution *e, uint8_t *registers, uint64_t first, uint64_t count) {
  const struct interp_group *g = e->group;
  const void *inputs[GROUP_LEAVES + GROUP_NODES];
  for (uint32_t i = 0; i < g->leaf_count; i++) {
    const struct group_leaf *leaf = &g->leaves[i];
    uint8_t *buffer = registers + (size_t)leaf->slot * REGISTER_BYTES;
    if (leaf->kind == GROUP_STRIDED) {
      read_strided(leaf, e->leaves[i], first, count, buffer);
    }
    inputs[i] = leaf->kind == GROUP_LINEAR ? e->leaves[i] + first * bytes_of(leaf->dtype) : buffer;
  }
  for (uint32_t n = 0; n < g->node_count; n++) {
    const struct group_node *node = &g->nodes[n];
    const void *in[GROUP_INPUTS];
    for (uint32_t i = 0; i < GROUP_INPUTS; i++) {
      in[i] = inputs[node->inputs[i < node->input_count ? i : 0]];
    }
    bool is_last = n + 1 == g->node_count;
    uint8_t *out =
        is_last ? e->result + first * bytes_of(node->dtype) : registers + (size_t)node->output * REGISTER_BYTES;
    node->loop(node, in, out, count);
    inputs[g->leaf_count + n] = out;
  }
}

static void run_share(void *user, size_t share) {
  const struct execution *e = user;
  const struct interp_group *g = e->group;
  uint8_t *registers = e->registers + share * g->register_count * REGISTER_BYTES;
  uint64_t pieces = (g->count + PIECE - 1) / PIECE, width = g->count < PIECE ? g->count : PIECE;
  for (uint32_t i = 0; i < g->leaf_count; i++) {
    const struct group_leaf *leaf = &g->leaves[i];
    if (leaf->kind == GROUP_SPLAT || leaf->kind == GROUP_CONSTANT) {
      walk(registers + (size_t)leaf->slot * REGISTER_BYTES, e->leaves[i], 0, width, bytes_of(leaf->dtype));
    }
  }
  for (uint64_t piece = pieces * share / e->shares; piece < pieces * (share + 1) / e->shares; piece++) {
    uint64_t first = piece * PIECE;
    run_piece(e, registers, first, g->count - first < PIECE ? g->count - first : PIECE);
  }
}

/* ---- results ------------------------------------------------------------------------------------------------------------ */

static struct interp_value **slot_of(const struct interp_call *call, struct ir_value value) {
  const struct interp_plan *plan = call->frame->plan;
  uint32_t index = value.id - plan->first_value;
  return index < plan->value_count ? &call->frame->values[index] : NULL;
}

static bool dies_here(const struct interp_call *call, struct ir_value value) {
  const struct interp_plan *plan = call->frame->plan;
  uint32_t v = plan->dead_first[call->op.id - plan->first_op];
  while (v && v != value.id) {
    v = plan->dead_next[v - plan->first_value];
  }
  return v != 0;
}

/* A leaf that nothing needs any more and nobody else holds becomes the result: every piece is read before it is written.
 * NULL when there is none. */
static struct interp_value *reuse(struct interp_call *call, const struct interp_group *g) {
  struct ir_type type = ir_value_type(call->module, ir_op_result(call->module, call->op, 0));
  const struct ir_type_data *data = ir_type_get(call->module, type);
  for (uint32_t i = 0; i < g->leaf_count; i++) {
    const struct group_leaf *leaf = &g->leaves[i];
    struct interp_value **at = leaf->kind == GROUP_LINEAR ? slot_of(call, leaf->value) : NULL;
    bool fits = at && bytes_of(leaf->dtype) == bytes_of(data->dtype) && (*at)->rank == data->rank
                && atomic_load(&(*at)->references) == 1 && (*at)->account && dies_here(call, leaf->value);
    for (uint32_t k = 0; fits && k < g->leaf_count; k++) {
      fits = k == i || g->leaves[k].value.id != leaf->value.id;
    }
    if (fits) {
      struct interp_value *value = *at;
      *at = NULL;
      memcpy((int64_t *)(uintptr_t)value->dims, ir_type_dims(call->module, type), data->rank * sizeof(int64_t));
      value->dtype = data->dtype;
      call->results[0] = value;
      return value;
    }
  }
  return NULL;
}

static bool find_leaves(struct interp_call *call, struct execution *e) {
  for (uint32_t i = 0; i < e->group->leaf_count; i++) {
    const struct group_leaf *leaf = &e->group->leaves[i];
    if (leaf->kind == GROUP_CONSTANT) {
      e->leaves[i] = ir_attr_get(call->module, leaf->attr)->data;
      continue;
    }
    struct interp_value **at = slot_of(call, leaf->value);
    if (!at || !*at) {
      return interp_unsupported(call, "an operand has no value here");
    }
    e->leaves[i] = (*at)->data;
  }
  return true;
}

/* A product that reads the sources of transposes. */
static bool run_product(struct interp_call *call, const struct interp_group *group) {
  const struct interp_value *sources[2];
  int64_t permutations[2][INTERP_MAX_RANK];
  for (uint32_t i = 0; i < 2; i++) {
    struct interp_value **at = slot_of(call, group->leaves[i].value);
    struct ir_op source = ir_value_get(call->module, ir_op_operand(call->module, call->op, i))->op;
    if (!at || !*at) {
      return interp_unsupported(call, "operand %u has no value here", i);
    }
    sources[i] = *at;
    for (uint32_t d = 0; d < sources[i]->rank; d++) {
      permutations[i][d] = d;
      if (group->leaves[i].kind == GROUP_TURNED) {
        permutations[i][d] = ir_attr_int_at(call->module, ir_op_attr(call->module, source, "permutation"), d);
      }
    }
  }
  return interp_fast_dot_turned(call, sources, permutations);
}

bool interp_group_run(struct interp_call *call, const struct interp_group *group) {
  if (group->node_count == 0) {
    return run_product(call, group);
  }
  struct execution e = {.group = group};
  uint64_t operations = group->count * group->node_count, pieces = (group->count + PIECE - 1) / PIECE;
  if (!interp_spend(call, operations) || !find_leaves(call, &e)) {
    return false;
  }
  struct interp_value *to = reuse(call, group);
  to = to ? to : interp_result(call, 0, NULL, 0);
  if (!to) {
    return false;
  }
  e.result = to->data;
  e.shares = operations / SHARE_OPERATIONS < SHARES_MAX ? operations / SHARE_OPERATIONS + 1 : SHARES_MAX;
  e.shares = e.shares < pieces ? e.shares : pieces;
  e.registers = aligned_alloc(64, (e.shares * group->register_count + 1) * REGISTER_BYTES);
  if (!e.registers) {
    return interp_out_of_memory(call);
  }
  if (e.shares > 2) {
    parallel_for(e.shares, 0, run_share, &e);
  } else {
    for (size_t share = 0; share < e.shares; share++) {
      run_share(&e, share);
    }
  }
  free(e.registers);
  return true;
}
