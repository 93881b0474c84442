/* Kernels as composites, and those of norms, linear layers and activations. See generate_training_int.h. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "generate/generate_layers.h"
#include "generate/generate_training_int.h"

/* ---- composites ---- */

struct kernel_info {
  const char *name;
  training_kernel_function function;
  bool in_eager;
};

static const struct kernel_info kernels[] = {
#define TRAINING_KERNEL(id, name, function, eager) {name, function, eager},
#include "generate/generate_training_kernels.def"
#undef TRAINING_KERNEL
};

static bool is_composite(const struct training *t, enum training_kernel kernel) {
  switch (t->p.framework) {
  case GENERATE_MEGATRON:
    return true;
  case GENERATE_EAGER:
    return kernels[kernel].in_eager;
  case GENERATE_XLA: /* the compiler fuses; attention is a kernel written by hand, rows of experts are gathered in memory */
    return kernel == TRAINING_KERNEL_FLASH || kernel == TRAINING_KERNEL_FLASH_BACKWARD
           || (kernel >= TRAINING_KERNEL_PERMUTE && kernel <= TRAINING_KERNEL_UNPERMUTE_BACKWARD);
  }
  return false;
}

/* The function of operands of these types, its number; made on first use. UINT32_MAX when memory is exhausted. */
static uint32_t decompose(struct training *t, enum training_kernel kernel, const int64_t *numbers,
                          const struct ir_value *operands, uint32_t count, uint32_t result_count) {
  struct ir_module *m = t->b.m;
  struct ir_type types[2 * TRAINING_EXCHANGED];
  struct ir_value inside[2 * TRAINING_EXCHANGED], results[2 * TRAINING_EXCHANGED] = {{0}};
  assert(count <= 2 * TRAINING_EXCHANGED && result_count <= 2 * TRAINING_EXCHANGED);
  for (uint32_t i = 0; i < count; i++) {
    types[i] = ir_value_type(m, operands[i]);
  }
  struct training_decomposition made = {.kernel = kernel,
                                        .type = ir_type_list(m, IR_TYPE_FUNCTION, types, count, count).id};
  memcpy(made.numbers, numbers, sizeof made.numbers);
  for (size_t i = 0; i < t->decompositions.count; i++) {
    const struct training_decomposition *d = &t->decompositions.data[i];
    if (d->kernel == made.kernel && d->type == made.type && memcmp(d->numbers, numbers, sizeof d->numbers) == 0) {
      return (uint32_t)i;
    }
  }
  char name[80];
  struct generate_builder b = {.m = m, .activations = t->b.activations, .weights = t->b.weights};
  for (uint32_t i = 0; i < count; i++) {
    (void)generate_declare(&b, generate_dtype_of(&b, operands[i]), generate_shape_of(&b, operands[i]), -1, "x", 0);
  }
  generate_begin(&b);
  for (uint32_t i = 0; i < count; i++) {
    inside[i] = generate_argument_value(&b, i);
  }
  if (!m->out_of_memory) {
    kernels[kernel].function(t, &b, numbers, inside, count, results);
  }
  for (uint32_t i = 0; i < result_count; i++) {
    generate_result(&b, results[i], "y", 0);
  }
  snprintf(name, sizeof name, "%s.%zu", kernels[kernel].name, t->decompositions.count);
  generate_end_function(&b, name, true);
  generate_builder_release(&b);
  made.symbol = generate_name(&t->b, name);
  made.function = m->out_of_memory ? (struct ir_op){0} : ir_function_find(m, name);
  m->out_of_memory |= !vec_push(&t->decompositions, made);
  return m->out_of_memory ? UINT32_MAX : (uint32_t)t->decompositions.count - 1;
}

/* Types of the results as the function returns them. */
static void result_types(const struct ir_module *m, struct ir_op function, struct ir_type *types, uint32_t count) {
  struct ir_op end = ir_block_terminator(m, ir_function_body(m, function));
  for (uint32_t i = 0; i < count; i++) {
    types[i] = ir_value_type(m, ir_op_operand(m, end, i));
  }
}

static struct ir_attr text_attr(struct ir_module *m, const char *text) {
  return ir_attr_string(m, text, strlen(text), (struct ir_type){0});
}

