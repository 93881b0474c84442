/* Sums in XLA's convention and rules that the golden cases do not reach. Expected numbers are worked out from the rules
 * of docs/counting.md in the comments. */
#include "analyze_fixture.h"

static struct analyze_xla_cost cost_of(const char *text, const char *op) {
  struct program program;
  struct analyze_xla_cost cost;
  program_parse(&program, text);
  assert_int_equal(analyze_infer(program.module, &program.diags), STATUS_OK);
  enum status status = op == NULL ? analyze_xla_function(program.module, ir_function_entry(program.module), NULL, &cost)
                                  : analyze_xla_op(program.module, program_op(&program, op), NULL, &cost);
  assert_int_equal(status, STATUS_OK);
  program_release(&program);
  return cost;
}

static void expect(struct analyze_xla_cost cost, int64_t flops, int64_t transcendentals, int64_t bytes) {
  assert_int_equal(cost.flops, flops);
  assert_int_equal(cost.transcendentals, transcendentals);
  assert_int_equal(cost.bytes_accessed, bytes);
}

/* Body and condition once, whatever the trip count. Body: add of scalars (1 flop, 12 bytes) and exp of 8 f32 (8
 * transcendentals, 64 bytes) and the tuple of two results (16 bytes). Condition: compare (1 flop, 4 + 4 + 1 bytes). The
 * initial tuple: 16 bytes. */
static void test_while_counts_once(void **state) {
  (void)state;
  expect(cost_of("func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
                 "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
                 "  %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<8xf32>\n"
                 "  cond {\n"
                 "    %n = stablehlo.constant dense<1000> : tensor<i32>\n"
                 "    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                 "    stablehlo.return %1 : tensor<i1>\n"
                 "  } do {\n"
                 "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
                 "    %1 = stablehlo.add %i, %one : tensor<i32>\n"
                 "    %2 = stablehlo.exponential %a : tensor<8xf32>\n"
                 "    stablehlo.return %1, %2 : tensor<i32>, tensor<8xf32>\n"
                 "  }\n"
                 "  return %0#1 : tensor<8xf32>\n}\n",
                 NULL),
         2, 8, 12 + 64 + 16 + 9 + 16);
}

/* Per property the larger branch: 2 adds of 4 (8 flops, 2 * 48 bytes) against one exp (4 transcendentals, 32 bytes). */
static void test_branches_take_the_maximum(void **state) {
  (void)state;
  expect(cost_of("func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {\n"
                 "  %0 = \"stablehlo.if\"(%p) ({\n"
                 "    %1 = stablehlo.add %x, %x : tensor<4xf32>\n"
                 "    %2 = stablehlo.add %1, %x : tensor<4xf32>\n"
                 "    stablehlo.return %2 : tensor<4xf32>\n"
                 "  }, {\n"
                 "    %1 = stablehlo.exponential %x : tensor<4xf32>\n"
                 "    stablehlo.return %1 : tensor<4xf32>\n"
                 "  }) : (tensor<i1>) -> tensor<4xf32>\n"
                 "  return %0 : tensor<4xf32>\n}\n",
                 NULL),
         8, 4, 96);
}

/* Two calls of one function: twice its 4 flops and 48 bytes. */
static void test_calls_count_each_time(void **state) {
  (void)state;
  expect(cost_of("module {\n"
                 "  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                 "    %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
                 "    %1 = call @f(%0) : (tensor<4xf32>) -> tensor<4xf32>\n"
                 "    return %1 : tensor<4xf32>\n"
                 "  }\n"
                 "  func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                 "    %0 = stablehlo.add %x, %x : tensor<4xf32>\n"
                 "    return %0 : tensor<4xf32>\n"
                 "  }\n"
                 "}\n",
                 NULL),
         8, 0, 96);
}

/* Unknown, and added as -1 into the sum: 4 - 1 flops, 48 - 1 bytes. */
static void test_custom_calls_are_minus_one(void **state) {
  (void)state;
  static const char *const text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                                  "  %0 = stablehlo.custom_call @gemm(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
                                  "  %1 = stablehlo.add %0, %x : tensor<4xf32>\n"
                                  "  return %1 : tensor<4xf32>\n}\n";
  struct analyze_xla_cost cost = cost_of(text, "stablehlo.custom_call");
  expect(cost, -1, 0, -1);
  assert_int_equal(cost.operand_bytes[0], -1);
  assert_true(cost.optimal_seconds == -1.0);
  expect(cost_of(text, NULL), 3, 0, 47);
}

struct op_case {
  const char *arguments, *op, *types, *name;
  int64_t flops, transcendentals, bytes;
};

