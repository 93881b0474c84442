/* From a plan to a core program (work/core_program.h): buffers with places, instructions in order. */
#ifndef RIDGELINE_PLAN_PLAN_CORE_PROGRAM_H
#define RIDGELINE_PLAN_PLAN_CORE_PROGRAM_H

#include "plan/plan_file.h"
#include "work/core_program.h"

/* The file's plan is one that plan_check accepts. STATUS_INPUT and E0809 with the bytes when a buffer finds no place: shares
 * of values that a step itself reads count here and not in the plan, and sizes are rounded up. STATUS_LIMIT beyond 2^24
 * iterations. The caller releases the program, also after a failure.
 *
 * Per step: the preloads released with it; gathering of what is on the chip; waits and distributions of what was loaded;
 * its iterations with the rotations between them; the result into shares, to memory; buffers that end. */
enum status plan_core_program(const struct plan_file *file, struct diag_list *diags, struct core_program *program);

#endif
