/* Life of a module, and the look-ups by name that need a walk. */
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

/* Index 0 of every array is the "none" entry, so that handle 0 reads as an empty thing. */
static bool init_none_entries(struct ir_module *m) {
  struct ir_type_data type = {.kind = IR_TYPE_NONE};
  struct ir_attr_data attr = {.kind = IR_ATTR_NONE};
  struct ir_op_data op = {.opcode = IR_OP_UNKNOWN, .flags = IR_OP_ERASED};
  struct ir_value_data value = {{0}, {0}, {0}, 0};
  struct ir_block_data block = {0, 0, {0}, {0}, {0}, {0}};
  struct ir_region_data region = {{0}, {0}, {0}};
  struct ir_quant quant = {.axis = -1};
  return vec_push(&m->types, type) && vec_push(&m->type_chain, 0) && vec_push(&m->attrs, attr)
         && vec_push(&m->attr_chain, 0) && vec_push(&m->ops, op) && vec_push(&m->values, value)
         && vec_push(&m->blocks, block) && vec_push(&m->regions, region) && vec_push(&m->quants, quant)
         && vec_push(&m->lists, 0) && vec_push(&m->dims, 0);
}

static void init_root(struct ir_module *m) {
  struct ir_region region = ir_region_create(m);
  ir_block_create(m, region);
  struct ir_op_spec spec = {.opcode = IR_OP_BUILTIN_MODULE, .regions = &region, .region_count = 1};
  m->root = ir_op_create(m, (struct ir_block){0}, &spec);
}

struct ir_module *ir_module_new(size_t budget_bytes) {
  struct ir_module *m = calloc(1, sizeof *m);
  if (!m) {
    return NULL;
  }
  arena_init(&m->arena, budget_bytes);
  /* the scalar types and what a program adds at once */
  enum { TYPES = 2 * DTYPE_COUNT };
  if (!intern_init(&m->strings, &m->arena) || !vec_reserve(&m->types, TYPES) || !vec_reserve(&m->type_chain, TYPES)
      || !init_none_entries(m)) {
    ir_module_free(m);
    return NULL;
  }
  for (int d = 1; d < DTYPE_COUNT; d++) {
    m->scalar_types[d] = (struct ir_type){(uint32_t)m->types.count};
    struct ir_type_data type = {.kind = IR_TYPE_SCALAR, .dtype = (uint8_t)d};
    m->out_of_memory |= !vec_push(&m->types, type) || !vec_push(&m->type_chain, 0);
  }
  m->token_type = ir_type_token(m, "!stablehlo.token", strlen("!stablehlo.token"));
  m->unit_attr = ir_attr_text(m, IR_ATTR_UNIT, "", 0, (struct ir_type){0});
  init_root(m);
  if (m->out_of_memory) {
    ir_module_free(m);
    return NULL;
  }
  return m;
}

void ir_module_free(struct ir_module *m) {
  if (!m) {
    return;
  }
  intern_release(&m->strings);
  map_release(&m->type_index);
  map_release(&m->attr_index);
  vec_release(&m->types);
  vec_release(&m->attrs);
  vec_release(&m->ops);
  vec_release(&m->values);
  vec_release(&m->blocks);
  vec_release(&m->regions);
  vec_release(&m->quants);
  vec_release(&m->lists);
  vec_release(&m->dims);
  vec_release(&m->type_chain);
  vec_release(&m->attr_chain);
  vec_release(&m->resources);
  arena_release(&m->arena);
  free(m);
}

const char *ir_symbol_name(const struct ir_module *m, struct ir_op op) {
  struct ir_attr name = ir_op_attr(m, op, "sym_name");
  return name.id ? ir_text(m, ir_attr_get(m, name)->text) : "";
}

struct ir_block ir_function_body(const struct ir_module *m, struct ir_op function) {
  if (ir_op_get(m, function)->region_count == 0) {
    return (struct ir_block){0};
  }
  return ir_region_entry(m, ir_op_region(m, function, 0));
}

struct ir_type ir_function_type(const struct ir_module *m, struct ir_op function) {
  struct ir_attr attr = ir_op_attr(m, function, "function_type");
  return attr.id ? ir_attr_get(m, attr)->type : (struct ir_type){0};
}

/* Calls `accept` on every func.func of nested modules in order until it returns true. Nesting of builtin.module only, so
 * the recursion is bounded by the parser's depth limit. */
static struct ir_op find_function(const struct ir_module *m, struct ir_op parent,
                                  bool (*accept)(const struct ir_module *, struct ir_op, const void *),
                                  const void *data) {
  struct ir_block body = ir_function_body(m, parent);
  for (struct ir_op op = ir_block_first(m, body); op.id; op = ir_op_next(m, op)) {
    enum ir_opcode code = ir_op_code(m, op);
    if (code == IR_OP_FUNC_FUNC && accept(m, op, data)) {
      return op;
    }
    if (code == IR_OP_BUILTIN_MODULE) {
      struct ir_op found = find_function(m, op, accept, data);
      if (found.id) {
        return found;
      }
    }
  }
  return (struct ir_op){0};
}

static bool has_name(const struct ir_module *m, struct ir_op op, const void *name) {
  return strcmp(ir_symbol_name(m, op), name) == 0;
}

struct public_search {
  uint32_t *count;
};

static bool is_public(const struct ir_module *m, struct ir_op op) {
  struct ir_attr visibility = ir_op_attr(m, op, "sym_visibility");
  return !visibility.id || strcmp(ir_text(m, ir_attr_get(m, visibility)->text), "private") != 0;
}

static bool count_public(const struct ir_module *m, struct ir_op op, const void *data) {
  const struct public_search *search = data;
  *search->count += is_public(m, op) ? 1 : 0;
  return false;
}

static bool accept_public(const struct ir_module *m, struct ir_op op, const void *data) {
  (void)data;
  return is_public(m, op);
}

static bool accept_any(const struct ir_module *m, struct ir_op op, const void *data) {
  (void)m, (void)op, (void)data;
  return true;
}

struct ir_op ir_function_find(const struct ir_module *m, const char *name) {
  return find_function(m, m->root, has_name, name);
}

struct ir_op ir_function_entry(const struct ir_module *m) {
  struct ir_op found = ir_function_find(m, "main");
  if (found.id) {
    return found;
  }
  uint32_t public_count = 0;
  struct public_search search = {&public_count};
  find_function(m, m->root, count_public, &search);
  return find_function(m, m->root, public_count == 1 ? accept_public : accept_any, NULL);
}
