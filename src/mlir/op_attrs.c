/* Table of inherent attributes: op_attrs.def by opcode. Path: consulted by the parser and the printer for each op. */
#include "mlir/op_attrs.h"

#include <string.h>

#include "base/strbuf.h"
#include "mlir/mlir.h"

#define ANY(name) {name, MLIR_FORM_ANY, NULL},
#define I64S(name) {name, MLIR_FORM_I64_ARRAY, NULL},
#define BOOLS(name) {name, MLIR_FORM_BOOL_ARRAY, NULL},
#define OMIT(name, text) {name, MLIR_FORM_ANY, text},

#define RDG_OP_ATTRS(op, list) static const struct mlir_op_attr attrs_##op[] = {list};
#include "mlir/op_attrs.def"
#undef RDG_OP_ATTRS

static const struct {
  const struct mlir_op_attr *rows;
  size_t count;
} by_opcode[IR_OP_COUNT] = {
#define RDG_OP_ATTRS(op, list) [IR_OP_##op] = {attrs_##op, sizeof attrs_##op / sizeof attrs_##op[0]},
#include "mlir/op_attrs.def"
#undef RDG_OP_ATTRS
};

const struct mlir_op_attr *mlir_op_attrs(enum ir_opcode opcode, size_t *count) {
  *count = by_opcode[opcode].count;
  return by_opcode[opcode].rows;
}

const struct mlir_op_attr *mlir_op_attr_find(enum ir_opcode opcode, const char *name) {
  size_t count;
  const struct mlir_op_attr *rows = mlir_op_attrs(opcode, &count);
  for (size_t i = 0; i < count; i++) {
    if (strcmp(rows[i].name, name) == 0) {
      return &rows[i];
    }
  }
  return NULL;
}

bool mlir_attr_is_default(const struct ir_module *module, const struct mlir_op_attr *row, struct ir_attr attr) {
  if (row == NULL || row->default_text == NULL) {
    return false;
  }
  struct strbuf text = {0};
  mlir_print_attr(module, attr, &text);
  bool equal = !text.failed && strcmp(strbuf_text(&text), row->default_text) == 0;
  strbuf_release(&text);
  return equal;
}
