/* Makes random programs (program_generator.h). Each operation is a function that looks for operands that fit and adds a
 * node; it declines when there are none, and another operation is drawn. */
#include "program_generator.h"

#include <string.h>

enum { ELEMENTS_MAX = 1 << 20, LOOP_DEPTH_MAX = 2, LOOP_VALUES_MAX = 3, NOT_FOUND = UINT32_MAX };

struct generator {
  uint64_t state;
  uint32_t block_count;
  bool is_out_of_memory;
};

/* splitmix64 */
static uint64_t next_random(struct generator *g) {
  uint64_t z = (g->state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

static uint32_t below(struct generator *g, uint32_t limit) {
  return (uint32_t)(next_random(g) % limit);
}

uint64_t gen_element_count(const struct gen_type *type) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < type->rank; i++) {
    count *= (uint64_t)type->dims[i];
  }
  return count;
}

static bool is_small(const struct gen_type *type) {
  return gen_element_count(type) <= ELEMENTS_MAX;
}

static bool is_float(enum dtype dtype) {
  return dtype == DTYPE_F32 || dtype == DTYPE_BF16 || dtype == DTYPE_F16;
}

static bool same_type(const struct gen_type *a, const struct gen_type *b) {
  return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

static uint32_t add(struct generator *g, struct gen_block *block, const struct gen_node *node) {
  if (!vec_push(&block->nodes, *node)) {
    g->is_out_of_memory = true;
    return 0;
  }
  return (uint32_t)block->nodes.count - 1;
}

static int64_t random_dim(struct generator *g) {
  static const int64_t dims[] = {1, 2, 3, 4, 7, 8, 16, 64, 128, 128, 256, 512};
  return below(g, 150) == 0 ? 0 : dims[below(g, sizeof dims / sizeof dims[0])];
}

static struct gen_type random_type(struct generator *g) {
  static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_F32, DTYPE_F32, DTYPE_BF16, DTYPE_BF16, DTYPE_F16, DTYPE_I32};
  struct gen_type type;
  do {
    type = (struct gen_type){.dtype = dtypes[below(g, sizeof dtypes / sizeof dtypes[0])],
                             .rank = below(g, 8) == 0 ? below(g, 2) : 2 + below(g, 3)};
    for (uint32_t i = 0; i < type.rank; i++) {
      type.dims[i] = random_dim(g);
    }
  } while (!is_small(&type));
  return type;
}

/* ---- choosing operands ------------------------------------------------------------------------------------------- */

typedef bool fits_fn(const struct gen_type *type);

static bool fits_any(const struct gen_type *type) {
  return type->dtype != DTYPE_NONE;
}

static bool fits_float(const struct gen_type *type) {
  return is_float(type->dtype);
}

static bool fits_number(const struct gen_type *type) {
  return type->dtype != DTYPE_I1;
}

static bool fits_float_matrix(const struct gen_type *type) {
  return is_float(type->dtype) && type->rank >= 1;
}

static bool fits_number_array(const struct gen_type *type) {
  return type->dtype != DTYPE_I1 && type->rank >= 1;
}

/* A random value of the block, late ones with more weight, so that chains get long. */
static uint32_t choose(struct generator *g, const struct gen_block *block, fits_fn *fits) {
  uint32_t count = (uint32_t)block->nodes.count;
  for (int tries = 0; tries < 12 && count > 0; tries++) {
    uint32_t a = below(g, count), b = below(g, count), i = a > b ? a : b;
    if (block->nodes.data[i].kind != GEN_WHILE && fits(&block->nodes.data[i].type)) {
      return i;
    }
  }
  return NOT_FOUND;
}

