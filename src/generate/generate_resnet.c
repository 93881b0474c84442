/* Residual networks: the rows, what is refused, the plan of a network and @main. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/minifloat.h"
#include "generate/generate_resnet_int.h"

/* Bounds of what is asked for, so that no size overflows. */
enum { BATCH_MAX = 1 << 24, DEVICES_MAX = 1 << 16 };
enum { STEM_SIZE = 7, STEM_STRIDE = 2, STEM_PADDING = 3, IMAGE_CHANNELS = 3, POOL_STRIDE = 2 };

#define RESNET(id, ...) static const struct generate_resnet id = {__VA_ARGS__};
#include "generate/generate_resnet_models.def"
#undef RESNET

const struct generate_resnet *const generate_resnets[] = {
#define RESNET(id, ...) &id,
#include "generate/generate_resnet_models.def"
#undef RESNET
    NULL};

const struct generate_resnet *generate_resnet_find(const char *name) {
  for (size_t i = 0; generate_resnets[i] != NULL; i++) {
    if (strcasecmp(generate_resnets[i]->name, name) == 0) {
      return generate_resnets[i];
    }
  }
  return NULL;
}

const struct generate_resnet *generate_resnet_of_depth(uint32_t depth) {
  for (size_t i = 0; generate_resnets[i] != NULL; i++) {
    if (generate_resnets[i]->depth == depth) {
      return generate_resnets[i];
    }
  }
  return NULL;
}

/* ---- the plan ---- */

/* Room was made for all. */
static uint32_t add_parameter(struct resnet *r, const char *name, const char *part, struct generate_shape shape) {
  struct resnet_parameter *p = &r->parameters.data[r->parameters.count];
  *p = (struct resnet_parameter){.shape = shape};
  snprintf(p->name, sizeof p->name, "%s.%s", name, part);
  return (uint32_t)r->parameters.count++;
}

static uint32_t add_statistic(struct resnet *r, const char *name, const char *part, uint32_t channels) {
  struct resnet_statistic *s = &r->statistics.data[r->statistics.count];
  *s = (struct resnet_statistic){.channels = channels};
  snprintf(s->name, sizeof s->name, "%s.%s", name, part);
  return (uint32_t)r->statistics.count++;
}

static uint32_t add_unit(struct resnet *r, const char *convolution, const char *norm, struct resnet_unit u) {
  struct generate_shape channels = SHAPE(u.out_channels);
  u.kernel = add_parameter(r, convolution, "kernel", SHAPE(u.size, u.size, u.in_channels, u.out_channels));
  u.norm.channels = u.out_channels;
  u.norm.bias = add_parameter(r, norm, "bias", channels);
  u.norm.scale = add_parameter(r, norm, "scale", channels);
  u.norm.mean = add_statistic(r, norm, "mean", u.out_channels);
  u.norm.variance = add_statistic(r, norm, "var", u.out_channels);
  u.out_side = (u.in_side + u.stride - 1) / u.stride;
  r->units.data[r->units.count] = u;
  return (uint32_t)r->units.count++;
}

/* What comes into a block, and whether it halves the sides. */
struct inlet {
  uint32_t channels, side, stride;
};

/* Convolution `which` of the block; -1 = the projection. */
static uint32_t add_block_unit(struct resnet *r, const char *block, int which, struct resnet_unit u) {
  char convolution[48], norm[48];
  if (which < 0) {
    snprintf(convolution, sizeof convolution, "%s.conv_proj", block);
    snprintf(norm, sizeof norm, "%s.norm_proj", block);
  } else {
    snprintf(convolution, sizeof convolution, "%s.Conv_%d", block, which);
    snprintf(norm, sizeof norm, "%s.BatchNorm_%d", block, which);
  }
  resnet_same_padding(u.in_side, u.size, u.stride, &u.low, &u.high);
  return add_unit(r, convolution, norm, u);
}

