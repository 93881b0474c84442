/* The order in which XLA's memory scheduler puts a graph's tasks (hlo_memory_scheduler.cc): of the program's own order, which
 * is the post-order of the computation, and list scheduling, the one that needs less memory. List scheduling takes, of the
 * tasks whose operands are there, the one that lets go of most bytes less those that its results take. */
#include "cluster/step_lane_int.h"

struct order_heap_entry {
  int64_t freed_bytes; /* net; larger first */
  uint32_t task; /* smaller first */
};

struct orderer {
  const struct lane_machine *m;
  uint32_t *roots; /* per tensor: whose storage it has */
  uint32_t *uses; /* per root: reads to come */
  uint32_t *first, *readers; /* per root: tasks that read it, a task as often as it does */
  int64_t *freed_bytes; /* per task, as things stand */
  uint32_t *missing;
  uint8_t *is_placed;
  VEC(struct order_heap_entry) heap;
  int64_t live_bytes, peak_bytes;
};

static bool comes_before(const struct order_heap_entry *a, const struct order_heap_entry *b) {
  return a->freed_bytes != b->freed_bytes ? a->freed_bytes > b->freed_bytes : a->task < b->task;
}

static bool push(struct orderer *o, uint32_t task) {
  const struct order_heap_entry entry = {o->freed_bytes[task], task};
  if (!vec_push(&o->heap, entry)) {
    return false;
  }
  size_t at = o->heap.count - 1;
  while (at > 0 && comes_before(&entry, &o->heap.data[(at - 1) / 2])) {
    o->heap.data[at] = o->heap.data[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  o->heap.data[at] = entry;
  return true;
}

static struct order_heap_entry pop(struct orderer *o) {
  const struct order_heap_entry top = o->heap.data[0], entry = o->heap.data[--o->heap.count];
  size_t at = 0;
  for (size_t child = 1; child < o->heap.count; child = 2 * at + 1) {
    child += child + 1 < o->heap.count && comes_before(&o->heap.data[child + 1], &o->heap.data[child]);
    if (!comes_before(&o->heap.data[child], &entry)) {
      break;
    }
    o->heap.data[at] = o->heap.data[child];
    at = child;
  }
  o->heap.data[at] = entry;
  return top;
}

/* Arguments, constants and results of the graph stay whatever the order is. */
static bool comes_and_goes(const struct work_graph *graph, uint32_t root) {
  const struct work_tensor *tensor = &graph->tensors.data[root];
  return tensor->role == WORK_TENSOR_INTERMEDIATE && !tensor->is_output;
}

static const struct work_access *border_of(const struct orderer *o, const struct work_task *task, uint32_t i) {
  return &o->m->graph->accesses.data[task->access_first + i];
}

static void begin(struct orderer *o) {
  const struct work_graph *graph = o->m->graph;
  for (uint32_t t = 0; t < graph->tensors.count; t++) {
    o->uses[t] = o->first[t + 1] - o->first[t];
  }
  for (uint32_t t = 0; t < o->m->count; t++) {
    const struct work_task *task = &graph->tasks.data[t];
    o->missing[t] = task->dependency_count;
    o->is_placed[t] = 0;
    o->freed_bytes[t] = 0;
    for (uint32_t i = 0; i < task->access_count; i++) {
      const uint32_t tensor = border_of(o, task, i)->tensor;
      if (i >= task->read_count && o->roots[tensor] == tensor && comes_and_goes(graph, tensor)) {
        o->freed_bytes[t] -= (int64_t)graph->tensors.data[tensor].size_bytes;
      }
    }
  }
  o->heap.count = 0;
  o->live_bytes = o->peak_bytes = 0;
}

/* The only task that still reads a storage will let go of it. */
static bool tell_last_reader(struct orderer *o, uint32_t root) {
  for (uint32_t r = o->first[root]; r < o->first[root + 1]; r++) {
    const uint32_t reader = o->readers[r];
    if (!o->is_placed[reader]) {
      o->freed_bytes[reader] += (int64_t)o->m->graph->tensors.data[root].size_bytes;
      return o->missing[reader] > 0 || push(o, reader);
    }
  }
  return true;
}

/* Puts a task next. */
static bool place(struct orderer *o, uint32_t t) {
  const struct work_graph *graph = o->m->graph;
  const struct work_task *task = &graph->tasks.data[t];
  bool ok = true;
  o->is_placed[t] = 1;
  for (uint32_t i = task->read_count; i < task->access_count; i++) {
    const uint32_t tensor = border_of(o, task, i)->tensor;
    if (o->roots[tensor] == tensor && comes_and_goes(graph, tensor)) {
      o->live_bytes += (int64_t)graph->tensors.data[tensor].size_bytes;
      ok = ok && (o->uses[tensor] != 1 || tell_last_reader(o, tensor));
    }
  }
  o->peak_bytes = o->live_bytes > o->peak_bytes ? o->live_bytes : o->peak_bytes;
  for (uint32_t i = 0; i < task->read_count; i++) {
    const uint32_t root = o->roots[border_of(o, task, i)->tensor];
    if (comes_and_goes(graph, root) && --o->uses[root] <= 1) {
      o->live_bytes -= o->uses[root] == 0 ? (int64_t)graph->tensors.data[root].size_bytes : 0;
      ok = ok && (o->uses[root] == 0 || tell_last_reader(o, root));
    }
  }
  for (uint32_t r = o->m->reader_first[t]; r < o->m->reader_first[t + 1] && ok; r++) {
    ok = --o->missing[o->m->readers[r]] > 0 || push(o, o->m->readers[r]);
  }
  return ok;
}

static bool list_schedule(struct orderer *o, uint32_t *order) {
  uint32_t count = 0;
  bool ok = true;
  begin(o);
  for (uint32_t t = 0; t < o->m->count && ok; t++) {
    ok = o->missing[t] > 0 || push(o, t);
  }
  while (ok && o->heap.count > 0) {
    const struct order_heap_entry next = pop(o);
    if (!o->is_placed[next.task] && next.freed_bytes == o->freed_bytes[next.task]) {
      order[count++] = next.task;
      ok = place(o, next.task);
    }
  }
  return ok && count == o->m->count;
}

/* Who reads each storage; the storages themselves first. Aliases come after what they alias. */
static void link_reads(struct orderer *o) {
  const struct work_graph *graph = o->m->graph;
  for (uint32_t t = 0; t < graph->tensors.count; t++) {
    const uint32_t alias = graph->tensors.data[t].alias_of;
    o->roots[t] = alias != 0 && alias - 1 < t ? o->roots[alias - 1] : t;
  }
  for (uint32_t pass = 0; pass < 2; pass++) { /* count, then fill */
    for (uint32_t t = 0; t < o->m->count; t++) {
      const struct work_task *task = &graph->tasks.data[t];
      for (uint32_t i = 0; i < task->read_count; i++) {
        const uint32_t root = o->roots[border_of(o, task, i)->tensor];
        if (pass == 0) {
          o->first[root + 2]++;
        } else {
          o->readers[o->first[root + 1]++] = t;
        }
      }
    }
    for (uint32_t t = 0; t < graph->tensors.count && pass == 0; t++) {
      o->first[t + 1] += o->first[t];
    }
  }
}

static bool allocate(struct orderer *o, struct arena *arena) {
  const size_t tensors = o->m->graph->tensors.count + 2, tasks = (size_t)o->m->count + 1;
  o->roots = arena_calloc(arena, tensors, sizeof *o->roots);
  o->uses = arena_calloc(arena, tensors, sizeof *o->uses);
  o->first = arena_calloc(arena, tensors + 1, sizeof *o->first);
  o->readers = arena_calloc(arena, o->m->graph->accesses.count + 1, sizeof *o->readers);
  o->freed_bytes = arena_calloc(arena, tasks, sizeof *o->freed_bytes);
  o->missing = arena_calloc(arena, tasks, sizeof *o->missing);
  o->is_placed = arena_calloc(arena, tasks, 1);
  return o->roots && o->uses && o->first && o->readers && o->freed_bytes && o->missing && o->is_placed;
}

enum status lane_order(struct lane_machine *m, struct arena *arena) {
  struct orderer o = {.m = m};
  if (!allocate(&o, arena)) {
    return STATUS_MEMORY;
  }
  link_reads(&o);
  bool ok = list_schedule(&o, m->order);
  const int64_t list_bytes = o.peak_bytes;
  begin(&o);
  for (uint32_t t = 0; t < m->count && ok; t++) {
    ok = place(&o, t);
  }
  if (o.peak_bytes <= list_bytes) {
    for (uint32_t t = 0; t < m->count; t++) {
      m->order[t] = t;
    }
  }
  vec_release(&o.heap);
  return ok ? STATUS_OK : STATUS_MEMORY;
}
