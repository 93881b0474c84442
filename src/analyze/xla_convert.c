/* What XLA changes while it converts StableHLO to HLO, before it counts: operations without effect go away, operations
 * that HLO lacks are expanded, splat constants become one broadcast scalar per computation. Arithmetic on constants, which
 * XLA folds too, is not followed. Path: asked by xla_cost.c for every op.
 * Source: HLO of JAX 0.10.2 (jax.jit(f).lower(...).compiler_ir("hlo")); tests/jax compares. */
#include <string.h>

#include "analyze/xla_cost_int.h"

/* ---- expansions ---- */

enum expansion_type { SLOT_F16, SLOT_BF16, SLOT_F32, SLOT_F64, SLOT_C64, SLOT_C128, SLOT_COUNT };

struct expansion {
  bool is_present;
  uint8_t transcendentals;
  uint16_t flops, element_bytes, constant_bytes;
};

static const struct expansion expansions[IR_OP_COUNT][SLOT_COUNT] = {
#define XLA_EXPANSION(id, type, flops, transcendentals, element_bytes, constant_bytes)                                 \
  [IR_OP_##id][SLOT_##type] = {true, transcendentals, flops, element_bytes, constant_bytes},
#include "analyze/xla_expansions.def"
#undef XLA_EXPANSION
};

static int slot_of(enum dtype dtype) {
  static const struct {
    enum dtype dtype;
    int slot;
  } slots[] = {{DTYPE_F16, SLOT_F16}, {DTYPE_BF16, SLOT_BF16}, {DTYPE_F32, SLOT_F32},
               {DTYPE_F64, SLOT_F64}, {DTYPE_C64, SLOT_C64},   {DTYPE_C128, SLOT_C128}};
  for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
    if (slots[i].dtype == dtype) {
      return slots[i].slot;
    }
  }
  return -1;
}

bool xla_expand(struct xla *xla, struct ir_op op, struct xla_props *props) {
  enum ir_opcode opcode = ir_op_code(xla->module, op);
  const struct ir_op_data *data = ir_op_get(xla->module, op);
  if (xla->is_hlo || (unsigned)opcode >= IR_OP_COUNT || data->operand_count == 0 || data->result_count == 0) {
    return false;
  }
  struct ir_type type = ir_value_type(xla->module, ir_op_operand(xla->module, op, 0));
  int slot = slot_of((enum dtype)ir_type_get(xla->module, type)->dtype);
  if (slot < 0 || !expansions[opcode][slot].is_present) {
    return false;
  }
  const struct expansion *e = &expansions[opcode][slot];
  int64_t elements = xla_result_elements(xla, op, 0);
  xla_default(xla, op, props);
  props->cost.flops = xla_mul(e->flops, elements);
  props->cost.transcendentals = xla_mul(e->transcendentals, elements);
  /* of one element: constants need no broadcast, neither their read nor the written copy */
  props->cost.bytes_accessed = elements <= 1 ? xla_mul(elements, e->element_bytes - e->constant_bytes)
                                             : xla_add(xla_mul(e->element_bytes, elements), e->constant_bytes);
  return true;
}

/* ---- splat constants ---- */

/* Broadcasts, reshapes and conversions of constants are constants; longer chains are not followed. */
enum { MAX_STEPS = 16 };

static struct ir_op defining_op(const struct ir_module *module, struct ir_value value) {
  return ir_value_get(module, value)->op;
}

static bool has_one_value(const struct ir_module *module, struct ir_attr value, struct ir_type type) {
  if (value.id == 0 || ir_attr_get(module, value)->kind != IR_ATTR_DENSE || !ir_type_is_static(module, type)) {
    return false;
  }
  return ir_attr_get(module, value)->is_splat || ir_type_element_count(module, type) == 1;
}

/* The attribute with the one value that all elements of `value` come from; id 0 when there is none. */
static struct ir_attr splat_of(const struct ir_module *module, struct ir_value value) {
  for (int step = 0; step < MAX_STEPS; step++) {
    struct ir_op op = defining_op(module, value);
    if (op.id == 0) {
      break;
    }
    switch ((int)ir_op_code(module, op)) {
    case IR_OP_CONSTANT: {
      struct ir_attr attr = ir_op_attr(module, op, "value");
      return has_one_value(module, attr, ir_value_type(module, value)) ? attr : (struct ir_attr){0};
    }
    case IR_OP_BROADCAST_IN_DIM:
    case IR_OP_RESHAPE:
    case IR_OP_CONVERT:
      if (ir_op_get(module, op)->operand_count != 1) {
        return (struct ir_attr){0};
      }
      value = ir_op_operand(module, op, 0);
      break;
    default:
      return (struct ir_attr){0};
    }
  }
  return (struct ir_attr){0};
}

