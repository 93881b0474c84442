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
    /* only dimensions of size 1 move: a reshape, 48 bytes in and out */
    {"%x: tensor<1x4x3xf32>", "\"stablehlo.transpose\"(%x) <{permutation = array<i64: 1, 0, 2>}>",
     "(tensor<1x4x3xf32>) -> tensor<4x1x3xf32>", "stablehlo.transpose", 0, 0, 96},
    /* the transposed layout goes with it: a bitcast */
    {"%x: tensor<2x4x3xf32>", "\"stablehlo.transpose\"(%x) <{permutation = array<i64: 1, 0, 2>}>",
     "(tensor<2x4x3xf32>) -> tensor<4x2x3xf32>", "stablehlo.transpose", 0, 0, 0},
    /* a line of 3 (12 bytes) is written, read, and broadcast to 24 */
    {"%x: tensor<1xf32>", "\"stablehlo.iota\"() <{iota_dimension = 1 : i64}>", "() -> tensor<2x3xf32>",
     "stablehlo.iota", 0, 0, 48},
    /* what keeps type and shape is no operation in HLO */
    {"%x: tensor<4xf32>", "\"stablehlo.convert\"(%x)", "(tensor<4xf32>) -> tensor<4xf32>", "stablehlo.convert", 0, 0,
     0},
    {"%x: tensor<4xf32>",
     "\"stablehlo.slice\"(%x) <{start_indices = array<i64: 0>, limit_indices = array<i64: 4>, "
     "strides = array<i64: 1>}>",
     "(tensor<4xf32>) -> tensor<4xf32>", "stablehlo.slice", 0, 0, 0},
    {"%x: tensor<4x4xf32>", "\"stablehlo.broadcast_in_dim\"(%x) <{broadcast_dimensions = array<i64: 0, 1>}>",
     "(tensor<4x4xf32>) -> tensor<4x4xf32>", "stablehlo.broadcast_in_dim", 0, 0, 0},
    /* ... but one that permutes is a broadcast: 64 bytes in and out */
    {"%x: tensor<4x4xf32>", "\"stablehlo.broadcast_in_dim\"(%x) <{broadcast_dimensions = array<i64: 1, 0>}>",
     "(tensor<4x4xf32>) -> tensor<4x4xf32>", "stablehlo.broadcast_in_dim", 0, 0, 128},
    /* x * x: 3 arrays of 5 f32 */
    {"%x: tensor<5xf32>", "\"chlo.square\"(%x)", "(tensor<5xf32>) -> tensor<5xf32>", "chlo.square", 5, 0, 60},
    /* atan2(x, 1): 3 arrays of 5 f32, and the 1 broadcast: 4 + 20; of a scalar: 3 numbers */
    {"%x: tensor<5xf32>", "\"chlo.atan\"(%x)", "(tensor<5xf32>) -> tensor<5xf32>", "chlo.atan", 0, 5, 84},
    {"%x: tensor<f32>", "\"chlo.atan\"(%x)", "(tensor<f32>) -> tensor<f32>", "chlo.atan", 0, 1, 12},
    /* t + t with t = atan2(x, 1 + sqrt((1 - x) * (1 + x))): subtract, 3 adds and multiply; 6 binary and 1 unary
     * operations on arrays of 5 f64, and the 1 broadcast */
    {"%x: tensor<5xf64>", "\"chlo.asin\"(%x)", "(tensor<5xf64>) -> tensor<5xf64>", "chlo.asin", 25, 10,
     (6 * 3 + 2) * 40 + 8 + 40},
    /* complex(real(x), -imag(x)): 4 operations; real and imag read 40 and write 20, negate 20 + 20, complex 40 + 40 */
    {"%x: tensor<5xcomplex<f32>>", "\"chlo.conj\"(%x)", "(tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>",
     "chlo.conj", 20, 0, 240},
    /* |x| == inf: abs 2 * 20, the constant 4 + 20, compare 20 + 20 + 5 */
    {"%x: tensor<5xf32>", "\"chlo.is_inf\"(%x)", "(tensor<5xf32>) -> tensor<5xi1>", "chlo.is_inf", 10, 0, 109},
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

/* Constants of equal elements are broadcast scalars, one per type and value in a computation: 2.0 for two operations
 * (4 + 16 bytes), of another type once more (4 + 8), in a branch once more; of one element they are plain constants. Three results
 * are a tuple of 24 bytes. */
