/* `plan --compat elk`: two files in, the latencies of the published designs out. */
#include "api/api_context.h"
#include "io/input_file.h"
#include "plan/plan_compat.h"
#include "report/report_plan_compat.h"

/* The published lists have some kilobytes. */
enum { LIST_BYTES_MAX = 16 << 20 };

static bool are_sane(rdg_context *ctx, const struct plan_compat_options *options) {
  if (!(options->threshold >= 0.0 && options->threshold <= 1.0)) {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "a threshold is a share of the link time, from 0 to 1");
    return false;
  }
  return true;
}

static enum status run(rdg_context *ctx, const struct input_file files[2], const struct plan_compat_options *options,
                       rdg_format format, struct strbuf *out) {
  struct source operators = {.name = files[0].name, .text = files[0].text, .length = files[0].length};
  struct source sequence = {.name = files[1].name, .text = files[1].text, .length = files[1].length};
  struct plan_compat_program program;
  struct plan_compat_result result;
  enum status status = plan_compat_read(&operators, &sequence, &ctx->diags, &program);
  if (status == STATUS_OK) {
    status = plan_compat_run(&program, options, &ctx->diags, &result);
  }
  if (status == STATUS_OK) {
    const struct report_plan_compat report = {
        .operators = files[0].name, .version = rdg_version(), .options = options, .result = &result};
    if (format == RDG_FORMAT_JSON) {
      status = report_plan_compat_json(&report, out);
    } else {
      report_plan_compat_text(&report, out);
    }
  }
  plan_compat_program_release(&program);
  return status;
}

rdg_status rdg_plan_compat(rdg_context *ctx, const char *operators_path, const char *sequence_path,
                           const rdg_plan_compat_options *options, rdg_format format, rdg_sink sink) {
  static const rdg_plan_compat_options defaults = {0};
  options = options ? options : &defaults;
  const struct plan_compat_options used = {.layers = options->layers,
                                           .legal = options->legal,
                                           .equal_constants = options->equal_constants,
                                           .threshold = options->threshold,
                                           .execution_kib = options->execution_kib,
                                           .sweep_kib = options->sweep_kib};
  api_begin(ctx);
  if (!are_sane(ctx, &used)) {
    return RDG_ERROR_INPUT;
  }
  const char *const paths[2] = {operators_path, sequence_path};
  struct input_file files[2] = {{0}, {0}};
  struct strbuf out = {0};
  enum status status = STATUS_OK;
  for (int i = 0; i < 2 && status == STATUS_OK; i++) {
    status = input_file_read(&files[i], paths[i], LIST_BYTES_MAX, &ctx->diags);
  }
  if (status == STATUS_OK) {
    status = run(ctx, files, &used, format, &out);
  }
  input_file_release(&files[0]);
  input_file_release(&files[1]);
  if (status != STATUS_OK) {
    strbuf_release(&out);
    return api_result(ctx, api_status(status));
  }
  return api_flush(ctx, &out, sink);
}
