/* Table of inherent attributes: op_attrs.def by opcode. Path: consulted by the parser and the printer for each op. */
#include "mlir/op_attrs.h"

#include <string.h>

#include "base/strbuf.h"
#include "mlir/mlir.h"

#define ANY(name) {name, MLIR_FORM_ANY, NULL, NULL, NULL},
#define I64S(name) {name, MLIR_FORM_I64_ARRAY, NULL, NULL, NULL},
#define BOOLS(name) {name, MLIR_FORM_BOOL_ARRAY, NULL, NULL, NULL},
#define OMIT(name, text) {name, MLIR_FORM_ANY, text, NULL, NULL},
#define STATE(name, text) {name, MLIR_FORM_ANY, NULL, text, NULL},
#define WORDS(name, text) {name, MLIR_FORM_ANY, NULL, NULL, text},

#define RDG_NAMED_ATTRS(name, attrs)
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
#undef RDG_NAMED_ATTRS
};

static const struct {
  const char *name, *attrs;
} by_name[] = {
#define RDG_OP_ATTRS(op, list)
#define RDG_NAMED_ATTRS(name, attrs) {name, attrs},
#include "mlir/op_attrs.def"
#undef RDG_OP_ATTRS
#undef RDG_NAMED_ATTRS
};

const char *mlir_named_attrs(const char *op_name) {
  for (size_t i = 0; i < sizeof by_name / sizeof by_name[0]; i++) {
    if (strcmp(by_name[i].name, op_name) == 0) {
      return by_name[i].attrs;
    }
  }
  return "";
}

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

/* The place of `word` behind the first word of row->words, -1 when it is not there. */
static int place_of_word(const char *words, const char *word) {
  size_t length = strlen(word);
  int place = 0;
  for (const char *at = strchr(words, ' '); at; at = strchr(at + 1, ' '), place++) {
    if (strcspn(at + 1, " ") == length && memcmp(at + 1, word, length) == 0) {
      return place;
    }
  }
  return -1;
}

int mlir_attr_number(const struct ir_module *module, const struct mlir_op_attr *row, struct ir_attr attr) {
  const struct ir_attr_data *a = ir_attr_get(module, attr);
  if (row == NULL || row->words == NULL || a->kind != IR_ATTR_ENUM) {
    return -1;
  }
  const char *name = ir_text(module, a->text);
  size_t length = strcspn(row->words, " ");
  bool is_ours = strlen(name) == length && memcmp(name, row->words, length) == 0;
  return is_ours ? place_of_word(row->words, ir_text(module, a->text2)) : -1;
}

struct ir_attr mlir_attr_from_number(struct ir_module *module, const struct mlir_op_attr *row, struct ir_attr attr) {
  const struct ir_attr_data *a = ir_attr_get(module, attr);
  if (row == NULL || row->words == NULL || a->kind != IR_ATTR_INTEGER || a->integer < 0
      || ir_type_get(module, a->type)->dtype != DTYPE_I32) {
    return attr;
  }
  const char *word = strchr(row->words, ' ');
  for (int64_t i = 0; word && i < a->integer; i++) {
    word = strchr(word + 1, ' ');
  }
  return word == NULL ? attr
                      : ir_attr_enum(module, row->words, strcspn(row->words, " "), word + 1, strcspn(word + 1, " "));
}

bool mlir_attr_is_default(const struct ir_module *module, const struct mlir_op_attr *row, struct ir_attr attr,
                          bool *failed) {
  if (row == NULL || row->default_text == NULL) {
    return false;
  }
  struct strbuf text = {0};
  mlir_print_attr(module, attr, &text);
  bool equal = !text.failed && strcmp(strbuf_text(&text), row->default_text) == 0;
  *failed |= text.failed;
  strbuf_release(&text);
  return equal;
}
