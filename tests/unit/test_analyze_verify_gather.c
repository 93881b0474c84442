/* Dimension numbers of gather and scatter: each program breaks one constraint, whose number in the specification stands in
 * the message, or is its valid neighbour. Messages are of line 2, where the operation begins. */
#include "analyze_fixture.h"

#include <stdio.h>

#define MAX_TEXT 1024

/* The program is refused with a message that holds `part`, at line 2. */
static void expect_constraint(const char *text, const char *part) {
  struct program program;
  program_parse(&program, text);
  assert_int_equal(analyze_infer(program.module, &program.diags), STATUS_INPUT);
  assert_true(program.diags.entries.count > 0);
  const struct diag *d = &program.diags.entries.data[0];
  if (strstr(d->message, part) == NULL || d->line != 2) {
    fail_msg("line %u: %s; expected '%s'", d->line, d->message, part);
  }
  program_release(&program);
}

/* operand 3x5x7x9, indices of `indices`, numbers without "index_vector_dim" */
static const char *gather(char *text, const char *indices, const char *numbers, const char *vector, const char *sizes,
                          const char *result) {
  snprintf(text, MAX_TEXT,
           "func.func @main(%%x: tensor<3x5x7x9xf32>, %%i: tensor<%sxi32>) -> tensor<%sxf32> {\n"
           "  %%0 = \"stablehlo.gather\"(%%x, %%i) {dimension_numbers = #stablehlo.gather<%s, index_vector_dim = %s>, "
           "slice_sizes = array<i64: %s>} : (tensor<3x5x7x9xf32>, tensor<%sxi32>) -> tensor<%sxf32>\n"
           "  return %%0 : tensor<%sxf32>\n}\n",
           indices, result, numbers, vector, sizes, indices, result, result);
  return text;
}

static void test_gather(void **state) {
  (void)state;
  char t[MAX_TEXT];
  /* two indices of 2 entries take slices of 7x9; result: 2 indices, then the slice */
  expect_valid(gather(t, "2x2", "offset_dims = [1, 2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1]", "1",
                      "1, 1, 7, 9", "2x7x9"));
  expect_constraint(gather(t, "2x2", "offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1]", "1",
                           "1, 1, 7, 9", "2x7x9"),
                    "(C1)");
  expect_constraint(gather(t, "2x2", "offset_dims = [1, 2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1]",
                           "3", "1, 1, 7, 9", "2x7x9"),
                    "(C2)");
  expect_constraint(gather(t, "2x2", "offset_dims = [1, 2], collapsed_slice_dims = [0, 1], start_index_map = [0]", "1",
                           "1, 1, 7, 9", "2x7x9"),
                    "(C3)");
  expect_constraint(gather(t, "2x2", "offset_dims = [2, 1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1]",
                           "1", "1, 1, 7, 9", "2x7x9"),
                    "ascending order: 2 stands before 1 (C4)");
  expect_constraint(gather(t, "2x2", "offset_dims = [1, 1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1]",
                           "1", "1, 1, 7, 9", "2x7x9"),
                    "dimension 1 twice (C4)");
  expect_constraint(gather(t, "2x2", "offset_dims = [1, 3], collapsed_slice_dims = [0, 1], start_index_map = [0, 1]",
                           "1", "1, 1, 7, 9", "2x7x9"),
                    "(C5)");
  expect_constraint(gather(t, "2x2", "offset_dims = [1, 2], collapsed_slice_dims = [1, 0], start_index_map = [0, 1]",
                           "1", "1, 1, 7, 9", "2x7x9"),
                    "'collapsed_slice_dims' is not in ascending order: 1 stands before 0 (C7)");
  expect_constraint(gather(t, "2x2", "offset_dims = [1, 2], collapsed_slice_dims = [0, 4], start_index_map = [0, 1]",
                           "1", "1, 1, 7, 9", "2x7x9"),
                    "(C8)");
  expect_constraint(gather(t, "2x2", "offset_dims = [1, 2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1]",
                           "1", "1, 2, 7, 9", "2x7x9"),
                    "(C9)");
  expect_constraint(gather(t, "2x2", "offset_dims = [1, 2], collapsed_slice_dims = [0, 1], start_index_map = [0, 4]",
                           "1", "1, 1, 7, 9", "2x7x9"),
                    "(C19)");
  expect_constraint(gather(t, "2x2", "offset_dims = [1, 2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1]",
                           "1", "1, 1, 8, 9", "2x7x9"),
                    "(C21)");
}

