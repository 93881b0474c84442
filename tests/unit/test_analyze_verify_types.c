/* Buffers, element types, bounded dimensions, chlo and single attribute values: each program breaks one rule or is its valid
 * neighbour. Programs have a function of %-arguments on line 1 and the operation on line 2. */
#include "analyze_fixture.h"

#include <stdio.h>

#define MAX_TEXT 2048

/* func(arguments) { line 2 and what follows }. */
static const char *function(char *text, const char *arguments, const char *body) {
  snprintf(text, MAX_TEXT, "func.func @main(%s) {\n%s\n  return\n}\n", arguments, body);
  return text;
}

static void refuse(const char *arguments, const char *body, enum diag_id id) {
  char text[MAX_TEXT];
  expect_error(function(text, arguments, body), id, 2);
}

static void accept(const char *arguments, const char *body) {
  char text[MAX_TEXT];
  expect_valid(function(text, arguments, body));
}

/* ---- buffers ---- */

static void test_buffers_of_operations(void **state) {
  (void)state;
  refuse("%x: memref<4xf32>", "  %0 = \"stablehlo.negate\"(%x) : (memref<4xf32>) -> memref<4xf32>",
         DIAG_E0204_OPERAND_TYPE);
  refuse(
      "%x: tensor<i32>, %y: memref<4xf32>",
      "  %0 = \"stablehlo.case\"(%x) ({\n    \"stablehlo.return\"(%y) : (memref<4xf32>) -> ()\n  }) : (tensor<i32>) -> "
      "memref<4xf32>",
      DIAG_E0205_RESULT_TYPE);
  accept("%x: memref<4xf32>", "  %0 = \"stablehlo.tuple\"(%x) : (memref<4xf32>) -> tuple<memref<4xf32>>");
}

#define CALL(target, aliases, types)                                                                                   \
  "  %0 = \"stablehlo.custom_call\"(%x) {call_target_name = \"" target "\", api_version = 4 : i32" aliases "} "        \
  ": " types
#define ALIAS(output, operand)                                                                                         \
  "#stablehlo.output_operand_alias<output_tuple_indices = [" output                                                    \
  "], operand_index = 0, operand_tuple_indices = [" operand "]>"

static void test_buffer_targets(void **state) {
  (void)state;
  accept("%x: tensor<4xf32>", CALL("Pin", "", "(tensor<4xf32>) -> memref<4xf32>"));
  accept("%x: memref<4xf32>", CALL("Unpin", "", "(memref<4xf32>) -> tensor<4xf32>"));
  accept("%x: tensor<4xf32>",
         "  %0 = \"stablehlo.custom_call\"() {call_target_name = \"CreateBuffer\", api_version = 4 "
         ": i32} : () -> memref<8xf32>");
  refuse("%x: tensor<4xf32>", CALL("CreateBuffer", "", "(tensor<4xf32>) -> memref<4xf32>"), DIAG_E0201_OPERAND_COUNT);
  refuse("%x: memref<4xf32>", CALL("Pin", "", "(memref<4xf32>) -> memref<4xf32>"), DIAG_E0204_OPERAND_TYPE);
  refuse("%x: memref<4xf32>", CALL("Unpin", "", "(memref<4xf32>) -> memref<4xf32>"), DIAG_E0204_OPERAND_TYPE);
  refuse("%x: tensor<4xf32>", CALL("Pin", "", "(tensor<4xf32>) -> memref<5xf32>"), DIAG_E0205_RESULT_TYPE);
  refuse("%x: tensor<4xf32>", CALL("Pin", "", "(tensor<4xf32>) -> memref<4xf16>"), DIAG_E0205_RESULT_TYPE);
}

static void test_buffer_aliases(void **state) {
  (void)state;
  static const char two[] = "%x: tuple<memref<4xf32>, memref<4xf32>>";
#define TWO "(tuple<memref<4xf32>, memref<4xf32>>) -> tuple<memref<4xf32>, memref<4xf32>>"
  accept(two, CALL("f", ", output_operand_aliases = [" ALIAS("0", "1") ", " ALIAS("1", "0") "]", TWO)); /* crossed */
  refuse(two, CALL("f", ", output_operand_aliases = [" ALIAS("0", "1") ", " ALIAS("1", "1") "]", TWO),
         DIAG_E0206_ATTRIBUTE_VALUE); /* an operand twice */
  refuse(two, CALL("f", ", output_operand_aliases = [" ALIAS("1", "0") ", " ALIAS("1", "1") "]", TWO),
         DIAG_E0206_ATTRIBUTE_VALUE); /* a result twice, another never */
  refuse(two, CALL("f", ", output_operand_aliases = [" ALIAS("0", "0") "]", TWO), DIAG_E0206_ATTRIBUTE_VALUE);
  accept(two, CALL("f", "", "(tuple<memref<4xf32>, memref<4xf32>>) -> tensor<4xf32>")); /* only read */
#undef TWO
}

