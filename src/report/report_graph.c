/* Where tasks are in a work graph: addresses, the tasks inside a loop or conditional as text, and the graph as JSON
 * (docs/json.md is the schema).
 *
 * An address is the way from the outermost graph: task, then for each loop or conditional on the way its subgraph and the
 * task in it. "1.0.3" is task 3 in subgraph 0 of task 1. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_int.h"

enum { ADDRESS_CAPACITY = 2 * REPORT_MAX_DEPTH + 2 };

static const char *subgraph_word(const struct work_task *task) {
  return task->kind == WORK_LOOP ? "body" : "branch";
}

/* The next number of an address; false when there is none. Large numbers saturate. */
static bool read_number(const char **at, uint64_t *number) {
  if (!isdigit((unsigned char)**at)) {
    return false;
  }
  for (*number = 0; isdigit((unsigned char)**at); (*at)++) {
    *number = *number > UINT32_MAX ? *number : *number * 10 + (uint64_t)(**at - '0');
  }
  return true;
}

bool report_task_find(const struct work_graph *graph, const struct work_graph_result *result, const char *address,
                      struct report_place_in_graph *place, struct strbuf *why) {
  const char *at = address;
  uint64_t number;
  *place = (struct report_place_in_graph){.graph = graph, .result = result};
  for (unsigned depth = 0; depth < REPORT_MAX_DEPTH; depth++) {
    if (!read_number(&at, &number) || (*at != '.' && *at != '\0')) {
      strbuf_printf(why, "'%s' is not the address of a task, like 3 or 1.0.3", address);
      return false;
    }
    if (number >= place->graph->tasks.count) {
      strbuf_printf(why, "there is no task %.*s; that graph has %zu, numbered from 0", (int)(at - address), address,
                    place->graph->tasks.count);
      return false;
    }
    place->task = (uint32_t)number;
    if (*at == '\0') {
      return true;
    }
    const struct work_task *task = &place->graph->tasks.data[number];
    int task_length = (int)(at - address);
    at++;
    if (task->subgraph_count == 0) {
      strbuf_printf(why, "task %.*s is no loop or conditional: nothing is inside it", task_length, address);
      return false;
    }
    if (!read_number(&at, &number) || number >= task->subgraph_count) {
      strbuf_printf(why, "task %.*s has %u subgraph%s, numbered from 0", task_length, address, task->subgraph_count,
                    task->subgraph_count == 1 ? "" : "s");
      return false;
    }
    if (*at != '.') {
      strbuf_printf(why, "'%s' names a whole %s; add the number of a task in it, like %s.0", address,
                    subgraph_word(task), address);
      return false;
    }
    at++;
    uint32_t sub = task->subgraph_first + (uint32_t)number;
    place->graph = place->graph->subgraphs.data[sub];
    place->result = place->result ? &place->result->subgraphs[sub] : NULL;
  }
  strbuf_printf(why, "'%s' goes deeper than %d levels", address, REPORT_MAX_DEPTH);
  return false;
}

/* ---- text ---- */

static void print_inside(const struct work_graph *graph, const struct work_graph_result *result, const char *prefix,
                         struct strbuf *out) {
  static const char *const headings[] = {"address", "time", "share", "operation", "works on"};
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT, REPORT_LEFT};
  struct report_table *table = report_table_new(headings, aligns, sizeof aligns / sizeof *aligns);
  for (uint32_t t = 0; t < graph->tasks.count; t++) {
    const struct work_task *task = &graph->tasks.data[t];
    double time_s = result->tasks[t].time_s;
    if (report_is_free(task)) {
      continue;
    }
    struct strbuf text = {0};
    report_table_cellf(table, "%s.%u", prefix, t);
    report_table_cell_of(table, report_time, time_s);
    report_table_cell_of(table, report_percent, result->time_s > 0 ? time_s / result->time_s : 0);
    report_task_name(graph, task, &text);
    report_table_cell(table, strbuf_text(&text));
    strbuf_clear(&text);
    report_task_shape(graph, task, &text);
    report_table_cell(table, strbuf_text(&text));
    strbuf_release(&text);
  }
  report_table_print_indented(table, 2, out);
  report_table_free(table);
}

void report_inside_text(const struct report_place_in_graph *place, const char *address, struct strbuf *out) {
  const struct work_task *task = &place->graph->tasks.data[place->task];
  for (uint32_t i = 0; i < task->subgraph_count; i++) {
    uint32_t sub = task->subgraph_first + i;
    struct strbuf prefix = {0};
    strbuf_printf(&prefix, "%s.%u", address, i);
    strbuf_printf(out, "\n%s %s: ", subgraph_word(task), strbuf_text(&prefix));
    report_time(out, place->result->subgraphs[sub].time_s);
    strbuf_puts(out, task->kind == WORK_LOOP ? " per iteration\n" : "\n");
    print_inside(place->graph->subgraphs.data[sub], &place->result->subgraphs[sub], strbuf_text(&prefix), out);
    strbuf_release(&prefix);
  }
}

/* ---- JSON ---- */

struct graph_json {
  struct report_json json;
  struct report_lines lines;
  char address[12 * ADDRESS_CAPACITY]; /* of the task being written */
};

static json_t *tasks_of(struct graph_json *g, const struct work_graph *graph, const struct work_graph_result *result,
                        size_t length, unsigned depth);

