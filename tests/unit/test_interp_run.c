/* Runs that must not succeed: what is refused, with which message and where; budgets; processes that wait for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/analyze.h"
#include "interp/interp.h"
#include "mlir/mlir.h"

struct run {
  struct source source;
  struct diag_list diags;
  struct ir_module *module;
  enum status status;
  struct interp_value *results[4];
  uint32_t result_count;
};

static void run_text(struct run *run, const char *text, const struct interp_options *options) {
  *run = (struct run){.source = {"test.mlir", text, strlen(text)}};
  diag_init(&run->diags);
  assert_int_equal(mlir_parse(&run->source, NULL, &run->diags, &run->module), STATUS_OK);
  assert_int_equal(analyze_infer(run->module, &run->diags), STATUS_OK);
  struct ir_op entry = interp_entry(run->module);
  assert_int_not_equal(entry.id, 0);
  const struct ir_type_data *type = ir_type_get(run->module, ir_function_type(run->module, entry));
  run->result_count = type->count - type->input_count;
  assert_true(run->result_count <= 4);
  run->status = interp_run(run->module, entry, options, NULL, 0, &run->diags, run->results);
}

static void run_release(struct run *run) {
  for (uint32_t i = 0; run->status == STATUS_OK && i < run->result_count; i++) {
    interp_release(run->results[i]);
  }
  ir_module_free(run->module);
  diag_release(&run->diags);
}

/* The run fails with this id at this line, and its message has the words. */
static void expect_failure(const char *text, const struct interp_options *options, enum diag_id id, uint32_t line,
                           const char *words) {
  struct run run;
  run_text(&run, text, options);
  assert_int_equal(run.status, STATUS_INPUT);
  assert_true(run.diags.entries.count > 0);
  const struct diag *diag = &run.diags.entries.data[0];
  assert_string_equal(diag_code(diag->id), diag_code(id));
  assert_int_equal(diag->line, line);
  if (!strstr(diag->message, words)) {
    fail_msg("'%s' is not in '%s'", words, diag->message);
  }
  run_release(&run);
}

static void test_failed_check_names_element(void **state) {
  (void)state;
  expect_failure("func.func @main() {\n"
                 "  %0 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>\n"
                 "  check.expect_eq_const %0, dense<[[1, 2], [5, 4]]> : tensor<2x2xi32>\n"
                 "  return\n}\n",
                 NULL, DIAG_E0703_CHECK, 3, "element [1, 0] is 3, expected 5");
}

/* Every failed check is reported: the run goes on. */
static void test_all_failed_checks(void **state) {
  (void)state;
  struct run run;
  run_text(&run,
           "func.func @main() {\n"
           "  %0 = stablehlo.constant dense<1> : tensor<i32>\n"
           "  check.expect_eq_const %0, dense<2> : tensor<i32>\n"
           "  check.expect_eq_const %0, dense<3> : tensor<i32>\n"
           "  return\n}\n",
           NULL);
  assert_int_equal(run.status, STATUS_INPUT);
  assert_int_equal(run.diags.error_count, 2);
  run_release(&run);
}

/* 2^41 elements of 4 bytes: 8,796,093,022,208 bytes are refused before they are allocated, with that number. */
static void test_memory_budget(void **state) {
  (void)state;
  expect_failure("func.func @main() -> tensor<2097152x1048576xf32> {\n"
                 "  %0 = stablehlo.iota dim = 0 : tensor<2097152x1048576xf32>\n"
                 "  return %0 : tensor<2097152x1048576xf32>\n}\n",
                 NULL, DIAG_E0704_RUN_BUDGET, 2, "8796093022208 bytes");
}

/* A loop without an end stops at the budget of operations. */
static void test_operation_budget(void **state) {
  (void)state;
  struct interp_options options = {.operation_budget = 1000};
  expect_failure("func.func @main() -> tensor<i32> {\n"
                 "  %0 = stablehlo.constant dense<0> : tensor<i32>\n"
                 "  %t = stablehlo.constant dense<true> : tensor<i1>\n"
                 "  %1 = stablehlo.while(%a = %0) : tensor<i32>\n"
                 "  cond {\n    stablehlo.return %t : tensor<i1>\n  } do {\n"
                 "    %2 = stablehlo.add %a, %a : tensor<i32>\n    stablehlo.return %2 : tensor<i32>\n  }\n"
                 "  return %1 : tensor<i32>\n}\n",
                 &options, DIAG_E0704_RUN_BUDGET, 4, "more than 1000 elementary operations");
}

