/* Training steps of residual networks: against the published program, operation by operation, and computed. */
#include <math.h>
#include <stdlib.h>

#include "generate/generate_resnet.h"
#include "generate_fixture.h"
#include "io/input_file.h"

static void open_resnet(struct generated *g, const struct generate_resnet *model,
                        const struct generate_resnet_training *p) {
  struct ir_module *made = NULL;
  memset(g, 0, sizeof *g);
  diag_init(&g->diags);
  if (generate_resnet_training(model, p, &g->diags, &made) != STATUS_OK) {
    generated_fail(g, model->name, "generated");
  }
  generated_adopt(g, model->name, made);
}

/* ---- what a program holds ---- */

enum { OPERATIONS = 65536 };

struct census {
  const struct ir_module *m;
  uint32_t ops[IR_OP_COUNT];
  uint64_t signatures[OPERATIONS]; /* of each operation: its name, types and attributes */
  uint32_t count;
  double convolution_flops; /* of pairs that meet an element that is there */
  uint64_t reduced_bytes; /* of all-reduces */
};

static uint64_t mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 1099511628211U;
}

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    hash = mix(hash, ((const uint8_t *)bytes)[i]);
  }
  return hash;
}

static uint64_t mix_text(uint64_t hash, const struct ir_module *m, uint32_t text) {
  const char *bytes = ir_text(m, text);
  return mix_bytes(hash, bytes, strlen(bytes));
}

static uint64_t mix_type(uint64_t hash, const struct ir_module *m, struct ir_type type) {
  for (uint32_t i = 0; i < ir_type_get(m, type)->rank; i++) {
    hash = mix(hash, (uint64_t)ir_type_dims(m, type)[i]);
  }
  return mix(hash, ir_type_get(m, type)->dtype);
}

static uint64_t mix_attr(uint64_t hash, const struct ir_module *m, struct ir_attr attr) {
  const struct ir_attr_data *data = ir_attr_get(m, attr);
  hash = mix(mix(hash, data->kind), (uint64_t)data->integer);
  hash = mix_text(mix_text(hash, m, data->text), m, data->text2);
  if (data->kind == IR_ATTR_STRUCT) { /* names and values; the fields' order is not the point */
    uint64_t sum = 0;
    for (uint32_t i = 0; i < data->list_count; i++) {
      const uint32_t *pair = m->lists.data + data->list_first + 2 * (size_t)i;
      sum += mix_attr(mix_text(1, m, pair[0]), m, (struct ir_attr){pair[1]});
    }
    return mix(hash, sum);
  }
  return mix_bytes(hash, data->data, data->data_size);
}

/* Attributes that say nothing: absent ones have the same meaning. */
static bool is_default(const struct ir_module *m, const char *name, struct ir_attr attr) {
  if (strcmp(name, "precision_config") == 0 || strcmp(name, "window_reversal") == 0) {
    return true;
  }
  uint64_t length = ir_attr_get(m, attr)->kind == IR_ATTR_DENSE_ARRAY ? ir_attr_length(m, attr) : 0;
  for (uint64_t i = 0; i < length; i++) {
    if (ir_attr_int_at(m, attr, i) != 1) {
      return false;
    }
  }
  return length > 0 && strstr(name, "ension") == NULL; /* all ones: strides and dilations, but not axes */
}

static uint64_t signature(const struct ir_module *m, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(m, op);
  uint64_t hash = mix(1469598103934665603U, data->opcode), attrs = 0;
  for (uint32_t i = 0; i < data->operand_count; i++) {
    hash = mix_type(hash, m, ir_value_type(m, ir_op_operand(m, op, i)));
  }
  for (uint32_t i = 0; i < data->result_count; i++) {
    hash = mix_type(hash, m, ir_value_type(m, ir_op_result(m, op, i)));
  }
  for (uint32_t i = 0; i < data->attr_count; i++) {
    const uint32_t *pair = m->lists.data + data->attr_first + 2 * (size_t)i;
    if (!is_default(m, ir_text(m, pair[0]), (struct ir_attr){pair[1]})) {
      attrs += mix_attr(mix_text(1, m, pair[0]), m, (struct ir_attr){pair[1]});
    }
  }
  for (uint32_t r = 0; r < data->region_count; r++) {
    struct ir_block block = ir_region_entry(m, ir_op_region(m, op, r));
    for (struct ir_op inner = ir_block_first(m, block); inner.id != 0; inner = ir_op_next(m, inner)) {
      attrs += signature(m, inner);
    }
  }
  return mix(hash, attrs);
}

