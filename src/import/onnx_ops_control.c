/* If, Loop and Scan of ONNX as regions. Values from outside are captured. See onnx_build.h. */
#include <string.h>

#include "import/onnx_emit.h"
#include "import/onnx_ops.h"

static const struct onnx_val none = {0};

static struct onnx_val *new_values(struct onnx_builder *b, size_t count) {
  struct onnx_val *values = arena_calloc(&b->arena, count + 1, sizeof *values);
  if (values == NULL) {
    onnx_fail_memory(b);
  }
  return values;
}

/* stablehlo.return at the end of the block that is being built. */
static void end_block(struct onnx_builder *b, const struct onnx_val *values, uint32_t count) {
  (void)onnx_emit_many(b, IR_OP_RETURN, values, count, NULL, 0, NULL, 0);
}

/* A new value of another one's type. */
static struct onnx_val same_type(struct onnx_builder *b, struct onnx_val v) {
  return b->is_failed ? none : onnx_new_value(b, onnx_dtype(b, v), onnx_get(b, v)->dims, onnx_rank(b, v));
}

static bool is_same_type(const struct onnx_builder *b, struct onnx_val x, struct onnx_val y) {
  return onnx_dtype(b, x) == onnx_dtype(b, y) && onnx_same_dims(b, x, y);
}

static const struct onnx_graph *body_of(struct onnx_builder *b, const struct onnx_node *n, const char *name) {
  const struct onnx_attribute *a = onnx_attribute(b, n, name);
  if (a == NULL || a->g == NULL) {
    (void)onnx_check(b, false, "attribute '%s' must be a graph", name);
    return NULL;
  }
  return a->g;
}

/* A region of one block that the next operations go to; the block they went to before. */
static struct ir_block open_region(struct onnx_builder *b, struct ir_region *region) {
  struct ir_block outer = b->block;
  *region = ir_region_create(b->m);
  struct ir_block block = ir_block_create(b->m, *region);
  if (block.id == 0) {
    onnx_fail_memory(b);
  } else {
    b->block = block;
  }
  return outer;
}

/* Arguments of the block that is being built, one per value, which they define. */
static void add_arguments(struct onnx_builder *b, const struct onnx_val *values, uint32_t count) {
  struct ir_type *types = arena_calloc(&b->arena, count + 1, sizeof *types);
  if (types == NULL) {
    onnx_fail_memory(b);
    return;
  }
  for (uint32_t i = 0; i < count && !b->is_failed; i++) {
    types[i] = onnx_ir_type(b, values[i]);
  }
  if (b->is_failed || !ir_block_set_arguments(b->m, b->block, types, count)) {
    onnx_fail_memory(b);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    b->values.data[values[i].id].value = ir_block_argument(b->m, b->block, i);
  }
}

/* ---- If ---- */

void onnx_build_if(struct onnx_builder *b, const struct onnx_node *n) {
  static const char *const names[2] = {"then_branch", "else_branch"};
  int64_t known;
  uint32_t count = (uint32_t)n->outputs.count;
  struct onnx_val predicate = onnx_input(b, n, 0), *outputs[2];
  struct ir_region regions[2];
  bool is_known = onnx_known_int(b, predicate, &known);
  for (int i = 0; i < 2 && !b->is_failed; i++) {
    const struct onnx_graph *graph = body_of(b, n, names[i]);
    outputs[i] = graph != NULL ? new_values(b, graph->outputs.count) : NULL;
    if (outputs[i] == NULL
        || !onnx_check(b, graph->outputs.count == count, "a branch has %zu outputs instead of %u", graph->outputs.count,
                       count)) {
      return;
    }
    if (is_known) {
      if ((known != 0) == (i == 0) && onnx_subgraph(b, graph, NULL, 0, outputs[i])) {
        for (uint32_t k = 0; k < count; k++) {
          onnx_output(b, n, k, outputs[i][k]);
        }
      }
      continue;
    }
    struct ir_block outer = open_region(b, &regions[i]);
    (void)onnx_subgraph(b, graph, NULL, 0, outputs[i]);
    end_block(b, outputs[i], count);
    b->block = outer;
  }
  if (is_known || b->is_failed) {
    return;
  }
  struct onnx_val *results = new_values(b, count);
  for (uint32_t k = 0; k < count && !b->is_failed; k++) {
    (void)onnx_check(b, is_same_type(b, outputs[0][k], outputs[1][k]),
                     "output %u has another type in each branch, and the condition is not known when the model is read",
                     k);
    results[k] = same_type(b, outputs[0][k]);
  }
  if (!b->is_failed && onnx_check(b, onnx_get(b, predicate)->count == 1, "the condition must be one truth value")) {
    predicate = onnx_reshape(b, predicate, NULL, 0);
    (void)onnx_emit_many(b, IR_OP_IF, &predicate, 1, regions, 2, results, count);
  }
  for (uint32_t k = 0; k < count; k++) {
    onnx_output(b, n, k, results[k]);
  }
}

