/* Nodes: one stage of the work graph with axes, and for every access the stride along each of them.
 * An axis of a stage is cut where some operand repeats along a part of it (queries that share a head of the cache) or runs
 * along parts of it with different strides; nothing is merged here, plan_read_emit.c does that.
 * Path: plan_read.c walks the tasks → here → clusters and operators. */
#include <string.h>

#include "base/checked.h"
#include "plan/plan_read.h"

enum { CUTS_MAX = 6, NODE_ACCESSES_MAX = PLAN_TENSORS_MAX };

struct node_access {
  uint32_t view;
  uint8_t flags;
  uint16_t bits;
  uint32_t extra; /* axes of the stage that it runs along in a way that no dimension shows */
  uint64_t touched;
  uint32_t rank;
  int16_t axis_of[READ_RANK_MAX]; /* per dimension, -1 = none */
  bool is_cut[READ_RANK_MAX]; /* the dimension is longer or shorter than its axis */
  bool is_lane[READ_RANK_MAX]; /* the dimension is one of several equal parts of its axis */
};

struct node_builder {
  struct reader *reader;
  struct read_scope *scope;
  uint32_t task;
  const struct work_stage *stage;
  const struct work_axis *axes;
  enum plan_stage_kind kind;
  uint64_t cuts[READ_AXES_MAX][CUTS_MAX]; /* ascending products of inner extents */
  uint32_t cut_count[READ_AXES_MAX];
  uint32_t sub_first[READ_AXES_MAX], sub_count[READ_AXES_MAX]; /* axes of the node per axis of the stage, outer first */
  uint32_t axis_count;
  uint64_t extents[READ_AXES_MAX];
  uint32_t access_count;
  struct node_access accesses[NODE_ACCESSES_MAX];
};

uint32_t read_value_add(struct reader *reader, const struct read_value *value) {
  if (!vec_push(&reader->values, *value)) {
    reader->out_of_memory = true;
    return 0;
  }
  return (uint32_t)(reader->values.count - 1);
}

void read_refuse(struct reader *reader, const struct read_scope *scope, uint32_t task, const char *reason) {
  const struct work_task *t = &scope->graph->tasks.data[task];
  reader->is_refused = true;
  if (scope->is_repeated) {
    return;
  }
  const char *label = intern_text(scope->graph->strings, t->label);
  diag_at(reader->diags, DIAG_E0801_NOT_PLANNED, reader->options->source, t->source_offset,
          "task %u '%s' (%s) cannot be planned: %s", task, label, work_kind_info((enum work_kind)t->kind)->name,
          reason);
}

static uint32_t masks_of_roles(const struct node_builder *builder, unsigned roles) {
  uint32_t mask = 0;
  for (uint32_t a = 0; a < builder->stage->axis_count; a++) {
    mask |= (roles >> builder->axes[a].role & 1u) != 0 ? 1u << a : 0;
  }
  return mask;
}

#define ROLE(role) (1u << WORK_AXIS_##role)
enum {
  ROLES_SUMMED = ROLE(REDUCTION) | ROLE(WINDOW),
  ROLES_RESULT = ROLE(BATCH) | ROLE(ROW) | ROLE(COLUMN) | ROLE(PARALLEL),
  ROLES_LEFT = ROLES_RESULT & ~ROLE(COLUMN),
  ROLES_RIGHT = ROLES_RESULT & ~ROLE(ROW)
};

/* Axes that an operand of which some dimension has no axis may run along. */
static uint32_t unmapped_axes(const struct node_builder *builder, uint32_t number, bool is_write) {
  bool is_matrix = builder->kind == PLAN_STAGE_MATRIX;
  if (is_write) {
    return masks_of_roles(builder, ROLES_RESULT);
  }
  if (is_matrix && number < 2) {
    return masks_of_roles(builder, (number == 0 ? ROLES_LEFT : ROLES_RIGHT) | ROLES_SUMMED);
  }
  return masks_of_roles(builder, ROLES_RESULT | ROLES_SUMMED);
}

static bool moves_by_position(uint8_t kind) {
  return kind == WORK_SLICE || kind == WORK_DYNAMIC_SLICE || kind == WORK_CONCATENATE || kind == WORK_PAD
         || kind == WORK_REVERSE || kind == WORK_COPY || kind == WORK_TRANSPOSE || kind == WORK_DYNAMIC_UPDATE_SLICE;
}

static bool is_update(uint8_t kind) {
  return kind == WORK_DYNAMIC_UPDATE_SLICE || kind == WORK_SCATTER;
}

