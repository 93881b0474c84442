/* Arguments, results and the function @main. See generate_build.h. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "generate/generate_build.h"

static uint32_t name_id(struct generate_builder *b, const char *prefix, const char *format, unsigned layer) {
  char rest[64], name[96];
  snprintf(rest, sizeof rest, format, layer);
  snprintf(name, sizeof name, "%s%s", prefix, rest);
  return intern_add_cstr(&b->m->strings, name);
}

static uint32_t declare(struct generate_builder *b, enum dtype dtype, struct generate_shape shape, int32_t alias,
                        uint32_t name) {
  struct ir_type type = ir_type_tensor(b->m, ir_type_scalar(b->m, dtype), shape.dims, shape.rank, (struct ir_attr){0});
  struct generate_argument argument = {.name = name, .type = type, .alias = alias};
  bool ok = name != UINT32_MAX && type.id != 0 && vec_push(&b->arguments, argument);
  b->m->out_of_memory |= !ok;
  return ok ? (uint32_t)b->arguments.count - 1 : 0;
}

uint32_t generate_declare(struct generate_builder *b, enum dtype dtype, struct generate_shape shape, int32_t alias,
                          const char *format, unsigned layer) {
  return declare(b, dtype, shape, alias, name_id(b, "", format, layer));
}

struct generate_weight generate_declare_plain(struct generate_builder *b, struct generate_shape shape, const char *name,
                                              unsigned layer) {
  return (struct generate_weight){.value =
                                      1 + declare(b, b->activations, shape, -1, name_id(b, "weights.", name, layer))};
}

struct generate_weight generate_declare_matrix(struct generate_builder *b, struct generate_shape shape,
                                               uint32_t contracted, const char *name, unsigned layer) {
  if (b->weights == b->activations) {
    return generate_declare_plain(b, shape, name, layer);
  }
  struct generate_shape scales = {.rank = 0};
  for (uint32_t i = 0; i < shape.rank; i++) {
    if (i != contracted) {
      scales.dims[scales.rank++] = shape.dims[i];
    }
  }
  uint32_t value = declare(b, b->weights, shape, -1, name_id(b, "weights.", name, layer));
  uint32_t scale = declare(b, b->activations, scales, -1, name_id(b, "scales.", name, layer));
  return (struct generate_weight){value + 1, scale + 1};
}

void generate_begin(struct generate_builder *b) {
  size_t count = b->arguments.count;
  VEC(struct ir_type) types = {0};
  b->region = ir_region_create(b->m);
  b->block = ir_block_create(b->m, b->region);
  bool ok = !b->m->out_of_memory && vec_reserve(&types, count + 1);
  for (size_t i = 0; ok && i < count; i++) {
    types.data[i] = b->arguments.data[i].type;
  }
  ok = ok && ir_block_set_arguments(b->m, b->block, types.data, (uint32_t)count);
  b->m->out_of_memory |= !ok;
  vec_release(&types);
}

struct ir_value generate_argument_value(const struct generate_builder *b, uint32_t argument) {
  return b->m->out_of_memory ? (struct ir_value){0} : ir_block_argument(b->m, b->block, argument);
}

struct ir_value generate_weight_value(struct generate_builder *b, struct generate_weight weight, uint32_t contracted) {
  assert(weight.value != 0);
  struct ir_value value = generate_argument_value(b, weight.value - 1);
  if (weight.scale == 0) {
    return value;
  }
  struct generate_shape shape = generate_shape_of(b, value), axes = {.rank = 0};
  for (uint32_t i = 0; i < shape.rank; i++) {
    if (i != contracted) {
      axes.dims[axes.rank++] = i;
    }
  }
  return generate_binary_along(b, IR_OP_MULTIPLY, generate_convert(b, value, b->activations),
                               generate_argument_value(b, weight.scale - 1), axes);
}

void generate_result(struct generate_builder *b, struct ir_value value, const char *format, unsigned layer) {
  uint32_t name = name_id(b, "", format, layer);
  b->m->out_of_memory |= name == UINT32_MAX || !vec_push(&b->results, value) || !vec_push(&b->result_names, name);
}

/* ---- the function ---- */

