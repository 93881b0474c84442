/* Reports of a program (fuzz_report.h). */
#include "fuzz_report.h"

#include <jansson.h>

#include "report/report.h"

enum { BUDGET_BYTES = 64 << 20, CHIPS = 2 };

static struct report_estimate row_of(const struct program_estimate *e) {
  struct report_estimate row = {.chip = e->chip,
                                .graph = e->refusal ? NULL : e->graph,
                                .result = e->refusal ? NULL : &e->result,
                                .unfused_time_s = e->unfused_time_s,
                                .refusal = e->refusal};
  if (e->fused != NULL) {
    row.tasks_before = e->fused->report.tasks_before;
    row.tasks_after = e->fused->report.tasks_after;
    row.bytes_before = e->fused->report.bytes_before;
    row.bytes_after = e->fused->report.bytes_after;
  }
  return row;
}

static bool is_json(const char *what, enum status status, const struct strbuf *text, struct strbuf *why) {
  json_error_t error;
  json_t *value = status == STATUS_OK ? json_loadb(strbuf_text(text), text->length, 0, &error) : NULL;
  bool is_good = value != NULL;
  json_decref(value);
  if (status != STATUS_OK) {
    strbuf_printf(why, "no %s: status %d", what, (int)status);
  } else if (!is_good) {
    strbuf_printf(why, "the %s is no JSON, line %d: %s", what, error.line, error.text);
  }
  return is_good;
}

static bool check_texts(const struct report_prediction *report, struct strbuf *why) {
  struct strbuf json = {0}, trace = {0}, text = {0};
  report_prediction_text(report, &text);
  bool is_good = is_json("JSON of a prediction", report_prediction_json(report, &json), &json, why)
                 && is_json("trace", report_prediction_trace(report, &trace), &trace, why);
  if (is_good && text.length == 0) {
    strbuf_puts(why, "nothing is said about a prediction");
    is_good = false;
  }
  strbuf_release(&json);
  strbuf_release(&trace);
  strbuf_release(&text);
  return is_good;
}

static bool check_inspection(const struct program *program, struct strbuf *why) {
  struct report_inspection inspection = {.program = program->source.name,
                                         .version = "0",
                                         .source = &program->source,
                                         .graph = program->unfused,
                                         .total = &program->total,
                                         .memory = &program->memory};
  struct strbuf json = {0}, text = {0};
  report_inspection_text(&inspection, &text);
  bool is_good = is_json("JSON of an inspection", report_inspection_json(&inspection, &json), &json, why);
  strbuf_release(&json);
  strbuf_release(&text);
  return is_good;
}

enum fuzz_outcome fuzz_check_reports(const struct fuzz_chips *chips, const char *text, size_t length,
                                     struct strbuf *why) {
  const struct hw_chip *targets[CHIPS] = {chips->gpu, chips->tpu};
  struct program_options options = {.memory_budget_bytes = BUDGET_BYTES};
  struct cost_options cost_options = {.f32_as = DTYPE_NONE};
  struct program_estimate estimates[CHIPS];
  struct report_estimate rows[CHIPS];
  struct diag_list diags;
  struct program *program = NULL;
  diag_init(&diags);
  if (program_parse("\"input\"\x01\xFF.mlir", text, length, &options, &diags, &program) != STATUS_OK) {
    diag_release(&diags);
    return FUZZ_REFUSED;
  }
  enum status status = STATUS_OK;
  int count = 0;
  for (; count < CHIPS && status == STATUS_OK; count++) {
    status = program_estimate(program, targets[count], &cost_roofline, &cost_options, false, &estimates[count]);
    rows[count] = row_of(&estimates[count]);
  }
  struct report_prediction report = {.program = program->source.name,
                                     .fidelity = "roofline",
                                     .version = "0",
                                     .source = &program->source,
                                     .unfused = program->unfused,
                                     .estimates = rows,
                                     .count = CHIPS,
                                     .top = 5};
  bool is_good = status != STATUS_OK || (check_texts(&report, why) && check_inspection(program, why));
  while (count > 0) {
    program_estimate_release(&estimates[--count]);
  }
  program_free(program);
  diag_release(&diags);
  return is_good ? FUZZ_ACCEPTED : FUZZ_BROKEN;
}
