/* Control flow: calls and regions that run once are inlined, loops and conditionals become tasks with subgraphs, a fusion
 * that came with the program becomes one task. */
#include <string.h>

#include "base/checked.h"
#include "lower/lower_ops.h"

static struct ir_block entry_of(const struct lower *lower, struct ir_op op, uint32_t region) {
  if (region >= ir_op_get(lower->module, op)->region_count) {
    return (struct ir_block){0};
  }
  return ir_region_entry(lower->module, ir_op_region(lower->module, op, region));
}

/* ---- calls ---- */

void lower_func_call(struct lower *lower, struct ir_op op) {
  lower_call(lower, op, analyze_symbols_callee(&lower->symbols, lower->module, op));
}

void lower_composite(struct lower *lower, struct ir_op op) {
  struct ir_block inside = entry_of(lower, op, 0);
  struct ir_op decomposition = analyze_symbols_callee(&lower->symbols, lower->module, op);
  if (decomposition.id != 0 && ir_function_body(lower->module, decomposition).id != 0) {
    if (!lower_kernel(lower, op, decomposition)) {
      lower_call(lower, op, decomposition);
    }
  } else if (inside.id != 0) {
    lower_inline(lower, op, inside, 0);
  } else {
    struct ir_attr name = ir_op_attr(lower->module, op, "name");
    uint32_t text = name.id != 0 ? ir_attr_get(lower->module, name)->text : 0;
    lower_opaque_as(lower, op, text != 0 ? text : ir_op_get(lower->module, op)->name);
  }
}

/* A tensor that is seen with another shape on the other side of a region's border (global and per-device shapes).
 * `is_local`: `to` is the shape of one device. */
static void retype(struct lower *lower, struct ir_op op, struct ir_value from, struct ir_value to, bool is_local) {
  struct ir_type a = ir_value_type(lower->module, from), b = ir_value_type(lower->module, to);
  size_t base = lower->scratch.count;
  if (a.id == b.id || lower_push_leaves(lower, from) != 1 || lower_leaf_count(lower, b) != 1) {
    lower->scratch.count = base;
    return;
  }
  uint32_t old = lower->scratch.data[base];
  lower_new_leaves(lower, to, WORK_TENSOR_INTERMEDIATE);
  uint32_t new = lower->scratch.data[lower->scratch.count - 1];
  lower->scratch.count = base;
  if (old == LOWER_NONE || lower_stopped(lower)) {
    return;
  }
  lower->graph->tensors.data[new].alias_of = old + 1;
  lower_begin(lower, op, WORK_FREE);
  lower_read(lower, old, NULL, UINT64_MAX, 0);
  lower_write(lower, new, NULL, UINT64_MAX, 0);
  lower_end(lower);
  lower_note_reshard(lower, is_local ? old : new, is_local ? new : old);
}

/* Regions that run once, as a part of what is around them. */
void lower_region_inline(struct lower *lower, struct ir_op op) {
  const struct ir_module *module = lower->module;
  struct ir_block block = entry_of(lower, op, 0);
  if (block.id == 0) {
    lower_call(lower, op, analyze_symbols_callee(&lower->symbols, lower->module, op)); /* mhlo's form of async_start */
    return;
  }
  const bool changes_shapes = ir_op_code(module, op) == IR_OP_SDY_MANUAL_COMPUTATION;
  if (!changes_shapes) {
    lower_inline(lower, op, block, 0);
    return;
  }
  if (lower->nesting >= LOWER_MAX_NESTING) {
    lower_limit(lower, op, "regions and calls nest too deep");
    return;
  }
  for (uint32_t i = 0; i < lower_in_count(lower, op) && i < ir_block_get(module, block)->argument_count; i++) {
    struct ir_value argument = ir_block_argument(module, block, i);
    size_t base = lower->scratch.count;
    uint32_t count = lower_push_leaves(lower, lower_in(lower, op, i));
    lower_define(lower, argument, lower->scratch.data + base, count);
    lower->scratch.count = base;
    retype(lower, op, lower_in(lower, op, i), argument, true);
  }
  lower->nesting++;
  lower_block(lower, block);
  lower->nesting--;
  struct ir_op end = ir_block_terminator(module, block);
  for (uint32_t i = 0; end.id != 0 && i < lower_in_count(lower, end) && i < lower_out_count(lower, op); i++) {
    size_t base = lower->scratch.count;
    uint32_t count = lower_push_leaves(lower, lower_in(lower, end, i));
    lower_define(lower, lower_out(lower, op, i), lower->scratch.data + base, count);
    lower->scratch.count = base;
    retype(lower, op, lower_in(lower, end, i), lower_out(lower, op, i), false);
  }
}

