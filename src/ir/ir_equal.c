/* Structural equality of operations of two modules, for tests of reading and printing. Handles of the two modules are
 * unrelated: names are compared as text, types and attributes by content (each pair once, remembered), operands through
 * a map from the values of one module to those of the other. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

/* Deepest nesting of operations that is compared; parsers stop far below it. */
enum { MAX_DEPTH = 1000 };

/* A use of a value or block whose definition comes later in the walk. */
struct pending_pair {
  uint32_t a, b;
  struct ir_op op_a;
  bool is_block;
};

struct comparison {
  const struct ir_module *a, *b;
  uint32_t *values; /* value of a → value of b; 0 = not met yet */
  uint32_t *blocks; /* same for blocks */
  VEC(struct pending_pair) pending;
  struct map types, attrs; /* (handle of a, handle of b) → 1 equal, 0 different */
  const char *symbol; /* function around, for the message */
  uint32_t depth; /* operations around */
  char *where;
  size_t size;
  bool out_of_memory;
};

__attribute__((format(printf, 3, 4))) static bool differ(struct comparison *c, struct ir_op op, const char *format,
                                                         ...) {
  const struct ir_op_data *data = ir_op_get(c->a, op);
  char what[160];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  if (c->size > 0) {
    snprintf(c->where, c->size, "'%s' in '%s' at byte %u: %s", ir_text(c->a, data->name), c->symbol, data->offset,
             what);
  }
  return false;
}

static bool same_text(const struct comparison *c, uint32_t a, uint32_t b) {
  size_t length = intern_length(&c->a->strings, a);
  return length == intern_length(&c->b->strings, b) && memcmp(ir_text(c->a, a), ir_text(c->b, b), length) == 0;
}

/* ---- types and attributes --------------------------------------------------------------------------------------- */

static bool same_type(struct comparison *c, struct ir_type a, struct ir_type b);
static bool same_attr(struct comparison *c, struct ir_attr a, struct ir_attr b);

static bool same_type_list(struct comparison *c, const struct ir_type_data *x, const struct ir_type_data *y) {
  bool equal = x->count == y->count && x->input_count == y->input_count;
  for (uint32_t i = 0; equal && i < x->count; i++) {
    equal = same_type(c, (struct ir_type){c->a->lists.data[x->first + i]},
                      (struct ir_type){c->b->lists.data[y->first + i]});
  }
  return equal;
}

static bool same_type_content(struct comparison *c, const struct ir_type_data *x, const struct ir_type_data *y) {
  if (x->kind != y->kind || x->dtype != y->dtype || x->rank != y->rank) {
    return false;
  }
  switch ((enum ir_type_kind)x->kind) {
  case IR_TYPE_TENSOR:
  case IR_TYPE_MEMREF:
    return (x->rank == 0
            || memcmp(c->a->dims.data + x->first, c->b->dims.data + y->first, x->rank * sizeof(int64_t)) == 0)
           && same_type(c, x->element, y->element) && same_attr(c, x->encoding, y->encoding);
  case IR_TYPE_UNRANKED:
    return same_type(c, x->element, y->element);
  case IR_TYPE_TUPLE:
  case IR_TYPE_FUNCTION:
  case IR_TYPE_FUTURE:
    return same_type_list(c, x, y);
  case IR_TYPE_TOKEN:
  case IR_TYPE_OPAQUE:
    return same_text(c, x->text, y->text);
  case IR_TYPE_QUANTIZED:
    return same_text(c, c->a->quants.data[x->quant].text, c->b->quants.data[y->quant].text);
  case IR_TYPE_NONE:
  case IR_TYPE_SCALAR:
    return true;
  }
  return false;
}

static bool same_type(struct comparison *c, struct ir_type a, struct ir_type b) {
  uint64_t key = (uint64_t)a.id << 32 | b.id;
  uint32_t known;
  if (map_get(&c->types, key, &known)) {
    return known != 0;
  }
  bool equal = same_type_content(c, ir_type_get(c->a, a), ir_type_get(c->b, b));
  c->out_of_memory |= !map_set(&c->types, key, equal);
  return equal;
}

/* `step` words per entry: 1 for arrays, 2 (name, attribute) for dictionaries and structs. */
static bool same_attr_list(struct comparison *c, const struct ir_attr_data *x, const struct ir_attr_data *y,
                           uint32_t step) {
  bool equal = x->list_count == y->list_count;
  for (uint32_t i = 0; equal && i < x->list_count; i++) {
    const uint32_t *p = c->a->lists.data + x->list_first + i * step;
    const uint32_t *q = c->b->lists.data + y->list_first + i * step;
    equal = (step == 1 || same_text(c, p[0], q[0]))
            && same_attr(c, (struct ir_attr){p[step - 1]}, (struct ir_attr){q[step - 1]});
  }
  return equal;
}

