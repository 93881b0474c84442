/* Sorts of tasks: which tasks of a graph no cost model can tell apart. The last step of sealing. A hash table over what
 * models look at; tasks of equal hash are compared field by field, so that equal numbers mean equal tasks. */
#include <string.h>

#include "work/work_int.h"

struct alike_slot {
  uint32_t hash;
  uint32_t task; /* first task of the sort + 1; 0 = empty */
};

struct alike_table {
  const struct work_graph *graph;
  struct alike_slot *slots; /* open addressing */
  uint32_t mask; /* slots - 1, a power of two - 1 */
};

static uint64_t near_distance(uint64_t bytes) {
  return bytes < WORK_ALIKE_FAR_BYTES ? bytes : WORK_ALIKE_FAR_BYTES;
}

/* Accesses by index are priced by rows of the last dimension; to others dimensions do not matter. */
static int64_t row_extent(const struct work_graph *graph, const struct work_access *access) {
  const struct work_tensor *tensor = &graph->tensors.data[access->tensor];
  bool matters = (access->flags & WORK_ACCESS_INDEXED) != 0 && tensor->rank > 0;
  return matters ? graph->dims.data[tensor->dims_first + tensor->rank - 1] : 1;
}

static bool has_matrix_operation(const struct work_graph *graph, const struct work_stage *stage) {
  for (uint32_t i = 0; i < stage->op_count; i++) {
    if (graph->ops.data[stage->op_first + i].engine == WORK_ENGINE_MATRIX) {
      return true;
    }
  }
  return false;
}

static bool has_matrix_demand(const struct work_graph *graph, const struct work_task *task) {
  for (uint32_t i = 0; i < task->demand_count; i++) {
    if (graph->demands.data[task->demand_first + i].engine == WORK_ENGINE_MATRIX) {
      return true;
    }
  }
  return false;
}

/* Leaves out what rarely differs when the rest is equal: the comparison looks at everything. */
static uint32_t task_hash(const struct work_graph *graph, const struct work_task *task) {
  uint64_t hash = hash_mix(task->kind, (uint64_t)task->access_count << 32 | task->demand_count);
  for (uint32_t i = 0; i < task->demand_count; i++) {
    hash = hash_mix(hash, graph->demands.data[task->demand_first + i].ops);
  }
  for (uint32_t i = 0; i < task->access_count; i++) {
    const struct work_access *access = &graph->accesses.data[task->access_first + i];
    hash = hash_mix(hash_mix(hash, access->touched_elements), near_distance(access->reuse_bytes));
  }
  return (uint32_t)hash;
}

static bool demands_equal(const struct work_graph *graph, const struct work_task *a, const struct work_task *b) {
  for (uint32_t i = 0; i < a->demand_count; i++) {
    const struct work_demand_entry *x = &graph->demands.data[a->demand_first + i];
    const struct work_demand_entry *y = &graph->demands.data[b->demand_first + i];
    if (x->ops != y->ops || x->engine != y->engine || x->dtype != y->dtype || x->function != y->function
        || x->precision != y->precision) {
      return false;
    }
  }
  return true;
}

static bool borders_equal(const struct work_graph *graph, const struct work_task *a, const struct work_task *b) {
  for (uint32_t i = 0; i < a->access_count; i++) {
    const struct work_access *x = &graph->accesses.data[a->access_first + i];
    const struct work_access *y = &graph->accesses.data[b->access_first + i];
    const struct work_tensor *t = &graph->tensors.data[x->tensor], *u = &graph->tensors.data[y->tensor];
    if (x->touched_elements != y->touched_elements || near_distance(x->reuse_bytes) != near_distance(y->reuse_bytes)
        || x->flags != y->flags || t->dtype != u->dtype || t->rank != u->rank || t->size_bytes != u->size_bytes
        || row_extent(graph, x) != row_extent(graph, y)) {
      return false;
    }
  }
  return true;
}