/* ---- loops ---- */

/* A loop while it is put together. Arrays lie on lower->scratch, which may move: offsets, not pointers. */
struct loop {
  uint32_t count; /* carried leaves */
  size_t initial; /* tensors outside */
  size_t in, out; /* tensors inside */
  size_t captured; /* tensors outside, after the carried ones */
  uint32_t captured_count;
  bool *varies; /* per leaf: the body changes it */
  bool *overwritten; /* per input of the body */
};

/* A tensor for a value that has none (malformed programs): keeps borders and inputs in step. */
static uint32_t stand_in_tensor(struct lower *lower) {
  uint32_t tensor = work_tensor_add(lower->graph, DTYPE_I1, NULL, 0, WORK_TENSOR_CONSTANT);
  if (lower->graph->out_of_memory) {
    lower_memory(lower);
  }
  return tensor;
}

/* Pushes the leaves of `count` operands of `op`; exactly `wanted` when that is not UINT32_MAX. */
static size_t push_leaves(struct lower *lower, struct ir_op op, uint32_t first, uint32_t wanted) {
  size_t base = lower->scratch.count;
  for (uint32_t i = first; op.id != 0 && i < lower_in_count(lower, op); i++) {
    lower_push_leaves(lower, lower_in(lower, op, i));
  }
  for (size_t i = base; i < lower->scratch.count && !lower_stopped(lower); i++) {
    if (lower->scratch.data[i] == LOWER_NONE) {
      lower->scratch.data[i] = stand_in_tensor(lower);
    }
  }
  while (wanted != UINT32_MAX && lower->scratch.count - base < wanted && !lower_stopped(lower)) {
    if (!vec_push(&lower->scratch, stand_in_tensor(lower))) {
      lower_memory(lower);
    }
  }
  if (wanted != UINT32_MAX && lower->scratch.count - base > wanted) {
    lower->scratch.count = base + wanted;
  }
  return base;
}

/* Defines the block's arguments as consecutive tensors at scratch[at]. */
static void define_arguments(struct lower *lower, struct ir_block block, size_t at, uint32_t available) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < ir_block_get(lower->module, block)->argument_count; i++) {
    struct ir_value argument = ir_block_argument(lower->module, block, i);
    uint32_t leaves = lower_leaf_count(lower, ir_value_type(lower->module, argument));
    leaves = leaves > available - used ? available - used : leaves;
    lower_define(lower, argument, lower->scratch.data + at + used, leaves);
    used += leaves;
  }
}

