/* A plan as text: the table of policies, the bounds, what simplification did; on request the ablation, what-if lines, the
 * slowest operators and the layers. docs/plan.md explains the columns. */
#include <math.h>
#include <stdlib.h>

#include "report/report_plan_int.h"

static void time_cell(struct report_table *table, int64_t ps) {
  report_table_cell_of(table, report_time, report_plan_s(ps));
}

/* Zero is a dash: tables of mostly zeros hide what is there. */
static void time_cell_if(struct report_table *table, int64_t ps) {
  if (ps == 0) {
    report_table_cell(table, "-");
  } else {
    time_cell(table, ps);
  }
}

static void kib_cell(struct report_table *table, uint64_t bytes) {
  struct strbuf text = {0};
  report_plan_kib(bytes, &text);
  report_table_cell(table, strbuf_text(&text));
  strbuf_release(&text);
}

/* ---- head ---- */

static void put_memory(const struct plan_chip *chip, struct strbuf *out) {
  if (chip->has_memory) {
    strbuf_puts(out, ", memory ");
    report_si(out, chip->memory_Bps, "B/s");
  } else {
    strbuf_puts(out, ", no off-chip memory");
  }
}

static void put_head(const struct report_plan *plan, struct strbuf *out) {
  const struct plan_result *result = plan->result;
  const struct plan_chip *chip = &result->chip;
  const struct plan_program *program = &result->program;
  report_clean(out, plan->program);
  strbuf_puts(out, " on ");
  report_clean(out, chip->id);
  strbuf_puts(out, ": ");
  report_integer(out, chip->cores);
  strbuf_puts(out, " cores × ");
  report_plan_kib(chip->sram_bytes, out);
  strbuf_puts(out, " for plans, links ");
  report_si(out, chip->link_Bps, "B/s");
  put_memory(chip, out);
  strbuf_putc(out, '\n');
  report_integer(out, program->operators.count);
  strbuf_puts(out, " operators of ");
  report_integer(out, program->sort_count);
  strbuf_printf(out, " sorts in %u layer%s; ", program->layer_count, program->layer_count == 1 ? "" : "s");
  report_bytes(out, program->memory_bytes);
  strbuf_puts(out, " from memory, ");
  report_si(out, program->matrix_flop, "FLOP");
  strbuf_puts(out, " matrix, ");
  report_si(out, program->vector_flop, "FLOP");
  strbuf_puts(out, " other\n\n");
}

/* ---- policies ---- */

static void put_policies(const struct plan_result *result, struct strbuf *out) {
  static const char *const headings[] = {"policy", "time",       "over plans'", "over resources'", "memory", "links",
                                         "matrix", "wait: load", "wait: links", "SRAM peak",       "search"};
  static const enum report_align aligns[] = {REPORT_LEFT,  REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT};
  enum { COLUMNS = sizeof headings / sizeof *headings };
  struct report_table *table = report_table_new(headings, aligns, COLUMNS);
  for (uint32_t i = 0; i < result->row_count; i++) {
    const struct plan_row *row = &result->rows[i];
    const struct plan_timeline *timeline = &row->result.timeline;
    report_table_cellf(table, "%s%s", row->policy->name, row->policy->is_reference ? " *" : "");
    if (row->status != STATUS_OK) {
      report_table_cell(table, "refused");
      for (size_t c = 2; c < COLUMNS; c++) {
        report_table_cell(table, "");
      }
      continue;
    }
    time_cell(table, timeline->makespan_ps);
    report_table_cell_of(table, report_percent, row->gap_space);
    report_table_cell_of(table, report_percent, row->gap_resource);
    report_table_cell_of(table, report_percent, row->memory_utilisation);
    report_table_cell_of(table, report_percent, row->link_utilisation);
    report_table_cell_of(table, report_percent, row->compute_utilisation);
    time_cell_if(table, timeline->stall_load_ps);
    time_cell_if(table, timeline->stall_link_ps);
    kib_cell(table, timeline->peak_bytes);
    time_cell(table, (int64_t)(row->search_s * 1e12));
  }
  report_table_print(table, out);
  report_table_free(table);
}

static void put_remarks(const struct plan_result *result, struct strbuf *out) {
  bool has_reference = false;
  for (uint32_t i = 0; i < result->row_count; i++) {
    const struct plan_row *row = &result->rows[i];
    has_reference |= row->status == STATUS_OK && row->policy->is_reference;
    if (row->status != STATUS_OK) {
      strbuf_printf(out, "%s: %s\n", row->policy->name, report_plan_refusal(row));
    } else if (!row->result.stats.complete && !row->policy->is_reference && row->result.stats.labels > 0) {
      strbuf_printf(out, "%s: the search was cut, after ", row->policy->name);
      report_integer(out, row->result.stats.labels);
      strbuf_puts(out, " labels; the bounds hold all the same\n");
    }
  }
  if (has_reference) {
    strbuf_puts(out, "* no schedule of a real chip: contention and preload sizes are left out\n");
  }
}

