/* Inputs, free dimensions, outputs: the graph as the function @main. See onnx_build.h. */
#include <stdio.h>
#include <string.h>

#include "import/onnx_build.h"

enum { SHOWN_MAX = 80 };

static int shown(struct onnx_span span) {
  return (int)(span.length < SHOWN_MAX ? span.length : SHOWN_MAX);
}

static const char *text_of(struct onnx_span span) {
  return span.length > 0 ? span.text : "";
}

static bool same_text(struct onnx_span a, struct onnx_span b) {
  return a.length == b.length && memcmp(text_of(a), text_of(b), a.length) == 0;
}

bool onnx_is_initializer(const struct onnx_builder *b, struct onnx_span name) {
  uint32_t id = intern_find(&b->strings, text_of(name), name.length), unused;
  return id != 0 && map_get(&b->initializers, id, &unused);
}

/* Old models list initializers among the inputs. */
static void mark_initializers(struct onnx_builder *b, const struct onnx_graph *graph) {
  for (size_t i = 0; i < graph->initializers.count && !b->is_failed; i++) {
    struct onnx_span name = graph->initializers.items[i].name;
    uint32_t id = intern_add(&b->strings, text_of(name), name.length);
    if (id == UINT32_MAX || !map_set(&b->initializers, id, 1)) {
      onnx_fail_memory(b);
    }
  }
}

/* ---- bound dimensions ---- */

struct bind_shape {
  int64_t dims[ONNX_RANK_MAX]; /* IR_DYNAMIC for '?' */
  uint32_t rank;
};

/* "1x3x?" after the '=' of a specification. */
static bool read_shape(const char *text, struct bind_shape *shape) {
  shape->rank = 0;
  while (*text != '\0') {
    int64_t size = 0;
    if (*text == '?') {
      size = IR_DYNAMIC;
      text++;
    } else if (*text >= '0' && *text <= '9') {
      for (; *text >= '0' && *text <= '9'; text++) {
        if (size > (INT64_MAX - 9) / 10) {
          return false;
        }
        size = size * 10 + (*text - '0');
      }
    } else {
      return false;
    }
    if (shape->rank == ONNX_RANK_MAX) {
      return false;
    }
    shape->dims[shape->rank++] = size;
    if (*text != '\0' && (*text++ != 'x' || *text == '\0')) {
      return false;
    }
  }
  return true;
}

static const struct onnx_shape *shape_of(const struct onnx_value_info *info) {
  return info->type != NULL && info->type->tensor != NULL ? info->type->tensor->shape : NULL;
}

static const struct onnx_bound *find_bound(const struct onnx_builder *b, struct onnx_span name) {
  for (size_t i = 0; i < b->bounds.count; i++) {
    if (same_text(b->bounds.data[i].name, name)) {
      return &b->bounds.data[i];
    }
  }
  return NULL;
}

static bool add_bound(struct onnx_builder *b, struct onnx_span name, int64_t size) {
  const struct onnx_bound *old = find_bound(b, name);
  if (old != NULL) {
    if (old->size != size) {
      onnx_fail(b, DIAG_E0112_BIND, "dimension '%.*s' is bound to %lld and to %lld", shown(name), text_of(name),
                (long long)old->size, (long long)size);
    }
    return old->size == size;
  }
  struct onnx_bound bound = {name, size};
  if (!vec_push(&b->bounds, bound)) {
    onnx_fail_memory(b);
    return false;
  }
  return true;
}

/* Whether the name in front of '=' means this input, which is the number-th: its name, argN or %argN. */
static bool means_input(struct onnx_span spec, const struct onnx_value_info *info, size_t number) {
  char text[32];
  if (same_text(spec, info->name)) {
    return true;
  }
  snprintf(text, sizeof text, "%%arg%zu", number);
  return onnx_span_is(spec, text) || onnx_span_is(spec, text + 1);
}

/* A shape given for an input binds the names of its dimensions as well. */
static bool bind_input(struct onnx_builder *b, const struct onnx_value_info *info, const struct bind_shape *given,
                       const char *spec) {
  const struct onnx_shape *shape = shape_of(info);
  if (shape == NULL) {
    return true; /* of any rank: used when the type is made */
  }
  if (shape->dims.count != given->rank) {
    onnx_fail(b, DIAG_E0112_BIND, "cannot bind '%.200s': the input has %zu dimensions", spec, shape->dims.count);
    return false;
  }
  for (uint32_t i = 0; i < given->rank; i++) {
    const struct onnx_dimension *d = &shape->dims.items[i];
    if (ONNX_HAS(d, ONNX_DIMENSION_VALUE) && given->dims[i] != IR_DYNAMIC && d->value != given->dims[i]) {
      onnx_fail(b, DIAG_E0112_BIND, "cannot bind '%.200s': dimension %u is %lld in the model", spec, i,
                (long long)d->value);
      return false;
    }
    if (d->parameter.length > 0 && given->dims[i] != IR_DYNAMIC && !add_bound(b, d->parameter, given->dims[i])) {
      return false;
    }
  }
  return true;
}