/* 1000 x 1000 x 1000 products are 10^9, one more than the budget. */
static void test_huge_product(void **state) {
  (void)state;
  expect_failure("func.func @main() -> tensor<i32> {\n"
                 "  %0 = stablehlo.constant dense<0> : tensor<i32>\n"
                 "  %c = stablehlo.constant dense<1> : tensor<i8>\n"
                 "  %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i8>) -> tensor<1000x1000xi8>\n"
                 "  %b = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]\n"
                 "      : (tensor<1000x1000xi8>, tensor<1000x1000xi8>) -> tensor<1000x1000xi8>\n"
                 "  return %0 : tensor<i32>\n}\n",
                 &(struct interp_options){.operation_budget = 999999999}, DIAG_E0704_RUN_BUDGET, 5, "1000000000");
}

static void test_unknown_operation(void **state) {
  (void)state;
  expect_failure("func.func @main() {\n"
                 "  %0 = \"foo.bar\"() : () -> tensor<i32>\n"
                 "  return\n}\n",
                 NULL, DIAG_E0701_NOT_EXECUTABLE, 2, "'foo.bar'");
}

static void test_unknown_custom_call(void **state) {
  (void)state;
  expect_failure("func.func @main() {\n"
                 "  %0 = stablehlo.custom_call @nobody_knows() : () -> tensor<i32>\n"
                 "  return\n}\n",
                 NULL, DIAG_E0701_NOT_EXECUTABLE, 2, "'nobody_knows'");
}

/* A function that calls itself for ever ends at the depth, not with a crash. */
static void test_recursion(void **state) {
  (void)state;
  expect_failure("func.func @main() {\n"
                 "  func.call @main() : () -> ()\n"
                 "  return\n}\n",
                 NULL, DIAG_E0704_RUN_BUDGET, 1, "nested more than 200 deep");
}

#define TWO_PROGRAMS(a, b)                                                                                             \
  "func.func @a(%x: tensor<i32>) -> tensor<i32> {\n" a "  return %x : tensor<i32>\n}\n"                                \
  "func.func @b(%x: tensor<i32>) -> tensor<i32> {\n" b "  return %x : tensor<i32>\n}\n"                                \
  "func.func @main() -> (tensor<i32>, tensor<i32>) {\n"                                                                \
  "  %0 = stablehlo.constant dense<7> : tensor<i32>\n"                                                                 \
  "  %1:2 = \"interpreter.run_parallel\"(%0, %0) {programs = [[@a], [@b]]}\n"                                          \
  "      : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)\n"                                                 \
  "  return %1#0, %1#1 : tensor<i32>, tensor<i32>\n}\n"
#define PERMUTE                                                                                                        \
  "  %p = \"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}\n"            \
  "      : (tensor<i32>) -> tensor<i32>\n"

/* One process waits for a collective that the other never reaches. */
static void test_deadlock(void **state) {
  (void)state;
  expect_failure(TWO_PROGRAMS(PERMUTE, ""), NULL, DIAG_E0705_DEADLOCK, 2, "waits for ever");
}

/* Both wait for a message that none sends. */
static void test_deadlock_of_receivers(void **state) {
  (void)state;
#define RECEIVE                                                                                                        \
  "  %t = stablehlo.create_token : !stablehlo.token\n"                                                                 \
  "  %r:2 = \"stablehlo.recv\"(%t) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>}\n"               \
  "      : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)\n"
  struct run run;
  run_text(&run, TWO_PROGRAMS(RECEIVE, RECEIVE), NULL);
  assert_int_equal(run.status, STATUS_INPUT);
  assert_string_equal(diag_code(run.diags.entries.data[0].id), "E0705");
  run_release(&run);
}

/* A process that fails ends the run, also for those that wait for it. */
static void test_failure_ends_waiting(void **state) {
  (void)state;
  expect_failure(TWO_PROGRAMS(PERMUTE, "  %0 = \"foo.bar\"() : () -> tensor<i32>\n"), NULL, DIAG_E0701_NOT_EXECUTABLE,
                 7, "'foo.bar'");
}

