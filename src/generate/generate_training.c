/* A training step as a module: the functions of its places and roles, the mesh, and how they make a step. */
#include <stdio.h>
#include <string.h>

#include "base/minifloat.h"
#include "generate/generate_training_check.h"
#include "generate/generate_training_maxtext.h"

/* ---- attributes of the module ---- */

static struct ir_attr text_attr(struct ir_module *m, const char *text) {
  return ir_attr_string(m, text, strlen(text), (struct ir_type){0});
}

static struct ir_attr symbol_attr(struct ir_module *m, const char *text) {
  return ir_attr_text(m, IR_ATTR_SYMBOL, text, strlen(text), (struct ir_type){0});
}

static struct ir_attr integer_attr(struct ir_module *m, uint64_t value) {
  return ir_attr_integer(m, value < INT64_MAX ? (int64_t)value : INT64_MAX, ir_type_scalar(m, DTYPE_I64));
}

static struct ir_attr real_attr(struct ir_module *m, double value) {
  return ir_attr_float(m, minifloat_encode(DTYPE_F64, value), ir_type_scalar(m, DTYPE_F64));
}

static uint32_t micro_batches(const struct training *t) {
  return t->p.global_batch / (t->p.data * t->p.micro_batch);
}

static void set_step(struct training *t) {
  struct ir_module *m = t->b.m;
  const struct generate_training *p = &t->p;
  uint64_t bytes = (uint64_t)t->sent_rows * t->model.hidden * (dtype_bits(p->compute) / 8);
  const struct {
    const char *name;
    struct ir_attr value;
  } fields[] = {
      {"schedule", text_attr(m, p->virtual_stages > 1 ? "interleaved" : "1f1b")},
      {"stages", integer_attr(m, p->pipeline)},
      {"chunks", integer_attr(m, p->virtual_stages)},
      {"microbatches", integer_attr(m, t->has_roles ? micro_batches(t) : 1)},
      {"boundary_bytes", integer_attr(m, p->pipeline > 1 ? bytes : 0)},
      {"overlap", text_attr(m, p->framework == GENERATE_XLA ? "latency_hiding" : "as_written")},
      {"tokens", integer_attr(m, (uint64_t)p->global_batch * p->sequence)},
      {"samples", integer_attr(m, p->global_batch)},
      {"model_flops", real_attr(m, generate_training_flops(&t->model, p))},
      /* Megatron-LM overlaps messages between stages only when they are interleaved */
      {"waits_for_sends", ir_attr_bool(m, p->framework != GENERATE_XLA && p->virtual_stages == 1)},
  };
  uint32_t pairs[2 * sizeof fields / sizeof fields[0]];
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    pairs[2 * i] = generate_name(&t->b, fields[i].name);
    pairs[2 * i + 1] = fields[i].value.id;
  }
  if (!m->out_of_memory) {
    (void)ir_op_set_attr(m, m->root, "ridgeline.step", generate_dict(&t->b, pairs, sizeof fields / sizeof fields[0]));
    (void)ir_op_set_attr(m, m->root, "mhlo.num_replicas", ir_attr_integer(m, 1, ir_type_scalar(m, DTYPE_I32)));
    (void)ir_op_set_attr(m, m->root, "mhlo.num_partitions",
                         ir_attr_integer(m, t->group_size[TRAINING_ALL], ir_type_scalar(m, DTYPE_I32)));
  }
}

static void name_module(struct training *t) {
  char name[96];
  snprintf(name, sizeof name, "%.80s_train", t->model.name);
  for (char *c = name; *c != '\0'; c++) {
    *c = *c == '-' || *c == '.' || *c == ' ' ? '_' : *c;
  }
  (void)ir_op_set_attr(t->b.m, t->b.m->root, "sym_name", text_attr(t->b.m, name));
}

/* sdy.mesh @mesh = <["data"=8, "tensor"=4]> */
static void add_mesh(struct training *t) {
  struct ir_module *m = t->b.m;
  if (t->axis_count == 0) {
    return;
  }
  char text[200] = "#sdy.mesh<[";
  size_t at = strlen(text);
  for (uint32_t i = 0; i < t->axis_count; i++) {
    at += (size_t)snprintf(text + at, sizeof text - at, "%s\"%s\"=%u", i > 0 ? ", " : "", t->axes[i].name,
                           t->axes[i].size);
  }
  snprintf(text + at, sizeof text - at, "]>");
  struct ir_attr mesh = ir_attr_text(m, IR_ATTR_OPAQUE, text, strlen(text), (struct ir_type){0});
  generate_attribute(&t->b, "sym_name", text_attr(m, "mesh"));
  generate_attribute(&t->b, "mesh", mesh);
  (void)generate_operation(&t->b, ir_region_entry(m, ir_op_region(m, m->root, 0)),
                           &(struct ir_op_spec){.opcode = IR_OP_SDY_MESH});
}

