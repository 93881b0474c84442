/* Building work graphs: allocation, and the calls that append tensors, stages, tasks and subgraphs. */
#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "work/work_int.h"

struct work_graph *work_graph_new(void) {
  struct work_graph *graph = calloc(1, sizeof *graph);
  struct arena *arena = malloc(sizeof *arena);
  struct intern *strings = malloc(sizeof *strings);
  if (graph == NULL || arena == NULL || strings == NULL) {
    free(graph);
    free(arena);
    free(strings);
    return NULL;
  }
  arena_init(arena, 0);
  if (!intern_init(strings, arena)) {
    arena_release(arena);
    free(graph);
    free(arena);
    free(strings);
    return NULL;
  }
  graph->arena = arena;
  graph->strings = strings;
  graph->is_outermost = true;
  return graph;
}

struct work_graph *work_graph_new_inside(struct work_graph *parent) {
  struct work_graph *graph = calloc(1, sizeof *graph);
  if (graph != NULL) {
    graph->arena = parent->arena;
    graph->strings = parent->strings;
  }
  return graph;
}

void work_graph_free(struct work_graph *graph) {
  if (graph == NULL) {
    return;
  }
  for (size_t i = 0; i < graph->subgraphs.count; i++) {
    work_graph_free(graph->subgraphs.data[i]);
  }
  vec_release(&graph->tasks);
  vec_release(&graph->stages);
  vec_release(&graph->axes);
  vec_release(&graph->ops);
  vec_release(&graph->accesses);
  vec_release(&graph->maps);
  vec_release(&graph->tensors);
  vec_release(&graph->dims);
  vec_release(&graph->dependencies);
  vec_release(&graph->demands);
  vec_release(&graph->collectives);
  vec_release(&graph->groups);
  vec_release(&graph->members);
  vec_release(&graph->subgraphs);
  vec_release(&graph->inputs);
  vec_release(&graph->outputs);
  vec_release(&graph->carried);
  if (graph->is_outermost) {
    intern_release(graph->strings);
    arena_release(graph->arena);
    free(graph->strings);
    free(graph->arena);
  }
  free(graph);
}

/* Room for `count` more entries of `vec`; sets out_of_memory and returns 0 from the caller when there is none. */
#define ROOM_OR_FAIL(graph, vec, more)                                                                                 \
  do {                                                                                                                 \
    if (!vec_reserve((vec), (vec)->count + (more))) {                                                                  \
      (graph)->out_of_memory = true;                                                                                   \
      return 0;                                                                                                        \
    }                                                                                                                  \
  } while (0)

uint32_t work_tensor_add(struct work_graph *graph, enum dtype dtype, const int64_t *dims, uint32_t rank,
                         enum work_tensor_role role) {
  assert(rank <= UINT8_MAX);
  ROOM_OR_FAIL(graph, &graph->tensors, 1);
  ROOM_OR_FAIL(graph, &graph->dims, rank);
  struct work_tensor tensor = {
      .dtype = (uint8_t)dtype,
      .rank = (uint8_t)rank,
      .role = (uint8_t)role,
      .dims_first = (uint32_t)graph->dims.count,
      .element_count = 1,
  };
  bool is_empty = false;
  for (uint32_t i = 0; i < rank; i++) {
    graph->dims.data[graph->dims.count++] = dims[i];
    uint64_t extent = dims[i] > 0 ? (uint64_t)dims[i] : 0;
    is_empty |= extent == 0;
    tensor.element_count = sat_mul_u64(tensor.element_count, extent);
  }
  if (is_empty) {
    tensor.element_count = 0;
  }
  tensor.size_bytes = dtype_size_bytes(dtype, tensor.element_count);
  graph->tensors.data[graph->tensors.count++] = tensor;
  return (uint32_t)(graph->tensors.count - 1);
}

static uint32_t stage_add_accesses(struct work_graph *graph, const struct work_access *accesses,
                                   const int16_t *const *maps, uint32_t access_count) {
  ROOM_OR_FAIL(graph, &graph->accesses, access_count);
  for (uint32_t i = 0; i < access_count; i++) {
    struct work_access access = accesses[i];
    access.map_first = (uint32_t)graph->maps.count;
    access.map_count = 0;
    if (maps != NULL && maps[i] != NULL) {
      uint32_t rank = graph->tensors.data[access.tensor].rank;
      ROOM_OR_FAIL(graph, &graph->maps, rank);
      if (rank > 0) {
        memcpy(graph->maps.data + graph->maps.count, maps[i], rank * sizeof *maps[i]);
      }
      graph->maps.count += rank;
      access.map_count = (uint8_t)rank;
    }
    graph->accesses.data[graph->accesses.count++] = access;
  }
  return 1;
}