/* Batching dimensions 0 and 1 of the operand go with those of the indices (3x5, then vectors of 1). */
#define BATCHED(operand, indices, map)                                                                                 \
  "offset_dims = [2, 3], operand_batching_dims = [" operand "], start_indices_batching_dims = [" indices               \
  "], start_index_map = [" map "]"

static void test_gather_batching(void **state) {
  (void)state;
  char t[MAX_TEXT];
  expect_valid(gather(t, "3x5x1", BATCHED("0, 1", "0, 1", "2"), "2", "1, 1, 7, 9", "3x5x7x9"));
  expect_valid(gather(t, "5x3x1", BATCHED("0, 1", "1, 0", "2"), "2", "1, 1, 7, 9", "5x3x7x9")); /* needs no order */
  expect_constraint(gather(t, "3x5x1",
                           "offset_dims = [2, 3], collapsed_slice_dims = [1], operand_batching_dims = [0, 1], "
                           "start_indices_batching_dims = [0, 1], start_index_map = [2]",
                           "2", "1, 1, 7, 9", "3x5x7x9"),
                    "(C6)");
  expect_constraint(gather(t, "5x3x1", BATCHED("1, 0", "0, 1", "2"), "2", "1, 1, 7, 9", "5x3x7x9"), "(C10)");
  expect_constraint(gather(t, "3x5x1", BATCHED("0, 4", "0, 1", "2"), "2", "1, 1, 7, 9", "3x5x7x9"), "(C11)");
  expect_constraint(gather(t, "3x5x1", BATCHED("0, 1", "0, 1", "2"), "2", "1, 5, 7, 9", "3x5x7x9"), "(C12)");
  expect_constraint(gather(t, "3x3x1", BATCHED("0, 1", "0, 0", "2"), "2", "1, 1, 7, 9", "3x3x7x9"), "(C13)");
  expect_constraint(gather(t, "3x5x1", BATCHED("0, 1", "0, 3", "2"), "2", "1, 1, 7, 9", "3x5x7x9"), "(C14)");
  expect_constraint(gather(t, "3x5x1", BATCHED("0, 1", "0, 2", "2"), "2", "1, 1, 7, 9", "3x5x7x9"), "(C15)");
  expect_constraint(gather(t, "3x5x1", BATCHED("0, 1", "0", "2"), "2", "1, 1, 7, 9", "3x5x7x9"), "(C16)");
  expect_constraint(gather(t, "3x4x1", BATCHED("0, 1", "0, 1", "2"), "2", "1, 1, 7, 9", "3x4x7x9"), "(C17)");
  expect_constraint(gather(t, "3x5x1", BATCHED("0, 1", "0, 1", "1"), "2", "1, 1, 7, 9", "3x5x7x9"),
                    "dimension 1 is in 'start_index_map' and in 'operand_batching_dims' (C18)");
}

/* Into 4x6x8; updates of `updates`. */
static const char *scatter(char *text, const char *indices, const char *updates, const char *numbers,
                           const char *vector) {
  snprintf(text, MAX_TEXT,
           "func.func @main(%%x: tensor<4x6x8xf32>, %%i: tensor<%sxi32>, %%u: tensor<%sxf32>) -> tensor<4x6x8xf32> {\n"
           "  %%0 = \"stablehlo.scatter\"(%%x, %%i, %%u) ({\n"
           "  ^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
           "    stablehlo.return %%b : tensor<f32>\n"
           "  }) {scatter_dimension_numbers = #stablehlo.scatter<%s, index_vector_dim = %s>} : "
           "(tensor<4x6x8xf32>, tensor<%sxi32>, tensor<%sxf32>) -> tensor<4x6x8xf32>\n"
           "  return %%0 : tensor<4x6x8xf32>\n}\n",
           indices, updates, numbers, vector, indices, updates);
  return text;
}

