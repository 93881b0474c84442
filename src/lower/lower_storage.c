/* Shared storage. A partial update (dynamic_update_slice, scatter) writes into its operand when no one reads the operand
 * afterwards and its storage may be overwritten; otherwise it copies the whole tensor. Donated arguments and carried
 * tensors of loops give their storage to the result that takes their place. Decided per graph once it is complete, because
 * only then the last use of a tensor is known. */
#include <string.h>

#include "lower/lower_ops.h"

struct storage {
  struct work_graph *graph;
  uint32_t *roots; /* per tensor, as of storage_init */
  uint32_t *last_read; /* per root: task + 1 */
  uint32_t *last_access; /* per root: task + 1, writes included */
  uint32_t *writer; /* per tensor: task + 1 */
  uint32_t *input_number; /* per tensor: number of the input + 1 */
  bool *is_output; /* per root */
  bool *is_taken; /* per root: given to a result */
};

/* With room for `more` tensors that are added later. */
static bool storage_init(struct storage *storage, struct work_graph *graph, size_t more) {
  memset(storage, 0, sizeof *storage);
  size_t n = graph->tensors.count + more + 1;
  uint32_t *words = calloc(5 * n, sizeof *words);
  bool *flags = calloc(2 * n, sizeof *flags);
  storage->graph = graph;
  storage->roots = words;
  storage->is_output = flags;
  if (words == NULL || flags == NULL) {
    return false;
  }
  storage->last_read = words + n;
  storage->last_access = words + 2 * n;
  storage->writer = words + 3 * n;
  storage->input_number = words + 4 * n;
  storage->is_taken = flags + n;
  for (uint32_t i = 0; i < graph->tensors.count; i++) {
    uint32_t alias = graph->tensors.data[i].alias_of;
    storage->roots[i] = alias != 0 && alias - 1 < i ? storage->roots[alias - 1] : work_tensor_root(graph, i);
    storage->is_output[storage->roots[i]] |= graph->tensors.data[i].is_output;
  }
  for (uint32_t i = 0; i < graph->inputs.count; i++) {
    storage->input_number[graph->inputs.data[i]] = i + 1;
  }
  for (uint32_t t = 0; t < graph->tasks.count; t++) {
    const struct work_task *task = &graph->tasks.data[t];
    for (uint32_t i = 0; i < task->access_count; i++) {
      uint32_t tensor = graph->accesses.data[task->access_first + i].tensor;
      storage->last_access[storage->roots[tensor]] = t + 1;
      if (i < task->read_count) {
        storage->last_read[storage->roots[tensor]] = t + 1;
      } else {
        storage->writer[tensor] = t + 1;
      }
    }
  }
  return true;
}

static void storage_release(struct storage *storage) {
  free(storage->roots);
  free(storage->is_output);
}

/* Calls for every access of a task, its stages' and its border's, to `tensor` in the given direction. */
static void storage_mark(struct work_graph *graph, const struct work_task *task, uint32_t tensor, bool is_write,
                         bool is_whole, unsigned set_flags) {
  for (uint32_t s = 0; s <= task->stage_count; s++) {
    uint32_t first = task->access_first, count = task->access_count;
    if (s < task->stage_count) {
      first = graph->stages.data[task->stage_first + s].access_first;
      count = graph->stages.data[task->stage_first + s].access_count;
    }
    for (uint32_t i = 0; i < count; i++) {
      struct work_access *access = &graph->accesses.data[first + i];
      if (access->tensor != tensor || ((access->flags & WORK_ACCESS_WRITE) != 0) != is_write) {
        continue;
      }
      if (is_whole) {
        access->touched_elements = graph->tensors.data[tensor].element_count;
        access->flags &= (uint8_t) ~(WORK_ACCESS_PARTIAL | WORK_ACCESS_INDEXED);
      }
      access->flags |= (uint8_t)set_flags;
    }
  }
}

static uint32_t border_reads(const struct storage *storage, const struct work_task *task, uint32_t root) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < task->read_count; i++) {
    count += storage->roots[storage->graph->accesses.data[task->access_first + i].tensor] == root;
  }
  return count;
}

