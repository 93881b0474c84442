/* One line per chip: order, what bounds it, what fusion gained, why it was refused, remarks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_int.h"

static bool is_error(enum diag_id id) {
  return diag_code(id)[0] == 'E';
}

/* The first remark that is an error. The sizes that a too small memory is about stand beside it in every report. */
static const char *refusal_note(const struct work_result *result) {
  for (size_t i = 0; i < result->notes.count; i++) {
    const struct work_note *note = &result->notes.data[i];
    if (is_error(note->id)) {
      return note->id == DIAG_E0504_DOES_NOT_FIT ? "exceeds the only memory of the chip" : note->text;
    }
  }
  return "the model gives no time";
}

static enum work_bound main_bound(const struct work_result *result) {
  int best = WORK_BOUND_NONE;
  double best_s = 0;
  for (int b = 0; b < WORK_BOUND_NONE; b++) {
    if (result->bound_s[b] > best_s) {
      best = b;
      best_s = result->bound_s[b];
    }
  }
  return (enum work_bound)best;
}

static uint64_t kernels_of(const struct report_estimate *estimate) {
  if (estimate->tasks_after > 0 || !estimate->graph) {
    return estimate->tasks_after;
  }
  struct work_total total;
  work_graph_total(estimate->graph, &total);
  return total.launches;
}

static struct report_summary summarise(const struct report_estimate *estimate) {
  const struct work_result *result = estimate->result;
  struct report_summary summary = {
      .estimate = estimate, .time_s = NAN, .slower = NAN, .gain = NAN, .bound = WORK_BOUND_NONE};
  summary.kernels = kernels_of(estimate);
  summary.is_fused = estimate->tasks_before > 0;
  summary.is_refused = !result || result->is_refused || !isfinite(result->time_s);
  if (summary.is_refused) {
    summary.reason = estimate->refusal ? estimate->refusal : result ? refusal_note(result) : "not predicted";
    return summary;
  }
  summary.time_s = result->time_s;
  summary.bound = main_bound(result);
  summary.bound_share = result->time_s > 0 ? result->bound_s[summary.bound] / result->time_s : 0;
  if (summary.is_fused && result->time_s > 0 && isfinite(estimate->unfused_time_s)) {
    summary.gain = estimate->unfused_time_s / result->time_s;
  }
  return summary;
}

static int compare_summaries(const void *left, const void *right) {
  const struct report_summary *a = left, *b = right;
  if (a->is_refused != b->is_refused) {
    return a->is_refused ? 1 : -1;
  }
  if (!a->is_refused && a->time_s != b->time_s) {
    return a->time_s < b->time_s ? -1 : 1;
  }
  return strcmp(a->estimate->chip->id, b->estimate->chip->id);
}

struct report_summary *report_summaries(const struct report_prediction *prediction) {
  size_t count = prediction->count;
  struct report_summary *rows = calloc(count ? count : 1, sizeof *rows);
  if (!rows) {
    return NULL;
  }
  for (size_t i = 0; i < count; i++) {
    rows[i] = summarise(&prediction->estimates[i]);
  }
  qsort(rows, count, sizeof *rows, compare_summaries);
  for (size_t i = 0; i < count; i++) {
    if (!rows[i].is_refused) {
      rows[i].slower = rows[0].time_s > 0 ? rows[i].time_s / rows[0].time_s : 1;
    }
  }
  return rows;
}

void report_reason(const struct report_summary *summary, struct strbuf *out) {
  /* what `supports` of a cost model says about a chip with gaps is the bare list of keys */
  const char *missing = summary->estimate->chip->missing;
  if (missing && summary->reason == missing) {
    strbuf_puts(out, "lacks ");
  }
  report_clean(out, summary->reason);
}

static void count_text(struct strbuf *text, uint64_t count, const char *one, const char *many) {
  report_integer(text, count);
  strbuf_printf(text, " %s", count == 1 ? one : many);
}

/* What the numbers of a result say is not timed. */
static void notes_of_numbers(const struct work_result *result, report_note_sink *sink, void *user) {
  struct strbuf text = {0};
  const char *code = diag_code(DIAG_W0503_NOT_TIMED);
  if (result->collectives > 0) {
    count_text(&text, result->collectives, "collective, ", "collectives, ");
    report_bytes(&text, result->collective_bytes);
    strbuf_puts(&text, ", not timed");
    sink(user, code, strbuf_text(&text), 1);
    strbuf_clear(&text);
  }
  if (result->opaque_tasks > 0) {
    count_text(&text, result->opaque_tasks, "operation", "operations");
    strbuf_puts(&text, " of unknown cost, not timed");
    sink(user, code, strbuf_text(&text), 1);
  }
  strbuf_release(&text);
}

/* A model's own wording of what notes_of_numbers says. */
static bool is_said_by_numbers(const struct work_note *note, const struct work_result *result) {
  return note->id == DIAG_W0503_NOT_TIMED
         && ((result->collectives > 0 && strstr(note->text, " collective"))
             || (result->opaque_tasks > 0 && strstr(note->text, " of unknown cost")));
}

void report_notes(const struct report_estimate *estimate, report_note_sink *sink, void *user) {
  const struct work_result *result = estimate->result;
  if (!result) {
    return;
  }
  for (size_t i = 0; i < result->notes.count; i++) {
    const struct work_note *note = &result->notes.data[i];
    if (!is_said_by_numbers(note, result)) {
      sink(user, diag_code(note->id), note->text, note->count);
    }
  }
  notes_of_numbers(result, sink, user);
}