static void test_scatter(void **state) {
  (void)state;
  char t[MAX_TEXT];
  expect_valid(scatter(t, "5x2", "5x8",
                       "update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]",
                       "1"));
  expect_constraint(scatter(t, "5x2", "5x8",
                            "update_window_dims = [1], inserted_window_dims = [0], "
                            "scatter_dims_to_operand_dims = [0, 1]",
                            "1"),
                    "(C2)");
  expect_constraint(scatter(t, "5x1", "5x6x8",
                            "update_window_dims = [2, 1], inserted_window_dims = [0], "
                            "scatter_dims_to_operand_dims = [0]",
                            "1"),
                    "'update_window_dims' is not in ascending order: 2 stands before 1 (C7)");
  expect_constraint(scatter(t, "5x1", "5x6x8",
                            "update_window_dims = [1, 3], inserted_window_dims = [0], "
                            "scatter_dims_to_operand_dims = [0]",
                            "1"),
                    "(C8)");
  expect_constraint(scatter(t, "5x2", "5x8",
                            "update_window_dims = [1], inserted_window_dims = [1, 0], "
                            "scatter_dims_to_operand_dims = [0, 1]",
                            "1"),
                    "(C10)");
  expect_constraint(scatter(t, "5x2", "5x8",
                            "update_window_dims = [1], inserted_window_dims = [0, 1], "
                            "scatter_dims_to_operand_dims = [0, 0]",
                            "1"),
                    "(C20)");
  expect_constraint(scatter(t, "5x2", "5x8",
                            "update_window_dims = [1], inserted_window_dims = [0, 1], "
                            "scatter_dims_to_operand_dims = [0, 3]",
                            "1"),
                    "(C21)");
  expect_constraint(scatter(t, "5x2", "5x8",
                            "update_window_dims = [1], inserted_window_dims = [0, 1], "
                            "scatter_dims_to_operand_dims = [0, 1]",
                            "5"),
                    "(C22)");
}

static void test_scatter_batching(void **state) {
  (void)state;
  char t[MAX_TEXT];
#define BATCHED_SCATTER(input, indices, map)                                                                           \
  "update_window_dims = [2], input_batching_dims = [" input "], scatter_indices_batching_dims = [" indices             \
  "], scatter_dims_to_operand_dims = [" map "]"
  expect_valid(scatter(t, "4x6x1", "4x6x8", BATCHED_SCATTER("0, 1", "0, 1", "2"), "2"));
  expect_constraint(scatter(t, "6x4x1", "6x4x8", BATCHED_SCATTER("1, 0", "0, 1", "2"), "2"), "(C12)");
  expect_constraint(scatter(t, "4x4x1", "4x4x8", BATCHED_SCATTER("0, 1", "0, 0", "2"), "2"), "(C14)");
  expect_constraint(scatter(t, "4x6x1", "4x6x8", BATCHED_SCATTER("0, 1", "0, 2", "2"), "2"), "(C16)");
  expect_constraint(scatter(t, "4x6x1", "4x6x8", BATCHED_SCATTER("0, 1", "1", "2"), "2"), "(C17)");
  expect_constraint(scatter(t, "4x5x1", "4x5x8", BATCHED_SCATTER("0, 1", "0, 1", "2"), "2"), "(C18)");
  expect_constraint(scatter(t, "4x6x1", "4x6x8", BATCHED_SCATTER("0, 1", "0, 1", "0"), "2"),
                    "dimension 0 is in 'scatter_dims_to_operand_dims' and in 'input_batching_dims' (C20)");
#undef BATCHED_SCATTER
}

/* The shape of a dynamic gather's sizes; the constraint has the number of gather's. */
static void test_dynamic_gather(void **state) {
  (void)state;
  expect_constraint(
      "func.func @main(%x: tensor<3x5xf32>, %i: tensor<2x1xi32>, %s: tensor<3xi32>) -> tensor<?x?xf32> {\n"
      "  %0 = \"stablehlo.dynamic_gather\"(%x, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims "
      "= [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : "
      "(tensor<3x5xf32>, tensor<2x1xi32>, tensor<3xi32>) -> tensor<?x?xf32>\n"
      "  return %0 : tensor<?x?xf32>\n}\n",
      "(C20)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gather),           cmocka_unit_test(test_gather_batching), cmocka_unit_test(test_scatter),
      cmocka_unit_test(test_scatter_batching), cmocka_unit_test(test_dynamic_gather),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
