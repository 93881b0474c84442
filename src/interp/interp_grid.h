/* Devices that run in parallel: a grid of replicas and partitions, each a process on a thread of its own, and how they meet.
 * Names and groups as in the StableHLO specification, section Distributed operations. */
#ifndef RIDGELINE_INTERP_INTERP_GRID_H
#define RIDGELINE_INTERP_INTERP_GRID_H

#include "interp/interp_int.h"

enum { INTERP_MAX_PROCESSES = 1024 };

/* Processes that take part in one collective, as replica * partitions + partition, in the order of the group. */
struct interp_group {
  uint32_t *members;
  uint32_t count;
  uint32_t own; /* place of the process that asks */
};

/* Runs programs[replica * partitions + partition] with its arguments; all processes end before it returns. `infeed`: functions
 * that give the values of one infeed each, in order. Results: result_counts[i] owned values each. */
struct interp_programs {
  uint32_t replicas, partitions;
  const struct ir_op *functions;
  struct interp_value *const *const *arguments;
  const uint32_t *argument_counts;
  struct interp_value ***results;
  const uint32_t *result_counts;
  const struct ir_op *infeed;
  uint32_t infeed_count;
};
bool interp_grid_run(struct interp_call *call, const struct interp_programs *programs);

/* The group of this process, from replica_groups and what else says which processes they name; count 0 when it is in none.
 * Release members with free. */
bool interp_group_of(struct interp_call *call, struct interp_group *group);
/* Waits until every member of the group is here with its values, and gives those of all: value k of member i is
 * all[i * count + k], owned. `channel` keeps different collectives of the same processes apart. */
bool interp_meet(struct interp_call *call, const struct interp_group *group, int64_t channel,
                 struct interp_value *const *values, uint32_t count, struct interp_value **all);
/* Puts values into a channel; takes the oldest out of it, waiting for them. */
bool interp_channel_put(struct interp_call *call, int64_t channel, struct interp_value *const *values, uint32_t count);
bool interp_channel_take(struct interp_call *call, int64_t channel, struct interp_value **values, uint32_t count);
/* The function whose results the next infeed gives; 0 when there is none. */
struct ir_op interp_next_infeed(struct interp_call *call);
/* Handle of the operation's channel; 0 when it has none. */
int64_t interp_channel_of(const struct interp_call *call);
uint32_t interp_replicas(const struct interp_process *process);
uint32_t interp_partitions(const struct interp_process *process);

#endif
