/* Nodes forward and backward into the function under construction, with recomputation. See generate_training_int.h. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "generate/generate_training_int.h"

/* ---- values of slots ---- */

static const struct ir_value none = {0};

static struct training_slot *slot_at(const struct training *t, uint32_t i) {
  assert(i < t->slots.count);
  return &t->slots.data[i];
}

struct ir_value training_input(const struct training *t, const struct training_node *node, uint32_t i) {
  return slot_at(t, node->inputs[i])->value;
}

struct ir_value training_output(const struct training *t, const struct training_node *node, uint32_t i) {
  return slot_at(t, node->outputs[i])->value;
}

void training_set(struct training *t, const struct training_node *node, uint32_t i, struct ir_value value) {
  slot_at(t, node->outputs[i])->value = value;
}

struct ir_value training_gradient(const struct training *t, const struct training_node *node, uint32_t i) {
  return slot_at(t, node->outputs[i])->gradient;
}

void training_add_gradient(struct training *t, const struct training_node *node, uint32_t i, struct ir_value gradient) {
  struct training_slot *slot = slot_at(t, node->inputs[i]);
  if (slot->gradient.id != 0) {
    gradient = generate_binary(&t->b, IR_OP_ADD, slot->gradient, gradient);
  }
  slot_at(t, node->inputs[i])->gradient = gradient;
}

/* ---- what the backward pass reads ---- */

static bool is_kept(const struct training *t, const struct training_node *node) {
  return t->p.recompute == GENERATE_RECOMPUTE_CONTRACTIONS && training_kind_info(node->kind)->is_kept;
}

/* Is the slot made again before `reader` needs it? */
static bool is_made_again(const struct training *t, const struct training_slot *slot, uint32_t region) {
  const struct training_node *producer = slot->producer > 0 ? &t->nodes.data[slot->producer - 1] : NULL;
  return producer != NULL && producer->region != 0 && producer->region == region && !is_kept(t, producer);
}

/* The slot must reach the backward pass of a node of `region`. A slot of a region of its own (rows that are gathered
 * again) is read by others: then that region's inputs are what is saved. */
static void mark(struct training *t, uint32_t i, uint32_t region) {
  struct training_slot *slot = slot_at(t, i);
  const struct training_node *producer = slot->producer > 0 ? &t->nodes.data[slot->producer - 1] : NULL;
  bool is_gathered = producer != NULL && producer->region != 0 && t->regions.data[producer->region].is_gather;
  slot->is_saved |= slot->input == NULL && !is_made_again(t, slot, region) && !is_gathered;
}

static void mark_saved(struct training *t) {
  for (size_t i = 0; i < t->nodes.count; i++) {
    const struct training_node *node = &t->nodes.data[i];
    const struct training_kind_info *info = training_kind_info(node->kind);
    bool runs_again = node->region != 0 && !is_kept(t, node);
    for (uint32_t k = 0; k < node->input_count; k++) {
      if (runs_again || (info->reads >> k & 1) != 0) {
        mark(t, node->inputs[k], node->region);
      }
    }
    for (uint32_t k = 0; k < node->output_count; k++) {
      if ((info->writes >> k & 1) != 0) {
        mark(t, node->outputs[k], node->region);
      }
    }
  }
}

/* ---- arguments and results ---- */

static void declare_inputs(struct training *t) {
  for (uint32_t i = 0; i < t->slots.count; i++) {
    struct training_slot *slot = slot_at(t, i);
    slot->argument = TRAINING_NO_ARGUMENT;
    slot->value = slot->gradient = none;
    if (slot->input != NULL) {
      slot->argument = generate_declare(&t->b, slot->dtype, slot->shape, -1, slot->input, 0);
    }
  }
}

static void declare_boundary(struct training *t) {
  if (t->boundary_in != 0) {
    struct training_slot *slot = slot_at(t, t->boundary_in - 1);
    slot->argument = generate_declare(&t->b, slot->dtype, slot->shape, -1, "boundary", 0);
  }
}

