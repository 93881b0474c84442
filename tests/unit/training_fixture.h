/* Runs generated training steps: all micro-batches, stages and devices, one after the other, in the interpreter. Every device
 * gets its part of weights that are made for the whole model, so steps of different strategies can be compared. */
#ifndef RIDGELINE_TESTS_TRAINING_FIXTURE_H
#define RIDGELINE_TESTS_TRAINING_FIXTURE_H

#include <math.h>
#include <stdlib.h>

#include "generate/generate_training.h"
#include "generate_fixture.h"

enum { STEP_CHUNKS = 4, STEP_DEVICES = 8, STEP_VALUES = 4096 };

struct step_value {
  char name[96];
  struct interp_value *value;
};

struct step_store {
  struct step_value items[256];
  uint32_t count;
};

struct training_step {
  struct generated g;
  struct generate_model model;
  struct generate_training p;
  uint32_t chunks, devices, micro_batches;
  struct step_store stores[STEP_CHUNKS][STEP_DEVICES];
  double nudge; /* added to one element of one weight, for differences */
  const char *nudged;
  uint64_t nudged_index;
  double loss;
};

static inline void open_training(struct generated *g, const struct generate_model *model,
                                 const struct generate_training *p) {
  struct ir_module *made = NULL;
  char where[200];
  memset(g, 0, sizeof *g);
  diag_init(&g->diags);
  if (generate_training_module(model, p, &g->diags, &made) != STATUS_OK) {
    generated_fail(g, model->name, "generated");
  }
  mlir_print(made, made->root, NULL, &g->text);
  g->source = (struct source){model->name, strbuf_text(&g->text), g->text.length};
  if (mlir_parse(&g->source, NULL, &g->diags, &g->module) != STATUS_OK) {
    generated_fail(g, model->name, "read back");
  }
  if (!ir_equal(made, made->root, g->module, g->module->root, where, sizeof where)) {
    fail_msg("%s: its text loses something: %s", model->name, where);
  }
  if (analyze_infer(g->module, &g->diags) != STATUS_OK || analyze_calls(g->module, &g->diags) != STATUS_OK) {
    generated_fail(g, model->name, "verified");
  }
  ir_module_free(made);
}

/* ---- stores ---- */

static inline struct interp_value **step_slot(struct step_store *store, const char *name) {
  for (uint32_t i = 0; i < store->count; i++) {
    if (strcmp(store->items[i].name, name) == 0) {
      return &store->items[i].value;
    }
  }
  assert_true(store->count < 256);
  struct step_value *item = &store->items[store->count++];
  snprintf(item->name, sizeof item->name, "%s", name);
  item->value = NULL;
  return &item->value;
}

static inline void step_put(struct step_store *store, const char *name, struct interp_value *value) {
  struct interp_value **slot = step_slot(store, name);
  interp_release(*slot);
  *slot = value;
}

/* ---- where a device is ---- */

struct step_device {
  uint32_t tensor, context, data;
};

static inline uint32_t step_degree(uint32_t degree) {
  return degree > 0 ? degree : 1;
}

static inline struct step_device step_place(const struct generate_training *p, uint32_t device) {
  struct step_device d;
  d.tensor = device % step_degree(p->tensor);
  device /= step_degree(p->tensor);
  d.context = device % step_degree(p->context);
  d.data = device / step_degree(p->context);
  return d;
}

/* ---- parts of weights ---- */

