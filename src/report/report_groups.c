/* Equal operations summed over a program: a model with 32 layers lists its projection once, with count 32.
 * Path: work graph + result in, rows for tables and JSON out. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "report/report_int.h"

struct walk {
  struct report_groups *groups;
  bool by_shape;
};

static uint64_t hash_tensor(const struct work_graph *graph, uint64_t hash, uint32_t tensor) {
  const struct work_tensor *t = &graph->tensors.data[tensor];
  hash = hash_mix(hash, ((uint64_t)t->dtype << 8) | t->rank);
  for (uint32_t i = 0; i < t->rank; i++) {
    hash = hash_mix(hash, (uint64_t)graph->dims.data[t->dims_first + i]);
  }
  return hash;
}

/* Equal for tasks that are listed together. 64 bits over at most some 10^5 distinct tasks: a collision would add one row
 * to another with a probability below 10^-9. */
static uint64_t key_of(const struct work_graph *graph, const struct work_task *task, bool by_shape) {
  uint64_t hash = hash_mix(0x5EED, ((uint64_t)report_class(task) << 32) | task->label);
  if (task->label == 0 || by_shape) {
    hash = hash_mix(hash, task->kind);
  }
  if (!by_shape) {
    return hash;
  }
  for (uint32_t i = 0; i < task->stage_count; i++) {
    const struct work_stage *stage = &graph->stages.data[task->stage_first + i];
    hash = hash_mix(hash, ((uint64_t)stage->kind << 40) | ((uint64_t)stage->precision << 32) | stage->label);
  }
  for (uint32_t i = 0; i < task->access_count; i++) {
    hash = hash_tensor(graph, hash, graph->accesses.data[task->access_first + i].tensor);
  }
  for (uint32_t i = 0; i < task->demand_count; i++) {
    const struct work_demand_entry *entry = &graph->demands.data[task->demand_first + i];
    hash = hash_mix(hash, ((uint64_t)entry->engine << 24) | ((uint64_t)entry->dtype << 16) | entry->function);
    hash = hash_mix(hash, entry->ops);
  }
  return hash_mix(hash_mix(hash, task->read_bytes), task->write_bytes);
}

static struct report_group *group_of(struct walk *walk, const struct work_graph *graph, uint32_t task) {
  struct report_groups *groups = walk->groups;
  uint64_t key = key_of(graph, &graph->tasks.data[task], walk->by_shape);
  uint32_t row;
  if (map_get(&groups->index, key, &row)) {
    return &groups->rows.data[row];
  }
  struct report_group added = {.graph = graph, .task = task, .runs_as = DTYPE_NONE};
  row = (uint32_t)groups->rows.count;
  if (!vec_push(&groups->rows, added) || !map_set(&groups->index, key, row)) {
    groups->failed = true;
    return NULL;
  }
  return &groups->rows.data[row];
}

/* Without a result: bytes that the reference machine would move in the time of the task. */
static struct work_task_result reference_result(const struct work_graph *graph, const struct work_task *task) {
  uint64_t matrix;
  uint64_t flops = report_task_flops(graph, task, &matrix);
  double compute = (double)flops / REPORT_REFERENCE_FLOP_PER_BYTE;
  double bytes = (double)report_task_bytes(task);
  enum work_bound engine = matrix > flops / 2 ? WORK_BOUND_MATRIX : WORK_BOUND_VECTOR;
  return (struct work_task_result){.time_s = compute > bytes ? compute : bytes,
                                   .bound = (uint8_t)(compute > bytes ? engine : WORK_BOUND_MEMORY)};
}

static void add_task(struct walk *walk, const struct work_graph *graph, uint32_t index,
                     const struct work_task_result *result, double time_s, uint64_t times) {
  const struct work_task *task = &graph->tasks.data[index];
  struct report_group *group = group_of(walk, graph, index);
  if (!group) {
    return;
  }
  uint64_t matrix;
  uint64_t flops = report_task_flops(graph, task, &matrix);
  double total = time_s * (double)times;
  group->count = sat_add_u64(group->count, times);
  group->time_s += total;
  group->bound_s[result->bound] += total;
  group->flops = sat_add_u64(group->flops, sat_mul_u64(flops, times));
  group->matrix_flops = sat_add_u64(group->matrix_flops, sat_mul_u64(matrix, times));
  group->bytes = sat_add_u64(group->bytes, sat_mul_u64(report_task_bytes(task), times));
  group->runs_as = result->runs_as != DTYPE_NONE ? result->runs_as : group->runs_as;
  walk->groups->time_s += total;
}