static void call(struct training *t, enum training_kernel kernel, const int64_t *numbers,
                 const struct ir_value *operands, uint32_t count, struct ir_value *results, uint32_t result_count) {
  struct ir_module *m = t->b.m;
  struct ir_type types[2 * TRAINING_EXCHANGED];
  uint32_t made = decompose(t, kernel, numbers, operands, count, result_count);
  if (made == UINT32_MAX) {
    return;
  }
  const char *name = ir_text(m, t->decompositions.data[made].symbol);
  result_types(m, t->decompositions.data[made].function, types, result_count);
  generate_attribute(&t->b, "name", text_attr(m, kernels[kernel].name));
  generate_attribute(&t->b, "decomposition", ir_attr_text(m, IR_ATTR_SYMBOL, name, strlen(name), (struct ir_type){0}));
  if (kernel == TRAINING_KERNEL_FLASH || kernel == TRAINING_KERNEL_FLASH_BACKWARD) {
    uint32_t pairs[4] = {generate_name(&t->b, "causal_half"), ir_attr_bool(m, numbers[0] != 0).id,
                         generate_name(&t->b, "window"),
                         ir_attr_integer(m, numbers[1], ir_type_scalar(m, DTYPE_I64)).id};
    generate_attribute(&t->b, "composite_attributes", generate_dict(&t->b, pairs, numbers[1] > 0 ? 2 : 1));
  }
  struct ir_op_spec spec = {.opcode = IR_OP_COMPOSITE,
                            .operands = operands,
                            .operand_count = count,
                            .result_types = types,
                            .result_count = result_count};
  struct ir_op op = generate_operation(&t->b, t->b.block, &spec);
  for (uint32_t i = 0; i < result_count; i++) {
    results[i] = op.id != 0 ? ir_op_result(m, op, i) : (struct ir_value){0};
  }
}

void training_kernel(struct training *t, enum training_kernel kernel, const int64_t *numbers,
                     const struct ir_value *operands, uint32_t count, struct ir_value *results, uint32_t result_count) {
  static const int64_t zeros[4] = {0};
  memset(results, 0, result_count * sizeof *results);
  numbers = numbers != NULL ? numbers : zeros;
  for (uint32_t i = 0; i < count; i++) {
    t->b.m->out_of_memory |= operands[i].id == 0;
  }
  if (t->b.m->out_of_memory) {
    return;
  }
  if (is_composite(t, kernel)) {
    call(t, kernel, numbers, operands, count, results, result_count);
  } else {
    kernels[kernel].function(t, &t->b, numbers, operands, count, results);
  }
}

/* ---- norms: (x, weight[, bias]) → y; (dy, x, weight[, bias]) → dx, dweight[, dbias] ---- */

static struct ir_value mean(struct generate_builder *b, struct ir_value x) {
  uint32_t last = generate_shape_of(b, x).rank - 1;
  return generate_binary_scalar(b, IR_OP_DIVIDE, generate_reduce(b, IR_OP_ADD, x, last),
                                (double)generate_dim(b, x, last));
}

static struct ir_value times_rows(struct generate_builder *b, struct ir_value x, struct ir_value y) {
  return generate_binary_along(b, IR_OP_MULTIPLY, x, y, training_leading_axes(b, x));
}

/* x normalised, in f32, and what it was multiplied with. */
static struct ir_value normalise(const struct training *t, struct generate_builder *b, struct ir_value x,
                                 struct ir_value *factor) {
  x = generate_convert(b, x, DTYPE_F32);
  if (t->model.norm == GENERATE_LAYER_NORM) {
    x = generate_binary_along(b, IR_OP_SUBTRACT, x, mean(b, x), training_leading_axes(b, x));
  }
  struct ir_value square = mean(b, generate_binary(b, IR_OP_MULTIPLY, x, x));
  square = generate_binary_scalar(b, IR_OP_ADD, square, t->model.norm_epsilon);
  *factor = generate_unary(b, IR_OP_RSQRT, square);
  return times_rows(b, x, *factor);
}

static struct ir_value norm_weight(const struct training *t, struct generate_builder *b, struct ir_value weight) {
  weight = generate_convert(b, weight, DTYPE_F32);
  return t->model.norm == GENERATE_RMS_NORM_PLUS_ONE ? generate_binary_scalar(b, IR_OP_ADD, weight, 1) : weight;
}

