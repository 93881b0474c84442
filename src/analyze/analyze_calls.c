/* Symbols, callees, and the call graph: every call names a function, fits its signature, and no function reaches
 * itself. */
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze_int.h"
#include "base/strbuf.h"

/* ---- symbols ---- */

static uint32_t symbol_id(const struct ir_module *module, struct ir_op function) {
  struct ir_attr attr = ir_op_attr(module, function, "sym_name");
  return attr.id != 0 ? ir_attr_get(module, attr)->text : 0;
}

/* Innermost builtin.module around an op (not the op itself), or 0. */
static struct ir_op enclosing_module(const struct ir_module *module, struct ir_op op) {
  do {
    struct ir_block block = ir_op_get(module, op)->parent;
    struct ir_region region = block.id != 0 ? ir_block_get(module, block)->parent : (struct ir_region){0};
    op = region.id != 0 ? ir_region_get(module, region)->parent : (struct ir_op){0};
  } while (op.id != 0 && ir_op_code(module, op) != IR_OP_BUILTIN_MODULE);
  return op;
}

/* Interned ids are below 2^32, so keys with a scope differ from plain names. */
static uint64_t scoped_key(struct ir_op scope, uint32_t name) {
  return ((uint64_t)scope.id << 32) | name;
}

bool analyze_symbols_init(struct analyze_symbols *symbols, const struct ir_module *module) {
  memset(symbols, 0, sizeof *symbols);
  for (uint32_t id = 1; id < module->ops.count; id++) {
    const struct ir_op_data *data = &module->ops.data[id];
    uint32_t seen;
    if (data->opcode != IR_OP_FUNC_FUNC || (data->flags & IR_OP_ERASED) != 0) {
      continue;
    }
    uint32_t name = symbol_id(module, (struct ir_op){id});
    if (name == 0) {
      continue;
    }
    uint64_t scoped = scoped_key(enclosing_module(module, (struct ir_op){id}), name);
    bool ok = map_get(&symbols->by_name, name, &seen) || map_set(&symbols->by_name, name, id);
    ok = ok && (map_get(&symbols->by_name, scoped, &seen) || map_set(&symbols->by_name, scoped, id));
    if (!ok) {
      analyze_symbols_release(symbols);
      return false;
    }
  }
  return true;
}

void analyze_symbols_release(struct analyze_symbols *symbols) {
  map_release(&symbols->by_name);
}

struct ir_op analyze_symbols_find(const struct analyze_symbols *symbols, uint32_t name) {
  uint32_t id = 0;
  return map_get(&symbols->by_name, name, &id) ? (struct ir_op){id} : (struct ir_op){0};
}

/* ---- callees ---- */

/* Interned name of the function that an op refers to; 0 when it refers to none. */
static uint32_t callee_name(const struct ir_module *module, struct ir_op op) {
  struct ir_attr attr = {0};
  switch ((int)ir_op_code(module, op)) {
  case IR_OP_FUNC_CALL:
    attr = ir_op_attr(module, op, "callee");
    break;
  case IR_OP_COMPOSITE:
    attr = ir_op_attr(module, op, "decomposition");
    break;
  case IR_OP_ASYNC_START:
    attr = ir_op_attr(module, op, "called_computation"); /* mhlo's form; StableHLO's has a region */
    break;
  case IR_OP_CUSTOM_CALL:
    attr = ir_op_attr(module, op, "called_computations");
    if (attr.id != 0) {
      const struct ir_attr_data *list = ir_attr_get(module, attr);
      bool has_first = list->kind == IR_ATTR_ARRAY && list->list_count > 0;
      attr.id = has_first ? module->lists.data[list->list_first] : 0;
    }
    break;
  default:
    break;
  }
  if (attr.id == 0 || ir_attr_get(module, attr)->kind != IR_ATTR_SYMBOL) {
    return 0;
  }
  return ir_attr_get(module, attr)->text;
}