/* Operands that are addressed by data: tables that rows are gathered from, tensors that rows are updated in. */
static bool is_addressed(const struct work_stage *stage, uint32_t operand) {
  uint32_t results = stage->access_count - stage->read_count;
  return (stage->kind == WORK_GATHER && operand == 0) || (is_update(stage->kind) && operand < results);
}

/* An operand of unknown map: its dimensions are looked for among the axes, in order, by extent. */
static void guess_axes(const struct node_builder *builder, const int64_t *dims, struct node_access *access) {
  uint32_t next = 0;
  for (uint32_t d = 0; d < access->rank; d++) {
    for (uint32_t a = next; a < builder->stage->axis_count && dims[d] > 1; a++) {
      if (builder->axes[a].extent == dims[d]) {
        access->axis_of[d] = (int16_t)a;
        next = a + 1;
        break;
      }
    }
  }
}

static void map_axes(const struct node_builder *builder, const struct work_access *from, uint32_t number, bool is_write,
                     struct node_access *access) {
  const struct work_graph *graph = builder->scope->graph;
  const struct work_tensor *tensor = &graph->tensors.data[from->tensor];
  const int64_t *dims = graph->dims.data + tensor->dims_first;
  uint8_t kind = builder->stage->kind;
  bool is_missing = false;
  if (is_write && is_update(kind)) {
    access->extra = masks_of_roles(builder, ROLES_RESULT); /* the rows that are stored */
    access->flags |= READ_OPAQUE;
    return;
  }
  if (is_write && kind == WORK_TOP_K) {
    for (uint32_t d = 0; d < access->rank; d++) {
      access->axis_of[d] = (int16_t)(d + 1 < access->rank ? d : access->rank); /* the last axis counts the picks */
    }
    return;
  }
  if (from->map_count == 0 && !is_write && builder->kind != PLAN_STAGE_MATRIX) {
    guess_axes(builder, dims, access);
  }
  for (uint32_t d = 0; d < access->rank; d++) {
    int16_t axis = from->map_count > d ? graph->maps.data[from->map_first + d] : access->axis_of[d];
    if (axis < 0 && moves_by_position(kind) && access->rank == builder->stage->axis_count && dims[d] != 1) {
      axis = (int16_t)d;
    }
    if (axis < 0 || (uint32_t)axis >= builder->stage->axis_count) {
      is_missing |= dims[d] != 1;
      axis = -1;
    }
    access->axis_of[d] = axis;
    access->is_cut[d] = axis >= 0 && builder->axes[axis].extent != dims[d];
    access->flags |= access->is_cut[d] ? READ_PARTIAL : 0;
  }
  bool is_table = is_addressed(builder->stage, number) && !is_write;
  bool follows_axes = builder->kind == PLAN_STAGE_MATRIX || kind == WORK_REDUCE_WINDOW || is_write || is_table;
  if ((is_missing || from->map_count == 0) && follows_axes && tensor->element_count > 1) {
    access->extra = is_table ? masks_of_roles(builder, ROLES_RESULT) : unmapped_axes(builder, number, is_write);
    access->flags |= READ_OPAQUE;
  } else if (is_missing) {
    access->flags |= READ_OPAQUE;
  }
}

static uint64_t stage_points(const struct node_builder *builder) {
  uint64_t points = 1;
  for (uint32_t a = 0; a < builder->stage->axis_count; a++) {
    points = sat_mul_u64(points, builder->axes[a].extent > 0 ? (uint64_t)builder->axes[a].extent : 0);
  }
  return points;
}

static bool add_access(struct node_builder *builder, const struct work_access *from, uint32_t number, bool is_write,
                       uint32_t view) {
  struct reader *reader = builder->reader;
  const struct work_tensor *tensor = &builder->scope->graph->tensors.data[from->tensor];
  if (builder->access_count == NODE_ACCESSES_MAX || tensor->rank > READ_RANK_MAX) {
    read_refuse(reader, builder->scope, builder->task, "it has too many operands or dimensions");
    return false;
  }
  struct node_access *access = &builder->accesses[builder->access_count++];
  memset(access, 0, sizeof *access);
  memset(access->axis_of, 0xFF, sizeof access->axis_of);
  access->view = view;
  access->flags = reader->views.data[view].flags;
  access->bits = (uint16_t)dtype_storage_bits((enum dtype)tensor->dtype);
  access->rank = tensor->rank;
  access->touched = from->touched_elements;
  if (!is_write && is_addressed(builder->stage, number)) {
    uint64_t points = stage_points(builder);
    access->touched = access->touched < points ? access->touched : points;
  }
  map_axes(builder, from, number, is_write, access);
  return true;
}