/* ---- elements ---- */

static void test_elements(void **state) {
  (void)state;
  refuse("%x: tensor<3xi17>", "  %0 = \"stablehlo.negate\"(%x) : (tensor<3xi17>) -> tensor<3xi17>",
         DIAG_E0204_OPERAND_TYPE);
  refuse("%x: tensor<3xf32>", "  %0 = \"stablehlo.convert\"(%x) : (tensor<3xf32>) -> tensor<3xi128>",
         DIAG_E0205_RESULT_TYPE);
  refuse("%x: tensor<3x!quant.uniform<si16:f32, 0.5>>",
         "  %0 = \"stablehlo.uniform_dequantize\"(%x) : (tensor<3x!quant.uniform<si16:f32, 0.5>>) -> tensor<3xf32>",
         DIAG_E0204_OPERAND_TYPE);
  accept("%x: tensor<3x!quant.uniform<i16:f32, 0.5>>",
         "  %0 = \"stablehlo.uniform_dequantize\"(%x) : (tensor<3x!quant.uniform<i16:f32, 0.5>>) -> tensor<3xf32>");
}

/* ---- bounds ---- */

#define B(n) "tensor<?xf32, #stablehlo.bounds<" #n ">>"

static void test_bounds_of_elementwise(void **state) {
  (void)state;
  refuse("%x: " B(6), "  %0 = \"stablehlo.negate\"(%x) : (" B(6) ") -> tensor<7xf32>", DIAG_E0205_RESULT_TYPE);
  accept("%x: " B(6), "  %0 = \"stablehlo.negate\"(%x) : (" B(6) ") -> tensor<6xf32>");
  refuse("%x: " B(6) ", %y: tensor<9xf32>",
         "  %0 = \"stablehlo.add\"(%x, %y) : (" B(6) ", tensor<9xf32>) -> tensor<?xf32>", DIAG_E0205_RESULT_TYPE);
  accept("%x: " B(6) ", %y: " B(9), "  %0 = \"stablehlo.add\"(%x, %y) : (" B(6) ", " B(9) ") -> " B(6));
}

static void test_bounds_of_data_movement(void **state) {
  (void)state;
#define SLICE(limit)                                                                                                   \
  "  %0 = \"stablehlo.slice\"(%x) {start_indices = array<i64: 0>, limit_indices = array<i64: " limit                   \
  ">, strides = array<i64: 1>} : (" B(6) ") -> tensor<" limit "xf32>"
  refuse("%x: " B(6), SLICE("7"), DIAG_E0206_ATTRIBUTE_VALUE);
  accept("%x: " B(6), SLICE("6"));
#undef SLICE
#define PAD(low)                                                                                                       \
  "  %0 = \"stablehlo.pad\"(%x, %v) {edge_padding_low = array<i64: " low                                               \
  ">, edge_padding_high = array<i64: -2>, interior_padding = array<i64: 1>} : (" B(                                    \
      6) ", tensor<f32>) -> tensor<?xf32>"
  accept("%x: " B(6) ", %v: tensor<f32>", PAD("-9")); /* 6 + 5 gaps - 9 - 2 = 0 */
  refuse("%x: " B(6) ", %v: tensor<f32>", PAD("-10"), DIAG_E0206_ATTRIBUTE_VALUE);
#undef PAD
}

static void test_one_bounded_result_dimension(void **state) {
  (void)state;
#define BROADCAST(type)                                                                                                \
  "  %0 = \"stablehlo.broadcast_in_dim\"(%x) {broadcast_dimensions = array<i64: 1>} : (tensor<4xf32>) -> " type
  accept("%x: tensor<4xf32>", BROADCAST("tensor<?x4xf32, #stablehlo.bounds<8, ?>>"));
  refuse("%x: tensor<4xf32>", BROADCAST("tensor<?x4xf32>"), DIAG_E0205_RESULT_TYPE);
  refuse("%x: tensor<4xf32>", BROADCAST("tensor<?x?xf32, #stablehlo.bounds<8, 4>>"), DIAG_E0205_RESULT_TYPE);
#undef BROADCAST
  refuse("%x: tensor<12xf32>", "  %0 = \"stablehlo.reshape\"(%x) : (tensor<12xf32>) -> tensor<3x?xf32>",
         DIAG_E0205_RESULT_TYPE);
}

