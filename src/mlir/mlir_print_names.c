/* SSA names as MLIR gives them: numbers in order of definition, %argN for the arguments of entry blocks, and the names
 * that operations suggest in the pretty form, made unique by one counter per scope.
 *
 * A nested region goes on from the counters that its parent region ended with, so names of sibling regions repeat and
 * never collide with an outer name. In the generic form no name repeats in the whole text (MLIR's printUniqueSSAIDs): one
 * set of counters serves all regions, in the order in which the stack gives them, the last region of an op first. A suggested name is taken when a region around has not used it; all later uses get a
 * suffix from a counter that only grows, so suffixed names need no check. */
#include "mlir/mlir_print.h"

#include <stdlib.h>
#include <string.h>

static const char *const base_texts[] = {
    [NAME_NUMBER] = "",
    [NAME_ARG] = "arg",
    [NAME_CST] = "cst",
    [NAME_C] = "c",
    [NAME_ITER_ARG] = "iterArg",
    [NAME_OUTPUT_STATE] = "output_state",
    [NAME_OUTPUT] = "output",
    [NAME_BATCH_MEAN] = "batch_mean",
    [NAME_BATCH_VAR] = "batch_var",
    [NAME_GRAD_OPERAND] = "grad_operand",
    [NAME_GRAD_SCALE] = "grad_scale",
    [NAME_GRAD_OFFSET] = "grad_offset",
    [NAME_VALUES] = "values",
    [NAME_INDICES] = "indices",
    [NAME_F] = "f",
    [NAME_INPUT] = "input",
    [NAME_CARRY] = "carry",
    [NAME_CAST] = "cast",
};

/* Operations with several results of different meaning: each result is a group with a name of its own. */
static const struct {
  uint16_t opcode;
  uint8_t count;
  uint8_t names[3];
} result_names[] = {
    {IR_OP_BATCH_NORM_TRAINING, 3, {NAME_OUTPUT, NAME_BATCH_MEAN, NAME_BATCH_VAR}},
    {IR_OP_BATCH_NORM_GRAD, 3, {NAME_GRAD_OPERAND, NAME_GRAD_SCALE, NAME_GRAD_OFFSET}},
    {IR_OP_RNG_BIT_GENERATOR, 2, {NAME_OUTPUT_STATE, NAME_OUTPUT}},
    {IR_OP_CHLO_TOP_K, 2, {NAME_VALUES, NAME_INDICES}},
    {IR_OP_MHLO_TOPK, 2, {NAME_VALUES, NAME_INDICES}},
};

/* Counters of a region; copied into the regions below it. */
struct naming {
  struct ir_region region;
  uint32_t next_number, next_argument, next_suffix;
  uint32_t used; /* bit per enum name_base */
};

static void set_suggested(struct mlir_printer *p, struct naming *n, struct ir_value value, enum name_base base) {
  struct value_name *name = &p->names[value.id];
  name->base = (uint8_t)base;
  name->number = (n->used >> base & 1) ? n->next_suffix++ : NAME_NO_SUFFIX;
  n->used |= 1u << base;
}

/* Named by each value separately; false when the operation suggests nothing. */
static bool name_suggested_results(struct mlir_printer *p, struct naming *n, const struct ir_op_data *op) {
  const struct ir_module *m = p->module;
  if (p->is_generic) {
    return false;
  }
  struct ir_value first = {op->result_first};
  if (op->opcode == IR_OP_CONSTANT && strncmp(ir_text(m, op->name), "stablehlo.", 10) == 0) {
    enum dtype dtype = (enum dtype)ir_type_get(m, ir_value_type(m, first))->dtype;
    bool is_quantized = ir_type_get(m, ir_type_get(m, ir_value_type(m, first))->element)->kind == IR_TYPE_QUANTIZED;
    bool is_integer = dtype_is_integral(dtype) && dtype != DTYPE_INDEX && !is_quantized;
    set_suggested(p, n, first, is_integer ? NAME_C : NAME_CST);
    return true;
  }
  if (op->opcode == IR_OP_UNKNOWN && strcmp(ir_text(m, op->name), "arith.constant") == 0
      && ir_type_is_tensor(m, ir_value_type(m, first))) {
    set_suggested(p, n, first, NAME_CST);
    return true;
  }
  if (op->opcode == IR_OP_UNKNOWN && strcmp(ir_text(m, op->name), "tensor.cast") == 0) {
    set_suggested(p, n, first, NAME_CAST);
    return true;
  }
  if (op->opcode == IR_OP_FUNC_CONSTANT) {
    set_suggested(p, n, first, NAME_F);
    return true;
  }
  for (size_t i = 0; i < sizeof result_names / sizeof result_names[0]; i++) {
    if (result_names[i].opcode == op->opcode && result_names[i].count == op->result_count) {
      for (uint32_t r = 0; r < op->result_count; r++) {
        set_suggested(p, n, (struct ir_value){op->result_first + r}, (enum name_base)result_names[i].names[r]);
      }
      return true;
    }
  }
  return false;
}