/* ---- cutting axes ---- */

/* Keeps the products in ascending order, each dividing the next; false when `product` does not fit between. */
static bool add_cut(struct node_builder *builder, uint32_t axis, uint64_t product) {
  uint64_t *cuts = builder->cuts[axis];
  uint32_t count = builder->cut_count[axis], at = 0;
  uint64_t extent = (uint64_t)builder->axes[axis].extent;
  if (extent % product != 0) {
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (cuts[i] == product) {
      return true;
    }
    if (cuts[i] % product != 0 && product % cuts[i] != 0) {
      return false;
    }
    at += cuts[i] < product;
  }
  if (count == CUTS_MAX) {
    return false;
  }
  memmove(cuts + at + 1, cuts + at, (count - at) * sizeof *cuts);
  cuts[at] = product;
  builder->cut_count[axis]++;
  return true;
}

static void cut_for(struct node_builder *builder, struct node_access *access) {
  for (uint32_t d = 0; d < access->rank; d++) {
    struct read_atom atoms[CUTS_MAX + 1];
    if (access->axis_of[d] < 0 || access->is_cut[d]) {
      continue;
    }
    uint32_t count = read_view_dim(builder->reader, access->view, d, atoms, CUTS_MAX + 1);
    bool fits = count <= CUTS_MAX + 1;
    uint64_t product = 1;
    for (uint32_t i = count; fits && i-- > 1;) {
      product = sat_mul_u64(product, atoms[i].extent);
      fits = add_cut(builder, (uint32_t)access->axis_of[d], product);
    }
    access->flags |= fits ? 0 : READ_OPAQUE;
  }
}

/* Equal parts that are put one after the other: the axis becomes one of parts and one within a part, and no operand runs
 * along the former. Halves that rotate against each other so stay in one operator. */
static void mark_lanes(struct node_builder *builder) {
  uint32_t parts = builder->access_count - 1;
  int64_t part = 0;
  int axis = -1;
  if (builder->stage->kind != WORK_CONCATENATE || parts != builder->stage->read_count) {
    return;
  }
  for (uint32_t i = 0; i < parts; i++) {
    const struct work_access *from = &builder->scope->graph->accesses.data[builder->stage->access_first + i];
    const struct work_graph *graph = builder->scope->graph;
    const int64_t *dims = graph->dims.data + graph->tensors.data[from->tensor].dims_first;
    for (uint32_t d = 0; d < builder->accesses[i].rank; d++) {
      if (!builder->accesses[i].is_cut[d]) {
        continue;
      }
      if ((axis >= 0 && axis != builder->accesses[i].axis_of[d]) || (part != 0 && part != dims[d])) {
        return;
      }
      axis = builder->accesses[i].axis_of[d];
      part = dims[d];
    }
  }
  if (axis < 0 || part <= 1 || builder->axes[axis].extent != part * (int64_t)parts
      || !add_cut(builder, (uint32_t)axis, (uint64_t)part)) {
    return;
  }
  for (uint32_t i = 0; i < parts; i++) {
    struct node_access *access = &builder->accesses[i];
    access->flags = builder->reader->views.data[access->view].flags;
    for (uint32_t d = 0; d < access->rank; d++) {
      access->is_lane[d] = access->is_cut[d];
      access->is_cut[d] = false;
    }
  }
}

static bool add_axes(struct node_builder *builder) {
  for (uint32_t a = 0; a < builder->stage->axis_count; a++) {
    uint64_t left = (uint64_t)builder->axes[a].extent;
    builder->sub_first[a] = builder->axis_count;
    for (uint32_t i = builder->cut_count[a] + 1; i-- > 0;) {
      uint64_t inner = i > 0 ? builder->cuts[a][i - 1] : 1;
      if (left / inner <= 1) {
        continue;
      }
      if (builder->axis_count == READ_AXES_MAX) {
        read_refuse(builder->reader, builder->scope, builder->task, "it has too many axes");
        return false;
      }
      builder->extents[builder->axis_count++] = left / inner;
      left = inner;
    }
    builder->sub_count[a] = builder->axis_count - builder->sub_first[a];
  }
  return true;
}

/* ---- strides ---- */