/* ---- loops ---- */

/* A loop as stablehlo.while: it carries the counter, states, and one buffer per scan output. */
struct loop {
  const struct onnx_graph *body;
  struct onnx_val limit; /* trip count, i64; 0 = none */
  bool has_condition; /* the condition is carried behind the counter */
  uint32_t state_count, slice_count, scan_count;
  const struct onnx_val *initial; /* states */
  const struct onnx_val *slices; /* Scan: inputs that are cut along an axis */
  int64_t length; /* trip count when scan outputs need it */
  const int64_t *slice_axes, *slice_reversed, *scan_axes, *scan_reversed; /* per slice and scan output */
  bool is_scan; /* the body has neither counter nor condition */
};

/* Inputs of the body: (counter, condition), states, slices at the counter. */
static struct onnx_val *body_inputs(struct onnx_builder *b, const struct loop *l, struct onnx_val counter,
                                    struct onnx_val condition, const struct onnx_val *states, uint32_t *count) {
  struct onnx_val *inputs = new_values(b, l->state_count + l->slice_count + 2);
  *count = 0;
  if (inputs == NULL) {
    return NULL;
  }
  if (!l->is_scan) {
    inputs[(*count)++] = counter;
    inputs[(*count)++] = condition;
  }
  for (uint32_t i = 0; i < l->state_count; i++) {
    inputs[(*count)++] = states[i];
  }
  for (uint32_t i = 0; i < l->slice_count && !b->is_failed; i++) {
    struct onnx_val starts[ONNX_RANK_MAX], at = counter;
    int64_t sizes[ONNX_RANK_MAX], left[ONNX_RANK_MAX];
    uint32_t rank = onnx_dims(b, l->slices[i], sizes), axis = (uint32_t)l->slice_axes[i], kept = 0;
    if (l->slice_reversed[i] != 0) {
      at = onnx_sub(b, onnx_const_int(b, DTYPE_I64, l->length - 1), counter);
    }
    for (uint32_t d = 0; d < rank; d++) {
      starts[d] = d == axis ? at : onnx_const_int(b, DTYPE_I64, 0);
      if (d != axis) {
        left[kept++] = sizes[d];
      }
    }
    sizes[axis] = 1;
    inputs[(*count)++] = onnx_reshape(b, onnx_dynamic_slice(b, l->slices[i], starts, sizes), left, kept);
  }
  return inputs;
}

/* Types of the scan outputs of one iteration: the body is built into a module that is thrown away. */
static bool find_scan_types(struct onnx_builder *b, const struct loop *l, struct onnx_val *types) {
  struct ir_module *m = b->m, *scratch = ir_module_new(b->arena.budget_bytes);
  size_t count = b->values.count;
  struct onnx_value *saved = malloc((count + 1) * sizeof *saved);
  struct ir_block block = b->block, entry = b->entry;
  struct ir_attr location = b->location;
  struct onnx_val *outputs = new_values(b, l->body->outputs.count);
  uint32_t inputs_count = 0;
  if (scratch == NULL || saved == NULL || outputs == NULL) {
    onnx_fail_memory(b);
  } else {
    memcpy(saved, b->values.data, count * sizeof *saved);
    b->m = scratch;
    b->location = (struct ir_attr){0};
    b->block = b->entry = ir_block_create(scratch, ir_region_create(scratch));
    struct onnx_val counter = onnx_new_value(b, DTYPE_I64, NULL, 0), *states = new_values(b, l->state_count);
    add_arguments(b, &counter, 1); /* values of the outer module are only numbers here */
    for (uint32_t i = 0; i < l->state_count && !b->is_failed; i++) {
      states[i] = same_type(b, l->initial[i]);
      b->values.data[states[i].id].value = onnx_get(b, counter)->value;
    }
    struct onnx_val *inputs = body_inputs(b, l, counter, onnx_const_int(b, DTYPE_I1, 1), states, &inputs_count);
    bool ok = inputs != NULL && onnx_subgraph(b, l->body, inputs, inputs_count, outputs);
    struct onnx_value *kept = arena_calloc(&b->arena, l->scan_count + 1, sizeof *kept);
    uint32_t first = (uint32_t)l->body->outputs.count - l->scan_count;
    for (uint32_t i = 0; i < l->scan_count && kept != NULL && ok; i++) {
      kept[i] = *onnx_get(b, outputs[first + i]);
    }
    b->m = m;
    b->pairs.count = 0;
    b->values.count = count;
    memcpy(b->values.data, saved, count * sizeof *saved);
    for (uint32_t i = 0; i < l->scan_count && kept != NULL && !b->is_failed; i++) {
      types[i] = onnx_new_value(b, kept[i].dtype, kept[i].dims, kept[i].rank);
    }
  }
  b->m = m;
  b->block = block;
  b->entry = entry;
  b->location = location;
  free(saved);
  ir_module_free(scratch);
  return !b->is_failed;
}