static bool border_has(const struct work_graph *graph, const struct work_task *task, uint32_t tensor) {
  for (uint32_t i = 0; i < task->access_count; i++) {
    if (graph->accesses.data[task->access_first + i].tensor == tensor) {
      return true;
    }
  }
  return false;
}

static bool update_may_share(const struct storage *storage, const struct lower_update *update, const bool *reusable) {
  const struct work_graph *graph = storage->graph;
  const struct work_task *task = &graph->tasks.data[update->task];
  const uint32_t root = storage->roots[update->operand], input = storage->input_number[root];
  const struct work_tensor *owner = &graph->tensors.data[root];
  if (storage->last_read[root] > update->task + 1 || storage->is_output[root] || storage->is_taken[root]
      || graph->tensors.data[update->operand].size_bytes != graph->tensors.data[update->result].size_bytes) {
    return false;
  }
  if (update->border_read != LOWER_NONE
          ? border_reads(storage, task, root) != 1
          : !border_has(graph, task, update->operand) || !border_has(graph, task, update->result)) {
    return false;
  }
  switch (owner->role) {
  case WORK_TENSOR_INTERMEDIATE:
    return true;
  case WORK_TENSOR_INPUT:
    return reusable != NULL && input != 0 ? reusable[input - 1] : owner->is_donated;
  default:
    return false;
  }
}

static void note_overwritten(const struct storage *storage, uint32_t tensor, bool *overwritten) {
  uint32_t input = storage->input_number[work_tensor_root(storage->graph, tensor)];
  if (overwritten != NULL && input != 0) {
    overwritten[input - 1] = true;
  }
}

uint32_t lower_storage_copy(struct lower *lower, struct work_graph *graph, uint32_t tensor) {
  const struct work_tensor old = graph->tensors.data[tensor];
  int64_t dims[UINT8_MAX] = {0};
  if (old.rank > 0) {
    memcpy(dims, graph->dims.data + old.dims_first, old.rank * sizeof *dims);
  }
  uint32_t copy = work_tensor_add(graph, (enum dtype)old.dtype, dims, old.rank, WORK_TENSOR_INTERMEDIATE);
  struct work_axis axes[LOWER_MAX_RANK];
  for (uint32_t i = 0; i < old.rank; i++) {
    axes[i] = (struct work_axis){.extent = dims[i], .role = WORK_AXIS_PARALLEL};
  }
  uint32_t label = intern_add_cstr(graph->strings, "copy");
  struct work_stage stage = {
      .kind = WORK_COPY, .dtype = old.dtype, .read_count = 1, .label = label == UINT32_MAX ? 0 : label};
  struct work_access accesses[2] = {
      {.tensor = tensor, .touched_elements = old.element_count},
      {.tensor = copy, .touched_elements = old.element_count, .flags = WORK_ACCESS_WRITE}};
  const int16_t *maps[2] = {lower_identity, lower_identity};
  if (graph->out_of_memory) {
    lower_memory(lower);
    return LOWER_NONE;
  }
  work_stage_add(graph, &stage, axes, old.rank, NULL, 0, accesses, maps, 2);
  work_task_add(graph, &(struct work_task){.kind = WORK_COPY, .read_count = 1, .label = stage.label}, accesses, 2);
  lower->task_count++;
  if (graph->out_of_memory) {
    lower_memory(lower);
    return LOWER_NONE;
  }
  return copy;
}

struct storage_insert {
  uint32_t before, task;
};

/* Puts tasks that were appended in front of the ones that need them. `inserts` is ascending in `before`. */
static bool storage_reorder(struct work_graph *graph, const struct storage_insert *inserts, size_t count) {
  struct work_task *ordered = malloc(graph->tasks.count * sizeof *ordered);
  if (ordered == NULL) {
    return false;
  }
  size_t original = graph->tasks.count - count, next = 0, at = 0;
  for (size_t t = 0; t < original; t++) {
    for (; next < count && inserts[next].before == t; next++) {
      ordered[at++] = graph->tasks.data[inserts[next].task];
    }
    ordered[at++] = graph->tasks.data[t];
  }
  memcpy(graph->tasks.data, ordered, graph->tasks.count * sizeof *ordered);
  free(ordered);
  return true;
}

