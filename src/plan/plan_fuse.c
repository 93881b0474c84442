/* Fusion: which nodes become one operator. A cluster has one value that leaves it, its last member's. It joins the cluster
 * that reads this value when no other cluster does and the axes of both map one to one; going from the last node to the
 * first, softmax and norms collapse in one sweep, because the readers of a value that is used twice have met already.
 * Nothing is computed twice: where two values of a group are needed outside, the group is not made.
 * Path: plan_read.c → here → plan_read_emit.c. */
#include "plan/plan_fuse.h"

#include <string.h>

#include "base/checked.h"

/* A stage on a product's operand runs on every core that holds the operand's tile, so at most the extents that the operand
 * lacks as often as once. Dequantising weights for up to 64 tokens passes, a norm in front of thousands of columns not. */
enum { PROLOGUE_REPLICATION_MAX = 64 };

struct fuse {
  struct reader *reader;
  struct read_cluster **cluster_of; /* per node */
  uint32_t *reader_first; /* per value: in reader_nodes; one more at the end */
  uint32_t *reader_nodes;
  VEC(struct read_cluster *) all; /* for the release */
  VEC(struct read_cluster *) spare;
  struct read_cluster joined, attempt;
  struct read_operator trial;
  uint32_t count; /* clusters */
};

/* What a step may join. */
enum fuse_parts { PART_CHAIN = 1, PART_REDUCE = 2, PART_MATRIX = 4, PART_MOVE = 8, PART_BEFORE_MATRIX = 16 };
static const struct {
  const char *name;
  unsigned parts;
} steps[] = {
    {"element-wise chains", PART_CHAIN},
    {"norms and softmax", PART_CHAIN | PART_REDUCE},
    {"rotations and stores", PART_CHAIN | PART_REDUCE | PART_MOVE},
    {"epilogues", PART_CHAIN | PART_REDUCE | PART_MOVE | PART_MATRIX},
    {"prologues", PART_CHAIN | PART_REDUCE | PART_MOVE | PART_MATRIX | PART_BEFORE_MATRIX},
};

/* ---- who reads what ---- */

static bool index_readers(struct fuse *fuse) {
  const struct reader *reader = fuse->reader;
  size_t values = reader->values.count;
  fuse->reader_first = calloc(values + 2, sizeof *fuse->reader_first);
  fuse->reader_nodes = calloc(reader->accesses.count + 1, sizeof *fuse->reader_nodes);
  if (fuse->reader_first == NULL || fuse->reader_nodes == NULL) {
    return false;
  }
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t n = 0; n < reader->nodes.count; n++) {
      const struct read_node *node = &reader->nodes.data[n];
      for (uint32_t i = 0; i + 1 < node->access_count; i++) {
        uint32_t value = reader->accesses.data[node->access_first + i].value;
        if (pass == 0) {
          fuse->reader_first[value + 2]++;
        } else {
          fuse->reader_nodes[fuse->reader_first[value + 1]++] = n;
        }
      }
    }
    for (size_t v = 2; v < values + 2 && pass == 0; v++) {
      fuse->reader_first[v] += fuse->reader_first[v - 1];
    }
  }
  return true;
}

static const struct read_access *write_of(const struct reader *reader, uint32_t node) {
  const struct read_node *n = &reader->nodes.data[node];
  return &reader->accesses.data[n->access_first + n->access_count - 1];
}

/* The one cluster that reads the value a node makes, or NULL. */
static struct read_cluster *only_reader(const struct fuse *fuse, uint32_t node) {
  uint32_t value = write_of(fuse->reader, node)->value;
  struct read_cluster *found = NULL;
  if (fuse->reader->values.data[value].written_bytes > 0) {
    return NULL;
  }
  for (uint32_t i = fuse->reader_first[value]; i < fuse->reader_first[value + 1]; i++) {
    struct read_cluster *cluster = fuse->cluster_of[fuse->reader_nodes[i]];
    if (found != NULL && cluster != found) {
      return NULL;
    }
    found = cluster;
  }
  return found != fuse->cluster_of[node] ? found : NULL;
}

