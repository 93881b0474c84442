/* What a device needs to know of a graph before it runs: who reads what, how long tasks take, what loops hold. */
#include "cluster/step_lane_int.h"

#include "base/checked.h"

void lane_heap_push(struct lane_heap *heap, uint32_t priority, uint32_t task) {
  uint64_t key = (uint64_t)priority << 32 | task;
  uint32_t at = heap->count++;
  while (at > 0 && heap->keys[(at - 1) / 2] > key) {
    heap->keys[at] = heap->keys[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap->keys[at] = key;
}

uint32_t lane_heap_pop(struct lane_heap *heap) {
  uint32_t top = (uint32_t)heap->keys[0];
  uint64_t key = heap->keys[--heap->count];
  uint32_t at = 0;
  for (uint32_t child = 1; child < heap->count; child = 2 * at + 1) {
    child += child + 1 < heap->count && heap->keys[child + 1] < heap->keys[child];
    if (heap->keys[child] >= key) {
      break;
    }
    heap->keys[at] = heap->keys[child];
    at = child;
  }
  heap->keys[at] = key;
  return top;
}

static bool allocate(struct lane_machine *m, struct arena *arena) {
  const size_t n = (size_t)m->count + 1;
  const size_t collectives = m->graph->collectives.count + 1;
  m->kinds = arena_calloc(arena, n, sizeof *m->kinds);
  m->missing = arena_calloc(arena, n, sizeof *m->missing);
  m->reader_first = arena_calloc(arena, n + 1, sizeof *m->reader_first);
  m->readers = arena_calloc(arena, m->graph->dependencies.count + 1, sizeof *m->readers);
  m->needs = arena_calloc(arena, n, sizeof *m->needs);
  m->due_bytes = arena_calloc(arena, n, sizeof *m->due_bytes);
  m->durations = arena_calloc(arena, n, sizeof *m->durations);
  m->inner = arena_calloc(arena, m->graph->subgraphs.count + 1, sizeof *m->inner);
  m->inner_of = arena_calloc(arena, n, sizeof *m->inner_of);
  m->finished = arena_calloc(arena, n, sizeof *m->finished);
  m->order = arena_calloc(arena, n, sizeof *m->order);
  m->ready.keys = arena_calloc(arena, n, sizeof *m->ready.keys);
  bool is_complete = m->kinds && m->missing && m->reader_first && m->readers && m->needs && m->due_bytes && m->durations
                     && m->inner && m->inner_of && m->finished && m->order && m->ready.keys;
  for (unsigned s = 1; s <= STEP_STREAMS_MAX && is_complete; s++) {
    m->streams[s].task = STEP_NO_TASK;
    m->streams[s].waiting.keys = arena_calloc(arena, collectives, sizeof *m->streams[s].waiting.keys);
    is_complete = m->streams[s].waiting.keys != NULL;
  }
  return is_complete;
}

/* Readers of each task, ascending. */
static void link_readers(struct lane_machine *m) {
  const uint32_t *dependencies = m->graph->dependencies.data;
  for (uint32_t t = 0; t < m->count; t++) {
    const struct work_task *task = &m->graph->tasks.data[t];
    m->missing[t] = task->dependency_count;
    for (uint32_t d = 0; d < task->dependency_count; d++) {
      m->reader_first[dependencies[task->dependency_first + d] + 2]++;
    }
  }
  for (uint32_t t = 0; t < m->count; t++) {
    m->reader_first[t + 1] += m->reader_first[t];
  }
  for (uint32_t t = 0; t < m->count; t++) {
    const struct work_task *task = &m->graph->tasks.data[t];
    for (uint32_t d = 0; d < task->dependency_count; d++) {
      m->readers[m->reader_first[dependencies[task->dependency_first + d] + 1]++] = t;
    }
  }
}

static uint64_t gathered_bytes_of(const struct lane_machine *m, uint32_t t) {
  const struct work_task *task = &m->graph->tasks.data[t];
  const struct work_collective *collective = &m->graph->collectives.data[task->collective - 1];
  return collective->kind == WORK_ALL_GATHER ? collective->output_bytes : 0;
}

/* Needs follow from those of free readers, which come later in the program: backwards. */
static void find_needs(struct lane_machine *m) {
  for (uint32_t t = m->count; t-- > 0;) {
    uint32_t need = m->count;
    for (uint32_t r = m->reader_first[t]; r < m->reader_first[t + 1]; r++) {
      uint32_t reader = m->readers[r];
      uint32_t wanted = m->kinds[reader] == LANE_FREE ? m->needs[reader] : reader;
      need = wanted < need ? wanted : need;
    }
    m->needs[t] = need;
    if (m->kinds[t] == LANE_COLLECTIVE) {
      m->due_bytes[need] = sat_add_u64(m->due_bytes[need], gathered_bytes_of(m, t));
    }
  }
}

/* The costliest branch, or one pass of the loop; its lane becomes the task's. */
static enum status prepare_control(struct lane_machine *m, uint32_t t, struct arena *arena, unsigned depth) {
  const struct work_task *task = &m->graph->tasks.data[t];
  const bool is_loop = task->kind == WORK_LOOP;
  const uint64_t trips = is_loop ? task->trip_count : 1;
  struct step_lane_options options = *m->options;
  options.keep_spans = false;
  uint32_t chosen = task->subgraph_first;
  for (uint32_t i = 0; i < task->subgraph_count; i++) {
    uint32_t sub = task->subgraph_first + i;
    STATUS_TRY(lane_run(m->network, m->graph->subgraphs.data[sub], &m->times->subgraphs[sub], &m->prices->inside[sub],
                        &options, arena, depth + 1, &m->inner[sub]));
    if (is_loop && i > 0) {
      step_lane_add(&m->inner[chosen], &m->inner[sub], 1);
    } else if (m->inner[sub].time_ps > m->inner[chosen].time_ps) {
      chosen = sub;
    }
  }
  if (task->subgraph_count == 0) {
    m->kinds[t] = LANE_FREE;
    return STATUS_OK;
  }
  m->inner_of[t] = chosen;
  m->durations[t] = sat_mul_u64(m->inner[chosen].time_ps, trips);
  m->kinds[t] = m->inner[chosen].busy_ps > 0 ? LANE_ALONE : LANE_COMPUTE;
  return STATUS_OK;
}

enum status lane_prepare(struct lane_machine *m, struct arena *arena, unsigned depth) {
  if (depth > STEP_DEPTH_MAX) {
    return STATUS_LIMIT;
  }
  if (!allocate(m, arena)) {
    return STATUS_MEMORY;
  }
  for (uint32_t t = 0; t < m->count; t++) {
    const struct work_task *task = &m->graph->tasks.data[t];
    const struct work_kind_info *info = work_kind_info((enum work_kind)task->kind);
    if (task->collective != 0 && task->kind != WORK_COLLECTIVE_DONE) {
      m->kinds[t] = LANE_COLLECTIVE;
    } else if (task->kind == WORK_LOOP || task->kind == WORK_CONDITIONAL) {
      STATUS_TRY(prepare_control(m, t, arena, depth));
    } else {
      m->durations[t] = info->is_free ? 0 : step_ps(m->times->tasks[t].time_s);
      m->kinds[t] = m->durations[t] > 0 ? LANE_COMPUTE : LANE_FREE;
    }
  }
  link_readers(m);
  find_needs(m);
  for (uint32_t t = 0; t < m->count; t++) {
    m->order[t] = t;
  }
  return m->options->overlap == STEP_OVERLAP_EARLY_LATE ? lane_order(m, arena) : STATUS_OK;
}
