/* What the operator predictions are held to. Rows without measurements are listed and not counted. */
#include <math.h>
#include <string.h>

#include "measure/measure_operators.h"

#define GEMM_GOAL(chip_id, chip_name, most)                                                                            \
  {                                                                                                                    \
    .kind = OPERATOR_GOAL_MAPE, .title = "bf16 GEMM, " chip_name,                                                      \
    .filter = {.chip = (chip_id), .class_of = KERNEL_GEMM, .format = KERNEL_FORMAT_BF16, .is_of_fitted_source = true}, \
    .limit = (most)                                                                                                    \
  }
#define CLASS_GOAL(id, name, chip_id, chip_name, most)                                                                 \
  {                                                                                                                    \
    .kind = OPERATOR_GOAL_MAPE, .title = name ", " chip_name,                                                          \
    .filter = {.chip = (chip_id), .class_of = KERNEL_##id, .format = KERNEL_FORMAT_COUNT}, .limit = (most)             \
  }

static const struct operator_goal fixed_goals[] = {
    GEMM_GOAL("nvidia_h100_sxm", "H100", 0.085),
    GEMM_GOAL("nvidia_h200_sxm", "H200", 0.085),
    {.kind = OPERATOR_GOAL_MAPE, /* 40 and 80 GB: one die */
     .title = "bf16 GEMM, A100",
     .filter = {.family = "nvidia_a100", .class_of = KERNEL_GEMM, .format = KERNEL_FORMAT_BF16},
     .limit = 0.10},
    GEMM_GOAL("nvidia_b200_sxm", "B200", 0.10),
    GEMM_GOAL("nvidia_gb200", "GB200", 0.10),
    GEMM_GOAL("intel_arc_pro_b60", "Arc Pro B60", 0.12),
    GEMM_GOAL("nvidia_l40s", "L40S", 0.17),
    CLASS_GOAL(GEMM, "GEMM, 5 folds", "google_tpu_v6e", "TPU v6e", 0.06),
    {.kind = OPERATOR_GOAL_MAPE,
     .title = "GEMM, 128 to 1024, TPU v4",
     .filter = {.chip = "google_tpu_v4",
                .class_of = KERNEL_GEMM,
                .format = KERNEL_FORMAT_COUNT,
                .extent_min = 128,
                .extent_max = 1024},
     .limit = 0.08},
    CLASS_GOAL(ATTENTION_PREFILL, "attention prefill", "nvidia_h100_sxm", "H100", 0.10),
    CLASS_GOAL(ATTENTION_PREFILL, "attention prefill", "nvidia_h200_sxm", "H200", 0.10),
    CLASS_GOAL(ATTENTION_PREFILL, "attention prefill", "nvidia_b200_sxm", "B200", 0.10),
    CLASS_GOAL(ATTENTION_DECODE, "attention decode", "nvidia_h100_sxm", "H100", 0.10),
    CLASS_GOAL(ATTENTION_DECODE, "attention decode", "nvidia_h200_sxm", "H200", 0.10),
    CLASS_GOAL(ATTENTION_DECODE, "attention decode", "nvidia_b200_sxm", "B200", 0.10),
    CLASS_GOAL(GROUPED_GEMM, "MoE", "nvidia_h100_sxm", "H100", 0.15),
    CLASS_GOAL(GROUPED_GEMM, "MoE", "nvidia_h200_sxm", "H200", 0.15),
    CLASS_GOAL(GROUPED_GEMM, "MoE", "nvidia_b200_sxm", "B200", 0.15),
};

static const double coverage_low = 0.85, coverage_high = 0.95, coverage_stated = 0.9;

static const char *const state_names[] = {
    [OPERATOR_GOAL_NO_DATA] = "no data", [OPERATOR_GOAL_MISSED] = "MISSED", [OPERATOR_GOAL_MET] = "met"};

const char *operator_goal_state_name(enum operator_goal_state state) {
  return state_names[state];
}

void operator_goal_title(const struct operator_goal *goal, struct strbuf *out) {
  if (goal->title) {
    strbuf_puts(out, goal->title);
  } else if (goal->kind == OPERATOR_GOAL_COVERAGE) {
    strbuf_printf(out, "90 %% intervals, %s", goal->filter.chip);
  } else {
    strbuf_printf(out, "two-constant roofline, %s, %s", kernel_class_name(goal->filter.class_of), goal->filter.chip);
  }
}

void operator_goal_judge(struct operator_goal *goal, const struct operator_score *score) {
  bool is_met = false;
  switch (goal->kind) {
  case OPERATOR_GOAL_MAPE:
    goal->count = score->model.count;
    goal->value = score->model.mape;
    goal->bound = goal->limit;
    is_met = goal->value <= goal->bound;
    break;
  case OPERATOR_GOAL_TWO_CONSTANTS:
    goal->count = score->count[OPERATOR_TWO_CONSTANTS];
    goal->value = score->model_mape[OPERATOR_TWO_CONSTANTS];
    goal->bound = score->mape[OPERATOR_TWO_CONSTANTS];
    is_met = goal->value < goal->bound;
    break;
  case OPERATOR_GOAL_COVERAGE:
    goal->count = score->with_interval;
    goal->value = score->coverage;
    goal->bound = coverage_stated;
    is_met = coverage_low <= goal->value && goal->value <= coverage_high;
    break;
  }
  goal->state = goal->count == 0 ? OPERATOR_GOAL_NO_DATA : is_met ? OPERATOR_GOAL_MET : OPERATOR_GOAL_MISSED;
}

/* A goal that comes from the data is only there when it can be decided. */
static enum status add_goal(const struct operator_set *set, operator_goal_list *goals, struct operator_goal goal) {
  struct operator_score score;
  STATUS_TRY(operator_score_of(set, &goal.filter, &score));
  operator_goal_judge(&goal, &score);
  bool is_wanted = goal.count >= (goal.kind == OPERATOR_GOAL_COVERAGE ? OPERATOR_COVERAGE_ROWS : OPERATOR_LINE_ROWS);
  return (!goal.title && !is_wanted) || vec_push(goals, goal) ? STATUS_OK : STATUS_MEMORY;
}

static bool is_first(const struct operator_set *set, size_t i, bool by_class) {
  const struct operator_group *group = &set->groups.data[i];
  return i == 0 || group[-1].chip != group->chip || (by_class && group[-1].class_of != group->class_of);
}

enum status operator_goals(const struct operator_set *set, operator_goal_list *goals) {
  for (size_t i = 0; i < sizeof fixed_goals / sizeof fixed_goals[0]; i++) {
    STATUS_TRY(add_goal(set, goals, fixed_goals[i]));
  }
  for (int by_class = 1; by_class >= 0; by_class--) {
    for (size_t i = 0; i < set->groups.count; i++) {
      const struct operator_group *group = &set->groups.data[i];
      struct operator_goal goal = {.kind = by_class ? OPERATOR_GOAL_TWO_CONSTANTS : OPERATOR_GOAL_COVERAGE,
                                   .filter = OPERATOR_ALL_ROWS};
      goal.filter.chip = group->chip->id;
      goal.filter.class_of = by_class ? group->class_of : KERNEL_CLASS_COUNT;
      goal.filter.is_of_fitted_source = by_class == 0;
      if (is_first(set, i, by_class != 0)) {
        STATUS_TRY(add_goal(set, goals, goal));
      }
    }
  }
  return STATUS_OK;
}