static void name_results(struct mlir_printer *p, struct naming *n, const struct ir_op_data *op) {
  if (op->result_count == 0 || (op->result_count <= 3 && name_suggested_results(p, n, op))) {
    return;
  }
  uint32_t number = n->next_number++;
  for (uint32_t i = 0; i < op->result_count; i++) {
    p->names[op->result_first + i] = (struct value_name){number, i, NAME_NUMBER, op->result_count > 1};
  }
}

/* The name that an operation suggests for argument `i` of the first block of its regions; ARG when it suggests none. */
static enum name_base argument_base(const struct mlir_printer *p, struct ir_op op, uint32_t i) {
  if (p->is_generic || !op.id) {
    return NAME_ARG;
  }
  switch (ir_op_code(p->module, op)) {
  case IR_OP_WHILE:
    return NAME_ITER_ARG;
  case IR_OP_CHLO_SCAN:
  case IR_OP_MHLO_SCAN: {
    struct ir_attr sizes = ir_op_attr(p->module, op, "operandSegmentSizes");
    bool has_sizes =
        sizes.id && ir_attr_get(p->module, sizes)->kind == IR_ATTR_DENSE_ARRAY && ir_attr_length(p->module, sizes) > 0;
    return has_sizes && i < ir_attr_int_at(p->module, sizes, 0) ? NAME_INPUT : NAME_CARRY;
  }
  default:
    return NAME_ARG;
  }
}

static void name_arguments(struct mlir_printer *p, struct naming *n, const struct ir_block_data *block, bool is_entry,
                           struct ir_op parent) {
  for (uint32_t i = 0; i < block->argument_count; i++) {
    struct ir_value value = {block->argument_first + i};
    enum name_base base = is_entry ? argument_base(p, parent, i) : NAME_NUMBER;
    if (base > NAME_ARG) {
      set_suggested(p, n, value, base);
    } else if (is_entry) {
      p->names[value.id] = (struct value_name){n->next_argument++, 0, NAME_ARG, false};
    } else {
      p->names[value.id] = (struct value_name){n->next_number++, 0, NAME_NUMBER, false};
    }
  }
}

typedef VEC(struct naming) naming_stack;

static bool push_regions(const struct ir_module *m, struct ir_op op, const struct naming *from, naming_stack *stack) {
  for (uint32_t i = 0; i < ir_op_get(m, op)->region_count; i++) {
    struct naming inner = *from;
    inner.region = ir_op_region(m, op, i);
    if (!vec_push(stack, inner)) {
      return false;
    }
  }
  return true;
}

/* Block `from` jumps to `to`. Edges are added in the order of the blocks that they leave. */
static bool add_edge(struct mlir_printer *p, struct ir_block from, struct ir_block to) {
  struct block_edges *edges = &p->edges;
  size_t count = p->module->blocks.count + 1;
  if (!edges->ends) {
    edges->ends = calloc(count, sizeof *edges->ends);
    if (!edges->ends) {
      return false;
    }
  }
  struct block_edge edge = {from, 0};
  if (!vec_push(&edges->list, edge)) {
    return false;
  }
  uint32_t number = (uint32_t)edges->list.count;
  struct edge_ends *ends = &edges->ends[to.id];
  if (ends->last) {
    edges->list.data[ends->last - 1].next = number;
  } else {
    ends->first = number;
  }
  ends->last = number;
  ends->count++;
  return true;
}

