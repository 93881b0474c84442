/* Plans as text, JSON, a trace and a chart. Nothing here plans: every number is in plan_result.h or follows from a schedule
 * and its timeline.
 * Path: plan/ results in, bytes for the user out. */
#ifndef RIDGELINE_REPORT_REPORT_PLAN_H
#define RIDGELINE_REPORT_REPORT_PLAN_H

#include "base/status.h"
#include "base/strbuf.h"
#include "plan/plan_result.h"

/* All borrowed. */
struct report_plan {
  const char *program; /* name as given */
  const char *version;
  const struct plan_result *result;
  const struct plan_ablation_row *ablation;
  uint32_t ablation_count; /* 0 = not asked for */
  const struct plan_what_if *what_if; /* NULL = not asked for */
  uint32_t operators; /* slowest sorts of operators listed in the text, with the layers; 0 = neither */
};

/* The row that files, traces and charts are about: joint where it was asked for and found a schedule, else the fastest
 * schedule of a real chip, else the reference's. NULL when no policy found any. */
const struct plan_row *report_plan_chosen(const struct plan_result *result);

/* Why a policy has no schedule, static text; NULL when it has one. */
const char *report_plan_refusal(const struct plan_row *row);

/* The table of policies, the bounds, what simplification did; then the other tables that were asked for. */
void report_plan_text(const struct report_plan *plan, struct strbuf *out);
/* docs/json.md, "plan". */
enum status report_plan_json(const struct report_plan *plan, struct strbuf *out);
/* Chrome trace of the chosen row: tracks of steps, their phases and the loads, counters of links and SRAM. */
enum status report_plan_trace(const struct report_plan *plan, struct strbuf *out);
/* One HTML file without any other: SRAM over time, the schedule, the policies. */
enum status report_plan_chart(const struct report_plan *plan, struct strbuf *out);

#endif
