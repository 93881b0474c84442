/* Shape and type inference: what is refused and where, and how dynamic dimensions become static. */
#include "analyze_fixture.h"

#include <stdio.h>
#include <stdlib.h>

/* Type of the first result of the first op of that name, as text. */
static void expect_type(const struct program *program, const char *op, const char *type) {
  struct strbuf text = {0};
  struct ir_value value = ir_op_result(program->module, program_op(program, op), 0);
  mlir_print_type(program->module, ir_value_type(program->module, value), &text);
  assert_string_equal(strbuf_text(&text), type);
  strbuf_release(&text);
}

static void infer(struct program *program, const char *text) {
  program_parse(program, text);
  assert_int_equal(analyze_infer(program->module, &program->diags), STATUS_OK);
}

/* One op in a function with no arguments needed: each text has the op on line 2. */
static void test_counts_and_attributes(void **state) {
  (void)state;
  expect_error("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
               "  %0 = \"stablehlo.add\"(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
               "  return %0 : tensor<2xf32>\n}\n",
               DIAG_E0201_OPERAND_COUNT, 2);
  expect_error("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
               "  %0:2 = \"stablehlo.add\"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)\n"
               "  return %0#0 : tensor<2xf32>\n}\n",
               DIAG_E0202_RESULT_COUNT, 2);
  expect_error("func.func @main(%x: tensor<2xf32>, %i: tensor<f32>) -> tensor<f32> {\n"
               "  %0 = \"stablehlo.reduce\"(%x, %i) <{dimensions = array<i64: 0>}> : (tensor<2xf32>, tensor<f32>) -> "
               "tensor<f32>\n"
               "  return %0 : tensor<f32>\n}\n",
               DIAG_E0203_REGION_COUNT, 2);
  expect_error("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
               "  %0 = \"stablehlo.transpose\"(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
               "  return %0 : tensor<2xf32>\n}\n",
               DIAG_E0206_ATTRIBUTE_VALUE, 2);
}

static void test_message_names_both_types(void **state) {
  (void)state;
  struct program program;
  program_parse(&program, "func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x5xf32>) -> tensor<2x4xf32> {\n"
                          "  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, "
                          "tensor<3x5xf32>) -> tensor<2x4xf32>\n"
                          "  return %0 : tensor<2x4xf32>\n}\n");
  assert_int_equal(analyze_infer(program.module, &program.diags), STATUS_INPUT);
  assert_int_equal(program.diags.entries.count, 1);
  const struct diag *diag = &program.diags.entries.data[0];
  assert_int_equal(diag->id, DIAG_E0205_RESULT_TYPE);
  assert_int_equal(diag->line, 2);
  assert_string_equal(diag->message, "'stablehlo.dot_general': result 0 is stated as 'tensor<2x4xf32>' but inferred as "
                                     "'tensor<2x5xf32>' (C12)");
  program_release(&program);
}

/* MLIR: the entry block has as many arguments as the function has inputs, of the same types. */
static void test_arguments_fit_the_type(void **state) {
  (void)state;
  expect_error("func.func @main(tensor<2xf32>) {\n  return\n}\n", DIAG_E0211_REGION, 1);
  expect_error("func.func @main(tensor<2xf32>) {\n^bb0(%x: tensor<3xf32>):\n  return\n}\n", DIAG_E0211_REGION, 1);
  expect_error("\"func.func\"() <{function_type = (tensor<2xf32>, tensor<2xi8>) -> (), sym_name = \"main\"}> ({\n"
               "^bb0(%x: tensor<2xf32>, %y: tensor<2xui8>):\n  \"func.return\"() : () -> ()\n}) : () -> ()\n",
               DIAG_E0211_REGION, 1);
  expect_valid("func.func @main(tensor<2xf32>) {\n^bb0(%x: tensor<2xf32>):\n  return\n}\n");
}

