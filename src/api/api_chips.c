/* Chips: list, show, check, compare. */
#include <stdlib.h>

#include "api/api_context.h"
#include "plan/plan_chip.h"
#include "report/report.h"

rdg_status rdg_chips_list(rdg_context *ctx, rdg_format format, rdg_sink sink) {
  api_begin(ctx);
  struct strbuf out = {0};
  rdg_status status = api_need_chips(ctx);
  if (status == RDG_OK && format == RDG_FORMAT_JSON) {
    status = api_status(report_chips_json(&ctx->chips, &out));
  } else if (status == RDG_OK) {
    report_chips_text(&ctx->chips, &out);
  }
  return api_finish(ctx, status, &out, sink);
}

/* Of chips that plans are made for: the constants that 'plan' uses, each with where it comes from. */
static void put_plan_constants(const struct hw_chip *chip, struct strbuf *out) {
  struct diag_list ignored; /* why another chip has no plans is not asked here */
  struct plan_chip constants;
  diag_init(&ignored);
  if (plan_chip_read(chip, &ignored, &constants) == STATUS_OK) {
    strbuf_puts(out, "\nconstants of plans\n");
    plan_chip_explain(&constants, out);
  }
  diag_release(&ignored);
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
    put_plan_constants(chip, &out);
  }
  return api_finish(ctx, status, &out, sink);
}

rdg_status rdg_chip_check(rdg_context *ctx, const char *name, rdg_format format, rdg_sink sink) {
  api_begin(ctx);
  const struct hw_chip *chip = NULL;
  rdg_status status = name ? api_find_chip(ctx, name, &chip) : api_need_chips(ctx);
  struct report_chip_check check = {.version = rdg_version(), .diags = &ctx->diags};
  if (status == RDG_OK) {
    check.chips = chip ? chip : ctx->chips.chips.data;
    check.count = chip ? 1 : ctx->chips.chips.count;
  } else if (format != RDG_FORMAT_JSON
             || status != RDG_ERROR_INPUT) { /* JSON says what is wrong with the file as well */
    return status;
  }
  for (size_t i = 0; i < check.count; i++) {
    if (hw_chip_check(&check.chips[i], &ctx->diags) == STATUS_MEMORY) {
      return RDG_ERROR_MEMORY;
    }
  }
  if (chip) { /* of the shipped chips it is known which numbers nobody published */
    hw_chip_check_keys(chip, &ctx->chips, &ctx->diags);
  }
  struct strbuf out = {0};
  rdg_status written = RDG_OK;
  if (format == RDG_FORMAT_JSON) {
    written = api_status(report_chip_check_json(&check, &out));
  } else {
    report_chip_check_text(&check, &out);
  }
  written = api_finish(ctx, written, &out, sink);
  return written == RDG_OK && ctx->diags.error_count ? RDG_ERROR_INPUT : written;
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
  return api_finish(ctx, status, &out, sink);
}
