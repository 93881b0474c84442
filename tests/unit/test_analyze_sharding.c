/* Shardings of sdy and regions that pass values on. Each verdict is that of MLIR's verifier with Shardy's dialect (jaxlib
 * 0.10.2), asked for the same text. */
#include "analyze_fixture.h"

#define MESH "sdy.mesh @m = <[\"x\"=2, \"y\"=4]>\n"
#define ARGUMENT(type, sharding)                                                                                       \
  MESH "func.func @f(%a: " type " {sdy.sharding = #sdy.sharding<" sharding ">}) {\n  return\n}\n"
#define MATRIX(sharding) ARGUMENT("tensor<8x8xf32>", sharding)

static void test_meshes(void **state) {
  (void)state;
  expect_valid("sdy.mesh @m = <[\"x\"=2], device_ids=[1, 0]>\n");
  expect_error("sdy.mesh @m = <[\"x\"=2, \"x\"=4]>\n", DIAG_E0206_ATTRIBUTE_VALUE, 1);
  expect_error("sdy.mesh @m = <[\"x\"=0]>\n", DIAG_E0206_ATTRIBUTE_VALUE, 1);
  expect_error("sdy.mesh @m = <[\"x\"=2], device_ids=[0, 2]>\n", DIAG_E0206_ATTRIBUTE_VALUE, 1);
}

static void test_axes(void **state) {
  (void)state;
  expect_valid(MATRIX("@m, [{\"x\"}, {\"y\"}]"));
  expect_valid(MATRIX("@m, [{\"y\":(1)2}, {\"y\":(2)2}]"));
  expect_valid(ARGUMENT("tensor<7x8xf32>", "@m, [{\"x\"}, {}]")); /* sizes need not divide */
  expect_error(MATRIX("@k, [{\"x\"}, {}]"), DIAG_E0207_UNRESOLVED_CALL, 2);
  static const char *const wrong[] = {
      MATRIX("@m, [{\"z\"}, {}]"), /* no such axis */
      MATRIX("@m, [{\"x\"}, {\"x\"}]"), /* twice */
      MATRIX("@m, [{\"x\", \"x\"}, {}]"),
      MATRIX("@m, [{\"x\"}, {}], replicated={\"x\"}"),
      MATRIX("@m, [{\"x\"}, {}], unreduced={\"x\"}"),
      MATRIX("@m, [{\"y\":(1)2}, {\"y\"}]"), /* a part of an axis and all of it */
      MATRIX("@m, [{\"y\":(1)3}, {}]"), /* does not divide it */
      MATRIX("@m, [{\"y\":(1)4}, {}]"), /* is all of it */
      MATRIX("@m, [{\"y\":(1)2, \"y\":(2)2}, {}]"), /* two parts that are one */
      MATRIX("@m, [{}, {}], replicated={\"y\", \"x\"}"), /* not in the order of the mesh */
      MATRIX("@m, [{}p1, {}]"), /* nothing to give priority to */
      MATRIX("@m, [{\"x\"}]"), /* rank */
      ARGUMENT("tensor<f32>", "@m, [{\"x\"}]"),
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    expect_error(wrong[i], DIAG_E0206_ATTRIBUTE_VALUE, 2);
  }
}

static void test_places(void **state) {
  (void)state;
#define OPERATION(text) MESH "func.func @f(%a: tensor<8x8xf32>) {\n  %0 = " text "\n  return\n}\n"
#define ADD "stablehlo.add %a, %a {sdy.sharding = #sdy.sharding_per_value<["
  expect_valid(OPERATION(ADD "<@m, [{\"x\"}, {}]>]>} : tensor<8x8xf32>"));
  expect_error(OPERATION(ADD "<@m, [{\"z\"}, {}]>]>} : tensor<8x8xf32>"), DIAG_E0206_ATTRIBUTE_VALUE, 3);
  expect_error(OPERATION(ADD "<@m, [{\"x\"}, {}]>, <@m, [{\"x\"}, {}]>]>} : tensor<8x8xf32>"),
               DIAG_E0206_ATTRIBUTE_VALUE, 3);
  expect_error(OPERATION("sdy.sharding_constraint %a <@m, [{\"z\"}, {}]> : tensor<8x8xf32>"),
               DIAG_E0206_ATTRIBUTE_VALUE, 3);
  expect_error(OPERATION("sdy.reshard %a <@m, [{\"x\"}]> : tensor<8x8xf32>"), DIAG_E0206_ATTRIBUTE_VALUE, 3);
  expect_error(MESH "func.func @f(%a: tensor<8x8xf32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{\"z\"}, "
                    "{}]>}) {\n  return %a : tensor<8x8xf32>\n}\n",
               DIAG_E0206_ATTRIBUTE_VALUE, 2);
}