/* ---- bounds and compilation ---- */

static void put_part(struct strbuf *out, const char *name, int64_t ps) {
  strbuf_printf(out, "%s ", name);
  report_time(out, report_plan_s(ps));
}

static void put_bounds(const struct plan_result *result, struct strbuf *out) {
  const struct plan_bounds *space = &result->bounds;
  const struct plan_resource_bound *any = &result->resource;
  strbuf_puts(out, "\nno plan of the plan space is faster than ");
  report_time(out, report_plan_s(space->chain_ps));
  put_part(out, " (flow shop", space->flow_shop_ps);
  put_part(out, ", links", space->link_ps);
  strbuf_puts(out, ")\nno plan whatever is faster than ");
  report_time(out, report_plan_s(any->bound_ps));
  put_part(out, " (memory", any->memory_ps);
  put_part(out, ", matrix", any->matrix_ps);
  put_part(out, ", other operations", any->vector_ps);
  put_part(out, ", links", any->link_ps);
  put_part(out, ", first load and last step", any->first_load_ps);
  strbuf_puts(out, ")\n");
}

static void put_compilation(const struct plan_result *result, struct strbuf *out) {
  uint64_t seen = 0, pruned = 0, kept = 0;
  for (size_t i = 0; i < result->sets.sets.count; i++) {
    seen += result->sets.sets.data[i].plans_seen;
    pruned += result->sets.sets.data[i].plans_pruned;
    kept += result->sets.chain.sets[i].execute_count;
  }
  put_part(out, "compiled in", (int64_t)(result->total_s * 1e12));
  put_part(out, ": reading", (int64_t)(result->read_s * 1e12));
  put_part(out, ", plan sets", (int64_t)(result->sets_s * 1e12));
  strbuf_puts(out, " (");
  report_integer(out, seen);
  strbuf_puts(out, " plans priced, ");
  report_integer(out, pruned);
  strbuf_puts(out, " left out by bounds, ");
  report_integer(out, kept);
  strbuf_puts(out, " kept)\n");
}

static void put_shares(const struct plan_program *program, struct strbuf *out) {
  if (program->shares.count == 0) {
    return;
  }
  static const char *const headings[] = {"simplification", "operators before", "after"};
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT};
  struct report_table *table = report_table_new(headings, aligns, 3);
  for (size_t i = 0; i < program->shares.count; i++) {
    report_table_cell(table, program->shares.data[i].step);
    report_table_cellf(table, "%u", program->shares.data[i].operators_before);
    report_table_cellf(table, "%u", program->shares.data[i].operators_after);
  }
  strbuf_putc(out, '\n');
  report_table_print(table, out);
  report_table_free(table);
}

/* ---- ablation, what-if ---- */

static void put_ablation(const struct report_plan *plan, struct strbuf *out) {
  static const char *const headings[] = {"joint", "time", "slower by", "plans' bound", "over it"};
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT};
  struct report_table *table = report_table_new(headings, aligns, 5);
  double all = (double)plan->ablation[0].makespan_ps;
  for (uint32_t i = 0; i < plan->ablation_count; i++) {
    const struct plan_ablation_row *row = &plan->ablation[i];
    report_table_cell(table, row->ingredient);
    time_cell(table, row->makespan_ps);
    report_table_cell_of(table, report_percent, i ? (double)row->makespan_ps / all - 1 : (double)NAN);
    time_cell(table, row->bound_ps);
    report_table_cell_of(table, report_percent, (double)row->makespan_ps / (double)row->bound_ps - 1);
  }
  strbuf_putc(out, '\n');
  report_table_print(table, out);
  report_table_free(table);
}

static void put_what_if(const struct report_plan *plan, struct strbuf *out) {
  const struct plan_what_if *what_if = plan->what_if;
  strbuf_putc(out, '\n');
  report_time(out, report_plan_s(what_if->latency_ps));
  if (what_if->sram_bytes == 0) {
    strbuf_puts(out, " is not reached by more SRAM alone");
  } else {
    strbuf_puts(out, " is reached with ");
    report_plan_kib(what_if->sram_bytes, out);
    strbuf_puts(out, " of SRAM for plans per core (now ");
    report_plan_kib(plan->result->chip.sram_bytes, out);
    strbuf_putc(out, ')');
  }
  strbuf_puts(out, what_if->memory_Bps > 0 ? ", or with " : ", nor by faster memory alone\n");
  if (what_if->memory_Bps > 0) {
    report_si(out, what_if->memory_Bps, "B/s");
    strbuf_puts(out, " of memory bandwidth (now ");
    report_si(out, plan->result->chip.memory_Bps, "B/s");
    strbuf_puts(out, ")\n");
  }
}

