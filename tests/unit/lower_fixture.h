/* Programs as text, lowered, for the tests of lower/. */
#ifndef RIDGELINE_TESTS_LOWER_FIXTURE_H
#define RIDGELINE_TESTS_LOWER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/analyze.h"
#include "io/input_file.h"
#include "lower/lower.h"
#include "mlir/mlir.h"

struct lowered {
  struct source source;
  struct diag_list diags;
  struct ir_module *module;
  struct work_graph *graph;
  struct work_total total;
};

static inline enum status lowered_try(struct lowered *lowered, const char *text, size_t length) {
  memset(lowered, 0, sizeof *lowered);
  lowered->source = (struct source){"test.mlir", text, length};
  diag_init(&lowered->diags);
  struct mlir_parse_options options = {0};
  enum status status = mlir_parse(&lowered->source, &options, &lowered->diags, &lowered->module);
  if (status == STATUS_OK) {
    status = analyze_infer(lowered->module, &lowered->diags);
  }
  if (status == STATUS_OK) {
    status = analyze_calls(lowered->module, &lowered->diags);
  }
  if (status == STATUS_OK) {
    status = lower_module(lowered->module, NULL, &lowered->diags, &lowered->graph);
  }
  if (status == STATUS_OK) {
    work_graph_total(lowered->graph, &lowered->total);
  }
  return status;
}

static inline void lowered_release(struct lowered *lowered) {
  work_graph_free(lowered->graph);
  ir_module_free(lowered->module);
  diag_release(&lowered->diags);
}

/* Text that must lower to a graph that keeps its invariants. */
static inline void lowered_from(struct lowered *lowered, const char *text) {
  enum status status = lowered_try(lowered, text, strlen(text));
  if (status == STATUS_OK) {
    status = work_graph_verify(lowered->graph, &lowered->diags);
  }
  if (status != STATUS_OK) {
    fail_msg("%s", lowered->diags.entries.count > 0 ? lowered->diags.entries.data[0].message : "no message");
  }
}

/* First task whose label is `label`, in this graph or, depth first, in a subgraph; *inside receives the graph. */
static inline const struct work_task *task_find(const struct work_graph *graph, const char *label,
                                                const struct work_graph **inside) {
  for (size_t i = 0; i < graph->tasks.count; i++) {
    if (strcmp(intern_text(graph->strings, graph->tasks.data[i].label), label) == 0) {
      *inside = graph;
      return &graph->tasks.data[i];
    }
  }
  for (size_t i = 0; i < graph->subgraphs.count; i++) {
    const struct work_task *task = task_find(graph->subgraphs.data[i], label, inside);
    if (task != NULL) {
      return task;
    }
  }
  return NULL;
}

/* Operations of a task on an engine, all types. */
static inline uint64_t task_ops(const struct work_graph *graph, const struct work_task *task, enum work_engine engine) {
  uint64_t ops = 0;
  for (uint32_t i = 0; i < task->demand_count; i++) {
    const struct work_demand_entry *entry = &graph->demands.data[task->demand_first + i];
    ops += entry->engine == engine ? entry->ops : 0;
  }
  return ops;
}

/* Path of a file below shared/data, or false. */
static inline bool data_path(char *path, size_t size, const char *name) {
  const char *root = getenv("RIDGELINE_DATA");
  if (root != NULL) {
    snprintf(path, size, "%s/%s", root, name);
  } else {
    snprintf(path, size, "%s/../shared/data/%s", RDG_SOURCE_DIR, name);
  }
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    print_message("skipped: no data (%s)\n", path);
    return false;
  }
  fclose(file);
  return true;
}

static inline bool lowered_file(struct lowered *lowered, struct input_file *file, const char *path) {
  struct diag_list diags;
  diag_init(&diags);
  enum status status = input_file_read(file, path, 0, &diags);
  diag_release(&diags);
  return status == STATUS_OK && lowered_try(lowered, file->text, file->length) == STATUS_OK;
}

#endif
