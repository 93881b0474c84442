/* Reads what was measured, calibrates, writes the files of the devices that were calibrated and the report. */
#include "calibrate/calibrate_run.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/input_file.h"
#include "io/output_file.h"
#include "profile/profile_places.h"

/* ---- files ---- */

static const struct hw_fit *find_fit(const struct calibration *result, const struct hw_fit *fit) {
  for (size_t i = 0; i < result->fits.count; i++) {
    const struct hw_fit *other = &result->fits.data[i];
    if (strcmp(other->device, fit->device) == 0 && strcmp(other->class_name, fit->class_name) == 0
        && strcmp(other->format, fit->format) == 0) {
      return other;
    }
  }
  return NULL;
}

/* Whether a fit of the old file stays. A calibration of all rows replaces what it was asked for: what it did not fit again
 * has too few rows now, and goes. One of somebody's own rows takes nothing away, and does not put the fit of fewer chips
 * in place of that of more. */
static bool stays(const struct calibrate_options *options, const struct hw_fit *old, const struct hw_fit *fresh) {
  if (options->is_partial) {
    return fresh == NULL || fresh->chip_count < old->chip_count;
  }
  bool is_left_out = (options->class_name && strcmp(options->class_name, old->class_name) != 0)
                     || (options->format && strcmp(options->format, old->format) != 0);
  return is_left_out && fresh == NULL;
}

/* Fits of the file at `path` that stay, into `old`. A file that is absent has none. */
static enum status read_old(const char *path, struct hw_database *old, struct diag_list *diags) {
  struct input_file file;
  if (access(path, F_OK) != 0) {
    return STATUS_OK;
  }
  STATUS_TRY(input_file_read(&file, path, HW_CALIBRATION_MAX_BYTES, diags));
  struct source source = {.name = file.name, .text = file.text, .length = file.length};
  enum status status = hw_calibration_parse(old, &source, diags);
  input_file_release(&file);
  return status;
}

static int by_kernels(const void *a, const void *b) {
  const struct hw_fit *x = a, *y = b;
  int order = strcmp(x->class_name, y->class_name);
  return order ? order : strcmp(x->format, y->format);
}

static enum status write_device(const struct calibration *result, const struct calibrate_options *options,
                                const char *device, const char *path, struct diag_list *diags) {
  struct hw_database old = {0};
  struct calibration merged = {0}; /* borrows from `result` and `old` */
  struct strbuf text = {0};
  arena_init(&old.arena, 0);
  bool is_merged = options->class_name || options->format || options->is_partial;
  enum status status = is_merged ? read_old(path, &old, diags) : STATUS_OK;
  const char *date = NULL;
  for (size_t i = 0; i < result->fits.count && status == STATUS_OK; i++) {
    const struct hw_fit *fit = &result->fits.data[i];
    bool is_of_device = strcmp(fit->device, device) == 0, is_better = true;
    for (size_t k = 0; k < old.fits.count && is_of_device && is_better; k++) {
      is_better = !(find_fit(result, old.fits.data[k]) == fit && stays(options, old.fits.data[k], fit));
    }
    if (is_of_device) {
      date = fit->date;
    }
    if (is_of_device && is_better) {
      status = vec_push(&merged.fits, *fit) ? STATUS_OK : STATUS_MEMORY;
    }
  }
  for (size_t i = 0; i < old.fits.count && status == STATUS_OK; i++) {
    struct hw_fit fit = *old.fits.data[i];
    if (strcmp(fit.device, device) == 0 && stays(options, &fit, find_fit(result, &fit))) {
      fit.date = date; /* of the file: its last calibration */
      status = vec_push(&merged.fits, fit) ? STATUS_OK : STATUS_MEMORY;
    }
  }
  if (status == STATUS_OK) {
    qsort(merged.fits.data, merged.fits.count, sizeof *merged.fits.data, by_kernels);
    calibration_write_yaml(&merged, device, &text);
    status = text.failed ? STATUS_MEMORY : output_file_write(path, strbuf_text(&text), text.length, diags);
  }
  strbuf_release(&text);
  vec_release(&merged.fits);
  hw_database_release(&old);
  return status;
}

enum status calibration_write_files(const struct calibration *result, const struct calibrate_options *options,
                                    const char *directory, struct diag_list *diags) {
  STATUS_TRY(output_directory_make(directory, diags));
  enum status status = STATUS_OK;
  for (size_t i = 0; i < result->fits.count && status == STATUS_OK; i++) {
    const char *device = result->fits.data[i].device;
    if (i > 0 && strcmp(result->fits.data[i - 1].device, device) == 0) {
      continue;
    }
    struct strbuf path = {0};
    strbuf_printf(&path, "%s/%s.yaml", directory, device);
    status = path.failed ? STATUS_MEMORY : write_device(result, options, device, strbuf_text(&path), diags);
    strbuf_release(&path);
  }
  return status;
}