/* Shape of the buffer that gathers a scan output. */
static uint32_t buffer_dims(struct onnx_builder *b, const struct loop *l, uint32_t i, struct onnx_val element,
                            int64_t *dims) {
  uint32_t rank = onnx_rank(b, element) + 1;
  if (!onnx_check(b, rank <= ONNX_RANK_MAX, "a scan output has too many dimensions")) {
    return 0;
  }
  uint32_t axis = onnx_axis(b, l->scan_axes != NULL ? l->scan_axes[i] : 0, rank);
  for (uint32_t d = 0; d < rank; d++) {
    dims[d] = d == axis ? l->length : onnx_dim(b, element, d - (d > axis));
  }
  return rank;
}

/* Writes what an iteration gave into its buffer. */
static struct onnx_val write_buffer(struct onnx_builder *b, const struct loop *l, uint32_t i, struct onnx_val buffer,
                                    struct onnx_val element, struct onnx_val counter) {
  struct onnx_val starts[ONNX_RANK_MAX], at = counter;
  int64_t dims[ONNX_RANK_MAX];
  uint32_t rank = onnx_dims(b, buffer, dims), axis = onnx_axis(b, l->scan_axes != NULL ? l->scan_axes[i] : 0, rank);
  if (l->scan_reversed != NULL && l->scan_reversed[i] != 0) {
    at = onnx_sub(b, onnx_const_int(b, DTYPE_I64, l->length - 1), counter);
  }
  for (uint32_t d = 0; d < rank; d++) {
    starts[d] = d == axis ? at : onnx_const_int(b, DTYPE_I64, 0);
  }
  dims[axis] = 1;
  return onnx_dynamic_update(b, buffer, onnx_reshape(b, element, dims, rank), starts);
}

/* counter < limit, and the condition */
static struct ir_region condition_region(struct onnx_builder *b, const struct loop *l, const struct onnx_val *carried,
                                         uint32_t count) {
  struct ir_region region;
  struct onnx_val *arguments = new_values(b, count), go = {0};
  struct ir_block outer = open_region(b, &region);
  for (uint32_t i = 0; i < count && !b->is_failed; i++) {
    arguments[i] = same_type(b, carried[i]);
  }
  if (!b->is_failed) {
    add_arguments(b, arguments, count);
    go = l->limit.id != 0 ? onnx_compare(b, ONNX_LT, arguments[0], l->limit) : none;
    if (l->has_condition) {
      go = go.id != 0 ? onnx_binary(b, IR_OP_AND, go, arguments[1]) : arguments[1];
    }
    end_block(b, &go, 1);
  }
  b->block = outer;
  return region;
}

/* One iteration on `arguments`; what is carried on goes to `next`. */
static void build_iteration(struct onnx_builder *b, const struct loop *l, const struct onnx_val *arguments,
                            struct onnx_val *next) {
  uint32_t first = 1 + l->has_condition, inputs_count, skipped = l->is_scan ? 0 : 1;
  struct onnx_val condition = l->has_condition ? arguments[1] : onnx_const_int(b, DTYPE_I1, 1);
  struct onnx_val *outputs = new_values(b, l->body->outputs.count);
  struct onnx_val *inputs = body_inputs(b, l, arguments[0], condition, arguments + first, &inputs_count);
  if (outputs == NULL || inputs == NULL || !onnx_subgraph(b, l->body, inputs, inputs_count, outputs)) {
    return;
  }
  next[0] = onnx_add(b, arguments[0], onnx_const_int(b, DTYPE_I64, 1));
  int64_t known = 0;
  if (l->has_condition) {
    next[1] = onnx_reshape(b, outputs[0], NULL, 0);
  } else if (!l->is_scan) {
    (void)onnx_check(b, onnx_known_int(b, outputs[0], &known) && known != 0,
                     "the end of the loop depends on data in a way that is not read");
  }
  for (uint32_t i = 0; i < l->state_count && !b->is_failed; i++) {
    next[first + i] = outputs[skipped + i];
    (void)onnx_check(b, is_same_type(b, next[first + i], arguments[first + i]),
                     "state %u changes its type or shape in the loop", i);
  }
  for (uint32_t i = 0; i < l->scan_count && !b->is_failed; i++) {
    uint32_t k = first + l->state_count + i;
    next[k] = write_buffer(b, l, i, arguments[k], outputs[skipped + l->state_count + i], arguments[0]);
  }
}

