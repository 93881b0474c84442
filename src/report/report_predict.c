/* Predictions as text: the comparison, then why.
 * Path: report_summary.c and report_groups.c gather; this file lays out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "report/report_int.h"

enum { EXPLAIN_AT_MOST = 3, BAR_WIDTH = 20 };

/* ---- cells ---- */

static void cell_bound(struct report_table *table, enum work_bound bound, double share) {
  struct strbuf text = {0};
  if (bound == WORK_BOUND_NONE) { /* the time is the start of the program */
    strbuf_puts(&text, "nothing timed");
  } else {
    strbuf_printf(&text, "%s ", work_bound_name(bound));
    report_percent(&text, share);
  }
  report_table_cell(table, strbuf_text(&text));
  strbuf_release(&text);
}

static void cell_bar(struct report_table *table, double share) {
  struct strbuf bar = {0};
  long cells = lround(share * BAR_WIDTH);
  for (long i = 0; i < cells && i < BAR_WIDTH; i++) {
    strbuf_puts(&bar, "█");
  }
  report_table_cell(table, strbuf_text(&bar));
  strbuf_release(&bar);
}

static void print_section(struct strbuf *out, struct report_table *table, const char *title) {
  strbuf_printf(out, "\n  %s\n", title);
  report_table_print_indented(table, 4, out);
  report_table_free(table);
}

/* ---- comparison ---- */

static void fits_cell(struct report_table *table, const struct report_summary *row) {
  struct strbuf text = {0};
  if (row->is_refused) {
    strbuf_puts(&text, "refused: ");
    report_reason(row, &text);
  } else {
    const struct work_result *result = row->estimate->result;
    strbuf_puts(&text, !report_is_fit_known(result) ? "unknown" : result->fits ? "yes" : "no");
  }
  report_table_cell(table, strbuf_text(&text));
  strbuf_release(&text);
}

static void dashes(struct report_table *table, int count) {
  for (int i = 0; i < count; i++) {
    report_table_cell(table, "-");
  }
}

static void memory_cell(struct report_table *table, const struct report_summary *row) {
  const struct work_result *result = row->estimate->result;
  struct strbuf text = {0};
  if (!result || (row->is_refused && !report_is_fit_known(result))) {
    report_table_cell(table, "-");
    return;
  }
  report_bytes(&text, result->memory.peak_bytes);
  strbuf_puts(&text, " / ");
  if (report_is_fit_known(result)) {
    report_bytes(&text, result->capacity_bytes);
  } else {
    strbuf_putc(&text, '?');
  }
  report_table_cell(table, strbuf_text(&text));
  strbuf_release(&text);
}

/* "5.02 ms – 7.10 ms", or a dash when the model gives none. */
static void put_interval(const struct work_result *result, struct strbuf *out) {
  if (!(result->high_s > 0) || !isfinite(result->high_s)) {
    strbuf_putc(out, '-');
    return;
  }
  report_time(out, result->low_s);
  strbuf_puts(out, " – ");
  report_time(out, result->high_s);
}

static void interval_cell(struct report_table *table, const struct work_result *result) {
  struct strbuf text = {0};
  put_interval(result, &text);
  report_table_cell(table, strbuf_text(&text));
  strbuf_release(&text);
}

static void print_comparison(const struct report_summary *rows, size_t count, struct strbuf *out) {
  static const char *const headings[] = {"chip", "vendor",  "time",    "90 % interval", "vs fastest",    "bound by",
                                         "MFU",  "kernels", "unfused", "gain",          "peak / memory", "fits"};
  static const enum report_align aligns[] = {REPORT_LEFT,  REPORT_LEFT,  REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_LEFT,  REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT};
  struct report_table *table = report_table_new(headings, aligns, sizeof aligns / sizeof *aligns);
  for (size_t i = 0; i < count; i++) {
    const struct report_summary *row = &rows[i];
    report_table_cell(table, row->estimate->chip->id);
    report_table_cell(table, row->estimate->chip->vendor);
    if (row->is_refused) {
      dashes(table, 8);
    } else {
      report_table_cell_of(table, report_time, row->time_s);
      interval_cell(table, row->estimate->result);
      report_table_cell_of(table, report_ratio, row->slower);
      cell_bound(table, row->bound, row->bound_share);
      report_table_cell_of(table, report_percent, row->estimate->result->matrix_utilisation);
      report_table_cell_count(table, report_integer, row->kernels);
      report_table_cell_of(table, report_time, row->is_fused ? row->estimate->unfused_time_s : NAN);
      report_table_cell_of(table, report_ratio, row->gain);
    }
    memory_cell(table, row);
    fits_cell(table, row);
  }
  report_table_print(table, out);
  report_table_free(table);
}