static bool is_parameter(const struct onnx_graph *graph, struct onnx_span name) {
  for (size_t i = 0; i < graph->inputs.count; i++) {
    const struct onnx_shape *shape = shape_of(&graph->inputs.items[i]);
    for (size_t d = 0; shape != NULL && d < shape->dims.count; d++) {
      if (same_text(shape->dims.items[d].parameter, name)) {
        return true;
      }
    }
  }
  return false;
}

static void read_bind(struct onnx_builder *b, const char *spec) {
  const struct onnx_graph *graph = b->model->graph;
  const char *equal = strrchr(spec, '=');
  struct onnx_span name = {spec, equal != NULL ? (size_t)(equal - spec) : 0};
  struct bind_shape shape;
  size_t number = 0;
  if (equal == NULL || !read_shape(equal + 1, &shape)) {
    onnx_fail(b, DIAG_E0112_BIND,
              "cannot bind '%.200s': expected dimension=size or input=dimensions, such as batch=8 or x=8x3x224x224",
              spec);
    return;
  }
  if (shape.rank == 1 && is_parameter(graph, name)) {
    (void)add_bound(b, name, shape.dims[0]);
    return;
  }
  for (size_t i = 0; i < graph->inputs.count; i++) {
    const struct onnx_value_info *info = &graph->inputs.items[i];
    if (onnx_is_initializer(b, info->name)) {
      continue;
    }
    if (means_input(name, info, number++)) {
      (void)bind_input(b, info, &shape, spec);
      return;
    }
  }
  onnx_fail(b, DIAG_E0112_BIND, "cannot bind '%.200s': the model has no such dimension or input", spec);
}

void onnx_read_binds(struct onnx_builder *b) {
  mark_initializers(b, b->model->graph);
  for (size_t i = 0; i < b->options->bind_count && !b->is_failed; i++) {
    read_bind(b, b->options->binds[i]);
  }
}

/* ---- types of inputs ---- */

/* What --bind says of the input as a whole, or false. */
static bool given_shape(const struct onnx_builder *b, const struct onnx_value_info *info, size_t number,
                        struct bind_shape *shape) {
  for (size_t i = 0; i < b->options->bind_count; i++) {
    const char *spec = b->options->binds[i], *equal = strrchr(spec, '=');
    if (equal != NULL && means_input((struct onnx_span){spec, (size_t)(equal - spec)}, info, number)
        && read_shape(equal + 1, shape)) {
      return true;
    }
  }
  return false;
}

/* Adds what of the input is free to `missing`: once each name. */
static void add_missing(struct onnx_builder *b, const struct onnx_value_info *info, size_t dim,
                        struct strbuf *missing) {
  const struct onnx_shape *shape = shape_of(info);
  struct onnx_span name = shape != NULL ? shape->dims.items[dim].parameter : (struct onnx_span){NULL, 0};
  if (name.length > 0 && find_bound(b, name) != NULL) {
    return;
  }
  strbuf_puts(missing, missing->length > 0 ? ", " : "");
  if (name.length > 0) {
    (void)add_bound(b, name, 1); /* so that it is named once; the import fails anyway */
    strbuf_printf(missing, "'%.*s'", shown(name), text_of(name));
  } else {
    strbuf_printf(missing, "%zu of input '%.*s'", dim, shown(info->name), text_of(info->name));
  }
}

