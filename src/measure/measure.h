/* Scoring predictions against measurements. Path: data tables + programs → program/ → errors beside measured values. */
#ifndef RIDGELINE_MEASURE_MEASURE_H
#define RIDGELINE_MEASURE_MEASURE_H

#include "base/diag.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "hw/hw.h"

struct measure_options {
  const char *data_directory; /* NULL = $RIDGELINE_DATA, else ../shared/data */
  bool as_json;
};

struct measure_suite {
  const char *name;
  const char *summary;
  enum status (*run)(const struct hw_database *chips, const struct measure_options *options, struct diag_list *diags,
                     struct strbuf *out);
};
/* All suites, terminated by a row without a name. */
extern const struct measure_suite measure_suites[];

/* Every program of data/workloads with a measured step time: unfused and fused prediction of one device beside the
 * measurement of the whole system, communication not timed; good or bad, all rows are printed. */
enum status measure_workloads(const struct hw_database *chips, const struct measure_options *options,
                              struct diag_list *diags, struct strbuf *out);

#endif
