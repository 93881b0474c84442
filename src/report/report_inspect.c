/* What a program does, as text: totals, memory, collectives, loops, operations, functions. No chip is involved; operations
 * are weighed with a reference balance of FLOPs and bytes, which the text states.
 * Path: report_groups.c and report_program.c gather; this file lays out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "report/report_int.h"

enum { MAX_ROWS = 30 };

static const enum report_align left_right[] = {REPORT_LEFT, REPORT_RIGHT};

static void cell_place(struct report_table *table, const struct report_lines *lines, uint32_t offset) {
  struct strbuf text = {0};
  report_place(lines, offset, &text);
  report_table_cell(table, strbuf_text(&text));
  strbuf_release(&text);
}

/* XLA counts: -1 = unknown. */
static void cell_signed(struct report_table *table, int64_t value) {
  if (value < 0) {
    report_table_cell(table, "unknown");
  } else {
    report_table_cell_of(table, report_count, (double)value);
  }
}

static void print_section(struct strbuf *out, struct report_table *table, const char *title) {
  strbuf_printf(out, "\n%s\n", title);
  report_table_print_indented(table, 2, out);
  report_table_free(table);
}

static void print_omitted(struct strbuf *out, size_t all, const char *what) {
  if (all > MAX_ROWS) {
    strbuf_printf(out, "  and %zu more %s; --json lists all\n", all - MAX_ROWS, what);
  }
}

static void print_totals(const struct work_total *total, struct strbuf *out) {
  struct report_table *table = report_table_new(NULL, left_right, 2);
  uint64_t flops = report_total_flops(total), bytes = sat_add_u64(total->read_bytes, total->write_bytes);
  report_table_cell(table, "operations executed");
  report_table_cell_count(table, report_integer, total->launches);
  report_table_cell(table, "floating operations");
  report_table_cell_of(table, report_count, (double)flops);
  report_table_cell(table, "bytes read");
  report_table_cell_count(table, report_bytes, total->read_bytes);
  report_table_cell(table, "bytes written");
  report_table_cell_count(table, report_bytes, total->write_bytes);
  report_table_cell(table, "arithmetic intensity");
  if (bytes) {
    struct strbuf text = {0};
    double intensity = (double)flops / (double)bytes;
    if (intensity < 1) {
      strbuf_printf(&text, "%.3f FLOP/B", intensity);
    } else {
      report_si(&text, intensity, "FLOP/B");
    }
    report_table_cell(table, strbuf_text(&text));
    strbuf_release(&text);
  } else {
    report_table_cell(table, "-");
  }
  print_section(out, table, "totals (loops multiplied out; every operation reads and writes memory)");
}

static void print_engines(const struct work_total *total, struct strbuf *out) {
  static const char *const headings[] = {"unit", "type", "operations", "share"};
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT};
  struct report_table *table = report_table_new(headings, aligns, 4);
  uint64_t all = sat_add_u64(report_total_flops(total), total->ops[WORK_ENGINE_INTEGER]);
  for (int e = 0; e < WORK_ENGINE_COUNT && all > 0; e++) {
    for (int d = 0; d < DTYPE_COUNT; d++) {
      uint64_t ops = total->ops_by_dtype[e][d];
      if (ops > 0) {
        report_table_cell(table, work_engine_name((enum work_engine)e));
        report_table_cell(table, dtype_name((enum dtype)d));
        report_table_cell_of(table, report_count, (double)ops);
        report_table_cell_of(table, report_percent, (double)ops / (double)all);
      }
    }
  }
  if (all > 0) {
    print_section(out, table, "operations by unit and type (a multiply-add is two; a special function is one)");
  } else {
    report_table_free(table);
  }
}