static void test_parallel_programs_run(void **state) {
  (void)state;
  struct run run;
  run_text(&run, TWO_PROGRAMS(PERMUTE, PERMUTE), NULL);
  assert_int_equal(run.status, STATUS_OK);
  run_release(&run);
}

static void test_argument_count_and_shape(void **state) {
  (void)state;
  struct run run;
  const char *text = "func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {\n  return %a : tensor<2xi32>\n}\n";
  run_text(&run, text, NULL);
  assert_int_equal(run.status, STATUS_INPUT);
  assert_string_equal(diag_code(run.diags.entries.data[0].id), "E0702");
  int64_t dims = 3;
  struct interp_value *value = interp_tensor_new(DTYPE_I32, &dims, 1), *result;
  assert_int_equal(interp_run(run.module, interp_entry(run.module), NULL, &value, 1, &run.diags, &result),
                   STATUS_INPUT);
  interp_release(value);
  dims = 2;
  value = interp_tensor_new(DTYPE_I32, &dims, 1);
  ((int32_t *)(void *)value->data)[1] = 5;
  assert_int_equal(interp_run(run.module, interp_entry(run.module), NULL, &value, 1, &run.diags, &result), STATUS_OK);
  assert_int_equal(((int32_t *)(void *)result->data)[1], 5);
  interp_release(value);
  interp_release(result);
  run_release(&run);
}

static void test_out_of_bounds(void **state) {
  (void)state;
  expect_failure("func.func @main() {\n"
                 "  %x = stablehlo.constant dense<0> : tensor<4xi64>\n"
                 "  %s = stablehlo.constant dense<1> : tensor<1xi64>\n"
                 "  %l = stablehlo.constant dense<9> : tensor<1xi64>\n"
                 "  %0 = \"stablehlo.real_dynamic_slice\"(%x, %s, %l, %s)\n"
                 "      : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>\n"
                 "  return\n}\n",
                 NULL, DIAG_E0702_RUN_VALUE, 5, "[1:9:1] of a dimension of 4");
}

static void keep_text(void *user, const char *text, size_t length) {
  strbuf_add(user, text, length);
}

/* The spelling of StableHLO's interpreter (its test printing.mlir). */
static void test_print(void **state) {
  (void)state;
  struct strbuf text = {0};
  struct interp_options options = {.print = keep_text, .user = &text};
  struct run run;
  run_text(&run,
           "func.func @main() {\n"
           "  %0 = stablehlo.constant dense<[[[0, 1], [2, 3]]]> : tensor<1x2x2xi64>\n"
           "  interpreter.print %0 : tensor<1x2x2xi64>\n"
           "  %1 = stablehlo.constant dense<1> : tensor<ui8>\n"
           "  interpreter.print %1 : tensor<ui8>\n"
           "  %2 = stablehlo.constant dense<(3.14, 1.0)> : tensor<1xcomplex<f64>>\n"
           "  interpreter.print %2 : tensor<1xcomplex<f64>>\n"
           "  return\n}\n",
           &options);
  assert_int_equal(run.status, STATUS_OK);
  assert_string_equal(strbuf_text(&text),
                      "tensor<1x2x2xi64> {\n  [\n    [\n      [0, 1],\n      [2, 3]\n    ]\n  ]\n}\n"
                      "tensor<ui8> {1}\n"
                      "tensor<1xcomplex<f64>> {\n  [[3.140000e+00, 1.000000e+00]]\n}\n");
  strbuf_release(&text);
  run_release(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_failed_check_names_element),
      cmocka_unit_test(test_all_failed_checks),
      cmocka_unit_test(test_memory_budget),
      cmocka_unit_test(test_operation_budget),
      cmocka_unit_test(test_huge_product),
      cmocka_unit_test(test_unknown_operation),
      cmocka_unit_test(test_unknown_custom_call),
      cmocka_unit_test(test_recursion),
      cmocka_unit_test(test_deadlock),
      cmocka_unit_test(test_deadlock_of_receivers),
      cmocka_unit_test(test_failure_ends_waiting),
      cmocka_unit_test(test_parallel_programs_run),
      cmocka_unit_test(test_argument_count_and_shape),
      cmocka_unit_test(test_out_of_bounds),
      cmocka_unit_test(test_print),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