/* Inside the scope of the body: condition, body, carried pairs, outputs. */
static void loop_body(struct lower *lower, struct ir_op op, struct loop *loop) {
  struct work_graph *graph = lower->graph;
  struct ir_block condition = entry_of(lower, op, 0), body = entry_of(lower, op, 1);
  const struct work_graph *outside = lower->scope->parent->graph;
  loop->in = lower->scratch.count;
  for (uint32_t i = 0; i < loop->count; i++) {
    const struct work_tensor *initial = &outside->tensors.data[lower->scratch.data[loop->initial + i]];
    uint32_t tensor = work_tensor_add(graph, (enum dtype)initial->dtype, outside->dims.data + initial->dims_first,
                                      initial->rank, WORK_TENSOR_INPUT);
    if (graph->out_of_memory || !vec_push(&graph->inputs, tensor) || !vec_push(&lower->scratch, tensor)) {
      lower_memory(lower);
      return;
    }
  }
  define_arguments(lower, condition, loop->in, loop->count);
  lower_block(lower, condition);
  define_arguments(lower, body, loop->in, loop->count);
  lower_block(lower, body);
  if (lower_stopped(lower)) {
    return;
  }
  loop->out = push_leaves(lower, ir_block_terminator(lower->module, body), 0, loop->count);
  for (uint32_t i = 0; i < loop->count && !lower_stopped(lower); i++) {
    uint32_t in = lower->scratch.data[loop->in + i], out = lower->scratch.data[loop->out + i];
    loop->varies[i] = in != out;
    if (in == out) {
      continue;
    }
    graph->tensors.data[out].is_output = true;
    if (!vec_push(&graph->outputs, out) || !vec_push(&graph->carried, ((struct work_carried){in, out}))) {
      lower_memory(lower);
    }
  }
}

/* Buffers this small are not worth a copy in front of the loop: counters and flags live in registers. */
enum { LOOP_SMALL_BYTES = 256 };

static void loop_storage(struct lower *lower, struct loop *loop) {
  struct work_graph *graph = lower->graph;
  size_t inputs = graph->inputs.count;
  bool *reusable = calloc(inputs + 1, sizeof *reusable);
  loop->overwritten = calloc(inputs + 1, sizeof *loop->overwritten);
  if (reusable == NULL || loop->overwritten == NULL) {
    lower_memory(lower);
  } else {
    memcpy(reusable, loop->varies, loop->count * sizeof *reusable);
    lower_storage_updates(lower, lower->scope, reusable, loop->overwritten);
    lower_storage_pairs(lower, graph, graph->carried.data, graph->carried.count, LOOP_SMALL_BYTES, loop->overwritten);
  }
  free(reusable);
}

/* Back outside: the task, its border and the values of the results. */
static void loop_task(struct lower *lower, struct ir_op op, struct loop *loop, struct work_graph *body,
                      struct analyze_trip_count trips) {
  struct work_task task = {
      .flags = trips.is_known ? 0 : WORK_TASK_TRIP_UNKNOWN,
      .subgraph_first = work_subgraph_attach(lower->graph, body),
      .subgraph_count = 1,
      .trip_count = trips.is_known ? trips.count : 1,
  };
  if (lower->graph->out_of_memory) {
    lower_memory(lower);
    return;
  }
  size_t results = lower->scratch.count;
  for (uint32_t i = 0; i < loop->count && !lower_stopped(lower); i++) {
    uint32_t tensor = lower->scratch.data[loop->initial + i];
    if (loop->varies[i]) {
      const struct work_tensor *initial = &lower->graph->tensors.data[tensor];
      int64_t dims[UINT8_MAX] = {0};
      if (initial->rank > 0) {
        memcpy(dims, lower->graph->dims.data + initial->dims_first, initial->rank * sizeof *dims);
      }
      tensor = lower_tensor(lower, (enum dtype)initial->dtype, dims, initial->rank);
    }
    if (!vec_push(&lower->scratch, tensor)) {
      lower_memory(lower);
    }
  }
  lower_begin(lower, op, WORK_LOOP);
  for (uint32_t i = 0; i < loop->count; i++) {
    lower_read(lower, lower->scratch.data[loop->initial + i], NULL, UINT64_MAX, 0);
  }
  for (uint32_t i = 0; i < loop->captured_count; i++) {
    lower_read(lower, lower->scratch.data[loop->captured + i], NULL, UINT64_MAX, 0);
  }
  for (uint32_t i = 0; i < loop->count && !lower_stopped(lower); i++) {
    if (loop->varies[i]) {
      lower_write(lower, lower->scratch.data[results + i], NULL, UINT64_MAX, 0);
    }
  }
  uint32_t index = lower_end_control(lower, &task);
  for (uint32_t i = 0; i < loop->count && !lower_stopped(lower); i++) {
    struct lower_update update = {index, lower->scratch.data[loop->initial + i], lower->scratch.data[results + i], i,
                                  loop->overwritten[i]};
    if (loop->varies[i] && !vec_push(&lower->scope->updates, update)) {
      lower_memory(lower);
    }
  }
  uint32_t used = 0;
  for (uint32_t i = 0; i < lower_out_count(lower, op) && !lower_stopped(lower); i++) {
    uint32_t leaves = lower_leaf_count(lower, ir_value_type(lower->module, lower_out(lower, op, i)));
    leaves = leaves > loop->count - used ? loop->count - used : leaves;
    lower_define(lower, lower_out(lower, op, i), lower->scratch.data + results + used, leaves);
    used += leaves;
  }
}

