/* Weights of the function under construction: arguments, gathering before use, gradients and their exchange. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "generate/generate_training_int.h"

static struct training_weight *weight_at(const struct training *t, uint32_t i) {
  assert(i < t->weights.count);
  return &t->weights.data[i];
}

/* ---- what is cut ---- */

enum training_group training_weight_group(const struct training_weight *weight, enum training_group group) {
  /* the groups of experts' weights follow in the same order */
  return weight->is_expert ? (enum training_group)(group + TRAINING_EXPERT_DATA - TRAINING_DATA) : group;
}

bool training_is_sharded(const struct training *t, const struct training_weight *weight) {
  (void)t;
  return weight->shard_axis >= 0;
}

struct generate_shape training_shard_shape(const struct training *t, const struct training_weight *weight) {
  struct generate_shape shape = weight->shape;
  if (training_is_sharded(t, weight)) {
    shape.dims[weight->shard_axis] /= t->group_size[training_weight_group(weight, TRAINING_SHARD)];
  }
  return shape;
}

bool training_is_reduced_each_pass(const struct training *t) {
  return t->p.sharded == GENERATE_SHARD_GRADIENTS || t->p.sharded == GENERATE_SHARD_PARAMETERS;
}

static bool keeps_shards(const struct training *t, const struct training_weight *weight) {
  return t->p.sharded == GENERATE_SHARD_PARAMETERS && training_is_sharded(t, weight);
}

/* Weights that come quantised: from the update, once per step. */
static bool comes_quantised(const struct training *t, const struct training_weight *weight) {
  return weight->is_product && t->has_roles && t->p.sharded != GENERATE_SHARD_PARAMETERS;
}

/* ---- arguments ---- */

static uint32_t declare(struct training *t, enum dtype dtype, struct generate_shape shape, const char *prefix,
                        const char *name) {
  char text[80];
  snprintf(text, sizeof text, "%s%s", prefix, name);
  return generate_declare(&t->b, dtype, shape, -1, text, 0);
}

/* Gradients come whole or, when each pass exchanges them, as shards; the update takes what the last pass left. */
static struct generate_shape gradient_shape(const struct training *t, const struct training_weight *weight) {
  bool is_reduced = training_is_reduced_each_pass(t) || (t->role == TRAINING_UPDATE && t->has_reduced);
  return is_reduced ? training_shard_shape(t, weight) : weight->shape;
}

void training_declare_weights(struct training *t, bool with_values, bool with_gradients) {
  for (uint32_t i = 0; i < t->weights.count; i++) {
    struct training_weight *weight = weight_at(t, i);
    bool is_quantised = comes_quantised(t, weight);
    struct generate_shape shape = keeps_shards(t, weight) ? training_shard_shape(t, weight) : weight->shape;
    weight->argument = weight->scale_argument = weight->gradient_argument = TRAINING_NO_ARGUMENT;
    weight->value = weight->quantised = weight->scale = weight->gradient = weight->pending = (struct ir_value){0};
    weight->is_reduced = false;
    if (with_values) {
      weight->argument = declare(t, is_quantised ? t->p.products : t->p.compute, shape, "weights.", weight->name);
    }
    if (with_values && is_quantised) {
      weight->scale_argument = declare(t, DTYPE_F32, SCALAR, "scales.", weight->name);
    }
    if (with_gradients) {
      weight->gradient_argument = declare(t, t->p.gradients, gradient_shape(t, weight), "gradients.", weight->name);
    }
  }
  t->unit_ready = t->unit_coming = 0;
}

/* ---- values ---- */

bool training_has_weight(const struct training_node *node, uint32_t i) {
  return node->weights[i] != 0;
}

static struct ir_value value_of(struct training *t, uint32_t i) {
  struct training_weight *weight = weight_at(t, i);
  if (weight->value.id == 0 && weight->argument != TRAINING_NO_ARGUMENT) {
    struct ir_value shard = generate_argument_value(&t->b, weight->argument);
    struct ir_value value = shard;
    if (keeps_shards(t, weight)) { /* outside of its unit: a table that the head shares */
      value =
          training_all_gather(t, training_weight_group(weight, TRAINING_SHARD), shard, (uint32_t)weight->shard_axis);
    }
    weight->value = value;
  }
  return weight->value;
}

struct ir_value training_weight(struct training *t, const struct training_node *node, uint32_t i) {
  return t->b.m->out_of_memory ? (struct ir_value){0} : value_of(t, node->weights[i] - 1);
}

