/* The rows of ops.def and the look-up from operation names to opcodes. */
#include <string.h>

#include "ir/ir.h"

enum {
  T_ELEMENTWISE = IR_TRAIT_ELEMENTWISE,
  T_SAME_TYPE = IR_TRAIT_SAME_TYPE,
  T_COMMUTATIVE = IR_TRAIT_COMMUTATIVE,
  T_CONSTANT = IR_TRAIT_CONSTANT,
  T_TERMINATOR = IR_TRAIT_TERMINATOR,
  T_CALL = IR_TRAIT_CALL,
  T_COLLECTIVE = IR_TRAIT_COLLECTIVE,
  T_CONTROL = IR_TRAIT_CONTROL,
  T_BODY = IR_TRAIT_BODY,
  T_EFFECT = IR_TRAIT_EFFECT,
  T_SYMBOL = IR_TRAIT_SYMBOL,
  T_ISOLATED = IR_TRAIT_ISOLATED
};

static const struct ir_op_info op_infos[IR_OP_COUNT] = {
    [IR_OP_UNKNOWN] = {"", 0, -1, 0, -1, 0, -1, 0},
#define RDG_OP(id, name, omin, omax, rmin, rmax, gmin, gmax, traits)                                                   \
  [IR_OP_##id] = {name, omin, omax, rmin, rmax, gmin, gmax, traits},
#include "ir/ops.def"
#undef RDG_OP
};

const struct ir_op_info *ir_opcode_info(enum ir_opcode opcode) {
  return &op_infos[opcode < IR_OP_COUNT ? opcode : IR_OP_UNKNOWN];
}

/* Lengths of the names. */
static const uint8_t name_lengths[IR_OP_COUNT] = {
#define RDG_OP(id, name, omin, omax, rmin, rmax, gmin, gmax, traits) [IR_OP_##id] = sizeof(name) - 1,
#include "ir/ops.def"
#undef RDG_OP
};

/* A module asks for the same few names again and again and interns them; this look-up therefore only runs once per
 * distinct name and may be a plain scan filtered by length and last byte. */
static enum ir_opcode find_row(const char *name, size_t length) {
  for (int i = 1; i < IR_OP_COUNT; i++) {
    const char *row = op_infos[i].name;
    if (name_lengths[i] == length && row[length - 1] == name[length - 1] && memcmp(row, name, length) == 0) {
      return (enum ir_opcode)i;
    }
  }
  return IR_OP_UNKNOWN;
}

enum ir_opcode ir_opcode_find(const char *name, size_t length) {
  enum ir_opcode opcode = find_row(name, length);
  if (opcode != IR_OP_UNKNOWN || length < 6 || length > 64 || memcmp(name, "mhlo.", 5) != 0) {
    return opcode;
  }
  char twin[80] = "stablehlo.";
  memcpy(twin + 10, name + 5, length - 5);
  return find_row(twin, length + 5);
}