/* What of the program is in no time, before the times: "3 operations of unknown cost (my_call, other)". */
static void print_unknown(const struct report_prediction *prediction, const struct work_total *total,
                          struct strbuf *out) {
  enum { NAMES = 3 };
  if (total->opaque_tasks == 0) {
    return;
  }
  struct report_program program = {0};
  report_program_collect(&program, prediction->unfused);
  strbuf_puts(out, "\nunknown   ");
  report_integer(out, total->opaque_tasks);
  strbuf_puts(out, total->opaque_tasks == 1 ? " operation of unknown cost" : " operations of unknown cost");
  for (size_t i = 0; i < program.opaque.count && i < NAMES; i++) {
    strbuf_puts(out, i ? ", " : " (");
    report_clean(out, program.opaque.data[i].label);
  }
  strbuf_puts(out, program.opaque.count == 0 ? "" : program.opaque.count > NAMES ? ", ...)" : ")");
  strbuf_puts(out,
              total->launches ? ", not in any time below" : ": nothing else is in the program, so nothing is timed");
  out->failed |= program.failed;
  report_program_release(&program);
}

static void print_head(const struct report_prediction *prediction, struct strbuf *out) {
  strbuf_puts(out, "program   ");
  report_clean(out, prediction->program);
  strbuf_puts(out, "\nfidelity  ");
  report_clean(out, prediction->fidelity);
  if (prediction->version) {
    strbuf_puts(out, " (Ridgeline ");
    report_clean(out, prediction->version);
    strbuf_putc(out, ')');
  }
  if (prediction->unfused) {
    struct work_total total;
    work_graph_total(prediction->unfused, &total);
    uint64_t flops = report_total_flops(&total);
    strbuf_puts(out, "\nwork      ");
    report_si(out, (double)flops, "FLOP");
    strbuf_puts(out, " (");
    report_percent(out, flops ? (double)total.ops[WORK_ENGINE_MATRIX] / (double)flops : 0);
    strbuf_puts(out, " matrix), ");
    report_bytes(out, sat_add_u64(total.read_bytes, total.write_bytes));
    strbuf_puts(out, " moved unfused, ");
    report_integer(out, total.launches);
    strbuf_puts(out, total.launches == 1 ? " operation" : " operations");
    print_unknown(prediction, &total, out);
  }
  strbuf_puts(out, "\n\n");
}

/* ---- explanation of one chip ---- */

static int by_time(const double *times, int a, int b) {
  return times[a] != times[b] ? (times[a] > times[b] ? -1 : 1) : a - b;
}

/* Indices of the positive entries, largest first; returns how many. By insertion: `count` is a dozen. */
static int ranking(const double *times, int count, int *order) {
  int used = 0;
  for (int i = 0; i < count; i++) {
    if (!(times[i] > 0)) {
      continue;
    }
    int at = used++;
    for (; at > 0 && by_time(times, i, order[at - 1]) < 0; at--) {
      order[at] = order[at - 1];
    }
    order[at] = i;
  }
  return used;
}

static void print_bounds(const struct work_result *result, struct strbuf *out) {
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT};
  /* one row more than there are bounds: the dispatch is nobody's bound but part of the time */
  double times[WORK_BOUND_COUNT + 1];
  int order[WORK_BOUND_COUNT + 1];
  memcpy(times, result->bound_s, sizeof result->bound_s);
  times[WORK_BOUND_COUNT] = result->dispatch_s;
  struct report_table *table = report_table_new(NULL, aligns, sizeof aligns / sizeof *aligns);
  int used = ranking(times, WORK_BOUND_COUNT + 1, order);
  for (int i = 0; i < used; i++) {
    double share = times[order[i]] / result->time_s;
    report_table_cell(table, order[i] < WORK_BOUND_COUNT ? work_bound_name((enum work_bound)order[i]) : "dispatch");
    report_table_cell_of(table, report_time, times[order[i]]);
    report_table_cell_of(table, report_percent, share);
    cell_bar(table, share);
  }
  print_section(out, table, "time by what bounds it");
}