static void print_memory(const struct report_inspection *inspection, const struct report_lines *lines,
                         struct strbuf *out) {
  const struct work_memory *m = inspection->memory;
  const struct {
    const char *name;
    uint64_t bytes;
  } rows[] = {{"peak", m->peak_bytes},
              {"arguments", m->argument_bytes},
              {"outputs", m->output_bytes},
              {"constants", m->constant_bytes},
              {"temporaries at the peak", m->temporary_peak_bytes}};
  struct report_table *table = report_table_new(NULL, left_right, 2);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    report_table_cell(table, rows[i].name);
    report_table_cell_count(table, report_bytes, rows[i].bytes);
  }
  print_section(out, table, "memory (live tensors in program order, donation respected)");
  if (m->temporary_peak_bytes > 0 && m->peak_task < inspection->graph->tasks.count) {
    const struct work_task *task = &inspection->graph->tasks.data[m->peak_task];
    strbuf_puts(out, "  the peak is at ");
    report_task_name(inspection->graph, task, out);
    if (report_has_place(lines, task->source_offset)) {
      strbuf_puts(out, ", ");
      report_place(lines, task->source_offset, out);
    }
    strbuf_putc(out, '\n');
  }
}

static void print_collectives(const struct report_program *program, struct strbuf *out) {
  static const char *const headings[] = {"collective", "group", "count", "bytes per rank"};
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT};
  if (program->collectives.count == 0) {
    return;
  }
  struct report_table *table = report_table_new(headings, aligns, 4);
  for (size_t i = 0; i < program->collectives.count; i++) {
    const struct report_collective *row = &program->collectives.data[i];
    report_table_cell(table, work_collective_name((enum work_collective_kind)row->kind));
    if (row->group_size) {
      report_table_cell_count(table, report_integer, row->group_size);
    } else {
      report_table_cell(table, "all");
    }
    report_table_cell_count(table, report_integer, row->count);
    report_table_cell_count(table, report_bytes, row->bytes);
  }
  print_section(out, table, "collectives (bytes: all of them together)");
}

static void print_loops(const struct report_program *program, const struct report_lines *lines, struct strbuf *out) {
  static const char *const headings[] = {"loop", "trips", "runs", "operations in body", "at"};
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT};
  if (program->loops.count == 0) {
    return;
  }
  struct report_table *table = report_table_new(headings, aligns, 5);
  for (size_t i = 0; i < program->loops.count && i < MAX_ROWS; i++) {
    const struct report_loop *row = &program->loops.data[i];
    const struct work_task *task = &row->graph->tasks.data[row->task];
    uint64_t inside = 0;
    for (uint32_t s = 0; s < task->subgraph_count; s++) {
      inside += row->graph->subgraphs.data[task->subgraph_first + s]->tasks.count;
    }
    report_table_cellf(table, "%*s%s", (int)(row->depth < 16 ? 2 * row->depth : 32), "",
                       report_label(row->graph, task));
    if (task->flags & WORK_TASK_TRIP_UNKNOWN) {
      report_table_cell(table, "unknown (1 assumed)");
    } else {
      report_table_cell_count(table, report_integer, task->trip_count);
    }
    report_table_cell_count(table, report_integer, row->times);
    report_table_cell_count(table, report_integer, inside);
    cell_place(table, lines, task->source_offset);
  }
  print_section(out, table, "loops");
  print_omitted(out, program->loops.count, "loops");
}

static void print_opaque(const struct report_program *program, const struct report_lines *lines, struct strbuf *out) {
  static const char *const headings[] = {"operation", "count", "first at"};
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_LEFT};
  if (program->opaque.count == 0) {
    return;
  }
  struct report_table *table = report_table_new(headings, aligns, 3);
  for (size_t i = 0; i < program->opaque.count && i < MAX_ROWS; i++) {
    const struct report_opaque *row = &program->opaque.data[i];
    report_table_cell(table, row->label);
    report_table_cell_count(table, report_integer, row->count);
    cell_place(table, lines, row->source_offset);
  }
  print_section(out, table, "operations of unknown cost (in no sum)");
  print_omitted(out, program->opaque.count, "names");
}