void training_norm_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                          const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value factor, y = normalise(t, b, operands[0], &factor);
  (void)numbers;
  y = generate_binary_along(b, IR_OP_MULTIPLY, y, norm_weight(t, b, operands[1]), AXES(1));
  if (count > 2) {
    y = generate_binary_along(b, IR_OP_ADD, y, generate_convert(b, operands[2], DTYPE_F32), AXES(1));
  }
  results[0] = generate_convert(b, y, generate_dtype_of(b, operands[0]));
}

void training_norm_backward_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                   const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value factor, dy = generate_convert(b, operands[0], DTYPE_F32);
  struct ir_value x = normalise(t, b, operands[1], &factor);
  struct ir_value g = generate_binary_along(b, IR_OP_MULTIPLY, dy, norm_weight(t, b, operands[2]), AXES(1));
  (void)numbers;
  struct ir_value along = times_rows(b, x, mean(b, generate_binary(b, IR_OP_MULTIPLY, g, x)));
  struct ir_value dx = generate_binary(b, IR_OP_SUBTRACT, g, along);
  if (t->model.norm == GENERATE_LAYER_NORM) {
    dx = generate_binary_along(b, IR_OP_SUBTRACT, dx, mean(b, g), training_leading_axes(b, dx));
  }
  results[0] = generate_convert(b, times_rows(b, dx, factor), generate_dtype_of(b, operands[1]));
  results[1] = training_reduce_rows(b, generate_binary(b, IR_OP_MULTIPLY, dy, x), t->p.gradients);
  if (count > 3) {
    results[2] = training_reduce_rows(b, dy, t->p.gradients);
  }
}

/* ---- linear layers ---- */

/* (x, weight, bias): x weight + bias; numbers[0]: the weight's contracted axis */
void training_linear_bias_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                 const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)count;
  struct ir_value y = generate_dot(b, operands[0], 1, operands[1], (uint32_t)numbers[0], 0, t->p.compute);
  results[0] = generate_binary_along(b, IR_OP_ADD, y, operands[2], AXES(1));
}

/* (x, dy, sum): sum + x^T dy, the sum kept in the product's kernel; of experts with a leading axis */
void training_weight_gradient_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                     const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  uint32_t batch = generate_shape_of(b, operands[0]).rank - 2;
  (void)numbers;
  (void)count;
  struct ir_value product = generate_dot(b, operands[0], batch, operands[1], batch, batch, t->p.gradients);
  results[0] = generate_binary(b, IR_OP_ADD, operands[2], product);
}

/* x → its greatest magnitude as the type's largest number, and the factor that undoes it */
void training_quantise_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                              const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value x = generate_convert(b, operands[0], DTYPE_F32), most = generate_unary(b, IR_OP_ABS, x);
  double largest = t->p.products == DTYPE_F4E2M1FN ? 6 : 448; /* OCP 8-bit and microscaling formats, E4M3 and E2M1 */
  (void)numbers;
  (void)count;
  while (generate_shape_of(b, most).rank > 0 && !b->m->out_of_memory) {
    most = generate_reduce(b, IR_OP_MAXIMUM, most, generate_shape_of(b, most).rank - 1);
  }
  most = generate_binary_scalar(b, IR_OP_MAXIMUM, most, 1e-30);
  results[1] = generate_binary_scalar(b, IR_OP_DIVIDE, most, largest);
  x = generate_binary_along(b, IR_OP_DIVIDE, x, results[1], SCALAR);
  results[0] = generate_convert(b, x, t->p.products);
}

/* (x, weight, scale of x, of weight[, bias]): the product over axes numbers[0] and [1] after numbers[2] batch axes, in the
 * type numbers[3] */
void training_scaled_product_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                    const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)t;
  struct ir_value y = generate_dot(b, operands[0], (uint32_t)numbers[0], operands[1], (uint32_t)numbers[1],
                                   (uint32_t)numbers[2], DTYPE_F32);
  y = generate_binary_along(b, IR_OP_MULTIPLY, y, generate_binary(b, IR_OP_MULTIPLY, operands[2], operands[3]), SCALAR);
  if (count > 4) {
    y = generate_binary_along(b, IR_OP_ADD, y, generate_convert(b, operands[4], DTYPE_F32), AXES(1));
  }
  results[0] = generate_convert(b, y, (enum dtype)numbers[3]);
}

/* x → x: what PyTorch reads and writes once more between two kernels */
void training_copy_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                          const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)t;
  (void)numbers;
  (void)count;
  results[0] = generate_binary_scalar(b, IR_OP_MULTIPLY, operands[0], 1);
}

