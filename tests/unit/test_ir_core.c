/* The IR's containers: interning, building, look-ups, sizes. Expected values follow from the construction itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/ir.h"

static int make_module(void **state) {
  *state = ir_module_new(0);
  return *state ? 0 : -1;
}

static int free_module(void **state) {
  ir_module_free(*state);
  return 0;
}

static struct ir_type f32_tensor(struct ir_module *m, const int64_t *dims, uint32_t rank) {
  return ir_type_tensor(m, ir_type_scalar(m, DTYPE_F32), dims, rank, (struct ir_attr){0});
}

static void equal_types_have_equal_handles(void **state) {
  struct ir_module *m = *state;
  const int64_t dims[] = {2, 3}, swapped[] = {3, 2};
  struct ir_type a = f32_tensor(m, dims, 2);
  assert_int_equal(a.id, f32_tensor(m, dims, 2).id);
  assert_int_not_equal(a.id, f32_tensor(m, swapped, 2).id);
  assert_int_not_equal(a.id, ir_type_tensor(m, ir_type_scalar(m, DTYPE_F64), dims, 2, (struct ir_attr){0}).id);
  assert_int_not_equal(a.id, ir_type_memref(m, ir_type_scalar(m, DTYPE_F32), dims, 2, (struct ir_attr){0}).id);
  struct ir_type list[] = {a, ir_type_scalar(m, DTYPE_I32)};
  struct ir_type function = ir_type_list(m, IR_TYPE_FUNCTION, list, 2, 1);
  assert_int_equal(function.id, ir_type_list(m, IR_TYPE_FUNCTION, list, 2, 1).id);
  assert_int_not_equal(function.id, ir_type_list(m, IR_TYPE_FUNCTION, list, 2, 2).id);
  assert_int_not_equal(function.id, ir_type_list(m, IR_TYPE_TUPLE, list, 2, 1).id);
}

static void many_types_stay_distinct(void **state) {
  struct ir_module *m = *state;
  enum { COUNT = 5000 };
  static uint32_t ids[COUNT];
  for (int64_t i = 0; i < COUNT; i++) {
    const int64_t dims[] = {i, COUNT - i};
    ids[i] = f32_tensor(m, dims, 2).id;
  }
  for (int64_t i = 0; i < COUNT; i++) {
    const int64_t dims[] = {i, COUNT - i};
    assert_int_equal(ids[i], f32_tensor(m, dims, 2).id);
    assert_int_equal(ir_type_dims(m, (struct ir_type){ids[i]})[0], i);
  }
}

static void sizes_of_types(void **state) {
  struct ir_module *m = *state;
  const int64_t dims[] = {3, 5}, dynamic[] = {3, IR_DYNAMIC}, empty[] = {7, 0}, huge[] = {INT64_MAX, INT64_MAX, 0};
  struct ir_type i4 = ir_type_tensor(m, ir_type_scalar(m, DTYPE_I4), dims, 2, (struct ir_attr){0});
  struct ir_type f32 = f32_tensor(m, dims, 2);
  struct ir_type pair[] = {f32, i4};
  assert_int_equal(ir_type_element_count(m, f32), 15);
  assert_int_equal(ir_type_size_bytes(m, f32), 60);
  assert_int_equal(ir_type_size_bytes(m, i4), 8); /* 15 packed nibbles */
  assert_int_equal(ir_type_size_bytes(m, ir_type_list(m, IR_TYPE_TUPLE, pair, 2, 0)), 68);
  assert_false(ir_type_is_static(m, f32_tensor(m, dynamic, 2)));
  assert_int_equal(ir_type_element_count(m, f32_tensor(m, dynamic, 2)), 0);
  assert_int_equal(ir_type_element_count(m, f32_tensor(m, empty, 2)), 0);
  assert_int_equal(ir_type_element_count(m, f32_tensor(m, huge, 3)), 0);
  assert_true(ir_type_element_count(m, f32_tensor(m, huge, 2)) == UINT64_MAX);
  assert_int_equal(ir_type_size_bytes(m, m->token_type), 0);
}

static void dictionaries_are_sorted_and_last_wins(void **state) {
  struct ir_module *m = *state;
  uint32_t b = intern_add_cstr(&m->strings, "b"), a = intern_add_cstr(&m->strings, "a");
  struct ir_attr one = ir_attr_integer(m, 1, ir_type_scalar(m, DTYPE_I64));
  struct ir_attr two = ir_attr_integer(m, 2, ir_type_scalar(m, DTYPE_I64));
  const uint32_t forward[] = {a, one.id, b, two.id}, backward[] = {b, two.id, a, one.id};
  const uint32_t repeated[] = {b, one.id, a, one.id, b, two.id};
  struct ir_attr dict = ir_attr_dict(m, forward, 2);
  assert_int_equal(dict.id, ir_attr_dict(m, backward, 2).id);
  assert_int_equal(dict.id, ir_attr_dict(m, repeated, 3).id);
  assert_int_equal(ir_attr_field(m, dict, "b").id, two.id);
  assert_int_equal(ir_attr_field(m, dict, "c").id, 0);
  assert_int_not_equal(dict.id, ir_attr_struct(m, "d.s", forward, 2).id);
}

