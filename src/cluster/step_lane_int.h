/* A device at work on one graph: what step_lane_setup.c prepares and step_lane.c runs. */
#ifndef RIDGELINE_CLUSTER_STEP_LANE_INT_H
#define RIDGELINE_CLUSTER_STEP_LANE_INT_H

#include "cluster/step_int.h"

enum { STEP_NO_TASK = UINT32_MAX };

/* What a task is to the streams. */
enum lane_kind {
  LANE_FREE, /* done as soon as its operands are there */
  LANE_COMPUTE,
  LANE_ALONE, /* a loop or branch with collectives inside: nothing else is in flight meanwhile */
  LANE_COLLECTIVE
};

/* Binary heap of (priority, task), smallest first. */
struct lane_heap {
  uint64_t *keys;
  uint32_t count;
};
void lane_heap_push(struct lane_heap *heap, uint32_t priority, uint32_t task);
uint32_t lane_heap_pop(struct lane_heap *heap);
static inline uint32_t lane_heap_top(const struct lane_heap *heap) {
  return heap->count > 0 ? (uint32_t)heap->keys[0] : STEP_NO_TASK;
}

struct lane_stream {
  struct lane_heap waiting;
  uint32_t task; /* in flight; STEP_NO_TASK = idle */
  uint32_t price;
  double left_ps; /* at full speed */
  sim_time_ps start_ps, end_ps;
};

struct lane_machine {
  const struct step_network *network;
  const struct work_graph *graph;
  const struct work_graph_result *times;
  const struct step_prices *prices;
  const struct step_lane_options *options;
  struct step_lane *lane;
  uint32_t count; /* tasks */
  uint8_t *kinds; /* enum lane_kind */
  uint32_t *missing; /* per task: dependencies that are not done */
  uint32_t *reader_first, *readers; /* per task: whoever depends on it */
  uint32_t
      *needs; /* per task: first task of the program that reads its result, seen through free tasks; count = none */
  uint64_t *due_bytes; /* per task: gathered bytes that are let go when it is done */
  sim_time_ps *durations; /* of COMPUTE and ALONE */
  struct step_lane *inner; /* of ALONE, one pass; by inner_of */
  uint32_t *inner_of; /* per subgraph owner: index into `inner`; only for loops and conditionals */
  struct lane_heap ready; /* LATENCY_HIDING: compute tasks whose operands are there, in the order of the program */
  uint32_t *finished; /* stack of tasks whose readers are to be told */
  uint32_t finished_count, done_count;
  struct lane_stream streams[STEP_STREAMS_MAX + 1]; /* 1.. */
  uint32_t *order; /* else: tasks in the order of the compute stream; the program's, but EARLY_LATE */
  uint32_t cursor; /* next place of it */
  uint32_t given; /* collectives before this place have been given to their streams */
  uint32_t issued; /* so many, for their order */
  sim_time_ps now_ps;
  uint32_t task; /* on the compute stream; STEP_NO_TASK = idle */
  double left_ps, slowdown;
  sim_time_ps start_ps, end_ps;
  uint32_t computed; /* tasks that the compute stream has done */
  sim_time_ps computed_ps; /* end of the last task of the compute stream */
  uint64_t gathered_bytes; /* in flight or waiting for their reader */
};

/* Allocates and fills all but streams and clocks. Runs the subgraphs of loops and conditionals. */
enum status lane_prepare(struct lane_machine *machine, struct arena *arena, unsigned depth);
/* Fills `order` as XLA's memory scheduler would; readers are linked. */
enum status lane_order(struct lane_machine *machine, struct arena *arena);
/* Runs one graph at a depth of subgraphs. */
enum status lane_run(const struct step_network *network, const struct work_graph *graph,
                     const struct work_graph_result *times, const struct step_prices *prices,
                     const struct step_lane_options *options, struct arena *arena, unsigned depth,
                     struct step_lane *lane);

#endif