/* Strides along the axes that one dimension became, from the innermost on. */
static void dim_strides(const struct node_builder *builder, struct node_access *access, uint32_t dim,
                        uint64_t *strides) {
  struct read_atom atoms[CUTS_MAX + 2];
  uint32_t axis = (uint32_t)access->axis_of[dim];
  uint32_t count = read_view_dim(builder->reader, access->view, dim, atoms, CUTS_MAX + 2);
  bool is_repeated = true, is_known = count <= CUTS_MAX + 2 && !access->is_cut[dim];
  for (uint32_t i = 0; i < count && i < CUTS_MAX + 2; i++) {
    is_repeated &= atoms[i].stride == 0;
  }
  uint32_t at = count;
  uint64_t done = 1;
  for (uint32_t s = builder->sub_count[axis]; s-- > 0;) {
    uint32_t sub = builder->sub_first[axis] + s;
    if (is_known && at > 0 && done == atoms[at - 1].extent) {
      at--;
      done = 1;
    }
    if (access->is_lane[dim] && at == 0) {
      break; /* the outermost axis counts the parts */
    }
    bool fits = is_known && at > 0 && atoms[at - 1].extent % sat_mul_u64(done, builder->extents[sub]) == 0;
    if (fits) {
      strides[sub] += sat_mul_u64(atoms[at - 1].stride, done);
      done *= builder->extents[sub];
    } else {
      is_known = false;
      access->flags |= access->is_cut[dim] ? 0 : READ_OPAQUE;
      strides[sub] += is_repeated ? 0 : access->is_cut[dim] && count > 0 ? atoms[count - 1].stride : 1;
    }
  }
}

static bool push_access(struct node_builder *builder, struct node_access *access) {
  struct reader *reader = builder->reader;
  struct read_value *value = read_value_of(reader, access->view);
  uint64_t strides[READ_AXES_MAX] = {0};
  for (uint32_t d = 0; d < access->rank; d++) {
    if (access->axis_of[d] >= 0) {
      dim_strides(builder, access, d, strides);
    }
  }
  for (uint32_t a = 0; a < builder->stage->axis_count; a++) {
    for (uint32_t s = 0; s < builder->sub_count[a] && (access->extra >> a & 1u) != 0; s++) {
      uint64_t *stride = &strides[builder->sub_first[a] + s];
      *stride = *stride == 0 ? 1 : *stride;
    }
  }
  struct read_access out = {.value = reader->views.data[access->view].value,
                            .view = access->view,
                            .stride_first = (uint32_t)reader->strides.count,
                            .flags = access->flags,
                            .bits = access->bits};
  for (uint32_t i = 0; i < builder->axis_count; i++) {
    out.mask |= strides[i] != 0 ? 1u << i : 0;
    reader->out_of_memory |= !vec_push(&reader->strides, strides[i]);
  }
  if (value->place == READ_MEMORY) {
    uint64_t elements = read_view_elements(reader, access->view);
    elements = access->touched < elements ? access->touched : elements;
    out.memory_bytes = ceil_div_u64(sat_mul_u64(elements, value->bits), 8);
  }
  reader->out_of_memory |= !vec_push(&reader->accesses, out);
  return !reader->out_of_memory;
}

static bool is_same_access(const struct reader *reader, uint32_t a, uint32_t b, uint32_t axis_count) {
  const struct read_access *x = &reader->accesses.data[a], *y = &reader->accesses.data[b];
  if (x->value != y->value || x->mask != y->mask
      || (x->view != y->view && ((x->flags | y->flags) & (READ_PARTIAL | READ_OPAQUE)) != 0)) {
    return false;
  }
  const uint64_t *strides = reader->strides.data;
  return axis_count == 0
         || memcmp(strides + x->stride_first, strides + y->stride_first, axis_count * sizeof *strides) == 0;
}

/* Reads, each counted once however often the operation names it (x * x), apart from the two sides of a product. */
static bool push_accesses(struct node_builder *builder, uint32_t *count) {
  struct reader *reader = builder->reader;
  uint32_t first = (uint32_t)reader->accesses.count;
  for (uint32_t i = 0; i < builder->access_count; i++) {
    if (!push_access(builder, &builder->accesses[i])) {
      return false;
    }
    bool is_write = i + 1 == builder->access_count;
    uint32_t last = (uint32_t)reader->accesses.count - 1;
    bool is_double = false;
    for (uint32_t j = first; j < last && !is_write && builder->kind != PLAN_STAGE_MATRIX; j++) {
      is_double |= is_same_access(reader, j, last, builder->axis_count);
    }
    if (is_double) {
      reader->accesses.count--;
      reader->strides.count -= builder->axis_count;
      continue;
    }
    struct read_value *value = &reader->values.data[reader->accesses.data[last].value];
    value->readers += !is_write;
    uint16_t bits = is_write ? 0 : reader->accesses.data[last].bits;
    value->read_bits = bits > value->read_bits ? bits : value->read_bits;
  }
  *count = (uint32_t)reader->accesses.count - first;
  return true;
}

