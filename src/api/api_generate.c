/* Programs from configurations of published models. */
#include <string.h>

#include "api/api_context.h"
#include "generate/generate.h"
#include "generate/generate_resnet.h"
#include "generate/generate_training.h"
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
  if (generate_resnet_find(name)) {
    diag_file(&ctx->diags, DIAG_E0805_GENERATE, NULL, 0, 0, "%s has only a training step (--train)", name);
    return api_result(ctx, RDG_ERROR_INPUT);
  }
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

/* ---- training steps ---- */

/* Names of an enumeration in its order, up to four. */
struct choice {
  const char *what, *names[4];
};
static const struct choice frameworks = {"framework", {"xla", "megatron", "eager"}};
static const struct choice recomputes = {"recomputation", {"none", "selective", "full", "contractions"}};
static const struct choice attentions = {"attention", {"plain", "fused", "flash"}};
static const struct choice shardings = {"sharded state", {"nothing", "optimizer", "gradients", "parameters"}};
static const struct choice optimizers = {"optimizer", {"adam", "sgd"}};

static bool choose(rdg_context *ctx, const struct choice *choice, const char *name, int otherwise, int *chosen) {
  struct strbuf names = {0};
  *chosen = otherwise;
  for (int i = 0; name && i < 4 && choice->names[i]; i++) {
    if (strcmp(choice->names[i], name) == 0) {
      *chosen = i;
      strbuf_release(&names);
      return true;
    }
    strbuf_printf(&names, "%s%s", i > 0 ? ", " : "", choice->names[i]);
  }
  if (name) {
    diag_file(&ctx->diags, DIAG_E0805_GENERATE, NULL, 0, 0, "there is no %s '%.40s'; there are %s", choice->what, name,
              strbuf_text(&names));
  }
  strbuf_release(&names);
  return !name;
}

static bool choose_kinds(rdg_context *ctx, const rdg_training_options *options, struct generate_training *p) {
  int framework, recompute, attention, sharded, optimizer;
  bool ok = choose(ctx, &frameworks, options->framework, GENERATE_MEGATRON, &framework)
            && choose(ctx, &recomputes, options->recompute, GENERATE_RECOMPUTE_NONE, &recompute)
            && choose(ctx, &attentions, options->attention, GENERATE_ATTENTION_FLASH, &attention)
            && choose(ctx, &shardings, options->sharded, GENERATE_SHARD_NOTHING, &sharded)
            && choose(ctx, &optimizers, options->optimizer, GENERATE_ADAM, &optimizer);
  if (ok) {
    p->framework = (enum generate_framework)framework;
    p->recompute = (enum generate_recompute)recompute;
    p->attention = (enum generate_attention)attention;
    p->sharded = (enum generate_sharded)sharded;
    p->optimizer = (enum generate_optimizer)optimizer;
  }
  return ok;
}

static uint32_t or_one(uint32_t degree) {
  return degree > 0 ? degree : 1;
}

static bool make_training(rdg_context *ctx, const rdg_training_options *options, struct generate_training *p) {
  *p = (struct generate_training){.sequence = options->sequence ? options->sequence : DEFAULT_SEQUENCE,
                                  .global_batch = options->global_batch,
                                  .micro_batch = or_one(options->micro_batch),
                                  .data = or_one(options->data),
                                  .tensor = options->tensor,
                                  .context = options->context,
                                  .pipeline = options->pipeline,
                                  .expert = options->expert,
                                  .virtual_stages = options->virtual_stages,
                                  .shard_ranks = options->shard_ranks,
                                  .dropout = options->dropout,
                                  .sequence_parallel = options->sequence_parallel,
                                  .is_causal_half = options->causal_half,
                                  .clip_gradients = options->clip_gradients,
                                  .overlap_gradients = options->overlap_gradients,
                                  .overlap_parameters = options->overlap_parameters,
                                  .overlap_tensor = options->overlap_tensor};
  uint64_t least = (uint64_t)p->data * p->micro_batch;
  if (p->global_batch == 0) {
    p->global_batch = least < UINT32_MAX ? (uint32_t)least : UINT32_MAX;
  }
  return choose_kinds(ctx, options, p) && dtype_option(ctx, options->activations, DTYPE_BF16, &p->compute)
         && dtype_option(ctx, options->products, DTYPE_NONE, &p->products)
         && dtype_option(ctx, options->gradients, DTYPE_F32, &p->gradients);
}

