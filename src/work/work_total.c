/* Sums over a sealed graph: loops multiplied out, of conditionals the costliest branch. */
#include <string.h>

#include "base/checked.h"
#include "work/work_int.h"

static uint64_t total_flops(const struct work_total *total) {
  return sat_add_u64(sat_add_u64(total->ops[WORK_ENGINE_MATRIX], total->ops[WORK_ENGINE_VECTOR]),
                     total->ops[WORK_ENGINE_FUNCTION]);
}

/* *sum += times x *part, field by field: every field is a count. */
static void total_add(struct work_total *sum, const struct work_total *part, uint64_t times) {
  _Static_assert(sizeof(struct work_total) % sizeof(uint64_t) == 0, "work_total holds nothing but 64-bit counts");
  enum { FIELDS = sizeof(struct work_total) / sizeof(uint64_t) };
  uint64_t a[FIELDS], b[FIELDS];
  memcpy(a, sum, sizeof a);
  memcpy(b, part, sizeof b);
  for (size_t i = 0; i < FIELDS; i++) {
    a[i] = sat_add_u64(a[i], sat_mul_u64(b[i], times));
  }
  memcpy(sum, a, sizeof a);
}

static void total_task(const struct work_graph *graph, const struct work_task *task, struct work_total *total) {
  enum work_class class_of = work_kind_info((enum work_kind)task->kind)->class_of;
  total->class_tasks[class_of] = sat_add_u64(total->class_tasks[class_of], 1);
  if (class_of == WORK_CLASS_FREE) {
    return;
  }
  if ((task->flags & WORK_TASK_OPAQUE) != 0) {
    total->opaque_tasks++;
    return;
  }
  total->launches++;
  for (uint32_t i = 0; i < task->demand_count; i++) {
    const struct work_demand_entry *entry = &graph->demands.data[task->demand_first + i];
    uint64_t *by_dtype = &total->ops_by_dtype[entry->engine][entry->dtype];
    total->ops[entry->engine] = sat_add_u64(total->ops[entry->engine], entry->ops);
    *by_dtype = sat_add_u64(*by_dtype, entry->ops);
    if (entry->engine != WORK_ENGINE_INTEGER) {
      total->class_ops[class_of] = sat_add_u64(total->class_ops[class_of], entry->ops);
    }
  }
  total->read_bytes = sat_add_u64(total->read_bytes, task->read_bytes);
  total->write_bytes = sat_add_u64(total->write_bytes, task->write_bytes);
  uint64_t bytes = sat_add_u64(task->read_bytes, task->write_bytes);
  total->class_bytes[class_of] = sat_add_u64(total->class_bytes[class_of], bytes);
  if (task->collective != 0) {
    total->collectives++;
    total->collective_bytes =
        sat_add_u64(total->collective_bytes, graph->collectives.data[task->collective - 1].bytes_per_rank);
  }
}

/* The branch with most FLOPs, then bytes, and its sums. Every graph is summed once per enclosing walk, so nested
 * conditionals stay linear. */
static uint32_t total_costliest(const struct work_graph *graph, const struct work_task *task, struct work_total *best) {
  uint32_t best_index = task->subgraph_first;
  uint64_t best_flops = 0, best_bytes = 0;
  for (uint32_t i = 0; i < task->subgraph_count; i++) {
    struct work_total total;
    work_graph_total(graph->subgraphs.data[task->subgraph_first + i], &total);
    uint64_t flops = total_flops(&total), bytes = sat_add_u64(total.read_bytes, total.write_bytes);
    if (i == 0 || flops > best_flops || (flops == best_flops && bytes > best_bytes)) {
      best_index = task->subgraph_first + i;
      best_flops = flops;
      best_bytes = bytes;
      *best = total;
    }
  }
  return best_index;
}

void work_graph_total(const struct work_graph *graph, struct work_total *total) {
  memset(total, 0, sizeof *total);
  for (size_t i = 0; i < graph->tasks.count; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    if (!work_task_is_control(task)) {
      total_task(graph, task, total);
      continue;
    }
    total->class_tasks[WORK_CLASS_CONTROL]++;
    if (task->subgraph_count == 0) {
      continue;
    }
    struct work_total part;
    if (task->kind == WORK_LOOP) {
      total->unknown_trip_loops += (task->flags & WORK_TASK_TRIP_UNKNOWN) != 0;
      work_graph_total(graph->subgraphs.data[task->subgraph_first], &part);
      total_add(total, &part, task->trip_count);
    } else {
      total_costliest(graph, task, &part);
      total_add(total, &part, 1);
    }
  }
}

uint32_t work_costliest_branch(const struct work_graph *graph, const struct work_task *task) {
  struct work_total total;
  return task->subgraph_count == 1 ? task->subgraph_first : total_costliest(graph, task, &total);
}

static uint64_t graph_traffic(const struct work_graph *graph) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < graph->tasks.count; i++) {
    bytes = sat_add_u64(bytes, work_task_traffic(graph, &graph->tasks.data[i]));
  }
  return bytes;
}

uint64_t work_task_traffic(const struct work_graph *graph, const struct work_task *task) {
  if (!work_task_is_control(task)) {
    return sat_add_u64(task->read_bytes, task->write_bytes);
  }
  if (task->subgraph_count == 0) {
    return 0;
  }
  if (task->kind == WORK_LOOP) {
    return sat_mul_u64(graph_traffic(graph->subgraphs.data[task->subgraph_first]), task->trip_count);
  }
  return graph_traffic(graph->subgraphs.data[work_costliest_branch(graph, task)]);
}
