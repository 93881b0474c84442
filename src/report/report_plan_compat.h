/* Latencies of `plan --compat elk` as text and JSON. Path: plan_compat_run in, bytes for the user out. */
#ifndef RIDGELINE_REPORT_REPORT_PLAN_COMPAT_H
#define RIDGELINE_REPORT_REPORT_PLAN_COMPAT_H

#include "base/status.h"
#include "base/strbuf.h"
#include "plan/plan_compat.h"

/* All borrowed. */
struct report_plan_compat {
  const char *operators; /* name of the list as given */
  const char *version;
  const struct plan_compat_options *options;
  const struct plan_compat_result *result;
};
void report_plan_compat_text(const struct report_plan_compat *report, struct strbuf *out);
/* docs/json.md, "Published planner". */
enum status report_plan_compat_json(const struct report_plan_compat *report, struct strbuf *out);

#endif
