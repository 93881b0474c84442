/* What a program contains besides plain operations: collectives, loops, operations of unknown cost. */
#include <string.h>

#include "base/checked.h"
#include "report/report_int.h"

static void add_collective(struct report_program *program, const struct work_collective *collective, uint64_t times) {
  uint64_t bytes = sat_mul_u64(collective->bytes_per_rank, times);
  for (size_t i = 0; i < program->collectives.count; i++) {
    struct report_collective *row = &program->collectives.data[i];
    if (row->kind == collective->kind && row->group_size == collective->group_size) {
      row->count = sat_add_u64(row->count, times);
      row->bytes = sat_add_u64(row->bytes, bytes);
      return;
    }
  }
  struct report_collective row = {
      .kind = collective->kind, .group_size = collective->group_size, .count = times, .bytes = bytes};
  program->failed |= !vec_push(&program->collectives, row);
}

static void add_opaque(struct report_program *program, const struct work_graph *graph, const struct work_task *task,
                       uint64_t times) {
  const char *label = report_label(graph, task);
  for (size_t i = 0; i < program->opaque.count; i++) {
    struct report_opaque *row = &program->opaque.data[i];
    if (strcmp(row->label, label) == 0) {
      row->count = sat_add_u64(row->count, times);
      return;
    }
  }
  struct report_opaque row = {.label = label, .source_offset = task->source_offset, .count = times};
  program->failed |= !vec_push(&program->opaque, row);
}

static void walk_graph(struct report_program *program, const struct work_graph *graph, uint64_t times, uint32_t loops,
                       unsigned depth);

static void walk_inside(struct report_program *program, const struct work_graph *graph, uint32_t index, uint64_t times,
                        uint32_t loops, unsigned depth) {
  const struct work_task *task = &graph->tasks.data[index];
  bool is_loop = task->kind == WORK_LOOP;
  uint32_t first = task->subgraph_first, count = task->subgraph_count;
  if (is_loop) {
    struct report_loop row = {.graph = graph, .task = index, .depth = loops, .times = times};
    program->failed |= !vec_push(&program->loops, row);
    times = sat_mul_u64(times, task->trip_count);
  } else {
    first = report_branch(graph, task, NULL);
    count = first != UINT32_MAX;
  }
  for (uint32_t i = 0; i < count && depth < REPORT_MAX_DEPTH; i++) {
    walk_graph(program, graph->subgraphs.data[first + i], times, loops + is_loop, depth + 1);
  }
}

static void walk_graph(struct report_program *program, const struct work_graph *graph, uint64_t times, uint32_t loops,
                       unsigned depth) {
  for (uint32_t i = 0; i < graph->tasks.count && !program->failed; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    if (task->kind == WORK_LOOP || task->kind == WORK_CONDITIONAL) {
      walk_inside(program, graph, i, times, loops, depth);
    } else if (times > 0 && task->collective != 0) {
      add_collective(program, &graph->collectives.data[task->collective - 1], times);
    } else if (times > 0 && (task->flags & WORK_TASK_OPAQUE)) {
      add_opaque(program, graph, task, times);
    }
  }
}

void report_program_collect(struct report_program *program, const struct work_graph *graph) {
  *program = (struct report_program){0};
  walk_graph(program, graph, 1, 0, 0);
}

void report_program_release(struct report_program *program) {
  vec_release(&program->collectives);
  vec_release(&program->loops);
  vec_release(&program->opaque);
}