/* ---- what may join ---- */

static unsigned part_of(const struct reader *reader, const struct read_node *node) {
  const struct read_access *write = &reader->accesses.data[node->access_first + node->access_count - 1];
  switch (node->kind) {
  case PLAN_STAGE_ELEMENTWISE:
  case PLAN_STAGE_UNARY:
    return PART_CHAIN;
  case PLAN_STAGE_REDUCE:
    return PART_REDUCE;
  case PLAN_STAGE_MATRIX:
    return PART_MATRIX;
  case PLAN_STAGE_COPY:
    return PART_MOVE;
  default:
    /* storing rows is the end of an operator; gathering them is one of its own */
    return reader->values.data[write->value].written_bytes > 0 ? PART_MOVE : 0;
  }
}

static uint32_t matrix_member(const struct reader *reader, const struct read_cluster *cluster) {
  for (uint32_t i = 0; i < cluster->member_count; i++) {
    if (reader->nodes.data[cluster->members[i].node].kind == PLAN_STAGE_MATRIX) {
      return i;
    }
  }
  return UINT32_MAX;
}

/* All members are of sorts that the step joins. A product is alone with element-wise work: a sum beside it (softmax behind the
 * scores) must see all of its axis before anything goes on, so that the product's axes cannot rotate, and costs more than
 * the exchange it saves (docs/plan-program.md has the measurement). */
static bool is_allowed(const struct reader *reader, const struct read_cluster *cluster, unsigned parts) {
  uint32_t products = 0, sums = 0;
  for (uint32_t i = 0; i < cluster->member_count; i++) {
    unsigned part = part_of(reader, &reader->nodes.data[cluster->members[i].node]);
    products += part == PART_MATRIX;
    sums += part == PART_REDUCE;
    if ((part & parts) == 0) {
      return false;
    }
  }
  return products == 0 || (products == 1 && sums == 0);
}

static bool reads_value(const struct reader *reader, const struct read_member *member, uint32_t value) {
  const struct read_node *node = &reader->nodes.data[member->node];
  for (uint32_t i = 0; i + 1 < node->access_count; i++) {
    if (reader->accesses.data[node->access_first + i].value == value) {
      return true;
    }
  }
  return false;
}

/* Members that the product waits for, one bit each. */
static uint32_t members_before(const struct reader *reader, const struct read_cluster *cluster, uint32_t matrix) {
  uint32_t before = 1u << matrix;
  for (uint32_t i = matrix; i-- > 0;) {
    uint32_t value = write_of(reader, cluster->members[i].node)->value;
    for (uint32_t m = i + 1; m <= matrix; m++) {
      if ((before >> m & 1u) != 0 && reads_value(reader, &cluster->members[m], value)) {
        before |= 1u << i;
      }
    }
  }
  return before & ~(1u << matrix);
}

static uint64_t points_of(const struct plan_operator *op, plan_axis_mask mask) {
  uint64_t points = 1;
  for (uint32_t a = 0; a < op->axis_count; a++) {
    points = (mask >> a & 1) != 0 ? sat_mul_u64(points, op->extents[a]) : points;
  }
  return points;
}

/* What joins a product runs along the product's axes only, and leaves its result as large as it was. */
static bool keeps_axes(const struct plan_operator *op, const struct plan_stage *product, plan_axis_mask output) {
  return product->axes == (1u << op->axis_count) - 1 && output == (product->axes & ~product->reduced);
}

/* Cores that split an axis of the output do a stage without this axis all alike. That may at worst take as much as the
 * largest stage; in front of a product it may happen PROLOGUE_REPLICATION_MAX times. */
