/* Before the lowering: which operations have a use. Compilers remove the others, and the shape arithmetic of programs
 * whose dimensions were bound has none left: a shape operand is no use once the result's type is static. Also how many
 * operations the inlined call tree holds, so that a program that explodes is refused before anything is built.
 * Path: lower_module → here → lower_block, which passes over what is not marked. */
#include <string.h>

#include "base/checked.h"
#include "lower/lower_ops.h"

enum { EFFECT_UNKNOWN, EFFECT_NO, EFFECT_YES };

struct live {
  const struct lower *lower;
  const struct ir_module *module;
  uint8_t *ops; /* per op: it is used or has an effect */
  uint8_t *values; /* per value: it is used */
  uint8_t *effects; /* per op with regions or a callee: EFFECT_*, what is inside */
  uint32_t *first_call; /* per function: a used call of it, 0 = none */
  uint32_t *next_call; /* per call: another used call of the same function */
  VEC(uint32_t) pending_ops;
  VEC(uint32_t) pending_values;
  bool out_of_memory;
};

/* Operands from `first` on say what the static type of the result says too. */
static const struct {
  enum ir_opcode opcode;
  uint32_t first;
} shape_operands[] = {
    {IR_OP_DYNAMIC_RESHAPE, 1},
    {IR_OP_CHLO_DYNAMIC_RESHAPE, 1},
    {IR_OP_DYNAMIC_BROADCAST_IN_DIM, 1},
    {IR_OP_DYNAMIC_IOTA, 0},
    {IR_OP_DYNAMIC_PAD, 2},
    {IR_OP_REAL_DYNAMIC_SLICE, 1},
    {IR_OP_DYNAMIC_CONV, 2},
    {IR_OP_DYNAMIC_GATHER, 2},
    {IR_OP_GET_DIMENSION_SIZE, 0},
    {IR_OP_RNG, 2},
};

/* Operations of dialects that are not read here and are known to have no effect. */
static const char *const pure_prefixes[] = {"arith.", "shape.", "tensor."};

static uint32_t first_shape_operand(const struct ir_module *module, struct ir_op op) {
  enum ir_opcode opcode = ir_op_code(module, op);
  for (size_t i = 0; i < sizeof shape_operands / sizeof *shape_operands; i++) {
    if (shape_operands[i].opcode == opcode && ir_op_get(module, op)->result_count == 1
        && ir_type_is_static(module, ir_value_type(module, ir_op_result(module, op, 0)))) {
      return shape_operands[i].first;
    }
  }
  return UINT32_MAX;
}

/* Regions that lower_block is called on: what is unused inside them is passed over too. */
static bool is_inlined(enum ir_opcode opcode) {
  switch ((int)opcode) {
  case IR_OP_WHILE:
  case IR_OP_IF:
  case IR_OP_CASE:
  case IR_OP_COMPOSITE:
  case IR_OP_ASYNC_START:
  case IR_OP_MHLO_FUSION:
  case IR_OP_SDY_MANUAL_COMPUTATION:
  case IR_OP_SDY_NAMED_COMPUTATION:
    return true;
  default:
    return false;
  }
}

/* Body of the function whose operations stand in for a call; 0 when it is no call. */
static struct ir_block callee_body(const struct lower *lower, struct ir_op op, struct ir_op *callee) {
  enum ir_opcode opcode = ir_op_code(lower->module, op);
  bool is_call = opcode == IR_OP_FUNC_CALL || opcode == IR_OP_COMPOSITE
                 || (opcode == IR_OP_ASYNC_START && ir_op_get(lower->module, op)->region_count == 0);
  *callee = is_call ? analyze_symbols_callee(&lower->symbols, lower->module, op) : (struct ir_op){0};
  return callee->id != 0 ? ir_function_body(lower->module, *callee) : (struct ir_block){0};
}

/* ---- effects ---- */

static bool custom_call_has_effect(const struct ir_module *module, struct ir_op op) {
  struct ir_attr target = ir_op_attr(module, op, "call_target_name");
  const char *name = target.id != 0 ? ir_text(module, ir_attr_get(module, target)->text) : "";
  if (strcmp(name, "shape_assertion") == 0) {
    return false; /* about sizes, which are known */
  }
  struct ir_attr effect = ir_op_attr(module, op, "has_side_effect");
  return strncmp(name, "check.", 6) == 0 || (effect.id != 0 && ir_attr_get(module, effect)->integer != 0);
}

static bool has_effect(struct live *live, struct ir_op op, unsigned depth);

static bool block_has_effect(struct live *live, struct ir_block block, unsigned depth) {
  for (struct ir_op op = ir_block_first(live->module, block); op.id != 0; op = ir_op_next(live->module, op)) {
    if (has_effect(live, op, depth)) {
      return true;
    }
  }
  return false;
}