static void print_classes(const struct work_result *result, struct strbuf *out) {
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT};
  int order[WORK_CLASS_COUNT];
  struct report_table *table = report_table_new(NULL, aligns, sizeof aligns / sizeof *aligns);
  int used = ranking(result->class_s, WORK_CLASS_COUNT, order);
  for (int i = 0; i < used; i++) {
    struct strbuf count = {0};
    report_table_cell(table, work_class_name((enum work_class)order[i]));
    report_table_cell_of(table, report_time, result->class_s[order[i]]);
    report_table_cell_of(table, report_percent, result->class_s[order[i]] / result->time_s);
    report_integer(&count, result->class_count[order[i]]);
    strbuf_puts(&count, result->class_count[order[i]] == 1 ? " kernel" : " kernels");
    report_table_cell(table, strbuf_text(&count));
    strbuf_release(&count);
  }
  print_section(out, table, "time by class of operation");
}

static void group_row(struct report_table *table, const struct report_group *group, double time_s,
                      const struct report_lines *lines) {
  const struct work_task *task = report_group_task(group);
  enum work_bound bound = report_group_bound(group);
  struct strbuf name = {0}, shape = {0}, place = {0};
  report_task_name(group->graph, task, &name);
  report_task_shape(group->graph, task, &shape);
  report_place(lines, task->source_offset, &place);
  report_table_cell_of(table, report_time, group->time_s);
  report_table_cell_of(table, report_percent, group->time_s / time_s);
  report_table_cell_count(table, report_integer, group->count);
  report_table_cell(table, strbuf_text(&name));
  report_table_cell(table, strbuf_text(&shape));
  if (group->runs_as != DTYPE_NONE) {
    report_table_cellf(table, "%s (as %s)", work_bound_name(bound), dtype_name((enum dtype)group->runs_as));
  } else {
    report_table_cell(table, work_bound_name(bound));
  }
  report_table_cell_of(table, report_count, (double)group->flops);
  report_table_cell_count(table, report_bytes, group->bytes);
  report_table_cell(table, strbuf_text(&place));
  strbuf_release(&name);
  strbuf_release(&shape);
  strbuf_release(&place);
}

static void print_operations(const struct report_estimate *estimate, unsigned top, const struct report_lines *lines,
                             struct strbuf *out) {
  static const char *const headings[] = {"time",  "share", "count", "operation", "works on",
                                         "bound", "FLOPs", "bytes", "first at"};
  static const enum report_align aligns[] = {REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT, REPORT_LEFT,
                                             REPORT_LEFT,  REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT};
  struct report_groups groups;
  report_groups_collect(&groups, estimate->graph, &estimate->result->root, true);
  out->failed |= groups.failed;
  struct report_table *table = report_table_new(headings, aligns, sizeof aligns / sizeof *aligns);
  size_t shown = 0;
  double shown_s = 0;
  for (; shown < groups.rows.count && shown < top && groups.rows.data[shown].time_s > 0; shown++) {
    group_row(table, &groups.rows.data[shown], estimate->result->time_s, lines);
    shown_s += groups.rows.data[shown].time_s;
  }
  print_section(out, table, "operations that take most time (alike ones added up)");
  if (shown < groups.rows.count && groups.time_s > shown_s) {
    strbuf_printf(out, "    %zu more kind%s ", groups.rows.count - shown,
                  groups.rows.count - shown == 1 ? " takes" : "s take");
    report_time(out, groups.time_s - shown_s);
    strbuf_puts(out, "; --top N lists more\n");
  }
  report_groups_release(&groups);
}

static void print_fusion(const struct report_summary *row, struct strbuf *out) {
  const struct report_estimate *e = row->estimate;
  strbuf_putc(out, '\n');
  if (!row->is_fused) {
    return;
  }
  strbuf_puts(out, "  fusion  ");
  report_integer(out, e->tasks_before);
  strbuf_puts(out, " → ");
  report_integer(out, e->tasks_after);
  strbuf_puts(out, " kernels, ");
  report_bytes(out, e->bytes_before);
  strbuf_puts(out, " → ");
  report_bytes(out, e->bytes_after);
  strbuf_puts(out, " moved, ");
  report_time(out, e->unfused_time_s);
  strbuf_puts(out, " → ");
  report_time(out, row->time_s);
  strbuf_puts(out, " (");
  report_ratio(out, row->gain);
  strbuf_puts(out, ")\n");
}

