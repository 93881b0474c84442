/* A program as one step of several devices: every function of it lowered, its collectives changed as the compiler does,
 * fused and timed for one device of a cluster, and what the module says about how the functions make a step.
 *
 * A module with the attribute ridgeline.step (generate/generate_training.h) has one function per place in the pipeline and
 * role in the step; any other is one whole step on mhlo.num_partitions x mhlo.num_replicas devices, scheduled as the compiler
 * does unless told otherwise (EARLY_LATE on GPUs, else LATENCY_HIDING), or as written where it starts and awaits collectives
 * itself.
 * Path: program_load → program_step_read → step_run (cluster/). */
#ifndef RIDGELINE_PROGRAM_PROGRAM_STEP_H
#define RIDGELINE_PROGRAM_PROGRAM_STEP_H

#include "cluster/step.h"
#include "program/program.h"

struct program_step_options {
  const struct cost_model *model; /* NULL = cost_roofline */
  struct cost_options cost;
  bool without_fusion; /* neither fusion nor changes of collectives */
  uint64_t devices; /* in place of what the module says; 0 = that */
  /* Results of one combined collective together, in bytes; 0 = the compiler's default */
  uint64_t all_reduce_bytes, all_gather_bytes, reduce_scatter_bytes;
};

struct program_step_part {
  struct work_graph *graph; /* owned */
  struct work_result result; /* of that graph on one device */
  uint8_t *arguments; /* per input: enum step_argument; NULL = their names say nothing */
};
struct program_step {
  struct step_program step; /* refers to `parts` */
  struct program_step_part parts[STEP_PLACE_COUNT * STEP_ROLE_COUNT];
  size_t part_count;
  struct lower_collective_report collectives; /* of all parts together */
  uint64_t devices; /* that the step needs: stages x devices per stage */
  const char *refusal; /* why the chip cannot be predicted, or the first part that it refuses; NULL otherwise */
};

/* `device`: one device of the cluster (step_device_of). STATUS_INPUT with a diagnostic where the attribute is malformed or
 * a function that it needs is missing. On failure *step is NULL. */
enum status program_step_read(struct program *program, const struct hw_chip *device,
                              const struct program_step_options *options, struct diag_list *diags,
                              struct program_step **step);
void program_step_free(struct program_step *step);
/* Devices that the program's step needs, without timing anything; 1 when it says nothing. */
uint64_t program_step_devices(const struct program *program);

#endif
