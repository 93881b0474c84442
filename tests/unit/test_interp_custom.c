/* Custom calls that nothing has checked: operands, results and attributes of every wrong kind are refused by the target, never
 * read beyond. Right ones: tests/interp/custom_calls.mlir. */
#include "interp_fixture.h"

#define MATRIX "%a = stablehlo.constant dense<[[4.0, 2.0], [2.0, 5.0]]> : tensor<2x2xf32>\n"

static void test_unknown_target_is_named(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  const char *text =
      "func.func @main() {\n" MATRIX "%0 = stablehlo.custom_call @its_own_kernel(%a) : (tensor<2x2xf32>) -> "
      "tensor<2x2xf32>\nfunc.return\n}\n";
  assert_int_equal(program_run(text, &diags), STATUS_INPUT);
  assert_int_equal(diags.entries.data[0].id, DIAG_E0701_NOT_EXECUTABLE);
  assert_non_null(strstr(diags.entries.data[0].message, "'its_own_kernel'"));
  diag_release(&diags);
}

/* The line, behind values of several types, is refused when it runs. */
static void expect_refused(const char *line) {
  char text[4096];
  struct diag_list diags;
  diag_init(&diags);
  snprintf(text, sizeof text,
           "func.func @main() {\n%s%%r = stablehlo.constant dense<1.0> : tensor<2x3xf32>\n"
           "%%v = stablehlo.constant dense<1.0> : tensor<3xf32>\n%%f = stablehlo.constant dense<1.0> : tensor<f32>\n"
           "%%z = stablehlo.constant dense<1> : tensor<i32>\n%%i = stablehlo.constant dense<7> : tensor<2x2xi32>\n"
           "%%s = stablehlo.constant dense<-1> : tensor<i32>\n%%two = stablehlo.constant dense<2> : tensor<1xi32>\n"
           "%%three = stablehlo.constant dense<3> : tensor<1xi32>\n"
           "%%t = stablehlo.tuple %%a : tuple<tensor<2x2xf32>>\n%s\nfunc.return\n}\n",
           MATRIX, line);
  enum status status = program_run(text, &diags);
  enum diag_id id = diags.entries.count > 0 ? (enum diag_id)diags.entries.data[0].id : DIAG_E0703_CHECK;
  if (status != STATUS_INPUT || (id != DIAG_E0701_NOT_EXECUTABLE && id != DIAG_E0702_RUN_VALUE)) {
    fail_msg("not refused (status %d, %s): %s", (int)status,
             diags.entries.count > 0 ? diags.entries.data[0].message : "no message", line);
  }
  diag_release(&diags);
}

