/* Collectives that are not needed as they are. An exchange of the same operand among the same devices is made once; an
 * all-reduce of which the device only takes the slice at its own place in the group is a reduce-scatter, which moves half
 * the bytes. The slice is at its place when its offset in the one dimension that it cuts follows from partition_id or
 * replica_id, and the dimension has one such slice per member. XLA's ReduceScatterCreator compares the values as well;
 * partitioners write no other slices of this form. What is not read any more goes, as the compiler removes it. */
#include <string.h>

#include "base/checked.h"
#include "base/map.h"
#include "lower/lower_collectives.h"

enum { NONE = UINT32_MAX };

struct single {
  struct lower_rewrite *rewrite;
  const struct work_graph *from;
  uint8_t *origins; /* per tensor: enum lower_origin */
  uint32_t *readers; /* per tensor: border reads */
  uint32_t *reader; /* per tensor: the last task that reads it */
  uint32_t *writer; /* per tensor: task + 1 */
  uint32_t *instead; /* per tensor: what stands for it; itself */
  bool *is_aliased; /* per tensor: another one shares its storage; per root: it is written in place */
  bool *is_gone; /* per task */
  uint32_t *slice_of; /* per task: slice that its all-reduce is followed by; NONE */
  VEC(uint32_t) unread; /* tensors to look at */
};

static bool single_init(struct single *s, struct lower_rewrite *rewrite) {
  const struct work_graph *from = rewrite->from;
  size_t tensors = from->tensors.count, tasks = from->tasks.count;
  uint32_t *words = calloc(4 * tensors + tasks + 1, sizeof *words);
  uint8_t *bytes = calloc(2 * tensors + tasks + 1, 1);
  *s = (struct single){.rewrite = rewrite, .from = from, .readers = words, .origins = bytes};
  if (words == NULL || bytes == NULL) {
    return false;
  }
  s->reader = words + tensors;
  s->writer = words + 2 * tensors;
  s->instead = words + 3 * tensors;
  s->slice_of = words + 4 * tensors;
  s->is_aliased = (bool *)bytes + tensors;
  s->is_gone = (bool *)bytes + 2 * tensors;
  lower_origins(rewrite, s->origins);
  for (uint32_t t = 0; t < tensors; t++) {
    s->instead[t] = t;
    if (from->tensors.data[t].alias_of != 0) {
      s->is_aliased[from->tensors.data[t].alias_of - 1] = true;
    }
  }
  for (uint32_t i = 0; i < tasks; i++) {
    const struct work_task *task = &from->tasks.data[i];
    s->slice_of[i] = NONE;
    for (uint32_t k = 0; k < task->access_count; k++) {
      uint32_t tensor = from->accesses.data[task->access_first + k].tensor;
      if (k < task->read_count) {
        s->readers[tensor]++;
        s->reader[tensor] = i;
      } else {
        s->writer[tensor] = i + 1;
      }
    }
  }
  return true;
}

static void single_release(struct single *s) {
  free(s->readers);
  free(s->origins);
  vec_release(&s->unread);
}

static uint32_t read_of(const struct single *s, const struct work_task *task) {
  return s->instead[s->from->accesses.data[task->access_first].tensor];
}

static uint32_t write_of(const struct single *s, const struct work_task *task) {
  return s->from->accesses.data[task->access_first + task->read_count].tensor;
}

/* ---- duplicates ---- */

static bool same_shape(const struct work_graph *graph, uint32_t a, uint32_t b) {
  const struct work_tensor *x = &graph->tensors.data[a], *y = &graph->tensors.data[b];
  return x->dtype == y->dtype && x->rank == y->rank
         && (x->rank == 0
             || memcmp(graph->dims.data + x->dims_first, graph->dims.data + y->dims_first, x->rank * sizeof(int64_t))
                    == 0);
}

/* Kinds whose result follows from operand, groups, reduction and the shape of the result. */
static bool may_be_duplicate(const struct single *s, const struct work_task *task) {
  if (!lower_collective_is_plain(s->from, task)) {
    return false;
  }
  const struct work_collective *c = &s->from->collectives.data[task->collective - 1];
  uint32_t result = write_of(s, task);
  return (c->kind == WORK_ALL_REDUCE || c->kind == WORK_ALL_GATHER || c->kind == WORK_REDUCE_SCATTER)
         && c->reduction != WORK_REDUCTION_OTHER && !s->is_aliased[result]
         && s->from->tensors.data[result].alias_of == 0;
}

static bool is_same_exchange(const struct single *s, const struct work_task *a, const struct work_task *b) {
  const struct work_collective *x = &s->from->collectives.data[a->collective - 1];
  const struct work_collective *y = &s->from->collectives.data[b->collective - 1];
  return x->kind == y->kind && x->reduction == y->reduction && x->groups == y->groups
         && x->group_count == y->group_count && x->group_size == y->group_size
         && same_shape(s->from, write_of(s, a), write_of(s, b));
}