enum neutral { NEUTRAL_ZERO, NEUTRAL_ONE, NEUTRAL_ALL_BITS };

static bool are_bytes(const struct ir_attr_data *data, size_t count, uint8_t byte) {
  for (size_t i = 0; i < count; i++) {
    if (data->data[i] != byte) {
      return false;
    }
  }
  return true;
}

/* The two highest bytes of 1.0, the others are 0. */
static uint16_t high_of_one(enum dtype dtype) {
  return dtype == DTYPE_F16                          ? 0x3c00
         : dtype == DTYPE_F64                        ? 0x3ff0
         : dtype == DTYPE_F32 || dtype == DTYPE_BF16 ? 0x3f80
                                                     : 0;
}

static bool is_neutral(const struct ir_module *module, struct ir_attr attr, enum neutral neutral) {
  const struct ir_attr_data *data = ir_attr_get(module, attr);
  enum dtype dtype = (enum dtype)ir_type_get(module, data->type)->dtype;
  enum dtype_class class = dtype_class_of(dtype);
  size_t size = (dtype_bits(dtype) + 7) / 8;
  if (class == DTYPE_CLASS_COMPLEX || class == DTYPE_CLASS_NONE || size == 0 || data->data == NULL
      || data->data_size < size) {
    return false;
  }
  uint8_t last = data->data[size - 1];
  switch (neutral) {
  case NEUTRAL_ZERO:
    return are_bytes(data, size - 1, 0) && (last == 0 || (class == DTYPE_CLASS_FLOAT && last == 0x80));
  case NEUTRAL_ONE:
    if (class == DTYPE_CLASS_FLOAT) {
      uint16_t high = high_of_one(dtype);
      return high != 0 && size >= 2 && are_bytes(data, size - 2, 0) && last == high >> 8
             && data->data[size - 2] == (high & 0xff);
    }
    for (size_t i = 1; i < size; i++) {
      if (data->data[i] != 0) {
        return false;
      }
    }
    return data->data[0] == 1;
  default:
    return class == DTYPE_CLASS_BOOL ? data->data[0] != 0 : class != DTYPE_CLASS_FLOAT && are_bytes(data, size, 0xff);
  }
}

/* ---- operations without effect ---- */

/* x + 0, x - 0, x * 1 and the like hand x on. */
static const struct {
  enum ir_opcode opcode;
  enum neutral neutral;
  bool is_commutative;
} neutrals[] = {
    {IR_OP_ADD, NEUTRAL_ZERO, true},     {IR_OP_SUBTRACT, NEUTRAL_ZERO, false}, {IR_OP_MULTIPLY, NEUTRAL_ONE, true},
    {IR_OP_AND, NEUTRAL_ALL_BITS, true}, {IR_OP_OR, NEUTRAL_ZERO, true},        {IR_OP_XOR, NEUTRAL_ZERO, true},
};

/* Operand that a binary operation with a neutral constant hands on, -1 when it computes something. */
static int neutral_operand(const struct ir_module *module, struct ir_op op) {
  for (size_t i = 0; i < sizeof neutrals / sizeof neutrals[0]; i++) {
    if (neutrals[i].opcode != ir_op_code(module, op) || ir_op_get(module, op)->operand_count != 2) {
      continue;
    }
    struct ir_attr right = splat_of(module, ir_op_operand(module, op, 1));
    if (right.id != 0 && is_neutral(module, right, neutrals[i].neutral)) {
      return 0;
    }
    struct ir_attr left =
        neutrals[i].is_commutative ? splat_of(module, ir_op_operand(module, op, 0)) : (struct ir_attr){0};
    return left.id != 0 && is_neutral(module, left, neutrals[i].neutral) ? 1 : -1;
  }
  return -1;
}

