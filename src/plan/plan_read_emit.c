/* Operators from nodes: the axes of all members are merged where every tensor and stage has both or neither, masks are
 * taken over them, and tensors get their producers. Path: plan_read_nodes.c, plan_fuse.c → here → plan_program. */
#include <string.h>

#include "base/checked.h"
#include "plan/plan_read.h"

void read_cluster_init(const struct reader *reader, uint32_t node, struct read_cluster *cluster) {
  const struct read_node *n = &reader->nodes.data[node];
  cluster->axis_count = n->axis_count;
  cluster->member_count = 1;
  cluster->members[0].node = node;
  for (uint32_t a = 0; a < n->axis_count; a++) {
    cluster->extents[a] = reader->extents.data[n->extent_first + a];
    cluster->members[0].pieces[a][0] = (uint8_t)a;
    cluster->members[0].piece_count[a] = 1;
  }
}

uint32_t read_cluster_mask(const struct read_member *member, uint32_t node_mask) {
  uint32_t mask = 0;
  for (uint32_t a = 0; a < READ_AXES_MAX; a++) {
    for (uint32_t i = 0; (node_mask >> a & 1u) != 0 && i < member->piece_count[a]; i++) {
      mask |= 1u << member->pieces[a][i];
    }
  }
  return mask;
}

/* What an operator is made of while its axes are those of the cluster. */
struct wide_tensor {
  uint32_t value, view, mask;
  uint8_t flags;
  uint64_t memory_bytes;
};
struct wide_stage {
  uint32_t axes, reduced, left, right;
  const struct read_node *node;
};
struct wide {
  const struct reader *reader;
  const struct read_cluster *cluster;
  uint32_t tensor_count, stage_count;
  struct wide_tensor tensors[PLAN_TENSORS_MAX];
  struct wide_stage stages[PLAN_STAGES_MAX];
  uint8_t members[PLAN_STAGES_MAX]; /* of each stage */
  uint32_t hero; /* member */
  uint32_t scales; /* members, one bit each */
};

static bool is_member(const struct read_cluster *cluster, uint32_t node) {
  for (uint32_t i = 0; i < cluster->member_count; i++) {
    if (cluster->members[i].node == node) {
      return true;
    }
  }
  return false;
}

static uint64_t node_points(const struct reader *reader, const struct read_node *node) {
  uint64_t points = 1;
  for (uint32_t i = 0; i < node->axis_count; i++) {
    points = sat_mul_u64(points, reader->extents.data[node->extent_first + i]);
  }
  return points;
}

/* The largest product, else the last stage. */
static uint32_t find_hero(const struct reader *reader, const struct read_cluster *cluster) {
  uint32_t hero = cluster->member_count - 1;
  uint64_t most = 0;
  for (uint32_t i = 0; i < cluster->member_count; i++) {
    const struct read_node *node = &reader->nodes.data[cluster->members[i].node];
    uint64_t points = node->kind == PLAN_STAGE_MATRIX ? node_points(reader, node) : 0;
    if (points > most) {
      most = points;
      hero = i;
    }
  }
  return hero;
}

/* One tensor per value and mask; different cuts of one value are tensors of their own. */
static const char *add_tensor(struct wide *wide, const struct read_access *access, uint32_t mask, bool is_output) {
  const struct read_value *value = &wide->reader->values.data[access->value];
  for (uint32_t i = 0; i < wide->tensor_count && !is_output; i++) {
    struct wide_tensor *old = &wide->tensors[i];
    bool is_cut = ((old->flags | access->flags) & READ_PARTIAL) != 0;
    if (old->value == access->value && old->mask == mask && (!is_cut || old->view == access->view)) {
      old->memory_bytes = old->memory_bytes > access->memory_bytes ? old->memory_bytes : access->memory_bytes;
      old->flags |= access->flags;
      return NULL;
    }
  }
  if (wide->tensor_count == PLAN_TENSORS_MAX) {
    return "it has too many operands";
  }
  wide->tensors[wide->tensor_count++] =
      (struct wide_tensor){.value = access->value,
                           .view = access->view,
                           .mask = mask,
                           .flags = access->flags,
                           .memory_bytes = is_output ? value->written_bytes : access->memory_bytes};
  return NULL;
}

