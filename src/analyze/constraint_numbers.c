/* Look-up of constraint numbers: only when there is a message to write, so a plain search does. */
#include "analyze/constraint_numbers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static const struct {
  uint16_t opcode;
  uint8_t rule;
  const char *numbers;
} rows[] = {
#define RDG_CONSTRAINT(opcode, rule, numbers) {IR_OP_##opcode, RULE_##rule, numbers},
#include "analyze/constraints.def"
#undef RDG_CONSTRAINT
};

static const char *find(enum ir_opcode opcode, enum constraint_rule rule) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].opcode == (uint16_t)opcode && rows[i].rule == (uint8_t)rule) {
      return rows[i].numbers;
    }
  }
  return NULL;
}

const char *constraint_of(enum ir_opcode opcode, enum constraint_rule rule) {
  const char *numbers = find(opcode, rule);
  bool is_later = rule == RULE_RESULT_1_SHAPE || rule == RULE_RESULT_2_SHAPE;
  return numbers == NULL && is_later ? find(opcode, RULE_RESULT_SHAPE) : numbers;
}
