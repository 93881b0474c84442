/* The label-setting search over (next node, preload frontier). docs/plan-search.md has the model, the dominance rule and
 * its proof, and what is exact. */
#ifndef RIDGELINE_PLAN_JOINT_LABELS_H
#define RIDGELINE_PLAN_JOINT_LABELS_H

#include "plan/joint_model.h"

enum { JOINT_COMPARISONS = 16 };

struct joint_search_options {
  const uint32_t *order; /* loads in the order of their loading; NULL = in step order */
  bool contention;
  uint32_t beam; /* labels kept per (node, frontier) */
  /* A label is ranked by its bound, the longer of what is left for the cores and for the channel, and by the other of the two
   * at this weight: of equal bounds those with more slack. */
  double slack_weight;
  /* Labels that differ by no more than this count as equal, and the better ranked stays: what is kept then differs in kind.
   * 0 = exact dominance. */
  int64_t alike_ps;
  uint64_t alike_bytes;
  int64_t cutoff_ps; /* only schedules shorter than this are of interest */
  uint64_t budget; /* of work: a label counts 1, comparing labels 1 / JOINT_COMPARISONS each */
};

/* What a path decides, per node and load of the model. */
struct joint_path {
  uint32_t *states; /* per load: in the model's states */
  uint32_t *releases; /* per load: node before which it is released */
  uint8_t *priorities; /* per node */
  int64_t makespan_ps; /* in the search's model */
  uint64_t work; /* spent, also when nothing was found */
};

enum joint_outcome {
  JOINT_FOUND, /* the path is filled */
  JOINT_NOTHING, /* no path below the cutoff was found */
  JOINT_STOPPED /* out of budget or memory */
};

/* `cut`: labels were dropped for want of room, so a better path may exist. Working memory is released on return; the path's
 * arrays are the caller's. */
enum joint_outcome joint_labels_run(const struct joint_model *model, const struct joint_search_options *options,
                                    struct joint_path *path, struct plan_search_stats *stats, bool *cut);

#endif