/* Storage that anything overwrites while it is in use has no second reader. */
static bool remove_duplicates(struct single *s) {
  struct map first = {0};
  bool ok = true;
  for (uint32_t i = 0; i < s->from->tasks.count && ok; i++) {
    const struct work_task *task = &s->from->tasks.data[i];
    if (!may_be_duplicate(s, task)) {
      continue;
    }
    uint32_t operand = read_of(s, task), result = write_of(s, task), known;
    bool is_known = map_get(&first, operand, &known);
    const struct work_task *other = is_known ? &s->from->tasks.data[known] : NULL;
    if (other == NULL || s->is_aliased[operand] || !is_same_exchange(s, task, other)
        || s->from->tensors.data[result].is_output) {
      ok = is_known || map_set(&first, operand, i);
      continue;
    }
    uint32_t kept = write_of(s, other);
    s->instead[result] = kept;
    s->readers[kept] += s->readers[result];
    s->reader[kept] = s->reader[result];
    s->readers[result] = 0;
    s->readers[operand]--;
    s->is_gone[i] = true;
    s->rewrite->report->duplicates++;
  }
  map_release(&first);
  return ok;
}

/* ---- reduce-scatters ---- */

/* The dimension that a slice cuts into `parts`, when it cuts no other one; NONE. */
static uint32_t cut_dimension(const struct work_graph *graph, uint32_t whole, uint32_t part, uint64_t parts) {
  const struct work_tensor *from = &graph->tensors.data[whole], *to = &graph->tensors.data[part];
  uint32_t cut = NONE;
  for (uint32_t d = 0; d < from->rank && from->rank == to->rank; d++) {
    int64_t a = graph->dims.data[from->dims_first + d], b = graph->dims.data[to->dims_first + d];
    if (a == b) {
      continue;
    }
    if (cut != NONE || b <= 0 || (uint64_t)a != sat_mul_u64((uint64_t)b, parts)) {
      return NONE;
    }
    cut = d;
  }
  return cut;
}

static bool is_own_slice(const struct single *s, const struct work_task *slice, uint32_t whole, uint64_t parts) {
  const struct work_graph *graph = s->from;
  if (slice->kind != WORK_DYNAMIC_SLICE || slice->stage_count != 1
      || (slice->flags & (WORK_TASK_PREFUSED | WORK_TASK_OPAQUE)) != 0) {
    return false;
  }
  const struct work_stage *stage = &graph->stages.data[slice->stage_first];
  const struct work_access *reads = graph->accesses.data + stage->access_first;
  const uint32_t rank = graph->tensors.data[whole].rank;
  uint32_t cut = cut_dimension(graph, whole, write_of(s, slice), parts);
  if (cut == NONE || stage->read_count != 1 + rank || s->instead[reads[0].tensor] != whole) {
    return false;
  }
  for (uint32_t d = 0; d < rank; d++) {
    uint8_t origin = s->origins[reads[1 + d].tensor];
    if (origin != (d == cut ? LOWER_FROM_PLACE : LOWER_FROM_CONSTANTS)) {
      return false;
    }
  }
  return true;
}

/* A tensor that nobody reads any more takes the tasks with it that only made it from constants. What shares its storage
 * reads it, so readers tell. */
static bool let_go(struct single *s, uint32_t tensor) {
  const struct work_graph *graph = s->from;
  vec_clear(&s->unread);
  bool ok = vec_push(&s->unread, tensor);
  while (ok && s->unread.count > 0) {
    uint32_t t = s->unread.data[--s->unread.count], index = s->writer[t];
    bool is_needed = s->readers[t] > 0 || graph->tensors.data[t].is_output || s->origins[t] == LOWER_FROM_DATA;
    const struct work_task *task = index > 0 ? &graph->tasks.data[index - 1] : NULL;
    if (is_needed || task == NULL || s->is_gone[index - 1] || task->access_count != task->read_count + 1u) {
      continue;
    }
    s->is_gone[index - 1] = true;
    for (uint32_t k = 0; k < task->read_count && ok; k++) {
      uint32_t read = graph->accesses.data[task->access_first + k].tensor;
      s->readers[read]--;
      ok = vec_push(&s->unread, read);
    }
  }
  return ok;
}

static bool find_reduce_scatters(struct single *s) {
  const struct work_graph *graph = s->from;
  bool ok = true;
  for (uint32_t i = 0; i < graph->tasks.count && ok; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    if (s->is_gone[i] || !lower_collective_is_plain(graph, task)) {
      continue;
    }
    const struct work_collective *c = &graph->collectives.data[task->collective - 1];
    uint32_t whole = write_of(s, task);
    if (c->kind != WORK_ALL_REDUCE || c->group_size < 2 || s->readers[whole] != 1 || s->is_aliased[whole]
        || graph->tensors.data[whole].is_output || graph->tensors.data[whole].alias_of != 0) {
      continue;
    }
    uint32_t reader = s->reader[whole];
    const struct work_task *slice = &graph->tasks.data[reader];
    if (!is_own_slice(s, slice, whole, c->group_size)) {
      continue;
    }
    s->slice_of[i] = reader;
    s->is_gone[reader] = true;
    s->rewrite->report->reduce_scatters++;
    for (uint32_t k = 1; k < slice->read_count && ok; k++) {
      uint32_t offset = graph->accesses.data[slice->access_first + k].tensor;
      s->readers[offset]--;
      ok = let_go(s, offset);
    }
  }
  return ok;
}