static bool stages_equal(const struct work_graph *graph, const struct work_stage *a, const struct work_stage *b) {
  if (a->kind != b->kind || a->precision != b->precision || a->applications != b->applications
      || a->axis_count != b->axis_count || a->op_count != b->op_count) {
    return false;
  }
  for (uint32_t i = 0; i < a->axis_count; i++) {
    const struct work_axis *x = &graph->axes.data[a->axis_first + i], *y = &graph->axes.data[b->axis_first + i];
    if (x->extent != y->extent || x->role != y->role || x->partner != y->partner || x->hits != y->hits) {
      return false;
    }
  }
  for (uint32_t i = 0; i < a->op_count; i++) {
    const struct work_op *x = &graph->ops.data[a->op_first + i], *y = &graph->ops.data[b->op_first + i];
    if (x->engine != y->engine || x->dtype != y->dtype || x->function != y->function || x->count != y->count) {
      return false;
    }
  }
  return true;
}

/* Stages without matrix operations show only in the demand. */
static bool matrix_stages_equal(const struct work_graph *graph, const struct work_task *a, const struct work_task *b) {
  uint32_t i = 0, k = 0;
  for (;;) {
    while (i < a->stage_count && !has_matrix_operation(graph, &graph->stages.data[a->stage_first + i])) {
      i++;
    }
    while (k < b->stage_count && !has_matrix_operation(graph, &graph->stages.data[b->stage_first + k])) {
      k++;
    }
    if (i == a->stage_count || k == b->stage_count) {
      return i == a->stage_count && k == b->stage_count;
    }
    if (!stages_equal(graph, &graph->stages.data[a->stage_first + i++], &graph->stages.data[b->stage_first + k++])) {
      return false;
    }
  }
}

static bool collectives_equal(const struct work_graph *graph, const struct work_task *a, const struct work_task *b) {
  if (a->collective == 0 || b->collective == 0) {
    return a->collective == b->collective;
  }
  const struct work_collective *x = &graph->collectives.data[a->collective - 1];
  const struct work_collective *y = &graph->collectives.data[b->collective - 1];
  return x->kind == y->kind && x->flags == y->flags && x->reduction == y->reduction && x->group_count == y->group_count
         && x->group_size == y->group_size && x->groups == y->groups && x->bytes_per_rank == y->bytes_per_rank
         && x->input_bytes == y->input_bytes && x->output_bytes == y->output_bytes;
}

static bool tasks_equal(const struct work_graph *graph, const struct work_task *a, const struct work_task *b) {
  return a->kind == b->kind && a->flags == b->flags && a->read_count == b->read_count
         && a->access_count == b->access_count && a->demand_count == b->demand_count && !work_task_is_control(a)
         && collectives_equal(graph, a, b) && demands_equal(graph, a, b) && borders_equal(graph, a, b)
         && (!has_matrix_demand(graph, a) || matrix_stages_equal(graph, a, b));
}

/* The first task that is like this one, or the task itself. It then stands in the table, unless too many others with the
 * same hash do: programs made to collide cost linear time and find fewer tasks alike. */
static uint32_t find_first(struct alike_table *table, uint32_t index) {
  enum { MAX_STEPS = 64 };
  const struct work_graph *graph = table->graph;
  const struct work_task *task = &graph->tasks.data[index];
  uint32_t hash = task_hash(graph, task), at = hash & table->mask;
  for (unsigned step = 0; step < MAX_STEPS; step++, at = (at + 1) & table->mask) {
    struct alike_slot *slot = &table->slots[at];
    if (slot->task == 0) {
      *slot = (struct alike_slot){hash, index + 1};
      return index;
    }
    if (slot->hash == hash && tasks_equal(graph, task, &graph->tasks.data[slot->task - 1])) {
      return slot->task - 1;
    }
  }
  return index;
}

enum status work_graph_sort_alike(struct work_graph *graph) {
  for (size_t i = 0; i < graph->subgraphs.count; i++) {
    STATUS_TRY(work_graph_sort_alike(graph->subgraphs.data[i])); /* as deep as seal_structure allowed */
  }
  size_t size = 16;
  while (size < 2 * graph->tasks.count) { /* at most half full */
    size *= 2;
  }
  struct alike_table table = {graph, calloc(size, sizeof *table.slots), (uint32_t)(size - 1)};
  if (table.slots == NULL) {
    return STATUS_MEMORY;
  }
  graph->alike_count = 0;
  for (uint32_t i = 0; i < graph->tasks.count; i++) {
    uint32_t first = find_first(&table, i);
    graph->tasks.data[i].alike = first == i ? graph->alike_count++ : graph->tasks.data[first].alike;
  }
  free(table.slots);
  return STATUS_OK;
}
