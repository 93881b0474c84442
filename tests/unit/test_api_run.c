/* Running programs through the public interface: what they take and give, how inputs are checked, budgets, grids, output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ridgeline/ridgeline.h"

/* A program that is loaded, and what came of running it. */
struct fixture {
  rdg_context *ctx;
  rdg_program *program;
  rdg_run_result *result;
};

static void load(struct fixture *f, const char *text) {
  const rdg_load_options options = {.only_to_run = true};
  *f = (struct fixture){.ctx = rdg_context_new(NULL)};
  assert_non_null(f->ctx);
  rdg_status status = rdg_program_parse(f->ctx, "test.mlir", text, strlen(text), &options, &f->program);
  if (status != RDG_OK) {
    fail_msg("%s", rdg_diagnostics_text(f->ctx));
  }
}

static rdg_status run(struct fixture *f, const rdg_run_options *options, const rdg_tensor *inputs, size_t count) {
  rdg_run_result_free(f->result);
  return rdg_run(f->ctx, f->program, options, inputs, count, &f->result);
}

static void done(struct fixture *f) {
  rdg_run_result_free(f->result);
  rdg_program_free(f->program);
  rdg_context_free(f->ctx);
}

/* The last call left a message of this code with these words. */
static void expect_message(const struct fixture *f, const char *code, const char *words) {
  rdg_diagnostic d;
  assert_true(rdg_diagnostic_get(f->ctx, 0, &d));
  assert_string_equal(d.code, code);
  if (!strstr(d.message, words)) {
    fail_msg("'%s' is not in '%s'", words, d.message);
  }
}

static void expect_result(const struct fixture *f, size_t process, size_t i, rdg_dtype dtype, const void *data,
                          size_t size) {
  rdg_tensor t;
  assert_true(rdg_run_result_get(f->result, process, i, &t));
  assert_int_equal(t.dtype, dtype);
  assert_int_equal(t.size_bytes, size);
  assert_memory_equal(t.data, data, size);
}

/* ---- what a program takes ---------------------------------------------------------------------------------------------- */

static const char add[] = "func.func @main(%a: tensor<2x3xf32> {jax.arg_info = \"x\"}, %b: tensor<2x3xf32>)"
                          " -> (tensor<2x3xf32>, tensor<2x3xf32>) {\n"
                          "  %0 = stablehlo.add %a, %b : tensor<2x3xf32>\n"
                          "  return %0, %b : tensor<2x3xf32>, tensor<2x3xf32>\n}\n";
static const int64_t two_three[] = {2, 3};
static const float counting[] = {0, 1, 2, 3, 4, 5}, halves[] = {.5, .5, .5, .5, .5, .5};

static void test_signature(void **state) {
  (void)state;
  struct fixture f;
  rdg_signature_entry e;
  load(&f, add);
  assert_int_equal(rdg_program_input_count(f.program), 2);
  assert_int_equal(rdg_program_output_count(f.program), 2);
  assert_true(rdg_program_input(f.program, 0, &e));
  assert_string_equal(e.name, "x");
  assert_string_equal(e.type, "tensor<2x3xf32>");
  assert_int_equal(e.dtype, RDG_DTYPE_F32);
  assert_int_equal(e.rank, 2);
  assert_int_equal(e.dims[1], 3);
  assert_true(rdg_program_input(f.program, 1, &e));
  assert_string_equal(e.name, "arg1");
  assert_false(rdg_program_input(f.program, 2, &e));
  assert_true(rdg_program_output(f.program, 1, &e));
  assert_string_equal(e.name, "arr_1");
  assert_false(rdg_program_output(f.program, 2, &e));
  done(&f);
}

static void test_types(void **state) {
  (void)state;
  assert_int_equal(rdg_dtype_parse("bf16"), RDG_DTYPE_BF16);
  assert_int_equal(rdg_dtype_parse("bf17"), RDG_DTYPE_NONE);
  assert_string_equal(rdg_dtype_name(RDG_DTYPE_C64), "complex<f32>");
  assert_string_equal(rdg_dtype_name((rdg_dtype)1000), "none");
  assert_int_equal(rdg_dtype_size(RDG_DTYPE_I4), 1);
  assert_int_equal(rdg_dtype_size(RDG_DTYPE_C128), 16);
  assert_int_equal(rdg_dtype_size(RDG_DTYPE_NONE), 0);
}

