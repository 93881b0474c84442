/* Which operations form a group: see interp_fast_groups.h. Operations are visited from the last to the first; one joins the
 * group of its users when all of them are in one group, of as many elements and in the same block, so that nothing else ever
 * needs its result. Path: interp_plan_new → here. */
#include <stdlib.h>
#include <string.h>

#include "interp/interp_elementwise.h"
#include "interp/interp_fast_groups.h"

enum { MEMBERS_MAX = 14 }; /* at most three leaves each, and one more */

/* What an operation is for a group. */
enum role {
  ROLE_NONE,
  ROLE_COMPUTE, /* a node */
  ROLE_RESHAPE, /* the same elements in the same order */
  ROLE_READ, /* a broadcast or splat constant: a way to read */
  ROLE_TRANSPOSE, /* a way to read for products */
  ROLE_PRODUCT
};

/* Who uses a value, as far as the users have been visited. */
enum { USERS_NONE = 0, USERS_SEVERAL = UINT32_MAX - 1, USERS_OTHER = UINT32_MAX }; /* else: the root of all of them */

struct former {
  const struct ir_module *m;
  struct interp_plan *plan;
  const struct ir_op *ops; /* below the function, in pre-order */
  uint32_t op_count;
  uint32_t *users; /* per value */
  uint32_t *root, *members, *next; /* per op: its root or 0; of a root: number of members; the next member, in order */
};

/* Stands for operations that are only read from inside of groups. */
static const struct interp_group passed_over;

/* ---- roles -------------------------------------------------------------------------------------------------------------- */

/* Elements of a static tensor of plain numbers that are not complex; 0 for other types. */
static uint64_t count_of(const struct ir_module *m, struct ir_type type) {
  const struct ir_type_data *data = ir_type_get(m, type);
  uint64_t count = 1;
  if (data->kind != IR_TYPE_TENSOR || !ir_type_is_static(m, type)
      || ir_type_get(m, data->element)->kind != IR_TYPE_SCALAR || data->dtype == DTYPE_NONE
      || dtype_class_of((enum dtype)data->dtype) == DTYPE_CLASS_COMPLEX) {
    return 0;
  }
  for (uint32_t d = 0; d < data->rank; d++) {
    count = __builtin_mul_overflow(count, (uint64_t)ir_type_dims(m, type)[d], &count) ? 0 : count;
  }
  return count;
}

static uint64_t result_count(const struct ir_module *m, struct ir_op op) {
  return count_of(m, ir_value_type(m, ir_op_result(m, op, 0)));
}

static bool have_same_dims(const struct ir_module *m, struct ir_type a, struct ir_type b) {
  uint32_t rank = ir_type_get(m, a)->rank;
  return rank == ir_type_get(m, b)->rank
         && (rank == 0 || memcmp(ir_type_dims(m, a), ir_type_dims(m, b), rank * sizeof(int64_t)) == 0);
}

/* The direction of a comparison that is not of total order; false for others. */
static bool read_direction(const struct ir_module *m, struct ir_op op, uint8_t *direction) {
  static const char *const names[] = {"EQ", "NE", "GE", "GT", "LE", "LT"}; /* enum group_direction */
  struct ir_attr attr = ir_op_attr(m, op, "comparison_direction"), type = ir_op_attr(m, op, "compare_type");
  if (!attr.id || ir_attr_get(m, attr)->kind != IR_ATTR_ENUM
      || (type.id && strcmp(ir_text(m, ir_attr_get(m, type)->text2), "TOTALORDER") == 0)) {
    return false;
  }
  for (uint8_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], ir_text(m, ir_attr_get(m, attr)->text2)) == 0) {
      *direction = i;
      return true;
    }
  }
  return false;
}

/* Operands that may be scalars beside tensors, as bits. */
static uint32_t scalar_operands(enum ir_opcode opcode) {
  return opcode == IR_OP_SELECT ? 1 : opcode == IR_OP_CLAMP ? 1 | 4 : 0;
}