/* ---- the node ---- */

static uint64_t stage_operations(const struct node_builder *builder) {
  const struct work_graph *graph = builder->scope->graph;
  const struct work_stage *stage = builder->stage;
  uint64_t operations = 0;
  for (uint32_t i = 0; i < stage->op_count; i++) {
    operations += graph->ops.data[stage->op_first + i].count;
  }
  if (builder->kind == PLAN_STAGE_MATRIX) {
    return operations > 2 ? operations / 2 : 1;
  }
  if (stage->kind == WORK_TOP_K) {
    return 1;
  }
  if (builder->kind == PLAN_STAGE_COPY || builder->kind == PLAN_STAGE_GATHER) {
    return operations > 0 ? operations : 1;
  }
  if (stage->applications != 0 && stage->kind != WORK_REDUCE) {
    operations = ceil_div_u64(sat_mul_u64(stage->applications, operations), stage_points(builder));
  }
  return operations;
}

static enum plan_stage_kind final_kind(const struct node_builder *builder, uint64_t operations) {
  if (builder->kind == PLAN_STAGE_ELEMENTWISE) {
    return operations == 0 ? PLAN_STAGE_COPY : builder->access_count <= 2 ? PLAN_STAGE_UNARY : PLAN_STAGE_ELEMENTWISE;
  }
  return builder->kind;
}

static bool finish(struct node_builder *builder) {
  struct reader *reader = builder->reader;
  mark_lanes(builder);
  for (uint32_t i = 0; i < builder->access_count; i++) {
    cut_for(builder, &builder->accesses[i]);
  }
  if (!add_axes(builder)) {
    return false;
  }
  uint64_t operations = stage_operations(builder);
  struct read_node node = {.task = builder->task,
                           .kind = (uint8_t)final_kind(builder, operations),
                           .axis_count = (uint8_t)builder->axis_count,
                           .result_bits = builder->accesses[builder->access_count - 1].bits,
                           .operations = (uint16_t)(operations < UINT16_MAX ? operations : UINT16_MAX),
                           .extent_first = (uint32_t)reader->extents.count,
                           .access_first = (uint32_t)reader->accesses.count};
  node.operations = node.kind == PLAN_STAGE_COPY && operations == 0 ? 1 : node.operations;
  const struct work_graph *graph = builder->scope->graph;
  uint32_t label = builder->stage->label != 0 ? builder->stage->label : graph->tasks.data[builder->task].label;
  node.label =
      intern_add(reader->program->strings, intern_text(graph->strings, label), intern_length(graph->strings, label));
  for (uint32_t a = 0; a < builder->stage->axis_count; a++) {
    bool is_summed = (ROLES_SUMMED >> builder->axes[a].role & 1u) != 0;
    for (uint32_t s = 0; s < builder->sub_count[a]; s++) {
      node.reduced |= is_summed ? 1u << (builder->sub_first[a] + s) : 0;
    }
  }
  for (uint32_t i = 0; i < builder->axis_count; i++) {
    reader->out_of_memory |= !vec_push(&reader->extents, builder->extents[i]);
  }
  if (reader->out_of_memory || node.label == UINT32_MAX || !push_accesses(builder, &node.access_count)
      || !vec_push(&reader->nodes, node)) {
    reader->out_of_memory = true;
    return false;
  }
  return true;
}

