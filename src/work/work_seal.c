/* Sealing: derives from a built graph who produces what, which task waits for which, demands and bytes, and how far apart
 * in traffic two touches of the same storage lie. Everything is linear in accesses. */
#include <string.h>

#include "base/checked.h"
#include "work/work_int.h"

/* A task that read a storage since it was last written, in a list per storage. */
struct seal_reader {
  uint32_t task;
  uint32_t next; /* index + 1 */
};

struct seal_state {
  struct work_graph *graph;
  uint32_t *roots; /* per tensor */
  uint32_t *readers; /* per root: list head, index + 1 */
  uint32_t *marked; /* per task + 1: the task that last listed it as a dependency */
  VEC(struct seal_reader) nodes;
};

static bool seal_depend(struct seal_state *state, uint32_t task, uint32_t producer) {
  if (producer == 0 || producer == task + 1 || state->marked[producer - 1] == task + 1) {
    return true;
  }
  state->marked[producer - 1] = task + 1;
  return vec_push(&state->graph->dependencies, producer - 1);
}

static int compare_u32(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static bool seal_task_links(struct seal_state *state, uint32_t index) {
  struct work_graph *graph = state->graph;
  struct work_task *task = &graph->tasks.data[index];
  const bool is_free = work_kind_info((enum work_kind)task->kind)->is_free;
  task->dependency_first = (uint32_t)graph->dependencies.count;
  bool ok = true;
  for (uint32_t i = 0; i < task->access_count && ok; i++) {
    uint32_t tensor = graph->accesses.data[task->access_first + i].tensor;
    struct work_tensor *info = &graph->tensors.data[tensor];
    uint32_t root = state->roots[tensor];
    info->is_materialised = true;
    if (i < task->read_count) {
      ok = seal_depend(state, index, info->producer)
           && vec_push(&state->nodes, ((struct seal_reader){index, state->readers[root]}));
      state->readers[root] = (uint32_t)state->nodes.count;
      continue;
    }
    info->producer = index + 1;
    if (is_free || root == tensor) {
      continue;
    }
    /* shared storage: what it held must be complete, and earlier readers done */
    ok = seal_depend(state, index, info->alias_of != 0 ? graph->tensors.data[info->alias_of - 1].producer : 0);
    for (uint32_t node = state->readers[root]; node != 0 && ok; node = state->nodes.data[node - 1].next) {
      ok = seal_depend(state, index, state->nodes.data[node - 1].task + 1);
    }
    state->readers[root] = 0;
  }
  task->dependency_count = (uint32_t)graph->dependencies.count - task->dependency_first;
  if (task->dependency_count > 1) {
    qsort(graph->dependencies.data + task->dependency_first, task->dependency_count, sizeof(uint32_t), compare_u32);
  }
  return ok;
}

static bool seal_links(struct work_graph *graph) {
  struct seal_state state = {.graph = graph};
  size_t tensors = graph->tensors.count, tasks = graph->tasks.count;
  uint32_t *scratch = calloc(2 * tensors + tasks + 1, sizeof *scratch);
  if (scratch == NULL) {
    return false;
  }
  state.roots = scratch;
  state.readers = scratch + tensors;
  state.marked = scratch + 2 * tensors;
  work_tensor_roots(graph, state.roots);
  vec_clear(&graph->dependencies);
  vec_clear(&graph->demands);
  bool ok = vec_reserve(&state.nodes, graph->accesses.count) && vec_reserve(&graph->demands, tasks);
  for (uint32_t i = 0; i < tasks && ok; i++) {
    ok = seal_task_links(&state, i) && work_demand_of(graph, i);
  }
  vec_release(&state.nodes);
  free(scratch);
  return ok;
}

static enum status seal_structure(struct work_graph *graph, unsigned depth) {
  if (depth > WORK_MAX_NESTING) {
    return STATUS_LIMIT;
  }
  for (size_t i = 0; i < graph->subgraphs.count; i++) {
    STATUS_TRY(seal_structure(graph->subgraphs.data[i], depth + 1));
  }
  return seal_links(graph) && !graph->out_of_memory ? STATUS_OK : STATUS_MEMORY;
}

/* ---- reuse distances ---- */

/* Only a storage that was touched as a whole is known to hold what an access wants: a slice of a stacked tensor says
 * nothing about the next slice. So the clock keeps per storage when it was last read or written completely, and accesses
 * that touch a part of it leave that alone.
 *
 * Whether a loop or branch touches the storages of its border as a whole is found first, from the inside out. The answer
 * waits in the `reuse_bytes` of the control task's border until its distances are known. */
enum seal_touch { SEAL_TOUCH_PART, SEAL_TOUCH_WHOLE };

static bool seal_is_whole(const struct work_graph *graph, const uint32_t *roots, const struct work_access *access) {
  return access->touched_elements > 0
         && work_access_bytes(graph, access) >= graph->tensors.data[roots[access->tensor]].size_bytes;
}

static enum status seal_whole_touches(struct work_graph *graph, bool **whole);

/* `whole`: per tensor of the subgraph, see seal_whole_touches. Of branches any may run, so that all have to touch it. */
static void seal_mark_border(struct work_graph *graph, const struct work_task *task, const struct work_graph *inside,
                             const bool *whole, bool is_first) {
  struct work_access *border = graph->accesses.data + task->access_first;
  for (uint32_t i = 0; i < task->access_count; i++) {
    bool is_read = i < task->read_count;
    uint32_t at = is_read ? i : i - task->read_count;
    uint32_t tensor = UINT32_MAX;
    if (at < (is_read ? inside->inputs.count : inside->outputs.count)) {
      tensor = is_read ? inside->inputs.data[at] : inside->outputs.data[at];
    }
    bool is_whole = tensor != UINT32_MAX && whole[tensor] && (is_first || border[i].reuse_bytes == SEAL_TOUCH_WHOLE);
    border[i].reuse_bytes = is_whole ? SEAL_TOUCH_WHOLE : SEAL_TOUCH_PART;
  }
}

static enum status seal_whole_inside(struct work_graph *graph, const struct work_task *task) {
  struct work_access *border = graph->accesses.data + task->access_first;
  for (uint32_t i = 0; i < task->access_count; i++) {
    border[i].reuse_bytes = SEAL_TOUCH_PART;
  }
  for (uint32_t i = 0; i < task->subgraph_count; i++) {
    struct work_graph *inside = graph->subgraphs.data[task->subgraph_first + i];
    bool *whole = NULL;
    enum status status = seal_whole_touches(inside, &whole);
    if (status == STATUS_OK) {
      seal_mark_border(graph, task, inside, whole, i == 0);
    }
    free(whole);
    STATUS_TRY(status);
  }
  return STATUS_OK;
}

/* Per tensor: one run of the graph touches all of its storage at once. What an iteration leaves in a carried tensor is what
 * the next one finds, so its input counts by that. The caller frees. */
static enum status seal_whole_touches(struct work_graph *graph, bool **whole) {
  size_t tensors = graph->tensors.count;
  uint32_t *roots = malloc((tensors + 1) * sizeof *roots);
  bool *marks = calloc(tensors + 1, sizeof *marks);
  *whole = marks;
  enum status status = roots != NULL && marks != NULL ? STATUS_OK : STATUS_MEMORY;
  if (status == STATUS_OK) {
    work_tensor_roots(graph, roots);
  }
  for (size_t t = 0; t < graph->tasks.count && status == STATUS_OK; t++) {
    const struct work_task *task = &graph->tasks.data[t];
    const struct work_access *border = graph->accesses.data + task->access_first;
    bool is_control = work_task_is_control(task);
    if (is_control) {
      status = seal_whole_inside(graph, task);
    } else if (work_kind_info((enum work_kind)task->kind)->is_free) {
      continue;
    }
    for (uint32_t i = 0; i < task->access_count; i++) {
      bool is_whole = is_control ? border[i].reuse_bytes == SEAL_TOUCH_WHOLE : seal_is_whole(graph, roots, &border[i]);
      marks[roots[border[i].tensor]] |= is_whole;
    }
  }
  if (status == STATUS_OK) {
    for (size_t t = 0; t < tensors; t++) {
      marks[t] = marks[roots[t]];
    }
    for (size_t i = 0; i < graph->carried.count; i++) {
      marks[graph->carried.data[i].in] = marks[roots[graph->carried.data[i].out]];
    }
  }
  free(roots);
  return status;
}

static enum status seal_reuse(struct work_graph *graph, const uint64_t *input_distance);

/* Clock of bytes touched; starts high so that a distance "before the graph began" is a smaller clock value. */
#define SEAL_CLOCK_START ((uint64_t)1 << 62)

struct seal_clock {
  const uint32_t *roots;
  uint64_t *touched_at; /* per root: clock after it was last touched as a whole; 0 = never */
  uint64_t now;
};

/* Of a part it is not known when in the course of the last whole touch it came up: at worst at its beginning. */
static uint64_t seal_distance(const struct seal_clock *clock, uint32_t root, uint64_t size_bytes,
                              uint64_t touched_bytes) {
  uint64_t at = clock->touched_at[root];
  if (at == 0) {
    return UINT64_MAX;
  }
  return sat_add_u64(clock->now - at, size_bytes > touched_bytes ? size_bytes - touched_bytes : 0);
}

/* A loop body is looked at once, in its steady state: an input of the body (carried or invariant) that the body touches as
 * a whole was so touched one iteration ago, which is at most the bytes of a whole iteration; the bytes between its last
 * touch and the end of the iteration are not subtracted, so the distance is an upper bound. Inputs of which an iteration
 * takes a slice are cold every time. A branch continues the distances of its conditional. */
static enum status seal_reuse_inside(struct work_graph *graph, const struct work_task *task,
                                     const struct seal_clock *clock) {
  uint64_t *distance = malloc((task->read_count + 1u) * sizeof *distance);
  if (distance == NULL) {
    return STATUS_MEMORY;
  }
  const struct work_access *border = graph->accesses.data + task->access_first;
  for (uint32_t i = 0; i < task->read_count; i++) {
    uint64_t at = clock->touched_at[clock->roots[border[i].tensor]];
    distance[i] = at == 0 ? UINT64_MAX : clock->now - at;
  }
  enum status status = STATUS_OK;
  for (uint32_t i = 0; i < task->subgraph_count && status == STATUS_OK; i++) {
    struct work_graph *inside = graph->subgraphs.data[task->subgraph_first + i];
    if (task->kind == WORK_LOOP) {
      uint64_t iteration = 0;
      for (size_t k = 0; k < inside->tasks.count; k++) {
        iteration = sat_add_u64(iteration, work_task_traffic(inside, &inside->tasks.data[k]));
      }
      for (uint32_t k = 0; k < task->read_count; k++) {
        distance[k] = border[k].reuse_bytes == SEAL_TOUCH_WHOLE ? iteration : UINT64_MAX;
      }
    }
    bool fits = inside->inputs.count <= task->read_count;
    status = seal_reuse(inside, fits ? distance : NULL);
  }
  free(distance);
  return status;
}

static enum status seal_reuse_control(struct work_graph *graph, struct work_task *task, struct seal_clock *clock) {
  struct work_access *border = graph->accesses.data + task->access_first;
  STATUS_TRY(seal_reuse_inside(graph, task, clock));
  uint64_t end = sat_add_u64(clock->now, work_task_traffic(graph, task));
  for (uint32_t i = 0; i < task->access_count; i++) {
    bool is_whole = border[i].reuse_bytes == SEAL_TOUCH_WHOLE;
    uint32_t root = clock->roots[border[i].tensor];
    border[i].reuse_bytes =
        seal_distance(clock, root, graph->tensors.data[root].size_bytes, work_access_bytes(graph, &border[i]));
    if (is_whole) {
      clock->touched_at[root] = end;
    }
  }
  clock->now = end;
  return STATUS_OK;
}

static enum status seal_reuse_task(struct work_graph *graph, struct work_task *task, struct seal_clock *clock) {
  if (work_task_is_control(task)) {
    return seal_reuse_control(graph, task, clock);
  }
  struct work_access *border = graph->accesses.data + task->access_first;
  bool is_free = work_kind_info((enum work_kind)task->kind)->is_free;
  for (uint32_t i = 0; i < task->access_count; i++) {
    uint32_t root = clock->roots[border[i].tensor];
    uint64_t size_bytes = graph->tensors.data[root].size_bytes, touched_bytes = work_access_bytes(graph, &border[i]);
    border[i].reuse_bytes = seal_distance(clock, root, size_bytes, touched_bytes);
    if (is_free) {
      continue;
    }
    clock->now = sat_add_u64(clock->now, touched_bytes);
    if (touched_bytes >= size_bytes && touched_bytes > 0) {
      clock->touched_at[root] = clock->now;
    }
  }
  return STATUS_OK;
}

static enum status seal_reuse(struct work_graph *graph, const uint64_t *input_distance) {
  size_t tensors = graph->tensors.count;
  uint32_t *roots = malloc((tensors + 1) * sizeof *roots);
  uint64_t *touched_at = calloc(tensors + 1, sizeof *touched_at);
  enum status status = roots != NULL && touched_at != NULL ? STATUS_OK : STATUS_MEMORY;
  if (status == STATUS_OK) {
    struct seal_clock clock = {roots, touched_at, SEAL_CLOCK_START};
    work_tensor_roots(graph, roots);
    for (size_t i = 0; input_distance != NULL && i < graph->inputs.count; i++) {
      if (input_distance[i] < SEAL_CLOCK_START) {
        touched_at[roots[graph->inputs.data[i]]] = SEAL_CLOCK_START - input_distance[i];
      }
    }
    for (size_t i = 0; i < graph->tasks.count && status == STATUS_OK; i++) {
      status = seal_reuse_task(graph, &graph->tasks.data[i], &clock);
    }
  }
  free(roots);
  free(touched_at);
  return status;
}

static enum status seal_distances(struct work_graph *graph) {
  for (size_t t = 0; t < graph->tasks.count && graph->subgraphs.count > 0; t++) {
    if (work_task_is_control(&graph->tasks.data[t])) {
      STATUS_TRY(seal_whole_inside(graph, &graph->tasks.data[t]));
    }
  }
  return seal_reuse(graph, NULL);
}

enum status work_graph_seal(struct work_graph *graph) {
  STATUS_TRY(seal_structure(graph, 0));
  STATUS_TRY(seal_distances(graph));
  STATUS_TRY(work_graph_sort_alike(graph));
  return work_graph_memory(graph, &graph->memory);
}
