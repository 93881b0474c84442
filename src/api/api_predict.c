/* Predictions: one program on many chips. */
#include <stdlib.h>
#include <string.h>

#include "api/api_context.h"
#include "report/report.h"

struct rdg_prediction {
  struct program *program; /* borrowed */
  const char *fidelity;
  unsigned top;
  struct program_estimate *estimates;
  size_t count;
};

enum { DEFAULT_TOP = 5 };

rdg_status api_predict_options(rdg_context *ctx, const rdg_predict_options *options, const struct cost_model **model,
                               struct cost_options *cost_options) {
  const char *fidelity = options && options->fidelity ? options->fidelity : "roofline";
  *model = cost_model_find(fidelity);
  *cost_options = (struct cost_options){.f32_as = DTYPE_NONE};
  if (!*model) {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "there is no fidelity '%s'; this version has: roofline",
              fidelity);
    return RDG_ERROR_INPUT;
  }
  if (!options || !options->f32_as) {
    return RDG_OK;
  }
  enum dtype as = dtype_parse(options->f32_as, strlen(options->f32_as));
  if (strcmp(options->f32_as, "tf32") == 0) {
    as = DTYPE_TF32;
  }
  if (as != DTYPE_F32 && as != DTYPE_TF32 && as != DTYPE_BF16) {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "--precision takes f32, tf32 or bf16, not '%s'",
              options->f32_as);
    return RDG_ERROR_INPUT;
  }
  cost_options->f32_as = as;
  return RDG_OK;
}

static rdg_status estimate_all(rdg_prediction *prediction, const struct hw_chip *const *chips, size_t count,
                               const struct cost_model *model, const struct cost_options *options,
                               bool without_fusion) {
  prediction->estimates = calloc(count ? count : 1, sizeof *prediction->estimates);
  if (!prediction->estimates) {
    return RDG_ERROR_MEMORY;
  }
  for (size_t i = 0; i < count; i++) {
    prediction->count = i + 1;
    enum status status =
        program_estimate(prediction->program, chips[i], model, options, without_fusion, &prediction->estimates[i]);
    if (status != STATUS_OK) {
      return api_status(status);
    }
  }
  return RDG_OK;
}

rdg_status rdg_predict(rdg_context *ctx, rdg_program *program, const char *const *names, size_t count,
                       const rdg_predict_options *options, rdg_prediction **out) {
  api_begin(ctx);
  *out = NULL;
  const struct cost_model *model;
  struct cost_options cost_options;
  if (!api_has_counts(ctx, program)) {
    return RDG_ERROR_UNSUPPORTED;
  }
  rdg_status status = api_predict_options(ctx, options, &model, &cost_options);
  const struct hw_chip **chips = NULL;
  size_t chip_count = 0;
  if (status == RDG_OK) {
    status = api_find_chips(ctx, names, count, &chips, &chip_count);
  }
  if (status != RDG_OK) {
    return status;
  }
  rdg_prediction *prediction = calloc(1, sizeof *prediction);
  if (prediction) {
    prediction->program = program->program;
    prediction->fidelity = model->name;
    prediction->top = options && options->top ? options->top : DEFAULT_TOP;
    status = estimate_all(prediction, chips, chip_count, model, &cost_options, options && options->without_fusion);
  } else {
    status = RDG_ERROR_MEMORY;
  }
  free(chips);
  if (status != RDG_OK) {
    rdg_prediction_free(prediction);
    return api_result(ctx, status);
  }
  *out = prediction;
  return RDG_OK;
}

void rdg_prediction_free(rdg_prediction *prediction) {
  if (!prediction) {
    return;
  }
  for (size_t i = 0; i < prediction->count; i++) {
    program_estimate_release(&prediction->estimates[i]);
  }
  free(prediction->estimates);
  free(prediction);
}

size_t rdg_prediction_count(const rdg_prediction *prediction) {
  return prediction->count;
}

/* The bound that most of the time goes to; NONE when nothing is timed. */
static enum work_bound main_bound(const struct work_result *result) {
  enum work_bound best = WORK_BOUND_NONE;
  for (int b = 0; b < WORK_BOUND_NONE; b++) {
    bool is_larger = best == WORK_BOUND_NONE ? result->bound_s[b] > 0 : result->bound_s[b] > result->bound_s[best];
    best = is_larger ? (enum work_bound)b : best;
  }
  return best;
}