static void test_runs(void **state) {
  (void)state;
  struct fixture f;
  const rdg_tensor inputs[] = {{RDG_DTYPE_F32, 2, two_three, counting, sizeof counting},
                               {RDG_DTYPE_F32, 2, two_three, halves, sizeof halves}};
  const float sums[] = {.5, 1.5, 2.5, 3.5, 4.5, 5.5};
  load(&f, add);
  assert_int_equal(run(&f, NULL, inputs, 2), RDG_OK);
  assert_int_equal(rdg_run_process_count(f.result), 1);
  assert_int_equal(rdg_run_result_count(f.result), 2);
  expect_result(&f, 0, 0, RDG_DTYPE_F32, sums, sizeof sums);
  expect_result(&f, 0, 1, RDG_DTYPE_F32, halves, sizeof halves);
  rdg_tensor t;
  assert_false(rdg_run_result_get(f.result, 0, 2, &t));
  assert_false(rdg_run_result_get(f.result, 1, 0, &t));
  done(&f);
}

static void test_result_outlives_program(void **state) {
  (void)state;
  struct fixture f;
  const int32_t seven = 7;
  load(&f, "func.func @main() -> tensor<i32> {\n  %0 = stablehlo.constant dense<7> : tensor<i32>\n"
           "  return %0 : tensor<i32>\n}\n");
  assert_int_equal(run(&f, NULL, NULL, 0), RDG_OK);
  rdg_program_free(f.program);
  f.program = NULL;
  expect_result(&f, 0, 0, RDG_DTYPE_I32, &seven, sizeof seven);
  done(&f);
}

static void test_wrong_inputs(void **state) {
  (void)state;
  struct fixture f;
  static const int64_t three_two[] = {3, 2};
  static const double doubles[6] = {0};
  const rdg_tensor good = {RDG_DTYPE_F32, 2, two_three, counting, sizeof counting};
  const struct {
    rdg_tensor second;
    size_t count;
    const char *words;
  } rows[] = {
      {good, 1, "takes 2 inputs; 1 were given, the next one is 'arg1', tensor<2x3xf32>"},
      {good, 0, "takes 2 inputs; 0 were given, the next one is 'x'"},
      {{RDG_DTYPE_F64, 2, two_three, doubles, sizeof doubles}, 2, "'arg1', tensor<2x3xf32>) was given as f64[2,3]"},
      {{RDG_DTYPE_F32, 2, three_two, counting, sizeof counting}, 2, "given as f32[3,2]"},
      {{RDG_DTYPE_F32, 1, two_three, counting, 8}, 2, "given as f32[2]"},
      {{RDG_DTYPE_F32, 2, two_three, counting, 20}, 2, "takes 24 bytes, 20 were given"},
      {{RDG_DTYPE_NONE, 2, two_three, counting, 12}, 2, "takes 24 bytes, 12 were given"},
      {{RDG_DTYPE_F32, 2, two_three, NULL, 0}, 2, "has no value"},
  };
  load(&f, add);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const rdg_tensor inputs[] = {good, rows[i].second};
    assert_int_equal(run(&f, NULL, inputs, rows[i].count), RDG_ERROR_INPUT);
    assert_null(f.result);
    expect_message(&f, "E0702", rows[i].words);
  }
  done(&f);
}

/* i4 is -8 to 7 and ui2 0 to 3; i8 and ui8 may stand for them when the values fit. Opaque bytes lose what is above the bits:
 * ml_dtypes keeps int4 sign-extended, but other bits mean nothing. */
