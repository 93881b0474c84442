/* Tensors of callers as arguments of a run. */
#ifndef RIDGELINE_API_API_INPUTS_H
#define RIDGELINE_API_API_INPUTS_H

#include "api/api_context.h"
#include "interp/interp.h"

/* Arguments of all processes, process by process; shared where the inputs are. */
struct api_arguments {
  struct interp_value **values; /* owned, processes * per_process */
  uint32_t per_process, processes;
};
/* Checks the inputs against the entry function and copies them. `options` as the caller gave them, not NULL. Release in any
 * case. */
rdg_status api_arguments_make(rdg_context *ctx, const rdg_program *program, const rdg_run_options *options,
                              uint64_t budget_bytes, const rdg_tensor *inputs, size_t count,
                              struct api_arguments *arguments);
void api_arguments_release(struct api_arguments *arguments);

#endif
