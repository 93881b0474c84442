/* FLOPs that a step needs, however it is run: the numerator of MFU. */
#include "generate/generate_training.h"

static double ffn_weights(const struct generate_model *model, double columns) {
  return (model->gated_ffn ? 3 : 2) * (double)model->hidden * columns;
}

static double value_size(const struct generate_model *model) {
  return model->value_size > 0 ? model->value_size : model->head_size;
}

static double attention_weights(const struct generate_model *model) {
  double hidden = model->hidden, heads = model->heads, queries = heads * model->head_size;
  double out = heads * value_size(model) * hidden;
  if (model->kv_rank > 0) {
    double by_rank = model->query_rank * (hidden + queries), latent = model->kv_rank + model->rope_size;
    double up = heads * (model->head_size - model->rope_size + value_size(model));
    return (model->query_rank > 0 ? by_rank : hidden * queries) + hidden * latent + model->kv_rank * up + out;
  }
  return hidden * (queries + model->kv_heads * (model->head_size + value_size(model))) + out;
}

/* Weights that one token meets in products, all layers and the head: PaLM (Chowdhery et al. 2022, appendix B) counts two
 * FLOPs forward and four backward of each. */
static double active_weights(const struct generate_model *model) {
  double hidden = model->hidden, attention = attention_weights(model);
  double experts = hidden * model->experts + model->experts_per_token * ffn_weights(model, model->ffn)
                   + ffn_weights(model, model->shared_ffn);
  double dense = model->experts == 0 ? model->layers : model->dense_layers;
  double dense_ffn = model->experts > 0 && model->dense_ffn > 0 ? model->dense_ffn : model->ffn;
  return model->layers * attention + dense * ffn_weights(model, dense_ffn) + (model->layers - dense) * experts
         + hidden * model->vocabulary;
}

/* FLOPs of scores and contexts per token of one layer, forward. */
static double attention_flops(const struct generate_model *model, const struct generate_training *p) {
  double seen = p->sequence;
  return 2 * seen * model->heads * (model->head_size + value_size(model)) * (p->is_causal_half ? 0.5 : 1);
}

double generate_training_flops(const struct generate_model *model, const struct generate_training *p) {
  double tokens = (double)p->global_batch * p->sequence;
  return 6 * active_weights(model) * tokens + 3 * model->layers * attention_flops(model, p) * tokens;
}
