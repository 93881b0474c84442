/* From a checked module to work graphs: first one task per operation (chip-independent), then the target's own fusion.
 * Path: ir/ (checked by analyze/) → lower_module → unfused work graph → lower_fuse → the graph that cost models see. */
#ifndef RIDGELINE_LOWER_LOWER_H
#define RIDGELINE_LOWER_LOWER_H

#include "base/diag.h"
#include "base/status.h"
#include "hw/hw.h"
#include "ir/ir.h"
#include "work/work.h"

struct lower_options {
  const char *entry; /* function to lower; NULL = ir_function_entry */
  uint64_t max_tasks; /* budget over all inlined calls; 0 = 3 million, which take about 1.6 GB */
  unsigned max_call_depth; /* 0 = 64 */
};

/* Calls are inlined; while and case/if become loop and conditional tasks; composites lower their decomposition; known
 * custom calls get their work; unknown ones become opaque tasks with W0402; operations without use or effect leave
 * nothing. E0401 where a dimension is dynamic. The graph comes back sealed and verified (in debug builds). */
enum status lower_module(const struct ir_module *module, const struct lower_options *options, struct diag_list *diags,
                         struct work_graph **graph);

/* What the target's fusion did, for the explanation. */
struct lower_fusion_report {
  uint64_t tasks_before, tasks_after; /* launches, loops multiplied out */
  uint64_t bytes_before, bytes_after; /* border traffic */
  enum hw_fusion fusion; /* whose rules */
  uint32_t min_operands, max_operands; /* limits on the operands of a kernel that all give this very graph */
};

/* Two chips with equal keys fuse a program alike, so a fused graph may be shared between them. Static text. */
const char *lower_fusion_key(const struct hw_chip *chip);
/* True when lower_fuse for this chip would give the graph that the report is about: the keys are equal, or their rules
 * differ only in a limit that the program does not come near. */
bool lower_fusion_same(const struct lower_fusion_report *report, const struct hw_chip *chip);

/* Applies the fusion rules of the chip's compiler (hw_chip.fusion); pre-fused tasks are respected. The rules weigh with a
 * representative chip of the family and not with a cost model of this one (docs/decisions/0002-fusion-by-family.md). The
 * result is sealed. HW_FUSION_NONE gives a plain copy. `report` may be NULL. */
enum status lower_fuse(const struct work_graph *unfused, const struct hw_chip *chip, struct lower_fusion_report *report,
                       struct work_graph **fused);

/* ---- collectives, as the compiler changes them ---- */

/* Names of the constants that say where this device is. */
#define LOWER_PARTITION_ID "partition_id"
#define LOWER_REPLICA_ID "replica_id"

/* XLA's defaults: 30 MiB and 7 bytes of results together (debug_options_flags.cc). */
#define LOWER_COMBINE_BYTES ((uint64_t)30 * 1048576 + 7)

struct lower_collective_options {
  bool creates_reduce_scatters; /* of an all-reduce of which this device only takes the part at its own place */
  bool removes_duplicates; /* the same operand among the same devices is exchanged once */
  bool combines; /* neighbours of one kind, as one exchange of several operands */
  /* Results of one combined collective together, in bytes; 0 = LOWER_COMBINE_BYTES */
  uint64_t all_reduce_bytes, all_gather_bytes, reduce_scatter_bytes;
  uint32_t max_operands; /* of a combined collective; 0 = 256 */
};
enum { LOWER_COLLECTIVE_KINDS = WORK_SEND_RECV + 1 };

/* Executions and full-buffer bytes by kind, loops multiplied out. */
struct lower_collective_count {
  uint64_t count[LOWER_COLLECTIVE_KINDS], bytes[LOWER_COLLECTIVE_KINDS];
};
struct lower_collective_report {
  struct lower_collective_count before, after;
  uint64_t reduce_scatters; /* made of an all-reduce and a slice */
  uint64_t duplicates; /* left out */
  uint64_t combined, combinations; /* so many became so many */
  bool is_as_written; /* the program starts and awaits its collectives itself: nothing was changed */
};

/* Rewrites collectives as XLA's passes do: ReduceScatterCreator, then the combiners of all-reduce, all-gather and
 * reduce-scatter. Of the unfused graph for the first (slices must stand alone), of the fused one for combining: XLA runs
 * them so. The result is sealed. `report` may be NULL. A collective with explicit start and done is never changed. */
enum status lower_collectives(const struct work_graph *graph, const struct lower_collective_options *options,
                              struct lower_collective_report *report, struct work_graph **rewritten);
void lower_collective_counts(const struct work_graph *graph, struct lower_collective_count *count);
/* True when some collective of the program has a start and a done of its own. */
bool lower_starts_collectives(const struct work_graph *graph);

#endif
