/* Turning results into text, JSON and traces. Everything appends to a strbuf; nothing here computes a prediction.
 * Path: work/ and hw/ data in, bytes for the user out. */
#ifndef RIDGELINE_REPORT_REPORT_H
#define RIDGELINE_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/strbuf.h"
#include "hw/hw.h"
#include "work/work.h"
#include "work/work_result.h"

/* ---- quantities: three significant digits with an SI or binary unit ---- */
void report_time(struct strbuf *out, double seconds); /* "12.3 ms" */
void report_bytes(struct strbuf *out, uint64_t bytes); /* "1.50 GB" (decimal) */
void report_count(struct strbuf *out, double count); /* "6.25 T" */
void report_percent(struct strbuf *out, double fraction); /* "42 %" */
void report_ratio(struct strbuf *out, double ratio); /* "2.31×" */
void report_integer(struct strbuf *out, uint64_t count); /* "12,345": exact */
/* Any unit with SI prefixes: (3.35e12, "B/s") gives "3.35 TB/s"; whole numbers below 1000 stay whole. NaN and infinity
 * print as "-", here and in the functions above. */
void report_si(struct strbuf *out, double value, const char *unit);

/* Appends text to a page: markup characters as entities, ill-formed bytes and control characters replaced. */
void report_html(struct strbuf *out, const char *text);

/* ---- aligned tables ---- */
enum report_align { REPORT_LEFT, REPORT_RIGHT };
struct report_table;
/* `columns` headings (copied; NULL = a table without headings and rule) and an alignment each. NULL when memory is
 * exhausted; the other functions accept that and a print then sets out->failed. */
struct report_table *report_table_new(const char *const *headings, const enum report_align *aligns, size_t columns);
void report_table_free(struct report_table *table);
/* Adds a cell to the current row (UTF-8; width counts code points); rows start and end by themselves. */
void report_table_cell(struct report_table *table, const char *text);
/* A quantity as report_time, report_percent, ... and report_bytes, report_integer write it. */
void report_table_cell_of(struct report_table *table, void (*put)(struct strbuf *out, double value), double value);
void report_table_cell_count(struct report_table *table, void (*put)(struct strbuf *out, uint64_t value),
                             uint64_t value);