/* ---- chlo ---- */

static void test_broadcasting_elements(void **state) {
  (void)state;
  refuse("%p: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xf16>",
         "  %0 = \"chlo.broadcast_select\"(%p, %x, %y) : (tensor<i1>, tensor<3xf32>, tensor<3xf16>) -> tensor<3xf32>",
         DIAG_E0204_OPERAND_TYPE);
  refuse("%x: tensor<3x!quant.uniform<i8:f32, 0.5>>, %y: tensor<3x!quant.uniform<i16:f32, 0.5>>",
         "  %0 = \"chlo.broadcast_add\"(%x, %y) : (tensor<3x!quant.uniform<i8:f32, 0.5>>, "
         "tensor<3x!quant.uniform<i16:f32, 0.5>>) -> tensor<3x!quant.uniform<i8:f32, 0.5>>",
         DIAG_E0204_OPERAND_TYPE);
  accept("%x: tensor<3x!quant.uniform<i8:f32, 0.5>>, %y: tensor<3x!quant.uniform<i8:f32, 0.25>>",
         "  %0 = \"chlo.broadcast_add\"(%x, %y) : (tensor<3x!quant.uniform<i8:f32, 0.5>>, "
         "tensor<3x!quant.uniform<i8:f32, 0.25>>) -> tensor<3x!quant.uniform<i8:f32, 0.5>>"); /* scales may differ */
}

static void test_constant_like(void **state) {
  (void)state;
  refuse("%x: tensor<2xf32>", "  %0 = \"chlo.constant_like\"(%x) {value = 1 : i32} : (tensor<2xf32>) -> tensor<2xf32>",
         DIAG_E0206_ATTRIBUTE_VALUE);
  accept("%x: tensor<2xf32>",
         "  %0 = \"chlo.constant_like\"(%x) {value = 1.0 : f32} : (tensor<2xf32>) -> tensor<2xf32>");
}

/* Rows of 3 batches and 5 outer ones, ragged among 8, contracted over 4; 2 groups. */
#define RAGGED(sizes)                                                                                                  \
  "  %0 = \"chlo.ragged_dot\"(%x, %y, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = " \
  "[0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [2], "           \
  "lhs_ragged_dimensions = [2], rhs_group_dimensions = [0]>} : (tensor<3x5x8x4xf32>, tensor<2x3x4x6xf32>, "            \
  "tensor<" sizes "xi64>) -> tensor<3x5x8x6xf32>"
#define RAGGED_ARGUMENTS(sizes) "%x: tensor<3x5x8x4xf32>, %y: tensor<2x3x4x6xf32>, %g: tensor<" sizes "xi64>"

static void test_group_sizes(void **state) {
  (void)state;
  accept(RAGGED_ARGUMENTS("2"), RAGGED("2"));
  accept(RAGGED_ARGUMENTS("3x5x2"), RAGGED("3x5x2"));
  refuse(RAGGED_ARGUMENTS("3x2"), RAGGED("3x2"), DIAG_E0204_OPERAND_TYPE); /* the outer rows are missing */
  refuse(RAGGED_ARGUMENTS("3x8x2"), RAGGED("3x8x2"), DIAG_E0204_OPERAND_TYPE); /* the ragged one is not outside */
  refuse(RAGGED_ARGUMENTS("3"), RAGGED("3"), DIAG_E0204_OPERAND_TYPE); /* three sizes for two groups */
}