/* A value that comes from outside: an argument of the function; in a body a captured value or a constant. */
static uint32_t new_leaf(struct generator *g, struct gen_block *block, const struct gen_type *type) {
  struct gen_node node = {.kind = GEN_ARGUMENT, .type = *type};
  if (block->parent != NULL || type->rank == 0) {
    node.kind = GEN_CONSTANT;
    for (uint32_t i = 0; block->parent != NULL && i < block->parent->nodes.count; i++) {
      const struct gen_node *outer = &block->parent->nodes.data[i];
      if (outer->kind != GEN_WHILE && same_type(&outer->type, type)) {
        node.kind = GEN_CAPTURE;
        node.operands[0] = i; /* not counted: it is no node of this block */
      }
    }
  }
  return add(g, block, &node);
}

/* Another value of the type of node `like`, the node itself at times. */
static uint32_t choose_like(struct generator *g, struct gen_block *block, uint32_t like) {
  struct gen_type type = block->nodes.data[like].type;
  uint32_t count = (uint32_t)block->nodes.count, start = below(g, count);
  for (uint32_t k = 0; k < count; k++) {
    uint32_t i = (start + k) % count;
    if (block->nodes.data[i].kind != GEN_WHILE && same_type(&block->nodes.data[i].type, &type)
        && (i != like || below(g, 4) == 0)) {
      return i;
    }
  }
  return new_leaf(g, block, &type);
}

static uint32_t scalar_constant(struct generator *g, struct gen_block *block, enum dtype dtype) {
  struct gen_node node = {.kind = GEN_CONSTANT, .type = {.dtype = dtype}};
  return add(g, block, &node);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

typedef bool make_fn(struct generator *g, struct gen_block *block);

static bool add_on(struct generator *g, struct gen_block *block, struct gen_node *node, uint32_t a, uint32_t b) {
  node->operands[0] = a;
  node->operands[1] = b;
  node->operand_count = b == NOT_FOUND ? 1 : 2;
  add(g, block, node);
  return true;
}

static bool make_unary(struct generator *g, struct gen_block *block) {
  static const char *const words[] = {"negate", "exponential", "tanh", "rsqrt", "logistic", "abs", "sine", "floor"};
  uint32_t a = choose(g, block, fits_float);
  if (a == NOT_FOUND) {
    return false;
  }
  struct gen_node node = {.kind = GEN_UNARY, .type = block->nodes.data[a].type};
  node.word = words[below(g, sizeof words / sizeof words[0])];
  return add_on(g, block, &node, a, NOT_FOUND);
}

static bool make_binary(struct generator *g, struct gen_block *block) {
  static const char *const words[] = {"add", "subtract", "multiply", "maximum", "minimum", "divide"};
  uint32_t a = choose(g, block, fits_number);
  if (a == NOT_FOUND) {
    return false;
  }
  uint32_t b = choose_like(g, block, a);
  struct gen_node node = {.kind = GEN_BINARY, .type = block->nodes.data[a].type};
  node.word = words[below(g, sizeof words / sizeof words[0])];
  return add_on(g, block, &node, a, b);
}

static bool make_select(struct generator *g, struct gen_block *block) {
  static const char *const words[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  uint32_t a = choose(g, block, fits_number);
  if (a == NOT_FOUND) {
    return false;
  }
  uint32_t b = choose_like(g, block, a), c = choose_like(g, block, a);
  struct gen_node compare = {.kind = GEN_COMPARE, .type = block->nodes.data[a].type, .word = words[below(g, 6)]};
  compare.type.dtype = DTYPE_I1;
  add_on(g, block, &compare, a, b);
  struct gen_node node = {.kind = GEN_SELECT, .type = block->nodes.data[a].type, .operand_count = 3};
  node.operands[0] = (uint32_t)block->nodes.count - 1;
  node.operands[1] = a;
  node.operands[2] = c;
  add(g, block, &node);
  return true;
}

static bool make_convert(struct generator *g, struct gen_block *block) {
  static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_I32};
  uint32_t a = choose(g, block, fits_any);
  if (a == NOT_FOUND) {
    return false;
  }
  struct gen_node node = {.kind = GEN_CONVERT, .type = block->nodes.data[a].type};
  node.type.dtype = dtypes[below(g, 4)];
  return add_on(g, block, &node, a, NOT_FOUND);
}

/* Splits the dimensions of the left operand into batching (a prefix), contracting (one more) and free ones; the right
 * operand is made to fit, or found. */
static bool make_dot(struct generator *g, struct gen_block *block) {
  uint32_t a = choose(g, block, fits_float_matrix);
  if (a == NOT_FOUND) {
    return false;
  }
  struct gen_type left = block->nodes.data[a].type, right = {.dtype = left.dtype};
  struct gen_node node = {.kind = GEN_DOT, .type = {.dtype = left.dtype}};
  uint32_t batching = left.rank >= 3 ? below(g, left.rank - 1) : 0;
  uint32_t contracting = batching + below(g, left.rank - batching);
  for (uint32_t i = 0; i < batching; i++) {
    node.lists[0].items[i] = node.lists[2].items[i] = i;
    right.dims[i] = node.type.dims[i] = left.dims[i];
  }
  node.lists[0].count = node.lists[2].count = batching;
  node.lists[1] = (struct gen_list){1, {contracting}};
  right.rank = node.type.rank = batching;
  for (uint32_t i = batching; i < left.rank; i++) {
    if (i != contracting) {
      node.type.dims[node.type.rank++] = left.dims[i];
    }
  }
  bool is_contracting_first = below(g, 2) == 0;
  int64_t columns = random_dim(g);
  node.lists[3] = (struct gen_list){1, {is_contracting_first ? batching : batching + 1}};
  right.dims[right.rank++] = is_contracting_first ? left.dims[contracting] : columns;
  right.dims[right.rank++] = is_contracting_first ? columns : left.dims[contracting];
  if (node.type.rank == GEN_RANK_MAX || right.rank > GEN_RANK_MAX) {
    return false;
  }
  node.type.dims[node.type.rank++] = columns;
  if (!is_small(&node.type) || !is_small(&right)) {
    return false;
  }
  uint32_t b = new_leaf(g, block, &right);
  if (below(g, 2) == 0) {
    b = choose_like(g, block, b);
  }
  return add_on(g, block, &node, a, b);
}

/* Each dimension with probability one half; at least one. */
static struct gen_list random_dims(struct generator *g, uint32_t rank) {
  struct gen_list list = {0};
  for (uint32_t i = 0; i < rank; i++) {
    if (below(g, 2) == 0) {
      list.items[list.count++] = i;
    }
  }
  if (list.count == 0) {
    list = (struct gen_list){1, {below(g, rank)}};
  }
  return list;
}

static bool has_item(const struct gen_list *list, int64_t item) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (list->items[i] == item) {
      return true;
    }
  }
  return false;
}