static bool is_ascending(const struct ints *dims) {
  for (uint32_t i = 0; i < dims->count; i++) {
    if (dims->v[i] != (int64_t)i) {
      return false;
    }
  }
  return true;
}

static bool is_zero(const struct ir_module *module, struct ir_op op, const char *name) {
  struct ints values;
  bool is_known = ints_of(module, op, name, &values);
  for (uint32_t i = 0; is_known && i < values.count; i++) {
    is_known = values.v[i] == 0;
  }
  return is_known;
}

/* The op has operand and result of the same type and leaves every element where it is. */
static bool moves_nothing(const struct ir_module *module, struct ir_op op) {
  struct ints dims;
  switch ((int)ir_op_code(module, op)) {
  case IR_OP_CONVERT:
  case IR_OP_RESHAPE:
  case IR_OP_SLICE: /* of the same shape: all of it */
    return true;
  case IR_OP_CONCATENATE:
    return ir_op_get(module, op)->operand_count == 1;
  case IR_OP_BROADCAST_IN_DIM:
    return ints_of(module, op, "broadcast_dimensions", &dims) && is_ascending(&dims);
  case IR_OP_TRANSPOSE:
    return ints_of(module, op, "permutation", &dims) && is_ascending(&dims);
  case IR_OP_REVERSE:
  case IR_OP_REDUCE:
    return ints_of(module, op, "dimensions", &dims) && dims.count == 0;
  case IR_OP_PAD:
    return is_zero(module, op, "edge_padding_low") && is_zero(module, op, "edge_padding_high")
           && is_zero(module, op, "interior_padding");
  default:
    return false;
  }
}

/* Operand that stands for the op's result, -1 when the op stays. */
static int forwarded_operand(const struct ir_module *module, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(module, op);
  if (data->operand_count == 0 || data->result_count == 0) {
    return -1;
  }
  struct ir_type type = ir_value_type(module, ir_op_result(module, op, 0));
  int operand = moves_nothing(module, op) ? 0 : neutral_operand(module, op);
  bool is_same = operand >= 0 && ir_value_type(module, ir_op_operand(module, op, (uint32_t)operand)).id == type.id;
  return is_same && ir_type_is_static(module, type) ? operand : -1;
}

bool xla_is_dropped(const struct xla *xla, struct ir_op op) {
  return !xla->is_hlo && forwarded_operand(xla->module, op) >= 0;
}

/* ---- constants of a computation ---- */

static void add_splat(struct xla *xla, struct ir_value value, struct map *seen, struct analyze_xla_cost *sum) {
  const struct ir_module *module = xla->module;
  for (int step = 0; step < MAX_STEPS; step++) {
    struct ir_op op = defining_op(module, value);
    int operand = op.id != 0 ? forwarded_operand(module, op) : -1;
    if (operand < 0) {
      break;
    }
    value = ir_op_operand(module, op, (uint32_t)operand);
  }
  struct ir_type type = ir_value_type(module, value);
  struct ir_attr attr = splat_of(module, value);
  uint64_t key = (uint64_t)type.id << 32 | attr.id;
  uint32_t unused;
  if (attr.id == 0 || !ir_type_is_static(module, type) || map_get(seen, key, &unused)) {
    return;
  }
  if (!map_set(seen, key, 1) && xla->status == STATUS_OK) {
    xla->status = STATUS_MEMORY;
  }
  int64_t elements = xla_elements(xla, type), bytes = xla_bytes(xla, type);
  if (elements > 1) {
    struct analyze_xla_cost cost = {.bytes_accessed = xla_add(bytes / elements, bytes)};
    cost.optimal_seconds = xla_seconds(xla, &cost);
    xla_accumulate(sum, &cost);
  }
}

void xla_add_splats(struct xla *xla, struct ir_op op, struct map *seen, struct analyze_xla_cost *sum) {
  for (uint32_t i = 0; !xla->is_hlo && i < ir_op_get(xla->module, op)->operand_count; i++) {
    add_splat(xla, ir_op_operand(xla->module, op, i), seen, sum);
  }
}

bool xla_is_splat(const struct xla *xla, struct ir_op op) {
  return !xla->is_hlo && ir_op_get(xla->module, op)->result_count == 1
         && splat_of(xla->module, ir_op_result(xla->module, op, 0)).id != 0;
}