/* Ragged among contracted or batch dimensions: what stands before it in its list counts. */
static void test_group_sizes_of_shared_dimensions(void **state) {
  (void)state;
#define SHARED(lhs_batch, rhs_batch, ragged, sizes, result)                                                            \
  "  %0 = \"chlo.ragged_dot\"(%x, %y, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = " \
  "[" lhs_batch "], rhs_batching_dimensions = [" rhs_batch "], lhs_contracting_dimensions = [3], "                     \
  "rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [" ragged "], rhs_group_dimensions = []>} : "             \
  "(tensor<3x5x8x4xf32>, tensor<3x5x4x6xf32>, tensor<" sizes "xi64>) -> tensor<" result "xf32>"
  static const char *const format = "%%x: tensor<3x5x8x4xf32>, %%y: tensor<3x5x4x6xf32>, %%g: tensor<%sxi64>";
  char arguments[256];
  snprintf(arguments, sizeof arguments, format, "3x5x2");
  accept(arguments, SHARED("0, 1", "0, 1", "3", "3x5x2", "2x3x5x8x6")); /* contracted: all batches before it */
  refuse(arguments, SHARED("0, 1", "0, 1", "1", "3x5x2", "3x5x8x6"), DIAG_E0204_OPERAND_TYPE);
  snprintf(arguments, sizeof arguments, format, "3x2");
  accept(arguments,
         SHARED("0, 1", "0, 1", "1", "3x2", "3x5x8x6")); /* the second batch dimension: the first before it */
#undef SHARED
}

/* ---- attribute values ---- */

static void test_precision_words(void **state) {
  (void)state;
#define DOT(words)                                                                                                     \
  "  %0 = \"stablehlo.dot\"(%x, %y) {precision_config = [" words "]} : (tensor<2x3xf32>, tensor<3x2xf32>) -> "         \
  "tensor<2x2xf32>"
  static const char arguments[] = "%x: tensor<2x3xf32>, %y: tensor<3x2xf32>";
  accept(arguments, DOT("#stablehlo<precision HIGH>, #stablehlo<precision HIGHEST>"));
  refuse(arguments, DOT("\"HIGH\", #stablehlo<precision HIGHEST>"), DIAG_E0206_ATTRIBUTE_VALUE);
  refuse(arguments, DOT("#stablehlo<precision HIGHER>"), DIAG_E0206_ATTRIBUTE_VALUE);
#undef DOT
}

static void test_window_of_select_and_scatter(void **state) {
  (void)state;
#define SELECT(window)                                                                                                 \
  "  %0 = \"stablehlo.select_and_scatter\"(%x, %s, %v) ({\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"                \
  "    %1 = \"stablehlo.compare\"(%a, %b) {comparison_direction = #stablehlo<comparison_direction GE>} : "             \
  "(tensor<f32>, tensor<f32>) -> tensor<i1>\n    \"stablehlo.return\"(%1) : (tensor<i1>) -> ()\n  }, {\n"              \
  "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    %1 = stablehlo.add %a, %b : tensor<f32>\n"                           \
  "    \"stablehlo.return\"(%1) : (tensor<f32>) -> ()\n  }) {" window "window_strides = array<i64: 2>} : "             \
  "(tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>"
  static const char arguments[] = "%x: tensor<6xf32>, %s: tensor<3xf32>, %v: tensor<f32>";
  accept(arguments, SELECT("window_dimensions = array<i64: 2>, "));
  refuse(arguments, SELECT(""), DIAG_E0206_ATTRIBUTE_VALUE);
#undef SELECT
}

/* Line 4 is the brace of the attributes. */
static void test_place_of_group_counts(void **state) {
  (void)state;
  expect_error("func.func @f(%a: tensor<1x4x4x2xf32>, %b: tensor<1x1x2x2xf32>) {\n"
               "  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],\n"
               "    window = {stride = [1, 1]}\n"
               "    {\n"
               "      batch_group_count = 1 : i64, feature_group_count = -2 : i64\n"
               "    } : (tensor<1x4x4x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x4x4x2xf32>\n  return\n}\n",
               DIAG_E0206_ATTRIBUTE_VALUE, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_buffers_of_operations),
      cmocka_unit_test(test_buffer_targets),
      cmocka_unit_test(test_buffer_aliases),
      cmocka_unit_test(test_elements),
      cmocka_unit_test(test_bounds_of_elementwise),
      cmocka_unit_test(test_bounds_of_data_movement),
      cmocka_unit_test(test_one_bounded_result_dimension),
      cmocka_unit_test(test_broadcasting_elements),
      cmocka_unit_test(test_constant_like),
      cmocka_unit_test(test_group_sizes),
      cmocka_unit_test(test_group_sizes_of_shared_dimensions),
      cmocka_unit_test(test_precision_words),
      cmocka_unit_test(test_window_of_select_and_scatter),
      cmocka_unit_test(test_place_of_group_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