void report_table_cellf(struct report_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints headings, a rule and the rows, two spaces between columns, no trailing blanks. */
void report_table_print(const struct report_table *table, struct strbuf *out);
void report_table_print_indented(const struct report_table *table, size_t indent, struct strbuf *out);

/* ---- models that can be generated ---- */
struct report_model {
  const char *name, *summary, *source, *steps;
  uint32_t layers, hidden, heads, kv_heads, head_size, ffn, vocabulary, experts, experts_per_token; /* 0 = none */
  uint64_t parameters; /* of the generated weights */
  uint64_t published_parameters;
};
void report_models_text(const struct report_model *models, size_t count, struct strbuf *out);
enum status report_models_json(const struct report_model *models, size_t count, const char *version,
                               struct strbuf *out);

/* ---- predictions ---- */
/* One chip's part of a prediction; all borrowed. */
struct report_estimate {
  const struct hw_chip *chip;
  const struct work_graph *graph; /* fused (or unfused on request): what `result` is about; NULL when refused early */
  const struct work_result *result; /* NULL when the chip cannot be predicted at all */
  double unfused_time_s;
  uint64_t tasks_before, tasks_after; /* launches before and after fusion */
  uint64_t bytes_before, bytes_after;
  const char *refusal; /* why `result` is NULL */
};
struct report_prediction {
  const char *program; /* name as given */
  const char *fidelity;
  const char *version;
  const struct source *source; /* for file:line of operations; may be NULL */
  const struct work_graph *unfused;
  const struct report_estimate *estimates;
  size_t count;
  unsigned top; /* operations listed per chip */
};
/* The comparison table (chip, time, vs. the fastest, bound by, MFU, memory / capacity, fits, fusion gain), then per chip
 * the explanation when there are at most three chips, else of the fastest one, then the remarks. */
void report_prediction_text(const struct report_prediction *prediction, struct strbuf *out);
/* docs/json.md, "prediction". */
enum status report_prediction_json(const struct report_prediction *prediction, struct strbuf *out);
/* Chrome trace: one process per chip, one track for kernels and one for what bounds them; loops of more than
 * REPORT_TRACE_ITERATIONS iterations show the first ones and one summarising slice. All chips together get
 * REPORT_TRACE_EVENTS slices; what does not fit is one slice per chip, and otherData.truncated says so. */
enum { REPORT_TRACE_ITERATIONS = 8, REPORT_TRACE_EVENTS = 200000 };
enum status report_prediction_trace(const struct report_prediction *prediction, struct strbuf *out);

/* ---- programs ---- */
struct report_function_cost {
  const char *name;
  uint64_t ops; /* operations in the text */
  int64_t xla_flops, xla_transcendentals, xla_bytes;
};
struct report_inspection {
  const char *program, *version;
  const struct source *source;
  const struct work_graph *graph; /* unfused, sealed */
  const struct work_total *total;
  const struct work_memory *memory;
  const struct report_function_cost *functions;
  size_t function_count;
};
void report_inspection_text(const struct report_inspection *inspection, struct strbuf *out);
enum status report_inspection_json(const struct report_inspection *inspection, struct strbuf *out);

/* ---- one task of a work graph ---- */
/* A task anywhere in a graph, and the times of the graph it is in (NULL without a chip). */
struct report_place_in_graph {
  const struct work_graph *graph;
  const struct work_graph_result *result;
  uint32_t task;
};
/* Finds the task of an address, "3" or "1.0.3" (task 1, subgraph 0, task 3). False and a sentence in `why` when there is
 * none. `result` is that of `graph` or NULL. */
bool report_task_find(const struct work_graph *graph, const struct work_graph_result *result, const char *address,
                      struct report_place_in_graph *place, struct strbuf *why);
/* The tasks inside a loop or conditional with their addresses, one execution of each; nothing for other tasks. Needs a
 * result. */
void report_inside_text(const struct report_place_in_graph *place, const char *address, struct strbuf *out);
struct report_graph {
  const char *program, *version;
  const struct source *source;
  const struct work_graph *graph;
  const struct hw_chip *chip; /* whose fusion and times; NULL = unfused, without times */
  const struct work_result *result; /* of `graph` on `chip`; NULL when there is no chip */
  const struct report_place_in_graph *place; /* one task only; NULL = all */
  const char *address; /* of `place` */
};
/* docs/json.md, "graph". */
enum status report_graph_json(const struct report_graph *report, struct strbuf *out);

/* ---- runs ---- */
/* One result of a run, as plain memory: row-major, little-endian, `element_bytes` each. */
struct report_tensor {
  const char *type; /* as the program spells it */
  enum dtype dtype;
  unsigned element_bytes;
  uint32_t rank;
  const int64_t *dims;
  uint64_t count;
  const uint8_t *data;
};
struct report_run {
  const char *program, *version;
  unsigned replicas, partitions;
  size_t per_process;
  const struct report_tensor *tensors; /* of process 0, then of process 1, ... */
  uint64_t limit; /* values of larger tensors are left out; 0 = of none */
};
/* docs/json.md, "run". */
void report_run_json(const struct report_run *run, struct strbuf *out);

/* ---- chips ---- */
void report_chips_text(const struct hw_database *db, struct strbuf *out);
enum status report_chips_json(const struct hw_database *db, struct strbuf *out);
void report_chip_text(const struct hw_chip *chip, struct strbuf *out);
enum status report_chip_json(const struct hw_chip *chip, struct strbuf *out);
/* The chips that were checked and what was found. */
struct report_chip_check {
  const char *version;
  const struct hw_chip *chips;
  size_t count;
  const struct diag_list *diags;
};
/* Findings are left to whoever prints diagnostics. */
void report_chip_check_text(const struct report_chip_check *check, struct strbuf *out);
/* docs/json.md, "chip check". */
enum status report_chip_check_json(const struct report_chip_check *check, struct strbuf *out);
void report_compare_text(const struct hw_chip *const *chips, size_t count, struct strbuf *out);
enum status report_compare_json(const struct hw_chip *const *chips, size_t count, struct strbuf *out);

#endif
