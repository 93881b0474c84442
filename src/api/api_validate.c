/* Validation suites, by name. */
#include <string.h>

#include "api/api_context.h"
#include "measure/measure.h"

rdg_status rdg_validate(rdg_context *ctx, const char *suite, const char *data_directory, rdg_format format,
                        rdg_sink sink) {
  api_begin(ctx);
  rdg_status status = api_need_chips(ctx);
  if (status != RDG_OK) {
    return status;
  }
  struct measure_options options = {.data_directory = data_directory, .as_json = format == RDG_FORMAT_JSON};
  struct strbuf names = {0};
  for (const struct measure_suite *row = measure_suites; row->name; row++) {
    if (strcmp(row->name, suite) == 0) {
      struct strbuf out = {0};
      strbuf_release(&names);
      enum status result = row->run(&ctx->chips, &options, &ctx->diags, &out);
      if (result != STATUS_OK) {
        strbuf_release(&out);
        return api_result(ctx, api_status(result));
      }
      return api_flush(ctx, &out, sink);
    }
    strbuf_printf(&names, "%s%s", names.length ? ", " : "", row->name);
  }
  diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "there is no suite '%s'; this version has: %s", suite,
            strbuf_text(&names));
  strbuf_release(&names);
  return RDG_ERROR_INPUT;
}