static const char *add_member(struct wide *wide, uint32_t index) {
  const struct reader *reader = wide->reader;
  const struct read_member *member = &wide->cluster->members[index];
  const struct read_node *node = &reader->nodes.data[member->node];
  for (uint32_t i = 0; i + 1 < node->access_count; i++) {
    const struct read_access *access = &reader->accesses.data[node->access_first + i];
    const struct read_value *value = &reader->values.data[access->value];
    if (value->place == READ_CHIP && is_member(wide->cluster, value->node - 1)) {
      continue;
    }
    const char *reason = add_tensor(wide, access, read_cluster_mask(member, access->mask), false);
    if (reason != NULL) {
      return reason;
    }
  }
  return NULL;
}

static void add_stage(struct wide *wide, uint32_t index) {
  const struct reader *reader = wide->reader;
  const struct read_member *member = &wide->cluster->members[index];
  const struct read_node *node = &reader->nodes.data[member->node];
  const struct read_access *accesses = reader->accesses.data + node->access_first;
  wide->members[wide->stage_count] = (uint8_t)index;
  struct wide_stage *stage = &wide->stages[wide->stage_count++];
  *stage = (struct wide_stage){.node = node};
  stage->axes = read_cluster_mask(member, (uint32_t)((UINT64_C(1) << node->axis_count) - 1));
  stage->reduced = read_cluster_mask(member, node->reduced);
  if (node->kind == PLAN_STAGE_MATRIX && node->access_count >= 2) {
    bool has_both = node->access_count >= 3;
    stage->left = has_both ? read_cluster_mask(member, accesses[0].mask) : stage->axes;
    stage->right = read_cluster_mask(member, accesses[node->access_count - 2].mask);
  }
}

/* A product of an operand times a factor that is constant along the summed axes is the product times the factor: weights
 * that are scaled per column are multiplied as they are stored. Members that do nothing but such a scaling. */
static uint32_t find_scales(const struct wide *wide) {
  const struct reader *reader = wide->reader;
  const struct read_cluster *cluster = wide->cluster;
  const struct read_member *product = &cluster->members[wide->hero];
  const struct read_node *hero = &reader->nodes.data[product->node];
  uint32_t scales = 0;
  if (hero->kind != PLAN_STAGE_MATRIX || hero->access_count != 3) {
    return 0;
  }
  for (uint32_t i = 0; i < wide->hero; i++) {
    const struct read_node *node = &reader->nodes.data[cluster->members[i].node];
    const struct read_access *accesses = reader->accesses.data + node->access_first;
    uint32_t value = node->access_count == 3 ? accesses[2].value : 0, readers = 0;
    for (uint32_t a = 0; a < 2 && value != 0; a++) {
      readers += reader->accesses.data[hero->access_first + a].value == value;
    }
    if (readers != 1 || reader->values.data[value].readers != 1
        || strcmp(intern_text(reader->program->strings, node->label), "multiply") != 0) {
      continue;
    }
    uint32_t summed = read_cluster_mask(product, hero->reduced);
    for (uint32_t a = 0; a < 2; a++) {
      bool is_constant = (read_cluster_mask(&cluster->members[i], accesses[a].mask) & summed) == 0;
      scales |= is_constant && (accesses[a].flags & READ_OPAQUE) == 0 ? 1u << i : 0;
    }
  }
  return scales;
}

/* Stages in the order of the members, scales behind the product and along the axes of its result. */
static void add_stages(struct wide *wide) {
  wide->scales = find_scales(wide);
  for (uint32_t i = 0; i < wide->cluster->member_count; i++) {
    uint32_t product = wide->stage_count;
    if ((wide->scales >> i & 1u) == 0) {
      add_stage(wide, i);
    }
    for (uint32_t s = 0; s < i && i == wide->hero; s++) {
      if ((wide->scales >> s & 1u) != 0) {
        add_stage(wide, s);
        wide->stages[wide->stage_count - 1].axes = wide->stages[product].axes & ~wide->stages[product].reduced;
      }
    }
  }
}

