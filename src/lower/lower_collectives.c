/* The compiler's rewrites of collectives: the passes over a graph and its subgraphs, and the report. Path: work graph →
 * lower_reduce_scatter.c (duplicates, all-reduce + slice) → lower_combine.c → work graph. */
#include "lower/lower_collectives.h"

#include <string.h>

#include "base/checked.h"
#include "lower/lower_fuse.h"

enum { MAX_NESTING = 200 };

bool lower_collective_is_plain(const struct work_graph *graph, const struct work_task *task) {
  return task->kind == WORK_COLLECTIVE && task->collective != 0 && task->read_count == 1 && task->access_count == 2
         && task->stage_count == 1
         && (graph->collectives.data[task->collective - 1].flags & WORK_COLLECTIVE_ASYNC) == 0;
}

void lower_rewrite_task(struct lower_rewrite *rewrite, uint32_t index) {
  struct work_graph *to = rewrite->to;
  struct work_task task = rewrite->from->tasks.data[index];
  for (uint32_t s = 0; s < task.stage_count; s++) {
    to->out_of_memory |= !vec_push(&to->stages, rewrite->from->stages.data[task.stage_first + s]);
  }
  task.stage_first = to->stages_in_tasks;
  to->stages_in_tasks = (uint32_t)to->stages.count;
  to->out_of_memory |= !vec_push(&to->tasks, task);
}

/* ---- what depends on the place of the device ---- */

static enum lower_origin constant_origin(const struct work_graph *graph, const struct work_tensor *tensor) {
  const char *name = tensor->name != 0 ? intern_text(graph->strings, tensor->name) : "";
  bool is_place = strcmp(name, LOWER_PARTITION_ID) == 0 || strcmp(name, LOWER_REPLICA_ID) == 0;
  return is_place ? LOWER_FROM_PLACE : LOWER_FROM_CONSTANTS;
}

void lower_origins(const struct lower_rewrite *rewrite, uint8_t *origins) {
  const struct work_graph *graph = rewrite->from;
  for (uint32_t t = 0; t < graph->tensors.count; t++) {
    bool is_constant = graph->tensors.data[t].role == WORK_TENSOR_CONSTANT;
    origins[t] = is_constant ? (uint8_t)constant_origin(graph, &graph->tensors.data[t]) : LOWER_FROM_DATA;
  }
  for (size_t i = 0; i < graph->inputs.count && rewrite->inputs != NULL; i++) {
    origins[graph->inputs.data[i]] = rewrite->inputs[i];
  }
  for (size_t i = 0; i < graph->carried.count; i++) {
    origins[graph->carried.data[i].in] = LOWER_FROM_DATA; /* another one in every iteration */
  }
  for (uint32_t i = 0; i < graph->tasks.count; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    const struct work_access *border = graph->accesses.data + task->access_first;
    enum work_class class_of = work_kind_info((enum work_kind)task->kind)->class_of;
    uint8_t origin = LOWER_FROM_CONSTANTS;
    if (class_of == WORK_CLASS_COLLECTIVE || class_of == WORK_CLASS_HOST || class_of == WORK_CLASS_CONTROL
        || class_of == WORK_CLASS_CUSTOM || class_of == WORK_CLASS_RANDOM) {
      origin = LOWER_FROM_DATA;
    }
    for (uint32_t k = 0; k < task->read_count; k++) {
      origin = origins[border[k].tensor] > origin ? origins[border[k].tensor] : origin;
    }
    for (uint32_t k = task->read_count; k < task->access_count; k++) {
      origins[border[k].tensor] = origin;
    }
  }
}

/* ---- passes ---- */

typedef enum status (*rewrite_pass)(struct lower_rewrite *rewrite);

static enum status rewrite_graph(struct lower_rewrite *rewrite, rewrite_pass pass, unsigned depth);

/* A subgraph: its inputs are the reads of its task. */
static enum status rewrite_inside(struct lower_rewrite *rewrite, const struct work_task *task, uint32_t index,
                                  const uint8_t *origins, rewrite_pass pass, unsigned depth) {
  const struct work_graph *graph = rewrite->from, *from = graph->subgraphs.data[index];
  struct work_graph *inside = work_graph_new_inside(rewrite->to);
  uint8_t *inputs = calloc(from->inputs.count + 1, sizeof *inputs);
  if (inside == NULL || inputs == NULL) {
    work_graph_free(inside);
    free(inputs);
    return STATUS_MEMORY;
  }
  for (uint32_t i = 0; i < from->inputs.count; i++) {
    bool is_read = i < task->read_count;
    inputs[i] = is_read ? origins[graph->accesses.data[task->access_first + i].tensor] : LOWER_FROM_DATA;
  }
  struct lower_rewrite inner = *rewrite;
  inner.from = from;
  inner.to = inside;
  inner.inputs = inputs;
  enum status status = rewrite_graph(&inner, pass, depth + 1);
  free(inputs);
  work_subgraph_attach(rewrite->to, inside);
  return status;
}

