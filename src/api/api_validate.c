/* Validation suites, by name. */
#include <string.h>

#include "api/api_context.h"
#include "measure/measure.h"

static const struct measure_suite *find_suite(rdg_context *ctx, const char *name) {
  struct strbuf names = {0};
  const struct measure_suite *row = measure_suites;
  for (; row->name && strcmp(row->name, name) != 0; row++) {
    strbuf_printf(&names, "%s%s", names.length ? ", " : "", row->name);
  }
  if (!row->name) {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "there is no suite '%s'; this version has: %s", name,
              strbuf_text(&names));
  }
  strbuf_release(&names);
  return row->name ? row : NULL;
}

/* A wish that the suite cannot fulfil is refused, not ignored. */
static bool suite_takes(rdg_context *ctx, const struct measure_suite *suite, const rdg_validate_options *options) {
  if ((options->chip || options->class_name) && !suite->takes_filters) {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "suite '%s' cannot be limited to a chip or a class",
              suite->name);
    return false;
  }
  if (options->page && !suite->has_page) {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "suite '%s' has no page of charts", suite->name);
    return false;
  }
  return true;
}

rdg_status rdg_validate(rdg_context *ctx, const char *suite, const rdg_validate_options *options, rdg_sink sink) {
  static const rdg_validate_options defaults = {0};
  api_begin(ctx);
  rdg_status status = api_need_chips(ctx);
  if (status != RDG_OK) {
    return status;
  }
  options = options ? options : &defaults;
  const struct measure_suite *row = find_suite(ctx, suite);
  if (!row || !suite_takes(ctx, row, options)) {
    return RDG_ERROR_INPUT;
  }
  struct strbuf out = {0}, page = {0};
  char mappings[sizeof ctx->beside + 32], charts[sizeof ctx->beside + 32];
  struct measure_options wanted = {
      .data_directory = options->data_directory,
      .hardware_directory = api_hardware_directory(ctx),
      .mapping_directory =
          api_installed_folder(ctx, "RIDGELINE_MEASUREMENTS", "measurements", mappings, sizeof mappings),
      .charts_directory = api_installed_folder(ctx, "RIDGELINE_CHARTS", "charts", charts, sizeof charts),
      .as_json = options->format == RDG_FORMAT_JSON,
      .chip = options->chip,
      .class_name = options->class_name,
      .page = options->page ? &page : NULL};
  enum status result = row->run(&ctx->chips, &wanted, &ctx->diags, &out);
  if (result != STATUS_OK) {
    strbuf_release(&out);
    strbuf_release(&page);
    return api_result(ctx, api_status(result));
  }
  if (options->page) {
    status = api_flush(ctx, &page, *options->page);
  }
  if (status == RDG_OK) {
    return api_flush(ctx, &out, sink);
  }
  strbuf_release(&out);
  return status;
}

bool rdg_validate_suite(size_t i, const char **name, const char **summary) {
  size_t count = 0;
  while (measure_suites[count].name) {
    count++;
  }
  if (i >= count) {
    return false;
  }
  *name = measure_suites[i].name;
  *summary = measure_suites[i].summary;
  return true;
}
