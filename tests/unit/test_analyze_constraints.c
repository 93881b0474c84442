/* Messages end with the numbers that the specification of StableHLO gives to the broken constraint: the same mistake has
 * another number in each operation. The operation stands on line 2. */
#include "analyze_fixture.h"

#include <stdio.h>

static void expect_number(const char *arguments, const char *body, const char *numbers) {
  char text[2048];
  struct program program;
  snprintf(text, sizeof text, "func.func @main(%s) {\n%s\n  return\n}\n", arguments, body);
  program_parse(&program, text);
  assert_int_equal(analyze_infer(program.module, &program.diags), STATUS_INPUT);
  const struct diag *d = &program.diags.entries.data[0];
  if (d->line != 2 || strstr(d->message, numbers) == NULL) {
    fail_msg("line %u: %s; expected %s", d->line, d->message, numbers);
  }
  program_release(&program);
}

#define ADD_BODY                                                                                                       \
  "({\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    %s = stablehlo.add %a, %b : tensor<f32>\n"                       \
  "    \"stablehlo.return\"(%s) : (tensor<f32>) -> ()\n  })"

static void test_windows(void **state) {
  (void)state;
  static const char arguments[] = "%x: tensor<6x6xf32>, %v: tensor<f32>";
#define WINDOW(attributes)                                                                                             \
  "  %0 = \"stablehlo.reduce_window\"(%x, %v) " ADD_BODY " {" attributes                                               \
  "} : (tensor<6x6xf32>, tensor<f32>) -> tensor<5x5xf32>"
  expect_number(arguments, WINDOW("window_dimensions = array<i64: 2>"), "'window_dimensions' does not have 2");
  expect_number(arguments, WINDOW("window_dimensions = array<i64: 2>"), "(C4)");
  expect_number(arguments, WINDOW("window_dimensions = array<i64: 2, 0>"), "(C5)");
  expect_number(arguments, WINDOW("window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1>"), "(C6)");
  expect_number(arguments, WINDOW("window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 0>"), "(C7)");
  expect_number(arguments, WINDOW("window_dimensions = array<i64: 2, 2>, base_dilations = array<i64: 1>"), "(C8)");
  expect_number(arguments, WINDOW("window_dimensions = array<i64: 2, 2>, base_dilations = array<i64: 1, -1>"), "(C9)");
  expect_number(arguments, WINDOW("window_dimensions = array<i64: 2, 2>, window_dilations = array<i64: 1>"), "(C10)");
  expect_number(arguments, WINDOW("window_dimensions = array<i64: 2, 2>, window_dilations = array<i64: 0, 1>"),
                "(C11)");
  expect_number(arguments, WINDOW("window_dimensions = array<i64: 2, 2>, padding = dense<0> : tensor<1x2xi64>"),
                "(C12)");
  expect_number(arguments, WINDOW("window_dimensions = array<i64: 3, 2>"), "(C15)"); /* 4x5, not 5x5 */
#undef WINDOW
}

static void test_reduce(void **state) {
  (void)state;
  static const char arguments[] = "%x: tensor<6x4xf32>, %v: tensor<f32>";
#define REDUCE(dimensions, result)                                                                                     \
  "  %0 = \"stablehlo.reduce\"(%x, %v) " ADD_BODY " {dimensions = array<i64: " dimensions                              \
  ">} : (tensor<6x4xf32>, tensor<f32>) -> " result
  expect_number(arguments, REDUCE("2", "tensor<6xf32>"), "(C4)");
  expect_number(arguments, REDUCE("1, 1", "tensor<6xf32>"), "(C5)");
  expect_number(arguments, REDUCE("1", "tensor<4xf32>"), "(C7)");
#undef REDUCE
}

static void test_groups(void **state) {
  (void)state;
#define GATHER(groups)                                                                                                 \
  "  %0 = \"stablehlo.all_gather\"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<" groups                      \
  "} : (tensor<2xf32>) -> tensor<4xf32>"
#define SUM(groups)                                                                                                    \
  "  %0 = \"stablehlo.all_reduce\"(%x) " ADD_BODY " {replica_groups = dense<" groups                                   \
  "} : (tensor<2xf32>) -> tensor<2xf32>"
  expect_number("%x: tensor<2xf32>", GATHER("[[0, 0]]> : tensor<1x2xi64>"), "twice (C2)");
  expect_number("%x: tensor<2xf32>", SUM("[[0, 0]]> : tensor<1x2xi64>"), "twice (C1)");
  expect_number("%x: tensor<2xf32>", GATHER("[[0, -3]]> : tensor<1x2xi64>"), "(C4)");
  expect_number("%x: tensor<2xf32>", SUM("[[0, -3]]> : tensor<1x2xi64>"), "(C3)");
  expect_number("%x: tensor<2xf32>", GATHER("[0, 1]> : tensor<2xi64>"), "(I3)");
  expect_number("%x: tensor<2xf32>", SUM("[0, 1]> : tensor<2xi64>"), "(I2)");
#undef GATHER
#undef SUM
}

