/* Where the files are that validation and calibration read beside chips: published tables, their mappings, chart
 * libraries. Each is what the caller says, else what an environment variable says, else beside the hardware files of the
 * source tree, else beside the installed ones. Static storage or the environment's. */
#ifndef RIDGELINE_PROFILE_PROFILE_PLACES_H
#define RIDGELINE_PROFILE_PROFILE_PLACES_H

#include <stdbool.h>

#include "base/diag.h"

/* Measured tables; $RIDGELINE_DATA, else ../shared/data. */
const char *profile_data_directory(const char *stated);
/* False, with E0001, when that folder of the data directory is not there: "no data". */
bool profile_need_folder(const char *data_directory, const char *folder, struct diag_list *diags);
/* Mapping files (measured_kernels.h); $RIDGELINE_MEASUREMENTS. */
const char *profile_mapping_directory(const char *stated);
/* vega.min.js, vega-lite.min.js, vega-embed.min.js, which './dev charts' fetches; $RIDGELINE_CHARTS. */
const char *profile_charts_directory(const char *stated);

#endif