/* The model with only so many layers. */
static bool take_layers(rdg_context *ctx, uint32_t layers, struct generate_model *model) {
  if (layers > model->layers) {
    diag_file(&ctx->diags, DIAG_E0805_GENERATE, NULL, 0, 0, "%s has %u layers, not %u", model->name, model->layers,
              layers);
    return false;
  }
  model->layers = layers > 0 ? layers : model->layers;
  return true;
}

/* Options that a residual network has not, in the names that users know. */
static bool check_resnet(rdg_context *ctx, const struct generate_resnet *model, const rdg_training_options *o) {
  const struct {
    const char *name;
    bool is_given;
  } others[] = {{"sequence", o->sequence > 0},
                {"tensor", o->tensor > 1},
                {"context", o->context > 1},
                {"pipeline", o->pipeline > 1},
                {"expert", o->expert > 1},
                {"virtual-stages", o->virtual_stages > 1},
                {"layers", o->layers > 0},
                {"dropout", o->dropout > 0},
                {"sequence-parallel", o->sequence_parallel},
                {"clip", o->clip_gradients},
                {"overlap", o->overlap_gradients || o->overlap_parameters || o->overlap_tensor},
                {"shard", o->sharded && strcmp(o->sharded, "nothing") != 0},
                {"recompute", o->recompute && strcmp(o->recompute, "none") != 0},
                {"framework", o->framework && strcmp(o->framework, "xla") != 0},
                {"optimizer", o->optimizer && strcmp(o->optimizer, "sgd") != 0},
                {"attention", o->attention != NULL},
                {"products", o->products != NULL},
                {"gradients", o->gradients && strcmp(o->gradients, "f32") != 0}};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    if (others[i].is_given) {
      diag_file(&ctx->diags, DIAG_E0805_GENERATE, NULL, 0, 0,
                "%s has only the data-parallel step with SGD that JAX exports: no other --%s", model->name,
                others[i].name);
      return false;
    }
  }
  return true;
}

/* Batches are images; without a global one the micro-batch of each device, 256 by default. */
static bool make_resnet(rdg_context *ctx, const struct generate_resnet *model, const rdg_training_options *options,
                        struct generate_resnet_training *p) {
  enum { DEFAULT_IMAGES = 256 };
  *p = (struct generate_resnet_training){.data = or_one(options->data), .global_batch = options->global_batch};
  uint64_t own = options->micro_batch > 0 ? options->micro_batch : DEFAULT_IMAGES, all = own * p->data;
  if (p->global_batch == 0) {
    p->global_batch = all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
  }
  if (options->micro_batch > 0 && all != p->global_batch) {
    diag_file(&ctx->diags, DIAG_E0805_GENERATE, NULL, 0, 0,
              "%s makes one pass per step: %u images are not %u on each of %u devices", model->name, p->global_batch,
              options->micro_batch, p->data);
    return false;
  }
  return check_resnet(ctx, model, options) && dtype_option(ctx, options->activations, DTYPE_BF16, &p->compute);
}

static enum status build_resnet(rdg_context *ctx, const struct generate_resnet *model,
                                const rdg_training_options *options, struct program **made) {
  struct generate_resnet_training training;
  struct ir_module *module = NULL;
  if (!make_resnet(ctx, model, options, &training)) {
    return STATUS_INPUT;
  }
  STATUS_TRY(generate_resnet_training(model, &training, &ctx->diags, &module));
  return program_adopt(model->name, module, &ctx->diags, made);
}

