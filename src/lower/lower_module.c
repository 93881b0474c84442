/* From a checked module to the unfused work graph: one task per operation, calls inlined. The per-operation knowledge is in
 * lower_ops_*.c behind the table below; putting tasks together is lower_build.c; shared storage is lower_storage.c. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "lower/lower_ops.h"

static const lower_function functions[IR_OP_COUNT] = {
#define LOWER_ELEMENTWISE(id, type, vector, function, results, integer, cvector, cfunction, cresults)                  \
  [IR_OP_##id] = lower_elementwise,
#include "lower/lower_elementwise.def"
#undef LOWER_ELEMENTWISE
#define LOWER_RULE(id, function) [IR_OP_##id] = function,
#include "lower/lower_rules.def"
#undef LOWER_RULE
};

bool lower_makes_task(enum ir_opcode opcode) {
  static const lower_function without_task[] = {
      lower_nothing,       lower_forward_first, lower_forward,   lower_tuple,       lower_get_tuple_element,
      lower_scalar,        lower_constant,      lower_func_call, lower_composite,   lower_custom_call,
      lower_region_inline, lower_fusion,        lower_opaque_op, lower_async_start, lower_async_done,
  };
  for (size_t i = 0; i < sizeof without_task / sizeof *without_task; i++) {
    if (functions[opcode] == without_task[i]) {
      return false;
    }
  }
  return functions[opcode] != NULL && opcode != IR_OP_CONVERT; /* conversions to the same type are none */
}

/* The results of an operation that no one uses: as many leaves as the types have, none of them a tensor. */
static void lower_unused(struct lower *lower, struct ir_op op) {
  for (uint32_t i = 0; i < lower_out_count(lower, op) && !lower_stopped(lower); i++) {
    struct ir_value value = lower_out(lower, op, i);
    size_t base = lower->scratch.count;
    uint32_t count = lower_leaf_count(lower, ir_value_type(lower->module, value));
    for (uint32_t k = 0; k < count; k++) {
      if (!vec_push(&lower->scratch, LOWER_NONE)) {
        lower_memory(lower);
        return;
      }
    }
    lower_define(lower, value, lower->scratch.data + base, count);
    lower->scratch.count = base;
  }
}

/* Tensors of an op's operands and results beyond one for each: what a tuple costs more than its handle. */
static uint64_t lower_spread(const struct lower *lower, struct ir_op op) {
  uint64_t more = 0;
  for (uint32_t i = 0; i < lower_in_count(lower, op); i++) {
    uint32_t leaves = lower_leaf_count(lower, ir_value_type(lower->module, lower_in(lower, op, i)));
    more += leaves > 1 ? leaves - 1 : 0;
  }
  for (uint32_t i = 0; i < lower_out_count(lower, op); i++) {
    uint32_t leaves = lower_leaf_count(lower, ir_value_type(lower->module, lower_out(lower, op, i)));
    more += leaves > 1 ? leaves - 1 : 0;
  }
  return more;
}

void lower_block(struct lower *lower, struct ir_block block) {
  const struct ir_module *module = lower->module;
  for (struct ir_op op = ir_block_first(module, block); op.id != 0 && !lower_stopped(lower);
       op = ir_op_next(module, op)) {
    enum ir_opcode opcode = ir_op_code(module, op);
    lower->op_count += 1 + lower_spread(lower, op);
    if (lower->op_count / 4 > lower->max_tasks) {
      lower_limit(lower, op, "the program has more operations than the budget allows after inlining");
      return;
    }
    if (ir_opcode_has(opcode, IR_TRAIT_TERMINATOR) || opcode == IR_OP_FUNC_FUNC || opcode == IR_OP_BUILTIN_MODULE) {
      continue;
    }
    if (!lower->live[op.id]) {
      lower_unused(lower, op);
      continue;
    }
    bool may_end = opcode == IR_OP_UNKNOWN && lower_out_count(lower, op) == 0;
    if (may_end && ir_op_next(module, op).id == 0) {
      continue; /* the return of an unknown dialect */
    }
    if (functions[opcode] != NULL) {
      functions[opcode](lower, op);
    } else {
      lower_opaque_op(lower, op);
    }
  }
}

