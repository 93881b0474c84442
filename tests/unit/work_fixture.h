/* Work graphs as text for the tests of work/. */
#ifndef RIDGELINE_TESTS_WORK_FIXTURE_H
#define RIDGELINE_TESTS_WORK_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "work/work.h"

/* Parses text that must be right; not sealed. */
static inline struct work_graph *graph_from(const char *text) {
  struct source source = {"test.work", text, strlen(text)};
  struct diag_list diags;
  struct work_graph *graph = NULL;
  diag_init(&diags);
  enum status status = work_graph_parse(&source, &diags, &graph);
  if (status != STATUS_OK) {
    print_error("line %u: %s\n", diags.entries.count > 0 ? diags.entries.data[0].line : 0,
                diags.entries.count > 0 ? diags.entries.data[0].message : "no message");
  }
  assert_int_equal(status, STATUS_OK);
  diag_release(&diags);
  return graph;
}

/* Sealed, and true to the invariants before and after. */
static inline struct work_graph *sealed_from(const char *text) {
  struct work_graph *graph = graph_from(text);
  struct diag_list diags;
  diag_init(&diags);
  for (int i = 0; i < 2; i++) {
    if (i == 1) {
      assert_int_equal(work_graph_seal(graph), STATUS_OK);
    }
    if (work_graph_verify(graph, &diags) != STATUS_OK) {
      fail_msg("%s", diags.entries.data[0].message);
    }
  }
  diag_release(&diags);
  return graph;
}

static inline const struct work_stage *stage_of(const struct work_graph *graph, uint32_t task, uint32_t stage) {
  return &graph->stages.data[graph->tasks.data[task].stage_first + stage];
}

static inline const struct work_access *border_of(const struct work_graph *graph, uint32_t task, uint32_t access) {
  return &graph->accesses.data[graph->tasks.data[task].access_first + access];
}

#endif