static bool make_reduce(struct generator *g, struct gen_block *block) {
  static const char *const words[] = {"add", "maximum", "minimum", "multiply"};
  uint32_t a = choose(g, block, fits_number_array);
  if (a == NOT_FOUND) {
    return false;
  }
  struct gen_type type = block->nodes.data[a].type;
  struct gen_node node = {.kind = GEN_REDUCE, .type = {.dtype = type.dtype}, .word = words[below(g, 4)]};
  node.lists[0] = random_dims(g, type.rank);
  for (uint32_t i = 0; i < type.rank; i++) {
    if (!has_item(&node.lists[0], i)) {
      node.type.dims[node.type.rank++] = type.dims[i];
    }
  }
  return add_on(g, block, &node, a, scalar_constant(g, block, type.dtype));
}

/* Joins two neighbours, splits off a divisor, or adds or removes a 1. */
static bool make_reshape(struct generator *g, struct gen_block *block) {
  uint32_t a = choose(g, block, fits_number_array);
  if (a == NOT_FOUND) {
    return false;
  }
  struct gen_type from = block->nodes.data[a].type;
  struct gen_node node = {.kind = GEN_RESHAPE, .type = {.dtype = from.dtype}};
  uint32_t at = below(g, from.rank);
  bool is_joined = from.rank > 1 && at + 1 < from.rank && below(g, 2) == 0;
  if (!is_joined && from.rank == GEN_RANK_MAX) {
    return false;
  }
  for (uint32_t i = 0; i < from.rank; i++) {
    int64_t dim = from.dims[i];
    if (i == at && is_joined) {
      node.type.dims[node.type.rank++] = dim * from.dims[++i];
    } else if (i == at) {
      int64_t divisor = dim % 4 == 0 && dim > 0 ? 4 : 1;
      node.type.dims[node.type.rank++] = dim / divisor;
      node.type.dims[node.type.rank++] = divisor;
    } else {
      node.type.dims[node.type.rank++] = dim;
    }
  }
  return add_on(g, block, &node, a, NOT_FOUND);
}