void lower_inline(struct lower *lower, struct ir_op op, struct ir_block block, uint32_t first_operand) {
  const struct ir_module *module = lower->module;
  if (lower->nesting >= LOWER_MAX_NESTING) {
    lower_limit(lower, op, "regions and calls nest too deep");
    return;
  }
  size_t base = lower->scratch.count;
  for (uint32_t i = first_operand; i < lower_in_count(lower, op); i++) {
    lower_push_leaves(lower, lower_in(lower, op, i));
  }
  size_t at = base;
  for (uint32_t i = 0; i < ir_block_get(module, block)->argument_count && !lower_stopped(lower); i++) {
    struct ir_value argument = ir_block_argument(module, block, i);
    uint32_t count = lower_leaf_count(lower, ir_value_type(module, argument));
    if (count > lower->scratch.count - at) {
      count = (uint32_t)(lower->scratch.count - at);
    }
    lower_define(lower, argument, lower->scratch.data + at, count);
    at += count;
  }
  lower->scratch.count = base;
  lower->nesting++;
  lower_block(lower, block);
  lower->nesting--;
  struct ir_op end = ir_block_terminator(module, block);
  if (end.id == 0 || lower_stopped(lower)) {
    return;
  }
  for (uint32_t i = 0; i < lower_in_count(lower, end); i++) {
    lower_push_leaves(lower, lower_in(lower, end, i));
  }
  at = base;
  for (uint32_t i = 0; i < lower_out_count(lower, op) && !lower_stopped(lower); i++) {
    uint32_t count = lower_leaf_count(lower, ir_value_type(module, lower_out(lower, op, i)));
    if (count > lower->scratch.count - at) {
      count = (uint32_t)(lower->scratch.count - at);
    }
    lower_define(lower, lower_out(lower, op, i), lower->scratch.data + at, count);
    at += count;
  }
  lower->scratch.count = base;
}

void lower_call(struct lower *lower, struct ir_op op, struct ir_op callee) {
  struct ir_block body = callee.id != 0 ? ir_function_body(lower->module, callee) : (struct ir_block){0};
  if (body.id == 0) {
    lower_opaque_op(lower, op);
    return;
  }
  if (lower->call_depth >= lower->max_call_depth) {
    lower_limit(lower, op, "calls nest deeper than the limit (recursion?)");
    return;
  }
  lower->call_depth++;
  lower_inline(lower, op, body, 0);
  lower->call_depth--;
}

/* ---- the entry function ---- */

static void lower_argument_name(struct lower *lower, uint32_t tensor, uint32_t index) {
  char name[16] = "arg";
  size_t length = 3;
  char digits[10];
  size_t n = 0;
  do {
    digits[n++] = (char)('0' + index % 10);
    index /= 10;
  } while (index > 0);
  while (n > 0) {
    name[length++] = digits[--n];
  }
  uint32_t id = intern_add(lower->graph->strings, name, length);
  if (id == UINT32_MAX) {
    lower_memory(lower);
    return;
  }
  lower->graph->tensors.data[tensor].name = id;
}

static void lower_arguments(struct lower *lower, struct ir_block body) {
  for (uint32_t i = 0; i < ir_block_get(lower->module, body)->argument_count && !lower_stopped(lower); i++) {
    size_t base = lower->scratch.count;
    uint32_t count = lower_new_leaves(lower, ir_block_argument(lower->module, body, i), WORK_TENSOR_INPUT);
    for (uint32_t k = 0; k < count && !lower_stopped(lower); k++) {
      uint32_t tensor = lower->scratch.data[base + k];
      lower_argument_name(lower, tensor, i);
      if (!vec_push(&lower->graph->inputs, tensor)) {
        lower_memory(lower);
      }
    }
    lower->scratch.count = base;
  }
}

/* What the attributes of the arguments say about their storage. */
enum donation { DONATION_NONE, DONATION_ANY, DONATION_TO };

/* tf.aliasing_output names the output that takes the storage of argument i, jax.buffer_donor leaves the choice to the
 * compiler. */