static void test_goes_on_after_errors(void **state) {
  (void)state;
  struct program program;
  program_parse(
      &program,
      "func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {\n"
      "  %0 = \"stablehlo.negate\"(%x) : (tensor<2xf32>) -> tensor<3xf32>\n"
      "  %1 = \"stablehlo.slice\"(%0) <{start_indices = array<i64: 2>, limit_indices = array<i64: 9>, strides "
      "= array<i64: 1>}> : (tensor<3xf32>) -> tensor<7xf32>\n"
      "  return %0 : tensor<3xf32>\n}\n");
  assert_int_equal(analyze_infer(program.module, &program.diags), STATUS_INPUT);
  assert_int_equal(program.diags.entries.count, 2);
  assert_int_equal(program.diags.entries.data[0].line, 2);
  assert_int_equal(program.diags.entries.data[1].line, 3);
  program_release(&program);
}

struct shape_case {
  const char *operands; /* arguments of @main and the op's operand types */
  const char *op; /* op with its operands, without type */
  const char *types; /* operand types */
  const char *result; /* result type that the specification gives */
  const char *wrong; /* a result type that must be refused */
};

/* Result types worked out from the specification by hand. */
static const struct shape_case shape_cases[] = {
    {"%x: tensor<4x3xf32>",
     "\"stablehlo.pad\"(%x, %v) <{edge_padding_low = array<i64: 1, -1>, edge_padding_high = array<i64: 2, 0>, "
     "interior_padding = array<i64: 2, 0>}>",
     "tensor<4x3xf32>, tensor<f32>", "tensor<13x2xf32>", "tensor<12x2xf32>"}, /* 4 + 3*2 + 1 + 2 = 13; 3 - 1 */
    {"%x: tensor<10x3xf32>",
     "\"stablehlo.slice\"(%x) <{start_indices = array<i64: 1, 0>, limit_indices = array<i64: 9, 3>, "
     "strides = array<i64: 3, 2>}>",
     "tensor<10x3xf32>", "tensor<3x2xf32>", "tensor<2x2xf32>"}, /* ceil(8/3), ceil(3/2) */
    {"%x: tensor<2x3x5xf32>", "\"stablehlo.transpose\"(%x) <{permutation = array<i64: 2, 0, 1>}>", "tensor<2x3x5xf32>",
     "tensor<5x2x3xf32>", "tensor<2x3x5xf32>"},
    {"%x: tensor<2x3xf32>", "\"stablehlo.concatenate\"(%x, %x, %x) <{dimension = 1 : i64}>",
     "tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>", "tensor<2x9xf32>", "tensor<6x3xf32>"},
    {"%x: tensor<2x3xf32>", "\"stablehlo.reshape\"(%x)", "tensor<2x3xf32>", "tensor<6xf32>", "tensor<7xf32>"},
    {"%x: tensor<3xf32>", "\"stablehlo.broadcast_in_dim\"(%x) <{broadcast_dimensions = array<i64: 1>}>",
     "tensor<3xf32>", "tensor<2x3xf32>", "tensor<3x2xf32>"},
    {"%x: tensor<3xf32>", "\"stablehlo.broadcast\"(%x) <{broadcast_sizes = array<i64: 4, 2>}>", "tensor<3xf32>",
     "tensor<4x2x3xf32>", "tensor<3x4x2xf32>"},
    {"%x: tensor<6x4xui8>", "\"stablehlo.bitcast_convert\"(%x)", "tensor<6x4xui8>", "tensor<6xf32>", "tensor<6x1xf32>"},
    {"%x: tensor<6xf64>", "\"stablehlo.bitcast_convert\"(%x)", "tensor<6xf64>", "tensor<6x4xi16>", "tensor<6x2xi16>"},
    {"%x: tensor<5x8xf32>",
     "\"stablehlo.fft\"(%x) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>}>", "tensor<5x8xf32>",
     "tensor<5x5xcomplex<f32>>", "tensor<5x4xcomplex<f32>>"},
    {"%x: tensor<2x3x7xf32>", "\"stablehlo.einsum\"(%x, %y) <{einsum_config = \"bij,jk->bik\"}>",
     "tensor<2x3x7xf32>, tensor<7x4xf32>", "tensor<2x3x4xf32>", "tensor<2x4x3xf32>"},
    /* depthwise: input 8, pad 1+1, stride 2, kernel 3 -> (10 - 3)/2 + 1 = 4 */
    {"%x: tensor<2x8x6xf32>",
     "\"stablehlo.convolution\"(%x, %k) <{dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, "
     "f]>, feature_group_count = 6 : i64, batch_group_count = 1 : i64, window_strides = array<i64: 2>, "
     "padding = dense<1> : tensor<1x2xi64>}>",
     "tensor<2x8x6xf32>, tensor<3x1x12xf32>", "tensor<2x4x12xf32>", "tensor<2x5x12xf32>"},
    {"%x: tensor<7x3x9xf32>",
     "\"stablehlo.gather\"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], "
     "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: "
     "1, 3, 4>}>",
     "tensor<7x3x9xf32>, tensor<5x1xi32>", "tensor<5x3x4xf32>", "tensor<5x3x9xf32>"},
    {"%x: tensor<4x6xf32>",
     "\"stablehlo.all_to_all\"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : "
     "i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>",
     "tensor<4x6xf32>", "tensor<8x3xf32>", "tensor<4x3xf32>"},
    {"%x: tensor<4x6xf32>",
     "\"stablehlo.all_gather\"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : "
     "tensor<1x2xi64>}>",
     "tensor<4x6xf32>", "tensor<4x12xf32>", "tensor<4x13xf32>"},
};