static bool make_transpose(struct generator *g, struct gen_block *block) {
  uint32_t a = choose(g, block, fits_number_array);
  if (a == NOT_FOUND) {
    return false;
  }
  struct gen_type from = block->nodes.data[a].type;
  struct gen_node node = {.kind = GEN_TRANSPOSE, .type = from};
  node.lists[0].count = from.rank;
  for (uint32_t i = 0; i < from.rank; i++) {
    uint32_t k = below(g, i + 1); /* Fisher-Yates, growing */
    node.lists[0].items[i] = node.lists[0].items[k];
    node.lists[0].items[k] = i;
  }
  for (uint32_t i = 0; i < from.rank; i++) {
    node.type.dims[i] = from.dims[node.lists[0].items[i]];
  }
  return add_on(g, block, &node, a, NOT_FOUND);
}

static bool make_broadcast(struct generator *g, struct gen_block *block) {
  uint32_t a = choose(g, block, fits_number);
  if (a == NOT_FOUND || block->nodes.data[a].type.rank == GEN_RANK_MAX) {
    return false;
  }
  struct gen_type from = block->nodes.data[a].type;
  struct gen_node node = {.kind = GEN_BROADCAST, .type = {.dtype = from.dtype, .rank = from.rank + 1}};
  uint32_t added = below(g, from.rank + 1);
  for (uint32_t i = 0; i < from.rank; i++) {
    uint32_t to = i < added ? i : i + 1;
    node.lists[0].items[node.lists[0].count++] = to;
    node.type.dims[to] = from.dims[i] == 1 ? random_dim(g) : from.dims[i];
  }
  node.type.dims[added] = random_dim(g);
  return is_small(&node.type) && add_on(g, block, &node, a, NOT_FOUND);
}

static bool make_slice(struct generator *g, struct gen_block *block) {
  uint32_t a = choose(g, block, fits_number_array);
  if (a == NOT_FOUND) {
    return false;
  }
  struct gen_type from = block->nodes.data[a].type;
  struct gen_node node = {.kind = GEN_SLICE, .type = from};
  for (uint32_t l = 0; l < 3; l++) {
    node.lists[l].count = from.rank;
  }
  for (uint32_t i = 0; i < from.rank; i++) {
    int64_t start = from.dims[i] > 1 ? below(g, (uint32_t)from.dims[i]) / 2 : 0;
    int64_t stride = 1 + below(g, 4) / 3;
    node.lists[0].items[i] = start;
    node.lists[1].items[i] = from.dims[i];
    node.lists[2].items[i] = stride;
    node.type.dims[i] = (from.dims[i] - start + stride - 1) / stride;
  }
  return add_on(g, block, &node, a, NOT_FOUND);
}

/* `first` and then one scalar per dimension of the sliced value. */
static void add_starts(struct generator *g, struct gen_block *block, struct gen_node *node, uint32_t rank) {
  uint32_t start = scalar_constant(g, block, DTYPE_I32);
  for (uint32_t i = 0; i < rank; i++) {
    node->operands[node->operand_count++] = start;
  }
}

