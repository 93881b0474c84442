/* One planning run from work graph to rows of a table; what report/, api/ and plan files are made from. */
#ifndef RIDGELINE_PLAN_PLAN_RESULT_H
#define RIDGELINE_PLAN_PLAN_RESULT_H

#include "plan/plan_chip.h"
#include "plan/plan_policy.h"
#include "plan/plan_program.h"
#include "plan/plan_sets.h"

struct plan_options {
  const struct plan_policy *const *policies; /* NULL = joint alone */
  uint32_t policy_count;
  struct plan_read_options read;
  struct plan_features features;
  bool reorder;
  bool split; /* operators that load much are cut into parts (read.split_bytes is set from the chip) */
  uint64_t budget; /* see plan_policy_options */
  uint32_t threads;
};
/* Everything on: views, fusion, splits, tree reductions, overlap, reorder. */
extern const struct plan_options plan_options_best;
/* The published operator graph and machine: big operators split, slices copied, nothing fused, linear reductions, no overlap. */
extern const struct plan_options plan_options_published;

/* How the program is read for a chip: `options->read` with the size from which operators are split. */
struct plan_read_options plan_read_options_for(const struct plan_options *options, const struct plan_chip *chip);

/* Holds for any plan whatever, on any partition: a plan cannot be faster than the slowest of its resources. */
struct plan_resource_bound {
  int64_t memory_ps; /* bytes of plan_program / bandwidth */
  int64_t matrix_ps, vector_ps; /* operations / peak */
  int64_t link_ps; /* every byte from memory enters at least one core */
  int64_t first_load_ps; /* smallest head before the first and tail after the last load: the critical path */
  int64_t bound_ps; /* the largest */
};
void plan_resource_bound_of(const struct plan_program *program, const struct plan_chip *chip,
                            struct plan_resource_bound *bound);

struct plan_row {
  const struct plan_policy *policy;
  enum status status; /* of the policy; the rest is valid for STATUS_OK */
  struct plan_policy_result result;
  double gap_space, gap_resource; /* makespan / bound - 1 */
  double memory_utilisation, link_utilisation,
      compute_utilisation; /* busy / makespan; compute: FLOPs / (peak x makespan) */
  double search_s;
};

struct plan_result {
  struct arena arena;
  struct plan_program program;
  struct plan_chip chip;
  struct plan_sets sets;
  struct plan_bounds bounds;
  struct plan_resource_bound resource;
  struct plan_row *rows;
  uint32_t row_count;
  double read_s, sets_s, total_s; /* compile time by part, wall clock */
};

/* The graph is unfused (lower_module). Diagnostics as in plan_program_read, plan_chip_read, plan_sets_build. The caller
 * releases the result, also after a failure. */
enum status plan_run(const struct work_graph *graph, const struct hw_chip *chip, const struct plan_options *options,
                     struct diag_list *diags, struct plan_result *result);
void plan_result_release(struct plan_result *result);

/* What each ingredient gave: joint with everything, then with each ingredient left out, then the published machine. */
struct plan_ablation_row {
  const char *ingredient; /* static text: "all", "without fusion", ... */
  int64_t makespan_ps;
  int64_t bound_ps; /* plan-space bound of that variant */
};
enum status plan_ablation(const struct work_graph *graph, const struct hw_chip *chip, struct diag_list *diags,
                          struct arena *arena, struct plan_ablation_row **rows, uint32_t *count);

/* What-if: smallest SRAM per core, and smallest memory bandwidth, with which joint reaches `latency_ps`; the other constants
 * stay. 0 = not reachable by that one alone. By bisection to 1 KiB and 1 %. */
struct plan_what_if {
  int64_t latency_ps;
  uint64_t sram_bytes;
  double memory_Bps;
};
enum status plan_what_if_run(const struct work_graph *graph, const struct hw_chip *chip,
                             const struct plan_options *options, struct diag_list *diags, struct plan_what_if *what_if);

#endif
