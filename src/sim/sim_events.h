/* The event core: events in order of (time, sequence). Times are integer picoseconds, so that sums are exact and results do
 * not depend on the order of evaluation.
 *
 * Events of equal time form one bucket, first in first out; a flat 4-ary heap orders the buckets. Simulations of alike
 * devices have many events at each time and pay O(1) for them; no allocation per event once the queue has grown. */
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
/* False when memory is exhausted. Equal times come out in the order they went in. A time may lie before the last popped
 * one; it then comes next. */
bool sim_queue_push(struct sim_queue *queue, struct sim_event event);
bool sim_queue_pop(struct sim_queue *queue, struct sim_event *event);
/* Pops only if the next event is at `time_ps`. */
bool sim_queue_pop_at(struct sim_queue *queue, sim_time_ps time_ps, struct sim_event *event);
uint64_t sim_queue_popped(const struct sim_queue *queue); /* events so far */

#endif