static void check_shape_case(const struct shape_case *shape, const char *result, bool is_valid) {
  char text[2048];
  snprintf(text, sizeof text,
           "func.func @main(%s, %%v: tensor<f32>, %%y: tensor<7x4xf32>, %%k: tensor<3x1x12xf32>, %%i: tensor<5x1xi32>) "
           "-> %s {\n"
           "  %%0 = %s : (%s) -> %s\n"
           "  return %%0 : %s\n}\n",
           shape->operands, result, shape->op, shape->types, result, result);
  if (is_valid) {
    expect_valid(text);
  } else {
    expect_error(text, DIAG_E0205_RESULT_TYPE, 2);
  }
}

static void test_shapes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shape_cases / sizeof shape_cases[0]; i++) {
    check_shape_case(&shape_cases[i], shape_cases[i].result, true);
    check_shape_case(&shape_cases[i], shape_cases[i].wrong, false);
  }
}

/* An op's own computed shape replaces '?' in its result. */
static void test_unknown_result_is_refined(void **state) {
  (void)state;
  struct program program;
  infer(&program,
        "func.func @main(%x: tensor<2x3xf32>) -> tensor<?x?xf32> {\n"
        "  %0 = \"stablehlo.transpose\"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<?x?xf32>\n"
        "  return %0 : tensor<?x?xf32>\n}\n");
  expect_type(&program, "stablehlo.transpose", "tensor<3x2xf32>");
  expect_type(&program, "stablehlo.transpose", "tensor<3x2xf32>");
  program_release(&program);
}

/* Shape arithmetic: 2 * dim 1 of a 4x6 operand is 12, joined with the constant 2. */
static void test_shape_arithmetic(void **state) {
  (void)state;
  struct program program;
  infer(&program, "func.func @main(%x: tensor<4x6xf32>) -> tensor<?x?xf32> {\n"
                  "  %d = stablehlo.get_dimension_size %x, dim = 1 : (tensor<4x6xf32>) -> tensor<i32>\n"
                  "  %two = stablehlo.constant dense<2> : tensor<i32>\n"
                  "  %m = stablehlo.multiply %d, %two : tensor<i32>\n"
                  "  %a = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>\n"
                  "  %b = stablehlo.reshape %two : (tensor<i32>) -> tensor<1xi32>\n"
                  "  %s = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
                  "  %0 = stablehlo.dynamic_reshape %x, %s : (tensor<4x6xf32>, tensor<2xi32>) -> tensor<?x?xf32>\n"
                  "  return %0 : tensor<?x?xf32>\n}\n");
  expect_type(&program, "stablehlo.dynamic_reshape", "tensor<12x2xf32>");
  program_release(&program);
}

