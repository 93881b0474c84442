/* Programs from configurations of published models. */
#include <string.h>

#include "api/api_context.h"
#include "generate/generate.h"
#include "report/report.h"

/* Element type of an option; false, and a diagnostic, when the name is none. */
static bool dtype_option(rdg_context *ctx, const char *name, enum dtype otherwise, enum dtype *dtype) {
  *dtype = name ? dtype_parse(name, strlen(name)) : otherwise;
  if (name && *dtype == DTYPE_NONE) {
    diag_file(&ctx->diags, DIAG_E0805_GENERATE, NULL, 0, 0, "'%.40s' is no element type", name);
    return false;
  }
  return true;
}

static enum generate_phase phase_of(const struct generate_model *model, rdg_phase phase) {
  switch (phase) {
  case RDG_PHASE_DECODE:
    return GENERATE_DECODE;
  case RDG_PHASE_PREFILL:
    return GENERATE_PREFILL;
  case RDG_PHASE_FORWARD:
    return GENERATE_FORWARD;
  case RDG_PHASE_DEFAULT:
    break;
  }
  return model->family == GENERATE_DECODER ? GENERATE_DECODE : GENERATE_FORWARD;
}

enum { DEFAULT_SEQUENCE = 2048 };

/* A model with fewer positions has its own default. */
static uint32_t default_sequence(const struct generate_model *model) {
  uint32_t positions = model->positions - model->position_offset;
  return model->positions > 0 && positions < DEFAULT_SEQUENCE ? positions : DEFAULT_SEQUENCE;
}

static bool make_request(rdg_context *ctx, const struct generate_model *model, const rdg_generate_options *options,
                         struct generate_request *request) {
  *request = (struct generate_request){.phase = phase_of(model, options->phase),
                                       .batch = options->batch ? options->batch : 1,
                                       .sequence = options->sequence ? options->sequence : default_sequence(model),
                                       .layers = options->layers,
                                       .divide = options->divide,
                                       .more_positions = options->more_positions};
  return dtype_option(ctx, options->activations, DTYPE_BF16, &request->activations)
         && dtype_option(ctx, options->weights, request->activations, &request->weights);
}

rdg_status rdg_generate(rdg_context *ctx, const char *name, const rdg_generate_options *options,
                        rdg_program **program) {
  static const rdg_generate_options defaults = {.batch = 1};
  struct generate_request request;
  struct ir_module *module = NULL;
  struct program *made = NULL;
  api_begin(ctx);
  *program = NULL;
  const struct generate_model *model = generate_model_find(name, &ctx->diags);
  if (!model || !make_request(ctx, model, options ? options : &defaults, &request)) {
    return api_result(ctx, RDG_ERROR_INPUT);
  }
  enum status status = generate_module(model, &request, &ctx->diags, &module);
  if (status == STATUS_OK) {
    status = program_adopt(model->name, module, &ctx->diags, &made);
  }
  return api_result(ctx, status == STATUS_OK ? api_wrap(made, program) : api_status(status));
}

/* Weights of a model; 0 when memory is exhausted. */
static uint64_t count_parameters(rdg_context *ctx, const struct generate_model *model) {
  struct generate_request request = {.phase = phase_of(model, RDG_PHASE_DEFAULT),
                                     .batch = 1,
                                     .sequence = 1,
                                     .activations = DTYPE_BF16,
                                     .weights = DTYPE_BF16};
  struct ir_module *module = NULL;
  if (generate_module(model, &request, &ctx->diags, &module) != STATUS_OK) {
    return 0;
  }
  uint64_t count = generate_parameters(module);
  ir_module_free(module);
  return count;
}

static struct report_model describe(rdg_context *ctx, const struct generate_model *model) {
  bool is_decoder = model->family == GENERATE_DECODER;
  return (struct report_model){.name = model->name,
                               .summary = model->summary,
                               .source = model->source,
                               .steps = is_decoder ? "decode, prefill" : "forward",
                               .layers = model->layers,
                               .hidden = model->hidden,
                               .heads = model->heads,
                               .kv_heads = model->kv_heads,
                               .head_size = model->head_size,
                               .ffn = model->ffn,
                               .vocabulary = model->vocabulary,
                               .experts = model->experts,
                               .experts_per_token = model->experts_per_token,
                               .parameters = count_parameters(ctx, model),
                               .published_parameters = model->published_parameters};
}

rdg_status rdg_generate_list(rdg_context *ctx, rdg_format format, rdg_sink sink) {
  VEC(struct report_model) models = {0};
  struct strbuf out = {0};
  enum status status = STATUS_OK;
  api_begin(ctx);
  for (size_t i = 0; generate_models[i] && status == STATUS_OK; i++) {
    struct report_model row = describe(ctx, generate_models[i]);
    status = row.parameters > 0 && vec_push(&models, row) ? STATUS_OK : STATUS_MEMORY;
  }
  if (status == STATUS_OK && format == RDG_FORMAT_JSON) {
    status = report_models_json(models.data, models.count, rdg_version(), &out);
  } else if (status == STATUS_OK) {
    report_models_text(models.data, models.count, &out);
  }
  vec_release(&models);
  if (status != STATUS_OK) {
    strbuf_release(&out);
    return api_result(ctx, api_status(status));
  }
  return api_flush(ctx, &out, sink);
}