/* ---- report ---- */

static json_t *interval_json(const struct hw_fit_interval *interval) {
  json_t *below = isfinite(interval->below_s) ? json_real(interval->below_s) : json_null();
  return json_pack("{s:o,s:I,s:f,s:f}", "below_s", below, "rows", (json_int_t)interval->rows, "low", interval->low,
                   "high", interval->high);
}

static json_t *fit_json(const struct hw_fit *fit) {
  json_t *constants = json_object(), *intervals = json_array();
  for (unsigned i = 0; i < fit->constant_count; i++) {
    json_object_set_new(constants, fit->names[i], json_real(fit->values[i]));
  }
  for (unsigned i = 0; i < fit->interval_count; i++) {
    json_array_append_new(intervals, interval_json(&fit->intervals[i]));
  }
  json_t *data_sheet = isfinite(fit->data_sheet_mape) ? json_real(fit->data_sheet_mape) : json_null();
  return json_pack("{s:s,s:b,s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:f,s:f,s:f,s:f,s:o,s:o,s:o}", "device", fit->device,
                   "is_family", (int)fit->is_family, "class", fit->class_name, "format", fit->format, "model",
                   fit->model, "date", fit->date, "sources", fit->sources, "chips", fit->chips, "rows",
                   (json_int_t)fit->rows, "mape", fit->mape, "median", fit->median, "p90", fit->p90, "bias", fit->bias,
                   "data_sheet_mape", data_sheet, "constants", constants, "intervals", intervals);
}

/* docs/json.md, "calibration". */
enum status calibration_write_json(const struct calibration *result, struct strbuf *out) {
  json_t *fits = json_array();
  for (size_t i = 0; i < result->fits.count; i++) {
    json_array_append_new(fits, fit_json(&result->fits.data[i]));
  }
  bool is_whole = json_array_size(fits) == result->fits.count; /* a fit is missing when memory is exhausted */
  json_t *document = json_pack("{s:s,s:i,s:s,s:o}", "format", "ridgeline-calibration", "format_version", 1, "version",
                               RDG_VERSION, "fits", fits);
  char *text = document && is_whole ? json_dumps(document, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : NULL;
  json_decref(document);
  if (!text) {
    return STATUS_MEMORY;
  }
  strbuf_puts(out, text);
  strbuf_putc(out, '\n');
  free(text);
  return out->failed ? STATUS_MEMORY : STATUS_OK;
}

/* ---- the whole ---- */

static enum status open_profile(const struct calibrate_run *run, struct diag_list *diags, struct store **profile) {
  if (run->profile) {
    return store_open(run->profile, true, diags, profile);
  }
  const char *data = profile_data_directory(run->data_directory);
  uint64_t added = 0, absent = 0;
  STATUS_TRY(store_open(":memory:", false, diags, profile));
  STATUS_TRY(
      profile_import_all(*profile, profile_mapping_directory(run->mapping_directory), data, &added, &absent, diags));
  if (added == 0) {
    diag_file(diags, DIAG_E0001_OPEN, data, 0, 0,
              "no data: none of the measured tables is in '%s' (--data or $RIDGELINE_DATA say where they are)", data);
    return STATUS_IO;
  }
  return STATUS_OK;
}

static enum status write_report(const struct calibration *result, const struct calibrate_run *run, struct strbuf *out) {
  if (run->as_json) {
    return calibration_write_json(result, out);
  }
  calibration_write_table(result, out);
  size_t devices = 0;
  for (size_t i = 0; i < result->fits.count; i++) {
    devices += i == 0 || strcmp(result->fits.data[i - 1].device, result->fits.data[i].device) != 0;
  }
  strbuf_printf(out, "\n%zu fits of %zu devices; errors are those of rows held out in turn\n", result->fits.count,
                devices);
  if (run->output_directory) {
    strbuf_printf(out, "written to %s\n", run->output_directory);
  }
  return out->failed ? STATUS_MEMORY : STATUS_OK;
}

enum status calibrate_run_all(const struct hw_database *chips, const struct calibrate_run *run, struct diag_list *diags,
                              struct strbuf *out) {
  struct store *profile = NULL;
  struct measured_kernels kernels = {0};
  struct calibration result = {0};
  struct calibrate_options fit = run->fit;
  fit.is_partial = run->profile != NULL;
  enum status status = open_profile(run, diags, &profile);
  if (status == STATUS_OK) {
    status = measured_kernels_load(&kernels, profile, chips, diags);
  }
  store_close(profile);
  if (status == STATUS_OK) {
    status = calibrate_kernels(&kernels, chips, &fit, diags, &result);
  }
  if (status == STATUS_OK && run->output_directory) {
    status = calibration_write_files(&result, &fit, run->output_directory, diags);
  }
  if (status == STATUS_OK) {
    status = write_report(&result, run, out);
  }
  calibration_release(&result);
  measured_kernels_release(&kernels);
  return status;
}