static struct analyze_trip_count loop_trips(struct lower *lower, struct ir_op op) {
  struct analyze_trip_count trips = analyze_trips_count(&lower->trips, op);
  uint32_t seen;
  if (!trips.is_known && !map_get(&lower->warned_loops, op.id, &seen)) {
    if (!map_set(&lower->warned_loops, op.id, 1)) {
      lower_memory(lower);
    }
    diag_at(lower->diags, DIAG_W0403_TRIP_COUNT, &lower->module->source, ir_op_get(lower->module, op)->offset,
            "the number of iterations is not a constant of the program; one is assumed");
  }
  return trips;
}

void lower_while(struct lower *lower, struct ir_op op) {
  if (entry_of(lower, op, 0).id == 0 || entry_of(lower, op, 1).id == 0 || lower->is_fusing) {
    lower_opaque_op(lower, op);
    return;
  }
  if (lower->nesting >= LOWER_MAX_NESTING) {
    lower_limit(lower, op, "regions and calls nest too deep");
    return;
  }
  size_t base = lower->scratch.count;
  struct loop loop = {.initial = push_leaves(lower, op, 0, UINT32_MAX)};
  loop.count = (uint32_t)(lower->scratch.count - base);
  loop.varies = calloc(loop.count + 1u, sizeof *loop.varies);
  struct lower_scope scope;
  if (loop.varies == NULL) {
    lower_memory(lower);
  }
  if (lower_stopped(lower) || !lower_scope_enter(lower, &scope)) {
    free(loop.varies);
    return;
  }
  lower->nesting++;
  loop_body(lower, op, &loop);
  lower->nesting--;
  if (!lower_stopped(lower)) {
    loop_storage(lower, &loop);
  }
  loop.captured = lower->scratch.count;
  loop.captured_count = (uint32_t)scope.captured.count;
  for (uint32_t i = 0; i < loop.captured_count && !lower_stopped(lower); i++) {
    if (!vec_push(&lower->scratch, scope.captured.data[i])) {
      lower_memory(lower);
    }
  }
  struct work_graph *body = scope.graph;
  lower_scope_leave(lower, &scope);
  if (lower_stopped(lower)) {
    work_graph_free(body);
  } else {
    loop_task(lower, op, &loop, body, loop_trips(lower, op));
  }
  lower->scratch.count = base;
  free(loop.varies);
  free(loop.overwritten);
}

/* ---- conditionals ---- */

struct branch {
  struct work_graph *graph;
  uint32_t *captured; /* tensors outside, in the order of the graph's inputs */
  uint32_t count;
};

