/* Creating and changing ops, blocks and regions. */
#include <string.h>

#include "ir/ir.h"

static bool append_list(struct ir_module *m, const uint32_t *items, uint32_t count, uint32_t *first) {
  *first = (uint32_t)m->lists.count;
  if (count == 0) {
    return true;
  }
  if (!vec_reserve(&m->lists, m->lists.count + count)) {
    return false;
  }
  memcpy(m->lists.data + m->lists.count, items, count * sizeof *items);
  m->lists.count += count;
  return true;
}

struct ir_region ir_region_create(struct ir_module *m) {
  struct ir_region_data region = {{0}, {0}, {0}};
  struct ir_region handle = {(uint32_t)m->regions.count};
  if (!vec_push(&m->regions, region)) {
    m->out_of_memory = true;
    return (struct ir_region){0};
  }
  return handle;
}

void ir_block_append(struct ir_module *m, struct ir_region region, struct ir_block block) {
  struct ir_region_data *r = ir_region_get(m, region);
  ir_block_get(m, block)->parent = region;
  if (r->last.id) {
    ir_block_get(m, r->last)->next = block;
  } else {
    r->first = block;
  }
  r->last = block;
}

struct ir_block ir_block_create(struct ir_module *m, struct ir_region region) {
  struct ir_block_data block = {0, 0, {0}, {0}, {0}, {0}};
  struct ir_block handle = {(uint32_t)m->blocks.count};
  if (!vec_push(&m->blocks, block)) {
    m->out_of_memory = true;
    return (struct ir_block){0};
  }
  if (region.id) {
    ir_block_append(m, region, handle);
  }
  return handle;
}

bool ir_block_set_arguments(struct ir_module *m, struct ir_block block, const struct ir_type *types, uint32_t count) {
  struct ir_block_data *b = ir_block_get(m, block);
  b->argument_first = (uint32_t)m->values.count;
  b->argument_count = count;
  for (uint32_t i = 0; i < count; i++) {
    struct ir_value_data value = {.type = types[i], .op = {0}, .block = block, .index = i};
    if (!vec_push(&m->values, value)) {
      m->out_of_memory = true;
      return false;
    }
  }
  return true;
}

/* Copies (name, attr) pairs into the pool, sorted by name text. */
static bool append_attrs(struct ir_module *m, const uint32_t *attrs, uint32_t count, uint32_t *first) {
  if (!append_list(m, attrs, count * 2, first)) {
    return false;
  }
  uint32_t *pairs = m->lists.data + *first;
  for (uint32_t i = 1; i < count; i++) {
    uint32_t name = pairs[2 * i], value = pairs[2 * i + 1];
    uint32_t at = i;
    while (at > 0 && strcmp(ir_text(m, pairs[2 * (at - 1)]), ir_text(m, name)) > 0) {
      pairs[2 * at] = pairs[2 * (at - 1)];
      pairs[2 * at + 1] = pairs[2 * (at - 1) + 1];
      at--;
    }
    pairs[2 * at] = name;
    pairs[2 * at + 1] = value;
  }
  return true;
}

static void link_op(struct ir_module *m, struct ir_block block, struct ir_op op) {
  struct ir_block_data *b = ir_block_get(m, block);
  struct ir_op_data *o = ir_op_get(m, op);
  o->parent = block;
  o->previous = b->last;
  if (b->last.id) {
    ir_op_get(m, b->last)->next = op;
  } else {
    b->first = op;
  }
  b->last = op;
}

static bool append_results(struct ir_module *m, struct ir_op op, const struct ir_op_spec *spec) {
  for (uint32_t i = 0; i < spec->result_count; i++) {
    struct ir_value_data value = {.type = spec->result_types[i], .op = op, .block = {0}, .index = i};
    if (!vec_push(&m->values, value)) {
      return false;
    }
  }
  return true;
}