/* Sizes of the whole model's weight by its name without layer. */
static inline uint32_t whole_dims(const struct generate_model *m, const char *name, int64_t *dims, int64_t *segments,
                                  int *cut) {
  int64_t q = (int64_t)m->heads * m->head_size, k = (int64_t)m->kv_heads * m->head_size;
  int64_t gates = m->gated_ffn ? 2 : 1;
  const char *base = strncmp(name, "layers.", 7) == 0 ? strchr(name + 7, '.') + 1 : name;
  bool is_expert =
      m->experts > 0 && (strcmp(base, "gate_up") == 0 || strcmp(base, "up") == 0 || strcmp(base, "down") == 0);
  uint32_t rank = 0;
  segments[0] = segments[1] = segments[2] = 0;
  *cut = -1;
#define DIMS2(a, b, axis) (*cut = (axis), dims[rank++] = (a), dims[rank++] = (b))
#define DIMS1(a, axis) (*cut = (axis), dims[rank++] = (a))
  if (is_expert) {
    dims[rank++] = m->experts;
  }
  int64_t v = m->value_size > 0 ? m->value_size : m->head_size, plain = m->head_size - m->rope_size;
  if (m->dense_ffn > 0 && strncmp(name, "layers.0.", 9) == 0
      && (strcmp(base, "gate_up") == 0 || strcmp(base, "down") == 0)) {
    rank = 0;
    bool is_up = strcmp(base, "gate_up") == 0;
    DIMS2(is_up ? m->hidden : m->dense_ffn, is_up ? 2 * m->dense_ffn : m->hidden, is_up ? 1 : 0);
    segments[0] = segments[1] = is_up ? m->dense_ffn : 0;
  } else if (strcmp(base, "query_down") == 0) {
    DIMS2(m->hidden, m->query_rank, -1);
  } else if (strcmp(base, "query_up") == 0) {
    DIMS2(m->query_rank, q, 1);
  } else if (strcmp(base, "kv_down") == 0) {
    DIMS2(m->hidden, m->kv_rank + m->rope_size, -1);
  } else if (strcmp(base, "kv_up") == 0) {
    DIMS2(m->kv_rank, m->heads * (plain + v), 1);
  } else if (strcmp(base, "query_norm") == 0) {
    DIMS1(m->kv_rank > 0 ? m->query_rank : m->head_size, -1);
  } else if (strcmp(base, "key_norm") == 0) {
    DIMS1(m->head_size, -1);
  } else if (strcmp(base, "kv_norm") == 0) {
    DIMS1(m->kv_rank, -1);
  } else if (strcmp(base, "qkv") == 0) {
    DIMS2(m->hidden, q + 2 * k, 1);
    segments[0] = q;
    segments[1] = segments[2] = k;
  } else if (strcmp(base, "qkv_bias") == 0) {
    DIMS1(q + 2 * k, 0);
    segments[0] = q;
    segments[1] = segments[2] = k;
  } else if (strcmp(base, "out") == 0) {
    DIMS2(m->heads * v, m->hidden, 0);
  } else if (strcmp(base, "gate_up") == 0 || strcmp(base, "up") == 0) {
    DIMS2(m->hidden, gates * m->ffn, (int)rank + 1);
    segments[0] = m->ffn;
    segments[1] = gates > 1 ? m->ffn : 0;
  } else if (strcmp(base, "shared_up") == 0) {
    DIMS2(m->hidden, gates * m->shared_ffn, 1);
    segments[0] = m->shared_ffn;
    segments[1] = gates > 1 ? m->shared_ffn : 0;
  } else if (strcmp(base, "up_bias") == 0 || strcmp(base, "gate_up_bias") == 0) {
    DIMS1(gates * m->ffn, 0);
    segments[0] = m->ffn;
    segments[1] = gates > 1 ? m->ffn : 0;
  } else if (strcmp(base, "down") == 0) {
    DIMS2(m->ffn, m->hidden, (int)rank);
  } else if (strcmp(base, "shared_down") == 0) {
    DIMS2(m->shared_ffn, m->hidden, 0);
  } else if (strcmp(base, "router") == 0) {
    DIMS2(m->hidden, m->experts, -1);
  } else if (strcmp(base, "embedding") == 0) {
    DIMS2(m->vocabulary, m->hidden, 0);
  } else if (strcmp(base, "head") == 0) {
    DIMS2(m->hidden, m->vocabulary, 1);
  } else if (strcmp(base, "positions") == 0) {
    DIMS2(m->positions, m->hidden, -1);
  } else {
    DIMS1(m->hidden, -1);
  }
  return rank;
}

/* Layers before the chunk: equal parts, or one fewer in the first and last. The tests' models have 4. */
static inline uint32_t first_layer(const struct training_step *s, uint32_t chunk) {
  assert_true(s->model.layers % s->chunks == 0);
  return chunk * (s->model.layers / s->chunks);
}

