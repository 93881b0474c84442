/* Measured profiles: import, export, show. */
#include <string.h>
#include <unistd.h>

#include "api/api_context.h"
#include "profile/measured_kernels.h"
#include "profile/profile_places.h"

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_csv(const char *path) {
  return ends_with(path, ".csv") || ends_with(path, ".csv.gz") || ends_with(path, ".csv.zst");
}

static enum status import_file(rdg_context *ctx, struct store *profile, const char *file, const char *data,
                               rdg_profile_import_result *result) {
  if (is_csv(file)) {
    return profile_import_csv(profile, file, &result->rows, &ctx->diags);
  }
  if (ends_with(file, ".yaml") || ends_with(file, ".yml")) {
    return profile_import_mapping(profile, file, data, &result->rows, &result->absent_tables, &ctx->diags);
  }
  diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0,
            "'%s' is neither a mapping file (.yaml) nor a table (.csv, .csv.gz, .csv.zst)", file);
  return STATUS_INPUT;
}

static enum status import_files(rdg_context *ctx, struct store *profile, const rdg_profile_import_options *options,
                                rdg_profile_import_result *result) {
  const char *data = profile_data_directory(options->data_directory);
  if (options->file_count == 0) {
    char mappings[sizeof ctx->beside + 32];
    const char *stated = options->mapping_directory;
    if (!stated) {
      stated = api_installed_folder(ctx, "RIDGELINE_MEASUREMENTS", "measurements", mappings, sizeof mappings);
    }
    return profile_import_all(profile, profile_mapping_directory(stated), data, &result->rows, &result->absent_tables,
                              &ctx->diags);
  }
  enum status status = STATUS_OK;
  for (size_t i = 0; i < options->file_count; i++) {
    enum status done = import_file(ctx, profile, options->files[i], data, result);
    status = done != STATUS_OK ? done : status; /* go on: errors of all files are said in one run */
  }
  return status;
}

rdg_status rdg_profile_import(rdg_context *ctx, const char *path, const rdg_profile_import_options *options,
                              rdg_profile_import_result *result) {
  static const rdg_profile_import_options none = {0};
  rdg_profile_import_result local = {0};
  api_begin(ctx);
  bool is_new = access(path, F_OK) != 0;
  struct store *profile = NULL;
  enum status status = store_open(path, false, &ctx->diags, &profile);
  if (status == STATUS_OK) {
    status = import_files(ctx, profile, options ? options : &none, &local);
    if (status == STATUS_OK && local.rows == 0) {
      diag_file(&ctx->diags, DIAG_E0001_OPEN, NULL, 0, 0, "no data: there is no row to import%s",
                local.absent_tables ? " (--data or $RIDGELINE_DATA say where the tables are)" : "");
      status = STATUS_IO;
    }
    store_close(profile);
    if (is_new && local.rows == 0) {
      (void)unlink(path);
    }
  }
  if (result) {
    *result = local;
  }
  return api_result(ctx, api_status(status));
}

rdg_status rdg_profile_export(rdg_context *ctx, const char *path, bool programs, rdg_sink sink) {
  api_begin(ctx);
  struct store *profile = NULL;
  struct strbuf out = {0};
  enum status status = store_open(path, true, &ctx->diags, &profile);
  if (status == STATUS_OK) {
    status = profile_export_csv(profile, programs, &out, &ctx->diags);
    store_close(profile);
  }
  if (status != STATUS_OK) {
    strbuf_release(&out);
    return api_result(ctx, api_status(status));
  }
  return api_flush(ctx, &out, sink);
}

rdg_status rdg_profile_show(rdg_context *ctx, const char *path, rdg_format format, rdg_sink sink) {
  api_begin(ctx);
  struct store *profile = NULL;
  struct strbuf out = {0};
  enum status status = store_open(path, true, &ctx->diags, &profile);
  if (status == STATUS_OK) {
    status = profile_show(profile, format == RDG_FORMAT_JSON, &out, &ctx->diags);
    store_close(profile);
  }
  if (status != STATUS_OK) {
    strbuf_release(&out);
    return api_result(ctx, api_status(status));
  }
  return api_flush(ctx, &out, sink);
}
