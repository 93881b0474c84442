/* The predicted timeline as Chrome trace JSON, which chrome://tracing and ui.perfetto.dev open: one process per chip, one
 * track of kernels with loops around them, one track of what bounds them. Written as a stream: a trace is as long as the
 * program. Times are kept in integer nanoseconds, rounded once from the absolute time, so that nested slices nest.
 * Format: "Trace Event Format", complete events (ph X) with ts and dur in microseconds. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/checked.h"
#include "report/report_events.h"
#include "report/report_int.h"

enum { TRACK_KERNELS = 1, TRACK_BOUNDS = 2 };

/* Times beyond this (about 104 days) do not fit the integers that viewers use; everything later is drawn there. */
static const double latest_s = 9.0e6;

struct trace {
  struct report_events events;
  const struct report_lines *lines;
  size_t written; /* slices of this chip */
  size_t budget; /* of this chip */
  size_t all; /* slices of all chips */
  bool is_truncated;
  /* run of kernels with the same bound, not yet written */
  enum work_bound run_bound;
  int64_t run_begin_ns, run_end_ns;
};

static int64_t to_ns(double seconds) {
  return llround(fmin(seconds, latest_s) * 1e9);
}

static void open_slice(struct trace *trace, int track, const char *name, int64_t begin_ns, int64_t end_ns) {
  report_event_slice(&trace->events, track, name, begin_ns, end_ns);
  trace->written++;
  trace->all++;
}

static void end_run(struct trace *trace) {
  if (trace->run_bound != WORK_BOUND_NONE) {
    open_slice(trace, TRACK_BOUNDS, work_bound_name(trace->run_bound), trace->run_begin_ns, trace->run_end_ns);
    strbuf_putc(trace->events.out, '}');
  }
  trace->run_bound = WORK_BOUND_NONE;
}

static void extend_run(struct trace *trace, enum work_bound bound, int64_t begin_ns, int64_t end_ns) {
  if (bound != trace->run_bound || begin_ns != trace->run_end_ns) {
    end_run(trace);
    trace->run_bound = bound;
    trace->run_begin_ns = begin_ns;
  }
  trace->run_end_ns = end_ns;
}

/* One level of the program being drawn. */
struct scope {
  const struct work_graph *graph;
  const struct work_graph_result *result;
  double begin_s; /* of this pass */
  int64_t end_ns; /* of what encloses it */
  unsigned depth;
};

static int64_t clamp_ns(const struct scope *scope, double seconds) {
  int64_t ns = to_ns(seconds);
  return ns < scope->end_ns ? ns : scope->end_ns;
}

/* A slice that stands for several: no bound, no arguments. */
static void summary_slice(struct trace *trace, const struct scope *scope, const char *name, double begin_s,
                          double end_s) {
  int64_t begin_ns = clamp_ns(scope, begin_s), end_ns = clamp_ns(scope, end_s);
  if (end_ns > begin_ns) {
    open_slice(trace, TRACK_KERNELS, name, begin_ns, end_ns);
    strbuf_putc(trace->events.out, '}');
  }
}

static void kernel_slice(struct trace *trace, const struct scope *scope, uint32_t index, double begin_s) {
  const struct work_task *task = &scope->graph->tasks.data[index];
  const struct work_task_result *result = &scope->result->tasks[index];
  int64_t begin_ns = clamp_ns(scope, begin_s), end_ns = clamp_ns(scope, begin_s + result->time_s);
  struct strbuf *out = trace->events.out, text = {0};
  enum work_bound bound = (enum work_bound)result->bound;
  report_task_name(scope->graph, task, &text);
  open_slice(trace, TRACK_KERNELS, strbuf_text(&text), begin_ns, end_ns);
  strbuf_clear(&text);
  report_task_shape(scope->graph, task, &text);
  strbuf_puts(out, ",\"args\":{\"works on\":");
  report_json_quote(out, strbuf_text(&text));
  strbuf_printf(out, ",\"bound by\":\"%s\",\"flops\":%" PRIu64 ",\"bytes\":%" PRIu64, work_bound_name(bound),
                report_task_flops(scope->graph, task, NULL), report_task_bytes(task));
  if (result->runs_as != DTYPE_NONE) {
    strbuf_printf(out, ",\"runs as\":\"%s\"", dtype_name((enum dtype)result->runs_as));
  }
  if (report_has_place(trace->lines, task->source_offset)) {
    strbuf_clear(&text);
    report_place(trace->lines, task->source_offset, &text);
    strbuf_puts(out, ",\"at\":");
    report_json_quote(out, strbuf_text(&text));
  }
  strbuf_puts(out, "}}");
  out->failed |= text.failed;
  strbuf_release(&text);
  if (end_ns > begin_ns) {
    extend_run(trace, bound, begin_ns, end_ns);
  }
}