static void add_block(struct resnet *r, struct inlet *in, uint32_t width) {
  static const uint32_t bottleneck[] = {1, 3, 1}, basic[] = {3, 3};
  const bool is_bottleneck = r->model.is_bottleneck;
  const uint32_t *sizes = is_bottleneck ? bottleneck : basic, out = is_bottleneck ? 4 * width : width;
  const uint32_t strided = is_bottleneck ? 1 : 0; /* the convolution that has the stride */
  struct resnet_block block = {.unit_count = is_bottleneck ? 3 : 2};
  char name[32];
  snprintf(name, sizeof name, "%s_%u", is_bottleneck ? "BottleneckResNetBlock" : "ResNetBlock",
           (unsigned)r->blocks.count);
  struct resnet_unit u = {.in_channels = in->channels, .in_side = in->side};
  for (uint32_t i = 0; i < block.unit_count; i++) {
    u.size = sizes[i];
    u.stride = i == strided ? in->stride : 1;
    u.out_channels = i + 1 == block.unit_count ? out : width;
    block.units[i] = add_block_unit(r, name, (int)i, u);
    u.in_channels = u.out_channels;
    u.in_side = r->units.data[block.units[i]].out_side;
  }
  if (in->channels != out || in->stride > 1) {
    struct resnet_unit projection = {
        .size = 1, .stride = in->stride, .in_channels = in->channels, .out_channels = out, .in_side = in->side};
    block.projection = 1 + add_block_unit(r, name, -1, projection);
  }
  r->blocks.data[r->blocks.count++] = block;
  *in = (struct inlet){out, u.in_side, 1};
}

static uint32_t block_count(const struct generate_resnet *model) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < GENERATE_RESNET_STAGES; i++) {
    count += model->stages[i];
  }
  return count;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const struct resnet_named *)a)->name, ((const struct resnet_named *)b)->name);
}

/* As JAX orders the leaves of nested dictionaries: the separator '.' comes before all characters of names. */
static void sort_names(struct resnet *r) {
  for (uint32_t i = 0; i < r->parameters.count; i++) {
    r->parameter_order.data[r->parameter_order.count++] = (struct resnet_named){r->parameters.data[i].name, i};
  }
  for (uint32_t i = 0; i < r->statistics.count; i++) {
    r->statistic_order.data[r->statistic_order.count++] = (struct resnet_named){r->statistics.data[i].name, i};
  }
  qsort(r->parameter_order.data, r->parameter_order.count, sizeof *r->parameter_order.data, by_name);
  qsort(r->statistic_order.data, r->statistic_order.count, sizeof *r->statistic_order.data, by_name);
}

static bool reserve(struct resnet *r) {
  size_t blocks = block_count(&r->model), units = 1 + (RESNET_BLOCK_UNITS + 1) * blocks, parameters = 3 * units + 2;
  return vec_reserve(&r->blocks, blocks + 1) && vec_reserve(&r->units, units) && vec_reserve(&r->parameters, parameters)
         && vec_reserve(&r->parameter_order, parameters) && vec_reserve(&r->statistics, 2 * units)
         && vec_reserve(&r->statistic_order, 2 * units);
}

static bool plan(struct resnet *r) {
  const struct generate_resnet *model = &r->model;
  if (!reserve(r)) {
    return false;
  }
  struct resnet_unit stem = {.size = STEM_SIZE,
                             .stride = STEM_STRIDE,
                             .in_channels = IMAGE_CHANNELS,
                             .out_channels = model->width,
                             .in_side = model->side,
                             .low = STEM_PADDING,
                             .high = STEM_PADDING};
  (void)add_unit(r, "conv_init", "bn_init", stem);
  struct inlet in = {model->width, (r->units.data[0].out_side + POOL_STRIDE - 1) / POOL_STRIDE, 1};
  for (uint32_t stage = 0; stage < GENERATE_RESNET_STAGES; stage++) {
    in.stride = stage > 0 ? 2 : 1;
    for (uint32_t i = 0; i < model->stages[stage]; i++) {
      add_block(r, &in, model->width << stage);
    }
  }
  r->dense_bias = add_parameter(r, "Dense_0", "bias", SHAPE(model->classes));
  r->dense_kernel = add_parameter(r, "Dense_0", "kernel", SHAPE(in.channels, model->classes));
  sort_names(r);
  return true;
}

/* ---- the function ---- */

static uint32_t declare(struct resnet *r, enum dtype dtype, struct generate_shape shape, const char *prefix,
                        const char *name) {
  char whole[96];
  snprintf(whole, sizeof whole, "%s%s", prefix, name);
  return generate_declare(&r->b, dtype, shape, -1, whole, 0);
}

static void give(struct resnet *r, struct ir_value value, const char *prefix, const char *name) {
  char whole[96];
  snprintf(whole, sizeof whole, "%s%s", prefix, name);
  generate_result(&r->b, value, whole, 0);
}

