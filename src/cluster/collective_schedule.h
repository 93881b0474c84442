/* The messages of a collective, made explicit for the event-driven network: who sends how much to whom, after what.
 *
 * Path: a function of schedule.h fills it for one group → collective_run expands it over groups and devices → sim/. Steps are
 * a few lines per algorithm, not one per message: a ring all-reduce is two steps with p - 1 repeats. */
#ifndef RIDGELINE_CLUSTER_COLLECTIVE_SCHEDULE_H
#define RIDGELINE_CLUSTER_COLLECTIVE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/vec.h"

/* Ranks are numbers within the group; rank number `ranks` is the adder of the switch, where the fabric has one. */
struct collective_message {
  uint32_t from, to;
  uint64_t bytes;
};

enum collective_pattern {
  COLLECTIVE_LIST, /* messages as they stand */
  /* Each message stands for one of every rank: digit x = (rank / stride) mod block of the sender becomes */
  COLLECTIVE_ROTATION, /* (x + to) mod block */
  COLLECTIVE_EXCHANGE /* x xor to; block is a power of two */
};

/* What arrives at a rank is queued there on a lane. A message starts when what has arrived on the lane that its step waits
 * for is there: all that earlier steps deliver to its sender on that lane and that no send of a step between has waited for.
 * Messages of one sender to one receiver on one lane leave one after the other, as on a connection. Lanes are independent of
 * each other; that is how chunks follow each other through a pipeline. */
struct collective_step {
  uint32_t message_first, message_count; /* in messages[] */
  enum collective_pattern pattern;
  uint32_t block, stride; /* ROTATION, EXCHANGE */
  uint32_t waits, delivers; /* lanes */
  uint32_t waits_count; /* it waits for so many lanes from `waits` on; at least 1 */
  bool waits_for_all; /* for what those lanes hold at all ranks of the group: a stage begins everywhere at once */
  bool reduces; /* the receiver adds what arrives to its own */
  uint32_t repeats; /* this step so often, one after the other; at least 1 */
};

struct collective_schedule {
  uint32_t ranks; /* set before it is filled */
  uint32_t chunks; /* into which pipelined algorithms cut; set before, 0 = as schedule_chunks says */
  uint32_t lanes;
  bool has_adder;
  bool out_of_memory;
  VEC(struct collective_step) steps;
  VEC(struct collective_message) messages;
  struct collective_step spare; /* what building writes to when memory is exhausted */
};
void collective_schedule_release(struct collective_schedule *schedule);

#endif
