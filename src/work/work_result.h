/* What a predictor says about a work graph on a chip, with its reasons. Filled by cost/, read by report/. */
#ifndef RIDGELINE_WORK_WORK_RESULT_H
#define RIDGELINE_WORK_WORK_RESULT_H

#include "work/work.h"

/* What the time of a task is made of; the largest resource is its bound. */
enum work_bound {
  WORK_BOUND_MATRIX,
  WORK_BOUND_VECTOR,
  WORK_BOUND_FUNCTION,
  WORK_BOUND_INTEGER,
  WORK_BOUND_CACHE, /* last shared on-chip level */
  WORK_BOUND_MEMORY, /* off-chip */
  WORK_BOUND_LAUNCH,
  WORK_BOUND_NETWORK,
  WORK_BOUND_NONE, /* free or not timed */
  WORK_BOUND_COUNT
};
const char *work_bound_name(enum work_bound bound);

struct work_task_result {
  double time_s; /* one execution, launch included; a loop: all iterations */
  double resource_s[WORK_BOUND_COUNT]; /* time each resource alone would take */
  uint8_t bound; /* enum work_bound */
  uint8_t runs_as; /* enum dtype of the hero's engine when it differs from the program's; else NONE */
};

/* One remark of a prediction; `count` tasks share it. */
struct work_note {
  enum diag_id id;
  const char *text;
  uint64_t count;
};

struct work_graph_result {
  struct work_task_result *tasks; /* parallel to graph->tasks */
  struct work_graph_result *subgraphs; /* parallel to graph->subgraphs */
  double time_s; /* sum in order, one pass */
};

struct work_result {
  struct arena arena; /* owns all below */
  struct work_graph_result root;
  double time_s; /* root plus dispatch */
  double low_s, high_s; /* 90 % interval of time_s */
  double fitted_share, inherited_share; /* of the time: kernels measured on this chip, on another one of its family */
  double dispatch_s;
  double bound_s[WORK_BOUND_COUNT]; /* time of all tasks by what bounds them, loops multiplied out */
  double class_s[WORK_CLASS_COUNT];
  uint64_t class_count[WORK_CLASS_COUNT];
  double flops, bytes; /* matrix + vector + function operations; off-chip bytes as modelled */
  double matrix_utilisation; /* matrix FLOPs / (time x peak of the type that has most of them) */
  struct work_memory memory;
  uint64_t capacity_bytes;
  bool fits;
  bool is_refused; /* an unsupported dtype or a chip that cannot hold it: time_s is NaN, notes say why */
  uint64_t collectives, collective_bytes; /* not timed */
  uint64_t opaque_tasks;
  VEC(struct work_note) notes;
};

void work_result_init(struct work_result *result);
void work_result_release(struct work_result *result);
/* Adds a remark, or counts it up when the same text is there. */
void work_result_note(struct work_result *result, enum diag_id id, uint64_t count, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
