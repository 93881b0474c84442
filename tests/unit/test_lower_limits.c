/* What inlining must not multiply: the constants of a function that is called often. */
#include "lower_fixture.h"

/* A function with a table of four f32 and the scalar 2.0 repeated; called twice in @main and once in a loop of three
 * iterations between the two calls. */
static const char program[] = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                              "  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
                              "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
                              "  %1:2 = stablehlo.while(%i = %zero, %y = %0) : tensor<i32>, tensor<4xf32>\n"
                              "  cond {\n"
                              "    %three = stablehlo.constant dense<3> : tensor<i32>\n"
                              "    %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                              "    stablehlo.return %c : tensor<i1>\n"
                              "  } do {\n"
                              "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
                              "    %n = stablehlo.add %i, %one : tensor<i32>\n"
                              "    %z = func.call @f(%y) : (tensor<4xf32>) -> tensor<4xf32>\n"
                              "    stablehlo.return %n, %z : tensor<i32>, tensor<4xf32>\n"
                              "  }\n"
                              "  %2 = call @f(%1#1) : (tensor<4xf32>) -> tensor<4xf32>\n"
                              "  return %2 : tensor<4xf32>\n"
                              "}\n"
                              "func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                              "  %table = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
                              "  %two = stablehlo.constant dense<2.0> : tensor<4xf32>\n"
                              "  %0 = stablehlo.multiply %x, %table : tensor<4xf32>\n"
                              "  %1 = stablehlo.multiply %0, %two : tensor<4xf32>\n"
                              "  return %1 : tensor<4xf32>\n"
                              "}\n";

/* Constants of 4 x f32 and of one f32 in one graph. */
static void count_constants(const struct work_graph *graph, unsigned *tables, unsigned *scalars) {
  *tables = *scalars = 0;
  for (size_t i = 0; i < graph->tensors.count; i++) {
    const struct work_tensor *tensor = &graph->tensors.data[i];
    bool is_constant = tensor->role == WORK_TENSOR_CONSTANT && tensor->dtype == DTYPE_F32;
    *tables += is_constant && tensor->size_bytes == 16;
    *scalars += is_constant && tensor->size_bytes == 4;
  }
}

static void a_function_has_its_constants_once_per_graph(void **state) {
  (void)state;
  struct lowered lowered;
  unsigned tables, scalars;
  lowered_from(&lowered, program);
  count_constants(lowered.graph, &tables, &scalars);
  assert_int_equal(tables, 1);
  assert_int_equal(scalars, 1);
  assert_int_equal(lowered.graph->subgraphs.count, 1);
  count_constants(lowered.graph->subgraphs.data[0], &tables, &scalars);
  assert_int_equal(tables, 1);
  assert_int_equal(scalars, 1);
  lowered_release(&lowered);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_function_has_its_constants_once_per_graph),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