static struct ir_attr text_attr(struct ir_module *m, const char *text) {
  return ir_attr_string(m, text, strlen(text), (struct ir_type){0});
}

/* {jax.arg_info = "name", tf.aliasing_output = 3 : i32} */
static struct ir_attr entry_attr(struct generate_builder *b, const char *key, uint32_t name, int32_t alias) {
  uint32_t pairs[4] = {intern_add_cstr(&b->m->strings, key), text_attr(b->m, ir_text(b->m, name)).id};
  if (alias >= 0) {
    pairs[2] = intern_add_cstr(&b->m->strings, "tf.aliasing_output");
    pairs[3] = ir_attr_integer(b->m, alias, ir_type_scalar(b->m, DTYPE_I32)).id;
  }
  return b->m->out_of_memory ? (struct ir_attr){0} : ir_attr_dict(b->m, pairs, alias >= 0 ? 2 : 1);
}

struct function_parts {
  VEC(struct ir_type) types; /* of arguments, then of results */
  VEC(struct ir_attr) arguments, results;
};

static bool collect(struct generate_builder *b, struct function_parts *parts) {
  for (size_t i = 0; i < b->arguments.count; i++) {
    struct generate_argument argument = b->arguments.data[i];
    struct ir_attr attr = entry_attr(b, "jax.arg_info", argument.name, argument.alias);
    if (b->m->out_of_memory || !vec_push(&parts->types, argument.type) || !vec_push(&parts->arguments, attr)) {
      return false;
    }
  }
  for (size_t i = 0; i < b->results.count; i++) {
    struct ir_attr attr = entry_attr(b, "jax.result_info", b->result_names.data[i], -1);
    if (b->m->out_of_memory || !vec_push(&parts->types, ir_value_type(b->m, b->results.data[i]))
        || !vec_push(&parts->results, attr)) {
      return false;
    }
  }
  return true;
}

static void add_function(struct generate_builder *b, const char *name, bool is_private,
                         const struct function_parts *parts) {
  struct ir_module *m = b->m;
  uint32_t inputs = (uint32_t)b->arguments.count, outputs = (uint32_t)b->results.count;
  struct ir_type type = ir_type_list(m, IR_TYPE_FUNCTION, parts->types.data, inputs + outputs, inputs);
  struct ir_attr values[] = {text_attr(m, name), ir_attr_type(m, type), text_attr(m, is_private ? "private" : "public"),
                             ir_attr_array(m, parts->arguments.data, inputs),
                             ir_attr_array(m, parts->results.data, outputs)};
  static const char *const keys[] = {"sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs"};
  uint32_t pairs[10], count = is_private ? 3 : 5;
  for (size_t i = 0; i < count; i++) {
    pairs[2 * i] = intern_add_cstr(&m->strings, keys[i]);
    pairs[2 * i + 1] = values[i].id;
  }
  struct ir_op_spec end = {.opcode = IR_OP_FUNC_RETURN, .operands = b->results.data, .operand_count = outputs};
  struct ir_op_spec function = {
      .opcode = IR_OP_FUNC_FUNC, .attrs = pairs, .attr_count = count, .regions = &b->region, .region_count = 1};
  if (!m->out_of_memory) {
    (void)ir_op_create(m, b->block, &end);
  }
  if (!m->out_of_memory) {
    (void)ir_op_create(m, ir_region_entry(m, ir_op_region(m, m->root, 0)), &function);
  }
}

void generate_end_function(struct generate_builder *b, const char *name, bool is_private) {
  struct function_parts parts = {0};
  if (!b->m->out_of_memory && collect(b, &parts)) {
    add_function(b, name, is_private, &parts);
  } else {
    b->m->out_of_memory = true;
  }
  vec_release(&parts.types);
  vec_release(&parts.arguments);
  vec_release(&parts.results);
}

void generate_end(struct generate_builder *b) {
  generate_end_function(b, "main", false);
}

void generate_builder_release(struct generate_builder *b) {
  vec_release(&b->arguments);
  vec_release(&b->results);
  vec_release(&b->result_names);
}