static void test_splat_constants_count_once(void **state) {
  (void)state;
  expect(cost_of("func.func @main(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<2xf32>, %z: tensor<1xf32>) -> "
                 "(tensor<4xf32>, tensor<2xf32>, tensor<1xf32>) {\n"
                 "  %a = stablehlo.constant dense<2.0> : tensor<f32>\n"
                 "  %b = stablehlo.constant dense<2.0> : tensor<f32>\n"
                 "  %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<4xf32>\n"
                 "  %1 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<4xf32>\n"
                 "  %2 = stablehlo.add %x, %0 : tensor<4xf32>\n"
                 "  %3 = stablehlo.multiply %2, %1 : tensor<4xf32>\n"
                 "  %4 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<2xf32>\n"
                 "  %5 = stablehlo.add %y, %4 : tensor<2xf32>\n"
                 "  %6 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<1xf32>\n"
                 "  %7 = stablehlo.add %z, %6 : tensor<1xf32>\n"
                 "  %8 = \"stablehlo.if\"(%p) ({\n"
                 "    %9 = stablehlo.add %3, %0 : tensor<4xf32>\n"
                 "    stablehlo.return %9 : tensor<4xf32>\n"
                 "  }, {\n"
                 "    stablehlo.return %3 : tensor<4xf32>\n"
                 "  }) : (tensor<i1>) -> tensor<4xf32>\n"
                 "  return %8, %5, %7 : tensor<4xf32>, tensor<2xf32>, tensor<1xf32>\n}\n",
                 NULL),
         4 + 4 + 2 + 1 + 4, 0, 48 + 48 + 20 + 24 + 12 + 12 + 48 + 20 + 24);
}

/* x * 1, 0 + x, x - 0, x | 0, x & true are x, and their constants are not there either; 0 - x and x * 1 of a type whose
 * 1 is another bit pattern are told apart. */
static const struct neutral_case {
  const char *type, *constant, *op;
  bool is_constant_first, is_dropped;
} neutral_cases[] = {
    {"f32", "1.0", "multiply", false, true},  {"f64", "1.0", "multiply", true, true},
    {"bf16", "1.0", "multiply", false, true}, {"f16", "1.0", "multiply", false, true},
    {"i32", "1", "multiply", false, true},    {"f32", "2.0", "multiply", false, false},
    {"i32", "257", "multiply", false, false}, {"f32", "0.0", "add", true, true},
    {"f32", "-0.0", "add", false, true},      {"i8", "-128", "add", false, false},
    {"f32", "0.0", "subtract", false, true},  {"f32", "0.0", "subtract", true, false},
    {"i32", "0", "or", false, true},          {"i32", "0", "xor", true, true},
    {"i1", "true", "and", false, true},       {"i1", "false", "or", false, true},
    {"i32", "-1", "and", false, true},        {"f32", "1.0", "divide", false, false},
    {"i32", "1", "add", false, false},
};

static void test_neutral_constants(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof neutral_cases / sizeof neutral_cases[0]; i++) {
    const struct neutral_case *c = &neutral_cases[i];
    struct strbuf text = {0};
    strbuf_printf(&text,
                  "func.func @main(%%x: tensor<4x%s>) -> tensor<4x%s> {\n  %%c = stablehlo.constant dense<%s> : "
                  "tensor<%s>\n  %%b = stablehlo.broadcast_in_dim %%c, dims = [] : (tensor<%s>) -> tensor<4x%s>\n"
                  "  %%0 = stablehlo.%s %s : tensor<4x%s>\n  return %%0 : tensor<4x%s>\n}\n",
                  c->type, c->type, c->constant, c->type, c->type, c->type, c->op,
                  c->is_constant_first ? "%b, %x" : "%x, %b", c->type, c->type);
    struct analyze_xla_cost cost = cost_of(strbuf_text(&text), NULL);
    assert_int_equal(cost.flops, c->is_dropped ? 0 : 4);
    assert_true((cost.bytes_accessed == 0) == c->is_dropped);
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
      cmocka_unit_test(test_splat_constants_count_once),
      cmocka_unit_test(test_neutral_constants),
      cmocka_unit_test(test_dynamic_is_unsupported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