static void dense_elements(void **state) {
  struct ir_module *m = *state;
  const int64_t dims[] = {3};
  struct ir_type i32 = ir_type_tensor(m, ir_type_scalar(m, DTYPE_I32), dims, 1, (struct ir_attr){0});
  struct ir_type u8 = ir_type_tensor(m, ir_type_scalar(m, DTYPE_UI8), dims, 1, (struct ir_attr){0});
  const int32_t values[] = {-7, 0, 9}, equal[] = {5, 5, 5};
  const uint8_t bytes[] = {255, 1, 2};
  struct ir_attr list = ir_attr_dense(m, i32, values, sizeof values, false);
  assert_int_equal(ir_attr_int_at(m, list, 0), -7);
  assert_int_equal(ir_attr_int_at(m, list, 2), 9);
  assert_int_equal(ir_attr_int_at(m, ir_attr_dense(m, u8, bytes, sizeof bytes, false), 0), 255);
  /* a list of equal elements and a splat are one attribute */
  struct ir_attr splat = ir_attr_dense(m, i32, equal, sizeof equal[0], true);
  assert_int_equal(splat.id, ir_attr_dense(m, i32, equal, sizeof equal, false).id);
  assert_int_equal(ir_attr_int_at(m, splat, 2), 5);
  assert_int_equal(ir_attr_length(m, splat), 3);
  const int64_t array[] = {4, -1};
  struct ir_attr i64s = ir_attr_i64s(m, array, 2);
  assert_int_equal(ir_attr_int_at(m, i64s, 1), -1);
  assert_int_equal(ir_attr_length(m, i64s), 2);
}

/* func.func @name with one block and `count` constants. */
static struct ir_op make_function(struct ir_module *m, const char *name, const char *visibility) {
  struct ir_region region = ir_region_create(m);
  struct ir_block body = ir_block_create(m, region);
  struct ir_type f32 = f32_tensor(m, NULL, 0);
  ir_block_set_arguments(m, body, &f32, 1);
  uint32_t attrs[4] = {intern_add_cstr(&m->strings, "sym_name"),
                       ir_attr_string(m, name, strlen(name), (struct ir_type){0}).id,
                       intern_add_cstr(&m->strings, "sym_visibility"), 0};
  if (visibility) {
    attrs[3] = ir_attr_string(m, visibility, strlen(visibility), (struct ir_type){0}).id;
  }
  struct ir_op_spec spec = {.opcode = IR_OP_FUNC_FUNC,
                            .attrs = attrs,
                            .attr_count = visibility ? 2 : 1,
                            .regions = &region,
                            .region_count = 1};
  struct ir_block top = ir_function_body(m, m->root);
  return ir_op_create(m, top, &spec);
}

static struct ir_op add_op(struct ir_module *m, struct ir_block block, struct ir_value x) {
  const struct ir_value operands[] = {x, x};
  struct ir_type type = ir_value_type(m, x);
  struct ir_op_spec spec = {
      .opcode = IR_OP_ADD, .operands = operands, .operand_count = 2, .result_types = &type, .result_count = 1};
  return ir_op_create(m, block, &spec);
}

static void building_and_erasing(void **state) {
  struct ir_module *m = *state;
  struct ir_op function = make_function(m, "f", NULL);
  struct ir_block body = ir_function_body(m, function);
  struct ir_op first = add_op(m, body, ir_block_argument(m, body, 0));
  struct ir_op second = add_op(m, body, ir_op_result(m, first, 0));
  struct ir_op third = add_op(m, body, ir_op_result(m, second, 0));
  assert_string_equal(ir_text(m, ir_op_get(m, first)->name), "stablehlo.add");
  assert_int_equal(ir_value_get(m, ir_op_operand(m, second, 1))->op.id, first.id);
  assert_int_equal(ir_region_get(m, ir_op_region(m, function, 0))->parent.id, function.id);
  ir_op_set_operand(m, third, 0, ir_op_result(m, first, 0));
  assert_int_equal(ir_op_operand(m, third, 0).id, ir_op_result(m, first, 0).id);
  ir_op_erase(m, second);
  assert_int_equal(ir_op_next(m, first).id, third.id);
  assert_int_equal(ir_op_get(m, third)->previous.id, first.id);
  ir_op_erase(m, third);
  assert_int_equal(ir_block_terminator(m, body).id, first.id);
  ir_op_erase(m, first);
  assert_int_equal(ir_block_first(m, body).id, 0);
}

