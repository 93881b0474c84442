/* What the reports of plans share: sums per sort of operator and per layer, phases of a step, SRAM over time. */
#ifndef RIDGELINE_REPORT_REPORT_PLAN_INT_H
#define RIDGELINE_REPORT_REPORT_PLAN_INT_H

#include "report/report_int.h"
#include "report/report_plan.h"

/* What a step's time on the cores goes to, alone: link time of distribution, gathering and reduction, then the main phase in
 * which compute and rotation alternate or overlap. */
struct report_plan_phases {
  int64_t distribute_ps, serial_ps, compute_ps, shift_ps;
  int64_t main_ps; /* compute + shift, or the longer of them */
};
struct report_plan_phases report_plan_phases_of(const struct plan_result *result, const struct plan_row *row,
                                                uint32_t step);
/* The options that the row's schedule takes for a step. */
const struct plan_preload *report_plan_preload_of(const struct plan_result *result, const struct plan_row *row,
                                                  uint32_t step);
const struct plan_execute *report_plan_execute_of(const struct plan_result *result, const struct plan_row *row,
                                                  uint32_t step);
/* Alone on the memory channel and the links; 0 = it loads nothing. */
int64_t report_plan_load_ps(const struct plan_result *result, const struct plan_row *row, uint32_t step);

/* Name of an operator; "?" when it has none. */
const char *report_plan_operator_name(const struct plan_result *result, uint32_t step);
/* Its axes, "32×5120×13824". */
void report_plan_extents(const struct plan_result *result, uint32_t step, struct strbuf *out);
/* Parts per axis of the partition that the row takes, "1×1472×4"; "-" when the set has none. */
void report_plan_partition(const struct plan_result *result, const struct plan_row *row, uint32_t step,
                           struct strbuf *out);

/* Steps that are alike, or of one layer, added up. */
struct report_plan_group {
  uint32_t first; /* step that stands for them */
  uint32_t count;
  int64_t time_ps; /* on the cores, contention included */
  struct report_plan_phases phases; /* alone */
  int64_t wait_load_ps; /* cores idle before these steps */
  int64_t wait_link_ps; /* stretched by contention */
  int64_t load_ps; /* of the memory channel */
  uint64_t peak_bytes;
};
/* By sort, most time first; or by layer in order, operators outside of layers last. The caller frees *groups. */
enum status report_plan_groups(const struct plan_result *result, const struct plan_row *row, bool by_layer,
                               struct report_plan_group **groups, uint32_t *count);

/* SRAM of one core over time, constant between two points. */
struct report_plan_level {
  int64_t time_ps;
  uint64_t hot_bytes; /* of the running step; 0 while the cores wait */
  uint64_t live_bytes; /* values kept for later steps */
  uint64_t cold_bytes; /* loaded, being loaded or reserved for a load that may begin */
};
/* The points are the starts and ends of steps. The caller frees *levels. */
enum status report_plan_levels(const struct plan_result *result, const struct plan_row *row,
                               struct report_plan_level **levels, size_t *count);
static inline uint64_t report_plan_level_bytes(const struct report_plan_level *level) {
  return level->hot_bytes + level->live_bytes + level->cold_bytes;
}

static inline double report_plan_s(int64_t ps) {
  return (double)ps * 1e-12;
}
/* "612.5 KiB": SRAM sizes are stated in KiB by all makers. */
void report_plan_kib(uint64_t bytes, struct strbuf *out);

#endif
