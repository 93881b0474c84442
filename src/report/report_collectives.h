/* One collective by every algorithm that a cluster's library could take: what `ridgeline collectives` prints.
 * Path: cluster/collective.h, timed by the caller → here → bytes for the user. */
#ifndef RIDGELINE_REPORT_REPORT_COLLECTIVES_H
#define RIDGELINE_REPORT_REPORT_COLLECTIVES_H

#include "base/status.h"
#include "base/strbuf.h"
#include "cluster/collective.h"
#include "hw/hw_cluster.h"

struct report_collective_time {
  enum work_collective_kind kind;
  uint64_t bytes; /* full buffer of one rank */
  bool is_chosen; /* by the library at this size */
  struct collective_result result;
  double event_s; /* of the event-driven network; NaN = not run */
  uint64_t events; /* of that */
  const char *why; /* no event-driven time: why; NULL = there is one, or none was asked for */
};
struct report_collectives {
  const char *version;
  const struct hw_cluster *cluster;
  const struct hw_slice *slice;
  uint32_t ranks, stride; /* of a group, and distance of its neighbours in device numbers */
  bool has_events; /* the event-driven network was asked for */
  const struct report_collective_time *rows; /* by kind and size, the order of printing */
  size_t count;
};

/* Bytes per second that a link must carry for the time, whatever the algorithm: the "bus bandwidth" of nccl-tests. NaN for
 * kinds that have none. */
double report_bus_bandwidth_Bps(enum work_collective_kind kind, double bytes, uint32_t ranks, double time_s);

void report_collectives_text(const struct report_collectives *report, struct strbuf *out);
/* docs/json.md, "collectives". */
enum status report_collectives_json(const struct report_collectives *report, struct strbuf *out);

#endif