static bool inside_has_effect(struct live *live, struct ir_op op, unsigned depth) {
  struct ir_op callee;
  struct ir_block body = callee_body(live->lower, op, &callee);
  const uint32_t regions = ir_op_get(live->module, op)->region_count;
  if (body.id == 0 && regions == 0) {
    return false;
  }
  if (depth >= LOWER_MAX_NESTING) {
    return true; /* the lowering will say that it is too deep */
  }
  uint8_t *known = &live->effects[body.id != 0 ? callee.id : op.id];
  if (*known == EFFECT_UNKNOWN) {
    bool found = body.id != 0 && block_has_effect(live, body, depth + 1);
    for (uint32_t r = 0; r < regions && !found; r++) {
      struct ir_region region = ir_op_region(live->module, op, r);
      struct ir_block block = ir_region_entry(live->module, region);
      for (; block.id != 0 && !found; block = ir_block_get(live->module, block)->next) {
        found = block_has_effect(live, block, depth + 1);
      }
    }
    *known = found ? EFFECT_YES : EFFECT_NO;
  }
  return *known == EFFECT_YES;
}

static bool has_effect(struct live *live, struct ir_op op, unsigned depth) {
  const struct ir_module *module = live->module;
  enum ir_opcode opcode = ir_op_code(module, op);
  if (ir_opcode_has(opcode, IR_TRAIT_TERMINATOR) || opcode == IR_OP_FUNC_FUNC || opcode == IR_OP_BUILTIN_MODULE) {
    return false;
  }
  if (opcode == IR_OP_UNKNOWN) {
    const char *name = ir_text(module, ir_op_get(module, op)->name);
    for (size_t i = 0; i < sizeof pure_prefixes / sizeof *pure_prefixes; i++) {
      if (strncmp(name, pure_prefixes[i], strlen(pure_prefixes[i])) == 0) {
        return false;
      }
    }
    bool may_end = ir_op_get(module, op)->result_count == 0 && ir_op_next(module, op).id == 0;
    return !may_end; /* the return of an unknown dialect is none */
  }
  if (ir_opcode_has(opcode, IR_TRAIT_EFFECT) || ir_opcode_has(opcode, IR_TRAIT_COLLECTIVE)) {
    return true;
  }
  if (opcode == IR_OP_CUSTOM_CALL) {
    return custom_call_has_effect(module, op);
  }
  return inside_has_effect(live, op, depth);
}

/* ---- the walk backwards ---- */

static void mark_op(struct live *live, struct ir_op op) {
  if (op.id != 0 && !live->ops[op.id]) {
    live->ops[op.id] = 1;
    live->out_of_memory |= !vec_push(&live->pending_ops, op.id);
  }
}

static void mark_value(struct live *live, struct ir_value value) {
  if (value.id != 0 && !live->values[value.id]) {
    live->values[value.id] = 1;
    live->out_of_memory |= !vec_push(&live->pending_values, value.id);
  }
}

static void mark_operands(struct live *live, struct ir_op op, uint32_t end) {
  for (uint32_t i = 0; op.id != 0 && i < ir_op_get(live->module, op)->operand_count && i < end; i++) {
    mark_value(live, ir_op_operand(live->module, op, i));
  }
}

static void mark_effects(struct live *live, struct ir_block block) {
  for (struct ir_op op = ir_block_first(live->module, block); op.id != 0; op = ir_op_next(live->module, op)) {
    if (has_effect(live, op, 0)) {
      mark_op(live, op);
    }
  }
}

/* Operand `index` of an operation that hands its operands to a block, or all when they do not correspond. */
static void mark_operand(struct live *live, struct ir_op op, uint32_t index, uint32_t count) {
  if (ir_op_get(live->module, op)->operand_count == count) {
    mark_value(live, ir_op_operand(live->module, op, index));
  } else {
    mark_operands(live, op, UINT32_MAX);
  }
}

static void visit_call(struct live *live, struct ir_op op, struct ir_op callee, struct ir_block body) {
  if (live->first_call[callee.id] == 0) {
    mark_effects(live, body);
  }
  live->next_call[op.id] = live->first_call[callee.id];
  live->first_call[callee.id] = op.id;
  const uint32_t count = ir_block_get(live->module, body)->argument_count;
  for (uint32_t i = 0; i < count; i++) {
    if (live->values[ir_block_argument(live->module, body, i).id]) {
      mark_operand(live, op, i, count);
    }
  }
}

static void visit_op(struct live *live, struct ir_op op) {
  const struct ir_module *module = live->module;
  struct ir_op callee;
  struct ir_block body = callee_body(live->lower, op, &callee);
  if (body.id != 0) {
    visit_call(live, op, callee, body);
    return;
  }
  mark_operands(live, op, first_shape_operand(module, op));
  const bool is_lowered = is_inlined(ir_op_code(module, op));
  for (uint32_t r = 0; r < ir_op_get(module, op)->region_count; r++) {
    struct ir_block block = ir_region_entry(module, ir_op_region(module, op, r));
    if (block.id != 0 && is_lowered) {
      mark_effects(live, block);
      mark_operands(live, ir_block_terminator(module, block), UINT32_MAX);
      continue;
    }
    for (; block.id != 0; block = ir_block_get(module, block)->next) {
      for (struct ir_op inner = ir_block_first(module, block); inner.id != 0; inner = ir_op_next(module, inner)) {
        mark_op(live, inner);
      }
    }
  }
}