rdg_status rdg_generate_training(rdg_context *ctx, const char *name, const rdg_training_options *options,
                                 rdg_program **program) {
  static const rdg_training_options defaults = {.causal_half = true};
  struct generate_training training;
  struct ir_module *module = NULL;
  struct program *made = NULL;
  api_begin(ctx);
  *program = NULL;
  options = options ? options : &defaults;
  const struct generate_resnet *resnet = generate_resnet_find(name);
  if (resnet) {
    enum status built = build_resnet(ctx, resnet, options, &made);
    return api_result(ctx, built == STATUS_OK ? api_wrap(made, program) : api_status(built));
  }
  const struct generate_model *row = generate_model_find(name, &ctx->diags);
  struct generate_model model = row ? *row : (struct generate_model){0};
  if (!row || !take_layers(ctx, options->layers, &model) || !make_training(ctx, options, &training)) {
    return api_result(ctx, RDG_ERROR_INPUT);
  }
  enum status status = generate_training_module(&model, &training, &ctx->diags, &module);
  if (status == STATUS_OK) {
    status = program_adopt(model.name, module, &ctx->diags, &made);
  }
  return api_result(ctx, status == STATUS_OK ? api_wrap(made, program) : api_status(status));
}

/* ---- the list ---- */

/* Weights of a model that has a training step only. */
static uint64_t count_trained(rdg_context *ctx, const struct generate_model *model) {
  struct generate_training training = {.framework = GENERATE_MEGATRON,
                                       .sequence = model->experts > 0 ? model->experts : 1,
                                       .global_batch = 1,
                                       .optimizer = GENERATE_SGD_MOMENTUM,
                                       .attention = GENERATE_ATTENTION_FLASH};
  struct ir_module *module = NULL;
  if (generate_training_module(model, &training, &ctx->diags, &module) != STATUS_OK) {
    return 0;
  }
  uint64_t count = generate_parameters(module);
  ir_module_free(module);
  return count;
}

/* Weights of a model; 0 when memory is exhausted. */
static uint64_t count_parameters(rdg_context *ctx, const struct generate_model *model) {
  if (generate_is_training_only(model)) {
    return count_trained(ctx, model);
  }
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

struct model_rows {
  struct report_model *data;
  size_t count, capacity;
};

static struct report_model describe(rdg_context *ctx, const struct generate_model *model) {
  bool is_decoder = model->family == GENERATE_DECODER;
  return (struct report_model){.name = model->name,
                               .summary = model->summary,
                               .source = model->source,
                               .steps = generate_is_training_only(model) ? "train"
                                        : is_decoder                     ? "decode, prefill, train"
                                                                         : "forward",
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

static enum status add_models(rdg_context *ctx, const struct generate_model *const *list, struct model_rows *rows) {
  for (size_t i = 0; list[i]; i++) {
    struct report_model row = describe(ctx, list[i]);
    if (row.parameters == 0 || !vec_push(rows, row)) {
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}

static enum status add_resnets(struct model_rows *rows) {
  for (size_t i = 0; generate_resnets[i]; i++) {
    const struct generate_resnet *model = generate_resnets[i];
    struct report_model row = {.name = model->name,
                               .summary = model->summary,
                               .source = model->source,
                               .steps = "train",
                               .layers = model->depth,
                               .parameters = generate_resnet_parameters(model),
                               .published_parameters = model->published_parameters};
    if (row.parameters == 0 || !vec_push(rows, row)) {
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}

rdg_status rdg_generate_list(rdg_context *ctx, rdg_format format, rdg_sink sink) {
  struct model_rows models = {0};
  struct strbuf out = {0};
  api_begin(ctx);
  enum status status = add_models(ctx, generate_models, &models);
  status = status == STATUS_OK ? add_models(ctx, generate_training_models, &models) : status;
  status = status == STATUS_OK ? add_resnets(&models) : status;
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