/* One manual computation on line 3. */
#define MANUAL(global, in, axes, local, body, returned)                                                                \
  MESH "func.func @f(%a: tensor<" global "xf32>) {\n"                                                                  \
       "  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [" in "]>] out_shardings=[<@m, [" in                      \
       "]>] manual_axes={" axes "} (%b: tensor<" local ">) {\n    %c = " body "\n    sdy.return " returned             \
       "\n  } : (tensor<" global "xf32>) -> tensor<" global "xf32>\n  return\n}\n"
#define NEGATE(local) "stablehlo.negate %b : tensor<" local ">"

static void test_manual_computations(void **state) {
  (void)state;
  expect_valid(MANUAL("8x8", "{\"x\"}, {}", "\"x\"", "4x8xf32", NEGATE("4x8xf32"), "%c : tensor<4x8xf32>"));
  expect_valid(/* a free axis behind the manual one */
               MANUAL("8x8", "{\"x\", \"y\"}, {}", "\"x\"", "4x8xf32", NEGATE("4x8xf32"), "%c : tensor<4x8xf32>"));
  static const char *const wrong[] = {
      MANUAL("8x8", "{\"x\"}, {}", "\"x\"", "8x8xf32", NEGATE("8x8xf32"), "%c : tensor<8x8xf32>"),
      MANUAL("8x8", "{\"x\"}, {}", "\"x\"", "4x8xf64", "stablehlo.convert %b : (tensor<4x8xf64>) -> tensor<4x8xf32>",
             "%c : tensor<4x8xf32>"),
      MANUAL("8x8", "{\"y\", \"x\"}, {}", "\"x\"", "4x8xf32", NEGATE("4x8xf32"), "%c : tensor<4x8xf32>"),
      MANUAL("9x8", "{\"y\"}, {}", "\"y\"", "2x8xf32", NEGATE("2x8xf32"), "%c : tensor<2x8xf32>"),
      MANUAL("8x8", "{\"x\"}, {}", "\"z\"", "4x8xf32", NEGATE("4x8xf32"), "%c : tensor<4x8xf32>"),
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    expect_error(wrong[i], DIAG_E0206_ATTRIBUTE_VALUE, 3);
  }
  expect_error(
      MANUAL("8x8", "{\"x\"}, {}", "\"x\"", "4x8xf32", NEGATE("4x8xf32"), "%c, %c : tensor<4x8xf32>, tensor<4x8xf32>"),
      DIAG_E0211_REGION, 3);
}

static void test_passed_regions(void **state) {
  (void)state;
#define FUSION(argument, returned, results)                                                                            \
  "func.func @f(%x: tensor<2xf32>) {\n  %0:" results " = \"mhlo.fusion\"(%x) ({\n  ^bb0(%a: " argument                 \
  "):\n    \"mhlo.return\"" returned " -> ()\n  }) : (tensor<2xf32>) -> "
  expect_valid(FUSION("tensor<2xf32>", "(%a) : (tensor<2xf32>)", "1") "tensor<2xf32>\n  return\n}\n");
  expect_error(FUSION("tensor<2xf32>", "(%a) : (tensor<2xf32>)", "2") "(tensor<2xf32>, tensor<2xf32>)\n  return\n}\n",
               DIAG_E0211_REGION, 2);
  expect_error(FUSION("tensor<2xf32>", "(%a) : (tensor<2xf32>)", "1") "tensor<3xf32>\n  return\n}\n",
               DIAG_E0205_RESULT_TYPE, 2);
  expect_error(FUSION("tensor<3xf32>", "(%a) : (tensor<3xf32>)", "1") "tensor<3xf32>\n  return\n}\n", DIAG_E0211_REGION,
               2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_meshes),         cmocka_unit_test(test_axes),
      cmocka_unit_test(test_places),         cmocka_unit_test(test_manual_computations),
      cmocka_unit_test(test_passed_regions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