/* The value of the stage; results of equal shape (a maximum and its place) are one value of wider elements. */
static uint32_t add_result(struct node_builder *builder) {
  struct reader *reader = builder->reader;
  const struct work_graph *graph = builder->scope->graph;
  const struct work_stage *stage = builder->stage;
  const struct work_access *first = &graph->accesses.data[stage->access_first + stage->read_count];
  const struct work_tensor *tensor = &graph->tensors.data[first->tensor];
  uint64_t bits = 0, rows = is_update(stage->kind) ? stage_points(builder) : tensor->element_count;
  for (uint32_t i = stage->read_count; i < stage->access_count; i++) {
    const struct work_tensor *other = &graph->tensors.data[graph->accesses.data[stage->access_first + i].tensor];
    if (other->element_count != tensor->element_count) {
      read_refuse(reader, builder->scope, builder->task, "its results differ in shape");
      return 0;
    }
    bits += dtype_storage_bits((enum dtype)other->dtype);
  }
  uint32_t name = intern_add(reader->program->strings, intern_text(graph->strings, tensor->name),
                             intern_length(graph->strings, tensor->name));
  uint32_t value = read_value_add(reader, &(struct read_value){.place = READ_CHIP,
                                                               .bits = (uint16_t)(bits < 4096 ? bits : 4096),
                                                               .node = (uint32_t)reader->nodes.count + 1,
                                                               .name = name,
                                                               .elements = rows});
  if (is_update(stage->kind)) {
    reader->values.data[value].written_bytes = ceil_div_u64(sat_mul_u64(rows, bits), 8);
  }
  reader->values.data[value].read_bits = stage->access_count - stage->read_count > 1 ? (uint16_t)bits : 0;
  reader->out_of_memory |= name == UINT32_MAX;
  return reader->out_of_memory ? 0
                               : read_view_dense(reader, value, graph->dims.data + tensor->dims_first, tensor->rank);
}

/* The k largest of n numbers are k maxima of the n: the last axis is summed over, and one for the picks comes last. False
 * when the stage is not of this form. */
static bool adapt_top_k(const struct work_graph *graph, struct work_stage *stage, struct work_axis *axes) {
  const struct work_tensor *in = &graph->tensors.data[graph->accesses.data[stage->access_first].tensor];
  const struct work_tensor *out =
      &graph->tensors.data[graph->accesses.data[stage->access_first + stage->read_count].tensor];
  bool is_plain = stage->read_count == 1 && in->rank > 0 && in->rank == out->rank && stage->axis_count == in->rank;
  for (uint32_t d = 0; is_plain && d < in->rank; d++) {
    bool is_last = d + 1u == in->rank;
    is_plain = axes[d].extent == graph->dims.data[in->dims_first + d]
               && (is_last || axes[d].extent == graph->dims.data[out->dims_first + d]);
  }
  if (!is_plain) {
    return false;
  }
  axes[in->rank - 1].role = WORK_AXIS_REDUCTION;
  axes[stage->axis_count++] =
      (struct work_axis){.extent = graph->dims.data[out->dims_first + out->rank - 1u], .role = WORK_AXIS_PARALLEL};
  return true;
}

bool read_node_add(struct reader *reader, struct read_scope *scope, uint32_t task, const struct work_stage *stage,
                   enum plan_stage_kind kind) {
  const struct work_graph *graph = scope->graph;
  struct work_stage adapted = *stage;
  struct work_axis axes[READ_AXES_MAX];
  struct node_builder builder = {
      .reader = reader, .scope = scope, .task = task, .stage = &adapted, .axes = axes, .kind = kind};
  if (stage->axis_count >= READ_AXES_MAX) {
    read_refuse(reader, scope, task, "it has too many axes");
    return false;
  }
  for (uint32_t a = 0; a < stage->axis_count; a++) {
    axes[a] = graph->axes.data[stage->axis_first + a];
  }
  if (stage->kind == WORK_TOP_K && !adapt_top_k(graph, &adapted, axes)) {
    read_refuse(reader, scope, task, "it picks along another axis than the last");
    return false;
  }
  uint32_t view = add_result(&builder);
  if (view == 0) {
    return false;
  }
  for (uint32_t i = 0; i < stage->read_count; i++) {
    const struct work_access *access = &graph->accesses.data[stage->access_first + i];
    uint32_t operand = scope->bound[access->tensor];
    /* what is updated is not read, unless the rows are added to those that are there */
    bool is_written_only = is_update(stage->kind) && is_addressed(stage, i)
                           && (stage->op_count == 0 || read_value_of(reader, operand)->place != READ_MEMORY);
    if (operand == 0 || is_written_only) {
      continue;
    }
    if (!add_access(&builder, access, i, false, operand)) {
      return false;
    }
  }
  const struct work_access *write = &graph->accesses.data[stage->access_first + stage->read_count];
  if (!add_access(&builder, write, 0, true, view) || !finish(&builder)) {
    return false;
  }
  for (uint32_t i = stage->read_count; i < stage->access_count && !is_update(stage->kind); i++) {
    uint32_t tensor = graph->accesses.data[stage->access_first + i].tensor;
    scope->bound[tensor] = view;
    scope->is_bound[tensor] = true;
  }
  return true;
}
