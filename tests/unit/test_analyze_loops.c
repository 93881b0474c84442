/* Trip counts of loops whose induction is visible, and refusal of those whose is not. Expected counts are worked out by
 * hand from the loop's start, bound and step. */
#include "analyze_fixture.h"

#include <stdio.h>

static struct analyze_trip_count count_of(const char *text) {
  struct program program;
  program_parse(&program, text);
  struct analyze_trip_count count = analyze_while_trip_count(program.module, program_op(&program, "stablehlo.while"));
  program_release(&program);
  return count;
}

/* A loop over one carried integer of type `type`: start, relation, bound, operation and amount of the step. */
static struct analyze_trip_count simple_loop(const char *type, const char *start, const char *relation,
                                             const char *bound, const char *operation, const char *step) {
  char text[2048];
  snprintf(text, sizeof text,
           "func.func @main() -> tensor<%s> {\n"
           "  %%start = stablehlo.constant dense<%s> : tensor<%s>\n"
           "  %%0 = stablehlo.while(%%i = %%start) : tensor<%s>\n"
           "  cond {\n"
           "    %%bound = stablehlo.constant dense<%s> : tensor<%s>\n"
           "    %%1 = stablehlo.compare %s, %%i, %%bound : (tensor<%s>, tensor<%s>) -> tensor<i1>\n"
           "    stablehlo.return %%1 : tensor<i1>\n"
           "  } do {\n"
           "    %%step = stablehlo.constant dense<%s> : tensor<%s>\n"
           "    %%1 = stablehlo.%s %%i, %%step : tensor<%s>\n"
           "    stablehlo.return %%1 : tensor<%s>\n"
           "  }\n"
           "  return %%0 : tensor<%s>\n"
           "}\n",
           type, start, type, type, bound, type, relation, type, type, step, type, operation, type, type, type);
  return count_of(text);
}

static void expect_count(struct analyze_trip_count found, uint64_t expected) {
  assert_true(found.is_known);
  assert_int_equal(found.count, expected);
}

static void expect_unknown(struct analyze_trip_count found) {
  assert_false(found.is_known);
  assert_false(found.is_upper_bound);
}

static void test_relations(void **state) {
  (void)state;
  expect_count(simple_loop("i32", "0", "LT", "10", "add", "1"), 10);
  expect_count(simple_loop("i32", "0", "LT", "10", "add", "3"), 4); /* 0 3 6 9 */
  expect_count(simple_loop("i32", "0", "LE", "9", "add", "3"), 4); /* 0 3 6 9 */
  expect_count(simple_loop("i32", "10", "GT", "0", "subtract", "4"), 3); /* 10 6 2 */
  expect_count(simple_loop("i32", "10", "GE", "-2", "subtract", "4"), 4); /* 10 6 2 -2 */
  expect_count(simple_loop("i32", "10", "GE", "-2", "add", "-4"), 4);
  expect_count(simple_loop("i32", "0", "NE", "12", "add", "4"), 3);
  expect_count(simple_loop("i32", "12", "NE", "0", "subtract", "4"), 3);
  expect_count(simple_loop("i32", "5", "EQ", "5", "add", "1"), 1);
  expect_count(simple_loop("i32", "6", "EQ", "5", "add", "1"), 0);
  expect_count(simple_loop("i32", "10", "LT", "10", "add", "1"), 0);
}

static void test_refusals(void **state) {
  (void)state;
  expect_unknown(simple_loop("i32", "0", "LT", "10", "add", "0")); /* never ends */
  expect_unknown(simple_loop("i32", "0", "LT", "10", "subtract", "1")); /* ends by wrapping only */
  expect_unknown(simple_loop("i32", "0", "NE", "10", "add", "4")); /* steps over the bound */
  expect_unknown(simple_loop("i32", "1", "LT", "10", "multiply", "2")); /* not a constant step */
  expect_unknown(simple_loop("i8", "0", "LE", "127", "add", "1")); /* 127 + 1 wraps in i8 */
  expect_unknown(simple_loop("ui8", "3", "GE", "0", "subtract", "1")); /* 0 - 1 wraps in ui8 */
}

static void test_extremes(void **state) {
  (void)state;
  expect_count(simple_loop("i64", "-9223372036854775808", "LT", "9223372036854775807", "add", "1"), UINT64_MAX);
  /* -2^63, -1, 2^63 - 2, then a wrap */
  expect_unknown(simple_loop("i64", "-9223372036854775808", "LT", "9223372036854775807", "add", "9223372036854775807"));
  expect_count(simple_loop("i64", "-9223372036854775808", "LT", "0", "add", "9223372036854775807"), 2);
  expect_count(simple_loop("ui8", "0", "LT", "255", "add", "1"), 255);
  expect_count(simple_loop("i8", "-128", "LT", "127", "add", "1"), 255);
}

