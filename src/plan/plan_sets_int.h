/* Parts of the search for Pareto sets. Path: plan_sets.c → plan_sets_spatial.c (which spatial vectors, in which order) →
 * plan_sets_search.c (all plans on one vector, the front) → plan_sets_thin.c (what is kept). */
#ifndef RIDGELINE_PLAN_PLAN_SETS_INT_H
#define RIDGELINE_PLAN_PLAN_SETS_INT_H

#include "base/vec.h"
#include "plan/plan_sets.h"

/* A spatial vector and the least that any plan on it costs. */
struct sets_vector {
  uint32_t spatial[PLAN_AXES_MAX];
  uint64_t least_hot_bytes, least_cold_bytes;
  int64_t least_ps; /* of any plan; the larger of the two that follow */
  int64_t shared_ps, exchange_ps; /* plan_bound */
  int64_t stages_ps, turn_ps; /* with n iterations at least stages + (n - 1) x turn */
  bool is_cut; /* its share of the budget has left plans out */
};

/* A pair that is so many times faster stands for one that is smaller by no more than so many units (1/32 of the SRAM): the
 * last kilobytes cost milliseconds. */
enum { SETS_MUCH_FASTER = 2, SETS_HARDLY_LARGER = 8 };

/* Budget of one search, in steps of choosing a factor (about 10 ns); pricing a plan and the bounds are so many. Large
 * products (more than three axes, or all of them long: prefill, diffusion) have 10^8 plans and more; for them the larger budget
 * would not do either. */
enum {
  SETS_STEPS = 20000000,
  SETS_STEPS_LARGE = 3000000,
  SETS_PLAN_STEPS = 30,
  SETS_BOUND_STEPS = 10,
  SETS_VECTOR_STEPS = 50,
  SETS_LONG_AXIS = 1024
};

/* Combinations of pieces of one spatial vector that the search tries, in ascending order of their bound. */
struct sets_combination {
  int64_t least_ps;
  uint64_t least_units; /* of hot bytes */
  uint64_t pieces[PLAN_ROTATED_MAX];
};

struct sets_execute {
  struct plan_partition partition;
  struct plan_tile_cost cost;
  int64_t duration_ps; /* alone, without distribution */
};

/* An execute option reached from a preload state; one point of the front. Sizes are in units of 1/256 of the SRAM, rounded
 * up: nobody trades time for less. */
struct sets_pair {
  uint64_t cold_units, hot_units;
  int64_t duration_ps; /* with distribution */
  uint32_t execute, preload; /* in sets_search.executes, .preloads */
};

/* Bounds by turns that the vector in hand has had already: many ways to cut three tensors make the same iterations. */
enum { SETS_KNOWN_BITS = 10 };
struct sets_known {
  uint16_t turns[PLAN_AXES_MAX];
  int64_t least_ps;
  uint64_t vector; /* number of the walk it belongs to, from 1 */
};

struct sets_search {
  const struct plan_program *program;
  const struct plan_operator *op;
  const struct plan_chip *chip;
  const struct plan_cost_model *model;
  struct plan_features features;
  bool overlaps;
  void *opened, *bounds; /* the model's memory */

  /* of the operator */
  struct plan_slots slots;
  plan_axis_mask slot_axes[PLAN_ROTATED_MAX]; /* 0 = no tensor to cut */
  bool slot_loads[PLAN_ROTATED_MAX]; /* an input from memory */
  plan_axis_mask rotating;
  bool loads; /* any input lies in memory */
  uint64_t unit_bytes; /* of sets_pair */
  double least_cores, least_fill; /* that a spatial vector must use; 0 = any */

  /* results; pairs ascend in duration */
  VEC(struct sets_vector) vectors;
  VEC(struct sets_combination) combinations; /* of the vector in hand */
  VEC(struct sets_execute) executes;
  VEC(struct plan_partition) preloads;
  VEC(struct sets_pair) front;
  uint64_t plans_seen, plans_pruned;
  uint64_t smallest_hot_bytes;
  uint64_t steps, most_steps; /* of SETS_STEPS */
  uint64_t walks; /* vectors searched */
  struct sets_known *known; /* 1 << SETS_KNOWN_BITS of them, by hash */
  bool is_cut; /* a budget ended the search early */
  bool failed; /* memory is exhausted */
};

/* Fills `vectors` with those that are not hopeless, in ascending order of least_ps; the first time divisors alone. */
enum status sets_list_vectors(struct sets_search *search, bool is_first);
/* No plan on the vector can be new to the front, or fit the SRAM. */
bool sets_is_hopeless(const struct sets_search *search, const struct sets_vector *vector);
/* Fills the front from all vectors. */
enum status sets_search_run(struct sets_search *search);
void sets_search_release(struct sets_search *search);

static inline bool sets_has_axis(plan_axis_mask axes, uint32_t axis) {
  return ((unsigned)axes >> axis & 1U) != 0;
}
/* Share of `length` that is not padding when it is cut into `parts`. */
static inline double sets_fill(uint64_t length, uint64_t parts) {
  uint64_t piece = length / parts + (length % parts != 0);
  return (double)length / ((double)piece * (double)parts);
}
/* Smallest share that cutting an axis, over cores or in time, may leave unpadded (elk.md section 3). */
#define SETS_LEAST_FILL 0.9

/* Picks pairs of the front into a choice set of at most so many options; arrays are the arena's. */
struct sets_limits {
  uint32_t max_preloads, max_executes;
};
enum status sets_thin(struct sets_search *search, const struct sets_limits *limits, struct arena *arena,
                      struct plan_choice_set *choices, struct plan_set *set);

#endif