static void declare_arguments(struct resnet *r) {
  int64_t side = r->model.side;
  r->step = declare(r, DTYPE_I32, SCALAR, "", "step");
  for (size_t i = 0; i < r->parameter_order.count; i++) {
    struct resnet_parameter *p = &r->parameters.data[r->parameter_order.data[i].number];
    p->weight = declare(r, DTYPE_F32, p->shape, "weights.", p->name);
  }
  for (size_t i = 0; i < r->parameter_order.count; i++) {
    struct resnet_parameter *p = &r->parameters.data[r->parameter_order.data[i].number];
    p->momentum = declare(r, DTYPE_F32, p->shape, "optimizer.first.", p->name);
  }
  r->count = declare(r, DTYPE_I32, SCALAR, "", "count");
  for (size_t i = 0; i < r->statistic_order.count; i++) {
    struct resnet_statistic *s = &r->statistics.data[r->statistic_order.data[i].number];
    s->argument = declare(r, DTYPE_F32, SHAPE(s->channels), "statistics.", s->name);
  }
  r->images = declare(r, r->p.compute, SHAPE(1, r->batch, side, side, IMAGE_CHANNELS), "", "images");
  r->labels = declare(r, DTYPE_I32, SHAPE(1, r->batch), "", "labels");
}

static void give_metric(struct resnet *r, struct ir_value value, const char *name) {
  give(r, generate_broadcast(&r->b, value, SHAPE(1), SCALAR), "", name);
}

static void give_results(struct resnet *r) {
  struct generate_builder *b = &r->b;
  struct ir_value step = generate_argument_value(b, r->step);
  give(r, generate_binary(b, IR_OP_ADD, step, generate_constant(b, DTYPE_I32, 1)), "", "step");
  for (size_t i = 0; i < r->parameter_order.count; i++) {
    const struct resnet_parameter *p = &r->parameters.data[r->parameter_order.data[i].number];
    give(r, p->next, "weights.", p->name);
  }
  for (size_t i = 0; i < r->parameter_order.count; i++) {
    const struct resnet_parameter *p = &r->parameters.data[r->parameter_order.data[i].number];
    give(r, p->next_momentum, "optimizer.first.", p->name);
  }
  give(r, r->next_count, "", "count");
  for (size_t i = 0; i < r->statistic_order.count; i++) {
    const struct resnet_statistic *s = &r->statistics.data[r->statistic_order.data[i].number];
    give(r, s->updated, "statistics.", s->name);
  }
  give_metric(r, r->accuracy, "accuracy");
  give_metric(r, r->learning_rate, "learning_rate");
  give_metric(r, r->loss, "loss");
}

static void write_main(struct resnet *r) {
  struct generate_builder *b = &r->b;
  int64_t side = r->model.side;
  declare_arguments(r);
  generate_begin(b);
  struct ir_value images = generate_argument_value(b, r->images), labels = generate_argument_value(b, r->labels);
  images = generate_reshape(b, images, SHAPE(r->batch, side, side, IMAGE_CHANNELS));
  r->label_values = generate_reshape(b, labels, SHAPE(r->batch));
  struct ir_value step = generate_argument_value(b, r->step);
  r->learning_rate = resnet_learning_rate(r, step, resnet_number(r, RESNET_COUNT_ZERO));
  struct ir_value features = resnet_layers_forward(r, images);
  resnet_layers_backward(r, resnet_loss(r, features));
  resnet_exchange_gradients(r);
  resnet_metrics(r);
  resnet_exchange_statistics(r);
  resnet_update(r);
  give_results(r);
  generate_end(b);
}

/* ---- attributes of the module ---- */

/* dense<[[0, 1, ..., n - 1]]> : tensor<1xnxi64> */
static struct ir_attr all_devices(struct resnet *r) {
  size_t count = r->p.data;
  uint8_t *data = calloc(count, 8); /* little-endian, whatever the host */
  if (data == NULL) {
    r->b.m->out_of_memory = true;
    return (struct ir_attr){0};
  }
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < 4; k++) {
      data[8 * i + k] = (uint8_t)(i >> (8 * k));
    }
  }
  struct ir_type type = generate_type(&r->b, DTYPE_I64, SHAPE(1, (int64_t)count));
  struct ir_attr groups = ir_attr_dense(r->b.m, type, data, 8 * count, false);
  free(data);
  return groups;
}

static struct ir_attr real_attr(struct ir_module *m, double value) {
  return ir_attr_float(m, minifloat_encode(DTYPE_F64, value), ir_type_scalar(m, DTYPE_F64));
}

