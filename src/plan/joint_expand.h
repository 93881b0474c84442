/* From the search's path back to a schedule of the whole chain, and small improvements that keep it sound. */
#ifndef RIDGELINE_PLAN_JOINT_EXPAND_H
#define RIDGELINE_PLAN_JOINT_EXPAND_H

#include "plan/joint_labels.h"

/* Fills `schedule` (step_count decisions, load_count places). Every step takes the execute option that is fastest, link time
 * weighed with the price, beside what the path keeps resident. `order`: NULL = step order. */
void joint_expand(const struct joint_model *model, const struct joint_path *path, const uint32_t *order, double price,
                  struct plan_schedule *schedule);

/* Releases loads earlier, in their order, as far as the SRAM beside the chosen options allows. `used`: scratch, step_count. */
void joint_pull_releases(const struct plan_chain *chain, struct plan_schedule *schedule, uint64_t *used);

#endif