static bool same_data(struct comparison *c, const struct ir_attr_data *x, const struct ir_attr_data *y) {
  if (x->kind == IR_ATTR_DENSE && ir_type_element_count(c->a, x->type) == 0) {
    return true; /* the types are the same, and there are no elements: what a splat would repeat does not matter */
  }
  if (x->data_size != y->data_size || x->is_splat != y->is_splat) {
    return false;
  }
  bool is_strings = x->kind == IR_ATTR_DENSE && ir_type_get(c->a, x->type)->dtype == DTYPE_NONE;
  if (!is_strings) {
    return x->data_size == 0 || memcmp(x->data, y->data, x->data_size) == 0;
  }
  bool equal = true;
  for (uint64_t i = 0; equal && i + sizeof(uint32_t) <= x->data_size; i += sizeof(uint32_t)) {
    uint32_t s, t;
    memcpy(&s, x->data + i, sizeof s);
    memcpy(&t, y->data + i, sizeof t);
    equal = same_text(c, s, t);
  }
  return equal;
}

static bool same_attr_content(struct comparison *c, const struct ir_attr_data *x, const struct ir_attr_data *y) {
  if (x->kind != y->kind || x->integer != y->integer || !same_text(c, x->text, y->text)
      || !same_text(c, x->text2, y->text2) || !same_type(c, x->type, y->type)) {
    return false;
  }
  switch ((enum ir_attr_kind)x->kind) {
  case IR_ATTR_ARRAY:
    return same_attr_list(c, x, y, 1);
  case IR_ATTR_DICT:
  case IR_ATTR_STRUCT:
    return same_attr_list(c, x, y, 2);
  case IR_ATTR_DENSE:
    return same_data(c, x, y);
  case IR_ATTR_DENSE_ARRAY:
    return x->list_count == y->list_count && same_data(c, x, y);
  default:
    return true;
  }
}

static bool same_attr(struct comparison *c, struct ir_attr a, struct ir_attr b) {
  uint64_t key = (uint64_t)a.id << 32 | b.id;
  uint32_t known;
  if (map_get(&c->attrs, key, &known)) {
    return known != 0;
  }
  bool equal = same_attr_content(c, ir_attr_get(c->a, a), ir_attr_get(c->b, b));
  c->out_of_memory |= !map_set(&c->attrs, key, equal);
  return equal;
}

/* ---- operations ------------------------------------------------------------------------------------------------- */

/* Equal now, or noted for the end when the definition has not been met. */
static bool same_use(struct comparison *c, struct ir_op op, uint32_t a, uint32_t b, bool is_block) {
  uint32_t mapped = is_block ? c->blocks[a] : c->values[a];
  if (mapped != 0) {
    return mapped == b;
  }
  struct pending_pair pair = {a, b, op, is_block};
  c->out_of_memory |= !vec_push(&c->pending, pair);
  return true;
}

static bool same_uses(struct comparison *c, struct ir_op op_a, const struct ir_op_data *x, const struct ir_op_data *y) {
  if (x->operand_count != y->operand_count) {
    return differ(c, op_a, "%u operands against %u", x->operand_count, y->operand_count);
  }
  if (x->successor_count != y->successor_count) {
    return differ(c, op_a, "%u successors against %u", x->successor_count, y->successor_count);
  }
  for (uint32_t i = 0; i < x->operand_count; i++) {
    if (!same_use(c, op_a, c->a->lists.data[x->operand_first + i], c->b->lists.data[y->operand_first + i], false)) {
      return differ(c, op_a, "operand %u is another value", i);
    }
  }
  for (uint32_t i = 0; i < x->successor_count; i++) {
    if (!same_use(c, op_a, c->a->lists.data[x->successor_first + i], c->b->lists.data[y->successor_first + i], true)) {
      return differ(c, op_a, "successor %u is another block", i);
    }
  }
  return true;
}

static bool same_op_attrs(struct comparison *c, struct ir_op op_a, const struct ir_op_data *x,
                          const struct ir_op_data *y) {
  uint32_t count = x->attr_count < y->attr_count ? x->attr_count : y->attr_count;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t *p = c->a->lists.data + x->attr_first + 2 * i;
    const uint32_t *q = c->b->lists.data + y->attr_first + 2 * i;
    if (!same_text(c, p[0], q[0])) {
      return differ(c, op_a, "attribute '%s' against '%s'", ir_text(c->a, p[0]), ir_text(c->b, q[0]));
    }
    if (!same_attr(c, (struct ir_attr){p[1]}, (struct ir_attr){q[1]})) {
      return differ(c, op_a, "attribute '%s' has another value", ir_text(c->a, p[0]));
    }
  }
  if (x->attr_count != y->attr_count) {
    bool more = x->attr_count > y->attr_count;
    const char *name = more ? ir_text(c->a, c->a->lists.data[x->attr_first + 2 * count])
                            : ir_text(c->b, c->b->lists.data[y->attr_first + 2 * count]);
    return differ(c, op_a, "attribute '%s' only in the %s", name, more ? "first" : "second");
  }
  return true;
}

