/* Plan files: one plan with everything needed to check it, as JSON ("ridgeline-plan/1", docs/plan-file.md).
 *
 *   plan_result ─► plan_file_of ─► plan_file_write ─► text ─► plan_file_read ─► plan_check
 *
 * A file holds the chip's constants, the operators, what was decided, and what the planner claims about sizes and times.
 * plan_check believes nothing of the last. */
#ifndef RIDGELINE_PLAN_PLAN_FILE_H
#define RIDGELINE_PLAN_PLAN_FILE_H

#include "base/diag.h"
#include "base/strbuf.h"
#include "plan/plan_result.h"

#define PLAN_FILE_FORMAT "ridgeline-plan/1"
#define PLAN_NO_LOAD UINT32_MAX

struct plan_file_step {
  struct plan_partition execute, preload; /* equal grids; preload is execute's where nothing is loaded, and what
                                             * the tensors stay in all the time on a chip without memory */
  struct plan_execute cost; /* claimed */
  struct plan_preload load; /* claimed; zeros where nothing is loaded */
  int64_t distribute_ps; /* claimed */
  uint64_t live_bytes; /* claimed: per core */
  uint32_t load_order; /* place among the loads; PLAN_NO_LOAD */
  uint32_t release; /* as in plan_decision */
  uint8_t priority; /* enum plan_priority */
  struct plan_interval at; /* claimed */
};

struct plan_file {
  struct arena arena;
  const char *policy;
  const struct plan_program *program; /* borrowed from the result, or `own` */
  struct plan_program own;
  struct plan_chip chip;
  struct plan_features features;
  bool contention; /* the times are with contention for the links */
  struct plan_file_step *steps; /* one per operator */
  uint32_t step_count, load_count;
  struct plan_timeline totals; /* claimed; its steps are NULL */
  struct plan_bounds bounds; /* claimed */
  struct plan_resource_bound resource; /* claimed */
};

/* The plan of a row of a result, which must outlive the file. STATUS_UNSUPPORTED for a reference, which is no plan.
 * `features` and `contention` are those of the run. */
enum status plan_file_of(const struct plan_result *result, const struct plan_row *row,
                         const struct plan_features *features, bool contention, struct plan_file *file);
enum status plan_file_write(const struct plan_file *file, struct strbuf *out);
/* STATUS_INPUT and E0806 with the path of the first wrong value ("steps[12].load.start_ps"); STATUS_LIMIT beyond 256 MiB.
 * A file that was read has all counts, indices and factors in range; plan_check says whether it is right. */
enum status plan_file_read(const char *name, const char *text, size_t length, struct diag_list *diags,
                           struct plan_file *file);
void plan_file_release(struct plan_file *file);

#endif