static void visit_value(struct live *live, struct ir_value value) {
  const struct ir_module *module = live->module;
  const struct ir_value_data *data = ir_value_get(module, value);
  if (data->op.id != 0) {
    struct ir_op callee;
    struct ir_block body = callee_body(live->lower, data->op, &callee);
    mark_op(live, data->op);
    struct ir_op end = body.id != 0 ? ir_block_terminator(module, body) : (struct ir_op){0};
    if (end.id != 0) {
      mark_operand(live, end, data->index, ir_op_get(module, data->op)->result_count);
    }
    return;
  }
  struct ir_op owner = ir_region_get(module, ir_block_get(module, data->block)->parent)->parent;
  if (ir_op_code(module, owner) != IR_OP_FUNC_FUNC) {
    return; /* the operands of everything else are used with it */
  }
  for (uint32_t call = live->first_call[owner.id]; call != 0; call = live->next_call[call]) {
    mark_operand(live, (struct ir_op){call}, data->index, ir_block_get(module, data->block)->argument_count);
  }
}

bool lower_live_mark(struct lower *lower, struct ir_block entry) {
  const struct ir_module *module = lower->module;
  const size_t ops = module->ops.count + 1;
  struct live live = {
      .lower = lower,
      .module = module,
      .ops = calloc(ops, 1),
      .values = calloc(module->values.count + 1, 1),
      .effects = calloc(ops, 1),
      .first_call = calloc(2 * ops, sizeof *live.first_call),
  };
  bool ok = live.ops != NULL && live.values != NULL && live.effects != NULL && live.first_call != NULL;
  if (ok) {
    live.next_call = live.first_call + ops;
    mark_effects(&live, entry);
    mark_operands(&live, ir_block_terminator(module, entry), UINT32_MAX);
  }
  while (ok && !live.out_of_memory && (live.pending_ops.count > 0 || live.pending_values.count > 0)) {
    if (live.pending_ops.count > 0) {
      visit_op(&live, (struct ir_op){live.pending_ops.data[--live.pending_ops.count]});
    } else {
      visit_value(&live, (struct ir_value){live.pending_values.data[--live.pending_values.count]});
    }
  }
  ok = ok && !live.out_of_memory;
  free(live.values);
  free(live.effects);
  free(live.first_call);
  vec_release(&live.pending_ops);
  vec_release(&live.pending_values);
  lower->live = live.ops;
  return ok;
}

/* ---- size of the inlined call tree ---- */

struct size_walk {
  const struct lower *lower;
  struct lower_size *functions; /* per function op: what its body holds */
  uint8_t *is_known;
};

static struct lower_size block_size(struct size_walk *walk, struct ir_block block, unsigned depth);

static struct lower_size function_size(struct size_walk *walk, struct ir_op function, struct ir_block body,
                                       unsigned depth) {
  if (!walk->is_known[function.id]) {
    struct lower_size size = block_size(walk, body, depth);
    walk->functions[function.id] = size;
    walk->is_known[function.id] = 1;
  }
  return walk->functions[function.id];
}

static struct lower_size block_size(struct size_walk *walk, struct ir_block block, unsigned depth) {
  const struct ir_module *module = walk->lower->module;
  struct lower_size size = {0};
  if (depth >= LOWER_MAX_NESTING) {
    return size; /* the lowering will say that it is too deep */
  }
  for (struct ir_op op = ir_block_first(module, block); op.id != 0; op = ir_op_next(module, op)) {
    enum ir_opcode opcode = ir_op_code(module, op);
    size.ops = sat_add_u64(size.ops, 1);
    if (!walk->lower->live[op.id]) {
      continue;
    }
    size.tasks = sat_add_u64(size.tasks, lower_makes_task(opcode));
    struct ir_op callee;
    struct ir_block body = callee_body(walk->lower, op, &callee);
    struct lower_size inside = {0};
    if (body.id != 0) {
      inside = function_size(walk, callee, body, depth + 1);
    }
    for (uint32_t r = 0; body.id == 0 && is_inlined(opcode) && r < ir_op_get(module, op)->region_count; r++) {
      struct ir_block entry = ir_region_entry(module, ir_op_region(module, op, r));
      struct lower_size one = entry.id != 0 ? block_size(walk, entry, depth + 1) : (struct lower_size){0};
      inside = (struct lower_size){sat_add_u64(inside.ops, one.ops), sat_add_u64(inside.tasks, one.tasks)};
    }
    if (opcode == IR_OP_MHLO_FUSION) {
      inside.tasks = 0; /* its stages are one task */
    }
    size = (struct lower_size){sat_add_u64(size.ops, inside.ops), sat_add_u64(size.tasks, inside.tasks)};
  }
  return size;
}

bool lower_live_size(struct lower *lower, struct ir_block entry, struct lower_size *size) {
  const size_t ops = lower->module->ops.count + 1;
  struct size_walk walk = {lower, calloc(ops, sizeof *walk.functions), calloc(ops, 1)};
  bool ok = walk.functions != NULL && walk.is_known != NULL;
  if (ok) {
    *size = block_size(&walk, entry, 0);
  }
  free(walk.functions);
  free(walk.is_known);
  return ok;
}
