/* Peak memory: a sweep over the execution order with the lifetime of every storage. Storage, not tensors, is counted:
 * tensors that share it through alias_of are one piece with the size of the largest. */
#include <string.h>

#include "base/checked.h"
#include "work/work_int.h"

enum { MEMORY_UNUSED = UINT32_MAX };

struct memory_piece {
  uint64_t size_bytes;
  uint32_t first, last; /* tasks; first = MEMORY_UNUSED: never in memory */
  uint8_t role; /* of the root */
  bool is_output, is_donated;
};

struct memory_sweep {
  struct memory_piece *pieces; /* per tensor; only roots are used */
  uint32_t *roots;
  uint64_t *starts, *ends; /* per task: bytes that begin or stop to live */
  uint64_t *temporary_starts, *temporary_ends;
  uint32_t task_count;
};

static void memory_touch(struct memory_sweep *sweep, uint32_t tensor, uint32_t task) {
  struct memory_piece *piece = &sweep->pieces[sweep->roots[tensor]];
  if (piece->first == MEMORY_UNUSED || task < piece->first) {
    piece->first = task;
  }
  if (task > piece->last) {
    piece->last = task;
  }
}

static void memory_lifetimes(const struct work_graph *graph, struct memory_sweep *sweep) {
  for (uint32_t i = 0; i < graph->tensors.count; i++) {
    const struct work_tensor *tensor = &graph->tensors.data[i];
    struct memory_piece *piece = &sweep->pieces[sweep->roots[i]];
    if (sweep->roots[i] == i) {
      piece->role = tensor->role;
      piece->is_donated = tensor->is_donated;
    }
    if (tensor->size_bytes > piece->size_bytes) {
      piece->size_bytes = tensor->size_bytes;
    }
    piece->is_output |= tensor->is_output;
  }
  for (uint32_t t = 0; t < sweep->task_count; t++) {
    const struct work_task *task = &graph->tasks.data[t];
    for (uint32_t i = 0; i < task->access_count; i++) {
      memory_touch(sweep, graph->accesses.data[task->access_first + i].tensor, t);
    }
  }
  for (uint32_t i = 0; i < graph->tensors.count; i++) {
    struct memory_piece *piece = &sweep->pieces[i];
    uint32_t end = sweep->task_count > 0 ? sweep->task_count - 1 : 0;
    if (sweep->roots[i] != i) {
      piece->first = MEMORY_UNUSED;
      continue;
    }
    if (piece->role == WORK_TENSOR_INPUT) {
      piece->first = 0;
      piece->last = piece->is_donated && !piece->is_output ? piece->last : end;
    } else if (piece->is_output && piece->first != MEMORY_UNUSED) {
      piece->last = end;
    }
  }
}

static uint64_t memory_constants(const struct work_graph *graph) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < graph->tensors.count; i++) {
    const struct work_tensor *tensor = &graph->tensors.data[i];
    if (tensor->role == WORK_TENSOR_CONSTANT && (tensor->is_materialised || tensor->is_output)) {
      bytes = sat_add_u64(bytes, tensor->size_bytes);
    }
  }
  for (size_t i = 0; i < graph->subgraphs.count; i++) {
    bytes = sat_add_u64(bytes, memory_constants(graph->subgraphs.data[i]));
  }
  return bytes;
}

struct memory_peak {
  uint64_t live_bytes; /* inputs (outermost graph only), intermediates, outputs; no constants */
  uint64_t temporary_bytes; /* intermediates that are no outputs */
  uint32_t task;
};

/* Whose storage the sweep leaves to the graph outside: inputs of every subgraph, results of a branch, which it writes where
 * those of the conditional lie. A loop's new carried values stand beside the old ones. */
enum memory_place { MEMORY_OUTERMOST, MEMORY_IN_LOOP, MEMORY_IN_BRANCH };

static enum status memory_peak_of(const struct work_graph *graph, enum memory_place place, struct memory_peak *peak);

static enum status memory_inside(const struct work_graph *graph, const struct work_task *task,
                                 struct memory_peak *peak) {
  *peak = (struct memory_peak){0};
  for (uint32_t i = 0; i < task->subgraph_count; i++) {
    struct memory_peak inside;
    STATUS_TRY(memory_peak_of(graph->subgraphs.data[task->subgraph_first + i],
                              task->kind == WORK_CONDITIONAL ? MEMORY_IN_BRANCH : MEMORY_IN_LOOP, &inside));
    peak->live_bytes = inside.live_bytes > peak->live_bytes ? inside.live_bytes : peak->live_bytes;
  }
  return STATUS_OK;
}

