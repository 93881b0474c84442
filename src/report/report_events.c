/* Events of Chrome traces. Path: used by the traces of predictions and plans. */
#include "report/report_events.h"

#include <inttypes.h>

#include "report/report_int.h"

void report_event_open(struct report_events *events, const char *phase) {
  strbuf_puts(events->out, events->has_any ? ",\n" : "\n");
  events->has_any = true;
  strbuf_printf(events->out, "{\"ph\":\"%s\",\"pid\":%u", phase, events->process);
}

void report_event_us(struct strbuf *out, const char *key, int64_t ns) {
  strbuf_printf(out, ",\"%s\":%" PRId64 ".%03" PRId64, key, ns / 1000, ns % 1000);
}

void report_event_slice(struct report_events *events, int track, const char *name, int64_t begin_ns, int64_t end_ns) {
  report_event_open(events, "X");
  strbuf_printf(events->out, ",\"tid\":%d", track);
  report_event_us(events->out, "ts", begin_ns);
  report_event_us(events->out, "dur", end_ns - begin_ns);
  strbuf_puts(events->out, ",\"name\":");
  report_json_quote(events->out, name);
}

void report_event_metadata(struct report_events *events, int track, const char *name, const char *text) {
  report_event_open(events, "M");
  if (track) {
    strbuf_printf(events->out, ",\"tid\":%d", track);
  }
  strbuf_printf(events->out, ",\"name\":\"%s\",\"args\":{\"name\":", name);
  report_json_quote(events->out, text);
  strbuf_puts(events->out, "}}");
}

void report_event_counter(struct report_events *events, const char *name, int64_t time_ns) {
  report_event_open(events, "C");
  report_event_us(events->out, "ts", time_ns);
  strbuf_puts(events->out, ",\"name\":");
  report_json_quote(events->out, name);
  strbuf_puts(events->out, ",\"args\":{");
}