/* ---- the new graph ---- */

/* The all-reduce writes the slice itself, in storage of its own. */
static void write_reduce_scatter(struct single *s, uint32_t index) {
  struct work_graph *to = s->rewrite->to;
  struct work_task task = s->from->tasks.data[index];
  struct work_stage stage = s->from->stages.data[task.stage_first];
  uint32_t part = write_of(s, &s->from->tasks.data[s->slice_of[index]]);
  struct work_tensor *result = &to->tensors.data[part];
  struct work_access write = {.tensor = part, .flags = WORK_ACCESS_WRITE, .touched_elements = result->element_count};
  result->alias_of = 0;
  struct work_collective collective = s->from->collectives.data[task.collective - 1];
  collective.kind = WORK_REDUCE_SCATTER;
  collective.output_bytes = result->size_bytes;
  struct work_access read = to->accesses.data[task.access_first];
  stage.access_first = task.access_first = (uint32_t)to->accesses.count;
  stage.access_count = 2;
  bool ok = vec_push(&to->accesses, read) && vec_push(&to->accesses, write) && vec_push(&to->collectives, collective)
            && vec_push(&to->stages, stage);
  task.collective = (uint32_t)to->collectives.count;
  task.stage_first = to->stages_in_tasks;
  to->stages_in_tasks = (uint32_t)to->stages.count;
  to->out_of_memory |= !(ok && vec_push(&to->tasks, task));
}

/* What stands for others is read under its own number, in a border once. */
static void settle_border(struct single *s, struct work_task *task) {
  struct work_graph *to = s->rewrite->to;
  bool is_control = task->subgraph_count > 0, has_changed = false;
  for (uint32_t k = 0; k < task->read_count; k++) {
    struct work_access *access = &to->accesses.data[task->access_first + k];
    has_changed |= s->instead[access->tensor] != access->tensor;
    access->tensor = s->instead[access->tensor];
  }
  if (!has_changed || is_control) {
    return;
  }
  uint32_t kept = 0, reads = task->read_count;
  struct work_access *border = to->accesses.data + task->access_first;
  for (uint32_t k = 0; k < task->access_count; k++) {
    uint32_t same = k < reads ? 0 : kept;
    while (same < kept && border[same].tensor != border[k].tensor) {
      same++;
    }
    if (same < kept) { /* two results that were the same */
      uint64_t all = to->tensors.data[border[same].tensor].element_count;
      uint64_t sum = sat_add_u64(border[same].touched_elements, border[k].touched_elements);
      border[same].touched_elements = sum < all ? sum : all;
      border[same].flags = (uint8_t)((border[same].flags | border[k].flags) & ~WORK_ACCESS_PARTIAL);
      border[same].flags |= (uint8_t)(sum < all ? WORK_ACCESS_PARTIAL : 0);
      task->read_count--;
      continue;
    }
    border[kept++] = border[k];
  }
  task->access_count = kept;
}

static void write_tasks(struct single *s) {
  struct work_graph *to = s->rewrite->to;
  for (uint32_t i = 0; i < s->from->tasks.count && !to->out_of_memory; i++) {
    if (s->is_gone[i]) {
      continue;
    }
    if (s->slice_of[i] != NONE) {
      write_reduce_scatter(s, i);
      continue;
    }
    lower_rewrite_task(s->rewrite, i);
    if (to->out_of_memory) {
      return;
    }
    struct work_task *task = &to->tasks.data[to->tasks.count - 1];
    settle_border(s, task);
    for (uint32_t k = 0; k < task->stage_count; k++) {
      const struct work_stage *stage = &to->stages.data[task->stage_first + k];
      for (uint32_t a = 0; a < stage->read_count; a++) {
        struct work_access *access = &to->accesses.data[stage->access_first + a];
        access->tensor = s->instead[access->tensor];
      }
    }
  }
}

enum status lower_rewrite_single(struct lower_rewrite *rewrite) {
  struct single s;
  bool ok = single_init(&s, rewrite);
  ok = ok && (!rewrite->options->removes_duplicates || remove_duplicates(&s));
  ok = ok && (!rewrite->options->creates_reduce_scatters || find_reduce_scatters(&s));
  if (ok) {
    write_tasks(&s);
  }
  single_release(&s);
  return ok && !rewrite->to->out_of_memory ? STATUS_OK : STATUS_MEMORY;
}
