/* Per sort of operator, what it may choose from: Pareto sets of partition plans and preload states with their costs.
 * plan_sets_build searches all legal partitions (pruned), prices them with a cost model and keeps what some policy could
 * want; plan_chain_build turns the sets and the program into the abstract chain that policies see. */
#ifndef RIDGELINE_PLAN_PLAN_SETS_H
#define RIDGELINE_PLAN_PLAN_SETS_H

#include "plan/plan_chain.h"
#include "plan/plan_chip.h"
#include "plan/plan_partition.h"
#include "plan/plan_program.h"

/* The tensors that plan_partition.temporal cuts, by slot: [0] and [1] the two largest inputs that lack an axis of the
 * operator, in the order of tensors, [2] the output; UINT8_MAX where there is none. Sizes are elements x bits; of equal ones
 * the first. All other tensors are never cut. */
struct plan_slots {
  uint8_t tensor[PLAN_ROTATED_MAX]; /* index within the operator */
};
struct plan_slots plan_slots_of(const struct plan_program *program, const struct plan_operator *op);

/* Axes that rotation may cut: not those that an earlier stage than the last reducing one sums over, whose result every later
 * stage needs whole (softmax); products that all sum over the same axes are no such case. */
plan_axis_mask plan_rotating_axes(const struct plan_program *program, const struct plan_operator *op);

/* Ingredients of the machine model that the ablation switches. */
struct plan_features {
  bool tree_reduction; /* partial sums of r cores in ceil(log2 r) rounds where that is faster; off: linear gathering */
  bool overlap; /* rotation overlaps with compute, on chips that can */
  bool idle_cores; /* plans may leave cores idle and pad as they like; off: plan_rules_legal limits both as published */
};

/* What one partition costs; sizes per core. Times as in plan_chain.h. */
struct plan_tile_cost {
  uint64_t hot_bytes; /* all tensors in their execute state, output and stage results included */
  uint64_t cold_bytes; /* the tensors from memory alone, as this partition holds them before execution */
  int64_t compute_ps; /* tiles of all stages, all iterations, barriers */
  int64_t shift_ps; /* link time of rotations, which may overlap */
  int64_t serial_ps; /* link time of gathering inputs from the chip and of reductions */
};

/* Lower bounds on a duration. What the pieces of a slot add to `shared` of any pieces adds up over slots; `alone` counts all
 * iterations that the slot makes by itself (as many as its pieces), and each further one takes `turn_ps` more. For any slot
 * `alone` is that of one iteration. `exchange` is the link time, hidden under computing or not; it adds up like `shared`. */
struct plan_bound {
  int64_t shared_ps, alone_ps, turn_ps, exchange_ps;
};

/* A cost model is exchangeable: closed forms here, a simulator or a learned one later. */
struct plan_cost_model {
  const char *name, *summary;
  /* False when the partition does not fit the SRAM; `cost` then holds the sizes alone. */
  bool (*tile)(const struct plan_chip *chip, const struct plan_features *features, const struct plan_program *program,
               const struct plan_operator *op, const struct plan_partition *partition, struct plan_tile_cost *cost);
  /* Loading the tensors from memory into the preload state `cold` (same spatial vector, finer temporal factors). */
  void (*load)(const struct plan_chip *chip, const struct plan_program *program, const struct plan_operator *op,
               const struct plan_partition *cold, struct plan_preload *load);
  /* From preload state to execute state; -1 where `hot` is not reachable from `cold`. */
  int64_t (*distribute_ps)(const struct plan_chip *chip, const struct plan_program *program,
                           const struct plan_operator *op, const struct plan_partition *cold,
                           const struct plan_partition *hot);
  /* What the search calls. `open` writes what does not depend on the partition into `opened_bytes` of memory, aligned for
   * any type, which the arguments must outlive; `price` is `tile` with that. */
  size_t opened_bytes, vector_bytes;
  void (*open)(const struct plan_chip *chip, const struct plan_features *features, const struct plan_program *program,
               const struct plan_operator *op, void *opened);
  bool (*price)(const void *opened, const struct plan_partition *partition, struct plan_tile_cost *cost);
  /* Lower bounds on the duration over all temporal choices on a spatial vector (`partition` with all factors 1), coarse or
   * exact; NULL = none known. The exact one leaves in `vector` what bound_pieces wants: the same over the choices that cut the
   * tensor of `slot`, which must have one, into `pieces`. */
  void (*bound_vector)(const void *opened, const struct plan_partition *partition, bool is_exact, void *vector,
                       struct plan_bound *bound);
  void (*bound_pieces)(const void *vector, uint32_t slot, uint64_t pieces, bool is_exact, struct plan_bound *bound);
  /* The same over the choices that make at least so many iterations along each axis. */
  int64_t (*bound_turns)(const void *vector, const uint16_t *turns);
  /* Lower bound over all spatial vectors between two, axis by axis. */
  int64_t (*bound_between)(const void *opened, const uint32_t *fewest, const uint32_t *most);
};
extern const struct plan_cost_model plan_cost_closed_form;

/* The partitions behind the options of one plan_choice_set, index for index. */
struct plan_set {
  const struct plan_partition *executes; /* choice_set.execute_count of them */
  const struct plan_partition *preloads; /* choice_set.preload_count */
  uint64_t plans_seen, plans_pruned; /* spatial vectors skipped by bounds count all their plans as 0 seen, 1 pruned */
  bool is_cut; /* the search's budget ended it: the options are good, not all of the front */
  uint64_t smallest_hot_bytes; /* over all plans: the smallest SRAM that would do for this operator alone */
};

struct plan_sets {
  struct arena arena;
  VEC(struct plan_set) sets; /* one per sort */
  struct plan_chain chain; /* steps in operator order; choice sets one per sort */
};

struct plan_set_options {
  struct plan_features features;
  const struct plan_cost_model *model; /* NULL = closed forms */
  /* Options kept per sort; 0 = 12 and 32. plan_choice_set.loss_ps has what a pair of the front that the search has found
   * loses at most by that; not what a cut search has not seen, nor the rounding of sizes to units. */
  uint32_t max_preloads, max_executes;
  uint32_t threads; /* 0 = 1; results do not depend on it */
};

/* E0804 with operator, bytes and the smallest SRAM that would do when some operator fits in no partition; all such
 * operators are reported. */
enum status plan_sets_build(const struct plan_program *program, const struct plan_chip *chip,
                            const struct plan_set_options *options, struct diag_list *diags, struct plan_sets *sets);
void plan_sets_release(struct plan_sets *sets);

#endif