static int64_t list_at(const struct ir_module *m, struct ir_attr attr, uint64_t i, int64_t absent) {
  return attr.id != 0 ? ir_attr_int_at(m, attr, i) : absent;
}

static double convolution_flops(const struct ir_module *m, struct ir_op op) {
  struct ir_attr numbers = ir_op_attr(m, op, "dimension_numbers"), padding = ir_op_attr(m, op, "padding");
  const int64_t *x = ir_type_dims(m, ir_value_type(m, ir_op_operand(m, op, 0)));
  const int64_t *k = ir_type_dims(m, ir_value_type(m, ir_op_operand(m, op, 1)));
  const int64_t *y = ir_type_dims(m, ir_value_type(m, ir_op_result(m, op, 0)));
  double flops = 2;
  flops *= (double)x[ir_attr_get(m, ir_attr_field(m, numbers, "input_batch_dimension"))->integer];
  flops *= (double)x[ir_attr_get(m, ir_attr_field(m, numbers, "input_feature_dimension"))->integer];
  flops *= (double)k[ir_attr_get(m, ir_attr_field(m, numbers, "kernel_output_feature_dimension"))->integer];
  for (uint64_t i = 0; i < 2; i++) {
    int64_t in = x[ir_attr_int_at(m, ir_attr_field(m, numbers, "input_spatial_dimensions"), i)];
    int64_t window = k[ir_attr_int_at(m, ir_attr_field(m, numbers, "kernel_spatial_dimensions"), i)];
    int64_t out = y[ir_attr_int_at(m, ir_attr_field(m, numbers, "output_spatial_dimensions"), i)];
    flops *= (double)analyze_window_hits(
        in, window, out, list_at(m, ir_op_attr(m, op, "window_strides"), i, 1), list_at(m, padding, 2 * i, 0),
        list_at(m, ir_op_attr(m, op, "lhs_dilation"), i, 1), list_at(m, ir_op_attr(m, op, "rhs_dilation"), i, 1));
  }
  return flops;
}

/* Calls stand for what they call. */
static void count_block(struct census *c, struct ir_block block) {
  const struct ir_module *m = c->m;
  for (struct ir_op op = ir_block_first(m, block); op.id != 0; op = ir_op_next(m, op)) {
    enum ir_opcode opcode = ir_op_code(m, op);
    if (opcode == IR_OP_FUNC_CALL) {
      const char *callee = ir_text(m, ir_attr_get(m, ir_op_attr(m, op, "callee"))->text);
      count_block(c, ir_function_body(m, ir_function_find(m, callee)));
      continue;
    }
    if (opcode == IR_OP_FUNC_RETURN) {
      continue;
    }
    assert_true(c->count < OPERATIONS);
    c->ops[opcode]++;
    c->signatures[c->count++] = signature(m, op);
    if (opcode == IR_OP_CONVOLUTION) {
      c->convolution_flops += convolution_flops(m, op);
    } else if (opcode == IR_OP_ALL_REDUCE) {
      c->reduced_bytes += ir_type_size_bytes(m, ir_value_type(m, ir_op_result(m, op, 0)));
    }
  }
}