static const char *refusal_text(const struct program_estimate *e) {
  if (e->refusal) {
    return e->refusal;
  }
  for (size_t i = 0; i < e->result.notes.count; i++) {
    enum diag_id id = e->result.notes.data[i].id;
    if (e->result.is_refused && (id == DIAG_E0501_DTYPE || id == DIAG_E0504_DOES_NOT_FIT)) {
      return e->result.notes.data[i].text;
    }
  }
  return e->result.is_refused ? "refused" : NULL;
}

bool rdg_prediction_get(const rdg_prediction *prediction, size_t i, rdg_estimate *estimate) {
  if (i >= prediction->count) {
    return false;
  }
  const struct program_estimate *e = &prediction->estimates[i];
  const struct work_result *r = &e->result;
  enum work_bound bound = main_bound(r);
  *estimate = (rdg_estimate){.chip_id = e->chip->id,
                             .chip_name = e->chip->name,
                             .vendor = e->chip->vendor,
                             .time_s = r->time_s,
                             .low_s = r->low_s,
                             .high_s = r->high_s,
                             .fitted_share = r->fitted_share,
                             .inherited_share = r->inherited_share,
                             .unfused_time_s = e->unfused_time_s,
                             .bound_by = work_bound_name(bound),
                             .bound_share = r->time_s > 0 ? r->bound_s[bound] / r->time_s : 0,
                             .matrix_utilisation = r->matrix_utilisation,
                             .peak_memory_bytes = r->memory.peak_bytes,
                             .capacity_bytes = r->capacity_bytes,
                             .capacity_known = r->capacity_bytes > 0,
                             .fits = r->capacity_bytes > 0 && r->fits,
                             .refused = e->refusal || r->is_refused,
                             .kernels = e->fused ? e->fused->report.tasks_after : prediction->program->total.launches,
                             .collectives = r->collectives,
                             .collective_bytes = r->collective_bytes,
                             .reason = refusal_text(e)};
  if (estimate->refused) {
    estimate->time_s = estimate->unfused_time_s = (double)__builtin_nanf("");
    estimate->low_s = estimate->high_s = estimate->time_s;
  }
  return true;
}

static void fill_estimates(const rdg_prediction *prediction, struct report_estimate *rows) {
  for (size_t i = 0; i < prediction->count; i++) {
    const struct program_estimate *e = &prediction->estimates[i];
    rows[i] = (struct report_estimate){.chip = e->chip,
                                       .graph = e->refusal ? NULL : e->graph,
                                       .result = e->refusal ? NULL : &e->result,
                                       .unfused_time_s = e->unfused_time_s,
                                       .refusal = e->refusal};
    if (e->fused) {
      rows[i].tasks_before = e->fused->report.tasks_before;
      rows[i].tasks_after = e->fused->report.tasks_after;
      rows[i].bytes_before = e->fused->report.bytes_before;
      rows[i].bytes_after = e->fused->report.bytes_after;
    }
  }
}

rdg_status rdg_prediction_write(rdg_context *ctx, const rdg_prediction *prediction, rdg_format format, rdg_sink sink) {
  api_begin(ctx);
  struct report_estimate *rows = calloc(prediction->count ? prediction->count : 1, sizeof *rows);
  if (!rows) {
    return RDG_ERROR_MEMORY;
  }
  fill_estimates(prediction, rows);
  struct report_prediction report = {.program = prediction->program->source.name,
                                     .fidelity = prediction->fidelity,
                                     .version = rdg_version(),
                                     .source = &prediction->program->source,
                                     .unfused = prediction->program->unfused,
                                     .estimates = rows,
                                     .count = prediction->count,
                                     .top = prediction->top};
  struct strbuf out = {0};
  enum status status = STATUS_OK;
  if (format == RDG_FORMAT_JSON) {
    status = report_prediction_json(&report, &out);
  } else if (format == RDG_FORMAT_TRACE) {
    status = report_prediction_trace(&report, &out);
  } else {
    report_prediction_text(&report, &out);
  }
  free(rows);
  if (status != STATUS_OK) {
    strbuf_release(&out);
    return api_result(ctx, api_status(status));
  }
  return api_flush(ctx, &out, sink);
}