/* Sets the types and the loop of a node; false when the operation is none. */
static bool read_node(const struct ir_module *m, struct ir_op op, struct group_node *node) {
  const struct ir_op_data *data = ir_op_get(m, op);
  enum ir_opcode opcode = interp_elementwise_opcode((enum ir_opcode)data->opcode);
  if (data->operand_count == 0 || data->operand_count > GROUP_INPUTS) {
    return false;
  }
  struct ir_type result = ir_value_type(m, ir_op_result(m, op, 0));
  uint32_t typed = opcode == IR_OP_SELECT ? 1 : 0; /* the operands from here on have one type */
  enum dtype dtype = DTYPE_NONE;
  for (uint32_t i = 0; i < data->operand_count; i++) {
    struct ir_type type = ir_value_type(m, ir_op_operand(m, op, i));
    bool is_scalar = (scalar_operands(opcode) >> i & 1) != 0 && ir_type_get(m, type)->rank == 0;
    if (count_of(m, type) == 0 || (!is_scalar && !have_same_dims(m, type, result))) {
      return false;
    }
    enum dtype own = (enum dtype)ir_type_get(m, type)->dtype;
    dtype = i == typed ? own : dtype;
    if (i > typed && own != dtype) {
      return false;
    }
  }
  *node = (struct group_node){.opcode = (uint16_t)opcode,
                              .input_dtype = (uint8_t)dtype,
                              .dtype = ir_type_get(m, result)->dtype,
                              .input_count = (uint8_t)data->operand_count};
  if (opcode == IR_OP_COMPARE && !read_direction(m, op, &node->direction)) {
    return false;
  }
  if (opcode == IR_OP_SELECT
      && (node->dtype != dtype || ir_type_get(m, ir_value_type(m, ir_op_operand(m, op, 0)))->dtype != DTYPE_I1)) {
    return false;
  }
  node->loop = interp_fast_loop(node);
  return node->loop != NULL;
}

/* broadcast_dimensions name a dimension of the result for each of the operand. */
static bool has_places(const struct ir_module *m, struct ir_op op) {
  struct ir_attr places = ir_op_attr(m, op, "broadcast_dimensions");
  uint32_t from_rank = ir_type_get(m, ir_value_type(m, ir_op_operand(m, op, 0)))->rank;
  uint32_t rank = ir_type_get(m, ir_value_type(m, ir_op_result(m, op, 0)))->rank;
  bool ok = rank <= INTERP_MAX_RANK && (places.id ? ir_attr_length(m, places) : 0) == from_rank;
  for (uint32_t d = 0; ok && d < from_rank; d++) {
    ok = ir_attr_int_at(m, places, d) >= 0 && ir_attr_int_at(m, places, d) < rank;
  }
  return ok;
}

static bool has_permutation(const struct ir_module *m, struct ir_op op) {
  struct ir_attr permutation = ir_op_attr(m, op, "permutation");
  struct ir_type from = ir_value_type(m, ir_op_operand(m, op, 0));
  uint32_t rank = ir_type_get(m, from)->rank;
  bool ok =
      count_of(m, from) > 0 && rank <= INTERP_MAX_RANK && permutation.id && ir_attr_length(m, permutation) == rank;
  for (uint32_t d = 0; ok && d < rank; d++) {
    ok = ir_attr_int_at(m, permutation, d) >= 0 && ir_attr_int_at(m, permutation, d) < rank;
  }
  return ok;
}

