/* What a training step can be asked for: degrees that divide, in the user's terms, and the mesh that they make. */
#include <stdarg.h>
#include <stdio.h>

#include "generate/generate_training_check.h"

/* Bounds so that no size overflows: 2^24 of each count, 2^57 elements of any tensor. */
enum { COUNT_MAX = 1 << 24, ELEMENTS_LOG2 = 57 };

static bool refuse(const struct generate_model *model, struct diag_list *diags, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool refuse(const struct generate_model *model, struct diag_list *diags, const char *format, ...) {
  char text[240];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  diag_file(diags, DIAG_E0805_GENERATE, NULL, 0, 0, "%s: %s", model->name, text);
  return false;
}

/* The divisors of n next to `wanted`, below and above; 0 = none. */
static void nearest_divisors(uint64_t n, uint64_t wanted, uint64_t *below, uint64_t *above) {
  *below = *above = 0;
  for (uint64_t d = 1; d * d <= n; d++) {
    if (n % d != 0) {
      continue;
    }
    uint64_t pair[2] = {d, n / d};
    for (unsigned i = 0; i < 2; i++) {
      *below = pair[i] < wanted && pair[i] > *below ? pair[i] : *below;
      *above = pair[i] > wanted && (*above == 0 || pair[i] < *above) ? pair[i] : *above;
    }
  }
}

/* "64 heads cannot be divided by tensor = 48; 32 and 64 can" */
static bool divides(const struct generate_model *model, struct diag_list *diags, uint64_t n, const char *what,
                    uint64_t by, const char *degree) {
  uint64_t below, above;
  if (n % by == 0) {
    return true;
  }
  nearest_divisors(n, by, &below, &above);
  if (below > 0 && above > 0) {
    return refuse(model, diags, "%llu %s cannot be divided by %s = %llu; %llu and %llu can", (unsigned long long)n,
                  what, degree, (unsigned long long)by, (unsigned long long)below, (unsigned long long)above);
  }
  return refuse(model, diags, "%llu %s cannot be divided by %s = %llu; %llu can", (unsigned long long)n, what, degree,
                (unsigned long long)by, (unsigned long long)(below > 0 ? below : above));
}

static void at_least_one(uint32_t *degree) {
  *degree = *degree > 0 ? *degree : 1;
}

void training_normalise(struct generate_training *p) {
  at_least_one(&p->data);
  at_least_one(&p->tensor);
  at_least_one(&p->context);
  at_least_one(&p->pipeline);
  at_least_one(&p->expert);
  at_least_one(&p->virtual_stages);
  at_least_one(&p->micro_batch);
  p->shard_ranks = p->shard_ranks > 0 ? p->shard_ranks : p->data;
  p->compute = p->compute != DTYPE_NONE ? p->compute : DTYPE_BF16;
  p->gradients = p->gradients != DTYPE_NONE ? p->gradients : DTYPE_F32;
  p->sequence_parallel = p->sequence_parallel && p->tensor > 1;
  if (p->framework == GENERATE_XLA) { /* the compiler finds what to overlap */
    p->overlap_gradients = p->overlap_parameters = p->overlap_tensor = false;
  }
}

static bool check_counts(const struct generate_model *model, const struct generate_training *p,
                         struct diag_list *diags) {
  const struct {
    const char *name;
    uint32_t value;
  } counts[] = {{"the sequence length", p->sequence},     {"the global batch", p->global_batch},
                {"the micro-batch", p->micro_batch},      {"the data degree", p->data},
                {"the tensor degree", p->tensor},         {"the context degree", p->context},
                {"the pipeline degree", p->pipeline},     {"the expert degree", p->expert},
                {"the virtual stages", p->virtual_stages}};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    if (counts[i].value == 0 || counts[i].value > COUNT_MAX) {
      return refuse(model, diags, "%s must be from 1 to 2^24, not %u", counts[i].name, counts[i].value);
    }
  }
  if ((double)p->data * p->tensor * p->context * p->pipeline > (double)COUNT_MAX) {
    return refuse(model, diags, "more than 2^24 devices");
  }
  return true;
}