static bool branch_lower(struct lower *lower, struct ir_op op, uint32_t region, uint32_t selector, uint32_t outputs,
                         struct branch *branch) {
  struct lower_scope scope;
  if (!lower_scope_enter(lower, &scope)) {
    return false;
  }
  branch->graph = scope.graph;
  lower_capture(lower, scope.parent->id, selector);
  struct ir_block block = entry_of(lower, op, region);
  lower->nesting++;
  lower_block(lower, block);
  lower->nesting--;
  if (!lower_stopped(lower)) {
    size_t base = push_leaves(lower, ir_block_terminator(lower->module, block), 0, outputs);
    for (size_t i = base; i < lower->scratch.count && !lower_stopped(lower); i++) {
      scope.graph->tensors.data[lower->scratch.data[i]].is_output = true;
      if (!vec_push(&scope.graph->outputs, lower->scratch.data[i])) {
        lower_memory(lower);
      }
    }
    lower->scratch.count = base;
    lower_storage_updates(lower, &scope, NULL, NULL);
  }
  branch->count = (uint32_t)scope.captured.count;
  branch->captured = malloc((branch->count + 1u) * sizeof *branch->captured);
  if (branch->captured == NULL) {
    lower_memory(lower);
  } else if (branch->count > 0) {
    memcpy(branch->captured, scope.captured.data, branch->count * sizeof *branch->captured);
  }
  lower_scope_leave(lower, &scope);
  return !lower_stopped(lower);
}

/* Gives a branch one input per tensor that any branch uses, in the common order at scratch[all]. */
static void branch_align(struct lower *lower, struct branch *branch, const struct map *order, size_t all,
                         uint32_t all_count) {
  struct work_graph *graph = branch->graph;
  uint32_t *inputs = malloc((all_count + 1u) * sizeof *inputs);
  if (inputs == NULL || !vec_reserve(&graph->inputs, all_count)) {
    free(inputs);
    lower_memory(lower);
    return;
  }
  for (uint32_t i = 0; i < all_count; i++) {
    inputs[i] = LOWER_NONE;
  }
  for (uint32_t i = 0; i < branch->count; i++) {
    uint32_t at;
    if (map_get(order, branch->captured[i], &at)) {
      inputs[at] = graph->inputs.data[i];
    }
  }
  for (uint32_t i = 0; i < all_count && !lower_stopped(lower); i++) {
    if (inputs[i] == LOWER_NONE) {
      const struct work_tensor *outer = &lower->graph->tensors.data[lower->scratch.data[all + i]];
      inputs[i] = work_tensor_add(graph, (enum dtype)outer->dtype, lower->graph->dims.data + outer->dims_first,
                                  outer->rank, WORK_TENSOR_INPUT);
    }
    if (graph->out_of_memory) {
      lower_memory(lower);
    }
  }
  graph->inputs.count = all_count;
  memcpy(graph->inputs.data, inputs, all_count * sizeof *inputs);
  free(inputs);
}

static void conditional_task(struct lower *lower, struct ir_op op, struct branch *branches, uint32_t count, size_t all,
                             uint32_t all_count) {
  struct work_task task = {.subgraph_first = (uint32_t)lower->graph->subgraphs.count, .subgraph_count = count};
  for (uint32_t b = 0; b < count; b++) {
    work_subgraph_attach(lower->graph, branches[b].graph);
    branches[b].graph = NULL;
  }
  if (lower->graph->out_of_memory) {
    lower_memory(lower);
    return;
  }
  size_t results = lower->scratch.count;
  for (uint32_t i = 0; i < lower_out_count(lower, op); i++) {
    lower_new_leaves(lower, lower_out(lower, op, i), WORK_TENSOR_INTERMEDIATE);
  }
  lower_begin(lower, op, WORK_CONDITIONAL);
  for (uint32_t i = 0; i < all_count; i++) {
    lower_read(lower, lower->scratch.data[all + i], NULL, UINT64_MAX, 0);
  }
  for (size_t i = results; i < lower->scratch.count; i++) {
    lower_write(lower, lower->scratch.data[i], NULL, UINT64_MAX, 0);
  }
  lower_end_control(lower, &task);
}

