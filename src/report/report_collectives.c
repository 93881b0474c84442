/* Algorithms of collectives side by side, as text and JSON. */
#include "report/report_collectives.h"

#include <math.h>

#include "report/report_int.h"

enum { SLICE_TEXT = 96 };

/* Shares of the buffer that cross the busiest link, for n ranks (nccl-tests, doc/PERFORMANCE.md): twice (n - 1) / n where data
 * is reduced and returned, once where it goes one way, the whole buffer of a broadcast, reduction or message. */
static const double bus_rounds[] = {[WORK_ALL_REDUCE] = 2,
                                    [WORK_ALL_GATHER] = 1,
                                    [WORK_REDUCE_SCATTER] = 1,
                                    [WORK_ALL_TO_ALL] = 1,
                                    [WORK_SEND_RECV] = 0};

double report_bus_bandwidth_Bps(enum work_collective_kind kind, double bytes, uint32_t ranks, double time_s) {
  if (!(time_s > 0) || ranks < 2) {
    return (double)NAN;
  }
  double share = bus_rounds[kind] > 0 ? bus_rounds[kind] * (ranks - 1.0) / ranks : 1;
  return share * bytes / time_s;
}

static void put_rate(struct strbuf *out, double rate_Bps) {
  report_si(out, rate_Bps, "B/s");
}

static void put_difference(struct strbuf *out, double fraction) {
  if (isfinite(fraction)) {
    strbuf_printf(out, "%+.1f %%", fraction * 100);
  } else {
    strbuf_putc(out, '-');
  }
}

static void put_row(const struct report_collectives *report, const struct report_collective_time *row,
                    struct report_table *table) {
  const struct collective_result *r = &row->result;
  double bytes = (double)row->bytes;
  report_table_cell(table, work_collective_name(row->kind));
  report_table_cell_count(table, report_bytes, row->bytes);
  report_table_cell(table, r->algorithm ? r->algorithm : "-");
  report_table_cell(table, r->protocol && *r->protocol ? r->protocol : "-");
  report_table_cell(table, row->is_chosen ? "taken" : "");
  report_table_cell_of(table, report_time, r->time_s);
  report_table_cell_of(table, report_time, r->launch_s);
  report_table_cell_of(table, report_time, r->latency_s);
  report_table_cell_of(table, report_time, r->transfer_s);
  report_table_cell_of(table, put_rate, r->time_s > 0 ? bytes / r->time_s : (double)NAN);
  report_table_cell_of(table, put_rate, report_bus_bandwidth_Bps(row->kind, bytes, report->ranks, r->time_s));
  if (report->has_events) {
    report_table_cell_of(table, report_time, row->event_s);
    report_table_cell_of(table, put_difference, r->time_s > 0 ? row->event_s / r->time_s - 1 : (double)NAN);
    report_table_cell(table, row->why ? row->why : "");
  }
}

static void put_open_axes(const struct report_collectives *report, struct strbuf *out) {
  struct group_shape shape;
  group_shape_strided(report->cluster, report->slice, report->ranks, report->stride, &shape);
  for (uint32_t d = 0; d < report->cluster->dimension_count; d++) {
    if (group_shape_is_open(report->cluster, report->slice, &shape, d)) {
      strbuf_printf(
          out,
          "%s: the slice is open along %s (%u devices): no link joins the last to the first, so that rings over it "
          "run as lines.\n",
          diag_code(DIAG_W0505_OPEN_AXIS), report->cluster->dimensions[d].name, report->slice->size[d]);
    }
  }
}

void report_collectives_text(const struct report_collectives *report, struct strbuf *out) {
  static const char *const headings[] = {"collective", "buffer",  "algorithm", "protocol", "library",
                                         "time",       "launch",  "latency",   "transfer", "buffer/time",
                                         "bus",        "events'", "against",   "remark"};
  static const enum report_align aligns[] = {REPORT_LEFT,  REPORT_RIGHT, REPORT_LEFT,  REPORT_LEFT,  REPORT_LEFT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT};
  enum { WITHOUT_EVENTS = 11 };
  char slice[SLICE_TEXT];
  hw_slice_text(report->slice, report->cluster, slice, sizeof slice);
  report_clean(out, report->cluster->name);
  strbuf_printf(out, " (%s), slice %s, groups of %u", report->cluster->id, slice, report->ranks);
  if (report->stride > 1) {
    strbuf_printf(out, ", every %uth device", report->stride);
  }
  strbuf_printf(out, ", library %s (Ridgeline %s)\n\n", report->cluster->library ? report->cluster->library : "-",
                report->version);
  struct report_table *table =
      report_table_new(headings, aligns, report->has_events ? sizeof aligns / sizeof *aligns : WITHOUT_EVENTS);
  for (size_t i = 0; i < report->count; i++) {
    put_row(report, &report->rows[i], table);
  }
  report_table_print(table, out);
  report_table_free(table);
  strbuf_puts(
      out,
      "\nbuffer: full buffer of a rank. bus: rate of the busiest link (nccl-tests). taken: the library's choice.\n");
  put_open_axes(report, out);
  if (report->has_events) {
    strbuf_puts(out, "events': time of the same messages on the event-driven network, launch included.\n");
  }
}

static json_t *row_of(struct report_json *json, const struct report_collectives *report,
                      const struct report_collective_time *row) {
  const struct collective_result *r = &row->result;
  json_t *object = json_object();
  report_json_set(json, object, "kind", json_string(work_collective_name(row->kind)));
  report_json_set(json, object, "bytes", report_json_uint(row->bytes));
  report_json_set(json, object, "algorithm", report_json_text(r->algorithm));
  report_json_set(json, object, "protocol", r->protocol && *r->protocol ? report_json_text(r->protocol) : json_null());
  report_json_set(json, object, "taken", json_boolean(row->is_chosen));
  report_json_set(json, object, "time_s", report_json_real(r->time_s));
  report_json_set(json, object, "launch_s", report_json_real(r->launch_s));
  report_json_set(json, object, "latency_s", report_json_real(r->latency_s));
  report_json_set(json, object, "transfer_s", report_json_real(r->transfer_s));
  report_json_set(json, object, "steps", report_json_uint(r->steps));
  report_json_set(json, object, "bus_rate",
                  report_json_real(report_bus_bandwidth_Bps(row->kind, (double)row->bytes, report->ranks, r->time_s)));
  bool has_time = report->has_events && isfinite(row->event_s);
  report_json_set(json, object, "event_time_s", report_json_real(has_time ? row->event_s : (double)NAN));
  report_json_set(json, object, "events", has_time ? report_json_uint(row->events) : json_null());
  return object;
}

enum status report_collectives_json(const struct report_collectives *report, struct strbuf *out) {
  struct report_json json = {0};
  char slice[SLICE_TEXT];
  hw_slice_text(report->slice, report->cluster, slice, sizeof slice);
  json_t *root = report_json_document(&json, "ridgeline-collectives", report->version);
  report_json_set(&json, root, "cluster", report_json_text(report->cluster->id));
  report_json_set(&json, root, "slice", report_json_text(slice));
  report_json_set(&json, root, "devices", report_json_uint(report->slice->devices));
  report_json_set(&json, root, "library", report_json_text(report->cluster->library));
  report_json_set(&json, root, "ranks", report_json_uint(report->ranks));
  report_json_set(&json, root, "stride", report_json_uint(report->stride));
  json_t *rows = json_array();
  for (size_t i = 0; i < report->count; i++) {
    report_json_append(&json, rows, row_of(&json, report, &report->rows[i]));
  }
  report_json_set(&json, root, "times", rows);
  return report_json_finish(&json, root, out);
}