/* JAX's fori_loop with a traced upper bound: the bound is carried and handed on; converts and reshapes in between. */
static void test_carried_bound(void **state) {
  (void)state;
  expect_count(
      count_of(
          "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
          "  %n = stablehlo.constant dense<7> : tensor<1xi64>\n"
          "  %r = stablehlo.reshape %n : (tensor<1xi64>) -> tensor<i64>\n"
          "  %c = stablehlo.convert %r : (tensor<i64>) -> tensor<i32>\n"
          "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
          "  %0:3 = stablehlo.while(%i = %zero, %bound = %c, %acc = %x) : tensor<i32>, tensor<i32>, tensor<4xf32>\n"
          "  cond {\n"
          "    %1 = stablehlo.compare GT, %bound, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
          "    stablehlo.return %1 : tensor<i1>\n"
          "  } do {\n"
          "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
          "    %1 = stablehlo.add %one, %i : tensor<i32>\n"
          "    %2 = stablehlo.add %acc, %acc : tensor<4xf32>\n"
          "    stablehlo.return %1, %bound, %2 : tensor<i32>, tensor<i32>, tensor<4xf32>\n"
          "  }\n"
          "  return %0#2 : tensor<4xf32>\n"
          "}\n"),
      7);
}

/* JAX outlines scan bodies into private functions that return the incremented counter. */
static void test_outlined_body(void **state) {
  (void)state;
  expect_count(
      count_of("module {\n"
               "  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
               "    %zero = stablehlo.constant dense<0> : tensor<i32>\n"
               "    %0:2 = stablehlo.while(%i = %zero, %acc = %x) : tensor<i32>, tensor<4xf32>\n"
               "    cond {\n"
               "      %n = stablehlo.constant dense<12> : tensor<i32>\n"
               "      %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               "      stablehlo.return %1 : tensor<i1>\n"
               "    } do {\n"
               "      %1:2 = func.call @body(%acc, %i) : (tensor<4xf32>, tensor<i32>) -> (tensor<4xf32>, tensor<i32>)\n"
               "      stablehlo.return %1#1, %1#0 : tensor<i32>, tensor<4xf32>\n"
               "    }\n"
               "    return %0#1 : tensor<4xf32>\n"
               "  }\n"
               "  func.func private @body(%acc: tensor<4xf32>, %i: tensor<i32>) -> (tensor<4xf32>, tensor<i32>) {\n"
               "    %two = stablehlo.constant dense<2> : tensor<i32>\n"
               "    %0 = stablehlo.add %acc, %acc : tensor<4xf32>\n"
               "    %1 = stablehlo.add %i, %two : tensor<i32>\n"
               "    return %0, %1 : tensor<4xf32>, tensor<i32>\n"
               "  }\n"
               "}\n"),
      6);
}

/* The start is a function argument: known because the only call passes a constant. */
static void test_constant_argument(void **state) {
  (void)state;
  static const char *const text =
      "module {\n"
      "  func.func @main() -> tensor<i32> {\n"
      "    %%a = stablehlo.constant dense<3> : tensor<i32>\n"
      "    %%b = stablehlo.constant dense<%d> : tensor<i32>\n"
      "    %%0 = call @loop(%%a) : (tensor<i32>) -> tensor<i32>\n"
      "    %%1 = call @loop(%%b) : (tensor<i32>) -> tensor<i32>\n"
      "    return %%0 : tensor<i32>\n"
      "  }\n"
      "  func.func private @loop(%%start: tensor<i32>) -> tensor<i32> {\n"
      "    %%0 = stablehlo.while(%%i = %%start) : tensor<i32>\n"
      "    cond {\n"
      "      %%n = stablehlo.constant dense<10> : tensor<i32>\n"
      "      %%1 = stablehlo.compare LT, %%i, %%n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "      stablehlo.return %%1 : tensor<i1>\n"
      "    } do {\n"
      "      %%one = stablehlo.constant dense<1> : tensor<i32>\n"
      "      %%1 = stablehlo.add %%i, %%one : tensor<i32>\n"
      "      stablehlo.return %%1 : tensor<i32>\n"
      "    }\n"
      "    return %%0 : tensor<i32>\n"
      "  }\n"
      "}\n";
  char same[2048], other[2048];
  snprintf(same, sizeof same, text, 3);
  snprintf(other, sizeof other, text, 4);
  expect_count(count_of(same), 7);
  expect_unknown(count_of(other)); /* the calls disagree */
}

