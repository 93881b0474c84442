/* A request becomes a module: what is refused, the sizes that are built, the families. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "generate/generate_layers.h"

/* Bounds of what is asked for, so that no size overflows: 2^24 of each, 2^58 elements of any tensor. */
enum { COUNT_MAX = 1 << 24, ELEMENTS_LOG2 = 58 };

static const char *const phase_names[] = {"decode", "prefill", "forward"};

static bool refuse(struct diag_list *diags, const struct generate_model *model, const char *why) {
  diag_file(diags, DIAG_E0805_GENERATE, NULL, 0, 0, "%s: %s", model->name, why);
  return false;
}

/* Divides a size that must stay whole. */
static bool divide(const struct generate_model *model, uint32_t by, const char *what, uint32_t *size,
                   struct diag_list *diags) {
  if (*size % by != 0) {
    diag_file(diags, DIAG_E0805_GENERATE, NULL, 0, 0, "%s: %s %u cannot be divided by %u", model->name, what, *size,
              by);
    return false;
  }
  *size /= by;
  return true;
}

static bool reduce(const struct generate_request *r, struct generate_model *model, struct diag_list *diags) {
  uint32_t by = r->divide > 1 ? r->divide : 1;
  if (r->layers > model->layers) {
    diag_file(diags, DIAG_E0805_GENERATE, NULL, 0, 0, "%s has %u layers, not %u", model->name, model->layers,
              r->layers);
    return false;
  }
  model->layers = r->layers > 0 ? r->layers : model->layers;
  return divide(model, by, "heads", &model->heads, diags) && divide(model, by, "KV heads", &model->kv_heads, diags)
         && divide(model, by, "hidden size", &model->hidden, diags)
         && divide(model, by, "feed-forward size", &model->ffn, diags)
         && divide(model, by, "vocabulary", &model->vocabulary, diags);
}

static bool check_types(const struct generate_model *model, const struct generate_request *r, struct diag_list *diags) {
  if (r->activations != DTYPE_F16 && r->activations != DTYPE_BF16 && r->activations != DTYPE_F32) {
    return refuse(diags, model, "activations are f16, bf16 or f32");
  }
  if (r->weights != DTYPE_NONE && r->weights != r->activations && r->weights != DTYPE_I8 && r->weights != DTYPE_I4) {
    return refuse(diags, model, "weights are of the activations' type, i8 or i4");
  }
  return true;
}

static bool is_too_long(const struct generate_model *model, const struct generate_request *r) {
  return model->positions > 0 && r->sequence > model->positions - model->position_offset;
}

bool generate_is_training_only(const struct generate_model *model) {
  bool has_no_positions = model->family == GENERATE_DECODER && model->positions == 0 && model->rope_theta <= 0;
  bool has_no_norm_biases = model->family == GENERATE_DECODER && model->norm == GENERATE_LAYER_NORM && !model->biases;
  return model->head_norms || model->kv_rank > 0 || model->shared_ffn > 0 || model->dense_layers > 0 || has_no_positions
         || has_no_norm_biases;
}

static bool check_phase(const struct generate_model *model, const struct generate_request *r, struct diag_list *diags) {
  bool is_decoder = model->family == GENERATE_DECODER;
  if (generate_is_training_only(model)) {
    return refuse(diags, model, "has only a training step");
  }
  if (is_decoder == (r->phase == GENERATE_FORWARD)) {
    diag_file(diags, DIAG_E0805_GENERATE, NULL, 0, 0, "%s has no %s step, only %s", model->name, phase_names[r->phase],
              is_decoder ? "decode and prefill" : "forward");
    return false;
  }
  if (r->batch == 0 || r->batch > COUNT_MAX) {
    return refuse(diags, model, "the batch must be from 1 to 2^24");
  }
  if (is_decoder && (r->sequence == 0 || r->sequence > COUNT_MAX)) {
    return refuse(diags, model, "the sequence length must be from 1 to 2^24");
  }
  if (!r->more_positions && is_too_long(model, r)) {
    diag_file(diags, DIAG_E0805_GENERATE, NULL, 0, 0, "%s has %u positions, not %u (--more-positions adds them)",
              model->name, model->positions - model->position_offset, r->sequence);
    return false;
  }
  return true;
}