void training_quantised_weight(struct training *t, uint32_t i, struct ir_value *value, struct ir_value *scale) {
  *value = *scale = (struct ir_value){0};
  if (t->b.m->out_of_memory) {
    return;
  }
  struct training_weight *weight = weight_at(t, i);
  if (weight->quantised.id == 0 && comes_quantised(t, weight)) {
    weight->quantised = generate_argument_value(&t->b, weight->argument);
    weight->scale = generate_argument_value(&t->b, weight->scale_argument);
  } else if (weight->quantised.id == 0) {
    struct ir_value whole = value_of(t, i), results[2];
    training_kernel(t, TRAINING_KERNEL_QUANTISE, NULL, &whole, 1, results, 2);
    weight->quantised = results[0];
    weight->scale = results[1];
  }
  *value = weight->quantised;
  *scale = weight->scale;
}

/* ---- gathering ----
 * The weights of a unit that are cut along the same axis over the same ranks are one exchange. */

struct bundle {
  struct training_exchange exchange;
  uint32_t weights[TRAINING_EXCHANGED], count;
};

static struct bundle bundle_of(const struct training *t, uint32_t unit, uint32_t kind) {
  struct bundle bundle = {.exchange = {.opcode = IR_OP_ALL_GATHER, .axis = kind / 2}};
  for (uint32_t i = 0; i < t->weights.count && bundle.count < TRAINING_EXCHANGED; i++) {
    const struct training_weight *weight = weight_at(t, i);
    if (weight->unit == unit && keeps_shards(t, weight) && weight->is_expert == (kind % 2 != 0)
        && (uint32_t)weight->shard_axis == kind / 2) {
      bundle.weights[bundle.count++] = i;
      bundle.exchange.group = training_weight_group(weight, TRAINING_SHARD);
    }
  }
  return bundle;
}

static void gather_unit(struct training *t, uint32_t unit, bool is_start) {
  struct ir_value values[TRAINING_EXCHANGED];
  for (uint32_t kind = 0; kind < TRAINING_BUNDLES; kind++) {
    struct bundle bundle = bundle_of(t, unit, kind);
    for (uint32_t i = 0; i < bundle.count; i++) {
      values[i] = generate_argument_value(&t->b, weight_at(t, bundle.weights[i])->argument);
      bool is_gathered = is_start || t->unit_coming != unit + 1;
      values[i] = is_gathered ? training_anchored(t, values[i]) : values[i];
    }
    if (bundle.count > 0 && is_start) {
      t->coming[kind] = training_exchange_start(t, &bundle.exchange, values, bundle.count);
    } else if (bundle.count > 0) {
      if (t->unit_coming == unit + 1) {
        training_exchange_done(t, t->coming[kind], bundle.count, values);
      } else {
        training_exchange(t, &bundle.exchange, values, bundle.count, values);
      }
      for (uint32_t i = 0; i < bundle.count; i++) {
        weight_at(t, bundle.weights[i])->value = values[i];
      }
    }
  }
}

void training_enter_unit(struct training *t, uint32_t unit, int direction) {
  if (t->p.sharded != GENERATE_SHARD_PARAMETERS || t->unit_ready == unit + 1 || t->b.m->out_of_memory) {
    return;
  }
  for (uint32_t i = 0; i < t->weights.count; i++) { /* those of the unit before are given back */
    struct training_weight *weight = weight_at(t, i);
    if (weight->unit + 1 == t->unit_ready && keeps_shards(t, weight)) {
      weight->value = weight->quantised = weight->scale = (struct ir_value){0};
    }
  }
  gather_unit(t, unit, false);
  t->unit_ready = unit + 1;
  t->unit_coming = 0;
  bool has_next = direction > 0 ? unit <= t->layers : unit > 0;
  if (t->p.overlap_parameters && has_next && t->group_size[TRAINING_SHARD] > 1) {
    uint32_t next = direction > 0 ? unit + 1 : unit - 1;
    gather_unit(t, next, true);
    t->unit_coming = next + 1;
  }
}

/* ---- gradients ---- */

/* The sum so far, where it is kept in full: the argument at first. 0 = nothing yet. */
static struct ir_value sum_so_far(struct training *t, struct training_weight *weight) {
  if (weight->gradient.id == 0 && weight->gradient_argument != TRAINING_NO_ARGUMENT
      && !training_is_reduced_each_pass(t)) {
    weight->gradient = generate_argument_value(&t->b, weight->gradient_argument);
  }
  return weight->gradient;
}

void training_weight_gradient(struct training *t, uint32_t i, struct ir_value gradient) {
  if (t->b.m->out_of_memory) {
    return;
  }
  struct training_weight *weight = weight_at(t, i);
  struct ir_value sum = sum_so_far(t, weight);
  gradient = generate_convert(&t->b, gradient, t->p.gradients);
  weight->gradient = sum.id != 0 ? generate_binary(&t->b, IR_OP_ADD, sum, gradient) : gradient;
}

