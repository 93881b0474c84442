/* Inside of report/: what its files share. Summaries and groups of operations are computed here once and printed twice,
 * as text and as JSON. */
#ifndef RIDGELINE_REPORT_REPORT_INT_H
#define RIDGELINE_REPORT_REPORT_INT_H

#include <jansson.h>

#include "base/map.h"
#include "base/vec.h"
#include "report/report.h"

/* Nesting of loops and conditionals that reports follow; what lies deeper counts as part of the task at this depth. */
enum { REPORT_MAX_DEPTH = 256 };

/* ---- text (report_text.c) ---- */
/* Length in bytes of the UTF-8 sequence at text[0..length), 0 when it is not well-formed there. */
size_t report_utf8_length(const char *text, size_t length);
/* Appends `text` with ill-formed bytes as U+FFFD and control characters as '?'. NULL appends "-". */
void report_clean(struct strbuf *out, const char *text);
/* The same, cut to `width` code points with "…" as the last one. */
void report_cut(struct strbuf *out, const char *text, size_t width);
/* Code points of well-formed text. */
size_t report_width(const char *text);

/* ---- places in the program (report_lines.c) ---- */
/* Start of every line, so that a place is found in O(log lines). A zeroed struct has no places. */
struct report_lines {
  const struct source *source;
  VEC(size_t) starts;
};
/* `source` may be NULL; failure leaves no places. */
void report_lines_init(struct report_lines *lines, const struct source *source);
void report_lines_release(struct report_lines *lines);
/* 1-based line of an offset; 0 = unknown. Offset 0 is the module itself and means "no place". */
size_t report_line(const struct report_lines *lines, uint32_t offset);
bool report_has_place(const struct report_lines *lines, uint32_t offset);
/* Appends "file:line", or "file:byte N" for a program read from bytecode; "-" when unknown. */
void report_place(const struct report_lines *lines, uint32_t offset, struct strbuf *out);

/* ---- tasks (report_tasks.c) ---- */
/* Name of the task's operation, "?" when it has none. */
const char *report_label(const struct work_graph *graph, const struct work_task *task);
/* The name plus " +3" when three more computations are fused into the task. */
void report_task_name(const struct work_graph *graph, const struct work_task *task, struct strbuf *out);
/* What it works on: "b8 m128 n128 k64 bf16" for contractions, else "f32[8,128]" of the result, "in→out" for reductions. */
void report_task_shape(const struct work_graph *graph, const struct work_task *task, struct strbuf *out);
/* "f32[8,128]". */
void report_tensor_type(const struct work_graph *graph, uint32_t tensor, struct strbuf *out);
/* Operations of one execution; `matrix` may be NULL. Saturate. */
uint64_t report_task_flops(const struct work_graph *graph, const struct work_task *task, uint64_t *matrix);
uint64_t report_task_bytes(const struct work_task *task);
/* Subgraph (index in graph->subgraphs) of the branch that a conditional is reported with: the slowest of the result, else
 * the one with most FLOPs, then bytes. UINT32_MAX when there is none. */
uint32_t report_branch(const struct work_graph *graph, const struct work_task *task,
                       const struct work_graph_result *result);
bool report_is_free(const struct work_task *task);
enum work_class report_class(const struct work_task *task);

/* ---- groups of equal operations (report_groups.c) ---- */
struct report_group {
  const struct work_graph *graph; /* where the first one is */
  uint32_t task;
  uint64_t count; /* executions, loops multiplied out */
  double time_s; /* of all; without a result: reference bytes, see report_groups_collect */
  double bound_s[WORK_BOUND_COUNT];
  uint64_t flops, matrix_flops, bytes;
  uint8_t runs_as; /* enum dtype; NONE = as the program says */
};
struct report_groups {
  VEC(struct report_group) rows; /* most time first */
  struct map index; /* key of a group to row */
  double time_s; /* of all rows */
  bool failed;
};
/* Balance of the reference machine that `inspect` weighs operations with. */
enum { REPORT_REFERENCE_FLOP_PER_BYTE = 100 };
/* Groups the tasks of a graph by operation, fused operations, shapes and cost, or by name and class only. With a result,
 * times are its times; without one, the time of a task is max(FLOPs / REPORT_REFERENCE_FLOP_PER_BYTE, bytes). What a loop
 * or conditional takes beyond its tasks is a row of its own. */
void report_groups_collect(struct report_groups *groups, const struct work_graph *graph,
                           const struct work_graph_result *result, bool by_shape);
void report_groups_release(struct report_groups *groups);
/* What bounds most of the group's time. */
enum work_bound report_group_bound(const struct report_group *group);
static inline const struct work_task *report_group_task(const struct report_group *group) {
  return &group->graph->tasks.data[group->task];
}