static void test_dimensions(void **state) {
  (void)state;
  expect_number("%x: tensor<2xf32>",
                "  %0 = \"stablehlo.concatenate\"(%x, %x) {dimension = 1 : i64} : (tensor<2xf32>, "
                "tensor<2xf32>) -> tensor<4xf32>",
                "(C4)");
  expect_number("%x: tensor<2xf32>",
                "  %0 = \"stablehlo.get_dimension_size\"(%x) {dimension = 1 : i64} : (tensor<2xf32>) -> tensor<i32>",
                "(C1)");
  expect_number("%x: tensor<2xf32>",
                "  %0 = \"stablehlo.reverse\"(%x) {dimensions = array<i64: 0, 0>} : (tensor<2xf32>) -> tensor<2xf32>",
                "(C2)");
  expect_number("%x: tensor<2xf32>",
                "  %0 = \"stablehlo.reverse\"(%x) {dimensions = array<i64: 1>} : (tensor<2xf32>) -> tensor<2xf32>",
                "(C3)");
  expect_number("%x: tensor<2x3xf32>, %y: tensor<3x2xf32>",
                "  %0 = stablehlo.dot_general %x, %y, contracting_dims = [2] x [0] : (tensor<2x3xf32>, "
                "tensor<3x2xf32>) -> tensor<2x2xf32>",
                "(C6)");
  expect_number("%x: tensor<2x3xf32>, %y: tensor<3x2xf32>",
                "  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [2] : (tensor<2x3xf32>, "
                "tensor<3x2xf32>) -> tensor<2x2xf32>",
                "(C8)");
}

static void test_regions(void **state) {
  (void)state;
#define LOOP(condition, body)                                                                                          \
  "  %0 = \"stablehlo.while\"(%x) ({\n  ^bb0(%a: tensor<i32>):\n    " condition                                        \
  "\n  }, {\n  ^bb0(%a: tensor<i32>):\n    " body "\n  }) : (tensor<i32>) -> tensor<i32>"
#define PREDICATE "%p = stablehlo.constant dense<true> : tensor<i1>\n    \"stablehlo.return\"(%p) : (tensor<i1>) -> ()"
#define SAME "\"stablehlo.return\"(%a) : (tensor<i32>) -> ()"
  expect_number("%x: tensor<i32>", LOOP(SAME, SAME), "(C1)"); /* the condition is no predicate */
  expect_number("%x: tensor<i32>", LOOP(PREDICATE, "\"stablehlo.return\"(%a, %a) : (tensor<i32>, tensor<i32>) -> ()"),
                "(C2)");
#undef LOOP
#undef PREDICATE
#undef SAME
}

/* An operation of another dialect has no number: the message ends without one. */
static void test_without_numbers(void **state) {
  (void)state;
  struct program program;
  program_parse(&program,
                "func.func @main(%x: tensor<2xf32>) {\n"
                "  %0:2 = \"chlo.top_k\"(%x) {k = 1 : i64} : (tensor<2xf32>) -> (tensor<2xf32>, tensor<1xi32>)\n"
                "  return\n}\n");
  assert_int_equal(analyze_infer(program.module, &program.diags), STATUS_INPUT);
  assert_null(strstr(program.diags.entries.data[0].message, "(C"));
  program_release(&program);
}

/* mhlo.scan is checked as chlo.scan is: the body gets slices. */
static void test_scan_of_mhlo(void **state) {
  (void)state;
#define SCAN(slice)                                                                                                    \
  "func.func @main(%x: tensor<5x7xf32>, %v: tensor<7xf32>) {\n"                                                        \
  "  %0:2 = mhlo.scan (%x) inits (%v) dimension=0 {\n"                                                                 \
  "  ^bb0(%a: tensor<" slice "xf32>, %b: tensor<7xf32>):\n"                                                            \
  "    mhlo.return %b, %b : tensor<7xf32>, tensor<7xf32>\n"                                                            \
  "  } : (tensor<5x7xf32>, tensor<7xf32>) -> (tensor<5x7xf32>, tensor<7xf32>)\n  return\n}\n"
  expect_valid(SCAN("7"));
  expect_error(SCAN("5"), DIAG_E0211_REGION, 2);
#undef SCAN
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_windows),      cmocka_unit_test(test_reduce),  cmocka_unit_test(test_groups),
      cmocka_unit_test(test_dimensions),   cmocka_unit_test(test_regions), cmocka_unit_test(test_without_numbers),
      cmocka_unit_test(test_scan_of_mhlo),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