static void test_narrow_types(void **state) {
  (void)state;
  struct fixture f;
  static const int64_t two[] = {2};
  const int8_t good[] = {-8, 7}, bad[] = {-9, 7}, opaque[] = {0x18, 0x77}, opaque_is[] = {-8, 7};
  const uint8_t unsigned_good[] = {0, 3}, unsigned_bad[] = {0, 4}, flags[] = {0, 255}, flags_are[] = {0, 1};
  rdg_tensor inputs[] = {
      {RDG_DTYPE_I8, 1, two, good, 2}, {RDG_DTYPE_UI8, 1, two, unsigned_good, 2}, {RDG_DTYPE_I1, 1, two, flags, 2}};
  load(&f, "func.func @main(%a: tensor<2xi4>, %b: tensor<2xui2>, %c: tensor<2xi1>)"
           " -> (tensor<2xi4>, tensor<2xui2>, tensor<2xi1>) {\n"
           "  return %a, %b, %c : tensor<2xi4>, tensor<2xui2>, tensor<2xi1>\n}\n");
  assert_int_equal(run(&f, NULL, inputs, 3), RDG_OK);
  expect_result(&f, 0, 0, RDG_DTYPE_I4, good, 2);
  expect_result(&f, 0, 1, RDG_DTYPE_UI2, unsigned_good, 2);
  expect_result(&f, 0, 2, RDG_DTYPE_I1, flags_are, 2);
  inputs[0].data = bad;
  assert_int_equal(run(&f, NULL, inputs, 3), RDG_ERROR_INPUT);
  expect_message(&f, "E0702", "'arg0', tensor<2xi4>) has a value outside of its range");
  inputs[0] = (rdg_tensor){RDG_DTYPE_NONE, 1, two, opaque, 2};
  assert_int_equal(run(&f, NULL, inputs, 3), RDG_OK);
  expect_result(&f, 0, 0, RDG_DTYPE_I4, opaque_is, 2);
  inputs[1].data = unsigned_bad;
  assert_int_equal(run(&f, NULL, inputs, 3), RDG_ERROR_INPUT);
  expect_message(&f, "E0702", "'arg1'");
  inputs[1] = (rdg_tensor){RDG_DTYPE_I8, 1, two, good, 2}; /* signed for unsigned is another type */
  assert_int_equal(run(&f, NULL, inputs, 3), RDG_ERROR_INPUT);
  done(&f);
}

static void test_tuples_and_tokens(void **state) {
  (void)state;
  struct fixture f;
  rdg_signature_entry e;
  static const int64_t two[] = {2};
  const int32_t pair[] = {1, 2};
  const float half = .5;
  const rdg_tensor inputs[] = {{RDG_DTYPE_I32, 1, two, pair, sizeof pair},
                               {RDG_DTYPE_F32, 0, NULL, &half, sizeof half}};
  load(&f, "func.func @main(%t: !stablehlo.token, %p: tuple<tensor<2xi32>, tuple<!stablehlo.token, tensor<f32>>>)"
           " -> (!stablehlo.token, tuple<tensor<f32>, tensor<2xi32>>) {\n"
           "  %0 = stablehlo.get_tuple_element %p[0] : (tuple<tensor<2xi32>, tuple<!stablehlo.token, tensor<f32>>>) -> "
           "tensor<2xi32>\n"
           "  %1 = stablehlo.get_tuple_element %p[1] : (tuple<tensor<2xi32>, tuple<!stablehlo.token, tensor<f32>>>) -> "
           "tuple<!stablehlo.token, tensor<f32>>\n"
           "  %2 = stablehlo.get_tuple_element %1[1] : (tuple<!stablehlo.token, tensor<f32>>) -> tensor<f32>\n"
           "  %3 = stablehlo.tuple %2, %0 : tuple<tensor<f32>, tensor<2xi32>>\n"
           "  return %t, %3 : !stablehlo.token, tuple<tensor<f32>, tensor<2xi32>>\n}\n");
  assert_int_equal(rdg_program_input_count(f.program), 2);
  assert_true(rdg_program_input(f.program, 1, &e));
  assert_string_equal(e.name, "arg1");
  assert_string_equal(e.type, "tensor<f32>");
  assert_int_equal(run(&f, NULL, inputs, 2), RDG_OK);
  assert_int_equal(rdg_run_result_count(f.result), 2);
  expect_result(&f, 0, 0, RDG_DTYPE_F32, &half, sizeof half);
  expect_result(&f, 0, 1, RDG_DTYPE_I32, pair, sizeof pair);
  done(&f);
}