uint32_t work_stage_add(struct work_graph *graph, const struct work_stage *stage, const struct work_axis *axes,
                        uint32_t axis_count, const struct work_op *ops, uint32_t op_count,
                        const struct work_access *accesses, const int16_t *const *maps, uint32_t access_count) {
  ROOM_OR_FAIL(graph, &graph->stages, 1);
  ROOM_OR_FAIL(graph, &graph->axes, axis_count);
  ROOM_OR_FAIL(graph, &graph->ops, op_count);
  struct work_stage added = *stage;
  added.axis_first = (uint32_t)graph->axes.count;
  added.axis_count = axis_count;
  added.op_first = (uint32_t)graph->ops.count;
  added.op_count = op_count;
  added.access_first = (uint32_t)graph->accesses.count;
  added.access_count = access_count;
  if (access_count > 0 && stage_add_accesses(graph, accesses, maps, access_count) == 0) {
    return 0;
  }
  for (uint32_t i = 0; i < axis_count; i++) {
    graph->axes.data[graph->axes.count++] = axes[i];
  }
  for (uint32_t i = 0; i < op_count; i++) {
    graph->ops.data[graph->ops.count++] = ops[i];
  }
  graph->stages.data[graph->stages.count++] = added;
  return (uint32_t)(graph->stages.count - 1);
}

uint32_t work_task_add(struct work_graph *graph, const struct work_task *task, const struct work_access *border,
                       uint32_t border_count) {
  ROOM_OR_FAIL(graph, &graph->tasks, 1);
  ROOM_OR_FAIL(graph, &graph->accesses, border_count);
  struct work_task added = *task;
  added.stage_first = graph->stages_in_tasks;
  added.stage_count = (uint32_t)graph->stages.count - graph->stages_in_tasks;
  graph->stages_in_tasks = (uint32_t)graph->stages.count;
  added.access_first = (uint32_t)graph->accesses.count;
  added.access_count = border_count;
  for (uint32_t i = 0; i < border_count; i++) {
    graph->accesses.data[graph->accesses.count] = border[i];
    graph->accesses.data[graph->accesses.count].map_count = 0;
    graph->accesses.count++;
  }
  graph->tasks.data[graph->tasks.count++] = added;
  return (uint32_t)(graph->tasks.count - 1);
}

uint32_t work_groups_add(struct work_graph *graph, uint32_t count, uint32_t size, const uint32_t *members,
                         uint32_t member_count) {
  for (size_t i = graph->groups.count; i-- > 0;) {
    const struct work_groups *groups = &graph->groups.data[i];
    if (groups->count == count && groups->size == size && groups->member_count == member_count
        && (member_count == 0
            || memcmp(graph->members.data + groups->member_first, members, member_count * sizeof *members) == 0)) {
      return (uint32_t)i + 1;
    }
  }
  struct work_groups groups = {count, size, (uint32_t)graph->members.count, member_count};
  if (!vec_reserve(&graph->members, graph->members.count + member_count) || !vec_push(&graph->groups, groups)) {
    graph->out_of_memory = true;
    return 0;
  }
  for (uint32_t i = 0; i < member_count; i++) {
    graph->members.data[graph->members.count++] = members[i];
  }
  return (uint32_t)graph->groups.count;
}

uint32_t work_subgraph_attach(struct work_graph *graph, struct work_graph *subgraph) {
  if (!vec_reserve(&graph->subgraphs, graph->subgraphs.count + 1)) {
    graph->out_of_memory = true;
    work_graph_free(subgraph);
    return 0;
  }
  graph->subgraphs.data[graph->subgraphs.count++] = subgraph;
  return (uint32_t)(graph->subgraphs.count - 1);
}

uint32_t work_tensor_root(const struct work_graph *graph, uint32_t tensor) {
  /* Chains are acyclic by construction (an alias is of an earlier tensor, the verifier checks); the bound keeps an
   * unverified graph from looping. */
  for (size_t steps = graph->tensors.count; graph->tensors.data[tensor].alias_of != 0 && steps > 0; steps--) {
    tensor = graph->tensors.data[tensor].alias_of - 1;
  }
  return tensor;
}

uint64_t work_access_bytes(const struct work_graph *graph, const struct work_access *access) {
  return dtype_size_bytes((enum dtype)graph->tensors.data[access->tensor].dtype, access->touched_elements);
}

void work_tensor_roots(const struct work_graph *graph, uint32_t *roots) {
  for (uint32_t i = 0; i < graph->tensors.count; i++) {
    uint32_t alias = graph->tensors.data[i].alias_of;
    if (alias == 0) {
      roots[i] = i;
    } else {
      roots[i] = alias - 1 < i ? roots[alias - 1] : work_tensor_root(graph, i);
    }
  }
}