static void build_loop(struct onnx_builder *b, const struct onnx_node *n, const struct loop *l,
                       struct onnx_val condition) {
  uint32_t first = 1 + l->has_condition, count = first + l->state_count + l->scan_count;
  struct onnx_val *carried = new_values(b, count), *arguments = new_values(b, count), *next = new_values(b, count);
  struct onnx_val *results = new_values(b, count), *types = new_values(b, l->scan_count);
  struct ir_region regions[2];
  int64_t dims[ONNX_RANK_MAX];
  if (b->is_failed || (l->scan_count > 0 && !find_scan_types(b, l, types))) {
    return;
  }
  carried[0] = onnx_const_int(b, DTYPE_I64, 0);
  if (l->has_condition) {
    carried[1] = condition.id != 0 ? onnx_reshape(b, condition, NULL, 0) : onnx_const_int(b, DTYPE_I1, 1);
  }
  for (uint32_t i = 0; i < l->state_count; i++) {
    carried[first + i] = l->initial[i];
  }
  for (uint32_t i = 0; i < l->scan_count && !b->is_failed; i++) {
    uint32_t rank = buffer_dims(b, l, i, types[i], dims);
    carried[first + l->state_count + i] = onnx_splat(b, onnx_dtype(b, types[i]), 0, dims, rank);
  }
  for (uint32_t i = 0; i < count && !b->is_failed; i++) {
    arguments[i] = same_type(b, carried[i]);
    results[i] = same_type(b, carried[i]);
  }
  if (b->is_failed) {
    return;
  }
  if (l->scan_count > 0 && l->length == 0) { /* nothing runs: an update of an empty buffer would not be allowed */
    for (uint32_t i = 0; i < l->state_count + l->scan_count; i++) {
      onnx_output(b, n, i, carried[first + i]);
    }
    return;
  }
  regions[0] = condition_region(b, l, carried, count);
  struct ir_block outer = open_region(b, &regions[1]);
  if (!b->is_failed) {
    add_arguments(b, arguments, count);
    build_iteration(b, l, arguments, next);
    end_block(b, next, count);
  }
  b->block = outer;
  if (!b->is_failed && onnx_emit_many(b, IR_OP_WHILE, carried, count, regions, 2, results, count)) {
    for (uint32_t i = 0; i < l->state_count + l->scan_count; i++) {
      onnx_output(b, n, i, results[first + i]);
    }
  }
}

static bool same_text(struct onnx_span a, struct onnx_span b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.text, b.text, a.length) == 0);
}

/* Whether the body hands on its condition or a constant: the loop then runs as often as its limit says. */
static bool is_condition_constant(const struct onnx_graph *body) {
  struct onnx_span name = body->outputs.count > 0 ? body->outputs.items[0].name : (struct onnx_span){NULL, 0};
  for (size_t i = body->nodes.count; i-- > 0;) {
    const struct onnx_node *n = &body->nodes.items[i];
    if (n->outputs.count > 0 && same_text(n->outputs.items[0], name)) {
      if (!onnx_span_is(n->type, "Identity") && !onnx_span_is(n->type, "Cast")) {
        return onnx_span_is(n->type, "Constant");
      }
      name = n->inputs.count > 0 ? n->inputs.items[0] : name;
    }
  }
  for (size_t i = 0; i < body->inputs.count; i++) {
    if (same_text(body->inputs.items[i].name, name)) {
      return i == 1;
    }
  }
  return true; /* an initializer, or from outside: checked when the body is built */
}