static bool is_worth(const struct fuse *fuse, const struct read_cluster *cluster, unsigned parts) {
  const struct plan_operator *op = &fuse->trial.op;
  plan_axis_mask output = fuse->trial.tensors[op->tensor_count - 1].axes;
  uint32_t matrix = matrix_member(fuse->reader, cluster);
  uint32_t before = matrix != UINT32_MAX ? members_before(fuse->reader, cluster, matrix) : 0;
  uint64_t largest = 0;
  if (before != 0 && (parts & PART_BEFORE_MATRIX) == 0) {
    return false;
  }
  before &= ~fuse->trial.scales; /* they come after the product */
  for (uint32_t i = 0; i < op->stage_count; i++) {
    const struct plan_stage *stage = &fuse->trial.stages[i];
    uint64_t work = sat_mul_u64(points_of(op, stage->axes), stage->operations);
    largest = work > largest ? work : largest;
  }
  uint32_t product = 0;
  while (matrix != UINT32_MAX && fuse->trial.members[product] != matrix) {
    product++;
  }
  if (matrix != UINT32_MAX && !keeps_axes(op, &fuse->trial.stages[product], output)) {
    return false;
  }
  for (uint32_t i = 0; i < op->stage_count; i++) {
    const struct plan_stage *stage = &fuse->trial.stages[i];
    uint64_t times = points_of(op, (plan_axis_mask)(output & ~stage->axes));
    uint64_t work = sat_mul_u64(points_of(op, stage->axes), stage->operations);
    if ((before >> fuse->trial.members[i] & 1u) != 0) {
      if (stage->kind == PLAN_STAGE_REDUCE || times > PROLOGUE_REPLICATION_MAX) {
        return false;
      }
    } else if (sat_mul_u64(work, times) > largest) {
      return false;
    }
  }
  return true;
}

/* ---- joining ---- */

/* Calls unify for the value that goes from one cluster to the other, then for values from outside that both read; these
 * may differ (the two sides of a product), which costs only an axis. */
static bool unify_edges(struct fuse *fuse, uint32_t value) {
  const struct reader *reader = fuse->reader;
  struct read_cluster *joined = &fuse->joined;
  uint32_t writer = reader->values.data[value].node - 1, from = 0;
  while (joined->members[from].node != writer) {
    from++;
  }
  for (uint32_t m = 0; m < joined->member_count; m++) {
    const struct read_node *node = &reader->nodes.data[joined->members[m].node];
    for (uint32_t i = 0; i + 1 < node->access_count; i++) {
      const struct read_access *access = &reader->accesses.data[node->access_first + i];
      if (access->value == value && !read_cluster_unify(reader, joined, from, write_of(reader, writer), m, access)) {
        return false;
      }
    }
  }
  return true;
}

static void unify_shared_pair(struct fuse *fuse, uint32_t a, uint32_t b) {
  const struct reader *reader = fuse->reader;
  const struct read_node *node_a = &reader->nodes.data[fuse->joined.members[a].node];
  const struct read_node *node_b = &reader->nodes.data[fuse->joined.members[b].node];
  for (uint32_t i = 0; i + 1 < node_a->access_count; i++) {
    for (uint32_t j = 0; j + 1 < node_b->access_count; j++) {
      const struct read_access *x = &reader->accesses.data[node_a->access_first + i];
      const struct read_access *y = &reader->accesses.data[node_b->access_first + j];
      if (x->value != y->value || ((x->flags | y->flags) & (READ_PARTIAL | READ_OPAQUE)) != 0) {
        continue;
      }
      fuse->attempt = fuse->joined;
      if (read_cluster_unify(reader, &fuse->attempt, a, x, b, y)) {
        fuse->joined = fuse->attempt;
      }
    }
  }
}

static void unify_shared(struct fuse *fuse, const struct read_cluster *first) {
  for (uint32_t a = 0; a < fuse->joined.member_count; a++) {
    for (uint32_t b = a + 1; b < fuse->joined.member_count; b++) {
      bool a_is_first = false, b_is_first = false;
      for (uint32_t i = 0; i < first->member_count; i++) {
        a_is_first |= first->members[i].node == fuse->joined.members[a].node;
        b_is_first |= first->members[i].node == fuse->joined.members[b].node;
      }
      if (a_is_first != b_is_first) {
        unify_shared_pair(fuse, a, b);
      }
    }
  }
}