static int ascending(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void take_census(struct census *c, const struct ir_module *m) {
  memset(c, 0, sizeof *c);
  c->m = m;
  count_block(c, ir_function_body(m, ir_function_entry(m)));
  qsort(c->signatures, c->count, sizeof *c->signatures, ascending);
}

/* Operations of `a` that `b` has not, each as often as it is missing. */
static uint32_t count_missing(const struct census *a, const struct census *b) {
  uint32_t missing = 0;
  for (uint32_t i = 0, k = 0; i < a->count;) {
    if (k < b->count && a->signatures[i] == b->signatures[k]) {
      i++;
      k++;
    } else if (k < b->count && b->signatures[k] < a->signatures[i]) {
      k++;
    } else {
      i++;
      missing++;
    }
  }
  return missing;
}

/* ---- against the published program ---- */

static bool open_published(struct input_file *file, struct ir_module **module) {
  const char *root = getenv("RIDGELINE_DATA");
  char path[512];
  struct diag_list diags;
  snprintf(path, sizeof path, "%s/workloads/resnet_50_train_step_4_devices_1024_batch.mlir",
           root ? root : RDG_SOURCE_DIR "/../shared/data");
  diag_init(&diags);
  if (input_file_read(file, path, 0, &diags) != STATUS_OK) {
    diag_release(&diags);
    print_message("skipped: no data\n");
    return false;
  }
  struct source source = {"published", file->text, file->length};
  assert_int_equal(mlir_parse(&source, NULL, &diags, module), STATUS_OK);
  assert_int_equal(analyze_infer(*module, &diags), STATUS_OK);
  diag_release(&diags);
  return true;
}

static void compare_signatures(const struct ir_module *a, const struct ir_module *b) {
  struct ir_type x = ir_function_type(a, ir_function_entry(a)), y = ir_function_type(b, ir_function_entry(b));
  assert_int_equal(ir_type_get(a, x)->count, ir_type_get(b, y)->count);
  assert_int_equal(ir_type_get(a, x)->input_count, ir_type_get(b, y)->input_count);
  for (uint32_t i = 0; i < ir_type_get(a, x)->count; i++) {
    struct ir_type of_a = {a->lists.data[ir_type_get(a, x)->first + i]};
    struct ir_type of_b = {b->lists.data[ir_type_get(b, y)->first + i]};
    assert_true(mix_type(1, a, of_a) == mix_type(1, b, of_b));
  }
}

/* Every operation, with types and attributes, as often as in the program that JAX exported. The one difference: the export
 * converts an i32 to i32 in the second learning rate. */
static void test_published(void **state) {
  (void)state;
  static struct census made, published;
  static struct generated g;
  struct input_file file;
  struct ir_module *module = NULL;
  if (!open_published(&file, &module)) {
    return;
  }
  const struct generate_resnet_training p = {.data = 4, .global_batch = 1024, .compute = DTYPE_F16};
  open_resnet(&g, generate_resnet_of_depth(50), &p);
  compare_signatures(g.module, module);
  take_census(&made, g.module);
  take_census(&published, module);
  for (int i = 0; i < IR_OP_COUNT; i++) {
    if (made.ops[i] + (i == IR_OP_CONVERT) != published.ops[i]) {
      print_message("%u operations %s, published %u\n", made.ops[i], ir_opcode_info((enum ir_opcode)i)->name,
                    published.ops[i]);
    }
  }
  assert_true(published.count > 9450); /* values of @main and of what it calls */
  assert_int_equal(count_missing(&made, &published), 0);
  assert_int_equal(count_missing(&published, &made), 1);
  assert_int_equal(made.ops[IR_OP_CONVOLUTION], 158);
  assert_int_equal(made.ops[IR_OP_ALL_REDUCE], 375);
  assert_true(made.reduced_bytes == published.reduced_bytes);
  assert_true(made.convolution_flops == 6001867358208.0);
  assert_true(published.convolution_flops == 6001867358208.0);
  generated_close(&g);
  ir_module_free(module);
  input_file_release(&file);
}

/* ---- all rows ---- */

static void test_rows(void **state) {
  (void)state;
  /* convolutions as workloads.json counts them: the stem, those of blocks, projections */
  static const struct {
    uint32_t depth, convolutions;
  } rows[] = {{18, 20}, {34, 36}, {50, 53}, {101, 104}, {152, 155}, {200, 203}};
  static struct census c;
  static struct generated g;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct generate_resnet *model = generate_resnet_of_depth(rows[i].depth);
    const struct generate_resnet_training p = {.data = 2, .global_batch = 4, .compute = DTYPE_BF16};
    uint32_t n = rows[i].convolutions;
    open_resnet(&g, model, &p);
    assert_true(g.parameters == model->published_parameters);
    assert_true(g.parameters == generate_resnet_parameters(model));
    memset(&c, 0, sizeof c);
    c.m = g.module;
    count_block(&c, ir_function_body(g.module, ir_function_entry(g.module)));
    assert_int_equal(c.ops[IR_OP_CONVOLUTION], 3 * n - 1); /* the images need no gradient */
    /* statistics both ways, gradients of kernel, scale and bias and of the dense layer, running statistics, two reports */
    assert_int_equal(c.ops[IR_OP_ALL_REDUCE], 2 * n + 3 * n + 2 + 2 * n + 2);
    assert_true(c.reduced_bytes >= 4 * g.parameters);
    assert_ptr_equal(generate_resnet_find(model->name), model);
    generated_close(&g);
  }
  assert_null(generate_resnet_of_depth(51));
  assert_null(generate_resnet_find("resnet"));
}

