/* Calibration: constants from measured rows, written beside the chips. */
#include <string.h>
#include <time.h>

#include "api/api_context.h"
#include "calibrate/calibrate_run.h"
#include "hw/hw_calibration.h"
#include "measure/measure.h"

const char *rdg_calibration_directory(rdg_context *ctx) {
  if (ctx->calibration_directory[0] == '\0') {
    struct strbuf path = {0};
    strbuf_printf(&path, "%s/calibrated", api_hardware_directory(ctx));
    if (!path.failed && path.length < sizeof ctx->calibration_directory) {
      memcpy(ctx->calibration_directory, strbuf_text(&path), path.length + 1);
    }
    strbuf_release(&path);
  }
  return ctx->calibration_directory;
}

/* Class "collectives": from tables of its own, into families of clusters. */
static rdg_status calibrate_collectives(rdg_context *ctx, const rdg_calibrate_options *options, rdg_sink sink) {
  struct strbuf out = {0};
  const struct measure_options wanted = {.data_directory = options->data_directory,
                                         .hardware_directory = api_hardware_directory(ctx)};
  enum status result =
      measure_collectives_calibrate(&ctx->chips, &wanted, options->output_directory, &ctx->diags, &out);
  if (result != STATUS_OK) {
    strbuf_release(&out);
    return api_result(ctx, api_status(result));
  }
  return api_flush(ctx, &out, sink);
}

static void today(char text[16]) {
  time_t now = time(NULL);
  struct tm day;
  if (!gmtime_r(&now, &day) || strftime(text, 16, "%Y-%m-%d", &day) == 0) {
    memcpy(text, "1970-01-01", sizeof "1970-01-01");
  }
}

rdg_status rdg_calibrate(rdg_context *ctx, const rdg_calibrate_options *options, rdg_sink sink) {
  static const rdg_calibrate_options defaults = {0};
  options = options ? options : &defaults;
  api_begin(ctx);
  rdg_status status = api_need_chips(ctx);
  if (status != RDG_OK) {
    return status;
  }
  if (options->class_name && strcmp(options->class_name, "collectives") == 0) {
    return calibrate_collectives(ctx, options, sink);
  }
  char date[16];
  today(date);
  if (options->date && !hw_calibration_is_date(options->date)) {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "'%s' is not a date; one is written like 2026-11-30",
              options->date);
    return RDG_ERROR_INPUT;
  }
  char mappings[sizeof ctx->beside + 32];
  const char *mapping_directory = options->mapping_directory;
  if (!mapping_directory) {
    mapping_directory = api_installed_folder(ctx, "RIDGELINE_MEASUREMENTS", "measurements", mappings, sizeof mappings);
  }
  struct calibrate_run run = {.fit = {.device = options->device,
                                      .class_name = options->class_name,
                                      .format = options->format,
                                      .date = options->date ? options->date : date,
                                      .max_rows = options->max_rows,
                                      .threads = options->threads,
                                      .progress = options->progress,
                                      .user = options->user},
                              .profile = options->profile,
                              .data_directory = options->data_directory,
                              .mapping_directory = mapping_directory,
                              .output_directory = options->output_directory,
                              .as_json = options->report == RDG_FORMAT_JSON};
  struct strbuf out = {0};
  enum status result = calibrate_run_all(&ctx->chips, &run, &ctx->diags, &out);
  if (result != STATUS_OK) {
    strbuf_release(&out);
    return api_result(ctx, api_status(result));
  }
  return api_flush(ctx, &out, sink);
}