/* Saved slots as arguments; the boundary is one of them when it is read. */
static void declare_saved(struct training *t) {
  for (uint32_t i = 0; i < t->slots.count; i++) {
    struct training_slot *slot = slot_at(t, i);
    if (slot->is_saved) {
      slot->argument = generate_declare(&t->b, slot->dtype, slot->shape, -1, "activations.%u", i);
    }
  }
}

static void open_arguments(struct training *t) {
  for (uint32_t i = 0; i < t->slots.count; i++) {
    struct training_slot *slot = slot_at(t, i);
    if (slot->argument != TRAINING_NO_ARGUMENT) {
      slot->value = generate_argument_value(&t->b, slot->argument);
    }
  }
}

static void return_saved(struct training *t) {
  for (uint32_t i = 0; i < t->slots.count; i++) {
    if (slot_at(t, i)->is_saved) {
      generate_result(&t->b, slot_at(t, i)->value, "activations.%u", i);
    }
  }
}

static void return_gradients(struct training *t) {
  for (uint32_t i = 0; i < t->weights.count && !t->b.m->out_of_memory; i++) {
    struct training_weight *weight = &t->weights.data[i];
    char name[80];
    struct ir_value value = weight->gradient;
    if (value.id == 0) { /* none arrived */
      value = generate_argument_value(&t->b, weight->gradient_argument);
    }
    snprintf(name, sizeof name, "gradients.%s", weight->name);
    struct generate_argument *argument = &t->b.arguments.data[weight->gradient_argument];
    argument->alias = argument->type.id == ir_value_type(t->b.m, value).id ? (int32_t)t->b.results.count : -1;
    generate_result(&t->b, value, name, 0);
  }
}

/* ---- forward and backward ---- */

static void forward(struct training *t) {
  for (size_t i = 0; i < t->nodes.count && !t->b.m->out_of_memory; i++) {
    const struct training_node node = t->nodes.data[i];
    training_enter_unit(t, node.unit, 1);
    training_kind_info(node.kind)->forward(t, &node);
  }
}

/* A node of a region forward once more; what comes from outside waits for the gradient. */
static void run_again(struct training *t, const struct training_node *node, uint32_t region) {
  struct training_slot *slot = slot_at(t, node->inputs[0]);
  struct ir_value value = slot->value;
  if (slot->input == NULL && !is_made_again(t, slot, region)) {
    slot->value = training_anchored(t, value);
  }
  training_kind_info(node->kind)->forward(t, node);
  slot_at(t, node->inputs[0])->value = value;
}

/* The region of node `last` once more, up to this, from what was saved. What nothing reads but the gradient's way back waits
 * for, such as the last product of a layer, is done too: frameworks do not know that it is not needed. */
static void recompute(struct training *t, size_t last) {
  uint32_t region = t->nodes.data[last].region;
  size_t first = last;
  while (first > 0 && t->nodes.data[first - 1].unit == t->nodes.data[last].unit) {
    first--;
  }
  t->regions.data[region].is_done = true;
  for (size_t i = first; i <= last && !t->b.m->out_of_memory; i++) {
    const struct training_node node = t->nodes.data[i];
    if (node.region == region && !is_kept(t, &node)) {
      run_again(t, &node, region);
    }
  }
  struct training_slot *slot = slot_at(t, t->nodes.data[last].outputs[0]);
  bool waits = t->p.recompute == GENERATE_RECOMPUTE_FULL || t->p.recompute == GENERATE_RECOMPUTE_SELECTIVE;
  if (waits && !t->regions.data[region].is_gather && !t->b.m->out_of_memory && slot->gradient.id != 0) {
    slot->gradient = training_after(t, (struct ir_value[]){slot->gradient, slot->value}, 2);
  }
}

