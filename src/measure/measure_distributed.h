/* Suite "distributed", shared by its files: published training runs (measure_training.h), programs on four GPUs of the
 * NeuSight tables, and the goals of all distributed suites.
 *
 * Path: rows → training_predict, four_gpu_predict → distributed_goals → text, JSON. */
#ifndef RIDGELINE_MEASURE_MEASURE_DISTRIBUTED_H
#define RIDGELINE_MEASURE_MEASURE_DISTRIBUTED_H

#include "hw/hw_cluster.h"
#include "measure/measure.h"
#include "measure/measure_training.h"

/* ---- prediction of configurations: measure_training_predict.c ---- */
/* Fills the predicted times of all rows that are taken, on all cores; rows that generator, cluster or step refuse become
 * TRAINING_REFUSED with the diagnostic as their note. Configurations with equal programs are lowered once. */
enum status training_predict(struct training_rows *rows, const struct hw_database *chips,
                             const struct hw_clusters *clusters, struct diag_list *diags);

/* ---- programs on four GPUs: measure_distributed_neusight.c ---- */
struct four_gpu_row {
  const char *system, *program; /* "A100-SXM", "gpt2_large-train-1024-4-dp4" */
  double measured_s, published_s, predicted_s; /* published: NeuSight's own prediction; NaN = none */
  double compute_s, communication_s, exposed_s;
};
struct four_gpu_rows {
  struct arena arena;
  VEC(struct four_gpu_row) list;
};
void four_gpu_rows_release(struct four_gpu_rows *rows);
/* Eager PyTorch in single precision: data parallel (gradients exchanged beside the backward pass), tensor parallel (an
 * all-reduce per half layer, waited for), pipeline (micro-batches as the program's name says). */
enum status four_gpu_predict(struct four_gpu_rows *rows, const char *data_directory, const struct hw_database *chips,
                             const struct hw_clusters *clusters, struct diag_list *diags);

/* ---- goals: measure_distributed_goals.c ---- */
struct distributed_goal {
  const char *title;
  double value, bound; /* fractions; Kendall's tau */
  bool is_least; /* value >= bound is met; else value <= bound */
  size_t count; /* rows; 0 = no data */
};
typedef VEC(struct distributed_goal) distributed_goal_list;
bool distributed_goal_is_met(const struct distributed_goal *goal);
enum status distributed_goals_of_training(const struct training_rows *rows, distributed_goal_list *goals);
/* From the JSON of the suite "collectives": its goals, by their place in the list. STATUS_INPUT for other texts. */
enum status distributed_goals_of_collectives(const char *json, distributed_goal_list *goals);
enum status distributed_goals_of_four_gpus(const struct four_gpu_rows *rows, distributed_goal_list *goals);

/* Error over the predicted rows that a filter takes; NULL and negative values take all. */
struct training_filter {
  int table; /* enum training_table; -1 = all */
  const char *system, *source; /* labels */
};
enum status training_score(const struct training_rows *rows, const struct training_filter *filter, struct score *score);
/* The next (table, system, source) group after `filter`, in the order of the rows; false at the end. Begin with table -1. */
bool training_group_next(const struct training_rows *rows, struct training_filter *filter);

/* ---- reports ---- */
struct distributed_results {
  struct training_rows training;
  struct four_gpu_rows four_gpus;
  distributed_goal_list goals;
};
enum status distributed_write_text(const struct distributed_results *results, struct strbuf *out);
enum status distributed_write_json(const struct distributed_results *results, struct strbuf *out);

#endif