/* Shapes and constants travel into a callee, its result type back, and the signature of the caller follows. */
static void test_refinement_through_calls(void **state) {
  (void)state;
  struct program program;
  infer(&program, "module {\n"
                  "  func.func @main(%x: tensor<4x6xf32>) -> tensor<?x?xf32> {\n"
                  "    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<4x6xf32>) -> tensor<i32>\n"
                  "    %c = stablehlo.convert %x : (tensor<4x6xf32>) -> tensor<?x6xf32>\n"
                  "    %0 = call @f(%n, %c) : (tensor<i32>, tensor<?x6xf32>) -> tensor<?x?xf32>\n"
                  "    return %0 : tensor<?x?xf32>\n"
                  "  }\n"
                  "  func.func private @f(%n: tensor<i32>, %x: tensor<?x6xf32>) -> tensor<?x?xf32> {\n"
                  "    %a = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
                  "    %s = stablehlo.concatenate %a, %a, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
                  "    %v = stablehlo.constant dense<1.0> : tensor<f32>\n"
                  "    %b = stablehlo.dynamic_broadcast_in_dim %v, %s, dims = [] : (tensor<f32>, tensor<2xi32>) -> "
                  "tensor<?x?xf32>\n"
                  "    %0 = stablehlo.dot %b, %x : (tensor<?x?xf32>, tensor<?x6xf32>) -> tensor<?x?xf32>\n"
                  "    return %0 : tensor<?x?xf32>\n"
                  "  }\n"
                  "}\n");
  expect_type(&program, "stablehlo.dynamic_broadcast_in_dim", "tensor<4x4xf32>");
  expect_type(&program, "stablehlo.dot", "tensor<4x6xf32>");
  expect_type(&program, "func.call", "tensor<4x6xf32>");
  struct ir_type type = ir_function_type(program.module, ir_function_entry(program.module));
  struct strbuf text = {0};
  mlir_print_type(program.module, type, &text);
  assert_string_equal(strbuf_text(&text), "(tensor<4x6xf32>) -> tensor<4x6xf32>");
  strbuf_release(&text);
  program_release(&program);
}

/* A carried value keeps its shape: the loop becomes static. One that grows stays dynamic, without an error. */
static void test_loops(void **state) {
  (void)state;
  struct program program;
  infer(&program, "func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<?xf32> {\n"
                  "  %c = stablehlo.convert %x : (tensor<4xf32>) -> tensor<?xf32>\n"
                  "  %0:2 = stablehlo.while(%i = %n, %a = %c) : tensor<i32>, tensor<?xf32>\n"
                  "  cond {\n"
                  "    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                  "    stablehlo.return %1 : tensor<i1>\n"
                  "  } do {\n"
                  "    %1 = stablehlo.exponential %a : tensor<?xf32>\n"
                  "    stablehlo.return %i, %1 : tensor<i32>, tensor<?xf32>\n"
                  "  }\n"
                  "  return %0#1 : tensor<?xf32>\n}\n");
  expect_type(&program, "stablehlo.exponential", "tensor<4xf32>");
  program_release(&program);
  infer(&program, "func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<?xf32> {\n"
                  "  %c = \"stablehlo.convert\"(%x) : (tensor<4xf32>) -> tensor<?xf32>\n"
                  "  %0:2 = stablehlo.while(%i = %n, %a = %c) : tensor<i32>, tensor<?xf32>\n"
                  "  cond {\n"
                  "    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                  "    stablehlo.return %1 : tensor<i1>\n"
                  "  } do {\n"
                  "    %1 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
                  "    stablehlo.return %i, %1 : tensor<i32>, tensor<?xf32>\n"
                  "  }\n"
                  "  return %0#1 : tensor<?xf32>\n}\n");
  expect_type(&program, "stablehlo.concatenate", "tensor<?xf32>");
  program_release(&program);
}

/* JAX passes sizes as arguments beside the tensors; binding the tensors settles them. */
static void test_dimension_variable(void **state) {
  (void)state;
  struct program program;
  infer(&program, "func.func @main(%n: tensor<i64>, %x: tensor<8x4xf32>) -> tensor<?x4xf32> {\n"
                  "  %c = stablehlo.convert %n : (tensor<i64>) -> tensor<i32>\n"
                  "  %a = stablehlo.reshape %c : (tensor<i32>) -> tensor<1xi32>\n"
                  "  %four = stablehlo.constant dense<4> : tensor<1xi32>\n"
                  "  %s = stablehlo.concatenate %a, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
                  "  %one = stablehlo.constant dense<1.0> : tensor<f32>\n"
                  "  %b = stablehlo.dynamic_broadcast_in_dim %one, %s, dims = [] : (tensor<f32>, tensor<2xi32>) -> "
                  "tensor<?x4xf32>\n"
                  "  %0 = stablehlo.add %b, %x : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>\n"
                  "  %r = stablehlo.reshape %c : (tensor<i32>) -> tensor<1xi32>\n"
                  "  %i = stablehlo.dynamic_iota %r, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n"
                  "  return %0 : tensor<?x4xf32>\n}\n");
  expect_type(&program, "stablehlo.dynamic_broadcast_in_dim", "tensor<8x4xf32>");
  expect_type(&program, "stablehlo.dynamic_iota", "tensor<8xf32>");
  program_release(&program);
}

