/* What the suite "collectives" prints. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "measure/measure_collectives_score.h"

void collective_goals_of(const struct collective_scores *scores, struct collective_goal goals[COLLECTIVE_GOAL_COUNT]) {
  struct collective_means means = collective_means_of(scores, -1);
  goals[0] = (struct collective_goal){"1 MB and more, mean of cells", means.large, 0.08};
  goals[1] = (struct collective_goal){"all sizes, mean of cells", means.all, 0.20};
  goals[2] = (struct collective_goal){"unseen NVLink system, all sizes, mean of cells", means.unseen, 0.20};
}

static void put_percent(struct strbuf *out, double value) {
  if (isfinite(value)) {
    strbuf_printf(out, " %8.1f", 100 * value);
  } else {
    strbuf_puts(out, "        -");
  }
}

static void put_cell(const struct collective_cell *cell, struct strbuf *out) {
  const struct collective_machine *machine = &collective_machines[cell->machine];
  strbuf_printf(out, "%-14s %-22s %-14s %6zu", collective_table_info(machine->table)->name, machine->cluster,
                work_collective_name(cell->kind), cell->all.count);
  for (int band = 0; band < COLLECTIVE_BAND_COUNT; band++) {
    put_percent(out, collective_error_mean(&cell->bands[band]));
  }
  put_percent(out, collective_error_mean(&cell->large));
  put_percent(out, collective_error_mean(&cell->all));
  put_percent(out, collective_error_mean(&cell->line_large));
  put_percent(out, collective_error_mean(&cell->line_all));
  put_percent(out, collective_error_mean(&cell->unseen_all));
  strbuf_puts(out, collective_table_info(machine->table)->may_fit ? "\n" : "  *\n");
}

static void put_means(const struct collective_scores *scores, struct strbuf *out) {
  strbuf_printf(out, "\n%-14s %6s %6s %8s %8s %8s %8s %8s   %8s %8s\n", "mean of cells", "cells", "rows", ">= 1 MB",
                "all", "2c 1 MB", "2c all", "unseen", "rows 1MB", "rows all");
  for (int kind = -1; kind < COLLECTIVE_KINDS; kind++) {
    struct collective_means means = collective_means_of(scores, kind);
    if (means.cells == 0) {
      continue;
    }
    strbuf_printf(out, "%-14s %6zu %6zu", kind < 0 ? "all" : work_collective_name((enum work_collective_kind)kind),
                  means.cells, means.rows);
    put_percent(out, means.large);
    put_percent(out, means.all);
    put_percent(out, means.line_large);
    put_percent(out, means.line_all);
    put_percent(out, means.unseen);
    strbuf_puts(out, "  ");
    put_percent(out, means.rows_large);
    put_percent(out, means.rows_all);
    strbuf_putc(out, '\n');
  }
}

static void put_harness(const struct collective_harness *harness, struct strbuf *out) {
  strbuf_puts(out, "\nlaunch that a table's harness adds, us, fitted on its train rows:\n");
  for (int table = 0; table < COLLECTIVE_TABLE_COUNT; table++) {
    if (!collective_has_launch((enum collective_table)table)) {
      continue;
    }
    strbuf_printf(out, "  %-14s", collective_table_info((enum collective_table)table)->name);
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++) {
      double launch_s = harness->launch_s[table][kind];
      if (launch_s > 0) {
        strbuf_printf(out, "  %s %.1f", work_collective_name((enum work_collective_kind)kind), 1e6 * launch_s);
      }
    }
    strbuf_putc(out, '\n');
  }
}

static void put_goals(const struct collective_scores *scores, struct strbuf *out) {
  struct collective_goal goals[COLLECTIVE_GOAL_COUNT];
  unsigned met = 0;
  collective_goals_of(scores, goals);
  strbuf_putc(out, '\n');
  for (int i = 0; i < COLLECTIVE_GOAL_COUNT; i++) {
    bool is_met = goals[i].value <= goals[i].most;
    met += is_met;
    strbuf_printf(out, "%-48s %5.1f %%  (at most %2.0f %%)  %s\n", goals[i].text, 100 * goals[i].value,
                  100 * goals[i].most, is_met ? "met" : "missed");
  }
  strbuf_printf(out, "\ngoals: %u of %d met\n", met, COLLECTIVE_GOAL_COUNT);
}

void collectives_write_text(const struct measured_collectives *all, const struct collective_scores *scores,
                            const struct collective_harness *harness, struct strbuf *out) {
  strbuf_puts(
      out, "Collectives: mean error in percent on sizes that no constant has seen (2c: two constants per machine and "
           "operation,\nfitted on the same train rows; unseen: constants of the other NVLink machines; * scored "
           "only, all rows)\n\n");
  strbuf_printf(out, "%-14s %-22s %-14s %6s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n", "table", "cluster", "operation",
                "rows", "< 64 KB", "< 1 MB", "< 64 MB", "larger", ">= 1 MB", "all", "2c 1 MB", "2c all", "unseen");
  for (size_t i = 0; i < scores->cells.count; i++) {
    put_cell(&scores->cells.data[i], out);
  }
  put_means(scores, out);
  put_harness(harness, out);
  strbuf_puts(out, "\nrows left out:\n");
  for (int reason = 0; reason < COLLECTIVE_LEFT_OUT_COUNT; reason++) {
    strbuf_printf(out, "  %6zu  %s\n", all->left_out[reason], collective_left_out_texts[reason]);
  }
  put_goals(scores, out);
}

/* ---- JSON ---- */