static void print_memory(const struct report_estimate *estimate, const struct report_lines *lines, struct strbuf *out) {
  const struct work_result *result = estimate->result;
  const struct work_memory *memory = &result->memory;
  strbuf_puts(out, "  memory  ");
  report_bytes(out, memory->peak_bytes);
  if (report_is_fit_known(result)) {
    strbuf_puts(out, " of ");
    report_bytes(out, result->capacity_bytes);
    strbuf_puts(out, result->fits ? ", fits" : ", does not fit");
  }
  strbuf_puts(out, ": arguments ");
  report_bytes(out, memory->argument_bytes);
  strbuf_puts(out, ", outputs ");
  report_bytes(out, memory->output_bytes);
  strbuf_puts(out, ", constants ");
  report_bytes(out, memory->constant_bytes);
  strbuf_puts(out, ", temporaries ");
  report_bytes(out, memory->temporary_peak_bytes);
  if (memory->peak_task < estimate->graph->tasks.count) {
    const struct work_task *task = &estimate->graph->tasks.data[memory->peak_task];
    strbuf_puts(out, " at the peak (");
    report_task_name(estimate->graph, task, out);
    if (report_has_place(lines, task->source_offset)) {
      strbuf_puts(out, ", ");
      report_place(lines, task->source_offset, out);
    }
    strbuf_putc(out, ')');
  }
  strbuf_putc(out, '\n');
}

/* How much of the time rests on measurements. */
static void print_basis(const struct work_result *result, struct strbuf *out) {
  if (!(result->high_s > 0)) {
    return;
  }
  double rules = fmax(0, 1 - result->fitted_share - result->inherited_share);
  strbuf_puts(out, "  basis   ");
  report_percent(out, result->fitted_share);
  strbuf_puts(out, " of the time in kernels like those measured on this chip, ");
  report_percent(out, result->inherited_share);
  strbuf_puts(out, " on others of its family, ");
  report_percent(out, rules);
  strbuf_puts(out, " by data-sheet rules or constants of other kernels; 90 % interval ");
  put_interval(result, out);
  strbuf_putc(out, '\n');
}

static void print_explanation(const struct report_summary *row, unsigned top, const struct report_lines *lines,
                              struct strbuf *out) {
  const struct hw_chip *chip = row->estimate->chip;
  strbuf_putc(out, '\n');
  report_clean(out, chip->name);
  strbuf_puts(out, " (");
  report_clean(out, chip->id);
  strbuf_puts(out, "): ");
  report_time(out, row->time_s);
  strbuf_putc(out, '\n');
  if (row->bound == WORK_BOUND_NONE) {
    strbuf_puts(out, "\n  nothing in the program is timed: this is the start of the program\n");
  } else {
    print_bounds(row->estimate->result, out);
    print_classes(row->estimate->result, out);
    print_operations(row->estimate, top, lines, out);
  }
  print_fusion(row, out);
  print_basis(row->estimate->result, out);
  print_memory(row->estimate, lines, out);
}

/* ---- remarks, equal ones of several chips together ---- */

struct remark {
  const char *code;
  char *text; /* owned; the chip's id replaced, so that chips compare */
  uint64_t low, high; /* operations concerned, over the chips */
  struct strbuf chips;
  size_t chip_count;
};
struct remarks {
  VEC(struct remark) rows;
  const char *chip; /* whose remarks are being added */
  bool is_refused; /* that chip: the comparison has said why */
  bool failed;
};

/* `text` with every occurrence of the chip's id as "the chip". */
static char *without_chip(const char *text, const char *chip) {
  struct strbuf out = {0};
  size_t length = strlen(chip);
  for (const char *found; length > 0 && (found = strstr(text, chip)) != NULL; text = found + length) {
    strbuf_add(&out, text, (size_t)(found - text));
    strbuf_puts(&out, "the chip");
  }
  strbuf_puts(&out, text);
  if (out.failed) {
    strbuf_release(&out);
    return NULL;
  }
  return out.data ? out.data : calloc(1, 1);
}