static bool make_dynamic(struct generator *g, struct gen_block *block) {
  uint32_t a = choose(g, block, fits_number_array);
  if (a == NOT_FOUND) {
    return false;
  }
  struct gen_type whole = block->nodes.data[a].type, part = whole;
  for (uint32_t i = 0; i < part.rank; i++) {
    part.dims[i] = part.dims[i] > 1 && below(g, 2) == 0 ? 1 : part.dims[i];
  }
  struct gen_node node = {.operand_count = 1};
  node.operands[0] = a;
  if (below(g, 2) == 0) {
    node.kind = GEN_DYNAMIC_SLICE;
    node.type = part;
    node.lists[0].count = part.rank;
    memcpy(node.lists[0].items, part.dims, sizeof part.dims);
  } else {
    node.kind = GEN_DYNAMIC_UPDATE;
    node.type = whole;
    uint32_t leaf = new_leaf(g, block, &part);
    node.operands[node.operand_count++] = choose_like(g, block, leaf);
  }
  add_starts(g, block, &node, whole.rank);
  add(g, block, &node);
  return true;
}

static bool make_concatenate(struct generator *g, struct gen_block *block) {
  uint32_t a = choose(g, block, fits_number_array);
  if (a == NOT_FOUND) {
    return false;
  }
  uint32_t b = choose_like(g, block, a);
  struct gen_node node = {.kind = GEN_CONCATENATE, .type = block->nodes.data[a].type};
  uint32_t dimension = below(g, node.type.rank);
  node.lists[0] = (struct gen_list){1, {dimension}};
  node.type.dims[dimension] *= 2;
  return is_small(&node.type) && add_on(g, block, &node, a, b);
}

static bool make_pad(struct generator *g, struct gen_block *block) {
  uint32_t a = choose(g, block, fits_number_array);
  if (a == NOT_FOUND) {
    return false;
  }
  struct gen_node node = {.kind = GEN_PAD, .type = block->nodes.data[a].type};
  for (uint32_t l = 0; l < 3; l++) {
    node.lists[l].count = node.type.rank;
  }
  for (uint32_t i = 0; i < node.type.rank; i++) {
    int64_t dim = node.type.dims[i];
    node.lists[0].items[i] = below(g, 3);
    node.lists[1].items[i] = dim > 2 ? (int64_t)below(g, 3) - 1 : 0;
    node.lists[2].items[i] = below(g, 8) == 0;
    int64_t holes = dim > 0 ? (dim - 1) * node.lists[2].items[i] : 0;
    node.type.dims[i] = dim + holes + node.lists[0].items[i] + node.lists[1].items[i];
  }
  return is_small(&node.type) && add_on(g, block, &node, a, scalar_constant(g, block, node.type.dtype));
}

static bool make_iota(struct generator *g, struct gen_block *block) {
  struct gen_node node = {.kind = GEN_IOTA, .type = random_type(g)};
  if (node.type.rank == 0) {
    return false;
  }
  node.lists[0] = (struct gen_list){1, {below(g, node.type.rank)}};
  add(g, block, &node);
  return true;
}