/* Only what is loaded to be run may be dynamic, and only that has no counts. */
static void test_dynamic_program(void **state) {
  (void)state;
  static const char text[] = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
                             "  %0 = stablehlo.add %x, %x : tensor<?xf32>\n  return %0 : tensor<?xf32>\n}\n";
  struct fixture f;
  rdg_signature_entry e;
  rdg_totals totals;
  static const int64_t six[] = {6};
  const float doubled[] = {0, 2, 4, 6, 8, 10};
  const rdg_tensor input = {RDG_DTYPE_F32, 1, six, counting, sizeof counting};
  const rdg_run_options zeros = {.fill = RDG_FILL_ZERO};
  rdg_tensor shape_only = {RDG_DTYPE_F32, 1, six, NULL, 0};
  load(&f, text);
  assert_true(rdg_program_input(f.program, 0, &e));
  assert_int_equal(e.dims[0], -1);
  assert_int_equal(run(&f, NULL, &input, 1), RDG_OK);
  expect_result(&f, 0, 0, RDG_DTYPE_F32, doubled, sizeof doubled);
  assert_int_equal(run(&f, &zeros, NULL, 0), RDG_ERROR_INPUT);
  expect_message(&f, "E0702", "dynamic shape");
  assert_int_equal(run(&f, &zeros, &shape_only, 1), RDG_OK);
  assert_int_equal(rdg_program_totals(f.ctx, f.program, &totals), RDG_ERROR_UNSUPPORTED);
  expect_message(&f, "E0601", "loaded only to run");
  rdg_program *counted = NULL;
  assert_int_equal(rdg_program_parse(f.ctx, "test.mlir", text, strlen(text), NULL, &counted), RDG_ERROR_INPUT);
  expect_message(&f, "E0401", "dynamic");
  done(&f);
}

/* Counting takes a bounded dimension at its bound: another program than the one that runs. */
static void test_bounded_program(void **state) {
  (void)state;
  static const char text[] =
      "func.func @main(%x: tensor<?xf32, #stablehlo.bounds<8>>) -> tensor<?xf32, #stablehlo.bounds<8>> {\n"
      "  %0 = stablehlo.add %x, %x : tensor<?xf32, #stablehlo.bounds<8>>\n"
      "  return %0 : tensor<?xf32, #stablehlo.bounds<8>>\n}\n";
  struct fixture f;
  static const int64_t six[] = {6};
  const float doubled[] = {0, 2, 4, 6, 8, 10};
  const rdg_tensor input = {RDG_DTYPE_F32, 1, six, counting, sizeof counting};
  load(&f, text);
  assert_int_equal(run(&f, NULL, &input, 1), RDG_OK);
  expect_result(&f, 0, 0, RDG_DTYPE_F32, doubled, sizeof doubled);
  rdg_program_free(f.program);
  assert_int_equal(rdg_program_parse(f.ctx, "test.mlir", text, sizeof text - 1, NULL, &f.program), RDG_OK);
  assert_int_equal(run(&f, NULL, &input, 1), RDG_ERROR_UNSUPPORTED);
  expect_message(&f, "E0701", "only_to_run");
  done(&f);
}

static void test_empty_tensor_needs_no_data(void **state) {
  (void)state;
  struct fixture f;
  static const int64_t none[] = {0};
  const rdg_tensor input = {RDG_DTYPE_F32, 1, none, NULL, 0};
  load(&f, "func.func @main(%x: tensor<0xf32>) -> (tensor<0xf32>, tensor<2x0xi8>) {\n"
           "  %0 = stablehlo.constant dense<> : tensor<2x0xi8>\n"
           "  return %x, %0 : tensor<0xf32>, tensor<2x0xi8>\n}\n");
  assert_int_equal(run(&f, NULL, &input, 1), RDG_OK);
  expect_result(&f, 0, 0, RDG_DTYPE_F32, "", 0);
  expect_result(&f, 0, 1, RDG_DTYPE_I8, "", 0);
  done(&f);
}

/* ---- filling ----------------------------------------------------------------------------------------------------------- */

static void test_random_inputs(void **state) {
  (void)state;
  struct fixture f;
  rdg_tensor t;
  float first[1000];
  load(&f, "func.func @main(%a: tensor<1000xf32>, %b: tensor<1000xui4>) -> (tensor<1000xf32>, tensor<1000xui4>) {\n"
           "  return %a, %b : tensor<1000xf32>, tensor<1000xui4>\n}\n");
  rdg_run_options options = {.fill = RDG_FILL_RANDOM, .seed = 1};
  assert_int_equal(run(&f, &options, NULL, 0), RDG_OK);
  assert_true(rdg_run_result_get(f.result, 0, 0, &t));
  memcpy(first, t.data, sizeof first);
  double sum = 0;
  for (size_t i = 0; i < 1000; i++) {
    assert_true(first[i] >= -1 && first[i] <= 1);
    sum += (double)first[i];
  }
  /* the mean of n uniform numbers of [-1, 1) deviates by 1/sqrt(3 n) = 0.018: five of these */
  assert_true(sum / 1000 < 0.09 && sum / 1000 > -0.09);
  assert_true(rdg_run_result_get(f.result, 0, 1, &t));
  unsigned seen = 0;
  for (size_t i = 0; i < 1000; i++) {
    seen |= 1U << ((const uint8_t *)t.data)[i];
  }
  assert_int_equal(seen, 0x3ff); /* all of 0 to 9 and nothing else */
  assert_int_equal(run(&f, &options, NULL, 0), RDG_OK);
  expect_result(&f, 0, 0, RDG_DTYPE_F32, first, sizeof first);
  options.seed = 2;
  assert_int_equal(run(&f, &options, NULL, 0), RDG_OK);
  assert_true(rdg_run_result_get(f.result, 0, 0, &t));
  assert_memory_not_equal(t.data, first, sizeof first);
  done(&f);
}