static enum status memory_walk(const struct work_graph *graph, struct memory_sweep *sweep, enum memory_place place,
                               struct memory_peak *peak) {
  memory_lifetimes(graph, sweep);
  for (uint32_t i = 0; i < graph->tensors.count; i++) {
    const struct memory_piece *piece = &sweep->pieces[i];
    bool is_counted = piece->role == WORK_TENSOR_INTERMEDIATE
                          ? place != MEMORY_IN_BRANCH || !piece->is_output
                          : piece->role == WORK_TENSOR_INPUT && place == MEMORY_OUTERMOST;
    if (piece->first == MEMORY_UNUSED || !is_counted) {
      continue;
    }
    sweep->starts[piece->first] = sat_add_u64(sweep->starts[piece->first], piece->size_bytes);
    sweep->ends[piece->last] = sat_add_u64(sweep->ends[piece->last], piece->size_bytes);
    if (piece->role == WORK_TENSOR_INTERMEDIATE && !piece->is_output) {
      sweep->temporary_starts[piece->first] = sat_add_u64(sweep->temporary_starts[piece->first], piece->size_bytes);
      sweep->temporary_ends[piece->last] = sat_add_u64(sweep->temporary_ends[piece->last], piece->size_bytes);
    }
  }
  uint64_t live = 0, temporary = 0;
  for (uint32_t t = 0; t < sweep->task_count || t == 0; t++) {
    live = sat_add_u64(live, sweep->starts[t]);
    temporary = sat_add_u64(temporary, sweep->temporary_starts[t]);
    struct memory_peak inside = {0};
    if (t < sweep->task_count && graph->tasks.data[t].subgraph_count > 0) {
      STATUS_TRY(memory_inside(graph, &graph->tasks.data[t], &inside));
    }
    uint64_t bytes = sat_add_u64(live, inside.live_bytes), scratch = sat_add_u64(temporary, inside.live_bytes);
    if (bytes > peak->live_bytes) {
      peak->live_bytes = bytes;
      peak->task = t;
    }
    peak->temporary_bytes = scratch > peak->temporary_bytes ? scratch : peak->temporary_bytes;
    live -= live > sweep->ends[t] ? sweep->ends[t] : live;
    temporary -= temporary > sweep->temporary_ends[t] ? sweep->temporary_ends[t] : temporary;
  }
  return STATUS_OK;
}

static enum status memory_peak_of(const struct work_graph *graph, enum memory_place place, struct memory_peak *peak) {
  *peak = (struct memory_peak){0};
  size_t tensors = graph->tensors.count, slots = graph->tasks.count + 1;
  struct memory_sweep sweep = {
      .pieces = calloc(tensors + 1, sizeof *sweep.pieces),
      .roots = malloc((tensors + 1) * sizeof *sweep.roots),
      .starts = calloc(4 * slots, sizeof *sweep.starts),
      .task_count = (uint32_t)graph->tasks.count,
  };
  enum status status = STATUS_MEMORY;
  if (sweep.pieces != NULL && sweep.roots != NULL && sweep.starts != NULL) {
    sweep.ends = sweep.starts + slots;
    sweep.temporary_starts = sweep.starts + 2 * slots;
    sweep.temporary_ends = sweep.starts + 3 * slots;
    for (size_t i = 0; i < tensors; i++) {
      sweep.pieces[i].first = MEMORY_UNUSED;
    }
    work_tensor_roots(graph, sweep.roots);
    status = memory_walk(graph, &sweep, place, peak);
  }
  free(sweep.pieces);
  free(sweep.roots);
  free(sweep.starts);
  return status;
}

enum status work_graph_memory(const struct work_graph *graph, struct work_memory *memory) {
  memset(memory, 0, sizeof *memory);
  for (size_t i = 0; i < graph->inputs.count; i++) {
    memory->argument_bytes = sat_add_u64(memory->argument_bytes, graph->tensors.data[graph->inputs.data[i]].size_bytes);
  }
  for (size_t i = 0; i < graph->outputs.count; i++) {
    memory->output_bytes = sat_add_u64(memory->output_bytes, graph->tensors.data[graph->outputs.data[i]].size_bytes);
  }
  memory->constant_bytes = memory_constants(graph);
  struct memory_peak peak;
  STATUS_TRY(memory_peak_of(graph, MEMORY_OUTERMOST, &peak));
  memory->peak_bytes = sat_add_u64(peak.live_bytes, memory->constant_bytes);
  memory->temporary_peak_bytes = peak.temporary_bytes;
  memory->peak_task = peak.task;
  return STATUS_OK;
}
