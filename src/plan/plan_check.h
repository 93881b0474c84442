/* The checker of plan files: whether a plan does what it claims, from the file alone (docs/plan-file.md lists the rules).
 *
 *   partitions    every execute and preload state through plan_validate
 *   sizes         from extents and factors, with arithmetic of its own; hot sizes with stage results through the cost model
 *   SRAM          need of every step summed up anew, with what is live found from the producers; and the buffers that exist
 *                 at each moment of a step, whose sum is never above it: what is accepted has a place for every buffer
 *   dependencies  producers earlier; loads complete before their steps, one at a time, not before their release
 *   times         the cost model on the file's constants and the timeline on the file's decisions
 *   totals        sums; bounds not above the makespan
 *
 * plan_chain's own checks and the searches are not used. Every violation is an E0806 of its own with step and numbers. */
#ifndef RIDGELINE_PLAN_PLAN_CHECK_H
#define RIDGELINE_PLAN_PLAN_CHECK_H

#include "plan/plan_file.h"

/* STATUS_OK when nothing is wrong; STATUS_INPUT with one message per violation (`diags` keeps as many as its limit says);
 * STATUS_LIMIT and E0808 when the partitions have too many pieces to check; STATUS_MEMORY. `name`: of the file, for the messages; may be NULL. */
enum status plan_check(const struct plan_file *file, const char *name, struct diag_list *diags);

#endif