/* The function of that name directly in a module; linear. */
static struct ir_op function_in(const struct ir_module *module, struct ir_op scope, uint32_t name) {
  struct ir_block block = ir_region_entry(module, ir_op_region(module, scope, 0));
  struct ir_op op = block.id != 0 ? ir_block_first(module, block) : (struct ir_op){0};
  while (op.id != 0 && !(ir_op_code(module, op) == IR_OP_FUNC_FUNC && symbol_id(module, op) == name)) {
    op = ir_op_next(module, op);
  }
  return op;
}

struct ir_op callee_of(const struct ir_module *module, const struct analyze_symbols *symbols, struct ir_op op) {
  uint32_t name = callee_name(module, op);
  struct ir_op callee = {0};
  if (name == 0) {
    return callee;
  }
  for (struct ir_op scope = enclosing_module(module, op); scope.id != 0; scope = enclosing_module(module, scope)) {
    uint32_t id = 0;
    if (symbols != NULL && map_get(&symbols->by_name, scoped_key(scope, name), &id)) {
      return (struct ir_op){id};
    }
    callee = symbols == NULL ? function_in(module, scope, name) : callee;
    if (callee.id != 0) {
      return callee;
    }
  }
  return callee;
}

struct ir_op analyze_callee(const struct ir_module *module, struct ir_op op) {
  return callee_of(module, NULL, op);
}

struct ir_op analyze_symbols_callee(const struct analyze_symbols *symbols, const struct ir_module *module,
                                    struct ir_op op) {
  return callee_of(module, symbols, op);
}

struct ir_op argument_owner(const struct ir_module *module, struct ir_value value) {
  struct ir_block block = ir_value_get(module, value)->block;
  if (block.id == 0) {
    return (struct ir_op){0};
  }
  struct ir_region region = ir_block_get(module, block)->parent;
  return region.id != 0 ? ir_region_get(module, region)->parent : (struct ir_op){0};
}

struct ir_op region_terminator(const struct ir_module *module, struct ir_op op, uint32_t region) {
  if (region >= ir_op_get(module, op)->region_count) {
    return (struct ir_op){0};
  }
  struct ir_block block = ir_region_entry(module, ir_op_region(module, op, region));
  return block.id != 0 ? ir_block_terminator(module, block) : (struct ir_op){0};
}

/* ---- checks ---- */

static void report(const struct ir_module *module, struct diag_list *diags, struct ir_op op, enum diag_id id,
                   const char *text) {
  const struct ir_op_data *data = ir_op_get(module, op);
  diag_at(diags, id, &module->source, data->offset, "'%s': %s", ir_text(module, data->name), text);
}

/* The specification numbers what a composite demands of its decomposition; calls have no section there. */
static const char *composite_number(const struct ir_module *module, struct ir_op op, const char *number) {
  return ir_op_code(module, op) == IR_OP_COMPOSITE ? number : "";
}

/* Nearest function name for a misspelt one; names are gathered only on this error path. */
static void report_unresolved(const struct ir_module *module, struct diag_list *diags, struct ir_op op, uint32_t name) {
  VEC(const char *) names = {0};
  struct strbuf text = {0};
  bool ok = true;
  for (uint32_t id = 1; ok && id < module->ops.count && names.count < 4096; id++) {
    if (module->ops.data[id].opcode == IR_OP_FUNC_FUNC) {
      ok = vec_push(&names, ir_symbol_name(module, (struct ir_op){id}));
    }
  }
  const char *near = ok ? nearest_name(ir_text(module, name), names.data, names.count) : NULL;
  strbuf_printf(&text, "no function named '@%s'", ir_text(module, name));
  if (near != NULL) {
    strbuf_printf(&text, "; did you mean '@%s'?", near);
  }
  strbuf_puts(&text, composite_number(module, op, " (C2)"));
  report(module, diags, op, DIAG_E0207_UNRESOLVED_CALL, strbuf_text(&text));
  strbuf_release(&text);
  vec_release(&names);
}