static enum donation lower_donation(const struct lower *lower, struct ir_op function, uint32_t i, int64_t *output) {
  const struct ir_module *module = lower->module;
  struct ir_attr arguments = ir_op_attr(module, function, "arg_attrs");
  if (arguments.id == 0 || ir_attr_get(module, arguments)->kind != IR_ATTR_ARRAY
      || i >= ir_attr_get(module, arguments)->list_count) {
    return DONATION_NONE;
  }
  struct ir_attr attrs = {module->lists.data[ir_attr_get(module, arguments)->list_first + i]};
  struct ir_attr alias = ir_attr_field(module, attrs, "tf.aliasing_output");
  if (alias.id != 0) {
    *output = ir_attr_get(module, alias)->integer;
    return DONATION_TO;
  }
  return ir_attr_field(module, attrs, "jax.buffer_donor").id != 0 ? DONATION_ANY : DONATION_NONE;
}

static void lower_mark_donated(struct lower *lower, struct ir_op function) {
  struct work_graph *graph = lower->graph;
  for (uint32_t i = 0; i < graph->inputs.count; i++) {
    int64_t output;
    graph->tensors.data[graph->inputs.data[i]].is_donated =
        lower_donation(lower, function, i, &output) != DONATION_NONE;
  }
}

/* True when output `index` may lie where `tensor` lies: in storage that is not someone else's. */
static bool lower_may_return(struct lower *lower, struct ir_op function, uint32_t tensor, uint32_t index,
                             const struct map *taken) {
  const struct work_graph *graph = lower->graph;
  uint32_t root = work_tensor_root(graph, tensor), other;
  if (map_get(taken, root, &other)) {
    return false;
  }
  if (graph->tensors.data[root].role != WORK_TENSOR_INPUT) {
    return graph->tensors.data[root].role == WORK_TENSOR_INTERMEDIATE;
  }
  int64_t output = index; /* the inputs are the first tensors of the graph, in order */
  return lower_donation(lower, function, root, &output) != DONATION_NONE && output == (int64_t)index;
}

/* What the function returns. An argument that is not donated, a constant, and what another output has already taken are
 * copied, as XLA does: every output is a buffer of its own. */
static void lower_outputs(struct lower *lower, struct ir_op function, struct ir_block body) {
  struct ir_op end = ir_block_terminator(lower->module, body);
  struct map taken = {0}; /* storage that outputs have */
  size_t base = lower->scratch.count;
  for (uint32_t i = 0; end.id != 0 && i < lower_in_count(lower, end); i++) {
    lower_push_leaves(lower, lower_in(lower, end, i));
  }
  for (size_t i = base; i < lower->scratch.count && !lower_stopped(lower); i++) {
    uint32_t tensor = lower->scratch.data[i];
    if (tensor == LOWER_NONE) {
      continue;
    }
    if (!lower_may_return(lower, function, tensor, (uint32_t)lower->graph->outputs.count, &taken)) {
      tensor = lower_storage_copy(lower, lower->graph, tensor);
      if (lower_stopped(lower)) {
        break;
      }
      struct work_task *copy = &lower->graph->tasks.data[lower->graph->tasks.count - 1];
      copy->flags |= WORK_TASK_PREFUSED; /* the compiler adds these copies after fusion */
      copy->source_offset = ir_op_get(lower->module, end)->offset;
    }
    lower->graph->tensors.data[tensor].is_output = true;
    if (!vec_push(&lower->graph->outputs, tensor)
        || !map_set(&taken, work_tensor_root(lower->graph, tensor), (uint32_t)i)) {
      lower_memory(lower);
    }
  }
  lower->scratch.count = base;
  map_release(&taken);
}

/* Outputs by size and type, so that a buffer donor finds the next output it fits. */
static bool lower_donor_output(struct lower *lower, uint32_t input, bool *taken, uint64_t *steps, uint32_t *output) {
  const struct work_graph *graph = lower->graph;
  const struct work_tensor *in = &graph->tensors.data[input];
  for (uint32_t i = 0; i < graph->outputs.count && (*steps)++ < 4000000; i++) {
    const struct work_tensor *out = &graph->tensors.data[graph->outputs.data[i]];
    if (!taken[i] && out->size_bytes == in->size_bytes && out->dtype == in->dtype
        && out->role == WORK_TENSOR_INTERMEDIATE) {
      *output = i;
      return true;
    }
  }
  return false;
}

