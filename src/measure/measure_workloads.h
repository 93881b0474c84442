/* Suite "workloads", shared by its files and with the goals of all distributed suites. */
#ifndef RIDGELINE_MEASURE_MEASURE_WORKLOADS_H
#define RIDGELINE_MEASURE_MEASURE_WORKLOADS_H

#include "hw/hw_cluster.h"
#include "program/program.h"

/* A workload of the references as a program of one of `devices` devices, from its configuration, where the folder has no
 * file of it. *program is NULL when its configuration is not known here. `name` stands for the file. */
enum status workload_generate(const char *workload, unsigned devices, const char *name, struct diag_list *diags,
                              struct program **program);

#define WORKLOAD_MAPE_GOAL 0.12
#define WORKLOAD_KENDALL_GOAL 0.98
struct workload_goals {
  double mape; /* of the step over rows of at least 0.1 s */
  double kendall; /* over all rows with a program */
  size_t long_rows, all_rows;
};
enum status measure_workload_goals(const struct hw_database *chips, const struct hw_clusters *clusters,
                                   const char *data_directory, struct diag_list *diags, struct workload_goals *goals);

#endif