static void add_remark(void *user, const char *code, const char *text, uint64_t count) {
  struct remarks *remarks = user;
  if (remarks->is_refused && code[0] == 'E') {
    return;
  }
  char *common = without_chip(text, remarks->chip);
  if (!common) {
    remarks->failed = true;
    return;
  }
  struct remark *row = NULL;
  for (size_t i = 0; i < remarks->rows.count && !row; i++) {
    struct remark *candidate = &remarks->rows.data[i];
    row = strcmp(candidate->code, code) == 0 && strcmp(candidate->text, common) == 0 ? candidate : NULL;
  }
  if (row) {
    free(common);
  } else {
    struct remark added = {.code = code, .text = common, .low = count, .high = count};
    if (!vec_push(&remarks->rows, added)) {
      free(common);
      remarks->failed = true;
      return;
    }
    row = &remarks->rows.data[remarks->rows.count - 1];
  }
  row->low = count < row->low ? count : row->low;
  row->high = count > row->high ? count : row->high;
  strbuf_printf(&row->chips, "%s%s", row->chip_count++ ? ", " : "", remarks->chip);
}

static void print_remark(const struct remark *row, size_t chip_count, struct strbuf *out) {
  strbuf_printf(out, "  %s  ", row->code);
  report_clean(out, row->text);
  if (row->high > 1) {
    strbuf_puts(out, " (");
    report_integer(out, row->low);
    if (row->low != row->high) {
      strbuf_puts(out, "–");
      report_integer(out, row->high);
    }
    strbuf_puts(out, " operations)");
  }
  if (chip_count > 1) {
    strbuf_puts(out, ": ");
    if (row->chip_count == chip_count) {
      strbuf_puts(out, "all chips");
    } else {
      report_clean(out, strbuf_text(&row->chips));
    }
  }
  strbuf_putc(out, '\n');
}

static void print_remarks(const struct report_summary *rows, size_t count, struct strbuf *out) {
  struct remarks remarks = {0};
  size_t not_fitting = 0;
  for (size_t i = 0; i < count; i++) {
    remarks.chip = rows[i].estimate->chip->id;
    remarks.is_refused = rows[i].is_refused;
    not_fitting +=
        !rows[i].is_refused && report_is_fit_known(rows[i].estimate->result) && !rows[i].estimate->result->fits;
    report_notes(rows[i].estimate, add_remark, &remarks);
  }
  if (remarks.rows.count || not_fitting) {
    strbuf_puts(out, "\nremarks\n");
  }
  if (not_fitting) {
    strbuf_puts(out, "  memory  the program does not fit ");
    if (count == 1) {
      strbuf_puts(out, "the chip; its time is what it would take if it did\n");
    } else {
      strbuf_printf(out, "%zu of %zu chips; their times are what it would take if it did\n", not_fitting, count);
    }
  }
  for (size_t i = 0; i < remarks.rows.count; i++) {
    print_remark(&remarks.rows.data[i], count, out);
    free(remarks.rows.data[i].text);
    strbuf_release(&remarks.rows.data[i].chips);
  }
  out->failed |= remarks.failed;
  vec_release(&remarks.rows);
}

/* The fastest chip that the program fits, else the fastest; NULL when all refuse. */
static const struct report_summary *best_of(const struct report_summary *rows, size_t count) {
  for (size_t i = 0; i < count && !rows[i].is_refused; i++) {
    if (report_does_fit(rows[i].estimate->result)) {
      return &rows[i];
    }
  }
  return count && !rows[0].is_refused ? &rows[0] : NULL;
}

void report_prediction_text(const struct report_prediction *prediction, struct strbuf *out) {
  struct report_summary *rows = report_summaries(prediction);
  if (!rows) {
    out->failed = true;
    return;
  }
  struct report_lines lines;
  report_lines_init(&lines, prediction->source);
  print_head(prediction, out);
  print_comparison(rows, prediction->count, out);
  if (prediction->count <= EXPLAIN_AT_MOST) {
    for (size_t i = 0; i < prediction->count && !rows[i].is_refused; i++) {
      print_explanation(&rows[i], prediction->top, &lines, out);
    }
  } else {
    const struct report_summary *best = best_of(rows, prediction->count);
    if (best) {
      print_explanation(best, prediction->top, &lines, out);
      strbuf_printf(
          out, "\n  Only this chip is explained, the fastest%s; name up to %d chips with --on to explain others.\n",
          report_does_fit(best->estimate->result) ? " that the program fits" : "", EXPLAIN_AT_MOST);
    }
  }
  print_remarks(rows, prediction->count, out);
  report_lines_release(&lines);
  free(rows);
}