/* Values that others than the members read, or memory gets; the last member's where no one wants any. */
static const char *add_output(struct wide *wide) {
  const struct reader *reader = wide->reader;
  const struct read_cluster *cluster = wide->cluster;
  uint32_t found = 0, last = cluster->member_count - 1;
  for (uint32_t i = 0; i < cluster->member_count; i++) {
    const struct read_node *node = &reader->nodes.data[cluster->members[i].node];
    const struct read_access *write = &reader->accesses.data[node->access_first + node->access_count - 1];
    const struct read_value *value = &reader->values.data[write->value];
    uint32_t inside = 0;
    for (uint32_t m = 0; m < cluster->member_count; m++) {
      const struct read_node *other = &reader->nodes.data[cluster->members[m].node];
      for (uint32_t a = 0; a + 1 < other->access_count; a++) {
        inside += reader->accesses.data[other->access_first + a].value == write->value;
      }
    }
    if (value->readers > inside || value->written_bytes > 0 || i == last) {
      if (i != last || found > 0) {
        return "two values leave it";
      }
      found++;
      const char *reason = add_tensor(wide, write, read_cluster_mask(&cluster->members[i], write->mask), true);
      if (reason != NULL) {
        return reason;
      }
    }
  }
  return NULL;
}

/* Which tensors and stages have an axis, one bit each. */
struct signature {
  uint64_t words[3];
};

static void sign(struct signature *signature, uint32_t *bit, uint32_t mask, uint32_t axis) {
  signature->words[*bit / 64] |= (uint64_t)(mask >> axis & 1u) << (*bit % 64);
  ++*bit;
}

static struct signature axis_signature(const struct wide *wide, uint32_t axis) {
  struct signature signature = {{0, 0, 0}};
  uint32_t bit = 0;
  for (uint32_t i = 0; i < wide->tensor_count; i++) {
    sign(&signature, &bit, wide->tensors[i].mask, axis);
  }
  for (uint32_t i = 0; i < wide->stage_count; i++) {
    sign(&signature, &bit, wide->stages[i].axes, axis);
    sign(&signature, &bit, wide->stages[i].reduced, axis);
    sign(&signature, &bit, wide->stages[i].left, axis);
    sign(&signature, &bit, wide->stages[i].right, axis);
  }
  return signature;
}
_Static_assert(PLAN_TENSORS_MAX + 4 * PLAN_STAGES_MAX <= 3 * 64, "a signature has room for all tensors and stages");

/* Axes of the cluster: the hero's in its own order, then the others. */
static void order_axes(const struct wide *wide, uint8_t *order) {
  const struct read_member *hero = &wide->cluster->members[wide->hero];
  uint32_t seen = 0, count = 0;
  for (uint32_t a = 0; a < READ_AXES_MAX && a < wide->reader->nodes.data[hero->node].axis_count; a++) {
    for (uint32_t i = 0; i < hero->piece_count[a]; i++) {
      uint32_t axis = hero->pieces[a][i];
      if ((seen >> axis & 1u) == 0) {
        order[count++] = (uint8_t)axis;
        seen |= 1u << axis;
      }
    }
  }
  for (uint32_t a = 0; a < wide->cluster->axis_count; a++) {
    if ((seen >> a & 1u) == 0) {
      order[count++] = (uint8_t)a;
    }
  }
}

/* Axis of the operator per axis of the cluster, -1 = none; false when there are too many. */
static bool merge_axes(const struct wide *wide, int8_t *to, struct plan_operator *op) {
  struct signature signatures[PLAN_AXES_MAX];
  uint8_t order[CLUSTER_AXES_MAX];
  order_axes(wide, order);
  for (uint32_t k = 0; k < wide->cluster->axis_count; k++) {
    uint32_t a = order[k];
    uint64_t extent = wide->cluster->extents[a];
    struct signature signature = axis_signature(wide, a);
    uint32_t same = 0;
    to[a] = -1;
    if (extent <= 1 || (signature.words[0] | signature.words[1] | signature.words[2]) == 0) {
      continue;
    }
    while (same < op->axis_count && memcmp(&signatures[same], &signature, sizeof signature) != 0) {
      same++;
    }
    if (same == op->axis_count) {
      if (same == PLAN_AXES_MAX) {
        return false;
      }
      signatures[same] = signature;
      op->extents[same] = 1;
      op->axis_count++;
    }
    op->extents[same] = sat_mul_u64(op->extents[same], extent);
    to[a] = (int8_t)same;
  }
  return true;
}

