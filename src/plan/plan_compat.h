/* `ridgeline plan --compat elk`: the published planner's artifact, from its operator lists, formulas and constants to the
 * latencies that were measured with it. Facts: elk.md; what each reading is: docs/plan-compat.md.
 *
 * A mode of its own: nothing here feeds the planner, and its quirks (elements of 2 bytes, MiB taken for 10^6 bytes, factors
 * on axes that a tensor lacks, designs with different constants) are reproduced, not endorsed.
 *
 *   operators.csv, sequence.txt ─► plan_compat_program ─► tables per operator ─► schedules, backwards in time ─► rows
 */
#ifndef RIDGELINE_PLAN_PLAN_COMPAT_H
#define RIDGELINE_PLAN_PLAN_COMPAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/status.h"
#include "base/vec.h"
#include "plan/plan_partition.h"

/* Sorts of operators that the artifact has closed formulas for. Its regressions (convolution, pooling) were not published. */
enum plan_compat_kind {
  PLAN_COMPAT_REDUCE,
  PLAN_COMPAT_UNARY,
  PLAN_COMPAT_ELEMENTWISE,
  PLAN_COMPAT_MATMUL,
  PLAN_COMPAT_SLICE,
  PLAN_COMPAT_KIND_COUNT
};

struct plan_compat_operator {
  uint8_t kind; /* enum plan_compat_kind */
  uint8_t axis_count;
  uint8_t tensor_count; /* 2 or 3 */
  bool resident[PLAN_ROTATED_MAX - 1]; /* input is on the chip already: no load */
  uint64_t extents[PLAN_AXES_MAX];
  plan_axis_mask tensors[PLAN_ROTATED_MAX]; /* as in plan_space: output last */
  size_t offset; /* of its row in the list, for diagnostics */
};

struct plan_compat_program {
  VEC(struct plan_compat_operator) operators; /* by id */
  VEC(uint32_t) sequence; /* ids in execution order */
  uint32_t layers; /* repetitions found in the sequence; at least 1 */
  struct source list; /* text of the operators, borrowed */
};

/* The CSV has a row of names, then id (ascending from 0), kind, extents "32x1x5120", axes per tensor, output first
 * ("0;1|0;2|2;1"), one flag per input, number of uses. The sequence holds that many of each id, separated by blanks.
 * E0807 with line and column for anything else; reading goes on after an error. The caller releases the program, also after
 * a failure; the text of the list must stay until then. */
enum status plan_compat_read(const struct source *operators, const struct source *sequence, struct diag_list *diags,
                             struct plan_compat_program *program);
void plan_compat_program_release(struct plan_compat_program *program);

struct plan_compat_options {
  uint32_t layers; /* 0 = program.layers. No operator is preloaded further ahead than about one layer */
  bool legal; /* tensors are cut along their own axes only, not as the artifact does */
  bool equal_constants; /* every design with the same link rate and threshold, in both modes of contention */
  double threshold; /* share of the link time that a load may take; 0 = each design's own */
  uint32_t execution_kib; /* Static: its execution space; 0 = the best of a sweep */
  uint32_t sweep_kib; /* step of that sweep; 0 = 10 */
};

enum plan_compat_design {
  PLAN_COMPAT_BASIC,
  PLAN_COMPAT_STATIC,
  PLAN_COMPAT_DYN,
  PLAN_COMPAT_FULL,
  PLAN_COMPAT_IDEAL,
  PLAN_COMPAT_DESIGN_COUNT
};

/* One schedule; of a sweep the best. */
struct plan_compat_row {
  uint8_t design; /* enum plan_compat_design */
  bool largest_cold; /* Basic, Static: preload states as large as fit; else the smallest */
  bool
      moves_loads; /* contention mode False: loads give way to an operator's exchange; else the operator is stretched */
  bool is_best; /* the design's result: the fastest of its own runs */
  double threshold; /* 0: no contention */
  uint32_t execution_kib; /* Static; else 0 */
  double latency_ms; /* 0: no schedule fits */
  double busy_ms; /* sum of the execution intervals, with what contention adds */
};

enum { PLAN_COMPAT_ROWS_MAX = 24 };

struct plan_compat_result {
  struct plan_compat_row rows[PLAN_COMPAT_ROWS_MAX];
  uint32_t row_count;
  uint32_t operators; /* in the sequence */
  uint32_t sorts; /* in the list */
  uint32_t layers; /* as used */
  uint64_t memory_bytes; /* loaded from HBM, padding included */
  double memory_ms; /* these at the HBM rate */
  uint64_t plans; /* partition plans priced */
};

/* E0804 when an operator fits in no partition, E0808 when the schedules exceed their budget of steps. */
enum status plan_compat_run(const struct plan_compat_program *program, const struct plan_compat_options *options,
                            struct diag_list *diags, struct plan_compat_result *result);

/* "Basic", ... static text. */
const char *plan_compat_design_name(enum plan_compat_design design);

#endif