static bool make_reverse(struct generator *g, struct gen_block *block) {
  uint32_t a = choose(g, block, fits_number_array);
  if (a == NOT_FOUND) {
    return false;
  }
  struct gen_node node = {.kind = GEN_REVERSE, .type = block->nodes.data[a].type};
  node.lists[0] = random_dims(g, node.type.rank);
  return add_on(g, block, &node, a, NOT_FOUND);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static void fill(struct generator *g, struct gen_block *block, uint32_t count, uint32_t depth);

static struct gen_block *new_block(struct generator *g, const struct gen_block *parent) {
  struct gen_block *block = calloc(1, sizeof *block);
  if (block == NULL) {
    g->is_out_of_memory = true;
    return NULL;
  }
  block->parent = parent;
  block->number = g->block_count++;
  return block;
}

/* What iteration i leaves as value k: some late value of the right type. */
static uint32_t find_output(struct generator *g, const struct gen_block *body, uint32_t argument) {
  uint32_t found = argument;
  for (uint32_t i = 0; i < body->nodes.count; i++) {
    const struct gen_node *node = &body->nodes.data[i];
    if (node->kind != GEN_WHILE && same_type(&node->type, &body->nodes.data[argument].type) && below(g, 3) > 0) {
      found = i;
    }
  }
  return found;
}

static void make_while(struct generator *g, struct gen_block *block, uint32_t depth) {
  struct gen_node node = {.kind = GEN_WHILE, .trips = below(g, 10) == 0 ? 0 : 1 + below(g, 100)};
  struct gen_block *body = new_block(g, block);
  if (body == NULL) {
    return;
  }
  uint32_t wanted = 1 + below(g, LOOP_VALUES_MAX);
  for (uint32_t i = 0; i < wanted; i++) {
    uint32_t value = choose(g, block, fits_number);
    if (value != NOT_FOUND) {
      struct gen_node argument = {.kind = GEN_ARGUMENT, .type = block->nodes.data[value].type};
      argument.operands[0] = node.operand_count;
      add(g, body, &argument);
      node.operands[node.operand_count++] = value;
    }
  }
  fill(g, body, 2 + below(g, 8), depth + 1);
  for (uint32_t i = 0; i < node.operand_count; i++) {
    g->is_out_of_memory |= !vec_push(&body->outputs, find_output(g, body, i));
  }
  node.body = body;
  size_t before = block->nodes.count;
  uint32_t loop = add(g, block, &node);
  if (block->nodes.count == before) {
    gen_free(body);
    return;
  }
  for (uint32_t i = 0; i < node.operand_count; i++) {
    struct gen_node result = {.kind = GEN_RESULT, .operand_count = 1, .type = body->nodes.data[i].type};
    result.operands[0] = loop;
    result.lists[0] = (struct gen_list){1, {i}};
    add(g, block, &result);
  }
}

static void fill(struct generator *g, struct gen_block *block, uint32_t count, uint32_t depth) {
  static make_fn *const makers[] = {make_unary,   make_unary,    make_binary,      make_binary,    make_binary,
                                    make_select,  make_convert,  make_dot,         make_dot,       make_reduce,
                                    make_reduce,  make_reshape,  make_reshape,     make_transpose, make_broadcast,
                                    make_slice,   make_dynamic,  make_concatenate, make_pad,       make_iota,
                                    make_reverse, make_broadcast};
  for (uint32_t i = 0; i < count && !g->is_out_of_memory; i++) {
    if (depth < LOOP_DEPTH_MAX && below(g, 12) == 0) {
      make_while(g, block, depth);
    } else {
      (void)makers[below(g, sizeof makers / sizeof makers[0])](g, block);
    }
  }
}

/* Every value that nothing uses is returned. */
static void return_unused(struct generator *g, struct gen_block *block) {
  for (uint32_t i = 0; i < block->nodes.count; i++) {
    bool is_used = block->nodes.data[i].kind == GEN_WHILE || block->nodes.data[i].kind == GEN_ARGUMENT;
    for (uint32_t k = i + 1; k < block->nodes.count && !is_used; k++) {
      const struct gen_node *user = &block->nodes.data[k];
      for (uint32_t o = 0; o < user->operand_count; o++) {
        is_used = is_used || user->operands[o] == i;
      }
    }
    if (!is_used) {
      g->is_out_of_memory |= !vec_push(&block->outputs, i);
    }
  }
}

struct gen_block *gen_program(uint64_t seed) {
  struct generator g = {.state = seed};
  struct gen_block *program = new_block(&g, NULL);
  if (program == NULL) {
    return NULL;
  }
  for (uint32_t i = 0, count = 1 + below(&g, 3); i < count; i++) {
    struct gen_node argument = {.kind = GEN_ARGUMENT, .type = random_type(&g)};
    add(&g, program, &argument);
  }
  fill(&g, program, 3 + below(&g, 30), 0);
  return_unused(&g, program);
  if (g.is_out_of_memory) {
    gen_free(program);
    return NULL;
  }
  return program;
}

void gen_free(struct gen_block *block) {
  if (block == NULL) {
    return;
  }
  for (size_t i = 0; i < block->nodes.count; i++) {
    gen_free(block->nodes.data[i].body);
  }
  vec_release(&block->nodes);
  vec_release(&block->outputs);
  free(block);
}
