/* The messages of a collective, made explicit for the event-driven network: who sends how much to whom, after what. */
#ifndef RIDGELINE_CLUSTER_COLLECTIVE_SCHEDULE_H
#define RIDGELINE_CLUSTER_COLLECTIVE_SCHEDULE_H

#include <stdint.h>

#include "base/status.h"
#include "base/vec.h"

/* Messages of one step may start when all messages of the previous step *to their sender* have arrived (and, `reduces`, been
 * added). Ranks are numbers within the group. A step whose messages are all alike (same distance, same bytes) may be given
 * once, as `is_rotation`: every rank r sends to (r + to) mod size. */
struct collective_message {
  uint32_t from, to;
  uint64_t bytes;
};
struct collective_step {
  uint32_t message_first, message_count; /* in messages[]; 1 for a rotation */
  bool is_rotation;
  bool reduces;
  uint32_t repeats; /* this step so often, one after the other; at least 1 */
};
struct collective_schedule {
  uint32_t ranks;
  VEC(struct collective_step) steps;
  VEC(struct collective_message) messages;
};
void collective_schedule_release(struct collective_schedule *schedule);

#endif