/* Length of the longest row of any intermediate: rows are tokens, or, in attention, query rows. */
static int64_t widest(const struct generate_model *model) {
  int64_t sizes[] = {model->vocabulary, 6 * (int64_t)model->hidden, 2 * (int64_t)model->ffn,
                     (int64_t)(model->heads + 2 * model->kv_heads) * model->head_size};
  int64_t greatest = 1;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    greatest = sizes[i] > greatest ? sizes[i] : greatest;
  }
  return greatest * (model->experts > 0 ? model->experts : 1);
}

/* No tensor has 2^58 elements or more. */
static bool check_sizes(const struct generate_step *s, struct diag_list *diags) {
  int64_t tokens = s->batch * s->length, limit = INT64_C(1) << ELEMENTS_LOG2, rows, scores, cache;
  int64_t keys = s->request->phase == GENERATE_FORWARD ? s->length : s->request->sequence;
  bool ok = checked_mul_i64(tokens, widest(&s->model), &rows) && checked_mul_i64(tokens, s->model.heads, &scores)
            && checked_mul_i64(scores, keys, &scores)
            && checked_mul_i64(s->batch * keys, (int64_t)s->model.kv_heads * s->model.head_size, &cache) && rows < limit
            && scores < limit && cache < limit;
  return ok || refuse(diags, &s->model, "tensors of this batch and sequence are too large");
}

static int64_t step_length(const struct generate_model *model, const struct generate_request *r) {
  int64_t side = model->patch > 0 ? model->side / model->patch : 0;
  switch (model->family) {
  case GENERATE_ENCODER_VISION:
    return side * side + 1;
  case GENERATE_DIFFUSION_TRANSFORMER:
    return side * side;
  default:
    return r->phase == GENERATE_DECODE ? 1 : r->sequence;
  }
}

static bool start(struct generate_step *s, const struct generate_model *model, const struct generate_request *r,
                  struct diag_list *diags) {
  *s = (struct generate_step){.model = *model, .request = r, .batch = r->batch};
  if (!check_types(model, r, diags) || !check_phase(model, r, diags) || !reduce(r, &s->model, diags)) {
    return false;
  }
  if (is_too_long(model, r)) {
    s->model.positions = r->sequence + model->position_offset;
  }
  s->length = step_length(model, r);
  s->is_decode = r->phase == GENERATE_DECODE;
  s->b.activations = r->activations;
  s->b.weights = r->weights == DTYPE_NONE ? r->activations : r->weights;
  return check_sizes(s, diags);
}

/* "llama2-70b" and decode: llama2_70b_decode */
static void name_module(struct ir_module *m, const struct generate_step *s) {
  char name[80];
  snprintf(name, sizeof name, "%s_%s", s->model.name, phase_names[s->request->phase]);
  for (char *c = name; *c != '\0'; c++) {
    *c = *c == '-' ? '_' : *c;
  }
  (void)ir_op_set_attr(m, m->root, "sym_name", ir_attr_string(m, name, strlen(name), (struct ir_type){0}));
}

enum status generate_module(const struct generate_model *model, const struct generate_request *request,
                            struct diag_list *diags, struct ir_module **module) {
  static void (*const families[])(struct generate_step *) = {generate_decoder, generate_vision, generate_diffusion};
  struct generate_step s;
  *module = NULL;
  if (!start(&s, model, request, diags)) {
    return STATUS_INPUT;
  }
  s.b.m = ir_module_new(0);
  if (s.b.m == NULL) {
    return STATUS_MEMORY;
  }
  name_module(s.b.m, &s);
  families[model->family](&s);
  generate_builder_release(&s.b);
  if (s.b.m->out_of_memory) {
    ir_module_free(s.b.m);
    return STATUS_MEMORY;
  }
  *module = s.b.m;
  return STATUS_OK;
}

uint64_t generate_parameters(const struct ir_module *m) {
  static const char prefix[] = "weights.";
  struct ir_op function = ir_function_entry(m);
  struct ir_attr all = ir_op_attr(m, function, "arg_attrs");
  struct ir_block body = ir_function_body(m, function);
  uint64_t sum = 0;
  for (uint32_t i = 0; all.id != 0 && i < ir_attr_get(m, all)->list_count; i++) {
    struct ir_attr attrs = {m->lists.data[ir_attr_get(m, all)->list_first + i]};
    struct ir_attr name = ir_attr_field(m, attrs, "jax.arg_info");
    if (name.id != 0 && strncmp(ir_text(m, ir_attr_get(m, name)->text), prefix, sizeof prefix - 1) == 0) {
      sum += ir_type_element_count(m, ir_value_type(m, ir_block_argument(m, body, i)));
    }
  }
  return sum;
}