/* Pairs donated inputs with the outputs that take their storage: those that name their output first, then the others by
 * size and type in order. */
static void lower_donations(struct lower *lower, struct ir_op function) {
  struct work_graph *graph = lower->graph;
  bool *taken = calloc(graph->outputs.count + 1, sizeof *taken);
  VEC(struct work_carried) pairs = {0};
  uint64_t steps = 0;
  bool ok = taken != NULL;
  for (enum donation pass = DONATION_TO; pass != DONATION_NONE && ok; pass--) {
    for (uint32_t i = 0; i < graph->inputs.count && ok; i++) {
      uint32_t input = graph->inputs.data[i], output = 0;
      int64_t index = -1;
      bool is_paired = graph->tensors.data[input].is_donated && !graph->tensors.data[input].is_output
                       && lower_donation(lower, function, i, &index) == pass;
      if (is_paired && pass == DONATION_TO) {
        is_paired = index >= 0 && (uint64_t)index < graph->outputs.count && !taken[index];
        output = is_paired ? (uint32_t)index : 0;
      } else if (is_paired) {
        is_paired = lower_donor_output(lower, input, taken, &steps, &output);
      }
      if (is_paired) {
        taken[output] = true;
        ok = vec_push(&pairs, ((struct work_carried){input, graph->outputs.data[output]}));
      }
    }
  }
  if (ok) {
    lower_storage_updates(lower, lower->scope, NULL, NULL);
    lower_storage_pairs(lower, graph, pairs.data, pairs.count, 0, NULL);
  } else {
    lower_memory(lower);
  }
  free(taken);
  vec_release(&pairs);
}

static void lower_report(struct lower *lower) {
  for (size_t i = 0; i < lower->opaques.count; i++) {
    const struct lower_opaque *opaque = &lower->opaques.data[i];
    diag_at(lower->diags, DIAG_W0402_OPAQUE, &lower->module->source, opaque->offset,
            "the work of '%s' is not known; %" PRIu64 " occurrence%s left out of all sums",
            ir_text(lower->module, opaque->name), opaque->count, opaque->count == 1 ? "" : "s");
  }
}

static void lower_release(struct lower *lower) {
  analyze_trips_release(&lower->trips);
  analyze_symbols_release(&lower->symbols);
  free(lower->slots);
  free(lower->live);
  vec_release(&lower->leaves);
  vec_release(&lower->scratch);
  vec_release(&lower->axes);
  vec_release(&lower->ops);
  vec_release(&lower->accesses);
  vec_release(&lower->maps);
  vec_release(&lower->map_pointers);
  vec_release(&lower->border);
  vec_release(&lower->marks);
  vec_release(&lower->hidden);
  vec_release(&lower->reshards);
  vec_release(&lower->opaques);
  map_release(&lower->opaque_index);
  map_release(&lower->warned_loops);
}

/* Room for the common case of one task per operation, so that the big arrays do not move while they grow. A failure here is
 * none: growth is tried again when it is needed. */
static void lower_reserve(struct work_graph *graph, size_t op_count) {
  size_t n = op_count < 1000000 ? op_count : 1000000;
  (void)(vec_reserve(&graph->tasks, n) && vec_reserve(&graph->stages, n) && vec_reserve(&graph->tensors, n)
         && vec_reserve(&graph->ops, n) && vec_reserve(&graph->demands, n) && vec_reserve(&graph->dependencies, 2 * n)
         && vec_reserve(&graph->dims, 3 * n) && vec_reserve(&graph->axes, 3 * n) && vec_reserve(&graph->accesses, 6 * n)
         && vec_reserve(&graph->maps, 8 * n));
}

/* Refuses a program whose calls multiply out to more than the budget before anything is built. */
static enum status lower_check_size(struct lower *lower, struct ir_op entry) {
  struct lower_size size;
  if (!lower_live_size(lower, ir_function_body(lower->module, entry), &size)) {
    return STATUS_MEMORY;
  }
  if (size.tasks <= lower->max_tasks && size.ops / 4 <= lower->max_tasks) {
    return STATUS_OK;
  }
  diag_at(lower->diags, DIAG_E0005_LIMIT, &lower->module->source, ir_op_get(lower->module, entry)->offset,
          "the program has %s%" PRIu64 " operations once its calls are inlined; the budget is %" PRIu64,
          size.ops == UINT64_MAX ? "more than " : "", size.tasks > lower->max_tasks ? size.tasks : size.ops,
          lower->max_tasks);
  return STATUS_LIMIT;
}

