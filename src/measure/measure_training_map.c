/* Configurations of published training runs as the generators take them: model, strategy, devices, and the measured time of
 * a step. */
#include <math.h>
#include <string.h>

#include "measure/measure_training.h"

/* Megatron's padded vocabulary of GPT-2: a multiple of 128 per tensor rank. */
enum { GPT2_VOCABULARY = 50257, PADDING = 128 };
/* 0 in columns of degrees means 1. */
static uint32_t degree(const struct training_row *row, enum training_cell cell) {
  return row->cells[cell] >= 1 ? (uint32_t)row->cells[cell] : 1;
}

static uint32_t cell(const struct training_row *row, enum training_cell which) {
  return (uint32_t)row->cells[which];
}

static void skip(struct training_row *row, enum training_skip why, const char *note) {
  row->skip = why;
  row->note = note;
}

static bool map_model(struct training_row *row) {
  const struct training_facts *facts = training_facts_find(row->model);
  if (!facts || facts->unsupported) {
    skip(row, TRAINING_NO_MODEL, facts ? facts->unsupported : "no row of facts");
    return false;
  }
  struct generate_model *model = &row->architecture;
  *model = (struct generate_model){.name = row->model,
                                   .summary = row->model,
                                   .source = row->source_text,
                                   .family = GENERATE_DECODER,
                                   .norm = facts->norm,
                                   .activation = facts->activation,
                                   .layers = cell(row, TRAINING_LAYERS) + facts->more_layers,
                                   .hidden = cell(row, TRAINING_HIDDEN),
                                   .heads = cell(row, TRAINING_HEADS),
                                   .kv_heads = facts->kv_heads ? facts->kv_heads : cell(row, TRAINING_KV_HEADS),
                                   .head_size = facts->head_size,
                                   .ffn = facts->ffn ? facts->ffn : cell(row, TRAINING_FFN),
                                   .vocabulary = cell(row, TRAINING_VOCABULARY),
                                   .experts = facts->experts,
                                   .experts_per_token = facts->experts_per_token,
                                   .shared_ffn = facts->shared_ffn,
                                   .dense_layers = facts->dense_layers,
                                   .dense_ffn = facts->dense_ffn,
                                   .gated_ffn = facts->gated_ffn,
                                   .tied_embedding = facts->tied_embedding,
                                   .biases = facts->biases,
                                   .norm_epsilon = 1e-5,
                                   .rope_theta = 1e4,
                                   .head_norms = facts->head_norms,
                                   .query_rank = facts->query_rank,
                                   .kv_rank = facts->kv_rank,
                                   .rope_size = facts->rope_size,
                                   .value_size = facts->value_size,
                                   .window = facts->window};
  uint32_t unit = PADDING * degree(row, TRAINING_TP);
  model->kv_heads = model->kv_heads ? model->kv_heads : model->heads;
  model->head_size = model->head_size || model->heads == 0 ? model->head_size : model->hidden / model->heads;
  model->ffn = model->ffn ? model->ffn : 4 * model->hidden;
  model->vocabulary = model->vocabulary ? model->vocabulary : (GPT2_VOCABULARY + unit - 1) / unit * unit;
  row->training.sequence = row->cells[TRAINING_SEQUENCE] > 0 ? cell(row, TRAINING_SEQUENCE) : facts->sequence;
  model->positions = facts->learned_positions ? row->training.sequence : 0;
  if (model->hidden == 0 || model->heads == 0 || model->head_size == 0) {
    skip(row, TRAINING_NO_ARCHITECTURE, NULL);
    return false;
  }
  return true;
}

static bool map_precision(struct training_row *row) {
  const struct training_precision *precision = training_precision_find(row->precision);
  if (!precision) {
    skip(row, TRAINING_NO_PRECISION, row->precision);
    return false;
  }
  struct generate_training *training = &row->training;
  bool is_stated = precision->compute != DTYPE_NONE;
  training->compute = is_stated ? precision->compute : row->source->compute;
  training->products = is_stated ? precision->products : row->source->products;
  training->products = training->products == training->compute ? DTYPE_NONE : training->products;
  training->gradients = precision->gradients != DTYPE_NONE ? precision->gradients : row->source->gradients;
  row->scaling = precision->scaling != TRAINING_CURRENT_SCALING ? precision->scaling : row->source->scaling;
  return true;
}