static plan_axis_mask narrow(const int8_t *to, uint32_t mask) {
  uint32_t narrowed = 0;
  for (uint32_t a = 0; a < CLUSTER_AXES_MAX; a++) {
    narrowed |= (mask >> a & 1u) != 0 && to[a] >= 0 ? 1u << (uint32_t)to[a] : 0;
  }
  return (plan_axis_mask)narrowed;
}

static uint16_t value_bits(const struct read_value *value) {
  return value->place == READ_CHIP && value->read_bits != 0 && value->read_bits < value->bits ? value->read_bits
                                                                                              : value->bits;
}

static void fill_tensors(const struct wide *wide, const int8_t *to, struct read_operator *out) {
  for (uint32_t i = 0; i < wide->tensor_count; i++) {
    const struct wide_tensor *tensor = &wide->tensors[i];
    const struct read_value *value = &wide->reader->values.data[tensor->value];
    bool is_output = i + 1 == wide->tensor_count;
    bool is_chip = is_output || value->place == READ_CHIP;
    out->values[i] = tensor->value;
    out->tensors[i] = (struct plan_tensor){.axes = narrow(to, tensor->mask),
                                           .element_bits = value_bits(value),
                                           .source = is_chip ? PLAN_SOURCE_CHIP : PLAN_SOURCE_MEMORY,
                                           .is_output = is_output,
                                           .is_view = is_chip && !is_output && (tensor->flags & READ_MOVED) != 0,
                                           .memory_bytes = tensor->memory_bytes,
                                           .name = value->name};
  }
}

static void fill_stages(const struct wide *wide, const int8_t *to, struct read_operator *out) {
  for (uint32_t i = 0; i < wide->stage_count; i++) {
    const struct wide_stage *stage = &wide->stages[i];
    out->stages[i] = (struct plan_stage){.kind = stage->node->kind,
                                         .axes = narrow(to, stage->axes),
                                         .reduced = narrow(to, stage->reduced),
                                         .left = narrow(to, stage->left),
                                         .right = narrow(to, stage->right),
                                         .result_bits = stage->node->result_bits,
                                         .operations = stage->node->operations};
  }
}

const char *read_cluster_operator(const struct reader *reader, const struct read_cluster *cluster,
                                  struct read_operator *out) {
  struct wide wide = {.reader = reader, .cluster = cluster};
  int8_t to[CLUSTER_AXES_MAX];
  wide.hero = find_hero(reader, cluster);
  const char *reason = add_member(&wide, wide.hero);
  for (uint32_t i = 0; i < cluster->member_count && reason == NULL; i++) {
    reason = i != wide.hero ? add_member(&wide, i) : NULL;
  }
  add_stages(&wide);
  reason = reason == NULL ? add_output(&wide) : reason;
  memset(&out->op, 0, sizeof out->op);
  memset(to, -1, sizeof to);
  if (reason == NULL && !merge_axes(&wide, to, &out->op)) {
    reason = "it has too many axes";
  }
  if (reason != NULL) {
    return reason;
  }
  const struct read_node *hero = &reader->nodes.data[cluster->members[wide.hero].node];
  out->op.name = hero->label;
  out->op.layer = UINT32_MAX;
  out->op.task = hero->task + 1;
  out->op.merged = (uint8_t)cluster->member_count;
  out->op.tensor_count = (uint8_t)wide.tensor_count;
  out->op.stage_count = (uint8_t)wide.stage_count;
  fill_tensors(&wide, to, out);
  fill_stages(&wide, to, out);
  memcpy(out->members, wide.members, sizeof out->members);
  out->scales = wide.scales;
  if (out->op.axis_count == 0) { /* single numbers: one axis of one point */
    out->op.axis_count = 1;
    out->op.extents[0] = 1;
    for (uint32_t i = 0; i < wide.tensor_count; i++) {
      out->tensors[i].axes = 1;
    }
    for (uint32_t i = 0; i < wide.stage_count; i++) {
      out->stages[i].axes = 1;
    }
  }
  return NULL;
}