static enum status rewrite_subgraphs(struct lower_rewrite *rewrite, rewrite_pass pass, unsigned depth) {
  const struct work_graph *graph = rewrite->from;
  if (graph->subgraphs.count == 0) {
    return STATUS_OK;
  }
  uint8_t *origins = malloc(graph->tensors.count + 1);
  uint32_t *owners = calloc(graph->subgraphs.count, sizeof *owners);
  enum status status = origins != NULL && owners != NULL ? STATUS_OK : STATUS_MEMORY;
  if (status == STATUS_OK) {
    lower_origins(rewrite, origins);
  }
  for (uint32_t i = 0; i < graph->tasks.count && status == STATUS_OK; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    for (uint32_t k = 0; k < task->subgraph_count; k++) {
      owners[task->subgraph_first + k] = i;
    }
  }
  for (uint32_t k = 0; k < graph->subgraphs.count && status == STATUS_OK; k++) {
    status = rewrite_inside(rewrite, &graph->tasks.data[owners[k]], k, origins, pass, depth);
  }
  free(origins);
  free(owners);
  return status;
}

static enum status rewrite_graph(struct lower_rewrite *rewrite, rewrite_pass pass, unsigned depth) {
  if (depth > MAX_NESTING) {
    return STATUS_LIMIT;
  }
  if (!fuse_copy_arrays(rewrite->from, rewrite->to)) {
    return STATUS_MEMORY;
  }
  STATUS_TRY(rewrite_subgraphs(rewrite, pass, depth));
  STATUS_TRY(pass(rewrite));
  return rewrite->to->out_of_memory ? STATUS_MEMORY : STATUS_OK;
}

/* One pass over a whole program. */
static enum status rewrite_program(const struct work_graph *graph, const struct lower_collective_options *options,
                                   struct lower_collective_report *report, rewrite_pass pass,
                                   struct work_graph **rewritten) {
  struct work_graph *out = work_graph_new();
  if (out == NULL) {
    return STATUS_MEMORY;
  }
  struct lower_rewrite rewrite = {graph, out, options, report, NULL};
  enum status status = fuse_copy_strings(graph->strings, out->strings) ? STATUS_OK : STATUS_MEMORY;
  if (status == STATUS_OK) {
    out->partitions = graph->partitions;
    out->is_partitioned = graph->is_partitioned;
    status = rewrite_graph(&rewrite, pass, 0);
  }
  if (status == STATUS_OK) {
    status = work_graph_seal(out);
  }
  if (status != STATUS_OK) {
    work_graph_free(out);
    return status;
  }
  *rewritten = out;
  return STATUS_OK;
}

bool lower_starts_collectives(const struct work_graph *graph) {
  for (size_t i = 0; i < graph->collectives.count; i++) {
    if ((graph->collectives.data[i].flags & WORK_COLLECTIVE_ASYNC) != 0) {
      return true;
    }
  }
  for (size_t i = 0; i < graph->subgraphs.count; i++) {
    if (lower_starts_collectives(graph->subgraphs.data[i])) {
      return true;
    }
  }
  return false;
}

static enum status keep_all(struct lower_rewrite *rewrite) {
  for (uint32_t i = 0; i < rewrite->from->tasks.count; i++) {
    lower_rewrite_task(rewrite, i);
  }
  return STATUS_OK;
}

enum status lower_collectives(const struct work_graph *graph, const struct lower_collective_options *options,
                              struct lower_collective_report *report, struct work_graph **rewritten) {
  struct lower_collective_report unused, *to = report != NULL ? report : &unused;
  memset(to, 0, sizeof *to);
  *rewritten = NULL;
  to->is_as_written = lower_starts_collectives(graph);
  lower_collective_counts(graph, &to->before);
  const bool is_single = !to->is_as_written && (options->creates_reduce_scatters || options->removes_duplicates);
  const bool is_combined = !to->is_as_written && options->combines;
  struct work_graph *single = NULL; /* what only combines needs no copy in between */
  if (is_single || !is_combined) {
    STATUS_TRY(rewrite_program(graph, options, to, is_single ? lower_rewrite_single : keep_all, &single));
  }
  enum status status = STATUS_OK;
  if (is_combined) {
    status = rewrite_program(single != NULL ? single : graph, options, to, lower_rewrite_combine, rewritten);
    work_graph_free(single);
  } else {
    *rewritten = single;
  }
  if (status == STATUS_OK) {
    lower_collective_counts(*rewritten, &to->after);
  }
  return status;
}

/* ---- counts ---- */

static void count_graph(const struct work_graph *graph, uint64_t times, unsigned depth,
                        struct lower_collective_count *count) {
  for (uint32_t i = 0; i < graph->tasks.count && depth <= MAX_NESTING; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    if (task->collective != 0) {
      const struct work_collective *collective = &graph->collectives.data[task->collective - 1];
      uint64_t *executions = &count->count[collective->kind], *bytes = &count->bytes[collective->kind];
      *executions = sat_add_u64(*executions, times);
      *bytes = sat_add_u64(*bytes, sat_mul_u64(times, collective->bytes_per_rank));
    }
    for (uint32_t s = 0; s < task->subgraph_count; s++) {
      uint64_t trips = task->kind == WORK_LOOP ? task->trip_count : 1;
      count_graph(graph->subgraphs.data[task->subgraph_first + s], sat_mul_u64(times, trips), depth + 1, count);
    }
  }
}

void lower_collective_counts(const struct work_graph *graph, struct lower_collective_count *count) {
  memset(count, 0, sizeof *count);
  count_graph(graph, 1, 0, count);
}