static void set_module(struct resnet *r) {
  struct ir_module *m = r->b.m;
  char name[48];
  snprintf(name, sizeof name, "%.32s_train", r->model.name);
  uint32_t pairs[] = {intern_add_cstr(&m->strings, "samples"), real_attr(m, r->p.global_batch).id,
                      intern_add_cstr(&m->strings, "model_flops"),
                      real_attr(m, generate_resnet_training_flops(&r->model, &r->p)).id};
  struct ir_type i32 = ir_type_scalar(m, DTYPE_I32);
  if (!m->out_of_memory) {
    (void)ir_op_set_attr(m, m->root, "sym_name", ir_attr_string(m, name, strlen(name), (struct ir_type){0}));
    (void)ir_op_set_attr(m, m->root, "mhlo.num_partitions", ir_attr_integer(m, 1, i32));
    (void)ir_op_set_attr(m, m->root, "mhlo.num_replicas", ir_attr_integer(m, r->p.data, i32));
    (void)ir_op_set_attr(m, m->root, "ridgeline.step", ir_attr_dict(m, pairs, 2));
  }
}

static bool check(const struct generate_resnet *model, const struct generate_resnet_training *p,
                  struct diag_list *diags) {
  if (p->compute != DTYPE_F16 && p->compute != DTYPE_BF16 && p->compute != DTYPE_F32) {
    diag_file(diags, DIAG_E0805_GENERATE, NULL, 0, 0, "%s: activations are f16, bf16 or f32", model->name);
    return false;
  }
  if (p->data > DEVICES_MAX || p->global_batch == 0 || p->global_batch > BATCH_MAX) {
    diag_file(diags, DIAG_E0805_GENERATE, NULL, 0, 0, "%s: %s", model->name,
              p->data > DEVICES_MAX ? "data parallelism is over 65536 devices at most"
                                    : "the batch must be from 1 to 2^24 images");
    return false;
  }
  if (p->global_batch % p->data != 0) {
    diag_file(diags, DIAG_E0805_GENERATE, NULL, 0, 0, "%s: %u images cannot be divided over %u devices", model->name,
              p->global_batch, p->data);
    return false;
  }
  return true;
}

static void release(struct resnet *r) {
  vec_release(&r->parameters);
  vec_release(&r->statistics);
  vec_release(&r->units);
  vec_release(&r->blocks);
  vec_release(&r->parameter_order);
  vec_release(&r->statistic_order);
  generate_builder_release(&r->b);
}

static bool build(struct resnet *r) {
  if (!plan(r)) {
    return false;
  }
  r->groups = all_devices(r);
  set_module(r);
  if (!r->b.m->out_of_memory) {
    write_main(r);
  }
  return !r->b.m->out_of_memory;
}

enum status generate_resnet_training(const struct generate_resnet *model,
                                     const struct generate_resnet_training *training, struct diag_list *diags,
                                     struct ir_module **module) {
  struct resnet r = {.model = *model, .p = *training};
  *module = NULL;
  r.p.data = training->data > 0 ? training->data : 1;
  if (!check(model, &r.p, diags)) {
    return STATUS_INPUT;
  }
  r.batch = r.p.global_batch / r.p.data;
  struct ir_module *m = r.b.m = ir_module_new(0);
  if (m == NULL) {
    return STATUS_MEMORY;
  }
  bool is_built = build(&r);
  release(&r);
  if (!is_built) {
    ir_module_free(m);
    return STATUS_MEMORY;
  }
  *module = m;
  return STATUS_OK;
}

double generate_resnet_training_flops(const struct generate_resnet *model,
                                      const struct generate_resnet_training *training) {
  struct resnet r = {.model = *model, .p = *training};
  double forward = 0; /* of one image */
  if (plan(&r)) {
    for (size_t i = 0; i < r.units.count; i++) {
      const struct resnet_unit *u = &r.units.data[i];
      double outputs = (double)u->out_side * u->out_side * u->out_channels;
      forward += 2 * outputs * u->size * u->size * u->in_channels;
    }
    const struct generate_shape dense = r.parameters.data[r.dense_kernel].shape;
    forward += 2 * (double)dense.dims[0] * (double)dense.dims[1];
  }
  release(&r);
  return 3 * forward * training->global_batch;
}

uint64_t generate_resnet_parameters(const struct generate_resnet *model) {
  struct resnet r = {.model = *model};
  uint64_t count = 0;
  if (plan(&r)) {
    for (size_t i = 0; i < r.parameters.count; i++) {
      const struct generate_shape shape = r.parameters.data[i].shape;
      uint64_t elements = 1;
      for (uint32_t k = 0; k < shape.rank; k++) {
        elements *= (uint64_t)shape.dims[k];
      }
      count += elements;
    }
  }
  release(&r);
  return count;
}
