/* From a plan to a core program (work/core_program.h): buffers with places, instructions in order. */
#ifndef RIDGELINE_PLAN_PLAN_CORE_PROGRAM_H
#define RIDGELINE_PLAN_PLAN_CORE_PROGRAM_H

#include "plan/plan_file.h"
#include "work/core_program.h"

/* The file's plan is one that plan_check accepts: all its buffers find a place then. Of another plan STATUS_INPUT and E0809
 * with the bytes when one does not. STATUS_LIMIT beyond 2^20 iterations. The caller releases the program, also after a
 * failure.
 *
 * Per step: the preloads released with it; gathering of what is on the chip; waits and distributions of what was loaded;
 * its iterations with the rotations between them; the result into shares, to memory; buffers that end. */
enum status plan_core_program(const struct plan_file *file, struct diag_list *diags, struct core_program *program);

#endif