static uint32_t input_dims(struct onnx_builder *b, const struct onnx_value_info *info, size_t number, int64_t *dims,
                           struct strbuf *missing) {
  const struct onnx_shape *shape = shape_of(info);
  struct bind_shape given = {.rank = 0};
  bool is_given = given_shape(b, info, number, &given);
  if (shape == NULL) {
    if (!is_given) {
      onnx_fail(b, DIAG_E0401_DYNAMIC, "input '%.*s' has no shape in the model: --bind %.*s=1x3x224x224 gives it one",
                shown(info->name), text_of(info->name), shown(info->name), text_of(info->name));
    }
    memcpy(dims, given.dims, given.rank * sizeof *dims);
    return given.rank;
  }
  if (!onnx_check(b, shape->dims.count <= ONNX_RANK_MAX, "input '%.*s' has %zu dimensions", shown(info->name),
                  text_of(info->name), shape->dims.count)) {
    return 0;
  }
  for (size_t i = 0; i < shape->dims.count; i++) {
    const struct onnx_dimension *d = &shape->dims.items[i];
    const struct onnx_bound *bound = d->parameter.length > 0 ? find_bound(b, d->parameter) : NULL;
    int64_t stated = is_given && i < given.rank ? given.dims[i] : IR_DYNAMIC;
    dims[i] = ONNX_HAS(d, ONNX_DIMENSION_VALUE) ? d->value : bound != NULL ? bound->size : stated;
    if (dims[i] == IR_DYNAMIC) {
      add_missing(b, info, i, missing);
      dims[i] = 1;
    }
  }
  return (uint32_t)shape->dims.count;
}

void onnx_graph_inputs(struct onnx_builder *b, const struct onnx_graph *graph) {
  struct strbuf missing = {0};
  size_t number = 0;
  for (size_t i = 0; i < graph->inputs.count && !b->is_failed; i++) {
    const struct onnx_value_info *info = &graph->inputs.items[i];
    int64_t dims[ONNX_RANK_MAX];
    if (onnx_is_initializer(b, info->name)) {
      continue;
    }
    if (info->name.length == 0) {
      onnx_fail(b, DIAG_E0106_UNDEFINED, "input %zu has no name", i);
      break;
    }
    if (info->type == NULL || info->type->tensor == NULL) {
      onnx_fail(b, DIAG_E0104_TYPE, "input '%.*s' is not a tensor", shown(info->name), text_of(info->name));
      break;
    }
    enum dtype dtype = onnx_dtype_of(b, info->type->tensor->element);
    uint32_t rank = input_dims(b, info, number++, dims, &missing);
    onnx_bind_name(b, info->name, onnx_new_value(b, dtype, dims, rank));
  }
  if (missing.length > 0) {
    onnx_fail(b, DIAG_E0401_DYNAMIC, "the model leaves dimensions free: %s; give each a size, such as --bind batch=1",
              strbuf_text(&missing));
  }
  strbuf_release(&missing);
}

void onnx_build_initializers(struct onnx_builder *b, const struct onnx_graph *graph) {
  if (!onnx_check(b, graph->sparse_initializers.count == 0, "sparse initializers are not read")) {
    return;
  }
  for (size_t i = 0; i < graph->initializers.count && !b->is_failed; i++) {
    const struct onnx_tensor *t = &graph->initializers.items[i];
    onnx_bind_name(b, t->name, onnx_tensor_value(b, t));
  }
}

/* ---- the function ---- */

/* [{onnx.name = "x"}, ...] */
static void push_names(struct onnx_builder *b, const char *attribute, const struct onnx_graph *graph, bool of_inputs) {
  size_t count = of_inputs ? graph->inputs.count : graph->outputs.count, used = 0;
  struct ir_attr *items = arena_calloc(&b->arena, count + 1, sizeof *items);
  uint32_t name_id = intern_add_cstr(&b->m->strings, "onnx.name");
  if (b->is_failed || items == NULL || name_id == UINT32_MAX) {
    onnx_fail_memory(b);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    const struct onnx_value_info *info = of_inputs ? &graph->inputs.items[i] : &graph->outputs.items[i];
    if (of_inputs && onnx_is_initializer(b, info->name)) {
      continue;
    }
    struct ir_attr name = ir_attr_string(b->m, text_of(info->name), info->name.length, (struct ir_type){0});
    uint32_t pair[2] = {name_id, name.id};
    items[used++] = name.id != 0 ? ir_attr_dict(b->m, pair, 1) : name;
    if (items[used - 1].id == 0) {
      onnx_fail_memory(b);
      return;
    }
  }
  if (used > 0) {
    struct ir_attr array = ir_attr_array(b->m, items, (uint32_t)used);
    uint32_t id = intern_add_cstr(&b->m->strings, attribute);
    if (array.id == 0 || id == UINT32_MAX || !vec_push(&b->pairs, id) || !vec_push(&b->pairs, array.id)) {
      onnx_fail_memory(b);
    }
  }
}