static void print_operations(const struct report_inspection *inspection, struct strbuf *out) {
  static const char *const headings[] = {"operation", "class", "count", "FLOPs", "share", "bytes", "share", "time"};
  static const enum report_align aligns[] = {REPORT_LEFT,  REPORT_LEFT,  REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT};
  const struct work_total *total = inspection->total;
  double flops = (double)report_total_flops(total);
  double bytes = (double)sat_add_u64(total->read_bytes, total->write_bytes);
  struct report_groups groups;
  report_groups_collect(&groups, inspection->graph, NULL, false);
  out->failed |= groups.failed;
  struct report_table *table = report_table_new(headings, aligns, sizeof aligns / sizeof *aligns);
  for (size_t i = 0; i < groups.rows.count && i < MAX_ROWS; i++) {
    const struct report_group *row = &groups.rows.data[i];
    const struct work_task *task = report_group_task(row);
    report_table_cell(table, report_label(row->graph, task));
    report_table_cell(table, work_class_name(report_class(task)));
    report_table_cell_count(table, report_integer, row->count);
    report_table_cell_of(table, report_count, (double)row->flops);
    report_table_cell_of(table, report_percent, flops > 0 ? (double)row->flops / flops : 0);
    report_table_cell_count(table, report_bytes, row->bytes);
    report_table_cell_of(table, report_percent, bytes > 0 ? (double)row->bytes / bytes : 0);
    report_table_cell_of(table, report_percent, groups.time_s > 0 ? row->time_s / groups.time_s : 0);
  }
  if (groups.rows.count) {
    char title[160];
    snprintf(title, sizeof title,
             "operations (time: share on a machine of %d FLOP per byte of memory bandwidth, without fusion)",
             REPORT_REFERENCE_FLOP_PER_BYTE);
    print_section(out, table, title);
    print_omitted(out, groups.rows.count, "kinds");
  } else {
    report_table_free(table);
  }
  report_groups_release(&groups);
}

/* Largest first, then in the order of the text. */
static int compare_functions(const void *left, const void *right) {
  const struct report_function_cost *a = *(const struct report_function_cost *const *)left;
  const struct report_function_cost *b = *(const struct report_function_cost *const *)right;
  if (a->xla_flops != b->xla_flops) {
    return a->xla_flops > b->xla_flops ? -1 : 1;
  }
  return a < b ? -1 : a > b;
}

static void print_functions(const struct report_inspection *inspection, struct strbuf *out) {
  static const char *const headings[] = {"function", "operations", "FLOPs", "transcendentals", "bytes"};
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT};
  size_t count = inspection->function_count;
  const struct report_function_cost **order = calloc(count ? count : 1, sizeof *order);
  if (!order || count == 0) {
    out->failed |= !order;
    free(order);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    order[i] = &inspection->functions[i];
  }
  qsort(order, count, sizeof *order, compare_functions);
  struct report_table *table = report_table_new(headings, aligns, sizeof aligns / sizeof *aligns);
  for (size_t i = 0; i < count && i < MAX_ROWS; i++) {
    report_table_cellf(table, "@%s", order[i]->name ? order[i]->name : "?");
    report_table_cell_count(table, report_integer, order[i]->ops);
    cell_signed(table, order[i]->xla_flops);
    cell_signed(table, order[i]->xla_transcendentals);
    if (order[i]->xla_bytes < 0) {
      report_table_cell(table, "unknown");
    } else {
      report_table_cell_count(table, report_bytes, (uint64_t)order[i]->xla_bytes);
    }
  }
  free(order);
  print_section(out, table, "functions (counts as XLA's HloCostAnalysis makes them)");
  print_omitted(out, count, "functions");
}

void report_inspection_text(const struct report_inspection *inspection, struct strbuf *out) {
  struct report_lines lines;
  struct report_program program;
  report_lines_init(&lines, inspection->source);
  report_program_collect(&program, inspection->graph);
  out->failed |= program.failed;
  strbuf_puts(out, "program  ");
  report_clean(out, inspection->program);
  strbuf_putc(out, '\n');
  print_totals(inspection->total, out);
  print_engines(inspection->total, out);
  print_memory(inspection, &lines, out);
  print_collectives(&program, out);
  print_loops(&program, &lines, out);
  print_opaque(&program, &lines, out);
  print_operations(inspection, out);
  print_functions(inspection, out);
  report_program_release(&program);
  report_lines_release(&lines);
}