/* What a group of stages is called, by the labels in it. */
static uint32_t group_name(const struct reader *reader, const struct read_cluster *cluster, uint32_t hero) {
  static const struct {
    const char *name, *label;
  } groups[] = {{"softmax", "exponential"}, {"norm", "rsqrt"}, {"norm", "sqrt"}, {"rotation", "concatenate"}};
  const struct intern *strings = reader->program->strings;
  bool has_reduce = false, has_copy = false;
  for (uint32_t i = 0; i < cluster->member_count; i++) {
    const struct read_node *node = &reader->nodes.data[cluster->members[i].node];
    has_reduce |= node->kind == PLAN_STAGE_REDUCE;
    has_copy |= node->kind == PLAN_STAGE_COPY;
  }
  for (size_t g = 0; g < sizeof groups / sizeof *groups && cluster->member_count > 1 && (has_reduce || has_copy); g++) {
    for (uint32_t i = 0; i < cluster->member_count; i++) {
      if (strcmp(intern_text(strings, reader->nodes.data[cluster->members[i].node].label), groups[g].label) == 0) {
        return intern_add_cstr(reader->program->strings, groups[g].name);
      }
    }
  }
  return hero;
}

/* `operator_of` per node: operator + 1 of those emitted. */
static bool append(struct reader *reader, struct read_operator *from, uint32_t *operator_of,
                   const struct read_cluster *cluster) {
  struct plan_program *program = reader->program;
  bool has_product = false;
  for (uint32_t i = 0; i < from->op.stage_count; i++) {
    has_product |= from->stages[i].kind == PLAN_STAGE_MATRIX;
  }
  from->op.name = has_product ? from->op.name : group_name(reader, cluster, from->op.name);
  if (from->op.name == UINT32_MAX) {
    return false;
  }
  from->op.tensor_first = (uint32_t)program->tensors.count;
  from->op.stage_first = (uint32_t)program->stages.count;
  for (uint32_t i = 0; i < from->op.tensor_count; i++) {
    struct plan_tensor *tensor = &from->tensors[i];
    if (tensor->source == PLAN_SOURCE_CHIP && !tensor->is_output) {
      tensor->producer = operator_of[reader->values.data[from->values[i]].node - 1];
    }
    if (!vec_push(&program->tensors, *tensor)) {
      return false;
    }
  }
  for (uint32_t i = 0; i < from->op.stage_count; i++) {
    if (!vec_push(&program->stages, from->stages[i])) {
      return false;
    }
  }
  if (!vec_push(&program->operators, from->op)) {
    return false;
  }
  for (uint32_t i = 0; i < cluster->member_count; i++) {
    operator_of[cluster->members[i].node] = (uint32_t)program->operators.count;
  }
  return true;
}

enum status read_emit(struct reader *reader, struct read_scope *scope, struct read_cluster *const *cluster_of) {
  size_t nodes = reader->nodes.count;
  uint32_t *operator_of = calloc(nodes + 1, sizeof *operator_of);
  struct read_cluster *single = malloc(sizeof *single);
  enum status status = operator_of != NULL && single != NULL ? STATUS_OK : STATUS_MEMORY;
  struct read_operator op;
  for (uint32_t n = 0; n < nodes && status == STATUS_OK; n++) {
    const struct read_cluster *cluster = cluster_of != NULL ? cluster_of[n] : NULL;
    if (cluster != NULL && cluster->members[cluster->member_count - 1].node != n) {
      continue;
    }
    if (cluster == NULL) {
      read_cluster_init(reader, n, single);
      cluster = single;
    }
    const char *reason = read_cluster_operator(reader, cluster, &op);
    if (reason != NULL) {
      read_refuse(reader, scope, reader->nodes.data[n].task, reason);
    } else if (!append(reader, &op, operator_of, cluster)) {
      status = STATUS_MEMORY;
    }
  }
  free(single);
  free(operator_of);
  return status;
}
