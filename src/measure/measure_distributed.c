/* Suite "distributed": published training runs predicted from their configurations, programs on four GPUs, and the goals of
 * all distributed suites.
 * Path: tables of measured/ → rows → predictions → goals → measure_distributed_text.c, _json.c. */
#include "measure/measure_distributed.h"
#include "measure/measure_workloads.h"
#include "profile/profile_places.h"

static enum status read_table(struct training_rows *rows, const char *data, const char *name, int vtrain,
                              struct diag_list *diags) {
  struct strbuf path = {0};
  strbuf_printf(&path, "%s/measured/%s", data, name);
  enum status status = STATUS_MEMORY;
  if (!path.failed && vtrain < 0) {
    status = training_read_tables(rows, strbuf_text(&path), diags);
  } else if (!path.failed) {
    status = training_read_vtrain(rows, strbuf_text(&path), (enum training_table)vtrain, diags);
  }
  strbuf_release(&path);
  return status;
}

static enum status read_all(struct training_rows *rows, const char *data, struct diag_list *diags) {
  STATUS_TRY(read_table(rows, data, "e2e_training.csv", -1, diags));
  STATUS_TRY(read_table(rows, data, "vtrain/ground_truth_single.csv", TRAINING_VTRAIN_SINGLE, diags));
  return read_table(rows, data, "vtrain/ground_truth_multi.csv", TRAINING_VTRAIN_MULTI, diags);
}

static enum status add_workload_goals(distributed_goal_list *goals, const char *data, const struct hw_database *chips,
                                      const struct hw_clusters *clusters, struct diag_list *diags) {
  struct workload_goals found = {0};
  STATUS_TRY(measure_workload_goals(chips, clusters, data, diags, &found));
  struct distributed_goal error = {"workloads from 0.1 s on, mean error", found.mape, WORKLOAD_MAPE_GOAL, false,
                                   found.long_rows};
  struct distributed_goal rank = {"workloads, Kendall tau", found.kendall, WORKLOAD_KENDALL_GOAL, true, found.all_rows};
  return vec_push(goals, error) && vec_push(goals, rank) ? STATUS_OK : STATUS_MEMORY;
}

/* From what the suite of collectives says itself: its scores are goals of this one too. */
static enum status add_collective_goals(distributed_goal_list *goals, const struct measure_options *options,
                                        const struct hw_database *chips, struct diag_list *diags) {
  struct measure_options wanted = {
      .data_directory = options->data_directory, .hardware_directory = options->hardware_directory, .as_json = true};
  struct strbuf text = {0};
  enum status status = measure_collectives(chips, &wanted, diags, &text);
  if (status == STATUS_OK) {
    status = distributed_goals_of_collectives(strbuf_text(&text), goals);
  }
  strbuf_release(&text);
  return status;
}

static enum status predict_all(struct distributed_results *results, const char *data,
                               const struct measure_options *options, const struct hw_database *chips,
                               const struct hw_clusters *clusters, struct diag_list *diags) {
  for (size_t i = 0; i < results->training.list.count; i++) {
    training_map(&results->training.list.data[i]);
  }
  STATUS_TRY(training_predict(&results->training, chips, clusters, diags));
  STATUS_TRY(four_gpu_predict(&results->four_gpus, data, chips, clusters, diags));
  STATUS_TRY(add_workload_goals(&results->goals, data, chips, clusters, diags));
  STATUS_TRY(add_collective_goals(&results->goals, options, chips, diags));
  STATUS_TRY(distributed_goals_of_training(&results->training, &results->goals));
  return distributed_goals_of_four_gpus(&results->four_gpus, &results->goals);
}

enum status measure_distributed(const struct hw_database *chips, const struct measure_options *options,
                                struct diag_list *diags, struct strbuf *out) {
  const char *data = profile_data_directory(options->data_directory);
  static const char *const folders[] = {"measured/vtrain", "measured/neusight", "measured/aiconfigurator", "workloads"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    if (!profile_need_folder(data, folders[i], diags)) {
      return STATUS_IO;
    }
  }
  struct hw_clusters clusters = {0};
  struct distributed_results results = {0};
  training_rows_init(&results.training);
  enum status status = hw_clusters_load(&clusters, options->hardware_directory, chips, diags);
  if (status == STATUS_OK) {
    status = read_all(&results.training, data, diags);
  }
  if (status == STATUS_OK) {
    status = predict_all(&results, data, options, chips, &clusters, diags);
  }
  if (status == STATUS_OK) {
    status = options->as_json ? distributed_write_json(&results, out) : distributed_write_text(&results, out);
  }
  vec_release(&results.goals);
  four_gpu_rows_release(&results.four_gpus);
  training_rows_release(&results.training);
  hw_clusters_release(&clusters);
  return status;
}