/* ---- budgets ----------------------------------------------------------------------------------------------------------- */

/* A loop of 10^15 rounds: each tests (a round and a comparison) and adds once. */
static void test_too_many_operations(void **state) {
  (void)state;
  struct fixture f;
  load(&f, "func.func @main() -> tensor<i64> {\n"
           "  %z = stablehlo.constant dense<0> : tensor<i64>\n"
           "  %n = stablehlo.constant dense<1000000000000000> : tensor<i64>\n"
           "  %one = stablehlo.constant dense<1> : tensor<i64>\n"
           "  %r = stablehlo.while(%i = %z) : tensor<i64>\n"
           "    cond {\n      %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
           "      stablehlo.return %c : tensor<i1>\n    } do {\n"
           "      %a = stablehlo.add %i, %one : tensor<i64>\n      stablehlo.return %a : tensor<i64>\n    }\n"
           "  return %r : tensor<i64>\n}\n");
  assert_int_equal(run(&f, NULL, NULL, 0), RDG_ERROR_LIMIT);
  expect_message(&f, "E0704", "3000000000000002 elementary operations");
  rdg_diagnostic d;
  assert_true(rdg_diagnostic_get(f.ctx, 0, &d));
  assert_int_equal(d.line, 5);
  const rdg_run_options grid = {.replicas = 2, .operation_budget = 5000000000000000};
  assert_int_equal(run(&f, &grid, NULL, 0), RDG_ERROR_LIMIT); /* each of two processes */
  expect_message(&f, "E0704", "6000000000000004 elementary operations");
  done(&f);
}

/* A loop that is not entered, and a branch that need not be taken, need nothing. */
static void test_what_may_not_happen_is_not_refused(void **state) {
  (void)state;
  struct fixture f;
  const int32_t seven = 7;
  load(&f, "func.func @main() -> tensor<i32> {\n"
           "  %no = stablehlo.constant dense<false> : tensor<i1>\n"
           "  %r = \"stablehlo.if\"(%no) ({\n"
           "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
           "    %b = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<10000000000x250xf32>\n"
           "    %n = stablehlo.constant dense<1> : tensor<i32>\n    stablehlo.return %n : tensor<i32>\n  }, {\n"
           "    %n = stablehlo.constant dense<7> : tensor<i32>\n    stablehlo.return %n : tensor<i32>\n"
           "  }) : (tensor<i1>) -> tensor<i32>\n  return %r : tensor<i32>\n}\n");
  assert_int_equal(run(&f, NULL, NULL, 0), RDG_OK);
  expect_result(&f, 0, 0, RDG_DTYPE_I32, &seven, sizeof seven);
  done(&f);
}

static void test_too_much_memory(void **state) {
  (void)state;
  struct fixture f;
  load(&f, "func.func @main() -> tensor<10000000000x250xf32> {\n"
           "  %c = stablehlo.constant dense<1.0> : tensor<10000000000x250xf32>\n"
           "  return %c : tensor<10000000000x250xf32>\n}\n");
  assert_int_equal(run(&f, NULL, NULL, 0), RDG_ERROR_LIMIT);
  expect_message(&f, "E0704", "10000000000000 bytes");
  done(&f);
  load(&f, "func.func @main(%x: tensor<10000000000x250xf32>) -> tensor<10000000000x250xf32> {\n"
           "  return %x : tensor<10000000000x250xf32>\n}\n");
  const rdg_run_options zeros = {.fill = RDG_FILL_ZERO};
  assert_int_equal(run(&f, &zeros, NULL, 0), RDG_ERROR_LIMIT);
  expect_message(&f, "E0704", "the inputs take 10000000000000 bytes");
  done(&f);
  /* 24 bytes of inputs twice, and as much of the sum: 72 */
  load(&f, add);
  rdg_run_options budget = {.fill = RDG_FILL_ZERO, .memory_budget_bytes = 71};
  assert_int_equal(run(&f, &budget, NULL, 0), RDG_ERROR_LIMIT);
  expect_message(&f, "E0704", "needs 24 bytes beside the 48 that are in use; the budget is 71");
  budget.memory_budget_bytes = 72;
  assert_int_equal(run(&f, &budget, NULL, 0), RDG_OK);
  done(&f);
}