static bool check_model(const struct generate_model *model, const struct generate_training *p,
                        struct diag_list *diags) {
  if (model->family != GENERATE_DECODER) {
    return refuse(model, diags, "only language models have a training step here");
  }
  if (model->layers == 0 || model->hidden == 0 || model->heads == 0 || model->kv_heads == 0 || model->head_size == 0
      || model->ffn == 0 || model->vocabulary == 0 || model->heads % model->kv_heads != 0) {
    return refuse(model, diags,
                  "layers, hidden, heads (a multiple of the KV heads), feed-forward and vocabulary are needed");
  }
  if (model->kv_rank > 0
      && (model->kv_heads != model->heads || model->rope_size == 0 || model->rope_size % 2 != 0
          || model->rope_size >= model->head_size || model->value_size == 0)) {
    return refuse(model, diags, "latent attention needs a key head per query head, a turned part and a size of values");
  }
  if (model->attention_cap > 0 && p->attention != GENERATE_ATTENTION_FLASH) {
    return refuse(model, diags, "capped scores need flash attention");
  }
  if (p->compute != DTYPE_BF16 && p->compute != DTYPE_F16 && p->compute != DTYPE_F32) {
    return refuse(model, diags, "the compute type is bf16, f16 or f32");
  }
  if (p->products != DTYPE_NONE && p->products != DTYPE_F8E4M3FN && p->products != DTYPE_F4E2M1FN) {
    return refuse(model, diags, "products are in the compute type, f8E4M3FN or f4E2M1FN");
  }
  if (!(p->dropout >= 0 && p->dropout < 1)) {
    return refuse(model, diags, "dropout is from 0 to less than 1");
  }
  if (p->gradients != DTYPE_F32 && p->gradients != p->compute) {
    return refuse(model, diags, "gradients are in f32 or the compute type");
  }
  return true;
}

static bool check_tensor(const struct generate_model *model, const struct generate_training *p,
                         struct diag_list *diags) {
  bool ok = divides(model, diags, model->heads, "heads", p->tensor, "tensor")
            && divides(model, diags, model->kv_heads, "KV heads", p->tensor, "tensor")
            && divides(model, diags, model->ffn, "feed-forward columns", p->tensor, "tensor")
            && divides(model, diags, p->sequence, "positions", p->context, "context");
  if (ok && model->shared_ffn > 0) {
    ok = divides(model, diags, model->shared_ffn, "columns of the shared expert", p->tensor, "tensor");
  }
  if (ok && model->dense_layers > 0 && model->dense_ffn > 0) {
    ok = divides(model, diags, model->dense_ffn, "columns of dense layers", p->tensor, "tensor");
  }
  if (ok && p->sequence_parallel) {
    ok = divides(model, diags, p->sequence / p->context, "positions of a context rank", p->tensor, "tensor");
  }
  return ok;
}

static bool check_data(const struct generate_model *model, const struct generate_training *p, struct diag_list *diags) {
  uint64_t per_pass = (uint64_t)p->data * p->micro_batch;
  if (p->global_batch % per_pass != 0) {
    uint64_t below = p->global_batch / per_pass * per_pass;
    return refuse(model, diags,
                  "a global batch of %u is no multiple of data x micro-batch = %u x %u; %llu and %llu are",
                  p->global_batch, p->data, p->micro_batch, (unsigned long long)(below > 0 ? below : per_pass),
                  (unsigned long long)(below + per_pass));
  }
  return divides(model, diags, p->data, "data ranks", p->shard_ranks, "shard ranks");
}

static bool check_pipeline(const struct generate_model *model, const struct generate_training *p,
                           struct diag_list *diags) {
  uint64_t chunks = (uint64_t)p->pipeline * p->virtual_stages;
  uint32_t micro_batches = p->global_batch / (p->data * p->micro_batch);
  if (p->virtual_stages > 1 && p->pipeline == 1) {
    return refuse(model, diags, "virtual stages need a pipeline");
  }
  if (p->virtual_stages > 1 && micro_batches % p->pipeline != 0) {
    return refuse(model, diags, "an interleaved pipeline of %u stages needs a multiple of %u micro-batches, not %u",
                  p->pipeline, p->pipeline, micro_batches);
  }
  uint32_t layers[3];
  if (chunks > model->layers || !training_chunk_layers(model->layers, (uint32_t)chunks, layers)) {
    return divides(model, diags, model->layers, "layers", chunks,
                   p->virtual_stages > 1 ? "pipeline x virtual stages" : "pipeline");
  }
  return true;
}

