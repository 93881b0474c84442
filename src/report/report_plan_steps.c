/* What follows from a schedule and its timeline, for all reports of plans: phases of steps, sums per sort and per layer,
 * SRAM over time. */
#include <stdlib.h>
#include <string.h>

#include "report/report_plan_int.h"

const struct plan_row *report_plan_chosen(const struct plan_result *result) {
  const struct plan_row *best = NULL;
  for (uint32_t i = 0; i < result->row_count; i++) {
    const struct plan_row *row = &result->rows[i];
    if (row->status != STATUS_OK) {
      continue;
    }
    if (strcmp(row->policy->name, "joint") == 0) {
      return row;
    }
    bool is_better = !best || (best->policy->is_reference && !row->policy->is_reference);
    bool is_same_kind = best && best->policy->is_reference == row->policy->is_reference;
    if (is_better || (is_same_kind && row->result.timeline.makespan_ps < best->result.timeline.makespan_ps)) {
      best = row;
    }
  }
  return best;
}

const char *report_plan_refusal(const struct plan_row *row) {
  switch (row->status) {
  case STATUS_OK:
    return NULL;
  case STATUS_INPUT:
    return "no schedule of it fits the SRAM";
  case STATUS_LIMIT:
    return "the program is too large for it";
  case STATUS_MEMORY:
    return "out of memory";
  default:
    return "not available in this build";
  }
}

void report_plan_kib(uint64_t bytes, struct strbuf *out) {
  double kib = (double)bytes / 1024;
  strbuf_printf(out, bytes % 1024 == 0 ? "%.0f KiB" : "%.1f KiB", kib);
}

/* ---- one step ---- */

static const struct plan_choice_set *choices_of(const struct plan_result *result, uint32_t step) {
  const struct plan_chain *chain = &result->sets.chain;
  return &chain->sets[chain->steps[step].set];
}

const struct plan_preload *report_plan_preload_of(const struct plan_result *result, const struct plan_row *row,
                                                  uint32_t step) {
  return &choices_of(result, step)->preloads[row->result.schedule.decisions[step].preload];
}

const struct plan_execute *report_plan_execute_of(const struct plan_result *result, const struct plan_row *row,
                                                  uint32_t step) {
  return &choices_of(result, step)->executes[row->result.schedule.decisions[step].execute];
}

int64_t report_plan_load_ps(const struct plan_result *result, const struct plan_row *row, uint32_t step) {
  const struct plan_preload *preload = report_plan_preload_of(result, row, step);
  return preload->memory_ps > preload->link_ps ? preload->memory_ps : preload->link_ps;
}

struct report_plan_phases report_plan_phases_of(const struct plan_result *result, const struct plan_row *row,
                                                uint32_t step) {
  const struct plan_choice_set *set = choices_of(result, step);
  const struct plan_decision *decision = &row->result.schedule.decisions[step];
  const struct plan_execute *execute = &set->executes[decision->execute];
  int64_t distribute = set->distribute_ps[(size_t)decision->preload * set->execute_count + decision->execute];
  struct report_plan_phases phases = {.distribute_ps = distribute == PLAN_UNREACHABLE ? 0 : distribute,
                                      .serial_ps = execute->serial_ps,
                                      .compute_ps = execute->compute_ps,
                                      .shift_ps = execute->shift_ps,
                                      .main_ps = execute->compute_ps + execute->shift_ps};
  if (result->sets.chain.overlaps) {
    phases.main_ps = execute->compute_ps > execute->shift_ps ? execute->compute_ps : execute->shift_ps;
  }
  return phases;
}

const char *report_plan_operator_name(const struct plan_result *result, uint32_t step) {
  const struct plan_program *program = &result->program;
  uint32_t name = program->operators.data[step].name;
  return name && program->strings ? intern_text(program->strings, name) : "?";
}

void report_plan_extents(const struct plan_result *result, uint32_t step, struct strbuf *out) {
  const struct plan_operator *op = &result->program.operators.data[step];
  for (uint32_t a = 0; a < op->axis_count; a++) {
    strbuf_printf(out, "%s%llu", a ? "×" : "", (unsigned long long)op->extents[a]);
  }
}

void report_plan_partition(const struct plan_result *result, const struct plan_row *row, uint32_t step,
                           struct strbuf *out) {
  const struct plan_operator *op = &result->program.operators.data[step];
  const struct plan_set *set = &result->sets.sets.data[result->sets.chain.steps[step].set];
  if (!set->executes) {
    strbuf_putc(out, '-');
    return;
  }
  const struct plan_partition *partition = &set->executes[row->result.schedule.decisions[step].execute];
  for (uint32_t a = 0; a < op->axis_count; a++) {
    strbuf_printf(out, "%s%u", a ? "×" : "", partition->spatial[a]);
  }
}