/* Unknown operations and dialects pass. */
static void test_unknown_ops_pass(void **state) {
  (void)state;
  expect_valid("func.func @main(%x: tensor<2xf32>) -> tensor<7xf32> {\n"
               "  %0 = \"foo.bar\"(%x) : (tensor<2xf32>) -> tensor<7xf32>\n"
               "  return %0 : tensor<7xf32>\n}\n");
}

static void test_regions(void **state) {
  (void)state;
  expect_error("func.func @main(%x: tensor<4xf32>, %i: tensor<f32>) -> tensor<f32> {\n"
               "  %0 = \"stablehlo.reduce\"(%x, %i) <{dimensions = array<i64: 0>}> ({\n"
               "  ^bb0(%a: tensor<f32>):\n"
               "    stablehlo.return %a : tensor<f32>\n"
               "  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>\n"
               "  return %0 : tensor<f32>\n}\n",
               DIAG_E0211_REGION, 2);
  expect_error("func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {\n"
               "  %0 = \"stablehlo.if\"(%p) ({\n"
               "    stablehlo.return %x : tensor<4xf32>\n"
               "  }, {\n"
               "    stablehlo.return %x, %x : tensor<4xf32>, tensor<4xf32>\n"
               "  }) : (tensor<i1>) -> tensor<4xf32>\n"
               "  return %0 : tensor<4xf32>\n}\n",
               DIAG_E0211_REGION, 2);
  expect_error("func.func @main(%x: tensor<4xf32>) -> tensor<3xf32> {\n"
               "  return %x : tensor<4xf32>\n}\n",
               DIAG_E0205_RESULT_TYPE, 2);
}

/* Huge dimensions: sums and products that leave 64 bits are unknown, not wrong. */
static void test_overflow(void **state) {
  (void)state;
  expect_valid("func.func @main(%x: tensor<4611686018427387904xi8>) -> tensor<?xi8> {\n"
               "  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4611686018427387904xi8>, "
               "tensor<4611686018427387904xi8>) -> tensor<?xi8>\n"
               "  return %0 : tensor<?xi8>\n}\n");
  struct program program;
  infer(&program,
        "func.func @main(%x: tensor<4294967296x4294967296xf32>, %y: tensor<4294967296x4294967296xf32>) -> "
        "tensor<4294967296x4294967296xf32> {\n"
        "  %0 = stablehlo.dot %x, %y : (tensor<4294967296x4294967296xf32>, tensor<4294967296x4294967296xf32>) -> "
        "tensor<4294967296x4294967296xf32>\n"
        "  return %0 : tensor<4294967296x4294967296xf32>\n}\n");
  struct analyze_xla_cost cost;
  assert_int_equal(analyze_xla_op(program.module, program_op(&program, "stablehlo.dot"), NULL, &cost), STATUS_OK);
  assert_true(cost.flops == INT64_MAX);
  assert_true(cost.bytes_accessed == INT64_MAX);
  program_release(&program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counts_and_attributes),
      cmocka_unit_test(test_message_names_both_types),
      cmocka_unit_test(test_arguments_fit_the_type),
      cmocka_unit_test(test_goes_on_after_errors),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_unknown_result_is_refined),
      cmocka_unit_test(test_shape_arithmetic),
      cmocka_unit_test(test_refinement_through_calls),
      cmocka_unit_test(test_loops),
      cmocka_unit_test(test_dimension_variable),
      cmocka_unit_test(test_unknown_ops_pass),
      cmocka_unit_test(test_regions),
      cmocka_unit_test(test_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