static void set_groups(struct training *t) {
  struct ir_module *m = t->b.m;
  for (uint32_t g = 0; g < TRAINING_GROUP_COUNT && !m->out_of_memory; g++) {
    struct ir_attr axes[5];
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->axis_count; i++) {
      if ((t->axes[i].groups >> g & 1) != 0) {
        uint32_t pair[2] = {generate_name(&t->b, "name"), text_attr(m, t->axes[i].name).id};
        axes[count++] = generate_struct(&t->b, "stablehlo.axis_ref", pair, 1);
      }
    }
    uint32_t pairs[4] = {generate_name(&t->b, "mesh"), symbol_attr(m, "mesh").id, generate_name(&t->b, "axes"),
                         generate_array(&t->b, axes, count).id};
    t->group_attr[g] = generate_struct(&t->b, "stablehlo.replica_group_mesh_axes", pairs, 2);
  }
}

/* ---- functions ---- */

static const char *const place_names[] = {"only", "first", "middle", "last"};
static const char *const role_names[] = {"whole", "forward", "backward", "backward_last", "update"};

static void add_function(struct training *t, enum training_role role) {
  char name[40];
  struct ir_module *m = t->b.m;
  t->b = (struct generate_builder){.m = m, .activations = t->p.compute, .weights = t->p.compute};
  t->role = role;
  training_walk(t);
  if (role == TRAINING_WHOLE) {
    snprintf(name, sizeof name, "main");
  } else {
    snprintf(name, sizeof name, "%s_%s", place_names[t->place], role_names[role]);
  }
  generate_end_function(&t->b, name, false);
  generate_builder_release(&t->b);
}

static void add_place(struct training *t, enum training_place place, uint32_t layers) {
  t->place = place;
  t->layers = layers;
  training_list_nodes(t);
  if (t->b.m->out_of_memory) {
    return;
  }
  if (!t->has_roles) {
    add_function(t, TRAINING_WHOLE);
    return;
  }
  add_function(t, TRAINING_FORWARD);
  add_function(t, TRAINING_BACKWARD);
  if (t->has_reduced) {
    add_function(t, TRAINING_BACKWARD_LAST);
  }
  add_function(t, TRAINING_UPDATE);
}

static void build(struct training *t) {
  uint32_t chunks = t->p.pipeline * t->p.virtual_stages, layers[3];
  (void)training_chunk_layers(t->model.layers, chunks, layers);
  name_module(t);
  add_mesh(t);
  set_groups(t);
  set_step(t);
  if (maxtext_takes(&t->model, &t->p)) {
    maxtext_build(t);
    return;
  }
  if (chunks == 1) {
    add_place(t, TRAINING_ONLY, layers[0]);
    return;
  }
  add_place(t, TRAINING_FIRST, layers[0]);
  if (chunks > 2) {
    add_place(t, TRAINING_MIDDLE, layers[1]);
  }
  add_place(t, TRAINING_LAST, layers[2]);
}

static void start(struct training *t, const struct generate_model *model, const struct generate_training *p) {
  *t = (struct training){.model = *model, .p = *p};
  if (model->positions > 0 && p->sequence > model->positions - model->position_offset) {
    t->model.positions = p->sequence + model->position_offset; /* a longer table is trained */
  }
  t->positions = p->sequence / p->context;
  t->tokens = t->positions * p->micro_batch;
  t->rows = p->sequence_parallel ? t->tokens / p->tensor : t->tokens;
  bool sends_parts = p->framework == GENERATE_MEGATRON && !p->sequence_parallel && t->tokens % p->tensor == 0;
  t->sent_rows = sends_parts ? t->tokens / p->tensor : t->rows;
  t->has_roles = p->pipeline > 1 || micro_batches(t) > 1;
  training_set_axes(t);
  bool has_copies = t->group_size[TRAINING_DATA] > 1 || t->group_size[TRAINING_EXPERT_DATA] > 1;
  t->has_reduced = t->has_roles && p->overlap_gradients && has_copies && !training_is_reduced_each_pass(t);
}

static void release(struct training *t) {
  vec_release(&t->weights);
  vec_release(&t->slots);
  vec_release(&t->nodes);
  vec_release(&t->decompositions);
  vec_release(&t->deferred);
  vec_release(&t->regions);
}

enum status generate_training_module(const struct generate_model *model, const struct generate_training *training,
                                     struct diag_list *diags, struct ir_module **module) {
  struct generate_training p = *training;
  struct training t;
  *module = NULL;
  training_normalise(&p);
  if (!training_check(model, &p, diags)) {
    return STATUS_INPUT;
  }
  start(&t, model, &p);
  struct ir_module *m = t.b.m = ir_module_new(0);
  if (m == NULL) {
    return STATUS_MEMORY;
  }
  build(&t);
  release(&t);
  if (m->out_of_memory) {
    ir_module_free(m);
    return STATUS_MEMORY;
  }
  *module = m;
  return STATUS_OK;
}