/* A dynamic value is reported where it begins. When that place was not lowered (a branch that is not taken, a value that
 * nothing else uses), the first one that was met gets the message, so that a failure never comes without one. */
static void lower_report_silent(struct lower *lower, size_t errors_before) {
  if (lower->silent_dynamic == 0 || lower->diags->error_count > errors_before) {
    return;
  }
  const struct ir_op_data *op = ir_op_get(lower->module, (struct ir_op){lower->silent_dynamic});
  diag_at(lower->diags, DIAG_E0401_DYNAMIC, &lower->module->source, op->offset,
          "'%s' has a dynamic result, as what it comes from", ir_text(lower->module, op->name));
}

static enum status lower_function_body(struct lower *lower, struct ir_op entry, struct work_graph **graph) {
  size_t errors_before = lower->diags->error_count;
  struct lower_scope scope;
  lower->slots = calloc(lower->module->values.count + 1, sizeof *lower->slots);
  if (lower->slots == NULL || !analyze_symbols_init(&lower->symbols, lower->module)
      || !analyze_trips_init(&lower->trips, lower->module, &lower->symbols)
      || !lower_live_mark(lower, ir_function_body(lower->module, entry))) {
    return STATUS_MEMORY;
  }
  STATUS_TRY(lower_check_size(lower, entry));
  if (!lower_scope_enter(lower, &scope)) {
    return STATUS_MEMORY;
  }
  lower_reserve(scope.graph, lower->module->ops.count);
  struct ir_block body = ir_function_body(lower->module, entry);
  lower_arguments(lower, body);
  lower_block(lower, body);
  if (!lower_stopped(lower)) {
    lower_partitions(lower, entry);
    lower_local_sizes(lower);
    lower_mark_donated(lower, entry);
    lower_outputs(lower, entry, body);
  }
  if (!lower_stopped(lower)) {
    lower_donations(lower, entry);
  }
  struct work_graph *made = scope.graph;
  lower_report(lower);
  lower_report_silent(lower, errors_before);
  lower_scope_leave(lower, &scope);
  enum status status = lower->status != STATUS_OK ? lower->status : lower->has_errors ? STATUS_INPUT : STATUS_OK;
  if (status == STATUS_OK) {
    status = work_graph_seal(made);
  }
#ifndef NDEBUG
  if (status == STATUS_OK) {
    status = work_graph_verify(made, lower->diags);
    assert(status != STATUS_INPUT && "the lowering made a graph that breaks its invariants");
  }
#endif
  if (status != STATUS_OK) {
    work_graph_free(made);
    return status;
  }
  *graph = made;
  return STATUS_OK;
}

enum status lower_module(const struct ir_module *module, const struct lower_options *options, struct diag_list *diags,
                         struct work_graph **graph) {
  static const struct lower_options defaults = {0};
  const struct lower_options *chosen = options != NULL ? options : &defaults;
  *graph = NULL;
  struct ir_op entry = chosen->entry != NULL ? ir_function_find(module, chosen->entry) : ir_function_entry(module);
  if (entry.id == 0 || ir_function_body(module, entry).id == 0) {
    diag_at(diags, DIAG_E0210_NO_ENTRY, NULL, 0, chosen->entry != NULL ? "no function '%s' with a body%s" : "%s%s",
            chosen->entry != NULL ? chosen->entry : "the program has no function with a body", "");
    return STATUS_INPUT;
  }
  struct lower lower = {
      .module = module,
      .diags = diags,
      .max_call_depth = chosen->max_call_depth != 0 ? chosen->max_call_depth : LOWER_MAX_CALL_DEPTH,
      .max_tasks = chosen->max_tasks != 0 ? chosen->max_tasks : 3000000,
  };
  enum status status = lower_function_body(&lower, entry, graph);
  lower_release(&lower);
  return status;
}