/* ---- operators and layers ---- */

static void group_cells(struct report_table *table, const struct report_plan_group *group, int64_t makespan_ps) {
  time_cell(table, group->time_ps);
  report_table_cell_of(table, report_percent, (double)group->time_ps / (double)makespan_ps);
  time_cell_if(table, group->phases.compute_ps);
  time_cell_if(table, group->phases.shift_ps + group->phases.serial_ps);
  time_cell_if(table, group->phases.distribute_ps);
  time_cell_if(table, group->load_ps);
  time_cell_if(table, group->wait_load_ps);
  time_cell_if(table, group->wait_link_ps);
  kib_cell(table, group->peak_bytes);
}

#define GROUP_HEADINGS                                                                                                 \
  "time", "share", "compute", "exchange", "distribution", "loads", "wait: load", "wait: links", "SRAM peak"
#define GROUP_ALIGNS                                                                                                   \
  REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT,      \
      REPORT_RIGHT

static void put_operators(const struct report_plan *plan, const struct plan_row *row, struct strbuf *out) {
  static const char *const headings[] = {"operator", "axes", "partition", "times", GROUP_HEADINGS};
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_LEFT, REPORT_LEFT, REPORT_RIGHT, GROUP_ALIGNS};
  struct report_plan_group *groups;
  uint32_t count;
  if (report_plan_groups(plan->result, row, false, &groups, &count) != STATUS_OK) {
    out->failed = true;
    return;
  }
  struct report_table *table = report_table_new(headings, aligns, sizeof headings / sizeof *headings);
  for (uint32_t i = 0; i < count && i < plan->operators; i++) {
    struct strbuf name = {0}, axes = {0}, partition = {0};
    report_cut(&name, report_plan_operator_name(plan->result, groups[i].first), 40);
    report_plan_extents(plan->result, groups[i].first, &axes);
    report_plan_partition(plan->result, row, groups[i].first, &partition);
    report_table_cell(table, strbuf_text(&name));
    report_table_cell(table, strbuf_text(&axes));
    report_table_cell(table, strbuf_text(&partition));
    report_table_cellf(table, "%u", groups[i].count);
    group_cells(table, &groups[i], row->result.timeline.makespan_ps);
    strbuf_release(&name);
    strbuf_release(&axes);
    strbuf_release(&partition);
  }
  strbuf_printf(out, "\n%s: the sorts of operators that take most time; partition of the first of each\n",
                row->policy->name);
  report_table_print(table, out);
  report_table_free(table);
  free(groups);
}

static void put_layers(const struct report_plan *plan, const struct plan_row *row, struct strbuf *out) {
  static const char *const headings[] = {"layer", "operators", GROUP_HEADINGS};
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, GROUP_ALIGNS};
  struct report_plan_group *groups;
  uint32_t count;
  if (report_plan_groups(plan->result, row, true, &groups, &count) != STATUS_OK) {
    out->failed = true;
    return;
  }
  struct report_table *table = report_table_new(headings, aligns, sizeof headings / sizeof *headings);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t layer = plan->result->program.operators.data[groups[i].first].layer;
    if (layer == UINT32_MAX) {
      report_table_cell(table, "outside");
    } else {
      report_table_cellf(table, "%u", layer);
    }
    report_table_cellf(table, "%u", groups[i].count);
    group_cells(table, &groups[i], row->result.timeline.makespan_ps);
  }
  strbuf_puts(out, "\nlayers\n");
  report_table_print(table, out);
  report_table_free(table);
  free(groups);
}

void report_plan_text(const struct report_plan *plan, struct strbuf *out) {
  const struct plan_result *result = plan->result;
  const struct plan_row *chosen = report_plan_chosen(result);
  put_head(plan, out);
  put_policies(result, out);
  put_remarks(result, out);
  put_bounds(result, out);
  put_compilation(result, out);
  put_shares(&result->program, out);
  if (plan->ablation_count) {
    put_ablation(plan, out);
  }
  if (plan->what_if) {
    put_what_if(plan, out);
  }
  if (plan->operators && chosen) {
    put_operators(plan, chosen, out);
    put_layers(plan, chosen, out);
  }
}