static enum role role_of(const struct ir_module *m, struct ir_op op, struct group_node *node) {
  const struct ir_op_data *data = ir_op_get(m, op);
  if (data->result_count != 1 || data->region_count > 0 || result_count(m, op) == 0
      || ir_type_get(m, ir_value_type(m, ir_op_result(m, op, 0)))->rank == 0) {
    return ROLE_NONE;
  }
  switch ((enum ir_opcode)data->opcode) {
  case IR_OP_CONSTANT: {
    struct ir_attr attr = ir_op_attr(m, op, "value");
    bool is_dense = attr.id && ir_attr_get(m, attr)->kind == IR_ATTR_DENSE;
    return is_dense && ir_attr_get(m, attr)->is_splat ? ROLE_READ : ROLE_NONE;
  }
  case IR_OP_BROADCAST_IN_DIM:
    return count_of(m, ir_value_type(m, ir_op_operand(m, op, 0))) > 0 && has_places(m, op) ? ROLE_READ : ROLE_NONE;
  case IR_OP_TRANSPOSE:
    return has_permutation(m, op) ? ROLE_TRANSPOSE : ROLE_NONE;
  case IR_OP_DOT:
  case IR_OP_DOT_GENERAL:
    return data->operand_count == 2 && count_of(m, ir_value_type(m, ir_op_operand(m, op, 0))) > 0
                   && count_of(m, ir_value_type(m, ir_op_operand(m, op, 1))) > 0
               ? ROLE_PRODUCT
               : ROLE_NONE;
  case IR_OP_RESHAPE:
    return count_of(m, ir_value_type(m, ir_op_operand(m, op, 0))) == result_count(m, op) ? ROLE_RESHAPE : ROLE_NONE;
  default:
    return read_node(m, op, node) ? ROLE_COMPUTE : ROLE_NONE;
  }
}

/* ---- membership --------------------------------------------------------------------------------------------------------- */

static struct ir_block block_of(const struct ir_module *m, struct ir_op op) {
  return ir_op_get(m, op)->parent;
}

static void note_user(struct former *f, struct ir_value value, uint32_t root) {
  uint32_t *users = &f->users[value.id - f->plan->first_value];
  *users = *users == USERS_NONE || *users == root ? root : *users == USERS_OTHER ? USERS_OTHER : USERS_SEVERAL;
  *users = root == USERS_OTHER ? USERS_OTHER : *users;
}

/* Puts the operation in front of the members of a root. */
static void join(struct former *f, struct ir_op op, uint32_t root) {
  uint32_t first = f->plan->first_op;
  f->root[op.id - first] = root;
  f->next[op.id - first] = root == op.id ? 0 : f->next[root - first]; /* a root's `next` is the first member */
  f->next[root - first] = root == op.id ? 0 : op.id;
  f->members[root - first]++;
}

static void visit(struct former *f, struct ir_op op) {
  const struct ir_module *m = f->m;
  const struct ir_op_data *data = ir_op_get(m, op);
  struct group_node node;
  enum role role = role_of(m, op, &node);
  uint32_t index = op.id - f->plan->first_op, root = USERS_OTHER;
  uint32_t users = role == ROLE_NONE ? USERS_OTHER : f->users[data->result_first - f->plan->first_value];
  bool has_users = users != USERS_NONE && users != USERS_OTHER;
  if (has_users && (role == ROLE_READ || (role == ROLE_TRANSPOSE && users != USERS_SEVERAL))) {
    f->plan->groups[index] = &passed_over;
  } else if (role == ROLE_COMPUTE || role == ROLE_RESHAPE) {
    bool joins = has_users && users != USERS_SEVERAL && f->members[users - f->plan->first_op] < MEMBERS_MAX;
    root = joins ? users : op.id;
    join(f, op, root);
  }
  for (uint32_t i = 0; i < data->operand_count; i++) {
    struct ir_value value = ir_op_operand(m, op, i);
    struct ir_op source = ir_value_get(m, value)->op;
    bool is_near = source.id && block_of(m, source).id == block_of(m, op).id;
    bool is_inside = root != USERS_OTHER && is_near && count_of(m, ir_value_type(m, value)) == result_count(m, op)
                     && ir_op_code(m, source) != IR_OP_TRANSPOSE;
    bool is_turned = role == ROLE_PRODUCT && is_near && ir_op_code(m, source) == IR_OP_TRANSPOSE;
    note_user(f, value, is_inside ? root : is_turned ? op.id : USERS_OTHER);
  }
}