static void test_failed_check(void **state) {
  (void)state;
  struct fixture f;
  load(&f, "func.func @main() {\n  %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
           "  check.expect_eq_const %c, dense<[1, 3]> : tensor<2xi32>\n"
           "  check.expect_eq_const %c, dense<[0, 2]> : tensor<2xi32>\n  return\n}\n");
  assert_int_equal(run(&f, NULL, NULL, 0), RDG_ERROR_INPUT);
  expect_message(&f, "E0703", "element [1] is 2, expected 3");
  assert_int_equal(rdg_diagnostic_count(f.ctx), 2); /* the run goes on after a failed check */
  done(&f);
}

/* ---- grids ------------------------------------------------------------------------------------------------------------- */

static const char sum_of_replicas[] =
    "func.func @main(%x: tensor<i64>) -> (tensor<i64>, tensor<ui32>) {\n"
    "  %0 = \"stablehlo.all_reduce\"(%x) ({\n  ^bb0(%a: tensor<i64>, %b: tensor<i64>):\n"
    "    %s = stablehlo.add %a, %b : tensor<i64>\n    stablehlo.return %s : tensor<i64>\n"
    "  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<i64>) -> tensor<i64>\n"
    "  %1 = stablehlo.partition_id : tensor<ui32>\n"
    "  return %0, %1 : tensor<i64>, tensor<ui32>\n}\n";

static void test_grid(void **state) {
  (void)state;
  struct fixture f;
  const int64_t given[] = {1, 2, 10, 200}, sums[] = {11, 202, 11, 202}, twice = 2;
  rdg_tensor inputs[4];
  for (size_t i = 0; i < 4; i++) {
    inputs[i] = (rdg_tensor){RDG_DTYPE_I64, 0, NULL, &given[i], sizeof given[i]};
  }
  rdg_run_options options = {.replicas = 2, .partitions = 2, .inputs_per_process = true};
  load(&f, sum_of_replicas);
  assert_int_equal(run(&f, &options, inputs, 4), RDG_OK);
  assert_int_equal(rdg_run_process_count(f.result), 4);
  for (uint32_t p = 0; p < 4; p++) {
    const uint32_t partition = p % 2;
    expect_result(&f, p, 0, RDG_DTYPE_I64, &sums[p], sizeof sums[p]);
    expect_result(&f, p, 1, RDG_DTYPE_UI32, &partition, sizeof partition);
  }
  assert_int_equal(run(&f, &options, inputs, 1), RDG_ERROR_INPUT);
  expect_message(&f, "E0702", "takes 1 inputs, 4 for 4 processes; 1 were given");
  options.inputs_per_process = false;
  assert_int_equal(run(&f, &options, inputs, 1), RDG_OK);
  expect_result(&f, 3, 0, RDG_DTYPE_I64, &twice, sizeof twice);
  options.replicas = 1025;
  assert_int_equal(run(&f, &options, inputs, 1), RDG_ERROR_LIMIT);
  done(&f);
}

/* ---- output ------------------------------------------------------------------------------------------------------------ */

struct text {
  char data[4096];
  size_t length;
  bool is_closed;
};

static bool take(void *user, const char *bytes, size_t length) {
  struct text *t = user;
  assert_true(t->length + length < sizeof t->data);
  memcpy(t->data + t->length, bytes, length);
  t->length += length;
  t->data[t->length] = '\0';
  return !t->is_closed;
}