/* A tuple carried whole, as HLO imports have it. */
static void test_tuple_carry(void **state) {
  (void)state;
  expect_count(
      count_of("func.func @main(%x: tensor<4xf32>) -> tuple<tensor<i32>, tensor<4xf32>> {\n"
               "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
               "  %init = stablehlo.tuple %zero, %x : tuple<tensor<i32>, tensor<4xf32>>\n"
               "  %0 = stablehlo.while(%t = %init) : tuple<tensor<i32>, tensor<4xf32>>\n"
               "  cond {\n"
               "    %i = stablehlo.get_tuple_element %t[0] : (tuple<tensor<i32>, tensor<4xf32>>) -> tensor<i32>\n"
               "    %n = stablehlo.constant dense<5> : tensor<i32>\n"
               "    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               "    stablehlo.return %1 : tensor<i1>\n"
               "  } do {\n"
               "    %i = stablehlo.get_tuple_element %t[0] : (tuple<tensor<i32>, tensor<4xf32>>) -> tensor<i32>\n"
               "    %x1 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<i32>, tensor<4xf32>>) -> tensor<4xf32>\n"
               "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
               "    %1 = stablehlo.add %i, %one : tensor<i32>\n"
               "    %2 = stablehlo.tuple %1, %x1 : tuple<tensor<i32>, tensor<4xf32>>\n"
               "    stablehlo.return %2 : tuple<tensor<i32>, tensor<4xf32>>\n"
               "  }\n"
               "  return %0 : tuple<tensor<i32>, tensor<4xf32>>\n"
               "}\n"),
      5);
}

/* A generation loop: ends at 20 tokens, or earlier when all sequences are done. 20 - 8 = 12 iterations at most. */
static void test_early_exit(void **state) {
  (void)state;
  struct analyze_trip_count count =
      count_of("func.func @main(%done: tensor<i1>) -> tensor<i32> {\n"
               "  %start = stablehlo.constant dense<8> : tensor<i32>\n"
               "  %0:2 = stablehlo.while(%i = %start, %d = %done) : tensor<i32>, tensor<i1>\n"
               "  cond {\n"
               "    %n = stablehlo.constant dense<20> : tensor<i32>\n"
               "    %false = stablehlo.constant dense<false> : tensor<i1>\n"
               "    %1 = stablehlo.compare EQ, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               "    %2 = stablehlo.compare NE, %1, %false : (tensor<i1>, tensor<i1>) -> tensor<i1>\n"
               "    %3 = stablehlo.or %2, %d : tensor<i1>\n"
               "    %4 = stablehlo.not %3 : tensor<i1>\n"
               "    stablehlo.return %4 : tensor<i1>\n"
               "  } do {\n"
               "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
               "    %1 = stablehlo.add %i, %one : tensor<i32>\n"
               "    %2 = stablehlo.not %d : tensor<i1>\n"
               "    stablehlo.return %1, %2 : tensor<i32>, tensor<i1>\n"
               "  }\n"
               "  return %0#0 : tensor<i32>\n"
               "}\n");
  assert_false(count.is_known);
  assert_true(count.is_upper_bound);
  assert_int_equal(count.count, 12);
}

static void test_constant_values(void **state) {
  (void)state;
  struct program program;
  int64_t value = 0;
  program_parse(&program, "func.func @main(%x: tensor<3x5xf32>, %y: tensor<i32>) -> tensor<i32> {\n"
                          "  %d = stablehlo.get_dimension_size %x, dim = 1 : (tensor<3x5xf32>) -> tensor<i32>\n"
                          "  %c = stablehlo.constant dense<-3> : tensor<i32>\n"
                          "  %m = stablehlo.multiply %d, %c : tensor<i32>\n"
                          "  %n = stablehlo.negate %m : tensor<i32>\n"
                          "  %a = stablehlo.add %n, %y : tensor<i32>\n"
                          "  return %a : tensor<i32>\n"
                          "}\n");
  assert_true(analyze_constant_int(program.module,
                                   ir_op_result(program.module, program_op(&program, "stablehlo.negate"), 0), &value));
  assert_int_equal(value, 15);
  assert_false(analyze_constant_int(program.module,
                                    ir_op_result(program.module, program_op(&program, "stablehlo.add"), 0), &value));
  program_release(&program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_relations),       cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_extremes),        cmocka_unit_test(test_carried_bound),
      cmocka_unit_test(test_outlined_body),   cmocka_unit_test(test_constant_argument),
      cmocka_unit_test(test_tuple_carry),     cmocka_unit_test(test_early_exit),
      cmocka_unit_test(test_constant_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