/* "layers.0.qkv" of chunk 2 is "layers.4.qkv" of the model. */
static inline void whole_name(const struct training_step *s, uint32_t chunk, const char *name, char *out, size_t size) {
  unsigned layer;
  int at = 0;
  if (sscanf(name, "layers.%u.%n", &layer, &at) == 1 && at > 0) {
    snprintf(out, size, "layers.%u.%s", layer + first_layer(s, chunk), name + at);
  } else {
    snprintf(out, size, "%s", name);
  }
}

/* For each element of this device's part the number of the same in the whole weight. */
static inline void part_indices(const struct training_step *s, uint32_t device, const char *name,
                                const struct interp_value *part, uint64_t *indices) {
  const struct generate_training *p = &s->p;
  struct step_device d = step_place(p, device);
  int64_t dims[4], segments[3], tensor = step_degree(p->tensor);
  int cut;
  uint32_t rank = whole_dims(&s->model, name, dims, segments, &cut), ep = step_degree(p->expert);
  uint32_t ranks = p->shard_ranks > 0 ? p->shard_ranks : step_degree(p->data);
  assert_int_equal(rank, part->rank);
  uint32_t shard = (d.data % ranks) * step_degree(p->context) + d.context;
  if (rank == 3 && step_degree(p->data) % ep == 0) {
    shard = (d.data % ranks) / ep * step_degree(p->context) + d.context;
  }
  for (uint64_t i = 0; i < part->count; i++) {
    int64_t at[4], number = 0;
    uint64_t left = i;
    for (uint32_t a = rank; a-- > 0;) {
      at[a] = (int64_t)(left % (uint64_t)part->dims[a]);
      left /= (uint64_t)part->dims[a];
    }
    for (uint32_t a = 0; a < rank; a++) {
      int64_t own = dims[a]; /* of this tensor and expert rank */
      own /= (int)a == cut ? tensor : 1;
      own /= rank == 3 && a == 0 ? ep : 1;
      if (own != part->dims[a]) { /* cut once more, over the shards */
        at[a] += shard * part->dims[a];
      }
      if (rank == 3 && a == 0) {
        at[a] += (d.data % ep) * (dims[0] / ep);
      }
      if ((int)a == cut && segments[0] == 0) {
        at[a] += d.tensor * (dims[a] / tensor);
      } else if ((int)a == cut) {
        int64_t start = 0, k = 0;
        while (at[a] >= segments[k] / tensor) {
          at[a] -= segments[k] / tensor;
          start += segments[k++];
        }
        at[a] += start + d.tensor * (segments[k] / tensor);
      }
      number = number * dims[a] + at[a];
    }
    indices[i] = (uint64_t)number;
  }
}

/* ---- arguments ---- */

static inline int32_t token_at(const char *kind, uint32_t sequence, uint32_t position, uint32_t vocabulary) {
  double x = (generated_number(kind, sequence * 1000 + position) + 1) / 2;
  return (int32_t)(x * vocabulary) % (int32_t)vocabulary;
}

static inline void fill_integers(const struct training_step *s, uint32_t device, uint32_t micro, const char *name,
                                 struct interp_value *value) {
  const struct generate_training *p = &s->p;
  struct step_device d = step_place(p, device);
  uint32_t positions = p->sequence / step_degree(p->context), batch = step_degree(p->micro_batch);
  int32_t *data = (int32_t *)value->data;
  for (uint32_t i = 0; i < value->count; i++) {
    if (strcmp(name, "seed") == 0) {
      data[i] = 1234;
    } else if (strcmp(name, "positions") == 0) {
      data[i] = (int32_t)(d.context * positions + i);
    } else if (strcmp(name, "key_positions") == 0) {
      data[i] = (int32_t)i;
    } else {
      uint32_t sequence = (d.data * s->micro_batches + micro) * batch + i % batch;
      data[i] = token_at(name, sequence, d.context * positions + i / batch, s->model.vocabulary);
    }
  }
}

static inline void fill_weight(const struct training_step *s, uint32_t chunk, uint32_t device, const char *name,
                               struct interp_value *value) {
  char whole[64];
  uint64_t indices[STEP_VALUES];
  assert_true(value->count <= STEP_VALUES);
  whole_name(s, chunk, name, whole, sizeof whole);
  part_indices(s, device, whole, value, indices);
  bool is_norm = strstr(name, "norm") != NULL && strstr(name, "bias") == NULL;
  for (uint64_t i = 0; i < value->count; i++) {
    double x = generated_number(whole, indices[i]) * 0.4 + (is_norm ? 1 : 0);
    if (s->nudged != NULL && strcmp(s->nudged, whole) == 0 && indices[i] == s->nudged_index) {
      x += s->nudge;
    }
    ((float *)value->data)[i] = (float)x;
  }
}