static void multiply_now(struct training *t, uint32_t i, struct ir_value x, struct ir_value y) {
  struct training_weight *weight = weight_at(t, i);
  uint32_t batch = generate_shape_of(&t->b, x).rank - 2;
  struct ir_value sum = sum_so_far(t, weight), operands[3] = {x, y, sum}, result;
  if (sum.id != 0) {
    training_kernel(t, TRAINING_KERNEL_WEIGHT_GRADIENT, NULL, operands, 3, &result, 1);
  } else {
    result = generate_dot(&t->b, x, batch, y, batch, batch, t->p.gradients);
  }
  weight_at(t, i)->gradient = result;
}

void training_weight_product(struct training *t, uint32_t i, struct ir_value x, struct ir_value y) {
  if (t->b.m->out_of_memory) {
    return;
  }
  if (t->p.overlap_tensor && t->p.tensor > 1) {
    struct training_deferred later = {.weight = i, .x = x, .y = y};
    t->b.m->out_of_memory |= !vec_push(&t->deferred, later);
  } else {
    multiply_now(t, i, x, y);
  }
}

void training_flush(struct training *t) {
  for (size_t i = 0; i < t->deferred.count && !t->b.m->out_of_memory; i++) {
    struct training_deferred later = t->deferred.data[i];
    multiply_now(t, later.weight, later.x, later.y);
  }
  t->deferred.count = 0;
}

/* ---- exchange of gradients ----
 * Cut ones are scattered one by one; the others of a unit are one all-reduce. */

static struct training_exchange scatter_of(const struct training *t, const struct training_weight *weight) {
  (void)t;
  return (struct training_exchange){.opcode = IR_OP_REDUCE_SCATTER,
                                    .group = training_weight_group(weight, TRAINING_SHARD),
                                    .axis = (uint32_t)weight->shard_axis,
                                    .sum = IR_OP_ADD};
}

/* Passes of PyTorch's FSDP over a gradient before its exchange: parameters are views of a flat one, so that gradients are
 * joined (and cast to the type of the exchange), then divided by the ranks (_runtime_utils.py, _post_backward_hook). */
enum { FLAT_GRADIENT_PASSES = 2 };

static void scatter_gradient(struct training *t, uint32_t i) {
  struct training_weight *weight = weight_at(t, i);
  struct training_exchange e = scatter_of(t, weight);
  if (t->p.sharded >= GENERATE_SHARD_GRADIENTS && weight->shape.rank > 1) {
    weight->gradient = training_eager_copy(t, weight->gradient, FLAT_GRADIENT_PASSES);
  }
  if (t->p.overlap_gradients) {
    weight->pending = training_exchange_start(t, &e, &weight->gradient, 1);
  } else {
    training_exchange(t, &e, &weight->gradient, 1, &weight->gradient);
  }
}

/* Gradients of the unit that are not cut, of experts or not. */
static uint32_t whole_gradients(const struct training *t, uint32_t unit, bool is_expert, uint32_t *list) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < t->weights.count && count < TRAINING_EXCHANGED; i++) {
    const struct training_weight *weight = weight_at(t, i);
    if (weight->unit == unit && weight->is_expert == is_expert && weight->gradient.id != 0
        && !training_is_sharded(t, weight)) {
      list[count++] = i;
    }
  }
  return count;
}

static void all_reduce_gradients(struct training *t, uint32_t unit, bool is_expert) {
  uint32_t list[TRAINING_EXCHANGED], count = whole_gradients(t, unit, is_expert, list);
  struct ir_value values[TRAINING_EXCHANGED];
  struct training_exchange e = {
      .opcode = IR_OP_ALL_REDUCE, .group = is_expert ? TRAINING_EXPERT_DATA : TRAINING_DATA, .sum = IR_OP_ADD};
  if (count == 0 || t->group_size[e.group] == 1) {
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    values[i] = weight_at(t, list[i])->gradient;
  }
  if (t->p.overlap_gradients) {
    weight_at(t, list[0])->pending = training_exchange_start(t, &e, values, count);
    return;
  }
  training_exchange(t, &e, values, count, values);
  for (uint32_t i = 0; i < count; i++) {
    weight_at(t, list[i])->gradient = values[i];
  }
}

void training_reduce_unit(struct training *t, uint32_t unit) {
  training_flush(t);
  for (uint32_t i = 0; i < t->weights.count && !t->b.m->out_of_memory; i++) {
    struct training_weight *weight = weight_at(t, i);
    if (weight->unit == unit && weight->gradient.id != 0 && training_is_sharded(t, weight)) {
      scatter_gradient(t, i);
    }
  }
  for (uint32_t is_expert = 0; is_expert < 2 && !t->b.m->out_of_memory; is_expert++) {
    all_reduce_gradients(t, unit, is_expert != 0);
  }
}