static void attributes_of_ops(void **state) {
  struct ir_module *m = *state;
  struct ir_op function = make_function(m, "f", NULL);
  struct ir_attr one = ir_attr_bool(m, true), zero = ir_attr_bool(m, false);
  assert_true(ir_op_set_attr(m, function, "zeta", one));
  assert_true(ir_op_set_attr(m, function, "alpha", zero));
  assert_int_equal(ir_op_attr(m, function, "zeta").id, one.id);
  assert_int_equal(ir_op_attr(m, function, "alpha").id, zero.id);
  assert_string_equal(ir_symbol_name(m, function), "f");
  assert_true(ir_op_set_attr(m, function, "zeta", zero));
  assert_int_equal(ir_op_attr(m, function, "zeta").id, zero.id);
  assert_true(ir_op_set_attr(m, function, "alpha", (struct ir_attr){0}));
  assert_int_equal(ir_op_attr(m, function, "alpha").id, 0);
  assert_int_equal(ir_op_get(m, function)->attr_count, 2);
}

static void entry_function_rules(void **state) {
  struct ir_module *m = *state;
  assert_int_equal(ir_function_entry(m).id, 0);
  struct ir_op helper = make_function(m, "helper", "private");
  assert_int_equal(ir_function_entry(m).id, helper.id); /* the first, when none is public */
  struct ir_op only = make_function(m, "forward", "public");
  assert_int_equal(ir_function_entry(m).id, only.id); /* the only public one */
  make_function(m, "backward", "public");
  assert_int_equal(ir_function_entry(m).id, helper.id);
  struct ir_op main_function = make_function(m, "main", NULL);
  assert_int_equal(ir_function_entry(m).id, main_function.id);
  assert_int_equal(ir_function_find(m, "backward").id, only.id + 1);
  assert_int_equal(ir_function_find(m, "none").id, 0);
}

static void opcodes_by_name(void **state) {
  (void)state;
  for (int i = 1; i < IR_OP_COUNT; i++) {
    const char *name = ir_opcode_info((enum ir_opcode)i)->name;
    assert_int_equal(ir_opcode_find(name, strlen(name)), i);
  }
  assert_int_equal(ir_opcode_find("mhlo.add", 8), IR_OP_ADD);
  assert_int_equal(ir_opcode_find("mhlo.fusion", 11), IR_OP_MHLO_FUSION);
  assert_int_equal(ir_opcode_find("mhlo.nothing", 12), IR_OP_UNKNOWN);
  assert_int_equal(ir_opcode_find("add", 3), IR_OP_UNKNOWN);
  assert_true(ir_opcode_has(IR_OP_ADD, IR_TRAIT_COMMUTATIVE));
  assert_false(ir_opcode_has(IR_OP_SUBTRACT, IR_TRAIT_COMMUTATIVE));
}

static void a_budget_ends_in_a_flag(void **state) {
  (void)state;
  struct ir_module *m = ir_module_new(1 << 20);
  assert_non_null(m);
  static const uint8_t block[65536] = {1};
  for (int64_t i = 1; i < 100 && !m->out_of_memory; i++) {
    const int64_t dims[] = {65536 - i};
    struct ir_type type = ir_type_tensor(m, ir_type_scalar(m, DTYPE_UI8), dims, 1, (struct ir_attr){0});
    ir_attr_dense(m, type, block, (uint64_t)dims[0], false);
  }
  assert_true(m->out_of_memory); /* 99 x 64 KiB do not fit 1 MiB */
  ir_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(equal_types_have_equal_handles, make_module, free_module),
      cmocka_unit_test_setup_teardown(many_types_stay_distinct, make_module, free_module),
      cmocka_unit_test_setup_teardown(sizes_of_types, make_module, free_module),
      cmocka_unit_test_setup_teardown(dictionaries_are_sorted_and_last_wins, make_module, free_module),
      cmocka_unit_test_setup_teardown(dense_elements, make_module, free_module),
      cmocka_unit_test_setup_teardown(building_and_erasing, make_module, free_module),
      cmocka_unit_test_setup_teardown(attributes_of_ops, make_module, free_module),
      cmocka_unit_test_setup_teardown(entry_function_rules, make_module, free_module),
      cmocka_unit_test(opcodes_by_name),
      cmocka_unit_test(a_budget_ends_in_a_flag),
  };
  return cmocka_run_group_tests_name("ir core", tests, NULL, NULL);
}