static bool check_signature(const struct ir_module *module, struct diag_list *diags, struct ir_op op,
                            struct ir_op callee) {
  struct ir_type type = ir_function_type(module, callee);
  if (type.id == 0 || ir_type_get(module, type)->kind != IR_TYPE_FUNCTION) {
    return true;
  }
  const struct ir_type_data *data = ir_type_get(module, type);
  const struct ir_op_data *call = ir_op_get(module, op);
  /* the result of an async_start is a handle; the computation's results come from its async_done */
  bool has_results = call->opcode != IR_OP_ASYNC_START;
  struct strbuf text = {0};
  bool is_about_inputs = call->operand_count != data->input_count;
  if (is_about_inputs || (has_results && call->result_count != data->count - data->input_count)) {
    strbuf_printf(&text, "'@%s' has %u inputs and %u results, the call has %u and %u", ir_symbol_name(module, callee),
                  data->input_count, data->count - data->input_count, call->operand_count, call->result_count);
  }
  for (uint32_t i = 0; text.length == 0 && i < (has_results ? data->count : data->input_count); i++) {
    bool is_input = i < data->input_count;
    uint32_t index = is_input ? i : i - data->input_count;
    struct ir_type expected = {module->lists.data[data->first + i]};
    struct ir_type found =
        ir_value_type(module, is_input ? ir_op_operand(module, op, index) : ir_op_result(module, op, index));
    if (!types_agree(module, expected, found)) {
      is_about_inputs = is_input;
      strbuf_printf(&text, "%s %u of '@%s' has type '", is_input ? "input" : "result", index,
                    ir_symbol_name(module, callee));
      type_text(module, expected, &text);
      strbuf_puts(&text, "', the call has '");
      type_text(module, found, &text);
      strbuf_putc(&text, '\'');
    }
  }
  bool is_fitting = text.length == 0;
  if (!is_fitting) {
    strbuf_puts(&text, composite_number(module, op, is_about_inputs ? " (C3)" : " (C4)"));
    report(module, diags, op, DIAG_E0208_CALL_TYPE, strbuf_text(&text));
  }
  strbuf_release(&text);
  return is_fitting;
}

/* ---- recursion ---- */

struct call_edge {
  uint32_t caller, callee; /* func.func ops; caller 0: outside of functions */
  struct ir_op call;
};

struct call_graph {
  VEC(struct call_edge) edges; /* sorted by caller */
  uint8_t *color; /* by op id: 0 new, 1 on the path, 2 done */
};

static int by_caller(const void *a, const void *b) {
  const struct call_edge *x = a, *y = b;
  if (x->caller != y->caller) {
    return x->caller < y->caller ? -1 : 1;
  }
  return x->call.id < y->call.id ? -1 : x->call.id > y->call.id;
}

