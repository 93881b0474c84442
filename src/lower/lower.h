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

#endif