/* What the backward pass of node i reads and is to be made again. */
static void recompute_for(struct training *t, size_t i) {
  const struct training_node node = t->nodes.data[i];
  uint32_t reads = training_kind_info(node.kind)->reads;
  if (node.region != 0 && !t->regions.data[node.region].is_gather && !t->regions.data[node.region].is_done) {
    recompute(t, i);
  }
  for (uint32_t k = 0; k < node.input_count; k++) {
    uint32_t producer = slot_at(t, node.inputs[k])->producer;
    uint32_t region = producer > 0 ? t->nodes.data[producer - 1].region : 0;
    if ((reads >> k & 1) != 0 && t->regions.data[region].is_gather && !t->regions.data[region].is_done) {
      recompute(t, producer - 1);
    }
  }
}

/* Without roles each unit's gradients are exchanged when they are whole; with roles only in the last pass, or in each. */
static bool exchanges(const struct training *t) {
  if (training_is_reduced_each_pass(t) || t->role == TRAINING_BACKWARD_LAST) {
    return true;
  }
  return t->role == TRAINING_WHOLE && t->p.overlap_gradients;
}

static void backward(struct training *t) {
  uint32_t unit = t->nodes.count > 0 ? t->nodes.data[t->nodes.count - 1].unit : 0;
  for (size_t i = 0; i < t->regions.count; i++) {
    t->regions.data[i].is_done = false;
  }
  for (size_t i = t->nodes.count; i-- > 0 && !t->b.m->out_of_memory;) {
    const struct training_node node = t->nodes.data[i];
    if (node.unit != unit && exchanges(t)) {
      training_reduce_unit(t, unit);
    }
    unit = node.unit;
    t->anchor = t->role == TRAINING_WHOLE ? slot_at(t, node.outputs[0])->gradient : none;
    training_enter_unit(t, unit, -1);
    recompute_for(t, i);
    training_kind_info(node.kind)->backward(t, &node);
  }
  t->anchor = none;
  training_flush(t);
  if (exchanges(t)) {
    training_reduce_unit(t, unit);
    training_reduce_done(t);
  }
}

static void forward_function(struct training *t) {
  training_declare_weights(t, true, false);
  declare_inputs(t);
  declare_boundary(t);
  generate_begin(&t->b);
  open_arguments(t);
  forward(t);
  uint32_t out = t->boundary_out != 0 ? t->boundary_out : t->loss;
  generate_result(&t->b, slot_at(t, out - 1)->value, t->boundary_out != 0 ? "boundary" : "loss", 0);
  return_saved(t);
}

static void backward_function(struct training *t) {
  uint32_t from = TRAINING_NO_ARGUMENT;
  training_declare_weights(t, true, true);
  declare_inputs(t);
  declare_saved(t);
  if (t->boundary_out != 0) {
    const struct training_slot *slot = slot_at(t, t->boundary_out - 1);
    from = generate_declare(&t->b, slot->dtype, slot->shape, -1, "boundary_gradient", 0);
  }
  generate_begin(&t->b);
  open_arguments(t);
  if (from != TRAINING_NO_ARGUMENT) {
    slot_at(t, t->boundary_out - 1)->gradient = generate_argument_value(&t->b, from);
  }
  backward(t);
  if (t->boundary_in != 0) {
    generate_result(&t->b, slot_at(t, t->boundary_in - 1)->gradient, "boundary_gradient", 0);
  }
  return_gradients(t);
}

static void whole_function(struct training *t) {
  training_declare_weights(t, true, false);
  training_declare_optimizer(t);
  declare_inputs(t);
  generate_begin(&t->b);
  open_arguments(t);
  forward(t);
  generate_result(&t->b, slot_at(t, t->loss - 1)->value, "loss", 0);
  backward(t);
  training_update(t);
}

void training_walk(struct training *t) {
  static void (*const functions[])(struct training *) = {whole_function, forward_function, backward_function,
                                                         backward_function};
  for (uint32_t i = 0; i < t->slots.count; i++) {
    slot_at(t, i)->is_saved = false;
  }
  mark_saved(t);
  if (t->role == TRAINING_UPDATE) {
    training_declare_weights(t, t->p.compute == DTYPE_F32, true);
    training_declare_optimizer(t);
    generate_begin(&t->b);
    training_update(t);
  } else {
    functions[t->role](t);
  }
}
