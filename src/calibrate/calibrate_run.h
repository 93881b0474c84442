/* `ridgeline calibrate` from tables to files: profile or mapping files → rows → fits → hardware/calibrated/<device>.yaml
 * and a report. */
#ifndef RIDGELINE_CALIBRATE_CALIBRATE_RUN_H
#define RIDGELINE_CALIBRATE_CALIBRATE_RUN_H

#include "calibrate/calibrate.h"

struct calibrate_run {
  struct calibrate_options fit;
  const char *profile; /* SQLite file; NULL = all mapping files, into memory */
  const char *data_directory, *mapping_directory; /* NULL = searched, see profile_places.h */
  const char *output_directory; /* created when absent; NULL = nothing is written */
  bool as_json;
};

/* Appends the report to `out`. Files appear whole or not at all, after everything was fitted. */
enum status calibrate_run_all(const struct hw_database *chips, const struct calibrate_run *run, struct diag_list *diags,
                              struct strbuf *out);
/* Writes one file per device of `result`. Fits that a file there has of classes or formats that `options` left out are
 * kept; files of other devices are not touched. */
enum status calibration_write_files(const struct calibration *result, const struct calibrate_options *options,
                                    const char *directory, struct diag_list *diags);
enum status calibration_write_json(const struct calibration *result, struct strbuf *out);

#endif
