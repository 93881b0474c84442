/* Measured collectives beside the closed forms: rows of the published tables, the constants fitted to their train half, and
 * the scores of the other half.
 *
 * Path: tables (measure_collectives_read.c) → rows with a request on a slice → collective_time with the constants of the
 * cluster's files, plus what the harness of a table adds (measure_collectives_time.c) → scores. The fit that writes those
 * files is measure_collectives_fit.c. docs/collectives.md explains both. */
#ifndef RIDGELINE_MEASURE_MEASURE_COLLECTIVES_H
#define RIDGELINE_MEASURE_MEASURE_COLLECTIVES_H

#include "cluster/collective.h"
#include "measure/measure.h"

enum collective_table {
#define COLLECTIVE_TABLE(id, name, file, licence, may_fit, how) COLLECTIVE_TABLE_##id,
#include "measure/measure_collectives.def"
  COLLECTIVE_TABLE_COUNT
};
struct collective_table_info {
  const char *name, *file, *licence;
  bool may_fit;
  const char *how;
};
const struct collective_table_info *collective_table_info(enum collective_table table);

enum { COLLECTIVE_NO_SUMS = 1 };
struct collective_machine {
  enum collective_table table;
  const char *device, *cluster, *family;
  unsigned flags;
};
extern const struct collective_machine collective_machines[];
extern const size_t collective_machine_count;

enum { COLLECTIVE_KINDS = WORK_SEND_RECV + 1 };

struct measured_collective {
  uint16_t machine; /* in collective_machines */
  uint16_t dtype; /* a number per text */
  bool is_test, may_fit;
  bool is_network; /* between nodes */
  double measured_s;
  double copied_bytes; /* that the harness copies on the device before */
  const struct hw_cluster *cluster;
  const struct hw_chip *chip;
  struct hw_slice slice;
  struct collective_request request;
  double one_shot_max, two_shot_max; /* of the kernels in place of the library's; 0 = none */
  double device_s; /* predicted, without what the harness adds */
  double predicted_s, unseen_s, two_constants_s; /* NaN = none */
};

/* Rows that are left out, by reason. */
enum collective_left_out {
  COLLECTIVE_ROUNDED, /* a throughput stated to 0.01 GB/s and below 0.1 GB/s, or none */
  COLLECTIVE_IMPOSSIBLE, /* faster than the links */
  COLLECTIVE_TWICE, /* the same numbers under two machines */
  COLLECTIVE_NO_CLUSTER, /* of hardware that has no file */
  COLLECTIVE_UNDESCRIBED, /* between nodes by a network that the table does not describe, below half of the cluster's cards */
  COLLECTIVE_UNCLEAR, /* a bandwidth whose definition is not stated */
  COLLECTIVE_LEFT_OUT_COUNT
};
extern const char *const collective_left_out_texts[COLLECTIVE_LEFT_OUT_COUNT];

struct measured_collectives {
  VEC(struct measured_collective) rows;
  size_t left_out[COLLECTIVE_LEFT_OUT_COUNT];
};
enum status measured_collectives_read(struct measured_collectives *all, const char *data,
                                      const struct hw_clusters *clusters, const struct hw_database *chips,
                                      struct diag_list *diags);
void measured_collectives_release(struct measured_collectives *all);

/* What the harness of a table adds to every operation of a kind: a property of how it measures, not of the machine. */
struct collective_harness {
  double launch_s[COLLECTIVE_TABLE_COUNT][COLLECTIVE_KINDS];
};
/* With the constants as they are, without what the harness adds. */
double collective_row_time(const struct measured_collective *row, const struct collective_constants *constants);
double collective_with_harness(const struct measured_collective *row, const struct collective_harness *harness,
                               double time_s);
/* Whether the launch is a constant of the table or zero: CUDA graphs are the reference. */
bool collective_has_launch(enum collective_table table);
/* Launches that fit the train rows best, given the times of all rows; without those of the cluster `left_out` ("" = none). */
void collective_harness_fit(const struct measured_collectives *all, const double *times_s, const char *left_out,
                            struct collective_harness *harness);

/* Rows of COLLECTIVE_FAMILY: where constants are written. */
struct collective_family {
  const char *name, *file, *inherits;
  double host_ranks;
};
extern const struct collective_family collective_families[];
extern const size_t collective_family_count;

/* Constants of every family, fitted; the first is "nvlink". */
enum { COLLECTIVE_FAMILIES_MAX = 16 };
struct collective_family_fit {
  const char *name;
  struct collective_constants constants;
  bool is_fitted[COLLECTIVE_CONSTANT_COUNT];
  size_t rows; /* that it was fitted to */
};
struct collective_fit {
  size_t count;
  struct collective_family_fit families[COLLECTIVE_FAMILIES_MAX];
  struct collective_harness harness;
};
/* All families on their train rows. */
enum status collective_fit_all(const struct measured_collectives *all, struct collective_fit *fit);
/* One set of constants for all NVLink machines but those of the cluster `left_out` ("" = none), refined on those with links
 * of the same rate, where there are any: what is known of an unseen system from its data sheet. */
enum status collective_fit_unseen(const struct measured_collectives *all, const char *left_out,
                                  const struct collective_harness *harness, struct collective_family_fit *fit);
/* One YAML file per row of COLLECTIVE_FAMILY below `directory`, and a table of the fits. */
enum status collective_fit_write(const struct collective_fit *fit, const struct measured_collectives *all,
                                 const char *directory, struct diag_list *diags);
void collective_fit_print(const struct collective_fit *fit, struct strbuf *out);
/* Machines that "unseen system" is asked of. */
bool collective_is_nvlink_machine(const struct collective_machine *machine);

#endif