static size_t first_edge(const struct call_graph *graph, uint32_t caller) {
  size_t low = 0, high = graph->edges.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (graph->edges.data[middle].caller < caller) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Depth-first from `root` with an explicit stack of edge cursors. Returns the call that closes a cycle, or 0. */
static bool find_cycle(struct call_graph *graph, uint32_t root, struct ir_op *closing) {
  struct frame {
    uint32_t function;
    size_t edge;
  };
  VEC(struct frame) stack = {0};
  closing->id = 0;
  struct frame start = {root, first_edge(graph, root)};
  bool ok = vec_push(&stack, start);
  graph->color[root] = 1;
  while (ok && stack.count > 0) {
    struct frame *top = &stack.data[stack.count - 1];
    bool is_done = top->edge >= graph->edges.count || graph->edges.data[top->edge].caller != top->function;
    if (is_done) {
      graph->color[top->function] = 2;
      stack.count--;
      continue;
    }
    const struct call_edge *edge = &graph->edges.data[top->edge++];
    if (graph->color[edge->callee] == 1) {
      closing->id = closing->id == 0 ? edge->call.id : closing->id;
    } else if (graph->color[edge->callee] == 0) {
      struct frame next = {edge->callee, first_edge(graph, edge->callee)};
      graph->color[edge->callee] = 1;
      ok = vec_push(&stack, next);
    }
  }
  vec_release(&stack);
  return ok;
}

static uint32_t enclosing_function(const struct ir_module *module, struct ir_op op) {
  while (op.id != 0 && ir_op_code(module, op) != IR_OP_FUNC_FUNC) {
    struct ir_block block = ir_op_get(module, op)->parent;
    struct ir_region region = block.id != 0 ? ir_block_get(module, block)->parent : (struct ir_region){0};
    op = region.id != 0 ? ir_region_get(module, region)->parent : (struct ir_op){0};
  }
  return op.id;
}

static enum status check_recursion(const struct ir_module *module, struct call_graph *graph, struct diag_list *diags,
                                   bool *has_cycle) {
  graph->color = calloc(module->ops.count + 1, 1);
  if (graph->color == NULL) {
    return STATUS_MEMORY;
  }
  if (graph->edges.count > 0) {
    qsort(graph->edges.data, graph->edges.count, sizeof graph->edges.data[0], by_caller);
  }
  enum status status = STATUS_OK;
  for (uint32_t id = 1; status == STATUS_OK && id < module->ops.count; id++) {
    struct ir_op closing;
    if (module->ops.data[id].opcode != IR_OP_FUNC_FUNC || graph->color[id] != 0) {
      continue;
    }
    if (!find_cycle(graph, id, &closing)) {
      status = STATUS_MEMORY;
    } else if (closing.id != 0) {
      struct strbuf text = {0};
      struct ir_op callee = {0};
      for (size_t i = 0; i < graph->edges.count; i++) {
        if (graph->edges.data[i].call.id == closing.id) {
          callee.id = graph->edges.data[i].callee;
        }
      }
      strbuf_printf(&text, "function '@%s' calls itself through this call", ir_symbol_name(module, callee));
      report(module, diags, closing, DIAG_E0209_RECURSION, strbuf_text(&text));
      strbuf_release(&text);
      *has_cycle = true;
    }
  }
  free(graph->color);
  return status;
}

enum status analyze_calls(const struct ir_module *module, struct diag_list *diags) {
  struct analyze_symbols symbols;
  struct call_graph graph = {0};
  if (!analyze_symbols_init(&symbols, module)) {
    return STATUS_MEMORY;
  }
  bool has_failed = false;
  bool ok = true;
  for (uint32_t id = 1; ok && id < module->ops.count; id++) {
    struct ir_op op = {id};
    uint32_t name = (ir_op_get(module, op)->flags & IR_OP_ERASED) == 0 ? callee_name(module, op) : 0;
    if (name == 0) {
      continue;
    }
    struct ir_op callee = callee_of(module, &symbols, op);
    /* the computation of a custom call is a hint with a signature of its own, and may be missing */
    bool is_hint = ir_op_code(module, op) == IR_OP_CUSTOM_CALL;
    if (callee.id == 0) {
      if (!is_hint) {
        report_unresolved(module, diags, op, name);
        has_failed = true;
      }
      continue;
    }
    has_failed |= !is_hint && !check_signature(module, diags, op, callee);
    struct call_edge edge = {enclosing_function(module, op), callee.id, op};
    ok = vec_push(&graph.edges, edge);
  }
  enum status status = ok ? check_recursion(module, &graph, diags, &has_failed) : STATUS_MEMORY;
  vec_release(&graph.edges);
  analyze_symbols_release(&symbols);
  if (status != STATUS_OK) {
    return status;
  }
  return has_failed ? STATUS_INPUT : STATUS_OK;
}