static inline const char *step_name(const struct ir_module *m, struct ir_op function, bool is_argument, uint32_t i) {
  struct ir_attr all = ir_op_attr(m, function, is_argument ? "arg_attrs" : "res_attrs");
  struct ir_attr attrs = {m->lists.data[ir_attr_get(m, all)->list_first + i]};
  return ir_text(m, ir_attr_get(m, ir_attr_field(m, attrs, is_argument ? "jax.arg_info" : "jax.result_info"))->text);
}

static inline struct interp_value *step_argument(struct training_step *s, uint32_t chunk, uint32_t device,
                                                 uint32_t micro, const char *name, struct ir_type type) {
  const struct ir_module *m = s->g.module;
  struct interp_value **slot = step_slot(&s->stores[chunk][device], name);
  enum dtype dtype = (enum dtype)ir_type_get(m, type)->dtype;
  if (*slot != NULL && dtype != DTYPE_I32) {
    return *slot;
  }
  struct interp_value *value = interp_tensor_new(dtype, ir_type_dims(m, type), ir_type_get(m, type)->rank);
  assert_non_null(value);
  memset(value->data, 0, value->size_bytes); /* state and gradients */
  if (dtype == DTYPE_I32) {
    fill_integers(s, device, micro, name, value);
  } else if (strncmp(name, "weights.", 8) == 0) {
    fill_weight(s, chunk, device, name + 8, value);
  } else if (strcmp(name, "step") == 0) {
    ((float *)value->data)[0] = 1;
  }
  interp_release(*slot);
  *slot = value;
  return value;
}

/* Runs a function of a chunk on all devices; its results go to their stores. */
static inline void step_function(struct training_step *s, const char *name, uint32_t chunk, uint32_t micro) {
  const struct ir_module *m = s->g.module;
  struct ir_op function = ir_function_find(m, name);
  assert_true(function.id != 0);
  const struct ir_type_data type = *ir_type_get(m, ir_function_type(m, function));
  uint32_t inputs = type.input_count, outputs = type.count - inputs;
  struct interp_value **arguments = calloc((size_t)inputs * s->devices + 1, sizeof *arguments);
  struct interp_value **results = calloc((size_t)outputs * s->devices + 1, sizeof *results);
  for (uint32_t d = 0; d < s->devices; d++) {
    for (uint32_t i = 0; i < inputs; i++) {
      struct ir_type of = {m->lists.data[type.first + i]};
      arguments[d * inputs + i] = step_argument(s, chunk, d, micro, step_name(m, function, true, i), of);
    }
  }
  struct interp_options options = {.partitions = s->devices};
  if (interp_run(m, function, &options, arguments, inputs, &s->g.diags, results) != STATUS_OK) {
    generated_fail(&s->g, name, "run");
  }
  for (uint32_t d = 0; d < s->devices; d++) {
    for (uint32_t i = 0; i < outputs; i++) {
      const char *result = step_name(m, function, false, i);
      step_put(&s->stores[chunk][d], result, results[d * outputs + i]);
      if (strcmp(result, "loss") == 0 && step_place(&s->p, d).tensor == 0) {
        s->loss += ((float *)results[d * outputs + i]->data)[0];
      }
    }
  }
  free(arguments);
  free(results);
}

/* What a chunk gives to its neighbour on all devices. */
static inline void step_pass(struct training_step *s, uint32_t from, uint32_t to, const char *name) {
  for (uint32_t d = 0; d < s->devices; d++) {
    struct interp_value *value = *step_slot(&s->stores[from][d], name);
    interp_retain(value);
    step_put(&s->stores[to][d], name, value);
  }
}

static inline const char *step_place_name(const struct training_step *s, uint32_t chunk) {
  return s->chunks == 1 ? "only" : chunk == 0 ? "first" : chunk + 1 == s->chunks ? "last" : "middle";
}