static void push_pair(struct onnx_builder *b, const char *name, struct ir_attr attr) {
  uint32_t id = intern_add_cstr(&b->m->strings, name);
  if (attr.id == 0 || id == UINT32_MAX || !vec_push(&b->pairs, id) || !vec_push(&b->pairs, attr.id)) {
    onnx_fail_memory(b);
  }
}

/* Arguments of the entry block and their types. */
static uint32_t add_arguments(struct onnx_builder *b, const struct onnx_graph *graph, struct ir_type *types) {
  uint32_t count = 0;
  for (size_t i = 0; i < graph->inputs.count && !b->is_failed; i++) {
    if (!onnx_is_initializer(b, graph->inputs.items[i].name)) {
      types[count++] = onnx_ir_type(b, onnx_lookup(b, graph->inputs.items[i].name));
    }
  }
  if (!b->is_failed && !ir_block_set_arguments(b->m, b->entry, types, count)) {
    onnx_fail_memory(b);
  }
  for (size_t i = 0, k = 0; i < graph->inputs.count && !b->is_failed; i++) {
    if (!onnx_is_initializer(b, graph->inputs.items[i].name)) {
      struct onnx_val v = onnx_lookup(b, graph->inputs.items[i].name);
      b->values.data[v.id].value = ir_block_argument(b->m, b->entry, (uint32_t)k++);
    }
  }
  return count;
}

/* func.return of the outputs; appends their types. */
static void add_results(struct onnx_builder *b, const struct onnx_graph *graph, struct ir_type *types) {
  struct ir_value *values = arena_calloc(&b->arena, graph->outputs.count + 1, sizeof *values);
  b->node = NULL;
  if (values == NULL) {
    onnx_fail_memory(b);
  }
  for (size_t i = 0; i < graph->outputs.count && !b->is_failed; i++) {
    struct onnx_span name = graph->outputs.items[i].name;
    struct onnx_val v = onnx_lookup(b, name);
    if (v.id == 0) {
      onnx_fail(b, DIAG_E0106_UNDEFINED, "output '%.*s' is not defined", shown(name), text_of(name));
      return;
    }
    values[i] = onnx_ir(b, v);
    types[i] = onnx_ir_type(b, v);
  }
  struct ir_op_spec spec = {
      .opcode = IR_OP_FUNC_RETURN, .operands = values, .operand_count = (uint32_t)graph->outputs.count};
  if (!b->is_failed && ir_op_create(b->m, b->entry, &spec).id == 0) {
    onnx_fail_memory(b);
  }
}

void onnx_build_main(struct onnx_builder *b, struct ir_block top) {
  const struct onnx_graph *graph = b->model->graph;
  struct ir_region region = ir_region_create(b->m);
  b->block = b->entry = ir_block_create(b->m, region);
  struct ir_type *types = arena_calloc(&b->arena, graph->inputs.count + graph->outputs.count + 1, sizeof *types);
  if (b->entry.id == 0 || types == NULL) {
    onnx_fail_memory(b);
    return;
  }
  onnx_graph_inputs(b, graph);
  uint32_t inputs = b->is_failed ? 0 : add_arguments(b, graph, types);
  onnx_build_initializers(b, graph);
  onnx_build_nodes(b, graph->nodes.items, graph->nodes.count);
  if (b->is_failed) {
    return;
  }
  add_results(b, graph, types + inputs);
  struct ir_type type =
      b->is_failed ? (struct ir_type){0}
                   : ir_type_list(b->m, IR_TYPE_FUNCTION, types, inputs + (uint32_t)graph->outputs.count, inputs);
  if (type.id == 0) {
    onnx_fail_memory(b);
    return;
  }
  b->pairs.count = 0;
  push_pair(b, "sym_name", ir_attr_string(b->m, "main", 4, (struct ir_type){0}));
  push_pair(b, "function_type", ir_attr_type(b->m, type));
  push_pair(b, "sym_visibility", ir_attr_string(b->m, "public", 6, (struct ir_type){0}));
  push_names(b, "arg_attrs", graph, true);
  push_names(b, "res_attrs", graph, false);
  struct ir_op_spec spec = {.opcode = IR_OP_FUNC_FUNC,
                            .attrs = b->pairs.data,
                            .attr_count = (uint32_t)b->pairs.count / 2,
                            .regions = &region,
                            .region_count = 1};
  if (!b->is_failed && ir_op_create(b->m, top, &spec).id == 0) {
    onnx_fail_memory(b);
  }
}