void lower_conditional(struct lower *lower, struct ir_op op) {
  const uint32_t count = ir_op_get(lower->module, op)->region_count;
  if (count == 0 || lower->is_fusing) {
    lower_opaque_op(lower, op);
    return;
  }
  if (lower->nesting >= LOWER_MAX_NESTING) {
    lower_limit(lower, op, "regions and calls nest too deep");
    return;
  }
  uint32_t outputs = 0;
  for (uint32_t i = 0; i < lower_out_count(lower, op); i++) {
    outputs += lower_leaf_count(lower, ir_value_type(lower->module, lower_out(lower, op, i)));
  }
  uint32_t selector = lower_operand(lower, op, 0);
  selector = selector == LOWER_NONE ? stand_in_tensor(lower) : selector;
  struct branch *branches = calloc(count, sizeof *branches);
  struct map order = {0};
  size_t all = lower->scratch.count;
  bool ok = branches != NULL;
  for (uint32_t b = 0; b < count && ok; b++) {
    ok = branch_lower(lower, op, b, selector, outputs, &branches[b]);
    for (uint32_t i = 0; i < branches[b].count && ok; i++) {
      uint32_t at;
      if (!map_get(&order, branches[b].captured[i], &at)) {
        ok = map_set(&order, branches[b].captured[i], (uint32_t)(lower->scratch.count - all))
             && vec_push(&lower->scratch, branches[b].captured[i]);
      }
    }
  }
  uint32_t all_count = (uint32_t)(lower->scratch.count - all);
  for (uint32_t b = 0; b < count && ok && !lower_stopped(lower); b++) {
    branch_align(lower, &branches[b], &order, all, all_count);
  }
  if (!ok) {
    lower_memory(lower);
  } else if (!lower_stopped(lower)) {
    conditional_task(lower, op, branches, count, all, all_count);
  }
  lower->scratch.count = all;
  map_release(&order);
  for (uint32_t b = 0; branches != NULL && b < count; b++) {
    work_graph_free(branches[b].graph);
    free(branches[b].captured);
  }
  free(branches);
}

/* A scan over a dimension with an elementwise body: the body runs once per element of the input, as XLA counts it. */
void lower_scan(struct lower *lower, struct ir_op op) {
  struct ir_block body = entry_of(lower, op, 0);
  if (body.id == 0 || lower_in_count(lower, op) == 0) {
    lower_opaque_op(lower, op);
    return;
  }
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  size_t base = push_leaves(lower, op, 0, UINT32_MAX), results = lower->scratch.count;
  for (uint32_t i = 0; i < lower_out_count(lower, op); i++) {
    lower_new_leaves(lower, lower_out(lower, op, i), WORK_TENSOR_INTERMEDIATE);
  }
  lower_begin(lower, op, WORK_ELEMENTWISE);
  lower_axes_of(lower, &in);
  lower_body_work(lower, ir_op_region(lower->module, op, 0));
  for (size_t i = base; i < results; i++) {
    lower_read(lower, lower->scratch.data[i], NULL, UINT64_MAX, 0);
  }
  for (size_t i = results; i < lower->scratch.count; i++) {
    lower_write(lower, lower->scratch.data[i], NULL, UINT64_MAX, 0);
  }
  lower->scratch.count = base;
  lower_end(lower);
}

/* ---- fusions of the input program ---- */

/* What a fused kernel may hold; anything else in a fusion's body makes it a plain region. */
bool lower_fusion_is_simple(const struct lower *lower, struct ir_block block) {
  for (struct ir_op op = ir_block_first(lower->module, block); op.id != 0; op = ir_op_next(lower->module, op)) {
    enum ir_opcode opcode = ir_op_code(lower->module, op);
    bool is_fusion = opcode == IR_OP_MHLO_FUSION;
    if (opcode == IR_OP_UNKNOWN || opcode == IR_OP_CUSTOM_CALL || opcode == IR_OP_COMPOSITE || opcode == IR_OP_FUNC_CALL
        || ir_opcode_has(opcode, IR_TRAIT_COLLECTIVE) || ir_opcode_has(opcode, IR_TRAIT_EFFECT)
        || (ir_opcode_has(opcode, IR_TRAIT_CONTROL) && !is_fusion)) {
      return false;
    }
    if (is_fusion && !lower_fusion_is_simple(lower, entry_of(lower, op, 0))) {
      return false;
    }
  }
  return true;
}