static void draw_pass(struct trace *trace, const struct scope *scope);

/* Space for what is still to be written on the way out: the summarising slices of all enclosing levels, and runs. */
static bool is_full(const struct trace *trace, const struct scope *scope) {
  return trace->written + 2 * (size_t)scope->depth + 4 >= trace->budget;
}

/* All iterations of a loop, or the branch of a conditional, inside the slice of the task. */
static void draw_inside(struct trace *trace, const struct scope *outer, const struct work_task *task, double begin_s,
                        int64_t end_ns) {
  bool is_loop = task->kind == WORK_LOOP;
  uint32_t branch = is_loop ? task->subgraph_first : report_branch(outer->graph, task, outer->result);
  if (branch == UINT32_MAX) {
    return;
  }
  const struct work_graph_result *result = &outer->result->subgraphs[branch];
  uint64_t trips = is_loop ? task->trip_count : 1;
  struct scope scope = {
      .graph = outer->graph->subgraphs.data[branch], .result = result, .end_ns = end_ns, .depth = outer->depth + 1};
  uint64_t drawn = 0;
  for (; drawn < trips && drawn < REPORT_TRACE_ITERATIONS && !is_full(trace, &scope); drawn++) {
    scope.begin_s = begin_s + result->time_s * (double)drawn;
    draw_pass(trace, &scope);
  }
  if (drawn < trips) {
    struct strbuf name = {0};
    trace->is_truncated |= drawn < REPORT_TRACE_ITERATIONS;
    strbuf_printf(&name, "iterations %" PRIu64 " to %" PRIu64 ", ", drawn + 1, trips);
    report_time(&name, result->time_s);
    strbuf_puts(&name, " each");
    summary_slice(trace, &scope, strbuf_text(&name), begin_s + result->time_s * (double)drawn,
                  begin_s + result->time_s * (double)trips);
    strbuf_release(&name);
  }
}

static void draw_control(struct trace *trace, const struct scope *scope, uint32_t index, double begin_s) {
  const struct work_task *task = &scope->graph->tasks.data[index];
  int64_t begin_ns = clamp_ns(scope, begin_s);
  int64_t end_ns = clamp_ns(scope, begin_s + scope->result->tasks[index].time_s);
  struct strbuf name = {0};
  if (end_ns <= begin_ns) {
    return;
  }
  report_task_name(scope->graph, task, &name);
  if (task->kind == WORK_LOOP) {
    strbuf_printf(&name, " ×%" PRIu64, task->trip_count);
  }
  open_slice(trace, TRACK_KERNELS, strbuf_text(&name), begin_ns, end_ns);
  strbuf_putc(trace->events.out, '}');
  strbuf_release(&name);
  if (scope->depth < REPORT_MAX_DEPTH) {
    draw_inside(trace, scope, task, begin_s, end_ns);
  }
}