static json_t *number(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

static json_t *cell_json(const struct collective_cell *cell) {
  static const char *const bands[COLLECTIVE_BAND_COUNT] = {"below_64_KB", "below_1_MB", "below_64_MB", "larger"};
  const struct collective_machine *machine = &collective_machines[cell->machine];
  json_t *by_band = json_object();
  for (int band = 0; band < COLLECTIVE_BAND_COUNT; band++) {
    json_object_set_new(by_band, bands[band], number(collective_error_mean(&cell->bands[band])));
  }
  return json_pack("{s:s,s:s,s:s,s:s,s:b,s:I,s:o,s:o,s:o,s:o,s:o,s:o}", "table",
                   collective_table_info(machine->table)->name, "device", machine->device, "cluster", machine->cluster,
                   "operation", work_collective_name(cell->kind), "is_fitted",
                   (int)collective_table_info(machine->table)->may_fit, "rows", (json_int_t)cell->all.count, "mape",
                   number(collective_error_mean(&cell->all)), "mape_1_MB", number(collective_error_mean(&cell->large)),
                   "bands", by_band, "two_constants_mape", number(collective_error_mean(&cell->line_all)),
                   "two_constants_mape_1_MB", number(collective_error_mean(&cell->line_large)), "unseen_mape",
                   number(collective_error_mean(&cell->unseen_all)));
}

static json_t *harness_json(const struct collective_harness *harness) {
  json_t *list = json_array();
  for (int table = 0; table < COLLECTIVE_TABLE_COUNT; table++) {
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++) {
      if (harness->launch_s[table][kind] > 0) {
        json_array_append_new(list, json_pack("{s:s,s:s,s:f}", "table",
                                              collective_table_info((enum collective_table)table)->name, "operation",
                                              work_collective_name((enum work_collective_kind)kind), "launch_s",
                                              harness->launch_s[table][kind]));
      }
    }
  }
  return list;
}

enum status collectives_write_json(const struct measured_collectives *all, const struct collective_scores *scores,
                                   const struct collective_harness *harness, struct strbuf *out) {
  struct collective_goal goals[COLLECTIVE_GOAL_COUNT];
  json_t *cells = json_array(), *left_out = json_array(), *goal_list = json_array();
  collective_goals_of(scores, goals);
  for (size_t i = 0; i < scores->cells.count; i++) {
    json_array_append_new(cells, cell_json(&scores->cells.data[i]));
  }
  for (int reason = 0; reason < COLLECTIVE_LEFT_OUT_COUNT; reason++) {
    json_array_append_new(left_out, json_pack("{s:s,s:I}", "reason", collective_left_out_texts[reason], "rows",
                                              (json_int_t)all->left_out[reason]));
  }
  for (int i = 0; i < COLLECTIVE_GOAL_COUNT; i++) {
    json_array_append_new(goal_list,
                          json_pack("{s:s,s:o,s:f,s:b}", "goal", goals[i].text, "value", number(goals[i].value),
                                    "at_most", goals[i].most, "is_met", (int)(goals[i].value <= goals[i].most)));
  }
  json_t *document =
      json_pack("{s:s,s:i,s:o,s:o,s:o,s:o}", "format", "ridgeline-collectives", "format_version", 1, "cells", cells,
                "harness", harness_json(harness), "left_out", left_out, "goals", goal_list);
  char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : NULL;
  json_decref(document);
  if (text == NULL) {
    return STATUS_MEMORY;
  }
  strbuf_printf(out, "%s\n", text);
  free(text);
  return out->failed ? STATUS_MEMORY : STATUS_OK;
}
