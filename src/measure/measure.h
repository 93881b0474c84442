/* Scoring predictions against measurements. Path: data tables + programs → program/ → errors beside measured values. */
#ifndef RIDGELINE_MEASURE_MEASURE_H
#define RIDGELINE_MEASURE_MEASURE_H

#include "base/diag.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "hw/hw.h"

struct measure_options {
  const char *data_directory; /* NULL = $RIDGELINE_DATA, else ../shared/data */
  const char *hardware_directory; /* of the chips that are given: where clusters are read from */
  bool as_json;
  /* Of suites with `takes_filters`: only this chip (id or alias), only this class of kernels; NULL = all. */
  const char *chip, *class_name;
  /* Of suites with `has_page`: receives an HTML page with charts beside the report; may be NULL. */
  struct strbuf *page;
  const char *mapping_directory, *charts_directory; /* NULL = searched, see profile_places.h */
};

struct measure_suite {
  const char *name;
  const char *summary;
  enum status (*run)(const struct hw_database *chips, const struct measure_options *options, struct diag_list *diags,
                     struct strbuf *out);
  bool takes_filters, has_page;
};
/* All suites, terminated by a row without a name. */
extern const struct measure_suite measure_suites[];

/* Every program of data/workloads with a measured step time: unfused and fused prediction of one device beside the
 * measurement of the whole system, communication not timed; good or bad, all rows are printed. */
enum status measure_workloads(const struct hw_database *chips, const struct measure_options *options,
                              struct diag_list *diags, struct strbuf *out);
/* Measured kernels of all published tables, on rows that no constant has seen: errors per chip, class and format beside
 * those of simpler and of published predictors, and the goals. */
enum status measure_operators(const struct hw_database *chips, const struct measure_options *options,
                              struct diag_list *diags, struct strbuf *out);
/* Kernels and whole programs of the NeuSight tables (eager PyTorch, f32), also on GPUs that no constant has seen, beside
 * the predictors published with them. */
enum status measure_neusight(const struct hw_database *chips, const struct measure_options *options,
                             struct diag_list *diags, struct strbuf *out);
/* Dense products on a chip of joined cores beside the planner's fastest partition. */
enum status measure_intercore(const struct hw_database *chips, const struct measure_options *options,
                              struct diag_list *diags, struct strbuf *out);
/* Published training runs predicted from their configurations, programs on four GPUs, and the goals of all distributed
 * suites. */
enum status measure_distributed(const struct hw_database *chips, const struct measure_options *options,
                                struct diag_list *diags, struct strbuf *out);
/* Measured collectives of published tables on sizes that no constant has seen, beside two constants per machine and
 * operation, and the goals. */
enum status measure_collectives(const struct hw_database *chips, const struct measure_options *options,
                                struct diag_list *diags, struct strbuf *out);
/* Fits the constants of communication to the train rows of the same tables; writes one file per family of clusters to
 * `directory` (NULL: none), and a table of the constants to `out`. */
enum status measure_collectives_calibrate(const struct hw_database *chips, const struct measure_options *options,
                                          const char *directory, struct diag_list *diags, struct strbuf *out);

#endif