/* A node's cluster, made when first asked for. */
static struct read_cluster *cluster_at(struct fuse *fuse, uint32_t node) {
  if (fuse->cluster_of[node] != NULL) {
    return fuse->cluster_of[node];
  }
  struct read_cluster *cluster = NULL;
  if (fuse->spare.count > 0) {
    cluster = fuse->spare.data[--fuse->spare.count];
  } else {
    cluster = calloc(1, sizeof *cluster);
    if (cluster == NULL || !vec_push(&fuse->all, cluster)) {
      free(cluster);
      return NULL;
    }
  }
  memset(cluster, 0, sizeof *cluster);
  read_cluster_init(fuse->reader, node, cluster);
  return fuse->cluster_of[node] = cluster;
}

static bool try_join(struct fuse *fuse, uint32_t node, struct read_cluster *with, unsigned parts) {
  struct read_cluster *cluster = fuse->cluster_of[node];
  uint32_t value = write_of(fuse->reader, node)->value;
  if (!read_cluster_join(cluster, with, &fuse->joined) || !is_allowed(fuse->reader, &fuse->joined, parts)
      || !unify_edges(fuse, value)) {
    return false;
  }
  unify_shared(fuse, cluster);
  read_cluster_compact(&fuse->joined, &fuse->attempt);
  if (read_cluster_operator(fuse->reader, &fuse->joined, &fuse->trial) != NULL
      || !is_worth(fuse, &fuse->joined, parts)) {
    return false;
  }
  *with = fuse->joined;
  for (uint32_t i = 0; i < cluster->member_count; i++) {
    fuse->cluster_of[cluster->members[i].node] = with;
  }
  fuse->count--;
  return vec_push(&fuse->spare, cluster) || (fuse->reader->out_of_memory = true);
}

static void run_step(struct fuse *fuse, const char *name, unsigned parts) {
  struct reader *reader = fuse->reader;
  uint32_t before = fuse->count;
  for (uint32_t n = (uint32_t)reader->nodes.count; n-- > 0 && !reader->out_of_memory;) {
    const struct read_cluster *own = fuse->cluster_of[n];
    bool is_last = own->members[own->member_count - 1].node == n;
    struct read_cluster *with = is_last ? only_reader(fuse, n) : NULL;
    if (with != NULL) {
      try_join(fuse, n, with, parts);
    }
  }
  struct plan_step_share row = {name, before, fuse->count};
  reader->out_of_memory |= !vec_push(&reader->program->shares, row);
}

enum status read_fuse(struct reader *reader, struct read_scope *scope) {
  struct fuse *fuse = calloc(1, sizeof *fuse);
  if (fuse == NULL) {
    return STATUS_MEMORY;
  }
  fuse->reader = reader;
  fuse->count = (uint32_t)reader->nodes.count;
  fuse->cluster_of = calloc(reader->nodes.count + 1, sizeof *fuse->cluster_of);
  bool ok = fuse->cluster_of != NULL && index_readers(fuse);
  for (uint32_t n = 0; n < reader->nodes.count && ok; n++) {
    ok = cluster_at(fuse, n) != NULL;
  }
  for (size_t i = 0; i < sizeof steps / sizeof *steps && ok; i++) {
    run_step(fuse, steps[i].name, steps[i].parts);
  }
  enum status status = ok && !reader->out_of_memory ? read_emit(reader, scope, fuse->cluster_of) : STATUS_MEMORY;
  for (size_t i = 0; i < fuse->all.count; i++) {
    free(fuse->all.data[i]);
  }
  vec_release(&fuse->all);
  vec_release(&fuse->spare);
  free(fuse->cluster_of);
  free(fuse->reader_first);
  free(fuse->reader_nodes);
  free(fuse);
  return status;
}