static void draw_pass(struct trace *trace, const struct scope *scope) {
  double now_s = scope->begin_s;
  for (uint32_t i = 0; i < scope->graph->tasks.count; i++) {
    const struct work_task *task = &scope->graph->tasks.data[i];
    double time_s = scope->result->tasks[i].time_s;
    if (report_is_free(task) || !(time_s > 0)) {
      continue;
    }
    if (is_full(trace, scope)) {
      trace->is_truncated = true;
      summary_slice(trace, scope, "further operations, not shown one by one", now_s,
                    scope->begin_s + scope->result->time_s);
      return;
    }
    if (task->subgraph_count > 0) {
      draw_control(trace, scope, i, now_s);
    } else {
      kernel_slice(trace, scope, i, now_s);
    }
    now_s += time_s;
  }
}

static void draw_chip(struct trace *trace, const struct report_summary *row) {
  const struct work_result *result = row->estimate->result;
  struct strbuf name = {0};
  report_clean(&name, row->estimate->chip->name);
  strbuf_puts(&name, ": ");
  report_time(&name, row->time_s);
  report_event_metadata(&trace->events, 0, "process_name", strbuf_text(&name));
  strbuf_release(&name);
  report_event_open(&trace->events, "M");
  strbuf_printf(trace->events.out, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%u}}",
                trace->events.process);
  report_event_metadata(&trace->events, TRACK_KERNELS, "thread_name", "kernels");
  report_event_metadata(&trace->events, TRACK_BOUNDS, "thread_name", "bound by");
  trace->written = 0;
  trace->run_bound = WORK_BOUND_NONE;
  struct scope scope = {.graph = row->estimate->graph, .result = &result->root, .end_ns = to_ns(latest_s)};
  summary_slice(trace, &scope, "dispatch", 0, result->dispatch_s);
  scope.begin_s = result->dispatch_s;
  draw_pass(trace, &scope);
  end_run(trace);
}

static void put_refused(const struct report_summary *rows, size_t count, struct strbuf *out) {
  bool is_first = true;
  strbuf_puts(out, ",\"refused\":{");
  for (size_t i = 0; i < count; i++) {
    if (!rows[i].is_refused) {
      continue;
    }
    struct strbuf reason = {0};
    report_reason(&rows[i], &reason);
    strbuf_puts(out, is_first ? "" : ",");
    report_json_quote(out, rows[i].estimate->chip->id);
    strbuf_putc(out, ':');
    report_json_quote(out, strbuf_text(&reason));
    strbuf_release(&reason);
    is_first = false;
  }
  strbuf_putc(out, '}');
}

enum status report_prediction_trace(const struct report_prediction *prediction, struct strbuf *out) {
  struct report_summary *rows = report_summaries(prediction);
  if (!rows) {
    return STATUS_MEMORY;
  }
  struct report_lines lines;
  report_lines_init(&lines, prediction->source);
  size_t drawn = 0;
  while (drawn < prediction->count && !rows[drawn].is_refused) {
    drawn++;
  }
  struct trace trace = {.events = {.out = out}, .lines = &lines, .budget = REPORT_TRACE_EVENTS / (drawn ? drawn : 1)};
  strbuf_puts(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  for (size_t i = 0; i < drawn; i++) {
    trace.events.process = (unsigned)i + 1;
    draw_chip(&trace, &rows[i]);
  }
  strbuf_puts(out, "\n],\"otherData\":{\"format\":\"ridgeline-trace\",\"format_version\":1,\"ridgeline_version\":");
  report_json_quote(out, prediction->version);
  strbuf_puts(out, ",\"program\":");
  report_json_quote(out, prediction->program);
  strbuf_puts(out, ",\"fidelity\":");
  report_json_quote(out, prediction->fidelity);
  strbuf_printf(out, ",\"slices\":%zu,\"slices_at_most\":%d,\"truncated\":%s", trace.all, REPORT_TRACE_EVENTS,
                trace.is_truncated ? "true" : "false");
  put_refused(rows, prediction->count, out);
  strbuf_puts(out, "}}\n");
  report_lines_release(&lines);
  free(rows);
  return out->failed ? STATUS_MEMORY : STATUS_OK;
}