struct ir_value training_eager_copy(struct training *t, struct ir_value x, uint32_t times) {
  for (uint32_t i = 0; i < times && t->p.framework == GENERATE_EAGER; i++) {
    struct ir_value y;
    training_kernel(t, TRAINING_KERNEL_COPY, NULL, &x, 1, &y, 1);
    x = y;
  }
  return x;
}

void training_bias_gradient_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                   const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)numbers;
  (void)count;
  results[0] = training_reduce_rows(b, operands[0], t->p.gradients);
}

/* (x, y[, bias of y]): x + y */
void training_residual_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                              const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)t;
  (void)numbers;
  struct ir_value y = operands[1];
  y = count > 2 ? generate_binary_along(b, IR_OP_ADD, y, operands[2], AXES(1)) : y;
  results[0] = generate_binary(b, IR_OP_ADD, operands[0], y);
}

/* ---- dropout ---- */

/* Elements that stay, i1: a hash of the seed and of their number decides, another one for each number of a kernel. */
static struct ir_value draw(const struct training *t, struct generate_builder *b, struct generate_shape shape,
                            struct ir_value seed, int64_t number) {
  int64_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) {
    count *= shape.dims[i];
  }
  struct ir_value x = generate_iota(b, DTYPE_I32, SHAPE(count), 0);
  seed = generate_binary_scalar(b, IR_OP_ADD, seed, (double)(number * 7919 % 1000003));
  x = generate_binary_scalar(b, IR_OP_MULTIPLY, x, 747796405);
  x = generate_binary_along(b, IR_OP_ADD, x, generate_binary_scalar(b, IR_OP_MULTIPLY, seed, 277803737), SCALAR);
  for (int round = 0; round < 2; round++) {
    struct ir_value shift = generate_broadcast(b, generate_constant(b, DTYPE_I32, 15), SHAPE(count), SCALAR);
    x = generate_binary(b, IR_OP_XOR, x, generate_binary(b, IR_OP_SHIFT_RIGHT_LOGICAL, x, shift));
    x = generate_binary_scalar(b, IR_OP_MULTIPLY, x, 739982445);
  }
  double limit = (2 * t->p.dropout - 1) * 2147483648.0; /* of i32 from the least on */
  struct ir_value least = generate_broadcast(b, generate_constant(b, DTYPE_I32, limit), SHAPE(count), SCALAR);
  return generate_reshape(b, generate_compare(b, "GE", x, least), shape);
}

static struct ir_value drop(const struct training *t, struct generate_builder *b, struct ir_value x,
                            struct ir_value stays) {
  x = generate_binary_scalar(b, IR_OP_MULTIPLY, x, 1 / (1 - t->p.dropout));
  return generate_select(b, stays, SCALAR, x, 0);
}

/* (x, seed) → x of the elements that stay, these; numbers[0]: the node's */
void training_dropout_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                             const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)count;
  results[1] = draw(t, b, generate_shape_of(b, operands[0]), operands[1], numbers[0]);
  results[0] = drop(t, b, operands[0], results[1]);
}

/* (dy, what stays) → dx */
void training_dropout_backward_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                      const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  (void)numbers;
  (void)count;
  results[0] = drop(t, b, operands[0], operands[1]);
}

/* (x, y, seed[, bias of y]) → x + dropout(y), what stays */
void training_residual_dropout_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                      const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value y = operands[1];
  y = count > 3 ? generate_binary_along(b, IR_OP_ADD, y, operands[3], AXES(1)) : y;
  results[1] = draw(t, b, generate_shape_of(b, y), operands[2], numbers[0]);
  results[0] = generate_binary(b, IR_OP_ADD, operands[0], drop(t, b, y, results[1]));
}

/* ---- activations: (x[, bias]) → act(x) or act(gate) up; (dy, x[, bias]) → dx ---- */

static struct ir_value with_bias(struct generate_builder *b, const struct ir_value *operands, uint32_t count) {
  struct ir_value x = operands[0];
  if (count > 1) {
    x = generate_binary_along(b, IR_OP_ADD, x, operands[1], AXES(generate_shape_of(b, x).rank - 1));
  }
  return generate_convert(b, x, DTYPE_F32);
}