static const struct op_case op_cases[] = {
    /* 8 elements, ceil(log2 8) = 3; read and written */
    {"%x: tensor<2x4xf32>",
     "\"stablehlo.sort\"(%x) <{dimension = 1 : i64}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n  %c = "
     "stablehlo.compare "
     "LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n  stablehlo.return %c : tensor<i1>\n})",
     "(tensor<2x4xf32>) -> tensor<2x4xf32>", "stablehlo.sort", 24, 0, 64},
    /* 2 * 4 * log2(8) * 16 elements */
    {"%x: tensor<2x8xcomplex<f32>>",
     "\"stablehlo.fft\"(%x) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 8>}>",
     "(tensor<2x8xcomplex<f32>>) -> tensor<2x8xcomplex<f32>>", "stablehlo.fft", 8 * 3 * 16, 0, 2 * 16 * 8},
    /* 6 * 36 / 3; half read, half written */
    {"%x: tensor<6x6xf32>", "\"stablehlo.cholesky\"(%x) <{lower = true}>", "(tensor<6x6xf32>) -> tensor<6x6xf32>",
     "stablehlo.cholesky", 72, 0, 144},
    /* only dimensions of size 1 move: a bitcast */
    {"%x: tensor<1x4x3xf32>", "\"stablehlo.transpose\"(%x) <{permutation = array<i64: 1, 0, 2>}>",
     "(tensor<1x4x3xf32>) -> tensor<4x1x3xf32>", "stablehlo.transpose", 0, 0, 0},
    {"%x: tensor<2x4x3xf32>", "\"stablehlo.transpose\"(%x) <{permutation = array<i64: 1, 0, 2>}>",
     "(tensor<2x4x3xf32>) -> tensor<4x2x3xf32>", "stablehlo.transpose", 0, 0, 192},
    /* a vector of 3 into rows: 12 + 24 bytes */
    {"%x: tensor<3xf32>", "\"stablehlo.broadcast_in_dim\"(%x) <{broadcast_dimensions = array<i64: 1>}>",
     "(tensor<3xf32>) -> tensor<2x3xf32>", "stablehlo.broadcast_in_dim", 0, 0, 36},
    /* stretched: broadcast 12 + 12, reshape 12 + 12, broadcast 12 + 24 */
    {"%x: tensor<1x3xf32>", "\"stablehlo.broadcast_in_dim\"(%x) <{broadcast_dimensions = array<i64: 0, 1>}>",
     "(tensor<1x3xf32>) -> tensor<2x3xf32>", "stablehlo.broadcast_in_dim", 0, 0, 84},
    /* 4-bit elements take a byte each */
    {"%x: tensor<10xi4>", "\"stablehlo.negate\"(%x)", "(tensor<10xi4>) -> tensor<10xi4>", "stablehlo.negate", 10, 0,
     20},
    /* state of 2 and 5 values: one transcendental each; 16 + 16 + 20 bytes */
    {"%x: tensor<2xui64>",
     "\"stablehlo.rng_bit_generator\"(%x) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}>",
     "(tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)", "stablehlo.rng_bit_generator", 0, 7, 52},
    /* no operations, operands and result once */
    {"%x: tensor<4xf32>",
     "\"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>",
     "(tensor<4xf32>) -> tensor<8xf32>", "stablehlo.all_gather", 0, 0, 48},
};

static void test_rules(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof op_cases / sizeof op_cases[0]; i++) {
    const struct op_case *c = &op_cases[i];
    struct strbuf text = {0};
    bool has_two = strstr(c->types, "-> (") != NULL;
    strbuf_printf(&text, "func.func @main(%s) {\n  %%0%s = %s : %s\n  return\n}\n", c->arguments, has_two ? ":2" : "",
                  c->op, c->types);
    expect(cost_of(strbuf_text(&text), c->name), c->flops, c->transcendentals, c->bytes);
    strbuf_release(&text);
  }
}

/* A dynamic dimension cannot be counted; the rest of the function is. */
static void test_dynamic_is_unsupported(void **state) {
  (void)state;
  struct program program;
  struct analyze_xla_cost cost;
  program_parse(&program, "func.func @main(%x: tensor<?xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {\n"
                          "  %0 = stablehlo.negate %x : tensor<?xf32>\n"
                          "  %1 = stablehlo.negate %y : tensor<4xf32>\n"
                          "  return %1 : tensor<4xf32>\n}\n");
  assert_int_equal(analyze_xla_function(program.module, ir_function_entry(program.module), NULL, &cost),
                   STATUS_UNSUPPORTED);
  expect(cost, 4, 0, 32);
  program_release(&program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_while_counts_once),
      cmocka_unit_test(test_branches_take_the_maximum),
      cmocka_unit_test(test_calls_count_each_time),
      cmocka_unit_test(test_custom_calls_are_minus_one),
      cmocka_unit_test(test_rules),
      cmocka_unit_test(test_dynamic_is_unsupported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