void lower_storage_updates(struct lower *lower, struct lower_scope *scope, const bool *reusable, bool *overwritten) {
  struct work_graph *graph = scope->graph;
  struct storage storage;
  if (scope->updates.count == 0) {
    return;
  }
  VEC(struct storage_insert) inserts = {0};
  bool ok = storage_init(&storage, graph, scope->updates.count); /* each may need a copy */
  for (size_t i = 0; i < scope->updates.count && ok && !lower_stopped(lower); i++) {
    const struct lower_update *update = &scope->updates.data[i];
    if (update->task >= graph->tasks.count) {
      continue; /* a fusion whose task never came */
    }
    const bool is_loop = update->border_read != LOWER_NONE;
    if (update_may_share(&storage, update, reusable)) {
      graph->tensors.data[update->result].alias_of = update->operand + 1;
      storage.is_taken[storage.roots[update->operand]] = true;
      storage_mark(graph, &graph->tasks.data[update->task], update->result, true, false, WORK_ACCESS_IN_PLACE);
      note_overwritten(&storage, update->result, overwritten);
    } else if (!is_loop) {
      storage_mark(graph, &graph->tasks.data[update->task], update->operand, false, true, 0);
      storage_mark(graph, &graph->tasks.data[update->task], update->result, true, true, 0);
    } else if (update->body_overwrites) {
      uint32_t copy = lower_storage_copy(lower, graph, update->operand);
      if (lower_stopped(lower)) {
        break;
      }
      struct work_task *loop = &graph->tasks.data[update->task];
      graph->accesses.data[loop->access_first + update->border_read].tensor = copy;
      graph->tensors.data[update->result].alias_of = copy + 1;
      ok = vec_push(&inserts, ((struct storage_insert){update->task, (uint32_t)graph->tasks.count - 1}));
    }
  }
  if (ok && inserts.count > 0) {
    ok = storage_reorder(graph, inserts.data, inserts.count);
  }
  if (!ok) {
    lower_memory(lower);
  }
  vec_clear(&scope->updates);
  vec_release(&inserts);
  storage_release(&storage);
}

/* True when `task` may write its result over `input`, which it reads: every element is read where it is written. */
static bool may_write_over(const struct work_graph *graph, uint32_t task_index, uint32_t input) {
  const struct work_task *task = &graph->tasks.data[task_index];
  if (task->kind != WORK_ELEMENTWISE || task->stage_count != 1) {
    return false;
  }
  const struct work_stage *stage = &graph->stages.data[task->stage_first];
  for (uint32_t i = 0; i < stage->read_count; i++) {
    const struct work_access *access = &graph->accesses.data[stage->access_first + i];
    if (access->tensor == input && access->map_count != graph->tensors.data[input].rank) {
      return false;
    }
  }
  return true;
}

static bool pair_may_share(const struct storage *storage, uint32_t in, uint32_t owner, uint64_t min_bytes) {
  const struct work_graph *graph = storage->graph;
  const struct work_tensor *from = &graph->tensors.data[in], *to = &graph->tensors.data[owner];
  if (to->role != WORK_TENSOR_INTERMEDIATE || to->size_bytes != from->size_bytes || to->size_bytes < min_bytes
      || storage->writer[owner] == 0 || storage->is_output[in]) {
    return false;
  }
  uint32_t last = storage->last_access[in], writer = storage->writer[owner];
  return last < writer || (last == writer && may_write_over(graph, writer - 1, in));
}

void lower_storage_pairs(struct lower *lower, struct work_graph *graph, const struct work_carried *pairs, size_t count,
                         uint64_t min_bytes, bool *overwritten) {
  struct storage storage;
  if (count == 0 || lower_stopped(lower)) {
    return;
  }
  if (!storage_init(&storage, graph, 0)) {
    storage_release(&storage);
    lower_memory(lower);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    uint32_t in = pairs[i].in, owner = work_tensor_root(graph, pairs[i].out);
    if (owner == in || !pair_may_share(&storage, in, owner, min_bytes)) {
      continue;
    }
    graph->tensors.data[owner].alias_of = in + 1;
    storage_mark(graph, &graph->tasks.data[storage.writer[owner] - 1], owner, true, false, WORK_ACCESS_IN_PLACE);
    storage.last_access[in] = storage.last_access[owner];
    note_overwritten(&storage, owner, overwritten);
  }
  storage_release(&storage);
}