void training_activation_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value x = with_bias(b, operands, count);
  uint32_t last = generate_shape_of(b, x).rank - 1;
  int64_t width = generate_dim(b, x, last) / 2;
  (void)numbers;
  if (t->model.gated_ffn) {
    struct ir_value gate = generate_slice(b, x, last, 0, width), up = generate_slice(b, x, last, width, 2 * width);
    x = generate_binary(b, IR_OP_MULTIPLY, generate_activation(b, t->model.activation, gate), up);
  } else {
    x = generate_activation(b, t->model.activation, x);
  }
  results[0] = generate_convert(b, x, generate_dtype_of(b, operands[0]));
}

/* s (1 + x (1 - s)), s the logistic function */
static struct ir_value silu_slope(struct generate_builder *b, struct ir_value x) {
  struct ir_value s = generate_unary(b, IR_OP_LOGISTIC, x);
  struct ir_value rest = generate_unary(b, IR_OP_NEGATE, generate_binary_scalar(b, IR_OP_SUBTRACT, s, 1));
  rest = generate_binary_scalar(b, IR_OP_ADD, generate_binary(b, IR_OP_MULTIPLY, x, rest), 1);
  return generate_binary(b, IR_OP_MULTIPLY, s, rest);
}

/* (1 + t) / 2 + x (1 - t^2) c (1 + 3 a x^2) / 2, t = tanh(c (x + a x^3)) */
static struct ir_value gelu_slope(struct generate_builder *b, struct ir_value x) {
  const double c = sqrt(2 / acos(-1.0)), a = 0.044715;
  struct ir_value square = generate_binary(b, IR_OP_MULTIPLY, x, x);
  struct ir_value inner = generate_binary_scalar(b, IR_OP_ADD, generate_binary_scalar(b, IR_OP_MULTIPLY, square, a), 1);
  inner = generate_binary_scalar(b, IR_OP_MULTIPLY, generate_binary(b, IR_OP_MULTIPLY, x, inner), c);
  struct ir_value y = generate_unary(b, IR_OP_TANH, inner);
  struct ir_value low = generate_binary_scalar(b, IR_OP_MULTIPLY, generate_binary_scalar(b, IR_OP_ADD, y, 1), 0.5);
  struct ir_value rest = generate_binary(b, IR_OP_MULTIPLY, y, y);
  rest = generate_unary(b, IR_OP_NEGATE, generate_binary_scalar(b, IR_OP_SUBTRACT, rest, 1));
  struct ir_value slope = generate_binary_scalar(b, IR_OP_MULTIPLY, square, 3 * a);
  slope = generate_binary_scalar(b, IR_OP_ADD, slope, 1);
  slope = generate_binary_scalar(b, IR_OP_MULTIPLY, generate_binary(b, IR_OP_MULTIPLY, slope, x), c / 2);
  return generate_binary(b, IR_OP_ADD, low, generate_binary(b, IR_OP_MULTIPLY, slope, rest));
}

static struct ir_value slope_of(struct generate_builder *b, enum generate_activation kind, struct ir_value x) {
  struct ir_value zero;
  switch (kind) {
  case GENERATE_SILU:
    return silu_slope(b, x);
  case GENERATE_GELU_TANH:
    return gelu_slope(b, x);
  case GENERATE_RELU:
    zero = training_zeros(b, DTYPE_F32, generate_shape_of(b, x));
    return generate_convert(b, generate_compare(b, "GT", x, zero), DTYPE_F32);
  }
  return x;
}

void training_activation_backward_kernel(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                         const struct ir_value *operands, uint32_t count, struct ir_value *results) {
  struct ir_value dy = generate_convert(b, operands[0], DTYPE_F32), x = with_bias(b, operands + 1, count - 1);
  uint32_t last = generate_shape_of(b, x).rank - 1;
  int64_t width = generate_dim(b, x, last) / 2;
  (void)numbers;
  if (t->model.gated_ffn) {
    struct ir_value gate = generate_slice(b, x, last, 0, width), up = generate_slice(b, x, last, width, 2 * width);
    struct ir_value dup = generate_binary(b, IR_OP_MULTIPLY, dy, generate_activation(b, t->model.activation, gate));
    struct ir_value dgate = generate_binary(b, IR_OP_MULTIPLY, dy, up);
    dgate = generate_binary(b, IR_OP_MULTIPLY, dgate, slope_of(b, t->model.activation, gate));
    x = generate_concatenate(b, dgate, dup, last);
  } else {
    x = generate_binary(b, IR_OP_MULTIPLY, dy, slope_of(b, t->model.activation, x));
  }
  results[0] = generate_convert(b, x, generate_dtype_of(b, operands[0]));
}