static const struct {
  const char *text;
  enum generate_recompute recompute;
} recomputes[] = {
    {"full", GENERATE_RECOMPUTE_FULL},
    {"none", GENERATE_RECOMPUTE_NONE},
    {"selective+sequence_parallel", GENERATE_RECOMPUTE_SELECTIVE},
    /* torchtitan: products are kept, passes between them recomputed. */
    {"selective", GENERATE_RECOMPUTE_CONTRACTIONS},
    /* MaxText: inputs of layers and projections of attention are off-loaded to the host, the rest is recomputed. */
    {"custom", GENERATE_RECOMPUTE_FULL},
    {"qkv_proj_offloaded", GENERATE_RECOMPUTE_FULL},
};

static void map_framework(struct training_row *row) {
  const struct training_source *source = row->source;
  struct generate_training *training = &row->training;
  training->framework = source->framework;
  training->attention = source->attention;
  training->is_causal_half = source->is_causal_half;
  training->optimizer = GENERATE_ADAM;
  training->recompute = source->recompute;
  for (size_t i = 0; i < sizeof recomputes / sizeof recomputes[0]; i++) {
    training->recompute =
        strcmp(row->recompute, recomputes[i].text) == 0 ? recomputes[i].recompute : training->recompute;
  }
  training->dropout = source->dropout;
  training->overlap_gradients = source->overlaps_gradients;
  training->overlap_parameters = source->overlaps_parameters;
  training->overlap_tensor = source->overlaps_tensor;
  for (uint32_t v = 0; v < TRAINING_VARIANT_MAX; v++) {
    training->overlap_tensor |= (row->variants >> v & 1) != 0 && source->variants[v].overlaps_tensor;
  }
  training->sharded = source->sharded;
  if (strcmp(row->sharding, "SHARD_GRAD_OP") == 0) {
    training->sharded = GENERATE_SHARD_GRADIENTS;
  } else if (strcmp(row->sharding, "FULL_SHARD") == 0 || row->cells[TRAINING_FSDP] > 1) {
    training->sharded = GENERATE_SHARD_PARAMETERS;
  }
  training->sequence_parallel = degree(row, TRAINING_TP) > row->hardware->ranks_per_device
                                && (source->sequence_parallel || strstr(row->recompute, "sequence_parallel") != NULL);
}

/* Sequences per step: as stated; from a step time and a rate that were both measured; from the recipe. */
static bool map_batch(struct training_row *row) {
  const struct training_facts *facts = training_facts_find(row->model);
  struct generate_training *training = &row->training;
  double batch = row->cells[TRAINING_GLOBAL_BATCH];
  double tokens = row->values[TRAINING_STEP_TIME] * row->values[TRAINING_TOKENS];
  if (!(batch > 0) && isfinite(tokens) && training->sequence > 0) {
    batch = round(tokens / training->sequence);
    row->note = "batch from step time and tokens/s";
  }
  if (!(batch > 0) && facts->sequences_per_device > 0) {
    batch = facts->sequences_per_device * row->cells[TRAINING_DEVICES];
    row->note = "batch of the recipe";
  }
  if (!(batch > 0) || batch > UINT32_MAX || training->sequence == 0) {
    skip(row, TRAINING_NO_BATCH, NULL);
    return false;
  }
  training->global_batch = (uint32_t)batch;
  return true;
}

/* All four degrees are stated: they say how many devices a replica set has, also where a table's column of devices is a multiple
 * of that (NeMo's long sequences on B200: four times as many in all rows, which leaves more ranks than sequences). */
static void map_devices(struct training_row *row) {
  const enum training_cell degrees[] = {TRAINING_TP, TRAINING_PP, TRAINING_DP, TRAINING_CP};
  double stated = 1;
  for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
    stated *= row->cells[degrees[i]];
  }
  if (stated >= 1 && stated < (double)row->devices && fmod((double)row->devices, stated) == 0) {
    row->devices = (uint64_t)stated;
    row->note = "devices are the product of the degrees";
  }
}

