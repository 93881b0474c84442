/* Unresolved calls, signatures and recursion. */
#include "analyze_fixture.h"

#include <stdio.h>
#include <stdlib.h>

static void test_unresolved(void **state) {
  (void)state;
  struct program program;
  program_parse(&program, "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
                          "  %0 = call @helpr(%x) : (tensor<f32>) -> tensor<f32>\n"
                          "  return %0 : tensor<f32>\n"
                          "}\n"
                          "func.func private @helper(%x: tensor<f32>) -> tensor<f32> {\n"
                          "  return %x : tensor<f32>\n"
                          "}\n");
  assert_int_equal(analyze_calls(program.module, &program.diags), STATUS_INPUT);
  assert_int_equal(program.diags.entries.count, 1);
  assert_int_equal(program.diags.entries.data[0].id, DIAG_E0207_UNRESOLVED_CALL);
  assert_non_null(strstr(program.diags.entries.data[0].message, "did you mean '@helper'"));
  program_release(&program);
}

static void test_signature(void **state) {
  (void)state;
  expect_error("func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
               "  %0 = call @f(%x) : (tensor<f32>) -> tensor<f32>\n"
               "  return %0 : tensor<f32>\n"
               "}\n"
               "func.func private @f(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {\n"
               "  return %x : tensor<f32>\n"
               "}\n",
               DIAG_E0208_CALL_TYPE, 2);
  expect_error("func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
               "  %0 = call @f(%x) : (tensor<f32>) -> tensor<f32>\n"
               "  return %0 : tensor<f32>\n"
               "}\n"
               "func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
               "  return %x : tensor<2xf32>\n"
               "}\n",
               DIAG_E0208_CALL_TYPE, 2);
}

static void test_recursion(void **state) {
  (void)state;
  expect_error("func.func @a(%x: tensor<f32>) -> tensor<f32> {\n"
               "  %0 = call @b(%x) : (tensor<f32>) -> tensor<f32>\n"
               "  return %0 : tensor<f32>\n"
               "}\n"
               "func.func @b(%x: tensor<f32>) -> tensor<f32> {\n"
               "  %0 = call @a(%x) : (tensor<f32>) -> tensor<f32>\n"
               "  return %0 : tensor<f32>\n"
               "}\n",
               DIAG_E0209_RECURSION, 6);
}

/* Calling one function from two others is no recursion. */
static void test_shared_callee(void **state) {
  (void)state;
  expect_valid("func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
               "  %0 = call @b(%x) : (tensor<f32>) -> tensor<f32>\n"
               "  %1 = call @c(%0) : (tensor<f32>) -> tensor<f32>\n"
               "  return %1 : tensor<f32>\n"
               "}\n"
               "func.func private @b(%x: tensor<f32>) -> tensor<f32> {\n"
               "  %0 = call @c(%x) : (tensor<f32>) -> tensor<f32>\n"
               "  return %0 : tensor<f32>\n"
               "}\n"
               "func.func private @c(%x: tensor<f32>) -> tensor<f32> {\n"
               "  return %x : tensor<f32>\n"
               "}\n");
}

/* Two nested modules may use one name; a call means the function of its own module. */
static void test_nested_modules(void **state) {
  (void)state;
  expect_valid("module {\n"
               "  module @a {\n"
               "    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
               "      %0 = call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
               "      return %0 : tensor<2xf32>\n"
               "    }\n"
               "    func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
               "      return %x : tensor<2xf32>\n"
               "    }\n"
               "  }\n"
               "  module @b {\n"
               "    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
               "      %0 = call @f(%x) : (tensor<3xf32>) -> tensor<3xf32>\n"
               "      return %0 : tensor<3xf32>\n"
               "    }\n"
               "    func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
               "      return %x : tensor<3xf32>\n"
               "    }\n"
               "  }\n"
               "}\n");
}

/* A chain of 20,000 functions: no recursion of the checker, and every function calls the next one twice, so a walk that
 * does not remember finished functions would not end. */
static void test_long_chain(void **state) {
  (void)state;
  enum { FUNCTIONS = 20000, PER_FUNCTION = 256 };
  char *text = malloc((size_t)FUNCTIONS * PER_FUNCTION);
  assert_non_null(text);
  size_t length = 0;
  for (int i = 0; i < FUNCTIONS; i++) {
    bool is_last = i + 1 == FUNCTIONS;
    length += (size_t)snprintf(text + length, PER_FUNCTION, "func.func @f%d(%%x: tensor<f32>) -> tensor<f32> {\n", i);
    for (int call = 0; call < 2 && !is_last; call++) {
      length += (size_t)snprintf(text + length, PER_FUNCTION,
                                 "  %%%d = call @f%d(%%x) : (tensor<f32>) -> tensor<f32>\n", call, i + 1);
    }
    length += (size_t)snprintf(text + length, PER_FUNCTION, "  return %%x : tensor<f32>\n}\n");
  }
  struct program program;
  program_parse(&program, text);
  assert_int_equal(analyze_infer(program.module, &program.diags), STATUS_OK);
  assert_int_equal(analyze_calls(program.module, &program.diags), STATUS_OK);
  struct analyze_xla_cost cost;
  /* too deep for the counts: a status, no crash */
  assert_int_equal(analyze_xla_function(program.module, ir_function_find(program.module, "f0"), NULL, &cost),
                   STATUS_LIMIT);
  program_release(&program);
  free(text);
}

static void test_callee(void **state) {
  (void)state;
  struct program program;
  program_parse(&program,
                "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
                "  %0 = stablehlo.composite \"my.op\" %x {decomposition = @impl} : (tensor<f32>) -> tensor<f32>\n"
                "  return %0 : tensor<f32>\n"
                "}\n"
                "func.func private @impl(%x: tensor<f32>) -> tensor<f32> {\n"
                "  %0 = stablehlo.exponential %x : tensor<f32>\n"
                "  return %0 : tensor<f32>\n"
                "}\n");
  struct ir_op callee = analyze_callee(program.module, program_op(&program, "stablehlo.composite"));
  assert_string_equal(ir_symbol_name(program.module, callee), "impl");
  assert_int_equal(analyze_callee(program.module, program_op(&program, "stablehlo.exponential")).id, 0);
  struct analyze_symbols symbols;
  assert_true(analyze_symbols_init(&symbols, program.module));
  uint32_t name = intern_find(&program.module->strings, "impl", 4);
  assert_int_equal(analyze_symbols_find(&symbols, name).id, callee.id);
  analyze_symbols_release(&symbols);
  program_release(&program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unresolved),    cmocka_unit_test(test_signature),      cmocka_unit_test(test_recursion),
      cmocka_unit_test(test_shared_callee), cmocka_unit_test(test_nested_modules), cmocka_unit_test(test_long_chain),
      cmocka_unit_test(test_callee),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