static void test_written_results(void **state) {
  (void)state;
  struct fixture f;
  struct text text = {0}, json = {0}, closed = {.is_closed = true};
  load(&f, "func.func @main() -> (tensor<7xi32>, tensor<2xf32>) {\n"
           "  %0 = stablehlo.iota dim = 0 : tensor<7xi32>\n"
           "  %1 = stablehlo.constant dense<[0.1, 0xFF800000]> : tensor<2xf32>\n"
           "  return %0, %1 : tensor<7xi32>, tensor<2xf32>\n}\n");
  assert_int_equal(run(&f, NULL, NULL, 0), RDG_OK);
  assert_int_equal(rdg_run_result_write(f.ctx, f.result, 0, RDG_FORMAT_TEXT, (rdg_sink){take, &text}), RDG_OK);
  assert_string_equal(text.data, "tensor<7xi32> {\n  [0, 1, 2, 3, 4, 5, 6]\n}\n"
                                 "tensor<2xf32> {\n  [1.000000e-01, -inf]\n}\n");
  text.length = 0;
  assert_int_equal(rdg_run_result_write(f.ctx, f.result, 6, RDG_FORMAT_TEXT, (rdg_sink){take, &text}), RDG_OK);
  assert_non_null(strstr(text.data, "[0, 1, 2, ..., 4, 5, 6]"));
  assert_int_equal(rdg_run_result_write(f.ctx, f.result, 6, RDG_FORMAT_JSON, (rdg_sink){take, &json}), RDG_OK);
  assert_non_null(strstr(json.data, "\"shape\": [7], \"values\": null}"));
  /* nine digits give back every f32: 0.1 is 0.100000001490116... */
  assert_non_null(strstr(json.data, "\"shape\": [2], \"values\": [0.100000001, \"-inf\"]}"));
  assert_int_equal(rdg_run_result_write(f.ctx, f.result, 6, RDG_FORMAT_JSON, (rdg_sink){take, &closed}), RDG_ERROR_IO);
  done(&f);
}

static void test_prints(void **state) {
  (void)state;
  struct fixture f;
  struct text text = {0};
  const rdg_sink sink = {take, &text};
  const rdg_run_options options = {.print = &sink};
  load(&f, "func.func @main() {\n  %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
           "  interpreter.print %c : tensor<2xi32>\n  return\n}\n");
  assert_int_equal(run(&f, &options, NULL, 0), RDG_OK);
  assert_non_null(strstr(text.data, "tensor<2xi32> {\n  [1, 2]\n}"));
  text.is_closed = true;
  assert_int_equal(run(&f, &options, NULL, 0), RDG_ERROR_IO);
  done(&f);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------------ */

static void test_arrays_from_text(void **state) {
  (void)state;
  rdg_context *ctx = rdg_context_new(NULL);
  rdg_arrays *arrays = NULL;
  rdg_tensor t;
  const char *name;
  const float values[] = {1.5, -2};
  const int32_t threes[] = {3, 3, 3};
  static const char *const texts[] = {"[dense<[1.5, -2.0]> : tensor<2xf32>, dense<3> : tensor<3xi32>]",
                                      "dense<[1.5, -2.0]> : tensor<2xf32>, dense<3> : tensor<3xi32>"};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(rdg_arrays_parse(ctx, texts[i], &arrays), RDG_OK);
    assert_int_equal(rdg_arrays_count(arrays), 2);
    assert_true(rdg_arrays_get(arrays, 0, &name, &t));
    assert_string_equal(name, "");
    assert_memory_equal(t.data, values, sizeof values);
    assert_true(rdg_arrays_get(arrays, 1, NULL, &t));
    assert_int_equal(t.dtype, RDG_DTYPE_I32);
    assert_memory_equal(t.data, threes, sizeof threes);
    assert_false(rdg_arrays_get(arrays, 2, NULL, &t));
    rdg_arrays_free(arrays);
  }
  static const char *const bad[] = {"",         "1 : i32",
                                    "dense<1>", "dense<1> : tensor<?xi32>",
                                    "[",        "dense<\"a\"> : tensor<1x!tf.string>",
                                    "]}",       "dense<0> : tensor<10000000000x10000000000xi8>"};
  for (size_t i = 1; i < sizeof bad / sizeof bad[0]; i++) {
    assert_int_not_equal(rdg_arrays_parse(ctx, bad[i], &arrays), RDG_OK);
    assert_null(arrays);
    assert_true(rdg_diagnostic_count(ctx) > 0);
  }
  assert_int_equal(rdg_arrays_parse(ctx, bad[0], &arrays), RDG_OK);
  assert_int_equal(rdg_arrays_count(arrays), 0);
  rdg_arrays_free(arrays);
  rdg_context_free(ctx);
}

