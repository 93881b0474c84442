/* Chrome trace JSON as a stream of events, which chrome://tracing and ui.perfetto.dev open. Times are integer nanoseconds,
 * rounded once from the absolute time by the caller, so that nested slices nest.
 * Format: "Trace Event Format": complete events (ph X) and counters (ph C) with ts and dur in microseconds. */
#ifndef RIDGELINE_REPORT_REPORT_EVENTS_H
#define RIDGELINE_REPORT_REPORT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

struct report_events {
  struct strbuf *out;
  bool has_any; /* an event was written: the next one follows a comma */
  unsigned process;
};

/* Each opens an event; the caller may add members and closes the brace. */
void report_event_open(struct report_events *events, const char *phase);
void report_event_slice(struct report_events *events, int track, const char *name, int64_t begin_ns, int64_t end_ns);
/* Appends ,"key": with microseconds. */
void report_event_us(struct strbuf *out, const char *key, int64_t ns);
/* A name ("thread_name", "process_name") or order of a track, complete; track 0 = of the process. */
void report_event_metadata(struct report_events *events, int track, const char *name, const char *text);
/* Opens a counter up to the values: ,"args":{ follows; the caller closes two braces. */
void report_event_counter(struct report_events *events, const char *name, int64_t time_ns);

#endif