/* The stage that a fused kernel is built around: the class that comes first here, then the stage with most applications. */
static uint8_t fusion_hero(const struct lower *lower) {
  static const uint8_t rank[WORK_CLASS_COUNT] = {
      [WORK_CLASS_MATRIX] = 9,         [WORK_CLASS_CONVOLUTION] = 9, [WORK_CLASS_SORT] = 8,
      [WORK_CLASS_LINEAR_ALGEBRA] = 8, [WORK_CLASS_INDEXED] = 7,     [WORK_CLASS_REDUCTION] = 6,
      [WORK_CLASS_RANDOM] = 5,         [WORK_CLASS_CUSTOM] = 5,      [WORK_CLASS_ELEMENTWISE] = 4,
      [WORK_CLASS_MOVEMENT] = 3,       [WORK_CLASS_FREE] = 1};
  const struct work_graph *graph = lower->graph;
  uint8_t hero = WORK_FREE, best_rank = 0;
  uint64_t best = 0;
  for (size_t s = graph->stages_in_tasks; s < graph->stages.count; s++) {
    const struct work_stage *stage = &graph->stages.data[s];
    uint8_t stage_rank = rank[work_kind_info((enum work_kind)stage->kind)->class_of];
    uint64_t applications = work_stage_applications(graph, stage);
    if (stage_rank > best_rank || (stage_rank == best_rank && applications > best)) {
      hero = stage->kind;
      best_rank = stage_rank;
      best = applications;
    }
  }
  return hero;
}

/* Everything that the stages since the last task write stays inside, except what the fusion returns. */
static void fusion_hide(struct lower *lower, size_t results) {
  const struct work_graph *graph = lower->graph;
  struct map kept = {0};
  for (size_t i = results; i < lower->scratch.count; i++) {
    if (!map_set(&kept, lower->scratch.data[i], 1)) {
      lower_memory(lower);
    }
  }
  for (size_t s = graph->stages_in_tasks; s < graph->stages.count && !lower_stopped(lower); s++) {
    const struct work_stage *stage = &graph->stages.data[s];
    for (uint32_t i = stage->read_count; i < stage->access_count; i++) {
      uint32_t tensor = graph->accesses.data[stage->access_first + i].tensor, seen;
      if (!map_get(&kept, tensor, &seen)) {
        lower_hide(lower, tensor);
      }
    }
  }
  map_release(&kept);
}

void lower_close_fusion(struct lower *lower, struct ir_op op) {
  if (lower_stopped(lower) || lower->graph->stages.count == lower->graph->stages_in_tasks) {
    return;
  }
  size_t base = lower->scratch.count;
  for (uint32_t i = 0; i < lower_out_count(lower, op); i++) {
    lower_push_leaves(lower, lower_out(lower, op, i));
  }
  fusion_hide(lower, base);
  lower->scratch.count = base;
  struct work_task task = {.kind = fusion_hero(lower), .flags = WORK_TASK_PREFUSED};
  lower_begin(lower, op, (enum work_kind)task.kind);
  lower_end_stages(lower, &task);
}

void lower_fusion(struct lower *lower, struct ir_op op) {
  struct ir_block body = entry_of(lower, op, 0);
  if (body.id == 0) {
    lower_opaque_op(lower, op);
    return;
  }
  if (lower->is_fusing || !lower_fusion_is_simple(lower, body)) {
    lower_inline(lower, op, body, 0);
    return;
  }
  lower->is_fusing = true;
  lower_inline(lower, op, body, 0);
  lower->is_fusing = false;
  lower_close_fusion(lower, op);
}