/* ---- estimates (report_summary.c) ---- */
struct report_summary {
  const struct report_estimate *estimate;
  bool is_refused;
  const char *reason; /* why; NULL unless refused */
  double time_s; /* NaN when refused */
  double slower; /* time / the fastest time; NaN when refused */
  enum work_bound bound; /* of most of the time; NONE when nothing takes time */
  double bound_share;
  bool is_fused; /* what fusion did is known */
  double gain; /* unfused time / time; NaN when unknown */
  uint64_t kernels;
};
/* Fastest first, then the refused ones, each by id where equal. To be freed; NULL when memory is exhausted. */
struct report_summary *report_summaries(const struct report_prediction *prediction);
/* A chip file may state no memory size: then nothing is said about fitting, whatever result->fits holds. */
static inline bool report_is_fit_known(const struct work_result *result) {
  return result->capacity_bytes > 0;
}
static inline bool report_does_fit(const struct work_result *result) {
  return report_is_fit_known(result) && result->fits;
}
/* Why a chip is refused, as a phrase. */
void report_reason(const struct report_summary *summary, struct strbuf *out);
/* Remarks of a result, those that follow from its numbers included; each is passed on once, `chip` order kept. */
typedef void report_note_sink(void *user, const char *code, const char *text, uint64_t count);
void report_notes(const struct report_estimate *estimate, report_note_sink *sink, void *user);

/* ---- programs (report_program.c) ---- */
struct report_collective {
  uint8_t kind; /* enum work_collective_kind */
  uint32_t group_size; /* 0 = all devices */
  uint64_t count, bytes; /* loops multiplied out; bytes per rank, all of them */
};
struct report_loop {
  const struct work_graph *graph;
  uint32_t task;
  uint32_t depth; /* loops around it */
  uint64_t times; /* how often the loop as a whole runs */
};
struct report_opaque {
  const char *label;
  uint32_t source_offset; /* of the first one */
  uint64_t count;
};
struct report_program {
  VEC(struct report_collective) collectives;
  VEC(struct report_loop) loops;
  VEC(struct report_opaque) opaque;
  bool failed;
};
void report_program_collect(struct report_program *program, const struct work_graph *graph);
void report_program_release(struct report_program *program);
/* matrix + vector + function operations. */
uint64_t report_total_flops(const struct work_total *total);

struct report_json;

/* ---- chips (report_chip_rows.c) ---- */
/* The figures that lists, summaries and comparisons begin with. */
struct report_chip_row {
  const char *key; /* of JSON */
  const char *heading; /* of text */
  const char *unit;
  double (*value)(const struct hw_chip *chip); /* NaN = not known */
};
extern const struct report_chip_row report_chip_rows[];
extern const size_t report_chip_row_count;
double report_chip_year(const struct hw_chip *chip);
double report_chip_bf16(const struct hw_chip *chip);
double report_chip_f32(const struct hw_chip *chip);
/* A fact as people read it: "3.35 TB/s", "TSMC 4N". */
void report_fact_value(const struct hw_value *value, const char *unit, struct strbuf *out);
/* One fact with its sources and disagreeing values, over several lines (report_chips.c), and as JSON (report_chips_json.c). */
void report_field_text(const struct hw_field *field, bool is_default, struct strbuf *out);
json_t *report_json_field(struct report_json *json, const struct hw_field *field);
/* Diagnostics as findings of a check (report_chip_check.c). */
json_t *report_json_findings(struct report_json *json, const struct diag_list *diags);
/* Keys of all chips, sorted, without repetition. To be freed; NULL and 0 when memory is exhausted or there are none. */
const char **report_chip_keys(const struct hw_chip *const *chips, size_t count, size_t *key_count);

/* ---- JSON (report_json.c) ---- */
/* Collects failures, so that building a document needs no check per member. */
struct report_json {
  bool failed;
};
/* Adds a member; takes over `value`. */
void report_json_set(struct report_json *json, json_t *object, const char *key, json_t *value);
void report_json_append(struct report_json *json, json_t *array, json_t *value);
json_t *report_json_real(double value); /* null for NaN and infinity */
json_t *report_json_uint(uint64_t value); /* saturates at INT64_MAX */
json_t *report_json_text(const char *text); /* null for NULL; ill-formed UTF-8 as U+FFFD */
/* "file:line", null when unknown. */
json_t *report_json_place(const struct report_lines *lines, uint32_t offset);
/* An object that begins with the members every document has. */
json_t *report_json_document(struct report_json *json, const char *format, const char *version);
/* Prints and releases `root`. */
enum status report_json_finish(struct report_json *json, json_t *root, struct strbuf *out);
/* Appends a quoted JSON string; for streamed documents. */
void report_json_quote(struct strbuf *out, const char *text);

#endif
