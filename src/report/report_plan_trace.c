/* A plan's timeline as Chrome trace JSON: steps on the cores, what they spend their time on, loads on the memory channel;
 * counters of the links' use and of one core's SRAM.
 *
 * A step that waits for the links is longer than its phases alone; they are drawn longer in proportion. The links' use is
 * the mean over a phase or a load, as a share of one core's port. */
#include <stdlib.h>

#include "report/report_events.h"
#include "report/report_plan_int.h"

enum { TRACK_STEPS = 1, TRACK_PHASES = 2, TRACK_LOADS = 3 };

static int64_t to_ns(int64_t ps) {
  return (ps + 500) / 1000;
}

/* A part of a step that has one use of the links. */
struct phase {
  const char *name;
  int64_t alone_ps, link_ps;
};
enum { PHASE_COUNT = 3 };

static void phases_of(const struct report_plan_phases *p, bool overlaps, struct phase phases[PHASE_COUNT]) {
  const char *main_name = p->shift_ps == 0     ? "compute"
                          : p->compute_ps == 0 ? "rotation"
                          : overlaps           ? "compute, rotation beside it"
                                               : "compute and rotation in turns";
  phases[0] = (struct phase){"distribution", p->distribute_ps, p->distribute_ps};
  phases[1] = (struct phase){"gathering and reduction", p->serial_ps, p->serial_ps};
  phases[2] = (struct phase){main_name, p->main_ps, p->shift_ps};
}

/* A change of the links' use, in millionths of a port. */
struct use_change {
  int64_t time_ps;
  int32_t exchange, loads;
};

struct drawing {
  struct report_events events;
  const struct plan_result *result;
  const struct plan_row *row;
  struct use_change *changes;
  size_t change_count;
};

static int32_t share_of(int64_t part_ps, int64_t whole_ps) {
  double share = whole_ps > 0 ? (double)part_ps / (double)whole_ps : 0;
  return (int32_t)(1e6 * (share < 1 ? share : 1));
}

static void use_links(struct drawing *d, int64_t begin_ps, int64_t end_ps, int32_t exchange, int32_t loads) {
  if (end_ps > begin_ps && (exchange || loads)) {
    d->changes[d->change_count++] = (struct use_change){begin_ps, exchange, loads};
    d->changes[d->change_count++] = (struct use_change){end_ps, -exchange, -loads};
  }
}

static void draw_phases(struct drawing *d, uint32_t step) {
  const struct plan_interval *at = &d->row->result.timeline.steps[step];
  struct report_plan_phases parts = report_plan_phases_of(d->result, d->row, step);
  int64_t alone = parts.distribute_ps + parts.serial_ps + parts.main_ps;
  struct phase phases[PHASE_COUNT];
  phases_of(&parts, d->result->sets.chain.overlaps, phases);
  double stretch = alone > 0 ? (double)(at->end_ps - at->start_ps) / (double)alone : 0;
  int64_t done = 0, begin = at->start_ps;
  for (int p = 0; p < PHASE_COUNT; p++) {
    done += phases[p].alone_ps;
    int64_t end = done == alone ? at->end_ps : at->start_ps + (int64_t)((double)done * stretch);
    if (phases[p].alone_ps > 0) {
      report_event_slice(&d->events, TRACK_PHASES, phases[p].name, to_ns(begin), to_ns(end));
      strbuf_putc(d->events.out, '}');
      use_links(d, begin, end, share_of(phases[p].link_ps, end - begin), 0);
    }
    begin = end;
  }
}

static void draw_step(struct drawing *d, uint32_t step) {
  const struct plan_interval *at = &d->row->result.timeline.steps[step];
  const struct plan_execute *execute = report_plan_execute_of(d->result, d->row, step);
  const struct plan_operator *op = &d->result->program.operators.data[step];
  struct strbuf axes = {0}, partition = {0};
  report_plan_extents(d->result, step, &axes);
  report_plan_partition(d->result, d->row, step, &partition);
  report_event_slice(&d->events, TRACK_STEPS, report_plan_operator_name(d->result, step), to_ns(at->start_ps),
                     to_ns(at->end_ps));
  strbuf_printf(d->events.out, ",\"args\":{\"step\":%u,\"axes\":", step);
  report_json_quote(d->events.out, strbuf_text(&axes));
  strbuf_puts(d->events.out, ",\"partition\":");
  report_json_quote(d->events.out, strbuf_text(&partition));
  if (op->layer != UINT32_MAX) {
    strbuf_printf(d->events.out, ",\"layer\":%u", op->layer);
  }
  strbuf_printf(d->events.out, ",\"hot_bytes\":%llu,\"resident_bytes\":%llu}}", (unsigned long long)execute->hot_bytes,
                (unsigned long long)at->resident_bytes);
  strbuf_release(&axes);
  strbuf_release(&partition);
  draw_phases(d, step);
}