/* Waits for an all-reduce of a unit whose first weight is i. */
static void wait_for_unit(struct training *t, uint32_t i) {
  uint32_t list[TRAINING_EXCHANGED];
  struct ir_value values[TRAINING_EXCHANGED];
  const struct training_weight *first = weight_at(t, i);
  uint32_t count = whole_gradients(t, first->unit, first->is_expert, list);
  training_exchange_done(t, first->pending, count, values);
  for (uint32_t k = 0; k < count; k++) {
    weight_at(t, list[k])->gradient = values[k];
  }
}

/* Copies of a shard on other ranks: their sums are added up too. */
static void reduce_replicas(struct training *t, bool is_expert) {
  enum training_group group = is_expert ? TRAINING_EXPERT_REPLICA : TRAINING_REPLICA;
  struct training_exchange e = {.opcode = IR_OP_ALL_REDUCE, .group = group, .sum = IR_OP_ADD};
  if (t->group_size[group] == 1) {
    return;
  }
  for (uint32_t unit = 0; unit <= t->layers + 1; unit++) {
    struct ir_value values[TRAINING_EXCHANGED];
    uint32_t list[TRAINING_EXCHANGED], count = 0;
    for (uint32_t i = 0; i < t->weights.count && count < TRAINING_EXCHANGED; i++) {
      const struct training_weight *weight = weight_at(t, i);
      if (weight->unit == unit && weight->is_expert == is_expert && training_is_sharded(t, weight)
          && weight->gradient.id != 0) {
        list[count] = i;
        values[count++] = weight->gradient;
      }
    }
    if (count > 0) {
      training_exchange(t, &e, values, count, values);
    }
    for (uint32_t k = 0; k < count; k++) {
      weight_at(t, list[k])->gradient = values[k];
    }
  }
}

void training_reduce_done(struct training *t) {
  for (uint32_t i = (uint32_t)t->weights.count; i-- > 0 && !t->b.m->out_of_memory;) {
    struct training_weight *weight = weight_at(t, i);
    if (weight->pending.id != 0 && training_is_sharded(t, weight)) {
      training_exchange_done(t, weight->pending, 1, &weight->gradient);
    } else if (weight->pending.id != 0) {
      wait_for_unit(t, i);
    }
    weight->pending = (struct ir_value){0};
  }
  reduce_replicas(t, false);
  reduce_replicas(t, true);
  for (uint32_t i = 0; i < t->weights.count && !t->b.m->out_of_memory; i++) {
    struct training_weight *weight = weight_at(t, i);
    weight->is_reduced = weight->gradient.id != 0;
    if (weight->is_reduced && training_is_reduced_each_pass(t) && weight->gradient_argument != TRAINING_NO_ARGUMENT
        && t->role != TRAINING_UPDATE) {
      struct ir_value sum = generate_argument_value(&t->b, weight->gradient_argument);
      weight->gradient = generate_binary(&t->b, IR_OP_ADD, sum, weight->gradient);
    }
  }
}

/* ---- after the update ---- */

struct ir_value training_own_shard(struct training *t, const struct training_weight *weight, struct ir_value whole) {
  enum training_group group = training_weight_group(weight, TRAINING_SHARD);
  struct generate_shape shape = training_shard_shape(t, weight);
  struct ir_value rank = training_group_rank(t, group);
  struct ir_value start = generate_binary_scalar(&t->b, IR_OP_MULTIPLY, rank, (double)shape.dims[weight->shard_axis]);
  return training_dynamic_slice(&t->b, whole, start, (uint32_t)weight->shard_axis, shape.dims[weight->shard_axis]);
}

void training_return_weight(struct training *t, uint32_t i, struct ir_value value) {
  struct training_weight *weight = weight_at(t, i);
  char name[80];
  if (comes_quantised(t, weight)) {
    struct ir_value results[2];
    training_kernel(t, TRAINING_KERNEL_QUANTISE, NULL, &value, 1, results, 2);
    snprintf(name, sizeof name, "weights.%s", weight->name);
    generate_result(&t->b, results[0], name, 0);
    snprintf(name, sizeof name, "scales.%s", weight->name);
    generate_result(&t->b, results[1], name, 0);
    return;
  }
  if (weight->argument != TRAINING_NO_ARGUMENT) {
    t->b.arguments.data[weight->argument].alias = (int32_t)t->b.results.count;
  }
  snprintf(name, sizeof name, "weights.%s", weight->name);
  generate_result(&t->b, value, name, 0);
}
