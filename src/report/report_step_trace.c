/* The simulated step as a Chrome trace: a process per pipeline stage (one of its devices stands for all), a track for
 * computation and one per communication stream. Slices of one track never overlap: they are sorted, times are rounded to
 * nanoseconds once, and one that begins before the last has ended begins there. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/report_events.h"
#include "report/report_step_int.h"

static const uint64_t ps_per_ns = 1000;

struct trace {
  struct report_events events;
  const struct report_step_row *row;
  const struct report_lines *lines;
  size_t written, left_out;
};

static int by_track(const void *left, const void *right) {
  const struct step_span *a = *(const struct step_span *const *)left, *b = *(const struct step_span *const *)right;
  if (a->stage != b->stage) {
    return a->stage < b->stage ? -1 : 1;
  }
  if (a->stream != b->stream) {
    return a->stream < b->stream ? -1 : 1;
  }
  if (a->start_ps != b->start_ps) {
    return a->start_ps < b->start_ps ? -1 : 1;
  }
  return a < b ? -1 : a > b;
}

static const struct step_span **sorted(const struct step_result *result) {
  const struct step_span **spans = malloc((result->spans.count + 1) * sizeof *spans);
  for (size_t i = 0; spans && i < result->spans.count; i++) {
    spans[i] = &result->spans.data[i];
  }
  if (spans) {
    qsort(spans, result->spans.count, sizeof *spans, by_track);
  }
  return spans;
}

static int64_t to_ns(sim_time_ps time_ps) {
  return (int64_t)((time_ps + ps_per_ns / 2) / ps_per_ns);
}

static int track_of(const struct step_span *span) {
  return span->stream + 1; /* 0 is the process */
}

/* ---- slices ---- */

static const struct step_collective_row *row_of(const struct step_result *result,
                                                const struct work_collective *collective) {
  for (size_t i = 0; i < result->collectives.count; i++) {
    const struct step_collective_row *row = &result->collectives.data[i];
    if (row->kind == (enum work_collective_kind)collective->kind && row->bytes == (double)collective->bytes_per_rank
        && (row->group_size == collective->group_size || collective->group_size == 0)) {
      return row;
    }
  }
  return NULL;
}

static void put_collective(struct trace *trace, const struct work_graph *graph, const struct work_task *task) {
  const struct work_collective *collective = &graph->collectives.data[task->collective - 1];
  const struct step_collective_row *row = row_of(trace->row->result, collective);
  struct strbuf *out = trace->events.out;
  strbuf_printf(out, ",\"collective\":\"%s\",\"bytes\":%" PRIu64 ",\"group\":%" PRIu32,
                work_collective_name((enum work_collective_kind)collective->kind), collective->bytes_per_rank,
                collective->group_size);
  if (row && row->algorithm) {
    strbuf_puts(out, ",\"algorithm\":");
    report_json_quote(out, row->algorithm);
  }
  if (row && row->protocol && *row->protocol) {
    strbuf_puts(out, ",\"protocol\":");
    report_json_quote(out, row->protocol);
  }
}

static void put_task(struct trace *trace, const struct work_graph *graph, const struct work_task *task) {
  struct strbuf *out = trace->events.out, text = {0};
  report_task_shape(graph, task, &text);
  strbuf_puts(out, ",\"works on\":");
  report_json_quote(out, strbuf_text(&text));
  if (task->collective > 0) {
    put_collective(trace, graph, task);
  } else {
    strbuf_printf(out, ",\"flops\":%" PRIu64 ",\"bytes\":%" PRIu64, report_task_flops(graph, task, NULL),
                  report_task_bytes(task));
  }
  if (report_has_place(trace->lines, task->source_offset)) {
    strbuf_clear(&text);
    report_place(trace->lines, task->source_offset, &text);
    strbuf_puts(out, ",\"at\":");
    report_json_quote(out, strbuf_text(&text));
  }
  out->failed |= text.failed;
  strbuf_release(&text);
}