/* Degrees of parallelism. The data-parallel degree is what the others leave of the devices; columns that say otherwise are
 * noted. Where that is more than there are sequences, the rest splits sequences (context parallelism). */
static bool map_degrees(struct training_row *row) {
  struct generate_training *training = &row->training;
  uint64_t tensor = degree(row, TRAINING_TP), pipeline = degree(row, TRAINING_PP), context = degree(row, TRAINING_CP);
  uint32_t cores = row->hardware->ranks_per_device;
  tensor = tensor % cores == 0 ? tensor / cores : tensor;
  uint64_t inner = tensor * pipeline;
  if (row->devices == 0 || row->devices % (inner * context) != 0) {
    skip(row, TRAINING_NO_DEGREES, "degrees do not divide the devices");
    return false;
  }
  uint64_t data = row->devices / (inner * context);
  if (data > training->global_batch) {
    context = data * context / training->global_batch;
    data = training->global_batch;
    row->note = "more ranks than sequences: the rest splits sequences";
  } else if (row->cells[TRAINING_DP] > 0 && (double)data != row->cells[TRAINING_DP]) {
    row->note = "data-parallel degree is what the others leave";
  }
  if (inner * data * context != row->devices || training->global_batch % data != 0) {
    skip(row, TRAINING_NO_DEGREES, "degrees do not divide the batch");
    return false;
  }
  if (tensor > row->architecture.kv_heads) {
    row->architecture.kv_heads = (uint32_t)tensor; /* every rank has a copy of the heads that it needs */
  }
  training->data = (uint32_t)data;
  training->tensor = (uint32_t)tensor;
  training->context = (uint32_t)context;
  training->pipeline = (uint32_t)pipeline;
  training->virtual_stages = pipeline > 1 ? degree(row, TRAINING_VP) : 1;
  for (uint32_t v = 0; v < TRAINING_VARIANT_MAX && pipeline > 1; v++) {
    bool is_variant = (row->variants >> v & 1) != 0 && row->source->variants[v].virtual_stages > 0;
    training->virtual_stages = is_variant ? row->source->variants[v].virtual_stages : training->virtual_stages;
  }
  return true;
}

static bool map_parts(struct training_row *row) {
  struct generate_training *training = &row->training;
  uint32_t local = training->global_batch / training->data;
  uint32_t micro = row->cells[TRAINING_MICRO_BATCH] > 0 ? cell(row, TRAINING_MICRO_BATCH) : 1;
  if (row->source->spreads_data) {
    micro = local;
  } else if (row->source->is_local_batch) {
    micro = training->pipeline > 1 && local >= training->pipeline ? local / training->pipeline : local;
  }
  if (micro == 0 || local % micro != 0) {
    skip(row, TRAINING_NO_DEGREES, "micro-batch does not divide the batch of a rank");
    return false;
  }
  training->micro_batch = micro;
  uint32_t ranks = training->data * training->context, expert = degree(row, TRAINING_EP);
  if (expert > ranks && row->architecture.experts > 0) {
    row->note = "experts also over tensor ranks: taken over data ranks only";
    expert = ranks;
  }
  training->expert = row->architecture.experts > 0 ? expert : 1;
  uint32_t pod = row->hardware->pod_devices;
  bool has_pods = pod > 0 && row->devices > pod && training->sharded == GENERATE_SHARD_PARAMETERS;
  training->shard_ranks = has_pods ? (uint32_t)((uint64_t)training->data * pod / row->devices) : 0;
  return true;
}

static double attention_parameters(const struct generate_model *model) {
  double hidden = model->hidden, heads = model->heads, queries = heads * model->head_size;
  if (model->kv_rank > 0) { /* arXiv 2405.04434, section 2.1 */
    double down = model->query_rank + model->kv_rank + model->rope_size, rank = model->kv_rank;
    double keys = heads * (model->head_size - model->rope_size), values = heads * model->value_size;
    return hidden * down + model->query_rank * queries + rank * (keys + values) + values * hidden;
  }
  return 2 * hidden * queries + 2 * hidden * (double)model->head_size * model->kv_heads;
}