static bool check_experts(const struct generate_model *model, const struct generate_training *p,
                          struct diag_list *diags) {
  if (model->experts == 0) {
    return p->expert == 1 || refuse(model, diags, "has no experts to spread over expert = %u", p->expert);
  }
  if (model->experts_per_token == 0 || model->experts_per_token > model->experts) {
    return refuse(model, diags, "%u of %u experts per token", model->experts_per_token, model->experts);
  }
  uint64_t slots = (uint64_t)p->micro_batch * (p->sequence / p->context) * model->experts_per_token;
  if (slots % model->experts != 0) {
    return refuse(model, diags,
                  "%llu rows (micro-batch x positions x experts per token) cannot be spread evenly over %u experts",
                  (unsigned long long)slots, model->experts);
  }
  if (!divides(model, diags, model->experts, "experts", p->expert, "expert")) {
    return false;
  }
  bool over_data = p->data % p->expert == 0 && p->shard_ranks % p->expert == 0;
  bool over_both = p->expert % p->context == 0 && p->data % (p->expert / p->context) == 0
                   && p->shard_ranks % (p->expert / p->context) == 0;
  if (!over_data && !over_both) {
    return divides(model, diags, p->shard_ranks, "data ranks with one copy", p->expert, "expert")
           && divides(model, diags, p->data, "data ranks", p->expert, "expert");
  }
  return true;
}

bool training_check(const struct generate_model *model, const struct generate_training *p, struct diag_list *diags) {
  if (!check_counts(model, p, diags) || !check_model(model, p, diags) || !check_tensor(model, p, diags)
      || !check_data(model, p, diags) || !check_pipeline(model, p, diags) || !check_experts(model, p, diags)) {
    return false;
  }
  double rows = (double)p->micro_batch * p->sequence, widest = model->vocabulary;
  double sizes[] = {2.0 * model->ffn, (double)(model->heads + 2 * model->kv_heads) * model->head_size, model->hidden,
                    (double)model->heads * p->sequence, 6.0 * model->experts};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    widest = sizes[i] > widest ? sizes[i] : widest;
  }
  double experts = model->experts > 0 ? model->experts : 1;
  return rows * widest * experts < (double)(INT64_C(1) << ELEMENTS_LOG2)
         || refuse(model, diags, "tensors of this batch and sequence are too large");
}

/* ---- chunks of the pipeline ---- */

bool training_chunk_layers(uint32_t layers, uint32_t chunks, uint32_t counts[3]) {
  if (chunks == 1) {
    counts[0] = counts[1] = counts[2] = layers;
    return true;
  }
  uint32_t middle = (layers + chunks - 1) / chunks, inner = (chunks - 2) * middle;
  if (layers < inner + 2) {
    return false;
  }
  counts[0] = (layers - inner + 1) / 2;
  counts[1] = middle;
  counts[2] = (layers - inner) / 2;
  return true;
}

/* ---- the mesh ---- */

#define GROUP(id) (1u << TRAINING_##id)

static void add_axis(struct training *t, const char *name, uint32_t size, uint32_t groups) {
  if (size > 1) {
    t->axes[t->axis_count++] = (struct training_axis){.name = name, .size = size, .groups = groups | GROUP(ALL)};
  }
}

void training_set_axes(struct training *t) {
  const struct generate_training *p = &t->p;
  bool over_data = p->data % p->expert == 0 && p->shard_ranks % p->expert == 0;
  uint32_t expert = over_data ? p->expert : p->expert / p->context;
  uint32_t whole = GROUP(DATA) | GROUP(EXPERT_DATA);
  uint32_t context = GROUP(CONTEXT) | GROUP(DATA) | GROUP(SHARD);
  context |= over_data ? GROUP(EXPERT_DATA) | GROUP(EXPERT_SHARD) : GROUP(EXPERT);
  add_axis(t, "replica", p->data / p->shard_ranks, whole | GROUP(REPLICA) | GROUP(EXPERT_REPLICA));
  add_axis(t, "data", p->shard_ranks / expert, whole | GROUP(SHARD) | GROUP(EXPERT_SHARD));
  add_axis(t, "expert", expert, GROUP(DATA) | GROUP(SHARD) | GROUP(EXPERT));
  add_axis(t, "context", p->context, context);
  add_axis(t, "tensor", p->tensor, GROUP(TENSOR));
  for (uint32_t g = 0; g < TRAINING_GROUP_COUNT; g++) {
    t->group_size[g] = 1;
    for (uint32_t i = 0; i < t->axis_count; i++) {
      t->group_size[g] *= (t->axes[i].groups >> g & 1) != 0 ? t->axes[i].size : 1;
    }
  }
}
