/* The event core: events in order of (time, sequence). Times are integer picoseconds, so that sums are exact and results do
 * not depend on the order of evaluation. The queue is a flat 4-ary heap of 16-byte keys and 32-bit payloads; no allocation
 * per event once it has grown. */
#ifndef RIDGELINE_SIM_SIM_EVENTS_H
#define RIDGELINE_SIM_SIM_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef uint64_t sim_time_ps; /* 2^64 ps are 213 days */

struct sim_event {
  sim_time_ps time_ps;
  uint32_t kind, subject; /* meaning is the simulator's */
};

struct sim_queue; /* opaque */
struct sim_queue *sim_queue_new(void);
void sim_queue_free(struct sim_queue *queue);
/* False when memory is exhausted. Equal times come out in the order they went in. */
bool sim_queue_push(struct sim_queue *queue, struct sim_event event);
bool sim_queue_pop(struct sim_queue *queue, struct sim_event *event);
uint64_t sim_queue_popped(const struct sim_queue *queue); /* events so far */

#endif