void onnx_build_loop(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val limit = onnx_optional(b, n, 0), condition = onnx_optional(b, n, 1);
  struct loop l = {.body = body_of(b, n, "body")};
  int64_t known = 1;
  if (b->is_failed
      || !onnx_check(
          b, n->inputs.count >= 2 && l.body->outputs.count + 1 >= n->inputs.count - 2 + 2 && l.body->outputs.count > 0,
          "the body has %zu outputs", l.body->outputs.count)) {
    return;
  }
  l.state_count = (uint32_t)n->inputs.count - 2;
  l.scan_count = (uint32_t)(l.body->outputs.count - 1 - l.state_count);
  bool is_true = condition.id == 0 || (onnx_known_int(b, condition, &known) && known != 0);
  l.has_condition = !is_true || !is_condition_constant(l.body);
  l.limit = limit.id != 0 ? onnx_convert(b, onnx_reshape(b, limit, NULL, 0), DTYPE_I64) : none;
  struct onnx_val *initial = new_values(b, l.state_count);
  for (uint32_t i = 0; i < l.state_count && !b->is_failed; i++) {
    initial[i] = onnx_input(b, n, i + 2);
  }
  l.initial = initial;
  bool has_length = l.limit.id != 0 && !l.has_condition && onnx_known_int(b, l.limit, &l.length) && l.length >= 0;
  if (onnx_check(b, l.scan_count == 0 || has_length,
                 "the loop collects outputs, so its trip count must be known when the model is read")
      && onnx_check(b, l.limit.id != 0 || l.has_condition, "the loop has no end")) {
    build_loop(b, n, &l, condition);
  }
}

/* Numbers per input or output of an attribute of Scan; 0 when it is absent. */
static const int64_t *scan_numbers(struct onnx_builder *b, const struct onnx_node *n, const char *name,
                                   uint32_t count) {
  const struct onnx_attribute *a = onnx_attribute(b, n, name);
  int64_t *numbers = arena_calloc(&b->arena, count + 1, sizeof *numbers);
  if (numbers == NULL) {
    onnx_fail_memory(b);
  } else if (a != NULL && a->ints.count > 0
             && onnx_check(b, a->ints.count == count, "'%s' has %zu numbers instead of %u", name, a->ints.count,
                           count)) {
    memcpy(numbers, a->ints.items, count * sizeof *numbers);
  }
  return numbers;
}

void onnx_build_scan(struct onnx_builder *b, const struct onnx_node *n) {
  struct loop l = {.body = body_of(b, n, "body"), .is_scan = true};
  int64_t slices = onnx_int(b, n, "num_scan_inputs", 0), inputs = (int64_t)n->inputs.count;
  if (b->is_failed
      || !onnx_check(b, slices > 0 && slices <= inputs && (int64_t)l.body->outputs.count >= inputs - slices,
                     "%lld scan inputs of %lld", (long long)slices, (long long)inputs)) {
    return;
  }
  l.slice_count = (uint32_t)slices;
  l.state_count = (uint32_t)(inputs - slices);
  l.scan_count = (uint32_t)l.body->outputs.count - l.state_count;
  struct onnx_val *values = new_values(b, n->inputs.count);
  for (uint32_t i = 0; i < n->inputs.count && !b->is_failed; i++) {
    values[i] = onnx_input(b, n, i);
  }
  const int64_t *given = scan_numbers(b, n, "scan_input_axes", l.slice_count);
  int64_t *axes = arena_calloc(&b->arena, l.slice_count, sizeof *axes);
  l.slice_reversed = scan_numbers(b, n, "scan_input_directions", l.slice_count);
  l.scan_axes = scan_numbers(b, n, "scan_output_axes", l.scan_count);
  l.scan_reversed = scan_numbers(b, n, "scan_output_directions", l.scan_count);
  if (b->is_failed || axes == NULL) {
    onnx_fail_memory(b);
    return;
  }
  l.initial = values;
  l.slices = values + l.state_count;
  l.slice_axes = axes;
  for (uint32_t i = 0; i < l.slice_count && !b->is_failed; i++) {
    uint32_t rank = onnx_rank(b, l.slices[i]);
    axes[i] = onnx_axis(b, given[i], rank);
    int64_t length = rank > 0 ? onnx_dim(b, l.slices[i], (uint32_t)axes[i]) : -1;
    (void)onnx_check(b, length >= 0 && (i == 0 || length == l.length), "scan inputs are of different lengths");
    l.length = length;
  }
  l.limit = onnx_const_int(b, DTYPE_I64, l.length);
  if (!b->is_failed) {
    build_loop(b, n, &l, none);
  }
}
