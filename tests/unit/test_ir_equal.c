/* Structural equality across modules: equal programs whose handles differ, and one difference of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "ir/ir.h"

/* A small program; each field changes one thing of it. */
struct variant {
  int64_t size; /* of the tensors */
  enum ir_opcode opcode; /* of the inner operation */
  int32_t value; /* of the constant */
  int swap_operands, extra_op, extra_attr, extra_result, noise;
  enum dtype dtype;
};

static const struct variant base = {.size = 4, .opcode = IR_OP_SUBTRACT, .value = 5, .dtype = DTYPE_I32};

static struct ir_module *build(const struct variant *v) {
  struct ir_module *m = ir_module_new(0);
  assert_non_null(m);
  if (v->noise) { /* other handles for everything that follows */
    intern_add_cstr(&m->strings, "noise");
    ir_attr_integer(m, 99, ir_type_scalar(m, DTYPE_I8));
    ir_type_unranked(m, ir_type_scalar(m, DTYPE_F16));
  }
  struct ir_block body = ir_region_entry(m, ir_op_region(m, m->root, 0));
  struct ir_type type = ir_type_tensor(m, ir_type_scalar(m, v->dtype), &v->size, 1, (struct ir_attr){0});
  struct ir_attr value = ir_attr_dense(m, type, &v->value, sizeof v->value, true);
  uint32_t attrs[4] = {intern_add_cstr(&m->strings, "value"), value.id, intern_add_cstr(&m->strings, "zz"),
                       m->unit_attr.id};
  struct ir_op_spec constant = {.opcode = IR_OP_CONSTANT,
                                .result_types = &type,
                                .result_count = 1,
                                .attrs = attrs,
                                .attr_count = v->extra_attr ? 2 : 1,
                                .offset = (uint32_t)v->noise * 100};
  struct ir_op first = ir_op_create(m, body, &constant);
  struct ir_op second = ir_op_create(m, body, &constant);
  struct ir_value operands[2] = {ir_op_result(m, first, 0), ir_op_result(m, second, 0)};
  if (v->swap_operands) {
    struct ir_value t = operands[0];
    operands[0] = operands[1];
    operands[1] = t;
  }
  struct ir_type types[2] = {type, type};
  struct ir_op_spec op = {.opcode = v->opcode,
                          .operands = operands,
                          .operand_count = 2,
                          .result_types = types,
                          .result_count = v->extra_result ? 2 : 1};
  ir_op_create(m, body, &op);
  if (v->extra_op) {
    ir_op_create(m, body, &constant);
  }
  assert_false(m->out_of_memory);
  return m;
}

static bool same(const struct variant *a, const struct variant *b, char *where, size_t size) {
  struct ir_module *x = build(a), *y = build(b);
  bool equal = ir_equal(x, x->root, y, y->root, where, size);
  ir_module_free(x);
  ir_module_free(y);
  return equal;
}

static void equal_programs_are_equal(void **state) {
  (void)state;
  char where[200] = "x";
  struct variant other = base;
  other.noise = 1;
  assert_true(same(&base, &base, where, sizeof where));
  assert_true(same(&base, &other, where, sizeof where));
  assert_string_equal(where, "");
  assert_true(same(&base, &other, NULL, 0));
}

static void every_difference_is_found_and_named(void **state) {
  (void)state;
  struct variant changed[8];
  static const char *const words[8] = {
      "value", "stablehlo.divide", "value", "operand 0", "only in the", "'zz' only in the", "1 results against 2",
      "value"};
  for (int i = 0; i < 8; i++) {
    changed[i] = base;
  }
  changed[0].size = 5;
  changed[1].opcode = IR_OP_DIVIDE;
  changed[2].value = 6;
  changed[3].swap_operands = 1;
  changed[4].extra_op = 1;
  changed[5].extra_attr = 1;
  changed[6].extra_result = 1;
  changed[7].dtype = DTYPE_UI32;
  char where[200];
  for (int i = 0; i < 8; i++) {
    assert_false(same(&base, &changed[i], where, sizeof where));
    assert_non_null(strstr(where, words[i]));
    assert_false(same(&changed[i], &base, where, sizeof where));
    assert_false(same(&base, &changed[i], where, 5)); /* cut, not overrun */
    assert_true(strlen(where) < 5);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_programs_are_equal),
      cmocka_unit_test(every_difference_is_found_and_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