static inline void step_call(struct training_step *s, const char *role, uint32_t chunk, uint32_t micro) {
  char name[64];
  snprintf(name, sizeof name, "%s_%s", step_place_name(s, chunk), role);
  step_function(s, name, chunk, micro);
}

static inline void step_micro_batch(struct training_step *s, uint32_t micro) {
  char name[64];
  for (uint32_t c = 0; c < s->chunks; c++) {
    if (c > 0) {
      step_pass(s, c - 1, c, "boundary");
    }
    step_call(s, "forward", c, micro);
  }
  for (uint32_t c = s->chunks; c-- > 0;) {
    for (uint32_t d = 0; c + 1 < s->chunks && d < s->devices; d++) { /* results of one are arguments of the other */
      struct interp_value *value = *step_slot(&s->stores[c + 1][d], "boundary_gradient");
      interp_retain(value);
      step_put(&s->stores[c][d], "boundary_gradient", value);
    }
    snprintf(name, sizeof name, "%s_backward_last", step_place_name(s, c));
    bool is_last = micro + 1 == s->micro_batches && ir_function_find(s->g.module, name).id != 0;
    step_call(s, is_last ? "backward_last" : "backward", c, micro);
  }
}

static inline void step_open(struct training_step *s, const struct generate_model *model,
                             const struct generate_training *p) {
  memset(s, 0, sizeof *s);
  s->model = *model;
  s->p = *p;
  s->chunks = step_degree(p->pipeline) * step_degree(p->virtual_stages);
  s->devices = step_degree(p->data) * step_degree(p->tensor) * step_degree(p->context);
  s->micro_batches = p->global_batch / (step_degree(p->data) * step_degree(p->micro_batch));
  assert_true(s->chunks <= STEP_CHUNKS && s->devices <= STEP_DEVICES);
  open_training(&s->g, model, p);
}

static inline void step_run_all(struct training_step *s) {
  s->loss = 0;
  if (ir_function_find(s->g.module, "main").id != 0) {
    step_function(s, "main", 0, 0);
    return;
  }
  for (uint32_t m = 0; m < s->micro_batches; m++) {
    step_micro_batch(s, m);
  }
  for (uint32_t c = 0; c < s->chunks; c++) {
    step_call(s, "update", c, 0);
  }
}

static inline void step_forget(struct training_step *s) {
  for (uint32_t c = 0; c < s->chunks; c++) {
    for (uint32_t d = 0; d < s->devices; d++) {
      for (uint32_t i = 0; i < s->stores[c][d].count; i++) {
        interp_release(s->stores[c][d].items[i].value);
      }
      s->stores[c][d].count = 0;
    }
  }
}

static inline void step_close(struct training_step *s) {
  step_forget(s);
  generated_close(&s->g);
}

/* Largest difference of a device's values that begin with `prefix` from those of the one-device step, relative to the
 * largest magnitude of each tensor. */
static inline double step_distance(struct training_step *s, struct training_step *one, const char *prefix,
                                   uint32_t *compared) {
  double worst = 0;
  *compared = 0;
  for (uint32_t c = 0; c < s->chunks; c++) {
    for (uint32_t d = 0; d < s->devices; d++) {
      struct step_store *store = &s->stores[c][d];
      for (uint32_t i = 0; i < store->count; i++) {
        const char *name = store->items[i].name;
        if (strncmp(name, prefix, strlen(prefix)) != 0) {
          continue;
        }
        char whole[64], full[96];
        uint64_t indices[STEP_VALUES];
        const struct interp_value *part = store->items[i].value;
        whole_name(s, c, name + strlen(prefix), whole, sizeof whole);
        snprintf(full, sizeof full, "%s%s", prefix, whole);
        const struct interp_value *all = *step_slot(&one->stores[0][0], full);
        assert_non_null(all);
        part_indices(s, d, whole, part, indices);
        double most = 0, difference = 0;
        for (uint64_t k = 0; k < all->count; k++) {
          most = fmax(most, fabs(((float *)all->data)[k]));
        }
        for (uint64_t k = 0; k < part->count; k++) {
          difference = fmax(difference, fabs(((float *)part->data)[k] - ((float *)all->data)[indices[k]]));
        }
        assert_true(most > 0);
        if (difference / most > worst) {
          worst = difference / most;
        }
        ++*compared;
      }
    }
  }
  return worst;
}

#endif