static void walk_graph(struct walk *walk, const struct work_graph *graph, const struct work_graph_result *result,
                       uint64_t times, unsigned depth);

/* Goes into a loop or conditional; returns the time of one execution that is in its tasks. */
static double walk_inside(struct walk *walk, const struct work_graph *graph, const struct work_task *task,
                          const struct work_graph_result *result, uint64_t times, unsigned depth) {
  uint32_t first = task->subgraph_first, count = task->subgraph_count;
  uint64_t trips = task->kind == WORK_LOOP ? task->trip_count : 1;
  if (task->kind == WORK_CONDITIONAL) {
    first = report_branch(graph, task, result);
    count = first != UINT32_MAX;
  }
  double inside_s = 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct work_graph_result *part = result ? &result->subgraphs[first + i] : NULL;
    walk_graph(walk, graph->subgraphs.data[first + i], part, sat_mul_u64(times, trips), depth + 1);
    inside_s += part ? part->time_s * (double)trips : 0;
  }
  return inside_s;
}

static void walk_graph(struct walk *walk, const struct work_graph *graph, const struct work_graph_result *result,
                       uint64_t times, unsigned depth) {
  for (uint32_t i = 0; i < graph->tasks.count && times > 0 && !walk->groups->failed; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    if (report_is_free(task)) {
      continue;
    }
    struct work_task_result own = result ? result->tasks[i] : reference_result(graph, task);
    double time_s = own.time_s;
    if (task->subgraph_count > 0 && depth < REPORT_MAX_DEPTH) {
      double inside_s = walk_inside(walk, graph, task, result, times, depth);
      /* what is left is the loop's own; differences of rounding are nothing */
      time_s = result ? own.time_s - inside_s : 0;
      if (!(time_s > 1e-9 * own.time_s)) {
        continue;
      }
    }
    add_task(walk, graph, i, &own, time_s, times);
  }
}

static int compare_groups(const void *left, const void *right) {
  const struct report_group *a = left, *b = right;
  if (a->time_s != b->time_s) {
    return a->time_s > b->time_s ? -1 : 1;
  }
  if (a->count != b->count) {
    return a->count > b->count ? -1 : 1;
  }
  int names = strcmp(report_label(a->graph, report_group_task(a)), report_label(b->graph, report_group_task(b)));
  if (names != 0) {
    return names;
  }
  uint32_t at_a = report_group_task(a)->source_offset, at_b = report_group_task(b)->source_offset;
  if (at_a != at_b) {
    return at_a < at_b ? -1 : 1;
  }
  return a->task < b->task ? -1 : a->task > b->task;
}

void report_groups_collect(struct report_groups *groups, const struct work_graph *graph,
                           const struct work_graph_result *result, bool by_shape) {
  *groups = (struct report_groups){0};
  struct walk walk = {.groups = groups, .by_shape = by_shape};
  walk_graph(&walk, graph, result, 1, 0);
  map_release(&groups->index);
  if (groups->rows.count > 1) {
    qsort(groups->rows.data, groups->rows.count, sizeof *groups->rows.data, compare_groups);
  }
}

void report_groups_release(struct report_groups *groups) {
  map_release(&groups->index);
  vec_release(&groups->rows);
}

enum work_bound report_group_bound(const struct report_group *group) {
  int best = WORK_BOUND_NONE;
  double best_s = 0;
  for (int b = 0; b < WORK_BOUND_COUNT; b++) {
    if (group->bound_s[b] > best_s) {
      best = b;
      best_s = group->bound_s[b];
    }
  }
  return (enum work_bound)best;
}
