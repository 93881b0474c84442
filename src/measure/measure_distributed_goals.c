/* Errors of groups of distributed rows, and what they are held to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/measure_distributed.h"

static const struct {
  enum training_table table;
  const char *title;
  double bound;
} error_goals[] = {
    {TRAINING_MEGATRON, "Megatron 22B to 1T, mean error", 0.04},
    {TRAINING_VTRAIN_SINGLE, "vTrain, one node, mean error", 0.07},
    {TRAINING_VTRAIN_MULTI, "vTrain, many nodes, mean error", 0.10},
    {TRAINING_PUBLISHED, "published tables, mean error", 0.15},
};
static const double largest_megatron = 0.08, four_gpu_bound = 0.06, rank_bound = 0.95;

bool distributed_goal_is_met(const struct distributed_goal *goal) {
  return goal->count > 0 && (goal->is_least ? goal->value >= goal->bound : goal->value <= goal->bound);
}

static bool is_same_label(const char *wanted, const char *label) {
  return !wanted || strcmp(wanted, label) == 0;
}

static bool takes(const struct training_filter *filter, const struct training_row *row) {
  return row->skip == TRAINING_TAKEN && (filter->table < 0 || filter->table == (int)row->table)
         && is_same_label(filter->system, row->hardware->label) && is_same_label(filter->source, row->source->label);
}

enum status training_score(const struct training_rows *rows, const struct training_filter *filter,
                           struct score *score) {
  size_t count = 0, capacity = rows->list.count + 1;
  double *values = malloc(2 * capacity * sizeof *values);
  if (!values) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < rows->list.count; i++) {
    const struct training_row *row = &rows->list.data[i];
    if (takes(filter, row) && isfinite(row->predicted_s)) {
      values[count] = row->measured_s;
      values[capacity + count++] = row->predicted_s;
    }
  }
  *score = score_rows(values, values + capacity, count);
  free(values);
  return STATUS_OK;
}

static struct training_filter group_of(const struct training_row *row) {
  return (struct training_filter){(int)row->table, row->hardware->label, row->source->label};
}

bool training_group_next(const struct training_rows *rows, struct training_filter *filter) {
  bool is_behind = filter->table < 0; /* behind the first row of the present group */
  for (size_t i = 0; i < rows->list.count; i++) {
    const struct training_row *row = &rows->list.data[i];
    size_t first = 0;
    if (row->skip != TRAINING_TAKEN) {
      continue;
    }
    struct training_filter group = group_of(row);
    while (!takes(&group, &rows->list.data[first])) {
      first++;
    }
    if (is_behind && first == i) {
      *filter = group;
      return true;
    }
    is_behind |= takes(filter, row);
  }
  return false;
}

static double largest_error(const struct training_rows *rows, const struct training_filter *filter) {
  double largest = 0;
  for (size_t i = 0; i < rows->list.count; i++) {
    const struct training_row *row = &rows->list.data[i];
    if (takes(filter, row) && isfinite(row->predicted_s)) {
      largest = fmax(largest, fabs(row->predicted_s / row->measured_s - 1));
    }
  }
  return largest;
}

/* The lowest rank agreement of a system over the published tables. */
static enum status lowest_rank(const struct training_rows *rows, double *lowest, size_t *count) {
  *lowest = INFINITY;
  *count = 0;
  for (const struct training_hardware *system = training_systems; system->match; system++) {
    struct score score;
    STATUS_TRY(training_score(rows, &(struct training_filter){TRAINING_PUBLISHED, system->label, NULL}, &score));
    bool is_first = true;
    for (const struct training_hardware *other = training_systems; other < system; other++) {
      is_first &= strcmp(other->label, system->label) != 0;
    }
    if (is_first && isfinite(score.kendall)) {
      *lowest = fmin(*lowest, score.kendall);
      *count += score.count;
    }
  }
  return STATUS_OK;
}

enum status distributed_goals_of_training(const struct training_rows *rows, distributed_goal_list *goals) {
  bool ok = true;
  for (size_t i = 0; i < sizeof error_goals / sizeof error_goals[0]; i++) {
    struct training_filter filter = {(int)error_goals[i].table, NULL, NULL};
    struct score score;
    STATUS_TRY(training_score(rows, &filter, &score));
    ok = ok
         && vec_push(goals, ((struct distributed_goal){error_goals[i].title, score.mape, error_goals[i].bound, false,
                                                       score.count}));
    if (error_goals[i].table == TRAINING_MEGATRON) {
      ok = ok
           && vec_push(goals,
                       ((struct distributed_goal){"Megatron 22B to 1T, largest error", largest_error(rows, &filter),
                                                  largest_megatron, false, score.count}));
    }
  }
  double lowest;
  size_t count;
  STATUS_TRY(lowest_rank(rows, &lowest, &count));
  ok = ok
       && vec_push(goals, ((struct distributed_goal){"published tables, lowest Kendall tau of a system", lowest,
                                                     rank_bound, true, count}));
  return ok ? STATUS_OK : STATUS_MEMORY;
}

enum status distributed_goals_of_four_gpus(const struct four_gpu_rows *rows, distributed_goal_list *goals) {
  double sum = 0;
  for (size_t i = 0; i < rows->list.count; i++) {
    sum += fabs(rows->list.data[i].predicted_s / rows->list.data[i].measured_s - 1);
  }
  size_t count = rows->list.count;
  struct distributed_goal goal = {"NeuSight on four GPUs, mean error", count > 0 ? sum / (double)count : (double)NAN,
                                  four_gpu_bound, false, count};
  return vec_push(goals, goal) ? STATUS_OK : STATUS_MEMORY;
}