static void draw_load(struct drawing *d, uint32_t step) {
  const struct plan_interval *at = &d->row->result.timeline.steps[step];
  const struct plan_preload *preload = report_plan_preload_of(d->result, d->row, step);
  if (at->load_end_ps <= at->load_start_ps) {
    return;
  }
  report_event_slice(&d->events, TRACK_LOADS, report_plan_operator_name(d->result, step), to_ns(at->load_start_ps),
                     to_ns(at->load_end_ps));
  strbuf_printf(d->events.out, ",\"args\":{\"step\":%u,\"release\":%u,\"cold_bytes\":%llu}}", step,
                d->row->result.schedule.decisions[step].release, (unsigned long long)preload->cold_bytes);
  use_links(d, at->load_start_ps, at->load_end_ps, 0, share_of(preload->link_ps, at->load_end_ps - at->load_start_ps));
}

static int compare_changes(const void *left, const void *right) {
  const struct use_change *a = left, *b = right;
  return a->time_ps < b->time_ps ? -1 : a->time_ps > b->time_ps;
}

static void draw_links(struct drawing *d) {
  int32_t exchange = 0, loads = 0;
  qsort(d->changes, d->change_count, sizeof *d->changes, compare_changes);
  for (size_t i = 0; i < d->change_count; i++) {
    exchange += d->changes[i].exchange;
    loads += d->changes[i].loads;
    if (i + 1 < d->change_count && to_ns(d->changes[i + 1].time_ps) == to_ns(d->changes[i].time_ps)) {
      continue;
    }
    report_event_counter(&d->events, "links, % of a port", to_ns(d->changes[i].time_ps));
    strbuf_printf(d->events.out, "\"exchange\":%.1f,\"loads\":%.1f}}", exchange / 1e4, loads / 1e4);
  }
}

static void draw_sram(struct drawing *d, const struct report_plan_level *levels, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (i + 1 < count && to_ns(levels[i + 1].time_ps) == to_ns(levels[i].time_ps)) {
      continue;
    }
    report_event_counter(&d->events, "SRAM of a core, bytes", to_ns(levels[i].time_ps));
    strbuf_printf(d->events.out, "\"executing\":%llu,\"kept\":%llu,\"preloaded\":%llu}}",
                  (unsigned long long)levels[i].hot_bytes, (unsigned long long)levels[i].live_bytes,
                  (unsigned long long)levels[i].cold_bytes);
  }
}

static void draw_names(struct drawing *d, const struct report_plan *plan) {
  struct strbuf name = {0};
  strbuf_printf(&name, "%s on %s, %s", plan->program, d->result->chip.id, d->row->policy->name);
  report_event_metadata(&d->events, 0, "process_name", strbuf_text(&name));
  report_event_metadata(&d->events, TRACK_STEPS, "thread_name", "cores: operators");
  report_event_metadata(&d->events, TRACK_PHASES, "thread_name", "cores: phases");
  report_event_metadata(&d->events, TRACK_LOADS, "thread_name", "memory: loads");
  strbuf_release(&name);
}

static void draw_plan(struct drawing *d, const struct report_plan *plan, const struct report_plan_level *levels,
                      size_t level_count) {
  struct strbuf *out = d->events.out;
  uint32_t steps = d->result->sets.chain.step_count;
  strbuf_puts(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  draw_names(d, plan);
  for (uint32_t i = 0; i < steps; i++) {
    draw_step(d, i);
  }
  for (uint32_t i = 0; i < steps; i++) {
    draw_load(d, i);
  }
  draw_links(d);
  draw_sram(d, levels, level_count);
  strbuf_puts(out,
              "\n],\"otherData\":{\"format\":\"ridgeline-plan-trace\",\"format_version\":1,\"ridgeline_version\":");
  report_json_quote(out, plan->version);
  strbuf_puts(out, ",\"program\":");
  report_json_quote(out, plan->program);
  strbuf_puts(out, ",\"chip\":");
  report_json_quote(out, d->result->chip.id);
  strbuf_puts(out, ",\"policy\":");
  report_json_quote(out, d->row->policy->name);
  strbuf_printf(out, ",\"sram_bytes\":%llu}}\n", (unsigned long long)d->result->chip.sram_bytes);
}

enum status report_plan_trace(const struct report_plan *plan, struct strbuf *out) {
  const struct plan_result *result = plan->result;
  struct drawing d = {.events = {.out = out, .process = 1}, .result = result, .row = report_plan_chosen(result)};
  if (!d.row) {
    return STATUS_UNSUPPORTED;
  }
  struct report_plan_level *levels = NULL;
  size_t level_count = 0;
  size_t most = (size_t)result->sets.chain.step_count * 2 * (PHASE_COUNT + 1) + 1; /* two changes per phase and load */
  d.changes = calloc(most, sizeof *d.changes);
  enum status status = d.changes ? report_plan_levels(result, d.row, &levels, &level_count) : STATUS_MEMORY;
  if (status == STATUS_OK) {
    draw_plan(&d, plan, levels, level_count);
  }
  free(d.changes);
  free(levels);
  return status == STATUS_OK && out->failed ? STATUS_MEMORY : status;
}