/* ---- sums ---- */

static void add_step(struct report_plan_group *group, const struct plan_result *result, const struct plan_row *row,
                     uint32_t step) {
  const struct plan_interval *intervals = row->result.timeline.steps;
  const struct plan_interval *at = &intervals[step];
  struct report_plan_phases phases = report_plan_phases_of(result, row, step);
  int64_t before = step ? intervals[step - 1].end_ps : 0;
  int64_t alone = phases.distribute_ps + phases.serial_ps + phases.main_ps;
  int64_t time = at->end_ps - at->start_ps;
  if (group->count == 0) {
    group->first = step;
  }
  group->count++;
  group->time_ps += time;
  group->phases.distribute_ps += phases.distribute_ps;
  group->phases.serial_ps += phases.serial_ps;
  group->phases.compute_ps += phases.compute_ps;
  group->phases.shift_ps += phases.shift_ps;
  group->phases.main_ps += phases.main_ps;
  group->wait_load_ps += at->start_ps > before ? at->start_ps - before : 0;
  group->wait_link_ps += time > alone ? time - alone : 0;
  group->load_ps += report_plan_preload_of(result, row, step)->memory_ps;
  group->peak_bytes = at->resident_bytes > group->peak_bytes ? at->resident_bytes : group->peak_bytes;
}

static int compare_groups(const void *left, const void *right) {
  const struct report_plan_group *a = left, *b = right;
  if (a->time_ps != b->time_ps) {
    return a->time_ps > b->time_ps ? -1 : 1;
  }
  return a->first < b->first ? -1 : 1;
}

enum status report_plan_groups(const struct plan_result *result, const struct plan_row *row, bool by_layer,
                               struct report_plan_group **groups, uint32_t *count) {
  const struct plan_program *program = &result->program;
  uint32_t steps = result->sets.chain.step_count;
  uint32_t keys = (by_layer ? program->layer_count : program->sort_count) + 1; /* the last: outside of layers */
  struct report_plan_group *all = calloc(keys, sizeof *all);
  *groups = all;
  *count = 0;
  if (!all) {
    return STATUS_MEMORY;
  }
  for (uint32_t i = 0; i < steps; i++) {
    const struct plan_operator *op = &program->operators.data[i];
    uint32_t key = by_layer ? op->layer : op->sort;
    add_step(&all[key < keys ? key : keys - 1], result, row, i);
  }
  for (uint32_t k = 0; k < keys; k++) {
    if (all[k].count) {
      all[(*count)++] = all[k];
    }
  }
  if (!by_layer) {
    qsort(all, *count, sizeof *all, compare_groups);
  }
  return STATUS_OK;
}

/* ---- SRAM over time ---- */

/* Cold bytes that are released at the end of step r - 1, added up per r. */
static uint64_t *released_bytes(const struct plan_result *result, const struct plan_row *row) {
  uint32_t steps = result->sets.chain.step_count;
  uint64_t *released = calloc((size_t)steps + 1, sizeof *released);
  for (uint32_t i = 0; released && i < steps; i++) {
    if (report_plan_load_ps(result, row, i) > 0) {
      released[row->result.schedule.decisions[i].release] += report_plan_preload_of(result, row, i)->cold_bytes;
    }
  }
  return released;
}

enum status report_plan_levels(const struct plan_result *result, const struct plan_row *row,
                               struct report_plan_level **levels, size_t *count) {
  const struct plan_chain *chain = &result->sets.chain;
  uint32_t steps = chain->step_count;
  uint64_t *released = released_bytes(result, row);
  *count = 0;
  *levels = calloc((size_t)steps * 2 + 1, sizeof **levels);
  if (!released || !*levels) {
    free(released);
    free(*levels);
    *levels = NULL;
    return STATUS_MEMORY;
  }
  uint64_t cold = released[0];
  (*levels)[(*count)++] = (struct report_plan_level){.cold_bytes = cold};
  for (uint32_t i = 0; i < steps; i++) {
    const struct plan_interval *at = &row->result.timeline.steps[i];
    const struct plan_step *step = &chain->steps[i];
    if (report_plan_load_ps(result, row, i) > 0) {
      cold -= report_plan_preload_of(result, row, i)->cold_bytes; /* its tensors are hot now */
    }
    (*levels)[(*count)++] = (struct report_plan_level){.time_ps = at->start_ps,
                                                       .hot_bytes = report_plan_execute_of(result, row, i)->hot_bytes,
                                                       .live_bytes = step->live_bytes,
                                                       .cold_bytes = cold};
    cold += released[i + 1];
    (*levels)[(*count)++] = (struct report_plan_level){
        .time_ps = at->end_ps, .live_bytes = i + 1 < steps ? step[1].live_bytes : 0, .cold_bytes = cold};
  }
  free(released);
  return STATUS_OK;
}