static bool add_edges(struct mlir_printer *p, struct ir_block from, const struct ir_op_data *op) {
  for (uint32_t i = 0; i < op->successor_count; i++) {
    if (!add_edge(p, from, (struct ir_block){p->module->lists.data[op->successor_first + i]})) {
      return false;
    }
  }
  return true;
}

static bool name_region(struct mlir_printer *p, struct naming *n, naming_stack *stack) {
  const struct ir_module *m = p->module;
  const struct ir_region_data *region = ir_region_get(m, n->region);
  uint32_t block_number = 0;
  for (struct ir_block b = region->first; b.id; b = ir_block_get(m, b)->next) {
    p->block_numbers[b.id] = block_number++;
    name_arguments(p, n, ir_block_get(m, b), b.id == region->first.id, region->parent);
    for (struct ir_op op = ir_block_first(m, b); op.id; op = ir_op_next(m, op)) {
      name_results(p, n, ir_op_get(m, op));
      if (!add_edges(p, b, ir_op_get(m, op))) {
        return false;
      }
    }
  }
  for (struct ir_block b = region->first; b.id; b = ir_block_get(m, b)->next) {
    for (struct ir_op op = ir_block_first(m, b); op.id; op = ir_op_next(m, op)) {
      if (!push_regions(m, op, n, stack)) {
        return false;
      }
    }
  }
  return true;
}

bool mlir_names_assign(struct mlir_printer *p, struct ir_op op) {
  const struct ir_module *m = p->module;
  p->names = malloc((m->values.count + 1) * sizeof *p->names);
  p->block_numbers = calloc(m->blocks.count + 1, sizeof *p->block_numbers);
  if (!p->names || !p->block_numbers) {
    return false;
  }
  for (size_t i = 0; i < m->values.count; i++) {
    p->names[i] = (struct value_name){NAME_NO_SUFFIX, 0, NAME_UNKNOWN, false};
  }
  naming_stack stack = {0};
  struct naming top = {{0}, 0, 0, 0, 0};
  name_results(p, &top, ir_op_get(m, op));
  bool ok = push_regions(m, op, &top, &stack);
  while (ok && stack.count > 0) {
    struct naming n = stack.data[--stack.count];
    if (p->is_generic) {
      n.next_number = top.next_number;
      n.next_argument = top.next_argument;
    }
    ok = name_region(p, &n, &stack);
    top = n;
  }
  vec_release(&stack);
  return ok;
}

static void put_name(struct strbuf *out, const struct value_name *name) {
  if (name->base == NAME_UNKNOWN) {
    strbuf_puts(out, "<<UNKNOWN SSA VALUE>>");
    return;
  }
  strbuf_putc(out, '%');
  strbuf_puts(out, base_texts[name->base]);
  if (name->base <= NAME_ARG) {
    strbuf_put_i64(out, name->number);
  } else if (name->number != NAME_NO_SUFFIX) {
    strbuf_putc(out, '_');
    strbuf_put_i64(out, name->number);
  }
}

void mlir_print_value(struct mlir_printer *p, struct ir_value value) {
  const struct value_name *name = &p->names[value.id];
  put_name(p->out, name);
  if (name->is_packed) {
    strbuf_putc(p->out, '#');
    strbuf_put_i64(p->out, name->lead);
  }
}

void mlir_print_results(struct mlir_printer *p, const struct ir_op_data *op) {
  if (op->result_count == 0) {
    return;
  }
  const struct value_name *first = &p->names[op->result_first];
  put_name(p->out, first);
  if (first->is_packed) {
    strbuf_putc(p->out, ':');
    strbuf_put_i64(p->out, op->result_count);
  } else {
    for (uint32_t i = 1; i < op->result_count; i++) {
      strbuf_puts(p->out, ", ");
      put_name(p->out, &p->names[op->result_first + i]);
    }
  }
  strbuf_puts(p->out, " = ");
}