static void test_arrays_to_and_from_files(void **state) {
  (void)state;
  rdg_context *ctx = rdg_context_new(NULL);
  rdg_arrays *arrays = NULL;
  rdg_tensor t;
  const char *name;
  char path[] = "/tmp/ridgeline_run_XXXXXX.npz";
  int fd = mkstemps(path, 4);
  assert_true(fd >= 0);
  close(fd);
  const uint16_t bits[] = {0x3f80, 0xc000};
  static const int64_t two[] = {2};
  const rdg_tensor tensors[] = {{RDG_DTYPE_F32, 2, two_three, counting, sizeof counting},
                                {RDG_DTYPE_BF16, 1, two, bits, sizeof bits}};
  assert_int_equal(rdg_arrays_write(ctx, path, NULL, tensors, 2), RDG_OK);
  assert_int_equal(rdg_arrays_read(ctx, path, 0, &arrays), RDG_OK);
  assert_int_equal(rdg_arrays_count(arrays), 2);
  assert_true(rdg_arrays_get(arrays, 0, &name, &t));
  assert_string_equal(name, "arr_0");
  assert_int_equal(t.dtype, RDG_DTYPE_F32);
  assert_memory_equal(t.data, counting, sizeof counting);
  assert_true(rdg_arrays_get(arrays, 1, &name, &t));
  assert_int_equal(t.dtype, RDG_DTYPE_NONE); /* numpy has no bfloat16 */
  assert_memory_equal(t.data, bits, sizeof bits);
  rdg_arrays_free(arrays);
  assert_int_equal(rdg_arrays_read(ctx, path, 100, &arrays), RDG_ERROR_LIMIT);
  assert_null(arrays);
  remove(path);
  assert_int_equal(rdg_arrays_read(ctx, path, 0, &arrays), RDG_ERROR_IO);
  rdg_context_free(ctx);
}

/* ---- units ------------------------------------------------------------------------------------------------------------- */

static void test_units(void **state) {
  (void)state;
  static const char text[] = "func.func @main() -> tensor<i32> {\n  %0 = stablehlo.constant dense<1> : tensor<i32>\n"
                             "  return %0 : tensor<i32>\n}\n// -----\n"
                             "func.func @main() -> tensor<i32> {\n  %0 = stablehlo.constant dense<2> : tensor<i32>\n"
                             "  return %1 : tensor<i32>\n}\n";
  char path[] = "/tmp/ridgeline_units_XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
  close(fd);
  struct fixture f = {.ctx = rdg_context_new(NULL)};
  rdg_load_options options = {.only_to_run = true, .unit = 1};
  const int32_t one = 1;
  size_t count;
  rdg_diagnostic d;
  assert_int_equal(rdg_program_units(f.ctx, path, &count), RDG_OK);
  assert_int_equal(count, 2);
  assert_int_equal(rdg_program_load(f.ctx, path, &options, &f.program), RDG_OK);
  assert_int_equal(run(&f, NULL, NULL, 0), RDG_OK);
  expect_result(&f, 0, 0, RDG_DTYPE_I32, &one, sizeof one);
  rdg_program_free(f.program);
  options.unit = 2;
  assert_int_equal(rdg_program_load(f.ctx, path, &options, &f.program), RDG_ERROR_INPUT);
  assert_true(rdg_diagnostic_get(f.ctx, 0, &d));
  assert_int_equal(d.line, 8); /* of the file, not of the unit */
  options.unit = 3;
  assert_int_equal(rdg_program_load(f.ctx, path, &options, &f.program), RDG_ERROR_INPUT);
  expect_message(&f, "E0601", "has 2 units");
  remove(path);
  done(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_signature),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_runs),
      cmocka_unit_test(test_result_outlives_program),
      cmocka_unit_test(test_wrong_inputs),
      cmocka_unit_test(test_narrow_types),
      cmocka_unit_test(test_tuples_and_tokens),
      cmocka_unit_test(test_dynamic_program),
      cmocka_unit_test(test_bounded_program),
      cmocka_unit_test(test_empty_tensor_needs_no_data),
      cmocka_unit_test(test_random_inputs),
      cmocka_unit_test(test_too_many_operations),
      cmocka_unit_test(test_what_may_not_happen_is_not_refused),
      cmocka_unit_test(test_too_much_memory),
      cmocka_unit_test(test_failed_check),
      cmocka_unit_test(test_grid),
      cmocka_unit_test(test_written_results),
      cmocka_unit_test(test_prints),
      cmocka_unit_test(test_arrays_from_text),
      cmocka_unit_test(test_arrays_to_and_from_files),
      cmocka_unit_test(test_units),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
