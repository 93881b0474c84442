/* Suite "collectives": measured collectives of published tables beside the closed forms with the constants of hardware/. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/measure_collectives_score.h"
#include "profile/profile_places.h"

/* Times with the constants of the clusters' files; rows of one cluster stand together mostly. */
static enum status predict(struct measured_collectives *all, struct collective_harness *harness) {
  struct collective_constants constants = {{0}};
  const struct hw_cluster *of = NULL;
  double *times_s = malloc((all->rows.count + 1) * sizeof *times_s);
  if (times_s == NULL) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < all->rows.count; i++) {
    const struct measured_collective *row = &all->rows.data[i];
    if (row->cluster != of) {
      of = row->cluster;
      collective_constants_of(of, &constants);
    }
    times_s[i] = collective_row_time(row, &constants);
  }
  collective_harness_fit(all, times_s, "", harness);
  for (size_t i = 0; i < all->rows.count; i++) {
    struct measured_collective *row = &all->rows.data[i];
    row->device_s = times_s[i];
    row->predicted_s = collective_with_harness(row, harness, times_s[i]);
  }
  free(times_s);
  return STATUS_OK;
}

/* A cluster with the constants and launches of the others. */
static enum status predict_without(struct measured_collectives *all, const char *cluster, double *times_s) {
  struct collective_family_fit fit;
  struct collective_harness harness;
  /* launches do not depend much on the constants: first with those of the files, which the rows have already */
  for (size_t i = 0; i < all->rows.count; i++) {
    times_s[i] = all->rows.data[i].device_s;
  }
  collective_harness_fit(all, times_s, cluster, &harness);
  STATUS_TRY(collective_fit_unseen(all, cluster, &harness, &fit));
  for (size_t i = 0; i < all->rows.count; i++) {
    times_s[i] = collective_row_time(&all->rows.data[i], &fit.constants);
  }
  collective_harness_fit(all, times_s, cluster, &harness);
  for (size_t i = 0; i < all->rows.count; i++) {
    struct measured_collective *row = &all->rows.data[i];
    if (strcmp(collective_machines[row->machine].cluster, cluster) == 0 && row->may_fit) {
      row->unseen_s = collective_with_harness(row, &harness, times_s[i]);
    }
  }
  return STATUS_OK;
}

/* Every NVLink cluster in turn. */
static enum status predict_unseen(struct measured_collectives *all) {
  double *times_s = malloc((all->rows.count + 1) * sizeof *times_s);
  enum status status = times_s ? STATUS_OK : STATUS_MEMORY;
  for (size_t m = 0; m < collective_machine_count && status == STATUS_OK; m++) {
    const struct collective_machine *machine = &collective_machines[m];
    bool is_first = collective_is_nvlink_machine(machine);
    for (size_t k = 0; k < m && is_first; k++) {
      is_first = strcmp(collective_machines[k].cluster, machine->cluster) != 0;
    }
    status = is_first ? predict_without(all, machine->cluster, times_s) : STATUS_OK;
  }
  free(times_s);
  return status;
}

static enum status score_all(struct measured_collectives *all, const struct measure_options *options,
                             struct strbuf *out) {
  struct collective_harness harness;
  struct collective_scores scores = {0};
  STATUS_TRY(predict(all, &harness));
  STATUS_TRY(predict_unseen(all));
  collectives_fit_lines(all);
  enum status status = collectives_score(all, &scores);
  if (status == STATUS_OK && options->as_json) {
    status = collectives_write_json(all, &scores, &harness, out);
  } else if (status == STATUS_OK) {
    collectives_write_text(all, &scores, &harness, out);
    status = out->failed ? STATUS_MEMORY : STATUS_OK;
  }
  vec_release(&scores.cells);
  return status;
}

static enum status calibrate_all(const struct measured_collectives *all, const char *directory, struct diag_list *diags,
                                 struct strbuf *out) {
  struct collective_fit fit;
  STATUS_TRY(collective_fit_all(all, &fit));
  if (directory != NULL) {
    STATUS_TRY(collective_fit_write(&fit, all, directory, diags));
  }
  collective_fit_print(&fit, out);
  return out->failed ? STATUS_MEMORY : STATUS_OK;
}

/* Reads, then scores, or fits and writes. */
static enum status run(const struct hw_database *chips, const struct measure_options *options, bool is_calibration,
                       const char *directory, struct diag_list *diags, struct strbuf *out) {
  const char *data = profile_data_directory(options->data_directory);
  if (!profile_need_folder(data, "measured/aiconfigurator", diags)) {
    return STATUS_IO;
  }
  struct hw_clusters clusters = {0};
  struct measured_collectives all = {0};
  enum status status = hw_clusters_load(&clusters, options->hardware_directory, chips, diags);
  if (status == STATUS_OK) {
    status = measured_collectives_read(&all, data, &clusters, chips, diags);
  }
  if (status == STATUS_OK) {
    status = is_calibration ? calibrate_all(&all, directory, diags, out) : score_all(&all, options, out);
  }
  measured_collectives_release(&all);
  hw_clusters_release(&clusters);
  return status;
}

enum status measure_collectives(const struct hw_database *chips, const struct measure_options *options,
                                struct diag_list *diags, struct strbuf *out) {
  return run(chips, options, false, NULL, diags, out);
}

enum status measure_collectives_calibrate(const struct hw_database *chips, const struct measure_options *options,
                                          const char *directory, struct diag_list *diags, struct strbuf *out) {
  return run(chips, options, true, directory, diags, out);
}