/* Multiplications and additions of ResNet-50 on an image of 224 x 224: 4,089,184,256 (torchvision: "4.09 GMACs"). */
static void test_flops(void **state) {
  (void)state;
  const struct generate_resnet_training p = {.data = 4, .global_batch = 1024, .compute = DTYPE_F16};
  double flops = generate_resnet_training_flops(generate_resnet_of_depth(50), &p);
  assert_true(flops == 1024 * 3 * 2 * 4089184256.0);
}

static void test_refusals(void **state) {
  (void)state;
  static const struct {
    struct generate_resnet_training p;
    const char *message;
  } rows[] = {
      {{.data = 3, .global_batch = 1024, .compute = DTYPE_F16}, "1024 images cannot be divided over 3 devices"},
      {{.data = 4, .global_batch = 0, .compute = DTYPE_F16}, "the batch must be from 1"},
      {{.data = 4, .global_batch = UINT32_MAX, .compute = DTYPE_F16}, "the batch must be from 1"},
      {{.data = UINT32_MAX, .global_batch = 8, .compute = DTYPE_F16}, "over 65536 devices at most"},
      {{.data = 4, .global_batch = 8, .compute = DTYPE_I8}, "activations are f16, bf16 or f32"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct diag_list diags;
    struct ir_module *module = NULL;
    diag_init(&diags);
    assert_int_equal(generate_resnet_training(generate_resnet_of_depth(18), &rows[i].p, &diags, &module), STATUS_INPUT);
    assert_null(module);
    assert_int_equal(diags.entries.count, 1);
    assert_int_equal(diags.entries.data[0].id, DIAG_E0805_GENERATE);
    if (strstr(diags.entries.data[0].message, rows[i].message) == NULL) {
      fail_msg("'%s' does not say '%s'", diags.entries.data[0].message, rows[i].message);
    }
    diag_release(&diags);
  }
}

/* ---- computed ---- */

enum { CLASSES = 8, SIDE = 16, BATCH = 4, DEVICES = 2 };

static const struct generate_resnet bottlenecks = {
    .name = "tiny-bottlenecks", .is_bottleneck = true, .stages = {1, 1}, .width = 3, .side = SIDE, .classes = CLASSES};
static const struct generate_resnet basics = {
    .name = "tiny-basics", .stages = {1, 2}, .width = 4, .side = SIDE, .classes = CLASSES};

/* One step on all devices. */
struct run {
  struct generated g; /* results of device 0 */
  struct interp_value *arguments[DEVICES * GENERATED_VALUES], *results[DEVICES * GENERATED_VALUES];
  uint32_t devices, inputs, outputs;
};

/* The device's part of images and labels; the same of all others. */
static struct interp_value *part_of(const struct interp_value *whole, uint32_t device, uint32_t devices) {
  int64_t dims[5];
  memcpy(dims, whole->dims, whole->rank * sizeof *dims);
  dims[1] /= devices;
  struct interp_value *part = interp_tensor_new((enum dtype)whole->dtype, dims, whole->rank);
  assert_non_null(part);
  memcpy(part->data, whole->data + device * part->size_bytes, part->size_bytes);
  return part;
}

/* Whether the normalisation ends a block or stands beside one. */
static bool is_added(const char *name) {
  return strstr(name, "norm_proj") != NULL || strstr(name, "BatchNorm_2") != NULL
         || (strstr(name, "Bottleneck") == NULL && strstr(name, "BatchNorm_1") != NULL);
}

/* Scales below 1 and biases of 4 or -4, so that a channel passes as a whole or not at all, and small changes turn no value
 * over; what is added passes. */
static double weight_at(const char *name, uint64_t k) {
  double x = generated_number(name, k);
  if (strstr(name, "scale") != NULL) {
    return 0.6 + 0.2 * x;
  }
  if (strstr(name, "bias") != NULL && strstr(name, "Dense") == NULL) {
    return 0.5 * x + (is_added(name) || k % 2 == 0 ? 4 : -4);
  }
  return strstr(name, "Dense_0.kernel") != NULL ? 0.05 * x : 0.5 * x;
}

static void fill(struct interp_value *value, const char *name) {
  for (uint64_t k = 0; k < value->count; k++) {
    if (value->dtype == DTYPE_I32) {
      bool is_label = strcmp(name, "labels") == 0;
      ((int32_t *)value->data)[k] = is_label ? (int32_t)(CLASSES / 2 * (generated_number(name, k) + 1)) : 510;
    } else if (strncmp(name, "weights.", 8) == 0) {
      ((float *)value->data)[k] = (float)weight_at(name, k);
    } else {
      ((float *)value->data)[k] = (float)generated_number(name, k);
    }
  }
}

/* Arguments as they are for the whole batch, on device 0. */
static void open_run(struct run *run, const struct generate_resnet *model, uint32_t devices, bool is_local) {
  const struct generate_resnet_training p = {
      .data = devices, .global_batch = BATCH, .compute = DTYPE_F32, .has_local_statistics = is_local};
  memset(run, 0, sizeof *run);
  open_resnet(&run->g, model, &p);
  const struct ir_module *m = run->g.module;
  const struct ir_type_data *type = ir_type_get(m, ir_function_type(m, ir_function_entry(m)));
  run->devices = devices;
  run->inputs = type->input_count;
  run->outputs = type->count - type->input_count;
  assert_true(run->inputs <= GENERATED_VALUES && run->outputs <= GENERATED_VALUES);
  for (uint32_t i = 0; i < run->inputs; i++) {
    const char *name = generated_name(&run->g, true, i);
    struct ir_type of = {m->lists.data[type->first + i]};
    bool is_data = strcmp(name, "images") == 0 || strcmp(name, "labels") == 0;
    int64_t dims[5];
    uint32_t rank = ir_type_get(m, of)->rank;
    memcpy(dims, ir_type_dims(m, of), rank * sizeof *dims);
    if (is_data) {
      dims[1] *= devices;
    }
    struct interp_value *whole = interp_tensor_new((enum dtype)ir_type_get(m, of)->dtype, dims, rank);
    assert_non_null(whole);
    fill(whole, name);
    for (uint32_t d = 0; d < devices; d++) {
      struct interp_value **argument = &run->arguments[d * run->inputs + i];
      *argument = is_data ? part_of(whole, d, devices) : whole;
      if (!is_data) {
        interp_retain(whole);
      }
    }
    interp_release(whole);
  }
}

static void execute(struct run *run) {
  struct interp_options options = {.replicas = run->devices};
  for (uint32_t i = 0; i < run->outputs * run->devices; i++) {
    interp_release(run->results[i]);
  }
  if (interp_run(run->g.module, ir_function_entry(run->g.module), &options, run->arguments, run->inputs, &run->g.diags,
                 run->results)
      != STATUS_OK) {
    generated_fail(&run->g, run->g.source.name, "run");
  }
}

static void close_run(struct run *run) {
  for (uint32_t i = 0; i < run->inputs * run->devices; i++) {
    interp_release(run->arguments[i]);
  }
  for (uint32_t i = 0; i < run->outputs * run->devices; i++) {
    interp_release(run->results[i]);
  }
  generated_close(&run->g);
}

static float *argument_data(struct run *run, const char *prefix, const char *name) {
  char whole[96];
  snprintf(whole, sizeof whole, "%s%s", prefix, name);
  return (float *)run->arguments[generated_index(&run->g, true, whole)]->data;
}

static const float *result_data(const struct run *run, const char *prefix, const char *name) {
  char whole[96];
  snprintf(whole, sizeof whole, "%s%s", prefix, name);
  return (const float *)run->results[generated_index(&run->g, false, whole)]->data;
}

/* New momentum = gradient + 0.9 x old. */
static double gradient_of(struct run *run, const char *name, uint64_t i) {
  return result_data(run, "optimizer.first.", name)[i] - 0.9 * (double)argument_data(run, "optimizer.first.", name)[i];
}

/* Moves a parameter from `kept` by t along `direction`, which has unit length; the loss there. */
static double loss_along(struct run *run, float *weight, const float *kept, const double *direction, uint64_t count,
                         double t) {
  for (uint64_t i = 0; i < count; i++) {
    weight[i] = (float)((double)kept[i] + t * direction[i]);
  }
  execute(run);
  memcpy(weight, kept, count * sizeof *weight);
  return result_data(run, "", "loss")[0];
}

enum { PARAMETER_MAX = 1024 };

/* Along a right gradient the loss grows by the gradient's length, along a wrong one by less. Differences over h and 2h without
 * their error of the third order; rounding of a loss of 4 in f32, 5e-7, over 2e-2 is 3e-5. The reported loss is the cross
 * entropy alone; the gradient is of that with 5e-5 of the squares of kernels. */
static void check_gradient(struct run *run, uint32_t argument, const char *name) {
  float *weight = (float *)run->arguments[argument]->data, kept[PARAMETER_MAX];
  double direction[PARAMETER_MAX], length = 0;
  uint64_t count = run->arguments[argument]->count;
  const bool is_decayed = strstr(name, "kernel") != NULL;
  assert_true(count <= PARAMETER_MAX);
  memcpy(kept, weight, count * sizeof *kept);
  execute(run);
  for (uint64_t i = 0; i < count; i++) {
    direction[i] = gradient_of(run, name, i) - (is_decayed ? 1e-4 * (double)kept[i] : 0);
    length += direction[i] * direction[i];
  }
  length = sqrt(length);
  for (uint64_t i = 0; i < count && length > 0; i++) {
    direction[i] /= length;
  }
  double growths[2];
  for (int k = 0; k < 2; k++) {
    const double h = 1e-2 * (k + 1);
    double ahead = loss_along(run, weight, kept, direction, count, h);
    growths[k] = (ahead - loss_along(run, weight, kept, direction, count, -h)) / (2 * h);
  }
  double growth = (4 * growths[0] - growths[1]) / 3;
  if (fabs(growth - length) > 1e-4 + 1e-2 * length) {
    fail_msg("%s: gradient of %s has the length %g, by differences %g", run->g.source.name, name, length, growth);
  }
}

static void test_gradients(void **state) {
  (void)state;
  static struct run run;
  static const struct generate_resnet *const models[] = {&bottlenecks, &basics};
  for (size_t k = 0; k < sizeof models / sizeof models[0]; k++) {
    uint32_t checked = 0;
    open_run(&run, models[k], 1, false);
    for (uint32_t i = 0; i < run.inputs; i++) {
      const char *name = generated_name(&run.g, true, i);
      if (strncmp(name, "weights.", 8) == 0) {
        check_gradient(&run, i, name + 8);
        checked++;
      }
    }
    assert_int_equal(checked, k == 0 ? 9 * 3 + 2 : 8 * 3 + 2);
    close_run(&run);
  }
}

/* Largest relative difference of all float results. */
static double distance(const struct run *a, const struct run *b) {
  double greatest = 0;
  assert_int_equal(a->outputs, b->outputs);
  for (uint32_t i = 0; i < a->outputs; i++) {
    if (a->results[i]->dtype == DTYPE_F32 && strcmp(generated_name(&a->g, false, i), "accuracy") != 0) {
      double d = generated_distance(a->results[i], b->results[i]);
      greatest = d > greatest ? d : greatest;
    }
  }
  return greatest;
}

/* The published program's statistics are of all devices, so two devices compute what one does with all images; with each
 * device's own they do not. Sums in another order: 1e-7 of rounding, times up to some hundred in variances, which are
 * differences of mean squares that are so much larger. */
static void test_data_parallel(void **state) {
  (void)state;
  static struct run one, two, local;
  open_run(&one, &bottlenecks, 1, false);
  open_run(&two, &bottlenecks, DEVICES, false);
  open_run(&local, &bottlenecks, DEVICES, true);
  execute(&one);
  execute(&two);
  execute(&local);
  assert_true(distance(&two, &one) < 1e-4);
  assert_true(distance(&local, &one) > 1e-2);
  for (uint32_t i = 0; i < two.outputs; i++) { /* devices stay alike, with either */
    assert_memory_equal(two.results[i]->data, two.results[two.outputs + i]->data, two.results[i]->size_bytes);
    assert_memory_equal(local.results[i]->data, local.results[local.outputs + i]->data, local.results[i]->size_bytes);
  }
  close_run(&one);
  close_run(&two);
  close_run(&local);
}

/* Mean and variance of the stem's convolution, computed here, in the running statistics; the update of a weight at step 510:
 * Nesterov's momentum and the cosine's rate. */
static void test_update(void **state) {
  (void)state;
  static struct run run;
  open_run(&run, &basics, 1, false);
  execute(&run);
  const float *kernel = argument_data(&run, "weights.", "conv_init.kernel"),
              *images = argument_data(&run, "", "images");
  enum { OUT = SIDE / 2, WIDTH = 4 };
  double sum = 0, squares = 0;
  for (int place = 0; place < BATCH * OUT * OUT; place++) {
    int image = place / (OUT * OUT), y = place / OUT % OUT, x = place % OUT;
    double value = 0;
    for (int k = 0; k < 7 * 7 * 3; k++) {
      int row = 2 * y + k / 21 - 3, column = 2 * x + k / 3 % 7 - 3, channel = k % 3;
      if (row >= 0 && row < SIDE && column >= 0 && column < SIDE) {
        value += (double)images[((image * SIDE + row) * SIDE + column) * 3 + channel] * (double)kernel[k * WIDTH + 1];
      }
    }
    sum += value;
    squares += value * value;
  }
  double mean = sum / (BATCH * OUT * OUT), variance = squares / (BATCH * OUT * OUT) - mean * mean;
  double old_mean = argument_data(&run, "statistics.", "bn_init.mean")[1];
  double old_variance = argument_data(&run, "statistics.", "bn_init.var")[1];
  assert_true(fabs(result_data(&run, "statistics.", "bn_init.mean")[1] - (0.9 * old_mean + 0.1 * mean)) < 1e-5);
  assert_true(fabs(result_data(&run, "statistics.", "bn_init.var")[1] - (0.9 * old_variance + 0.1 * variance)) < 1e-5);

  double rate = 0.1 * BATCH / 256 * 0.5 * (1 + cos(3.14159265358979 * (510 - 500) / 100));
  double gradient = gradient_of(&run, "Dense_0.kernel", 5);
  double momentum = result_data(&run, "optimizer.first.", "Dense_0.kernel")[5];
  double weight = argument_data(&run, "weights.", "Dense_0.kernel")[5] - rate * (gradient + 0.9 * momentum);
  assert_true(fabs(result_data(&run, "weights.", "Dense_0.kernel")[5] - weight) < 1e-6);
  assert_true(fabs(result_data(&run, "", "learning_rate")[0] - rate) < 1e-8);
  assert_int_equal(*(const int32_t *)(const void *)result_data(&run, "", "count"), 511);
  assert_int_equal(*(const int32_t *)(const void *)result_data(&run, "", "step"), 511);
  close_run(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_published), cmocka_unit_test(test_rows),
                                     cmocka_unit_test(test_flops),     cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_gradients), cmocka_unit_test(test_data_parallel),
                                     cmocka_unit_test(test_update)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