/* ---- programs of groups ------------------------------------------------------------------------------------------------- */

struct builder {
  struct former *f;
  struct interp_group *group;
  uint32_t root;
  struct {
    uint32_t value; /* result of a member */
    uint16_t input;
  } known[MEMBERS_MAX + 1];
  uint32_t known_count;
};

/* Dimensions of the result of a broadcast with the strides of its operand, without those of one element, and merged. */
static bool set_strides(const struct ir_module *m, struct ir_op op, struct group_leaf *leaf) {
  struct ir_type from = ir_value_type(m, ir_op_operand(m, op, 0)), to = ir_value_type(m, ir_op_result(m, op, 0));
  uint32_t rank = ir_type_get(m, to)->rank, from_rank = ir_type_get(m, from)->rank;
  struct ir_attr places = ir_op_attr(m, op, "broadcast_dimensions");
  int64_t own[INTERP_MAX_RANK], strides[INTERP_MAX_RANK] = {0};
  leaf->dims = malloc(2 * ((size_t)rank + 1) * sizeof *leaf->dims);
  if (!leaf->dims) {
    return false;
  }
  leaf->strides = leaf->dims + rank + 1;
  interp_strides(ir_type_dims(m, from), from_rank, own);
  for (uint32_t d = 0; d < from_rank; d++) {
    strides[ir_attr_int_at(m, places, d)] = ir_type_dims(m, from)[d] == 1 ? 0 : own[d];
  }
  leaf->rank = 0;
  for (uint32_t d = 0; d < rank; d++) {
    int64_t size = ir_type_dims(m, to)[d], *last = leaf->strides + leaf->rank - 1;
    if (size == 1) {
      continue;
    }
    if (leaf->rank > 0 && *last == strides[d] * size) {
      leaf->dims[leaf->rank - 1] *= size;
      *last = strides[d];
    } else {
      leaf->dims[leaf->rank] = size;
      leaf->strides[leaf->rank++] = strides[d];
    }
  }
  return true;
}

/* How the operation `op` that only says how to read is read. */
static bool read_leaf(const struct ir_module *m, struct ir_op op, struct group_leaf *leaf) {
  if (ir_op_code(m, op) == IR_OP_CONSTANT) {
    leaf->kind = GROUP_CONSTANT;
    leaf->attr = ir_op_attr(m, op, "value");
    return true;
  }
  leaf->value = ir_op_operand(m, op, 0);
  leaf->kind = count_of(m, ir_value_type(m, leaf->value)) == 1 ? GROUP_SPLAT : GROUP_STRIDED;
  return leaf->kind == GROUP_SPLAT || set_strides(m, op, leaf);
}

/* The leaf for an operand that no member computes; false when memory is exhausted. */
static bool add_leaf(struct builder *b, struct ir_value value, struct ir_op user, uint16_t *input) {
  const struct ir_module *m = b->f->m;
  struct interp_group *g = b->group;
  struct group_leaf leaf = {.value = value, .dtype = ir_type_get(m, ir_value_type(m, value))->dtype};
  struct ir_op source = ir_value_get(m, value)->op;
  struct group_node node;
  bool is_full = count_of(m, ir_value_type(m, value)) == g->count;
  if (is_full && source.id && block_of(m, source).id == block_of(m, user).id
      && role_of(m, source, &node) == ROLE_READ) {
    if (!read_leaf(m, source, &leaf)) {
      return false;
    }
  } else {
    leaf.kind = is_full ? GROUP_LINEAR : GROUP_SPLAT;
  }
  for (uint32_t i = 0; i < g->leaf_count; i++) { /* the same value read in the same way is one leaf */
    const struct group_leaf *other = &g->leaves[i];
    if (leaf.kind != GROUP_STRIDED && leaf.kind == other->kind && leaf.value.id == other->value.id
        && leaf.attr.id == other->attr.id) {
      *input = (uint16_t)i;
      return true;
    }
  }
  assert(g->leaf_count < GROUP_LEAVES);
  *input = (uint16_t)g->leaf_count;
  g->leaves[g->leaf_count++] = leaf;
  return true;
}