static json_t *accesses_of(struct graph_json *g, const struct work_graph *graph, uint32_t first, uint32_t count) {
  json_t *rows = json_array();
  for (uint32_t i = 0; i < count; i++) {
    const struct work_access *access = &graph->accesses.data[first + i];
    struct strbuf type = {0};
    report_tensor_type(graph, access->tensor, &type);
    json_t *row = json_object();
    report_json_set(&g->json, row, "tensor", json_integer(access->tensor));
    report_json_set(&g->json, row, "type", report_json_text(strbuf_text(&type)));
    report_json_set(&g->json, row, "elements", report_json_uint(access->touched_elements));
    report_json_append(&g->json, rows, row);
    strbuf_release(&type);
  }
  return rows;
}

static json_t *subgraphs_of(struct graph_json *g, const struct work_graph *graph, const struct work_task *task,
                            const struct work_graph_result *result, size_t length, unsigned depth) {
  json_t *rows = json_array();
  for (uint32_t i = 0; i < task->subgraph_count && depth < REPORT_MAX_DEPTH; i++) {
    uint32_t sub = task->subgraph_first + i;
    int added = snprintf(g->address + length, sizeof g->address - length, ".%u.", i);
    const struct work_graph_result *inside = result ? &result->subgraphs[sub] : NULL;
    report_json_append(&g->json, rows,
                       tasks_of(g, graph->subgraphs.data[sub], inside, length + (size_t)added, depth + 1));
  }
  return rows;
}

/* g->address holds the address of the task. */
static json_t *task_of(struct graph_json *g, const struct work_graph *graph, uint32_t index,
                       const struct work_graph_result *result, unsigned depth) {
  const struct work_task *task = &graph->tasks.data[index];
  json_t *row = json_object();
  struct strbuf text = {0};
  uint64_t matrix;
  uint64_t flops = report_task_flops(graph, task, &matrix);
  report_json_set(&g->json, row, "task", json_string(g->address));
  report_json_set(&g->json, row, "operation", report_json_text(report_label(graph, task)));
  report_task_name(graph, task, &text);
  report_json_set(&g->json, row, "name", report_json_text(strbuf_text(&text)));
  strbuf_clear(&text);
  report_task_shape(graph, task, &text);
  report_json_set(&g->json, row, "works_on", report_json_text(strbuf_text(&text)));
  strbuf_release(&text);
  report_json_set(&g->json, row, "kind", json_string(work_kind_info((enum work_kind)task->kind)->name));
  report_json_set(&g->json, row, "class", json_string(work_class_name(report_class(task))));
  report_json_set(&g->json, row, "at", report_json_place(&g->lines, task->source_offset));
  report_json_set(&g->json, row, "flops", report_json_uint(flops));
  report_json_set(&g->json, row, "matrix_flops", report_json_uint(matrix));
  report_json_set(&g->json, row, "read_bytes", report_json_uint(task->read_bytes));
  report_json_set(&g->json, row, "write_bytes", report_json_uint(task->write_bytes));
  if (result) {
    const struct work_task_result *r = &result->tasks[index];
    report_json_set(&g->json, row, "time_s", report_json_real(r->time_s));
    report_json_set(&g->json, row, "bound_by", json_string(work_bound_name((enum work_bound)r->bound)));
  }
  uint32_t writes = task->access_count - task->read_count;
  report_json_set(&g->json, row, "reads", accesses_of(g, graph, task->access_first, task->read_count));
  report_json_set(&g->json, row, "writes", accesses_of(g, graph, task->access_first + task->read_count, writes));
  json_t *after = json_array();
  for (uint32_t i = 0; i < task->dependency_count; i++) {
    report_json_append(&g->json, after, json_integer(graph->dependencies.data[task->dependency_first + i]));
  }
  report_json_set(&g->json, row, "after", after);
  if (task->subgraph_count > 0) {
    bool is_counted = task->kind == WORK_LOOP && !(task->flags & WORK_TASK_TRIP_UNKNOWN);
    report_json_set(&g->json, row, "trips", is_counted ? report_json_uint(task->trip_count) : json_null());
    report_json_set(&g->json, row, "subgraphs", subgraphs_of(g, graph, task, result, strlen(g->address), depth));
  }
  return row;
}

static json_t *tasks_of(struct graph_json *g, const struct work_graph *graph, const struct work_graph_result *result,
                        size_t length, unsigned depth) {
  json_t *rows = json_array();
  for (uint32_t t = 0; t < graph->tasks.count; t++) {
    snprintf(g->address + length, sizeof g->address - length, "%u", t);
    report_json_append(&g->json, rows, task_of(g, graph, t, result, depth));
  }
  return rows;
}

enum status report_graph_json(const struct report_graph *report, struct strbuf *out) {
  struct graph_json *g = calloc(1, sizeof *g);
  if (!g) {
    return STATUS_MEMORY;
  }
  report_lines_init(&g->lines, report->source);
  json_t *root = report_json_document(&g->json, "ridgeline-graph", report->version);
  report_json_set(&g->json, root, "program", report_json_text(report->program));
  report_json_set(&g->json, root, "chip", report->chip ? report_json_text(report->chip->id) : json_null());
  const struct work_graph_result *result = report->result ? &report->result->root : NULL;
  if (report->result) {
    report_json_set(&g->json, root, "time_s", report_json_real(report->result->time_s));
    report_json_set(&g->json, root, "dispatch_s", report_json_real(report->result->dispatch_s));
  }
  json_t *tasks;
  if (report->place) {
    snprintf(g->address, sizeof g->address, "%s", report->address);
    tasks = json_array();
    report_json_append(&g->json, tasks,
                       task_of(g, report->place->graph, report->place->task, report->place->result, 0));
  } else {
    tasks = tasks_of(g, report->graph, result, 0, 0);
  }
  report_json_set(&g->json, root, "tasks", tasks);
  report_lines_release(&g->lines);
  enum status status = report_json_finish(&g->json, root, out);
  free(g);
  return status;
}