double training_active_parameters(const struct generate_model *model) {
  double hidden = model->hidden, attention = attention_parameters(model);
  double column = (model->gated_ffn ? 3 : 2) * hidden; /* of a feed-forward part */
  double ffn = column * model->ffn, dense = ffn;
  if (model->experts > 0) {
    ffn = column * ((double)model->experts_per_token * model->ffn + model->shared_ffn) + hidden * model->experts;
    dense = column * model->dense_ffn;
  }
  double first = model->dense_layers < model->layers ? model->dense_layers : model->layers;
  return model->layers * attention + first * dense + (model->layers - first) * ffn + hidden * model->vocabulary;
}

double training_flops(const struct generate_model *model, const struct generate_training *training,
                      bool is_causal_half) {
  double sequence = training->sequence, tokens = sequence * training->global_batch;
  double window = model->window > 0 && model->window < sequence ? model->window : sequence;
  double seen = (sequence + window) / 2 * (is_causal_half ? 0.5 : 1); /* layers alternate */
  double attention = 12.0 * model->layers * model->heads * model->head_size * seen;
  return tokens * (6 * training_active_parameters(model) + attention);
}

/* What a published recipe sets beside the columns. */
static void map_recipe(struct training_row *row) {
  const struct training_recipe *recipe = training_recipe_find(row->hardware->label, row->model, row->precision);
  if (!recipe) {
    return;
  }
  row->training.products = recipe->products != DTYPE_NONE ? recipe->products : row->training.products;
  row->cells[TRAINING_TP] = recipe->tensor > 0 ? recipe->tensor : row->cells[TRAINING_TP];
  row->recompute = recipe->recompute && row->recompute[0] == '\0' ? recipe->recompute : row->recompute;
}

/* Experts that compute more than they get are as much wider: products and weights grow, useful FLOPs do not. So are those
 * whose rows come and go by one-hot masks over a sequence: 4 S H FLOPs a row, where a column of a gated expert is 6 H. */
static void map_capacity(struct training_row *row) {
  const struct training_recipe *recipe = training_recipe_find(row->hardware->label, row->model, row->precision);
  if (recipe && recipe->capacity > 0 && row->architecture.experts > 0) {
    double masks = (row->architecture.gated_ffn ? 4.0 / 6 : 1) * row->training.sequence;
    row->architecture.ffn = (uint32_t)((row->architecture.ffn + masks) * recipe->capacity);
  }
}

static void map_value(struct training_row *row) {
  struct generate_training *training = &row->training;
  row->model_flops = training_flops(&row->architecture, training, row->source->counts_causal);
  const double amounts[TRAINING_METRIC_COUNT] = {
      [TRAINING_SEQUENCES] = training->global_batch,
      [TRAINING_TOKENS] = (double)training->global_batch * training->sequence,
      [TRAINING_FLOPS] = row->model_flops,
  };
  double value = row->values[row->metric];
  double used = row->cells[TRAINING_DEVICES] / (double)row->devices; /* rates are of all devices of the table */
  row->measured_s = row->metric == TRAINING_STEP_TIME ? value : amounts[row->metric] / value * used;
}

void training_map(struct training_row *row) {
  row->skip = TRAINING_TAKEN;
  row->hardware = training_hardware_find(row->system);
  row->metric = TRAINING_STEP_TIME;
  while (row->metric < TRAINING_METRIC_COUNT && !isfinite(row->values[row->metric])) {
    row->metric++;
  }
  if (!(row->cells[TRAINING_LAYERS] > 0)) {
    skip(row, TRAINING_NO_ARCHITECTURE, NULL);
  } else if (row->metric == TRAINING_METRIC_COUNT) {
    skip(row, TRAINING_NO_VALUE, NULL);
  } else if (strstr(row->model, "LoRA")) {
    skip(row, TRAINING_NOT_TRAINED, NULL);
  } else if (!row->hardware || !row->source) {
    skip(row, TRAINING_NO_SYSTEM, row->hardware ? row->source_text : row->system);
  } else {
    row->devices = (uint64_t)row->cells[TRAINING_DEVICES];
    map_devices(row);
    if (map_model(row) && map_precision(row)) {
      map_recipe(row);
      map_framework(row);
      if (map_batch(row) && map_degrees(row) && map_parts(row)) {
        map_value(row);
        map_capacity(row);
      }
    }
  }
}