static bool find_input(struct builder *b, struct ir_value value, struct ir_op user, uint16_t *input) {
  for (uint32_t i = 0; i < b->known_count; i++) {
    if (b->known[i].value == value.id) {
      *input = b->known[i].input;
      return true;
    }
  }
  return add_leaf(b, value, user, input);
}

enum { NODE_INPUT = GROUP_LEAVES }; /* while leaves are still added, node i is input NODE_INPUT + i */

static bool add_member(struct builder *b, struct ir_op op) {
  const struct ir_module *m = b->f->m;
  struct interp_group *g = b->group;
  struct group_node node;
  uint16_t input;
  enum role role = role_of(m, op, &node);
  if (role == ROLE_RESHAPE) {
    if (!find_input(b, ir_op_operand(m, op, 0), op, &input)) {
      return false;
    }
  } else {
    for (uint32_t i = 0; i < node.input_count; i++) {
      if (!find_input(b, ir_op_operand(m, op, i), op, &node.inputs[i])) {
        return false;
      }
    }
    input = (uint16_t)(NODE_INPUT + g->node_count);
    g->nodes[g->node_count++] = node;
  }
  b->known[b->known_count].value = ir_op_result(m, op, 0).id;
  b->known[b->known_count++].input = input;
  return true;
}

/* Gives every node a buffer that no later reader still needs, after those of the leaves. */
static void assign_registers(struct interp_group *g) {
  uint32_t last_use[GROUP_NODES] = {0}, busy_until[GROUP_NODES] = {0}, used = 0, first = 0;
  for (uint32_t i = 0; i < g->leaf_count; i++) {
    g->leaves[i].slot = (uint16_t)(g->leaves[i].kind == GROUP_LINEAR ? 0 : first++);
  }
  for (uint32_t n = 0; n < g->node_count; n++) {
    for (uint32_t i = 0; i < g->nodes[n].input_count; i++) {
      uint16_t *input = &g->nodes[n].inputs[i];
      if (*input >= NODE_INPUT) {
        last_use[*input - NODE_INPUT] = n;
        *input = (uint16_t)(*input - NODE_INPUT + g->leaf_count);
      }
    }
  }
  for (uint32_t n = 0; n + 1 < g->node_count; n++) {
    uint32_t slot = 0;
    while (slot < used && busy_until[slot] >= n) {
      slot++;
    }
    used = slot == used ? used + 1 : used;
    busy_until[slot] = last_use[n];
    g->nodes[n].output = (uint16_t)(first + slot);
  }
  g->register_count = first + used;
}

static void free_group(const struct interp_group *g) {
  for (uint32_t i = 0; g && g->leaves && i < g->leaf_count; i++) {
    free(g->leaves[i].dims);
  }
  if (g) {
    free(g->leaves);
    free(g->nodes);
    free((void *)(uintptr_t)g);
  }
}

/* Operations read by a group that is none after all are evaluated. */
static void dissolve(struct former *f, struct ir_op root) {
  uint32_t first = f->plan->first_op;
  for (uint32_t op = root.id; op; op = f->next[op - first]) {
    struct ir_op source = ir_value_get(f->m, ir_op_operand(f->m, (struct ir_op){op}, 0))->op;
    if (source.id >= first && source.id - first < f->plan->op_count
        && f->plan->groups[source.id - first] == &passed_over) {
      f->plan->groups[source.id - first] = NULL;
    }
  }
}