static void put_slice(struct trace *trace, const struct step_span *span, int64_t begin_ns, int64_t end_ns) {
  const struct step_program *program = trace->row->program;
  const struct work_graph *graph = report_step_part(program, span->place, span->role)->graph;
  bool is_task = graph && span->task < graph->tasks.count;
  struct strbuf name = {0};
  if (is_task) {
    report_task_name(graph, &graph->tasks.data[span->task], &name);
  } else {
    strbuf_puts(&name, span->task == UINT32_MAX ? "waiting" : "?");
  }
  report_event_slice(&trace->events, track_of(span), strbuf_text(&name), begin_ns, end_ns);
  strbuf_release(&name);
  strbuf_printf(trace->events.out, ",\"args\":{\"pass\":\"%s\"", report_step_role_name((enum step_role)span->role));
  if (program->stages > 1 || program->microbatches > 1) {
    strbuf_printf(trace->events.out, ",\"micro-batch\":%" PRIu32 ",\"chunk\":%u", span->microbatch, span->chunk);
  }
  if (is_task) {
    put_task(trace, graph, &graph->tasks.data[span->task]);
  }
  strbuf_puts(trace->events.out, "}}");
}

static void begin_stage(struct trace *trace, uint16_t stage) {
  const struct step_program *program = trace->row->program;
  struct strbuf name = {0};
  trace->events.process = stage + 1u;
  if (program->stages > 1) {
    strbuf_printf(&name, "stage %u, ", stage);
  }
  uint64_t first = stage * program->devices_per_stage;
  if (program->devices_per_stage > 1) {
    strbuf_printf(&name, "devices %" PRIu64 " to %" PRIu64, first, first + program->devices_per_stage - 1);
  } else {
    strbuf_printf(&name, "device %" PRIu64, first);
  }
  report_event_metadata(&trace->events, 0, "process_name", strbuf_text(&name));
  strbuf_release(&name);
  report_event_open(&trace->events, "M");
  strbuf_printf(trace->events.out, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%u}}", stage);
}

static void begin_track(struct trace *trace, const struct step_span *span) {
  char name[32] = "computation";
  if (span->stream > 0) {
    snprintf(name, sizeof name, "communication %u", span->stream);
  }
  report_event_metadata(&trace->events, track_of(span), "thread_name", name);
  report_event_open(&trace->events, "M");
  strbuf_printf(trace->events.out, ",\"tid\":%d,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%d}}",
                track_of(span), track_of(span));
}

static void draw(struct trace *trace, const struct step_span *const *spans, size_t count) {
  int64_t end_ns = 0;
  for (size_t i = 0; i < count; i++) {
    const struct step_span *span = spans[i], *before = i > 0 ? spans[i - 1] : NULL;
    bool is_new_stage = !before || before->stage != span->stage;
    if (is_new_stage) {
      begin_stage(trace, span->stage);
    }
    if (is_new_stage || before->stream != span->stream) {
      begin_track(trace, span);
      end_ns = 0;
    }
    int64_t from = to_ns(span->start_ps), to = to_ns(span->end_ps);
    from = from < end_ns ? end_ns : from;
    if (to <= from) {
      continue;
    }
    if (trace->written >= REPORT_STEP_TRACE_EVENTS) {
      trace->left_out++;
      continue;
    }
    put_slice(trace, span, from, to);
    trace->written++;
    end_ns = to;
  }
}

enum status report_step_trace(const struct report_step *step, struct strbuf *out) {
  size_t *order = malloc((step->count ? step->count : 1) * sizeof *order);
  if (!order) {
    return STATUS_MEMORY;
  }
  report_step_order(step, order);
  const struct report_step_row *row = step->count ? &step->rows[order[0]] : NULL;
  free(order);
  struct report_lines lines;
  report_lines_init(&lines, step->source);
  struct trace trace = {.events = {.out = out}, .row = row, .lines = &lines};
  strbuf_puts(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  if (row && row->result) {
    const struct step_span **spans = sorted(row->result);
    if (spans) {
      draw(&trace, spans, row->result->spans.count);
    }
    out->failed |= !spans;
    free(spans);
  }
  report_lines_release(&lines);
  strbuf_puts(out,
              "\n],\"otherData\":{\"format\":\"ridgeline-step-trace\",\"format_version\":1,\"ridgeline_version\":");
  report_json_quote(out, step->version);
  strbuf_puts(out, ",\"program\":");
  report_json_quote(out, step->program);
  strbuf_puts(out, ",\"cluster\":");
  report_json_quote(out, row ? row->cluster->id : "");
  strbuf_printf(out, ",\"slices\":%zu,\"slices_at_most\":%d,\"truncated\":%s}}\n", trace.written,
                REPORT_STEP_TRACE_EVENTS, trace.left_out > 0 ? "true" : "false");
  return out->failed ? STATUS_MEMORY : STATUS_OK;
}
