/* Chips: list, show, check, compare. */
#include <stdlib.h>

#include "api/api_context.h"
#include "report/report.h"

static rdg_status finish(rdg_status status, struct strbuf *out, rdg_sink sink) {
  if (status != RDG_OK) {
    strbuf_release(out);
    return status;
  }
  return api_flush(out, sink);
}

rdg_status rdg_chips_list(rdg_context *ctx, rdg_format format, rdg_sink sink) {
  api_begin(ctx);
  struct strbuf out = {0};
  rdg_status status = api_need_chips(ctx);
  if (status == RDG_OK && format == RDG_FORMAT_JSON) {
    status = api_status(report_chips_json(&ctx->chips, &out));
  } else if (status == RDG_OK) {
    report_chips_text(&ctx->chips, &out);
  }
  return finish(status, &out, sink);
}

rdg_status rdg_chip_show(rdg_context *ctx, const char *name, rdg_format format, rdg_sink sink) {
  api_begin(ctx);
  struct strbuf out = {0};
  const struct hw_chip *chip = NULL;
  rdg_status status = api_find_chip(ctx, name, &chip);
  if (status == RDG_OK && format == RDG_FORMAT_JSON) {
    status = api_status(report_chip_json(chip, &out));
  } else if (status == RDG_OK) {
    report_chip_text(chip, &out);
  }
  return finish(status, &out, sink);
}

rdg_status rdg_chip_check(rdg_context *ctx, const char *name, rdg_sink sink) {
  api_begin(ctx);
  struct strbuf out = {0};
  size_t checked = 0;
  const struct hw_chip *chip = NULL;
  rdg_status status = name ? api_find_chip(ctx, name, &chip) : api_need_chips(ctx);
  for (size_t i = 0; status == RDG_OK && i < (chip ? 1 : ctx->chips.chips.count); i++) {
    enum status found = hw_chip_check(chip ? chip : &ctx->chips.chips.data[i], &ctx->diags);
    checked++;
    if (found == STATUS_MEMORY) {
      status = RDG_ERROR_MEMORY;
    }
  }
  if (status != RDG_OK) {
    return status;
  }
  strbuf_printf(&out, "%zu chip%s checked: %zu error%s, %zu warning%s\n", checked, checked == 1 ? "" : "s",
                ctx->diags.error_count, ctx->diags.error_count == 1 ? "" : "s",
                ctx->diags.entries.count - ctx->diags.error_count,
                ctx->diags.entries.count - ctx->diags.error_count == 1 ? "" : "s");
  status = api_flush(&out, sink);
  return status == RDG_OK && ctx->diags.error_count ? RDG_ERROR_INPUT : status;
}

rdg_status rdg_chips_compare(rdg_context *ctx, const char *const *names, size_t count, rdg_format format,
                             rdg_sink sink) {
  api_begin(ctx);
  struct strbuf out = {0};
  const struct hw_chip **chips = NULL;
  size_t chip_count = 0;
  rdg_status status = api_find_chips(ctx, names, count, &chips, &chip_count);
  if (status == RDG_OK && format == RDG_FORMAT_JSON) {
    status = api_status(report_compare_json(chips, chip_count, &out));
  } else if (status == RDG_OK) {
    report_compare_text(chips, chip_count, &out);
  }
  free(chips);
  return finish(status, &out, sink);
}