struct ir_op ir_op_create(struct ir_module *m, struct ir_block block, const struct ir_op_spec *spec) {
  struct ir_op op = {(uint32_t)m->ops.count};
  uint32_t name = spec->name ? spec->name : intern_add_cstr(&m->strings, ir_opcode_info(spec->opcode)->name);
  struct ir_op_data data = {.opcode = (uint16_t)spec->opcode,
                            .name = name,
                            .operand_count = spec->operand_count,
                            .result_first = (uint32_t)m->values.count,
                            .result_count = spec->result_count,
                            .attr_count = spec->attr_count,
                            .region_count = spec->region_count,
                            .successor_count = spec->successor_count,
                            .offset = spec->offset,
                            .location = spec->location};
  bool ok = name != UINT32_MAX
            && append_list(m, (const uint32_t *)spec->operands, spec->operand_count, &data.operand_first)
            && append_attrs(m, spec->attrs, spec->attr_count, &data.attr_first)
            && append_list(m, (const uint32_t *)spec->regions, spec->region_count, &data.region_first)
            && append_list(m, (const uint32_t *)spec->successors, spec->successor_count, &data.successor_first)
            && append_results(m, op, spec) && vec_push(&m->ops, data);
  if (!ok) {
    m->out_of_memory = true;
    return (struct ir_op){0};
  }
  for (uint32_t i = 0; i < spec->region_count; i++) {
    ir_region_get(m, spec->regions[i])->parent = op;
  }
  if (block.id) {
    link_op(m, block, op);
  }
  return op;
}

void ir_op_set_operand(struct ir_module *m, struct ir_op op, uint32_t i, struct ir_value value) {
  m->lists.data[ir_op_get(m, op)->operand_first + i] = value.id;
}

struct ir_attr ir_op_attr(const struct ir_module *m, struct ir_op op, const char *name) {
  const struct ir_op_data *o = ir_op_get(m, op);
  const uint32_t *pairs = m->lists.data + o->attr_first;
  for (uint32_t i = 0; i < o->attr_count; i++) {
    if (strcmp(ir_text(m, pairs[2 * i]), name) == 0) {
      return (struct ir_attr){pairs[2 * i + 1]};
    }
  }
  return (struct ir_attr){0};
}

/* The list is rewritten at the end of the pool when it grows: attributes are set rarely. */
bool ir_op_set_attr(struct ir_module *m, struct ir_op op, const char *name, struct ir_attr attr) {
  uint32_t name_id = intern_add_cstr(&m->strings, name);
  struct ir_op_data *o = ir_op_get(m, op);
  for (uint32_t i = 0; i < o->attr_count; i++) {
    uint32_t *pair = m->lists.data + o->attr_first + 2 * i;
    if (pair[0] != name_id) {
      continue;
    }
    pair[1] = attr.id;
    if (!attr.id) {
      memmove(pair, pair + 2, (size_t)(o->attr_count - i - 1) * 2 * sizeof *pair);
      o->attr_count--;
    }
    return true;
  }
  if (!attr.id) {
    return true;
  }
  uint32_t count = o->attr_count;
  if (name_id == UINT32_MAX || !vec_reserve(&m->lists, m->lists.count + 2 * ((size_t)count + 1))) {
    m->out_of_memory = true;
    return false;
  }
  uint32_t first = (uint32_t)m->lists.count;
  uint32_t *to = m->lists.data + first;
  if (count) {
    memcpy(to, m->lists.data + o->attr_first, (size_t)count * 2 * sizeof *to);
  }
  uint32_t at = count;
  while (at > 0 && strcmp(ir_text(m, to[2 * (at - 1)]), name) > 0) {
    to[2 * at] = to[2 * (at - 1)];
    to[2 * at + 1] = to[2 * (at - 1) + 1];
    at--;
  }
  to[2 * at] = name_id;
  to[2 * at + 1] = attr.id;
  m->lists.count += 2 * ((size_t)count + 1);
  o->attr_first = first;
  o->attr_count = count + 1;
  return true;
}

void ir_op_erase(struct ir_module *m, struct ir_op op) {
  struct ir_op_data *o = ir_op_get(m, op);
  if (o->parent.id) {
    struct ir_block_data *b = ir_block_get(m, o->parent);
    if (o->previous.id) {
      ir_op_get(m, o->previous)->next = o->next;
    } else {
      b->first = o->next;
    }
    if (o->next.id) {
      ir_op_get(m, o->next)->previous = o->previous;
    } else {
      b->last = o->previous;
    }
  }
  o->flags |= IR_OP_ERASED;
}