static bool same_results(struct comparison *c, struct ir_op op_a, const struct ir_op_data *x,
                         const struct ir_op_data *y) {
  if (x->result_count != y->result_count) {
    return differ(c, op_a, "%u results against %u", x->result_count, y->result_count);
  }
  for (uint32_t i = 0; i < x->result_count; i++) {
    c->values[x->result_first + i] = y->result_first + i;
    if (!same_type(c, ir_value_type(c->a, (struct ir_value){x->result_first + i}),
                   ir_value_type(c->b, (struct ir_value){y->result_first + i}))) {
      return differ(c, op_a, "result %u has another type", i);
    }
  }
  return true;
}

static bool same_op(struct comparison *c, struct ir_op op_a, struct ir_op op_b);

static bool same_block(struct comparison *c, struct ir_op parent, struct ir_block a, struct ir_block b) {
  const struct ir_block_data *x = ir_block_get(c->a, a), *y = ir_block_get(c->b, b);
  c->blocks[a.id] = b.id;
  if (x->argument_count != y->argument_count) {
    return differ(c, parent, "a block with %u arguments against %u", x->argument_count, y->argument_count);
  }
  for (uint32_t i = 0; i < x->argument_count; i++) {
    c->values[x->argument_first + i] = y->argument_first + i;
    if (!same_type(c, ir_value_type(c->a, (struct ir_value){x->argument_first + i}),
                   ir_value_type(c->b, (struct ir_value){y->argument_first + i}))) {
      return differ(c, parent, "block argument %u has another type", i);
    }
  }
  struct ir_op p = x->first, q = y->first;
  for (; p.id && q.id; p = ir_op_next(c->a, p), q = ir_op_next(c->b, q)) {
    if (!same_op(c, p, q)) {
      return false;
    }
  }
  if (p.id) {
    return differ(c, p, "operation only in the first");
  }
  return q.id == 0 || differ(c, parent, "'%s' only in the second", ir_text(c->b, ir_op_get(c->b, q)->name));
}

static bool same_regions(struct comparison *c, struct ir_op op_a, struct ir_op op_b) {
  const struct ir_op_data *x = ir_op_get(c->a, op_a), *y = ir_op_get(c->b, op_b);
  if (x->region_count != y->region_count) {
    return differ(c, op_a, "%u regions against %u", x->region_count, y->region_count);
  }
  for (uint32_t r = 0; r < x->region_count; r++) {
    struct ir_block p = ir_region_entry(c->a, ir_op_region(c->a, op_a, r));
    struct ir_block q = ir_region_entry(c->b, ir_op_region(c->b, op_b, r));
    for (; p.id && q.id; p = ir_block_get(c->a, p)->next, q = ir_block_get(c->b, q)->next) {
      if (!same_block(c, op_a, p, q)) {
        return false;
      }
    }
    if (p.id || q.id) {
      return differ(c, op_a, "region %u has more blocks in the %s", r, p.id ? "first" : "second");
    }
  }
  return true;
}

static bool same_op(struct comparison *c, struct ir_op op_a, struct ir_op op_b) {
  const struct ir_op_data *x = ir_op_get(c->a, op_a), *y = ir_op_get(c->b, op_b);
  if (x->opcode != y->opcode || !same_text(c, x->name, y->name)) {
    return differ(c, op_a, "operation against '%s'", ir_text(c->b, y->name));
  }
  if (c->depth >= MAX_DEPTH) {
    return differ(c, op_a, "nested too deep to compare");
  }
  const char *outer = c->symbol;
  const char *symbol = ir_symbol_name(c->a, op_a);
  c->symbol = symbol[0] ? symbol : outer;
  c->depth++;
  if (!same_uses(c, op_a, x, y) || !same_op_attrs(c, op_a, x, y) || !same_results(c, op_a, x, y)
      || !same_regions(c, op_a, op_b)) {
    return false;
  }
  c->depth--;
  c->symbol = outer;
  return true;
}

/* Values that are defined outside of the compared operations are equal when they are the same value. */
static bool same_pending(struct comparison *c) {
  for (size_t i = 0; i < c->pending.count; i++) {
    const struct pending_pair *pair = &c->pending.data[i];
    uint32_t mapped = pair->is_block ? c->blocks[pair->a] : c->values[pair->a];
    bool is_outside = mapped == 0 && c->a == c->b && pair->a == pair->b;
    if (mapped != pair->b && !is_outside) {
      return differ(c, pair->op_a, "an operand or successor is another one");
    }
  }
  return true;
}

bool ir_equal(const struct ir_module *a, struct ir_op op_a, const struct ir_module *b, struct ir_op op_b, char *where,
              size_t size) {
  struct comparison c = {.a = a, .b = b, .symbol = "", .where = where, .size = size};
  if (size > 0) {
    where[0] = '\0';
  }
  c.values = calloc(a->values.count + 1, sizeof *c.values);
  c.blocks = calloc(a->blocks.count + 1, sizeof *c.blocks);
  c.out_of_memory = !c.values || !c.blocks;
  bool equal = !c.out_of_memory && same_op(&c, op_a, op_b) && same_pending(&c);
  if (c.out_of_memory) {
    equal = false;
    if (size > 0) {
      snprintf(where, size, "out of memory");
    }
  }
  free(c.values);
  free(c.blocks);
  vec_release(&c.pending);
  map_release(&c.types);
  map_release(&c.attrs);
  return equal;
}