/* Each line: a custom call whose results or operands are not those of its target. */
static void test_wrong_calls_are_refused(void **state) {
  (void)state;
  static const char *const calls[] = {
      "%0 = stablehlo.custom_call @Sharding() : () -> tensor<2x2xf32>",
      "%0 = stablehlo.custom_call @Sharding(%a) : (tensor<2x2xf32>) -> tensor<2x2xf64>",
      "%0 = stablehlo.custom_call @Sharding(%a) : (tensor<2x2xf32>) -> tensor<4xf32>",
      "%0:2 = stablehlo.custom_call @Sharding(%a) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)",
      "%0 = stablehlo.custom_call @Sharding(%t) : (tuple<tensor<2x2xf32>>) -> tensor<2x2xf32>",
      "stablehlo.custom_call @check.expect_eq() : () -> ()",
      /* LAPACK: number, rank, element type and size of operands and results */
      "%0 = stablehlo.custom_call @lapack_spotrf_ffi(%a) : (tensor<2x2xf32>) -> tensor<2x2xf32>",
      "%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a, %a) : (tensor<2x2xf32>, tensor<2x2xf32>) -> "
      "(tensor<2x2xf32>, "
      "tensor<i32>)",
      "%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%v) : (tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>)",
      "%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%r) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<i32>)",
      "%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) : (tensor<2x2xf32>) -> (tensor<3x3xf32>, tensor<i32>)",
      "%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<0xi32>)",
      "%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<f32>)",
      "%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) : (tensor<2x2xf32>) -> (tensor<2x2xi32>, tensor<i32>)",
      "%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) : (tensor<2x2xf32>) -> (tensor<2x2xcomplex<f32>>, "
      "tensor<i32>)",
      "%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) : (tensor<2x2xf32>) -> (tensor<?x2xf32>, tensor<i32>)",
      "%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%i) : (tensor<2x2xi32>) -> (tensor<2x2xi32>, tensor<i32>)",
      "%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%t) : (tuple<tensor<2x2xf32>>) -> (tensor<2x2xf32>, "
      "tensor<i32>)",
      "%0:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%r) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xi32>, "
      "tensor<i32>)",
      "%0 = stablehlo.custom_call @lapack_sorgqr_ffi(%a, %v) : (tensor<2x2xf32>, tensor<3xf32>) -> "
      "tensor<3x2xf32>",
      "%0:5 = stablehlo.custom_call @lapack_sgtsv_ffi(%v, %v, %v, %a) : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, "
      "tensor<2x2xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x2xf32>, tensor<i32>)",
      "%0 = stablehlo.custom_call @lapack_strsm_ffi(%a, %v) : (tensor<2x2xf32>, tensor<3xf32>) -> tensor<3xf32>",
      "%0 = stablehlo.custom_call @lapack_strsm_ffi(%a, %a) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi32>",
      "%0 = stablehlo.custom_call @Qr(%a) : (tensor<2x2xf32>) -> tuple<tensor<2x2xf32>>",
      "%0 = stablehlo.custom_call @Qr(%a) : (tensor<2x2xf32>) -> tuple<tensor<2x2xf32>, tensor<3xf32>>",
      /* others */
      "%0 = stablehlo.custom_call @cu_lu_pivots_to_permutation(%a) : (tensor<2x2xf32>) -> tensor<2x2xf32>",
      "%0 = stablehlo.custom_call @cu_lu_pivots_to_permutation(%i) : (tensor<2x2xi32>) -> tensor<3x4xi32>",
      "%0:2 = stablehlo.custom_call @cu_threefry2x32_ffi(%i, %i, %i, %i) : (tensor<2x2xi32>, tensor<2x2xi32>, "
      "tensor<2x2xi32>, tensor<2x2xi32>) -> (tensor<2x2xi32>, tensor<2x2xi32>)",
      "%0:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {k = 3 : i64}} : (tensor<2x2xf32>) -> "
      "(tensor<2x3xf32>, tensor<2x3xi32>)",
      "%0:2 = stablehlo.custom_call @TopK(%a) : (tensor<2x2xf32>) -> (tensor<2x1xi32>, tensor<2x1xi32>)",
      "%0:2 = stablehlo.custom_call @ApproxTopK(%a, %i, %f, %z) {called_computations = [@main], mhlo.backend_config = "
      "{reduction_dim = 1 : i64}} : (tensor<2x2xf32>, tensor<2x2xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x1xf32>, "
      "tensor<2x1xi32>)",
      "%0:2 = stablehlo.custom_call @ApproxTopK(%a, %i, %f, %z) {mhlo.backend_config = {reduction_dim = 1 : i64}} : "
      "(tensor<2x2xf32>, tensor<2x2xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)",
      "%0:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%i, %i) : (tensor<2x2xi32>, tensor<2x2xi32>) "
      "-> "
      "(tensor<2x2xi32>, tensor<2x2xi32>)",
      "%0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%a, %f, %i, %i, %i, %i, %i) {called_computations = "
      "[@main]} : (tensor<2x2xf32>, tensor<f32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, "
      "tensor<2x2xi32>) -> tensor<2x2xf32>",
      "%0 = stablehlo.custom_call @X64Combine(%i) : (tensor<2x2xi32>) -> tensor<2x2xui64>",
      "%0 = stablehlo.custom_call @X64Combine(%i, %a) : (tensor<2x2xi32>, tensor<2x2xf32>) -> tensor<2x2xui64>",
      "stablehlo.custom_call @shape_assertion(%a) : (tensor<2x2xf32>) -> ()",
      "%0 = stablehlo.custom_call @SPMDShardToFullShape(%a) {mhlo.sharding = \"{devices=[2,1]0,1}\"} : "
      "(tensor<2x2xf32>) -> "
      "tensor<4x2xf32>",
      "%0 = stablehlo.custom_call @SPMDShardToFullShape(%a) {mhlo.sharding = \"{devices=[2,1]0\"} : (tensor<2x2xf32>) "
      "-> "
      "tensor<4x2xf32>",
      "%0 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%a) : (tensor<2x2xf32>) -> tensor<1x2xf32>",
      "%0 = stablehlo.custom_call @AllocateBuffer(%a) : (tensor<2x2xf32>) -> tensor<1x2xf32>",
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    expect_refused(calls[i]);
  }
}