/* The program of a root, and the entries of its members. A group of reshapes alone is none. */
static bool build(struct former *f, struct ir_op root) {
  uint32_t first = f->plan->first_op;
  struct interp_group *g = calloc(1, sizeof *g);
  struct builder b = {.f = f, .group = g, .root = root.id};
  if (g) {
    *g = (struct interp_group){.root = root, .count = result_count(f->m, root)};
    g->leaves = calloc(GROUP_LEAVES, sizeof *g->leaves);
    g->nodes = calloc(MEMBERS_MAX + 1, sizeof *g->nodes);
  }
  bool ok = g && g->leaves && g->nodes;
  for (uint32_t op = f->next[root.id - first]; ok && op; op = f->next[op - first]) {
    ok = add_member(&b, (struct ir_op){op});
  }
  ok = ok && add_member(&b, root);
  if (!ok || g->node_count == 0) {
    free_group(g);
    dissolve(f, root);
    return ok;
  }
  assign_registers(g);
  for (uint32_t op = f->next[root.id - first]; op; op = f->next[op - first]) {
    f->plan->groups[op - first] = g;
  }
  f->plan->groups[root.id - first] = g;
  return true;
}

/* A product one of whose operands is a transpose that nothing else reads. */
static bool build_product(struct former *f, struct ir_op op) {
  struct group_node node;
  struct group_leaf leaves[2] = {{.kind = GROUP_LINEAR}, {.kind = GROUP_LINEAR}};
  bool is_turned = false;
  if (ir_op_get(f->m, op)->operand_count != 2 || role_of(f->m, op, &node) != ROLE_PRODUCT) {
    return true;
  }
  for (uint32_t i = 0; i < 2; i++) {
    leaves[i].value = ir_op_operand(f->m, op, i);
    struct ir_op source = ir_value_get(f->m, leaves[i].value)->op;
    if (source.id && ir_op_code(f->m, source) == IR_OP_TRANSPOSE
        && f->plan->groups[source.id - f->plan->first_op] == &passed_over) {
      leaves[i].kind = GROUP_TURNED;
      leaves[i].value = ir_op_operand(f->m, source, 0);
      is_turned = true;
    }
  }
  if (!is_turned) {
    return true;
  }
  struct interp_group *g = calloc(1, sizeof *g);
  struct group_leaf *copy = malloc(sizeof leaves);
  if (!g || !copy) {
    free(g);
    free(copy);
    return false;
  }
  memcpy(copy, leaves, sizeof leaves);
  *g = (struct interp_group){.root = op, .count = result_count(f->m, op), .leaf_count = 2, .leaves = copy};
  f->plan->groups[op.id - f->plan->first_op] = g;
  return true;
}

bool interp_groups_new(const struct ir_module *m, struct interp_plan *plan, const struct ir_op *ops,
                       uint32_t op_count) {
  struct former f = {.m = m, .plan = plan, .ops = ops, .op_count = op_count};
  plan->groups = calloc(plan->op_count, sizeof(struct interp_group *));
  f.users = calloc((size_t)plan->value_count + 3 * (size_t)plan->op_count + 1, sizeof *f.users);
  bool ok = plan->groups && f.users;
  if (ok) {
    f.root = f.users + plan->value_count;
    f.members = f.root + plan->op_count;
    f.next = f.members + plan->op_count;
  }
  for (uint32_t i = op_count; ok && i-- > 0;) {
    visit(&f, ops[i]);
  }
  for (uint32_t i = 0; ok && i < op_count; i++) {
    ok = f.root[ops[i].id - plan->first_op] == ops[i].id ? build(&f, ops[i]) : build_product(&f, ops[i]);
  }
  free(f.users);
  return ok;
}

void interp_groups_free(struct interp_plan *plan) {
  for (uint32_t i = 0; plan->groups && i < plan->op_count; i++) {
    const struct interp_group *g = plan->groups[i];
    if (g && g != &passed_over && g->root.id == plan->first_op + i) { /* a root comes after its members */
      free_group(g);
    }
  }
  free(plan->groups);
}