/* Operations that are known by name only: the same. */
static void test_wrong_named_operations_are_refused(void **state) {
  (void)state;
  static const char *const operations[] = {
      "%0 = \"arith.addi\"(%z) : (tensor<i32>) -> tensor<i32>",
      "%0 = \"arith.addi\"(%z, %f) : (tensor<i32>, tensor<f32>) -> tensor<i32>",
      "%0 = \"arith.addi\"(%z, %z) : (tensor<i32>, tensor<i32>) -> tensor<i8>",
      "%0 = \"arith.addi\"(%i, %i) : (tensor<2x2xi32>, tensor<2x2xi32>) -> i32",
      "%0:2 = \"arith.addi\"(%z, %z) : (tensor<i32>, tensor<i32>) -> (i32, i32)",
      "%0 = \"arith.addf\"(%t, %t) : (tuple<tensor<2x2xf32>>, tuple<tensor<2x2xf32>>) -> f32",
      "%0 = \"arith.cmpi\"(%z, %z) {predicate = 11 : i64} : (tensor<i32>, tensor<i32>) -> i1",
      "%0 = \"arith.cmpi\"(%z, %i) {predicate = 0 : i64} : (tensor<i32>, tensor<2x2xi32>) -> i1",
      "%0 = \"arith.select\"(%z, %z, %f) : (tensor<i32>, tensor<i32>, tensor<f32>) -> i32",
      "%0 = \"arith.constant\"() : () -> i32",
      "%0 = \"arith.constant\"() {value = 1.0 : f64} : () -> f32",
      "%0 = \"arith.constant\"() {value = dense<1> : tensor<2xi32>} : () -> tensor<3xi32>",
      "%0 = \"tensor.dim\"(%i, %i) : (tensor<2x2xi32>, tensor<2x2xi32>) -> index",
      "%0 = \"tensor.from_elements\"(%z) : (tensor<i32>) -> tensor<2xi32>",
      "%0 = \"tensor.from_elements\"(%z, %f) : (tensor<i32>, tensor<f32>) -> tensor<2xi32>",
      "%0 = \"tensor.extract\"(%i, %z) : (tensor<2x2xi32>, tensor<i32>) -> i32",
      "%0 = \"tensor.extract\"(%v, %s) : (tensor<3xf32>, tensor<i32>) -> f32",
      "%0 = \"tensor.cast\"(%i) : (tensor<2x2xi32>) -> tensor<4xi32>",
      "%0 = \"shape.broadcast\"(%two, %three) : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xindex>",
      "%0 = \"shape.shape_of\"(%i) : (tensor<2x2xi32>) -> !shape.shape",
      "%0 = \"shape.num_elements\"(%v) : (tensor<3xf32>) -> index",
      "%0 = \"some.thing\"(%z) : (tensor<i32>) -> tensor<i32>",
  };
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
    expect_refused(operations[i]);
  }
}

/* A shape that the program does not expect ends the run with its own words. */
static void test_shape_assertion_speaks(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  const char *text =
      "func.func @main() {\n%no = stablehlo.constant dense<false> : tensor<i1>\n"
      "%n = stablehlo.constant dense<-7> : tensor<i32>\n"
      "stablehlo.custom_call @shape_assertion(%no, %n) {error_message = \"b = {0}, not {1}\", has_side_effect "
      "= true} : (tensor<i1>, tensor<i32>) -> ()\nfunc.return\n}\n";
  assert_int_equal(program_run(text, &diags), STATUS_INPUT);
  assert_int_equal(diags.entries.data[0].id, DIAG_E0703_CHECK);
  assert_non_null(strstr(diags.entries.data[0].message, "b = -7, not {1}"));
  diag_release(&diags);
}

/* Meshes that do not fit the run, and groups of axes that do not exist, are refused with the reason. */
static void test_meshes_are_checked(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"sdy.mesh @m = <[\"x\"=2]>", "#stablehlo.axis_ref<name = \"y\">"},
      {"sdy.mesh @m = <[\"x\"=4]>", "#stablehlo.axis_ref<name = \"x\", sub_axis_info = (3)2>"},
      {"sdy.mesh @m = <[\"x\"=2, \"y\"=2]>", "#stablehlo.axis_ref<name = \"x\">, #stablehlo.axis_ref<name = \"x\">"},
      {"sdy.mesh @m = <[\"x\"=2]>", "#stablehlo.axis_ref<name = \"x\">"},
      {"sdy.mesh @m = <[\"x\"=1000000000000]>", "#stablehlo.axis_ref<name = \"x\">"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2048];
    struct diag_list diags;
    diag_init(&diags);
    snprintf(text, sizeof text,
             "module {\n%s\nfunc.func @main() {\n%%x = stablehlo.constant dense<1> : tensor<1xi32>\n%%0 = "
             "\"stablehlo.all_gather\"(%%x) {all_gather_dim = 0 : i64, replica_groups = "
             "#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [%s]>} : (tensor<1xi32>) -> "
             "tensor<2xi32>\nreturn\n}\n}\n",
             cases[i][0], cases[i][1]);
    assert_int_equal(program_run(text, &diags), STATUS_INPUT);
    assert_true(diags.entries.count > 0);
    diag_release(&diags);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unknown_target_is_named),
      cmocka_unit_test(test_wrong_calls_are_refused),
      cmocka_unit_test(test_wrong_named_operations_are_refused),
      cmocka_unit_test(test_shape_assertion_speaks),
      cmocka_unit_test(test_meshes_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
